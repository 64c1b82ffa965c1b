#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# How well a voice of several people speaks and imitates, judged by programs of others: pocketsphinx (word errors), DNSMOS and
# resemblyzer (is it the same person?), and by the pitch and the durations of `myxtts eval`.
#
#     scripts/bench/voices.sh build
#
# It runs in parts; each prints how long it took, keeps its numbers in BUILD/voices-bench/PART.part.json, and all that are there
# go into BUILD/bench/voices.json. What the parts human and others say about this very file of a voice also becomes a table,
# BUILD/bench/voices.md, which 'scripts/voices/voices.sh BUILD readme' puts into voices/README.md:
#
#   human      the English human speaker says held-out prompts, and sentences that nobody recorded. Bars: word errors within 5
#              points of the recordings, DNSMOS within 0.3, mean pitch within 0.5 semitones.
#   others     the other humans say held-out prompts in their languages; Persian and English sentences of the synthetic
#              voices that are not in the corpus, compared by `myxtts eval`. Bar: the Persian mel distance is at most 1.25
#              times the English.
#   clone      speaks as people that the voice never heard, from three recordings of each: telephone prompts (Debian
#              packages asterisk-prompt-es-co, -fr-armelle and -it-menardi-wav, fetched into BUILD, not installed), flite's
#              kal16 and an English voice of espeak-ng; beside them two humans of its training. Similarity of the clone with
#              *other* recordings of the person, beside that of two real recordings, of different people, and of the
#              clone with the nearest training speaker; and the same with '--likeness 0'. What comes from a telephone is compared
#              at its rate.
#   held-out   trains a base that never heard HELD_OUT_SPEAKER and clones that speaker with it.
#   amount     how much is needed: voices of HELD_OUT_SPEAKER from AMOUNTS minutes of recordings, trained in WAYS, with the
#              base of the part held-out. Each cell of the table is kept: the next call continues with the others. Bars:
#              5 minutes of recordings, trained from the base for BASE_MINUTES, are understood as well as trained from
#              nothing for LONG_MINUTES, and have 0.80 of the similarity of real recordings.
#
# Environment variables, with defaults:
#
#     VOICE=voices/base.voice.safetensors   voice file, checkpoint or run of `make voices`
#     CORPUS=BUILD/voices/corpus            corpus of `make voices`
#     PARTS="human others clone"            any of the parts above
#     COUNT=40                              texts of the part human, and at most of each other speaker
#     CLONES=40                             texts that each clone says
#     HELD_OUT_SPEAKER=en-allison           speakers with the same name after '-' are left out, too
#     HELD_OUT_MINUTES=60                   of training the base of the part held-out, with the settings of 'make voices'
#     AMOUNTS="1 3 5 10 20"                 minutes of recordings
#     WAYS="nothing base adapter"           adapter: only if the program has training.adapter_rank
#     NOTHING_MINUTES=10  BASE_MINUTES=5  ADAPTER_MINUTES=3   of training each cell
#     LONG_MINUTES=30                       of training from nothing, with 5 minutes of recordings: what the bar compares with
#     SPEED_STEPS=40                        steps that measure how long a step takes
#     TRAIN_FLAGS=                          more flags for 'myxtts train'
#
# On two cores the parts human, others and clone take about 15 minutes together; held-out and each cell take their minutes of
# training and about 3 more.

set -euo pipefail
here="$(dirname "${BASH_SOURCE[0]}")"
# shellcheck source=scripts/tell.sh
. "$here/../tell.sh"
# shellcheck source=scripts/bench/voice.sh
. "$here/voice.sh"
# shellcheck source=scripts/voices/corpora.sh
. "$here/../voices/corpora.sh"
# shellcheck source=scripts/bench/voices_people.sh
. "$here/voices_people.sh"
# shellcheck source=scripts/bench/voices_amount.sh
. "$here/voices_amount.sh"

program="$1/myxtts" tools="$1" folder="$1/voices-bench" result="$1/bench/voices.json" python="$1/venv/bin/python"
voice="${VOICE:-voices/base.voice.safetensors}" corpus="${CORPUS:-$1/voices/corpus}"
count="${COUNT:-40}" clones="${CLONES:-40}" speed_steps="${SPEED_STEPS:-40}"
held_out="${HELD_OUT_SPEAKER:-en-allison}" held_out_minutes="${HELD_OUT_MINUTES:-60}"
read -ra parts <<<"${PARTS:-human others clone}"
read -ra amounts <<<"${AMOUNTS:-1 3 5 10 20}"
read -ra ways <<<"${WAYS:-nothing base adapter}"
read -ra flags <<<"${TRAIN_FLAGS:-}"
judge="$here/peers/voices_judge.py" hash=
trained=600 # sentences of each language that `make voices` uses of the synthetic voices
word_bar=5 mos_bar=0.3 pitch_bar=0.5 mel_bar=1.25

need()
{
    [[ -e $1 ]] || {
        printf 'bench-voices: there is no %s: %s\n' "$1" "$2" >&2
        exit 2
    }
}

# bar WORDS VALUE LIMIT CONDITION: appends to `bars`, as JSON
bar()
{
    bars+=("$(printf '{"row": "%s", "value": %s, "bar": %s, "verdict": "%s"}' "$1" "$2" "$3" "$(verdict "$4")")")
}

# part_write NAME FIELDS: NAME.json, with the bars of the part
part_write()
{
    local IFS=,
    printf '{"part": "%s", "voice": "%s", "sha256": "%s", %s, "bars": [%s]}\n' "$1" "$voice" "$hash" "$2" "${bars[*]}" >"$folder/$1.part.json"
    bars=()
}

# number NAME FILE: of the report of eval, over all utterances
number()
{
    sed -n "s/^\t\"$1\":\t\([0-9.e+-]*\),\?$/\1/p" "$2" | head -n 1
}

# evaluate MANIFEST NAME: sets mel_db, duration_error and pitch_error
evaluate()
{
    run "$program" eval --checkpoint "$voice" --data "$1" --json "$folder/eval-$2.json" --quiet
    mel_db=$(number mel_db "$folder/eval-$2.json")
    duration_error=$(number duration_error "$folder/eval-$2.json")
    pitch_error=$(number pitch_error_semitones "$folder/eval-$2.json")
}

# prompts SPEAKER: held-out prompts of a human, at most COUNT: SPEAKER/{eval.csv,lines.txt,said.txt,recording/}
prompts()
{
    local to="$folder/$1" file text
    rm -rf "$to"
    mkdir -p "$to/recording" "$to/ours"
    ln -sfn "$(realpath "$corpus/wavs")" "$to/wavs"
    awk -F'|' -v s="$1" -v most="$count" 'NR == 1 || ($3 == s && n++ < most)' "$corpus/metadata_eval.csv" >"$to/eval.csv"
    while IFS='|' read -r file text _; do
        cp "$corpus/$file" "$to/recording/"
        printf '%s|%s\n' "$(basename "$file" .wav)" "$text"
    done < <(tail -n +2 "$to/eval.csv") >"$to/lines.txt"
    [[ -s $to/lines.txt ]] || {
        printf 'bench-voices: %s/metadata_eval.csv has no prompts of %s\n' "$corpus" "$1" >&2
        exit 2
    }
    cut -d '|' -f 2 "$to/lines.txt" >"$to/said.txt"
}

# say SPEAKER LANGUAGE LINES FOLDER
say()
{
    run "$program" synth --checkpoint "$voice" --speaker "$1" --language "$2" --text-file "$3" --output-dir "$4" --quiet
}

# sentences LANGUAGE COUNT: unseen/LANGUAGE, sentences of the demo corpus that `make voices` does not use, read by its teachers
sentences()
{
    local all="$folder/demo-$1" to="$folder/unseen-$1"
    run "$program" corpus demo "$all" --language "$1" --count "$((trained + $2))" --speakers 3 --quiet
    mkdir -p "$to"
    ln -sfn "$(realpath "$all/wavs")" "$to/wavs"
    tail -n "$2" "$all/metadata.csv" >"$to/metadata.csv"
    awk -F'|' '{ print $1 "|" $3 }' "$to/metadata.csv" >"$to/lines.txt"
    cut -d '|' -f 2 "$to/lines.txt" >"$to/said.txt"
}

# heard NAME LINES SAID FOLDER: prints a row; sets errors, words, rate and mos
heard()
{
    recognise "$2" "$4" "$3" "$folder/heard-$1.txt"
    read -r errors words rate <<<"$found"
    mos=$(overall "$2" "$4")
    printf '  %-34s %6s of %-6s %7s %% %8s\n' "$1" "$errors" "$words" "$rate" "${mos:--}"
}

human_part()
{
    local speaker=en-allison to="$folder/en-allison" own_rate own_mos own pitch more
    prompts "$speaker"
    more=$((count - $(wc -l <"$to/lines.txt")))
    say "$speaker" en "$to/lines.txt" "$to/ours"
    printf '\n  %-34s %16s %9s %8s\n' "$(wc -l <"$to/lines.txt") held-out prompts" 'word errors' 'rate' 'DNSMOS'
    heard ours "$to/lines.txt" "$to/said.txt" "$to/ours"
    own="$errors" own_rate=$rate own_mos=$mos
    heard recordings "$to/lines.txt" "$to/said.txt" "$to/recording"
    bar 'word errors, points above the recordings' "$(awk "BEGIN { print $own_rate - $rate }")" "$word_bar" "$own_rate - $rate <= $word_bar"
    bar 'DNSMOS below the recordings' "$(awk "BEGIN { print $mos - $own_mos }")" "$mos_bar" "$mos - $own_mos <= $mos_bar"
    pitch=$("$python" "$judge" pitch "$program" "$to/ours" "$to/recording")
    bar 'mean pitch above the recordings, semitones' "$pitch" "$pitch_bar" "\"$pitch\" != \"null\" && $pitch <= $pitch_bar && $pitch >= -$pitch_bar"
    local fields
    fields=$(printf '"prompts": {"texts": %s, "words": %s, "word_errors": %s, "recordings_word_errors": %s, "dnsmos": %s, "recordings_dnsmos": %s, "pitch_semitones": %s}' \
        "$(wc -l <"$to/lines.txt")" "$words" "$own" "$errors" "$own_mos" "$mos" "$pitch")
    evaluate "$to/eval.csv" "$speaker" >/dev/null
    fields+=$(printf ', "eval": {"mel_db": %s, "duration_error": %s, "pitch_error_semitones": %s}' "$mel_db" "$duration_error" "$pitch_error")
    printf '  eval: mel %.2f dB, durations %.1f %%, pitch from frame to frame %.2f semitones\n' "$mel_db" \
        "$(awk "BEGIN { print 100 * $duration_error }")" "$pitch_error"
    if ((more > 0)); then
        sentences en "$more"
        mkdir -p "$to/free"
        say "$speaker" en "$folder/unseen-en/lines.txt" "$to/free"
        printf '\n  %-34s\n' "$more sentences that she never recorded"
        heard free "$folder/unseen-en/lines.txt" "$folder/unseen-en/said.txt" "$to/free"
        fields+=$(printf ', "free": {"texts": %s, "words": %s, "word_errors": %s, "dnsmos": %s' "$more" "$words" "$errors" "$mos")
        heard teachers "$folder/unseen-en/lines.txt" "$folder/unseen-en/said.txt" "$folder/demo-en/wavs"
        fields+=$(printf ', "teachers_word_errors": %s, "teachers_dnsmos": %s}' "$errors" "$mos")
    fi
    part_write human "$fields"
}

others_part()
{
    local speaker language rows=() own recorded pitch english
    printf '  %-14s %8s %10s %8s %10s %8s\n' '' 'DNSMOS' 'recordings' 'pitch' 'durations' 'mel dB'
    for speaker in es-allison fr-june it-carlo ru-ivrvoice; do
        language="${speaker%%-*}"
        prompts "$speaker" >/dev/null
        say "$speaker" "$language" "$folder/$speaker/lines.txt" "$folder/$speaker/ours" >/dev/null
        own=$(overall "$folder/$speaker/lines.txt" "$folder/$speaker/ours")
        recorded=$(overall "$folder/$speaker/lines.txt" "$folder/$speaker/recording")
        pitch=$("$python" "$judge" pitch "$program" "$folder/$speaker/ours" "$folder/$speaker/recording")
        evaluate "$folder/$speaker/eval.csv" "$speaker" >/dev/null
        printf '  %-14s %8s %10s %8s %8.1f %% %8.2f\n' "$speaker" "$own" "$recorded" "$pitch" "$(awk "BEGIN { print 100 * $duration_error }")" "$mel_db"
        rows+=("$(printf '"%s": {"texts": %s, "dnsmos": %s, "recordings_dnsmos": %s, "pitch_semitones": %s, "duration_error": %s, "mel_db": %s}' \
            "$speaker" "$(wc -l <"$folder/$speaker/lines.txt")" "$own" "$recorded" "$pitch" "$duration_error" "$mel_db")")
    done
    for language in en fa; do
        sentences "$language" "$count" >/dev/null
        evaluate "$folder/unseen-$language" "$language" >/dev/null
        printf '  %-14s %8s %10s %8s %8.1f %% %8.2f   (synthetic voices)\n' "$language" '' '' '' "$(awk "BEGIN { print 100 * $duration_error }")" "$mel_db"
        rows+=("$(printf '"%s": {"texts": %s, "duration_error": %s, "mel_db": %s, "pitch_error_semitones": %s}' "$language" "$count" "$duration_error" "$mel_db" "$pitch_error")")
        [[ $language == fa ]] || english=$mel_db
    done
    bar 'Persian mel distance, times the English' "$(awk "BEGIN { print $mel_db / $english }")" "$mel_bar" "$mel_db <= $mel_bar * $english"
    local IFS=,
    part_write others "\"speakers\": {${rows[*]}}"
}

need "$voice" "name one with VOICE=…; 'make voices' trains one"
need "$corpus/metadata_eval.csv" "name the corpus with CORPUS=…; 'make voices' makes it"
"$python" -c 'import onnxruntime, resemblyzer, scipy, speechmos' 2>/dev/null || {
    printf 'bench-voices: the judges are missing: "scripts/build/peers.sh %s/venv voices" installs them and says what fails\n' "$1" >&2
    exit 3
}
mkdir -p "$folder" "$(dirname "$result")"
[[ ! -f $voice ]] || hash=$(file_hash "$voice")
bars=()
for part in "${parts[@]}"; do
    began=$SECONDS
    title "Part $part"
    case $part in
    human | others | clone | amount) "${part}_part" ;;
    held-out) held_out_part ;;
    *)
        printf 'bench-voices: there is no part %s; give human, others, clone, held-out or amount\n' "$part" >&2
        exit 2
        ;;
    esac
    printf '\nPart %s took %d minutes and %d seconds\n' "$part" $(((SECONDS - began) / 60)) $(((SECONDS - began) % 60))
done
title 'Bars'
"$python" "$judge" merge "$result" "$folder"/*.part.json
[[ -z $hash ]] || "$python" "$judge" quality "$result" "$hash" >"${result%.json}.md"
printf '\nNumbers: %s\n' "$result"

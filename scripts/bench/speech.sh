#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Trains a voice on this machine for a quarter of an hour and compares how well it and its teacher are understood.
#
#     scripts/bench/speech.sh build
#
# English: a voice is trained on the recordings of a synthetic teacher (flite). Unseen sentences are spoken by the teacher,
# by the teacher through mel and Griffin–Lim, and by the voice with its vocoder and through Griffin–Lim. A speech recogniser
# (pocketsphinx with its own English model) transcribes them, and word errors are counted. Beside them stands DNSMOS
# (overall), if that judge is installed (scripts/build/peers.sh BUILD/venv sound).
# Bar: the voice is within 5 points of the teacher.
#
# Persian: the same with a Persian teacher (espeak-ng). There is no Persian recogniser, so `myxtts eval` compares the voice
# with the teacher's recordings of unseen sentences, in both languages. Bar: at most 1.25 times the English mel distance.
#
# Corpora are made once and kept in BUILD/speech. The script prints its results; the numbers are also in
# BUILD/bench/speech.json. Environment variables, with defaults:
#
#     MINUTES=15            minutes of English training
#     PERSIAN_MINUTES=10    minutes of Persian training; 0: no Persian
#     COUNT=1250            English sentences (some of them are held out for validation)
#     PERSIAN_COUNT=1000
#     UNSEEN=40             unseen sentences to speak
#     SPEED_STEPS=75        steps that measure the speed, which determines the number of training steps
#     TRAIN_FLAGS=          more flags for 'myxtts train', for example "--batch-size 8"

set -euo pipefail
here="$(dirname "${BASH_SOURCE[0]}")"
# shellcheck source=scripts/tell.sh
. "$here/../tell.sh"
# shellcheck source=scripts/bench/voice.sh
. "$here/voice.sh"

program="$1/myxtts" tools="$1" folder="$1/speech" result="$1/bench/speech.json" python="$1/venv/bin/python"
minutes="${MINUTES:-15}" persian_minutes="${PERSIAN_MINUTES:-10}"
count="${COUNT:-1250}" persian_count="${PERSIAN_COUNT:-1000}" unseen="${UNSEEN:-40}" speed_steps="${SPEED_STEPS:-75}"
read -ra flags <<<"${TRAIN_FLAGS:-}"
persian_text='صبح امروز باران آرامی روی باغ کوچک ما بارید.'
word_bar=5 mel_bar=1.25

# corpus LANGUAGE COUNT: LANGUAGE/seen and LANGUAGE/unseen, two parts of one demo corpus, and LANGUAGE/seen.pack
corpus()
{
    local language="$1" all="$folder/$1/corpus" part
    run "$program" corpus demo "$all" --language "$language" --count "$(($2 + unseen))"
    for part in seen unseen; do
        mkdir -p "$folder/$language/$part"
        ln -sfn ../corpus/wavs "$folder/$language/$part/wavs"
    done
    head -n "$2" "$all/metadata.csv" >"$folder/$language/seen/metadata.csv"
    tail -n "$unseen" "$all/metadata.csv" >"$folder/$language/unseen/metadata.csv"
    run "$program" prepare "$folder/$language/seen" --output "$folder/$language/seen.pack"
}

# train LANGUAGE MINUTES: LANGUAGE/run
train()
{
    speed_measure "$folder/$1/seen.pack" "$folder/$1/run" "$speed_steps" "${flags[@]}"
    train_minutes "$folder/$1/seen.pack" "$folder/$1/run" "$2" "${flags[@]}"
}

# number NAME FILE: of the report of eval, over all utterances
number()
{
    sed -n "s/^\t\"$1\":\t\([0-9.e+-]*\),\?$/\1/p" "$2" | head -n 1
}

# evaluate LANGUAGE: sets mel_db, duration_error and pitch_error
evaluate()
{
    local report="$folder/$1/eval.json"
    run "$program" eval --checkpoint "$folder/$1/run" --data "$folder/$1/unseen" --json "$report"
    mel_db=$(number mel_db "$report")
    duration_error=$(number duration_error "$report")
    pitch_error=$(number pitch_error_semitones "$report")
}

# table_row NAME ERRORS WORDS RATE DNSMOS
table_row()
{
    printf '  %-32s %6s of %-6s %7s %% %8s\n' "$@"
}

mkdir -p "$folder/en/ceiling" "$folder/en/ours" "$folder/en/plain" "$(dirname "$result")"

title "English: $count sentences of a synthetic teacher, and $unseen unseen ones"
corpus en "$count"
cut -d '|' -f 2 "$folder/en/unseen/metadata.csv" >"$folder/said.txt"

title "Training for $minutes minutes"
train en "$minutes"
en_steps=$steps en_step_seconds=$step_seconds

title "Speaking the unseen sentences"
cut -d '|' -f 1,2 "$folder/en/unseen/metadata.csv" >"$folder/en/lines.txt"
run "$program" synth --checkpoint "$folder/en/run" --text-file "$folder/en/lines.txt" --output-dir "$folder/en/ours"
run "$program" synth --checkpoint "$folder/en/run" --text-file "$folder/en/lines.txt" --output-dir "$folder/en/plain" \
    --vocoder griffin-lim
files=()
while IFS='|' read -r id _; do files+=("$folder/en/corpus/wavs/$id.wav"); done <"$folder/en/unseen/metadata.csv"
"$tools/resynth" "$folder/en/ceiling" "${files[@]}" >/dev/null
evaluate en
en_mel=$mel_db en_duration=$duration_error en_pitch=$pitch_error

title "What the recogniser hears"
ids="$folder/en/unseen/metadata.csv"
recognise "$ids" "$folder/en/corpus/wavs" "$folder/said.txt" "$folder/heard-teacher.txt"
read -r teacher_errors words teacher_rate <<<"$found"
recognise "$ids" "$folder/en/ceiling" "$folder/said.txt" "$folder/heard-ceiling.txt"
read -r ceiling_errors _ ceiling_rate <<<"$found"
recognise "$ids" "$folder/en/ours" "$folder/said.txt" "$folder/heard-ours.txt"
read -r our_errors _ our_rate <<<"$found"
recognise "$ids" "$folder/en/plain" "$folder/said.txt" "$folder/heard-plain.txt"
read -r plain_errors _ plain_rate <<<"$found"
teacher_overall=$(overall "$ids" "$folder/en/corpus/wavs")
ceiling_overall=$(overall "$ids" "$folder/en/ceiling")
our_overall=$(overall "$ids" "$folder/en/ours")
plain_overall=$(overall "$ids" "$folder/en/plain")
word_verdict=$(verdict "$our_rate - $teacher_rate <= $word_bar")
printf '  %-32s %16s %9s %8s\n' '' 'word errors' 'rate' 'DNSMOS'
table_row 'teacher' "$teacher_errors" "$words" "$teacher_rate" "${teacher_overall:--}"
table_row 'teacher through Griffin-Lim' "$ceiling_errors" "$words" "$ceiling_rate" "${ceiling_overall:--}"
table_row "ours, $en_steps steps in $minutes minutes" "$our_errors" "$words" "$our_rate" "${our_overall:--}"
table_row 'the same through Griffin-Lim' "$plain_errors" "$words" "$plain_rate" "${plain_overall:--}"
[[ -n $our_overall ]] || printf 'DNSMOS is not installed: "scripts/build/peers.sh %s/venv sound" installs it\n' "$1"
printf 'Bar: within %s points of the teacher: %s\n' "$word_bar" "$word_verdict"

persian=null
if [[ $persian_minutes != 0 ]]; then
    title "Persian: $persian_count sentences of a synthetic teacher, trained for $persian_minutes minutes"
    corpus fa "$persian_count"
    train fa "$persian_minutes"
    run "$program" synth --checkpoint "$folder/fa/run" --text "$persian_text" --output "$folder/fa/spoken.wav"
    evaluate fa
    mel_verdict=$(verdict "$mel_db <= $mel_bar * $en_mel")
    printf '\n  %-10s %8s %8s %10s %10s\n' 'unseen' 'steps' 'mel dB' 'duration' 'semitones'
    printf '  %-10s %8s %8.2f %8.1f %% %10.2f\n' English "$en_steps" "$en_mel" "$(awk "BEGIN { print 100 * $en_duration }")" "$en_pitch"
    printf '  %-10s %8s %8.2f %8.1f %% %10.2f\n' Persian "$steps" "$mel_db" "$(awk "BEGIN { print 100 * $duration_error }")" "$pitch_error"
    printf 'Bar: Persian mel distance at most %s times the English: %s\n' "$mel_bar" "$mel_verdict"
    persian=$(printf '{"minutes": %s, "sentences": %s, "steps": %s, "step_seconds": %s, "mel_db": %s, "duration_error": %s, "pitch_error_semitones": %s, "bar_ratio": %s, "verdict": "%s"}' \
        "$persian_minutes" "$persian_count" "$steps" "$step_seconds" "$mel_db" "$duration_error" "$pitch_error" "$mel_bar" "$mel_verdict")
fi

cat >"$result" <<JSON
{
  "bench": "speech",
  "flags": "${TRAIN_FLAGS:-}",
  "english": {"minutes": $minutes, "sentences": $count, "unseen": $unseen, "steps": $en_steps, "step_seconds": $en_step_seconds,
              "mel_db": $en_mel, "duration_error": $en_duration, "pitch_error_semitones": $en_pitch},
  "word_error_percent": {"teacher": $teacher_rate, "griffin_lim": $ceiling_rate, "ours": $our_rate, "ours_griffin_lim": $plain_rate, "words": $words,
                         "bar_points": $word_bar, "verdict": "$word_verdict"},
  "dnsmos": {"teacher": ${teacher_overall:-null}, "griffin_lim": ${ceiling_overall:-null}, "ours": ${our_overall:-null},
             "ours_griffin_lim": ${plain_overall:-null}},
  "persian": $persian
}
JSON
printf '\nNumbers: %s\n' "$result"

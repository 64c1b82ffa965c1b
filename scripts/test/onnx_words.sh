#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# How well exported voices are understood in Piper and sherpa-onnx. Part of scripts/test/onnx.sh, which installs them.
#
#     scripts/test/onnx_words.sh build MINUTES
#
# Two voices are trained on the recordings of synthetic teachers (flite), a voice of one speaker and a voice of two, for
# MINUTES each. With MINUTES=base nothing is trained: the base voice in voices/ speaks, as two of its English speakers.
# 40 sentences that they never heard are spoken by `myxtts synth`, by Piper, by sherpa-onnx 1 (with espeak-ng) and by
# sherpa-onnx 2 (with a lexicon), and a recogniser writes down what it hears.
# Bar: at most 2 points more word errors than `synth`.
# Also prints the texts that Piper reads differently from our cleaners, with both readings.
#
# Corpora and trained voices are kept in BUILD/onnx and used again; remove the folder to train again.

set -euo pipefail
here="$(realpath "$(dirname "${BASH_SOURCE[0]}")")"
# shellcheck source=scripts/tell.sh
. "$here/../tell.sh"
# shellcheck source=scripts/bench/voice.sh
. "$here/../bench/voice.sh"

tools="$(realpath "$1")" minutes="$2"
program="$tools/myxtts" folder="$tools/onnx" python="$tools/venv/bin/python"
count=1000 unseen=40 bar=2 missed=0
# pocketsphinx hears some sentences differently if they begin a few milliseconds later, so they are heard from several
# beginnings: seconds of silence before them.
starts=(0 0.0025 0.005 0.0075)

# corpus_make NAME SPEAKERS: NAME/corpus; its last sentences are not trained on
corpus_make()
{
    mkdir -p "$folder/$1"
    run "$program" corpus demo "$folder/$1/corpus" --language en --count $((count + unseen)) --speakers "$2"
}

# voice_train NAME SPEAKERS: NAME/run, trained unless it is there
voice_train()
{
    local to="$folder/$1"
    corpus_make "$1" "$2"
    mkdir -p "$to/seen"
    head -n "$count" "$to/corpus/metadata.csv" >"$to/seen/metadata.csv"
    ln -sfn ../corpus/wavs "$to/seen/wavs"
    [[ ! -e $to/run/trained ]] || return 0
    speed_measure "$to/seen" "$to/run" 50
    train_minutes "$to/seen" "$to/run" "$minutes"
    touch "$to/run/trained"
}

# number_of VOICE.onnx.json SPEAKER: the number of a speaker in the exported voice
number_of()
{
    "$python" -c 'import json, sys; print(json.load(open(sys.argv[1]))["speaker_id_map"][sys.argv[2]])' "$1" "$2"
}

# sentences_say NAME FROM [SPEAKER…]: NAME/synth, NAME/piper, NAME/sherpa-1, NAME/sherpa-2, by the run or voice file FROM;
# speakers take turns
sentences_say()
{
    local to="$folder/$1" from="$2" turn speaker number name lines
    shift 2
    local speakers=("$@")
    run "$program" export "$from" --format piper --language en --output "$to/voice"
    run "$program" export "$from" --format sherpa --language en --words "$folder/words.txt" --output "$to/voice"
    rm -rf "$to"/{synth,piper,sherpa-1,sherpa-2} "$to"/heard-*
    mkdir -p "$to"/{synth,piper,sherpa-1,sherpa-2}
    for ((turn = 0; turn < (${#speakers[@]} > 0 ? ${#speakers[@]} : 1); turn++)); do
        lines="$to/unseen-$turn.csv"
        awk -v n="${#speakers[@]}" -v k="$turn" 'n == 0 || NR % n == k' "$folder/unseen.csv" >"$lines"
        name=() number=0 speaker="${speakers[turn]:-}"
        if [[ -n $speaker ]]; then
            name=(--speaker "$speaker")
            number=$(number_of "$to/voice/voice.onnx.json" "$speaker")
        fi
        run "$program" synth --quiet --checkpoint "$from" "${name[@]}" --language en --text-file "$lines" --output-dir "$to/synth"
        "$python" "$here/onnx_words.py" piper "$to/voice" "$lines" "$number" "$to/piper"
        "$python" "$here/onnx_words.py" sherpa "$to/voice" "$lines" "$number" "$to/sherpa-2"
        PYTHONPATH="$tools/venv/sherpa-1" "$python" "$here/onnx_words.py" sherpa "$to/voice" "$lines" "$number" "$to/sherpa-1"
    done
}

# sentences_hear LINES NAME WAY: NAME/heard-WAY-START.txt for each start
sentences_hear()
{
    local to="$folder/$2" start id
    mkdir -p "$to/late"
    for start in "${starts[@]}"; do
        while IFS='|' read -r id _; do sox "$to/$3/$id.wav" "$to/late/$id.wav" pad "$start"; done <"$1"
        recognise "$1" "$to/late" "$folder/$(basename "$1" .csv).txt" "$to/heard-$3-$start.txt"
    done
}

# errors_count SAID HEARD…: word errors of all files together
errors_count()
{
    local said="$1" heard sum=0 errors
    shift
    for heard in "$@"; do
        read -r errors _ <<<"$("$tools/word_errors" "$said" "$heard")"
        sum=$((sum + errors))
    done
    printf '%d' "$sum"
}

# words_count NAME: prints the table, and counts the missed bars in `missed`
words_count()
{
    local to="$folder/$1" way start words errors rate synth_rate verdict
    words=$((${#starts[@]} * $("$tools/word_errors" "$folder/unseen.txt" "$folder/unseen.txt" | cut -d ' ' -f 2)))
    printf '\n  %-16s %18s %9s\n' "$1" 'word errors' 'rate'
    for way in synth piper sherpa-1 sherpa-2; do
        if [[ $way == synth ]]; then
            sentences_hear "$folder/unseen.csv" "$1" synth
        else
            # A sentence with the samples of synth is heard as it is there.
            "$python" "$here/onnx_words.py" others "$folder/unseen.csv" "$to/synth" "$to/$way" >"$folder/others.csv"
            cut -d '|' -f 2 "$folder/others.csv" | "$tools/reading" en | cut -d '|' -f 1 >"$folder/others.txt"
            sentences_hear "$folder/others.csv" "$1" "$way"
            for start in "${starts[@]}"; do
                awk -F '|' -v heard="$to/heard-synth-$start.txt" -v other="$to/heard-$way-$start.txt" '
                    FILENAME == ARGV[1] { differs[$1] = 1; next }
                    { getline line <heard; if ($1 in differs) getline line <other; print line }
                    ' "$folder/others.csv" "$folder/unseen.csv" >"$to/heard.txt"
                mv "$to/heard.txt" "$to/heard-$way-$start.txt"
            done
        fi
        errors=$(errors_count "$folder/unseen.txt" "$to/heard-$way"-*.txt)
        rate=$(awk "BEGIN { printf \"%.1f\", 100 * $errors / $words }")
        [[ $way != synth ]] || synth_rate=$rate
        verdict=$(verdict "$rate - $synth_rate <= $bar")
        [[ $verdict == held ]] || missed=$((missed + 1))
        printf '  %-16s %7s of %-7s %7s %%  %s\n' "$way" "$errors" "$words" "$rate" "$([[ $way == synth ]] || printf '%s' "$verdict")"
    done
}

mkdir -p "$folder"
if [[ $minutes == base ]]; then
    title 'Sentences that the base voice never heard'
    corpus_make one 1
else
    title "A voice of one speaker, trained for $minutes minutes"
    voice_train one 1
    title "A voice of two speakers, trained for $minutes minutes"
    voice_train two 2
fi

title "Speaking $unseen sentences that no voice heard"
tail -n "$unseen" "$folder/one/corpus/metadata.csv" | cut -d '|' -f 1,2 >"$folder/unseen.csv"
cut -d '|' -f 2 "$folder/one/corpus/metadata.csv" >"$folder/words.txt"
cut -d '|' -f 2 "$folder/unseen.csv" | "$tools/reading" en | cut -d '|' -f 1 >"$folder/unseen.txt"
if [[ $minutes == base ]]; then
    mkdir -p "$folder/base"
    sentences_say base "$here/../../voices/base.voice.safetensors" en-allison en-slt
    names=(base)
else
    sentences_say one "$folder/one/run"
    sentences_say two "$folder/two/run" rms slt
    names=(one two)
fi

title 'Texts that Piper reads differently'
# What cleaners are for, besides the sentences that are spoken.
{
    cut -d '|' -f 2 "$folder/unseen.csv"
    cat <<'TEXTS'
Dr. Smith paid $3.50 on May 3, 2021.
The meeting is at 5:30 pm in room 101.
It is 21°C and 40% humidity.
He was born in 1984 and ran 10 km in 45 min.
Call 555-0199 before 1/2/2023.
The 3rd of 12 chapters, vol. II.
Mr. and Mrs. Jones live at 12 Main St.
The U.S. has 50 states & 5 territories.
TEXTS
} >"$folder/texts.txt"
"$tools/reading" en <"$folder/texts.txt" >"$folder/readings.txt"
"$python" "$here/onnx_words.py" readings "$folder/${names[0]}/voice" "$folder/texts.txt" "$folder/readings.txt"

title 'What the recogniser hears'
for voice in "${names[@]}"; do words_count "$voice"; done
if ((missed > 0)); then
    printf 'test-onnx: %d of %d ways have more than %d points more word errors than synth\n' "$missed" $((3 * ${#names[@]})) "$bar" >&2
    exit 1
fi

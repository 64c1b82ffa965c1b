#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Measures 'myxtts corpus cut' on long recordings with ground truth: an hour of a human and of synthetic voices, joined
# with pauses, noise, recordings in another language that the text does not have, and sentences that nobody says. The numbers
# of the search were chosen on these; the same is done with others that the base voice knows, and with two voices that it
# never heard: flite's kal16 in English and espeak-ng's in Spanish.
#
#     scripts/bench/cut.sh build
#
# It needs the corpus of 'make voices', flite and espeak-ng. Results: three tables, and BUILD/bench/cut.json,
# cut_others.json and cut_unheard.json. Environment variables, with defaults:
#
#     VOICES=BUILD/voices     folder with corpus/
#     VOICE=base              installed voice, run, checkpoint or voice file that finds the words
#     SECONDS_EACH=900        of each recording

set -euo pipefail
here="$(dirname "${BASH_SOURCE[0]}")"
# shellcheck source=scripts/tell.sh
. "$here/../tell.sh"

build="$1" program="$1/myxtts"
voices="${VOICES:-$build/voices}"
voice="${VOICE:-base}"
each="${SECONDS_EACH:-900}"
[[ -e $voices/corpus/metadata_train.csv ]] || {
    echo "there is no $voices/corpus: run 'make voices' first, or set VOICES" >&2
    exit 2
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$build/bench"

# speaker, language of the text, speaker of the foreign passages
heard=('en-allison en ru-ivrvoice' 'en-slt en fr-june' 'it-carlo it en-allison' 'fa-m0 fa it-carlo')
others=('fr-june fr en-allison' 'ru-ivrvoice ru es-allison' 'es-allison es fr-june' 'en-rms en ru-ivrvoice')
unheard=('en-kal16 en it-carlo' 'es-espeak es en-allison')

# texts SPEAKER: the texts of a speaker of the corpus, up to 300
texts()
{
    awk -F'|' -v s="$1" 'NR > 1 && $3 ~ s { print $2 }' "$voices/corpus/metadata_train.csv" | head -n 300
}

# unheard_make: a corpus in $work/unheard, with the recordings of the humans for the foreign passages
unheard_make()
{
    local to="$work/unheard" number=0 text
    mkdir -p "$to/wavs"
    while IFS= read -r text; do
        number=$((number + 1))
        flite -voice kal16 -t "$text" -o "$to/wavs/en-$number.wav"
        printf 'wavs/en-%d.wav|%s|en-kal16|en\n' "$number" "$text"
    done < <(texts '^en-(rms|awb|slt)$') >"$to/metadata_train.csv"
    while IFS= read -r text; do
        number=$((number + 1))
        espeak-ng -v es -w "$to/wavs/es-$number.wav" -- "$text"
        printf 'wavs/es-%d.wav|%s|es-espeak|es\n' "$number" "$text"
    done < <(texts '^es-allison$') >>"$to/metadata_train.csv"
    awk -F'|' -v OFS='|' -v from="$(realpath "$voices/corpus")/" '$3 ~ /^(it-carlo|en-allison)$/ { $1 = from $1; print }' \
        "$voices/corpus/metadata_train.csv" >>"$to/metadata_train.csv"
    : >"$to/metadata_eval.csv"
}

# measure NAME CORPUS SEED SOURCE…: makes the recordings, with the seeds after this one, cuts them, and judges
measure()
{
    local name="$1" corpus="$2" source speaker language foreign begin end number="$3" seconds=0 results=()
    shift 3
    title "Recordings: $name"
    for source in "$@"; do
        read -r speaker _ foreign <<<"$source"
        number=$((number + 1))
        python3 "$here/cut.py" make "$corpus" "$speaker" "$foreign" "$each" "$number" "$work/$speaker"
    done
    title 'Cutting'
    begin=$(date +%s.%N)
    for source in "$@"; do
        read -r speaker language _ <<<"$source"
        run "$program" corpus cut "$work/$speaker/long.wav" --text "$work/$speaker/long.txt" --language "$language" \
            --voice "$voice" --output "$work/$speaker.cut"
    done
    end=$(date +%s.%N)
    title 'Truth'
    for source in "$@"; do
        read -r speaker _ <<<"$source"
        python3 "$here/cut.py" judge "$work/$speaker" "$work/$speaker.cut" >"$work/$speaker.json"
        printf '%s: ' "$speaker"
        python3 "$here/cut.py" tell "$work/$speaker.json"
        results+=("$work/$speaker.json")
        seconds=$(python3 -c 'import json, sys; print(float(sys.argv[2]) + json.load(open(sys.argv[1]))["seconds"])' \
            "$work/$speaker.json" "$seconds")
    done
    python3 "$here/cut.py" total "$build/bench/$name.json" \
        "$(python3 -c 'import sys; print(float(sys.argv[1]) / (float(sys.argv[3]) - float(sys.argv[2])))' "$seconds" "$begin" "$end")" \
        "${results[@]}"
}

measure cut "$voices/corpus" 0 "${heard[@]}"
measure cut_others "$voices/corpus" 20 "${others[@]}"
unheard_make
measure cut_unheard "$work/unheard" 0 "${unheard[@]}"

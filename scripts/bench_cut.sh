#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Measures 'myxtts corpus cut' on long recordings whose truth is known: an hour of a human and of synthetic voices, joined
# with pauses, noise, recordings in another language that the text does not have, and sentences that nobody says.
#
#     scripts/bench_cut.sh build
#
# It needs what 'make voices' makes. Results: a table, and BUILD/bench/cut.json. Environment variables, with defaults:
#
#     VOICES=BUILD/voices     folder with corpus/ and run/ …
#     VOICE=VOICES/run        … and the run, checkpoint or voice file that finds the words
#     SECONDS_EACH=900        of each of the four recordings

set -euo pipefail
here="$(dirname "${BASH_SOURCE[0]}")"
# shellcheck source=scripts/tell.sh
. "$here/tell.sh"

build="$1" program="$1/myxtts"
voices="${VOICES:-$build/voices}"
voice="${VOICE:-$voices/run}"
each="${SECONDS_EACH:-900}"
[[ -e $voices/corpus/metadata_train.csv ]] || {
    echo "there is no $voices/corpus: run 'make voices' first, or set VOICES" >&2
    exit 2
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$build/bench"

# speaker, language of the text, speaker of the foreign passages
sources=('en-allison en ru-ivrvoice' 'en-slt en fr-june' 'it-carlo it en-allison' 'fa-m0 fa it-carlo')

title 'Recordings'
for i in "${!sources[@]}"; do
    read -r speaker _ foreign <<<"${sources[$i]}"
    python3 "$here/bench_cut.py" make "$voices/corpus" "$speaker" "$foreign" "$each" "$((i + 1))" "$work/$speaker"
done

title 'Cutting'
begin=$(date +%s.%N)
for source in "${sources[@]}"; do
    read -r speaker language _ <<<"$source"
    run "$program" corpus cut "$work/$speaker/long.wav" --text "$work/$speaker/long.txt" --language "$language" \
        --voice "$voice" --output "$work/$speaker.cut"
done
end=$(date +%s.%N)

title 'Truth'
results=()
seconds=0
for source in "${sources[@]}"; do
    read -r speaker _ <<<"$source"
    python3 "$here/bench_cut.py" judge "$work/$speaker" "$work/$speaker.cut" >"$work/$speaker.json"
    printf '%s: ' "$speaker"
    python3 "$here/bench_cut.py" tell "$work/$speaker.json"
    results+=("$work/$speaker.json")
    seconds=$(python3 -c 'import json, sys; print(float(sys.argv[2]) + json.load(open(sys.argv[1]))["seconds"])' \
        "$work/$speaker.json" "$seconds")
done
speed=$(python3 -c 'import sys; print(float(sys.argv[1]) / (float(sys.argv[3]) - float(sys.argv[2])))' "$seconds" "$begin" "$end")
python3 "$here/bench_cut.py" total "$build/bench/cut.json" "$speed" "${results[@]}"

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# From nothing to a spoken sentence: makes a small corpus with a synthetic teacher, prepares it, trains a voice on this
# machine's CPU and speaks a sentence that is not in the corpus.
#
#     scripts/demo.sh build
#
# DEMO_MINUTES (6) limits the training, DEMO_COUNT (500) is the number of recordings, DEMO_TEXT the sentence to speak.

set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/tell.sh"

program="$1/myxtts" folder="$1/demo"
minutes="${DEMO_MINUTES:-6}" count="${DEMO_COUNT:-500}"
text="${DEMO_TEXT:-The morning train was late, so we walked along the river.}"

mkdir -p "$folder"
title "The devices of this machine"
run "$program" devices

title "Recordings: $count sentences, read by a synthetic teacher (flite)"
run "$program" corpus demo "$folder/corpus" --language en --count "$count"
run "$program" prepare "$folder/corpus" --out "$folder/corpus.pack"

title "Training the smallest network for at most $minutes minutes"
rm -rf "$folder/run"
run "$program" train --train-data "$folder/corpus.pack" --output "$folder/run" --steps "${DEMO_STEPS:-800}" \
    --max-minutes "$minutes" --save-every 200 --eval-every 200

title "Speaking a sentence that was not among the recordings"
run "$program" synth --checkpoint "$folder/run" --text "$text" --output "$folder/spoken.wav"
run "$program" features "$folder/spoken.wav" --output "$folder/spoken.safetensors" --png "$folder/spoken.png"

title "Done"
printf 'the sentence       %s\n' "$folder/spoken.wav"
printf 'its mel picture    %s\n' "$folder/spoken.png"
printf 'the trained voice  %s\n' "$folder/run"
printf 'about its training %s\n' "$folder/run/report.html"
printf '\nThe teacher is a synthetic voice, too. To use recordings of a person: %s check YOUR_FOLDER\n' "$program"

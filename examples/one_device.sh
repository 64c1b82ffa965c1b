#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# One device does everything, with a buffer of prepared batches: from recordings to a spoken sentence. recipe.sh explains
# the arguments and variables. DEVICE names the device (cpu:0).
# shellcheck source=examples/recipe.sh
. "$(dirname "$(realpath "$0")")/recipe.sh"
device=${DEVICE:-cpu:0}

say "Which devices are there?"
run devices

say "Which recordings can be used?"
run check "$corpus"
run prepare "$corpus" --output "$folder/corpus.pack"

say "Training on $device: $steps steps"
run train --train-data "$folder/corpus.pack" --output "$folder/run" --device "$device" --steps "$steps" "${extra[@]}"

say "The voice speaks a sentence that is not in the corpus"
run synth --checkpoint "$folder/run" --text 'We walked along the river until the evening.' --output "$folder/spoken.wav"
say "Listen to $folder/spoken.wav; 'myxtts train --resume $folder/run --steps N' goes on from there"

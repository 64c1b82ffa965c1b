#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Two devices share the work: one prepares batches, the other trains. How to call it and its variables: see recipe.sh.
#
# DEVICES says which ones: by default two halves of the CPU's cores; with two GPUs
#
#     DEVICES='--data-gpu 0 --model-gpu 1' examples/two_devices.sh my-corpus
# shellcheck source=examples/recipe.sh
. "$(dirname "$(realpath "$0")")/recipe.sh"
read -ra devices <<<"${DEVICES:---backend cpu --cpu-devices 2 --data-gpu 0 --model-gpu 1}"

say "Are drivers, limits, transfers and a training step on both devices as they should be?"
run validate "${devices[@]}"

say "What would training take of each device?"
run train --train-data "$corpus" "${devices[@]}" --enable-memory-isolation --dry-run "${extra[@]}"

say "Training: $steps steps, each device under its own memory limit"
run train --train-data "$corpus" --output "$folder/run" "${devices[@]}" --enable-memory-isolation --steps "$steps" "${extra[@]}"

say "Where did the time go, and which device holds the other one up?"
run profile --train-data "$corpus" "${devices[@]}" --num-steps "$steps" --json "$folder/profile.json" \
    --trace "$folder/trace.json" "${extra[@]}"
say "$folder/trace.json shows every stage on a time line: open it with chrome://tracing or ui.perfetto.dev"

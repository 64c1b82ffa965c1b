#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Two devices share the work: one prepares batches, the other trains. recipe.sh explains the arguments and variables.
#
# DEVICES chooses the devices. By default they are two halves of the CPU's cores; with two GPUs, use
#
#     DEVICES='--data-gpu 0 --model-gpu 1' examples/two_devices.sh my-corpus
# shellcheck source=examples/recipe.sh
. "$(dirname "$(realpath "$0")")/recipe.sh"
read -ra devices <<<"${DEVICES:---backend cpu --cpu-devices 2 --data-gpu 0 --model-gpu 1}"

say "Do drivers, limits, transfers and a training step work on both devices?"
run validate "${devices[@]}"

say "How much memory would training use on each device?"
run train --train-data "$corpus" "${devices[@]}" --enable-memory-isolation --dry-run "${extra[@]}"

say "Training: $steps steps, each device under its own memory limit"
run train --train-data "$corpus" --output "$folder/run" "${devices[@]}" --enable-memory-isolation --steps "$steps" "${extra[@]}"

say "Where did the time go, and which device holds up the other?"
run profile --train-data "$corpus" "${devices[@]}" --num-steps "$steps" --json "$folder/profile.json" \
    --trace "$folder/trace.json" "${extra[@]}"
say "$folder/trace.json shows a timeline of every stage: open it with chrome://tracing or ui.perfetto.dev"

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Training with little memory: how much it needs, how to reduce that, and a hard limit that holds. recipe.sh explains the
# arguments and variables. LIMIT is the memory limit of the device in MiB (700).
# shellcheck source=examples/recipe.sh
. "$(dirname "$(realpath "$0")")/recipe.sh"
limit=${LIMIT:-700}
device=(--device cpu:0 --model-gpu-memory "$limit")

say "The default: batches of 16, up to 50 of them prepared ahead"
run train --train-data "$corpus" --device cpu:0 --dry-run "${extra[@]}"

# The same mathematics in less memory:
#   --batch-size 4 --grad-accum 4           the gradient of 16 utterances, with the activations of 4
#   model.gradient_checkpointing            blocks are recomputed in the backward pass instead of stored
#   --buffer-size 4 --prefetch-buffer-size 2   fewer batches are waiting
#   training.samples=0                      no samples are spoken during training, so synthesis needs no memory
less=(--batch-size 4 --grad-accum 4 --set model.gradient_checkpointing=true --buffer-size 4 --prefetch-buffer-size 2
    --set training.samples=0)

say "The same gradient in less memory"
run train --train-data "$corpus" --device cpu:0 --dry-run "${extra[@]}" "${less[@]}"

say "Training under a hard limit of $limit MiB"
run train --train-data "$corpus" --output "$folder/run" "${device[@]}" --steps "$steps" "${extra[@]}" "${less[@]}"

say "If a batch does not fit, the error before the first step names the largest one that does"
if run train --train-data "$corpus" --output "$folder/refused" --device cpu:0 --model-gpu-memory "${TOO_LITTLE:-200}" \
    --steps 1 "${extra[@]}"; then
    echo "this batch fits into ${TOO_LITTLE:-200} MiB: nothing to show" >&2
    exit 1
fi

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Training where memory is short: what it takes, what takes less, and a hard limit that is kept. How to call it and its
# variables: see recipe.sh. LIMIT is the memory of the device in MiB (700).
# shellcheck source=examples/recipe.sh
. "$(dirname "$(realpath "$0")")/recipe.sh"
limit=${LIMIT:-700}
device=(--device cpu:0 --model-gpu-memory "$limit")

say "The usual way: batches of 16, 50 of them prepared"
run train --train-data "$corpus" --device cpu:0 --dry-run "${extra[@]}"

# The same mathematics in less memory:
#   --batch-size 4 --grad-accum 4           the gradient of 16 utterances, with the activations of 4
#   model.gradient_checkpointing            blocks are computed again in the backward pass instead of remembered
#   --buffer-size 4 --prefetch-buffer-size 2   fewer batches wait
#   training.samples=0                      nothing is spoken while training, so no room for synthesis
less=(--batch-size 4 --grad-accum 4 --set model.gradient_checkpointing=true --buffer-size 4 --prefetch-buffer-size 2
    --set training.samples=0)

say "The same gradient in less memory"
run train --train-data "$corpus" --device cpu:0 --dry-run "${extra[@]}" "${less[@]}"

say "Training under a hard limit of $limit MiB"
run train --train-data "$corpus" --output "$folder/run" "${device[@]}" --steps "$steps" "${extra[@]}" "${less[@]}"

say "Where a batch does not fit, the largest one that would is named before the first step"
if run train --train-data "$corpus" --output "$folder/refused" --device cpu:0 --model-gpu-memory "${TOO_LITTLE:-200}" \
    --steps 1 "${extra[@]}"; then
    echo "this batch fits into ${TOO_LITTLE:-200} MiB: nothing to show" >&2
    exit 1
fi

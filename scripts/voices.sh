#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Trains the base voice: five humans (prompts that are Debian packages) and six synthetic voices, six languages, one network
# and one vocoder. Takes hours; whatever stops it, the next call continues.
#
#     scripts/voices.sh build
#
# Results: BUILD/voices/base.voice.safetensors, and the run in BUILD/voices/run. Environment variables, with defaults:
#
#     STEPS=60000     of training
#     HELD_OUT=20     prompts of each human that are kept for judging
#     SENTENCES=200   that each synthetic voice reads
#     TRAIN_FLAGS=    more flags for 'myxtts train', for a new run

set -euo pipefail
here="$(dirname "${BASH_SOURCE[0]}")"
# shellcheck source=scripts/tell.sh
. "$here/tell.sh"
# shellcheck source=scripts/voices_corpora.sh
. "$here/voices_corpora.sh"

program="$1/myxtts" folder="$1/voices"
steps="${STEPS:-60000}" held_out="${HELD_OUT:-20}" sentences="${SENTENCES:-200}"
read -ra flags <<<"${TRAIN_FLAGS:-}"

attribution()
{
    local human speaker whose licence
    for human in "${humans[@]}"; do
        IFS='|' read -r speaker _ _ whose licence <<<"$human"
        printf '%s: %s (%s); ' "$speaker" "$whose" "$licence"
    done
    printf 'synthetic voices: flite and espeak-ng'
}

title 'The corpus'
[[ -e $folder/corpus/metadata_train.csv ]] || corpora_make
title 'Training'
if [[ -d $folder/run/checkpoints ]]; then
    run "$program" train --resume "$folder/run"
else
    rm -rf "$folder/run"
    run "$program" train --train-data "$folder/corpus" --output "$folder/run" --steps "$steps" --epochs 1000000 \
        --set data.balance=root --allow-rejects "${flags[@]}"
fi
title 'The voice'
run "$program" export "$folder/run" --output "$folder/base.voice.safetensors" --precision bf16 --name base \
    --licence CC-BY-SA-3.0 --attribution "$(attribution)"

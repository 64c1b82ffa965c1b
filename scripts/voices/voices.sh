#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Trains the base voice: five humans (prompts that are Debian packages) and six synthetic voices, six languages, one network
# and one vocoder. Takes hours; whatever stops it, the next call continues.
#
#     scripts/voices/voices.sh build            everything
#     scripts/voices/voices.sh build export     only the last part, from the newest checkpoint of the run
#     scripts/voices/voices.sh build readme     only voices/README.md, for the voice that is there: after 'make bench-voices', with its numbers
#
# Results: voices/base.voice.safetensors, voices/vocoder.safetensors and voices/README.md in the source tree. Environment
# variables, with defaults:
#
#     FOLDER=build/voices  where the corpus and the run are
#     RESULTS=voices       where the results go
#     STEPS=7500           of training
#     HELD_OUT=40          prompts of each human that are kept for judging
#     SENTENCES=200        that each synthetic voice reads
#     TRAIN_FLAGS=         more flags for 'myxtts train', for a new run

set -euo pipefail
here="$(dirname "${BASH_SOURCE[0]}")"
# shellcheck source=scripts/tell.sh
. "$here/../tell.sh"
# shellcheck source=scripts/voices/corpora.sh
. "$here/corpora.sh"
# shellcheck source=scripts/voices/readme.sh
. "$here/readme.sh"

program="$1/myxtts" measured="$1/bench/voices.md" folder="${FOLDER:-$1/voices}" results="${RESULTS:-$here/../../voices}" only="${2:-}"
steps="${STEPS:-7500}" held_out="${HELD_OUT:-40}" sentences="${SENTENCES:-200}"
read -ra flags <<<"${TRAIN_FLAGS:-}"
[[ -z $only || $only == export || $only == readme ]] || { printf 'voices: "%s" is neither export nor readme\n' "$only" >&2 && exit 1; }

attribution()
{
    local human speaker whose licence
    for human in "${humans[@]}"; do
        IFS='|' read -r speaker _ _ whose licence <<<"$human"
        printf '%s: %s (%s); ' "$speaker" "$whose" "$licence"
    done
    printf 'synthetic voices: flite and espeak-ng'
}

train()
{
    title 'The corpus'
    [[ -e $folder/corpus/metadata_train.csv ]] || corpora_make
    title 'Training'
    if [[ -d $folder/run/checkpoints ]]; then
        run "$program" train --resume "$folder/run"
    else
        rm -rf "$folder/run"
        run "$program" train --train-data "$folder/corpus" --output "$folder/run" --steps "$steps" --epochs 1000000 \
            "${base_flags[@]}" "${flags[@]}"
    fi
}

# The corpus says which language each speaker speaks; so does a checkpoint, unless an earlier version began it.
export_all()
{
    local about=(--precision bf16 --licence CC-BY-SA-3.0 --attribution "$(attribution)") languages=() pair
    while read -r pair; do languages+=(--speaker-language "$pair"); done \
        < <(awk -F'|' 'NR > 1 { print $3 "=" $4 }' "$folder/corpus/metadata_train.csv" | sort -u)
    title 'The voice'
    mkdir -p "$results"
    run "$program" export "$folder/run" --output "$results/base.voice.safetensors" --name base "${about[@]}" "${languages[@]}"
    run "$program" export "$folder/run" --format vocoder --output "$results/vocoder.safetensors" "${about[@]}"
}

page_write()
{
    readme_write >"$results/README.md.part"
    mv "$results/README.md.part" "$results/README.md"
    printf '%s\n' "$results/README.md"
}

[[ -n $only ]] || train
[[ $only == readme ]] || export_all
page_write

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# GPUs that are there and cannot be used, with the program given as $1 on the double of CUDA (tests/double): training does
# not go to the CPU by itself, and the reason is the one that `myxtts devices` gives.
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
. "$here/support/cli.sh"
# shellcheck source=tests/support/tones.sh
. "$here/support/tones.sh"
# shellcheck source=tests/support/cuda.sh
. "$here/support/cuda.sh"

tones corpus 4
base=(train --train-data corpus "${small[@]}" --steps 2 --dry-run)

# cannot SETTING "reason": with this setting of the double
cannot() {
    export "CUDA_DOUBLE_$1"
    refused 3 'a GPU is here, but it cannot be used: ' "'myxtts train .*--backend cpu' does without it" "${base[@]}"
    check "$1: why" grep -qF "$2" stderr
    refused 3 'Multi-GPU requires at least 2 GPUs: none that is here can be used (cuda: ' '--allow-single' "${base[@]}" \
        --data-gpu 0 --model-gpu 1
    check "$1: why not two" grep -qF "$2" stderr
    refused 3 'backend cuda is not available: ' 'devices here: ' "${base[@]}" --backend cuda
    check "$1: why not this backend" grep -qF "$2" stderr
    done_with "${base[@]}" --backend cpu
    check "$1: the CPU was asked for" test "$(grep -c -e warning -e GPU: stderr)" -eq 0
    done_with "${base[@]}" --allow-single
    check "$1: the CPU was permitted" grep -qF "the CPU instead of a GPU that cannot be used, as '--allow-single' permits: " stderr
    done_with devices
    check "$1: devices knows it" grep -qF "$2" stdout
    unset "CUDA_DOUBLE_${1%=*}"
}

cannot CAPABILITY=60 'Double B (0000:42:00.0) is too old: it has compute capability 6.0, 7.0 is needed'
cannot DRIVER_VERSION=11000 'the NVIDIA driver is too old: it has CUDA 11.0, 11.8 is needed'
cannot MEMORY_MIB=512 'Double A (0000:41:00.0) has too little memory: 512 MiB, 1.00 GiB is needed'
cannot COMPUTE_MODE=2 'Double A (0000:41:00.0) is closed to programs (its compute mode is "prohibited")'
cannot INIT_CODE=804 'the NVIDIA driver does not start: error 804'

# ---- there is one ----
CUDA_DOUBLE_DEVICES=1 refused 3 'Multi-GPU requires at least 2 GPUs: backend cuda has 1 GPU' \
    "devices here: [^;]*; '--allow-single' does everything on cuda:0" "${base[@]}" --data-gpu 0 --model-gpu 1
CUDA_DOUBLE_DEVICES=1 done_with "${base[@]}" --data-gpu 0 --model-gpu 1 --allow-single
check "the GPU does everything" grep -q '^Memory of .*cuda:0' stdout

# ---- there is none ----
CUDA_DOUBLE_DEVICES=0 done_with "${base[@]}"
check "no GPU: the CPU" grep -q '^Memory of .*cpu:0' stdout
CUDA_VISIBLE_DEVICES='' done_with "${base[@]}"
check "hidden: the CPU" grep -q '^Memory of .*cpu:0' stdout

finish

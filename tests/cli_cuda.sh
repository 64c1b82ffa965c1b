#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# The program on CUDA, with the program given as $1: devices, validate and train on two devices of the double
# (tests/double), which reach each other's memory or do not; losses as on the CPU; a run that goes from one backend to the
# other; a device that is lost on the way. Everything runs on a small corpus of tones that is made here.
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
. "$here/support/cli.sh"
# shellcheck source=tests/support/tones.sh
. "$here/support/tones.sh"
# shellcheck source=tests/support/cuda.sh
. "$here/support/cuda.sh"
# shellcheck source=tests/support/follows.sh
. "$here/support/follows.sh"

export CUDA_DOUBLE_REPORT=$folder/report

# clean "what": the double saw nothing wrong, and everything was given back.
clean() {
    check "$1: nothing wrong was asked of CUDA" grep -qx 'faults 0' report
    check "$1: everything was given back" awk '
        /^(contexts|buffers|pinned|streams|events|modules|graphs|handles) / && $2 != 0 { print; wrong = 1 }
        END { exit wrong }' report
}
# total NAME: what the double counted
total() {
    awk -v name="$1" '$1 == name { print $2 }' report
}

# Short ones: the double takes its time for each frame.
# shellcheck disable=SC2016
tone_corpus tones 8 '$count = 4000 + 250 * ($row % 4); $loud = 9000; $step = ($row % 2 ? 0.04 : 0.09) + 0.002 * $row;
    $text = ($row % 2 ? "low" : "high") . "|Tone $letter."'
base=(train --train-data tones "${small[@]}" --set data.min_seconds=0.2 --set training.samples=0 --seed 3 --eval-every 0 --batch-size 2)
pair=(--backend cuda --data-gpu 0 --model-gpu 1)
one=(--backend cpu --cpu-devices $((cores < 2 ? 1 : 2)) --device cpu:0)
follows_corpus=tones
on_cpu() {
    done_with "${base[@]}" "${one[@]}" --steps 4 --output "$@"
}
in_halves() {
    done_with "${base[@]}" "${one[@]}" --steps 2 --output "$@"
    done_with train --resume "$1" --steps 4 "${one[@]}"
}

# ---- what is there ----
done_with devices
check "both devices" grep -q 'cuda:1 *Double B' stdout
CUDA_VISIBLE_DEVICES=1 done_with devices
check "the chosen one is the first" grep -q 'cuda:0 *Double B' stdout
check "there is no second" test "$(grep -c 'cuda:1' stdout)" -eq 0
CUDA_VISIBLE_DEVICES=1,0 done_with "${base[@]}" --device cuda:0 --dry-run
check "the log tells which is which" grep -qF 'CUDA_VISIBLE_DEVICES=1,0: cuda:0 is Double B at 0000:42:00.0' stderr
check "of the devices in use" test "$(grep -c CUDA_VISIBLE_DEVICES stderr)" -eq 1
MYXTTS_CUDA_CUBLAS=/nonexistent/libcublas.so.12 refused 3 'a GPU is here, but it cannot be used: /nonexistent/libcublas.so.12' \
    "'myxtts train .*--backend cpu' does without it" "${base[@]}" --dry-run
CUDA_DOUBLE_DEVICES=0 done_with devices
check "a driver without a device is reported in one line" test "$(grep -c 'no device for it' stdout)" -eq 1
clean devices
CUDA_DOUBLE_DEVICES=1 refused 3 'Multi-GPU requires at least 2 GPUs: backend cuda has 1 device' 'devices here: ' \
    "${base[@]}" "${pair[@]}" --steps 2 --output none

# ---- validate ----
done_with validate "${pair[@]}" "${small[@]}" --batch-size 1
clean validate
check "copies are direct" grep -q 'Copies between the devices are direct (peer)' stdout
check "all checks" grep -q 'All validation checks passed' stdout

# ---- train: two devices with and without access to each other, one device, graphs ----
on_cpu cpu
done_with "${base[@]}" "${pair[@]}" --steps 4 --output peers
clean peers
check "what the driver measures is kept" grep -q '"model_driver_busy":0.37,"model_driver_bytes":[1-9]' peers/metrics.jsonl
check "peers copy directly" test "$(total peer_copies)" -gt 0
check "products are cuBLAS's" test "$(total gemms)" -gt 0
check "the model is on the second" grep -q 'Memory of GPU:1 (cuda:1)' stderr
follows on_cpu cpu peers
CUDA_DOUBLE_PEER=0 done_with "${base[@]}" "${pair[@]}" --steps 4 --output staged
clean staged
check "others through the host" test "$(total peer_copies)" -eq 0
check "kernels come from the disk" test "$(total compiles)" -eq 0
follows on_cpu cpu staged
done_with "${base[@]}" --device cuda:0 --steps 4 --output single
clean single
follows on_cpu cpu single
done_with "${base[@]}" "${pair[@]}" --steps 4 --enable-static-shapes --output graphs
clean graphs
check "steps are launched as graphs" test "$(total graph_launches)" -ge 2
check "graphs are updated, not rebuilt" test "$(total updates)" -ge 1
follows on_cpu cpu graphs
done_with "${base[@]}" "${pair[@]}" --steps 4 --mixed-precision --output half
clean half
CUDA_DOUBLE_CAPABILITY=75 refused 3 'cuda:1 does not' 'without mixed precision' "${base[@]}" "${pair[@]}" --steps 2 \
    --mixed-precision --output none

# ---- from one backend to the other ----
done_with "${base[@]}" "${one[@]}" --steps 2 --output begun
in_halves same
done_with train --resume begun --steps 4 "${pair[@]}"
clean 'a run that was begun on the CPU'
follows in_halves same begun

# ---- what goes wrong ----
# The model device: the data device runs ahead, and what it prepares for later steps may be lost without harm.
CUDA_DOUBLE_FAIL_DEVICE=1 CUDA_DOUBLE_FAIL_RUN=700 CUDA_DOUBLE_RUN_CODE=719 run "${base[@]}" "${pair[@]}" --steps 4 --output lost
check "a lost device: exit code $code" test "$code" -eq 3
check "a lost device is reported" grep -q 'error: .*the device is lost (CUDA_ERROR_LAUNCH_FAILED)' stderr
check "and that there is nothing to go on from" grep -q 'hint: .*nothing was saved yet: run the same command again$' stderr
check "a lost device: nothing wrong was asked of CUDA" grep -qx 'faults 0' report
check "a lost device: its contexts are given back" grep -qx 'contexts 0' report
done_with "${base[@]}" "${pair[@]}" --steps 4 --output lost # as the hint says
CUDA_DOUBLE_FAIL_ALLOC=20 run "${base[@]}" "${pair[@]}" --steps 4 --output full
check "no memory: exit code $code" test "$code" -eq 3
check "no memory is reported" grep -q 'error: cuda:[01]: .*no memory left (CUDA_ERROR_OUT_OF_MEMORY)' stderr
clean 'no memory'
finish

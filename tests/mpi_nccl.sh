#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Ranks with CUDA devices, with the program given as $1, on the double (tests/double): NCCL sums, two ranks follow one, a
# rerun is the same bit for bit; without NCCL in one rank, with another version or by choice MPI sums, and the log says
# why; a sum that fails, a network that is gone and a rank that is killed end all.
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
. "$here/support/cli.sh"
# shellcheck source=tests/support/tones.sh
. "$here/support/tones.sh"
# shellcheck source=tests/support/cuda.sh
. "$here/support/cuda.sh"
# shellcheck source=tests/support/follows.sh
. "$here/support/follows.sh"
# shellcheck source=tests/support/mpi.sh
. "$here/support/mpi.sh"

if ! [ -w /dev/shm ]; then skip "the double of NCCL needs shared memory (/dev/shm)"; fi
export MYXTTS_CUDA_NCCL=$double
unset MYXTTS_SUMS

# Short ones: the double takes its time for each frame.
# shellcheck disable=SC2016
tone_corpus tones 8 '$count = 4000 + 250 * ($row % 4); $loud = 9000; $step = ($row % 2 ? 0.04 : 0.09) + 0.002 * $row;
    $text = ($row % 2 ? "low" : "high") . "|Tone $letter."'
done_with prepare --output tones.pack --tokens chars --min-seconds 0.2 --features tones # on the double the features would take longer than the training
common=(train --train-data tones.pack "${small[@]}" --backend cuda --batch-size 3 --steps 3 --eval-every 0 --seed 3
    --set data.min_seconds=0.2 --set training.samples=0 --set training.report=off --tensorboard off)

# two OUTPUT [VARIABLE=VALUE...]: two ranks, the second one with these variables; each has its own report of the double.
two() {
    local output=$1
    shift
    "$launcher" -n 1 env CUDA_DOUBLE_REPORT="$folder/report0" "$program" "${common[@]}" --output "$output" : \
        -n 1 env CUDA_DOUBLE_REPORT="$folder/report1" "$@" "$program" "${common[@]}" --output "$output" \
        >"$folder/stdout" 2>"$folder/stderr" </dev/null
    code=$?
}
# two_done OUTPUT SUMS [VARIABLE=VALUE...]: must succeed, with sums of NCCL or without.
two_done() {
    local output=$1 sums=$2
    shift 2
    two "$output" "$@"
    check "$output: exit code $code" test "$code" -eq 0
    for rank in 0 1; do
        check "$output: nothing wrong was asked of CUDA by rank $rank" grep -qx 'faults 0' "report$rank"
        check "$output: rank $rank gave everything back" awk '
            /^(contexts|buffers|pinned|streams|events|modules|graphs|handles) / && $2 != 0 { print; wrong = 1 }
            END { exit wrong }' "report$rank"
        check "$output: sums of NCCL in rank $rank: $sums" grep -qE "^sums $([ "$sums" = yes ] && echo '[1-9]' || echo '0$')" "report$rank"
    done
}

done_with "${common[@]}" --output one
on_cpu() {
    done_with "${common[@]}" --backend cpu --output "$@"
}
two_done nccl yes
ranks_said 'NCCL' 'gradients are summed by NCCL 2.28.9'
check 'NCCL: one line of it' test "$(grep -c 'gradients are summed' stderr)" -eq 1
follows on_cpu one nccl
two_done again yes
identical 'a rerun is the same, bit for bit' nccl/metrics.jsonl again/metrics.jsonl

# ---- MPI instead ----
two_done missing no MYXTTS_CUDA_NCCL=/nonexistent/libnccl.so.2
why="gradients are summed by MPI, through the host, because of rank 1 on $(hostname): "
ranks_said 'one without NCCL' "warning: ${why}/nonexistent/libnccl.so.2, which MYXTTS_CUDA_NCCL names, cannot be loaded"
follows on_cpu one missing
common+=(--steps 1)
two_done version no CUDA_DOUBLE_NCCL_VERSION=21805
ranks_said 'another NCCL' "${why}its NCCL is 2.18.5, that of rank 0 is 2.28.9"
two_done chosen no MYXTTS_SUMS=ring
ranks_said 'by choice' "${why}MYXTTS_SUMS is ring"
check 'by choice: not a warning' test "$(grep -c '^warning: gradients' stderr)" -eq 0
MYXTTS_SUMS=nccl two forced MYXTTS_CUDA_NCCL=/nonexistent/libnccl.so.2
check "MYXTTS_SUMS=nccl: exit code $code" test "$code" -eq 3
ranks_said 'MYXTTS_SUMS=nccl' 'NCCL cannot sum the gradients, as MYXTTS_SUMS=nccl asks for, because of rank 1'
check 'MYXTTS_SUMS=nccl: one message' test "$(grep -c '^error: ' stderr)" -eq 1
check 'MYXTTS_SUMS=nccl: what to do' grep -q '^  hint: .*libnccl2' stderr

# ---- what goes wrong ----
two fails CUDA_DOUBLE_FAIL_SUM=2
check "a sum that fails: exit code $code" test "$code" -eq 3
ranks_said 'a sum that fails' "error: rank 1 on $(hostname): NCCL: summing gradients failed: unhandled system error"
two hangs CUDA_DOUBLE_BROKEN_SUM=2
check "a network that is gone: exit code $code" test "$code" -eq 3
ranks_said 'a network that is gone' "NCCL: summing gradients failed: remote process exited"
check 'a network that is gone: one message' test "$(grep -c '^error: ' stderr)" -eq 1

# One that waits for a sum of a rank that is gone is ended by whoever watches it.
"$launcher" -n 2 "$program" "${common[@]}" --output killed --steps 100000 --epochs 100000 >stdout 2>stderr </dev/null &
child=$!
for _ in $(seq 600); do
    if [ "$(wc -l 2>/dev/null <killed/metrics.jsonl)" -ge 2 ] 2>/dev/null; then break; fi
    sleep 0.05
done
pkill -KILL -n -x -f "$program .*--output killed .*"
begin=$SECONDS
wait $child
code=$?
check "a rank that is killed: exit code $code" test "$code" -ne 0
check "a rank that is killed: all ended after $((SECONDS - begin)) s" test $((SECONDS - begin)) -le 15
check 'a rank that is killed: NCCL had summed' grep -q 'gradients are summed by NCCL' stderr
check 'a rank that is killed: nobody is left' test -z "$(pgrep -x -f "$program .*--output killed .*")"

finish

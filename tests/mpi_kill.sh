#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# kill -9 of any rank at any moment: bash tests/mpi_kill.sh PROGRAM [KILLS [SEED]], with the program given as $1. One run
# is killed again and again, each time another victim and at another moment: while it starts, computes, evaluates or
# saves. Each time all ranks must end within 15 s, with a message that names rank, host and cause, and the run must go on
# from its last checkpoint. In the end it has made the same steps, bit for bit, as a run that nobody killed. (With another
# number of ranks it could only follow within rounding, which grows: tests/mpi_train.sh.) `make test` does this twice with
# two ranks, `make test-ranks` thirty times with three.
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
. "$here/support/cli.sh"
# shellcheck source=tests/support/tones.sh
. "$here/support/tones.sh"
# shellcheck source=tests/support/mpi.sh
. "$here/support/mpi.sh"

kills=${2:-2}
RANDOM=${3:-4711}
count=$((kills > 2 ? 3 : 2))
steps=$((kills * 30 + 20))
short_tones tones 24
small+=("${short[@]}")
common=(--epochs 1000000 --steps "$steps" --save-every 5 --eval-every 20 --set training.samples=1 --set training.report=off
    --tensorboard off)
start=(train --train-data tones "${small[@]}" --backend cpu --batch-size 6 --set training.early_stopping=0)

# named "what": one message about a rank that was killed. Until the ranks know each other only the launcher can say it.
# MPICH's launcher kills the others in any case before they can: it names host, process and cause, and rank 0 had told which
# rank that process was, once they knew each other.
named() {
    local ours
    ours=$(grep -c "^error: rank [0-9]* on $(hostname): its process has ended without a word" stderr)
    told=$((told + ours))
    check "$1: no second opinion" test "$(grep -c '^error: ' stderr)" -le 1
    case $launcher in
    mpirun*) check "$1: rank, host and cause" \
        grep -qE "^error: rank|process rank [0-9]+ with PID [0-9]+ on node $(hostname) exited on signal 9" stderr ;;
    *) check "$1: process, host and cause" grep -qE "^error: rank|PID [0-9]+ RUNNING AT $(hostname)" stdout stderr ;;
    esac
}

# processes: those of the run, without the launcher
processes() {
    pgrep -x -f "$program train .*victim.*"
}

# arguments: to go on, or to begin as long as there is nothing to go on from
arguments_choose() {
    arguments=(train --resume victim)
    if ! compgen -G 'victim/checkpoints/step-*.safetensors' >/dev/null; then arguments=("${start[@]}" --output victim); fi
}
lines() {
    if [ -f victim/metrics.jsonl ]; then wc -l <victim/metrics.jsonl; else echo 0; fi
}

told=0
killed=0
for ((number = 0; killed < kills && number < 3 * kills; number++)); do
    arguments_choose
    "$launcher" -n "$count" "$program" "${arguments[@]}" "${common[@]}" >stdout 2>stderr </dev/null &
    child=$!
    for _ in $(seq 200); do
        if [ "$(processes | wc -l)" -ge "$count" ]; then break; fi
        sleep 0.02
    done
    if ((number % 3 == 1)); then # while it starts
        sleep "0.$((RANDOM % 10))$((RANDOM % 10))"
    else # after some steps
        wanted=$(($(lines) + 1 + RANDOM % 25))
        while [ "$(lines)" -lt "$wanted" ] && kill -0 $child 2>/dev/null; do sleep 0.02; done
        sleep "0.0$((RANDOM % 10))"
    fi
    mapfile -t list < <(processes)
    if [ "${#list[@]}" -lt "$count" ]; then # it was done before
        wait $child
        break
    fi
    kill -KILL "${list[RANDOM % count]}"
    begin=$SECONDS
    while kill -0 $child 2>/dev/null && [ $((SECONDS - begin)) -le 20 ]; do sleep 0.05; done
    took=$((SECONDS - begin))
    killed=$((killed + 1))
    check "kill $number: all ended after $took s" test "$took" -le 15
    kill -KILL $child 2>/dev/null
    wait $child 2>/dev/null
    code=$?
    check "kill $number: exit code $code" test "$code" -ne 0
    check "kill $number: nobody is left" test -z "$(processes)"
    named "kill $number"
done
check "$killed of $kills were killed" test "$killed" -eq "$kills"
echo "killed $killed times, a surviving rank told it $told times"

arguments_choose
ranks_done "$count" "${arguments[@]}" "${common[@]}"
ranks_done "$count" "${start[@]}" --output whole "${common[@]}"
identical 'the run that was killed made the same steps' whole/metrics.jsonl victim/metrics.jsonl

finish

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# The folder of a run, with the program given as $1: it has one writer, a refused command changes nothing in it, its log
# has every message, and it keeps no more than the settings say.
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
. "$here/support/cli.sh"
# shellcheck source=tests/support/tones.sh
. "$here/support/tones.sh"

tones tones 12
args=(--train-data tones "${small[@]}" --seed 3)

# contents DIR: all names below it, and what the files hold
contents() {
    (cd "$1" && find . | sort && find . -type f -exec cksum {} + | sort)
}

# unchanged DIR "words" "hint" EXIT-CODE ARGUMENTS...: the command is refused and leaves the folder as it was.
unchanged() {
    local dir=$1 words=$2 hint=$3 wanted=$4
    shift 4
    contents "$dir" >before.txt
    refused "$wanted" "$words" "$hint" "$@"
    check "$*: $dir is as it was" diff before.txt <(contents "$dir")
}

# ---- every message is in log.txt ----
# logged FILE: its messages, and those of standard error, without the lines of progress
logged() {
    sed 's/^[^ ]* [A-Z]* //' "$1" | grep -v '^Measuring\|^Training'
}
two_cores || exit 77
two=(--backend cpu --cpu-devices 2 --data-gpu 0 --model-gpu 1)
done_with train "${args[@]}" "${two[@]}" --output run --steps 4 --save-every 2
check "the device block of the start" grep -q 'configuration completed successfully' run/log.txt
check "all of standard error, in the same order" \
    diff <(grep -v '^Measuring\|^Training' stderr | sed 's/^warning: //') <(logged run/log.txt)
done_with train "${args[@]}" "${two[@]}" --output also --steps 1 --log-file other.txt
check "--log-file does not replace it" grep -q 'configuration completed successfully' also/log.txt
check "both have the same" diff other.txt also/log.txt
done_with train --resume run --steps 5
check "going on: the start is there a second time" test "$(grep -c 'configuration completed successfully' run/log.txt)" -eq 2
done_with train "${args[@]}" "${two[@]}" --output spoken --steps 1 --quiet
check "what is not shown is there, too" grep -q 'configuration completed successfully' spoken/log.txt

# ---- a refused command changes nothing ----
unchanged run 'the run has the seed 3, and 99' "omit '--seed'; .*'--init-from run'" 1 train --resume run --seed 99
done_with train "${args[@]}" --init-from run --seed 99 --steps 1 --output other-seed
done_with train --resume run --steps 6
cp -r run begun
rm begun/corpus.pack
unchanged begun 'the run has the seed 3, and 99' 'init-from' 1 train --resume begun --seed 99
unchanged run 'already holds a run' '--resume run' 1 train "${args[@]}" --output run
unchanged run 'which has ' '.' 3 train --resume run --set "device.model_memory_mb=$((4 * cores + 3))"

# ---- nothing is written through a link ----
for name in checkpoints samples voices tensorboard metrics.jsonl log.txt cut; do
    rm -rf place
    mkdir place
    cp -r run place/run
    if [ -e place/run/$name ]; then mv place/run/$name place/elsewhere; else mkdir place/elsewhere; fi
    ln -s ../elsewhere place/run/$name
    unchanged place "'place/run/$name' is a symbolic link" 'remove the link' 2 train --resume place/run --steps 8
done
rm place/run/cut
ln -s place/run linked
done_with train --resume linked --steps 7
check "the run folder itself may be a link" grep -q '"step":7,' place/run/metrics.jsonl

# ---- a refused command changes nothing: folders of others ----
mkdir theirs empty nest
printf 'mine: 1\n' >theirs/config.yaml
printf '<html>' >theirs/report.html
mkdir theirs/checkpoints
unchanged theirs 'theirs is not empty and holds no run' "another '--output'" 1 train "${args[@]}" --output theirs
unchanged nest 'which has ' '.' 3 train "${args[@]}" --output nest/deep/new \
    --set "device.model_memory_mb=$((4 * cores + 3))"
unchanged empty 'which has ' '.' 3 train "${args[@]}" --output empty \
    --set "device.model_memory_mb=$((4 * cores + 3))"
done_with train "${args[@]}" --output empty --steps 1
mkdir streams
"$program" train "${args[@]}" --output streams --steps 1 --log-file streams/mine.log >streams/out.txt 2>streams/err.txt
check "what the command itself writes there does not count" test -e streams/checkpoints/step-00000001.safetensors

# ---- one run, one writer ----
# busy FOLDER: waits until a training writes to it
busy() {
    for _ in $(seq 1 3000); do
        [ -s "$1/metrics.jsonl" ] && return 0
        sleep 0.02
    done
    return 1
}
"$program" train "${args[@]}" --output held --steps 100000 --save-every 1 >held.out 2>&1 </dev/null &
child=$!
check "the first one trains" busy held
cp held/config.yaml held.yaml
refused 2 "another training run writes to held: process $child on $(uname -n) since 2" 'end it' train --resume held --steps 7
check "the second changes no setting" cmp held.yaml held/config.yaml
refused 1 'already holds a run' '.' train "${args[@]}" --output held
kill -9 $child
wait $child 2>/dev/null
last=$(find held/checkpoints -name 'step-*.safetensors' | sort | tail -n 1 | grep -o '[0-9]*' | tail -n 1)
# What it was writing when it was killed goes; what somebody else writes now, or called like that, stays.
mkdir -p held/samples/step-00000001
touch "held/run.json.$child-14.tmp" "held/samples/step-00000001/000.wav.$child-3.tmp" "held/report.html.$$-0.tmp" "held/notes.$child-1.tmp"
done_with train --resume held --steps $((10#$last + 1))
check "unfinished files of a killed process are deleted" test -z "$(find held -name "*[nv].$child-*.tmp")"
check "and counted" grep -q 'held: deleted [0-9]* unfinished files of a killed process' held/log.txt
check "others are not" test -e "held/report.html.$$-0.tmp" -a -e "held/notes.$child-1.tmp"
check "death gives it back" test -e "$(printf 'held/checkpoints/step-%08d.safetensors' $((10#$last + 1)))"
# One that was killed while it saved its first checkpoint has none: the same command begins again.
mkdir -p early/checkpoints
touch early/myxtts.lock "early/checkpoints/step-00000004.safetensors.$child-4.tmp"
done_with train "${args[@]}" --output early --steps 1
check "an unfinished checkpoint is no run" test -z "$(find early -name '*.tmp')"
# A folder that has no checkpoint yet belongs to its run as well.
mkdir slow
(
    exec 9>slow/myxtts.lock
    flock 9
    exec sleep 60
) &
holder=$!
check "the holder is there" bash -c 'for i in $(seq 500); do ! flock -n slow/myxtts.lock true && exit 0; sleep 0.02; done; exit 1'
refused 2 'another training run writes to slow' '.' train "${args[@]}" --output slow --steps 1
kill $holder
wait $holder 2>/dev/null
done_with train "${args[@]}" --output slow --steps 1

# ---- it keeps what it is told to keep ----
done_with train "${args[@]}" --output few --steps 12 --eval-every 2 --set training.keep_samples=2
best=$(grep -o '"best":{"step":[0-9]*' few/run.json | grep -o '[0-9]*$')
{
    printf 'step-%08d\n' 10 12
    [ -n "$best" ] && printf 'step-%08d\n' "$best"
} | sort -u >wanted.txt
check "samples of the last two evaluations, and of the best one" \
    diff wanted.txt <(find few/samples -name 'step-*' -printf '%f\n' | sort)
check "what is deleted is named" grep -q 'deleted few/samples/step-00000004, because of training.keep_samples' few/log.txt
mkdir few/samples/step-00000001
touch few/samples/step-00000001/mine.txt
done_with train --resume few --steps 14
check "files of others stay" test -e few/samples/step-00000001/mine.txt
# Metrics of 4 GiB are looked through piece by piece: a file with a hole as large as that, in a memory of 2 GiB. A
# sanitizer reserves more than that for itself.
size=4G memory=2097152
if grep -aq -e __asan_init -e __tsan_init "$program"; then size=64M memory=unlimited; fi
cp few/metrics.jsonl metrics.txt
truncate -s "$size" few/metrics.jsonl
(
    ulimit -v "$memory" 2>/dev/null || true
    exec "$program" train --resume few --steps 15 >stdout 2>stderr </dev/null
)
code=$?
check "a large metrics.jsonl: exit code $code" test $code -eq 0
check "what was cut off is gone, the rest is there" test "$(grep -ac '"loss_z"' few/metrics.jsonl)" -eq 15
check "nothing before it has changed" cmp metrics.txt <(head -c "$(stat -c %s metrics.txt)" few/metrics.jsonl)

# A report reads all of them. It starts no threads, so that less will do.
if [ "$memory" != unlimited ]; then size=384M memory=262144; fi
cp few/metrics.jsonl metrics.txt
truncate -s "$size" few/metrics.jsonl
(
    ulimit -v "$memory" 2>/dev/null || true
    exec "$program" report few --output large.html >stdout 2>stderr </dev/null
)
code=$?
check "a report of a large metrics.jsonl: exit code $code" test $code -eq 0
check "has all steps, and names the damage" grep -q '"damaged":1' large.html
cp metrics.txt few/metrics.jsonl

finish

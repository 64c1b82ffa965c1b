#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# What a run does when the world around it fails, with the program given as $1: signals, a full disk (a limit of the size of
# files stands in for it), recordings that vanish, files of the run that are lost or damaged. Nothing that was learned is
# thrown away.
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
. "$here/support/cli.sh"
# shellcheck source=tests/support/tones.sh
. "$here/support/tones.sh"
one_core

tones tones 12
args=(--train-data tones "${small[@]}" --seed 3 --set training.tensorboard=false)

# wait_for COMMAND...: up to 60 s, until it succeeds or the child has ended
wait_for() {
    for _ in $(seq 1 3000); do
        "$@" >/dev/null 2>&1 && return 0
        kill -0 $child 2>/dev/null || break
        sleep 0.02
    done
    return 1
}
# start ARGUMENTS...: in the background; its number is in $child. Its messages go through a pipe, so that they are no file of
# its own, which a limit of the size of files would stop as well.
mkfifo messages
start() {
    cat messages >stderr &
    "$program" "$@" >stdout 2>messages </dev/null &
    child=$!
}
# ended CODE "what": the background one ends so
ended() {
    wait $child
    code=$?
    wait
    check "$2: exit code $code instead of $1" test $code -eq "$1"
}
last_step() {
    grep -o '^{"step":[0-9]*' "$1/metrics.jsonl" | tail -n 1 | grep -o '[0-9]*$'
}
# saved_last RUN: the last step of the metrics is the newest checkpoint
saved_last() {
    test -e "$(printf '%s/checkpoints/step-%08d.safetensors' "$1" "$(last_step "$1")")"
}

# ---- signals ----
endless=("${args[@]}" --epochs 100000 --save-every 100000)
# Where this test itself was started by nohup, a program inherits that, and no signal would end it.
if [ $((0x$(awk '/^SigIgn/ { print $2 }' /proc/self/status) & 1)) -eq 0 ]; then
    start train "${endless[@]}" --output hup
    check "steps before SIGHUP" wait_for test -s hup/metrics.jsonl
    kill -HUP $child
    ended 4 "SIGHUP"
    check "SIGHUP: says that it is saved" grep -q 'everything is saved' stderr
    check "SIGHUP: it is" saved_last hup
else
    echo "SKIPPED: SIGHUP is ignored here"
fi

(
    trap '' HUP
    exec "$program" train "${endless[@]}" --output nohup >stdout 2>stderr </dev/null
) &
child=$!
check "steps before SIGHUP under nohup" wait_for test -s nohup/metrics.jsonl
kill -HUP $child
at=$(last_step nohup)
check "nohup: it goes on" wait_for bash -c "grep -q '^{\"step\":$((at + 20)),' nohup/metrics.jsonl"
kill -TERM $child
ended 4 "SIGTERM after SIGHUP under nohup"
check "nohup: saved" saved_last nohup

# The reader of all messages goes after the first line; evaluations bring new ones.
"$program" train "${endless[@]}" --eval-every 5 --output pipe 2>&1 </dev/null | head -n 1 >head.txt
code=${PIPESTATUS[0]}
check "| head: exit code $code instead of 4" test "$code" -eq 4
check "| head: saved" saved_last pipe
check "| head: log.txt says so" grep -q 'everything is saved' pipe/log.txt
done_with train --resume pipe --steps $(($(last_step pipe) + 1))

# A signal in the middle of an evaluation: the resumed run repeats it, and the results are the same.
many=("${args[@]}" --set data.validation_fraction=0.4 --set training.samples=5 --steps 4 --eval-every 2)
done_with train "${many[@]}" --output evaluated
start train "${many[@]}" --output evaluating
check "an evaluation begins" wait_for test -e evaluating/samples/step-00000002/000.wav
kill -TERM $child
wait
done_with train --resume evaluating
check "the same checkpoint in the end" \
    cmp evaluated/checkpoints/step-00000004.safetensors evaluating/checkpoints/step-00000004.safetensors
check "the same metrics" cmp <(sed 's/,"step_ms":.*/}/' evaluated/metrics.jsonl) \
    <(sed 's/,"step_ms":.*/}/' evaluating/metrics.jsonl)

# ---- a full disk ----
if command -v prlimit >/dev/null; then
    start train "${args[@]}" --output full --epochs 100000 --save-every 5
    check "steps before the disk is full" wait_for test -e full/checkpoints/step-00000005.safetensors
    prlimit --pid $child --fsize=1000:
    check "says that a checkpoint cannot be saved" wait_for grep -q 'File too large; training continues, and saving will be tried again' stderr
    check "says that the metrics cannot be written" wait_for grep -q 'metrics.jsonl: File too large; training continues' stderr
    check "says that the log cannot be written" grep -q 'the log file full/log.txt cannot be written: File too large' stderr
    prlimit --pid $child --fsize=unlimited:
    check "says that there is room again" wait_for grep -q 'checkpoints can be saved again' stderr
    kill -TERM $child
    ended 4 "after a full disk"
    check "the last step is saved" saved_last full
    check "no line of the metrics is missing" diff <(seq 1 "$(last_step full)") \
        <(grep -v '"evaluation"' full/metrics.jsonl | grep -o '^{"step":[0-9]*' | grep -o '[0-9]*$')
    check "the log counts what is missing in it" grep -q 'WARN [0-9]* messages before this one could not be written here' full/log.txt
    cp -r full stays
    start train --resume stays
    check "steps before the disk is full for good" wait_for grep -q 'continuing after' stderr
    prlimit --pid $child --fsize=1000:
    check "says so" wait_for grep -q 'saving will be tried again' stderr
    kill -TERM $child
    ended 2 "a disk that stays full"
    check "names the step that is saved" grep -q "hint: free some space there; .*--resume stays' then continues from step [0-9]" stderr
    done_with train --resume stays --steps $(($(last_step full) + 1))
else
    echo "SKIPPED: a full disk: there is no prlimit"
fi

# ---- a folder that is taken away ----
start train "${args[@]}" --output removed --steps 100000
check "steps before its folder goes" wait_for grep -q '^{"step":2,' removed/metrics.jsonl
rm -r removed/checkpoints
kill -TERM $child
ended 2 "a folder that was removed"
check "says what happened to it" grep -q 'hint: the folder was removed while the run trained: start again' stderr

# ---- files that cannot be written ----
done_with train "${args[@]}" --output part --steps 2 --save-every 2 --eval-every 0
rm -r part/samples
touch part/samples
done_with train --resume part --steps 4 --eval-every 1
check "samples that cannot be written are a warning" grep -q 'warning: step 3: samples cannot be written: ' stderr
rm part/samples part/metrics.jsonl
mkdir part/metrics.jsonl
done_with train --resume part --steps 5
check "so are metrics" grep -q 'metrics.jsonl: Is a directory; training continues' stderr
rmdir part/metrics.jsonl

# ---- recordings that vanish ----
cp -r tones gone
start train "${endless[@]}" --train-data gone --output vanished --set data.caching=false
check "steps before they vanish" wait_for test -s vanished/metrics.jsonl
mv gone/wavs gone/away
ended 2 "recordings vanish"
check "says that all is saved, and how to go on" \
    grep -q "everything up to step $(last_step vanished) is saved: 'myxtts train --resume vanished' continues from there" stderr
check "it is" saved_last vanished
mv gone/away gone/wavs
done_with train --resume vanished --steps $(($(last_step vanished) + 3))

# At evaluations, too: each one is made, now or when the run goes on, or it is said why there is none.
cp -r tones away
start train "${endless[@]}" --train-data away --output unheard --set data.caching=false --eval-every 1 \
    --set data.validation_fraction=0.1 --set training.samples=0 --allow-rejects
check "evaluations before they vanish" wait_for grep -q '"evaluation"' unheard/metrics.jsonl
mv away/wavs away/gone
ended 2 "recordings vanish between evaluations"
check "says that none can be used" grep -q 'found no usable utterance in 8 batches in a row' stderr
mv away/gone away/wavs
check "an evaluation without recordings is reported" grep -q 'WARN step [0-9]*: nothing was evaluated, since no recording' unheard/log.txt
done_with train --resume unheard --steps $(($(last_step unheard) + 3))
check "each step has its evaluation, or a word about it" test "$(last_step unheard)" -eq \
    $(($(grep -c '"evaluation"' unheard/metrics.jsonl) + $(grep -c 'WARN.*nothing was evaluated' unheard/log.txt)))

# ---- recordings that are silent ----
# A batch of nothing but silence makes no step: the step takes the next batch. Steps, resumed or not, are the same.
# shellcheck disable=SC2016
tone_corpus quiet 12 '$count = 16000 + 2000 * $row; $loud = $row % 4 == 3 ? 0 : 9000; $step = 0.05 + 0.002 * $row;
    $text = "one|The tone number $letter."'
args=(--train-data quiet "${small[@]}" --batch-size 1 --seed 3 --set data.validation_fraction=0 --allow-rejects --set training.tensorboard=false)
done_with train "${args[@]}" --output silent --steps 20 --save-every 9
check "20 steps" test "$(last_step silent)" -eq 20
check "silent recordings are named" grep -q "row-003 is left out: nothing can be heard" stderr
check "each step had an utterance" test "$(grep -c '"utterances":1,' silent/metrics.jsonl)" -eq 20
check "those left out on the way are counted" grep -q '"left_out":[1-9]' silent/metrics.jsonl
mv silent/checkpoints/step-00000020.safetensors whole.safetensors
rm silent/checkpoints/step-00000018.safetensors
done_with train --resume silent
check "resumed at step 9, they end with the same bits" cmp whole.safetensors silent/checkpoints/step-00000020.safetensors

# ---- checkpoints and settings that are lost ----
done_with train "${args[@]}" --output whole --steps 6 --save-every 2
newest=whole/checkpoints/step-00000006.safetensors
before=whole/checkpoints/step-00000004.safetensors
cp $newest good
# falls_back "what": the newest is lost, and the run goes on from the one before it to the same end
falls_back() {
    done_with train --resume whole
    check "$1: falls back" grep -q "warning: using the checkpoint before it: .*step-00000004" stderr
    check "$1: the same end" cmp good $newest
    rm -rf whole/checkpoints/*.abandoned
}
rm $newest && mkdir $newest
falls_back "a folder in its place"
rm -r $newest && ln -s nowhere $newest
falls_back "a link to nothing"
rm $newest && head -c 5000 good >$newest
falls_back "cut off"
perl -e 'local $/; open(F, "<:raw", $ARGV[0]); my $a = <F>; my $n = unpack("Q<", $a);
    substr($a, 8 + $n, 4) = pack("f<", "nan"); $a =~ s/"format":"myxtts-checkpoint"/"format":"another-programs!"/;
    print $a' good >foreign.safetensors
refused 2 'has a number that is not finite, at index 0' 'older' train "${args[@]}" --output infinite --steps 1 \
    --init-from foreign.safetensors
check "names the tensor" grep -qE 'error: .*foreign.safetensors.*: tensor .[a-z0-9_.]+. has' stderr
cp whole/config.yaml settings.yaml
for damage in 'rm whole/config.yaml' 'truncate -s 0 whole/config.yaml' 'echo "training: [" >whole/config.yaml'; do
    cp good $newest
    eval "$damage"
    done_with train --resume whole
    check "$damage: says where the settings come from" \
        grep -q 'warning: .*config.yaml.*; the settings are taken from whole/checkpoints/step-00000006' stderr
    rm $newest
    done_with train --resume whole
    check "$damage: the settings are there again" cmp settings.yaml whole/config.yaml
    check "$damage: the same end" cmp good $newest
done

finish

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# myxtts train, with the program given as $1, end to end on a small corpus of tones that is made here: a whole run, the
# same run killed and resumed (bit for bit), interrupts, time limits, old weights in a new run, and every refusal.
# Tokens are characters, so that libespeak-ng is not needed.
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
. "$here/support/cli.sh"
# shellcheck source=tests/support/tones.sh
. "$here/support/tones.sh"
one_core

# corpus DIR ROWS: tones of 1 to 2 s, with texts that fit.
corpus() {
    # shellcheck disable=SC2016
    tone_corpus "$1" "$2" '$count = 16000 + 2000 * ($row * 7 % 9); $step = 0.06 + 0.002 * ($row % 40); $loud = 9000;
        $text = "Tone number $letter|tone number $letter"'
}

# Settings of a network that is small but takes some milliseconds a step.
small=(--set training.part=acoustic --set model.width=32 --set model.heads=2 --set model.hidden=64 --set model.encoder_blocks=1
    --set model.decoder_blocks=2 --set data.tokens=chars --batch-size 4)

# wait_for FILE: up to 60 s
wait_for() {
    for _ in $(seq 1 3000); do
        [ -e "$1" ] && return 0
        sleep 0.02
    done
    return 1
}

# The metrics of a run without the times.
metrics() {
    sed 's/,"step_ms":.*/}/' "$1/metrics.jsonl"
}

corpus tones 16

# ---- refusals ----
refused 1 "'--output DIR' is missing" "folder of the run: 'myxtts train --train-data tones --output tones-run'" train --train-data tones
refused 1 'there is nothing to train on' 'train-data' train --output none
refused 1 'no model size' 'tiny, small' train --train-data tones --output r0 --model-size huge
refused 2 'none' '.' train --train-data none --output r1
refused 1 "option '--lr'" '.' train --train-data tones --output r2 --lr fast
refused 1 "option '--batch-size'" '.' train --train-data tones --output r2 --batch-size -3
refused 1 'learning rate' '1e-3' train --train-data tones --output r3 --lr 0 --set data.tokens=chars
refused 1 'contradicts' 'help' train --resume r4 --output r5
refused 1 'contradict' 'starts a new run' train --resume r4 --init-from r5
refused 1 'contradicts' 'set' train --resume r4 --config my.yaml
refused 1 '--init-from' 'help' train --train-data tones --output r6 --partial
refused 2 'r4' '.' train --resume r4
MYXTTS_BF16=off refused 3 'cpu:0 does not: MYXTTS_BF16' 'without mixed precision' train --train-data tones --output r7 \
    --mixed-precision
check "a refusal leaves no folder" test ! -e r7
refused 3 'cuda:3' '.' train --train-data tones --output r8 --device cuda:3
refused 1 'training.batchsize' 'batch_size' train --train-data tones --output r9 --set training.batchsize=2
refused 3 'which has ' '--model-gpu-memory [0-9]*. is enough' train --train-data tones --output r10 "${small[@]}" \
    --set device.model_memory_mb=$((4 * cores + 3))
refused 1 "one of: basic, enhanced, plateau_breaker" '.' train --train-data tones --output r11 \
    --set training.optimization_level=turbo

# ---- the dry run ----
listing=$(find .)
done_with train --train-data tones "${small[@]}" --dry-run
check "the table of sizes" grep -q '^ *big  *768 .* 25[0-9]\{7\}$' stdout
check "the chosen size" grep -q '^--> chosen *32 ' stdout
check "the memory plan" grep -q 'all together .* MiB' stdout
check "a dry run leaves nothing behind" test "$(find .)" = "$listing"
check "a wrong setting leaves nothing behind" test ! -e r0 -a ! -e r1 -a ! -e r3

# ---- a whole run ----
args=("${small[@]}" --steps 20 --save-every 5 --eval-every 10 --seed 3)
done_with train --train-data tones --output whole "${args[@]}"
check "the memory is what the plan says, and no other figure stands before it" awk '/^Memory of / { plan = 1; exit }
    / [KMG]iB/ { exit } END { exit !plan }' stderr
check "config.yaml" grep -q 'batch_size: 4' whole/config.yaml
check "presets are resolved" grep -q 'learning_rate: 0.001' whole/config.yaml
check "log.txt" grep -q 'INFO' whole/log.txt
check "20 steps in the metrics" test "$(grep -c '"loss_z"' whole/metrics.jsonl)" -eq 20
check "2 evaluations in the metrics" test "$(grep -c '"evaluation"' whole/metrics.jsonl)" -eq 2
check "samples are spoken" test -s whole/samples/step-00000010/000.wav -a -s whole/samples/step-00000020/000.png
check "a recording tells the voice" test -s whole/voices/000.wav
check "the last checkpoint" test -e whole/checkpoints/step-00000020.safetensors
check "the first one is gone" test ! -e whole/checkpoints/step-00000005.safetensors
check "what is printed at the end" grep -q '^whole: step 20 of 20$' stdout
refused 1 'already holds a run' 'resume' train --train-data tones --output whole "${args[@]}"
done_with train --resume whole
check "a finished run has nothing left" grep -q 'nothing is left' stderr

# ---- the same run, killed twice and resumed ----
for stop in 5 10; do
    before=(train --train-data tones --output killed "${args[@]}")
    [ -e killed ] && before=(train --resume killed)
    "$program" "${before[@]}" >stdout 2>stderr </dev/null &
    child=$!
    check "a checkpoint before the kill" wait_for "$(printf 'killed/checkpoints/step-%08d.safetensors' $stop)"
    kill -9 $child 2>/dev/null
    wait $child 2>/dev/null
done
done_with train --resume killed
check "weights, optimizer and state are the same bit for bit" \
    cmp whole/checkpoints/step-00000020.safetensors killed/checkpoints/step-00000020.safetensors
check "metrics are the same" cmp <(metrics whole) <(metrics killed)
cp -r whole begun
mv begun/corpus.pack begun/corpus.pack.part # as if it had ended before all recordings were in it
truncate -s $(($(stat -c %s begun/corpus.pack.part) / 2)) begun/corpus.pack.part
done_with train --resume begun --steps 22
check "goes on with the cache that was begun" \
    grep -qE 'the cache begun/corpus.pack is continued: ([1-9]|1[0-5]) of 16 recordings are already in it' stderr

# ---- interrupts ----
for signal in INT TERM; do
    "$program" train --train-data tones --output "stopped-$signal" "${small[@]}" --steps 100000 --save-every 100000 \
        >stdout 2>stderr </dev/null &
    child=$!
    check "steps before SIG$signal" wait_for "stopped-$signal/metrics.jsonl"
    sleep 0.5
    kill -$signal $child
    wait $child
    code=$?
    check "SIG$signal: exit code $code instead of 4" test $code -eq 4
    check "SIG$signal: says that it is saved" grep -q 'everything is saved' stderr
    check "SIG$signal: says how to go on" grep -q "hint: .*--resume stopped-$signal" stderr
    last=$(grep -o '^{"step":[0-9]*' "stopped-$signal/metrics.jsonl" | tail -1 | grep -o '[0-9]*$')
    check "SIG$signal: the last step is saved" \
        test -e "$(printf 'stopped-%s/checkpoints/step-%08d.safetensors' $signal "$last")"
    done_with train --resume "stopped-$signal" --steps $((last + 2))
    check "SIG$signal: it goes on" grep -q "^{\"step\":$((last + 2))," "stopped-$signal/metrics.jsonl"
done

# ---- packed corpora: the sound, and finished features ----
first_loss() {
    sed -n '1s/.*"loss":\([0-9.e-]*\),.*/\1/p' "$1/metrics.jsonl"
}
done_with prepare tones --tokens chars --output sound.pack
done_with prepare tones --tokens chars --features --output features.pack
for kind in sound features; do
    done_with train --train-data $kind.pack --output from-$kind "${small[@]}" --batch-size 16 --steps 3 --seed 3
    check "$kind: 3 steps" test "$(grep -c '"loss_z"' from-$kind/metrics.jsonl)" -eq 3
done
check "both see the same: the first losses are within 2 %" awk -v a="$(first_loss from-sound)" \
    -v b="$(first_loss from-features)" 'BEGIN { exit !(a > 0 && b > 0 && a/b < 1.02 && b/a < 1.02) }'
check "sound tells the voice" test -s from-sound/voices/000.wav
check "features do not" test ! -e from-features/voices -a ! -e from-features/samples/step-00000003/000.wav

# ---- gradient accumulation and checkpointing ----
done_with train --train-data tones --output accumulated "${small[@]}" --batch-size 5 --grad-accum 3 --steps 2
check "a step has the utterances of three batches" grep -q '^{"step":1,.*"utterances":15,' accumulated/metrics.jsonl
together() {
    "$program" train --train-data tones "${small[@]}" --set model.decoder_blocks=8 --dry-run "$@" 2>/dev/null |
        awk '/activations/ { print $3 == "KiB" ? $2 / 1024 : $2 }'
}
check "checkpointing takes less memory" awk -v a="$(together)" \
    -v b="$(together --set model.gradient_checkpointing=true)" 'BEGIN { exit !(b > 0 && b < 0.7 * a) }'

# ---- mixed precision ----
if "$program" devices --json | grep -q '"bf16":[[:space:]]*true'; then
    done_with train --train-data tones --output mixed "${small[@]}" --mixed-precision --steps 8 --save-every 4
    check "the setting is the run's" grep -q '^  mixed_precision: true$' mixed/config.yaml
    done_with train --train-data tones --output half "${small[@]}" --mixed-precision --steps 8 --save-every 4
    rm half/checkpoints/step-00000008.safetensors
    done_with train --resume half
    check "a resumed run is the same bit for bit" \
        cmp mixed/checkpoints/step-00000008.safetensors half/checkpoints/step-00000008.safetensors
    done_with train --train-data tones --output plain "${small[@]}" --steps 8
    check "without it the bits are others" \
        test "$(cmp mixed/checkpoints/step-00000008.safetensors plain/checkpoints/step-00000008.safetensors | wc -l)" -eq 1
    done_with train --train-data tones --output widened "${small[@]}" --init-from mixed --steps 2
    done_with train --train-data tones --output narrowed "${small[@]}" --init-from plain --mixed-precision --steps 2
    fast=$("$program" devices cpu:0 --json | grep -c '"bf16_fast":[[:space:]]*true')
    check "warns only where it saves no time" test "$(grep -c 'but no time' mixed/log.txt)" -eq $((1 - fast))
    MYXTTS_BF16=avx512 done_with train --train-data tones --output slow "${small[@]}" --mixed-precision --steps 1
    check "says once what multiplies, what would be faster, and what to do" test "$(grep -c \
        "saves memory on cpu:0, but no time: AVX512-BF16 .*; AMX would be faster, but .* without '--mixed-precision'" stderr)" -eq 1
    check "it takes less memory" awk -v a="$(together)" -v b="$(together --mixed-precision)" \
        'BEGIN { exit !(b > 0 && b < 0.9 * a) }'
fi

# ---- limits, old weights, changed data ----
done_with train --train-data tones --output short "${small[@]}" --max-minutes 0.0001 --steps 100000
check "ends at its time limit" grep -q 'time limit' stderr
check "saved at its time limit" test -n "$(find short/checkpoints -name 'step-*')"
done_with train --train-data tones --output patient "${small[@]}" --lr 1e-12 --steps 50 --eval-every 2 \
    --set training.early_stopping=2
check "ends early when nothing gets better" grep -q '^patient: step 6 of 50$' stdout
check "says so" grep -q 'no improvement since step 2' stderr
done_with train --train-data tones --output tuned "${small[@]}" --init-from whole --steps 2
check "begins with the old weights" grep -q 'weights from whole' stderr
check "begins at step 1" grep -q '^{"step":1,' tuned/metrics.jsonl
# The network of a checkpoint is what it was: whoever asks for another one gets an error.
before=$(cksum whole/config.yaml whole/checkpoints/*)
refused 1 '(tiny, width 32, heads 2, blocks 1 and 2, hidden 64) is not the one that was asked for (small, width 32' \
    'a run continues with the network it has' train --resume whole --model-size small --steps 30
refused 1 'that was asked for (tiny, width 64' 'the network it has' train --resume whole --set model.width=64 --steps 30
check "the run is as it was" test "$(cksum whole/config.yaml whole/checkpoints/*)" = "$before"
refused 1 'that was asked for (tiny, width 64' "or start without '--init-from'" train --train-data tones --output r13 \
    --set model.width=64 --init-from whole --steps 2
refused 1 'that was asked for (small, width 256' "or start without" train --train-data tones --output r13 \
    --model-size small --init-from whole --steps 2
printf 'model:\n  hidden: 128\n' >wide.yaml
refused 1 'hidden 128)' "or start without" train --train-data tones --output r13 --config wide.yaml --init-from whole --steps 2
check "a refusal leaves no folder" test ! -e r13
done_with train --train-data tones --output taken --set data.tokens=chars --batch-size 4 --init-from whole --steps 1
check "without a word about it, it is that of the checkpoint, and named" \
    grep -q 'the network is that of whole/.*: tiny, width 32, heads 2, blocks 1 and 2, hidden 64$' stderr
check "and config.yaml has it" grep -q '^  width: 32$' taken/config.yaml
done_with train --resume taken --steps 2 --set model.width=32
printf 'not a checkpoint' >broken.safetensors
refused 2 'broken.safetensors' '.' train --train-data tones --output r12 "${small[@]}" --init-from broken.safetensors
sed -i '1d' tones/metadata.csv
refused 2 'the training data is not that of the run' 'init-from' train --resume whole --steps 30

finish

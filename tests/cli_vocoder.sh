#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Runs with a vocoder, with the program given as $1: both networks in one run, the vocoder alone on a folder of sounds, a
# ready one beside an acoustic network; each resumed in its middle (bit for bit); runs from before there was a vocoder;
# and every refusal.
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
. "$here/support/cli.sh"
# shellcheck source=tests/support/tones.sh
. "$here/support/tones.sh"
one_core

tones corpus 8
args=("${small[@]}" --device cpu:0 --save-every 2 --seed 5 --set vocoder.segments=2 --set vocoder.segment_frames=16
    --set vocoder.predicted_from=1)
both=("${args[@]}" --set training.part=both)

# file RUN STEP: a checkpoint
file() {
    printf '%s/checkpoints/step-%08d.safetensors' "$1" "$2"
}

# resumed RUN: the middle of RUN, gone on with, has the same last checkpoint
resumed() {
    cp -r "$1" "$1.parts"
    rm "$(file "$1.parts" 4)"
    done_with train --resume "$1.parts"
    check "$1: it goes on in the middle" grep -q 'after step 2 of 4' stderr
    check "$1: the same bit for bit" cmp "$(file "$1" 4)" "$(file "$1.parts" 4)"
}

# ---- both ----
done_with train --train-data corpus --output both "${both[@]}" --steps 4 --eval-every 4
check "its share is planned" \
    grep -qE 'vocoder: small, 0\.57 M parameters, 2 segments of 16 frames a batch: about [0-9.]+ % of the arithmetic' stderr
check "and measured" grep -qE 'the vocoder took [0-9.]+ % of the time of the steps' stderr
check "the evaluation has it" grep -qE 'vocoder [0-9.]+ \(magnitudes [0-9.]+, pitch [0-9.]+, bursts [0-9.]+\)' stderr
check "each step has its metrics" test "$(grep -c '"vocoder_loss":.*"vocoder_magnitude":.*"vocoder_pitch":.*"vocoder_burst":.*"vocoder_lr":.*"vocoder_grad_norm":.*"vocoder_ms":' both/metrics.jsonl)" -eq 4
check "the evaluation, too" grep -q '"evaluation":.*"vocoder_magnitude":.*"vocoder_burst":' both/metrics.jsonl
resumed both
done_with inspect both
check "inspect shows both networks" grep -q '^  model ' stdout
check "with the vocoder's own count" grep -qE '^  vocoder +small: 570466 parameters; width 128, 4 blocks of 384' stdout
done_with inspect --json both
check "also as JSON" grep -q '"vocoder"' stdout

# ---- the acoustic network alone ----
done_with train --train-data corpus --output acoustic "${args[@]}" --steps 4
check "no word of a vocoder in its checkpoint" test "$(grep -c 'vocoder\.width' "$(file acoustic 4)")" -eq 0
check "nor in its metrics" test "$(grep -c vocoder acoustic/metrics.jsonl)" -eq 0
# As a run from before there was a vocoder: its settings know nothing of it.
cp -r acoustic old
rm "$(file old 4)"
awk '/^[a-z]/ { skip = /^vocoder:/ } !skip && !/^ *part:/' acoustic/config.yaml >old/config.yaml
check "old settings" test "$(grep -cE '^vocoder:|^ *part:' old/config.yaml)" -eq 0
done_with train --resume old
check "it says nothing of a vocoder" test "$(grep -ci vocoder stderr)" -eq 0
cp -r acoustic more
done_with train --resume more --part both --steps 6
check "a run can begin with one later" grep -q 'no vocoder so far: a new one begins here' stderr
check "which is saved" grep -q 'vocoder\.width' "$(file more 6)"
done_with train --resume more --part acoustic --steps 8
check "and left alone" grep -q 'vocoder: small, .* it is not trained' stderr
check "but not lost" grep -q 'vocoder\.width' "$(file more 8)"
check "without moments" test "$(grep -c 'moment1\.vocoder' "$(file more 8)")" -eq 0

# ---- the vocoder alone ----
mkdir -p sounds/deep
cp corpus/wavs/*[02468].wav sounds/deep
cp corpus/wavs/*[13579].wav sounds
alone=(--part vocoder --device cpu:0 --save-every 2 --seed 5 --set vocoder.segments=2 --set vocoder.segment_frames=16)
done_with train --train-data sounds --output alone "${alone[@]}" --steps 4 --eval-every 2
check "it needs no texts" test "$(wc -l <alone/metrics.jsonl)" -ge 4
check "its loss is the loss of the run" grep -qE '"loss":([0-9.e-]+),"lr":.*"vocoder_loss":\1,' alone/metrics.jsonl
check "no losses of texts" test "$(grep -c '"mel":' alone/metrics.jsonl)" -eq 0
check "the best one is kept" test -e alone/checkpoints/best.safetensors
resumed alone
done_with inspect alone
check "only what a vocoder has was evaluated" test "$(grep -c " nan$" stdout)" -eq 0
check "there is no model in it" test "$(grep -c '^  model ' stdout)" -eq 0
check "but a vocoder" grep -q '^  vocoder ' stdout
refused 2 'has no network that reads texts' "'--vocoder' takes this one" synth --checkpoint alone --device cpu:0 \
    --text 'The tone number a.' --output none.wav

# ---- a ready one ----
done_with train --train-data corpus --output ready "${both[@]}" --vocoder alone --steps 4
check "it is not trained" grep -q 'vocoder: small, 0.57 M parameters, from .*alone.*; it is not trained' stderr
check "no metrics of it" test "$(grep -c vocoder_loss ready/metrics.jsonl)" -eq 0
check "it is in the checkpoint" grep -q 'vocoder\.width' "$(file ready 4)"
resumed ready
done_with train --train-data corpus --output further "${both[@]}" --vocoder "$(file both 4)" --vocoder-lr 1e-4 --steps 4
check "with a rate it is trained" grep -q '"vocoder_loss":' further/metrics.jsonl
resumed further
done_with train --train-data sounds --output begun "${alone[@]}" --init-from both --steps 2
check "a vocoder alone can begin with that of a run" grep -q '"vocoder_loss":' begun/metrics.jsonl

# ---- refusals ----
refused 2 'has no vocoder' "'--part both' or '--part vocoder'" train --train-data corpus --output r1 "${both[@]}" --vocoder acoustic
refused 2 'has no vocoder' "'--part both' or" train --train-data sounds --output r1 "${alone[@]}" --init-from acoustic
refused 1 'there is nothing to train' '--vocoder-lr' train --train-data sounds --output r2 "${alone[@]}" --vocoder both
refused 1 "'--part acoustic' does not" 'omit' train --train-data corpus --output r3 "${args[@]}" --vocoder both --vocoder-lr 1e-4
refused 1 "'--part acoustic' does not" 'omit' train --train-data corpus --output r3 "${args[@]}" --vocoder-lr 1e-4
refused 1 'the run has a vocoder, which' "omit '--vocoder'" train --resume both --vocoder alone --steps 8
refused 1 "which '--part vocoder' would lose" 'omit' train --resume both --part vocoder --steps 8
refused 1 'it has no acoustic network to go on with' 'start a new run' train --resume alone --part both --steps 8
refused 1 'no vocoder size' 'small, large' train --train-data corpus --output r4 "${both[@]}" --set vocoder.size=huge

# ---- features ----
done_with prepare corpus -o features.pack --features --tokens chars
done_with train --train-data features.pack --output features "${both[@]}" --steps 2
check "features have no sound" test "$(grep -c 'the vocoder is not trained: precomputed features have no sound' stderr)" -eq 1
refused 2 'has no sound' 'without' train --train-data features.pack --output r5 "${alone[@]}"

finish

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Steps of equal work and `train --auto-stop`, with the program given as $1, on a small corpus of tones that is made here:
# what is said and planned, runs from before there was either, the decision to stop, the last stretch, resuming before and
# in it (bit for bit), which checkpoint speaks afterwards, and the refusals. Tokens are characters, so that libespeak-ng is
# not needed.
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
. "$here/support/cli.sh"
# shellcheck source=tests/support/tones.sh
. "$here/support/tones.sh"
one_core

# Three of four take half a second, the fourth four seconds.
# shellcheck disable=SC2016
tone_corpus tones 24 '$count = $row % 4 == 3 ? 88000 : 11000 + 100 * $row; $step = 0.06 + 0.002 * ($row % 40);
    $loud = 9000; $text = join(" and ", ("tone number $letter") x ($row % 4 == 3 ? 4 : 1)); $text = "$text|$text"'
small=(train --train-data tones --backend cpu --part acoustic --set model.width=32 --set model.heads=2
    --set model.hidden=64 --set model.encoder_blocks=1 --set model.decoder_blocks=1 --set data.tokens=chars
    --set training.samples=0 --set training.report=off --tensorboard off --set training.keep_last=1000)

# goes_on FROM STEP: the same run resumed from a step must end in the same bits.
goes_on() {
    local last
    last=$(printf '%s\n' "$1"/checkpoints/step-* | tail -1)
    last=${last##*/}
    cp -r "$1" "$1-$2"
    for file in "$1-$2"/checkpoints/step-*; do
        if [ $((10#$(basename "$file" | tr -dc 0-9))) -gt "$2" ]; then rm "$file"; fi
    done
    done_with train --resume "$1-$2"
    check "$1 resumed after step $2: from there" grep -q "continuing after step $2 of" stderr
    check "$1 resumed after step $2: the same end, bit for bit" cmp "$1/checkpoints/$last" "$1-$2/checkpoints/$last"
}

# ---- steps of equal work ----
run "${small[@]}" --batch-size 4 --dry-run
check "the plan tells of equal work" grep -qE \
    '^    6 batches of equal work an epoch: 3\.[0-9] utterances on average, several together at most [0-9]+ mel frames \([0-9.]+ s\); 600 steps in all$' stdout
largest() {
    sed -n 's/.*the largest batch:.* \([0-9]*\) mel frames.*/\1/p' stdout
}
even=$(largest)
run "${small[@]}" --batch-size 4 --set training.batch_frames=0 --dry-run
check "and without it of counts" grep -q '^    6 batches of at most 4 utterances an epoch; 600 steps in all$' stdout
check "memory is planned for half at most: $even of $(largest)" test $((2 * even)) -le "$(largest)"
run "${small[@]}" --batch-size 1 --dry-run
check "one is one" grep -q ' 2[0-9] batches of at most 1 utterances an epoch' stdout
refused 1 'steps of equal work need a number of utterances' "give '--batch-size'" "${small[@]}" --batch-size 0 --output r1
done_with "${small[@]}" --batch-size 4 --steps 6 --save-every 2 --output steady
check "the start tells it, too" grep -q 'batches of equal work an epoch' stderr
goes_on steady 2
frames() {
    sed -n 's/.*"frames":\([0-9]*\).*/\1/p' "$1/metrics.jsonl" | sort -n
}
done_with "${small[@]}" --batch-size 4 --steps 6 --save-every 2 --set training.batch_frames=0 --output counted
# spread RUN: the largest step by the smallest one, in percent
spread() {
    frames "$1" | awk 'NR == 1 { least = $1 } { most = $1 } END { print int(100 * most / least) }'
}
check "steps are of equal work ($(spread steady) %), and were not before ($(spread counted) %)" \
    test "$(spread steady)" -lt 250 -a "$(spread counted)" -gt 500
# A run from before there was the setting goes on as it began.
sed -i '/batch_frames:/d' counted/config.yaml
goes_on counted 2

# ---- the time limit ----
# On a machine that stands still for a moment nothing fits, or not as much as it seemed: another try.
for ((try = 0; try < 8; try++)); do
    rm -rf timed
    done_with "${small[@]}" --batch-size 4 --max-minutes 0.04 --steps 100000 --save-every 1 --output timed
    if grep -q 'the steps for which there was time within the limit of 0.04 minutes are made' stderr; then break; fi
done
check "says that the steps do not fit" grep -qE 'step [0-9]+: there is time for [0-9]+ more steps? within the limit of 0.04 minutes' stderr
from=$(sed -n 's/.*step \([0-9]*\): there is time for.*/\1/p' stderr)
rates() {
    sed -n 's/.*"step":\([0-9]*\),.*"lr":\([^,]*\),.*/\1 \2/p' timed/metrics.jsonl
}
check "the rate falls from there on" awk -v from="$from" '
    $1 > from + 1 && $2 >= last { exit 1 } { last = $2 } END { exit !(NR > from) }' <(rates)
goes_on timed $((from + 1))
check "run.json has the deadline" grep -qE '"deadline":[0-9]{10},' timed/run.json
check "and why it ended" grep -q '"state":"time limit"' timed/run.json

# ---- auto-stop ----
stop=("${small[@]}" --batch-size 4 --auto-stop --eval-every 2 --save-every 1)
refused 1 "'--auto-stop' needs evaluations" "give '--eval-every N'" "${stop[@]}" --eval-every 0 --output r2
refused 1 "'--auto-stop' needs recordings for validation" "'--val-data DIR'" "${stop[@]}" --output r3 \
    --set data.validation_fraction=0
refused 1 'would end the run in different ways' 'omit one of them' "${stop[@]}" --set training.early_stopping=3 --output r4
# With this rate nothing is ever gained: the first evaluation stays the best, four more are waited for, and a quarter of ten
# steps is the last stretch.
done_with "${stop[@]}" --lr 1e-12 --set training.warmup_steps=1 --output learned
check "tells its plan" grep -q 'auto-stop: .* after 20000 steps at the latest' stderr
check "tells its decision" grep -q 'step 10: next to nothing was gained since step 2: .* training ends after step 12' stderr
check "has learned what it can" grep -qE \
    'it has learned what it can from 0\.[0-9] minutes of recordings: [0-9.]+ dB from the recordings at step [0-9]+, the best of 12 steps' stderr
check "ends there" grep -q '^learned: step 12 of 12$' stdout
check "run.json tells why" grep -q '"state":"learned what it can"' learned/run.json
check "and how long it was" grep -q '"steps":12[,}]' learned/run.json
rate() {
    sed -n "s/^{\"step\":$1,.*\"lr\":\([^,]*\),.*/\1/p" learned/metrics.jsonl
}
check "the rate holds" test "$(rate 9)" = "$(rate 3)"
check "and falls: $(rate 12) after $(rate 10)" awk -v a="$(rate 10)" -v b="$(rate 12)" 'BEGIN { exit !(b < 0.5 * a) }'
goes_on learned 5
goes_on learned 11
done_with train --resume learned
check "nothing is left" grep -q 'step 12 was the last one: nothing is left to do' stderr
# It speaks with the best. That is an early one here: nothing was gained after it.
best=$(sed -n 's/.*"best":{"step":\([0-9]*\),.*/\1/p' learned/run.json)
check "the best is an early one: $best" test "$best" -lt 12
mkdir newest best last again
done_with export learned --precision fp32 --output newest/v.voice.safetensors
done_with export "learned/checkpoints/step-$(printf %08d "$best").safetensors" --precision fp32 --output best/v.voice.safetensors
check "the best is exported" cmp newest/v.voice.safetensors best/v.voice.safetensors
done_with export learned/checkpoints/step-00000012.safetensors --precision fp32 --output last/v.voice.safetensors
check "and not the last" test "$(cmp newest/v.voice.safetensors last/v.voice.safetensors | wc -l)" -eq 1
rm learned/checkpoints/best.safetensors
done_with export learned --precision fp32 --output again/v.voice.safetensors
check "without the best, the newest, with a warning" grep -q 'the newest checkpoint speaks instead' stderr
check "which is the last" cmp again/v.voice.safetensors last/v.voice.safetensors
# Evaluations in which a text would become too long to be spoken are compared by their losses.
# shellcheck disable=SC2016
tone_corpus blips 24 '$count = 1700 + 60 * ($row * 7 % 9); $loud = 9000; $step = ($row % 2 ? 0.04 : 0.09) + 0.002 * ($row % 10);
    $text = "x|$letter"'
done_with "${stop[@]}" --train-data blips --set data.min_seconds=0.05 --set data.validation_fraction=0.3 --batch-size 7 --lr 1e-12 \
    --set training.warmup_steps=1 --output lacking
check "not all texts can be spoken" grep -q 'step 2: [1-9] of 7 would have become too long to be spoken' stderr
check "it ends all the same" grep -q '^lacking: step 12 of 12$' stdout
check "and says what is missing" grep -q 'next to nothing is gained any more: in no evaluation could all texts be spoken' stderr
goes_on lacking 11
# A run that is still learning when its steps are over says so.
done_with "${stop[@]}" --steps 6 --output brief
check "too few steps" grep -q 'the 6 steps ended before auto-stop did: .* more steps may gain more' stderr
check "is simply done" grep -q '"state":"done"' brief/run.json

finish

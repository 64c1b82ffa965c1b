#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# myxtts train on one device, with the program given as $1: the messages of Single-Device Buffered Mode, the fallback to it,
# and augmentation.
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
. "$here/support/cli.sh"
# shellcheck source=tests/support/tones.sh
. "$here/support/tones.sh"
# shellcheck source=tests/support/modes.sh
. "$here/support/modes.sh"

# ---- Single-Device Buffered Mode: cores are not called GPUs ----
done_with "${dry[@]}" --backend cpu
check "one table" test "$(grep -c '^Memory of device' stdout)" -eq 1
check "one device" grep -q '^Memory of device 0 (cpu:0):$' stdout
check "a buffer of 50" grep -q ', 50 prepared and 1 trained on$' stdout
done_with "${short[@]}" "${one[@]}" --output single
said 'single' '🚀 Intelligent Pipeline: Single-Device Buffered Mode'
said 'single' '   - Device: cpu:0 ('
said 'single' ', the best there is'
said 'single' '   - Buffer Size: 50'
said 'single' '   - Smart Prefetching: Enabled'
check "single: prefetches to the cores" grep -q '   - Prefetching to device 0 (cores* .*) with buffer_size=50$' stderr
check "the model is on the cores" grep -q 'Creating model on device 0 (cores* ' stderr
check "no message mentions GPUs" test "$(grep -c GPU stderr stdout single/log.txt single/run.json | grep -vc ':0$')" -eq 0
check "the plan before step 1" grep -q '^    activations .* [KM]iB$' stderr
check "the messages are in the log" grep -q 'INFO 🚀 Intelligent Pipeline' single/log.txt
check "the prefetch of batches of 4 is 8" grep -q '^Batches: 8 loaded and [1-9][0-9]* being loaded, 50 prepared and 1 trained on$' stderr
said 'single' '   - Prepared batches: 3 at first, up to 50 (chosen by auto-tune)'
said 'single' '   - Loaded batches: 2 at first, up to 8 (chosen by auto-tune)'
check "what is chosen is what runs" test "$(grep -c '"loaded_limit":2,"prepared_limit":3,' single/metrics.jsonl)" -eq 3
# What is given runs from the first step on; tuning has nothing to choose but the rest.
done_with "${short[@]}" "${one[@]}" --buffer-size 100 --prefetch-buffer-size 6 --num-workers 2 --output given
check "given: prefetches to the cores" grep -q '   - Prefetching to device 0 (cores* .*) with buffer_size=100$' stderr
said 'given' '   - Prepared batches: 100 (given)'
said 'given' '   - Loaded batches: 6 (given)'
said 'given' '   - Load workers: 2 (given)'
check "what is given is what runs" test "$(grep -c '"loaded_limit":6,"prepared_limit":100,' given/metrics.jsonl)" -eq 3
check "a number is given in a file, too" grep -q '^  buffer_size: 100$' given/config.yaml
done_with "${short[@]}" "${one[@]}" --buffer-size 7 --output partly
check "the one is given, the other is chosen" test "$(grep -c '"loaded_limit":2,"prepared_limit":7,' partly/metrics.jsonl)" -eq 3
done_with "${short[@]}" "${one[@]}" --auto-tune off --output untuned
said 'untuned' '   - Prepared batches: 50 (chosen)'
check "without tuning all is used" test "$(grep -c '"loaded_limit":8,"prepared_limit":50,' untuned/metrics.jsonl)" -eq 3
done_with "${short[@]}" "${one[@]}" --device cpu:0 --buffer-size 25 --output named
check "named: prefetches to the cores" grep -q '   - Prefetching to device 0 (cores* .*) with buffer_size=25$' stderr
check "a device that was named is not the best there is" test "$(grep -c 'the best there is' stderr)" -eq 0
done_with "${short[@]}" "${one[@]}" --set pipeline.overlap=false --output plain
said 'plain' '   - Smart Prefetching: Disabled'
said 'plain' '   - No overlap'

# The mode changes nothing in the weights.
for run in named plain; do
    check "$run: the same weights and moments, bit for bit" cmp <(tensors single/checkpoints/step-00000003.safetensors) \
        <(tensors $run/checkpoints/step-00000003.safetensors)
done

# ---- the fallback ----
done_with "${short[@]}" --backend cpu --data-gpu 0 --model-gpu 1 --allow-single --output fallback
said 'fallback' "warning: one device instead of two, as '--allow-single' permits: Multi-GPU requires at least 2 GPUs"
said 'fallback' '🚀 Intelligent GPU Pipeline: Single-GPU Buffered Mode'
refused 1 'cannot be mixed' 'devices here' "${dry[@]}" --data-gpu 0 --model-device cpu:1 --allow-single

# ---- augmentation ----
done_with "${short[@]}" "${one[@]}" --augment --output augmented
said 'augmented' 'augmentation: level ±3 dB, speed ±5 %, noise in 30 % of the recordings (20 to 40 dB below)'
check "augmentation changes the data" test \
    "$(tensors augmented/checkpoints/step-00000003.safetensors | cksum)" != \
    "$(tensors single/checkpoints/step-00000003.safetensors | cksum)"
done_with "${short[@]}" "${one[@]}" --set data.augment_band_masks=2 --set data.augment_band_width=8 --output masked
said 'masked' 'augmentation: level ±0 dB, speed ±0 %, noise in 0 % of the recordings (20 to 40 dB below), 2 band and 0 time'
done_with "${short[@]}" "${one[@]}" --augment --set data.augment_gain_db=0 --set data.augment_noise_share=0 \
    --set data.augment_speed=0 --output unchanged
check "all off is nothing at all" cmp <(tensors single/checkpoints/step-00000003.safetensors) \
    <(tensors unchanged/checkpoints/step-00000003.safetensors)
refused 1 'signal-to-noise' '.' "${base[@]}" --output r6 --augment --set data.augment_snr_min_db=50

finish

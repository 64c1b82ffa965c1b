#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# myxtts train on two devices, with the program given as $1: the messages of Multi-GPU Mode and their order, what its meters
# show, the weights of one device bit for bit, and another choice of devices when a run is resumed.
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
. "$here/support/cli.sh"
# shellcheck source=tests/support/tones.sh
. "$here/support/tones.sh"
# shellcheck source=tests/support/modes.sh
. "$here/support/modes.sh"

two_cores || exit 77
done_with "${short[@]}" "${one[@]}" --output single

# ---- Multi-GPU Mode ----
done_with "${dry[@]}" "${pair[@]}" --enable-memory-isolation
said 'isolation' '   Data GPU memory limit: '
said 'isolation' '   Model GPU memory limit: '
check "isolation: where the limits come from" grep -q 'limit: .*\(instead of 8192 MiB\|default of memory isolation\)' stderr
check "the table of the data device" grep -q '^Memory of GPU:0 (cpu:0), the data device:$' stdout
check "the table of the model device" grep -q '^Memory of GPU:1 (cpu:1), the model device:$' stdout
check "three slots between the devices" grep -q ' 3 on the model device$' stdout

done_with "${short[@]}" "${pair[@]}" --output multi
for words in '🎯 Configuring Multi-GPU Mode...' '   Data Processing GPU: 0 (cpu:0' '   Model Training GPU: 1 (cpu:1' \
    '   Set visible devices: GPU 0 and GPU 1' '✅ Multi-GPU configuration completed successfully' \
    '🚀 Intelligent GPU Pipeline: Multi-GPU Mode' '   - Data Processing GPU: 0' '   - Model Training GPU: 1' \
    '   - Prefetching to /GPU:0 with buffer_size=50' '🎯 Multi-GPU Mode: Model will be placed on /GPU:1' \
    '   (Original GPU 1 is now mapped to GPU:1)' 'Creating model on device: /GPU:1' \
    '🕐 Multi-GPU Mode: Waiting up to 2.0s for data pipeline to warm up...' '✅ Model training '; do
    said 'multi' "$words"
done
check "the messages come in the order of what happens" awk '
    /Configuring Multi-GPU/ { at[++n] = 1 } /configuration completed/ { at[++n] = 2 } /Intelligent GPU/ { at[++n] = 3 }
    /Creating model/ { at[++n] = 4 } /warm up/ { at[++n] = 5 } /✅ Model training/ { at[++n] = 6 }
    END { for (i = 1; i <= 6; i++) if (at[i] != i) exit 1; exit n != 6 }' stderr

# One meter: the last step, the run as it ended and whoever watches tell the same.
check "the newest step counts from the first one on" perl -MJSON::PP -ne 'my $m = decode_json($_);
    die $_ if exists $m->{loss} && !($m->{model_busy} > 0 && $m->{data_wait_ms} <= $m->{step_ms})' multi/metrics.jsonl
check "a run that ended is as busy as its last step says" perl -MJSON::PP -e 'open(F, "<", "multi/metrics.jsonl");
    my ($m) = (grep { exists $_->{loss} } map { decode_json($_) } <F>)[-1]; local $/; open(F, "<", "multi/run.json");
    my $f = decode_json(<F>)->{flow}; exit(grep { abs($m->{$_} - $f->{$_}) > 0.0006 } qw(model_busy data_busy data_wait))'
busy=$(perl -MJSON::PP -e 'local $/; open(F, "<", "multi/run.json"); printf "%.0f %%", 100 * decode_json(<F>)->{flow}{model_busy}')
done_with monitor multi --once
check "whoever watches sees the same" grep -q "^GPU:1 model .* $busy  memory" stdout

# Training begins with the first step, which the log says then, and not when the step is over.
done_with "${short[@]}" "${pair[@]}" --model-start-delay 0 --eval-every 1 --output late
check "it has started when the first step begins" awk '/✅ Model training/ { began = NR } /step 1: validation/ { step = NR }
    END { exit !(began > 0 && step > began) }' stderr

# The other way round, and by name: then they are not called GPUs.
done_with "${short[@]}" --cpu-devices 2 --data-device cpu:1 --model-device cpu:0 --output turned \
    --model-start-delay 30 --num-workers 1 --prefetch-buffer-size 3 --auto-tune off
said 'turned' '🎯 Configuring Two-Device Mode...'
said 'turned' '   Data Processing: cpu:1 ('
said 'turned' '   Set devices: cpu:1 is device 0, cpu:0 is device 1'
said 'turned' '✅ Two-Device configuration completed successfully'
said 'turned' '🎯 Two-Device Mode: Model will be placed on device 1 (core'
said 'turned' 'Creating model on device 1 (core'
check "cores that were named are not called GPUs" test "$(grep -c GPU stderr)" -eq 0
said 'turned' 'Waiting up to 30.0s'
check "one worker and three batches that wait" grep -q '^Batches: 3 loaded and 1 being loaded, 50 prepared, 3 on' stderr
check "two devices: what is given is what runs" test \
    "$(grep -c '"loaded_limit":3,"prepared_limit":50,' turned/metrics.jsonl)" -eq 3
done_with "${short[@]}" "${pair[@]}" --enable-static-shapes --set pipeline.overlap=false --output static
said 'static' '✅ Model training starting now'

# The mode changes nothing in the weights.
for run in multi turned static; do
    check "$run: the same weights and moments, bit for bit" cmp <(tensors single/checkpoints/step-00000003.safetensors) \
        <(tensors $run/checkpoints/step-00000003.safetensors)
done

# A run goes on as it was; another choice of devices on the command line replaces that of the run.
done_with train --resume multi --steps 4
said 'resumed' '🚀 Intelligent GPU Pipeline: Multi-GPU Mode'
done_with train --resume multi --steps 5 --device cpu:0
said 'resumed on one' '🚀 Intelligent Pipeline: Single-Device Buffered Mode'
done_with train --resume multi --steps 6 --data-device cpu:0 --model-device cpu:1
said 'resumed by name' '🚀 Intelligent Pipeline: Two-Device Mode'

finish

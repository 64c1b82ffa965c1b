#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Devices and modes of myxtts train, with the program given as $1: every way to name devices, every refusal with the
# command line that would work, the messages of both modes, memory limits, the plan, and the names of settings that users
# bring along. Two CPU devices stand for two GPUs. Everything runs on a small corpus of tones that is made here.
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
# shellcheck disable=SC2034
opencl=1
. "$here/support/cli.sh"
# shellcheck source=tests/support/tones.sh
. "$here/support/tones.sh"

# corpus DIR ROWS: tones of 1 to 2 s, with texts that fit.
corpus() {
    # shellcheck disable=SC2016
    tone_corpus "$1" "$2" '$count = 16000 + 2000 * ($row * 7 % 9); $step = 0.06 + 0.002 * ($row % 40);
        $loud = 5000 + 400 * ($row % 10); $text = "Tone number $letter|tone number $letter"'
}

corpus tones 16
base=(train --train-data tones --set training.part=acoustic --set model.width=32 --set model.heads=2 --set model.hidden=64
    --set model.encoder_blocks=1 --set model.decoder_blocks=2 --set data.tokens=chars --set training.samples=0)
dry=("${base[@]}" --batch-size 4 --dry-run)
short=("${base[@]}" --batch-size 4 --steps 3 --seed 3 --eval-every 0)
halves=(--backend cpu --cpu-devices 2)
pair=("${halves[@]}" --data-gpu 0 --model-gpu 1)
cores=$(nproc)
# One device, which is half of the cores where there are two: no run needs both cores at the same moment.
one=(--backend cpu --cpu-devices $((cores < 2 ? 1 : 2)))

# said "what" WORDS: on standard error
said() {
    check "$1: says '$2'" grep -qF -- "$2" stderr
}
# The two lines of a refusal and no more: nothing was begun.
alone() {
    check "$1: only the error and its hint" test "$(wc -l <stderr)" -eq 2
}
# Weights and moments of a checkpoint, without its words.
tensors() {
    perl -e 'local $/; open(my $f, "<:raw", $ARGV[0]); my $b = <$f>; print substr($b, 8 + unpack("Q<", $b))' "$1"
}

# ---- contradictions: refused before anything begins ----
works='this would work: .myxtts train --train-data tones .* --backend cpu --cpu-devices 2 --data-gpu 0 --model-gpu 1'
refused 1 "❌ Multi-GPU Mode needs a data and a model device: '--data-gpu 0' names one, '--model-gpu' names none" \
    'devices here: cpu:0' "${dry[@]}" --data-gpu 0
alone 'one of the two'
refused 1 "'--model-gpu 1' names one, '--data-gpu' names none" 'devices here: cpu:0' "${dry[@]}" --model-gpu 1
# Also true of a number that means none.
refused 1 "'--model-gpu 1' names one, '--data-gpu' names none" 'devices here: cpu:0' "${dry[@]}" --data-gpu -1 --model-gpu 1
refused 1 "'--data-device cpu:0' names one, '--model-device' names none" 'devices here: cpu:0' "${dry[@]}" \
    --data-device cpu:0
refused 1 "❌ Multi-GPU Mode needs two different devices: '--data-gpu 1' and '--model-gpu 1' are the same" \
    'devices here: cpu:0' "${dry[@]}" --data-gpu 1 --model-gpu 1
refused 1 "'--data-device cpu:0' and '--model-device cpu:0' are the same" 'cpu:0' "${dry[@]}" --data-device cpu:0 \
    --model-device cpu:0
refused 1 'cannot be mixed' 'devices here: cpu:0' "${dry[@]}" --data-gpu 0 --model-device cpu:1
refused 1 "'--device cpu:0' does everything on one device: '--data-gpu 0' contradicts it" 'cpu:0' "${dry[@]}" \
    --device cpu:0 --data-gpu 0 --model-gpu 1
refused 1 "'--backend cuda' contradicts the device cpu:0" 'cpu:0' "${dry[@]}" --backend cuda --device cpu:0
refused 1 "option '--backend' is 'rocm'" 'auto, cuda, opencl, cpu' "${dry[@]}" --backend rocm
refused 1 "option '--data-gpu'" 'from -1 to 9999' "${dry[@]}" --data-gpu two
refused 1 "'gpu1' is not the name of a device" 'devices here' "${dry[@]}" --device gpu1

# ---- command lines in hints: complete, and pasted they run ----
myxtts() {
    "$program" "$@" >"$folder/stdout" 2>"$folder/stderr" </dev/null
}
# pasted "what": the line of the last refusal, in a shell.
pasted() {
    local line
    line=$(sed -n "s/^  hint: .*\\(this would work\\|folder of the run\\): '\\(.*\\)'\\(; '--allow-single.*\\)\\{0,1\\}\$/\\2/p" stderr)
    check "$1: a line" test -n "$line"
    check "$1: $line" eval "$line"
}
mv tones 'my tones'
mine=("${base[@]}" --batch-size 4 --steps 1 --seed 3 --eval-every 0)
mine[2]='my tones'
run "${mine[@]}" --backend cpu
check "no folder: exit code $code" test "$code" -eq 1
said 'no folder' "'--output DIR' is missing"
pasted 'no folder'
check "no folder: the run is there" test -e "my tones-run/checkpoints/step-00000001.safetensors"
run "${mine[@]}" --backend cpu
pasted 'no folder, once more'
check "no folder: another name" test -e "my tones-run-2/checkpoints/step-00000001.safetensors"
run "${mine[@]}" --output 'it'"'"'s $mine' --device cpu:9
check "a device that is not there: exit code $code" test "$code" -eq 3
pasted 'a device that is not there'
check "the run is where it was asked for" test -e 'it'"'"'s $mine/checkpoints/step-00000001.safetensors'
if [ "$cores" -ge 2 ]; then
    run "${mine[@]}" -o 'of "two"' --data-gpu=0 --dashboard-token secret-of-mine
    check "half a pair: exit code $code" test "$code" -eq 1
    check "a token is not told" test "$(grep -c secret-of-mine stderr)" -eq 0
    pasted 'half a pair'
    check "the run has its name" test -e 'of "two"/checkpoints/step-00000001.safetensors'
fi
mv 'my tones' tones
refused 1 "'--output DIR' is missing" "give '--train-data DIR', the recordings, and '--output DIR'" train

# ---- devices that are not there ----
refused 3 '❌ Multi-GPU requires at least 2 GPUs: backend cpu has 1 device' 'devices here: cpu:0' "${dry[@]}" \
    --backend cpu --data-gpu 0 --model-gpu 1
if [ "$cores" -ge 2 ]; then
    check "the command that would work" grep -q -- "$works" stderr
    said 'the fallback that could be allowed' "'--allow-single' would do everything on cpu:0"
    alone 'too few devices'
    refused 3 "❌ Insufficient GPUs for Multi-GPU Mode: '--model-gpu 5' does not exist, cpu has 2 devices" "$works" \
        "${dry[@]}" "${halves[@]}" --data-gpu 0 --model-gpu 5
    refused 3 "'--data-device cpu:7' does not exist" 'cpu-devices 2 --data-device cpu:0 --model-device cpu:1' \
        "${dry[@]}" --cpu-devices 2 --data-device cpu:7 --model-device cpu:1
fi
# What it says besides depends on whether the machine has other devices than its cores.
refused 3 "'--model-device cpu:1'" 'devices here: cpu:0' "${dry[@]}" --backend cpu --data-device cpu:0 \
    --model-device cpu:1
refused 3 'cpu:9' 'myxtts train --train-data tones .* --device cpu:0' "${dry[@]}" --device cpu:9
refused 1 '1024 CPU devices' 'core' "${dry[@]}" --cpu-devices 1024
# Without a driver these are refused; with one there may be a device.
for backend in cuda opencl; do
    if ! "$program" devices --json 2>/dev/null | grep -q "\"$backend:0\""; then
        refused 3 "backend $backend is not available" 'devices here: cpu:0' "${dry[@]}" --backend $backend
    fi
done

# ---- Single-GPU Buffered Mode ----
done_with "${dry[@]}" --backend cpu
check "one table" test "$(grep -c '^Memory of GPU' stdout)" -eq 1
check "one device" grep -q '^Memory of GPU:0 (cpu:0):$' stdout
check "a buffer of 50" grep -q ', 50 prepared and 1 trained on$' stdout
done_with "${short[@]}" "${one[@]}" --output single
said 'single' '🚀 Intelligent GPU Pipeline: Single-GPU Buffered Mode'
said 'single' '   - Device: cpu:0 ('
said 'single' ', the best there is'
said 'single' '   - Buffer Size: 50'
said 'single' '   - Smart Prefetching: Enabled'
said 'single' '   - Prefetching to /GPU:0 with buffer_size=50'
said 'single' 'Creating model on device: /GPU:0'
check "the plan before step 1" grep -q '^    activations .* [KM]iB$' stderr
check "the messages are in the log" grep -q 'INFO 🚀 Intelligent GPU Pipeline' single/log.txt
check "the prefetch of batches of 4 is 8" grep -q '^Batches: 8 loaded and [1-9][0-9]* being loaded, 50 prepared and 1 trained on$' stderr
said 'single' '   - Prepared batches: 3 at first, up to 50 (chosen by auto-tune)'
said 'single' '   - Loaded batches: 2 at first, up to 8 (chosen by auto-tune)'
check "what is chosen is what runs" test "$(grep -c '"loaded_limit":2,"prepared_limit":3,' single/metrics.jsonl)" -eq 3
# What is given runs from the first step on; tuning has nothing to choose but the rest.
done_with "${short[@]}" "${one[@]}" --buffer-size 100 --prefetch-buffer-size 6 --num-workers 2 --output given
said 'given' '   - Prefetching to /GPU:0 with buffer_size=100'
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
said 'named' '   - Prefetching to /GPU:0 with buffer_size=25'
check "a device that was named is not the best there is" test "$(grep -c 'the best there is' stderr)" -eq 0
done_with "${short[@]}" "${one[@]}" --set pipeline.overlap=false --output plain
said 'plain' '   - Smart Prefetching: Disabled'
said 'plain' '   - No overlap'

# ---- the fallback ----
done_with "${short[@]}" --backend cpu --data-gpu 0 --model-gpu 1 --allow-single --output fallback
said 'fallback' "warning: one device instead of two, as '--allow-single' permits: Multi-GPU requires at least 2 GPUs"
said 'fallback' '🚀 Intelligent GPU Pipeline: Single-GPU Buffered Mode'
refused 1 'cannot be mixed' 'devices here' "${dry[@]}" --data-gpu 0 --model-device cpu:1 --allow-single

# ---- memory limits ----
run train --help
check "limits are in MiB" grep -q -- '--model-gpu-memory MiB' stdout
check "and nothing that is MiB is called MB" test "$(grep -c '\bMB\b' stdout)" -eq 0
tight=(--set data.num_workers=1 --model-gpu-memory $((9 * cores + 16)))
done_with "${short[@]}" --backend cpu "${tight[@]}" --output tuned
said 'tuned' 'auto-tune: a buffer of '
# A buffer that was given is not made smaller without a word: it is refused, with one that fits.
refused 3 'which has ' "'--buffer-size [0-9]*' fits" "${short[@]}" --backend cpu "${tight[@]}" \
    --buffer-size 1000 --output large
size=$(grep -o "'--buffer-size [0-9]*' fits" stderr | grep -o '[0-9]*')
done_with "${short[@]}" --backend cpu "${tight[@]}" --buffer-size "$size" --output fits
check "the buffer that fits is what runs" test "$(grep -c "\"prepared_limit\":$size," fits/metrics.jsonl)" -eq 3
refused 3 'which has ' '--batch-size [0-9]* --grad-accum [0-9]*. fits and also makes steps that average 16' "${base[@]}" \
    --batch-size 16 --backend cpu --output r1 "${tight[@]}"
fits=$(grep -o 'batch-size [0-9]* --grad-accum [0-9]*' stderr | head -1)
enough=$(grep -o -- '--model-gpu-memory [0-9]*. is enough' stderr | grep -o '[0-9]*')
check "a step of the same size: $fits" test "$(awk '{ print $2 * $4 }' <<<"$fits")" -eq 16
# shellcheck disable=SC2086 # two options with their values
done_with "${base[@]}" --backend cpu --output fitting --steps 1 "${tight[@]}" --$fits
done_with "${base[@]}" --batch-size 16 --backend cpu --output enough --steps 1 "${tight[@]}" --model-gpu-memory "$enough"
run "${base[@]}" --batch-size 16 --backend cpu --dry-run "${tight[@]}" --model-gpu-memory $((enough - 1))
check "a dry run that does not fit ends with 3, not $code" test "$code" -eq 3
check "a dry run tells that it does not fit" grep -q '^    does not fit$' stdout
check "and what is enough" grep -q -- "'--model-gpu-memory $enough' is enough" stderr
done_with "${base[@]}" --batch-size 16 --backend cpu --dry-run "${tight[@]}" --model-gpu-memory "$enough"
# On one device both limits together hold: so they do in the hint.
run "${base[@]}" --batch-size 16 --backend cpu --dry-run "${tight[@]}" --data-gpu-memory 3 --model-gpu-memory 20
check "one device, two limits" grep -q -- "'--model-gpu-memory $((enough - 3))' is enough" stderr
refused 3 'which has ' "--model-gpu-memory [0-9]*. is enough" "${base[@]}" --batch-size 16 --backend cpu --output r2 \
    --model-gpu-memory $((4 * cores + 2))
check "no batch that does not fit is offered" test "$(grep -c -- '--batch-size' stderr)" -eq 0
refused 3 'a limit of 1000000000 MiB is more than cpu:0 has' 'give .--model-gpu-memory. at most' "${base[@]}" \
    --backend cpu --output r3 --model-gpu-memory 1000000000

# ---- Multi-GPU Mode ----
if [ "$cores" -ge 2 ]; then
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

    # The other way round, and by name: what was physical 1 is GPU:0 now.
    done_with "${short[@]}" --cpu-devices 2 --data-device cpu:1 --model-device cpu:0 --output turned \
        --model-start-delay 30 --num-workers 1 --prefetch-buffer-size 3 --auto-tune off
    said 'turned' '   Data Processing GPU: 1 (cpu:1'
    said 'turned' '(cpu:1 is GPU:0, cpu:0 is GPU:1)'
    said 'turned' '   (Original GPU 0 is now mapped to GPU:1)'
    said 'turned' 'Waiting up to 30.0s'
    check "one worker and three batches that wait" grep -q '^Batches: 3 loaded and 1 being loaded, 50 prepared, 3 on' stderr
    check "two devices: what is given is what runs" test \
        "$(grep -c '"loaded_limit":3,"prepared_limit":50,' turned/metrics.jsonl)" -eq 3
    done_with "${short[@]}" "${pair[@]}" --enable-static-shapes --set pipeline.overlap=false --output static
    said 'static' '✅ Model training starting now'

    # The mode changes nothing in the weights.
    for run in single named plain multi turned static; do
        check "$run: the same weights and moments, bit for bit" cmp <(tensors single/checkpoints/step-00000003.safetensors) \
            <(tensors $run/checkpoints/step-00000003.safetensors)
    done

    # A run goes on as it was; another choice of devices on the command line replaces that of the run.
    done_with train --resume multi --steps 4
    said 'resumed' '🚀 Intelligent GPU Pipeline: Multi-GPU Mode'
    done_with train --resume multi --steps 5 --device cpu:0
    said 'resumed on one' '🚀 Intelligent GPU Pipeline: Single-GPU Buffered Mode'
    done_with train --resume multi --steps 6 --data-device cpu:0 --model-device cpu:1
    said 'resumed by name' '🚀 Intelligent GPU Pipeline: Multi-GPU Mode'

    refused 3 'a limit of 1000000000 MiB is more than cpu:0 has' 'give .--data-gpu-memory. at most' "${base[@]}" \
        "${pair[@]}" --output r4 --data-gpu-memory 1000000000
    refused 3 'of cpu:0 (GPU:0), which has ' '--data-gpu-memory [0-9]*. is enough' "${base[@]}" "${pair[@]}" \
        --batch-size 16 --output r5 --data-gpu-memory $((5 * ((cores + 1) / 2) + 2))
    check "a data device that is too small is no reason for a smaller model" test \
        "$(grep -c 'model-size\|gradient_checkpointing\|samples' stderr)" -eq 0
    enough=$(grep -o -- '--data-gpu-memory [0-9]*. is enough' stderr | grep -o '[0-9]*')
    done_with "${base[@]}" "${pair[@]}" --batch-size 16 --output r5 --steps 1 --data-gpu-memory "$enough"

    # Two limits on one memory. Each alone would be possible.
    all=$("$program" devices --json --set device.cpu_devices=2 2>/dev/null | perl -MJSON::PP -e 'local $/;
        my $r = decode_json(<>); print int($_->{memory_bytes} / 1048576) for grep { $_->{device} eq "cpu:0" } @{$r->{devices}}')
    refused 3 "limits of $((all * 6 / 10)) MiB for data and $((all * 6 / 10)) MiB for the model are " \
        'would fit, or any two that are at most' "${dry[@]}" "${pair[@]}" --data-gpu-memory $((all * 6 / 10)) \
        --model-gpu-memory $((all * 6 / 10))
    fits=$(grep -o -- "--data-gpu-memory [0-9]* --model-gpu-memory [0-9]*" stderr)
    # shellcheck disable=SC2086 # two options with their values
    done_with "${dry[@]}" "${pair[@]}" $fits
    done_with "${dry[@]}" "${pair[@]}" --data-gpu-memory $((all * 6 / 10))
    said 'one limit' '(what the other limit leaves of '
fi

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

# ---- settings that users bring along ----
cat >theirs.yaml <<'YAML'
data:
  batch_size: 4
  num_workers: 2
  prefetch_buffer_size: 4
  use_tf_native_loading: true
  use_native_loading: true
  prefetch_to_gpu: true
  enable_parallel_batch: true
  enable_map_fusion: true
  enable_caching: true
  pipeline_buffer_size: 25
  model_start_delay: 5.0
  enable_memory_isolation: true
  enable_static_shapes: true
  data_gpu_memory: 8192
  model_gpu_memory: 16384
model:
  enable_gradient_checkpointing: true
YAML
done_with config --config theirs.yaml
for line in 'batch_size: 4' 'num_workers: 2' 'prefetch_buffer_size: 4' 'buffer_size: 25' 'model_start_delay: 5.0' \
    'memory_isolation: true' 'static_shapes: true' 'data_memory_mb: 8192' 'model_memory_mb: 16384' \
    'gradient_checkpointing: true' 'caching: true'; do
    check "theirs: $line" grep -q "^  $line\$" stdout
done
check "theirs: notes for what is always so" test "$(grep -c 'changes nothing: ' stderr)" -eq 5
for key in data.prefetch_to_gpu data.enable_parallel_batch data.enable_map_fusion data.use_native_loading \
    data.use_tf_native_loading; do
    refused 1 "'$key' cannot be 'false': " 'or write .true.' config --set $key=false
done
refused 1 "'pipeline.pipeline_depth' cannot be '7'" 'write .2.' config --set pipeline.pipeline_depth=7
done_with config --set data.prefetch=3
check "the former name of the prefetch" grep -q '^  prefetch_buffer_size: 3$' stdout

finish

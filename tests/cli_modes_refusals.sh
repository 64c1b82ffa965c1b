#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Which devices myxtts train refuses, with the program given as $1: every contradiction and every device that is not there,
# with the command line that would work; and the names of settings that users bring along.
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
# shellcheck disable=SC2034
opencl=1
. "$here/support/cli.sh"
# shellcheck source=tests/support/tones.sh
. "$here/support/tones.sh"
# shellcheck source=tests/support/modes.sh
. "$here/support/modes.sh"

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
if two_cores; then
    run "${mine[@]}" -o 'of "two"' --data-gpu=0 --dashboard-token secret-of-mine
    check "half a pair: exit code $code" test "$code" -eq 1
    check "a token is not shown" test "$(grep -c secret-of-mine stderr)" -eq 0
    pasted 'half a pair'
    check "the run has its name" test -e 'of "two"/checkpoints/step-00000001.safetensors'
fi
mv 'my tones' tones
refused 1 "'--output DIR' is missing" "give '--train-data DIR', the recordings, and '--output DIR'" train

# ---- devices that are not there ----
refused 3 '❌ Multi-GPU requires at least 2 GPUs: backend cpu has 1 device' 'devices here: cpu:0' "${dry[@]}" \
    --backend cpu --data-gpu 0 --model-gpu 1
if two_cores; then
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

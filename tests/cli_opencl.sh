#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# The program on OpenCL, with the program given as $1: what a user without it sees, and, where there are two devices of CPU type,
# train, validate and profile on two of them, which PoCL makes. Losses are those of the CPU, a run goes from one backend to the other and
# back, the mode changes nothing in the weights, limits hold, and what profile tells fits together.
# shellcheck disable=SC2016 # Perl has its own variables
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
# shellcheck disable=SC2034
opencl=1
. "$here/support/cli.sh"
# shellcheck source=tests/support/tones.sh
. "$here/support/tones.sh"
# shellcheck source=tests/support/follows.sh
. "$here/support/follows.sh"

# One folder for the caches of kernels of all tests, so that only the first of them builds any.
export MYXTTS_CACHE POCL_CACHE_DIR TMPDIR=$folder/temporary
MYXTTS_CACHE=${MYXTTS_CACHE:-$(dirname "$program")/opencl-cache}
POCL_CACHE_DIR=${POCL_CACHE_DIR:-$MYXTTS_CACHE}
mkdir -p "$MYXTTS_CACHE" "$POCL_CACHE_DIR" "$TMPDIR"
unset MYXTTS_CUDA_DRIVER
# PoCL makes two devices, of one core each.
export POCL_DEVICES="${POCL_DEVICES:-pthread pthread}" POCL_MAX_PTHREAD_COUNT=1

# said WORDS, told WORDS: on standard error, on standard output
said() {
    check "says '$1'" grep -qF -- "$1" stderr
}
told() {
    check "tells '$1'" grep -qF -- "$1" stdout
}
# holds "what" FILE EXPRESSION: of perl, with the JSON of the file in $r
holds() {
    check "$1: $3" perl -MJSON::PP -e 'local $/; open(F, "<:raw", shift); my $r = decode_json(<F>);
        exit(eval(shift) ? 0 : 1)' "$2" "$3"
}
# Weights and moments of a checkpoint, without its words.
tensors() {
    perl -e 'local $/; open(my $f, "<:raw", $ARGV[0]); my $b = <$f>; print substr($b, 8 + unpack("Q<", $b))' "$1"
}

# Recordings in which every letter of the text has a sound of its own, with some noise. (Of a plain tone all frames are alike:
# which of them belong to which letter is then decided by rounding.)
mkdir -p spelled/wavs
perl -e '
    open(my $list, ">", "spelled/metadata.csv");
    for my $row (0 .. 7) {
        srand($row);
        my @letters = map { chr(97 + int(rand(26))) } 1 .. 5 + $row % 4;
        my @samples;
        for my $letter (map { ord } @letters) {
            my $step = 0.02 + 0.003 * ($letter - 97);
            push @samples, map { int(4000 * sin($_ * $step) + 2000 * sin($_ * $step * (2 + $letter % 3)) + rand(600) - 300) }
                1 .. 1300 + 160 * ($letter % 7);
        }
        my ($id, $data) = (sprintf("row-%d", $row), pack("s<*", @samples));
        open(my $wav, ">:raw", "spelled/wavs/$id.wav");
        print $wav pack("a4Va4a4VvvVVvva4V", "RIFF", 36 + length($data), "WAVE", "fmt ", 16, 1, 1, 22050, 44100, 2, 16,
                        "data", length($data)), $data;
        print $list "$id|" . join("", @letters) . "\n";
    }'
base=(train --train-data spelled "${small[@]}" --set training.samples=0 --set data.min_seconds=0.1 --seed 3 --eval-every 0
    --batch-size 3 --lr 2e-4 --tensorboard off)
# One device, which is half of the cores where there are two: no run needs both cores at the same moment.
one=(--backend cpu --cpu-devices $((cores < 2 ? 1 : 2)) --device cpu:0)
pair=(--backend opencl --data-gpu 0 --model-gpu 1)
follows_corpus=spelled
on_cpu() {
    done_with "${base[@]}" "${one[@]}" --steps 6 --output "$@"
}
in_thirds() {
    done_with "${base[@]}" "${one[@]}" --steps 2 --output "$@"
    done_with train --resume "$1" "${one[@]}" --steps 5
    done_with train --resume "$1" "${one[@]}" --steps 7
}

# ---- without OpenCL, and without CUDA: one line that tells, and nothing else ----
mkdir none empty # files that are no libraries hide those of the system
: >none/libOpenCL.so.1 && : >none/libOpenCL.so && : >none/libcuda.so.1 && : >none/libcuda.so
for way in "LD_LIBRARY_PATH=$folder/none" "OCL_ICD_VENDORS=$folder/empty"; do
    export "${way?}"
    done_with devices
    check "$way: one line about OpenCL" test "$(grep -ci opencl stdout)" -eq 1
    check "$way: it tells what is missing" grep -qE '^Not available: .*opencl: .*OpenCL.*\(install an OpenCL driver' stdout
    check "$way: nothing on standard error" test ! -s stderr
    refused 3 'no device opencl:0: OpenCL is ' 'devices here: cpu:0' "${base[@]}" --output no --device opencl:0
    refused 3 'backend opencl' 'devices here: cpu:0' "${base[@]}" --output no "${pair[@]}"
    check "$way: no folder of a run" test ! -e no
    if [ "$way" = "LD_LIBRARY_PATH=$folder/none" ]; then
        done_with devices
        check "one line about both" test "$(grep -ciE 'opencl|cuda' stdout)" -eq 1
        done_with "${base[@]}" --output absent --steps 2
        check "training says nothing about them" test "$(grep -ciE 'opencl|cuda' stderr)" -eq 0
        check "and took the CPU" grep -qF 'Device: cpu:0 (' stderr
    fi
    unset "${way%%=*}"
done

# ---- two devices ----
done_with devices --json
if ! perl -MJSON::PP -e 'local $/; my $r = decode_json(<STDIN>);
        exit(!grep { $_->{device} eq "opencl:1" && $_->{kind} eq "cpu" } @{$r->{devices}})' <stdout; then
    echo "OpenCL has no two devices of CPU type: the rest is left out"
    finish
    exit
fi
refused 1 "unknown option '--opencl-split'" 'OpenCL devices are used whole' devices --opencl-split 2
refused 1 "'device.opencl_split' cannot be '2'" "leave 'opencl_split' out" "${base[@]}" --output no --set device.opencl_split=2
on_cpu cpu
done_with "${base[@]}" "${pair[@]}" --output pair --steps 6
said '🚀 Intelligent GPU Pipeline: Multi-GPU Mode'
said 'Memory of GPU:1 (opencl:1), the model device:'
follows on_cpu cpu pair
done_with "${base[@]}" --device opencl:0 --output whole --steps 6
follows on_cpu cpu whole
# The mode changes nothing in the weights, and neither does a second run.
done_with "${base[@]}" --device opencl:1 --output part --steps 6
done_with "${base[@]}" "${pair[@]}" --output again --steps 6 --enable-static-shapes --prefetch-buffer-size 2 --num-workers 1
for run in part again; do
    check "$run: the same weights and moments, bit for bit" cmp <(tensors pair/checkpoints/step-00000006.safetensors) \
        <(tensors $run/checkpoints/step-00000006.safetensors)
done
# What one backend prepares, the other trains on.
done_with "${base[@]}" --cpu-devices $((cores < 2 ? 1 : 2)) --data-device cpu:0 --model-device opencl:0 --output mixed --steps 6
follows on_cpu cpu mixed

# ---- the driver's compiler takes signals for itself: they are the program's again ----
(
    trap '' HUP
    exec "$program" "${base[@]}" --device opencl:0 --output signals --epochs 100000 --save-every 100000 >stdout 2>stderr </dev/null
) &
child=$!
# steps N: so many are made, within 60 s
steps() {
    for _ in $(seq 1 3000); do
        [ "$(cat signals/metrics.jsonl 2>/dev/null | wc -l)" -ge "$1" ] && return 0
        sleep 0.02
    done
    return 1
}
check "steps before SIGHUP" steps 1
if [ -r "/proc/$child/status" ]; then
    check "SIGHUP stays ignored, SIGTERM is caught: $(grep '^Sig[IC]' /proc/$child/status | tr '\n\t' '  ')" perl -e '
        my %m = map { /^(Sig...):\s*(\w+)/ ? ($1, hex($2)) : () } <STDIN>;
        exit !($m{SigIgn} & 1 << 0 && !($m{SigCgt} & 1 << 0) && $m{SigCgt} & 1 << 14)' <"/proc/$child/status"
else
    echo "SKIPPED: which signals a process takes is seen in /proc, which is not mounted"
fi
kill -HUP $child
check "SIGHUP is ignored, as it was told" steps $(($(wc -l <signals/metrics.jsonl) + 2))
kill -TERM $child
wait $child
code=$?
check "SIGTERM after SIGHUP: exit code $code instead of 4" test "$code" -eq 4
said 'everything is saved'

# ---- from one backend to the other, and back ----
done_with "${base[@]}" "${one[@]}" --output begun --steps 2
done_with train --resume begun "${pair[@]}" --steps 5
done_with train --resume begun "${one[@]}" --steps 7
check "seven steps in one run" test "$(grep -c '"grad_norm"' begun/metrics.jsonl)" -eq 7
in_thirds same
follows in_thirds same begun

# ---- limits ----
large=("${base[@]}" "${pair[@]}" --batch-size 8 --auto-tune off --buffer-size 2 --steps 1)
refused 3 'which has ' '--model-gpu-memory [0-9]*. is enough' "${large[@]}" --output r1 --model-gpu-memory 8
enough=$(grep -o -- '--model-gpu-memory [0-9]*. is enough' stderr | grep -o '[0-9]*')
done_with "${large[@]}" --output r1 --model-gpu-memory "$enough"
refused 3 'which has ' '--data-gpu-memory [0-9]*. is enough' "${large[@]}" --output r3 --data-gpu-memory 2
enough=$(grep -o -- '--data-gpu-memory [0-9]*. is enough' stderr | grep -o '[0-9]*')
done_with "${large[@]}" --output r3 --data-gpu-memory "$enough"
refused 3 'a limit of 1000000000 MiB is more than opencl:0 has' 'give .--data-gpu-memory. at most' "${base[@]}" "${pair[@]}" \
    --output r2 --data-gpu-memory 1000000000
refused 3 "'--model-gpu 9' does not exist" 'opencl' "${base[@]}" --backend opencl --output r3 --data-gpu 0 --model-gpu 9

# ---- validate ----
done_with validate "${small[@]}" --batch-size 1 "${pair[@]}" --json valid.json
told '✅ GPU indices valid: data_gpu=0 (opencl:0), model_gpu=1 (opencl:1)'
told '✅ Memory limit of GPU:1 enforced: '
told '✅ GPU:0 → GPU:1: contents equal in 5 sizes'
told '✅ The same step on two devices and on one gives the same '
told '🎉 All validation checks passed!'
holds 'validate' valid.json '$r->{passed} && $r->{mode} eq "Multi-GPU Mode" && $r->{checks}[5]{values}{exact}
    && $r->{checks}[5]{values}{different} == 0 && $r->{checks}[2]{values}{data_device_bytes} == 0
    && $r->{checks}[4]{values}{in_order} && $r->{checks}[4]{values}{equal}'

# ---- profile ----
done_with profile "${small[@]}" --train-data spelled --set data.min_seconds=0.1 --batch-size 2 "${pair[@]}" --num-steps 12 \
    --warmup-steps 2 --auto-tune off --buffer-size 2 --json profile.json --trace profile.trace
told 'Multi-GPU Mode on opencl:0 (data) and opencl:1 (model)'
told 'of the transfer time is hidden behind'
holds 'profile' profile.json '$r->{data_device} eq "opencl:0" && $r->{model_device} eq "opencl:1" && $r->{batches} == 12'
holds 'profile' profile.json '!grep { $r->{stages}{$_}{mean} <= 0 } qw(load process transfer train)'
holds 'profile' profile.json '$r->{stages}{train}{count} == 12 && $r->{step}{count} == 12 && $r->{total}{count} == 12'
# Batches are made while others are trained on: with room for two, all but the first few have to be.
holds 'profile' profile.json '$r->{overlap} && $r->{stage_overlap} > 0 && $r->{stage_overlap} <= 1'
holds 'profile' profile.json '!grep { $_ < 0 || $_ > 1 } $r->{transfer_overlap}, $r->{idle}{data}, $r->{idle}{model},
    $r->{utilisation}{data}{whole}, $r->{utilisation}{model}{whole}'
holds 'profile' profile.json '@{$r->{memory}} == 2 && $r->{memory}[1]{owners}{parameters} > 0
    && !grep { $_->{peak} > $_->{limit} } @{$r->{memory}}'
holds 'the trace' profile.trace 'my %n; $n{$_->{cat}}{$_->{args}{batch}}++ for grep { $_->{ph} eq "X" } @{$r->{traceEvents}};
    !grep { my $s = $_; grep { !$n{$s}{$_} } 0 .. 13 } qw(load process transfer train)'
done_with profile "${small[@]}" --train-data spelled --set data.min_seconds=0.1 --batch-size 2 "${pair[@]}" --num-steps 4 \
    --warmup-steps 1 --set pipeline.overlap=false --json plain.json
told 'none: without overlap nothing is prepared ahead'
holds 'no overlap' plain.json '!$r->{overlap}'
check "no temporary file is left" test -z "$(ls -A "$TMPDIR")"
finish

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# training.adapter_rank, with the program given as $1: adapters on a base leave it as it was, go on bit for bit, are the
# same on one device and two, train with work sharing, ranks and OpenCL, and become a whole voice or a small file that
# finds its base by its hash; run, whole voice and adapter say the same. What cannot be is refused.
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
. "$here/support/cli.sh"
# shellcheck source=tests/support/tones.sh
. "$here/support/tones.sh"

tones corpus 12
quick=(--set training.samples=0 --set training.report=off --tensorboard off --eval-every 0)
both=("${small[@]}" --part both --set vocoder.segments=2 "${quick[@]}" --seed 5)
done_with train --train-data corpus --output base "${both[@]}" --device cpu:0 --steps 2
done_with export base --output base.voice.safetensors --precision bf16
args=(train --train-data corpus --init-from base.voice.safetensors "${both[@]}" --adapter-rank 2 --lr 1e-2 --steps 4 --save-every 2)
last=checkpoints/step-00000004.safetensors

# tensors FILE PATTERN: name and bytes of the tensors that match
tensors() {
    # shellcheck disable=SC2016
    perl -MJSON::PP -MDigest::MD5=md5_hex -e 'my ($file, $pattern) = @ARGV; local $/; open(my $f, "<:raw", $file) or die;
        my $all = <$f>; my $n = unpack("Q<", $all); my $head = decode_json(substr($all, 8, $n));
        for (sort grep { $_ ne "__metadata__" && /$pattern/ } keys %$head) {
            my ($at, $end) = @{$head->{$_}{data_offsets}};
            print "$_ ", md5_hex(substr($all, 8 + $n + $at, $end - $at)), "\n" }' "$1" "$2"
}
# text FILE KEY: of its metadata
text() {
    # shellcheck disable=SC2016
    perl -MJSON::PP -e 'local $/; open(my $f, "<:raw", $ARGV[0]) or die; my $all = <$f>;
        print decode_json(substr($all, 8, unpack("Q<", $all)))->{__metadata__}{$ARGV[1]}' "$1" "$2"
}

done_with "${args[@]}" --output one --device cpu:0
check "says what learns" grep -q 'adapters of rank 2 on base.voice.safetensors: 0.0[0-9]* M of [0-9.]* M parameters learn' stderr
check "the vocoder is the base's" grep -q 'it is not trained' stderr
check "only adapters have moments" test -z "$(tensors one/$last '^(ema|moment.)\.' | grep -v 'adapter_[ab]')"
check "there are adapters" test "$(tensors one/$last '^ema\..*adapter_a' | wc -l)" -ge 12
check "they have learned" test -z "$(comm -12 <(tensors one/checkpoints/step-00000002.safetensors '^[^.]*\..*adapter_b' | sort) \
    <(tensors one/$last '^[^.]*\..*adapter_b' | sort))"
done_with train --train-data corpus --init-from base.voice.safetensors "${both[@]}" --part acoustic --lr 1e-25 --steps 1 --output same --device cpu:0
check "the base is as it was, bit for bit" cmp <(tensors one/$last '^(encoder|decoder|predictor|speaker).*(weight|bias)$' | grep -v adapter) \
    <(tensors same/checkpoints/step-00000001.safetensors '^(encoder|decoder|predictor|speaker).*(weight|bias)$')
cp -r one parts
rm parts/$last
mv base.voice.safetensors elsewhere.safetensors # a run has everything that it needs
done_with train --resume parts
check "it goes on bit for bit" cmp one/$last parts/$last
mv elsewhere.safetensors base.voice.safetensors

# ---- speaking ----
say=(--device cpu:0 --text 'The tone number a.' --seed 3)
done_with synth --checkpoint one "${say[@]}" --output run.wav
done_with export one --precision fp32 --output whole.voice.safetensors
done_with synth --checkpoint whole.voice.safetensors "${say[@]}" --output whole.wav
check "a whole voice says what the run says" cmp run.wav whole.wav
done_with export one --adapter --precision fp32 --output exact.voice.safetensors
done_with synth --checkpoint exact.voice.safetensors "${say[@]}" --output exact.wav
check "an adapter says what the run says" cmp run.wav exact.wav
done_with synth --checkpoint base.voice.safetensors "${say[@]}" --output base.wav
check "and the base something else" test "$(cmp base.wav run.wav >same.out 2>&1; echo $?)" -eq 1
done_with export one --adapter --output ann.voice.safetensors --licence CC-BY-4.0
check "says which base it needs" grep -q "an adapter of 0.0[0-9]* MB; it needs its base, base.voice.safetensors (hash $(text base.voice.safetensors hash))" stderr
check "an adapter is small" test "$(stat -c %s ann.voice.safetensors)" -lt "$(($(stat -c %s whole.voice.safetensors) / 3))"
check "and names its base" test "$(text ann.voice.safetensors state.adapter.base)" = "$(text base.voice.safetensors hash)"
done_with inspect ann.voice.safetensors
check "inspect shows the base" grep -q "adapters    on base.voice.safetensors, hash $(text base.voice.safetensors hash)" stdout
done_with inspect base.voice.safetensors
check "and the hash of a file" grep -q "hash        $(text base.voice.safetensors hash)" stdout
done_with export ann.voice.safetensors --precision fp32 --output again.voice.safetensors
done_with synth --checkpoint again.voice.safetensors "${say[@]}" --output again.wav
done_with synth --checkpoint ann.voice.safetensors "${say[@]}" --output ann.wav
check "a whole voice of an adapter says what the adapter says" cmp ann.wav again.wav
mkdir other installed
cp ann.voice.safetensors other
mv base.voice.safetensors installed/renamed.safetensors
refused 2 "its base is missing: the file with the hash $(text installed/renamed.safetensors hash), once named base.voice.safetensors" \
    'MYXTTS_BASE' synth --checkpoint other/ann.voice.safetensors "${say[@]}" --output refused.wav
export MYXTTS_BASE=installed
done_with synth --checkpoint other/ann.voice.safetensors "${say[@]}" --output named.wav
check "the folder of the base can be named" cmp ann.wav named.wav
export MYXTTS_BASE=whole.voice.safetensors
refused 2 'is not the base of the adapter' 'inspect' synth --checkpoint other/ann.voice.safetensors "${say[@]}" --output refused.wav
unset MYXTTS_BASE
export MYXTTS_VOICES=installed:other
done_with voices
check "an installed adapter is a voice like any other" test -z "$(grep 'cannot be used' stdout)"
done_with synth --voice ann "${say[@]}" --output installed.wav
unset MYXTTS_VOICES
mv installed/renamed.safetensors base.voice.safetensors

# ---- adapters on adapters: the base of the second is the first ----
done_with train --train-data corpus --init-from ann.voice.safetensors "${both[@]}" --adapter-rank 1 --lr 1e-2 --steps 2 --output second --device cpu:0
done_with export second --adapter --precision fp32 --output second.voice.safetensors
done_with synth --checkpoint second "${say[@]}" --output second-run.wav
done_with synth --checkpoint second.voice.safetensors "${say[@]}" --output second.wav
check "adapters on an adapter" cmp second-run.wav second.wav

# ---- every way to train ----
if two_cores; then
    done_with "${args[@]}" --output halves --backend cpu --cpu-devices 2 --device cpu:1
    done_with "${args[@]}" --output two --backend cpu --cpu-devices 2 --data-gpu 0 --model-gpu 1
    check "two devices: the same bits" cmp <(tensors halves/$last .) <(tensors two/$last .)
    done_with "${args[@]}" --output shared --backend cpu --cpu-devices 2 --data-gpu 0 --model-gpu 1 --share-work on
    check "work sharing: the base's bits" cmp <(tensors one/$last '^(encoder|speaker).*weight$') <(tensors shared/$last '^(encoder|speaker).*weight$')
fi
run "${args[@]}" --output mixed --device cpu:0 --mixed-precision
check "bf16 is refused only where the device has none" test "$code" -eq 0 -o -n "$(grep bf16 stderr)"
unset OCL_ICD_VENDORS
export MYXTTS_CACHE POCL_CACHE_DIR
MYXTTS_CACHE=${MYXTTS_CACHE:-$(dirname "$program")/opencl-cache} POCL_CACHE_DIR=${POCL_CACHE_DIR:-$(dirname "$program")/opencl-cache}
if "$program" devices 2>/dev/null | grep -q 'opencl:0'; then
    done_with "${args[@]}" --output opencl --backend opencl --device opencl:0
    check "OpenCL: the base's bits" cmp <(tensors one/$last '^(encoder|speaker).*weight$') <(tensors opencl/$last '^(encoder|speaker).*weight$')
fi

# ---- bad input ----
refused 1 "there is no '--init-from'" "give '--init-from'" train --train-data corpus "${both[@]}" --adapter-rank 2 --output refused --device cpu:0
refused 1 'would not be smaller than what they adapt' '8 is usual' "${args[@]}" --adapter-rank 200 --output refused --device cpu:0
refused 1 'has no adapters' "without '--adapter'" export base --adapter --output refused.voice.safetensors
refused 1 'is an adapter already' 'a whole voice' export ann.voice.safetensors --adapter --output refused.voice.safetensors
refused 1 "'--adapter' and '--fixed-speakers' contradict each other" 'omit' export one --adapter --fixed-speakers \
    --output refused.voice.safetensors
refused 1 'cannot change which parameters learn' "omit '--freeze' and '--adapter-rank'" train --resume parts --adapter-rank 3

# ---- ranks: the last, because it is skipped without MPI ----
# shellcheck source=tests/support/mpi.sh
. "$here/support/mpi.sh"
ranks_done 2 "${args[@]}" --output ranks --backend cpu
check "two ranks: the base's bits" cmp <(tensors one/$last '^(encoder|speaker).*weight$') <(tensors ranks/$last '^(encoder|speaker).*weight$')
check "two ranks: the adapters have learned" test -z "$(comm -12 <(tensors one/checkpoints/step-00000002.safetensors 'adapter_b' | sort) \
    <(tensors ranks/$last 'adapter_b' | sort))"

finish

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# training.freeze, with the program given as $1: a run that begins with another one and learns only a part of it leaves
# the rest as it was, goes on bit for bit, stores nothing twice, speaks, and is the same on one device and two; with work
# sharing, ranks and bf16 it trains, too. What leaves nothing to learn, or matches nothing, is refused.
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
. "$here/support/cli.sh"
# shellcheck source=tests/support/tones.sh
. "$here/support/tones.sh"

tones corpus 12
quick=(--set training.samples=0 --set training.report=off --tensorboard off --eval-every 0)
both=("${small[@]}" --part both --set vocoder.segments=2 "${quick[@]}" --seed 5)
done_with train --train-data corpus --output base "${both[@]}" --device cpu:0 --steps 2
frozen='encoder.*, speaker.*, vocoder.input.*'
args=(train --train-data corpus --init-from base "${both[@]}" --vocoder-lr 1e-4 --freeze "$frozen" --steps 4 --save-every 2)

# tensors FILE PATTERN: name and bytes of the tensors that match
tensors() {
    # shellcheck disable=SC2016
    perl -MJSON::PP -MDigest::MD5=md5_hex -e 'my ($file, $pattern) = @ARGV; local $/; open(my $f, "<:raw", $file) or die;
        my $all = <$f>; my $n = unpack("Q<", $all); my $head = decode_json(substr($all, 8, $n));
        for (sort grep { $_ ne "__metadata__" && /$pattern/ } keys %$head) {
            my ($at, $end) = @{$head->{$_}{data_offsets}};
            print "$_ ", md5_hex(substr($all, 8 + $n + $at, $end - $at)), "\n" }' "$1" "$2"
}
last=checkpoints/step-00000004.safetensors

done_with "${args[@]}" --output one --device cpu:0
check "says what learns" grep -q 'frozen: encoder.*; 0.[0-9]* M of [0-9.]* M parameters learn' stderr
tensors base/checkpoints/step-00000002.safetensors '^ema\.(encoder|speaker|vocoder.input)\.' | sed 's/^ema\.//' >before
tensors one/$last '^(encoder|speaker|vocoder.input)\.' >after
check "there are frozen tensors" test "$(wc -l <before)" -gt 20
check "what is frozen is what the base spoke with, bit for bit" cmp before after
check "and is stored once" test -z "$(tensors one/$last '^(ema|moment.)\.(encoder|speaker|vocoder.input)\.')"
tensors base/checkpoints/step-00000002.safetensors '^ema\.(decoder|predictor|vocoder.block)\.' | sed 's/^ema\.//' >before
tensors one/$last '^(decoder|predictor|vocoder.block)\.' >after
check "everything else has learned" test -z "$(comm -12 <(sort before) <(sort after))"
cp -r one parts
rm parts/$last
done_with train --resume parts
check "it goes on bit for bit" cmp one/$last parts/$last
done_with synth --checkpoint one --device cpu:0 --text 'The tone number a.' --output spoken.wav
check "and speaks" test "$(stat -c %s spoken.wav)" -gt 1000
done_with export one --precision fp32 --output one.voice.safetensors
check "and exports" test -s one.voice.safetensors
refused 1 'cannot change which parameters learn' "omit '--freeze'" train --resume parts --freeze 'decoder.*'

# ---- every way to train ----
if two_cores; then
    done_with "${args[@]}" --output halves --backend cpu --cpu-devices 2 --device cpu:1
    done_with "${args[@]}" --output two --backend cpu --cpu-devices 2 --data-gpu 0 --model-gpu 1
    check "two devices: the same bits" cmp <(tensors halves/$last .) <(tensors two/$last .)
    done_with "${args[@]}" --output shared --backend cpu --cpu-devices 2 --data-gpu 0 --model-gpu 1 --share-work on
    check "work sharing: frozen bits" cmp <(tensors one/$last '^(encoder|speaker)\.') <(tensors shared/$last '^(encoder|speaker)\.')
fi
run "${args[@]}" --output mixed --device cpu:0 --mixed-precision
if [ "$code" -eq 0 ]; then
    check "bf16: frozen bits" cmp <(tensors one/$last '^(encoder|speaker)\.') <(tensors mixed/$last '^(encoder|speaker)\.')
else
    check "bf16 is refused only where the device has none" grep -q 'bf16' stderr
fi

# ---- a vocoder that is frozen is ready ----
done_with train --train-data corpus --init-from base "${both[@]}" --vocoder-lr 1e-4 --freeze 'vocoder.*' --steps 2 --output ready \
    --device cpu:0
check "it is not trained" grep -q 'it is not trained' stderr
check "but kept" cmp <(tensors base/checkpoints/step-00000002.safetensors '^ema.vocoder\.' | sed 's/^ema\.//') \
    <(tensors ready/checkpoints/step-00000002.safetensors 'vocoder\.')

# ---- the plan ----
done_with train --train-data corpus --init-from base "${both[@]}" --freeze "$frozen" --device cpu:0 --dry-run
bytes() { grep "^ *$1 " "$2" | head -n 1 | tr -s ' '; }
cp stdout frozen.plan
done_with train --train-data corpus --init-from base "${both[@]}" --device cpu:0 --dry-run
for owner in gradients moments 'averaged weights' checkpoints; do
    check "--dry-run: less for $owner" test "$(bytes "$owner" frozen.plan)" != "$(bytes "$owner" stdout)"
done
check "--dry-run: the weights are all there" test "$(bytes parameters frozen.plan)" = "$(bytes parameters stdout)"

# ---- bad input ----
start=(train --train-data corpus --init-from base "${both[@]}" --device cpu:0 --output refused --steps 1)
refused 1 "no parameter matches 'encodr.*'" 'encoder\.' "${start[@]}" --freeze 'encodr.*'
refused 1 'leaves nothing of the acoustic network to learn' "'--part vocoder' trains the vocoder alone" "${start[@]}" \
    --vocoder-lr 1e-4 --freeze 'encoder.*,decoder.*,speaker.*,predictor.*'
refused 1 'leaves nothing of the acoustic network to learn' 'leave a part of it out' "${start[@]}" --freeze '*'
refused 1 'freezes a vocoder that has not learned anything' '--part acoustic' train --train-data corpus "${both[@]}" --device cpu:0 \
    --output refused --steps 1 --freeze 'vocoder.*'
check "nothing is left behind" test ! -e refused/checkpoints

# ---- ranks: the last, because it is skipped without MPI ----
# shellcheck source=tests/support/mpi.sh
. "$here/support/mpi.sh"
ranks_done 2 "${args[@]}" --output ranks --backend cpu
check "two ranks: frozen bits" cmp <(tensors one/$last '^(encoder|speaker|vocoder.input)\.') \
    <(tensors ranks/$last '^(encoder|speaker|vocoder.input)\.')
check "two ranks: the rest has learned" test -z "$(comm -12 <(tensors one/checkpoints/step-00000002.safetensors '^decoder' | sort) \
    <(tensors ranks/$last '^decoder' | sort))"

finish

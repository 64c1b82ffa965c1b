#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Work sharing of myxtts train, with the program given as $1: what is refused and why, the memory it takes, a run that
# is repeated from its log, one that is resumed, and a text that spoils its step in whichever part of the batch it is.
# Two CPU devices stand for two GPUs.
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
. "$here/support/cli.sh"
# shellcheck source=tests/support/tones.sh
. "$here/support/tones.sh"
# shellcheck source=tests/support/follows.sh
. "$here/support/follows.sh"

two_cores || exit 77

tones tones 24
base=(train --train-data tones "${small[@]}" --set training.samples=0 --eval-every 0 --seed 5
    --set data.validation_fraction=0)
one=(--backend cpu --cpu-devices 2 --device cpu:1)
pair=(--backend cpu --cpu-devices 2 --data-gpu 0 --model-gpu 1)

said() {
    check "$1: says '$2'" grep -q -- "$2" stderr
}
# Weights and moments of a checkpoint, without its words.
tensors() {
    perl -e 'local $/; open(my $f, "<:raw", $ARGV[0]); my $b = <$f>; print substr($b, 8 + unpack("Q<", $b))' "$1"
}
same() {
    check "$1: the same weights and moments" cmp <(tensors "$2") <(tensors "$3")
}
# told RUN: what the metrics say of each step, without its times
told() {
    sed 's/,"step_ms".*//' "$1/metrics.jsonl"
}

# ---- help ----
run train --help all
check 'help names --share-work' grep -q -- '--share-work auto|on|off' stdout
check 'help names --shares' grep -q -- '--shares LIST' stdout

# ---- refused, before anything begins ----
refused 1 'work can only be shared between two devices, but there is only one, cpu:1' "--data-gpu 0 --model-gpu 1" \
    "${base[@]}" "${one[@]}" --output run --share-work on
check 'nothing was begun' test ! -e run
refused 1 "option '--share-work' is 'maybe'" 'auto, on, off' "${base[@]}" "${pair[@]}" --dry-run --share-work maybe
refused 1 "'0.5' is not a point in a list of shares" 'STEP:SHARE' "${base[@]}" "${pair[@]}" --dry-run --share-work on \
    --shares 0.5
refused 1 "'3:1.5' is not a valid share" '0 to 1' "${base[@]}" "${pair[@]}" --dry-run --share-work on --shares 0:0.5,3:1.5
refused 1 'a share of 0.9 from step 7 on is too much' 'room for 0.75' "${base[@]}" "${pair[@]}" --dry-run \
    --share-work on --shares 0:0.5,7:0.9

# ---- one device: auto finds nothing to do, and results are those of the run without it ----
done_with "${base[@]}" "${one[@]}" --steps 5 --output plain
done_with "${base[@]}" "${one[@]}" --steps 5 --output one --share-work auto
same 'auto on one device' {plain,one}/checkpoints/step-00000005.safetensors
done_with "${base[@]}" "${pair[@]}" --steps 5 --output off --share-work off
same 'off on two devices' {plain,off}/checkpoints/step-00000005.safetensors
check 'no word of sharing' test -z "$(grep -iE 'work sharing|"share' off/log.txt off/metrics.jsonl)"

# ---- memory ----
run "${base[@]}" "${pair[@]}" --dry-run --share-work on
check 'the table shows the replica' test "$(grep -c ' activations ' stdout)" -eq 2
check 'and its batches' grep -q ' replica slots ' stdout
# The least limit with which it goes on at all, and what is said on the way there.
limited='' refusal='' enough=''
for megabytes in 1 2 3 4 5 6 7 8 10 12 14 16 20 24 28 32 40 48; do
    run "${base[@]}" --batch-size 24 "${pair[@]}" --output limit --steps 1 --share-work on --data-gpu-memory "$megabytes"
    rm -rf limit
    if [ "$code" -eq 3 ] && grep -q "'--share-work off' fits" stderr; then
        refusal=$megabytes
        check 'the hint tells what helps' grep -q "'--data-gpu-memory [0-9]*' is enough" stderr
        enough=$(grep -o "data-gpu-memory [0-9]*' is enough" stderr | grep -o '[0-9]*')
    fi
    if [ "$code" -eq 0 ]; then
        limited=$(grep -o 'work sharing: at most [0-9.]* % of a batch, because GPU:0 has no memory for more' stderr)
        break
    fi
done
check 'a limit that is too small is refused' test -n "$refusal"
check 'one that is a little too small makes the part smaller' test -n "$limited"
if [ -n "$refusal" ]; then
    done_with "${base[@]}" --batch-size 24 "${pair[@]}" --output limit --steps 1 --share-work on \
        --data-gpu-memory "$enough"
    rm -rf limit
    done_with "${base[@]}" --batch-size 24 "${pair[@]}" --output limit --steps 1 --share-work auto \
        --data-gpu-memory "$refusal"
    said auto 'work sharing: stays off, because a replica of the model would take .* of GPU:0'
fi

# ---- a run that measures, and the same one from its log ----
done_with "${base[@]}" "${pair[@]}" --steps 16 --output measured --share-work on --save-every 10
said 'measured' "work sharing: '--share-work on --shares 0:0.5[0-9.,:]*' repeats this run"
list=$(sed -n "s/.*--shares \([^']*\)'.*/\1/p" measured/log.txt)
# Half at first; how much later depends on how fast the devices were.
check 'the metrics tell the share' test "$(grep -c '"share":0.*"shared_frames":[0-9]' measured/metrics.jsonl)" -eq 16
check 'and what was shared' grep -q '"step":1,.*"share":0.5,.*"shared_frames":[1-9]' measured/metrics.jsonl
done_with "${base[@]}" "${pair[@]}" --steps 16 --output again --share-work on --shares "$list" --save-every 10
same 'from the list' {measured,again}/checkpoints/step-00000016.safetensors
check 'the same metrics' cmp <(told measured) <(told again)

# ---- it follows the run on one device ----
follows_terms=1
on_one() {
    done_with "${base[@]}" "${one[@]}" --steps 16 --output "$@"
}
on_one alone
follows on_one alone measured

# ---- interrupted and resumed ----
# As if the run had ended after step 10: its config has the list, its state what held then.
cp -r again parts
rm parts/checkpoints/step-00000016*
cp -r parts parts-off
done_with train --resume parts
same 'resumed' {measured,parts}/checkpoints/step-00000016.safetensors
check 'resumed metrics' cmp <(told measured) <(told parts)
done_with train --resume parts-off --share-work off
check 'the log has all of it' grep -q -- "--shares 0:0.5[0-9.,:]*,10:0.0' repeats" parts-off/log.txt

# ---- a text that spoils its step, in whichever part it is ----
# the weights of the only symbol that row-007 has are so large that its loss is not finite
sed -i -e 's/^\(row-007.*number\) ./\1 x/' -e '/row-007/!s/number x/number y/' tones/metadata.csv
done_with "${base[@]}" "${pair[@]}" --steps 1 --output start
perl -MJSON::PP -e '
    local $/; my ($from, $to) = @ARGV; open(my $in, "<:raw", $from) or die; my $all = <$in>;
    my $bytes = unpack("Q<", $all); my $head = decode_json(substr($all, 8, $bytes)); my $data = substr($all, 8 + $bytes);
    my @symbols = @{decode_json((delete $head->{__metadata__})->{vocabulary})->{symbols}};
    my ($token) = grep { $symbols[$_ - 2] eq "x" } 2 .. $#symbols + 2;
    my $table = $head->{"encoder.token.weight"}; my $row = 4 * $table->{shape}[1];
    substr($data, $table->{data_offsets}[0] + $token * $row, $row) = pack("f<", 3e38) x ($row / 4);
    my $text = encode_json($head); open(my $out, ">:raw", $to) or die;
    print $out pack("Q<", length($text)), $text, $data;' start/checkpoints/step-00000001.safetensors bad.safetensors
for share in 0.25 0.5 0.75; do
    done_with "${base[@]}" "${pair[@]}" --init-from bad.safetensors --steps 12 --output "bad-$share" --share-work on \
        --shares "0:$share"
    check "share $share: two steps of two epochs are left out" \
        test "$(grep -c 'is left out: its loss is not finite; utterances: row-007$' "bad-$share/log.txt")" -eq 2
    check "share $share: all others are trained on" test "$(grep -c '"skipped":false' "bad-$share/metrics.jsonl")" -eq 10
done

# ---- the profile ----
done_with profile --train-data tones "${small[@]}" "${pair[@]}" --share-work on --shares 0:0.5 --num-steps 4 \
    --warmup-steps 2 --json profile.json --trace trace.json
check 'the report tells the share' grep -q 'Sharing: .* of the frames were trained on by the data device (0:0.5)' stdout
check 'and so does the JSON' grep -q '"sharing": true, "share": 0\.[3-6]' profile.json
check 'the data device trains in the trace' grep -q '"cat":"train","ph":"X","pid":2' trace.json
check 'and the model device' grep -q '"cat":"train","ph":"X","pid":3' trace.json

finish

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# A loss that is not finite, in the middle of a run of the program given as $1: the step is left out, its utterances are
# named, the weights do not notice; several in a row end the run, and its last checkpoint is good.
#
# What spoils the numbers comes through an ordinary door: --init-from takes a file in which one symbol, that only some
# texts have, has weights so large that their sum is no number.
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
. "$here/support/cli.sh"
# shellcheck source=tests/support/tones.sh
. "$here/support/tones.sh"

# head_of FILE EXPRESSION: what the Perl expression finds in the header of a safetensors file, as $h.
head_of() {
    perl -MJSON::PP -e 'local $/; open(F, "<:raw", $ARGV[0]) or die; my $a = <F>;
        my $h = decode_json(substr($a, 8, unpack("Q<", $a)));
        print join(" ", eval $ARGV[1]), "\n"; die $@ if $@' "$@"
}

# spoil FROM TO SYMBOL: the tensors of a checkpoint without its metadata, a file as other programs write it, in which
# all weights of SYMBOL are as large as numbers can be.
spoil() {
    perl -MJSON::PP -e '
        my ($from, $to, $symbol) = @ARGV;
        local $/;
        open(my $in, "<:raw", $from) or die;
        my $all = <$in>;
        my $bytes = unpack("Q<", $all);
        my $head = decode_json(substr($all, 8, $bytes));
        my $data = substr($all, 8 + $bytes);
        my @symbols = @{decode_json((delete $head->{__metadata__})->{vocabulary})->{symbols}};
        my ($token) = grep { $symbols[$_ - 2] eq $symbol } 2 .. $#symbols + 2; # the ends of a sentence are 0 and 1
        my $table = $head->{"encoder.token.weight"};
        my $row = 4 * $table->{shape}[1];
        substr($data, $table->{data_offsets}[0] + $token * $row, $row) = pack("f<", 3e38) x ($row / 4);
        my $text = encode_json($head);
        open(my $out, ">:raw", $to) or die;
        print $out pack("Q<", length($text)), $text, $data;' "$@"
}

# weights FILE...: a sum of the tensors alone, without what a checkpoint tells of the run
weights() {
    perl -e 'local $/; for (@ARGV) { open(F, "<:raw", $_); my $a = <F>; print substr($a, 8 + unpack("Q<", $a)) }' "$@" | cksum
}

# told RUN STEP: its line in the metrics
told() {
    grep "^{\"step\":$2," "$1/metrics.jsonl" | grep -v evaluation
}

# Twelve texts; row-007 has an x, the last six a z.
tones tones 12
sed -i -e 's/^\(row-007.*number\) ./\1 x/' -e '7,12s/number [^x]\./number z./' tones/metadata.csv
common=(--train-data tones "${small[@]}" --set data.validation_fraction=0 --set training.keep_last=100)
done_with train "${common[@]}" --output start --steps 1
start=start/checkpoints/step-00000001.safetensors

# ---- one text of the corpus spoils its step, every time it comes; all others are trained on ----
spoil $start x.safetensors x
done_with train "${common[@]}" --output spoiled --init-from x.safetensors --steps 6
check "three batches an epoch, two steps of six are left out" test "$(grep -c '"skipped":true' spoiled/metrics.jsonl)" -eq 2
check "their loss is written as null" \
    test "$(grep '"skipped":true' spoiled/metrics.jsonl | grep -c '"loss":null')" -eq 2
check "the log blames one utterance, not its company" \
    test "$(grep -c 'is left out: its loss is not finite; utterances: row-007$' spoiled/log.txt)" -eq 2
check "all other steps are good" \
    test "$(grep '"skipped":false' spoiled/metrics.jsonl | grep -vc '"loss":null\|"grad_norm":null')" -eq 4
check "counted in the checkpoint, as left out and not as updates" test "$(head_of \
    spoiled/checkpoints/step-00000006.safetensors '@{$h->{__metadata__}}{qw(state.guard.skipped state.updates)}')" = "2 4"

# ---- several in a row end the run ----
spoil $start z.safetensors z
run train "${common[@]}" --output ended --init-from z.safetensors --batch-size 1 --steps 100 --save-every 1 \
    --set training.skips_max=3
check "exit code $code instead of 2" test "$code" -eq 2
check "says why" grep -q 'the last 3 steps had a loss that is not finite' stderr
check "says what to do" grep -q "hint: .*the last checkpoint is intact: 'myxtts train --resume ended' continues from it$" stderr
check "run.json knows it, too" grep -q '"state":"failed","failure":"the last 3 steps had a loss' ended/run.json
check "and there is a report of it" grep -q '</html>' ended/report.html
end=$(grep -o '^{"step":[0-9]*' ended/metrics.jsonl | tail -n 1 | grep -o '[0-9]*$')
check "not at once: $end steps" test "$end" -gt 4
for step in $((end - 2)) $((end - 1)) "$end"; do
    check "step $step is reported" grep -q '"loss":null.*"skipped":true' <(told ended "$step")
    check "step $step is in the log" grep -qE "step $step is left out: .*: row-0(06|08|09|10|11)$" ended/log.txt
done
good=$(printf 'ended/checkpoints/step-%08d.safetensors' $((end - 3)))
last=$(printf 'ended/checkpoints/step-%08d.safetensors' $((end - 1)))
check "step $((end - 3)) was good" grep -q '"skipped":false' <(told ended $((end - 3)))
check "the last checkpoint is the one before the end" test "$(ls ended/checkpoints/step-* | tail -n 1)" = "$last"
check "with weights, average and moments of the last good step" test "$(weights "$last")" = "$(weights "$good")"
before=$(cksum ended/checkpoints/*)
run train --resume ended
check "going on without a change ends again: exit code $code" test "$code" -eq 2
check "and leaves the checkpoints as they were" test "$(cksum ended/checkpoints/*)" = "$before"
done_with train --resume ended --steps $((end + 3)) --set training.skips_max=100
check "with more patience it goes on, exactly there" grep -q '"skipped":true' <(told ended "$end")
check "to its end" test -n "$(told ended $((end + 3)))"

finish

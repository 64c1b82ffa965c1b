#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# myxtts eval, with the program given as $1, with a voice that is hardly trained (support/tones.sh): the numbers are
# those that training reports, sums and rows agree, what cannot be used is counted and named, and what does not fit is
# refused.
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
. "$here/support/cli.sh"
# shellcheck source=tests/support/tones.sh
. "$here/support/tones.sh"

# json EXPRESSION FILE...: prints what the Perl expression finds in the report, as $r.
json() {
    perl -MJSON::PP -e 'local $/; my $code = shift; open(F, "<:raw", shift); my $r = decode_json(<F>);
        my @found = eval $code; die $@ if $@; print join(" ", @found), "\n"' "$@"
}

# near A B: equal but for rounding
near() {
    perl -e 'exit(!(abs($ARGV[0] - $ARGV[1]) <= 1e-6 * abs($ARGV[1])))' "$@"
}

tones tones 14
done_with train --train-data tones --output run "${small[@]}" --steps 12 --set data.validation_fraction=0.3 \
    --set training.samples=0

# ---- refusals ----
refused 1 "'--checkpoint RUN_OR_FILE' is missing" 'help' eval --data tones
refused 1 "'--data CORPUS' is missing" 'help' eval --checkpoint run
refused 2 'none' '.' eval --checkpoint none --data tones
refused 2 'none' '.' eval --checkpoint run --data none
refused 3 'cpu:7' '.' eval --checkpoint run --data tones --device cpu:7
refused 1 'limit' '.' eval --checkpoint run --data tones --limit 0
mkdir persian
cp -r tones/wavs persian/wavs
printf 'row-000|\xd8\xb3\xd9\x84\xd8\xa7\xd9\x85\n' >persian/metadata.csv
refused 2 'no row of the corpus' 'languages and symbols' eval --checkpoint run --data persian
done_with prepare persian --output persian.pack --tokens chars
refused 2 'not in the vocabulary' 'same language' eval --checkpoint run --data persian.pack
done_with prepare tones --output tones.pack --tokens chars
refused 1 'have their language' 'leave' eval --checkpoint run --data tones.pack --language en

refused 1 'have no effect without sound' '--vocoder' eval --checkpoint run --data tones --rounds 4
refused 1 "'--vocoder' is 'nowhere'" 'griffin-lim' eval --checkpoint run --data tones --vocoder nowhere
refused 1 "'--rounds'" '1 to 10000' eval --checkpoint run --data tones --vocoder griffin-lim --rounds 0

# ---- the numbers ----
done_with eval --checkpoint run --data tones
check "a table: all, and each speaker" test "$(grep -cE ' (all|high|low)$' stdout)" -eq 3
check "with one line of all 14" grep -qE '^ +14 .* all$' stdout
check "no line for the only language" test "$(grep -c English stdout)" -eq 0
check "the worst are named" grep -qE ' row-0[01][0-9]$' stdout
cp stdout table
done_with eval --checkpoint run/checkpoints/step-00000012.safetensors --data tones --cpu-devices $((cores < 2 ? 1 : 2)) \
    --json report.json
check "the same table on half of the cores" diff <(sed 1d stdout) <(sed 1d table)
check "rows make the mean" near "$(json 'my $s = 0; $s += $_->{mel_db} for @{$r->{rows}}; $s / 14' report.json)" \
    "$(json '$r->{mel_db}' report.json)"
check "speakers make the mean" near \
    "$(json 'my $s = 0; $s += $_->{duration_error} * $_->{spoken} for @{$r->{speakers}}; $s / 14' report.json)" \
    "$(json '$r->{duration_error}' report.json)"
check "rows are what they are" test "$(json 'map { @{$_}{qw(id speaker language outcome)} } $r->{rows}[3]' report.json)" \
    = "row-003 low en spoken"
# Sound is not quite the mel that it was made from: other decibels, the same durations.
done_with eval --checkpoint run --data tones --vocoder griffin-lim --rounds 4 --limit 3 --json sound.json
check "says what is compared" grep -q '^Sound by griffin-lim is compared.$' stdout
done_with eval --checkpoint run --data tones --limit 3 --json mel.json
check "the sound is compared" test "$(json '$r->{mel_db}' sound.json)" != "$(json '$r->{mel_db}' mel.json)"
check "of the same speech" test "$(json '@{$r}{qw(duration_error spoken)}' sound.json)" = \
    "$(json '@{$r}{qw(duration_error spoken)}' mel.json)"
check "the report says so" test "$(json 'map { defined $_ ? $_ : "null" } $r->{vocoder}' sound.json)" = griffin-lim
check "and where it is not so" test "$(json 'map { defined $_ ? $_ : "null" } $r->{vocoder}' mel.json)" = null
refused 2 'has no vocoder' "'--part vocoder'" eval --checkpoint run --data tones --vocoder run
done_with train --part vocoder --train-data tones --output vocoder --steps 2 --set vocoder.segments=2
done_with eval --checkpoint run --data tones --vocoder vocoder --limit 3 --json vocoder.json
check "the vocoder of a run is another" test "$(json '$r->{mel_db}' sound.json)" != "$(json '$r->{mel_db}' vocoder.json)"
check "step and counts" test "$(json '@{$r}{qw(step looked_at spoken unusable too_long)}' report.json)" = "12 14 14 0 0"

# What training says of the rows that it kept for validation is what eval says of them.
done_with eval --checkpoint run --data tones --held-out --json -
check "JSON instead of the table" test "$(head -c 1 stdout)" = "{"
cp stdout held.json
evaluation=$(grep evaluation run/metrics.jsonl | tail -n 1)
printf '%s' "$evaluation" >evaluation.json
check "some rows were kept" test "$(json '$r->{spoken}' held.json)" -gt 1
for key in "mel_db mel_db" "duration_error duration_error" "pitch_error_semitones pitch_semitones" "spoken spoken"; do
    check "as in training: $key" near "$(json "\$r->{${key% *}}" held.json)" "$(json "\$r->{evaluation}{${key#* }}" evaluation.json)"
done
done_with eval --checkpoint run --data tones.pack --json packed.json
check "a packed corpus gives the same" test "$(json '@{$r}{qw(mel_db duration_error pitch_error_semitones)}' packed.json)" \
    = "$(json '@{$r}{qw(mel_db duration_error pitch_error_semitones)}' report.json)"
done_with prepare tones --output features.pack --tokens chars --features
done_with eval --checkpoint run --data features.pack --limit 5 --json features.json
check "features, and a limit that spreads" test "$(json 'map { $_->{id} } @{$r->{rows}}' features.json)" \
    = "row-000 row-002 row-005 row-008 row-011"

# ---- what cannot be used ----
cp -r tones broken
truncate -s 44 broken/wavs/row-001.wav
perl -e 'open(F, "+<:raw", $ARGV[0]); seek(F, 44, 0); print F "\0" x (-s F)' broken/wavs/row-002.wav
rm broken/wavs/row-003.wav
done_with eval --checkpoint run --data broken --json broken.json
check "what is left is compared" grep -qE '^ +11 .* all$' stdout
check "one could not be used" grep -A 1 'Could not be used: 1' stdout
check "and is named" grep -q 'row-002: nothing can be heard' stdout
check "two were not looked at" grep -q 'cannot be used: 2' stdout
check "and are named" test "$(json 'map { @{$_}{qw(id why)} } sort { $a->{id} cmp $b->{id} } @{$r->{left_out}}' broken.json)" \
    = "row-001 lying-header row-003 missing-file"
for row in 0 4 5 6 7 8 9; do : >"broken/wavs/row-00$row.wav"; done
for row in 0 1 2 3; do : >"broken/wavs/row-01$row.wav"; done
run eval --checkpoint run --data broken
check "nothing left: exit code $code" test "$code" -eq 2
check "and says so" grep -q 'none of the 1 utterances' stderr

# ---- nothing that was not measured ----
# A voice whose durations are so long that no text can be spoken: the weights alone, with another bias.
perl -MJSON::PP -e 'my ($from, $to) = @ARGV; local $/; open(my $f, "<:raw", $from); my $b = <$f>; my $n = unpack("Q<", $b);
    my $h = decode_json(substr($b, 8, $n)); my ($data, %keep, $out) = (substr($b, 8 + $n)); $out = "";
    for my $name (grep { !/^(__metadata__$|ema\.|moment)/ } sort keys %$h) {
        my ($x, $y) = @{$h->{$name}{data_offsets}};
        my $bytes = $name eq "predictor.duration.out.bias" ? pack("f<", 6) : substr($data, $x, $y - $x);
        $keep{$name} = {%{$h->{$name}}, data_offsets => [length $out, length($out) + length $bytes]};
        $out .= $bytes;
    }
    my $head = encode_json(\%keep); $head .= " " x (-length($head) % 8);
    open(my $o, ">:raw", $to); print $o pack("Q<", length $head), $head, $out' \
    "$(find run/checkpoints -name 'step-*' | sort | tail -1)" slow.safetensors
done_with train --train-data tones --output slow "${small[@]}" --init-from slow.safetensors --lr 1e-9 --steps 2 --eval-every 1 \
    --set data.validation_fraction=0.3 --set training.samples=0
check "says that nothing was spoken" test "$(grep -c '); spoken: –$' stderr)" -eq 2
check "why" grep -qE 'step 2: ([0-9]+) of \1 would have become too long to be spoken' stderr
check "no value where there is none" test "$(grep -c \
    '"spoken":0,"mel_db":null,"duration_error":null,"pitch_semitones":null}' slow/metrics.jsonl)" -eq 2
check "nothing is the best" test ! -e slow/checkpoints/best.safetensors
check "run.json has no best" test "$(json 'defined $r->{best} ? 1 : 0' slow/run.json)" -eq 0
check "nor has the checkpoint such numbers" test "$("$program" inspect slow | grep -c 'mel_db\|pitch_semitones')" -eq 0
check "nor has TensorBoard" test "$(grep -rac 'spoken/mel_db' slow/tensorboard | sed 's/.*://')" -eq 0
check "but other runs have them" test "$(grep -rac 'spoken/mel_db' run/tensorboard | sed 's/.*://')" -ge 1
done_with monitor slow --once
check "whoever watches sees that there is none" grep -qE '^validation .*, spoken (–|-)$' stdout
"$program" eval --checkpoint slow --data tones --json slow.json >stdout 2>stderr
check "eval has no value, too" test "$(json 'join ",", map { defined $_ ? $_ : "null" } @{$r}{qw(spoken mel_db duration_error
    pitch_error_semitones)}' slow.json)" = 0,null,null,null

finish

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# train --init-from, with the program given as $1: from a voice file the run has the vocabulary and the languages of the
# base, and what only the corpus has is appended, named and counted, for a folder and for a packed corpus, with
# adapters too; it goes on bit for bit. Adapters on a voice that cannot listen are refused.
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
. "$here/support/cli.sh"
# shellcheck source=tests/support/tones.sh
. "$here/support/tones.sh"
one_core

tones first 4
tones second 10
sed -i '$ s/|[^|]*$/|این یک صدا است/' second/metadata.csv # one row in Persian
quick=(--set training.samples=0 --set training.report=off --tensorboard off --eval-every 0 --set data.validation_fraction=0)
options=("${small[@]}" "${quick[@]}" --device cpu:0)
done_with train --train-data first --output base "${options[@]}" --steps 2
done_with export base --output base.voice.safetensors --precision bf16

# words FILE: the symbols of its vocabulary, one to a line, and its languages
words() {
    # shellcheck disable=SC2016
    perl -MJSON::PP -CO -e 'local $/; open(my $f, "<:raw", $ARGV[0]) or die; my $all = <$f>;
        my $v = decode_json(Encode::encode("UTF-8", decode_json(substr($all, 8, unpack("Q<", $all)))->{__metadata__}{vocabulary}));
        print "$_\n" for @{$v->{symbols}}; print "language $_\n" for @{$v->{languages}}' -MEncode "$1"
}
# rows FILE TENSOR COUNT: the bytes of its first rows of 32 F32 numbers
rows() {
    # shellcheck disable=SC2016
    perl -MJSON::PP -e 'my ($file, $name, $count) = @ARGV; local $/; open(my $f, "<:raw", $file) or die; my $all = <$f>;
        my $n = unpack("Q<", $all); my ($at) = @{decode_json(substr($all, 8, $n))->{$name}{data_offsets}};
        print substr($all, 8 + $n + $at, $count * 32 * 4)' "$@"
}

# ---- nothing new ----
done_with train --train-data first --init-from base.voice.safetensors --output same "${options[@]}" --lr 1e-25 --steps 1
check "the same words" cmp <(words base/checkpoints/step-00000002.safetensors) <(words same/checkpoints/step-00000001.safetensors)
check "nothing is said of new ones" test -z "$(grep 'has to learn' stderr)"

# ---- new symbols and a new language, of a folder ----
start=(train --init-from base.voice.safetensors "${options[@]}" --steps 4 --save-every 2)
done_with "${start[@]}" --train-data second --output grown
check "names and counts the symbols" grep -q "base.voice.safetensors does not know 1[0-9] symbols of the corpus, which it has to learn: .*'g' (U+0067)" stderr
check "and the language" grep -q 'does not know 1 language of the corpus, which it has to learn: Persian' stderr
check "no row is left out" test ! -e grown/rejects.tsv
before=$(words base/checkpoints/step-00000002.safetensors | grep -c -v '^language')
check "the words of the base come first" cmp <(words base/checkpoints/step-00000002.safetensors | grep -v '^language') \
    <(words grown/checkpoints/step-00000004.safetensors | grep -v '^language' | head -n "$before")
check "its languages, too" test "$(words grown/checkpoints/step-00000004.safetensors | grep '^language' | tr '\n' ' ')" = 'language en language fa '
done_with "${start[@]}" --train-data second --output still --lr 1e-25 --steps 1
check "and their rows are those of the base" cmp <(rows same/checkpoints/step-00000001.safetensors encoder.token.weight "$((before + 2))") \
    <(rows still/checkpoints/step-00000001.safetensors encoder.token.weight "$((before + 2))")
cp -r grown parts
rm parts/checkpoints/step-00000004*
done_with train --resume parts
check "it goes on bit for bit" cmp grown/checkpoints/step-00000004.safetensors parts/checkpoints/step-00000004.safetensors

# ---- of a folder in which the base knows no row at all ----
mkdir foreign
ln -s ../second/wavs foreign/wavs
awk -F'|' '{ print $1 "|" $2 "|گژچ پ." }' second/metadata.csv >foreign/metadata.csv
done_with "${start[@]}" --train-data foreign --output foreign-run --allow-rejects
check "all new: names the language" grep -q 'does not know 1 language of the corpus, which it has to learn: Persian' stderr

# ---- of a packed corpus ----
done_with prepare second --output second.pack --tokens chars
done_with "${start[@]}" --train-data second.pack --output packed
check "packed: names and counts the symbols" grep -q 'does not know 1[0-9] symbols of the corpus' stderr
check "packed: the same words" cmp <(words grown/checkpoints/step-00000004.safetensors) <(words packed/checkpoints/step-00000004.safetensors)

# ---- with adapters the tables learn, too ----
done_with "${start[@]}" --train-data second --output adapted --adapter-rank 2
done_with export adapted --adapter --output adapted.voice.safetensors
done_with export adapted --adapter --precision fp32 --output exact.voice.safetensors
say=(--device cpu:0 --text 'The tone number g.' --seed 3)
done_with synth --checkpoint adapted "${say[@]}" --output run.wav
done_with synth --checkpoint exact.voice.safetensors "${say[@]}" --output adapter.wav
check "an adapter with new symbols says what its run says" cmp run.wav adapter.wav
cp -r adapted parts2
rm parts2/checkpoints/step-00000004*
done_with train --resume parts2
check "adapters with new symbols go on bit for bit" cmp adapted/checkpoints/step-00000004.safetensors parts2/checkpoints/step-00000004.safetensors

# ---- bad input ----
refused 1 'freezes encoder.token.weight, which has new rows to learn' 'leave it out' "${start[@]}" --train-data second --output refused --freeze 'encoder.*'
done_with export base --precision fp32 --output fixed.voice.safetensors --fixed-speakers
refused 2 'cannot listen to recordings, which training needs' "without '--fixed-speakers'" train --init-from fixed.voice.safetensors \
    "${options[@]}" --train-data first --output refused --adapter-rank 2

finish

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Rows that are longer than data.max_seconds, in 'prepare' and 'train' of the program given as $1: they are cut, told and
# counted; the pieces are found again, and made again if they or their recordings have changed. The voice is hardly trained
# and the speech is tones (support/tones.sh): whether words are found where they are is measured by scripts/bench/cut.sh.
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
. "$here/support/cli.sh"
# shellcheck source=tests/support/tones.sh
. "$here/support/tones.sh"
one_core

tones tones 8
fixture cutter voice

cp -r tones corpus
long_tones corpus/wavs/long.wav 8000
printf 'long|low|' >>corpus/metadata.csv
for letter in a b c d e f g h i j k l; do printf 'The tone number %s. ' "$letter"; done >>corpus/metadata.csv
echo >>corpus/metadata.csv
kept=(--cut-voice voice --tokens chars --allow-rejects)

# ---- prepare ----
done_with prepare corpus --output off.pack --cut-long off --tokens chars --allow-rejects
check "without cutting the row is too long" grep -q '1 too-long' stdout
check "… and there is no folder" test ! -e off.pack.cut
done_with prepare corpus --output on.pack "${kept[@]}"
check "says what was cut" grep -Eq '^  cut        1 of 1 long rows, into [0-9]+ rows; they are in on.pack.cut$' stdout
check "nothing is too long then" not grep -q too-long stdout
pieces=$(tail -n +2 on.pack.cut/pieces.tsv | wc -l)
check "several pieces" test "$pieces" -gt 1
check "they are counted as rows" grep -q "^  rows       $((8 + pieces)): " stdout
check "a recording for each" test "$(find on.pack.cut/wavs -name '*.wav' | wc -l)" -eq "$pieces"
check "their speaker is that of the row" not grep -qv '^long-[0-9]*|low|' on.pack.cut/metadata.csv
done_with prepare corpus --output on.pack "${kept[@]}"
check "again: up to date" grep -q 'is up to date' stdout
check "the log names the pieces of before" grep -q '1 of 1 rows longer than 20 s were cut into .* before' stderr
# a folder that is made again is the same, times included
cp -r --preserve=timestamps on.pack.cut before
rm on.pack.cut/wavs/*-00001.wav
done_with prepare corpus --output on.pack "${kept[@]}"
check "a piece is missing: cut again, to the same files" diff -r before on.pack.cut
check "… and the packed corpus is still up to date" grep -q 'is up to date' stdout
# leftovers of a killed process do not matter, files of others do
mkdir -p killed.pack.cut.part/wavs
touch killed.pack.cut.part/wavs/x.wav
done_with prepare corpus --output killed.pack "${kept[@]}"
check "leftovers are removed" test ! -e killed.pack.cut.part
check "the same corpus" cmp on.pack killed.pack
mkdir other.pack.cut
touch other.pack.cut/mine
refused 2 'holds something else' 'move it away' prepare corpus --output other.pack "${kept[@]}"
check "files of others stay" test -e other.pack.cut/mine
# shorter rows are wanted: their pieces are as short
done_with prepare corpus --output short.pack "${kept[@]}" --max-seconds 6
check "no piece is longer than --max-seconds" awk -F'\t' 'NR > 1 && $4 - $3 > 6 { exit 1 }' short.pack.cut/cut.tsv
# a voice that was not asked for may be missing; one that was asked for must be there
mkdir -p away/bin
cp "$program" away/bin/myxtts # which has no voices beside it
MYXTTS_VOICES=nowhere HOME=$folder XDG_DATA_HOME=$folder program=away/bin/myxtts done_with prepare corpus --output none.pack \
    --tokens chars --allow-rejects
check "without a voice the row is too long" grep -q '1 too-long' stdout
check "… and the log says why" grep -q '1 rows are longer than 20 s and are left out: there is no voice' stderr
refused 2 nowhere '.' prepare corpus --output none.pack --cut-voice nowhere --tokens chars

# a row that cannot be cut: no pauses. It is reported, listed, and rejected as before
cp -r corpus stuck
perl -e 'my $data = pack("s<*", map { int(9000 * sin($_ * 0.09)) } 0 .. 24 * 16000 - 1);
    open(my $wav, ">:raw", "stuck/wavs/long.wav");
    print $wav pack("a4Va4a4VvvVVvva4V", "RIFF", 36 + length($data), "WAVE", "fmt ", 16, 1, 1, 16000, 32000, 2, 16, "data",
                    length($data)), $data;'
done_with prepare stuck --output stuck.pack "${kept[@]}"
check "the row is named" grep -q "'long' is too long and cannot be cut: " stderr
check "… and rejected" grep -q '1 too-long' stdout
done_with prepare stuck --output stuck.pack "${kept[@]}"
check "it is not tried again" not grep -q 'cannot be cut' stderr

# languages are kept in the list of the pieces
cp -r corpus named
{
    echo 'audio_file|text|speaker_name|language'
    sed -E 's/^([^|]*)[|]([^|]*)[|](.*)$/wavs\/\1.wav|\3|\2|English/' corpus/metadata.csv
} >named/metadata.csv
done_with prepare named --output named.pack "${kept[@]}"
check "the folder of pieces is a corpus with languages" \
    not grep -qvE '^(audio_file[|]text[|]speaker_name[|]language|wavs/.*[|]low[|]en)$' named.pack.cut/metadata.csv

# ---- decisions about rows that are cut, and about their pieces ----
# decide LINE...
decide() {
    printf '%s\n' $'id\tdecision\ttext\tnote' "$@" >decided/decisions.tsv
}
cp -r --preserve=timestamps corpus decided
decide $'long\tdrop'
done_with prepare decided --output dropped.pack "${kept[@]}"
check "a dropped row is not cut" test ! -e dropped.pack.cut
check "… but dropped" grep -q $'\tlong\tdropped\t' dropped.pack.rejects.tsv
text=$(for letter in m n o p q r s t u v w x; do printf 'The tune number %s. ' "$letter"; done)
decide $'long\tfix\t'"$text"
done_with prepare decided --output fixed.pack "${kept[@]}"
check "a fixed row is cut with its new text" not grep -q 'tone' fixed.pack.cut/pieces.tsv
check "… all of it" test "$(tail -n +2 fixed.pack.cut/pieces.tsv | grep -o 'tune' | wc -l)" -ge 6
check "… and is one row with another text" not grep -q '[02-9] with another text' stderr
decide $'long#1\tfix\t'"$(awk -F'\t' 'NR == 2 { gsub("tone", "note", $3); print $3 }' before/pieces.tsv)" $'long#2\tdrop' $'long#99\tdrop'
done_with prepare decided --output decided.pack "${kept[@]}"
check "the pieces are those of before" cmp before/pieces.tsv decided.pack.cut/pieces.tsv
check "a piece is dropped" grep -q $'\tlong#2\tdropped\t' decided.pack.rejects.tsv
check "… and counted" grep -q "^  rows       $((8 + pieces)): $((7 + pieces)) good, 1 rejected" stdout
check "another is fixed" grep -q 'decisions: 1 rows dropped, 1 with another text' stderr
check "a piece that is not there is named, and only this" grep -q "1 of 3 are about rows that the corpus does not have: 'long#99'$" stderr
check "… once" test "$(grep -c 'does not have' stderr)" -eq 1
run check decided --tokens chars
check "check, which does not cut, does not miss them" not grep -q 'does not have' stderr
packed=(train "${small[@]}" --steps 1 --set training.samples=0 --eval-every 0 --allow-rejects)
done_with "${packed[@]}" --train-data decided.pack --decisions decided/decisions.tsv --output packed
refused 2 "row 'long#1' is not fixed" 'prepare' "${packed[@]}" --train-data on.pack --decisions decided/decisions.tsv --output no
decide $'long\tdrop'
refused 2 "row 'long#1' is not dropped" 'prepare' "${packed[@]}" --train-data on.pack --decisions decided/decisions.tsv --output no
decide $'long\tfix\t'"$text"
refused 2 "row 'long#1' is not fixed" 'prepare' "${packed[@]}" --train-data on.pack --decisions decided/decisions.tsv --output no
done_with "${packed[@]}" --train-data fixed.pack --decisions decided/decisions.tsv --output packed-fixed

# ---- train ----
train=("${small[@]}" --cut-voice voice --epochs 1000 --eval-every 0 --set training.samples=0 --allow-rejects)
done_with train --train-data corpus --output whole "${train[@]}" --steps 12 --save-every 6
check "training tells what was cut" grep -Eq '1 of 1 rows longer than 20 s were cut into [0-9]+ rows of [0-9.]+ to [0-9.]+ s' stderr
check "its pieces are those of prepare" diff -r before/wavs whole/cut/wavs
done_with train --train-data corpus --output halves "${train[@]}" --steps 12 --save-every 6
rm halves/checkpoints/step-00000012.safetensors
done_with train --resume halves --quiet
check "a resumed run comes to the same weights" cmp whole/checkpoints/step-00000012.safetensors \
    halves/checkpoints/step-00000012.safetensors
# a run goes on with what it began with: cut or not
done_with train --train-data corpus --output left "${train[@]}" --steps 4 --cut-long off
check "nothing is cut" test ! -e left/cut
done_with train --resume left --steps 6 --set data.cut_long=true --quiet
check "… nor later" test ! -e left/cut
# pieces that were damaged are made again
printf 'x' >>halves/cut/pieces.tsv
rm halves/cut/wavs/*-00001.wav
run eval --checkpoint halves --data corpus --limit 1
check "eval says who makes them again" grep -q "'myxtts train --resume' of the run, makes it again" stderr
done_with train --resume halves --steps 13
check "… and so it is" diff -r before/wavs halves/cut/wavs
rm -r halves/cut
done_with train --resume halves --steps 14
check "a folder that is gone is made again" diff -r before/wavs halves/cut/wavs
# a refused run leaves nothing
refused 1 '.' '.' train --train-data corpus --output refused "${train[@]}" --steps 12 --shares 7 --share-work on
check "a refused run leaves nothing" test ! -e refused
# nor does one that is interrupted while it cuts
cp -r tones many
for i in {10..39}; do
    cp corpus/wavs/long.wav many/wavs/long-$i.wav
    sed -n "s/^long|/long-$i|/p" corpus/metadata.csv >>many/metadata.csv
done
"$program" train --quiet --train-data many --output interrupted "${train[@]}" --steps 12 2>stderr &
while [ ! -e interrupted/cut.part ] && kill -0 $! 2>/dev/null; do sleep 0.02; done
kill -TERM $!
wait $!
check "a signal ends the cutting" grep -q '^error: interrupted while' stderr
check "… and nothing is left" test ! -e interrupted
done_with train --train-data corpus --dry-run "${train[@]}"
check "a dry run tells of long rows" grep -q '1 rows are longer than 20 s: training cuts them' stderr

# ---- check ----
run check corpus --tokens chars
check "check tells of long rows" grep -q 'too long (1) can be cut at pauses' stdout

finish

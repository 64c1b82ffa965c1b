#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# myxtts corpus cut of the program given as $1, from the outside: what is refused and how, and that the folder it makes is
# a corpus. The voice is hardly trained and the speech is tones (support/tones.sh), except a minute of speech at the end, in
# which passages are missing; how exactly words are found is measured by scripts/bench/cut.sh.
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
. "$here/support/cli.sh"
# shellcheck source=tests/support/tones.sh
. "$here/support/tones.sh"
one_core

tones tones 8
fixture cutter run

long_tones long.wav 8000
for letter in a b c d e f g h i j k l; do printf 'The tone number %s.\n\n' "$letter"; done >long.txt

# ---- usage ----
refused 1 "'--text FILE' is missing" '--help' corpus cut long.wav --voice run --output out
refused 1 "'--output DIR' is missing" '--help' corpus cut long.wav --voice run --text long.txt
refused 1 "'--count' is not for 'corpus cut'" '--help' corpus cut long.wav --text long.txt --voice run --output out --count 3
refused 1 "'--text' is not for 'corpus demo'" '--help' corpus demo out --language en --count 1 --text long.txt
refused 1 "there are 'demo', 'cut' and 'transcribe'" '--help' corpus cook
refused 1 'xx' '.' corpus cut long.wav --text long.txt --voice run --output out --language xx

# an audio book has many files
refused 2 'none1.wav' '.' corpus cut none{1..100}.wav --text long.txt --voice run --output out
refused 1 'takes at most 4096 arguments' '--help' corpus cut none{1..4096}.wav --text long.txt --voice run --output out

# ---- bad input: nothing is made ----
refused 2 'nowhere.txt' '.' corpus cut long.wav --text nowhere.txt --voice run --output out
refused 2 'nowhere.wav' '.' corpus cut nowhere.wav --text long.txt --voice run --output out
refused 2 'nowhere' '.' corpus cut long.wav --text long.txt --voice nowhere --output out
refused 2 'it holds text' '.' corpus cut long.txt --text long.txt --voice run --output out
refused 2 'above/out' 'folder above' corpus cut long.wav --text long.txt --voice run --output above/out
printf 'caf\xe9 au lait' >latin.txt
refused 2 'invalid UTF-8' 'UTF-8' corpus cut long.wav --text latin.txt --voice run --output out
printf '1\n00:00:05,000 --> 00:00:03,000\nback\n' >back.srt
refused 2 'back.srt, line 2: the times of the cue run backwards' 'order' corpus cut long.wav --text back.srt --voice run --output out
: >empty.txt
refused 2 'empty' '.' corpus cut long.wav --text empty.txt --voice run --output out
check "refusals make nothing" test ! -e out
mkdir full
touch full/file
refused 2 'is not empty' 'new folder' corpus cut long.wav --text long.txt --voice run --output full
check "a folder that has files keeps them" test "$(ls full)" = file
# words that cannot be there: their times are after the end of the sound
printf '1\n01:00:05,000 --> 01:00:08,000\nThe tone number one.\n\n2\n01:01:05,000 --> 01:01:08,000\nThe tone.\n' >late.srt
refused 2 'the text does not fit the sound' 'language' corpus cut long.wav --text late.srt --voice run --output out
check "a text that does not fit makes nothing" test ! -e out
# no place to cut at
long_tones endless.wav 1000
refused 2 'no pauses' '100 ms' corpus cut endless.wav --text long.txt --voice run --output out
check "a sound without pauses makes nothing" test ! -e out

# ---- a folder that is a corpus ----
# whole DIR: its lists agree, and every row is 1 to 15 seconds long and known to 'check'
whole() {
    local rows
    rows=$(grep -vc '^audio_file|' "$1/metadata.csv")
    check "$1 has rows" test "$rows" -gt 0
    check "$1: a recording for each row" test "$(find "$1/wavs" -name '*.wav' | wc -l)" -eq "$rows"
    check "$1: a line of cut.tsv for each row" test "$(tail -n +2 "$1/cut.tsv" | wc -l)" -eq "$rows"
    check "$1: columns of cut.tsv" grep -qxF $'row\tfile\tbegin\tend\tscore' "$1/cut.tsv"
    check "$1: columns of left_out.tsv" grep -qxF $'file\tbegin\tend\treason\ttext' "$1/left_out.tsv"
    check "$1: lengths" awk -F'\t' 'NR > 1 && ($4 - $3 < 0.99 || $4 - $3 > 15.01) { exit 1 }' "$1/cut.tsv"
    rm -f "$1/rejects.tsv" "$1/suspects.tsv"
    check "$1: nothing else is left" test "$(ls -A "$1" | tr '\n' ' ')" = 'cut.tsv left_out.tsv metadata.csv wavs '
    done_with check "$1" --voice none --tokens chars # phonemes would be much slower
}
done_with corpus cut long.wav --text long.txt --voice run --output out
check "says what it made" grep -q '^out: [0-9]* rows, [0-9.]* minutes of 0.4; [0-9]* of [0-9]* words$' stdout
whole out
# the texts of the rows are parts of the text, in its order
perl -e 'local $/; open(F, "<", "long.txt"); my $all = join(" ", split(" ", <F>)); open(F, "<", "out/metadata.csv");
    for (split("\n", <F>)) { my ($id, $text) = split(/\|/); my $at = index($all, $text); exit 1 if $at < 0; $all = substr($all, $at + length($text)); }'
check "the texts of the rows are parts of the text" test $? -eq 0
mkdir mine
done_with export run --quiet --precision fp32 --output mine/base.voice.safetensors
MYXTTS_VOICES=mine done_with corpus cut long.wav --text long.txt --output again
check "the same again" diff -r -x rejects.tsv -x suspects.tsv out again

# subtitles, whose times help; an empty folder is taken
mkdir subtitled
awk '{ if ($0 == "") next; n++; t = 2 * (n - 1); printf "%d\n00:00:%02d,000 --> 00:00:%02d,500\n%s\n\n", n, t, t + 1, $0 }' \
    long.txt >long.srt
done_with corpus cut long.wav --text long.srt --voice run --output subtitled
whole subtitled
# two recordings; the second is damaged in the middle
if command -v flac >/dev/null; then
    flac -s -o long.flac long.wav
    head -c $(($(stat -c %s long.flac) * 3 / 4)) long.flac >half.flac
    cat long.txt long.txt >twice.txt
    done_with corpus cut long.wav half.flac --text twice.txt --voice run --output both
    check "names the damaged recording" grep -q 'half.flac.*what comes before is cut' stderr
    whole both
fi
# a corpus whose recordings are too long, and two that are not
mkdir -p old/wavs
cp long.wav old/wavs/long.wav
cp tones/wavs/row-00[01].wav old/wavs
printf 'long|%s\nrow-000|The tone | a.\nrow-001|The tone b.\nnone|Not there.\n' "$(tr '\n' ' ' <long.txt)" |
    sed 's/tone | a/tone a/' >old/metadata.csv
done_with corpus cut --text old --voice run --output new
check "two rows are whole" grep -q '^2 of the rows were short enough' stdout
check "a row without sound is counted" grep -q '^1 rows could not be used' stdout
check "their texts are kept" grep -q '|The tone b\.$' new/metadata.csv
whole new
# decisions beside the manifest: a row that somebody dropped is no fault
printf 'id\tdecision\ttext\nrow-000\tdrop\nrow-001\tfix\tThe tune b.\nnone\tdrop\n' >old/decisions.tsv
done_with corpus cut --text old --voice run --output newer
check "a dropped row is left out" grep -q '^1 of the rows were short enough' stdout
check "… and is no fault" not grep -q 'could not be used' stdout
check "a fixed row has its new text" grep -q '|The tune b\.$' newer/metadata.csv
whole newer

# ---- languages of the rows of a manifest ----
# a row whose language is unknown is left out, long or short; the languages of the others are kept
mkdir -p named/wavs
cp long.wav named/wavs/long.wav
cp long.wav named/wavs/strange.wav
cp tones/wavs/row-00[012].wav named/wavs
{
    echo 'audio_file|text|language'
    printf 'wavs/long.wav|%s|English\n' "$(tr '\n' ' ' <long.txt)"
    printf 'wavs/strange.wav|%s|qqq\n' "$(tr '\n' ' ' <long.txt)"
    printf 'wavs/row-000.wav|The tone a.|qqq\nwavs/row-001.wav|The tone b.|\nwavs/row-002.wav|The tone c.|es\n'
} >named/metadata.csv
done_with corpus cut --text named --voice run --output kept
check "rows of unknown languages are counted" grep -q '^2 rows could not be used' stdout
check "… and named" grep -q "strange is left out: unknown language 'qqq'" stderr
check "… and listed" test "$(grep -c "unknown language 'qqq'" kept/left_out.tsv)" -eq 2
check "a header names the columns" test "$(head -n 1 kept/metadata.csv)" = 'audio_file|text|speaker_name|language'
check "the language of rows that were cut" grep -q '^wavs/long-[0-9]*\.wav|The tone .*||en$' kept/metadata.csv
check "the language of a row that is whole" grep -q '|The tone c\.||es$' kept/metadata.csv
check "a row without a language" grep -q '|The tone b\.||$' kept/metadata.csv
whole kept
# --language is that of all rows, whatever the column says
done_with corpus cut --text named --voice run --output forced --language en
check "with --language no row is left out" not grep -q 'could not be used' stdout
check "all rows have it" test "$(tail -n +2 forced/metadata.csv | grep -vc '||en$')" -eq 0
whole forced

# ---- names of files ----
# ids are UTF-8: long names are cut between characters, other bytes are replaced
long_name=a$(printf 'ü%.0s' {1..60})
cp long.wav "$long_name.wav"
done_with corpus cut "$long_name.wav" --text long.txt --voice run --output umlauts
check "a long name is cut between characters" grep -q "^a$(printf 'ü%.0s' {1..39})-00001|" umlauts/metadata.csv
whole umlauts
latin_name=$'caf\xe9 1'
if cp long.wav "$latin_name.wav" 2>/dev/null; then
    done_with corpus cut "$latin_name.wav" --text long.txt --voice run --output latin
    check "bytes that are not UTF-8 are replaced" grep -q '^caf__1-00001|' latin/metadata.csv
    whole latin
fi

# headers that give no length: the sound decides what is short enough for a row. unsized WAV FLAC: of the number of
# samples, which is the lower half of byte 21 and bytes 22 to 25, nothing is left
unsized() {
    if command -v flac >/dev/null; then
        flac -s -o "$2" "$1"
    else
        ffmpeg -v error -nostdin -i "$1" "$2"
    fi
    perl -e 'open(F, "+<:raw", $ARGV[0]); seek(F, 21, 0); read(F, my $byte, 1); seek(F, 21, 0);
        print F chr(ord($byte) & 0xf0), "\0" x 4;' "$2"
}
if command -v flac >/dev/null || command -v ffmpeg >/dev/null; then
    mkdir -p unknown/wavs
    unsized long.wav unknown/wavs/long.flac
    unsized tones/wavs/row-001.wav unknown/wavs/row-001.flac
    printf 'long|%s\nrow-001|The tone b.\n' "$(tr '\n' ' ' <long.txt)" >unknown/metadata.csv
    done_with corpus cut --text unknown --voice run --output decided
    check "of two recordings of unknown length the short one is whole" grep -q '^1 of the rows were short enough' stdout
    check "… and the long one is cut" test "$(grep -c '^long-' decided/metadata.csv)" -gt 1
    whole decided
fi

# UTF-16 is text like any other
iconv -f UTF-8 -t UTF-16 long.txt >wide.txt
done_with corpus cut long.wav --text wide.txt --voice run --output wide
check "UTF-16 gives the same rows" diff out/metadata.csv wide/metadata.csv

# ---- speech and text differ ----
# A minute, from which the speaker is learned, of ten sentences; the text has another one in the place of the fourth, and
# lacks the seventh.
cat >said.txt <<'END'
The harbour was quiet in the early morning, and a small boat came back with a basket of silver fish.

Two children waited at the wall while their father tied the rope around a heavy iron ring.

In the village behind the hill, an old woman opened her shop and put fresh bread into the window.

Nobody had ever painted the lighthouse with so much yellow colour before that windy Sunday in April.

The doctor drove slowly along the coast road, because the rain of last night had washed stones onto it.

A letter from the north had arrived for the teacher, but she wanted to read it alone in the evening.

Under the bridge some boys were building a raft from empty barrels and pieces of a broken fence.

When the church bell rang at noon, the whole street smelled of onions, butter and roasted meat.

Later the clouds opened above the islands, and the sailors decided to leave before the tide turned.

Only the black dog of the baker stayed on the pier and looked at the horizon until it was dark.
END
other='A carpenter sold seven wooden chairs to his neighbours after a short and friendly talk about the weather.'
sed "s/^Nobody had.*/$other/; /^Under the bridge/d" said.txt >read.txt
base=$here/../voices/base.voice.safetensors
run synth --checkpoint "$base" --text-file said.txt --output said.wav
if grep -q 'built without espeak-ng' stderr; then
    echo 'not tested: speech that differs from its text, because this program was built without espeak-ng'
else
    check "a minute is spoken" test "$code" -eq 0
    done_with corpus cut said.wav --text read.txt --voice "$base" --output differ
    check "what nobody says is listed" grep -q $'\tmissing in the sound\t'"$other\$" differ/left_out.tsv
    check "so is what the text lacks, twice" \
        test "$(awk -F '\t' '$4 == "not in the text" && $3 - $2 > 3' differ/left_out.tsv | wc -l)" -eq 2
    check "all else is in rows, each sentence whole" test "$(while read -r line; do
        if [ -n "$line" ] && grep -qF "$line" differ/metadata.csv; then echo "$line"; fi
    done <read.txt | wc -l)" -eq 8
fi

finish

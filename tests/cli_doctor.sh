#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# What myxtts check, the program given as $1, says about rows that may spoil a voice: the report, suspects.tsv, JSON and the
# page, with and without a voice, and what is refused. The speech is syllables of nothing and the
# voice hardly trained: whether faults are found is tested next to the code that finds them.
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
. "$here/support/cli.sh"
# shellcheck source=tests/support/tones.sh
. "$here/support/tones.sh"
one_core

# json FILE CODE: the value of a Perl expression about the report $r is true.
json() {
    perl -MJSON::PP -e 'local $/; open(my $f, "<:raw", shift) or die; my $r = decode_json(<$f>); my $code = shift;
        my $ok = eval $code; die $@ if $@; exit !$ok' "$@"
}

# syllables DIR ROWS: rows of 3 s that are as little alike as speech: syllables of some length, pitch and colour, with pauses.
syllables() {
    mkdir -p "$1/wavs"
    perl -e '
        my ($dir, $rows) = @ARGV;
        my $seed = 7;
        sub draw { $seed = ($seed * 1103515245 + 12345) % 2147483648; return $_[0] + ($_[1] - $_[0]) * $seed / 2147483648 }
        open(my $list, ">", "$dir/metadata.csv");
        for my $row (0 .. $rows - 1) {
            my ($id, $low, @samples) = (sprintf("row-%03d", $row), $row % 2, (0) x 1600);
            while (@samples < 46000) {
                my ($count, $step, $first, $second) = (int(draw(1500, 4500)), draw(0.04, 0.05) * ($low ? 1 : 1.7), draw(1, 4), draw(5, 9));
                for my $i (0 .. $count - 1) {
                    my $sum = 0;
                    $sum += sin($i * $step * $_) * (exp(-abs($_ - $first)) + 0.5 * exp(-abs($_ - $second))) for 1 .. 9;
                    push @samples, 4000 * $sum * sin(3.14159 * $i / $count);
                }
                push @samples, (0) x draw(300, 2500);
            }
            my $data = pack("s<*", map { int($_ + draw(-6, 6)) } @samples[0 .. 47999]);
            open(my $wav, ">:raw", "$dir/wavs/$id.wav");
            print $wav pack("a4Va4a4VvvVVvva4V", "RIFF", 36 + length($data), "WAVE", "fmt ", 16, 1, 1, 16000, 32000, 2, 16,
                            "data", length($data)), $data;
            printf $list "%s|%s|The tone number %s is long.\n", $id, $low ? "low" : "high", chr(97 + $row);
        }' "$1" "$2"
}

syllables corpus 12
cp corpus/wavs/row-004.wav corpus/wavs/row-010.wav # of the same speaker, with another text
sed -i 's|^row-010.*|row-010\|high\|The <img> </script>.|' corpus/metadata.csv
plain=(check corpus --tokens chars --voice none)

# ---- without a voice ----
done_with "${plain[@]}"
check "it says that no voice was asked" grep -q 'No voice was asked' stdout
check "it counts suspects" grep -q '^Suspect rows: [1-9]' stdout
check "by kind" grep -Eq '^ +2  same-sound$' stdout
check "it names the worst in words" grep -q '^  row-010: .*the same sound as row row-004' stdout
check "it says where all are listed" grep -q 'listed in corpus/suspects.tsv' stdout
check "it sums up the sound" grep -q 'dB above the background' stdout
check "it sums up the sounds of the language" grep -q '^Sounds of English: ' stdout
check "it has ten sentences to record" test "$(sed -n '/^Sentences to record/,/^$/p' stdout | grep -c '^  ')" -eq 10
check "the list has its columns" test "$(head -1 corpus/suspects.tsv)" = \
    $'manifest\tline\tid\tspeaker\tkind\tbadness\tvalue\tlimit\tfile\tdetail'
check "each line has ten fields" test -z "$(awk -F'\t' 'NF != 10' corpus/suspects.tsv)"
check "a finding is listed" grep -q $'\trow-010\thigh\tsame-sound\t' corpus/suspects.tsv
check "the worst row comes first" bash -c 'cmp <(tail -n +2 "$1" | awk -F"\t" "!seen[\$3]++ { print \$6 }" | sort -gr) \
    <(tail -n +2 "$1" | awk -F"\t" "!seen[\$3]++ { print \$6 }")' - corpus/suspects.tsv
done_with "${plain[@]}" --record 0 --suspects elsewhere.tsv
check "no sentences" bash -c '! grep -q "^Sentences" stdout'
check "the list is written elsewhere" cmp corpus/suspects.tsv elsewhere.tsv
mkdir lists
done_with "${plain[@]}" --record 0 --rejects lists/r.tsv
check "the list is beside that of rejected rows" cmp corpus/suspects.tsv lists/suspects.tsv

# ---- JSON ----
done_with "${plain[@]}" --json --record 3
mv stdout report.json
check "JSON: nobody judged" json report.json '!defined $r->{voice} && $r->{voice_reason} eq "not-asked" && $r->{scored} == 0'
check "JSON: suspects" json report.json '$r->{suspects} == @{$r->{suspect_rows}} && $r->{suspects} >= 2 &&
    $r->{suspects_file} eq "corpus/suspects.tsv" && $r->{findings}{"same-sound"} == 2 && $r->{findings}{hum} >= 0'
check "JSON: a suspect" json report.json 'my ($s) = grep { $_->{id} eq "row-010" } @{$r->{suspect_rows}};
    my ($f) = grep { $_->{kind} eq "same-sound" } @{$s->{findings}};
    $s->{line} == 11 && $s->{speaker} eq "high" && $s->{badness} >= 1 && $f->{text} eq "row-004" && $f->{words} =~ /same sound/'
check "JSON: the sound" json report.json '$r->{sound}{rows} == 12 && $r->{sound}{level_db} < 0 && exists $r->{sound}{bandwidth_hz}'
check "JSON: every row" json report.json '@{$r->{utterances}} == 12 && $r->{utterances}[3]{level_db} < 0 &&
    !exists $r->{utterances}[3]{score} && $r->{utterances}[3]{decision} eq ""'
check "JSON: sounds and sentences" json report.json '$r->{coverage}[0]{language} eq "en" &&
    $r->{coverage}[0]{sounds}{missing} == grep({ $_->{supply} eq "missing" } @{$r->{coverage}[0]{sounds}{list}}) &&
    @{$r->{record}} == 3 && $r->{record}[0]{text} ne "" && @{$r->{record}[0]{gains}} > 0'
printf 'A zebra jumps quickly.\nThe lazy dog sleeps.\n' >more.txt
done_with "${plain[@]}" --json --text more.txt
check "JSON: sentences of a text" json stdout '$r->{coverage}[0]{reference_sentences} > 1000'

printf 'The dog sleeps.\nСобака спит.\n' >mixed.txt
run "${plain[@]}" --text mixed.txt
check "sentences that are not used are counted" grep -q 'mixed.txt: sentences in no language .*: 1$' stderr

# ---- the page ----
done_with "${plain[@]}" --html page.html
check "it names the page" grep -q 'open page.html in a browser' stdout
check "the page is in English" grep -q '<html lang="en" dir="ltr">' page.html
check "no text becomes markup" test "$(grep -c '<img' page.html)" -eq 0
check "data and script end once" test "$(grep -o '</script>' page.html | wc -l)" -eq 2
done_with "${plain[@]}" --html page.fa.html --html-language fa
check "the page is in Persian" grep -q '<html lang="fa" dir="rtl">' page.fa.html

# ---- decisions ----
printf 'id\tdecision\ttext\tnote\nrow-010\tkeep\t\t\nrow-001\tdrop\t\tloud\n' >corpus/decisions.tsv
done_with "${plain[@]}" --json --html page.html
check "a kept row is no suspect" json stdout '!grep { $_->{id} eq "row-010" } @{$r->{suspect_rows}}'
check "decisions are on the page" grep -q '"decisions":\[{"id":"row-010","decision":"keep"' page.html
rm corpus/decisions.tsv

# ---- with a voice ----
done_with train --quiet --train-data corpus --output run "${small[@]}" --steps 2 --eval-every 0 --set training.samples=0
voiced=(check corpus --tokens chars --voice run --record 0)
done_with "${voiced[@]}" --json --workers 1 --html page.html
mv stdout one.json
check "JSON: the voice" json one.json '$r->{voice} =~ /run/ && $r->{voice_reason} eq "judged" && $r->{scored} >= 11'
check "JSON: scores" json one.json 'grep(exists $_->{score}, @{$r->{utterances}}) == $r->{scored}'
check "JSON: words of a suspect" json one.json 'my ($s) = grep { exists $_->{words} } @{$r->{suspect_rows}};
    $s->{words}[0]{text} eq "The" && $s->{words}[0]{until} <= 3 && exists $s->{words}[0]{heard}'
check "words are on the page" grep -q '"words":\[\["The",' page.html
done_with "${voiced[@]}" --json --workers 2
check "the report does not depend on the number of workers" cmp stdout one.json
done_with "${voiced[@]}"
check "it says which voice judged" grep -q 'The voice .*run.* judged' stdout

# A program without voices, for which nothing is installed.
if [ ! -e /usr/share/myxtts/voices ]; then
    mkdir bin home && cp "$program" bin/myxtts
    env -u MYXTTS_VOICES -u XDG_DATA_HOME HOME="$folder/home" bin/myxtts check corpus --tokens chars --record 0 >stdout 2>stderr
    check "without an installed voice" test $? -eq 0
    check "it says why nobody judged" grep -q 'no base voice is installed' stdout
fi

# ---- what is refused ----
refused 2 'nowhere' 'myxtts voices' check corpus --tokens chars --voice nowhere
refused 2 'cannot write missing/page.html' 'folder that exists' "${plain[@]}" --html missing/page.html
refused 1 "'corpus' is not a file" 'report.html' "${plain[@]}" --html corpus
refused 2 'missing.txt' 'path' "${plain[@]}" --text missing.txt
printf 'caf\xe9\n' >latin.txt
refused 2 'latin.txt: invalid UTF-8' 'UTF-8' "${plain[@]}" --text latin.txt
check "before the rows are read" test ! -s stdout
refused 1 '--record' '.' "${plain[@]}" --record -1
refused 1 '--html-language' '.' "${plain[@]}" --html-language de
run "${plain[@]}" --suspects missing/suspects.tsv
check "a list that cannot be written" test "$code" -ne 0
check "is said" grep -q 'missing/suspects.tsv' stderr
check "after the report" grep -q '^Suspect rows' stdout

finish

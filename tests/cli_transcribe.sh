#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# myxtts corpus transcribe, with the program given as $1: recognisers that are started for each file or once, that fail,
# say nothing or differ; going on after an interrupt; decisions of people; and bad input. The recognisers are scripts here,
# and no voice judges, so that libespeak-ng is not needed.
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
. "$here/support/cli.sh"
# shellcheck source=tests/support/tones.sh
. "$here/support/tones.sh"
one_core

# sounds DIR COUNT: recordings without texts
sounds() {
    rm -rf "$1" && tones "$1" "$2" && rm "$1/metadata.csv"
}
transcribe() {
    done_with corpus transcribe "$1" --language en --voice none "${@:2}"
}
# rows FILE: its lines without the header
rows() {
    tail -n +2 "$1" | wc -l
}

# What is said in a file, by its name; calls are counted.
cat >each <<'END'
#!/bin/sh
echo "$1" >>calls
printf '  Tone\nnumber %s. ' "$(basename "$1" .wav | tr -dc 0-9)"
END
cat >once <<'END'
#!/bin/sh
echo start >>starts
while read -r path; do echo "Tone number $(basename "$path" .wav | tr -dc 0-9)"; done
END
chmod +x each once

# ---- one call for each file ----
sounds a 6
mkdir 'a/wavs/with blank' && mv a/wavs/row-003.wav "a/wavs/with blank/it's \$3.wav"
transcribe a --recogniser './each {}' --workers 2
check "all rows" grep -q '^a: 6 rows from 6 files; 0\.. minutes are used$' stdout
check "says that no voice judged" grep -q 'No voice was asked' stdout
check "each file once" test "$(wc -l <calls)" -eq 6
check "the manifest" grep -qx 'wavs/row-002.wav|Tone number 002.' a/metadata.csv
check "a path with blanks and quotes" grep -qxF "wavs/with blank/it's \$3.wav|Tone number 3." a/metadata.csv
check "nothing is suspect, so nothing is decided" test ! -e a/decisions.tsv
check "the trial manifest is gone" test ! -e a/.transcribe.csv
done_with check a --tokens chars
check "a corpus" grep -q '6: 6 good, 0 rejected' stdout
transcribe a --recogniser './each {}'
check "known files are not recognised again" test "$(wc -l <calls)" -eq 6
check "and said" grep -q '^6 files had been recognised before$' stdout
touch -d '2020-01-01' a/wavs/row-001.wav
transcribe a --recogniser './each {}'
check "a file that has changed is" test "$(wc -l <calls)" -eq 7
refused 2 'was made with other recognisers' "give the commands './each {}' to continue" \
    corpus transcribe a --recogniser ./once --voice none

# ---- a program that keeps running ----
sounds b 6
transcribe b --recogniser ./once --workers 1
check "started once" test "$(cat starts)" = start
check "all rows" test "$(rows b/metadata.csv)" -eq 6
check "the manifest" grep -qx 'wavs/row-005.wav|Tone number 005' b/metadata.csv

# ---- two that differ ----
sounds c 6
transcribe c --recogniser './each {}' --second 'case {} in *4.wav) echo Tone number something else;; *) ./each {};; esac'
check "the other text is dropped" grep -qx \
    $'wavs/row-004\tdrop\t\ttranscribe: the recognisers differ in 60 % of the words' c/decisions.tsv
check "only that" test "$(rows c/decisions.tsv)" -eq 1
check "and counted" grep -q '^1 rows are dropped because the recognisers differ in more than 20 %' stdout
check "the table has both" grep -q $'row-004.*number 004.\tTone number something else\t0.6000\t-\tthe recognisers differ' \
    c/transcripts.tsv
done_with check c --tokens chars
check "check drops it" grep -q '6: 5 good, 1 rejected' stdout
printf '%s\n' $'wavs/row-000\tdrop\t\tcoughs' >>c/decisions.tsv
sed -i 's/^wavs.row-004.*/wavs\/row-004\tkeep\t\theard it/' c/decisions.tsv
transcribe c --recogniser './each {}' --second 'case {} in *4.wav) echo Tone number something else;; *) ./each {};; esac'
check "decisions of people stay" test "$(sort c/decisions.tsv | tail -n 2)" = \
    $'wavs/row-000\tdrop\t\tcoughs\nwavs/row-004\tkeep\t\theard it'
check "and are counted" grep -q '^2 rows are as people decided$' stdout
transcribe c --recogniser './each {}' --second 'case {} in *4.wav) echo Tone number something else;; *) ./each {};; esac' \
    --difference 70
check "a wider limit" test "$(grep -c 'differ in more' stdout)" -eq 0

# ---- files that fail, and files in which nothing is recognised ----
sounds d 6
transcribe d --workers 1 \
    --recogniser 'case {} in *3.wav) echo out of luck >&2; exit 3;; *4.wav) ;; *) ./each {};; esac'
check "a failure is named" grep -q "row-003.wav': the recogniser failed (exit code 3) and said 'out of luck'" stderr
check "and counted" grep -q '^1 files failed; the same command tries them again$' stdout
check "so is silence" grep -q '^1 files have no text' stdout
check "neither is a row" test "$(rows d/metadata.csv)" -eq 4
: >calls
transcribe d --recogniser 'case {} in *3.wav) echo out of luck >&2; exit 3;; *4.wav) ;; *) ./each {};; esac'
check "only what failed is tried again" test ! -s calls
sounds e 6
refused 2 "the recogniser failed (exit code 127)" 'by hand' corpus transcribe e --recogniser './nowhere {}' --workers 1 \
    --voice none
check "after three files" test "$(grep -c failed e/transcripts.tsv)" -eq 2
check "no manifest is left" test ! -e e/metadata.csv
refused 2 'nothing was recognised in any of 6 files' 'by hand' corpus transcribe e --recogniser 'true {}' --voice none
rm e/transcripts.tsv
refused 2 'ended without a line' 'write {}' corpus transcribe e --recogniser true --voice none --workers 1
refused 2 'is not UTF-8' 'LC_ALL' corpus transcribe e --recogniser "printf '\\377' {}" --voice none --workers 1
refused 3 'did not finish within 1.0 s' 'by hand' corpus transcribe e --recogniser 'sleep 100; : {}' --limit 1 --voice none

# ---- going on after an interrupt ----
sounds f 6
: >calls
"$program" corpus transcribe f --voice none --workers 1 \
    --recogniser './each {}; test $(wc -l <calls) -lt 3 || exec sleep 1000' >stdout 2>stderr &
child=$!
until [ "$(wc -l <calls)" -ge 3 ]; do sleep 0.05; done
kill -TERM "$child"
wait "$child"
check "an interrupted one ends with 4" test $? -eq 4
check "what was recognised is kept" test "$(grep -c $'\tgood\t' f/transcripts.tsv)" -eq 2
printf 'wavs/row-005.wav\t1' >>f/transcripts.tsv # a line that was cut short
sed -i '1s/.*/# first: .\/each {}/' f/transcripts.tsv
transcribe f --recogniser './each {}'
check "the others follow" grep -q '^2 files had been recognised before$' stdout
check "all rows" test "$(rows f/metadata.csv)" -eq 6

# ---- speakers ----
sounds g 4
mkdir g/anna g/ben && mv g/wavs/row-00[01].wav g/anna && mv g/wavs/row-00[23].wav g/ben
transcribe g --recogniser './each {}' --speaker-folders
check "speakers" grep -qx 'ben/row-002.wav|Tone number 002.|ben' g/metadata.csv
cp g/anna/row-000.wav g/
refused 2 "is in no folder that names its speaker" 'speaker-folders' corpus transcribe g --recogniser './each {}' \
    --speaker-folders --voice none

# ---- bad input ----
tones h 2
refused 2 'there is a manifest already' 'move it away' corpus transcribe h --recogniser './each {}' --voice none
sounds h 2
printf 'something\n' >h/transcripts.tsv
refused 2 'it is not a table of transcripts' 'repair or remove' corpus transcribe h --recogniser './each {}' --voice none
refused 1 "'--recogniser COMMAND' is missing" 'name a program' corpus transcribe h
rm h/transcripts.tsv
refused 1 'the command of the recogniser is empty' 'name a program' corpus transcribe h --recogniser ' ' --voice none
refused 1 "needs a second recogniser" "second" corpus transcribe h --recogniser './each {}' --difference 5
refused 1 'name the folder' 'corpus --help' corpus transcribe --recogniser './each {}'
refused 1 "'--count' is not for 'corpus transcribe'" 'corpus --help' corpus transcribe h --recogniser x --count 3
refused 1 "'--recogniser' is not for 'corpus cut'" 'corpus --help' corpus cut h --recogniser x
refused 2 'nowhere' '.' corpus transcribe nowhere --recogniser './each {}'
finish

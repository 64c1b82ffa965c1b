#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# myxtts check, the program given as $1: every kind of bad input must be reported with its reason and its line, with the
# right exit code. Recordings are square waves, made here. Symbols are characters but in one case, so that the script
# does not depend on espeak-ng.
. "$(dirname "${BASH_SOURCE[0]}")/support/cli.sh"
export LC_ALL=C

# run ARGUMENTS...: as the harness's, of this one command; the doctor's voice has a test of its own (cli_doctor.sh).
run() {
    "$program" check --voice none "$@" >"$folder/stdout" 2>"$folder/stderr" </dev/null
    code=$?
}

# bad EXIT-CODE "words of the error" "words of the hint" ARGUMENTS...
bad() {
    local wanted=$1 words=$2 hint=$3
    shift 3
    run "$@"
    check "$*: exit code $code instead of $wanted" test "$code" -eq "$wanted"
    check "$*: says '$words'" grep -q -- "^error: .*$words" "$folder/stderr"
    check "$*: hints '$hint'" grep -q -- "^  hint: .*$hint" "$folder/stderr"
}

says() {
    check "says '$1'" grep -qF -- "$1" "$folder/stdout"
}

# ---- recordings ----

le16() { printf "\\x$(printf %02x $(($1 & 255)))\\x$(printf %02x $(($1 >> 8 & 255)))"; }
le32() { le16 $(($1 & 65535)) && le16 $(($1 >> 16 & 65535)); }
# times N TEXT: TEXT, with its escapes, N times.
times() {
    local i
    for ((i = 0; i < $1; i++)); do printf '%b' "$2"; done
}

# header RATE DATA-BYTES [FORMAT BITS]: of a mono WAV file.
header() {
    local format=${3:-1} bits=${4:-16}
    printf 'RIFF' && le32 $((36 + $2)) && printf 'WAVEfmt ' && le32 16 && le16 "$format" && le16 1 && le32 "$1" &&
        le32 $(($1 * bits / 8)) && le16 $((bits / 8)) && le16 "$bits" && printf 'data' && le32 "$2"
}

# Periods of 100 samples: at 22,050 Hz 441 of them are 2 s of 220 Hz.
period=$folder/period
{ times 50 '\x00\x20' && times 50 '\x00\xe0'; } >"$period"
for ((i = 0; i < 441; i++)); do cat "$period"; done >"$folder/tone"
{ header 22050 88200 && cat "$folder/tone"; } >"$folder/good.wav"
loud=$folder/loud
{ times 50 '\xff\x7f' && times 50 '\x00\x80'; } >"$loud"

sentence='This is a sentence of a few words.'

# corpus NAME [ROWS]: a folder with good rows 001, 002 …
corpus() {
    local i
    rm -rf "${folder:?}/$1"
    mkdir -p "$folder/$1/wavs"
    for ((i = 1; i <= ${2:-20}; i++)); do
        printf '%03d|%s\n' "$i" "$sentence"
        ln "$folder/good.wav" "$folder/$1/wavs/$(printf %03d "$i").wav"
    done >"$folder/$1/metadata.csv"
}

# ---- a good corpus ----

corpus good
run "$folder/good" --tokens chars
check "a good corpus: exit code 0" test "$code" -eq 0
says '20: 20 good, 0 rejected'
says 'ljspeech (id|text)'
says '19 rows for training, 1 for validation'
says 'English 20'
says 'Speakers: 1'
says "'t' (U+0074) 40"
check "the format is named in the log" grep -q 'format ljspeech' "$folder/stderr"
check "rejects.tsv is there, with its header only" test "$(cat "$folder/good/rejects.tsv")" = \
    "$(printf 'manifest\tline\tid\treason\tfile\tdetail')"
cp "$folder/stdout" "$folder/first"
run "$folder/good" --tokens chars --workers 2
check "the same report again" cmp "$folder/first" "$folder/stdout"
run "$folder/good/metadata.csv" --tokens chars --language en --format ljspeech
check "the file instead of the folder" test "$code" -eq 0
run "$folder/good" --tokens chars --json
check "JSON: exit code 0" test "$code" -eq 0
check "JSON begins and ends as an object" test "$(head -c 1 "$folder/stdout")$(tail -c 2 "$folder/stdout" | head -c 1)" = '{}'
check "JSON: rows" grep -q '"good":[[:space:]]*20,' "$folder/stdout"
run "$folder/good"
if grep -q 'built without espeak-ng' "$folder/stderr"; then
    check "without espeak-ng: exit code 3" test "$code" -eq 3
else
    check "phonemes: exit code 0" test "$code" -eq 0
    says 'U+02C8'
fi

# a BOM and CRLF
{ printf '\xef\xbb\xbf' && sed 's/$/\r/' "$folder/good/metadata.csv"; } >"$folder/bom" && mv "$folder/bom" "$folder/good/metadata.csv"
run "$folder/good" --tokens chars
check "a BOM and CRLF: exit code 0" test "$code" -eq 0
says '20: 20 good, 0 rejected'

# ---- one bad row among 20 good ones: reported, and still good enough ----

# one REASON "words of the detail": row 021 of the corpus `one` must be rejected.
one() {
    run "$folder/one" --tokens chars
    check "$1: exit code $code instead of 0" test "$code" -eq 0
    says '21: 20 good, 1 rejected (4.8 %)'
    check "$1: rejects.tsv has it: $(tail -n 1 "$folder/one/rejects.tsv")" \
        grep -qE "metadata.csv	21	[^	]*	$1	.*$2" "$folder/one/rejects.tsv"
    check "$1: one line in rejects.tsv" test "$(wc -l <"$folder/one/rejects.tsv")" -eq 2
    check "$1: named with its line on standard error" grep -q "^warning: .*metadata.csv:21: $1" "$folder/stderr"
}
# row TEXT: a row with this text, and the recording from standard input
row() {
    corpus one
    printf '021|%s\n' "$1" >>"$folder/one/metadata.csv"
    cat >"$folder/one/wavs/021.wav"
}

row "$sentence" </dev/null
one unreadable 'empty'
printf 'These are words.\n' | row "$sentence"
one unreadable 'text, not audio'
{ header 22050 4000000 && cat "$folder/tone"; } | row "$sentence"
one lying-header 'promises 90.70 s of audio, the file holds 2.00 s'
{ header 22050 2000 && cat "$folder/tone"; } | row "$sentence"
one lying-header 'more follow'
{ header 0 88200 && cat "$folder/tone"; } | row "$sentence"
one absurd-rate ' 0 Hz'
{ header 1000000 88200 && cat "$folder/tone"; } | row "$sentence"
one absurd-rate '1000000 Hz'
{ header 22050 60400 3 32 && times 100 '\0\0\x80\x3e' && printf '\0\0\xc0\x7f' && times 99 '\0\0\x80\xbe' &&
    head -c 59600 "$folder/tone"; } | row "$sentence"
one not-finite 'not a number'
{ header 22050 4000 && head -c 4000 "$folder/tone"; } | row 'A word.'
one too-short '0.09 s'
{ header 22050 88200 && head -c 88200 /dev/zero; } | row "$sentence"
one silent 'equal'
{ header 22050 88200 && for ((i = 0; i < 441; i++)); do cat "$loud"; done; } | row "$sentence"
one clipped '100.00 %'
{ header 22050 476280000 && cat "$folder/tone"; } >"$folder/hours.wav"
truncate -s 476280044 "$folder/hours.wav" # 3 hours, most of them a hole
row "$sentence" </dev/null
mv "$folder/hours.wav" "$folder/one/wavs/021.wav"
one too-long '10800.0 s; at most 20 s'
row 'So' <"$folder/good.wav"
one speaking-rate '1.0 a second'
row "$sentence $sentence $sentence $sentence" <"$folder/good.wav"
one speaking-rate 'sounds in 2.00 s'
row 'I like 字 a lot.' <"$folder/good.wav"
one unknown-symbol "'字' .U.5B57"
row '字字字字字字' <"$folder/good.wav"
one unknown-language ''
row '...' <"$folder/good.wav"
one empty-text 'nothing'
row '' <"$folder/good.wav"
one empty-text 'empty'
row "$(printf 'caf\xe9 au lait')" <"$folder/good.wav"
one invalid-utf8 'byte 8 of the line, 0xE9'
row "$sentence|And more." <"$folder/good.wav"
one bad-line "stray '|'"
corpus one
printf '021|%s\n' "$sentence" >>"$folder/one/metadata.csv"
one missing-file "'021'"
corpus one
printf '003|%s\n' "$sentence" >>"$folder/one/metadata.csv"
one duplicate-id 'line 3 has the same id'
row 'He said "so and left.' <"$folder/good.wav"
run "$folder/one" --tokens chars
check "a stray quote: the row is kept" test "$code" -eq 0
says '21: 21 good, 0 rejected'
check "a stray quote is reported with its line" grep -q "^warning: .*metadata.csv:21: 021: a stray '\"'" "$folder/stderr"

# ---- too many rejected rows ----

corpus many 3
for ((i = 1; i <= 100; i++)); do echo "broken line $i"; done >>"$folder/many/metadata.csv"
bad 2 '100 of 103 rows are rejected' 'allow-rejects' "$folder/many" --tokens chars
check "100 broken lines: all in rejects.tsv" test "$(grep -c 'bad-line' "$folder/many/rejects.tsv")" -eq 100
check "100 broken lines: each with its line" test "$(cut -f 2 "$folder/many/rejects.tsv" | sed 1d | sort -n | uniq | head -n 1)" -eq 4
says '100  bad-line'
run "$folder/many" --tokens chars --allow-rejects
check "--allow-rejects: exit code 0" test "$code" -eq 0
run "$folder/good" --tokens chars --min-seconds 3 --allow-rejects
check "no row is left: exit code 2 all the same" test "$code" -eq 2
check "no row is left: says so" grep -q 'error: none of the 20 rows can be used' "$folder/stderr"
run "$folder/good" --tokens chars --max-seconds 1.5
check "--max-seconds: exit code 2" test "$code" -eq 2
says '20  too-long'
run "$folder/good" --tokens chars --rejects "$folder/elsewhere.tsv" --max-seconds 1.5
check "--rejects FILE" test "$(grep -c too-long "$folder/elsewhere.tsv")" -eq 20
printf '{"format":"myxtts-vocabulary","version":1,"mode":"chars","cleaner":1,"languages":["en"],"symbols":["a"]}' \
    >"$folder/vocabulary.json"
run "$folder/good" --tokens chars --vocabulary "$folder/vocabulary.json" --rejects "$folder/elsewhere.tsv"
check "--vocabulary: exit code 2" test "$code" -eq 2
check "--vocabulary: names the symbol" grep -q "'t' (U+0074) is not in the vocabulary" "$folder/elsewhere.tsv"

# ---- no corpus at all ----

mkdir "$folder/bare" "$folder/empty"
: >"$folder/empty/metadata.csv"
bad 2 'there is no manifest in the folder' 'metadata.csv' "$folder/bare"
bad 2 "there is no folder or file '$folder/none'" 'path' "$folder/none"
bad 2 'is empty' 'id|text' "$folder/empty"
head -c 5000 /dev/urandom | tr -d '|' >"$folder/empty/metadata.csv"
bad 2 'none of its lines has columns' 'id|text' "$folder/empty"
printf '\xff\xfea\0|\0b\0\n\0' >"$folder/empty/metadata.csv"
bad 2 'UTF-16' 'UTF-8' "$folder/empty"

# ---- a signal while the manifest is read: it lists 300,000 recordings that are looked for in many places ----

# caught PROCESS: has SIGTERM a handler there?
caught() {
    local mask
    mask=$(sed -n 's/^SigCgt:[[:space:]]*//p' "/proc/$1/status" 2>/dev/null)
    [ -n "$mask" ] && [ $((16#${mask: -4} >> 14 & 1)) -eq 1 ]
}
for signal in TERM INT; do
    mkdir "$folder/long"
    seq -f '%.0f|A sentence.' 300000 >"$folder/long/metadata.csv"
    env --default-signal=INT "$program" check --voice none --tokens chars "$folder/long" >"$folder/stdout" 2>"$folder/stderr" </dev/null &
    child=$!
    while kill -0 $child 2>/dev/null && ! caught $child; do sleep 0.01; done
    kill -$signal $child
    wait $child
    check "$signal while the manifest is read: exit code" test $? -eq 4
    check "$signal: says so" grep -q "^error: interrupted while .*long/metadata.csv.* was read" "$folder/stderr"
    check "$signal: a hint" grep -q '^  hint: start the command again' "$folder/stderr"
    check "$signal: nothing is written" test "$(ls "$folder/long")" = metadata.csv
    rm -r "$folder/long"
done

# ---- wrong usage ----

bad 1 'name the corpus folder' 'help'
bad 1 'which is not a number' 'seconds' "$folder/good" --min-seconds short
bad 1 'is not below the maximum' 'minimum' "$folder/good" --min-seconds 30
bad 1 'must be from' 'range' "$folder/good" --max-seconds 99999
bad 1 "'xx'" 'en' "$folder/good" --language xx
bad 1 'format' 'filelist' "$folder/good" --format xml
bad 1 'tokens' 'chars' "$folder/good" --tokens words
bad 2 "there is no file '$folder/none.json'" 'path' "$folder/good" --vocabulary "$folder/none.json"
bad 1 'is a vocabulary of chars, not of phonemes' 'tokens' "$folder/good" --vocabulary "$folder/vocabulary.json"

# ---- no permission ----

rm -f "$folder/good/rejects.tsv"
mkdir "$folder/good/rejects.tsv"
bad 2 'is not an ordinary file' 'rejects FILE' "$folder/good" --tokens chars
says '20: 20 good'
rmdir "$folder/good/rejects.tsv"
bad 2 'cannot create' 'folder' "$folder/good" --tokens chars --rejects "$folder/none/rejects.tsv"
# Root may write everywhere, so then it is done as nobody, if nobody can run the program.
as=()
if [ "$(id -u)" -eq 0 ]; then as=(setpriv --reuid=65534 --regid=65534 --clear-groups --); fi
corpus closed
chmod 755 "$folder" "$folder/closed" "$folder/closed/wavs"
if "${as[@]}" "$program" --version >/dev/null 2>&1; then
    cp "$folder/good.wav" "$folder/closed/wavs/021.wav"
    printf '021|%s\n' "$sentence" >>"$folder/closed/metadata.csv"
    chmod 000 "$folder/closed/wavs/021.wav"
    chmod 555 "$folder/closed"
    "${as[@]}" "$program" check "$folder/closed" --tokens chars >"$folder/stdout" 2>"$folder/stderr"
    code=$?
    check "no permission to write: exit code 2" test "$code" -eq 2
    check "no permission to write: says so" grep -q '^error: cannot create .*rejects.tsv.*Permission denied' "$folder/stderr"
    says '21: 20 good, 1 rejected'
    check "no permission to read a recording" grep -q 'unreadable, 021: cannot open it: Permission denied' "$folder/stderr"
    chmod 755 "$folder/closed"
    chmod 000 "$folder/closed/metadata.csv"
    "${as[@]}" "$program" check "$folder/closed" --tokens chars >"$folder/stdout" 2>"$folder/stderr"
    check "no permission to read the manifest: exit code 2" test $? -eq 2
fi

finish

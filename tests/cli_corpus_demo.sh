#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# myxtts corpus demo, with the program given as $1: whole corpora of both languages, going on after an early end, and
# every refusal. Programs that fail, hang or lie stand in for the teacher where needed; the cases that need the real
# flite and espeak-ng are skipped, and say so, where those are not installed.
. "$(dirname "${BASH_SOURCE[0]}")/support/cli.sh"
one_core
teachers=$PATH

# run ARGUMENTS...: as the harness's, with $teachers as the program's path.
run() {
    PATH=$teachers "$program" "$@" >"$folder/stdout" 2>"$folder/stderr" </dev/null
    code=$?
}

# wav_is FILE RATE: 16-bit mono of this rate, a header that tells the truth, between 1 and 12 seconds.
wav_is() {
    local bytes riff format channels rate bits data
    bytes=$(stat -c %s "$1") || return 1
    [ "$(head -c 4 "$1")" = RIFF ] && [ "$(dd if="$1" bs=1 skip=8 count=8 2>/dev/null)" = "WAVEfmt " ] || return 1
    riff=$(od -An -tu4 -j4 -N4 "$1")
    format=$(od -An -tu2 -j20 -N2 "$1")
    channels=$(od -An -tu2 -j22 -N2 "$1")
    rate=$(od -An -tu4 -j24 -N4 "$1")
    bits=$(od -An -tu2 -j34 -N2 "$1")
    data=$(od -An -tu4 -j40 -N4 "$1")
    echo "$1: bytes $bytes riff $riff format $format channels $channels rate $rate bits $bits data $data"
    [ $((riff + 8)) -eq "$bytes" ] && [ $((data + 44)) -eq "$bytes" ] && [ $((format)) -eq 1 ] &&
        [ $((channels)) -eq 1 ] && [ $((rate)) -eq "$2" ] && [ $((bits)) -eq 16 ] &&
        [ "$data" -ge $((2 * rate)) ] && [ "$data" -le $((24 * rate)) ]
}

# rows_are DIR COUNT: metadata.csv has COUNT rows of three parts, each with its recording, and wavs/ nothing else.
rows_are() {
    local id
    [ "$(wc -l <"$1/metadata.csv")" -eq "$2" ] || return 1
    [ "$(find "$1/wavs" -type f | wc -l)" -eq "$2" ] || return 1
    [ "$(awk -F'|' 'NF == 3 && $3 != ""' "$1/metadata.csv" | wc -l)" -eq "$2" ] || return 1
    while IFS='|' read -r id _; do [ -s "$1/wavs/$id.wav" ] || return 1; done <"$1/metadata.csv"
}

# fake NAME: a teacher of this name, from standard input; it comes first while $teachers says so.
fake() {
    mkdir -p "$folder/fake"
    cat >"$folder/fake/$1"
    chmod +x "$folder/fake/$1"
}

# wait_for FILE: until it is there and not empty, at most 30 s.
wait_for() {
    local round
    for ((round = 0; round < 300; round++)); do
        if [ -s "$1" ]; then return; fi
        sleep 0.1
    done
}

# ---- wrong usage ----
refused 1 "say which corpus to make" "corpus --help" corpus
refused 1 "unknown kind of corpus 'real'" "corpus --help" corpus real d
refused 1 "name the folder" "corpus --help" corpus demo --language en --count 4
refused 1 "'--language en' or '--language fa' is missing" "corpus --help" corpus demo d --count 4
refused 1 "'--count N' is missing" "corpus --help" corpus demo d --language en
refused 1 "speakers" "." corpus demo d --language en --count 4 --speakers 4
refused 1 "too few for 3 speakers" "one sentence for each" corpus demo d --language en --count 2 --speakers 3
refused 1 "99999 sentences were asked for" "different ones in Persian" corpus demo d --language fa --count 99999
refused 1 "language" "en" corpus demo d --language de --count 4
check "nothing was made" test ! -e d

# ---- a teacher that is missing or bad ----
mkdir empty
teachers=$folder/empty
refused 2 "cannot start the speech program 'flite'" "apt install flite" corpus demo d --language en --count 4
refused 2 "cannot start the speech program 'espeak-ng'" "apt install espeak-ng" corpus demo d --language fa --count 4
check "no folder without a teacher" test ! -e d
teachers=$folder/fake:$PATH

fake flite <<'END'
#!/bin/sh
echo "Voices available: kal rms"
END
refused 2 "has no voice 'slt'" "apt install" corpus demo d --language en --count 4

fake flite <<'END'
#!/bin/sh
[ "$1" = -lv ] && echo "Voices available: slt rms awb" && exit 0
echo "no audio today" >&2
exit 3
END
refused 2 "failed (exit code 3) and said 'no audio today'" "by hand" \
    corpus demo broken --language en --count 4
check "no recording of a failed teacher" test -z "$(ls broken/wavs)"
check "no manifest without recordings" test ! -e broken/metadata.csv

fake flite <<'END'
#!/bin/sh
[ "$1" = -lv ] && echo "Voices available: slt rms awb" && exit 0
for last; do :; done
echo "this is no audio" >"$last"
END
refused 2 "is not usable: it is no WAV file" "by hand" \
    corpus demo broken --language en --count 4
check "no recording of a lying teacher" test -z "$(ls broken/wavs)"

# ---- folders that are not ours ----
fake flite <<'END'
#!/bin/sh
[ "$1" = -lv ] && echo "Voices available: slt rms awb" && exit 0
exit 1
END
mkdir photos
echo keep >photos/holiday.tmp
refused 2 "is not a demo corpus: it holds 'holiday.tmp'" "nothing was changed" corpus demo photos --language en --count 4
check "a refused folder is as it was" test "$(ls -A photos)" = holiday.tmp
echo '{"format": "shopping list"}' >photos/demo.json
refused 2 "of something else" "empty folder" corpus demo photos --language en --count 4
echo '{"format": ' >photos/demo.json
refused 2 "is damaged" "new folder" corpus demo photos --language en --count 4
touch file
refused 2 "cannot open the folder 'file'" "." corpus demo file --language en --count 4
refused 2 "cannot make the folder 'file/sub'" "." corpus demo file/sub/deeper --language en --count 4
refused 1 "is empty" "name a folder" corpus demo '' --language en --count 4
mkdir locked
if [ "$(id -u)" -ne 0 ]; then
    chmod 555 locked
    refused 2 "Permission denied" "written to" corpus demo locked --language en --count 4
    refused 2 "Permission denied" "written to" corpus demo locked/new --language en --count 4
    chmod 755 locked
else
    echo "skipped: missing write permission (root may write everywhere)"
fi
exec 9<locked
flock -n 9 && refused 2 "another program is working in 'locked'" "wait" corpus demo locked --language en --count 4
exec 9<&-
teachers=$PATH

# ---- English ----
if command -v flite >/dev/null; then
    run corpus demo new/en --language en --count 4 --seed 11
    check "English: exit code $code" test "$code" -eq 0
    check "English: says that the voice is synthetic" grep -q 'synthetic teacher, flite: slt' stdout
    check "English: four rows" rows_are new/en 4
    for wav in new/en/wavs/*.wav; do check "English: $wav" wav_is "$wav" 16000; done
    check "README says that the voice is synthetic" grep -q 'synthetic teacher: the program flite' new/en/README.txt

    cp -r new/en first
    run corpus demo new/en --language en --count 4 --seed 11
    check "a whole corpus is kept" grep -q '(0 made now, 4 kept)' stdout
    check "a whole corpus is not changed" diff -r first new/en
    rm new/en/wavs/en-00002.wav new/en/metadata.csv
    truncate -s 20000 new/en/wavs/en-00003.wav
    touch new/en/wavs/en-00004.wav.part new/en/metadata.csv.123-0.tmp
    run corpus demo new/en --language en --count 4 --seed 11
    check "a damaged corpus is completed" grep -q '(2 made now, 2 kept)' stdout
    check "the damaged file is named" grep -q "en-00003.wav' is not usable" stderr
    check "completed, it is the same as in one go" diff -r first new/en

    refused 2 "was made with count 4, not 5" "same parameters" corpus demo new/en --language en --count 5 --seed 11
    refused 2 "was made with seed 11, not 12" "same parameters" corpus demo new/en --language en --count 4 --seed 12
    refused 2 "was made with language en, not fa" "." corpus demo new/en --language fa --count 4 --seed 11
    check "refused, it is still the same" diff -r first new/en

    run corpus demo three --language en --count 6 --speakers 3
    check "three speakers: exit code $code" test "$code" -eq 0
    check "three speakers: six rows" rows_are three 6
    check "three speakers: two rows each" test "$(cut -d'|' -f2 three/metadata.csv | sort | uniq -c | tr -s ' \n' ' ')" = \
        " 2 awb 2 rms 2 slt "
    check "three speakers: one shared sentence" test "$(cut -d'|' -f3 three/metadata.csv | sort -u | wc -l)" -eq 4
    check "three speakers: other voices" test "$(cksum <three/wavs/en-slt-00001.wav)" != \
        "$(cksum <three/wavs/en-rms-00002.wav)"

    # The teacher hangs at the third sentence; a signal must end the work with a smaller but whole corpus.
    real=$(command -v flite)
    fake flite <<END
#!/bin/sh
case "\$*" in *-00003*) echo \$\$ >"$folder/hanging"; sleep 100 ;; esac
exec "$real" "\$@"
END
    PATH=$folder/fake:$PATH "$program" corpus demo stopped --language en --count 200 >stdout 2>stderr &
    wait_for hanging
    wait_for stopped/wavs/en-00002.wav
    kill -TERM $!
    wait $!
    code=$?
    check "stopped: exit code $code" test "$code" -eq 4
    check "stopped: hint" grep -q 'hint: run the same command again' stderr
    check "stopped: a whole, smaller corpus" rows_are stopped "$(find stopped/wavs -name '*.wav' | wc -l)"
    check "stopped: without the third" test ! -e stopped/wavs/en-00003.wav
    rm hanging
    PATH=$folder/fake:$PATH "$program" corpus demo stopped --language en --count 200 >stdout 2>stderr &
    wait_for hanging
    kill -KILL $!
    wait $! 2>/dev/null
    kill -KILL -- "-$(cat hanging)" # the teacher has a process group of its own and outlives a killed program
    check "killed: nothing lost" test "$(find stopped/wavs -name '*.wav' | wc -l)" -ge "$(wc -l <stopped/metadata.csv)"

    # A disk of 1.5 MB, where user namespaces allow to make one.
    if unshare -rm true 2>/dev/null; then
        mkdir small
        unshare -rm sh -c 'mount -t tmpfs -o size=1500k none small && mkdir small/full &&
            "$0" corpus demo small/full --language en --count 30; code=$?
            ls -A small/full/wavs >list; exit $code' "$program" >stdout 2>stderr
        code=$?
        check "full disk: exit code $code" test "$code" -eq 2
        check "full disk: says so" grep -q "error: the disk of 'small/full' is full" stderr
        check "full disk: finished files are kept" test "$(grep -c 'wav$' list)" -ge 5
        check "full disk: nothing half written" test "$(grep -c 'part$' list)" -eq 0
        unshare -rm sh -c 'mount -t tmpfs -o size=1500k none small && "$0" corpus demo small/d --language en --count 900' \
            "$program" >stdout 2>stderr
        check "small disk: refused at once" grep -q 'at least 36.0 MB are needed' stderr
    else
        echo "skipped: full disk (no user namespaces here)"
    fi
else
    echo "skipped: English corpora (flite is not installed: apt install flite)"
fi

# ---- Persian ----
if command -v espeak-ng >/dev/null; then
    run corpus demo fa --language fa --count 4
    check "Persian: exit code $code" test "$code" -eq 0
    check "Persian: says that the voice is synthetic" grep -q 'synthetic teacher, espeak-ng: fa' stdout
    check "Persian: four rows" rows_are fa 4
    for wav in fa/wavs/*.wav; do check "Persian: $wav" wav_is "$wav" 22050; done
    check "Persian: valid UTF-8" iconv -f UTF-8 -t UTF-8 -o /dev/null fa/metadata.csv
    check "Persian: Persian letters" env LC_ALL=C.UTF-8 grep -qP '\|.*\x{06CC}.*\|' fa/metadata.csv
    rm fa/wavs/fa-00001.wav
    run corpus demo fa --language fa --count 4
    check "Persian: completed" grep -q '(1 made now, 3 kept)' stdout
    run corpus demo fa3 --language fa --count 3 --speakers 3
    check "Persian: three voices" test "$(cksum fa3/wavs/*.wav | cut -d' ' -f1 | sort -u | wc -l)" -eq 3
else
    echo "skipped: Persian corpora (espeak-ng is not installed: apt install espeak-ng)"
fi

finish

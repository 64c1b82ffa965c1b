#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# myxtts prepare, with the program given as $1, end to end on small corpora that are made here: the same bytes with any
# number of workers and after any number of kills, files that are up to date, out of date or damaged, rejected rows, a
# full disk, no write permission. Tokens are characters, so that libespeak-ng is not needed.
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
. "$here/support/cli.sh"
# shellcheck source=tests/support/tones.sh
. "$here/support/tones.sh"
one_core

# corpus DIR ROWS: tones of 2 to 4 s, with texts that fit.
corpus() {
    # shellcheck disable=SC2016
    tone_corpus "$1" "$2" '$count = 32000 + 4000 * ($row * 7 % 9); $step = 0.06 + 0.002 * ($row % 40); $loud = 9000;
        $text = "Tone number $row is long.|tone number $row is long."'
}

# bytes FILE: its size, 0 if it is not there.
bytes() {
    stat -c %s "$1" 2>/dev/null || echo 0
}

prepare="prepare small --tokens chars --output"
corpus small 40

# ---- wrong usage ----
refused 1 "name the corpus folder" "prepare --help" prepare --output x.pack
refused 1 "'--output FILE' is missing" "prepare --help" prepare small
refused 1 "tokens" "phonemes" prepare small --output x.pack --tokens words
refused 1 "language" "en" prepare small --output x.pack --language xx
refused 1 "not a number" "seconds" prepare small --output x.pack --max-seconds long
refused 2 "nowhere" "." prepare nowhere --output x.pack
check "nothing was made" test ! -e x.pack -a ! -e x.pack.part

# ---- a whole file ----
done_with $prepare whole.pack
check "says what it did" grep -q 'rows       40: 40 good, 0 rejected' stdout
check "no journal is left" test ! -e whole.pack.part
check "an empty list of rejected rows" test "$(wc -l <whole.pack.rejects.tsv)" -eq 1
done_with $prepare whole.pack
check "up to date" grep -q 'whole.pack is up to date' stdout
for workers in 1 3; do
    done_with $prepare "by-$workers.pack" --workers $workers
    check "the same bytes with $workers workers" cmp whole.pack "by-$workers.pack"
done
cp whole.pack forced.pack
done_with $prepare forced.pack --force
check "made again because it was asked for" grep -q 'time  ' stdout
check "made again with the same bytes" cmp whole.pack forced.pack
done_with $prepare features.pack --features
done_with $prepare features-1.pack --features --workers 1
check "features: the same bytes with 1 worker" cmp features.pack features-1.pack
done_with $prepare whole.pack --features
check "other contents are another file" grep -q 'kind was audio and is features' stderr
check "features in place of audio" cmp whole.pack features.pack
done_with $prepare whole.pack
check "and back" cmp whole.pack by-1.pack

# ---- out of date ----
cp -r --preserve=timestamps small changing
prepare_changing="prepare changing --tokens chars --output changing.pack"
done_with $prepare_changing
check "a copy with its times is the same corpus" cmp whole.pack changing.pack
touch -d '2001-02-03' changing/wavs/row-007.wav
done_with $prepare_changing
check "a recording that was written again" grep -q "the recording of 'row-007' was written again" stderr
sed -i 's/tone number 9 is/tone number 9 was/' changing/metadata.csv
done_with $prepare_changing
check "another text" grep -q "the text, the speaker or the path of 'row-009'" stderr
done_with $prepare_changing --max-seconds 10
check "another option" grep -q 'seconds_max was 20 and is 10' stderr
done_with $prepare_changing --max-seconds 10
check "the same option" grep -q 'is up to date' stdout

# ---- damage ----
for place in 100 600 $(($(bytes whole.pack) - 2000)) $(($(bytes whole.pack) - 10)); do
    cp whole.pack damaged.pack
    printf '\x5a\xa5\x5a\xa5' | dd of=damaged.pack bs=1 seek="$place" conv=notrunc 2>/dev/null
    done_with $prepare damaged.pack
    check "damage at byte $place is named" grep -q 'cannot be used: ' stderr
    check "damage at byte $place is repaired" cmp whole.pack damaged.pack
done
head -c 100000 whole.pack >damaged.pack
done_with $prepare damaged.pack
check "a truncated file is named" grep -q 'it was truncated' stderr
check "a truncated file is repaired" cmp whole.pack damaged.pack

# ---- kill -9 ----
size=$(bytes whole.pack)
kept=0
for share in 1 20 40 60 80 90 95; do
    "$program" $prepare killed.pack --workers 1 >stdout 2>stderr </dev/null &
    while [ "$(bytes killed.pack.part)" -lt $((size * share / 100)) ] && kill -0 $! 2>/dev/null; do :; done
    kill -KILL $! 2>/dev/null
    wait $! 2>/dev/null
    if [ -e killed.pack ]; then break; fi
    check "killed at $share %: the work so far is kept" test -s killed.pack.part
    kept=$((kept + 1))
done
check "it was killed before its end" test "$kept" -ge 1
done_with $prepare killed.pack
check "after $kept kills, the same bytes as in one go" cmp whole.pack killed.pack
# A journal with a torn end, and one with a damaged middle.
for cut in 37 1000; do
    head -c $((size / 2 + cut)) whole.pack >torn.pack.part
    done_with $prepare torn.pack
    check "a torn journal: rows are kept" grep -q 'rows were kept from before' stdout
    check "a torn journal: the same bytes as in one go" cmp whole.pack torn.pack
    rm torn.pack
done
cp whole.pack torn.pack.part
printf '\x5a\xa5\x5a\xa5' | dd of=torn.pack.part bs=1 seek=$((size / 3)) conv=notrunc 2>/dev/null
done_with $prepare torn.pack
check "a damaged journal: the same bytes as in one go" cmp whole.pack torn.pack

# ---- stopped ----
"$program" $prepare stopped.pack --workers 1 >stdout 2>stderr </dev/null &
while [ "$(bytes stopped.pack.part)" -lt $((size / 4)) ] && kill -0 $! 2>/dev/null; do :; done
kill -TERM $! 2>/dev/null
wait $!
code=$?
if [ ! -e stopped.pack ]; then
    check "stopped: exit code $code" test "$code" -eq 4
    check "stopped: hint" grep -q 'hint: run the same command again' stderr
fi
done_with $prepare stopped.pack
check "stopped: the same bytes as in one go" cmp whole.pack stopped.pack

# ---- two at a time ----
exec 9>busy.pack.part
flock -n 9 && refused 2 "another program is preparing 'busy.pack'" "wait" $prepare busy.pack
exec 9>&-

# ---- rejected rows, each for its reason ----
corpus bad 10
: >bad/wavs/row-001.wav
echo "this is text, not audio" >bad/wavs/row-002.wav
rm bad/wavs/row-003.wav
perl -e 'local $/; open(F, "+<:raw", $ARGV[0]); seek(F, 24, 0); print F pack("V", 1000000)' bad/wavs/row-004.wav
truncate -s 20000 bad/wavs/row-005.wav
perl -e 'my $n = 600 * 16000 * 2; print "RIFF", pack("V", 36 + $n), "WAVEfmt ",
    pack("VvvVVvv", 16, 1, 1, 16000, 32000, 2, 16), "data", pack("V", $n)' >bad/wavs/row-006.wav
truncate -s $((44 + 600 * 16000 * 2)) bad/wavs/row-006.wav
printf 'row-007|\xff\xfe broken\nno columns at all\nrow-000|twice|twice\n' >>bad/metadata.csv
refused 2 "of 13 rows (" "bad.pack.rejects.tsv" prepare bad --tokens chars --output bad.pack
check "not made" test ! -e bad.pack
for line in '2 row-001 unreadable' '3 row-002 unreadable' '4 row-003 missing-file' '5 row-004 absurd-rate' \
    '6 row-005 lying-header' '7 row-006 too-long' '11  invalid-utf8' '12  bad-line' '13 row-000 duplicate-id'; do
    check "rejects: $line" grep -qF "$(printf '\t%s\t%s\t%s\t' "${line%% *}" "$(cut -d' ' -f2 <<<"$line")" "${line##* }")" \
        bad.pack.rejects.tsv
done
done_with prepare bad --tokens chars --output bad.pack --allow-rejects
check "allowed: good rows" grep -q 'rows       13: 4 good, 9 rejected' stdout
check "allowed: by reason" grep -q '        1 too-long ' stdout
check "allowed: kept from before" grep -q 'rows were kept from before' stdout
done_with prepare bad --tokens chars --output bad.pack
check "allowed: up to date from now on" grep -q 'bad.pack is up to date' stdout

# ---- places that cannot be written ----
refused 2 "No such file or directory" "exists and may be written" $prepare missing/x.pack
mkdir a-folder
refused 2 "not an ordinary file" "." $prepare a-folder
mkdir locked
if [ "$(id -u)" -ne 0 ]; then
    chmod 555 locked
    refused 2 "Permission denied" "may be written" $prepare locked/x.pack
    chmod 755 locked
else
    echo "skipped: missing write permission (root may write everywhere)"
fi

# ---- small disks, where user namespaces allow to make them ----
if unshare -rm true 2>/dev/null; then
    mkdir disk
    unshare -rm sh -c 'mount -t tmpfs -o ro none disk && "$@" disk/x.pack' - "$program" $prepare >stdout 2>stderr
    check "read-only disk: exit code" test $? -eq 2
    check "read-only disk: says so" grep -q 'Read-only file system' stderr
    unshare -rm sh -c 'mount -t tmpfs -o size=4m none disk || exit 9
        "$@" disk/x.pack 2>full; echo "full $?"
        test ! -e disk/x.pack && test -s disk/x.pack.part && echo kept
        mount -o remount,size=100m disk && "$@" disk/x.pack && cmp disk/x.pack whole.pack && echo same' \
        - "$program" $prepare >stdout 2>stderr
    check "full disk: exit code 2" grep -qx 'full 2' stdout
    check "full disk: says so" grep -q "error: the disk of 'disk/x.pack' is full" full
    check "full disk: hint" grep -q '  hint: nothing is lost' full
    check "full disk: the work so far is kept" grep -qx kept stdout
    check "full disk: goes on" grep -q 'rows were kept from before' stdout
    check "full disk: in the end the same bytes" grep -qx same stdout
else
    echo "skipped: full and read-only disks (no user namespaces here)"
fi

finish

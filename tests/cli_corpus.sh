#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# What train, prepare and check of the program given as $1 do with corpora that are hostile, damaged, too long, or
# changed by others: it is refused or left out, named and counted, and nothing that was learned is lost.
# Tokens are characters, so that libespeak-ng is not needed.
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
. "$here/support/cli.sh"
# shellcheck source=tests/support/tones.sh
. "$here/support/tones.sh"
one_core

# wait_for COMMAND...: up to 60 s, until it succeeds
wait_for() {
    for _ in $(seq 1 3000); do
        "$@" 2>/dev/null && return 0
        sleep 0.02
    done
    return 1
}

# newest RUN: the step of its newest checkpoint
newest() {
    basename "$(find "$1/checkpoints" -name 'step-*.safetensors' | sort | tail -n 1)" .safetensors
}

tones tones 16
common=("${small[@]}" --eval-every 0)

# ---- a packed corpus that is cut off while a run reads it ----
done_with prepare tones -o whole.pack --tokens chars
cp whole.pack cut.pack
"$program" train --train-data cut.pack --output cut "${common[@]}" --steps 100000 --save-every 100000 \
    >stdout 2>stderr </dev/null &
child=$!
check "training on the packed corpus begins" wait_for grep -q '"step":3,' cut/metrics.jsonl
truncate -s 2048 cut.pack
wait $child
code=$?
check "a packed corpus that was cut off: exit code $code" test "$code" -eq 2
check "it says what happened" grep -qF 'the file was truncated while it was in use' stderr
check "it names the file and the record" grep -q "record [0-9]* ('row-[0-9]*') of the packed corpus '.*cut.pack'" stderr
check "it hints at preparing it again" grep -q "^  hint: .*myxtts prepare" stderr
check "it says what is saved" grep -q "up to step [0-9]* is saved: 'myxtts train --resume cut' continues from there" stderr
check "a checkpoint is there" test "$(newest cut)" '>' step-00000002
cp whole.pack cut.pack
step=$(newest cut)
step=$((10#${step#step-} + 2))
done_with train --resume cut --steps $step
check "the run goes on with the whole file" grep -q "step $step of" stdout

# ---- pipes and devices in place of files, and links in place of journals ----
# None of these may wait: a pipe has nobody who writes to it.
mkfifo pipe
mkdir piped piped-run
cp -r tones piped-audio
mkfifo piped/metadata.csv
rm piped-audio/wavs/row-003.wav
mkfifo piped-audio/wavs/row-003.wav
quick=(timeout 30 "$program")
# soon WORDS ARGUMENTS...: ends by itself, with these words
soon() {
    local words=$1
    shift
    "${quick[@]}" "$@" >stdout 2>stderr </dev/null
    code=$?
    check "$*: exit code $code, and no waiting" test "$code" -ge 1 -a "$code" -le 4
    check "$*: says '$words'" grep -qF -- "$words" stderr
}
soon 'not a file' train --train-data tones --output o1 --config pipe
soon 'not a file' train --train-data tones --output o1 --config /dev/zero
soon 'not an ordinary file' train --train-data tones --output o2 --init-from pipe
soon 'not a file' train --train-data pipe --output o3
soon 'not a file' train --train-data /dev/zero --output o3
soon 'metadata.csv' check piped
soon 'not a file' check tones --vocabulary pipe
soon 'missing-file, row-003' check piped-audio --tokens chars
soon 'log file' check tones --log-file pipe
soon 'not an ordinary file' prepare tones -o pipe --tokens chars
mkfifo o4.pack.part
soon 'o4.pack'"'"'.part is not an ordinary file' prepare tones -o o4.pack --tokens chars
echo 'my letter' >letter
ln -s letter o5.pack.part
soon 'is a symbolic link' prepare tones -o o5.pack --tokens chars
check "what the link points to is as it was" grep -qx 'my letter' letter
check "text for synth still comes through a pipe" grep -q "hint" <(printf 'a' | "$program" synth -c none 2>&1)

# ---- control bytes of a manifest reach neither terminals nor lists ----
cp -r tones steer
printf 'esc\033]0;title\a\302\2332J|high|The tone.\n' >>steer/metadata.csv
sed -i '1s/|high|/|h\x1b[31migh|/' steer/metadata.csv
run check steer --tokens chars --allow-rejects
check "check reads it" test "$code" -eq 0
check "no escape reaches the terminal" test -z "$(LC_ALL=C grep -ahP '\x1b|\x07|\xc2[\x80-\x9f]' stdout stderr steer/rejects.tsv)"
check "the list escapes them" grep -qF 'esc\x1b]0;title\x07\xc2\x9b2J' steer/rejects.tsv
check "so does the report" grep -qF 'h\x1b[31migh' stdout

# ---- too long recordings are left out before batches are drawn ----
# Five of 21 s among forty short ones: sorted by length, they would have been a batch of their own.
# shellcheck disable=SC2016
tone_corpus long 45 '$long = $row >= 40; $count = $long ? 16000 * 21 : 16000 + 2000 * ($row * 7 % 9); $loud = 9000;
    $step = 0.05 + 0.002 * ($row % 10); $text = "one|" . ($long ? "The tone is long, " x 6 : "") . "The tone number $letter."'
listed() {
    cut -f 3,4 "$1/rejects.tsv" | sed 1d | tr '\t\n' ' ;'
}
five='row-040 too-long;row-041 too-long;row-042 too-long;row-043 too-long;row-044 too-long;'
done_with train --train-data long --output long-run "${common[@]}" --epochs 1 --allow-rejects
check "they are counted by reason" grep -q '5 of 45 rows are left out: 5 too-long' stderr
check "they are named" test "$(listed long-run)" = "$five"
check "the others are trained on" grep -q '38 utterances to train on, 2 for validation' stderr
refused 2 '5 of 45 rows are rejected' '--allow-rejects' train --train-data long --output long-refused "${common[@]}"
# The same list from the cache, which is finished by now.
cp -r long-run long-again
rm -r long-again/checkpoints
done_with train --train-data long --output long-again "${common[@]}" --epochs 1 --allow-rejects
check "the cache is used" test -e long-again/corpus.pack -a ! -e long-again/corpus.pack.part
check "they are named from the cache, too" test "$(listed long-again)" = "$five"
check "the others are the same" grep -q '38 utterances to train on, 2 for validation' stderr
# A packed corpus that was prepared with other limits.
done_with prepare long -o long.pack --tokens chars --max-seconds 30
done_with train --train-data long.pack --output long-packed "${common[@]}" --steps 2
check "a packed corpus: counted" grep -q '5 of 45 rows are left out: 5 too-long' stderr
check "a packed corpus: named" test "$(listed long-packed)" = "$five"
check "a packed corpus: with their lengths" grep -q '21.* s; from 0.4 to 20 s are used' long-packed/rejects.tsv
done_with train --train-data long.pack --output long-all "${common[@]}" --steps 2 --set data.max_seconds=30
check "with a higher limit none is" test ! -e long-all/rejects.tsv

# ---- damaged recordings are named and counted, and too many are refused ----
tones damaged 24
for row in $(seq -w 1 18); do truncate -s 9000 "damaged/wavs/row-0$row.wav"; done
refused 2 '18 of 24 rows are rejected, which is more than 5 %' 'damaged-run/rejects.tsv.*--allow-rejects' \
    train --train-data damaged --output damaged-run "${common[@]}" --steps 2
check "by reason" grep -q '18 of 24 rows are left out: 18 lying-header' stderr
check "all are listed" test "$(sed 1d damaged-run/rejects.tsv | wc -l)" -eq 18
done_with train --train-data damaged --output damaged-allowed "${common[@]}" --steps 2 --allow-rejects
check "the report counts them" grep -q '"left_out": *{"lying-header": *18}' damaged-allowed/run.json
check "the setting stays with the run" grep -q 'allow_rejects: true' damaged-allowed/config.yaml

# Damage that only decoding shows: silence. One of 24 is less than 5 %, and the run goes on without it.
tones silent 24
perl -e 'open(F, "+<:raw", $ARGV[0]); seek(F, 44, 0); print F "\0" x ((-s F) - 44)' silent/wavs/row-005.wav
done_with train --train-data silent --output silent-run "${common[@]}" --steps 2
check "it is named" grep -q 'row-005 is left out: nothing can be heard' stderr
check "it is counted" grep -q '1 of 24 rows are left out: 1 silent' stderr
check "it is listed" test "$(listed silent-run)" = 'row-005 silent;'
for row in 008 009 011; do cp silent/wavs/row-005.wav silent/wavs/row-$row.wav; done
refused 2 '4 of 24 rows are rejected' 'allow-rejects' train --train-data silent --output silent-refused "${common[@]}"

# A recording that goes away in a later epoch is said, too; what was learned is kept when there are too many.
tones going 24
"$program" train --train-data going --output going-run "${common[@]}" --set data.caching=false --steps 100000 \
    --save-every 100000 >stdout 2>stderr </dev/null &
child=$!
check "it trains" wait_for grep -q '"epoch":1,' going-run/metrics.jsonl
rm going/wavs/row-010.wav
check "the lost recording is named" wait_for grep -q 'row-010 is left out: there is no recording' stderr
check "and listed" wait_for grep -q 'row-010.missing-file' going-run/rejects.tsv
rm going/wavs/row-01[1-4].wav
wait $child
code=$?
check "too many lost ones: exit code $code" test "$code" -eq 2
check "too many lost ones are refused" grep -qE '[2-5] of 24 rows are rejected' stderr
check "after saving" grep -q "is saved: 'myxtts train --resume going-run' continues from there" stderr

# ---- a corpus that has changed is noticed when a run goes on ----
cp -a tones changing
done_with train --train-data changing --output changing-run "${common[@]}" --steps 2
done_with train --resume changing-run --steps 3
sed -i '2s/tone/tune/' changing/metadata.csv
refused 2 'the training data is not that of the run: texts or speakers have changed' 'init-from' \
    train --resume changing-run --steps 4
cp -a tones/metadata.csv changing
done_with train --resume changing-run --steps 4
cp tones/wavs/row-002.wav changing/wavs
perl -e 'open(F, "+<:raw", $ARGV[0]); seek(F, 5000, 0); print F "\1\2" x 200' changing/wavs/row-002.wav
refused 2 'recordings have been rewritten: their sizes or times have changed' 'cp -a' train --resume changing-run --steps 5
cp -a tones/wavs/row-002.wav changing/wavs
done_with train --resume changing-run --steps 5
# The same size and time, and something else inside: all of it has been read when an epoch is over.
cp -a tones sly
done_with train --train-data sly --output sly-run "${common[@]}" --epochs 2 --steps 6 --set data.caching=false
done_with train --resume sly-run --epochs 4 --steps 12
check "nothing has changed" test -z "$(grep 'something else' stderr)"
perl -e 'open(F, "+<:raw", $ARGV[0]); seek(F, 5000, 0); print F "\1\2" x 200' sly/wavs/row-002.wav
touch -r tones/wavs/row-002.wav sly/wavs/row-002.wav
done_with train --resume sly-run --epochs 8 --steps 18
check "other contents are noticed" grep -q 'the recordings have changed since before the run was resumed' stderr
done_with prepare changing -o changing.pack --tokens chars
done_with train --train-data changing.pack --output packed-run "${common[@]}" --steps 2
cp -a changing changed
sed -i '2s/tone/tune/' changed/metadata.csv
done_with prepare changed -o changing.pack --tokens chars
refused 2 'the training data is not that of the run: texts or recordings have changed' 'init-from' \
    train --resume packed-run --steps 3
done_with prepare changing -o changing.pack --tokens chars
done_with train --resume packed-run --steps 3

# ---- how fast is spoken the corpus tells itself ----
# Prompts of one letter, as professional corpora have them; a text of many words in a second; a word in eight.
# shellcheck disable=SC2016
tone_corpus letters 88 '$count = 16000 + 2000 * ($row * 7 % 9); $loud = 9000; $step = 0.05 + 0.002 * ($row % 10);
    $text = "one|The tone number $letter.";
    if ($row < 26) { $count = 13920; $text = "one|$letter"; }
    if ($row == 86) { $text = "one|" . "Nobody could say all of these words in so little time. " x 4; }
    if ($row == 87) { $count = 16000 * 8; $text = "one|Long"; }'
done_with check letters --tokens chars
check "one letter is believable, nothing else is rejected" test "$(listed letters)" = \
    'row-086 speaking-rate;row-087 speaking-rate;'
check "the range is reported" grep -qE 'rate +from [0-9.]+ to [0-9.]+ sounds a second are believable' stdout
cp letters/rejects.tsv letters.checked
done_with prepare letters -o letters.pack --tokens chars
check "prepare judges the same rows in the same words" cmp letters.checked letters.pack.rejects.tsv
done_with train --train-data letters --output letters-run "${common[@]}" --epochs 1 --set data.validation_fraction=0
check "so does train" cmp <(sed 's/.*metadata.csv//; s/\t[^\t]*wavs/\twavs/' letters.checked) \
    <(sed 's/.*metadata.csv//; s/\t[^\t]*wavs/\twavs/' letters-run/rejects.tsv)

finish

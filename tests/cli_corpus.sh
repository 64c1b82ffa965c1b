#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# What train, prepare and check of the program given as $1 do with corpora that are hostile, damaged, too long, or
# changed behind their back: it is refused or left out, named and counted, and nothing that was learned is lost.
# Tokens are characters, so that libespeak-ng is not needed.
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
. "$here/support/cli.sh"
# shellcheck source=tests/support/tones.sh
. "$here/support/tones.sh"

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
check "it says what is saved" grep -q "step [0-9]* is saved; 'myxtts train --resume cut' goes on" stderr
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

finish

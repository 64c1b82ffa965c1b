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

finish

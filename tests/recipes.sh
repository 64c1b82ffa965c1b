#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Settings and recipes that users start from, with the program given as $1: every file in configs/ can be read and trained
# with, and explains each of its keys; every recipe in examples/ runs to its end. On a small corpus of tones, with a tiny
# network.
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
# shellcheck source=tests/support/cli.sh
. "$here/support/cli.sh"
# shellcheck source=tests/support/tones.sh
. "$here/support/tones.sh"
source=$(realpath "$here/..")

# ---- settings ----
mkdir persian
# shellcheck disable=SC2016
tone_corpus persian 12 '$count = 24000 + 1000 * $row; $step = 0.05 + 0.002 * $row; $loud = 9000; $text = "این صدای شمارهٔ $row است."'
tones english 12
for config in "$source"/configs/*.yaml; do
    name=$(basename "$config" .yaml)
    done_with config --config "$config"
    check "$name: no setting under a former name" test ! -s stderr
    corpus=english
    [ "$name" = persian ] && corpus=persian
    # Phonemes need libespeak-ng, which a build may lack.
    done_with train --config "$config" --train-data $corpus --set data.tokens=chars --dry-run
    check "$name: every key has a comment above it" awk '
        /^ *#/ { commented = 1; next }
        /^  [a-z_]+:/ { if (!commented && !grouped) { print FILENAME ":" FNR ": " $0; bad = 1 } grouped = 1; next }
        { commented = grouped = 0 }
        END { exit bad }' "$config"
done
check "three files of settings" test "$(find "$source/configs" -name "*.yaml" | wc -l)" -ge 3

# ---- recipes ----
export MYXTTS=$program STEPS=4 EXTRA="${small[*]}"
# recipe NAME WORDS…: must end well, and say the words.
recipe() {
    local name=$1
    shift
    bash "$source/examples/$name.sh" english "made-$name" >stdout 2>stderr
    code=$?
    check "$name: exit code $code" test "$code" -eq 0
    for words in "$@"; do check "$name: says '$words'" grep -qF -- "$words" stdout; done
}
DEVICE=cpu:0 recipe one_device '$ myxtts synth' 'goes on'
check "one_device: a sound" test -s made-one_device/spoken.wav
if two_cores; then
    recipe two_devices 'All validation checks passed' 'Memory of GPU:1 (cpu:1), the model device:' 'GPU UTILIZATION'
    check "two_devices: a profile and a trace" test -s made-two_devices/profile.json -a -s made-two_devices/trace.json
fi
LIMIT=$((40 + 10 * cores)) TOO_LITTLE=$((3 + 3 * cores)) recipe low_memory 'Training under a hard limit'
check "low_memory: what does not fit is refused" grep -q '^  hint: ' stderr
recipe debugging 'equal' 'mel loss: '
check "debugging: a picture" test -s made-debugging/one.png
check "debugging: messages as JSON" grep -q '^{' made-debugging/debug.log

finish

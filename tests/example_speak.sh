#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# examples/speak.c ($2) beside the program ($1): it speaks what `myxtts synth` speaks, bit for bit, and reports errors.
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
example=$(realpath "${2:?usage: bash example_speak.sh PROGRAM EXAMPLE}")
# shellcheck source=tests/support/cli.sh
. "$here/support/cli.sh"
# shellcheck source=tests/support/tones.sh
. "$here/support/tones.sh"

source=$here/../examples/speak.c
check "the example is short" test "$(wc -l <"$source")" -lt 60
check "it sees public headers alone" bash -c '! grep "#include [<\"][a-z]*/" "$1" | grep -v "<myxtts/"' - "$source"

fixture voice run

# speak EXIT-CODE ARGUMENTS...
speak() {
    local wanted=$1
    shift
    "$example" "$@" >stdout 2>stderr
    code=$?
    check "the example with '$*': exit code $code instead of $wanted" test "$code" -eq "$wanted"
}

speak 1 run
check "usage" grep -q 'VOICE TEXT' stderr
speak 2 none 'The tone.'
check "a missing voice is named, with a hint" grep -q "none" stderr
text='The tone number a. The tone number b.'
done_with synth --checkpoint run --text "$text" --output wanted.wav
speak 0 run "$text"
check "the samples are those of synth" cmp stdout <(tail -c +45 wanted.wav)
check "it tells the pieces" test "$(grep -c ' s: The tone number\| s: the tone number' stderr)" -eq 2
done_with synth --checkpoint run --text "$text" --speaker low --output wanted.wav
speak 0 run "$text" low
check "another speaker" cmp stdout <(tail -c +45 wanted.wav)
speak 2 run "$text" nobody
check "an unknown speaker is named" grep -q nobody stderr

finish

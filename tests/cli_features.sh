#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# myxtts features from the outside: what it writes and prints, and what it does with bad input. $1: the program.
. "$(dirname "${BASH_SOURCE[0]}")/support/cli.sh"

# features EXIT-CODE ARGUMENTS...
features() {
    local wanted=$1
    shift
    run features "$@"
    check "features $*: exit code $code instead of $wanted" test "$code" -eq "$wanted"
}

# says out|err "words"
says() {
    check "'$2' is not in std$1" grep -qF -- "$2" "$folder/std$1"
}

# Two seconds of noise as a 16-bit mono WAV at 22,050 Hz; the noise is always the same.
wav() {
    local bytes=88200
    printf 'RIFF\xac\x58\x01\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x22\x56\x00\x00\x44\xac\x00\x00\x02\x00\x10\x00'
    printf 'data\x88\x58\x01\x00'
    awk -v count=$bytes 'BEGIN { x = 1; for (i = 0; i < count; i++) { x = (x * 16807) % 2147483647; printf "%c", 65 + x % 26 } }'
}

wav >noise.wav

features 0 noise.wav --output f.safetensors --png f.png
says out "frames of 80 bands"
says out "voiced"
head -c 200 f.safetensors | tail -c 192 >head
check "the file names its recipe" grep -qF '"recipe":"mx-mel-22k-80"' head
check "the picture is a PNG" test "$(head -c 4 f.png | od -An -tx1 | tr -d ' \n')" = 89504e47
cp f.safetensors first
features 0 noise.wav --output f.safetensors
check "a second run gives the same file" cmp first f.safetensors

features 1
says err "name the recording"
features 1 noise.wav
says err "'--output FILE' is missing"
features 2 nothing.wav --output g
says err nothing.wav
printf 'this is no sound\n' >text.wav
features 2 text.wav --output g
: >empty.wav
features 2 empty.wav --output g
features 3 noise.wav --output g --device cuda:7
features 2 noise.wav --output no/such/folder/g
features 2 noise.wav --output "$folder"
check "a failed run leaves no output" test ! -e g
check "no temporary file is left" test -z "$(find . -name '*.tmp')"

finish

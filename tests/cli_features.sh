#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# myxtts features from the outside: what it writes and prints, and what it does with bad input. $1: the program.

set -uo pipefail

program="$1"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
failures=0

complain()
{
    printf 'FAILED: %s\n' "$*"
    sed 's/^/    /' "$work/out" "$work/err"
    failures=$((failures + 1))
}

# wanted exit code, then the arguments
run()
{
    local wanted="$1" code=0
    shift
    "$program" "$@" >"$work/out" 2>"$work/err" </dev/null || code=$?
    ((code == wanted)) || complain "exit code $code instead of $wanted: $*"
}

says()
{
    grep -qF -- "$2" "$work/$1" || complain "'$2' is not in std$1"
}

# Two seconds of noise as a 16-bit mono WAV at 22,050 Hz; the noise is always the same.
wav()
{
    local bytes=88200
    printf 'RIFF\xac\x58\x01\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00\x22\x56\x00\x00\x44\xac\x00\x00\x02\x00\x10\x00'
    printf 'data\x88\x58\x01\x00'
    awk -v count=$bytes 'BEGIN { x = 1; for (i = 0; i < count; i++) { x = (x * 16807) % 2147483647; printf "%c", 65 + x % 26 } }'
}

wav >"$work/noise.wav"

run 0 features "$work/noise.wav" --output "$work/f.safetensors" --png "$work/f.png"
says out "frames of 80 bands"
says out "voiced"
[[ $(head -c 200 "$work/f.safetensors" | tail -c 192) == *'"recipe":"mx-mel-22k-80"'* ]] ||
    complain "the file does not name its recipe"
[[ $(head -c 4 "$work/f.png" | od -An -tx1 | tr -d ' \n') == 89504e47 ]] || complain "the picture is no PNG"
cp "$work/f.safetensors" "$work/first"
run 0 features "$work/noise.wav" --output "$work/f.safetensors"
cmp -s "$work/first" "$work/f.safetensors" || complain "a second run gives another file"

run 1 features
says err "name the recording"
run 1 features "$work/noise.wav"
says err "'--output FILE' is missing"
run 2 features "$work/nothing.wav" --output "$work/g"
says err "nothing.wav"
printf 'this is no sound\n' >"$work/text.wav"
run 2 features "$work/text.wav" --output "$work/g"
: >"$work/empty.wav"
run 2 features "$work/empty.wav" --output "$work/g"
run 3 features "$work/noise.wav" --output "$work/g" --device cuda:7
run 2 features "$work/noise.wav" --output "$work/no/such/folder/g"
run 2 features "$work/noise.wav" --output "$work"
[[ ! -e $work/g ]] || complain "a failed run left its output"
[[ -z $(find "$work" -name '*.tmp') ]] || complain "a temporary file is left"

((failures == 0)) && printf 'all as it should be\n'
exit $((failures > 0))

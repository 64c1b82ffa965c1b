#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# myxtts inspect (the program is $1) on safetensors files made by hand: the numbers of each type are read right, damaged
# files are refused with the reason, and flags that contradict each other too. Checkpoints themselves are made and
# checked by tests/test_checkpoint*.c.
set -u

program=${1:?usage: cli_inspect.sh PROGRAM}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
passed=0
failed=0

check() {
    if [ "$1" -eq 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        printf 'FAILED: %s\n' "$2"
        sed 's/^/    /' "$folder/stdout" "$folder/stderr"
    fi
}

# run EXIT-CODE ARGUMENTS...
run() {
    local code=$1
    shift
    "$program" inspect "$@" >"$folder/stdout" 2>"$folder/stderr" </dev/null
    [ "$?" -eq "$code" ]
    check $? "inspect $*: exit code $code"
}

# has PATTERN: a line of the output; collapses runs of spaces
has() {
    tr -s ' ' <"$folder/stdout" | grep -qE -- "$1"
    check $? "'$1' is not in the output"
}

# refuses "words": one error and one hint, nothing on standard output
refuses() {
    [ ! -s "$folder/stdout" ] && [ "$(wc -l <"$folder/stderr")" -eq 2 ] && grep -q '^  hint: ' "$folder/stderr" &&
        sed -n 1p "$folder/stderr" | grep -qF -- "$1"
    check $? "'$1' is not the error"
}

# make FILE HEADER DATA: DATA in printf's escapes; the header must be shorter than 65,536 bytes
make() {
    local length=${#2}
    # shellcheck disable=SC2059
    {
        printf "\\x$(printf %02x $((length % 256)))\\x$(printf %02x $((length / 256)))\\0\\0\\0\\0\\0\\0"
        printf '%s' "$2"
        printf "$3"
    } >"$1"
}

header='{"__metadata__":{"maker":"a\u001bhand"},'
header+='"single":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},'
header+='"half":{"dtype":"F16","shape":[3],"data_offsets":[16,22]},'
header+='"brain":{"dtype":"BF16","shape":[1],"data_offsets":[22,24]},'
header+='"small":{"dtype":"I8","shape":[2],"data_offsets":[24,26]},'
header+='"scalar":{"dtype":"F64","shape":[],"data_offsets":[26,34]},'
header+='"ema.none":{"dtype":"U64","shape":[0,7],"data_offsets":[34,34]}}'
data='\x00\x00\x80\x3f\x00\x00\x00\xc0\x00\x00\xc0\x7f\x00\x00\x20\x41'         # 1 -2 nan 10
data+='\x00\x3c\x00\xfc\x01\x00'                                                # 1 -inf 2^-24
data+='\x40\x40'                                                                # 3
data+='\xfb\x08'                                                                # -5 8
data+='\x00\x00\x00\x00\x00\x00\xd0\x3f'                                        # 0.25
make "$folder/hand.safetensors" "$header" "$data"

run 0 "$folder/hand.safetensors"
has 'hand.safetensors: .*no checkpoint'
has '^ maker a\?hand$' # the escape character is not passed on
has '^single F32 \[2, 2\] -2 10 3 1$'
has '^half F16 \[3\] 5\.9605e-08 1 0\.5 1$'
has '^brain BF16 \[1\] 3 3 3 0$'
has '^small I8 \[2\] -5 8 1\.5 0$'
has '^scalar F64 \[\] 0\.25 0\.25 0\.25 0$'
has '^ema\.none U64 \[0, 7\] 0 0 0 0$'

run 0 "$folder/hand.safetensors" --json
tr -d ' \t\n' <"$folder/stdout" >"$folder/flat"
mv "$folder/flat" "$folder/stdout"
has '"checkpoint":false,"tensors":\['
has '\{"name":"single","dtype":"F32","shape":\[2,2\],"least":-2,"most":10,"mean":3,"not_finite":1\}'
has '\{"name":"scalar","dtype":"F64","shape":\[\],"least":0\.25,'

run 2 "$folder/hand.safetensors" --config
refuses 'has no configuration'
run 1
refuses 'name a checkpoint or a run folder'
run 1 "$folder/hand.safetensors" --config --json
refuses "'--config' prints the configuration"
run 1 "$folder/hand.safetensors" --json --all
refuses "'--json' always lists all"
run 2 "$folder/missing.safetensors"
refuses 'No such file'
run 2 "$folder"
refuses 'no checkpoint'

head -c 40 "$folder/hand.safetensors" >"$folder/cut.safetensors"
run 2 "$folder/cut.safetensors"
refuses 'ends within its header'
head -c -1 "$folder/hand.safetensors" >"$folder/cut.safetensors"
run 2 "$folder/cut.safetensors"
refuses 'outside the data'
# Whatever calls itself a checkpoint must be a whole one.
make "$folder/false.safetensors" '{"__metadata__":{"format":"myxtts-checkpoint","version":"1"}}' ''
run 2 "$folder/false.safetensors"
refuses 'it has no hash'
make "$folder/false.safetensors" '{"__metadata__":{"format":"myxtts-checkpoint","version":"1","hash":"0"}}' ''
run 2 "$folder/false.safetensors"
refuses 'do not match its hash'

printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# myxtts inspect (the program is $1) on safetensors files made by hand: the numbers of each type are read right, damaged
# files are refused with the reason, and flags that contradict each other too. Checkpoints themselves are made and
# checked by tests/test_checkpoint*.c.
. "$(dirname "${BASH_SOURCE[0]}")/support/cli.sh"

# inspect EXIT-CODE ARGUMENTS...
inspect() {
    local wanted=$1
    shift
    run inspect "$@"
    check "inspect $*: exit code $code instead of $wanted" test "$code" -eq "$wanted"
}

# has PATTERN: a line of the output; collapses runs of spaces
has() {
    tr -s ' ' <"$folder/stdout" >"$folder/narrow"
    check "'$1' is not in the output" grep -qE -- "$1" "$folder/narrow"
}

# refuses "words": one error and one hint, nothing on standard output
refuses() {
    check "'$1': something on standard output" test ! -s "$folder/stdout"
    check "'$1': not two lines" test "$(wc -l <"$folder/stderr")" -eq 2
    check "'$1': no hint" grep -q '^  hint: ' "$folder/stderr"
    check "'$1' is not the error" grep -q "^error: .*$1" "$folder/stderr"
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

inspect 0 "$folder/hand.safetensors"
has 'hand.safetensors: .*no checkpoint'
has '^ maker a\?hand$' # the escape character is not passed on
has '^single F32 \[2, 2\] -2 10 3 1$'
has '^half F16 \[3\] 5\.9605e-08 1 0\.5 1$'
has '^brain BF16 \[1\] 3 3 3 0$'
has '^small I8 \[2\] -5 8 1\.5 0$'
has '^scalar F64 \[\] 0\.25 0\.25 0\.25 0$'
has '^ema\.none U64 \[0, 7\] 0 0 0 0$'

inspect 0 "$folder/hand.safetensors" --json
tr -d ' \t\n' <"$folder/stdout" >"$folder/flat"
mv "$folder/flat" "$folder/stdout"
has '"checkpoint":false,"tensors":\['
has '\{"name":"single","dtype":"F32","shape":\[2,2\],"least":-2,"most":10,"mean":3,"not_finite":1\}'
has '\{"name":"scalar","dtype":"F64","shape":\[\],"least":0\.25,'

inspect 2 "$folder/hand.safetensors" --config
refuses 'has no configuration'
inspect 1
refuses 'name a checkpoint, a voice file or a run folder'
inspect 1 "$folder/hand.safetensors" --config --json
refuses "'--config' prints the configuration"
inspect 1 "$folder/hand.safetensors" --json --all
refuses "'--json' always lists all"
inspect 2 "$folder/missing.safetensors"
refuses 'No such file'
inspect 2 "$folder"
refuses 'no checkpoint'

head -c 40 "$folder/hand.safetensors" >"$folder/cut.safetensors"
inspect 2 "$folder/cut.safetensors"
refuses 'ends within its header'
head -c -1 "$folder/hand.safetensors" >"$folder/cut.safetensors"
inspect 2 "$folder/cut.safetensors"
refuses 'outside the data'
# Whatever calls itself a checkpoint must be a whole one.
make "$folder/false.safetensors" '{"__metadata__":{"format":"myxtts-checkpoint","version":"1"}}' ''
inspect 2 "$folder/false.safetensors"
refuses 'it has no hash'
make "$folder/false.safetensors" '{"__metadata__":{"format":"myxtts-checkpoint","version":"1","hash":"0"}}' ''
inspect 2 "$folder/false.safetensors"
refuses 'do not match its hash'

finish

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Bad input to the program, given as $1: every case must end with the right exit code, nothing on standard output, and
# on standard error exactly one error line and one hint line. A few good cases keep the script honest.
. "$(dirname "${BASH_SOURCE[0]}")/support/cli.sh"
unset NO_COLOR

# bad EXIT-CODE "words of the error" "words of the hint" ARGUMENTS...
bad() {
    local wanted=$1 words=$2 hint=$3
    shift 3
    run "$@"
    local label="$* -> $words"
    if [ "$code" -ne "$wanted" ]; then
        fail "$label: exit code $code instead of $wanted"
    elif [ -s "$folder/stdout" ]; then
        fail "$label: something on standard output"
    elif [ "$(wc -l <"$folder/stderr")" -ne 2 ]; then
        fail "$label: not two lines"
    elif ! sed -n 1p "$folder/stderr" | grep -q '^error: ' || ! sed -n 1p "$folder/stderr" | grep -qF -- "$words"; then
        fail "$label: wrong error line"
    elif ! sed -n 2p "$folder/stderr" | grep -q '^  hint: ' || ! sed -n 2p "$folder/stderr" | grep -qF -- "$hint"; then
        fail "$label: wrong hint line (wanted: $hint)"
    else
        pass
    fi
}

# good "words of the output" ARGUMENTS...
good() {
    local words=$1
    shift
    run "$@"
    if [ "$code" -ne 0 ]; then
        fail "$*: exit code $code"
    elif [ -s "$folder/stderr" ]; then
        fail "$*: something on standard error"
    elif ! grep -qF -- "$words" "$folder/stdout"; then
        fail "$*: '$words' is not in the output"
    else
        pass
    fi
}

# yaml "words of the error" "words of the hint" TEXT: a settings file with this text (printf escapes), exit code 1
yaml() {
    printf '%b' "$3" >"$folder/bad.yaml"
    bad 1 "$folder/bad.yaml$1" "$2" config --config "$folder/bad.yaml"
}

# the program
good 'Usage: myxtts [OPTIONS] COMMAND' --help
good 'myxtts ' --version
good 'Usage: myxtts devices' devices --help
good 'Usage: myxtts config' help config
bad 1 "unknown command 'devcies'" "did you mean 'devices'?" devcies
bad 1 "unknown command 'wavelength'" "'myxtts --help' lists all commands" wavelength
bad 1 "unknown command ''" "'myxtts --help'" ''
bad 1 "unknown command 'divices'" "did you mean 'devices'?" help divices
bad 1 "unknown option '--verion'" "did you mean '--version'?" --verion
bad 1 "unknown option '--vers'" "did you mean '--version'?" --vers
bad 1 "option '--log-level' is 'loud'" "choices: debug, info" --log-level loud devices
bad 1 "option '--log-format' is 'xml'" "choices: text, json" devices --log-format xml
bad 1 "option '--log-level' needs a value" "write '--log-level LEVEL'" devices --log-level
bad 1 "contradict each other" "one of the two" devices --quiet --log-level debug
bad 2 "cannot open log file" "folder" config --log-file "$folder/none/log"

# no command: the help page, but not success
"$program" >"$folder/stdout" 2>"$folder/stderr"
if [ $? -eq 1 ] && grep -q '^Commands:' "$folder/stdout" && [ ! -s "$folder/stderr" ]; then pass; else fail "no command"; fi

# options of a command
bad 1 "unknown option '--jsn'" "did you mean '--json'? 'myxtts devices --help'" devices --jsn
bad 1 "unknown option '--js'" "did you mean '--json'?" devices --js
bad 1 "unknown option '-x'" "'myxtts devices --help' lists all options" devices -x
bad 1 "option '--json' takes no value" "alone" devices --json=1
bad 1 "option '--cpu-devices' is '100000', which is out of range" "from 1 to 1024" devices --cpu-devices 100000
bad 1 "option '--cpu-devices' is '0'" "from 1 to 1024" devices --cpu-devices 0
bad 1 "option '--cpu-devices' is '-1'" "from 1 to 1024" devices --cpu-devices -1
bad 1 "option '--cpu-devices' is '99999999999999999999'" "from 1 to 1024" devices --cpu-devices 99999999999999999999
bad 1 "option '--cpu-devices' is 'two', which is not a whole number" "from 1 to 1024" devices --cpu-devices two
bad 1 "option '--cpu-devices' needs a value" "write '--cpu-devices N'" devices --cpu-devices
bad 1 "takes no argument, but 'extra' is given" "--help" config extra
bad 1 "unknown option '--a\\x0ab'" "--help" devices $'--a\nb'

# devices
bad 1 "1024 CPU devices" "core" devices --cpu-devices 1024
good 'Topology' devices
good '"devices"' devices --json
good 'cpu:0' devices cpu:0
bad 3 "cuda:7" "cpu:0" devices cuda:7
bad 3 "cpu:99" "cpu:0" devices cpu:99
bad 1 "nonsense" "" devices nonsense
bad 1 "cpu:x" "" devices cpu:x

# settings files
good 'cpu_devices: 1' config
good 'cpu_devices: 3' config --set device.cpu_devices=2 --set device.cpu_devices=3
good 'data_memory_mb: 8192' config --quiet --set device.data_gpu_memory=8192
good '"data_limit_bytes":	104857600' devices --json --set device.data_memory_mb=100
yaml ":2: unknown key 'cpu_device' in section 'device'" "did you mean 'cpu_devices'?" 'device:\n  cpu_device: 2\n'
yaml ":1: unknown section 'devise'" "did you mean 'device'?" 'devise:\n  cpu_devices: 2\n'
yaml ":1: unknown section 'cpu_devices'" "a key of section 'device'" 'cpu_devices: 2\n'
yaml ":2: 'device.cpu_devices' is 'two', which is not a whole number" "from 1 to 1024" 'device:\n  cpu_devices: two\n'
yaml ":2: 'device.cpu_devices' is '5000', which is out of range" "from 1 to 1024" 'device:\n  cpu_devices: 5000\n'
yaml ":3: key 'device.cpu_devices' is given twice" "keep one" 'device:\n  cpu_devices: 1\n  cpu_devices: 2\n'
yaml ":1: the file is not a mapping" "section" '- a\n- b\n'
yaml ":2: not valid YAML" "spaces, not tabs" 'device:\n\tcpu_devices: 2\n'
yaml ":2: not valid YAML" "quotes" 'device: {cpu_devices: 2\n'
yaml ":1: anchors" "write the value out" 'device: &a {cpu_devices: 1}\n'
yaml ":2: the file has more than one document" "'---'" 'device:\n---\ndevice:\n'
yaml ":2: the text is not UTF-8" "UTF-8" 'device:\n# \xe9\n'
head -c 1100000 /dev/zero | tr '\0' '#' >"$folder/big.yaml"
bad 1 "$folder/big.yaml: the file is larger than 1 MiB" "check" config --config "$folder/big.yaml"
: >"$folder/empty.yaml"
good 'cpu_devices: 1' config --config "$folder/empty.yaml"
bad 2 "there is no file '$folder/none.yaml'" "path" config --config "$folder/none.yaml"
bad 2 "is a folder" "file" config --config "$folder"
bad 2 "there is no file '$folder/none.yaml'" "path" devices --config "$folder/none.yaml"
bad 1 "--set device.cpu_devices=x: 'device.cpu_devices' is 'x'" "from 1 to 1024" config --set device.cpu_devices=x
bad 1 "--set device.cpu=1: unknown key 'cpu'" "did you mean 'cpu_devices'?" config --set device.cpu=1
bad 1 "--set device: not an assignment" "section.key=value" devices --set device
bad 1 "option '--set' needs a value" "--set" config --set
bad 2 "cannot create '$folder/none/out.yaml'" "folder" config --output "$folder/none/out.yaml"
bad 2 "is not an ordinary file" "ordinary" config --output /dev/null

# what config writes, config reads: the same text again
"$program" config --quiet --set device.cpu_devices=2 --output "$folder/one.yaml" &&
    "$program" config --quiet --config "$folder/one.yaml" --output "$folder/two.yaml"
: >"$folder/stderr"
if cmp -s "$folder/one.yaml" "$folder/two.yaml" && grep -q 'cpu_devices: 2' "$folder/two.yaml"; then
    pass
else
    fail "the written settings do not read back as they were"
fi

# a full disk
if [ -w /dev/full ]; then
    "$program" config >/dev/full 2>"$folder/stderr"
    if [ $? -eq 2 ] && grep -q 'cannot write the output' "$folder/stderr"; then pass; else fail "a full disk"; fi
fi

# the JSON form of an error
"$program" --log-format json devices --bad 2>"$folder/stderr"
if [ $? -eq 1 ] && [ "$(wc -l <"$folder/stderr")" -eq 1 ] && grep -q '"hint":"' "$folder/stderr"; then
    pass
else
    fail "an error as JSON"
fi

finish

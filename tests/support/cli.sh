# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
#
# What the tests of commands share; a test begins with
#
#     . "$(dirname "${BASH_SOURCE[0]}")/support/cli.sh"
#
# It takes the path of the program from $1 and works in a folder of its own, which is removed at the end.
set -u

unset LANGUAGE LC_ALL # help is in English, whoever runs the tests
export LC_MESSAGES=C

# The drivers of OpenCL take longer to load than many a command takes: tests of OpenCL, and of all there is, set opencl=1.
if [ -z "${opencl:-}" ]; then export OCL_ICD_VENDORS=/nonexistent; fi

# What bash reads with <(…) is a file in /dev/fd, which leads to /proc.
if [ ! -e /dev/fd/0 ] && grep -q '<(' "$0"; then
    echo "skipped: /dev/fd is missing; it needs /proc to be mounted"
    exit 77
fi

program=$(realpath "${1:?usage: bash TEST.sh PROGRAM}")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
passed=0
failed=0
cores=$(nproc) # that the program may use
may=           # which ones, after one_core

# What tests share (support/tones.sh) lies beside the program, in a folder for each build of it. (An emulated program is
# started by a script, which does not change.)
fixtures=$(dirname "$program")
if [ -w "$fixtures" ]; then fixtures+=/fixtures; else fixtures=$folder/fixtures; fi
fixtures+=/$(stat -c '%Y-%s' "$program" "${program%/emulated/*}/myxtts" 2>/dev/null | paste -sd _)

# base_voice FOLDER: installs the voices there, of which base reads phonemes; without espeak-ng the test is skipped.
base_voice() {
    export MYXTTS_VOICES=$1
    if "$program" synth --voice base --show-phonemes --text a 2>&1 | grep -q 'built without espeak-ng'; then
        echo 'skipped: the base voice reads phonemes, and this program was built without espeak-ng'
        exit 77
    fi
}

# one_core: until two_cores, the program runs on one core, as in support/cores.h: where the machine has other work, the threads
# of a device wait for each other in every operation, which takes far longer than the operations of a small network.
one_core() {
    local part each=()
    may=$(sed -n 's/^Cpus_allowed_list:[[:blank:]]*//p' /proc/$$/status)
    for part in ${may//,/ }; do mapfile -t -O ${#each[@]} each < <(seq "${part%-*}" "${part#*-}"); done
    taskset -cp "${each[$$ % ${#each[@]}]}" $$ >/dev/null && cores=1
}

# two_cores: for a test, or a part of one, with two CPU devices: false on one core, and says so.
two_cores() {
    if [ "$cores" -lt 2 ] && [ -n "$may" ]; then taskset -cp "$may" $$ >/dev/null && cores=$(nproc); fi
    [ "$cores" -ge 2 ] && return
    echo 'skipped: two devices need two cores'
    false
}

pass() {
    passed=$((passed + 1))
}

# fail "what": with everything that the last commands said.
fail() {
    failed=$((failed + 1))
    printf 'FAILED: %s\n' "$1"
    sed 's/^/    said: /' "$folder/check.out" "$folder/stdout" "$folder/stderr" 2>/dev/null
}

# check "what" COMMAND...: the command must succeed.
check() {
    local what=$1
    shift
    if "$@" >"$folder/check.out" 2>&1; then pass; else fail "$what"; fi
}

# not COMMAND...: for check.
not() {
    ! "$@"
}

# run ARGUMENTS...: runs the program; its exit code is in $code.
run() {
    "$program" "$@" >"$folder/stdout" 2>"$folder/stderr" </dev/null
    code=$?
}

# done_with ARGUMENTS...: must succeed.
done_with() {
    run "$@"
    check "$*: exit code $code" test "$code" -eq 0
}

# refused EXIT-CODE "words of the error" "words of the hint" ARGUMENTS...
refused() {
    local wanted=$1 words=$2 hint=$3
    shift 3
    run "$@"
    check "$*: exit code $code instead of $wanted" test "$code" -eq "$wanted"
    check "$*: says '$words'" grep -qF -- "$words" "$folder/stderr"
    check "$*: hints '$hint'" grep -q -- "^  hint: .*$hint" "$folder/stderr"
    check "$*: nothing on standard output" test ! -s "$folder/stdout"
}

# The closing line and the exit code of a test.
finish() {
    printf '%d passed, %d failed\n' "$passed" "$failed"
    [ "$failed" -eq 0 ]
}

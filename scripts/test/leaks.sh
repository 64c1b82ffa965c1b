#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Prints detect_leaks=0, the option of LeakSanitizer with which programs run where it cannot work, and says so; nothing
# elsewhere, since tests may turn it off themselves. It stops the threads of a process by ptrace; where a container forbids
# that, every program that was built with it fails when it ends.

set -euo pipefail

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
printf 'int main(void)\n{\n    return 0;\n}\n' >"$work/empty.c"
cc -fsanitize=address -o "$work/empty" "$work/empty.c"
if ASAN_OPTIONS='' LSAN_OPTIONS='' "$work/empty" >"$work/said" 2>&1; then
    exit
elif grep -q LeakSanitizer "$work/said"; then
    printf 'skipped: leaks are not looked for, because no process may trace another one here (ptrace)\n' >&2
    printf 'detect_leaks=0\n'
else
    cat "$work/said" >&2
    exit 1
fi

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Runs every fuzz target of a build folder for some seconds. Inputs that reach new code are kept in
# <folder>/corpus/NAME for the next run; an input that fails is saved as <folder>/failed/NAME-….
#
#     scripts/test/fuzz.sh build/fuzz 20

set -euo pipefail

folder="$1" seconds="$2" count=0
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
suppressions="$here/../../tests/lsan.supp" # leaks that are not ours
leaks="$("$here/leaks.sh")"
export LSAN_OPTIONS="suppressions=$suppressions:print_suppressions=0:$leaks"
for target in "$folder"/fuzz_*; do
    [[ -x $target ]] || continue
    name="$(basename "$target")"
    mkdir -p "$folder/corpus/$name" "$folder/failed"
    if ! "$target" -max_total_time="$seconds" -timeout=10 -artifact_prefix="$folder/failed/$name-" \
        "$folder/corpus/$name" >"$folder/$name.log" 2>&1; then
        tail -n 40 "$folder/$name.log" >&2
        printf 'fuzz: %s failed; the input is in %s, the whole log is %s\n' "$name" "$folder/failed" "$folder/$name.log" >&2
        exit 1
    fi
    printf '%s: %s\n' "$name" "$(grep -E '^Done ' "$folder/$name.log")"
    count=$((count + 1))
done
((count > 0)) || { printf 'fuzz: no targets in %s\n' "$folder" >&2; exit 1; }

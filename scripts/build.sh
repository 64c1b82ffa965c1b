#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Configures and builds in one folder. Prints nothing unless something fails.
#
#     scripts/build.sh [--configure-only | --report | --program] folder [cmake options]
#
# --configure-only stops before the build; --report lists the parts that were found if the list has changed; --program
# builds only the program, without examples, tests and benches.

set -euo pipefail

mode=
case "${1:-}" in
--*)
    mode="$1"
    shift
    ;;
esac
folder="$1"
shift
source="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"

mkdir -p "$folder"
before="$(cat "$folder/parts.txt" 2>/dev/null || true)"
log="$folder/configure.log"
rm -f "$folder/refused.txt"
if ! cmake -S "$source" -B "$folder" -G Ninja "$@" >"$log" 2>&1; then
    if [[ -e $folder/refused.txt ]]; then # cmake/Isa.cmake said all there is to say
        printf 'build: %s\n' "$(cat "$folder/refused.txt")" >&2
        exit 1
    fi
    cat "$log" >&2
    printf 'build: configuring in %s failed (see above; `make clean` removes the folder)\n' "$folder" >&2
    exit 1
fi
[[ $mode != --configure-only ]] || exit 0
if [[ $mode == --report && $before != "$(cat "$folder/parts.txt")" ]]; then cat "$folder/parts.txt"; fi

what=()
[[ $mode != --program ]] || what=(myxtts)
# On a terminal ninja shows one moving line; elsewhere only what the compiler says is of interest.
if [[ -t 1 ]]; then
    ninja -C "$folder" "${what[@]}"
else
    ninja -C "$folder" --quiet "${what[@]}" 2>&1 | sed '/^ninja: no work to do\.$/d'
fi

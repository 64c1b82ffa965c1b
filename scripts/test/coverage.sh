#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# For a build with MX_COVERAGE=ON whose tests have run: the share of executed lines of each room (folder) of src/, of all of
# them, and the files with the most lines that were not executed. All files, sorted by name, are in FOLDER/coverage.tsv:
# name, lines, executed lines. With a regular expression of file names it prints the lines of these that no test runs.
#
#     scripts/test/coverage.sh build/coverage
#     scripts/test/coverage.sh build/coverage src/dist/
#
# What a process executed that a signal killed is not counted: it had no time to write it down.

set -euo pipefail

folder="$(realpath "$1")"
lines="${2:-}"
cd "$(dirname "${BASH_SOURCE[0]}")/../.." # where gcov finds the sources
[[ -n $(find "$folder/CMakeFiles" -name '*.gcda' -path '*/src/*' -print -quit) ]] || {
    printf 'coverage: no counts found; run the tests first\n' >&2
    exit 1
}
# What no program of the tests contains has notes (gcno) and no counts (gcda): it was not executed. A file that is compiled
# twice (src/cli/main.c: the program, and the library of commands for tests) counts once.
find "$folder/CMakeFiles" -name '*.gcno' -path '*/src/*' -print0 |
    xargs -0 -r gcov --stdout 2>/dev/null |
    LC_ALL=C awk -F: -v OFS='\t' -v lines="$lines" -v all="$folder/coverage.tsv" '
        $2 == "    0" && $3 == "Source" {
            wanted = $4 ~ /^src\/.*\.c$/
            name = $4
        }
        wanted && $2 > 0 && $1 !~ /-$/ {
            line = name ":" $2 + 0
            if (!(line in run)) {
                run[line] = 0
                count[name]++
                text[line] = substr($0, length($1) + length($2) + 3)
            }
            if ($1 !~ /[#=]$/ && !run[line]) {
                run[line] = 1
                executed[name]++
            }
        }
        END {
            if (lines == "") for (name in count) print name, count[name], executed[name] + 0 | "sort >" all
            else for (line in run) if (!run[line] && line ~ lines) print line ":" text[line] | "sort -t: -k1,1 -k2,2n"
        }'
[[ -z $lines ]] || exit 0

LC_ALL=C awk -F '\t' '
    {
        split($1, part, "/")
        room = part[2]
        if (!(room in lines)) order[++rooms] = room
        lines[room] += $2
        executed[room] += $3
        all += $2
        all_executed += $3
    }
    function row(name, count, hit) { printf "%-12s %7d %7d %6.1f %%\n", name, count, hit, 100 * hit / count }
    END {
        printf "%-12s %7s %7s %8s\n", "room", "lines", "run", "share"
        for (i = 1; i <= rooms; i++) row(order[i], lines[order[i]], executed[order[i]])
        row("all", all, all_executed)
    }' "$folder/coverage.tsv"
printf '\n%-40s %7s %8s\n' 'files with the most lines not run' 'of' 'not run'
LC_ALL=C awk -F '\t' -v OFS='\t' '$3 < $2 { print $2 - $3, $2, $1 }' "$folder/coverage.tsv" | sort -nr | sed -n 1,20p |
    LC_ALL=C awk -F '\t' '{ printf "%-40s %7d %8d\n", $3, $2, $1 }'

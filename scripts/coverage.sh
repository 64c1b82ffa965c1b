#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# For a build with MX_COVERAGE=ON whose tests have run: the share of executed lines of each room (folder) of src/, of all of
# them, and the files with the most lines that were not executed. All files, sorted by name, are in FOLDER/coverage.tsv:
# name, lines, executed lines.
#
#     scripts/coverage.sh build/coverage

set -euo pipefail

folder="$1"
[[ -n $(find "$folder/CMakeFiles" -name '*.gcda' -path '*/src/*' -print -quit) ]] || {
    printf 'coverage: no counts found; run the tests first\n' >&2
    exit 1
}
# Every source of the library is compiled once, so the summary gcov prints per object file is the file's own. What no program
# of the tests contains has notes (gcno) and no counts (gcda): it was not executed.
find "$folder/CMakeFiles" -name '*.gcno' -path '*/src/*' -print0 |
    xargs -0 -r gcov -n 2>/dev/null |
    LC_ALL=C awk '
        /^File / {
            gsub(/^File \x27|\x27$/, "")
            name = $0
            wanted = sub(/^.*src\//, "src/", name) && name ~ /\.c$/
        }
        /^Lines executed:/ && wanted {
            split($0, part, /[:% ]+/)
            printf "%s\t%d\t%d\n", name, $NF, part[3] * $NF / 100 + 0.5
            wanted = 0
        }' | sort >"$folder/coverage.tsv"

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

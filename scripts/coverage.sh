#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Prints the share of executed lines for each file of src/, for a build with MX_COVERAGE=ON whose tests have run.
#
#     scripts/coverage.sh build/coverage

set -euo pipefail

folder="$1"
# Every source of the library is compiled once, so the summary gcov prints per object file is the file's own.
find "$folder/CMakeFiles" -name '*.gcda' -path '*/src/*' -print0 |
    xargs -0 -r gcov -n 2>/dev/null |
    awk '
        /^File / {
            gsub(/^File \x27|\x27$/, "")
            name = $0
            wanted = sub(/^.*src\//, "src/", name) && name ~ /\.c$/
        }
        /^Lines executed:/ && wanted {
            split($0, part, /[:% ]+/)
            percent = part[3]
            lines = $NF
            printf "%6.1f %%  %5d lines  %s\n", percent, lines, name | "sort -k4"
            hit += percent * lines / 100
            total += lines
            wanted = 0
        }
        END {
            close("sort -k4")
            if (total == 0) {
                print "coverage: no counts found; run the tests first" > "/dev/stderr"
                exit 1
            }
            printf "%6.1f %%  %5d lines  all of src/\n", 100 * hit / total, total
        }'

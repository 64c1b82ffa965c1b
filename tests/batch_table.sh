#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# The batch table of docs/*/migration.md is current: two cells of both pages are compared with the memory plan of the
# program given as $1. One has the largest number of all, which moves with the least change of what an utterance takes; in
# the other, weights and moments take most of the memory. A page with a false number is noticed.
# shellcheck disable=SC2016 # "`" is one of Markdown
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
# shellcheck source=tests/support/cli.sh
. "$here/support/cli.sh"

build=$(dirname "$program")
if [ ! -e "$build/libcuda_double.so" ]; then
    echo "skipped: the tests were not built ($build/libcuda_double.so is not there)"
    exit 77
fi
if ! command -v flite >/dev/null; then
    echo 'skipped: flite, which reads the sentence of the table, is not installed'
    exit 77
fi

# Copies of the pages, of which the English one has a false number in a third cell.
mkdir -p copy/scripts/bench copy/docs/en copy/docs/fa
cp "$here/../scripts/bench/batch_table.sh" copy/scripts/bench
for language in en fa; do cp "$here/../docs/$language/migration.md" "copy/docs/$language"; done
number=$(sed -n 's/^| 10 GB | `.*` \(| [0-9]* \)\{4\}| \([0-9]*\) |$/\2/p' copy/docs/en/migration.md)
sed -i "s/^\(| 10 GB | .*\) $number |\$/\1 $((number + 1)) |/" copy/docs/en/migration.md
copy/scripts/bench/batch_table.sh --check "$build" 4:tiny 4:big 1:big >stdout 2>stderr
code=$?
for cell in 4:tiny 4:big; do
    check "docs/*/migration.md is current in $cell: if not, run 'scripts/bench/batch_table.sh build' and commit both pages" \
        grep -q "^$cell: [0-9]*\$" stdout
done
check "a false number: exit code $code" test "$code" -eq 1
check "the page is named, with the number that fits and the command" grep -qxF "stale: docs/en/migration.md has \
$((number + 1)) in 1:big, and $number fit: run 'scripts/bench/batch_table.sh $build' and commit both pages" stdout
check "and the other page is not" test "$(grep -c '^stale: .* in 1:big' stdout)" -eq 1

finish

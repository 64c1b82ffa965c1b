#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Runs clang-tidy on one source file; prints only findings in our own files, and fails if there are any.
#
#     scripts/build/tidy.sh build/clang src/base/error.c

set -uo pipefail

clang-tidy -p "$1" --quiet "$2" 2>&1 | { grep -vE '^([0-9]+ warnings? generated\.|Suppressed .*|Use -header-filter.*)$' || true; }

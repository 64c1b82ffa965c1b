# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash disable=SC2034
#
# Shared by the recipes in this folder: finds the program, takes a corpus from the command line or makes a small one, and
# shows every command before running it.
#
#     examples/one_device.sh [CORPUS [FOLDER]]      all output goes to FOLDER; default: recipe-NAME
#
# Variables: MYXTTS is the program (default: build/myxtts, or the installed one), COUNT the number of sentences of the small
# corpus (60), STEPS the number of training steps (60), EXTRA more arguments for train and profile.
set -euo pipefail

here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
if [[ -z ${MYXTTS:-} ]]; then
    MYXTTS=$here/../build/myxtts
    [[ -x $MYXTTS ]] || MYXTTS=$(command -v myxtts) || { echo "myxtts was not found: run 'make build', or set MYXTTS" >&2; exit 1; }
fi
corpus=${1:-}
folder=${2:-recipe-$(basename "$0" .sh)}
steps=${STEPS:-60}
read -ra extra <<<"${EXTRA:-}"
mkdir -p "$folder"

# say WORDS: prints what comes next, and why.
say() {
    printf '\n== %s\n' "$*"
}

# run ARGUMENTS…: shows the command and runs it.
run() {
    printf '$ myxtts'
    printf ' %q' "$@"
    printf '\n'
    "$MYXTTS" "$@"
}

if [[ -z $corpus ]]; then
    corpus=$folder/corpus
    say "A small corpus, read by a synthetic voice"
    run corpus demo "$corpus" --language en --count "${COUNT:-60}"
fi

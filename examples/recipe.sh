# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash disable=SC2034
#
# What the recipes beside this file share: they find the program, take a corpus from the command line or make a small one,
# and show every command before they run it.
#
#     examples/one_device.sh [CORPUS [FOLDER]]      FOLDER gets everything that is made; default: recipe-NAME
#
# Variables: MYXTTS is the program (default: build/myxtts, or the one that is installed), COUNT the sentences of the made-up
# corpus (60), STEPS how long to train (60), EXTRA more arguments for train and profile.
set -euo pipefail

here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
if [[ -z ${MYXTTS:-} ]]; then
    MYXTTS=$here/../build/myxtts
    [[ -x $MYXTTS ]] || MYXTTS=$(command -v myxtts) || { echo "no program: 'make build', or set MYXTTS" >&2; exit 1; }
fi
corpus=${1:-}
folder=${2:-recipe-$(basename "$0" .sh)}
steps=${STEPS:-60}
read -ra extra <<<"${EXTRA:-}"
mkdir -p "$folder"

# say WORDS: what comes next, and why.
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

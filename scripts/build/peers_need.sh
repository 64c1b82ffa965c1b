# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash disable=SC2154
#
# For tests with programs of others, after peers.sh: ends the script if one of them is missing. The caller sets `build`.

# peer_missing TARGET OFFLINE NAME: ends the script with an error; with OFFLINE "skip", and if no package index can be reached,
# it ends well and says why.
peer_missing()
{
    if [[ $2 == skip ]] && ! "$build/venv/bin/pip" download --quiet --disable-pip-version-check --no-deps \
        --dest "$build/venv/none" pip >/dev/null 2>&1; then
        printf '%s: skipped: %s is not installed, and no package index can be reached\n' "$1" "$3"
        exit 0
    fi
    printf '%s: %s could not be installed; see %s\n' "$1" "$3" "$build/venv.log" >&2
    exit 1
}

# peers_need TARGET OFFLINE MODULE...
peers_need()
{
    local target="$1" offline="$2" module
    shift 2
    for module in "$@"; do
        "$build/venv/bin/python" -c "import $module" 2>/dev/null || peer_missing "$target" "$offline" "$module"
    done
}

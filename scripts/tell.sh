# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
#
# For scripts that people watch: titles, and commands that are shown before they run.

title()
{
    printf '\n── %s\n\n' "$1"
}

# Shows the command as one could type it, and runs it.
run()
{
    printf '$'
    printf ' %q' "$@"
    printf '\n'
    "$@"
}

# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
#
# For scripts that people watch: prints titles, and shows commands before running them.

title()
{
    printf '\n── %s\n\n' "$1"
}

# Shows the command as a user would type it, and runs it.
run()
{
    printf '$'
    printf ' %q' "$@"
    printf '\n'
    "$@"
}

# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
#
# shellcheck disable=SC2154 # what support/cli.sh sets
#
# A server for tests of commands, after support/cli.sh: any free ports, one server at a time.

server=

# serve ARGUMENTS...: starts `myxtts serve` in the background and waits until it is ready; $http and $wyoming are its
# ports. What it says is in the file `server`.
serve() {
    : >server # what an earlier server said must not be taken for this one's
    "$program" serve "$@" >server 2>&1 </dev/null &
    server=$!
    while ! grep -q 'ready;' server; do
        if ! kill -0 "$server" 2>/dev/null; then
            fail "the server started"
            cat server
            return 1
        fi
        sleep 0.1
    done
    http=$(sed -n 's|.*listening on http://.*:\([0-9]*\)/.*|\1|p' server)
    wyoming=$(sed -n 's|.*listening on tcp://.*:\([0-9]*\) .*|\1|p' server)
    export http wyoming
}

# served CODE: ends the server with a signal and waits for it; its exit code must be this one.
served() {
    kill -TERM "$server"
    wait "$server"
    local code=$?
    check "the server ends with $1, not $code" test "$code" -eq "$1"
    server=
}

trap '[ -z "$server" ] || kill -KILL "$server"; rm -rf "$folder"' EXIT

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# A server under many clients, some of them rude (support/soak.pl): every whole answer is right, and in the end it holds as
# many descriptors, and about as much memory, as after the first fifth of the requests. `make soak` makes 10,000 requests.
#
#     bash tests/serve_soak.sh PROGRAM [REQUESTS]
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
# shellcheck source=tests/support/cli.sh
. "$here/support/cli.sh"
# shellcheck source=tests/support/tones.sh
. "$here/support/tones.sh"
# shellcheck source=tests/support/serve.sh
. "$here/support/serve.sh"
requests=${2:-400}
clients=24
growth_kb=$(((requests < 5000 ? 16 : 8) * 1024)) # allowed: pages that an allocator keeps; few requests touch new ones all the time

if [ ! -r /proc/self/status ]; then
    echo 'skipped: memory and descriptors of the server are seen in /proc, which is not mounted'
    exit 77
fi

fixture voice run
serve run --listen 127.0.0.1:0 --wyoming 127.0.0.1:0 --queue 64 --connections 64 || exit 1

memory() { awk '/^VmRSS/ { print $2 }' "/proc/$server/status"; }
descriptors() { find "/proc/$server/fd" -mindepth 1 | wc -l; }
threads() { find "/proc/$server/task" -mindepth 1 -maxdepth 1 | wc -l; }
# idle NAME WANTED: the number of descriptors or threads goes back to what it was as soon as the last client has been missed.
idle() {
    local left=600
    while [ "$($1)" -gt "$2" ] && [ $left -gt 0 ]; do
        sleep 0.1
        left=$((left - 1))
    done
    test "$($1)" -le "$2"
}
soak() { perl "$here/support/soak.pl" "$http" "$wyoming" "$1" $clients "$2" >soaked 2>soak.errors; }

files=$(descriptors)
workers=$(threads)
first=$((requests / 5))
check "the first $first requests" soak $first 1
check "descriptors are closed" idle descriptors "$files"
before=$(memory)
start=$(date +%s)
check "$((requests - first)) requests" soak $((requests - first)) 2
printf '%s in %s s\n' "$(cat soaked)" $(($(date +%s) - start))
cat soak.errors
check "every descriptor is closed: $(descriptors) of $files" idle descriptors "$files"
check "every thread has ended: $(threads) of $workers" idle threads "$workers"
after=$(memory)
printf 'memory: %d MB, then %d MB; descriptors: %d, then %d\n' $((before / 1024)) $((after / 1024)) "$files" "$(descriptors)"
grep -aq __asan_init "$program" || check "memory does not grow" test $((after - before)) -le $growth_kb
served 0
check "every text was spoken or given up: nothing failed by itself" grep -q '(0 failed' server
finish

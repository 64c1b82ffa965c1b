#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# The group of processes (dist/dist.h) by itself, with test_dist beside the program given as $1: its calls with two and
# three ranks, bits that are the same in each run, and how all end when one fails, hangs or is gone.
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
. "$here/support/cli.sh"
# shellcheck source=tests/support/mpi.sh
. "$here/support/mpi.sh"
test_dist=$(dirname "$program")/test_dist
if [ ! -x "$test_dist" ]; then skip 'test_dist was not built'; fi

# part N NAME: exit code in $code, seconds in $took
part() {
    local begin=$SECONDS
    "$launcher" -n "$1" "$test_dist" "$2" >"$folder/stdout" 2>"$folder/stderr" </dev/null
    code=$?
    took=$((SECONDS - begin))
}

# ---- calls ----
for way in ring:2 ring:3 library:3; do
    count=${way#*:}
    MYXTTS_SUMS=${way%:*} part "$count" group
    check "$way: exit code $code" test "$code" -eq 0
    # Those that share a machine divide its cores, and each has one at least.
    check "$way: cores" grep -qx "cores $((cores > count ? cores : count))" stdout
done
MYXTTS_SUMS=ring part 3 same
cp stdout first
MYXTTS_SUMS=ring part 3 same
check 'sums: exit code' test "$code" -eq 0
check 'sums have the same bits in each run' cmp stdout first
check 'sums were made' grep -q '^sum [0-9a-f]*$' stdout

# ---- ends ----
host=$(hostname)
part 3 differ
check "another corpus: exit code $code" test "$code" -eq 2
ranks_said 'another corpus' "error: rank 1 on $host: its corpus is not the same as on rank 0 ($host)"
ranks_said 'another corpus' '  hint: copy the corpus to all machines'
check 'another corpus: one message' test "$(grep -c '^error: ' stderr)" -eq 1
part 3 fail
check "a failure: exit code $code" test "$code" -eq 3
ranks_said 'a failure' "error: rank 1 on $host: no memory is left"
check 'a failure: one message' test "$(grep -c '^error: ' stderr)" -eq 1
part 2 hang
check "a rank that hangs: exit code $code" test "$code" -eq 3
ranks_said 'a rank that hangs' "error: rank 1 on $host: no progress for 2 s ('--rank-timeout')"
check "a rank that hangs: all ended after $took s" test "$took" -le 17
part 3 gone
check "a rank that is gone: exit code $code" test "$code" -ne 0
check "a rank that is gone: all ended after $took s" test "$took" -le 15
# MPICH's launcher kills the others at once, before one of them can say anything; but it names a process, and which rank that
# was had been told.
case $launcher in
mpirun*)
    if [ -r /proc/self/ns/pid ]; then
        ranks_said 'a rank that is gone' "error: rank 1 on $host: its process has ended without a word"
    else
        echo 'SKIPPED: ranks watch the processes of those that are in the same space of ids, which /proc would name'
    fi
    ;;
*)
    gone=$(sed -n "s/.*PID \([0-9]*\) RUNNING AT $host.*/\1/p" stdout)
    check "a rank that is gone: its process is '$gone'" grep -qE "^processes: .*rank 1 is ${gone:-unknown} on $host" stderr
    ;;
esac

finish

# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck shell=bash
#
# Several processes for tests of ranks; after support/cli.sh. Without MPI in the build, or without its launcher, the test
# ends as skipped (exit code 77). More processes than cores are fine, and so is root.

# skip "why"
skip() {
    echo "skipped: $1"
    exit 77
}

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_btl_vader_single_copy_mechanism=none # containers forbid it, and say so in every test
# What MPI loads, uses and unloads again keeps memory, and has no name any more by which it could be excused.
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe

# The launcher of the library that the program was built with.
case "$(ldd "$program")" in
*libmpich*) launchers="mpiexec.mpich mpiexec" ;;
*libmpi*) launchers="mpirun.openmpi mpirun" ;;
*) skip 'the program was built without MPI' ;;
esac
launcher=
for name in $launchers; do
    if [ -z "$launcher" ] && command -v "$name" >/dev/null; then launcher=$name; fi
done
if [ -z "$launcher" ]; then skip "$launchers: none of them is installed"; fi

# ranks N ARGUMENTS...: the program as N processes; the exit code is in $code.
ranks() {
    local count=$1
    shift
    "$launcher" -n "$count" "$program" "$@" >"$folder/stdout" 2>"$folder/stderr" </dev/null
    code=$?
}

# ranks_done N ARGUMENTS...: must succeed.
ranks_done() {
    ranks "$@"
    check "$* as ranks: exit code $code" test "$code" -eq 0
}

# ranks_said "what" WORDS: on standard error.
ranks_said() {
    check "$1: says '$2'" grep -qF -- "$2" "$folder/stderr"
}

# identical "what" A B: what of the metrics of two runs does not depend on time is the same, bit for bit.
identical() {
    sed 's/,"step_ms".*//' "$2" >"$folder/identical.a"
    sed 's/,"step_ms".*//' "$3" >"$folder/identical.b"
    check "$1" cmp "$folder/identical.a" "$folder/identical.b"
}

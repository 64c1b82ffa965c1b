#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Builds for several processors, and runs the tests of operations and of resuming a run of each build that this machine can
# run. The aarch64 tests run in qemu, which is slow, so there are fewer of them. Builds of the same vector width must give
# the same bits, whatever the compiler and the processor it tunes for: the script compares their fingerprints
# (tests/test_bits.c), which include a training.
#
#     scripts/test/isa.sh folder builds [cmake options]
#
# Each build has its own folder inside `folder` and contains only what is tested. Clang also reads all other sources, tests and
# benches among them, because it warns of what gcc does not see; its warnings come before any code is generated, so it
# generates none. The regular expression `builds` selects builds by name; an empty one selects all.

set -euo pipefail

folder="$1"
only="$2"
shift 2
options=("$@")
source="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"

tests='^(test_(vec|bits|cpu_bf16|ops_(forward|grad|packed|winograd))|cli_(isa|resume))$'
emulated='^(test_(vec|bits|ops_(forward|grad|winograd))|cli_resume)$'
tried=0

say()
{
    printf '%-22s %s\n' "$1" "$2"
}

# build NAME TESTS [cmake options]: configures and builds; fails if this machine cannot run the result.
build()
{
    local name="$1" which="$2"
    shift 2
    "$source/scripts/build.sh" --configure-only "$folder/$name" "${options[@]}" "$@" "-DMX_TESTS=$which"
    [[ $name != clang-* ]] || syntax "$name" "$@"
    if grep -q 'cannot run' "$folder/$name/parts.txt"; then
        say "$name" "not tested: this machine cannot run it"
        return 1
    fi
    "$source/scripts/build.sh" "$folder/$name" "${options[@]}" "$@" "-DMX_TESTS=$which" || exit 1
}

# syntax NAME [cmake options]: shows the compiler all sources that a whole build has and the build NAME has not.
syntax()
{
    local name="$1" all="$folder/$1-syntax"
    shift
    "$source/scripts/build.sh" --configure-only "$all" "${options[@]}" "$@"
    perl -MJSON::PP -e '
        sub entries { local $/; open(my $f, "<", "$_[0]/compile_commands.json") or die "$_[0]: $!"; @{decode_json(<$f>)} }
        my %built = map { $_->{file} => 1 } entries($ARGV[0]);
        for my $entry (grep { !$built{$_->{file}} && $_->{file} !~ m{/generated/} } entries($ARGV[1])) {
            (my $command = $entry->{command}) =~ s/ -o \S+ -c / -fsyntax-only /;
            print "cd \x27$entry->{directory}\x27 && $command\0";
        }' "$folder/$name" "$all" | xargs -r -0 -n 1 -P 2 sh -c || exit 1
}

# try NAME TESTS [cmake options]
try()
{
    local name="$1" start=$SECONDS built log="$folder/$1/tests.log" jobs=2
    [[ $name =~ $only ]] || return 0
    tried=$((tried + 1))
    [[ $name != aarch64 ]] || jobs=1 # workers that wait for each other need one core each, especially in qemu
    build "$@" || return 0
    built=$((SECONDS - start))
    if ! (cd "$folder/$name" && ctest -j "$jobs" -R "$2" --output-on-failure --no-tests=error --no-label-summary >tests.log 2>&1); then
        cat "$log" >&2
        printf 'test-isa: %s failed (see above)\n' "$name" >&2
        exit 1
    fi
    say "$name" "$(grep -c ' Passed ' "$log") tests passed$(skipped "$log"); built in $built s, tested in $((SECONDS - start - built)) s"
}

skipped()
{
    local count
    count="$(grep -c '\*\*\*Skipped' "$1" || true)"
    ((count == 0)) || printf ', %d skipped' "$count"
}

# fingerprints NAME: writes the output of a build's test_bits to bits.txt.
fingerprints()
{
    "$folder/$1/test_bits" print 2>&1 | grep '^bits ' >"$folder/$1/bits.txt"
    [[ $(wc -l <"$folder/$1/bits.txt") -gt 10 ]]
}

# same NAME OTHER...: the others must have the fingerprints of the first.
same()
{
    local first="$1" other
    shift
    [[ $first =~ $only ]] || return 0
    fingerprints "$first"
    for other in "$@"; do
        [[ $other =~ $only ]] || continue
        fingerprints "$other"
        if ! diff "$folder/$first/bits.txt" "$folder/$other/bits.txt" >&2; then
            printf 'test-isa: %s and %s do not give the same bits (see above)\n' "$first" "$other" >&2
            exit 1
        fi
        say "$first, $other" "the same bits in $(wc -l <"$folder/$first/bits.txt") fingerprints"
    done
}

mkdir -p "$folder"
if [[ $(uname -m) == x86_64 ]]; then
    for march in x86-64-v2 x86-64-v3 znver3 x86-64-v4; do
        try "gcc-$march" "$tests" -DCMAKE_C_COMPILER=gcc "-DMX_MARCH=$march"
    done
    # As gcc optimises everything and clang only the kernels, the comparison also shows that this decides no bit.
    try clang-x86-64-v3 "$tests" -DCMAKE_C_COMPILER=clang -DMX_MARCH=x86-64-v3 -DMX_OPTIMIZE=1
    same gcc-x86-64-v3 gcc-znver3 clang-x86-64-v3
    try aarch64 "$emulated" --toolchain "$source/cmake/aarch64.cmake" -DMX_OPTIMIZE=1
else
    say "$(uname -m)" "the builds for x86-64 are not tested on this machine"
    try native "$tests"
fi
((tried > 0)) || { printf 'test-isa: no build matches "%s"\n' "$only" >&2 && exit 1; }

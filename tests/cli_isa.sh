#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Which kernels the program given as $1 runs, and that it says why; kernels that are not there; and, in an emulator, that a
# processor which lacks what the build needs gives one error and no illegal instruction.
. "$(dirname "${BASH_SOURCE[0]}")/support/cli.sh"

# ---- what runs, and why ----
done_with devices cpu:0
line=$(grep '^  cpu runs the kernels for ' stdout)
check "the kernels: $line" grep -qE '^  cpu runs the kernels for (AVX-512|AVX2|NEON|128-bit), [0-9]+×[0-9]+ tile: the processor has (AVX-512|AVX2|NEON|128-bit), (and|but) this build (is for [^ ]+|has [a-z0-9, ]+)$' stdout
done_with devices cpu:0 --json
kernels=${line#*kernels for }
check "the same as JSON" grep -qF "\"kernels\":	\"${kernels%%:*}\"" stdout
check "and why" grep -qF "\"kernels_why\":	\"${kernels#*: }\"" stdout
done_with devices --cpu-devices 1
check "said once" test "$(grep -c 'runs the kernels for' stdout)" -eq 1

# ---- kernels that are not there ----
MYXTTS_ISA=mmx refused 1 'MYXTTS_ISA is "mmx"' 'unset MYXTTS_ISA' devices
portable=no
[[ $line == *'this build has '* ]] && portable=yes
if [ $portable = no ]; then
    for isa in base avx2 avx512 neon; do
        MYXTTS_ISA=$isa run devices cpu:0
        [ $code -eq 0 ] && one=$isa && continue
        MYXTTS_ISA=$isa refused 1 "MYXTTS_ISA is \"$isa\", but this build has" 'PORTABLE=1' devices
    done
    MYXTTS_ISA=${one:-none} done_with devices cpu:0
    check "a name is a reason" grep -q "tile: MYXTTS_ISA asks for $one; the processor has " stdout
fi

# ---- other processors, emulated ----
if ! command -v qemu-x86_64 >/dev/null || [ "$(uname -m)" != x86_64 ]; then
    echo "qemu-x86_64 is missing: other processors were not tried (apt-get install qemu-user)"
elif grep -aq -e __asan_init -e __tsan_init "$program"; then
    echo "an instrumented program: other processors were not tried"
else
    native=$program
    # on PROCESSOR: the following commands run there. What qemu says of itself is dropped.
    on() {
        printf '#!/bin/bash\n{ qemu-x86_64 -cpu %s %q "$@" 2>&1 >&3 | grep -v "^qemu-x86_64: warning" >&2; exit "${PIPESTATUS[0]}"; } 3>&1\n' \
            "$1" "$native" >emulated
        chmod +x emulated
        program=$folder/emulated
    }
    on qemu64 # SSE3, and nothing of what came after it
    if [[ $line == *'this build is for x86-64' ]]; then
        done_with --version
    else
        for arguments in --version devices; do
            refused 3 'processors, and this one lacks SSSE3' 'PORTABLE=1' $arguments
        done
        check "one error" test "$(grep -c ^error: stderr)" -eq 1
    fi
    on Haswell
    if [ $portable = yes ]; then
        done_with devices cpu:0
        check "the best that it has" grep -q 'runs the kernels for AVX2, .*: the processor has AVX2, and this build has base, avx2, avx512' stdout
        MYXTTS_ISA=avx512 refused 1 'which this processor cannot run: it lacks AVX512F' 'unset MYXTTS_ISA' devices cpu:0
        on Nehalem
        done_with devices cpu:0
        check "what all have" grep -q 'runs the kernels for 128-bit' stdout
    elif [[ $line == *'kernels for AVX-512,'* ]]; then
        refused 3 'AVX512F' 'PORTABLE=1' devices cpu:0
    fi
fi

finish

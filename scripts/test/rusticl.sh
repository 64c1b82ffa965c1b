#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Every operation on a second OpenCL implementation, Mesa's rusticl, whose device llvmpipe has no double precision:
#   scripts/test/rusticl.sh BUILD
# The kernels are those of GPUs. Any wrong result fails the script.
set -euo pipefail

build=${1:?usage: scripts/test/rusticl.sh BUILD}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

library=$(find /usr/lib /usr/local/lib -name libRusticlOpenCL.so.1 -print -quit)
if [ -z "$library" ]; then
    echo "rusticl: libRusticlOpenCL.so.1 is missing: install mesa-opencl-icd" >&2
    exit 1
fi
echo "$library" >"$folder/rusticl.icd" # the only driver that the tests see

# run ARGUMENTS...: the tests, which must not skip
run()
{
    local code=0
    OCL_ICD_VENDORS=$folder RUSTICL_ENABLE=llvmpipe,swrast MYXTTS_CACHE=$folder MYXTTS_CLBLAST=0 \
        "$build/test_opencl_ops" "$@" >"$folder/log" 2>&1 || code=$?
    if [ $code -ne 0 ] || grep -q '^skipped:' "$folder/log"; then
        cat "$folder/log"
        echo "rusticl: the run failed (see above)" >&2
        exit 1
    fi
    grep -E 'PASSED' "$folder/log"
}

# All operations in small sizes; then those whose sums are pairs of floats here in usual ones. Of Mesa 22.3, llvmpipe
# aligns more tokens than lanes wrongly (test_opencl_ops on PoCL and the PTX machine are right), so align is not among them.
MYXTTS_TEST_TINY=1 run
for op in noise pitch rotary_table sequence_loss pitch_loss grad_norm harmonics; do run "compare_$op"; done
run norms_of_any_size

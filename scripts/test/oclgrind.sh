#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Runs every kernel under Oclgrind, which checks each memory access and finds data races between work-items:
#   scripts/test/oclgrind.sh BUILD
# The operations are small, because each instruction is interpreted. Any report and any wrong result fails the script.
set -euo pipefail

build=${1:?usage: scripts/test/oclgrind.sh BUILD}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

library=$(find /usr/lib /usr/local/lib -name liboclgrind-rt-icd.so -print -quit)
if [ -z "$library" ]; then
    echo "oclgrind: liboclgrind-rt-icd.so is missing: install oclgrind" >&2
    exit 1
fi
echo "$library" >"$folder/oclgrind.icd" # the only driver that the tests see

# With doubles, and as on devices without them.
for double in on off; do
    code=0
    OCL_ICD_VENDORS=$folder/oclgrind.icd OCLGRIND_DATA_RACES=1 OCLGRIND_CHECK_API=1 \
        MYXTTS_CACHE=$folder MYXTTS_CLBLAST=0 MYXTTS_OPENCL_DOUBLE=$double MYXTTS_TEST_TINY=1 "$build/test_opencl_ops" >"$folder/log" 2>&1 || code=$?
    if [ $code -ne 0 ] || grep -qE '^skipped:|Oclgrind|data race|Invalid (read|write)' "$folder/log"; then
        cat "$folder/log"
        echo "oclgrind: the run failed or errors were reported (see above)" >&2
        exit 1
    fi
    grep -E 'PASSED' "$folder/log"
done
echo "oclgrind: no errors reported"

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# What the real NVRTC makes of the kernels, executed by the PTX machine (tests/double/ptx.h): every operation, products,
# recorded work and trainings, for each generation of GPUs that the NVRTC knows, with approximations that err as much as
# they may in either direction. `make test` runs a part of it, for one generation.
#
#     scripts/test_ptx.sh build [generations]

set -euo pipefail
build="$(realpath "${1:?usage: scripts/test_ptx.sh BUILD [GENERATIONS]}")"
read -ra wanted <<<"${2:-70 75 80 86 89 90 100 120}"
cd "$build"

if ! ./test_nvrtc find; then
    printf 'test-ptx: NVRTC was not found; install the CUDA toolkit, or run scripts/nvrtc.sh %s\n' "$1" >&2
    exit 77
fi
log="$(mktemp)"
trap 'rm -f "$log"' EXIT

# try ARCH BOUND PROGRAM
try()
{
    local start=$SECONDS code=0
    CUDA_DOUBLE_PTX=1 CUDA_DOUBLE_CAPABILITY="$1" CUDA_DOUBLE_PTX_BOUND="$2" CUDA_DOUBLE_PTX_SEED="$((1 + RANDOM))" \
        MYXTTS_TEST_CASES="${CASES:-14}" "./$3" >"$log" 2>&1 || code=$?
    if [[ $code -ne 0 ]]; then
        cat "$log" >&2
        printf 'test-ptx: %s failed for generation %s with bound %s (see above)\n' "$3" "$1" "$2" >&2
        exit 1
    fi
    printf 'compute_%-4s bound %2s  %-20s passed in %d s\n' "$1" "$2" "$3" $((SECONDS - start))
}

tried=0
for arch in "${wanted[@]}"; do
    if ! ./test_nvrtc knows "$arch"; then
        printf 'compute_%-4s this NVRTC does not know it\n' "$arch"
        continue
    fi
    tried=$((tried + 1))
    for program in test_cuda_ops test_cuda_products test_cuda_graph test_cuda_train; do
        for bound in -1 1; do try "$arch" "$bound" "$program"; done
    done
done
[[ $tried -gt 0 ]] || { printf 'test-ptx: none of the generations is known to this NVRTC\n' >&2 && exit 1; }

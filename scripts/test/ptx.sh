#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# What the real NVRTC makes of the kernels, executed by the PTX machine (tests/double/ptx.h): every operation, products,
# recorded work, trainings on one device and on two, and speech, for each generation of GPUs, with approximations that err as much as they may in either
# direction. `make test` runs a part of it, for one generation. Generations that the installed NVRTC does not know get
# the one of PyPI, in BUILD/venv; those whose PTX is the same as that of one before are named and not run again.
#
#     scripts/test/ptx.sh build [generations]

set -euo pipefail
here="$(realpath "$(dirname "${BASH_SOURCE[0]}")")"
build="$(realpath "${1:?usage: scripts/test/ptx.sh BUILD [GENERATIONS]}")"
read -ra wanted <<<"${2:-70 75 80 86 89 90 100 120}"
cd "$build"

if ! ./test_nvrtc find; then
    printf 'test-ptx: NVRTC was not found; install the CUDA toolkit, or run scripts/build/nvrtc.sh %s\n' "$1" >&2
    exit 77
fi
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT

given="${MYXTTS_CUDA_NVRTC:-}"
# text ARCH: its PTX in the folder; NVRTC of PyPI where the installed one does not know it
text()
{
    export MYXTTS_CUDA_NVRTC="$given"
    if ./test_nvrtc ptx "$1" >"$folder/$1.ptx"; then return; fi
    "$here/../build/peers.sh" "$build/venv" nvrtc
    MYXTTS_CUDA_NVRTC="$(find "$build/venv" -name libnvrtc.so.12 -print -quit)"
    [[ -n $MYXTTS_CUDA_NVRTC ]] && ./test_nvrtc ptx "$1" >"$folder/$1.ptx"
}

# code ARCH: a sum of the instructions, without the lines that name the generation
code()
{
    grep -Ev '^(//|\.version|\.target)' "$folder/$1.ptx" | md5sum
}

# try ARCH BOUND PROGRAM
try()
{
    local start=$SECONDS code=0
    CUDA_DOUBLE_PTX=1 CUDA_DOUBLE_CAPABILITY="$1" CUDA_DOUBLE_PTX_BOUND="$2" CUDA_DOUBLE_PTX_SEED="$((1 + RANDOM))" \
        MYXTTS_TEST_CASES="${CASES:-14}" "./$3" >"$folder/log" 2>&1 || code=$?
    if [[ $code -ne 0 ]]; then
        cat "$folder/log" >&2
        printf 'test-ptx: %s failed for generation %s with bound %s (see above)\n' "$3" "$1" "$2" >&2
        exit 1
    fi
    printf 'compute_%-4s bound %2s  %-20s passed in %d s\n' "$1" "$2" "$3" $((SECONDS - start))
}

declare -A ran=()
for arch in "${wanted[@]}"; do
    if ! text "$arch"; then
        printf 'compute_%-4s no NVRTC here knows it\n' "$arch"
        continue
    fi
    sum="$(code "$arch")"
    if [[ -n ${ran[$sum]:-} ]]; then
        printf 'compute_%-4s the same instructions as compute_%s\n' "$arch" "${ran[$sum]}"
        continue
    fi
    ran[$sum]="$arch"
    for program in test_cuda_ops test_cuda_products test_cuda_graph test_cuda_train test_cuda_pair; do
        for bound in -1 1; do try "$arch" "$bound" "$program"; done
    done
done
[[ ${#ran[@]} -gt 0 ]] || { printf 'test-ptx: none of the generations is known to an NVRTC here\n' >&2 && exit 1; }

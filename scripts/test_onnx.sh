#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Checks exported networks: build/test_export and build/test_export_sound leave graphs and the results of our own networks
# in a folder, and the real onnxruntime (from PyPI, installed once in the build folder) computes the same: scripts/test_onnx.py.
#
#     scripts/test_onnx.sh build

set -euo pipefail
here="$(realpath "$(dirname "${BASH_SOURCE[0]}")")"
build="$(realpath "${1:?usage: scripts/test_onnx.sh BUILD}")"

"$here/peers.sh" "$build/venv" onnx
if ! "$build/venv/bin/python" -c 'import numpy, onnx, onnxruntime' 2>/dev/null; then
    printf 'test-onnx: onnxruntime could not be installed; see %s\n' "$build/venv.log" >&2
    exit 1
fi

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
for program in test_export test_export_sound test_export_voice; do
    MX_EXPORT_FOLDER="$folder" "$build/$program" >"$folder/log" 2>&1 || { cat "$folder/log" >&2; exit 1; }
done
"$build/venv/bin/python" "$here/test_onnx.py" "$folder"

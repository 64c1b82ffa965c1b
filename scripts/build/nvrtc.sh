#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Where test_nvrtc of a build folder finds no NVRTC, takes it from NVIDIA's package on PyPI, once, into FOLDER/venv. If
# that is not possible (no network, another machine), it says why and succeeds, and the test is skipped.
#
#     scripts/build/nvrtc.sh build

set -euo pipefail
here="$(realpath "$(dirname "${BASH_SOURCE[0]}")")"
build="$(realpath "${1:?usage: scripts/build/nvrtc.sh BUILD}")"

if (cd "$build" && ./test_nvrtc find); then exit 0; fi
PIP_RETRIES=1 timeout 300 "$here/peers.sh" "$build/venv" nvrtc

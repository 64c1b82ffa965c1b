#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Makes a Python environment in FOLDER for the peers of `make bench-data` (DALI, torchaudio) or `make bench-train`
# (PyTorch), for the judges of `make bench-sound` and `make bench-voices` (voices), the servers of `make bench-serve` (serving) or the clients of
# `make test-serve` (serve), for `make test-onnx` and `make test-tensorboard`, or with NVIDIA's compiler for test_nvrtc.
#
#     scripts/build/peers.sh build/venv data|nvrtc|onnx|serve|serving|sound|train|tensorboard|voices
#
# What is installed is pinned: scripts/build/requirements/PURPOSE.txt has every version and its hash (scripts/build/pin.sh). If it
# cannot be installed (no network, no Python, another machine than the hashes are for), the script says so and succeeds, and
# the benchmark runs without these peers. Only benchmarks and tests with programs of others call it. FOLDER/sherpa-1 has
# sherpa-onnx 1, which finds phonemes with espeak-ng; version 2 has a lexicon instead.

set -uo pipefail

usage='usage: scripts/build/peers.sh FOLDER data|nvrtc|onnx|serve|serving|sound|train|tensorboard|voices'
venv="${1:?$usage}"
purpose="${2:?$usage}"
log="$venv.log"
requirements="$(realpath "$(dirname "${BASH_SOURCE[0]}")")/requirements"

# peers_install FILE OPTIONS…: what FILE.txt lists, unless that is what was installed last.
peers_install()
{
    local file="$1"
    shift
    cmp -s "$requirements/$file.txt" "$venv/$file.txt" && return
    printf 'peers: installing %s.txt (once)\n' "$file"
    # Nothing is built with tools that pip would download for itself: they would not be pinned.
    if "$venv/bin/pip" install --quiet --disable-pip-version-check --no-build-isolation --require-hashes \
        --requirement "$requirements/$file.txt" "$@" >"$log" 2>&1; then
        cp "$requirements/$file.txt" "$venv/$file.txt"
    else
        printf 'peers: %s.txt cannot be installed: %s\n' "$file" "$(tail -n 1 "$log")"
    fi
}

mkdir -p "$(dirname "$venv")"
if ! [[ -x $venv/bin/python ]] && ! python3 -m venv "$venv" >"$log" 2>&1; then
    printf 'peers: continuing without peers, no Python environment could be made: %s\n' "$(tail -n 1 "$log")"
    exit 0
fi
case $purpose in
onnx)
    peers_install onnx
    peers_install sherpa-1 --target "$venv/sherpa-1" --upgrade
    ;;
sound | voices)
    peers_install build
    peers_install "$purpose"
    ;;
data | nvrtc | serve | serving | tensorboard | train)
    peers_install "$purpose"
    ;;
*)
    printf '%s\n' "$usage" >&2
    exit 2
    ;;
esac
exit 0

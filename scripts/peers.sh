#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Makes a Python environment in FOLDER for the peers of `make bench-data` (DALI, torchaudio) or `make bench-train`
# (PyTorch), for the judges of `make bench-sound` and `make bench-voices` (voices), the servers of `make bench-serve` (serving) or the clients of
# `make test-serve` (serve), or for `make test-onnx` and `make test-tensorboard`.
#
#     scripts/peers.sh build/venv data|onnx|serve|serving|sound|train|tensorboard|voices
#
# Each peer is installed separately. If one cannot be installed (no network, no Python, no wheel for this machine), the
# script says so and succeeds, and the benchmark runs without that peer. Only benchmarks and tests with programs of others
# call it. FOLDER/sherpa-1 has sherpa-onnx 1, which finds phonemes with espeak-ng; version 2 has a lexicon instead.

set -uo pipefail

venv="${1:?usage: scripts/peers.sh FOLDER data|onnx|serve|serving|sound|train|tensorboard|voices}"
bench="${2:?usage: scripts/peers.sh FOLDER data|onnx|serve|serving|sound|train|tensorboard|voices}"
log="$venv.log"

# peer_add module packages…: installs the packages unless the module can be imported already.
peer_add()
{
    local module="$1"
    shift
    "$venv/bin/python" -c "import $module" 2>/dev/null && return
    printf 'peers: installing %s (once)\n' "${module%%,*}"
    if ! "$venv/bin/pip" install --quiet --disable-pip-version-check "$@" >"$log" 2>&1 ||
        ! "$venv/bin/python" -c "import $module" >>"$log" 2>&1; then
        printf 'peers: continuing without %s: %s\n' "${module%%,*}" "$(tail -n 1 "$log")"
    fi
}

mkdir -p "$(dirname "$venv")"
if ! [[ -x $venv/bin/python ]] && ! python3 -m venv "$venv" >"$log" 2>&1; then
    printf 'peers: continuing without peers, no Python environment could be made: %s\n' "$(tail -n 1 "$log")"
    exit 0
fi
case $bench in
data)
    peer_add nvidia.dali nvidia-dali-cuda120
    # torchaudio does not say which torch it was built with; it is the one with the same version number.
    peer_add torchaudio torchaudio torch
    audio="$("$venv/bin/python" -c 'import importlib.metadata as m; print(m.version("torchaudio"))' 2>/dev/null)"
    [[ -z $audio ]] || peer_add torchaudio "torch==${audio%%+*}"
    ;;
onnx)
    peer_add numpy numpy
    peer_add onnx onnx
    peer_add onnxruntime onnxruntime
    peer_add piper piper-tts
    peer_add flask 'piper-tts[http]'
    peer_add wyoming_piper wyoming-piper
    peer_add sherpa_onnx 'sherpa-onnx>=2'
    PYTHONPATH="$venv/sherpa-1" peer_add 'sherpa_onnx, sys; sys.exit(sherpa_onnx.__version__ >= "2")' \
        --target "$venv/sherpa-1" 'sherpa-onnx>=1.13,<2'
    ;;
serve)
    peer_add wyoming wyoming
    peer_add openai openai
    ;;
serving)
    peer_add piper.http_server 'piper-tts[http]'
    peer_add wyoming_piper wyoming-piper
    ;;
sound)
    peer_add librosa librosa
    peer_add onnxruntime onnxruntime
    peer_add speechmos speechmos
    peer_add pesq pesq
    peer_add pystoi pystoi
    ;;
voices)
    peer_add onnxruntime onnxruntime
    peer_add scipy scipy
    peer_add speechmos speechmos
    # One of its packages imports pkg_resources, which setuptools no longer has from 81 on.
    peer_add resemblyzer resemblyzer 'setuptools<81'
    ;;
train)
    peer_add torch torch
    peer_add numpy numpy
    ;;
tensorboard)
    peer_add tensorboard tensorboard
    peer_add PIL pillow
    ;;
*)
    printf 'usage: scripts/peers.sh FOLDER data|onnx|serve|serving|sound|train|tensorboard|voices\n' >&2
    exit 2
    ;;
esac
exit 0

#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Checks exported voices with the real onnxruntime, Piper and sherpa-onnx (from PyPI, installed once in the build folder):
#
#   - the programs test_export* leave graphs and the results of our own networks in a folder, and onnxruntime computes the
#     same (scripts/test/onnx_check.py): a change of the networks, the pitch path or the sound that is not repeated in src/export
#     fails here;
#   - two small voices of two speakers, one that reads characters and one that reads phonemes, are trained and exported;
#     Piper, its HTTP server, wyoming-piper and sherpa-onnx 1 and 2 make the same sound as `myxtts synth`
#     (scripts/test/onnx_voices.py);
#   - a recogniser understands two speakers of the base voice in those programs as well as in `myxtts synth`
#     (scripts/test/onnx_words.sh). ONNX_MINUTES=10 takes two voices that are trained for that long instead, as is done where
#     there is no base voice in voices/; ONNX_MINUTES=0 leaves this part out, as .ci/run does.
#
#     scripts/test/onnx.sh build
#
# If no package index can be reached, it fails; with ONNX_OFFLINE=skip it says so and succeeds.

set -euo pipefail
here="$(realpath "$(dirname "${BASH_SOURCE[0]}")")"
build="$(realpath "${1:?usage: scripts/test/onnx.sh BUILD}")"
python="$build/venv/bin/python"
# shellcheck source=tests/support/tones.sh
. "$here/../../tests/support/tones.sh"
# shellcheck source=scripts/build/peers_need.sh
. "$here/../build/peers_need.sh"

export PIP_RETRIES=1 # of each package, where no index can be reached
"$here/../build/peers.sh" "$build/venv" onnx
peers_need test-onnx "${ONNX_OFFLINE:-}" numpy onnx onnxruntime piper flask wyoming_piper sherpa_onnx
[[ -d $build/venv/sherpa-1/sherpa_onnx ]] || peer_missing test-onnx "${ONNX_OFFLINE:-}" 'sherpa_onnx 1'

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
for program in test_export test_export_sound test_export_voice; do
    MX_EXPORT_FOLDER="$folder" "$build/$program" >log 2>&1 || { cat log >&2; exit 1; }
done
"$python" "$here/onnx_check.py" "$folder"

text='the tone number e the tone number b.'
printf '%s\n' "$text" >words.txt
tones corpus 40
for tokens in chars phonemes; do
    printf 'a voice that reads %s\n' "$tokens"
    "$build/myxtts" train --quiet --train-data corpus --output "$tokens" "${small[@]}" --set data.tokens="$tokens" --part both --steps 20 \
        --epochs 100
    words=()
    [[ $tokens = chars ]] || words=(--words words.txt)
    "$build/myxtts" export "$tokens" --quiet --format piper --output "voice-$tokens"
    "$build/myxtts" export "$tokens" --quiet --format sherpa --output "voice-$tokens" "${words[@]}"
    for speaker in high low; do # in the order of their numbers
        "$build/myxtts" synth --quiet -c "$tokens" --speaker "$speaker" --text "$text" -o "$tokens-$speaker.wav"
    done
    for way in piper servers sherpa; do
        "$python" "$here/onnx_voices.py" "$way" "voice-$tokens" "$text" "$tokens-high.wav" "$tokens-low.wav"
    done
    PYTHONPATH="$build/venv/sherpa-1" "$python" "$here/onnx_voices.py" sherpa "voice-$tokens" "$text" "$tokens-high.wav" "$tokens-low.wav"
done

cd "$here/../.."
usual=10
[[ ! -e voices/base.voice.safetensors ]] || usual=base
[[ ${ONNX_MINUTES:-$usual} == 0 ]] || "$here/onnx_words.sh" "$build" "${ONNX_MINUTES:-$usual}"

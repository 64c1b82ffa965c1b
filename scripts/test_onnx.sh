#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Checks exported voices with the real onnxruntime, Piper and sherpa-onnx (from PyPI, installed once in the build folder):
#
#   - the programs test_export* leave graphs and the results of our own networks in a folder, and onnxruntime computes the
#     same (scripts/test_onnx.py);
#   - two small voices of two speakers, one that reads characters and one that reads phonemes, are trained and exported;
#     Piper and sherpa-onnx make the same sound as `myxtts synth` (scripts/onnx_voices.py).
#
#     scripts/test_onnx.sh build

set -euo pipefail
here="$(realpath "$(dirname "${BASH_SOURCE[0]}")")"
build="$(realpath "${1:?usage: scripts/test_onnx.sh BUILD}")"
# shellcheck source=tests/support/tones.sh
. "$here/../tests/support/tones.sh"

"$here/peers.sh" "$build/venv" onnx
for module in numpy onnx onnxruntime piper sherpa_onnx; do
    if ! "$build/venv/bin/python" -c "import $module" 2>/dev/null; then
        printf 'test-onnx: %s could not be installed; see %s\n' "$module" "$build/venv.log" >&2
        exit 1
    fi
done

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
for program in test_export test_export_sound test_export_voice; do
    MX_EXPORT_FOLDER="$folder" "$build/$program" >log 2>&1 || { cat log >&2; exit 1; }
done
"$build/venv/bin/python" "$here/test_onnx.py" "$folder"

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
    "$build/venv/bin/python" "$here/onnx_voices.py" "voice-$tokens" "$text" "$tokens-high.wav" "$tokens-low.wav"
done

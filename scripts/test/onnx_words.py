#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
#
# What scripts/test/onnx_words.sh asks Piper and sherpa-onnx for.
#
#     scripts/test/onnx_words.py piper|sherpa VOICE_FOLDER LINES SPEAKER OUTPUT_FOLDER
#         speaks the lines "ID|TEXT" as OUTPUT_FOLDER/ID.wav, with the program piper or the sherpa-onnx of this Python
#     scripts/test/onnx_words.py others LINES SYNTH_FOLDER FOLDER
#         prints the lines whose sound in FOLDER is not that of SYNTH_FOLDER, and on standard error how close the others are
#     scripts/test/onnx_words.py readings VOICE_FOLDER TEXTS READINGS
#         compares the phonemes that Piper makes of the lines of TEXTS with ours (from build/reading), and prints both
#         where they differ

import json
import subprocess
import sys
import tempfile
import unicodedata
import wave
from pathlib import Path

import numpy as np
from onnx_voices import sherpa_open, wav_read

# Of full scale. The rounds of Griffin-Lim enlarge rounding where a part of the spectrum is nearly nothing: onnxruntime
# itself differs by 1e-3 in such a place if its optimiser is switched off. Other phonemes differ by 0.1 and more.
SAME_BOUND = 0.02


def lines_read(path):
    with open(path, encoding="utf-8") as lines:
        return [line.rstrip("\n").split("|")[:2] for line in lines]


def piper_say(folder, lines, speaker, output):
    """Piper names its files by the time at which it wrote them."""
    with tempfile.TemporaryDirectory() as place:
        program = [str(Path(sys.executable).parent / "piper"), "--model", str(folder / "voice.onnx")]
        subprocess.run(
            [*program, "--speaker", str(speaker), "--no-normalize", "--output-dir", place],
            input="".join(text + "\n" for _, text in lines),
            text=True,
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        files = sorted(Path(place).glob("*.wav"), key=lambda path: int(path.stem))
        if len(files) != len(lines):
            sys.exit(f"test-onnx: Piper makes {len(files)} files of {len(lines)} lines")
        for (name, _), path in zip(lines, files):
            (output / f"{name}.wav").write_bytes(path.read_bytes())


def sherpa_say(folder, lines, speaker, output):
    tts, how, _, _ = sherpa_open(folder)
    how.sid = speaker
    for name, text in lines:
        samples = np.array(tts.generate(text, how).samples)
        with wave.open(str(output / f"{name}.wav"), "wb") as file:
            file.setnchannels(1)
            file.setsampwidth(2)
            file.setframerate(tts.sample_rate)
            file.writeframes(np.rint(np.clip(samples, -1, 1) * 32767).astype(np.int16).tobytes())


def others_print(path, synth, folder):
    """Samples that agree up to rounding need not be recognised again."""
    worst = []
    for name, text in lines_read(path):
        wanted, audio = wav_read(f"{synth}/{name}.wav"), wav_read(f"{folder}/{name}.wav")
        distance = np.abs(audio - wanted).max() if len(audio) == len(wanted) else np.inf
        if distance <= SAME_BOUND:
            worst.append(distance)
        else:
            print(f"{name}|{text}")
    if worst:
        print(
            f"{Path(folder).name}: {len(worst)} sentences have the samples of synth: {np.sum(np.array(worst) <= 1e-3)} within "
            f"1e-3, half of them within {np.median(worst):.1e}, all within {max(worst):.1e}",
            file=sys.stderr,
        )


def known(phonemes, symbols):
    """The phonemes as the voice gets them: those it does not have are left out."""
    kept = "".join(point for point in unicodedata.normalize("NFD", phonemes) if point in symbols)
    return unicodedata.normalize("NFC", " ".join(kept.split()))


def readings_compare(folder, texts, readings):
    from piper.phonemize_espeak import EspeakPhonemizer

    with open(folder / "voice.onnx.json", encoding="utf-8") as file:
        config = json.load(file)
    symbols = set(config["phoneme_id_map"]) - {"_", "^", "$"}
    phonemizer = EspeakPhonemizer()
    different = 0
    with open(texts, encoding="utf-8") as lines, open(readings, encoding="utf-8") as answers:
        pairs = list(zip(lines.read().splitlines(), answers.read().splitlines(), strict=True))
    for text, answer in pairs:
        words, ours = answer.split("|")
        sentences = phonemizer.phonemize(config["espeak"]["voice"], text)
        theirs = known(" ".join("".join(sentence) for sentence in sentences), symbols)
        ours = known(ours, symbols)
        if ours != theirs:
            different += 1
            print(f"  {text}\n    ours:  {ours}   ({words})\n    Piper: {theirs}")
    print(f"{different} of {len(pairs)} texts are read differently")


def main():
    what, folder = sys.argv[1], Path(sys.argv[2])
    if what == "others":
        others_print(*sys.argv[2:])
        return
    if what == "readings":
        readings_compare(folder, sys.argv[3], sys.argv[4])
        return
    say = {"piper": piper_say, "sherpa": sherpa_say}[what]
    say(folder, lines_read(sys.argv[3]), int(sys.argv[4]), Path(sys.argv[5]))


main()

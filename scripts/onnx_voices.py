#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Speaks with an exported voice in Piper and sherpa-onnx and compares the sound with that of `myxtts synth`.
#
#     scripts/onnx_voices.py VOICE_FOLDER TEXT SPOKEN.wav…
#
# VOICE_FOLDER has the files for both programs; SPOKEN.wav are what `synth` made of TEXT for speaker 0, 1 …
# Prints what it found; fails if a sound differs, or a program does not speak.

import sys
import wave
from pathlib import Path

import numpy as np
import sherpa_onnx
from piper import PiperVoice, SynthesisConfig

SAMPLE_BOUND = 1e-3  # of full scale


def wav_read(path):
    with wave.open(path) as file:
        return np.frombuffer(file.readframes(file.getnframes()), np.int16) / 32768


def piper_speak(folder, text, spoken):
    voice = PiperVoice.load(folder / "voice.onnx")
    several = voice.config.num_speakers > 1
    for speaker, path in enumerate(spoken):
        wanted = wav_read(path)
        how = SynthesisConfig(speaker_id=speaker if several else None, normalize_audio=False)
        chunks = list(voice.synthesize(text, how, include_alignments=True))
        if len(chunks) != 1:
            sys.exit(f"test-onnx: Piper makes {len(chunks)} pieces of '{text}'")
        audio, places = chunks[0].audio_float_array, chunks[0].phoneme_id_samples
        if len(audio) != len(wanted):
            sys.exit(f"test-onnx: Piper makes {len(audio)} samples, synth {len(wanted)}")
        worst = np.abs(audio - wanted).max()
        print(f"piper, speaker {speaker}: {len(audio) / voice.config.sample_rate:.2f} s, samples within {worst:.1e} of synth")
        if not worst <= SAMPLE_BOUND:
            sys.exit(f"test-onnx: the sound differs by {worst:g}, more than {SAMPLE_BOUND:g}")
        hop = voice.config.hop_length
        if places is None or places.sum() != len(audio) + hop:
            sys.exit("test-onnx: Piper's alignment does not fit the sound")
        # Twice as slow: about twice as long, each frame being whole.
        slow = next(iter(voice.synthesize(text, SynthesisConfig(speaker_id=how.speaker_id, length_scale=2.0))))
        ratio = len(slow.audio_float_array) / len(audio)
        if not 1.5 <= ratio <= 2.1:
            sys.exit(f"test-onnx: a length scale of 2 makes the sound {ratio:.2f} times as long")


def sherpa_speak(folder, text, spoken):
    model = sherpa_onnx.OfflineTtsVitsModelConfig(model=str(folder / "voice.onnx"), tokens=str(folder / "tokens.txt"))
    lexicon = folder / "lexicon.txt"
    if lexicon.exists():
        model.lexicon = str(lexicon)
    config = sherpa_onnx.OfflineTtsConfig(model=sherpa_onnx.OfflineTtsModelConfig(vits=model, num_threads=1))
    if not config.validate():
        sys.exit("test-onnx: sherpa-onnx does not accept the voice")
    tts = sherpa_onnx.OfflineTts(config)
    for speaker, path in enumerate(spoken):
        wanted = wav_read(path)
        how = sherpa_onnx.GenerationConfig()
        how.sid = speaker
        how.silence_scale = 1.0  # all of the sound
        audio = np.array(tts.generate(text, how).samples)
        print(f"sherpa-onnx {sherpa_onnx.__version__}, speaker {speaker}: {len(audio) / tts.sample_rate:.2f} s", end="")
        if lexicon.exists():
            # A lexicon reads each word by itself, so some phonemes differ.
            print(f" (synth: {len(wanted) / tts.sample_rate:.2f} s)")
            if not 0.7 * len(wanted) <= len(audio) <= 1.4 * len(wanted) or not np.abs(audio).max() > 1e-4:
                sys.exit("test-onnx: sherpa-onnx does not say what synth says")
            continue
        if len(audio) != len(wanted):
            sys.exit(f"\ntest-onnx: sherpa-onnx makes {len(audio)} samples, synth {len(wanted)}")
        worst = np.abs(audio - wanted).max()
        print(f", samples within {worst:.1e} of synth")
        if not worst <= SAMPLE_BOUND:
            sys.exit(f"test-onnx: the sound differs by {worst:g}, more than {SAMPLE_BOUND:g}")


def main():
    folder, text, spoken = Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
    piper_speak(folder, text, spoken)
    sherpa_speak(folder, text, spoken)


main()

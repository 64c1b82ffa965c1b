#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Makes tests/golden/mel.safetensors: log-mels by librosa of signals that tests/support/sound.c computes in the same way.
# Needed only to make the file again, never to build or to test:
#
#     python3 -m venv /tmp/venv && /tmp/venv/bin/pip install librosa
#     /tmp/venv/bin/python scripts/test/make_golden.py

import json
import os
import struct

import librosa
import numpy as np

RATE, FFT_SIZE, HOP, BANDS, LOW_HZ, HIGH_HZ, FLOOR = 22050, 1024, 256, 80, 0.0, 8000.0, 1e-5


def hiss(count):
    """Noise by a linear congruence, from -0.5 to 0.5."""
    state, out = 1, np.empty(count)
    for i in range(count):
        state = (1103515245 * state + 12345) % 2**31
        out[i] = state / 2**31 - 0.5
    return out


def voice(count):
    """Ten harmonics of a rising pitch and some noise."""
    t = np.arange(count) / RATE
    phase = 140 * t + 30 * t * t
    tone = sum(np.sin(2 * np.pi * h * phase) / h for h in range(1, 11))
    return (0.1 * tone + 0.01 * hiss(count)).astype(np.float32)


def chirp(count):
    """From 200 Hz upwards by 24 kHz a second, and some noise."""
    t = np.arange(count) / RATE
    return (0.5 * np.sin(2 * np.pi * (200 * t + 12000 * t * t)) + 0.001 * hiss(count)).astype(np.float32)


def log_mel(samples):
    bands = librosa.filters.mel(sr=RATE, n_fft=FFT_SIZE, n_mels=BANDS, fmin=LOW_HZ, fmax=HIGH_HZ, dtype=np.float64)
    spectrum = librosa.stft(samples.astype(np.float64), n_fft=FFT_SIZE, hop_length=HOP, pad_mode="reflect")
    return np.log(np.maximum(bands @ np.abs(spectrum), FLOOR)).T.astype("<f4")


def main():
    tensors = {
        "voice": log_mel(voice(3500)),
        "chirp": log_mel(chirp(3000)),
        "short": log_mel(voice(700)),
        "tiny": log_mel(voice(300)),
        "silence": log_mel(np.zeros(600, np.float32)),
    }
    header, data = {"__metadata__": {"made_by": "librosa " + librosa.__version__}}, b""
    for name, tensor in tensors.items():
        raw = np.ascontiguousarray(tensor).tobytes()
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-(8 + len(text)) % 64)
    folder = os.path.join(os.path.abspath(__file__ + "/../../.."), "tests", "golden")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "mel.safetensors"), "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


main()

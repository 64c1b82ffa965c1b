# SPDX-License-Identifier: GPL-3.0-or-later
#
# Decode and log-mel with torchaudio, one thread. See common.py for how it is called.

import common

files, seconds = common.start()
try:
    import torch
    import torchaudio
except Exception as error:  # not installed
    common.skip(error)

import array
import wave

torch.set_num_threads(1)
transform = torchaudio.transforms.MelSpectrogram(
    sample_rate=common.RATE, n_fft=common.FFT_SIZE, hop_length=common.HOP, power=1.0, n_mels=common.BANDS,
    f_min=common.LOW_HZ, f_max=common.HIGH_HZ, norm="slaney", mel_scale="slaney")


def load_wave(path):
    """For builds of torchaudio that bring no decoder: 16-bit WAV by the standard library."""
    with wave.open(path, "rb") as file:
        samples = array.array("h", file.readframes(file.getnframes()))
    return torch.frombuffer(samples, dtype=torch.int16).to(torch.float32).div_(32768).unsqueeze(0)


def load(path):
    return torchaudio.load(path)[0]


try:
    load(files[0])
except Exception:
    load = load_wave


def work():
    with torch.inference_mode():
        for path in files:
            torch.log(torch.clamp(transform(load(path)), min=common.FLOOR))


common.measure(work, seconds)

# SPDX-License-Identifier: GPL-3.0-or-later
#
# sound_judge.py FOLDER RESULT.json ROUNDS SPEECH VOICE...: judges the copies that scripts/bench/sound.sh made.
#
# FOLDER/VOICE/recording/*.wav are the recordings, every other folder of FOLDER/VOICE has copies of the same names; of
# a folder NAME, NAME.time has the seconds of sound and the CPU seconds of work. Before that, copies by librosa are made here:
# Griffin-Lim from the pseudo-inverse of the mel, as many programs have it. SPEECH (JSON) is what the script knows about
# free-running speech, or null. RESULT.png gets spectrograms of one second of a recording and of its copies.
#
# Crest: highest by mean (RMS) value of the envelope within 46 ms, in dB, mean over the voiced frames of the recording,
# minus the recording's own: above 0 is buzz, below 0 smeared pulses.

import glob
import json
import os
import struct
import sys
import time
import warnings
import zlib

import librosa
import numpy as np
from pesq import pesq
from pystoi import stoi
from scipy.io import wavfile
from scipy.ndimage import gaussian_filter1d
from scipy.signal import butter, hilbert, sosfiltfilt
from sound_overall import overall, read

warnings.filterwarnings("ignore")

RATE, SIZE, HOP, BANDS, FLOOR = 22050, 1024, 256, 80, 1e-5
RANGES = ((1000, 2000), (2000, 4000), (4000, 7500))
USUAL, SMOOTH, RECORDING, UNHEARD, VOCODER = "pseudo-inverse", "smooth-", "recording", "unheard", "vocoder-"
# PESQ above plain Griffin-Lim: of projections, of a vocoder that learned the voice, of one that never heard it
PROJECTIONS_GAIN, VOICE_GAIN, UNHEARD_GAIN = 0.35, {"human": 0.8, "rms": 0.7}, 0.5
SMOOTH_PESQ, OVERALL_LOSS, CREST_DB, SPEECH_LOSS = 3.0, 0.05, 0.5, 0.10


def names(folder):
    return sorted(os.path.basename(p) for p in glob.glob(folder + "/recording/*.wav"))


def usual_copies(folder, rounds):
    """Griffin-Lim of librosa from the pseudo-inverse, for the true and (human) the smoothed mel."""
    weights = librosa.filters.mel(sr=RATE, n_fft=SIZE, n_mels=BANDS, fmin=0, fmax=8000)
    inverse = np.linalg.pinv(weights)
    for prefix in ("", SMOOTH) if os.path.isdir(folder + "/smooth-plain") else ("",):
        to, work, seconds = folder + "/" + prefix + USUAL, 0.0, 0.0
        os.makedirs(to, exist_ok=True)
        for name in names(folder):
            x = read(folder + "/recording/" + name, RATE)
            mel = np.log(np.maximum(weights @ np.abs(librosa.stft(x, n_fft=SIZE, hop_length=HOP, pad_mode="reflect")), FLOOR))
            if prefix:
                mel = gaussian_filter1d(mel, 1.0, axis=1)
            begin = time.process_time()
            magnitude = np.maximum(inverse @ np.exp(mel), 1e-8)
            y = librosa.griffinlim(magnitude, n_iter=rounds, hop_length=HOP, n_fft=SIZE, momentum=0.99, length=len(x),
                                   random_state=0)
            work += time.process_time() - begin
            seconds += len(y) / RATE
            wavfile.write(to + "/" + name, RATE, np.round(np.clip(y, -1, 1) * 32767).astype(np.int16))
        with open(to + ".time", "w") as file:
            file.write(f"{seconds:.3f} {work:.4f}\n")


def frames(x):
    count = 1 + (len(x) - SIZE) // HOP
    return x[np.arange(SIZE)[None] + HOP * np.arange(count)[:, None]]


def voiced(x):
    """Frames that are loud and repeat themselves with a period of 65 to 500 Hz."""
    f = frames(x) * np.hanning(SIZE)
    spectrum = np.fft.rfft(f - f.mean(1, keepdims=True), 2 * SIZE)
    power = np.fft.irfft(np.abs(spectrum) ** 2)[:, :SIZE]
    window = np.fft.irfft(np.abs(np.fft.rfft(np.hanning(SIZE), 2 * SIZE)) ** 2)[:SIZE]
    lags = slice(RATE // 500, RATE // 65)
    peak = (power / (power[:, :1] + 1e-9) * (window[0] / window))[:, lags].max(1)
    return (peak > 0.6) & (power[:, 0] > 1e-3 * power[:, 0].max())


def crests(x, where):
    values = []
    for low, high in RANGES:
        band = sosfiltfilt(butter(4, (low, high), "bandpass", fs=RATE, output="sos"), x.astype(np.float64))
        f = frames(np.abs(hilbert(band)))[where]
        values.append(np.mean(20 * np.log10(f.max(1) / np.sqrt((f**2).mean(1) + 1e-20) + 1e-20)))
    return np.array(values)


def judge(folder, name):
    rows = []
    for wav in names(folder):
        a, b = read(f"{folder}/recording/{wav}", 16000), read(f"{folder}/{name}/{wav}", 16000)
        x, y = read(f"{folder}/recording/{wav}", RATE), read(f"{folder}/{name}/{wav}", RATE)
        n, m = min(len(a), len(b)), min(len(x), len(y))
        where = voiced(x[:m])
        crest = crests(y[:m], where) - crests(x[:m], where) if where.any() else np.full(3, np.nan)
        rows.append([pesq(16000, a[:n], b[:n], "wb"), stoi(a[:n], b[:n], 16000), overall(b), *crest])
    mean = np.nanmean(np.array(rows), 0)
    found = dict(zip(("pesq", "stoi", "dnsmos"), (round(float(v), 3) for v in mean[:3])))
    found["crest_db"] = [round(float(v), 2) for v in mean[3:]]
    if os.path.exists(f"{folder}/{name}.time"):
        seconds, work = (float(v) for v in open(f"{folder}/{name}.time").read().split())
        found["cpu_seconds_a_second"] = round(work / seconds, 4)
    return found


def row_print(name, row):
    crest = "/".join(f"{v:+.1f}" for v in row["crest_db"])
    factor = f"{row['cpu_seconds_a_second']:.4f}" if "cpu_seconds_a_second" in row else ""
    print(f"  {name:26s} {row['pesq']:6.2f} {row['stoi']:6.3f} {row['dnsmos']:7.2f}   {crest:16s} {factor}", flush=True)


def bars(voice, rows):
    """What each row of a voice must reach; the words, the value and its limit."""
    found = []
    for name, row in rows.items():
        gain = (PROJECTIONS_GAIN if name.startswith("projections") else UNHEARD_GAIN if name == UNHEARD
                else VOICE_GAIN.get(voice) if name.startswith(VOCODER) else None)
        for plain in (USUAL, "plain") if gain is not None else ():
            found.append((f"{name}: PESQ above {plain}", row["pesq"] - rows[plain]["pesq"], gain))
        if voice == "human" and name.startswith(VOCODER):
            found.append((f"{name}: DNSMOS above the recordings", row["dnsmos"] - rows[RECORDING]["dnsmos"], -OVERALL_LOSS))
        if voice in VOICE_GAIN and name.startswith(VOCODER):
            found.append((f"{name}: crest, farthest from the recordings' (dB, negated)",
                          -max(abs(v) for v in row["crest_db"]), -CREST_DB))
        if name.startswith(SMOOTH + VOCODER):
            found.append((f"{name}: PESQ", row["pesq"], SMOOTH_PESQ))
    return found


def speech_bars(speech):
    own, plain, recording = (speech[k] for k in ("vocoder", "griffin-lim", RECORDING))
    return [("free-running: DNSMOS above the recordings, at their level and with their silence at the ends",
             own["dnsmos_alike"] - recording["dnsmos_alike"], -SPEECH_LOSS),
            ("free-running: word errors below Griffin-Lim's", float(plain["word_errors"] - own["word_errors"]), 0.0)]


def spectrogram(x, pixels=(128, 512)):
    """The magnitudes of one second up to 8 kHz by a window of 256 samples, which shows pulses and bursts; 0 ... 1."""
    size, step = 256, RATE // pixels[1]
    x = np.pad(x[: RATE + size], (0, max(0, RATE + size - len(x))))
    f = np.abs(np.fft.rfft(x[np.arange(size)[None] + step * np.arange(pixels[1])[:, None]] * np.hanning(size), 2 * size))
    decibels = 20 * np.log10(f[:, : int(8000 * 2 * size / RATE)].T[::-1] + 1e-4)
    rows = (np.arange(pixels[0]) * decibels.shape[0]) // pixels[0]
    return np.clip((decibels[rows] + 60) / 80, 0, 1)


def picture_write(path, folder, kinds):
    """One spectrogram above the other: the recording, then its copies."""
    name = names(folder)[0]
    sounds = [read(f"{folder}/{kind}/{name}", RATE) for kind in kinds]
    loud = np.convolve(sounds[0].astype(np.float64) ** 2, np.ones(RATE), "valid")
    begin = int(np.argmax(loud)) if len(loud) else 0
    gap = np.zeros((4, 512))
    grey = np.concatenate([part for x in sounds for part in (spectrogram(x[begin:]), gap)][:-1])
    levels = np.linspace(0, 1, 48)
    palette = np.stack([np.interp(levels, np.linspace(0, 1, 4), channel)
                        for channel in ((0, 110, 230, 255), (0, 30, 100, 250), (0, 110, 50, 190))], -1)
    pixels = np.round((len(levels) - 1) * grey).astype(np.uint8)
    raw = b"".join(b"\0" + line.tobytes() for line in pixels)
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n")
        for kind, data in ((b"IHDR", struct.pack(">IIBBBBB", pixels.shape[1], pixels.shape[0], 8, 3, 0, 0, 0)),
                           (b"PLTE", np.round(palette).astype(np.uint8).tobytes()),
                           (b"IDAT", zlib.compress(raw, 9)), (b"IEND", b"")):
            file.write(struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)))


def main():
    folder, result, rounds, speech, voices = sys.argv[1], sys.argv[2], int(sys.argv[3]), json.loads(sys.argv[4]), sys.argv[5:]
    report = {"bench": "sound", "rounds": rounds, "voices": {}, "speech": speech, "bars": []}
    for voice in voices:
        own = f"{folder}/{voice}"
        usual_copies(own, rounds)
        made = sorted((os.path.basename(p) for p in glob.glob(own + "/*") if os.path.isdir(p)),
                      key=lambda name: (len(name), name))
        made.sort(key=lambda name: (name != RECORDING, name.startswith(SMOOTH), USUAL not in name, "plain" not in name))
        print(f"\n  {voice + ', ' + str(len(names(own))) + ' recordings':26s} {'PESQ':>6s} {'STOI':>6s} {'DNSMOS':>7s}   "
              f"{'crest dB':16s} CPU seconds for a second of sound, one core")
        rows = report["voices"][voice] = {}
        for name in made:
            rows[name] = judge(own, name)
            row_print(name, rows[name])
        if voice == voices[0]:
            shown = [name for name in made if name.startswith(VOCODER)][-1:]
            picture_write(os.path.splitext(result)[0] + ".png", own, [RECORDING, USUAL, "plain"] + shown)
        report["bars"] += [(voice + ", " + words, value, limit) for words, value, limit in bars(voice, rows)]
    if speech:
        report["bars"] += [("human, " + words, value, limit) for words, value, limit in speech_bars(speech)]
    print()
    for i, (words, value, limit) in enumerate(report["bars"]):
        value = round(value, 3)  # judges give three digits; a difference of them must not fall short by rounding
        held = value >= limit
        print(f"  {words}: {value:+.2f}, bar {limit:+.2f}: {'held' if held else 'missed'}")
        report["bars"][i] = {"row": words, "value": value, "bar": limit, "verdict": "held" if held else "missed"}
    with open(result, "w") as file:
        json.dump(report, file, indent=2)
        file.write("\n")


main()

# SPDX-License-Identifier: GPL-3.0-or-later
#
# sound_judge.py FOLDER RESULT.json ROUNDS VOICE...: judges the copies that scripts/bench_sound.sh made.
#
# FOLDER/VOICE/recording/*.wav are the recordings, every other folder of FOLDER/VOICE has copies of the same names; of
# a folder NAME, NAME.time has the seconds of sound and the CPU seconds of work. Before that, copies by librosa are made here:
# Griffin-Lim from the pseudo-inverse of the mel, as many programs have it.
#
# Crest: highest by mean (RMS) value of the envelope within 46 ms, in dB, mean over the voiced frames of the recording,
# minus the recording's own: above 0 is buzz, below 0 smeared pulses.

import glob
import json
import os
import sys
import time
import warnings

import librosa
import numpy as np
from pesq import pesq
from pystoi import stoi
from scipy.io import wavfile
from scipy.ndimage import gaussian_filter1d
from scipy.signal import butter, hilbert, resample_poly, sosfiltfilt
from speechmos import dnsmos

warnings.filterwarnings("ignore")

RATE, SIZE, HOP, BANDS, FLOOR = 22050, 1024, 256, 80, 1e-5
RANGES = ((1000, 2000), (2000, 4000), (4000, 7500))
BAR = 0.35
USUAL, SMOOTH = "pseudo-inverse", "smooth-"


def read(path, rate):
    own, x = wavfile.read(path)
    x = x.astype(np.float64) / 32768
    common = np.gcd(own, rate)
    return (resample_poly(x, rate // common, own // common) if own != rate else x).astype(np.float32)


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
        overall = dnsmos.run(np.clip(b, -1, 1), 16000)["ovrl_mos"]
        rows.append([pesq(16000, a[:n], b[:n], "wb"), stoi(a[:n], b[:n], 16000), overall, *crest])
    mean = np.nanmean(np.array(rows), 0)
    found = dict(zip(("pesq", "stoi", "dnsmos"), (round(float(v), 3) for v in mean[:3])))
    found["crest_db"] = [round(float(v), 2) for v in mean[3:]]
    if os.path.exists(f"{folder}/{name}.time"):
        seconds, work = (float(v) for v in open(f"{folder}/{name}.time").read().split())
        found["cpu_seconds_a_second"] = round(work / seconds, 4)
    return found


def told(name, row):
    crest = "/".join(f"{v:+.1f}" for v in row["crest_db"])
    factor = f"{row['cpu_seconds_a_second']:.4f}" if "cpu_seconds_a_second" in row else ""
    print(f"  {name:26s} {row['pesq']:6.2f} {row['stoi']:6.3f} {row['dnsmos']:7.2f}   {crest:16s} {factor}", flush=True)


def main():
    folder, result, rounds, voices = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4:]
    report = {"bench": "sound", "rounds": rounds, "voices": {}, "bars": []}
    for voice in voices:
        own = f"{folder}/{voice}"
        usual_copies(own, rounds)
        made = sorted(os.path.basename(p) for p in glob.glob(own + "/*") if os.path.isdir(p) and "corpus" not in p)
        made.sort(key=lambda name: (name != "recording", name.startswith(SMOOTH), USUAL not in name, name))
        print(f"\n  {voice + ', ' + str(len(names(own))) + ' recordings':26s} {'PESQ':>6s} {'STOI':>6s} {'DNSMOS':>7s}   "
              f"{'crest dB':16s} CPU seconds for a second of sound, one core")
        rows = report["voices"][voice] = {}
        for name in made:
            rows[name] = judge(own, name)
            told(name, rows[name])
        for plain in (USUAL, "plain"):
            for name in made:
                if not name.startswith("projections"):
                    continue
                gain = rows[name]["pesq"] - rows[plain]["pesq"]
                verdict = "held" if gain >= BAR else "missed"
                report["bars"].append({"voice": voice, "plain": plain, "row": name, "gain": round(gain, 3), "bar": BAR,
                                       "verdict": verdict})
                print(f"  {name} against {plain}: PESQ {gain:+.2f}, bar {BAR:+.2f}: {verdict}")
    with open(result, "w") as file:
        json.dump(report, file, indent=2)
        file.write("\n")


main()

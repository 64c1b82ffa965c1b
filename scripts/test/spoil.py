#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Spoils rows of a demo corpus (`myxtts corpus demo`), so that `myxtts check` has something to find.

    scripts/test/spoil.py CORPUS

Each of the first rows gets one fault and the others stay good. The script prints ID<tab>FAULT for each, where the fault is
the short name of the finding that should name the row. The same corpus is always spoiled in the same way.
"""
import array
import math
import os
import random
import sys
import wave


def load(path):
    with wave.open(path) as file:
        return file.getparams(), array.array("h", file.readframes(file.getnframes()))


def save(path, params, samples):
    with wave.open(path, "wb") as file:
        file.setparams(params)
        file.writeframes(array.array("h", (max(-32768, min(32767, round(s))) for s in samples)).tobytes())


def noisy(x, rate, rng):
    loud = math.sqrt(sum(s * s for s in x) / len(x))
    return [s + rng.gauss(0, 0.25 * loud) for s in x]


def hum(x, rate, rng):
    return [s + 500 * math.sin(2 * math.pi * 50 * i / rate) + 400 * math.sin(2 * math.pi * 150 * i / rate)
            for i, s in enumerate(x)]


def clipped(x, rate, rng):
    most = max(abs(s) for s in x)
    limit = sorted(abs(s) for s in x)[-max(8, len(x) // 1500)]  # few enough that the row is not rejected
    return [max(-32768, min(32767, s * 32768 / min(limit, most))) for s in x]


def narrow(x, rate, rng):
    """A windowed sinc of 101 taps at 3,400 Hz: telephone sound."""
    cut, half = 2 * 3400 / rate, 50
    taps = [(cut if k == 0 else math.sin(math.pi * cut * k) / (math.pi * k)) * (0.54 + 0.46 * math.cos(math.pi * k / half))
            for k in range(-half, half + 1)]
    padded = [0] * half + list(x) + [0] * half
    return [sum(t * padded[i + k] for k, t in enumerate(taps)) for i in range(len(x))]


def quiet(x, rate, rng):
    return [s * 0.08 for s in x]


def silence(x, rate, rng):
    middle = len(x) // 2
    return list(x[:middle]) + [0] * int(2.5 * rate) + list(x[middle:])


SOUNDS = [("noisy", noisy), ("hum", hum), ("clipped", clipped), ("narrow", narrow), ("level", quiet),
          ("silence-inside", silence)]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder, rng = sys.argv[1], random.Random(1)
    manifest = os.path.join(folder, "metadata.csv")
    with open(manifest, encoding="utf-8") as file:
        lines = file.read().splitlines()
    if len(lines) < len(SOUNDS) + 6:
        sys.exit("spoil.py: the corpus has too few rows")
    ids = [line.split("|")[0] for line in lines]
    path = [os.path.join(folder, "wavs", name + ".wav") for name in ids]
    for row, (name, fault) in enumerate(SOUNDS):
        params, samples = load(path[row])
        save(path[row], params, fault(samples, params.framerate, rng))
        print(ids[row], name, sep="\t")
    at = len(SOUNDS)
    os.rename(path[at], path[at] + ".other")  # two recordings change places
    os.rename(path[at + 1], path[at])
    os.rename(path[at] + ".other", path[at + 1])
    print(ids[at], "other-row", sep="\t")
    print(ids[at + 1], "other-row", sep="\t")
    fields = lines[at + 2].split("|")  # words that nobody says
    extra = {"fa": " سپس همه به خانه رفتند و خوابیدند"}.get(ids[0].split("-")[0], " and then everybody went home to sleep")
    text = fields[-1]  # Piper has it once, after the speaker; LJSpeech may have it twice
    lines[at + 2] = "|".join(f.rstrip(".?!") + extra + "." if f == text else f for f in fields)
    print(ids[at + 2], "missing-words", sep="\t")
    params, samples = load(path[at + 4])  # the same sound twice, a little louder
    save(path[at + 3], params, [s * 1.1 for s in samples])
    print(ids[at + 3], "same-sound", sep="\t")
    with open(manifest, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


main()

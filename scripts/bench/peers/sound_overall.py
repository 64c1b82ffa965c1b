# SPDX-License-Identifier: GPL-3.0-or-later
#
# sound_overall.py [--like FOLDER] FILE.wav...: prints the mean DNSMOS (overall) of the recordings. This judge needs no
# reference, so it also judges sentences that nobody recorded. sound_judge.py uses its functions.
#
# The score of the same voice rises with its level and with the silence around it. --like gives each file the level of
# the speech and the silence at both ends that the file of the same name in FOLDER has, so that both differ in nothing
# but the voice.

import os
import sys
import warnings

import numpy as np
from scipy.io import wavfile
from scipy.signal import resample_poly
from speechmos import dnsmos

warnings.filterwarnings("ignore")


def read(path, rate):
    own, x = wavfile.read(path)
    x = x.astype(np.float64) / 32768
    common = np.gcd(own, rate)
    return (resample_poly(x, rate // common, own // common) if own != rate else x).astype(np.float32)


def overall(sound):
    """Of samples at 16 kHz."""
    return float(dnsmos.run(np.clip(sound, -1, 1), 16000)["ovrl_mos"])


def speech(sound):
    """Samples before and after the speech, and its level (RMS). Speech: 10 ms that are within 40 dB of the loudest."""
    count = len(sound) // 160
    power = (sound[:count * 160].reshape(count, 160).astype(np.float64) ** 2).mean(1)
    loud = np.flatnonzero(power > 1e-4 * power.max())
    return loud[0] * 160, len(sound) - (loud[-1] + 1) * 160, np.sqrt(power[loud].mean())


def alike(sound, recording):
    """Of samples at 16 kHz. Silence is added where it is shorter than the recording's, never taken away."""
    before, after, level = speech(sound)
    wanted_before, wanted_after, wanted_level = speech(recording)
    silence = [np.zeros(max(0, n)) for n in (wanted_before - before, wanted_after - after)]
    return np.concatenate((silence[0], sound * (wanted_level / level), silence[1])).astype(np.float32)


def main(arguments):
    like = None
    if arguments[:1] == ["--like"]:
        like, arguments = arguments[1], arguments[2:]
    scores = []
    for path in arguments:
        sound = read(path, 16000)
        if like is not None:
            sound = alike(sound, read(os.path.join(like, os.path.basename(path)), 16000))
        scores.append(overall(sound))
    print(f"{np.mean(scores):.3f}")


if __name__ == "__main__":
    main(sys.argv[1:])

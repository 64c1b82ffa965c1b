# SPDX-License-Identifier: GPL-3.0-or-later
#
# sound_overall.py FILE.wav...: prints the mean DNSMOS (overall) of the recordings. This judge needs no reference, so it
# also judges sentences that nobody recorded. sound_judge.py uses its functions.

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


if __name__ == "__main__":
    print(f"{np.mean([overall(read(path, 16000)) for path in sys.argv[1:]]):.3f}")

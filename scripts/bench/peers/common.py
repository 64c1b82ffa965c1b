# SPDX-License-Identifier: GPL-3.0-or-later
#
# What the peers of bench_data share: pinning, the files, timing. A peer is called as
#
#     python PEER.py FOLDER CORE SECONDS
#
# with a folder of WAV files, the core to use and the seconds of sound in all of them. It prints "RATE best median" in
# audio-seconds per second, or "SKIP reason".

import os
import sys
import time

RATE = 22050
FFT_SIZE = 1024
HOP = 256
BANDS = 80
LOW_HZ = 0.0
HIGH_HZ = 8000.0
FLOOR = 1e-5
ROUNDS = 5


def start():
    """Pins the process before any library counts the cores; returns folder, files and seconds."""
    folder, core, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    os.sched_setaffinity(0, {core})
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = "1"
    files = sorted(os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".wav"))
    return files, seconds


def skip(reason):
    print("SKIP", str(reason).replace("\n", " ")[:200])
    sys.exit(0)


def measure(work, seconds):
    """Calls work() a few times (once to warm up) and prints the rate."""
    work()
    rates = []
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        work()
        rates.append(seconds / (time.perf_counter() - begin))
    rates.sort()
    print("RATE %.3f %.3f" % (rates[-1], rates[len(rates) // 2]))

#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Runs the graphs that build/test_export left in FOLDER with onnxruntime and compares their results with those of our own
# networks, which stand beside them (one JSON object a line).
#
#     scripts/test_onnx.py FOLDER
#
# The durations must be the same, numbers must be within the bounds below. Prints what it found; fails if anything differs.

import json
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime

MEL_BOUND = 1e-3


def graph_open(path):
    """A session for the graph, after the checker of the format has accepted it."""
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    print(f"{path.name}: {len(model.graph.node)} nodes, {path.stat().st_size:,} bytes")
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def cases_read(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def acoustic_compare(folder):
    """Same symbols → same durations, and the same mel."""
    session = graph_open(folder / "acoustic.onnx")
    cases = cases_read(folder / "acoustic.jsonl")
    worst = 0.0
    for case in cases:
        mel, durations = session.run(
            ["mel", "durations"],
            {
                "tokens": np.array(case["tokens"], np.int64),
                "voice": np.array([case["voice"]], np.int64),
                "slower": np.array(case["slower"], np.float32),
            },
        )
        if durations.tolist() != case["durations"]:
            sys.exit(f"test-onnx: durations {durations.tolist()} instead of {case['durations']}")
        wanted = np.array(case["mel"], np.float32).reshape(sum(case["durations"]), -1)
        if mel.shape != wanted.shape:
            sys.exit(f"test-onnx: a mel of {mel.shape} instead of {wanted.shape}")
        worst = max(worst, float(np.abs(mel - wanted).max()))
    print(f"acoustic network: {len(cases)} sequences, all durations equal, mel within {worst:.1e}")
    if not worst <= MEL_BOUND:
        sys.exit(f"test-onnx: the mel differs by {worst:g}, more than {MEL_BOUND:g}")


def main():
    folder = Path(sys.argv[1])
    acoustic_compare(folder)


main()

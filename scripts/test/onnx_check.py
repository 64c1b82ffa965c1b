#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Runs the graphs that build/test_export and build/test_export_sound left in FOLDER with onnxruntime and compares their results with those of our own
# networks, which stand beside them (one JSON object a line).
#
#     scripts/test/onnx_check.py FOLDER
#
# The durations must be the same, numbers must be within the bounds below. Prints what it found; fails if anything differs.

import json
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime

HOP = 256
# About ten times what was measured (3.1e-6, 5.0e-7 Hz, 5.0e-10 turns, 2.3e-5 and 7.8e-5 of full scale): other processors
# sum in another order, as the graph itself does with the means that contrast is about. Projections divide by what the sound has in a band, which enlarges rounding: if the mel of one
# utterance changes by 1e-7, the graph's own samples change by 7.8e-5.
MEL_BOUND = 3e-5
HZ_BOUND = 5e-6
TURN_BOUND = 5e-9
SAMPLE_BOUND = {"spoken": 2e-4, "vocoded": 4e-4}


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


def within(what, worst, bound):
    if not worst <= bound:
        sys.exit(f"test-onnx: {what} differs by {worst:g}, more than {bound:g}")


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
    within("the mel", worst, MEL_BOUND)


def path_compare(folder):
    """Same logits → the same frames are voiced, the same pitch and phase."""
    session = graph_open(folder / "path.onnx")
    cases = cases_read(folder / "path.jsonl")
    worst_hz = worst_turn = 0.0
    for case in cases:
        logits = np.array(case["logits"], np.float32).reshape(len(case["hz"]), -1)
        hz, gate, phase = session.run(["hz", "gate", "phase"], {"logits": logits})
        if gate.tolist() != case["gate"]:
            sys.exit("test-onnx: other frames are voiced")
        worst_hz = max(worst_hz, float(np.abs(hz - np.array(case["hz"])).max()))
        turns = np.abs(phase - np.array(case["phase"]))
        worst_turn = max(worst_turn, float(np.minimum(turns, 1 - turns).max()))
    print(f"pitch path: {len(cases)} utterances, pitch within {worst_hz:.1e} Hz, phase within {worst_turn:.1e} turns")
    within("the pitch", worst_hz, HZ_BOUND)
    within("the phase", worst_turn, TURN_BOUND)


def noise_compare(folder):
    """The same noise, bit for bit, however long the sound is."""
    session = graph_open(folder / "noise.onnx")
    cases = cases_read(folder / "noise.jsonl")
    for case in cases:
        frames = int(case["frames"])
        (noise,) = session.run(["noise"], {"frames": np.array(frames, np.int64)})
        if noise.shape != ((frames - 1) * HOP,) or (noise[-HOP:] != np.array(case["last"], np.float32)).any():
            sys.exit(f"test-onnx: other noise before frame {frames - 1}")
    print(f"noise: {len(cases)} lengths, the last samples of each are ours")


def sound_compare(folder, name):
    """Same mel → the same samples."""
    session = graph_open(folder / f"{name}.onnx")
    cases = cases_read(folder / f"{name}.jsonl")
    worst = loudest = 0.0
    for case in cases:
        wanted = np.array(case["audio"], np.float32)
        mel = np.array(case["mel"], np.float32).reshape(1 + len(wanted) // HOP, -1)
        (audio,) = session.run(["audio"], {"mel": mel})
        if audio.shape != wanted.shape:
            sys.exit(f"test-onnx: {audio.shape} samples instead of {wanted.shape}")
        worst = max(worst, float(np.abs(audio - wanted).max()))
        loudest = max(loudest, float(np.abs(wanted).max()))
    print(f"{name} sound: {len(cases)} utterances, samples within {worst:.1e}, the largest is {loudest:.2f}")
    within(f"the {name} sound", worst, SAMPLE_BOUND[name])


def symbols_compare(folder):
    """Ids as other programs send them → numbers of our vocabulary."""
    session = graph_open(folder / "symbols.onnx")
    cases = cases_read(folder / "symbols.jsonl")
    for case in cases:
        tokens, places = session.run(["tokens", "places"], {"ids": np.array(case["ids"], np.int64)})
        if tokens.tolist() != case["tokens"] or places.tolist() != case["places"]:
            sys.exit(f"test-onnx: ids {case['ids']} are read as {tokens.tolist()} at {places.tolist()}")
    print(f"symbols: {len(cases)} texts, all read as they should be")


def main():
    folder = Path(sys.argv[1])
    symbols_compare(folder)
    acoustic_compare(folder)
    path_compare(folder)
    noise_compare(folder)
    sound_compare(folder, "spoken")
    sound_compare(folder, "vocoded")


main()

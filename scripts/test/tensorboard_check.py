#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads the event files of a run with TensorBoard itself and compares them with the run. For scripts/test/tensorboard.sh.

    scripts/test/tensorboard_check.py RUN ADDRESS

First it uses TensorBoard's EventAccumulator: all tags must be there, each step of metrics.jsonl must appear once with its
value, pictures and sounds must decode, and the settings must be there as text. Then it asks the server at ADDRESS, as a
browser would: the server must list the same tags and deliver pictures and sounds.
"""
import io
import json
import os
import re
import struct
import sys
import time
import urllib.parse
import urllib.request
import wave

from PIL import Image
from tensorboard.backend.event_processing import event_accumulator

SOURCE = os.path.join(os.path.abspath(__file__ + "/../../.."), "src")


def rows(header, macro):
    """The rows of a list macro: (name, text of the arguments) each."""
    with open(os.path.join(SOURCE, header), encoding="utf-8") as file:
        text = re.sub(r"\\\n", " ", file.read())
    line = re.search(rf"#define {macro}\([^)]*\)(.*)", text).group(1)
    return re.findall(r"(\w+)\((.*?)\)\s*(?=[A-Z_]+\(|$)", line)


def tags(row, prefix):
    """{tag: key} of a table of src/train/report/report.c, without those that not every device has."""
    with open(os.path.join(SOURCE, "train/report/report.c"), encoding="utf-8") as file:
        found = re.findall(rf"^ +{row}\((\w+), (.*?)\),$", file.read(), re.M | re.S)
    out = {f"{prefix}/{key}": key for key in (loss.split(",")[1].strip() for _, loss in rows("model/losses.h", "MX_LOSS_LIST"))}
    for key, members in found:
        tag = re.search(r'\.tag = "(\w+/\w+)"', members)
        if tag and "OPTIONAL" not in members:
            out[tag.group(1)] = key
    return out


SCALARS = tags("STEP", "loss")
EVALUATIONS = tags("EVALUATION", "validation")
PICTURES = ["mel/target", "mel/prediction", "mel/difference", "mel/alignment", "spoken_mel/000",
            "spoken_mel/001"]
SOUNDS = ["spoken/000", "spoken/001", "recorded/000", "recorded/001"]


def die(text):
    sys.exit("tensorboard_check: " + text)


def near(a, b):
    return abs(a - b) <= 2e-3 * max(1.0, abs(a), abs(b))


def curve_check(events, tag, expected):
    """expected: [(step, value)] in order."""
    got = [(e.step, e.value) for e in events.Scalars(tag)]
    if [s for s, _ in got] != [s for s, _ in expected]:
        die(f"{tag} has the steps {[s for s, _ in got]} instead of {[s for s, _ in expected]}")
    for (step, value), (_, should) in zip(got, expected):
        if tag.startswith("memory/"):
            should /= 1 << 20
        if not near(value, should):
            die(f"{tag} at step {step} is {value} instead of {should}")


def wav_check(data, what):
    with wave.open(io.BytesIO(data)) as sound:
        if sound.getframerate() != 22050 or sound.getnframes() < 1000:
            die(f"{what}: {sound.getframerate()} Hz, {sound.getnframes()} frames")
        peak = max(abs(v) for v in struct.unpack(f"<{sound.getnframes()}h", sound.readframes(sound.getnframes())))
        if peak == 0:
            die(f"{what}: silence")


def picture_check(data, what):
    with Image.open(io.BytesIO(data)) as image:
        image.load()
        if image.format != "PNG" or image.width < 10 or len(image.getcolors(1 << 24)) < 2:
            die(f"{what}: {image.format}, {image.size}")


def files_check(run, steps, evaluations):
    events = event_accumulator.EventAccumulator(os.path.join(run, "tensorboard"), size_guidance={
        event_accumulator.TENSORS: 0, event_accumulator.SCALARS: 0, event_accumulator.IMAGES: 0,
        event_accumulator.AUDIO: 0})
    events.Reload()
    tags = events.Tags()
    for kind, wanted in (("scalars", list(SCALARS) + list(EVALUATIONS)), ("images", PICTURES), ("audio", SOUNDS),
                         ("tensors", ["config", "sample/000", "sample/001"])):
        if set(tags[kind]) != set(wanted):
            die(f"the {kind} differ: {sorted(set(tags[kind]) ^ set(wanted))}")
    for tag, key in SCALARS.items():
        curve_check(events, tag, [(r["step"], r[key]) for r in steps if r[key] is not None])
    for tag, key in EVALUATIONS.items():
        curve_check(events, tag, [(r["step"], r["evaluation"][key]) for r in evaluations])
    for tag in PICTURES:
        if [e.step for e in events.Images(tag)] != [r["step"] for r in evaluations]:
            die(f"{tag} has the steps {[e.step for e in events.Images(tag)]}")
        for event in events.Images(tag):
            picture_check(event.encoded_image_string, tag)
    for tag in SOUNDS:
        for event in events.Audio(tag):
            wav_check(event.encoded_audio_string, tag)
            if event.sample_rate != 22050 or event.content_type != "audio/wav":
                die(f"{tag}: {event.sample_rate} Hz, {event.content_type}")
    config = events.Tensors("config")[-1].tensor_proto.string_val[0].decode()
    if "batch_size: 4" not in config:
        die("the settings are not there as text")
    print(f"{sum(len(tags[k]) for k in ('scalars', 'images', 'audio', 'tensors'))} tags, {len(steps)} steps, {len(evaluations)} evaluations read back by EventAccumulator")


def server_check(address):
    def ask(path):
        with urllib.request.urlopen(address + path, timeout=30) as answer:
            return answer.read()

    for _ in range(60):  # it loads the files some time after its start
        scalars = json.loads(ask("/data/plugin/scalars/tags"))
        if any("loss/total" in tags for tags in scalars.values()):
            break
        time.sleep(1)
    else:
        die("the server shows no scalars")
    run = next(name for name, tags in scalars.items() if "loss/total" in tags)
    missing = (set(SCALARS) | set(EVALUATIONS)) - set(scalars[run])
    if missing:
        die("the server misses " + ", ".join(sorted(missing)))
    for plugin, wanted, kind, check in (("images", PICTURES, "individualImage", picture_check),
                                        ("audio", SOUNDS, "individualAudio", wav_check)):
        tags = json.loads(ask(f"/data/plugin/{plugin}/tags"))[run]
        for tag in wanted:
            if tag not in tags:
                die(f"the server has no {tag} among its {plugin}")
            query = urllib.parse.urlencode({"run": run, "tag": tag, "sample": 0})
            entries = json.loads(ask(f"/data/plugin/{plugin}/{plugin}?" + query))
            if not entries:
                die(f"the server shows nothing of {tag}")
            check(ask(f"/data/plugin/{plugin}/{kind}?" + entries[-1]["query"]), tag)
    texts = json.loads(ask("/data/plugin/text/tags"))[run]
    if "config" not in texts:
        die("the server shows no text")
    query = urllib.parse.urlencode({"run": run, "tag": "config"})
    if "batch_size" not in json.loads(ask("/data/plugin/text/text?" + query))[-1]["text"]:
        die("the server's text is not that of the settings")
    print("the server lists all tags, shows the pictures and plays the sounds")


def main():
    run, address = sys.argv[1:3]
    records = [json.loads(line) for line in open(os.path.join(run, "metrics.jsonl"), encoding="utf-8")]
    files_check(run, [r for r in records if "evaluation" not in r], [r for r in records if "evaluation" in r])
    server_check(address)


main()

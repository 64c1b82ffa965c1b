# SPDX-License-Identifier: GPL-3.0-or-later
#
# What scripts/bench/voices.sh asks judges in Python for.
#
#     voices_judge.py pitch PROGRAM OURS THEIRS     semitones by which the files of folder OURS are higher than those of the same
#                                                   names in THEIRS, by `PROGRAM features`: the difference of the means over voiced frames; null: none
#     voices_judge.py alike A B                     mean cosine between the files of folder A and those of folder B (resemblyzer),
#                                                   no file with itself; null without a pair
#     voices_judge.py people FOLDER PART.json       the part about cloning, see people()
#     voices_judge.py merge RESULT.json PART.json...   writes {"bench": "voices", "parts": {NAME: ...}} and prints all bars
#     voices_judge.py quality RESULT.json SHA256    a table in Markdown of the speakers of that file of a voice; its first line
#                                                   is a comment with the hash
#
# resemblyzer is a network that was trained to tell speakers apart; its weights are in the package. The cosine of two recordings of
# one person is about 0.8, of two people 0.5 to 0.65.

import glob
import json
import os
import subprocess
import sys
import tempfile
import warnings

import numpy as np

warnings.filterwarnings("ignore")


def wavs(folder):
    return sorted(glob.glob(folder + "/*.wav"))


# ---- pitch ----


def voiced_semitones(program, path):
    """12 log2 of the pitch of the voiced frames, as the program finds it, of the first 20 seconds: it takes no more at once."""
    with tempfile.TemporaryDirectory() as place:
        first, output = place + "/first.wav", place + "/features.safetensors"
        subprocess.run(["sox", "-V1", path, first, "trim", "0", "20"], check=True)
        subprocess.run([program, "features", "--quiet", first, "--output", output], check=True, stdout=subprocess.DEVNULL)
        data = open(output, "rb").read()
    size = int.from_bytes(data[:8], "little")
    begin, end = json.loads(data[8 : 8 + size])["pitch"]["data_offsets"]
    pitch = np.frombuffer(data[8 + size + begin : 8 + size + end], np.float32)
    return 12 * np.log2(pitch[pitch > 0])


def pitch_print(program, ours, theirs):
    names = [os.path.basename(path) for path in wavs(ours) if os.path.exists(f"{theirs}/{os.path.basename(path)}")]
    means = [np.concatenate([voiced_semitones(program, f"{folder}/{name}") for name in names]) for folder in (ours, theirs)]
    print(f"{means[0].mean() - means[1].mean():.2f}" if min(map(len, means)) else "null")


# ---- who speaks ----


class Judge:
    """Vectors of recordings, each made once; `rate` is that of the line through which all of them are heard (0: as they are)."""

    def __init__(self):
        import torch
        from resemblyzer import VoiceEncoder

        torch.set_num_threads(1)  # the network is small, and its threads would wait for each other
        self.encoder, self.known = VoiceEncoder("cpu", verbose=False), {}

    def vector(self, path, rate=0):
        from resemblyzer import preprocess_wav

        key = (os.path.realpath(path), rate)
        if key not in self.known:
            with tempfile.TemporaryDirectory() as place:
                heard = path
                if rate:
                    heard = place + "/line.wav"
                    subprocess.run(["sox", path, "-r", str(rate), place + "/narrow.wav"], check=True, stderr=subprocess.DEVNULL)
                    subprocess.run(["sox", place + "/narrow.wav", "-r", "16000", heard], check=True, stderr=subprocess.DEVNULL)
                self.known[key] = self.encoder.embed_utterance(preprocess_wav(heard))
        return self.known[key]

    def alike(self, a, b, rate=0):
        """Mean cosine over all pairs of different files."""
        pairs = [float(self.vector(x, rate) @ self.vector(y, rate)) for x in a for y in b if os.path.realpath(x) != os.path.realpath(y)]
        return float(np.mean(pairs)) if pairs else float("nan")


def person_judge(judge, own, training):
    """Of one person: the clone beside real recordings, strangers and the speakers that the voice was trained on. "nearer_by" is by how
    much it is nearer to the person than to the nearest of these, over the texts that it says, with its standard error."""
    with open(own + "/person.json") as file:
        person = json.load(file)
    rate = person.pop("rate")
    reference, other = (wavs(f"{own}/{kind}") for kind in ("reference", "other"))
    strangers = {name: judge.alike(other, files, rate) for name, files in training.items() if name not in person["same"]}
    row = {
        "real": judge.alike(reference, other, rate),
        "different_people": float(np.mean(list(strangers.values()))),
    }
    for kind in ("clone", "network"):
        clone = wavs(f"{own}/{kind}")
        near = {name: judge.alike(clone, training[name], rate) for name in strangers}
        nearest = max(near, key=near.get)
        nearer = [judge.alike([text], other, rate) - judge.alike([text], training[nearest], rate) for text in clone]
        row |= {kind: judge.alike(clone, other, rate), kind + "_nearest": nearest, kind + "_to_nearest": near[nearest],
                kind + "_nearer_by": float(np.mean(nearer)), kind + "_nearer_error": float(np.std(nearer, ddof=1) / len(nearer) ** 0.5)}
    return person | {key: round(value, 3) if isinstance(value, float) else value for key, value in row.items()}


def people(folder, result):
    """FOLDER/people/PERSON/ has reference/, other/, clone/ and network/ (clones with '--likeness 0') with sounds and person.json: "what" (in words), "heard" (whether the
    voice was trained on the person), "same" (names of training speakers that are the person), "rate" (of the line that the
    recordings come from, 0: none); FOLDER/training/SPEAKER/ has recordings of those it was trained on."""
    judge, rows, bars = Judge(), {}, []
    training = {os.path.basename(path): wavs(path) for path in sorted(glob.glob(folder + "/training/*")) if wavs(path)}
    print(f"  {'cosine by resemblyzer':24s} {'real':>6s} {'others':>7s} {'clone':>6s}  and the nearest training speaker; the same without likeness")
    for own in sorted(glob.glob(folder + "/people/*")):
        name = os.path.basename(own)
        row = rows[name] = person_judge(judge, own, training)
        kinds = [f"{row[k]:.3f}  {row[k + '_to_nearest']:.3f} ({row[k + '_nearest']}), nearer by {row[k + '_nearer_by']:+.3f} ± {row[k + '_nearer_error']:.3f}"
                 for k in ("clone", "network")]
        print(f"  {name:24s} {row['real']:6.3f} {row['different_people']:7.3f} {'; '.join(kinds)}; {row['what']}", flush=True)
        if not row["heard"]:
            least = round(2 * row["clone_nearer_error"], 3)
            bars.append({"row": f"clone of {name}: clearly nearer to the person than to the nearest training speaker (2 standard errors)",
                         "value": row["clone_nearer_by"], "bar": least,
                         "verdict": "held" if row["clone_nearer_by"] >= least else "missed"})
    with open(result, "w") as file:
        json.dump({"part": "clone", "people": rows, "bars": bars}, file, indent=2)


# ---- the end ----


def merge(result, parts):
    report = {"bench": "voices", "parts": {}, "bars": []}
    for path in parts:
        with open(path) as file:
            part = json.load(file)
        report["bars"] += part.pop("bars", [])
        report["parts"][part.pop("part")] = part
    for bar in report["bars"]:
        print(f"  {bar['row']}: {bar['value']}, bar {bar['bar']}: {bar['verdict']}")
    with open(result, "w") as file:
        json.dump(report, file, indent=2)
        file.write("\n")


def quality(result, sha256):
    """Prompts that were kept out of training, then sentences of the synthetic voices; only parts that judged the file with the hash."""
    with open(result) as file:
        parts = {name: part for name, part in json.load(file)["parts"].items() if part.get("sha256") == sha256}
    rows = {}
    if "human" in parts:
        said, free = parts["human"]["prompts"], parts["human"]["eval"]
        words = [f"{100 * said[key] / said['words']:.1f} %" for key in ("word_errors", "recordings_word_errors")]
        rows[f"`en-allison`, {said['texts']} prompts"] = words, said, free
    for name, row in parts.get("others", {}).get("speakers", {}).items():
        title = f"`{name}`, {row['texts']} prompts" if "dnsmos" in row else f"`{name}-*`, synthetic, {row['texts']} sentences"
        rows[title] = ["", ""], row, row
    print(f"<!-- {sha256} -->")
    print("| speaker and texts | word errors | recordings | DNSMOS | recordings | mean pitch, semitones | durations off by | mel, dB |")
    print("|---|---|---|---|---|---|---|---|")
    for title, (words, said, free) in rows.items():
        mos = [f"{said[key]:.2f}" if key in said else "" for key in ("dnsmos", "recordings_dnsmos")]
        pitch = f"{said['pitch_semitones']:+.2f}" if "pitch_semitones" in said else ""
        print(f"| {title} | {words[0]} | {words[1]} | {mos[0]} | {mos[1]} | {pitch} | {100 * free['duration_error']:.1f} % | {free['mel_db']:.2f} |")


def main():
    what, given = sys.argv[1], sys.argv[2:]
    if what == "pitch":
        pitch_print(*given)
    elif what == "alike":
        cosine = Judge().alike(wavs(given[0]), wavs(given[1]))
        print("null" if np.isnan(cosine) else f"{cosine:.3f}")
    elif what == "people":
        people(*given)
    elif what == "merge":
        merge(given[0], given[1:])
    elif what == "quality":
        quality(*given)
    else:
        sys.exit("usage: voices_judge.py pitch|alike|people|merge|quality ...")


main()

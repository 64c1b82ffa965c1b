#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Speaks with an exported voice in another program and compares the sound with that of `myxtts synth`.
#
#     scripts/test/onnx_voices.py piper|sherpa|servers VOICE_FOLDER TEXT SPOKEN.wav…
#
# piper: the library and the program of Piper. servers: its HTTP server and wyoming-piper, started here and asked once
# for each speaker. sherpa: the sherpa-onnx that this Python finds; version 1 gets the espeak-ng data of Piper.
# VOICE_FOLDER has the files for all of them; SPOKEN.wav are what `synth` made of TEXT for speaker 0, 1 …
# Prints what it found; fails if a sound differs, or a program does not speak.

import asyncio
import json
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
import wave
from importlib.util import find_spec
from pathlib import Path

import numpy as np

# Of full scale. A 16-bit file is within half a step, 1.5e-5, of what `synth` made; the graphs are within SAMPLE_BOUND of
# scripts/test/onnx_check.py.
SAMPLE_BOUND = 1.2e-4
START_SECONDS = 60  # until a server answers


def wav_read(file):
    with wave.open(file) as sound:
        return np.frombuffer(sound.readframes(sound.getnframes()), np.int16) / 32768


def compare(who, audio, wanted, rate):
    """The same samples, up to rounding."""
    if len(audio) != len(wanted):
        sys.exit(f"test-onnx: {who}: {len(audio)} samples, synth makes {len(wanted)}")
    worst = np.abs(audio - wanted).max()
    print(f"{who}: {len(audio) / rate:.2f} s, samples within {worst:.1e} of synth")
    if not worst <= SAMPLE_BOUND:
        sys.exit(f"test-onnx: {who}: the sound differs by {worst:g}, more than {SAMPLE_BOUND:g}")


def lowered(audio, wanted):
    """The sound of a program that raises the level to full scale, at the level of `wanted`."""
    return audio / np.abs(audio).max() * np.abs(wanted).max()


def piper_speak(folder, text, spoken):
    from piper import PiperVoice, SynthesisConfig

    voice = PiperVoice.load(folder / "voice.onnx")
    several = voice.config.num_speakers > 1
    for speaker, path in enumerate(spoken):
        wanted = wav_read(path)
        how = SynthesisConfig(speaker_id=speaker if several else None, normalize_audio=False)
        chunks = list(voice.synthesize(text, how, include_alignments=True))
        if len(chunks) != 1:
            sys.exit(f"test-onnx: Piper makes {len(chunks)} pieces of '{text}'")
        audio, places = chunks[0].audio_float_array, chunks[0].phoneme_id_samples
        compare(f"piper, speaker {speaker}", audio, wanted, voice.config.sample_rate)
        if places is None or places.sum() != len(audio) + voice.config.hop_length:
            sys.exit("test-onnx: Piper's alignment does not fit the sound")
        # Twice as slow: about twice as long, each frame being whole.
        slow = next(iter(voice.synthesize(text, SynthesisConfig(speaker_id=how.speaker_id, length_scale=2.0))))
        ratio = len(slow.audio_float_array) / len(audio)
        if not 1.5 <= ratio <= 2.1:
            sys.exit(f"test-onnx: a length scale of 2 makes the sound {ratio:.2f} times as long")
    with tempfile.TemporaryDirectory() as place:
        output = f"{place}/spoken.wav"
        program = [str(Path(sys.executable).parent / "piper"), "--model", str(folder / "voice.onnx"), "--no-normalize"]
        subprocess.run([*program, "--speaker", "0", "--output-file", output, text], check=True)
        compare("the program piper", wav_read(output), wav_read(spoken[0]), voice.config.sample_rate)


def sherpa_open(folder):
    import sherpa_onnx

    model = sherpa_onnx.OfflineTtsVitsModelConfig(model=str(folder / "voice.onnx"), tokens=str(folder / "tokens.txt"))
    lexicon = (folder / "lexicon.txt").exists()
    if lexicon and sherpa_onnx.__version__ < "2":
        model.data_dir = str(Path(find_spec("piper").origin).parent / "espeak-ng-data")
    elif lexicon:
        model.lexicon = str(folder / "lexicon.txt")
    config = sherpa_onnx.OfflineTtsConfig(model=sherpa_onnx.OfflineTtsModelConfig(vits=model, num_threads=1))
    if not config.validate():
        sys.exit(f"test-onnx: sherpa-onnx {sherpa_onnx.__version__} does not accept the voice")
    how = sherpa_onnx.GenerationConfig()
    how.silence_scale = 1.0  # all of the sound
    return sherpa_onnx.OfflineTts(config), how, sherpa_onnx.__version__, model.lexicon != ""


def sherpa_speak(folder, text, spoken):
    tts, how, version, lexicon = sherpa_open(folder)
    for speaker, path in enumerate(spoken):
        wanted = wav_read(path)
        how.sid = speaker
        audio = np.array(tts.generate(text, how).samples)
        who = f"sherpa-onnx {version}, speaker {speaker}"
        if not lexicon:
            compare(who, audio, wanted, tts.sample_rate)
            continue
        # A lexicon has one reading of each word, so some phonemes differ.
        print(f"{who}: {len(audio) / tts.sample_rate:.2f} s (synth: {len(wanted) / tts.sample_rate:.2f} s)")
        if not 0.7 * len(wanted) <= len(audio) <= 1.4 * len(wanted) or not np.abs(audio).max() > 1e-4:
            sys.exit("test-onnx: sherpa-onnx does not say what synth says")


def port_find():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def server_start(port, module, *arguments):
    """The process of `python -m module`, once it listens."""
    command = [sys.executable, "-m", module, *map(str, arguments)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return process
        except OSError:
            time.sleep(0.1)
    process.kill()
    sys.exit(f"test-onnx: {module} does not start: {process.stderr.read()}")


def http_speak(folder, text, spoken, rate):
    port = port_find()
    process = server_start(
        port, "piper.http_server", "--model", folder / "voice.onnx", "--host", "127.0.0.1", "--port", port
    )
    try:
        for speaker, path in enumerate(spoken):
            request = urllib.request.Request(
                f"http://127.0.0.1:{port}/synthesize",
                json.dumps({"text": text, "speaker_id": speaker}).encode(),
                {"Content-Type": "application/json"},
            )
            with urllib.request.urlopen(request) as answer:
                audio, wanted = wav_read(answer), wav_read(path)
            compare(f"Piper's HTTP server, speaker {speaker}", lowered(audio, wanted), wanted, rate)
    finally:
        process.kill()
        process.wait()


async def wyoming_ask(port, text, speaker):
    """The description of the voice, and the sound."""
    from wyoming.audio import AudioChunk, AudioStop
    from wyoming.client import AsyncTcpClient
    from wyoming.error import Error
    from wyoming.info import Describe, Info
    from wyoming.tts import Synthesize, SynthesizeVoice

    async with AsyncTcpClient("127.0.0.1", port) as client:
        await client.write_event(Describe().event())
        info = Info.from_event(await client.read_event())
        names = [voice for program in info.tts for voice in program.voices if voice.name == "voice"]
        await client.write_event(Synthesize(text=text, voice=SynthesizeVoice(name="voice", speaker=speaker)).event())
        audio = b""
        while not AudioStop.is_type((event := await client.read_event()).type):
            if Error.is_type(event.type):
                sys.exit(f"test-onnx: wyoming-piper: {Error.from_event(event).text}")
            if AudioChunk.is_type(event.type):
                audio += AudioChunk.from_event(event).audio
    return names, np.frombuffer(audio, np.int16) / 32768


def wyoming_speak(folder, text, spoken, config):
    port = port_find()
    process = server_start(
        port, "wyoming_piper", "--voice", "voice", "--data-dir", folder, "--uri", f"tcp://127.0.0.1:{port}"
    )
    try:
        for name, speaker in config["speaker_id_map"].items():
            voices, audio = asyncio.run(wyoming_ask(port, text, name))
            wanted = wav_read(spoken[speaker])
            if len(voices) != 1:
                sys.exit(f"test-onnx: wyoming-piper describes {len(voices)} voices called 'voice'")
            compare(f"wyoming-piper, speaker {name}", lowered(audio, wanted), wanted, config["audio"]["sample_rate"])
    finally:
        process.kill()
        process.wait()


def servers_speak(folder, text, spoken):
    with open(folder / "voice.onnx.json", encoding="utf-8") as file:
        config = json.load(file)
    http_speak(folder, text, spoken, config["audio"]["sample_rate"])
    wyoming_speak(folder, text, spoken, config)


def main():
    ways = {"piper": piper_speak, "sherpa": sherpa_speak, "servers": servers_speak}
    ways[sys.argv[1]](Path(sys.argv[2]), sys.argv[3], sys.argv[4:])


if __name__ == "__main__":
    main()

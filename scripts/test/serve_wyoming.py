# SPDX-License-Identifier: GPL-3.0-or-later
#
# Talks to a running `myxtts serve --wyoming` with the real client of the protocol, the package `wyoming` from PyPI:
#
#     python scripts/test/serve_wyoming.py PORT VOICE TEXT WAV
#
# VOICE is the name by which the server must offer its voice, and WAV the text spoken by `myxtts synth`: the samples must be
# the same, alone, in company, and whatever else the connection was used for. Prints one line for each thing checked; the
# first one that is wrong ends the program with 1.

import asyncio
import sys
import wave

from wyoming.audio import AudioChunk, AudioStart, AudioStop
from wyoming.client import AsyncClient
from wyoming.error import Error
from wyoming.info import Describe, Info
from wyoming.ping import Ping, Pong
from wyoming.tts import Synthesize, SynthesizeChunk, SynthesizeStart, SynthesizeStop, SynthesizeStopped, SynthesizeVoice

SECONDS = 120  # for any one event
COMPANY = 8


def check(what, holds):
    print(("ok      " if holds else "WRONG   ") + what)
    if not holds:
        sys.exit(1)


def connect(port):
    return AsyncClient.from_uri("tcp://127.0.0.1:%d" % port, connect_timeout=SECONDS, read_timeout=SECONDS)


async def sound_read(client, last=AudioStop):
    """All samples until the event `last`, and the rate."""
    sound, rate = b"", 0
    while True:
        event = await client.read_event()
        if event is None:
            check("the connection stays open", False)
        if Error.is_type(event.type):
            check("no error: " + Error.from_event(event).text, False)
        if AudioStart.is_type(event.type):
            rate = AudioStart.from_event(event).rate
        if AudioChunk.is_type(event.type):
            sound += AudioChunk.from_event(event).audio
        if last.is_type(event.type):
            return sound, rate


async def speak(port, text, voice=None, text_format=None):
    async with connect(port) as client:
        await client.write_event(Synthesize(text=text, voice=voice, text_format=text_format).event())
        return await sound_read(client)


async def stream(client, voice, parts, whole):
    """As Home Assistant does while a language model writes: parts, then the whole for servers that do not stream."""
    await client.write_event(SynthesizeStart(voice=voice).event())
    for part in parts:
        await client.write_event(SynthesizeChunk(text=part).event())
    await client.write_event(Synthesize(text=whole, voice=voice).event())
    await client.write_event(SynthesizeStop().event())
    return await sound_read(client, SynthesizeStopped)


async def main():
    port, name, text, path = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4]
    with wave.open(path) as file:
        wanted, rate = file.readframes(file.getnframes()), file.getframerate()
    voice = SynthesizeVoice(name=name)

    async with connect(port) as client:
        await client.write_event(Describe().event())
        info = Info.from_event(await client.read_event())
        check("describe: one program that streams", len(info.tts) == 1 and info.tts[0].supports_synthesize_streaming)
        found = [v for v in info.tts[0].voices if v.name == name]
        check("describe: the voice %s, installed, with its languages" % name,
              len(found) == 1 and found[0].installed and found[0].languages == ["en"])
        speakers = [s.name for s in found[0].speakers or []]
        await client.write_event(Ping(text="hello").event())
        check("ping", Pong.from_event(await client.read_event()).text == "hello")
        # The same connection speaks, twice.
        for _ in range(2):
            await client.write_event(Synthesize(text=text, voice=voice).event())
            sound, heard = await sound_read(client)
            check("synthesize: the samples of myxtts synth (%d)" % (len(sound) // 2), sound == wanted and heard == rate)

    check("synthesize: the first voice without a name", (await speak(port, text))[0] == wanted)
    for speaker in speakers:
        sound, _ = await speak(port, text, SynthesizeVoice(name=name, speaker=speaker))
        check("synthesize: the speaker %s" % speaker, len(sound) > 0)
    sound, _ = await speak(port, "<speak>%s</speak>" % text, voice, "ssml")
    check("synthesize: SSML", len(sound) > 0)

    words = text.split(" ")
    several = [" ".join(words) + " "] * 3
    whole = "".join(several)
    async with connect(port) as client:
        one, _ = await stream(client, voice, several, whole)
        two, _ = await stream(client, voice, [whole[i : i + 3] for i in range(0, len(whole), 3)], whole)
        check("a stream of text, however it is divided (%d samples)" % (len(one) // 2), len(one) > 2 * len(wanted) and one == two)

    together = await asyncio.gather(*(speak(port, text, voice) for _ in range(COMPANY)))
    check("%d clients at once: the same samples" % COMPANY, all(sound == wanted for sound, _ in together))

    async with connect(port) as client:  # gone after the first sound
        await client.write_event(Synthesize(text=whole * 20, voice=voice).event())
        await client.read_event()
    check("a client that leaves leaves the others alone", (await speak(port, text))[0] == wanted)

    async with connect(port) as client:
        await client.write_event(Synthesize(text=text, voice=SynthesizeVoice(name="nobody")).event())
        event = await client.read_event()
        check("an unknown voice is an error that names the others",
              Error.is_type(event.type) and name in Error.from_event(event).text)
        check("and ends the connection", await client.read_event() is None)


asyncio.run(main())

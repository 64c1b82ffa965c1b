#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""Talks to `myxtts serve` with OpenAI's own client. For scripts/test/serve.sh.

    scripts/test/serve_openai.py PORT VOICE TEXT SPOKEN.wav [TOKEN]

SPOKEN.wav is what `myxtts synth` says: the samples must be the same. With a token, the client must be refused without it.
"""
import asyncio
import io
import sys
import wave

import openai

FORMATS = {"wav": b"RIFF", "flac": b"fLaC", "opus": b"OggS", "mp3": b"\xff"}


def samples_of(data):
    """The samples of a WAV; a stream does not know its length, so sizes in the header count for nothing."""
    at = data.index(b"data") + 8
    return data[at:]


def must(good, what):
    if not good:
        sys.exit("serve_openai.py: " + what)


def check_formats(client, voice, text, spoken):
    answer = client.audio.speech.create(model="tts-1", voice=voice, input=text, response_format="wav")
    must(samples_of(answer.content) == spoken, "the WAV is not what synth says")
    answer = client.audio.speech.create(model="gpt-4o-mini-tts", voice="alloy", input=text, response_format="pcm",
                                        instructions="Whisper.", extra_body={"sample_rate": 22050})
    must(answer.content == spoken, "the PCM is not what synth says")
    must(answer.response.headers["content-type"] == "audio/pcm;rate=22050", "the type of PCM")
    for name, magic in FORMATS.items():
        answer = client.audio.speech.create(model="tts-1-hd", voice=voice, input=text, response_format=name)
        must(answer.content.startswith(magic), name + " does not begin as it should")
    must(client.audio.speech.create(model="tts-1", voice=voice, input=text).content[0] == 0xff, "the usual format is mp3")
    slow = client.audio.speech.create(model="tts-1", voice=voice, input=text, response_format="wav", speed=0.5)
    must(len(slow.content) > 1.5 * len(spoken), "half the speed is not longer")


def check_streams(client, voice, text, spoken):
    parts = []
    with client.audio.speech.with_streaming_response.create(model="tts-1", voice=voice, input=text,
                                                            response_format="wav") as answer:
        must("content-length" not in answer.headers, "it is not streamed")
        for part in answer.iter_bytes(1024):
            parts.append(part)
    must(samples_of(b"".join(parts)) == spoken, "the stream is not what synth says")
    with client.audio.speech.with_streaming_response.create(model="tts-1", voice=voice, input=text, response_format="wav",
                                                            stream_format="sse") as answer:
        must(answer.headers["content-type"].startswith("text/event-stream"), "these are no events")
        lines = [line for line in answer.iter_lines() if line]
    import base64
    import json
    events = [json.loads(line[len("data: "):]) for line in lines]
    sound = b"".join(base64.b64decode(e["audio"]) for e in events if e["type"] == "speech.audio.delta")
    must(samples_of(sound) == spoken, "the events are not what synth says")
    usage = events[-1]["usage"]
    must(events[-1]["type"] == "speech.audio.done" and usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"]
         and usage["input_tokens"] > 0, "the last event")


def check_lists(client, voice):
    models = [m.id for m in client.models.list()]
    must(voice in models and "tts-1" in models, "the list of models: " + str(models))
    must(client.models.retrieve(voice).id == voice, "one model")


def refused(call, kind, param, words):
    try:
        call()
    except kind as error:
        must(error.body["param"] == param, "the error names " + str(error.body["param"]) + ", not " + str(param))
        must(words in error.body["message"], "the error says: " + error.body["message"])
        return
    sys.exit("serve_openai.py: not refused: " + words)


def check_errors(client, voice, text):
    speech = client.audio.speech
    refused(lambda: speech.create(model="tts-1", voice="nobody", input=text), openai.BadRequestError, "voice", voice)
    refused(lambda: speech.create(model="tts-1", voice=voice, input=text, response_format="aac"), openai.BadRequestError,
            "response_format", "wav, pcm, flac, opus and mp3")
    refused(lambda: speech.create(model="tts-1", voice=voice, input=text, speed=9), openai.BadRequestError, "speed", "0.25")
    refused(lambda: speech.create(model="tts-1", voice=voice, input=""), openai.BadRequestError, "input", "no text")
    refused(lambda: client.models.retrieve("none"), openai.NotFoundError, "model", "none")


async def check_many(address, key, voice, text, spoken):
    """Twelve at once hear what one hears; some leave early."""
    client = openai.AsyncOpenAI(base_url=address, api_key=key, max_retries=0)

    async def one(number):
        if number % 4 == 3:
            async with client.audio.speech.with_streaming_response.create(model="tts-1", voice=voice, input=text * 20,
                                                                          response_format="wav") as answer:
                async for _ in answer.iter_bytes(1024):
                    return
        answer = await client.audio.speech.create(model="tts-1", voice=voice, input=text, response_format="wav")
        must(samples_of(answer.content) == spoken, "the sound depends on the company")

    await asyncio.gather(*(one(i) for i in range(12)))
    await client.close()


def main():
    if len(sys.argv) not in (5, 6):
        sys.exit(__doc__)
    port, voice, text, path = sys.argv[1:5]
    key = sys.argv[5] if len(sys.argv) == 6 else "none"
    address = "http://127.0.0.1:" + port + "/v1"
    with wave.open(io.BytesIO(open(path, "rb").read())) as file:
        spoken = file.readframes(file.getnframes())
    client = openai.OpenAI(base_url=address, api_key=key, max_retries=0)
    check_lists(client, voice)
    check_formats(client, voice, text, spoken)
    check_streams(client, voice, text, spoken)
    check_errors(client, voice, text)
    asyncio.run(check_many(address, key, voice, text, spoken))
    if key != "none":
        stranger = openai.OpenAI(base_url=address, api_key=key[:-1] + "~", max_retries=0)
        refused(lambda: stranger.audio.speech.create(model="tts-1", voice=voice, input=text), openai.AuthenticationError, None,
                "token")
    print("openai " + openai.__version__ + ": formats, streams, events, lists, errors, company: ok")


main()

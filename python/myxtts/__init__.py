# SPDX-License-Identifier: GPL-3.0-or-later
"""Speaks with voices that MyXTTS has trained.

    import myxtts

    with myxtts.Voice("my.voice.safetensors") as voice:
        samples = voice.speak("Good morning.")         # numpy.float32, or array('f') without numpy
        voice.save("morning.wav", "Good morning.")
        for chunk in voice.stream(long_text):          # as it is made
            play(chunk.samples, chunk.rate)
"""
from ._library import Error, LibraryError
from .voice import Chunk, Phoneme, SpeechWarning, Stream, Voice, pcm16

__all__ = ["Chunk", "Error", "LibraryError", "Phoneme", "SpeechWarning", "Stream", "Voice", "pcm16"]
__version__ = "0.1.0"

# SPDX-License-Identifier: GPL-3.0-or-later
"""Voices, and the speech that they make. See Voice.

Memory: samples are copied out of the library, so they stay valid. A voice keeps the library's voice open until it is
closed and the last of its streams has ended.

Threads: any number of threads may use one voice; each stream has a speaker of the library for itself. A stream belongs to
one thread at a time, except for its method cancel(). The library works without the interpreter's lock.
"""
import array
import os
import threading
import warnings
import wave
import weakref
from typing import Iterator, List, NamedTuple, Optional

from ._library import Error, check, ffi, library, text_of

try:
    import numpy
except ImportError:  # the package works without it
    numpy = None


class SpeechWarning(UserWarning):
    """Something in the text could not be spoken as it is written."""


class Phoneme(NamedTuple):
    """A phoneme (or character, for a voice that reads characters), and its samples, counted from the start of the speech."""

    symbol: str
    begin: int
    end: int


class Chunk(NamedTuple):
    """A part of the speech."""

    samples: "numpy.ndarray"  # float32; 1 is full scale. array('f') without numpy
    rate: int
    begin: int  # samples of the speech before this chunk
    piece: int  # number of the piece of text, about a sentence, that it belongs to
    first: bool  # the piece begins with it
    last: bool  # the piece ends with it
    text: str  # the piece as it is spoken
    language: str
    source: slice  # the part of the text that contains the piece: text[chunk.source]
    phonemes: List[Phoneme]  # that begin in this chunk


def _samples_copy(pointer, count):
    data = ffi.buffer(pointer, count * 4) if count else b""
    if numpy is not None:
        return numpy.frombuffer(data, dtype=numpy.float32).copy()
    samples = array.array("f")
    samples.frombytes(bytes(data))
    return samples


def _floats(samples):
    """Mono samples of any kind as a `const float *`, and their number. The pointer keeps the memory."""
    if numpy is not None:
        samples = numpy.ascontiguousarray(samples, dtype=numpy.float32)
        if samples.ndim != 1:
            raise ValueError("samples must be mono: one dimension, not %d" % samples.ndim)
    elif not (isinstance(samples, array.array) and samples.typecode == "f"):
        samples = array.array("f", samples)
    return ffi.from_buffer("float[]", samples), len(samples)


def pcm16(samples) -> bytes:
    """Samples as 16-bit integers, least significant byte first. Up to 0.9 of full scale they are unchanged; louder ones
    are bent smoothly and never clip. It is what `myxtts synth` writes."""
    pointer, count = _floats(samples)
    numbers = array.array("h", bytes(2 * count))
    if count:
        library().mx_samples_pcm16(pointer, count, ffi.from_buffer("int16_t[]", numbers, require_writable=True))
    if array.array("H", b"\1\0")[0] != 1:
        numbers.byteswap()
    return numbers.tobytes()


def _count(number):
    """Rounds and projections as the library has them."""
    if number is None:
        return 0
    return -1 if number == 0 else number


class Stream:
    """A speech that is being made: an iterator of Chunk. Voice.stream() makes it.

    It is a context manager, too: leaving the block ends the speech. cancel() ends it from any thread; then the iteration
    raises Error with the name "INTERRUPTED".
    """

    def __init__(self, voice, text, options):
        self._voice = voice
        self._bytes = text.encode("utf-8")
        self._kept = []  # memory that the options point to
        self._warnings = []
        self._lock = threading.RLock()  # guards _speaker: it is not given back while cancel() uses it
        self._speaker = None
        self._speaker = voice._speaker_take(self)
        try:
            how = self._how(**options)
            check(library().mx_speaker_begin(self._speaker, self._bytes, len(self._bytes), how))
        except BaseException:
            self.close()
            raise

    def _string(self, text):
        if text is None:
            return ffi.NULL
        self._kept.append(ffi.new("char[]", text.encode("utf-8")))
        return self._kept[-1]

    def _references(self, reference, rate):
        """One recording or a list of them, each a path or samples, as an array of struct mx_reference."""
        paths = (str, os.PathLike)
        listed = isinstance(reference, (list, tuple)) and len(reference) > 0
        several = reference if listed and (isinstance(reference[0], paths) or hasattr(reference[0], "__len__")) else [reference]
        array_of = ffi.new("struct mx_reference[]", len(several))
        self._kept.append(array_of)
        for to, r in zip(array_of, several):
            if isinstance(r, paths):
                to.file = self._string(os.fspath(r))
                continue
            if rate is None:
                raise TypeError("samples as reference need reference_rate, their number per second")
            pointer, to.count = _floats(r)
            self._kept.append(pointer)  # owns the samples; what to.samples gives back does not
            to.samples = pointer
            to.rate = rate
        return array_of

    def _how(self, *, language=None, speaker=None, reference=None, reference_rate=None, speed=1.0, pitch=0.0, volume=1.0,
             pauses=1.0, seed=0, ssml=False, likeness=1.0):
        how = ffi.new("struct mx_speaking *")
        how.size = ffi.sizeof("struct mx_speaking")
        how.language = self._string(language)
        how.speaker = self._string(speaker)
        if reference is not None:
            several = self._references(reference, reference_rate)
            how.references, how.references_count = several, len(several)
        how.ssml, how.likeness = bool(ssml), likeness
        how.speed, how.pitch_semitones, how.volume, how.seed = speed, pitch, volume, seed
        how.pause_scale = 1.0 if isinstance(pauses, str) else pauses
        how.pauses = self._string(pauses if isinstance(pauses, str) else None)
        return how

    def _chunk(self, chunk):
        before = len(self._bytes[:chunk.source_begin].decode("utf-8", "ignore"))
        inside = self._bytes[chunk.source_begin:chunk.source_begin + chunk.source_length].decode("utf-8", "ignore")
        phonemes = [Phoneme(text_of(p.symbol), p.begin, p.end)
                    for p in (chunk.phonemes[i] for i in range(chunk.phoneme_count))]
        return Chunk(_samples_copy(chunk.samples, chunk.count), chunk.rate, chunk.begin, chunk.piece, bool(chunk.first),
                     bool(chunk.last), text_of(chunk.text), text_of(chunk.language),
                     slice(before, before + len(inside)), phonemes)

    def __iter__(self) -> Iterator[Chunk]:
        return self

    def __next__(self) -> Chunk:
        if self._speaker is None:
            raise StopIteration
        chunk = ffi.new("const struct mx_sound_chunk **")
        try:
            more = check(library().mx_speaker_next(self._speaker, chunk))
        except Error:
            self.close()
            raise
        if more:
            return self._chunk(chunk[0])
        self.close()
        for text in self._warnings:
            warnings.warn(text, SpeechWarning, stacklevel=2)
        raise StopIteration

    @property
    def warnings(self) -> List[str]:
        """What could not be spoken as it is written, so far. At the end each is also issued as a SpeechWarning."""
        if self._speaker is not None:
            count = library().mx_speaker_warnings(self._speaker)
            self._warnings = [text_of(library().mx_speaker_warning(self._speaker, i)) for i in range(count)]
        return list(self._warnings)

    def cancel(self):
        """Ends the speech, from any thread."""
        with self._lock:
            if self._speaker is not None:
                library().mx_speaker_cancel(self._speaker)

    def close(self):
        """Gives up the rest of the speech."""
        if self._speaker is None:
            return
        self.warnings  # they go with the speaker
        with self._lock:
            speaker, self._speaker = self._speaker, None
        self._voice._speaker_give(speaker)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        if hasattr(self, "_speaker"):
            self.close()


class Voice:
    """A trained voice.

    `source` is the path of a voice file, a checkpoint or a run folder, or the bytes of a voice file. `device` is as
    `myxtts devices` names them ("cpu:0"); `vocoder` is "griffin-lim" or a path; `rounds`, `projections` and `lexicon` (a file that
    says how words are pronounced) are those of `myxtts synth`.

    speak(), stream() and save() take these options: language ("en"), speaker (one of `speakers`), reference (a person to
    sound like: the path of a sound file, or mono samples with reference_rate, or a list of those), speed (2: twice as fast), pitch (in semitones), volume
    (factor), pauses (factor, or lengths such as "paragraph=900,line=300"), seed, ssml (True: the text is SSML), and likeness (0 to 1: how far pitch and colour are moved towards those of the reference). The same voice, text, options and seed give the
    same samples.
    """

    def __init__(self, source, *, device: Optional[str] = None, vocoder: Optional[str] = None, cpu_devices: int = 0,
                 rounds: Optional[int] = None, projections: Optional[int] = None, lexicon: Optional[str] = None):
        self._handle = None
        # Guards what follows. Reentrant, because a stream may be collected, and then closes itself, at any moment.
        self._lock = threading.RLock()
        self._free = []  # speakers that nobody uses
        self._taken = 0  # speakers that streams use
        self._streams = weakref.WeakSet()
        self._closed = False
        kept = [ffi.new("char[]", text.encode("utf-8")) if text is not None else ffi.NULL for text in (device, vocoder)]
        options = ffi.new("struct mx_voice_options *")
        options.size = ffi.sizeof("struct mx_voice_options")
        options.device, options.vocoder = kept
        options.cpu_devices, options.rounds, options.projections = cpu_devices, _count(rounds), _count(projections)
        if lexicon is not None:
            kept.append(ffi.new("char[]", os.fspath(lexicon).encode("utf-8")))
            options.lexicon = kept[-1]
        out = ffi.new("struct mx_voice **")
        if isinstance(source, (bytes, bytearray, memoryview)):
            self._bytes = ffi.from_buffer(source)  # the library reads them until the voice is closed
            check(library().mx_voice_open_memory(self._bytes, len(self._bytes), options, out))
        else:
            check(library().mx_voice_open(os.fsencode(source), options, out))
        self._handle = out[0]
        lib = library()
        self.name: str = text_of(lib.mx_voice_name(self._handle))
        self.licence: str = text_of(lib.mx_voice_licence(self._handle))
        self.attribution: str = text_of(lib.mx_voice_attribution(self._handle))
        self.rate: int = lib.mx_voice_rate(self._handle)
        self.languages: List[str] = [text_of(lib.mx_voice_language(self._handle, i))
                                     for i in range(lib.mx_voice_languages(self._handle))]
        self.speakers: List[str] = [text_of(lib.mx_voice_speaker(self._handle, i))
                                    for i in range(lib.mx_voice_speakers(self._handle))]

    # ---- speaking ----

    def stream(self, text: str, **options) -> Stream:
        """The speech as it is made: an iterator of Chunk. The first one comes soon, however long the text is."""
        return Stream(self, text, options)

    def speak(self, text: str, **options):
        """The whole speech: float32 samples, `rate` of them a second, as a numpy array, or as array('f') without numpy."""
        parts = [chunk.samples for chunk in self.stream(text, **options)]
        if numpy is not None:
            return numpy.concatenate(parts) if parts else numpy.zeros(0, numpy.float32)
        whole = array.array("f")
        for part in parts:
            whole.extend(part)
        return whole

    def save(self, path, text: str, **options) -> float:
        """Writes the speech into a WAV file, with the samples that `myxtts synth` writes. Returns its seconds. If it fails,
        a file that is there stays as it is. The name ends in .wav or has no ending: other formats are refused."""
        path = os.fspath(path)
        ending = os.path.splitext(os.fsdecode(path))[1]
        if ending and ending.lower() != ".wav":
            raise Error("save writes WAV, and the name ends in " + ending,
                        "end it in .wav; 'myxtts synth --output NAME" + ending + "' writes wav, flac, mp3 and opus",
                        "ARGUMENT")
        part = path + (b".part" if isinstance(path, bytes) else ".part")
        count = 0
        try:
            with self.stream(text, **options) as stream, open(part, "wb") as raw, wave.open(raw, "wb") as file:
                file.setnchannels(1)
                file.setsampwidth(2)
                file.setframerate(self.rate)
                for chunk in stream:
                    file.writeframes(pcm16(chunk.samples))
                    count += len(chunk.samples)
            if count == 0:
                raise Error("nothing in the text can be spoken", "give a text with words or numbers", "DATA")
            os.replace(part, path)
        except BaseException:
            if os.path.exists(part):
                os.remove(part)
            raise
        return count / self.rate

    # ---- the library's speakers: memory for one speech each ----

    def _speaker_take(self, stream):
        with self._lock:
            if self._closed:
                raise ValueError("the voice is closed")
            self._taken += 1
            self._streams.add(stream)
            if self._free:
                return self._free.pop()
        out = ffi.new("struct mx_speaker **")
        try:
            check(library().mx_speaker_create(self._handle, out))
        except Error:
            self._speaker_give(None)
            raise
        return out[0]

    def _speaker_give(self, speaker):
        with self._lock:
            self._taken -= 1
            if speaker is not None:
                self._free.append(speaker)
            self._release()

    def _release(self):
        """With the lock: after close(), the last stream that ends closes the library's voice."""
        if not self._closed or self._taken > 0:
            return
        for speaker in self._free:
            library().mx_speaker_destroy(speaker)
        self._free.clear()
        handle, self._handle = self._handle, None
        if handle is not None:
            library().mx_voice_close(handle)

    # ---- the end ----

    def close(self):
        """Releases the voice. Streams that still run are cancelled."""
        with self._lock:
            self._closed = True
            streams = list(self._streams)
            self._release()
        for stream in streams:
            stream.cancel()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        if hasattr(self, "_closed"):
            self.close()

    def __repr__(self):
        return "<myxtts.Voice %r: %s>" % (self.name, ", ".join(self.languages))

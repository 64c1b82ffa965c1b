# SPDX-License-Identifier: GPL-3.0-or-later
"""libmyxtts.so, loaded through CFFI in ABI mode: what the package uses of include/myxtts/voice.h and error.h.

tests/python.sh compares the layout of the structs with the headers.
"""
import os

import cffi

ffi = cffi.FFI()

ffi.cdef("""
struct mx_error {
    int code, line;
    const char *file;
    char message[512];
    char hint[2048];
};
const struct mx_error *mx_error_last(void);
const char *mx_error_name(int code);

struct mx_voice;
struct mx_voice_options {
    size_t size;
    const char *device;
    const char *vocoder;
    int cpu_devices;
    int rounds;
    int projections;
    const char *lexicon;
};
int mx_voice_open(const char *path, const struct mx_voice_options *options, struct mx_voice **out);
int mx_voice_open_memory(const void *bytes, size_t count, const struct mx_voice_options *options, struct mx_voice **out);
void mx_voice_close(struct mx_voice *voice);
const char *mx_voice_name(const struct mx_voice *voice);
const char *mx_voice_licence(const struct mx_voice *voice);
const char *mx_voice_attribution(const struct mx_voice *voice);
int mx_voice_rate(const struct mx_voice *voice);
size_t mx_voice_languages(const struct mx_voice *voice);
const char *mx_voice_language(const struct mx_voice *voice, size_t number);
size_t mx_voice_speakers(const struct mx_voice *voice);
const char *mx_voice_speaker(const struct mx_voice *voice, size_t number);

struct mx_speaker;
struct mx_reference {
    const char *file;
    const float *samples;
    size_t count;
    int rate;
};
struct mx_speaking {
    size_t size;
    const char *language;
    const char *speaker;
    const char *reference_file;
    const float *reference;
    size_t reference_count;
    int reference_rate;
    int ssml;
    double speed;
    double pitch_semitones;
    double volume;
    double pause_scale;
    uint64_t seed;
    const char *pauses;
    const struct mx_reference *references;
    size_t references_count;
    double likeness;
};
struct mx_phoneme_time {
    const char *symbol;
    uint64_t begin, end;
};
struct mx_sound_chunk {
    const float *samples;
    size_t count;
    uint64_t begin;
    int rate;
    int first, last;
    uint64_t piece;
    const char *text;
    const char *language;
    size_t source_begin, source_length;
    const struct mx_phoneme_time *phonemes;
    size_t phoneme_count;
};
int mx_speaker_create(struct mx_voice *voice, struct mx_speaker **out);
void mx_speaker_destroy(struct mx_speaker *speaker);
int mx_speaker_begin(struct mx_speaker *speaker, const char *text, size_t length, const struct mx_speaking *options);
int mx_speaker_next(struct mx_speaker *speaker, const struct mx_sound_chunk **chunk);
void mx_speaker_cancel(struct mx_speaker *speaker);
size_t mx_speaker_warnings(const struct mx_speaker *speaker);
const char *mx_speaker_warning(const struct mx_speaker *speaker, size_t number);
void mx_samples_pcm16(const float *samples, size_t count, int16_t *out);
""")

SONAME = "libmyxtts.so.0"
VARIABLE = "MYXTTS_LIBRARY"


class Error(Exception):
    """What libmyxtts reports: `message`, `hint` (what to do about it, or "") and `name` of the error ("NOT_FOUND")."""

    def __init__(self, message, hint="", name="INTERNAL"):
        super().__init__(message + ("\nhint: " + hint if hint else ""))
        self.message = message
        self.hint = hint
        self.name = name


class LibraryError(Error, ImportError):
    """libmyxtts.so was not found."""


_lib = None


def library():
    """The library, loaded at the first call: the file that MYXTTS_LIBRARY names, or the installed one."""
    global _lib
    if _lib is not None:
        return _lib
    named = os.environ.get(VARIABLE)
    reasons = []
    for name in [named] if named else [SONAME, "/usr/local/lib/" + SONAME]:
        try:
            _lib = ffi.dlopen(name)
            return _lib
        except OSError as error:
            reasons.append(str(error))
    hint = ("correct or unset it" if named else
            "install it with 'make install' in the folder of MyXTTS, or name the file: export %s=/path/to/%s"
            % (VARIABLE, SONAME))
    raise LibraryError("cannot load %s: %s" % ("the library that %s names" % VARIABLE if named else SONAME,
                                               "; ".join(reasons)), hint, "NOT_FOUND")


def text_of(pointer):
    return ffi.string(pointer).decode("utf-8", "replace")


def check(code):
    """Raises what went wrong in the last call of this thread, unless `code` is 0 or more."""
    if code >= 0:
        return code
    last = library().mx_error_last()
    raise Error(text_of(last.message), text_of(last.hint), text_of(library().mx_error_name(code)))

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Sound as bytes of an audio format, while it is being made: what a client hears first leaves before the rest exists.
 *
 *     wav    16-bit WAV. The sizes in its header are 0xFFFFFFFF, "until the end", unless the number of samples is known.
 *     pcm    the samples alone, 16-bit little-endian
 *     flac   16-bit FLAC; its header has neither the number of samples nor a checksum of all of them, unless all bytes are
 *            taken at the end (MX_ENCODE_WHOLE)
 *     opus   Opus in Ogg
 *     mp3    MPEG layer III with a constant bit rate, so that players know its length from the number of bytes
 *
 * Samples louder than 0.9 of full scale are bent smoothly (mx_samples_limit). The formats with 16-bit samples carry the
 * same samples, those of mx_samples_pcm16. The bytes do not depend on how the sound is divided among the
 * calls: it is processed in blocks of a fixed size (in Ogg the serial number of the stream is random).
 *
 * Memory: an encoder owns its buffers; the bytes that mx_encode_bytes returns stay valid until the next call that writes.
 * Threads: one at a time.
 */
#ifndef MX_SPEECH_ENCODE_H
#define MX_SPEECH_ENCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(name, name of the format, media type): MX_ENCODE_<name>. */
#define MX_ENCODE_LIST(X)                                                                                              \
    X(WAV, "wav", "audio/wav")                                                                                         \
    X(PCM, "pcm", "audio/pcm")                                                                                         \
    X(FLAC, "flac", "audio/flac")                                                                                      \
    X(OPUS, "opus", "audio/ogg; codecs=opus")                                                                          \
    X(MP3, "mp3", "audio/mpeg")

enum mx_encode_format {
#define X(name, text, type) MX_ENCODE_##name,
    MX_ENCODE_LIST(X)
#undef X
        MX_ENCODE_FORMATS
};

extern const char *const mx_encode_names[MX_ENCODE_FORMATS], *const mx_encode_types[MX_ENCODE_FORMATS];
#define MX_ENCODE_NAMES   "wav, pcm, flac, opus and mp3" /* for messages */
#define MX_ENCODE_ENDINGS ".wav, .flac, .mp3, .opus or .ogg (Opus), or .pcm"

#define MX_ENCODE_RATE_MIN 8000
#define MX_ENCODE_RATE_MAX 48000

/* False: there is no such format. */
bool mx_encode_find(const char *name, enum mx_encode_format *out);
/* The format of a file of this name, by its ending in any case; WAV without an ending. False: an ending of another kind,
 * and *ending (in `path`, with the dot) is it. */
bool mx_encode_named(const char *path, enum mx_encode_format *out, const char **ending);
/* The rate in which this format carries sound of `rate`: itself, or for mp3 and opus the next one that they have. */
int mx_encode_rate(enum mx_encode_format format, int rate);

struct mx_encode;

/* Takes sound of rate `from` and writes it in `to`, a rate that the format has. `samples`: how many will come, or one of
 * the two below. MX_ERR_ARGUMENT: an impossible rate; MX_ERR_UNSUPPORTED: this libsndfile cannot write the format. */
#define MX_ENCODE_OPEN  (-1) /* the count is unknown: bytes are output before the last sample is there */
#define MX_ENCODE_WHOLE (-2) /* as above, but all bytes are taken after the end: the header is completed then */
int mx_encode_open(enum mx_encode_format format, int from, int to, int64_t samples, struct mx_encode **out);
int mx_encode_write(struct mx_encode *encode, const float *samples, size_t count);
int mx_encode_finish(struct mx_encode *encode); /* the rest of the bytes */
/* Takes the bytes made since the last call. */
const char *mx_encode_bytes(struct mx_encode *encode, size_t *count);
void mx_encode_close(struct mx_encode *encode); /* NULL is fine; at any time */
/* Writes a whole sound of rate `from` into a file, in the next rate of the format, as mx_file_write_atomic does. */
int mx_encode_file(const char *path, enum mx_encode_format format, const float *samples, size_t count, int from);

/* The 44 bytes of the header of a mono WAV with 16 bits per sample. `samples` -1: until the end. */
#define MX_ENCODE_WAV_HEADER 44
void mx_encode_wav_header(unsigned char out[MX_ENCODE_WAV_HEADER], int rate, int64_t samples);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Streaming encoders, see encode.h. libsndfile writes flac, opus and mp3 into a growing block that the caller empties:
 * what it writes at the end leaves at once, and when it goes back to complete a header that has left, those bytes are
 * dropped. (The header of a FLAC stream may leave its length open. Before the first MP3 frame, libsndfile leaves room
 * for one that describes the file; it would be heard as silence and is removed.)
 */
#include "speech/encode.h"

#include <math.h>
#include <sndfile.h>
#include <soxr.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/file.h"
#include "myxtts/error.h"
#include "myxtts/voice.h"

#define BLOCK       512   /* samples that are processed at once */
#define OGG_PAGE_MS 60.0  /* of sound at most in one page of Ogg: it leaves when it is full */
#define MP3_BITS    64000 /* per second, for one voice at 22 or 24 kHz */
#define WAV_OPEN    UINT32_C(0xffffffff)

#define X(name, text, type) [MX_ENCODE_##name] = (text),
const char *const mx_encode_names[MX_ENCODE_FORMATS] = {MX_ENCODE_LIST(X)};
#undef X
#define X(name, text, type) [MX_ENCODE_##name] = (type),
const char *const mx_encode_types[MX_ENCODE_FORMATS] = {MX_ENCODE_LIST(X)};
#undef X

struct mx_encode {
    enum mx_encode_format format;
    int rate;         /* of what is written */
    soxr_t resampler; /* NULL: the rates are equal */
    SNDFILE *file;    /* NULL: wav, pcm */
    float held[BLOCK];
    size_t held_count;
    float *resampled; /* room for what a block becomes */
    size_t resampled_room;
    char *bytes;
    size_t count, capacity;
    bool whole;          /* nothing leaves before the end, so that what was written can be corrected */
    bool taken;          /* by mx_encode_bytes: the next write begins with an empty block */
    int64_t at, length;  /* the place in the stream where libsndfile writes, and the end of the stream */
    int64_t placeholder; /* MP3: bytes at the beginning that are left out; -1: not known yet */
    bool no_memory;      /* while libsndfile wrote */
};

bool mx_encode_find(const char *name, enum mx_encode_format *out)
{
    for (int i = 0; i < MX_ENCODE_FORMATS; i++) {
        if (strcmp(mx_encode_names[i], name) != 0) continue;
        *out = (enum mx_encode_format)i;
        return true;
    }
    return false;
}

bool mx_encode_named(const char *path, enum mx_encode_format *out, const char **ending)
{
    const char *const slash = strrchr(path, '/'), *const base = slash == NULL ? path : slash + 1;
    *ending = strrchr(base, '.');
    *out = MX_ENCODE_WAV;
    if (*ending == NULL || *ending == base) return true;
    if (strcasecmp(*ending, ".ogg") == 0) {
        *out = MX_ENCODE_OPUS;
        return true;
    }
    for (int i = 0; i < MX_ENCODE_FORMATS; i++) {
        if (strcasecmp(mx_encode_names[i], *ending + 1) != 0) continue;
        *out = (enum mx_encode_format)i;
        return true;
    }
    return false;
}

int mx_encode_rate(enum mx_encode_format format, int rate)
{
    static const int opus[] = {8000, 12000, 16000, 24000, 48000},
                     mp3[] = {8000, 11025, 12000, 16000, 22050, 24000, 32000, 44100, 48000};
    const int *const rates = format == MX_ENCODE_OPUS ? opus : mp3;
    const size_t count = format == MX_ENCODE_OPUS ? sizeof opus / sizeof opus[0] : sizeof mp3 / sizeof mp3[0];
    if (format != MX_ENCODE_OPUS && format != MX_ENCODE_MP3) return rate;
    for (size_t i = 0; i < count; i++)
        if (rates[i] >= rate) return rates[i];
    return rates[count - 1];
}

/* ---- bytes ---- */

static int bytes_append(struct mx_encode *e, const void *data, size_t count)
{
    if (e->taken) e->count = 0;
    e->taken = false;
    if (MX_GROW(e->bytes, e->capacity, e->count + count) < 0) return MX_ERR_NO_MEMORY;
    memcpy(e->bytes + e->count, data, count);
    e->count += count;
    return 0;
}

const char *mx_encode_bytes(struct mx_encode *e, size_t *count)
{
    *count = e->taken ? 0 : e->count;
    e->taken = true;
    return e->bytes != NULL ? e->bytes : "";
}

static void put32(unsigned char *to, uint32_t value)
{
    for (int i = 0; i < 4; i++) to[i] = (unsigned char)(value >> (8 * i));
}

void mx_encode_wav_header(unsigned char out[MX_ENCODE_WAV_HEADER], int rate, int64_t samples)
{
    static const unsigned char frame[MX_ENCODE_WAV_HEADER] = {
        'R', 'I', 'F',      'F',      [8] = 'W', 'A',       'V',        'E', 'f', 'm', 't',
        ' ', 16,  [20] = 1, [22] = 1, [32] = 2,  [34] = 16, [36] = 'd', 'a', 't', 'a'};
    const bool open = samples < 0 || samples > (WAV_OPEN - MX_ENCODE_WAV_HEADER) / 2;
    const uint32_t bytes = open ? WAV_OPEN : (uint32_t)samples * 2;
    memcpy(out, frame, sizeof frame);
    put32(out + 4, open ? WAV_OPEN : bytes + MX_ENCODE_WAV_HEADER - 8);
    put32(out + 24, (uint32_t)rate);
    put32(out + 28, (uint32_t)rate * 2);
    put32(out + 40, bytes);
}

/* ---- the file that libsndfile believes to write ---- */

static sf_count_t stream_length(void *user)
{
    return ((struct mx_encode *)user)->length;
}

static sf_count_t stream_seek(sf_count_t offset, int whence, void *user)
{
    struct mx_encode *const e = user;
    const int64_t from = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? e->at : e->length;
    if (from + offset < 0 || from + offset > e->length) return -1;
    e->at = from + offset;
    return e->at;
}

static sf_count_t stream_read(void *to, sf_count_t count, void *user)
{
    (void)to;
    (void)count;
    (void)user;
    return 0; /* what has left cannot be read again */
}

static sf_count_t stream_tell(void *user)
{
    return ((struct mx_encode *)user)->at;
}

/* Bytes of the MPEG-1, -2 or -2.5 layer III frame that begins here; 0: none does. */
static int64_t mp3_frame_bytes(const unsigned char *at, size_t count)
{
    static const int bits[2][15] = {{0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160},
                                    {0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320}};
    static const int rates[3] = {44100, 48000, 32000};
    if (count < 4 || at[0] != 0xff || (at[1] & 0xe6) != 0xe2) return 0;                  /* layer III */
    const int version = at[1] >> 3 & 3, index = at[2] >> 4, rate_index = at[2] >> 2 & 3; /* 3: MPEG-1, 2: 2, 0: 2.5 */
    if (version == 1 || index == 0 || index == 15 || rate_index == 3) return 0;
    const int rate = rates[rate_index] >> (version == 3 ? 0 : version == 2 ? 1 : 2);
    return (version == 3 ? 144000 : 72000) * bits[version == 3][index] / rate + (at[2] >> 1 & 1);
}

/* All bytes are still here: they change as those of a file would. */
static sf_count_t whole_write(struct mx_encode *e, const char *data, sf_count_t count)
{
    const size_t end = (size_t)(e->at + count);
    if (MX_GROW(e->bytes, e->capacity, end) < 0) {
        e->no_memory = true;
        return 0;
    }
    memcpy(e->bytes + e->at, data, (size_t)count);
    e->at += count;
    if (e->at > e->length) e->length = e->at;
    e->count = (size_t)e->length;
    return count;
}

static sf_count_t stream_write(const void *from, sf_count_t count, void *user)
{
    struct mx_encode *const e = user;
    const char *data = from;
    int64_t left = count;
    if (e->whole) return whole_write(e, from, count);
    if (e->format == MX_ENCODE_MP3 && e->placeholder < 0) e->placeholder = mp3_frame_bytes(from, (size_t)count);
    const int64_t sent = e->length > e->placeholder ? e->length : e->placeholder; /* what is before it stays as it is */
    if (e->at < sent) {
        const int64_t old = sent - e->at < left ? sent - e->at : left;
        data += old;
        left -= old;
    }
    if (left > 0 && bytes_append(e, data, (size_t)left) < 0) {
        e->no_memory = true;
        return 0;
    }
    e->at += count;
    if (e->at > e->length) e->length = e->at;
    return count;
}

static int file_fail(const struct mx_encode *e, SNDFILE *file)
{
    if (e->no_memory) return MX_ERR_NO_MEMORY;
    return MX_FAIL(MX_ERR_INTERNAL, NULL, "%s: libsndfile: %s", mx_encode_names[e->format], sf_strerror(file));
}

/* The share of the way from the highest to the lowest bit rate, as libsndfile wants it. */
static double mp3_level(int rate)
{
    const double highest = rate >= 32000   ? 320000
                           : rate >= 16000 ? 160000
                                           : 64000,
                 lowest = rate >= 32000 ? 32000 : 8000;
    return (highest - fmin(MP3_BITS, highest)) / (highest - lowest);
}

static int file_open(struct mx_encode *e, int rate)
{
    static const int formats[MX_ENCODE_FORMATS] = {[MX_ENCODE_FLAC] = SF_FORMAT_FLAC | SF_FORMAT_PCM_16,
                                                   [MX_ENCODE_OPUS] = SF_FORMAT_OGG | SF_FORMAT_OPUS,
                                                   [MX_ENCODE_MP3] = SF_FORMAT_MPEG | SF_FORMAT_MPEG_LAYER_III};
    static SF_VIRTUAL_IO calls = {stream_length, stream_seek, stream_read, stream_write, stream_tell};
    SF_INFO info = {.samplerate = rate, .channels = 1, .format = formats[e->format]};
    double latency = OGG_PAGE_MS, level = mp3_level(rate);
    int mode = SF_BITRATE_MODE_CONSTANT;
    if (formats[e->format] == 0) return 0;
    if (!sf_format_check(&info))
        return MX_FAIL(MX_ERR_UNSUPPORTED, "ask for wav, pcm or flac", "the libsndfile of this machine cannot write %s",
                       mx_encode_names[e->format]);
    e->file = sf_open_virtual(&calls, SFM_WRITE, &info, e);
    if (e->file == NULL) return file_fail(e, NULL);
    sf_command(e->file, SFC_SET_CLIPPING, NULL, SF_TRUE);
    if (e->format == MX_ENCODE_OPUS) sf_command(e->file, SFC_SET_OGG_PAGE_LATENCY_MS, &latency, sizeof latency);
    if (e->format == MX_ENCODE_MP3) {
        sf_command(e->file, SFC_SET_BITRATE_MODE, &mode, sizeof mode);
        sf_command(e->file, SFC_SET_COMPRESSION_LEVEL, &level, sizeof level);
    }
    return 0;
}

/* ---- sound ---- */

int mx_encode_open(enum mx_encode_format format, int from, int to, int64_t samples, struct mx_encode **out)
{
    int rc = 0;
    soxr_error_t fault = NULL;
    struct mx_encode *e = NULL;
    *out = NULL;
    if (from < 1 || to < MX_ENCODE_RATE_MIN || to > MX_ENCODE_RATE_MAX || mx_encode_rate(format, to) != to)
        MX_RAISE(MX_ERR_ARGUMENT, "22050 and 24000 are usual", "%s cannot have %d samples per second",
                 mx_encode_names[format], to);
    e = mx_alloc(1, sizeof *e);
    if (e == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    e->format = format;
    e->rate = to;
    e->whole = samples == MX_ENCODE_WHOLE;
    e->placeholder = format == MX_ENCODE_MP3 ? -1 : 0;
    e->resampled_room = 1024 + (size_t)((double)BLOCK * to / from);
    e->resampled = mx_alloc(e->resampled_room, sizeof e->resampled[0]);
    if (e->resampled == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    if (from != to) {
        const soxr_io_spec_t io = soxr_io_spec(SOXR_FLOAT32_I, SOXR_FLOAT32_I);
        const soxr_quality_spec_t quality = soxr_quality_spec(SOXR_HQ, 0);
        const soxr_runtime_spec_t runtime = soxr_runtime_spec(1);
        e->resampler = soxr_create(from, to, 1, &fault, &io, &quality, &runtime);
        if (e->resampler == NULL)
            MX_RAISE(MX_ERR_INTERNAL, NULL, "the resampler cannot convert %d Hz to %d Hz: %s", from, to,
                     fault == NULL ? "unknown reason" : fault);
    }
    MX_TRY(file_open(e, to));
    if (format == MX_ENCODE_WAV) {
        unsigned char header[MX_ENCODE_WAV_HEADER];
        mx_encode_wav_header(header, to, from == to ? samples : -1);
        MX_TRY(bytes_append(e, header, sizeof header));
    }
    *out = e;
    e = NULL;
out:
    mx_encode_close(e);
    return rc;
}

/* Samples at the rate of the format. */
static int samples_put(struct mx_encode *e, const float *samples, size_t count)
{
    int16_t whole[BLOCK];
    float bent[BLOCK];
    unsigned char pair[2 * BLOCK];
    for (size_t at = 0; at < count;) {
        const size_t n = count - at < BLOCK ? count - at : BLOCK;
        sf_count_t put = (sf_count_t)n;
        if (e->format == MX_ENCODE_FLAC) {
            mx_samples_pcm16(samples + at, n, whole);
            put = sf_write_short(e->file, whole, (sf_count_t)n);
        } else if (e->file != NULL) {
            mx_samples_limit(samples + at, n, bent);
            put = sf_write_float(e->file, bent, (sf_count_t)n);
        } else {
            mx_samples_pcm16(samples + at, n, whole);
            for (size_t i = 0; i < n; i++) {
                pair[2 * i] = (unsigned char)(whole[i] & 0xff);
                pair[2 * i + 1] = (unsigned char)(whole[i] >> 8 & 0xff);
            }
            if (e->whole && e->format == MX_ENCODE_WAV && e->count + 2 * n > WAV_OPEN)
                return MX_FAIL(MX_ERR_DATA, "choose flac, mp3 or opus, or write several files",
                               "the sound is longer than a WAV file can hold");
            const int rc = bytes_append(e, pair, 2 * n);
            if (rc < 0) return rc;
        }
        if (put != (sf_count_t)n || e->no_memory) return file_fail(e, e->file);
        at += n;
    }
    return 0;
}

/* A whole block, or the last part; samples NULL: the end, what the filter still holds comes out. */
static int block_put(struct mx_encode *e, const float *samples, size_t count)
{
    size_t used = 0;
    if (e->resampler == NULL) return samples_put(e, samples, count);
    for (;;) {
        size_t taken = 0, made = 0;
        const soxr_error_t fault = soxr_process(e->resampler, samples == NULL ? NULL : samples + used, count - used,
                                                &taken, e->resampled, e->resampled_room, &made);
        if (fault != NULL) return MX_FAIL(MX_ERR_INTERNAL, NULL, "the resampler failed: %s", fault);
        const int rc = samples_put(e, e->resampled, made);
        if (rc < 0) return rc;
        used += taken;
        if (made < e->resampled_room && used == count) return 0;
    }
}

int mx_encode_write(struct mx_encode *e, const float *samples, size_t count)
{
    int rc = 0;
    if (e->taken) e->count = 0;
    e->taken = false;
    while (count > 0) {
        const size_t room = BLOCK - e->held_count, n = count < room ? count : room;
        memcpy(e->held + e->held_count, samples, n * sizeof samples[0]);
        e->held_count += n;
        samples += n;
        count -= n;
        if (e->held_count < BLOCK) break;
        MX_TRY(block_put(e, e->held, BLOCK));
        e->held_count = 0;
    }
out:
    return rc;
}

int mx_encode_finish(struct mx_encode *e)
{
    int rc = 0;
    if (e->taken) e->count = 0;
    e->taken = false;
    if (e->held_count > 0) MX_TRY(block_put(e, e->held, e->held_count));
    e->held_count = 0;
    if (e->resampler != NULL) MX_TRY(block_put(e, NULL, 0));
    if (e->file != NULL) {
        const int failure = sf_close(e->file);
        e->file = NULL;
        if (failure != 0)
            MX_RAISE(MX_ERR_INTERNAL, NULL, "%s: libsndfile: %s", mx_encode_names[e->format], sf_error_number(failure));
        if (e->no_memory) MX_TRY(MX_ERR_NO_MEMORY);
    }
    if (e->whole && e->format == MX_ENCODE_WAV)
        mx_encode_wav_header((unsigned char *)e->bytes, e->rate, (int64_t)(e->count - MX_ENCODE_WAV_HEADER) / 2);
out:
    return rc;
}

int mx_encode_file(const char *path, enum mx_encode_format format, const float *samples, size_t count, int from)
{
    int rc = 0;
    size_t bytes;
    struct mx_encode *encode = NULL;
    MX_TRY(mx_encode_open(format, from, mx_encode_rate(format, from), MX_ENCODE_WHOLE, &encode));
    MX_TRY(mx_encode_write(encode, samples, count));
    MX_TRY(mx_encode_finish(encode));
    const char *const data = mx_encode_bytes(encode, &bytes);
    MX_TRY(mx_file_write_atomic(path, data, bytes));
out:
    mx_encode_close(encode);
    return rc;
}

void mx_encode_close(struct mx_encode *e)
{
    if (e == NULL) return;
    if (e->file != NULL) sf_close(e->file);
    soxr_delete(e->resampler);
    mx_free(e->resampled);
    mx_free(e->bytes);
    mx_free(e);
}

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * libFuzzer target for sound files (corpus/audio/audio.h). The first byte says how the others are taken: as a whole file, or
 * as changes to a good file of one of the kinds that libsndfile writes. Whatever is loaded is finite and within its
 * bounds; what is refused is refused with a reason; probing, loading and streaming agree. Built with clang
 * -fsanitize=fuzzer,address,undefined.
 *
 * A change is 3 bytes: where (2, modulo the size of the file), and the new byte; at the place 0xffff a change cuts off
 * the last part of the file instead, as many 256ths of it as the byte says.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "corpus/audio/audio.h"
#include "corpus/audio/audio_internal.h"
#include "fuzz.h"
#include "myxtts/error.h"

#define RATE         8000
#define SAMPLES      800 /* a tenth of a second */
#define CHANGE_BYTES 3
#define LIMIT        ((size_t)1 << 20)

static const int formats[] = {SF_FORMAT_WAV | SF_FORMAT_PCM_16, SF_FORMAT_WAV | SF_FORMAT_FLOAT,
                              SF_FORMAT_FLAC | SF_FORMAT_PCM_16, SF_FORMAT_OGG | SF_FORMAT_VORBIS};
#define BASES (sizeof formats / sizeof formats[0])
static char *bases[BASES];
static size_t base_bytes[BASES];
static struct mx_audio_reader *reader; /* for as long as the program runs, as the bases */
static int scratch;                    /* a file in memory, and its path */
static char path[64];

static void scratch_write(const char *data, size_t bytes)
{
    check(ftruncate(scratch, 0) == 0 && pwrite(scratch, data, bytes, 0) == (ssize_t)bytes);
}

static void base_make(int format, char **data, size_t *bytes)
{
    float samples[SAMPLES];
    SF_INFO info = {.samplerate = RATE, .channels = 1, .format = format};
    for (int i = 0; i < SAMPLES; i++) samples[i] = 0.25f * sinf(0.2f * (float)i);
    scratch_write("", 0);
    SNDFILE *const file = sf_open(path, SFM_WRITE, &info);
    check(file != NULL && sf_writef_float(file, samples, SAMPLES) == SAMPLES && sf_close(file) == 0);
    check(mx_file_read(path, LIMIT, data, bytes) == 0);
}

static struct mx_audio_options options_make(void)
{
    struct mx_audio_options options = MX_AUDIO_OPTIONS_DEFAULT;
    options.seconds_min = 0.01;
    options.seconds_max = 1;
    return options;
}

/* All samples of the file as a stream; -1: it cannot be read at all. */
static int64_t stream_read(void)
{
    struct mx_audio_report report;
    const float *samples;
    size_t count;
    int64_t total = 0;
    int rc = mx_audio_stream_begin(reader, path, MX_AUDIO_RATE_DEFAULT, &report);
    check(rc == 0 || (rc == MX_ERR_DATA && report.reject != MX_REJECT_NONE && report.detail[0] != '\0'));
    if (rc < 0) return -1;
    while ((rc = mx_audio_stream_next(reader, &samples, &count, &report)) == 0 && count > 0 &&
           total < 60 * MX_AUDIO_RATE_DEFAULT) {
        total += (int64_t)count;
        for (size_t i = 0; i < count; i++) check(isfinite(samples[i]));
    }
    check(rc == 0 || (rc == MX_ERR_DATA && report.detail[0] != '\0'));
    mx_audio_stream_end(reader);
    return total;
}

static void file_try(void)
{
    const struct mx_audio_options options = options_make();
    struct mx_audio_report report, probed;
    const float *samples;
    size_t count, whole;
    uint32_t bound;
    check(mx_audio_probe(reader, path, &options, &bound, &probed) == 0);
    check(bound > 0 || (probed.reject != MX_REJECT_NONE && probed.detail[0] != '\0'));
    const int rc = mx_audio_load(reader, path, &options, &samples, &count, &report);
    check(rc == 0 || rc == MX_ERR_DATA);
    if (rc == 0) {
        check(report.reject == MX_REJECT_NONE && count > 0 && count <= bound);
        check(count <= (size_t)(options.seconds_max * MX_AUDIO_RATE_DEFAULT));
        for (size_t i = 0; i < count; i++) check(fabsf(samples[i]) <= 1);
        const float *const all = mx_audio_whole(reader, &whole);
        check(samples >= all && samples + count <= all + whole);
    } else {
        check(report.reject != MX_REJECT_NONE && report.detail[0] != '\0' && mx_error_last()->message[0] != '\0');
    }
    check(!(mx_audio_promised(path) < 0));
    check(stream_read() >= 0 || rc < 0);
}

void fuzz_begin(void)
{
    scratch = memfd_create("fuzz_audio", MFD_CLOEXEC);
    check(scratch >= 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", scratch);
    check(mx_audio_reader_create(&reader) == 0);
    const struct mx_audio_options options = options_make();
    for (size_t i = 0; i < BASES; i++) {
        struct mx_audio_report report;
        const float *samples;
        size_t count;
        base_make(formats[i], &bases[i], &base_bytes[i]);
        check(mx_audio_load(reader, path, &options, &samples, &count, &report) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0 || size > LIMIT) return 0;
    const size_t kind = data[0] % (BASES + 1);
    data++;
    size--;
    if (kind == BASES) {
        scratch_write((const char *)data, size);
        file_try();
        return 0;
    }
    size_t bytes = base_bytes[kind];
    char *const copy = malloc(bytes);
    check(copy != NULL);
    memcpy(copy, bases[kind], bytes);
    for (; size >= CHANGE_BYTES && bytes > 0; data += CHANGE_BYTES, size -= CHANGE_BYTES) {
        const size_t at = (size_t)data[0] << 8 | data[1];
        if (at == 0xffff)
            bytes -= bytes * data[2] / 256;
        else
            copy[at % bytes] = (char)data[2];
    }
    scratch_write(copy, bytes);
    file_try();
    free(copy);
    return 0;
}

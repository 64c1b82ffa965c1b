/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * WAV files: libsndfile writes into a growing block of memory (its header is correct only when everything is written,
 * and a pipe cannot seek back), which is then written out in one piece.
 */
#include "speech/wav.h"

#include <errno.h>
#include <math.h>
#include <sndfile.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "myxtts/error.h"

#define RATE_MAX   768000
#define HEADER_MAX 4096                 /* no header is longer */
#define BYTES_MAX  ((size_t)0xffffffff) /* sizes in the file have 32 bits */
#define BLOCK_SIZE 8192                 /* samples that are scaled at once */

/* ---- a file in memory, as libsndfile wants it ---- */

struct memory {
    char *data;
    size_t length, capacity, at;
};

static sf_count_t memory_length(void *user)
{
    return (sf_count_t)((struct memory *)user)->length;
}

static sf_count_t memory_seek(sf_count_t offset, int whence, void *user)
{
    struct memory *m = user;
    const sf_count_t from = whence == SEEK_SET ? 0 : (sf_count_t)(whence == SEEK_CUR ? m->at : m->length);
    const sf_count_t to = from + offset;
    if (to < 0 || (size_t)to > m->length) return -1;
    m->at = (size_t)to;
    return to;
}

static sf_count_t memory_read(void *to, sf_count_t count, void *user)
{
    struct memory *m = user;
    const size_t left = m->length - m->at, bytes = (size_t)count < left ? (size_t)count : left;
    memcpy(to, m->data + m->at, bytes);
    m->at += bytes;
    return (sf_count_t)bytes;
}

/* The block has room for the whole file from the start. */
static sf_count_t memory_write(const void *from, sf_count_t count, void *user)
{
    struct memory *m = user;
    const size_t left = m->capacity - m->at, bytes = (size_t)count < left ? (size_t)count : left;
    memcpy(m->data + m->at, from, bytes);
    m->at += bytes;
    if (m->at > m->length) m->length = m->at;
    return (sf_count_t)bytes;
}

static sf_count_t memory_tell(void *user)
{
    return (sf_count_t)((struct memory *)user)->at;
}

static SF_VIRTUAL_IO memory_calls = {memory_length, memory_seek, memory_read, memory_write, memory_tell};

/* ---- writing ---- */

float mx_wav_gain(const float *samples, size_t count)
{
    float peak = 0;
    for (size_t i = 0; i < count; i++) peak = fmaxf(peak, fabsf(samples[i]));
    return peak > MX_WAV_PEAK ? MX_WAV_PEAK / peak : 1;
}

static int sound_check(const float *samples, size_t count, int rate, size_t sample_bytes)
{
    if (rate < 1 || rate > RATE_MAX)
        return MX_FAIL(MX_ERR_ARGUMENT, "22050 is usual", "wav: %d is not a valid sample rate", rate);
    if (count > (BYTES_MAX - HEADER_MAX) / sample_bytes)
        return MX_FAIL(MX_ERR_ARGUMENT, "write several files", "wav: %zu samples are more than a file can hold", count);
    for (size_t i = 0; i < count; i++)
        if (!isfinite(samples[i]))
            return MX_FAIL(MX_ERR_DATA, "the sound was already wrong when it was made: check the mel",
                           "wav: sample %zu is not a number", i);
    return 0;
}

static int samples_put(SNDFILE *file, const float *samples, size_t count)
{
    const float gain = mx_wav_gain(samples, count);
    float block[BLOCK_SIZE];
    for (size_t at = 0; at < count;) {
        const size_t n = count - at < BLOCK_SIZE ? count - at : BLOCK_SIZE;
        for (size_t i = 0; i < n; i++) block[i] = gain * samples[at + i];
        if (sf_writef_float(file, block, (sf_count_t)n) != (sf_count_t)n)
            return MX_FAIL(MX_ERR_INTERNAL, NULL, "wav: libsndfile: %s", sf_strerror(file));
        at += n;
    }
    return 0;
}

static int bytes_send(int fd, const char *data, size_t bytes)
{
    if (isatty(fd))
        return MX_FAIL(MX_ERR_USAGE, "send it to a player or a file: … --output - | aplay",
                       "standard output is a terminal, which cannot play sound");
    while (bytes > 0) {
        const ssize_t n = write(fd, data, bytes);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0)
            return MX_FAIL(MX_ERR_IO, "the program that reads it may have ended", "cannot write to standard output: %s",
                           strerror(errno));
        data += n;
        bytes -= (size_t)n;
    }
    return 0;
}

int mx_wav_write(const char *path, const float *samples, size_t count, int rate, enum mx_wav_format format)
{
    const size_t sample_bytes = format == MX_WAV_FLOAT ? 4 : 2;
    SF_INFO info = {.samplerate = rate,
                    .channels = 1,
                    .format = SF_FORMAT_WAV | (format == MX_WAV_FLOAT ? SF_FORMAT_FLOAT : SF_FORMAT_PCM_16)};
    struct memory memory = {0};
    SNDFILE *file = NULL;
    int rc = 0;
    MX_TRY(sound_check(samples, count, rate, sample_bytes));
    memory.capacity = count * sample_bytes + HEADER_MAX;
    memory.data = mx_alloc(memory.capacity, 1);
    if (memory.data == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    file = sf_open_virtual(&memory_calls, SFM_WRITE, &info, &memory);
    if (file == NULL) MX_RAISE(MX_ERR_INTERNAL, NULL, "wav: libsndfile: %s", sf_strerror(NULL));
    sf_command(file, SFC_SET_ADD_PEAK_CHUNK, NULL, SF_FALSE); /* it has a time stamp: the same sound, the same file */
    sf_command(file, SFC_SET_CLIPPING, NULL, SF_TRUE);
    MX_TRY(samples_put(file, samples, count));
    const int failure = sf_close(file);
    file = NULL;
    if (failure != 0) MX_RAISE(MX_ERR_INTERNAL, NULL, "wav: libsndfile: %s", sf_error_number(failure));
    if (strcmp(path, "-") == 0)
        MX_TRY(bytes_send(STDOUT_FILENO, memory.data, memory.length));
    else
        MX_TRY(mx_file_write_atomic(path, memory.data, memory.length));
out:
    if (file != NULL) sf_close(file);
    mx_free(memory.data);
    return rc;
}

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Where the sound goes, see synth_output.h.
 */
#include "cli/synth/synth_output.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "cli/synth/player.h"
#include "myxtts/error.h"
#include "myxtts/voice.h"

#define BLOCK_SAMPLES 4096

struct mx_synth_output {
    struct mx_synth_output_options options;
    struct mx_player *player; /* NULL: not played */
    struct mx_encode *encode; /* NULL: nothing is written */
    bool stream;              /* the file is standard output */
    off_t start;              /* where its header stands; -1: it cannot be corrected */
    uint64_t count;
};

/* ---- standard output ---- */

static int output_fail(void)
{
    return MX_FAIL(MX_ERR_IO, "the program that reads it may have ended", "cannot write to standard output: %s",
                   strerror(errno));
}

static int bytes_send(const void *data, size_t bytes)
{
    const char *at = data;
    while (bytes > 0) {
        const ssize_t n = write(STDOUT_FILENO, at, bytes);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return output_fail();
        at += n;
        bytes -= (size_t)n;
    }
    return 0;
}

/* A file can be corrected, unless all that is written goes to its end. */
static int stream_open(struct mx_synth_output *o)
{
    if (isatty(STDOUT_FILENO))
        return MX_FAIL(MX_ERR_USAGE, "send it to a player or a file: … --output - | aplay",
                       "standard output is a terminal, which cannot play sound");
    const int flags = fcntl(STDOUT_FILENO, F_GETFL);
    o->start = flags < 0 || (flags & O_APPEND) ? -1 : lseek(STDOUT_FILENO, 0, SEEK_CUR);
    return 0;
}

/* Of a WAV in a file, now that its length is known. */
static int header_correct(const struct mx_synth_output *o)
{
    unsigned char header[MX_ENCODE_WAV_HEADER];
    if (o->start < 0 || o->options.format != MX_ENCODE_WAV) return 0;
    mx_encode_wav_header(header, o->options.rate, (int64_t)o->count);
    return pwrite(STDOUT_FILENO, header, sizeof header, o->start) == sizeof header ? 0 : output_fail();
}

/* ---- all of them ---- */

int mx_synth_output_open(const struct mx_synth_output_options *options, struct mx_synth_output **out)
{
    int rc = 0;
    struct mx_synth_output *const o = mx_alloc(1, sizeof *o);
    *out = NULL;
    if (o == NULL) return MX_ERR_NO_MEMORY;
    o->options = *options;
    o->stream = options->file != NULL && strcmp(options->file, "-") == 0;
    if (o->stream) MX_TRY(stream_open(o));
    if (options->file != NULL)
        MX_TRY(mx_encode_open(options->format, options->rate, mx_encode_rate(options->format, options->rate),
                              o->stream ? MX_ENCODE_OPEN : MX_ENCODE_WHOLE, &o->encode));
    if (options->play) MX_TRY(mx_player_open(options->rate, options->stop, &o->player));
    *out = o;
out:
    if (rc < 0) mx_synth_output_close(o);
    return rc;
}

/* Passes on what the encoder has made. */
static int stream_send(struct mx_synth_output *o)
{
    size_t bytes;
    const char *const data = mx_encode_bytes(o->encode, &bytes);
    return bytes_send(data, bytes);
}

static int samples_play(struct mx_synth_output *o, const float *samples, size_t count)
{
    int16_t block[BLOCK_SAMPLES];
    for (size_t at = 0; at < count;) {
        const size_t n = count - at < BLOCK_SAMPLES ? count - at : BLOCK_SAMPLES;
        mx_samples_pcm16(samples + at, n, block);
        for (size_t i = 0; i < n; i++) block[i] = (int16_t)htole16((uint16_t)block[i]);
        const int rc = mx_player_add(o->player, block, n);
        if (rc < 0) return rc;
        at += n;
    }
    return 0;
}

int mx_synth_output_add(struct mx_synth_output *o, const float *samples, size_t count)
{
    int rc = 0;
    for (size_t i = 0; i < count; i++)
        if (!isfinite(samples[i]))
            return MX_FAIL(MX_ERR_DATA, "the voice is damaged, or its training went wrong: 'myxtts inspect' shows it",
                           "sample %llu of the speech is not a number", (unsigned long long)(o->count + i));
    if (o->encode != NULL) MX_TRY(mx_encode_write(o->encode, samples, count));
    if (o->stream) MX_TRY(stream_send(o));
    if (o->player != NULL) MX_TRY(samples_play(o, samples, count));
    o->count += count;
out:
    return rc;
}

int mx_synth_output_finish(struct mx_synth_output *o)
{
    int rc = 0;
    size_t bytes;
    if (o->encode != NULL) MX_TRY(mx_encode_finish(o->encode));
    if (o->stream) {
        MX_TRY(stream_send(o));
        MX_TRY(header_correct(o));
    } else if (o->encode != NULL) {
        const char *const data = mx_encode_bytes(o->encode, &bytes);
        MX_TRY(mx_file_write_atomic(o->options.file, data, bytes));
    }
    if (o->player != NULL) MX_TRY(mx_player_finish(o->player));
out:
    return rc;
}

uint64_t mx_synth_output_samples(const struct mx_synth_output *o)
{
    return o->count;
}

uint64_t mx_synth_output_gaps(const struct mx_synth_output *o)
{
    return o->player != NULL ? mx_player_gaps(o->player) : 0;
}

void mx_synth_output_close(struct mx_synth_output *o)
{
    if (o == NULL) return;
    mx_player_close(o->player);
    mx_encode_close(o->encode);
    mx_free(o);
}

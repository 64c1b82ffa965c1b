/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The audio reader: decodes in blocks and checks, mixes and resamples each block; see audio.h.
 */
#include "corpus/audio/audio.h"

#include <errno.h>
#include <math.h>
#include <soxr.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/string.h"
#include "corpus/audio/audio_internal.h"
#include "myxtts/error.h"

#define BLOCK_SAMPLES 16384 /* of all channels together; at least one frame */
#define CHANNELS_MAX  1024  /* of libsndfile */
#define CLIPPED_RUN   3     /* samples at full scale in a row that are clipping */

struct mx_audio_reader {
    float *samples;
    size_t count, capacity;
    double *levels; /* of windows */
    size_t level_capacity;
    soxr_t resampler;            /* NULL: none yet */
    int from, to;                /* its rates, or those of what is being read if they are equal */
    struct mx_audio_file stream; /* handle NULL: none is open */
    bool stream_drained;         /* the last of it has come out of the resampler */
    int runs[CHANNELS_MAX];      /* length of the current run at full scale, negative below zero */
    float block[BLOCK_SAMPLES];
    float mono[BLOCK_SAMPLES];
};

int mx_audio_reader_create(struct mx_audio_reader **out)
{
    *out = mx_alloc(1, sizeof **out);
    return *out == NULL ? MX_ERR_NO_MEMORY : 0;
}

void mx_audio_reader_destroy(struct mx_audio_reader *reader)
{
    if (reader == NULL) return;
    mx_audio_stream_end(reader);
    soxr_delete(reader->resampler);
    mx_free(reader->samples);
    mx_free(reader->levels);
    mx_free(reader);
}

/* ---- options ---- */

static int range_check(const char *what, double value, double least, double most)
{
    if (value >= least && value <= most) return 0;
    return MX_FAIL(MX_ERR_ARGUMENT, "choose a value in the range", "%s is %g; it must be from %g to %g", what, value,
                   least, most);
}

int mx_audio_options_check(const struct mx_audio_options *options)
{
    int rc = 0;
    MX_TRY(range_check("the rate in Hz", options->rate, MX_AUDIO_RATE_MIN, MX_AUDIO_RATE_MAX));
    MX_TRY(range_check("the minimum duration in seconds", options->seconds_min, 0.05, 600));
    MX_TRY(range_check("the maximum duration in seconds", options->seconds_max, 0.05, 600));
    if (options->seconds_min >= options->seconds_max)
        MX_RAISE(MX_ERR_ARGUMENT, "the minimum must be below the maximum",
                 "the minimum duration, %g s, is not below the maximum, %g s", options->seconds_min,
                 options->seconds_max);
    MX_TRY(range_check("the silence threshold in dB", options->trim_db, 0, 120));
    MX_TRY(range_check("the margin of silence in seconds", options->margin_seconds, 0, 5));
    MX_TRY(range_check("the level in dB", options->level_db, -60, 0));
    MX_TRY(range_check("the peak limit in dB", options->peak_db, -40, 0));
    MX_TRY(range_check("the level of a silent recording in dB", options->silent_db, -140, 0));
    MX_TRY(range_check("the share of clipped samples", options->clipped_share, 0, 1));
out:
    return rc;
}

/* ---- resampling ---- */

static int resampler_start(struct mx_audio_reader *reader, int from, int to)
{
    soxr_error_t fault = NULL;
    const bool same = reader->from == from && reader->to == to;
    reader->from = from;
    reader->to = to;
    if (from == to) return 0;
    if (reader->resampler != NULL && same) {
        fault = soxr_clear(reader->resampler);
    } else {
        const soxr_io_spec_t io = soxr_io_spec(SOXR_FLOAT32_I, SOXR_FLOAT32_I);
        const soxr_quality_spec_t quality = soxr_quality_spec(SOXR_HQ, 0);
        const soxr_runtime_spec_t runtime = soxr_runtime_spec(1);
        soxr_delete(reader->resampler);
        reader->resampler = soxr_create(from, to, 1, &fault, &io, &quality, &runtime);
    }
    if (fault == NULL && reader->resampler != NULL) return 0;
    soxr_delete(reader->resampler);
    reader->resampler = NULL;
    return MX_FAIL(MX_ERR_INTERNAL, NULL, "the resampler cannot convert %d Hz to %d Hz: %s", from, to,
                   fault == NULL ? "unknown reason" : fault);
}

/* Takes `count` samples of the file; input NULL: the end, what the filter still holds comes out. */
static int samples_append(struct mx_audio_reader *reader, const float *input, size_t count)
{
    int rc = 0;
    size_t used = 0;
    if (reader->from == reader->to) {
        MX_TRY(MX_GROW(reader->samples, reader->capacity, reader->count + count));
        if (count > 0) memcpy(reader->samples + reader->count, input, count * sizeof input[0]);
        reader->count += count;
        goto out;
    }
    for (;;) {
        size_t taken = 0, made = 0;
        const size_t room = 1024 + (size_t)((double)(count - used) * reader->to / reader->from);
        MX_TRY(MX_GROW(reader->samples, reader->capacity, reader->count + room));
        const soxr_error_t fault = soxr_process(reader->resampler, input == NULL ? NULL : input + used, count - used,
                                                &taken, reader->samples + reader->count, room, &made);
        if (fault != NULL) MX_RAISE(MX_ERR_INTERNAL, NULL, "the resampler failed: %s", fault);
        reader->count += made;
        used += taken;
        if (input == NULL ? made < room : used == count && made < room) break;
    }
out:
    return rc;
}

/* ---- decoding ---- */

/* Position of the first sample that is not finite; there is one. */
static size_t not_finite(const float *samples)
{
    size_t at = 0;
    while (isfinite(samples[at])) at++;
    return at;
}

/* Counts samples in runs at full scale; called only for blocks that reach it, and for the one after such a block. */
static void clipping_count(struct mx_audio_reader *reader, const struct mx_audio_file *file, size_t frames,
                           struct mx_audio_report *report)
{
    const size_t channels = (size_t)file->info.channels;
    for (size_t c = 0; c < channels; c++) {
        int run = reader->runs[c];
        for (size_t i = 0; i < frames; i++) {
            const float value = reader->block[i * channels + c];
            const int sign = value >= file->full_scale ? 1 : value <= -file->full_scale ? -1 : 0;
            run = sign == 0 ? 0 : run * sign > 0 ? run + sign : sign;
            const int length = run < 0 ? -run : run;
            if (length == CLIPPED_RUN)
                report->clipped += CLIPPED_RUN;
            else if (length > CLIPPED_RUN)
                report->clipped++;
            if (length > CLIPPED_RUN) run = sign * (CLIPPED_RUN + 1); /* so that it cannot overflow */
        }
        reader->runs[c] = run;
    }
}

static void mix(struct mx_audio_reader *reader, size_t channels, size_t frames)
{
    if (channels == 1) {
        memcpy(reader->mono, reader->block, frames * sizeof reader->mono[0]);
    } else if (channels == 2) {
        for (size_t i = 0; i < frames; i++) reader->mono[i] = 0.5f * (reader->block[2 * i] + reader->block[2 * i + 1]);
    } else {
        for (size_t i = 0; i < frames; i++) {
            double sum = 0;
            for (size_t c = 0; c < channels; c++) sum += (double)reader->block[i * channels + c];
            reader->mono[i] = (float)(sum / (double)channels);
        }
    }
}

/* Is the number of frames in the header exact for this kind of file? That of MP3 is often an estimate. */
static bool frames_exact(const struct mx_audio_file *file)
{
    return (file->info.format & SF_FORMAT_TYPEMASK) != SF_FORMAT_MPEG && file->info.frames > 0 &&
           file->info.frames < SF_COUNT_MAX / 2;
}

/* The next frames of a file, into reader->block; 0 at the end. */
static sf_count_t block_read(struct mx_audio_reader *reader, struct mx_audio_file *file, sf_count_t frames)
{
    /* After an error the next call would forget it and continue after the gap. */
    if (file->handle != NULL && sf_error(file->handle) != SF_ERR_NO_ERROR) return 0;
    if (file->handle != NULL) return sf_readf_float(file->handle, reader->block, frames);
    const size_t count = (size_t)frames < file->left ? (size_t)frames : file->left; /* mono */
    if (count > 0) memcpy(reader->block, file->memory, count * sizeof reader->block[0]);
    file->memory += count;
    file->left -= count;
    return (sf_count_t)count;
}

/* Checks of the file as a whole, once all of it is decoded. */
static void decoded_check(const struct mx_audio_file *file, const struct mx_audio_options *options,
                          struct mx_audio_report *report)
{
    const double rate = file->info.samplerate;
    const int64_t all = report->frames * file->info.channels;
    if (file->handle != NULL && sf_error(file->handle) == SF_ERR_SYSTEM) report->error = EIO;
    if (file->handle != NULL && sf_error(file->handle) != SF_ERR_NO_ERROR)
        mx_audio_refuse(report, MX_REJECT_UNREADABLE, "damaged after %.2f s: %s", report->seconds,
                        sf_strerror(file->handle));
    else if (frames_exact(file) && file->info.frames - report->frames > file->info.frames / 100)
        mx_audio_refuse(report, MX_REJECT_LYING_HEADER, "the header promises %.2f s of audio, the file holds %.2f s",
                        (double)file->info.frames / rate, report->seconds);
    else if (report->frames == 0)
        mx_audio_refuse(report, MX_REJECT_UNREADABLE, "it holds no samples");
    else if ((double)report->clipped > options->clipped_share * (double)all)
        mx_audio_refuse(report, MX_REJECT_CLIPPED, "%lld samples, %.2f %%, are clipped; at most %g %%",
                        (long long)report->clipped, 100.0 * (double)report->clipped / (double)all,
                        100.0 * options->clipped_share);
}

static int decode(struct mx_audio_reader *reader, struct mx_audio_file *file, const struct mx_audio_options *options,
                  struct mx_audio_report *report)
{
    int rc = 0;
    bool near_full_scale = false;
    const int rate = file->info.samplerate;
    const size_t channels = (size_t)file->info.channels;
    const sf_count_t block_frames = (sf_count_t)(BLOCK_SAMPLES / channels);
    const double limit = 2 * options->seconds_max;
    memset(reader->runs, 0, channels * sizeof reader->runs[0]);
    reader->count = 0;
    MX_TRY(resampler_start(reader, rate, options->rate));
    for (;;) {
        const sf_count_t got = block_read(reader, file, block_frames);
        if (got <= 0) break;
        const size_t frames = (size_t)got, count = frames * channels;
        const float peak = mx_audio_peak(reader->block, count);
        if (!isfinite(peak)) {
            const size_t bad = not_finite(reader->block), frame = bad / channels;
            report->seconds = ((double)report->frames + (double)frame) / rate;
            mx_audio_refuse(report, MX_REJECT_NOT_FINITE, "the sample at %.3f s is %s", report->seconds,
                            isnan(reader->block[bad]) ? "not a number" : "infinite");
            goto out;
        }
        if (report->peak < (double)peak) report->peak = (double)peak;
        if (peak >= file->full_scale || near_full_scale) clipping_count(reader, file, frames, report);
        near_full_scale = peak >= file->full_scale;
        report->frames += got;
        report->seconds = (double)report->frames / rate;
        if (report->seconds > limit) {
            if (frames_exact(file))
                mx_audio_refuse(report, MX_REJECT_TOO_LONG, "%.1f s; at most %g s", (double)file->info.frames / rate,
                                options->seconds_max);
            else
                mx_audio_refuse(report, MX_REJECT_TOO_LONG, "more than %g s; at most %g s", limit,
                                options->seconds_max);
            goto out;
        }
        mix(reader, channels, frames);
        MX_TRY(samples_append(reader, reader->mono, frames));
    }
    decoded_check(file, options, report);
    if (report->reject == MX_REJECT_NONE) MX_TRY(samples_append(reader, NULL, 0));
out:
    return rc;
}

/* Decodes, checks, trims and levels an opened file, whose name in messages is `name`. */
static int file_read(struct mx_audio_reader *reader, struct mx_audio_file *file, const char *name,
                     const struct mx_audio_options *options, const float **samples, size_t *count,
                     struct mx_audio_report *report)
{
    int rc = 0;
    struct mx_audio_part part = {0, 0};
    if (report->reject != MX_REJECT_NONE) goto out;
    MX_TRY(decode(reader, file, options, report));
    if (report->reject != MX_REJECT_NONE) goto out;
    if (reader->count == 0) {
        mx_audio_refuse(report, MX_REJECT_TOO_SHORT, "it holds only %lld samples", (long long)report->frames);
        goto out;
    }
    const size_t windows = reader->count / mx_audio_window(options->rate) + 1;
    MX_TRY(MX_GROW(reader->levels, reader->level_capacity, windows));
    mx_audio_level(reader->samples, reader->count, reader->levels, options, &part, report);
out:
    if (file->handle != NULL) sf_close(file->handle);
    if (rc < 0) return rc;
    if (report->reject != MX_REJECT_NONE)
        return MX_FAIL(MX_ERR_DATA, mx_reject_text(report->reject), "%s: %s", name, report->detail);
    *samples = reader->samples + part.begin;
    *count = part.length;
    return 0;
}

int mx_audio_load(struct mx_audio_reader *reader, const char *path, const struct mx_audio_options *options,
                  const float **samples, size_t *count, struct mx_audio_report *report)
{
    char quoted[256];
    struct mx_audio_file file = {0};
    memset(report, 0, sizeof *report);
    *samples = NULL;
    *count = 0;
    mx_audio_file_open(path, &file, report);
    return file_read(reader, &file, mx_string_quote(quoted, sizeof quoted, path), options, samples, count, report);
}

int mx_audio_process(struct mx_audio_reader *reader, const char *name, const float *input, size_t input_count, int rate,
                     const struct mx_audio_options *options, const float **samples, size_t *count,
                     struct mx_audio_report *report)
{
    struct mx_audio_file file = {.memory = input, .left = input_count, .full_scale = 1};
    memset(report, 0, sizeof *report);
    *samples = NULL;
    *count = 0;
    report->rate = rate;
    report->channels = 1;
    if (rate < MX_AUDIO_RATE_MIN || rate > MX_AUDIO_RATE_MAX)
        mx_audio_refuse(report, MX_REJECT_ABSURD_RATE, "a rate of %d Hz; %d to %d are possible", rate,
                        MX_AUDIO_RATE_MIN, MX_AUDIO_RATE_MAX);
    file.info = (SF_INFO){.samplerate = rate,
                          .channels = 1,
                          .frames = (sf_count_t)input_count,
                          .format = SF_FORMAT_WAV | SF_FORMAT_FLOAT};
    return file_read(reader, &file, name, options, samples, count, report);
}

const float *mx_audio_whole(const struct mx_audio_reader *reader, size_t *count)
{
    *count = reader->count;
    return reader->samples;
}

/* ---- in pieces ---- */

int mx_audio_stream_begin(struct mx_audio_reader *reader, const char *path, int rate, struct mx_audio_report *report)
{
    char quoted[256];
    mx_audio_stream_end(reader);
    memset(report, 0, sizeof *report);
    if (mx_audio_file_open(path, &reader->stream, report) != MX_REJECT_NONE)
        return MX_FAIL(MX_ERR_DATA, mx_reject_text(report->reject), "%s: %s",
                       mx_string_quote(quoted, sizeof quoted, path), report->detail);
    reader->stream_drained = false;
    return resampler_start(reader, reader->stream.info.samplerate, rate);
}

void mx_audio_stream_end(struct mx_audio_reader *reader)
{
    if (reader->stream.handle != NULL) sf_close(reader->stream.handle);
    reader->stream = (struct mx_audio_file){0};
}

/* The frames of the block that are numbers; a report names the first that is not. */
static size_t finite_frames(const struct mx_audio_reader *reader, size_t frames, struct mx_audio_report *report)
{
    const size_t channels = (size_t)reader->stream.info.channels;
    if (isfinite(mx_audio_peak(reader->block, frames * channels))) return frames;
    const size_t good = not_finite(reader->block) / channels;
    mx_audio_refuse(report, MX_REJECT_NOT_FINITE, "the sample at %.3f s is not a number",
                    ((double)report->frames + (double)good) / reader->stream.info.samplerate);
    return good;
}

int mx_audio_stream_next(struct mx_audio_reader *reader, const float **samples, size_t *count,
                         struct mx_audio_report *report)
{
    static const struct mx_audio_options any = {.clipped_share = 1};
    struct mx_audio_file *const file = &reader->stream;
    int rc = 0;
    reader->count = 0;
    while (reader->count == 0 && !reader->stream_drained) {
        const size_t channels = (size_t)file->info.channels;
        const sf_count_t got =
            report->reject != MX_REJECT_NONE ? 0 : block_read(reader, file, (sf_count_t)(BLOCK_SAMPLES / channels));
        const size_t frames = got <= 0 ? 0 : finite_frames(reader, (size_t)got, report);
        mix(reader, channels, frames);
        report->frames += (int64_t)frames;
        report->seconds = (double)report->frames / file->info.samplerate;
        if (frames > 0) MX_TRY(samples_append(reader, reader->mono, frames));
        if (got > 0) continue;
        if (report->reject == MX_REJECT_NONE) decoded_check(file, &any, report);
        MX_TRY(samples_append(reader, NULL, 0));
        reader->stream_drained = true;
    }
out:
    *samples = reader->samples;
    *count = rc < 0 ? 0 : reader->count;
    return rc;
}

/* ---- lengths ---- */

/* The resampler rounds, and the number of its samples may differ from the quotient by a few. */
#define MARGIN 64

double mx_audio_promised(const char *path)
{
    struct mx_audio_file file;
    struct mx_audio_report report = {0};
    if (mx_audio_file_open(path, &file, &report) == MX_REJECT_NONE) sf_close(file.handle);
    return report.seconds_promised;
}

int mx_audio_probe(struct mx_audio_reader *reader, const char *path, const struct mx_audio_options *options,
                   uint32_t *bound, struct mx_audio_report *report)
{
    struct mx_audio_file file;
    const float *samples = NULL;
    size_t count = 0;
    memset(report, 0, sizeof *report);
    *bound = 0;
    if (mx_audio_file_open(path, &file, report) != MX_REJECT_NONE) return 0;
    const double seconds = (double)file.info.frames / file.info.samplerate;
    sf_close(file.handle);
    if (file.info.frames > 0 && seconds >= options->seconds_min && seconds <= options->seconds_max) {
        *bound = (uint32_t)ceil(seconds * options->rate) + MARGIN;
        return 0;
    }
    const int rc = mx_audio_load(reader, path, options, &samples, &count, report);
    if (rc == 0) *bound = (uint32_t)count;
    return report->reject != MX_REJECT_NONE ? 0 : rc;
}

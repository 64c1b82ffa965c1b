/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Recordings on disk and their mel, see sound.h.
 */
#include "cut/sound.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/progress.h"
#include "corpus/audio/audio.h"
#include "features/extract.h"
#include "myxtts/error.h"

#define HOURS_MOST    100
#define TRIM_DB       45.0 /* how far below the loudest a window still sounds: as recordings are levelled for training */
#define PIECE_FRAMES  512  /* of one utterance of the extractor */
#define PIECES        8    /* utterances in one batch of the extractor */
#define EDGE_FRAMES   4    /* that see beyond the piece are computed twice */
#define PROGRESS_NS   UINT64_C(2000000000)
#define WRITE_SAMPLES 65536

/* ---- files without a name ---- */

static int io_fail(const char *folder, const char *what)
{
    MX_FAIL(MX_ERR_IO, NULL, "cannot %s in %s: %s", what, folder, strerror(errno));
    return mx_error_hint(
        "an hour of sound needs about 270 MB there while it is cut: free some space, or let the output "
        "be elsewhere");
}

static int map_open(struct mx_cut_map *map, const char *folder)
{
    char *const path = mx_format("%s/.cut.XXXXXX", folder);
    if (path == NULL) return MX_ERR_NO_MEMORY;
    map->fd = mkostemp(path, O_CLOEXEC);
    if (map->fd >= 0) unlink(path);
    mx_free(path);
    return map->fd < 0 ? io_fail(folder, "make a file") : 0;
}

static int map_write(struct mx_cut_map *map, const void *data, size_t bytes, const char *folder)
{
    const char *at = data;
    for (size_t left = bytes; left > 0;) {
        const ssize_t done = write(map->fd, at, left);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return io_fail(folder, "write the decoded sound");
        at += done;
        left -= (size_t)done;
    }
    map->bytes += bytes;
    return 0;
}

static int map_finish(struct mx_cut_map *map, const char *folder)
{
    if (map->bytes == 0) return 0;
    void *const data = mmap(NULL, map->bytes, PROT_READ, MAP_SHARED, map->fd, 0);
    if (data == MAP_FAILED) return io_fail(folder, "map a file");
    map->data = data;
    return 0;
}

static void map_close(struct mx_cut_map *map)
{
    if (map->data != NULL) munmap(map->data, map->bytes);
    if (map->fd > 0) close(map->fd);
    *map = (struct mx_cut_map){0};
}

/* ---- decoding ---- */

struct decoding {
    struct mx_cut_sound *sound;
    const char *folder;
    struct mx_audio_reader *reader;
    struct mx_progress *progress;
    const atomic_bool *stop;
    double sum;
    size_t level_room;
    int16_t block[WRITE_SAMPLES];
    double energy; /* of the window that is being filled */
    int64_t peak_over;
};

static int level_push(struct decoding *d, float level)
{
    struct mx_cut_sound *const s = d->sound;
    if (MX_GROW(s->levels, d->level_room, (size_t)s->level_count + 1) < 0) return MX_ERR_NO_MEMORY;
    s->levels[s->level_count++] = level;
    return 0;
}

/* Appends samples to the file, and their levels. */
static int samples_put(struct decoding *d, const float *samples, size_t count)
{
    struct mx_cut_sound *const s = d->sound;
    int rc = 0;
    for (size_t done = 0; done < count;) {
        const size_t part = count - done < WRITE_SAMPLES ? count - done : WRITE_SAMPLES;
        for (size_t i = 0; i < part; i++) {
            const float value = samples == NULL ? 0 : samples[done + i];
            const float scaled = roundf(value * 32768.0f);
            d->block[i] = (int16_t)(scaled > 32767 ? 32767 : scaled < -32768 ? -32768 : scaled);
            d->sum += (double)value;
            d->energy += (double)value * (double)value;
            s->sample_count++;
            if (s->sample_count % s->window != 0) continue;
            MX_TRY(level_push(d, (float)(d->energy / (double)s->window)));
            d->energy = 0;
        }
        MX_TRY(map_write(&s->samples_map, d->block, part * sizeof *d->block, d->folder));
        done += part;
    }
out:
    return rc;
}

static int recording_read(struct decoding *d, struct mx_cut_recording *recording)
{
    struct mx_cut_sound *const s = d->sound;
    const int64_t hop = s->recipe->hop;
    struct mx_audio_report report;
    const float *samples;
    size_t count;
    uint64_t reported = 0;
    int rc = 0;
    recording->begin = s->sample_count;
    MX_TRY(mx_audio_stream_begin(d->reader, recording->path, s->recipe->rate, &report));
    for (;;) {
        MX_TRY(mx_audio_stream_next(d->reader, &samples, &count, &report));
        if (count == 0) break;
        MX_TRY(samples_put(d, samples, count));
        if (d->stop != NULL && atomic_load(d->stop))
            MX_RAISE(MX_ERR_INTERRUPTED, NULL, "interrupted while the sound was read");
        mx_progress_add(d->progress, (uint64_t)report.seconds - reported);
        reported = (uint64_t)report.seconds;
        if (s->sample_count > (int64_t)HOURS_MOST * 3600 * s->recipe->rate)
            MX_RAISE(MX_ERR_DATA, "cut the recordings chapter by chapter", "the recordings are longer than %d hours",
                     HOURS_MOST);
    }
    recording->samples = s->sample_count - recording->begin;
    if (report.reject != MX_REJECT_NONE) snprintf(recording->damage, sizeof recording->damage, "%s", report.detail);
    if (recording->samples == 0)
        MX_RAISE(MX_ERR_DATA, "it is damaged or empty", "%s: nothing in it can be decoded", recording->path);
    MX_TRY(samples_put(d, NULL, (size_t)((hop - s->sample_count % hop) % hop)));
out:
    mx_audio_stream_end(d->reader);
    return rc;
}

/* ---- levels ---- */

static int float_compare(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* Noise, speech and gain from the levels of all windows. */
static int levels_judge(struct mx_cut_sound *s, double mean)
{
    const size_t count = (size_t)s->level_count;
    double sum = 0;
    size_t sounding = 0;
    float *const sorted = mx_alloc(count + 1, sizeof *sorted);
    if (sorted == NULL) return MX_ERR_NO_MEMORY;
    memcpy(sorted, s->levels, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, float_compare);
    const double loudest = count > 0 ? (double)sorted[count - 1 - count / 1000] : 0; /* without clicks */
    s->noise = count > 0 ? (double)sorted[count / 10] : 0;
    mx_free(sorted);
    for (size_t i = 0; i < count; i++) {
        if ((double)s->levels[i] < loudest * pow(10, -TRIM_DB / 10)) continue;
        sum += (double)s->levels[i];
        sounding++;
    }
    s->mean = mean;
    s->speech = sounding > 0 ? sum / (double)sounding : 0;
    if (sqrt(s->speech) <= pow(10, MX_AUDIO_OPTIONS_DEFAULT.silent_db / 20))
        return MX_FAIL(MX_ERR_DATA, "give recordings of speech", "nothing can be heard in the recordings");
    s->gain = pow(10, MX_AUDIO_OPTIONS_DEFAULT.level_db / 20) / sqrt(s->speech);
    return 0;
}

static uint64_t seconds_promised(const char *const *paths, size_t count)
{
    double seconds = 0;
    for (size_t i = 0; i < count; i++) seconds += mx_audio_promised(paths[i]);
    return seconds < HOURS_MOST * 3600.0 ? (uint64_t)seconds : 0;
}

int mx_cut_sound_read(struct mx_cut_sound *s, const struct mx_recipe *recipe, const char *const *paths, size_t count,
                      const char *folder, const atomic_bool *stop)
{
    const struct mx_progress_options line = {
        .title = "Reading", .unit = "s", .total = seconds_promised(paths, count), .delay_ns = PROGRESS_NS};
    struct decoding *const d = mx_alloc(1, sizeof *d);
    int rc = 0;
    if (d == NULL) return MX_ERR_NO_MEMORY;
    s->recipe = recipe;
    s->window = recipe->rate / 100;
    d->sound = s;
    d->folder = folder;
    d->stop = stop;
    s->recordings = mx_alloc(count, sizeof *s->recordings);
    if (s->recordings == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    MX_TRY(mx_audio_reader_create(&d->reader));
    MX_TRY(map_open(&s->samples_map, folder));
    MX_TRY(mx_progress_start(&line, &d->progress));
    for (size_t i = 0; i < count; i++) {
        s->recordings[i].path = paths[i];
        s->count = i + 1;
        MX_TRY(recording_read(d, &s->recordings[i]));
    }
    MX_TRY(map_finish(&s->samples_map, folder));
    s->samples = s->samples_map.data;
    MX_TRY(levels_judge(s, d->sum / (double)s->sample_count));
out:
    mx_progress_finish(d->progress);
    mx_audio_reader_destroy(d->reader);
    mx_free(d);
    return rc;
}

/* ---- mel ---- */

struct melting {
    const struct mx_cut_sound *sound;
    float *audio;
    float *mel; /* of a batch */
    int32_t offsets[PIECES + 1];
    int64_t first[PIECES]; /* frame of the sound that the first frame of each piece is */
    int64_t own[PIECES + 1];
};

/* Fills a batch from frame `from` on; returns its pieces. */
static int32_t batch_fill(struct melting *m, int64_t from)
{
    const struct mx_cut_sound *const s = m->sound;
    const int64_t hop = s->recipe->hop;
    const float gain = (float)s->gain, mean = (float)s->mean;
    int32_t pieces = 0;
    int64_t at = 0;
    for (; pieces < PIECES && from < s->frames; pieces++) {
        const int64_t until = from + PIECE_FRAMES < s->frames ? from + PIECE_FRAMES : s->frames;
        const int64_t begin = from > EDGE_FRAMES ? from - EDGE_FRAMES : 0;
        int64_t end = (until + EDGE_FRAMES) * hop;
        end = end < s->sample_count ? end : s->sample_count;
        m->first[pieces] = begin;
        m->own[pieces] = from;
        m->own[pieces + 1] = until;
        m->offsets[pieces] = (int32_t)at;
        for (int64_t i = begin * hop; i < end; i++)
            m->audio[at++] = ((float)s->samples[i] * (1.0f / 32768.0f) - mean) * gain;
        m->offsets[pieces + 1] = (int32_t)at;
        from = until;
    }
    return pieces;
}

int mx_cut_sound_mel(struct mx_cut_sound *s, struct mx_device *device, struct mx_stream *stream,
                     const struct mx_normaliser *normaliser, const char *folder, const atomic_bool *stop)
{
    const struct mx_recipe *const recipe = s->recipe;
    const int64_t room = (int64_t)PIECES * (PIECE_FRAMES + 2 * EDGE_FRAMES + 1) * recipe->hop;
    const struct mx_extract_options options = {
        .recipe = recipe, .samples_max = room, .utterances_max = PIECES, .no_pitch = true, .owner = "cut"};
    const struct mx_progress_options line = {
        .title = "Features", .unit = "s", .total = (uint64_t)(s->sample_count / recipe->rate), .delay_ns = PROGRESS_NS};
    const size_t bands = (size_t)recipe->bands;
    struct mx_extract *extract = NULL;
    struct mx_extract_features features;
    struct mx_progress *progress = NULL;
    struct melting m = {.sound = s};
    int rc = 0;
    s->frames = s->sample_count / recipe->hop;
    m.audio = mx_alloc((size_t)room, sizeof *m.audio);
    m.mel = mx_alloc((size_t)mx_recipe_frames_most(recipe, room, PIECES) * bands, sizeof *m.mel);
    if (m.audio == NULL || m.mel == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    MX_TRY(mx_extract_create(device, &options, &extract));
    MX_TRY(mx_extract_normalise(extract, normaliser->mel_mean, normaliser->mel_deviation));
    MX_TRY(map_open(&s->mel_map, folder));
    MX_TRY(mx_progress_start(&line, &progress));
    for (int64_t from = 0; from < s->frames;) {
        const int32_t pieces = batch_fill(&m, from);
        const struct mx_extract_batch batch = {.audio = m.audio, .offsets = m.offsets, .count = pieces};
        MX_TRY(mx_extract_submit(extract, stream, &batch, &features));
        MX_TRY(mx_extract_read(extract, stream, m.mel, NULL, NULL));
        const int32_t *const frames = mx_extract_frames(extract);
        for (int32_t i = 0; i < pieces; i++) {
            const size_t skip = (size_t)frames[i] + (size_t)(m.own[i] - m.first[i]);
            const size_t count = (size_t)(m.own[i + 1] - m.own[i]);
            MX_TRY(map_write(&s->mel_map, m.mel + skip * bands, count * bands * sizeof *m.mel, folder));
        }
        mx_progress_add(progress, (uint64_t)((m.own[pieces] - from) * recipe->hop / recipe->rate));
        from = m.own[pieces];
        if (stop != NULL && atomic_load(stop))
            MX_RAISE(MX_ERR_INTERRUPTED, NULL, "interrupted while features were computed");
    }
    MX_TRY(map_finish(&s->mel_map, folder));
    s->mel = s->mel_map.data;
out:
    (void)mx_stream_sync(stream);
    mx_progress_finish(progress);
    mx_extract_destroy(extract);
    mx_free(m.audio);
    mx_free(m.mel);
    return rc;
}

void mx_cut_sound_close(struct mx_cut_sound *s)
{
    map_close(&s->samples_map);
    map_close(&s->mel_map);
    mx_free(s->recordings);
    mx_free(s->levels);
    *s = (struct mx_cut_sound){0};
}

double mx_cut_sound_seconds(const struct mx_cut_sound *s, int64_t samples)
{
    return (double)samples / s->recipe->rate;
}

size_t mx_cut_sound_find(const struct mx_cut_sound *s, int64_t sample)
{
    size_t low = 0, high = s->count - 1;
    while (low < high) {
        const size_t middle = low + (high - low + 1) / 2;
        if (s->recordings[middle].begin <= sample)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

float mx_cut_sound_level(const struct mx_cut_sound *s, int64_t sample)
{
    int64_t window = sample / s->window;
    if (window >= s->level_count) window = s->level_count - 1;
    return window < 0 ? 0 : s->levels[window];
}

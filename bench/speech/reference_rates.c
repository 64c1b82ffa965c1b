/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * reference_rates MANIFEST [VOICE]: how often the checks of references (speech/reference_check.h) are right, on recordings
 * of known people. References of several lengths are joined from recordings drawn by chance: all of one person (a warning
 * about several voices is a false alarm), or half of one and half of another. Then the same recordings with white noise of
 * several levels added. Speakers whose names differ only before the first '-' ("en-ann", "es-ann") are one person.
 *
 * With a voice (a run, checkpoint or voice file), also how far the network's vectors of references of several lengths lie
 * from the mean vector of all recordings of the person, in units of the mean distance between speakers, and for how many
 * that is the nearest speaker: for one reference joined from recordings, and for the mean of the vectors of its halves.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "corpus/audio/audio.h"
#include "corpus/manifest/manifest.h"
#include "features/extract.h"
#include "myxtts/error.h"
#include "speech/reference_check.h"
#include "speech/voice_internal.h"

#define EACH        24  /* recordings of each speaker */
#define SECONDS     1.5 /* minimum length of each */
#define SPEAKERS    64
#define TRIALS      600
#define SECONDS_MAX 20

struct recording {
    float *samples, *mel, *pitch;
    size_t count;
    int32_t frames;
};

struct people {
    struct mx_runtime runtime;
    struct mx_extract *extract;
    struct mx_audio_reader *reader;
    struct mx_manifest *manifest;
    struct recording recordings[SPEAKERS][EACH];
    uint32_t counts[SPEAKERS];
};

static uint64_t drawn; /* numbers so far */

static uint32_t draw(uint32_t below)
{
    return (uint32_t)mx_rng_below(1, 1, drawn++, below);
}

/* ---- recordings ---- */

static int recording_take(struct people *p, const char *path, struct recording *r)
{
    int rc = 0;
    const struct mx_audio_options reading = MX_AUDIO_OPTIONS_DEFAULT;
    struct mx_audio_report report;
    struct mx_extract_features features;
    const float *samples;
    MX_TRY(mx_audio_load(p->reader, path, &reading, &samples, &r->count, &report));
    const int32_t offsets[] = {0, (int32_t)r->count};
    const struct mx_extract_batch batch = {.audio = samples, .offsets = offsets, .count = 1};
    MX_TRY(mx_extract_submit(p->extract, p->runtime.stream, &batch, &features));
    r->frames = features.frames.rows;
    r->samples = mx_alloc(r->count, sizeof *r->samples);
    r->mel = mx_alloc((size_t)r->frames * (size_t)MX_RECIPE_DEFAULT->bands, sizeof *r->mel);
    r->pitch = mx_alloc((size_t)r->frames, sizeof *r->pitch);
    if (r->samples == NULL || r->mel == NULL || r->pitch == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    memcpy(r->samples, samples, r->count * sizeof *samples);
    MX_TRY(mx_extract_read(p->extract, p->runtime.stream, r->mel, NULL, r->pitch));
out:
    return rc;
}

static void recording_release(struct recording *r)
{
    mx_free(r->samples);
    mx_free(r->mel);
    mx_free(r->pitch);
    *r = (struct recording){0};
}

static int people_open(struct people *p, const char *path)
{
    int rc = 0;
    const struct mx_extract_options room = {.samples_max = (int64_t)SECONDS_MAX * MX_RECIPE_DEFAULT->rate,
                                            .utterances_max = 1};
    MX_TRY(mx_manifest_open(path, NULL, &p->manifest));
    if (p->manifest->speaker_count > SPEAKERS)
        MX_RAISE(MX_ERR_DATA, "give a corpus of fewer", "there are more than %d speakers", SPEAKERS);
    MX_TRY(mx_runtime_open(&p->runtime, NULL, 0, "reference_rates"));
    MX_TRY(mx_audio_reader_create(&p->reader));
    MX_TRY(mx_extract_create(p->runtime.device, &room, &p->extract));
    for (uint32_t i = 0; i < p->manifest->utterance_count; i++) {
        const struct mx_utterance *const u = &p->manifest->utterances[i];
        struct recording *const r = &p->recordings[u->speaker][p->counts[u->speaker]];
        if (p->counts[u->speaker] == EACH || mx_audio_promised(u->audio) < SECONDS) continue;
        rc = recording_take(p, u->audio, r);
        if (rc == 0) p->counts[u->speaker]++;
        if (rc == MX_ERR_DATA) recording_release(r); /* one that cannot be used */
        MX_TRY(rc == MX_ERR_DATA ? 0 : rc);
    }
out:
    return rc;
}

static void people_close(struct people *p)
{
    for (uint32_t s = 0; s < SPEAKERS; s++)
        for (uint32_t i = 0; i < p->counts[s]; i++) recording_release(&p->recordings[s][i]);
    mx_extract_destroy(p->extract);
    mx_audio_reader_destroy(p->reader);
    mx_runtime_close(&p->runtime);
    mx_manifest_close(p->manifest);
}

static bool same_person(const struct people *p, uint32_t a, uint32_t b)
{
    const char *const x = strchr(p->manifest->speakers[a], '-'), *const y = strchr(p->manifest->speakers[b], '-');
    return a == b || (x != NULL && y != NULL && strcmp(x, y) == 0);
}

/* A speaker with recordings. */
static uint32_t speaker_draw(const struct people *p)
{
    uint32_t s;
    do s = draw(p->manifest->speaker_count);
    while (p->counts[s] < 2);
    return s;
}

/* ---- several voices ---- */

/* Appends `frames` frames of a person, from different recordings drawn by chance. */
static int part_add(const struct people *p, uint32_t speaker, int32_t frames, struct mx_reference_frames *to)
{
    uint32_t order[EACH];
    int rc = 0;
    for (uint32_t i = 0; i < p->counts[speaker]; i++) order[i] = i;
    mx_rng_shuffle_u32(2, drawn++, order, p->counts[speaker]);
    for (uint32_t i = 0; i < p->counts[speaker] && frames > 0 && rc == 0; i++) {
        const struct recording *const r = &p->recordings[speaker][order[i]];
        const int32_t count = r->frames < frames ? r->frames : frames;
        rc = mx_reference_frames_add(to, r->mel, 1, r->pitch, count, MX_RECIPE_DEFAULT->bands);
        frames -= count;
    }
    return rc;
}

static int several_measure(const struct people *p, double seconds)
{
    int rc = 0, told[2] = {0}, tried[2] = {0};
    double most = 0;
    const int32_t frames = (int32_t)(seconds * MX_RECIPE_DEFAULT->rate / MX_RECIPE_DEFAULT->hop);
    struct mx_reference_frames f = {0};
    for (int trial = 0; trial < 2 * TRIALS; trial++) {
        const int two = trial % 2;
        const uint32_t a = speaker_draw(p);
        uint32_t b = a;
        size_t place;
        while (two && same_person(p, a, b)) b = speaker_draw(p);
        f.count = 0;
        MX_TRY(part_add(p, a, two ? frames / 2 : frames, &f));
        if (two) MX_TRY(part_add(p, b, frames / 2, &f));
        const double difference = mx_reference_difference(&f, &place);
        if (!two && difference > most) most = difference;
        told[two] += difference >= 1;
        tried[two]++;
    }
    printf("%6.0f s: false alarms %5.1f %%, two people noticed %5.1f %%   (largest value of one person %.2f)\n",
           seconds, 100.0 * told[0] / tried[0], 100.0 * told[1] / tried[1], most);
out:
    mx_reference_frames_release(&f);
    return rc;
}

/* ---- noise ---- */

static int noise_measure(const struct people *p, double below_db)
{
    int rc = 0, told = 0, tried = 0;
    double sum = 0;
    for (uint32_t s = 0; s < p->manifest->speaker_count; s++)
        for (uint32_t i = 0; i < p->counts[s]; i++) {
            const struct recording *const r = &p->recordings[s][i];
            float *const noisy = mx_alloc(r->count, sizeof *noisy);
            double power = 0, above;
            if (noisy == NULL) return MX_ERR_NO_MEMORY;
            for (size_t k = 0; k < r->count; k++) power += (double)r->samples[k] * (double)r->samples[k];
            const double height = isinf(below_db) ? 0 : sqrt(power / (double)r->count) * pow(10, -below_db / 20);
            for (size_t k = 0; k < r->count; k++)
                noisy[k] = r->samples[k] + (float)height * mx_rng_normal(3, (uint64_t)s * EACH + i, k);
            rc = mx_reference_above_noise(noisy, r->count, MX_RECIPE_DEFAULT->rate, &above);
            mx_free(noisy);
            if (rc < 0) return rc;
            told += above < MX_REFERENCE_NOISY_DB;
            sum += above < 99 ? above : 99;
            tried++;
        }
    printf("  noise %3.0f dB below speech: found %5.1f dB below on average, called noisy %5.1f %%\n", below_db,
           sum / tried, 100.0 * told / tried);
    return 0;
}

/* ---- vectors ---- */

#define WIDTH_MAX 1024

struct listener {
    struct mx_voice *voice;
    struct mx_speak *speak;
    int32_t width;
    double means[SPEAKERS][WIDTH_MAX], apart; /* mean distance between means */
};

static double distance(const struct listener *l, const double *a, const double *b)
{
    double sum = 0;
    for (int32_t k = 0; k < l->width; k++) sum += (a[k] - b[k]) * (a[k] - b[k]);
    return sqrt(sum);
}

/* The vector of `frames` frames of a person, drawn as for part_add, and (not NULL) the mean of the vectors of its two
 * halves; `only` ≥ 0: of that recording. */
static int vector_make(const struct people *p, struct listener *l, uint32_t speaker, int32_t frames, int only,
                       double *out, double *mean)
{
    int rc = 0;
    const struct mx_normaliser *const n = &mx_checkpoint_state(l->voice->checkpoint)->normaliser;
    const int32_t bands = MX_RECIPE_DEFAULT->bands;
    float *const mel = mx_alloc((size_t)MX_VOICE_REFERENCE_FRAMES * (size_t)bands, sizeof *mel);
    static float vectors[3][WIDTH_MAX];
    uint32_t order[EACH];
    int32_t used = 0;
    if (mel == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    for (uint32_t i = 0; i < p->counts[speaker]; i++) order[i] = i;
    mx_rng_shuffle_u32(4, drawn++, order, p->counts[speaker]);
    if (only >= 0) order[0] = (uint32_t)only;
    for (uint32_t i = 0; i < (only >= 0 ? 1 : p->counts[speaker]) && used < frames; i++) {
        const struct recording *const r = &p->recordings[speaker][order[i]];
        const int32_t count = r->frames < frames - used ? r->frames : frames - used;
        for (int32_t k = 0; k < count * bands; k++)
            mel[used * bands + k] = (float)(((double)r->mel[k] - n->mel_mean) / n->mel_deviation);
        used += count;
    }
    MX_TRY(mx_speak_vector(l->speak, mel, used, vectors[0]));
    if (mean != NULL) {
        MX_TRY(mx_speak_vector(l->speak, mel, used / 2, vectors[1]));
        MX_TRY(mx_speak_vector(l->speak, mel + (size_t)(used / 2) * (size_t)bands, used - used / 2, vectors[2]));
    }
    for (int32_t k = 0; k < l->width; k++) {
        out[k] = (double)vectors[0][k];
        if (mean != NULL) mean[k] = ((double)vectors[1][k] + (double)vectors[2][k]) / 2;
    }
out:
    mx_free(mel);
    return rc;
}

static int listener_open(const struct people *p, struct listener *l, const char *path)
{
    int rc = 0, pairs = 0;
    const struct mx_model_capacity room = mx_voice_room(1);
    double v[WIDTH_MAX];
    MX_TRY(mx_voice_open(path, NULL, &l->voice));
    l->width = mx_checkpoint_state(l->voice->checkpoint)->model.size.width;
    if (l->width > WIDTH_MAX) MX_RAISE(MX_ERR_DATA, "give a smaller one", "the network is wider than %d", WIDTH_MAX);
    MX_TRY(mx_voice_speak_create(l->voice, &room, &l->speak));
    for (uint32_t s = 0; s < p->manifest->speaker_count; s++)
        for (uint32_t i = 0; i < p->counts[s]; i++) {
            MX_TRY(vector_make(p, l, s, MX_VOICE_REFERENCE_FRAMES, (int)i, v, NULL));
            for (int32_t k = 0; k < l->width; k++) l->means[s][k] += v[k] / p->counts[s];
        }
    for (uint32_t a = 0; a < p->manifest->speaker_count; a++)
        for (uint32_t b = 0; b < a; b++, pairs++) l->apart += distance(l, l->means[a], l->means[b]);
    l->apart /= pairs > 0 ? pairs : 1;
out:
    return rc;
}

static uint32_t nearest(const struct people *p, const struct listener *l, const double *v)
{
    uint32_t best = 0;
    for (uint32_t s = 1; s < p->manifest->speaker_count; s++)
        if (distance(l, v, l->means[s]) < distance(l, v, l->means[best])) best = s;
    return best;
}

static int vectors_measure(const struct people *p, struct listener *l, double seconds)
{
    int rc = 0, right[2] = {0};
    double sums[2] = {0};
    const int trials = 100;
    const int32_t frames = (int32_t)(seconds * MX_RECIPE_DEFAULT->rate / MX_RECIPE_DEFAULT->hop);
    for (int trial = 0; trial < trials; trial++) {
        const uint32_t s = speaker_draw(p);
        double joined[WIDTH_MAX], mean[WIDTH_MAX];
        MX_TRY(vector_make(p, l, s, frames, -1, joined, mean));
        sums[0] += distance(l, joined, l->means[s]) / l->apart;
        sums[1] += distance(l, mean, l->means[s]) / l->apart;
        right[0] += same_person(p, s, nearest(p, l, joined));
        right[1] += same_person(p, s, nearest(p, l, mean));
    }
    printf("%6.1f s: joined %.3f from the person, nearest in %d %%; mean of two halves %.3f, %d %%\n", seconds,
           sums[0] / trials, right[0] * 100 / trials, sums[1] / trials, right[1] * 100 / trials);
out:
    return rc;
}

static int vectors_tell(const struct people *p, const char *path)
{
    static const double lengths[] = {0.5, 1, 2, 3, 5, 8, 12};
    static struct listener listener;
    int rc = 0;
    MX_TRY(listener_open(p, &listener, path));
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) MX_TRY(vectors_measure(p, &listener, lengths[i]));
out:
    mx_speak_destroy(listener.speak);
    mx_voice_close(listener.voice);
    return rc;
}

int main(int argc, char **argv)
{
    static const double lengths[] = {6, 8, 12, 20}, levels[] = {INFINITY, 40, 30, 25, 20, 15, 10};
    static struct people people;
    int rc = 0;
    if (argc < 2 || argc > 3) {
        fprintf(stderr, "usage: reference_rates MANIFEST [VOICE]\n");
        return 1;
    }
    MX_TRY(people_open(&people, argv[1]));
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) MX_TRY(several_measure(&people, lengths[i]));
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) MX_TRY(noise_measure(&people, levels[i]));
    if (argc > 2) MX_TRY(vectors_tell(&people, argv[2]));
out:
    if (rc < 0) fprintf(stderr, "reference_rates: %s\n", mx_error_last()->message);
    people_close(&people);
    return rc < 0 ? 2 : 0;
}

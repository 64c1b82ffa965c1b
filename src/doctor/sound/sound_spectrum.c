/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Bandwidth and fingerprint of a recording, from 96 mel bands every 23 ms that the CPU device computes; see sound.h.
 *
 * A band counts as audible if its loud frames (one of 33) stand out from its quiet ones (one of 10), and are not too far below the
 * strongest band. Loud and quiet levels come from a histogram of each band, which costs less than sorting.
 *
 * The fingerprint: the time between the first and the last loud moment, in 24 equal parts, and the frequencies of the
 * telephone, in 8 bands; of each the mean level in decibels, from which the mean of its band is taken away. So neither
 * the level, nor the bandwidth, nor silence at the ends change it much.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/number.h"
#include "base/thread/pool.h"
#include "doctor/sound/sound_internal.h"
#include "myxtts/error.h"

#define BANDS    MX_HEARING_BANDS
#define FFT_SIZE 1024
#define HOP      512
#define FLOOR    1e-8f
#define DB       8.685889638 /* of a natural logarithm of magnitudes */

/* ---- the bands ---- */

static struct mx_recipe recipe_build(void)
{
    struct mx_recipe recipe = *MX_RECIPE_DEFAULT;
    snprintf(recipe.name, sizeof recipe.name, "doctor");
    recipe.rate = MX_HEARING_RATE;
    recipe.fft_size = FFT_SIZE;
    recipe.hop = HOP;
    recipe.bands = BANDS;
    recipe.low_hz = 0;
    recipe.high_hz = (float)recipe.rate / 2;
    recipe.floor = FLOOR;
    return recipe;
}

/* Where band number `at` is highest; at may lie between two. */
static double band_hz(double at)
{
    const double most = mx_recipe_mel_from_hz(MX_HEARING_RATE / 2.0);
    return mx_recipe_hz_from_mel(most * (at + 1) / (BANDS + 1));
}

/* An extractor for recordings of `count` samples, on one core: the workers of the check are as many as there are. */
static int extract_open(struct mx_doctor_hearing *h, int number, size_t count)
{
    int rc = 0;
    char device[32];
    const struct mx_recipe recipe = recipe_build();
    const int cores = mx_thread_cores(NULL, 0);
    if (h->extract != NULL && count <= h->extract_room) return 0;
    snprintf(device, sizeof device, "cpu:%d", number % cores);
    if (h->runtime.device == NULL) MX_TRY(mx_runtime_open(&h->runtime, device, cores, "doctor"));
    mx_extract_destroy(h->extract);
    mx_free(h->mel);
    h->extract = NULL;
    h->mel = NULL;
    const struct mx_extract_options options = {.recipe = &recipe,
                                               .samples_max = (int64_t)(count + count / 2),
                                               .utterances_max = 1,
                                               .no_pitch = true,
                                               .owner = "doctor"};
    const int64_t frames = mx_recipe_frames_most(&recipe, options.samples_max, 1);
    h->mel = mx_alloc((size_t)frames * BANDS, sizeof *h->mel);
    if (h->mel == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    MX_TRY(mx_extract_create(h->runtime.device, &options, &h->extract));
    h->extract_room = (size_t)options.samples_max;
out:
    return rc;
}

static int bands_compute(struct mx_doctor_hearing *h, int number)
{
    int rc = 0;
    struct mx_extract_features features;
    MX_TRY(extract_open(h, number, h->count));
    const int32_t offsets[] = {0, (int32_t)h->count};
    const struct mx_extract_batch batch = {.audio = h->samples, .offsets = offsets, .count = 1};
    MX_TRY(mx_extract_submit(h->extract, h->runtime.stream, &batch, &features));
    MX_TRY(mx_extract_read(h->extract, h->runtime.stream, h->mel, NULL, NULL));
    h->frames = (size_t)features.frames.rows;
out:
    return rc;
}

/* ---- bandwidth ---- */

#define BINS     256
#define BIN_DB   0.75
#define QUIET    10   /* one frame in this many is quieter than the background of a band */
#define LOUD     33   /* one frame in this many is louder than its loud sounds */
#define HEARD_DB 10.0 /* of the loud above the background */
#define FAINT_DB 62.0 /* below the strongest band: not even a sharp consonant is so faint */
#define NEAR     4    /* bands below the edge, where the fall begins */
#define BEYOND   2    /* bands above the edge by which the fall must be over */

struct band_levels {
    double quiet[BANDS], loud[BANDS]; /* dB */
};

static void levels_measure(const struct mx_doctor_hearing *h, struct band_levels *levels)
{
    const double least = DB * log((double)FLOOR);
    uint32_t counts[BANDS][BINS] = {0};
    for (size_t f = 0; f < h->frames; f++)
        for (size_t b = 0; b < BANDS; b++) {
            const int bin = (int)((float)(DB / BIN_DB) * h->mel[f * BANDS + b] - (float)(least / BIN_DB));
            counts[b][mx_clamp(bin, 0, BINS - 1)]++;
        }
    const size_t quiet = h->frames / QUIET, loud = h->frames - 1 - h->frames / LOUD;
    for (size_t b = 0; b < BANDS; b++) {
        size_t below = 0;
        levels->quiet[b] = levels->loud[b] = least;
        for (size_t i = 0; i < BINS; i++) {
            const double level = least + ((double)i + 0.5) * BIN_DB;
            if (below <= quiet && below + counts[b][i] > quiet) levels->quiet[b] = level;
            if (below <= loud && below + counts[b][i] > loud) levels->loud[b] = level;
            below += counts[b][i];
        }
    }
}

static double loudest(const double *levels, size_t begin, size_t end)
{
    double most = levels[begin];
    for (size_t b = begin + 1; b < end; b++) most = fmax(most, levels[b]);
    return most;
}

static void bandwidth_measure(const struct mx_doctor_hearing *h, struct mx_doctor_sound *sound)
{
    struct band_levels levels;
    size_t top = 0;
    levels_measure(h, &levels);
    const double least = loudest(levels.loud, 0, BANDS) - FAINT_DB;
    for (size_t b = 1; b < BANDS; b++) { /* two neighbours, so that a random peak in one does not count */
        bool heard = true;
        for (size_t i = b - 1; i <= b; i++)
            heard = heard && levels.loud[i] >= least && levels.loud[i] >= levels.quiet[i] + HEARD_DB;
        if (heard) top = b;
    }
    sound->bandwidth_hz = fmin(band_hz((double)top + 0.5), MX_HEARING_RATE / 2.0);
    if (top + BEYOND >= BANDS || top < NEAR) return;
    sound->edge_db = loudest(levels.loud, top - NEAR, top + 1) - loudest(levels.loud, top + BEYOND, BANDS);
}

/* ---- the fingerprint ---- */

#define TIMES       MX_DOCTOR_PRINT_TIMES
#define PRINT_BANDS MX_DOCTOR_PRINT_BANDS
#define PRINT_LOW   200.0  /* Hz: the range that any telephone transmits */
#define PRINT_HIGH  3200.0 /* Hz */
#define PRINT_DB    22.0   /* below the loudest: quieter ends do not count */
#define PRINT_DEPTH 35.0   /* below the loudest: the least that a quieter part inside counts as */

/* Mean of the levels of bands [begin, end) between two moments, in frames. */
static double cell_level(const struct mx_doctor_hearing *h, double from, double to, size_t begin, size_t end)
{
    double sum = 0, weight = 0;
    for (size_t f = (size_t)fmax(from - 0.5, 0); f < h->frames && (double)f - 0.5 < to; f++) {
        const double share = fmin((double)f + 0.5, to) - fmax((double)f - 0.5, from);
        if (share <= 0) continue;
        for (size_t b = begin; b < end; b++) sum += share * DB * (double)h->mel[f * BANDS + b];
        weight += share * (double)(end - begin);
    }
    return weight > 0 ? sum / weight : 0;
}

/* Cuts what is too quiet, and takes away the mean of each band. */
static void print_centre(double *cells)
{
    double most = cells[0];
    for (size_t i = 1; i < TIMES * PRINT_BANDS; i++) most = fmax(most, cells[i]);
    for (size_t b = 0; b < PRINT_BANDS; b++) {
        double mean = 0;
        for (size_t i = b; i < TIMES * PRINT_BANDS; i += PRINT_BANDS) {
            cells[i] = fmax(cells[i], most - PRINT_DEPTH);
            mean += cells[i] / TIMES;
        }
        for (size_t i = b; i < TIMES * PRINT_BANDS; i += PRINT_BANDS) cells[i] -= mean;
    }
}

/* The level of a frame: that of the strongest band of the fingerprint, dB. */
static double frame_level(const struct mx_doctor_hearing *h, size_t frame, const size_t edges[PRINT_BANDS + 1])
{
    float most = h->mel[frame * BANDS + edges[0]];
    for (size_t b = edges[0] + 1; b < edges[PRINT_BANDS]; b++) {
        const float level = h->mel[frame * BANDS + b];
        most = level > most ? level : most;
    }
    return DB * (double)most;
}

/* Where, from frame `from` on in steps of ±1, the level first reaches `least`; between two frames. Some frame does. */
static double edge_find(const struct mx_doctor_hearing *h, size_t from, int step, double least,
                        const size_t edges[PRINT_BANDS + 1])
{
    double before = least, now = frame_level(h, from, edges);
    size_t frame = from;
    while (now < least) {
        before = now;
        frame = step > 0 ? frame + 1 : frame - 1;
        now = frame_level(h, frame, edges);
    }
    return frame == from ? (double)frame : (double)frame - step * (now - least) / (now - before);
}

static void print_compute(const struct mx_doctor_hearing *h, struct mx_doctor_sound *sound)
{
    double cells[TIMES * PRINT_BANDS], most = -INFINITY;
    size_t edges[PRINT_BANDS + 1];
    const double low = mx_recipe_mel_from_hz(PRINT_LOW), high = mx_recipe_mel_from_hz(PRINT_HIGH);
    const double band = mx_recipe_mel_from_hz(MX_HEARING_RATE / 2.0) / (BANDS + 1);
    for (size_t b = 0; b <= PRINT_BANDS; b++)
        edges[b] = (size_t)((low + (high - low) * (double)b / PRINT_BANDS) / band);
    for (size_t f = 0; f < h->frames; f++) most = fmax(most, frame_level(h, f, edges));
    const double begin = edge_find(h, 0, 1, most - PRINT_DB, edges);
    const double end = edge_find(h, h->frames - 1, -1, most - PRINT_DB, edges);
    const double length = (end - begin) / TIMES;
    sound->print_seconds = (end - begin) * HOP / MX_HEARING_RATE;
    for (size_t t = 0; t < TIMES; t++)
        for (size_t b = 0; b < PRINT_BANDS; b++)
            cells[t * PRINT_BANDS + b] =
                cell_level(h, begin + length * (double)t, begin + length * (double)(t + 1), edges[b], edges[b + 1]);
    print_centre(cells);
    for (size_t i = 0; i < TIMES * PRINT_BANDS; i++)
        sound->print[i] = (int8_t)lrint(fmin(fmax(2 * cells[i], -127), 127));
}

int mx_doctor_hearing_spectrum(struct mx_doctor_hearing *h, int number, struct mx_doctor_sound *sound)
{
    int rc = 0;
    MX_TRY(bands_compute(h, number));
    bandwidth_measure(h, sound);
    print_compute(h, sound);
out:
    return rc;
}

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Hum: what the mains add, at 50 or 60 Hz and multiples of it; see sound.h.
 *
 * It is searched for where nobody speaks: in pieces of 0.2 s whose windows are all near the floor, and far below the
 * speech. The power of each harmonic is compared with that at 15 to 22 Hz beside it, which such a piece resolves: Hann's
 * window reaches 10 Hz.
 *
 * Recordings without such a pause are analysed as a whole, in pieces of up to 1.6 s, but only at 50 and 60 Hz themselves:
 * that is below what voices have, and no voice holds a tone so well.
 */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/robust.h"
#include "doctor/sound/sound_internal.h"

#define LANES     8
#define SIZE      552 /* low samples of a quiet piece: 0.2 s; a multiple of LANES */
#define HARMONICS 6
#define MAINS     2
#define BESIDE    6     /* frequencies beside a harmonic */
#define PIECES    12    /* at most */
#define QUIET_DB  9.0   /* above the floor, at most: nobody speaks */
#define BELOW_DB  28.0  /* below the loud windows, at least: nobody speaks */
#define NOTHING   1e-15 /* a power of -150 dB */

static const double mains_hz[MAINS] = {50, 60};
static const double beside_hz[BESIDE] = {-22, -18, -15, 15, 18, 22};

/* Cosines and sines under Hann's window, scaled so that a sine of height a has the power a²/2. */
struct wave {
    float cosine[SIZE], sine[SIZE];
};

struct mx_doctor_waves {
    struct wave line[MAINS][HARMONICS], beside[MAINS][HARMONICS][BESIDE];
};

static void wave_compute(struct wave *wave, double hz)
{
    const double rate = (double)MX_HEARING_RATE / MX_HEARING_LOW;
    for (int i = 0; i < SIZE; i++) {
        const double window = 1 - cos(2 * M_PI * i / SIZE), angle = 2 * M_PI * hz * i / rate;
        wave->cosine[i] = (float)(sqrt(2) / SIZE * window * cos(angle));
        wave->sine[i] = (float)(sqrt(2) / SIZE * window * sin(angle));
    }
}

int mx_doctor_waves_create(struct mx_doctor_waves **out)
{
    struct mx_doctor_waves *const waves = *out = mx_alloc(1, sizeof *waves);
    if (waves == NULL) return MX_ERR_NO_MEMORY;
    for (int m = 0; m < MAINS; m++)
        for (int k = 0; k < HARMONICS; k++) {
            const double hz = mains_hz[m] * (k + 1);
            wave_compute(&waves->line[m][k], hz);
            for (int b = 0; b < BESIDE; b++) wave_compute(&waves->beside[m][k][b], hz + beside_hz[b]);
        }
    return 0;
}

void mx_doctor_waves_destroy(struct mx_doctor_waves *waves)
{
    mx_free(waves);
}

static double wave_power(const struct wave *wave, const float *x)
{
    float cosine[LANES] = {0}, sine[LANES] = {0};
    double sums[2] = {0};
    for (size_t i = 0; i < SIZE; i += LANES)
        for (size_t k = 0; k < LANES; k++) {
            cosine[k] += x[i + k] * wave->cosine[i + k];
            sine[k] += x[i + k] * wave->sine[i + k];
        }
    for (size_t k = 0; k < LANES; k++) {
        sums[0] += (double)cosine[k];
        sums[1] += (double)sine[k];
    }
    return sums[0] * sums[0] + sums[1] * sums[1];
}

static void hum_keep(struct mx_doctor_sound *sound, int m, double above_db, double power)
{
    if (sound->hum_hz > 0 && above_db <= sound->hum_db) return;
    sound->hum_hz = mains_hz[m];
    sound->hum_db = above_db;
    sound->hum_level_db = 10 * log10(power + NOTHING);
}

static double above(double line, double *around, size_t count)
{
    mx_robust_sort(around, count);
    return 10 * log10((line + NOTHING) / (mx_robust_median(around, count) + NOTHING));
}

/* ---- in pauses ---- */

/* Sums over the quiet pieces. The mean of decibels counts: a hum is in all of them, what a voice leaves is in one. */
struct lines {
    double above[MAINS][HARMONICS], power[MAINS][HARMONICS];
};

static void piece_add(const struct mx_doctor_waves *waves, const float *x, struct lines *lines)
{
    for (int m = 0; m < MAINS; m++)
        for (int k = 0; k < HARMONICS; k++) {
            double around[BESIDE];
            const double line = wave_power(&waves->line[m][k], x);
            for (int b = 0; b < BESIDE; b++) around[b] = wave_power(&waves->beside[m][k][b], x);
            lines->above[m][k] += above(line, around, BESIDE);
            lines->power[m][k] += line;
        }
}

static int pieces_add(const struct mx_doctor_hearing *h, const struct mx_doctor_waves *waves, struct lines *lines)
{
    const size_t needed = SIZE * MX_HEARING_LOW / MX_HEARING_WINDOW + 1;
    const double most = fmin(h->floor_db + QUIET_DB, h->loud_db - BELOW_DB);
    size_t run = 0;
    int pieces = 0;
    for (size_t w = 0; w < h->windows && pieces < PIECES; w++) {
        run = h->levels[w] < most ? run + 1 : 0;
        if (run < needed) continue;
        const size_t begin = (w + 1 - needed) * MX_HEARING_WINDOW / MX_HEARING_LOW;
        if (begin + SIZE > h->low_count) break;
        piece_add(waves, h->low + begin, lines);
        pieces++;
        run = needed / 2; /* the next one overlaps this by half */
    }
    return pieces;
}

/* ---- without a pause ---- */

#define SLOWER      8   /* every 8th low sample */
#define SLOW_LEAST  170 /* windows of a piece: half a second */
#define SLOW_MOST   552 /* to 1.6 s */
#define SLOW_BESIDE 6

/* The power at `hz` of n samples under Hann's window, by Goertzel's recursion. */
static double slow_power(const double *x, size_t n, double hz)
{
    const double angle = 2 * M_PI * hz * SLOWER * MX_HEARING_LOW / MX_HEARING_RATE, turn = 2 * cos(angle);
    double one = 0, two = 0;
    for (size_t i = 0; i < n; i++) {
        const double next = x[i] + turn * one - two;
        two = one;
        one = next;
    }
    return 2 * (one * one + two * two - turn * one * two) / ((double)n * (double)n);
}

static void slow_fill(const struct mx_doctor_hearing *h, size_t begin, size_t n, double *x)
{
    for (size_t i = 0; i < n; i++) {
        const float *const low = &h->low[(begin + i) * SLOWER];
        double sum = 0;
        for (size_t k = 0; k < SLOWER; k++) sum += (double)low[k];
        x[i] = sum / SLOWER * (1 - cos(2 * M_PI * (double)i / (double)n));
    }
}

static void whole_measure(const struct mx_doctor_hearing *h, struct mx_doctor_sound *sound)
{
    /* In units of the resolution of Hann's window. */
    static const double beside[SLOW_BESIDE] = {-4.4, -3.4, -2.4, 2.4, 3.4, 4.4};
    const size_t all = h->low_count / SLOWER, n = all < SLOW_MOST ? all : SLOW_MOST;
    const double unit = (double)MX_HEARING_RATE / MX_HEARING_LOW / SLOWER / (double)n;
    double x[SLOW_MOST], sums[MAINS] = {0}, powers[MAINS] = {0};
    int pieces = 0;
    if (n < SLOW_LEAST) return;
    for (size_t begin = 0; begin + n <= all && pieces < PIECES; begin += n / 2, pieces++) {
        slow_fill(h, begin, n, x);
        for (int m = 0; m < MAINS; m++) {
            double around[SLOW_BESIDE];
            const double line = slow_power(x, n, mains_hz[m]);
            for (int b = 0; b < SLOW_BESIDE; b++) around[b] = slow_power(x, n, mains_hz[m] + beside[b] * unit);
            sums[m] += above(line, around, SLOW_BESIDE);
            powers[m] += line;
        }
    }
    for (int m = 0; m < MAINS; m++) hum_keep(sound, m, sums[m] / pieces, powers[m] / pieces);
}

void mx_doctor_hearing_hum(struct mx_doctor_hearing *h, const struct mx_doctor_waves *waves,
                           struct mx_doctor_sound *sound)
{
    struct lines lines = {0};
    const int pieces = pieces_add(h, waves, &lines);
    for (int m = 0; pieces > 0 && m < MAINS; m++) {
        double best = -MX_DOCTOR_DB_MAX, sum = 0;
        for (int k = 0; k < HARMONICS; k++) {
            best = fmax(best, lines.above[m][k] / pieces);
            sum += lines.power[m][k] / pieces;
        }
        hum_keep(sound, m, best, sum);
    }
    if (pieces == 0) whole_measure(h, sound);
}

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The pitch path of the vocoder, against the rule of vocoder/path.h written out plainly over a whole utterance: every
 * class before every class, in 64 bits.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "vocoder/path.h"

enum { CLASSES = MX_VOCODER_CLASSES, FRAMES = 400, OUTPUTS = CLASSES + 1 };

static float logits[FRAMES * OUTPUTS];

struct track {
    float hz[FRAMES], gate[FRAMES], phase[FRAMES];
};

static struct mx_path_track track_of(struct track *t)
{
    return (struct mx_path_track){t->hz, t->gate, t->phase};
}

/* A pitch that glides, with a rival an octave away, jumps, and stretches that are unvoiced. */
static void logits_fill(uint64_t seed, int64_t frames)
{
    double at = 60 + 60 * (double)mx_rng_uniform(seed, 1, 0);
    bool voiced = true;
    for (int64_t t = 0; t < frames; t++) {
        const uint64_t i = (uint64_t)t;
        at += 2 * (double)mx_rng_normal(seed, 2, i);
        if (mx_rng_below(seed, 3, i, 40) == 0) at = 20 + 150 * (double)mx_rng_uniform(seed, 4, i);
        at = fmin(CLASSES - 5, fmax(5, at));
        if (mx_rng_below(seed, 5, i, 12) == 0) voiced = !voiced;
        float *const row = logits + t * OUTPUTS;
        const double rival = 3 * (double)mx_rng_uniform(seed, 6, i);
        for (int k = 0; k < CLASSES; k++)
            row[k] = (float)(4 * exp(-pow((k - at) / 3, 2)) + rival * exp(-pow((k - at - 65) / 3, 2))) +
                     0.3f * mx_rng_normal(seed, 7, i * CLASSES + (uint64_t)k);
        row[CLASSES] = (voiced ? 2.0f : 7.0f) + mx_rng_normal(seed, 8, i);
    }
}

/* ---- the rule, written out ---- */

static double shares[FRAMES][CLASSES], certain[FRAMES];
static int64_t gains[FRAMES][CLASSES];
static int from[FRAMES][CLASSES], best[FRAMES];

static void plain_classes(int64_t frames)
{
    static int64_t score[CLASSES], next[CLASSES];
    memset(score, 0, sizeof score);
    for (int64_t t = 0; t < frames; t++) {
        const float *const row = logits + t * OUTPUTS;
        double sum = 0, high = -INFINITY;
        for (int k = 0; k < CLASSES; k++) high = fmax(high, (double)row[k]);
        for (int k = 0; k < CLASSES; k++) sum += exp((double)row[k] - high);
        certain[t] = 1 / (1 + exp((double)row[CLASSES] - high) / sum);
        best[t] = 0;
        for (int k = 0; k < CLASSES; k++) {
            shares[t][k] = exp((double)row[k] - high) / sum;
            gains[t][k] = llrint(certain[t] * log(shares[t][k] + 1e-6) * 1048576);
            next[k] = INT64_MIN;
            for (int i = 0; i < CLASSES; i++) {
                const int64_t steps = i > k ? i - k : k - i, value = score[i] - 157286 * (steps < 40 ? steps : 40);
                if (value <= next[k]) continue;
                next[k] = value;
                from[t][k] = i;
            }
            next[k] += gains[t][k];
            if (next[k] > next[best[t]]) best[t] = k;
        }
        memcpy(score, next, sizeof score);
    }
}

/* The class of frame t on the best path up to frame `last`. */
static int plain_class(int64_t t, int64_t last)
{
    int class = best[last];
    for (int64_t i = last; i > t; i--) class = from[i][class];
    return class;
}

static double plain_hz(int64_t t, int class)
{
    double sum = 0, weights = 0;
    for (int k = class - 4; k <= class + 4; k++) {
        if (k < 0 || k >= CLASSES) continue;
        const double weight = (double)(float)shares[t][k] + 1e-9;
        sum += weight * log(65.0 * pow(500.0 / 65, k / 191.0));
        weights += weight;
    }
    return exp(sum / weights);
}

static int64_t plain_last(int64_t t, int64_t frames)
{
    return t + MX_PATH_AHEAD < frames ? t + MX_PATH_AHEAD : frames - 1;
}

/* ln Hz of every frame where the recipe measures it, with the gaps of the voice filled. */
static void plain_measured(int64_t frames, double *measured)
{
    int64_t voiced = -1;
    for (int64_t t = 0; t < frames; t++) {
        if ((float)certain[t] > 0.5f) {
            measured[t] = log(plain_hz(t, plain_class(t, plain_last(t, frames))));
            voiced = t;
            continue;
        }
        int64_t next = t + 1;
        while (next < frames && next <= t + MX_PATH_GAP && !((float)certain[next] > 0.5f)) next++;
        const bool there = next < frames && next <= t + MX_PATH_GAP;
        const double to = there ? log(plain_hz(next, plain_class(next, plain_last(next, frames)))) : 0;
        const double before = voiced >= 0 ? measured[voiced] : log((double)MX_PATH_HZ);
        measured[t] = !there       ? before
                      : voiced < 0 ? to
                                   : before + (to - before) * (double)(t - voiced) / (double)(next - voiced);
    }
}

/* Pitch, gates and phases of the rule must be those of the track, up to roundings to float. */
static void expect_track(const struct track *track, int64_t frames)
{
    static double measured[FRAMES];
    double phase = 0;
    plain_measured(frames, measured);
    for (int64_t t = 0; t < frames; t++) {
        /* W is 1,024 - 340 - 1 samples: a period of 110 is measured around sample 396 of 1,024. */
        const double at = (1024 - 341 + 22050 / exp(measured[t])) / 2, late = (512 - at) / 256;
        const double next = measured[t + 1 < frames ? t + 1 : t], hz = exp(measured[t] + late * (next - measured[t]));
        assert_true(late >= 0 && late <= 1);
        assert_int_equal((int)track->gate[t], (float)certain[t] > 0.5f);
        if (!(fabs((double)track->hz[t] - hz) < 1e-5 * hz))
            fail_msg("frame %lld of %lld has %g Hz and should have %g", (long long)t, (long long)frames,
                     (double)track->hz[t], hz);
        if (t > 0) phase += 256.0 / 22050 * ((double)track->hz[t - 1] + (double)track->hz[t]) / 2;
        phase -= floor(phase);
        assert_true(fabs((double)track->phase[t] - phase) < 1e-7);
    }
}

static void run(struct track *track, int64_t frames, int64_t piece)
{
    struct mx_path path;
    mx_path_begin(&path, MX_RECIPE_DEFAULT, track_of(track));
    for (int64_t t = 0; t < frames; t += piece) {
        mx_path_push(&path, logits + t * OUTPUTS, t + piece < frames ? piece : frames - t);
        assert_true(path.ready <= path.pushed && path.pushed - path.ready <= MX_PATH_REACH);
    }
    mx_path_end(&path);
    assert_int_equal(path.ready, frames);
}

static void follows_the_rule(void **state)
{
    static struct track track;
    (void)state;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        static const int64_t lengths[] = {FRAMES, 120, MX_PATH_AHEAD + 1, MX_PATH_AHEAD, 2, 1};
        const int64_t frames = lengths[seed - 1];
        logits_fill(seed, frames);
        plain_classes(frames);
        run(&track, frames, frames);
        expect_track(&track, frames);
    }
}

static void same_in_any_pieces(void **state)
{
    static struct track whole, parts;
    static const int64_t pieces[] = {1, 2, 7, MX_PATH_AHEAD, 100, FRAMES - 1};
    (void)state;
    logits_fill(9, FRAMES);
    run(&whole, FRAMES, FRAMES);
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        memset(&parts, 0xff, sizeof parts);
        run(&parts, FRAMES, pieces[i]);
        assert_memory_equal(&parts, &whole, sizeof whole);
    }
}

/* What is complete early does not depend on what comes later than the look-ahead. */
static void looks_no_further(void **state)
{
    static struct track one, other;
    struct mx_path path;
    (void)state;
    logits_fill(11, FRAMES);
    run(&one, FRAMES, FRAMES);
    const int64_t known = 100 + MX_PATH_REACH;
    mx_path_begin(&path, MX_RECIPE_DEFAULT, track_of(&other));
    mx_path_push(&path, logits, known);
    assert_int_equal(path.ready, 100);
    assert_memory_equal(one.hz, other.hz, 100 * sizeof *one.hz);
    assert_memory_equal(one.phase, other.phase, 100 * sizeof *one.phase);
    assert_memory_equal(one.gate, other.gate, 100 * sizeof *one.gate);
}

/* The look-ahead is long enough: the class of a voiced frame is that of the best path through everything. */
static void sees_the_whole(void **state)
{
    int64_t voiced = 0, other = 0;
    (void)state;
    for (uint64_t seed = 20; seed < 24; seed++) {
        logits_fill(seed, FRAMES);
        plain_classes(FRAMES);
        for (int64_t t = 0; t < FRAMES; t++) {
            if (!(certain[t] > 0.5)) continue;
            voiced++;
            other += plain_class(t, plain_last(t, FRAMES)) != plain_class(t, FRAMES - 1);
        }
    }
    assert_true(voiced > FRAMES);
    if (100 * other > voiced)
        fail_msg("%lld of %lld voiced frames have another class", (long long)other, (long long)voiced);
}

static void never_voiced(void **state)
{
    static struct track track;
    (void)state;
    logits_fill(3, 60);
    for (int t = 0; t < 60; t++) logits[t * OUTPUTS + CLASSES] = 30;
    run(&track, 60, 60);
    for (int t = 0; t < 60; t++) assert_true(track.hz[t] == MX_PATH_HZ && track.gate[t] == 0);
    /* A single voiced frame: nothing before it is near, everything after it keeps its pitch. */
    logits[40 * OUTPUTS + CLASSES] = -30;
    run(&track, 60, 60);
    for (int t = 0; t < 60; t++) {
        assert_true((fabsf(track.hz[t] - MX_PATH_HZ) < 1e-3f) == (t < 40 - MX_PATH_GAP - 1));
        assert_true(t < 40 - MX_PATH_GAP || track.hz[t] == track.hz[40]);
        assert_true(track.gate[t] == (t == 40));
    }
}

/* What is not a number does no harm here; the sound refuses it. */
static void not_numbers(void **state)
{
    static struct track track;
    (void)state;
    logits_fill(5, 60);
    for (int k = 0; k < OUTPUTS; k++) logits[10 * OUTPUTS + k] = NAN;
    logits[20 * OUTPUTS + 3] = INFINITY;
    logits[30 * OUTPUTS + CLASSES] = INFINITY;
    run(&track, 60, 60);
    for (int t = 0; t < 60; t++)
        assert_true(track.hz[t] > 64 && track.hz[t] < 501 && track.phase[t] >= 0 && track.phase[t] <= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(follows_the_rule), cmocka_unit_test(same_in_any_pieces), cmocka_unit_test(looks_no_further),
        cmocka_unit_test(sees_the_whole),   cmocka_unit_test(never_voiced),       cmocka_unit_test(not_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Pitch and voicing of sounds whose pitch is known: tones, glides, voices without a fundamental, with noise, with one
 * disturbed place; noise and silence, which have none.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "support/sound.h"

#define HOP    256
#define EDGE   3    /* frames at either end that see reflections */
#define WITHIN 0.01 /* 17 cents: what is asked of a pitch, no matter of rounding */

/* The share of voiced frames; all of them must be within 1 % of the glide. A frame looks at the W = 1024 - 341
 * samples from its beginning on and at what they became a period later, so its middle lies a little before the
 * frame's. */
static double follow(const float *x, int64_t count, double from_hz, double to_hz, const char *name)
{
    struct sound_features f;
    int64_t voiced = 0;
    sound_features(op_group.device, x, count, &f);
    for (int64_t i = EDGE; i < f.frames - EDGE; i++) {
        if (f.pitch[i] == 0) continue;
        voiced++;
        const double guess = sound_glide_hz(count, from_hz, to_hz, i * HOP);
        const int64_t middle = i * HOP - 512 + (int64_t)((683 + SOUND_RATE / guess) / 2);
        const double want = sound_glide_hz(count, from_hz, to_hz, middle);
        if (fabs((double)f.pitch[i] / want - 1) > WITHIN)
            fail_msg("%s: frame %lld has %.2f Hz instead of %.2f", name, (long long)i, (double)f.pitch[i], want);
    }
    const double share = (double)voiced / (double)(f.frames - 2 * EDGE);
    sound_features_release(&f);
    return share;
}

static void tones(void **state)
{
    (void)state;
    for (int step = 0; step < 56; step++)
        for (int harmonics = 1; harmonics <= 12; harmonics += 11) {
            const double hz = 66 * pow(1.037, step); /* to 487 Hz */
            float *x = sound_glide(SOUND_RATE / 4, hz, hz, 1, harmonics, 0.2f);
            const double share = follow(x, SOUND_RATE / 4, hz, hz, "tone");
            if (share < 1) fail_msg("a tone of %.1f Hz with %d harmonics is voiced to %.2f", hz, harmonics, share);
            mx_free(x);
        }
}

static void glides(void **state)
{
    (void)state;
    static const double ends[][2] = {{80, 160}, {300, 120}, {100, 480}, {450, 90}, {70, 75}};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        float *x = sound_glide(2 * SOUND_RATE, ends[i][0], ends[i][1], 1, 8, 0.2f);
        const double share = follow(x, 2 * SOUND_RATE, ends[i][0], ends[i][1], "glide");
        if (share < 0.98) fail_msg("a glide from %.0f to %.0f Hz is voiced to %.2f", ends[i][0], ends[i][1], share);
        mx_free(x);
    }
}

/* As on the telephone: harmonics 3 to 8 alone still have the pitch of the first. */
static void missing_fundamental(void **state)
{
    (void)state;
    float *x = sound_glide(SOUND_RATE, 120, 180, 3, 6, 0.4f);
    assert_true(follow(x, SOUND_RATE, 120, 180, "missing fundamental") > 0.95);
    mx_free(x);
}

static void a_noisy_voice(void **state)
{
    (void)state;
    float *x = sound_glide(SOUND_RATE, 110, 200, 1, 8, 0.2f), *noise = sound_noise(SOUND_RATE, 0.02f, 5);
    for (int i = 0; i < SOUND_RATE; i++) x[i] += noise[i];
    assert_true(follow(x, SOUND_RATE, 110, 200, "noisy voice") > 0.95);
    mx_free(x);
    mx_free(noise);
}

static double voiced_share(const float *x, int64_t count)
{
    struct sound_features f;
    int64_t voiced = 0;
    sound_features(op_group.device, x, count, &f);
    for (int64_t i = 0; i < f.frames; i++) voiced += f.pitch[i] > 0;
    const double share = (double)voiced / (double)f.frames;
    sound_features_release(&f);
    return share;
}

static void noise_is_unvoiced(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 4; seed++) {
        float *x = sound_noise(2 * SOUND_RATE, 0.1f, seed);
        const double share = voiced_share(x, 2 * SOUND_RATE);
        if (share > 0.02) fail_msg("noise is voiced to %.2f", share);
        mx_free(x);
    }
}

static void silence_is_unvoiced(void **state)
{
    (void)state;
    float *nothing = sound_noise(SOUND_RATE, 0, 0), *hum = sound_glide(SOUND_RATE, 100, 100, 1, 3, 1e-3f);
    float *constant = sound_noise(SOUND_RATE, 0, 0);
    for (int i = 0; i < SOUND_RATE; i++) constant[i] = 0.25f;
    assert_true(voiced_share(nothing, SOUND_RATE) == 0);
    assert_true(voiced_share(hum, SOUND_RATE) == 0); /* below the level of silence */
    assert_true(voiced_share(constant, SOUND_RATE) == 0);
    mx_free(nothing);
    mx_free(hum);
    mx_free(constant);
}

/* Every second period of a few frames is fainter, so that these look like half the pitch; the neighbours know better.
 */
static void an_octave_is_not_fallen_for(void **state)
{
    (void)state;
    const int64_t count = SOUND_RATE, period = 105; /* 210 Hz */
    float *x = sound_glide(count, 210, 210, 1, 8, 0.2f);
    for (int64_t i = count / 2; i < count / 2 + 10 * period; i++)
        if (i / period % 2 == 0) x[i] *= 0.72f;
    assert_true(follow(x, count, 210, 210, "a voice with an unsteady place") > 0.95);
    mx_free(x);
}

/* Voiced where there is voice, unvoiced where there is hiss, with the seams within two frames. */
static void voicing_follows(void **state)
{
    (void)state;
    const int64_t part = 20 * HOP;
    float *x = sound_glide(4 * part, 150, 150, 1, 8, 0.2f), *noise = sound_noise(4 * part, 0.1f, 9);
    for (int64_t i = 0; i < 4 * part; i++)
        if (i / part % 2 == 1) x[i] = noise[i];
    struct sound_features f;
    sound_features(op_group.device, x, 4 * part, &f);
    for (int64_t i = 2; i < f.frames - 2; i++) {
        const int64_t within = i % 20;
        if (within < 3 || within > 17) continue;
        const bool voice = i / 20 % 2 == 0;
        if (voice != (f.pitch[i] > 0)) fail_msg("frame %lld has %.1f Hz", (long long)i, (double)f.pitch[i]);
    }
    sound_features_release(&f);
    mx_free(x);
    mx_free(noise);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tones),
        cmocka_unit_test(glides),
        cmocka_unit_test(missing_fundamental),
        cmocka_unit_test(a_noisy_voice),
        cmocka_unit_test(noise_is_unvoiced),
        cmocka_unit_test(silence_is_unvoiced),
        cmocka_unit_test(an_octave_is_not_fallen_for),
        cmocka_unit_test(voicing_follows),
    };
    return cmocka_run_group_tests(tests, op_group_open, op_group_close);
}

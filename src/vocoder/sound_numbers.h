/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The constants of a sound: those that both our own vocoder (sound.h) and graphs that compute the same sound elsewhere
 * (export/) need. MODEL.md ("Sound") describes them.
 *
 * Plain values only.
 */
#ifndef MX_VOCODER_SOUND_NUMBERS_H
#define MX_VOCODER_SOUND_NUMBERS_H

#include <math.h>

#include "features/recipe.h"

#define MX_SOUND_LEAST_WEIGHT 1e-4f /* of a sample: beyond the last frame's centre the windows fade out */
#define MX_SOUND_PROJECT_ROUNDS                                                                                        \
    2 /* of mel_project in a projection: the second corrects what the first changed in neighbouring bands */
#define MX_SOUND_PROJECT_LIMIT   2       /* nepers of a round: a band with almost no energy is not amplified to noise */
#define MX_SOUND_MATCH_ROUNDS    4       /* of mel_project on the magnitudes of the network, if there are projections */
#define MX_SOUND_ATTENUATE_LIMIT 3       /* nepers by which a short frame is lowered at most; none is raised */
#define MX_SOUND_NOISE_TO_ONE    1e4f    /* noise is added to a constant, which then does not count */
#define MX_SOUND_NOISE_STREAM    0x57    /* one for all, so that an utterance does not depend on its place */
#define MX_SOUND_LIMIT_HZ        9500.0f /* harmonics fade out towards this frequency */
#define MX_SOUND_FADE_HZ         300.0f  /* width of that fade */
#define MX_SOUND_TEXTURE_REACH   12      /* bins: more than half the distance of two harmonics at 500 Hz */
#define MX_SOUND_TEXTURE_LEAST   0.1f    /* a bin between harmonics is not lowered further than to this */

/* The random stream of the noise after a frame, with a vocoder. */
static inline int64_t mx_sound_noise_stream(int64_t frame)
{
    return (int64_t)MX_SOUND_NOISE_STREAM << 32 | frame;
}

/* What noise of deviation MX_SOUND_NOISE_TO_ONE is multiplied by, with a vocoder: its spectrum then has the same mean
 * square as that of a harmonic. */
static inline float mx_sound_noise_gain(const struct mx_recipe *recipe)
{
    return (float)(1 / (sqrt(0.375 * recipe->fft_size) * (double)MX_SOUND_NOISE_TO_ONE));
}

/* A harmonic alone then has a spectrum of magnitude 1: the mean of the window is ½. */
static inline float mx_sound_harmonic_level(const struct mx_recipe *recipe)
{
    return 4.0f / (float)recipe->fft_size;
}

/* Highest harmonic, and the width of the fading below it: within what the rate can carry. */
static inline float mx_sound_limit_hz(const struct mx_recipe *recipe)
{
    return fminf(MX_SOUND_LIMIT_HZ, (float)recipe->rate / 2);
}

static inline float mx_sound_fade_hz(const struct mx_recipe *recipe)
{
    return fminf(MX_SOUND_FADE_HZ, (float)recipe->rate / 2);
}

/* gain [fft_size/2 + 1]: of the noise in the phases of each bin. */
void mx_sound_gain_fill(const struct mx_recipe *recipe, float *gain);

#endif

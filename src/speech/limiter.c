/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Samples as integers, see myxtts/voice.h: one curve for all that writes them. It looks at one sample at a time, because
 * a stream does not know what comes and its chunks must give what the whole would give. Owns nothing.
 */
#include <math.h>

#include "myxtts/voice.h"

#define KNEE    0.9f /* up to here nothing changes; beyond, the curve begins with the same slope and approaches 1 */
#define SCALE   2147483648.0f /* to 32 bits, of which the upper 16 are taken: as libsndfile does it (speech/wav.c) */
#define LARGEST 2147483520.0f /* the last number before 2^31 */

static float limit(float sample)
{
    const float size = fabsf(sample), over = (size - KNEE) / (1 - KNEE);
    if (!(size > KNEE)) return sample;
    return copysignf(KNEE + (1 - KNEE) * (isinf(over) ? 1 : over / (1 + over)), sample);
}

void mx_samples_limit(const float *samples, size_t count, float *out)
{
    for (size_t i = 0; i < count; i++) out[i] = limit(samples[i]);
}

void mx_samples_pcm16(const float *samples, size_t count, int16_t *out)
{
    for (size_t i = 0; i < count; i++) {
        const float sample = isnan(samples[i]) ? 0 : limit(samples[i]);
        out[i] = (int16_t)((int32_t)lrintf(fminf(SCALE * sample, LARGEST)) >> 16);
    }
}

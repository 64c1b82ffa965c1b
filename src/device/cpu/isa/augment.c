/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Augmentation: noise on packed audio, masks on packed rows. The result for a sequence is a function of its own
 * contents and parameters alone; workers take whole sequences. Offsets come from the device's memory and could not be
 * checked earlier; they fail the stream if they do not cover the rows.
 */
#include "base/rng.h"
#include "device/cpu/isa/sequences.h"
#include "device/cpu/isa/vec.h"

/* ---- noise: y = gain (x + ratio · rms · noise) ---- */

/* √(Σ x²/count) in double, in one order. */
static double root_mean_square(const float *x, int64_t count)
{
    mx_vd low = {0}, high = {0};
    MX_VEC_EACH(i, n, 0, count, {
        const mx_vf v = mx_vf_load_n(x + i, n);
        low = mx_vd_fma(mx_vd_low(v), mx_vd_low(v), low);
        high = mx_vd_fma(mx_vd_high(v), mx_vd_high(v), high);
    });
    return count > 0 ? sqrt(mx_vd_sum(low + high) / (double)count) : 0;
}

static void noise_add(const float *x, float *y, int64_t count, float gain, float level, uint64_t seed, uint64_t stream)
{
    /* √3 (2 (u + ½)/2²⁴ - 1), with everything constant in two numbers */
    const float scale = level * 0x1.bb67aep0f, step = scale * 0x1p-23f, least = scale * (0x1p-24f - 1);
    for (int64_t i = 0; i < count; i += 4) {
        uint32_t word[4];
        mx_philox(seed, stream, (uint64_t)i / 4, word);
        for (int64_t j = 0; j < 4 && i + j < count; j++)
            y[i + j] = gain * (x[i + j] + (step * (float)(word[j] >> 8) + least));
    }
}

MX_KERNEL(noise)
{
    const struct mx_noise_args *a = args;
    const float *x = mx_cpu_ptr(a->x), *levels = mx_cpu_ptr(a->levels);
    const int32_t *streams = mx_cpu_ptr(a->streams), *offsets = mx_cpu_ptr(a->samples.offsets);
    float *y = mx_cpu_ptr(a->y);
    if (!mx_sequences_agree(gang, "noise", &a->samples)) return;
    for (int64_t s = mx_gang_ticket(gang, 0); s < a->samples.count; s = mx_gang_ticket(gang, 0)) {
        const int64_t first = offsets[s], count = offsets[s + 1] - first;
        const float gain = levels[2 * s], ratio = levels[2 * s + 1];
        const uint64_t stream = (uint64_t)(uint32_t)streams[2 * s + 1] << 32 | (uint32_t)streams[2 * s];
        if (ratio != 0) {
            const float level = (float)((double)ratio * root_mean_square(x + first, count));
            noise_add(x + first, y + first, count, gain, level, a->seed, stream);
        } else {
            MX_VEC_EACH(i, n, first, first + count, mx_vf_store_n(y + i, gain * mx_vf_load_n(x + i, n), n););
        }
    }
}

/* ---- mask: x[rows, n] = value inside rectangles ---- */

/* [first, first + count) within [0, end). */
static void clip(int64_t first, int64_t count, int64_t end, int64_t *from, int64_t *to)
{
    *from = first > 0 ? first : 0;
    *to = first + count < end ? first + count : end;
}

MX_KERNEL(mask)
{
    const struct mx_mask_args *a = args;
    const int32_t *spans = mx_cpu_ptr(a->spans), *offsets = mx_cpu_ptr(a->rows.offsets);
    float *x = mx_cpu_ptr(a->x);
    const mx_vf value = mx_vf_set(a->value);
    if (!mx_sequences_agree(gang, "mask", &a->rows)) return;
    for (int64_t s = mx_gang_ticket(gang, 0); s < a->rows.count; s = mx_gang_ticket(gang, 0))
        for (int64_t k = 0; k < a->count; k++) {
            const int32_t *span = spans + 4 * (s * a->count + k);
            int64_t row, last, column, end;
            clip(span[0], span[1], offsets[s + 1] - offsets[s], &row, &last);
            clip(span[2], span[3], a->n, &column, &end);
            for (; row < last; row++) {
                float *at = x + (offsets[s] + row) * a->n;
                MX_VEC_EACH(i, n, column, end, mx_vf_store_n(at + i, value, n););
            }
        }
}

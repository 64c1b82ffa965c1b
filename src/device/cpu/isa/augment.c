/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Augmentation: noise on packed audio, masks and blur on packed rows. The result for a sequence is a function of its own
 * contents and parameters alone; workers take whole sequences. Offsets come from the device's memory and could not be
 * checked earlier; they fail the stream if they do not cover the rows.
 */
#include "device/cpu/isa/philox.h"
#include "device/cpu/isa/sequences.h"

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
    const struct mx_vec_philox_keys keys = mx_vec_philox_keys(seed);
    mx_vul block = mx_vec_philox_blocks(0);
    for (int64_t i = 0; i < count; i += MX_VEC_PHILOX_FLOATS, block += MX_VEC_DOUBLES) {
        mx_vu word[2];
        mx_vec_philox(&keys, stream, block, &word[0], &word[1]);
        for (int half = 0; half < 2; half++) {
            const int64_t at = i + half * MX_VEC_FLOATS, left = count - at;
            if (left <= 0) break;
            const int n = left < MX_VEC_FLOATS ? (int)left : MX_VEC_FLOATS;
            const mx_vf noise = step * __builtin_convertvector((mx_vi)(word[half] >> 8), mx_vf) + least;
            mx_vf_store_n(y + at, gain * (mx_vf_load_n(x + at, n) + noise), n);
        }
    }
}

void mx_cpu_noise(const struct mx_gang *gang, const void *args)
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

void mx_cpu_mask(const struct mx_gang *gang, const void *args)
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

/* ---- mel_blur: x [rows, n] → y [rows, n] ---- */

#define HALO MX_BLUR_REACH /* zeros on both sides of a row */

/* Weights of one deviation. */
struct blur {
    float weight[HALO + 1]; /* of distance 0, 1, … */
    int reach;              /* 0: nothing changes */
};

static struct blur blur_compute(float deviation)
{
    struct blur blur = {.weight = {1}};
    while (blur.reach < HALO && (float)blur.reach < 4 * deviation) blur.reach++;
    const float steep = -0.5f / (deviation * deviation);
    for (int j = 1; j <= blur.reach; j++) blur.weight[j] = mx_vf_exp(mx_vf_set((float)(j * j) * steep))[0];
    return blur;
}

/* to [n]: row r of `rows` rows of x, blurred over the rows. */
static void blur_rows(const struct blur *blur, const float *x, int64_t r, int64_t rows, int64_t n, float *to)
{
    const int low = r < blur->reach ? (int)-r : -blur->reach;
    const int high = rows - 1 - r < blur->reach ? (int)(rows - 1 - r) : blur->reach;
    float total = 0;
    for (int j = low; j <= high; j++) total += blur->weight[j < 0 ? -j : j];
    const mx_vf share = mx_vf_set(1 / total);
    MX_VEC_EACH(i, lanes, 0, n, {
        mx_vf sum = {0};
        for (int j = low; j <= high; j++)
            sum = mx_vf_fma(mx_vf_set(blur->weight[j < 0 ? -j : j]), mx_vf_load_n(x + (r + j) * n + i, lanes), sum);
        mx_vf_store_n(to + i, sum * share, lanes);
    });
}

/* The sum over the columns around i, … of a row with its halo. */
MX_VEC_INLINE mx_vf blur_columns(const struct blur *blur, const float *row, int64_t i, int lanes)
{
    mx_vf sum = {0};
    for (int j = -blur->reach; j <= blur->reach; j++)
        sum = mx_vf_fma(mx_vf_set(blur->weight[j < 0 ? -j : j]), mx_vf_load_n(row + i + j, lanes), sum);
    return sum;
}

/* One sequence of `rows` rows. row, share: scratch, n floats with a halo of zeros each. */
static void sequence_blur(const float *x, int64_t rows, int64_t n, const float levels[3], float *row, float *share,
                          float *y)
{
    const struct blur down = blur_compute(levels[0]), across = blur_compute(levels[1]);
    if (down.reach == 0 && across.reach == 0) {
        memcpy(y, x, (size_t)(rows * n) * sizeof *y);
        return;
    }
    /* What the weights of each column that lie within the row add up to. */
    MX_VEC_EACH(i, lanes, 0, n, mx_vf_store_n(row + i, mx_vf_set(1.0f), lanes););
    MX_VEC_EACH(i, lanes, 0, n, mx_vf_store_n(share + i, 1.0f / blur_columns(&across, row, i, lanes), lanes););
    for (int64_t r = 0; r < rows; r++) {
        float *const to = across.reach > 0 ? row : y + r * n;
        if (down.reach > 0)
            blur_rows(&down, x, r, rows, n, to);
        else
            memcpy(to, x + r * n, (size_t)n * sizeof *to);
        if (across.reach == 0) continue;
        MX_VEC_EACH(i, lanes, 0, n,
                    mx_vf_store_n(y + r * n + i, blur_columns(&across, row, i, lanes) * mx_vf_load_n(share + i, lanes),
                                  lanes););
    }
}

void mx_cpu_mel_blur(const struct mx_gang *gang, const void *args)
{
    const struct mx_mel_blur_args *a = args;
    const float *x = mx_cpu_ptr(a->x), *levels = mx_cpu_ptr(a->levels);
    const int32_t *streams = mx_cpu_ptr(a->streams), *offsets = mx_cpu_ptr(a->rows.offsets);
    float *const y = mx_cpu_ptr(a->y), *const row = (float *)gang->scratch + HALO;
    float *const share = row + a->n + HALO;
    if (!mx_sequences_agree(gang, "mel_blur", &a->rows)) return;
    memset(gang->scratch, 0, (size_t)(a->n + 2 * HALO) * sizeof *row);
    for (int64_t s = mx_gang_ticket(gang, 0); s < a->rows.count; s = mx_gang_ticket(gang, 0)) {
        const int64_t rows = offsets[s + 1] - offsets[s], first = offsets[s] * a->n;
        const float noise = levels[3 * s + 2];
        const uint64_t stream = (uint64_t)(uint32_t)streams[2 * s + 1] << 32 | (uint32_t)streams[2 * s];
        if (rows == 0) continue;
        sequence_blur(x + first, rows, a->n, levels + 3 * s, row, share, y + first);
        if (noise != 0) noise_add(y + first, y + first, rows * a->n, 1.0f, noise, a->seed, stream);
    }
}

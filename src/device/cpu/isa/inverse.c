/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * mel_inverse: log-mel to a magnitude of each bin.
 *
 * A worker takes blocks of neighbouring frames, one per lane, and does all steps of a block in its own scratch; lanes
 * do not depend on each other. The divisor of each bin, the sum of its weights over all bands, is the same for all
 * frames and is computed once. The tables come from the device's memory and are checked before they are used as
 * indices.
 */
#include "device/cpu/isa/bands.h"
#include "device/cpu/isa/fft.h"

#define LANES MX_VEC_FLOATS
#define LEAST 1e-37f /* of what is divided by */

struct inverse {
    struct mx_bands bands;
    int64_t bins;
    /* scratch */
    mx_vf *level;     /* [bands, rounded up to whole squares]: what the bands should be */
    mx_vf *magnitude; /* [bins, rounded up] */
    mx_vf *spread;    /* [bins]: Σ_b w[b,k] · something */
    float *share;     /* [bins]: 1/Σ_b w[b,k]; 0 where no band is */
};

static int64_t up(int64_t value, int64_t unit)
{
    return (value + unit - 1) / unit * unit;
}

static void scratch_open(struct inverse *v, void *scratch)
{
    v->level = scratch;
    v->magnitude = v->level + up(v->bands.count, LANES);
    v->spread = v->magnitude + up(v->bins, LANES);
    v->share = (float *)(void *)(v->spread + v->bins);
    for (int64_t k = 0; k < v->bins; k++) v->share[k] = 0;
    for (int64_t band = 0; band < v->bands.count; band++)
        for (int64_t i = v->bands.ends[band]; i < v->bands.ends[band + 1]; i++)
            v->share[v->bands.first[band] + i - v->bands.ends[band]] += v->bands.weight[i];
    for (int64_t k = 0; k < v->bins; k++) v->share[k] = v->share[k] > 0 ? 1 / v->share[k] : 0;
}

/* level = e^(mel · deviation + mean) of all lanes; lanes beyond `lanes` repeat the last frame. */
static void levels_load(const struct inverse *v, const struct mx_mel_inverse_args *a, const float *mel, int lanes)
{
    mx_bands_rows(&v->bands, mel, lanes, v->level);
    for (int64_t band = 0; band < v->bands.count; band++)
        v->level[band] =
            mx_vf_exp(mx_vf_clamp(mx_vf_horner(v->level[band], mx_vf_set(a->deviation), a->mean), -80.0f, 80.0f));
}

/* magnitude = the levels spread over the bins, or magnitude *= how much too small the bands are, spread likewise. */
static void bins_move(const struct inverse *v, bool start)
{
    for (int64_t k = 0; k < v->bins; k++) v->spread[k] = (mx_vf){0};
    for (int64_t band = 0; band < v->bands.count; band++) {
        const float *weight = v->bands.weight + v->bands.ends[band];
        const mx_vf *bin = v->magnitude + v->bands.first[band];
        mx_vf *to = v->spread + v->bands.first[band];
        const int64_t count = v->bands.ends[band + 1] - v->bands.ends[band];
        mx_vf sum = {0};
        for (int64_t i = 0; i < count; i++) {
            const mx_vf w = mx_vf_set(weight[i]);
            sum = start ? sum + w : mx_vf_fma(w, bin[i], sum);
        }
        const mx_vf ratio = v->level[band] / mx_vf_max(mx_vf_set(LEAST), sum);
        for (int64_t i = 0; i < count; i++) to[i] = mx_vf_fma(mx_vf_set(weight[i]), ratio, to[i]);
    }
    for (int64_t k = 0; k < v->bins; k++) {
        const mx_vf factor = v->spread[k] * v->share[k];
        v->magnitude[k] = start ? factor : v->magnitude[k] * factor;
    }
}

static void bins_store(const struct inverse *v, float *magnitude, int lanes)
{
    for (int64_t k = 0; k < v->bins; k += LANES) {
        const int count = v->bins - k < LANES ? (int)(v->bins - k) : LANES;
        mx_vf square[LANES];
        memcpy(square, v->magnitude + k, sizeof square);
        mx_vf_transpose(square);
        for (int lane = 0; lane < lanes; lane++) mx_vf_store_n(magnitude + lane * v->bins + k, square[lane], count);
    }
}

/* mel [rows, bands] → magnitude [rows, fft_size/2 + 1] */
void mx_cpu_mel_inverse(const struct mx_gang *gang, const void *args)
{
    const struct mx_mel_inverse_args *a = args;
    const float *mel = mx_cpu_ptr(a->mel);
    float *magnitude = mx_cpu_ptr(a->magnitude);
    struct inverse v;
    int64_t begin, end;
    if (!mx_bands_open(&v.bands, a->tables, a->fft_size, a->bands, a->weights)) {
        mx_bands_fail(gang, "mel_inverse");
        return;
    }
    v.bins = a->fft_size / 2 + 1;
    scratch_open(&v, gang->scratch);
    mx_gang_share(gang, a->rows, LANES, &begin, &end);
    for (int64_t row = begin; row < end; row += LANES) {
        const int lanes = end - row < LANES ? (int)(end - row) : LANES;
        levels_load(&v, a, mel + row * v.bands.count, lanes);
        bins_move(&v, true);
        for (int32_t i = 0; i < a->iterations; i++) bins_move(&v, false);
        bins_store(&v, magnitude + row * v.bins, lanes);
    }
}

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * mel: packed audio to log-mel and energy.
 *
 * A worker takes blocks of neighbouring frames, one per lane (frames.h), and computes a block from samples to bands in
 * its own scratch: window, a transform of n real numbers as one of n/2 complex ones (fft.h), magnitudes, bands,
 * logarithm. Only the bins that some band uses get a square root; the energy needs none of them.
 *
 * The tables come from the device's memory and are checked before they are used as indices.
 */
#include "device/cpu/isa/bands.h"
#include "device/cpu/isa/fft.h"
#include "device/cpu/isa/frames.h"

#define LANES MX_VEC_FLOATS

/* What a block needs. */
struct spectrum {
    struct mx_bands bands;
    /* scratch */
    mx_vf *samples;   /* [size]: the transform of size/2 complex elements */
    mx_vf *magnitude; /* [size/2 + 1], doubled */
    mx_vf *out;       /* [bands], rounded up to whole squares */
    float *stage;     /* [LANES, size] */
    int32_t *place;   /* [size/2] */
};

static int64_t up(int64_t value, int64_t unit)
{
    return (value + unit - 1) / unit * unit;
}

static void scratch_open(struct spectrum *s, void *scratch)
{
    char *at = scratch;
    s->samples = (void *)at;
    at += (size_t)s->bands.size * sizeof(mx_vf);
    s->magnitude = (void *)at;
    at += (size_t)(s->bands.size / 2 + 1) * sizeof(mx_vf);
    s->out = (void *)at;
    at += (size_t)up(s->bands.count, LANES) * sizeof(mx_vf);
    s->stage = (void *)at;
    at += (size_t)(LANES * s->bands.size) * sizeof(float);
    s->place = (void *)at;
    for (int64_t k = 0; k < s->bands.size / 2; k++) s->place[k] = (int32_t)mx_fft_place(s->bands.size / 2, k);
}

/* Twice the magnitudes of the bins in use; returns Σ |X|² over all of them. The even samples are the real, the odd ones
 * the imaginary part of the n/2 elements that were transformed: with a = Z[k], b = conj Z[n/2 - k] and w = e^(-2πjk/n),
 * 2 X[k] = (a + b) - j w (a - b) and 2 conj X[n/2 - k] = (a + b) + j w (a - b). */
static mx_vf magnitudes(const struct spectrum *s)
{
    const int64_t half = s->bands.size / 2;
    const struct mx_vc zero = mx_vc_load(s->samples, 0);
    const mx_vf lowest = zero.re + zero.im, highest = zero.re - zero.im;
    mx_vf sum = 4.0f * mx_vf_fma(lowest, lowest, highest * highest); /* of |2 X|² */
    s->magnitude[0] = 2.0f * mx_vf_abs(lowest);
    s->magnitude[half] = 2.0f * mx_vf_abs(highest);
    for (int64_t k = 1; k <= half / 2; k++) {
        const struct mx_vc a = mx_vc_load(s->samples, s->place[k]);
        const struct mx_vc other = mx_vc_load(s->samples, s->place[half - k]), b = {other.re, -other.im};
        const struct mx_vc even = mx_vc_add(a, b);
        const struct mx_vc odd = mx_vc_turn(mx_vc_down(mx_vc_sub(a, b)), s->bands.circle + 2 * k);
        const struct mx_vc x = mx_vc_add(even, odd), y = mx_vc_sub(even, odd);
        const mx_vf low = mx_vf_fma(x.re, x.re, x.im * x.im), high = mx_vf_fma(y.re, y.re, y.im * y.im);
        sum += low;
        if (k < s->bands.used) s->magnitude[k] = mx_vf_sqrt_near(low);
        if (k == half - k) break;
        sum += high;
        if (half - k < s->bands.used) s->magnitude[half - k] = mx_vf_sqrt_near(high);
    }
    return 0.25f * sum;
}

/* Bands of all lanes. Two sums per band, of every other bin, so that one need not wait for the other. */
static void bands_sum(const struct spectrum *s, const struct mx_mel_args *a)
{
    const mx_vf least = mx_vf_set(a->floor);
    for (int64_t band = 0; band < s->bands.count; band++) {
        const float *weight = s->bands.weight + s->bands.ends[band];
        const mx_vf *bin = s->magnitude + s->bands.first[band];
        const int64_t count = s->bands.ends[band + 1] - s->bands.ends[band];
        mx_vf sum = {0}, second = {0};
        int64_t i = 0;
        for (; i + 2 <= count; i += 2) {
            sum = mx_vf_fma(mx_vf_set(weight[i]), bin[i], sum);
            second = mx_vf_fma(mx_vf_set(weight[i + 1]), bin[i + 1], second);
        }
        if (i < count) sum = mx_vf_fma(mx_vf_set(weight[i]), bin[i], sum);
        s->out[band] = (mx_vf_log(mx_vf_max(least, 0.5f * (sum + second))) - a->mean) * a->inverse_deviation;
    }
}

static void bands_store(const struct spectrum *s, float *mel, int lanes)
{
    for (int64_t band = 0; band < s->bands.count; band += LANES) {
        const int count = s->bands.count - band < LANES ? (int)(s->bands.count - band) : LANES;
        mx_vf square[LANES];
        memcpy(square, s->out + band, sizeof square);
        mx_vf_transpose(square);
        for (int lane = 0; lane < lanes; lane++) mx_vf_store_n(mel + lane * s->bands.count + band, square[lane], count);
    }
}

/* audio [samples.rows] → mel [frames.rows, bands], energy [frames.rows] */
MX_KERNEL(mel)
{
    const struct mx_mel_args *a = args;
    float *mel = mx_cpu_ptr(a->mel), *energy = mx_cpu_ptr(a->energy);
    const float *source[LANES];
    struct mx_frames frames;
    struct spectrum s;
    int64_t begin, end;
    if (!mx_frames_open(&frames, gang, "mel", a->audio, &a->samples, &a->frames, a->fft_size, a->hop)) return;
    if (!mx_bands_open(&s.bands, a->tables, a->fft_size, a->bands, a->weights)) {
        mx_bands_fail(gang, "mel");
        return;
    }
    scratch_open(&s, gang->scratch);
    mx_gang_share(gang, frames.rows, LANES, &begin, &end);
    for (int64_t row = begin; row < end; row += LANES) {
        const int lanes = end - row < LANES ? (int)(end - row) : LANES;
        mx_frames_block(&frames, row, lanes, s.stage, source);
        mx_frames_transform(s.bands.window, s.bands.size, source, s.bands.circle, s.samples);
        const mx_vf power = magnitudes(&s);
        bands_sum(&s, a);
        bands_store(&s, mel + row * s.bands.count, lanes);
        if (energy)
            mx_vf_store_n(energy + row, mx_vf_log(mx_vf_max(mx_vf_set(a->floor), mx_vf_sqrt_near(power))), lanes);
    }
}

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * mel: packed audio to log-mel and energy; log_magnitude: to logarithms of all magnitudes of chosen frames.
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
#include "device/cpu/isa/sequences.h"

#define LANES MX_VEC_FLOATS

/* What a block needs. */
struct spectrum {
    struct mx_bands bands;
    /* scratch */
    mx_vf *samples;   /* [size]: the transform of size/2 complex elements */
    mx_vf *magnitude; /* [size/2 + 1], rounded up to whole squares; doubled */
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
    at += (size_t)up(s->bands.size / 2 + 1, LANES) * sizeof(mx_vf);
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

/* to [lanes, width] = the lanes of from [width, rounded up to whole squares] */
static void lanes_store(const mx_vf *from, int64_t width, float *to, int lanes)
{
    for (int64_t i = 0; i < width; i += LANES) {
        const int count = width - i < LANES ? (int)(width - i) : LANES;
        mx_vf square[LANES];
        memcpy(square, from + i, sizeof square);
        mx_vf_transpose(square);
        for (int lane = 0; lane < lanes; lane++) mx_vf_store_n(to + lane * width + i, square[lane], count);
    }
}

/* audio [samples.rows] → mel [frames.rows, bands], energy [frames.rows] */
void mx_cpu_mel(const struct mx_gang *gang, const void *args)
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
        lanes_store(s.out, s.bands.count, mel + row * s.bands.count, lanes);
        if (energy)
            mx_vf_store_n(energy + row, mx_vf_log(mx_vf_max(mx_vf_set(a->floor), mx_vf_sqrt_near(power))), lanes);
    }
}

/* ---- log_magnitude: audio [samples.rows] → y [out.rows, fft_size/2 + 1] ---- */

/* Is each segment within the frames of an utterance? All workers get the same answer; worker 0 fails the stream. */
static bool segments_agree(const struct mx_gang *gang, const struct mx_log_magnitude_args *a)
{
    const int32_t *places = mx_cpu_ptr(a->places), *out = mx_cpu_ptr(a->out.offsets);
    const int32_t *samples = mx_cpu_ptr(a->samples.offsets);
    if (!mx_sequences_agree(gang, "log_magnitude", &a->samples)) return false;
    if (!mx_sequences_agree(gang, "log_magnitude", &a->out)) return false;
    for (int32_t s = 0; s < a->out.count; s++) {
        const int64_t utterance = places[2 * s], first = places[2 * s + 1], rows = out[s + 1] - out[s];
        const bool known = utterance >= 0 && utterance < a->samples.count;
        const int64_t n = known ? samples[utterance + 1] - samples[utterance] : 0;
        if (known && first >= 0 && first + rows <= (n > 0 ? 1 + n / a->hop : 0)) continue;
        if (gang->worker != 0) return false;
        MX_FAIL(MX_ERR_DATA, "expected the number of an utterance, and frames from 0 to samples/hop of it",
                "log_magnitude: segment %d is not within an utterance", (int)s);
        mx_stream_fail(gang->stream);
        return false;
    }
    return true;
}

void mx_cpu_log_magnitude(const struct mx_gang *gang, const void *args)
{
    const struct mx_log_magnitude_args *a = args;
    const int32_t *places = mx_cpu_ptr(a->places), *out = mx_cpu_ptr(a->out.offsets);
    const float *const tables = mx_cpu_ptr(a->tables);
    const int64_t size = a->fft_size, bins = size / 2 + 1;
    const struct mx_frames frames = {
        .audio = mx_cpu_ptr(a->audio), .samples = mx_cpu_ptr(a->samples.offsets), .size = size, .hop = a->hop};
    struct spectrum s = {.bands = {.window = tables, .circle = tables + size, .size = size, .used = bins}};
    float *y = mx_cpu_ptr(a->y);
    const float *source[LANES];
    int64_t begin, end;
    if (!segments_agree(gang, a)) return;
    scratch_open(&s, gang->scratch);
    for (int64_t k = bins; k < up(bins, LANES); k++) s.magnitude[k] = (mx_vf){0};
    mx_gang_share(gang, a->out.rows, LANES, &begin, &end);
    int64_t segment = mx_segment_of(out, a->out.count, begin);
    for (int64_t row = begin; row < end; row += LANES) {
        const int lanes = end - row < LANES ? (int)(end - row) : LANES;
        for (int lane = 0; lane < LANES; lane++) {
            if (lane >= lanes) {
                source[lane] = source[lanes - 1];
                continue;
            }
            while (out[segment + 1] <= row + lane) segment++;
            source[lane] = mx_frames_one(&frames, places[2 * segment],
                                         places[2 * segment + 1] + row + lane - out[segment], s.stage + lane * size);
        }
        mx_frames_transform(s.bands.window, size, source, s.bands.circle, s.samples);
        magnitudes(&s);
        for (int64_t k = 0; k < bins; k++)
            s.magnitude[k] = mx_vf_log(mx_vf_horner(s.magnitude[k], mx_vf_set(0.5f), a->least));
        lanes_store(s.magnitude, bins, y + row * bins, lanes);
    }
}

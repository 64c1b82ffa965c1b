/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * mel_base: what the vocoder's network begins with. A worker takes blocks of rows, one per lane, as mel_project does.
 * pitch_loss: how well its classes tell the pitch. A worker takes whole sequences.
 *
 * Tables and offsets come from the device's memory, so they were not checked before: no kernel reads or writes
 * outside its tensors because of them; they fail the stream instead.
 */
#include "device/cpu/isa/bands.h"
#include "device/cpu/isa/sequences.h"

#define LANES MX_VEC_FLOATS

/* ---- mel_base: mel [rows, bands] → input [rows, bands], base [rows, bins] ---- */

/* width [bands]: ln of the sum of each band's weights. */
static void widths_measure(const struct mx_bands *b, float *width)
{
    for (int64_t band = 0; band < b->count; band++) {
        mx_vf sum = {0};
        MX_VEC_EACH(i, n, b->ends[band], b->ends[band + 1], sum += mx_vf_load_n(b->weight + i, n););
        width[band] = mx_vf_sum(sum);
    }
    MX_VEC_EACH(band, n, 0, b->count, {
        const mx_vf sum = mx_vf_load_n(width + band, n);
        mx_vf_store_n(width + band, mx_vf_log(mx_vf_max(mx_vf_set(1e-37f), sum)), n);
    });
}

void mx_cpu_mel_base(const struct mx_gang *gang, const void *args)
{
    const struct mx_mel_base_args *a = args;
    const float *mel = mx_cpu_ptr(a->mel);
    float *input = mx_cpu_ptr(a->input), *base = mx_cpu_ptr(a->base);
    const int64_t bins = a->fft_size / 2 + 1, bands = a->bands;
    mx_vf *const level = gang->scratch; /* [bands, rounded up to whole squares] */
    float *const width = (float *)(void *)(level + (bands + LANES - 1) / LANES * LANES);
    struct mx_bands b;
    struct mx_places places;
    int64_t begin, end;
    if (!mx_bands_open(&b, a->tables, a->fft_size, a->bands, a->weights) ||
        !mx_places_open(&places, a->places, bins, a->bands)) {
        mx_bands_fail(gang, "mel_base");
        return;
    }
    widths_measure(&b, width);
    mx_gang_share(gang, a->rows, LANES, &begin, &end);
    if (input)
        MX_VEC_EACH(i, n, begin * bands, end * bands, {
            const mx_vf m = mx_vf_horner(mx_vf_load_n(mel + i, n), mx_vf_set(a->deviation), a->mean);
            mx_vf_store_n(input + i, (m + 5.0f) * 0.4f, n);
        });
    for (int64_t row = begin; row < end; row += LANES) {
        const int lanes = end - row < LANES ? (int)(end - row) : LANES;
        mx_bands_rows(&b, mel + row * bands, lanes, level);
        for (int64_t band = 0; band < bands; band++)
            level[band] = mx_vf_horner(level[band], mx_vf_set(a->deviation), a->mean) - width[band];
        for (int64_t k = 0; k < bins; k += LANES) {
            const int count = bins - k < LANES ? (int)(bins - k) : LANES;
            mx_vf square[LANES];
            for (int j = 0; j < LANES; j++) square[j] = mx_places_mix(&places, level, j < count ? k + j : bins - 1);
            mx_vf_transpose(square);
            for (int lane = 0; lane < lanes; lane++) mx_vf_store_n(base + (row + lane) * bins + k, square[lane], count);
        }
    }
}

/* ---- pitch_loss: logits [rows, classes + 1], pitch [rows] → values [sequences], dlogits [rows, classes + 1] ---- */

#define LABEL_REACH 7 /* classes on each side of q: further away the label is less than e^-32, which no sum notices */
#define LABEL_WIDTH (2 * (LABEL_REACH + 1))

struct pitch_span {
    const float *logits, *pitch;
    float *gradient; /* or NULL */
    int64_t classes;
    float low_hz, inverse_range, factor;
    float *e; /* scratch [classes + 1, rounded up to whole vectors] */
};

/* What a row adds to the loss: ln sum - dot/label. */
struct pitch_row {
    float sum;   /* Σ e^(x - largest) */
    float label; /* Σ of the label before it is divided by it */
    float dot;   /* Σ label · (x - largest), likewise */
};

/* 0, 1, … */
MX_VEC_INLINE mx_vf places(void)
{
    mx_vf place;
    for (int i = 0; i < LANES; i++) place[i] = (float)i;
    return place;
}

/* n lanes of x; the others count for nothing in a sum of exponentials. */
MX_VEC_INLINE mx_vf logits_load(const float *x, int n)
{
    if (__builtin_constant_p(n) && n == LANES) return mx_vf_load(x);
    return mx_vf_select(places() < (float)n, mx_vf_load_n(x, n), mx_vf_set(-INFINITY));
}

/* e = e^(x - largest) of a row of n logits; yields their sum, and the largest. */
static float exponentials(const float *x, int64_t n, float *e, float *largest)
{
    mx_vf most = mx_vf_set(-INFINITY), sum = {0};
    MX_VEC_EACH(i, lanes, 0, n, most = mx_vf_max(logits_load(x + i, lanes), most););
    *largest = mx_vf_largest(most);
    MX_VEC_EACH(i, lanes, 0, n, {
        const mx_vf power = mx_vf_exp(logits_load(x + i, lanes) - *largest);
        mx_vf_store(e + i, power);
        sum += power;
    });
    return mx_vf_sum(sum);
}

/* g: the label of classes [first, last) before it is divided by its sum, followed by zeros. What is cut off is not left to
 * the exponential: numbers too small for a float's full precision are slow. */
static void label_compute(float q, int64_t first, int64_t last, float g[LABEL_WIDTH])
{
    for (int64_t i = 0; i < LABEL_WIDTH; i += LANES) {
        const mx_vf at = places() + (float)(first + i), d = at - q;
        const mx_vf power = mx_vf_exp(mx_vf_max(mx_vf_set(-40.0f), -0.5f * d * d));
        mx_vf_store(g + i, mx_vf_select(at < (float)last, power, (mx_vf){0}));
    }
}

/* One row; q < 0: unvoiced. */
static struct pitch_row pitch_row(const struct pitch_span *span, int64_t row, float q)
{
    const int64_t classes = span->classes, n = classes + 1;
    const float *x = span->logits + row * n;
    float largest, *gradient = span->gradient ? span->gradient + row * n : NULL;
    struct pitch_row result = {.sum = exponentials(x, n, span->e, &largest)};
    if (gradient) {
        const float factor = span->factor / result.sum;
        MX_VEC_EACH(i, lanes, 0, n, mx_vf_store_n(gradient + i, factor * mx_vf_load_n(span->e + i, lanes), lanes););
    }
    if (q < 0) {
        result.label = 1;
        result.dot = x[classes] - largest;
        if (gradient) gradient[classes] -= span->factor;
        return result;
    }
    const int64_t near = (int64_t)q, first = near > LABEL_REACH ? near - LABEL_REACH : 0;
    const int64_t last = near + LABEL_REACH + 2 < classes ? near + LABEL_REACH + 2 : classes;
    float g[LABEL_WIDTH];
    mx_vf label = {0}, dot = {0};
    label_compute(q, first, last, g);
    MX_VEC_EACH(i, lanes, 0, last - first, {
        const mx_vf v = mx_vf_load_n(g + i, lanes);
        label += v;
        dot = mx_vf_fma(v, mx_vf_load_n(x + first + i, lanes) - largest, dot);
    });
    result.label = mx_vf_sum(label);
    result.dot = mx_vf_sum(dot);
    if (gradient) {
        const mx_vf factor = mx_vf_set(span->factor / result.label);
        MX_VEC_EACH(i, lanes, 0, last - first, {
            float *const to = gradient + first + i;
            mx_vf_store_n(to, mx_vf_fnma(factor, mx_vf_load_n(g + i, lanes), mx_vf_load_n(to, lanes)), lanes);
        });
    }
    return result;
}

/* The losses of rows [begin, end) together, a vector of rows at a time. */
static double pitch_rows(const struct pitch_span *span, int64_t begin, int64_t end)
{
    mx_vd low = {0}, high = {0};
    for (int64_t row = begin; row < end; row += LANES) {
        const int lanes = end - row < LANES ? (int)(end - row) : LANES;
        const mx_vf hz = mx_vf_load_n(span->pitch + row, lanes);
        const mx_vf ratio = mx_vf_max(hz / span->low_hz, mx_vf_set(0x1p-126f)); /* the logarithm takes no others */
        const mx_vf part = mx_vf_clamp(mx_vf_log(ratio) * span->inverse_range, 0.0f, 1.0f);
        const mx_vf q = mx_vf_select(hz > 0.0f, part * (float)(span->classes - 1), mx_vf_set(-1.0f));
        mx_vf sum = mx_vf_set(1.0f), label = sum, dot = {0};
        for (int lane = 0; lane < lanes; lane++) {
            const struct pitch_row one = pitch_row(span, row + lane, q[lane]);
            sum[lane] = one.sum;
            label[lane] = one.label;
            dot[lane] = one.dot;
        }
        const mx_vf loss = mx_vf_log(sum) - dot / label;
        low += mx_vd_low(loss);
        high += mx_vd_high(loss);
    }
    return mx_vd_sum(low + high);
}

void mx_cpu_pitch_loss(const struct mx_gang *gang, const void *args)
{
    const struct mx_pitch_loss_args *a = args;
    const struct pitch_span span = {.logits = mx_cpu_ptr(a->logits),
                                    .pitch = mx_cpu_ptr(a->pitch),
                                    .gradient = mx_cpu_ptr(a->dlogits),
                                    .classes = a->classes,
                                    .low_hz = a->low_hz,
                                    .inverse_range = 1.0f / mx_vf_log(mx_vf_set(a->high_hz / a->low_hz))[0],
                                    .factor = a->factor,
                                    .e = gang->scratch};
    const int32_t *offsets = mx_cpu_ptr(a->rows.offsets);
    float *values = mx_cpu_ptr(a->values);
    if (!mx_sequences_agree(gang, "pitch_loss", &a->rows)) return;
    for (int64_t s; (s = mx_gang_ticket(gang, 0)) < a->rows.count;)
        values[s] = (float)((double)a->scale * pitch_rows(&span, offsets[s], offsets[s + 1]));
}

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * harmonics, texture, excite: the pulses of a voice, and a first spectrum with the phases and the texture of pulses and
 * noise.
 *
 * Harmonics below the fade have the same weight, so their sum has a closed form, Dirichlet's kernel
 *   Σ_{k ≤ K} cos 2πkp = ½ (sin π(2K + 1)p/sin πp - 1),
 * and only the few that fade are added one by one. The usual recurrence of cosines takes a step for each of up to 146
 * harmonics and loses digits with each step: at 65 Hz it errs by 2e-4 of the largest sample, this by 3e-7.
 */
#include "device/cpu/isa/frames.h"
#include "device/cpu/isa/numbers.h"

#define LANES MX_VEC_FLOATS

/* ---- harmonics ---- */

/* sin πr for |r| ≤ ½; relative error 1e-7, so that quotients near 0 keep their digits. */
MX_VEC_INLINE mx_vf sine(mx_vf r)
{
    const mx_vf square = r * r;
    mx_vf p = mx_vf_horner(mx_vf_set(-0x1.cc3476p-8f), square, 0x1.500ffap-4f);
    p = mx_vf_horner(p, square, -0x1.32d112p-1f);
    p = mx_vf_horner(p, square, 0x1.466bcp+1f);
    p = mx_vf_horner(p, square, -0x1.4abbcep+2f);
    return r * mx_vf_horner(p, square, 0x1.921fb6p+1f);
}

/* k · t - whole, which is within ±½, for whole k and |t| ≤ ½. The harmonics need all digits of t: where there is no fused
 * operation, t is cut in two, so that k times the upper part is exact for k < 2^12. */
MX_VEC_INLINE mx_vf turns_rest(mx_vf k, mx_vf t, mx_vf whole)
{
#if MX_VEC_FUSED
    return mx_vf_fma(k, t, -whole);
#else
    const mx_vf upper = (t + 3072.0f) - 3072.0f; /* whole numbers of 2^-12 */
    return (k * upper - whole) + k * (t - upper);
#endif
}

/* sin π(2K + 1)t/sin πt for whole K and |t| ≤ ½ */
MX_VEC_INLINE mx_vf kernel(mx_vf K, mx_vf t)
{
    const mx_vf factor = mx_vf_horner(K, mx_vf_set(2.0f), 1.0f);
    const mx_vf shifted = mx_vf_fma(factor, t, mx_vf_set(MX_VEC_ROUND)), whole = shifted - MX_VEC_ROUND;
    const mx_vf rest = sine(turns_rest(factor, t, whole));
    const mx_vf top = (mx_vf)((mx_vi)rest ^ ((mx_vi)shifted << 31)); /* odd: sin(x + π) = -sin x */
    const mx_vi zero = mx_vf_abs(t) < 1e-30f;
    return mx_vf_select(zero, factor, top / sine(mx_vf_select(zero, mx_vf_set(0.5f), t)));
}

/* cos 2πkt for whole k and |t| ≤ ½ */
MX_VEC_INLINE mx_vf cosine(mx_vf k, mx_vf t)
{
    const mx_vf whole = mx_vf_fma(k, t, mx_vf_set(MX_VEC_ROUND)) - MX_VEC_ROUND;
    return sine(mx_vf_fma(mx_vf_abs(turns_rest(k, t, whole)), mx_vf_set(-2.0f), mx_vf_set(0.5f)));
}

/* limit - k · f0, with the digits of a fused operation: f0 is cut in two like t. */
MX_VEC_INLINE mx_vf limit_rest(mx_vf k, mx_vf f0, float limit)
{
#if MX_VEC_FUSED
    return mx_vf_fnma(k, f0, mx_vf_set(limit));
#else
    const mx_vf upper = (f0 + 786432.0f) - 786432.0f; /* whole numbers of 2^-4 */
    return (limit - k * upper) - k * (f0 - upper);
#endif
}

/* A frame and the next. */
struct stretch {
    float f0[2], gate[2], phase;
};

/* Phases at `count` samples after the frame, in turns within ±½: in double, since harmonic k multiplies their error by
 * k. */
static void turns_fill(const struct mx_harmonics_args *a, const struct stretch *s, int64_t count, float *turns)
{
    const double first = (double)s->f0[0] / (double)a->rate, begin = (double)s->phase;
    const double bend = ((double)s->f0[1] - (double)s->f0[0]) / (2.0 * (double)a->hop * (double)a->rate);
    for (int64_t j = 0; j < count; j++) {
        const double at = (double)j, p = begin + at * (first + at * bend);
        turns[j] = (float)(p - ((p + 0x1.8p52) - 0x1.8p52));
    }
}

static void stretch_fill(const struct mx_harmonics_args *a, const struct stretch *s, int64_t count, const float *turns,
                         float *y)
{
    const float lowest = s->f0[0] < s->f0[1] ? s->f0[0] : s->f0[1], share = 1 / (float)a->hop;
    const int64_t fading = (int64_t)(a->fade_hz / lowest) + 1;
    mx_vf lane;
    for (int i = 0; i < LANES; i++) lane[i] = (float)i;
    MX_VEC_EACH(j, n, 0, count, {
        const mx_vf t = mx_vf_load_n(turns + j, n), between = (lane + (float)j) * share;
        const mx_vf f0 = mx_vf_fma(between, mx_vf_set(s->f0[1] - s->f0[0]), mx_vf_set(s->f0[0]));
        const mx_vf gate = mx_vf_fma(between, mx_vf_set(s->gate[1] - s->gate[0]), mx_vf_set(s->gate[0]));
        const mx_vf most = (a->limit_hz - a->fade_hz) / f0, near = (most + MX_VEC_ROUND) - MX_VEC_ROUND;
        const mx_vf full = mx_vf_select(near > most, near - 1.0f, near);
        mx_vf sum = mx_vf_horner(kernel(full, t), mx_vf_set(0.5f), -0.5f);
        for (int64_t i = 1; i <= fading; i++) {
            const mx_vf k = full + (float)i;
            const mx_vf weight = limit_rest(k, f0, a->limit_hz) / a->fade_hz;
            sum = mx_vf_fma(mx_vf_clamp(weight, 0.0f, 1.0f), cosine(k, t), sum);
        }
        mx_vf_store_n(y + j, gate * a->level * sum, n);
    });
}

/* f0, phase, gate [frames.rows] → y [samples.rows] */
void mx_cpu_harmonics(const struct mx_gang *gang, const void *args)
{
    const struct mx_harmonics_args *a = args;
    const float *f0 = mx_cpu_ptr(a->f0), *phase = mx_cpu_ptr(a->phase), *gate = mx_cpu_ptr(a->gate);
    float *y = mx_cpu_ptr(a->y), *turns = gang->scratch;
    struct mx_frames frames;
    int64_t begin, end;
    if (!mx_frames_open(&frames, gang, "harmonics", a->y, &a->samples, &a->frames, 0, a->hop)) return;
    mx_gang_share(gang, frames.rows, 1, &begin, &end);
    for (int64_t s = 0, row = begin; row < end; row++) {
        while (frames.frames[s + 1] <= row) s++;
        const int64_t low = (row - frames.frames[s]) * frames.hop, n = frames.samples[s + 1] - frames.samples[s];
        const int64_t count = n - low < frames.hop ? n - low : frames.hop;
        const int64_t next = row + 1 < frames.frames[s + 1] ? row + 1 : row;
        if (count == 0) continue;
        struct stretch stretch = {{f0[row], f0[next]}, {gate[row], gate[next]}, phase[row]};
        for (int i = 0; i < 2; i++) {
            if (!(stretch.f0[i] > MX_HARMONICS_LEAST_HZ)) stretch.f0[i] = MX_HARMONICS_LEAST_HZ;
            if (stretch.f0[i] > a->limit_hz) stretch.f0[i] = a->limit_hz;
        }
        turns_fill(a, &stretch, count, turns);
        stretch_fill(a, &stretch, count, turns, y + frames.samples[s] + low);
    }
}

/* ---- texture ---- */

#define STRETCH 256 /* bins that a row's window of neighbours moves over at a time */

/* LANES numbers source + gain · noise of which `n` exist. */
MX_VEC_INLINE void mix(const float *source, const float *noise, const float *gain, int n, mx_vf *first, mx_vf *second)
{
    const int low = 2 * n < LANES ? 2 * n : LANES;
    const int high = 2 * n - low;
    const mx_vf g = mx_vf_load_n(gain, n);
    *first = mx_vf_fma(__builtin_shufflevector(g, g, MX_MIX_LOW), mx_vf_load_n(noise, low), mx_vf_load_n(source, low));
    *second = mx_vf_fma(__builtin_shufflevector(g, g, MX_MIX_HIGH), mx_vf_load_n(noise + LANES, high),
                        mx_vf_load_n(source + LANES, high));
}

/* Powers of a stretch of a row, with MX_TEXTURE_REACH_MAX neighbours on both sides; 0 where there are none. */
struct texture_window {
    float powers[STRETCH + 2 * MX_TEXTURE_REACH_MAX + LANES];
};

static void window_fill(struct texture_window *w, const struct mx_texture_args *a, int64_t row, int64_t from)
{
    const float *const u = (const float *)mx_cpu_ptr(a->source) + 2 * row * a->n;
    const float *const v = (const float *)mx_cpu_ptr(a->noise) + 2 * row * a->n;
    const float *const gain = mx_cpu_ptr(a->gain);
    const int64_t before = from - MX_TEXTURE_REACH_MAX, after = from + STRETCH + MX_TEXTURE_REACH_MAX;
    const int64_t first = before < 0 ? 0 : before, end = after > a->n ? a->n : after;
    memset(w, 0, sizeof *w);
    MX_VEC_EACH(i, n, first, end, {
        mx_vf low, high;
        mix(u + 2 * i, v + 2 * i, gain + i, n, &low, &high);
        const mx_vf re = __builtin_shufflevector(low, high, MX_MIX_REAL);
        const mx_vf im = __builtin_shufflevector(low, high, MX_MIX_IMAG);
        const mx_vf power = mx_vf_max(mx_vf_set(0x1p-100f), mx_vf_fma(re, re, im * im));
        mx_vf_store_n(w->powers + (i - before), power, n);
    });
}

/* The mean over the bins within `reach` of bin k of n: `powers` begins with that of bin k - MX_TEXTURE_REACH_MAX. */
MX_VEC_INLINE mx_vf window_mean(const float *powers, int64_t k, int64_t n, int64_t reach)
{
    mx_vf sum = {0}, among = {0};
    for (int64_t d = MX_TEXTURE_REACH_MAX - reach; d <= MX_TEXTURE_REACH_MAX + reach; d++)
        sum += mx_vf_load(powers + d);
    for (int64_t lane = 0; lane < LANES; lane++) {
        const int64_t first = k + lane < reach ? 0 : k + lane - reach;
        const int64_t end = k + lane + reach + 1 < n ? k + lane + reach + 1 : n;
        among[lane] = (float)(end > first ? end - first : 1); /* lanes after the last bin are not used */
    }
    return sum / among;
}

/* source, noise [rows, bins, 2], gain [bins], level [rows, bins] → y [rows, bins] */
void mx_cpu_texture(const struct mx_gang *gang, const void *args)
{
    const struct mx_texture_args *a = args;
    const float *level = mx_cpu_ptr(a->level);
    float *y = mx_cpu_ptr(a->y);
    struct texture_window w;
    int64_t begin, end;
    mx_gang_share(gang, a->rows, 1, &begin, &end);
    for (int64_t row = begin; row < end; row++)
        for (int64_t from = 0; from < a->n; from += STRETCH) {
            const int64_t at = row * a->n + from, count = a->n - from < STRETCH ? a->n - from : STRETCH;
            window_fill(&w, a, row, from);
            MX_VEC_EACH(i, n, 0, count, {
                const mx_vf power = mx_vf_load(w.powers + MX_TEXTURE_REACH_MAX + i);
                const mx_vf ratio = power / window_mean(w.powers + i, from + i, a->n, a->reach);
                const mx_vf texture = mx_vf_log(mx_vf_max(mx_vf_set(a->least * a->least), ratio));
                const mx_vf all = mx_vf_fma(mx_vf_set(0.5f * a->colour), texture, mx_vf_load_n(level + at + i, n));
                mx_vf_store_n(y + at + i, all, n);
            });
        }
}

/* ---- excite ---- */

/* source, noise [rows, bins, 2], gain [bins], level [rows, bins] → magnitude [rows, bins], y [rows, bins, 2] */
void mx_cpu_excite(const struct mx_gang *gang, const void *args)
{
    const struct mx_excite_args *a = args;
    const float *source = mx_cpu_ptr(a->source), *noise = mx_cpu_ptr(a->noise), *gain = mx_cpu_ptr(a->gain);
    const float *level = mx_cpu_ptr(a->level);
    float *magnitude = mx_cpu_ptr(a->magnitude), *y = mx_cpu_ptr(a->y);
    int64_t begin, end;
    mx_gang_share(gang, a->rows, 1, &begin, &end);
    for (int64_t row = begin; row < end; row++) {
        const float *const u = source + 2 * row * a->n, *const v = noise + 2 * row * a->n;
        MX_VEC_EACH(i, n, 0, a->n, {
            const int low = 2 * n < LANES ? 2 * n : LANES;
            const int high = 2 * n - low;
            const mx_vf m = mx_vf_exp(mx_vf_clamp(mx_vf_load_n(level + row * a->n + i, n), -80.0f, 80.0f));
            mx_vf first, second;
            mix(u + 2 * i, v + 2 * i, gain + i, n, &first, &second);
            mx_numbers_scale(&first, &second, m);
            mx_vf_store_n(magnitude + row * a->n + i, m, n);
            mx_vf_store_n(y + 2 * (row * a->n + i), first, low);
            mx_vf_store_n(y + 2 * (row * a->n + i) + LANES, second, high);
        });
    }
}

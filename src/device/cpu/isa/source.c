/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * harmonics, excite: the pulses of a voice, and a first spectrum with the phases of pulses and noise.
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

/* Phases at `count` samples behind the frame, in turns within ±½: in double, since harmonic k multiplies their error by
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
MX_KERNEL(harmonics)
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

/* ---- excite ---- */

/* source, noise [rows, bins, 2], gain [bins], level [rows, bins] → magnitude [rows, bins], y [rows, bins, 2] */
MX_KERNEL(excite)
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
            const mx_vf g = mx_vf_load_n(gain + i, n);
            const mx_vf m = mx_vf_exp(mx_vf_clamp(mx_vf_load_n(level + row * a->n + i, n), -80.0f, 80.0f));
            mx_vf first = mx_vf_fma(__builtin_shufflevector(g, g, MX_MIX_LOW), mx_vf_load_n(v + 2 * i, low),
                                    mx_vf_load_n(u + 2 * i, low));
            mx_vf second = mx_vf_fma(__builtin_shufflevector(g, g, MX_MIX_HIGH), mx_vf_load_n(v + 2 * i + LANES, high),
                                     mx_vf_load_n(u + 2 * i + LANES, high));
            mx_numbers_scale(&first, &second, m);
            mx_vf_store_n(magnitude + row * a->n + i, m, n);
            mx_vf_store_n(y + 2 * (row * a->n + i), first, low);
            mx_vf_store_n(y + 2 * (row * a->n + i) + LANES, second, high);
        });
    }
}

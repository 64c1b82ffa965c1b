/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * harmonics, texture, excite (cpu/isa/source.c): the pulses of a voice, and a first spectrum with the phases and the
 * texture of pulses and noise.
 */

#define MX_ROUND_FLOAT 12582912.0f /* 1.5 · 2^23: adding it leaves no bits for a fraction */

/* sin πr for |r| ≤ ½ */
MX_INLINE float mx_source_sine(float r)
{
    const float square = r * r;
    float p = -0x1.cc3476p-8f * square + 0x1.500ffap-4f;
    p = p * square - 0x1.32d112p-1f;
    p = p * square + 0x1.466bcp+1f;
    p = p * square - 0x1.4abbcep+2f;
    return r * (p * square + 0x1.921fb6p+1f);
}

/* See struct mx_harmonics_args. A group for each frame: the samples that follow it. */
MX_KERNEL(MX_GROUP)
mx_harmonics(MX_ARG(const float, f0), MX_ARG(const float, phase), MX_ARG(const float, gate), MX_ARG(float, y),
             MX_ARG(const int, samples), MX_ARG(const int, frames), MX_ARG(const int, status), int count, int hop,
             float rate, float least, float limit, float fade, float level)
{
    MX_USE(const float, f0);
    MX_USE(const float, phase);
    MX_USE(const float, gate);
    MX_USE(float, y);
    MX_USE(const int, samples);
    MX_USE(const int, frames);
    MX_USE(const int, status);
    if (status[0] != 0) return;
    const mx_long row = MX_INDEX;
    const int s = mx_segment_of(frames, count, row);
    const mx_long next = row + 1 < frames[s + 1] ? row + 1 : row, low = (row - frames[s]) * hop;
    const mx_long left = samples[s + 1] - samples[s] - low;
    const int n = left < hop ? (int)left : hop;
    float from = f0[row] > least ? f0[row] : least, to = f0[next] > least ? f0[next] : least;
    from = from > limit ? limit : from;
    to = to > limit ? limit : to;
    const int fading = (int)(fade / (from < to ? from : to)) + 1;
    const mx_double first = mx_double_divide(mx_double_of(from), mx_double_of(rate));
    const mx_double bend =
        mx_double_divide(mx_double_subtract(mx_double_of(to), mx_double_of(from)),
                         mx_double_multiply(mx_double_of_int(2 * hop), mx_double_of(rate)));
    MX_EACH(j, n)
    {
        const mx_double at = mx_double_of_int(j);
        const mx_double p = mx_double_add(
            mx_double_of(phase[row]),
            mx_double_multiply(at, mx_double_add(first, mx_double_multiply(at, bend))));
        int odd;
        const float t = mx_double_rest(p, &odd), between = (float)j / (float)hop;
        const float h = from + between * (to - from), g = gate[row] + between * (gate[next] - gate[row]);
        const float most = (limit - fade) / h, near = (most + MX_ROUND_FLOAT) - MX_ROUND_FLOAT;
        const float full = near > most ? near - 1.0f : near, factor = 2.0f * full + 1.0f;
        /* The products k · t are exact. */
        const float top = mx_source_sine(mx_double_rest(mx_double_product(factor, t), &odd));
        float sum = factor;
        if (MX_ABS(t) >= 1e-30f) sum = (odd ? -top : top) / mx_source_sine(t);
        sum = 0.5f * sum - 0.5f;
        for (int i = 1; i <= fading; i++) {
            const float k = full + (float)i, weight = (limit - k * h) / fade;
            const float cosine = mx_source_sine(0.5f - 2.0f * MX_ABS(mx_double_rest(mx_double_product(k, t), &odd)));
            sum += (weight > 1.0f ? 1.0f : weight < 0.0f ? 0.0f : weight) * cosine;
        }
        y[samples[s] + low + j] = g * level * sum;
    }
}

/* See struct mx_texture_args. */
MX_KERNEL(MX_WIDE)
mx_texture(MX_ARG(const float, source), MX_ARG(const float, noise), MX_ARG(const float, gain), MX_ARG(const float, level),
           MX_ARG(float, y), mx_long count, mx_long n, int reach, float colour, float least)
{
    MX_USE(const float, source);
    MX_USE(const float, noise);
    MX_USE(const float, gain);
    MX_USE(const float, level);
    MX_USE(float, y);
    const mx_long i = MX_INDEX * MX_WIDE + MX_LANE;
    if (i >= count) return;
    const mx_long k = i % n, row = i - k;
    const mx_long first = k - reach < 0 ? 0 : k - reach, end = k + reach + 1 > n ? n : k + reach + 1;
    float sum = 0.0f, own = 0.0f;
    for (mx_long j = first; j < end; j++) {
        const float re = source[2 * (row + j)] + gain[j] * noise[2 * (row + j)];
        const float im = source[2 * (row + j) + 1] + gain[j] * noise[2 * (row + j) + 1];
        const float square = re * re + im * im, power = square < 7.8886091e-31f ? 7.8886091e-31f : square; /* 2^-100 */
        sum += power;
        if (j == k) own = power;
    }
    const float ratio = own * (float)(end - first) / sum, lowest = least * least;
    y[i] = level[i] + 0.5f * colour * MX_LOG(ratio < lowest ? lowest : ratio);
}

/* See struct mx_excite_args. */
MX_KERNEL(MX_WIDE)
mx_excite(MX_ARG(const float, source), MX_ARG(const float, noise), MX_ARG(const float, gain), MX_ARG(const float, level),
          MX_ARG(float, magnitude), MX_ARG(float, y), mx_long count, mx_long n)
{
    MX_USE(const float, source);
    MX_USE(const float, noise);
    MX_USE(const float, gain);
    MX_USE(const float, level);
    MX_USE(float, magnitude);
    MX_USE(float, y);
    const mx_long i = MX_INDEX * MX_WIDE + MX_LANE;
    if (i >= count) return;
    const float g = gain[i % n], at = level[i], m = MX_EXP(at > 80.0f ? 80.0f : at < -80.0f ? -80.0f : at);
    const float re = source[2 * i] + g * noise[2 * i], im = source[2 * i + 1] + g * noise[2 * i + 1];
    const float square = re * re + im * im, least = 7.8886091e-31f; /* 2^-100 */
    const float factor = m / MX_SQRT(square < least ? least : square);
    magnitude[i] = m;
    y[2 * i] = square < least ? m : re * factor;
    y[2 * i + 1] = square < least ? 0.0f : im * factor;
}

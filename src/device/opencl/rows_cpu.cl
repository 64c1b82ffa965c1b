/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Layer norm, rotary positions, expanding, column sums and dropout for OpenCL devices of CPU type: one lane in a group,
 * which takes some rows (or elements) one after the other, in vectors. They compute what the kernels of the same
 * purpose in kernels/ do.
 */
#if defined(MX_CPU)

/* Always in the same order. */
MX_INLINE float mx_sum_v(mx_v v)
{
#if MX_VECTOR == 16
    const float8 a = v.lo + v.hi;
#else
    const float8 a = v;
#endif
    const float4 b = a.lo + a.hi;
    return (b.s0 + b.s2) + (b.s1 + b.s3);
}

/* ---- layer norm: rows group · each … ---- */
MX_FULL_WIDTH MX_KERNEL(1)
mx_norm_forward(MX_ARG(const float, x), MX_ARG(const float, gamma), MX_ARG(const float, beta), MX_ARG(float, y),
                MX_ARG(float, stats), mx_long rows, mx_long each, int n, float eps)
{
    MX_USE(const float, x);
    MX_USE(const float, gamma);
    MX_USE(const float, beta);
    MX_USE(float, y);
    MX_USE(float, stats);
    const mx_long begin = MX_INDEX * each, end = begin + each < rows ? begin + each : rows;
    const int whole = n / MX_VECTOR * MX_VECTOR;
    for (mx_long r = begin; r < end; r++) {
        MX_GLOBAL const float *const in = x + r * n;
        MX_GLOBAL float *const out = y + r * n;
        mx_v sums = 0.0f;
        float rest = 0.0f;
        for (int i = 0; i < whole; i += MX_VECTOR) sums += mx_load(in + i);
        for (int i = whole; i < n; i++) rest += in[i];
        const float mean = (mx_sum_v(sums) + rest) / (float)n;
        sums = 0.0f;
        rest = 0.0f;
        for (int i = 0; i < whole; i += MX_VECTOR) {
            const mx_v d = mx_load(in + i) - mean;
            sums += d * d;
        }
        for (int i = whole; i < n; i++) rest += (in[i] - mean) * (in[i] - mean);
        const float scale = 1.0f / sqrt((mx_sum_v(sums) + rest) / (float)n + eps);
        for (int i = 0; i < whole; i += MX_VECTOR)
            mx_store((mx_load(in + i) - mean) * scale * mx_load(gamma + i) + mx_load(beta + i), out + i);
        for (int i = whole; i < n; i++) out[i] = (in[i] - mean) * scale * gamma[i] + beta[i];
        stats[2 * r] = mean;
        stats[2 * r + 1] = scale;
    }
}

/* dx, and partial[group, 2, n] = the group's share of dgamma and dbeta. dx may lie in place of dy. */
MX_FULL_WIDTH MX_KERNEL(1)
mx_norm_backward(MX_ARG(const float, dy), MX_ARG(const float, x), MX_ARG(const float, gamma), MX_ARG(const float, stats),
                 MX_ARG(const float, residual), MX_ARG(float, dx), MX_ARG(float, partial), mx_long rows, mx_long each,
                 int n, int accumulate)
{
    MX_USE(const float, dy);
    MX_USE(const float, x);
    MX_USE(const float, gamma);
    MX_USE(const float, stats);
    MX_USE(const float, residual);
    MX_USE(float, dx);
    MX_USE(float, partial);
    const mx_long begin = MX_INDEX * each, end = begin + each < rows ? begin + each : rows;
    const int whole = n / MX_VECTOR * MX_VECTOR;
    MX_GLOBAL float *const dgamma = partial + MX_INDEX * 2 * n, *const dbeta = dgamma + n;
    for (int i = 0; i < 2 * n; i++) dgamma[i] = 0.0f;
    for (mx_long r = begin; r < end; r++) {
        MX_GLOBAL const float *const g = dy + r * n, *const in = x + r * n, *const skip = residual + r * n;
        MX_GLOBAL float *const out = dx + r * n;
        const float mean = stats[2 * r], scale = stats[2 * r + 1];
        mx_v sums = 0.0f, products = 0.0f;
        float sum = 0.0f, product = 0.0f;
        for (int i = 0; i < whole; i += MX_VECTOR) {
            const mx_v v = mx_load(g + i) * mx_load(gamma + i);
            sums += v;
            products += v * (mx_load(in + i) - mean);
        }
        for (int i = whole; i < n; i++) {
            sum += g[i] * gamma[i];
            product += g[i] * gamma[i] * (in[i] - mean);
        }
        const float shift = scale * (mx_sum_v(sums) + sum) / (float)n;
        const float slope = scale * scale * scale * (mx_sum_v(products) + product) / (float)n;
        for (int i = 0; i < whole; i += MX_VECTOR) {
            const mx_v one = mx_load(g + i), centred = mx_load(in + i) - mean;
            mx_v v = one * mx_load(gamma + i) * scale - shift - centred * slope;
            if (residual) v += mx_load(skip + i);
            if (accumulate) v += mx_load(out + i);
            mx_store(v, out + i);
            mx_store(mx_load(dgamma + i) + one * centred * scale, dgamma + i);
            mx_store(mx_load(dbeta + i) + one, dbeta + i);
        }
        for (int i = whole; i < n; i++) {
            const float one = g[i], centred = in[i] - mean;
            float v = one * gamma[i] * scale - shift - centred * slope;
            if (residual) v += skip[i];
            if (accumulate) v += out[i];
            out[i] = v;
            dgamma[i] += one * centred * scale;
            dbeta[i] += one;
        }
    }
}

/* ---- partial[group, n] = Σ over the group's rows ---- */
MX_FULL_WIDTH MX_KERNEL(1)
mx_column_rows(MX_ARG(const float, x), MX_ARG(float, partial), mx_long rows, mx_long each, int n)
{
    MX_USE(const float, x);
    MX_USE(float, partial);
    const mx_long begin = MX_INDEX * each, end = begin + each < rows ? begin + each : rows;
    MX_GLOBAL float *const to = partial + MX_INDEX * n;
    int i = 0;
    for (; i + MX_NR <= n; i += MX_NR) {
        mx_v first = 0.0f, second = 0.0f;
        for (mx_long r = begin; r < end; r++) {
            first += mx_load(x + r * n + i);
            second += mx_load(x + r * n + i + MX_VECTOR);
        }
        mx_store(first, to + i);
        mx_store(second, to + i + MX_VECTOR);
    }
    for (; i < n; i++) {
        float sum = 0.0f;
        for (mx_long r = begin; r < end; r++) sum += x[r * n + i];
        to[i] = sum;
    }
}

/* ---- rotary positions ---- */
MX_FULL_WIDTH MX_KERNEL(1)
mx_rotary_rows(MX_ARG(float, x), MX_ARG(const float, table), MX_ARG(const int, offsets), MX_ARG(int, status), int op,
               int count, int rows, mx_long each, int heads, int half_width, mx_long stride, int positions, float sign)
{
    MX_USE(float, x);
    MX_USE(const float, table);
    MX_USE(const int, offsets);
    MX_USE(int, status);
    const mx_long begin = MX_INDEX * each, end = begin + each < rows ? begin + each : rows;
    int s = mx_segment_of(offsets, count, begin);
    for (mx_long r = begin; r < end; r++) {
        while (s < count && offsets[s + 1] <= r) s++;
        const mx_long position = s < count ? r - offsets[s] : -1;
        if (position < 0 || position >= positions) {
            mx_fail(status, op, (int)r, positions);
            return;
        }
        MX_GLOBAL const float *const angles = table + position * 2 * half_width;
        for (int h = 0; h < heads; h++) {
            MX_GLOBAL float *const first = x + r * stride + h * 2 * half_width, *const second = first + half_width;
            int i = 0;
            for (; i + MX_VECTOR <= half_width; i += MX_VECTOR) {
                const mx_v a = mx_load(angles + 2 * i), b = mx_load(angles + 2 * i + MX_VECTOR);
                const mx_v u = mx_load(first + i), v = mx_load(second + i);
                const mx_v c = (mx_v)(a.even, b.even), d = (mx_v)(a.odd, b.odd) * sign;
                mx_store(u * c - v * d, first + i);
                mx_store(v * c + u * d, second + i);
            }
            for (; i < half_width; i++) {
                const float c = angles[2 * i], d = angles[2 * i + 1] * sign, u = first[i], v = second[i];
                first[i] = u * c - v * d;
                second[i] = v * c + u * d;
            }
        }
    }
}

/* ---- a row per segment to all rows of the segment ---- */
MX_FULL_WIDTH MX_KERNEL(1)
mx_spread_rows(MX_ARG(const float, x), MX_ARG(const int, ends), MX_ARG(float, y), MX_ARG(int, status), int op,
               int segments, int rows, mx_long each, int n, int mean, int accumulate)
{
    MX_USE(const float, x);
    MX_USE(const int, ends);
    MX_USE(float, y);
    MX_USE(int, status);
    const mx_long begin = MX_INDEX * each, end = begin + each < rows ? begin + each : rows;
    int s = mx_segment_of(ends, segments, begin);
    for (mx_long r = begin; r < end; r++) {
        while (s < segments && ends[s + 1] <= r) s++;
        if (s == segments || ends[s] > r || ends[segments] != rows) {
            mx_fail(status, op, 0, 0);
            return;
        }
        const float factor = mean ? 1.0f / (float)(ends[s + 1] - ends[s]) : 1.0f;
        MX_GLOBAL const float *const from = x + (mx_long)s * n;
        MX_GLOBAL float *const to = y + r * n;
        int i = 0;
        for (; i + MX_VECTOR <= n; i += MX_VECTOR) {
            const mx_v v = factor * mx_load(from + i);
            mx_store(accumulate ? v + mx_load(to + i) : v, to + i);
        }
        for (; i < n; i++) to[i] = accumulate ? to[i] + factor * from[i] : factor * from[i];
    }
}

/* ---- dropout: elements group · each …, a multiple of 4 · MX_VECTOR; random blocks are lanes ---- */
#if MX_VECTOR == 16
typedef uint16 mx_vu;
#else
typedef uint8 mx_vu;
#endif

/* The keep masks as words in the order of the elements: out[j] has elements j · MX_VECTOR …. */
MX_INLINE void mx_words_in_order(mx_vu c0, mx_vu c1, mx_vu c2, mx_vu c3, mx_vu out[4])
{
    mx_vu even[2], odd[2];
    even[0].even = c0.lo;
    even[0].odd = c2.lo;
    even[1].even = c0.hi;
    even[1].odd = c2.hi;
    odd[0].even = c1.lo;
    odd[0].odd = c3.lo;
    odd[1].even = c1.hi;
    odd[1].odd = c3.hi;
    for (int j = 0; j < 2; j++) {
        out[2 * j].even = even[j].lo;
        out[2 * j].odd = odd[j].lo;
        out[2 * j + 1].even = even[j].hi;
        out[2 * j + 1].odd = odd[j].hi;
    }
}

MX_FULL_WIDTH MX_KERNEL(1)
mx_dropout_rows(MX_ARG(const float, x), MX_ARG(float, y), MX_ARG(const float, residual), mx_long count, mx_long each,
                mx_uint threshold, float factor, mx_ulong seed, mx_ulong stream, mx_ulong index)
{
    MX_USE(const float, x);
    MX_USE(float, y);
    MX_USE(const float, residual);
    const mx_long begin = MX_INDEX * each, end = begin + each < count ? begin + each : count;
    mx_vu lane;
    for (int i = 0; i < MX_VECTOR; i++) ((mx_uint *)&lane)[i] = (mx_uint)i;
    mx_long i = begin;
    for (; i + 4 * MX_VECTOR <= end; i += 4 * MX_VECTOR) {
        const mx_ulong block = (index + (mx_ulong)i) / 4;
        mx_vu c0 = lane + (mx_uint)block, c1 = (mx_uint)(block >> 32), c2 = (mx_uint)stream;
        mx_vu c3 = (mx_uint)(stream >> 32), word[4];
        c1 += select((mx_vu)0u, (mx_vu)1u, c0 < (mx_uint)block); /* the lower half overflowed */
        mx_uint k0 = (mx_uint)seed, k1 = (mx_uint)(seed >> 32);
        for (int round = 0; round < 10; round++) {
            const mx_vu h0 = mul_hi(c0, (mx_vu)0xD2511F53u), h1 = mul_hi(c2, (mx_vu)0xCD9E8D57u);
            const mx_vu n0 = h1 ^ c1 ^ k0, n2 = h0 ^ c3 ^ k1;
            c1 = c2 * 0xCD9E8D57u;
            c3 = c0 * 0xD2511F53u;
            c0 = n0;
            c2 = n2;
            k0 += 0x9E3779B9u;
            k1 += 0xBB67AE85u;
        }
        mx_words_in_order(c0, c1, c2, c3, word);
        for (int j = 0; j < 4; j++) {
            const mx_long at = i + j * MX_VECTOR;
            mx_v v = select((mx_v)0.0f, mx_load(x + at) * factor, word[j] >= threshold);
            if (residual) v += mx_load(residual + at);
            mx_store(v, y + at);
        }
    }
    for (; i < end; i += 4) {
        mx_uint word[4];
        mx_philox(seed, stream, (index + (mx_ulong)i) / 4, word);
        for (int j = 0; j < 4 && i + j < end; j++) {
            const float v = word[j] >= threshold ? x[i + j] * factor : 0.0f;
            y[i + j] = residual ? v + residual[i + j] : v;
        }
    }
}
#endif

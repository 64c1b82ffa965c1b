/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Sums over rows, columns and everything, layer norm, losses, the norm of the gradient.
 *
 * Sums over many rows are made in two steps: one partial sum per chunk of rows, chunks that follow from the shape
 * alone, then the chunks in order. So no result depends on how groups are scheduled.
 */

/* ---- columns: partial[chunk, n] = Σ over the chunk's rows of x[row, column]; group: chunk and MX_GROUP columns.
 * x is fp32 or bf16 ---- */
MX_KERNEL(MX_GROUP)
mx_column_chunks(MX_ARG(const float, x), MX_ARG(float, partial), mx_long rows, int n, mx_long chunk_rows, int x_bf16)
{
    MX_USE(const float, x);
    MX_USE(float, partial);
    MX_GLOBAL const mx_ushort *const x_half = (MX_GLOBAL const mx_ushort *)x;
    const int blocks = (n + MX_GROUP - 1) / MX_GROUP;
    const mx_long chunk = MX_INDEX / blocks, begin = chunk * chunk_rows;
    const mx_long end = begin + chunk_rows < rows ? begin + chunk_rows : rows;
    const int column = (int)(MX_INDEX % blocks) * MX_GROUP + MX_LANE;
    const bool mine = column < n;
    float sum = 0.0f;
    for (mx_long r = begin; r < end; r++)
        if (mine) sum += x_bf16 ? mx_from_bf16(x_half[r * n + column]) : x[r * n + column];
    if (mine) partial[chunk * n + column] = sum;
}

/* out[n] = (+=) Σ over chunks of partial[chunk · stride + column] */
MX_KERNEL(MX_GROUP)
mx_column_sum(MX_ARG(const float, partial), MX_ARG(float, out), int chunks, mx_long stride, int n, int accumulate)
{
    MX_USE(const float, partial);
    MX_USE(float, out);
    const int column = (int)MX_INDEX * MX_GROUP + MX_LANE;
    const bool mine = column < n;
    float sum = 0.0f;
    for (int c = 0; c < chunks; c++)
        if (mine) sum += partial[c * stride + column];
    if (mine) out[column] = accumulate ? out[column] + sum : sum;
}

/* ---- layer norm: a group for each row; y is fp32 or bf16 ---- */
MX_KERNEL(MX_GROUP)
mx_layer_norm(MX_ARG(const float, x), MX_ARG(const float, gamma), MX_ARG(const float, beta), MX_ARG(float, y),
              MX_ARG(float, stats), int n, float eps, int y_bf16)
{
    MX_LOCAL float all[MX_GROUP];
    MX_USE(const float, x);
    MX_USE(const float, gamma);
    MX_USE(const float, beta);
    MX_USE(float, y);
    MX_USE(float, stats);
    MX_GLOBAL mx_ushort *const y_half = (MX_GLOBAL mx_ushort *)y;
    const mx_long row = MX_INDEX, at = row * n;
    float sum = 0.0f;
    MX_EACH(i, n) sum += x[at + i];
    const float mean = mx_group_sum(all, sum) / (float)n;
    float spread = 0.0f;
    MX_EACH(i, n) spread += (x[at + i] - mean) * (x[at + i] - mean);
    const float scale = 1.0f / MX_SQRT(mx_group_sum(all, spread) / (float)n + eps);
    MX_EACH(i, n)
    {
        const float v = (x[at + i] - mean) * scale * gamma[i] + beta[i];
        if (y_bf16)
            y_half[at + i] = mx_to_bf16(v);
        else
            y[at + i] = v;
    }
    if (MX_LANE == 0) {
        stats[2 * row] = mean;
        stats[2 * row + 1] = scale;
    }
}

/* partial[chunk, 2, n] = Σ dy (x - mean) scale, Σ dy; group: chunk and MX_GROUP columns */
MX_KERNEL(MX_GROUP)
mx_layer_norm_chunks(MX_ARG(const float, dy), MX_ARG(const float, x), MX_ARG(const float, stats),
                     MX_ARG(float, partial), mx_long rows, int n, mx_long chunk_rows)
{
    MX_USE(const float, dy);
    MX_USE(const float, x);
    MX_USE(const float, stats);
    MX_USE(float, partial);
    const int blocks = (n + MX_GROUP - 1) / MX_GROUP;
    const mx_long chunk = MX_INDEX / blocks, begin = chunk * chunk_rows;
    const mx_long end = begin + chunk_rows < rows ? begin + chunk_rows : rows;
    const int column = (int)(MX_INDEX % blocks) * MX_GROUP + MX_LANE;
    const bool mine = column < n;
    float dgamma = 0.0f, dbeta = 0.0f;
    for (mx_long r = begin; r < end; r++) {
        const float mean = stats[2 * r], scale = stats[2 * r + 1];
        if (mine) {
            const float g = dy[r * n + column];
            dgamma += g * (x[r * n + column] - mean) * scale;
            dbeta += g;
        }
    }
    if (mine) {
        partial[2 * chunk * n + column] = dgamma;
        partial[(2 * chunk + 1) * n + column] = dbeta;
    }
}

/* dx of one row per group; see cpu/isa/normalise.c for the formula. */
MX_KERNEL(MX_GROUP)
mx_layer_norm_rows(MX_ARG(const float, dy), MX_ARG(const float, x), MX_ARG(const float, gamma),
                   MX_ARG(const float, stats), MX_ARG(const float, residual), MX_ARG(float, dx), int n)
{
    MX_LOCAL float all[MX_GROUP];
    MX_USE(const float, dy);
    MX_USE(const float, x);
    MX_USE(const float, gamma);
    MX_USE(const float, stats);
    MX_USE(const float, residual);
    MX_USE(float, dx);
    const mx_long row = MX_INDEX, at = row * n;
    const float mean = stats[2 * row], scale = stats[2 * row + 1];
    float sum = 0.0f, product = 0.0f;
    MX_EACH(i, n)
    {
        const float g = dy[at + i] * gamma[i];
        sum += g;
        product += g * (x[at + i] - mean);
    }
    const float shift = scale * mx_group_sum(all, sum) / (float)n;
    const float slope = scale * scale * scale * mx_group_sum(all, product) / (float)n;
    MX_EACH(i, n)
    {
        float v = dy[at + i] * gamma[i] * scale - shift - (x[at + i] - mean) * slope;
        if (residual) v += residual[at + i];
        dx[at + i] = v;
    }
}

/* ---- losses: kind 0 |p - t|, 1 (p - t)² ---- */
MX_INLINE float mx_loss_slope(int kind, float d, float factor)
{
    if (kind == 1) return 2.0f * factor * d;
    return d > 0.0f ? factor : d < 0.0f ? -factor : 0.0f;
}

/* This lane's share of the loss of elements begin … end-1, and the gradient of these. */
MX_INLINE mx_double mx_loss_share(MX_GLOBAL const float *prediction, MX_GLOBAL const float *target,
                               MX_GLOBAL float *gradient, mx_long begin, mx_long end, float factor, int kind)
{
    mx_double sum = mx_double_of(0.0f);
    for (mx_long first = begin; first < end; first += MX_GROUP) {
        const mx_long i = first + MX_LANE;
        if (i < end) {
            const float d = prediction[i] - target[i];
            sum = mx_double_add(sum, mx_double_of(kind == 1 ? d * d : MX_ABS(d)));
            if (gradient) gradient[i] = mx_loss_slope(kind, d, factor);
        }
    }
    return sum;
}

/* A group for each sequence; the offsets are checked before (mx_offsets_check). */
MX_KERNEL(MX_GROUP)
mx_sequence_loss(MX_ARG(const float, prediction), MX_ARG(const float, target), MX_ARG(const int, offsets),
                 MX_ARG(float, values), MX_ARG(float, gradient), MX_ARG(const int, status), int n, float scale,
                 float factor, int kind)
{
    MX_LOCAL mx_double all[MX_GROUP];
    MX_USE(const float, prediction);
    MX_USE(const float, target);
    MX_USE(const int, offsets);
    MX_USE(float, values);
    MX_USE(float, gradient);
    MX_USE(const int, status);
    if (status[0] != 0) return;
    const mx_long begin = (mx_long)offsets[MX_INDEX] * n, end = (mx_long)offsets[MX_INDEX + 1] * n;
    const mx_double share = mx_loss_share(prediction, target, gradient, begin, end, factor, kind);
    const mx_double sum = mx_group_sum_double(all, share);
    if (MX_LANE == 0) values[MX_INDEX] = mx_double_float(mx_double_multiply(mx_double_of(scale), sum));
}

/* ---- the norm of the gradient ---- */
#if defined(MX_PAIRS)
/* Squares of floats are beyond the range of a pair. Each sum of squares is one of numbers that a power of two has
 * brought to 1 … 2, and what a chunk hands on is its root, 2^MX_NORM_SHIFT times smaller, which no float exceeds. */
#define MX_NORM_SHIFT 20

/* The exponent of the largest of the magnitudes: 2^-exponent brings it to 1 … 2. */
MX_INLINE int mx_norm_exponent(float most)
{
    const int exponent = (MX_INT_BITS(most) >> 23 & 255) - 127;
    return exponent < -126 ? -126 : exponent > 126 ? 126 : exponent;
}

MX_INLINE float mx_norm_scale(int exponent)
{
    return MX_FLOAT_BITS((127 - exponent) << 23);
}

/* What the group hands on of elements begin … end-1. */
MX_INLINE mx_double mx_norm_share(MX_GLOBAL const float *gradient, MX_LOCAL_POINTER mx_double *all, mx_long begin,
                                  mx_long end)
{
    float most = 0.0f;
    for (mx_long first = begin; first < end; first += MX_GROUP) {
        const mx_long i = first + MX_LANE;
        if (i < end) most = MX_MAX(most, MX_ABS(gradient[i]));
    }
    const int exponent = mx_norm_exponent(mx_group_max((MX_LOCAL_POINTER float *)all, most));
    const float scale = mx_norm_scale(exponent);
    mx_double sum = mx_double_of(0.0f);
    for (mx_long first = begin; first < end; first += MX_GROUP) {
        const mx_long i = first + MX_LANE;
        if (i < end) sum = mx_double_add(sum, mx_double_product(scale * gradient[i], scale * gradient[i]));
    }
    sum = mx_double_sqrt(mx_group_sum_double(all, sum));
    return MX_PAIR(ldexp(sum.x, exponent - MX_NORM_SHIFT), ldexp(sum.y, exponent - MX_NORM_SHIFT));
}

/* result: norm · |factor|, what to multiply the gradient with, whether the norm is finite, and its square. */
MX_INLINE void mx_norm_result(MX_GLOBAL const mx_double *partial, MX_GLOBAL float *result, int chunks, float limit,
                              float factor)
{
    float most = 0.0f;
    for (int c = 0; c < chunks; c++) most = MX_MAX(most, partial[c].x);
    const int exponent = mx_norm_exponent(most);
    const mx_double scale = mx_double_of(mx_norm_scale(exponent));
    mx_double sum = mx_double_of(0.0f);
    for (int c = 0; c < chunks; c++) {
        const mx_double share = mx_double_multiply(partial[c], scale);
        sum = mx_double_add(sum, mx_double_multiply(share, share));
    }
    const mx_double root = mx_double_multiply(mx_double_sqrt(sum), mx_double_of(MX_ABS(factor)));
    const float norm = ldexp(root.x, exponent + MX_NORM_SHIFT);
    const bool finite = (MX_INT_BITS(norm) & 0x7f800000) != 0x7f800000;
    result[0] = norm;
    result[1] = !finite ? 0.0f : limit > 0.0f && norm > limit ? factor * (limit / norm) : factor;
    result[2] = finite ? 1.0f : 0.0f;
    result[3] = ldexp(sum.x, 2 * (exponent + MX_NORM_SHIFT));
}
#else
MX_INLINE mx_double mx_norm_share(MX_GLOBAL const float *gradient, MX_LOCAL_POINTER mx_double *all, mx_long begin,
                                  mx_long end)
{
    double sum = 0.0;
    for (mx_long first = begin; first < end; first += MX_GROUP) {
        const mx_long i = first + MX_LANE;
        if (i < end) sum += (double)gradient[i] * (double)gradient[i];
    }
    return mx_group_sum_double(all, sum);
}

MX_INLINE void mx_norm_result(MX_GLOBAL const mx_double *partial, MX_GLOBAL float *result, int chunks, float limit,
                              float factor)
{
    double sum = 0.0;
    for (int c = 0; c < chunks; c++) sum += partial[c];
    /* A square of a float32 cannot overflow a double: the sum is finite exactly when every gradient is. */
    const double share = (double)factor, most = (double)limit, norm = sqrt(sum) * MX_ABS_DOUBLE(share);
    const float single = (float)norm;
    const bool finite = (MX_INT_BITS(single) & 0x7f800000) != 0x7f800000;
    result[0] = single;
    result[1] = !finite ? 0.0f : (float)(most > 0.0 && norm > most ? share * (most / norm) : share);
    result[2] = finite ? 1.0f : 0.0f;
    result[3] = (float)sum;
}
#endif

MX_KERNEL(MX_GROUP)
mx_norm_chunks(MX_ARG(const float, gradient), MX_ARG(mx_double, partial), mx_long count, mx_long span)
{
    MX_LOCAL mx_double all[MX_GROUP];
    MX_USE(const float, gradient);
    MX_USE(mx_double, partial);
    const mx_long begin = MX_INDEX * span, end = begin + span < count ? begin + span : count;
    const mx_double share = mx_norm_share(gradient, all, begin, end);
    if (MX_LANE == 0) partial[MX_INDEX] = share;
}

MX_KERNEL(MX_GROUP)
mx_norm_finish(MX_ARG(const mx_double, partial), MX_ARG(float, result), int chunks, float limit, float factor)
{
    MX_USE(const mx_double, partial);
    MX_USE(float, result);
    if (MX_LANE == 0) mx_norm_result(partial, result, chunks, limit, factor);
}

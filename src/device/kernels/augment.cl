/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Augmentation: noise on packed audio, masks and blur on packed rows. A group for each sequence, for blur for each row;
 * the offsets are checked before (mx_offsets_check).
 */
MX_KERNEL(MX_GROUP)
mx_noise(MX_ARG(const float, x), MX_ARG(float, y), MX_ARG(const int, offsets), MX_ARG(const float, levels),
         MX_ARG(const int, streams), MX_ARG(const int, status), mx_ulong seed)
{
    MX_LOCAL mx_double all[MX_GROUP];
    MX_USE(const float, x);
    MX_USE(float, y);
    MX_USE(const int, offsets);
    MX_USE(const float, levels);
    MX_USE(const int, streams);
    MX_USE(const int, status);
    if (status[0] != 0) return;
    const mx_long s = MX_INDEX, begin = offsets[s];
    const int count = offsets[s + 1] - (int)begin;
    const float gain = levels[2 * s], ratio = levels[2 * s + 1];
    const mx_ulong stream = (mx_ulong)(mx_uint)streams[2 * s + 1] << 32 | (mx_uint)streams[2 * s];
    mx_double sum = mx_double_of(0.0f);
    MX_EACH(i, count) sum = mx_double_add(sum, mx_double_product(x[begin + i], x[begin + i]));
    sum = mx_group_sum_double(all, sum);
    float level = 0.0f;
    if (count > 0) {
        const mx_double root = mx_double_sqrt(mx_double_divide(sum, mx_double_of_int(count)));
        level = mx_double_float(mx_double_multiply(mx_double_of(ratio), root));
    }
    /* √3 (2 (u + ½)/2²⁴ - 1), with everything constant in two numbers */
    const float scale = level * 0x1.bb67aep0f, step = scale * 0x1p-23f, least = scale * (0x1p-24f - 1.0f);
    MX_EACH(block, (count + 3) / 4)
    {
        mx_uint word[4];
        mx_philox(seed, stream, (mx_ulong)block, word);
        for (int j = 0; j < 4; j++) {
            const int i = 4 * block + j;
            if (i < count) {
                const float noise = ratio != 0.0f ? step * (float)(word[j] >> 8) + least : 0.0f;
                y[begin + i] = gain * (x[begin + i] + noise);
            }
        }
    }
}

MX_KERNEL(MX_GROUP)
mx_mask(MX_ARG(float, x), MX_ARG(const int, offsets), MX_ARG(const int, spans), MX_ARG(const int, status), int n,
        int count, float value)
{
    MX_USE(float, x);
    MX_USE(const int, offsets);
    MX_USE(const int, spans);
    MX_USE(const int, status);
    if (status[0] != 0) return;
    const mx_long s = MX_INDEX, begin = offsets[s];
    const int rows = offsets[s + 1] - (int)begin;
    for (int k = 0; k < count; k++) {
        MX_GLOBAL const int *const span = spans + 4 * (s * count + k);
        const mx_long after = (mx_long)span[0] + span[1], right = (mx_long)span[2] + span[3];
        const int row = span[0] > 0 ? span[0] : 0, last = (int)(after < rows ? after : rows);
        const int column = span[2] > 0 ? span[2] : 0, end = (int)(right < n ? right : n);
        for (int r = row; r < last; r++)
            for (int i = column + MX_LANE; i < end; i += MX_GROUP) x[(begin + r) * n + i] = value;
        MX_BARRIER();
    }
}

#define MX_BLUR_REACH 8
#define MX_BLUR_WIDTH 4096

/* How far the blur of a deviation reaches. */
MX_INLINE int mx_blur_reach(float deviation)
{
    int reach = 0;
    while (reach < MX_BLUR_REACH && (float)reach < 4.0f * deviation) reach++;
    return reach;
}

/* See struct mx_mel_blur_args. */
MX_KERNEL(MX_GROUP)
mx_mel_blur(MX_ARG(const float, x), MX_ARG(float, y), MX_ARG(const int, offsets), MX_ARG(const float, levels),
            MX_ARG(const int, streams), MX_ARG(const int, status), int count, int n, mx_ulong seed)
{
    MX_LOCAL float blurred[MX_BLUR_WIDTH];
    MX_LOCAL float weights[2 * (MX_BLUR_REACH + 1)]; /* of distance 0, 1, … over rows, then over columns */
    MX_USE(const float, x);
    MX_USE(float, y);
    MX_USE(const int, offsets);
    MX_USE(const float, levels);
    MX_USE(const int, streams);
    MX_USE(const int, status);
    if (status[0] != 0) return;
    const int s = mx_segment_of(offsets, count, MX_INDEX);
    const mx_long row = MX_INDEX, begin = offsets[s], end = offsets[s + 1], at = row * n;
    const int down = mx_blur_reach(levels[3 * s]), across = mx_blur_reach(levels[3 * s + 1]);
    MX_EACH(i, 2 * (MX_BLUR_REACH + 1))
    {
        const int j = i % (MX_BLUR_REACH + 1);
        const float deviation = levels[3 * s + (i > MX_BLUR_REACH ? 1 : 0)];
        weights[i] = j == 0 ? 1.0f : MX_EXP((float)(j * j) * (-0.5f / (deviation * deviation)));
    }
    MX_BARRIER();
    MX_EACH(i, n)
    {
        float sum = 0.0f, total = 0.0f;
        for (int j = -down; j <= down; j++)
            if (row + j >= begin && row + j < end) {
                const float w = weights[(int)MX_ABS((float)j)]; /* Oclgrind 21.10 has no integer abs */
                sum += w * x[at + (mx_long)j * n + i];
                total += w;
            }
        blurred[i] = down > 0 ? sum / total : x[at + i];
    }
    MX_BARRIER();
    MX_EACH(i, n)
    {
        float sum = 0.0f, total = 0.0f;
        for (int j = -across; j <= across; j++)
            if (i + j >= 0 && i + j < n) {
                const float w = weights[MX_BLUR_REACH + 1 + (j < 0 ? -j : j)];
                sum += w * blurred[i + j];
                total += w;
            }
        y[at + i] = across > 0 ? sum / total : blurred[i];
    }
    MX_BARRIER();
    const float level = levels[3 * s + 2];
    if (level == 0.0f) return;
    const mx_ulong stream = (mx_ulong)(mx_uint)streams[2 * s + 1] << 32 | (mx_uint)streams[2 * s];
    const mx_long first = (row - begin) * n; /* index of the row's first number; four of them are a block */
    const float scale = level * 0x1.bb67aep0f, step = scale * 0x1p-23f, least = scale * (0x1p-24f - 1.0f);
    MX_EACH(block, (int)((first + n + 3) / 4 - first / 4))
    {
        mx_uint word[4];
        mx_philox(seed, stream, (mx_ulong)(first / 4 + block), word);
        for (int j = 0; j < 4; j++) {
            const mx_long i = (first / 4 + block) * 4 + j - first;
            if (i >= 0 && i < n) y[at + i] += step * (float)(word[j] >> 8) + least;
        }
    }
}

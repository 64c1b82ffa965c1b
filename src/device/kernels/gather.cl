/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Operations that look rows up or belong to segments: embedding, rotary positions, expanding and collecting rows,
 * pooling, durations.
 *
 * Kernels that write rows have a group for each row; kernels that write sums have a lane for each column, which adds
 * the rows in order.
 */

/* Whether the offsets begin with 0, do not decrease, stop at `rows` and have no sequence longer than `longest`. One
 * group; later kernels check status[0]. */
MX_KERNEL(MX_GROUP)
mx_offsets_check(MX_ARG(const int, offsets), MX_ARG(int, status), int op, int count, int rows, int longest)
{
    MX_USE(const int, offsets);
    MX_USE(int, status);
    bool fine = offsets[0] == 0 && offsets[count] == rows;
    for (int s = MX_LANE; s < count; s += MX_GROUP) {
        const mx_long length = (mx_long)offsets[s + 1] - offsets[s];
        fine = fine && length >= 0 && length <= longest;
    }
    if (!fine) mx_fail(status, op, 0, 0);
}

/* ---- embedding ---- */
MX_KERNEL(MX_GROUP)
mx_embedding(MX_ARG(const int, ids), MX_ARG(const float, table), MX_ARG(float, y), MX_ARG(int, status), int op, int n,
             int vocabulary, float factor, int accumulate)
{
    MX_USE(const int, ids);
    MX_USE(const float, table);
    MX_USE(float, y);
    MX_USE(int, status);
    const mx_long row = MX_INDEX, at = row * n;
    const int id = ids[row];
    if (id < 0 || id >= vocabulary) {
        if (MX_LANE == 0) mx_fail(status, op, id, (int)row);
        return;
    }
    MX_EACH(i, n)
    {
        const float v = factor * table[(mx_long)id * n + i];
        y[at + i] = accumulate ? y[at + i] + v : v;
    }
}

/* By columns: several rows may name the same line of the table, and they must be added in order. */
MX_KERNEL(MX_GROUP)
mx_embedding_grad(MX_ARG(const int, ids), MX_ARG(const float, dy), MX_ARG(float, dtable), MX_ARG(int, status), int op,
                  mx_long rows, int n, int vocabulary, float factor)
{
    MX_USE(const int, ids);
    MX_USE(const float, dy);
    MX_USE(float, dtable);
    MX_USE(int, status);
    const int column = (int)MX_INDEX * MX_GROUP + MX_LANE;
    const bool mine = column < n;
    for (mx_long r = 0; r < rows; r++) {
        const int id = ids[r];
        if (id < 0 || id >= vocabulary) {
            if (mine) mx_fail(status, op, id, (int)r);
        } else if (mine) {
            dtable[(mx_long)id * n + column] += factor * dy[r * n + column];
        }
    }
}

/* ---- rotary positions: a group for each row ---- */
MX_KERNEL(MX_GROUP)
mx_rotary(MX_ARG(float, x), MX_ARG(const float, table), MX_ARG(const int, offsets), MX_ARG(int, status), int op,
          int count, int heads, int half_width, mx_long stride, int positions, float sign)
{
    MX_USE(float, x);
    MX_USE(const float, table);
    MX_USE(const int, offsets);
    MX_USE(int, status);
    const mx_long row = MX_INDEX;
    const int sequence = mx_segment_of(offsets, count, row);
    const mx_long position = sequence < count ? row - offsets[sequence] : -1;
    if (position < 0 || position >= positions) {
        if (MX_LANE == 0) mx_fail(status, op, (int)row, positions);
        return;
    }
    MX_GLOBAL float *const at = x + row * stride;
    MX_GLOBAL const float *const angles = table + position * 2 * half_width;
    for (int h = 0; h < heads; h++) {
        MX_EACH(i, half_width)
        {
            const int first = h * 2 * half_width + i, second = first + half_width;
            const float c = angles[2 * i], s = angles[2 * i + 1] * sign, u = at[first], v = at[second];
            at[first] = u * c - v * s;
            at[second] = v * c + u * s;
        }
    }
}

/* ---- durations: one lane, since each addition waits for the one before ---- */
MX_KERNEL(MX_GROUP)
mx_durations_scan(MX_ARG(const int, durations), MX_ARG(int, ends), MX_ARG(int, status), int op, int count)
{
    MX_USE(const int, durations);
    MX_USE(int, ends);
    MX_USE(int, status);
    mx_long sum = 0;
    if (MX_LANE != 0) return;
    ends[0] = 0;
    for (int i = 0; i < count; i++) {
        sum += durations[i];
        if (durations[i] < 0 || sum > 2147483647) {
            mx_fail(status, op, durations[i], i);
            return;
        }
        ends[i + 1] = (int)sum;
    }
}

/* ---- a row per segment to all rows of the segment: expand ---- */
MX_KERNEL(MX_GROUP)
mx_spread(MX_ARG(const float, x), MX_ARG(const int, ends), MX_ARG(float, y), MX_ARG(int, status), int op, int segments,
          int rows, int n, int accumulate)
{
    MX_USE(const float, x);
    MX_USE(const int, ends);
    MX_USE(float, y);
    MX_USE(int, status);
    const mx_long row = MX_INDEX, at = row * n;
    const int s = mx_segment_of(ends, segments, row);
    if (s == segments || ends[s] > row || ends[segments] != rows) {
        if (MX_LANE == 0) mx_fail(status, op, 0, 0);
        return;
    }
    MX_EACH(i, n)
    {
        const float v = x[(mx_long)s * n + i];
        y[at + i] = accumulate ? y[at + i] + v : v;
    }
}

/* ---- all rows of a segment to a row per segment: expand_grad, segment_mean; group: segment and MX_GROUP columns ----
 */
MX_KERNEL(MX_GROUP)
mx_collect(MX_ARG(const float, x), MX_ARG(const int, ends), MX_ARG(float, y), MX_ARG(int, status), int op, int segments,
           int rows, int n, int mean)
{
    MX_USE(const float, x);
    MX_USE(const int, ends);
    MX_USE(float, y);
    MX_USE(int, status);
    const int blocks = (n + MX_GROUP - 1) / MX_GROUP;
    const mx_long s = MX_INDEX / blocks;
    const int column = (int)(MX_INDEX % blocks) * MX_GROUP + MX_LANE;
    const mx_long begin = ends[s], end = ends[s + 1];
    const bool mine = column < n;
    if (begin < 0 || end < begin || end > rows || ends[segments] != rows) {
        if (MX_LANE == 0) mx_fail(status, op, 0, 0);
        return;
    }
    float sum = 0.0f;
    for (mx_long r = begin; r < end; r++)
        if (mine) sum += x[r * n + column];
    if (mean && end > begin) sum *= 1.0f / (float)(end - begin);
    if (mine) y[s * n + column] = sum;
}

/* ---- attentive pooling: a group for each sequence ---- */
MX_KERNEL(MX_GROUP)
mx_attentive_pool(MX_ARG(const float, x), MX_ARG(const float, score), MX_ARG(float, y), MX_ARG(float, w),
                  MX_ARG(const int, offsets), MX_ARG(const int, status), int n)
{
    MX_LOCAL float all[MX_GROUP];
    MX_USE(const float, x);
    MX_USE(const float, score);
    MX_USE(float, y);
    MX_USE(float, w);
    MX_USE(const int, offsets);
    MX_USE(const int, status);
    if (status[0] != 0) return;
    const mx_long begin = offsets[MX_INDEX];
    const int rows = offsets[MX_INDEX + 1] - (int)begin;
    float most = -MX_INFINITY, sum = 0.0f;
    MX_EACH(i, rows) most = MX_MAX(most, score[begin + i]);
    most = mx_group_max(all, most);
    MX_EACH(i, rows)
    {
        const float e = MX_EXP(score[begin + i] - most);
        w[begin + i] = e;
        sum += e;
    }
    const float factor = 1.0f / mx_group_sum(all, sum);
    MX_EACH(i, rows) w[begin + i] *= factor;
    MX_BARRIER();
    for (int first = 0; first < n; first += MX_GROUP) {
        const int column = first + MX_LANE;
        const bool mine = column < n;
        float total = 0.0f;
        for (int r = 0; r < rows; r++)
            if (mine) total += w[begin + r] * x[(begin + r) * n + column];
        if (mine) y[MX_INDEX * n + column] = total;
    }
}

/* A group for each row. */
MX_KERNEL(MX_GROUP)
mx_attentive_pool_grad(MX_ARG(const float, dy), MX_ARG(const float, x), MX_ARG(const float, y), MX_ARG(const float, w),
                       MX_ARG(float, dx), MX_ARG(float, dscore), MX_ARG(const int, offsets), MX_ARG(const int, status),
                       int count, int n)
{
    MX_LOCAL float all[MX_GROUP];
    MX_USE(const float, dy);
    MX_USE(const float, x);
    MX_USE(const float, y);
    MX_USE(const float, w);
    MX_USE(float, dx);
    MX_USE(float, dscore);
    MX_USE(const int, offsets);
    MX_USE(const int, status);
    if (status[0] != 0) return;
    const mx_long row = MX_INDEX, at = row * n, s = (mx_long)mx_segment_of(offsets, count, row) * n;
    const float weight = w[row];
    float own = 0.0f, mean = 0.0f;
    MX_EACH(i, n)
    {
        const float g = dy[s + i];
        own += g * x[at + i];
        mean += g * y[s + i];
        dx[at + i] = weight * g;
    }
    own = mx_group_sum(all, own);
    mean = mx_group_sum(all, mean);
    if (MX_LANE == 0) dscore[row] = weight * (own - mean);
}

/* bounds[row, 2]: begin and end of the row's sequence, for convolutions. */
MX_KERNEL(MX_WIDE)
mx_row_bounds(MX_ARG(const int, offsets), MX_ARG(int, bounds), int count, int rows)
{
    MX_USE(const int, offsets);
    MX_USE(int, bounds);
    const mx_long row = MX_INDEX * MX_WIDE + MX_LANE;
    if (row >= rows) return;
    const int s = mx_segment_of(offsets, count, row);
    bounds[2 * row] = s < count ? offsets[s] : 0;
    bounds[2 * row + 1] = s < count ? offsets[s + 1] : 0;
}

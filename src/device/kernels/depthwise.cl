/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Convolution of each column by itself (cpu/isa/depthwise.c): a group for each row, and for the sums over rows a lane
 * for each column. Offsets were checked before (mx_offsets_check); after a failure nothing is read through them.
 */

/* y[r, i] = start + Σ_tap w[tap, i] x[r ± (tap - taps/2), i]; start: bias[i], residual[r, i] or 0. */
MX_KERNEL(MX_GROUP)
mx_depthwise(MX_ARG(const float, x), MX_ARG(const float, w), MX_ARG(const float, bias), MX_ARG(const float, residual),
             MX_ARG(float, y), MX_ARG(const int, offsets), MX_ARG(const int, status), int count, int n, int taps,
             int direction)
{
    MX_USE(const float, x);
    MX_USE(const float, w);
    MX_USE(const float, bias);
    MX_USE(const float, residual);
    MX_USE(float, y);
    MX_USE(const int, offsets);
    MX_USE(const int, status);
    const mx_long row = MX_INDEX, at = row * n;
    if (status[0] != 0) return;
    const int sequence = mx_segment_of(offsets, count, row);
    const mx_long begin = offsets[sequence], end = offsets[sequence + 1];
    MX_EACH(i, n)
    {
        float sum = bias ? bias[i] : residual ? residual[at + i] : 0.0f;
        for (int t = 0; t < taps; t++) {
            const mx_long from = row + direction * (t - taps / 2);
            if (from >= begin && from < end) sum += w[t * n + i] * x[from * n + i];
        }
        y[at + i] = sum;
    }
}

/* partial[chunk, part, n] = Σ over the chunk's rows of x[r + part - taps/2, i] dy[r, i], for part = taps of dy[r, i];
 * group: chunk, part and MX_GROUP columns */
MX_KERNEL(MX_GROUP)
mx_depthwise_chunks(MX_ARG(const float, dy), MX_ARG(const float, x), MX_ARG(float, partial), MX_ARG(const int, offsets),
                    MX_ARG(const int, status), int count, mx_long rows, int n, int taps, mx_long chunk_rows)
{
    MX_USE(const float, dy);
    MX_USE(const float, x);
    MX_USE(float, partial);
    MX_USE(const int, offsets);
    MX_USE(const int, status);
    const int blocks = (n + MX_GROUP - 1) / MX_GROUP, part = (int)(MX_INDEX / blocks % (taps + 1));
    const mx_long chunk = MX_INDEX / blocks / (taps + 1), first = chunk * chunk_rows;
    const mx_long last = first + chunk_rows < rows ? first + chunk_rows : rows;
    const int column = (int)(MX_INDEX % blocks) * MX_GROUP + MX_LANE;
    const bool mine = column < n;
    float sum = 0.0f;
    if (status[0] != 0) return;
    int sequence = mx_segment_of(offsets, count, first);
    for (mx_long r = first; r < last; r++) {
        while (offsets[sequence + 1] <= r) sequence++;
        const mx_long from = r + part - taps / 2;
        if (part == taps) {
            if (mine) sum += dy[r * n + column];
        } else if (from >= offsets[sequence] && from < offsets[sequence + 1]) {
            if (mine) sum += x[from * n + column] * dy[r * n + column];
        }
    }
    if (mine) partial[(chunk * (taps + 1) + part) * n + column] = sum;
}

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Attention inside packed sequences, forward and backward. Scores exist only for MX_ROWS queries and as many keys at a
 * time, in local memory; forward is an online softmax, backward computes the probabilities again from the scores and
 * the stored log-sums. Each sum has one order, which depends on the sequence alone.
 *
 * A group has MX_ROWS · MX_SLOTS lanes: lane (row, slot) has the score of query `row` and key `slot` of a pair of
 * blocks, and the columns slot, slot + MX_SLOTS, … of its row's results, in registers. Groups beyond the end of a
 * sequence return at once: the host knows only the longest one. Local memory: 25 KiB at most (OpenCL promises 32).
 */
#define MX_SLOTS 8
#define MX_ROWS  (MX_GROUP / MX_SLOTS)
#define MX_HEAD  256 /* MX_ATTENTION_WIDTH_MAX */
#define MX_PITCH (MX_HEAD + 1) /* floats from row to row in local memory: no two rows in one bank */

#define MX_OWN (MX_HEAD / MX_SLOTS) /* columns of a lane */

/* sum[n] = sum[n] · before + Σ_j share[row, j] · block[j, slot + n · MX_SLOTS] */
MX_INLINE void mx_rows_add(float sum[MX_OWN], float before, MX_LOCAL_POINTER const float *share,
                           MX_LOCAL_POINTER const float *block, int slot, int width)
{
#pragma unroll
    for (int n = 0; n < MX_OWN; n++) {
        const int i = slot + n * MX_SLOTS;
        if (i < width) {
            float v = sum[n] * before;
            for (int j = 0; j < MX_SLOTS; j++) v += share[j] * block[j * MX_PITCH + i];
            sum[n] = v;
        }
    }
}

/* Rows first … of a strided tensor into local memory; rows beyond `rows` are 0. */
MX_INLINE void mx_rows_load(MX_LOCAL_POINTER float *to, MX_GLOBAL const float *from, mx_long stride, mx_long first,
                            mx_long rows, int count, int width)
{
    for (int r = 0; r < count; r++) {
        MX_EACH(i, width) to[r * MX_PITCH + i] = first + r < rows ? from[(first + r) * stride + i] : 0.0f;
    }
}

MX_INLINE float mx_rows_dot(MX_LOCAL_POINTER const float *a, MX_LOCAL_POINTER const float *b, int width)
{
    float sum = 0.0f;
    for (int i = 0; i < width; i++) sum += a[i] * b[i];
    return sum;
}

/* Group: sequence, head, block of queries. */
MX_KERNEL(MX_GROUP)
mx_attend(MX_ARG(const float, q), MX_ARG(const float, k), MX_ARG(const float, v), MX_ARG(float, out),
             MX_ARG(float, lse), MX_ARG(const int, offsets), int blocks, int heads, int width, mx_long stride,
             mx_long out_stride, mx_long rows_all, float factor)
{
    MX_LOCAL float queries[MX_ROWS * MX_PITCH], block[MX_SLOTS * MX_PITCH];
    MX_LOCAL float share[MX_GROUP];
    MX_USE(const float, q);
    MX_USE(const float, k);
    MX_USE(const float, v);
    MX_USE(float, out);
    MX_USE(float, lse);
    MX_USE(const int, offsets);
    const mx_long first = MX_INDEX % blocks * MX_ROWS, head = MX_INDEX / blocks % heads;
    const mx_long s = MX_INDEX / blocks / heads, start = offsets[s], length = offsets[s + 1] - start;
    if (first >= length) return;
    const int row = MX_LANE / MX_SLOTS, slot = MX_LANE % MX_SLOTS;
    const mx_long base = start * stride + head * width;
    float most = -MX_INFINITY, total = 0.0f;
    mx_rows_load(queries, q + base, stride, first, length, MX_ROWS, width);
    float sums[MX_OWN];
    for (int n = 0; n < MX_OWN; n++) sums[n] = 0.0f;
    for (mx_long key = 0; key < length; key += MX_SLOTS) {
        MX_BARRIER();
        mx_rows_load(block, k + base, stride, key, length, MX_SLOTS, width);
        MX_BARRIER();
        const float dot = mx_rows_dot(queries + row * MX_PITCH, block + slot * MX_PITCH, width);
        const float score = key + slot < length ? dot * factor : -MX_INFINITY;
        share[MX_LANE] = score;
        MX_BARRIER();
        float highest = most;
        for (int j = 0; j < MX_SLOTS; j++) highest = MX_MAX(highest, share[row * MX_SLOTS + j]);
        MX_BARRIER();
        share[MX_LANE] = MX_EXP(score - highest);
        mx_rows_load(block, v + base, stride, key, length, MX_SLOTS, width);
        MX_BARRIER();
        const float before = MX_EXP(most - highest);
        total *= before;
        for (int j = 0; j < MX_SLOTS; j++) total += share[row * MX_SLOTS + j];
        mx_rows_add(sums, before, share + row * MX_SLOTS, block, slot, width);
        most = highest;
    }
    if (first + row >= length) return;
    const mx_long at = (start + first + row) * out_stride + head * width;
    const float part = 1.0f / total;
#pragma unroll
    for (int n = 0; n < MX_OWN; n++)
        if (slot + n * MX_SLOTS < width) out[at + slot + n * MX_SLOTS] = sums[n] * part;
    if (slot == 0) lse[head * rows_all + start + first + row] = most + MX_LOG(total);
}

/* delta[head, row] = dout · out; a group for each row. */
MX_KERNEL(MX_GROUP)
mx_attention_delta(MX_ARG(const float, dout), MX_ARG(const float, out), MX_ARG(float, delta), int heads, int width,
                   mx_long out_stride, mx_long rows_all)
{
    MX_LOCAL float all[MX_GROUP];
    MX_USE(const float, dout);
    MX_USE(const float, out);
    MX_USE(float, delta);
    const mx_long row = MX_INDEX;
    for (int h = 0; h < heads; h++) {
        const mx_long at = row * out_stride + h * width;
        float sum = 0.0f;
        MX_EACH(i, width) sum += dout[at + i] * out[at + i];
        sum = mx_group_sum(all, sum);
        if (MX_LANE == 0) delta[h * rows_all + row] = sum;
    }
}

/* dq; group: sequence, head, block of queries. */
MX_KERNEL(MX_GROUP)
mx_attention_queries(MX_ARG(const float, q), MX_ARG(const float, k), MX_ARG(const float, v), MX_ARG(const float, dout),
                     MX_ARG(const float, lse), MX_ARG(const float, delta), MX_ARG(float, dq),
                     MX_ARG(const int, offsets), int blocks, int heads, int width, mx_long stride, mx_long out_stride,
                     mx_long grad_stride, mx_long rows_all, float factor)
{
    MX_LOCAL float queries[MX_ROWS * MX_PITCH], douts[MX_ROWS * MX_PITCH];
    MX_LOCAL float block[MX_SLOTS * MX_PITCH], share[MX_GROUP];
    MX_USE(const float, q);
    MX_USE(const float, k);
    MX_USE(const float, v);
    MX_USE(const float, dout);
    MX_USE(const float, lse);
    MX_USE(const float, delta);
    MX_USE(float, dq);
    MX_USE(const int, offsets);
    const mx_long first = MX_INDEX % blocks * MX_ROWS, head = MX_INDEX / blocks % heads;
    const mx_long s = MX_INDEX / blocks / heads, start = offsets[s], length = offsets[s + 1] - start;
    if (first >= length) return;
    const int row = MX_LANE / MX_SLOTS, slot = MX_LANE % MX_SLOTS;
    const mx_long base = start * stride + head * width, own = head * rows_all + start + first + row;
    const bool mine = first + row < length;
    const float log_sum = mine ? lse[own] : 0.0f, mean = mine ? delta[own] : 0.0f;
    mx_rows_load(queries, q + base, stride, first, length, MX_ROWS, width);
    mx_rows_load(douts, dout + start * out_stride + head * width, out_stride, first, length, MX_ROWS, width);
    float sums[MX_OWN];
    for (int n = 0; n < MX_OWN; n++) sums[n] = 0.0f;
    for (mx_long key = 0; key < length; key += MX_SLOTS) {
        MX_BARRIER();
        mx_rows_load(block, v + base, stride, key, length, MX_SLOTS, width);
        MX_BARRIER();
        const float dp = mx_rows_dot(douts + row * MX_PITCH, block + slot * MX_PITCH, width);
        MX_BARRIER();
        mx_rows_load(block, k + base, stride, key, length, MX_SLOTS, width);
        MX_BARRIER();
        const float dot = mx_rows_dot(queries + row * MX_PITCH, block + slot * MX_PITCH, width);
        const float p = key + slot < length ? MX_EXP(dot * factor - log_sum) : 0.0f;
        share[MX_LANE] = p * (dp - mean) * factor;
        MX_BARRIER();
        mx_rows_add(sums, 1.0f, share + row * MX_SLOTS, block, slot, width);
    }
    if (!mine) return;
    const mx_long at = (start + first + row) * grad_stride + head * width;
#pragma unroll
    for (int n = 0; n < MX_OWN; n++)
        if (slot + n * MX_SLOTS < width) dq[at + slot + n * MX_SLOTS] = sums[n];
}

/* dk and dv; group: sequence, head, block of keys. Here `row` is a key and `slot` a query. */
MX_KERNEL(MX_GROUP)
mx_attention_keys(MX_ARG(const float, q), MX_ARG(const float, k), MX_ARG(const float, v), MX_ARG(const float, dout),
                  MX_ARG(const float, lse), MX_ARG(const float, delta), MX_ARG(float, dk), MX_ARG(float, dv),
                  MX_ARG(const int, offsets), int blocks, int heads, int width, mx_long stride, mx_long out_stride,
                  mx_long grad_stride, mx_long rows_all, float factor)
{
    MX_LOCAL float keys[MX_ROWS * MX_PITCH], values[MX_ROWS * MX_PITCH];
    MX_LOCAL float block[MX_SLOTS * MX_PITCH], share[MX_GROUP];
    MX_USE(const float, q);
    MX_USE(const float, k);
    MX_USE(const float, v);
    MX_USE(const float, dout);
    MX_USE(const float, lse);
    MX_USE(const float, delta);
    MX_USE(float, dk);
    MX_USE(float, dv);
    MX_USE(const int, offsets);
    const mx_long first = MX_INDEX % blocks * MX_ROWS, head = MX_INDEX / blocks % heads;
    const mx_long s = MX_INDEX / blocks / heads, start = offsets[s], length = offsets[s + 1] - start;
    if (first >= length) return;
    const int row = MX_LANE / MX_SLOTS, slot = MX_LANE % MX_SLOTS;
    const mx_long base = start * stride + head * width, dout_first = start * out_stride + head * width;
    const mx_long at = (start + first + row) * grad_stride + head * width;
    const bool mine = first + row < length;
    mx_rows_load(keys, k + base, stride, first, length, MX_ROWS, width);
    mx_rows_load(values, v + base, stride, first, length, MX_ROWS, width);
    /* Two passes over the queries, one for each sum, so that one block and one sum fit the local memory. */
    for (int pass = 0; pass < 2; pass++) {
        MX_BARRIER();
        float sums[MX_OWN];
        for (int n = 0; n < MX_OWN; n++) sums[n] = 0.0f;
        for (mx_long query = 0; query < length; query += MX_SLOTS) {
            const bool there = query + slot < length;
            const mx_long own = head * rows_all + start + query + slot;
            float weight = 0.0f;
            MX_BARRIER();
            mx_rows_load(block, q + base, stride, query, length, MX_SLOTS, width);
            MX_BARRIER();
            const float dot = mx_rows_dot(keys + row * MX_PITCH, block + slot * MX_PITCH, width);
            if (there) weight = MX_EXP(dot * factor - lse[own]);
            MX_BARRIER();
            mx_rows_load(block, dout + dout_first, out_stride, query, length, MX_SLOTS, width);
            MX_BARRIER();
            if (pass == 1) {
                const float dp = mx_rows_dot(values + row * MX_PITCH, block + slot * MX_PITCH, width);
                if (there) weight = weight * (dp - delta[own]) * factor;
                MX_BARRIER();
                mx_rows_load(block, q + base, stride, query, length, MX_SLOTS, width);
            }
            share[MX_LANE] = weight;
            MX_BARRIER();
            mx_rows_add(sums, 1.0f, share + row * MX_SLOTS, block, slot, width);
        }
#pragma unroll
        for (int n = 0; n < MX_OWN; n++)
            if (mine && slot + n * MX_SLOTS < width) (pass == 0 ? dv : dk)[at + slot + n * MX_SLOTS] = sums[n];
    }
}

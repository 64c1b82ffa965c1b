/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Attention for OpenCL devices of CPU type, on the tiles of product_cpu.cl. Everything is cut into squares of
 * MX_SQUARE × MX_SQUARE floats, whole numbers of tiles both ways: MX_SQUARE queries, keys or columns of a head at a
 * time. A square may be either operand of a product, so loading one is the only packing.
 *
 * One lane in a group. Each group has its own squares in the scratch and takes every so many-th task; what a task
 * computes depends on its sequence alone. What a square holds beyond its rows and columns is not looked at.
 */
#if defined(MX_CPU)
#define MX_SQUARE  96
#define MX_FLOATS  (MX_SQUARE * MX_SQUARE)
#define MX_CHUNKS(width) (((width) + MX_SQUARE - 1) / MX_SQUARE)
#define MX_COLUMNS(width, c) ((width) - (c)*MX_SQUARE < MX_SQUARE ? (width) - (c)*MX_SQUARE : MX_SQUARE)

/* ---- squares ---- */

/* Rows of a strided tensor as they are. */
MX_INLINE void mx_square_load(MX_GLOBAL float *to, MX_GLOBAL const float *from, mx_long stride, int rows, int columns)
{
    for (int r = 0; r < rows; r++) {
        int j = 0;
        for (; j + MX_VECTOR <= columns; j += MX_VECTOR)
            mx_store(mx_load(from + r * stride + j), to + r * MX_SQUARE + j);
        for (; j < columns; j++) to[r * MX_SQUARE + j] = from[r * stride + j];
    }
}

/* Rows as columns, times a factor. */
MX_INLINE void mx_square_turn(MX_GLOBAL float *to, MX_GLOBAL const float *from, mx_long stride, int rows, int columns,
                              float factor)
{
    int r = 0;
    for (; r + MX_VECTOR <= rows; r += MX_VECTOR) {
        int j = 0;
        for (; j + MX_VECTOR <= columns; j += MX_VECTOR)
            mx_turn_square(from + r * stride + j, stride, to + j * MX_SQUARE + r, MX_SQUARE, factor);
        for (; j < columns; j++)
            for (int i = r; i < r + MX_VECTOR; i++) to[j * MX_SQUARE + i] = from[i * stride + j] * factor;
    }
    for (; r < rows; r++)
        for (int j = 0; j < columns; j++) to[j * MX_SQUARE + r] = from[r * stride + j] * factor;
}

/* Rows back, or added to what is there. */
MX_INLINE void mx_square_store(MX_GLOBAL const float *from, MX_GLOBAL float *to, mx_long stride, int rows, int columns,
                               int add)
{
    for (int r = 0; r < rows; r++) {
        int j = 0;
        for (; j + MX_VECTOR <= columns; j += MX_VECTOR) {
            const mx_v v = mx_load(from + r * MX_SQUARE + j);
            mx_store(add ? v + mx_load(to + r * stride + j) : v, to + r * stride + j);
        }
        for (; j < columns; j++)
            to[r * stride + j] = add ? from[r * MX_SQUARE + j] + to[r * stride + j] : from[r * MX_SQUARE + j];
    }
}

#define MX_START(i)                                                                                                    \
    mx_v p##i = add ? mx_load(out + i * MX_SQUARE) : (mx_v)0.0f;                                                       \
    mx_v q##i = add ? mx_load(out + i * MX_SQUARE + MX_VECTOR) : (mx_v)0.0f;
#define MX_ADD_ONE(i)                                                                                                  \
    {                                                                                                                  \
        const mx_v s = (mx_v)left[MX_LEFT(i)];                                                                         \
        p##i += s * b0;                                                                                                \
        q##i += s * b1;                                                                                                \
    }
#define MX_END(i)                                                                                                      \
    mx_store(p##i, out + i * MX_SQUARE);                                                                               \
    mx_store(q##i, out + i * MX_SQUARE + MX_VECTOR);

/* out [m, n] = or += A [m, k] · B [k, n]. */
#define MX_SQUARE_PRODUCT(name, tile_step, k_step)                                                                     \
    MX_INLINE void name(MX_GLOBAL const float *a, MX_GLOBAL const float *b, MX_GLOBAL float *c, int m, int n, int k,   \
                        int add)                                                                                       \
    {                                                                                                                  \
        for (int m0 = 0; m0 < m; m0 += MX_MR)                                                                          \
            for (int n0 = 0; n0 < n; n0 += MX_NR) {                                                                    \
                MX_GLOBAL const float *left = a + m0 * (tile_step), *right = b + n0;                                   \
                MX_GLOBAL float *const out = c + m0 * MX_SQUARE + n0;                                                  \
                MX_ROWS_EACH(MX_START)                                                                                 \
                for (int j = 0; j < k; j++) {                                                                          \
                    const mx_v b0 = mx_load(right), b1 = mx_load(right + MX_VECTOR);                                   \
                    MX_ROWS_EACH(MX_ADD_ONE)                                                                           \
                    left += (k_step);                                                                                  \
                    right += MX_SQUARE;                                                                                \
                }                                                                                                      \
                MX_ROWS_EACH(MX_END)                                                                                   \
            }                                                                                                          \
    }

#define MX_LEFT(i) ((i)*MX_SQUARE)
MX_SQUARE_PRODUCT(mx_square_rows, MX_SQUARE, 1) /* A lies [m, k] */
#undef MX_LEFT
#define MX_LEFT(i) (i)
MX_SQUARE_PRODUCT(mx_square_columns, 1, MX_SQUARE) /* A lies [k, m] */
#undef MX_LEFT

/* e^x for x ≤ 0 or little above; what is below 2^-126 becomes that. */
MX_INLINE mx_v mx_exp_v(mx_v x)
{
    const mx_v t = x * 0x1.715476p+0f;
    return mx_exp2_bounded_v(select(t, (mx_v)-126.0f, t < -126.0f));
}

/* ---- forward: tasks are sequence, head, block of queries. Scores lie [key, query], so that the softmax needs no sum
 * over the lanes of a vector. ---- */
MX_FULL_WIDTH MX_KERNEL(1)
mx_attention_forward(MX_ARG(const float, q), MX_ARG(const float, k), MX_ARG(const float, v), MX_ARG(float, out),
                     MX_ARG(float, lse), MX_ARG(const int, offsets), MX_ARG(float, work), int count, int groups,
                     int blocks, int heads, int width, mx_long stride, mx_long out_stride, mx_long rows_all,
                     float factor)
{
    MX_USE(const float, q);
    MX_USE(const float, k);
    MX_USE(const float, v);
    MX_USE(float, out);
    MX_USE(float, lse);
    MX_USE(const int, offsets);
    MX_USE(float, work);
    const int chunks = MX_CHUNKS(width);
    MX_GLOBAL float *const score = work + MX_INDEX * (4 * chunks + 1) * MX_FLOATS, *const queries = score + MX_FLOATS;
    MX_GLOBAL float *const keys = queries + chunks * MX_FLOATS, *const values = keys + chunks * MX_FLOATS;
    MX_GLOBAL float *const sums = values + chunks * MX_FLOATS;
    for (mx_long task = MX_INDEX; task < (mx_long)count * heads * blocks; task += groups) {
        const int head = (int)(task / blocks % heads), s = (int)(task / blocks / heads), start = offsets[s];
        const int first = (int)(task % blocks) * MX_SQUARE, length = offsets[s + 1] - start;
        if (first >= length) continue;
        const int rows = length - first < MX_SQUARE ? length - first : MX_SQUARE;
        float most[MX_SQUARE], total[MX_SQUARE], before[MX_SQUARE];
        for (int c = 0; c < chunks; c++)
            mx_square_turn(queries + c * MX_FLOATS, q + (start + first) * stride + head * width + c * MX_SQUARE, stride,
                           rows, MX_COLUMNS(width, c), factor);
        for (int i = 0; i < MX_SQUARE; i++) {
            most[i] = -INFINITY;
            total[i] = 0.0f;
        }
        for (int key = 0; key < length; key += MX_SQUARE) {
            const int there = length - key < MX_SQUARE ? length - key : MX_SQUARE;
            const mx_long base = (start + key) * stride + head * width;
            for (int c = 0; c < chunks; c++) {
                const int columns = MX_COLUMNS(width, c);
                mx_square_load(keys + c * MX_FLOATS, k + base + c * MX_SQUARE, stride, there, columns);
                mx_square_load(values + c * MX_FLOATS, v + base + c * MX_SQUARE, stride, there, columns);
                mx_square_rows(keys + c * MX_FLOATS, queries + c * MX_FLOATS, score, there, rows, columns, c > 0);
            }
            for (int i = 0; i < rows; i += MX_VECTOR) {
                const mx_v old = mx_load(most + i);
                mx_v highest = old, sum = 0.0f;
                for (int j = 0; j < there; j++) {
                    const mx_v x = mx_load(score + j * MX_SQUARE + i);
                    highest = select(highest, x, x > highest);
                }
                for (int j = 0; j < there; j++) {
                    const mx_v p = mx_exp_v(mx_load(score + j * MX_SQUARE + i) - highest);
                    mx_store(p, score + j * MX_SQUARE + i);
                    sum += p;
                }
                const mx_v share = key > 0 ? mx_exp_v(old - highest) : (mx_v)0.0f;
                mx_store(mx_load(total + i) * share + sum, total + i);
                mx_store(highest, most + i);
                mx_store(share, before + i);
            }
            for (int c = 0; c < chunks; c++) {
                const int columns = MX_COLUMNS(width, c);
                for (int i = 0; key > 0 && i < rows; i++)
                    for (int j = 0; j < columns; j += MX_VECTOR) {
                        MX_GLOBAL float *const at = sums + c * MX_FLOATS + i * MX_SQUARE + j;
                        mx_store(mx_load(at) * before[i], at);
                    }
                mx_square_columns(score, values + c * MX_FLOATS, sums + c * MX_FLOATS, rows, columns, there, key > 0);
            }
        }
        for (int i = 0; i < rows; i++) {
            const mx_long row = start + first + i;
            const float inverse = 1.0f / total[i];
            for (int c = 0; c < chunks; c++) {
                MX_GLOBAL const float *const from = sums + c * MX_FLOATS + i * MX_SQUARE;
                MX_GLOBAL float *const to = out + row * out_stride + head * width + c * MX_SQUARE;
                for (int j = 0; j < MX_COLUMNS(width, c); j++) to[j] = from[j] * inverse;
            }
            lse[head * rows_all + row] = most[i] + log(total[i]);
        }
    }
}

/* ---- backward: tasks are sequence and head. Scores lie [query, key]. ---- */
MX_FULL_WIDTH MX_KERNEL(1)
mx_attention_backward(MX_ARG(const float, q), MX_ARG(const float, k), MX_ARG(const float, v), MX_ARG(const float, out),
                      MX_ARG(const float, lse), MX_ARG(const float, dout), MX_ARG(float, delta), MX_ARG(float, dq),
                      MX_ARG(float, dk), MX_ARG(float, dv), MX_ARG(const int, offsets), MX_ARG(float, work), int count,
                      int groups, int heads, int width, mx_long stride, mx_long out_stride, mx_long grad_stride,
                      mx_long rows_all, float factor)
{
    MX_USE(const float, q);
    MX_USE(const float, k);
    MX_USE(const float, v);
    MX_USE(const float, out);
    MX_USE(const float, lse);
    MX_USE(const float, dout);
    MX_USE(float, delta);
    MX_USE(float, dq);
    MX_USE(float, dk);
    MX_USE(float, dv);
    MX_USE(const int, offsets);
    MX_USE(float, work);
    const int chunks = MX_CHUNKS(width);
    const mx_long each = (mx_long)chunks * MX_FLOATS;
    MX_GLOBAL float *const p = work + MX_INDEX * (8 * each + 2 * MX_FLOATS), *const ds = p + MX_FLOATS;
    MX_GLOBAL float *const keys = ds + MX_FLOATS, *const keys_turned = keys + each;
    MX_GLOBAL float *const values_turned = keys_turned + each, *const queries = values_turned + each;
    MX_GLOBAL float *const douts = queries + each, *const dkeys = douts + each, *const dvalues = dkeys + each;
    MX_GLOBAL float *const dqueries = dvalues + each;
    for (mx_long task = MX_INDEX; task < (mx_long)count * heads; task += groups) {
        const int head = (int)(task % heads), s = (int)(task / heads), start = offsets[s];
        const int length = offsets[s + 1] - start;
        for (int key = 0; key < length; key += MX_SQUARE) {
            const int there = length - key < MX_SQUARE ? length - key : MX_SQUARE;
            const mx_long base = (start + key) * stride + head * width;
            for (int c = 0; c < chunks; c++) {
                const int columns = MX_COLUMNS(width, c);
                mx_square_load(keys + c * MX_FLOATS, k + base + c * MX_SQUARE, stride, there, columns);
                mx_square_turn(keys_turned + c * MX_FLOATS, k + base + c * MX_SQUARE, stride, there, columns, 1.0f);
                mx_square_turn(values_turned + c * MX_FLOATS, v + base + c * MX_SQUARE, stride, there, columns, 1.0f);
            }
            for (int first = 0; first < length; first += MX_SQUARE) {
                const int rows = length - first < MX_SQUARE ? length - first : MX_SQUARE;
                const mx_long row = start + first;
                for (int c = 0; c < chunks; c++) {
                    const int columns = MX_COLUMNS(width, c);
                    const mx_long at = head * width + c * MX_SQUARE;
                    mx_square_load(queries + c * MX_FLOATS, q + row * stride + at, stride, rows, columns);
                    mx_square_load(douts + c * MX_FLOATS, dout + row * out_stride + at, out_stride, rows, columns);
                    mx_square_rows(queries + c * MX_FLOATS, keys_turned + c * MX_FLOATS, p, rows, there, columns,
                                   c > 0);
                    mx_square_rows(douts + c * MX_FLOATS, values_turned + c * MX_FLOATS, ds, rows, there, columns,
                                   c > 0);
                }
                for (int i = 0; i < rows; i++) {
                    const mx_long own = head * rows_all + row + i, at = (row + i) * out_stride + head * width;
                    if (key == 0) {
                        float sum = 0.0f;
                        for (int j = 0; j < width; j++) sum += dout[at + j] * out[at + j];
                        delta[own] = sum;
                    }
                    const float log_sum = lse[own], mean = delta[own];
                    for (int j = 0; j < there; j += MX_VECTOR) {
                        MX_GLOBAL float *const p_at = p + i * MX_SQUARE + j, *const ds_at = ds + i * MX_SQUARE + j;
                        const mx_v share = mx_exp_v(mx_load(p_at) * factor - log_sum);
                        mx_store(share, p_at);
                        mx_store(share * (mx_load(ds_at) - mean) * factor, ds_at);
                    }
                }
                for (int c = 0; c < chunks; c++) {
                    const int columns = MX_COLUMNS(width, c);
                    mx_square_rows(ds, keys + c * MX_FLOATS, dqueries + c * MX_FLOATS, rows, columns, there, 0);
                    mx_square_store(dqueries + c * MX_FLOATS, dq + row * grad_stride + head * width + c * MX_SQUARE,
                                    grad_stride, rows, columns, key > 0);
                    mx_square_columns(p, douts + c * MX_FLOATS, dvalues + c * MX_FLOATS, there, columns, rows,
                                      first > 0);
                    mx_square_columns(ds, queries + c * MX_FLOATS, dkeys + c * MX_FLOATS, there, columns, rows,
                                      first > 0);
                }
            }
            for (int c = 0; c < chunks; c++) {
                const int columns = MX_COLUMNS(width, c);
                const mx_long at = (start + key) * grad_stride + head * width + c * MX_SQUARE;
                mx_square_store(dkeys + c * MX_FLOATS, dk + at, grad_stride, there, columns, 0);
                mx_square_store(dvalues + c * MX_FLOATS, dv + at, grad_stride, there, columns, 0);
            }
        }
    }
}
#endif

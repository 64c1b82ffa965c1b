/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Matrix products for OpenCL devices of CPU type: both operands are packed, then tiles of MX_MR × MX_NR are held in
 * vector registers along k. OpenCL alone: vector types are its own. One lane in a group.
 *
 * Packed B: panels of MX_NR columns, [k][MX_NR] each. Packed A: panels of MX_MR rows; of an operand that lies by rows
 * [k/4][MX_MR][4], of a transposed one [k][MX_MR], so that packing is a copy of whole vectors either way. What is
 * missing at the edges is 0; k is rounded up to a multiple of 4 in both.
 *
 * B is packed whole by a launch of its own. A is packed in parts of some panels by the groups that multiply them: each of
 * the few groups has a room for one part and takes every so many-th part, so that a room stays in the core's own cache
 * while all panels of B go by. Of these MX_DEPTH_CPU rows at a time are in the first cache, beside as many columns of a
 * panel of A; the sums wait in private memory from one such block to the next.
 */
#if defined(MX_CPU)
#if MX_VECTOR == 16
typedef float16 mx_v;
typedef int16 mx_vi;
#define MX_AS_V(x)     as_float16(x)
#define MX_AS_VI(x)    as_int16(x)
#define MX_TO_V(x)     convert_float16(x)
#define MX_MIX(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#define MX_ZIP_LOW(a, b)  MX_MIX(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define MX_ZIP_HIGH(a, b) MX_MIX(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#define MX_MR          12
#define MX_ROWS_EACH(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define MX_FULL_WIDTH  __attribute__((min_vector_width(512)))
#else
typedef float8 mx_v;
typedef int8 mx_vi;
#define MX_AS_V(x)     as_float8(x)
#define MX_AS_VI(x)    as_int8(x)
#define MX_TO_V(x)     convert_float8(x)
#define MX_MIX(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#define MX_ZIP_LOW(a, b)  MX_MIX(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define MX_ZIP_HIGH(a, b) MX_MIX(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#define MX_MR          6
#define MX_ROWS_EACH(X) X(0) X(1) X(2) X(3) X(4) X(5)
#define MX_FULL_WIDTH  __attribute__((min_vector_width(256)))
#endif
#define MX_NR (2 * MX_VECTOR)

/* A vector at any float. vload and vstore of whole vectors are libraries' functions, which PoCL cuts into quarters: a
 * load that follows such a store waits for all four of them to reach the cache. */
typedef mx_v mx_v_anywhere __attribute__((aligned(4)));
#define MX_FOR_SPACE(space)                                                                                            \
    MX_INLINE __attribute__((overloadable)) mx_v mx_load(space const float *p)                                         \
    {                                                                                                                  \
        return *(space const mx_v_anywhere *)p;                                                                        \
    }                                                                                                                  \
    MX_INLINE __attribute__((overloadable)) void mx_store(mx_v v, space float *p)                                      \
    {                                                                                                                  \
        *(space mx_v_anywhere *)p = v;                                                                                 \
    }
MX_FOR_SPACE(__global)
MX_FOR_SPACE(__private)
#undef MX_FOR_SPACE

/* These floats will be read soon. */
MX_INLINE void mx_soon(MX_GLOBAL const float *p)
{
    __builtin_prefetch((const void *)(size_t)p);
}

/* ---- squares of vectors ---- */

/* r[i][j] becomes r[j][i]: perfect shuffles, as often as the width has bits. */
MX_INLINE void mx_turn(mx_v r[MX_VECTOR])
{
#pragma unroll
    for (int width = 1; width < MX_VECTOR; width *= 2) {
        mx_v t[MX_VECTOR];
#pragma unroll
        for (int i = 0; i < MX_VECTOR / 2; i++) {
            t[2 * i] = MX_ZIP_LOW(r[i], r[i + MX_VECTOR / 2]);
            t[2 * i + 1] = MX_ZIP_HIGH(r[i], r[i + MX_VECTOR / 2]);
        }
#pragma unroll
        for (int i = 0; i < MX_VECTOR; i++) r[i] = t[i];
    }
}

/* to[j · to_step + i] = factor · from[i · from_step + j] for i, j < MX_VECTOR */
MX_INLINE void mx_turn_square(MX_GLOBAL const float *from, mx_long from_step, MX_GLOBAL float *to, mx_long to_step,
                              float factor)
{
    mx_v square[MX_VECTOR];
#pragma unroll
    for (int i = 0; i < MX_VECTOR; i++) square[i] = mx_load(from + i * from_step);
    mx_turn(square);
#pragma unroll
    for (int i = 0; i < MX_VECTOR; i++) mx_store(square[i] * factor, to + i * to_step);
}

/* ---- packing ---- */
#define MX_PANELS 8 /* most panels in a part of A */

/* Columns at … at + count of MX_MR rows, [count/4][MX_MR][4]; count is a multiple of 4. */
MX_INLINE void mx_pack_rows(MX_GLOBAL float *to, MX_GLOBAL const float *a, mx_long step, const bool *there, mx_long count)
{
    bool all = true;
    for (int i = 0; i < MX_MR; i++) all = all && there[i];
    if (all) {
        for (mx_long k = 0; k < count; k += 4)
#pragma unroll
            for (int i = 0; i < MX_MR; i++) vstore4(vload4(0, a + i * step + k), 0, to + k * MX_MR + i * 4);
        return;
    }
    for (int i = 0; i < MX_MR; i++)
        for (mx_long k = 0; k < count; k += 4)
            vstore4(there[i] ? vload4(0, a + i * step + k) : (float4)0.0f, 0, to + k * MX_MR + i * 4);
}

/* Rows first … of A, of which `panels` panels begin before m, into `to`; columns k0 … k0 + kc. Shapes 0 and 2 of
 * product.cl. */
MX_INLINE void mx_pack_a_rows(MX_GLOBAL float *to, MX_GLOBAL const float *a, MX_GLOBAL const int *bounds, mx_long m,
                              mx_long first, int panels, mx_long k0, mx_long kc, mx_long lda, int shape, int taps,
                              int width)
{
    const mx_long depth = (kc + 3) / 4 * 4;
    for (int panel = 0; panel < panels; panel++, first += MX_MR, to += MX_MR * depth) {
        const int rows = (int)(m - first < MX_MR ? m - first : MX_MR);
        bool there[MX_MR];
        if (shape == 0) {
            const mx_long even = kc / 4 * 4;
            for (int i = 0; i < MX_MR; i++) there[i] = i < rows;
            mx_pack_rows(to, a + first * lda + k0, lda, there, even);
            for (mx_long k = even; k < depth; k++)
                for (int i = 0; i < MX_MR; i++)
                    to[even * MX_MR + i * 4 + k - even] = there[i] && k < kc ? a[(first + i) * lda + k0 + k] : 0.0f;
        } else if (width % 4 == 0 && k0 == 0 && kc == (mx_long)taps * width) {
            for (int tap = 0; tap < taps; tap++) {
                for (int i = 0; i < MX_MR; i++) {
                    const mx_long seen = first + i + tap - taps / 2;
                    there[i] = i < rows && seen >= bounds[2 * (first + i)] && seen < bounds[2 * (first + i) + 1];
                }
                mx_pack_rows(to + (mx_long)tap * width * MX_MR, a + (first + tap - taps / 2) * lda, lda, there, width);
            }
        } else {
            for (mx_long k = 0; k < depth; k++)
                for (int i = 0; i < MX_MR; i++)
                    to[k / 4 * 4 * MX_MR + i * 4 + k % 4] =
                        i < rows && k < kc ? mx_a_element(a, bounds, shape, first + i, k0 + k, lda, taps, width) : 0.0f;
        }
    }
}

/* MX_MR floats. */
MX_INLINE void mx_pack_one(MX_GLOBAL float *to, MX_GLOBAL const float *from)
{
#pragma unroll
    for (int i = 0; i + 4 <= MX_MR; i += 4) vstore4(vload4(0, from + i), 0, to + i);
    if (MX_MR % 4 == 2) vstore2(vload2(0, from + MX_MR - 2), 0, to + MX_MR - 2);
}

/* The same for shapes 1 and 3. All panels of a row of the operand are copied before the next; where a panel is whole
 * and of one tap, that is a copy of neighbours. */
MX_INLINE void mx_pack_a_columns(MX_GLOBAL float *to, MX_GLOBAL const float *a, MX_GLOBAL const int *bounds, mx_long m,
                                 mx_long first, int panels, mx_long k0, mx_long kc, mx_long lda, int shape, int taps,
                                 int width)
{
    const mx_long depth = (kc + 3) / 4 * 4;
    mx_long shift[MX_PANELS], column[MX_PANELS]; /* of the row that is seen; -1: element by element */
    for (int panel = 0; panel < panels; panel++) {
        const mx_long row = first + (mx_long)panel * MX_MR;
        const bool whole = row + MX_MR <= m && (shape == 1 || row / width == (row + MX_MR - 1) / width);
        shift[panel] = shape == 1 ? 0 : row / width - taps / 2;
        column[panel] = !whole ? -1 : shape == 1 ? row : row % width;
    }
    for (mx_long k = 0; k < depth; k++) {
        const bool bounded = shape == 3 && k < kc;
        const mx_long seen_first = bounded ? bounds[2 * (k0 + k)] : 0, seen_end = bounded ? bounds[2 * (k0 + k) + 1] : 0;
        for (int panel = 0; panel < panels; panel++) {
            const mx_long row = first + (mx_long)panel * MX_MR, seen = k0 + k + shift[panel];
            MX_GLOBAL float *const out = to + (panel * depth + k) * MX_MR;
            if (k < kc && column[panel] >= 0 && (shape == 1 || (seen >= seen_first && seen < seen_end))) {
                MX_GLOBAL const float *const at = a + seen * lda + column[panel];
                mx_soon(at + 8 * lda); /* rows are so far apart that the CPU does not foresee them */
                mx_pack_one(out, at);
            } else if (k < kc && column[panel] < 0) {
                for (int i = 0; i < MX_MR; i++)
                    out[i] = row + i < m ? mx_a_element(a, bounds, shape, row + i, k0 + k, lda, taps, width) : 0.0f;
            } else {
                for (int i = 0; i < MX_MR; i++) out[i] = 0.0f;
            }
        }
    }
}

/* One panel of B for each group: columns n0 + MX_NR · group …, rows k0 … k0 + kc. */
MX_KERNEL(1)
mx_product_pack_b(MX_ARG(const float, b), MX_ARG(float, packed), mx_long n, mx_long n0, mx_long k0, mx_long kc,
                  mx_long ldb, int shape, int width, mx_long jump)
{
    MX_USE(const float, b);
    MX_USE(float, packed);
    const mx_long first = n0 + MX_INDEX * MX_NR, depth = (kc + 3) / 4 * 4;
    MX_GLOBAL float *const to = packed + MX_INDEX * MX_NR * depth;
    const int columns = (int)(n - first < MX_NR ? n - first : MX_NR);
    if (shape == 0 && columns == MX_NR) {
        for (mx_long k = 0; k < kc; k++) {
            mx_store(mx_load(b + (k0 + k) * ldb + first), to + k * MX_NR);
            mx_store(mx_load(b + (k0 + k) * ldb + first + MX_VECTOR), to + k * MX_NR + MX_VECTOR);
        }
        for (mx_long k = kc; k < depth; k++) {
            mx_store((mx_v)0.0f, to + k * MX_NR);
            mx_store((mx_v)0.0f, to + k * MX_NR + MX_VECTOR);
        }
        return;
    }
    mx_long done = 0; /* rows of k that are packed in squares */
    if (columns == MX_NR && shape == 1) {
        for (; done + MX_VECTOR <= kc; done += MX_VECTOR)
            for (int i = 0; i < MX_NR; i += MX_VECTOR)
                mx_turn_square(b + (first + i) * ldb + k0 + done, ldb, to + done * MX_NR + i, MX_NR, 1.0f);
    } else if (columns == MX_NR && shape == 2 && width % MX_VECTOR == 0 && k0 == 0) {
        for (; done + MX_VECTOR <= kc; done += MX_VECTOR)
            for (int i = 0; i < MX_NR; i += MX_VECTOR)
                mx_turn_square(b + done / width * jump + (first + i) * ldb + done % width, ldb, to + done * MX_NR + i,
                               MX_NR, 1.0f);
    }
    for (int i = 0; i < MX_NR; i++) {
        mx_long k = done;
        if (i < columns && shape == 2) {
            mx_long block = (k0 + done) / width, at = (k0 + done) % width;
            for (; k < kc; k++, at++) {
                if (at == width) {
                    at = 0;
                    block++;
                }
                to[k * MX_NR + i] = b[block * jump + (first + i) * ldb + at];
            }
        } else if (i < columns) {
            const mx_long step = shape == 0 ? ldb : 1;
            MX_GLOBAL const float *const from = shape == 0 ? b + k0 * ldb + first + i : b + (first + i) * ldb + k0;
            for (; k < kc; k++) to[k * MX_NR + i] = from[k * step];
        }
        for (; k < depth; k++) to[k * MX_NR + i] = 0.0f;
    }
}

/* ---- activations of vectors; as in dialect.cl ---- */
MX_INLINE mx_v mx_exp2_bounded_v(mx_v t)
{
    const mx_v shifted = t + 0x1.8p23f, n = shifted - 0x1.8p23f, f = t - n;
    mx_v p = f * 0x1.4413cp-13f + 0x1.5f08ep-10f;
    p = p * f + 0x1.3b2a52p-7f;
    p = p * f + 0x1.c6af6cp-5f;
    p = p * f + 0x1.ebfbep-3f;
    p = p * f + 0x1.62e43p-1f;
    p = p * f + 1.0f;
    return MX_AS_V(MX_AS_VI(p) + (MX_AS_VI(shifted) << 23));
}

MX_INLINE mx_v mx_activate_v(int act, mx_v z)
{
    if (act == 1) return select((mx_v)0.0f, z, z > 0.0f || z != z);
    if (act != 2) return z;
    const mx_v x = select(z, (mx_v)-10.0f, z < -10.0f);
    const mx_v u = x * (x * x * MX_GELU_3 + MX_GELU_1), t = select(u, (mx_v)-126.0f, u < -126.0f);
    return select(x / (mx_exp2_bounded_v(t) + 1.0f), (mx_v)0.0f, z <= -10.0f);
}

MX_INLINE mx_v mx_slope_v(int act, mx_v z)
{
    if (act == 1) return select((mx_v)0.0f, (mx_v)1.0f, z > 0.0f);
    if (act != 2) return (mx_v)1.0f;
    const float ln2 = 0x1.62e43p-1f;
    mx_v x = select(z, (mx_v)-10.0f, z < -10.0f);
    x = select(x, (mx_v)10.0f, x > 10.0f);
    const mx_v square = x * x, e = mx_exp2_bounded_v(x * (square * MX_GELU_3 + MX_GELU_1)), s = 1.0f / (e + 1.0f);
    return s + x * (square * (-3.0f * ln2 * MX_GELU_3) - ln2 * MX_GELU_1) * (e * s) * s;
}

/* ---- tiles ---- */

/* A vector of products of one row, columns first …; `columns` of them count. */
MX_INLINE void mx_product_finish(const float *one, MX_GLOBAL float *c, MX_GLOBAL const float *bias, MX_GLOBAL float *pre,
                                 MX_GLOBAL const float *residual, mx_long at, mx_long first, mx_long columns, int act,
                                 int act_grad, int accumulate)
{
    if (columns >= MX_VECTOR) {
        mx_v z = mx_load(one);
        if (act_grad) {
            z *= mx_slope_v(act, mx_load(pre + at));
        } else {
            if (bias) z += mx_load(bias + first);
            if (pre) mx_store(z, pre + at);
            z = mx_activate_v(act, z);
        }
        if (residual) z += mx_load(residual + at);
        if (accumulate) z += mx_load(c + at);
        mx_store(z, c + at);
        return;
    }
    for (int i = 0; i < columns; i++) {
        float v = one[i];
        if (act_grad) {
            v *= mx_slope(act, pre[at + i]);
        } else {
            if (bias) v += bias[first + i];
            if (pre) pre[at + i] = v;
            v = mx_activate(act, v);
        }
        if (residual) v += residual[at + i];
        c[at + i] = accumulate ? c[at + i] + v : v;
    }
}

#define MX_DEPTH_CPU 192 /* rows of a panel of B in the first cache */
#define MX_BEGIN(i)                                                                                                    \
    mx_v p##i = k0 > 0 ? mx_load(tile + i * MX_NR) : (mx_v)0.0f;                                                       \
    mx_v q##i = k0 > 0 ? mx_load(tile + i * MX_NR + MX_VECTOR) : (mx_v)0.0f;
#define MX_KEEP(i)                                                                                                     \
    mx_store(p##i, tile + i * MX_NR);                                                                                  \
    mx_store(q##i, tile + i * MX_NR + MX_VECTOR);

/* C (all rows, columns n0 … n - 1) from columns from … from + kc of A. Group: parts of `tiles` panels of A each, every
 * `groups`-th; `room` has space for one part of each group. */
#define MX_PRODUCT(name, pack)                                                                                         \
    MX_FULL_WIDTH MX_KERNEL(1)                                                                                         \
    name(MX_ARG(const float, a), MX_ARG(const int, bounds), MX_ARG(float, room), MX_ARG(const float, packed_b),        \
         MX_ARG(float, c), MX_ARG(const float, bias), MX_ARG(float, pre), MX_ARG(const float, residual), mx_long m,    \
         mx_long n, mx_long n0, mx_long from, mx_long kc, mx_long lda, mx_long ldc, int shape, int taps, int width,    \
         int tiles, int groups, int act, int act_grad, int accumulate)                                                 \
    {                                                                                                                  \
        MX_USE(const float, a);                                                                                        \
        MX_USE(const int, bounds);                                                                                     \
        MX_USE(float, room);                                                                                           \
        MX_USE(const float, packed_b);                                                                                 \
        MX_USE(float, c);                                                                                              \
        MX_USE(const float, bias);                                                                                     \
        MX_USE(float, pre);                                                                                            \
        MX_USE(const float, residual);                                                                                 \
        const mx_long depth = (kc + 3) / 4 * 4;                                                                        \
        MX_GLOBAL float *const own = room + MX_INDEX * tiles * MX_MR * depth;                                          \
        float sums[MX_PANELS * MX_MR * MX_NR];                                                                         \
        for (int i = 0; depth == 0 && i < MX_PANELS * MX_MR * MX_NR; i++) sums[i] = 0.0f;                              \
        for (mx_long top = MX_INDEX * tiles * MX_MR; top < m; top += (mx_long)groups * tiles * MX_MR) {                \
            const mx_long left_over = (m - top + MX_MR - 1) / MX_MR;                                                   \
            const int panels = left_over < tiles ? (int)left_over : tiles;                                             \
            pack(own, a, bounds, m, top, panels, from, kc, lda, shape, taps, width);                                   \
            for (mx_long column = n0; column < n; column += MX_NR) {                                                   \
                MX_GLOBAL const float *const panel_b = packed_b + (column - n0) * depth;                               \
                for (mx_long k0 = 0; k0 < depth; k0 += MX_DEPTH_CPU) {                                                 \
                    const mx_long k1 = k0 + MX_DEPTH_CPU < depth ? k0 + MX_DEPTH_CPU : depth;                          \
                    for (int panel = 0; panel < panels; panel++) {                                                     \
                        float *const tile = sums + panel * MX_MR * MX_NR;                                              \
                        MX_GLOBAL const float *left = own + (panel * depth + k0) * MX_MR;                              \
                        MX_GLOBAL const float *right = panel_b + k0 * MX_NR;                                           \
                        MX_ROWS_EACH(MX_BEGIN)                                                                         \
                        for (mx_long k = k0; k < k1; k += 4) {                                                         \
                            MX_STEP(0) MX_STEP(1) MX_STEP(2) MX_STEP(3)                                                \
                            left += 4 * MX_MR;                                                                         \
                            right += 4 * MX_NR;                                                                        \
                        }                                                                                              \
                        MX_ROWS_EACH(MX_KEEP)                                                                          \
                    }                                                                                                  \
                }                                                                                                      \
                for (int row = 0; row < panels * MX_MR && top + row < m; row++)                                        \
                    for (int j = 0; j < MX_NR && column + j < n; j += MX_VECTOR)                                       \
                        mx_product_finish(sums + row * MX_NR + j, c, bias, pre, residual,                              \
                                          (top + row) * ldc + column + j, column + j, n - column - j, act, act_grad,   \
                                          accumulate);                                                                 \
            }                                                                                                          \
        }                                                                                                              \
    }

#define MX_STEP(j)                                                                                                     \
    {                                                                                                                  \
        const mx_v b0 = mx_load(right + j * MX_NR), b1 = mx_load(right + j * MX_NR + MX_VECTOR);                       \
        MX_GLOBAL const float *const left_j = left + MX_LEFT(0, j);                                                    \
        MX_ROWS_EACH(MX_ADD_J)                                                                                         \
    }
#define MX_ADD_J(i)                                                                                                    \
    {                                                                                                                  \
        const mx_v s = (mx_v)left_j[MX_LEFT(i, 0)];                                                                    \
        p##i += s * b0;                                                                                                \
        q##i += s * b1;                                                                                                \
    }

#define MX_LEFT(i, j) ((i)*4 + (j))
MX_PRODUCT(mx_product_rows, mx_pack_a_rows)
#undef MX_LEFT
#define MX_LEFT(i, j) ((j)*MX_MR + (i))
MX_PRODUCT(mx_product_columns, mx_pack_a_columns)
#undef MX_LEFT
#endif

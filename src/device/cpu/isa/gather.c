/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Operations that look up rows: embedding and its gradient, the table of rotary angles and the rotation itself.
 */
#include "device/cpu/isa/vec.h"
#include "device/cpu/kernels.h"

#define GRAIN 8 /* rows */

/* ---- embedding ---- */
/* All of ids[begin, end) in [0, vocabulary)? If not, the stream fails (once, by the worker that is asked to report). */
static bool ids_known(const struct mx_gang *gang, const char *op, const int32_t *ids, int64_t begin, int64_t end,
                      int64_t vocabulary, bool report)
{
    for (int64_t r = begin; r < end; r++) {
        if (ids[r] >= 0 && ids[r] < vocabulary) continue;
        if (report) {
            MX_FAIL(MX_ERR_DATA, NULL, "%s: id %d in row %lld is outside the table", op, (int)ids[r], (long long)r);
            mx_error_hint("expected 0 to %lld: the text was made into tokens with another vocabulary than the model's",
                          (long long)vocabulary - 1);
            mx_stream_fail(gang->stream);
        }
        return false;
    }
    return true;
}

/* ids [rows], table [vocabulary, n] → y [rows, n] */
void mx_cpu_embedding(const struct mx_gang *gang, const void *args)
{
    const struct mx_embedding_args *a = args;
    const int32_t *ids = mx_cpu_ptr(a->ids);
    const float *table = mx_cpu_ptr(a->table);
    const int64_t n = a->n;
    int64_t begin, end;
    mx_gang_share(gang, a->rows, GRAIN, &begin, &end);
    if (!ids_known(gang, "embedding", ids, begin, end, a->vocabulary, true)) return;
    float *y = (float *)mx_cpu_ptr(a->y) + begin * n;
    for (int64_t r = begin; r < end; r++, y += n) {
        const float *row = table + ids[r] * n;
        if (a->accumulate)
            MX_VEC_EACH(
                i, lanes, 0, n,
                mx_vf_store_n(y + i, mx_vf_load_n(y + i, lanes) + a->factor * mx_vf_load_n(row + i, lanes), lanes););
        else
            MX_VEC_EACH(i, lanes, 0, n, mx_vf_store_n(y + i, a->factor * mx_vf_load_n(row + i, lanes), lanes););
    }
}

/* ids [rows], dy [rows, n] → dtable [vocabulary, n]. By columns: several rows may name the same line of the table, and
 * they must be added in order. */
void mx_cpu_embedding_grad(const struct mx_gang *gang, const void *args)
{
    const struct mx_embedding_grad_args *a = args;
    const int32_t *ids = mx_cpu_ptr(a->ids);
    const float *dy = mx_cpu_ptr(a->dy);
    float *dtable = mx_cpu_ptr(a->dtable);
    const int64_t n = a->n;
    if (!ids_known(gang, "embedding_grad", ids, 0, a->rows, a->vocabulary, gang->worker == 0)) return;
    int64_t begin, end;
    mx_gang_share(gang, n, 16, &begin, &end); /* a cache line: no two workers write to the same */
    for (int64_t r = 0; r < a->rows; r++, dy += n) {
        float *row = dtable + ids[r] * n;
        MX_VEC_EACH(
            i, lanes, begin, end,
            mx_vf_store_n(row + i, mx_vf_load_n(row + i, lanes) + a->factor * mx_vf_load_n(dy + i, lanes), lanes););
    }
}

/* ---- rotary positions ---- */
/* table [positions, head_width/2, 2] */
void mx_cpu_rotary_table(const struct mx_gang *gang, const void *args)
{
    const struct mx_rotary_table_args *a = args;
    float *table = mx_cpu_ptr(a->table);
    const int64_t half = a->head_width / 2;
    int64_t begin, end;
    mx_gang_share(gang, a->positions, GRAIN, &begin, &end);
    for (int64_t i = 0; i < half; i++) {
        const double frequency = pow((double)a->base, -2.0 * (double)i / (double)a->head_width);
        for (int64_t p = begin; p < end; p++) {
            float *pair = table + (p * half + i) * 2;
            pair[0] = (float)cos((double)p * frequency);
            pair[1] = (float)sin((double)p * frequency);
        }
    }
}

#if MX_VEC_BYTES == 64
#define EVEN(a, b) __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30)
#define ODD(a, b)  __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31)
#elif MX_VEC_BYTES == 32
#define EVEN(a, b) __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14)
#define ODD(a, b)  __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15)
#else
#define EVEN(a, b) __builtin_shufflevector(a, b, 0, 2, 4, 6)
#define ODD(a, b)  __builtin_shufflevector(a, b, 1, 3, 5, 7)
#endif

/* One row: all heads by the angles of `table` [half, 2]; sign -1 turns back. */
static void turn_row(float *x, const float *table, int64_t heads, int64_t half, float sign)
{
    MX_VEC_EACH(i, lanes, 0, half, {
        const int front = 2 * lanes < MX_VEC_FLOATS ? 2 * lanes : MX_VEC_FLOATS;
        const mx_vf a = mx_vf_load_n(table + 2 * i, front);
        const mx_vf b = mx_vf_load_n(table + 2 * i + front, 2 * lanes - front);
        const mx_vf c = EVEN(a, b), s = ODD(a, b) * sign;
        for (int64_t h = 0; h < heads; h++) {
            float *first = x + h * 2 * half + i, *second = first + half;
            const mx_vf u = mx_vf_load_n(first, lanes), v = mx_vf_load_n(second, lanes);
            mx_vf_store_n(first, u * c - v * s, lanes);
            mx_vf_store_n(second, v * c + u * s, lanes);
        }
    });
}

/* x: rows of [heads, head_width], `stride` apart; table [positions, head_width/2, 2] */
void mx_cpu_rotary(const struct mx_gang *gang, const void *args)
{
    const struct mx_rotary_args *a = args;
    const float *table = mx_cpu_ptr(a->table);
    const int32_t *offsets = mx_cpu_ptr(a->rows.offsets);
    float *x = mx_cpu_ptr(a->x);
    int64_t begin, end;
    mx_gang_share(gang, a->rows.rows, GRAIN, &begin, &end);
    int64_t sequence = 0;
    for (int64_t r = begin; r < end; r++) {
        while (sequence < a->rows.count && offsets[sequence + 1] <= r) sequence++;
        const int64_t position = sequence < a->rows.count ? r - offsets[sequence] : -1;
        if (position < 0 || position >= a->positions) {
            MX_FAIL(MX_ERR_DATA,
                    "expected offsets from 0 to the number of rows, and no sequence longer than the rotary table",
                    "rotary: row %lld has no position in the table of %lld", (long long)r, (long long)a->positions);
            mx_stream_fail(gang->stream);
            return;
        }
        turn_row(x + r * a->stride, table + position * a->head_width, a->heads, a->head_width / 2,
                 a->inverse ? -1.0f : 1.0f);
    }
}

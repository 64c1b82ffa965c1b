/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Dynamic time warping, see dtw.h. Scratch: two rows of totals, then one byte for each pair of frames that stores where
 * the best path into it came from.
 */
#include "train/dtw.h"

#include <math.h>

enum from { BOTH, FIRST, SECOND };

size_t mx_dtw_bytes(int32_t a_frames, int32_t b_frames)
{
    return 2 * (size_t)b_frames * sizeof(double) + (size_t)a_frames * (size_t)b_frames;
}

static double frames_cost(const float *a, const float *b, int32_t n)
{
    float sum = 0;
    for (int32_t i = 0; i < n; i++) sum += fabsf(a[i] - b[i]);
    return (double)sum / n;
}

/* Totals of row i from those of row i - 1. */
static void row_fill(const struct mx_dtw_frames *of, int32_t i, const double *last, double *row, unsigned char *from)
{
    const int32_t n = of->n;
    for (int32_t j = 0; j < of->b_frames; j++) {
        double best = i == 0 && j == 0 ? 0 : INFINITY;
        enum from way = BOTH;
        if (i > 0 && j > 0) best = last[j - 1];
        if (i > 0 && last[j] < best) {
            best = last[j];
            way = FIRST;
        }
        if (j > 0 && row[j - 1] < best) {
            best = row[j - 1];
            way = SECOND;
        }
        row[j] = best + frames_cost(of->a + (ptrdiff_t)i * n, of->b + (ptrdiff_t)j * n, n);
        from[j] = (unsigned char)way;
    }
}

int32_t mx_dtw_walk(const struct mx_dtw_frames *of, void *scratch, struct mx_dtw_pair *pairs, double *cost)
{
    const int32_t a_frames = of->a_frames, b_frames = of->b_frames;
    double *const totals = scratch;
    unsigned char *const from = (unsigned char *)(totals + 2 * (ptrdiff_t)b_frames);
    for (int32_t i = 0; i < a_frames; i++)
        row_fill(of, i, totals + (i + 1) % 2 * (ptrdiff_t)b_frames, totals + i % 2 * (ptrdiff_t)b_frames,
                 from + (ptrdiff_t)i * b_frames);
    int32_t count = 0;
    struct mx_dtw_pair at = {a_frames - 1, b_frames - 1};
    for (;;) {
        pairs[count++] = at;
        if (at.a == 0 && at.b == 0) break;
        const enum from way = (enum from)from[(ptrdiff_t)at.a * b_frames + at.b];
        at.a -= way != SECOND;
        at.b -= way != FIRST;
    }
    for (int32_t i = 0; i < count / 2; i++) {
        const struct mx_dtw_pair swap = pairs[i];
        pairs[i] = pairs[count - 1 - i];
        pairs[count - 1 - i] = swap;
    }
    *cost = totals[(a_frames - 1) % 2 * (ptrdiff_t)b_frames + b_frames - 1] / count;
    return count;
}

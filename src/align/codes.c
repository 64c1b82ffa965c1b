/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Scores of frames for means, and means of means; see codes.h.
 */
#include "align/codes.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "myxtts/error.h"

#define ROUNDS 8

float mx_align_code_product(const float *m, const float *u, int32_t bands)
{
    float lanes[8] = {0};
    for (int32_t b = 0; b < bands; b += 8)
        for (int32_t k = 0; k < 8; k++) lanes[k] += u[b + k] * m[b + k];
    return ((lanes[0] + lanes[4]) + (lanes[1] + lanes[5])) + ((lanes[2] + lanes[6]) + (lanes[3] + lanes[7]));
}

float mx_align_code_score(const float *m, const float *u, int32_t bands)
{
    float lanes[8] = {0};
    for (int32_t b = 0; b < bands; b += 8)
        for (int32_t k = 0; k < 8; k++) lanes[k] += u[b + k] * (m[b + k] - 0.5f * u[b + k]);
    return ((lanes[0] + lanes[4]) + (lanes[1] + lanes[5])) + ((lanes[2] + lanes[6]) + (lanes[3] + lanes[7]));
}

int mx_align_codes_learn(const float *rows, size_t row_count, int32_t bands, float *codes, int32_t count)
{
    const size_t width = (size_t)bands;
    double *const sums = mx_alloc((size_t)count * (width + 1), sizeof *sums);
    if (sums == NULL) return MX_ERR_NO_MEMORY;
    for (int32_t k = 0; k < count; k++)
        memcpy(codes + (size_t)k * width, rows + (size_t)k * row_count / (size_t)count * width, width * sizeof *codes);
    for (int round = 0; round < ROUNDS; round++) {
        memset(sums, 0, (size_t)count * (width + 1) * sizeof *sums);
        for (size_t i = 0; i < row_count; i++) {
            int32_t best = 0;
            float most = -INFINITY;
            for (int32_t k = 0; k < count; k++) {
                const float score = mx_align_code_score(rows + i * width, codes + (size_t)k * width, bands);
                if (score <= most) continue;
                most = score;
                best = k;
            }
            double *const sum = sums + (size_t)best * (width + 1);
            for (size_t b = 0; b < width; b++) sum[b] += (double)rows[i * width + b];
            sum[width]++;
        }
        for (int32_t k = 0; k < count; k++) {
            const double *const sum = sums + (size_t)k * (width + 1);
            for (size_t b = 0; b < width && sum[width] > 0; b++)
                codes[(size_t)k * width + b] = (float)(sum[b] / sum[width]);
        }
    }
    mx_free(sums);
    return 0;
}

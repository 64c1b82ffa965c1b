/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Moving means, see adapt.h.
 */
#include "align/adapt.h"

#include <string.h>

#include "base/alloc.h"
#include "myxtts/error.h"

#define ALL   200.0 /* frames of a speaker that weigh as much as the voice's prior */
#define TOKEN 50.0  /* frames of a token that weigh as much as the mean of all the speaker's tokens */

int mx_align_adapt_open(struct mx_align_adapt *a, size_t tokens, size_t bands)
{
    *a = (struct mx_align_adapt){.tokens = tokens, .bands = bands};
    a->sums = mx_alloc((1 + tokens) * (bands + 1), sizeof *a->sums);
    return a->sums == NULL ? MX_ERR_NO_MEMORY : 0;
}

void mx_align_adapt_release(struct mx_align_adapt *a)
{
    mx_free(a->sums);
    *a = (struct mx_align_adapt){0};
}

void mx_align_adapt_clear(struct mx_align_adapt *a)
{
    memset(a->sums, 0, (1 + a->tokens) * (a->bands + 1) * sizeof *a->sums);
}

void mx_align_adapt_add(struct mx_align_adapt *a, int32_t token, const float *frame, const float *mean)
{
    const size_t bands = a->bands;
    double *const all = a->sums, *const own = a->sums + (1 + (size_t)token) * (bands + 1);
    for (size_t k = 0; k < bands; k++) {
        own[k] += (double)(frame[k] - mean[k]);
        all[k] += (double)(frame[k] - mean[k]);
    }
    own[bands]++;
    all[bands]++;
}

void mx_align_adapt_move(const struct mx_align_adapt *a, const int32_t *tokens, int32_t count, float *means)
{
    const size_t bands = a->bands;
    const double all = a->sums[bands] + ALL;
    for (int32_t t = 0; t < count; t++) {
        const double *const own = a->sums + (1 + (size_t)tokens[t]) * (bands + 1);
        float *const mean = means + (size_t)t * bands;
        for (size_t k = 0; k < bands; k++)
            mean[k] += (float)((own[k] + TOKEN * a->sums[k] / all) / (own[bands] + TOKEN));
    }
}

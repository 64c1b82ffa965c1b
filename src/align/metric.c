/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Metrics, see metric.h.
 */
#include "align/metric.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "myxtts/error.h"

#define FEW   500.0 /* frames that weigh as much as the prior: equal, uncorrelated bands */
#define FLOOR 0.1   /* of the mean variance, in every direction */

int mx_align_metric_open(struct mx_align_metric *m, size_t bands)
{
    *m = (struct mx_align_metric){.bands = bands};
    m->white = mx_alloc(2 * bands * bands, sizeof *m->white);
    if (m->white == NULL) return MX_ERR_NO_MEMORY;
    m->turned = m->white + bands * bands;
    for (size_t i = 0; i < bands; i++) m->white[i * bands + i] = m->turned[i * bands + i] = 1;
    return 0;
}

void mx_align_metric_release(struct mx_align_metric *m)
{
    mx_free(m->white);
    *m = (struct mx_align_metric){0};
}

/* out [count, bands] = rows · matrix. */
static void rows_multiply(const float *rows, size_t count, const float *matrix, size_t bands, float *out)
{
    memset(out, 0, count * bands * sizeof *out);
    for (size_t i = 0; i < count; i++) {
        float *restrict const to = out + i * bands;
        for (size_t k = 0; k < bands; k++) {
            const float x = rows[i * bands + k], *restrict const by = matrix + k * bands;
            for (size_t j = 0; j < bands; j++) to[j] += x * by[j];
        }
    }
}

void mx_align_metric_whiten(const struct mx_align_metric *m, const float *rows, size_t count, float *out)
{
    rows_multiply(rows, count, m->turned, m->bands, out);
}

void mx_align_metric_turn(const struct mx_align_metric *m, const float *rows, size_t count, float *out)
{
    rows_multiply(rows, count, m->white, m->bands, out);
}

/* ---- learning ---- */

/* Cholesky's root of the lower triangle, in place. */
static int root_find(double *a, size_t bands)
{
    for (size_t i = 0; i < bands; i++)
        for (size_t j = 0; j <= i; j++) {
            double sum = a[i * bands + j];
            for (size_t k = 0; k < j; k++) sum -= a[i * bands + k] * a[j * bands + k];
            if (i == j && !(sum > 0))
                return MX_FAIL(MX_ERR_DATA, "is the voice damaged? choose another one with '--voice'",
                               "the voice cannot hear the sound: its differences from speech are no numbers");
            a[i * bands + j] = i == j ? sqrt(sum) : sum / a[j * bands + j];
        }
    return 0;
}

/* The inverse of a lower triangle, in place. */
static void root_invert(double *a, size_t bands)
{
    for (size_t j = 0; j < bands; j++) {
        a[j * bands + j] = 1 / a[j * bands + j];
        for (size_t i = j + 1; i < bands; i++) {
            double sum = 0;
            for (size_t k = j; k < i; k++) sum -= a[i * bands + k] * a[k * bands + j];
            a[i * bands + j] = sum / a[i * bands + i];
        }
    }
}

/* Mean square distance of rows from their mean. */
static double spread(const float *rows, size_t count, size_t bands)
{
    double sum = 0;
    for (size_t k = 0; k < bands; k++) {
        double mean = 0, squares = 0;
        for (size_t i = 0; i < count; i++) {
            const double x = (double)rows[i * bands + k];
            mean += x / (double)count;
            squares += x * x / (double)count;
        }
        sum += squares - mean * mean;
    }
    return sum;
}

static int metric_scale(struct mx_align_metric *m, const float *means, size_t count)
{
    float *const whitened = mx_alloc(count * m->bands, sizeof *whitened);
    if (whitened == NULL) return MX_ERR_NO_MEMORY;
    mx_align_metric_whiten(m, means, count, whitened);
    const double now = spread(whitened, count, m->bands), plain = spread(means, count, m->bands);
    const float by = now > 0 && plain > 0 ? (float)sqrt(plain / now) : 1;
    for (size_t i = 0; i < 2 * m->bands * m->bands; i++) m->white[i] *= by;
    mx_free(whitened);
    return 0;
}

int mx_align_metric_learn(struct mx_align_metric *m, const double *products, int64_t frames, const float *means,
                          size_t count)
{
    const size_t bands = m->bands;
    double *const root = mx_alloc(bands * bands, sizeof *root);
    double mean = 0;
    int rc = 0;
    if (root == NULL) return MX_ERR_NO_MEMORY;
    for (size_t i = 0; i < bands; i++) mean += products[i * bands + i];
    if (mean == 0) goto out;
    mean /= (double)frames * (double)bands;
    for (size_t i = 0; i < bands; i++)
        for (size_t j = 0; j <= i; j++)
            root[i * bands + j] = (products[i * bands + j] + (i == j ? FEW * mean : 0)) / ((double)frames + FEW) +
                                  (i == j ? FLOOR * mean : 0);
    MX_TRY(root_find(root, bands));
    root_invert(root, bands);
    for (size_t i = 0; i < bands; i++)
        for (size_t j = 0; j <= i; j++) m->white[i * bands + j] = m->turned[j * bands + i] = (float)root[i * bands + j];
    MX_TRY(metric_scale(m, means, count));
out:
    mx_free(root);
    return rc;
}

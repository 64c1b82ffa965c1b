/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The Mahalanobis distance between frames and means. Differences that correctly aligned frames have, too (loudness, tilt),
 * carry little information; with C their covariance, the distance of a frame m from a mean u is (m - u)·C⁻¹(m - u). With
 * the Cholesky factor C = R Rᵀ that is the Euclidean distance of R⁻¹m and R⁻¹u (whitening).
 *
 * Memory: owns its matrix.
 */
#ifndef MX_ALIGN_METRIC_H
#define MX_ALIGN_METRIC_H

#include <stddef.h>
#include <stdint.h>

struct mx_align_metric {
    size_t bands;
    float *white, *turned; /* [bands, bands]: R⁻¹, and its transpose */
};

/* The plain distance. */
int mx_align_metric_open(struct mx_align_metric *metric, size_t bands);
void mx_align_metric_release(struct mx_align_metric *metric);
/* From the sums of products of differences [bands, bands] (lower triangle) of `frames` frames; the plain distance if there
 * are no differences. `means` [count, bands] are as far from each other under the new metric as under the plain one, so
 * that costs in nats keep their meaning. MX_ERR_DATA if the sums are no numbers. */
int mx_align_metric_learn(struct mx_align_metric *metric, const double *products, int64_t frames, const float *means,
                          size_t count);

/* out [count, bands] = R⁻¹ of each row. */
void mx_align_metric_whiten(const struct mx_align_metric *metric, const float *rows, size_t count, float *out);
/* out [count, bands] = R⁻ᵀ of each row u: the product of a frame m with it is that of R⁻¹m and u. */
void mx_align_metric_turn(const struct mx_align_metric *metric, const float *rows, size_t count, float *out);

#endif

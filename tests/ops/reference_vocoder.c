/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The references of the operations that only the vocoder needs.
 */
#include <math.h>

#include "base/alloc.h"
#include "ops/reference.h"

/* ---- depthwise convolution ---- */

REFERENCE(depthwise)
{
    REFERENCE_ARGS(depthwise);
    REFERENCE_TENSOR(x);
    REFERENCE_TENSOR(w);
    REFERENCE_TENSOR(bias);
    REFERENCE_TENSOR(y);
    for (int s = 0; s < c->sequences; s++)
        for (int64_t r = c->ends[s]; r < c->ends[s + 1]; r++)
            for (int64_t i = 0; i < a->n; i++) {
                double sum = bias[i];
                for (int64_t t = 0; t < a->taps; t++) {
                    const int64_t from = r + t - a->taps / 2;
                    if (from >= c->ends[s] && from < c->ends[s + 1]) sum += w[t * a->n + i] * x[from * a->n + i];
                }
                y[r * a->n + i] = sum;
            }
}

REFERENCE(depthwise_grad)
{
    REFERENCE_ARGS(depthwise_grad);
    REFERENCE_TENSOR(dy);
    REFERENCE_TENSOR(x);
    REFERENCE_TENSOR(w);
    REFERENCE_TENSOR(residual);
    REFERENCE_TENSOR(dx);
    REFERENCE_TENSOR(dw);
    REFERENCE_TENSOR(dbias);
    for (int64_t i = 0; i < a->rows.rows * a->n; i++) dx[i] = residual ? residual[i] : 0;
    for (int s = 0; s < c->sequences; s++)
        for (int64_t r = c->ends[s]; r < c->ends[s + 1]; r++)
            for (int64_t i = 0; i < a->n; i++) {
                const double g = dy[r * a->n + i];
                dbias[i] += g;
                for (int64_t t = 0; t < a->taps; t++) {
                    const int64_t from = r + t - a->taps / 2;
                    if (from < c->ends[s] || from >= c->ends[s + 1]) continue;
                    dw[t * a->n + i] += x[from * a->n + i] * g;
                    dx[from * a->n + i] += w[t * a->n + i] * g;
                }
            }
}

/* ---- pitch_loss ---- */

REFERENCE(pitch_loss)
{
    REFERENCE_ARGS(pitch_loss);
    REFERENCE_TENSOR(logits);
    REFERENCE_TENSOR(pitch);
    REFERENCE_TENSOR(dlogits);
    double *sums = reference_tensor(c, values, "values");
    const int64_t classes = a->classes, n = classes + 1;
    double *label = reference_take(n);
    for (int s = 0; s < c->sequences; s++) {
        double loss = 0;
        for (int64_t r = c->ends[s]; r < c->ends[s + 1]; r++) {
            const double range = log((double)a->high_hz / (double)a->low_hz), *x = logits + r * n;
            double sum = 0, all = 0;
            for (int64_t i = 0; i < n; i++) label[i] = pitch[r] > 0 ? 0 : (double)(i == classes);
            for (int64_t i = 0; pitch[r] > 0 && i < classes; i++) {
                const double part = fmax(0, fmin(1, log(pitch[r] / (double)a->low_hz) / range));
                const double d = (double)i - part * (double)(classes - 1);
                label[i] = exp(-0.5 * d * d);
            }
            for (int64_t i = 0; i < n; i++) sum += label[i];
            for (int64_t i = 0; i < n; i++) all += exp(x[i]);
            for (int64_t i = 0; i < n; i++) {
                loss += label[i] / sum * (log(all) - x[i]);
                if (dlogits) dlogits[r * n + i] = (double)a->factor * (exp(x[i]) / all - label[i] / sum);
            }
        }
        sums[s] = (double)a->scale * loss;
    }
    mx_free(label);
}

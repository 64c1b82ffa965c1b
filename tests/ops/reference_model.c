/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The references of the alignment (with a whole table of totals) and of the losses of each utterance.
 */
#include <math.h>

#include "ops/reference.h"

/* ---- align ---- */

static double likelihood(const double *x, const double *y, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += (x[i] - y[i]) * (x[i] - y[i]);
    return -0.5 * sum;
}

/* durations of one sequence with at least as many frames as tokens: best[f][t] of all ways, then back. */
static void best_way(const double *mean, const double *mel, int64_t tokens, int64_t frames, int64_t n, double diagonal,
                     double *durations)
{
    double *best = reference_take(frames * tokens);
    for (int64_t f = 0; f < frames; f++)
        for (int64_t t = 0; t < tokens; t++) {
            const double stay = f > 0 ? best[(f - 1) * tokens + t] : (t == 0 ? 0 : -(double)INFINITY);
            const double come = f > 0 && t > 0 ? best[(f - 1) * tokens + t - 1] : -(double)INFINITY;
            const double off = ((double)f + 0.5) * (double)tokens / (double)frames - ((double)t + 0.5);
            best[f * tokens + t] = fmax(stay, come) + likelihood(mean + t * n, mel + f * n, n) - diagonal * off * off;
        }
    int64_t t = tokens - 1;
    for (int64_t f = frames - 1; f >= 0; f--) {
        durations[t]++;
        if (f > 0 && t > 0 && best[(f - 1) * tokens + t - 1] > best[(f - 1) * tokens + t]) t--;
    }
    mx_free(best);
}

REFERENCE(align)
{
    REFERENCE_ARGS(align);
    REFERENCE_TENSOR(mean);
    REFERENCE_TENSOR(mel);
    REFERENCE_TENSOR(durations);
    REFERENCE_TENSOR(logs);
    for (int s = 0; s < c->sequences; s++) {
        const int64_t first = c->ends[s], tokens = c->ends[s + 1] - first;
        const int64_t frame = c->samples[s], frames = c->samples[s + 1] - frame;
        double *own = durations + first;
        for (int64_t t = 0; t < tokens; t++)
            own[t] = floor((double)((t + 1) * frames) / (double)tokens) - floor((double)(t * frames) / (double)tokens);
        if (frames >= tokens && tokens > 0) {
            for (int64_t t = 0; t < tokens; t++) own[t] = 0;
            best_way(mean + first * a->n, mel + frame * a->n, tokens, frames, a->n, (double)a->diagonal, own);
        }
        for (int64_t t = first; logs && t < first + tokens; t++) logs[t] = log(1 + durations[t]);
    }
}

/* ---- sequence_loss ---- */

REFERENCE(sequence_loss)
{
    REFERENCE_ARGS(sequence_loss);
    REFERENCE_TENSOR(prediction);
    REFERENCE_TENSOR(target);
    REFERENCE_TENSOR(dprediction);
    double *sums = reference_tensor(c, values, "values");
    for (int s = 0; s < c->sequences; s++) {
        double sum = 0;
        for (int64_t i = c->ends[s] * a->n; i < c->ends[s + 1] * a->n; i++) {
            const double d = prediction[i] - target[i];
            sum += a->kind == MX_LOSS_L1 ? fabs(d) : d * d;
            if (!dprediction) continue;
            const double slope = a->kind == MX_LOSS_L1 ? (double)((d > 0) - (d < 0)) : 2 * d;
            dprediction[i] = (double)a->factor * slope;
        }
        sums[s] = (double)a->scale * sum;
    }
}

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The references of the operations on packed sequences and segments.
 */
#include <math.h>
#include <string.h>

#include "ops/reference.h"

static double dot(const double *x, const double *y, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i] * y[i];
    return sum;
}

/* ---- rotary positions ---- */

REFERENCE(rotary_table)
{
    REFERENCE_ARGS(rotary_table);
    REFERENCE_TENSOR(table);
    for (int64_t p = 0; p < a->positions; p++) {
        for (int64_t i = 0; i < a->head_width / 2; i++) {
            const double angle = (double)p * pow((double)a->base, -2.0 * (double)i / (double)a->head_width);
            table[(p * (a->head_width / 2) + i) * 2] = cos(angle);
            table[(p * (a->head_width / 2) + i) * 2 + 1] = sin(angle);
        }
    }
}

REFERENCE(rotary)
{
    REFERENCE_ARGS(rotary);
    REFERENCE_TENSOR(x);
    REFERENCE_TENSOR(table);
    REFERENCE_TENSOR(offsets);
    const int64_t half = a->head_width / 2;
    for (int s = 0; s < a->rows.count; s++) {
        for (int64_t r = (int64_t)offsets[s]; r < (int64_t)offsets[s + 1]; r++) {
            const int64_t position = r - (int64_t)offsets[s];
            for (int64_t h = 0; h < a->heads; h++) {
                double *head = x + r * a->stride + h * a->head_width;
                for (int64_t i = 0; i < half; i++) {
                    const double cosine = table[(position * half + i) * 2];
                    const double sine = table[(position * half + i) * 2 + 1] * (a->inverse ? -1 : 1);
                    const double u = head[i], v = head[i + half];
                    head[i] = u * cosine - v * sine;
                    head[i + half] = u * sine + v * cosine;
                }
            }
        }
    }
}

/* ---- attention ---- */

REFERENCE(attention)
{
    REFERENCE_ARGS(attention);
    REFERENCE_TENSOR(q);
    REFERENCE_TENSOR(k);
    REFERENCE_TENSOR(v);
    REFERENCE_TENSOR(out);
    REFERENCE_TENSOR(lse);
    REFERENCE_TENSOR(offsets);
    double *score = reference_take(a->rows.max_rows);
    for (int s = 0; s < a->rows.count; s++) {
        const int64_t first = (int64_t)offsets[s], last = (int64_t)offsets[s + 1];
        for (int64_t h = 0; h < a->heads; h++) {
            const int64_t column = h * a->head_width;
            for (int64_t i = first; i < last; i++) {
                double most = -(double)INFINITY, sum = 0;
                for (int64_t j = first; j < last; j++) {
                    score[j - first] =
                        (double)a->factor * dot(q + i * a->stride + column, k + j * a->stride + column, a->head_width);
                    if (score[j - first] > most) most = score[j - first];
                }
                for (int64_t j = first; j < last; j++) sum += exp(score[j - first] - most);
                lse[h * a->rows.rows + i] = most + log(sum);
                double *to = out + i * a->out_stride + column;
                for (int64_t l = 0; l < a->head_width; l++) to[l] = 0;
                for (int64_t j = first; j < last; j++) {
                    const double p = exp(score[j - first] - most) / sum;
                    for (int64_t l = 0; l < a->head_width; l++) to[l] += p * v[j * a->stride + column + l];
                }
            }
        }
    }
    mx_free(score);
}

REFERENCE(attention_grad)
{
    REFERENCE_ARGS(attention_grad);
    REFERENCE_TENSOR(q);
    REFERENCE_TENSOR(k);
    REFERENCE_TENSOR(v);
    REFERENCE_TENSOR(out);
    REFERENCE_TENSOR(lse);
    REFERENCE_TENSOR(dout);
    REFERENCE_TENSOR(dq);
    REFERENCE_TENSOR(dk);
    REFERENCE_TENSOR(dv);
    REFERENCE_TENSOR(offsets);
    const int64_t d = a->head_width, width = a->heads * d;
    for (int64_t r = 0; r < a->rows.rows; r++)
        for (int64_t l = 0; l < width; l++)
            dq[r * a->grad_stride + l] = dk[r * a->grad_stride + l] = dv[r * a->grad_stride + l] = 0;
    for (int s = 0; s < a->rows.count; s++) {
        const int64_t first = (int64_t)offsets[s], last = (int64_t)offsets[s + 1];
        for (int64_t h = 0; h < a->heads; h++) {
            for (int64_t i = first; i < last; i++) {
                const double *qi = q + i * a->stride + h * d, *di = dout + i * a->out_stride + h * d;
                double *dqi = dq + i * a->grad_stride + h * d;
                const double inner = dot(di, out + i * a->out_stride + h * d, d);
                for (int64_t j = first; j < last; j++) {
                    const double *kj = k + j * a->stride + h * d, *vj = v + j * a->stride + h * d;
                    double *dkj = dk + j * a->grad_stride + h * d, *dvj = dv + j * a->grad_stride + h * d;
                    const double p = exp((double)a->factor * dot(qi, kj, d) - lse[h * a->rows.rows + i]);
                    const double ds = p * (dot(di, vj, d) - inner) * (double)a->factor;
                    for (int64_t l = 0; l < d; l++) {
                        dvj[l] += p * di[l];
                        dqi[l] += ds * kj[l];
                        dkj[l] += ds * qi[l];
                    }
                }
            }
        }
    }
}

/* ---- convolution ---- */

/* The row that tap `tap` of row `row` reads, or -1 when it lies outside the row's sequence. */
static int64_t tap_row(const double *offsets, int32_t count, int64_t row, int64_t shift)
{
    for (int s = 0; s < count; s++)
        if (row >= (int64_t)offsets[s] && row < (int64_t)offsets[s + 1])
            return row + shift >= (int64_t)offsets[s] && row + shift < (int64_t)offsets[s + 1] ? row + shift : -1;
    return -1;
}

REFERENCE(conv1d)
{
    REFERENCE_ARGS(conv1d);
    REFERENCE_TENSOR(x);
    REFERENCE_TENSOR(w);
    REFERENCE_TENSOR(y);
    REFERENCE_TENSOR(bias);
    REFERENCE_TENSOR(pre);
    REFERENCE_TENSOR(residual);
    REFERENCE_TENSOR(offsets);
    reference_round(c, values, a->precision, "x");
    reference_round(c, values, a->precision, "w");
    const int64_t in = a->in_width, out = a->out_width;
    double *sum = reference_take(out);
    for (int64_t r = 0; r < a->rows.rows; r++) {
        memset(sum, 0, (size_t)out * sizeof *sum);
        for (int64_t tap = 0; tap < a->taps; tap++) {
            const int64_t from = tap_row(offsets, a->rows.count, r, tap - a->taps / 2);
            for (int64_t i = 0; from >= 0 && i < in; i++)
                for (int64_t o = 0; o < out; o++) sum[o] += x[from * in + i] * w[(tap * in + i) * out + o];
        }
        reference_epilogue(&a->epilogue, sum, out, bias, pre ? pre + r * out : NULL,
                           residual ? residual + r * out : NULL, y + r * out);
    }
    mx_free(sum);
}

REFERENCE(conv1d_grad_input)
{
    REFERENCE_ARGS(conv1d_grad_input);
    REFERENCE_TENSOR(dy);
    REFERENCE_TENSOR(w);
    REFERENCE_TENSOR(dx);
    REFERENCE_TENSOR(bias);
    REFERENCE_TENSOR(pre);
    REFERENCE_TENSOR(residual);
    REFERENCE_TENSOR(offsets);
    reference_round(c, values, a->precision, "dy");
    reference_round(c, values, a->precision, "w");
    const int64_t in = a->in_width, out = a->out_width;
    double *sum = reference_take(in);
    for (int64_t r = 0; r < a->rows.rows; r++) {
        memset(sum, 0, (size_t)in * sizeof *sum);
        for (int64_t tap = 0; tap < a->taps; tap++) {
            const int64_t from = tap_row(offsets, a->rows.count, r, a->taps / 2 - tap);
            for (int64_t i = 0; from >= 0 && i < in; i++) sum[i] += dot(dy + from * out, w + (tap * in + i) * out, out);
        }
        reference_epilogue(&a->epilogue, sum, in, bias, pre ? pre + r * in : NULL, residual ? residual + r * in : NULL,
                           dx + r * in);
    }
    mx_free(sum);
}

REFERENCE(conv1d_grad_weight)
{
    REFERENCE_ARGS(conv1d_grad_weight);
    REFERENCE_TENSOR(x);
    REFERENCE_TENSOR(dy);
    REFERENCE_TENSOR(dw);
    REFERENCE_TENSOR(offsets);
    reference_round(c, values, a->precision, "x");
    reference_round(c, values, a->precision, "dy");
    const int64_t in = a->in_width, out = a->out_width;
    if (!a->accumulate) memset(dw, 0, (size_t)(a->taps * in * out) * sizeof *dw);
    for (int64_t tap = 0; tap < a->taps; tap++) {
        for (int64_t r = 0; r < a->rows.rows; r++) {
            const int64_t from = tap_row(offsets, a->rows.count, r, tap - a->taps / 2);
            for (int64_t i = 0; from >= 0 && i < in; i++)
                for (int64_t o = 0; o < out; o++) dw[(tap * in + i) * out + o] += x[from * in + i] * dy[r * out + o];
        }
    }
}

/* ---- segments ---- */

REFERENCE(durations_scan)
{
    REFERENCE_ARGS(durations_scan);
    REFERENCE_TENSOR(durations);
    REFERENCE_TENSOR(ends);
    ends[0] = 0;
    for (int64_t i = 0; i < a->count; i++) ends[i + 1] = ends[i] + durations[i];
}

REFERENCE(expand)
{
    REFERENCE_ARGS(expand);
    REFERENCE_TENSOR(x);
    REFERENCE_TENSOR(ends);
    REFERENCE_TENSOR(y);
    for (int64_t s = 0; s < a->segments; s++)
        for (int64_t r = (int64_t)ends[s]; r < (int64_t)ends[s + 1]; r++)
            for (int64_t i = 0; i < a->n; i++)
                y[r * a->n + i] = (a->accumulate ? y[r * a->n + i] : 0) + x[s * a->n + i];
}

REFERENCE(expand_grad)
{
    REFERENCE_ARGS(expand_grad);
    REFERENCE_TENSOR(dy);
    REFERENCE_TENSOR(ends);
    REFERENCE_TENSOR(dx);
    for (int64_t s = 0; s < a->segments; s++) {
        for (int64_t i = 0; i < a->n; i++) {
            double sum = 0;
            for (int64_t r = (int64_t)ends[s]; r < (int64_t)ends[s + 1]; r++) sum += dy[r * a->n + i];
            dx[s * a->n + i] = sum;
        }
    }
}

REFERENCE(segment_mean)
{
    REFERENCE_ARGS(segment_mean);
    REFERENCE_TENSOR(x);
    REFERENCE_TENSOR(ends);
    REFERENCE_TENSOR(y);
    for (int64_t s = 0; s < a->segments; s++) {
        for (int64_t i = 0; i < a->n; i++) {
            double sum = 0;
            for (int64_t r = (int64_t)ends[s]; r < (int64_t)ends[s + 1]; r++) sum += x[r * a->n + i];
            y[s * a->n + i] = ends[s + 1] > ends[s] ? sum / (ends[s + 1] - ends[s]) : 0;
        }
    }
}

REFERENCE(attentive_pool)
{
    REFERENCE_ARGS(attentive_pool);
    REFERENCE_TENSOR(x);
    REFERENCE_TENSOR(score);
    REFERENCE_TENSOR(y);
    REFERENCE_TENSOR(w);
    REFERENCE_TENSOR(offsets);
    for (int s = 0; s < a->rows.count; s++) {
        const int64_t first = (int64_t)offsets[s], last = (int64_t)offsets[s + 1];
        double most = -(double)INFINITY, sum = 0;
        for (int64_t r = first; r < last; r++)
            if (score[r] > most) most = score[r];
        for (int64_t r = first; r < last; r++) sum += exp(score[r] - most);
        for (int64_t i = 0; i < a->n; i++) y[s * a->n + i] = 0;
        for (int64_t r = first; r < last; r++) {
            w[r] = exp(score[r] - most) / sum;
            for (int64_t i = 0; i < a->n; i++) y[s * a->n + i] += w[r] * x[r * a->n + i];
        }
    }
}

REFERENCE(attentive_pool_grad)
{
    REFERENCE_ARGS(attentive_pool_grad);
    REFERENCE_TENSOR(dy);
    REFERENCE_TENSOR(x);
    REFERENCE_TENSOR(y);
    REFERENCE_TENSOR(w);
    REFERENCE_TENSOR(dx);
    REFERENCE_TENSOR(dscore);
    REFERENCE_TENSOR(offsets);
    for (int s = 0; s < a->rows.count; s++) {
        const double *g = dy + s * a->n;
        for (int64_t r = (int64_t)offsets[s]; r < (int64_t)offsets[s + 1]; r++) {
            for (int64_t i = 0; i < a->n; i++) dx[r * a->n + i] = w[r] * g[i];
            dscore[r] = w[r] * (dot(g, x + r * a->n, a->n) - dot(g, y + s * a->n, a->n));
        }
    }
}

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Loading cases into doubles, and the references of the operations that know nothing of sequences.
 */
#include "ops/reference.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

static void (*const references[MX_OP_COUNT])(const struct mx_op_case *, double *const[MX_OP_TENSORS_MAX]) = {
#define OP_SOLO(name) [MX_OP_##name] = reference_##name,
#define OP_PAIR(name) OP_SOLO(name) OP_SOLO(name##_grad)
    MX_OP_LIST(OP_PAIR, OP_SOLO)
#undef OP_PAIR
#undef OP_SOLO
};

double *reference_take(int64_t count)
{
    double *ptr = mx_alloc((size_t)count, sizeof *ptr);
    if (!ptr) {
        fprintf(stderr, "out of memory for a reference\n");
        abort();
    }
    return ptr;
}

void reference_load(const struct mx_op_case *c, double *values[MX_OP_TENSORS_MAX])
{
    for (int s = 0; s < c->storage_count; s++) {
        const struct mx_op_storage *storage = &c->storages[s];
        values[s] = reference_take(storage->count);
        for (int64_t i = 0; i < storage->count; i++) {
            union {
                uint32_t u;
                float f;
            } bf16 = {0};
            switch (storage->type) {
            case MX_OP_F32:
                values[s][i] = (double)((float *)storage->data)[i];
                break;
            case MX_OP_I32:
                values[s][i] = ((int32_t *)storage->data)[i];
                break;
            case MX_OP_BF16:
                bf16.u = (uint32_t)((uint16_t *)storage->data)[i] << 16;
                values[s][i] = (double)bf16.f;
                break;
            }
        }
    }
}

void reference_unload(const struct mx_op_case *c, double *values[MX_OP_TENSORS_MAX])
{
    for (int s = 0; s < c->storage_count; s++) mx_free(values[s]);
}

void reference_run(const struct mx_op_case *c, double *const values[MX_OP_TENSORS_MAX])
{
    references[c->op](c, values);
}

double *reference_tensor(const struct mx_op_case *c, double *const values[MX_OP_TENSORS_MAX], const char *name)
{
    const struct mx_op_tensor *tensor = mx_op_case_tensor(c, name);
    return tensor ? values[tensor->storage] + tensor->offset : NULL;
}

static bool value_fits(const struct mx_op_storage *storage, const struct mx_op_output *output, int64_t i, double exact,
                       double allowed)
{
    const double value =
        storage->type == MX_OP_I32 ? (double)((const int32_t *)output->bits)[i] : (double)output->values[i];
    if (isnan(exact)) return isnan(value);
    if (allowed > 0 && storage->type == MX_OP_BF16) allowed += fabs(exact) * 0x1p-8 * 1.01;
    if (allowed == 0 || isinf(exact)) return value == (storage->type == MX_OP_I32 ? exact : (double)(float)exact);
    return fabs(value - exact) <= allowed;
}

const char *reference_far(const struct mx_op_case *c, const struct mx_op_result *result, double slack)
{
    static char text[256];
    const char *far = NULL;
    double *values[MX_OP_TENSORS_MAX];
    reference_load(c, values);
    reference_run(c, values);
    for (int o = 0; o < result->count && !far; o++) {
        const struct mx_op_output *output = &result->outputs[o];
        const struct mx_op_storage *storage = &c->storages[output->storage];
        const double *exact = values[output->storage];
        double scale = 1;
        for (int64_t i = 0; i < output->count; i++)
            if (isfinite(exact[i]) && fabs(exact[i]) > scale) scale = fabs(exact[i]);
        for (int64_t i = 0; i < output->count && !far && !storage->scratch; i++) {
            if (value_fits(storage, output, i, exact[i], slack * mx_op_bound(c) * scale)) continue;
            snprintf(text, sizeof text, "%s seed %llu: '%s' element %lld of %lld is %.9g, should be %.9g (scale %.3g)",
                     mx_op_name(c->op), (unsigned long long)c->seed, output->name, (long long)i,
                     (long long)output->count, (double)output->values[i], exact[i], scale);
            far = text;
        }
    }
    reference_unload(c, values);
    return far;
}

/* ---- bf16 ---- */

/* The nearest number with 8 significant bits (fewer below 2^-126), ties to even. */
static double bf16_nearest(double x)
{
    int exponent;
    if (!isfinite(x) || x == 0) return x;
    frexp(x, &exponent);
    const double step = ldexp(1, exponent - 8 > -133 ? exponent - 8 : -133);
    const double near = nearbyint(x / step) * step;
    return fabs(near) >= ldexp(1, 128) ? copysign((double)INFINITY, x) : near;
}

void reference_round(const struct mx_op_case *c, double *const values[MX_OP_TENSORS_MAX], enum mx_precision precision,
                     const char *name)
{
    const struct mx_op_tensor *tensor = mx_op_case_tensor(c, name);
    double *value = reference_tensor(c, values, name);
    for (int64_t i = 0; precision == MX_PRECISION_BF16 && i < tensor->need; i++) value[i] = bf16_nearest(value[i]);
}

/* ---- activations and epilogue ---- */

double reference_act(enum mx_activation act, double x)
{
    if (act == MX_ACT_RELU) return x > 0 ? x : 0;
    if (act == MX_ACT_GELU) return x / 2 * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    return x;
}

double reference_act_slope(enum mx_activation act, double x)
{
    if (act == MX_ACT_RELU) return x > 0 ? 1 : 0;
    if (act == MX_ACT_GELU) {
        const double t = tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x));
        return (1 + t) / 2 + x / 2 * (1 - t * t) * sqrt(2 / M_PI) * (1 + 3 * 0.044715 * x * x);
    }
    return 1;
}

void reference_epilogue(const struct mx_epilogue *e, const double *product, int64_t n, const double *bias, double *pre,
                        const double *residual, double *c_row)
{
    for (int64_t j = 0; j < n; j++) {
        double y = product[j];
        if (e->act_grad) {
            y *= reference_act_slope(e->act, pre[j]);
        } else {
            if (bias) y += bias[j];
            if (pre) pre[j] = y;
            y = reference_act(e->act, y);
        }
        if (residual) y += residual[j];
        c_row[j] = e->accumulate ? c_row[j] + y : y;
    }
}

/* ---- dense operations ---- */

REFERENCE(matmul)
{
    REFERENCE_ARGS(matmul);
    const double *ma = reference_tensor(c, values, "a"), *mb = reference_tensor(c, values, "b");
    double *mc = reference_tensor(c, values, "c");
    REFERENCE_TENSOR(bias);
    REFERENCE_TENSOR(pre);
    REFERENCE_TENSOR(residual);
    reference_round(c, values, a->precision, "a");
    reference_round(c, values, a->precision, "b");
    const int64_t lda = a->lda ? a->lda : a->transpose_a ? a->m : a->k;
    const int64_t ldb = a->ldb ? a->ldb : a->transpose_b ? a->k : a->n;
    const int64_t ldc = a->ldc ? a->ldc : a->n;
    double *row = reference_take(a->n);
    for (int64_t i = 0; i < a->m; i++) {
        memset(row, 0, (size_t)a->n * sizeof *row);
        for (int64_t l = 0; l < a->k; l++) {
            const double left = a->transpose_a ? ma[l * lda + i] : ma[i * lda + l];
            for (int64_t j = 0; j < a->n; j++) row[j] += left * (a->transpose_b ? mb[j * ldb + l] : mb[l * ldb + j]);
        }
        const int64_t at = i * ldc;
        reference_epilogue(&a->epilogue, row, a->n, bias, pre ? pre + at : NULL, residual ? residual + at : NULL,
                           mc + at);
    }
    mx_free(row);
}

REFERENCE(bias_grad)
{
    REFERENCE_ARGS(bias_grad);
    REFERENCE_TENSOR(dy);
    REFERENCE_TENSOR(db);
    for (int64_t j = 0; j < a->n; j++) {
        double sum = 0;
        for (int64_t r = 0; r < a->rows; r++) sum += dy[r * a->n + j];
        db[j] = a->accumulate ? db[j] + sum : sum;
    }
}

REFERENCE(layer_norm)
{
    REFERENCE_ARGS(layer_norm);
    REFERENCE_TENSOR(x);
    REFERENCE_TENSOR(gamma);
    REFERENCE_TENSOR(beta);
    REFERENCE_TENSOR(y);
    REFERENCE_TENSOR(stats);
    for (int64_t r = 0; r < a->rows; r++) {
        double mean = 0, var = 0;
        for (int64_t i = 0; i < a->n; i++) mean += x[r * a->n + i] / (double)a->n;
        for (int64_t i = 0; i < a->n; i++) var += pow(x[r * a->n + i] - mean, 2) / (double)a->n;
        const double inverse = 1 / sqrt(var + (double)a->eps);
        for (int64_t i = 0; i < a->n; i++) y[r * a->n + i] = (x[r * a->n + i] - mean) * inverse * gamma[i] + beta[i];
        stats[r * 2] = mean;
        stats[r * 2 + 1] = inverse;
    }
}

REFERENCE(layer_norm_grad)
{
    REFERENCE_ARGS(layer_norm_grad);
    REFERENCE_TENSOR(dy);
    REFERENCE_TENSOR(x);
    REFERENCE_TENSOR(gamma);
    REFERENCE_TENSOR(stats);
    REFERENCE_TENSOR(dx);
    REFERENCE_TENSOR(dgamma);
    REFERENCE_TENSOR(dbeta);
    REFERENCE_TENSOR(residual);
    for (int64_t r = 0; r < a->rows; r++) {
        const double mean = stats[r * 2], inverse = stats[r * 2 + 1], n = (double)a->n;
        double sum_g = 0, sum_gh = 0;
        for (int64_t i = 0; i < a->n; i++) {
            const double hat = (x[r * a->n + i] - mean) * inverse, d = dy[r * a->n + i];
            dgamma[i] += d * hat;
            dbeta[i] += d;
            sum_g += d * gamma[i];
            sum_gh += d * gamma[i] * hat;
        }
        for (int64_t i = 0; i < a->n; i++) {
            const double hat = (x[r * a->n + i] - mean) * inverse;
            double g = (dy[r * a->n + i] * gamma[i] - sum_g / n - hat * sum_gh / n) * inverse;
            if (residual) g += residual[r * a->n + i];
            dx[r * a->n + i] = g;
        }
    }
}

REFERENCE(activation)
{
    REFERENCE_ARGS(activation);
    REFERENCE_TENSOR(x);
    REFERENCE_TENSOR(y);
    for (int64_t i = 0; i < a->count; i++) y[i] = reference_act(a->act, x[i]);
}

REFERENCE(activation_grad)
{
    REFERENCE_ARGS(activation_grad);
    REFERENCE_TENSOR(dy);
    REFERENCE_TENSOR(x);
    REFERENCE_TENSOR(dx);
    for (int64_t i = 0; i < a->count; i++) dx[i] = dy[i] * reference_act_slope(a->act, x[i]);
}

REFERENCE(residual_add)
{
    REFERENCE_ARGS(residual_add);
    const double *first = reference_tensor(c, values, "a"), *second = reference_tensor(c, values, "b");
    REFERENCE_TENSOR(y);
    for (int64_t i = 0; i < a->count; i++) y[i] = first[i] + (double)a->factor * second[i];
}

REFERENCE(embedding)
{
    REFERENCE_ARGS(embedding);
    REFERENCE_TENSOR(ids);
    REFERENCE_TENSOR(table);
    REFERENCE_TENSOR(y);
    for (int64_t r = 0; r < a->rows; r++) {
        for (int64_t i = 0; i < a->n; i++) {
            const double value = (double)a->factor * table[(int64_t)ids[r] * a->n + i];
            y[r * a->n + i] = a->accumulate ? y[r * a->n + i] + value : value;
        }
    }
}

REFERENCE(embedding_grad)
{
    REFERENCE_ARGS(embedding_grad);
    REFERENCE_TENSOR(ids);
    REFERENCE_TENSOR(dy);
    REFERENCE_TENSOR(dtable);
    for (int64_t r = 0; r < a->rows; r++)
        for (int64_t i = 0; i < a->n; i++) dtable[(int64_t)ids[r] * a->n + i] += (double)a->factor * dy[r * a->n + i];
}

REFERENCE(dropout)
{
    REFERENCE_ARGS(dropout);
    REFERENCE_TENSOR(x);
    REFERENCE_TENSOR(y);
    REFERENCE_TENSOR(residual);
    for (int64_t i = 0; i < a->count; i++) {
        const double word = mx_rng_u32(a->seed, a->stream, a->index + (uint64_t)i);
        const double kept = word >= (double)a->rate * 4294967296.0 ? x[i] / (1 - (double)a->rate) : 0;
        y[i] = residual ? kept + residual[i] : kept;
    }
}

/* ---- the optimizer and flat operations ---- */

REFERENCE(grad_norm)
{
    REFERENCE_ARGS(grad_norm);
    REFERENCE_TENSOR(gradient);
    REFERENCE_TENSOR(result);
    double sum = 0;
    for (int64_t i = 0; i < a->count; i++) sum += gradient[i] * gradient[i];
    const double norm = sqrt(sum) * fabs((double)a->factor);
    const bool finite = isfinite(sum);
    result[0] = norm;
    result[1] = (double)a->factor;
    if (a->limit > 0 && norm > (double)a->limit) result[1] *= (double)a->limit / norm;
    if (!finite) result[1] = 0;
    result[2] = finite;
    result[3] = sum;
}

REFERENCE(adamw)
{
    REFERENCE_ARGS(adamw);
    REFERENCE_TENSOR(parameter);
    REFERENCE_TENSOR(gradient);
    REFERENCE_TENSOR(moment1);
    REFERENCE_TENSOR(moment2);
    REFERENCE_TENSOR(norm);
    REFERENCE_TENSOR(ema);
    const double b1 = (double)a->beta1, b2 = (double)a->beta2, step = (double)a->step;
    if (norm[2] == 0) return;
    for (int64_t i = 0; i < a->count; i++) {
        const double g = gradient[i] * norm[1];
        moment1[i] = b1 * moment1[i] + (1 - b1) * g;
        moment2[i] = b2 * moment2[i] + (1 - b2) * g * g;
        const double m = moment1[i] / (1 - pow(b1, step)), v = moment2[i] / (1 - pow(b2, step));
        const double decay = i < a->decayed ? (double)a->weight_decay * parameter[i] : 0;
        parameter[i] -= (double)a->lr * (m / (sqrt(v) + (double)a->eps) + decay);
        if (ema) ema[i] += (1 - (double)a->ema_decay) * (parameter[i] - ema[i]);
    }
}

REFERENCE(scale)
{
    REFERENCE_ARGS(scale);
    REFERENCE_TENSOR(x);
    for (int64_t i = 0; i < a->count; i++) x[i] *= (double)a->factor;
}

REFERENCE(fill)
{
    REFERENCE_ARGS(fill);
    REFERENCE_TENSOR(x);
    const bool whole = c->storages[mx_op_case_tensor(c, "x")->storage].type == MX_OP_I32;
    for (int64_t i = 0; i < a->count; i++) x[i] = whole ? (double)(int32_t)a->bits : (double)a->value;
}

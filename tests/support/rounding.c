/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Two backends at the same weights, see rounding.h.
 */
#include "support/rounding.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "base/alloc.h"
#include "base/rng.h"

#define DRAWS_LEAST 2
#define DRAWS_MOST  64 /* a move goes over an edge that is as near as rounding once in two or three times */

void rounding_move(float *values, int64_t count, uint64_t draw, double share)
{
    for (int64_t k = 0; k < count; k++)
        values[k] *= (float)(mx_rng_below(91, draw, (uint64_t)k, 2) == 1 ? 1 + share : 1 - share);
}

double rounding_share(int64_t terms, double unit)
{
    return 2 * sqrt((double)terms) * unit;
}

int64_t rounding_terms(const struct rig *rig)
{
    const int64_t across = 3 * (int64_t)mx_model_config(rig->model)->size.hidden, rows = rig->batch.frames.rows;
    return across > rows ? across : rows;
}

/* What a pass came to. */
struct pass {
    double losses[RIG_KINDS_MAX];
    float *gradients;
};

static struct pass pass_make(struct rig *rig, uint64_t step)
{
    struct pass pass;
    rig->run(rig, step, pass.losses);
    pass.gradients = rig_download(rig, rig_gradients(rig), rig->table->floats);
    return pass;
}

static double length_of(const float *a, const float *b, int64_t count)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++) {
        const double x = (double)a[i] - (b ? (double)b[i] : 0);
        sum += x * x;
    }
    return sqrt(sum);
}

/* The distances of two passes: losses first, then the gradient of each parameter. NaN is as far as can be. */
static void distances(const struct rig *rig, const struct pass *a, const struct pass *b, double *far)
{
    const struct mx_parameters *const table = rig->table;
    for (int k = 0; k < rig->kinds; k++) far[k] = fabs(a->losses[k] - b->losses[k]);
    for (int i = 0; i < table->count; i++) {
        const struct mx_parameter *const p = &table->entries[i];
        far[rig->kinds + i] = length_of(a->gradients + p->at, b->gradients + p->at, p->count);
    }
}

void rounding_compare(struct rig *here, struct rig *there, uint64_t step, double share, struct rounding_seen *seen)
{
    const struct mx_parameters *const table = here->table;
    const int kinds = here->kinds, count = kinds + table->count;
    double *const size = mx_alloc(4 * (size_t)count, sizeof *size);
    assert_non_null(size);
    double *const far = size + count, *const moved = far + count, *const now = moved + count;
    float *const weights = rig_download(here, rig_parameters(here), table->floats);
    float *const other = mx_alloc((size_t)table->floats, sizeof *other);
    assert_non_null(other);
    const struct pass own = pass_make(here, step);
    rig_upload(there, rig_parameters(there), weights, table->floats);
    const struct pass others = pass_make(there, step);
    distances(here, &own, &others, far);
    for (int k = 0; k < kinds; k++) size[k] = fabs(own.losses[k]);
    for (int i = 0; i < table->count; i++)
        size[kinds + i] = length_of(own.gradients + table->entries[i].at, NULL, table->entries[i].count);

    int wrong = 0;
    for (uint64_t draw = 0; draw < DRAWS_MOST && (draw < DRAWS_LEAST || wrong < count); draw++) {
        for (int64_t k = 0; k < table->floats; k++) other[k] = weights[k];
        rounding_move(other, table->floats, 1000 * step + draw, share);
        rig_upload(here, rig_parameters(here), other, table->floats);
        const struct pass pass = pass_make(here, step);
        distances(here, &own, &pass, now);
        mx_free(pass.gradients);
        for (int i = 0; i < count; i++) moved[i] = fmax(moved[i], now[i]);
        /* What is rounded once more itself; and twice what one of the two may err. */
        for (wrong = 0; wrong < count; wrong++)
            if (!(far[wrong] <= 2 * moved[wrong] + share * size[wrong])) break;
    }
    if (wrong < kinds)
        fail_msg("step %d: loss %d is %.9g and %.9g; moved weights change it by %.3g only", (int)step, wrong,
                 own.losses[wrong], others.losses[wrong], moved[wrong]);
    if (wrong < count)
        fail_msg("step %d: the gradients of %s are %.3g of their length apart; moved weights change it by %.3g only",
                 (int)step, table->entries[wrong - kinds].name, far[wrong] / size[wrong], moved[wrong] / size[wrong]);
    for (int i = 0; i < count; i++) {
        const double bound = 2 * moved[i] + share * size[i];
        double *const most = i < kinds ? &seen->loss_far : &seen->gradient_far;
        if (bound > 0) *most = fmax(*most, far[i] / bound);
        seen->compared++;
        seen->sharp += bound <= seen->sharpness * size[i];
    }
    rig_upload(here, rig_parameters(here), weights, table->floats);
    rig_upload(here, rig_gradients(here), own.gradients, table->floats);
    mx_free(own.gradients);
    mx_free(others.gradients);
    mx_free(weights);
    mx_free(other);
    mx_free(size);
}

void rounding_require(const struct rounding_seen *seen)
{
    print_message("%d comparisons, %d of them sharp: apart by up to %.2g (losses) and %.2g (gradients) of the bound\n",
                  seen->compared, seen->sharp, seen->loss_far, seen->gradient_far);
    if (seen->compared == 0 || 2 * seen->sharp < seen->compared)
        fail_msg("only %d of %d comparisons were sharp", seen->sharp, seen->compared);
}

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The gradient of the vocoder's network against central differences of its losses: along random directions through all
 * parameters, and single elements of every entry of the parameter table; micro-batches that add up to the gradient of
 * the whole; and the order in which the backward pass finishes parameters.
 *
 * The errors of a difference and their remedies are those of test_model_grad.c: what rounding does to a loss is
 * measured, several steps are tried, and directions go uphill. There are no corners here: the targets are far from the
 * predictions, so no difference reaches over the corner of the L1 loss.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "support/vocoder_rig.h"

#define BOUND      0.01 /* of a derivative along a direction */
#define BOUND_ONE  0.03 /* of a derivative by a single element */
#define EVIDENCE   0.25 /* largest share of a derivative that rounding may be */
#define ROUNDINGS  4    /* random choices of last places that are moved */
#define DIRECTIONS 6
#define FAR        8 /* between targets and predictions */

static const double steps[] = {3e-2, 1e-2, 3e-3, 1e-3};

struct grad {
    struct vocoder_rig rig;
    struct segment segments[SEGMENTS];
    float *parameters, *moved, *gradients; /* [floats] */
    double rounding;                       /* of the loss */
};

static double loss_at(struct grad *g)
{
    rig_upload(&g->rig.base, rig_parameters(&g->rig.base), g->moved, g->rig.base.table->floats);
    return vocoder_rig_evaluate(&g->rig).total;
}

static double loss_along(struct grad *g, const float *direction, double step)
{
    for (int64_t k = 0; k < g->rig.base.table->floats; k++) g->moved[k] = g->parameters[k] + (float)step * direction[k];
    return loss_at(g);
}

static void grad_open(struct grad *g)
{
    struct mx_vocoder_config config = vocoder_rig_config();
    /* Weights that differ, so that a loss with the other's weight is seen. */
    config.weights = (struct mx_vocoder_loss_weights){.magnitude = 0.8f, .pitch = 1.3f, .burst = 0.6f};
    vocoder_rig_open(&g->rig, &config, MX_MODEL_TRAIN, 1, true);
    segments_make(g->segments);
    for (int s = 0; s < SEGMENTS; s++)
        for (int i = 0; i < g->segments[s].frames * SEGMENT_BINS; i++)
            g->segments[s].target[i] = mx_rng_below(8, (uint64_t)s, (uint64_t)i, 3) > 0 ? -4 - 4 * FAR : -4 + 4 * FAR;
    for (int s = 0; s < SEGMENTS; s++)
        for (int i = 0; i < g->segments[s].frames * MX_VOCODER_BURST; i++)
            g->segments[s].burst[i] = mx_rng_below(9, (uint64_t)s, (uint64_t)i, 3) > 0 ? -4 * FAR : 4 * FAR;
    vocoder_rig_load(&g->rig, g->segments, SEGMENTS);
    const int64_t floats = g->rig.base.table->floats, outputs = (int64_t)g->rig.batch.frames.rows * SEGMENT_BINS;
    vocoder_rig_teach(&g->rig);
    float *const magnitude = rig_download(&g->rig.base, mx_vocoder_view(g->rig.vocoder).magnitude, outputs);
    for (int64_t i = 0; i < outputs; i++) assert_true(fabsf(magnitude[i] + 4) < 3 * FAR);
    mx_free(magnitude);
    const int64_t shorts = (int64_t)g->rig.batch.frames.rows * MX_VOCODER_BURST;
    float *const burst = rig_download(&g->rig.base, mx_vocoder_view(g->rig.vocoder).burst, shorts);
    for (int64_t i = 0; i < shorts; i++) assert_true(fabsf(burst[i]) < 3 * FAR);
    mx_free(burst);
    g->parameters = rig_download(&g->rig.base, rig_parameters(&g->rig.base), floats);
    g->moved = rig_download(&g->rig.base, rig_parameters(&g->rig.base), floats);
    g->gradients = rig_download(&g->rig.base, rig_gradients(&g->rig.base), floats);
    const double here = loss_at(g);
    g->rounding = 0;
    for (int i = 0; i < ROUNDINGS; i++) {
        for (int64_t k = 0; k < floats; k++) {
            const bool up = mx_rng_below(6, (uint64_t)i, (uint64_t)k, 2) == 1;
            g->moved[k] = nextafterf(g->parameters[k], up ? INFINITY : -INFINITY);
        }
        g->rounding = fmax(g->rounding, fabs(loss_at(g) - here));
    }
    /* The sums of losses are rounded to floats, too. */
    double sums = 0;
    for (int k = 0; k < MX_VOCODER_LOSSES; k++)
        for (int s = 0; s < SEGMENTS; s++)
            sums += (double)mx_vocoder_loss_weight(&config.weights, (enum mx_vocoder_loss)k) *
                    fabs((double)g->rig.losses[k * SEGMENTS + s]);
    g->rounding = fmax(g->rounding, sums / g->rig.batch.frames.rows * 0x1p-24);
}

static void grad_close(struct grad *g)
{
    mx_free(g->parameters);
    mx_free(g->moved);
    mx_free(g->gradients);
    vocoder_rig_close(&g->rig);
}

enum verdict { DIFFERS, TOO_SMALL, AGREES };

/* TOO_SMALL: rounding hides it at each step. */
static enum verdict compare(struct grad *g, const float *direction, double expected, double bound, double *last)
{
    enum verdict verdict = TOO_SMALL;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        const double h = steps[i], rounding = 2 * g->rounding / h;
        if (!(rounding <= EVIDENCE * fabs(expected))) continue;
        *last = (loss_along(g, direction, h) - loss_along(g, direction, -h)) / (2 * h);
        if (fabs(*last - expected) <= bound * fmax(fabs(*last), fabs(expected)) + rounding) return AGREES;
        verdict = DIFFERS;
    }
    return verdict;
}

static void along_directions(void **state)
{
    (void)state;
    static struct grad g;
    grad_open(&g);
    const struct mx_parameters *const table = g.rig.base.table;
    float *const direction = mx_alloc((size_t)table->floats, sizeof *direction);
    assert_non_null(direction);
    for (int d = 0; d < DIRECTIONS; d++) { /* all parameters at once, or about half of the entries */
        double expected = 0, length = 0, last = NAN;
        memset(direction, 0, (size_t)table->floats * sizeof *direction);
        for (int i = 0; i < table->count; i++) {
            const struct mx_parameter *const p = &table->entries[i];
            if (d % 2 == 1 && mx_rng_below(7, (uint64_t)d, (uint64_t)i, 2) == 0) continue;
            for (int64_t k = p->at; k < p->at + p->count; k++) {
                const float size = fabsf(mx_rng_normal(3, (uint64_t)d, (uint64_t)k));
                direction[k] = g.gradients[k] < 0 ? -size : size;
                length += (double)size * (double)size;
            }
        }
        for (int64_t k = 0; k < table->floats; k++) {
            direction[k] = (float)((double)direction[k] / sqrt(length));
            expected += (double)direction[k] * (double)g.gradients[k];
        }
        if (compare(&g, direction, expected, BOUND, &last) != AGREES)
            fail_msg("direction %d: the gradient says %.6g, the losses %.6g", d, expected, last);
    }
    mx_free(direction);
    grad_close(&g);
}

/* The element with the largest gradient of every entry, which must be large enough to be seen, and one at random, which
 * need not be. What lies between the parameters has no gradient. */
static void by_elements(void **state)
{
    (void)state;
    static struct grad g;
    grad_open(&g);
    const struct mx_parameters *const table = g.rig.base.table;
    float *const direction = mx_alloc((size_t)table->floats, sizeof *direction);
    char *const owned = mx_alloc((size_t)table->floats, 1);
    assert_true(direction && owned);
    for (int i = 0; i < table->count; i++) {
        const struct mx_parameter *const p = &table->entries[i];
        int64_t largest = p->at;
        memset(owned + p->at, 1, (size_t)p->count);
        for (int64_t k = p->at; k < p->at + p->count; k++)
            if (fabsf(g.gradients[k]) > fabsf(g.gradients[largest])) largest = k;
        if (g.gradients[largest] == 0) fail_msg("%s has no gradient at all", p->name);
        const int64_t random = p->at + (int64_t)mx_rng_below(4, 0, (uint64_t)i, (uint64_t)p->count);
        const int64_t elements[] = {largest, random};
        for (int e = 0; e < 2; e++) {
            const double expected = (double)g.gradients[elements[e]];
            double last = NAN;
            direction[elements[e]] = 1;
            const enum verdict verdict = compare(&g, direction, expected, BOUND_ONE, &last);
            if (verdict == DIFFERS || (verdict == TOO_SMALL && e == 0))
                fail_msg("%s[%lld]: the gradient says %.6g, the losses %.6g", p->name, (long long)(elements[e] - p->at),
                         expected, last);
            direction[elements[e]] = 0;
        }
    }
    for (int64_t k = 0; k < table->floats; k++)
        if (!owned[k]) assert_true(g.gradients[k] == 0 && g.parameters[k] == 0);
    mx_free(owned);
    mx_free(direction);
    grad_close(&g);
}

/* Two micro-batches that know the size of the whole add up to its gradient. Only sums over rows differ, by the order of
 * their terms: a random walk of as many roundings as there are frames, of which six deviations are allowed. */
static void micro_batches_add_up(void **state)
{
    (void)state;
    static struct grad g;
    grad_open(&g);
    struct rig *const base = &g.rig.base;
    const int64_t frames = g.rig.batch.frames.rows;
    const struct mx_fill_args clear = {.x = rig_gradients(base), .count = base->table->floats};
    rig_upload(base, rig_parameters(base), g.parameters, base->table->floats);
    assert_int_equal(mx_fill(base->stream, &clear), 0);
    for (int part = 0; part < 2; part++) {
        vocoder_rig_load(&g.rig, g.segments + 2 * part, 2);
        g.rig.batch.loss_frames = frames;
        assert_int_equal(mx_vocoder_forward_backward(g.rig.vocoder, base->stream, rig_parameters(base),
                                                     rig_gradients(base), &g.rig.batch, NULL, NULL),
                         0);
        assert_int_equal(mx_stream_sync(base->stream), 0);
    }
    const double bound = 6 * sqrt((double)frames) * 0x1p-24;
    float *const sum = rig_download(base, rig_gradients(base), base->table->floats);
    for (int i = 0; i < base->table->count; i++) {
        const struct mx_parameter *const p = &base->table->entries[i];
        double largest = 0, off = 0;
        for (int64_t k = p->at; k < p->at + p->count; k++) {
            const double size = fabs((double)g.gradients[k]), apart = fabs((double)g.gradients[k] - (double)sum[k]);
            if (size > largest) largest = size;
            if (!(apart <= off)) off = apart;
        }
        if (!(off <= bound * largest)) fail_msg("%s: off by %g of %g", p->name, off, largest);
    }
    mx_free(sum);
    grad_close(&g);
}

/* ---- what is ready when ---- */

#define CALLS_MAX 8

struct readiness {
    struct vocoder_rig *rig;
    int64_t from[CALLS_MAX];
    float *seen[CALLS_MAX]; /* the gradients at that time */
    int calls;
};

static int ready(void *context, int64_t from)
{
    struct readiness *const r = context;
    assert_true(r->calls < CALLS_MAX);
    r->from[r->calls] = from;
    r->seen[r->calls++] = rig_download(&r->rig->base, rig_gradients(&r->rig->base), r->rig->base.table->floats);
    return 0;
}

/* What is called ready has its last value, positions fall, and the last call has all. */
static void gradients_are_final_when_ready(void **state)
{
    (void)state;
    static struct grad g;
    grad_open(&g);
    struct rig *const base = &g.rig.base;
    struct readiness r = {.rig = &g.rig};
    const struct mx_model_pass_info info = {.ready = ready, .context = &r};
    const struct mx_fill_args clear = {.x = rig_gradients(base), .count = base->table->floats};
    rig_upload(base, rig_parameters(base), g.parameters, base->table->floats);
    assert_int_equal(mx_fill(base->stream, &clear), 0);
    assert_int_equal(mx_vocoder_forward_backward(g.rig.vocoder, base->stream, rig_parameters(base), rig_gradients(base),
                                                 &g.rig.batch, &info, NULL),
                     0);
    assert_int_equal(r.calls, 2 + mx_vocoder_config(g.rig.vocoder)->size.blocks);
    assert_int_equal(r.from[r.calls - 1], 0);
    for (int i = 0; i < r.calls; i++) {
        const int64_t end = r.from[i] == 0 ? base->table->floats : base->table->decayed;
        assert_true(r.from[i] < (i == 0 ? base->table->decayed : r.from[i - 1]));
        rig_same_words(r.seen[i] + r.from[i], g.gradients + r.from[i], end - r.from[i], "a gradient that was ready");
        mx_free(r.seen[i]);
    }
    grad_close(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(along_directions),
        cmocka_unit_test(by_elements),
        cmocka_unit_test(micro_batches_add_up),
        cmocka_unit_test(gradients_are_final_when_ready),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

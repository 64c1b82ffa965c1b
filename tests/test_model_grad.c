/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The gradient of the whole model against central differences of its losses, for the smallest model that has every
 * part: along random directions through all parameters, and single elements of every entry of the parameter table.
 *
 * No bound here stands for a processor. A difference over a step has three errors, and each has its remedy:
 *
 *   rounding     The losses are float32. How much of that reaches a loss is measured in the same run: it is how far the
 *                loss moves when every parameter is moved by one unit in its last place. A difference over a step h is
 *                trusted within twice that over h, and is evidence only where that is small beside the derivative.
 *   curvature    of order h²: several steps are tried, and one must agree within BOUND.
 *   corners      A ReLU that turns over, or an alignment that changes, between the points of a difference. Differences
 *                on both sides, on the right alone and on the left alone are tried: a corner on one side spoils the
 *                other one-sided difference no more than curvature does. Where the alignment is another, a point does
 *                not count at all.
 *
 * Directions go uphill in every parameter that they touch, so that their derivative is as large as a derivative of
 * these parameters can be and the errors stay small beside it. The gradient of the duration loss stops at the states
 * (as model/predictors.c says), so what is compared for the duration predictor is the duration loss alone, for
 * everything else the sum of all others.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "support/model_rig.h"

#define BOUND      0.01 /* of a derivative along a direction */
#define BOUND_ONE  0.03 /* of a derivative by a single element */
#define EVIDENCE   0.25 /* largest share of a derivative that rounding may be */
#define ROUNDINGS  4    /* random choices of last places that are moved */
#define DIRECTIONS 6
#define FAR        4 /* between mel and prediction: no difference may reach over the corner of the L1 loss */
#define STEP_SEED  5 /* of dropout: the same for every pass */

static const double steps[] = {3e-2, 1e-2, 3e-3, 1e-3};

struct grad {
    struct rig rig;
    struct utterance utterances[3];
    float *parameters, *moved, *gradients; /* [floats] */
    float *durations;                      /* words [tokens] at the point itself */
    double loss[2], rounding[2];           /* at the point: of all but the duration, and of the duration */
};

static void grad_open(struct grad *g, float dropout)
{
    struct mx_model_config config = rig_config();
    config.dropout = dropout;
    /* Weights that differ, so that a loss with another's weight is seen. */
    config.weights =
        (struct mx_model_loss_weights){.mel = 1, .prior = 0.7f, .duration = 1.3f, .pitch = 0.9f, .energy = 1.1f};
    rig_open(&g->rig, &config, MX_MODEL_TRAIN, 1, true);
    for (int i = 0; i < 3; i++) {
        utterance_make(&g->utterances[i], &config, 40 + (uint64_t)i, i % 2, 0.5f);
        for (int64_t k = 0; k < (int64_t)g->utterances[i].frames * config.bands; k++)
            g->utterances[i].mel[k] += g->utterances[i].mel[k] < 0 ? -FAR : FAR;
    }
    rig_load(&g->rig, g->utterances, 3);
    const int64_t floats = g->rig.table->floats;
    rig_teach(&g->rig, STEP_SEED);
    g->parameters = rig_download(&g->rig, rig_parameters(&g->rig), floats);
    g->moved = rig_download(&g->rig, rig_parameters(&g->rig), floats);
    g->gradients = rig_download(&g->rig, rig_gradients(&g->rig), floats);
    g->durations = rig_download(&g->rig, mx_model_view(g->rig.model).durations, g->rig.batch.tokens.rows);
}

static void grad_close(struct grad *g)
{
    mx_free(g->parameters);
    mx_free(g->moved);
    mx_free(g->gradients);
    mx_free(g->durations);
    for (int i = 0; i < 3; i++) utterance_release(&g->utterances[i]);
    rig_close(&g->rig);
}

static bool of_duration(const struct mx_parameter *p)
{
    return strncmp(p->name, "predictor.duration.", 19) == 0;
}

/* The loss that is compared, at the moved parameters; *same becomes false when the alignment is another. */
static double loss_at(struct grad *g, bool duration, bool *same)
{
    const struct mx_model_config *config = mx_model_config(g->rig.model);
    rig_upload(&g->rig, rig_parameters(&g->rig), g->moved, g->rig.table->floats);
    const struct mx_model_losses losses = rig_teach(&g->rig, STEP_SEED);
    float *durations = rig_download(&g->rig, mx_model_view(g->rig.model).durations, g->rig.batch.tokens.rows);
    if (memcmp(durations, g->durations, (size_t)g->rig.batch.tokens.rows * 4) != 0) *same = false;
    mx_free(durations);
    const double own = (double)config->weights.duration * losses.values[MX_LOSS_DURATION];
    return duration ? own : losses.total - own;
}

/* The loss at the point moved by `step` along the direction; NAN where the alignment is another. */
static double loss_along(struct grad *g, const float *direction, double step, bool duration)
{
    bool same = true;
    for (int64_t k = 0; k < g->rig.table->floats; k++) g->moved[k] = g->parameters[k] + (float)step * direction[k];
    const double loss = loss_at(g, duration, &same);
    return same ? loss : NAN;
}

/* The losses at the point itself, and how far one unit in the last place of each parameter moves them. */
static void condition_measure(struct grad *g)
{
    for (int kind = 0; kind < 2; kind++) {
        bool same = true;
        memcpy(g->moved, g->parameters, (size_t)g->rig.table->floats * sizeof *g->moved);
        g->loss[kind] = loss_at(g, kind == 1, &same);
        assert_true(same);
        g->rounding[kind] = 0;
        for (int i = 0; i < ROUNDINGS; i++) {
            for (int64_t k = 0; k < g->rig.table->floats; k++) {
                const bool up = mx_rng_below(6, (uint64_t)i, (uint64_t)k, 2) == 1;
                g->moved[k] = nextafterf(g->parameters[k], up ? INFINITY : -INFINITY);
            }
            g->rounding[kind] = fmax(g->rounding[kind], fabs(loss_at(g, kind == 1, &same) - g->loss[kind]));
        }
    }
}

enum verdict { DIFFERS, TOO_SMALL, AGREES };

/* Compares the difference along `direction` with `expected`. TOO_SMALL: rounding hides it at each step. */
static enum verdict compare(struct grad *g, const float *direction, bool duration, double expected, double bound,
                            double *last)
{
    enum verdict verdict = TOO_SMALL;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        const double h = steps[i], rounding = 2 * g->rounding[duration] / h, here = g->loss[duration];
        if (!(rounding <= EVIDENCE * fabs(expected))) continue;
        const double ahead = loss_along(g, direction, h, duration), back = loss_along(g, direction, -h, duration);
        const double near = loss_along(g, direction, h / 2, duration),
                     behind = loss_along(g, direction, -h / 2, duration);
        const double differences[] = {(ahead - back) / (2 * h), (4 * near - 3 * here - ahead) / h,
                                      (back + 3 * here - 4 * behind) / h};
        for (int d = 0; d < 3; d++) {
            if (isnan(differences[d])) continue;
            /* The one-sided ones have eight times the weights. */
            const double noise = d == 0 ? rounding : 4 * rounding, larger = fmax(fabs(differences[d]), fabs(expected));
            if (!(noise <= EVIDENCE * fabs(expected))) continue;
            *last = differences[d];
            if (fabs(*last - expected) <= bound * larger + noise) return AGREES;
            verdict = DIFFERS;
        }
    }
    return verdict;
}

/* Random directions with every parameter in its own scale, uphill: of the one kind or the other, all of it at once or
 * about half of its entries. */
static void along_directions(struct grad *g)
{
    const struct mx_parameters *table = g->rig.table;
    float *direction = mx_alloc((size_t)table->floats, sizeof *direction);
    assert_non_null(direction);
    condition_measure(g);
    for (int d = 0; d < DIRECTIONS; d++) {
        const bool duration = d % 3 == 2, half = d % 2 == 1;
        double expected = 0, length = 0, last = NAN;
        memset(direction, 0, (size_t)table->floats * sizeof *direction);
        for (int i = 0; i < table->count; i++) {
            const struct mx_parameter *p = &table->entries[i];
            if (of_duration(p) != duration) continue;
            if (half && mx_rng_below(7, (uint64_t)d, (uint64_t)i, 2) == 0) continue;
            for (int64_t k = p->at; k < p->at + p->count; k++) {
                const float size = fabsf(mx_rng_normal(3, (uint64_t)d, (uint64_t)k));
                direction[k] = g->gradients[k] < 0 ? -size : size;
                length += (double)size * (double)size;
            }
        }
        for (int64_t k = 0; k < table->floats; k++) {
            direction[k] = (float)((double)direction[k] / sqrt(length));
            expected += (double)direction[k] * (double)g->gradients[k];
        }
        if (compare(g, direction, duration, expected, BOUND, &last) != AGREES)
            fail_msg("direction %d: the gradient says %.6g, the losses %.6g", d, expected, last);
    }
    mx_free(direction);
}

/* The element with the largest gradient of every entry, which must be large enough to be seen, and one at random, which
 * need not be. */
static void by_elements(struct grad *g)
{
    const struct mx_parameters *table = g->rig.table;
    float *direction = mx_alloc((size_t)table->floats, sizeof *direction);
    assert_non_null(direction);
    condition_measure(g);
    for (int i = 0; i < table->count; i++) {
        const struct mx_parameter *p = &table->entries[i];
        int64_t largest = p->at;
        for (int64_t k = p->at; k < p->at + p->count; k++)
            if (fabsf(g->gradients[k]) > fabsf(g->gradients[largest])) largest = k;
        if (g->gradients[largest] == 0) fail_msg("%s has no gradient at all", p->name);
        const int64_t random = p->at + (int64_t)mx_rng_below(4, 0, (uint64_t)i, (uint64_t)p->count);
        const int64_t elements[] = {largest, random};
        for (int e = 0; e < 2; e++) {
            const double expected = (double)g->gradients[elements[e]];
            double last = NAN;
            direction[elements[e]] = 1;
            const enum verdict verdict = compare(g, direction, of_duration(p), expected, BOUND_ONE, &last);
            if (verdict == DIFFERS || (verdict == TOO_SMALL && e == 0))
                fail_msg("%s[%lld]: the gradient says %.6g, the losses %.6g", p->name, (long long)(elements[e] - p->at),
                         expected, last);
            direction[elements[e]] = 0;
        }
    }
    mx_free(direction);
}

static void gradients_are_the_losses_slopes(void **state)
{
    (void)state;
    struct grad g;
    grad_open(&g, 0);
    along_directions(&g);
    by_elements(&g);
    grad_close(&g);
}

/* The same masks in every pass: dropout is a function of seed and step. */
static void gradients_with_dropout(void **state)
{
    (void)state;
    struct grad g;
    grad_open(&g, 0.3f);
    along_directions(&g);
    grad_close(&g);
}

/* What lies between the parameters in the flat buffer stays 0, and the duration loss does not reach the encoder. */
static void gradients_where_none_belong(void **state)
{
    (void)state;
    struct grad g;
    grad_open(&g, 0);
    const struct mx_parameters *table = g.rig.table;
    char *owned = mx_alloc((size_t)table->floats, 1);
    assert_non_null(owned);
    for (int i = 0; i < table->count; i++) memset(owned + table->entries[i].at, 1, (size_t)table->entries[i].count);
    for (int64_t k = 0; k < table->floats; k++)
        if (!owned[k]) assert_true(g.gradients[k] == 0 && g.parameters[k] == 0);
    mx_free(owned);
    grad_close(&g);

    struct mx_model_config config = rig_config();
    config.weights = (struct mx_model_loss_weights){.duration = 1};
    struct rig rig;
    struct utterance u;
    rig_open(&rig, &config, MX_MODEL_TRAIN, 1, true);
    utterance_make(&u, &config, 9, 0, 0.1f);
    rig_load(&rig, &u, 1);
    rig_teach(&rig, 0);
    float *gradients = rig_download(&rig, rig_gradients(&rig), rig.table->floats);
    for (int i = 0; i < rig.table->count; i++) {
        const struct mx_parameter *p = &rig.table->entries[i];
        bool any = false;
        for (int64_t k = p->at; k < p->at + p->count; k++) any = any || gradients[k] != 0;
        if (any != of_duration(p)) fail_msg("%s %s a gradient of the duration loss", p->name, any ? "has" : "lacks");
    }
    mx_free(gradients);
    utterance_release(&u);
    rig_close(&rig);
}

/* Two micro-batches that know the size of the whole add up to its gradient. A row is the same to the bit in any batch,
 * so only sums over rows differ, by the order of their terms: a random walk of as many roundings as there are frames,
 * of which six deviations are allowed (see device/cases/op_bound.c). */
static void micro_batches_add_up(void **state)
{
    (void)state;
    struct grad g;
    grad_open(&g, 0);
    struct rig *rig = &g.rig;
    const int64_t tokens = rig->batch.tokens.rows, frames = rig->batch.frames.rows;
    const struct mx_fill_args clear = {.x = rig_gradients(rig), .count = rig->table->floats};
    const struct mx_model_pass_info step = {.seed = 1};
    assert_int_equal(mx_fill(rig->stream, &clear), 0);
    for (int part = 0; part < 2; part++) {
        rig_load(rig, g.utterances + part, part ? 2 : 1);
        rig->batch.loss_tokens = tokens;
        rig->batch.loss_frames = frames;
        assert_int_equal(mx_model_forward_backward(rig->model, rig->stream, rig_parameters(rig), rig_gradients(rig),
                                                   &rig->batch, &step, NULL),
                         0);
        assert_int_equal(mx_stream_sync(rig->stream), 0);
    }
    const double bound = 6 * sqrt((double)frames) * 0x1p-24;
    float *sum = rig_download(rig, rig_gradients(rig), rig->table->floats);
    for (int i = 0; i < rig->table->count; i++) {
        const struct mx_parameter *p = &rig->table->entries[i];
        double largest = 0, off = 0;
        for (int64_t k = p->at; k < p->at + p->count; k++) { /* gcc 12 for aarch64 dies of two fmax() here */
            const double size = fabs((double)g.gradients[k]), apart = fabs((double)g.gradients[k] - (double)sum[k]);
            if (size > largest) largest = size;
            if (!(apart <= off)) off = apart;
        }
        if (!(off <= bound * largest)) fail_msg("%s: off by %g of %g", p->name, off, largest);
    }
    mx_free(sum);
    grad_close(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_are_the_losses_slopes),
        cmocka_unit_test(gradients_with_dropout),
        cmocka_unit_test(gradients_where_none_belong),
        cmocka_unit_test(micro_batches_add_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

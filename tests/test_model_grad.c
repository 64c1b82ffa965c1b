/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The gradient of the whole model against central differences of its losses, for the smallest model that has every
 * part: along random directions through all parameters, and single elements of every entry of the parameter table.
 *
 * The losses are float32 on the device, so a difference has a noise of about 1e-7/step and an error of order step². A
 * derivative counts as right when for one of several steps it agrees within BOUND of the larger of the two, or within
 * NOISE. The alignment must be the same on both sides of a difference: where it is not, the loss jumps, which no
 * gradient can know; then that step does not count. The gradient of the duration loss stops at the states (as
 * predictors.c says), so what is compared for the duration predictor is the duration loss alone, for everything else
 * the sum of all others.
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
#define NOISE      2e-5 /* per single element */
#define DIRECTIONS 6
#define FAR        4 /* between mel and prediction: no difference may reach over the corner of the L1 loss */
#define STEP_SEED  5 /* of dropout: the same for every pass */

static const double steps[] = {3e-2, 1e-2, 3e-3, 1e-3};

struct grad {
    struct rig rig;
    struct utterance utterances[3];
    float *parameters, *moved, *gradients; /* [floats] */
    float *durations;                      /* words [tokens] at the point itself */
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

/* Whether the difference along `direction` (scaled by some step) is `expected`. */
static bool agrees(struct grad *g, const float *direction, bool duration, double expected, double bound, double noise,
                   double *last)
{
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        bool same = true;
        double value[2];
        for (int side = 0; side < 2; side++) {
            for (int64_t k = 0; k < g->rig.table->floats; k++)
                g->moved[k] = g->parameters[k] + (float)(side ? steps[i] : -steps[i]) * direction[k];
            value[side] = loss_at(g, duration, &same);
        }
        if (!same) continue;
        *last = (value[1] - value[0]) / (2 * steps[i]);
        const double larger = fmax(fabs(*last), fabs(expected));
        if (fabs(*last - expected) <= fmax(bound * larger, noise)) return true;
    }
    return false;
}

/* Random directions with every parameter in its own scale: all at once, of the one kind or the other. */
static void along_directions(struct grad *g)
{
    const struct mx_parameters *table = g->rig.table;
    float *direction = mx_alloc((size_t)table->floats, sizeof *direction);
    assert_non_null(direction);
    for (int d = 0; d < DIRECTIONS; d++) {
        const bool duration = d % 3 == 2, uphill = d % 2 == 0;
        double expected = 0, length = 0, last = NAN;
        memset(direction, 0, (size_t)table->floats * sizeof *direction);
        for (int i = 0; i < table->count; i++) {
            const struct mx_parameter *p = &table->entries[i];
            if (of_duration(p) != duration) continue;
            for (int64_t k = p->at; k < p->at + p->count; k++) {
                const float sign = g->gradients[k] < 0 ? -1 : 1;
                direction[k] = mx_rng_normal(3, (uint64_t)d, (uint64_t)k);
                if (uphill) direction[k] = fabsf(direction[k]) * sign; /* a derivative far above the noise */
                length += (double)direction[k] * (double)direction[k];
            }
        }
        for (int64_t k = 0; k < table->floats; k++) {
            direction[k] = (float)((double)direction[k] / sqrt(length));
            expected += (double)direction[k] * (double)g->gradients[k];
        }
        if (!agrees(g, direction, duration, expected, BOUND, 10 * NOISE, &last))
            fail_msg("direction %d: the gradient says %.6g, the losses %.6g", d, expected, last);
    }
    mx_free(direction);
}

/* The element with the largest gradient, and one at random, of every entry. */
static void by_elements(struct grad *g)
{
    const struct mx_parameters *table = g->rig.table;
    float *direction = mx_alloc((size_t)table->floats, sizeof *direction);
    assert_non_null(direction);
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
            if (!agrees(g, direction, of_duration(p), expected, BOUND_ONE, NOISE, &last))
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

/* Two micro-batches that know the size of the whole add up to its gradient, within rounding. */
static void micro_batches_add_up(void **state)
{
    (void)state;
    struct grad g;
    grad_open(&g, 0);
    struct rig *rig = &g.rig;
    const int64_t tokens = rig->batch.tokens.rows, frames = rig->batch.frames.rows;
    const struct mx_fill_args clear = {.x = rig_gradients(rig), .count = rig->table->floats};
    const struct mx_model_step step = {.seed = 1};
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
    float *sum = rig_download(rig, rig_gradients(rig), rig->table->floats);
    for (int i = 0; i < rig->table->count; i++) {
        const struct mx_parameter *p = &rig->table->entries[i];
        double largest = 0, off = 0;
        for (int64_t k = p->at; k < p->at + p->count; k++) { /* gcc 12 for aarch64 dies of two fmax() here */
            const double size = fabs((double)g.gradients[k]), apart = fabs((double)g.gradients[k] - (double)sum[k]);
            if (size > largest) largest = size;
            if (!(apart <= off)) off = apart;
        }
        if (!(off <= 1e-5 * largest + 1e-8)) fail_msg("%s: off by %g of %g", p->name, off, largest);
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

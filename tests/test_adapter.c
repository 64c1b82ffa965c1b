/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Adapters (model/adapter.h): what is adapted, that they change nothing at first, that the network computes what it would
 * with the merged weights, that their gradients are those of the merged weights by the chain rule and agree with
 * differences of the loss, also in bf16, and that packing and workers do not matter.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "model/adapter.h"
#include "model/model_parameters.h"
#include "myxtts/error.h"
#include "support/model_rig.h"

#define RANK 2

static struct mx_model_config adapted_config(void)
{
    struct mx_model_config config = rig_config();
    config.learning.adapter_rank = RANK;
    return config;
}

static void test_products_of_speech_are_adapted(void **state)
{
    (void)state;
    const struct mx_model_config config = adapted_config();
    struct mx_parameters *table = NULL;
    int adapters = 0;
    int64_t adapted = 0;
    assert_int_equal(mx_model_parameters_create(&config, NULL, &table), 0);
    for (int i = 0; i < table->count; i++) {
        const struct mx_parameter *const p = &table->entries[i];
        assert_int_equal(p->frozen, p->adapts < 0);
        if (p->adapter == 0) continue;
        const struct mx_parameter *const a = &table->entries[p->adapter], *const b = a + 1;
        assert_int_equal(a->adapts, i);
        assert_int_equal(b->adapts, i);
        assert_int_equal(a->shape[a->rank - 1], RANK);
        assert_int_equal(b->shape[0], RANK);
        assert_int_equal(b->shape[1], p->shape[p->rank - 1]);
        assert_int_equal(a->count / RANK, p->count / b->shape[1]);
        assert_true(2 * (a->count + b->count) < p->count);
        assert_null(strstr(p->name, "speaker."));
        assert_true(p->at >= table->learned && p->at + p->count <= table->learned + table->adapted);
        adapted += p->count;
        adapters++;
    }
    assert_true(adapters >= 4 * 3 + 6);        /* of three blocks, and of three predictors */
    assert_int_equal(adapted, table->adapted); /* of these sizes there are no gaps */
    assert_non_null(mx_parameters_find(table, "decoder.block.1.attention.qkv.adapter_a"));
    assert_non_null(mx_parameters_find(table, "predictor.pitch.conv1.adapter_b"));
    mx_parameters_destroy(table);
}

/* Patterns say where there are none; new rows of tables are trained, too. */
static void test_patterns_and_tables(void **state)
{
    (void)state;
    struct mx_model_config config = adapted_config();
    struct mx_parameters *table = NULL;
    config.learning.freeze = "encoder.*";
    config.learning.tables = true;
    assert_int_equal(mx_model_parameters_create(&config, NULL, &table), 0);
    assert_null(mx_parameters_find(table, "encoder.block.0.attention.qkv.adapter_a"));
    assert_non_null(mx_parameters_find(table, "decoder.block.0.attention.qkv.adapter_a"));
    assert_true(mx_parameters_find(table, "encoder.token.weight")->frozen);
    mx_parameters_destroy(table);
    config.learning.freeze = NULL;
    assert_int_equal(mx_model_parameters_create(&config, NULL, &table), 0);
    assert_false(mx_parameters_find(table, "encoder.token.weight")->frozen);
    assert_false(mx_parameters_find(table, "encoder.language.weight")->frozen);
    assert_true(mx_parameters_find(table, "encoder.norm.weight")->frozen);
    mx_parameters_destroy(table);
}

/* ---- the same as with merged weights ---- */

struct pair {
    struct rig adapted, plain;
    struct batch batch;
    float *parameters; /* of the adapted one */
};

/* The plain one gets the weights of the other one, merged on the host. */
static void pair_open(struct pair *p, struct mx_model_config config, bool stirred)
{
    struct mx_model_config plain = config;
    plain.learning = (struct mx_learning){0};
    batch_make(&p->batch, &config, 0.5f);
    rig_open(&p->adapted, &config, MX_MODEL_TRAIN, 1, stirred);
    rig_open(&p->plain, &plain, MX_MODEL_TRAIN, 1, stirred);
    rig_load(&p->adapted, p->batch.utterances, RIG_BATCH);
    rig_load(&p->plain, p->batch.utterances, RIG_BATCH);
    const struct mx_parameters *const from = p->adapted.table, *const to = p->plain.table;
    p->parameters = rig_download(&p->adapted, rig_parameters(&p->adapted), from->floats);
    float *const merged = rig_download(&p->plain, rig_parameters(&p->plain), to->floats);
    for (int i = 0; i < to->count; i++) {
        const struct mx_parameter *const q = &to->entries[i], *const w = mx_parameters_find(from, q->name);
        memcpy(merged + q->at, p->parameters + w->at, (size_t)q->count * sizeof *merged);
        if (w->adapter == 0) continue;
        const struct mx_parameter *const a = &from->entries[w->adapter];
        mx_adapter_add(merged + q->at, q->count, q->shape[q->rank - 1], p->parameters + a->at, p->parameters + a[1].at,
                       RANK);
    }
    rig_upload(&p->plain, rig_parameters(&p->plain), merged, to->floats);
    mx_free(merged);
}

static void pair_close(struct pair *p)
{
    mx_free(p->parameters);
    rig_close(&p->adapted);
    rig_close(&p->plain);
    batch_release(&p->batch);
}

static void test_at_first_they_change_nothing(void **state)
{
    (void)state;
    struct pair p;
    struct mx_model_config config = adapted_config();
    config.dropout = 0.1f;
    pair_open(&p, config, false);
    const struct mx_model_losses a = rig_teach(&p.adapted, 2), b = rig_teach(&p.plain, 2);
    assert_memory_equal(a.values, b.values, sizeof a.values);
    pair_close(&p);
}

/* dA = dW'·Bᵀ and dB = Aᵀ·dW', with dW' of the plain network. */
static void chain_compare(const struct pair *p, double bound)
{
    const struct mx_parameters *const from = p->adapted.table, *const to = p->plain.table;
    float *const own = rig_download(&p->adapted, rig_gradients(&p->adapted), from->learned);
    float *const whole = rig_download(&p->plain, rig_gradients(&p->plain), to->floats);
    for (int i = 0; i < from->count; i++) {
        const struct mx_parameter *const w = &from->entries[i];
        if (w->adapter == 0) continue;
        const struct mx_parameter *const a = &from->entries[w->adapter], *const b = a + 1;
        const float *const dw = whole + mx_parameters_find(to, w->name)->at;
        const int64_t out = b->shape[1], in = w->count / out;
        double wrong[2] = {0}, size[2] = {0};
        for (int64_t r = 0; r < RANK; r++) {
            for (int64_t k = 0; k < in; k++) {
                double sum = 0;
                for (int64_t c = 0; c < out; c++)
                    sum += (double)dw[k * out + c] * (double)p->parameters[b->at + r * out + c];
                wrong[0] += pow(sum - (double)own[a->at + k * RANK + r], 2);
                size[0] += sum * sum;
            }
            for (int64_t c = 0; c < out; c++) {
                double sum = 0;
                for (int64_t k = 0; k < in; k++)
                    sum += (double)p->parameters[a->at + k * RANK + r] * (double)dw[k * out + c];
                wrong[1] += pow(sum - (double)own[b->at + r * out + c], 2);
                size[1] += sum * sum;
            }
        }
        for (int half = 0; half < 2; half++)
            if (!(size[half] > 0 && sqrt(wrong[half] / size[half]) <= bound))
                fail_msg("%s: half %d is off by %g of its length", w->name, half, sqrt(wrong[half] / size[half]));
    }
    mx_free(own);
    mx_free(whole);
}

static void test_gradients_are_those_of_merged_weights(void **state)
{
    (void)state;
    struct pair p;
    struct mx_model_config config = adapted_config();
    config.dropout = 0.1f;
    for (int recompute = 0; recompute < 2; recompute++) {
        config.recompute_blocks = recompute != 0;
        pair_open(&p, config, true);
        const struct mx_model_losses a = rig_teach(&p.adapted, 2), b = rig_teach(&p.plain, 2);
        assert_true(fabs(a.total - b.total) <= 1e-5 * fabs(b.total));
        chain_compare(&p, 1e-3);
        pair_close(&p);
    }
}

static void test_also_in_bf16(void **state)
{
    (void)state;
    struct pair p;
    struct mx_model_config config = adapted_config();
    config.mixed = true;
    struct op_cpu cpu;
    assert_int_equal(op_cpu_open(&cpu, 1, 0), 0);
    const bool able = mx_device_info(cpu.device)->caps.bf16_multiply;
    op_cpu_close(&cpu);
    if (!able) skip();
    pair_open(&p, config, true);
    rig_teach(&p.adapted, 2);
    rig_teach(&p.plain, 2);
    chain_compare(&p, 0.05); /* a few roundings to 8 binary digits */
    pair_close(&p);
}

/* ---- differences ---- */

static double loss_at(struct rig *rig, const float *parameters, const float *direction, double step)
{
    float *const moved = mx_alloc((size_t)rig->table->floats, sizeof *moved);
    for (int64_t i = 0; i < rig->table->floats; i++)
        moved[i] = parameters[i] + (i < rig->table->learned ? (float)(step * (double)direction[i]) : 0);
    rig_upload(rig, rig_parameters(rig), moved, rig->table->floats);
    mx_free(moved);
    const struct mx_model_losses losses = rig_teach(rig, 1);
    /* The gradient of the duration loss stops at the states. */
    return losses.total - (double)mx_model_config(rig->model)->weights.duration * losses.values[MX_LOSS_DURATION];
}

/* Along the gradient of what the decoder has learned, where the losses are smooth in these steps. */
static void test_gradients_agree_with_differences(void **state)
{
    (void)state;
    struct rig rig;
    struct batch batch;
    struct mx_model_config config = adapted_config();
    config.learning.freeze = "encoder.*, predictor.*";
    batch_make(&batch, &config, 0.5f);
    for (int i = 0; i < RIG_BATCH; i++) /* no difference may reach over the corner of the L1 loss */
        for (int64_t k = 0; k < (int64_t)batch.utterances[i].frames * config.bands; k++)
            batch.utterances[i].mel[k] += batch.utterances[i].mel[k] < 0 ? -4 : 4;
    rig_open(&rig, &config, MX_MODEL_TRAIN, 1, true);
    rig_load(&rig, batch.utterances, RIG_BATCH);
    rig_teach(&rig, 1);
    float *const parameters = rig_download(&rig, rig_parameters(&rig), rig.table->floats);
    float *const gradient = rig_download(&rig, rig_gradients(&rig), rig.table->learned);
    double squares = 0;
    for (int64_t i = 0; i < rig.table->learned; i++) squares += (double)gradient[i] * (double)gradient[i];
    assert_true(squares > 0);
    for (int64_t i = 0; i < rig.table->learned; i++) gradient[i] = (float)((double)gradient[i] / sqrt(squares));
    const double h = 1e-2;
    const double slope = (loss_at(&rig, parameters, gradient, h) - loss_at(&rig, parameters, gradient, -h)) / (2 * h);
    assert_true(fabs(slope - sqrt(squares)) <= 0.01 * sqrt(squares));
    mx_free(parameters);
    mx_free(gradient);
    rig_close(&rig);
    batch_release(&batch);
}

static void test_same_bits(void **state)
{
    (void)state;
    rig_same_bits(adapted_config());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products_of_speech_are_adapted),
        cmocka_unit_test(test_patterns_and_tables),
        cmocka_unit_test(test_at_first_they_change_nothing),
        cmocka_unit_test(test_gradients_are_those_of_merged_weights),
        cmocka_unit_test(test_also_in_bf16),
        cmocka_unit_test(test_gradients_agree_with_differences),
        cmocka_unit_test(test_same_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

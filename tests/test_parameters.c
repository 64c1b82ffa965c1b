/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The table of parameters, the sizes, and the memory plan: places that do not overlap, decayed ones first, initial
 * values that depend on name and seed alone, counts as MODEL.md prints them, bad configurations refused.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "model/memory_plan.h"
#include "model/model_parameters.h"
#include "myxtts/error.h"

static struct mx_parameters *table_of(const char *size)
{
    struct mx_parameters *table = NULL;
    const struct mx_model_config config = mx_model_config_default(mx_model_size_find(size), 80, 1);
    assert_int_equal(mx_model_parameters_create(&config, NULL, &table), 0);
    return table;
}

static void sizes_have_the_stated_counts(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int64_t parameters;
    } expected[] = {
        {"tiny", 6977059}, {"small", 17606307}, {"normal", 39483811}, {"base", 91075747}, {"big", 251865763}};
    assert_int_equal(mx_model_size_count(), 5);
    for (int i = 0; i < 5; i++) {
        struct mx_parameters *table = table_of(expected[i].name);
        assert_string_equal(mx_model_size_at(i)->name, expected[i].name);
        assert_int_equal(table->elements, expected[i].parameters);
        mx_parameters_destroy(table);
    }
    assert_null(mx_model_size_find("huge"));
    assert_int_equal(mx_error_last()->code, MX_ERR_USAGE);
    assert_non_null(strstr(mx_error_last()->hint, "tiny, small, normal, base, big"));
}

static void places_are_disjoint_and_decayed_first(void **state)
{
    (void)state;
    struct mx_parameters *table = NULL;
    struct mx_model_at at;
    const struct mx_model_config config = mx_model_config_default(mx_model_size_find("tiny"), 80, 1);
    assert_int_equal(mx_model_parameters_create(&config, &at, &table), 0);
    char *owned = mx_alloc((size_t)table->floats, 1);
    assert_non_null(owned);
    int64_t elements = 0;
    for (int i = 0; i < table->count; i++) {
        const struct mx_parameter *p = &table->entries[i];
        assert_int_equal(p->at % MX_PARAMETER_ALIGNMENT, 0);
        assert_true(p->at >= 0 && p->at + p->count <= table->floats);
        assert_true(p->decay ? p->at + p->count <= table->decayed : p->at >= table->decayed);
        for (int64_t k = p->at; k < p->at + p->count; k++) {
            assert_int_equal(owned[k], 0);
            owned[k] = 1;
        }
        assert_ptr_equal(mx_parameters_find(table, p->name), p); /* no name twice */
        elements += p->count;
    }
    assert_int_equal(elements, table->elements);
    assert_null(mx_parameters_find(table, "encoder.block.4.norm1.weight"));
    assert_int_equal(mx_parameters_find(table, "encoder.block.3.attention.qkv.weight")->at,
                     at.encoder_blocks[3].qkv_weight);
    assert_int_equal(mx_parameters_find(table, "predictor.energy.out.bias")->at,
                     at.predictors[MX_PREDICT_ENERGY].out_bias);
    mx_free(owned);
    mx_parameters_destroy(table);
}

static void only_matrices_are_decayed(void **state)
{
    (void)state;
    struct mx_parameters *table = table_of("tiny");
    for (int i = 0; i < table->count; i++) {
        const struct mx_parameter *p = &table->entries[i];
        assert_int_equal(p->decay, p->rank > 1 && p->init != MX_INIT_EMBEDDING);
    }
    mx_parameters_destroy(table);
}

static float *init_of(const struct mx_parameters *table, uint64_t seed)
{
    float *flat = mx_alloc((size_t)table->floats, sizeof *flat);
    assert_non_null(flat);
    for (int64_t i = 0; i < table->floats; i++) flat[i] = NAN;
    mx_parameters_init(table, seed, flat);
    return flat;
}

/* The same name has the same values in a model with more blocks, another vocabulary before it, or none of the others.
 */
static void values_depend_on_name_and_seed(void **state)
{
    (void)state;
    struct mx_model_config config = mx_model_config_default(mx_model_size_find("tiny"), 30, 1);
    struct mx_parameters *one = NULL, *other = NULL;
    config.size.encoder_blocks = config.size.decoder_blocks = 2;
    assert_int_equal(mx_model_parameters_create(&config, NULL, &one), 0);
    config.vocabulary = 300;
    config.size.encoder_blocks = 3;
    assert_int_equal(mx_model_parameters_create(&config, NULL, &other), 0);
    float *a = init_of(one, 5), *b = init_of(other, 5), *c = init_of(one, 6);
    int same = 0;
    for (int i = 0; i < one->count; i++) {
        const struct mx_parameter *p = &one->entries[i], *q = mx_parameters_find(other, p->name);
        if (p->count != q->count || p->deviation != q->deviation) continue;
        assert_memory_equal(a + p->at, b + q->at, (size_t)p->count * sizeof *a);
        if (p->deviation > 0) assert_memory_not_equal(a + p->at, c + p->at, (size_t)p->count * sizeof *a);
        same++;
    }
    assert_true(same > one->count / 2);
    mx_free(a);
    mx_free(b);
    mx_free(c);
    mx_parameters_destroy(one);
    mx_parameters_destroy(other);
}

static void values_have_the_stated_deviation(void **state)
{
    (void)state;
    struct mx_parameters *table = table_of("tiny");
    float *flat = init_of(table, 1);
    for (int i = 0; i < table->count; i++) {
        const struct mx_parameter *p = &table->entries[i];
        double sum = 0, squares = 0;
        for (int64_t k = p->at; k < p->at + p->count; k++) {
            sum += (double)flat[k];
            squares += (double)flat[k] * (double)flat[k];
        }
        const double n = (double)p->count, mean = sum / n, deviation = sqrt(squares / n - mean * mean);
        if (p->deviation == 0) {
            assert_true(deviation == 0 && mean == (p->init == MX_INIT_ONE ? 1 : 0));
            continue;
        }
        if (fabs(deviation / p->deviation - 1) > 4 / sqrt(2 * n) || fabs(mean) > 4 * p->deviation / sqrt(n))
            fail_msg("%s: mean %g, deviation %g instead of %g", p->name, mean, deviation, p->deviation);
    }
    const struct mx_parameter *down = mx_parameters_find(table, "decoder.block.0.feed_forward.down.weight");
    assert_true(fabs(down->deviation - 1 / sqrt(768.0 * 8)) < 1e-9);
    mx_free(flat);
    mx_parameters_destroy(table);
}

static void bad_configurations_are_refused(void **state)
{
    (void)state;
    const struct mx_model_config good = mx_model_config_default(mx_model_size_find("tiny"), 80, 1);
    struct mx_model_config bad[13];
    struct mx_parameters *table = NULL;
    for (int i = 0; i < 13; i++) bad[i] = good;
    bad[0].size.width = 0;
    bad[1].size.heads = 5;
    bad[2].size.heads = 0;
    bad[3].size.encoder_blocks = 0;
    bad[4].size.decoder_blocks = MX_MODEL_BLOCKS_MAX + 1;
    bad[5].vocabulary = 0;
    bad[6].languages = 0;
    bad[7].bands = 0;
    bad[8].dropout = 1;
    bad[9].dropout = NAN;
    bad[10].weights.prior = -1;
    bad[11].size.hidden = 0;
    bad[12].diagonal = INFINITY;
    assert_int_equal(mx_model_config_check(&good), 0);
    for (int i = 0; i < 13; i++) {
        mx_error_clear();
        assert_int_equal(mx_model_parameters_create(&bad[i], NULL, &table), MX_ERR_CONFIG);
        assert_null(table);
        assert_true(mx_error_last()->hint[0] != 0);
    }
}

/* Every allocation fails once: nothing leaks (the sanitizers look) and nothing half-made comes out. */
static void out_of_memory(void **state)
{
    (void)state;
    const struct mx_model_config config = mx_model_config_default(mx_model_size_find("tiny"), 80, 1);
    const struct mx_model_capacity capacity = {.sequences = 1, .tokens = 10, .frames = 10};
    struct mx_model_memory_plan plan;
    for (uint64_t nth = 1;; nth++) {
        mx_alloc_fail_at(nth);
        const int rc = mx_model_memory_plan(&config, &capacity, MX_MODEL_TRAIN, &plan);
        mx_alloc_fail_at(0);
        if (rc == 0) {
            assert_true(nth > 3);
            break;
        }
        assert_int_equal(rc, MX_ERR_NO_MEMORY);
    }
}

static void plans_tell_what_is_needed(void **state)
{
    (void)state;
    struct mx_model_config config = mx_model_config_default(mx_model_size_find("tiny"), 80, 1);
    const struct mx_model_capacity capacity = {.sequences = 16, .tokens = 800, .frames = 4000, .references = 1600};
    struct mx_model_capacity bad = capacity;
    struct mx_model_memory_plan train, checkpointed, speak;
    assert_int_equal(mx_model_memory_plan(&config, &capacity, MX_MODEL_TRAIN, &train), 0);
    assert_int_equal(mx_model_memory_plan(&config, &capacity, MX_MODEL_SPEAK, &speak), 0);
    config.recompute_blocks = true;
    assert_int_equal(mx_model_memory_plan(&config, &capacity, MX_MODEL_TRAIN, &checkpointed), 0);
    assert_true(train.gradients_bytes == train.parameters_bytes && train.ema_bytes == train.parameters_bytes);
    assert_true(train.parameters_bytes >= 4 * (uint64_t)train.parameters);
    assert_true(speak.gradients_bytes + speak.ema_bytes == 0);
    assert_true(checkpointed.activations_bytes < train.activations_bytes / 2);
    assert_true(speak.activations_bytes < checkpointed.activations_bytes * 2 / 3);
    bad.longest_frames = 4001;
    assert_int_equal(mx_model_memory_plan(&config, &bad, MX_MODEL_TRAIN, &train), MX_ERR_ARGUMENT);
    bad = capacity;
    bad.tokens = 0;
    assert_int_equal(mx_model_memory_plan(&config, &bad, MX_MODEL_TRAIN, &train), MX_ERR_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_have_the_stated_counts),
        cmocka_unit_test(places_are_disjoint_and_decayed_first),
        cmocka_unit_test(only_matrices_are_decayed),
        cmocka_unit_test(values_depend_on_name_and_seed),
        cmocka_unit_test(values_have_the_stated_deviation),
        cmocka_unit_test(bad_configurations_are_refused),
        cmocka_unit_test(out_of_memory),
        cmocka_unit_test(plans_tell_what_is_needed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

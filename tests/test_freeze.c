/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Frozen parameters and adapters (model/parameters.h): where they lie, that the gradients of all others are bit for bit what they are
 * without freezing wherever the backward pass ends, that training leaves frozen ones alone in every mode and goes on
 * exactly, and that memory is what the plan says.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "model/model_parameters.h"
#include "myxtts/budget.h"
#include "myxtts/error.h"
#include "support/model_rig.h"
#include "support/training_rig.h"

/* Each ends the backward pass elsewhere. */
static const char *const patterns[] = {
    "speaker.*",
    "encoder.*",
    "encoder.*,speaker.*",
    "encoder.*, speaker.*, predictor.*",
    "decoder.*",
    "*norm*",
    "decoder.block.0.*  encoder.* speaker.*",
    "decoder.* encoder.block.* encoder.token.* encoder.language.* encoder.norm.* speaker.*",
    "decoder.* encoder.* speaker.* predictor.duration.*",
    "*.bias",
    "encoder.[pe]*",
};
#define PATTERNS (sizeof patterns / sizeof *patterns)

/* ---- the table ---- */

static void test_frozen_parameters_lie_behind_all_others(void **state)
{
    (void)state;
    for (size_t i = 0; i < PATTERNS; i++) {
        struct mx_model_config config = rig_config();
        struct mx_parameters *table = NULL;
        int64_t learning = 0, frozen = 0, most = 0;
        config.learning.freeze = patterns[i];
        assert_int_equal(mx_model_parameters_create(&config, NULL, &table), 0);
        for (int k = 0; k < table->count; k++) {
            const struct mx_parameter *const p = &table->entries[k];
            assert_int_equal(p->frozen, p->at >= table->learned);
            assert_int_equal(p->decay && !p->frozen, p->at < table->decayed);
            *(p->frozen ? &frozen : &learning) += p->count;
            if (p->frozen && strstr(p->name, "norm") != NULL && p->count > most) most = p->count;
        }
        assert_true(frozen > 0 && learning > 0);
        assert_int_equal(learning, table->learning);
        assert_int_equal(learning + frozen, table->elements);
        assert_true(table->discard >= 2 * most);
        mx_parameters_destroy(table);
    }
}

static void test_marks_are_of_the_next_one_that_learns(void **state)
{
    (void)state;
    struct mx_model_config config = rig_config();
    struct mx_parameters *table = NULL;
    struct mx_model_at at;
    config.learning.freeze = "decoder.block.0.*,speaker.*";
    assert_int_equal(mx_model_parameters_create(&config, &at, &table), 0);
    assert_int_equal(mx_parameters_mark(table, at.decoder.mel_weight), at.decoder.mel_weight);
    assert_int_equal(mx_parameters_mark(table, at.decoder_blocks[0].qkv_weight), at.decoder_blocks[1].qkv_weight);
    assert_int_equal(mx_parameters_mark(table, at.speaker.conv1_weight), 0);
    mx_parameters_destroy(table);
}

static void test_patterns_without_a_match_are_refused(void **state)
{
    (void)state;
    const struct mx_model_config config = rig_config();
    struct mx_parameters *table = NULL;
    assert_int_equal(mx_model_parameters_create(&config, NULL, &table), 0);
    const struct mx_parameters *const tables[] = {table};
    const struct mx_learning good = {.freeze = " encoder.*,\tdecoder.mel.weight\n"}, none = {.freeze = ""};
    assert_int_equal(mx_learning_check(&good, tables, 1), 0);
    assert_int_equal(mx_learning_check(&none, tables, 1), 0);
    const struct mx_learning wrong = {.freeze = "encoder.*, decoder.blok.0.*"};
    assert_int_equal(mx_learning_check(&wrong, tables, 1), MX_ERR_CONFIG);
    assert_non_null(strstr(mx_error_last()->message, "'decoder.blok.0.*'"));
    assert_non_null(strstr(mx_error_last()->hint, "decoder.block.0."));
    const struct mx_learning misspelt = {.freeze = "decoder.mel.wieght"};
    assert_int_equal(mx_learning_check(&misspelt, tables, 1), MX_ERR_CONFIG);
    assert_non_null(strstr(mx_error_last()->hint, "decoder.mel.weight"));
    mx_parameters_destroy(table);
}

/* ---- gradients ---- */

struct progress {
    int64_t last;
    int calls;
};

static int ready_watch(void *context, int64_t from)
{
    struct progress *const p = context;
    assert_true(from <= p->last);
    p->last = from;
    p->calls++;
    return 0;
}

/* By name, because the places differ. */
static void gradients_compare(const struct rig *all, const struct rig *some, const char *what)
{
    float *const a = rig_download(all, rig_gradients(all), all->table->floats);
    float *const b = rig_download(some, rig_gradients(some), some->table->floats);
    for (int i = 0; i < some->table->count; i++) {
        const struct mx_parameter *const p = &some->table->entries[i];
        const struct mx_parameter *const q = mx_parameters_find(all->table, p->name);
        if (!p->frozen) rig_same_words(a + q->at, b + p->at, p->count, what);
    }
    mx_free(a);
    mx_free(b);
}

static void test_gradients_of_the_rest_are_the_same_bits(void **state)
{
    (void)state;
    struct mx_model_config config = rig_config();
    struct batch batch;
    struct rig all, some;
    config.dropout = 0.1f;
    batch_make(&batch, &config, 0.5f);
    rig_open(&all, &config, MX_MODEL_TRAIN, 1, true);
    rig_load(&all, batch.utterances, RIG_BATCH);
    rig_teach(&all, 3);
    for (size_t i = 0; i < PATTERNS; i++) {
        config.learning.freeze = patterns[i];
        rig_open(&some, &config, MX_MODEL_TRAIN, 1, true);
        rig_load(&some, batch.utterances, RIG_BATCH);
        rig_teach(&some, 3);
        gradients_compare(&all, &some, patterns[i]);
        /* And what is ready is reported as it would be without freezing: downwards, the end at the end. */
        struct progress progress = {.last = some.table->floats};
        const struct mx_model_pass_info info = {.seed = 1, .step = 3, .ready = ready_watch, .context = &progress};
        assert_int_equal(mx_model_forward_backward(some.model, some.stream, rig_parameters(&some), rig_gradients(&some),
                                                   &some.batch, &info, NULL),
                         0);
        assert_int_equal(progress.last, 0);
        assert_int_equal(mx_stream_sync(some.stream), 0);
        rig_close(&some);
    }
    rig_close(&all);
    batch_release(&batch);
}

/* ---- training ---- */

/* What learns: all but patterns, adapters, and adapters of the decoder alone. */
static const struct mx_learning ways[] = {{.freeze = "encoder.*,speaker.*,decoder.block.0.*"},
                                          {.adapter_rank = 2},
                                          {.adapter_rank = 1, .freeze = "encoder.*,predictor.*"}};
#define WAYS (sizeof ways / sizeof *ways)

static struct mx_trainer_options frozen_options(size_t way)
{
    struct mx_trainer_options o = training_options(TRAINING_FEATURES);
    o.model.learning = ways[way];
    return o;
}

static void left_alone(size_t way)
{
    const struct mx_trainer_options o = frozen_options(way);
    struct mx_trainer *const trainer = training_start(&o, NULL, NULL);
    const struct mx_parameters *const table = mx_trainer_parameters(trainer, MX_PART_ACOUSTIC);
    struct mx_trainer_report report;
    size_t floats;
    const struct mx_trainer_arrays before = training_arrays_read(trainer, &floats);
    for (int i = 0; i < 3; i++) training_step(trainer, &report);
    const struct mx_trainer_arrays after = training_arrays_read(trainer, &floats);
    for (int i = 0; i < table->count; i++) {
        const struct mx_parameter *const p = &table->entries[i];
        const bool same = memcmp(before.weights + p->at, after.weights + p->at, (size_t)p->count * 4) == 0;
        assert_int_equal(same, p->frozen);
    }
    struct mx_trainer_evaluation evaluation; /* with averaged weights, which have no frozen ones */
    assert_int_equal(mx_trainer_evaluate(trainer, &evaluation), 0);
    mx_free(before.weights);
    mx_free(after.weights);
    mx_trainer_destroy(trainer);
}

static void test_training_leaves_them_alone(void **state)
{
    (void)state;
    for (size_t way = 0; way < WAYS; way++) left_alone(way);
}

static void same_bits(size_t way)
{
    const struct mx_trainer_options o = frozen_options(way);
    struct training_outcome whole = training_run(&o);
    const struct mx_trainer_options two = training_flow(o, true, 2, 2);
    training_same(&whole, &two);
    /* Interrupted in the middle, with the four arrays of what learns and the weights of everything. */
    struct training_outcome part = {0};
    struct mx_trainer *trainer = training_start(&o, NULL, NULL);
    training_steps(trainer, 0, 3, &part);
    mx_trainer_destroy(trainer);
    trainer = training_start(&o, &part.state, &part.arrays);
    mx_free(part.arrays.weights);
    training_steps(trainer, 3, TRAINING_STEPS, &part);
    mx_trainer_destroy(trainer);
    assert_true(training_equal(&whole, &part));
    mx_free(part.arrays.weights);
    mx_free(whole.arrays.weights);
}

static void test_all_ways_of_training_are_the_same_bits(void **state)
{
    (void)state;
    for (size_t way = 0; way < WAYS; way++) same_bits(way);
}

/* ---- memory ---- */

static uint64_t planned(const struct mx_trainer_memory_plan *plan, const char *owner, enum mx_trainer_place place)
{
    uint64_t sum = 0;
    for (int32_t i = 0; i < plan->memory_count; i++)
        if (strcmp(plan->memory[i].owner, owner) == 0 && plan->memory[i].place == place) sum += plan->memory[i].bytes;
    return sum;
}

static void memory_compare(const struct mx_trainer_memory_plan *plan, struct mx_device *device,
                           enum mx_trainer_place place)
{
    struct mx_budget_stats taken;
    mx_budget_stats(mx_device_budget(device), &taken);
    int compared = 0;
    for (int i = 0; i < taken.owner_count; i++) {
        const struct mx_budget_owner *const owner = &taken.owners[i];
        if (owner->host || owner->current_bytes == 0 || planned(plan, owner->name, place) == 0) continue;
        assert_int_equal(owner->current_bytes, planned(plan, owner->name, place));
        compared++;
    }
    assert_true(compared >= 4);
}

static void test_memory_is_what_the_plan_says(void **state)
{
    (void)state;
    struct mx_trainer_memory_plan whole, plan;
    const struct mx_trainer_options all = training_flow(training_options(TRAINING_FEATURES), true, 1, 2);
    struct mx_trainer_options some = all;
    for (size_t i = 0; i < 2 * WAYS; i++) {
        const bool shared = i % 2 == 1;
        some.model.learning = ways[i / 2];
        some.flow.share = shared ? MX_SHARE_ON : MX_SHARE_OFF;
        assert_int_equal(mx_trainer_memory_plan(&all, &whole), 0);
        assert_int_equal(mx_trainer_memory_plan(&some, &plan), 0);
        struct mx_trainer *trainer = NULL;
        assert_int_equal(mx_trainer_create(&some, &trainer), 0);
        memory_compare(&plan, training.model, MX_PLACE_MODEL);
        if (shared) memory_compare(&plan, training.data, MX_PLACE_DATA);
        const struct mx_parameters *const table = mx_trainer_parameters(trainer, MX_PART_ACOUSTIC);
        assert_int_equal(planned(&plan, "moments", MX_PLACE_MODEL), 8 * (uint64_t)table->learned);
        assert_int_equal(planned(&plan, "averaged weights", MX_PLACE_MODEL), 4 * (uint64_t)table->learned);
        assert_true(planned(&plan, "gradients", MX_PLACE_MODEL) < planned(&whole, "gradients", MX_PLACE_MODEL));
        assert_int_equal(planned(&plan, "parameters", MX_PLACE_MODEL), 4 * (uint64_t)table->floats);
        mx_trainer_destroy(trainer);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frozen_parameters_lie_behind_all_others),
        cmocka_unit_test(test_marks_are_of_the_next_one_that_learns),
        cmocka_unit_test(test_patterns_without_a_match_are_refused),
        cmocka_unit_test(test_gradients_of_the_rest_are_the_same_bits),
        cmocka_unit_test(test_training_leaves_them_alone),
        cmocka_unit_test(test_all_ways_of_training_are_the_same_bits),
        cmocka_unit_test(test_memory_is_what_the_plan_says),
    };
    return cmocka_run_group_tests(tests, training_open, training_close);
}

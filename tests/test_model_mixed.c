/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The model in mixed precision: it learns as it does in fp32; the same bits come out twice, with one worker and with
 * all, with checkpointing and without; an utterance's losses do not depend on the batch; it takes less memory; speaking
 * stays fp32; and a device that does not multiply bf16 numbers refuses it. On such a device all but the last is
 * skipped, and says so.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "myxtts/error.h"
#include "support/model_rig.h"

static bool has_bf16;

static int setup(void **state)
{
    struct op_cpu cpu;
    (void)state;
    if (op_cpu_open(&cpu, 1, 0) < 0) return -1;
    has_bf16 = mx_device_info(cpu.device)->caps.bf16_multiply;
    if (!has_bf16) printf("mixed precision is not tested here: %s\n", mx_device_info(cpu.device)->bf16_missing);
    op_cpu_close(&cpu);
    return 0;
}

static struct mx_model_config mixed_config(void)
{
    struct mx_model_config config = rig_config();
    if (!has_bf16) skip();
    config.mixed = true;
    return config;
}

static void load(struct rig *rig, const struct mx_model_config *config, float noise)
{
    struct batch batch;
    batch_make(&batch, config, noise);
    rig_load(rig, batch.utterances, RIG_BATCH);
    batch_release(&batch);
}

/* ---- learning ---- */

#define STEPS     30
#define WARM_UP   10   /* steps: Adam's first ones are as long for a gradient that is nothing but rounding */
#define TOLERANCE 0.04 /* of the loss, at each step */
#define APART     0.02 /* how far two gradients may lie apart, as a share of their length */

/* The gradient of the whole network before the first step, where all tokens' means are alike: no alignment that is
 * found otherwise makes the two look at other targets. */
static float *gradient(const struct mx_model_config *config)
{
    struct rig rig;
    rig_open(&rig, config, MX_MODEL_TRAIN, 1, false);
    load(&rig, config, 0.3f);
    rig_teach(&rig, 0);
    float *values = rig_download(&rig, rig_gradients(&rig), rig.table->floats);
    rig_close(&rig);
    return values;
}

/* Every tensor of the decoder. (Predictors and speaker encoder have ReLU, whose slope jumps: there a small difference
 * of the value may be a large one of the gradient.) */
static void same_direction(void **state)
{
    (void)state;
    struct mx_model_config config = mixed_config();
    struct mx_parameters *table;
    int compared = 0, others = 0;
    float *mixed = gradient(&config);
    config.mixed = false;
    float *fp32 = gradient(&config);
    assert_int_equal(mx_parameters_create(&config, &table), 0);
    for (int k = 0; k < table->count; k++) {
        const struct mx_parameter *p = &table->entries[k];
        double apart = 0, length = 0;
        if (strncmp(p->name, "decoder.", 8) != 0) continue;
        for (int64_t i = p->at; i < p->at + p->count; i++) {
            apart += pow((double)mixed[i] - (double)fp32[i], 2);
            length += pow((double)fp32[i], 2);
        }
        if (!(length > 0 && sqrt(apart) < APART * sqrt(length)))
            fail_msg("the gradients of %s are %.3g of their length apart", p->name, sqrt(apart / length));
        compared++;
        others += apart > 0;
    }
    assert_true(compared > 20 && others > 20); /* it is another arithmetic */
    mx_parameters_destroy(table);
    mx_free(mixed);
    mx_free(fp32);
}

static void learn(const struct mx_model_config *config, double losses[STEPS])
{
    struct rig rig;
    rig_open(&rig, config, MX_MODEL_TRAIN, 1, false);
    load(&rig, config, 0.02f);
    for (int i = 0; i < STEPS; i++) {
        losses[i] = rig_teach(&rig, 0).total;
        rig_update(&rig, 1e-3f * (i < WARM_UP ? (float)(i + 1) / WARM_UP : 1));
    }
    rig_close(&rig);
}

static void learns_as_fp32_does(void **state)
{
    (void)state;
    struct mx_model_config config = mixed_config();
    double fp32[STEPS], mixed[STEPS];
    config.size.width = 48;
    config.size.hidden = 192;
    learn(&config, mixed);
    config.mixed = false;
    learn(&config, fp32);
    assert_true(fp32[STEPS - 1] < 0.7 * fp32[0]); /* there was something to learn */
    for (int i = 0; i < STEPS; i++) {
        if (!(fabs(mixed[i] - fp32[i]) <= TOLERANCE * fp32[i]))
            fail_msg("step %d: the loss is %g in mixed precision and %g in fp32", i, mixed[i], fp32[i]);
    }
}

/* ---- bits ---- */

static void same_bits_again(void **state)
{
    (void)state;
    rig_same_bits(mixed_config());
}

static void alone_as_in_a_batch(void **state)
{
    (void)state;
    const struct mx_model_config config = mixed_config();
    struct rig rig;
    struct batch batch;
    struct mx_model_losses whole[RIG_BATCH];
    rig_open(&rig, &config, MX_MODEL_TRAIN, 1, true);
    batch_make(&batch, &config, 0.3f);
    rig_load(&rig, batch.utterances, RIG_BATCH);
    rig_evaluate(&rig);
    for (int i = 0; i < RIG_BATCH; i++) whole[i] = rig_losses_of(&rig, i, &batch.utterances[i]);
    for (int i = 0; i < RIG_BATCH; i++) {
        rig_load(&rig, &batch.utterances[i], 1);
        rig_evaluate(&rig);
        const struct mx_model_losses alone = rig_losses_of(&rig, 0, &batch.utterances[i]);
        assert_memory_equal(&alone, &whole[i], sizeof alone);
    }
    batch_release(&batch);
    rig_close(&rig);
}

/* ---- memory, speaking, refusal ---- */

static void takes_less_memory(void **state)
{
    (void)state;
    struct mx_model_config config = mx_model_config_default(mx_model_size_find("tiny"), 100, 2);
    const struct mx_model_capacity capacity = {.sequences = 8, .tokens = 400, .frames = 4000, .references = 800};
    struct mx_model_plan fp32, mixed, speaks[2];
    for (int i = 0; i < 2; i++) {
        config.mixed = i == 1;
        assert_int_equal(mx_model_plan(&config, &capacity, MX_MODEL_TRAIN, i ? &mixed : &fp32), 0);
        assert_int_equal(mx_model_plan(&config, &capacity, MX_MODEL_SPEAK, &speaks[i]), 0);
    }
    /* Half of normed1 and normed2 [rows, W], pre and hidden [rows, 4W], of about 19 W floats a row and block. */
    assert_true((double)mixed.activations_bytes < 0.8 * (double)fp32.activations_bytes);
    assert_true(mixed.parameters_bytes == fp32.parameters_bytes && mixed.moments_bytes == fp32.moments_bytes);
    assert_memory_equal(&speaks[0], &speaks[1], sizeof speaks[0]);
}

static void speaking_stays_fp32(void **state)
{
    (void)state;
    struct mx_model_config config = mixed_config();
    const struct mx_speech_options plain = MX_SPEECH_OPTIONS_DEFAULT;
    float *said[2];
    int64_t frames[2];
    for (int i = 0; i < 2; i++) {
        struct rig rig;
        struct mx_speech speech;
        config.mixed = i == 1;
        rig_open(&rig, &config, MX_MODEL_SPEAK, 1, true);
        load(&rig, &config, 0.3f);
        assert_int_equal(mx_model_synthesize(rig.model, rig.stream, rig_parameters(&rig), &rig.batch, &plain, &speech),
                         0);
        frames[i] = speech.frames.rows;
        said[i] = rig_download(&rig, speech.mel, frames[i] * config.bands);
        rig_close(&rig);
    }
    assert_int_equal(frames[0], frames[1]);
    rig_same_words(said[0], said[1], frames[0] * config.bands, "speech");
    mx_free(said[0]);
    mx_free(said[1]);
}

static void refused_without_bf16(void **state)
{
    (void)state;
    struct mx_model_config config = rig_config();
    const struct mx_model_capacity capacity = {.sequences = 2, .tokens = 20, .frames = 100, .references = 10};
    struct mx_model *model = NULL;
    struct rig rig;
    setenv("MYXTTS_BF16", "off", 1);
    rig_open(&rig, &config, MX_MODEL_TRAIN, 1, false);
    unsetenv("MYXTTS_BF16");
    config.mixed = true;
    assert_int_equal(mx_model_create(rig.cpu.device, rig.stream, &config, &capacity, MX_MODEL_TRAIN, &model),
                     MX_ERR_UNSUPPORTED);
    assert_null(model);
    assert_non_null(strstr(mx_error_last()->message, "bf16"));
    assert_non_null(strstr(mx_error_last()->message, mx_device_info(rig.cpu.device)->bf16_missing));
    assert_non_null(strstr(mx_error_last()->hint, "without mixed precision"));
    assert_int_equal(mx_model_create(rig.cpu.device, rig.stream, &config, &capacity, MX_MODEL_SPEAK, &model), 0);
    mx_model_destroy(model);
    rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_direction),       cmocka_unit_test(learns_as_fp32_does),
        cmocka_unit_test(same_bits_again),      cmocka_unit_test(alone_as_in_a_batch),
        cmocka_unit_test(takes_less_memory),    cmocka_unit_test(speaking_stays_fp32),
        cmocka_unit_test(refused_without_bf16),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}

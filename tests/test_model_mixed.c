/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The model in mixed precision: it learns as it does in fp32; the same bits come out twice, with one worker and with
 * all, with checkpointing and without; an utterance's losses do not depend on the batch; it takes less memory; speaking
 * stays fp32; and a device that does not multiply bf16 numbers refuses it. On such a device all but the last is
 * skipped, and says so.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "myxtts/error.h"
#include "support/model_rig.h"
#include "support/rounding.h"

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

#define STATES      5 /* of a run in fp32 that mixed precision is compared in */
#define STATE_STEPS 6 /* steps from one state to the next */
#define STEPS       (STATES * STATE_STEPS)
#define WARM_UP     10  /* steps: Adam's first ones are as long for a gradient that is nothing but rounding */
#define SHARPNESS   0.5 /* of a loss or a gradient, which most comparisons must be able to see: bf16 has 8 bits */

static void update(struct rig *rig, int step)
{
    rig_update(rig, 1e-3f * (step < WARM_UP ? (float)(step + 1) / WARM_UP : 1));
}

/* In the same states both find the same losses and gradients, within what moving the weights by one rounding to bf16
 * does there: in a product each factor is rounded once, and the sum is not (support/rounding.h). */
static void same_direction(void **state)
{
    (void)state;
    struct mx_model_config config = mixed_config();
    struct rounding_seen seen = {.sharpness = SHARPNESS};
    struct rig fp32, mixed;
    rig_open(&mixed, &config, MX_MODEL_TRAIN, 1, false);
    load(&mixed, &config, 0.3f);
    config.mixed = false;
    rig_open(&fp32, &config, MX_MODEL_TRAIN, 1, false);
    load(&fp32, &config, 0.3f);
    for (int i = 0; i < STEPS; i++) {
        if (i % STATE_STEPS == 0) rounding_compare(&fp32, &mixed, (uint64_t)i, ROUNDING_BF16, &seen);
        rig_teach(&fp32, (uint64_t)i);
        update(&fp32, i);
    }
    rounding_require(&seen);
    assert_true(seen.loss_far > 0 && seen.gradient_far > 0); /* it is another arithmetic */
    rig_close(&fp32);
    rig_close(&mixed);
}

/* The losses at the beginning and at the end. */
static void learn(const struct mx_model_config *config, double losses[2])
{
    struct rig rig;
    rig_open(&rig, config, MX_MODEL_TRAIN, 1, false);
    load(&rig, config, 0.02f);
    for (int i = 0; i < STEPS; i++) {
        losses[i > 0] = rig_teach(&rig, 0).total;
        update(&rig, i);
    }
    rig_close(&rig);
}

/* Two trainings of other arithmetic go their own ways, but both learn what there is: most of what the one does, the
 * other does, too. */
static void learns_as_fp32_does(void **state)
{
    (void)state;
    struct mx_model_config config = mixed_config();
    double fp32[2], mixed[2];
    config.size.width = 48;
    config.size.hidden = 192;
    learn(&config, mixed);
    config.mixed = false;
    learn(&config, fp32);
    assert_true(fp32[1] < 0.7 * fp32[0]); /* there was something to learn */
    if (!(mixed[0] - mixed[1] > 0.75 * (fp32[0] - fp32[1])))
        fail_msg("the loss goes from %g to %g in mixed precision, from %g to %g in fp32", mixed[0], mixed[1], fp32[0],
                 fp32[1]);
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
    struct mx_model_memory_plan fp32, mixed, speaks[2];
    for (int i = 0; i < 2; i++) {
        config.mixed = i == 1;
        assert_int_equal(mx_model_memory_plan(&config, &capacity, MX_MODEL_TRAIN, i ? &mixed : &fp32), 0);
        assert_int_equal(mx_model_memory_plan(&config, &capacity, MX_MODEL_SPEAK, &speaks[i]), 0);
    }
    /* Half of normed1 and normed2 [rows, W], pre and hidden [rows, 4W], of about 19 W floats a row and block. */
    assert_true((double)mixed.activations_bytes < 0.8 * (double)fp32.activations_bytes);
    assert_true(mixed.parameters_bytes == fp32.parameters_bytes && mixed.ema_bytes == fp32.ema_bytes);
    assert_memory_equal(&speaks[0], &speaks[1], sizeof speaks[0]);
}

static void speaking_stays_fp32(void **state)
{
    (void)state;
    struct mx_model_config config = mixed_config();
    float *said[2];
    int64_t frames[2];
    for (int i = 0; i < 2; i++) {
        struct rig rig;
        struct mx_speech speech;
        config.mixed = i == 1;
        rig_open(&rig, &config, MX_MODEL_SPEAK, 1, true);
        load(&rig, &config, 0.3f);
        assert_int_equal(mx_model_synthesize(rig.model, rig.stream, rig_parameters(&rig), &rig.batch, NULL, &speech),
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

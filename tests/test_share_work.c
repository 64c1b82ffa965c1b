/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Training that is shared by two devices: it follows the run on one device with the same batches, repeats itself to the
 * bit, resumes exactly, and holds for every way of dividing a batch, nothing included.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/rng.h"
#include "myxtts/budget.h"
#include "myxtts/error.h"
#include "support/rounding.h"
#include "support/training_rig.h"

#define STRETCH   4    /* steps from the same state, after which all have those weights again */
#define MOVED     3    /* runs on one device whose weights were moved */
#define FRAMES    1000 /* of a step, at most: terms of the sums that are divided */
#define SHARE     rounding_share(FRAMES, ROUNDING_F32)
#define SHARPNESS 1e-3 /* of a loss and of the gradient's norm: what most comparisons must be able to see */
/* ThreadSanitizer watches who touches what, not how far losses part: that is for the other builds. */
#ifdef __SANITIZE_THREAD__
#define FOLLOWED (2 * STRETCH)
#else
#define FOLLOWED (10 * STRETCH)
#endif

static struct mx_trainer_options shared_options(enum training_corpus corpus, const char *shares)
{
    struct mx_trainer_options o = training_flow(training_options(corpus), true, 1, 2);
    o.flow.share = MX_SHARE_ON;
    assert_int_equal(mx_shares_parse(shares, &o.flow.shares), 0);
    return o;
}

/* ---- the same losses ---- */

/* The run with options `b` follows that with `a` for `steps` steps; returns how many frames were shared.
 *
 * The two add up the same gradients in another order, so that the weights part by roundings, and with them the losses:
 * by how much is a matter of the weights (where two alignments of an utterance are equally good, by a lot) and grows
 * from step to step. So it is measured: some more runs on one device begin each stretch of steps with weights that were
 * moved as far as the sums over rows that are divided can err, and the losses may be twice as far apart as the farthest
 * of those. After a stretch all runs get the weights of the first. */
static int64_t losses_follow(const struct mx_trainer_options *a, const struct mx_trainer_options *b, int steps)
{
    struct mx_trainer *const one = training_start(a, NULL, NULL), *const two = training_start(b, NULL, NULL);
    struct mx_trainer *moved[MOVED];
    int64_t shared = 0;
    int sharp = 0;
    for (int m = 0; m < MOVED; m++) moved[m] = training_start(a, NULL, NULL);
    for (int i = 0; i < steps; i++) {
        struct mx_trainer_report first, second, other;
        if (i % STRETCH == 0) {
            size_t floats;
            const struct mx_trainer_arrays arrays = training_arrays_read(one, &floats);
            float *const weights = mx_alloc(floats, sizeof *weights);
            assert_non_null(weights);
            memcpy(weights, arrays.weights, floats * sizeof *weights);
            assert_int_equal(mx_trainer_write(two, MX_PART_ACOUSTIC, &arrays), 0);
            for (int m = 0; m < MOVED; m++) {
                memcpy(arrays.weights, weights, floats * sizeof *weights);
                rounding_move(arrays.weights, (int64_t)floats, (uint64_t)(i * MOVED + m), SHARE);
                assert_int_equal(mx_trainer_write(moved[m], MX_PART_ACOUSTIC, &arrays), 0);
            }
            mx_free(weights);
            mx_free(arrays.weights);
        }
        training_step(one, &first);
        training_step(two, &second);
        assert_true(first.frames == second.frames && first.tokens == second.tokens && first.frames <= FRAMES);
        assert_int_equal(first.utterances, second.utterances);
        assert_int_equal(first.shared_frames, 0);
        shared += second.shared_frames;
        double far = 0, norm_far = 0;
        for (int m = 0; m < MOVED; m++) {
            training_step(moved[m], &other);
            far = fmax(far, fabs(other.losses.total - first.losses.total));
            norm_far = fmax(norm_far, fabs(other.grad_norm - first.grad_norm));
        }
        far = 2 * far + SHARE * fabs(first.losses.total);
        norm_far = 2 * norm_far + SHARE * first.grad_norm;
        sharp += far <= SHARPNESS * fabs(first.losses.total) && norm_far <= SHARPNESS * first.grad_norm;
        if (!(fabs(first.losses.total - second.losses.total) <= far))
            fail_msg("step %d: the loss is %.9g and, shared, %.9g; %.3g is allowed", i, first.losses.total,
                     second.losses.total, far);
        if (!(fabs(first.grad_norm - second.grad_norm) <= norm_far))
            fail_msg("step %d: the norm is %.9g and, shared, %.9g; %.3g is allowed", i, first.grad_norm,
                     second.grad_norm, norm_far);
    }
    if (2 * sharp < steps) fail_msg("only %d of %d steps could be compared sharply", sharp, steps);
    mx_trainer_destroy(one);
    mx_trainer_destroy(two);
    for (int m = 0; m < MOVED; m++) mx_trainer_destroy(moved[m]);
    return shared;
}

/* A run as the program would make it if nothing else was said. */
static struct mx_trainer_options usual(struct mx_trainer_options o, uint64_t seed)
{
    const struct mx_level_settings *const level = mx_level_settings(MX_LEVEL_ENHANCED);
    o.optimizer.schedule = (struct mx_schedule){.peak = level->peak,
                                                .floor = level->floor,
                                                .warmup = FOLLOWED / 10,
                                                .steps = FOLLOWED,
                                                .cycles = level->cycles,
                                                .cycle_decay = level->cycle_decay};
    o.optimizer.grad_clip = level->grad_clip;
    o.optimizer.weight_decay = level->weight_decay;
    o.optimizer.ema_decay = level->ema_decay;
    o.model.dropout = (float)level->dropout;
    o.seed = seed;
    return o;
}

static void test_losses_follow_those_of_one_device(void **state)
{
    (void)state;
    const struct mx_trainer_options plain = training_flow(training_options(TRAINING_FEATURES), true, 1, 2);
    const struct mx_trainer_options alone = usual(plain, 1);
    const struct mx_trainer_options both = usual(shared_options(TRAINING_FEATURES, "0:0.5"), 1);
    assert_true(alone.model.dropout > 0); /* the same values are left out */
    assert_true(losses_follow(&alone, &both, FOLLOWED) > 0);
}

static void test_and_with_sound_augmentation_and_several_batches_a_step(void **state)
{
    (void)state;
    struct mx_trainer_options alone = training_flow(training_options(TRAINING_SOUND), true, 1, 2);
    struct mx_trainer_options both = shared_options(TRAINING_SOUND, "0:0.3,5:0.6,9:0,12:0.5");
    alone.flow.augment = both.flow.augment = (struct mx_augment_options){.gain_db = 3,
                                                                         .noise_share = 0.5,
                                                                         .snr_min_db = 20,
                                                                         .snr_max_db = 40,
                                                                         .speed = 0.05,
                                                                         .band_masks = 1,
                                                                         .band_width_max = 4,
                                                                         .time_masks = 1,
                                                                         .time_share_max = 0.1};
    alone.batch_size = both.batch_size = 3;
    alone.grad_accum = both.grad_accum = 2;
    assert_true(losses_follow(&alone, &both, 16) > 0);
}

/* ---- the same bits ---- */

static void test_a_run_repeats_itself(void **state)
{
    (void)state;
    struct mx_trainer_options o = shared_options(TRAINING_FEATURES, "0:0.5,4:0.4");
    const struct training_outcome first = training_run(&o);
    training_same(&first, &o);
    o.flow.buffer = 4; /* how the batches flow makes no difference */
    o.workers = 2;
    training_same(&first, &o);
    o.flow.sequential = true;
    training_same(&first, &o);
    o.flow.sequential = false;
    o.flow.static_shapes = true;
    training_same(&first, &o);
    assert_true(mx_shares_at(&first.state.shares, 6) == 0.4);
    mx_free(first.arrays.weights);
}

static void test_it_resumes_exactly(void **state)
{
    (void)state;
    struct mx_trainer_options o = shared_options(TRAINING_SOUND, "0:0,1:0.5,3:0,4:0.3,6:0.6");
    o.grad_accum = 2;
    o.batch_size = 3;
    for (int at = 1; at < TRAINING_STEPS; at += 2) {
        struct training_outcome whole = training_run(&o), parts = {0};
        struct mx_trainer *trainer = training_start(&o, NULL, NULL);
        training_steps(trainer, 0, at, &parts);
        mx_trainer_destroy(trainer);
        struct mx_trainer_options later = o;
        later.flow.shares.count = 0; /* the state has them */
        later.flow.share_most = 0.75;
        const struct mx_trainer_arrays arrays = parts.arrays;
        const struct mx_trainer_state place = parts.state;
        trainer = training_start(&later, &place, &arrays);
        training_steps(trainer, at, TRAINING_STEPS, &parts);
        mx_trainer_destroy(trainer);
        /* A resumed run that measures may change shares that nobody has seen yet; these steps are too few for it. */
        assert_true(training_equal(&whole, &parts));
        mx_free(whole.arrays.weights);
        mx_free(arrays.weights);
        mx_free(parts.arrays.weights);
    }
}

static void test_a_measured_run_can_be_repeated_from_its_list(void **state)
{
    (void)state;
    struct mx_trainer_options o = shared_options(TRAINING_FEATURES, "");
    const struct training_outcome measured = training_run(&o);
    assert_true(measured.state.shares.count >= 1 && mx_shares_at(&measured.state.shares, 0) == 0.5);
    o.flow.shares = measured.state.shares;
    training_same(&measured, &o);
    mx_free(measured.arrays.weights);
}

static void test_without_sharing_nothing_changes(void **state)
{
    (void)state;
    const struct mx_trainer_options plain = training_options(TRAINING_FEATURES);
    const struct training_outcome expected = training_run(&plain);
    struct mx_trainer_options o = training_flow(training_options(TRAINING_FEATURES), true, 1, 2);
    o.flow.shares = (struct mx_shares){.count = 1, .points = {{0, 0.5}}}; /* of no concern where it is off */
    training_same(&expected, &o);
    mx_free(expected.arrays.weights);
}

/* ---- every division ---- */

static void test_a_share_of_nothing_and_one_that_is_too_small(void **state)
{
    (void)state;
    const struct mx_trainer_options alone = training_flow(training_options(TRAINING_FEATURES), true, 1, 2);
    struct mx_trainer_options both = shared_options(TRAINING_FEATURES, "0:0.01");
    assert_int_equal(losses_follow(&alone, &both, 8), 0);
    /* Nothing: the data device's replica has no part in it, to the bit. */
    both = shared_options(TRAINING_FEATURES, "0:0");
    struct training_outcome plain = training_run(&alone), none = training_run(&both);
    assert_int_equal(none.state.shares.count, 1);
    none.state.shares = plain.state.shares;
    assert_true(training_equal(&plain, &none));
    mx_free(plain.arrays.weights);
    mx_free(none.arrays.weights);
}

/* Whatever the replica of the data device held when it rested or was not yet at work, it begins with what it needs. */
static void test_it_begins_and_ends_between_steps(void **state)
{
    (void)state;
    const struct mx_trainer_options alone = training_flow(training_options(TRAINING_FEATURES), true, 1, 2);
    const struct mx_trainer_options both = shared_options(TRAINING_FEATURES, "0:0,2:0.5,5:0,6:0.4,9:0,11:0.6");
    assert_true(losses_follow(&alone, &both, 14) > 0);
    const struct training_outcome once = training_run(&both);
    training_same(&once, &both);
    mx_free(once.arrays.weights);
}

static void test_batches_of_one_utterance_take_turns(void **state)
{
    (void)state;
    struct mx_trainer_options alone = training_flow(training_options(TRAINING_FEATURES), true, 1, 2);
    struct mx_trainer_options both = shared_options(TRAINING_FEATURES, "0:0.5");
    alone.batch_size = both.batch_size = 1;
    assert_int_equal(losses_follow(&alone, &both, 6), 0); /* nothing to be divided in a step */
    alone.grad_accum = both.grad_accum = 4;
    struct mx_trainer *const trainer = training_start(&both, NULL, NULL);
    for (int i = 0; i < 6; i++) {
        struct mx_trainer_report report;
        assert_int_equal(mx_trainer_step(trainer, &report), 0);
        assert_true(report.shared_frames > 0 && report.shared_frames < report.frames);
    }
    mx_trainer_destroy(trainer);
    losses_follow(&alone, &both, 6);
}

static void test_random_shares(void **state)
{
    (void)state;
    const struct mx_trainer_options alone = training_flow(training_options(TRAINING_FEATURES), true, 1, 2);
    for (uint64_t round = 0; round < 4; round++) {
        struct mx_trainer_options both = shared_options(TRAINING_FEATURES, "");
        for (int i = 0; i < 10; i++)
            mx_shares_add(&both.flow.shares, i, (double)mx_rng_below(5, round, (uint64_t)i, 750) / 1000);
        assert_true(losses_follow(&alone, &both, 10) > 0);
    }
}

/* ---- what goes wrong ---- */

static void test_bad_steps_change_nothing_on_either_device(void **state)
{
    (void)state;
    struct mx_trainer_options o = shared_options(TRAINING_FEATURES, "0:0.5");
    struct training_outcome good = {0}, bad = {0}, after = {0};
    o.guard.skips_max = 3;
    struct mx_trainer *const trainer = training_start(&o, NULL, NULL);
    training_steps(trainer, 0, 1, &good);
    training_steps(trainer, 1, 1, &bad);
    bad.arrays.weights[mx_parameters_find(mx_trainer_parameters(trainer, MX_PART_ACOUSTIC), "decoder.mel.bias")->at] =
        NAN;
    assert_int_equal(mx_trainer_write(trainer, MX_PART_ACOUSTIC, &bad.arrays), 0);
    training_steps(trainer, 1, 3, &after);
    assert_int_equal(after.reports[2].guard.verdict, MX_GUARD_SKIPPED);
    assert_true(after.reports[2].shared_frames > 0);
    assert_int_equal(mx_trainer_state(trainer)->parts[MX_PART_ACOUSTIC].updates, 1);
    assert_memory_equal(after.arrays.weights, bad.arrays.weights, 4 * good.floats * sizeof(float));
    struct mx_trainer_report report;
    assert_int_equal(mx_trainer_step(trainer, &report), MX_ERR_DATA);
    assert_int_equal(report.guard.verdict, MX_GUARD_STOP);
    assert_int_equal(mx_trainer_write(trainer, MX_PART_ACOUSTIC, &good.arrays), 0);
    assert_int_equal(mx_trainer_step(trainer, &report), 0);
    assert_int_equal(report.guard.verdict, MX_GUARD_FINE);
    mx_error_clear();
    mx_trainer_destroy(trainer);
    mx_free(good.arrays.weights);
    mx_free(bad.arrays.weights);
    mx_free(after.arrays.weights);
}

static void test_what_cannot_be_shared_is_refused(void **state)
{
    (void)state;
    struct mx_trainer_memory_plan plan;
    struct mx_trainer_options o = training_options(TRAINING_FEATURES);
    o.flow.share = MX_SHARE_ON;
    assert_int_equal(mx_trainer_memory_plan(&o, &plan), MX_ERR_CONFIG);
    assert_non_null(strstr(mx_error_last()->hint, "--share-work off"));
    o.flow.share = MX_SHARE_AUTO; /* finds nothing to do */
    assert_int_equal(mx_trainer_memory_plan(&o, &plan), 0);
    o = shared_options(TRAINING_FEATURES, "0:0.5,9:0.8");
    assert_int_equal(mx_trainer_memory_plan(&o, &plan), MX_ERR_CONFIG);
    assert_non_null(strstr(mx_error_last()->message, "step 9"));
    o.flow.share_most = 0.8;
    assert_int_equal(mx_trainer_memory_plan(&o, &plan), 0);
    mx_error_clear();
}

/* ---- memory ---- */

static void budget_compare(struct mx_device *device, uint64_t device_bytes, uint64_t *host_bytes,
                           const struct mx_budget_stats *before)
{
    struct mx_budget_stats after;
    mx_budget_stats(mx_device_budget(device), &after);
    assert_int_equal(after.current_bytes - before->current_bytes, device_bytes);
    *host_bytes += after.host_bytes - before->host_bytes;
}

static void test_the_plan_is_what_is_taken(void **state)
{
    (void)state;
    struct mx_trainer_memory_plan plan, smaller;
    struct mx_budget_stats data, model;
    uint64_t host = 0;
    struct mx_trainer_options o = shared_options(TRAINING_SOUND, "0:0.5");
    o.grad_accum = 2;
    assert_int_equal(mx_trainer_memory_plan(&o, &plan), 0);
    mx_budget_stats(mx_device_budget(training.data), &data);
    mx_budget_stats(mx_device_budget(training.model), &model);
    struct mx_trainer *const trainer = training_start(&o, NULL, NULL);
    budget_compare(training.data, plan.data_bytes, &host, &data);
    budget_compare(training.model, plan.model_bytes, &host, &model);
    assert_int_equal(host, plan.host_bytes);
    mx_trainer_destroy(trainer);
    o.flow.shares.count = 0;
    o.flow.share_most = 0.125;
    assert_int_equal(mx_trainer_memory_plan(&o, &smaller), 0);
    assert_true(smaller.data_bytes < plan.data_bytes && smaller.model_bytes == plan.model_bytes);
}

static void test_steps_take_no_memory(void **state)
{
    (void)state;
    const struct mx_trainer_options o = shared_options(TRAINING_FEATURES, "");
    struct mx_trainer *const trainer = training_start(&o, NULL, NULL);
    struct mx_trainer_report report;
    for (int i = 0; i < 12; i++) assert_int_equal(mx_trainer_step(trainer, &report), 0);
    const uint64_t before = mx_alloc_count();
    for (int i = 0; i < 60; i++) assert_int_equal(mx_trainer_step(trainer, &report), 0); /* beyond all early points */
    assert_int_equal(mx_alloc_count(), before);
    mx_trainer_destroy(trainer);
}

/* ---- automatic ---- */

static void test_auto_begins_without(void **state)
{
    (void)state;
    struct mx_trainer_options o = shared_options(TRAINING_FEATURES, "");
    o.flow.share = MX_SHARE_AUTO;
    struct mx_trainer *const trainer = training_start(&o, NULL, NULL);
    struct mx_trainer_report report;
    for (int i = 0; i < 12; i++) {
        assert_int_equal(mx_trainer_step(trainer, &report), 0);
        assert_int_equal(report.shared_frames, 0); /* whatever is decided, it takes effect later */
    }
    for (int i = 0; i < 30; i++) assert_int_equal(mx_trainer_step(trainer, &report), 0);
    for (int32_t i = 0; i < mx_trainer_state(trainer)->shares.count; i++)
        assert_true(mx_trainer_state(trainer)->shares.points[i].step >= 12);
    mx_trainer_destroy(trainer);
}

/* ---- evaluation ---- */

static void test_evaluation_sees_the_averaged_weights_of_both(void **state)
{
    (void)state;
    struct mx_trainer_evaluation shared, plain;
    struct training_outcome outcome = {0};
    struct mx_trainer_options o = shared_options(TRAINING_SOUND, "0:0.5");
    struct mx_trainer *trainer = training_start(&o, NULL, NULL);
    training_steps(trainer, 0, TRAINING_STEPS, &outcome);
    assert_int_equal(mx_trainer_evaluate(trainer, &shared), 0);
    mx_trainer_destroy(trainer);
    o = training_options(TRAINING_SOUND);
    trainer = training_start(&o, NULL, &outcome.arrays);
    assert_int_equal(mx_trainer_evaluate(trainer, &plain), 0);
    mx_trainer_destroy(trainer);
    assert_true(plain.utterances > 0);
    assert_memory_equal(&shared, &plain, sizeof plain);
    mx_free(outcome.arrays.weights);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_losses_follow_those_of_one_device),
                                       cmocka_unit_test(test_and_with_sound_augmentation_and_several_batches_a_step),
                                       cmocka_unit_test(test_a_run_repeats_itself),
                                       cmocka_unit_test(test_it_resumes_exactly),
                                       cmocka_unit_test(test_a_measured_run_can_be_repeated_from_its_list),
                                       cmocka_unit_test(test_without_sharing_nothing_changes),
                                       cmocka_unit_test(test_a_share_of_nothing_and_one_that_is_too_small),
                                       cmocka_unit_test(test_it_begins_and_ends_between_steps),
                                       cmocka_unit_test(test_batches_of_one_utterance_take_turns),
                                       cmocka_unit_test(test_random_shares),
                                       cmocka_unit_test(test_bad_steps_change_nothing_on_either_device),
                                       cmocka_unit_test(test_what_cannot_be_shared_is_refused),
                                       cmocka_unit_test(test_the_plan_is_what_is_taken),
                                       cmocka_unit_test(test_steps_take_no_memory),
                                       cmocka_unit_test(test_auto_begins_without),
                                       cmocka_unit_test(test_evaluation_sees_the_averaged_weights_of_both)};
    return cmocka_run_group_tests(tests, training_open, training_close);
}

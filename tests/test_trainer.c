/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The trainer on a small corpus of tones: it learns, it resumes exactly, it accumulates exactly, it leaves bad steps
 * out, it takes no memory while it runs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "myxtts/budget.h"
#include "myxtts/error.h"
#include "support/small_corpus.h"
#include "support/training_rig.h"
#include "train/dtw.h"

static void corpus_make(const char *folder)
{
    small_corpus_make(folder, TRAINING_ROWS, 0);
}

static int group_open(void **state)
{
    (void)state;
    return training_open_folder(corpus_make, &training_manifest);
}

static struct mx_trainer_options options_make(void)
{
    return training_flow(training_options_of(training.recordings), false, 2, 2);
}

/* Equal in all but the times. */
static void reports_compare(const struct mx_trainer_report *a, const struct mx_trainer_report *b)
{
    assert_int_equal(a->step, b->step);
    assert_int_equal(a->epoch, b->epoch);
    assert_memory_equal(&a->losses, &b->losses, sizeof a->losses);
    assert_true(a->rate == b->rate && a->grad_norm == b->grad_norm);
    assert_true(a->utterances == b->utterances && a->tokens == b->tokens && a->frames == b->frames);
    assert_true(a->guard.verdict == b->guard.verdict && a->guard.loss_z == b->guard.loss_z);
    assert_true(a->guard.norm_z == b->guard.norm_z);
}

/* How far the prediction of the picture is from its target, in the mean. Frames, durations and tokens fit together. */
static double picture_error(struct mx_trainer *trainer)
{
    struct mx_trainer_picture p;
    int64_t frames = 0;
    double sum = 0;
    assert_int_equal(mx_trainer_picture(trainer, &p), 0);
    assert_true(p.frames > p.tokens && p.tokens > 0);
    for (int32_t i = 0; i < p.tokens; i++) frames += p.durations[i];
    assert_int_equal(frames, p.frames);
    for (int64_t i = 0; i < frames * p.bands; i++) sum += fabs((double)(p.prediction[i] - p.target[i]));
    for (int64_t i = 0; i < (int64_t)p.tokens * p.bands; i++) assert_true(isfinite(p.means[i]));
    return sum / (double)(frames * p.bands);
}

/* Evaluations tell how far they are: never less than before, and in the end all. */
static void done_tell(void *context, double done)
{
    double *const last = context;
    assert_true(done > *last && done <= 1);
    *last = done;
}

/* A signal comes while an evaluation is under way: it ends at the next look, and the trainer is as it was. */
static void stop_tell(void *context, double done)
{
    assert_true(done < 1);
    atomic_store((atomic_bool *)context, true);
}

static void test_evaluation_stops(void **state)
{
    (void)state;
    const struct mx_trainer_options o = options_make();
    struct mx_trainer *const trainer = training_start(&o, NULL, NULL);
    struct mx_trainer_evaluation e;
    struct mx_trainer_report report;
    atomic_bool stop = false;
    mx_trainer_evaluation_watch(trainer, stop_tell, &stop, &stop);
    assert_int_equal(mx_trainer_evaluate(trainer, &e), MX_ERR_INTERRUPTED);
    mx_error_clear();
    mx_trainer_evaluation_watch(trainer, NULL, NULL, NULL);
    assert_int_equal(mx_trainer_evaluate(trainer, &e), 0);
    assert_int_equal(e.utterances, mx_trainer_validation_count(trainer));
    training_step(trainer, &report);
    mx_trainer_destroy(trainer);
}

static void test_loss_goes_down(void **state)
{
    (void)state;
    const struct mx_trainer_options o = options_make();
    struct mx_trainer *const trainer = training_start(&o, NULL, NULL);
    struct mx_trainer_report report;
    struct mx_trainer_evaluation before, after;
    double first = 0, last = 0, done = 0;
    mx_trainer_evaluation_watch(trainer, done_tell, &done, NULL);
    assert_int_equal(mx_trainer_evaluate(trainer, &before), 0);
    assert_true(done == 1);
    mx_trainer_evaluation_watch(trainer, NULL, NULL, NULL);
    const double untrained = picture_error(trainer);
    for (int i = 0; i < 60; i++) {
        training_step(trainer, &report);
        assert_int_equal(report.step, i + 1);
        assert_true(report.frames > 0 && report.tokens > 0 && report.utterances > 0 && report.left_out == 0);
        if (i < 6) first += report.losses.total;
        if (i >= 54) last += report.losses.total;
    }
    assert_true(last < 0.6 * first);
    assert_int_equal(mx_trainer_evaluate(trainer, &after), 0);
    assert_int_equal(after.utterances, mx_trainer_validation_count(trainer));
    assert_true(after.utterances > 0);
    assert_true(after.losses.total < 0.8 * before.losses.total);
    assert_int_equal(after.spoken, after.utterances);
    assert_true(isfinite(after.mel_db) && after.mel_db > 0);
    assert_true(isfinite(after.duration_error) && isfinite(after.pitch_error));
    assert_true(picture_error(trainer) < 0.8 * untrained);
    mx_trainer_destroy(trainer);
}

/* Where nothing can be spoken, nothing is measured: durations that are far too long leave no number behind. */
static void test_no_value_where_there_is_none(void **state)
{
    (void)state;
    const struct mx_trainer_options o = options_make();
    struct mx_trainer *const trainer = training_start(&o, NULL, NULL);
    const struct mx_parameters *const table = mx_trainer_parameters(trainer, MX_PART_ACOUSTIC);
    const struct mx_parameter *const bias = mx_parameters_find(table, "predictor.duration.out.bias");
    float *const average = mx_alloc((size_t)table->floats, sizeof *average);
    struct mx_trainer_evaluation e;
    assert_non_null(bias);
    assert_non_null(average);
    assert_int_equal(mx_trainer_read(trainer, MX_PART_ACOUSTIC, &(struct mx_trainer_arrays){.average = average}), 0);
    average[bias->at] = 6;
    assert_int_equal(mx_trainer_write(trainer, MX_PART_ACOUSTIC, &(struct mx_trainer_arrays){.average = average}), 0);
    assert_int_equal(mx_trainer_evaluate(trainer, &e), 0);
    assert_true(e.utterances > 0 && isfinite(e.losses.total));
    assert_int_equal(e.spoken, 0);
    assert_true(isnan(e.mel_db) && isnan(e.duration_error) && isnan(e.pitch_error));
    mx_free(average);
    mx_trainer_destroy(trainer);
}

static void test_resume_is_exact(void **state)
{
    (void)state;
    struct mx_trainer_options o = options_make();
    struct mx_trainer_report whole[20], parts[20];
    size_t floats;
    struct mx_trainer *trainer = training_start(&o, NULL, NULL);
    for (int i = 0; i < 20; i++) training_step(trainer, &whole[i]);
    const struct mx_trainer_arrays expected = training_arrays_read(trainer, &floats);
    const struct mx_trainer_state end = *mx_trainer_state(trainer);
    mx_trainer_destroy(trainer);

    trainer = training_start(&o, NULL, NULL);
    for (int i = 0; i < 10; i++) training_step(trainer, &parts[i]);
    struct mx_trainer_evaluation ignored; /* looking at a run does not change it */
    struct mx_trainer_picture picture;
    assert_int_equal(mx_trainer_evaluate(trainer, &ignored), 0);
    assert_int_equal(mx_trainer_picture(trainer, &picture), 0);
    const struct mx_trainer_arrays middle = training_arrays_read(trainer, &floats);
    const struct mx_trainer_state place = *mx_trainer_state(trainer);
    mx_trainer_destroy(trainer);

    o.workers = 1; /* the number of threads makes no difference */
    trainer = training_start(&o, &place, &middle);
    for (int i = 10; i < 20; i++) training_step(trainer, &parts[i]);
    const struct mx_trainer_arrays found = training_arrays_read(trainer, &floats);
    assert_memory_equal(found.weights, expected.weights, 4 * floats * sizeof(float));
    assert_memory_equal(&end, mx_trainer_state(trainer), sizeof end);
    for (int i = 0; i < 20; i++) reports_compare(&whole[i], &parts[i]);
    assert_true(place.epoch > 0); /* the cut was not in the first epoch */
    mx_trainer_destroy(trainer);
    mx_free(expected.weights);
    mx_free(middle.weights);
    mx_free(found.weights);
}

static void test_accumulation_equals_the_large_batch(void **state)
{
    (void)state;
    struct mx_trainer_options o = options_make();
    struct mx_trainer_report large, split;
    size_t floats;
    o.model.dropout = 0;
    o.batch_size = 12;
    struct mx_trainer *trainer = training_start(&o, NULL, NULL);
    training_step(trainer, &large);
    const struct mx_trainer_arrays a = training_arrays_read(trainer, &floats);
    mx_trainer_destroy(trainer);
    o.batch_size = 3;
    o.grad_accum = 4;
    trainer = training_start(&o, NULL, NULL);
    training_step(trainer, &split);
    const struct mx_trainer_arrays b = training_arrays_read(trainer, &floats);
    assert_int_equal(large.utterances, 12);
    assert_int_equal(split.utterances, 12);
    assert_int_equal(mx_trainer_state(trainer)->passes, 4);
    /* A row is the same to the bit in any batch, so only sums over all rows differ, by the order of their terms: a
     * random walk of as many roundings as there are frames, of which six deviations are allowed (see device/cases/op_bound.c). */
    const double bound = 6 * sqrt((double)large.frames) * 0x1p-24;
    for (int k = 0; k < MX_MODEL_LOSSES; k++)
        assert_true(fabs(large.losses.values[k] - split.losses.values[k]) <= bound * large.losses.values[k]);
    assert_true(fabs(large.grad_norm - split.grad_norm) <= bound * large.grad_norm);
    /* The first moment is the gradient by a factor. */
    double off = 0, size = 0;
    for (size_t i = 0; i < floats; i++) {
        const double d = (double)a.states[MX_STATE_MOMENT1][i] - (double)b.states[MX_STATE_MOMENT1][i];
        off += d * d;
        size += (double)a.states[MX_STATE_MOMENT1][i] * (double)a.states[MX_STATE_MOMENT1][i];
    }
    if (!(size > 0 && sqrt(off / size) <= bound)) fail_msg("off by %g, allowed %g", sqrt(off / size), bound);
    mx_trainer_destroy(trainer);
    mx_free(a.weights);
    mx_free(b.weights);
}

static void test_steps_take_no_memory(void **state)
{
    (void)state;
    const struct mx_trainer_options o = options_make();
    struct mx_trainer *const trainer = training_start(&o, NULL, NULL);
    struct mx_trainer_report report;
    for (int i = 0; i < 12; i++) training_step(trainer, &report); /* readers grow to the longest utterance */
    const uint64_t before = mx_alloc_count();
    for (int i = 0; i < 12; i++) training_step(trainer, &report);
    assert_int_equal(mx_alloc_count(), before);
    mx_trainer_destroy(trainer);
}

static void test_bad_steps_change_nothing_and_end_the_run(void **state)
{
    (void)state;
    struct mx_trainer_options o = options_make();
    struct mx_trainer_report report;
    size_t floats;
    o.guard.skips_max = 3;
    struct mx_trainer *const trainer = training_start(&o, NULL, NULL);
    training_step(trainer, &report);
    const struct mx_trainer_arrays good = training_arrays_read(trainer, &floats);
    const struct mx_trainer_arrays bad = training_arrays_read(trainer, &floats),
                                   after = training_arrays_make(trainer, &floats);
    bad.weights[mx_parameters_find(mx_trainer_parameters(trainer, MX_PART_ACOUSTIC), "decoder.mel.bias")->at] = NAN;
    assert_int_equal(mx_trainer_write(trainer, MX_PART_ACOUSTIC, &bad), 0);
    training_step(trainer, &report);
    assert_int_equal(report.guard.verdict, MX_GUARD_SKIPPED);
    assert_true(isnan(report.losses.total));
    assert_int_equal(mx_trainer_state(trainer)->parts[MX_PART_ACOUSTIC].updates, 1);
    training_step(trainer, &report);
    assert_int_equal(mx_trainer_step(trainer, &report), MX_ERR_DATA);
    assert_int_equal(report.guard.verdict, MX_GUARD_STOP);
    assert_int_equal(mx_trainer_state(trainer)->parts[MX_PART_ACOUSTIC].guard.skipped, 3);
    assert_int_equal(mx_trainer_read(trainer, MX_PART_ACOUSTIC, &after), 0);
    assert_memory_equal(after.weights, bad.weights, 4 * floats * sizeof(float));
    /* With good weights it goes on. */
    assert_int_equal(mx_trainer_write(trainer, MX_PART_ACOUSTIC, &good), 0);
    training_step(trainer, &report);
    assert_int_equal(report.guard.verdict, MX_GUARD_FINE);
    assert_int_equal(mx_trainer_state(trainer)->parts[MX_PART_ACOUSTIC].updates, 2);
    mx_error_clear();
    mx_trainer_destroy(trainer);
    mx_free(good.weights);
    mx_free(bad.weights);
    mx_free(after.weights);
}

static void test_references_are_others_of_the_speaker(void **state)
{
    (void)state;
    struct mx_batch_source *source;
    const struct mx_batch_source_options o = {
        .dataset = training.recordings, .normaliser = training.normaliser, .seed = 3, .reference_seconds = 0.5};
    assert_int_equal(mx_batch_source_create(&o, &source), 0);
    int changes = 0;
    for (uint32_t u = 0; u < mx_dataset_count(training.recordings); u++) {
        const uint32_t first = mx_batch_source_reference(source, 0, u, 0);
        assert_int_equal(first, mx_batch_source_reference(source, 0, u, 0));
        for (uint32_t epoch = 0; epoch < 20; epoch++) {
            const uint32_t reference = mx_batch_source_reference(source, epoch, u, 0);
            assert_true(reference != u);
            assert_false(mx_dataset_utterance(training.recordings, reference)->validation);
            changes += reference != first;
        }
    }
    assert_true(changes > 100);
    mx_batch_source_destroy(source);
}

static void test_plan_is_what_is_taken(void **state)
{
    (void)state;
    const struct mx_trainer_options o = options_make();
    struct mx_trainer_memory_plan plan;
    struct mx_trainer *trainer;
    struct mx_budget_stats stats;
    mx_budget_stats(mx_device_budget(training.model), &stats);
    const uint64_t of_device = stats.current_bytes; /* the backend's own */
    assert_int_equal(mx_trainer_memory_plan(&o, &plan), 0);
    assert_int_equal(plan.utterances + plan.validation, TRAINING_ROWS);
    assert_int_equal(plan.epoch_steps, 3);
    assert_int_equal(mx_trainer_create(&o, &trainer), 0);
    assert_int_equal(mx_trainer_start(trainer, NULL), 0);
    mx_budget_stats(mx_device_budget(training.model), &stats);
    assert_int_equal(stats.current_bytes, plan.device_bytes + of_device);
    mx_trainer_destroy(trainer);
    mx_budget_stats(mx_device_budget(training.model), &stats);
    assert_int_equal(stats.current_bytes, of_device);
}

static void test_warping_finds_the_same_in_another_time(void **state)
{
    (void)state;
    enum { A = 6, B = 9, N = 2 };
    const int32_t stretch[B] = {0, 0, 1, 2, 2, 3, 4, 5, 5};
    float a[A * N], b[B * N];
    struct mx_dtw_pair pairs[A + B];
    double cost;
    for (int i = 0; i < A; i++) {
        a[i * N] = (float)(i * i);
        a[i * N + 1] = (float)(3 * i);
    }
    for (int i = 0; i < B; i++) memcpy(&b[i * N], &a[stretch[i] * N], N * sizeof(float));
    const struct mx_dtw_frames frames = {.a = a, .b = b, .a_frames = A, .b_frames = B, .n = N};
    void *const scratch = mx_alloc(1, mx_dtw_bytes(A, B));
    assert_int_equal(mx_dtw_walk(&frames, scratch, pairs, &cost), B);
    assert_true(cost == 0);
    for (int i = 0; i < B; i++) assert_true(pairs[i].a == stretch[i] && pairs[i].b == i);
    for (int i = 0; i < B * N; i++) b[i] += 1;
    mx_dtw_walk(&frames, scratch, pairs, &cost);
    assert_true(cost > 0 && cost <= 1);
    mx_free(scratch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_evaluation_stops),
                                       cmocka_unit_test(test_loss_goes_down),
                                       cmocka_unit_test(test_no_value_where_there_is_none),
                                       cmocka_unit_test(test_resume_is_exact),
                                       cmocka_unit_test(test_accumulation_equals_the_large_batch),
                                       cmocka_unit_test(test_steps_take_no_memory),
                                       cmocka_unit_test(test_bad_steps_change_nothing_and_end_the_run),
                                       cmocka_unit_test(test_references_are_others_of_the_speaker),
                                       cmocka_unit_test(test_plan_is_what_is_taken),
                                       cmocka_unit_test(test_warping_finds_the_same_in_another_time)};
    return cmocka_run_group_tests(tests, group_open, training_close);
}

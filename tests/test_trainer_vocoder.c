/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A trainer with a vocoder: both networks learn, neither changes the other, a run continues to the same bits, ranks
 * agree, a bad step of the vocoder changes nothing but the count of bad steps, and the memory plan is what is taken.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "myxtts/budget.h"
#include "myxtts/error.h"
#include "support/training_rig.h"

#define STEPS    5 /* of most runs; predicted mel begins among them */
#define LEARNING 30

static const struct mx_vocoder_size tiny = {"tiny", 16, 2, 32};

/* Both networks, or the vocoder alone, on the plain loop. */
static struct mx_trainer_options options_make(bool alone)
{
    struct mx_trainer_options o = training_options(TRAINING_SOUND);
    o.vocoder_alone = alone;
    o.with_vocoder = true;
    o.vocoder = (struct mx_trainer_vocoder){
        .size = tiny,
        .weights = mx_vocoder_loss_weights_default,
        .segments = {.count = 6, .frames = 32, .augment = 0.67},
        .predicted_from = 3,
        .predicted_share = 0.5,
        .optimizer = {.schedule = {.peak = 1e-2, .floor = 0.1, .warmup = 2, .steps = 60, .cycles = 1, .cycle_decay = 1},
                      .grad_clip = 2,
                      .beta1 = 0.9,
                      .beta2 = 0.99,
                      .epsilon = 1e-9,
                      .weight_decay = 0.01,
                      .ema_decay = 0.9}};
    return o;
}

/* ---- what is in a trainer ---- */

struct network {
    size_t floats; /* 0: there is none */
    struct mx_trainer_arrays arrays;
};

static struct network network_read(struct mx_trainer *trainer, enum mx_part part)
{
    const struct mx_parameters *const table = mx_trainer_parameters(trainer, part);
    struct network n = {.floats = table != NULL ? (size_t)table->floats : 0};
    if (table == NULL) return n;
    float *const block = mx_alloc(4 * n.floats, sizeof *block);
    assert_non_null(block);
    n.arrays = (struct mx_trainer_arrays){block, block + n.floats, {block + 2 * n.floats, block + 3 * n.floats}};
    assert_int_equal(mx_trainer_read(trainer, part, &n.arrays), 0);
    return n;
}

static bool network_equal(const struct network *a, const struct network *b)
{
    if (a->floats == 0) return b->floats == 0;
    return a->floats == b->floats && memcmp(a->arrays.weights, b->arrays.weights, 4 * a->floats * sizeof(float)) == 0;
}

struct outcome {
    struct network networks[MX_PARTS];
    struct mx_trainer_state state;
    struct mx_trainer_report last;
};

static void outcome_release(struct outcome *o)
{
    for (int p = 0; p < MX_PARTS; p++) mx_free(o->networks[p].arrays.weights);
}

static struct outcome outcome_read(struct mx_trainer *trainer)
{
    struct outcome o = {.state = *mx_trainer_state(trainer)};
    for (int p = 0; p < MX_PARTS; p++) o.networks[p] = network_read(trainer, (enum mx_part)p);
    return o;
}

/* Where a run is after `steps` steps; `from` NULL: a new one. */
static struct outcome run(const struct mx_trainer_options *o, const struct outcome *from, int steps)
{
    struct mx_trainer *trainer = NULL;
    struct mx_trainer_report report = {0};
    if (mx_trainer_create(o, &trainer) < 0) fail_msg("%s", mx_error_last()->message);
    for (int p = 0; from != NULL && p < MX_PARTS; p++)
        if (from->networks[p].floats > 0)
            assert_int_equal(mx_trainer_write(trainer, (enum mx_part)p, &from->networks[p].arrays), 0);
    if (mx_trainer_start(trainer, from != NULL ? &from->state : NULL) < 0) fail_msg("%s", mx_error_last()->message);
    for (int i = 0; i < steps; i++) training_step(trainer, &report);
    struct outcome out = outcome_read(trainer);
    out.last = report;
    mx_trainer_destroy(trainer);
    return out;
}

static bool outcome_equal(const struct outcome *a, const struct outcome *b)
{
    bool equal = memcmp(&a->state, &b->state, sizeof a->state) == 0 &&
                 memcmp(&a->last.losses, &b->last.losses, sizeof a->last.losses) == 0 &&
                 memcmp(&a->last.vocoder.losses, &b->last.vocoder.losses, sizeof a->last.vocoder.losses) == 0;
    for (int p = 0; p < MX_PARTS; p++) equal = equal && network_equal(&a->networks[p], &b->networks[p]);
    return equal;
}

static void run_same(const struct outcome *wanted, const struct mx_trainer_options *o, int steps)
{
    struct outcome found = run(o, NULL, steps);
    assert_true(outcome_equal(wanted, &found));
    outcome_release(&found);
}

/* ---- learning ---- */

static void test_both_learn(void **state)
{
    (void)state;
    const struct mx_trainer_options o = options_make(false);
    struct mx_trainer *const trainer = training_start(&o, NULL, NULL);
    struct mx_trainer_report first, report;
    struct mx_trainer_evaluation before, after;
    assert_int_equal(mx_trainer_evaluate(trainer, &before), 0);
    training_step(trainer, &first);
    assert_int_equal(first.vocoder.frames, 6 * 32);
    assert_true(first.vocoder.busy_ns > 0);
    for (int i = 1; i < LEARNING; i++) training_step(trainer, &report);
    assert_true(report.losses.total < 0.8 * first.losses.total);
    assert_true(report.vocoder.losses.total < 0.8 * first.vocoder.losses.total);
    assert_true(report.vocoder.rate > 0 && report.vocoder.rate != report.rate);
    assert_true(report.vocoder.grad_norm > 0 && report.vocoder.grad_norm != report.grad_norm);
    assert_int_equal(mx_trainer_state(trainer)->parts[MX_PART_VOCODER].updates, LEARNING);
    assert_int_equal(mx_trainer_evaluate(trainer, &after), 0);
    assert_true(before.vocoder_frames > 0 && after.vocoder_frames == before.vocoder_frames);
    assert_true(after.vocoder.total < before.vocoder.total);
    assert_true(after.vocoder.values[MX_VOCODER_LOSS_MAGNITUDE] <
                0.5 * before.vocoder.values[MX_VOCODER_LOSS_MAGNITUDE]);
    /* Always the same segments. */
    assert_int_equal(mx_trainer_evaluate(trainer, &before), 0);
    assert_memory_equal(&before.vocoder, &after.vocoder, sizeof after.vocoder);
    mx_trainer_destroy(trainer);
}

static void test_a_vocoder_alone_learns(void **state)
{
    (void)state;
    struct mx_trainer_options o = options_make(true);
    o.vocoder.segments.count = 4;
    struct mx_trainer *const trainer = training_start(&o, NULL, NULL);
    struct mx_trainer_report first, report;
    struct mx_trainer_evaluation evaluation;
    struct mx_trainer_picture picture;
    assert_null(mx_trainer_parameters(trainer, MX_PART_ACOUSTIC));
    assert_null(mx_trainer_voice(trainer).model);
    training_step(trainer, &first);
    assert_int_equal(first.utterances, 4);
    assert_true(first.vocoder_alone && first.frames == first.vocoder.frames && first.frames > 0);
    assert_true(first.losses.total == first.vocoder.losses.total && isnan(first.losses.values[MX_LOSS_MEL]));
    for (int i = 1; i < LEARNING; i++) training_step(trainer, &report);
    assert_true(report.vocoder.losses.total < 0.8 * first.vocoder.losses.total);
    assert_true(report.epoch > 0);
    assert_int_equal(mx_trainer_evaluate(trainer, &evaluation), 0);
    assert_true(evaluation.vocoder_alone && evaluation.utterances > 0 && evaluation.vocoder_frames > 0);
    assert_true(evaluation.losses.total == evaluation.vocoder.total && isnan(evaluation.mel_db));
    assert_int_equal(evaluation.spoken, 0);
    assert_int_equal(mx_trainer_picture(trainer, &picture), 0);
    assert_int_equal(picture.frames, 0);
    mx_trainer_destroy(trainer);
}

/* ---- bits ---- */

static void test_the_acoustic_network_does_not_notice_it(void **state)
{
    (void)state;
    const struct mx_trainer_options both = options_make(false), one = training_options(TRAINING_SOUND);
    struct outcome a = run(&both, NULL, STEPS), b = run(&one, NULL, STEPS);
    assert_true(network_equal(&a.networks[MX_PART_ACOUSTIC], &b.networks[MX_PART_ACOUSTIC]));
    assert_true(a.networks[MX_PART_VOCODER].floats > 0 && b.networks[MX_PART_VOCODER].floats == 0);
    outcome_release(&a);
    outcome_release(&b);
}

static void test_a_run_goes_on_as_if_nothing_had_happened(void **state)
{
    (void)state;
    for (int alone = 0; alone < 2; alone++) {
        const struct mx_trainer_options o = options_make(alone == 1);
        struct outcome whole = run(&o, NULL, STEPS), half = run(&o, NULL, 3), rest = run(&o, &half, STEPS - 3);
        assert_true(outcome_equal(&whole, &rest));
        assert_false(outcome_equal(&whole, &half));
        outcome_release(&whole);
        outcome_release(&half);
        outcome_release(&rest);
    }
}

static void test_the_flow_of_batches_changes_nothing(void **state)
{
    (void)state;
    for (int alone = 0; alone < 2; alone++) {
        const struct mx_trainer_options o = options_make(alone == 1);
        struct outcome plain = run(&o, NULL, STEPS);
        const struct mx_trainer_options one = training_flow(o, false, 2, 2);
        struct mx_trainer_options two = training_flow(o, true, 2, 3);
        run_same(&plain, &one, STEPS);
        run_same(&plain, &two, STEPS);
        two.flow.static_shapes = true;
        run_same(&plain, &two, STEPS);
        outcome_release(&plain);
    }
}

static void test_several_batches_make_one_step(void **state)
{
    (void)state;
    struct mx_trainer_options o = options_make(false);
    o.batch_size = 2;
    o.grad_accum = 2;
    struct outcome out = run(&o, NULL, STEPS);
    assert_int_equal(out.last.vocoder.frames, 2 * 6 * 32);
    assert_int_equal(out.state.parts[MX_PART_VOCODER].updates, STEPS);
    outcome_release(&out);
}

/* Shared work changes the sums of the acoustic network a little, but the vocoder's only through the mel that is
 * predicted. */
static void test_work_is_shared_beside_it(void **state)
{
    (void)state;
    struct mx_trainer_options o = training_flow(options_make(false), true, 2, 2);
    o.vocoder.predicted_share = 0;
    struct outcome plain = run(&o, NULL, STEPS);
    o.flow.share = MX_SHARE_ON;
    o.flow.shares = (struct mx_shares){.count = 1, .points = {{0, 0.4}}};
    struct outcome shared = run(&o, NULL, STEPS);
    assert_true(shared.last.shared_frames > 0);
    assert_true(network_equal(&plain.networks[MX_PART_VOCODER], &shared.networks[MX_PART_VOCODER]));
    o.vocoder.predicted_share = 1;
    o.vocoder.predicted_from = 0;
    struct outcome predicted = run(&o, NULL, STEPS);
    assert_false(network_equal(&plain.networks[MX_PART_VOCODER], &predicted.networks[MX_PART_VOCODER]));
    outcome_release(&plain);
    outcome_release(&shared);
    outcome_release(&predicted);
}

/* ---- predicted mel ---- */

static void test_predicted_mel_begins_at_its_step(void **state)
{
    (void)state;
    struct mx_trainer_options real = options_make(false), predicted = real;
    real.vocoder.predicted_share = 0;
    predicted.vocoder.predicted_share = 1;
    struct outcome a = run(&real, NULL, 3), b = run(&predicted, NULL, 3);
    assert_true(outcome_equal(&a, &b));
    outcome_release(&a);
    outcome_release(&b);
    a = run(&real, NULL, 4);
    b = run(&predicted, NULL, 4);
    assert_false(network_equal(&a.networks[MX_PART_VOCODER], &b.networks[MX_PART_VOCODER]));
    assert_true(network_equal(&a.networks[MX_PART_ACOUSTIC], &b.networks[MX_PART_ACOUSTIC]));
    /* A network that has learned next to nothing predicts a mel that says less than the real one. */
    assert_true(b.last.vocoder.losses.total > a.last.vocoder.losses.total);
    outcome_release(&a);
    outcome_release(&b);
}

/* ---- a vocoder that is ready ---- */

static void test_a_ready_one_is_kept_as_it_is(void **state)
{
    (void)state;
    struct mx_trainer_options o = options_make(false);
    struct outcome trained = run(&o, NULL, 2);
    o.vocoder.ready = true;
    struct mx_trainer *const trainer = training_start(&o, NULL, NULL);
    struct mx_trainer_report report;
    struct mx_trainer_arrays *const arrays = &trained.networks[MX_PART_VOCODER].arrays;
    assert_int_equal(mx_trainer_write(trainer, MX_PART_VOCODER, arrays), 0);
    for (int i = 0; i < 3; i++) training_step(trainer, &report);
    assert_int_equal(report.vocoder.frames, 0);
    const struct network kept = network_read(trainer, MX_PART_VOCODER);
    assert_memory_equal(kept.arrays.weights, arrays->weights, kept.floats * sizeof(float));
    const struct mx_trainer_voice voice = mx_trainer_voice(trainer);
    assert_non_null(voice.vocoder.buffer);
    assert_memory_equal(mx_buffer_host(voice.vocoder.buffer), arrays->weights, kept.floats * sizeof(float));
    mx_free(kept.arrays.weights);
    mx_trainer_destroy(trainer);
    outcome_release(&trained);
}

/* ---- bad steps ---- */

static void test_a_bad_step_of_the_vocoder_changes_only_its_count(void **state)
{
    (void)state;
    struct mx_trainer_options o = options_make(false);
    o.vocoder.predicted_share = 0;
    o.guard.skips_max = 3;
    struct mx_trainer *const trainer = training_start(&o, NULL, NULL);
    struct mx_trainer_report report;
    training_step(trainer, &report);
    struct outcome good = outcome_read(trainer);
    struct network bad = network_read(trainer, MX_PART_VOCODER);
    bad.arrays
        .weights[mx_parameters_find(mx_trainer_parameters(trainer, MX_PART_VOCODER), "vocoder.pitch.weight")->at] = NAN;
    assert_int_equal(mx_trainer_write(trainer, MX_PART_VOCODER, &bad.arrays), 0);
    mx_log_configure(&(struct mx_log_options){.level = MX_LOG_SILENT});
    training_step(trainer, &report);
    assert_int_equal(report.vocoder.guard.verdict, MX_GUARD_SKIPPED);
    assert_int_equal(report.guard.verdict, MX_GUARD_FINE);
    assert_true(isnan(report.vocoder.losses.total) && isfinite(report.losses.total));
    struct outcome after = outcome_read(trainer);
    assert_memory_equal(after.networks[MX_PART_VOCODER].arrays.states[MX_STATE_MOMENT1],
                        good.networks[MX_PART_VOCODER].arrays.states[MX_STATE_MOMENT1],
                        after.networks[MX_PART_VOCODER].floats * sizeof(float));
    assert_memory_equal(after.networks[MX_PART_VOCODER].arrays.average, good.networks[MX_PART_VOCODER].arrays.average,
                        after.networks[MX_PART_VOCODER].floats * sizeof(float));
    assert_false(network_equal(&after.networks[MX_PART_ACOUSTIC], &good.networks[MX_PART_ACOUSTIC]));
    assert_int_equal(after.state.parts[MX_PART_VOCODER].updates, 1);
    assert_int_equal(after.state.parts[MX_PART_ACOUSTIC].updates, 2);
    assert_int_equal(after.state.parts[MX_PART_VOCODER].guard.skipped, 1);
    /* Too many in a row end the run, and say which network it is. */
    training_step(trainer, &report);
    assert_int_equal(mx_trainer_step(trainer, &report), MX_ERR_DATA);
    assert_non_null(strstr(mx_error_last()->message, "the last 3 steps of the vocoder had a loss that is not finite"));
    outcome_release(&good);
    outcome_release(&after);
    mx_free(bad.arrays.weights);
    mx_trainer_destroy(trainer);
}

/* ---- memory ---- */

static void plan_compare(const struct mx_trainer_options *o)
{
    struct mx_trainer_memory_plan plan;
    struct mx_trainer *trainer;
    struct mx_trainer_report report;
    struct mx_budget_stats before[2], after[2];
    struct mx_device *const devices[2] = {training.data, training.model};
    for (int i = 0; i < 2; i++) mx_budget_stats(mx_device_budget(devices[i]), &before[i]);
    assert_int_equal(mx_trainer_memory_plan(o, &plan), 0);
    assert_int_equal(mx_trainer_create(o, &trainer), 0);
    assert_int_equal(mx_trainer_start(trainer, NULL), 0);
    training_step(trainer, &report);
    for (int i = 0; i < 2; i++) mx_budget_stats(mx_device_budget(devices[i]), &after[i]);
    if (o->flow.data_device == NULL) {
        assert_int_equal(after[1].current_bytes - before[1].current_bytes, plan.device_bytes);
    } else {
        assert_int_equal(after[0].current_bytes - before[0].current_bytes, plan.data_bytes);
        assert_int_equal(after[1].current_bytes - before[1].current_bytes, plan.model_bytes);
    }
    const uint64_t count = mx_alloc_count();
    for (int i = 0; i < 5; i++) training_step(trainer, &report);
    if (o->flow.sequential) /* otherwise a thread may load its first recording only now */
        assert_int_equal(mx_alloc_count(), count);
    mx_trainer_destroy(trainer);
}

static void test_the_plan_is_what_is_taken(void **state)
{
    (void)state;
    for (int alone = 0; alone < 2; alone++) {
        struct mx_trainer_options o = options_make(alone == 1);
        plan_compare(&o);
        o = training_flow(o, true, 2, 2);
        plan_compare(&o);
        if (alone == 1) continue;
        o.flow.share = MX_SHARE_ON;
        plan_compare(&o);
        o.flow.share = MX_SHARE_OFF;
        o.vocoder.ready = true;
        plan_compare(&o);
    }
}

/* ---- ranks ---- */

enum { RANKS = 2, SUMS = 64 };

/* Two members in one process. */
static struct {
    pthread_barrier_t barrier;
    struct sum {
        struct mx_slice floats;
        int64_t count;
    } sums[RANKS][SUMS];
    int sum_count[RANKS];
    double *values[RANKS];
    void *bytes[RANKS];
} group;

static void together(void)
{
    (void)pthread_barrier_wait(&group.barrier);
}

static int sum_begin(struct mx_comm *comm, struct mx_slice floats, int64_t count, struct mx_event *ready)
{
    const int rc = mx_event_sync(ready);
    group.sums[comm->rank][group.sum_count[comm->rank]++] = (struct sum){floats, count};
    return rc;
}

static int sum_finish(struct mx_comm *comm, struct mx_stream *stream)
{
    (void)stream;
    together();
    for (int i = 0; comm->rank == 0 && i < group.sum_count[0]; i++) {
        float *at[RANKS];
        for (int r = 0; r < RANKS; r++) {
            const struct mx_slice floats = group.sums[r][i].floats;
            at[r] = (float *)(void *)((char *)mx_buffer_host(floats.buffer) + floats.offset_bytes);
        }
        for (int64_t k = 0; k < group.sums[0][i].count; k++) at[0][k] = at[1][k] = at[0][k] + at[1][k];
    }
    together();
    group.sum_count[comm->rank] = 0;
    return 0;
}

static int add(struct mx_comm *comm, double *values, int32_t count)
{
    group.values[comm->rank] = values;
    together();
    for (int32_t i = 0; comm->rank == 0 && i < count; i++)
        group.values[0][i] = group.values[1][i] = group.values[0][i] + group.values[1][i];
    together();
    return 0;
}

static int broadcast(struct mx_comm *comm, void *bytes, size_t count, int32_t root)
{
    group.bytes[comm->rank] = bytes;
    together();
    if (comm->rank != root) memcpy(bytes, group.bytes[root], count);
    together();
    return 0;
}

static const struct mx_comm_calls calls = {
    .sum_begin = sum_begin, .sum_finish = sum_finish, .add = add, .broadcast = broadcast};

struct member {
    struct mx_comm comm;
    struct mx_trainer_options options;
    struct outcome outcome;
};

static void *member_run(void *context)
{
    struct member *const m = context;
    m->outcome = run(&m->options, NULL, 5);
    return NULL;
}

static double apart(const struct network *a, const struct network *b)
{
    double off = 0, size = 0;
    assert_int_equal(a->floats, b->floats);
    for (size_t i = 0; i < a->floats; i++) {
        const double d = (double)a->arrays.weights[i] - (double)b->arrays.weights[i];
        off += d * d;
        size += (double)a->arrays.weights[i] * (double)a->arrays.weights[i];
    }
    return sqrt(off / size);
}

static void test_ranks_make_the_same_update(void **state)
{
    (void)state;
    for (int alone = 0; alone < 2; alone++) {
        struct member members[RANKS];
        pthread_t thread;
        assert_int_equal(pthread_barrier_init(&group.barrier, NULL, RANKS), 0);
        for (int r = 0; r < RANKS; r++) {
            members[r] = (struct member){.comm = {&calls, r, RANKS}, .options = options_make(alone == 1)};
            members[r].options.device = r == 0 ? training.data : training.model;
            members[r].options.comm = &members[r].comm;
        }
        assert_int_equal(pthread_create(&thread, NULL, member_run, &members[1]), 0);
        member_run(&members[0]);
        pthread_join(thread, NULL);
        pthread_barrier_destroy(&group.barrier);
        assert_true(outcome_equal(&members[0].outcome, &members[1].outcome));
        assert_true(members[0].outcome.networks[MX_PART_VOCODER].floats > 0);
        /* All segments of the step count, wherever they are. Alone, the crops are those of one rank. */
        const struct mx_trainer_options o = options_make(alone == 1);
        struct outcome one = run(&o, NULL, 5);
        if (alone == 1) {
            assert_int_equal(members[0].outcome.last.vocoder.frames, one.last.vocoder.frames);
            assert_true(apart(&one.networks[MX_PART_VOCODER], &members[0].outcome.networks[MX_PART_VOCODER]) < 1e-3);
        }
        for (int r = 0; r < RANKS; r++) outcome_release(&members[r].outcome);
        outcome_release(&one);
    }
}

/* ---- refusals ---- */

static void refused(const struct mx_trainer_options *o, const char *words)
{
    struct mx_trainer_memory_plan plan;
    assert_true(mx_trainer_memory_plan(o, &plan) < 0);
    if (strstr(mx_error_last()->message, words) == NULL) fail_msg("%s", mx_error_last()->message);
}

static void test_what_cannot_be_is_refused(void **state)
{
    (void)state;
    struct mx_trainer_options o = options_make(false);
    o.dataset = training.datasets[TRAINING_FEATURES];
    refused(&o, "they have no sound");
    o = options_make(true);
    o.vocoder.ready = true;
    refused(&o, "there is nothing to train");
    o = options_make(false);
    o.vocoder.size.width = 0;
    refused(&o, "width");
    o = options_make(false);
    struct mx_comm comm = {&calls, 0, 7};
    o.comm = &comm;
    refused(&o, "6 segments cannot be shared by 7 ranks");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_both_learn),
                                       cmocka_unit_test(test_a_vocoder_alone_learns),
                                       cmocka_unit_test(test_the_acoustic_network_does_not_notice_it),
                                       cmocka_unit_test(test_a_run_goes_on_as_if_nothing_had_happened),
                                       cmocka_unit_test(test_the_flow_of_batches_changes_nothing),
                                       cmocka_unit_test(test_several_batches_make_one_step),
                                       cmocka_unit_test(test_work_is_shared_beside_it),
                                       cmocka_unit_test(test_predicted_mel_begins_at_its_step),
                                       cmocka_unit_test(test_a_ready_one_is_kept_as_it_is),
                                       cmocka_unit_test(test_a_bad_step_of_the_vocoder_changes_only_its_count),
                                       cmocka_unit_test(test_the_plan_is_what_is_taken),
                                       cmocka_unit_test(test_ranks_make_the_same_update),
                                       cmocka_unit_test(test_what_cannot_be_is_refused)};
    return cmocka_run_group_tests(tests, training_open, training_close);
}

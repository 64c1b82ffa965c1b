/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Tuning for a disk that is slow, or becomes slow: a model of the flow computes the figures, so that neither a clock nor
 * a disk takes part. What the advice makes of such figures. And the pipeline tells blocked time from CPU time.
 */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "pipeline/advice.h"
#include "pipeline/tune.h"
#include "support/pipeline_rig.h"

#define TRAIN_NS   75e6
#define PROCESS_NS 5e6

/* A machine: what a load costs on a core and waits for the disk, which reads at most `disk_reads` batches at a time. */
struct machine {
    double cpu_ns, disk_ns, disk_reads;
    int32_t cores;
};

/* How long a load of each of `workers` takes, if there is always something to load. */
static double load_of(const struct machine *m, int32_t workers)
{
    const double busy = fmax(1, workers * m->cpu_ns / (m->cpu_ns + m->disk_ns) / m->cores); /* for each core */
    return m->cpu_ns * busy + m->disk_ns * fmax(1, workers / m->disk_reads);
}

static double period_of(const struct machine *m, int32_t workers)
{
    return fmax(TRAIN_NS, load_of(m, workers) / workers);
}

static struct mx_tune_figures figures_of(const struct machine *m, int32_t workers, double batches)
{
    const double period = period_of(m, workers), wait = 1 - TRAIN_NS / period;
    return (struct mx_tune_figures){.period_ns = period,
                                    .batches = batches,
                                    .data_wait = wait,
                                    .process_wait_input = wait > 0 ? 1 - PROCESS_NS / period : 0,
                                    .data_busy = fmin(1, (PROCESS_NS + m->cpu_ns) / period / m->cores),
                                    .load_ns = load_of(m, workers),
                                    .load_cpu_ns = m->cpu_ns,
                                    .load_blocked_ns = m->disk_ns * fmax(1, workers / m->disk_reads),
                                    .process_ns = PROCESS_NS,
                                    .train_ns = TRAIN_NS};
}

/* The run of a pipeline on such machines, one after the other, as it asks for decisions (src/pipeline/take.c). */
struct run {
    struct mx_tune tune;
    uint64_t step, looked, decided;
    char why[256]; /* of the last change */
};

static struct run run_begin(int32_t cores, int32_t most)
{
    struct run run = {0};
    mx_tune_begin(&run.tune, &(struct mx_pipeline_tuning){most, 8, 50});
    run.tune.now = run.tune.least = (struct mx_pipeline_tuning){1, 2, 3};
    run.tune.cores = cores;
    return run;
}

/* Steps until number `until`; returns the first after which the number of workers changed, or 0. */
static uint64_t run_steps(struct run *run, const struct machine *m, uint64_t until)
{
    uint64_t first = 0;
    while (run->step < until) {
        char why[256] = "";
        run->step++;
        const bool decides = run->step == mx_tune_due(run->tune.round);
        if (!decides && run->step % MX_TUNE_LOOK != 0) continue;
        const int32_t before = run->tune.now.workers;
        const uint64_t since = decides ? run->decided : run->looked;
        const struct mx_tune_figures f = figures_of(m, before, (double)(run->step - since));
        const bool changed =
            decides ? mx_tune_decide(&run->tune, &f, why, sizeof why) : mx_tune_check(&run->tune, &f, why, sizeof why);
        run->looked = run->step;
        if (decides || changed) run->decided = run->step;
        if (changed || why[0] != '\0') snprintf(run->why, sizeof run->why, "%s", why);
        if (run->tune.now.workers != before && first == 0) first = run->step;
    }
    return first;
}

static double best_of(const struct machine *m, int32_t most)
{
    double best = HUGE_VAL;
    for (int32_t workers = 1; workers <= most; workers++) best = fmin(best, period_of(m, workers));
    return best;
}

/* Disks of any speed: at least 0.9 of the speed of the best number of workers, from step 40 on. */
static void test_slow(void **state)
{
    (void)state;
    for (int cores = 1; cores <= 4; cores++)
        for (double disk_ns = 1e6; disk_ns < 4e9; disk_ns *= 1.7) {
            const struct machine m = {.cpu_ns = 12e6, .disk_ns = disk_ns, .disk_reads = HUGE_VAL, .cores = cores};
            struct run run = run_begin(cores, 32);
            run_steps(&run, &m, 40);
            assert_true(period_of(&m, run.tune.now.workers) <= best_of(&m, 32) / 0.9);
            run_steps(&run, &m, 1000);
            assert_true(period_of(&m, run.tune.now.workers) <= best_of(&m, 32) / 0.9);
        }
}

/* The disk becomes slow at step 500 and fast again at step 1,000. */
static void test_becomes_slow(void **state)
{
    (void)state;
    const struct machine fast = {.cpu_ns = 12e6, .disk_ns = 2e6, .disk_reads = HUGE_VAL, .cores = 1};
    for (uint64_t at = 497; at < 513; at++) { /* wherever it falls between two looks */
        struct machine slow = fast;
        struct run run = run_begin(1, 32);
        slow.disk_ns = 480e6;
        assert_int_equal(run_steps(&run, &fast, at), 0);
        assert_int_equal(run.tune.now.workers, 1);
        const uint64_t answered = run_steps(&run, &slow, 1000);
        assert_in_range(answered, at + 1, at + 20);
        assert_int_equal(run.tune.now.workers, 9); /* 492 ms over 75, and a quarter more */
        assert_string_equal(run.why, "1 → 9 load workers: reading waits for the disk, 480.0 of the 492.0 ms of a load, "
                                     "and process waited 99 % of the time for it");
        assert_true(run_steps(&run, &fast, 2000) > 0);
        assert_int_equal(run.tune.now.workers, 1);
    }
}

static void test_takes_back(void **state)
{
    (void)state;
    const struct machine slow = {.cpu_ns = 12e6, .disk_ns = 480e6, .disk_reads = HUGE_VAL, .cores = 1};
    const struct machine fast = {.cpu_ns = 12e6, .disk_ns = 2e6, .disk_reads = HUGE_VAL, .cores = 1};
    struct run run = run_begin(1, 32);
    run_steps(&run, &slow, 40);
    assert_int_equal(run.tune.now.workers, 9);
    char *const why = run.why;
    const uint64_t at = run_steps(&run, &fast, 200);
    assert_in_range(at, 41, 200);
    assert_non_null(strstr(why, "9 → 2 load workers: a load takes 94.6 ms, and the model has hardly waited for data in "
                                "128 steps")); /* nine on one core */
}

/* Loads that need a core get no more workers than there are cores for; and nobody speaks of a disk. */
static void test_cpu(void **state)
{
    (void)state;
    const struct machine m = {.cpu_ns = 300e6, .disk_ns = 1e6, .disk_reads = HUGE_VAL, .cores = 2};
    struct run run = run_begin(2, 32);
    run_steps(&run, &m, 500);
    assert_int_equal(run.tune.now.workers, 2);
    assert_null(strstr(run.why, "disk"));
}

/* A disk that reads one batch at a time is no faster for more workers: they are not kept, and the limit is named. */
static void test_saturated(void **state)
{
    (void)state;
    const struct machine m = {.cpu_ns = 12e6, .disk_ns = 480e6, .disk_reads = 1, .cores = 1};
    struct run run = run_begin(1, 32);
    run_steps(&run, &m, 300);
    const int32_t settled = run.tune.now.workers;
    assert_true(settled < 32);
    run_steps(&run, &m, 900);
    assert_int_equal(run.tune.now.workers, settled);
}

/* All workers are at work and it is not enough: it says what is the limit, and that is not the data device. */
static void test_limit(void **state)
{
    (void)state;
    const struct machine m = {.cpu_ns = 12e6, .disk_ns = 8e9, .disk_reads = HUGE_VAL, .cores = 1};
    struct run run = run_begin(1, 32);
    run_steps(&run, &m, 40);
    assert_int_equal(run.tune.now.workers, 32);
    assert_true(run.tune.settled);
    assert_string_equal(run.why,
                        "the disk is the limit: a load waits for it 8000.0 of 8012.0 ms, and there are no more "
                        "workers");
    assert_true(run.tune.now.loaded == 2 && run.tune.now.prepared == 3); /* no depth makes up for that */
}

/* ---- what is advised ---- */

/* Loads that wait for a disk: a finding of their own, with what can be pasted; the data device is not blamed. */
static void test_advice_reading(void **state)
{
    (void)state;
    struct mx_advice out[MX_ADVICE_KINDS];
    static const double ms[MX_STAGES] = {500, 5, 1, 75};
    struct mx_advice_input in = {.two_devices = true, .peer = true, .load_on_data = true, .data_cores = 1};
    in.stats.wall_ns = 1000000000;
    in.levels.workers_active = 4;
    for (int k = 0; k < MX_STAGES; k++) mx_tally_add(&in.stats.stages[k].busy_ns, ms[k] * 1e6);
    mx_tally_add(&in.stats.stages[MX_STAGE_LOAD].blocked_ns, 480e6);
    in.stats.stages[MX_STAGE_PROCESS].wait_input_ns = 970000000;
    in.stats.data_wait_ns = 770000000;
    in.stats.data_busy_ns = 100000000;
    assert_int_equal(mx_advice_find(&in, out), 1);
    assert_int_equal(out[0].kind, MX_ADVICE_READING);
    assert_string_equal(mx_advice_kind_name(out[0].kind), "reading");
    assert_string_equal(out[0].finding,
                        "waiting for the disk takes 480.0 of the 500.0 ms of a load: process waited 97 % "
                        "of the time for it, and the model 77 %");
    assert_string_equal(out[0].remedy, "4 load workers → 9 read more recordings at the same time (--num-workers 9)");
    in.uncached = true;
    in.pack = "myxtts prepare my-corpus --output my-corpus.pack";
    in.levels.workers_active = 64;
    assert_int_equal(mx_advice_find(&in, out), 1);
    assert_string_equal(
        out[0].remedy, "a faster disk would help more than another load worker (64 now); or keep what was decoded for "
                       "the next epochs (--set data.caching=true); or pack the corpus into one file and train on that: "
                       "myxtts prepare my-corpus --output my-corpus.pack");
    assert_non_null(strstr(out[0].remedy_persian, "`myxtts prepare my-corpus --output my-corpus.pack`"));
    for (int i = 0; i < 2; i++) mx_tally_add(&in.stats.step_ns, i == 0 ? 1e6 : 1e9);
    assert_int_equal(mx_advice_find(&in, out), 2);
    assert_int_equal(out[1].kind, MX_ADVICE_VARIATION);
    assert_string_equal(out[1].remedy,
                        "the model waited 77 % of the time for data: the advice about reading applies here, too");
    in.stats.step_ns = (struct mx_tally){0};
    in.stats.data_wait_ns = 1000000;
    assert_int_equal(mx_advice_find(&in, out), 1);
    assert_true(out[0].hidden);
}

/* ---- what is measured ---- */

#define SLEEP_NS 3000000

static int sleeping_load(void *context, int worker, uint64_t number, void *slot, const atomic_bool *cancel)
{
    mx_clock_sleep_ns(SLEEP_NS);
    return pipeline_rig_load(context, worker, number, slot, cancel);
}

/* A load that sleeps is blocked for at least as long, with and without overlap; every batch is in all tallies. */
static void test_blocked(void **state)
{
    (void)state;
    struct pipeline_rig rig;
    pipeline_rig_open(&rig, NULL);
    for (int sequential = 0; sequential < 2; sequential++) {
        struct pipeline_rig_run run = pipeline_rig_plain(3, 8);
        run.delay_us = 0;
        run.options.sequential = sequential == 1;
        run.options.work.load = sleeping_load;
        pipeline_rig_go(&rig, &run);
        assert_string_equal(run.trouble, "");
        for (int k = 0; k < MX_STAGES; k++) {
            const struct mx_stage_stats *const stage = &run.stats.stages[k];
            assert_int_equal(stage->cpu_ns.count, stage->busy_ns.count);
            assert_int_equal(stage->blocked_ns.count, stage->busy_ns.count);
        }
        const struct mx_stage_stats *const load = &run.stats.stages[MX_STAGE_LOAD];
        assert_true(load->blocked_ns.least > 0.9 * SLEEP_NS);
        assert_true(load->cpu_ns.least > 0 && load->cpu_ns.mean + load->blocked_ns.mean <= 1.1 * load->busy_ns.mean);
        assert_int_equal(run.allocations, 0);
    }
    pipeline_rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slow),    cmocka_unit_test(test_becomes_slow),   cmocka_unit_test(test_takes_back),
        cmocka_unit_test(test_cpu),     cmocka_unit_test(test_saturated),      cmocka_unit_test(test_limit),
        cmocka_unit_test(test_blocked), cmocka_unit_test(test_advice_reading),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

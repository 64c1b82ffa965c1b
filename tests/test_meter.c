/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Meters: tallies, busy and overlap against brute force, what tuning and advice make of given figures, and traces as a
 * JSON parser reads them.
 */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/rng.h"
#include "myxtts/error.h"
#include "myxtts/registry.h"
#include "pipeline/advice.h"
#include "pipeline/advice_words.h"
#include "pipeline/trace.h"
#include "pipeline/tune.h"
#include "support/cores.h"

#define TIME  400 /* ns of the brute force */
#define SPANS 60

static void test_tally(void **state)
{
    (void)state;
    struct mx_tally tally = {0};
    double sum = 0, squares = 0;
    assert_true(mx_tally_deviation(&tally) == 0 && mx_tally_variation(&tally) == 0);
    for (int i = 0; i < 100; i++) {
        const double value = 1e9 + (double)(i * 37 % 100);
        mx_tally_add(&tally, value);
        sum += value;
    }
    const double mean = sum / 100;
    for (int i = 0; i < 100; i++) squares += (1e9 + (double)i - mean) * (1e9 + (double)i - mean);
    assert_int_equal(tally.count, 100);
    assert_true(fabs(tally.mean - mean) < 1e-3);
    assert_true(fabs(mx_tally_deviation(&tally) - sqrt(squares / 99)) < 1e-3);
    assert_true(fabs(mx_tally_variation(&tally) - sqrt(squares / 99) / mean) < 1e-9);
    assert_true(tally.least == 1e9 && tally.most == 1e9 + 99);
}

/* ---- sums against brute force ---- */

struct brute {
    bool open[MX_STAGES][TIME];
    double running[TIME]; /* loads on a core */
};

/* A span of the brute force up to `end`, of which a load is on a core for all of its time or a part. */
static struct mx_span span_add(struct brute *brute, enum mx_stage stage, uint64_t begin, uint64_t end, uint64_t seed,
                               uint32_t i)
{
    const uint64_t length = end - begin, part = mx_rng_below(seed, 6, i, length + 1);
    const struct mx_span span = {
        .stage = stage, .number = i, .begin_ns = begin, .end_ns = end, .cpu_ns = seed % 4 < 2 ? length : part};
    for (uint64_t t = begin; stage == MX_STAGE_LOAD && t < end; t++)
        brute->running[t] += (double)span.cpu_ns / (double)length;
    return span;
}

static void sums_check(const struct mx_meter *meter, const struct brute *brute, uint64_t from)
{
    struct mx_pipeline_stats s = {0};
    double data_ns = 0;
    for (uint64_t t = from; t < TIME; t++) {
        const bool load = brute->open[MX_STAGE_LOAD][t], process = brute->open[MX_STAGE_PROCESS][t];
        const bool transfer = brute->open[MX_STAGE_TRANSFER][t], train = brute->open[MX_STAGE_TRAIN][t];
        const bool data = process || (transfer && meter->copy_on_data) || (meter->one_device && train);
        data_ns += data ? 1 : load && meter->load_on_data ? fmin(brute->running[t], 1) : 0;
        s.model_busy_ns += train;
        s.transfer_ns += transfer;
        s.transfer_hidden_ns += transfer && train;
        s.stage_overlap_ns += train && (load || process || transfer);
    }
    assert_true(fabs((double)meter->stats.data_busy_ns - data_ns) <= SPANS); /* each piece is rounded */
    assert_int_equal(meter->stats.model_busy_ns, meter->one_device ? meter->stats.data_busy_ns : s.model_busy_ns);
    assert_int_equal(meter->stats.transfer_ns, s.transfer_ns);
    assert_int_equal(meter->stats.transfer_hidden_ns, s.transfer_hidden_ns);
    assert_int_equal(meter->stats.stage_overlap_ns, s.stage_overlap_ns);
}

/* Random spans in random order, with sweeps at a horizon after which nothing follows. */
static void test_sums(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        struct mx_meter meter;
        struct brute brute = {0};
        struct mx_span spans[SPANS];
        assert_int_equal(mx_meter_create(&meter, SPANS, SPANS, 8), 0);
        meter.load_on_data = seed % 2 == 0;
        meter.copy_on_data = seed % 3 == 0;
        meter.one_device = seed % 5 == 0;
        mx_meter_reset(&meter, 0);
        for (uint32_t i = 0; i < SPANS; i++) {
            const uint64_t begin = mx_rng_below(seed, 1, i, TIME - 20), length = mx_rng_below(seed, 2, i, 20);
            const enum mx_stage stage = (enum mx_stage)mx_rng_below(seed, 3, i, MX_STAGES);
            spans[i] = span_add(&brute, stage, begin, begin + length, seed, i);
            for (uint64_t t = begin; t < begin + length; t++) brute.open[stage][t] = true;
        }
        for (uint32_t i = 0; i < SPANS; i++) {
            mx_meter_add(&meter, &spans[i]);
            uint64_t horizon = TIME;
            for (uint32_t j = i + 1; j < SPANS; j++)
                if (spans[j].begin_ns < horizon) horizon = spans[j].begin_ns;
            if (mx_rng_below(seed, 4, i, 3) == 0) mx_meter_sweep(&meter, horizon);
        }
        mx_meter_sweep(&meter, TIME);
        sums_check(&meter, &brute, 0);
        assert_int_equal(meter.pending_count, 0);
        mx_meter_release(&meter);
    }
}

/* Read at any time, with what is pending, what goes on and a pause: as if all had been known and summed up. No sum is
 * longer than the wall, and the meter is the same afterwards. */
static void test_read(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        struct mx_meter meter;
        struct brute brute = {0};
        struct mx_pipeline_stats read, again;
        struct mx_span open[SPANS];
        uint32_t open_count = 0;
        const uint64_t now = 100 + mx_rng_below(seed, 5, 0, TIME - 100), paused = 1 + mx_rng_below(seed, 5, 1, now - 1);
        const uint64_t resumed = paused + mx_rng_below(seed, 5, 2, 40);
        const bool over = resumed < now;
        assert_int_equal(mx_meter_create(&meter, SPANS + 1, SPANS, 0), 0);
        meter.load_on_data = seed % 2 == 0;
        meter.one_device = seed % 5 == 0;
        mx_meter_reset(&meter, 0);
        for (uint32_t i = 0; i < SPANS; i++) {
            const uint64_t begin = mx_rng_below(seed, 1, i, now), end = begin + mx_rng_below(seed, 2, i, 40);
            const enum mx_stage stage = (enum mx_stage)mx_rng_below(seed, 3, i, MX_STAGES);
            const struct mx_span span = span_add(&brute, stage, begin, end < now ? end : now, seed, i);
            for (uint64_t t = begin; t < span.end_ns; t++) brute.open[stage][t] = t < paused || (over && t >= resumed);
            if (end < now)
                mx_meter_add(&meter, &span);
            else
                open[open_count++] = span;
        }
        if (over) mx_meter_pause(&meter, paused, resumed);
        uint64_t horizon = over ? now : paused;
        for (uint32_t i = 0; i < open_count; i++)
            if (open[i].begin_ns < horizon) horizon = open[i].begin_ns;
        if (seed % 3 == 0) mx_meter_sweep(&meter, horizon);
        mx_meter_read(&meter, now, open, open_count, over ? 0 : paused, &read);
        mx_meter_read(&meter, now, open, open_count, over ? 0 : paused, &again);
        assert_memory_equal(&read, &again, sizeof read);
        assert_int_equal(read.wall_ns, over ? now - (resumed - paused) : paused);
        assert_true(read.data_busy_ns <= read.wall_ns && read.model_busy_ns <= read.wall_ns);
        meter.stats = read;
        sums_check(&meter, &brute, 0);
        mx_meter_release(&meter);
    }
}

/* More than fit, all in order: nothing is lost, as all that is swept early is complete. */
static void test_full(void **state)
{
    (void)state;
    struct mx_meter meter;
    struct mx_span newest[4];
    assert_int_equal(mx_meter_create(&meter, 4, 0, 3), 0);
    mx_meter_reset(&meter, 0);
    for (uint64_t i = 0; i < 100; i++)
        mx_meter_add(&meter,
                     &(struct mx_span){.stage = MX_STAGE_TRAIN, .number = i, .begin_ns = 10 * i, .end_ns = 10 * i + 5});
    mx_meter_sweep(&meter, 2000);
    assert_int_equal(meter.stats.model_busy_ns, 500);
    assert_int_equal(mx_meter_spans(&meter, newest, 4), 3);
    for (uint64_t i = 0; i < 3; i++) assert_int_equal(newest[i].number, 97 + i);
    assert_int_equal(mx_meter_spans(&meter, newest, 1), 1);
    assert_int_equal(newest[0].number, 99);
    mx_meter_reset(&meter, 2500);
    mx_meter_add(&meter, &(struct mx_span){.stage = MX_STAGE_TRAIN, .begin_ns = 2400, .end_ns = 2600});
    mx_meter_sweep(&meter, 3000);
    assert_int_equal(meter.stats.model_busy_ns, 100); /* from the reset on */
    mx_meter_release(&meter);
}

/* ---- tuning ---- */

/* One worker, two loaded and three prepared batches at first, or what is given. */
static struct mx_tune tune_begin(int32_t workers, int32_t loaded, int32_t prepared)
{
    struct mx_tune tune;
    mx_tune_begin(&tune, &(struct mx_pipeline_tuning){workers, loaded, prepared});
    tune.now = tune.least = (struct mx_pipeline_tuning){1, loaded < 2 ? loaded : 2, prepared < 3 ? prepared : 3};
    return tune;
}

static void test_tune_workers(void **state)
{
    (void)state;
    char why[256];
    struct mx_tune tune = tune_begin(8, 16, 16);
    struct mx_tune_figures f = {.period_ns = 50e6,
                                .data_wait = 0.4,
                                .process_wait_input = 0.31,
                                .load_ns = 50e6,
                                .process_ns = 10e6,
                                .train_ns = 20e6};
    assert_true(mx_tune_decide(&tune, &f, why, sizeof why)); /* 50 ms of loading and 20 ms of training: three */
    assert_string_equal(why, "1 → 3 load workers: process waited 31 % of the time for loading");
    assert_int_equal(tune.now.workers, 3);
    f.period_ns = 20e6;
    f.data_wait = f.process_wait_input = 0;
    for (int round = 2; round <= MX_TUNE_ROUNDS; round++) {
        assert_false(tune.settled);
        assert_false(mx_tune_decide(&tune, &f, why, sizeof why));
    }
    assert_true(tune.settled);
    assert_string_equal(why, "the model waited 0.0 % of the time for data: nothing to gain");
    assert_int_equal(tune.now.workers, 3);
}

static void test_tune_back(void **state)
{
    (void)state;
    char why[256];
    struct mx_tune tune = tune_begin(2, 2, 3);
    const struct mx_tune_figures f = {.period_ns = 50e6,
                                      .data_wait = 0.4,
                                      .process_wait_input = 0.5,
                                      .data_busy = 0.99,
                                      .load_ns = 40e6,
                                      .process_ns = 10e6,
                                      .train_ns = 20e6};
    assert_true(mx_tune_decide(&tune, &f, why, sizeof why));
    assert_int_equal(tune.now.workers, 2);                   /* never beyond what there is */
    assert_true(mx_tune_decide(&tune, &f, why, sizeof why)); /* one core: no faster */
    assert_int_equal(tune.now.workers, 1);
    assert_non_null(strstr(why, "2 → 1 load workers: more were no faster (50.0 ms a batch before"));
    assert_false(mx_tune_decide(&tune, &f, why, sizeof why));
    assert_true(tune.settled);
    assert_non_null(strstr(why, "the data device is the limit: 99 % busy"));
}

static void test_tune_depth(void **state)
{
    (void)state;
    char why[256];
    struct mx_tune tune = tune_begin(1, 2, 8);
    const struct mx_tune_figures f = {
        .period_ns = 20e6, .data_wait = 0.05, .data_busy = 0.6, .load_ns = 5e6, .process_ns = 9e6, .train_ns = 19e6};
    assert_true(mx_tune_decide(&tune, &f, why, sizeof why));
    assert_string_equal(why,
                        "3 → 6 batches prepared ahead: the model waited 5.0 % of the time, though the data device was "
                        "only 60 % busy");
    assert_true(mx_tune_decide(&tune, &f, why, sizeof why));
    assert_int_equal(tune.now.prepared, 8);
    assert_false(mx_tune_decide(&tune, &f, why, sizeof why));
    assert_true(tune.settled);
    assert_non_null(strstr(why, "no setting is left"));
}

/* Rounds with these figures until something changes; returns how many, or 0 if nothing did in 1,000. */
static int rounds_until(struct mx_tune *tune, const struct mx_tune_figures *f, char why[256])
{
    for (int round = 1; round <= 1000; round++)
        if (mx_tune_decide(tune, f, why, 256)) return round;
    return 0;
}

/* A stall long after the first steps gets the buffer; when the flow is calm again, it is given back, and sooner the
 * first time than after it turned out to be needed. */
static void test_tune_watches(void **state)
{
    (void)state;
    char why[256];
    const struct mx_tune_figures calm = {.period_ns = 20e6, .load_ns = 5e6, .process_ns = 9e6, .train_ns = 19e6};
    struct mx_tune_figures stall = calm;
    struct mx_tune tune = tune_begin(4, 8, 50);
    stall.period_ns = 40e6;
    stall.data_wait = 0.5;
    stall.process_wait_input = 0.8; /* one load of many took long: on average one worker is enough */
    assert_int_equal(rounds_until(&tune, &calm, why), 0);
    assert_true(tune.settled);
    assert_int_equal(tune.now.prepared, 3);
    assert_true(mx_tune_decide(&tune, &stall, why, sizeof why));
    assert_non_null(strstr(why, "2 → 4 batches loaded and 3 → 6 prepared ahead: the model waited 50.0 % of the time"));
    for (int i = 0; i < 4; i++) assert_true(mx_tune_decide(&tune, &stall, why, sizeof why));
    assert_int_equal(tune.now.loaded, 8);
    assert_int_equal(tune.now.prepared, 50);
    assert_int_equal(rounds_until(&tune, &calm, why), MX_TUNE_CALM);
    assert_string_equal(why, "8 → 4 batches loaded and 50 → 25 prepared ahead: the model has hardly waited for data in "
                             "128 steps");
    assert_true(mx_tune_decide(&tune, &stall, why, sizeof why));
    assert_int_equal(tune.now.prepared, 50);
    assert_int_equal(rounds_until(&tune, &calm, why), 2 * MX_TUNE_CALM);
    for (int i = 0; i < 4; i++) (void)rounds_until(&tune, &calm, why);
    assert_int_equal(tune.now.loaded, 2); /* what it began with is the least */
    assert_int_equal(tune.now.prepared, 3);
    assert_int_equal(rounds_until(&tune, &calm, why), 0);
}

/* One load of 3 s among others of 20 ms: the buffer becomes what would have bridged it, at once, also where the data
 * device counts as busy meanwhile. */
static void test_tune_stall(void **state)
{
    (void)state;
    char why[256];
    struct mx_tune tune = tune_begin(8, 8, 50);
    const struct mx_tune_figures f = {.period_ns = 194e6,
                                      .batches = 32,
                                      .data_wait = 0.48,
                                      .process_wait_input = 0.9,
                                      .data_busy = 0.95,
                                      .load_ns = 113e6,
                                      .load_variation = 4.66,
                                      .process_ns = 9e6,
                                      .train_ns = 100e6};
    assert_true(mx_tune_decide(&tune, &f, why, sizeof why));
    assert_int_equal(tune.now.prepared, 3 + 30); /* 2.98 s of waiting are 30 batches of 100 ms */
    assert_string_equal(why, "2 → 4 batches loaded and 3 → 33 prepared ahead: the model waited 48.0 % of the time, and "
                             "loads are uneven, 113.0 ± 526.6 ms");
    assert_int_equal(tune.now.workers, 1);
}

/* What was given is not changed, whatever is measured. */
static void test_tune_given(void **state)
{
    (void)state;
    char why[256];
    struct mx_tune tune;
    struct mx_tune_figures f = {
        .period_ns = 40e6, .data_wait = 0.5, .process_wait_input = 0.8, .load_ns = 5e6, .train_ns = 19e6};
    mx_tune_begin(&tune, &(struct mx_pipeline_tuning){2, 6, 100});
    assert_int_equal(rounds_until(&tune, &f, why), 0);
    f.data_wait = 0;
    assert_int_equal(rounds_until(&tune, &f, why), 0);
    assert_true(tune.now.workers == 2 && tune.now.loaded == 6 && tune.now.prepared == 100);
    tune.least.prepared = tune.now.prepared = 3; /* this one alone is left to tuning */
    f.data_wait = 0.5;
    assert_int_equal(rounds_until(&tune, &f, why), 1);
    assert_non_null(strstr(why, "3 → 6 batches prepared ahead: "));
    assert_true(tune.now.workers == 2 && tune.now.loaded == 6);
}

static void test_tune_due(void **state)
{
    (void)state;
    const uint64_t steps[] = {4, 8, 16, 32, 64, 96, 128};
    for (int32_t round = 0; round < 7; round++) assert_int_equal(mx_tune_due(round), steps[round]);
    assert_int_equal(mx_tune_due(100003), 32 + UINT64_C(32) * 100000);
}

static void test_tune_measure(void **state)
{
    (void)state;
    struct mx_pipeline_stats from = {.wall_ns = 100, .batches = 10, .data_wait_ns = 10, .data_busy_ns = 20};
    struct mx_pipeline_stats to = {.wall_ns = 300, .batches = 14, .data_wait_ns = 60, .data_busy_ns = 120};
    struct mx_tune_figures f;
    for (int i = 0; i < 10; i++) mx_tally_add(&from.stages[MX_STAGE_LOAD].busy_ns, 5);
    to.stages[MX_STAGE_LOAD] = from.stages[MX_STAGE_LOAD];
    for (int i = 0; i < 4; i++) mx_tally_add(&to.stages[MX_STAGE_LOAD].busy_ns, 9);
    to.stages[MX_STAGE_PROCESS].wait_input_ns = 20;
    mx_tune_measure(&from, &to, &f);
    assert_true(fabs(f.period_ns - 50) < 1e-9 && fabs(f.data_wait - 0.25) < 1e-9 && fabs(f.data_busy - 0.5) < 1e-9);
    assert_true(fabs(f.process_wait_input - 0.1) < 1e-9 && fabs(f.load_ns - 9) < 1e-9);
    assert_true(f.batches == 4 && f.load_variation < 1e-6);
    for (int i = 0; i < 4; i++) mx_tally_add(&to.stages[MX_STAGE_LOAD].busy_ns, i == 0 ? 41 : 9);
    mx_tune_measure(&from, &to, &f); /* 9, 9, 9, 9, 41, 9, 9, 9: 13 ± 11.3 */
    assert_true(fabs(f.load_ns - 13) < 1e-9 && fabs(f.load_variation - sqrt(128) / 13) < 1e-9);
}

/* ---- advice ---- */

/* A second of figures; stage times in ms. */
static struct mx_advice_input figures(double load, double process, double transfer, double train)
{
    const double ms[MX_STAGES] = {load, process, transfer, train};
    struct mx_advice_input in = {.two_devices = true, .peer = true};
    in.stats.wall_ns = 1000000000;
    in.levels.workers_active = 4;
    in.levels.loaded_limit = 6;
    in.levels.prepared_limit = 3;
    for (int s = 0; s < MX_STAGES; s++)
        for (int i = 0; i < 10; i++) mx_tally_add(&in.stats.stages[s].busy_ns, ms[s] * 1e6);
    for (int i = 0; i < 10; i++) mx_tally_add(&in.stats.step_ns, 100e6);
    return in;
}

/* As mx_advice_find; and whatever is said is said in both languages. */
static int32_t find(const struct mx_advice_input *in, struct mx_advice out[MX_ADVICE_KINDS])
{
    const int32_t count = mx_advice_find(in, out);
    for (int32_t i = 0; i < count; i++) {
        assert_true(out[i].finding[0] != '\0' && out[i].finding_persian[0] != '\0');
        assert_int_equal(out[i].remedy[0] != '\0', out[i].remedy_persian[0] != '\0');
        assert_int_equal(out[i].remedy[0] == '\0', out[i].hidden);
    }
    return count;
}

/* Which values a sentence names, with their decimals: "0 1.1 1.1 ". Plural endings are of English only. */
static void values_named(const char *sentence, char *out)
{
    *out = '\0';
    for (int value = 0; value < 10; value++)
        for (const char *at = sentence; (at = strchr(at, '{')) != NULL; at++) {
            const size_t bytes = strspn(at + 1, "0123456789.");
            if (at[1] - '0' == value && at[1 + bytes] == '}') sprintf(out + strlen(out), "%.*s ", (int)bytes, at + 1);
        }
}

/* The words that are for a terminal: options, commands and settings. */
static void commands_present(const char *english, const char *persian)
{
    static const char *const names[] = {"--num-workers {1}",       "--prefetch-buffer-size {4}",
                                        "--buffer-size {1}",       "--buffer-size {2}",
                                        "--buffer-size {3}",       "--data-gpu-memory",
                                        "--model-gpu-memory",      "--set training.batch_frames=-1",
                                        "--set data.caching=true", "myxtts prepare",
                                        "myxtts devices"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char quoted[64];
        snprintf(quoted, sizeof quoted, "`%s`", names[i]);
        assert_int_equal(strstr(english, names[i]) != NULL, strstr(persian, quoted) != NULL);
    }
}

static void test_advice_languages(void **state)
{
    (void)state;
    static const double values[10] = {1e6, 1e6, 1e6, 1e6, 1e6, 1e6, 1e6, 1e6, 1e6, 1e6};
    for (int s = 0; s < MX_SAY_COUNT; s++) {
        char named[2][256], text[768] = "";
        const char *const english = mx_advice_sentence((enum mx_advice_sentence)s, false);
        const char *const persian = mx_advice_sentence((enum mx_advice_sentence)s, true);
        assert_true(english != NULL && english[0] != '\0' && persian != NULL && persian[0] != '\0');
        values_named(english, named[0]);
        values_named(persian, named[1]);
        assert_string_equal(named[0], named[1]);
        bool letters = false;
        for (const char *at = persian; *at != '\0'; at++) letters = letters || *at == '\xD8' || *at == '\xD9';
        assert_true(letters);
        commands_present(english, persian);
        for (int language = 0; language < 2; language++) {
            text[0] = '\0';
            mx_advice_format(text, language == 1 ? sizeof text : 384, (enum mx_advice_sentence)s, language == 1,
                             values);
            const char *const whole = language == 1 ? persian : english, *const last = strrchr(whole, '}');
            const char *const tail = last != NULL ? last + 1 : whole;
            assert_true(strlen(text) >= strlen(tail));
            assert_string_equal(text + strlen(text) - strlen(tail), tail); /* nothing was cut */
            assert_null(strchr(text, '{'));
        }
    }
}

static void test_advice_say(void **state)
{
    (void)state;
    char text[160] = "so: ", few[16] = "";
    mx_advice_format(text, sizeof text, MX_SAY_WORKERS, false, (const double[]){1, 12});
    assert_string_equal(text, "so: 1 load worker → 12 would hide it (--num-workers 12)");
    text[0] = '\0';
    mx_advice_format(text, sizeof text, MX_SAY_WORKERS, true, (const double[]){1, 12});
    assert_non_null(strstr(text, "از ۱ به ۱۲ "));
    assert_non_null(strstr(text, "`--num-workers 12`"));
    text[0] = '\0';
    mx_advice_format(text, sizeof text, MX_SAY_LOAD, true, (const double[]){34.4, 12.34, 1});
    assert_non_null(strstr(text, "۳۴٪"));
    assert_non_null(strstr(text, "۱۲٫۳ از ۱٫۰"));
    mx_advice_format(few, sizeof few, MX_SAY_LOAD, false, (const double[]){34.4, 12.34, 1});
    assert_string_equal(few, "loading is 34"); /* the next piece does not fit, so nothing more does */
}

static void test_advice_none(void **state)
{
    (void)state;
    struct mx_advice out[MX_ADVICE_KINDS];
    struct mx_advice_input in = figures(12.3, 5.1, 8.7, 123.4); /* the documents' example of a balanced run */
    in.stats.data_busy_ns = 452000000;
    assert_int_equal(find(&in, out), 0);
}

static void test_advice_load(void **state)
{
    (void)state;
    struct mx_advice out[MX_ADVICE_KINDS];
    struct mx_advice_input in = figures(130, 10, 1, 20);
    in.stats.stages[MX_STAGE_PROCESS].wait_input_ns = 600000000;
    in.stats.data_wait_ns = 400000000;
    assert_int_equal(find(&in, out), 1);
    assert_int_equal(out[0].kind, MX_ADVICE_LOAD);
    assert_false(out[0].hidden);
    assert_string_equal(out[0].finding,
                        "loading is 81 % of the work of a batch (130.0 of 161.0 ms): process waited 60 % "
                        "of the time for it, and the model 40 %");
    assert_string_equal(out[0].remedy, "4 load workers → 7 would hide it (--num-workers 7)");
    in.load_on_data = true;
    in.data_cores = 1;
    assert_int_equal(find(&in, out), 1);
    assert_non_null(strstr(out[0].remedy, "share the 1 core of the data device"));
    in.levels.workers_active = 8;
    mx_tally_add(&in.stats.stages[MX_STAGE_LOAD].busy_ns, 200e6);
    assert_int_equal(find(&in, out), 1);
    assert_non_null(strstr(out[0].remedy, "--prefetch-buffer-size 12"));
    in.stats.data_wait_ns = 1000000;
    assert_int_equal(find(&in, out), 1);
    assert_true(out[0].hidden);
    assert_string_equal(out[0].remedy, "");
}

static void test_advice_transfer(void **state)
{
    (void)state;
    struct mx_advice out[MX_ADVICE_KINDS];
    struct mx_advice_input in = figures(1, 10, 30, 20);
    in.stats.transfer_ns = 900000000;
    in.stats.transfer_hidden_ns = 600000000;
    in.stats.data_wait_ns = 300000000;
    assert_int_equal(find(&in, out), 1);
    assert_int_equal(out[0].kind, MX_ADVICE_TRANSFER);
    assert_non_null(strstr(out[0].finding, "67 % of it while the model trains"));
    assert_non_null(strstr(out[0].remedy, "a copy takes 1.5x as long as training"));
    in.peer = false;
    assert_int_equal(find(&in, out), 1);
    assert_non_null(strstr(out[0].remedy, "no direct path"));
    in.two_devices = false;
    assert_int_equal(find(&in, out), 0);
}

static void test_advice_data(void **state)
{
    (void)state;
    struct mx_advice out[MX_ADVICE_KINDS];
    struct mx_advice_input in = figures(1, 95, 1, 60);
    in.stats.data_busy_ns = 960000000;
    in.stats.data_wait_ns = 370000000;
    in.data_cores = 2;
    assert_int_equal(find(&in, out), 1);
    assert_int_equal(out[0].kind, MX_ADVICE_DATA_DEVICE);
    assert_non_null(strstr(out[0].finding, "the data device is 96 % busy"));
    assert_non_null(strstr(out[0].remedy, "2 cores → 4 for the data device would keep up (1.6x the work)"));
    in.data_cores = 0;
    assert_int_equal(find(&in, out), 1);
    assert_non_null(strstr(out[0].remedy, "1.6x as fast would keep up"));
}

static void test_advice_variation(void **state)
{
    (void)state;
    struct mx_advice out[MX_ADVICE_KINDS];
    struct mx_advice_input in = figures(1, 10, 1, 90);
    for (int i = 0; i < 10; i++) mx_tally_add(&in.stats.step_ns, 250e6);
    assert_int_equal(find(&in, out), 1);
    assert_int_equal(out[0].kind, MX_ADVICE_VARIATION);
    assert_int_equal(out[0].cause, MX_CAUSE_COMPUTE);
    assert_non_null(strstr(out[0].remedy, "the time goes between steps"));
    in.memory[1] = 0.99;
    assert_int_equal(find(&in, out), 1);
    assert_int_equal(out[0].cause, MX_CAUSE_MEMORY);
    assert_non_null(strstr(out[0].remedy, "--model-gpu-memory"));
    in.memory[1] = 0;
    for (int i = 0; i < 10; i++) mx_tally_add(&in.stats.stages[MX_STAGE_TRAIN].busy_ns, 240e6);
    assert_int_equal(find(&in, out), 1);
    assert_non_null(strstr(out[0].remedy, "training.batch_frames"));
    in.stats.data_wait_ns = 300000000;
    assert_int_equal(find(&in, out), 1);
    assert_int_equal(out[0].cause, MX_CAUSE_DATA);
    in.stats.transfer_ns = 300000000;
    assert_int_equal(find(&in, out), 1);
    assert_int_equal(out[0].cause, MX_CAUSE_TRANSFER);
    assert_string_equal(mx_advice_cause_name(out[0].cause), "transfer");
    assert_string_equal(mx_advice_kind_name(out[0].kind), "variation");
}

/* ---- traces ---- */

static void test_trace(void **state)
{
    (void)state;
    static const struct mx_span spans[] = {
        {.stage = MX_STAGE_LOAD,
         .lane = 1,
         .number = 17,
         .begin_ns = 5001000,
         .end_ns = 5002500,
         .cpu_ns = 250,
         .blocked_ns = 1200},
        {.stage = MX_STAGE_LOAD, .lane = 0, .number = 16, .begin_ns = 5000000, .end_ns = 5001000},
        {.stage = MX_STAGE_PROCESS, .number = 16, .begin_ns = 5001000, .end_ns = 5004000},
        {.stage = MX_STAGE_TRANSFER, .number = 16, .begin_ns = 5004000, .end_ns = 5004100},
        {.stage = MX_STAGE_TRAIN, .number = 16, .begin_ns = 5004100, .end_ns = 6004100},
    };
    struct mx_registry *registry;
    struct mx_device *devices[2];
    char path[] = "/tmp/mx_trace_XXXXXX", *json;
    size_t bytes;
    two_cores_or_skip();
    assert_int_equal(mx_registry_open(mx_backends_cpu, &(struct mx_registry_options){.cpu_devices = 2}, &registry), 0);
    for (int d = 0; d < 2; d++) assert_int_equal(mx_registry_device_open(registry, d, 0, &devices[d]), 0);
    const int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    for (int two = 0; two < 2; two++) {
        const struct mx_trace trace = {.spans = spans, .count = 5, .data = devices[0], .model = devices[two]};
        assert_int_equal(mx_trace_write(&trace, path), 0);
        assert_int_equal(mx_file_read(path, 1 << 20, &json, &bytes), 0);
        cJSON *const root = cJSON_ParseWithLength(json, bytes);
        const cJSON *const events = cJSON_GetObjectItem(root, "traceEvents"), *event;
        int found = 0, rows = 0, groups = 0;
        cJSON_ArrayForEach(event, events)
        {
            const char *const kind = cJSON_GetStringValue(cJSON_GetObjectItem(event, "ph"));
            const char *const name = cJSON_GetStringValue(cJSON_GetObjectItem(event, "name"));
            rows += strcmp(name, "thread_name") == 0;
            groups += strcmp(name, "process_name") == 0;
            found += strcmp(kind, "X") == 0;
            if (strcmp(name, "load 17") == 0) {
                assert_true(fabs(cJSON_GetNumberValue(cJSON_GetObjectItem(event, "ts")) - 1) < 1e-9);
                assert_true(fabs(cJSON_GetNumberValue(cJSON_GetObjectItem(event, "dur")) - 1.5) < 1e-9);
                assert_int_equal(cJSON_GetObjectItem(cJSON_GetObjectItem(event, "args"), "batch")->valueint, 17);
                assert_int_equal(cJSON_GetObjectItem(event, "tid")->valueint, 2);
            }
            if (strcmp(name, "train 16") == 0)
                assert_int_equal(cJSON_GetObjectItem(event, "pid")->valueint, two ? 3 : 2);
        }
        assert_non_null(strstr(json, "\"args\":{\"batch\":17,\"cpu_us\":0.250,\"blocked_us\":1.200}"));
        assert_int_equal(found, 5);
        assert_int_equal(rows, 5);
        assert_int_equal(groups, two ? 3 : 2);
        assert_true((strstr(json, "model device (GPU:1 = cpu:1)") != NULL) == (two == 1));
        cJSON_Delete(root);
        mx_free(json);
    }
    const struct mx_trace nothing = {.data = devices[0], .model = devices[1]}; /* yet */
    assert_int_equal(mx_trace_json(&nothing, &json, &bytes), 0);
    cJSON *const empty = cJSON_ParseWithLength(json, bytes);
    assert_non_null(empty);
    cJSON_Delete(empty);
    mx_free(json);
    const struct mx_trace whole = {.spans = spans, .count = 5, .data = devices[0], .model = devices[1]};
    assert_true(mx_trace_write(&whole, "/nowhere/at/all.json") < 0);
    unlink(path);
    for (int d = 0; d < 2; d++) mx_device_close(devices[d]);
    mx_registry_close(registry);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tally),
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_full),
        cmocka_unit_test(test_read),
        cmocka_unit_test(test_tune_workers),
        cmocka_unit_test(test_tune_back),
        cmocka_unit_test(test_tune_depth),
        cmocka_unit_test(test_tune_measure),
        cmocka_unit_test(test_tune_watches),
        cmocka_unit_test(test_tune_given),
        cmocka_unit_test(test_tune_stall),
        cmocka_unit_test(test_tune_due),
        cmocka_unit_test(test_advice_none),
        cmocka_unit_test(test_advice_say),
        cmocka_unit_test(test_advice_languages),
        cmocka_unit_test(test_advice_load),
        cmocka_unit_test(test_advice_transfer),
        cmocka_unit_test(test_advice_data),
        cmocka_unit_test(test_advice_variation),
        cmocka_unit_test(test_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

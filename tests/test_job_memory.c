/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The memory of a whole training run against its plan, byte by byte, on fake devices: what is planned to fit runs, with
 * its evaluation and its samples, and what is not does not; the budgets end where the plan said; every number in a hint
 * runs when it is given.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "myxtts/budget.h"
#include "myxtts/error.h"
#include "run/devices/memory_plan.h"
#include "run/job.h"
#include "support/fake_backend.h"
#include "support/recording.h"
#include "support/small_corpus.h"

#define ROWS   14
#define MEMORY (UINT64_C(1) << 30)
#define MIB    (UINT64_C(1) << 20)

static const struct mx_backend *const fake_only[] = {&mx_fake_backend, NULL};

/* What a run is made with. */
struct given {
    bool two;
    uint64_t data, model;      /* limits; data of two devices alone */
    int64_t batch, accum;      /* 0: 4, 1 */
    int64_t buffer;            /* 0: 3 */
    const char *more[4];       /* settings besides */
    struct mx_job_needs needs; /* answers: what is needed */
    uint64_t data_peak, model_peak;
    bool planned;                   /* whether that fits */
    char hint[MX_ERROR_HINT_BYTES]; /* what would fit, if that does not */
    char message[512];
};

static char *place;
static int runs;

static int group_open(void **state)
{
    (void)state;
    mx_log_configure(&(struct mx_log_options){.level = MX_LOG_SILENT});
    mx_fake_configure(&(struct mx_fake_options){.device_count = 2, .memory_bytes = MEMORY});
    place = folder_make();
    char *const corpus = mx_format("%s/corpus", place);
    if (mx_job_folder_create(corpus) < 0) return -1;
    small_corpus_make(corpus, ROWS, 0);
    mx_free(corpus);
    return 0;
}

static int group_close(void **state)
{
    (void)state;
    mx_fake_configure(NULL);
    folder_remove(place);
    return 0;
}

/* ---- a run ---- */

static void settings_make(const struct given *g, struct mx_settings *out)
{
    char data[512], batch[64], accum[64], buffer[64];
    size_t count = 21;
    const char *set[32] = {data,
                           batch,
                           accum,
                           buffer,
                           "model.width=16",
                           "model.heads=2",
                           "model.hidden=32",
                           "model.encoder_blocks=1",
                           "model.decoder_blocks=1",
                           "vocoder.segments=2",
                           "vocoder.segment_frames=16",
                           "data.tokens=chars",
                           "data.validation_fraction=0.2",
                           "data.caching=false",
                           "data.num_workers=1",
                           "training.steps=1",
                           "training.eval_every=1",
                           "training.samples=2",
                           "training.tensorboard=false",
                           "training.report=off",
                           "pipeline.auto_tune=false"};
    snprintf(data, sizeof data, "data.train_data=%s/corpus", place);
    snprintf(batch, sizeof batch, "training.batch_size=%" PRId64, g->batch > 0 ? g->batch : 4);
    snprintf(accum, sizeof accum, "training.grad_accum=%" PRId64, g->accum > 0 ? g->accum : 1);
    snprintf(buffer, sizeof buffer, "pipeline.buffer_size=%" PRId64, g->buffer > 0 ? g->buffer : 3);
    for (size_t i = 0; i < sizeof g->more / sizeof g->more[0] && g->more[i] != NULL; i++) set[count++] = g->more[i];
    if (mx_settings_read(NULL, set, count, out) < 0) fail_msg("%s", mx_error_last()->message);
    mx_settings_resolve(out);
}

static void devices_open(const struct given *g, struct mx_device_pair *pair)
{
    static const char *const names[] = {"fake:0", "fake:1"};
    struct mx_registry_options chosen = {.device_count = g->two ? 2 : 1};
    *pair = (struct mx_device_pair){.choice = {.mode = g->two ? MX_MODE_MULTI : MX_MODE_SINGLE}};
    for (int i = 0; i < chosen.device_count; i++) {
        chosen.devices[i] = names[i];
        snprintf(pair->choice.names[i], sizeof pair->choice.names[i], "%s", names[i]);
    }
    pair->choice.count = chosen.device_count;
    assert_int_equal(mx_registry_open(fake_only, &chosen, &pair->registry), 0);
    assert_int_equal(mx_registry_device_open(pair->registry, chosen.device_count - 1, g->model, &pair->model), 0);
    pair->data = pair->model;
    if (g->two) assert_int_equal(mx_registry_device_open(pair->registry, 0, g->data, &pair->data), 0);
}

static uint64_t peak_of(const struct mx_device *device)
{
    struct mx_budget_stats stats;
    mx_budget_stats(mx_device_budget(device), &stats);
    return stats.peak_bytes;
}

/* Plans; then, whatever the plan says, really takes the memory and trains. Returns what came of that. */
static int run(struct given *g, bool train)
{
    struct mx_job job = {0};
    settings_make(g, &job.settings);
    devices_open(g, &job.devices);
    if (mx_job_open(&job, true) < 0) fail_msg("%s", mx_error_last()->message);
    assert_int_equal(mx_job_memory_needs(&job, &job.plan, true, &g->needs), 0);
    int rc = mx_job_memory_check(&job);
    g->planned = rc == 0;
    if (rc < 0) {
        assert_int_equal(rc, MX_ERR_BUDGET);
        snprintf(g->hint, sizeof g->hint, "%s", mx_error_last()->hint);
        snprintf(g->message, sizeof g->message, "%s", mx_error_last()->message);
        mx_error_clear();
    }
    if (train) {
        job.run = mx_format("%s/run-%d", place, runs++);
        assert_int_equal(mx_job_folder_open(&job.folder, job.run, false), 0);
        rc = mx_job_start(&job);
        if (rc == 0) rc = mx_job_run(&job);
        if (rc == 0) {
            assert_non_null(job.speech.speak); /* samples were spoken */
            assert_true(job.evaluations.known);
        } else if (rc != MX_ERR_BUDGET) {
            fail_msg("%s", mx_error_last()->message);
        }
        g->data_peak = peak_of(job.devices.data);
        g->model_peak = peak_of(job.devices.model);
    }
    mx_job_close(&job);
    mx_config_release(&mx_settings_schema, &job.settings);
    mx_error_clear();
    return rc;
}

/* Planned to fit ⇔ runs. */
static bool agrees(struct given g)
{
    const bool ran = run(&g, true) == 0;
    if (ran != g.planned)
        fail_msg("limits of %" PRIu64 " and %" PRIu64 ": planned to fit is %d, runs is %d", g.data, g.model, g.planned,
                 ran);
    return ran;
}

/* What it needs with room for everything. */
static struct given measured(struct given g)
{
    g.data = g.model = MEMORY / 2;
    assert_int_equal(run(&g, true), 0);
    assert_true(g.planned);
    assert_int_equal(g.model_peak, g.needs.model);
    if (g.two) assert_int_equal(g.data_peak, g.needs.data);
    return g;
}

/* The number that follows `word` in the hint; 0: there is none. */
static int64_t hinted(const struct given *g, const char *word)
{
    const char *const at = strstr(g->hint, word);
    return at == NULL ? 0 : strtoll(at + strlen(word), NULL, 10);
}

/* ---- tests ---- */

/* One limit goes down, the other one is more than enough. Under ThreadSanitizer, whose business is the threads of a run, the
 * byte that is missing is enough. */
static void walk(struct given g, bool data)
{
#ifdef __SANITIZE_THREAD__
    static const uint64_t below[] = {1};
    const uint64_t parts = 0;
#else
    static const uint64_t below[] = {1, 64, 255, 256, 65536};
    const uint64_t parts = 6;
#endif
    const uint64_t need = data ? g.needs.data : g.needs.model;
    uint64_t *const limit = data ? &g.data : &g.model;
    for (uint64_t more = 2; more-- > 0;) {
        *limit = need + more;
        assert_true(agrees(g));
    }
    for (size_t i = 0; i < sizeof below / sizeof below[0]; i++) {
        *limit = need - below[i];
        assert_false(agrees(g));
    }
    for (uint64_t part = parts; part > 0; part -= 2) {
        *limit = need / 8 * part;
        assert_false(agrees(g));
    }
}

static void test_one_device_holds_what_was_planned_and_no_byte_less(void **state)
{
    (void)state;
    walk(measured((struct given){0}), false);
}

static void test_so_do_two(void **state)
{
    (void)state;
    const struct given g = measured((struct given){.two = true});
    walk(g, true);
    walk(g, false);
}

static void test_so_do_steps_of_several_batches_and_shared_work(void **state)
{
    (void)state;
    static const struct given cases[] = {
        {.batch = 2, .accum = 2},
        {.two = true, .batch = 2, .accum = 2},
        {.two = true, .more = {"pipeline.share_work=on", "pipeline.shares=0:0.1"}},
        {.more = {"model.gradient_checkpointing=true", "pipeline.static_shapes=true"}},
        {.more = {"data.augment=true"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct given g = cases[i];
        g.data = g.model = MEMORY / 2;
        g = measured(g);
        for (uint64_t less = 0; less < 2; less++) {
            struct given at = g;
            at.model = g.needs.model - less;
            assert_int_equal(agrees(at), less == 0);
            at = g;
            at.data = g.needs.data - less;
            if (!g.two) continue;
            const bool ran = agrees(at);
            /* With less memory less work is shared: then it runs, too. */
            if (g.more[0] == NULL || strcmp(g.more[0], "pipeline.share_work=on") != 0) assert_int_equal(ran, less == 0);
        }
    }
}

/* The words of a refusal are never those of two equal sizes. */
static void refusal_check(const struct given *g)
{
    char need[32], have[32];
    assert_int_equal(
        sscanf(g->message, "training would take %31[^o] of fake:%*d (GPU:%*d), which has %31[^l]", need, have), 2);
    assert_string_not_equal(need, have);
}

static void test_limits_in_hints_run(void **state)
{
    (void)state;
    struct given g = measured((struct given){.two = true});
    const struct mx_job_needs needs = g.needs;
    for (int which = 1; which < 4; which++) {
        const bool data = (which & 1) != 0, model = (which & 2) != 0;
        g.data = data ? needs.data - 1 : MEMORY / 2;
        g.model = model ? needs.model - 1 : MEMORY / 2;
        run(&g, false);
        assert_false(g.planned);
        refusal_check(&g);
        const uint64_t for_data = (uint64_t)hinted(&g, "--data-gpu-memory ");
        const uint64_t for_model = (uint64_t)hinted(&g, "--model-gpu-memory ");
        assert_int_equal(for_data > 0, data);
        assert_int_equal(for_model > 0, model);
        if (data) assert_true((for_data - 1) * MIB < needs.data && needs.data <= for_data * MIB);
        if (model) assert_true((for_model - 1) * MIB < needs.model && needs.model <= for_model * MIB);
        if (data) g.data = for_data * MIB;
        if (model) g.model = for_model * MIB;
        assert_true(agrees(g));
    }
}

/* A limit of the data device is no reason for a smaller model. */
static void test_remedies_lie_on_the_device_that_is_short(void **state)
{
    (void)state;
    struct given g = measured((struct given){.two = true, .buffer = 8});
    g.data = g.needs.data / 10 * 9; /* a smaller batch saves less: segments for the vocoder take the same */
    run(&g, false);
    assert_false(g.planned);
    const int64_t buffer = hinted(&g, "--buffer-size "), batch = hinted(&g, "--batch-size ");
    assert_true(buffer > 0 && batch > 0);
    assert_null(strstr(g.hint, "model"));
    assert_null(strstr(g.hint, "samples"));
    struct given other = g;
    other.buffer = buffer;
    assert_true(agrees(other));
    other.buffer = buffer + 1;
    assert_false(agrees(other));
}

/* Only steps of the size that was asked for are offered, and the largest batch that makes them. */
static void test_batches_in_hints_make_equal_steps(void **state)
{
    (void)state;
    static const int64_t sizes[] = {6, 8, 9};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct given g = measured((struct given){.batch = sizes[i]});
        for (uint64_t part = 95; part > 40; part -= 18) {
            struct given at = g;
            at.model = g.needs.model / 100 * part;
            run(&at, false);
            assert_false(at.planned);
            const int64_t batch = hinted(&at, "--batch-size "), accum = hinted(&at, "--grad-accum ");
            if (batch == 0) continue;
            assert_int_equal(batch * accum, sizes[i]);
            at.batch = batch;
            at.accum = accum;
            assert_true(agrees(at));
            for (int64_t more = batch + 1; more < sizes[i]; more++) {
                at.batch = more;
                at.accum = sizes[i] / more;
                if (sizes[i] % more == 0) assert_false(agrees(at));
            }
        }
    }
}

/* Settings in a hint run as they stand there. */
static void test_settings_in_hints_run(void **state)
{
    (void)state;
    static const char *const words[] = {"model.gradient_checkpointing=true", "training.samples=0"};
    struct given g = measured((struct given){.batch = 8, .more = {"model.decoder_blocks=4"}});
    int offered = 0;
    g.model = g.needs.model - 1;
    run(&g, false);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        struct given other = g;
        if (strstr(g.hint, words[i]) == NULL) continue;
        offered++;
        other.more[1] = words[i];
        run(&other, false);
        assert_true(other.planned);
    }
    assert_int_equal(offered, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_device_holds_what_was_planned_and_no_byte_less),
        cmocka_unit_test(test_so_do_two),
        cmocka_unit_test(test_so_do_steps_of_several_batches_and_shared_work),
        cmocka_unit_test(test_limits_in_hints_run),
        cmocka_unit_test(test_remedies_lie_on_the_device_that_is_short),
        cmocka_unit_test(test_batches_in_hints_make_equal_steps),
        cmocka_unit_test(test_settings_in_hints_run),
    };
    return cmocka_run_group_tests(tests, group_open, group_close);
}

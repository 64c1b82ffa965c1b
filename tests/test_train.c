/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Tests of myxtts/train.h: a run that is saved, closed and resumed is the run that never stopped, the best evaluation
 * is kept if it is saved in time, a caller's stop ends a step before it begins, and everything wrong is refused without
 * leaving a folder.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "myxtts/train.h"
#include "support/recording.h"
#include "support/small_corpus.h"

#define ROWS  12
#define STEPS 6

static char *place, *train_data;

static int group_open(void **state)
{
    (void)state;
    place = folder_make();
    char *const corpus = mx_format("%s/corpus", place);
    train_data = mx_format("data.train_data=%s", corpus);
    folder_add(place, "corpus");
    small_corpus_make(corpus, ROWS, 0);
    mx_free(corpus);
    return 0;
}

static int group_close(void **state)
{
    (void)state;
    folder_remove(place);
    mx_free(train_data);
    return 0;
}

/* A new run, or with `resume` one that goes on; `more` settings besides, NULL: none. */
static int run_open(const char *name, bool resume, const char *more, const atomic_bool *stop, struct mx_train **out)
{
    char *const folder = mx_format("%s/%s", place, name);
    const char *const settings[] = {train_data,
                                    "data.tokens=chars",
                                    "model.width=16",
                                    "model.heads=2",
                                    "model.hidden=32",
                                    "model.encoder_blocks=1",
                                    "model.decoder_blocks=1",
                                    "vocoder.segments=2",
                                    "vocoder.segment_frames=16",
                                    "training.batch_size=4",
                                    "pipeline.backend=cpu",
                                    "training.samples=0",
                                    "training.epochs=1000",
                                    "training.steps=6",
                                    more};
    const size_t all = sizeof settings / sizeof settings[0];
    const struct mx_train_options options = {.output = resume ? NULL : folder,
                                             .resume = resume ? folder : NULL,
                                             .settings = resume ? &settings[all - 1] : settings,
                                             .setting_count = (resume ? 1 : all) - (more == NULL),
                                             .stop = stop,
                                             .quiet = true};
    const int rc = mx_train_open(&options, out);
    mx_free(folder);
    return rc;
}

static struct mx_train *run_must_open(const char *name, bool resume, const atomic_bool *stop)
{
    struct mx_train *run;
    const int rc = run_open(name, resume, NULL, stop, &run);
    if (rc < 0) fail_msg("%s (%s)", mx_error_last()->message, mx_error_last()->hint);
    return run;
}

static void steps_make(struct mx_train *run, int from, int to, struct mx_train_report *reports)
{
    for (int i = from; i < to; i++) {
        const int rc = mx_train_step(run, &reports[i]);
        if (rc != 0) fail_msg("step %d: %d, %s", i, rc, mx_error_last()->message);
        assert_int_equal(reports[i].step, i + 1);
        assert_int_equal(reports[i].steps, STEPS);
        assert_true(isfinite(reports[i].loss) && !reports[i].skipped && reports[i].utterances > 0);
    }
}

static bool there(const char *name, const char *file)
{
    char *const path = mx_format("%s/%s/%s", place, name, file);
    const bool found = access(path, F_OK) == 0;
    mx_free(path);
    return found;
}

/* ---- */

static void resumed_is_the_same(void **state)
{
    struct mx_train_report whole[STEPS], parts[STEPS], over;
    struct mx_train_evaluation a, b;
    (void)state;
    struct mx_train *run = run_must_open("whole", false, NULL);
    steps_make(run, 0, STEPS, whole);
    assert_int_equal(mx_train_step(run, &over), 1); /* and again, without harm */
    assert_int_equal(mx_train_step(run, &over), 1);
    assert_int_equal(mx_train_evaluate(run, &a), 0);
    mx_train_close(run);

    run = run_must_open("parts", false, NULL);
    steps_make(run, 0, 2, parts);
    assert_int_equal(mx_train_save(run), 0);
    mx_train_close(run);
    run = run_must_open("parts", true, NULL);
    steps_make(run, 2, STEPS, parts);
    assert_int_equal(mx_train_evaluate(run, &b), 0);
    mx_train_close(run);
    for (int i = 0; i < STEPS; i++) {
        assert_true(whole[i].loss == parts[i].loss && whole[i].grad_norm == parts[i].grad_norm);
        assert_true(whole[i].learning_rate == parts[i].learning_rate && whole[i].frames == parts[i].frames);
    }
    assert_true(a.utterances > 0 && a.utterances == b.utterances && a.loss == b.loss);
    assert_true(there("parts", "run.json") && there("parts", "metrics.jsonl") && there("parts", "log.txt"));
}

static void best_is_kept_in_time(void **state)
{
    struct mx_train_report reports[STEPS];
    struct mx_train_evaluation e;
    (void)state;
    struct mx_train *run = run_must_open("best", false, NULL);
    steps_make(run, 0, 1, reports);
    assert_int_equal(mx_train_evaluate(run, &e), 0);
    assert_true(e.best && e.spoken == e.utterances && isfinite(e.mel_db));
    steps_make(run, 1, 2, reports);
    assert_int_equal(mx_train_save(run), 0); /* not the weights that were evaluated */
    assert_false(there("best", "checkpoints/best.safetensors"));
    assert_int_equal(mx_train_evaluate(run, &e), 0);
    assert_true(e.best); /* the one before is forgotten */
    assert_int_equal(mx_train_save(run), 0);
    assert_true(there("best", "checkpoints/best.safetensors"));
    mx_train_close(run);
}

static void stop_ends_it(void **state)
{
    atomic_bool stop = false;
    struct mx_train_report reports[STEPS];
    struct mx_train_evaluation e;
    (void)state;
    struct mx_train *run = run_must_open("stop", false, &stop);
    steps_make(run, 0, 1, reports);
    atomic_store(&stop, true);
    assert_int_equal(mx_train_step(run, &reports[1]), MX_ERR_INTERRUPTED);
    assert_int_equal(mx_train_evaluate(run, &e), MX_ERR_INTERRUPTED);
    assert_int_equal(mx_train_save(run), 0);
    atomic_store(&stop, false);
    steps_make(run, 1, STEPS, reports); /* as if it had never been set */
    mx_train_close(run);
}

/* Refused with these words; nothing is left behind, and another run can be opened. */
static void refused(int rc, int wanted, const char *words, const char *name)
{
    assert_int_equal(rc, wanted);
    if (strstr(mx_error_last()->message, words) == NULL) fail_msg("no '%s' in: %s", words, mx_error_last()->message);
    assert_true(mx_error_last()->hint[0] != '\0');
    assert_false(there(name, ""));
    mx_error_clear();
}

static void wrong_is_refused(void **state)
{
    struct mx_train *run = NULL, *second;
    (void)state;
    refused(mx_train_open(&(struct mx_train_options){0}, &run), MX_ERR_ARGUMENT, "no folder", "wrong");
    assert_null(run);
    refused(mx_train_open(&(struct mx_train_options){.output = "a", .resume = "b"}, &run), MX_ERR_ARGUMENT,
            "contradict", "wrong");
    refused(mx_train_open(&(struct mx_train_options){.config = "a", .resume = "b"}, &run), MX_ERR_ARGUMENT, "config",
            "wrong");
    refused(mx_train_open(&(struct mx_train_options){.output = "a"}, &run), MX_ERR_ARGUMENT, "nothing to train on",
            "wrong");
    refused(run_open("wrong", false, "training.batchsize=4", NULL, &run), MX_ERR_CONFIG, "batchsize", "wrong");
    refused(run_open("wrong", false, "model.size=huge", NULL, &run), MX_ERR_USAGE, "huge", "wrong");
    refused(run_open("wrong", true, NULL, NULL, &run), MX_ERR_NOT_FOUND, "wrong", "wrong");
    struct mx_train *const first = run_must_open("first", false, NULL);
    refused(run_open("wrong", false, NULL, NULL, &second), MX_ERR_ARGUMENT, "is open in this process", "wrong");
    mx_train_close(first);
    mx_train_close(NULL);
    mx_train_close(run_must_open("second", false, NULL)); /* without a step: fine */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(resumed_is_the_same),
        cmocka_unit_test(best_is_kept_in_time),
        cmocka_unit_test(stop_ends_it),
        cmocka_unit_test(wrong_is_refused),
    };
    return cmocka_run_group_tests(tests, group_open, group_close);
}

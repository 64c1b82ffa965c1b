/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * metrics.jsonl: the bytes of its lines, what becomes of metrics without a value, and that the reader gets back what the
 * writer wrote, for every metric of the lists.
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
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "observe/page/page.h"
#include "train/report/metrics.h"

static char folder[] = "/tmp/myxtts-metrics-XXXXXX";

static int setup(void **state)
{
    (void)state;
    return mkdtemp(folder) == NULL;
}

static int teardown(void **state)
{
    (void)state;
    return rmdir(folder);
}

/* A report with a different value everywhere. */
static struct mx_trainer_report full_report(void)
{
    return (struct mx_trainer_report){
        .step = 12,
        .epoch = 3,
        .losses = {.values = {0.5, 0.25, 0.1, 1e-7, 2}, .total = 3.1},
        .rate = 0.001,
        .grad_norm = 1.5,
        .vocoder = {.frames = 512,
                    .losses = {.values = {0.75, 1.5, 2.5}, .total = 1.2},
                    .rate = 0.002,
                    .grad_norm = 0.5,
                    .busy_ns = 21345678,
                    .guard = {.verdict = MX_GUARD_SKIPPED}},
        .utterances = 16,
        .left_out = 1,
        .tokens = 800,
        .frames = 4000,
        .sharing = true,
        .share = 0.375,
        .shared_frames = 1500,
        .step_ns = 412345678,
        .wait_ns = 1999,
        .guard = {.verdict = MX_GUARD_SKIPPED, .loss_z = -0.5, .norm_z = 7.25},
        .flow = {.data_busy = 0.12345,
                 .model_busy = 0.9996,
                 .data_wait = 0.0004,
                 .transfer = 0.0625,
                 .transfer_hidden = 0.05,
                 .cpu_ns = {12345678, 2e6, 1.5e6, 75e6},
                 .blocked_ns = {480.5e6, 1e6, 0.25e6, 3e6},
                 .levels = {.loaded = 4,
                            .prepared = 48,
                            .arrived = 2,
                            .loaded_limit = 8,
                            .prepared_limit = 50,
                            .arrived_limit = 3,
                            .workers_active = 9},
                 .data_bytes = 1288490188,
                 .data_limit_bytes = 8589934592,
                 .model_bytes = 9771050598,
                 .model_limit_bytes = 17179869184,
                 .data_load = {.busy = 0.5, .memory_used_bytes = 5, .memory_bytes = 10},
                 .model_load = {.busy = 0.75, .memory_used_bytes = 7, .memory_bytes = 10},
                 .variation = 0.021,
                 .leak = "batches",
                 .leak_bytes = 4096},
    };
}

/* What was written, with the time at the end of a step as T. The caller frees. */
static char *written(const struct mx_trainer_report *report, const struct mx_trainer_evaluation *evaluation,
                     int64_t steps)
{
    struct mx_metrics *metrics = NULL;
    char *const path = mx_format("%s/metrics.jsonl", folder), *text = NULL;
    size_t bytes = 0;
    unlink(path);
    assert_int_equal(mx_metrics_open(path, 0, &metrics), 0);
    mx_metrics_plan(metrics, steps);
    if (report != NULL) mx_metrics_step(metrics, report);
    if (evaluation != NULL) mx_metrics_evaluation(metrics, 500, evaluation);
    mx_metrics_close(metrics);
    assert_int_equal(mx_file_read(path, 1 << 16, &text, &bytes), 0);
    unlink(path);
    mx_free(path);
    return text;
}

static void time_hide(char *line)
{
    char *const time = strstr(line, "\"time\":");
    assert_non_null(time);
    strcpy(time + strlen("\"time\":"), "T}\n");
}

/* `line` has all members of `wanted`, as they are written there and in that order. Members that were added to the lists
 * since may stand between them. */
static void has_in_order(const char *line, const char *wanted)
{
    const char *at = line;
    char member[128];
    while (*wanted != '\0') {
        const size_t length = strcspn(wanted, ",");
        snprintf(member, sizeof member, "%.*s", (int)length, wanted);
        at = strstr(at, member);
        if (at == NULL) fail_msg("'%s' is not where it should be in %s", member, line);
        at += length;
        if (*at != ',' && *at != '\0') fail_msg("'%s' goes on in %s", member, line);
        wanted += length + (wanted[length] == ',');
    }
    assert_int_equal(*at, '\0');
}

static void lines_have_these_bytes(void **state)
{
    (void)state;
    struct mx_trainer_report report = full_report();
    char *line = written(&report, NULL, 1000);
    time_hide(line);
    has_in_order(
        line,
        "{\"step\":12,\"epoch\":3,\"loss\":3.1,\"mel\":0.5,\"prior\":0.25,\"duration\":0.1,\"pitch\":1e-07,"
        "\"energy\":2.0,\"lr\":0.001,\"grad_norm\":1.5,\"vocoder_loss\":1.2,\"vocoder_magnitude\":0.75,"
        "\"vocoder_pitch\":1.5,\"vocoder_burst\":2.5,\"vocoder_lr\":0.002,\"vocoder_grad_norm\":0.5,\"vocoder_frames\":"
        "512,"
        "\"vocoder_skipped\":true,\"utterances\":16,\"left_out\":1,\"tokens\":800,"
        "\"frames\":4000,\"share\":0.375,\"shared_frames\":1500,\"skipped\":true,\"loss_z\":-0.5,"
        "\"grad_z\":7.25,\"step_ms\":412.345,\"data_wait_ms\":0.001,\"vocoder_ms\":21.345,\"frames_per_s\":9701.0,"
        "\"data_busy\":0.123,\"model_busy\":1.0,\"data_wait\":0.0,\"transfer\":0.063,\"transfer_hidden\":0.05,"
        "\"load_cpu_ms\":12.345,\"load_blocked_ms\":480.5,\"process_cpu_ms\":2.0,\"process_blocked_ms\":1.0,"
        "\"transfer_cpu_ms\":1.5,\"transfer_blocked_ms\":0.25,\"train_cpu_ms\":75.0,\"train_blocked_ms\":3.0,\"load_"
        "workers\":9,\"loaded\":4,\"prepared\":48,\"arrived\":2,"
        "\"loaded_limit\":8,\"prepared_limit\":50,"
        "\"arrived_limit\":3,\"data_bytes\":1288490188,\"model_bytes\":9771050598,"
        "\"data_limit_bytes\":8589934592,\"model_limit_bytes\":17179869184,\"variation\":0.021,"
        "\"data_driver_busy\":0.5,\"data_driver_bytes\":5,\"model_driver_busy\":0.75,"
        "\"model_driver_bytes\":7,\"leak\":\"batches\",\"leak_bytes\":4096,\"steps\":1000,\"time\":T}\n");
    mx_free(line);
    /* What is optional is not there; what has no value is null. */
    report.sharing = false;
    report.vocoder.frames = 0;
    report.flow.leak[0] = '\0';
    report.flow.data_load.memory_bytes = report.flow.model_load.memory_bytes = 0;
    report.losses.total = report.losses.values[MX_LOSS_MEL] = NAN;
    report.grad_norm = INFINITY;
    report.guard.verdict = MX_GUARD_FINE;
    line = written(&report, NULL, 0);
    time_hide(line);
    assert_non_null(strstr(line, "\"loss\":null,\"mel\":null,\"prior\":0.25,"));
    assert_non_null(strstr(line, "\"grad_norm\":null,"));
    assert_non_null(strstr(line, "\"frames\":4000,\"skipped\":false,"));
    assert_non_null(strstr(line, "\"variation\":0.021,\"time\":T}\n"));
    assert_null(strstr(line, "vocoder"));
    mx_free(line);
    /* A vocoder alone has no losses of an acoustic network. */
    report.vocoder_alone = true;
    report.losses.total = 1.25;
    line = written(&report, NULL, 0);
    assert_non_null(strstr(line, "\"loss\":1.25,\"lr\":0.001,"));
    mx_free(line);
    const struct mx_trainer_evaluation evaluation = {.utterances = 16,
                                                     .losses = {.values = {0.5, 0.25, 0.1, 0.2, 2}, .total = 3.05},
                                                     .spoken = 15,
                                                     .mel_db = 3.5,
                                                     .duration_error = 0.1,
                                                     .pitch_error = NAN};
    line = written(NULL, &evaluation, 1000);
    has_in_order(line, "{\"step\":500,\"evaluation\":{\"utterances\":16,\"loss\":3.05,\"mel\":0.5,\"prior\":0.25,"
                       "\"duration\":0.1,\"pitch\":0.2,\"energy\":2.0,\"spoken\":15,\"mel_db\":3.5,"
                       "\"duration_error\":0.1,\"pitch_semitones\":null}}\n");
    mx_free(line);
}

/* Every metric that has a value comes back, as exactly as its type is written. */
static void what_is_written_is_read(void **state)
{
    (void)state;
    const struct mx_trainer_report report = full_report();
    const struct mx_step_metrics wanted = mx_step_metrics_of(&report);
    struct mx_metrics_record record;
    char *line = written(&report, NULL, 1000);
    assert_true(mx_metrics_read(line, strlen(line) - 1, &record));
    assert_false(record.is_evaluation);
    assert_int_equal(record.leak_length, 7);
    assert_memory_equal(record.leak, "batches", 7);
    for (int i = 0; i < MX_STEP_METRICS; i++) {
        const struct mx_metric *const m = &mx_step_metric_table[i];
        const double got = record.step.values[i];
        const double near = m->type == MX_METRIC_SHARE   ? 0.000511
                            : m->type == MX_METRIC_SPEED ? 0.5
                            : m->type == MX_METRIC_MS    ? 0.001
                                                         : 0;
        if (wanted.values[i] == 0) fail_msg("%s has no value, but the report has all", m->key);
        if (i == MX_STEP_METRIC_AT(steps))
            assert_true(got == 1000);
        else if (i == MX_STEP_METRIC_AT(time))
            assert_true(got > 1e9);
        else if (!(fabs(got - wanted.values[i]) <= near))
            fail_msg("%s is %g and was %g", m->key, got, wanted.values[i]);
    }
    mx_free(line);
    const struct mx_trainer_evaluation evaluation = {.utterances = 16,
                                                     .losses = {.values = {0.5, 0.25, 0.1, 0.2, 2}, .total = 3.05},
                                                     .spoken = 15,
                                                     .vocoder_frames = 640,
                                                     .vocoder = {.values = {0.7, 1.4, 2.1}, .total = 1.1},
                                                     .mel_db = 3.5,
                                                     .duration_error = 0.1,
                                                     .pitch_error = 1.25};
    const struct mx_evaluation_metrics told = mx_evaluation_metrics_of(500, &evaluation);
    line = written(NULL, &evaluation, 1000);
    assert_true(mx_metrics_read(line, strlen(line) - 1, &record));
    assert_true(record.is_evaluation && record.leak == NULL);
    for (int i = 0; i < MX_EVALUATION_METRICS; i++) {
        assert_true(record.evaluation_has[i] && told.values[i] != 0);
        if (record.evaluation.values[i] != told.values[i])
            fail_msg("%s is %g and was %g", mx_evaluation_metric_table[i].key, record.evaluation.values[i],
                     told.values[i]);
    }
    mx_free(line);
}

/* No two metrics share a key or a tag: one of them would be lost. */
static void names_are_unique_and_curves_have_labels(void **state)
{
    (void)state;
    for (int i = 0; i < MX_STEP_METRICS; i++)
        for (int k = 0; k < i; k++) {
            const struct mx_metric *const a = &mx_step_metric_table[i], *const b = &mx_step_metric_table[k];
            if (strcmp(a->key, b->key) == 0) fail_msg("two metrics of a step are called %s", a->key);
            if (a->tag != NULL && b->tag != NULL && strcmp(a->tag, b->tag) == 0)
                fail_msg("two metrics of a step have the tag %s", a->tag);
        }
    for (int i = 0; i < MX_EVALUATION_METRICS; i++)
        for (int k = 0; k < i; k++)
            if (strcmp(mx_evaluation_metric_table[i].key, mx_evaluation_metric_table[k].key) == 0)
                fail_msg("two metrics of an evaluation are called %s", mx_evaluation_metric_table[i].key);
    for (int i = 0; i < MX_STEP_METRICS + MX_EVALUATION_METRICS; i++) {
        const struct mx_metric *const m =
            i < MX_STEP_METRICS ? &mx_step_metric_table[i] : &mx_evaluation_metric_table[i - MX_STEP_METRICS];
        const struct mx_page_word *word = mx_page_words;
        while (word->key != NULL && strcmp(word->key, m->key) != 0) word++;
        if (m->chart != NULL && word->key == NULL) fail_msg("the curve of %s has no label", m->key);
    }
    assert_string_equal(mx_step_metric_table[MX_STEP_METRIC_AT(lr)].key, "lr");
    assert_string_equal(mx_evaluation_metric_table[MX_EVALUATION_METRIC_AT(spoken)].key, "spoken");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_have_these_bytes),
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(names_are_unique_and_curves_have_labels),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * myxtts profile: shows where the time of training steps goes, which stage delays the others, and what would help.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "cli/command.h"
#include "cli/headings.h"
#include "cli/options/setting_flags.h"
#include "cli/options/shared_options.h"
#include "cli/profile/profile.h"
#include "myxtts/error.h"
#include "pipeline/tune.h"
#include "run/devices/device_pair.h"
#include "run/devices/memory_plan.h"
#include "run/interrupt.h"
#include "run/ranks.h"

#define STEPS_DEFAULT   100
#define STEPS_LEAST     2 /* one step does not vary */
#define STEPS_MOST      100000
#define WARMUP_PLAIN    8 /* steps that do not count where nothing is tuned: caches and rings fill */
#define CORPUS_BATCHES  8
#define COMMAND_PROFILE "myxtts profile"

struct values {
    int64_t num_steps, warmup_steps;
    const char *json, *trace;
    struct mx_option_settings flags;
    const char *config;
    struct mx_option_list set;
    bool equal_lengths, compare;
};

static const struct mx_option options[] = {
    {MX_OPTION_SETTING(struct values, flags, data.train_data), .fallback = "a synthetic corpus, removed afterwards"},
    {MX_OPTION_FLAG(
        struct values, equal_lengths, "equal-lengths",
        "Make all recordings of the synthetic corpus the same length, so that every batch is the same work.")},
    {MX_OPTION_SETTING(struct values, flags, model.size)},
    {MX_OPTION_SETTING(struct values, flags, training.part)},
    {MX_OPTION_SETTING(struct values, flags, training.batch_size)},
    {MX_OPTION_SETTING(struct values, flags, training.batch_per_rank)},
    {MX_OPTION_SETTING(struct values, flags, training.rank_timeout)},
    {MX_OPTION_INT(
        struct values, num_steps, "num-steps", "N", STEPS_LEAST, STEPS_MOST, "100",
        "Number of steps to measure. With --compare: for each mode, in nine rounds of at least four steps.")},
    {MX_OPTION_INT(struct values, warmup_steps, "warmup-steps", "N", 1, STEPS_MOST,
                   "32 if workers and buffers are auto-tuned, otherwise 8",
                   "Number of steps before measuring starts.")},
    {MX_OPTION_SETTING(struct values, flags, training.seed)},
    {MX_OPTION_SETTING(struct values, flags, data.augment)},
    {MX_OPTION_FLAG(struct values, compare, "compare",
                    "Run the same work in turns on one device (unbuffered; buffers of 25, 50 and 100) and on two "
                    "devices (without and with overlap, and with shared training), and print a table.")},
    {MX_OPTION_STRING(struct values, json, "json", "FILE", NULL, "Write all figures to this file as JSON.")},
    {MX_OPTION_STRING(struct values, trace, "trace", "FILE", NULL,
                      "Write a timeline of all stages to this file, for chrome://tracing or ui.perfetto.dev.")},
    MX_OPTION_FLOW(struct values),
    {MX_OPTION_SETTING(struct values, flags, training.mixed_precision)},
    MX_SETTINGS_OPTIONS(struct values),
};

static const struct mx_example examples[] = {
    {"myxtts profile --batch-size 16 --num-steps 100 --data-gpu 0 --model-gpu 1",
     "measures both devices with a synthetic corpus"},
    {"myxtts profile --train-data my-corpus --augment --json profile.json --trace trace.json",
     "measures your corpus on the best available device and saves all figures and a trace"},
    {"myxtts profile --backend cpu --cpu-devices 2 --data-gpu 0 --model-gpu 1 --compare",
     "compares all modes on two halves of the CPU cores"},
};

/* ---- settings ---- */

static int flags_apply(const struct values *values, struct mx_settings *settings)
{
    int rc = 0;
    MX_TRY(mx_setting_flags_apply(&values->flags, settings));
    mx_settings_resolve(settings);
    settings->training.samples = 0; /* nothing is spoken, evaluated or saved: steps are all there is */
    settings->training.epochs = STEPS_MOST * 4;
    settings->training.steps = 0;
out:
    return rc;
}

/* Where there is no corpus, makes one; it counts as read like any other. */
static int corpus_create(const struct values *values, struct mx_settings *settings, struct mx_profile_corpus *corpus)
{
    int rc = 0;
    const int64_t batch = settings->training.batch_size > 0 ? settings->training.batch_size : 16;
    const int64_t rows = CORPUS_BATCHES * batch * settings->training.grad_accum;
    if (settings->data.train_data[0] != '\0') {
        if (values->equal_lengths)
            MX_RAISE(MX_ERR_USAGE, "leave '--train-data' out, or '--equal-lengths'",
                     "'--equal-lengths' cannot change the recordings of a given corpus");
        return 0;
    }
    mx_info("no '--train-data': making up a corpus of %lld recordings, which is removed at the end", (long long)rows);
    MX_TRY(mx_profile_corpus_write(corpus, rows, values->equal_lengths, (uint64_t)settings->training.seed));
    MX_TRY(mx_settings_put(settings, "data.train_data", corpus->folder));
    settings->data.tokens = MX_TOKENS_CHARS; /* syllables need no dictionary */
    settings->data.validation_fraction = 0;  /* all of them are trained on: whole batches only */
out:
    return rc;
}

/* ---- running ---- */

static int report_write(const struct values *values, const struct mx_profile_work *work,
                        const struct mx_profile *profile, const struct mx_profile_comparison *comparison)
{
    int rc = 0;
    struct mx_string text = {0}, json = {0};
    MX_TRY(mx_profile_text(work, profile, &text));
    if (comparison != NULL) MX_TRY(mx_profile_compare_text(comparison, &text));
    fputs(text.data, stdout);
    if (values->json != NULL) {
        MX_TRY(mx_profile_json(work, profile, comparison, &json));
        MX_TRY(mx_file_write_atomic(values->json, json.data, json.length));
    }
    if (values->json != NULL) printf("\nall figures: %s\n", values->json);
    if (values->trace != NULL) printf("%strace: %s\n", values->json != NULL ? "" : "\n", values->trace);
out:
    mx_string_release(&text);
    mx_string_release(&json);
    return rc;
}

/* With settings read: opens, measures, reports. */
static int profile(const struct values *values, struct mx_job *job, bool synthetic, const atomic_bool *stop)
{
    int rc = 0;
    struct mx_profile result;
    struct mx_profile_comparison comparison;
    struct mx_job single = {0};
    struct mx_profile_request request = {.warmup = values->warmup_steps,
                                         .steps = values->num_steps > 0 ? values->num_steps : STEPS_DEFAULT,
                                         .trace = values->trace,
                                         .stop = stop,
                                         .synthetic = synthetic};
    const struct mx_profile_work work = {.job = job, .synthetic = synthetic};
    if (values->compare && job->dist != NULL)
        MX_RAISE(MX_ERR_USAGE, "measure ranks without '--compare', each number of them in a call of its own",
                 "'--compare' compares the modes of one process");
    if (values->compare && request.steps < MX_PROFILE_ROUNDS * MX_PROFILE_LEAST) {
        MX_FAIL(MX_ERR_USAGE, NULL, "%" PRId64 " steps are too few to compare modes: %d rounds take at least %d each",
                request.steps, MX_PROFILE_ROUNDS, MX_PROFILE_LEAST);
        MX_TRY(mx_error_hint("give '--num-steps %d' or more", MX_PROFILE_ROUNDS * MX_PROFILE_LEAST));
    }
    MX_TRY(mx_profile_job_open(job));
    MX_TRY(mx_normaliser_measure(job->dataset, job->recipe, job->devices.data, &job->options.normaliser));
    MX_TRY(mx_job_ranks_normaliser(job));
    MX_TRY(mx_job_ranks_sums(job));
    const bool tuned = job->options.flow.auto_tune && !job->options.flow.sequential && !values->compare;
    if (request.warmup == 0) request.warmup = tuned ? (int64_t)mx_tune_steps[MX_TUNE_ROUNDS - 1] : WARMUP_PLAIN;
    if (values->compare && !mx_device_pair_multi(&job->devices))
        MX_RAISE(MX_ERR_USAGE, "name two: '--data-gpu 0 --model-gpu 1', with '--backend cpu --cpu-devices 2' on a CPU",
                 "'--compare' compares one device with two, and there is only %s", mx_device_name(job->devices.model));
    mx_device_pair_log(&job->devices, &job->settings, job->options.flow.buffer);
    if (values->compare) request.steps = (request.steps + MX_PROFILE_ROUNDS - 1) / MX_PROFILE_ROUNDS;
    const int64_t runs = values->compare ? MX_PROFILE_MODES * MX_PROFILE_ROUNDS : 1;
    MX_TRY(mx_progress_start(
        &(struct mx_progress_options){
            .title = "Profiling", .unit = "steps", .total = (uint64_t)(runs * (request.warmup + request.steps))},
        &request.progress));
    if (values->compare) {
        MX_TRY(mx_profile_single_open(job, &single));
        MX_TRY(mx_profile_compare(&single, job, &request, &comparison, &result));
    } else {
        MX_TRY(mx_profile_run(job, &request, &result));
    }
    mx_progress_finish(request.progress);
    request.progress = NULL;
    if (mx_job_ranks_first(job)) MX_TRY(report_write(values, &work, &result, values->compare ? &comparison : NULL));
out:
    mx_progress_finish(request.progress);
    mx_job_close(&single);
    return rc;
}

static int run(const void *given, const struct mx_option_list *operands)
{
    const struct values *const values = given;
    struct mx_job job = {
        .request = {
            .command = mx_command_line(false), .accum = "--set training.grad_accum=", .quieten = mx_command_log_only}};
    struct mx_profile_corpus corpus = {0};
    struct mx_interrupt interrupt;
    (void)operands; /* the page takes none, so the parser refused them */
    int rc = mx_settings_read(values->config, values->set.items, values->set.count, &job.settings);
    if (rc < 0) return rc;
    const atomic_bool *const stop = mx_interrupt_watch(&interrupt, false); /* the made-up corpus must be removed */
    MX_TRY(flags_apply(values, &job.settings));
    MX_TRY(mx_job_ranks_open(&job, MX_PROFILE_SUMS));
    MX_TRY(corpus_create(values, &job.settings, &corpus));
    MX_TRY(profile(values, &job, corpus.folder[0] != '\0', stop));
out:
    if (rc < 0 && job.dist != NULL) mx_profile_corpus_remove(&corpus); /* the next call does not return */
    rc = mx_dist_fail(job.dist, rc);
    mx_job_close(&job);
    mx_job_ranks_close(&job);
    mx_profile_corpus_remove(&corpus);
    mx_interrupt_restore(&interrupt);
    mx_config_release(&mx_settings_schema, &job.settings);
    return rc;
}

const struct mx_command mx_command_profile = {
    .name = "profile",
    .page =
        {
            .command = COMMAND_PROFILE,
            .summary = "measure where training spends its time, and suggest what would help",
            .description =
                "Trains a new network for a number of steps through the same pipeline as 'myxtts train', without a run "
                "folder, and reports the time of each stage, idle gaps, the load of both devices, memory, queues and "
                "bottlenecks, with recommendations based on these figures.\nRecordings are decoded each time; nothing "
                "is cached. Without '--train-data' a synthetic corpus of hums of realistic lengths is used.",
            MX_PAGE_EXAMPLES(examples),
            .headings = mx_headings_profile,
        },
    MX_COMMAND_WORK(options, struct values, run),
};

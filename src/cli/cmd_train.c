/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * myxtts train: trains a voice, continues a run, or shows what that would need.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "cli/command.h"
#include "cli/headings.h"
#include "cli/options/setting_flags.h"
#include "cli/options/shared_options.h"
#include "cli/options/token_option.h"
#include "myxtts/error.h"
#include "run/corpus/corpus.h"
#include "run/devices/memory_plan.h"
#include "run/interrupt.h"
#include "run/job.h"
#include "run/length.h"
#include "run/observer/dashboard.h"
#include "run/observer/observer.h"
#include "run/ranks.h"

struct values {
    /* of struct mx_job_request */
    const char *output, *resume, *init_from;
    bool partial, dry_run;
    const char *dashboard_token, *dashboard_token_file;
    struct mx_option_settings flags;
    const char *config;
    struct mx_option_list set;
};

#define STRING(member, label, what, text, sentence)                                                                    \
    {                                                                                                                  \
        MX_OPTION_STRING(struct values, member, label, what, text, sentence)                                           \
    }

/* Every setting that has a flag has it here. */
static const struct mx_option options[] = {
    {MX_OPTION_STRING(struct values, output, "output", "DIR", NULL, "Folder for the new run. Required for a new run."),
     .letter = 'o'},
    STRING(resume, "resume", "RUN", NULL,
           "Continue the run in this folder exactly from its newest checkpoint: weights, optimizer, order of the data, "
           "settings. Settings given on the command line replace those of the run, except the size of the network."),
    STRING(init_from, "init-from", "FILE", NULL,
           "Start a new run with the network and weights of this checkpoint, run folder or installed voice ('base'); "
           "everything else starts fresh."),
    {MX_OPTION_FLAG(struct values, partial, "partial",
                    "With --init-from: load the tensors that fit and initialise the others.")},
    {MX_OPTION_SETTING(struct values, flags, data)},
    {MX_OPTION_SETTING(struct values, flags, model)},
    {MX_OPTION_SETTING(struct values, flags, vocoder)},
    {MX_OPTION_SETTING(struct values, flags, training)},
    STRING(
        dashboard_token, "dashboard-token", "TOKEN", "$MYXTTS_DASHBOARD_TOKEN",
        "Token that a browser must send, as ?token=TOKEN, to see the run. Required on addresses other than loopback. "
        "Other users of the machine see it in the list of processes: prefer '--dashboard-token-file'."),
    STRING(dashboard_token_file, "dashboard-token-file", "FILE", NULL,
           "Read the token of the dashboard from the first line of this file."),
    {MX_OPTION_SETTING(struct values, flags, pipeline)},
    {MX_OPTION_SETTING(struct values, flags, device)},
    {MX_OPTION_FLAG(struct values, dry_run, "dry-run",
                    "Print the sizes of the network and the memory that training would need, then exit; the exit code "
                    "is 3 if it does not fit, and 2 if too many rows are rejected.")},
    MX_SETTINGS_OPTIONS(struct values),
};

static const struct mx_example examples[] = {
    {"myxtts train --train-data my-corpus --output my-run", "trains the smallest network for 100 epochs"},
    {"myxtts train --train-data my-corpus --model-size small --dry-run", "shows the memory that this would need"},
    {"myxtts train --train-data my-corpus --output my-run --data-gpu 0 --model-gpu 1",
     "one GPU prepares batches, the other trains"},
    {"myxtts train --train-data my-corpus --output my-run --backend cpu --cpu-devices 2 --data-gpu 0 --model-gpu 1",
     "the same on two halves of the CPU cores"},
    {"mpirun -n 4 myxtts train --train-data my-corpus --output my-run",
     "four processes share each step; each uses its own device, or a part of the cores"},
    {"myxtts train --resume my-run", "continues exactly where an interrupted run stopped"},
    {"myxtts train --train-data other-corpus --init-from my-run --lr 2e-4 --output other-run",
     "fine-tunes a trained voice on other recordings"},
};

/* ---- settings ---- */

static int settings_read(const struct values *values, struct mx_settings *settings)
{
    int rc = values->resume != NULL ? mx_settings_resume(values->resume, values->set.items, values->set.count, settings)
                                    : mx_settings_read(values->config, values->set.items, values->set.count, settings);
    if (rc < 0) return rc;
    MX_TRY(mx_setting_flags_apply(&values->flags, settings));
    MX_TRY(mx_settings_complete(settings));
out:
    if (rc < 0) mx_config_release(&mx_settings_schema, settings);
    return rc;
}

/* The line that was given with a folder for the run: one of the corpus's name that is not there yet. */
static int output_suggest(const struct values *v)
{
    struct mx_string text = {0};
    char *name = NULL;
    const char *const given = mx_setting_flags_given(&v->flags, "data.train_data");
    const char *const corpus = given != NULL ? given : "my";
    size_t end = strlen(corpus);
    while (end > 1 && corpus[end - 1] == '/') end--;
    size_t begin = end;
    while (begin > 0 && corpus[begin - 1] != '/') begin--;
    const size_t stem = begin < end && corpus[begin] != '.' ? strcspn(corpus + begin, "./") : 0;
    const char *const part = stem > 0 ? corpus + begin : "my";
    MX_FAIL(MX_ERR_USAGE, NULL, "'--output DIR' is missing");
    for (int i = 1; name == NULL; i++) {
        char number[16] = "";
        if (i > 1) snprintf(number, sizeof number, "-%d", i);
        name = mx_format("%.*s-run%s", (int)(stem > 0 ? stem : 2), part, number);
        if (name == NULL) return MX_ERR_NO_MEMORY;
        if (access(name, F_OK) != 0) break;
        mx_free(name);
        name = NULL;
    }
    mx_string_append(&text, "%s --output ", mx_command_line(true));
    mx_string_append_shell(&text, name);
    if (text.failure == 0 && (given != NULL || v->config != NULL || v->set.count > 0))
        mx_error_hint("name the folder of the run: '%s'", text.data);
    else
        mx_error_hint("give '--train-data DIR', the recordings, and '--output DIR', the folder of the run");
    mx_string_release(&text);
    mx_free(name);
    return MX_ERR_USAGE;
}

static int usage_check(const struct values *v)
{
    const char *const hint = "see 'myxtts train --help'";
    if (v->resume != NULL && v->output != NULL)
        return MX_FAIL(MX_ERR_USAGE, hint, "'--resume' continues in its own folder: '--output' contradicts it");
    if (v->resume != NULL && v->init_from != NULL)
        return MX_FAIL(MX_ERR_USAGE, "'--resume' restores everything, '--init-from' starts a new run with old weights",
                       "'--resume' and '--init-from' contradict each other");
    if (v->resume != NULL && v->config != NULL)
        return MX_FAIL(MX_ERR_USAGE, "change single settings with '--set'",
                       "'--resume' takes the settings of the run: '--config' contradicts it");
    if (v->partial && v->init_from == NULL)
        return MX_FAIL(MX_ERR_USAGE, hint, "'--partial' belongs to '--init-from', which is not given");
    if (v->resume == NULL && v->output == NULL && !v->dry_run) return output_suggest(v);
    return 0;
}

/* ---- the dry run ---- */

static int sizes_print(const struct mx_job *job)
{
    int rc = 0;
    const struct mx_model_config *const chosen = &job->options.model;
    printf("Sizes, with %d tokens and %d language%s:\n", (int)chosen->vocabulary, (int)chosen->languages,
           chosen->languages == 1 ? "" : "s");
    printf("    %-8s %6s %6s %8s %8s %7s %12s\n", "", "width", "heads", "encoder", "decoder", "hidden", "parameters");
    for (int i = 0; i <= mx_model_size_count(); i++) {
        struct mx_model_config config = *chosen;
        struct mx_parameters *table;
        const bool own = i == mx_model_size_count();
        if (!own) config.size = *mx_model_size_at(i);
        MX_TRY(mx_model_parameters_create(&config, NULL, &table));
        printf("%s %-8s %6d %6d %8d %8d %7d %12" PRId64 "\n", own ? "-->" : "   ", own ? "chosen" : config.size.name,
               (int)config.size.width, (int)config.size.heads, (int)config.size.encoder_blocks,
               (int)config.size.decoder_blocks, (int)config.size.hidden, table->elements);
        mx_parameters_destroy(table);
    }
out:
    return rc;
}

/* The same of the vocoder. */
static int vocoder_sizes_print(const struct mx_job *job)
{
    int rc = 0;
    const struct mx_trainer_vocoder *const v = &job->options.vocoder;
    printf("Vocoder:\n    %-8s %6s %6s %7s %12s\n", "", "width", "blocks", "hidden", "parameters");
    for (int i = 0; i <= mx_vocoder_size_count(); i++) {
        const bool own = i == mx_vocoder_size_count();
        const struct mx_vocoder_size *const size = own ? &v->size : mx_vocoder_size_at(i);
        const struct mx_vocoder_config config = mx_vocoder_config_default(size, 0, 1);
        struct mx_parameters *table;
        MX_TRY(mx_vocoder_parameters_create(&config, &table));
        printf("%s %-8s %6d %6d %7d %12" PRId64 "\n", own ? "-->" : "   ", own ? "chosen" : size->name,
               (int)size->width, (int)size->blocks, (int)size->hidden, table->elements);
        mx_parameters_destroy(table);
    }
    if (v->ready)
        printf("    it is not trained\n");
    else
        printf("    %d segments of at most %d frames a batch\n", (int)v->segments.count, (int)v->segments.frames);
out:
    return rc;
}

static int plan_print(const struct mx_job *job)
{
    struct mx_string table = {0};
    const struct mx_trainer_memory_plan *const p = &job->plan;
    const struct mx_model_capacity *const c = &p->capacity.model;
    const bool alone = job->options.vocoder_alone;
    char batches[MX_JOB_BATCH_BYTES];
    int rc = 0;
    if (!alone) MX_TRY(sizes_print(job));
    if (!alone && job->options.with_vocoder) printf("\n");
    if (job->options.with_vocoder) MX_TRY(vocoder_sizes_print(job));
    printf("\nData: %" PRIu32 " utterances to train on, %" PRIu32 " for validation\n", p->utterances, p->validation);
    printf("    %s; %" PRId64 " steps in all\n", mx_job_batch_text(job, batches), job->steps);
    if (!alone)
        printf("    the largest batch: %d tokens, %d mel frames, %d reference frames\n", (int)c->tokens, (int)c->frames,
               (int)c->references);
    MX_TRY(mx_job_memory_text(job, &table));
    printf("\n%s", table.data);
out:
    mx_string_release(&table);
    return rc;
}

/* ---- running ---- */

static int run(const void *given, const struct mx_option_list *operands)
{
    const struct values *const values = given;
    struct mx_job job = {.request = {.command = mx_command_line(false),
                                     .quieten = mx_command_log_only,
                                     .signals = true,
                                     .output = values->output,
                                     .resume = values->resume,
                                     .init_from = values->init_from,
                                     .partial = values->partial,
                                     .size_said = mx_setting_flags_given(&values->flags, "model.size") != NULL ||
                                                  mx_settings_size_said(values->set.items, values->set.count)}};
    struct mx_dashboard *dashboard = NULL;
    char *token = NULL;
    (void)operands; /* the page takes none, so the parser refused them */
    int rc = usage_check(values);
    if (rc >= 0 && !values->dry_run) rc = mx_log_hold(); /* for log.txt */
    if (rc < 0) return rc;
    mx_interrupt_pipe_defer();
    rc = settings_read(values, &job.settings);
    if (rc < 0) return rc;
    MX_TRY(mx_job_ranks_open(&job, 0));
    if (mx_job_ranks_first(&job)) /* it has the dashboard; other machines need not have the file */
        MX_TRY(mx_token_option_read("dashboard-token", values->dashboard_token, values->dashboard_token_file, NULL,
                                    &token));
    MX_TRY(mx_job_open(&job, values->dry_run));
    if (values->dry_run) {
        if (mx_job_ranks_first(&job)) MX_TRY(plan_print(&job));
        MX_TRY(mx_job_rejects(&job));
        MX_TRY(mx_job_memory_check(&job));
        goto out;
    }
    if (mx_job_length_done(&job)) {
        if (!mx_job_ranks_first(&job)) goto out;
        mx_job_observer_settle(&job);
        printf("%s: step %" PRId64 " of %" PRId64 "\n", job.run, job.steps, job.steps);
        goto out;
    }
    MX_TRY(mx_job_dashboard_open(&job, token, &dashboard));
    MX_TRY(mx_job_start(&job));
    if (!mx_job_ranks_first(&job)) {
        MX_TRY(mx_job_ranks_follow(&job));
        goto out;
    }
    MX_TRY(mx_job_run(&job));
    printf("%s: step %" PRId64 " of %" PRId64 "\n", job.run, mx_trainer_state(job.trainer)->step, job.steps);
out:
    if (rc < 0) rc = mx_job_failed(&job, rc);
    rc = mx_job_ranks_fail(&job, rc);
    const struct mx_error failure = *mx_error_last(); /* streams that failed say so again when they end */
    mx_dashboard_close(dashboard);
    mx_free(token);
    mx_job_close(&job);
    mx_job_ranks_close(&job);
    mx_config_release(&mx_settings_schema, &job.settings);
    return rc < 0 ? mx_error_restore(&failure) : rc;
}

const struct mx_command mx_command_train = {
    .name = "train",
    .page =
        {
            .command = "myxtts train",
            .summary = "train a voice from recordings",
            .description =
                "Trains a network to speak like the recordings of a corpus. A new run needs a corpus ('--train-data') "
                "and a folder ('--output'). The run folder gets the settings (config.yaml), log.txt, metrics.jsonl "
                "with one object per step, run.json, checkpoints/, samples/, tensorboard/ and, at the end, report.html "
                "('myxtts report' writes it again at any time).\nCtrl-C, SIGTERM or SIGHUP stops training after the "
                "current step and saves a checkpoint; the exit code is 4. '--resume' then continues with bit-identical "
                "results. A step whose loss or gradient is not finite never changes the weights.",
            MX_PAGE_EXAMPLES(examples),
            .headings = mx_headings_train,
            .former = mx_legacy_train,
        },
    MX_COMMAND_WORK(options, struct values, run),
};

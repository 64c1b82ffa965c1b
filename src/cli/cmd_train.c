/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * myxtts train: trains a voice, or goes on training one, or tells what that would take.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "cli/command.h"
#include "cli/pipeline_options.h"
#include "cli/shared_options.h"
#include "myxtts/error.h"
#include "run/dashboard.h"
#include "run/interrupt.h"
#include "run/job.h"
#include "run/ranks.h"

struct values {
    /* of struct mx_job_request */
    const char *output, *resume, *init_from;
    bool partial;
    /* settings under shorter names: see flags[] */
    const char *train_data, *val_data, *model_size, *batch_size, *epochs, *steps, *max_minutes, *lr, *grad_accum;
    const char *grad_clip, *level, *seed, *save_every, *eval_every, *tensorboard, *dashboard;
    const char *dashboard_token;
    struct mx_pipeline_flags pipeline;
    const char *config;
    struct mx_option_list set;
    bool allow_rejects, dry_run, mixed_precision, augment, batch_per_rank;
    const char *rank_timeout;
};

static const char *const level_names[] = {
#define X(identifier, name, ...) name,
    MX_LEVEL_LIST(X)
#undef X
        NULL};

#define STRING(member, label, what, text, sentence)                                                                    \
    {                                                                                                                  \
        MX_OPTION_STRING(struct values, member, label, what, text, sentence)                                           \
    }

static const struct mx_option options[] = {
    STRING(train_data, "train-data", "DIR", NULL,
           "Corpus folder, manifest file or packed corpus to train on. Must be given for a new run."),
    STRING(val_data, "val-data", "DIR", "5 % of the rows", "Folder or manifest file of the validation rows."),
    {MX_OPTION_STRING(struct values, output, "output", "DIR", NULL, "Folder of the new run. Must be given for one."),
     .letter = 'o'},
    STRING(
        resume, "resume", "RUN", NULL,
        "Go on with the run in this folder exactly where its newest checkpoint was: weights, optimizer, order of "
        "the data, settings. Settings given here as well replace those of the run, but for the size of the network."),
    STRING(
        init_from, "init-from", "FILE", NULL,
        "Begin a new run with the network and the weights of this checkpoint (or run folder); everything else is new."),
    {MX_OPTION_FLAG(struct values, partial, "partial",
                    "With --init-from: take the tensors that fit and begin anew with the others.")},
    STRING(model_size, "model-size", "NAME", "tiny", "tiny, small, normal, base or big; see --dry-run."),
    STRING(batch_size, "batch-size", "N", "16", "Utterances of a batch."),
    {MX_RANKS_OPTION_BATCH(struct values)},
    STRING(grad_accum, "grad-accum", "N", "1", "Batches whose gradients are added up for one step."),
    STRING(epochs, "epochs", "N", "100", "How often every recording is used."),
    STRING(steps, "steps", "N", "by the epochs", "End after so many steps."),
    STRING(max_minutes, "max-minutes", "M", "no limit", "End after so much time, saved."),
    STRING(lr, "lr", "RATE", "of the level", "Highest learning rate."),
    STRING(grad_clip, "grad-clip", "NORM", "of the level", "Longer gradients are shortened to this; 0: never."),
    {MX_OPTION_CHOICE(struct values, level, "optimization-level", "NAME", level_names, "enhanced",
                      "A name for learning rate, warm-up, cycles, clipping, decay and dropout together.")},
    STRING(seed, "seed", "N", "1", "Everything random follows from it."),
    STRING(save_every, "save-every", "N", "500", "Steps between checkpoints."),
    STRING(eval_every, "eval-every", "N", "500", "Steps between evaluations; 0: only at the end."),
    {MX_OPTION_CHOICE(struct values, tensorboard, "tensorboard", "on|off", mx_pipeline_switch, "on",
                      "Write event files for TensorBoard into tensorboard/ of the run folder.")},
    MX_DASHBOARD_OPTIONS(struct values),
    {MX_OPTION_FLAG(struct values, allow_rejects, "allow-rejects",
                    "Train on a folder even if more than 5 % of its rows cannot be used.")},
    {MX_OPTION_FLAG(struct values, augment, "augment",
                    "Change each recording a little in each epoch; 'myxtts config' shows how, under data.augment.")},
    MX_PIPELINE_OPTIONS(struct values),
    {MX_OPTION_FLAG(struct values, mixed_precision, "mixed-precision",
                    "Multiply bf16 numbers with fp32 sums and weights: takes less memory, and less time with AMX or "
                    "on a GPU. On devices that 'myxtts devices' shows with bf16; refused on others.")},
    {MX_RANKS_OPTION_TIMEOUT(struct values)},
    {MX_OPTION_FLAG(struct values, dry_run, "dry-run",
                    "Print the sizes of the network and the memory that training would take, and end; with exit code 3 "
                    "if it does not fit.")},
    MX_SETTINGS_OPTIONS(struct values),
};

/* Flags that are settings under a shorter name. */
static const struct {
    const char *flag, *key;
    size_t offset;
} flags[] = {
    {"train-data", "data.train_data", offsetof(struct values, train_data)},
    {"val-data", "data.val_data", offsetof(struct values, val_data)},
    {"model-size", "model.size", offsetof(struct values, model_size)},
    {"batch-size", "training.batch_size", offsetof(struct values, batch_size)},
    {"grad-accum", "training.grad_accum", offsetof(struct values, grad_accum)},
    {"epochs", "training.epochs", offsetof(struct values, epochs)},
    {"steps", "training.steps", offsetof(struct values, steps)},
    {"max-minutes", "training.max_minutes", offsetof(struct values, max_minutes)},
    {"lr", "training.learning_rate", offsetof(struct values, lr)},
    {"grad-clip", "training.grad_clip", offsetof(struct values, grad_clip)},
    {"optimization-level", "training.optimization_level", offsetof(struct values, level)},
    {"seed", "training.seed", offsetof(struct values, seed)},
    {"save-every", "training.save_every", offsetof(struct values, save_every)},
    {"eval-every", "training.eval_every", offsetof(struct values, eval_every)},
    {"dashboard", "training.dashboard", offsetof(struct values, dashboard)},
    {"rank-timeout", "training.rank_timeout", offsetof(struct values, rank_timeout)},
};

static const struct mx_example examples[] = {
    {"myxtts train --train-data my-corpus --output my-run", "trains the smallest network for 100 epochs"},
    {"myxtts train --train-data my-corpus --model-size small --dry-run", "shows what that would take"},
    {"myxtts train --train-data my-corpus --output my-run --data-gpu 0 --model-gpu 1",
     "one GPU prepares the batches, the other one trains"},
    {"myxtts train --train-data my-corpus --output my-run --backend cpu --cpu-devices 2 --data-gpu 0 --model-gpu 1",
     "the same with two halves of the CPU's cores"},
    {"mpirun -n 4 myxtts train --train-data my-corpus --output my-run",
     "four processes share each step; each takes a device of its own, or a part of the cores"},
    {"myxtts train --resume my-run", "goes on after an interruption, exactly where it was"},
    {"myxtts train --train-data other-corpus --init-from my-run --lr 2e-4 --output other-run",
     "teaches a trained voice something new"},
};

/* ---- settings ---- */

static int flags_apply(const struct values *values, struct mx_settings *settings)
{
    int rc = 0;
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        const char *const text = *(const char *const *)(const void *)((const char *)values + flags[i].offset);
        if (text == NULL) continue;
        MX_TRY(mx_settings_flag(settings, flags[i].flag, flags[i].key, text));
    }
    if (values->batch_per_rank) MX_TRY(mx_settings_flag(settings, "batch-per-rank", "training.batch_per_rank", "true"));
    if (values->allow_rejects) MX_TRY(mx_settings_flag(settings, "allow-rejects", "data.allow_rejects", "true"));
    if (values->augment) MX_TRY(mx_settings_flag(settings, "augment", "data.augment", "true"));
    if (values->tensorboard != NULL)
        MX_TRY(mx_settings_flag(settings, "tensorboard", "training.tensorboard",
                                strcmp(values->tensorboard, "on") == 0 ? "true" : "false"));
    if (values->mixed_precision)
        MX_TRY(mx_settings_flag(settings, "mixed-precision", "training.mixed_precision", "true"));
    MX_TRY(mx_pipeline_flags_apply(&values->pipeline, settings));
out:
    return rc;
}

static int settings_read(const struct values *values, struct mx_settings *settings)
{
    int rc = values->resume != NULL ? mx_settings_resume(values->resume, values->set.items, values->set.count, settings)
                                    : mx_settings_read(values->config, values->set.items, values->set.count, settings);
    if (rc < 0) return rc;
    MX_TRY(flags_apply(values, settings));
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
    const char *const corpus = v->train_data != NULL ? v->train_data : "my";
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
    if (text.failure == 0 && (v->train_data != NULL || v->config != NULL || v->set.count > 0))
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
        return MX_FAIL(MX_ERR_USAGE, hint, "'--resume' goes on in its own folder: '--output' contradicts it");
    if (v->resume != NULL && v->init_from != NULL)
        return MX_FAIL(MX_ERR_USAGE, "'--resume' restores everything, '--init-from' begins anew with old weights",
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
        MX_TRY(mx_parameters_create(&config, &table));
        printf("%s %-8s %6d %6d %8d %8d %7d %12" PRId64 "\n", own ? "-->" : "   ", own ? "chosen" : config.size.name,
               (int)config.size.width, (int)config.size.heads, (int)config.size.encoder_blocks,
               (int)config.size.decoder_blocks, (int)config.size.hidden, table->elements);
        mx_parameters_destroy(table);
    }
out:
    return rc;
}

static int plan_print(const struct mx_job *job)
{
    struct mx_string table = {0};
    const struct mx_trainer_memory_plan *const p = &job->plan;
    const struct mx_model_capacity *const c = &p->capacity.model;
    int rc = 0;
    MX_TRY(sizes_print(job));
    printf("\nData: %" PRIu32 " utterances to train on, %" PRIu32 " for validation\n", p->utterances, p->validation);
    printf("    %" PRIu32 " batches of at most %d utterances an epoch, %" PRId64 " steps in all\n", p->epoch_batches,
           (int)c->sequences, job->steps);
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
                                     .output = values->output,
                                     .resume = values->resume,
                                     .init_from = values->init_from,
                                     .partial = values->partial,
                                     .size_said = values->model_size != NULL ||
                                                  mx_settings_size_said(values->set.items, values->set.count)}};
    struct mx_dashboard *dashboard = NULL;
    (void)operands; /* the page takes none, so the parser refused them */
    int rc = usage_check(values);
    if (rc >= 0 && !values->dry_run) rc = mx_log_hold(); /* for log.txt */
    if (rc < 0) return rc;
    mx_interrupt_pipe_defer();
    rc = settings_read(values, &job.settings);
    if (rc < 0) return rc;
    MX_TRY(mx_job_ranks_open(&job, 0));
    MX_TRY(mx_job_open(&job, values->dry_run));
    if (values->dry_run) {
        if (mx_job_ranks_first(&job)) MX_TRY(plan_print(&job));
        MX_TRY(mx_job_memory_check(&job));
        goto out;
    }
    MX_TRY(mx_job_dashboard_open(&job, values->dashboard_token, &dashboard));
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
                "Learns to speak as the recordings of a corpus do. The run folder gets the settings (config.yaml), "
                "log.txt, metrics.jsonl with one object a step, run.json, checkpoints/, samples/, tensorboard/, and at "
                "the end report.html ('myxtts report' makes it anew at any time).\nCtrl-C, SIGTERM or SIGHUP ends it "
                "after "
                "the step that is under way, saved, with exit code 4; '--resume' then goes on as if nothing had "
                "happened, bit for bit. A step whose loss or gradient is not finite never reaches the weights.",
            MX_PAGE_EXAMPLES(examples),
            .former = mx_legacy_train,
        },
    MX_COMMAND_WORK(options, struct values, run),
};

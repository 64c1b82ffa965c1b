/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * myxtts validate: the checks of validate.h in their order, the summary and the exit code.
 */
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/options/setting_flags.h"
#include "cli/options/shared_options.h"
#include "cli/validate/validate.h"
#include "myxtts/error.h"
#include "run/interrupt.h"

#define BATCH_SIZE "4"  /* enough to see that a step works */
#define EPOCHS     1000 /* more than the steps of check 9 begin */

struct values {
    const char *json, *report, *config;
    struct mx_option_settings flags;
    struct mx_option_list set;
};

static const struct mx_option options[] = {
    MX_OPTION_FLOW(struct values),
    {MX_OPTION_SETTING(struct values, flags, model.size),
     .help = "Size of the model to create and train for one step: tiny, small, normal, base or big."},
    {MX_OPTION_SETTING(struct values, flags, training.batch_size),
     .help = "Number of utterances in the batch of that step.",
     .fallback = BATCH_SIZE ", or the value of the settings if --config or --set is given"},
    {MX_OPTION_STRING(struct values, json, "json", "FILE", NULL,
                      "Write all results and measurements as one JSON object; '-' prints it instead of the text.")},
    {MX_OPTION_STRING(struct values, report, "report", "FILE", NULL,
                      "Also compare every operation with the CPU, measure copies from and to the host and twenty steps "
                      "of training in each mode, and write everything to one file to send to others: FILE.html, a page "
                      "in English and Persian with the JSON inside, or FILE.json. It names no person, host or path.")},
    MX_SETTINGS_OPTIONS(struct values),
};

static const struct mx_example examples[] = {
    {"myxtts validate", "checks training on the best available device"},
    {"myxtts validate --data-gpu 0 --model-gpu 1",
     "checks training with one GPU that prepares batches and another that trains"},
    {"myxtts validate --backend cpu --cpu-devices 2 --data-gpu 0 --model-gpu 1",
     "the same on two halves of the CPU cores"},
    {"myxtts validate --data-gpu 0 --model-gpu 1 --enable-memory-isolation --model-size base --batch-size 32 --json -",
     "checks whether such a training fits the limits, and prints JSON"},
    {"myxtts validate --data-gpu 0 --model-gpu 1 --report report.html",
     "writes a page about this machine and both GPUs; send it to us if you have two"},
};

/* ---- settings ---- */

static int settings_read(const struct values *values, struct mx_settings *settings)
{
    int rc = mx_settings_read(values->config, values->set.items, values->set.count, settings);
    if (rc < 0) return rc;
    const bool bare = values->config == NULL && values->set.count == 0;
    if (bare) MX_TRY(mx_settings_put(settings, "training.batch_size", BATCH_SIZE));
    MX_TRY(mx_setting_flags_apply(&values->flags, settings));
    /* A mistake in the name of a size is one of the command line, not of the machine. */
    if (mx_model_size_find(settings->model.size) == NULL) MX_TRY(mx_error_last()->code);
    if (settings->training.part == MX_SETTINGS_PART_VOCODER)
        MX_RAISE(MX_ERR_USAGE, "leave 'training.part' at 'both': the vocoder is trained, too",
                 "the checks train a network that reads texts, and training.part=vocoder has none");
    mx_settings_resolve(settings);
    /* What has to do with recordings is that of the corpus that is made up: one voice, letters, nothing set apart and
     * nothing spoken. */
    MX_TRY(mx_settings_put(settings, "data.val_data", ""));
    settings->data.validation_fraction = 0;
    settings->data.tokens = MX_TOKENS_CHARS;
    snprintf(settings->data.language, sizeof settings->data.language, "auto");
    settings->data.min_seconds = MX_AUDIO_OPTIONS_DEFAULT.seconds_min;
    settings->data.max_seconds = MX_AUDIO_OPTIONS_DEFAULT.seconds_max;
    settings->training.samples = 0;
    settings->training.epochs = EPOCHS;
out:
    if (rc < 0) mx_config_release(&mx_settings_schema, settings);
    return rc;
}

/* ---- checks ---- */

/* `needs`: bits of the checks (1 << number) without which this one cannot be tried. */
static const struct {
    const char *two, *plain, *one; /* title with two devices, with two that are not called GPUs, and with one */
    unsigned needs;
    int (*run)(struct mx_validate *v);
} checks[] = {
    {"Checking prerequisites", "Checking prerequisites", "Checking prerequisites", 0, mx_validate_prerequisites},
    {"Validating device placement configuration", "Validating device placement configuration",
     "Validating device placement configuration", 1u << 1, mx_validate_placement},
    {"Testing model creation on GPU:1", "Testing model creation on device 1", "Testing model creation", 1u << 2,
     mx_validate_model},
    {"Testing data transfer between GPUs", "Testing data transfer between devices",
     "Testing data transfer to and from the device", 1u << 2, mx_validate_transfer},
    {"Simulating training pipeline", "Simulating training pipeline", "Simulating training pipeline", 1u << 2,
     mx_validate_pipeline},
    {"Comparing a training step with the same step on one device",
     "Comparing a training step with the same step on one device", "Comparing a training step with and without buffer",
     1u << 2 | 1u << 3, mx_validate_step},
    {"Comparing every operation with the CPU", "Comparing every operation with the CPU",
     "Comparing every operation with the CPU", 1u << 2, mx_validate_operations},
    {"Measuring copies from and to the host", "Measuring copies from and to the host",
     "Measuring copies from and to the host", 1u << 2, mx_validate_host_transfer},
    {"Training in both modes", "Training in both modes", "Training some steps", 1u << 3 | 1u << 6,
     mx_validate_training},
};
#define CHECKS      6 /* always, and the rest with '--report' */
#define CHECKS_PAGE (sizeof checks / sizeof checks[0])

static int checks_run(struct mx_validate *v)
{
    unsigned passed = 0;
    const unsigned count = v->page == NULL ? CHECKS : (unsigned)CHECKS_PAGE;
    for (unsigned i = 0; i < count; i++) {
        if (atomic_load(v->stop))
            return MX_FAIL(MX_ERR_INTERRUPTED, NULL, "interrupted after %u of %u checks", i, count);
        const bool opened = v->job.devices.registry != NULL;
        const bool two = opened ? mx_validate_multi(v) : mx_validate_asks_two(&v->job.settings);
        const unsigned missing = checks[i].needs & ~passed;
        const char *const pair = v->job.devices.choice.plain ? checks[i].plain : checks[i].two;
        mx_validate_begin(&v->report, two ? pair : checks[i].one);
        if (missing != 0) {
            char why[64];
            unsigned number = 1;
            while ((missing >> number & 1) == 0) number++;
            snprintf(why, sizeof why, "check %u did not pass", number);
            mx_validate_skip(&v->report, why);
        } else if (mx_validate_end(&v->report, checks[i].run(v))) {
            passed |= 1u << (i + 1);
        }
    }
    return 0;
}

/* The line at the end; the failure that it reports has the exit code of the first one. */
static int summary(const struct mx_validate_report *r)
{
    char text[160] = "";
    if (r->failed == 0) {
        if (r->warnings > 0)
            snprintf(text, sizeof text, "🎉 All validation checks passed! (%d warning%s)", r->warnings,
                     r->warnings == 1 ? "" : "s");
        else
            snprintf(text, sizeof text, "🎉 All validation checks passed!");
    } else {
        snprintf(text, sizeof text, "❌ %d of %d validation checks failed%s", r->failed, r->number,
                 r->skipped > 0 ? ", and those that need them were not tried" : "");
    }
    if (!r->silent) printf("\n");
    mx_validate_heading(r, text);
    if (r->failed == 0) return 0;
    return MX_FAIL(r->code, "each check that failed says what to do; 'myxtts devices' shows the devices there are",
                   "%d of %d validation checks failed", r->failed, r->number);
}

static int files_write(struct mx_validate *v, const struct values *values)
{
    int rc = 0;
    cJSON *const root = mx_validate_json(v, mx_mode_name(&v->job.devices.choice));
    if (values->json != NULL) MX_TRY(mx_command_json(root, v->report.json_failures, values->json));
    if (values->report != NULL) {
        if (v->report.json_failures > 0)
            MX_RAISE(MX_ERR_NO_MEMORY, "close other programs", "out of memory for the report");
        MX_TRY(mx_validate_page_hide(root, v->corpus.folder));
        MX_TRY(mx_validate_page_save(root, values->report));
        if (!v->report.silent) printf("\nThe report is in %s\n", values->report);
    }
out:
    cJSON_Delete(root);
    return rc;
}

static int run(const void *given, const struct mx_option_list *operands)
{
    const struct values *const values = given;
    struct mx_validate v = {
        .job = {.request = {.command = mx_command_line(false), .accum = "--set training.grad_accum="}}};
    struct mx_interrupt interrupt;
    (void)operands; /* the page takes none, so the parser refused them */
    int rc = settings_read(values, &v.job.settings);
    if (rc < 0) return rc;
    v.stop = mx_interrupt_watch(&interrupt, false);
    if (values->report != NULL) MX_TRY(mx_validate_page_check(values->report));
    v.page = values->report;
    MX_TRY(mx_command_log_calm());
    MX_TRY(mx_validate_report_open(&v.report, values->json != NULL && strcmp(values->json, "-") == 0));
    const bool asked_two = mx_validate_asks_two(&v.job.settings);
    const bool by_number = v.job.settings.pipeline.data_gpu >= 0 || v.job.settings.pipeline.model_gpu >= 0;
    mx_validate_heading(&v.report, by_number   ? "Dual-GPU Pipeline Validation"
                                   : asked_two ? "Two-Device Pipeline Validation"
                                               : "Single-Device Pipeline Validation");
    MX_TRY(checks_run(&v));
    if (v.job.devices.registry == NULL) v.job.devices.choice.mode = asked_two ? MX_MODE_MULTI : MX_MODE_SINGLE;
    if (values->json != NULL || values->report != NULL) MX_TRY(files_write(&v, values));
    MX_TRY(summary(&v.report));
out:
    mx_validate_report_close(&v.report);
    mx_job_close(&v.job);
    mx_profile_corpus_remove(&v.corpus);
    mx_config_release(&mx_settings_schema, &v.job.settings);
    mx_interrupt_restore(&interrupt);
    return rc;
}

const struct mx_command mx_command_validate = {
    .name = "validate",
    .page =
        {
            .command = MX_VALIDATE_COMMAND,
            .summary = "check that devices, memory limits, transfers, pipeline and training work on this machine",
            .description =
                "Runs six checks on the devices that training with the same flags would use: the prerequisites; "
                "whether the devices can be opened under their memory limits, and whether the limits hold; whether the "
                "model is placed on the right device; whether transfers are complete, and how fast; whether the "
                "pipeline keeps the order of batches and overlaps its stages; whether a real training step gives the "
                "same weights as on one device. That step uses synthetic recordings. With '--report' three more "
                "compare every "
                "operation with the CPU and measure copies and training. Speeds are reported but never "
                "fail a check; two devices that do not overlap at all are a warning.\n'--log-level debug' shows the "
                "messages of the individual parts.\nExit codes: 0 all checks passed, perhaps with warnings; otherwise "
                "that of the first check that failed: 1 contradictory flags, 2 temporary files could not be written, 3 "
                "device, memory limit or wrong results.",
            MX_PAGE_EXAMPLES(examples),
        },
    MX_COMMAND_WORK(options, struct values, run),
};

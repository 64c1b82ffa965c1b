/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The observer of a training run, see observer.h.
 */
#include "run/observer/observer.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "corpus/audio/audio.h"
#include "features/recipe.h"
#include "myxtts/error.h"
#include "observe/page/page.h"
#include "observe/pictures.h"
#include "observe/tfevents.h"

#define MIB 1048576.0

#define RUN_BYTES_MAX ((size_t)64 << 20) /* of a run.json that is read */

struct mx_job_observer {
    struct mx_job *job;
    struct mx_tfevents *events;    /* NULL: TensorBoard is off, or its file could not be made */
    struct mx_run run;             /* what does not change; the rest is filled in when it is written */
    struct mx_model_size size;     /* of the network; of a vocoder alone what it has of it */
    char *folder;                  /* absolute */
    struct mx_run_sample *samples; /* [run.sample_count] */
    char **words;                  /* [2 · run.sample_count]: the strings of the samples */
    uint32_t left_out[MX_REJECT_COUNT];
    struct mx_span spans[MX_JOB_SPANS];
    bool warned; /* that something could not be written */
};

/* What an observer does never ends a run: the failure becomes a warning, the first time. */
static void failure_log(struct mx_job_observer *o, const char *what)
{
    if (!o->warned) mx_warn("%s cannot be written: %s; training continues", what, mx_error_last()->message);
    o->warned = true;
    mx_error_clear();
}

/* ---- facts ---- */

static double corpus_seconds(const struct mx_dataset *dataset, const struct mx_recipe *recipe)
{
    double samples = 0;
    for (uint32_t i = 0; i < mx_dataset_count(dataset); i++) {
        const struct mx_dataset_utterance *const u = mx_dataset_utterance(dataset, i);
        samples += mx_dataset_kind(dataset) == MX_PACKED_AUDIO ? u->samples : (double)u->frames * recipe->hop;
    }
    return samples / recipe->rate;
}

/* The texts that samples are spoken of, for those who listen to them. */
static int samples_name(struct mx_job_observer *o)
{
    int rc = 0;
    struct mx_dataset_item item;
    const struct mx_job *const job = o->job;
    const uint32_t all = mx_trainer_validation_count(job->trainer);
    const int64_t wanted = job->settings.training.samples < all ? job->settings.training.samples : all;
    if (job->speech.speak == NULL) return 0;
    o->samples = mx_alloc((size_t)wanted, sizeof *o->samples);
    o->words = mx_alloc(2 * (size_t)wanted, sizeof *o->words);
    if (o->samples == NULL || o->words == NULL) return MX_ERR_NO_MEMORY;
    for (int64_t i = 0; i < wanted; i++) {
        const bool there = mx_dataset_load(job->speech.reader, mx_trainer_validation(job->trainer)[i], &item) >= 0;
        if (!there) mx_error_clear();
        char *const id = o->words[2 * i] = mx_strdup(there ? item.id : "");
        char *const text = o->words[2 * i + 1] = mx_strdup(there ? item.text : "");
        o->samples[i] = (struct mx_run_sample){id, text};
        o->run.sample_count = i + 1;
        if (id == NULL || text == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    }
    o->run.samples = o->samples;
out:
    return rc;
}

static int facts_find(struct mx_job_observer *o)
{
    int rc = 0;
    struct mx_job *const job = o->job;
    const struct mx_settings_training *const t = &job->settings.training;
    const struct mx_vocabulary *const words =
        job->vocabulary != NULL ? job->vocabulary : mx_dataset_vocabulary(job->dataset);
    const bool alone = job->options.vocoder_alone;
    const struct mx_vocoder_size *const v = &job->options.vocoder.size;
    o->size = job->options.model.size;
    if (alone)
        o->size = (struct mx_model_size){
            .name = v->name, .width = v->width, .decoder_blocks = v->blocks, .hidden = v->hidden};
    char *const whole = realpath(job->run, NULL);
    o->folder = mx_strdup(whole != NULL ? whole : job->run);
    free(whole);
    if (o->folder == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    const double now = (double)time(NULL), minutes = t->max_minutes;
    o->run = (struct mx_run){.started = now,
                             .deadline = minutes > 0 ? now + 60 * minutes : 0,
                             .first_step = mx_trainer_state(job->trainer)->step,
                             .steps = job->steps,
                             .folder = o->folder,
                             .size = &o->size,
                             .parameters = (int64_t)(alone ? job->plan.vocoder.parameters : job->plan.model.parameters),
                             .mixed_precision = job->options.model.mixed,
                             .augment = mx_augment_active(&job->options.flow.augment),
                             .batch_size = t->batch_size,
                             .grad_accum = t->grad_accum,
                             .seed = t->seed,
                             .level = mx_settings_level_name(t->optimization_level),
                             .learning_rate = t->learning_rate,
                             .corpus = job->settings.data.train_data,
                             .features = mx_dataset_kind(job->dataset) == MX_PACKED_FEATURES,
                             .training = job->plan.utterances,
                             .validation = job->plan.validation,
                             .speakers = mx_dataset_speaker_count(job->dataset),
                             .symbols = (uint32_t)mx_vocabulary_size(words),
                             .seconds = corpus_seconds(job->dataset, job->recipe),
                             .left_out = o->left_out,
                             .mode = mx_mode_name(&job->devices.choice),
                             .fallback = job->devices.choice.fallback,
                             .overlap = job->settings.pipeline.overlap,
                             .spans = o->spans};
    MX_TRY(samples_name(o));
out:
    return rc;
}

static void device_measure(const struct mx_device *device, struct mx_run_device *out)
{
    out->name = mx_device_name(device);
    out->logical = mx_device_logical(device);
    out->description = mx_device_info(device)->name;
    mx_budget_stats(mx_device_budget(device), &out->memory);
}

static void devices_measure(struct mx_job_observer *o)
{
    const struct mx_device_pair *const pair = &o->job->devices;
    o->run.device_count = mx_device_pair_multi(pair) ? 2 : 1;
    device_measure(pair->data, &o->run.devices[0]);
    if (o->run.device_count == 2) device_measure(pair->model, &o->run.devices[1]);
}

/* run.json as it is now. */
static void run_write(struct mx_job_observer *o, enum mx_run_state state, const char *failure)
{
    const struct mx_job *const job = o->job;
    struct mx_pipeline *const pipeline = mx_trainer_pipeline(job->trainer);
    struct mx_advice advice[MX_ADVICE_KINDS];
    struct mx_advice_input input;
    char pack[MX_ADVICE_PACK_BYTES];
    struct mx_pipeline_levels levels;
    struct mx_run *const run = &o->run;
    mx_dataset_reject_counts(o->job->dataset, o->left_out);
    run->state = state;
    run->failure = failure;
    run->step = mx_trainer_state(job->trainer)->step;
    run->steps = job->steps; /* which auto-stop and the time limit change */
    devices_measure(o);
    run->flow = *mx_trainer_stats(job->trainer); /* as in the last line of metrics.jsonl */
    mx_pipeline_levels(pipeline, &levels);
    run->workers = levels.workers_active;
    run->has_flow = run->flow.step_ns.count > 0;
    run->advice = advice;
    mx_pipeline_advice_input(pipeline, &input);
    input.stats = run->flow;
    mx_job_advice_corpus(job, pack, &input);
    run->advice_count = run->has_flow ? mx_advice_find(&input, advice) : 0;
    run->has_best = job->best.known && !job->options.vocoder_alone; /* whose best value is a loss */
    run->best_step = (int64_t)job->best.step;
    run->best_mel_db = job->best.value;
    run->span_count = mx_pipeline_spans(pipeline, o->spans, MX_JOB_SPANS);
    char *const path = mx_format("%s/" MX_RUN_FILE, job->run);
    if (path == NULL || mx_run_write(run, path) < 0) failure_log(o, MX_RUN_FILE);
    mx_free(path);
    run->advice = NULL;
}

/* ---- TensorBoard ---- */

/* Its pages show texts as Markdown: four spaces before each line keep the settings as they are. */
static void config_send(struct mx_job_observer *o)
{
    struct mx_string text = {0};
    char *const config = mx_config_format(&mx_settings_schema, &o->job->settings);
    for (const char *line = config, *end; line != NULL && *line != '\0'; line = *end == '\0' ? end : end + 1) {
        end = strchrnul(line, '\n');
        mx_string_append(&text, "    %.*s\n", (int)(end - line), line);
    }
    if (config == NULL || text.failure != 0)
        failure_log(o, "TensorBoard's copy of the settings");
    else
        mx_tfevents_text(o->events, o->run.first_step, "config", text.data);
    mx_string_release(&text);
    mx_free(config);
}

static void samples_send(struct mx_job_observer *o)
{
    for (int64_t i = 0; i < o->run.sample_count; i++) {
        char tag[32];
        snprintf(tag, sizeof tag, "sample/%03" PRId64, i);
        mx_tfevents_text(o->events, o->run.first_step, tag, o->samples[i].text);
    }
}

static void events_open(struct mx_job_observer *o)
{
    const uint64_t most = (uint64_t)o->job->settings.training.tensorboard_mb << 20;
    char *const folder = mx_format("%s/tensorboard", o->job->run);
    if (folder == NULL || mx_tfevents_open(folder, o->run.first_step, most, &o->events) < 0)
        failure_log(o, "TensorBoard's file");
    mx_free(folder);
    if (o->events == NULL) return;
    config_send(o);
    samples_send(o);
}

/* All of a table that have a tag; train/report/report.h says which of those without a value are sent. */
static void metrics_send(struct mx_job_observer *o, int64_t step, const struct mx_metric *table, const double *values,
                         int count)
{
    const bool alone = o->job->options.vocoder_alone;
    struct mx_tfevent_scalar scalars[MX_STEP_METRICS];
    size_t n = 0;
    static_assert((int)MX_STEP_METRICS >= (int)MX_EVALUATION_METRICS, "room for both");
    for (int i = 0; i < count; i++) {
        if (table[i].tag == NULL || !mx_metric_there(&table[i], values[i], alone) ||
            (table[i].presence != MX_METRIC_ALWAYS && !isfinite(values[i])))
            continue;
        scalars[n++] =
            (struct mx_tfevent_scalar){table[i].tag, table[i].type == MX_METRIC_BYTES ? values[i] / MIB : values[i]};
    }
    mx_tfevents_scalars(o->events, step, scalars, n);
}

void mx_job_observer_step(struct mx_job_observer *o, const struct mx_trainer_report *r)
{
    if (o == NULL || o->events == NULL) return;
    const struct mx_step_metrics m = mx_step_metrics_of(r);
    metrics_send(o, r->step, mx_step_metric_table, m.values, MX_STEP_METRICS);
}

static void evaluation_send(struct mx_job_observer *o, int64_t step)
{
    if (o->events == NULL) return;
    const struct mx_evaluation_metrics m = mx_evaluation_metrics_of(step, &o->job->evaluations.last);
    metrics_send(o, step, mx_evaluation_metric_table, m.values, MX_EVALUATION_METRICS);
}

/* What the evaluation left in its folder. */
static void files_send(struct mx_job_observer *o, int64_t step, const char *folder)
{
    if (o->events == NULL) return;
    for (int i = 0; i < MX_PICTURES; i++) {
        char tag[32], *const path = mx_format("%s/%s.png", folder, mx_picture_names[i]);
        snprintf(tag, sizeof tag, "mel/%s", mx_picture_names[i]);
        if (path != NULL) mx_tfevents_png(o->events, step, tag, path);
        mx_free(path);
    }
    for (int64_t i = 0; i < o->run.sample_count; i++) {
        char tag[32], *const spoken = mx_format("%s/%03" PRId64 ".wav", folder, i);
        char *const picture = mx_format("%s/%03" PRId64 ".png", folder, i);
        char *const recorded = mx_format("%s/" MX_JOB_RECORDED, o->job->run, i);
        snprintf(tag, sizeof tag, "spoken/%03" PRId64, i);
        if (spoken != NULL) mx_tfevents_wav(o->events, step, tag, spoken);
        snprintf(tag, sizeof tag, "spoken_mel/%03" PRId64, i); /* readers want different tags for different things */
        if (picture != NULL) mx_tfevents_png(o->events, step, tag, picture);
        snprintf(tag, sizeof tag, "recorded/%03" PRId64, i);
        if (recorded != NULL) mx_tfevents_wav(o->events, step, tag, recorded);
        mx_free(spoken);
        mx_free(picture);
        mx_free(recorded);
    }
    mx_tfevents_flush(o->events);
}

/* ---- life ---- */

static void observer_free(struct mx_job_observer *o)
{
    if (o == NULL) return;
    mx_tfevents_close(o->events);
    for (int64_t i = 0; i < 2 * o->run.sample_count; i++) mx_free(o->words[i]);
    mx_free(o->words);
    mx_free(o->samples);
    mx_free(o->folder);
    mx_free(o);
}

struct mx_job_observer *mx_job_observer_open(struct mx_job *job)
{
    struct mx_job_observer *const o = mx_alloc(1, sizeof *o);
    if (o == NULL || (o->job = job, facts_find(o)) < 0) {
        mx_warn("nothing can be recorded about this run: %s; training continues", mx_error_last()->message);
        mx_error_clear();
        observer_free(o);
        return NULL;
    }
    if (job->settings.training.tensorboard) events_open(o);
    run_write(o, MX_RUN_TRAINING, NULL);
    return o;
}

void mx_job_observer_evaluation(struct mx_job_observer *o)
{
    struct mx_trainer_picture picture;
    if (o == NULL) return;
    const int64_t step = mx_trainer_state(o->job->trainer)->step;
    char *const folder = mx_format("%s/" MX_JOB_SAMPLES, o->job->run, step);
    const bool shown = o->events != NULL || o->job->settings.training.report != MX_SETTINGS_REPORT_OFF;
    if (shown && (folder == NULL || mx_file_make_folder(o->job->run, folder + strlen(o->job->run) + 1) < 0 ||
                  mx_trainer_picture(o->job->trainer, &picture) < 0 || mx_pictures_write(&picture, folder) < 0))
        failure_log(o, "the pictures of an evaluation");
    evaluation_send(o, step);
    if (folder != NULL) files_send(o, step, folder);
    mx_free(folder);
    run_write(o, MX_RUN_TRAINING, NULL);
}

void mx_job_observer_flush(struct mx_job_observer *o)
{
    if (o != NULL) mx_tfevents_flush(o->events);
}

/* false: it could not be written, which is the current error. */
static bool report_write(const struct mx_job *job)
{
    if (job->settings.training.report == MX_SETTINGS_REPORT_OFF) return true;
    const struct mx_page_options options = {.run = job->run, .language = mx_settings_report_language(&job->settings)};
    char *const path = mx_format("%s/report.html", job->run);
    const bool written = path != NULL && mx_page_save(&options, path) >= 0;
    if (written) mx_info("report: %s", path);
    mx_free(path);
    return written;
}

void mx_job_observer_close(struct mx_job_observer *o, enum mx_run_state state)
{
    if (o == NULL) return;
    const struct mx_error failure = *mx_error_last();
    run_write(o, state, state == MX_RUN_FAILED ? failure.message : NULL);
    if (!report_write(o->job)) failure_log(o, "the report");
    observer_free(o);
    if (failure.code != 0) mx_error_restore(&failure);
}

/* run.json with another state and step; NULL: it is not there, or does not say that the run trains. The caller frees. */
static char *settled_text(const char *path, int64_t step)
{
    static const char state[] = "\"state\":\"training\"", at_step[] = ",\"step\":";
    char *text = NULL, *out = NULL;
    size_t bytes = 0;
    if (mx_file_read(path, RUN_BYTES_MAX, &text, &bytes) == 0) {
        char *const at = strstr(text, state), *const number = at != NULL ? strstr(at, at_step) : NULL;
        if (number != NULL) {
            const char *const end = number + strlen(at_step);
            *at = *number = '\0';
            out = mx_format("%s\"state\":\"done\"%s%s%" PRId64 "%s", text, at + strlen(state), at_step, step,
                            end + strspn(end, "0123456789"));
        }
    }
    mx_free(text);
    return out;
}

void mx_job_observer_settle(const struct mx_job *job)
{
    char *const path = mx_format("%s/" MX_RUN_FILE, job->run);
    char *const text = path != NULL ? settled_text(path, job->steps) : NULL;
    if (text != NULL && (mx_file_write_atomic(path, text, strlen(text)) < 0 || !report_write(job)))
        mx_warn("the end of the run cannot be recorded: %s", mx_error_last()->message);
    mx_error_clear();
    mx_free(text);
    mx_free(path);
}

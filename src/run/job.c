/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * From settings to a trainer ready to start, see job.h.
 */
#include "run/job.h"
#include "run/corpus/corpus.h"
#include "run/devices/memory_plan.h"
#include "run/length.h"
#include "run/networks.h"
#include "run/observer/samples.h"
#include "run/state.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/number.h"
#include "base/thread/pool.h"
#include "corpus/packed/packed.h"
#include "features/extract.h"
#include "features/recipe.h"
#include "myxtts/error.h"
#include "run/observer/observer.h"
#include "run/ranks.h"

#define CACHE_FILE "corpus.pack" /* in the run folder */

/* ---- the run folder ---- */

int mx_job_failed(const struct mx_job *job, int code)
{
    struct mx_string hint = {0};
    bool saved = false;
    const struct mx_error failure = *mx_error_last();
    if (job->run == NULL || job->metrics == NULL || code == MX_ERR_INTERRUPTED) goto out;
    mx_string_append(&hint, "%s%s", failure.hint, failure.hint[0] != '\0' ? "; " : "");
    if (mx_job_folder_saved(job->run, &saved) == 0 && saved) {
        mx_string_append(&hint, "the last checkpoint is intact: 'myxtts train --resume ");
        mx_string_append_shell(&hint, job->run);
        mx_string_append(&hint, "' continues from it");
    } else {
        mx_string_append(&hint, "nothing was saved yet: run the same command again");
    }
    if (hint.failure == 0) mx_error_hint("%s", hint.data);
out:
    mx_string_release(&hint);
    return code;
}

/* The folder of this run; rank 0 alone writes to it. */
static int run_open(struct mx_job *job)
{
    const bool resumed = job->request.resume != NULL;
    job->run = mx_strdup(resumed ? job->request.resume : job->request.output);
    if (job->run == NULL) return MX_ERR_NO_MEMORY;
    return mx_job_ranks_first(job) ? mx_job_folder_open(&job->folder, job->run, resumed) : 0;
}

/* ---- origin, corpus ---- */

/* The checkpoint that the run resumes or begins with; its vocabulary numbers the tokens of the corpus. */
static int origin_open(struct mx_job *job)
{
    int rc = 0;
    const bool resumed = job->request.resume != NULL;
    const struct mx_checkpoint_options options = {
        .previous = resumed, .finite = resumed, .foreign = !resumed, .named = !resumed};
    const char *const path = resumed ? job->request.resume : job->request.init_from;
    if (path == NULL) return 0;
    MX_TRY(mx_checkpoint_open(path, &options, &job->origin));
    const struct mx_checkpoint_state *const state = mx_checkpoint_state(job->origin);
    if (state == NULL) return 0;
    MX_TRY(mx_checkpoint_recipe_check(job->origin));
    if (state->vocoder_alone) return 0;
    MX_TRY(mx_vocabulary_read(state->vocabulary, strlen(state->vocabulary), &job->vocabulary));
out:
    return rc;
}

/* ---- the size of the network ---- */

static bool size_equal(const struct mx_model_size *a, const struct mx_model_size *b)
{
    return a->width == b->width && a->heads == b->heads && a->encoder_blocks == b->encoder_blocks &&
           a->decoder_blocks == b->decoder_blocks && a->hidden == b->hidden;
}

#define SIZE_BYTES 160
static const char *size_words(const struct mx_model_size *size, char out[SIZE_BYTES])
{
    snprintf(out, SIZE_BYTES, "%s, width %d, heads %d, blocks %d and %d, hidden %d", size->name, (int)size->width,
             (int)size->heads, (int)size->encoder_blocks, (int)size->decoder_blocks, (int)size->hidden);
    return out;
}

/* The size that the settings ask for. */
static int size_asked(const struct mx_settings_model *m, struct mx_model_size *out)
{
    const struct mx_model_size *const named = mx_model_size_find(m->size);
    if (named == NULL) return mx_error_last()->code;
    *out = *named;
    if (m->width > 0) out->width = (int32_t)m->width;
    if (m->heads > 0) out->heads = (int32_t)m->heads;
    if (m->encoder_blocks > 0) out->encoder_blocks = (int32_t)m->encoder_blocks;
    if (m->decoder_blocks > 0) out->decoder_blocks = (int32_t)m->decoder_blocks;
    if (m->hidden > 0) out->hidden = (int32_t)m->hidden;
    return 0;
}

/* The network of a checkpoint is what it was: another size that was asked for is refused. In a new run what a settings
 * file says counts as asked for; that of a resumed run is its own. */
static int origin_size_check(const struct mx_job *job)
{
    char a[SIZE_BYTES], b[SIZE_BYTES];
    struct mx_model_size size = {.name = ""}, *const asked = &size;
    const struct mx_settings_model *const m = &job->settings.model;
    const struct mx_checkpoint_state *const from = job->origin != NULL ? mx_checkpoint_state(job->origin) : NULL;
    if (from == NULL || from->vocoder_alone) return 0;
    const int rc = size_asked(m, &size);
    if (rc < 0) return rc;
    const struct mx_model_size *const is = &from->model.size;
    const bool resumed = job->request.resume != NULL;
    const bool set = m->width > 0 || m->heads > 0 || m->encoder_blocks > 0 || m->decoder_blocks > 0 || m->hidden > 0 ||
                     strcmp(m->size, mx_model_size_at(0)->name) != 0;
    if (size_equal(asked, is) && strcmp(asked->name, is->name) == 0) return 0;
    if (!job->request.size_said && (resumed || !set)) return 0;
    return MX_FAIL(MX_ERR_USAGE,
                   resumed ? "omit '--model-size' and the sizes in 'model': a run continues with the network it has"
                           : "omit '--model-size' and the sizes in 'model', or start without '--init-from'",
                   "the network of %s (%s) is not the one that was asked for (%s)", mx_checkpoint_path(job->origin),
                   size_words(is, a), size_words(asked, b));
}

/* config.yaml in the run folder gets the real size of the network. */
static void size_keep(struct mx_settings_model *m, const struct mx_model_size *size)
{
    const struct mx_model_size *const named = mx_model_size_find(size->name);
    mx_error_clear();
    if (named == NULL) return;
    snprintf(m->size, sizeof m->size, "%s", size->name);
    m->width = size->width == named->width ? 0 : size->width;
    m->heads = size->heads == named->heads ? 0 : size->heads;
    m->encoder_blocks = size->encoder_blocks == named->encoder_blocks ? 0 : size->encoder_blocks;
    m->decoder_blocks = size->decoder_blocks == named->decoder_blocks ? 0 : size->decoder_blocks;
    m->hidden = size->hidden == named->hidden ? 0 : size->hidden;
}

/* ---- the recipe ---- */

/* That of the settings, or else of the checkpoint that the run begins with, whose networks know no other. */
static int recipe_choose(struct mx_job *job)
{
    enum mx_settings_recipe *const asked = &job->settings.data.recipe;
    const struct mx_recipe *const from = job->origin != NULL ? mx_checkpoint_recipe(job->origin) : NULL;
    job->recipe = *asked != MX_SETTINGS_RECIPE_AUTO ? mx_settings_recipe(*asked) : mx_recipe_or_default(from);
    *asked = mx_settings_recipe_of(job->recipe);
    if (from == NULL || from == job->recipe) return 0;
    return MX_FAIL(MX_ERR_USAGE,
                   job->request.resume != NULL ? "omit '--recipe': a run continues with the features it has"
                                               : "omit '--recipe', or start without '--init-from'",
                   "%s was trained on features of the recipe %s, not of %s", mx_checkpoint_path(job->origin),
                   from->name, job->recipe->name);
}

/* ---- corpus ---- */

/* The words of data.lexicon. A resumed run has those of its checkpoint, and no others; one that begins with other
 * weights adds its own to theirs. */
static int lexicon_load(struct mx_job *job)
{
    int rc = 0;
    struct mx_lexicon *merged = NULL;
    const char *const path = job->settings.data.lexicon;
    const bool resumed = job->request.resume != NULL;
    if (job->vocabulary != NULL && !resumed) mx_vocabulary_renew(job->vocabulary);
    if (path[0] == '\0' || job->settings.training.part == MX_SETTINGS_PART_VOCODER) return 0;
    rc = mx_lexicon_open(path, &job->lexicon);
    if (rc == MX_ERR_NOT_FOUND && resumed) {
        mx_error_clear();
        mx_warn("the lexicon %s is not there any more: the run goes on with the words in its checkpoint", path);
        return 0;
    }
    MX_TRY(rc);
    if (job->vocabulary == NULL) goto out;
    /* The run has the words of the file, followed by those of the network that it began with. */
    const struct mx_lexicon *const kept = mx_vocabulary_reading(job->vocabulary)->lexicon;
    if (resumed) MX_TRY(mx_lexicon_merge(kept, job->lexicon, &merged));
    if (resumed && !mx_lexicon_same(merged, kept))
        MX_RAISE(MX_ERR_DATA, "restore the file, or start a new run with '--init-from' and these weights",
                 "the lexicon %s is not the one that the run began with", path);
    if (!resumed) MX_TRY(mx_vocabulary_add_lexicon(job->vocabulary, job->lexicon));
out:
    mx_lexicon_destroy(merged);
    return rc;
}

static int dataset_open(struct mx_job *job)
{
    int rc = 0;
    bool packed;
    char *cache = NULL, *pieces = NULL;
    const struct mx_settings_data *const d = &job->settings.data;
    struct mx_dataset_options options = MX_DATASET_OPTIONS_DEFAULT;
    enum mx_language_id language;
    options.path = d->train_data;
    options.manifest.seed = (uint64_t)job->settings.training.seed;
    options.manifest.validation_fraction = d->validation_fraction;
    if (d->val_data[0] != '\0') options.manifest.validation = d->val_data;
    if (d->decisions[0] != '\0') options.manifest.decisions = d->decisions;
    options.row.audio.rate = job->recipe->rate;
    options.row.audio.seconds_min = d->min_seconds;
    options.row.audio.seconds_max = d->max_seconds;
    MX_TRY(mx_audio_options_check(&options.row.audio));
    if (strcmp(d->language, "auto") != 0) {
        MX_TRY(mx_language_parse(d->language, &language));
        options.row.language = (int)language;
    }
    options.sounds = job->settings.training.part == MX_SETTINGS_PART_VOCODER;
    options.row.tokens = job->vocabulary != NULL ? mx_vocabulary_mode(job->vocabulary) : d->tokens;
    MX_TRY(lexicon_load(job));
    options.row.vocabulary = job->vocabulary;
    options.row.lexicon = job->lexicon;
    MX_TRY(mx_packed_detect(d->train_data, &packed));
    if (job->run != NULL && d->caching && !packed) {
        cache = mx_format("%s/" CACHE_FILE, job->run);
        if (cache == NULL) MX_TRY(MX_ERR_NO_MEMORY);
        options.cache = cache;
        /* Before a resumed run is accepted, its cache is not changed. */
        options.cache_others = !mx_job_ranks_first(job) || job->request.resume != NULL;
    }
    MX_TRY(mx_job_long(job, &options, &pieces));
    MX_TRY(mx_job_dataset_open(job, &options));
    MX_TRY(mx_recipe_dataset_check(job->recipe, job->dataset));
    if (job->request.resume == NULL && job->vocabulary != NULL) /* a packed corpus brings its own */
        MX_TRY(mx_vocabulary_add_lexicon(job->vocabulary, mx_dataset_lexicon(job->dataset)));
    if (job->request.resume == NULL) goto out;
    MX_TRY(mx_job_state_compare(job));
out:
    mx_free(cache);
    mx_free(pieces);
    return rc;
}

/* ---- the trainer's options ---- */

static int model_choose(struct mx_job *job, struct mx_model_config *out)
{
    struct mx_settings_model *const m = &job->settings.model;
    const struct mx_checkpoint_state *const from = job->origin != NULL ? mx_checkpoint_state(job->origin) : NULL;
    const struct mx_vocabulary *const words = mx_dataset_vocabulary(job->dataset);
    struct mx_model_size size;
    const int rc = size_asked(m, &size);
    if (rc < 0) return rc;
    *out = mx_model_config_default(&size, (int32_t)mx_vocabulary_size(words), (int32_t)mx_vocabulary_languages(words));
    out->bands = job->recipe->bands;
    if (from != NULL) { /* the network is what it was; how it is trained may change */
        if (!size_equal(&size, &from->model.size)) {
            char text[SIZE_BYTES];
            mx_info("the network is that of %s: %s", mx_checkpoint_path(job->origin),
                    size_words(&from->model.size, text));
            size_keep(m, &from->model.size);
        }
        out->size = from->model.size;
        const int32_t languages = (int32_t)mx_vocabulary_languages(words); /* it may have grown */
        out->languages = from->model.languages > languages ? from->model.languages : languages;
    }
    out->dropout = (float)m->dropout;
    out->recompute_blocks = m->gradient_checkpointing;
    out->mixed = job->settings.training.mixed_precision;
#define X(NAME, key, over, weight, words) out->weights.key = (float)m->key##_weight;
    MX_LOSS_LIST(X)
#undef X
    return mx_model_config_check(out);
}

/* Whether the data device trains, too, and with which shares, before checking its memory. */
static int sharing_choose(struct mx_job *job)
{
    struct mx_trainer_flow *const flow = &job->options.flow;
    const struct mx_model_config model = {.mixed = job->settings.training.mixed_precision};
    const int able = mx_model_device_check(job->devices.data, &model);
    const struct mx_share_setup setup = {.asked = job->settings.pipeline.share_work,
                                         .two_devices = mx_device_pair_multi(&job->devices),
                                         .ranks = job->options.comm != NULL,
                                         .unable = able < 0};
    if (job->settings.training.part == MX_SETTINGS_PART_VOCODER) {
        mx_error_clear();
        if (setup.asked == MX_SHARE_ON)
            return MX_FAIL(MX_ERR_USAGE, "omit '--share-work'", "the work of a vocoder alone is not shared");
        flow->share = MX_SHARE_OFF;
        return 0;
    }
    const struct mx_share_choice choice = mx_share_choose(&setup);
    if (choice.refused)
        return choice.obstacle == MX_SHARE_UNABLE ? able
                                                  : mx_share_refuse(choice.obstacle, mx_device_name(job->device));
    mx_error_clear();
    if (choice.obstacle == MX_SHARE_UNABLE)
        mx_info("work sharing: stays off, because %s does not multiply bf16 numbers",
                mx_device_logical(job->devices.data));
    flow->share = choice.mode;
    return flow->share == MX_SHARE_OFF ? 0 : mx_shares_parse(job->settings.pipeline.shares, &flow->shares);
}

static int options_choose(struct mx_job *job)
{
    const struct mx_settings_training *const t = &job->settings.training;
    const struct mx_settings_data *const d = &job->settings.data;
    const int cores = mx_thread_cores(NULL, 0);
    const struct mx_settings_pipeline *const p = &job->settings.pipeline;
    const bool tuned = p->auto_tune && p->overlap && d->num_workers == 0;
    const int64_t most = tuned ? d->num_workers_max : MX_PIPELINE_WORKERS, half = cores > 3 ? cores / 2 : 1;
    const int64_t workers = mx_least(d->num_workers > 0 ? d->num_workers : half, most);
    /* With two devices the run itself waits this long for the first batch (loop.c): then the trainer tells at once
     * what is missing. */
    const double delay = mx_device_pair_multi(&job->devices) && p->overlap ? 0 : p->model_start_delay;
    const struct mx_trainer_flow flow = {.data_device = job->devices.data,
                                         .share = job->options.flow.share,
                                         .shares = job->options.flow.shares,
                                         .workers_max = (int32_t)(tuned ? most : workers),
                                         .buffer = mx_settings_buffer(&job->settings),
                                         .buffer_given = p->buffer_size > 0,
                                         .prefetch_given = p->prefetch_buffer_size > 0,
                                         .sequential = !p->overlap,
                                         .auto_tune = p->auto_tune,
                                         .static_shapes = p->static_shapes,
                                         .start_delay = delay > 0 ? delay : 1e-3,
                                         .spans = MX_JOB_SPANS,
                                         .augment = mx_settings_augment(&job->settings)};
    job->options =
        (struct mx_trainer_options){.device = job->device,
                                    .comm = job->options.comm,
                                    .dataset = job->dataset,
                                    .recipe = job->recipe,
                                    .optimizer.schedule = {.peak = t->learning_rate,
                                                           .floor = t->learning_rate_floor,
                                                           .steps = 1,
                                                           .cycles = (int32_t)t->cycles,
                                                           .cycle_decay = t->cycle_decay},
                                    .guard = {.skips_max = t->skips_max, .spike = t->spike},
                                    .balance = d->balance,
                                    .seed = (uint64_t)t->seed,
                                    .batch_size = (uint32_t)t->batch_size,
                                    .batch_frames = t->batch_frames > 0 ? (uint64_t)t->batch_frames : 0,
                                    .batch_even = t->batch_frames < 0 && t->batch_size != 1,
                                    .grad_accum = (int32_t)t->grad_accum,
                                    .workers = (int32_t)workers,
                                    .prefetch = mx_settings_prefetch(&job->settings),
                                    .flow = flow,
                                    .reference_seconds = d->reference_seconds,
                                    .optimizer.grad_clip = t->grad_clip,
                                    .optimizer.beta1 = t->beta1,
                                    .optimizer.beta2 = t->beta2,
                                    .optimizer.epsilon = t->epsilon,
                                    .optimizer.weight_decay = t->weight_decay,
                                    .optimizer.ema_decay = t->ema_decay,
                                    .validation_limit = mx_job_ranks_first(job) ? (uint32_t)t->eval_utterances : 0};
    mx_job_ranks_batch(job, &job->options);
    mx_job_state_batch(job);
    int rc = mx_job_vocoder_choose(job);
    if (rc == 0 && !job->options.vocoder_alone) rc = model_choose(job, &job->options.model);
    return rc < 0 ? rc : mx_job_learning_choose(job, mx_job_vocoder_there(job));
}

/* Validates what can be checked without the corpus, before folders are created. */
static int settings_check(const struct mx_job *job)
{
    const struct mx_settings_training *const t = &job->settings.training;
    const char *const path = job->settings.data.train_data;
    struct mx_shares shares;
    struct stat info;
    const struct mx_schedule schedule = {.peak = t->learning_rate,
                                         .floor = t->learning_rate_floor,
                                         .steps = 1,
                                         .cycles = (int32_t)t->cycles,
                                         .cycle_decay = t->cycle_decay};
    if (mx_model_size_find(job->settings.model.size) == NULL ||
        mx_vocoder_size_find(job->settings.vocoder.size) == NULL)
        return mx_error_last()->code;
    if (path[0] == '\0') return MX_FAIL(MX_ERR_USAGE, "give '--train-data DIR'", "there is nothing to train on");
    if (stat(path, &info) != 0)
        return MX_FAIL(MX_ERR_NOT_FOUND, "give '--train-data' a corpus folder, a manifest or a packed corpus",
                       "cannot find %s: %s", path, strerror(errno));
    const int rc = mx_shares_parse(job->settings.pipeline.shares, &shares);
    return rc < 0 ? rc : mx_schedule_check(&schedule);
}

int mx_job_open(struct mx_job *job, bool dry)
{
    int rc = 0;
    MX_TRY(settings_check(job));
    const char *const command = job->request.command != NULL ? job->request.command : "myxtts train";
    if (job->devices.registry == NULL) MX_TRY(mx_job_ranks_devices(job, command));
    job->device = job->devices.model;
    const struct mx_model_config asked = {.mixed = job->settings.training.mixed_precision};
    MX_TRY(mx_model_device_check(job->device, &asked));
    MX_TRY(sharing_choose(job));
    if (!dry) MX_TRY(run_open(job)); /* before its newest checkpoint is looked for */
    MX_TRY(origin_open(job));
    MX_TRY(origin_size_check(job));
    MX_TRY(recipe_choose(job));
    MX_TRY(mx_job_vocoder_open(job));
    MX_TRY(dataset_open(job));
    MX_TRY(mx_job_ranks_compare(job));
    MX_TRY(options_choose(job));
    MX_TRY(mx_job_memory_plan(job, dry));
    if (job->options.batch_even && !job->options.vocoder_alone)
        job->options.batch_frames = job->plan.batch_frames; /* what was chosen stays */
    MX_TRY(mx_job_length_choose(job));
out:
    return rc;
}

/* ---- start ---- */

/* From here on nothing refuses the run: its files are written. */
static int run_accept(struct mx_job *job, int64_t step)
{
    int rc = 0;
    char *const config = mx_format("%s/config.yaml", job->run), *const metrics =
                                                                    mx_format("%s/metrics.jsonl", job->run);
    if (config == NULL || metrics == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    MX_TRY(mx_job_folder_accept(&job->folder));
    MX_TRY(mx_config_write(&mx_settings_schema, &job->settings, config));
    if (job->request.resume == NULL && !job->options.vocoder_alone) MX_TRY(mx_job_voices(job));
    MX_TRY(mx_metrics_open(metrics, step, &job->metrics));
    mx_metrics_plan(job->metrics, job->steps);
out:
    mx_free(config);
    mx_free(metrics);
    return rc;
}

/* What every checkpoint says about the corpus. */
static int metadata_build(struct mx_job *job)
{
    const uint32_t speakers = mx_dataset_speaker_count(job->dataset);
    const struct mx_vocabulary *const words =
        job->vocabulary != NULL ? job->vocabulary : mx_dataset_vocabulary(job->dataset);
    job->names.speakers = mx_alloc(speakers, sizeof(const char *));
    if (job->names.speakers == NULL) return MX_ERR_NO_MEMORY;
    for (uint32_t i = 0; i < speakers; i++) job->names.speakers[i] = mx_dataset_speaker(job->dataset, i);
    const int rc = mx_job_speaker_languages(job, words);
    if (rc < 0) return rc;
    return mx_vocabulary_write(words, &job->names.vocabulary);
}

static int normaliser_choose(struct mx_job *job)
{
    const struct mx_checkpoint_state *const from = job->origin != NULL ? mx_checkpoint_state(job->origin) : NULL;
    int rc = 0;
    if (from != NULL)
        job->options.normaliser = from->normaliser;
    else if (mx_job_ranks_first(job))
        rc = mx_normaliser_measure(job->dataset, job->recipe, job->devices.data, &job->options.normaliser);
    return rc < 0 ? rc : mx_job_ranks_normaliser(job);
}

/* What happens to the recordings, in numbers. */
static void augment_log(const struct mx_augment_options *a)
{
    if (!mx_augment_active(a)) return;
    mx_info(
        "augmentation: level ±%g dB, speed ±%g %%, noise in %g %% of the recordings (%g to %g dB below), %d band and "
        "%d time masks",
        a->gain_db, 100 * a->speed, 100 * a->noise_share, a->snr_min_db, a->snr_max_db,
        a->band_width_max > 0 ? a->band_masks : 0, a->time_share_max > 0 ? a->time_masks : 0);
}

/* What a batch is, if its length was chosen. */
static void batches_log(const struct mx_job *job)
{
    char text[MX_JOB_BATCH_BYTES];
    if (job->options.batch_even && !job->options.vocoder_alone) mx_info("%s", mx_job_batch_text(job, text));
}

const char *mx_job_batch_text(const struct mx_job *job, char out[MX_JOB_BATCH_BYTES])
{
    const struct mx_trainer_memory_plan *const p = &job->plan;
    const double seconds = (double)p->batch_frames * job->recipe->hop / job->recipe->rate;
    if (!job->options.batch_even || job->options.vocoder_alone)
        snprintf(out, MX_JOB_BATCH_BYTES, "%" PRIu32 " batches of at most %d %s an epoch", p->epoch_batches,
                 (int)p->capacity.model.sequences, job->options.vocoder_alone ? "segments" : "utterances");
    else
        snprintf(out, MX_JOB_BATCH_BYTES,
                 "%" PRIu32 " batches of equal work an epoch: %.1f utterances on average, several together at most "
                 "%" PRIu64 " mel frames (%.1f s)",
                 p->epoch_batches, p->utterances / (double)p->epoch_batches, p->batch_frames, seconds);
    return out;
}

uint64_t mx_job_host_bytes(const struct mx_job *job)
{
    const struct mx_model_memory_plan *const m = &job->plan.model, *const v = &job->plan.vocoder;
    const struct mx_trainer_options *const o = &job->options;
    const int32_t acoustic = 1 + mx_trainer_optimizer(o, MX_PART_ACOUSTIC)->state_count;
    const int32_t vocoder = 1 + mx_trainer_optimizer(o, MX_PART_VOCODER)->state_count;
    return m->parameters_bytes + (uint64_t)acoustic * m->ema_bytes + v->parameters_bytes +
           (uint64_t)vocoder * v->ema_bytes;
}

static void number_log(const char *what, int32_t now, int32_t most, bool given, bool tuned)
{
    if (given)
        mx_info("   - %s: %d (given)", what, (int)now);
    else if (tuned && now < most)
        mx_info("   - %s: %d at first, up to %d (chosen by auto-tune)", what, (int)now, (int)most);
    else
        mx_info("   - %s: %d (chosen)", what, (int)now);
}

/* Logs the buffers: given numbers are used as they are, all others are chosen, and with auto-tuning they
 * follow the flow between what is in use at first and what there is memory for. Read from the pipeline itself, so that
 * what is said is what is used. */
static void buffers_log(const struct mx_job *job)
{
    const struct mx_settings *const s = &job->settings;
    struct mx_pipeline_tuning now, most;
    if (!s->pipeline.overlap) return; /* nothing is made ahead, as the start has said */
    mx_pipeline_tuning(mx_trainer_pipeline(job->trainer), &now, &most);
    const bool tuned = s->pipeline.auto_tune;
    number_log("Prepared batches", now.prepared, most.prepared, job->options.flow.buffer_given, tuned);
    number_log("Loaded batches", now.loaded, most.loaded, job->options.flow.prefetch_given, tuned);
    number_log("Load workers", now.workers, most.workers, s->data.num_workers > 0, tuned);
}

/* The cache of a resumed run gets the recordings that it lacks: from here on, since nothing is refused any more. */
static int cache_continue(const struct mx_job *job)
{
    const struct mx_settings_data *const d = &job->settings.data;
    bool packed;
    if (job->request.resume == NULL || !mx_job_ranks_first(job) || !d->caching) return 0;
    const int rc = mx_packed_detect(d->train_data, &packed);
    if (rc < 0 || packed) return rc;
    char *const cache = mx_format("%s/" CACHE_FILE, job->run);
    if (cache == NULL) return MX_ERR_NO_MEMORY;
    mx_dataset_cache_begin(job->dataset, cache);
    mx_free(cache);
    return 0;
}

int mx_job_start(struct mx_job *job)
{
    int rc = 0;
    struct mx_trainer_state state;
    const bool first = mx_job_ranks_first(job), alone = job->options.vocoder_alone;
    MX_TRY(metadata_build(job));
    MX_TRY(normaliser_choose(job)); /* which loads many recordings: what is damaged shows */
    if (first && job->request.resume == NULL) MX_TRY(mx_job_rejects(job));
    mx_info("%s: %" PRIu32 " utterances to train on, %" PRIu32 " for validation; %.1f M parameters on %s (%s)",
            job->run, job->plan.utterances, job->plan.validation,
            (double)(alone ? job->plan.vocoder.parameters : job->plan.model.parameters) * 1e-6,
            mx_device_name(job->device), mx_device_info(job->device)->name);
    mx_job_vocoder_log(job);
    mx_job_learning_log(job);
    batches_log(job);
    mx_job_auto_log(job);
    mx_job_ranks_log(job);
    MX_TRY(mx_job_ranks_sums(job));
    augment_log(&job->options.flow.augment);
    mx_device_pair_log(&job->devices, &job->settings, job->options.flow.buffer);
    MX_TRY(mx_job_memory_log(job));
    char place[MX_DEVICE_PAIR_PLACE_BYTES];
    mx_info("Creating model on %s%s",
            job->devices.choice.plain ? "" : "device: ", mx_device_pair_place(&job->devices, job->device, place));
    MX_TRY(cache_continue(job));
    MX_TRY(mx_trainer_create(&job->options, &job->trainer));
    job->host = mx_alloc(1, (size_t)mx_job_host_bytes(job));
    if (job->host == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    MX_TRY(mx_job_restore(job, &state));
    if (first) {
        MX_TRY(mx_job_samples_open(job));
        MX_TRY(run_accept(job, state.step));
        MX_TRY(mx_job_rejects(job));
    }
    MX_TRY(mx_trainer_start(job->trainer, &state));
    buffers_log(job);
    if (job->request.resume != NULL)
        mx_info("continuing after step %" PRId64 " of %" PRId64 ", epoch %" PRIu32, state.step, job->steps,
                state.epoch);
out:
    return rc;
}

void mx_job_close(struct mx_job *job)
{
    const struct mx_error failure = *mx_error_last(); /* the reason it ends; errors about files must not replace it */
    mx_metrics_close(job->metrics);
    mx_speaker_destroy(job->speech.speaker);
    mx_speak_destroy(job->speech.speak);
    mx_extract_destroy(job->speech.pictures);
    mx_dataset_reader_destroy(job->speech.reader);
    mx_trainer_destroy(job->trainer);
    mx_dataset_close(job->dataset);
    mx_vocabulary_destroy(job->vocabulary);
    mx_lexicon_destroy(job->lexicon);
    mx_checkpoint_close(job->origin);
    mx_checkpoint_close(job->vocoder_origin);
    mx_job_ranks_release(job);
    mx_device_pair_close(&job->devices);
    mx_free(job->host);
    mx_free(job->names.vocabulary);
    mx_free(job->names.speakers);
    mx_free(job->names.languages);
    mx_job_folder_close(&job->folder);
    mx_free(job->run);
    if (failure.code != 0) mx_error_restore(&failure);
}

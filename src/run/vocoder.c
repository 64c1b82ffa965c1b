/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The vocoder of a run: whether there is one, where it comes from, and whether it is trained. See networks.h.
 *
 *     new            trained from scratch
 *     vocoder.from   taken from another run's checkpoint; it is not trained unless it has a learning rate
 *     --init-from    the checkpoint's vocoder, if it has one, is the beginning of this run's
 *     --resume       the run's own. If the run has none, a new one begins; if it is no longer trained, it is kept.
 *
 * Memory: job->vocoder_origin belongs to the job.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "myxtts/error.h"
#include "run/job.h"
#include "run/networks.h"

static const struct mx_checkpoint_state *state_of(const struct mx_checkpoint *checkpoint)
{
    return checkpoint != NULL ? mx_checkpoint_state(checkpoint) : NULL;
}

/* The checkpoint that the vocoder of this run is in; NULL: it is a new one. */
static const struct mx_checkpoint *source_of(const struct mx_job *job)
{
    const struct mx_checkpoint_state *const state = state_of(job->origin);
    if (job->vocoder_origin != NULL) return job->vocoder_origin;
    return state != NULL && state->has_vocoder ? job->origin : NULL;
}

/* ---- choices ---- */

/* A resumed run keeps the networks that it has. */
static int parts_check(const struct mx_job *job)
{
    const enum mx_settings_part part = job->settings.training.part;
    const struct mx_checkpoint_state *const state = state_of(job->origin);
    if (state == NULL || (part == MX_SETTINGS_PART_VOCODER) == state->vocoder_alone) return 0;
    if (state->vocoder_alone)
        return MX_FAIL(MX_ERR_USAGE,
                       job->request.resume != NULL ? "omit '--part'; or start a new run with '--vocoder' and this one"
                                                   : "give it to '--vocoder' instead",
                       "%s is a vocoder alone: it has no acoustic network to go on with",
                       mx_checkpoint_path(job->origin));
    if (job->request.resume == NULL) return 0; /* its vocoder is wanted, and nothing is lost */
    return MX_FAIL(MX_ERR_USAGE, "omit '--part'; or start a new run with '--vocoder' and this one",
                   "the run has an acoustic network, which '--part vocoder' would lose");
}

/* A resumed run has its vocoder in its own checkpoint: another one than it began with is not taken. */
static int from_check(const struct mx_job *job)
{
    int rc = 0;
    struct mx_settings before;
    const char *const text = mx_checkpoint_state(job->origin)->config;
    MX_TRY(mx_config_defaults(&mx_settings_schema, &before));
    rc = mx_config_load_text(&mx_settings_schema, &before, mx_checkpoint_path(job->origin), text, strlen(text));
    const bool other = rc >= 0 && strcmp(before.vocoder.from, job->settings.vocoder.from) != 0;
    mx_config_release(&mx_settings_schema, &before);
    if (other)
        MX_RAISE(MX_ERR_USAGE, "omit '--vocoder'; or start a new run with '--init-from' and this one",
                 "the run has a vocoder, which '--vocoder %s' would lose", job->settings.vocoder.from);
out:
    return rc;
}

int mx_job_vocoder_open(struct mx_job *job)
{
    int rc = 0;
    const struct mx_settings_vocoder *const v = &job->settings.vocoder;
    const enum mx_settings_part part = job->settings.training.part;
    MX_TRY(parts_check(job));
    if (part == MX_SETTINGS_PART_ACOUSTIC && v->learning_rate > 0 && job->request.resume == NULL)
        MX_RAISE(MX_ERR_USAGE, "omit '--vocoder-lr', or train both with '--part both'",
                 "'--vocoder-lr' trains the vocoder, and '--part acoustic' does not");
    if (part == MX_SETTINGS_PART_VOCODER && job->origin != NULL && v->from[0] == '\0')
        MX_TRY(mx_checkpoint_vocoder_check(job->origin)); /* nothing else of '--init-from' is wanted */
    /* A resumed run has its vocoder in its own checkpoint, unless it began before there was one. */
    const struct mx_checkpoint_state *const state = state_of(job->origin);
    const bool own = job->request.resume != NULL && state != NULL && state->has_vocoder;
    if (v->from[0] != '\0' && own) MX_TRY(from_check(job));
    if (v->from[0] != '\0' && !own) {
        const struct mx_checkpoint_options finite = {.finite = true, .named = true};
        MX_TRY(mx_checkpoint_open(v->from, &finite, &job->vocoder_origin));
        MX_TRY(mx_checkpoint_vocoder_check(job->vocoder_origin));
        const struct mx_recipe *const made = mx_checkpoint_recipe(job->vocoder_origin);
        if (made != job->recipe) {
            MX_FAIL(MX_ERR_DATA, NULL, "the vocoder %s was trained on features of the recipe %s, the run has %s",
                    v->from, made->name, job->recipe->name);
            mx_error_hint("train with '--recipe %s', or choose another vocoder", made->name);
            rc = MX_ERR_DATA;
            goto out;
        }
    }
    if (part == MX_SETTINGS_PART_VOCODER && v->learning_rate == 0)
        MX_RAISE(MX_ERR_USAGE, "'--vocoder-lr 0.0003' goes on with it",
                 "there is nothing to train: the vocoder is ready");
out:
    return rc;
}

/* The size: that of the checkpoint, if it comes from one. */
static int size_choose(struct mx_job *job, struct mx_vocoder_size *out)
{
    struct mx_settings_vocoder *const v = &job->settings.vocoder;
    const struct mx_checkpoint *const source = source_of(job);
    const struct mx_vocoder_size *const named = mx_vocoder_size_find(v->size);
    if (source == NULL) {
        if (named == NULL) return mx_error_last()->code;
        *out = *named;
        return 0;
    }
    mx_error_clear();
    *out = mx_checkpoint_state(source)->vocoder.size;
    if (strcmp(v->size, out->name) == 0) return 0;
    mx_info("the vocoder is that of %s: %s, width %d, %d blocks of %d", mx_checkpoint_path(source), out->name,
            (int)out->width, (int)out->blocks, (int)out->hidden);
    snprintf(v->size, sizeof v->size, "%s", out->name);
    return 0;
}

int mx_job_vocoder_choose(struct mx_job *job)
{
    const struct mx_settings_vocoder *const v = &job->settings.vocoder;
    const enum mx_settings_part part = job->settings.training.part;
    const bool sound = mx_dataset_kind(job->dataset) == MX_PACKED_AUDIO;
    const bool there = source_of(job) != NULL;
    const int32_t ranks = job->settings.training.batch_per_rank ? mx_comm_size(job->options.comm) : 1;
    const int32_t count = (int32_t)v->segments * ranks; /* of all of them */
    bool trained = part != MX_SETTINGS_PART_ACOUSTIC && v->learning_rate > 0;
    struct mx_trainer_options *const o = &job->options;
    if (trained && part == MX_SETTINGS_PART_BOTH && !sound) {
        mx_warn("the vocoder is not trained: precomputed features have no sound%s",
                there ? "" : ", and Griffin-Lim speaks instead; 'myxtts prepare' without '--features' keeps the sound");
        trained = false;
    }
    o->vocoder_alone = part == MX_SETTINGS_PART_VOCODER;
    o->with_vocoder = trained || there;
    if (!o->with_vocoder) return 0;
    o->vocoder = (struct mx_trainer_vocoder){
        .weights = mx_vocoder_loss_weights_default,
        .mixed = job->settings.training.mixed_precision,
        .ready = !trained,
        .segments = {.count = count, .frames = (int32_t)v->segment_frames, .augment = v->augment},
        .predicted_from = v->predicted_from,
        .predicted_share = v->predicted_share,
        .optimizer = {
            .schedule =
                {.peak = v->learning_rate, .floor = v->learning_rate_floor, .steps = 1, .cycles = 1, .cycle_decay = 1},
            .grad_clip = v->grad_clip,
            .beta1 = v->beta1,
            .beta2 = v->beta2,
            .epsilon = job->settings.training.epsilon,
            .weight_decay = v->weight_decay,
            .ema_decay = v->ema_decay}};
    return size_choose(job, &o->vocoder.size);
}

bool mx_job_vocoder_there(const struct mx_job *job)
{
    return source_of(job) != NULL;
}

void mx_job_vocoder_steps(struct mx_job *job)
{
    const int64_t warmup = job->settings.vocoder.warmup_steps;
    struct mx_schedule *const s = &job->options.vocoder.optimizer.schedule;
    s->steps = job->steps;
    s->warmup = warmup < job->steps / 10 ? warmup : job->steps / 10;
}

void mx_job_vocoder_log(const struct mx_job *job)
{
    const struct mx_trainer_vocoder *const v = &job->options.vocoder;
    const double millions = (double)job->plan.vocoder.parameters * 1e-6;
    const struct mx_checkpoint *const source = source_of(job);
    if (!job->options.with_vocoder) return;
    if (v->ready)
        mx_info("vocoder: %s, %.2f M parameters, from %s; it is not trained", v->size.name, millions,
                mx_checkpoint_path(source));
    else if (job->options.vocoder_alone)
        mx_info("vocoder: %s, %.2f M parameters, %d segments of %d frames a batch", v->size.name, millions,
                (int)v->segments.count, (int)v->segments.frames);
    else
        mx_info(
            "vocoder: %s, %.2f M parameters, %d segments of %d frames a batch: about %.1f %% of the arithmetic of a "
            "step",
            v->size.name, millions, (int)v->segments.count, (int)v->segments.frames, 100 * job->plan.vocoder_share);
}

void mx_job_vocoder_share_log(const struct mx_job *job)
{
    if (job->pace.vocoder_ns == 0 || job->pace.steps_ns == 0 || job->options.vocoder_alone) return;
    mx_info("the vocoder took %.1f %% of the time of the steps",
            100 * (double)job->pace.vocoder_ns / (double)job->pace.steps_ns);
}

/* ---- weights ---- */

/* A run begins with the vocoder of another one, or continues with one that was not trained before. */
static int weights_begin(struct mx_job *job, const struct mx_checkpoint *source, const struct mx_trainer_arrays *arrays)
{
    int rc = 0;
    const struct mx_parameters *const table = mx_trainer_parameters(job->trainer, MX_PART_VOCODER);
    const size_t bytes = (size_t)table->learned * sizeof(float);
    MX_TRY(mx_checkpoint_load_average(source, table, arrays->weights));
    if (!job->options.vocoder.ready) {
        memcpy(arrays->average, arrays->weights, bytes);
        for (int i = 0; i < MX_OPTIMIZER_STATES; i++)
            if (arrays->states[i] != NULL) memset(arrays->states[i], 0, bytes);
    }
    MX_TRY(mx_trainer_write(job->trainer, MX_PART_VOCODER, arrays));
out:
    return rc;
}

int mx_job_vocoder_restore(struct mx_job *job, const struct mx_trainer_arrays *arrays, bool *whole)
{
    int rc = 0;
    const struct mx_parameters *const table = mx_trainer_parameters(job->trainer, MX_PART_VOCODER);
    const struct mx_checkpoint *const source = source_of(job);
    *whole = false;
    if (table == NULL) return 0;
    if (source == NULL) {
        if (job->request.resume != NULL) mx_info("the run has no vocoder so far: a new one begins here");
        return 0;
    }
    const bool trained = mx_checkpoint_has(source, MX_CHECKPOINT_VOCODER, MX_CHECKPOINT_AVERAGE);
    *whole = job->request.resume != NULL && source == job->origin && trained && !job->options.vocoder.ready;
    if (!*whole) return weights_begin(job, source, arrays);
    const struct mx_checkpoint_target target = mx_job_arrays_target(arrays);
    MX_TRY(mx_checkpoint_load(source, table, &target, false, NULL));
    MX_TRY(mx_trainer_write(job->trainer, MX_PART_VOCODER, arrays));
out:
    return rc;
}

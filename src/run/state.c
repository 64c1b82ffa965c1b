/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Between the trainer and its checkpoints: what is saved, and how a run is restored. See state.h.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "corpus/audio/audio.h"
#include "features/recipe.h"
#include "myxtts/error.h"
#include "run/job.h"
#include "run/length.h"
#include "run/networks.h"
#include "run/state.h"

/* ---- the names of the trainer's state ---- */

/* The state of each part: whole numbers, then fractions, of struct mx_part_state. */
#define PART(name, member)                                                                                             \
    {                                                                                                                  \
        {name, "vocoder." name}, offsetof(struct mx_part_state, member)                                                \
    }
struct part_value {
    const char *keys[MX_PARTS];
    size_t offset;
};
static const struct part_value counts[] = {PART("updates", updates), PART("guard.seen", guard.seen),
                                           PART("guard.skipped", guard.skipped), PART("guard.in_row", guard.in_row),
                                           PART("guard.spikes", guard.spikes)};
static const struct part_value fractions[] = {
    PART("guard.loss_mean", guard.loss.mean), PART("guard.loss_variance", guard.loss.variance),
    PART("guard.norm_mean", guard.norm.mean), PART("guard.norm_variance", guard.norm.variance)};
#undef PART
#define COUNTS    (sizeof counts / sizeof counts[0])
#define FRACTIONS (sizeof fractions / sizeof fractions[0])
#define DATA(X)                                                                                                        \
    X("data.texts", texts)                                                                                             \
    X("data.recordings", recordings)                                                                                   \
    X("data.recipe", recipe)
#define DATA_LIST     "data.list" /* version of the rules that make the list of utterances: DATA_LIST_NOW */
#define DATA_LIST_NOW "2"
#define DATA_CONTENTS "data.contents"
#define DATA_PIECES   "data.pieces" /* "true"; only where long rows were cut (long.c) */
#define EXTRAS        46
#define SHARES        "shares"         /* train/share_policy.h; only where there were any */
#define DUE           "evaluation_due" /* "true"; only where the run ended before the evaluation of the step was complete */

#define BATCH                                                                                                          \
    "batch" /* "SIZE:FRAMES", with steps of equal work: the batch size, and the longest batch that followed from it */

#define AUTO(X)                                                                                                        \
    X("auto_stop.step", step)                                                                                          \
    X("auto_stop.from", from)                                                                                          \
    X("auto_stop.end", end)
#define AUTO_VALUE "auto_stop.value" /* only once there is one */
#define AUTO_LACKS "auto_stop.lacks" /* "true"; only where the value is a loss */

/* Only while the learning rate falls because of the time limit. */
#define LIMIT_FROM    "time_limit.from"
#define LIMIT_END     "time_limit.end"
#define LIMIT_MINUTES "time_limit.minutes"

struct extras {
    struct mx_metadata list[EXTRAS];
    char texts[EXTRAS][MX_STRING_DOUBLE_BYTES];
    char shares[MX_SHARES_TEXT_BYTES];
};

static size_t part_write(const struct mx_trainer_state *state, enum mx_part part, struct extras *extras, size_t n)
{
    const char *const values = (const char *)&state->parts[part];
    for (size_t i = 0; i < COUNTS; i++, n++) {
        const int64_t value = *(const int64_t *)(const void *)(values + counts[i].offset);
        snprintf(extras->texts[n], sizeof extras->texts[n], "%" PRId64, value);
        extras->list[n] = (struct mx_metadata){counts[i].keys[part], extras->texts[n]};
    }
    for (size_t i = 0; i < FRACTIONS; i++, n++) {
        mx_string_from_double(*(const double *)(const void *)(values + fractions[i].offset), extras->texts[n]);
        extras->list[n] = (struct mx_metadata){fractions[i].keys[part], extras->texts[n]};
    }
    return n;
}

static size_t auto_write(const struct mx_job *job, struct extras *extras, size_t n)
{
    const struct mx_auto_stop *const a = &job->auto_stop;
    if (!a->known) return n;
    mx_string_from_double(a->value, extras->texts[n]);
    extras->list[n] = (struct mx_metadata){AUTO_VALUE, extras->texts[n]};
    n++;
#define X(word, member)                                                                                                \
    snprintf(extras->texts[n], sizeof extras->texts[n], "%" PRId64, a->member);                                        \
    extras->list[n] = (struct mx_metadata){word, extras->texts[n]};                                                    \
    n++;
    AUTO(X)
#undef X
    if (a->lacks) extras->list[n++] = (struct mx_metadata){AUTO_LACKS, "true"};
    if (mx_job_auto_learned(job) && job->best.known)
        extras->list[n++] = (struct mx_metadata){MX_CHECKPOINT_SPEAKS, MX_CHECKPOINT_SPEAKS_BEST};
    return n;
}

static size_t limit_write(const struct mx_job *job, struct extras *extras, size_t n)
{
    const struct mx_job_limit *const limit = &job->limit;
    if (limit->from == 0 || mx_job_limit_reached(job)) return n;
    snprintf(extras->texts[n], sizeof extras->texts[n], "%" PRId64, limit->from);
    extras->list[n] = (struct mx_metadata){LIMIT_FROM, extras->texts[n]};
    n++;
    snprintf(extras->texts[n], sizeof extras->texts[n], "%" PRId64, limit->end);
    extras->list[n] = (struct mx_metadata){LIMIT_END, extras->texts[n]};
    n++;
    mx_string_from_double(limit->minutes, extras->texts[n]);
    extras->list[n] = (struct mx_metadata){LIMIT_MINUTES, extras->texts[n]};
    return n + 1;
}

static size_t extras_write(const struct mx_job *job, struct extras *extras)
{
    size_t n = 0;
    const struct mx_trainer_state *const state = mx_trainer_state(job->trainer);
    const bool vocoder = job->options.with_vocoder && !job->options.vocoder.ready;
    const struct mx_dataset_prints prints = mx_dataset_prints(job->dataset), *const data = &prints;
    extras->list[n++] = (struct mx_metadata){DATA_LIST, DATA_LIST_NOW};
    const uint64_t read = mx_dataset_contents(job->dataset), contents = read != 0 ? read : job->corpus.contents;
    if (contents != 0) {
        snprintf(extras->texts[n], sizeof extras->texts[n], "%016" PRIx64, contents);
        extras->list[n] = (struct mx_metadata){DATA_CONTENTS, extras->texts[n]};
        n++;
    }
    if (job->corpus.has_pieces) extras->list[n++] = (struct mx_metadata){DATA_PIECES, "true"};
    if (!job->options.vocoder_alone) n = part_write(state, MX_PART_ACOUSTIC, extras, n);
#define X(word, member)                                                                                                \
    snprintf(extras->texts[n], sizeof extras->texts[n], "%016" PRIx64, data->member);                                  \
    extras->list[n] = (struct mx_metadata){word, extras->texts[n]};                                                    \
    n++;
    DATA(X)
#undef X
    if (job->options.batch_even && !job->options.vocoder_alone) {
        snprintf(extras->texts[n], sizeof extras->texts[n], "%" PRIu32 ":%" PRIu64, job->options.batch_size,
                 job->options.batch_frames);
        extras->list[n] = (struct mx_metadata){BATCH, extras->texts[n]};
        n++;
    }
    n = auto_write(job, extras, n);
    n = limit_write(job, extras, n);
    mx_shares_format(&state->shares, extras->shares);
    if (state->shares.count > 0) extras->list[n++] = (struct mx_metadata){SHARES, extras->shares};
    if (job->evaluations.due) extras->list[n++] = (struct mx_metadata){DUE, "true"};
    n += mx_job_base_write(job, extras->list + n);
    return vocoder ? part_write(state, MX_PART_VOCODER, extras, n) : n;
}

static int extra_missing(const char *key)
{
    return MX_FAIL(MX_ERR_FORMAT, "--init-from takes only the weights",
                   "the checkpoint lacks '%s', which a run needs to continue", key);
}

static int part_read(const struct mx_checkpoint_state *from, enum mx_part part, struct mx_trainer_state *state)
{
    char *const values = (char *)&state->parts[part];
    for (size_t i = 0; i < COUNTS; i++) {
        const char *const text = mx_checkpoint_extra(from, counts[i].keys[part]);
        int64_t *const to = (int64_t *)(void *)(values + counts[i].offset);
        if (text == NULL || mx_string_parse_int64(text, to) != MX_STRING_NUMBER)
            return extra_missing(counts[i].keys[part]);
    }
    for (size_t i = 0; i < FRACTIONS; i++) {
        const char *const text = mx_checkpoint_extra(from, fractions[i].keys[part]);
        double *const to = (double *)(void *)(values + fractions[i].offset);
        if (text == NULL || mx_string_parse_double(text, to) != MX_STRING_NUMBER)
            return extra_missing(fractions[i].keys[part]);
    }
    return 0;
}

/* ---- saving ---- */

/* Room for the arrays of a part that the trainer has: weights, average and the state of its optimizer, part after part
 * (mx_job_host_bytes). */
static struct mx_trainer_arrays arrays_of(const struct mx_job *job, enum mx_part part)
{
    const struct mx_parameters *const before = mx_trainer_parameters(job->trainer, MX_PART_ACOUSTIC);
    const struct mx_parameters *const table = mx_trainer_parameters(job->trainer, part);
    const bool second = part == MX_PART_VOCODER && before != NULL;
    const struct mx_optimizer *const optimizer = mx_trainer_optimizer(&job->options, part);
    const int32_t others = 1 + mx_trainer_optimizer(&job->options, MX_PART_ACOUSTIC)->state_count;
    float *const at = job->host + (second ? before->floats + others * before->learned : 0);
    if (table == NULL) return (struct mx_trainer_arrays){0};
    if (part == MX_PART_VOCODER && job->options.vocoder.ready) return (struct mx_trainer_arrays){.weights = at};
    struct mx_trainer_arrays arrays = {.weights = at, .average = at + table->floats};
    for (int32_t i = 0; i < optimizer->state_count; i++)
        arrays.states[optimizer->states[i]] = arrays.average + (i + 1) * table->learned;
    return arrays;
}

struct mx_checkpoint_target mx_job_arrays_target(const struct mx_trainer_arrays *arrays)
{
    struct mx_checkpoint_target target = {
        {[MX_CHECKPOINT_WEIGHTS] = arrays->weights, [MX_CHECKPOINT_AVERAGE] = arrays->average}};
    for (int i = 0; i < MX_OPTIMIZER_STATES; i++) target.groups[MX_CHECKPOINT_STATES + i] = arrays->states[i];
    return target;
}

/* Reads all networks of the trainer; returns their number or a negative code. A vocoder that is not trained has only
 * weights. */
static int sources_read(const struct mx_job *job, struct mx_checkpoint_source sources[MX_PARTS])
{
    int count = 0;
    for (enum mx_part part = MX_PART_ACOUSTIC; part < MX_PARTS; part++) {
        const struct mx_parameters *const table = mx_trainer_parameters(job->trainer, part);
        const struct mx_trainer_arrays a = arrays_of(job, part);
        if (table == NULL) continue;
        const int rc = mx_trainer_read(job->trainer, part, &a);
        if (rc < 0) return rc;
        const struct mx_checkpoint_target groups = mx_job_arrays_target(&a);
        sources[count].table = table;
        memcpy(sources[count++].groups, groups.groups, sizeof groups.groups);
    }
    return count;
}

/* Numbers of the last evaluation, by name: what was measured, without the counts. */
static size_t metrics_write(const struct mx_job *job, struct mx_checkpoint_metric metrics[MX_EVALUATION_METRICS])
{
    const struct mx_evaluation_metrics m =
        mx_evaluation_metrics_of(mx_trainer_state(job->trainer)->step, &job->evaluations.last);
    size_t n = 0;
    if (!job->evaluations.known || job->evaluations.last.utterances == 0) return 0;
    for (int i = 0; i < MX_EVALUATION_METRICS; i++) {
        const struct mx_metric *const metric = &mx_evaluation_metric_table[i];
        if (metric->type == MX_METRIC_COUNT) continue;
        /* A vocoder alone has no losses of the acoustic network. */
        const bool always = metric->presence == MX_METRIC_ALWAYS && !job->options.vocoder_alone;
        if (always || isfinite(m.values[i])) metrics[n++] = (struct mx_checkpoint_metric){metric->key, m.values[i]};
    }
    return n;
}

int mx_job_save(struct mx_job *job, bool best)
{
    int rc = 0;
    const struct mx_trainer_state *const at = mx_trainer_state(job->trainer);
    const struct mx_settings_training *const t = &job->settings.training;
    struct mx_checkpoint_source sources[MX_PARTS];
    struct mx_checkpoint_metric metrics[MX_EVALUATION_METRICS];
    struct extras extras;
    char hash[MX_RECIPE_HASH_BYTES], *folder = NULL, *config = NULL;
    config = mx_config_format(&mx_settings_schema, &job->settings);
    folder = mx_format("%s/" MX_CHECKPOINT_FOLDER, job->run);
    if (config == NULL || folder == NULL) MX_TRY(mx_error_last()->code);
    const struct mx_checkpoint_state state = {
        .step = (uint64_t)at->step,
        .epoch = at->epoch,
        .step_in_epoch = at->batch,
        .pass = at->passes,
        .seed = job->options.seed,
        .data_fingerprint = mx_dataset_fingerprint(job->dataset),
        .has_best = job->best.known,
        .best = job->best.value,
        .best_step = job->best.step,
        .metrics = metrics,
        .metric_count = metrics_write(job, metrics),
        .extras = extras.list,
        .extra_count = extras_write(job, &extras),
        .config = config,
        .vocoder_alone = job->options.vocoder_alone,
        .has_vocoder = job->options.with_vocoder,
        .vocoder = mx_trainer_vocoder_config(&job->options),
        .model = job->options.model,
        .vocabulary = job->names.vocabulary,
        .speakers = job->names.speakers,
        .speaker_count = mx_dataset_speaker_count(job->dataset),
        .speaker_languages = job->names.languages,
        .normaliser = job->options.normaliser,
        .recipe = job->recipe->name,
        .recipe_hash = mx_recipe_hash_text(job->recipe, hash),
        .cleaner_version = (uint64_t)mx_vocabulary_cleaner(
            job->vocabulary != NULL ? job->vocabulary : mx_dataset_vocabulary(job->dataset)),
        .audio_version = MX_AUDIO_VERSION,
    };
    const int count = sources_read(job, sources);
    MX_TRY(count);
    MX_TRY(mx_checkpoint_save(
        folder, &state, sources, (size_t)count,
        &(struct mx_checkpoint_keep){.last = t->keep_last, .every = (uint64_t)t->keep_every, .best = best}));
    mx_debug("saved step %" PRId64, at->step);
    job->saved.step = at->step;
out:
    mx_free(folder);
    mx_free(config);
    return rc;
}

/* ---- restoring ---- */

bool mx_job_state_pieces(const struct mx_checkpoint *checkpoint)
{
    const struct mx_checkpoint_state *const state = mx_checkpoint_state(checkpoint);
    return state != NULL && mx_checkpoint_extra(state, DATA_PIECES) != NULL;
}

static bool print_same(const struct mx_checkpoint_state *from, const char *key, uint64_t now)
{
    char text[MX_STRING_DOUBLE_BYTES];
    const char *const kept = mx_checkpoint_extra(from, key);
    snprintf(text, sizeof text, "%016" PRIx64, now);
    return kept != NULL && strcmp(kept, text) == 0;
}

bool mx_job_state_due(const struct mx_checkpoint *checkpoint)
{
    return mx_checkpoint_extra(mx_checkpoint_state(checkpoint), DUE) != NULL;
}

void mx_job_state_auto(struct mx_job *job)
{
    const struct mx_checkpoint_state *const from = job->origin != NULL ? mx_checkpoint_state(job->origin) : NULL;
    const char *const value = from != NULL ? mx_checkpoint_extra(from, AUTO_VALUE) : NULL;
    struct mx_auto_stop a = {0};
    bool whole = value != NULL && mx_string_parse_double(value, &a.value) == MX_STRING_NUMBER;
#define X(word, member)                                                                                                \
    const char *const text_##member = whole ? mx_checkpoint_extra(from, word) : NULL;                                  \
    whole = text_##member != NULL && mx_string_parse_int64(text_##member, &a.member) == MX_STRING_NUMBER;
    AUTO(X)
#undef X
    a.known = whole;
    a.lacks = whole && mx_checkpoint_extra(from, AUTO_LACKS) != NULL;
    if (whole) job->auto_stop = a;
}

bool mx_job_state_limit(const struct mx_job *job, struct mx_job_limit *out)
{
    const struct mx_checkpoint_state *const from = mx_checkpoint_state(job->origin);
    const char *const minutes = mx_checkpoint_extra(from, LIMIT_MINUTES);
    const char *const first = mx_checkpoint_extra(from, LIMIT_FROM), *const end = mx_checkpoint_extra(from, LIMIT_END);
    return minutes != NULL && first != NULL && end != NULL &&
           mx_string_parse_double(minutes, &out->minutes) == MX_STRING_NUMBER &&
           mx_string_parse_int64(first, &out->from) == MX_STRING_NUMBER &&
           mx_string_parse_int64(end, &out->end) == MX_STRING_NUMBER && out->from > 0 && out->from < out->end;
}

void mx_job_state_batch(struct mx_job *job)
{
    const struct mx_checkpoint_state *const from = job->origin != NULL ? mx_checkpoint_state(job->origin) : NULL;
    const char *const kept = from != NULL ? mx_checkpoint_extra(from, BATCH) : NULL;
    uint32_t size;
    uint64_t frames;
    if (!job->options.batch_even || job->request.resume == NULL || kept == NULL) return;
    if (sscanf(kept, "%" SCNu32 ":%" SCNu64, &size, &frames) == 2 && size == job->options.batch_size)
        job->options.batch_frames = frames;
}

static int weights_restore(struct mx_job *job)
{
    int rc = 0;
    const struct mx_trainer_arrays arrays = arrays_of(job, MX_PART_ACOUSTIC);
    const struct mx_parameters *const table = mx_trainer_parameters(job->trainer, MX_PART_ACOUSTIC);
    const size_t bytes = (size_t)table->learned * sizeof(float);
    /* Adapters were learned beside the averaged weights of their base. */
    const bool averaged = table->learned < table->floats || mx_checkpoint_base(job->origin) != NULL;
    struct mx_checkpoint_report report;
    MX_TRY(mx_trainer_read(job->trainer, MX_PART_ACOUSTIC,
                           &arrays)); /* what does not come from the file is as in a new run */
    MX_TRY(mx_checkpoint_load_begin(job->origin, table, averaged, job->request.partial, arrays.weights, &report));
    memcpy(arrays.average, arrays.weights, bytes);
    MX_TRY(mx_trainer_write(job->trainer, MX_PART_ACOUSTIC, &arrays));
    mx_info("weights from %s: %zu tensors", mx_checkpoint_path(job->origin), report.loaded);
    if (!mx_checkpoint_listens(job->origin))
        mx_warn("%s cannot listen to recordings: that part of the network is reinitialised",
                mx_checkpoint_path(job->origin));
out:
    return rc;
}

int mx_job_state_compare(const struct mx_job *job)
{
    const struct mx_checkpoint_state *const from = mx_checkpoint_state(job->origin);
    const struct mx_dataset_prints now = mx_dataset_prints(job->dataset);
    const bool folder = mx_dataset_is_folder(job->dataset);
    const char *what = NULL;
    const char *const list = mx_checkpoint_extra(from, DATA_LIST);
    if (list == NULL || strcmp(list, DATA_LIST_NOW) != 0)
        return MX_FAIL(MX_ERR_DATA, "start a new run with '--init-from' and these weights",
                       "%s was written by an earlier version, which chose the rows of a corpus differently",
                       mx_checkpoint_path(job->origin));
    if (from->data_fingerprint != mx_dataset_fingerprint(job->dataset) &&
        from->seed != (uint64_t)job->settings.training.seed) {
        MX_FAIL(MX_ERR_USAGE, NULL, "the run has the seed %" PRIu64 ", and %" PRIu64 " divides its rows in another way",
                from->seed, (uint64_t)job->settings.training.seed);
        return mx_error_hint("omit '--seed'; or start a new run from its weights: '--init-from %s'",
                             job->request.resume);
    }
    if (from->data_fingerprint != mx_dataset_fingerprint(job->dataset))
        what = "rows, lengths or their split have changed";
#define X(word, member)                                                                                                \
    if (what == NULL && !print_same(from, word, now.member)) what = changed_##member[folder];
    static const char *const changed_texts[] = {"texts or recordings have changed", "texts or speakers have changed"};
    static const char *const changed_recordings[] = {
        "texts or recordings have changed", "recordings have been rewritten: their sizes or times have changed"};
    static const char *const changed_recipe[] = {"the features are made in a different way",
                                                 "recordings or texts are prepared in a different way"};
    DATA(X)
#undef X
    if (what != NULL)
        return MX_FAIL(MX_ERR_DATA,
                       "restore the corpus, with its times ('cp -a', 'rsync -a') and decisions, or start a new run "
                       "with '--init-from' and these weights",
                       "the training data is not that of the run: %s", what);
    return 0;
}

void mx_job_state_contents(struct mx_job *job)
{
    const uint64_t now = job->corpus.contents != 0 ? mx_dataset_contents(job->dataset) : 0;
    if (now == 0) return;
    if (now != job->corpus.contents)
        mx_warn("the recordings have changed since before the run was resumed, although their sizes and times are the "
                "same: training since then has used different data");
    job->corpus.contents = 0; /* once */
}

/* The acoustic network of a resumed run. */
static int acoustic_resume(struct mx_job *job, struct mx_trainer_state *state)
{
    int rc = 0;
    const struct mx_trainer_arrays arrays = arrays_of(job, MX_PART_ACOUSTIC);
    const struct mx_checkpoint_target target = mx_job_arrays_target(&arrays);
    MX_TRY(
        mx_checkpoint_load(job->origin, mx_trainer_parameters(job->trainer, MX_PART_ACOUSTIC), &target, false, NULL));
    MX_TRY(mx_trainer_write(job->trainer, MX_PART_ACOUSTIC, &arrays));
    MX_TRY(part_read(mx_checkpoint_state(job->origin), MX_PART_ACOUSTIC, state));
out:
    return rc;
}

int mx_job_restore(struct mx_job *job, struct mx_trainer_state *state)
{
    int rc = 0;
    bool whole = false;
    const bool alone = job->options.vocoder_alone;
    const struct mx_trainer_arrays arrays = arrays_of(job, MX_PART_VOCODER);
    *state = (struct mx_trainer_state){0};
    MX_TRY(mx_job_vocoder_restore(job, &arrays, &whole));
    if (job->origin == NULL) return 0;
    if (job->request.resume == NULL) return alone ? 0 : weights_restore(job);
    const struct mx_checkpoint_state *const from = mx_checkpoint_state(job->origin);
    if (whole) MX_TRY(part_read(from, MX_PART_VOCODER, state));
    if (!alone) MX_TRY(acoustic_resume(job, state));
    const char *const shares = mx_checkpoint_extra(from, SHARES);
    if (shares != NULL) MX_TRY(mx_shares_parse(shares, &state->shares));
    state->step = (int64_t)from->step;
    state->epoch = (uint32_t)from->epoch;
    state->batch = (uint32_t)from->step_in_epoch;
    state->passes = from->pass;
    job->evaluations.due = mx_job_state_due(job->origin);
    const char *const contents = mx_checkpoint_extra(from, DATA_CONTENTS);
    job->corpus.contents = contents != NULL ? strtoull(contents, NULL, 16) : 0;
    job->best = (struct mx_job_best){from->has_best, from->best, from->best_step};
    job->saved.step = state->step;
out:
    return rc;
}

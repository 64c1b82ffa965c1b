/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What of the networks of a run learns: training.freeze and training.adapter_rank. See networks.h and model/parameters.h.
 *
 * A run with adapters begins with a base: a checkpoint or a voice file, whose hash every checkpoint of the run keeps, so
 * that the adapters can be exported without it. The vocoder of such a run is the base's, as it is.
 *
 * Memory: the patterns are those of the job's settings.
 */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "myxtts/error.h"
#include "run/job.h"
#include "run/networks.h"

#define TOKENS    "encoder.token.weight"
#define LANGUAGES "encoder.language.weight"

/* A resumed run keeps what it has: a parameter that did not learn has neither moments nor an average in its checkpoint. */
static int resumed_check(const struct mx_job *job)
{
    int rc = 0;
    struct mx_settings before;
    const struct mx_settings_training *const now = &job->settings.training;
    const char *const text = mx_checkpoint_state(job->origin)->config;
    MX_TRY(mx_config_defaults(&mx_settings_schema, &before));
    rc = mx_config_load_text(&mx_settings_schema, &before, mx_checkpoint_path(job->origin), text, strlen(text));
    const bool other = rc >= 0 && (strcmp(before.training.freeze, now->freeze) != 0 ||
                                   before.training.adapter_rank != now->adapter_rank);
    mx_config_release(&mx_settings_schema, &before);
    if (other)
        MX_RAISE(MX_ERR_USAGE,
                 "omit '--freeze' and '--adapter-rank'; or start a new run with '--init-from' and this one",
                 "a resumed run cannot change which parameters learn");
out:
    return rc;
}

/* Adapters need a trained network with a name. */
static int base_check(const struct mx_job *job)
{
    const struct mx_checkpoint_state *const state = job->origin != NULL ? mx_checkpoint_state(job->origin) : NULL;
    if (job->settings.training.part == MX_SETTINGS_PART_VOCODER)
        return MX_FAIL(MX_ERR_USAGE, "omit '--adapter-rank'",
                       "adapters are for the acoustic network, not for a vocoder");
    if (job->origin == NULL)
        return MX_FAIL(MX_ERR_USAGE, "give '--init-from' a run, a checkpoint or a voice file",
                       "adapters need a network that has learned: there is no '--init-from'");
    if (state == NULL || state->vocoder_alone)
        return MX_FAIL(MX_ERR_USAGE, "give '--init-from' a run, a checkpoint or a voice file of this program",
                       "adapters need a network that has learned, and %s is none of this program",
                       mx_checkpoint_path(job->origin));
    const int rc = mx_checkpoint_listens_check(job->origin, "training");
    if (rc < 0) return rc;
    return job->request.partial ? MX_FAIL(MX_ERR_USAGE, "omit '--partial', or train without adapters",
                                          "adapters need the whole network of '--init-from'")
                                : 0;
}

/* A setting without effect is an error. */
static int nothing_learns(const char *network, const char *hint)
{
    return MX_FAIL(MX_ERR_CONFIG, hint, "training.freeze leaves nothing of the %s to learn", network);
}

static int acoustic_check(const struct mx_job *job, const struct mx_parameters *table)
{
    const int rank = (int)job->settings.training.adapter_rank;
    if (table == NULL || table->learned > 0) return 0;
    if (rank > 0 && job->settings.training.freeze[0] == '\0')
        return MX_FAIL(MX_ERR_CONFIG, "8 is usual", "adapters of rank %d would not be smaller than what they adapt",
                       rank);
    return nothing_learns("acoustic network", rank == 0 && mx_trainer_trains(&job->options, MX_PART_VOCODER)
                                                  ? "leave a part of it out of the patterns; '--part vocoder' trains "
                                                    "the vocoder alone"
                                                  : "leave a part of it out of the patterns");
}

/* A vocoder whose parameters are all frozen is ready, provided that it was trained before. */
static int vocoder_check(struct mx_job *job, const struct mx_parameters *table, bool there)
{
    const bool adapters = job->settings.training.adapter_rank > 0;
    if (table == NULL || !mx_trainer_trains(&job->options, MX_PART_VOCODER)) return 0;
    if (table->learned > 0 && !adapters) return 0;
    if (job->options.vocoder_alone) return nothing_learns("vocoder", "leave a part of it out of the patterns");
    if (!there)
        return MX_FAIL(MX_ERR_CONFIG,
                       "'--part acoustic' trains without a vocoder; '--vocoder' takes one that has learned",
                       adapters ? "with adapters no vocoder is trained, and that of the base is missing: it has none"
                                : "training.freeze freezes a vocoder that has not learned anything");
    job->options.vocoder.ready = true;
    return 0;
}

/* Has the run symbols or languages that its base does not know? Then the tables of both learn, and have averages. */
static bool tables_grown(const struct mx_job *job)
{
    const struct mx_checkpoint_state *const from = job->origin != NULL ? mx_checkpoint_state(job->origin) : NULL;
    const struct mx_model_config *const now = &job->options.model;
    if (from == NULL || job->options.vocoder_alone) return false;
    if (job->request.resume != NULL)
        return mx_safetensors_find(mx_checkpoint_tensors(job->origin), "ema." TOKENS) != NULL ||
               mx_safetensors_find(mx_checkpoint_tensors(job->origin), "ema." LANGUAGES) != NULL;
    return now->vocabulary > from->model.vocabulary || now->languages > from->model.languages;
}

/* New rows of the tables must be able to learn. */
static int grown_check(const struct mx_job *job, const struct mx_parameters *table, bool grown)
{
    static const char *const names[] = {TOKENS, LANGUAGES};
    for (size_t i = 0; i < 2 && grown && table != NULL && job->request.resume == NULL; i++) {
        const struct mx_parameter *const p = mx_parameters_find(table, names[i]);
        const struct mx_model_config *const from = &mx_checkpoint_state(job->origin)->model;
        if (p->frozen && p->shape[0] > (i == 0 ? from->vocabulary : from->languages))
            return MX_FAIL(MX_ERR_CONFIG, "leave it out of the patterns; or train without those symbols and languages",
                           "training.freeze freezes %s, which has new rows to learn", p->name);
    }
    return 0;
}

int mx_job_learning_choose(struct mx_job *job, bool vocoder_there)
{
    int rc = 0, count = 0;
    struct mx_trainer_options *const o = &job->options;
    struct mx_parameters *acoustic = NULL, *vocoder = NULL;
    const struct mx_parameters *tables[MX_PARTS];
    const struct mx_learning learning = {.freeze = job->settings.training.freeze,
                                         .adapter_rank = (int32_t)job->settings.training.adapter_rank,
                                         .tables = tables_grown(job)};
    if (job->request.resume != NULL) MX_TRY(resumed_check(job));
    if (learning.adapter_rank > 0) MX_TRY(base_check(job));
    if (learning.adapter_rank > 0) MX_TRY(mx_job_base_choose(job));
    o->model.learning = learning;
    o->vocoder.learning = (struct mx_learning){.freeze = learning.freeze};
    if (!o->vocoder_alone) MX_TRY(mx_model_parameters_create(&o->model, NULL, &acoustic));
    if (o->with_vocoder) {
        const struct mx_vocoder_config config = mx_trainer_vocoder_config(o);
        MX_TRY(mx_vocoder_parameters_create(&config, &vocoder));
    }
    if (acoustic != NULL) tables[count++] = acoustic;
    if (vocoder != NULL) tables[count++] = vocoder;
    MX_TRY(mx_learning_check(&learning, tables, count));
    MX_TRY(acoustic_check(job, acoustic));
    MX_TRY(grown_check(job, acoustic, learning.tables));
    MX_TRY(vocoder_check(job, vocoder, vocoder_there));
out:
    mx_parameters_destroy(acoustic);
    mx_parameters_destroy(vocoder);
    return rc;
}

void mx_job_learning_log(const struct mx_job *job)
{
    const struct mx_model_memory_plan *const m = &job->plan.model, *const v = &job->plan.vocoder;
    const double all = (double)(m->parameters + v->parameters), learn = (double)(m->learning + v->learning);
    const struct mx_settings_training *const t = &job->settings.training;
    if (t->adapter_rank > 0)
        mx_info("adapters of rank %d on %s: %.2f M of %.2f M parameters learn", (int)t->adapter_rank, job->base.name,
                learn * 1e-6, all * 1e-6);
    if (t->freeze[0] != '\0' && t->adapter_rank > 0) mx_info("no adapters: %s", t->freeze);
    if (t->freeze[0] != '\0' && t->adapter_rank == 0)
        mx_info("frozen: %s; %.2f M of %.2f M parameters learn", t->freeze, learn * 1e-6, all * 1e-6);
}

/* ---- the base of adapters ---- */

int mx_job_base_choose(struct mx_job *job)
{
    const struct mx_checkpoint_state *const state = mx_checkpoint_state(job->origin);
    const bool resumed = job->request.resume != NULL;
    const char *const path = mx_checkpoint_path(job->origin), *const slash = strrchr(path, '/');
    const char *const hash =
        resumed ? mx_checkpoint_extra(state, MX_CHECKPOINT_BASE_HASH) : mx_checkpoint_file_hash(job->origin);
    const char *const name = resumed         ? mx_checkpoint_extra(state, MX_CHECKPOINT_BASE_NAME)
                             : slash != NULL ? slash + 1
                                             : path;
    if (hash == NULL || name == NULL)
        return MX_FAIL(MX_ERR_FORMAT, "take another checkpoint", "%s does not name the base of its adapters", path);
    snprintf(job->base.hash, sizeof job->base.hash, "%s", hash);
    snprintf(job->base.name, sizeof job->base.name, "%s", name);
    return 0;
}

size_t mx_job_base_write(const struct mx_job *job, struct mx_metadata *extras)
{
    if (job->settings.training.adapter_rank == 0) return 0;
    extras[0] = (struct mx_metadata){MX_CHECKPOINT_BASE_HASH, job->base.hash};
    extras[1] = (struct mx_metadata){MX_CHECKPOINT_BASE_NAME, job->base.name};
    return 2;
}

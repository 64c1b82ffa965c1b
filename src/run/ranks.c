/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A training run of several processes, see ranks.h.
 */
#include "run/ranks.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "base/alloc.h"
#include "base/log.h"
#include "dist/dist.h"
#include "myxtts/error.h"
#include "myxtts/registry.h"
#include "run/interrupt.h"
#include "run/length.h"

/* ---- start and end ---- */

/* Rank 0 reports for all. */
static int quieten(const struct mx_job *job, enum mx_log_level level)
{
    return mx_job_ranks_first(job) || job->request.quieten == NULL ? 0 : job->request.quieten(level);
}

int mx_job_ranks_open(struct mx_job *job, uint32_t spans)
{
    const struct mx_dist_options options = {.timeout_s = job->settings.training.rank_timeout,
                                            .command =
                                                job->request.command != NULL ? job->request.command : "myxtts train",
                                            .divide_cores = true,
                                            .spans = spans};
    const int rc = mx_dist_open(&options, &job->dist);
    if (rc < 0) return rc;
    job->options.comm = mx_dist_comm(job->dist);
    return quieten(job, MX_LOG_ERROR);
}

int mx_job_ranks_fail(struct mx_job *job, int code)
{
    if (code < 0 && code != MX_ERR_INTERRUPTED) return mx_dist_fail(job->dist, code);
    (void)quieten(job, MX_LOG_SILENT); /* rank 0 says that it was interrupted */
    return code;
}

void mx_job_ranks_close(struct mx_job *job)
{
    mx_dist_close(job->dist);
    job->dist = NULL;
    job->options.comm = NULL;
}

/* ---- devices ---- */

/* "cuda:0" for the third rank of a machine becomes "cuda:2" where each has one device. */
static int name_shift(char *name, size_t bytes, int32_t by)
{
    char backend[16];
    int index;
    if (name[0] == '\0') return 0;
    const int rc = mx_device_name_parse(name, backend, &index);
    if (rc < 0) return rc;
    if (!mx_backend_is_cpu(backend)) snprintf(name, bytes, "%s:%d", backend, index + by);
    return 0;
}

int mx_job_ranks_devices(struct mx_job *job, const char *command)
{
    int rc = 0;
    struct mx_settings own = job->settings; /* texts are borrowed */
    struct mx_settings_pipeline *const p = &own.pipeline;
    const int32_t rank = mx_dist_device_rank(job->dist);
    if (job->dist == NULL) return mx_device_pair_open(&job->settings, command, &job->devices);
    if (!mx_backend_is_cpu(mx_settings_backend_name(p->backend))) {
        if (p->data_gpu >= 0) p->data_gpu += 2 * (int64_t)rank;
        if (p->model_gpu >= 0) p->model_gpu += 2 * (int64_t)rank;
        MX_TRY(name_shift(p->data_device, sizeof p->data_device, 2 * rank));
        MX_TRY(name_shift(p->model_device, sizeof p->model_device, 2 * rank));
        MX_TRY(name_shift(p->device, sizeof p->device, rank));
    }
    MX_TRY(mx_device_pair_open_shared(&own, command, rank, mx_dist_local_size(job->dist), &job->devices));
out:
    if (rc < 0 && mx_dist_local_size(job->dist) > 1)
        return mx_error_wrap("%d ranks on this machine, each with devices of its own",
                             (int)mx_dist_local_size(job->dist));
    return rc;
}

void mx_job_ranks_batch(const struct mx_job *job, struct mx_trainer_options *options)
{
    const uint32_t size = (uint32_t)mx_comm_size(job->options.comm);
    if (!job->settings.training.batch_per_rank) return;
    options->batch_size *= size;
    options->batch_frames *= size;
}

/* ---- what must be the same ---- */

/* The settings, except the paths of files, which may differ from machine to machine. */
static uint64_t settings_hash(const struct mx_job *job)
{
    char none[1] = "";
    struct mx_settings own = job->settings;
    own.data.train_data = own.data.val_data = own.data.lexicon = own.data.decisions = own.data.cut_voice =
        own.vocoder.from = none;
    char *const text = mx_config_format(&mx_settings_schema, &own);
    const uint64_t hash = text != NULL ? XXH3_64bits(text, strlen(text)) : 0;
    mx_free(text);
    return hash;
}

static uint64_t checkpoint_hash(const struct mx_checkpoint *checkpoint)
{
    const struct mx_checkpoint_state *const state = checkpoint != NULL ? mx_checkpoint_state(checkpoint) : NULL;
    if (checkpoint == NULL) return 0;
    const struct mx_safetensors *const tensors = mx_checkpoint_tensors(checkpoint);
    const char *const hash = mx_safetensors_metadata(tensors, "hash");
    uint64_t sum = hash != NULL ? XXH3_64bits(hash, strlen(hash)) : 1;
    if (state != NULL) sum += state->step;
    return sum;
}

/* Which checkpoints the run resumes or begins with. */
static uint64_t origin_hash(const struct mx_job *job)
{
    return checkpoint_hash(job->origin) + 3 * checkpoint_hash(job->vocoder_origin);
}

int mx_job_ranks_compare(struct mx_job *job)
{
    const struct mx_dist_item items[] = {
        {"the program is", mx_dist_program_hash(), "copy one build of it to all machines"},
        {"the settings are", settings_hash(job), "give all ranks the same command line and the same settings file"},
        {"the corpus is", mx_dataset_fingerprint(job->dataset),
         "all ranks must see the same corpus: one folder that all machines share, or equal copies of a packed one"},
        {"the checkpoint is", origin_hash(job), "all ranks must see the same run folder"},
    };
    return mx_dist_compare(job->dist, items, (int32_t)(sizeof items / sizeof items[0]));
}

void mx_job_ranks_log(const struct mx_job *job)
{
    const struct mx_trainer_options *const o = &job->options;
    const int32_t size = mx_comm_size(o->comm), hosts = mx_dist_hosts(job->dist);
    if (o->comm == NULL) return;
    if (o->vocoder_alone) {
        mx_info("%d ranks on %d machine%s (%s); %d segments a step over all ranks", (int)size, (int)hosts,
                hosts == 1 ? "" : "s", mx_dist_supported(), (int)(o->vocoder.segments.count * o->grad_accum));
        return;
    }
    mx_info("%d ranks on %d machine%s (%s); %u utterances a step%s over all ranks%s", (int)size, (int)hosts,
            hosts == 1 ? "" : "s", mx_dist_supported(), (unsigned)(o->batch_size * (uint32_t)o->grad_accum),
            o->batch_even ? " on average" : "",
            job->settings.training.batch_per_rank ? ", as many for each" : ": '--batch-size' is that of all together");
}

int mx_job_ranks_sums(struct mx_job *job)
{
    return mx_dist_device_use(job->dist, job->device);
}

void mx_job_ranks_release(struct mx_job *job)
{
    mx_dist_device_release(job->dist);
}

int mx_job_ranks_normaliser(struct mx_job *job)
{
    return mx_comm_broadcast(job->options.comm, &job->options.normaliser, sizeof job->options.normaliser, 0);
}

/* ---- steps ---- */

int mx_job_ranks_agree(struct mx_job *job, bool *stop, bool *end)
{
    /* Where rank 0 lets the run end (auto-stop, time limit): the others add nothing. */
    const struct mx_auto_stop *const a = &job->auto_stop;
    const struct mx_job_limit *const limit = &job->limit;
    const bool first = mx_job_ranks_first(job);
    double values[6] = {*stop, *end};
    if (first) {
        values[2] = (double)a->from, values[3] = (double)a->end;
        values[4] = (double)limit->from, values[5] = (double)limit->end;
    }
    const int rc = mx_comm_add(job->options.comm, values, 6);
    if (rc < 0) return rc;
    *stop = values[0] > 0;
    *end = values[1] > 0;
    if (!first) mx_job_auto_follow(job, (int64_t)values[2], (int64_t)values[3]);
    if (!first) mx_job_limit_follow(job, (int64_t)values[4], (int64_t)values[5]);
    return rc;
}

int mx_job_ranks_follow(struct mx_job *job)
{
    int rc = 0;
    bool stopped = false, over = false;
    struct mx_interrupt interrupt;
    struct mx_trainer_report report;
    const struct mx_trainer_state *const state = mx_trainer_state(job->trainer);
    const atomic_bool *const stop = mx_interrupt_watch(&interrupt, true);
    while (state->step < job->steps) {
        stopped = atomic_load(stop);
        MX_TRY(mx_job_ranks_agree(job, &stopped, &over));
        if (stopped || over) break;
        MX_TRY(mx_trainer_step(job->trainer, &report));
    }
    /* After a signal it is rank 0 that says so and whose exit code counts: if this rank ended before it with an exit
     * code other than 0, launchers would end rank 0 before it has spoken. */
out:
    mx_interrupt_restore(&interrupt);
    return rc;
}

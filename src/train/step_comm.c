/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a step exchanges with the other members of a comm, see comm.h and step.c:
 *
 *     counts    before the backward pass: the tokens and frames of each member in each micro-batch. Losses are divided
 *               by their sum; dropout counts on from the sum of the members before, so that it drops the same values
 *               as it would in one batch of all.
 *     buckets   while the backward pass runs: the gradients
 *     losses    after it: the sum decides whether the step is good, so all members decide the same
 *
 * All members hold batches of the same step, since their samplers agree on where steps begin and end.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "train/trainer_internal.h"

size_t mx_step_counts_size(const struct mx_trainer_options *o)
{
    return 2 * (size_t)o->grad_accum * (size_t)mx_comm_size(o->comm) + 2;
}

static double *counts_at(const struct mx_trainer *t, int32_t number, int32_t rank)
{
    return t->counts + 2 * ((ptrdiff_t)number * mx_comm_size(t->options.comm) + rank);
}

int mx_step_counts(struct mx_trainer *t, struct mx_trainer_report *report)
{
    struct mx_comm *const comm = t->options.comm;
    const int32_t size = mx_comm_size(comm), accum = t->options.grad_accum;
    double *const others = counts_at(t, accum, 0); /* utterances, and those left out */
    if (comm == NULL) return 0;
    memset(t->counts, 0, mx_step_counts_size(&t->options) * sizeof *t->counts);
    for (int32_t i = 0; i < accum; i++) {
        double *const own = counts_at(t, i, mx_comm_rank(comm));
        own[0] = t->held[i]->batch.tokens.rows;
        own[1] = t->held[i]->batch.frames.rows;
    }
    others[0] = (double)report->utterances;
    others[1] = (double)report->left_out;
    const int rc = mx_comm_add(comm, t->counts, (int32_t)mx_step_counts_size(&t->options));
    if (rc < 0) return rc;
    report->tokens = report->frames = 0;
    for (int32_t i = 0; i < accum; i++)
        for (int32_t r = 0; r < size; r++) {
            report->tokens += (int64_t)counts_at(t, i, r)[0];
            report->frames += (int64_t)counts_at(t, i, r)[1];
        }
    report->utterances = (int64_t)others[0];
    report->left_out = (int64_t)others[1];
    return 0;
}

void mx_step_place(const struct mx_trainer *t, int32_t number, struct mx_model_batch *batch)
{
    for (int32_t r = 0; r < mx_comm_rank(t->options.comm); r++) {
        batch->first_token += (int64_t)counts_at(t, number, r)[0];
        batch->first_frame += (int64_t)counts_at(t, number, r)[1];
    }
}

int mx_step_sums_begin(struct mx_trainer *t)
{
    struct mx_comm *const comm = t->options.comm;
    const struct mx_replica *const own = t->replicas[0];
    const struct mx_parameters *const table = mx_model_parameters(own->model);
    for (int32_t k = 0; comm != NULL && k < mx_bucket_count(table); k++) {
        const struct mx_bucket bucket = mx_bucket_at(table, k);
        const int rc = comm->calls->sum_begin(comm, mx_slice_at(own->gradients, (size_t)bucket.first * sizeof(float)),
                                              bucket.count, own->ready[k]);
        if (rc < 0) return rc;
    }
    return 0;
}

int mx_step_sums_finish(struct mx_trainer *t)
{
    struct mx_comm *const comm = t->options.comm;
    return comm == NULL ? 0 : comm->calls->sum_finish(comm, t->replicas[0]->stream);
}

/* The names of utterances in `bad` of all members, one after the other. */
static int names_join(struct mx_comm *comm, char *bad, size_t bytes)
{
    char own[MX_STEP_NAMES_BYTES], other[MX_STEP_NAMES_BYTES];
    snprintf(own, sizeof own, "%.*s", (int)sizeof own - 1, bad);
    bad[0] = '\0';
    for (int32_t r = 0; r < mx_comm_size(comm); r++) {
        memcpy(other, own, sizeof other);
        const int rc = mx_comm_broadcast(comm, other, sizeof other, r);
        if (rc < 0) return rc;
        const size_t length = strlen(bad);
        if (other[0] != '\0') snprintf(bad + length, bytes - length, "%s%s", length > 0 ? ", " : "", other);
    }
    return 0;
}

int mx_step_losses(struct mx_trainer *t, struct mx_trainer_report *report, char *bad, size_t bytes)
{
    struct mx_comm *const comm = t->options.comm;
    double values[MX_MODEL_LOSSES + 1];
    if (comm == NULL) return 0;
    memcpy(values, report->losses.values, sizeof report->losses.values);
    values[MX_MODEL_LOSSES] = report->losses.total;
    const int rc = mx_comm_add(comm, values, MX_MODEL_LOSSES + 1);
    if (rc < 0) return rc;
    memcpy(report->losses.values, values, sizeof report->losses.values);
    report->losses.total = values[MX_MODEL_LOSSES];
    return isfinite(report->losses.total) ? 0 : names_join(comm, bad, bytes);
}

void mx_step_times(const struct mx_trainer *t, struct mx_trainer_report *report)
{
    const struct mx_replica *const own = t->replicas[0];
    const int32_t count = own->bucket_count;
    if (own->ready == NULL || count < 2) return;
    const uint64_t first_ns = mx_event_time_ns(own->ready[0]), last_ns = mx_event_time_ns(own->ready[count - 1]);
    if (first_ns == 0 || last_ns < first_ns) return;
    /* The first bucket was computed, too, before its event. */
    const struct mx_parameters *const table = mx_model_parameters(own->model);
    const double rest = (double)(table->floats - mx_bucket_at(table, 0).count);
    report->backward_ns = (uint64_t)((double)(last_ns - first_ns) * (double)table->floats / rest);
}

int32_t mx_trainer_buckets(const struct mx_trainer *t, struct mx_trainer_bucket *out, int32_t count)
{
    const struct mx_replica *const own = t->replicas[0];
    const struct mx_parameters *const table = mx_model_parameters(own->model);
    if (own->ready == NULL || own->bucket_count == 0) return 0;
    const uint64_t last_ns = mx_event_time_ns(own->ready[own->bucket_count - 1]);
    if (last_ns == 0) return 0;
    for (int32_t i = 0; i < own->bucket_count && i < count; i++) {
        const uint64_t ready_ns = mx_event_time_ns(own->ready[i]);
        out[i].bytes = mx_bucket_at(table, i).count * (int64_t)sizeof(float);
        out[i].lead_ns = ready_ns < last_ns ? last_ns - ready_ns : 0;
    }
    return own->bucket_count;
}

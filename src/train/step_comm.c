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

#include "myxtts/error.h"
#include "train/trainer_internal.h"

#define COUNTED 3 /* numbers of struct mx_network_counts */

size_t mx_step_counts_size(const struct mx_trainer_options *o)
{
    return COUNTED * MX_PARTS * (size_t)o->grad_accum * (size_t)mx_comm_size(o->comm) + 2;
}

static double *counts_at(const struct mx_trainer *t, enum mx_part part, int32_t number, int32_t rank)
{
    const ptrdiff_t batch = (ptrdiff_t)part * t->options.grad_accum + number;
    return t->counts + COUNTED * (batch * mx_comm_size(t->options.comm) + rank);
}

static void counts_add(struct mx_network_counts *sum, const double *more)
{
    sum->sequences += (int64_t)more[0];
    sum->tokens += (int64_t)more[1];
    sum->frames += (int64_t)more[2];
}

static void counts_write(const struct mx_trainer *t, const struct mx_trainer_part *p)
{
    for (int32_t i = 0; i < t->options.grad_accum; i++) {
        const struct mx_network_counts own = p->network->calls->count(t->held[i]);
        double *const at = counts_at(t, p->which, i, mx_comm_rank(t->options.comm));
        at[0] = (double)own.sequences;
        at[1] = (double)own.tokens;
        at[2] = (double)own.frames;
    }
}

static void counts_read(const struct mx_trainer *t, struct mx_trainer_part *p)
{
    p->counts = (struct mx_network_counts){0};
    for (int32_t i = 0; i < t->options.grad_accum; i++)
        for (int32_t r = 0; r < mx_comm_size(t->options.comm); r++)
            counts_add(&p->counts, counts_at(t, p->which, i, r));
}

int mx_step_counts(struct mx_trainer *t, struct mx_trainer_report *report)
{
    struct mx_comm *const comm = t->options.comm;
    const size_t size = mx_step_counts_size(&t->options);
    double *const others = t->counts + size - 2; /* utterances, and those left out */
    if (comm == NULL) return 0;
    memset(t->counts, 0, size * sizeof *t->counts);
    for (int32_t p = 0; p < t->part_count; p++) counts_write(t, &t->parts[p]);
    others[0] = (double)report->utterances;
    others[1] = (double)report->left_out;
    const int rc = mx_comm_add(comm, t->counts, (int32_t)size);
    if (rc < 0) return rc;
    for (int32_t p = 0; p < t->part_count; p++) counts_read(t, &t->parts[p]);
    report->utterances = (int64_t)others[0];
    report->left_out = (int64_t)others[1];
    return 0;
}

struct mx_network_counts mx_step_before(const struct mx_trainer *t, const struct mx_trainer_part *p, int32_t number)
{
    struct mx_network_counts sum = {0};
    for (int32_t r = 0; r < mx_comm_rank(t->options.comm); r++) counts_add(&sum, counts_at(t, p->which, number, r));
    return sum;
}

int mx_step_sums_begin(struct mx_trainer *t)
{
    struct mx_comm *const comm = t->options.comm;
    for (int32_t p = 0; comm != NULL && p < t->part_count; p++) {
        const struct mx_replica *const own = t->parts[p].replicas[0];
        const struct mx_parameters *const table = mx_network_parameters(own->network);
        for (int32_t k = 0; k < mx_bucket_count(table); k++) {
            const struct mx_bucket bucket = mx_bucket_at(table, k);
            const struct mx_slice floats = mx_slice_at(own->gradients, (size_t)bucket.first * sizeof(float));
            const int rc = comm->calls->sum_begin(comm, floats, bucket.count, own->ready[k]);
            if (rc < 0) return rc;
        }
    }
    return 0;
}

int mx_step_sums_finish(struct mx_trainer *t)
{
    struct mx_comm *const comm = t->options.comm;
    return comm == NULL ? 0 : comm->calls->sum_finish(comm, t->stream);
}

/* The names of utterances in `bad` of all members, one after the other. */
static int names_join(struct mx_comm *comm, char bad[MX_STEP_NAMES_BYTES])
{
    char own[MX_STEP_NAMES_BYTES], other[MX_STEP_NAMES_BYTES];
    memcpy(own, bad, sizeof own);
    bad[0] = '\0';
    for (int32_t r = 0; r < mx_comm_size(comm); r++) {
        memcpy(other, own, sizeof other);
        const int rc = mx_comm_broadcast(comm, other, sizeof other, r);
        if (rc < 0) return rc;
        if (other[0] != '\0') mx_step_names_add(bad, other);
    }
    return 0;
}

int mx_step_losses(struct mx_trainer *t)
{
    int rc = 0;
    struct mx_comm *const comm = t->options.comm;
    double values[MX_PARTS][MX_NETWORK_LOSSES + 1] = {{0}};
    if (comm == NULL) return 0;
    for (int32_t p = 0; p < t->part_count; p++) {
        memcpy(values[p], t->parts[p].losses, sizeof t->parts[p].losses);
        values[p][MX_NETWORK_LOSSES] = t->parts[p].total;
    }
    MX_TRY(mx_comm_add(comm, values[0], t->part_count * (MX_NETWORK_LOSSES + 1)));
    for (int32_t p = 0; p < t->part_count; p++) {
        memcpy(t->parts[p].losses, values[p], sizeof t->parts[p].losses);
        t->parts[p].total = values[p][MX_NETWORK_LOSSES];
        if (!isfinite(t->parts[p].total)) MX_TRY(names_join(comm, t->parts[p].bad));
    }
out:
    return rc;
}

/* Of the first part, which is by far the largest if there are several. */
void mx_step_times(const struct mx_trainer *t, struct mx_trainer_report *report)
{
    const struct mx_replica *const own = t->parts[0].replicas[0];
    const int32_t count = own->bucket_count;
    if (own->ready == NULL || count < 2) return;
    const uint64_t first_ns = mx_event_time_ns(own->ready[0]), last_ns = mx_event_time_ns(own->ready[count - 1]);
    if (first_ns == 0 || last_ns < first_ns) return;
    /* The first bucket was computed, too, before its event. */
    const struct mx_parameters *const table = mx_network_parameters(own->network);
    const double rest = (double)(table->learned - mx_bucket_at(table, 0).count);
    report->backward_ns = (uint64_t)((double)(last_ns - first_ns) * (double)table->learned / rest);
}

int32_t mx_trainer_buckets(const struct mx_trainer *t, struct mx_trainer_bucket *out, int32_t count)
{
    int32_t all = 0;
    uint64_t last_ns = 0;
    for (int32_t p = 0; p < t->part_count; p++) {
        const struct mx_replica *const own = t->parts[p].replicas[0];
        if (own->ready == NULL || own->bucket_count == 0) return 0;
        const uint64_t end_ns = mx_event_time_ns(own->ready[own->bucket_count - 1]);
        if (end_ns == 0) return 0;
        if (end_ns > last_ns) last_ns = end_ns;
    }
    for (int32_t p = 0; p < t->part_count; p++) { /* in the order in which they are summed */
        const struct mx_replica *const own = t->parts[p].replicas[0];
        const struct mx_parameters *const table = mx_network_parameters(own->network);
        for (int32_t i = 0; i < own->bucket_count; i++, all++) {
            const uint64_t ready_ns = mx_event_time_ns(own->ready[i]);
            if (all >= count) continue;
            out[all].bytes = mx_bucket_at(table, i).count * (int64_t)sizeof(float);
            out[all].lead_ns = ready_ns < last_ns ? last_ns - ready_ns : 0;
        }
    }
    return all;
}

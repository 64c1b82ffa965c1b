/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Replicas, see replica.h.
 *
 * Another replica's gradient arrives in pieces: a piece just copied is still in the cache of the core that adds it, and
 * the memory for it does not grow with the model.
 */
#include "train/replica.h"

#include "base/alloc.h"
#include "base/log.h"
#include "myxtts/error.h"
#include "myxtts/ops.h"

#define FLOAT_BYTES sizeof(float)

static struct mx_slice floats_at(struct mx_buffer *buffer, int64_t floats)
{
    return mx_slice_at(buffer, (size_t)floats * FLOAT_BYTES);
}

static struct mx_slice norm_of(const struct mx_replica *r)
{
    return floats_at(r->gradients, r->gradient_floats);
}

/* Its averaged weights from float `first` on. */
static struct mx_slice average_at(const struct mx_replica *r, int64_t first)
{
    return floats_at(r->average, first - r->options.room.first);
}

static const struct mx_optimizer *optimizer_of(const struct mx_replica *r)
{
    return &mx_optimizers[r->options.optimizer];
}

/* The state array `which` of its optimizer. */
static struct mx_slice state_at(const struct mx_replica *r, int which, int64_t first)
{
    return floats_at(r->moments, which * r->options.room.count + first - r->options.room.first);
}

/* ---- plan ---- */

#define NORM_FLOATS 4 /* of grad_norm, after the losses */

static bool adds(const struct mx_replica_options *o)
{
    return o->shared && o->room.count > 0;
}

int mx_replica_memory_plan(const struct mx_replica_options *o, struct mx_replica_memory_plan *out)
{
    struct mx_network_memory network;
    const int rc = o->network->calls->memory_plan(o->network, &network);
    if (rc < 0) return rc;
    const uint64_t room = (uint64_t)o->room.count * FLOAT_BYTES;
    const int64_t losses = (int64_t)o->network->calls->losses * network.sequences;
    *out =
        (struct mx_replica_memory_plan){.parameters = (uint64_t)network.floats * FLOAT_BYTES,
                                        .gradients = (uint64_t)network.gradients * FLOAT_BYTES + MX_REPLICA_NORM_BYTES,
                                        .moments = (uint64_t)mx_optimizers[o->optimizer].state_count * room,
                                        .average = room,
                                        .activations = network.activations_bytes,
                                        .stage = adds(o) ? MX_REPLICA_STAGE_BYTES : 0,
                                        .work = o->stream == NULL ? mx_device_info(o->device)->work_bytes : 0,
                                        .results = (uint64_t)(o->passes * losses + NORM_FLOATS) * FLOAT_BYTES,
                                        .network = network.host_bytes};
    return 0;
}

/* ---- life ---- */

static int buffer_create(struct mx_replica *r, const char *kind, uint64_t bytes, struct mx_buffer **out)
{
    const char *const owner = r->options.network->calls->owner;
    if (bytes == 0) return 0;
    return mx_buffer_create(r->options.device, owner != NULL ? owner : kind, (size_t)bytes, out);
}

static int buffers_create(struct mx_replica *r, const struct mx_replica_memory_plan *plan)
{
    int rc = 0;
    struct mx_device *const device = r->options.device;
    void *host = NULL;
    MX_TRY(buffer_create(r, MX_OWNER_PARAMETERS, plan->parameters, &r->weights));
    MX_TRY(buffer_create(r, MX_OWNER_GRADIENTS, plan->gradients, &r->gradients));
    MX_TRY(buffer_create(r, MX_OWNER_MOMENTS, plan->moments, &r->moments));
    MX_TRY(buffer_create(r, MX_OWNER_AVERAGE, plan->average, &r->average));
    MX_TRY(buffer_create(r, MX_OWNER_STAGE, plan->stage, &r->stage));
    MX_TRY(mx_host_alloc(device, "results", (size_t)plan->results, &host));
    r->losses = host;
    r->norm = r->losses + plan->results / FLOAT_BYTES - NORM_FLOATS;
    r->pass_losses = (r->norm - r->losses) / r->options.passes;
out:
    return rc;
}

/* Two for each run, and for the update. */
static int32_t marks_most(const struct mx_replica *r)
{
    return 2 * (r->options.passes + 1);
}

static int events_create(struct mx_replica *r)
{
    int rc = 0;
    struct mx_device *const device = r->options.device;
    MX_TRY(mx_event_create(device, &r->begin));
    MX_TRY(mx_event_create(device, &r->end));
    if (r->options.timed) {
        r->marks = mx_alloc((size_t)marks_most(r), sizeof(struct mx_event *));
        if (r->marks == NULL) MX_TRY(MX_ERR_NO_MEMORY);
        for (int32_t i = 0; i < marks_most(r); i++) MX_TRY(mx_event_create(device, &r->marks[i]));
    }
    if (!r->options.buckets) return 0;
    r->bucket_count = mx_bucket_count(mx_network_parameters(r->network));
    r->ready = mx_alloc((size_t)r->bucket_count, sizeof(struct mx_event *));
    if (r->ready == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    for (int32_t i = 0; i < r->bucket_count; i++) MX_TRY(mx_event_create(device, &r->ready[i]));
out:
    return rc;
}

int mx_replica_create(const struct mx_replica_options *options, struct mx_replica **out)
{
    int rc = 0;
    struct mx_replica_memory_plan plan;
    struct mx_replica *r = mx_alloc(1, sizeof *r);
    *out = NULL;
    if (r == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    r->options = *options;
    r->options.recorded = options->recorded && mx_device_info(options->device)->caps.graphs;
    r->range = options->room;
    MX_TRY(mx_replica_memory_plan(options, &plan));
    r->stream = options->stream;
    if (r->stream == NULL) MX_TRY(mx_stream_create(options->device, "train", &r->stream));
    MX_TRY(mx_network_create(options->network, options->device, r->stream, &r->network));
    const struct mx_parameters *const table = mx_network_parameters(r->network);
    r->floats = table->floats;
    r->gradient_floats = table->learned + table->discard;
    MX_TRY(buffers_create(r, &plan));
    r->network->calls->frozen_set(r->network, floats_at(r->weights, 0));
    MX_TRY(events_create(r));
    *out = r;
    r = NULL;
out:
    mx_replica_destroy(r);
    return rc;
}

void mx_replica_destroy(struct mx_replica *r)
{
    if (r == NULL) return;
    if (r->stream != NULL) (void)mx_stream_sync(r->stream);
    for (int32_t i = 0; r->ready != NULL && i < r->bucket_count; i++) mx_event_release(r->ready[i]);
    mx_free(r->ready);
    for (int32_t i = 0; r->marks != NULL && i < marks_most(r); i++) mx_event_release(r->marks[i]);
    mx_free(r->marks);
    mx_event_release(r->begin);
    mx_event_release(r->end);
    mx_host_release(r->options.device, r->losses);
    mx_buffer_release(r->weights);
    mx_buffer_release(r->gradients);
    mx_buffer_release(r->moments);
    mx_buffer_release(r->average);
    mx_buffer_release(r->stage);
    mx_graph_release(r->graph);
    mx_network_destroy(r->network);
    if (r->options.stream == NULL) mx_stream_release(r->stream);
    mx_free(r);
}

int mx_replica_begin(struct mx_replica *r, const float *initial)
{
    int rc = 0;
    const struct mx_range room = r->options.room;
    MX_TRY(mx_copy_upload(r->stream, floats_at(r->weights, 0), initial, (size_t)r->floats * FLOAT_BYTES));
    if (room.count == 0) goto out;
    const int64_t states = optimizer_of(r)->state_count * room.count;
    if (states > 0) MX_TRY(mx_fill(r->stream, &(struct mx_fill_args){.x = floats_at(r->moments, 0), .count = states}));
    MX_TRY(mx_copy_upload(r->stream, floats_at(r->average, 0), initial + room.first, (size_t)room.count * FLOAT_BYTES));
out:
    if (mx_stream_sync(r->stream) < 0 && rc == 0) rc = mx_error_last()->code;
    return rc;
}

/* ---- runs ---- */

/* Before and after a piece of work whose time counts. */
static int mark(struct mx_replica *r)
{
    return r->marks == NULL ? 0 : mx_event_record(r->marks[r->marked++], r->stream);
}

int mx_replica_clear(struct mx_replica *r)
{
    int rc = 0;
    r->marked = 0;
    MX_TRY(mx_event_record(r->begin, r->stream));
    MX_TRY(mx_fill(r->stream, &(struct mx_fill_args){.x = floats_at(r->gradients, 0), .count = r->gradient_floats}));
out:
    return rc;
}

/* How far the events of a run are. */
struct progress {
    struct mx_replica *replica;
    int32_t next; /* bucket */
};

static int buckets_record(void *context, int64_t from)
{
    struct progress *const p = context;
    const struct mx_parameters *const table = mx_network_parameters(p->replica->network);
    for (; p->next < p->replica->bucket_count; p->next++) {
        const int64_t first = mx_bucket_at(table, p->next).first;
        if (from > 0 && (first < from || first >= table->decayed)) return 0;
        const int rc = mx_event_record(p->replica->ready[p->next], p->replica->stream);
        if (rc < 0) return rc;
    }
    return 0;
}

static int run_submit(struct mx_replica *r, int32_t number, const struct mx_network_pass *pass)
{
    return r->network->calls->run(r->network, r->stream, floats_at(r->weights, 0), floats_at(r->gradients, 0), pass,
                                  mx_replica_losses(r, number));
}

/* Recorded again each time, because sizes, seeds and places of batches are arguments; so it is correct for any of them.
 * A device that fails to record still runs what it is given. */
static int run_recorded(struct mx_replica *r, int32_t number, const struct mx_network_pass *pass)
{
    int rc = mx_graph_begin(r->stream);
    if (rc == 0) rc = run_submit(r, number, pass);
    if (rc == 0) rc = mx_graph_end(r->stream, &r->graph);
    if (rc == 0) return mx_graph_launch(r->graph);
    mx_graph_cancel(r->stream);
    const struct mx_error error = *mx_error_last();
    if (mx_stream_status(r->stream) < 0) return rc;
    mx_warn("%s cannot record the step (%s); it is submitted piece by piece instead, with the same results",
            mx_device_name(r->options.device), error.message);
    r->options.recorded = false;
    return run_submit(r, number, pass);
}

int mx_replica_run(struct mx_replica *r, int32_t number, const struct mx_network_pass *pass, bool last)
{
    int rc = 0;
    struct progress progress = {.replica = r};
    struct mx_network_pass own = *pass;
    if (last && r->bucket_count > 0) {
        own.ready = buckets_record;
        own.context = &progress;
    }
    MX_TRY(mark(r));
    if (r->options.recorded && r->ran && !own.ready)
        MX_TRY(run_recorded(r, number, &own));
    else
        MX_TRY(run_submit(r, number, &own));
    MX_TRY(mark(r));
    r->ran = true;
    if (last) MX_TRY(mx_event_record(r->end, r->stream));
out:
    return rc;
}

int mx_replica_pause(struct mx_replica *r)
{
    int rc = 0;
    struct progress progress = {.replica = r};
    MX_TRY(buckets_record(&progress, 0));
    MX_TRY(mx_event_record(r->end, r->stream));
out:
    return rc;
}

uint64_t mx_replica_begin_ns(const struct mx_replica *r)
{
    return mx_event_time_ns(r->begin);
}

uint64_t mx_replica_end_ns(const struct mx_replica *r)
{
    return mx_event_time_ns(r->end);
}

uint64_t mx_replica_busy_ns(const struct mx_replica *r)
{
    uint64_t sum = 0;
    for (int32_t i = 0; i + 1 < r->marked; i += 2) {
        const uint64_t begin = mx_event_time_ns(r->marks[i]), end = mx_event_time_ns(r->marks[i + 1]);
        sum += end > begin ? end - begin : 0;
    }
    return sum;
}

/* ---- sum and update ---- */

int mx_replica_add(struct mx_replica *r, const struct mx_replica *other)
{
    int rc = 0;
    const struct mx_range range = r->range;
    const int64_t piece = (int64_t)(MX_REPLICA_STAGE_BYTES / FLOAT_BYTES), end = range.first + range.count;
    for (int64_t at = range.first; at < end; at += piece) {
        const int64_t count = end - at < piece ? end - at : piece;
        const struct mx_slice stage = floats_at(r->stage, 0), own = floats_at(r->gradients, at);
        MX_TRY(mx_copy_slices(r->stream, stage, floats_at(other->gradients, at), (size_t)count * FLOAT_BYTES));
        MX_TRY(mx_residual_add(
            r->stream, &(struct mx_residual_add_args){.a = own, .b = stage, .y = own, .count = count, .factor = 1}));
    }
out:
    return rc;
}

int mx_replica_measure(struct mx_replica *r, double limit)
{
    int rc = 0;
    MX_TRY(mx_grad_norm(r->stream, &(struct mx_grad_norm_args){.gradient = floats_at(r->gradients, r->range.first),
                                                               .result = norm_of(r),
                                                               .count = r->range.count,
                                                               .limit = (float)limit,
                                                               .factor = 1}));
    MX_TRY(mx_copy_download(r->stream, r->norm, norm_of(r), 4 * FLOAT_BYTES));
out:
    return rc;
}

int mx_replica_update(struct mx_replica *r, const struct mx_replica_update *how)
{
    int rc = 0;
    const struct mx_range range = r->range;
    const struct mx_optimizer *const optimizer = optimizer_of(r);
    const int64_t decayed = mx_network_parameters(r->network)->decayed - range.first;
    if (range.count == 0) return 0;
    MX_TRY(mark(r));
    if (how->whole_norm) MX_TRY(mx_copy_upload(r->stream, norm_of(r), r->norm, 4 * FLOAT_BYTES));
    struct mx_optimizer_update update = {.options = how->optimizer,
                                         .rate = how->rate,
                                         .ema_decay = how->ema_decay,
                                         .step = how->step,
                                         .count = range.count,
                                         .decayed = decayed < 0             ? 0
                                                    : decayed > range.count ? range.count
                                                                            : decayed,
                                         .weights = floats_at(r->weights, range.first),
                                         .gradients = floats_at(r->gradients, range.first),
                                         .average = average_at(r, range.first),
                                         .norm = norm_of(r)};
    for (int i = 0; i < optimizer->state_count; i++) update.states[optimizer->states[i]] = state_at(r, i, range.first);
    MX_TRY(optimizer->update(r->stream, &update));
    MX_TRY(mark(r));
out:
    return rc;
}

int mx_replica_send(struct mx_replica *r, struct mx_replica *other)
{
    const struct mx_range range = r->range;
    if (range.count == 0) return 0;
    return mx_copy_slices(r->stream, floats_at(other->weights, range.first), floats_at(r->weights, range.first),
                          (size_t)range.count * FLOAT_BYTES);
}

int mx_replica_take_average(struct mx_replica *r, const struct mx_replica *other)
{
    const struct mx_range range = other->range;
    if (range.count == 0) return 0;
    return mx_copy_slices(r->stream, average_at(r, range.first), average_at(other, range.first),
                          (size_t)range.count * FLOAT_BYTES);
}

/* ---- ranges ---- */

int mx_replica_send_range(struct mx_replica *r, struct mx_replica *other, struct mx_range range)
{
    int rc = 0;
    const size_t bytes = (size_t)range.count * FLOAT_BYTES;
    if (range.count == 0) return 0;
    MX_TRY(mx_copy_slices(r->stream, average_at(other, range.first), average_at(r, range.first), bytes));
    for (int i = 0; i < optimizer_of(r)->state_count; i++)
        MX_TRY(mx_copy_slices(r->stream, state_at(other, i, range.first), state_at(r, i, range.first), bytes));
out:
    return rc;
}

int mx_replica_send_all(struct mx_replica *r, struct mx_replica *other)
{
    return mx_copy_slices(r->stream, floats_at(other->weights, 0), floats_at(r->weights, 0),
                          (size_t)r->floats * FLOAT_BYTES);
}

/* ---- arrays ---- */

/* One array of the range, from or to the flat array `host`, if that is wanted. */
static int array_copy(struct mx_replica *r, float *host, struct mx_slice device, bool read)
{
    const size_t bytes = (size_t)r->range.count * FLOAT_BYTES;
    if (host == NULL) return 0;
    host += r->range.first;
    return read ? mx_copy_download(r->stream, host, device, bytes) : mx_copy_upload(r->stream, device, host, bytes);
}

static int arrays_copy(struct mx_replica *r, const struct mx_replica_arrays *arrays, bool read)
{
    int rc = 0;
    const struct mx_optimizer *const optimizer = optimizer_of(r);
    const int64_t first = r->range.first;
    if (r->range.count == 0) return 0;
    MX_TRY(array_copy(r, arrays->average, average_at(r, first), read));
    for (int i = 0; i < optimizer->state_count; i++)
        MX_TRY(array_copy(r, arrays->states[optimizer->states[i]], state_at(r, i, first), read));
    MX_TRY(mx_stream_sync(r->stream));
out:
    return rc;
}

int mx_replica_read(struct mx_replica *r, const struct mx_replica_arrays *arrays)
{
    return arrays_copy(r, arrays, true);
}

int mx_replica_write(struct mx_replica *r, const struct mx_replica_arrays *arrays)
{
    return arrays_copy(r, arrays, false);
}

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Sums of buckets over all ranks, see mpi_internal.h.
 *
 * Up to RING_RANKS ranks the sum is our own ring over MPI messages: the bucket is cut into a chunk for each rank; in
 * the first size - 1 steps a chunk travels from rank to rank and each adds its own to it, in the next size - 1 the
 * finished chunks travel once around. Each rank sends and receives 2(size - 1)/size of the bucket, the order of the
 * additions is fixed, and every sum is computed once, so the result is the same in all ranks and in every run. With
 * more ranks the number of messages would matter, so the library's own sum is used, which knows the network; that it
 * gives the same bits for the same ranks in every run is the library's promise, not ours. MYXTTS_SUMS=ring or =library
 * chooses by hand. Sums made by NCCL (mpi_nccl.c) do not come here.
 *
 * The ring has several lanes, so that one bucket's messages fill the pauses of the others'. All ranks must request the
 * library's sums in the same order: one after the other.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "dist/mpi_internal.h"

#define RING_RANKS 8
#define TAG_RING   1 /* + lane */
/* Between two polls. Each interrupts what a CPU device computes on this core, so there are few while it does: fewer the
 * longer a gradient has been waited for, and the longer nothing has come of messages that are under way, which the
 * network's buffers hold in the meantime. Nothing comes too late by that: when the device is done the trainer asks for
 * something, which wakes the thread, and while the trainer waits the core is free. */
#define PAUSE_LEAST_NS  UINT64_C(100000)
#define PAUSE_SOON_NS   UINT64_C(1000000)  /* for a gradient, at least */
#define PAUSE_READY_NS  UINT64_C(10000000) /* for a gradient, at most */
#define PAUSE_SUM_NS    UINT64_C(2000000)  /* for messages, at most */
#define PAUSE_NEEDED_NS UINT64_C(30000)    /* the trainer waits */

int mx_mpi_sums_open(struct mx_dist *d)
{
    const char *const way = getenv("MYXTTS_SUMS");
    const int64_t chunk = MX_BUCKET_FLOATS / d->comm.size + 1;
    d->ring = d->comm.size <= RING_RANKS;
    if (way != NULL && strcmp(way, "ring") == 0) d->ring = true;
    if (way != NULL && strcmp(way, "library") == 0) d->ring = false;
    d->lane_count = d->ring ? MX_MPI_LANES : 1;
    for (int i = 0; i < MX_MPI_LANES; i++) {
        d->lanes[i].requests = &d->requests[2 * (ptrdiff_t)i];
        d->requests[2 * i] = d->requests[2 * i + 1] = MPI_REQUEST_NULL;
    }
    for (int i = 0; i < MX_MPI_LANES && d->ring; i++) {
        d->lanes[i].received = mx_alloc((size_t)chunk, sizeof *d->lanes[i].received);
        if (d->lanes[i].received == NULL) return MX_ERR_NO_MEMORY;
    }
    return 0;
}

void mx_mpi_sums_close(struct mx_dist *d)
{
    for (int i = 0; i < MX_MPI_LANES; i++) mx_free(d->lanes[i].received);
}

void mx_mpi_sums_release(struct mx_dist *d)
{
    pthread_mutex_lock(&d->lock); /* under it the thread has counted its last sum: it is done with all of this */
    pthread_mutex_unlock(&d->lock);
    for (int i = 0; i < MX_MPI_LANES; i++) {
        struct mx_mpi_lane *const lane = &d->lanes[i];
        if (lane->staging != NULL) mx_host_release(d->device, lane->staging);
        mx_event_release(lane->moved);
        lane->staging = NULL;
        lane->moved = NULL;
    }
    mx_stream_release(d->stream);
    d->stream = NULL;
    d->device = NULL;
}

/* ---- the ring ---- */

static int32_t wrap(int32_t chunk, int32_t size)
{
    return (chunk % size + size) % size;
}

static int64_t chunk_first(const struct mx_mpi_lane *lane, int32_t chunk, int32_t size)
{
    return lane->count * chunk / size;
}

static int chunk_count(const struct mx_mpi_lane *lane, int32_t chunk, int32_t size)
{
    return (int)(chunk_first(lane, chunk + 1, size) - chunk_first(lane, chunk, size));
}

/* Which chunks this step of the ring receives and sends. */
static void chunks_of(const struct mx_dist *d, int32_t step, int32_t *in, int32_t *out)
{
    const int32_t rank = d->comm.rank, size = d->comm.size;
    const int32_t round = step < size - 1 ? step : step - (size - 1);
    *out = wrap(step < size - 1 ? rank - round : rank + 1 - round, size);
    *in = wrap(*out - 1, size);
}

static void ring_post(struct mx_dist *d, struct mx_mpi_lane *lane)
{
    int32_t in, out;
    const int32_t size = d->comm.size, before = wrap(d->comm.rank - 1, size), after = wrap(d->comm.rank + 1, size);
    const int tag = TAG_RING + (int)(lane - d->lanes);
    chunks_of(d, lane->step, &in, &out);
    float *const to = lane->step < size - 1 ? lane->received : lane->values + chunk_first(lane, in, size);
    mx_mpi_check(d, MPI_Irecv(to, chunk_count(lane, in, size), MPI_FLOAT, before, tag, d->floats, &lane->requests[0]),
                 "receiving gradients");
    mx_mpi_check(d,
                 MPI_Isend(lane->values + chunk_first(lane, out, size), chunk_count(lane, out, size), MPI_FLOAT, after,
                           tag, d->floats, &lane->requests[1]),
                 "sending gradients");
}

/* A step's messages have come and gone: adds, and begins the next step. False: that was the last one. */
static bool ring_next(struct mx_dist *d, struct mx_mpi_lane *lane)
{
    int32_t in, out;
    const int32_t size = d->comm.size;
    chunks_of(d, lane->step, &in, &out);
    if (lane->step < size - 1) {
        float *const own = lane->values + chunk_first(lane, in, size);
        const float *const more = lane->received;
        const int count = chunk_count(lane, in, size);
        for (int i = 0; i < count; i++) own[i] += more[i];
    }
    if (++lane->step == 2 * (size - 1)) return false;
    ring_post(d, lane);
    return true;
}

/* ---- lanes ---- */

static void span_keep(struct mx_dist *d, const struct mx_mpi_lane *lane)
{
    if (d->options.spans == 0) return;
    d->spans[d->span_count++ % d->options.spans] =
        (struct mx_dist_span){.number = lane->number,
                              .lane = (int32_t)(lane - d->lanes),
                              .begin_ns = lane->begin_ns,
                              .end_ns = mx_clock_ns(),
                              .bytes = lane->sum.count * (int64_t)sizeof(float)};
}

/* This rank's own failure in the thread: memory, a device. */
static void own_failure(struct mx_dist *d, int rc)
{
    const struct mx_error *const error = mx_error_last();
    struct mx_mpi_failure failure = {.rank = d->comm.rank, .code = rc};
    if (rc >= 0) return;
    memcpy(failure.message, error->message, sizeof failure.message);
    memcpy(failure.hint, error->hint, sizeof failure.hint);
    mx_mpi_end(d, &failure);
}

/* What copies need, at the first sum of a device whose memory is its own. */
static int staging_alloc(struct mx_dist *d, struct mx_mpi_lane *lane)
{
    int rc = 0;
    void *host = NULL;
    d->device = mx_buffer_device(lane->sum.floats.buffer);
    if (d->stream == NULL) MX_TRY(mx_stream_create(d->device, "sums", &d->stream));
    if (lane->moved == NULL) MX_TRY(mx_event_create(d->device, &lane->moved));
    MX_TRY(mx_host_alloc(d->device, "sums", (size_t)MX_BUCKET_FLOATS * sizeof(float), &host));
    lane->staging = host;
out:
    return rc;
}

static struct mx_slice piece_of(const struct mx_mpi_lane *lane)
{
    return mx_slice_at(lane->sum.floats.buffer, lane->sum.floats.offset_bytes + (size_t)lane->first * sizeof(float));
}

/* The gradient of the piece is in lane->values: its sum begins. */
static void piece_sum(struct mx_dist *d, struct mx_mpi_lane *lane)
{
    lane->stage = MX_LANE_SUM;
    lane->step = 0;
    if (d->ring)
        ring_post(d, lane);
    else
        mx_mpi_check(d,
                     MPI_Iallreduce(MPI_IN_PLACE, lane->values, (int)lane->count, MPI_FLOAT, MPI_SUM, d->floats,
                                    &lane->requests[0]),
                     "summing gradients");
}

/* The device is done with the piece that begins at lane->first: fetches it if necessary. */
static void piece_begin(struct mx_dist *d, struct mx_mpi_lane *lane)
{
    const int64_t rest = lane->sum.count - lane->first;
    char *const host = mx_buffer_host(lane->sum.floats.buffer);
    lane->count = rest < MX_BUCKET_FLOATS ? rest : MX_BUCKET_FLOATS;
    if (host != NULL) {
        lane->values = (float *)(void *)(host + piece_of(lane).offset_bytes);
        piece_sum(d, lane);
        return;
    }
    if (lane->staging == NULL) own_failure(d, staging_alloc(d, lane));
    lane->values = lane->staging;
    lane->stage = MX_LANE_FETCH;
    own_failure(d, mx_copy_download(d->stream, lane->staging, piece_of(lane), (size_t)lane->count * sizeof(float)));
    own_failure(d, mx_event_record(lane->moved, d->stream));
}

/* The sum of a piece is where it belongs: the next piece, or the end. */
static void piece_end(struct mx_dist *d, struct mx_mpi_lane *lane)
{
    lane->first += lane->count;
    if (lane->first < lane->sum.count) {
        piece_begin(d, lane);
        return;
    }
    lane->stage = MX_LANE_FREE;
}

/* Polls a lane once; true: something happened. */
static bool lane_run(struct mx_dist *d, struct mx_mpi_lane *lane)
{
    switch (lane->stage) {
    case MX_LANE_FREE:
        return false;
    case MX_LANE_WAIT:
        if (lane->sum.ready != NULL && !mx_event_done(lane->sum.ready)) return false;
        lane->begin_ns = mx_clock_ns();
        piece_begin(d, lane);
        return true;
    case MX_LANE_FETCH:
        if (!mx_event_done(lane->moved)) return false;
        own_failure(d, mx_stream_status(d->stream));
        piece_sum(d, lane);
        return true;
    case MX_LANE_SUM:
        if (lane->requests[0] != MPI_REQUEST_NULL || lane->requests[1] != MPI_REQUEST_NULL) return false;
        if (d->ring && ring_next(d, lane)) return true;
        if (lane->values != lane->staging) {
            piece_end(d, lane);
            return true;
        }
        lane->stage = MX_LANE_PUT;
        own_failure(d, mx_copy_upload(d->stream, piece_of(lane), lane->staging, (size_t)lane->count * sizeof(float)));
        own_failure(d, mx_event_record(lane->moved, d->stream));
        return true;
    case MX_LANE_PUT:
        if (!mx_event_done(lane->moved)) return false;
        own_failure(d, mx_stream_status(d->stream));
        piece_end(d, lane);
        return true;
    }
    return false;
}

/* Removes the completed messages from their array. Each such call of MPI polls the network. */
static void messages_poll(struct mx_dist *d)
{
    int done[2 * MX_MPI_LANES], count = 0;
    bool any = false;
    for (int i = 0; i < d->lane_count; i++) any = any || d->lanes[i].stage == MX_LANE_SUM;
    if (any)
        mx_mpi_check(d, MPI_Testsome(2 * d->lane_count, d->requests, &count, done, MPI_STATUSES_IGNORE),
                     "summing gradients");
}

bool mx_mpi_sums_run(struct mx_dist *d)
{
    bool moved = false;
    messages_poll(d);
    for (int i = 0; i < d->lane_count; i++) {
        /* A sum has the same lane, and with it the same tag, in all ranks. */
        struct mx_mpi_lane *const lane = &d->lanes[i];
        if (lane->stage == MX_LANE_FREE && d->started % (uint64_t)d->lane_count == (uint64_t)i) {
            pthread_mutex_lock(&d->lock);
            const bool more = d->started < d->begun;
            if (more) lane->sum = d->sums[d->started % MX_MPI_SUMS];
            pthread_mutex_unlock(&d->lock);
            if (!more) continue;
            lane->stage = MX_LANE_WAIT;
            lane->begin_ns = mx_clock_ns();
            lane->first = 0;
            lane->number = d->started++;
            moved = true;
        }
        if (!lane_run(d, lane)) continue;
        moved = true;
        if (lane->stage != MX_LANE_FREE) continue;
        pthread_mutex_lock(&d->lock);
        span_keep(d, lane);
        d->done++;
        pthread_cond_broadcast(&d->changed);
        pthread_mutex_unlock(&d->lock);
    }
    return moved;
}

static uint64_t lane_pause(const struct mx_dist *d, const struct mx_mpi_lane *lane, uint64_t now_ns)
{
    uint64_t pause_ns = PAUSE_LEAST_NS;
    switch (lane->stage) {
    case MX_LANE_FREE:
        return UINT64_MAX;
    case MX_LANE_WAIT:
        pause_ns = (now_ns - lane->begin_ns) / 8;
        if (pause_ns > PAUSE_READY_NS) pause_ns = PAUSE_READY_NS;
        return pause_ns > PAUSE_SOON_NS ? pause_ns : PAUSE_SOON_NS;
    case MX_LANE_SUM:
        for (uint32_t i = 1; i < d->idle_looks && pause_ns < PAUSE_SUM_NS; i++) pause_ns *= 2;
        if (pause_ns > PAUSE_SUM_NS) pause_ns = PAUSE_SUM_NS;
        return atomic_load(&d->waiting) ? PAUSE_NEEDED_NS : pause_ns;
    case MX_LANE_FETCH:
    case MX_LANE_PUT:
        break;
    }
    return pause_ns;
}

uint64_t mx_mpi_sums_pause(const struct mx_dist *d)
{
    const uint64_t now_ns = mx_clock_ns();
    uint64_t pause_ns = UINT64_MAX;
    for (int i = 0; i < MX_MPI_LANES; i++) {
        const uint64_t own_ns = lane_pause(d, &d->lanes[i], now_ns);
        if (own_ns < pause_ns) pause_ns = own_ns;
    }
    return pause_ns;
}

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The pipeline of small numbers; see pipeline_rig.h. Asserts with cmocka while it opens and in what tests that take
 * themselves call; a run only notes what is wrong.
 */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "support/pipeline_rig.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/rng.h"
#include "support/cores.h"

#define BYTES (PIPELINE_RIG_WORDS * sizeof(uint32_t))

static void ring_make(struct mx_device *device, struct pipeline_rig_slot *slots, void **pointers)
{
    for (int i = 0; i < PIPELINE_RIG_SLOTS; i++) {
        pointers[i] = &slots[i];
        if (device) assert_int_equal(mx_buffer_create(device, "slots", BYTES, &slots[i].buffer), 0);
    }
}

void pipeline_rig_open(struct pipeline_rig *rig, const struct mx_backend *const *backends)
{
    if (backends == NULL) two_cores_or_skip();
    pipeline_rig_open_on(rig, backends, &(struct mx_registry_options){.cpu_devices = backends ? 0 : 2});
}

void pipeline_rig_open_on(struct pipeline_rig *rig, const struct mx_backend *const *backends,
                          const struct mx_registry_options *options)
{
    memset(rig, 0, sizeof *rig);
    assert_int_equal(mx_registry_open(backends, options, &rig->registry), 0);
    for (int d = 0; d < 2; d++) assert_int_equal(mx_registry_device_open(rig->registry, d, 0, &rig->devices[d]), 0);
    ring_make(NULL, rig->host, rig->host_slots);
    ring_make(rig->devices[0], rig->data, rig->data_slots);
    ring_make(rig->devices[1], rig->model, rig->model_slots);
}

void pipeline_rig_close(struct pipeline_rig *rig)
{
    mx_pipeline_destroy(rig->pipeline);
    mx_stream_release(rig->stream);
    for (int i = 0; i < PIPELINE_RIG_SLOTS; i++) {
        mx_buffer_release(rig->data[i].buffer);
        mx_buffer_release(rig->model[i].buffer);
    }
    for (int d = 0; d < 2; d++) mx_device_close(rig->devices[d]);
    mx_registry_close(rig->registry);
}

struct pipeline_rig_run pipeline_rig_plain(uint64_t seed, uint64_t batches)
{
    return (struct pipeline_rig_run){
        .seed = seed,
        .options = {.host_count = 4, .data_count = 3, .model_count = MX_PIPELINE_BUFFERS, .workers = 3, .held = 2},
        .batches = batches,
        .delay_us = 200,
        .fail_stage = MX_STAGES,
        .full_stage = MX_STAGES};
}

struct pipeline_rig_run pipeline_rig_smallest(uint64_t seed, uint64_t batches)
{
    struct pipeline_rig_run run = pipeline_rig_plain(seed, batches);
    run.one_device = seed % 2 == 1;
    run.options.sequential = seed / 2 % 2 == 1;
    run.options.host_count = 1;
    run.options.data_count = run.one_device ? 2 : 1;
    run.options.model_count = 2;
    run.options.held = 1;
    return run;
}

/* ---- the work ---- */

static int maybe_fail(const struct pipeline_rig_run *run, int stage, uint64_t number)
{
    if (number != run->fail_at) return 0;
    if (run->full_stage == stage)
        return MX_FAIL(MX_ERR_BUDGET, "this failure was asked for", "batch %" PRIu64 " does not fit", number);
    if (run->fail_stage == stage)
        return MX_FAIL(MX_ERR_DATA, "this failure was asked for", "stage %d of batch %" PRIu64 " failed", stage,
                       number);
    return 0;
}

static int rig_draw(void *context, uint64_t number, void *host_slot)
{
    struct pipeline_rig_run *const run = context;
    struct pipeline_rig_slot *const slot = host_slot;
    if (number != run->drawn) snprintf(run->trouble, sizeof run->trouble, "batches are drawn out of order");
    if (number >= run->batches) return 1;
    const int rc = maybe_fail(run, -1, number);
    if (rc < 0) return rc;
    run->drawn++;
    slot->number = number;
    return 0;
}

int pipeline_rig_load(void *context, int worker, uint64_t number, void *host_slot, const atomic_bool *cancel)
{
    struct pipeline_rig_run *const run = context;
    struct pipeline_rig_slot *const slot = host_slot;
    const uint64_t delay_us = mx_rng_below(run->seed, 7, number, (uint64_t)run->delay_us + 1);
    if (worker < 0 || worker >= run->options.workers) return MX_FAIL(MX_ERR_INTERNAL, NULL, "no such worker");
    if (slot->number != number || atomic_fetch_add(&slot->users, 1) != 0) atomic_store(&run->loading_together, true);
    for (uint64_t us = 0; us < delay_us && !atomic_load(cancel); us += 1000)
        mx_clock_sleep_ns((delay_us - us < 1000 ? delay_us - us : 1000) * 1000);
    const int rc = maybe_fail(run, MX_STAGE_LOAD, number);
    for (uint32_t i = 0; rc == 0 && i < PIPELINE_RIG_WORDS; i++) slot->words[i] = mx_rng_u32(run->seed, number, i);
    atomic_fetch_sub(&slot->users, 1);
    return rc;
}

static int rig_process(void *context, struct mx_stream *stream, uint64_t number, const void *host_slot, void *data_slot)
{
    const struct pipeline_rig_slot *const from = host_slot;
    struct pipeline_rig_slot *const to = data_slot;
    const int rc = maybe_fail(context, MX_STAGE_PROCESS, number);
    if (rc < 0) return rc;
    to->number = from->number;
    return mx_copy_upload(stream, mx_slice_at(to->buffer, 0), from->words, BYTES);
}

static int rig_transfer(void *context, struct mx_stream *stream, uint64_t number, const void *data_slot,
                        void *model_slot)
{
    const struct pipeline_rig_slot *const from = data_slot;
    struct pipeline_rig_slot *const to = model_slot;
    const int rc = maybe_fail(context, MX_STAGE_TRANSFER, number);
    if (rc < 0) return rc;
    to->number = from->number;
    return mx_copy_slices(stream, mx_slice_at(to->buffer, 0), mx_slice_at(from->buffer, 0), BYTES);
}

void pipeline_rig_options(struct pipeline_rig *rig, struct pipeline_rig_run *run, struct mx_pipeline_options *out)
{
    *out = run->options;
    run->rig = rig;
    out->data = rig->devices[0];
    out->model = rig->devices[run->one_device ? 0 : 1];
    out->work.context = run;
    out->work.draw = rig_draw;
    if (!out->work.load) out->work.load = pipeline_rig_load;
    out->work.process = rig_process;
    out->work.transfer = run->one_device ? NULL : rig_transfer;
    out->host_slots = rig->host_slots;
    out->data_slots = rig->data_slots;
    out->model_slots = run->one_device ? NULL : rig->model_slots;
    if (run->one_device) out->model_count = 0;
}

/* ---- a run ---- */

/* Takes until the end, a failure or the stop; contents arrive in `rows` later. */
static void batches_acquire(struct pipeline_rig_run *run, struct mx_pipeline *pipeline, struct mx_stream *stream,
                            uint32_t rows[][PIPELINE_RIG_WORDS])
{
    struct mx_pipeline_batch batch;
    uint64_t given = 0, taken = 0;
    while (run->stop_after == 0 || taken < run->stop_after) {
        run->rc = mx_pipeline_take(pipeline, stream, &batch);
        if (run->rc != 0) break;
        const struct pipeline_rig_slot *const slot = batch.slot;
        if (batch.number != taken || slot->number != taken || taken >= PIPELINE_RIG_BATCHES) {
            snprintf(run->trouble, sizeof run->trouble, "batch %" PRIu64 " came as number %" PRIu64, batch.number,
                     taken);
            break;
        }
        run->rc = mx_copy_download(stream, rows[taken++], mx_slice_at(slot->buffer, 0), BYTES);
        if (run->each) run->each(pipeline, batch.number, run->context);
        if (run->rc == 0 && taken - given == (uint64_t)run->options.held) {
            given++;
            run->rc = mx_pipeline_give(pipeline, stream);
            if (run->rc == 0) mx_pipeline_step(pipeline);
        }
        if (run->rc != 0) break;
    }
    if (run->rc < 0) run->error = *mx_error_last();
    while (given < taken && run->rc == 1) {
        given++;
        mx_pipeline_give(pipeline, stream);
    }
    if (run->rc != 0 && taken == given) run->again = mx_pipeline_take(pipeline, stream, &batch);
    run->delivered = taken;
}

void pipeline_rig_go(struct pipeline_rig *rig, struct pipeline_rig_run *run)
{
    struct mx_pipeline_options options;
    struct mx_pipeline *pipeline = NULL;
    struct mx_stream *stream = NULL;
    uint32_t rows[PIPELINE_RIG_BATCHES][PIPELINE_RIG_WORDS];
    memset(rows, 0, sizeof rows);
    pipeline_rig_options(rig, run, &options);
    run->rc = mx_stream_create(options.model, "train", &stream);
    if (run->rc == 0) run->rc = mx_pipeline_create(&options, &pipeline);
    if (run->rc < 0) {
        run->error = *mx_error_last();
        mx_stream_release(stream);
        return;
    }
    const uint64_t allocations = mx_alloc_count();
    batches_acquire(run, pipeline, stream, rows);
    run->allocations = mx_alloc_count() - allocations;
    const bool failed = mx_stream_sync(stream) < 0; /* then some rows did not come */
    mx_pipeline_stats(pipeline, &run->stats);
    mx_pipeline_destroy(pipeline);
    mx_stream_release(stream);
    for (uint64_t n = 0; n < run->delivered && !failed; n++)
        for (uint32_t i = 0; i < PIPELINE_RIG_WORDS; i++)
            if (rows[n][i] != mx_rng_u32(run->seed, n, i))
                snprintf(run->trouble, sizeof run->trouble, "batch %" PRIu64 " has wrong contents", n);
    if (atomic_load(&run->loading_together)) snprintf(run->trouble, sizeof run->trouble, "two workers share a slot");
}

/* ---- tests that take themselves ---- */

void pipeline_rig_begin(struct pipeline_rig *rig, struct pipeline_rig_run *run)
{
    struct mx_pipeline_options options;
    pipeline_rig_options(rig, run, &options);
    assert_int_equal(mx_stream_create(options.model, "train", &rig->stream), 0);
    assert_int_equal(mx_pipeline_create(&options, &rig->pipeline), 0);
}

static void memory_check(const struct pipeline_rig *rig, const char *backend)
{
    struct mx_pipeline_memory memory;
    char name[32];
    mx_pipeline_memory_stats(rig->pipeline, &memory);
    assert_int_equal(memory.device_count, 2);
    for (int d = 0; d < 2; d++) {
        uint64_t slots_bytes = 0;
        snprintf(name, sizeof name, "%s:%d", backend, d);
        assert_string_equal(memory.devices[d].name, name);
        snprintf(name, sizeof name, "GPU:%d", d);
        assert_string_equal(memory.devices[d].logical, name);
        for (int32_t i = 0; i < memory.devices[d].owner_count; i++)
            if (strcmp(memory.devices[d].owners[i].name, "slots") == 0)
                slots_bytes = memory.devices[d].owners[i].used_bytes;
        assert_int_equal(slots_bytes, PIPELINE_RIG_SLOTS * BYTES);
        assert_true(memory.devices[d].used_bytes >= slots_bytes);
        assert_true(memory.devices[d].peak_bytes >= memory.devices[d].used_bytes);
        assert_int_equal(memory.devices[d].limit_bytes, 0); /* no limit was set */
    }
}

void pipeline_rig_figures(const struct pipeline_rig *rig, uint32_t batches, const char *backend)
{
    struct mx_pipeline_stats stats;
    struct mx_span spans[MX_STAGES * PIPELINE_RIG_BATCHES];
    const uint32_t pieces = MX_STAGES * batches;
    assert_int_equal(mx_stream_sync(rig->stream), 0);
    mx_pipeline_stats(rig->pipeline, &stats);
    assert_int_equal(stats.batches, batches);
    for (int stage = 0; stage < MX_STAGES; stage++) assert_int_equal(stats.stages[stage].busy_ns.count, batches);
    assert_true(stats.transfer_ns > 0);
    assert_true(stats.model_busy_ns <= stats.wall_ns && stats.data_busy_ns <= stats.wall_ns);
    assert_true(stats.transfer_hidden_ns <= stats.transfer_ns && stats.stage_overlap_ns <= stats.model_busy_ns);
    assert_true(stats.data_wait_ns <= stats.wall_ns);
    assert_int_equal(mx_pipeline_spans(rig->pipeline, spans, pieces), pieces);
    for (uint32_t i = 0; i < pieces; i++) {
        assert_true(spans[i].begin_ns <= spans[i].end_ns);
        assert_true(spans[i].number < batches);
    }
    memory_check(rig, backend);
}

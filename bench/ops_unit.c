/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Devices, buffers, chains and rows of bench_ops; see ops_unit.h.
 */
#include "ops_unit.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"

/* ---- devices ---- */

void unit_open(struct unit *unit, int devices, int index)
{
    const struct mx_registry_options options = {.cpu_devices = devices};
    char name[32];
    *unit = (struct unit){0};
    snprintf(name, sizeof name, "cpu:%d", index);
    if (mx_registry_open(mx_backends_cpu, &options, &unit->registry) < 0) bench_die("cannot open the registry");
    const int found = mx_registry_find(unit->registry, name);
    if (found < 0 || mx_registry_device_open(unit->registry, found, 0, &unit->device) < 0 ||
        mx_stream_create(unit->device, "bench", &unit->stream) < 0)
        bench_die("cannot open a CPU device");
    const struct mx_device_info *info = mx_device_info(unit->device);
    unit->core = info->cores[0];
    unit->cores = info->compute_units;
    snprintf(unit->label, sizeof unit->label, "%d core%s", unit->cores, unit->cores > 1 ? "s" : "");
    peak_open(&unit->peak, info->cores, unit->cores);
}

void unit_clear(struct unit *unit)
{
    if (mx_stream_sync(unit->stream) < 0) bench_die("an operation failed");
    while (unit->buffer_count > 0) mx_buffer_release(unit->buffers[--unit->buffer_count]);
}

void unit_close(struct unit *unit)
{
    if (!unit->registry) return;
    unit_clear(unit);
    mx_stream_release(unit->stream);
    mx_device_close(unit->device);
    mx_registry_close(unit->registry);
    peak_close(&unit->peak);
}

struct mx_slice floats(struct unit *unit, int64_t count, float value)
{
    struct mx_buffer *buffer = NULL;
    if (unit->buffer_count == BUFFERS_MAX || mx_buffer_create(unit->device, "bench", (size_t)count * 4, &buffer) < 0)
        bench_die("no device memory for the bench");
    unit->buffers[unit->buffer_count++] = buffer;
    const struct mx_fill_args fill = {.x = {buffer, 0}, .count = count, .value = value};
    if (mx_fill(unit->stream, &fill) < 0 || mx_stream_sync(unit->stream) < 0) bench_die("cannot fill a buffer");
    return mx_slice_at(buffer, 0);
}

struct mx_slice words(struct unit *unit, const void *from, int64_t count)
{
    const struct mx_slice slice = floats(unit, count, 0);
    if (mx_copy_upload(unit->stream, slice, from, (size_t)count * 4) < 0 || mx_stream_sync(unit->stream) < 0)
        bench_die("cannot fill a buffer");
    return slice;
}

struct mx_slice noise(struct unit *unit, int64_t count)
{
    float *host = bench_alloc((size_t)count * sizeof *host);
    for (int64_t i = 0; i < count; i++) host[i] = (float)((i * 2654435761 >> 8) % 2001 - 1000) * 1e-3f;
    const struct mx_slice slice = words(unit, host, count);
    mx_free(host);
    return slice;
}

struct mx_ragged packed_by(struct unit *unit, int32_t step)
{
    int32_t ends[SEQUENCES + 1];
    for (int i = 0; i <= SEQUENCES; i++) ends[i] = i * step;
    return (struct mx_ragged){
        .offsets = words(unit, ends, SEQUENCES + 1), .count = SEQUENCES, .rows = SEQUENCES * step, .max_rows = step};
}

struct mx_ragged packed(struct unit *unit)
{
    return packed_by(unit, LENGTH);
}

void chain_run(void *context, int64_t repeats)
{
    const struct chain *chain = context;
    for (int64_t i = 0; i < repeats; i++)
        for (int k = 0; k < chain->count; k++)
            if (mx_op_submit(chain->unit->stream, chain->links[k].op, chain->links[k].args) < 0)
                bench_die("cannot submit an operation");
    if (mx_stream_sync(chain->unit->stream) < 0) bench_die("an operation failed");
}

struct chain chain_of(struct unit *unit, enum mx_op op, const void *args)
{
    return (struct chain){.unit = unit, .links = {{op, args}}, .count = 1};
}

/* ---- arithmetic alone ---- */

void resident_open(struct resident *resident)
{
    if (mx_cpu_kernels_choose(getenv("MYXTTS_ISA"), &resident->kernels) < 0) bench_die("cannot choose kernels");
    for (int i = 0; i < resident->unit->cores; i++) {
        resident->scratch[i] = bench_alloc(MX_CPU_SCRATCH_BYTES);
        resident->shared[i] = bench_alloc(MX_CPU_SHARED_BYTES);
    }
}

void resident_close(struct resident *resident)
{
    for (int i = 0; i < resident->unit->cores; i++) {
        mx_free(resident->scratch[i]);
        mx_free(resident->shared[i]);
    }
}

static void resident_worker(void *context, int worker)
{
    const struct resident *resident = context;
    const struct link *link = &resident->links[worker];
    for (int64_t i = 0; i < resident->repeats; i++) {
        atomic_llong tickets[MX_CPU_TICKETS] = {0};
        const struct mx_gang alone = {
            .workers = 1, .scratch = resident->scratch[worker], .shared = resident->shared[worker], .tickets = tickets};
        resident->kernels->run[link->op](&alone, link->args);
    }
}

void resident_run(void *context, int64_t repeats)
{
    struct resident *resident = context;
    resident->repeats = repeats;
    mx_pool_run(resident->unit->peak.pool, resident_worker, resident);
}

/* ---- two kinds of rows ---- */

void row_name(char name[96], const struct unit *unit, const char *what)
{
    snprintf(name, 96, "%s, %s", what, unit->label);
}

/* On several cores the limit is the peak in step, with the rounds compared one by one; the free one is shown beside it. */
void row_compute(struct bench *bench, struct chain *chain, const char *what, double flops, double bar)
{
    char name[96];
    struct peak *const peak = &chain->unit->peak;
    const bool alone = chain->unit->cores == 1;
    row_name(name, chain->unit, what);
    struct bench_job jobs[] = {alone ? peak_fma_job(peak) : peak_step_job(peak, flops / chain->count),
                               {.run = chain_run, .context = chain, .work = flops},
                               peak_fma_job(peak)};
    bench_measure(bench, jobs, alone ? 2 : 3, chain->unit->core);
    if (!alone) bench_report_paired(bench, name, "GFLOP/s", &jobs[1], "FMA peak in step", &jobs[0], bar);
    bench_report(bench, name, "GFLOP/s", &jobs[1], "FMA peak", &jobs[alone ? 0 : 2], alone ? bar : 0);
}

void row_memory(struct bench *bench, struct chain *chain, const char *what, int64_t count, int arrays, int passes,
                double bar)
{
    char name[96];
    row_name(name, chain->unit, what);
    struct bench_job jobs[] = {peak_copy_job(&chain->unit->peak, (size_t)count * 4 * (size_t)arrays),
                               {.run = chain_run, .context = chain, .work = 4.0 * (double)count * passes}};
    bench_measure(bench, jobs, 2, chain->unit->core);
    bench_report(bench, name, "GB/s", &jobs[1], "memcpy, same footprint", &jobs[0], bar);
}

bool wanted(const struct bench *bench, const struct unit *unit, const char *what)
{
    char name[96];
    row_name(name, unit, what);
    return bench_wanted(bench, name);
}

void row_bytes(struct bench *bench, struct unit *unit, const char *what, enum mx_op op, const void *args, int64_t count)
{
    struct chain chain = chain_of(unit, op, args);
    if (wanted(bench, unit, what)) row_memory(bench, &chain, what, count, 1, 1, 0);
}

void row_flops(struct bench *bench, struct unit *unit, const char *what, enum mx_op op, const void *args, double flops)
{
    struct chain chain = chain_of(unit, op, args);
    if (wanted(bench, unit, what)) row_compute(bench, &chain, what, flops, 0);
}

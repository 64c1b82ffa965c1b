/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Commands: making, holding the memory they name, running. Wrong addresses of copies are refused when they are given,
 * as CUDA does; those of kernels and products show only when they run, and the context is lost with them.
 *
 * Memory: see struct command. Snapshots of pageable memory are the command's.
 */
#include "inside.h"

#include <stdlib.h>
#include <string.h>

struct command *command_make(enum command_kind kind)
{
    struct command *const command = calloc(1, sizeof *command);
    command->kind = kind;
    return command;
}

struct command *command_copy(const struct command *command)
{
    struct command *const copy = malloc(sizeof *copy);
    memcpy(copy, command, sizeof *copy);
    copy->next = NULL;
    return copy;
}

/* The next block of the command. */
static bool hold(struct command *command, struct context *context, CUdeviceptr address, size_t bytes, const char *call)
{
    const int at = command->block_count;
    command->blocks[at] = block_hold(context, address, bytes, &command->hosts[at], call);
    if (!command->blocks[at]) return false;
    command->block_count++;
    return true;
}

static bool copy_hold(struct command *command, bool snapshot)
{
    struct copy *const copy = &command->copy;
    if (copy->way != COPY_UPLOAD && !hold(command, copy->from_context, copy->from, copy->bytes, "copy from a device"))
        return false;
    if (copy->way != COPY_DOWNLOAD && !hold(command, copy->to_context, copy->to, copy->bytes, "copy to a device"))
        return false;
    if (copy->way == COPY_INSIDE && copy->to_context == copy->from_context && copy->to < copy->from + copy->bytes &&
        copy->from < copy->to + copy->bytes) {
        fault(0, "copy of memory onto itself");
        return false;
    }
    /* CUDA reads pageable memory before the call returns. */
    if (copy->way == COPY_UPLOAD && snapshot && !host_pinned(copy->host, copy->bytes)) {
        copy->snapshot = malloc(copy->bytes);
        memcpy(copy->snapshot, copy->host, copy->bytes);
    }
    return true;
}

static bool call_hold(struct command *command, struct context *context)
{
    const struct call *const call = &command->call;
    for (int i = 0; call->kernel->kinds[i]; i++)
        if (call->kernel->kinds[i] == 'p' && call->values[i] != 0 &&
            !hold(command, context, call->values[i], 1, call->kernel->name))
            return false;
    return true;
}

/* Elements of a column-major matrix from its first to its last. */
static size_t extent(int64_t rows, int64_t columns, int64_t leading)
{
    return rows > 0 && columns > 0 ? (size_t)((columns - 1) * leading + rows) : 0;
}

static bool gemm_hold(struct command *command, struct context *context)
{
    const struct gemm *const g = &command->gemm;
    const size_t size = g->half ? 2 : 4;
    const size_t a = extent(g->ta ? g->k : g->m, g->ta ? g->m : g->k, g->lda);
    const size_t b = extent(g->tb ? g->n : g->k, g->tb ? g->k : g->n, g->ldb);
    return hold(command, context, g->a, a * size, "matrix A") && hold(command, context, g->b, b * size, "matrix B") &&
           hold(command, context, g->c, extent(g->m, g->n, g->ldc) * 4, "matrix C");
}

CUresult command_hold(struct command *command, struct context *context, bool snapshot)
{
    switch (command->kind) {
    case COMMAND_COPY:
        return copy_hold(command, snapshot) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    case COMMAND_FILL:
        return hold(command, context, command->fill.to, command->fill.words * 4, "cuMemsetD32Async")
                   ? CUDA_SUCCESS
                   : CUDA_ERROR_INVALID_VALUE;
    case COMMAND_SUM:
        return hold(command, context, command->sum.at, command->sum.count * 4, "ncclAllReduce")
                   ? CUDA_SUCCESS
                   : CUDA_ERROR_INVALID_VALUE;
    case COMMAND_KERNEL:
        command->broken = call_hold(command, context) ? CUDA_SUCCESS : CUDA_ERROR_ILLEGAL_ADDRESS;
        return CUDA_SUCCESS;
    case COMMAND_GEMM:
        command->broken = gemm_hold(command, context) ? CUDA_SUCCESS : CUDA_ERROR_ILLEGAL_ADDRESS;
        return CUDA_SUCCESS;
    default:
        return CUDA_SUCCESS;
    }
}

void command_forget(struct command *command)
{
    while (command->block_count > 0) block_drop(command->blocks[--command->block_count]);
}

void command_release(struct command *command)
{
    command_forget(command);
    if (command->kind == COMMAND_COPY) free(command->copy.snapshot);
    if (command->kind == COMMAND_SUM) sum_drop(&command->sum);
    if (command->kind == COMMAND_RECORD || command->kind == COMMAND_WAIT) record_drop(command->record);
    free(command);
}

static CUresult call_run(const struct command *command, struct lanes *lanes)
{
    uint64_t values[PARAMS_MAX];
    const struct call *const call = &command->call;
    for (int i = 0, block = 0; call->kernel->kinds[i]; i++) {
        const bool pointer = call->kernel->kinds[i] == 'p' && call->values[i] != 0;
        values[i] = pointer ? (uint64_t)(uintptr_t)command->hosts[block++] : call->values[i];
    }
    return lanes_run(lanes, call->kernel, values, call->groups) ? CUDA_SUCCESS : CUDA_ERROR_LAUNCH_FAILED;
}

CUresult command_run(struct command *command, struct lanes *lanes)
{
    if (command->broken != CUDA_SUCCESS) return command->broken;
    switch (command->kind) {
    case COMMAND_KERNEL:
        return call_run(command, lanes);
    case COMMAND_COPY:
        if (command->copy.way == COPY_UPLOAD) {
            memcpy(command->hosts[0], command->copy.snapshot ? command->copy.snapshot : command->copy.host,
                   command->copy.bytes);
        } else {
            memcpy(command->copy.way == COPY_DOWNLOAD ? command->copy.host : command->hosts[1], command->hosts[0],
                   command->copy.bytes);
        }
        return CUDA_SUCCESS;
    case COMMAND_FILL:
        for (size_t i = 0; i < command->fill.words; i++) memcpy(command->hosts[0] + 4 * i, &command->fill.word, 4);
        return CUDA_SUCCESS;
    case COMMAND_GEMM:
        gemm_run(&command->gemm, command->hosts);
        return CUDA_SUCCESS;
    case COMMAND_SUM:
        sum_run(&command->sum, (float *)(void *)command->hosts[0]);
        return CUDA_SUCCESS;
    case COMMAND_WAIT:
        record_wait(command->record);
        return CUDA_SUCCESS;
    default:
        return CUDA_SUCCESS;
    }
}

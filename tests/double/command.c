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
    if (copy->way != COPY_INSIDE) copy->pinned = host_hold(copy->host, copy->bytes);
    /* CUDA reads pageable memory before the call returns. */
    if (copy->way == COPY_UPLOAD && snapshot && !copy->pinned) {
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
    if (command->kind != COMMAND_COPY || !command->copy.pinned) return;
    block_drop(command->copy.pinned);
    command->copy.pinned = NULL;
}

void command_release(struct command *command)
{
    command_forget(command);
    if (command->kind == COMMAND_COPY) free(command->copy.snapshot);
    if (command->kind == COMMAND_SUM) sum_drop(&command->sum);
    if (command->kind == COMMAND_RECORD || command->kind == COMMAND_WAIT) record_drop(command->record);
    free(command);
}

/* ---- what is watched while kernels are executed as PTX ---- */

/* A command touches `bytes` of its block number `at`. */
static void touch(const struct command *command, int at, size_t offset, size_t bytes, enum ptx_access access,
                  uint32_t number)
{
    struct block *const block = command->blocks[at];
    const char *const what = command->kind == COMMAND_COPY   ? "copy"
                             : command->kind == COMMAND_FILL ? "fill"
                             : command->kind == COMMAND_GEMM ? "product"
                                                             : "sum";
    if (!block->shadow.words || bytes == 0) return;
    const char *const wrong = ptx_touch(&block->shadow, (size_t)(command->hosts[at] - block->host) + offset, bytes,
                                        access, number, order_over);
    if (wrong) fault(0, "a %s touches %s", what, wrong);
}

/* The columns of a matrix. */
static void touch_matrix(const struct command *command, int at, int rows, int columns, int leading, size_t size,
                         enum ptx_access access, uint32_t number)
{
    for (int i = 0; i < columns; i++)
        touch(command, at, (size_t)i * (size_t)leading * size, (size_t)rows * size, access, number);
}

static void touch_all(const struct command *command, uint32_t number)
{
    const struct gemm *const g = &command->gemm;
    const struct copy *const copy = &command->copy;
    const size_t size = command->kind == COMMAND_GEMM && g->half ? 2 : 4;
    switch (command->kind) {
    case COMMAND_COPY:
        if (copy->way != COPY_UPLOAD) touch(command, 0, 0, copy->bytes, PTX_COPIED, number);
        if (copy->way != COPY_DOWNLOAD) touch(command, copy->way == COPY_INSIDE, 0, copy->bytes, PTX_WRITTEN, number);
        if (copy->way == COPY_INSIDE && command->blocks[0]->shadow.words && command->blocks[1]->shadow.words)
            ptx_written_copy(&command->blocks[1]->shadow, (size_t)(command->hosts[1] - command->blocks[1]->host),
                             &command->blocks[0]->shadow, (size_t)(command->hosts[0] - command->blocks[0]->host),
                             copy->bytes);
        break;
    case COMMAND_FILL:
        touch(command, 0, 0, command->fill.words * 4, PTX_WRITTEN, number);
        break;
    case COMMAND_GEMM:
        touch_matrix(command, 0, g->ta ? g->k : g->m, g->ta ? g->m : g->k, g->lda, size, PTX_READ, number);
        touch_matrix(command, 1, g->tb ? g->n : g->k, g->tb ? g->k : g->n, g->ldb, size, PTX_READ, number);
        if (g->beta != 0) touch_matrix(command, 2, g->m, g->n, g->ldc, 4, PTX_READ, number);
        touch_matrix(command, 2, g->m, g->n, g->ldc, 4, PTX_WRITTEN, number);
        break;
    case COMMAND_SUM:
        touch(command, 0, 0, command->sum.count * 4, PTX_READ, number);
        touch(command, 0, 0, command->sum.count * 4, PTX_WRITTEN, number);
        break;
    default:
        break;
    }
}

/* ---- running ---- */

static CUresult entry_run(const struct command *command, struct ptx_machine *machine, uint32_t number)
{
    const struct call *const call = &command->call;
    struct ptx_span spans[BLOCKS_MAX];
    char error[PTX_ERROR_BYTES];
    for (int i = 0; i < command->block_count; i++) {
        struct block *const block = command->blocks[i];
        spans[i] = (struct ptx_span){.address = block->address,
                                     .bytes = block->bytes,
                                     .host = block->host,
                                     .shadow = block->shadow.words ? &block->shadow : NULL};
    }
    const struct ptx_launch launch = {.entry = call->entry,
                                      .groups = call->groups,
                                      .values = call->values,
                                      .spans = spans,
                                      .span_count = command->block_count,
                                      .command = number,
                                      .ordered = order_over,
                                      .seed = (uint64_t)settings()->ptx_seed + number,
                                      .bound = (int)settings()->ptx_bound};
    totals.executed++;
    if (ptx_run(machine, &launch, error)) return CUDA_SUCCESS;
    return fault(CUDA_ERROR_LAUNCH_FAILED, "%s", error);
}

static CUresult call_run(const struct command *command, const struct runner *runner, uint32_t number)
{
    uint64_t values[PARAMS_MAX];
    const struct call *const call = &command->call;
    if (call->entry) return entry_run(command, runner->machine, number);
    for (int i = 0, block = 0; call->kernel->kinds[i]; i++) {
        const bool pointer = call->kernel->kinds[i] == 'p' && call->values[i] != 0;
        values[i] = pointer ? (uint64_t)(uintptr_t)command->hosts[block++] : call->values[i];
    }
    return lanes_run(runner->lanes, call->kernel, values, call->groups) ? CUDA_SUCCESS : CUDA_ERROR_LAUNCH_FAILED;
}

CUresult command_run(struct command *command, const struct runner *runner)
{
    const uint32_t number = order_begin(runner->slot, &command->given);
    if (command->broken != CUDA_SUCCESS) return command->broken;
    if (settings()->ptx) touch_all(command, number);
    switch (command->kind) {
    case COMMAND_KERNEL:
        return call_run(command, runner, number);
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
        record_wait(command->record, runner->slot);
        return CUDA_SUCCESS;
    default:
        return CUDA_SUCCESS;
    }
}

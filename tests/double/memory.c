/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Memory of devices and pinned memory. A device address is a number that no host pointer can be, and that is never
 * given twice: reading it on the host crashes, and using it after its release is reported. New memory begins
 * with numbers that are not numbers; in builds without AddressSanitizer, which watches by itself, the bytes around it
 * are looked at when it is released.
 *
 * Memory: blocks are the double's, from allocation to release or to the end of their context.
 */
#include "inside.h"

#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#define PAD_BYTES 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PAD_BYTES 0
#endif
#endif
#ifndef PAD_BYTES
#define PAD_BYTES 256
#endif

#define ALIGN_BYTES 256
#define UNIT_BYTES  512                   /* of the driver's accounts */
#define ADDRESS_LOW 0x00d0000000000000ull /* no address of a host */
#define FRESH_WORD  0x7fd7d7d7u           /* NaN */
#define FRESH_BYTES ((size_t)1 << 20)     /* that new memory has of it at its begin; more would only take time */
#define PAD_BYTE    0xa5

/* Protects both lists, the last address and `used`. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct block *blocks, *pinned;
static CUdeviceptr next_address = ADDRESS_LOW;
static size_t used[DEVICES_MAX];

static size_t charged(size_t bytes)
{
    return (bytes + UNIT_BYTES - 1) / UNIT_BYTES * UNIT_BYTES;
}

/* ---- blocks ---- */

static struct block *block_make(size_t bytes)
{
    struct block *const block = calloc(1, sizeof *block);
    void *memory = NULL;
    /* Exactly as many bytes as asked for, so that AddressSanitizer sees the end. */
    if (!block || posix_memalign(&memory, ALIGN_BYTES, bytes + 2 * PAD_BYTES) != 0) {
        free(block);
        return NULL;
    }
    block->host = (char *)memory + PAD_BYTES;
    block->bytes = bytes;
    const size_t pad = PAD_BYTES, fresh = bytes < FRESH_BYTES ? bytes : FRESH_BYTES;
    memset(memory, PAD_BYTE, pad);
    memset(block->host + bytes, PAD_BYTE, pad);
    for (size_t i = 0; i + 4 <= fresh; i += 4) memcpy(block->host + i, &(uint32_t){FRESH_WORD}, 4);
    return block;
}

static void block_free(struct block *block)
{
    const size_t pad = PAD_BYTES;
    const unsigned char *const memory = (unsigned char *)block->host - pad;
    bool whole = true;
    for (size_t i = 0; i < pad; i++)
        whole = whole && memory[i] == PAD_BYTE && memory[pad + block->bytes + i] == PAD_BYTE;
    if (!whole) fault(0, "memory of %zu bytes was written outside of them", block->bytes);
    free(block->host - PAD_BYTES);
    free(block->shadow.words);
    free(block->shadow.written);
    free(block);
}

static struct block **block_find(CUdeviceptr address)
{
    struct block **at = &blocks;
    while (*at && (address < (*at)->address || address >= (*at)->address + (*at)->bytes)) at = &(*at)->next;
    return at;
}

struct block *block_hold(struct context *context, CUdeviceptr address, size_t bytes, char **host, const char *call)
{
    const char *wrong = NULL;
    pthread_mutex_lock(&lock);
    struct block *block = *block_find(address);
    if (!block) {
        wrong = "an address that is no device memory, or not any more";
    } else if (bytes > block->bytes - (size_t)(address - block->address)) {
        wrong = "more bytes than the memory has";
    } else if (block->context != context && !context->peers[block->context->device]) {
        wrong = "memory of another device";
    } else {
        atomic_fetch_add(&block->users, 1);
        *host = block->host + (address - block->address);
    }
    pthread_mutex_unlock(&lock);
    if (!wrong) return block;
    fault(0, "%s: %s", call, wrong);
    return NULL;
}

void block_drop(struct block *block)
{
    atomic_fetch_sub(&block->users, 1);
}

void memory_release_all(struct context *context)
{
    pthread_mutex_lock(&lock);
    for (struct block **at = &blocks; *at;) {
        struct block *const block = *at;
        if (block->context != context) {
            at = &block->next;
            continue;
        }
        *at = block->next;
        used[context->device] -= charged(block->bytes);
        totals.buffers--;
        totals.bytes -= (long)block->bytes;
        totals.leaks++;
        block_free(block);
    }
    for (struct block **at = &pinned; *at;) {
        struct block *const block = *at;
        if (block->context != context) {
            at = &block->next;
            continue;
        }
        *at = block->next;
        totals.pinned--;
        totals.leaks++;
        block_free(block);
    }
    pthread_mutex_unlock(&lock);
}

size_t memory_used(int device)
{
    pthread_mutex_lock(&lock);
    const size_t bytes = used[device];
    pthread_mutex_unlock(&lock);
    return bytes;
}

/* ---- device memory ---- */

CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes)
{
    struct context *context;
    const CUresult code = context_now(&context, "cuMemGetInfo");
    if (code != CUDA_SUCCESS) return code;
    *total_bytes = (size_t)settings()->memory_mib << 20;
    pthread_mutex_lock(&lock);
    *free_bytes = *total_bytes > used[context->device] ? *total_bytes - used[context->device] : 0;
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr *out, size_t bytes)
{
    struct context *context;
    const CUresult code = context_outside_capture(&context, "cuMemAlloc");
    if (code != CUDA_SUCCESS) return code;
    if (bytes == 0) return fault(CUDA_ERROR_INVALID_VALUE, "cuMemAlloc of 0 bytes");
    if (strikes(&settings()->fail_alloc)) return CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_lock(&lock);
    const size_t total = (size_t)settings()->memory_mib << 20;
    const bool fits = bytes <= total && used[context->device] + charged(bytes) <= total;
    struct block *const block = fits ? block_make(bytes) : NULL;
    if (block) {
        block->context = context;
        if (settings()->ptx) {
            block->shadow.words = calloc(bytes / 4 + 1, sizeof *block->shadow.words);
            block->shadow.written = calloc(bytes / 8 + 1, 1);
        }
        block->address = next_address;
        next_address += charged(bytes) + UNIT_BYTES;
        block->next = blocks;
        blocks = block;
        used[context->device] += charged(bytes);
        totals.buffers++;
        totals.bytes += (long)bytes;
        *out = block->address;
    }
    pthread_mutex_unlock(&lock);
    return block ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuMemFree_v2(CUdeviceptr memory)
{
    struct context *context;
    const CUresult code = context_outside_capture(&context, "cuMemFree");
    if (code != CUDA_SUCCESS) return code;
    if (memory == 0) return CUDA_SUCCESS;
    const char *wrong = NULL;
    pthread_mutex_lock(&lock);
    struct block **const at = block_find(memory), *const block = *at;
    if (!block || block->address != memory) {
        wrong = "an address that no cuMemAlloc gave, or a second time";
    } else if (block->context != context) {
        wrong = "memory of another context";
    } else if (block->users != 0) {
        wrong = "memory that queued work still uses";
    } else {
        *at = block->next;
        used[context->device] -= charged(block->bytes);
        totals.buffers--;
        totals.bytes -= (long)block->bytes;
        block_free(block);
    }
    pthread_mutex_unlock(&lock);
    return wrong ? fault(CUDA_ERROR_INVALID_VALUE, "cuMemFree: %s", wrong) : CUDA_SUCCESS;
}

/* ---- pinned memory ---- */

CUresult cuMemHostAlloc(void **out, size_t bytes, unsigned flags)
{
    struct context *context;
    const CUresult code = context_outside_capture(&context, "cuMemHostAlloc");
    if (code != CUDA_SUCCESS) return code;
    if (bytes == 0 || flags > 7) return fault(CUDA_ERROR_INVALID_VALUE, "cuMemHostAlloc: bytes or flags");
    if (strikes(&settings()->fail_pinned)) return CUDA_ERROR_OUT_OF_MEMORY;
    struct block *const block = block_make(bytes);
    if (!block) return CUDA_ERROR_OUT_OF_MEMORY;
    block->context = context;
    pthread_mutex_lock(&lock);
    block->next = pinned;
    pinned = block;
    totals.pinned++;
    pthread_mutex_unlock(&lock);
    *out = block->host;
    return CUDA_SUCCESS;
}

CUresult cuMemFreeHost(void *memory)
{
    struct context *context;
    const CUresult code = context_outside_capture(&context, "cuMemFreeHost");
    if (code != CUDA_SUCCESS) return code;
    pthread_mutex_lock(&lock);
    struct block **at = &pinned;
    while (*at && (*at)->host != memory) at = &(*at)->next;
    struct block *const block = *at;
    const bool used_still = block && block->users != 0;
    if (block && !used_still) {
        *at = block->next;
        totals.pinned--;
    }
    pthread_mutex_unlock(&lock);
    if (!block) return fault(CUDA_ERROR_INVALID_VALUE, "cuMemFreeHost of memory that no cuMemHostAlloc gave");
    if (used_still) return fault(CUDA_ERROR_INVALID_VALUE, "cuMemFreeHost of memory that queued work still uses");
    block_free(block);
    return CUDA_SUCCESS;
}

struct block *host_hold(const void *memory, size_t bytes)
{
    const char *const from = memory;
    pthread_mutex_lock(&lock);
    struct block *block = pinned;
    while (block && !(from >= block->host && from + bytes <= block->host + block->bytes)) block = block->next;
    if (block) atomic_fetch_add(&block->users, 1);
    pthread_mutex_unlock(&lock);
    return block;
}

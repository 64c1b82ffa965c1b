/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Checked allocation with a counter and an injectable failure, and arenas; see alloc.h.
 *
 * Memory: blocks belong to the caller and are released by mx_free. An arena owns a list of chunks, in the order in
 * which they are filled; everything after `current` is free to use.
 */
#include "base/alloc.h"

#include "myxtts/error.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARENA_CHUNK_BYTES ((size_t)64 * 1024)
/* A list that grows begins with this much room, whichever is more. */
#define GROW_ELEMENTS ((size_t)16)
#define GROW_BYTES    ((size_t)256)
/* Larger blocks are refused without trying. They come from damaged files and absurd settings; the kernel would promise them
 * readily, and kill the program when it uses them. */
#define BLOCK_BYTES_MAX ((size_t)512 << 30)

/* Each allocation gets the next number; the attempt whose number is `fail_number` fails (0: none does).
 * These are counters and publish nothing else, so relaxed order is enough. */
static _Atomic uint64_t attempts, failures, fail_number;

/* Numbers this attempt; false if it is the one that has to fail. */
static bool may_allocate(void)
{
    const uint64_t number = atomic_fetch_add_explicit(&attempts, 1, memory_order_relaxed) + 1;
    return number != atomic_load_explicit(&fail_number, memory_order_relaxed);
}

/* Passes `block` on, with the error set if it is NULL. */
static void *checked(void *block, size_t bytes)
{
    if (block) return block;
    atomic_fetch_add_explicit(&failures, 1, memory_order_relaxed);
    MX_FAIL(MX_ERR_NO_MEMORY, "close other programs, or ask for a smaller batch or model",
            "cannot take %zu bytes of host memory", bytes);
    return NULL;
}

static bool is_absurd(size_t count, size_t size, size_t *bytes)
{
    if (!__builtin_mul_overflow(count, size, bytes) && *bytes <= BLOCK_BYTES_MAX) return false;
    MX_FAIL(MX_ERR_NO_MEMORY, "a size in the configuration or in a file is absurd",
            "%zu elements of %zu bytes are too much for one block of memory", count, size);
    return true;
}

/* Not zeroed. */
static void *allocate(size_t bytes)
{
    return checked(may_allocate() ? malloc(bytes ? bytes : 1) : NULL, bytes);
}

void *mx_alloc(size_t count, size_t size)
{
    size_t bytes;
    if (is_absurd(count, size, &bytes)) return NULL;
    return checked(may_allocate() ? calloc(1, bytes ? bytes : 1) : NULL, bytes);
}

void *mx_realloc(void *ptr, size_t count, size_t size)
{
    size_t bytes;
    if (is_absurd(count, size, &bytes)) return NULL;
    return checked(may_allocate() ? realloc(ptr, bytes ? bytes : 1) : NULL, bytes);
}

int mx_grow(void *list, size_t *room, size_t needed, size_t size)
{
    if (needed <= *room) return 0;
    size_t more = 2 * *room; /* if that overflows, it is less than needed */
    if (more < needed) more = needed;
    if (more < GROW_ELEMENTS) more = GROW_ELEMENTS;
    if (more < GROW_BYTES / size) more = GROW_BYTES / size;
    void *block; /* copied: the pointer at `list` has a type of its own */
    memcpy(&block, list, sizeof block);
    block = mx_realloc(block, more, size);
    if (!block) return MX_ERR_NO_MEMORY;
    memcpy(list, &block, sizeof block);
    *room = more;
    return 0;
}

void *mx_alloc_aligned(size_t bytes, size_t alignment)
{
    if (alignment < sizeof(void *) || (alignment & (alignment - 1)) != 0) {
        MX_FAIL(MX_ERR_ARGUMENT, NULL, "alignment %zu is not a power of two of at least %zu", alignment,
                sizeof(void *));
        return NULL;
    }
    if (is_absurd(bytes, 1, &bytes)) return NULL;
    void *block = NULL;
    if (!may_allocate() || posix_memalign(&block, alignment, bytes ? bytes : 1) != 0) block = NULL;
    if (block) memset(block, 0, bytes);
    return checked(block, bytes);
}

char *mx_strdup(const char *text)
{
    return mx_strndup(text, strlen(text));
}

char *mx_strndup(const char *text, size_t length)
{
    const size_t kept = strnlen(text, length);
    char *copy = allocate(kept + 1);
    if (!copy) return NULL;
    memcpy(copy, text, kept);
    copy[kept] = '\0';
    return copy;
}

char *mx_format(const char *fmt, ...)
{
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    char *text = NULL;
    const int length = vsnprintf(NULL, 0, fmt, args);
    if (length < 0) {
        MX_FAIL(MX_ERR_INTERNAL, NULL, "cannot format text with \"%s\"", fmt);
    } else {
        text = allocate((size_t)length + 1);
        if (text) vsnprintf(text, (size_t)length + 1, fmt, again);
    }
    va_end(again);
    va_end(args);
    return text;
}

void mx_free(void *ptr)
{
    free(ptr);
}

int mx_alloc_failed(const char *what)
{
    return MX_FAIL(MX_ERR_NO_MEMORY, "close other programs", "out of memory for %s", what);
}

uint64_t mx_alloc_count(void)
{
    return atomic_load_explicit(&attempts, memory_order_relaxed) -
           atomic_load_explicit(&failures, memory_order_relaxed);
}

void mx_alloc_fail_at(uint64_t nth)
{
    const uint64_t now = atomic_load_explicit(&attempts, memory_order_relaxed);
    atomic_store_explicit(&fail_number, nth ? now + nth : 0, memory_order_relaxed);
}

/* ---- arena ---- */

struct mx_arena_chunk {
    struct mx_arena_chunk *next;
    size_t size, used; /* bytes of data; `used` is valid only up to and including the arena's current chunk */
    alignas(max_align_t) unsigned char data[];
};

void mx_arena_init(struct mx_arena *arena, size_t chunk_bytes)
{
    *arena = (struct mx_arena){.chunk_bytes = chunk_bytes ? chunk_bytes : ARENA_CHUNK_BYTES};
}

/* Makes a chunk with room for `bytes` the current one: a kept chunk if one fits (it moves to the front of the free
 * ones, so that none is skipped and lost until the next reset), otherwise a new one. */
static bool advance(struct mx_arena *arena, size_t bytes)
{
    struct mx_arena_chunk **rest = arena->current ? &arena->current->next : &arena->first, **link = rest;
    while (*link && (*link)->size < bytes) link = &(*link)->next;
    struct mx_arena_chunk *chunk = *link;
    if (chunk) {
        *link = chunk->next;
    } else {
        const size_t size = bytes > arena->chunk_bytes ? bytes : arena->chunk_bytes;
        size_t bytes_checked;
        if (is_absurd(size, 1, &bytes_checked)) return false; /* so the sum below cannot overflow */
        chunk = allocate(sizeof *chunk + size);
        if (!chunk) return false;
        chunk->size = size;
    }
    chunk->next = *rest;
    chunk->used = 0;
    *rest = chunk;
    arena->current = chunk;
    return true;
}

void *mx_arena_alloc(struct mx_arena *arena, size_t count, size_t size)
{
    const size_t unit = alignof(max_align_t);
    size_t bytes;
    if (is_absurd(count, size, &bytes)) return NULL;
    bytes = bytes ? (bytes + unit - 1) / unit * unit : unit;
    struct mx_arena_chunk *chunk = arena->current;
    if (!chunk || chunk->size - chunk->used < bytes) {
        if (!advance(arena, bytes)) return NULL;
        chunk = arena->current;
    }
    void *piece = chunk->data + chunk->used;
    chunk->used += bytes;
    arena->used_bytes += bytes;
    return memset(piece, 0, bytes);
}

char *mx_arena_strdup(struct mx_arena *arena, const char *text)
{
    return mx_arena_strndup(arena, text, strlen(text));
}

char *mx_arena_strndup(struct mx_arena *arena, const char *text, size_t length)
{
    const size_t kept = strnlen(text, length);
    char *copy = mx_arena_alloc(arena, kept + 1, 1);
    if (copy) memcpy(copy, text, kept); /* the piece is zeroed, so it is terminated */
    return copy;
}

void mx_arena_reset(struct mx_arena *arena)
{
    arena->current = NULL; /* all chunks are free again */
    arena->used_bytes = 0;
}

void mx_arena_release(struct mx_arena *arena)
{
    struct mx_arena_chunk *chunk = arena->first;
    while (chunk) {
        struct mx_arena_chunk *next = chunk->next;
        mx_free(chunk);
        chunk = next;
    }
    mx_arena_init(arena, arena->chunk_bytes);
}

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Checked host allocation and arenas.
 *
 * All host memory of the library is taken through these functions, so that a test can make the n-th allocation fail
 * and so that the number of allocations can be counted (the training loop must make none). They set MX_ERR_NO_MEMORY
 * themselves when they return NULL. Sizes are checked for overflow, and a block of more than 512 GiB is refused.
 */
#ifndef MX_BASE_ALLOC_H
#define MX_BASE_ALLOC_H

#include <stdalign.h>
#include <stddef.h>
#include <stdint.h>

/* Zeroed memory for count * size bytes; free with mx_free. count or size 0 yields a unique pointer. */
void *mx_alloc(size_t count, size_t size);
/* As realloc, with overflow check; the old block stays valid on failure. New bytes are not zeroed. */
void *mx_realloc(void *ptr, size_t count, size_t size);
/* Makes room for `needed` elements in a list that grows: `list` is the address of the pointer to it, *room how many it can
 * hold (NULL and 0: nothing yet). Where they do not fit, the room at least doubles, so that adding one by one stays cheap.
 * On failure both stay as they are. New elements are not zeroed. Returns 0 or MX_ERR_NO_MEMORY. */
int mx_grow(void *list, size_t *room, size_t needed, size_t size);
/* The same with the list and its room themselves: MX_GROW(names->items, names->room, names->count + 1). */
#define MX_GROW(list, room, needed) mx_grow(&(list), &(room), needed, sizeof *(list))
/* Zeroed, aligned to `alignment` (a power of two ≥ sizeof(void *)); free with mx_free. */
void *mx_alloc_aligned(size_t bytes, size_t alignment);
char *mx_strdup(const char *text);
char *mx_strndup(const char *text, size_t length);
/* asprintf; NULL on failure. The caller frees. */
char *mx_format(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void mx_free(void *ptr); /* NULL is fine */

/* Sets the error of a library that could not allocate memory for `what`; returns MX_ERR_NO_MEMORY. */
int mx_alloc_failed(const char *what);

/* Calls that took memory since the start of the process (all threads). */
uint64_t mx_alloc_count(void);

/* For tests: the n-th allocation from now on (1 = the next) fails, and only that one; 0 switches it off. */
void mx_alloc_fail_at(uint64_t nth);

/* An arena hands out pieces that are all released together; single owner, not thread-safe. Pieces never move.
 * It grows by chunks; mx_arena_reset keeps the chunks, so a loop that resets allocates nothing. */
struct mx_arena {
    struct mx_arena_chunk *first, *current;
    size_t chunk_bytes;
    size_t used_bytes; /* handed out since the last reset, alignment included */
};

void mx_arena_init(struct mx_arena *arena, size_t chunk_bytes); /* 0: 64 KiB; takes no memory yet */
/* Zeroed, aligned to alignof(max_align_t); NULL with MX_ERR_NO_MEMORY set on failure. */
void *mx_arena_alloc(struct mx_arena *arena, size_t count, size_t size);
char *mx_arena_strdup(struct mx_arena *arena, const char *text);
char *mx_arena_strndup(struct mx_arena *arena, const char *text, size_t length);
void mx_arena_reset(struct mx_arena *arena);
void mx_arena_release(struct mx_arena *arena); /* also after init only; the arena may be used again */

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A machine that executes PTX, the assembly that NVRTC makes of our kernels: what a card would run, as far as that can
 * be known without one. It knows the instructions that our kernels use; any other is an error with its line.
 *
 * Lanes are vectors: an instruction is done for all lanes of a group that stand at it before the next one. Lanes that
 * diverge are run in turns, chosen by a seeded generator; the lanes within an instruction have a random order, too.
 *
 * Arithmetic is that of IEEE 754 as the instruction says it: rounded to nearest even, down or to zero, fused or not,
 * subnormals kept unless it says `.ftz`. Instructions with `.approx` may err: `bound` chooses the largest error that the
 * documentation allows, in one direction (-1) or the other (1), or none (0).
 *
 * Found while it runs, as an error that names kernel, line, group and lane:
 *   - addresses outside of the memory that the launch may reach, and not aligned to the access
 *   - values read that nothing has written (global, shared and local memory)
 *   - races: two lanes, groups or commands that reach the same word, one of them writing, without a barrier, or an order
 *     of commands, between them
 *   - barriers that not all lanes of the group reach at the same place
 *   - division of integers by zero
 *   - more lanes or shared memory than a card has
 *
 * Memory: a module is the caller's until ptx_release, a machine until ptx_close. Threads: a module may be used by many
 * threads at a time; a machine by one.
 */
#ifndef MX_TESTS_DOUBLE_PTX_H
#define MX_TESTS_DOUBLE_PTX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PTX_LANES_MAX   1024
#define PTX_SHARED_MAX  (48 << 10) /* bytes of a group without asking for more */
#define PTX_ERROR_BYTES 512

struct ptx_module;
struct ptx_entry;
struct ptx_machine;

/* NULL with a message that names the line. */
struct ptx_module *ptx_read(const char *text, char error[PTX_ERROR_BYTES]);
void ptx_release(struct ptx_module *module);
const struct ptx_entry *ptx_entry_find(const struct ptx_module *module, const char *name);
int ptx_entry_lanes(const struct ptx_entry *entry);
/* Bytes of each parameter, up to one of 0. */
const uint8_t *ptx_entry_parameters(const struct ptx_entry *entry);

/* ---- who has touched a piece of memory, and when ---- */

/* One touch: the command, the interval between barriers in it, the lane. 0: none. */
struct ptx_word {
    uint64_t writer, reader;
};
struct ptx_shadow {
    struct ptx_word *words; /* one for each four bytes */
    uint8_t *written;       /* one bit for each byte */
};
/* Whether the command of number `before` is over, for all that the command `now` may know. */
typedef bool ptx_ordered(uint32_t before, uint32_t now);

enum ptx_access {
    PTX_READ,   /* must have been written */
    PTX_COPIED, /* read, whatever is there */
    PTX_WRITTEN
};
/* A copy, a fill or a product touches a range. NULL, or what is wrong with it. */
const char *ptx_touch(struct ptx_shadow *shadow, size_t at, size_t bytes, enum ptx_access access, uint32_t command,
                      ptx_ordered *ordered);
/* Copies from one range to another what is known to be written. */
void ptx_written_copy(struct ptx_shadow *to, size_t to_at, const struct ptx_shadow *from, size_t from_at, size_t bytes);

/* ---- running ---- */

/* A piece of global memory that the launch may reach. */
struct ptx_span {
    uint64_t address;
    size_t bytes;
    char *host;
    struct ptx_shadow *shadow; /* NULL: not watched */
};

struct ptx_launch {
    const struct ptx_entry *entry;
    unsigned groups;
    const uint64_t *values; /* parameters, each in the low bytes of its own */
    const struct ptx_span *spans;
    int span_count;
    uint32_t command; /* number of the launch, from 1 */
    ptx_ordered *ordered;
    uint64_t seed;
    int bound; /* of approximations */
};

struct ptx_machine *ptx_open(void);
void ptx_close(struct ptx_machine *machine);
/* false with a message. */
bool ptx_run(struct ptx_machine *machine, const struct ptx_launch *launch, char error[PTX_ERROR_BYTES]);

#endif

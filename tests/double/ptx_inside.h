/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Inside of the PTX machine (ptx.h): ptx_read.c makes instructions of the text, ptx_math.c computes, ptx_memory.c reads
 * and writes, ptx_run.c decides which lanes do what next.
 *
 * A register is a vector with an element for each lane: 4 bytes for predicates and 32 bits, 2 for 16 bits, 8 for 64.
 * Instructions know registers by their distance in the machine's memory. Immediate operands are registers, too, with the
 * same value in all lanes; so are parameters.
 */
#ifndef MX_TESTS_DOUBLE_PTX_INSIDE_H
#define MX_TESTS_DOUBLE_PTX_INSIDE_H

#include "ptx.h"

#define PTX_OPERANDS 4

struct ptx_group;
struct ptx_instruction;
typedef void ptx_work(const struct ptx_instruction *in, struct ptx_group *g);

enum ptx_kind { PTX_WORK, PTX_MEMORY, PTX_BRANCH, PTX_BARRIER, PTX_END };
enum ptx_space { PTX_GLOBAL, PTX_SHARED, PTX_LOCAL };

struct ptx_instruction {
    enum ptx_kind kind;
    enum ptx_space space;
    ptx_work *work;             /* of PTX_WORK and PTX_MEMORY */
    int guard;                  /* the predicate; -1: none */
    bool negated;               /* the guard */
    int to[PTX_OPERANDS];       /* registers */
    int from[PTX_OPERANDS];     /* registers; of memory: address, then values */
    int64_t offset;             /* added to the address */
    int width, elements;        /* of an access */
    uint8_t wide[PTX_OPERANDS]; /* bytes of each register of an access; what is loaded is extended to them */
    bool is_signed;
    int target; /* of a branch: an instruction */
    int line;
};

/* What a name of an instruction means. `shape`: a letter for each operand, results first, until '<', then sources:
 * p predicate, h 16 bits, w 32, l 64. */
struct ptx_operation {
    const char *name, *shape;
    ptx_work *work;
};
extern const struct ptx_operation ptx_operations[]; /* ptx_math.c; ends with a NULL name */

/* A register whose value is known before the group runs. */
enum ptx_source { PTX_CONSTANT, PTX_PARAMETER, PTX_LANE, PTX_GROUP, PTX_LANES, PTX_GROUPS };
struct ptx_given {
    enum ptx_source source;
    int at, width;
    uint64_t value; /* of a constant; of a parameter its number */
};

struct ptx_entry {
    char *name;
    int lanes, line;
    struct ptx_instruction *code;
    int count;
    struct ptx_given *given;
    int given_count;
    uint8_t parameters[64];                           /* bytes of each, then 0 */
    size_t register_bytes, shared_bytes, local_bytes; /* local: of a lane */
    const struct ptx_module *module;
};

struct ptx_module {
    struct ptx_entry *entries;
    int count;
    struct ptx_span globals; /* variables of the module */
};

#define PTX_GLOBALS_ADDRESS 0x00c0000000000000ull

/* ---- a group that runs ---- */

enum ptx_state { PTX_RUNS, PTX_WAITS, PTX_ENDED };

struct ptx_group {
    const struct ptx_launch *launch;
    const struct ptx_entry *entry;
    char *registers, *shared, *local;
    struct ptx_shadow shared_shadow;
    uint8_t *local_written;      /* a byte for each */
    const struct ptx_span *span; /* the last one that was reached */
    uint32_t *carry;             /* of each lane */
    int lanes;
    unsigned number;         /* of the group */
    uint64_t interval;       /* between barriers, counted over all groups of the launch */
    uint64_t first_interval; /* of this group */
    uint32_t ordered;        /* a command that is known to be over; 0: none */
    uint64_t random;
    /* The lanes that do the instruction: all, or those of the list. */
    bool full;
    int count;
    uint16_t list[PTX_LANES_MAX];
    /* Of each lane. */
    enum ptx_state state[PTX_LANES_MAX];
    int at[PTX_LANES_MAX];
    char *error; /* PTX_ERROR_BYTES; "" while nothing is wrong */
};

/* The first thing that goes wrong. */
void ptx_wrong(struct ptx_group *g, const struct ptx_instruction *in, int lane, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* ptx_memory.c */
ptx_work ptx_load, ptx_store, ptx_swap;
uint32_t ptx_random(struct ptx_group *g); /* ptx_run.c */

#define PTX_REGISTER(type, g, at) ((type *)(void *)((g)->registers + (at)))

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Groups of lanes on one thread. A lane that meets a barrier waits there until all others of its group do: each lane
 * has a stack of its own, and control goes from one to the next at barriers only, in a fixed order. A group whose first
 * lane ends without a barrier has none, and its other lanes are plain calls.
 *
 * All lanes must meet the same barriers: one that ends while others wait is a fault (undefined in CUDA before compute
 * capability 7.0, and in OpenCL).
 *
 * Compiled without ThreadSanitizer, which does not know stacks that are not threads; it would take every lane for one.
 *
 * Memory: stacks are taken when a stream first needs them and released with it.
 */
#include "lanes.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#define WATCHED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WATCHED 1
#endif
#endif

#if defined(WATCHED)
#include <sanitizer/common_interface_defs.h>
#define LEAVE(keep, bottom, bytes)  __sanitizer_start_switch_fiber(keep, bottom, bytes)
#define ARRIVE(kept, bottom, bytes) __sanitizer_finish_switch_fiber(kept, bottom, bytes)
#else
#define LEAVE(keep, bottom, bytes)  ((void)(keep))
#define ARRIVE(kept, bottom, bytes) ((void)(kept))
#endif

#define LANES_MAX   256
#define STACK_BYTES ((128 << 10) + 320) /* no two stacks begin in the same lines of a cache */

_Thread_local int double_lane;
_Thread_local long long double_group;

/* ---- from one stack to another ---- */

/* Where something on a stack of its own stopped. swapcontext does the same everywhere, but asks the kernel each time.
 */
#if defined(__x86_64__)
struct place {
    void *stack;
};

/* Keeps what a call must keep, and goes on where `to` stopped. */
void double_switch(struct place *from, const struct place *to);
__asm__(".text\n.globl double_switch\n.hidden double_switch\n.type double_switch, @function\n"
        "double_switch:\n"
        "    pushq %rbp\n    pushq %rbx\n    pushq %r12\n    pushq %r13\n    pushq %r14\n    pushq %r15\n"
        "    movq %rsp, (%rdi)\n    movq (%rsi), %rsp\n"
        "    popq %r15\n    popq %r14\n    popq %r13\n    popq %r12\n    popq %rbx\n    popq %rbp\n    ret\n"
        ".size double_switch, . - double_switch\n");

static void place_begin(struct place *place, char *stack, void (*function)(void))
{
    /* Six registers, the address to go to, and none to come back to. */
    uintptr_t *const top = (uintptr_t *)((uintptr_t)(stack + STACK_BYTES) & ~(uintptr_t)15);
    memset(top - 8, 0, 8 * sizeof *top);
    top[-2] = (uintptr_t)function;
    place->stack = top - 8;
}
#else
#include <ucontext.h>

struct place {
    ucontext_t context;
};

static void double_switch(struct place *from, struct place *to)
{
    swapcontext(&from->context, &to->context);
}

static void place_begin(struct place *place, char *stack, void (*function)(void))
{
    getcontext(&place->context);
    place->context.uc_stack.ss_sp = stack;
    place->context.uc_stack.ss_size = STACK_BYTES;
    place->context.uc_link = NULL;
    makecontext(&place->context, function, 0);
}
#endif

struct lane {
    struct place at;
    void *kept; /* AddressSanitizer's */
    bool begun; /* has run on its stack before */
    bool waits; /* stands at a barrier */
};

struct lanes {
    struct place home;
    void *kept;
    const void *home_bottom; /* NULL: no lane has run yet */
    size_t home_bytes;
    struct lane *all;
    char *stacks;
    int now;     /* the lane that runs */
    int order;   /* 1 or -1: the lane after it */
    int waiting; /* stand at a barrier that they met in this turn */
    bool plain;  /* lanes are plain calls: there must be no barrier */
    bool apart;  /* some met a barrier that others did not */
    const struct kernel *kernel;
    const uint64_t *values;
};

static _Thread_local struct lanes *running;

/* Goes to the stack of a lane; `from` and `kept` are where this one is left. */
static void lane_go(struct lanes *lanes, struct place *from, void **kept, int number);

/* Gives control to the next lane that waits, after the last one to the thread's own stack, until this one's turn comes
 * again. */
static void lane_leave(struct lanes *lanes, struct lane *lane)
{
    int next = lanes->now + lanes->order;
    while (next >= 0 && next < lanes->kernel->lanes && !lanes->all[next].waits) next += lanes->order;
    if (next >= 0 && next < lanes->kernel->lanes) {
        lane_go(lanes, &lane->at, &lane->kept, next);
    } else {
        LEAVE(&lane->kept, lanes->home_bottom, lanes->home_bytes);
        double_switch(&lane->at, &lanes->home);
    }
    ARRIVE(lane->kept, NULL, NULL);
}

/* What every lane's stack runs, group after group. */
static void lane_begin(void)
{
    struct lanes *const lanes = running;
    struct lane *const lane = &lanes->all[lanes->now];
    if (lanes->home_bottom == NULL)
        ARRIVE(NULL, &lanes->home_bottom, &lanes->home_bytes);
    else
        ARRIVE(NULL, NULL, NULL);
    for (;;) {
        lanes->kernel->call(lanes->values);
        lane_leave(lanes, lane);
    }
}

static void lane_go(struct lanes *lanes, struct place *from, void **kept, int number)
{
    struct lane *const lane = &lanes->all[number];
    char *const stack = lanes->stacks + (ptrdiff_t)number * STACK_BYTES;
    if (!lane->begun) place_begin(&lane->at, stack, lane_begin);
    lane->begun = true;
    lane->waits = false;
    lanes->now = number;
    double_lane = number;
    LEAVE(kept, stack, STACK_BYTES);
    double_switch(from, &lane->at);
}

/* Runs a lane, and in turn all after it that wait, until each ends or stands at a barrier. */
static void lane_enter(struct lanes *lanes, int number)
{
    lane_go(lanes, &lanes->home, &lanes->kept, number);
    ARRIVE(lanes->kept, NULL, NULL);
}

void double_barrier(void)
{
    struct lanes *const lanes = running;
    if (lanes->plain) {
        lanes->apart = true;
        return;
    }
    struct lane *const lane = &lanes->all[lanes->now];
    lane->waits = true;
    lanes->waiting++;
    lane_leave(lanes, lane);
}

/* ---- groups ---- */

struct lanes *lanes_open(void)
{
    return calloc(1, sizeof(struct lanes));
}

void lanes_close(struct lanes *lanes)
{
    if (lanes->stacks) munmap(lanes->stacks, LANES_MAX * STACK_BYTES);
    free(lanes->all);
    free(lanes);
}

static bool stacks_take(struct lanes *lanes)
{
    if (lanes->all) return true;
    lanes->stacks =
        mmap(NULL, LANES_MAX * STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (lanes->stacks == MAP_FAILED) {
        lanes->stacks = NULL;
        return false;
    }
    lanes->all = calloc(LANES_MAX, sizeof *lanes->all);
    return lanes->all != NULL;
}

/* One group. When it begins no lane waits. */
static void group_run(struct lanes *lanes)
{
    const int count = lanes->kernel->lanes, order = lanes->order, first = order > 0 ? 0 : count - 1;
    lanes->waiting = 0;
    lane_enter(lanes, first);
    if (lanes->waiting == 0) {
        lanes->plain = true;
        for (int i = 1; i < count; i++) {
            double_lane = first + order * i;
            lanes->kernel->call(lanes->values);
        }
        lanes->plain = false;
        return;
    }
    for (int i = 1; i < count; i++) lanes->all[first + order * i].waits = true; /* for its first turn */
    if (count > 1) lane_enter(lanes, first + order);
    while (lanes->waiting > 0) {
        if (lanes->waiting < count) lanes->apart = true;
        lanes->waiting = 0;
        int i = 0;
        while (!lanes->all[first + order * i].waits) i++;
        lane_enter(lanes, first + order * i);
    }
}

bool lanes_run(struct lanes *lanes, const struct kernel *kernel, const uint64_t *values, unsigned groups)
{
    if (kernel->lanes > LANES_MAX || !stacks_take(lanes)) return false;
    lanes->kernel = kernel;
    lanes->values = values;
    lanes->apart = false;
    lanes->order = lanes_backwards() ? -1 : 1;
    running = lanes;
    for (unsigned g = 0; g < groups; g++) {
        double_group = lanes->order > 0 ? g : groups - 1 - g;
        group_run(lanes);
    }
    return !lanes->apart;
}

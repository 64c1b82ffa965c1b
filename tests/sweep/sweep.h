/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Failure sweeps: a scenario runs again and again, and each time another call in it fails, until the whole of it has
 * passed without a failure. Each time it must end with the error of the fault or with its usual result, keep no memory,
 * descriptor or thread, leave no half-written file, and succeed when it is run again.
 *
 * Memory: everything is the caller's. Failures end the test, after all of them are printed.
 */
#ifndef MX_TESTS_SWEEP_SWEEP_H
#define MX_TESTS_SWEEP_SWEEP_H

#include <stdbool.h>
#include <stdint.h>

#include "sweep/faults.h"

struct sweep {
    const char *name;
    void *context;
    /* Does everything and gives back what it took, whatever fails. 0 with a hash of what came out, or an error. */
    int (*run)(void *context, uint64_t *result);
    /* The files below this folder are compared; NULL: none are written. After a fault each file is what it was before, or
     * what it is after a whole run, and none is missing that is there before and after. */
    const char *folder;
    /* Brings the folder to the state in which the scenario begins; NULL: it is always in it. */
    void (*reset)(void *context);
    /* A file that a fault may leave behind, since the next run goes on with it; NULL: there is none. */
    bool (*may_stay)(const char *path);
    /* The fault may end with another code: `code` is right as well; NULL: it never is. */
    bool (*may_end)(enum fault_kind kind, int code);
    /* For a long run: how many of the first faults of a kind to try, and about how many of the others; 0: the default. */
    uint64_t few;
    unsigned without; /* kinds (1u << kind) that are left out: a library cannot bear them, see there */
};

/* Runs all faults of all kinds and prints how many there were. */
void sweep_run(const struct sweep *sweep);

/* A hash of `bytes` joined to one of what came before (0: nothing did). */
uint64_t sweep_hash(uint64_t before, const void *data, size_t bytes);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * CUDA devices for tests, on the double (tests/double/double.h): no driver, no GPU and nothing of the user's caches is
 * looked at.
 */
#ifndef MX_TESTS_SUPPORT_CUDA_H
#define MX_TESTS_SUPPORT_CUDA_H

#include "double/double.h"
#include "myxtts/device.h"
#include "myxtts/registry.h"

#define CUDA_DEVICES_MAX 2

/* What tests say to the double; see double.h. */
struct cuda_double {
    int (*set)(const char *name, long value);
    long (*get)(const char *name);
    void (*reset)(void);
    const char *(*faults)(void);
    /* Of the PTX machine. */
    int (*nvrtc_version)(void);
    void (*mutate)(const struct double_mutation *mutation);
    int (*ptx_run)(const struct double_program *program, char *error, size_t bytes);
};

/* Ends the test program as skipped (77) if $CUDA_DOUBLE_PTX asks for a real NVRTC and there is none.
 *
 * Makes the double the CUDA of this process; at the begin of a test, before any registry is opened. `kind` is "" for
 * the whole double, "_plain" or "_old" for those that lack entry points; all three may be used one after the other. */
const struct cuda_double *cuda_double_use(const char *kind);

struct cuda_pair {
    struct mx_registry *registry;
    struct mx_device *devices[CUDA_DEVICES_MAX];
};

/* The first `count` CUDA devices, without limits. */
int cuda_open(struct cuda_pair *pair, int count);
void cuda_close(struct cuda_pair *pair); /* all zero is fine */

/* Fails the test if the double saw a fault, or anything of CUDA is still alive. */
void cuda_assert_clean(const struct cuda_double *cuda);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Kernels of the dialect as C, and groups of lanes that run them. Included by what is compiled without
 * ThreadSanitizer, so it shares nothing with the rest but these declarations.
 */
#ifndef MX_TESTS_DOUBLE_LANES_H
#define MX_TESTS_DOUBLE_LANES_H

#include <stdbool.h>
#include <stdint.h>

/* Values are the parameters in order, each in the low bytes of its own; pointers are host pointers. */
typedef void kernel_call(const uint64_t *values);

struct kernel {
    const char *name;
    int lanes;
    const char *kinds; /* of its parameters: p pointer, l 64-bit, i 32-bit integer, f float */
    kernel_call *call;
};

/* Up to one without a name; written by the build from the kernels' sources (kernels.cmake). */
extern const struct kernel double_kernels[];

struct lanes; /* of one thread */
struct lanes *lanes_open(void);
void lanes_close(struct lanes *lanes);
/* Runs all groups; false if lanes of a group did not meet at the same barriers. */
bool lanes_run(struct lanes *lanes, const struct kernel *kernel, const uint64_t *values, unsigned groups);
bool lanes_backwards(void); /* control.c: the setting */

/* For kernels. */
extern _Thread_local int double_lane;
extern _Thread_local long long double_group;
void double_barrier(void);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A CUDA device of the double and a CPU device, for tests that compare the two: set-up and tear-down of a group of
 * tests, whose state is a struct cuda_beside_cpu.
 */
#ifndef MX_TESTS_SUPPORT_CUDA_BESIDE_CPU_H
#define MX_TESTS_SUPPORT_CUDA_BESIDE_CPU_H

#include "ops/case.h"
#include "support/cuda.h"

struct cuda_beside_cpu {
    struct op_cpu cpu;
    struct cuda_pair cuda; /* device 0 */
    const struct cuda_double *control;
};

int cuda_beside_cpu_open(void **state);
int cuda_beside_cpu_close(void **state);

#endif

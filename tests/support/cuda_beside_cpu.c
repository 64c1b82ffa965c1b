/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See cuda_beside_cpu.h.
 */
#include "support/cuda_beside_cpu.h"

#include <stdio.h>

#include "myxtts/error.h"

int cuda_beside_cpu_open(void **state)
{
    static struct cuda_beside_cpu pair;
    *state = &pair;
    pair.control = cuda_double_use("");
    if (op_cpu_open(&pair.cpu, 1, 0) < 0) return -1;
    const int rc = cuda_open(&pair.cuda, 1);
    if (rc < 0) fprintf(stderr, "%s (%s)\n", mx_error_last()->message, mx_error_last()->hint);
    return rc;
}

int cuda_beside_cpu_close(void **state)
{
    struct cuda_beside_cpu *const pair = *state;
    op_cpu_close(&pair->cpu);
    cuda_close(&pair->cuda);
    cuda_assert_clean(pair->control);
    return 0;
}

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * OpenBLAS (serial) as the peer of the matrix multiply, when the build found it.
 *
 * OpenBLAS picks its kernels when it is loaded. An older one does not know newer processors and falls back to kernels
 * of decades ago, which would be no fair peer. Where this machine has wider vectors than its own choice uses, a second
 * copy is loaded that is configured to use them, and that copy is the peer. It stays loaded until the program ends.
 */
#ifndef MX_BENCH_OPENBLAS_H
#define MX_BENCH_OPENBLAS_H

#include "myxtts/ops.h"

struct openblas {
    char name[40];  /* "OpenBLAS SkylakeX" */
    char note[128]; /* what it chose itself and what it was told; "" if nothing */
    void *sgemm;    /* NULL: not in this build */
};

void openblas_open(struct openblas *blas);
/* The dense product of `args` (no epilogue) on host-visible buffers, by the calling thread. */
void openblas_multiply(const struct openblas *blas, const struct mx_matmul_args *args);

#endif

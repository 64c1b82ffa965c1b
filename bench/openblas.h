/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * OpenBLAS (serial) as the peer of the matrix multiply, when the build found it.
 *
 * OpenBLAS picks its kernels when it is loaded. An older one does not know newer processors and falls back to kernels
 * of decades ago, which would be no fair peer. So there are up to two: as it chose itself, and, where this machine has
 * wider vectors than its choice uses, a second copy that was told to use them. Both stay loaded until the
 * program ends.
 */
#ifndef MX_BENCH_OPENBLAS_H
#define MX_BENCH_OPENBLAS_H

#include "device/ops.h"

#define OPENBLAS_PEERS_MAX 2

struct openblas_peer {
    char name[40]; /* "OpenBLAS Haswell", "OpenBLAS SkylakeX (told)" */
    void *sgemm;
};

/* Fills `peers` and returns how many there are; 0 without OpenBLAS. */
int openblas_peers(struct openblas_peer peers[OPENBLAS_PEERS_MAX]);
/* The dense product of `args` (no epilogue) on host-visible buffers, by the calling thread. */
void openblas_multiply(const struct openblas_peer *peer, const struct mx_matmul_args *args);

#endif

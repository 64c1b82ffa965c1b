/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How this process was started: alone, or by mpirun, mpiexec or srun as one of several. Told from the environment
 * alone, so that a program without MPI can refuse to become N equal runs that write into one folder.
 *
 * And the cores of ranks that share a machine: whoever started them may have bound each to cores of its own, which is
 * left as it is; ranks that were left with the same cores divide them.
 *
 * Memory: plain values; strings are static.
 */
#ifndef MX_DIST_LAUNCH_H
#define MX_DIST_LAUNCH_H

#include <stdbool.h>
#include <stdint.h>

struct mx_launch {
    const char *launcher; /* "mpirun of Open MPI" */
    int32_t rank, size;   /* as the launcher says; size ≥ 1 */
};

/* False: it was started alone. */
bool mx_launch_find(struct mx_launch *out);

/* The part of `count` cores for `place` of `sharers`: cores first … first + number of them. With fewer cores than
 * sharers several of them get the same one. */
struct mx_launch_part {
    int first, number;
};
struct mx_launch_part mx_launch_cores(int count, int place, int sharers);

#endif

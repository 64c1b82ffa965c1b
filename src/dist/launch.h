/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How this process was started: alone, or by mpirun, mpiexec or srun as one of several. It is found from the
 * environment only, so that a program without MPI can refuse to become N identical runs that write into one folder.
 *
 * Also the cores of ranks that share a machine: if the launcher bound each rank to its own cores, that is left alone;
 * ranks that have the same cores divide them.
 *
 * Memory: plain values; strings are static.
 */
#ifndef MX_DIST_LAUNCH_H
#define MX_DIST_LAUNCH_H

#include <stdbool.h>
#include <stdint.h>

struct mx_launch {
    const char *launcher; /* "mpirun of Open MPI" */
    int32_t rank, size;   /* as given by the launcher; size ≥ 1 */
};

/* False: this process was started alone. */
bool mx_launch_find(struct mx_launch *out);

/* The part of `count` cores for number `place` of `sharers`: `number` cores from `first` on. With fewer cores than
 * sharers, several of them get the same core. */
struct mx_launch_part {
    int first, number;
};
struct mx_launch_part mx_launch_cores(int count, int place, int sharers);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The ranks of a run with and without MPI, see dist.h: which processes may start, and what must be the same everywhere.
 */
#include "dist/dist.h"

#include <inttypes.h>
#include <stddef.h>
#include <xxhash.h>

#include "base/alloc.h"
#include "base/file.h"
#include "dist/launch.h"

#define PROGRAM_BYTES_MAX ((size_t)1 << 30)

#ifdef MX_HAVE_MPI

int mx_mpi_open(const struct mx_dist_options *options, struct mx_dist **out); /* mpi_open.c */

int mx_dist_open(const struct mx_dist_options *options, struct mx_dist **out)
{
    struct mx_launch launch;
    *out = NULL;
    if (!mx_launch_find(&launch) || launch.size == 1) return 0;
    return mx_mpi_open(options, out);
}

#else

const char *mx_dist_supported(void)
{
    return NULL;
}

int mx_dist_open(const struct mx_dist_options *options, struct mx_dist **out)
{
    struct mx_launch launch;
    *out = NULL;
    if (!mx_launch_find(&launch) || launch.size == 1) return 0;
    MX_FAIL(MX_ERR_UNSUPPORTED, NULL, "%s started %d processes, but this program was built without MPI",
            launch.launcher, (int)launch.size);
    return mx_error_hint("build it with MPI: 'apt-get install libopenmpi-dev openmpi-bin', then 'make build'; or start "
                         "one process: '%s'",
                         options->command);
}

/* There never is more than the one. */
void mx_dist_close(struct mx_dist *dist)
{
    (void)dist;
}

int mx_dist_fail(struct mx_dist *dist, int code)
{
    (void)dist;
    return code;
}

int32_t mx_dist_local_rank(const struct mx_dist *dist)
{
    (void)dist;
    return 0;
}

int32_t mx_dist_device_rank(const struct mx_dist *dist)
{
    (void)dist;
    return 0;
}

int32_t mx_dist_local_size(const struct mx_dist *dist)
{
    (void)dist;
    return 1;
}

int32_t mx_dist_hosts(const struct mx_dist *dist)
{
    (void)dist;
    return 1;
}

const char *mx_dist_host(const struct mx_dist *dist, int32_t rank)
{
    (void)dist;
    (void)rank;
    return "localhost";
}

int mx_dist_device_use(struct mx_dist *dist, struct mx_device *device)
{
    (void)dist;
    (void)device;
    return 0;
}

void mx_dist_device_release(struct mx_dist *dist)
{
    (void)dist;
}

void mx_dist_tick(struct mx_dist *dist)
{
    (void)dist;
}

uint64_t mx_dist_carried_ns(const struct mx_dist *dist)
{
    (void)dist;
    return 0;
}

uint32_t mx_dist_spans(struct mx_dist *dist, struct mx_dist_span *out, uint32_t count)
{
    (void)dist;
    (void)out;
    (void)count;
    return 0;
}

#endif

struct mx_comm *mx_dist_comm(struct mx_dist *dist)
{
    return (struct mx_comm *)(void *)dist; /* its first member */
}

int mx_dist_compare(struct mx_dist *dist, const struct mx_dist_item *items, int32_t count)
{
    int rc = 0;
    struct mx_comm *const comm = mx_dist_comm(dist);
    for (int32_t i = 0; comm != NULL && i < count; i++) {
        uint64_t first = items[i].hash;
        MX_TRY(mx_comm_broadcast(comm, &first, sizeof first, 0));
        if (first != items[i].hash)
            MX_RAISE(MX_ERR_DATA, items[i].hint, "%s not the same as on rank 0 (%s): %016" PRIx64 ", there %016" PRIx64,
                     items[i].name, mx_dist_host(dist, 0), items[i].hash, first);
    }
    MX_TRY(mx_comm_barrier(comm));
out:
    return rc;
}

uint64_t mx_dist_program_hash(void)
{
    char *data = NULL;
    size_t bytes = 0;
    uint64_t hash = 0;
    if (mx_file_read("/proc/self/exe", PROGRAM_BYTES_MAX, &data, &bytes) == 0) hash = XXH3_64bits(data, bytes);
    mx_error_clear();
    mx_free(data);
    return hash;
}

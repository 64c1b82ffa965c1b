/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Built kernels on the disk, and telling the user when building takes long: for all backends with kernels of this
 * folder.
 *
 * Cache: <folder>/kernels/<key>.<suffix>, the bytes that the backend's compiler made, as they are. folder:
 * $MYXTTS_CACHE, or $XDG_CACHE_HOME/myxtts, or ~/.cache/myxtts. key: 32 hexadecimal digits, the XXH3 hash of the source
 * and of the texts that the backend names (options, device, driver, compiler), so a change of any of them builds anew.
 * A file that the driver refuses is built over by its backend; a folder that cannot be written only costs the time of
 * building.
 *
 * Memory: what mx_kernel_cache_read gives is the caller's (mx_free). The teller is the caller's and has a thread from
 * start to stop.
 */
#ifndef MX_DEVICE_KERNELS_CACHE_H
#define MX_DEVICE_KERNELS_CACHE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define MX_KERNEL_PATH_BYTES   1024
#define MX_KERNEL_BINARY_BYTES ((size_t)256 << 20) /* the most of one file */

/* The path for kernels that follow from the source and `texts`, the folder made if need be (0700); false if there is
 * none, or if others could put something into it. */
bool mx_kernel_cache_path(const char *const *texts, int count, const char *suffix, char out[MX_KERNEL_PATH_BYTES]);
/* Whether the file is there. */
bool mx_kernel_cache_read(const char *path, char **data, size_t *bytes);
void mx_kernel_cache_write(const char *path, const void *data, size_t bytes);

/* lock protects `done`; the builder sets it and signals, the teller waits for it or for the time. */
struct mx_kernel_teller {
    pthread_mutex_t lock;
    pthread_cond_t finished;
    bool done, runs, kept;
    const char *device;
    struct timespec at;
    uint64_t begin_ns;
    pthread_t thread;
};

/* Around building the kernels of `device` ("opencl:0"), which must stay: one line for the user after two seconds.
 * `kept`: on the disk, for later starts. */
void mx_kernel_teller_start(struct mx_kernel_teller *teller, const char *device, bool kept);
void mx_kernel_teller_stop(struct mx_kernel_teller *teller);

#endif

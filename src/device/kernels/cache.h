/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The disk cache of compiled kernels, and a notice to the user when compiling takes long: for all backends that use the
 * kernels of this folder.
 *
 * Cache: <folder>/kernels/<key>.<suffix>, the unchanged output of the backend's compiler. folder: $MYXTTS_CACHE, or
 * $XDG_CACHE_HOME/myxtts, or ~/.cache/myxtts. key: 32 hexadecimal digits, the XXH3 hash of the source and of the texts
 * that the backend names (options, device, driver, compiler), so that a change of any of them causes a new build. If
 * the driver refuses a file, its backend builds it again and replaces it; a folder that cannot be written costs only
 * the time of building.
 *
 * Memory: the caller owns the result of mx_kernel_cache_read (mx_free) and the notice, which has a thread from start to
 * stop.
 */
#ifndef MX_DEVICE_KERNELS_CACHE_H
#define MX_DEVICE_KERNELS_CACHE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define MX_KERNEL_PATH_BYTES   1024
#define MX_KERNEL_BINARY_BYTES ((size_t)256 << 20) /* limit for one file */

/* The path for kernels determined by the source and `texts`; the folder is created if necessary (0700). False if there
 * is no folder, or if other users could write to it. */
bool mx_kernel_cache_path(const char *const *texts, int count, const char *suffix, char out[MX_KERNEL_PATH_BYTES]);
/* Whether the file is there. */
bool mx_kernel_cache_read(const char *path, char **data, size_t *bytes);
void mx_kernel_cache_write(const char *path, const void *data, size_t bytes);

/* lock protects `done`; the builder sets it and signals, the notice waits for it or for the time. */
struct mx_kernel_notice {
    pthread_mutex_t lock;
    pthread_cond_t finished;
    bool done, runs, kept;
    const char *device;
    struct timespec at;
    uint64_t begin_ns;
    pthread_t thread;
};

/* Brackets the building of the kernels of `device` ("opencl:0", which must stay valid): one line for the user after two
 * seconds. `kept`: the result is kept on disk for later starts. */
void mx_kernel_notice_start(struct mx_kernel_notice *notice, const char *device, bool kept);
void mx_kernel_notice_stop(struct mx_kernel_notice *notice);

#endif

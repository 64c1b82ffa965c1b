/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The disk cache of compiled kernels; see cache.h.
 */
#include "device/kernels/cache.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "device/kernels/launch.h"
#include "myxtts/error.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#define LONG_SECONDS 2 /* of building before the user gets a message */

/* ---- files ---- */

/* The contents of the folder are executed, so no other user may have put them there. A folder that others can only read
 * is closed to them.
 */
static bool folder_safe(const char *path)
{
    static atomic_bool told;
    struct stat status;
    const char *why = NULL;
    if (stat(path, &status) != 0 || !S_ISDIR(status.st_mode)) return false;
    if (status.st_uid != geteuid())
        why = "it belongs to another user";
    else if ((status.st_mode & 022) != 0)
        why = "others can write to it";
    else if ((status.st_mode & 077) != 0 && chmod(path, 0700) != 0)
        why = "it cannot be closed to others";
    if (why == NULL) return true;
    if (!atomic_exchange(&told, true))
        mx_warn("built kernels are not kept in %s: %s; remove it, or set MYXTTS_CACHE to a folder of your own", path,
                why);
    return false;
}

/* The folder of the cache, made if need be; false if there is none, or if it is not safe. */
static bool cache_folder(char out[MX_KERNEL_PATH_BYTES])
{
    const char *const own = getenv("MYXTTS_CACHE"), *const xdg = getenv("XDG_CACHE_HOME"), *const home = getenv("HOME");
    int length;
    if (own && *own) {
        length = snprintf(out, MX_KERNEL_PATH_BYTES, "%s/kernels", own);
    } else if (xdg && *xdg) {
        length = snprintf(out, MX_KERNEL_PATH_BYTES, "%s/myxtts/kernels", xdg);
    } else if (home && *home) {
        length = snprintf(out, MX_KERNEL_PATH_BYTES, "%s/.cache/myxtts/kernels", home);
    } else {
        return false;
    }
    if (length < 0 || length >= MX_KERNEL_PATH_BYTES) return false;
    for (char *slash = strchr(out + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(out, 0700); /* it may be there; what matters shows below */
        *slash = '/';
    }
    mkdir(out, 0700);
    return folder_safe(out);
}

bool mx_kernel_cache_path(const char *const *texts, int count, const char *suffix, char out[MX_KERNEL_PATH_BYTES])
{
    char folder[MX_KERNEL_PATH_BYTES];
    XXH3_state_t *const state = XXH3_createState();
    if (!state) return false;
    XXH3_128bits_reset(state);
    XXH3_128bits_update(state, mx_kernel_source, mx_kernel_source_bytes);
    for (int i = 0; i < count; i++) XXH3_128bits_update(state, texts[i], strlen(texts[i]) + 1);
    const XXH128_hash_t hash = XXH3_128bits_digest(state);
    XXH3_freeState(state);
    if (!cache_folder(folder)) return false;
    const int length = snprintf(out, MX_KERNEL_PATH_BYTES, "%s/%016llx%016llx.%s", folder,
                                (unsigned long long)hash.high64, (unsigned long long)hash.low64, suffix);
    return length > 0 && length < MX_KERNEL_PATH_BYTES;
}

bool mx_kernel_cache_read(const char *path, char **data, size_t *bytes)
{
    if (mx_file_read(path, MX_KERNEL_BINARY_BYTES, data, bytes) == 0) return true;
    mx_error_clear();
    return false;
}

void mx_kernel_cache_write(const char *path, const void *data, size_t bytes)
{
    if (mx_file_write_atomic(path, data, bytes) == 0) return;
    mx_debug("the built kernels are not kept: %s", mx_error_last()->message);
    mx_error_clear();
}

/* ---- the notice ---- */

static void *late_log(void *context)
{
    struct mx_kernel_notice *const t = context;
    bool late = false;
    pthread_mutex_lock(&t->lock);
    while (!t->done && !late) late = pthread_cond_timedwait(&t->finished, &t->lock, &t->at) == ETIMEDOUT;
    const bool waiting = !t->done;
    pthread_mutex_unlock(&t->lock);
    if (waiting)
        mx_info("building the kernels for %s%s", t->device, t->kept ? "; they are kept on disk for later starts" : "");
    return NULL;
}

void mx_kernel_notice_start(struct mx_kernel_notice *notice, const char *device, bool kept)
{
    *notice = (struct mx_kernel_notice){.device = device, .kept = kept, .begin_ns = mx_clock_ns()};
    clock_gettime(CLOCK_REALTIME, &notice->at);
    notice->at.tv_sec += LONG_SECONDS;
    pthread_mutex_init(&notice->lock, NULL);
    pthread_cond_init(&notice->finished, NULL);
    notice->runs = pthread_create(&notice->thread, NULL, late_log, notice) == 0;
}

void mx_kernel_notice_stop(struct mx_kernel_notice *notice)
{
    pthread_mutex_lock(&notice->lock);
    notice->done = true;
    pthread_cond_signal(&notice->finished);
    pthread_mutex_unlock(&notice->lock);
    if (notice->runs) pthread_join(notice->thread, NULL);
    pthread_cond_destroy(&notice->finished);
    pthread_mutex_destroy(&notice->lock);
    mx_debug("the kernels for %s were built in %.1f s", notice->device,
             (double)(mx_clock_ns() - notice->begin_ns) / 1e9);
}

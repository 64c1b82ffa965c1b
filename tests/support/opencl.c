/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See opencl.h. The caches of kernels (ours, and PoCL's of its own) lie in one folder below the build's working folder,
 * so that a second run of the tests is fast.
 */
#include "support/opencl.h"

#include "myxtts/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* PoCL makes two devices of this machine's cores. */
static void devices_choose(void)
{
    setenv("POCL_DEVICES", "pthread pthread", 0);
    setenv("POCL_MAX_PTHREAD_COUNT", "1", 0);
}

static void caches_redirect(void)
{
    char folder[4096], path[4200];
    if (!getcwd(folder, sizeof folder)) return;
    snprintf(path, sizeof path, "%s/opencl-cache", folder);
    mkdir(path, 0777);
    setenv("MYXTTS_CACHE", path, 0);
    setenv("POCL_CACHE_DIR", path, 0);
}

bool opencl_available(void)
{
    struct mx_registry *registry = NULL;
    struct mx_backend_status status = {0};
    caches_redirect();
    devices_choose();
    if (mx_registry_open(NULL, NULL, &registry) < 0) return false;
    for (int i = 0; i < mx_registry_backend_count(registry); i++) {
        mx_registry_backend(registry, i, &status);
        if (strcmp(status.name, "opencl") == 0) break;
    }
    if (!status.available) fprintf(stderr, "skipped: %s\n", status.reason);
    const bool available = status.available;
    mx_registry_close(registry);
    return available;
}

int opencl_open(struct opencl_pair *pair, int count)
{
    int rc = 0;
    const struct mx_registry_options options = {.devices = {"opencl:0", "opencl:1"}, .device_count = count};
    *pair = (struct opencl_pair){0};
    MX_TRY(mx_registry_open(NULL, &options, &pair->registry));
    for (int i = 0; i < count; i++) MX_TRY(mx_registry_device_open(pair->registry, i, 0, &pair->devices[i]));
out:
    if (rc < 0) {
        fprintf(stderr, "%s (%s)\n", mx_error_last()->message, mx_error_last()->hint);
        opencl_close(pair);
    }
    return rc;
}

void opencl_close(struct opencl_pair *pair)
{
    for (int i = 0; i < OPENCL_DEVICES_MAX; i++) mx_device_close(pair->devices[i]);
    mx_registry_close(pair->registry);
    *pair = (struct opencl_pair){0};
}

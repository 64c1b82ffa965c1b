/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The library that scripts/test/chaos.sh loads before the program (LD_PRELOAD) to simulate faults without root. $CHAOS_WORLD
 * names a folder; these files in it switch a fault on:
 *
 *     reads    every pread of $CHAOS_DATA/… and $CHAOS_DATA.pack fails with EIO, as on a dying disk
 *     clock    the wall clock is an hour behind; the monotonic clock keeps going, as when somebody sets the time
 *
 * Owns no memory.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

static int switched_on(const char *name)
{
    const char *world = getenv("CHAOS_WORLD");
    char path[4096];
    if (!world || snprintf(path, sizeof path, "%s/%s", world, name) >= (int)sizeof path) {
        return 0;
    }
    const int before = errno;
    const int there = access(path, F_OK) == 0;
    errno = before;
    return there;
}

static int is_data(int fd)
{
    const char *data = getenv("CHAOS_DATA");
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t bytes = readlink(link, path, sizeof path - 1);
    if (!data || bytes <= 0) {
        return 0;
    }
    path[bytes] = '\0';
    const size_t length = strlen(data);
    return strncmp(path, data, length) == 0 && (path[length] == '/' || strcmp(path + length, ".pack") == 0);
}

ssize_t pread(int fd, void *out, size_t bytes, off_t offset)
{
    static ssize_t (*real)(int, void *, size_t, off_t);
    if (!__atomic_load_n(&real, __ATOMIC_RELAXED)) {
        void *found = dlsym(RTLD_NEXT, "pread");
        __atomic_store_n(&real, (ssize_t(*)(int, void *, size_t, off_t))found, __ATOMIC_RELAXED);
    }
    if (switched_on("reads") && is_data(fd)) {
        errno = EIO;
        return -1;
    }
    return real(fd, out, bytes, offset);
}

int clock_gettime(clockid_t clock, struct timespec *out)
{
    static int (*real)(clockid_t, struct timespec *);
    if (!__atomic_load_n(&real, __ATOMIC_RELAXED)) {
        void *found = dlsym(RTLD_NEXT, "clock_gettime");
        __atomic_store_n(&real, (int (*)(clockid_t, struct timespec *))found, __ATOMIC_RELAXED);
    }
    const int code = real(clock, out);
    if (code == 0 && clock == CLOCK_REALTIME && switched_on("clock")) {
        out->tv_sec -= 3600;
    }
    return code;
}

time_t time(time_t *out)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out) {
        *out = now.tv_sec;
    }
    return now.tv_sec;
}

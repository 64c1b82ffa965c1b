/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The library that scripts/bench/disk.sh loads before the program (LD_PRELOAD) to make a disk slow: each opening of a
 * file called *.wav takes $SLOW_DISK_MS milliseconds longer, from the moment on at which the file $SLOW_DISK_FROM is
 * there. Any number of threads wait at the same time, as for a network drive.
 *
 * Owns no memory.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void wait_for_disk(const char *path)
{
    const char *ms = getenv("SLOW_DISK_MS"), *from = getenv("SLOW_DISK_FROM");
    const size_t length = strlen(path);
    const int before = errno;
    if (ms && from && length > 4 && strcmp(path + length - 4, ".wav") == 0 && access(from, F_OK) == 0) {
        const long ns = (long)(atof(ms) * 1e6);
        struct timespec left = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
        while (nanosleep(&left, &left) != 0) continue;
    }
    errno = before;
}

static mode_t mode_of(int flags, va_list more)
{
    return flags & (O_CREAT | __O_TMPFILE) ? va_arg(more, mode_t) : 0;
}

/* open and open64 are the same call, under the names with which programs may have been compiled. */
#define OPEN(name)                                                                                                     \
    int name(const char *path, int flags, ...)                                                                         \
    {                                                                                                                  \
        int (*const real)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, #name);          \
        va_list more;                                                                                                  \
        va_start(more, flags);                                                                                         \
        const mode_t mode = mode_of(flags, more);                                                                      \
        va_end(more);                                                                                                  \
        wait_for_disk(path);                                                                                           \
        return real(path, flags, mode);                                                                                \
    }

OPEN(open)
OPEN(open64)

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the kernel says about the memory of the machine, see host_memory.h.
 */
#include "device/host_memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "myxtts/error.h"

#define TEXT_MAX_BYTES ((size_t)1 << 20) /* of the small files of /proc and /sys */

bool mx_host_line_value(const char *text, const char *key, char *out, size_t size)
{
    const size_t length = strlen(key);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        if (*line == '\n') line++;
        if (strncmp(line, key, length) != 0) continue;
        const char *value = line + length;
        value += strspn(value, " \t:");
        snprintf(out, size, "%.*s", (int)strcspn(value, "\n"), value);
        return out[0] != '\0';
    }
    return false;
}

/* The number in a small file of /proc or /sys; UINT64_MAX if it has none ("max", or the file is missing). */
static uint64_t number_read(const char *path)
{
    char *text = NULL;
    size_t bytes;
    uint64_t value = UINT64_MAX;
    if (mx_file_read(path, TEXT_MAX_BYTES, &text, &bytes) == 0) {
        char *end;
        errno = 0;
        const unsigned long long number = strtoull(text, &end, 10);
        if (end != text && errno == 0) value = number;
    }
    mx_free(text);
    return value;
}

/* The least limit from the control group `group` ("/a/b") up to the root of the hierarchy at `root`. */
static uint64_t group_limit(const char *root, const char *group, const char *file)
{
    char path[4096], part[2048];
    uint64_t least = UINT64_MAX;
    snprintf(part, sizeof part, "%s", group);
    for (;;) {
        const int length = snprintf(path, sizeof path, "%s%s/%s", root, part, file);
        if (length > 0 && (size_t)length < sizeof path) {
            const uint64_t limit = number_read(path);
            if (limit < least) least = limit;
        }
        char *const slash = strrchr(part, '/');
        if (!slash) return least;
        *slash = '\0';
    }
}

uint64_t mx_host_memory_bytes(void)
{
    char *text = NULL, value[2048];
    size_t bytes;
    const long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    uint64_t total = pages > 0 && page_bytes > 0 ? (uint64_t)pages * (uint64_t)page_bytes : UINT64_MAX;
    if (mx_file_read("/proc/self/cgroup", TEXT_MAX_BYTES, &text, &bytes) == 0) {
        uint64_t limit = UINT64_MAX;
        if (mx_host_line_value(text, "0::", value, sizeof value))
            limit = group_limit("/sys/fs/cgroup", value, "memory.max");
        if (limit < total) total = limit;
        for (const char *line = text; line; line = strchr(line, '\n')) { /* "4:memory:/group" */
            if (*line == '\n') line++;
            const char *const name = strstr(line, ":memory:");
            if (!name || memchr(line, '\n', (size_t)(name - line))) continue;
            snprintf(value, sizeof value, "%.*s", (int)strcspn(name + 8, "\n"), name + 8);
            limit = group_limit("/sys/fs/cgroup/memory", value, "memory.limit_in_bytes");
            if (limit < total) total = limit;
            break;
        }
    }
    mx_free(text);
    mx_error_clear(); /* a file of /proc or /sys that is not there is no error */
    return total;
}

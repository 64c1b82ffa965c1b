/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A growing file, see follow.h.
 *
 * The file stays open, so its inode cannot be reused: a different inode at the path is a different file.
 */
#include "observe/follow.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "myxtts/error.h"

#define BLOCK_BYTES ((size_t)64 << 10)

struct mx_follow {
    char *path;
    int file; /* -1: not open */
    dev_t device;
    ino_t inode;
    uint64_t read_bytes; /* of the file, so far */
    int64_t changed;
    bool exists, skipping; /* skipping: in a line that was too long */
    size_t used;           /* bytes of the block: the beginning of a line */
    char block[BLOCK_BYTES];
};

int mx_follow_open(const char *path, struct mx_follow **out)
{
    int rc = 0;
    struct mx_follow *follow = mx_alloc(1, sizeof *follow);
    *out = NULL;
    if (follow == NULL) return MX_ERR_NO_MEMORY;
    follow->file = -1;
    follow->path = mx_strdup(path);
    if (follow->path == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    *out = follow;
    follow = NULL;
out:
    mx_follow_close(follow);
    return rc;
}

void mx_follow_close(struct mx_follow *follow)
{
    if (follow == NULL) return;
    if (follow->file >= 0) close(follow->file);
    mx_free(follow->path);
    mx_free(follow);
}

static int io_fail(const struct mx_follow *follow, const char *what)
{
    return MX_FAIL(MX_ERR_IO, "check the file and its permissions", "cannot %s %s: %s", what, follow->path,
                   strerror(errno));
}

/* Forgets the file that was open. */
static void forget(struct mx_follow *follow, const struct mx_follow_sink *sink)
{
    if (follow->file < 0) return;
    close(follow->file);
    follow->file = -1;
    follow->read_bytes = 0;
    follow->used = 0;
    follow->skipping = false;
    if (sink->restart != NULL) sink->restart(sink->context);
}

/* Looks what stands at the path now, and opens it if it is not what is open. */
static int path_check(struct mx_follow *follow, const struct mx_follow_sink *sink)
{
    struct stat now;
    if (stat(follow->path, &now) != 0) {
        follow->exists = false;
        if (errno != ENOENT && errno != ENOTDIR) return io_fail(follow, "look at");
        return 0; /* being renamed, or not created yet: what was read stays */
    }
    if (follow->file >= 0 &&
        (now.st_dev != follow->device || now.st_ino != follow->inode || (uint64_t)now.st_size < follow->read_bytes))
        forget(follow, sink);
    if (follow->file < 0) {
        follow->file = open(follow->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (follow->file < 0) return io_fail(follow, "open");
        if (fstat(follow->file, &now) != 0) return io_fail(follow, "look at");
        follow->device = now.st_dev;
        follow->inode = now.st_ino;
    }
    follow->exists = true;
    follow->changed = (int64_t)now.st_mtim.tv_sec;
    return 0;
}

/* Passes the complete lines of the block on and moves the rest to its beginning. */
static void lines_pass(struct mx_follow *follow, const struct mx_follow_sink *sink)
{
    size_t at = 0;
    for (;;) {
        char *const end = memchr(follow->block + at, '\n', follow->used - at);
        if (end == NULL) break;
        const size_t length = (size_t)(end - follow->block) - at;
        *end = '\0';
        if (!follow->skipping && length <= MX_FOLLOW_LINE_MAX) sink->line(sink->context, follow->block + at, length);
        follow->skipping = false;
        at += length + 1;
    }
    follow->used -= at;
    memmove(follow->block, follow->block + at, follow->used);
    if (follow->used > MX_FOLLOW_LINE_MAX) {
        follow->skipping = true;
        follow->used = 0;
    }
}

int mx_follow_read(struct mx_follow *follow, size_t bytes_max, const struct mx_follow_sink *sink)
{
    int rc = path_check(follow, sink);
    if (rc < 0 || follow->file < 0) return rc;
    for (size_t all = 0; all < bytes_max;) {
        const ssize_t got = pread(follow->file, follow->block + follow->used, sizeof follow->block - follow->used,
                                  (off_t)follow->read_bytes);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return io_fail(follow, "read");
        if (got == 0) return 0;
        follow->used += (size_t)got;
        follow->read_bytes += (uint64_t)got;
        all += (size_t)got;
        lines_pass(follow, sink);
    }
    return 1;
}

bool mx_follow_exists(const struct mx_follow *follow)
{
    return follow->exists;
}

int64_t mx_follow_changed(const struct mx_follow *follow)
{
    return follow->changed;
}

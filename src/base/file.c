/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Small files in one piece, and folders, see file.h.
 */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/string.h"
#include "myxtts/error.h"

#define QUOTED_BYTES 300 /* room for a path in a message */

/* Everything that can be read from `fd`, whose name for messages is `quoted`. */
static int read_whole(int fd, const char *quoted, size_t limit_bytes, char **data, size_t *bytes)
{
    int rc = 0;
    char *buffer = NULL;
    size_t used = 0, capacity = 0;
    for (;;) {
        if (used == capacity) {
            /* One byte more than the limit is enough to know that there is too much. */
            size_t wanted = capacity == 0 ? 4096 : capacity * 2;
            if (wanted > limit_bytes + 1) wanted = limit_bytes + 1;
            char *const grown = mx_realloc(buffer, wanted + 1, 1);
            if (grown == NULL) MX_TRY(MX_ERR_NO_MEMORY);
            buffer = grown;
            capacity = wanted;
        }
        const ssize_t got = read(fd, buffer + used, capacity - used);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) MX_RAISE(MX_ERR_IO, "check the disk", "cannot read %s: %s", quoted, strerror(errno));
        if (got == 0) break;
        used += (size_t)got;
        if (used > limit_bytes)
            MX_RAISE(MX_ERR_DATA, "check that it is the right file", "%s is larger than %zu bytes", quoted,
                     limit_bytes);
    }
    buffer[used] = '\0';
    *data = buffer;
    *bytes = used;
    buffer = NULL;
out:
    mx_free(buffer);
    return rc;
}

int mx_file_read(const char *path, size_t limit_bytes, char **data, size_t *bytes)
{
    int rc = 0;
    char quoted[QUOTED_BYTES];
    struct stat status;
    mx_string_quote(quoted, sizeof quoted, path);
    /* O_NONBLOCK: opening a pipe must not wait for its writer. It changes nothing about ordinary files. */
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        if (errno == ENOENT || errno == ENOTDIR)
            MX_RAISE(MX_ERR_NOT_FOUND, "check the path; relative paths start at the current folder",
                     "there is no file %s", quoted);
        MX_RAISE(MX_ERR_IO, "check that the file exists and may be read", "cannot open %s: %s", quoted,
                 strerror(errno));
    }
    if (fstat(fd, &status) != 0) MX_RAISE(MX_ERR_IO, "check the disk", "cannot read %s: %s", quoted, strerror(errno));
    if (S_ISDIR(status.st_mode)) MX_RAISE(MX_ERR_IO, "name a file inside it", "%s is a folder, not a file", quoted);
    if (!S_ISREG(status.st_mode))
        MX_RAISE(MX_ERR_IO, "name an ordinary file", "%s is a pipe or a device, not a file", quoted);
    MX_TRY(read_whole(fd, quoted, limit_bytes, data, bytes));
out:
    if (fd >= 0) close(fd);
    return rc;
}

int mx_file_read_input(size_t limit_bytes, char **data, size_t *bytes)
{
    return read_whole(STDIN_FILENO, "standard input", limit_bytes, data, bytes);
}

static int write_whole(int fd, const char *data, size_t bytes)
{
    while (bytes > 0) {
        const ssize_t done = write(fd, data, bytes);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return -1;
        data += done;
        bytes -= (size_t)done;
    }
    return 0;
}

/* A rename is durable only once its folder is on the disk. Some file systems cannot flush folders and say EINVAL; nothing
 * better is possible there. */
static int folder_flush(const char *path)
{
    const char *const slash = strrchr(path, '/');
    char *const folder = slash == NULL   ? mx_strdup(".")
                         : slash == path ? mx_strdup("/")
                                         : mx_strndup(path, (size_t)(slash - path));
    if (folder == NULL) return MX_ERR_NO_MEMORY;
    int rc = 0;
    char quoted[QUOTED_BYTES];
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || (fsync(fd) != 0 && errno != EINVAL))
        rc = MX_FAIL(MX_ERR_IO, "the file is written, but a power cut now could lose it", "cannot flush folder %s: %s",
                     mx_string_quote(quoted, sizeof quoted, folder), strerror(errno));
    if (fd >= 0) close(fd);
    mx_free(folder);
    return rc;
}

/* Opens a new file next to `path`. Not mkostemp: that makes private files whatever the umask says. The name is kept in
 * *name, owned by the caller, also on failure. */
static int temporary_open(const char *path, char **name, int *fd)
{
    static atomic_uint serial;
    for (int attempt = 0; attempt < 100; attempt++) {
        mx_free(*name);
        *name = mx_format("%s.%ld-%u.tmp", path, (long)getpid(), atomic_fetch_add(&serial, 1u));
        if (*name == NULL) return MX_ERR_NO_MEMORY;
        *fd = open(*name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (*fd >= 0) return 0;
        if (errno != EEXIST) break; /* EEXIST: left over by a killed process with our number */
    }
    char quoted[QUOTED_BYTES];
    return MX_FAIL(MX_ERR_IO, "check that the folder exists and may be written to", "cannot create %s: %s",
                   mx_string_quote(quoted, sizeof quoted, path), strerror(errno));
}

int mx_file_write_atomic(const char *path, const void *data, size_t bytes)
{
    return mx_file_write_parts(path, &(struct mx_file_part){data, bytes}, 1);
}

int mx_file_write_parts(const char *path, const struct mx_file_part *parts, size_t count)
{
    int rc = 0, fd = -1;
    bool created = false;
    char quoted[QUOTED_BYTES];
    struct stat status;
    char *temporary = NULL;
    mx_string_quote(quoted, sizeof quoted, path);
    const bool exists = stat(path, &status) == 0;
    if (exists && !S_ISREG(status.st_mode))
        MX_RAISE(MX_ERR_IO, "name an ordinary file", "%s exists and is not an ordinary file", quoted);
    MX_TRY(temporary_open(path, &temporary, &fd));
    created = true;
    if (exists && fchmod(fd, status.st_mode & 07777) != 0)
        MX_RAISE(MX_ERR_IO, "check the owner of the file", "cannot keep the permissions of %s: %s", quoted,
                 strerror(errno));
    bool written = true;
    for (size_t i = 0; i < count && written; i++) written = write_whole(fd, parts[i].data, parts[i].bytes) == 0;
    if (!written || fsync(fd) != 0)
        MX_RAISE(MX_ERR_IO, "check the free space of the disk", "cannot write %s: %s", quoted, strerror(errno));
    const int closed = close(fd);
    fd = -1;
    if (closed != 0)
        MX_RAISE(MX_ERR_IO, "check the free space of the disk", "cannot write %s: %s", quoted, strerror(errno));
    if (rename(temporary, path) != 0)
        MX_RAISE(MX_ERR_IO, "check that the folder may be written to", "cannot replace %s: %s", quoted,
                 strerror(errno));
    created = false;
    MX_TRY(folder_flush(path));
out:
    if (fd >= 0) close(fd);
    if (created) unlink(temporary);
    mx_free(temporary);
    return rc;
}

int mx_file_list_open(const char *path, DIR **list)
{
    char quoted[QUOTED_BYTES];
    *list = opendir(path);
    if (*list != NULL) return 0;
    return MX_FAIL(errno == ENOENT   ? MX_ERR_NOT_FOUND
                   : errno == ENOMEM ? MX_ERR_NO_MEMORY
                                     : MX_ERR_IO,
                   "check the path and its permissions", "cannot read the folder %s: %s",
                   mx_string_quote(quoted, sizeof quoted, path), strerror(errno));
}

int mx_file_list_next(DIR *list, const char *path, const struct dirent **entry)
{
    char quoted[QUOTED_BYTES];
    errno = 0;
    *entry = readdir(list);
    if (*entry != NULL || errno == 0) return 0;
    return MX_FAIL(MX_ERR_IO, "check the disk", "cannot read the folder %s: %s",
                   mx_string_quote(quoted, sizeof quoted, path), strerror(errno));
}

int mx_file_refuse_link(const char *path)
{
    struct stat status;
    char quoted[QUOTED_BYTES];
    if (lstat(path, &status) != 0 || !S_ISLNK(status.st_mode)) return 0;
    return MX_FAIL(MX_ERR_IO, "remove the link: what the program writes into a folder of its own stays there",
                   "%s is a symbolic link, which is not written through", mx_string_quote(quoted, sizeof quoted, path));
}

int mx_file_make_folder(const char *parent, const char *name)
{
    int rc = 0;
    struct stat status;
    char quoted[QUOTED_BYTES];
    char *const path = mx_format("%s/%s", parent, name);
    if (path == NULL) return MX_ERR_NO_MEMORY;
    for (char *at = path + strlen(parent) + 1;; at++) {
        if (*at != '/' && *at != '\0') continue;
        const char end = *at;
        *at = '\0';
        const int reason = mkdir(path, 0777) != 0 ? errno : 0;
        if (reason == EEXIST) MX_TRY(mx_file_refuse_link(path));
        if (reason != 0 && (reason != EEXIST || stat(path, &status) != 0 || !S_ISDIR(status.st_mode)))
            MX_RAISE(MX_ERR_IO, "check the folder above it and its permissions", "cannot make the folder %s: %s",
                     mx_string_quote(quoted, sizeof quoted, path), strerror(reason));
        *at = end;
        if (end == '\0') break;
    }
out:
    mx_free(path);
    return rc;
}

static int entry_remove(const char *path, const struct stat *info, int type, struct FTW *at)
{
    (void)info;
    (void)type;
    (void)at;
    return remove(path) == 0 || errno == ENOENT ? 0 : -1;
}

int mx_file_remove_folder(const char *path)
{
    char quoted[QUOTED_BYTES];
    if (nftw(path, entry_remove, 16, FTW_DEPTH | FTW_PHYS) == 0 || errno == ENOENT) return 0;
    return MX_FAIL(MX_ERR_IO, "check its permissions, or remove it yourself", "cannot remove the folder %s: %s",
                   mx_string_quote(quoted, sizeof quoted, path), strerror(errno));
}

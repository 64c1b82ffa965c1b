/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Small files in one piece: reading with a size limit, writing so that a reader sees the old file or the new one. And
 * folders: what is in them, and removing them.
 *
 * Memory: mx_file_read hands its buffer to the caller, who frees it with mx_free.
 */
#ifndef MX_BASE_FILE_H
#define MX_BASE_FILE_H

#include <dirent.h>
#include <stddef.h>

/* Reads all of `path`, an ordinary file: a pipe or a device is refused without waiting for it. One zero byte follows
 * the data and is not counted. More than `limit_bytes` is MX_ERR_DATA, a missing file MX_ERR_NOT_FOUND, anything else
 * MX_ERR_IO. */
int mx_file_read(const char *path, size_t limit_bytes, char **data, size_t *bytes);
/* The same for standard input, whatever kind of file it is, read to its end. */
int mx_file_read_input(size_t limit_bytes, char **data, size_t *bytes);

/* Writes a temporary file next to `path`, flushes it to the disk and renames it over `path`, then flushes the folder.
 * On failure `path` is unchanged and no temporary file is left. Refuses to replace anything but a regular file; an
 * existing file keeps its permissions. */
int mx_file_write_atomic(const char *path, const void *data, size_t bytes);

/* The same for a file given as several consecutive pieces, so that a large file need not be one block of memory. */
struct mx_file_part {
    const void *data;
    size_t bytes;
};
int mx_file_write_parts(const char *path, const struct mx_file_part *parts, size_t count);

/* Opens a folder to read its entries; the caller calls closedir. MX_ERR_NOT_FOUND if there is none, MX_ERR_IO for any
 * other failure. On failure *list is NULL. */
int mx_file_list_open(const char *path, DIR **list);
/* The next entry, *entry, or NULL at the end; `path` is that of the folder. MX_ERR_IO: the rest cannot be read, which
 * readdir alone does not distinguish from the end. */
int mx_file_list_next(DIR *list, const char *path, const struct dirent **entry);

/* MX_ERR_IO if `path` is a symbolic link: what is written to it would get into another place. Also 0 if there is nothing. */
int mx_file_refuse_link(const char *path);
/* Makes the folder `name` of `parent`, which is there; the name may have slashes. Folders that are there stay. None of
 * those in `name` may be a symbolic link; `parent` may. */
int mx_file_make_folder(const char *parent, const char *name);

/* Removes a folder with everything in it; links are removed, not followed. One that is not there is fine. */
int mx_file_remove_folder(const char *path);

#endif

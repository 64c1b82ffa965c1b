/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Follows a text file that another thread or process appends lines to, as `tail -F` does: new complete lines as they
 * come.
 *
 * The file need not exist yet. If it was replaced or truncated (a resumed run trims metrics.jsonl), everything is read
 * again from its first line, after a call of `restart`. A last line without its newline waits until it is complete; a line
 * longer than MX_FOLLOW_LINE_MAX is skipped.
 *
 * Memory: mx_follow_open allocates everything, reading allocates nothing. Lines point into the follower's own block,
 * end with a zero byte instead of the newline and are valid during the call. One thread.
 */
#ifndef MX_OBSERVE_FOLLOW_H
#define MX_OBSERVE_FOLLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MX_FOLLOW_LINE_MAX 8191 /* bytes */

struct mx_follow;

struct mx_follow_sink {
    void *context;
    void (*line)(void *context, char *text, size_t length); /* may change the text */
    void (*restart)(void *context);                         /* (optional) discard what was read before */
};

int mx_follow_open(const char *path, struct mx_follow **out);
void mx_follow_close(struct mx_follow *follow); /* NULL is fine */

/* Passes on new lines, about `bytes_max` bytes at most. 1: there may be more; 0: that was all, or the file does not
 * exist; MX_ERR_IO. */
int mx_follow_read(struct mx_follow *follow, size_t bytes_max, const struct mx_follow_sink *sink);

bool mx_follow_exists(const struct mx_follow *follow);     /* at the last read */
int64_t mx_follow_changed(const struct mx_follow *follow); /* seconds since 1970, at the last read; 0: never */

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The log: levels, stderr and optional files.
 *
 * Library code reports what happens only through the log. One process has one logger; the program configures it once at
 * start (before threads exist), the default is level INFO to stderr. Colours appear only when stderr is a terminal and
 * NO_COLOR is unset or empty. Lines are written whole under one lock; a live progress line (progress.h) is cleared
 * before and redrawn after each log line. Messages are truncated to 4,095 bytes. Logging takes no memory, keeps errno
 * and the thread's current error, and never fails: if a log file cannot be written (disk full), one warning says so,
 * each later message tries again, and the first one that succeeds says how many were lost.
 *
 *     text, on the stream   message | warning: message | error: message, newline, "  hint: " hint | debug: message
 *     text, in the file     2026-01-31T12:34:56 INFO message
 *     JSON, in both         {"time":"2026-01-31T12:34:56","level":"info","message":"…"}, one object a line; an error
 *                           also has "code" and "hint", and at level DEBUG "file" and "line"
 */
#ifndef MX_BASE_LOG_H
#define MX_BASE_LOG_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

enum mx_log_level { MX_LOG_DEBUG, MX_LOG_INFO, MX_LOG_WARN, MX_LOG_ERROR, MX_LOG_SILENT };
enum mx_log_format { MX_LOG_TEXT, MX_LOG_JSON };

struct mx_log_options {
    enum mx_log_level level; /* least severe level that is shown */
    enum mx_log_format format;
    FILE *stream;     /* NULL: stderr; borrowed */
    const char *file; /* NULL, or a path that is appended to with wall-clock times, all levels from INFO on */
    bool no_color;    /* as NO_COLOR */
};

/* NULL: back to the defaults. Closes open files. On failure everything stays as it was. */
int mx_log_configure(const struct mx_log_options *options);
/* From now on, messages of level INFO and above are also held in memory, for a file whose path is not known yet. */
int mx_log_hold(void);
/* Names the file after mx_log_hold: the held messages are appended to it, then all later ones. A symbolic link is refused. */
int mx_log_keep(const char *path);
/* Whether messages go to this file. */
bool mx_log_in_file(dev_t device, ino_t inode);
bool mx_log_enabled(enum mx_log_level level); /* whether the stream or the file would take it */
void mx_log_write(enum mx_log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int mx_log_level_parse(const char *text, enum mx_log_level *level); /* "debug", "info", "warn", "error", "silent" */

#define mx_debug(...) mx_log_write(MX_LOG_DEBUG, __VA_ARGS__)
#define mx_info(...)  mx_log_write(MX_LOG_INFO, __VA_ARGS__)
#define mx_warn(...)  mx_log_write(MX_LOG_WARN, __VA_ARGS__)

/* Logs the current error of this thread (message, hint, file:line at debug level) at level ERROR. */
void mx_log_error(void);

/* For progress.c. Columns that the live line may use; 0 if there is no live line because the stream is not a terminal,
 * the format is JSON, or the level is above INFO. */
int mx_log_live_columns(void);
/* Replaces the live line, truncated to the columns; "" removes it. Does nothing if there is no live line. */
void mx_log_live_draw(const char *text);

#endif

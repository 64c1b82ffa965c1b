/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Programs that run as children: their output line by line or as a whole, with a time limit.
 *
 * A child has an empty signal mask and a process group of its own: an interrupt typed at the terminal reaches only this
 * program, which decides what happens to its children. It never waits for a reader: output that does not fit is dropped,
 * and so are all but the last bytes of its messages (standard error).
 *
 * Memory: mx_process_destroy frees a process, and first kills its group if it still runs. One thread uses a process at a
 * time. Lines belong to the process until the next call.
 */
#ifndef MX_BASE_PROCESS_H
#define MX_BASE_PROCESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mx_process;

struct mx_process_options {
    const char *const *argv; /* ends with NULL; the program is looked up in PATH */
    const char *title;       /* for messages: "the speech program 'flite'"; copied */
    const char *hint;        /* of a program that cannot be started; NULL: none */
    bool input;              /* mx_process_write is possible; otherwise its standard input is empty */
    bool together;           /* standard error goes where the output goes */
};

/* MX_ERR_NOT_FOUND if there is no such program, MX_ERR_IO if it cannot be started. */
int mx_process_start(const struct mx_process_options *options, struct mx_process **out);
void mx_process_destroy(struct mx_process *process); /* NULL is fine */

/* How long to wait. A call that waits longer fails with MX_ERR_TIMEOUT, one that is stopped with MX_ERR_INTERRUPTED. */
struct mx_process_wait {
    uint64_t limit_ns;
    const atomic_bool *stop; /* NULL, or set to true to stop waiting */
};

/* Writes all bytes to the child's standard input; MX_ERR_CLOSED if it does not read any more. */
int mx_process_write(struct mx_process *process, const char *bytes, size_t count, const struct mx_process_wait *wait);
/* The next line of the output, without its end; a last line needs no end. 1: *line is set; 0: the output has ended. A line
 * of more than a megabyte is MX_ERR_DATA. */
int mx_process_line(struct mx_process *process, const struct mx_process_wait *wait, const char **line);
/* Closes the child's input and waits for its end. *output, if not NULL, is what it wrote and no mx_process_line has
 * returned, at most a megabyte. A child that did not exit with 0 is MX_ERR_IO, with its last message. */
int mx_process_finish(struct mx_process *process, const struct mx_process_wait *wait, const char **output);
/* The last line of its messages; "" if there is none. */
const char *mx_process_message(struct mx_process *process);

#endif

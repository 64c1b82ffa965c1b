/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A progress line: bar, count, rate and time left.
 *
 * On a terminal it is one line, redrawn at most ten times a second; elsewhere it is a plain line at every 10 % and at
 * least every 30 s. It goes to stderr through the log's stream and is silent when the log level is above INFO. Nothing
 * appears for work that ends within `delay_ns`. Any thread may call mx_progress_add; the first call after a tick draws
 * the line.
 */
#ifndef MX_BASE_PROGRESS_H
#define MX_BASE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct mx_progress;

struct mx_progress_options {
    const char *title; /* "Reading" */
    const char *unit;  /* "files"; NULL: none */
    uint64_t total;    /* 0: unknown; then no bar and no time left */
    uint64_t delay_ns; /* 0: default 500 ms */
};

int mx_progress_start(const struct mx_progress_options *options, struct mx_progress **out);
/* Here and below, NULL means that no progress is shown; the call does nothing. */
void mx_progress_add(struct mx_progress *progress, uint64_t amount);
/* The total was an estimate, and this is a better one. */
void mx_progress_total(struct mx_progress *progress, uint64_t total);
/* The work ends at this time (mx_clock_ns) even if it is not done: the time left is not more than until then. */
void mx_progress_deadline(struct mx_progress *progress, uint64_t deadline_ns);
/* Other work begins or ends, between the counts: its time is no part of the rate. */
void mx_progress_pause(struct mx_progress *progress, bool begins);
/* Text shown after the rate ("loss 0.42"); copied, cut to 160 bytes. */
void mx_progress_note(struct mx_progress *progress, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void mx_progress_finish(struct mx_progress *progress); /* draws the final state once and frees it */

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Messages that clients can cause, at a bounded rate: MX_LOG_RATE_LINES of a kind in MX_LOG_RATE_S seconds. What is left
 * out is counted, and the next message of the kind says how many there were.
 *
 * Memory: a rate is the caller's struct, {0} or MX_LOG_RATE_INIT at first. Threads: any; its lock guards all of it.
 */
#ifndef MX_BASE_LOG_RATE_H
#define MX_BASE_LOG_RATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"

#define MX_LOG_RATE_LINES 10
#define MX_LOG_RATE_S     10

struct mx_log_rate {
    pthread_mutex_t lock; /* guards the members below; nothing is called while it is held */
    uint64_t begun_ns;    /* the current time span */
    unsigned lines;       /* messages in that time span */
    uint64_t left_out;    /* since the last one that was logged */
};

#define MX_LOG_RATE_INIT                                                                                               \
    {                                                                                                                  \
        .lock = PTHREAD_MUTEX_INITIALIZER                                                                              \
    }

/* May a message be logged now? Then *left_out is how many were left out before it. */
bool mx_log_rate_pass(struct mx_log_rate *rate, uint64_t now_ns, uint64_t *left_out);
/* mx_log_write, at the rate. */
void mx_log_rate_write(struct mx_log_rate *rate, enum mx_log_level level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* There will be no more: logs how many were left out, if any were. `kind` names them: "texts without words". */
void mx_log_rate_end(struct mx_log_rate *rate, const char *kind);

#endif

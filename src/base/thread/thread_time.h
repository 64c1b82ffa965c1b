/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a thread does with its time: it runs, it could run and waits for a core, or something blocks it: a disk, a lock,
 * a device.
 *
 * Running is measured by the CPU clock of the thread, waiting for a core by the kernel (/proc/thread-self/schedstat).
 * Where the kernel does not say, that time counts as blocked.
 *
 * Memory: a clock owns a file descriptor. Any thread may read it while the thread that opened it lives.
 */
#ifndef MX_BASE_THREAD_TIME_H
#define MX_BASE_THREAD_TIME_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct mx_thread_clock {
    clockid_t cpu;
    int schedstat; /* -1: the kernel does not provide it, or the clock is not open */
    bool open;
};

/* A reading: since when does not matter, only differences do. All zero where the clock is not open. */
struct mx_thread_reading {
    uint64_t wall_ns, cpu_ns, queued_ns;
};

/* A difference of readings. cpu_ns + blocked_ns is less than the wall time where the thread waited for a core. */
struct mx_thread_time {
    uint64_t cpu_ns, blocked_ns;
};

void mx_thread_clock_open(struct mx_thread_clock *clock); /* of the calling thread */
void mx_thread_clock_close(struct mx_thread_clock *clock);
struct mx_thread_reading mx_thread_clock_read(const struct mx_thread_clock *clock);
struct mx_thread_time mx_thread_time_between(const struct mx_thread_reading *from, const struct mx_thread_reading *to);

#endif

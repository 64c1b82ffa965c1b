/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Clocks of threads, see thread_time.h. A line of schedstat is "ns on a core, ns in the queue for one, turns".
 */
#include "base/thread/thread_time.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"

#define LINE_BYTES 96

void mx_thread_clock_open(struct mx_thread_clock *clock)
{
    clock->open = pthread_getcpuclockid(pthread_self(), &clock->cpu) == 0;
    clock->schedstat = clock->open ? open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC) : -1;
}

void mx_thread_clock_close(struct mx_thread_clock *clock)
{
    if (clock->open && clock->schedstat >= 0) close(clock->schedstat);
    *clock = (struct mx_thread_clock){.schedstat = -1};
}

static uint64_t queued_read(int schedstat)
{
    char line[LINE_BYTES], *end;
    const ssize_t got = schedstat < 0 ? -1 : pread(schedstat, line, sizeof line - 1, 0);
    if (got <= 0) return 0;
    line[got] = '\0';
    (void)strtoull(line, &end, 10);
    return strtoull(end, NULL, 10);
}

struct mx_thread_reading mx_thread_clock_read(const struct mx_thread_clock *clock)
{
    struct timespec cpu;
    if (!clock->open || clock_gettime(clock->cpu, &cpu) != 0) return (struct mx_thread_reading){0};
    return (struct mx_thread_reading){.wall_ns = mx_clock_ns(),
                                      .cpu_ns = (uint64_t)cpu.tv_sec * UINT64_C(1000000000) + (uint64_t)cpu.tv_nsec,
                                      .queued_ns = queued_read(clock->schedstat)};
}

static uint64_t between(uint64_t from, uint64_t to)
{
    return to > from ? to - from : 0;
}

struct mx_thread_time mx_thread_time_between(const struct mx_thread_reading *from, const struct mx_thread_reading *to)
{
    const uint64_t cpu_ns = between(from->cpu_ns, to->cpu_ns);
    const uint64_t busy_ns = cpu_ns + between(from->queued_ns, to->queued_ns);
    return (struct mx_thread_time){cpu_ns, between(busy_ns, between(from->wall_ns, to->wall_ns))};
}

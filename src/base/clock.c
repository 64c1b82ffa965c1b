/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The monotonic clock, sleeping, and wall-clock text; see clock.h.
 */
#include "base/clock.h"

#include <errno.h>

uint64_t mx_clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * MX_NS_PER_S + (uint64_t)now.tv_nsec;
}

struct timespec mx_clock_timespec(uint64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / MX_NS_PER_S), .tv_nsec = (long)(ns % MX_NS_PER_S)};
}

void mx_clock_sleep_ns(uint64_t ns)
{
    const uint64_t now_ns = mx_clock_ns();
    const uint64_t until_ns = ns < (uint64_t)INT64_MAX - now_ns ? now_ns + ns : (uint64_t)INT64_MAX;
    const struct timespec until = mx_clock_timespec(until_ns);
    /* An absolute end makes a sleep that signals interrupt as long as one that they do not. */
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) continue;
}

void mx_clock_wall_text(char *out, size_t size)
{
    if (size == 0) return;
    const time_t now = time(NULL);
    struct tm parts;
    if (!localtime_r(&now, &parts) || strftime(out, size, "%Y-%m-%dT%H:%M:%S", &parts) == 0) out[0] = '\0';
}

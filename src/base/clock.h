/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The monotonic clock that all meters use, and sleeping.
 */
#ifndef MX_BASE_CLOCK_H
#define MX_BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define MX_NS_PER_S  UINT64_C(1000000000)
#define MX_NS_PER_MS UINT64_C(1000000)

uint64_t mx_clock_ns(void);          /* monotonic, arbitrary zero, the same for all threads */
void mx_clock_sleep_ns(uint64_t ns); /* sleeps the whole time, through signals */
struct timespec mx_clock_timespec(uint64_t ns);
/* ISO 8601 local wall-clock time with seconds into `out` ("2026-01-31T12:34:56"). */
void mx_clock_wall_text(char *out, size_t size);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Offsets of sequences in device memory, which cannot be checked before a kernel runs.
 */
#ifndef MX_DEVICE_CPU_ISA_SEQUENCES_H
#define MX_DEVICE_CPU_ISA_SEQUENCES_H

#include "device/cpu/kernels.h"

/* Do the offsets cover the rows? All workers get the same answer; worker 0 fails the stream. */
static inline bool mx_sequences_agree(const struct mx_gang *gang, const char *op, const struct mx_ragged *rows)
{
    const int32_t *offsets = mx_cpu_ptr(rows->offsets);
    bool fine = offsets[0] == 0 && offsets[rows->count] == rows->rows;
    for (int32_t s = 0; s < rows->count; s++) fine = fine && offsets[s] <= offsets[s + 1];
    if (!fine && gang->worker == 0) {
        MX_FAIL(MX_ERR_DATA, "expected offsets that begin with 0, do not decrease and stop at the number of rows",
                "%s: the sequences do not cover the rows", op);
        mx_stream_fail(gang->stream);
    }
    return fine;
}

/* The first segment whose end is after `row`; `segments` if none does. */
static inline int64_t mx_segment_of(const int32_t *ends, int64_t segments, int64_t row)
{
    int64_t low = 0, high = segments;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (ends[middle + 1] <= row)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

#endif

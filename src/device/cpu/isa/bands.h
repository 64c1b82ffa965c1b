/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The tables of a mel recipe as myxtts/ops.h lays them out, checked before they are used as indices.
 */
#ifndef MX_DEVICE_CPU_ISA_BANDS_H
#define MX_DEVICE_CPU_ISA_BANDS_H

#include "device/cpu/kernels.h"

struct mx_bands {
    const float *window, *circle, *weight;
    const int32_t *first, *ends;
    int64_t size, count, used; /* transform, bands, bins that some band uses (counted from 0) */
};

/* False when the bands name bins or weights that do not exist. */
static inline bool mx_bands_open(struct mx_bands *b, struct mx_slice tables, int32_t fft_size, int32_t count,
                                 int32_t weights)
{
    const float *const at = mx_cpu_ptr(tables);
    *b = (struct mx_bands){.window = at, .circle = at + fft_size, .size = fft_size, .count = count};
    b->first = (const int32_t *)(const void *)(at + 3 * b->size);
    b->ends = b->first + b->count;
    b->weight = at + 3 * b->size + 2 * b->count + 1;
    if (b->ends[0] < 0 || b->ends[b->count] > weights) return false;
    for (int64_t band = 0; band < b->count; band++) {
        const int64_t width = (int64_t)b->ends[band + 1] - b->ends[band], last = b->first[band] + width;
        if (width < 0 || b->first[band] < 0 || last > b->size / 2 + 1) return false;
        if (last > b->used) b->used = last;
    }
    return true;
}

#endif

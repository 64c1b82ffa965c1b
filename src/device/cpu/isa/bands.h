/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The tables of a mel recipe as myxtts/ops.h lays them out, checked before they are used as indices.
 */
#ifndef MX_DEVICE_CPU_ISA_BANDS_H
#define MX_DEVICE_CPU_ISA_BANDS_H

#include "device/cpu/isa/fft.h"
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

/* The bands beside each bin. */
struct mx_places {
    const int32_t *low, *high; /* [bins] */
    const float *share;        /* [bins]: of the way from low to high */
};

/* False when a bin lies beside a band that does not exist. */
static inline bool mx_places_open(struct mx_places *p, struct mx_slice places, int64_t bins, int32_t bands)
{
    p->low = mx_cpu_ptr(places);
    p->high = p->low + bins;
    p->share = (const float *)(const void *)(p->high + bins);
    for (int64_t k = 0; k < 2 * bins; k++)
        if (p->low[k] < 0 || p->low[k] >= bands) return false;
    return true;
}

/* What bin k gets of a number for each band. */
MX_VEC_INLINE mx_vf mx_places_mix(const struct mx_places *p, const mx_vf *bands, int64_t k)
{
    const mx_vf low = bands[p->low[k]];
    return mx_vf_fma(mx_vf_set(p->share[k]), bands[p->high[k]] - low, low);
}

/* The error of an operation whose tables name what does not exist, from the first worker. */
static inline void mx_bands_fail(const struct mx_gang *gang, const char *op)
{
    if (gang->worker != 0) return;
    MX_FAIL(MX_ERR_DATA, "expected bands within 0 … fft_size/2 and weights in order, as features/recipe.h makes them",
            "%s: the table names bins or weights that do not exist", op);
    mx_stream_fail(gang->stream);
}

/* to [bands, rounded up to whole squares] = mel [lanes, bands], a row per lane; lanes beyond `lanes` repeat the last
 * row. */
static inline void mx_bands_rows(const struct mx_bands *b, const float *mel, int lanes, mx_vf *to)
{
    for (int64_t band = 0; band < b->count; band += MX_VEC_FLOATS) {
        const int count = b->count - band < MX_VEC_FLOATS ? (int)(b->count - band) : MX_VEC_FLOATS;
        mx_vf square[MX_VEC_FLOATS];
        for (int lane = 0; lane < MX_VEC_FLOATS; lane++)
            square[lane] = mx_vf_load_n(mel + (lane < lanes ? lane : lanes - 1) * b->count + band, count);
        mx_vf_transpose(square);
        memcpy(to + band, square, sizeof square);
    }
}

#endif

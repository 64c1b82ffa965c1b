/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Sums over rows that do not depend on the number of workers.
 *
 * The rows are cut into chunks whose number depends on the shape alone. The worker that gets a chunk writes its sum to
 * the gang's shared scratch; after a barrier the sums are added in the order of the chunks. The shared scratch is used
 * from its beginning; its contents are undefined before and after the kernel.
 */
#ifndef MX_DEVICE_CPU_ISA_CHUNKS_H
#define MX_DEVICE_CPU_ISA_CHUNKS_H

#include "device/cpu/isa/vec.h"
#include "device/cpu/kernels.h"

struct mx_chunks {
    int64_t rows; /* of all chunks but the last, which may have fewer */
    int64_t count;
};

/* Chunks of `least` rows, or of more where one sum of `bytes` per chunk would not fit the shared scratch. count is 0
 * when not even one fits. */
static inline struct mx_chunks mx_chunks_plan(int64_t rows, int64_t least, int64_t bytes)
{
    const int64_t fit = bytes > 0 ? (int64_t)MX_CPU_SHARED_BYTES / bytes : rows;
    if (fit == 0 || rows == 0) return (struct mx_chunks){0};
    struct mx_chunks chunks = {.rows = least};
    if ((rows + least - 1) / least > fit) chunks.rows = (rows + fit - 1) / fit;
    chunks.count = (rows + chunks.rows - 1) / chunks.rows;
    return chunks;
}

/* Rows [begin, end) of a chunk. */
static inline void mx_chunks_rows(const struct mx_chunks *chunks, int64_t chunk, int64_t rows, int64_t *begin,
                                  int64_t *end)
{
    *begin = chunk * chunks->rows;
    *end = *begin + chunks->rows < rows ? *begin + chunks->rows : rows;
}

/* Columns [begin, end): out = (+=) Σ over chunks, in order, of partial[chunk · stride + column]. */
static inline void mx_chunks_add(const struct mx_chunks *chunks, const float *partial, int64_t stride, float *out,
                                 bool accumulate, int64_t begin, int64_t end)
{
    MX_VEC_EACH(i, n, begin, end, {
        mx_vf sum = {0};
        for (int64_t c = 0; c < chunks->count; c++) sum += mx_vf_load_n(partial + c * stride + i, n);
        if (accumulate) sum += mx_vf_load_n(out + i, n);
        mx_vf_store_n(out + i, sum, n);
    });
}

#endif

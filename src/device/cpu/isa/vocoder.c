/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * mel_base: what the vocoder's network begins with. A worker takes blocks of rows, one per lane, as mel_project does.
 *
 * Tables and offsets come from the device's memory, where nobody could check them before: no kernel reads or writes
 * outside its tensors because of them; they fail the stream instead.
 */
#include "device/cpu/isa/bands.h"

#define LANES MX_VEC_FLOATS

/* ---- mel_base: mel [rows, bands] → input [rows, bands], base [rows, bins] ---- */

/* width [bands]: ln of the sum of each band's weights. */
static void widths_measure(const struct mx_bands *b, float *width)
{
    for (int64_t band = 0; band < b->count; band++) {
        mx_vf sum = {0};
        MX_VEC_EACH(i, n, b->ends[band], b->ends[band + 1], sum += mx_vf_load_n(b->weight + i, n););
        width[band] = mx_vf_sum(sum);
    }
    MX_VEC_EACH(band, n, 0, b->count, {
        const mx_vf sum = mx_vf_load_n(width + band, n);
        mx_vf_store_n(width + band, mx_vf_log(mx_vf_max(mx_vf_set(1e-37f), sum)), n);
    });
}

MX_KERNEL(mel_base)
{
    const struct mx_mel_base_args *a = args;
    const float *mel = mx_cpu_ptr(a->mel);
    float *input = mx_cpu_ptr(a->input), *base = mx_cpu_ptr(a->base);
    const int64_t bins = a->fft_size / 2 + 1, bands = a->bands;
    mx_vf *const level = gang->scratch; /* [bands, rounded up to whole squares] */
    float *const width = (float *)(void *)(level + (bands + LANES - 1) / LANES * LANES);
    struct mx_bands b;
    struct mx_places places;
    int64_t begin, end;
    if (!mx_bands_open(&b, a->tables, a->fft_size, a->bands, a->weights) ||
        !mx_places_open(&places, a->places, bins, a->bands)) {
        mx_bands_fail(gang, "mel_base");
        return;
    }
    widths_measure(&b, width);
    mx_gang_share(gang, a->rows, LANES, &begin, &end);
    if (input)
        MX_VEC_EACH(i, n, begin * bands, end * bands, {
            const mx_vf m = mx_vf_horner(mx_vf_load_n(mel + i, n), mx_vf_set(a->deviation), a->mean);
            mx_vf_store_n(input + i, (m + 5.0f) * 0.4f, n);
        });
    for (int64_t row = begin; row < end; row += LANES) {
        const int lanes = end - row < LANES ? (int)(end - row) : LANES;
        mx_bands_rows(&b, mel + row * bands, lanes, level);
        for (int64_t band = 0; band < bands; band++)
            level[band] = mx_vf_horner(level[band], mx_vf_set(a->deviation), a->mean) - width[band];
        for (int64_t k = 0; k < bins; k += LANES) {
            const int count = bins - k < LANES ? (int)(bins - k) : LANES;
            mx_vf square[LANES];
            for (int j = 0; j < LANES; j++) square[j] = mx_places_mix(&places, level, j < count ? k + j : bins - 1);
            mx_vf_transpose(square);
            for (int lane = 0; lane < lanes; lane++) mx_vf_store_n(base + (row + lane) * bins + k, square[lane], count);
        }
    }
}

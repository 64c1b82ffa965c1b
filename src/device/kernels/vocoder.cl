/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What only the vocoder needs. mel_base: a group for each row. Tables are checked before (mx_bands_check,
 * mx_places_check).
 */

/* ---- mel_base ---- */

/* width [bands]: ln of the sum of each band's weights */
MX_KERNEL(MX_WIDE)
mx_base_prepare(MX_ARG(const float, tables), MX_ARG(float, width), MX_ARG(const int, status), int size, int bands)
{
    MX_USE(const float, tables);
    MX_USE(float, width);
    MX_USE(const int, status);
    const int b = (int)MX_INDEX * MX_WIDE + MX_LANE;
    MX_GLOBAL const int *const ends = (MX_GLOBAL const int *)(tables + 3 * size) + bands;
    MX_GLOBAL const float *const weight = tables + 3 * size + 2 * bands + 1;
    float sum = 0.0f;
    if (b >= bands || status[0] != 0) return;
    for (int i = ends[b]; i < ends[b + 1]; i++) sum += weight[i];
    width[b] = MX_LOG(MX_MAX(sum, 1e-37f));
}

/* See struct mx_mel_base_args. */
MX_KERNEL(MX_GROUP)
mx_mel_base(MX_ARG(const float, mel), MX_ARG(const float, width), MX_ARG(const float, places), MX_ARG(float, input),
            MX_ARG(float, base), MX_ARG(const int, status), int size, int bands, float mean, float deviation)
{
    MX_LOCAL float level[MX_BANDS];
    MX_USE(const float, mel);
    MX_USE(const float, width);
    MX_USE(const float, places);
    MX_USE(float, input);
    MX_USE(float, base);
    MX_USE(const int, status);
    if (status[0] != 0) return;
    const mx_long row = MX_INDEX;
    const int bins = size / 2 + 1;
    MX_GLOBAL const int *const low = (MX_GLOBAL const int *)places, *const high = low + bins;
    MX_GLOBAL const float *const share = places + 2 * bins;
    MX_EACH(b, bands)
    {
        const float m = mel[row * bands + b] * deviation + mean;
        if (input) input[row * bands + b] = (m + 5.0f) * 0.4f;
        level[b] = m - width[b];
    }
    MX_BARRIER();
    MX_EACH(k, bins) base[row * bins + k] = level[low[k]] + share[k] * (level[high[k]] - level[low[k]]);
}

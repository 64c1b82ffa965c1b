/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * mel_inverse: log-mel to a magnitude of each bin. A group for each frame, all steps in local memory. What all frames
 * share comes from mx_inverse_prepare: for each bin 1/Σ of its weights, and the first and the last band that has it.
 * mel_project: a spectrum whose bands come closer to log-mel.
 */
#define MX_BANDS 1024
#define MX_BINS  2049

MX_KERNEL(MX_WIDE)
mx_inverse_prepare(MX_ARG(const float, tables), MX_ARG(float, share), MX_ARG(const int, status), int size, int bands)
{
    MX_USE(const float, tables);
    MX_USE(float, share);
    MX_USE(const int, status);
    const int bins = size / 2 + 1, k = (int)MX_INDEX * MX_WIDE + MX_LANE;
    MX_GLOBAL const int *const first = (MX_GLOBAL const int *)(tables + 3 * size), *const ends = first + bands;
    MX_GLOBAL const float *const weight = tables + 3 * size + 2 * bands + 1;
    MX_GLOBAL int *const low = (MX_GLOBAL int *)share + bins, *const high = low + bins;
    float sum = 0.0f;
    int from = bands, end = 0;
    if (k >= bins || status[0] != 0) return;
    for (int b = 0; b < bands; b++) {
        const int i = k - first[b];
        if (i >= 0 && i < ends[b + 1] - ends[b]) {
            sum += weight[ends[b] + i];
            from = b < from ? b : from;
            end = b + 1;
        }
    }
    share[k] = sum > 0.0f ? 1.0f / sum : 0.0f;
    low[k] = from;
    high[k] = end;
}

MX_KERNEL(MX_GROUP)
mx_mel_inverse(MX_ARG(const float, mel), MX_ARG(const float, tables), MX_ARG(const float, share),
               MX_ARG(float, magnitude), MX_ARG(const int, status), int size, int bands, int iterations, float mean,
               float deviation)
{
    MX_LOCAL float level[MX_BANDS], ratio[MX_BANDS], bin[MX_BINS];
    MX_USE(const float, mel);
    MX_USE(const float, tables);
    MX_USE(const float, share);
    MX_USE(float, magnitude);
    MX_USE(const int, status);
    if (status[0] != 0) return;
    const mx_long row = MX_INDEX;
    const int bins = size / 2 + 1;
    MX_GLOBAL const int *const first = (MX_GLOBAL const int *)(tables + 3 * size), *const ends = first + bands;
    MX_GLOBAL const float *const weight = tables + 3 * size + 2 * bands + 1;
    MX_GLOBAL const int *const low = (MX_GLOBAL const int *)share + bins, *const high = low + bins;
    MX_EACH(b, bands)
    {
        const float at = mel[row * bands + b] * deviation + mean;
        level[b] = MX_EXP(at > 80.0f ? 80.0f : at < -80.0f ? -80.0f : at);
    }
    for (int round = 0; round <= iterations; round++) {
        MX_BARRIER();
        MX_EACH(b, bands)
        {
            float sum = 0.0f;
            for (int i = ends[b]; i < ends[b + 1]; i++)
                sum += round == 0 ? weight[i] : weight[i] * bin[first[b] + i - ends[b]];
            ratio[b] = level[b] / MX_MAX(sum, 1e-37f);
        }
        MX_BARRIER();
        MX_EACH(k, bins)
        {
            float spread = 0.0f;
            for (int b = low[k]; b < high[k]; b++) {
                const int i = k - first[b];
                if (i >= 0 && i < ends[b + 1] - ends[b]) spread += weight[ends[b] + i] * ratio[b];
            }
            const float factor = spread * share[k];
            bin[k] = round == 0 ? factor : bin[k] * factor;
        }
    }
    MX_EACH(k, bins) magnitude[row * bins + k] = bin[k];
}

/* ---- mel_project ---- */

/* One group; the next kernel checks status[0]. */
MX_KERNEL(MX_GROUP)
mx_places_check(MX_ARG(const int, places), MX_ARG(int, status), int op, int size, int bands)
{
    MX_USE(const int, places);
    MX_USE(int, status);
    bool fine = true;
    for (int k = MX_LANE; k < 2 * (size / 2 + 1); k += MX_GROUP) fine = fine && places[k] >= 0 && places[k] < bands;
    if (!fine) mx_fail(status, op, 2, 0);
}

/* See struct mx_mel_project_args. A group for each frame; the spectrum itself is read again at the end. */
MX_KERNEL(MX_GROUP)
mx_mel_project(MX_ARG(const float, spectrum), MX_ARG(float, y), MX_ARG(const float, mel), MX_ARG(const float, tables),
               MX_ARG(const float, places), MX_ARG(float, magnitude), MX_ARG(const int, status), int size, int bands,
               int rounds, float lower, float raise, float least, float mean, float deviation)
{
    MX_LOCAL float moved[MX_BANDS], bin[MX_BINS];
    MX_USE(const float, spectrum);
    MX_USE(float, y);
    MX_USE(const float, mel);
    MX_USE(const float, tables);
    MX_USE(const float, places);
    MX_USE(float, magnitude);
    MX_USE(const int, status);
    if (status[0] != 0) return;
    const mx_long row = MX_INDEX;
    const int bins = size / 2 + 1;
    MX_GLOBAL const int *const first = (MX_GLOBAL const int *)(tables + 3 * size), *const ends = first + bands;
    MX_GLOBAL const float *const weight = tables + 3 * size + 2 * bands + 1;
    MX_GLOBAL const int *const low = (MX_GLOBAL const int *)places, *const high = low + bins;
    MX_GLOBAL const float *const share = places + 2 * bins, *const x = spectrum + row * 2 * bins;
    MX_EACH(b, bands) moved[b] = 0.0f;
    for (int round = 0; round < rounds; round++) {
        MX_BARRIER();
        MX_EACH(k, bins)
        {
            const float at = moved[low[k]] + share[k] * (moved[high[k]] - moved[low[k]]);
            bin[k] = MX_EXP(at > 80.0f ? 80.0f : at < -80.0f ? -80.0f : at) *
                     MX_SQRT(x[2 * k] * x[2 * k] + x[2 * k + 1] * x[2 * k + 1]);
        }
        MX_BARRIER();
        MX_EACH(b, bands)
        {
            float sum = 0.0f;
            for (int i = ends[b]; i < ends[b + 1]; i++) sum += weight[i] * bin[first[b] + i - ends[b]];
            const float lack = mel[row * bands + b] * deviation + mean - MX_LOG(MX_MAX(sum, least));
            moved[b] += lack > raise ? raise : lack < -lower ? -lower : lack;
        }
    }
    MX_BARRIER();
    MX_EACH(k, bins)
    {
        const float at = moved[low[k]] + share[k] * (moved[high[k]] - moved[low[k]]);
        const float gain = MX_EXP(at > 80.0f ? 80.0f : at < -80.0f ? -80.0f : at);
        const float re = x[2 * k], im = x[2 * k + 1];
        y[row * 2 * bins + 2 * k] = re * gain;
        y[row * 2 * bins + 2 * k + 1] = im * gain;
        if (magnitude) magnitude[row * bins + k] = MX_SQRT(re * re + im * im) * gain;
    }
}

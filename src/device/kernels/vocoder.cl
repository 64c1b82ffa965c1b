/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What only the vocoder needs. mel_base, pitch_loss, log_magnitude: a group for each row. Tables and offsets are checked
 * before (mx_bands_check, mx_places_check, mx_offsets_check, mx_segments_check).
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

/* ---- pitch_loss ---- */
#define MX_LABEL_REACH 7 /* classes on each side of q: further away the label is less than e^-32, nothing in any sum */

/* See struct mx_pitch_loss_args. losses [rows]: of each row alone. */
MX_KERNEL(MX_GROUP)
mx_pitch_rows(MX_ARG(const float, logits), MX_ARG(const float, pitch), MX_ARG(float, losses), MX_ARG(float, gradient),
              MX_ARG(const int, status), int classes, float low_hz, float inverse_range, float factor)
{
    MX_LOCAL float all[MX_GROUP];
    MX_USE(const float, logits);
    MX_USE(const float, pitch);
    MX_USE(float, losses);
    MX_USE(float, gradient);
    MX_USE(const int, status);
    if (status[0] != 0) return;
    const mx_long row = MX_INDEX, at = row * (classes + 1);
    const bool voiced = pitch[row] > 0.0f;
    const float part = voiced ? MX_LOG(pitch[row] / low_hz) * inverse_range : 0.0f;
    const float q = (float)(classes - 1) * (part > 1.0f ? 1.0f : part > 0.0f ? part : 0.0f);
    const int from = (int)q - MX_LABEL_REACH;
    float most = -MX_INFINITY, sum = 0.0f, label = 0.0f, dot = 0.0f;
    MX_EACH(i, classes + 1) most = MX_MAX(most, logits[at + i]);
    most = mx_group_max(all, most);
    MX_EACH(i, classes + 1)
    {
        const float e = MX_EXP(logits[at + i] - most);
        if (gradient) gradient[at + i] = e;
        sum += e;
    }
    sum = mx_group_sum(all, sum);
    MX_EACH(j, 2 * (MX_LABEL_REACH + 1))
    {
        const int i = voiced ? from + j : classes;
        const float d = (float)i - q;
        if (voiced ? i >= 0 && i < classes : j == 0) {
            const float g = voiced ? MX_EXP(-0.5f * d * d) : 1.0f;
            label += g;
            dot += g * (logits[at + i] - most);
        }
    }
    label = mx_group_sum(all, label);
    dot = mx_group_sum(all, dot);
    if (MX_LANE == 0) losses[row] = MX_LOG(sum) - dot / label;
    if (!gradient) return;
    MX_EACH(i, classes + 1)
    {
        const float d = (float)i - q;
        const bool near = i < classes && MX_ABS(d) < (float)(MX_LABEL_REACH + 1);
        const float g = !voiced ? (i == classes ? 1.0f : 0.0f) : near ? MX_EXP(-0.5f * d * d) : 0.0f;
        gradient[at + i] = factor * (gradient[at + i] / sum - g / label);
    }
}

/* A group for each sequence. */
MX_KERNEL(MX_GROUP)
mx_pitch_values(MX_ARG(const float, losses), MX_ARG(const int, offsets), MX_ARG(float, values),
                MX_ARG(const int, status), float scale)
{
    MX_LOCAL mx_double all[MX_GROUP];
    MX_USE(const float, losses);
    MX_USE(const int, offsets);
    MX_USE(float, values);
    MX_USE(const int, status);
    if (status[0] != 0) return;
    const mx_long begin = offsets[MX_INDEX];
    mx_double sum = mx_double_of(0.0f);
    MX_EACH(r, offsets[MX_INDEX + 1] - (int)begin) sum = mx_double_add(sum, mx_double_of(losses[begin + r]));
    sum = mx_group_sum_double(all, sum);
    if (MX_LANE == 0) values[MX_INDEX] = mx_double_float(mx_double_multiply(mx_double_of(scale), sum));
}

/* ---- log_magnitude ---- */

/* One group, when the offsets have been checked; the next kernel checks status[0]. */
MX_KERNEL(MX_GROUP)
mx_segments_check(MX_ARG(const int, places), MX_ARG(const int, samples), MX_ARG(const int, out), MX_ARG(int, status),
                  int op, int utterances, int segments, int hop)
{
    MX_USE(const int, places);
    MX_USE(const int, samples);
    MX_USE(const int, out);
    MX_USE(int, status);
    if (status[0] != 0) return;
    for (int s = MX_LANE; s < segments; s += MX_GROUP) {
        const int utterance = places[2 * s];
        const bool known = utterance >= 0 && utterance < utterances;
        const mx_long n = known ? samples[utterance + 1] - samples[utterance] : 0, frames = n > 0 ? 1 + n / hop : 0;
        const mx_long first = places[2 * s + 1];
        if (!known || first < 0 || first + (out[s + 1] - out[s]) > frames) mx_fail(status, op, 3, s);
    }
}

/* See struct mx_log_magnitude_args. */
MX_KERNEL(MX_GROUP)
mx_log_magnitude(MX_ARG(const float, audio), MX_ARG(const int, samples), MX_ARG(const float, tables),
                 MX_ARG(const int, places), MX_ARG(const int, out), MX_ARG(float, y), MX_ARG(const int, status),
                 int segments, int size, int hop, float least)
{
    MX_LOCAL float z[4 * MX_POINTS];
    MX_USE(const float, audio);
    MX_USE(const int, samples);
    MX_USE(const float, tables);
    MX_USE(const int, places);
    MX_USE(const int, out);
    MX_USE(float, y);
    MX_USE(const int, status);
    if (status[0] != 0) return;
    const int s = mx_segment_of(out, segments, MX_INDEX), utterance = places[2 * s], points = size / 2;
    const mx_long frame = places[2 * s + 1] + (MX_INDEX - out[s]);
    const int part = mx_samples_transform(z, audio + samples[utterance], samples[utterance + 1] - samples[utterance],
                                          frame * hop - size / 2, tables, size);
    MX_LOCAL_POINTER const float *const spectrum = z + part * 2 * MX_POINTS;
    MX_GLOBAL float *const to = y + MX_INDEX * (points + 1);
    if (MX_LANE == 0) {
        to[0] = MX_LOG(MX_ABS(spectrum[0] + spectrum[MX_POINTS]) + least);
        to[points] = MX_LOG(MX_ABS(spectrum[0] - spectrum[MX_POINTS]) + least);
    }
    MX_EACH(i, points / 2)
    {
        const int k = i + 1;
        float pair[4];
        mx_bin_pair(spectrum, tables + size, points, k, pair);
        to[k] = MX_LOG(0.5f * MX_SQRT(pair[0] * pair[0] + pair[1] * pair[1]) + least);
        if (k != points - k)
            to[points - k] = MX_LOG(0.5f * MX_SQRT(pair[2] * pair[2] + pair[3] * pair[3]) + least);
    }
}

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Frames of packed audio: mel and energy, complex spectra, and back to audio. A group for each frame; its transform
 * stays in local memory. A transform of n real numbers is one of n/2 complex ones, even samples in the real and odd
 * ones in the imaginary part. Offsets and tables are checked before (mx_frames_check, mx_bands_check).
 */
#define MX_POINTS 2048 /* complex numbers of the longest transform: fft_size 4096 */

/* One group; later kernels check status[0]. */
MX_KERNEL(MX_GROUP)
mx_frames_check(MX_ARG(const int, samples), MX_ARG(const int, frames), MX_ARG(int, status), int op, int count,
                int sample_rows, int frame_rows, int hop)
{
    MX_USE(const int, samples);
    MX_USE(const int, frames);
    MX_USE(int, status);
    bool fine =
        samples[0] == 0 && frames[0] == 0 && samples[count] == sample_rows && frames[count] == frame_rows;
    for (int s = MX_LANE; s < count; s += MX_GROUP) {
        const mx_long n = (mx_long)samples[s + 1] - samples[s], own = (mx_long)frames[s + 1] - frames[s];
        fine = fine && n >= 0 && own == (n > 0 ? 1 + n / hop : 0);
    }
    if (!fine) mx_fail(status, op, 1, 0);
}

MX_KERNEL(MX_GROUP)
mx_bands_check(MX_ARG(const int, tables), MX_ARG(int, status), int op, int size, int bands, int weights)
{
    MX_USE(const int, tables);
    MX_USE(int, status);
    MX_GLOBAL const int *const first = tables + 3 * size, *const ends = first + bands;
    bool fine = ends[0] >= 0 && ends[bands] <= weights;
    for (int b = MX_LANE; b < bands; b += MX_GROUP) {
        const mx_long width = (mx_long)ends[b + 1] - ends[b];
        fine = fine && width >= 0 && first[b] >= 0 && first[b] + width <= size / 2 + 1;
    }
    if (!fine) mx_fail(status, op, 2, 0);
}

/* The place of sample `at` in 0 … n-1, by reflection about the first and the last sample. */
MX_INLINE int mx_reflect(mx_long at, int n)
{
    if (n == 1) return 0;
    const mx_long period = 2 * ((mx_long)n - 1);
    mx_long place = at < 0 ? at + period : at;
    if (place < 0 || place > period) { /* slow, and only where the audio is shorter than a frame */
        place %= period;
        if (place < 0) place += period;
    }
    return (int)(place < n ? place : period - place);
}

/* In place of z: Z[k] = Σ z[i] e^(-2πjki/n), in order. z has two halves of MX_POINTS real and MX_POINTS imaginary
 * parts; the input is in the first, the half with the result is returned. circle: cos, sin of 2πk/points. */
MX_INLINE int mx_fft(MX_LOCAL_POINTER float *z, int n, MX_GLOBAL const float *circle, int points)
{
    int from = 0;
    for (int part = n / 2, done = 0; part >= 1; part /= 2, done++) {
        MX_LOCAL_POINTER const float *const x = z + from * 2 * MX_POINTS;
        MX_LOCAL_POINTER float *const y = z + (1 - from) * 2 * MX_POINTS;
        const int m = 1 << done, step = points / (2 * part);
        MX_BARRIER();
        MX_EACH(i, n / 2)
        {
            const int j = i >> done, k = i & (m - 1), at = k + 2 * j * m;
            const float c = circle[2 * j * step], s = circle[2 * j * step + 1];
            const float ar = x[i], ai = x[MX_POINTS + i], br = x[i + n / 2], bi = x[MX_POINTS + i + n / 2];
            const float dr = ar - br, di = ai - bi;
            y[at] = ar + br;
            y[MX_POINTS + at] = ai + bi;
            y[at + m] = dr * c + di * s;
            y[MX_POINTS + at + m] = di * c - dr * s;
        }
        from = 1 - from;
    }
    MX_BARRIER();
    return from;
}

/* The windowed samples of the frame that begins at place `begin` of the n samples x, transformed; returns the half with
 * the result. */
MX_INLINE int mx_samples_transform(MX_LOCAL_POINTER float *z, MX_GLOBAL const float *x, int n, mx_long begin,
                                   MX_GLOBAL const float *tables, int size)
{
    MX_EACH(i, size / 2)
    {
        z[i] = x[mx_reflect(begin + 2 * i, n)] * tables[2 * i];
        z[MX_POINTS + i] = x[mx_reflect(begin + 2 * i + 1, n)] * tables[2 * i + 1];
    }
    return mx_fft(z, size / 2, tables + size, size);
}

/* The same of frame `row` of the batch. */
MX_INLINE int mx_frame_transform(MX_LOCAL_POINTER float *z, MX_GLOBAL const float *audio,
                                 MX_GLOBAL const int *sample_ends, MX_GLOBAL const int *frame_ends, int count,
                                 MX_GLOBAL const float *tables, int size, int hop, mx_long row)
{
    const int s = mx_segment_of(frame_ends, count, row);
    return mx_samples_transform(z, audio + sample_ends[s], sample_ends[s + 1] - sample_ends[s],
                                (row - frame_ends[s]) * hop - size / 2, tables, size);
}

/* X[k] and X[n/2 - k] (the second conjugate), both times 2, from the transform. */
MX_INLINE void mx_bin_pair(MX_LOCAL_POINTER const float *z, MX_GLOBAL const float *circle, int points, int k,
                           float out[4])
{
    const float ar = z[k], ai = z[MX_POINTS + k], br = z[points - k], bi = -z[MX_POINTS + points - k];
    const float c = circle[2 * k], s = circle[2 * k + 1];
    const float dr = ai - bi, di = br - ar; /* -j (a - b) */
    const float odd_r = dr * c + di * s, odd_i = di * c - dr * s;
    out[0] = (ar + br) + odd_r;
    out[1] = (ai + bi) + odd_i;
    out[2] = (ar + br) - odd_r;
    out[3] = (ai + bi) - odd_i;
}

MX_KERNEL(MX_GROUP)
mx_mel_bands(MX_ARG(const float, audio), MX_ARG(const int, sample_ends), MX_ARG(const int, frame_ends),
       MX_ARG(const float, tables), MX_ARG(float, mel), MX_ARG(float, energy), MX_ARG(const int, status), int count,
       int size, int hop, int bands, float least, float mean, float inverse_deviation)
{
    MX_LOCAL float z[4 * MX_POINTS];
    MX_USE(const float, audio);
    MX_USE(const int, sample_ends);
    MX_USE(const int, frame_ends);
    MX_USE(const float, tables);
    MX_USE(float, mel);
    MX_USE(float, energy);
    MX_USE(const int, status);
    if (status[0] != 0) return;
    const mx_long row = MX_INDEX;
    const int points = size / 2;
    const int part = mx_frame_transform(z, audio, sample_ends, frame_ends, count, tables, size, hop, row);
    MX_LOCAL_POINTER float *const spectrum = z + part * 2 * MX_POINTS;
    MX_LOCAL_POINTER float *const magnitude = z + (1 - part) * 2 * MX_POINTS; /* [points + 1] */
    float sum = 0.0f;
    if (MX_LANE == 0) {
        const float low = spectrum[0] + spectrum[MX_POINTS], high = spectrum[0] - spectrum[MX_POINTS];
        magnitude[0] = MX_ABS(low);
        magnitude[points] = MX_ABS(high);
        sum = low * low + high * high;
    }
    MX_EACH(i, points / 2)
    {
        const int k = i + 1;
        float pair[4];
        mx_bin_pair(spectrum, tables + size, points, k, pair);
        const float low = 0.25f * (pair[0] * pair[0] + pair[1] * pair[1]);
        const float high = 0.25f * (pair[2] * pair[2] + pair[3] * pair[3]);
        magnitude[k] = MX_SQRT(low);
        sum += low;
        if (k != points - k) {
            magnitude[points - k] = MX_SQRT(high);
            sum += high;
        }
    }
    MX_BARRIER();
    MX_GLOBAL const int *const first = (MX_GLOBAL const int *)(tables + 3 * size), *const ends = first + bands;
    MX_GLOBAL const float *const weight = tables + 3 * size + 2 * bands + 1;
    MX_EACH(b, bands)
    {
        float band = 0.0f;
        for (int i = ends[b]; i < ends[b + 1]; i++) band += weight[i] * magnitude[first[b] + i - ends[b]];
        mel[row * bands + b] = (MX_LOG(MX_MAX(band, least)) - mean) * inverse_deviation;
    }
    if (energy) {
        sum = mx_group_sum(spectrum, sum); /* it is not needed any more */
        if (MX_LANE == 0) energy[row] = MX_LOG(MX_MAX(MX_SQRT(sum), least));
    }
}

MX_KERNEL(MX_GROUP)
mx_spectrum(MX_ARG(const float, audio), MX_ARG(const int, sample_ends), MX_ARG(const int, frame_ends),
            MX_ARG(const float, tables), MX_ARG(float, bins), MX_ARG(const int, status), int count, int size, int hop)
{
    MX_LOCAL float z[4 * MX_POINTS];
    MX_USE(const float, audio);
    MX_USE(const int, sample_ends);
    MX_USE(const int, frame_ends);
    MX_USE(const float, tables);
    MX_USE(float, bins);
    MX_USE(const int, status);
    if (status[0] != 0) return;
    const mx_long row = MX_INDEX;
    const int points = size / 2;
    const int part = mx_frame_transform(z, audio, sample_ends, frame_ends, count, tables, size, hop, row);
    MX_LOCAL_POINTER const float *const spectrum = z + part * 2 * MX_POINTS;
    MX_GLOBAL float *const out = bins + row * (size + 2);
    if (MX_LANE == 0) {
        out[0] = spectrum[0] + spectrum[MX_POINTS];
        out[1] = 0.0f;
        out[size] = spectrum[0] - spectrum[MX_POINTS];
        out[size + 1] = 0.0f;
    }
    MX_EACH(i, points / 2)
    {
        const int k = i + 1;
        float pair[4];
        mx_bin_pair(spectrum, tables + size, points, k, pair);
        out[2 * k] = 0.5f * pair[0];
        out[2 * k + 1] = 0.5f * pair[1];
        if (k != points - k) {
            out[2 * (points - k)] = 0.5f * pair[2];
            out[2 * (points - k) + 1] = -0.5f * pair[3];
        }
    }
}

/* Each frame's windowed samples into its row of `work`. The transform runs forward on conjugates, which is backward. */
MX_KERNEL(MX_GROUP)
mx_overlap_frames(MX_ARG(const float, bins), MX_ARG(const float, tables), MX_ARG(float, work),
                  MX_ARG(const int, status), int size)
{
    MX_LOCAL float z[4 * MX_POINTS];
    MX_USE(const float, bins);
    MX_USE(const float, tables);
    MX_USE(float, work);
    MX_USE(const int, status);
    if (status[0] != 0) return;
    const mx_long row = MX_INDEX;
    const int points = size / 2;
    MX_GLOBAL const float *const in = bins + row * (size + 2), *const circle = tables + size;
    if (MX_LANE == 0) {
        z[0] = in[0] + in[size];
        z[MX_POINTS] = in[size] - in[0];
    }
    MX_EACH(i, points / 2)
    {
        /* a = X[k], b = conj X[n/2 - k], s = a + b, d = w conj(a - b): 2 conj Z[k] = conj s - j d,
         * 2 conj Z[n/2 - k] = s - j conj d */
        const int k = i + 1;
        const float ar = in[2 * k], ai = in[2 * k + 1], br = in[2 * (points - k)], bi = -in[2 * (points - k) + 1];
        const float c = circle[2 * k], s = circle[2 * k + 1], er = ar - br, ei = bi - ai; /* conj(a - b) */
        const float dr = er * c + ei * s, di = ei * c - er * s, sr = ar + br, si = ai + bi;
        z[points - k] = sr - di;
        z[MX_POINTS + points - k] = si - dr;
        z[k] = sr + di; /* in the middle, where both are one, the two agree */
        z[MX_POINTS + k] = -si - dr;
    }
    const int part = mx_fft(z, points, circle, size);
    MX_LOCAL_POINTER const float *const samples = z + part * 2 * MX_POINTS;
    const float factor = 1.0f / (float)size;
    MX_EACH(i, points)
    {
        work[row * size + 2 * i] = samples[i] * (factor * tables[2 * i]);
        work[row * size + 2 * i + 1] = samples[MX_POINTS + i] * (-factor * tables[2 * i + 1]);
    }
}

/* Each stretch of hop samples from the frames that cover it, in their order. An utterance of n samples has 1 + n/hop
 * frames and at most as many stretches: a group for each frame. */
MX_KERNEL(MX_GROUP)
mx_overlap_add(MX_ARG(const float, work), MX_ARG(const float, tables), MX_ARG(float, audio),
               MX_ARG(const int, sample_ends), MX_ARG(const int, frame_ends), MX_ARG(const int, status), int count,
               int size, int hop, float least)
{
    MX_USE(const float, work);
    MX_USE(const float, tables);
    MX_USE(float, audio);
    MX_USE(const int, sample_ends);
    MX_USE(const int, frame_ends);
    MX_USE(const int, status);
    if (status[0] != 0) return;
    const int s = mx_segment_of(frame_ends, count, MX_INDEX);
    const mx_long frame0 = frame_ends[s], low = (MX_INDEX - frame0) * hop;
    const int n = sample_ends[s + 1] - sample_ends[s], frames = frame_ends[s + 1] - (int)frame0;
    const int length = (int)(low + hop < n ? hop : n - low); /* may be negative */
    const mx_long early = low - size / 2 + 1, begin = early > 0 ? (early + hop - 1) / hop : 0;
    MX_EACH(i, length)
    {
        float sum = 0.0f, squares = 0.0f;
        for (mx_long f = begin; f < frames && f * hop - size / 2 < low + length; f++) {
            const mx_long j = low + i - (f * hop - size / 2);
            if (j >= 0 && j < size) {
                sum += work[(frame0 + f) * size + j];
                squares += tables[j] * tables[j];
            }
        }
        audio[sample_ends[s] + low + i] = sum / MX_MAX(squares, least);
    }
}

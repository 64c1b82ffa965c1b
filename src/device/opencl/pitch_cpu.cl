/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Candidates of pitch for OpenCL devices of CPU type: as in frames_cpu.cl, MX_VECTOR neighbouring frames at a time, one in
 * each element of a vector. The difference function comes from energies of the moving window and from a correlation, which
 * takes two transforms; kernels/pitch.cl has it straight from its definition.
 */
#if defined(MX_CPU)

/* The cross spectrum of the window with the frame at bin k, times 4. Both are real and were transformed as one, z: with
 * a = Z[k], b = conj Z[n - k] their spectra are (a + b)/2 and (a - b)/2j. */
MX_INLINE mx_vc mx_cross(MX_GLOBAL const float *z, const int *place, int n, int k)
{
    const mx_vc a = mx_vc_load(z + place[k]), b = mx_vc_load(z + place[k == 0 ? 0 : n - k]);
    const mx_v wr = a.r + b.r, wi = a.i - b.i, fr = a.i + b.i, fi = b.r - a.r;
    mx_vc p;
    p.r = wr * fr + wi * fi;
    p.i = wr * fi - wi * fr;
    return p;
}

/* Element k of what the way back begins with, from the cross spectrum at k and at n/2 - k: even lags become real and odd
 * ones imaginary parts. The parts are exchanged, since a transform forward of those is one backward. */
MX_INLINE void mx_cross_fold(mx_vc p, mx_vc q, MX_GLOBAL const float *circle, int k, MX_GLOBAL float *lags)
{
    const float c = circle[2 * k], s = circle[2 * k + 1];
    const mx_v er = p.r + q.r, ei = p.i - q.i, ar = p.r - q.r, ai = p.i + q.i;
    mx_vc v;
    v.r = ei + (ar * c - ai * s);
    v.i = er - (ai * c + ar * s);
    mx_vc_store(v, lags + 2 * k * MX_VECTOR);
}

/* z [size] complex = the first `window` samples and all of them; difference[t] = energy of the window moved by t. */
MX_INLINE void mx_pitch_gather(MX_GLOBAL const float *const source[MX_VECTOR], int size, int window, int lag_max,
                               MX_GLOBAL float *z, MX_GLOBAL float *difference)
{
    for (int i = 0; i < size; i += 4) {
        const mx_columns x = mx_frame_columns(source, i);
        const mx_v four[4] = {x.a, x.b, x.c, x.d};
#pragma unroll
        for (int j = 0; j < 4; j++) {
            mx_store(i + j < window ? four[j] : (mx_v)0.0f, z + 2 * (i + j) * MX_VECTOR);
            mx_store(four[j], z + (2 * (i + j) + 1) * MX_VECTOR);
        }
    }
    mx_v energy = 0.0f;
    for (int i = 0; i < window; i++) {
        const mx_v x = mx_load(z + (2 * i + 1) * MX_VECTOR);
        energy += x * x;
    }
    for (int t = 0; t <= lag_max + 1; t++) {
        const mx_v leaves = mx_load(z + (2 * t + 1) * MX_VECTOR);
        mx_store(energy, difference + t * MX_VECTOR);
        if (t + window == size) break;
        const mx_v enters = mx_load(z + (2 * (t + window) + 1) * MX_VECTOR);
        energy = (energy + enters * enters) - leaves * leaves;
    }
}

/* From the energies: the difference function, then its normalised form in its place. lags: times 4 · size. */
MX_INLINE void mx_pitch_normalise(MX_GLOBAL const float *lags, const int *place, int size, int lag_max,
                                  MX_GLOBAL float *difference)
{
    const float factor = -2.0f / (4.0f * (float)size);
    const mx_v still = mx_load(difference);
    mx_v sum = 0.0f;
    mx_store((mx_v)1.0f, difference);
    for (int t = 1; t <= lag_max + 1; t++) {
        MX_GLOBAL float *const at = difference + t * MX_VECTOR;
        const mx_v product = mx_load(lags + place[t / 2] + (t % 2 == 0 ? MX_VECTOR : 0));
        const mx_v apart = (still + mx_load(at)) + factor * product, d = select((mx_v)0.0f, apart, apart > 0.0f);
        sum += d;
        mx_store(select((mx_v)1.0f, d * (float)t / sum, sum > 0.0f), at);
    }
}

MX_FULL_WIDTH MX_KERNEL(1)
mx_pitch_frames(MX_ARG(const float, audio), MX_ARG(const int, sample_ends), MX_ARG(const int, frame_ends),
                MX_ARG(const float, tables), MX_ARG(float, work), MX_ARG(const int, status), MX_ARG(float, room),
                int count, int rows, mx_long each, int size, int hop, int lag_min, int lag_max, float rate,
                float low_hz, float high_hz, float quiet, float limit, float octave)
{
    MX_USE(const float, audio);
    MX_USE(const int, sample_ends);
    MX_USE(const int, frame_ends);
    MX_USE(const float, tables);
    MX_USE(float, work);
    MX_USE(const int, status);
    MX_USE(float, room);
    if (status[0] != 0) return;
    const int points = size / 2, window = size - lag_max - 1;
    MX_GLOBAL float *const z = room + MX_INDEX * 5 * size * MX_VECTOR, *const lags = z + 2 * size * MX_VECTOR;
    MX_GLOBAL float *const difference = lags + size * MX_VECTOR, *const stage = difference + size * MX_VECTOR;
    MX_GLOBAL const float *const circle = tables + size;
    int place[MX_FRAME], short_place[MX_POINTS];
    for (int k = 0; k < size; k++) place[k] = 2 * mx_fft_place(size, k) * MX_VECTOR;
    for (int k = 0; k < points; k++) short_place[k] = 2 * mx_fft_place(points, k) * MX_VECTOR;
    const mx_long begin = MX_INDEX * each, end = begin + each < rows ? begin + each : rows;
    for (mx_long row = begin; row < end; row += MX_VECTOR) {
        MX_GLOBAL const float *source[MX_VECTOR];
        float hz[MX_VECTOR][MX_KEPT], cost[MX_VECTOR][MX_KEPT];
        const int lanes = (int)(end - row < MX_VECTOR ? end - row : MX_VECTOR);
        mx_frames_find(audio, sample_ends, frame_ends, count, size, hop, row, lanes, stage, source);
        mx_pitch_gather(source, size, window, lag_max, z, difference);
        const mx_vi loud = mx_load(difference) >= quiet;
        mx_fft_pass(z, size, circle, size);
        mx_fft_finish(z, size, circle, size);
        for (int k = 0; k <= points / 2; k++) {
            const mx_vc p = mx_cross(z, place, size, k), q = mx_cross(z, place, size, points - k);
            mx_cross_fold(p, q, circle, k, lags);
            if (k > 0) mx_cross_fold(q, p, circle, points - k, lags);
        }
        mx_fft_pass(lags, points, circle, size);
        mx_fft_finish(lags, points, circle, size);
        mx_pitch_normalise(lags, short_place, size, lag_max, difference);
        for (int lane = 0; lane < MX_VECTOR; lane++)
            for (int i = 0; i < MX_KEPT; i++) hz[lane][i] = cost[lane][i] = 0.0f;
        mx_v before = mx_load(difference + (lag_min - 1) * MX_VECTOR), at = mx_load(difference + lag_min * MX_VECTOR);
        for (int t = lag_min; t <= lag_max; t++) {
            const mx_v after = mx_load(difference + (t + 1) * MX_VECTOR);
            const mx_vi low = loud & (at < before) & (at <= after);
            if (any(low)) {
                int found[MX_VECTOR];
                float sides[3][MX_VECTOR];
                mx_store(MX_AS_V(low), (float *)found);
                mx_store(before, sides[0]);
                mx_store(at, sides[1]);
                mx_store(after, sides[2]);
                for (int lane = 0; lane < lanes; lane++)
                    if (found[lane])
                        mx_pitch_keep(hz[lane], cost[lane], t, sides[0][lane], sides[1][lane], sides[2][lane], rate,
                                      low_hz, high_hz, limit, octave);
            }
            before = at;
            at = after;
        }
        for (int lane = 0; lane < lanes; lane++)
            for (int i = 0; i < MX_KEPT; i++) {
                work[(row + lane) * MX_PITCH_WORK + i] = hz[lane][i];
                work[(row + lane) * MX_PITCH_WORK + MX_KEPT + i] = cost[lane][i];
            }
    }
}
#endif

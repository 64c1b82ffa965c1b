/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Pitch (see struct mx_pitch_args). A group for each frame makes the difference function straight from its definition,
 * the lags side by side, then its normalised form and the candidates, which go to the caller's `work`; then a group for
 * each utterance finds the cheapest path, in mx_double, frame after frame.
 */
#define MX_KEPT       4 /* MX_PITCH_CANDIDATES */
#define MX_PITCH_WORK (2 * MX_KEPT + 1)
#define MX_FRAME      4096 /* longest fft_size */

/* Of a local minimum of the normalised difference function at lag t, between its neighbours: the candidate, put into its
 * place among the kept ones unless it is too dear. They stand in the order of their costs. */
MX_INLINE void mx_pitch_keep(float hz[MX_KEPT], float cost[MX_KEPT], int t, float before, float at, float after,
                             float rate, float low_hz, float high_hz, float limit, float octave)
{
    const float slope = before - after, bend = (before - at) + (after - at);
    const float move = 0.5f * slope / MX_MAX(bend, 1e-20f), value = MX_MAX(at - 0.25f * slope * move, 0.0f);
    if (!(value <= limit)) return;
    float pitch = rate / ((float)t + move);
    pitch = pitch < low_hz ? low_hz : pitch > high_hz ? high_hz : pitch;
    const float price = value + octave * MX_LOG2(high_hz / pitch);
    if (price > limit) return;
    int place = MX_KEPT;
    while (place > 0 && (hz[place - 1] == 0.0f || price < cost[place - 1])) place--;
    for (int i = MX_KEPT - 1; i > place; i--) {
        hz[i] = hz[i - 1];
        cost[i] = cost[i - 1];
    }
    if (place < MX_KEPT) {
        hz[place] = pitch;
        cost[place] = price;
    }
}

/* From the difference function of a frame: its normalised form, in its place, and the candidates, to the frame's work.
 * One lane. */
MX_INLINE void mx_pitch_choose(MX_LOCAL_POINTER float *difference, bool loud, MX_GLOBAL float *work, int lag_min,
                               int lag_max, float rate, float low_hz, float high_hz, float limit, float octave)
{
    float sum = 0.0f, hz[MX_KEPT], cost[MX_KEPT];
    difference[0] = 1.0f;
    for (int t = 1; t < lag_max + 2; t++) {
        sum += difference[t];
        difference[t] = sum > 0.0f ? difference[t] * (float)t / sum : 1.0f;
    }
    for (int i = 0; i < MX_KEPT; i++) hz[i] = cost[i] = 0.0f;
    for (int t = lag_min; t <= lag_max && loud; t++) {
        const float before = difference[t - 1], at = difference[t], after = difference[t + 1];
        if (at < before && at <= after)
            mx_pitch_keep(hz, cost, t, before, at, after, rate, low_hz, high_hz, limit, octave);
    }
    for (int i = 0; i < MX_KEPT; i++) {
        work[i] = hz[i];
        work[MX_KEPT + i] = cost[i];
    }
}

MX_KERNEL(MX_GROUP)
mx_pitch_candidates(MX_ARG(const float, audio), MX_ARG(const int, sample_ends), MX_ARG(const int, frame_ends),
                    MX_ARG(float, work), MX_ARG(const int, status), int count, int size, int hop, int lag_min,
                    int lag_max, float rate, float low_hz, float high_hz, float quiet, float limit, float octave)
{
    MX_LOCAL float x[MX_FRAME], difference[MX_FRAME];
    MX_USE(const float, audio);
    MX_USE(const int, sample_ends);
    MX_USE(const int, frame_ends);
    MX_USE(float, work);
    MX_USE(const int, status);
    if (status[0] != 0) return;
    const mx_long row = MX_INDEX;
    const int s = mx_segment_of(frame_ends, count, row), n = sample_ends[s + 1] - sample_ends[s];
    const int window = size - lag_max - 1;
    const mx_long begin = (row - frame_ends[s]) * hop - size / 2;
    MX_GLOBAL const float *const from = audio + sample_ends[s];
    MX_EACH(i, size) x[i] = from[mx_reflect(begin + i, n)];
    MX_BARRIER();
    float power = 0.0f;
    MX_EACH(i, window) power += x[i] * x[i];
    power = mx_group_sum(difference, power);
    for (int first = 0; first < lag_max + 2; first += MX_GROUP) {
        const int t = first + MX_LANE, lag = t < lag_max + 2 ? t : lag_max + 1;
        float sum = 0.0f;
        for (int i = 0; i < window; i++) {
            const float d = x[i] - x[i + lag];
            sum += d * d;
        }
        if (t < lag_max + 2) difference[t] = sum;
    }
    MX_BARRIER();
    if (MX_LANE != 0) return;
    mx_pitch_choose(difference, power >= quiet, work + row * MX_PITCH_WORK, lag_min, lag_max, rate, low_hz, high_hz,
                    limit, octave);
}

/* One lane of a group for each utterance. The last word of each frame's work gets, for each state, the one before it.
 */
MX_KERNEL(MX_GROUP)
mx_pitch_path(MX_ARG(const int, frame_ends), MX_ARG(float, work), MX_ARG(float, pitch), MX_ARG(const int, status),
              float threshold, float jump, float change)
{
    MX_USE(const int, frame_ends);
    MX_USE(float, work);
    MX_USE(float, pitch);
    MX_USE(const int, status);
    if (status[0] != 0 || MX_LANE != 0) return;
    mx_double total[MX_KEPT + 1], before[MX_KEPT];
    for (int i = 0; i <= MX_KEPT; i++) total[i] = mx_double_of(0.0f); /* before the first frame everything is free */
    for (int i = 0; i < MX_KEPT; i++) before[i] = mx_double_of(0.0f);
    const mx_long begin = frame_ends[MX_INDEX], end = frame_ends[MX_INDEX + 1];
    for (mx_long row = begin; row < end; row++) {
        MX_GLOBAL float *const hz = work + row * MX_PITCH_WORK;
        mx_double next[MX_KEPT + 1], octaves[MX_KEPT];
        mx_uint links = 0;
        for (int to = 0; to <= MX_KEPT; to++) {
            int from = MX_KEPT;
            mx_double best = mx_double_of(0.0f), here = best;
            if (to < MX_KEPT) {
                octaves[to] = mx_double_of(0.0f);
                if (hz[to] == 0.0f) {
                    next[to] = mx_double_of(MX_INFINITY);
                    continue;
                }
                octaves[to] = here = mx_double_log2(hz[to]);
            }
            if (row > begin) {
                best = mx_double_add(total[MX_KEPT], mx_double_of(to == MX_KEPT ? 0.0f : change));
                for (int i = MX_KEPT - 1; i >= 0; i--) {
                    const mx_double step =
                        to == MX_KEPT ? mx_double_of(change)
                                      : mx_double_multiply(mx_double_of(jump),
                                                           mx_double_abs(mx_double_subtract(here, before[i])));
                    const mx_double cost = mx_double_add(total[i], step);
                    if (mx_double_less(best, cost)) continue;
                    best = cost;
                    from = i;
                }
            }
            next[to] = mx_double_add(best, mx_double_of(to < MX_KEPT ? hz[MX_KEPT + to] : threshold));
            links |= (mx_uint)from << (4 * to);
        }
        hz[2 * MX_KEPT] = MX_FLOAT_BITS((int)links);
        for (int i = 0; i <= MX_KEPT; i++) total[i] = next[i];
        for (int i = 0; i < MX_KEPT; i++) before[i] = octaves[i];
    }
    int state = MX_KEPT;
    for (int i = MX_KEPT - 1; i >= 0; i--)
        if (!mx_double_less(total[state], total[i])) state = i;
    for (mx_long row = end - 1; row >= begin; row--) {
        pitch[row] = state < MX_KEPT ? work[row * MX_PITCH_WORK + state] : 0.0f;
        const mx_uint links = (mx_uint)MX_INT_BITS(work[row * MX_PITCH_WORK + 2 * MX_KEPT]);
        state = (int)(links >> (4 * state) & 15u);
    }
}

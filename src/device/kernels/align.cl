/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Monotonic alignment search (see struct mx_align_args): a group for each sequence, frame after frame, with the tokens
 * side by side. Tokens are taken in blocks from the last down, since each needs the total of the one before as it was.
 * The scratch is the caller's: two words of each token for its total (an mx_double, of which only words are aligned),
 * then one bit for each token and frame.
 */
/* Whether every sequence that has frames has a token; one group, after mx_offsets_check of both. */
MX_KERNEL(MX_GROUP)
mx_align_check(MX_ARG(const int, tokens), MX_ARG(const int, frames), MX_ARG(int, status), int op, int count)
{
    MX_USE(const int, tokens);
    MX_USE(const int, frames);
    MX_USE(int, status);
    for (int s = MX_LANE; s < count; s += MX_GROUP)
        if (tokens[s + 1] == tokens[s] && frames[s + 1] != frames[s]) mx_fail(status, op, 0, 0);
}

MX_KERNEL(MX_GROUP)
mx_align(MX_ARG(const float, mean), MX_ARG(const float, mel), MX_ARG(const int, token_ends),
         MX_ARG(const int, frame_ends), MX_ARG(int, durations), MX_ARG(float, logs), MX_ARG(mx_uint, work),
         MX_ARG(const int, status), mx_long token_rows, int words, int n, float diagonal)
{
    MX_LOCAL int moved[MX_GROUP];
    MX_USE(const float, mean);
    MX_USE(const float, mel);
    MX_USE(const int, token_ends);
    MX_USE(const int, frame_ends);
    MX_USE(int, durations);
    MX_USE(float, logs);
    MX_USE(mx_uint, work);
    MX_USE(const int, status);
    if (status[0] != 0) return;
    const mx_long token = token_ends[MX_INDEX], frame = frame_ends[MX_INDEX];
    const int tokens = token_ends[MX_INDEX + 1] - (int)token, frames = frame_ends[MX_INDEX + 1] - (int)frame;
    MX_GLOBAL mx_uint *const totals = work + 2 * token, *const bits = work + 2 * token_rows + frame * words;
    if (tokens == 0) return;
    if (tokens > frames) { /* the frames are spread evenly */
        MX_EACH(t, tokens)
        durations[token + t] =
            (int)((mx_long)(t + 1) * frames / tokens) - (int)((mx_long)t * frames / tokens);
    } else {
        for (int f = 0; f < frames; f++) {
            const int last = f < tokens ? f : tokens - 1, first = tokens - frames + f > 0 ? tokens - frames + f : 0;
            const mx_double middle =
                mx_double_divide(mx_double_multiply(mx_double_add(mx_double_of_int(f), mx_double_of(0.5f)),
                                                    mx_double_of_int(tokens)),
                                 mx_double_of_int(frames));
            for (int block = last / MX_GROUP; block >= first / MX_GROUP; block--) {
                const int t = block * MX_GROUP + MX_LANE;
                const bool mine = t >= first && t <= last;
                mx_double best = mx_double_of(0.0f);
                int move = 0;
                if (mine) {
                    float sum = 0.0f;
                    for (int i = 0; i < n; i++) {
                        const float m = mean[(token + t) * n + i];
                        sum += m * (mel[(frame + f) * n + i] - 0.5f * m); /* see cpu/isa/align.c */
                    }
                    best = f > 0 && t < f ? mx_double_load(totals + 2 * t) : mx_double_of(0.0f);
                    if (t > 0) {
                        const mx_double other = mx_double_load(totals + 2 * (t - 1));
                        if (t == f || mx_double_less(best, other)) {
                            best = other;
                            move = 1;
                        }
                    }
                    const mx_double off =
                        mx_double_subtract(middle, mx_double_add(mx_double_of_int(t), mx_double_of(0.5f)));
                    best = mx_double_subtract(
                        mx_double_add(best, mx_double_of(sum)),
                        mx_double_multiply(mx_double_multiply(mx_double_of(diagonal), off), off));
                }
                moved[MX_LANE] = move;
                MX_BARRIER();
                if (mine) mx_double_store(totals + 2 * t, best);
                if (MX_LANE % 32 == 0 && t / 32 < words) {
                    mx_uint word = 0;
                    for (int j = 0; j < 32; j++) word |= (mx_uint)moved[MX_LANE + j] << j;
                    bits[(mx_long)f * words + t / 32] = word;
                }
                MX_BARRIER();
            }
        }
        MX_EACH(t, tokens) durations[token + t] = 0;
        MX_BARRIER();
        if (MX_LANE == 0) {
            int t = tokens - 1;
            for (int f = frames - 1; f >= 0; f--) {
                durations[token + t]++;
                t -= (int)(bits[(mx_long)f * words + t / 32] >> (t % 32) & 1u);
            }
        }
    }
    MX_BARRIER();
    if (logs) {
        MX_EACH(t, tokens) logs[token + t] = MX_LOG1P((float)durations[token + t]);
    }
}

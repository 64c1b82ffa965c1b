/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * pitch: packed audio to F0 and voicing, see myxtts/ops.h for the definition.
 *
 * First, blocks of frames with one frame per lane (frames.h): the difference function by two transforms (fft.h), its
 * normalised form, and from it a few candidates per frame, which go to the caller's `work`. Then, utterance by
 * utterance, the cheapest path through the candidates. Costs along a path are added in double, in the order of the
 * frames, so that the result depends neither on workers nor on what else is in the batch.
 */
#include "device/cpu/isa/fft.h"
#include "device/cpu/isa/frames.h"

#define LANES MX_VEC_FLOATS
#define KEPT  MX_PITCH_CANDIDATES

struct search {
    const struct mx_pitch_args *args;
    const float *circle;
    int64_t size, window;     /* samples of a frame; W */
    int64_t lag_min, lag_max; /* of candidates */
    float limit;              /* no dearer candidates */
    /* scratch */
    mx_vf *pair;       /* [size] complex: the first W samples, and all of them */
    mx_vf *product;    /* [size/2 + 1] complex: their cross spectrum */
    mx_vf *lags;       /* [size/2] complex: the correlation, even and odd lags in turns */
    mx_vf *difference; /* [lag_max + 2]: energy of the window moved by t, then d, then d' */
    float *stage;      /* [LANES, size] */
    int32_t *pair_place, *lags_place;
    float (*kept)[2][KEPT]; /* [LANES]: frequency and cost, 0 Hz where there is none */
};

static void *carve(char **at, int64_t count, size_t size)
{
    void *ptr = *at;
    *at += ((size_t)count * size + 63) / 64 * 64;
    return ptr;
}

static void search_open(struct search *s, const struct mx_pitch_args *a, void *scratch)
{
    char *at = scratch;
    *s = (struct search){.args = a, .size = a->fft_size};
    s->circle = (const float *)mx_cpu_ptr(a->tables) + s->size;
    s->lag_min = (int64_t)floor((double)a->rate / (double)a->high_hz);
    s->lag_max = (int64_t)ceil((double)a->rate / (double)a->low_hz);
    s->window = s->size - s->lag_max - 1;
    s->limit = a->threshold + 2 * a->change;
    s->pair = carve(&at, 2 * s->size, sizeof(mx_vf));
    s->product = carve(&at, s->size + 2, sizeof(mx_vf));
    s->lags = carve(&at, s->size, sizeof(mx_vf));
    s->difference = carve(&at, s->lag_max + 2, sizeof(mx_vf));
    s->stage = carve(&at, LANES * s->size, sizeof(float));
    s->pair_place = carve(&at, s->size, sizeof(int32_t));
    s->lags_place = carve(&at, s->size / 2, sizeof(int32_t));
    s->kept = carve(&at, LANES, sizeof *s->kept);
    for (int64_t k = 0; k < s->size; k++) s->pair_place[k] = (int32_t)mx_fft_place(s->size, k);
    for (int64_t k = 0; k < s->size / 2; k++) s->lags_place[k] = (int32_t)mx_fft_place(s->size / 2, k);
}

/* Samples of all lanes into `pair`, and the energies of the moving window into `difference`. */
static void gather(const struct search *s, const float *const source[LANES])
{
    for (int64_t i = 0; i < s->size; i += LANES) {
        mx_vf square[LANES];
#pragma GCC unroll 16
        for (int lane = 0; lane < LANES; lane++) square[lane] = mx_vf_load(source[lane] + i);
        mx_vf_transpose(square);
        for (int j = 0; j < LANES; j++)
            mx_vc_store(s->pair, i + j, (struct mx_vc){i + j < s->window ? square[j] : (mx_vf){0}, square[j]});
    }
    mx_vf energy = {0};
    for (int64_t i = 0; i < s->window; i++) energy += s->pair[2 * i + 1] * s->pair[2 * i + 1];
    for (int64_t t = 0; t <= s->lag_max + 1; t++) {
        const mx_vf leaves = s->pair[2 * t + 1];
        s->difference[t] = energy;
        if (t + s->window == s->size) break;
        const mx_vf enters = s->pair[2 * (t + s->window) + 1];
        energy = (energy + enters * enters) - leaves * leaves;
    }
}

/* `lags` = the correlation of the window with the frame, times 4 · size. Both are real, so one transform serves
 * the two: with a = Z[k], b = conj Z[n - k] their spectra are (a + b)/2 and (a - b)/2j. The way back is half as long,
 * even lags in the real and odd ones in the imaginary part, and runs forward on exchanged parts, since that is
 * backward.
 */
static void correlate(const struct search *s)
{
    const int64_t n = s->size, half = n / 2;
    mx_fft_run(s->pair, n, s->circle, n);
    for (int64_t k = 0; k <= half; k++) {
        const struct mx_vc a = mx_vc_load(s->pair, s->pair_place[k]);
        const struct mx_vc other = mx_vc_load(s->pair, s->pair_place[(n - k) % n]), b = {other.re, -other.im};
        const struct mx_vc window = mx_vc_add(a, b), frame = mx_vc_down(mx_vc_sub(a, b));
        mx_vc_store(
            s->product, k,
            (struct mx_vc){window.re * frame.re + window.im * frame.im, window.re * frame.im - window.im * frame.re});
    }
    for (int64_t k = 0; k < half; k++) {
        const struct mx_vc a = mx_vc_load(s->product, k);
        const struct mx_vc other = mx_vc_load(s->product, half - k), b = {other.re, -other.im};
        const struct mx_vc even = mx_vc_add(a, b), apart = mx_vc_sub(a, b);
        const mx_vf c = mx_vf_set(s->circle[2 * k]), si = mx_vf_set(s->circle[2 * k + 1]);
        const struct mx_vc odd = {mx_vf_fnma(apart.im, si, apart.re * c), mx_vf_fma(apart.re, si, apart.im * c)};
        /* even + j odd, parts exchanged */
        mx_vc_store(s->lags, k, (struct mx_vc){even.im + odd.re, even.re - odd.im});
    }
    mx_fft_run(s->lags, half, s->circle, n);
}

/* From the energies and the correlation: d, and d' in its place. */
static void normalise(const struct search *s)
{
    const float factor = -2.0f / (4.0f * (float)s->size);
    const mx_vf still = s->difference[0];
    mx_vf sum = {0};
    s->difference[0] = mx_vf_set(1);
    for (int64_t t = 1; t <= s->lag_max + 1; t++) {
        const int64_t at = 2 * (int64_t)s->lags_place[t / 2] + (t % 2 == 0);
        const mx_vf d = mx_vf_max(mx_vf_set(0), mx_vf_fma(mx_vf_set(factor), s->lags[at], still + s->difference[t]));
        sum += d;
        s->difference[t] = mx_vf_select(sum > 0, d * (float)t / sum, mx_vf_set(1));
    }
}

/* Puts a candidate into its place among the kept ones; they stand in the order of their costs. */
static void keep(float kept[2][KEPT], float hz, float cost)
{
    int place = KEPT;
    while (place > 0 && (kept[0][place - 1] == 0 || cost < kept[1][place - 1])) place--;
    if (place == KEPT) return;
    for (int i = KEPT - 1; i > place; i--) {
        kept[0][i] = kept[0][i - 1];
        kept[1][i] = kept[1][i - 1];
    }
    kept[0][place] = hz;
    kept[1][place] = cost;
}

static bool any(mx_vi where)
{
#if MX_VEC_AVX512
    return _mm512_movepi32_mask((__m512i)where) != 0;
#elif MX_VEC_AVX2
    return !_mm256_testz_si256((__m256i)where, (__m256i)where);
#else
    int32_t all = 0;
    for (int lane = 0; lane < LANES; lane++) all |= where[lane];
    return all != 0;
#endif
}

/* The candidates of all lanes; `loud` where there may be some. */
static void choose(const struct search *s, mx_vi loud)
{
    const struct mx_pitch_args *a = s->args;
    memset(s->kept, 0, LANES * sizeof *s->kept);
    for (int64_t t = s->lag_min; t <= s->lag_max; t++) {
        const mx_vf before = s->difference[t - 1], at = s->difference[t], after = s->difference[t + 1];
        const mx_vf slope = before - after, bend = (before - at) + (after - at);
        const mx_vf move = 0.5f * slope / mx_vf_max(mx_vf_set(1e-20f), bend);
        const mx_vf value = mx_vf_max(mx_vf_set(0), at - 0.25f * slope * move);
        const mx_vi found = loud & (mx_vi)(at < before) & (mx_vi)(at <= after) & (mx_vi)(value <= s->limit);
        if (!any(found)) continue;
        for (int lane = 0; lane < LANES; lane++) {
            if (!found[lane]) continue;
            float hz = a->rate / ((float)t + move[lane]);
            if (hz < a->low_hz) hz = a->low_hz;
            if (hz > a->high_hz) hz = a->high_hz;
            const float cost = value[lane] + a->octave * log2f(a->high_hz / hz);
            if (cost <= s->limit) keep(s->kept[lane], hz, cost);
        }
    }
}

static void candidates(const struct search *s, const struct mx_frames *frames, int64_t begin, int64_t end, float *work)
{
    const float *source[LANES];
    const float quiet = s->args->silence * s->args->silence * (float)s->window;
    for (int64_t row = begin; row < end; row += LANES) {
        const int lanes = end - row < LANES ? (int)(end - row) : LANES;
        mx_frames_block(frames, row, lanes, s->stage, source);
        gather(s, source);
        const mx_vi loud = s->difference[0] >= quiet;
        correlate(s);
        normalise(s);
        choose(s, loud);
        for (int lane = 0; lane < lanes; lane++)
            memcpy(work + (row + lane) * MX_PITCH_WORK, s->kept[lane], sizeof s->kept[lane]);
    }
}

/* ---- the path ---- */
#define STATES (KEPT + 1) /* the candidates, then unvoiced */

/* The state before `to` on the cheapest way there, of equals the first; its cost in *cost. An infinite one is none. */
static int way(const struct mx_pitch_args *a, const double total[STATES], const double before[KEPT], int to,
               double octaves, double *cost)
{
    int from = KEPT;
    *cost = total[KEPT] + (to == KEPT ? 0 : (double)a->change);
    for (int i = KEPT - 1; i >= 0; i--) {
        const double step = to == KEPT ? (double)a->change : (double)a->jump * fabs(octaves - before[i]);
        if (total[i] + step > *cost) continue;
        *cost = total[i] + step;
        from = i;
    }
    return from;
}

/* Frames 0 … rows-1 of one utterance. The last word of each frame's work gets, for each state, the one before it. */
static void path(const struct mx_pitch_args *a, float *work, int64_t rows, float *pitch)
{
    double total[STATES], before[KEPT] = {0};
    for (int i = 0; i < STATES; i++) total[i] = 0; /* before the first frame everything is free */
    for (int64_t row = 0; row < rows; row++) {
        const float *hz = work + row * MX_PITCH_WORK, *cost = hz + KEPT;
        double next[STATES], octaves[KEPT] = {0};
        uint32_t links = 0;
        for (int to = 0; to < STATES; to++) {
            int from = KEPT;
            if (to < KEPT && hz[to] == 0) {
                next[to] = INFINITY;
                continue;
            }
            if (to < KEPT) octaves[to] = log2((double)hz[to]);
            if (row == 0)
                next[to] = 0;
            else
                from = way(a, total, before, to, to < KEPT ? octaves[to] : 0, &next[to]);
            next[to] += to < KEPT ? (double)cost[to] : (double)a->threshold;
            links |= (uint32_t)from << 4 * to;
        }
        memcpy(work + row * MX_PITCH_WORK + 2 * KEPT, &links, sizeof links);
        memcpy(total, next, sizeof total);
        memcpy(before, octaves, sizeof before);
    }
    int state = KEPT;
    for (int i = KEPT - 1; i >= 0; i--)
        if (total[i] <= total[state]) state = i;
    for (int64_t row = rows; row-- > 0;) {
        uint32_t links;
        pitch[row] = state < KEPT ? work[row * MX_PITCH_WORK + state] : 0;
        memcpy(&links, work + row * MX_PITCH_WORK + 2 * KEPT, sizeof links);
        state = (int)(links >> 4 * state & 15);
    }
}

/* audio [samples.rows] → pitch [frames.rows] */
void mx_cpu_pitch(const struct mx_gang *gang, const void *args)
{
    const struct mx_pitch_args *a = args;
    float *work = mx_cpu_ptr(a->work), *pitch = mx_cpu_ptr(a->pitch);
    struct mx_frames frames;
    struct search s;
    int64_t begin, end;
    if (!mx_frames_open(&frames, gang, "pitch", a->audio, &a->samples, &a->frames, a->fft_size, a->hop)) return;
    search_open(&s, a, gang->scratch);
    mx_gang_share(gang, frames.rows, LANES, &begin, &end);
    candidates(&s, &frames, begin, end, work);
    mx_gang_barrier(gang);
    for (int64_t u = mx_gang_ticket(gang, 0); u < frames.count; u = mx_gang_ticket(gang, 0)) {
        const int64_t first = frames.frames[u];
        path(a, work + first * MX_PITCH_WORK, frames.frames[u + 1] - first, pitch + first);
    }
}

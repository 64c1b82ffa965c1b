/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Monotonic alignment search: which frames belong to which token.
 *
 * Sequences are handed out one by one; each is searched by one worker, frame after frame, with one running total per
 * token and one bit per token and frame that says where the best path came from. So a sequence's result depends only on
 * the sequence. The scratch belongs to the caller (MX_ALIGN_WORK): first two words of each token for its total, then
 * the bits, ⌈longest sequence/32⌉ words for each frame. Offsets come from the device's memory and could not be checked
 * earlier: wrong ones never cause access outside the tensors; they fail the stream instead.
 */
#include "device/cpu/isa/vec.h"
#include "device/cpu/kernels.h"

typedef double double_any __attribute__((aligned(4), may_alias)); /* slices are aligned to 4 bytes only */

/* One sequence. */
struct search {
    const float *mean, *mel; /* [tokens, n], [frames, n] */
    int64_t tokens, frames, n;
    double diagonal;
    double_any *total; /* [tokens]: of the best way that ends in the token, at the frame reached */
    uint32_t *bits;    /* [frames, words] */
    int64_t words;
    int32_t *durations; /* [tokens] */
};

/* mean · (mel - ½ mean) over n floats: -½ |mel - mean|² without -½ |mel|², which all tokens have in common and no
 * choice depends on. In the beginning all means are nearly alike and small: what distinguishes them would be lost in the
 * rounding of |mel|², and chance would align. */
MX_VEC_INLINE double likelihood(const float *mean, const float *mel, int64_t n)
{
    mx_vf sum = {0};
    MX_VEC_EACH(i, lanes, 0, n, {
        const mx_vf m = mx_vf_load_n(mean + i, lanes);
        sum = mx_vf_fma(m, mx_vf_fnma(mx_vf_set(0.5f), m, mx_vf_load_n(mel + i, lanes)), sum);
    });
    return (double)mx_vf_sum(sum);
}

/* The tokens in which frame f of a whole way may lie are those that f can have reached from the first one, and from
 * which the last one can still be reached. A token that frame f reaches for the first time has no total of its own yet:
 * the way must come from the token before. Totals are updated from the last token down, since each needs the one before
 * as it was. */
static void search_forward(const struct search *s)
{
    memset(s->bits, 0, (size_t)(s->frames * s->words) * sizeof *s->bits);
    for (int64_t f = 0; f < s->frames; f++) {
        const int64_t last = f < s->tokens ? f : s->tokens - 1;
        const int64_t first = s->tokens - s->frames + f > 0 ? s->tokens - s->frames + f : 0;
        const double middle = ((double)f + 0.5) * (double)s->tokens / (double)s->frames;
        uint32_t *bits = s->bits + f * s->words;
        for (int64_t t = last; t >= first; t--) {
            double best = f > 0 && t < f ? s->total[t] : 0;
            if (t > 0 && (t == f || s->total[t - 1] > best)) {
                best = s->total[t - 1];
                bits[t / 32] |= UINT32_C(1) << t % 32;
            }
            const double off = middle - ((double)t + 0.5);
            s->total[t] = best + likelihood(s->mean + t * s->n, s->mel + f * s->n, s->n) - s->diagonal * off * off;
        }
    }
}

/* Follows the bits back from the last frame of the last token. */
static void search_back(const struct search *s)
{
    memset(s->durations, 0, (size_t)s->tokens * sizeof *s->durations);
    int64_t t = s->tokens - 1;
    for (int64_t f = s->frames - 1; f >= 0; f--) {
        s->durations[t]++;
        t -= s->bits[f * s->words + t / 32] >> t % 32 & 1;
    }
}

static void spread_evenly(const struct search *s)
{
    for (int64_t t = 0; t < s->tokens; t++)
        s->durations[t] = (int32_t)((t + 1) * s->frames / s->tokens - t * s->frames / s->tokens);
}

/* Whether the offsets cut the rows into sequences. */
static bool covers(const struct mx_ragged *packed, const int32_t *offsets)
{
    for (int64_t s = 0; s < packed->count; s++)
        if (offsets[s + 1] < offsets[s] || (int64_t)offsets[s + 1] - offsets[s] > packed->max_rows) return false;
    return offsets[0] == 0 && offsets[packed->count] == packed->rows;
}

/* Whether every sequence that has frames has a token. Each worker looks at all of them before it writes anything: of
 * sequences that overlap, two workers would write the same place. */
static bool can_be_aligned(const struct mx_gang *gang, const struct mx_align_args *a)
{
    const int32_t *tokens = mx_cpu_ptr(a->tokens.offsets), *frames = mx_cpu_ptr(a->frames.offsets);
    bool fine = covers(&a->tokens, tokens) && covers(&a->frames, frames);
    for (int64_t s = 0; fine && s < a->tokens.count; s++)
        fine = tokens[s + 1] > tokens[s] || frames[s + 1] == frames[s];
    if (fine) return true;
    MX_FAIL(MX_ERR_DATA,
            "expected offsets that begin with 0, do not decrease, stop at the number of rows, and give every sequence "
            "that has frames a token",
            "align: tokens and frames cannot be aligned");
    mx_stream_fail(gang->stream);
    return false;
}

/* mean [tokens, n], mel [frames, n] → durations int32 [tokens], logs [tokens] */
void mx_cpu_align(const struct mx_gang *gang, const void *args)
{
    const struct mx_align_args *a = args;
    const float *mean = mx_cpu_ptr(a->mean), *mel = mx_cpu_ptr(a->mel);
    const int32_t *tokens = mx_cpu_ptr(a->tokens.offsets), *frames = mx_cpu_ptr(a->frames.offsets);
    int32_t *durations = mx_cpu_ptr(a->durations);
    float *logs = mx_cpu_ptr(a->logs), *work = mx_cpu_ptr(a->work);
    const int64_t words = ((int64_t)a->tokens.max_rows + 31) / 32;
    if (!can_be_aligned(gang, a)) return;
    for (int64_t q; (q = mx_gang_ticket(gang, 0)) < a->tokens.count;) {
        const int64_t token = tokens[q], frame = frames[q];
        const struct search s = {
            .mean = mean + token * a->n,
            .mel = mel + frame * a->n,
            .tokens = tokens[q + 1] - token,
            .frames = frames[q + 1] - frame,
            .n = a->n,
            .diagonal = (double)a->diagonal,
            .total = (double_any *)(void *)(work + 2 * token),
            .bits = (uint32_t *)(void *)(work + 2 * (int64_t)a->tokens.rows + frame * words),
            .words = words,
            .durations = durations + token,
        };
        if (s.tokens > s.frames) {
            spread_evenly(&s);
        } else if (s.tokens > 0) {
            search_forward(&s);
            search_back(&s);
        }
        for (int64_t t = token; logs && t < tokens[q + 1]; t++) logs[t] = log1pf((float)durations[t]);
    }
}

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Doubts, see doubt.h. The numbers were chosen on the recordings of scripts/bench/cut.sh.
 */
#include "cut/doubt.h"

#include <math.h>

#include "base/alloc.h"
#include "base/robust.h"
#include "myxtts/error.h"

#define SQUEEZED_FRAMES 1.4  /* frames for each token, at most */
#define SQUEEZED_BELOW  8.0  /* nats a frame below the median of all words, at least */
#define HASTY           0.58 /* share of the median sentence's frames per token, at most */
#define HASTY_TOKENS    8    /* tokens of a sentence that can be hasty, at least */
#define SENTENCES_LEAST 20   /* of fewer, the usual pace is not known */
#define FAST            1.4  /* times the median island's tokens per second */
#define FAST_LEAST      0.25 /* seconds of an island that can be too fast: at least */
#define FAST_MOST       0.8  /* and at most */
#define BELOW           2.5  /* nats a frame that an island may be below the median */
#define SPREADS_BELOW   6.0  /* times the median deviation, if that is more */
#define ISLANDS_LEAST   20   /* of fewer, the usual values are not known */

static double median_of(double *values, size_t count)
{
    mx_robust_sort(values, count);
    return mx_robust_median(values, count);
}

/* ---- squeezed words ---- */

static bool is_squeezed(const struct mx_cut_doubt *d, int32_t w, double least)
{
    const struct mx_align_word *const word = &d->text->words[w];
    const int64_t frames = (d->heard[w].end - d->heard[w].begin) / d->hop;
    return d->heard[w].begin >= 0 && (double)frames <= SQUEEZED_FRAMES * (word->last - word->first) &&
           d->scores[w] < least;
}

static bool is_pause(const struct mx_cut_doubt *d, int64_t begin, int64_t end)
{
    return (double)(end - begin) >= MX_CUT_PAUSE_LEAST * d->rate / 1000;
}

static bool ends_sentence(const struct mx_cut_doubt *d, int32_t w)
{
    return d->text->words[w].after >= MX_ALIGN_BREAK_SENTENCE;
}

static void words_place(struct mx_align_path *path, int32_t first, int32_t last, int64_t frame)
{
    for (int32_t w = first; w < last; w++) path->begin[w] = path->end[w] = frame;
}

/* Squeezed words from `first`, the first of a sentence, on, which follow the word before at once, up to a pause. Returns
 * the word after them; `first` if there are none. */
static int32_t run_forward(const struct mx_cut_doubt *d, int32_t first, double least)
{
    int32_t w = first;
    if (d->heard[first].apart || is_pause(d, d->heard[first].quiet_begin, d->heard[first].quiet_end)) return first;
    while (w < d->text->word_count && is_squeezed(d, w, least)) {
        const bool pause = is_pause(d, d->heard[w].still_begin, d->heard[w].still_end);
        w++;
        if (pause) return w;
        if (ends_sentence(d, w - 1)) break;
    }
    return first;
}

/* The same before a sentence: words up to `last`, the last of a sentence, that follow a pause. */
static int32_t run_backward(const struct mx_cut_doubt *d, int32_t last, double least)
{
    int32_t w = last;
    if (last + 1 < d->text->word_count && d->heard[last + 1].apart) return last + 1;
    if (is_pause(d, d->heard[last].still_begin, d->heard[last].still_end)) return last + 1;
    while (w >= 0 && is_squeezed(d, w, least)) {
        if (is_pause(d, d->heard[w].quiet_begin, d->heard[w].quiet_end)) return w;
        w--;
        if (w >= 0 && ends_sentence(d, w)) break;
    }
    return last + 1;
}

/* The word after the sentence that word `first` begins. */
static int32_t sentence_end(const struct mx_cut_doubt *d, int32_t first)
{
    int32_t w = first;
    while (w + 1 < d->text->word_count && !ends_sentence(d, w)) w++;
    return w + 1;
}

/* Frames a token of the sentence [first, last); 0: some of its words are missing. */
static double sentence_pace(const struct mx_cut_doubt *d, int32_t first, int32_t last)
{
    int64_t samples = 0;
    int32_t tokens = 0;
    for (int32_t w = first; w < last; w++) {
        if (d->heard[w].begin < 0) return 0;
        samples += d->heard[w].end - d->heard[w].begin;
        tokens += d->text->words[w].last - d->text->words[w].first;
    }
    return tokens >= HASTY_TOKENS ? (double)samples / d->hop / tokens : 0;
}

/* A sentence that takes about half of its usual time is missing. */
static int32_t sentences_doubt(const struct mx_cut_doubt *d, struct mx_align_path *path, double *values)
{
    const int32_t count = d->text->word_count;
    size_t used = 0;
    int32_t changed = 0;
    for (int32_t w = 0, end; w < count; w = end) {
        end = sentence_end(d, w);
        const double pace = sentence_pace(d, w, end);
        if (pace > 0) values[used++] = pace;
    }
    if (used < SENTENCES_LEAST) return 0;
    const double least = HASTY * median_of(values, used);
    for (int32_t w = 0, end; w < count; w = end) {
        end = sentence_end(d, w);
        const double pace = sentence_pace(d, w, end);
        if (pace <= 0 || pace >= least) continue;
        words_place(path, w, end, -1);
        changed += end - w;
    }
    return changed;
}

int32_t mx_cut_doubt_squeezed(const struct mx_cut_doubt *d, struct mx_align_path *path)
{
    const int32_t count = d->text->word_count;
    size_t used = 0;
    double *const values = mx_alloc((size_t)count + 1, sizeof *values);
    if (values == NULL) return MX_ERR_NO_MEMORY;
    for (int32_t w = 0; w < count; w++)
        if (d->heard[w].begin >= 0) values[used++] = d->scores[w];
    const double least = median_of(values, used) - SQUEEZED_BELOW;
    int32_t changed = sentences_doubt(d, path, values);
    mx_free(values);
    for (int32_t w = 0; w + 1 < count; w++) {
        if (!ends_sentence(d, w) || path->begin[w] < 0 || path->begin[w + 1] < 0) continue;
        const int32_t after = run_forward(d, w + 1, least), before = run_backward(d, w, least);
        if (after > w + 1) {
            const bool whole = after == count || ends_sentence(d, after - 1) || path->begin[after] < 0;
            words_place(path, w + 1, after, whole ? -1 : path->begin[after]);
            changed += after - w - 1;
        }
        if (before <= w) {
            const bool whole = before == 0 || ends_sentence(d, before - 1) || path->end[before - 1] < 0;
            words_place(path, before, w + 1, whole ? -1 : path->end[before - 1]);
            changed += w + 1 - before;
        }
    }
    return changed;
}

/* ---- islands ---- */

struct island {
    int32_t first, last; /* words */
    double score, seconds, speed;
};

static struct island island_measure(const struct mx_cut_doubt *d, int32_t first, int32_t last)
{
    struct island out = {.first = first, .last = last};
    int64_t samples = 0;
    int32_t tokens = 0;
    double sum = 0;
    for (int32_t w = first; w < last; w++) {
        const int64_t own = d->heard[w].end - d->heard[w].begin;
        sum += d->scores[w] * (double)own;
        samples += own;
        tokens += d->text->words[w].last - d->text->words[w].first;
    }
    out.seconds = (double)samples / d->rate;
    out.score = samples > 0 ? sum / (double)samples : 0;
    out.speed = samples > 0 ? tokens / out.seconds : 0;
    return out;
}

static size_t islands_find(const struct mx_cut_doubt *d, struct island *list)
{
    size_t count = 0;
    for (int32_t w = 0, end; w < d->text->word_count; w = end) {
        end = w + 1;
        if (d->heard[w].begin < 0) continue;
        while (end < d->text->word_count && d->heard[end].begin >= 0 && !d->heard[end].apart &&
               !is_pause(d, d->heard[end].quiet_begin, d->heard[end].quiet_end))
            end++;
        list[count++] = island_measure(d, w, end);
    }
    return count;
}

int mx_cut_doubt_islands(const struct mx_cut_doubt *d, struct mx_cut_timing *heard)
{
    int rc = 0;
    struct island *const list = mx_alloc((size_t)d->text->word_count + 1, sizeof *list);
    double *const values = mx_alloc((size_t)d->text->word_count + 1, sizeof *values);
    if (list == NULL || values == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    const size_t count = islands_find(d, list);
    if (count < ISLANDS_LEAST) goto out;
    for (size_t i = 0; i < count; i++) values[i] = list[i].speed;
    const double speed = median_of(values, count);
    for (size_t i = 0; i < count; i++) values[i] = list[i].score;
    const struct mx_robust score = mx_robust_of(values, count);
    const double least = score.middle - fmax(BELOW, SPREADS_BELOW * score.deviation / MX_ROBUST_SIGMA);
    for (size_t i = 0; i < count; i++) {
        const bool fast = list[i].seconds >= FAST_LEAST && list[i].seconds <= FAST_MOST && list[i].speed > FAST * speed;
        if (!fast && list[i].score >= least) continue;
        for (int32_t w = list[i].first; w < list[i].last; w++) heard[w].broken = true;
    }
out:
    mx_free(list);
    mx_free(values);
    return rc;
}

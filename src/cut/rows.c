/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Cutting, see rows.h. A stretch is a run of words with nothing between them. The places of a stretch are its pauses;
 * best[p] is the lowest cost of everything before place p, over all ways to cut there or to leave words out.
 */
#include "cut/rows.h"

#include <math.h>

#include "base/alloc.h"
#include "myxtts/error.h"

#define COST_LEFT 8.0 /* of a second that is left out */

/* A place to cut: before word `word` of the stretch. */
struct place {
    int32_t word;
    int64_t end, begin; /* samples: where a row before it ends, and one after it begins */
    double cost;        /* of cutting here */
    bool closes, opens; /* a row may end here, may begin here */
    double best;
    size_t from; /* the previous cut on the best path */
    bool row;    /* the stretch from there is a row */
};

static int row_push(struct mx_cut_rows *out, struct mx_cut_row row)
{
    if (MX_GROW(out->rows, out->row_room, out->row_count + 1) < 0) return MX_ERR_NO_MEMORY;
    out->rows[out->row_count++] = row;
    return 0;
}

static int left_push(struct mx_cut_rows *out, struct mx_cut_left left)
{
    struct mx_cut_left *const last = out->left_count > 0 ? &out->left[out->left_count - 1] : NULL;
    if (last != NULL && last->last == left.first && last->reason == left.reason) {
        last->last = left.last;
        return 0;
    }
    if (MX_GROW(out->left, out->left_room, out->left_count + 1) < 0) return MX_ERR_NO_MEMORY;
    out->left[out->left_count++] = left;
    return 0;
}

/* ---- places ---- */

static double break_cost(enum mx_align_break after, double pause_seconds)
{
    static const double costs[] = {[MX_ALIGN_BREAK_WORD] = 1.5,
                                   [MX_ALIGN_BREAK_COMMA] = 0.6,
                                   [MX_ALIGN_BREAK_SENTENCE] = 0,
                                   [MX_ALIGN_BREAK_PARAGRAPH] = 0};
    const double bonus = pause_seconds > 0.4 ? 0.4 : pause_seconds;
    return costs[after] + 0.8 - bonus;
}

/* The place before word i of a stretch of `count` words; place `count` is its end. */
static struct place place_at(const struct mx_cut_timing *words, int32_t i, int32_t count, int rate)
{
    const double least = MX_CUT_PAUSE_LEAST * rate / 1000, margin = MX_CUT_MARGIN * rate / 1000;
    struct place p = {.word = i, .best = INFINITY};
    if (i > 0) { /* the pause after the word before */
        const struct mx_cut_timing *const w = &words[i - 1];
        const int64_t length = w->still_end - w->still_begin;
        p.closes = (double)length >= least || w->edge_after;
        p.end = w->still_begin + (int64_t)((double)length / 2 < margin ? (double)length / 2 : margin);
        p.cost = i < count ? break_cost(w->after, (double)length / rate) : 0;
    }
    if (i < count) {
        const struct mx_cut_timing *const w = &words[i];
        const int64_t length = w->quiet_end - w->quiet_begin;
        p.opens = (double)length >= least || w->edge_before;
        p.begin = w->quiet_end - (int64_t)((double)length / 2 < margin ? (double)length / 2 : margin);
    }
    return p;
}

static double length_cost(double seconds)
{
    return seconds < 3 ? 3 - seconds : seconds > 11 ? 0.3 * (seconds - 11) : 0;
}

/* Finds best[] of all places. */
static void ways_find(struct place *places, size_t count, const struct mx_cut_timing *words, int rate, double most)
{
    places[0].best = 0;
    for (size_t j = 1; j < count; j++) {
        struct place *const to = &places[j];
        /* what is between this place and the one before may always be left out */
        const double lost = (double)(words[to->word - 1].end - words[places[j - 1].word].begin) / rate;
        to->best = places[j - 1].best + COST_LEFT * (lost > 0 ? lost : 0);
        to->from = j - 1;
        to->row = false;
        if (!to->closes) continue;
        for (size_t i = j; i-- > 0;) {
            const struct place *const from = &places[i];
            if (!from->opens) continue;
            const double seconds = (double)(to->end - from->begin) / rate;
            if (seconds > most) break;
            if (seconds < MX_CUT_ROW_LEAST) continue;
            const double cost = from->best + 1 + to->cost + length_cost(seconds);
            if (cost >= to->best) continue;
            to->best = cost;
            to->from = i;
            to->row = true;
        }
    }
}

/* Why the words between two neighbouring places are left out. */
static enum mx_cut_reason reason_of(const struct place *from, const struct place *to, int rate)
{
    if (!from->opens || !to->closes) return MX_CUT_LEFT_NO_PAUSE;
    return (double)(to->end - from->begin) / rate < MX_CUT_ROW_LEAST ? MX_CUT_LEFT_SHORT : MX_CUT_LEFT_NO_PAUSE;
}

/* Cuts words [0, count) of a stretch that begins at word `first` of all. */
static int stretch_cut(const struct mx_cut_timing *words, int32_t first, int32_t count, int rate, double most,
                       struct mx_cut_rows *out)
{
    size_t used = 0;
    int rc = 0;
    struct place *const places = mx_alloc((size_t)count + 1, sizeof *places);
    size_t *const way = mx_alloc((size_t)count + 1, sizeof *way);
    if (places == NULL || way == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    for (int32_t i = 0; i <= count; i++) {
        const struct place p = place_at(words, i, count, rate);
        if (i == 0 || i == count || (p.closes && p.opens)) places[used++] = p;
    }
    ways_find(places, used, words, rate, most);
    size_t steps = 0;
    for (size_t at = used - 1; at > 0; at = places[at].from) way[steps++] = at;
    while (steps-- > 0) {
        const struct place *const to = &places[way[steps]], *const from = &places[to->from];
        if (to->row)
            MX_TRY(row_push(out, (struct mx_cut_row){first + from->word, first + to->word, from->begin, to->end}));
        else
            MX_TRY(
                left_push(out, (struct mx_cut_left){first + from->word, first + to->word, reason_of(from, to, rate)}));
    }
out:
    mx_free(places);
    mx_free(way);
    return rc;
}

int mx_cut_rows_build(const struct mx_cut_timing *words, int32_t count, int rate, double most, struct mx_cut_rows *out)
{
    int rc = 0;
    *out = (struct mx_cut_rows){0};
    for (int32_t i = 0, end; i < count; i = end) {
        end = i + 1;
        if (words[i].begin < 0 || words[i].broken) {
            MX_TRY(left_push(out,
                             (struct mx_cut_left){i, end, words[i].broken ? MX_CUT_LEFT_BROKEN : MX_CUT_LEFT_MISSING}));
            continue;
        }
        while (end < count && words[end].begin >= 0 && !words[end].broken && !words[end].apart) end++;
        MX_TRY(stretch_cut(words + i, i, end - i, rate, most, out));
    }
out:
    if (rc < 0) mx_cut_rows_release(out);
    return rc;
}

void mx_cut_rows_release(struct mx_cut_rows *rows)
{
    mx_free(rows->rows);
    mx_free(rows->left);
    *rows = (struct mx_cut_rows){0};
}

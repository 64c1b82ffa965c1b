/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Pauses, see pauses.h.
 */
#include "cut/pauses.h"

#define OTHER_MS  700.0 /* other sound between two words that keeps them apart */
#define ALONE_MS  250.0 /* the same with a pause at both ends */
#define BROKEN_MS 180.0 /* quiet inside a word: longer than any closure of a consonant */
#define NEAR_MS   250.0 /* how far from a word the quiet run beside other sound may be */

struct run {
    int64_t begin, end; /* samples */
};

static double quiet_most(const struct mx_cut_sound *s)
{
    const double by_noise = s->noise * 4, by_speech = s->speech * 1e-4, most = s->speech * 1e-2;
    const double level = by_noise > by_speech ? by_noise : by_speech;
    return level < most ? level : most;
}

/* The quiet runs of [begin, end): the longest, the first and the last of at least the shortest pause. */
struct runs {
    struct run longest, first, last;
};

static struct runs runs_find(const struct mx_cut_sound *s, int64_t begin, int64_t end, double most)
{
    struct runs found = {0};
    const int64_t least = (int64_t)(MX_CUT_PAUSE_LEAST * s->recipe->rate / 1000);
    int64_t from = -1;
    begin = begin / s->window * s->window;
    end = (end + s->window - 1) / s->window * s->window; /* where an open run is closed */
    for (int64_t at = begin; at <= end; at += s->window) {
        const bool quiet = at < end && (double)mx_cut_sound_level(s, at) <= most;
        if (quiet && from < 0) from = at;
        if (quiet || from < 0) continue;
        const struct run run = {from, at};
        if (run.end - run.begin > found.longest.end - found.longest.begin) found.longest = run;
        if (run.end - run.begin >= least) {
            if (found.first.end == 0) found.first = run;
            found.last = run;
        }
        from = -1;
    }
    return found;
}

/* Is there a pause inside, with sound on both sides? */
static bool is_broken(const struct mx_cut_sound *s, const struct mx_cut_timing *w, double most)
{
    const struct run run = runs_find(s, w->begin, w->end, most).longest;
    const int64_t edge = 4 * s->window;
    return (double)(run.end - run.begin) >= BROKEN_MS * s->recipe->rate / 1000 && run.begin >= w->begin + edge &&
           run.end <= w->end - edge;
}

/* Does other sound separate the words around it? A word or two that the speaker adds to a sentence do not. */
static bool is_apart(const struct mx_cut_sound *s, const struct mx_align_span *o, double most)
{
    const int64_t hop = s->recipe->hop, begin = o->begin * hop, end = o->end * hop;
    const int64_t near = (int64_t)(NEAR_MS * s->recipe->rate / 1000);
    const double ms = (double)(end - begin) * 1000 / s->recipe->rate;
    if (ms >= OTHER_MS || ms < ALONE_MS) return ms >= OTHER_MS;
    const int64_t from = begin > near ? begin - near : 0, middle = begin + (end - begin) / 2;
    return runs_find(s, from, middle, most).first.end > 0 && runs_find(s, middle, end + near, most).first.end > 0;
}

static int64_t middle(const struct mx_cut_timing *w)
{
    return w->begin + (w->end - w->begin) / 2;
}

static void still_set(struct mx_cut_timing *w, struct run run)
{
    w->still_begin = run.begin;
    w->still_end = run.end;
}

static void quiet_set(struct mx_cut_timing *w, struct run run)
{
    w->quiet_begin = run.begin;
    w->quiet_end = run.end;
}

/* The pause after `a` (NULL: none) and before `b` (NULL: none); [from, until) is the recording of both. */
static void gap_fill(const struct mx_cut_sound *s, struct mx_cut_timing *a, struct mx_cut_timing *b, int64_t from,
                     int64_t until, double most)
{
    const int64_t near = (int64_t)(NEAR_MS * s->recipe->rate / 1000);
    if (a != NULL && b != NULL && !b->apart) {
        const struct run run = runs_find(s, middle(a), middle(b), most).longest;
        still_set(a, run);
        quiet_set(b, run);
        return;
    }
    if (a != NULL) {
        const int64_t stop = b != NULL ? middle(b) : until;
        const struct run run = runs_find(s, middle(a), stop < a->end + 4 * near ? stop : a->end + 4 * near, most).first;
        a->edge_after = b == NULL && run.end == 0 && until <= a->end + near;
        if (run.end > 0 && run.begin <= a->end + near) still_set(a, run);
        if (a->edge_after) still_set(a, (struct run){until, until});
    }
    if (b != NULL) {
        const int64_t start = a != NULL ? middle(a) : from;
        const struct run run =
            runs_find(s, start > b->begin - 4 * near ? start : b->begin - 4 * near, middle(b), most).last;
        b->edge_before = a == NULL && run.end == 0 && from >= b->begin - near;
        if (run.end > 0 && run.end >= b->begin - near) quiet_set(b, run);
        if (b->edge_before) quiet_set(b, (struct run){from, from});
    }
}

void mx_cut_pauses_find(const struct mx_cut_sound *s, const struct mx_align_text *text,
                        const struct mx_align_path *path, struct mx_cut_timing *heard)
{
    const int64_t hop = s->recipe->hop;
    const double most = quiet_most(s);
    struct mx_cut_timing *before = NULL;
    size_t other = 0, recording = 0;
    bool missing = false;
    for (int32_t w = 0; w < text->word_count; w++) {
        struct mx_cut_timing *const h = &heard[w];
        *h = (struct mx_cut_timing){.begin = -1, .end = -1, .after = text->words[w].after};
        if (path->begin[w] < 0) {
            missing = true;
            continue;
        }
        h->begin = path->begin[w] * hop;
        h->end = path->end[w] * hop;
        h->broken = is_broken(s, h, most);
        const size_t own = mx_cut_sound_find(s, h->begin);
        const bool elsewhere = before != NULL && own != recording;
        h->apart = missing || elsewhere;
        while (other < path->other_count && path->other[other].end <= path->begin[w]) {
            h->apart |= is_apart(s, &path->other[other], most);
            other++;
        }
        const struct mx_cut_recording *const r = &s->recordings[own], *const last = &s->recordings[recording];
        if (elsewhere) gap_fill(s, before, NULL, last->begin, last->begin + last->samples, most);
        gap_fill(s, elsewhere ? NULL : before, h, r->begin, r->begin + r->samples, most);
        recording = own;
        before = h;
        missing = false;
    }
    const struct mx_cut_recording *const last = &s->recordings[recording];
    if (before != NULL) gap_fill(s, before, NULL, last->begin, last->begin + last->samples, most);
}

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Finding words in a long sound, with scores that are made up: a track says which column each frame really is.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "align/align.h"
#include "base/alloc.h"
#include "base/rng.h"
#include "myxtts/error.h"

#define SILENCE (-1)
#define OTHER   (-2)

struct track {
    struct mx_align_lattice lattice;
    int32_t *first, *last;
    float *skip;
    int32_t *frames; /* the column of each frame, SILENCE or OTHER */
    int64_t agreed;
    int64_t visits;
};

static const struct mx_align_costs costs = {
    .other_enter = 20, .skip_more = 2, .beam = 400, .memory_bytes = (size_t)64 << 20};

static int score(void *context, const struct mx_align_block *b)
{
    const struct track *const t = context;
    const int32_t width = b->column_end - b->column_begin, gaps = b->word_end - b->word_begin + 1;
    for (int32_t i = 0; i < b->frames; i++) {
        const int64_t frame = b->frame + i;
        const int32_t is = t->frames[frame];
        const float noise = mx_rng_uniform(7, 1, (uint64_t)frame); /* 0 … 1, the same for all: it changes nothing */
        for (int32_t c = 0; c < width; c++)
            b->columns[i * width + c] = (b->column_begin + c == is ? 0.0f : -12.0f) + noise;
        for (int32_t g = 0; g < gaps; g++) b->silence[i * gaps + g] = (is == SILENCE ? 0.0f : -12.0f) + noise;
        b->other[i] = -5.0f + noise;
    }
    return 0;
}

static int agreed(void *context, int64_t frames)
{
    struct track *const t = context;
    assert_true(frames > t->agreed);
    t->agreed = frames;
    return 0;
}

static void visit(void *context, int64_t frame, int32_t word, int32_t column)
{
    struct track *const t = context;
    assert_in_range(frame, 0, t->lattice.frames - 1);
    assert_in_range(column, t->first[word], t->last[word] - 1);
    t->visits++;
}

/* Words of 3 columns with one between them. */
static struct track track_make(int32_t words, int64_t frames)
{
    struct track t = {.lattice = {.words = words, .columns = 4 * words, .frames = frames}};
    t.first = mx_alloc((size_t)words, sizeof *t.first);
    t.last = mx_alloc((size_t)words, sizeof *t.last);
    t.skip = mx_alloc((size_t)words, sizeof *t.skip);
    t.frames = mx_alloc((size_t)frames + 1, sizeof *t.frames);
    for (int32_t w = 0; w < words; w++) {
        t.first[w] = 4 * w;
        t.last[w] = 4 * w + 3;
        t.skip[w] = 30;
    }
    t.lattice.first = t.first;
    t.lattice.last = t.last;
    t.lattice.skip_first = t.skip;
    return t;
}

static void track_free(struct track *t)
{
    mx_free(t->first);
    mx_free(t->last);
    mx_free(t->skip);
    mx_free(t->frames);
}

/* Writes `count` frames of a kind, and returns the place after them. */
static int64_t put(struct track *t, int64_t at, int32_t kind, int64_t count)
{
    for (int64_t i = 0; i < count; i++) t->frames[at + i] = kind;
    return at + count;
}

static int64_t put_word(struct track *t, int64_t at, int32_t word)
{
    for (int32_t c = 0; c < 3; c++) at = put(t, at, t->first[word] + c, 4);
    return at;
}

static void align(struct track *t, const struct mx_align_costs *with, struct mx_align_path *path)
{
    const struct mx_align_scorer scorer = {.score = score, .context = t, .agreed = agreed, .visit = visit};
    t->agreed = t->visits = 0;
    assert_int_equal(mx_align_run(&t->lattice, with, &scorer, path), 0);
    assert_int_equal(t->agreed, t->lattice.frames);
    for (int32_t w = 0; w < t->lattice.words; w++) {
        if (path->begin[w] < 0) {
            assert_int_equal(path->end[w], -1);
            continue;
        }
        t->visits -= path->end[w] - path->begin[w];
    }
    assert_int_equal(t->visits, 0); /* every frame of a word was visited once */
}

/* Every word of the track is found where it is, all others are left out, and other sound is where it is. */
static void expect_track(const struct track *t, const struct mx_align_path *path)
{
    int32_t *const seen = mx_alloc((size_t)t->lattice.words, sizeof *seen);
    for (int64_t f = 0; f < t->lattice.frames; f++) {
        if (t->frames[f] < 0) continue;
        const int32_t w = t->frames[f] / 4;
        assert_true(f >= path->begin[w] && f < path->end[w]);
        seen[w]++;
    }
    for (int32_t w = 0; w < t->lattice.words; w++)
        assert_int_equal(path->begin[w] < 0 ? 0 : path->end[w] - path->begin[w], seen[w]);
    mx_free(seen);
    int64_t others = 0;
    for (size_t i = 0; i < path->other_count; i++) {
        assert_true(path->other[i].begin < path->other[i].end);
        assert_true(i == 0 || path->other[i - 1].end <= path->other[i].begin);
        for (int64_t f = path->other[i].begin; f < path->other[i].end; f++) assert_int_equal(t->frames[f], OTHER);
        others += path->other[i].end - path->other[i].begin;
    }
    for (int64_t f = 0; f < t->lattice.frames; f++) others -= t->frames[f] == OTHER;
    assert_int_equal(others, 0);
}

static void all_words(void **state)
{
    struct track t = track_make(300, 300 * 20 + 40);
    struct mx_align_path path;
    int64_t at = put(&t, 0, SILENCE, 40);
    (void)state;
    for (int32_t w = 0; w < 300; w++) at = put(&t, put_word(&t, at, w), SILENCE, w % 3 == 0 ? 8 : 8);
    assert_int_equal(at, t.lattice.frames);
    align(&t, &costs, &path);
    expect_track(&t, &path);
    assert_int_equal(path.other_count, 0);
    assert_int_equal(path.forced, 0);
    mx_align_path_release(&path);
    track_free(&t);
}

/* Words without pauses, missing words (one, many, the first, the last), and other sound (short, long, at both ends). */
static void wrong_passages(void **state)
{
    struct track t = track_make(200, 20000);
    struct mx_align_path path;
    int64_t at = put(&t, 0, OTHER, 500);
    (void)state;
    for (int32_t w = 0; w < 200; w++) {
        if (w < 10 || w == 50 || (w >= 100 && w < 150) || w >= 190) continue;
        at = put_word(&t, at, w);
        if (w % 7 == 0) at = put(&t, at, SILENCE, 20);
        if (w == 30) at = put(&t, at, OTHER, 40);
        if (w == 160) at = put(&t, at, OTHER, 6000);
    }
    t.lattice.frames = put(&t, at, OTHER, 300);
    align(&t, &costs, &path);
    expect_track(&t, &path);
    mx_align_path_release(&path);
    track_free(&t);
}

/* The same passages in so little memory that it must decide early. */
static void little_memory(void **state)
{
    struct track t = track_make(60, 9000);
    struct mx_align_path path;
    struct mx_align_costs tight = costs;
    int64_t at = 0;
    (void)state;
    for (int32_t w = 0; w < 60; w++) {
        at = put_word(&t, at, w);
        if (w == 20) at = put(&t, at, OTHER, 4000); /* all gaps are equally good for a long time */
    }
    t.lattice.frames = at;
    tight.memory_bytes = 20000;
    align(&t, &tight, &path);
    expect_track(&t, &path);
    assert_true(path.forced > 0);
    mx_align_path_release(&path);
    track_free(&t);
}

static void small_cases(void **state)
{
    struct track t = track_make(5, 100);
    struct mx_align_path path;
    (void)state;
    put(&t, 0, SILENCE, 100); /* nobody speaks */
    align(&t, &costs, &path);
    expect_track(&t, &path);
    mx_align_path_release(&path);
    t.lattice.frames = 1;
    align(&t, &costs, &path);
    expect_track(&t, &path);
    mx_align_path_release(&path);
    track_free(&t);
}

/* The sound ends inside a word, and no gap is within the beam: the words that come later must not be asked. */
static void ends_inside(void **state)
{
    struct track t = track_make(200, 400);
    struct mx_align_path path;
    struct mx_align_costs narrow = costs;
    int64_t at = put(&t, 0, SILENCE, 20);
    (void)state;
    for (int32_t w = 0; w < 3; w++) at = put_word(&t, at, w);
    at = put(&t, at, t.first[3], 4);
    t.lattice.frames = put(&t, at, t.first[3] + 1, 100);
    narrow.beam = 4;
    align(&t, &narrow, &path);
    expect_track(&t, &path);
    assert_int_equal(path.end[3], t.lattice.frames);
    mx_align_path_release(&path);
    track_free(&t);
}

/* Words that are not allowed are not found. A path outside of what is allowed survives if there is no other. */
static void allowed_words(void **state)
{
    enum { WORDS = 80, BLOCKS = 12 };
    struct track t = track_make(WORDS, BLOCKS * MX_ALIGN_BLOCK);
    struct mx_align_path path;
    int32_t from[BLOCKS], until[BLOCKS];
    int64_t at = 0;
    (void)state;
    for (int32_t w = 0; w < 40; w++) at = put_word(&t, at, w);
    t.lattice.frames = put(&t, at, SILENCE, 60);
    t.lattice.from = from;
    t.lattice.until = until;
    for (int32_t b = 0; b < BLOCKS; b++) {
        const int32_t word = b * MX_ALIGN_BLOCK / 12;
        from[b] = word > 5 ? word - 5 : 0;
        until[b] = word + MX_ALIGN_BLOCK / 12 + 5 < WORDS ? word + MX_ALIGN_BLOCK / 12 + 5 : WORDS;
    }
    align(&t, &costs, &path);
    expect_track(&t, &path);
    mx_align_path_release(&path);
    for (int32_t b = 0; b < BLOCKS; b++) until[b] = 20;
    align(&t, &costs, &path);
    for (int32_t w = 0; w < WORDS; w++) assert_int_equal(path.begin[w] >= 0, w < 20);
    mx_align_path_release(&path);
    for (int32_t b = 1; b < BLOCKS; b++) from[b] = until[b] = WORDS; /* nobody can be there */
    align(&t, &costs, &path);
    assert_true(path.begin[0] >= 0);
    mx_align_path_release(&path);
    track_free(&t);
}

static int score_nothing(void *context, const struct mx_align_block *b)
{
    const int32_t width = b->column_end - b->column_begin, gaps = b->word_end - b->word_begin + 1;
    const int rc = score(context, b);
    if (b->frame < 2 * MX_ALIGN_BLOCK) return rc;
    for (int32_t i = 0; i < b->frames * width; i++) b->columns[i] = NAN;
    for (int32_t i = 0; i < b->frames * gaps; i++) b->silence[i] = NAN;
    for (int32_t i = 0; i < b->frames; i++) b->other[i] = NAN;
    return rc;
}

static int score_fails(void *context, const struct mx_align_block *block)
{
    (void)context;
    return block->frame >= 2 * MX_ALIGN_BLOCK ? MX_FAIL(MX_ERR_IO, NULL, "no more") : score(context, block);
}

static void failures(void **state)
{
    struct track t = track_make(20, 400);
    struct mx_align_path path;
    const struct mx_align_scorer scorer = {.score = score_fails, .context = &t};
    const struct mx_align_scorer deaf = {.score = score_nothing, .context = &t};
    const struct mx_align_scorer good = {.score = score, .context = &t};
    (void)state;
    assert_int_equal(mx_align_run(&t.lattice, &costs, &scorer, &path), MX_ERR_IO);
    assert_null(path.begin);
    assert_int_equal(mx_align_run(&t.lattice, &costs, &deaf, &path), MX_ERR_DATA);
    assert_null(path.begin);
    for (uint64_t n = 1; n < 12; n++) {
        mx_alloc_fail_at(n);
        assert_int_equal(mx_align_run(&t.lattice, &costs, &good, &path), MX_ERR_NO_MEMORY);
        mx_alloc_fail_at(0);
        assert_null(path.begin);
    }
    track_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_words),     cmocka_unit_test(wrong_passages), cmocka_unit_test(little_memory),
        cmocka_unit_test(small_cases),   cmocka_unit_test(ends_inside),    cmocka_unit_test(failures),
        cmocka_unit_test(allowed_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

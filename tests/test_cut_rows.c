/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The rules of cutting: lengths, pauses, what is never in one row, and what is left out.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "cut/rows.h"

#define RATE  22050
#define WORDS 400

static struct mx_cut_timing words[WORDS];
static struct mx_cut_rows rows;

static int64_t samples(double seconds)
{
    return (int64_t)(seconds * RATE + 0.5);
}

/* Words of `word` seconds with pauses of `pause` between them, and quiet around all. */
static void words_make(int32_t count, double word, double pause)
{
    double at = 1;
    for (int32_t i = 0; i < count; i++) {
        words[i] = (struct mx_cut_timing){.begin = samples(at),
                                          .end = samples(at + word),
                                          .quiet_begin = samples(i == 0 ? 0 : at - pause),
                                          .quiet_end = samples(at),
                                          .still_begin = samples(at + word),
                                          .still_end = samples(at + word + (i + 1 == count ? 1 : pause))};
        at += word + pause;
    }
}

/* What holds of all rows. */
static void rows_check(int32_t count)
{
    int32_t next = 0;
    size_t left = 0;
    for (size_t i = 0; i < rows.row_count; i++) {
        const struct mx_cut_row *const r = &rows.rows[i];
        const double seconds = (double)(r->end - r->begin) / RATE;
        while (next < r->first) { /* what is not in a row is left out */
            assert_true(left < rows.left_count);
            assert_int_equal(rows.left[left].first, next);
            next = rows.left[left++].last;
        }
        assert_int_equal(r->first, next);
        assert_true(r->last > r->first);
        assert_true(seconds >= MX_CUT_ROW_LEAST && seconds <= MX_CUT_ROW_MOST);
        assert_true(r->begin <= words[r->first].begin && r->end >= words[r->last - 1].end);
        assert_true(words[r->first].begin - r->begin <= samples(0.151));
        assert_true(r->end - words[r->last - 1].end <= samples(0.151));
        for (int32_t w = r->first; w < r->last; w++) {
            assert_true(words[w].begin >= 0 && !words[w].broken);
            assert_true(w == r->first || !words[w].apart);
        }
        assert_true(i == 0 || r->begin >= rows.rows[i - 1].end);
        next = r->last;
    }
    while (left < rows.left_count) {
        assert_int_equal(rows.left[left].first, next);
        next = rows.left[left++].last;
    }
    assert_int_equal(next, count);
}

static void make(int32_t count)
{
    assert_int_equal(mx_cut_rows_build(words, count, RATE, MX_CUT_ROW_MOST, &rows), 0);
    rows_check(count);
}

static void margins(void **state)
{
    (void)state;
    words_make(4, 1.0, 0.4);
    make(4);
    assert_int_equal(rows.row_count, 1);
    assert_int_equal(rows.rows[0].begin, words[0].begin - samples(0.1));
    assert_int_equal(rows.rows[0].end, words[3].end + samples(0.1));
    mx_cut_rows_release(&rows);
    /* a short pause is divided, and less than 100 ms is none */
    words_make(2, 14.0, 0.12);
    make(2);
    assert_int_equal(rows.row_count, 2);
    assert_in_range(rows.rows[0].end - words[0].end, samples(0.059), samples(0.061));
    assert_in_range(words[1].begin - rows.rows[1].begin, samples(0.059), samples(0.061));
    mx_cut_rows_release(&rows);
    words_make(2, 14.0, 0.09);
    make(2);
    assert_int_equal(rows.row_count, 0);
    assert_int_equal(rows.left_count, 1);
    assert_int_equal(rows.left[0].reason, MX_CUT_LEFT_NO_PAUSE);
    mx_cut_rows_release(&rows);
}

static void sentences(void **state)
{
    (void)state;
    words_make(60, 0.4, 0.2); /* 36 s */
    for (int32_t i = 9; i < 60; i += 10) words[i].after = MX_ALIGN_BREAK_SENTENCE;
    make(60);
    assert_int_equal(rows.left_count, 0);
    for (size_t i = 0; i < rows.row_count; i++) assert_int_equal(rows.rows[i].last % 10, 0);
    mx_cut_rows_release(&rows);
}

static void reasons(void **state)
{
    (void)state;
    words_make(12, 0.5, 0.5);
    words[3].begin = words[3].end = -1;
    words[7].broken = true;
    words[8].apart = true;
    words[9].apart = true; /* word 8 is alone, and too short */
    make(12);
    assert_int_equal(rows.left_count, 3);
    assert_int_equal(rows.left[0].first, 3);
    assert_int_equal(rows.left[0].reason, MX_CUT_LEFT_MISSING);
    assert_int_equal(rows.left[1].first, 7);
    assert_int_equal(rows.left[1].reason, MX_CUT_LEFT_BROKEN);
    assert_int_equal(rows.left[2].first, 8);
    assert_int_equal(rows.left[2].reason, MX_CUT_LEFT_SHORT);
    assert_int_equal(rows.row_count, 3);
    mx_cut_rows_release(&rows);
    /* the end of a recording is a place to cut */
    words_make(3, 0.5, 0);
    words[0].quiet_begin = words[0].quiet_end;
    words[2].still_end = words[2].still_begin;
    make(3);
    assert_int_equal(rows.row_count, 0);
    mx_cut_rows_release(&rows);
    words[0].edge_before = words[2].edge_after = true;
    make(3);
    assert_int_equal(rows.row_count, 1);
    mx_cut_rows_release(&rows);
    assert_int_equal(mx_cut_rows_build(words, 0, RATE, MX_CUT_ROW_MOST, &rows), 0);
    assert_int_equal(rows.row_count + rows.left_count, 0);
}

static void any_words(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        const int32_t count = 1 + (int32_t)(399 * mx_rng_uniform(seed, 1, 0));
        double at = 1, pause = 1;
        for (int32_t i = 0; i < count; i++) {
            const uint64_t k = (uint64_t)i;
            const double word = 0.1 + (double)mx_rng_uniform(seed, 2, k);
            const double next = mx_rng_uniform(seed, 3, k) < 0.4f ? 0.5 * (double)mx_rng_uniform(seed, 4, k) : 0;
            words[i] = (struct mx_cut_timing){.begin = samples(at),
                                              .end = samples(at + word),
                                              .quiet_begin = samples(at - pause),
                                              .quiet_end = samples(at),
                                              .still_begin = samples(at + word),
                                              .still_end = samples(at + word + next),
                                              .apart = mx_rng_uniform(seed, 5, k) < 0.02f,
                                              .broken = mx_rng_uniform(seed, 6, k) < 0.01f,
                                              .after = (enum mx_align_break)(int)(3.99f * mx_rng_uniform(seed, 7, k))};
            if (mx_rng_uniform(seed, 8, k) < 0.02f) words[i].begin = words[i].end = -1;
            at += word + next;
            pause = next;
        }
        make(count);
        mx_cut_rows_release(&rows);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(margins),
        cmocka_unit_test(sentences),
        cmocka_unit_test(reasons),
        cmocka_unit_test(any_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

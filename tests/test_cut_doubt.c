/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Doubts about words that were found: what is squeezed between a sentence and a pause, and islands that are too fast or fit
 * too badly.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "cut/doubt.h"

#define RATE      22050
#define HOP       256
#define SENTENCES 40
#define WORDS                                                                                                          \
    (SENTENCES * 3) /* three words of five tokens and 30 frames each, a pause of 40 frames between sentences */

static struct mx_align_word words[WORDS];
static struct mx_cut_timing heard[WORDS];
static double scores[WORDS];
static int64_t begins[WORDS], ends[WORDS];
static struct mx_align_path path = {.begin = begins, .end = ends};
static const struct mx_align_text text = {.words = words, .word_count = WORDS};
static const struct mx_cut_doubt doubt = {.text = &text, .heard = heard, .scores = scores, .rate = RATE, .hop = HOP};

/* Places word w at frames [begin, end), with pauses of `before` and `after` frames around it. */
static void word_put(int32_t w, int64_t begin, int64_t end, int64_t before, int64_t after)
{
    begins[w] = begin;
    ends[w] = end;
    heard[w] = (struct mx_cut_timing){.begin = begin * HOP,
                                      .end = end * HOP,
                                      .quiet_begin = (begin - before) * HOP,
                                      .quiet_end = begin * HOP,
                                      .still_begin = end * HOP,
                                      .still_end = (end + after) * HOP,
                                      .after = words[w].after};
}

static int setup(void **state)
{
    (void)state;
    for (int32_t w = 0; w < WORDS; w++) {
        const int64_t at = 40 + (w / 3) * 130 + w % 3 * 30;
        words[w] = (struct mx_align_word){
            .first = 5 * w, .last = 5 * w + 5, .after = w % 3 == 2 ? MX_ALIGN_BREAK_SENTENCE : MX_ALIGN_BREAK_WORD};
        word_put(w, at, at + 30, w % 3 == 0 ? 40 : 0, w % 3 == 2 ? 40 : 0);
        scores[w] = -3 + 0.1 * (w % 7);
    }
    return 0;
}

static int32_t broken_count(void)
{
    int32_t count = 0;
    for (int32_t w = 0; w < WORDS; w++) count += heard[w].broken;
    return count;
}

static void test_nothing(void **state)
{
    (void)state;
    assert_int_equal(mx_cut_doubt_squeezed(&doubt, &path), 0);
    assert_int_equal(mx_cut_doubt_islands(&doubt, heard), 0);
    assert_int_equal(broken_count(), 0);
}

/* The first word of a sentence hangs on to the sentence before: it belongs to its own, after the pause. */
static void test_moved(void **state)
{
    (void)state;
    const int64_t at = ends[29];
    word_put(29, begins[29], at, 0, 0);
    word_put(30, at, at + 5, 0, 40);
    scores[30] = -20;
    assert_int_equal(mx_cut_doubt_squeezed(&doubt, &path), 1);
    assert_int_equal(begins[30], begins[31]);
    assert_int_equal(ends[30], begins[31]);
    scores[30] = -4; /* it fits */
    word_put(30, at, at + 5, 0, 40);
    assert_int_equal(mx_cut_doubt_squeezed(&doubt, &path), 0);
}

/* The last word of a sentence is squeezed in before the next one. */
static void test_moved_back(void **state)
{
    (void)state;
    const int64_t at = begins[33];
    word_put(31, begins[31], ends[31], 0, 40);
    word_put(32, at, at + 5, 40, 0);
    word_put(33, at + 5, ends[33], 0, 0);
    scores[32] = -20;
    assert_int_equal(mx_cut_doubt_squeezed(&doubt, &path), 1);
    assert_int_equal(begins[32], ends[31]);
    assert_int_equal(ends[32], ends[31]);
}

/* A whole sentence that is squeezed in is missing. */
static void test_missing(void **state)
{
    (void)state;
    const int64_t at = ends[29];
    word_put(29, begins[29], at, 0, 0);
    for (int32_t w = 30; w < 33; w++) {
        word_put(w, at + 5 * (w - 30), at + 5 * (w - 29), 0, w == 32 ? 40 : 0);
        scores[w] = -20;
    }
    assert_int_equal(mx_cut_doubt_squeezed(&doubt, &path), 3);
    for (int32_t w = 30; w < 33; w++) assert_int_equal(begins[w], -1);
    assert_true(begins[29] >= 0 && begins[33] >= 0);
}

/* A sentence that would take half of its time is missing, though its words fit and no pause is near. */
static void test_hasty(void **state)
{
    (void)state;
    for (int32_t w = 30; w < 33; w++) word_put(w, 4000 + 15 * (w - 30), 4000 + 15 * (w - 29), 0, 0);
    assert_int_equal(mx_cut_doubt_squeezed(&doubt, &path), 3);
    for (int32_t w = 0; w < WORDS; w++) assert_int_equal(begins[w] < 0, w >= 30 && w < 33);
    setup(state);
    for (int32_t w = 30; w < 33; w++) word_put(w, 4000 + 22 * (w - 30), 4000 + 22 * (w - 29), 0, 0);
    assert_int_equal(mx_cut_doubt_squeezed(&doubt, &path), 0);
}

/* Words of a usual length in a sound of half a second; a sentence that fits badly. */
static void test_islands(void **state)
{
    (void)state;
    for (int32_t w = 60; w < 63; w++)
        word_put(w, 4000 + 14 * (w - 60), 4000 + 14 * (w - 59), w == 60 ? 40 : 0, w == 62 ? 40 : 0);
    for (int32_t w = 90; w < 93; w++) scores[w] = -6;
    assert_int_equal(mx_cut_doubt_islands(&doubt, heard), 0);
    assert_int_equal(broken_count(), 6);
    assert_true(heard[60].broken && heard[62].broken && heard[90].broken && heard[92].broken);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_nothing, setup),    cmocka_unit_test_setup(test_moved, setup),
        cmocka_unit_test_setup(test_moved_back, setup), cmocka_unit_test_setup(test_missing, setup),
        cmocka_unit_test_setup(test_hasty, setup),      cmocka_unit_test_setup(test_islands, setup)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a sentence of a text that streams in is; and the work of finding it: each character is looked at a few times,
 * whatever the text is and however it is divided, and the sentences are the same.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "serve/service_sentence.h"
#include "speech/split.h"

#define BYTES     65536
#define LOOKS     16                                /* maximum at each byte */
#define TOGETHER  (4 * MX_SERVICE_SENTENCE_LONGEST) /* maximum for one sentence */
#define SENTENCES (BYTES + 1)

/* ---- what a sentence is ---- */

static size_t sentence(const char *text, size_t length, double *pause_ms)
{
    return mx_service_sentence(&(struct mx_service_sentence){0}, text, length, pause_ms);
}

static void test_sentences(void **state)
{
    static const struct {
        const char *text;
        size_t ends[4]; /* of its sentences but the last */
    } cases[] = {
        {"One. Two", {5}},
        {"One two", {0}},
        {"Dr. Smith met Mrs. Jones. She left", {26}},
        {"He is 3. 5 more", {9}},
        {"See No. 5 there. Then no. Good", {17, 26}},
        {"J. R. Smith. He", {13}},
        {"It is, e.g. here. Yes", {18}},
        {"Really?! \"Yes.\" No", {9, 16}},
        {"One\ntwo\n\nthree", {9}},
        {"version 2.5 is out. ok no. So", {27}},
        {"سلام. خوبی؟ بله", {10, 21}},
        {"你好。再见", {9}},
        {"...and then", {0}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *const text = cases[i].text;
        size_t at = 0;
        for (size_t k = 0; k < 4; k++) {
            double pause, other;
            const size_t length = sentence(text + at, strlen(text + at), &pause);
            if (cases[i].ends[k] == 0) {
                assert_int_equal(length, 0);
                break;
            }
            assert_int_equal(at + length, cases[i].ends[k]);
            for (size_t part = 0; part < strlen(text + at); part++) { /* less text: the same, or not yet */
                const size_t sooner = sentence(text + at, part, &other);
                assert_true(sooner == 0 || (sooner == length && pause == other));
            }
            at += length;
        }
    }
    double pause;
    assert_int_equal(sentence("Wait... What", 12, &pause), 8);
    assert_true(pause == MX_SPLIT_ELLIPSIS_MS);
    assert_int_equal(sentence("Wait...? What", 13, &pause), 9);
    assert_true(pause == mx_split_pause_ms('?'));
}

static void test_sentence_without_end(void **state)
{
    char text[2000];
    double pause;
    (void)state;
    for (size_t i = 0; i < sizeof text; i++) text[i] = i % 6 == 5 ? ' ' : 'a';
    assert_int_equal(sentence(text, 600, &pause), 0);
    assert_int_equal(sentence(text, 601, &pause), 600);
    assert_int_equal(sentence(text, sizeof text, &pause), 600);
    text[304] = ',';
    assert_int_equal(sentence(text, sizeof text, &pause), 306);
    memset(text, 'a', sizeof text);
    assert_int_equal(sentence(text, sizeof text, &pause), 600);
}

/* ---- the work ---- */

/* Divides the text, which comes `part` bytes at a time; returns the characters looked at. */
static size_t divide(const char *text, size_t part, size_t *ends, size_t *count)
{
    struct mx_service_sentence search = {0};
    size_t begin = 0, looked = 0;
    double pause_ms;
    *count = 0;
    for (size_t there = part; begin < BYTES; there += part) {
        if (there > BYTES) there = BYTES;
        for (size_t length; (length = mx_service_sentence(&search, text + begin, there - begin, &pause_ms)) > 0;) {
            assert_true(length <= there - begin);
            assert_true(search.looked <= TOGETHER);
            looked += search.looked;
            search = (struct mx_service_sentence){0};
            begin += length;
            ends[(*count)++] = begin;
        }
        if (there == BYTES) break;
    }
    assert_true(search.looked <= TOGETHER);
    return looked + search.looked;
}

/* A text of the unit again and again, with a word at its end. */
static void text_check(const char *unit)
{
    static const size_t parts[] = {BYTES, 1000, 7, 1};
    static size_t ends[SENTENCES], others[SENTENCES];
    const size_t length = strlen(unit);
    size_t count, other;
    char *const text = malloc(BYTES);
    assert_non_null(text);
    for (size_t at = 0; at < BYTES; at++) text[at] = unit[at % length];
    memcpy(text + BYTES - 8, "end word", 8);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        const size_t looked = divide(text, parts[i], i == 0 ? ends : others, i == 0 ? &count : &other);
        if (looked > LOOKS * BYTES) fail_msg("%zu looks at \"%s\" in parts of %zu bytes", looked, unit, parts[i]);
        if (i == 0) continue;
        assert_int_equal(other, count);
        assert_memory_equal(others, ends, count * sizeof *ends);
    }
    free(text);
}

static void test_hostile_texts_cost_little(void **state)
{
    static const char *const units[] = {".",
                                        "!",
                                        "\xe3\x80\x82",
                                        ".)",
                                        " ",
                                        "\n",
                                        " \n",
                                        ". ",
                                        ".a",
                                        ".\xe3\x80\x82",
                                        "a",
                                        "ab ",
                                        "ab, ",
                                        "A. ",
                                        "Dr. ",
                                        "...,",
                                        "a... ",
                                        "\xff",
                                        "\xcc\x81",
                                        "\xf0\x9f\x98\x80",
                                        "\xd8\x9f",
                                        ".                    b"};
    (void)state;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) text_check(units[i]);
}

/* Random texts of what decides: the same sentences however they are divided. */
static void test_parts_change_nothing(void **state)
{
    static const char pieces[][8] = {".",   ". ", "!", "?\"", " ", "\n",       "\n\n", "a",   "A", "5", "\xe3\x80\x82",
                                     "e.g", "Dr", ",", "...", ")", "\xd8\x9f", "word", "Word"};
    static size_t ends[SENTENCES], others[SENTENCES];
    unsigned long seed = 1;
    size_t count, other;
    char *const text = malloc(BYTES + 8);
    (void)state;
    assert_non_null(text);
    for (size_t at = 0; at < BYTES;) {
        seed = seed * 6364136223846793005UL + 1442695040888963407UL;
        const char *const piece = pieces[(seed >> 33) % (sizeof pieces / sizeof pieces[0])];
        memcpy(text + at, piece, strlen(piece));
        at += strlen(piece);
    }
    assert_true(divide(text, BYTES, ends, &count) <= LOOKS * BYTES);
    assert_true(count > 1000);
    for (size_t part = 1; part < 12; part += 2) {
        assert_true(divide(text, part, others, &other) <= LOOKS * BYTES);
        assert_int_equal(other, count);
        assert_memory_equal(others, ends, count * sizeof *ends);
    }
    free(text);
}

/* Long runs are decided, too: marks without an end, and a pause of blanks. */
static void test_runs_are_bounded(void **state)
{
    static char text[3 * MX_SERVICE_SENTENCE_LONGEST];
    const size_t most = MX_SERVICE_SENTENCE_LONGEST;
    double pause_ms;
    (void)state;
    memset(text, '.', sizeof text);
    assert_int_equal(mx_service_sentence(&(struct mx_service_sentence){0}, text, most, &pause_ms), 0);
    assert_int_equal(mx_service_sentence(&(struct mx_service_sentence){0}, text, sizeof text, &pause_ms), most + 1);
    assert_true(pause_ms == MX_SPLIT_ELLIPSIS_MS);
    memset(text, ' ', sizeof text);
    text[0] = 'a';
    text[1] = '.';
    assert_int_equal(mx_service_sentence(&(struct mx_service_sentence){0}, text, most, &pause_ms), 0);
    assert_int_equal(mx_service_sentence(&(struct mx_service_sentence){0}, text, sizeof text, &pause_ms), most + 2);
}

/* Ellipses, where a text is divided before it is read, followed by a long rest without words. */
static void test_ellipses_cost_little(void **state)
{
    static const char text[] = "a... b... ,,,,,,";
    (void)state;
    assert_int_equal(mx_split_words_end(text, strlen(text)), 6);
    assert_int_equal(mx_split_words_end(",.", 2), 0);
    assert_int_equal(mx_split_ellipsis(text, 6), 4);
    assert_int_equal(mx_split_ellipsis(text, strlen(text)), 4);
    assert_int_equal(mx_split_ellipsis(text + 4, strlen(text) - 4), strlen(text) - 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sentences),
        cmocka_unit_test(test_sentence_without_end),
        cmocka_unit_test(test_hostile_texts_cost_little),
        cmocka_unit_test(test_parts_change_nothing),
        cmocka_unit_test(test_runs_are_bounded),
        cmocka_unit_test(test_ellipses_cost_little),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

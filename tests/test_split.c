/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Long text in pieces: where it is cut, that nothing is lost, and the pauses.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "base/string.h"
#include "myxtts/error.h"
#include "speech/split.h"
#include "text/text.h"

#define PIECES_MAX 8

/* The pieces, and the last mark of each. */
static void expect(const char *text, size_t limit, const char *const pieces[PIECES_MAX], const char *marks)
{
    struct mx_arena arena;
    struct mx_split_piece *list;
    size_t count, wanted = 0;
    mx_arena_init(&arena, 0);
    assert_int_equal(mx_split_text(text, limit, &arena, &list, &count), 0);
    while (wanted < PIECES_MAX && pieces[wanted]) wanted++;
    assert_int_equal(count, wanted);
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(list[i].text, pieces[i]);
        assert_int_equal(list[i].mark, marks[i] == '_' ? 0 : marks[i]);
        const double pause = i + 1 < count ? mx_split_pause_ms(marks[i] == '_' ? ' ' : marks[i]) : 0;
        assert_true(list[i].pause_ms == pause);
    }
    mx_arena_release(&arena);
}

static void sentences(void **state)
{
    (void)state;
    expect("hello, world. how are you? fine!", 100,
           (const char *const[PIECES_MAX]){"hello, world.", "how are you?", "fine!"}, ".?!");
    expect("no end", 100, (const char *const[PIECES_MAX]){"no end"}, "_");
    expect("", 100, (const char *const[PIECES_MAX]){NULL}, "");
    expect(" . ! ", 100, (const char *const[PIECES_MAX]){NULL}, "");
    expect("  one.   two.  ", 100, (const char *const[PIECES_MAX]){"one.", "two."}, "..");
    /* A full stop inside a word is none. */
    expect("point.two is a word.", 100, (const char *const[PIECES_MAX]){"point.two is a word."}, ".");
    expect("سلام، دنیا. حال شما چطور است? خوب", 100,
           (const char *const[PIECES_MAX]){"سلام، دنیا.", "حال شما چطور است?", "خوب"}, ".?_");
}

static void long_sentences(void **state)
{
    (void)state;
    /* A clause before a comma, a comma before a blank, and none too early. */
    expect("one two three; four, five six seven.", 30,
           (const char *const[PIECES_MAX]){"one two three;", "four, five six seven."}, ";.");
    expect("one two three, four five six seven.", 24,
           (const char *const[PIECES_MAX]){"one two three,", "four five six seven."}, ",.");
    expect("oh, one two three four five six", 20, (const char *const[PIECES_MAX]){"oh, one two three", "four five six"},
           "__");
    expect("one two three - four five six seven", 20,
           (const char *const[PIECES_MAX]){"one two three", "four five six seven"}, "-_");
    /* A word that is longer than all. */
    expect("abcdefghijklmnopqrstuvwxyz", 16, (const char *const[PIECES_MAX]){"abcdefghijklmnop", "qrstuvwxyz"}, "__");
    expect("well-known words-and more words", 16,
           (const char *const[PIECES_MAX]){"well-known", "words-and more", "words"}, "___");
    expect("کتاب‌خانه‌های بزرگ شهر ما همیشه باز هستند", 20,
           (const char *const[PIECES_MAX]){"کتاب‌خانه‌های بزرگ", "شهر ما همیشه باز", "هستند"},
           "___");
}

/* Random text of words and marks: pieces are within the limit, and joined they are the text. */
static void nothing_is_lost(void **state)
{
    static const char *const words[] = {"a",   "word",   "another", "سلام",   "کتاب‌خانه",
                                        "x, ", "end. ",  "why? ",   "then; ", " - ",
                                        " ",   "ʒəˈneɪ", "y-z",     "!",      ". ",
                                        "   "};
    (void)state;
    for (uint64_t seed = 0; seed < 400; seed++) {
        struct mx_string text = {0}, joined = {0};
        struct mx_split_piece *pieces;
        struct mx_arena arena;
        size_t count;
        const uint64_t parts = mx_rng_below(seed, 1, 0, 120), limit = 16 + mx_rng_below(seed, 1, 1, 60);
        mx_arena_init(&arena, 0);
        mx_string_append(&text, "%s", "");
        for (uint64_t i = 0; i < parts; i++)
            mx_string_append(&text, "%s%s", words[mx_rng_below(seed, 2, i, 16)],
                             mx_rng_below(seed, 3, i, 4) ? " " : "");
        assert_int_equal(mx_split_text(text.data, limit, &arena, &pieces, &count), 0);
        for (size_t i = 0; i < count; i++) {
            const size_t length = strlen(pieces[i].text);
            assert_int_equal(mx_utf8_check(pieces[i].text, length), length);
            assert_true(length > 0 && pieces[i].text[0] != ' ' && pieces[i].text[length - 1] != ' ');
            assert_true(pieces[i].characters > 0 && pieces[i].characters <= limit);
            mx_string_append(&joined, "%s", pieces[i].text);
        }
        /* Marks between pieces may go; letters may not. */
        const char *from = text.data;
        for (const char *to = joined.data ? joined.data : ""; *to; to++) {
            while (*from != *to && *from != 0) {
                assert_non_null(strchr(" .!?;:-,", *from));
                from++;
            }
            assert_int_equal(*from, *to);
            from++;
        }
        for (; *from; from++) assert_non_null(strchr(" .!?;:-,", *from));
        mx_arena_release(&arena);
        mx_string_release(&text);
        mx_string_release(&joined);
    }
}

/* Abbreviations and numbers are words by then, and end no sentence. */
static void after_normalising(void **state)
{
    static const char text[] = "Dr. Smith paid $3.50 at 5:30 p.m. on Jan. 3, e.g. for tea. Mr. Jones didn't.";
    struct mx_split_piece *pieces = NULL;
    struct mx_arena arena;
    size_t count = 0;
    char *normalised = NULL;
    (void)state;
    mx_arena_init(&arena, 0);
    assert_int_equal(mx_text_normalise(MX_LANGUAGE_EN, text, strlen(text), &arena, &normalised, NULL), 0);
    assert_non_null(normalised);
    assert_int_equal(mx_split_text(normalised, 400, &arena, &pieces, &count), 0);
    assert_int_equal(count, 2);
    assert_non_null(pieces);
    assert_non_null(strstr(pieces[0].text, "tea."));
    assert_string_equal(pieces[1].text, "mister Jones didn't.");
    mx_arena_release(&arena);
}

static void paragraphs(void **state)
{
    static const char text[] = "\n  \nA line\nand another.\r\n\r\nThe second\n \t\n\nThe third";
    static const char *const wanted[] = {"A line\nand another.\r\n", "The second\n", "The third"};
    size_t at = 0, begin = 0, length = 0, count = 0;
    (void)state;
    for (; mx_split_paragraph(text, strlen(text), &at, &begin, &length); count++) {
        if (count >= 3) continue;
        assert_int_equal(length, strlen(wanted[count]));
        assert_memory_equal(text + begin, wanted[count], length);
    }
    assert_int_equal(count, 3);
    at = 0;
    assert_false(mx_split_paragraph(" \n\n", 3, &at, &begin, &length));
    at = 0;
    assert_false(mx_split_paragraph("", 0, &at, &begin, &length));
}

static void refusals(void **state)
{
    struct mx_split_piece *pieces;
    struct mx_arena arena;
    size_t count;
    (void)state;
    mx_arena_init(&arena, 0);
    assert_int_equal(mx_split_text("text", 15, &arena, &pieces, &count), MX_ERR_ARGUMENT);
    assert_non_null(strstr(mx_error_last()->hint, "16"));
    for (uint64_t nth = 1;; nth++) { /* running out of memory at every place where some is taken */
        mx_alloc_fail_at(nth);
        const int rc = mx_split_text("one. two.", 16, &arena, &pieces, &count);
        mx_alloc_fail_at(0);
        mx_arena_release(&arena);
        if (rc == 0) break;
        assert_int_equal(rc, MX_ERR_NO_MEMORY);
        assert_true(nth < 10);
    }
    mx_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sentences),         cmocka_unit_test(long_sentences), cmocka_unit_test(nothing_is_lost),
        cmocka_unit_test(after_normalising), cmocka_unit_test(paragraphs),     cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

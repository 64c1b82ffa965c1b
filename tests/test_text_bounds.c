/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Texts that nobody should write: bytes that are no UTF-8, halves of surrogates, overrides of the direction, joiners,
 * thousands of digits, and long texts without a blank. They are refused with the place, or read in linear time, and what
 * is not read is counted.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "myxtts/error.h"
#include "text/forms/icu.h"
#include "text/text.h"

#define DIGITS  100000
#define LONGEST ((size_t)1 << 20) /* bytes of a text without a blank */
#define LONG    ((size_t)1 << 14) /* of one in which a form may begin anywhere */

static const enum mx_language_id languages[] = {MX_LANGUAGE_EN, MX_LANGUAGE_FA, MX_LANGUAGE_DE, MX_LANGUAGE_ES,
                                                MX_LANGUAGE_FR, MX_LANGUAGE_IT, MX_LANGUAGE_RU};
#define LANGUAGES (sizeof languages / sizeof *languages)

static void test_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {{"ab\xff", "invalid UTF-8 at byte 2 (0xFF)"},
                 {"a\xed\xa0\x80z", "invalid UTF-8 at byte 1 (0xED)"}, /* half of a surrogate pair */
                 {"\xc0\x80", "invalid UTF-8 at byte 0 (0xC0)"},
                 {"abc\xe2\x82", "invalid UTF-8 at byte 3 (0xE2)"}};
    struct mx_arena arena;
    mx_arena_init(&arena, 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t k = 0; k < LANGUAGES; k++) {
            char *words;
            const size_t length = strlen(cases[i].text);
            assert_int_equal(mx_text_normalise(languages[k], cases[i].text, length, &arena, &words, NULL), MX_ERR_DATA);
            assert_string_equal(mx_error_last()->message, cases[i].message);
        }
    mx_arena_release(&arena);
}

/* Characters that only steer the layout are left out and counted, and what stands around them is read. */
static void test_controls(void **state)
{
    (void)state;
    struct mx_arena arena;
    struct mx_text_report report = {0};
    char *words;
    static const char text[] = "\u202eSie hat 3\u202c \u200d\u200d\u2066Katzen\u2069.";
    mx_arena_init(&arena, 0);
    assert_int_equal(mx_text_normalise(MX_LANGUAGE_DE, text, strlen(text), &arena, &words, &report), 0);
    assert_string_equal(words, mx_icu_ready() ? "Sie hat drei Katzen." : "Sie hat 3 Katzen.");
    assert_int_equal(report.controls_dropped, 6);
    mx_arena_release(&arena);
}

static size_t count_of(const char *text, const char *word)
{
    size_t count = 0;
    for (const char *at = strstr(text, word); at != NULL; at = strstr(at + strlen(word), word)) count++;
    return count;
}

/* Every digit of a number that no word can name is said. */
static void test_digits(void **state)
{
    (void)state;
    static const struct {
        enum mx_language_id language;
        const char *seven;
    } cases[] = {{MX_LANGUAGE_EN, "seven"}, {MX_LANGUAGE_DE, "sieben"}, {MX_LANGUAGE_ES, "siete"},
                 {MX_LANGUAGE_FR, "sept"},  {MX_LANGUAGE_IT, "sette"},  {MX_LANGUAGE_RU, "семь"}};
    char *const digits = malloc(DIGITS + 1);
    assert_non_null(digits);
    memset(digits, '7', DIGITS);
    digits[DIGITS] = 0;
    if (!mx_icu_ready()) {
        free(digits);
        skip();
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct mx_arena arena;
        char *words;
        mx_arena_init(&arena, 0);
        assert_int_equal(mx_text_normalise(cases[i].language, digits, DIGITS, &arena, &words, NULL), 0);
        assert_int_equal(count_of(words, cases[i].seven), DIGITS);
        mx_arena_release(&arena);
    }
    free(digits);
}

/* A megabyte of one piece again and again, without a blank. */
static void test_long(void **state)
{
    (void)state;
    static const char *const pieces[] = {"a",  "1",  "a1", "a/", "1-",  "1.", "a.", "(",
                                         "1/", "$1", ":1", "VI", "+1-", "½",  "7:", "@a"};
    char *const text = malloc(LONGEST + 8);
    assert_non_null(text);
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        size_t length = 0;
        const size_t most = i == 0 ? LONGEST : LONG;
        while (length + strlen(pieces[i]) <= most) {
            memcpy(text + length, pieces[i], strlen(pieces[i]));
            length += strlen(pieces[i]);
        }
        /* Each language meets some of the pieces; all of them would take long under a sanitizer. */
        const enum mx_language_id language = languages[i % LANGUAGES];
        struct mx_arena arena;
        char *words;
        mx_arena_init(&arena, 0);
        assert_int_equal(mx_text_normalise(language, text, length, &arena, &words, NULL), 0);
        mx_arena_release(&arena);
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_refused), cmocka_unit_test(test_controls),
                                       cmocka_unit_test(test_digits), cmocka_unit_test(test_long)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

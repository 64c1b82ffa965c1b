/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See cleaner.h.
 */
#include "support/cleaner.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "myxtts/error.h"
#include "text/reading.h"

void cleaner_says(enum mx_language_id language, int version, const struct cleaner_case *cases, size_t count)
{
    const struct mx_reading reading = {.cleaner = version};
    struct mx_arena arena;
    size_t wrong = 0;
    mx_arena_init(&arena, 0);
    for (size_t i = 0; i < count; i++) {
        const char *const written = cases[i].written;
        char *spoken;
        assert_int_equal(mx_reading_text(&reading, language, written, strlen(written), &arena, &spoken, NULL), 0);
        if (!strcmp(spoken, cases[i].spoken)) continue;
        print_error("\"%s\"\n  said:     \"%s\"\n  expected: \"%s\"\n", written, spoken, cases[i].spoken);
        wrong++;
    }
    mx_arena_release(&arena);
    assert_int_equal(wrong, 0);
}

void cleaner_is_stable(enum mx_language_id language, int version, const struct cleaner_case *cases, size_t count)
{
    const struct mx_reading reading = {.cleaner = version};
    struct mx_arena arena;
    mx_arena_init(&arena, 0);
    for (size_t i = 0; i < count; i++) {
        char *again;
        const char *const spoken = cases[i].spoken;
        assert_int_equal(mx_reading_text(&reading, language, spoken, strlen(spoken), &arena, &again, NULL), 0);
        assert_string_equal(again, spoken);
    }
    mx_arena_release(&arena);
}

void cleaner_reports(enum mx_language_id language, const char *written, const char *spoken,
                     const struct mx_text_report *counts)
{
    struct mx_text_report report = {0};
    struct mx_arena arena;
    char *said;
    mx_arena_init(&arena, 0);
    assert_int_equal(mx_text_normalise(language, written, strlen(written), &arena, &said, &report), 0);
    assert_string_equal(said, spoken);
    assert_int_equal(report.controls_dropped, counts->controls_dropped);
    assert_int_equal(report.symbols_dropped, counts->symbols_dropped);
    assert_int_equal(report.foreign_letters, counts->foreign_letters);
    assert_int_equal(report.numbers_read, counts->numbers_read);
    mx_arena_release(&arena);
}

void cleaner_takes_prefixes(enum mx_language_id language, const struct cleaner_case *cases, size_t count)
{
    struct mx_arena arena;
    mx_arena_init(&arena, 0);
    for (size_t i = 0; i < count; i++) {
        const size_t length = strlen(cases[i].written);
        for (size_t cut = 0; cut <= length; cut++) {
            char *spoken;
            const int rc = mx_text_normalise(language, cases[i].written, cut, &arena, &spoken, NULL);
            assert_true(rc == 0 || rc == MX_ERR_DATA);
        }
        mx_arena_reset(&arena);
    }
    mx_arena_release(&arena);
}

void cleaner_without_memory(enum mx_language_id language, const char *text)
{
    bool failed = true;
    for (uint64_t nth = 1; failed; nth++) {
        struct mx_arena arena;
        char *spoken;
        mx_arena_init(&arena, 0);
        mx_alloc_fail_at(nth);
        const int rc = mx_text_normalise(language, text, strlen(text), &arena, &spoken, NULL);
        mx_alloc_fail_at(0);
        failed = rc < 0;
        if (failed) assert_int_equal(rc, MX_ERR_NO_MEMORY);
        mx_arena_release(&arena);
        assert_true(nth < 100);
    }
}

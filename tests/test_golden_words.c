/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Letters, abbreviations, spelled words and numerals against the golden list, and that texts are still read by older
 * rules where a voice was trained with them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/file.h"
#include "myxtts/error.h"
#include "text/reading.h"

#define LIST MX_SOURCE_FOLDER "/tests/golden/words.tsv"

static void without_stress(char *phonemes)
{
    char *to = phonemes;
    for (const char *from = phonemes; *from;) {
        if (!strncmp(from, "ˈ", 2) || !strncmp(from, "ˌ", 2))
            from += 2;
        else
            *to++ = *from++;
    }
    *to = 0;
}

static const struct mx_reading second = {.cleaner = 2};

/* A line: language, text, its words by version 2 of the rules, its phonemes by the newest. */
static void line_compare(char *line, struct mx_phonemizer *phonemizer, struct mx_arena *arena)
{
    char *state = NULL, *words, *phonemes;
    enum mx_language_id language;
    const char *const code = strtok_r(line, "\t", &state), *const text = strtok_r(NULL, "\t", &state);
    const char *const expected = strtok_r(NULL, "\t", &state), *const sounds = strtok_r(NULL, "\t", &state);
    assert_true(code != NULL && text != NULL && expected != NULL && sounds != NULL);
    assert_int_equal(mx_language_parse(code, &language), 0);
    assert_int_equal(mx_reading_text(&second, language, text, strlen(text), arena, &words, NULL), 0);
    if (strcmp(words, expected) != 0) fail_msg("%s: '%s' instead of '%s'", text, words, expected);
    if (phonemizer == NULL) return;
    assert_int_equal(mx_text_normalise(language, text, strlen(text), arena, &words, NULL), 0);
    assert_int_equal(mx_phonemizer_run(phonemizer, language, words, arena, &phonemes), 0);
    without_stress(phonemes);
    if (strcmp(phonemes, sounds) != 0) fail_msg("%s: '%s' instead of '%s'", text, phonemes, sounds);
}

static void test_list(void **state)
{
    (void)state;
    struct mx_phonemizer *phonemizer = NULL;
    struct mx_arena arena;
    char *list, *next = NULL;
    size_t length, lines = 0;
    mx_arena_init(&arena, 0);
    if (mx_phonemizer_available()) assert_int_equal(mx_phonemizer_get(&phonemizer), 0);
    assert_int_equal(mx_file_read(LIST, 1 << 20, &list, &length), 0);
    for (char *line = strtok_r(list, "\n", &next); line != NULL; line = strtok_r(NULL, "\n", &next)) {
        if (line[0] == '#') continue;
        line_compare(line, phonemizer, &arena);
        lines++;
    }
    assert_true(lines >= 60);
    mx_free(list);
    mx_arena_release(&arena);
}

static void test_versions(void **state)
{
    (void)state;
    static const struct {
        const char *text, *words[MX_TEXT_CLEANER_VERSION];
    } cases[] = {
        {"II", {"ii", "two", "two", "two"}},
        {"A B C", {"a b c", "ay b c", "ay B C", "A B C"}},
        {"CO2", {"co two", "c o two", "c o two", "c o two"}},
        {"I live in the US.", {"i live in the u s.", "i live in the u s.", "I live in the u s.", "I live in the u s."}},
        {"PLEASE READ IT", {"please read it", "please read it", "please read it", "please read it"}},
        {"25 sept.", {"twenty-five sept.", "twenty-five sept.", "twenty-five sept.", "the twenty-fifth of September."}},
        {"$350/yr",
         {"three hundred fifty dollars slash yr", "three hundred fifty dollars slash yr",
          "three hundred fifty dollars slash yr", "three hundred and fifty dollars per year"}}};
    struct mx_arena arena;
    mx_arena_init(&arena, 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int cleaner = 0; cleaner <= MX_TEXT_CLEANER_VERSION + 1; cleaner++) {
            const struct mx_reading reading = {.cleaner = cleaner};
            char *words;
            assert_int_equal(
                mx_reading_text(&reading, MX_LANGUAGE_EN, cases[i].text, strlen(cases[i].text), &arena, &words, NULL),
                0);
            const bool old = cleaner > 0 && cleaner < MX_TEXT_CLEANER_VERSION;
            assert_string_equal(words, cases[i].words[old ? cleaner - 1 : MX_TEXT_CLEANER_VERSION - 1]);
        }
    }
    mx_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_list), cmocka_unit_test(test_versions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Sentences of newspapers, mails, recipes, code documentation and chats, and how they are read: tests/golden/
 * sentences_LANGUAGE.tsv, with kind, text and words in each line. A language of which the file is there is compared; a
 * build without ICU reads written forms otherwise and has nothing to compare.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/string.h"
#include "text/forms/icu.h"
#include "text/reading.h"

#define FOLDER MX_SOURCE_FOLDER "/tests/golden/"

/* Lines of the file that are read otherwise. */
static size_t file_compare(const char *code, char *list, size_t *lines)
{
    enum mx_language_id language;
    struct mx_arena arena;
    char *next = NULL;
    size_t wrong = 0;
    assert_int_equal(mx_language_parse(code, &language), 0);
    mx_arena_init(&arena, 0);
    for (char *line = strtok_r(list, "\n", &next); line != NULL; line = strtok_r(NULL, "\n", &next)) {
        char *state = NULL, *words;
        if (line[0] == '#') continue;
        (void)strtok_r(line, "\t", &state);
        const char *const text = strtok_r(NULL, "\t", &state), *const expected = strtok_r(NULL, "\t", &state);
        assert_non_null(expected);
        assert_int_equal(mx_text_normalise(language, text, strlen(text), &arena, &words, NULL), 0);
        if (strcmp(words, expected) != 0) {
            print_error("%s: %s\n  is read    %s\n  instead of %s\n", code, text, words, expected);
            wrong++;
        }
        ++*lines;
    }
    mx_arena_release(&arena);
    return wrong;
}

static void test_sentences(void **state)
{
    (void)state;
    static const char *const codes[] = {"de", "es", "fr", "it", "ru"};
    size_t wrong = 0;
    if (!mx_icu_ready()) skip();
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        char path[512], *list;
        size_t length, lines = 0;
        (void)snprintf(path, sizeof path, FOLDER "sentences_%s.tsv", codes[i]);
        assert_int_equal(mx_file_read(path, 1 << 20, &list, &length), 0);
        wrong += file_compare(codes[i], list, &lines);
        assert_true(lines >= 100);
        mx_free(list);
    }
    assert_int_equal(wrong, 0);
}

/* What the issue named, as a new user would see it. */
static void test_examples(void **state)
{
    (void)state;
    /* clang-format off: one case per line */
    static const struct {
        const char *code, *text, *words;
    } cases[] = {
        {"en", "july 25", "July twenty-fifth"},
        {"en", "25 sept.", "the twenty-fifth of September."},
        {"en", "$350/yr", "three hundred and fifty dollars per year"},
        {"en", "5pm-7 pm", "five p m to seven p m"},
        {"en", "192.168.1.1:8080", "one nine two dot one six eight dot one dot one colon eight zero eight zero"},
        {"en", "1e-5", "one times ten to the minus fifth"},
        {"en", "10⁻³", "ten to the minus third"},
        {"en", "H₂O and CO₂", "h two o and c o two"},
        {"en", "Great 👍👍!", "Great, thumbs up!"},
        {"de", "Dr. Müller kommt z. B. am 3. Mai.", "Doktor Müller kommt zum Beispiel am dritten Mai."},
        {"es", "El Sr. Pérez vive en EE. UU. desde 1990.",
         "El señor Pérez vive en Estados Unidos desde mil novecientos noventa."},
        {"it", "Il dott. Rossi arriva alle 15:00.", "Il dottor Rossi arriva alle quindici."},
        {"fr", "M. Martin habite au 3e étage.", "monsieur Martin habite au troisième étage."},
        {"ru", "Ему 60 лет.", "Ему шестьдесят лет."},
        {"ru", "от 2 до 5 кг", "от двух до пяти килограмм"},
        {"ru", "к 2021 году", "к две тысячи двадцать первому году"},
    };
    /* clang-format on */
    struct mx_arena arena;
    if (!mx_icu_ready()) skip();
    mx_arena_init(&arena, 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        enum mx_language_id language;
        char *words;
        assert_int_equal(mx_language_parse(cases[i].code, &language), 0);
        assert_int_equal(mx_text_normalise(language, cases[i].text, strlen(cases[i].text), &arena, &words, NULL), 0);
        if (strcmp(words, cases[i].words) != 0)
            fail_msg("%s: '%s' instead of '%s'", cases[i].text, words, cases[i].words);
    }
    mx_arena_release(&arena);
}

/* Voices of older versions read the same as before: their text has digits, and espeak-ng reads them. */
static void test_old_versions(void **state)
{
    (void)state;
    static const struct {
        const char *code, *text, *words;
    } cases[] = {{"de", "Dr. Müller, 3. Mai, 12:30", "Dr. Müller, 3. Mai, 12:30"},
                 {"ru", "В 1945 году 25 ₽", "В 1945 году 25 ₽"},
                 {"fr", "1 000 €", "1000 €"}};
    struct mx_arena arena;
    mx_arena_init(&arena, 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct mx_reading third = {.cleaner = 3};
        enum mx_language_id language;
        char *words;
        assert_int_equal(mx_language_parse(cases[i].code, &language), 0);
        assert_int_equal(mx_reading_text(&third, language, cases[i].text, strlen(cases[i].text), &arena, &words, NULL),
                         0);
        assert_string_equal(words, cases[i].words);
    }
    mx_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sentences), cmocka_unit_test(test_examples),
                                       cmocka_unit_test(test_old_versions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The catalogue: which language the environment asks for, and what a text is in it.
 */
#include "base/catalogue.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "myxtts/error.h"
#include "observe/page/page.h"
#include "pipeline/advice_words.h"

static void set(const char *name, const char *value)
{
    if (value == NULL)
        unsetenv(name);
    else
        setenv(name, value, 1);
}

static void test_language(void **state)
{
    (void)state;
    static const struct {
        const char *language, *all, *messages, *lang;
        enum mx_words wanted;
    } cases[] = {
        {NULL, NULL, NULL, NULL, MX_WORDS_ENGLISH},
        {NULL, NULL, NULL, "fa_IR.UTF-8", MX_WORDS_PERSIAN},
        {NULL, NULL, NULL, "fa_IR", MX_WORDS_PERSIAN},
        {NULL, NULL, NULL, "fa", MX_WORDS_PERSIAN},
        {NULL, NULL, NULL, "fa_AF.utf8@calendar", MX_WORDS_PERSIAN},
        {NULL, NULL, NULL, "fat_GH.UTF-8", MX_WORDS_ENGLISH}, /* another language, which begins alike */
        {NULL, NULL, NULL, "de_DE.UTF-8", MX_WORDS_ENGLISH},
        {NULL, NULL, NULL, "fa_IR.ISO-8859-6", MX_WORDS_ENGLISH}, /* what we would write could not be read */
        /* LC_ALL goes before LC_MESSAGES, and that before LANG; an empty one is none. */
        {NULL, NULL, "fa_IR.UTF-8", "en_US.UTF-8", MX_WORDS_PERSIAN},
        {NULL, NULL, "en_US.UTF-8", "fa_IR.UTF-8", MX_WORDS_ENGLISH},
        {NULL, "C", "fa_IR.UTF-8", "fa_IR.UTF-8", MX_WORDS_ENGLISH},
        {NULL, "fa_IR.UTF-8", "en_US.UTF-8", "C", MX_WORDS_PERSIAN},
        {NULL, "", "", "fa_IR.UTF-8", MX_WORDS_PERSIAN},
        /* LANGUAGE: the first that is here; ignored without a language of the locale. */
        {"fa", NULL, NULL, "en_US.UTF-8", MX_WORDS_PERSIAN},
        {"de:fa:en", NULL, NULL, "en_US.UTF-8", MX_WORDS_PERSIAN},
        {"de:en:fa", NULL, NULL, "fa_IR.UTF-8", MX_WORDS_ENGLISH},
        {"::fa_IR", NULL, NULL, "de_DE.UTF-8", MX_WORDS_PERSIAN},
        {"fa", "C", NULL, NULL, MX_WORDS_ENGLISH},
        {"fa", NULL, NULL, NULL, MX_WORDS_ENGLISH},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        set("LANGUAGE", cases[i].language);
        set("LC_ALL", cases[i].all);
        set("LC_MESSAGES", cases[i].messages);
        set("LANG", cases[i].lang);
        if (mx_catalogue_language() != cases[i].wanted) fail_msg("case %zu", i);
    }
}

static void test_find(void **state)
{
    (void)state;
    assert_string_equal(mx_catalogue_find(MX_WORDS_PERSIAN, "Exit codes"), "کدهای خروج");
    assert_string_equal(mx_catalogue_find(MX_WORDS_ENGLISH, "Exit codes"), "Exit codes");
    /* What is not there stays as it is; so does the empty text, which is the head of every catalogue. */
    static const char nothing[] = "no such text", empty[] = "";
    assert_ptr_equal(mx_catalogue_find(MX_WORDS_PERSIAN, nothing), nothing);
    assert_ptr_equal(mx_catalogue_find(MX_WORDS_PERSIAN, empty), empty);
    assert_ptr_equal(mx_catalogue_find_in(MX_WORDS_PERSIAN, "page", nothing), nothing);
    /* One word at two places. */
    assert_string_equal(mx_catalogue_find_in(MX_WORDS_PERSIAN, "page state training", "training"), "در حال آموزش");
    assert_string_equal(mx_catalogue_find_in(MX_WORDS_PERSIAN, "page train", "training"), "آموزش");
    assert_string_equal(mx_catalogue_find_in(MX_WORDS_PERSIAN, "page tr", "training"), "training");
}

static bool has_persian(const char *text)
{
    for (; *text != '\0'; text++)
        if ((unsigned char)*text >= 0xD8 && (unsigned char)*text <= 0xDB) return true;
    return false;
}

/* All that pages say, found by the same search: first, last and middle entries of the table. */
static void test_pages(void **state)
{
    (void)state;
    size_t count = 0;
    for (const struct mx_page_word *word = mx_page_words; word->key != NULL; word++, count++) {
        char context[64];
        snprintf(context, sizeof context, "page %s", word->key);
        const char *const text = mx_catalogue_find_in(MX_WORDS_PERSIAN, context, word->english);
        if (text == word->english) fail_msg("no Persian for the word '%s' of the page", word->key);
    }
    assert_true(count > 100);
    for (int i = 0; i < MX_SAY_COUNT; i++)
        assert_true(has_persian(mx_advice_sentence((enum mx_advice_sentence)i, true)));
}

static void test_say(void **state)
{
    (void)state;
    struct mx_string text = {0};
    const char *const values[] = {"-3", "64"};
    assert_int_equal(mx_catalogue_format(&text, MX_WORDS_ENGLISH, "From {0} to {1}.", values), 0);
    assert_string_equal(text.data, "From -3 to 64.");
    mx_string_release(&text);
    assert_int_equal(mx_catalogue_format(&text, MX_WORDS_PERSIAN, "From {0} to {1}.", values), 0);
    assert_string_equal(text.data, "از \u200e-3 تا 64.");
    mx_string_release(&text);
    assert_int_equal(mx_catalogue_format(&text, MX_WORDS_ENGLISH, "{1}, {0}, {1} and no more", values), 0);
    assert_string_equal(text.data, "64, -3, 64 and no more");
    mx_string_release(&text);
    mx_alloc_fail_at(1);
    assert_int_equal(mx_catalogue_format(&text, MX_WORDS_PERSIAN, "From {0} to {1}.", values), MX_ERR_NO_MEMORY);
    mx_alloc_fail_at(0);
    mx_string_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_language),
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_pages),
        cmocka_unit_test(test_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Lexicons: what a file may hold, which words of a text it changes, what becomes of them, and how a vocabulary keeps it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/string.h"
#include "myxtts/error.h"
#include "text/reading.h"
#include "text/vocabulary.h"

static struct mx_lexicon *parse(const char *text)
{
    struct mx_lexicon *lexicon;
    if (mx_lexicon_parse("words.txt", text, strlen(text), &lexicon) < 0) fail_msg("%s", mx_error_last()->message);
    return lexicon;
}

static const char words[] = "\xef\xbb\xbf# ours\r\n"
                            "[en]\r\n"
                            "  sql=sequel\n"
                            "GIF = /dʒ'i:.gf/\n"
                            "New York = /nuː jˈɔːɹk/\n"
                            "new = /njˈuː/\n"
                            "C++ = see plus plus\n"
                            "\n"
                            "[Persian]\n"
                            "كتاب = نوشته\n"
                            "[de]\n"
                            "Käse = /kˈeːz/";

/* What becomes of a text, for people: sounds stand in slashes. */
static char *said(const struct mx_lexicon *lexicon, enum mx_language_id language, const char *text,
                  struct mx_arena *arena)
{
    const struct mx_reading reading = {.lexicon = lexicon};
    static char out[512];
    char *spoken;
    assert_int_equal(mx_reading_text(&reading, language, text, strlen(text), arena, &spoken, NULL), 0);
    out[0] = 0;
    for (const char *at = spoken; *at;) {
        uint32_t point;
        const size_t bytes = mx_utf8_decode(at, &point);
        const struct mx_lexicon_entry *const entry = mx_lexicon_find(lexicon, point);
        if (entry != NULL) {
            strcat(strcat(strcat(out, "/"), entry->sounds), "/");
        } else {
            strncat(out, at, bytes);
        }
        at += bytes;
    }
    return out;
}

static void test_words(void **state)
{
    (void)state;
    static const struct {
        enum mx_language_id language;
        const char *text, *said;
    } cases[] = {
        {MX_LANGUAGE_EN, "SQL, sql and Sql.", "sequel, sequel and sequel."},
        {MX_LANGUAGE_EN, "mysql sqlite sql's", "mysql sqlite sequel's"},
        {MX_LANGUAGE_EN, "A GIF, a gif.", "a /dʒˈiːɡf/, a gif."},
        {MX_LANGUAGE_EN, "New York is new; new york too.", "/nuː jˈɔːɹk/ is /njˈuː/; /njˈuː/ york too."},
        {MX_LANGUAGE_EN, "New\n York NEW YORK", "/nuː jˈɔːɹk/ /njˈuː/ YORK"},
        {MX_LANGUAGE_EN, "C++ or C+", "see plus plus or C plus"},
        {MX_LANGUAGE_EN, "café.", "café."},
        {MX_LANGUAGE_FA, "کتاب من، sql", "نوشته من, sql"},
        {MX_LANGUAGE_DE, "Ka\u0308se, käse", "/kˈeːz/, käse"},
        {MX_LANGUAGE_FR, "sql", "sql"},
    };
    struct mx_lexicon *const lexicon = parse(words);
    struct mx_arena arena;
    mx_arena_init(&arena, 0);
    assert_int_equal(mx_lexicon_count(lexicon), 7);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(said(lexicon, cases[i].language, cases[i].text, &arena), cases[i].said);
    /* Private code points of the text itself never mean a word. */
    assert_string_equal(said(lexicon, MX_LANGUAGE_EN, "a \U000F0001 b", &arena), "a b");
    mx_arena_release(&arena);
    mx_lexicon_destroy(lexicon);
}

static void test_refusals(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"a = b\n", "words.txt:1:1: the language of this word is not given"},
        {"[xx]\n", "words.txt:1:2: unknown language 'xx'"},
        {"[en\n", "words.txt:1:4: the bracket ']' is missing"},
        {"[en]\n\nhello\n", "words.txt:3:6: the sign '=' is missing"},
        {"[en]\n = b\n", "words.txt:2:2: there is no word before '='"},
        {"[en]\na =  \n", "words.txt:2:4: there is nothing after '='"},
        {"[en]\na = /b\n", "words.txt:2:7: the slash at the end of the sounds is missing"},
        {"[en]\na = / . /\n", "words.txt:2:5: there are no sounds between the slashes"},
        {"[en]\nä = /ɛʞж/\n", "words.txt:2:8: 'ж' (U+0436) is no phoneme"},
        {"[en]\na = /b!/\n", "words.txt:2:7: '!' (U+0021) is no phoneme"},
        {"[en]\na = q ж\n", "words.txt:2:7: 'ж' (U+0436) cannot be read in English"},
        {"[en]\na⌘ = q\n", "words.txt:2:2: '⌘' (U+2318) cannot be read in English"},
        {"[en]\n... = q\n", "words.txt:2:1: this is no word"},
        {"[en]\na = ...\n", "words.txt:2:5: there is nothing to be said here"},
        {"[en]\nA = b\na = b\nA = c\n", "words.txt:4:1: 'A' is already in line 2"},
        {"[en]\nab\xff = c\n", "words.txt:2:3: this byte (0xFF) is no text in UTF-8"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct mx_lexicon *lexicon;
        const int rc = mx_lexicon_parse("words.txt", cases[i].text, strlen(cases[i].text), &lexicon);
        assert_true(rc == MX_ERR_DATA || rc == MX_ERR_CONFIG);
        assert_null(lexicon);
        assert_string_equal(mx_error_last()->message, cases[i].message);
    }
    struct mx_lexicon *lexicon;
    assert_int_equal(mx_lexicon_parse("words.txt", "[en]\na\0 = b", 11, &lexicon), MX_ERR_DATA);
    assert_non_null(strstr(mx_error_last()->message, "words.txt:2:2"));
}

static void test_merging(void **state)
{
    (void)state;
    struct mx_lexicon *const one = parse("[en]\nb = two\na = one\n[fa]\nآب = آبی\n");
    struct mx_lexicon *const other = parse("# other order\n[fa]\nآب = آبی\n[en]\na = one\nb = two\n");
    struct mx_lexicon *const over = parse("[en]\nA = big\nb = /bˈiː/\n");
    struct mx_lexicon *merged, *again;
    assert_true(mx_lexicon_same(one, other));
    assert_true(mx_lexicon_hash(one) == mx_lexicon_hash(other));
    assert_false(mx_lexicon_same(one, over));
    assert_false(mx_lexicon_same(one, NULL));
    assert_int_equal(mx_lexicon_merge(one, over, &merged), 0);
    assert_int_equal(mx_lexicon_count(merged), 4);
    again = parse(mx_lexicon_text(merged));
    assert_true(mx_lexicon_same(merged, again));
    assert_non_null(strstr(mx_lexicon_text(merged), "b = /bˈiː/"));
    assert_null(strstr(mx_lexicon_text(merged), "two"));
    mx_lexicon_destroy(again);
    mx_lexicon_destroy(merged);
    assert_int_equal(mx_lexicon_merge(NULL, NULL, &merged), 0);
    assert_int_equal(mx_lexicon_count(merged), 0);
    mx_lexicon_destroy(merged);
    mx_lexicon_destroy(over);
    mx_lexicon_destroy(other);
    mx_lexicon_destroy(one);
}

static void test_vocabulary(void **state)
{
    (void)state;
    static const uint32_t symbols[] = {' ', 'b', 'd', 'f', 0x261, 'i', 0x292, 0x2c8, 0x2d0};
    struct mx_lexicon *const good = parse("[en]\nGIF = /dʒ'i:.gf/\n[fa]\nآب = /ʔɒb/\n");
    struct mx_lexicon *const bad = parse("[en]\n\nb = /b.i.h/\n");
    struct mx_vocabulary *vocabulary, *again, *chars;
    char *json;
    assert_int_equal(mx_vocabulary_create(MX_TOKENS_PHONEMES, &vocabulary), 0);
    assert_int_equal(mx_vocabulary_add(vocabulary, symbols, sizeof symbols / sizeof *symbols), 0);
    assert_int_equal(mx_vocabulary_add_language(vocabulary, MX_LANGUAGE_EN), 0);
    assert_int_equal(mx_vocabulary_check_lexicon(vocabulary, good), 0); /* it speaks no Persian */
    assert_int_equal(mx_vocabulary_check_lexicon(vocabulary, bad), MX_ERR_DATA);
    assert_non_null(strstr(mx_error_last()->message, "words.txt:3:10: 'h' (U+0068) in the sounds of 'b'"));
    assert_int_equal(mx_vocabulary_add_lexicon(vocabulary, good), 0);
    assert_int_equal(mx_vocabulary_write(vocabulary, &json), 0);
    assert_int_equal(mx_vocabulary_read(json, strlen(json), &again), 0);
    assert_true(mx_lexicon_same(mx_vocabulary_reading(again)->lexicon, good));
    assert_int_equal(mx_vocabulary_reading(again)->cleaner, MX_TEXT_CLEANER_VERSION);
    mx_free(json);
    mx_vocabulary_destroy(again);
    mx_vocabulary_destroy(vocabulary);
    assert_int_equal(mx_vocabulary_create(MX_TOKENS_CHARS, &chars), 0);
    assert_int_equal(mx_vocabulary_add_lexicon(chars, bad), MX_ERR_CONFIG);
    assert_non_null(
        strstr(mx_error_last()->message, "words.txt:3:5: sounds are given for a voice that reads characters"));
    mx_vocabulary_destroy(chars);
    mx_lexicon_destroy(bad);
    mx_lexicon_destroy(good);
}

/* Sounds are found again among those of their neighbours, which sound as they do beside any word. */
static void test_sounds(void **state)
{
    (void)state;
    static const struct {
        enum mx_language_id language;
        const char *text, *phonemes;
    } cases[] = {
        {MX_LANGUAGE_EN, "a GIF.", "ɐ dʒˈiːɡf."},         {MX_LANGUAGE_EN, "the GIF's", "ðə dʒˈiːɡfz"},
        {MX_LANGUAGE_EN, "GIF, GIF", "dʒˈiːɡf, dʒˈiːɡf"}, {MX_LANGUAGE_EN, "New York", "nuː jˈɔːɹk"},
        {MX_LANGUAGE_DE, "der Käse", "dɛɾ kˈeːz"},
    };
    struct mx_phonemizer *phonemizer;
    struct mx_lexicon *const lexicon = parse(words);
    const struct mx_reading reading = {.lexicon = lexicon};
    struct mx_arena arena;
    mx_arena_init(&arena, 0);
    if (mx_phonemizer_available()) {
        assert_int_equal(mx_phonemizer_get(&phonemizer), 0);
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            char *spoken, *phonemes, *plain;
            assert_int_equal(mx_reading_text(&reading, cases[i].language, cases[i].text, strlen(cases[i].text), &arena,
                                             &spoken, NULL),
                             0);
            assert_int_equal(mx_reading_phonemes(&reading, phonemizer, cases[i].language, spoken, &arena, &phonemes),
                             0);
            assert_string_equal(phonemes, cases[i].phonemes);
            assert_int_equal(mx_reading_plain(&reading, spoken, &arena, &plain), 0);
            assert_string_equal(plain, cases[i].text);
        }
    }
    mx_arena_release(&arena);
    mx_lexicon_destroy(lexicon);
    if (!mx_phonemizer_available()) skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),      cmocka_unit_test(test_refusals), cmocka_unit_test(test_merging),
        cmocka_unit_test(test_vocabulary), cmocka_unit_test(test_sounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

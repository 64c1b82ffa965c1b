/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The sentences of demo corpora: how many, all different, always the same, rightly spelled, and rich in sounds. Every
 * sentence of both languages is looked at.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/string.h"
#include "demo/sentences.h"
#include "myxtts/error.h"
#include "support/cores.h"

#define ZWNJ  0x200Cu
#define KASRA 0x0650u

#define DEMO_LANGUAGES 2 /* the first ones of the table of languages; test_languages sees to it */

static struct mx_sentence *sentences_all(enum mx_language_id language, uint64_t seed, uint32_t *count)
{
    *count = mx_sentences_count(language);
    struct mx_sentence *const all = mx_alloc(*count, sizeof *all);
    assert_non_null(all);
    for (uint32_t i = 0; i < *count; i++)
        if (mx_sentences_get(language, seed, i, &all[i]) != 0) fail_msg("%u: %s", i, mx_error_last()->message);
    return all;
}

static int spoken_compare(const void *a, const void *b)
{
    return strcmp(((const struct mx_sentence *)a)->spoken, ((const struct mx_sentence *)b)->spoken);
}

static unsigned words_count(const char *text)
{
    unsigned words = 1;
    for (; *text != '\0'; text++) words += *text == ' ';
    return words;
}

static void test_counts(void **state)
{
    (void)state;
    assert_true(mx_sentences_count(MX_LANGUAGE_EN) >= 5000);
    assert_true(mx_sentences_handwritten(MX_LANGUAGE_EN) >= 300);
    assert_true(mx_sentences_count(MX_LANGUAGE_FA) >= 500);
    assert_true(mx_sentences_handwritten(MX_LANGUAGE_FA) >= 200);
}

/* The list of demo languages names languages of the table by their codes; no other language has sentences. */
static void test_languages(void **state)
{
    (void)state;
    int listed = 0;
#define X(identifier, listed_code, data, teacher)                                                                      \
    assert_string_equal(mx_language_get(MX_LANGUAGE_##identifier)->code, listed_code);                                 \
    listed++;
    MX_DEMO_LANGUAGE_LIST(X)
#undef X
    assert_int_equal(listed, DEMO_LANGUAGES);
    for (int i = 0; i < MX_LANGUAGE_COUNT; i++)
        assert_int_equal(mx_sentences_count((enum mx_language_id)i) > 0, i < DEMO_LANGUAGES);
}

/* No two sentences of a seed are said alike; so no two are written alike either. */
static void test_all_different(void **state)
{
    (void)state;
    static const uint64_t seeds[] = {0, 42, UINT64_MAX};
    for (int language = 0; language < DEMO_LANGUAGES; language++)
        for (size_t s = 0; s < sizeof seeds / sizeof *seeds; s++) {
            uint32_t count;
            struct mx_sentence *const all = sentences_all((enum mx_language_id)language, seeds[s], &count);
            qsort(all, count, sizeof *all, spoken_compare);
            for (uint32_t i = 1; i < count; i++)
                if (spoken_compare(&all[i - 1], &all[i]) == 0) fail_msg("twice: %s", all[i].spoken);
            mx_free(all);
        }
}

static void test_pure_function(void **state)
{
    (void)state;
    for (int language = 0; language < DEMO_LANGUAGES; language++) {
        uint32_t count, moved = 0, fresh = 0;
        const uint32_t base = mx_sentences_handwritten((enum mx_language_id)language);
        struct mx_sentence *const all = sentences_all((enum mx_language_id)language, 7, &count);
        for (uint32_t i = count; i-- > 0;) {
            struct mx_sentence again, other;
            memset(&again, 0x55, sizeof again);
            assert_int_equal(mx_sentences_get((enum mx_language_id)language, 7, i, &again), 0);
            assert_string_equal(again.written, all[i].written);
            assert_string_equal(again.spoken, all[i].spoken);
            assert_int_equal(mx_sentences_get((enum mx_language_id)language, 8, i, &other), 0);
            if (i < base)
                moved += strcmp(other.spoken, all[i].spoken) != 0;
            else
                fresh += strcmp(other.spoken, all[i].spoken) != 0;
        }
        /* Another seed: the hand-written ones in another order, the grammar with other words. */
        assert_true(moved > base * 9 / 10);
        assert_true(fresh > (count - base) * 9 / 10);
        /* The hand-written ones are the same set whatever the seed. */
        struct mx_sentence *const others = sentences_all((enum mx_language_id)language, 8, &count);
        qsort(all, base, sizeof *all, spoken_compare);
        qsort(others, base, sizeof *others, spoken_compare);
        for (uint32_t i = 0; i < base; i++) assert_string_equal(all[i].written, others[i].written);
        mx_free(others);
        mx_free(all);
    }
}

static void test_bad_arguments(void **state)
{
    (void)state;
    struct mx_sentence sentence;
    assert_int_equal(mx_sentences_get(MX_LANGUAGE_EN, 0, mx_sentences_count(MX_LANGUAGE_EN), &sentence),
                     MX_ERR_ARGUMENT);
    assert_int_equal(mx_sentences_get(MX_LANGUAGE_FA, 0, UINT32_MAX, &sentence), MX_ERR_ARGUMENT);
}

/* ---- spelling ---- */

/* What holds for both forms of both languages. */
static void line_check(const char *text, const char *ends)
{
    const size_t length = strlen(text);
    if (length < 8 || mx_utf8_check(text, length) != length) fail_msg("bad text: %s", text);
    if (strpbrk(text, "|\"[]{}/+\t\r\n") != NULL) fail_msg("mark of the grammar or of the manifest in: %s", text);
    if (strstr(text, "  ") != NULL || text[0] == ' ') fail_msg("spaces: %s", text);
    if (strstr(text, " ,") != NULL || strstr(text, " .") != NULL || strstr(text, " ?") != NULL)
        fail_msg("space before a sign: %s", text);
    bool ended = false;
    for (; *ends != '\0' && !ended;) {
        uint32_t code;
        const size_t step = mx_utf8_decode(ends, &code);
        ended = length > step && memcmp(text + length - step, ends, step) == 0;
        ends += step;
    }
    if (!ended) fail_msg("no end: %s", text);
}

/* a before consonants, an before vowels; the exceptions are those that the sentences use. */
static void article_check(const char *text)
{
    for (const char *at = text; (at = strchr(at, ' ')) != NULL; at++) {
        const bool single = strncmp(at, " a ", 3) == 0, vowel = strncmp(at, " an ", 4) == 0;
        if (!single && !vowel) continue;
        const char *const word = at + (single ? 3 : 4);
        const bool sounds = strchr("aeiou", word[0]) != NULL || strncmp(word, "hour", 4) == 0;
        if (sounds != vowel) fail_msg("wrong article: %s", text);
    }
}

static void test_english_spelling(void **state)
{
    (void)state;
    uint32_t count, different = 0;
    struct mx_sentence *const all = sentences_all(MX_LANGUAGE_EN, 3, &count);
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ .,;!?'-";
    static const char digits[] = "0123456789$%:";
    for (uint32_t i = 0; i < count; i++) {
        const char *const written = all[i].written, *const spoken = all[i].spoken;
        line_check(written, ".?!");
        line_check(spoken, ".?!");
        const size_t plain = strspn(spoken, letters);
        if (spoken[plain] != '\0') fail_msg("'%c' is no spoken letter: %s", spoken[plain], spoken);
        for (const char *at = written; *at != '\0'; at++)
            if (strchr(letters, *at) == NULL && strchr(digits, *at) == NULL) fail_msg("'%c': %s", *at, written);
        if (spoken[0] < 'A' || spoken[0] > 'Z') fail_msg("no capital: %s", spoken);
        if (strstr(spoken, "r. ") != NULL && strstr(written, "r. ") != NULL) fail_msg("abbreviation: %s", spoken);
        article_check(spoken);
        different += strcmp(written, spoken) != 0;
    }
    /* Enough work for a normaliser, and not only that. */
    assert_true(different > count / 20 && different < count / 2);
    mx_free(all);
}

/* May this character stand in a Persian sentence? No Arabic ye (U+064A) and kaf (U+0643), no Arabic digits. */
static bool persian_known(uint32_t code, bool written)
{
    static const uint32_t others[] = {' ',    '.',   '!',    ':',    0x060C, 0x061B, 0x061F, 0x0622, 0x0626, 0x064B,
                                      0x064F, KASRA, 0x0654, 0x067E, 0x0686, 0x0698, 0x06A9, 0x06AF, 0x06CC, ZWNJ};
    if (code >= 0x0627 && code <= 0x063A) return code != 0x0629; /* no te marbuta either */
    if (code >= 0x0641 && code <= 0x0648) return code != 0x0643;
    if (code >= 0x06F0 && code <= 0x06F9) return written;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (others[i] == code) return true;
    return false;
}

static void persian_check(const char *text, bool written)
{
    uint32_t before = ' ';
    line_check(text, ".؟!");
    for (const char *at = text; *at != '\0';) {
        uint32_t code;
        at += mx_utf8_decode(at, &code);
        if (!persian_known(code, written)) fail_msg("U+%04X in: %s", (unsigned)code, text);
        /* A half-space joins two letters; a mark stands on a letter; the ezafe after alef is a ye, not a kasra. */
        const bool mark = code == KASRA || code == 0x0654;
        if (code == ZWNJ && (before == ' ' || before == ZWNJ)) fail_msg("half-space: %s", text);
        if (before == ZWNJ && (code < 0x0622 || mark)) fail_msg("half-space: %s", text);
        if (mark && (before < 0x0622 || before == KASRA || before == 0x0627)) fail_msg("ezafe: %s", text);
        if (code == 0x0654 && before != 0x0647) fail_msg("hamza: %s", text);
        before = code;
    }
    static const char *const apart[] = {" می ", " نمی ", " ها ", " های ", " ام ", " تر ", " ؟", " ،", "هایِ"};
    for (size_t i = 0; i < sizeof apart / sizeof *apart; i++)
        if (strstr(text, apart[i]) != NULL) fail_msg("'%s' in: %s", apart[i], text);
    if (strncmp(text, "می ", strlen("می ")) == 0) fail_msg("half-space: %s", text);
}

static void test_persian_spelling(void **state)
{
    (void)state;
    uint32_t count, different = 0, joined = 0, ezafe = 0, hamza = 0;
    struct mx_sentence *const all = sentences_all(MX_LANGUAGE_FA, 3, &count);
    for (uint32_t i = 0; i < count; i++) {
        persian_check(all[i].written, true);
        persian_check(all[i].spoken, false);
        different += strcmp(all[i].written, all[i].spoken) != 0;
        joined += strstr(all[i].written, "\u200C") != NULL;
        ezafe += strstr(all[i].written, "\u0650") != NULL;
        hamza += strstr(all[i].written, "\u0654") != NULL;
    }
    assert_true(different > count / 20);
    assert_true(joined > count / 5);
    assert_true(ezafe > count / 3);
    assert_true(hamza > count / 50);
    mx_free(all);
}

/* The ezafe that the grammar writes, by the last letter of the word. */
static void test_persian_ezafe(void **state)
{
    (void)state;
    static const struct {
        const char *right, *wrong;
    } rows[] = {
        {"کتابِ ", "کتابی "}, {"پالتوی ", "پالتوِ"},     {"روزنامهٔ ", "روزنامهِ"},
        {"قیچیِ ", "قیچیی "}, {"هواپیمای ", "هواپیماِ"}, {"سیاهِ خود", "سیاهٔ"},
    };
    uint32_t count;
    struct mx_sentence *const all = sentences_all(MX_LANGUAGE_FA, 5, &count);
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        uint32_t right = 0;
        for (uint32_t i = mx_sentences_handwritten(MX_LANGUAGE_FA); i < count; i++) {
            right += strstr(all[i].spoken, rows[r].right) != NULL;
            if (strstr(all[i].spoken, rows[r].wrong) != NULL) fail_msg("%s", all[i].spoken);
        }
        if (right == 0) fail_msg("'%s' does not occur", rows[r].right);
    }
    mx_free(all);
}

/* The normaliser makes the same of both forms, capitals aside: what a teacher reads is what a model learns as read. */
static void test_forms_agree(void **state)
{
    (void)state;
    struct mx_arena arena;
    mx_arena_init(&arena, 0);
    for (int language = 0; language < DEMO_LANGUAGES; language++) {
        uint32_t count;
        struct mx_sentence *const all = sentences_all((enum mx_language_id)language, 1, &count);
        for (uint32_t i = 0; i < count; i++) {
            const char *const forms[2] = {all[i].written, all[i].spoken};
            char *out[2];
            for (int f = 0; f < 2; f++)
                if (mx_text_normalise((enum mx_language_id)language, forms[f], strlen(forms[f]), &arena, &out[f],
                                      NULL) < 0)
                    fail_msg("%s: %s", forms[f], mx_error_last()->message);
            if (strcasecmp(out[0], out[1]) != 0) fail_msg("'%s' is not '%s'", out[0], out[1]);
            mx_arena_reset(&arena);
        }
        mx_free(all);
    }
    mx_arena_release(&arena);
}

/* ---- variety ---- */

static void test_lengths(void **state)
{
    (void)state;
    static const unsigned shortest[] = {4, 3}, longest[] = {18, 16};
    for (int language = 0; language < DEMO_LANGUAGES; language++) {
        uint32_t count, questions = 0, calls = 0, brief = 0, extended = 0;
        uint64_t total = 0;
        const uint32_t base = mx_sentences_handwritten((enum mx_language_id)language);
        struct mx_sentence *const all = sentences_all((enum mx_language_id)language, 1, &count);
        for (uint32_t i = 0; i < count; i++) {
            const unsigned words = words_count(all[i].spoken);
            if (words < shortest[language] || words > longest[language]) fail_msg("%u words: %s", words, all[i].spoken);
            total += words;
            if (i >= base) continue;
            brief += words <= 5;
            extended += words >= 10;
            questions += strstr(all[i].spoken, language == MX_LANGUAGE_EN ? "?" : "؟") != NULL;
            calls += strchr(all[i].spoken, '!') != NULL;
        }
        const double mean = (double)total / count;
        if (mean < 6 || mean > 12) fail_msg("%.1f words on average", mean);
        assert_true(brief > base / 20);
        assert_true(extended > base / 20);
        assert_true(questions > base / 12);
        assert_true(calls > base / 30);
        mx_free(all);
    }
}

/* How often one of the spellings of a sound occurs in the first sentences of a seed. */
static unsigned spelling_count(const struct mx_sentence *all, uint32_t count, const char *spellings)
{
    unsigned found = 0;
    for (uint32_t i = 0; i < count; i++)
        for (const char *at = spellings; *at != '\0';) {
            const size_t length = strcspn(at, "/");
            char spelling[16];
            snprintf(spelling, sizeof spelling, "%.*s", (int)length, at);
            found += strcasestr(all[i].spoken, spelling) != NULL;
            at += length + (at[length] == '/');
        }
    return found;
}

/* Letters and letter groups stand for the sounds of English; even a small corpus must have them all. */
static void test_english_sounds_by_letters(void **state)
{
    (void)state;
    static const char *const sounds[] = {
        "p",           "b",          "t",         "d",  "k/ck", "g",     "f/ph",       "v",     "the /that/this/with",
        "thr/thi/th.", "s",          "z",         "sh", "ch",   "j/dge", "sure/sion ", "ng",    "l",
        "r",           "w/wh",       "y",         "h",  "ee",   "oo",    "oy/oi",      "ou/ow", "ai/ay",
        "igh/ine/ime", "oa/ome/one", "aw/au/all", "ar", "er",   "x",     "qu"};
    struct mx_sentence all[300];
    for (uint64_t seed = 0; seed < 3; seed++) {
        for (uint32_t i = 0; i < 300; i++) assert_int_equal(mx_sentences_get(MX_LANGUAGE_EN, seed, i, &all[i]), 0);
        for (size_t i = 0; i < sizeof sounds / sizeof *sounds; i++)
            if (spelling_count(all, 300, sounds[i]) < 4) fail_msg("seed %d: '%s' is rare", (int)seed, sounds[i]);
    }
}

/* The real sounds, where the phonemiser's program is installed. */
static void test_english_sounds_by_phonemes(void **state)
{
    (void)state;
    static const char *const sounds[] = {"p", "b", "t", "d",  "k",  "ɡ",  "f",  "v",  "θ",  "ð",  "s",  "z",  "ʃ", "ʒ",
                                         "h", "m", "n", "ŋ",  "l",  "ɹ",  "w",  "j",  "tʃ", "dʒ", "ɪ",  "ɛ",  "æ", "ʌ",
                                         "ʊ", "ə", "ɚ", "ɜː", "iː", "uː", "ɔː", "ɑː", "eɪ", "aɪ", "ɔɪ", "aʊ", "oʊ"};
    char path[] = "/tmp/test_sentences_XXXXXX", command[128], line[4096];
    unsigned found[sizeof sounds / sizeof *sounds] = {0};
    if (system("command -v espeak-ng >/dev/null 2>&1") != 0) skip();
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    FILE *const list = fdopen(fd, "w");
    assert_non_null(list);
    for (uint32_t i = 0; i < 300; i++) {
        struct mx_sentence sentence;
        assert_int_equal(mx_sentences_get(MX_LANGUAGE_EN, 0, i, &sentence), 0);
        fprintf(list, "%s\n", sentence.spoken);
    }
    assert_int_equal(fclose(list), 0);
    snprintf(command, sizeof command, "espeak-ng -v en-us -q --ipa -f %s", path);
    FILE *const phonemes = popen(command, "r");
    assert_non_null(phonemes);
    while (fgets(line, sizeof line, phonemes) != NULL)
        for (size_t i = 0; i < sizeof sounds / sizeof *sounds; i++)
            for (const char *at = line; (at = strstr(at, sounds[i])) != NULL; at++) found[i]++;
    assert_int_equal(pclose(phonemes), 0);
    unlink(path);
    for (size_t i = 0; i < sizeof sounds / sizeof *sounds; i++)
        if (found[i] < 12) fail_msg("'%s' occurs %u times in 300 sentences", sounds[i], found[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_languages),
        cmocka_unit_test(test_all_different),
        cmocka_unit_test(test_pure_function),
        cmocka_unit_test(test_bad_arguments),
        cmocka_unit_test(test_english_spelling),
        cmocka_unit_test(test_persian_spelling),
        cmocka_unit_test(test_persian_ezafe),
        cmocka_unit_test(test_forms_agree),
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_english_sounds_by_letters),
        cmocka_unit_test(test_english_sounds_by_phonemes),
    };
    one_core();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

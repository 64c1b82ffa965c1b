/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Tokens: phonemes of both languages (where the build has espeak-ng), characters, the vocabulary and its stored form.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/string.h"
#include "base/thread/pool.h"
#include "myxtts/error.h"
#include "text/tokens.h"
#include "text/vocabulary.h"

/* ---- phonemes ---- */

/* The phonemes of written text, or a failed test. */
static char *phonemes_of(struct mx_phonemizer *phonemizer, enum mx_language_id language, const char *written,
                         struct mx_arena *arena)
{
    char *spoken, *phonemes;
    assert_int_equal(mx_text_normalise(language, written, strlen(written), arena, &spoken, NULL), 0);
    assert_int_equal(mx_phonemizer_run(phonemizer, language, spoken, arena, &phonemes), 0);
    return phonemes;
}

/* Phonemes without stress marks: stress is espeak-ng's own affair and may change with its version. */
static char *without_stress(char *phonemes)
{
    char *to = phonemes;
    for (const char *from = phonemes; *from;) {
        if (!strncmp(from, "ˈ", 2) || !strncmp(from, "ˌ", 2)) {
            from += 2;
        } else {
            *to++ = *from++;
        }
    }
    *to = 0;
    return phonemes;
}

static struct mx_phonemizer *get_or_skip(void)
{
    struct mx_phonemizer *phonemizer = NULL;
    if (!mx_phonemizer_available()) {
        assert_int_equal(mx_phonemizer_get(&phonemizer), MX_ERR_UNSUPPORTED);
        assert_non_null(strstr(mx_error_last()->hint, "libespeak-ng-dev"));
        skip();
    }
    assert_int_equal(mx_phonemizer_get(&phonemizer), 0);
    return phonemizer;
}

static void test_english(void **state)
{
    (void)state;
    static const struct {
        const char *written, *phonemes;
    } cases[] = {{"Hello, world.", "həloʊ, wɜːld."},
                 {"What?! Yes!", "wʌt? jɛs!"},
                 {"wait—no", "weɪt - noʊ"},
                 {"yes; no: maybe", "jɛs; noʊ: meɪbiː"},
                 {"mother-in-law", "mʌðɚɹɪnlɔː"},
                 {"AI", "eɪ aɪ"}, /* the letter a, not the article */
                 {"the USA's", "ðə juː ɛs eɪz"},
                 {"a day", "ɐ deɪ"},
                 {"", ""}};
    struct mx_phonemizer *phonemizer = get_or_skip();
    struct mx_arena arena;
    mx_arena_init(&arena, 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *phonemes = phonemes_of(phonemizer, MX_LANGUAGE_EN, cases[i].written, &arena);
        assert_string_equal(without_stress(phonemes), cases[i].phonemes);
    }
    assert_non_null(strstr(phonemes_of(phonemizer, MX_LANGUAGE_EN, "hello", &arena), "ˈ"));
    mx_arena_release(&arena);
}

static void test_persian(void **state)
{
    (void)state;
    static const struct {
        const char *written, *phonemes;
    } cases[] = {{"سلام، خوبی؟", "salɑm, xuːbi?"},
                 {"کتاب\u200cها", "ketɑbhɑ"},
                 {"می\u200cخواهم", "mixɑham"},
                 {"دانش\u200cآموز", "dɑneʃɑmuːz"},
                 {"ایران-عراق", "iːrɑn aːrɑq"},
                 {"قلم", "qalam"},
                 /* vowel signs */
                 {"مَرد", "mard"},
                 {"مُرد", "mord"},
                 {"گِل", "ɡel"},
                 {"گُل", "ɡol"},
                 {"کِشتی", "keʃti"},
                 {"کُشتی", "koʃti"},
                 {"مُعَلِّم", "moʔallem"},
                 {"مُحَمَّد", "mohammad"},
                 {"بچّه", "batʃtʃe"},
                 {"حتماً", "hatman"},
                 {"صُبْح", "sobh"},
                 {"مَدرِسه", "madrese"},
                 {"خانِه", "xɑne"},
                 {"بِه", "be"},
                 {"نَه", "na"},
                 {"نُه", "noh"},
                 {"دِه", "deh"},
                 {"توجّه", "tavadʒdʒoh"},
                 {"ذرّه", "zarre"},
                 {"خُوب", "xuːb"},
                 {"خُوش", "xoʃ"},
                 {"تُو", "to"},
                 {"رحمٰن", "rahmɑn"},
                 {"وُ", "o"},
                 /* ezafe */
                 {"کتاب من", "ketɑbe man"},
                 {"خانه ما", "xɑneːje mɑ"},
                 {"کتاب را", "ketɑb rɑ"},
                 {"پیرمرد مرد", "pirmard mord"},
                 {"کتابِ من", "ketɑbe man"},
                 {"پدرِ خوبِ من", "pedare xuːbe man"},
                 {"گُلِ سرخ", "ɡole sorx"},
                 {"راهِ دور", "rɑhe duːr"},
                 {"حقِّ من", "haqqe man"},
                 {"زندگیِ ما", "zendeɡie mɑ"},
                 {"خانهٔ ما", "xɑneːje mɑ"},
                 {"خانۀ ما", "xɑneːje mɑ"},
                 {"خانه\u200cی ما", "xɑneːje mɑ"},
                 {"خانهِ ما", "xɑneːje mɑ"},
                 {"برایِ ما", "barɑje mɑ"},
                 {"کتاب\u200cهای ما", "ketɑbhɑje mɑ"},
                 {"کتاب\u200cهایِ ما", "ketɑbhɑje mɑ"},
                 {"رادیوِ من", "rɑdijoje man"},
                 {"گاوِ ما", "ɡɑve mɑ"},
                 {"یکِ", "jeke"},
                 {"۱۴۰۳/۰۵/۱۲", "davɑzdahome mordɑde hezɑr va tʃɑhɑrsad va seː"},
                 /* another language inside: no mark of it is left */
                 {"NASA رفت", "nasɐ raft"}};
    struct mx_phonemizer *phonemizer = get_or_skip();
    struct mx_arena arena;
    mx_arena_init(&arena, 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *phonemes = phonemes_of(phonemizer, MX_LANGUAGE_FA, cases[i].written, &arena);
        assert_string_equal(without_stress(phonemes), cases[i].phonemes);
    }
    /* The ezafe is never stressed. */
    assert_null(strstr(phonemes_of(phonemizer, MX_LANGUAGE_FA, "یکِ", &arena), "ˈe "));
    assert_string_equal(phonemes_of(phonemizer, MX_LANGUAGE_FA, "کتابِ", &arena), "ketˈɑbe");
    assert_string_equal(phonemes_of(phonemizer, MX_LANGUAGE_FA, "شروعِ", &arena), "ʃˈoruːʔe");
    mx_arena_release(&arena);
}

/* There is one instance, and languages may alternate. */
static void test_shared(void **state)
{
    (void)state;
    struct mx_phonemizer *first = get_or_skip(), *second = get_or_skip();
    struct mx_arena arena;
    mx_arena_init(&arena, 0);
    assert_ptr_equal(first, second);
    char *english = phonemes_of(first, MX_LANGUAGE_EN, "good morning", &arena);
    char *persian = phonemes_of(second, MX_LANGUAGE_FA, "صبح بخیر", &arena);
    assert_string_equal(phonemes_of(second, MX_LANGUAGE_EN, "good morning", &arena), english);
    assert_string_equal(phonemes_of(first, MX_LANGUAGE_FA, "صبح بخیر", &arena), persian);
    mx_arena_release(&arena);
}

struct job {
    struct mx_phonemizer *phonemizer;
    const char *english, *persian;
    size_t wrong;
};

static void *speak_often(void *context)
{
    struct job *job = context;
    struct mx_arena arena;
    mx_arena_init(&arena, 0);
    for (int i = 0; i < 50; i++) {
        char *phonemes = NULL;
        const bool english = i % 2 == 0;
        if (mx_phonemizer_run(job->phonemizer, english ? MX_LANGUAGE_EN : MX_LANGUAGE_FA,
                              english ? "good morning, sir." : "صبح بخیر, آقا.", &arena, &phonemes) < 0 ||
            strcmp(phonemes, english ? job->english : job->persian)) {
            job->wrong++;
        }
        mx_arena_reset(&arena);
    }
    mx_arena_release(&arena);
    return NULL;
}

/* English has a dictionary; that of Norwegian is not named after its voice, which is no error. */
static void test_words(void **state)
{
    size_t words = 0;
    struct mx_string text = {0};
    (void)state;
    (void)get_or_skip();
    assert_int_equal(mx_phonemizer_words(MX_LANGUAGE_EN, &text, &words), 0);
    assert_true(words > 1000 && text.length > 4 * words);
    mx_string_release(&text);
    assert_int_equal(mx_phonemizer_words(MX_LANGUAGE_NB, &text, &words), 0);
    assert_int_equal(words, 0);
    assert_int_equal(mx_error_last()->code, 0);
    mx_string_release(&text);
}

static void test_threads(void **state)
{
    (void)state;
    struct mx_phonemizer *phonemizer = get_or_skip();
    struct mx_arena arena;
    pthread_t threads[3];
    struct job jobs[3];
    char *english, *persian;
    mx_arena_init(&arena, 0);
    assert_int_equal(mx_phonemizer_run(phonemizer, MX_LANGUAGE_EN, "good morning, sir.", &arena, &english), 0);
    assert_int_equal(mx_phonemizer_run(phonemizer, MX_LANGUAGE_FA, "صبح بخیر, آقا.", &arena, &persian), 0);
    for (int i = 0; i < 3; i++) {
        jobs[i] = (struct job){phonemizer, english, persian, 0};
        assert_int_equal(mx_thread_start(&threads[i], "speak", -1, speak_often, &jobs[i]), 0);
    }
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(jobs[i].wrong, 0);
    }
    mx_arena_release(&arena);
}

static void test_phonemes_refused(void **state)
{
    (void)state;
    struct mx_phonemizer *phonemizer = get_or_skip();
    struct mx_arena arena;
    char *phonemes;
    mx_arena_init(&arena, 0);
    assert_int_equal(mx_phonemizer_run(phonemizer, MX_LANGUAGE_EN, "ab\xff", &arena, &phonemes), MX_ERR_DATA);
    assert_non_null(strstr(mx_error_last()->message, "byte 2"));
    assert_int_equal(mx_phonemizer_run(NULL, MX_LANGUAGE_EN, "ab", &arena, &phonemes), MX_ERR_ARGUMENT);
    mx_arena_release(&arena);
}

static void test_phonemes_no_memory(void **state)
{
    (void)state;
    struct mx_phonemizer *phonemizer = get_or_skip();
    bool failed = true;
    for (uint64_t nth = 1; failed; nth++) {
        struct mx_arena arena;
        char *phonemes;
        mx_arena_init(&arena, 0);
        mx_alloc_fail_at(nth);
        const int rc =
            mx_phonemizer_run(phonemizer, MX_LANGUAGE_FA, "کتابِ من, خانه\u200cی ما, مَدرِسه.", &arena, &phonemes);
        mx_alloc_fail_at(0);
        failed = rc < 0;
        if (failed) assert_int_equal(rc, MX_ERR_NO_MEMORY);
        mx_arena_release(&arena);
        assert_true(nth < 100);
    }
}

/* ---- huge and odd input ---- */

/* `bytes` of repetitions of `piece` go through the cleaner and, cut to a part, through espeak-ng. */
static void speak_huge(struct mx_phonemizer *phonemizer, enum mx_language_id language, size_t bytes, const char *piece)
{
    struct mx_arena arena;
    char *text = malloc(bytes), *spoken, *phonemes;
    struct mx_symbols symbols;
    size_t length = 0;
    assert_non_null(text);
    mx_arena_init(&arena, 0);
    while (length + strlen(piece) <= bytes) {
        memcpy(text + length, piece, strlen(piece));
        length += strlen(piece);
    }
    assert_int_equal(mx_text_normalise(language, text, length, &arena, &spoken, NULL), 0);
    assert_int_equal(mx_tokens_from_text(MX_TOKENS_CHARS, NULL, language, spoken, &arena, &symbols), 0);
    assert_true(symbols.count > 0);
    if (phonemizer) {
        const size_t part = strlen(spoken) / 64;
        char *end = spoken + part;
        while (((unsigned char)*end & 0xc0) == 0x80) end--;
        *end = 0;
        assert_int_equal(mx_phonemizer_run(phonemizer, language, spoken, &arena, &phonemes), 0);
        assert_true(strlen(phonemes) > 0);
    }
    mx_arena_release(&arena);
    free(text);
}

static void test_huge(void **state)
{
    (void)state;
    const size_t mega = (size_t)1 << 20;
    struct mx_phonemizer *phonemizer = NULL;
    if (mx_phonemizer_available()) assert_int_equal(mx_phonemizer_get(&phonemizer), 0);
    speak_huge(phonemizer, MX_LANGUAGE_EN, mega, "The quick brown fox, etc. ");
    speak_huge(phonemizer, MX_LANGUAGE_EN, mega, "abcdefgh");
    speak_huge(phonemizer, MX_LANGUAGE_EN, mega / 16, "U.S.");
    speak_huge(NULL, MX_LANGUAGE_EN, mega / 16, "7");
    speak_huge(NULL, MX_LANGUAGE_EN, mega / 16, "1/");
    speak_huge(NULL, MX_LANGUAGE_EN, mega / 16, "1-");
    speak_huge(NULL, MX_LANGUAGE_EN, mega / 16,
               "a\u0301\u0323\u0301\u0323\u0301\u0323\u0301\u0323\u0301\u0323\u0301\u0323");
    speak_huge(phonemizer, MX_LANGUAGE_FA, mega, "این کتابِ خوبی است، ");
    speak_huge(phonemizer, MX_LANGUAGE_FA, mega / 16, "ها ");
    speak_huge(phonemizer, MX_LANGUAGE_FA, mega / 16, "کتاب");
    speak_huge(NULL, MX_LANGUAGE_FA, mega / 16, "۰-");
    speak_huge(NULL, MX_LANGUAGE_FA, mega / 16, "۱/");
}

/* ---- characters ---- */

static void test_chars(void **state)
{
    (void)state;
    struct mx_arena arena;
    struct mx_symbols symbols;
    mx_arena_init(&arena, 0);
    assert_int_equal(mx_tokens_from_text(MX_TOKENS_CHARS, NULL, MX_LANGUAGE_FA, "ها\u200ce\u0301!", &arena, &symbols),
                     0);
    const uint32_t expected[] = {0x647, 0x627, 0x200c, 'e', 0x301, '!'};
    assert_int_equal(symbols.count, sizeof expected / sizeof *expected);
    assert_memory_equal(symbols.codes, expected, sizeof expected);
    assert_int_equal(mx_tokens_from_text(MX_TOKENS_CHARS, NULL, MX_LANGUAGE_EN, "", &arena, &symbols), 0);
    assert_int_equal(symbols.count, 0);
    assert_int_equal(mx_tokens_from_text(MX_TOKENS_CHARS, NULL, MX_LANGUAGE_EN, "a\xc3", &arena, &symbols),
                     MX_ERR_DATA);
    assert_non_null(strstr(mx_error_last()->message, "byte 1"));
    enum mx_tokens_mode mode;
    assert_int_equal(mx_tokens_mode_parse("chars", &mode), 0);
    assert_int_equal(mode, MX_TOKENS_CHARS);
    assert_int_equal(mx_tokens_mode_parse("phonemes", &mode), 0);
    assert_int_equal(mode, MX_TOKENS_PHONEMES);
    assert_int_equal(mx_tokens_mode_parse("letters", &mode), MX_ERR_CONFIG);
    mx_arena_release(&arena);
}

/* ---- the vocabulary ---- */

static struct mx_vocabulary *small_vocabulary(void)
{
    struct mx_vocabulary *vocabulary;
    assert_int_equal(mx_vocabulary_create(MX_TOKENS_PHONEMES, &vocabulary), 0);
    assert_int_equal(mx_vocabulary_add(vocabulary, (const uint32_t[]){'b', 0x2c8, ' ', 'b', 'a', ','}, 6), 0);
    assert_int_equal(mx_vocabulary_add_language(vocabulary, MX_LANGUAGE_FA), 0);
    return vocabulary;
}

static void test_vocabulary(void **state)
{
    (void)state;
    struct mx_vocabulary *vocabulary = small_vocabulary();
    assert_int_equal(mx_vocabulary_size(vocabulary), 7);
    assert_int_equal(mx_vocabulary_find(vocabulary, ' '), 2); /* in the order of the code points */
    assert_int_equal(mx_vocabulary_find(vocabulary, ','), 3);
    assert_int_equal(mx_vocabulary_find(vocabulary, 'a'), 4);
    assert_int_equal(mx_vocabulary_find(vocabulary, 'b'), 5);
    assert_int_equal(mx_vocabulary_find(vocabulary, 0x2c8), 6);
    assert_int_equal(mx_vocabulary_find(vocabulary, 'c'), -1);
    /* More symbols and languages are appended; what was there keeps its number. */
    assert_int_equal(mx_vocabulary_add(vocabulary, (const uint32_t[]){'c', '!', 'a'}, 3), 0);
    assert_int_equal(mx_vocabulary_find(vocabulary, '!'), 7);
    assert_int_equal(mx_vocabulary_find(vocabulary, 'c'), 8);
    assert_int_equal(mx_vocabulary_find(vocabulary, 'a'), 4);
    assert_int_equal(mx_vocabulary_symbol(vocabulary, 8), 'c');
    assert_int_equal(mx_vocabulary_symbol(vocabulary, MX_TOKEN_BOS), 0);
    assert_int_equal(mx_vocabulary_symbol(vocabulary, -1), 0);
    assert_int_equal(mx_vocabulary_symbol(vocabulary, 9), 0);
    assert_int_equal(mx_vocabulary_add_language(vocabulary, MX_LANGUAGE_EN), 0);
    assert_int_equal(mx_vocabulary_add_language(vocabulary, MX_LANGUAGE_FA), 0);
    assert_int_equal(mx_vocabulary_languages(vocabulary), 2);
    assert_int_equal(mx_vocabulary_language(vocabulary, MX_LANGUAGE_FA), 0);
    assert_int_equal(mx_vocabulary_language(vocabulary, MX_LANGUAGE_EN), 1);
    assert_int_equal(mx_vocabulary_add(vocabulary, (const uint32_t[]){0xd800}, 1), MX_ERR_ARGUMENT);
    assert_int_equal(mx_vocabulary_add(vocabulary, NULL, 0), 0);
    mx_vocabulary_destroy(vocabulary);
    mx_vocabulary_destroy(NULL);
}

static void test_encode(void **state)
{
    (void)state;
    struct mx_vocabulary *vocabulary = small_vocabulary();
    struct mx_unknown_count unknown = {0};
    struct mx_arena arena;
    struct mx_tokens tokens;
    const struct mx_symbols text = {(const uint32_t[]){'a', 0x292, 'b', 0x292, 'z'}, 5}, none = {NULL, 0};
    mx_arena_init(&arena, 0);
    assert_int_equal(mx_vocabulary_encode(vocabulary, text, MX_UNKNOWN_SKIP, &arena, &tokens, &unknown), 0);
    assert_int_equal(tokens.count, 4);
    assert_memory_equal(tokens.numbers, ((const int32_t[]){MX_TOKEN_BOS, 4, 5, MX_TOKEN_EOS}), 4 * sizeof(int32_t));
    assert_int_equal(unknown.count, 3);
    assert_int_equal(unknown.first, 0x292);
    assert_int_equal(mx_vocabulary_encode(vocabulary, text, MX_UNKNOWN_REFUSE, &arena, &tokens, NULL), MX_ERR_DATA);
    assert_non_null(strstr(mx_error_last()->message, "'ʒ' (U+0292) at place 2"));
    assert_int_equal(mx_vocabulary_encode(vocabulary, none, MX_UNKNOWN_REFUSE, &arena, &tokens, NULL), 0);
    assert_int_equal(tokens.count, 2);
    mx_arena_release(&arena);
    mx_vocabulary_destroy(vocabulary);
}

static void test_json(void **state)
{
    (void)state;
    struct mx_vocabulary *vocabulary = small_vocabulary(), *again;
    char *json, *json_again;
    assert_int_equal(mx_vocabulary_add(vocabulary, (const uint32_t[]){'"', '\\', 0x200c, 0x10ffff}, 4), 0);
    assert_int_equal(mx_vocabulary_write(vocabulary, &json), 0);
    assert_int_equal(mx_vocabulary_read(json, strlen(json), &again), 0);
    assert_int_equal(mx_vocabulary_mode(again), MX_TOKENS_PHONEMES);
    assert_int_equal(mx_vocabulary_cleaner(again), MX_TEXT_CLEANER_VERSION);
    assert_int_equal(mx_vocabulary_size(again), mx_vocabulary_size(vocabulary));
    for (int32_t token = 0; (size_t)token < mx_vocabulary_size(again); token++) {
        assert_int_equal(mx_vocabulary_symbol(again, token), mx_vocabulary_symbol(vocabulary, token));
    }
    assert_int_equal(mx_vocabulary_language(again, MX_LANGUAGE_FA), 0);
    assert_int_equal(mx_vocabulary_languages(again), 1);
    assert_int_equal(mx_vocabulary_write(again, &json_again), 0);
    assert_string_equal(json, json_again);
    /* Every cut of it is refused. */
    for (size_t cut = 0; cut < strlen(json); cut++) {
        struct mx_vocabulary *none;
        assert_int_equal(mx_vocabulary_read(json, cut, &none), MX_ERR_FORMAT);
        assert_null(none);
    }
    mx_free(json);
    mx_free(json_again);
    mx_vocabulary_destroy(again);
    mx_vocabulary_destroy(vocabulary);
}

#define HEAD "{\"format\":\"myxtts-vocabulary\",\"version\":1,\"mode\":\"chars\",\"cleaner\":1,"

static void test_json_damaged(void **state)
{
    (void)state;
    static const struct {
        const char *json, *message;
        int code;
    } bad[] = {{"[]", "not a vocabulary", MX_ERR_FORMAT},
               {"{\"format\":\"x\"}", "not a vocabulary", MX_ERR_FORMAT},
               {"{\"format\":\"myxtts-vocabulary\",\"version\":2}", "version 2", MX_ERR_FORMAT},
               {"{\"format\":\"myxtts-vocabulary\",\"version\":1}", "cleaner", MX_ERR_FORMAT},
               {"{\"format\":\"myxtts-vocabulary\",\"version\":1,\"cleaner\":1,\"mode\":\"x\"}", "kind of tokens",
                MX_ERR_FORMAT},
               {HEAD "\"languages\":[]}", "no list of languages or symbols", MX_ERR_FORMAT},
               {HEAD "\"languages\":[\"xx\"],\"symbols\":[]}", "unknown language", MX_ERR_CONFIG},
               {HEAD "\"languages\":[1],\"symbols\":[]}", "not text", MX_ERR_FORMAT},
               {HEAD "\"languages\":[\"en\",\"en\"],\"symbols\":[]}", "twice", MX_ERR_FORMAT},
               {HEAD "\"languages\":[\"en\"],\"symbols\":[\"a\",\"bc\"]}", "symbol 2 of the vocabulary", MX_ERR_FORMAT},
               {HEAD "\"languages\":[\"en\"],\"symbols\":[\"\"]}", "symbol 1 of the vocabulary", MX_ERR_FORMAT},
               {HEAD "\"languages\":[\"en\"],\"symbols\":[7]}", "symbol 1 of the vocabulary", MX_ERR_FORMAT},
               {HEAD "\"languages\":[\"en\"],\"symbols\":[\"\\u0001\"]}", "symbol 1 of the vocabulary", MX_ERR_FORMAT},
               {HEAD "\"languages\":[\"en\"],\"symbols\":[\"a\",\"a\"]}", "'a' (U+0061) stands in the vocabulary twice",
                MX_ERR_FORMAT}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct mx_vocabulary *vocabulary;
        assert_int_equal(mx_vocabulary_read(bad[i].json, strlen(bad[i].json), &vocabulary), bad[i].code);
        assert_null(vocabulary);
        assert_non_null(strstr(mx_error_last()->message, bad[i].message));
        assert_string_not_equal(mx_error_last()->hint, "");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_english),
        cmocka_unit_test(test_persian),
        cmocka_unit_test(test_shared),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_phonemes_refused),
        cmocka_unit_test(test_phonemes_no_memory),
        cmocka_unit_test(test_huge),
        cmocka_unit_test(test_chars),
        cmocka_unit_test(test_vocabulary),
        cmocka_unit_test(test_encode),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_json_damaged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The table of languages, and the rules of languages without a cleaner: what is kept, what is said, and the tokens of
 * it. Spanish, French, Italian, Russian and German are looked at closely, others where they differ from those.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/string.h"
#include "myxtts/error.h"
#include "speech/split.h"
#include "support/cleaner.h"
#include "text/reading.h"
#include "text/text.h"
#include "text/tokens.h"
#include "text/vocabulary.h"

/* clang-format off: one case per line */
static const struct cleaner_case spanish[] = {
    {"¿Qué tal? ¡Muy bien!", "qué tal? muy bien!"},
    {"«Sí», dijo. El niño pidió pingüinos.", "sí, dijo. el niño pidió pingüinos."},
    {"Son 1.234,56 € (más o menos).", "son 1.234,56 €, más o menos."},
    {"A las 12:30; el 50 % de ÁRBOLES.", "a las 12:30; el 50 % de árboles."},
    {"Visite example.com hoy.", "visite example.com hoy."},
    {"J. L. Borges", "j l borges"},
    {"1 000 000 de 1939-1945 — -5 °C", "1000000 de 1939 1945 - -5 °c"},
    {"él y yo. Ella y tú.", "él y yo. ella y tú."},
};
static const struct cleaner_case french[] = {
    {"L’été, aujourd’hui : « C'est l'œuvre ! »", "l'été, aujourd'hui: c'est l'œuvre!"},
    {"J.-P. Ça va ?", "j p ça va?"},
    {"21,5 %", "21,5 %"},
    {"Où ? À Noël…", "où? à noël."},
    {"Qu'est-ce que c'est", "qu'est-ce que c'est"},
    {"1 000 000 €", "1000000 €"},
    {"1\u202f000\u00a0000 €", "1000000 €"},
};
static const struct cleaner_case italian[] = {
    {"Perché no? È un po' d'acqua.", "perché no? è un po d'acqua."},
    {"L'Aquila, c'è", "l'aquila, c'è"},
    {"1.000.000", "1.000.000"},
};
static const struct cleaner_case russian[] = {
    {"Привет, мир! Ёлка.", "привет, мир! ёлка."},
    {"А. С. Пушкин; и т.д.", "а с пушкин; и т.д."},
    {"«Да», — сказал он.", "да, сказал он."},
    {"Это был я. Потом 25 ₽, № 5.", "это был я. потом 25 ₽, № 5."},
    {"3,5 и 1 000 000", "3,5 и 1000000"},
};
static const struct cleaner_case german[] = {
    {"Äpfel & Öl über Straße.", "äpfel & öl über straße."},
    {"z.B. 3,5 Mio.", "z.b 3,5 mio."},
    {"„Ja“, sagte er.", "ja, sagte er."},
    {"§ 5, GROẞ", "§ 5, groß"},
    {"E-Mail 5'000", "e-mail 5000"},
};
static const struct cleaner_case greek[] = {{"Τι κάνεις; Καλά.", "τι κάνεις? καλά."}};
static const struct cleaner_case hindi[] = {{"नमस्ते। १२३ क्\u200dष", "नमस्ते. 123 क्\u200dष"}};
static const struct cleaner_case turkish[] = {{"ISPARTA İstanbul", "ısparta istanbul"}};
static const struct cleaner_case mandarin[] = {{"你好吗？我是学生。", "你好吗? 我是学生."}};
static const struct cleaner_case arabic[] = {{"مرحبا، كيف حالك؟ ٣٥", "مرحبا, كيف حالك? 35"}};
static const struct cleaner_case british[] = {{"Dr. Lee is 12.", "doctor lee is twelve."}};
/* clang-format on */

#define TABLE(identifier, cases)                                                                                       \
    {                                                                                                                  \
        MX_LANGUAGE_##identifier, cases, sizeof cases / sizeof cases[0]                                                \
    }
static const struct {
    enum mx_language_id language;
    const struct cleaner_case *cases;
    size_t count;
} tables[] = {TABLE(ES, spanish),  TABLE(FR, french), TABLE(IT, italian),   TABLE(RU, russian),
              TABLE(DE, german),   TABLE(EL, greek),  TABLE(HI, hindi),     TABLE(TR, turkish),
              TABLE(ZH, mandarin), TABLE(AR, arabic), TABLE(EN_GB, british)};
#define TABLES (sizeof tables / sizeof tables[0])

static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < TABLES; i++) {
        cleaner_says(tables[i].language, 2, tables[i].cases, tables[i].count);
        cleaner_is_stable(tables[i].language, 2, tables[i].cases, tables[i].count);
        cleaner_takes_prefixes(tables[i].language, tables[i].cases, tables[i].count);
    }
    cleaner_without_memory(MX_LANGUAGE_ES, spanish[2].written);
}

static void test_report(void **state)
{
    (void)state;
    const struct mx_text_report counts = {.controls_dropped = 1, .symbols_dropped = 1, .foreign_letters = 2};
    cleaner_reports(MX_LANGUAGE_RU, "Да\u200b ⌘ ok", "Да ok", &counts);
}

/* What is left of a text may stand in it; what is of another script may not. */
static void test_writes(void **state)
{
    (void)state;
    for (size_t i = 0; i < TABLES; i++)
        for (size_t k = 0; k < tables[i].count; k++)
            for (const char *at = tables[i].cases[k].spoken; *at != '\0';) {
                uint32_t point;
                at += mx_utf8_decode(at, &point);
                if (!mx_language_writes(tables[i].language, point))
                    fail_msg("U+%04X in \"%s\"", (unsigned)point, tables[i].cases[k].spoken);
            }
    assert_true(mx_language_writes(MX_LANGUAGE_RU, 0x44f));
    assert_false(mx_language_writes(MX_LANGUAGE_ES, 0x44f));
    assert_false(mx_language_writes(MX_LANGUAGE_EN, '5'));
    assert_false(mx_language_writes(MX_LANGUAGE_FA, '%'));
    assert_true(mx_language_writes(MX_LANGUAGE_ES, '5'));
    assert_false(mx_language_writes(MX_LANGUAGE_ES, 0x5b57));
    assert_true(mx_language_writes(MX_LANGUAGE_ZH, 0x5b57));
}

/* ---- the table ---- */

static void test_table(void **state)
{
    (void)state;
    for (int i = 0; i < MX_LANGUAGE_COUNT; i++) {
        const struct mx_language *const language = mx_language_get((enum mx_language_id)i);
        enum mx_language_id found;
        assert_true(strlen(language->code) < 8); /* the setting data.language */
        assert_int_equal(mx_language_parse(language->code, &found), 0);
        assert_int_equal(found, i); /* no code stands there twice */
        assert_int_equal(mx_language_parse(language->name, &found), 0);
        assert_int_equal(found, i);
        assert_int_equal(mx_language_detected((enum mx_language_id)i),
                         i == MX_LANGUAGE_EN || i == MX_LANGUAGE_FA || i == MX_LANGUAGE_RU);
    }
    enum mx_language_id found;
    assert_int_equal(mx_language_parse("Spanisch", &found), MX_ERR_CONFIG);
    assert_string_equal(mx_error_last()->message, "unknown language 'Spanisch'");
    assert_non_null(strstr(mx_error_last()->hint, "did you mean Spanish?"));
    assert_non_null(strstr(mx_error_last()->hint, " es, fr, de, it, ru,"));
    assert_non_null(strstr(mx_error_last()->hint, mx_language_get(MX_LANGUAGE_COUNT - 1)->code));
}

static void test_detect(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum mx_language_id language;
    } cases[] = {{"Привет, мир", MX_LANGUAGE_RU},
                 {"¿Qué tal?", MX_LANGUAGE_EN}, /* Latin letters are English unless a language is named */
                 {"مرحبا", MX_LANGUAGE_FA},
                 {"Слово hello", MX_LANGUAGE_EN}}; /* as many of both: the first in the list */
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        enum mx_language_id found = MX_LANGUAGE_COUNT;
        assert_int_equal(mx_text_detect(cases[i].text, strlen(cases[i].text), &found), 0);
        assert_int_equal(found, cases[i].language);
    }
    enum mx_language_id found;
    assert_int_equal(mx_text_detect("字字", strlen("字字"), &found), MX_ERR_DATA);
    assert_non_null(strstr(mx_error_last()->hint, "--language"));
}

/* ---- sentences ---- */

static void test_sentences(void **state)
{
    (void)state;
    static const struct {
        enum mx_language_id language;
        const char *text;
        const char *pieces[4];
    } cases[] = {
        {MX_LANGUAGE_ES, "¿Qué tal? ¡Muy bien! Son 3,14.", {"Qué tal?", "Muy bien!", "Son tres coma catorce."}},
        {MX_LANGUAGE_FR, "« Où est-il ? » Il est là.", {"Où est-il?", "Il est là."}},
        {MX_LANGUAGE_RU, "Да! А. С. Пушкин писал. «Кто?»", {"Да!", "А С Пушкин писал.", "Кто?"}},
        {MX_LANGUAGE_HI, "नमस्ते। अच्छा।", {"नमस्ते.", "अच्छा."}},
    };
    struct mx_arena arena;
    mx_arena_init(&arena, 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct mx_split_piece *pieces;
        size_t count, k = 0;
        char *spoken;
        assert_int_equal(
            mx_text_normalise(cases[i].language, cases[i].text, strlen(cases[i].text), &arena, &spoken, NULL), 0);
        assert_int_equal(mx_split_text(spoken, MX_SPLIT_CHARACTERS, &arena, &pieces, &count), 0);
        for (; k < 4 && cases[i].pieces[k] != NULL; k++) {
            assert_true(k < count);
            assert_string_equal(pieces[k].text, cases[i].pieces[k]);
        }
        assert_int_equal(count, k);
    }
    mx_arena_release(&arena);
}

/* ---- symbols ---- */

static char *phonemes_of(struct mx_phonemizer *phonemizer, enum mx_language_id language, const char *text,
                         struct mx_arena *arena)
{
    char *spoken, *phonemes;
    assert_int_equal(mx_text_normalise(language, text, strlen(text), arena, &spoken, NULL), 0);
    if (mx_phonemizer_run(phonemizer, language, spoken, arena, &phonemes) != 0)
        fail_msg("%s: %s", mx_language_get(language)->name, mx_error_last()->message);
    return phonemes;
}

/* Numbers are said in the language: the sound of a word of each is there. */
static void test_phonemes(void **state)
{
    (void)state;
    static const struct {
        enum mx_language_id language;
        const char *text, *parts[3];
    } cases[] = {{MX_LANGUAGE_ES, "El niño, ¿verdad? 3,14", {"ɲo, ", "? ", "koma"}},
                 {MX_LANGUAGE_FR, "Un bon vin blanc. 21 %", {"ɔ̃", ". ", "vɛ̃t"}},
                 {MX_LANGUAGE_IT, "Gli gnocchi! 1.000.000", {"ʎ", "! ", "milione"}},
                 {MX_LANGUAGE_RU, "Привет; 25", {"prʲivʲet; ", "dvɑdtsʌtʲ", "pʲɑtʲ"}},
                 {MX_LANGUAGE_DE, "Ich über Öl: 12:30", {"ɪç", "øːl: ", "tsvœlf"}},
                 {MX_LANGUAGE_VI, "xin chào", {"tʃ", "2", ""}}}; /* a tone */
    struct mx_phonemizer *phonemizer;
    struct mx_arena arena;
    if (!mx_phonemizer_available()) skip();
    assert_int_equal(mx_phonemizer_get(&phonemizer), 0);
    mx_arena_init(&arena, 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *const phonemes = phonemes_of(phonemizer, cases[i].language, cases[i].text, &arena), *to = phonemes;
        for (const char *from = phonemes; *from != '\0'; from++) {
            const bool stress = !strncmp(from, "ˈ", 2) || !strncmp(from, "ˌ", 2);
            if (stress)
                from++;
            else
                *to++ = *from;
        }
        *to = '\0';
        for (int k = 0; k < 3; k++)
            if (strstr(phonemes, cases[i].parts[k]) == NULL)
                fail_msg("\"%s\" is \"%s\", without \"%s\"", cases[i].text, phonemes, cases[i].parts[k]);
    }
    mx_arena_release(&arena);
}

/* Every language of the table has a voice of espeak-ng, whose symbols a corpus takes. (Seven read no numbers.) */
static void test_every_voice(void **state)
{
    (void)state;
    struct mx_phonemizer *phonemizer;
    struct mx_arena arena;
    if (!mx_phonemizer_available()) skip();
    assert_int_equal(mx_phonemizer_get(&phonemizer), 0);
    mx_arena_init(&arena, 0);
    for (int i = 0; i < MX_LANGUAGE_COUNT; i++) {
        const char *at = phonemes_of(phonemizer, (enum mx_language_id)i, "a, 1, 2.", &arena);
        assert_true(at[0] != '\0');
        while (*at != '\0') {
            uint32_t point;
            at += mx_utf8_decode(at, &point);
            if (!mx_language_speaks((enum mx_language_id)i, point))
                fail_msg("%s: U+%04X", mx_language_get((enum mx_language_id)i)->name, (unsigned)point);
        }
    }
    mx_arena_release(&arena);
}

/* Characters need no espeak-ng; numbers of tokens follow the code points. */
static void test_chars(void **state)
{
    (void)state;
    static const char text[] = "¿Año 21?";
    static const struct mx_reading third = {.cleaner = 3}; /* leaves digits in the text */
    /* From 2 on: ' ' 1 2 ? a o ñ */
    static const int32_t numbers[] = {MX_TOKEN_BOS, 6, 8, 7, 2, 4, 3, 5, MX_TOKEN_EOS};
    struct mx_arena arena;
    struct mx_vocabulary *vocabulary = NULL, *again = NULL;
    char *spoken, *json;
    struct mx_symbols symbols;
    struct mx_tokens tokens;
    mx_arena_init(&arena, 0);
    assert_int_equal(mx_reading_text(&third, MX_LANGUAGE_ES, text, strlen(text), &arena, &spoken, NULL), 0);
    assert_string_equal(spoken, "Año 21?");
    assert_int_equal(mx_tokens_from_text(MX_TOKENS_CHARS, NULL, MX_LANGUAGE_ES, spoken, &arena, &symbols), 0);
    assert_int_equal(mx_vocabulary_create(MX_TOKENS_CHARS, &vocabulary), 0);
    assert_int_equal(mx_vocabulary_add(vocabulary, symbols.codes, symbols.count), 0);
    assert_int_equal(mx_vocabulary_add_language(vocabulary, MX_LANGUAGE_ES), 0);
    assert_int_equal(mx_vocabulary_encode(vocabulary, symbols, MX_UNKNOWN_REFUSE, &arena, &tokens, NULL), 0);
    assert_int_equal(tokens.count, sizeof numbers / sizeof numbers[0]);
    assert_memory_equal(tokens.numbers, numbers, sizeof numbers);
    assert_int_equal(mx_vocabulary_write(vocabulary, &json), 0);
    assert_non_null(strstr(json, "\"languages\":[\"es\"]"));
    assert_int_equal(mx_vocabulary_read(json, strlen(json), &again), 0);
    assert_int_equal(mx_vocabulary_language(again, MX_LANGUAGE_ES), 0);
    assert_int_equal(mx_vocabulary_language(again, MX_LANGUAGE_EN), -1);
    mx_free(json);
    mx_vocabulary_destroy(again);
    mx_vocabulary_destroy(vocabulary);
    mx_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),    cmocka_unit_test(test_report),      cmocka_unit_test(test_writes),
        cmocka_unit_test(test_table),    cmocka_unit_test(test_detect),      cmocka_unit_test(test_sentences),
        cmocka_unit_test(test_phonemes), cmocka_unit_test(test_every_voice), cmocka_unit_test(test_chars),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

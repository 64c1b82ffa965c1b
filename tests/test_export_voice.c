/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Voices for other programs: how symbols are numbered and sent, what is refused, and the words of a lexicon. What the
 * graph makes of ids is left in MX_EXPORT_FOLDER for scripts/test/onnx_check.py (`make test-onnx`), if that is set.
 */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/string.h"
#include "export/lexicon.h"
#include "export/neighbours.h"
#include "export/symbols.h"
#include "myxtts/error.h"
#include "support/export_rig.h"

static void must(int rc)
{
    if (rc < 0) fail_msg("%s (%s)", mx_error_last()->message, mx_error_last()->hint);
}

/* The vocabulary with these symbols, in the order of their code points. */
static struct mx_vocabulary *vocabulary_of(enum mx_tokens_mode mode, const uint32_t *symbols, size_t count)
{
    struct mx_vocabulary *vocabulary;
    must(mx_vocabulary_create(mode, &vocabulary));
    must(mx_vocabulary_add(vocabulary, symbols, count));
    must(mx_vocabulary_add_language(vocabulary, MX_LANGUAGE_EN));
    return vocabulary;
}

static int64_t id_of(const struct mx_export_symbols *s, uint32_t point)
{
    for (size_t i = 0; i < s->spelling_count; i++)
        if (s->spellings[i].point == point) return s->spellings[i].id;
    return -1;
}

enum {
    CEDILLA = 0x327,
    CIRCUMFLEX = 0x302,
    ACUTE = 0x301,
    C_CEDILLA = 0xE7,
    E_CIRCUMFLEX_ACUTE = 0x1EBF,
    OHM = 0x2126,
    OMEGA = 0x3A9
};

/* 2: space, 3: comma, 4: full stop, 5: a, 6: e, 7: ç, 8: ế */
static const uint32_t symbols_list[] = {' ', ',', '.', 'a', 'e', C_CEDILLA, E_CIRCUMFLEX_ACUTE};
enum { COUNT = sizeof symbols_list / sizeof *symbols_list };

static void numbering(void **state)
{
    (void)state;
    struct mx_export_symbols s;
    struct mx_vocabulary *vocabulary = vocabulary_of(MX_TOKENS_PHONEMES, symbols_list, COUNT);
    must(mx_export_symbols_build(vocabulary, &s));
    assert_int_equal(s.tokens[MX_EXPORT_PAD], -1);
    assert_int_equal(s.tokens[MX_EXPORT_BEGIN], MX_TOKEN_BOS);
    assert_int_equal(s.tokens[MX_EXPORT_END_OF_TEXT], MX_TOKEN_EOS);
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(id_of(&s, symbols_list[i]), i + MX_EXPORT_FIRST);
        assert_int_equal(s.tokens[i + MX_EXPORT_FIRST], i + MX_TOKEN_FIRST);
    }
    /* Parts that are no symbols: c, its cedilla, circumflex, acute; and what e and a circumflex make. */
    assert_int_equal(s.ids, COUNT + MX_EXPORT_FIRST + 5 + 2 /* of src/export/neighbours.h */);
    assert_int_equal(s.tokens[id_of(&s, 'c')], -1);
    assert_int_equal(s.tokens[id_of(&s, CEDILLA)], -1);
    assert_int_equal(s.pair_count, 4);
    assert_int_equal(s.pairs[0].first, id_of(&s, 'c'));
    assert_int_equal(s.pairs[0].second, id_of(&s, CEDILLA));
    assert_int_equal(s.pairs[0].whole, id_of(&s, C_CEDILLA));
    assert_int_equal(s.pairs[1].first, id_of(&s, 'e'));
    assert_int_equal(s.pairs[1].second, id_of(&s, CIRCUMFLEX));
    assert_int_equal(s.pairs[2].first, s.pairs[1].whole);
    assert_int_equal(s.pairs[2].second, id_of(&s, ACUTE));
    assert_int_equal(s.pairs[2].whole, id_of(&s, E_CIRCUMFLEX_ACUTE));
    assert_true(s.neighbours);
    assert_int_equal(s.pairs[3].first, s.join);
    assert_int_equal(s.tokens[s.pairs[3].whole], -1);
    assert_int_equal(s.passes, 2);
    assert_int_equal(id_of(&s, 'A'), -1);
    mx_export_symbols_release(&s);
    mx_vocabulary_destroy(vocabulary);

    /* Characters: capitals stand for small letters. A sign that is another one in NFD is sent as that. */
    const uint32_t others[] = {'a', 'b', OHM};
    vocabulary = vocabulary_of(MX_TOKENS_CHARS, others, 3);
    must(mx_export_symbols_build(vocabulary, &s));
    assert_int_equal(id_of(&s, 'A'), id_of(&s, 'a'));
    assert_int_equal(id_of(&s, 'B'), id_of(&s, 'b'));
    assert_int_equal(id_of(&s, OMEGA), id_of(&s, OHM));
    assert_int_equal(s.pair_count, 0);
    assert_int_equal(s.space, -1);
    assert_false(s.neighbours);
    mx_export_symbols_release(&s);
    mx_vocabulary_destroy(vocabulary);
}

static void symbols_of_their_own(void **state)
{
    (void)state;
    static const uint32_t taken[] = {'_', '^', '$'};
    for (int i = 0; i < 3; i++) {
        const uint32_t list[] = {'a', taken[i]};
        struct mx_export_symbols s;
        char name[MX_SYMBOL_NAME_BYTES];
        struct mx_vocabulary *const vocabulary = vocabulary_of(MX_TOKENS_PHONEMES, list, 2);
        assert_int_equal(mx_export_symbols_build(vocabulary, &s), MX_ERR_UNSUPPORTED);
        assert_non_null(strstr(mx_error_last()->message, mx_symbol_name(taken[i], name)));
        assert_null(s.tokens);
        mx_vocabulary_destroy(vocabulary);
        mx_error_clear();
    }
}

/* ---- reading ---- */

#define LENGTH_MAX 16

/* Ids, what they say, and where that stands. Texts in comments: . is a pad, ^ begins, $ ends. */
struct reading {
    int32_t ids[LENGTH_MAX], tokens[LENGTH_MAX], places[LENGTH_MAX];
    int id_count, token_count;
};

/* An id that is silent but before the neighbours of a set. */
static int32_t silent_of(const struct mx_export_symbols *s, int64_t id, unsigned heard)
{
    return (int32_t)(id + s->ids * (int64_t)(MX_EXPORT_ALWAYS_SILENT & ~heard));
}

static void reading(void **state)
{
    (void)state;
    struct mx_export_symbols s;
    struct mx_vocabulary *const vocabulary = vocabulary_of(MX_TOKENS_PHONEMES, symbols_list, COUNT);
    must(mx_export_symbols_build(vocabulary, &s));
    const int32_t c = (int32_t)id_of(&s, 'c'), cedilla = (int32_t)id_of(&s, CEDILLA);
    const int32_t circumflex = (int32_t)id_of(&s, CIRCUMFLEX), acute = (int32_t)id_of(&s, ACUTE);
    /* An a that is heard before a vowel, an e that is heard elsewhere, and the ends of a word and an article that join */
    const int32_t heard = silent_of(&s, 6, 1u << MX_EXPORT_VOWEL),
                  else_heard = (int32_t)(7 + s.ids * (1 << MX_EXPORT_VOWEL));
    const int32_t join = silent_of(&s, s.join, 1u << MX_EXPORT_ARTICLE), article = (int32_t)s.article;
    const struct reading readings[] = {
        /* Piper: ^.a.,. .e.$ */
        {{1, 0, 6, 0, 4, 0, 3, 0, 7, 0, 2}, {0, 5, 3, 2, 6, 1}, {0, 2, 4, 6, 8, 10}, 11, 6},
        /* Parts with pads between them: ^.c.¸.a.$; e, circumflex, acute */
        {{1, 0, c, 0, cedilla, 0, 6, 0, 2}, {0, 7, 5, 1}, {0, 2, 6, 8}, 9, 4},
        {{1, 0, 7, 0, circumflex, 0, acute, 0, 7, 0, 2}, {0, 8, 6, 1}, {0, 2, 8, 10}, 11, 4},
        /* Parts that stay alone are left out: c, then e and a circumflex, which is no symbol together */
        {{1, c, 6, 7, circumflex, 6, 2}, {0, 5, 5, 1}, {0, 2, 5, 6}, 7, 4},
        /* A symbol that is sent as itself: ç */
        {{1, 8, 2}, {0, 7, 1}, {0, 1, 2}, 3, 3},
        /* sherpa-onnx: "a ,e .␣" without begin and end */
        {{6, 3, 4, 7, 3, 5, 3}, {0, 5, 3, 2, 6, 4, 1}, {0, 0, 1, 2, 3, 4, 6}, 7, 7},
        /* Spaces: " a  e " */
        {{1, 3, 6, 3, 3, 7, 3, 2}, {0, 5, 2, 6, 1}, {0, 2, 4, 5, 7}, 8, 5},
        /* Words that see the next one: before a vowel, a consonant, a mark, and the end; "a" and "ç" are words */
        {{8, heard, else_heard, 3, 6, 3}, {0, 7, 5, 2, 5, 1}, {0, 0, 1, 3, 4, 5}, 6, 6},
        {{8, heard, else_heard, 3, 8, 3}, {0, 7, 6, 2, 7, 1}, {0, 0, 2, 3, 4, 5}, 6, 6},
        {{8, heard, else_heard, 3, 4, 6}, {0, 7, 6, 3, 2, 5, 1}, {0, 0, 2, 3, 4, 5, 5}, 6, 7},
        {{8, heard, else_heard}, {0, 7, 6, 1}, {0, 0, 2, 2}, 3, 4},
        /* and the next one is for another word */
        {{heard, else_heard, 3, 8, 3, 6}, {0, 6, 2, 7, 2, 5, 1}, {0, 1, 2, 3, 4, 5, 5}, 6, 7},
        /* The article joins; another word does not */
        {{8, join, 3, article, 6, 3, 6}, {0, 7, 5, 2, 5, 1}, {0, 0, 4, 5, 6, 6}, 7, 6},
        {{8, join, 3, 6, 3, 6}, {0, 7, 2, 5, 2, 5, 1}, {0, 0, 2, 3, 4, 5, 5}, 6, 7},
        /* Nothing to say */
        {{1, 2}, {0, 1}, {0, 1}, 2, 2},
    };
    struct export_file file = export_file_open("symbols");
    for (size_t i = 0; i < sizeof readings / sizeof *readings; i++) {
        const struct reading *const r = &readings[i];
        export_case_begin(&file);
        export_case_ints(&file, "ids", r->ids, r->id_count);
        export_case_ints(&file, "tokens", r->tokens, r->token_count);
        export_case_ints(&file, "places", r->places, r->token_count);
        export_case_end(&file);
    }
    struct mx_onnx onnx = {0};
    const struct mx_onnx_dimension ids[] = {{"ids", 0}}, tokens[] = {{"tokens", 0}};
    const struct mx_onnx_value in = mx_onnx_input(&onnx, "ids", MX_ONNX_INT64, ids, 1);
    const struct mx_export_reading out = mx_export_symbols_read(&onnx, &s, in);
    mx_onnx_output(&onnx, out.tokens, "tokens", MX_ONNX_INT64, tokens, 1);
    mx_onnx_output(&onnx, out.places, "places", MX_ONNX_INT64, tokens, 1);
    export_file_close(&file, &onnx);
    mx_onnx_release(&onnx);
    mx_export_symbols_release(&s);
    mx_vocabulary_destroy(vocabulary);
}

/* ---- words ---- */

static int lexicon_write(const struct mx_vocabulary *vocabulary, const char *given, const char *path, size_t *words)
{
    struct mx_export_symbols symbols;
    must(mx_export_symbols_build(vocabulary, &symbols));
    const int rc = mx_export_lexicon_write(vocabulary, &symbols, MX_LANGUAGE_EN, given, path, words);
    mx_export_symbols_release(&symbols);
    return rc;
}

/* What a text has besides words, and readings before other words. */
static void lexicon_neighbours(void **state)
{
    (void)state;
    if (!mx_phonemizer_available()) skip();
    static const char symbols[] = " abdefhijklmnoprstuvwzæðŋɐɑɔəɚɛɜɡɪɹɾʃʊʌʒˈˌːθᵻɫ";
    uint32_t list[64];
    size_t count = 0, words = 0, bytes;
    for (const char *at = symbols; *at != 0;) at += mx_utf8_decode(at, &list[count++]);
    struct mx_vocabulary *const vocabulary = vocabulary_of(MX_TOKENS_PHONEMES, list, count);
    struct mx_export_symbols s;
    must(mx_export_symbols_build(vocabulary, &s));
    char *const path = export_path_of("neighbours.txt"), *text;
    must(
        lexicon_write(vocabulary,
                      "Her uncle said on the 20th of May that her dog slept.\nThe old dog slept in the old house, "
                      "so her dog and the uncle slept.\nProf. Old rose by 5%.\nThe dog slept by the dog and the house.",
                      path, &words));
    must(mx_file_read(path, 1 << 21, &text, &bytes));
    assert_non_null(strstr(text, "\n% p ɚ s ˈ ɛ n t\n"));
    assert_non_null(strstr(text, "\n20th t w ˈ ɛ n t i ə θ\n"));
    assert_non_null(strstr(text, "\nprof p ɹ ə f ˈ ɛ s ɚ\n"));
    assert_non_null(strstr(text, "\n100 w ˈ ʌ n ␣ h ˈ ʌ n d ɹ ɪ d\n"));
    assert_non_null(strstr(text, "\n3rd θ ˈ ɜ ː d\n"));
    assert_non_null(strstr(text, "\nb b ˈ i ː\n"));
    /* "the": marked as the article, with ə but before vowels; "her": with ɹ before them; "in" joins the article. */
    char sign[5][5] = {"", "", "", "", ""}, line[64];
    const uint32_t signs[] = {
        mx_export_neighbours_sign(&s, s.article, 0),
        mx_export_neighbours_sign(&s, id_of(&s, 0x259), 1u << MX_EXPORT_VOWEL),
        mx_export_neighbours_sign(&s, id_of(&s, 0x26A), MX_EXPORT_ALWAYS_SILENT & ~(1u << MX_EXPORT_VOWEL)),
        mx_export_neighbours_sign(&s, id_of(&s, 0x279), MX_EXPORT_ALWAYS_SILENT & ~(1u << MX_EXPORT_VOWEL)),
        mx_export_neighbours_sign(&s, s.join, MX_EXPORT_ALWAYS_SILENT & ~(1u << MX_EXPORT_ARTICLE)),
    };
    for (int i = 0; i < 5; i++) (void)mx_symbol_utf8(signs[i], sign[i]);
    (void)snprintf(line, sizeof line, "\nthe %s ð %s %s\n", sign[0], sign[1], sign[2]);
    assert_non_null(strstr(text, line));
    (void)snprintf(line, sizeof line, "\nher h ɜ ː %s\n", sign[3]);
    assert_non_null(strstr(text, line));
    (void)snprintf(line, sizeof line, "\nin ɪ n %s\n", sign[4]);
    assert_non_null(strstr(text, line));
    mx_free(text);
    mx_export_symbols_release(&s);
    export_path_done(path);
    mx_vocabulary_destroy(vocabulary);
}

static void lexicon(void **state)
{
    (void)state;
    if (!mx_phonemizer_available()) skip();
    static const uint32_t list[] = {'h',           'l',           't', 'b', 0x259 /* ə */, 0x28A /* ʊ */, 'o',
                                    0x2C8 /* ˈ */, 0x28C /* ʌ */, 'z', 'w', 'u',           0x2D0 /* ː */};
    struct mx_vocabulary *const vocabulary = vocabulary_of(MX_TOKENS_PHONEMES, list, sizeof list / sizeof *list);
    char *const path = export_path_of("lexicon.txt"), *text;
    size_t words = 0, bytes;
    must(lexicon_write(vocabulary, "Hello, boat! Fish, hello; sheep was\n\ntwo", path, &words));
    must(mx_file_read(path, 1000, &text, &bytes));
    /* "2" is the only number that these symbols can say. */
    assert_string_equal(text, "2 t ˈ u ː\nboat b ˈ o ʊ t\nhello h ə l ˈ o ʊ\no ˈ o ʊ\ntwo t ˈ u ː\nwas w ʌ z\n");
    assert_int_equal(words, 4);
    mx_free(text);
    /* Twice within a sentence, once alone: the word is read as it is within the sentence. */
    must(lexicon_write(vocabulary, "to\nhello to hello\nboat to hello", path, &words));
    must(mx_file_read(path, 1000, &text, &bytes));
    assert_non_null(strstr(text, "\nto t ə\n"));
    assert_int_equal(words, 3);
    mx_free(text);
    /* Words of the voice's own lexicon: with sounds, with words, with a blank and with an unknown symbol. */
    struct mx_lexicon *own;
    static const char given[] = "[en]\nBoat = /bˈət/\nship = hello\nbig boat = hello\nfish = /ɪ/\n[fa]\nآب = آبی\n";
    must(mx_lexicon_parse("own.txt", given, strlen(given), &own));
    must(mx_vocabulary_add_lexicon(vocabulary, own));
    must(lexicon_write(vocabulary, "Hello, Boat was", path, &words));
    must(mx_file_read(path, 1000, &text, &bytes));
    assert_string_equal(text, "2 t ˈ u ː\nboat b ˈ ə t\nhello h ə l ˈ o ʊ\no ˈ o ʊ\nship h ə l ˈ o ʊ\nwas w ʌ z\n");
    assert_int_equal(words, 4);
    mx_free(text);
    mx_lexicon_destroy(own);
    export_path_done(path);
    char *const none = export_path_of("none.txt");
    assert_int_equal(lexicon_write(vocabulary, "fish", none, &words), MX_ERR_DATA);
    assert_int_equal(lexicon_write(vocabulary, "...", none, &words), MX_ERR_DATA);
    mx_error_clear();
    mx_free(none);
    mx_vocabulary_destroy(vocabulary);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbering), cmocka_unit_test(symbols_of_their_own), cmocka_unit_test(reading),
        cmocka_unit_test(lexicon),   cmocka_unit_test(lexicon_neighbours),
    };
    return cmocka_run_group_tests(tests, export_folder_open, export_folder_close);
}

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A long text as words: every word is a part of the text, in order and without gaps, and has its own tokens.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "align/text.h"
#include "base/string.h"
#include "myxtts/error.h"

/* A vocabulary of characters, so that libespeak-ng is not needed. */
static struct mx_vocabulary *letters_make(void)
{
    struct mx_vocabulary *v;
    uint32_t symbols[64];
    size_t count = 0;
    for (uint32_t c = 'a'; c <= 'z'; c++) symbols[count++] = c;
    for (const char *m = " ,.!?;:-'"; *m; m++) symbols[count++] = (unsigned char)*m;
    assert_int_equal(mx_vocabulary_create(MX_TOKENS_CHARS, &v), 0);
    assert_int_equal(mx_vocabulary_add(v, symbols, count), 0);
    assert_int_equal(mx_vocabulary_add_language(v, MX_LANGUAGE_EN), 0);
    return v;
}

/* The tokens of a word as text. */
static void word_spoken(const struct mx_vocabulary *v, const struct mx_align_text *t, int32_t w, char *out)
{
    size_t length = 0;
    for (int32_t i = t->words[w].first; i < t->words[w].last; i++)
        length += mx_symbol_utf8(mx_vocabulary_symbol(v, t->tokens[i]), out + length);
    out[length] = '\0';
}

static void expect_read(const struct mx_vocabulary *v, const char *text, const char *const *written,
                        const char *const *spoken)
{
    const struct mx_align_part part = {.end = strlen(text)};
    struct mx_align_text t;
    char said[256];
    int32_t count = 0;
    assert_int_equal(mx_align_text_read(text, &part, 1, MX_LANGUAGE_EN, v, &t), 0);
    while (written[count] != NULL) count++;
    assert_int_equal(t.word_count, count);
    for (int32_t w = 0; w < count; w++) {
        const size_t length = t.words[w].end - t.words[w].begin;
        assert_int_equal(length, strlen(written[w]));
        assert_memory_equal(text + t.words[w].begin, written[w], length);
        word_spoken(v, &t, w, said);
        assert_string_equal(said, spoken[w]);
        assert_true(w == 0 || t.words[w].first >= t.words[w - 1].last);
    }
    mx_align_text_release(&t);
}

static void expect_words(const char *text, const char *const *written, const char *const *spoken)
{
    struct mx_vocabulary *const v = letters_make();
    expect_read(v, text, written, spoken);
    mx_vocabulary_destroy(v);
}

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

static void words(void **state)
{
    (void)state;
    expect_words("Good morning,  Ann.\nBye!", LIST("Good", "morning,", "Ann.", "Bye!"),
                 LIST("good", "morning", "ann", "bye"));
    /* what depends on its neighbours, and what says nothing */
    expect_words("Dr. Lee has 12 dogs.", LIST("Dr.", "Lee", "has", "12", "dogs."),
                 LIST("doctor", "lee", "has", "twelve", "dogs"));
    expect_words("* One \u2014 two *", LIST("* One \u2014", "two *"), LIST("one", "two"));
    expect_words("in 1995 we", LIST("in", "1995", "we"), LIST("in", "nineteen ninety-five", "we"));
}

/* A voice reads with its own lexicon. */
static void lexicon(void **state)
{
    static const char entries[] = "[en]\nnginx = engine x\n";
    struct mx_vocabulary *const v = letters_make();
    struct mx_lexicon *l;
    (void)state;
    assert_int_equal(mx_lexicon_parse("l", entries, sizeof entries - 1, &l), 0);
    assert_int_equal(mx_vocabulary_add_lexicon(v, l), 0);
    mx_lexicon_destroy(l);
    expect_read(v, "We use nginx here.", LIST("We", "use", "nginx", "here."), LIST("we", "use", "engine x", "here"));
    mx_vocabulary_destroy(v);
}

static void units(void **state)
{
    struct mx_vocabulary *const v = letters_make();
    static const char text[] = "One two. Three, Mr. A. Four?\n\nFive";
    const struct mx_align_part parts[] = {{.end = 8}, {.begin = 9, .end = sizeof text - 1, .from = 1, .until = 2}};
    static const enum mx_align_break after[] = {
        MX_ALIGN_BREAK_WORD, MX_ALIGN_BREAK_PARAGRAPH, MX_ALIGN_BREAK_COMMA,    MX_ALIGN_BREAK_WORD,
        MX_ALIGN_BREAK_WORD, MX_ALIGN_BREAK_PARAGRAPH, MX_ALIGN_BREAK_PARAGRAPH};
    struct mx_align_text t;
    (void)state;
    assert_int_equal(mx_align_text_read(text, parts, 2, MX_ALIGN_DETECT, v, &t), 0);
    assert_int_equal(t.language, MX_LANGUAGE_EN);
    assert_true(t.language_known);
    assert_int_equal(t.word_count, 7);
    assert_int_equal(t.unit_count, 3);
    for (int32_t w = 0; w < 7; w++) {
        assert_int_equal(t.words[w].after, after[w]);
        assert_int_equal(t.words[w].part, w >= 2);
        const struct mx_align_unit *const u = &t.units[t.words[w].unit];
        assert_true(t.words[w].first > u->first && t.words[w].last < u->last);
        assert_int_equal(t.tokens[u->first], MX_TOKEN_BOS);
        assert_int_equal(t.tokens[u->last - 1], MX_TOKEN_EOS);
    }
    mx_align_text_release(&t);
    mx_vocabulary_destroy(v);
}

static void refusals(void **state)
{
    struct mx_vocabulary *const v = letters_make();
    struct mx_align_part part = {.end = 3};
    struct mx_align_text t;
    char longest[1000];
    (void)state;
    assert_int_equal(mx_align_text_read("...", &part, 1, MX_LANGUAGE_EN, v, &t), MX_ERR_DATA);
    assert_int_equal(mx_align_text_read("", &part, 0, MX_LANGUAGE_EN, v, &t), MX_ERR_DATA);
    memset(longest, 'a', sizeof longest);
    part.end = sizeof longest;
    assert_int_equal(mx_align_text_read(longest, &part, 1, MX_LANGUAGE_EN, v, &t), MX_ERR_DATA);
    /* a language that the voice never heard is read as one that it knows; unknown letters are counted */
    part.end = strlen("Grüße");
    assert_int_equal(mx_align_text_read("Grüße", &part, 1, MX_LANGUAGE_DE, v, &t), 0);
    assert_false(t.language_known);
    assert_int_equal(t.language_number, 0);
    assert_int_equal(t.replaced.count + t.unknown.count, 2);
    mx_align_text_release(&t);
    assert_int_equal(mx_align_nearest_symbol(v, 0x251), mx_vocabulary_find(v, 'a')); /* ɑ */
    assert_int_equal(mx_align_nearest_symbol(v, 0x281), mx_vocabulary_find(v, 'x')); /* ʁ */
    assert_int_equal(mx_align_nearest_symbol(v, 0x4e00), -1);
    mx_vocabulary_destroy(v);
}

/* Words that merge, change and vanish in company. */
static void owners(void **state)
{
    static const uint32_t a[] = {'o', 'f'}, b[] = {'t', 'h', 'e'},
                          all[] = {'x', ' ', 'o', 't', 'h', 'i', ',', ' ', 'q'};
    static const uint32_t c[] = {'x'}, d[] = {'q'};
    const struct mx_symbols list[] = {{c, 1}, {a, 2}, {b, 3}, {NULL, 0}, {d, 1}};
    const struct mx_align_match match = {.unit = {all, 9}, .words = list, .word_count = 5};
    static const int32_t wanted[] = {0, -1, 1, 2, 2, 2, -1, -1, 4};
    int32_t found[9];
    (void)state;
    assert_int_equal(mx_align_match_owners(&match, found), 0);
    for (int i = 0; i < 9; i++) assert_int_equal(found[i], wanted[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words),    cmocka_unit_test(lexicon), cmocka_unit_test(units),
        cmocka_unit_test(refusals), cmocka_unit_test(owners),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Scripts of plain text: the items that are made one after the other are those of the whole text read at once.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "myxtts/error.h"
#include "speech/script.h"
#include "speech/split.h"
#include "text/text.h"
#include "text/tokens.h"

/* A vocabulary of ASCII, Persian letters and the letters of the IPA that English needs. */
static struct mx_vocabulary *vocabulary_make(enum mx_tokens_mode mode, bool persian)
{
    static const struct {
        uint32_t first, last;
    } ranges[] = {{' ', '~'}, {0xe6, 0xf0}, {0x14b, 0x153}, {0x250, 0x2d0}, {0x600, 0x6ff}, {0x200c, 0x200c}};
    struct mx_vocabulary *vocabulary;
    assert_int_equal(mx_vocabulary_create(mode, &vocabulary), 0);
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        for (uint32_t point = ranges[i].first; point <= ranges[i].last; point++)
            if (persian || point < 0x600) assert_int_equal(mx_vocabulary_add(vocabulary, &point, 1), 0);
    if (persian) assert_int_equal(mx_vocabulary_add_language(vocabulary, MX_LANGUAGE_FA), 0);
    assert_int_equal(mx_vocabulary_add_language(vocabulary, MX_LANGUAGE_EN), 0);
    return vocabulary;
}

/* ---- the whole text at once, as a specification ---- */

struct expected {
    struct mx_arena arena;
    struct mx_speak_item items[64];
    size_t count, paragraphs, tokens;
    struct mx_unknown_count unknown;
};

static void paragraph_expect(struct expected *e, const struct mx_speak_script_options *o, const char *text,
                             size_t begin, size_t length)
{
    const enum mx_tokens_mode mode = mx_vocabulary_mode(o->vocabulary);
    const size_t before = e->count;
    struct mx_phonemizer *phonemizer = NULL;
    enum mx_language_id language = (enum mx_language_id)o->language;
    struct mx_split_piece *pieces;
    size_t count;
    char *normalised;
    if (mode == MX_TOKENS_PHONEMES) assert_int_equal(mx_phonemizer_get(&phonemizer), 0);
    if (o->language == MX_SPEAK_DETECT && mx_text_detect(text + begin, length, &language) < 0)
        language = MX_LANGUAGE_EN;
    assert_int_equal(mx_text_normalise(language, text + begin, length, &e->arena, &normalised, NULL), 0);
    assert_int_equal(mx_split_text(normalised, o->piece_characters ? o->piece_characters : MX_SPLIT_CHARACTERS,
                                   &e->arena, &pieces, &count),
                     0);
    for (size_t i = 0; i < count; i++) {
        struct mx_symbols symbols;
        struct mx_tokens tokens;
        assert_int_equal(mx_tokens_from_text(mode, phonemizer, language, pieces[i].text, &e->arena, &symbols), 0);
        assert_int_equal(mx_vocabulary_encode(o->vocabulary, symbols, MX_UNKNOWN_SKIP, &e->arena, &tokens, &e->unknown),
                         0);
        if (tokens.count <= 2) continue;
        assert_true(e->count < sizeof e->items / sizeof *e->items);
        e->items[e->count++] = (struct mx_speak_item){.tokens = tokens.numbers,
                                                      .count = (int32_t)tokens.count,
                                                      .language = mx_vocabulary_language(o->vocabulary, language),
                                                      .speed = o->speed,
                                                      .pitch_semitones = o->pitch_semitones,
                                                      .volume = o->volume,
                                                      .pause_ms = pieces[i].pause_ms * o->pause_scale / o->speed,
                                                      .text = pieces[i].text,
                                                      .source_begin = begin,
                                                      .source_length = length};
        e->tokens += tokens.count;
    }
    if (e->count == before) return;
    e->items[e->count - 1].pause_ms = MX_SPLIT_PARAGRAPH_MS * o->pause_scale / o->speed;
    e->paragraphs++;
}

static void expect(struct expected *e, const struct mx_speak_script_options *o, const char *text)
{
    size_t at = 0, begin, length;
    *e = (struct expected){0};
    mx_arena_init(&e->arena, 0);
    while (mx_split_paragraph(text, strlen(text), &at, &begin, &length)) paragraph_expect(e, o, text, begin, length);
    if (e->count > 0) e->items[e->count - 1].pause_ms = 0;
}

static void compare(const struct mx_speak_script_options *o, const char *text)
{
    struct expected e;
    struct mx_speak_script *script;
    struct mx_speak_item item;
    expect(&e, o, text);
    assert_int_equal(mx_speak_script_open(o, text, strlen(text), &script), 0);
    for (size_t i = 0; i < e.count; i++) {
        const struct mx_speak_item *const want = &e.items[i];
        assert_int_equal(mx_speak_script_next(script, &item), 1);
        assert_string_equal(item.text, want->text);
        assert_int_equal(item.count, want->count);
        assert_memory_equal(item.tokens, want->tokens, (size_t)item.count * sizeof *item.tokens);
        for (int32_t k = 0; k < item.count; k++) {
            const bool end = k == 0 || k == item.count - 1;
            assert_true((item.symbols[k] == 0) == end);
            if (!end) assert_int_equal(mx_vocabulary_find(o->vocabulary, item.symbols[k]), item.tokens[k]);
        }
        assert_int_equal(item.language, want->language);
        assert_true(item.speed == want->speed && item.pitch_semitones == want->pitch_semitones);
        assert_true(item.volume == want->volume && item.before_ms == 0 && item.pause_ms == want->pause_ms);
        assert_null(item.speaker);
        assert_int_equal(item.source_begin, want->source_begin);
        assert_int_equal(item.source_length, want->source_length);
        assert_int_equal(mx_speak_script_counts(script).items, i + 1);
        assert_true(mx_speak_script_pieces(script) > i);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(mx_speak_script_next(script, &item), 0);
        assert_null(item.tokens);
    }
    const struct mx_speak_script_counts counts = mx_speak_script_counts(script);
    assert_int_equal(counts.items, e.count);
    assert_int_equal(counts.paragraphs, e.paragraphs);
    assert_int_equal(counts.tokens, e.tokens);
    assert_int_equal(counts.unknown.count, e.unknown.count);
    assert_int_equal(counts.unknown.first, e.unknown.first);
    assert_int_equal(mx_speak_script_pieces(script), e.count);
    assert_null(mx_speak_script_warning(script, 0));
    mx_speak_script_close(script);
    mx_arena_release(&e.arena);
}

/* ---- tests ---- */

static const char endless[] =
    "a very long sentence that goes on and on, because nobody ever told the one who wrote it that a full stop is a "
    "great invention, which makes the one who reads it, and those who listen, happy; and so it must be cut somewhere, "
    "preferably at a mark, or else between two words that have nothing to say to each other";

static const char *const texts[] = {
    "",
    " \n\n ",
    "***",
    "Hello, world. This is 1 test!",
    "one two three. four five?\n\nsix",
    "Dr. Smith paid $5.50 on 3/4/2021; then he left: why - nobody knows!\nThe same paragraph\n \nThe next one",
    "é",
    "é. Unknown: \xe4\xbd\xa0\xe5\xa5\xbd. \xe4\xbd\xa0\xe5\xa5\xbd. And on.\n\n\xe4\xbd\xa0\n\nlast \xe5\xa5\xbd",
    "12 34.\n\n56",
    endless,
    "سلام دنیا. حال شما چطور است؟ امروز ۱۲ مهر است.\n\nHello, and again: سلام!\n\nخداحافظ",
};

static void same_items(void **state)
{
    (void)state;
    for (int mode = 0; mode < MX_TOKENS_COUNT; mode++) {
        if (mode == MX_TOKENS_PHONEMES && !mx_phonemizer_available()) continue;
        struct mx_vocabulary *const vocabulary = vocabulary_make((enum mx_tokens_mode)mode, true);
        struct mx_speak_script_options options = MX_SPEAK_SCRIPT_OPTIONS_DEFAULT;
        options.vocabulary = vocabulary;
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
            options.speed = 1;
            options.pause_scale = 1;
            options.piece_characters = 0;
            compare(&options, texts[i]);
            options.speed = 1.7;
            options.pitch_semitones = -3;
            options.volume = 0.5;
            options.pause_scale = 1.1;
            options.piece_characters = 20;
            compare(&options, texts[i]);
        }
        mx_vocabulary_destroy(vocabulary);
    }
}

struct rig {
    struct mx_vocabulary *vocabulary;
    struct mx_speak_script_options options;
};

static int setup(void **state)
{
    static struct rig rig;
    rig.vocabulary = vocabulary_make(MX_TOKENS_CHARS, false);
    rig.options = MX_SPEAK_SCRIPT_OPTIONS_DEFAULT;
    rig.options.vocabulary = rig.vocabulary;
    *state = &rig;
    return 0;
}

static int teardown(void **state)
{
    mx_vocabulary_destroy(((struct rig *)*state)->vocabulary);
    return 0;
}

/* An ellipsis between words is a longer pause; elsewhere it is what it was. */
static void ellipsis(void **state)
{
    static const struct {
        const char *text, *pieces[6];
        double pauses[6];
    } cases[] = {{"Wait … what?", {"Wait.", "what?"}, {500}},
                 {"Wait... What? Oh. . . I see.", {"Wait.", "What?", "Oh.", "I see."}, {500, 350, 500}},
                 {"Wait...what\u2026", {"Wait.", "what."}, {500}},
                 {"\"Well ...\" she said", {"Well.", "she said"}, {500}},
                 {"... and then ...", {"and then."}, {0}},
                 {"What ...? Oh …, so. Up..down", {"What?", "Oh.", "so.", "Up.", "down"}, {350, 500, 350, 350}},
                 {"One ...\n\n... two", {"One.", "two"}, {600}},
                 {"Hm … … so", {"Hm.", "so"}, {500}}};
    const struct rig *const rig = *state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct mx_speak_script *script;
        struct mx_speak_item item;
        assert_int_equal(mx_speak_script_open(&rig->options, cases[i].text, strlen(cases[i].text), &script), 0);
        for (size_t k = 0; cases[i].pieces[k] != NULL; k++) {
            assert_int_equal(mx_speak_script_next(script, &item), 1);
            assert_string_equal(item.text, cases[i].pieces[k]);
            assert_true(item.pause_ms == cases[i].pauses[k] && item.before_ms == 0);
        }
        assert_int_equal(mx_speak_script_next(script, &item), 0);
        mx_speak_script_close(script);
    }
    static const char persian[] = "صبر کن … چی؟ هیچ...";
    assert_int_equal(mx_split_ellipsis(persian, strlen(persian)), strlen("صبر کن …"));
    assert_int_equal(mx_split_ellipsis("چی …؟ هیچ", strlen("چی …؟ هیچ")), strlen("چی …؟ هیچ"));
    assert_int_equal(mx_split_ellipsis("", 0), 0);
}

/* Only a piece without room is split again; its last part keeps the pause of its mark. */
static void little_room(void **state)
{
    static const struct {
        const char *text;
        double pause_ms;
    } want[] = {{"Short one.", 350},
                {"These words have far too", 40},
                {"many letters here", 200},
                {"and here!", 350},
                {"Another short one.", 0}};
    static const char text[] = "Short one. These words have far too many letters here - and here! Another short one.";
    struct mx_speak_script_options options = ((struct rig *)*state)->options;
    struct mx_speak_script *script;
    struct mx_speak_item item;
    options.longest_tokens = 30;
    assert_int_equal(mx_speak_script_open(&options, text, strlen(text), &script), 0);
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        assert_int_equal(mx_speak_script_next(script, &item), 1);
        assert_string_equal(item.text, want[i].text);
        assert_true(item.pause_ms == want[i].pause_ms);
        assert_true(item.count <= 30);
    }
    assert_int_equal(mx_speak_script_next(script, &item), 0);
    mx_speak_script_close(script);
}

static void refusals(void **state)
{
    const struct rig *const rig = *state;
    struct mx_speak_script_options wrong[9];
    struct mx_speak_script *script;
    for (size_t i = 0; i < 9; i++) wrong[i] = rig->options;
    wrong[0].speed = 0.2;
    wrong[1].speed = NAN;
    wrong[2].pitch_semitones = 24.5;
    wrong[3].volume = -1;
    wrong[4].volume = INFINITY;
    wrong[5].pause_scale = 11;
    wrong[6].piece_characters = MX_SPLIT_LEAST - 1;
    wrong[7].language = MX_LANGUAGE_COUNT;
    wrong[8].language = -2;
    for (size_t i = 0; i < 9; i++) {
        assert_int_equal(mx_speak_script_open(&wrong[i], "text", 4, &script), MX_ERR_ARGUMENT);
        assert_true(mx_error_last()->hint[0] != 0);
        assert_null(script);
    }
    /* The whole text is looked at before anything is said. */
    static const char broken[] = "good.\n\nbad \xff.", persian[] = "good.\n\nسلام دنیا", zero[] = "good.\n\nb\0d.";
    assert_int_equal(mx_speak_script_open(&rig->options, broken, strlen(broken), &script), MX_ERR_DATA);
    assert_string_equal(mx_error_last()->message, "text from byte 7 on: invalid UTF-8 at byte 4 (0xFF)");
    assert_int_equal(mx_speak_script_open(&rig->options, zero, sizeof zero - 1, &script), MX_ERR_DATA);
    assert_int_equal(mx_speak_script_open(&rig->options, persian, strlen(persian), &script), MX_ERR_CONFIG);
    assert_string_equal(mx_error_last()->message, "text from byte 7 on: this voice never learned to speak Persian");
    assert_non_null(strstr(mx_error_last()->hint, "--language en"));
    assert_null(script);
}

/* What is before the fault is said. */
static void fails_late(void **state)
{
    static const char text[] = "One. Two. Internationalisation. Three.";
    struct mx_speak_script_options options = ((struct rig *)*state)->options;
    struct mx_speak_script *script;
    struct mx_speak_item item;
    options.longest_tokens = 10;
    assert_int_equal(mx_speak_script_open(&options, text, strlen(text), &script), 0);
    assert_int_equal(mx_speak_script_next(script, &item), 1);
    assert_string_equal(item.text, "One.");
    assert_int_equal(mx_speak_script_next(script, &item), 1);
    assert_string_equal(item.text, "Two.");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(mx_speak_script_next(script, &item), MX_ERR_ARGUMENT);
        assert_non_null(strstr(mx_error_last()->message, "text from byte 0 on: the network has no room"));
        assert_null(item.tokens);
        mx_error_clear();
    }
    mx_speak_script_close(script);
    mx_speak_script_close(NULL);
}

/* Every allocation may fail: an error, nothing lost, nothing wrong. */
static void no_memory(void **state)
{
    const struct rig *const rig = *state;
    static const char text[] = "One two. Three four?\n\nFive, six.";
    int failures = 0;
    for (uint64_t nth = 1;; nth++) {
        struct mx_speak_script *script = NULL;
        struct mx_speak_item item;
        mx_alloc_fail_at(nth);
        int rc = mx_speak_script_open(&rig->options, text, strlen(text), &script);
        while (rc >= 0 && (rc = mx_speak_script_next(script, &item)) > 0) continue;
        mx_alloc_fail_at(0);
        mx_speak_script_close(script);
        if (rc == 0) break;
        assert_int_equal(rc, MX_ERR_NO_MEMORY);
        failures++;
    }
    assert_true(failures > 5);
}

/* Lengths of pauses: what is not named stays, lines and dashes divide only where they are named. */
static void pauses(void **state)
{
    const struct rig *const rig = *state;
    static const char text[] = "One two - three.\nFour\nfive… six\n\nSeven!";
    static const struct {
        const char *pauses;
        double ms[8]; /* of the items; the last is 0 */
    } cases[] = {
        {NULL, {350, 500, 600, 0}},
        {"2", {700, 1000, 1200, 0}},
        {"sentence=100,ellipsis=0.2s", {100, 200, 600, 0}},
        {"paragraph=900ms,0.5", {175, 250, 450, 0}},
        {"line=300", {350, 300, 500, 600, 0}},
        {"line=400", {400, 400, 500, 600, 0}},
        {"dash=10 sentence=20", {10, 20, 500, 600, 0}},
    };
    static const char *const wrong[] = {"",      "x",      "-1",      "11",      "line",
                                        "line=", "line=x", "line=-1", "pause=3", "line=61s"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct mx_speak_script_options options = rig->options;
        struct mx_speak_script *script;
        struct mx_speak_item item;
        struct mx_pauses lengths;
        size_t items = 0;
        assert_int_equal(mx_pauses_parse(cases[i].pauses, &lengths), 0);
        options.pauses = &lengths;
        assert_int_equal(mx_speak_script_open(&options, text, strlen(text), &script), 0);
        while (mx_speak_script_next(script, &item) > 0) assert_true(item.pause_ms == cases[i].ms[items++]);
        assert_true(items > 3 && cases[i].ms[items - 1] == 0 && cases[i].ms[items - 2] > 0);
        mx_speak_script_close(script);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct mx_pauses lengths;
        assert_int_equal(mx_pauses_parse(wrong[i], &lengths), MX_ERR_ARGUMENT);
        mx_error_clear();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_items),  cmocka_unit_test(pauses),   cmocka_unit_test(ellipsis),
        cmocka_unit_test(little_room), cmocka_unit_test(refusals), cmocka_unit_test(fails_late),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The rules of English. The cleaner is one pass from left to right that passes numbers and words to their readers and
 * handles signs and punctuation itself; see english.h. The speller changes the name of the letter a. Only the sink
 * allocates memory.
 */
#include "text/english/english.h"

#include <string.h>

#include "base/string.h"
#include "myxtts/error.h"
#include "text/english/homographs.h"
#include "text/forms/forms.h"

/* Signs that are always said the same way. */
static const char *sign_words(uint32_t point)
{
    switch (point) {
    case '&':
        return "and";
    case '@':
        return "at";
    case '+':
        return "plus";
    case '=':
        return "equals";
    case '<':
        return "less than";
    case '>':
        return "greater than";
    case '%':
        return "percent";
    case 0xa2:
        return "cents";
    case 0xa7:
        return "section";
    case 0xb0:
        return "degrees";
    case 0xb1:
        return "plus or minus";
    case 0xb2:
        return "squared";
    case 0xb3:
        return "cubed";
    case 0xd7:
        return "times";
    case 0xf7:
        return "divided by";
    case '$':
        return "dollars";
    case 0xa3:
        return "pounds";
    case 0x20ac:
        return "euros";
    case 0xa5:
        return "yen";
    case 0x20b9:
        return "rupees";
    default:
        return NULL;
    }
}

static bool is_alphanumeric(uint32_t point)
{
    return mx_text_is_letter(point) || mx_text_is_digit(point);
}

static void read_dash(struct mx_english *english)
{
    struct mx_text_scan *scan = english->scan;
    struct mx_text_sink *sink = scan->sink;
    const uint32_t dash = mx_text_peek(scan, 0), before = mx_text_before(scan), next = mx_text_peek(scan, 1);
    const bool digit_follows = mx_text_is_digit(next) || (next == '.' && mx_text_is_digit(mx_text_peek(scan, 2)));
    const bool amount_follows = digit_follows || mx_english_is_currency(next);
    scan->at++;
    if (dash == MX_EM_DASH) {
        mx_text_sink_mark(sink, '-');
    } else if (amount_follows && (mx_text_is_digit(before) || before == '%')) {
        mx_text_sink_word(sink, "to"); /* 1939-1945, $5-$10 */
    } else if (dash == '-' && amount_follows && (before == 0 || before == ' ' || before == '(' || before == '=')) {
        mx_text_sink_word(sink, "minus");
    } else if (is_alphanumeric(before) && mx_text_is_letter(next)) {
        sink->blank = false; /* 20-year-old */
        mx_text_sink_put(sink, "-");
    } else if (is_alphanumeric(before) && digit_follows) {
        mx_text_sink_blank(sink); /* COVID-19 */
    } else {
        mx_text_sink_mark(sink, '-');
    }
}

static void read_apostrophe(struct mx_english *english)
{
    struct mx_text_scan *scan = english->scan;
    const uint32_t before = mx_text_before(scan);
    if ((mx_text_peek(scan, 1) | 0x20) == 'n' && mx_text_peek(scan, 2) == '\'') { /* rock 'n' roll */
        mx_text_sink_word(scan->sink, "and");
        scan->at += 3;
        return;
    }
    if (is_alphanumeric(before) && mx_text_is_letter(mx_text_peek(scan, 1))) {
        scan->sink->blank = false;
        mx_text_sink_put(scan->sink, "'");
    } else if (!is_alphanumeric(before) || !is_alphanumeric(mx_text_peek(scan, 1))) {
        mx_text_sink_blank(scan->sink);
    }
    scan->at++;
}

static void read_stop(struct mx_english *english)
{
    struct mx_text_scan *scan = english->scan;
    const uint32_t next = mx_text_peek(scan, 1);
    scan->at++;
    if (is_alphanumeric(scan->at > 1 ? scan->points[scan->at - 2] : 0) &&
        ((mx_text_is_letter(next) && !mx_text_is_upper(next)) || mx_text_is_digit(next))) {
        mx_text_sink_word(scan->sink, "dot"); /* example.com */
        return;
    }
    mx_text_sink_mark(scan->sink, '.');
    english->sentence_start = true;
}

static void read_slash(struct mx_english *english)
{
    struct mx_text_scan *scan = english->scan;
    const uint32_t before = mx_text_before(scan);
    scan->at++;
    if (!strcmp(english->previous, "and") && before == 'd' && mx_text_word_is(scan, 0, "or")) {
        mx_text_sink_blank(scan->sink);
    } else if (is_alphanumeric(before) && is_alphanumeric(mx_text_peek(scan, 0))) {
        mx_text_sink_word(scan->sink, "slash");
    } else {
        mx_text_sink_blank(scan->sink);
    }
}

static void read_hash(struct mx_english *english)
{
    struct mx_text_scan *scan = english->scan;
    scan->at++;
    const uint32_t next = mx_text_peek(scan, mx_text_peek(scan, 0) == ' ');
    mx_text_sink_word(scan->sink, mx_text_is_digit(next)                     ? "number"
                                  : mx_text_is_letter(mx_text_peek(scan, 0)) ? "hashtag"
                                                                             : "hash");
}

static void read_sign(struct mx_english *english)
{
    struct mx_text_scan *scan = english->scan;
    struct mx_text_sink *sink = scan->sink;
    const uint32_t point = mx_text_peek(scan, 0);
    const char *words = sign_words(point);
    if (words) {
        mx_text_sink_word(sink, words);
    } else if (point < 0x80 && strchr("\"*_^~|\\[]{}", (int)point)) {
        mx_text_sink_blank(sink); /* quotation and layout are not said */
    } else {
        mx_text_sink_blank(sink);
        scan->report->symbols_dropped++;
    }
    scan->at++;
}

static void read_colon(struct mx_text_scan *scan)
{
    if (mx_text_is_digit(mx_text_before(scan)) && mx_text_is_digit(mx_text_peek(scan, 1))) {
        mx_text_sink_word(scan->sink, "to"); /* a ratio: 3:1 */
    } else {
        mx_text_sink_mark(scan->sink, ':');
    }
    scan->at++;
}

/* A mark that no word has taken. */
static void read_lone_mark(struct mx_text_scan *scan)
{
    if (mx_text_is_letter(mx_text_before(scan))) {
        mx_text_sink_point(scan->sink, mx_text_peek(scan, 0)); /* it follows an acronym's letter */
    } else {
        scan->report->symbols_dropped++;
    }
    scan->at++;
}

/* Blanks, punctuation and signs that depend on what stands around them; false: the next point is none of these. */
static bool read_punctuation(struct mx_english *english)
{
    struct mx_text_scan *scan = english->scan;
    const uint32_t point = mx_text_peek(scan, 0);
    switch (point) {
    case '!':
    case '?':
        english->sentence_start = true;
        return mx_text_read_mark(scan);
    case ':':
        read_colon(scan);
        return true;
    case '(':
        if (mx_english_try_phone(english)) return true;
        mx_text_sink_mark(scan->sink, ','); /* an aside */
        scan->at++;
        return true;
    case '-':
    case MX_EN_DASH:
    case MX_EM_DASH:
        read_dash(english);
        return true;
    case '\'':
        read_apostrophe(english);
        return true;
    case '/':
        read_slash(english);
        return true;
    case '#':
        read_hash(english);
        return true;
    default:
        return mx_text_read_mark(scan);
    }
}

static void read_next(struct mx_english *english)
{
    struct mx_text_scan *scan = english->scan;
    const uint32_t point = mx_text_peek(scan, 0);
    if (read_punctuation(english)) return;
    if (point == '.') {
        if (mx_text_is_digit(mx_text_peek(scan, 1)) && !mx_text_is_letter(mx_text_before(scan))) {
            mx_english_read_number(english);
        } else {
            read_stop(english);
        }
    } else if (point == '+') {
        if (!mx_english_try_phone(english)) read_sign(english);
    } else if (mx_text_is_digit(point)) {
        mx_english_read_number(english);
    } else if (mx_text_is_letter(point)) {
        mx_english_read_word(english);
    } else if (mx_text_is_mark(point)) {
        read_lone_mark(scan);
    } else if (!mx_english_is_currency(point) || !mx_english_try_money(english)) {
        read_sign(english);
    }
}

static void clean(struct mx_text_scan *scan)
{
    struct mx_english english = {.scan = scan, .sentence_start = true, .shouting = mx_text_shouts(scan)};
    while (scan->at < scan->count) read_next(&english);
}

static int mark(int cleaner, const char *text, struct mx_arena *arena, char **out)
{
    if (cleaner >= 4) return mx_homographs_mark(text, arena, out);
    *out = mx_arena_strdup(arena, text);
    return *out == NULL ? MX_ERR_NO_MEMORY : 0;
}

/* The sounds of a homograph that `mark` chose: returns the bytes it took from `at`, and appends to `text`. */
static size_t spell_homograph(const char *at, char *text, size_t *used)
{
    uint32_t point;
    char sounds[MX_HOMOGRAPH_SOUNDS];
    const size_t bytes = mx_utf8_decode(at, &point);
    const bool possessive = at[bytes] == '\'' && (at[bytes + 1] | 0x20) == 's';
    const size_t length = mx_homograph_sounds(point, possessive, sounds);
    if (length == 0) return 0;
    memcpy(text + *used, sounds, length);
    *used += length;
    return bytes + (possessive ? 2 : 0);
}

/* The cleaner writes the letter a as "A", before version 4 as "ay", which espeak-ng would say like "eye"; its "eh" has the
 * right sound. Homographs are written as phonemes. */
static void spell(int cleaner, const char *clause, void (*ask)(const char *text, struct mx_text_sink *out),
                  struct mx_text_sink *out)
{
    char text[MX_CLAUSE_BYTES / 4 * MX_HOMOGRAPH_SOUNDS + 2];
    size_t used = 0;
    for (const char *at = clause; *at != 0;) {
        const size_t homograph = (unsigned char)*at >= 0xf4 ? spell_homograph(at, text, &used) : 0;
        if (homograph > 0) {
            at += homograph;
            continue;
        }
        const bool starts = at == clause || at[-1] == ' ' || at[-1] == '-';
        const size_t length = starts && !strncmp(at, "ay", 2) ? 2 : starts && cleaner >= 4 && *at == 'A' ? 1 : 0;
        if (length > 0 && (at[length] == 0 || strchr(" -'", at[length]) != NULL)) {
            memcpy(text + used, "eh", 2);
            used += 2;
            at += length;
        } else {
            text[used++] = *at++;
        }
    }
    text[used] = 0;
    ask(text, out);
}

static const struct mx_text_name names[] = {{'a', "ay"},
                                            {'.', "dot"},
                                            {',', "comma"},
                                            {':', "colon"},
                                            {';', "semicolon"},
                                            {'!', "exclamation mark"},
                                            {'?', "question mark"},
                                            {'-', "dash"},
                                            {'_', "underscore"},
                                            {'/', "slash"},
                                            {'\\', "backslash"},
                                            {'\'', "apostrophe"},
                                            {'"', "quote"},
                                            {'(', "left parenthesis"},
                                            {')', "right parenthesis"},
                                            {'[', "left bracket"},
                                            {']', "right bracket"},
                                            {'{', "left brace"},
                                            {'}', "right brace"},
                                            {'*', "star"},
                                            {'|', "bar"},
                                            {'~', "tilde"},
                                            {'^', "caret"},
                                            {0, NULL}};

const struct mx_language_rules mx_rules_english = {.own = true,
                                                   .clean = clean,
                                                   .mark = mark,
                                                   .spell = spell,
                                                   .names = names,
                                                   .ordinal = "th|st|nd|rd",
                                                   .century = 1900,
                                                   .forms = &mx_forms_english};

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Detection by script, and the part of normalisation that all languages share: UTF-8, NFC, blanks, controls, and one
 * form for signs and digits that have several. What a language does with the result is in its rules: english/,
 * persian/, and plain.c for all others.
 *
 * Memory: working arrays are taken and released inside; the result is a piece of the caller's arena.
 */
#include "text/text.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "base/string.h"
#include "myxtts/error.h"
#include "text/forms/forms.h"
#include "text/internal.h"
#include "text/reading.h"

/* Combining marks that are kept on one letter. Unicode's own limit for text that is safe to stream is 30; no language
 * here has more than 4, and the canonical order of a run is found by insertion. */
#define MARKS_MOST 8

int mx_text_check(const char *text, size_t length)
{
    if (length > MX_TEXT_LIMIT_BYTES) {
        return MX_FAIL(MX_ERR_DATA, "split the text into sentences", "text of %zu bytes; the limit is %zu", length,
                       MX_TEXT_LIMIT_BYTES);
    }
    const size_t valid = mx_utf8_check(text, length);
    if (valid < length) {
        return MX_FAIL(MX_ERR_DATA, "save the text as UTF-8", "invalid UTF-8 at byte %zu (0x%02X)", valid,
                       (unsigned)(unsigned char)text[valid]);
    }
    const char *zero = length ? memchr(text, 0, length) : NULL;
    if (zero) {
        return MX_FAIL(MX_ERR_DATA, "this is not a text file", "zero byte in the text at byte %zu",
                       (size_t)(zero - text));
    }
    return 0;
}

/* Adds a letter to the count of the first language of its script, if that script is looked for. */
static void letter_count(uint32_t point, size_t counts[MX_LANGUAGE_COUNT])
{
    for (int i = 0; i < MX_LANGUAGE_COUNT; i++) {
        const struct mx_script *const script = mx_language_get((enum mx_language_id)i)->script;
        if (!script->detected || !mx_script_has(script, point)) continue;
        counts[i]++;
        return;
    }
}

/* The same for a digit. */
static void digit_count(uint32_t point, size_t counts[MX_LANGUAGE_COUNT])
{
    for (int i = 0; i < MX_LANGUAGE_COUNT; i++) {
        const struct mx_script *const script = mx_language_get((enum mx_language_id)i)->script;
        if (!script->detected || mx_script_digit(script, point) < 0) continue;
        counts[i]++;
        return;
    }
}

/* The language that has most; the first of equal ones. MX_LANGUAGE_COUNT: none has any. */
static enum mx_language_id most_of(const size_t counts[MX_LANGUAGE_COUNT])
{
    int best = MX_LANGUAGE_COUNT;
    for (int i = 0; i < MX_LANGUAGE_COUNT; i++)
        if (counts[i] > (best == MX_LANGUAGE_COUNT ? 0 : counts[best])) best = i;
    return (enum mx_language_id)best;
}

int mx_text_detect(const char *text, size_t length, enum mx_language_id *out)
{
    size_t letters[MX_LANGUAGE_COUNT] = {0}, digits[MX_LANGUAGE_COUNT] = {0};
    const int rc = mx_text_check(text, length);
    if (rc < 0) return rc;
    for (size_t at = 0; at < length;) {
        uint32_t point;
        at += mx_utf8_decode(text + at, &point);
        if (mx_text_is_letter(point))
            letter_count(point, letters);
        else if (utf8proc_category((utf8proc_int32_t)point) == UTF8PROC_CATEGORY_ND) /* every language is asked then */
            digit_count(point, digits);
    }
    enum mx_language_id found = most_of(letters);
    if (found == MX_LANGUAGE_COUNT) found = most_of(digits);
    if (found == MX_LANGUAGE_COUNT) {
        return MX_FAIL(MX_ERR_DATA, "name the language with --language",
                       "the language cannot be detected: the text has no Latin, Persian or Russian letter");
    }
    *out = found;
    return 0;
}

/* ---- preparing the code points ---- */

/* Signs with several forms, as the cleaners want them. In the order of the code points: fold_sign searches by halves. */
static const struct fold {
    uint32_t point;
    const char *text;
} sign_folds[] = {
    /* ` « ´ » ¼ ½ ¾ ʼ */
    {0x0060, "'"},
    {0x00ab, "\""},
    {0x00b4, "'"},
    {0x00bb, "\""},
    {0x00bc, "1/4"},
    {0x00bd, "1/2"},
    {0x00be, "3/4"},
    {0x02bc, "'"},
    /* Arabic: ، ؛ ؟ ٪ ٫ ٬ ۔ */
    {0x060c, ","},
    {0x061b, ";"},
    {0x061f, "?"},
    {0x066a, "%"},
    {0x066b, "."},
    {0x066c, ","},
    {0x06d4, "."},
    /* hyphen, hyphen that does not break, figure dash, horizontal bar */
    {0x2010, "-"},
    {0x2011, "-"},
    {0x2012, "\u2013"},
    {0x2015, "\u2014"},
    /* ‘ ’ ‚ ‛ “ ” „ ‟ … ′ ″ ‹ › */
    {0x2018, "'"},
    {0x2019, "'"},
    {0x201a, "'"},
    {0x201b, "'"},
    {0x201c, "\""},
    {0x201d, "\""},
    {0x201e, "\""},
    {0x201f, "\""},
    {0x2026, "..."},
    {0x2032, "'"},
    {0x2033, "\""},
    {0x2039, "\""},
    {0x203a, "\""},
    /* ‼ ⁄ ⁇ ⁈ ⁉ ℃ ℉ № */
    {0x203c, "!"},
    {0x2044, "/"},
    {0x2047, "?"},
    {0x2048, "?"},
    {0x2049, "?"},
    {0x2103, "\u00b0C"},
    {0x2109, "\u00b0F"},
    {0x2116, "#"},
    /* ⅐ ⅑ ⅒ ⅓ ⅔ ⅕ ⅖ ⅗ ⅘ ⅙ ⅚ ⅛ ⅜ ⅝ ⅞ */
    {0x2150, "1/7"},
    {0x2151, "1/9"},
    {0x2152, "1/10"},
    {0x2153, "1/3"},
    {0x2154, "2/3"},
    {0x2155, "1/5"},
    {0x2156, "2/5"},
    {0x2157, "3/5"},
    {0x2158, "4/5"},
    {0x2159, "1/6"},
    {0x215a, "5/6"},
    {0x215b, "1/8"},
    {0x215c, "3/8"},
    {0x215d, "5/8"},
    {0x215e, "7/8"},
    /* minus, ∕, two-em and three-em dash, 〝 〞, small hyphen */
    {0x2212, "-"},
    {0x2215, "/"},
    {0x2e3a, "\u2014"},
    {0x2e3b, "\u2014"},
    {0x301d, "\""},
    {0x301e, "\""},
    {0xfe63, "-"},
};

static int fold_compare(const void *point, const void *fold)
{
    const uint32_t a = *(const uint32_t *)point, b = ((const struct fold *)fold)->point;
    return (a > b) - (a < b);
}

/* NULL: no other form. */
static const char *fold_sign(uint32_t point)
{
    const struct fold *const found =
        bsearch(&point, sign_folds, sizeof sign_folds / sizeof sign_folds[0], sizeof sign_folds[0], fold_compare);
    return found == NULL ? NULL : found->text;
}

/* Forms that exist only for old encodings and stand for plain letters: Latin ligatures, Arabic presentation forms, full
 * width. Other compatibility characters (², ™ …) mean something of their own. */
static bool is_mere_form(uint32_t point)
{
    return (point >= 0xfb00 && point <= 0xfb06) || (point >= 0xfb50 && point <= 0xfdff) ||
           (point >= 0xfe70 && point <= 0xfefc) || (point >= 0xff01 && point <= 0xff5e);
}

static void push_blank(struct mx_text_points *points)
{
    if (points->count > 0 && points->data[points->count - 1] != ' ') mx_text_points_push(points, ' ');
}

/* Appends a decomposed point; marks are kept in canonical order, and no more than MARKS_MOST of them in a row. */
static void push_decomposed(struct mx_text_points *points, uint32_t point, size_t *marks, struct mx_text_report *report)
{
    const int class = utf8proc_get_property((utf8proc_int32_t)point)->combining_class;
    if (class == 0) {
        *marks = 0;
        mx_text_points_push(points, point);
        return;
    }
    if (*marks == MARKS_MOST) {
        report->symbols_dropped++;
        return;
    }
    mx_text_points_push(points, point);
    if (points->failure) return;
    size_t at = points->count - 1;
    for (size_t i = 0; i < *marks; i++, at--) {
        const uint32_t before = points->data[at - 1];
        if (utf8proc_get_property((utf8proc_int32_t)before)->combining_class <= class) break;
        points->data[at] = before;
    }
    points->data[at] = point;
    (*marks)++;
}

/* What the code point is written as if it joins the parts of a word; otherwise 0. */
static uint32_t joiner_of(const struct mx_language *language, uint32_t point)
{
    if (language->rules->joiner != NULL) return language->rules->joiner(point);
    return language->script->joiners && (point == MX_ZWNJ || point == MX_ZWJ) ? point : 0;
}

/* Digits become 0 to 9: those of the Arabic script in every language, and those of its own. */
static uint32_t digit_fold(const struct mx_language *language, uint32_t point)
{
    static const uint32_t everywhere[] = {MX_ARABIC_ZERO, MX_PERSIAN_ZERO};
    for (size_t i = 0; i < sizeof everywhere / sizeof everywhere[0]; i++)
        if (point >= everywhere[i] && point <= everywhere[i] + 9) return '0' + (point - everywhere[i]);
    const int value = mx_script_digit(language->script, point);
    return value < 0 ? point : '0' + (uint32_t)value;
}

static void push_folded(struct mx_text_points *points, const char *folded)
{
    /* "3½" is "3 1/2". */
    if (mx_text_is_digit((unsigned char)folded[0]) && points->count > 0 &&
        mx_text_is_digit(points->data[points->count - 1])) {
        push_blank(points);
    }
    while (*folded) {
        uint32_t part;
        folded += mx_utf8_decode(folded, &part);
        mx_text_points_push(points, part);
    }
}

static void push_point(struct mx_text_points *points, uint32_t point, const struct mx_language *language, size_t *marks,
                       struct mx_text_report *report)
{
    const utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)point);
    if ((point >= 0x9 && point <= 0xd) || point == 0x85 ||
        (category >= UTF8PROC_CATEGORY_ZS && category <= UTF8PROC_CATEGORY_ZP)) {
        *marks = 0;
        push_blank(points);
        return;
    }
    const uint32_t joiner = joiner_of(language, point);
    if (joiner != 0) {
        *marks = 0;
        mx_text_points_push(points, joiner);
        return;
    }
    if (category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CF) {
        report->controls_dropped++;
        return;
    }
    if (category == UTF8PROC_CATEGORY_CN || category == UTF8PROC_CATEGORY_CO || category == UTF8PROC_CATEGORY_CS ||
        (point >= 0xfe00 && point <= 0xfe0f)) {
        report->symbols_dropped++;
        return;
    }
    point = digit_fold(language, point);
    const bool kept = language->rules->writes != NULL && language->rules->writes(language->script, point);
    const char *folded = kept ? NULL : fold_sign(point);
    if (folded) {
        *marks = 0;
        push_folded(points, folded);
        return;
    }
    utf8proc_int32_t parts[32];
    int last_class = 0;
    const utf8proc_option_t options =
        UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | (is_mere_form(point) ? UTF8PROC_COMPAT : (utf8proc_option_t)0);
    const utf8proc_ssize_t count = utf8proc_decompose_char((utf8proc_int32_t)point, parts, 32, options, &last_class);
    for (utf8proc_ssize_t i = 0; i < count && i < 32; i++) {
        if (parts[i] == ' ') {
            push_blank(points);
        } else {
            push_decomposed(points, (uint32_t)parts[i], marks, report);
        }
    }
}

static void prepare(const struct mx_language *language, const char *text, size_t length, struct mx_text_points *points,
                    struct mx_text_report *report)
{
    size_t marks = 0;
    for (size_t at = 0; at < length;) {
        uint32_t point;
        at += mx_utf8_decode(text + at, &point);
        push_point(points, point, language, &marks, report);
    }
    if (points->count > 0 && points->data[points->count - 1] == ' ') points->count--;
    if (points->failure || points->count == 0) return;
    const utf8proc_ssize_t composed = utf8proc_normalize_utf32(
        (utf8proc_int32_t *)points->data, (utf8proc_ssize_t)points->count, UTF8PROC_STABLE | UTF8PROC_COMPOSE);
    if (composed >= 0) points->count = (size_t)composed;
}

static void count_foreign(const struct mx_language *language, const struct mx_text_points *points,
                          struct mx_text_report *report)
{
    for (size_t i = 0; i < points->count; i++)
        report->foreign_letters +=
            mx_text_is_letter(points->data[i]) && !mx_script_has(language->script, points->data[i]);
}

int mx_text_prepare(enum mx_language_id id, const char *text, size_t length, struct mx_text_points *out,
                    struct mx_text_report *report)
{
    int rc = 0;
    struct mx_text_points points = {0};
    if ((int)id < 0 || id >= MX_LANGUAGE_COUNT)
        return MX_FAIL(MX_ERR_ARGUMENT, NULL, "language number %d does not exist", (int)id);
    const struct mx_language *const language = mx_language_get(id);
    MX_TRY(mx_text_check(text, length));
    prepare(language, text, length, &points, report);
    MX_TRY(points.failure);
    count_foreign(language, &points, report);
    if (language->rules->letters == NULL) {
        *out = points;
        points = (struct mx_text_points){0};
    } else {
        language->rules->letters(&points, out, report);
        MX_TRY(out->failure);
    }
out:
    mx_text_points_release(&points);
    return rc;
}

int mx_reading_text(const struct mx_reading *reading, enum mx_language_id id, const char *text, size_t length,
                    struct mx_arena *arena, char **out, struct mx_text_report *report)
{
    int rc = 0;
    struct mx_text_report unasked = {0};
    struct mx_text_points points = {0}, replaced = {0}, spoken_forms = {0};
    struct mx_text_sink sink = {0};
    if (!report) report = &unasked;
    *out = NULL;
    MX_TRY(mx_text_prepare(id, text, length, &points, report));
    struct mx_text_scan scan = {.language = mx_language_get(id),
                                .cleaner = mx_reading_cleaner(reading),
                                .points = points.data,
                                .count = points.count,
                                .sink = &sink,
                                .report = report};
    if (reading != NULL && reading->lexicon != NULL) {
        mx_lexicon_apply(reading->lexicon, id, &points, &replaced);
        MX_TRY(replaced.failure);
        scan.points = replaced.data;
        scan.count = replaced.count;
    }
    if (scan.cleaner >= 4 && scan.language->rules->forms != NULL && mx_icu_ready()) {
        const struct mx_text_points written = {.data = replaced.data != NULL ? replaced.data : points.data,
                                               .count = scan.count};
        mx_forms_apply(id, &written, &spoken_forms, report, NULL);
        MX_TRY(spoken_forms.failure);
        scan.points = spoken_forms.data;
        scan.count = spoken_forms.count;
    }
    scan.small_only = scan.cleaner < 3 || scan.language->rules->dotless || mx_text_shouts(&scan);
    scan.language->rules->clean(&scan);
    mx_text_sink_finish(&sink);
    const char *spoken = mx_text_sink_text(&sink);
    if (spoken) *out = mx_arena_strndup(arena, spoken, sink.length);
    if (!*out) rc = MX_ERR_NO_MEMORY;
out:
    mx_text_sink_release(&sink);
    mx_text_points_release(&spoken_forms);
    mx_text_points_release(&replaced);
    mx_text_points_release(&points);
    return rc;
}

int mx_text_normalise(enum mx_language_id id, const char *text, size_t length, struct mx_arena *arena, char **out,
                      struct mx_text_report *report)
{
    return mx_reading_text(NULL, id, text, length, arena, out, report);
}

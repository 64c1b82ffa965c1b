/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The table of languages, detection by script, and the part of normalisation that all languages share: UTF-8, NFC,
 * blanks, controls, and one form for signs and digits that have several. What a language does with the result is in
 * english*.c and persian*.c.
 *
 * Memory: working arrays are taken and released inside; the result is a piece of the caller's arena.
 */
#include "text/text.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <utf8proc.h>

#include "base/string.h"
#include "myxtts/error.h"
#include "text/internal.h"

/* Combining marks that are kept on one letter. Unicode's own limit for text that is safe to stream is 30; no language
 * here has more than 4, and the canonical order of a run is found by insertion. */
#define MARKS_MOST 8

static const struct mx_language_info languages[] = {
#define X(identifier, code, name, voice, direction) {code, name, voice, direction},
    MX_LANGUAGE_LIST(X)
#undef X
};

const struct mx_language_info *mx_language_get(enum mx_language language)
{
    return &languages[language];
}

int mx_language_parse(const char *text, enum mx_language *out)
{
    char known[256] = "";
    size_t used = 0;
    for (int i = 0; i < MX_LANGUAGE_COUNT; i++) {
        if (!strcasecmp(text, languages[i].code) || !strcasecmp(text, languages[i].name)) {
            *out = (enum mx_language)i;
            return 0;
        }
        const int written = snprintf(known + used, sizeof known - used, "%s%s (%s)", i ? ", " : "", languages[i].code,
                                     languages[i].name);
        if (written > 0 && (size_t)written < sizeof known - used) used += (size_t)written;
    }
    char quoted[64], hint[320];
    snprintf(hint, sizeof hint, "languages: %s", known);
    return MX_FAIL(MX_ERR_CONFIG, hint, "unknown language %s", mx_string_quote(quoted, sizeof quoted, text));
}

static int check_bytes(const char *text, size_t length)
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

int mx_text_detect(const char *text, size_t length, enum mx_language *out)
{
    size_t latin = 0, arabic = 0, latin_digits = 0, arabic_digits = 0;
    const int rc = check_bytes(text, length);
    if (rc < 0) return rc;
    for (size_t at = 0; at < length;) {
        uint32_t point;
        at += mx_utf8_decode(text + at, &point);
        if (mx_text_is_arabic(point) || (point >= 0xfb50 && point <= 0xfefc && mx_text_is_letter(point))) {
            arabic++;
        } else if ((point < 0x250 || (point >= 0x1e00 && point < 0x1f00)) && mx_text_is_letter(point)) {
            latin++;
        }
        latin_digits += mx_text_is_digit(point);
        arabic_digits += (point >= 0x660 && point <= 0x669) || (point >= 0x6f0 && point <= 0x6f9);
    }
    if (latin + arabic == 0) {
        latin = latin_digits;
        arabic = arabic_digits;
    }
    if (latin + arabic == 0) {
        return MX_FAIL(MX_ERR_DATA, "name the language with --language",
                       "no Latin or Persian letter by which to tell the language");
    }
    *out = arabic > latin ? MX_LANGUAGE_FA : MX_LANGUAGE_EN;
    return 0;
}

/* ---- preparing the code points ---- */

/* Signs with several forms, as the cleaners want them; NULL: no other form. */
static const char *fold_sign(uint32_t point)
{
    switch (point) {
    case 0x00ab: /* « */
    case 0x00bb: /* » */
    case 0x201c: /* “ */
    case 0x201d: /* ” */
    case 0x201e: /* „ */
    case 0x201f:
    case 0x2033: /* ″ */
    case 0x2039: /* ‹ */
    case 0x203a: /* › */
    case 0x301d:
    case 0x301e:
        return "\"";
    case 0x0060: /* ` */
    case 0x00b4: /* ´ */
    case 0x02bc: /* ʼ */
    case 0x2018: /* ‘ */
    case 0x2019: /* ’ */
    case 0x201a: /* ‚ */
    case 0x201b:
    case 0x2032: /* ′ */
        return "'";
    case 0x2010: /* hyphen */
    case 0x2011: /* hyphen that does not break */
    case 0x2212: /* minus */
    case 0xfe63:
        return "-";
    case 0x2012: /* figure dash */
        return "\u2013";
    case 0x2015: /* horizontal bar */
    case 0x2e3a:
    case 0x2e3b:
        return "\u2014";
    case 0x2026: /* … */
        return "...";
    case 0x203c: /* ‼ */
        return "!";
    case 0x2047: /* ⁇ */
    case 0x2048: /* ⁈ */
    case 0x2049: /* ⁉ */
    case 0x061f: /* ؟ */
        return "?";
    case 0x060c: /* ، */
    case 0x066c: /* ٬ */
        return ",";
    case 0x061b: /* ؛ */
        return ";";
    case 0x06d4: /* ۔ */
    case 0x066b: /* ٫ */
        return ".";
    case 0x066a: /* ٪ */
        return "%";
    case 0x2044: /* ⁄ */
    case 0x2215: /* ∕ */
        return "/";
    case 0x2103: /* ℃ */
        return "\u00b0C";
    case 0x2109: /* ℉ */
        return "\u00b0F";
    case 0x2116: /* № */
        return "#";
    case 0x00bc:
        return "1/4";
    case 0x00bd:
        return "1/2";
    case 0x00be:
        return "3/4";
    case 0x2150:
        return "1/7";
    case 0x2151:
        return "1/9";
    case 0x2152:
        return "1/10";
    case 0x2153:
        return "1/3";
    case 0x2154:
        return "2/3";
    case 0x2155:
        return "1/5";
    case 0x2156:
        return "2/5";
    case 0x2157:
        return "3/5";
    case 0x2158:
        return "4/5";
    case 0x2159:
        return "1/6";
    case 0x215a:
        return "5/6";
    case 0x215b:
        return "1/8";
    case 0x215c:
        return "3/8";
    case 0x215d:
        return "5/8";
    case 0x215e:
        return "7/8";
    default:
        return NULL;
    }
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

static void push_point(struct mx_text_points *points, uint32_t point, enum mx_language language, size_t *marks,
                       struct mx_text_report *report)
{
    const utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)point);
    if ((point >= 0x9 && point <= 0xd) || point == 0x85 ||
        (category >= UTF8PROC_CATEGORY_ZS && category <= UTF8PROC_CATEGORY_ZP)) {
        *marks = 0;
        push_blank(points);
        return;
    }
    /* The soft hyphen and ¬ are what old Persian texts have for the half-space. */
    const bool persian = language == MX_LANGUAGE_FA;
    if (persian && (point == MX_ZWNJ || point == 0xad || point == 0xac)) {
        *marks = 0;
        mx_text_points_push(points, MX_ZWNJ);
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
    if ((point >= 0x660 && point <= 0x669) || (point >= 0x6f0 && point <= 0x6f9)) point = '0' + (point & 0xf);
    const char *folded = fold_sign(point);
    if (folded) {
        *marks = 0;
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

static void prepare(enum mx_language language, const char *text, size_t length, struct mx_text_points *points,
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

static void count_foreign(enum mx_language language, const struct mx_text_points *points, struct mx_text_report *report)
{
    for (size_t i = 0; i < points->count; i++) {
        const uint32_t point = points->data[i];
        if (!mx_text_is_letter(point)) continue;
        const bool own = language == MX_LANGUAGE_FA ? mx_text_is_arabic(point)
                                                    : point < 0x250 || (point >= 0x1e00 && point < 0x1f00);
        report->foreign_letters += !own;
    }
}

int mx_text_normalise(enum mx_language language, const char *text, size_t length, struct mx_arena *arena, char **out,
                      struct mx_text_report *report)
{
    int rc = 0;
    struct mx_text_report unasked = {0};
    struct mx_text_points points = {0}, letters = {0};
    struct mx_text_sink sink = {0};
    if (!report) report = &unasked;
    *out = NULL;
    if ((int)language < 0 || language >= MX_LANGUAGE_COUNT) {
        MX_RAISE(MX_ERR_ARGUMENT, NULL, "language number %d does not exist", (int)language);
    }
    MX_TRY(check_bytes(text, length));
    prepare(language, text, length, &points, report);
    MX_TRY(points.failure);
    count_foreign(language, &points, report);

    struct mx_text_scan scan = {.points = points.data, .count = points.count, .sink = &sink, .report = report};
    switch (language) {
    case MX_LANGUAGE_FA:
        mx_text_persian_letters(&points, &letters, report);
        MX_TRY(letters.failure);
        scan.points = letters.data;
        scan.count = letters.count;
        mx_text_persian(&scan);
        break;
    case MX_LANGUAGE_EN:
    case MX_LANGUAGE_COUNT:
        mx_text_english(&scan);
        break;
    }
    mx_text_sink_finish(&sink);
    const char *spoken = mx_text_sink_text(&sink);
    if (spoken) *out = mx_arena_strndup(arena, spoken, sink.length);
    if (!*out) rc = MX_ERR_NO_MEMORY;
out:
    mx_text_sink_release(&sink);
    mx_text_points_release(&letters);
    mx_text_points_release(&points);
    return rc;
}

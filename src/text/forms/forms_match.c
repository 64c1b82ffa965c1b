/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Matching the rows of written forms; see forms.h. A row is walked as it is written, with a way back where a class may
 * take more or less, so a match costs a few steps for each of its parts. Nothing here takes memory.
 */
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "base/string.h"
#include "text/forms/forms.h"

#define WAYS_MOST   12 /* lengths that one class may take at one place */
#define SERIAL_MOST 64

/* What follows a group of the row. */
struct rest {
    const char *at, *end;
    const struct rest *next;
};

/* A length that a class may take, and what it means then. */
struct way {
    size_t length, value;
    const struct mx_form_item *item;
};

struct ways {
    struct way list[WAYS_MOST];
    size_t count;
};

uint32_t mx_form_point(const struct mx_form_match *match, size_t at)
{
    return at < match->count ? match->points[at] : 0;
}

static uint32_t small(uint32_t point)
{
    return mx_text_is_upper(point) ? (uint32_t)utf8proc_tolower((utf8proc_int32_t)point) : point;
}

static bool is_dash(uint32_t point)
{
    return point == '-' || point == MX_EN_DASH || point == MX_EM_DASH;
}

static bool is_wordlike(uint32_t point)
{
    return mx_text_is_letter(point) || mx_text_is_digit(point) || mx_text_is_mark(point);
}

static size_t digits_at(const struct mx_form_match *m, size_t at, size_t most)
{
    size_t count = 0;
    while (count < most && mx_text_is_digit(mx_form_point(m, at + count))) count++;
    return count;
}

static void way_add(struct ways *ways, size_t length, size_t value, const struct mx_form_item *item)
{
    if (length == 0 || ways->count == WAYS_MOST) return;
    size_t i = ways->count++;
    for (; i > 0 && ways->list[i - 1].length < length; i--) ways->list[i] = ways->list[i - 1]; /* the longest first */
    ways->list[i] = (struct way){length, value, item};
}

/* ---- classes ---- */

/* Digits in groups of three: 1,234,567. 0: not in groups. */
static size_t groups_at(const struct mx_form_match *m, size_t at)
{
    const size_t first = digits_at(m, at, 4);
    size_t length = first;
    if (first == 0 || first > 3) return 0;
    const uint32_t sign = mx_form_point(m, at + length);
    if (sign == 0 || sign >= 0x80 || strchr(m->forms->groups, (int)sign) == NULL) return 0;
    while (mx_form_point(m, at + length) == sign && digits_at(m, at + length + 1, 4) == 3) length += 4;
    return length > first ? length : 0;
}

static void number_ways(const struct mx_form_match *m, size_t at, bool fraction, struct ways *ways)
{
    const size_t grouped = groups_at(m, at), plain = digits_at(m, at, m->count);
    const size_t whole = grouped > plain ? grouped : plain;
    const uint32_t point = (unsigned char)m->forms->decimal;
    if (fraction && mx_form_point(m, at + whole) == point) {
        const size_t decimals = digits_at(m, at + whole + 1, m->count);
        if (decimals > 0) way_add(ways, whole + 1 + decimals, 0, NULL);
    }
    way_add(ways, whole, 0, NULL);
}

/* Exactly this number of digits, and none after them. */
static void digits_ways(const struct mx_form_match *m, size_t at, size_t least, size_t most, unsigned low,
                        unsigned high, struct ways *ways)
{
    const size_t count = digits_at(m, at, most + 1);
    unsigned value = 0;
    if (count < least || count > most) return;
    for (size_t i = 0; i < count && i < 9; i++) value = value * 10 + (mx_form_point(m, at + i) - '0');
    if (high == 0 || (value >= low && value <= high)) way_add(ways, count, value, NULL);
}

/* The length of `text` here if it is the same in any case, or as written where it has capitals; else 0. */
static size_t text_at(const struct mx_form_match *m, size_t at, const char *text, bool exact)
{
    size_t length = 0;
    while (*text != 0) {
        uint32_t wanted;
        text += mx_utf8_decode(text, &wanted);
        const uint32_t point = mx_form_point(m, at + length++);
        if (point != wanted && (exact || small(point) != wanted)) return 0;
    }
    return length;
}

/* Where a name of letters ends, no letter may follow. */
static bool text_ends(const struct mx_form_match *m, size_t at, size_t length)
{
    return !is_wordlike(mx_form_point(m, at + length - 1)) ||
           !(mx_text_is_letter(mx_form_point(m, at + length)) || mx_text_is_mark(mx_form_point(m, at + length)));
}

static void list_ways(const struct mx_form_match *m, size_t at, const struct mx_form_item *items, struct ways *ways)
{
    const uint32_t first = mx_form_point(m, at), first_small = small(first);
    for (; items->written != NULL; items++) {
        uint32_t wanted;
        const size_t bytes = mx_utf8_decode(items->written, &wanted);
        if (wanted != first && wanted != first_small) continue;
        const bool single = items->written[bytes] == 0;
        const size_t length = text_at(m, at, items->written, single);
        if (length > 0 && (single || mx_text_is_letter(first) == false || text_ends(m, at, length))) {
            if (text_ends(m, at, length)) way_add(ways, length, 0, items);
        }
    }
}

/* Months and days by all their names. */
static void names_ways(const struct mx_form_match *m, size_t at, const char *calendar, const enum mx_icu_name *kinds,
                       size_t kind_count, size_t base, struct ways *ways)
{
    if (!mx_text_is_letter(mx_form_point(m, at))) return;
    for (size_t k = 0; k < kind_count; k++) {
        for (size_t i = 0; i < 12; i++) {
            const char *name = mx_icu_name(m->id, calendar, kinds[k], i);
            size_t length = 0;
            bool same = name != NULL;
            while (same && *name != 0) {
                uint32_t wanted;
                name += mx_utf8_decode(name, &wanted);
                if (wanted == '.' && *name == 0) break; /* short names may have one */
                same = small(mx_form_point(m, at + length)) == small(wanted);
                length++;
            }
            if (!same || length == 0 || !text_ends(m, at, length)) continue;
            const bool is_short =
                kinds[k] == MX_ICU_MONTH_SHORT || kinds[k] == MX_ICU_MONTH_SHORT_ALONE || kinds[k] == MX_ICU_DAY_SHORT;
            if (is_short && mx_form_point(m, at + length) == '.') way_add(ways, length + 1, base + i, NULL);
            way_add(ways, length, base + i, NULL);
        }
    }
}

/* The value of a Roman numeral below 4000 in its usual form, 0 for anything else. */
static size_t roman_value(const struct mx_form_match *m, size_t at, size_t length, bool capitals)
{
    static const struct {
        const char *text;
        size_t value;
    } large[] = {{"M", 1000}, {"CM", 900}, {"D", 500}, {"CD", 400}, {"C", 100}, {"XC", 90}, {"L", 50},
                 {"XL", 40},  {"X", 10},   {"IX", 9},  {"V", 5},    {"IV", 4},  {"I", 1}},
      small[] = {{"m", 1000}, {"cm", 900}, {"d", 500}, {"cd", 400}, {"c", 100}, {"xc", 90}, {"l", 50},
                 {"xl", 40},  {"x", 10},   {"ix", 9},  {"v", 5},    {"iv", 4},  {"i", 1}},
      *parts;
    parts = capitals ? large : small;
    size_t value = 0, used = 0;
    for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
        const char first = large[i].text[0];
        const size_t step = strlen(parts[i].text),
                     most = step == 2 || first == 'D' || first == 'L' || first == 'V' ? 1 : 3;
        for (size_t times = 0; times < most && used + step <= length; times++) {
            if (text_at(m, at + used, parts[i].text, capitals) == 0) break;
            value += parts[i].value;
            used += step;
        }
    }
    return used == length ? value : 0;
}

static size_t run_at(const struct mx_form_match *m, size_t at, bool capitals)
{
    size_t length = 0;
    for (;; length++) {
        const uint32_t point = mx_form_point(m, at + length);
        if (capitals ? !mx_text_is_upper(point) : !(mx_text_is_letter(point) || (length > 0 && mx_text_is_mark(point))))
            return length;
    }
}

static size_t serial_at(const struct mx_form_match *m, size_t at)
{
    size_t length = 0;
    while (length < SERIAL_MOST &&
           (is_wordlike(mx_form_point(m, at + length)) ||
            (mx_form_point(m, at + length) == '-' && is_wordlike(mx_form_point(m, at + length + 1)))))
        length++;
    return length;
}

static bool named(const char *name, size_t length, const char *wanted)
{
    return strlen(wanted) == length && !memcmp(name, wanted, length);
}

static const struct mx_form_item *list_get(const struct mx_forms *forms, const char *name, size_t length)
{
    for (const struct mx_form_list *list = forms->lists; list != NULL && list->name != NULL; list++)
        if (named(name, length, list->name)) return list->items;
    return NULL;
}

static void calendar_ways(const struct mx_form_match *m, size_t at, bool month, struct ways *ways)
{
    static const enum mx_icu_name months[] = {MX_ICU_MONTH, MX_ICU_MONTH_ALONE, MX_ICU_MONTH_SHORT,
                                              MX_ICU_MONTH_SHORT_ALONE},
                                  days[] = {MX_ICU_DAY, MX_ICU_DAY_SHORT};
    if (!month) {
        names_ways(m, at, NULL, days, 2, 0, ways);
        return;
    }
    const struct mx_form_item *const more = list_get(m->forms, "months", 6); /* other short names: "sept" */
    names_ways(m, at, NULL, months, 4, 0, ways);
    if (m->forms->calendar != NULL) names_ways(m, at, m->forms->calendar, months, 2, 12, ways);
    struct ways others = {.count = 0};
    if (more != NULL) list_ways(m, at, more, &others);
    for (size_t i = 0; i < others.count; i++) {
        const struct way *const way = &others.list[i];
        const size_t value = (size_t)atoi(way->item->spoken) - 1;
        if (mx_form_point(m, at + way->length) == '.') way_add(ways, way->length + 1, value, NULL);
        way_add(ways, way->length, value, NULL);
    }
}

/* The lengths that class `name` (with `arg` after a colon) may take at `at`. */
static void class_ways(const struct mx_form_match *m, const char *name, size_t length, const char *arg, size_t at,
                       struct ways *ways)
{
    static const struct {
        const char *name;
        size_t least, most;
        unsigned low, high;
    } ranges[] = {{"day", 1, 2, 1, 31}, {"mon", 1, 2, 1, 12}, {"hour", 1, 2, 0, 24},
                  {"min", 2, 2, 0, 59}, {"yy", 2, 2, 0, 99},  {"year", 4, 4, 1000, 2999}};
    if (length > 1 && name[length - 1] >= '0' && name[length - 1] <= '9') length--;
    if (named(name, length, "n") || named(name, length, "w")) {
        number_ways(m, at, name[0] == 'n', ways);
    } else if (named(name, length, "i")) {
        char *end = NULL;
        const size_t least = arg == NULL ? 1 : strtoul(arg, &end, 10);
        const size_t most = arg == NULL ? m->count : *end == '-' ? strtoul(end + 1, NULL, 10) : least;
        digits_ways(m, at, least, most, 0, 0, ways);
    } else if (named(name, length, "month") || named(name, length, "weekday")) {
        calendar_ways(m, at, name[0] == 'm', ways);
    } else if (named(name, length, "word") || named(name, length, "caps")) {
        way_add(ways, run_at(m, at, name[0] == 'c'), 0, NULL);
    } else if (named(name, length, "roman") || named(name, length, "rom")) {
        const bool capitals = length > 3;
        const size_t run = run_at(m, at, capitals),
                     value = run > 0 && run <= 16 ? roman_value(m, at, run, capitals) : 0;
        if (value > 0) way_add(ways, run, value, NULL);
    } else if (named(name, length, "serial")) {
        way_add(ways, serial_at(m, at), 0, NULL);
    } else {
        for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
            if (named(name, length, ranges[i].name)) {
                digits_ways(m, at, ranges[i].least, ranges[i].most, ranges[i].low, ranges[i].high, ways);
                return;
            }
        const struct mx_form_item *const items = list_get(m->forms, name, length);
        if (items != NULL) list_ways(m, at, items, ways);
    }
}

/* ---- rows ---- */

/* The bracket that closes the one at `at`. */
static const char *group_end(const char *at, const char *end)
{
    for (int depth = 0; at < end; at++) {
        if (*at == '\\')
            at++;
        else if (*at == '(')
            depth++;
        else if (*at == ')' && --depth == 0)
            return at;
    }
    return end;
}

static const char *alternative_end(const char *at, const char *end)
{
    for (int depth = 0; at < end; at++) {
        if (*at == '\\')
            at++;
        else if (*at == '(')
            depth++;
        else if (*at == ')')
            depth--;
        else if (*at == '|' && depth == 0)
            return at;
    }
    return end;
}

/* Whether a form may end before `at`. */
static bool form_ends(const struct mx_form_match *m, size_t at)
{
    const uint32_t last = m->points[at - 1], next = mx_form_point(m, at);
    if (is_wordlike(last) && is_wordlike(next)) return false;
    if (!mx_text_is_digit(last)) return true;
    const bool sign = next == '.' || next == ',' || next == '/' || next == ':' || is_dash(next);
    return !sign || !mx_text_is_digit(mx_form_point(m, at + 1));
}

static bool walk(struct mx_form_match *m, const char *p, const char *end, const struct rest *rest, size_t at);

static bool class_walk(struct mx_form_match *m, const char *p, const char *end, const struct rest *rest, size_t at)
{
    const char *const close = memchr(p, '}', (size_t)(end - p)), *const name = p + 1;
    const char *const colon = memchr(name, ':', (size_t)(close - name));
    const size_t length = (size_t)((colon != NULL ? colon : close) - name), captured = m->captured;
    struct ways ways = {.count = 0};
    if (captured == MX_FORM_CAPTURES) return false;
    class_ways(m, name, length, colon != NULL ? colon + 1 : NULL, at, &ways);
    for (size_t i = 0; i < ways.count; i++) {
        m->captures[captured] = (struct mx_form_capture){.name = name,
                                                         .name_length = length,
                                                         .at = at,
                                                         .length = ways.list[i].length,
                                                         .value = ways.list[i].value,
                                                         .item = ways.list[i].item};
        m->captured = captured + 1;
        if (walk(m, close + 1, end, rest, at + ways.list[i].length)) return true;
    }
    m->captured = captured;
    return false;
}

static bool group_walk(struct mx_form_match *m, const char *p, const char *end, const struct rest *rest, size_t at)
{
    const char *const close = group_end(p, end);
    const bool optional = close + 1 < end && close[1] == '?';
    const struct rest after = {close + 1 + optional, end, rest};
    for (const char *part = p + 1; part <= close;) {
        const char *const part_end = alternative_end(part, close);
        const size_t captured = m->captured;
        if (walk(m, part, part_end, &after, at)) return true;
        m->captured = captured;
        part = part_end + 1;
    }
    return optional && walk(m, after.at, end, rest, at);
}

static bool walk(struct mx_form_match *m, const char *p, const char *end, const struct rest *rest, size_t at)
{
    for (;;) {
        if (p == end) {
            if (rest == NULL) {
                if (at == m->begin || !form_ends(m, at)) return false;
                m->end = at;
                return true;
            }
            p = rest->at;
            end = rest->end;
            rest = rest->next;
            continue;
        }
        if (*p == '(') return group_walk(m, p, end, rest, at);
        if (*p == '{') return class_walk(m, p, end, rest, at);
        const uint32_t point = mx_form_point(m, at);
        if (*p == '_') {
            at += point == ' ';
            p++;
        } else if (*p == '~') {
            if (!is_dash(point)) return false;
            at++;
            p++;
        } else if (*p == '>' && p + 1 == end && rest == NULL) {
            m->end = at;
            return at > m->begin;
        } else {
            uint32_t wanted;
            p += *p == '\\';
            p += mx_utf8_decode(p, &wanted);
            if (point != wanted && small(point) != wanted) return false;
            at++;
        }
    }
}

bool mx_form_match_row(struct mx_form_match *m, const struct mx_form_row *row)
{
    const char *written = row->written;
    m->row = row;
    m->captured = 0;
    if (written == NULL) {
        m->end = row->take(m);
        return m->end > m->begin && (row->fits == NULL || row->fits(m));
    }
    const bool anywhere = *written == '<';
    const uint32_t first = mx_form_point(m, m->begin), before = m->begin > 0 ? m->points[m->begin - 1] : 0;
    if (!anywhere && is_wordlike(before) && is_wordlike(first)) return false;
    if (!anywhere && mx_text_is_digit(first) && (before == '.' || before == ',') && m->begin > 1 &&
        mx_text_is_digit(m->points[m->begin - 2]))
        return false;
    written += anywhere;
    return walk(m, written, written + strlen(written), NULL, m->begin) && (row->fits == NULL || row->fits(m));
}

/* ---- what a match holds ---- */

const struct mx_form_capture *mx_form_capture(const struct mx_form_match *match, const char *name)
{
    for (size_t i = 0; i < match->captured; i++)
        if (named(match->captures[i].name, match->captures[i].name_length, name)) return &match->captures[i];
    return NULL;
}

void mx_form_digits(const struct mx_form_match *match, const struct mx_form_capture *capture,
                    char out[MX_FORM_DIGITS + 2])
{
    size_t used = 0;
    const struct mx_form_match *const m = match;
    const bool grouped = groups_at(m, capture->at) > digits_at(m, capture->at, capture->length);
    for (size_t i = 0; i < capture->length; i++) {
        const uint32_t point = m->points[capture->at + i];
        const bool decimal =
            point == (unsigned char)m->forms->decimal && !(grouped && strchr(m->forms->groups, (int)point) != NULL);
        if (!mx_text_is_digit(point) && !decimal) continue;
        if (used == MX_FORM_DIGITS) {
            out[0] = 0;
            return;
        }
        out[used++] = decimal ? '.' : (char)point;
    }
    out[used] = 0;
}

unsigned mx_form_value(const struct mx_form_match *match, const struct mx_form_capture *capture)
{
    char digits[MX_FORM_DIGITS + 2];
    mx_form_digits(match, capture, digits);
    const size_t whole = strspn(digits, "0123456789");
    return whole == 0 || whole > 9 ? 0 : (unsigned)strtoul(digits, NULL, 10);
}

static void word_copy(const struct mx_form_match *match, size_t at, size_t length, char out[MX_FORM_WORD])
{
    size_t used = 0;
    for (size_t i = 0; i < length && used + 5 < MX_FORM_WORD; i++)
        used += (size_t)utf8proc_encode_char((utf8proc_int32_t)small(match->points[at + i]),
                                             (utf8proc_uint8_t *)out + used);
    out[used] = 0;
}

static bool in_word(uint32_t point)
{
    return mx_text_is_letter(point) || mx_text_is_mark(point);
}

void mx_form_word_after(const struct mx_form_match *match, size_t nth, char out[MX_FORM_WORD])
{
    size_t at = match->end;
    out[0] = 0;
    for (;; nth--) {
        size_t length = 0;
        if (mx_form_point(match, at) != ' ') return;
        at++;
        while (length < MX_FORM_WORD && in_word(mx_form_point(match, at + length))) length++;
        if (length == 0) return;
        if (nth == 0) {
            word_copy(match, at, length, out);
            return;
        }
        at += length;
    }
}

void mx_form_word_before(const struct mx_form_match *match, size_t nth, char out[MX_FORM_WORD])
{
    size_t at = match->begin;
    out[0] = 0;
    for (;; nth--) {
        size_t length = 0;
        if (at == 0 || match->points[at - 1] != ' ') return;
        at--;
        while (length < at && length < MX_FORM_WORD && in_word(match->points[at - length - 1])) length++;
        if (length == 0) return;
        at -= length;
        if (nth == 0) {
            word_copy(match, at, length, out);
            return;
        }
    }
}

const struct mx_form_item *mx_form_item_find(const struct mx_forms *forms, const char *list, const char *written)
{
    const struct mx_form_item *item = list_get(forms, list, strlen(list));
    while (item != NULL && item->written != NULL && strcmp(item->written, written) != 0) item++;
    return item == NULL || item->written == NULL ? NULL : item;
}

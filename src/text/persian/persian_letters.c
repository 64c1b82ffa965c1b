/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Persian letters: Arabic forms folded to Persian ones, kashida removed, half-spaces (ZWNJ) only where they belong, and
 * suffixes and verb prefixes that were set apart by a space joined by a half-space.
 *
 * Two passes, each linear: letters and half-spaces, then spaces between words.
 */
#include "text/persian/persian.h"

#include "base/string.h"

#define ALEF       0x0627u
#define HE         0x0647u
#define VAV        0x0648u
#define YE         0x06ccu
#define KAF        0x06a9u
#define TE         0x062au
#define LAM        0x0644u
#define SMALL_ALEF 0x0670u
#define TANWIN     0x064bu

size_t mx_persian_word_length(const uint32_t *points, size_t count)
{
    size_t length = 0;
    while (length < count &&
           (mx_text_is_arabic(points[length]) || mx_text_is_vowel_sign(points[length]) || points[length] == MX_ZWNJ)) {
        length++;
    }
    return length;
}

bool mx_persian_word_is(const uint32_t *points, size_t length, const char *utf8)
{
    size_t at = 0;
    while (*utf8) {
        uint32_t wanted;
        utf8 += mx_utf8_decode(utf8, &wanted);
        while (at < length && mx_text_is_vowel_sign(points[at])) at++;
        if (at == length || points[at++] != wanted) return false;
    }
    while (at < length && mx_text_is_vowel_sign(points[at])) at++;
    return at == length;
}

bool mx_persian_ends_in_silent_he(const uint32_t *points, size_t length)
{
    if (length < 3 || points[length - 1] != HE) return false;
    const uint32_t before = points[length - 2];
    return before != ALEF && before != VAV && before != YE && before != 0x622 && before != MX_ZWNJ;
}

static bool any_of(const uint32_t *points, size_t length, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (mx_persian_word_is(points, length, words[i])) return true;
    }
    return false;
}
#define ANY_OF(points, length, words) any_of(points, length, words, sizeof(words) / sizeof *(words))

/* ---- first pass: letters ---- */

static uint32_t fold_letter(uint32_t point, bool word_start)
{
    switch (point) {
    case 0x649: /* ى alef maksura */
    case 0x64a: /* ي Arabic ye */
    case 0x6cd:
    case 0x6ce:
    case 0x6d0:
    case 0x6d2: /* ے */
        return YE;
    case 0x643: /* ك Arabic kaf */
    case 0x6aa: /* ڪ */
        return KAF;
    case 0x6be: /* ھ */
    case 0x6c1: /* ہ */
    case 0x6d5: /* ە */
        return HE;
    case 0x623: /* أ: a glottal stop inside a word (رأس), nothing at its start */
        return word_start ? ALEF : point;
    case 0x625: /* إ */
    case 0x671: /* ٱ */
    case 0x672:
    case 0x673:
    case 0x675:
        return ALEF;
    case 0x6c6:
    case 0x6c7:
    case 0x6cb:
        return VAV;
    default:
        return point;
    }
}

/* What stands after a teh marbuta decides its sound: "at" before the Arabic article, "e" otherwise. */
static bool article_follows(const struct mx_text_points *in, size_t at)
{
    if (at < in->count && (in->data[at] == ' ' || in->data[at] == MX_ZWNJ)) at++;
    return at + 1 < in->count && in->data[at] == ALEF && in->data[at + 1] == LAM;
}

static void fold(const struct mx_text_points *in, struct mx_text_points *out, struct mx_text_report *report)
{
    bool half_space = false; /* one is waiting for a letter */
    for (size_t i = 0; i < in->count; i++) {
        const uint32_t last = out->count ? out->data[out->count - 1] : 0;
        const bool after_letter = mx_text_is_arabic(last) || mx_text_is_vowel_sign(last);
        uint32_t point = in->data[i];
        if (point == 0x640) continue; /* kashida */
        if (point == MX_ZWNJ) {
            half_space = after_letter;
            continue;
        }
        if (point == 0x654 && last == HE) { /* هٔ */
            mx_text_points_push(out, MX_ZWNJ);
            mx_text_points_push(out, YE);
            continue;
        }
        if (mx_text_is_mark(point) && !mx_text_is_letter(last)) {
            const bool stays = mx_text_is_vowel_sign(point) && after_letter && !half_space && last != point;
            if (stays) {
                mx_text_points_push(out, point);
            } else {
                report->symbols_dropped++;
            }
            continue;
        }
        if (mx_text_is_mark(point) && mx_text_is_arabic(last)) {
            /* موسیٰ is موسی: the final ye is the alef already. */
            const bool final_ye = point == SMALL_ALEF && last == YE;
            if (mx_text_is_vowel_sign(point) && !half_space && !final_ye) {
                mx_text_points_push(out, point);
            } else if (!final_ye) {
                report->symbols_dropped++;
            }
            continue;
        }
        if (point == ALEF && last == TANWIN && !half_space) { /* واقعًا is واقعاً */
            out->data[out->count - 1] = ALEF;
            mx_text_points_push(out, TANWIN);
            continue;
        }
        if (mx_text_is_arabic(point)) {
            if (half_space) mx_text_points_push(out, MX_ZWNJ);
            if (point == 0x629 || point == 0x6c3) { /* ة */
                mx_text_points_push(out, article_follows(in, i + 1) ? TE : HE);
            } else if (point == 0x6c0 || point == 0x6c2) { /* ۀ */
                mx_text_points_push(out, HE);
                mx_text_points_push(out, MX_ZWNJ);
                mx_text_points_push(out, YE);
            } else {
                mx_text_points_push(out, fold_letter(point, !after_letter));
            }
        } else {
            mx_text_points_push(out, point);
        }
        half_space = false;
    }
}

/* ---- second pass: spaces that should be half-spaces ---- */

static bool has_two_letters(const uint32_t *points, size_t length)
{
    size_t count = 0;
    for (size_t i = 0; i < length && count < 2; i++) count += mx_text_is_arabic(points[i]);
    return count == 2;
}

/* A verb as it stands after می: a personal ending, and none of the words that follow «می» (wine). */
static bool looks_like_verb(const uint32_t *points, size_t length)
{
    static const char *const others[] = {"ناب", "است", "نیست", "هست"};
    static const char *const endings = "مدیتنهش";
    while (length > 0 && mx_text_is_vowel_sign(points[length - 1])) length--;
    if (!has_two_letters(points, length) || ANY_OF(points, length, others)) return false;
    for (const char *at = endings; *at;) {
        uint32_t ending;
        at += mx_utf8_decode(at, &ending);
        if (points[length - 1] == ending) return true;
    }
    return false;
}

/* Whether the space between the words `first` and `second` should be a half-space. */
static bool joins(const uint32_t *first, size_t first_length, const uint32_t *second, size_t second_length)
{
    static const char *const prefixes[] = {"می", "نمی"};
    static const char *const suffixes[] = {"ها",   "های",    "هایی",   "هایم",   "هایت",
                                           "هایش", "هایمان", "هایتان", "هایشان", "ترین"};
    static const char *const after_he[] = {"ام", "ات", "اش", "ایم", "اید", "اند", "ای", "ی"};
    static const char *const comparable[] = {"بزرگ", "کوچک", "بیش",  "کم",   "خوب",   "بلند",  "کوتاه", "سریع", "آهسته",
                                             "جدید", "مهم",  "زیبا", "ساده", "سخت",   "آسان",  "قوی",   "ضعیف", "جوان",
                                             "پیر",  "گرم",  "سرد",  "دور",  "نزدیک", "پایین", "بالا",  "زود",  "دیر"};
    static const char *const not_joined[] = {"همه", "بله", "البته"};
    if (ANY_OF(first, first_length, prefixes)) return looks_like_verb(second, second_length);
    if (!has_two_letters(first, first_length)) return false;
    if (ANY_OF(second, second_length, suffixes)) return true;
    if (mx_persian_word_is(second, second_length, "تر")) return ANY_OF(first, first_length, comparable);
    return mx_persian_ends_in_silent_he(first, first_length) && ANY_OF(second, second_length, after_he) &&
           !ANY_OF(first, first_length, not_joined);
}

static void join(struct mx_text_points *points)
{
    size_t first = 0, first_length = 0;
    for (size_t i = 0; i < points->count;) {
        const size_t length = mx_persian_word_length(points->data + i, points->count - i);
        if (length > 0) {
            first = i;
            first_length = length;
            i += length;
            continue;
        }
        if (points->data[i] == ' ' && first_length > 0 && first + first_length == i) {
            const size_t second = mx_persian_word_length(points->data + i + 1, points->count - i - 1);
            if (second > 0 && joins(points->data + first, first_length, points->data + i + 1, second)) {
                points->data[i] = MX_ZWNJ;
                first_length += 1 + second; /* the joined word may take a suffix in its turn */
                i += 1 + second;
                continue;
            }
        }
        i++;
    }
}

void mx_persian_letters(const struct mx_text_points *in, struct mx_text_points *out, struct mx_text_report *report)
{
    fold(in, out, report);
    if (!out->failure) join(out);
}

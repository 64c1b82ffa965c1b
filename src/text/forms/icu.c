/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * ICU, serialised by one lock; see icu.h. Opening the rules of a language takes milliseconds, so each is opened once, and so are
 * the formatters of units that texts use; words of a number take microseconds.
 */
#include "text/forms/icu.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"

#ifdef MX_HAVE_ICU

#include <unicode/uchar.h>
#include <unicode/udat.h>
#include <unicode/unum.h>
#include <unicode/unumberformatter.h>
#include <unicode/upluralrules.h>
#include <unicode/ures.h>
#include <unicode/ustring.h>

#define UNITS_MOST    48 /* formatters that are kept for a language; the oldest gives way */
#define UNIT_BYTES    64
#define GENDER_BYTES  16
#define DIGIT_BYTES   32
#define NAME_BYTES    64
#define NAMES_MOST    13
#define CALENDARS     2
#define LOCALE_BYTES  32
#define SKELETON_MOST 128
#define INT64_DIGITS  18 /* that surely fit into an int64_t */

struct unit {
    char skeleton[SKELETON_MOST]; /* "" in a free place */
    UNumberFormatter *formatter;  /* NULL: ICU does not know this unit */
};

struct known {
    UNumberFormat *spell;
    UPluralRules *plurals;
    UFormattedNumber *formatted;
    struct unit units[UNITS_MOST];
    size_t unit_next;
    struct {
        char unit[UNIT_BYTES], gender[GENDER_BYTES]; /* "": it has none */
    } genders[UNITS_MOST];
    size_t gender_count;
    char digits[2][10][DIGIT_BYTES]; /* words of single digits by "cardinal" and "numbering"; "": not asked yet */
    bool names_read[CALENDARS];
    char names[CALENDARS][MX_ICU_NAMES][NAMES_MOST][NAME_BYTES];
};

/* Lock invariant: `lock` is held whenever a member of `known` or something that it points to is read or written. A name
 * that was read once never changes, so callers may keep it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct known *known[MX_LANGUAGE_COUNT];

bool mx_icu_ready(void)
{
    return true;
}

static void locale_of(enum mx_language_id language, const char *calendar, char out[LOCALE_BYTES])
{
    const char *const code = mx_language_get(language)->code;
    char region[4] = "";
    if (strlen(code) == 5 && code[2] == '-') /* fr-ch, en-gb */
        (void)snprintf(region, sizeof region, "_%c%c", code[3] & ~0x20, code[4] & ~0x20);
    else if (!strncmp(code, "en-gb", 5))
        (void)snprintf(region, sizeof region, "_GB");
    (void)snprintf(out, LOCALE_BYTES, "%.2s%s%s%s", code, region, calendar ? "@calendar=" : "",
                   calendar ? calendar : "");
}

/* NULL: no memory. */
static struct known *known_get(enum mx_language_id language)
{
    if (known[language] == NULL) known[language] = mx_alloc(1, sizeof *known[language]);
    return known[language];
}

static bool utf8_get(const UChar *text, int32_t length, char *out, int32_t size)
{
    UErrorCode error = U_ZERO_ERROR;
    int32_t used = 0;
    u_strToUTF8(out, size - 1, &used, text, length, &error);
    if (U_FAILURE(error)) return false;
    out[used] = 0;
    return true;
}

/* Leaves soft hyphens out, and makes blanks plain. */
static void words_tidy(char *text)
{
    char *to = text;
    for (const char *from = text; *from != 0;) {
        if (!strncmp(from, "\u00ad", 2)) {
            from += 2;
        } else if (!strncmp(from, "\u00a0", 2) || !strncmp(from, "\u202f", 3)) {
            from += from[0] == '\xc2' ? 2 : 3;
            *to++ = ' ';
        } else {
            *to++ = *from++;
        }
    }
    *to = 0;
}

static bool number_words(struct known *k, enum mx_language_id language, const char *rules, const char *digits,
                         char *out)
{
    char name[UNIT_BYTES], locale[LOCALE_BYTES];
    UChar wide[UNIT_BYTES], words[MX_ICU_WORDS];
    UErrorCode error = U_ZERO_ERROR;
    locale_of(language, NULL, locale);
    if (k->spell == NULL) k->spell = unum_open(UNUM_SPELLOUT, NULL, 0, locale, NULL, &error);
    if (U_FAILURE(error) || snprintf(name, sizeof name, "%%spellout-%s", rules) >= (int)sizeof name) return false;
    u_uastrcpy(wide, name);
    unum_setTextAttribute(k->spell, UNUM_DEFAULT_RULESET, wide, -1, &error);
    if (U_FAILURE(error)) return false;
    /* Whole numbers as integers: where memory runs out, ICU 72 crashes in the decimals that it would make of them. */
    const bool whole = strlen(digits) <= INT64_DIGITS && strspn(digits, "0123456789") == strlen(digits);
    const int32_t length =
        whole ? unum_formatInt64(k->spell, strtoll(digits, NULL, 10), words, MX_ICU_WORDS, NULL, &error)
              : unum_formatDecimal(k->spell, digits, (int32_t)strlen(digits), words, MX_ICU_WORDS, NULL, &error);
    if (U_FAILURE(error) || length >= MX_ICU_WORDS || !utf8_get(words, length, out, MX_ICU_WORDS)) return false;
    words_tidy(out);
    return strpbrk(out, "0123456789") == NULL; /* beyond what the rules have words for */
}

/* Single digits, of which long numbers and addresses have many, are kept; NULL: this is none, or not kept. */
static char *digit_place(struct known *k, const char *rules, const char *digits)
{
    if (digits[0] < '0' || digits[0] > '9' || digits[1] != 0) return NULL;
    if (!strcmp(rules, "cardinal")) return k->digits[0][digits[0] - '0'];
    return !strcmp(rules, "numbering") ? k->digits[1][digits[0] - '0'] : NULL;
}

bool mx_icu_number(enum mx_language_id language, const char *rules, const char *digits, char out[MX_ICU_WORDS])
{
    pthread_mutex_lock(&lock);
    struct known *const k = known_get(language);
    char *const kept = k == NULL ? NULL : digit_place(k, rules, digits);
    bool found = kept != NULL && kept[0] != 0;
    if (found) {
        strcpy(out, kept);
    } else if (k != NULL) {
        found = number_words(k, language, rules, digits, out);
        if (found && kept != NULL && strlen(out) < DIGIT_BYTES) strcpy(kept, out);
    }
    pthread_mutex_unlock(&lock);
    return found;
}

/* The digits as ICU's number, in k->formatted. */
static bool formatted_set(struct known *k, const UNumberFormatter *formatter, const char *digits)
{
    UErrorCode error = U_ZERO_ERROR;
    if (k->formatted == NULL) k->formatted = unumf_openResult(&error);
    unumf_formatDecimal(formatter, digits, (int32_t)strlen(digits), k->formatted, &error);
    return U_SUCCESS(error);
}

/* The formatter for this skeleton; NULL: ICU does not understand it. */
static UNumberFormatter *unit_get(struct known *k, enum mx_language_id language, const char *skeleton)
{
    char locale[LOCALE_BYTES];
    UChar wide[SKELETON_MOST];
    UErrorCode error = U_ZERO_ERROR;
    for (size_t i = 0; i < UNITS_MOST; i++)
        if (!strcmp(k->units[i].skeleton, skeleton)) return k->units[i].formatter;
    struct unit *const unit = &k->units[k->unit_next++ % UNITS_MOST];
    if (unit->formatter != NULL) unumf_close(unit->formatter);
    (void)snprintf(unit->skeleton, sizeof unit->skeleton, "%s", skeleton);
    u_uastrcpy(wide, skeleton);
    locale_of(language, NULL, locale);
    unit->formatter = unumf_openForSkeletonAndLocale(wide, -1, locale, &error);
    if (U_FAILURE(error)) {
        unumf_close(unit->formatter);
        unit->formatter = NULL;
    }
    return unit->formatter;
}

enum mx_icu_plural mx_icu_plural(enum mx_language_id language, const char *digits)
{
    static const char *const keywords[] = {"zero", "one", "two", "few", "many", "other"};
    char locale[LOCALE_BYTES], keyword[16] = "";
    UChar wide[16];
    UErrorCode error = U_ZERO_ERROR;
    pthread_mutex_lock(&lock);
    struct known *const k = known_get(language);
    locale_of(language, NULL, locale);
    if (k != NULL && k->plurals == NULL) k->plurals = uplrules_openForType(locale, UPLURAL_TYPE_CARDINAL, &error);
    const UNumberFormatter *const precise = k == NULL ? NULL : unit_get(k, language, ".##########");
    if (precise != NULL && U_SUCCESS(error) && formatted_set(k, precise, digits)) {
        const int32_t length = uplrules_selectFormatted(k->plurals, k->formatted, wide, 16, &error);
        if (U_SUCCESS(error)) utf8_get(wide, length, keyword, sizeof keyword);
    }
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < MX_ICU_OTHER; i++)
        if (!strcmp(keyword, keywords[i])) return (enum mx_icu_plural)i;
    return MX_ICU_OTHER;
}

/* The number with its unit, without the number. */
static bool unit_words(struct known *k, enum mx_language_id language, const char *skeleton, const char *digits,
                       char *out)
{
    UErrorCode error = U_ZERO_ERROR;
    UChar wide[MX_ICU_WORDS];
    const UNumberFormatter *const formatter = unit_get(k, language, skeleton);
    if (formatter == NULL || !formatted_set(k, formatter, digits)) return false;
    const int32_t length = unumf_resultToString(k->formatted, wide, MX_ICU_WORDS, &error);
    if (U_FAILURE(error) || length >= MX_ICU_WORDS) return false;
    int32_t begin = 0, end = length, to = 0;
    while (begin < length && !(wide[begin] >= '0' && wide[begin] <= '9') && wide[begin] != '-') begin++;
    while (end > begin && !(wide[end - 1] >= '0' && wide[end - 1] <= '9')) end--;
    for (int32_t i = 0; i < length; i++)
        if (i < begin || i >= end) wide[to++] = wide[i];
    if (!utf8_get(wide, to, out, MX_ICU_WORDS)) return false;
    words_tidy(out);
    const size_t blanks = strspn(out, " ");
    memmove(out, out + blanks, strlen(out + blanks) + 1);
    for (size_t used = strlen(out); used > 0 && out[used - 1] == ' ';) out[--used] = 0;
    return out[0] != 0;
}

static bool measured(enum mx_language_id language, const char *kind, const char *unit, const char *digits, char *out)
{
    char skeleton[SKELETON_MOST];
    if (snprintf(skeleton, sizeof skeleton, "%s/%s unit-width-full-name .########## latin", kind, unit) >=
        (int)sizeof skeleton)
        return false;
    pthread_mutex_lock(&lock);
    struct known *const k = known_get(language);
    const bool found = k != NULL && unit_words(k, language, skeleton, digits, out);
    pthread_mutex_unlock(&lock);
    return found;
}

bool mx_icu_unit(enum mx_language_id language, const char *unit, const char *digits, char out[MX_ICU_WORDS])
{
    return measured(language, "unit", unit, digits, out);
}

bool mx_icu_currency(enum mx_language_id language, const char *code, const char *digits, char out[MX_ICU_WORDS])
{
    return measured(language, "currency", code, digits, out);
}

static void gender_read(enum mx_language_id language, const char *unit, char out[GENDER_BYTES])
{
    char locale[LOCALE_BYTES];
    UErrorCode error = U_ZERO_ERROR;
    bool found = false;
    locale_of(language, NULL, locale);
    UResourceBundle *const root = ures_open(U_ICUDATA_NAME "-unit", locale, &error);
    UResourceBundle *const units = ures_getByKey(root, "units", NULL, &error);
    while (U_SUCCESS(error) && !found && ures_hasNext(units)) {
        UErrorCode missing = U_ZERO_ERROR;
        UResourceBundle *const kind = ures_getNextResource(units, NULL, &error);
        UResourceBundle *const entry = ures_getByKey(kind, unit, NULL, &missing);
        int32_t length = 0;
        const UChar *const gender = ures_getStringByKey(entry, "gender", &length, &missing);
        found = U_SUCCESS(missing) && utf8_get(gender, length, out, GENDER_BYTES);
        ures_close(entry);
        ures_close(kind);
    }
    ures_close(units);
    ures_close(root);
    if (!found) out[0] = 0;
}

bool mx_icu_unit_gender(enum mx_language_id language, const char *unit, char out[MX_ICU_WORDS])
{
    out[0] = 0;
    pthread_mutex_lock(&lock);
    struct known *const k = known_get(language);
    size_t i = 0;
    while (k != NULL && i < k->gender_count && strcmp(k->genders[i].unit, unit) != 0) i++;
    if (k != NULL && i == k->gender_count) {
        i = k->gender_count < UNITS_MOST ? k->gender_count++ : 0;
        (void)snprintf(k->genders[i].unit, sizeof k->genders[i].unit, "%s", unit);
        gender_read(language, unit, k->genders[i].gender);
    }
    if (k != NULL) (void)snprintf(out, MX_ICU_WORDS, "%s", k->genders[i].gender);
    pthread_mutex_unlock(&lock);
    return out[0] != 0;
}

bool mx_icu_point_name(uint32_t point, char out[MX_ICU_WORDS])
{
    UErrorCode error = U_ZERO_ERROR;
    u_charName((UChar32)point, U_UNICODE_CHAR_NAME, out, MX_ICU_WORDS, &error);
    if (U_FAILURE(error) || out[0] == 0) return false;
    for (char *c = out; *c != 0; c++)
        if (*c >= 'A' && *c <= 'Z') *c = (char)(*c + 32);
    return true;
}

static void names_read(struct known *k, enum mx_language_id language, const char *calendar, size_t which)
{
    static const struct {
        UDateFormatSymbolType type;
        int32_t first;
    } kinds[MX_ICU_NAMES] = {{UDAT_MONTHS, 0},       {UDAT_STANDALONE_MONTHS, 0},
                             {UDAT_SHORT_MONTHS, 0}, {UDAT_STANDALONE_SHORT_MONTHS, 0},
                             {UDAT_WEEKDAYS, 1},     {UDAT_SHORT_WEEKDAYS, 1}};
    char locale[LOCALE_BYTES];
    UErrorCode error = U_ZERO_ERROR;
    locale_of(language, calendar, locale);
    UDateFormat *const dates = udat_open(UDAT_LONG, UDAT_LONG, locale, NULL, -1, NULL, -1, &error);
    k->names_read[which] = true;
    for (int kind = 0; kind < MX_ICU_NAMES && U_SUCCESS(error); kind++) {
        const int32_t count = udat_countSymbols(dates, kinds[kind].type);
        for (int32_t i = kinds[kind].first; i < count && i - kinds[kind].first < NAMES_MOST; i++) {
            UChar wide[NAME_BYTES];
            UErrorCode failed = U_ZERO_ERROR;
            const int32_t length = udat_getSymbols(dates, kinds[kind].type, i, wide, NAME_BYTES, &failed);
            char *const name = k->names[which][kind][i - kinds[kind].first];
            if (U_FAILURE(failed) || !utf8_get(wide, length, name, NAME_BYTES)) name[0] = 0;
        }
    }
    udat_close(dates);
}

const char *mx_icu_name(enum mx_language_id language, const char *calendar, enum mx_icu_name kind, size_t index)
{
    const size_t which = calendar != NULL;
    if (index >= NAMES_MOST) return NULL;
    pthread_mutex_lock(&lock);
    struct known *const k = known_get(language);
    if (k != NULL && !k->names_read[which]) names_read(k, language, calendar, which);
    const char *const name = k == NULL ? "" : k->names[which][kind][index];
    pthread_mutex_unlock(&lock);
    return name[0] == 0 ? NULL : name;
}

#else

bool mx_icu_ready(void)
{
    static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;
    static bool said;
    /* Lock invariant: `once` is held whenever `said` is read or written. */
    pthread_mutex_lock(&once);
    if (!said)
        mx_warn(
            "this program was built without ICU (libicu-dev): dates, money and measures are read as in version 3 of "
            "the rules, and numbers by espeak-ng");
    said = true;
    pthread_mutex_unlock(&once);
    return false;
}

bool mx_icu_number(enum mx_language_id language, const char *rules, const char *digits, char out[MX_ICU_WORDS])
{
    (void)language, (void)rules, (void)digits, (void)out;
    return false;
}

enum mx_icu_plural mx_icu_plural(enum mx_language_id language, const char *digits)
{
    (void)language, (void)digits;
    return MX_ICU_OTHER;
}

bool mx_icu_unit(enum mx_language_id language, const char *unit, const char *digits, char out[MX_ICU_WORDS])
{
    return mx_icu_number(language, unit, digits, out);
}

bool mx_icu_currency(enum mx_language_id language, const char *code, const char *digits, char out[MX_ICU_WORDS])
{
    return mx_icu_number(language, code, digits, out);
}

bool mx_icu_unit_gender(enum mx_language_id language, const char *unit, char out[MX_ICU_WORDS])
{
    return mx_icu_number(language, unit, "", out);
}

bool mx_icu_point_name(uint32_t point, char out[MX_ICU_WORDS])
{
    (void)point;
    return mx_icu_number(MX_LANGUAGE_EN, "", "", out);
}

const char *mx_icu_name(enum mx_language_id language, const char *calendar, enum mx_icu_name kind, size_t index)
{
    (void)language, (void)calendar, (void)kind, (void)index;
    return NULL;
}

#endif

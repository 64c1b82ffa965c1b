/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The tables of languages and scripts; see language.h. Nothing here takes memory.
 */
#include "text/language.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/string.h"
#include "myxtts/error.h"
#include "text/internal.h"

/* ---- scripts ---- */

#define RANGES(...) ((const struct mx_script_range[]){__VA_ARGS__, {0, 0}})

/* What the scripts of India write at the end of a sentence, in addition to the full stop. */
#define DANDA "।.॥."

enum script {
    LATIN,
    ARABIC,
    CYRILLIC,
    GREEK,
    HEBREW,
    ARMENIAN,
    GEORGIAN,
    ETHIOPIC,
    CHEROKEE,
    DEVANAGARI,
    BENGALI,
    GURMUKHI,
    GUJARATI,
    ORIYA,
    TAMIL,
    TELUGU,
    KANNADA,
    MALAYALAM,
    SINHALA,
    THAI,
    MYANMAR,
    HANGUL,
    HAN,
    JAPANESE
};

static const struct mx_script scripts[] = {
    [LATIN] = {.name = "Latin",
               .detected = true,
               .zeros = {'0'},
               .marks = "",
               .ranges = RANGES({0x41, 0x24f}, {0x1e00, 0x1eff})},
    /* Without U+0640, which only makes words longer. Its punctuation and digits are folded for every language. */
    [ARABIC] = {.name = "Arabic",
                .direction = MX_DIRECTION_RIGHT_TO_LEFT,
                .detected = true,
                .joiners = true,
                .zeros = {MX_ARABIC_ZERO, MX_PERSIAN_ZERO},
                .marks = "",
                .ranges = RANGES({0x620, 0x63f}, {0x641, 0x6ff}, {0x750, 0x77f}, {0x8a0, 0x8c9}, {0xfb50, 0xfefc})},
    [CYRILLIC] = {.name = "Cyrillic",
                  .detected = true,
                  .marks = "",
                  .ranges = RANGES({0x400, 0x52f}, {0x1c80, 0x1c8f}, {0x2de0, 0x2dff}, {0xa640, 0xa69f})},
    /* NFC turns the Greek question mark into ; and the raised dot into U+00B7. */
    [GREEK] = {.name = "Greek", .marks = ";?·;", .ranges = RANGES({0x370, 0x3ff}, {0x1f00, 0x1fff})},
    [HEBREW] = {.name = "Hebrew",
                .direction = MX_DIRECTION_RIGHT_TO_LEFT,
                .marks = "׃.",
                .ranges = RANGES({0x5d0, 0x5f2}, {0xfb1d, 0xfb4f})},
    [ARMENIAN] = {.name = "Armenian", .marks = "։.՝,", .ranges = RANGES({0x531, 0x588}, {0xfb13, 0xfb17})},
    [GEORGIAN] = {.name = "Georgian", .marks = "", .ranges = RANGES({0x10a0, 0x10ff}, {0x1c90, 0x1cbf})},
    [ETHIOPIC] = {.name = "Ethiopic",
                  .marks = "።.፣,፤;፥:፦:፧?፨.",
                  .ranges = RANGES({0x1200, 0x135a}, {0x1380, 0x138f}, {0x2d80, 0x2dde})},
    [CHEROKEE] = {.name = "Cherokee", .marks = "", .ranges = RANGES({0x13a0, 0x13fd}, {0xab70, 0xabbf})},
    [DEVANAGARI] = {.name = "Devanagari",
                    .joiners = true,
                    .zeros = {0x966},
                    .marks = DANDA,
                    .ranges = RANGES({0x900, 0x97f}, {0xa8e0, 0xa8ff})},
    [BENGALI] =
        {.name = "Bengali", .joiners = true, .zeros = {0x9e6}, .marks = DANDA, .ranges = RANGES({0x980, 0x9ff})},
    [GURMUKHI] =
        {.name = "Gurmukhi", .joiners = true, .zeros = {0xa66}, .marks = DANDA, .ranges = RANGES({0xa00, 0xa7f})},
    [GUJARATI] =
        {.name = "Gujarati", .joiners = true, .zeros = {0xae6}, .marks = DANDA, .ranges = RANGES({0xa80, 0xaff})},
    [ORIYA] = {.name = "Oriya", .joiners = true, .zeros = {0xb66}, .marks = DANDA, .ranges = RANGES({0xb00, 0xb7f})},
    [TAMIL] = {.name = "Tamil", .joiners = true, .zeros = {0xbe6}, .marks = DANDA, .ranges = RANGES({0xb80, 0xbff})},
    [TELUGU] = {.name = "Telugu", .joiners = true, .zeros = {0xc66}, .marks = DANDA, .ranges = RANGES({0xc00, 0xc7f})},
    [KANNADA] =
        {.name = "Kannada", .joiners = true, .zeros = {0xce6}, .marks = DANDA, .ranges = RANGES({0xc80, 0xcff})},
    [MALAYALAM] =
        {.name = "Malayalam", .joiners = true, .zeros = {0xd66}, .marks = DANDA, .ranges = RANGES({0xd00, 0xd7f})},
    [SINHALA] = {.name = "Sinhala", .joiners = true, .zeros = {0xde6}, .marks = "෴.", .ranges = RANGES({0xd80, 0xdff})},
    [THAI] = {.name = "Thai", .zeros = {0xe50}, .marks = "", .ranges = RANGES({0xe01, 0xe4e})},
    [MYANMAR] = {.name = "Myanmar",
                 .joiners = true,
                 .zeros = {0x1040},
                 .marks = "၊,။.",
                 .ranges = RANGES({0x1000, 0x109f}, {0xa9e0, 0xa9fe}, {0xaa60, 0xaa7f})},
    [HANGUL] = {.name = "Hangul",
                .marks = "。.、,",
                .ranges = RANGES({0x1100, 0x11ff}, {0x3130, 0x318f}, {0xa960, 0xa97f}, {0xac00, 0xd7ff})},
    [HAN] = {.name = "Han",
             .marks = "。.、,",
             .ranges = RANGES({0x3005, 0x3007}, {0x3400, 0x9fff}, {0xf900, 0xfaff}, {0x20000, 0x323af})},
    [JAPANESE] = {.name = "Japanese",
                  .marks = "。.、,",
                  .ranges = RANGES({0x3005, 0x3007}, {0x3041, 0x30ff}, {0x31f0, 0x31ff}, {0x3400, 0x9fff},
                                   {0xf900, 0xfaff}, {0x20000, 0x323af})},
};

bool mx_script_has(const struct mx_script *script, uint32_t point)
{
    for (const struct mx_script_range *range = script->ranges; range->last != 0; range++)
        if (point >= range->first && point <= range->last) return mx_text_is_letter(point);
    return false;
}

int mx_script_digit(const struct mx_script *script, uint32_t point)
{
    for (size_t i = 0; i < sizeof script->zeros / sizeof script->zeros[0]; i++) {
        const uint32_t zero = script->zeros[i];
        if (zero != 0 && point >= zero && point <= zero + 9) return (int)(point - zero);
    }
    return -1;
}

char mx_script_mark(const struct mx_script *script, uint32_t point)
{
    for (const char *at = script->marks; *at != '\0'; at++) {
        uint32_t mark;
        at += mx_utf8_decode(at, &mark);
        if (mark == point) return *at;
    }
    return 0;
}

/* ---- languages ---- */

#define ENGLISH &mx_rules_english
#define PERSIAN &mx_rules_persian
#define PLAIN   &mx_rules_plain
#define TONAL   &mx_rules_tonal
#define DOTLESS &mx_rules_dotless
#define GERMAN  &mx_rules_german
#define SPANISH &mx_rules_spanish
#define FRENCH  &mx_rules_french
#define ITALIAN &mx_rules_italian
#define RUSSIAN &mx_rules_russian

static const struct mx_language languages[] = {
#define X(identifier, code, name, voice, script, rules) {code, name, voice, &scripts[script], rules},
    MX_LANGUAGE_LIST(X)
#undef X
};

const struct mx_language *mx_language_get(enum mx_language_id language)
{
    return &languages[language];
}

int mx_language_parse(const char *text, enum mx_language_id *out)
{
    char quoted[64], known[MX_ERROR_HINT_BYTES] = "";
    size_t used = 0;
    struct mx_string_nearest nearest;
    mx_string_nearest_start(&nearest, text);
    for (int i = 0; i < MX_LANGUAGE_COUNT; i++) {
        const struct mx_language *const language = &languages[i];
        if (!strcasecmp(text, language->code) || !strcasecmp(text, language->name)) {
            *out = (enum mx_language_id)i;
            return 0;
        }
        mx_string_nearest_offer(&nearest, language->name);
        /* Names of all would be longer than a hint may be: those with rules of their own have one. */
        const bool own = language->rules->own;
        const int written = snprintf(known + used, sizeof known - used, "%s%s%s%s%s", i ? ", " : "", language->code,
                                     own ? " (" : "", own ? language->name : "", own ? ")" : "");
        if (written > 0 && (size_t)written < sizeof known - used) used += (size_t)written;
    }
    MX_FAIL(MX_ERR_CONFIG, NULL, "unknown language %s", mx_string_quote(quoted, sizeof quoted, text));
    const char *const best = mx_string_nearest_best(&nearest);
    return mx_error_hint("%s%s%slanguages: %.1500s", best ? "did you mean " : "", best ? best : "", best ? "? " : "",
                         known);
}

bool mx_language_detected(enum mx_language_id language)
{
    const struct mx_script *const script = languages[language].script;
    for (int i = 0; i < (int)language; i++)
        if (languages[i].script == script) return false;
    return script->detected;
}

/* What normalised text may hold in every language: Latin and Arabic letters with their marks, the half-space, and what
 * stays of the punctuation. */
static const struct mx_script_range common[] = {
    {' ', ' '},       {'\'', '\''},     {',', '.'},       {':', ';'},       {'!', '!'},       {'?', '?'},
    {'A', 'Z'},       {'a', 'z'},       {0x00C0, 0x024F}, {0x0300, 0x036F}, {0x0610, 0x061A}, {0x0620, 0x065F},
    {0x066E, 0x06D3}, {0x06D5, 0x06D5}, {0x06EE, 0x06EF}, {0x06FA, 0x06FF}, {0x0750, 0x077F}, {0x1E00, 0x1EFF},
    {0x200C, 0x200D}, {0x2019, 0x2019}, {0xFB50, 0xFDFF}, {0xFE70, 0xFEFC}};

/* Letters and marks of the IPA, and the same punctuation. */
static const struct mx_script_range phonemes[] = {
    {' ', ' '},       {',', '.'},       {':', ';'},       {'!', '!'},       {'?', '?'},       {'a', 'z'},
    {0x00E6, 0x00E6}, {0x00E7, 0x00E7}, {0x00F0, 0x00F0}, {0x00F8, 0x00F8}, {0x0127, 0x0127}, {0x014B, 0x014B},
    {0x0153, 0x0153}, {0x0250, 0x02FF}, {0x0300, 0x036F}, {0x03B2, 0x03B2}, {0x03B8, 0x03B8}, {0x03C7, 0x03C7},
    {0x1D00, 0x1DBF}, {0x203F, 0x203F}, {0x2191, 0x2193}, {0x207F, 0x207F}, {0x2C71, 0x2C71}};

static bool in_ranges(const struct mx_script_range *ranges, size_t count, uint32_t point)
{
    for (size_t i = 0; i < count; i++)
        if (point >= ranges[i].first && point <= ranges[i].last) return true;
    return false;
}

bool mx_language_writes(enum mx_language_id language, uint32_t point)
{
    const struct mx_language *const own = &languages[language];
    if (in_ranges(common, sizeof common / sizeof common[0], point) || mx_script_has(own->script, point)) return true;
    return own->rules->writes != NULL && own->rules->writes(own->script, point);
}

bool mx_language_speaks(enum mx_language_id language, uint32_t point)
{
    const struct mx_language_rules *const rules = languages[language].rules;
    if (in_ranges(phonemes, sizeof phonemes / sizeof phonemes[0], point)) return true;
    return (rules->tones && mx_text_is_digit(point)) || (!rules->own && mx_text_is_letter(point));
}

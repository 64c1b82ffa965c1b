/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Written forms of Italian: the rows (forms.h), how numbers agree with what stands around them, and what rows have besides
 * templates. The lists are in italian_lists.c.
 */
#include "text/languages/italian.h"

#include <stdio.h>
#include <string.h>

/* ---- agreement ---- */

static bool is_feminine(const char *word)
{
    static const char *const feminine[] = {"volta",  "notte",  "parte",  "classe", "mano",  "legge",
                                           "fase",   "base",   "chiave", "serie",  "città", "università",
                                           "madre",  "moglie", "luce",   "voce",   "croce", "edizione",
                                           "estate", "torre",  "carne",  "arte",   "mente"};
    static const char *const masculine[] = {"problema", "sistema", "tema",   "programma", "clima", "poeta",  "pianeta",
                                            "diploma",  "dramma",  "schema", "cinema",    "papa",  "atleta", "grammo"};
    static const char *const endings[] = {"a", "zione", "sione", "gione", "tà", "tù", "trice", "udine"};
    if (MX_FORM_LISTED(feminine, word)) return true;
    if (MX_FORM_LISTED(masculine, word)) return false;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (mx_form_ends_in(word, endings[i])) return true;
    return false;
}

static bool is_function_word(const char *word)
{
    static const char *const words[] = {"a",   "e",     "o",   "è",     "di",   "da",    "in",   "con",   "su", "per",
                                        "tra", "fra",   "che", "il",    "la",   "lo",    "le",   "gli",   "al", "alla",
                                        "del", "della", "dal", "dalla", "nel",  "nella", "sul",  "sulla", "ma", "non",
                                        "più", "meno",  "ore", "era",   "sono", "ha",    "alle", "dalle", "va"};
    return word[0] == 0 || MX_FORM_LISTED(words, word);
}

/* "un libro", "una pagina", "prima volta"; from two on only ordinals change. */
static void agree(const struct mx_form_match *match, const struct mx_form_capture *number, bool ordinal,
                  const char *gender, char out[MX_ICU_WORDS])
{
    char after[MX_FORM_WORD], before[MX_FORM_WORD];
    const bool one = number != NULL && mx_form_value(match, number) == 1;
    (void)snprintf(out, MX_ICU_WORDS, "%s", number == NULL || one || ordinal ? gender : "");
    if (gender[0] != 0 || number == NULL) return;
    mx_form_word_after(match, 0, after);
    mx_form_word_before(match, 0, before);
    const bool noun = !is_function_word(after), feminine = noun && is_feminine(after);
    if (ordinal)
        (void)snprintf(out, MX_ICU_WORDS, "%s",
                       feminine || !strcmp(before, "la") || !strcmp(before, "alla") ? "feminine" : "masculine");
    else if (one && noun && strlen(after) > 2 && number->at + number->length == match->end)
        (void)snprintf(out, MX_ICU_WORDS, "%s", feminine ? "feminine" : "masculine");
}

/* uno studente, un'ora (in which the apostrophe is not heard) */
static bool one_words(const struct mx_form_match *match, const char *rules, char out[MX_ICU_WORDS])
{
    static const char *const hard[] = {"z",  "gn", "ps", "pn", "x",  "y",  "sb", "sc", "sd", "sf",
                                       "sg", "sl", "sm", "sn", "sp", "sq", "sr", "st", "sv"};
    const struct mx_form_capture *const unit = mx_form_capture(match, "unit");
    char next[MX_FORM_WORD];
    const bool feminine = mx_form_ends_in(rules, "feminine");
    if (!feminine && !mx_form_ends_in(rules, "masculine")) return false;
    mx_form_word_after(match, 0, next);
    if (unit != NULL)
        (void)snprintf(next, sizeof next, "%s",
                       !strcmp(unit->item->spoken, "@hour") || !strcmp(unit->item->spoken, "@ounce") ? "o" : "b");
    (void)snprintf(out, MX_ICU_WORDS, "%s",
                   feminine ? (strchr("aeiou", next[0]) != NULL && next[0] != 0 ? "un" : "una") : "un");
    for (size_t i = 0; !feminine && i < sizeof hard / sizeof *hard; i++)
        if (!strncmp(next, hard[i], strlen(hard[i]))) (void)snprintf(out, MX_ICU_WORDS, "uno");
    return true;
}

static bool number(const struct mx_form_match *match, const char *rules, const char *digits, char out[MX_ICU_WORDS])
{
    const size_t whole = strcspn(digits, ".");
    char part[MX_ICU_WORDS], words[MX_ICU_WORDS];
    if (strncmp(rules, "cardinal", 8) != 0 && strcmp(rules, "numbering") != 0) return false;
    if (digits[whole] == 0) { /* ventuno euro, but un euro */
        if (strcmp(digits, "1") != 0) return mx_icu_number(match->id, "numbering", digits, out);
        return one_words(match, rules, out);
    }
    if (whole + 1 >= sizeof part) return false;
    (void)snprintf(part, sizeof part, "%.*s", (int)whole, whole > 0 ? digits : "0");
    if (!mx_icu_number(match->id, "numbering", part, words)) return false;
    size_t used = (size_t)snprintf(out, MX_ICU_WORDS, "%s virgola", words);
    for (const char *c = digits + whole + 1; *c != 0;) {
        const size_t left = strlen(c), step = *c == '0' || left > 3 ? 1 : left;
        (void)snprintf(part, sizeof part, "%.*s", (int)step, c);
        if (!mx_icu_number(match->id, "numbering", part, words)) return false;
        used += (size_t)snprintf(out + used, MX_ICU_WORDS - used, " %s", words);
        if (used + 64 > MX_ICU_WORDS) return false;
        c += step;
    }
    return true;
}

/* ---- dates and times ---- */

static void day_put(const struct mx_form_match *match, const char *name, struct mx_text_points *out)
{
    const unsigned day = mx_form_value_of(match, name);
    if (day == 1)
        mx_form_put(out, "primo");
    else if (day > 0)
        mx_form_value_put(match, "numbering", day, out);
}

static void date_verbalise(const struct mx_form_match *match, struct mx_text_points *out)
{
    const bool year = mx_form_capture(match, "year") != NULL || mx_form_capture(match, "yy") != NULL;
    mx_form_spoken(match, "({weekday} )", out);
    day_put(match, "day", out);
    if (mx_form_capture(match, "day2") != NULL) mx_form_put(out, "-");
    day_put(match, "day2", out);
    mx_form_spoken(match, " ({month})({mon:name})", out);
    if (year) mx_form_value_put(match, "numbering", mx_form_year_value(match), out);
}

static bool is_month(const struct mx_form_match *match)
{
    const struct mx_form_capture *const month = mx_form_capture(match, "month");
    const uint32_t last = match->points[month->at + month->length - 1];
    return month->length > 3 || last == '.' || mx_form_capture(match, "year") != NULL ||
           mx_form_value_of(match, "day") > 0;
}

/* An hour with a full stop is a time after "alle" and the like, or before a blank and nothing else that it could be. */
static bool is_time(const struct mx_form_match *match)
{
    static const char *const others[] = {"versione", "capitolo", "sezione", "paragrafo", "punto", "tabella",
                                         "figura",   "python",   "android", "ubuntu",    "debian"};
    char before[MX_FORM_WORD];
    mx_form_word_before(match, 0, before);
    const uint32_t next = mx_form_point(match, match->end);
    return !MX_FORM_LISTED(others, before) && next != '%' && next != '-';
}

static void hour_put(const struct mx_form_match *match, const char *name, const char *min, struct mx_text_points *out)
{
    const unsigned hour = mx_form_value_of(match, name), minute = mx_form_value_of(match, min);
    if (hour == 1)
        mx_form_put(out, "una");
    else
        mx_form_value_put(match, "numbering", hour, out);
    if (minute == 0) return;
    mx_form_put(out, "e");
    if (minute == 30 && hour <= 12)
        mx_form_put(out, "mezza");
    else if (minute == 15 && hour <= 12)
        mx_form_put(out, "un quarto");
    else
        mx_form_value_put(match, "numbering", minute, out);
}

static void time_verbalise(const struct mx_form_match *match, struct mx_text_points *out)
{
    hour_put(match, "hour", "min", out);
    if (mx_form_capture(match, "hour2") != NULL) {
        mx_form_put(out, "-");
        hour_put(match, "hour2", "min2", out);
    }
    mx_form_spoken(match, "( {zone})", out);
}

static void duration_verbalise(const struct mx_form_match *match, struct mx_text_points *out)
{
    static const struct mx_form_item items[] = {{"m", "minuto|minuti", "masculine"},
                                                {"s", "secondo|secondi", "masculine"}};
    static const char *const names[] = {"min", "min2"};
    char digits[16];
    if (mx_form_value_of(match, "hour") == 1)
        mx_form_put(out, "una");
    else
        mx_form_spoken(match, "{hour:numbering}", out);
    for (size_t i = 0; i < 2; i++) {
        (void)snprintf(digits, sizeof digits, "%u", mx_form_value_of(match, names[i]));
        mx_form_put(out, "e");
        mx_form_counted(match, digits, &items[i], out);
    }
}

/* ---- fractions ---- */

static void fraction_verbalise(const struct mx_form_match *match, struct mx_text_points *out)
{
    const unsigned above = mx_form_value_of(match, "i"), below = mx_form_value_of(match, "i2");
    const struct mx_form_capture *const unit = mx_form_capture(match, "unit");
    const bool mixed = mx_form_capture(match, "w") != NULL, half = above == 1 && below == 2;
    char gender[MX_ICU_WORDS] = "";
    if (unit != NULL) mx_form_item_gender(match, unit->item, gender);
    const bool feminine = gender[0] == 'f';
    if (mixed) mx_form_spoken(match, unit != NULL && half ? "{w} {unit:w} e" : "{w:numbering} e", out);
    char after[MX_FORM_WORD];
    mx_form_word_after(match, 0, after);
    if (half && !mixed && unit == NULL && strlen(after) > 2 && !is_function_word(after)) { /* mezzo cucchiaino */
        mx_form_put(out, is_feminine(after) ? "mezza" : "mezzo");
        return;
    }
    if (half && (mixed || unit != NULL)) { /* un'ora e mezza, mezzo litro */
        mx_form_put(out, feminine ? "mezza" : "mezzo");
        if (!mixed) mx_form_spoken(match, " {unit:one}", out);
        return;
    }
    mx_form_value_put(match, "cardinal-masculine", above, out);
    if (below == 2)
        mx_form_put(out, above == 1 ? "mezzo" : "mezzi");
    else
        mx_form_value_put(match, above == 1 ? "ordinal-masculine" : "ordinal-masculine-plural", below, out);
    if (unit != NULL) mx_form_spoken(match, "di {unit:one}", out);
}

/* ---- others ---- */

/* "1° maggio", "2° piano", but "a 20°"; letters only right after the digits of a small number. */
static bool is_ordinal(const struct mx_form_match *match)
{
    static const char *const heat[] = {"a",           "di",    "da",    "circa", "i",   "gradi",
                                       "temperatura", "sotto", "sopra", "oltre", "fino"};
    char before[MX_FORM_WORD], after[MX_FORM_WORD];
    const struct mx_form_capture *const ending = mx_form_capture(match, "ending");
    mx_form_word_before(match, 0, before);
    mx_form_word_after(match, 0, after);
    const bool whole = match->begin == 0 && match->end == match->count;
    if (match->points[ending->at] == 0xb0) return whole || (!is_function_word(after) && !MX_FORM_LISTED(heat, before));
    if (ending->length == 1 && match->points[ending->at] < 0x80) return whole || !is_function_word(after);
    return true;
}

static void ordinal_verbalise(const struct mx_form_match *match, struct mx_text_points *out)
{
    char rules[MX_FORM_WORD];
    (void)snprintf(rules, sizeof rules, "{w:ordinal-%s}", mx_form_capture(match, "ending")->item->spoken);
    mx_form_spoken(match, rules, out);
}

static void power_verbalise(const struct mx_form_match *match, struct mx_text_points *out)
{
    bool minus;
    const unsigned exponent = mx_form_power(match, &minus);
    mx_form_spoken(match, "{n:numbering}( per {n2:numbering})", out);
    if (!minus && (exponent == 2 || exponent == 3)) {
        mx_form_put(out, exponent == 2 ? "al quadrato" : "al cubo");
        return;
    }
    mx_form_put(out, minus ? "alla meno" : "alla");
    mx_form_value_put(match, "numbering", exponent, out);
}

static bool is_before_noun(const struct mx_form_match *match)
{
    static const char *const articles[] = {"il",    "la",  "lo",    "del", "della", "dello", "al",    "alla", "nel",
                                           "nella", "dal", "dalla", "sul", "sulla", "l'",    "dell'", "nell'"};
    static const char *const nouns[] = {"secolo",   "secoli",    "legislatura", "edizione", "municipio",
                                        "dinastia", "millennio", "congresso",   "guerra",   "armata",
                                        "legione",  "canto",     "capitolo"};
    char before[MX_FORM_WORD], after[MX_FORM_WORD];
    mx_form_word_before(match, 0, before);
    mx_form_word_after(match, 0, after);
    return MX_FORM_LISTED(nouns, after) || (MX_FORM_LISTED(articles, before) && !is_function_word(after));
}

/* After a name: Enrico IV, Giovanni Paolo II. */
static bool is_reign(const struct mx_form_match *match)
{
    const struct mx_form_capture *const roman = mx_form_capture(match, "roman");
    size_t at = match->begin;
    for (size_t i = 0; i < roman->length; i++)
        if (strchr("IVX", (int)match->points[roman->at + i]) == NULL) return false;
    while (at > 1 && mx_text_is_letter(match->points[at - 2])) at--;
    return at + 2 < match->begin && mx_text_is_upper(match->points[at - 1]);
}

static void reign_verbalise(const struct mx_form_match *match, struct mx_text_points *out)
{
    static const char *const queens[] = {"elisabetta", "caterina",   "maria",    "giovanna",
                                         "vittoria",   "margherita", "cristina", "anna"};
    char name[MX_FORM_WORD];
    mx_form_word_before(match, 0, name);
    mx_form_value_put(match, MX_FORM_LISTED(queens, name) ? "ordinal-feminine" : "ordinal-masculine",
                      (unsigned)mx_form_capture(match, "roman")->value, out);
}

/* '800 and '90: centuries and decades. */
static void apostrophe_verbalise(const struct mx_form_match *match, struct mx_text_points *out)
{
    if (match->begin > 0 && mx_text_is_letter(match->points[match->begin - 1]))
        mx_text_points_push(out, '\''); /* nell'800 */
    mx_form_value_put(match, "numbering", mx_form_value_of(match, "i"), out);
}

/* One row per line. */
/* clang-format off */
static const struct mx_form_row rows[] = {
    MX_FORM("telephone", NULL, .take = mx_form_phone_take, .say = mx_form_phone_verbalise),
    /* ---- dates and times ---- */
    MX_FORM("date", "{day}(°|º)?( )?{month}( {year})?", .fits = is_month, .say = date_verbalise),
    MX_FORM("date", "{weekday}(,)? {day}(°|º)? {month}( {year})?", .say = date_verbalise),
    MX_FORM("date", "{day}_~_{day2} {month}( {year})?", .say = date_verbalise),
    MX_FORM("date", "{day}(/|.|-){mon}(/|.|-)({year}|{yy})", .say = date_verbalise),
    MX_FORM("date", "{day}/{mon}", .fits = mx_form_is_dated, .say = date_verbalise),
    MX_FORM("date", "{year}(/|.|-){mon:2}(/|.|-){day:2}", .say = date_verbalise),
    MX_FORM("date", "{month} {year}", .fits = is_month, .spoken = "{month} {year:numbering}"),
    MX_FORM("year", "{w}_{era}", .spoken = "{w:numbering} {era}"),
    MX_FORM("decade", "<'{i:2-3}", .say = apostrophe_verbalise),
    MX_FORM("range", "{year}~{year2}", .spoken = "{year:numbering} {year2:numbering}"),
    MX_FORM("time", "{hour}:{min}( {zone})?", .say = time_verbalise),
    MX_FORM("time", "{hour}.{min}( {zone})?", .fits = is_time, .say = time_verbalise),
    MX_FORM("time", "{hour}:{min}:{min2}", .say = duration_verbalise),
    MX_FORM("range", "{hour}(:|.){min}_~_{hour2}(:|.){min2}", .say = time_verbalise),

    /* ---- money ---- */
    MX_FORM("money", "({currency}|{code})_{n}", .say = mx_form_money_verbalise),
    MX_FORM("money", "{n}_({currency}|{code})", .say = mx_form_money_verbalise),
    MX_FORM("money", "({currency}|{code})_{n} {scale}", .spoken = "{n} {scale} di ({currency:many})({code:many})"),
    MX_FORM("money", "{n}_{scale}_(di )?({currency}|{code})", .spoken = "{n} {scale} di ({currency:many})({code:many})"),
    MX_FORM("money", "{n}_M({currency}|{code})", .spoken = "{n} milioni di ({currency:many})({code:many})"),
    MX_FORM("money", "{n}_mila_({currency}|{code})", .spoken = "{n:numbering}mila ({currency:many})({code:many})"),
    MX_FORM("money", "{n}_({currency}|{code})_(/|al)_{unit}", .say = mx_form_money_verbalise),
    MX_FORM("money", "{n}_({currency}|{code})_/_{word}", .spoken = "a {word}", .say = mx_form_money_verbalise),
    MX_FORM("range", "{n}_({currency})?_~_{n2}_({currency2}|{code})", .spoken = "{n:numbering} {n2} ({currency2:n2})({code:n2})"),

    /* ---- measures ---- */
    MX_FORM("ordinal", "{w}{ending}", .fits = is_ordinal, .say = ordinal_verbalise),
    MX_FORM("measure", "{n}_{unit}", .spoken = "{n} {unit}", .fits = mx_form_is_unit),
    MX_FORM("measure", "{n} {scale} (di )?{unit}", .spoken = "{n} {scale} di {unit:many}"),
    MX_FORM("measure", "{n}_{unit}_/_{unit2}", .spoken = "{n} {unit} per {unit2:one}", .fits = mx_form_is_ratio),
    MX_FORM("measure", "{n}_/_{unit}", .spoken = "{n:numbering} per {unit:one}"),
    MX_FORM("measure", "{i:1-3}/{i2:1-3}( di |_){unit}", .fits = mx_form_is_fraction, .say = fraction_verbalise),
    MX_FORM("measure", "{w} {i:1-3}/{i2:1-3}_{unit}", .fits = mx_form_is_fraction, .say = fraction_verbalise),
    MX_FORM("range", "{n}_(%)?_~_{n2}_{unit}", .spoken = "{n:numbering} {n2} {unit:n2}", .fits = mx_form_is_unit),
    MX_FORM("range", "{n}_{unit}_~_{n2}_{unit2}", .spoken = "{n} {unit} {n2} {unit2:n2}"),
    MX_FORM("measure", "{n}_(x|×)_{n2}_{unit}", .spoken = "{n:numbering} per {n2} {unit:n2}"),
    MX_FORM("measure", "{n}_(x|×)_{n2}_(x|×)_{n3}_{unit}", .spoken = "{n:numbering} per {n2:numbering} per {n3} {unit:n3}"),

    /* ---- numbers ---- */
    MX_FORM("number", "{n}", .say = mx_form_number_verbalise),
    MX_FORM("number", "{n} {scale}", .spoken = "{n} {scale}"),
    MX_FORM("number", "{n}_mila", .spoken = "{n:numbering}mila"),
    MX_FORM("number", "{numbered}_{n}", .spoken = "{numbered} {n:numbering}"),
    MX_FORM("range", "{numbered}_{n}_~_{n2}", .spoken = "{numbered} {n:numbering} {n2:numbering}"),
    MX_FORM("range", "{n}_~_{n2}", .spoken = "{n:numbering} {n2}", .fits = mx_form_is_range),
    MX_FORM("number", "24/7", .spoken = "ventiquattro su sette"),
    MX_FORM("fraction", "{i:1-4}/{i2:1-4}", .fits = mx_form_is_fraction, .say = fraction_verbalise),
    MX_FORM("fraction", "{w} {i:1-3}/{i2:1-3}", .fits = mx_form_is_fraction, .say = fraction_verbalise),
    MX_FORM("number", "24_(h|ore)_su_24", .spoken = "ventiquattro ore su ventiquattro"),
    MX_FORM("math", "{n}e~{i}", .spoken = "{n:numbering} per dieci alla meno {i:numbering}"),
    MX_FORM("math", "{n}e+{i}", .spoken = "{n:numbering} per dieci alla {i:numbering}"),
    MX_FORM("math", "{n}_~_{n2}_=_{n3}", .spoken = "{n:numbering} meno {n2:numbering} uguale {n3:numbering}"),
    MX_FORM("math", "{n}_(x|×|*|·)_{n2}", .spoken = "{n:numbering} per {n2:numbering}"),
    MX_FORM("math", "{n}_(/|:)_{n2}_=_{n3}", .spoken = "{n:numbering} diviso {n2:numbering} uguale {n3:numbering}"),
    MX_FORM("math", "{n}_^_{w}", .spoken = "{n:numbering} alla {w:numbering}"),
    MX_FORM("math", "{n}(⁻)?{power}({power2})?({power3})?", .say = power_verbalise),
    MX_FORM("math", "{n}_(x|×|*|·)_{n2}(⁻)?{power}({power2})?({power3})?", .say = power_verbalise),
    MX_FORM("score", "{i:1-3}:{i2:1-3}", .spoken = "{i:numbering} a {i2:numbering}"),
    MX_FORM("roman", "{chapter} {roman}", .spoken = "{chapter} {roman:numbering}"),
    MX_FORM("roman", "secolo {roman}", .spoken = "secolo {roman:ordinal}"),
    MX_FORM("roman", "{roman}(°|º|ª)?", .spoken = "{roman:ordinal}", .fits = is_before_noun),
    MX_FORM("roman", "{roman}", .fits = is_reign, .say = reign_verbalise),
    MX_FORM("sign", "/", .spoken = " ", .fits = mx_form_between_letters),
    MX_FORM("sign", "C#", .spoken = "c sharp"),
    MX_FORM("sign", "C++", .spoken = "c più più"),
    MX_FORM("sign", "#", .spoken = "cancelletto"),
    MX_FORM("sign", "{sign}", .spoken = "{sign}"),
    MX_FORM("title", "{title}", .spoken = "{title}"),
    MX_FORM("abbreviation", "{abbreviation}", .spoken = "{abbreviation}"),

    /* ---- names made of digits ---- */
    MX_FORM("electronic", "{i:1-3}.{i2:1-3}.{i3:1-3}.{i4:1-3}(:{i5:1-5}|/{i5:1-2})?", .say = mx_form_dotted_verbalise),
    MX_FORM("version", "(v|versione )?{i:1-4}.{i2:1-2}.{i3:1-2}(.{i4:1-6})?(-{serial})?", .say = mx_form_dotted_verbalise),
    MX_FORM("version", "(v|versione ){i:1-4}(.{i2:1-4})?(.{i3:1-4})?", .say = mx_form_dotted_verbalise),
    MX_FORM("version", "{i:1-4}.{i2:1-4}", .say = mx_form_dotted_verbalise),
    MX_FORM("serial", "{serial}", .fits = mx_form_is_serial, .say = mx_form_serial_verbalise),
    MX_FORM("serial", "{serial}/{serial2}(/{serial3})?", .fits = mx_form_is_serial, .say = mx_form_serial_verbalise),
    MX_FORM("electronic", NULL, .take = mx_form_electronic_take, .say = mx_form_electronic_verbalise),
    MX_FORM("formula", NULL, .take = mx_form_formula_take, .say = mx_form_formula_verbalise),
    MX_FORM("emoji", NULL, .take = mx_form_emoji_take, .say = mx_form_emoji_verbalise),
    {.rule = NULL},
};
/* clang-format on */

static const char *const doubtful[] = {"-A", "-K", "-N", "-J", "+ct", NULL};

const struct mx_forms mx_forms_italian = {.emoji = MX_EMOJI_ITALIAN,
                                          .decimal = ',',
                                          .groups = ". '",
                                          .point = "virgola",
                                          .minus = "meno",
                                          .cardinal = "numbering",
                                          .to = "-",
                                          .doubtful = doubtful,
                                          .dialed = true,
                                          .spells = true,
                                          .lists = mx_italian_lists,
                                          .rows = rows,
                                          .agree = agree,
                                          .number = number};

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Written forms of French: the rows (forms.h), how numbers agree with what stands around them, and what rows have besides
 * templates. The lists are in french_lists.c.
 */
#include "text/languages/french.h"

#include <stdio.h>
#include <string.h>

/* ---- agreement ---- */

static bool is_feminine(const char *word)
{
    static const char *const words[] = {
        "page",    "personne", "fois",     "heure",   "minute", "seconde",        "semaine",  "pomme",     "place",
        "chambre", "ville",    "rue",      "femme",   "fille",  "ligne",          "table",    "tonne",     "voiture",
        "image",   "part",     "nuit",     "main",    "fin",    "boîte",          "gousse",   "tranche",   "feuille",
        "école",   "équipe",   "couche",   "carte",   "lettre", "livre sterling", "victoire", "défaite",   "classe",
        "marche",  "branche",  "fraise",   "carotte", "tomate", "orange",         "banane",   "bouteille", "branche",
        "étape",   "tasse",    "cuillère", "porte",   "lampe",  "république",     "édition"};
    static const char *const endings[] = {"tion",  "sion", "té",   "ette", "esse", "ence", "ance",
                                          "ure",   "ie",   "ée",   "ine",  "elle", "ille", "euse",
                                          "trice", "ente", "ante", "ade",  "ude",  "ière", "aine"};
    static const char *const masculine[] = {"musée",    "lycée",   "côté",    "été",       "comité",
                                            "incendie", "génie",   "silence", "magazine",  "stade",
                                            "grade",    "trophée", "domaine", "capitaine", "prestige"};
    char singular[MX_FORM_WORD];
    (void)snprintf(singular, sizeof singular, "%s", word);
    const size_t length = strlen(singular);
    if (length > 3 && singular[length - 1] == 's' && strcmp(word, "fois") != 0) singular[length - 1] = 0;
    if (MX_FORM_LISTED(masculine, singular)) return false;
    if (MX_FORM_LISTED(words, singular)) return true;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (mx_form_ends_in(singular, endings[i])) return true;
    return false;
}

/* "une page", "vingt et une pages", "première fois" */
static void agree(const struct mx_form_match *match, const struct mx_form_capture *number, bool ordinal,
                  const char *gender, char out[MX_ICU_WORDS])
{
    char after[MX_FORM_WORD], before[MX_FORM_WORD];
    (void)snprintf(out, MX_ICU_WORDS, "%s", gender);
    mx_form_word_after(match, 0, after);
    mx_form_word_before(match, 0, before);
    if (gender[0] == 0 && (ordinal || (number != NULL && number->at + number->length == match->end)))
        (void)snprintf(out, MX_ICU_WORDS, "%s",
                       is_feminine(after) || (ordinal && !strcmp(before, "la")) ? "feminine"
                       : ordinal                                                ? "masculine"
                                                                                : "");
}

/* After "virgule", up to three digits are a number, with its zeros one by one; more are said two by two. */
static bool number(const struct mx_form_match *match, const char *rules, const char *digits, char out[MX_ICU_WORDS])
{
    const size_t whole = strcspn(digits, ".");
    char part[MX_ICU_WORDS], words[MX_ICU_WORDS];
    if ((strncmp(rules, "cardinal", 8) != 0 && strcmp(rules, "numbering") != 0) || digits[whole] == 0 ||
        whole + 1 >= sizeof part)
        return false;
    (void)snprintf(part, sizeof part, "%.*s", (int)whole, whole > 0 ? digits : "0");
    if (!mx_icu_number(match->id, "numbering", part, words)) return false;
    size_t used = (size_t)snprintf(out, MX_ICU_WORDS, "%s virgule", words);
    for (const char *c = digits + whole + 1; *c != 0;) {
        const size_t left = strlen(c), step = *c == '0' ? 1 : left <= 3 ? left : 2;
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
        mx_form_put(out, "premier");
    else if (day > 0)
        mx_form_value_put(match, "numbering", day, out);
}

static void date_verbalise(const struct mx_form_match *match, struct mx_text_points *out)
{
    static const char *const names[] = {"day", "day2", "day3"};
    const bool year = mx_form_capture(match, "year") != NULL || mx_form_capture(match, "yy") != NULL;
    bool to = false;
    for (size_t i = match->begin; i < match->end; i++) to |= match->points[i] == MX_EN_DASH;
    mx_form_spoken(match, "({weekday} )", out);
    for (size_t i = 0; i < 3; i++) {
        if (i > 0 && to && mx_form_capture(match, names[i]) != NULL) mx_form_put(out, "au");
        day_put(match, names[i], out);
    }
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

static void hour_put(const struct mx_form_match *match, const char *name, const char *min, struct mx_text_points *out)
{
    const unsigned hour = mx_form_value_of(match, name), minute = mx_form_value_of(match, min);
    mx_form_value_put(match, "cardinal-feminine", hour, out);
    mx_form_put(out, hour < 2 ? "heure" : "heures");
    if (minute > 0) mx_form_value_put(match, "cardinal-feminine", minute, out);
}

static void time_verbalise(const struct mx_form_match *match, struct mx_text_points *out)
{
    hour_put(match, "hour", "min", out);
    if (mx_form_capture(match, "hour2") != NULL) {
        mx_form_put(out, "à");
        hour_put(match, "hour2", "min2", out);
    }
    mx_form_spoken(match, "( {zone})", out);
}

static void duration_verbalise(const struct mx_form_match *match, struct mx_text_points *out)
{
    static const struct mx_form_item items[] = {
        {"h", "heure|heures", "feminine"}, {"m", "minute|minutes", "feminine"}, {"s", "seconde|secondes", "feminine"}};
    static const char *const names[] = {"hour", "min", "min2"};
    char digits[16];
    for (size_t i = 0; i < 3; i++) {
        if (mx_form_capture(match, names[i]) == NULL) continue;
        (void)snprintf(digits, sizeof digits, "%u", mx_form_value_of(match, names[i]));
        if (i == 2) mx_form_put(out, "et");
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
    if (mixed) mx_form_spoken(match, unit != NULL && half ? "{w} {unit:w} et" : "{w:numbering} et", out);
    if (half && (mixed || unit != NULL)) { /* une heure et demie, un demi-litre */
        mx_form_put(out, mixed ? (feminine ? "demie" : "demi") : feminine ? "une demi" : "un demi");
        if (!mixed) mx_form_spoken(match, " {unit:one}", out);
        return;
    }
    mx_form_value_put(match, "numbering", above, out);
    if (below == 2 || below == 3 || below == 4)
        mx_form_put(out, below == 2 ? "demi" : below == 3 ? "tiers" : "quart");
    else
        mx_form_value_put(match, "ordinal-masculine", below, out);
    if (above > 1 && below != 3) mx_text_points_push(out, 's');
    if (unit != NULL) mx_form_spoken(match, "de {unit:one}", out);
}

/* ---- others ---- */

static void ordinal_verbalise(const struct mx_form_match *match, struct mx_text_points *out)
{
    char rules[MX_FORM_WORD];
    const struct mx_form_capture *const ending = mx_form_capture(match, "ending");
    if (mx_form_value_of(match, "w") == 2 && (match->points[ending->at] | 0x20) == 'n') { /* 2nd */
        mx_form_put(out, ending->length == 2 ? "second" : "seconde");
        return;
    }
    (void)snprintf(rules, sizeof rules, "{w:ordinal-%s}", ending->item->spoken);
    mx_form_spoken(match, rules, out);
}

/* "le 10° arrondissement", but "à 10°" */
static bool is_degree_ordinal(const struct mx_form_match *match)
{
    static const char *const others[] = {"et",   "à",   "au", "en",   "de",  "dans", "le",   "la",
                                         "pour", "par", "ce", "nord", "sud", "est",  "ouest"};
    char after[MX_FORM_WORD];
    mx_form_word_after(match, 0, after);
    return (match->begin == 0 && match->end == match->count) || (after[0] != 0 && !MX_FORM_LISTED(others, after));
}

static void power_verbalise(const struct mx_form_match *match, struct mx_text_points *out)
{
    bool minus;
    const unsigned exponent = mx_form_power(match, &minus);
    mx_form_spoken(match, "{n:numbering}( fois {n2:numbering})", out);
    if (!minus && (exponent == 2 || exponent == 3)) {
        mx_form_put(out, exponent == 2 ? "au carré" : "au cube");
        return;
    }
    mx_form_put(out, minus ? "puissance moins" : "puissance");
    mx_form_value_put(match, "numbering", exponent, out);
}

/* Of I, V and X, not the "L" of "Le". */
static bool is_numeral(const struct mx_form_match *match)
{
    const struct mx_form_capture *const roman = mx_form_capture(match, "roman");
    for (size_t i = 0; i < roman->length; i++)
        if (strchr("IVX", (int)match->points[roman->at + i]) == NULL) return false;
    return true;
}

/* After a name: Louis XIV, François Ier. */
static bool is_reign(const struct mx_form_match *match)
{
    size_t at = match->begin;
    if (!is_numeral(match)) return false;
    while (at > 1 && mx_text_is_letter(match->points[at - 2])) at--;
    return at + 2 < match->begin && mx_text_is_upper(match->points[at - 1]);
}

static void reign_verbalise(const struct mx_form_match *match, struct mx_text_points *out)
{
    const unsigned value = (unsigned)mx_form_capture(match, "roman")->value;
    if (value == 1)
        mx_form_put(out, "premier");
    else
        mx_form_value_put(match, "numbering", value, out);
}

/* Not "la touche F5". */
static bool is_prefix(const struct mx_form_match *match)
{
    const struct mx_form_item *const currency = match->captures[0].item;
    return strcmp(currency->written, "F") != 0 && strcmp(currency->written, "FF") != 0;
}

/* A row's words with "de" before a vowel as "d'": "un million d'euros". */
static void scale_verbalise(const struct mx_form_match *match, struct mx_text_points *out)
{
    const size_t begin = out->count;
    mx_form_spoken(match, match->row->spoken, out);
    for (size_t at = begin; at + 4 < out->count; at++) {
        const uint32_t *const p = out->data + at;
        if (p[0] != ' ' || p[1] != 'd' || p[2] != 'e' || p[3] != ' ' || p[4] >= 0x80 ||
            strchr("aeiouy", (int)p[4]) == NULL)
            continue;
        out->data[at + 2] = '\'';
        memmove(out->data + at + 3, out->data + at + 4, (out->count - at - 4) * sizeof *out->data);
        out->count--;
        return;
    }
}

/* One row per line. */
/* clang-format off */
static const struct mx_form_row rows[] = {
    MX_FORM("telephone", NULL, .take = mx_form_phone_take, .say = mx_form_phone_verbalise),
    /* ---- dates and times ---- */
    MX_FORM("date", "{day}(er|ᵉʳ)?( )?{month}( {year})?", .fits = is_month, .say = date_verbalise),
    MX_FORM("date", "{weekday}(,)? {day}(er|ᵉʳ)? {month}( {year})?", .say = date_verbalise),
    MX_FORM("date", "{weekday} {day}(/|.){mon}((/|.)({year}|{yy}))?", .say = date_verbalise),
    MX_FORM("date", "{day}(er)?_~_{day2}(_~_{day3})? {month}( {year})?", .say = date_verbalise),
    MX_FORM("date", "{day}(/|.|-){mon}(/|.|-)({year}|{yy})", .say = date_verbalise),
    MX_FORM("date", "{day}/{mon}", .fits = mx_form_is_dated, .say = date_verbalise),
    MX_FORM("date", "{year}(/|.|-){mon:2}(/|.|-){day:2}", .say = date_verbalise),
    MX_FORM("date", "{month} {year}", .fits = is_month, .spoken = "{month} {year:numbering}"),
    MX_FORM("year", "{w}_{era}", .spoken = "{w:numbering} {era}"),
    MX_FORM("decade", "les {i:2}s", .spoken = "les années {i:numbering}"),
    MX_FORM("range", "{year}~{year2}", .spoken = "{year:numbering} à {year2:numbering}"),
    MX_FORM("time", "{hour}( )?(h|H|heures)( )?{min}( )?(min)?( {zone})?", .say = time_verbalise),
    MX_FORM("time", "{hour}( )?(h|H)( {zone})?", .say = time_verbalise),
    MX_FORM("time", "{hour}:{min}( {zone})?", .say = time_verbalise),
    MX_FORM("time", "{hour}:{min}:{min2}", .say = duration_verbalise),
    MX_FORM("time", "{hour}( )?h( )?{min}( )?(min|mn)( )?{min2}( )?s", .say = duration_verbalise),
    MX_FORM("range", "{hour}( )?(h|:)( )?({min})?_~_{hour2}( )?(h|:)( )?({min2})?", .say = time_verbalise),

    /* ---- money ---- */
    MX_FORM("money", "({currency}|{code})_{n}", .fits = is_prefix, .say = mx_form_money_verbalise),
    MX_FORM("money", "{n}_({currency}|{code})", .say = mx_form_money_verbalise),
    MX_FORM("money", "({currency}|{code})_{n} {scale}", .spoken = "{n} {scale} de ({currency:many})({code:many})", .say = scale_verbalise),
    MX_FORM("money", "{n}_{scale}_(de |d')?({currency}|{code})", .spoken = "{n} {scale} de ({currency:many})({code:many})", .say = scale_verbalise),
    MX_FORM("money", "{n}_k({currency}|{code})", .spoken = "{n} mille ({currency:many})({code:many})"),
    MX_FORM("money", "{n}_M({currency}|{code})", .spoken = "{n} millions de ({currency:many})({code:many})", .say = scale_verbalise),
    MX_FORM("money", "{n}_({currency}|{code})_(/|par)_{unit}", .say = mx_form_money_verbalise),
    MX_FORM("money", "{n}_({currency}|{code})_(/|par)_{word}", .spoken = "par {word}", .say = mx_form_money_verbalise),
    MX_FORM("range", "{n}_({currency})?_~_{n2}_({currency2}|{code})", .spoken = "{n} à {n2} ({currency2:n2})({code:n2})"),

    /* ---- measures ---- */
    MX_FORM("ordinal", "{w}{ending}", .say = ordinal_verbalise),
    MX_FORM("ordinal", "{w}°", .spoken = "{w:ordinal}", .fits = is_degree_ordinal),
    MX_FORM("measure", "{n}_{unit}", .spoken = "{n} {unit}", .fits = mx_form_is_unit),
    MX_FORM("measure", "{n} {scale} (de )?{unit}", .spoken = "{n} {scale} de {unit:many}"),
    MX_FORM("measure", "{n}_{unit}_/_{unit2}", .spoken = "{n} {unit} par {unit2:one}", .fits = mx_form_is_ratio),
    MX_FORM("measure", "{n}_/_{unit}", .spoken = "{n:numbering} par {unit:one}"),
    MX_FORM("measure", "{i:1-3}/{i2:1-3}( de | d'|_){unit}", .fits = mx_form_is_fraction, .say = fraction_verbalise),
    MX_FORM("measure", "{w} {i:1-3}/{i2:1-3}_{unit}", .fits = mx_form_is_fraction, .say = fraction_verbalise),
    MX_FORM("range", "{n}_(%)?_~_{n2}_{unit}", .spoken = "{n:numbering} à {n2} {unit:n2}", .fits = mx_form_is_unit),
    MX_FORM("range", "{n}_{unit}_~_{n2}_{unit2}", .spoken = "{n} {unit} à {n2} {unit2:n2}"),
    MX_FORM("measure", "{n}_(x|×)_{n2}_{unit}", .spoken = "{n:numbering} sur {n2} {unit:n2}"),
    MX_FORM("measure", "{n}_(x|×)_{n2}_(x|×)_{n3}_{unit}", .spoken = "{n:numbering} sur {n2:numbering} sur {n3} {unit:n3}"),

    /* ---- numbers ---- */
    MX_FORM("number", "{n}", .say = mx_form_number_verbalise),
    MX_FORM("number", "{n} {scale}", .spoken = "{n} {scale}"),
    MX_FORM("number", "{numbered}_{n}", .spoken = "{numbered} {n:numbering}"),
    MX_FORM("range", "{numbered}_{n}_~_{n2}", .spoken = "{numbered} {n:numbering} à {n2:numbering}"),
    MX_FORM("range", "{n}_~_{n2}", .spoken = "{n:numbering} à {n2}", .fits = mx_form_is_range),
    MX_FORM("number", "24_h_/_24", .spoken = "vingt-quatre heures sur vingt-quatre"),
    MX_FORM("number", "7_j(ours)?_/_7", .spoken = "sept jours sur sept"),
    MX_FORM("number", "24_(h)?/7_(j)?", .spoken = "vingt-quatre heures sur sept"),
    MX_FORM("fraction", "{i:1-4}/{i2:1-4}", .fits = mx_form_is_fraction, .say = fraction_verbalise),
    MX_FORM("fraction", "{w} {i:1-3}/{i2:1-3}", .fits = mx_form_is_fraction, .say = fraction_verbalise),
    MX_FORM("math", "{n}e~{i}", .spoken = "{n:numbering} fois dix puissance moins {i:numbering}"),
    MX_FORM("math", "{n}e+{i}", .spoken = "{n:numbering} fois dix puissance {i:numbering}"),
    MX_FORM("math", "{n}_~_{n2}_=_{n3}", .spoken = "{n:numbering} moins {n2:numbering} égale {n3:numbering}"),
    MX_FORM("math", "{n}_(x|×|*|·)_{n2}", .spoken = "{n:numbering} fois {n2:numbering}"),
    MX_FORM("math", "{n}_/_{n2}_=_{n3}", .spoken = "{n:numbering} divisé par {n2:numbering} égale {n3:numbering}"),
    MX_FORM("math", "{n}_^_{w}", .spoken = "{n:numbering} puissance {w:numbering}"),
    MX_FORM("math", "{n}(⁻)?{power}({power2})?({power3})?", .say = power_verbalise),
    MX_FORM("math", "{n}_(x|×|*|·)_{n2}(⁻)?{power}({power2})?({power3})?", .say = power_verbalise),
    MX_FORM("score", "{i:1-3}:{i2:1-3}", .spoken = "{i:numbering} à {i2:numbering}"),
    MX_FORM("roman", "{roman}{romanending}", .fits = is_numeral, .spoken = "{roman:ordinal}"),
    MX_FORM("roman", "{chapter} {roman}", .spoken = "{chapter} {roman:numbering}"),
    MX_FORM("roman", "{roman}(er|ᵉʳ)?", .fits = is_reign, .say = reign_verbalise),
    MX_FORM("sign", "/", .spoken = " ", .fits = mx_form_between_letters),
    MX_FORM("sign", "C#", .spoken = "c sharp"),
    MX_FORM("sign", "C++", .spoken = "c plus plus"),
    MX_FORM("sign", "#", .spoken = "dièse"),
    MX_FORM("sign", "{sign}", .spoken = "{sign}"),
    MX_FORM("title", "{title}", .spoken = "{title}"),
    MX_FORM("abbreviation", "{abbreviation}", .spoken = "{abbreviation}"),

    /* ---- names made of digits ---- */
    MX_FORM("electronic", "{i:1-3}.{i2:1-3}.{i3:1-3}.{i4:1-3}(:{i5:1-5}|/{i5:1-2})?", .say = mx_form_dotted_verbalise),
    MX_FORM("version", "(v|version )?{i:1-4}.{i2:1-2}.{i3:1-6}(.{i4:1-6})?(-{serial})?", .say = mx_form_dotted_verbalise),
    MX_FORM("version", "(v|version )?{i:1-4}.{i2:1-4}", .say = mx_form_dotted_verbalise),
    MX_FORM("version", "(v|version ){i:1-4}(.{i2:1-4})?(.{i3:1-4})?", .say = mx_form_dotted_verbalise),
    MX_FORM("serial", "{serial}", .fits = mx_form_is_serial, .say = mx_form_serial_verbalise),
    MX_FORM("serial", "{serial}/{serial2}(/{serial3})?", .fits = mx_form_is_serial, .say = mx_form_serial_verbalise),
    MX_FORM("electronic", NULL, .take = mx_form_electronic_take, .say = mx_form_electronic_verbalise),
    MX_FORM("formula", NULL, .take = mx_form_formula_take, .say = mx_form_formula_verbalise),
    MX_FORM("emoji", NULL, .take = mx_form_emoji_take, .say = mx_form_emoji_verbalise),
    {.rule = NULL},
};
/* clang-format on */

static const char *const doubtful[] = {"-A", "-K", "-N", "-J", "+ct", NULL};

const struct mx_forms mx_forms_french = {.emoji = MX_EMOJI_FRENCH,
                                         .decimal = ',',
                                         .groups = " .",
                                         .point = "virgule",
                                         .minus = "moins",
                                         .cardinal = "numbering",
                                         .to = "à",
                                         .doubtful = doubtful,
                                         .dialed = true,
                                         .spells = true,
                                         .phone_group = 2,
                                         .lists = mx_french_lists,
                                         .rows = rows,
                                         .agree = agree,
                                         .number = number};

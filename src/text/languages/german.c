/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Written forms of German: the rows (forms.h), how numbers agree with what stands around them, and what rows have besides
 * templates. The lists are in german_lists.c.
 */
#include <stdio.h>
#include <string.h>

#include "text/languages/german.h"

static const char *const to_dative[] = {
    "am",     "im",      "zum",     "vom",     "beim",  "den",    "dem",    "des",    "zur",    "ab",
    "seit",   "bis",     "nach",    "vor",     "mit",   "von",    "einem",  "einer",  "eines",  "einen",
    "und",    "oder",    "ihrem",   "ihren",   "ihrer", "seinem", "seinen", "seiner", "meinem", "meinen",
    "meiner", "unserem", "unseren", "unserer", "jedem", "jeden",  "diesem", "diesen", "dieser"};
static const char *const feminine_nouns[] = {
    "halbzeit", "runde",   "klasse",     "liga",   "etage", "minute",  "auflage", "welle",  "sekunde",
    "stunde",   "woche",   "reihe",      "stelle", "seite", "frage",   "person",  "hälfte", "ausgabe",
    "folge",    "staffel", "bundesliga", "straße", "tasse", "flasche", "nacht",   "stadt",  "frau",
    "hand",     "wahl",    "zahl",       "prise",  "dose",  "zwiebel", "tomate",  "karotte"};
static const char *const neuter_nouns[] = {
    "kapitel",   "jahr",        "mal",         "haus",       "semester", "tor",      "spiel",    "lied",   "kind",
    "quartal",   "jahrhundert", "jahrtausend", "lebensjahr", "buch",     "bild",     "ei",       "glas",   "stück",
    "stockwerk", "glied",       "gebot",       "drittel",    "viertel",  "auto",     "fahrrad",  "handy",  "hotel",
    "zimmer",    "projekt",     "modul",       "problem",    "ziel",     "feld",     "ergebnis", "gesetz", "land",
    "dorf",      "wort",        "thema",       "treffen",    "konzert",  "festival", "album",    "video",  "foto",
    "brot",      "bier",        "paket",       "kilo",       "pfund"};

static char gender_of(const char *word)
{
    static const char *const endings[] = {"ung", "heit", "keit", "schaft", "ion", "tät", "ik", "ur", "ine", "enz"};
    if (MX_FORM_LISTED(feminine_nouns, word)) return 'f';
    static const char *const other[] = {"name",    "junge",   "kunde", "kollege", "käse",      "buchstabe",
                                        "gedanke", "sommer",  "ende",  "auge",    "interesse", "gebäude",
                                        "gemüse",  "gewinne", "löwe",  "experte"};
    if (MX_FORM_LISTED(neuter_nouns, word) || mx_form_ends_in(word, "chen")) return 'n';
    if (MX_FORM_LISTED(other, word)) return 'm';
    if (strlen(word) > 3 && mx_form_ends_in(word, "e")) return 'f';
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (strlen(word) > 5 && mx_form_ends_in(word, endings[i])) return 'f';
    return 'm';
}

/* The ending of an ordinal: that of an adjective after the words before it. */
static const char *ordinal_ending(const struct mx_form_match *match)
{
    static const char *const to_nominative[] = {"die",  "das",   "diese", "dieses", "jede", "jedes", "eine",
                                                "ihre", "seine", "meine", "unsere", "ins",  "aufs",  "fürs"};
    static const char *const prepositions[] = {
        "in", "mit",  "von",   "aus",      "bei",     "nach",  "zu",    "seit",      "an",     "auf",   "vor",
        "ab", "über", "unter", "zwischen", "während", "wegen", "trotz", "gegenüber", "hinter", "neben", "innerhalb"};
    char before[MX_FORM_WORD], earlier[MX_FORM_WORD], after[MX_FORM_WORD];
    mx_form_word_before(match, 0, before);
    mx_form_word_before(match, 1, earlier);
    mx_form_word_after(match, 0, after);
    const char gender = gender_of(after);
    if (!strcmp(before, "der")) return MX_FORM_LISTED(prepositions, earlier) || gender == 'f' ? "n" : "";
    if (MX_FORM_LISTED(to_dative, before)) return "n";
    if (MX_FORM_LISTED(to_nominative, before) || gender == 'f') return "";
    return gender == 'n' ? "s" : "r";
}

/* "ein" in the case that a preposition asks for: "nach einer Stunde", "mit einem Teelöffel", "für einen Euro". */
static const char *one_ending(const struct mx_form_match *match, char gender)
{
    static const char *const dative[] = {"nach", "mit", "von", "aus", "bei", "seit", "zu", "vor", "ab", "in", "unter"};
    static const char *const accusative[] = {"für", "um", "ohne", "durch", "gegen", "über", "auf", "je", "pro"};
    char before[MX_FORM_WORD];
    mx_form_word_before(match, 0, before);
    if (MX_FORM_LISTED(dative, before)) return gender == 'f' ? "r" : "m";
    if (MX_FORM_LISTED(accusative, before) && gender == 'm') return "n";
    return gender == 'f' ? "feminine" : "masculine";
}

static void agree(const struct mx_form_match *match, const struct mx_form_capture *number, bool ordinal,
                  const char *gender, char out[MX_ICU_WORDS])
{
    char after[MX_FORM_WORD];
    (void)snprintf(out, MX_ICU_WORDS, "%s", ordinal ? ordinal_ending(match) : gender);
    if (!ordinal && gender[0] != 0) (void)snprintf(out, MX_ICU_WORDS, "%s", one_ending(match, gender[0]));
    if (ordinal || gender[0] != 0 || number == NULL || number->at + number->length != match->end) return;
    mx_form_word_after(match, 0, after);
    const bool noun = mx_text_is_upper(mx_form_point(match, match->end + 1));
    if (noun && after[0] != 0) (void)snprintf(out, MX_ICU_WORDS, "%s", one_ending(match, gender_of(after)));
}

/* A fraction has no gender: "eins Komma fünf Liter". */
static bool number(const struct mx_form_match *match, const char *rules, const char *digits, char out[MX_ICU_WORDS])
{
    const size_t whole = strcspn(digits, ".");
    char part[MX_ICU_WORDS], words[MX_ICU_WORDS];
    if (strncmp(rules, "cardinal", 8) != 0 || digits[whole] == 0 || whole + 1 >= sizeof part) return false;
    (void)snprintf(part, sizeof part, "%.*s", (int)whole, whole > 0 ? digits : "0");
    if (!mx_icu_number(match->id, "numbering", part, words)) return false;
    size_t used = (size_t)snprintf(out, MX_ICU_WORDS, "%s Komma", words);
    for (const char *c = digits + whole + 1; *c != 0; c++) {
        if (!mx_icu_number(match->id, "numbering", (const char[]){*c, 0}, words)) return false;
        used += (size_t)snprintf(out + used, MX_ICU_WORDS - used, " %s", words);
        if (used + 16 > MX_ICU_WORDS) return false;
    }
    return true;
}

/* ---- dates ---- */

static bool after_text(const struct mx_form_match *match)
{
    const uint32_t before = match->begin > 1 ? match->points[match->begin - 2] : 0;
    return match->begin > 1 && before != '.' && before != '!' && before != '?' && before != ':' && before != ';';
}

static size_t words_after(const struct mx_form_match *match)
{
    char word[MX_FORM_WORD];
    size_t count = 0;
    for (; count < 4; count++) {
        mx_form_word_after(match, count, word);
        if (word[0] == 0) break;
    }
    return count;
}

static bool is_ordinal(const struct mx_form_match *match)
{
    static const char *const openers[] = {
        "der",    "die",     "das",    "am",     "im",     "zum",    "vom",    "beim",  "den",    "dem",    "des",
        "zur",    "ins",     "jeder",  "jede",   "jedes",  "jeden",  "jedem",  "ihr",   "ihre",   "ihrem",  "ihren",
        "ihrer",  "sein",    "seine",  "seinem", "seinen", "seiner", "mein",   "meine", "meinem", "meinen", "unser",
        "unsere", "unserem", "dieser", "diese",  "dieses", "diesem", "diesen", "ein",   "eine",   "einem",  "einen"};
    static const char *const counted[] = {
        "jahrhundert", "jahrhunderts", "platz",      "stock",        "etage",    "mal",      "kapitel",
        "runde",       "klasse",       "geburtstag", "liga",         "minute",   "spieltag", "auflage",
        "lebensjahr",  "weltkrieg",    "bundesliga", "obergeschoss", "semester", "tag",      "woche",
        "quartal",     "hälfte",       "halbzeit",   "staffel",      "folge",    "teil"};
    char before[MX_FORM_WORD], after[MX_FORM_WORD];
    mx_form_word_before(match, 0, before);
    mx_form_word_after(match, 0, after);
    if (match->begin == 0 && match->end == match->count) return true;
    if (after[0] == 0) return MX_FORM_LISTED(openers, before) && mx_form_point(match, match->end) != 0;
    if (MX_FORM_LISTED(openers, before) || MX_FORM_LISTED(counted, after)) return true;
    if (!strcmp(after, "bis") || !strcmp(after, "und") || !strcmp(after, "oder")) { /* vom 3. bis 5. Mai */
        size_t at = match->end + 2 + strlen(after), digits = 0;
        while (mx_text_is_digit(mx_form_point(match, at + digits))) digits++;
        return digits > 0 && mx_form_point(match, at + digits) == '.';
    }
    return !after_text(match) && words_after(match) < 3 && mx_text_is_upper(mx_form_point(match, match->end + 1));
}

/* "1. Eier schlagen und Mehl sieben": the number of an entry. */
static bool is_entry(const struct mx_form_match *match)
{
    return !after_text(match) && words_after(match) >= 2 && !is_ordinal(match);
}

static bool is_day_in_month(const struct mx_form_match *match)
{
    static const char *const others[] = {"version", "kapitel", "abschnitt", "punkt", "abbildung", "tabelle", "ausgabe",
                                         "python",  "release", "faktor",    "um",    "uhr",       "gegen"};
    char before[MX_FORM_WORD];
    mx_form_word_before(match, 0, before);
    const struct mx_form_capture *const month = mx_form_capture(match, "mon");
    const bool stop = mx_form_point(match, month->at + month->length) == '.';
    const uint32_t next = mx_form_point(match, match->end);
    return !MX_FORM_LISTED(others, before) && next != '%' && next != '-' && (stop || !mx_text_is_letter(next)) &&
           (match->begin == 0 || match->points[match->begin - 1] != '-');
}

static void date_verbalise(const struct mx_form_match *match, struct mx_text_points *out)
{
    const bool year = mx_form_capture(match, "year") != NULL || mx_form_capture(match, "yy") != NULL;
    mx_form_spoken(match, "({weekday})({dayname})", out);
    if (mx_form_capture(match, "weekday") != NULL || mx_form_capture(match, "dayname") != NULL) mx_form_mark(out, ',');
    mx_form_spoken(match, "{day:ordinal}( bis {day2:ordinal})( {month})( {mon:name})", out);
    if (year) mx_form_value_put(match, "numbering-year", mx_form_year_value(match), out);
}

static bool is_year(const struct mx_form_match *match)
{
    static const char *const openers[] = {"jahr",   "jahre",  "jahres", "jahren",   "seit",
                                          "sommer", "winter", "herbst", "frühjahr", "frühling",
                                          "anno",   "um",     "ende",   "anfang",   "mitte"};
    char before[MX_FORM_WORD];
    const unsigned year = mx_form_value_of(match, "year");
    static const char *const counted[] = {"euro", "mark",    "dollar", "stück", "meter",
                                          "kilo", "prozent", "mann",   "leute", "kilometer"};
    char after[MX_FORM_WORD];
    mx_form_word_before(match, 0, before);
    mx_form_word_after(match, 0, after);
    if (year < 1100 || year > 1999) return false;
    const bool noun = mx_text_is_upper(mx_form_point(match, match->end + 1));
    const bool plural = mx_form_ends_in(after, "n") || mx_form_ends_in(after, "er") || mx_form_ends_in(after, "e") ||
                        mx_form_ends_in(after, "s") || MX_FORM_LISTED(counted, after);
    return MX_FORM_LISTED(openers, before) || !noun || (year >= 1900 && !plural);
}

static bool is_decade(const struct mx_form_match *match)
{
    return mx_form_value_of(match, "i") % 10 == 0 && mx_form_value_of(match, "i") > 10;
}

static void decade_verbalise(const struct mx_form_match *match, struct mx_text_points *out)
{
    mx_form_value_put(match, "numbering-year", mx_form_value_of(match, "i"), out);
    for (const char *c = mx_form_capture(match, "word") == NULL ? "er" : "ern"; *c != 0; c++)
        mx_text_points_push(out, (uint32_t)*c);
}

/* ---- fractions ---- */

static bool is_fraction(const struct mx_form_match *match)
{
    const uint32_t before = match->begin > 0 ? match->points[match->begin - 1] : 0;
    const unsigned above = mx_form_value_of(match, "i"), below = mx_form_value_of(match, "i2");
    return before != '/' && below != 1 && (mx_form_capture(match, "w") == NULL || above < below);
}

static void append(struct mx_text_points *out, const char *text)
{
    while (out->count > 0 && out->data[out->count - 1] == ' ') out->count--;
    for (; *text != 0; text++) mx_text_points_push(out, (unsigned char)*text);
}

static void fraction_verbalise(const struct mx_form_match *match, struct mx_text_points *out)
{
    const unsigned above = mx_form_value_of(match, "i"), below = mx_form_value_of(match, "i2"), last = below % 100;
    const struct mx_form_capture *const unit = mx_form_capture(match, "unit");
    const bool mixed = mx_form_capture(match, "w") != NULL;
    char gender[MX_ICU_WORDS] = "";
    if (unit != NULL) mx_form_item_gender(match, unit->item, gender);
    if (mixed) mx_form_spoken(match, "{w:cardinal-masculine}", out);
    if (unit != NULL && !mixed && above == 1 && below == 2) {
        mx_form_put(out, gender[0] == 'f' ? "eine halbe" : gender[0] == 'n' ? "ein halbes" : "ein halber");
        mx_form_spoken(match, "{unit:one}", out);
        return;
    }
    mx_form_value_put(match, above == 1 ? "cardinal-masculine" : "cardinal", above, out);
    if (below == 2)
        mx_form_put(out, above == 1 ? "halb" : "halbe");
    else if (below == 3 || below == 7 || below == 8)
        mx_form_put(out, below == 3 ? "drittel" : below == 7 ? "siebtel" : "achtel");
    else
        mx_form_value_put(match, "cardinal-masculine", below, out);
    if (below == 0 || (below > 3 && below != 7 && below != 8))
        append(out, below == 0 || (last > 0 && last < 20) ? "tel" : "stel");
    mx_form_spoken(match, mixed ? "( {unit:many})" : "( {unit:one})", out);
}

/* ---- others ---- */

static void ordinal_verbalise(const struct mx_form_match *match, struct mx_text_points *out)
{
    char rules[32];
    const char *const ending = mx_form_capture(match, "ending")->item->spoken;
    (void)snprintf(rules, sizeof rules, "{w:ordinal%s%s}", ending[0] == 'e' ? "" : "-", ending[0] == 'e' ? "" : ending);
    mx_form_spoken(match, rules, out);
}

static void entry_verbalise(const struct mx_form_match *match, struct mx_text_points *out)
{
    mx_form_spoken(match, "{i:numbering}", out);
    mx_form_mark(out, '.');
}

static void power_verbalise(const struct mx_form_match *match, struct mx_text_points *out)
{
    bool minus;
    const unsigned exponent = mx_form_power(match, &minus);
    mx_form_spoken(match, "{n:numbering}( mal {n2}) hoch", out);
    if (minus) mx_form_put(out, "minus");
    mx_form_value_put(match, "numbering", exponent, out);
}

static bool is_reign(const struct mx_form_match *match)
{
    size_t at = match->begin;
    while (at > 1 && mx_text_is_letter(match->points[at - 2])) at--;
    return at < match->begin && mx_text_is_upper(match->points[at - 1]);
}

/* Ludwig XIV. is "der Vierzehnte", the reign of Ludwigs XIV. "des Vierzehnten". */
static void reign_verbalise(const struct mx_form_match *match, struct mx_text_points *out)
{
    char name[MX_FORM_WORD];
    mx_form_word_before(match, 0, name);
    const bool queen = mx_form_ends_in(name, "a") || mx_form_ends_in(name, "eth") || mx_form_ends_in(name, "ine");
    const bool genitive = mx_form_ends_in(name, "s") && !mx_form_ends_in(name, "us") && strlen(name) > 5;
    mx_form_put(out, queen ? "die" : genitive ? "des" : "der");
    mx_form_value_put(match, genitive ? "ordinal-n" : "ordinal", (unsigned)mx_form_capture(match, "roman")->value, out);
}

/* "Goethestr. 17" */
static size_t street_take(const struct mx_form_match *match)
{
    size_t at = match->begin;
    while (at < match->begin + MX_FORM_WORD && mx_text_is_letter(mx_form_point(match, at))) at++;
    if (at < match->begin + 5 || mx_form_point(match, at) != '.') return 0;
    const bool street = match->points[at - 3] == 's' && match->points[at - 2] == 't' && match->points[at - 1] == 'r';
    return street ? at + 1 : 0;
}

static void street_verbalise(const struct mx_form_match *match, struct mx_text_points *out)
{
    mx_form_put(out, "");
    for (size_t at = match->begin; at + 1 < match->end; at++) mx_text_points_push(out, match->points[at]);
    append(out, "a");
    mx_text_points_push(out, 0xdf);
    append(out, "e");
}

/* "am Sa. um 20 Uhr" */
static bool is_weekday(const struct mx_form_match *match)
{
    static const char *const openers[] = {"am", "jeden", "bis", "ab", "vom", "zum", "nächsten", "kommenden", "letzten"};
    char before[MX_FORM_WORD];
    mx_form_word_before(match, 0, before);
    return MX_FORM_LISTED(openers, before);
}

/* One row per line. */
/* clang-format off */
static const struct mx_form_row rows[] = {
    MX_FORM("telephone", NULL, .take = mx_form_phone_take, .say = mx_form_phone_verbalise),
    /* ---- dates and times ---- */
    MX_FORM("date", "{day}._{month}(_({year}|{yy}))?", .say = date_verbalise),
    MX_FORM("date", "{day}.{mon}.(_({year}|{yy}))?", .fits = is_day_in_month, .say = date_verbalise),
    MX_FORM("date", "{day}.{mon}", .fits = is_day_in_month, .say = date_verbalise),
    MX_FORM("date", "({dayname}|{weekday})(,)? {day}.{mon}.({year}|{yy})?", .say = date_verbalise),
    MX_FORM("date", "({dayname}|{weekday})(,)? {day}._{month}( {year})?", .say = date_verbalise),
    MX_FORM("date", "{day}._~_{day2}._{month}( {year})?", .say = date_verbalise),
    MX_FORM("date", "{day}._~_{day2}.{mon}.({year}|{yy})?", .say = date_verbalise),
    MX_FORM("date", "{day}/{mon}/({year}|{yy})", .say = date_verbalise),
    MX_FORM("date", "{year}~{mon:2}~{day:2}", .say = date_verbalise),
    MX_FORM("date", "{year}~{mon:2}", .spoken = "{mon:name} {year:year}"),
    MX_FORM("date", "{month} {year}", .spoken = "{month} {year:year}"),
    MX_FORM("decade", "{i:2}er({word})?", .fits = is_decade, .say = decade_verbalise),
    MX_FORM("decade", "{i:2}er", .fits = is_decade, .say = decade_verbalise),
    MX_FORM("decade", "{i:4}er", .fits = is_decade, .say = decade_verbalise),
    MX_FORM("year", "{year}", .spoken = "{year:year}", .fits = is_year),
    MX_FORM("year", "{i:1-4}_{era}", .spoken = "{i:year} {era}"),
    MX_FORM("range", "{year}~{year2}", .spoken = "{year:year} bis {year2:year}"),
    MX_FORM("range", "{year}/{yy}", .spoken = "{year:year} {yy}"),
    MX_FORM("time", "{hour}(:|.){min}( )?(Uhr|h)( {zone})?", .spoken = "{hour:cardinal-masculine} Uhr( {min:minutes})( {zone})"),
    MX_FORM("time", "{hour}:{min}( {zone})?", .spoken = "{hour:cardinal-masculine} Uhr( {min:minutes})( {zone})"),
    MX_FORM("time", "{hour} Uhr( {min})?( {zone})?", .spoken = "{hour:cardinal-masculine} Uhr( {min:minutes})( {zone})"),
    MX_FORM("time", "{hour}:{min}:{min2}( )?(Uhr|h)?", .spoken = "{hour:cardinal-masculine} Uhr {min} Minuten und {min2} Sekunden"),
    MX_FORM("range", "{hour}(:|.){min}_~_{hour2}(:|.){min2}( )?(Uhr|h)?", .spoken = "{hour:cardinal-masculine} Uhr {min:minutes} bis {hour2:cardinal-masculine} Uhr {min2:minutes}"),
    MX_FORM("range", "{hour}_~_{hour2}( )?(Uhr|h)", .spoken = "{hour:cardinal-masculine} bis {hour2:cardinal-masculine} Uhr"),
    MX_FORM("date", "{dayname}(,)? {hour}(:|.){min}( )?(Uhr)?", .spoken = "{dayname} {hour:cardinal-masculine} Uhr {min:minutes}"),

    /* ---- money ---- */
    MX_FORM("money", "({currency}|{code})_{n}", .say = mx_form_money_verbalise),
    MX_FORM("money", "{n}_({currency}|{code})", .say = mx_form_money_verbalise),
    MX_FORM("money", "{n},(~|–|—)_({currency}|{code})?", .spoken = "{n} ({currency})({code})"),
    MX_FORM("money", "({currency}|{code})_{n}_{scale}", .spoken = "{n} {scale} ({currency:many})({code:many})"),
    MX_FORM("money", "{n}_{scale}_({currency}|{code})", .spoken = "{n} {scale} ({currency:many})({code:many})"),
    MX_FORM("money", "{n}_({currency}|{code})_(/|pro)_{unit}", .say = mx_form_money_verbalise),
    MX_FORM("money", "({currency}|{code})_{n}_/_{unit}", .say = mx_form_money_verbalise),
    MX_FORM("money", "{n}_({currency}|{code})_(/|pro)_{word}", .spoken = "pro {word}", .say = mx_form_money_verbalise),
    MX_FORM("range", "{n}_({currency})?_~_{n2}_({currency2}|{code})", .spoken = "{n} bis {n2} ({currency2:n2})({code:n2})"),
    MX_FORM("range", "{n}_~_{n2}_{scale}_({currency}|{code})", .spoken = "{n} bis {n2} {scale:many} ({currency:many})({code:many})"),

    /* ---- measures ---- */
    MX_FORM("measure", "{n}_(-)?_{unit}", .spoken = "{n} {unit}", .fits = mx_form_is_unit),
    MX_FORM("measure", "{n}-{unit}-", .spoken = "{n} {unit:one} "),
    MX_FORM("measure", "{n}_{scale}_{unit}", .spoken = "{n} {scale} {unit:many}"),
    MX_FORM("measure", "{scale}_{unit}", .spoken = "{scale:many} {unit:many}"),
    MX_FORM("measure", "{n}_{unit}_/_{unit2}", .spoken = "{n} {unit} pro {unit2:one}", .fits = mx_form_is_ratio),
    MX_FORM("measure", "{n}_/_{unit}", .spoken = "{n} pro {unit:one}"),
    MX_FORM("measure", "{i:1-3}/{i2:1-3}_{unit}", .fits = is_fraction, .say = fraction_verbalise),
    MX_FORM("measure", "{w} {i:1-3}/{i2:1-3}_{unit}", .fits = is_fraction, .say = fraction_verbalise),
    MX_FORM("range", "{n}_(%)?_~_{n2}_{unit}", .spoken = "{n:numbering} bis {n2} {unit:n2}", .fits = mx_form_is_unit),
    MX_FORM("range", "{n}_{unit}_~_{n2}_{unit2}", .spoken = "{n} {unit} bis {n2} {unit2:n2}"),
    MX_FORM("measure", "{n}_(x|×)_{n2}_{unit}", .spoken = "{n} mal {n2} {unit:n2}"),
    MX_FORM("measure", "{n}_(x|×)_{n2}_(x|×)_{n3}_{unit}", .spoken = "{n} mal {n2} mal {n3} {unit:n3}"),
    MX_FORM("percent", "{n}_%ige({word})?", .spoken = "{n} prozentige"),

    /* ---- numbers ---- */
    MX_FORM("number", "{n}", .say = mx_form_number_verbalise),
    MX_FORM("number", "{n}_{scale}", .spoken = "{n} {scale}"),
    MX_FORM("number", "{numbered}_{n}", .spoken = "{numbered} {n:numbering}"),
    MX_FORM("range", "{numbered}_{n}_~_{n2}", .spoken = "{numbered} {n:numbering} bis {n2:numbering}"),
    MX_FORM("number", "{n}(x|×)", .spoken = "{n:cardinal-masculine}mal"),
    MX_FORM("ordinal", "{i:1-7}.", .spoken = "{i:ordinal}", .fits = is_ordinal),
    MX_FORM("number", "{i:1-2}.", .fits = is_entry, .say = entry_verbalise),
    MX_FORM("ordinal", "{w}{ending}", .say = ordinal_verbalise),
    MX_FORM("range", "{n}_~_{n2}", .spoken = "{n:numbering} bis {n2}", .fits = mx_form_is_range),
    MX_FORM("number", "24/7", .spoken = "vierundzwanzig sieben"),
    MX_FORM("fraction", "{i:1-4}/{i2:1-4}", .fits = is_fraction, .say = fraction_verbalise),
    MX_FORM("fraction", "{w} {i:1-3}/{i2:1-3}", .fits = is_fraction, .say = fraction_verbalise),
    MX_FORM("math", "{n}e~{i}", .spoken = "{n:numbering} mal zehn hoch minus {i:numbering}"),
    MX_FORM("math", "{n}e(+)?{i}", .spoken = "{n:numbering} mal zehn hoch {i:numbering}"),
    MX_FORM("math", "{n}_~_{n2}_=_{n3}", .spoken = "{n} minus {n2} gleich {n3}"),
    MX_FORM("math", "{n}_(x|×|*|·)_{n2}", .spoken = "{n:numbering} mal {n2:numbering}"),
    MX_FORM("math", "{n}_:_{n2}_=_{n3}", .spoken = "{n} geteilt durch {n2} gleich {n3}"),
    MX_FORM("math", "{n}_/_{n2}_=_{n3}", .spoken = "{n} geteilt durch {n2} gleich {n3}"),
    MX_FORM("math", "{n}_^_{w}", .spoken = "{n:numbering} hoch {w:numbering}"),
    MX_FORM("math", "{n}(⁻)?{power}({power2})?({power3})?", .say = power_verbalise),
    MX_FORM("math", "{n}_(x|×|*|·)_{n2}(⁻)?{power}({power2})?({power3})?", .say = power_verbalise),
    MX_FORM("score", "{i:1-3}:{i2:1-3}", .spoken = "{i:numbering} zu {i2:numbering}"),
    MX_FORM("roman", "{roman}.", .fits = is_reign, .say = reign_verbalise),
    MX_FORM("roman", "{chapter} {roman}", .spoken = "{chapter} {roman:numbering}"),
    MX_FORM("roman", "{roman}. {chapter}", .spoken = "{roman:ordinal} {chapter}"),
    MX_FORM("sign", "/", .spoken = " ", .fits = mx_form_between_letters),
    MX_FORM("sign", "C#", .spoken = "C sharp"),
    MX_FORM("sign", "C++", .spoken = "C plus plus"),
    MX_FORM("sign", "#", .spoken = "Hashtag"),
    MX_FORM("sign", "{sign}", .spoken = "{sign}"),
    MX_FORM("title", "{title}", .spoken = "{title}"),
    MX_FORM("abbreviation", "{abbreviation}", .spoken = "{abbreviation}"),
    MX_FORM("abbreviation", NULL, .take = street_take, .say = street_verbalise),
    MX_FORM("weekday", "{dayname}", .spoken = "{dayname}", .fits = is_weekday),

    /* ---- names made of digits ---- */
    MX_FORM("electronic", "{i:1-3}.{i2:1-3}.{i3:1-3}.{i4:1-3}(:{i5:1-5}|/{i5:1-2})?", .say = mx_form_dotted_verbalise),
    MX_FORM("version", "(v|version )?{i:1-4}.{i2:1-4}.{i3:1-6}(.{i4:1-6})?(-{serial})?", .say = mx_form_dotted_verbalise),
    MX_FORM("version", "(v|version ){i:1-4}(.{i2:1-4})?", .say = mx_form_dotted_verbalise),
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

const struct mx_forms mx_forms_german = {.emoji = MX_EMOJI_GERMAN,
                                         .decimal = ',',
                                         .groups = ". '",
                                         .point = "Komma",
                                         .minus = "minus",
                                         .cardinal = "numbering",
                                         .to = "bis",
                                         .doubtful = doubtful,
                                         .capitals = true,
                                         .dialed = true,
                                         .spells = true,
                                         .lists = mx_german_lists,
                                         .rows = rows,
                                         .agree = agree,
                                         .number = number};

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Written forms of Spanish: the rows (forms.h), how numbers agree with what stands around them, and what rows have besides
 * templates. The lists are in spanish_lists.c.
 */
#include "text/languages/spanish.h"

#include <stdio.h>
#include <string.h>

/* ---- agreement ---- */

static bool is_feminine(const char *word)
{
    static const char *const feminine[] = {"mujeres", "manos",  "mano",     "veces",  "vez",    "noches",  "noche",
                                           "tardes",  "leyes",  "calles",   "llaves", "partes", "parte",   "clases",
                                           "redes",   "flores", "imágenes", "series", "voces",  "luces",   "sedes",
                                           "bases",   "fases",  "frases",   "mujer",  "unidad", "edición", "imagen",
                                           "red",     "flor",   "ley",      "calle",  "sesión"};
    static const char *const masculine[] = {"día",      "días",      "mapa",     "mapas",     "planeta", "planetas",
                                            "problema", "problemas", "sistema",  "sistemas",  "tema",    "temas",
                                            "idioma",   "idiomas",   "programa", "programas", "poema",   "poemas",
                                            "clima",    "diagramas", "esquemas", "atletas"};
    static const char *const endings[] = {"a",      "as",  "ción",  "ciones", "sión",
                                          "siones", "dad", "dades", "tud",    "tudes"};
    if (MX_FORM_LISTED(feminine, word)) return true;
    if (MX_FORM_LISTED(masculine, word)) return false;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (mx_form_ends_in(word, endings[i])) return true;
    return false;
}

static bool is_function_word(const char *word)
{
    static const char *const words[] = {
        "a",     "al", "de",  "del", "y",    "e",    "o",     "u",       "en",    "por",   "para",  "con",
        "que",   "es", "son", "se",  "la",   "el",   "los",   "las",     "más",   "menos", "entre", "sin",
        "como",  "ha", "era", "fue", "eran", "pero", "antes", "después", "está",  "están", "hasta", "desde",
        "sobre", "no", "ya",  "va",  "le",   "les",  "nos",   "tras",    "puntos"};
    return word[0] == 0 || MX_FORM_LISTED(words, word);
}

/* "veintiún años", "veintiuna páginas", "primer piso", "segunda vez". */
static void agree(const struct mx_form_match *match, const struct mx_form_capture *number, bool ordinal,
                  const char *gender, char out[MX_ICU_WORDS])
{
    char after[MX_FORM_WORD], before[MX_FORM_WORD];
    (void)snprintf(out, MX_ICU_WORDS, "%s", gender);
    if (gender[0] != 0 || number == NULL || number->at + number->length != match->end) return;
    mx_form_word_after(match, 0, after);
    mx_form_word_before(match, 0, before);
    const bool noun = !is_function_word(after) && strlen(after) > 2;
    if (ordinal) {
        const bool feminine = !strcmp(before, "la") || (noun && is_feminine(after));
        (void)snprintf(out, MX_ICU_WORDS, "%s", feminine ? "feminine" : noun ? "masculine-adjective" : "masculine");
        return;
    }
    const bool one = mx_form_value(match, number) == 1, plural = after[0] != 0 && mx_form_ends_in(after, "s");
    if (noun && (one != plural)) (void)snprintf(out, MX_ICU_WORDS, "%s", is_feminine(after) ? "feminine" : "masculine");
}

/* ---- numbers ---- */

static bool part_words(const struct mx_form_match *match, const char *rules, const char *digits, size_t length,
                       size_t *used, char out[MX_ICU_WORDS])
{
    char part[8], words[MX_ICU_WORDS];
    (void)snprintf(part, sizeof part, "%.*s", (int)length, digits);
    if (!mx_icu_number(match->id, rules, part, words)) return false;
    *used += (size_t)snprintf(out + *used, MX_ICU_WORDS - *used, " %s", words);
    return *used + 64 < MX_ICU_WORDS;
}

/* "coma" and the digits two by two, or three as a number; zeros before them one by one. */
static bool decimals_words(const struct mx_form_match *match, const char *rules, const char *digits, size_t used,
                           char out[MX_ICU_WORDS])
{
    size_t left = strlen(digits);
    if (left == 3 && digits[0] != '0') return part_words(match, rules, digits, 3, &used, out);
    while (left > 0) {
        const size_t step = left == 1 || (left >= 2 && digits[0] == '0' && left == 3 && digits[1] != '0') ? 1 : 2;
        const char *const set = left == step ? rules : "numbering";
        if (step == 2 && digits[0] == '0') {
            if (!part_words(match, "numbering", "0", 1, &used, out)) return false;
            if (!part_words(match, set, digits + 1, 1, &used, out)) return false;
        } else if (!part_words(match, set, digits, step, &used, out)) {
            return false;
        }
        digits += step;
        left -= step;
    }
    return true;
}

/* vigésima primera -> vigesimoprimera, décimo octavo -> decimoctavo */
static void ordinal_join(char *words)
{
    static const char *const parts[][2] = {
        {"vigésimo ", "vigesimo"}, {"vigésima ", "vigesimo"}, {"décimo ", "decimo"}, {"décima ", "decimo"}};
    for (size_t i = 0; i < 4; i++) {
        char *const at = strstr(words, parts[i][0]);
        char rest[MX_ICU_WORDS];
        if (at == NULL || (at > words && at[-1] != ' ')) continue;
        (void)snprintf(rest, sizeof rest, "%s", at + strlen(parts[i][0]));
        (void)snprintf(at, MX_ICU_WORDS - (size_t)(at - words), "%s%s", parts[i][1], rest[0] == 'o' ? rest + 1 : rest);
        return;
    }
}

static bool number(const struct mx_form_match *match, const char *rules, const char *digits, char out[MX_ICU_WORDS])
{
    const size_t whole = strcspn(digits, ".");
    char part[MX_ICU_WORDS];
    if (!strncmp(rules, "ordinal", 7)) {
        const bool shortened = mx_form_ends_in(rules, "short"); /* 1.er, 11.er */
        if (!strcmp(digits, "11") || !strcmp(digits, "12")) {
            const bool first = digits[1] == '1';
            (void)snprintf(out, MX_ICU_WORDS, "%sdécim%s", first ? "un" : "duo",
                           strstr(rules, "feminine") != NULL ? "a" : "o");
            if (first && shortened) (void)snprintf(out, MX_ICU_WORDS, "decimoprimer");
            return true;
        }
        const char *const set = shortened ? "ordinal-masculine-adjective" : rules[7] == 0 ? "ordinal-masculine" : rules;
        if (!mx_icu_number(match->id, set, digits, out)) return false;
        ordinal_join(out);
        return true;
    }
    if (strncmp(rules, "cardinal", 8) != 0 && strcmp(rules, "numbering") != 0) return false;
    if (digits[whole] == 0 || whole + 1 >= sizeof part) return false;
    (void)snprintf(part, sizeof part, "%.*s", (int)whole, whole > 0 ? digits : "0");
    const bool feminine = mx_form_ends_in(rules, "feminine");
    if (!mx_icu_number(match->id, feminine ? rules : "numbering", part, out)) return false;
    const size_t used = strlen(out);
    (void)snprintf(out + used, MX_ICU_WORDS - used, " coma");
    return decimals_words(match, rules, digits + whole + 1, used + 5, out);
}

/* ---- dates and times ---- */

static void date_verbalise(const struct mx_form_match *match, struct mx_text_points *out)
{
    const bool year = mx_form_capture(match, "year") != NULL || mx_form_capture(match, "yy") != NULL;
    mx_form_spoken(match, "({weekday})", out);
    if (mx_form_capture(match, "weekday") != NULL) mx_form_mark(out, ',');
    mx_form_spoken(match, "{day:numbering}( a {day2:numbering}) de ({month})({mon:name})", out);
    if (!year) return;
    mx_form_put(out, "de");
    mx_form_value_put(match, "numbering", mx_form_year_value(match), out);
}

static bool is_month(const struct mx_form_match *match)
{
    const struct mx_form_capture *const month = mx_form_capture(match, "month");
    return month->length > 3 || mx_form_capture(match, "year") != NULL ||
           match->points[month->at + month->length - 1] == '.';
}

/* An hour with a full stop is a time if nothing else is likely: "12.15", but not "versión 2.10". */
static bool is_time(const struct mx_form_match *match)
{
    static const char *const others[] = {"versión", "capítulo", "sección", "apartado", "python", "punto", "tabla",
                                         "android", "ios",      "ubuntu",  "debian",   "linux",  "figura"};
    char before[MX_FORM_WORD];
    mx_form_word_before(match, 0, before);
    const uint32_t next = mx_form_point(match, match->end);
    return !MX_FORM_LISTED(others, before) && next != '%' && next != '-';
}

static void hour_put(const struct mx_form_match *match, const char *hour_name, const char *min_name,
                     struct mx_text_points *out)
{
    const unsigned hour = mx_form_value_of(match, hour_name), minute = mx_form_value_of(match, min_name);
    mx_form_value_put(match, "cardinal-feminine", hour, out);
    if (minute == 0) return;
    mx_form_put(out, "y");
    if (minute == 15)
        mx_form_put(out, "cuarto");
    else if (minute == 30)
        mx_form_put(out, "media");
    else
        mx_form_value_put(match, "numbering", minute, out);
}

static void time_verbalise(const struct mx_form_match *match, struct mx_text_points *out)
{
    const struct mx_form_capture *const half = mx_form_capture(match, "half");
    const unsigned hour =
        mx_form_value_of(match, "hour2") > 0 ? mx_form_value_of(match, "hour2") : mx_form_value_of(match, "hour");
    hour_put(match, "hour", "min", out);
    if (mx_form_capture(match, "hour2") != NULL) {
        mx_form_put(out, "a");
        hour_put(match, "hour2", "min2", out);
    }
    if (half != NULL && half->item->spoken[0] == 'a')
        mx_form_put(out, hour == 12 ? "de la noche" : "de la mañana");
    else if (half != NULL)
        mx_form_put(out, hour == 12 ? "del mediodía" : hour < 8 ? "de la tarde" : "de la noche");
    mx_form_spoken(match, "( {zone})", out);
}

static void duration_verbalise(const struct mx_form_match *match, struct mx_text_points *out)
{
    static const struct mx_form_item items[] = {
        {"h", "hora|horas", "feminine"}, {"m", "minuto|minutos", "masculine"}, {"s", "segundo|segundos", "masculine"}};
    static const char *const names[] = {"hour", "min", "min2"};
    char digits[16];
    for (size_t i = 0; i < 3; i++) {
        const struct mx_form_capture *const capture = mx_form_capture(match, names[i]);
        if (capture == NULL) continue;
        (void)snprintf(digits, sizeof digits, "%u", mx_form_value(match, capture));
        if (i == 2) mx_form_put(out, "y");
        mx_form_counted(match, digits, &items[i], out);
    }
    mx_form_spoken(match, "( {zone})", out);
}

/* ---- fractions ---- */

/* once -> onceavo, treinta y uno -> treintaiunavo, sesenta -> sesentavo */
static void twelfths_put(const struct mx_form_match *match, unsigned below, struct mx_text_points *out)
{
    char digits[8], words[MX_ICU_WORDS], *to = words;
    (void)snprintf(digits, sizeof digits, "%u", below);
    if (!mx_icu_number(match->id, "numbering", digits, words)) return;
    for (const char *from = words; *from != 0;) {
        static const char *const plain[][2] = {{" y ", "i"}, {"é", "e"}, {"ó", "o"}};
        size_t i = 0;
        while (i < 3 && strncmp(from, plain[i][0], strlen(plain[i][0])) != 0) i++;
        *to++ = i < 3 ? plain[i][1][0] : *from;
        from += i < 3 ? strlen(plain[i][0]) : 1;
    }
    *to = 0;
    if (mx_form_ends_in(words, "uno") || to[-1] == 'a') to[-1] = 0;
    mx_form_put(out, words);
    for (const char *c = "avo"; *c != 0; c++) mx_text_points_push(out, (uint32_t)*c);
}

static void fraction_put(const struct mx_form_match *match, unsigned above, unsigned below, struct mx_text_points *out)
{
    static const char *const names[] = {"medio",   "tercio", "cuarto", "quinto", "sexto",
                                        "séptimo", "octavo", "noveno", "décimo"};
    const bool round = below <= 100 || (below < 1000 && below % 100 == 0) || (below <= 9000 && below % 1000 == 0);
    mx_form_value_put(match, round ? "cardinal-masculine" : "numbering", above, out);
    if (!round) {
        mx_form_put(out, "sobre");
        mx_form_value_put(match, "numbering", below, out);
        return;
    }
    if (below <= 10) {
        mx_form_put(out, names[below - 2]);
    } else if (below < 100) {
        twelfths_put(match, below, out);
    } else if (below > 1000) {
        mx_form_value_put(match, "numbering", below / 1000, out);
        for (const char *c = "mil\xc3\xa9simo"; *c != 0;) {
            const bool accent = *c == '\xc3';
            mx_text_points_push(out, accent ? 0xe9 : (uint32_t)*c);
            c += accent ? 2 : 1;
        }
    } else {
        mx_form_value_put(match, "ordinal-masculine", below, out);
    }
    if (above != 1) mx_text_points_push(out, 's');
}

static void fraction_verbalise(const struct mx_form_match *match, struct mx_text_points *out)
{
    const unsigned above = mx_form_value_of(match, "i"), below = mx_form_value_of(match, "i2");
    const struct mx_form_capture *const unit = mx_form_capture(match, "unit");
    const bool mixed = mx_form_capture(match, "w") != NULL, half = above == 1 && below == 2;
    char gender[MX_ICU_WORDS] = "";
    if (unit != NULL) mx_form_item_gender(match, unit->item, gender);
    const char *const halved = gender[0] == 'f' ? "media" : "medio";
    if (mixed && unit != NULL && half) { /* un metro y medio */
        mx_form_spoken(match, "{w} {unit:w} y", out);
        mx_form_put(out, halved);
        return;
    }
    if (mixed) mx_form_spoken(match, unit != NULL ? "{w} y" : "{w:numbering} y", out);
    char after[MX_FORM_WORD];
    mx_form_word_after(match, 0, after);
    if (half && !mixed && unit == NULL && strlen(after) > 2 && !is_function_word(after)) { /* media cucharadita */
        mx_form_put(out, is_feminine(after) ? "media" : "medio");
        return;
    }
    if (half && (mixed || unit != NULL)) {
        mx_form_put(out, halved);
        mx_form_spoken(match, "( {unit:one})", out);
        return;
    }
    fraction_put(match, above, below, out);
    if (unit != NULL) mx_form_spoken(match, "de {unit:one}", out);
}

/* ---- others ---- */

static void ordinal_verbalise(const struct mx_form_match *match, struct mx_text_points *out)
{
    char rules[MX_FORM_WORD];
    (void)snprintf(rules, sizeof rules, "{w:ordinal-%s}", mx_form_capture(match, "ending")->item->spoken);
    mx_form_spoken(match, rules, out);
}

/* "2° piso", but "a 28°" */
static bool is_degree_ordinal(const struct mx_form_match *match)
{
    char after[MX_FORM_WORD];
    mx_form_word_after(match, 0, after);
    return (match->begin == 0 && match->end == match->count) || (!is_function_word(after) && strlen(after) > 2);
}

static void power_verbalise(const struct mx_form_match *match, struct mx_text_points *out)
{
    bool minus;
    const unsigned exponent = mx_form_power(match, &minus);
    mx_form_spoken(match, "{n:numbering}( por {n2:numbering})", out);
    if (!minus && (exponent == 2 || exponent == 3)) {
        mx_form_put(out, exponent == 2 ? "al cuadrado" : "al cubo");
        return;
    }
    mx_form_put(out, minus ? "elevado a menos" : "elevado a");
    mx_form_value_put(match, "numbering", exponent, out);
}

static bool is_before_noun(const struct mx_form_match *match)
{
    static const char *const articles[] = {"el", "la", "del", "al", "su", "esta", "este"};
    char before[MX_FORM_WORD], after[MX_FORM_WORD];
    mx_form_word_before(match, 0, before);
    mx_form_word_after(match, 0, after);
    return MX_FORM_LISTED(articles, before) && after[0] != 0 && !is_function_word(after);
}

/* After a name: Felipe VI, María VII. Small letters only if they cannot be a word. */
static bool is_reign(const struct mx_form_match *match)
{
    const struct mx_form_capture *const roman = mx_form_capture(match, "rom");
    size_t at = match->begin;
    bool capitals = true, few = true;
    for (size_t i = 0; i < roman->length; i++) {
        const uint32_t point = match->points[roman->at + i];
        capitals &= mx_text_is_upper(point);
        few &= (point | 0x20) == 'i' || (point | 0x20) == 'v' || (point | 0x20) == 'x';
    }
    if (match->begin == 0) return capitals && few && match->end == match->count;
    while (at > 1 && mx_text_is_letter(match->points[at - 2])) at--;
    if (at + 2 >= match->begin || !few) return false;
    return capitals ? mx_text_is_upper(match->points[at - 1]) : roman->length >= 3;
}

static void reign_verbalise(const struct mx_form_match *match, struct mx_text_points *out)
{
    char name[MX_FORM_WORD];
    const unsigned value = (unsigned)mx_form_capture(match, "rom")->value;
    mx_form_word_before(match, 0, name);
    const bool queen = mx_form_ends_in(name, "a") || mx_form_ends_in(name, "isabel");
    mx_form_value_put(match, value > 10 ? "numbering" : queen ? "ordinal-feminine" : "ordinal-masculine", value, out);
}

/* One row per line. */
/* clang-format off */
static const struct mx_form_row rows[] = {
    MX_FORM("telephone", NULL, .take = mx_form_phone_take, .say = mx_form_phone_verbalise),
    /* ---- dates and times ---- */
    MX_FORM("date", "{day}( de )?( )?{month}( (de(l)? )?{year})?", .fits = is_month, .say = date_verbalise),
    MX_FORM("date", "{day}(-|/){month}(-|/){year}", .say = date_verbalise),
    MX_FORM("date", "{month} {day}(,)?( (de(l)? )?{year})?", .fits = is_month, .say = date_verbalise),
    MX_FORM("date", "{weekday}(,)? {day} de {month}( (de(l)? )?{year})?", .say = date_verbalise),
    MX_FORM("date", "{day}_~_{day2} (de )?{month}( (de(l)? )?{year})?", .say = date_verbalise),
    MX_FORM("date", "{day}(/|.|-){mon}(/|.|-)({year}|{yy})", .say = date_verbalise),
    MX_FORM("date", "{day}/{mon}", .fits = mx_form_is_dated, .say = date_verbalise),
    MX_FORM("date", "{year}(/|.|-){mon}(/|.|-){day}", .say = date_verbalise),
    MX_FORM("year", "{w}_{era}", .spoken = "{w:numbering} {era}"),
    MX_FORM("range", "{year}~{year2}", .spoken = "{year:numbering} a {year2:numbering}"),
    MX_FORM("time", "{hour}:{min}( )?(h|hs|hrs)?(.)?(_{half})?( {zone})?", .say = time_verbalise),
    MX_FORM("time", "{hour}.{min}", .fits = is_time, .say = time_verbalise),
    MX_FORM("time", "{hour}.{min} h", .say = time_verbalise),
    MX_FORM("time", "{hour}.{min}_{half}( {zone})?", .say = time_verbalise),
    MX_FORM("time", "{hour}_{half}( {zone})?", .say = time_verbalise),
    MX_FORM("time", "{hour} h {zone}", .spoken = "{hour:cardinal-feminine} {zone}"),
    MX_FORM("time", "({hour} h )?{zone}(+|-){hour2}:{min}", .spoken = "({hour:cardinal-feminine} ){zone} más {hour2:cardinal-feminine} {min:minutes}"),
    MX_FORM("time", "{hour}:{min}:{min2}( {zone})?", .say = duration_verbalise),
    MX_FORM("time", "{hour} h {min} min( {min2} (s|seg))?(.)?", .say = duration_verbalise),
    MX_FORM("range", "{hour}(:|.){min}_~_{hour2}(:|.){min2}( )?(h|hs)?(.)?(_{half})?", .say = time_verbalise),

    /* ---- money ---- */
    MX_FORM("money", "({currency}|{code})_{n}", .say = mx_form_money_verbalise),
    MX_FORM("money", "{n}_({currency}|{code})", .say = mx_form_money_verbalise),
    MX_FORM("money", "({currency}|{code})_{n}_{scale}", .spoken = "{n} {scale} de ({currency:many})({code:many})"),
    MX_FORM("money", "{n}_{scale}_(de )?({currency}|{code})", .spoken = "{n} {scale} de ({currency:many})({code:many})"),
    MX_FORM("money", "({currency}|{code})_{n}_mil", .spoken = "{n} mil ({currency:many})({code:many})"),
    MX_FORM("money", "{n}_M({currency}|{code})", .spoken = "{n} millones de ({currency:many})({code:many})"),
    MX_FORM("money", "{n}_mil_({currency}|{code})", .spoken = "{n} mil ({currency:many})({code:many})"),
    MX_FORM("money", "{n}_({currency}|{code})_/_{unit}", .say = mx_form_money_verbalise),
    MX_FORM("money", "({currency}|{code})_{n}_/_{unit}", .say = mx_form_money_verbalise),
    MX_FORM("money", "{n}_({currency}|{code})_/_{word}", .spoken = "por {word}", .say = mx_form_money_verbalise),
    MX_FORM("range", "{n}_({currency})?_~_{n2}_({currency2}|{code})", .spoken = "{n} a {n2} ({currency2:n2})({code:n2})"),
    MX_FORM("range", "{currency}_{n}_~_({currency2})?_{n2}", .spoken = "{n} a {n2} {currency:n2}"),

    /* ---- measures ---- */
    MX_FORM("ordinal", "{w}{ending}", .say = ordinal_verbalise),
    MX_FORM("ordinal", "{w}°", .spoken = "{w:ordinal}", .fits = is_degree_ordinal),
    MX_FORM("measure", "{n}_{unit}", .spoken = "{n} {unit}", .fits = mx_form_is_unit),
    MX_FORM("measure", "{n} {scale} (de )?{unit}", .spoken = "{n} {scale} de {unit:many}"),
    MX_FORM("measure", "{n}_{unit}_/_{unit2}", .spoken = "{n} {unit} por {unit2:one}", .fits = mx_form_is_ratio),
    MX_FORM("measure", "{n}_/_{unit}", .spoken = "{n:numbering} por {unit:one}"),
    MX_FORM("measure", "{i:1-3}/{i2:1-3}_{unit}", .fits = mx_form_is_fraction, .say = fraction_verbalise),
    MX_FORM("measure", "{w} {i:1-3}/{i2:1-3}_{unit}", .fits = mx_form_is_fraction, .say = fraction_verbalise),
    MX_FORM("range", "{n}_~_{n2}_{unit}", .spoken = "{n:numbering} a {n2} {unit:n2}", .fits = mx_form_is_unit),
    MX_FORM("range", "{n}_{unit}_~_{n2}_{unit2}", .spoken = "{n} {unit} a {n2} {unit2:n2}"),
    MX_FORM("measure", "{n}_(x|×)_{n2}_{unit}", .spoken = "{n:numbering} por {n2} {unit:n2}"),
    MX_FORM("measure", "{n}_(x|×)_{n2}_(x|×)_{n3}_{unit}", .spoken = "{n:numbering} por {n2:numbering} por {n3} {unit:n3}"),
    MX_FORM("percent", "{n}_%", .spoken = "{n:numbering} por ciento"),
    MX_FORM("range", "{n}_(%)?_~_{n2}_%", .spoken = "{n:numbering} a {n2:numbering} por ciento"),

    /* ---- numbers ---- */
    MX_FORM("number", "{n}", .say = mx_form_number_verbalise),
    MX_FORM("number", "{n} {scale}", .spoken = "{n} {scale}"),
    MX_FORM("number", "{n} mil", .spoken = "{n:numbering} mil"),
    MX_FORM("number", "{numbered}_{n}", .spoken = "{numbered} {n:numbering}"),
    MX_FORM("range", "{numbered}_{n}_~_{n2}", .spoken = "{numbered} {n:numbering} a {n2:numbering}"),
    MX_FORM("range", "{n}_~_{n2}", .spoken = "{n:numbering} a {n2}", .fits = mx_form_is_range),
    MX_FORM("number", "24/7", .spoken = "veinticuatro siete"),
    MX_FORM("fraction", "{i:1-4}/{i2:1-4}", .fits = mx_form_is_fraction, .say = fraction_verbalise),
    MX_FORM("fraction", "{w} {i:1-3}/{i2:1-3}", .fits = mx_form_is_fraction, .say = fraction_verbalise),
    MX_FORM("math", "{n}e~{i}", .spoken = "{n:numbering} por diez elevado a menos {i:numbering}"),
    MX_FORM("math", "{n}e(+)?{i}", .spoken = "{n:numbering} por diez elevado a {i:numbering}"),
    MX_FORM("math", "{n}_~_{n2}_=_{n3}", .spoken = "{n:numbering} menos {n2:numbering} igual a {n3:numbering}"),
    MX_FORM("math", "{n}_(x|×|*|·)_{n2}", .spoken = "{n:numbering} por {n2:numbering}"),
    MX_FORM("math", "{n}_/_{n2}_=_{n3}", .spoken = "{n:numbering} entre {n2:numbering} igual a {n3:numbering}"),
    MX_FORM("math", "{n}_^_{w}", .spoken = "{n:numbering} elevado a {w:numbering}"),
    MX_FORM("math", "{n}(⁻)?{power}({power2})?({power3})?", .say = power_verbalise),
    MX_FORM("math", "{n}_(x|×|*|·)_{n2}(⁻)?{power}({power2})?({power3})?", .say = power_verbalise),
    MX_FORM("score", "{i:1-3}:{i2:1-3}", .spoken = "{i:numbering} a {i2:numbering}"),
    MX_FORM("roman", "{chapter} {rom}", .spoken = "{chapter} {rom:numbering}"),
    MX_FORM("roman", "{roman}", .spoken = "{roman:ordinal}", .fits = is_before_noun),
    MX_FORM("roman", "{rom}", .fits = is_reign, .say = reign_verbalise),
    MX_FORM("sign", "/", .spoken = " ", .fits = mx_form_between_letters),
    MX_FORM("sign", "C#", .spoken = "c sharp"),
    MX_FORM("sign", "C++", .spoken = "c más más"),
    MX_FORM("sign", "#", .spoken = "almohadilla"),
    MX_FORM("sign", "{sign}", .spoken = "{sign}"),
    MX_FORM("title", "{title}", .spoken = "{title}"),
    MX_FORM("abbreviation", "{abbreviation}", .spoken = "{abbreviation}"),

    /* ---- names made of digits ---- */
    MX_FORM("telephone", "{i:1}-{i2:3}-{serial}", .fits = mx_form_is_dial, .say = mx_form_phone_verbalise),
    MX_FORM("electronic", "{i:1-3}.{i2:1-3}.{i3:1-3}.{i4:1-3}(:{i5:1-5}|/{i5:1-2})?", .say = mx_form_dotted_verbalise),
    MX_FORM("version", "(v|versión )?{i:1-4}.{i2:1-2}.{i3:1-2}(.{i4:1-6})?(-{serial})?", .say = mx_form_dotted_verbalise),
    MX_FORM("version", "(v|versión ){i:1-4}(.{i2:1-4})?(.{i3:1-4})?", .say = mx_form_dotted_verbalise),
    MX_FORM("version", "{i:1-4}.{i2:1-4}", .say = mx_form_dotted_verbalise),
    MX_FORM("serial", "{serial}", .fits = mx_form_is_serial, .say = mx_form_serial_verbalise),
    MX_FORM("serial", "{serial}/{serial2}(/{serial3})?", .fits = mx_form_is_serial, .say = mx_form_serial_verbalise),
    MX_FORM("electronic", NULL, .take = mx_form_electronic_take, .say = mx_form_electronic_verbalise),
    MX_FORM("formula", NULL, .take = mx_form_formula_take, .say = mx_form_formula_verbalise),
    MX_FORM("emoji", NULL, .take = mx_form_emoji_take, .say = mx_form_emoji_verbalise),
    {.rule = NULL},
};
/* clang-format on */

static const char *const doubtful[] = {"-A", "-K", "-N", "-J", "+ct", "+d", NULL};

const struct mx_forms mx_forms_spanish = {.emoji = MX_EMOJI_SPANISH,
                                          .decimal = ',',
                                          .groups = ". ",
                                          .point = "coma",
                                          .minus = "menos",
                                          .cardinal = "numbering",
                                          .to = "a",
                                          .doubtful = doubtful,
                                          .dialed = true,
                                          .spells = true,
                                          .lists = mx_spanish_lists,
                                          .rows = rows,
                                          .agree = agree,
                                          .number = number};

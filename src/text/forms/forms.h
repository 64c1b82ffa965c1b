/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Private to src/text/: the grammar of written forms (dates, money, measures, telephone numbers …): how what people
 * write in digits and signs becomes words. From version 4 of the rules on, it runs before the cleaner of a language.
 *
 * A language has a `struct mx_forms` in a file of its own (english_forms.c), named in its rules (`.forms`), with rows and
 * lists. A row says how a form is written and how it is said:
 *
 *     MX_FORM("date", "{day}_{month}( {year})?", .spoken = "the {day:ordinal} of {month}( {year:year})")
 *
 * At each place where a word, a number or a sign begins, every row is tried; the one that takes most characters wins, the
 * first of equals. What no row takes is left to the cleaner.
 *
 * In `written`: a small letter stands for itself in any case, a capital and every sign for itself, ' ' for a blank, '_'
 * for a blank or nothing, '~' for a hyphen or dash. (a|b) is one of several, (…)? may be missing; both may contain
 * classes. '\\' takes the meaning away from the next character. A class in braces is captured under its name; a digit at
 * the end of the name tells captures of one class apart ({n} and {n2}):
 *
 *     {n}  a number as the language writes it, with groups and a fraction      {w}  the same without a fraction
 *     {i}  digits only; {i:3} exactly three, {i:1-4} one to four               {yy} two digits, {year} 1000 to 2999
 *     {day} 1–31  {mon} 1–12  {hour} 0–24  {min} two digits up to 59 (one or two digits where not said)
 *     {month} {weekday}  a name, long or short, by ICU (a full stop after a short one belongs to it)
 *     {word} letters  {caps} capitals  {serial} letters, digits and hyphens
 *     {roman} a Roman numeral in capitals, {rom} in any case
 *     {NAME} any item of the list NAME of the language
 *
 * A form ends where a word ends, and where digits end no ".5", ",5", "/5", ":5" or "-5" may follow; it begins where a
 * word begins. '<' at the start and '>' at the end of `written` take that away.
 *
 * In `spoken`: text, and captures in braces. (…) is left out if a capture in it matched nothing. {n} says the number,
 * {n:RULES} by a rule set of ICU without its "%spellout-" ("ordinal-feminine", "numbering-year"); {n:digits} one digit
 * after the other, {n:minutes} nothing for 00; {month} the name, {unit} the item's words in the form for the first number of the row, {unit:n2} for
 * number n2, {unit:one}, {unit:few} and {unit:many} for 1, 2 and 5; {cur>minor:i} the words for the same sign in the list `minor`. Plain {n}, and {n:cardinal} and {n:ordinal},
 * get what the language's `agree` adds: "cardinal" + "-feminine"; without `agree`, the gender of the unit that is counted.
 *
 * The words of a list item are text with plural forms separated by '|': "dollar|dollars", or "рубль|рубля|рублей" (one,
 * few, many), or "@" and a unit of CLDR ("@kilogram"), or "$" and a currency ("$USD"), which ICU knows in all languages.
 *
 * Lists that the functions shared by all languages (forms_names.c, forms_amount.c) look into: "minor" has the smaller coins
 * by the sign of the currency; "net" the names of signs in addresses, ".." the point of a version, "v" the word version;
 * "letter" letters of which the name is not the letter itself; "netword" words of addresses that are read otherwise; "element" the names
 * of elements in formulas, "phoneword" words before a telephone number, "dated" words before a date as short as 24/12.
 *
 * Memory: rows are constant; a match lives on the stack; the output is the caller's.
 */
#ifndef MX_TEXT_FORMS_H
#define MX_TEXT_FORMS_H

#include "text/forms/icu.h"
#include "text/internal.h"

#define MX_FORM_CAPTURES 16
#define MX_FORM_DIGITS   64 /* longer numbers are said digit by digit */

struct mx_form_item {
    const char *written; /* NULL ends a list */
    const char *spoken;
    const char *gender; /* NULL: that of the unit in CLDR, if it is one */
};

struct mx_form_list {
    const char *name; /* NULL ends the lists */
    const struct mx_form_item *items;
};

struct mx_form_capture {
    const char *name; /* in the row */
    size_t name_length;
    size_t at, length;               /* in the points of the text */
    size_t value;                    /* of a month or day name, from 0; of a Roman numeral */
    const struct mx_form_item *item; /* of a list */
};

struct mx_form_row;

struct mx_form_match {
    enum mx_language_id id;
    const struct mx_forms *forms;
    const struct mx_form_row *row;
    const uint32_t *points; /* the whole text */
    size_t count;
    size_t begin, end; /* what the row took */
    struct mx_form_capture captures[MX_FORM_CAPTURES];
    size_t captured;
};

struct mx_form_row {
    const char *rule;    /* its name for people; NULL ends the rows */
    const char *written; /* NULL: `take` finds the end */
    const char *spoken;  /* NULL: `say` writes all */
    /* (optional) Whether it may be said so here. */
    bool (*fits)(const struct mx_form_match *match);
    /* (optional) Instead of `spoken`. */
    void (*say)(const struct mx_form_match *match, struct mx_text_points *out);
    /* Instead of `written`: where the form that begins at match->begin ends; 0: nowhere. It must look at a bounded number
     * of points. */
    size_t (*take)(const struct mx_form_match *match);
};

/* A row of a table: MX_FORM("date", "{day}/{mon}", .spoken = "…", .fits = …). */
#define MX_FORM(name, how, ...)                                                                                        \
    {                                                                                                                  \
        .rule = name, .written = how, __VA_ARGS__                                                                      \
    }

/* Columns of the table of emoji (forms_emoji.c). */
enum mx_emoji_column {
    MX_EMOJI_ENGLISH,
    MX_EMOJI_GERMAN,
    MX_EMOJI_SPANISH,
    MX_EMOJI_FRENCH,
    MX_EMOJI_ITALIAN,
    MX_EMOJI_RUSSIAN,
    MX_EMOJI_COLUMNS
};

struct mx_forms {
    enum mx_emoji_column emoji;
    char decimal;         /* '.' or ',' */
    const char *groups;   /* what may stand between groups of three digits: ",", ". ", ".' " */
    const char *point;    /* the word for the decimal sign */
    const char *minus;    /* before a number, where a hyphen means that; NULL: rows say it */
    const char *cardinal; /* rule set for numbers without more ado: "cardinal", "cardinal-masculine" */
    const char *calendar; /* NULL: month names are Gregorian; "persian": those of both */
    const struct mx_form_list *lists;
    const struct mx_form_row *rows;
    const char *to; /* between the ends of a range of amounts */
    /* Units that are more often something else: after "-" only with a blank before them ("3 K", not "4K"), after "+" only
     * right behind the number ("5s"). NULL: none. */
    const char *const *doubtful;
    bool capitals;        /* all nouns have them: after "2 Pck." a capital begins no sentence */
    bool dialed;          /* country codes of two digits are said as numbers */
    bool spells;          /* short words of addresses are spelled if they hardly can be said */
    unsigned phone_group; /* telephone groups of at most this many digits are said as numbers; 0: none */
    /* (optional) What to add to "cardinal" (or "ordinal") for a number here: "feminine", "genitive". `gender` is that of
     * what is counted, "" if no unit tells. What the language has no rule set for loses its last part. */
    void (*agree)(const struct mx_form_match *match, const struct mx_form_capture *number, bool ordinal,
                  const char *gender, char out[MX_ICU_WORDS]);
    /* (optional) Another form of the words of an item, of which those for 1, 2 and 5 are given; false: that for the
     * number. */
    bool (*decline)(const struct mx_form_match *match, const char *digits, const char *const words[3],
                    char out[MX_ICU_WORDS]);
    /* (optional) Words for a number where ICU's are not those of the language; false: ICU's. */
    bool (*number)(const struct mx_form_match *match, const char *rules, const char *digits, char out[MX_ICU_WORDS]);
};

/* What was read, for people (reading.h). */
struct mx_form_told {
    void (*tell)(void *context, const char *rule, const uint32_t *points, size_t count, const uint32_t *words,
                 size_t word_count);
    void *context;
};

/* The prepared text with its forms in words. `told` may be NULL. */
void mx_forms_apply(enum mx_language_id language, const struct mx_text_points *in, struct mx_text_points *out,
                    struct mx_text_report *report, const struct mx_form_told *told);

/* ---- for rows with functions of their own ---- */

/* Matches `row` at match->begin and sets the end and captures (forms_match.c). */
bool mx_form_match_row(struct mx_form_match *match, const struct mx_form_row *row);
const struct mx_form_capture *mx_form_capture(const struct mx_form_match *match, const char *name); /* NULL: none */
uint32_t mx_form_point(const struct mx_form_match *match, size_t at); /* 0 beyond the end */
/* The number that a capture holds: "-" never, no groups, "." before a fraction; "" if it is too long. */
void mx_form_digits(const struct mx_form_match *match, const struct mx_form_capture *capture,
                    char out[MX_FORM_DIGITS + 2]);
unsigned mx_form_value(const struct mx_form_match *match, const struct mx_form_capture *capture); /* at most 9 digits */
/* Word `nth` (from 0) after, or before, the form, in small letters, if only blanks stand between; "" if there is none. */
#define MX_FORM_WORD 64
void mx_form_word_after(const struct mx_form_match *match, size_t nth, char out[MX_FORM_WORD]);
void mx_form_word_before(const struct mx_form_match *match, size_t nth, char out[MX_FORM_WORD]);
const struct mx_form_item *mx_form_item_find(const struct mx_forms *forms, const char *list, const char *written);

/* Writing (forms_say.c). Words are separated from what is there by a blank. */
void mx_form_put(struct mx_text_points *out, const char *words);
void mx_form_mark(struct mx_text_points *out, char mark); /* right after the last word */
void mx_form_number(const struct mx_form_match *match, const char *rules, const char *digits,
                    struct mx_text_points *out);
void mx_form_digits_put(const struct mx_form_match *match, const char *digits, struct mx_text_points *out);
void mx_form_spoken(const struct mx_form_match *match, const char *spoken, struct mx_text_points *out);
/* An item after a number that agrees with it: "one pound", "dos libras". */
void mx_form_counted(const struct mx_form_match *match, const char *digits, const struct mx_form_item *item,
                     struct mx_text_points *out);
/* "masculine", "feminine" or "neuter"; "": unknown. */
void mx_form_item_gender(const struct mx_form_match *match, const struct mx_form_item *item, char out[MX_ICU_WORDS]);

/* Small things that rows with functions need. */
unsigned mx_form_value_of(const struct mx_form_match *match, const char *name); /* 0: no such capture */
void mx_form_value_put(const struct mx_form_match *match, const char *rules, unsigned value,
                       struct mx_text_points *out);
bool mx_form_listed(const char *const *list, size_t count, const char *word);
#define MX_FORM_LISTED(list, word) mx_form_listed(list, sizeof(list) / sizeof *(list), word)
bool mx_form_ends_in(const char *word, const char *ending);

/* Names made of digits and letters (forms_names.c). */
bool mx_form_is_serial(const struct mx_form_match *match);
bool mx_form_is_dial(const struct mx_form_match *match); /* 1-800-GO-U-HAUL */
bool mx_form_after_letter(const struct mx_form_match *match);
bool mx_form_between_words(const struct mx_form_match *match); /* a sign with blanks around it */
bool mx_form_between_letters(const struct mx_form_match *match);
void mx_form_serial_verbalise(const struct mx_form_match *match, struct mx_text_points *out);
size_t mx_form_phone_take(const struct mx_form_match *match);
void mx_form_phone_verbalise(const struct mx_form_match *match, struct mx_text_points *out);
void mx_form_dotted_verbalise(const struct mx_form_match *match, struct mx_text_points *out);
size_t mx_form_electronic_take(const struct mx_form_match *match);
void mx_form_electronic_verbalise(const struct mx_form_match *match, struct mx_text_points *out);
size_t mx_form_formula_take(const struct mx_form_match *match); /* H₂O */
void mx_form_formula_verbalise(const struct mx_form_match *match, struct mx_text_points *out);

/* Numbers and amounts (forms_amount.c). */
void mx_form_number_verbalise(const struct mx_form_match *match,
                              struct mx_text_points *out); /* {n}; 007 digit by digit */
/* {n}, {currency}, {n2}, {i}; then what the row has as `spoken`. */
void mx_form_money_verbalise(const struct mx_form_match *match, struct mx_text_points *out);
bool mx_form_is_unit(const struct mx_form_match *match);     /* {unit} is not the beginning of something else */
bool mx_form_is_ratio(const struct mx_form_match *match);    /* {unit}/{unit2} is no unit of its own: "km/h" */
bool mx_form_is_dated(const struct mx_form_match *match);    /* after a word of the list "dated": "am", "el", "le" */
bool mx_form_is_range(const struct mx_form_match *match);    /* {n}-{n2} is no difference and no part of a date */
bool mx_form_is_fraction(const struct mx_form_match *match); /* {i}/{i2} is no whole number and no part of a path */
unsigned mx_form_power(const struct mx_form_match *match, bool *minus); /* the exponent of ⁻{power}{power2}{power3} */
unsigned mx_form_year_value(const struct mx_form_match *match); /* {year}, or {yy} within a century around now */

/* Emoji by their names (forms_emoji.c). */
size_t mx_form_emoji_take(const struct mx_form_match *match);
void mx_form_emoji_verbalise(const struct mx_form_match *match, struct mx_text_points *out);

extern const struct mx_form_item mx_form_powers[]; /* ⁰ to ⁹, a list that languages share (forms_amount.c) */

extern const struct mx_forms mx_forms_english, mx_forms_german, mx_forms_spanish, mx_forms_french, mx_forms_italian,
    mx_forms_russian;

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * English words: abbreviations, initials, acronyms, Roman numerals, and the rest; see english.h.
 *
 * An abbreviation is looked up as a whole word together with its context, never as a part of another word. Only the
 * sink allocates memory.
 */
#include <string.h>
#include <utf8proc.h>

#include "text/english/english.h"

enum abbreviation_kind {
    TITLE,  /* with a capital, before a name; its full stop never ends a sentence */
    PLACE,  /* "saint" or "doctor" before a name, the second expansion after one */
    ALWAYS, /* its full stop may end a sentence as well */
    NUMBER, /* only before a digit */
};

static const struct {
    const char *text;
    enum abbreviation_kind kind;
    const char *words, *after_name;
} abbreviations[] = {{"mr", TITLE, "mister", NULL},
                     {"mrs", TITLE, "missus", NULL},
                     {"ms", TITLE, "miz", NULL},
                     {"messrs", TITLE, "messers", NULL},
                     {"prof", TITLE, "professor", NULL},
                     {"gen", TITLE, "general", NULL},
                     {"sen", TITLE, "senator", NULL},
                     {"rep", TITLE, "representative", NULL},
                     {"gov", TITLE, "governor", NULL},
                     {"lt", TITLE, "lieutenant", NULL},
                     {"col", TITLE, "colonel", NULL},
                     {"capt", TITLE, "captain", NULL},
                     {"sgt", TITLE, "sergeant", NULL},
                     {"maj", TITLE, "major", NULL},
                     {"rev", TITLE, "reverend", NULL},
                     {"hon", TITLE, "honorable", NULL},
                     {"pres", TITLE, "president", NULL},
                     {"mt", TITLE, "mount", NULL},
                     {"ft", TITLE, "fort", NULL},
                     {"dr", PLACE, "doctor", "drive"},
                     {"st", PLACE, "saint", "street"},
                     {"jr", ALWAYS, "junior", NULL},
                     {"sr", ALWAYS, "senior", NULL},
                     {"esq", ALWAYS, "esquire", NULL},
                     {"inc", ALWAYS, "incorporated", NULL},
                     {"ltd", ALWAYS, "limited", NULL},
                     {"co", ALWAYS, "company", NULL},
                     {"corp", ALWAYS, "corporation", NULL},
                     {"bros", ALWAYS, "brothers", NULL},
                     {"ave", ALWAYS, "avenue", NULL},
                     {"blvd", ALWAYS, "boulevard", NULL},
                     {"rd", ALWAYS, "road", NULL},
                     {"dept", ALWAYS, "department", NULL},
                     {"etc", ALWAYS, "et cetera", NULL},
                     {"vs", ALWAYS, "versus", NULL},
                     {"approx", ALWAYS, "approximately", NULL},
                     {"no", NUMBER, "number", NULL},
                     {"nos", NUMBER, "numbers", NULL},
                     {"vol", NUMBER, "volume", NULL},
                     {"fig", NUMBER, "figure", NULL},
                     {"ch", NUMBER, "chapter", NULL},
                     {"p", NUMBER, "page", NULL},
                     {"pp", NUMBER, "pages", NULL},
                     {"est", NUMBER, "established", NULL},
                     {"ca", NUMBER, "circa", NULL}};

/* tolower depends on the locale. */
static char ascii_lower(char letter)
{
    return letter >= 'A' && letter <= 'Z' ? (char)(letter + 32) : letter;
}

bool mx_text_abbreviation(const char *word, size_t length, bool digit_follows)
{
    for (size_t i = 0; i < sizeof abbreviations / sizeof *abbreviations; i++) {
        const enum abbreviation_kind kind = abbreviations[i].kind;
        if (kind == ALWAYS || (kind == NUMBER && !digit_follows) || strlen(abbreviations[i].text) != length) continue;
        size_t same = 0;
        while (same < length && ascii_lower(word[same]) == abbreviations[i].text[same]) same++;
        if (same == length) return true;
    }
    return false;
}

bool mx_text_abbreviation_at(enum mx_language_id language, size_t i, const char **abbreviation, const char **meaning)
{
    if (language != MX_LANGUAGE_EN) return false;
    for (size_t k = 0; k < sizeof abbreviations / sizeof *abbreviations; k++) {
        if (abbreviations[k].kind == NUMBER || i-- > 0) continue;
        *abbreviation = abbreviations[k].text;
        *meaning = abbreviations[k].words;
        return true;
    }
    return false;
}

/* Those of the ALWAYS kind that are words or names in lower case. */
static bool needs_capital(const char *text)
{
    static const char *const texts[] = {"jr", "sr", "inc", "co", "ave", "rd", "corp"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (!strcmp(text, texts[i])) return true;
    }
    return false;
}

/* Acronyms that have a vowel and are spelled all the same; those without one are spelled by rule. */
static const char *const spelled[] = {
    "aaa", "abc", "aclu", "ad",  "ai",  "aka",  "aol", "api", "atm",  "ba",  "bmi", "ceo", "cfo", "cia", "cio",
    "cpu", "cto", "diy",  "dna", "eeg", "ekg",  "epa", "esa", "eu",   "faq", "fbi", "fda", "gop", "gpa", "gpu",
    "hiv", "ibm", "icu",  "id",  "ip",  "ipo",  "iq",  "irs", "isbn", "isp", "it",  "iou", "la",  "led", "ma",
    "mba", "mia", "mit",  "mri", "nba", "ncaa", "nsa", "ocd", "pda",  "rna", "suv", "tba", "uae", "ufo", "ui",
    "uk",  "un",  "ups",  "url", "us",  "usa",  "usb", "usd", "ussr", "uv",  "vat", "via", "vip", "wto", "ymca"};
/* Of these, the ones that are also words; in a text all in capitals they are taken as words. */
static const char *const spelled_or_word[] = {"ad", "id", "it", "la", "led", "ma", "ups", "us", "via", "vat"};

static bool listed(const char *const *list, size_t count, const char *text)
{
    for (size_t i = 0; i < count; i++) {
        if (!strcmp(list[i], text)) return true;
    }
    return false;
}
#define LISTED(list, text) listed(list, sizeof(list) / sizeof *(list), text)

void mx_english_spell(const struct mx_text_scan *scan, const char *letters)
{
    const char *const a = scan->cleaner < 4 ? "ay" : "A"; /* "a" would be the article */
    for (; *letters; letters++) {
        const char name[] = {ascii_lower(*letters), 0};
        mx_text_sink_word(scan->sink, name[0] == 'a' ? a : name);
    }
}

bool mx_english_sentence_ends(const struct mx_text_scan *scan)
{
    size_t ahead = 0;
    while (ahead < 8 && mx_text_peek(scan, ahead) && strchr(" \"')]", (int)(mx_text_peek(scan, ahead) & 0x7f)) &&
           mx_text_peek(scan, ahead) < 0x80) {
        ahead++;
    }
    if (mx_text_peek(scan, ahead) == 0) return true;
    return ahead > 0 && mx_text_is_upper(mx_text_peek(scan, ahead)) && !mx_english_is_calendar_word(scan, ahead);
}

/* The next point is a space and a capital follows. */
static bool capital_follows(const struct mx_text_scan *scan, size_t ahead)
{
    return mx_text_peek(scan, ahead) == ' ' && mx_text_is_upper(mx_text_peek(scan, ahead + 1));
}

static void remember(struct mx_english *english, const char *word, bool capital)
{
    const size_t length = strlen(word);
    english->previous_first = english->sentence_start;
    english->previous_capital = capital;
    english->sentence_start = false;
    if (length >= MX_ENGLISH_WORD) {
        english->previous[0] = 0;
    } else {
        memcpy(english->previous, word, length + 1);
    }
}

/* A full stop that belongs to an abbreviation and ends the sentence as well. */
static void stop_if_sentence_ends(struct mx_english *english)
{
    if (!mx_english_sentence_ends(english->scan)) return;
    mx_text_sink_mark(english->scan->sink, '.');
    english->sentence_start = true;
}

/* Letters with a full stop after each: e.g., U.S.A., a.m., J.R.R. Tolkien. */
static bool try_dotted(struct mx_english *english)
{
    struct mx_text_scan *scan = english->scan;
    char letters[MX_ENGLISH_WORD] = "", lower[MX_ENGLISH_WORD] = "";
    size_t count = 0, at = 0;
    while (count + 1 < MX_ENGLISH_WORD) {
        const uint32_t point = mx_text_peek(scan, at);
        if (point >= 0x80 || !mx_text_is_letter(point)) break;
        if (mx_text_is_letter(mx_text_peek(scan, at + 1))) return false; /* "I.Next" */
        letters[count] = (char)point;
        lower[count++] = ascii_lower((char)point);
        at++;
        if (mx_text_peek(scan, at) != '.') break;
        at++;
    }
    if (count < 2) return false;
    const bool stop = mx_text_peek(scan, at - 1) == '.';
    scan->at += at;
    if (!strcmp(letters, "eg")) {
        mx_text_sink_word(scan->sink, "for example");
    } else if (!strcmp(letters, "ie")) {
        mx_text_sink_word(scan->sink, "that is");
    } else {
        mx_english_spell(scan, letters);
    }
    remember(english, lower, mx_text_is_upper((uint32_t)letters[0]));
    /* "the U.S. Army": letters are followed by names too often to tell; only the end of the text is sure. */
    if (stop && (mx_text_peek(scan, 0) == 0 || !strcmp(lower, "am") || !strcmp(lower, "pm")))
        stop_if_sentence_ends(english);
    return true;
}

/* Mr. and the like; `length` points, of which `text` is the lower case. */
static bool try_abbreviation(struct mx_english *english, const char *text, size_t length)
{
    struct mx_text_scan *scan = english->scan;
    const bool capital = mx_text_is_upper(mx_text_peek(scan, 0)), stop = mx_text_peek(scan, length) == '.';
    size_t i = 0;
    while (i < sizeof abbreviations / sizeof *abbreviations && strcmp(abbreviations[i].text, text)) i++;
    if (i == sizeof abbreviations / sizeof *abbreviations) {
        if (!strcmp(text, "al") && stop && !strcmp(english->previous, "et")) {
            mx_text_sink_word(scan->sink, "al");
            scan->at += length + 1;
            remember(english, text, false);
            stop_if_sentence_ends(english);
            return true;
        }
        return false;
    }
    const char *words = abbreviations[i].words;
    const size_t after = length + stop;
    const bool name = capital_follows(scan, after);
    bool may_end = false;
    switch (abbreviations[i].kind) {
    case TITLE:
        if (!capital) return false;
        if (!strcmp(text, "mr") || !strcmp(text, "mrs") || !strcmp(text, "ms")) {
            if (!stop && !name) return false;
        } else if (!stop || !name) {
            return false;
        }
        break;
    case PLACE:
        if (!capital || (!stop && !name)) return false;
        if (name ? stop && english->previous_capital && !english->previous_first
                 : english->previous_capital || !strcmp(text, "st")) {
            words = abbreviations[i].after_name;
            may_end = stop;
        }
        break;
    case ALWAYS:
        if (!stop && strcmp(text, "vs") && strcmp(text, "etc")) return false;
        if (!capital && needs_capital(text)) return false;
        may_end = stop;
        break;
    case NUMBER:
        if (!stop) return false;
        if (!mx_text_is_digit(mx_text_peek(scan, after + (mx_text_peek(scan, after) == ' ')))) return false;
        break;
    }
    scan->at += after;
    mx_text_sink_word(scan->sink, words);
    remember(english, text, capital);
    if (may_end) stop_if_sentence_ends(english);
    return true;
}

/* The value of a Roman numeral below 400 in its usual form, 0 for anything else. */
static unsigned roman_value(const char *text)
{
    static const char *const ones[] = {"", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX"};
    static const char *const tens[] = {"", "X", "XX", "XXX", "XL", "L", "LX", "LXX", "LXXX", "XC"};
    static const char *const hundreds[] = {"", "C", "CC", "CCC"};
    for (unsigned h = 0; h < 4; h++) {
        const size_t h_length = strlen(hundreds[h]);
        if (strncmp(text, hundreds[h], h_length)) continue;
        for (unsigned t = 0; t < 10; t++) {
            const size_t t_length = strlen(tens[t]);
            if (strncmp(text + h_length, tens[t], t_length)) continue;
            for (unsigned o = 0; o < 10; o++) {
                if (!strcmp(text + h_length + t_length, ones[o])) return h * 100 + t * 10 + o;
            }
        }
    }
    return 0;
}

/* Henry VIII, Chapter IV. */
static bool try_roman(struct mx_english *english, const char *letters, size_t length)
{
    static const char *const rulers[] = {
        "henry",  "louis",   "george",   "elizabeth", "charles",  "edward", "william",   "james",     "richard",
        "philip", "pius",    "john",     "paul",      "benedict", "leo",    "gregory",   "innocent",  "napoleon",
        "peter",  "francis", "nicholas", "catherine", "ivan",     "mary",   "frederick", "ferdinand", "alexander",
        "otto",   "ramses",  "xerxes",   "darius",    "clement",  "urban",  "julius",    "margaret",  "christian"};
    static const char *const parts[] = {"chapter", "part",   "volume", "book",     "act",   "scene",   "section",
                                        "article", "phase",  "type",   "class",    "level", "episode", "season",
                                        "title",   "figure", "table",  "appendix", "war",   "grade",   "stage"};
    static const char *const verbs[] = {"was", "of", "and", "had", "died", "became", "is"};
    struct mx_text_scan *scan = english->scan;
    const unsigned value = roman_value(letters);
    if (value == 0) return false;
    if (english->previous_capital && LISTED(rulers, english->previous)) {
        if (value == 1 && mx_text_peek(scan, 1) == ' ' &&
            mx_text_is_letter(mx_text_peek(scan, 2))) { /* "John I think" */
            bool ruler = false;
            for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) ruler |= mx_text_word_is(scan, 2, verbs[i]);
            if (!ruler) return false;
        }
        mx_text_sink_word(scan->sink, "the");
        mx_english_ordinal(scan->sink, value, false);
    } else if (LISTED(parts, english->previous) && (value > 1 || english->previous_capital)) { /* "the part I like" */
        mx_english_cardinal(scan->sink, value);
    } else {
        return false;
    }
    mx_english_number_done(english, length);
    return true;
}

/* The letters of an acronym are said one by one. */
static bool is_spelled(const struct mx_english *english, const char *lower, size_t length)
{
    if (!strpbrk(lower, "aeiouy")) {
        for (size_t i = 2; i < length; i++) { /* "shhh", "brrr" */
            if (lower[i] == lower[i - 1] && lower[i] == lower[i - 2] && strcmp(lower, "www")) return false;
        }
        return true;
    }
    if (english->shouting && LISTED(spelled_or_word, lower)) return false;
    return LISTED(spelled, lower);
}

/* A word in capitals, `length` of them: spelled, or left to be read as a word. A plural s may follow ("CDs"). */
static bool try_acronym(struct mx_english *english, const char *letters, const char *lower, size_t length)
{
    struct mx_text_scan *scan = english->scan;
    struct mx_text_sink *sink = scan->sink;
    const uint32_t next = mx_text_peek(scan, length), before = mx_text_before(scan);
    if (length == 1) {
        /* An initial ("J. Smith"), a letter that stands for itself (B2B, A4, Q&A), but not "I" and "A". */
        const bool initial = next == '.' && capital_follows(scan, 2) && lower[0] != 'i';
        const bool alone = mx_text_is_digit(next) || mx_text_is_digit(before) || next == '&' || before == '&';
        if (!initial && !alone) return false;
        mx_english_spell(scan, letters);
        scan->at += 1 + initial;
        remember(english, lower, true);
        return true;
    }
    if (!strcmp(lower, "ok")) {
        mx_text_sink_word(sink, "okay");
    } else if (is_spelled(english, lower, length) || ((next == '&' || before == '&') && length <= 3) ||
               (scan->cleaner >= 2 && length == 2 && mx_text_is_digit(next))) { /* CO2 */
        mx_english_spell(scan, letters);
    } else {
        return false;
    }
    scan->at += length;
    remember(english, lower, true);
    sink->blank = !(next == '\''); /* FBI's */
    return true;
}

/* Points of the next word: letters and marks on them. */
static size_t word_length(const struct mx_text_scan *scan)
{
    size_t length = 0;
    while (mx_text_is_letter(mx_text_peek(scan, length)) || mx_text_is_mark(mx_text_peek(scan, length))) length++;
    return length;
}

/* The next word of the text, with copies of it as written and in small letters if it is `ascii`. */
struct word {
    size_t length, capitals;
    bool ascii; /* and shorter than the copies */
    char letters[MX_ENGLISH_WORD], lower[MX_ENGLISH_WORD];
};

static struct word word_peek(const struct mx_text_scan *scan)
{
    struct word word = {.length = word_length(scan)};
    word.ascii = word.length < MX_ENGLISH_WORD;
    for (size_t i = 0; i < word.length; i++) {
        const uint32_t point = mx_text_peek(scan, i);
        word.capitals += mx_text_is_upper(point);
        word.ascii &= point < 0x80;
        if (!word.ascii) continue;
        word.letters[i] = (char)point;
        word.lower[i] = ascii_lower((char)point);
    }
    return word;
}

/* https:// is not said; Ph.D., PhD and www are spelled. */
static bool try_special(struct mx_english *english, const struct word *word)
{
    struct mx_text_scan *scan = english->scan;
    const size_t length = word->length;
    if ((!strcmp(word->lower, "http") || !strcmp(word->lower, "https")) && mx_text_peek(scan, length) == ':' &&
        mx_text_peek(scan, length + 1) == '/' && mx_text_peek(scan, length + 2) == '/') {
        scan->at += length + 3;
        return true;
    }
    if (!strcmp(word->letters, "Ph") && mx_text_peek(scan, 2) == '.' && mx_text_peek(scan, 3) == 'D' &&
        !mx_text_is_letter(mx_text_peek(scan, 4))) {
        const size_t stop = mx_text_peek(scan, 4) == '.';
        mx_english_spell(scan, "phd");
        scan->at += 4 + stop;
        remember(english, "phd", true);
        if (stop) stop_if_sentence_ends(english);
        return true;
    }
    if (!strcmp(word->letters, "PhD") || !strcmp(word->lower, "www")) {
        const bool capital = mx_text_is_upper(mx_text_peek(scan, 0));
        mx_english_spell(scan, word->letters);
        scan->at += length;
        remember(english, word->lower, capital);
        return true;
    }
    return false;
}

/* CDs */
static bool try_acronyms(struct mx_english *english, const struct word *word)
{
    const size_t last = word->length - 1;
    if (word->length <= 2 || word->capitals != last || word->letters[last] != 's') return false;
    struct word one = *word;
    one.letters[last] = one.lower[last] = 0;
    if (!try_acronym(english, one.letters, one.lower, last)) return false;
    english->scan->sink->blank = false;
    mx_text_sink_put(english->scan->sink, "'s");
    english->scan->at++;
    return true;
}

/* II, and the letter A */
static bool try_alone(struct mx_english *english, const struct word *word)
{
    struct mx_text_scan *const scan = english->scan;
    if (mx_english_is_numeral(english, word->lower, word->length, word->capitals)) {
        char upper[MX_ENGLISH_WORD];
        for (size_t i = 0; i <= word->length; i++)
            upper[i] = (char)(word->lower[i] == 0 ? 0 : word->lower[i] - 'a' + 'A');
        const unsigned value = roman_value(upper);
        if (value == 0) return false;
        mx_english_cardinal(scan->sink, value);
        mx_english_number_done(english, word->length);
        return true;
    }
    if (word->length != 1 || word->lower[0] != 'a' || !mx_english_is_letter_a(english)) return false;
    mx_english_spell(scan, word->letters);
    scan->at += 1;
    remember(english, word->lower, word->capitals > 0);
    return true;
}

void mx_english_read_word(struct mx_english *english)
{
    struct mx_text_scan *scan = english->scan;
    const struct word word = word_peek(scan);
    const bool capital = mx_text_is_upper(mx_text_peek(scan, 0));
    if (word.ascii) {
        const uint32_t before = mx_text_before(scan);
        const bool word_start = !mx_text_is_digit(before) && before != '\'' && before != '-' && before != '.';
        if (try_special(english, &word)) return;
        if (word.length == 1 && word_start && mx_text_peek(scan, 1) == '.' && try_dotted(english)) return;
        if (word_start && (mx_english_try_month(english) || try_abbreviation(english, word.lower, word.length))) return;
        if (word.capitals == word.length && try_roman(english, word.letters, word.length)) return;
        if (word.capitals == word.length && try_acronym(english, word.letters, word.lower, word.length)) return;
        if (try_acronyms(english, &word)) return;
        if (scan->cleaner >= 2 && try_alone(english, &word)) return;
    }
    if (scan->cleaner >= 4 && word.ascii &&
        (!strcmp(word.lower, "ay") || !strcmp(word.letters, "AM"))) { /* written so by forms */
        mx_english_spell(scan, word.lower[1] == 'm' ? "am" : "a");
        scan->at += word.length;
        remember(english, word.lower, capital);
        return;
    }
    const bool article = word.length == 1 && word.ascii && word.lower[0] == 'a';
    for (size_t i = 0; i < word.length; i++) {
        const uint32_t point = mx_text_peek(scan, i);
        mx_text_sink_point(scan->sink,
                           scan->small_only || article ? (uint32_t)utf8proc_tolower((utf8proc_int32_t)point) : point);
    }
    scan->at += word.length;
    remember(english, word.lower, capital);
}

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Private to src/text/: the parts that the cleaners of all languages share.
 *
 * A cleaner reads prepared code points (NFC, no controls, one plain space for any run of blanks, variants of signs and
 * digits folded to one form) and writes to a sink that handles spaces and punctuation.
 *
 * Memory: points and sink own their arrays until they are released; {0} is empty and valid. After a failed allocation
 * they ignore all further input, so a writer checks `failure` once, at the end.
 */
#ifndef MX_TEXT_INTERNAL_H
#define MX_TEXT_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "text/text.h"

#define MX_ZWNJ    0x200Cu
#define MX_ZWJ     0x200Du
#define MX_EN_DASH 0x2013u
#define MX_EM_DASH 0x2014u

#define MX_ARABIC_ZERO  0x660u /* nine more digits follow each */
#define MX_PERSIAN_ZERO 0x6f0u

/* ---- code points ---- */
struct mx_text_points {
    uint32_t *data;
    size_t count, capacity;
    int failure; /* 0 or MX_ERR_NO_MEMORY */
};

void mx_text_points_push(struct mx_text_points *points, uint32_t point);
void mx_text_points_release(struct mx_text_points *points);

static inline bool mx_text_is_digit(uint32_t point)
{
    return point >= '0' && point <= '9';
}

bool mx_text_is_letter(uint32_t point); /* of any script, or a word of a lexicon */
bool mx_text_is_mark(uint32_t point);   /* a combining mark */
bool mx_text_is_upper(uint32_t point);
bool mx_text_is_arabic(uint32_t point);     /* a letter of the Arabic script */
bool mx_text_is_vowel_sign(uint32_t point); /* Arabic short vowel, tanwin, shadda, sukun or small alef */

/* ---- output ---- */
/* A blank or a punctuation mark is held back until the next word decides whether it is kept: of several marks the
 * strongest is kept, none is kept before the first word, and no dash is kept at the end. */
struct mx_text_sink {
    char *data; /* not zero-terminated */
    size_t length, capacity;
    char mark;   /* held back: one of , . ! ? ; : - or 0 */
    bool blank;  /* held back: a space */
    int failure; /* 0 or MX_ERR_NO_MEMORY */
};

void mx_text_sink_point(struct mx_text_sink *sink, uint32_t point);  /* a part of a word */
void mx_text_sink_put(struct mx_text_sink *sink, const char *utf8);  /* parts of words; ' ' separates words */
void mx_text_sink_word(struct mx_text_sink *sink, const char *utf8); /* words, separated from their neighbours */
void mx_text_sink_blank(struct mx_text_sink *sink);
void mx_text_sink_mark(struct mx_text_sink *sink, char mark);
void mx_text_sink_finish(struct mx_text_sink *sink); /* writes a mark that is still held back */
/* The text written so far, zero-terminated, valid until the next call; NULL after a failure. */
const char *mx_text_sink_text(struct mx_text_sink *sink);
void mx_text_sink_release(struct mx_text_sink *sink);

/* ---- input ---- */
struct mx_text_scan {
    const struct mx_language *language;
    int cleaner;     /* version of the rules to read by */
    bool small_only; /* capitals become small letters: before version 3, and where they mean nothing */
    const uint32_t *points;
    size_t count, at;
    struct mx_text_sink *sink;
    struct mx_text_report *report;
};

/* The point `ahead` places further on (0: the next one to read); 0 beyond the end. */
static inline uint32_t mx_text_peek(const struct mx_text_scan *scan, size_t ahead)
{
    return ahead < scan->count - scan->at ? scan->points[scan->at + ahead] : 0;
}

/* Whether the whole text is in capitals, which then mean nothing: "NASA" alone is an acronym, "PLEASE READ THIS" is a
 * sentence. */
bool mx_text_shouts(const struct mx_text_scan *scan);

/* The point before the next one; 0 at the beginning. */
static inline uint32_t mx_text_before(const struct mx_text_scan *scan)
{
    return scan->at > 0 ? scan->points[scan->at - 1] : 0;
}

/* Reads a blank, a punctuation mark or a parenthesis (which becomes a comma) at the current place, as most cleaners do.
 * False: there is none, and nothing was read. */
bool mx_text_read_mark(struct mx_text_scan *scan);

/* Whether the letters `ahead` places further on are `word` (lower-case ASCII, any case in the text) and no letter
 * follows. */
bool mx_text_word_is(const struct mx_text_scan *scan, size_t ahead, const char *word);

/* A number as it is written: digits, "," between groups of three, a fraction after ".". */
#define MX_NUMERAL_DIGITS 16
struct mx_text_numeral {
    char whole[MX_NUMERAL_DIGITS + 1];    /* no group signs; "" for ".5" */
    char fraction[MX_NUMERAL_DIGITS + 1]; /* "" without a fraction */
    size_t length;                        /* code points; 0: no number, or one with too many digits */
    bool grouped;                         /* had group signs */
};

/* Reads the number `ahead` places further on. "." and "," belong to it only where the right number of digits follows.
 */
void mx_text_numeral_read(const struct mx_text_scan *scan, size_t ahead, struct mx_text_numeral *out);
/* The run of digits `ahead` places further on: returns its length and sets the value if it has `least` to `most` (≤ 9)
 * digits; else 0. */
size_t mx_text_numeral_small(const struct mx_text_scan *scan, size_t ahead, size_t least, size_t most, unsigned *value);
uint64_t mx_text_numeral_value(const char *digits); /* at most 18 digits */
/* Reads a number that has too many digits digit by digit; it may begin with ".". Returns its number of code points. */
size_t mx_text_numeral_spell(const struct mx_text_scan *scan, const char *point,
                             void (*digits_verbalise)(struct mx_text_sink *sink, const char *digits));

/* ---- number words ---- */
/* Room for the longest number of any language; anything longer is left out. */
struct mx_text_words {
    char text[512];
    size_t length;
};

void mx_text_words_add(struct mx_text_words *words, const char *separator, const char *word); /* first: no separator */
bool mx_text_words_end_in(const struct mx_text_words *words, const char *ending);

/* ---- lexicons (lexicon.c) ---- */
struct mx_lexicon;
/* The prepared text with the words of the lexicon replaced (lexicon.h). */
void mx_lexicon_apply(const struct mx_lexicon *lexicon, enum mx_language_id language, const struct mx_text_points *in,
                      struct mx_text_points *out);
/* Text as the cleaner of the language reads it (text.c). */
int mx_text_prepare(enum mx_language_id language, const char *text, size_t length, struct mx_text_points *out,
                    struct mx_text_report *report);

/* ---- scripts (language.c) ---- */
/* The meaning of the script's own punctuation: one of , . ! ? ; : or 0. */
char mx_script_mark(const struct mx_script *script, uint32_t point);

/* ---- phonemes (tokens*.c) ----
 *
 * What a language does between its text and libespeak-ng. A clause is normalised text without punctuation: words with
 * single spaces, fewer than MX_CLAUSE_BYTES bytes. A speller writes the phonemes of a clause to a sink and calls `ask`
 * for the phonemes of pieces of text as often as it needs. `ask` writes IPA letters and marks, with words separated by
 * blanks. `cleaner` is the version of the rules to spell by. */
#define MX_CLAUSE_BYTES 512 /* longer stretches without punctuation are cut between words */
#define MX_WORD_BYTES   120 /* longer words are cut */

/* ---- the rules of a language ---- */
/* How a single character is called when a text is spelled (say_as.h), where the cleaner does not know. */
struct mx_text_name {
    uint32_t point;   /* small, if it is a letter */
    const char *name; /* NULL ends a list */
};

struct mx_language_rules {
    bool own;     /* made for one language, which a list of languages names in full */
    bool tones;   /* digits among its phonemes are tones */
    bool dotless; /* the small form of I is ı */
    /* (optional) Work to do before `clean` reads: letter forms, half-spaces. Default: nothing. */
    void (*letters)(const struct mx_text_points *in, struct mx_text_points *out, struct mx_text_report *report);
    void (*clean)(struct mx_text_scan *scan);
    void (*spell)(int cleaner, const char *clause, void (*ask)(const char *text, struct mx_text_sink *out),
                  struct mx_text_sink *out);
    /* (optional) A normalised text with code points for words whose sounds are chosen by the sentence; `spell` knows them.
     * Called only where espeak-ng takes phonemes. Default: nothing is marked. */
    int (*mark)(int cleaner, const char *text, struct mx_arena *arena, char **out);
    /* (optional) Joiners of the parts of a word: the code point to write for this joiner, 0 for any other code point.
     * Default: the joiners of the script. */
    uint32_t (*joiner)(uint32_t point);
    /* (optional) Which code points the cleaner leaves in the text in addition to letters of the script and punctuation; they
     * are not folded to another form. Default: none. */
    bool (*writes)(const struct mx_script *script, uint32_t point);
    /* (optional) For text that is read in a given way (say_as.h): names of characters; what makes an ordinal when it is
     * written after digits (others after 1, 2 and 3: "th|st|nd|rd"); the century that a year of two digits from 50 on belongs to. */
    const struct mx_text_name *names;
    const char *ordinal;
    unsigned century;
    const struct mx_forms *forms; /* (optional) its written forms (forms.h). Default: the cleaner reads them */
};

extern const struct mx_language_rules mx_rules_english, mx_rules_persian;               /* english.c, persian.c */
extern const struct mx_language_rules mx_rules_plain, mx_rules_tonal, mx_rules_dotless; /* plain.c */
extern const struct mx_language_rules mx_rules_german, mx_rules_spanish, mx_rules_french, mx_rules_italian,
    mx_rules_russian;

#endif

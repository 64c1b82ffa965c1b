/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Private to src/text/persian: what kind of word a Persian word is, for rules that need to know (persian_ezafe.c,
 * persian_homographs.c). The lists are our own: common words of everyday language and news, not a dictionary. A word that
 * is in none of them counts as a noun.
 */
#ifndef MX_TEXT_PERSIAN_WORDS_H
#define MX_TEXT_PERSIAN_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum mx_persian_kind {
    MX_PERSIAN_STOP = 1u << 0,      /* prepositions, conjunctions, particles, adverbs: no ezafe, and none before them */
    MX_PERSIAN_PRONOUN = 1u << 1,   /* من */
    MX_PERSIAN_POINTER = 1u << 2,   /* این, هر: before a noun */
    MX_PERSIAN_NUMBER = 1u << 3,    /* cardinals */
    MX_PERSIAN_LINK = 1u << 4,      /* زیر, صاحب: words that always have an ezafe before a noun */
    MX_PERSIAN_PREDICATE = 1u << 5, /* منتظر: a LINK that begins what is said about the subject */
    MX_PERSIAN_ADJECTIVE = 1u << 6,
    MX_PERSIAN_VERB = 1u << 7,        /* finite, wherever it stands */
    MX_PERSIAN_PAST = 1u << 8,        /* خرید: a verb at the end of a clause, a noun elsewhere */
    MX_PERSIAN_PART = 1u << 9,        /* شکسته: a participle */
    MX_PERSIAN_ACTION = 1u << 10,     /* کار, تصمیم: makes a verb together with کردن, گرفتن … */
    MX_PERSIAN_PERSON = 1u << 11,     /* who does something */
    MX_PERSIAN_NAME = 1u << 12,       /* of a person */
    MX_PERSIAN_MEASURE = 1u << 13,    /* لیوان, روز: counted */
    MX_PERSIAN_TIME = 1u << 14,       /* روز, شب */
    MX_PERSIAN_COUNTED = 1u << 15,    /* سال, صفحه: before its number */
    MX_PERSIAN_LAST_YE = 1u << 16,    /* ends in a ye of its own: زندگی, ملی */
    MX_PERSIAN_BODY = 1u << 17,       /* groups that people belong to: شرکت, کشور */
    MX_PERSIAN_COPULA = 1u << 18,     /* است, شد: a VERB */
    MX_PERSIAN_OWNED = 1u << 19,      /* کتابم: with a possessive ending */
    MX_PERSIAN_INDEFINITE = 1u << 20, /* کتابی, خانه‌ای */
    MX_PERSIAN_WRITTEN = 1u << 21,    /* the ezafe is written, or there can be none: های, خدا */
    MX_PERSIAN_ORDINAL = 1u << 22,
    MX_PERSIAN_PLACE = 1u << 23, /* کنار, وسط: a LINK that begins a phrase of its own */
    MX_PERSIAN_NOUN = 1u << 24,  /* looks like a verb and is none */
};

/* The kinds of a word without vowel signs. */
uint32_t mx_persian_kinds(const char *word, size_t length);
/* Whether `word` is one of the words in `list`, which begins and ends with a blank and has one between words. */
bool mx_persian_listed(const char *list, const char *word, size_t length);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Splits long text into pieces that a network can speak in one breath.
 *
 * The text is normalised (text/text.h): abbreviations and numbers are words, so a full stop, an exclamation mark or a
 * question mark before a blank ends a sentence, in every language. A sentence within the limit is one piece; a longer
 * one is cut after the last ; : or dash that the limit allows, otherwise after a comma, otherwise between words, but
 * never so that less than a quarter of the limit remains, if there is a better place. A single word beyond the limit is
 * cut between characters. Lengths are in characters (Unicode code points).
 *
 * After each piece there is a pause whose length depends on the last mark of the piece; there is none at the end.
 *
 * Memory: pieces and their text lie in the caller's arena.
 */
#ifndef MX_SPEECH_SPLIT_H
#define MX_SPEECH_SPLIT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/alloc.h"

#define MX_SPLIT_CHARACTERS 200 /* about 12 seconds */
#define MX_SPLIT_LEAST      16  /* the smallest limit */

struct mx_split_piece {
    const char *text; /* zero-terminated, without blanks at its ends */
    size_t characters;
    char mark;       /* the last one: one of . ! ? ; : - , or 0 */
    double pause_ms; /* silence after the piece, at normal speed */
};

/* . ! ? 350, ; : 250, - 200, comma 130, between words 40; 0 for any other. */
double mx_split_pause_ms(char mark);
#define MX_SPLIT_PARAGRAPH_MS 600.0 /* between paragraphs, which are normalised one by one */
#define MX_SPLIT_ELLIPSIS_MS  500.0 /* after an ellipsis, which is a full stop in normalised text */

/* Cuts `text`, which is valid UTF-8. *pieces is an array of *count, 0 for a text without any word. A dash at the end of
 * a piece is omitted: it would be a mark between words. MX_ERR_ARGUMENT for a limit below MX_SPLIT_LEAST. */
int mx_split_text(const char *text, size_t limit_characters, struct mx_arena *arena, struct mx_split_piece **pieces,
                  size_t *count);

/* Finds the next paragraph of raw text: the text between empty or blank lines. Returns false at the end; otherwise
 * *begin and *paragraph_length give its place. *at is where to continue, 0 at first. */
bool mx_split_paragraph(const char *text, size_t length, size_t *at, size_t *begin, size_t *paragraph_length);

/* Finds the next ellipsis in raw text between words: … or three and more dots, perhaps with blanks
 * between them, but not before ! or ? ("What …?"). Returns the place after it; `length`: there is none. */
size_t mx_split_ellipsis(const char *text, size_t length);
/* The place after the last byte that may be part of a word, after which no ellipsis is found. A caller that looks for one
 * ellipsis after the other ends the text here, so that a long rest without words is not read each time. */
size_t mx_split_words_end(const char *text, size_t length);

#endif

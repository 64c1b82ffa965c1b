/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Long text in pieces that a network can speak in one breath.
 *
 * Text is normalised (text/text.h): abbreviations and numbers are words, so a full stop, an exclamation or a question
 * mark before a blank ends a sentence, in every language. A sentence is one piece, if it is not longer than the limit;
 * otherwise it is cut behind the last ; : or dash that the limit allows, or else behind a comma, or else between words,
 * but never so that less than a quarter of the limit stays, if there is any better place. A single word beyond the
 * limit is cut between characters. Length is counted in characters (Unicode code points).
 *
 * After each piece there is a pause, as long as its last mark says; at the end there is none.
 *
 * Memory: pieces and their text are of the caller's arena.
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
    char mark;       /* its last one: one of . ! ? ; : - , or 0 */
    double pause_ms; /* silence that follows it, at the usual speed */
};

/* . ! ? 350, ; : 250, - 200, comma 130, between words 40; 0 for any other. */
double mx_split_pause_ms(char mark);
#define MX_SPLIT_PARAGRAPH_MS 600.0 /* between paragraphs, which are normalised one by one */

/* Cuts `text`, which is valid UTF-8. *pieces is an array of *count, 0 for a text without
 * any word. A dash at the end of a piece is left out: it would be a mark between words. MX_ERR_ARGUMENT for a limit
 * below MX_SPLIT_LEAST. */
int mx_split_text(const char *text, size_t limit_characters, struct mx_arena *arena, struct mx_split_piece **pieces,
                  size_t *count);

/* The next paragraph of raw text: what lies between lines that are empty or blank. Returns false at the end; otherwise
 * *begin and *paragraph_length tell where it is. *at is where to go on, 0 at first. */
bool mx_split_paragraph(const char *text, size_t length, size_t *at, size_t *begin, size_t *paragraph_length);

#endif

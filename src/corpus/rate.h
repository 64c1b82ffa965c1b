/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How fast people speak: does a text belong to its recording?
 *
 * What is counted is what is spoken: phonemes, or letters of the normalised text where symbols are characters; no
 * blanks, no punctuation, no marks of stress or length. How many a second are believable a corpus tells itself: the
 * middle of all its rows, as far up and down as most of them differ. Median and median deviation are taken of
 * logarithms, so neither a tenth of swapped texts nor a reader who is slow moves them much. With few rows nothing can
 * be learned, and a range that every reader stays in holds.
 *
 * Lengths to learn from are those that headers promise, so that no recording need be decoded for it; `check`, `prepare`
 * and `train` learn from the same rows and come to the same range.
 *
 * Memory: nothing is taken here.
 */
#ifndef MX_CORPUS_RATE_H
#define MX_CORPUS_RATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MX_RATE_VERSION 1
/* Rows from which on something is learned, and sounds from which on a row tells a rate: a few words are said as fast or
 * slowly as one likes. */
#define MX_RATE_ROWS   20
#define MX_RATE_SOUNDS 8
/* A pause that nobody wonders at, beside what is said: a recording of one letter is short, but not as short as that. */
#define MX_RATE_PAUSE_SECONDS 0.75

struct mx_rate {
    double least, most; /* sounds a second */
};

#define MX_RATE_DEFAULT                                                                                                \
    {                                                                                                                  \
        2.0, 30.0                                                                                                      \
    }

/* Symbols that are spoken. */
size_t mx_rate_sounds(const uint32_t *symbols, size_t count);
/* The range of a corpus from the sounds a second of its rows, which are sorted here; those that are not above 0 do not
 * count. A pure function of their set. Bounds are rounded outwards to powers of 1.1: one row more hardly ever changes
 * them. */
struct mx_rate mx_rate_learn(double *rates, size_t count);
/* Can so many sounds be said in this time? */
bool mx_rate_fits(const struct mx_rate *rate, size_t sounds, double seconds);

#endif

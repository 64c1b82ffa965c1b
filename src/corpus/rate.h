/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Speaking rates, which show whether a text belongs to its recording.
 *
 * Spoken sounds are counted: phonemes, or letters of the normalised text if symbols are characters; no blanks, no
 * punctuation, no marks of stress or length. The plausible range of sounds per second is learned from the corpus
 * itself: the median of all its rows, plus and minus a multiple of their median deviation, within fixed limits. Median
 * and median deviation are taken of logarithms, so neither swapped texts in a tenth of the rows nor a slow reader moves
 * them much. Too few rows teach nothing; then a fixed range applies that every reader stays within.
 *
 * The lengths used are those given by the headers, so that no recording needs to be decoded for this; `check`,
 * `prepare` and `train` learn from the same rows and arrive at the same range.
 *
 * Memory: nothing is allocated here.
 */
#ifndef MX_CORPUS_RATE_H
#define MX_CORPUS_RATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MX_RATE_VERSION 1
/* The least number of rows to learn from, and the least number of sounds for a row to count: a few words can be spoken
 * at any speed. */
#define MX_RATE_ROWS   20
#define MX_RATE_SOUNDS 8
/* A normal pause in addition to the spoken sounds: even a recording of one letter is longer than the letter itself.
 */
#define MX_RATE_PAUSE_SECONDS 0.75

struct mx_rate {
    double least, most; /* sounds a second */
};

#define MX_RATE_DEFAULT                                                                                                \
    {                                                                                                                  \
        2.0, 30.0                                                                                                      \
    }

/* Whether a symbol is a letter or a phoneme, not punctuation or a mark. */
bool mx_rate_is_sound(uint32_t code);
/* Symbols that are spoken. */
size_t mx_rate_sounds(const uint32_t *symbols, size_t count);
/* The range of a corpus from the sounds per second of its rows, which are sorted here; values that are not above 0 do
 * not count. A pure function of the set of values. Bounds are rounded outwards to powers of 1.1, so that one more row
 * hardly ever changes them. */
struct mx_rate mx_rate_learn(double *rates, size_t count);
/* Whether this many sounds can be spoken in this time. */
bool mx_rate_fits(const struct mx_rate *rate, size_t sounds, double seconds);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Checks of the words that the search (align/align.h) found. The search must place every word or pay for skipping it, so
 * sometimes a word that is not spoken is squeezed in, or sound without text is aligned with a few words.
 *
 * Words are squeezed if they have about one frame for each token and fit badly. Between the end of a sentence and a pause
 * such words are not where they seem to be: those of a sentence that continues after the pause belong there; a whole
 * sentence is missing. So is a sentence, wherever it is, that would be spoken in about half of the usual time.
 *
 * An island is words between two pauses. One whose words fit the sound far worse than those of other islands, and a short
 * one that would be spoken much faster than they are, is sound that the text does not have.
 *
 * Memory: everything is borrowed.
 */
#ifndef MX_CUT_DOUBT_H
#define MX_CUT_DOUBT_H

#include "align/align.h"
#include "cut/rows.h"

struct mx_cut_doubt {
    const struct mx_align_text *text;
    const struct mx_cut_timing *heard; /* of its words */
    const double *scores;              /* of its words, as mx_cut_fit_score gives them */
    int rate, hop;
};

/* Moves squeezed words in the path or makes them missing, and makes hasty sentences missing; returns how many words. Then
 * the pauses must be found again. */
int32_t mx_cut_doubt_squeezed(const struct mx_cut_doubt *doubt, struct mx_align_path *path);
/* Marks the words of doubtful islands as broken. */
int mx_cut_doubt_islands(const struct mx_cut_doubt *doubt, struct mx_cut_timing *heard);

#endif

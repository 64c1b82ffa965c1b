/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The pauses around words: the alignment says where a word is within a few frames, the level of the sound says where the
 * quiet begins.
 *
 * A window of 10 ms is quiet if its level is at most 6 dB above the noise of the recordings, or 40 dB below their speech;
 * and never if it is within 20 dB of the speech. The pause between two neighbouring words is the longest quiet run
 * between their middles; where other sound keeps them apart, each has the nearest run on its own side. Other sound does that
 * if it is long, or has a pause at both ends; otherwise it is a word or two that the speaker adds to a sentence.
 */
#ifndef MX_CUT_PAUSES_H
#define MX_CUT_PAUSES_H

#include "align/align.h"
#include "align/text.h"
#include "cut/rows.h"
#include "cut/sound.h"

/* Fills heard [words] from the path. */
void mx_cut_pauses_find(const struct mx_cut_sound *sound, const struct mx_align_text *text,
                        const struct mx_align_path *path, struct mx_cut_timing *heard);

#endif

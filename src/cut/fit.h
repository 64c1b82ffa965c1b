/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How well a voice explains the frames of a sound: the scores of align/align.h.
 *
 * The voice's encoder reads the text and gives each token a mean mel frame, for the speaker that is heard in the sound;
 * the means of words are moved towards the mean frame of its speech.
 * With m the normalised mel of a frame, a column (token) with mean u scores
 *
 *     m·u - ½|u|²              the logarithm of a Gaussian of deviation 1, without what is the same for all columns
 *
 * Silence scores the same with means of the quiet frames of the sound itself, and the tokens between two words count as
 * silence of that gap, with a penalty. Other sound scores as the best of 64 means that stand for all tokens of the text (speech in any
 * order) and of the silences, minus a penalty.
 *
 * The words are found twice. The frames of the words that fit best in the first search move the means of their tokens
 * (align/adapt.h), and the differences that remain give the metric of the second (align/metric.h), in which the products above are
 * taken. The second search stays near the words of the first. Its penalty for other sound is calibrated on the scores of
 * words that fit, and sound that is far from all codes (music, another voice) has none.
 *
 * Memory: a fit owns everything it makes; voice, text and sound are borrowed and must outlive it.
 */
#ifndef MX_CUT_FIT_H
#define MX_CUT_FIT_H

#include <stdatomic.h>

#include "align/align.h"
#include "align/text.h"
#include "cut/sound.h"
#include "speech/voice_internal.h"

struct mx_cut_fit;

int mx_cut_fit_create(struct mx_voice *voice, const struct mx_align_text *text, const struct mx_align_part *parts,
                      const struct mx_cut_sound *sound, const atomic_bool *stop, struct mx_cut_fit **out);
void mx_cut_fit_destroy(struct mx_cut_fit *fit);

/* Finds the words. */
int mx_cut_fit_align(struct mx_cut_fit *fit, struct mx_align_path *path);
/* After that: how well a word explains its frames, in nats a frame: 0 is as well as speech in any order,
 * negative is worse. */
double mx_cut_fit_score(const struct mx_cut_fit *fit, int32_t word);

#endif

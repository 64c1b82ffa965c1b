/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The mean mel frames of the tokens of a text, as a voice's encoder predicts them for a speaker, and products of them
 * with the frames of a sound, on the device of the voice. The metric (align/metric.h) is the plain distance until they are
 * adapted.
 *
 * Memory: owns a stream, a network and buffers of the device (budget owner "cut"); voice, text and sound are borrowed.
 */
#ifndef MX_CUT_MEANS_H
#define MX_CUT_MEANS_H

#include <stdatomic.h>

#include "align/text.h"
#include "cut/sound.h"
#include "speech/voice_internal.h"

struct mx_cut_means;

int mx_cut_means_create(struct mx_voice *voice, const struct mx_align_text *text, const struct mx_cut_sound *sound,
                        const atomic_bool *stop, struct mx_cut_means **out);
void mx_cut_means_destroy(struct mx_cut_means *means);

/* Copies up to `room` of the means of the tokens, evenly spread and whitened; returns how many. */
size_t mx_cut_means_sample(const struct mx_cut_means *means, float *rows, size_t room);
/* Rows [count, bands] as the metric sees them. */
int mx_cut_means_whiten(const struct mx_cut_means *means, float *rows, size_t count);
/* out [frames, end - begin]: mel·mean - ½|mean|² of the tokens [begin, end), by the metric. At most MX_ALIGN_BLOCK frames.
 * Waits. */
int mx_cut_means_score(struct mx_cut_means *means, const float *mel, int32_t frames, int32_t begin, int32_t end,
                       float *out);
/* The score of one frame and one token. */
float mx_cut_means_frame(const struct mx_cut_means *means, const float *mel, int32_t token);
/* out [frames]: ½|mel|², by the metric: less the score, it is half of the squared distance. */
int mx_cut_means_squares(const struct mx_cut_means *means, const float *mel, int32_t frames, float *out);
/* Scores for other means, which are whitened, and copied. */
int mx_cut_means_codes(struct mx_cut_means *means, const float *codes, int32_t count);
int mx_cut_means_score_codes(struct mx_cut_means *means, const float *mel, int32_t frames, float *out);

/* Moves the means towards the frames that they were found for, and learns the metric from what remains.
 * columns [frames of the sound]: the token of each frame; -1: none, or unreliable. Codes must be set again afterwards. */
int mx_cut_means_adapt(struct mx_cut_means *means, const struct mx_cut_sound *sound, const int32_t *columns);

#endif

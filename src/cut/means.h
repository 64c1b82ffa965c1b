/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The mean mel frames of the tokens of a text, as a voice's encoder predicts them for a speaker, and products of them
 * with the frames of a sound, on the device of the voice.
 *
 * Memory: owns a stream, a network and buffers of the device (budget owner "cut"); voice, text and sound are borrowed.
 */
#ifndef MX_CUT_MEANS_H
#define MX_CUT_MEANS_H

#include <stdatomic.h>

#include "cut/sound.h"
#include "cut/text.h"
#include "speech/voice_internal.h"

struct mx_cut_means;

int mx_cut_means_create(struct mx_voice *voice, const struct mx_cut_text *text, const struct mx_cut_sound *sound,
                        const atomic_bool *stop, struct mx_cut_means **out);
void mx_cut_means_destroy(struct mx_cut_means *means);

/* The mean [bands] of a token. */
const float *mx_cut_means_of(const struct mx_cut_means *means, int32_t token);
/* Copies up to `room` of them, evenly spread; returns how many. */
size_t mx_cut_means_sample(const struct mx_cut_means *means, float *rows, size_t room);
/* out [frames, end - begin]: mel·mean - ½|mean|² of the tokens [begin, end). At most MX_CUT_BLOCK frames. Waits. */
int mx_cut_means_score(struct mx_cut_means *means, const float *mel, int32_t frames, int32_t begin, int32_t end,
                       float *out);
/* The same for other means, which are copied. */
int mx_cut_means_codes(struct mx_cut_means *means, const float *codes, int32_t count);
int mx_cut_means_score_codes(struct mx_cut_means *means, const float *mel, int32_t frames, float *out);

#endif

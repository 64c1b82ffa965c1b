/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A voice's encoders, batched: speaker embeddings of recordings, and mean mel frames of the tokens of texts for a speaker.
 * Sequences are packed into as few passes as the memory allows; the result of one does not depend on the others.
 *
 * Memory: owns a network and a buffer of the device (budget owner "cut"); voice and stream are borrowed.
 */
#ifndef MX_ALIGN_ENCODER_H
#define MX_ALIGN_ENCODER_H

#include "speech/voice_internal.h"

#define MX_ALIGN_ENCODER_SEQUENCES 128  /* of one pass, at most */
#define MX_ALIGN_ENCODER_TOKENS    4096 /* tokens of one pass, unless a single sequence has more */
#define MX_ALIGN_ENCODER_FRAMES    4160 /* frames of one pass */

struct mx_align_encoder;

/* `longest`: tokens of the longest sequence that will be read. */
int mx_align_encoder_create(struct mx_voice *voice, struct mx_stream *stream, int32_t longest,
                            struct mx_align_encoder **out);
void mx_align_encoder_destroy(struct mx_align_encoder *encoder); /* NULL is fine */

/* A part of a sound: 1 to MX_VOICE_REFERENCE_FRAMES frames of its normalised mel. */
struct mx_align_clip {
    const float *mel; /* [frames, bands] */
    int32_t frames;
    float *vector; /* out: [width] */
};
/* Vectors are 0 for a voice that cannot listen. Waits. */
int mx_align_encoder_listen(struct mx_align_encoder *encoder, const struct mx_align_clip *hearings, int32_t count);

struct mx_align_sequence {
    const int32_t *tokens;
    int32_t count;
    int32_t language;    /* its number in the vocabulary */
    const float *vector; /* [width]: who speaks */
    float *means;        /* out: [count, bands] */
};
/* Reads as many sequences as fit into one pass; returns how many, at least one, or an error. Waits. */
int32_t mx_align_encoder_read(struct mx_align_encoder *encoder, const struct mx_align_sequence *sequences,
                              int32_t count);

#endif

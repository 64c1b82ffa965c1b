/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A speaker (myxtts/voice.h) on an engine that exists already, for a network that no voice file has: that of a training
 * run, whose samples are spoken in the same way as any other text.
 *
 * Memory: it borrows the engine and the vector; a script belongs to it from the call that gives it.
 */
#ifndef MX_SPEECH_SPEAKER_H
#define MX_SPEECH_SPEAKER_H

#include "myxtts/voice.h"
#include "speech/speak.h"

/* Its texts begin with mx_speaker_begin_script. */
int mx_speaker_create_on(struct mx_speak *speak, struct mx_speaker **out);
/* Begins a plain text with the voice [width]; NULL: no particular one. */
void mx_speaker_begin_script(struct mx_speaker *speaker, struct mx_speak_script *script, const float *vector,
                             uint64_t seed);
/* All samples that are left, to be freed with mx_free; NULL if there are none. */
int mx_speaker_rest(struct mx_speaker *speaker, float **samples, size_t *count);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a voice hears in a sound: mel, normalised as its network knows it, and pitch.
 *
 * Memory: what was heard owns its arrays; mx_heard_release frees them.
 */
#ifndef MX_SPEECH_HEAR_H
#define MX_SPEECH_HEAR_H

#include "speech/speak.h"

struct mx_heard {
    float *mel;   /* [frames, bands] */
    float *pitch; /* [frames] in Hz, 0 where unvoiced; NULL if it was not asked for */
    int32_t frames;
};

/* `count` ≥ 1 samples at the recipe's rate. Waits. On failure nothing is heard, and nothing is to be released. */
int mx_hear(const struct mx_speak_voice *voice, const float *samples, size_t count, bool pitch, struct mx_heard *out);
void mx_heard_release(struct mx_heard *heard);

#endif

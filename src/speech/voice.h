/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * An opened voice: a checkpoint, its vocabulary, a device, and on that device the network with its averaged weights.
 *
 * Memory: a voice owns everything it opened; mx_voice_close releases it, even after a failure. {0} is closed.
 */
#ifndef MX_SPEECH_VOICE_H
#define MX_SPEECH_VOICE_H

#include "model/model.h"
#include "speech/place.h"
#include "text/vocabulary.h"

struct mx_voice {
    struct mx_place place;
    struct mx_checkpoint *checkpoint;
    struct mx_vocabulary *vocabulary;
    struct mx_model *model;
    struct mx_buffer *weights;
    struct mx_place_vocoder vocoder; /* if mx_voice_vocoder was called */
};

/* Opens checkpoint (run folder or file) and device (NULL: cpu:0; cpu_devices 0: one); refuses a checkpoint of another
 * recipe. */
int mx_voice_open(struct mx_voice *voice, const char *checkpoint, const char *device, int64_t cpu_devices);
/* Creates the network, for speaking within `room`, and loads the averaged weights, if the checkpoint has them. */
int mx_voice_load(struct mx_voice *voice, const struct mx_model_capacity *room);
/* Loads what makes sound from its mel; `name` as for mx_place_vocoder_open. */
int mx_voice_vocoder(struct mx_voice *voice, const char *name);
void mx_voice_close(struct mx_voice *voice);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The inside of an opened voice (myxtts/voice.h), for the rooms that do more with it than speak texts: a checkpoint, its
 * vocabulary, a device, and on that device the averaged weights. Engines (speech/speak.h) that speak with it share the
 * weights; each has a stream and activations of its own.
 *
 * Memory: a voice owns everything it opened. Engines borrow it and must be destroyed first. The vectors of its speakers
 * are made when they are first asked for and live as long as the voice.
 *
 * Threads: members are constant after mx_voice_open, except for those that `lock` guards.
 */
#ifndef MX_SPEECH_VOICE_INTERNAL_H
#define MX_SPEECH_VOICE_INTERNAL_H

#include <pthread.h>

#include "checkpoint/checkpoint.h"
#include "model/model.h"
#include "myxtts/voice.h"
#include "speech/runtime.h"
#include "speech/script.h"
#include "speech/speak.h"
#include "text/vocabulary.h"

/* What the network knows of a speaker. */
struct mx_voice_kept {
    bool known;    /* it was looked for */
    float *vector; /* [width]; NULL: the voice keeps no recording */
};

struct mx_voice {
    struct mx_runtime runtime;
    struct mx_checkpoint *checkpoint;
    struct mx_vocabulary *vocabulary;
    struct mx_parameters *table; /* of the acoustic network */
    struct mx_buffer *weights;   /* the averaged weights of the acoustic network, on the device */
    struct mx_runtime_vocoder vocoder;
    int rounds, projections; /* as in struct mx_speak_sound */
    char *name;
    const char **languages; /* codes, by their number in the vocabulary */
    /* Guards `kept`: an entry whose `known` is true never changes again, so its vector may be used without the lock. */
    pthread_mutex_t lock;
    bool locking;               /* the mutex exists */
    struct mx_voice_kept *kept; /* one for each speaker of the checkpoint, at least one */
};

/* Of the features of its networks; the sound has its rate. */
const struct mx_recipe *mx_voice_recipe(const struct mx_voice *voice);

#define MX_VOICE_REFERENCE_FRAMES 1040 /* that the network listens to at once: 12 seconds */

/* Copies a struct of a caller, which begins with its size_t size, over the defaults in `own`; given NULL: they stay.
 * MX_ERR_ARGUMENT for a size that cannot be, MX_ERR_UNSUPPORTED for unknown members that are not 0. */
int mx_voice_options_copy(void *own, size_t own_size, const void *given, const char *name);

/* The room of an engine that speaks up to `pieces` pieces at once. A single piece may have up to 1,200 tokens and 4,800
 * frames. What a call costs depends on what is spoken, not on the room. */
struct mx_model_capacity mx_voice_room(int32_t pieces);

/* A network for speaking with the voice's weights (mx_slice_at(voice->weights, 0)). */
int mx_voice_model_create(struct mx_voice *voice, struct mx_stream *stream, const struct mx_model_capacity *room,
                          struct mx_model **out);
/* An engine with a stream and a network of its own. */
int mx_voice_engine_create(struct mx_voice *voice, const struct mx_model_capacity *room,
                           const struct mx_speak_sound *sound, struct mx_speak **out);
/* One that makes the sound of the voice, in parts if the voice has a vocoder. */
int mx_voice_speak_create(struct mx_voice *voice, const struct mx_model_capacity *room, struct mx_speak **out);

/* Who speaks, and in which language: the one rule of the program, the libraries and the servers. A named speaker brings
 * the language that it spoke, for letters of its script; a language without a speaker brings the first who spoke it; where
 * neither is given, the letters of the text bring the language and so the speaker.
 * `how` has the vocabulary, and the language if one is given; how->preferred is set. *speaker is the name that is given, or
 * NULL; then it becomes a name of the state, or stays NULL for the first of all. With `text` NULL the letters say nothing. */
void mx_voice_suit(const struct mx_checkpoint_state *state, const char *text, size_t length, const char **speaker,
                   struct mx_speak_script_options *how);

/* The vector [width] of a speaker, for struct mx_speak_piece; it belongs to the voice. NULL is the first speaker; *vector
 * is NULL if the voice keeps no recording of that one. MX_ERR_NOT_FOUND for an unknown name, or a named speaker without
 * a recording. Any thread. The first call for a speaker takes a while: the network listens to the recording. */
int mx_voice_vector(struct mx_voice *voice, const char *speaker, const float **vector);
/* The same by number, which is 0 or less than mx_voice_speakers; *vector is NULL without a recording. */
int mx_voice_vector_of(struct mx_voice *voice, size_t number, const float **vector);

#endif

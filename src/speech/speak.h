/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The engine that speaks: pieces of tokens → network → sound (vocoder/sound.h), with a whole text on top of it.
 *
 * Pieces of any texts, with options of their own, share one pass of the network. What a piece sounds like depends on
 * nothing but the piece: not on its company, its place in the batch, or the parts in which its sound is made, bit for
 * bit.
 *
 *     int32_t count = 3;
 *     MX_TRY(mx_speak_pieces(speak, pieces, &count));
 *     for (int32_t i = 0; i < count; i++) {
 *         MX_TRY(mx_speak_sound_begin(speak, i));
 *         do {
 *             MX_TRY(mx_speak_sound_next(speak, 64, samples, room, &samples_count));
 *             ...
 *         } while (samples_count > 0);
 *     }
 *
 * Memory: an engine owns its device buffers (budget owners "speech" and "waveform") and borrows the voice, whose parts
 * must outlive it. Nothing is allocated by mx_speak_pieces and the sound functions. A result owns its samples. Threads:
 * one at a time, the one that uses the voice's stream.
 */
#ifndef MX_SPEECH_SPEAK_H
#define MX_SPEECH_SPEAK_H

#include "features/normaliser.h"
#include "features/recipe.h"
#include "model/model.h"
#include "myxtts/device.h"
#include "speech/script.h"
#include "text/vocabulary.h"
#include "vocoder/sound.h"

/* The voice; borrowed, and all from one checkpoint. */
struct mx_speak_voice {
    struct mx_device *device;
    struct mx_stream *stream;   /* of the device */
    struct mx_model *model;     /* on the device; its capacity limits what is spoken at once */
    bool owned;                 /* stream and model belong to the engine once it is created */
    struct mx_slice parameters; /* the weights to speak with */
    const struct mx_vocabulary *vocabulary;
    const struct mx_recipe *recipe; /* NULL: the default */
    struct mx_normaliser normaliser;
    int32_t reference_frames;   /* the longest reference; 0: an even share of the network's room for references */
    uint32_t reference_samples; /* memory for references up to this length is allocated at the start; longer ones (all
                                   of them if this is 0) allocate their own while they are made */
};

struct mx_speak;

/* How mel becomes sound (vocoder/sound.h). */
struct mx_speak_sound {
    const struct mx_vocoder_config *vocoder; /* NULL: Griffin–Lim; copied */
    struct mx_slice vocoder_parameters;      /* its weights, on the device of the voice */
    struct mx_slice vocoder_frozen;          /* the frozen ones; without a buffer, all are in vocoder_parameters */
    int rounds, projections;                 /* or MX_SOUND_USUAL */
    bool parts; /* with room to make a sound in parts; otherwise, and always with Griffin–Lim, one part is the whole */
};

#define MX_SPEAK_SOUND_DEFAULT ((struct mx_speak_sound){.rounds = MX_SOUND_USUAL, .projections = MX_SOUND_USUAL})

/* The memory of a speaker, before any is allocated: mx_speak_create allocates exactly that. */
struct mx_speak_memory_plan {
    uint64_t waveform, speech;           /* bytes on the device, by owner */
    uint64_t waveform_host, speech_host; /* on the host */
};
/* For a network of this configuration and capacity; of `sound` the weights may be missing. */
int mx_speak_memory_plan(const struct mx_model_config *config, const struct mx_model_capacity *capacity,
                         const struct mx_recipe *recipe, const struct mx_speak_sound *sound, uint32_t reference_samples,
                         struct mx_speak_memory_plan *out);

/* MX_ERR_CONFIG if the parts of the voice do not fit together. */
int mx_speak_create(const struct mx_speak_voice *voice, const struct mx_speak_sound *sound, struct mx_speak **out);
void mx_speak_destroy(struct mx_speak *speak); /* NULL is fine */
const struct mx_speak_voice *mx_speak_voice(const struct mx_speak *speak);

/* The voice of a recording: samples at the recipe's rate (as corpus/audio/audio.h yields them) → normalised mel, of which the
 * middle is taken where there is more than the network has room for. *mel is the caller's, to be freed with mx_free. */
int mx_speak_reference(struct mx_speak *speak, const float *samples, size_t count, float **mel, int32_t *frames);

/* The vector [width] that the network makes of a reference [frames, bands], which is all that a reference says to it.
 * Waits. */
int mx_speak_vector(struct mx_speak *speak, const float *reference, int32_t frames, float *vector);

/* ---- pieces ---- */

/* What is added to what the network says with a vector, so that it is more like the person (likeness.h). */
struct mx_speak_likeness {
    double semitones;    /* higher */
    const float *colour; /* [bands], added to each frame of the normalised mel */
};

/* Everything that decides what a piece sounds like. Borrowed during the call. */
struct mx_speak_piece {
    const int32_t *tokens; /* with BOS and EOS */
    int32_t count;
    int32_t language; /* its number in the vocabulary */
    double speed;     /* within the limits of a script (script.h), like the pitch */
    double pitch_semitones;
    double volume;                            /* factor of the samples */
    double before_ms, pause_ms;               /* silence before and after it */
    const float *voice;                       /* [width] from mx_speak_vector; NULL: no particular voice */
    const struct mx_speak_likeness *likeness; /* NULL: as the network says it */
    uint64_t seed;                            /* of the noise that the phases begin with */
};

/* The piece of an item, whose tokens it borrows. */
struct mx_speak_piece mx_speak_piece_of(const struct mx_speak_item *item, const float *voice, uint64_t seed);
/* The options of a script that the engine can speak, otherwise the default. */
struct mx_speak_script_options mx_speak_script_options_of(const struct mx_speak *speak);

/* Runs the network for the first *count pieces, or for fewer if they do not fit together, at least one; *count becomes
 * the number of those. Their mel stays until the next call. MX_ERR_ARGUMENT for numbers out of range, or if the first
 * piece alone does not fit. */
int mx_speak_pieces(struct mx_speak *speak, const struct mx_speak_piece *pieces, int32_t *count);
/* Samples of a piece: of its sound, which is faded at both ends, and of the silence around it. */
struct mx_speak_length {
    int64_t before, sound, after;
};

#define MX_SPEAK_FADE_MS 5.0 /* no click where sound meets silence */

/* Of piece i of the last mx_speak_pieces: the frames of each of its tokens, and its samples. */
const int32_t *mx_speak_durations(const struct mx_speak *speak, int32_t piece);
struct mx_speak_length mx_speak_length(const struct mx_speak *speak, int32_t piece);
int64_t mx_speak_samples(const struct mx_speak *speak, int32_t piece); /* all of them */

/* Begins with the samples of piece i; another one that was begun ends. Any piece, any number of times. */
int mx_speak_sound_begin(struct mx_speak *speak, int32_t piece);
/* Writes the next samples of it to `to`, at most `room`: the silence before the sound; sound, of which at most `frames` ·
 * hop samples are made in one call, or without `parts` the whole; the silence after it. The samples joined are the same
 * whatever `frames` and `room` are. *count is 0 after the last. Waits. */
int mx_speak_sound_next(struct mx_speak *speak, int64_t frames, float *to, size_t room, size_t *count);

/* Speaks `count` pieces (64 at most) of `tokens` tokens (2 to 100) whose sound is discarded, so that the memory is touched
 * before somebody waits for a sound. */
int mx_speak_warm(struct mx_speak *speak, int32_t count, int32_t tokens);

#endif

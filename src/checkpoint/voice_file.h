/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Voice files: a voice as one file, NAME.voice.safetensors (base/safetensors.h), with what speaking needs and nothing
 * else. mx_checkpoint_open reads it, so whatever takes a checkpoint takes a voice file, too.
 *
 * Tensors, NAME as in the parameter table:
 *
 *     NAME           the weights to speak with (the running average, if the run has one). F32; in a voice of precision
 *                    bf16, BF16 if they have two or more dimensions: biases and scales of norms stay F32
 *                    Those that are only for listening to recordings (speaker.* but for speaker.to_*) may be missing,
 *                    all of them: the voice then has no other speakers than its own
 *     vocoder.NAME   the same of the vocoder; only where there is one
 *     vector.N       the voice of speaker N: the vector [width] that the network made of a recording, always F32. A
 *                    speaker without one has no particular voice
 *
 * Metadata, all text, written as in a checkpoint (checkpoint.h):
 *
 *     format              "myxtts-voice"
 *     version             "1"
 *     program             version of the program that wrote it
 *     voice.name, voice.licence, voice.attribution   of the voice; empty: not said
 *     step, seed          of the run
 *     config              the settings of the run, YAML, without the names of files and folders
 *     model.*, vocabulary, speakers, vocoder.*, normaliser.*, recipe, recipe_hash, cleaner_version, audio_version
 *     hash                as in a checkpoint: detects any damage
 *
 * Memory: everything is borrowed during the call.
 */
#ifndef MX_CHECKPOINT_VOICE_FILE_H
#define MX_CHECKPOINT_VOICE_FILE_H

#include "checkpoint/checkpoint.h"

#define MX_CHECKPOINT_VOICE_SUFFIX ".voice.safetensors"

struct mx_checkpoint_voice_network {
    const struct mx_parameters *table;
    const float *weights; /* flat, on the host */
};

struct mx_checkpoint_voice {
    const struct mx_checkpoint_state *state; /* with `voice` and its three texts */
    struct mx_checkpoint_voice_network acoustic;
    struct mx_checkpoint_voice_network vocoder; /* table NULL: there is none */
    const float *const *vectors;                /* [width] of each speaker; NULL: there is none */
    size_t vector_count;
    bool fixed;              /* leave out the weights that are only for listening to recordings */
    enum mx_dtype precision; /* MX_DTYPE_F32 or MX_DTYPE_BF16 */
};

/* Writes the file atomically (mx_file_write_atomic), replacing one of that name. MX_ERR_ARGUMENT for a voice that could
 * not be read back. */
int mx_checkpoint_voice_write(const char *path, const struct mx_checkpoint_voice *voice);

#endif

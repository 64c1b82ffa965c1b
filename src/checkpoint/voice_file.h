/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Voice files: a voice as one file, NAME.voice.safetensors (base/format/safetensors.h), with what speaking needs and nothing
 * else. mx_checkpoint_open reads it, so whatever takes a checkpoint takes a voice file, too. A vocoder alone is such a
 * file, too, NAME.safetensors, without the tensors and the metadata of an acoustic network.
 *
 * Tensors, NAME as in the parameter table:
 *
 *     NAME           the weights to speak with (the running average, if the run has one). F32; in a voice of precision
 *                    bf16, BF16 if they have two or more dimensions: biases and scales of norms stay F32
 *                    Those that are only for listening to recordings (speaker.* except speaker.to_*) may be missing,
 *                    all of them: the voice then has no other speakers than its own
 *     vocoder.NAME   the same of the vocoder; only where there is one
 *     vector.N       the voice of speaker N: the vector [width] that the network made of a recording, always F32. A
 *                    speaker without one has no particular voice
 *
 * An adapter is a voice file of version 2 without most of its tensors: it has those that its run has learned (adapters,
 * NAME.adapter_a and NAME.adapter_b; with new symbols or languages their tables) and the vectors. Everything else is that
 * of its base, the checkpoint or voice file whose hash is the text state.adapter.base (state.adapter.base_name is the
 * name that it had); see base.c for where it is looked for. It speaks with W + A·B in the place of W (model/adapter.h).
 *
 * Metadata, all text, written as in a checkpoint (checkpoint.h):
 *
 *     format              "myxtts-voice"
 *     version             "1", of an adapter "2"
 *     program             version of the program that wrote it
 *     voice.name, voice.licence, voice.attribution   of the voice; empty: not said
 *     step, seed          of the run
 *     config              the settings of the run, YAML, without the names of files and folders
 *     model.*, vocabulary, speakers, speaker_languages, vocoder.*, normaliser.*, recipe, recipe_hash, cleaner_version, audio_version
 *     hash                as in a checkpoint: detects any damage
 *
 * Memory: everything is borrowed during the call.
 */
#ifndef MX_CHECKPOINT_VOICE_FILE_H
#define MX_CHECKPOINT_VOICE_FILE_H

#include "checkpoint/checkpoint.h"

#define MX_CHECKPOINT_VOICE_SUFFIX ".voice.safetensors"
#define MX_CHECKPOINT_SUFFIX       ".safetensors" /* of a vocoder alone */

struct mx_checkpoint_voice_network {
    const struct mx_parameters *table;
    const float *weights; /* flat, on the host */
};

struct mx_checkpoint_voice {
    const struct mx_checkpoint_state *state;     /* with `voice` and its three texts */
    struct mx_checkpoint_voice_network acoustic; /* table NULL: the vocoder is alone, as the state records */
    struct mx_checkpoint_voice_network vocoder;  /* table NULL: there is none */
    const float *const *vectors;                 /* [width] of each speaker; NULL: there is none */
    size_t vector_count;
    const struct mx_checkpoint *adapter; /* write an adapter: only what this checkpoint of a run has learned; the
                                            networks are then not written. NULL: a whole voice */
    bool fixed;                          /* leave out the weights that are only for listening to recordings */
    enum mx_dtype precision;             /* MX_DTYPE_F32 or MX_DTYPE_BF16 */
};

/* Writes the file atomically (mx_file_write_atomic), replacing one of that name. MX_ERR_ARGUMENT for a voice that could
 * not be read back. */
int mx_checkpoint_voice_write(const char *path, const struct mx_checkpoint_voice *voice);

#endif

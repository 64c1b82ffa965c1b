/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * myxtts export: a voice file (checkpoint/voice_file.h) of an opened voice.
 *
 * Memory: everything is borrowed during the calls.
 */
#ifndef MX_CLI_EXPORT_VOICE_H
#define MX_CLI_EXPORT_VOICE_H

#include "checkpoint/voice_file.h"
#include "cli/options/options.h"
#include "text/vocabulary.h"

struct mx_command_voice {
    const struct mx_checkpoint *checkpoint;      /* has a state, with an acoustic network */
    const struct mx_vocabulary *vocabulary;      /* of the checkpoint, perhaps with another lexicon */
    const char *name, *licence, *attribution;    /* NULL: not given */
    enum mx_dtype precision;                     /* MX_DTYPE_F32 or MX_DTYPE_BF16 */
    struct mx_checkpoint_voice_network acoustic; /* of the checkpoint */
    struct mx_checkpoint_voice_network vocoder;  /* table NULL: none */
    const struct mx_vocoder_config *vocoder_config;
    const float *const *vectors; /* of the speakers, as in struct mx_checkpoint_voice */
    size_t vector_count;
    const struct mx_option_list *languages; /* SPEAKER=LANGUAGE, where the checkpoint does not say or says otherwise */
    bool adapter;                           /* only what the run has learned on top of its base */
    bool fixed; /* without the weights for listening to recordings; so it is if the checkpoint has none */
};

/* Does the path end like that of a voice file, with a name before it? */
bool mx_command_voice_named(const char *path);
/* The same of any file that a vocoder alone could be in. */
bool mx_command_vocoder_named(const char *path);
/* Writes the file, and reports it. MX_ERR_USAGE for a name, licence or attribution that is not a line of text, and for
 * languages of speakers that are not there. */
int mx_command_voice_write(const struct mx_command_voice *voice, const char *path);
/* The same for the vocoder alone: of the voice, only the checkpoint, the texts, the precision and the vocoder count. */
int mx_command_vocoder_write(const struct mx_command_voice *voice, const char *path);

#endif

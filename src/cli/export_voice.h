/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * myxtts export: a voice file (checkpoint/voice_file.h) of an opened voice.
 *
 * Memory: everything is borrowed during the calls.
 */
#ifndef MX_CLI_EXPORT_VOICE_H
#define MX_CLI_EXPORT_VOICE_H

#include "checkpoint/voice_file.h"

struct mx_command_voice {
    const struct mx_checkpoint *checkpoint;      /* has a state, with an acoustic network */
    const char *name, *licence, *attribution;    /* NULL: not given */
    enum mx_dtype precision;                     /* MX_DTYPE_F32 or MX_DTYPE_BF16 */
    struct mx_checkpoint_voice_network acoustic; /* of the checkpoint */
    struct mx_checkpoint_voice_network vocoder;  /* table NULL: none */
    const struct mx_vocoder_config *vocoder_config;
    const float *const *vectors; /* of the speakers, as in struct mx_checkpoint_voice */
    size_t vector_count;
    bool fixed; /* without the weights for listening to recordings; so it is if the checkpoint has none */
};

/* Does the path end like that of a voice file, with a name before it? */
bool mx_command_voice_named(const char *path);
/* Writes the file, and reports it. MX_ERR_USAGE for a name, licence or attribution that is not a line of text. */
int mx_command_voice_write(const struct mx_command_voice *voice, const char *path);

#endif

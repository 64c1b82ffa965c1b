/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What `myxtts synth --show-phonemes` prints: how a text is read, without speaking it.
 *
 * Memory: everything is borrowed during the call.
 */
#ifndef MX_CLI_SYNTH_PHONEMES_H
#define MX_CLI_SYNTH_PHONEMES_H

#include "myxtts/voice.h"

struct mx_synth_phonemes {
    const char *checkpoint; /* whose rules, lexicon and symbols hold; NULL: the newest rules, and every symbol */
    const char *lexicon;    /* file; NULL: none */
    const struct mx_speaking *how;
};

/* Prints each piece of the text: as it was written, as it is spoken, its phonemes, and the pause after it. MX_ERR_DATA
 * if nothing in it can be spoken. */
int mx_synth_phonemes_show(const struct mx_synth_phonemes *options, const char *text, size_t length);

#endif

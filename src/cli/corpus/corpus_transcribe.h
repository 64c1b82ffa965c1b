/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * myxtts corpus transcribe: recordings without texts become a corpus (transcribe/transcribe.h).
 */
#ifndef MX_CLI_CORPUS_TRANSCRIBE_H
#define MX_CLI_CORPUS_TRANSCRIBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transcribe/transcribe.h"

/* Options of `corpus transcribe`; NULL and 0: not given. */
struct mx_corpus_transcribe_values {
    const char *first, *second, *language, *voice;
    int64_t difference, limit, workers;
    bool speaker_folders;
};

/* Transcribes the only folder of `folders` and prints the counts. */
int mx_corpus_transcribe(const struct mx_corpus_transcribe_values *values, const char *const *folders, size_t count);

#endif

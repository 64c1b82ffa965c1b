/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * myxtts corpus cut: long recordings and their text become a corpus (cut/cut.h).
 */
#ifndef MX_CLI_CORPUS_CUT_H
#define MX_CLI_CORPUS_CUT_H

#include <stddef.h>
#include <stdint.h>

/* Options of `corpus cut`; NULL and 0: not given. */
struct mx_corpus_cut_values {
    const char *text, *output, *voice, *language, *device;
    int64_t cpu_devices;
};

/* Cuts the sounds and prints what became of them. */
int mx_corpus_cut(const struct mx_corpus_cut_values *values, const char *const *sounds, size_t count);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A speech recogniser: any program that prints the text of a sound file. The command is run by sh.
 *
 * With `{}` in it, it is run once per file: `{}` stands for the path, as one word, so it must not stand in quotes. All that
 * it prints is the text. Without `{}` it is started once and keeps running: it gets one path per line on its standard
 * input and prints one line for each, which may be empty.
 *
 * Memory: a recogniser owns its process; the text belongs to it until the next call. One thread uses a recogniser at a time.
 */
#ifndef MX_TRANSCRIBE_RECOGNISER_H
#define MX_TRANSCRIBE_RECOGNISER_H

#include <stdatomic.h>
#include <stdint.h>

struct mx_recogniser;

struct mx_recogniser_options {
    const char *command;     /* copied */
    uint64_t limit_ns;       /* for one file */
    const atomic_bool *stop; /* (optional) polled */
};

int mx_recogniser_create(const struct mx_recogniser_options *options, struct mx_recogniser **out);
void mx_recogniser_destroy(struct mx_recogniser *recogniser); /* NULL is fine */

/* *text: one line, without blanks at its ends; "" if nothing was recognised. MX_ERR_DATA if it is not UTF-8, MX_ERR_IO if
 * the program failed, MX_ERR_TIMEOUT. After a failure the next file may still work. */
int mx_recogniser_run(struct mx_recogniser *recogniser, const char *path, const char **text);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The folder of a demo corpus: who made it, who may work in it, and which of its recordings are whole. For demo.c.
 */
#ifndef MX_DEMO_FOLDER_H
#define MX_DEMO_FOLDER_H

#include <stdint.h>

#include "demo/demo.h"

/* Makes the folder, or recognises one of an earlier run with the same parameters and the same texts; anything else in
 * it is MX_ERR_DATA. Then it is locked, holds demo.json, README.txt and wavs/, and nothing half written. *lock is a
 * file descriptor to be closed by the caller when the work is done; -1 on failure. */
int mx_demo_folder_open(const struct mx_demo_options *options, uint64_t texts_hash, int *lock);

/* Is `path` a whole 16-bit mono WAV file with a sensible amount of sound in it? MX_ERR_FORMAT says what is wrong. */
int mx_demo_wav_check(const char *path, double *seconds, uint64_t *bytes);

/* MX_ERR_IO if the disk of the folder has fewer than `needed_bytes` left. */
int mx_demo_space_check(const char *folder, uint64_t needed_bytes);

#endif

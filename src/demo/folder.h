/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The folder of a demo corpus: what made it, which process may work in it, and which of its recordings are complete.
 * For demo.c.
 */
#ifndef MX_DEMO_FOLDER_H
#define MX_DEMO_FOLDER_H

#include <stdint.h>

#include "demo/demo.h"

/* Makes the folder, or recognises one from an earlier run with the same parameters and the same texts; a folder with
 * anything else in it is MX_ERR_DATA. Afterwards the folder is locked and holds demo.json, README.txt and wavs/, and no
 * partly written file. *lock is a file descriptor that the caller closes when the work is done; -1 on failure. */
int mx_demo_folder_open(const struct mx_demo_options *options, uint64_t texts_hash, int *lock);

/* Checks that `path` is a complete 16-bit mono WAV file with a plausible amount of sound; MX_ERR_FORMAT says what is
 * wrong. */
int mx_demo_wav_check(const char *path, double *seconds, uint64_t *bytes);

/* MX_ERR_IO if the disk of the folder has fewer than `needed_bytes` left. */
int mx_demo_space_check(const char *folder, uint64_t needed_bytes);

#endif

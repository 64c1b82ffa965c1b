/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Limits files that would otherwise grow for as long as a run trains: the newest stay, the oldest are deleted. Only
 * names that the program writes are touched. A failure to delete is a warning, not an error.
 *
 * Memory: allocated and released within the call.
 */
#ifndef MX_OBSERVE_KEEP_H
#define MX_OBSERVE_KEEP_H

#include <stdint.h>

/* Deletes the oldest event files (tfevents.h) until all of them together have at most `most_bytes`, but never
 * `current`, the name of the file being written. Returns the bytes that all but that one have then. */
uint64_t mx_keep_events(const char *folder, const char *current, uint64_t most_bytes);

/* Deletes sounds and pictures of the oldest folders step-N until `most` of them are left; that of step `best` always
 * stays (-1: none). */
void mx_keep_samples(const char *folder, int64_t most, int64_t best);

#endif

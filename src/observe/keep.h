/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a run keeps of files that would otherwise grow for as long as it trains: the newest stay, the oldest go. Only
 * names that the program writes are touched. What cannot be deleted is a warning, and no failure.
 *
 * Memory: taken and released in the call.
 */
#ifndef MX_OBSERVE_KEEP_H
#define MX_OBSERVE_KEEP_H

#include <stdint.h>

/* Deletes the oldest event files (tfevents.h) until all of them together have at most `most_bytes`, but never `current`,
 * the name of the one that is written to. What all but that one have then. */
uint64_t mx_keep_events(const char *folder, const char *current, uint64_t most_bytes);

/* Deletes sounds and pictures of the oldest folders step-N until `most` of them are left; that of step `best` is left
 * in any case (-1: none is). */
void mx_keep_samples(const char *folder, int64_t most, int64_t best);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Peers in Python: runs a script of scripts/bench/peers in the environment `venv` next to the program (made by
 * scripts/build/peers.sh) and reads the rate that it prints, or talks with it line by line. No environment, no module, no
 * number: the peer is named with the reason and left out.
 *
 * Memory: a talk belongs to the caller; peer_close ends the script and waits for it.
 */
#ifndef MX_BENCH_PEER_H
#define MX_BENCH_PEER_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "bench.h"

/* Fills job->best and job->median; false when the peer is left out. */
bool peer_run(const char *label, const char *script, const char *folder, int core, double seconds,
              struct bench_job *job);

/* A script that stays and answers. */
struct peer {
    const char *label;
    pid_t child;
    FILE *to, *from;
};

/* Starts the script with three arguments. The first line that it prints must be "READY …", of which the rest goes to
 * `about`; false when it is left out, and then nothing needs to be closed. */
bool peer_open(struct peer *peer, const char *label, const char *script, const char *const arguments[3], char *about,
               size_t about_bytes);
/* Sends a line (without its end) and reads the answer, which must begin with `word`: what follows that goes to
 * `answer`. False when it fails; the peer is closed then and named. */
bool peer_ask(struct peer *peer, const char *line, const char *word, char *answer, size_t answer_bytes);
bool peer_is_open(const struct peer *peer);
void peer_close(struct peer *peer); /* one that is not open is fine */

#endif

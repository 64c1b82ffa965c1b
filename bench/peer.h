/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Peers in Python: runs a script of bench/peers in the environment `venv` next to the program (made by
 * scripts/peers.sh) and reads the rate that it prints. No environment, no module, no number: the peer is named
 * with the reason and left out.
 */
#ifndef MX_BENCH_PEER_H
#define MX_BENCH_PEER_H

#include <stdbool.h>

#include "bench.h"

/* Fills job->best and job->median; false when the peer is left out. */
bool peer_run(const char *label, const char *script, const char *folder, int core, double seconds,
              struct bench_job *job);

#endif

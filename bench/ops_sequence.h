/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The rows of bench_ops for operations on sequences: what stands between tokens and frames, and what makes sound of
 * mels.
 */
#ifndef MX_BENCH_OPS_SEQUENCE_H
#define MX_BENCH_OPS_SEQUENCE_H

#include "ops_unit.h"

void ops_sequence_rows(struct bench *bench, struct unit *unit);

#endif

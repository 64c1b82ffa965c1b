/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The rows of bench_ops for the operations that only the vocoder needs.
 */
#ifndef MX_BENCH_OPS_VOCODER_H
#define MX_BENCH_OPS_VOCODER_H

#include "ops_unit.h"

void ops_vocoder_rows(struct bench *bench, struct unit *unit);

#endif

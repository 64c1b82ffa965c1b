/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How often speakers are drawn, see balance.h.
 */
#include "corpus/balance.h"

#include <math.h>

/* The part of an epoch that a speaker has, up to a factor that is the same for all. */
static double part_of(enum mx_balance balance, uint32_t rows)
{
    if (rows == 0) return 0;
    if (balance == MX_BALANCE_SPEAKER) return 1;
    return balance == MX_BALANCE_ROOT ? sqrt((double)rows) : (double)rows;
}

void mx_balance_times(enum mx_balance balance, const uint32_t *rows, uint32_t speakers, double *times)
{
    double all = 0, parts = 0;
    for (uint32_t s = 0; s < speakers; s++) {
        all += (double)rows[s];
        parts += part_of(balance, rows[s]);
    }
    for (uint32_t s = 0; s < speakers; s++)
        times[s] = rows[s] == 0 ? 0 : part_of(balance, rows[s]) / parts * all / (double)rows[s];
}

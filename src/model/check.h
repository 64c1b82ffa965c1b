/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The checks that the configurations and capacities of all networks share. Owns no memory.
 */
#ifndef MX_MODEL_CHECK_H
#define MX_MODEL_CHECK_H

#include <stdint.h>

/* 0, or `code` with a message that names what is out of range: "model: width is 0". */
int mx_range_check(int code, const char *of, const char *name, int64_t value, int64_t low, int64_t high);
/* 0, or MX_ERR_CONFIG if it cannot be the weight of a loss. */
int mx_weight_check(const char *of, const char *loss, float weight);

#endif

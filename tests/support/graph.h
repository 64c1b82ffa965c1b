/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Random graphs of work: fills, uploads, downloads and copies on several streams of several devices, ordered by
 * events only where they touch the same buffer, and compared with a model that does the same in sequence.
 */
#ifndef MX_TESTS_SUPPORT_GRAPH_H
#define MX_TESTS_SUPPORT_GRAPH_H

#include "myxtts/device.h"

#define GRAPH_DEVICES_MAX 8

/* Runs `commands` random commands (a pure function of seed) on open devices of one backend. MX_ERR_DATA tells the first
 * command or buffer whose contents are not those of the model. */
int graph_run(struct mx_device *const *devices, int device_count, uint64_t seed, int commands);

#endif

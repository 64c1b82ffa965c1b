/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The data device and the model device of a run: chosen by the settings (run/devices/mode.h), opened under their memory
 * limits, and announced.
 *
 * Memory: a pair owns its registry and both devices; mx_device_pair_close releases them, after everything that uses
 * them.
 */
#ifndef MX_RUN_DEVICE_PAIR_H
#define MX_RUN_DEVICE_PAIR_H

#include "device/topology.h"
#include "run/devices/mode.h"
#include "run/settings.h"

struct mx_device_pair {
    struct mx_registry *registry;
    struct mx_mode_choice choice;
    struct mx_device *data, *model; /* the same one where there is one */
    int sharers;                    /* processes that share the machine's memory; 0: this one alone */
};

/* Chooses and opens the devices that the settings ask for, each under its limit, and logs the choice; command lines in
 * hints begin with `command`. On failure there is nothing to close. */
int mx_device_pair_open(const struct mx_settings *settings, const char *command, struct mx_device_pair *out);
/* The same for process number `rank` of `count` on this machine that each use their own devices: without device names
 * each gets the next best one, and an equal part of the machine's memory. */
int mx_device_pair_open_shared(const struct mx_settings *settings, const char *command, int rank, int count,
                               struct mx_device_pair *out);
void mx_device_pair_close(struct mx_device_pair *pair); /* all zero is fine */

/* The highest possible limit of one device while the other one keeps its own. */
uint64_t mx_device_pair_room(const struct mx_device_pair *pair, const struct mx_device *device);

static inline bool mx_device_pair_multi(const struct mx_device_pair *pair)
{
    return pair->choice.mode == MX_MODE_MULTI;
}

/* Does mixed precision save no time on the device? Then `out` [size] explains it, and what would help. */
bool mx_device_pair_bf16_slow(const struct mx_device *device, char *out, size_t size);
#define MX_DEVICE_PAIR_BF16_BYTES 320 /* room for it */
#define MX_DEVICE_PAIR_BF16_HINT  "train without '--mixed-precision' where time counts more than memory"

/* How close the two devices are, in words: "Topology between GPU:0 and GPU:1: PIX (at most one PCIe bridge)". If
 * *remedy is not NULL, the path is slow, and *remedy says what would be better. */
#define MX_DEVICE_PAIR_TOPOLOGY_BYTES 128
int mx_device_pair_topology(const struct mx_device_pair *pair, enum mx_topology_link *link,
                            char out[MX_DEVICE_PAIR_TOPOLOGY_BYTES], const char **remedy);

/* Where work runs on a device of the pair: "/GPU:1", "device 1 (cores 2-3)". */
#define MX_DEVICE_PAIR_PLACE_BYTES 128
const char *mx_device_pair_place(const struct mx_device_pair *pair, const struct mx_device *device,
                                 char out[MX_DEVICE_PAIR_PLACE_BYTES]);

/* Logs how batches will flow: mode, devices, how close they are, the buffer of `buffer` batches, where the model will
 * be; warns of a slow path between the devices and of mixed precision that saves no time. */
void mx_device_pair_log(const struct mx_device_pair *pair, const struct mx_settings *settings, int32_t buffer);

#endif

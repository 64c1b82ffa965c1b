/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The fake backend: devices that are as unpleasant as a real one may be, for tests.
 *
 * Memory is not host-visible: mx_buffer_host is NULL. Fresh memory is all 0xFF (NaN as float), ends at a guard page,
 * and is made inaccessible when it is released. Each stream is a thread of its own that dawdles before each command;
 * streams overtake each other in an order drawn from the seed. Whoever uses a buffer after its release, in a
 * new command or one that was still queued, fails its stream with MX_ERR_DEVICE and a message that names the owner.
 * Operations run on the kernels of the CPU backend with one worker, so results equal those of "cpu:0".
 *
 * Use: { &mx_fake_backend, NULL } as the backends of mx_registry_open; the devices are "fake:0", "fake:1" …
 */
#ifndef MX_TESTS_SUPPORT_FAKE_BACKEND_H
#define MX_TESTS_SUPPORT_FAKE_BACKEND_H

#include <stdbool.h>
#include <stdint.h>

#include "device/backend.h"

struct mx_fake_options {
    uint64_t seed;         /* of delays and of the order of streams */
    uint32_t max_delay_us; /* each command is delayed by 0 … max_delay_us */
    bool reorder;          /* streams of a device overtake each other; otherwise what was submitted first runs first */
    int fail_buffer_at;    /* the n-th buffer created from now on fails with MX_ERR_NO_MEMORY; 0: none */
    int fail_copy_at;      /* the n-th copy that runs from now on fails its stream with MX_ERR_DEVICE; 0: none */
    int device_count;      /* 0: 2 */
    uint64_t memory_bytes; /* of each device; 0: 64 MiB */
};

extern const struct mx_backend mx_fake_backend;

/* Resets everything; NULL: the defaults. Number and memory of devices count for registries opened later. */
void mx_fake_configure(const struct mx_fake_options *options);

/* From the return of mx_fake_hold on no command starts, on any fake device. mx_fake_resume waits until all streams
 * that have work stand ready, then lets them go: what runs first is then a function of the seed alone. */
void mx_fake_hold(void);
void mx_fake_resume(void);

#endif

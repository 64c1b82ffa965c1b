/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The registry lists the backends and devices, and opens the chosen devices.
 *
 * One const table has all backends (mx_backends); tests pass their own. Devices are chosen before any backend is
 * initialised: the selection is parsed from the command line alone, then mx_registry_open initialises only the backends
 * that it names (all of them for listing). Chosen devices are renumbered in the order given: the first is GPU:0 (the
 * data device), the second GPU:1 (the model device), whatever their physical indices; or "device 0" and "device 1",
 * where messages should not mention GPUs. If a requested device is missing,
 * the error is MX_ERR_NO_DEVICE, and its hint lists the available devices. Nothing falls back.
 */
#ifndef MYXTTS_REGISTRY_H
#define MYXTTS_REGISTRY_H

#include "myxtts/device.h"
#include "myxtts/error.h"

struct mx_backend;
struct mx_registry;

/* X(identifier, name): MX_BACKEND_<identifier>. The backends that people can ask for, in the order in which one is chosen
 * by default. A build may lack some of them. */
#define MX_BACKEND_LIST(X)                                                                                             \
    X(CUDA, "cuda")                                                                                                    \
    X(OPENCL, "opencl")                                                                                                \
    X(CPU, "cpu")

enum mx_backend_order {
    MX_BACKEND_UNORDERED, /* never chosen unless it is asked for */
#define X(identifier, name) MX_BACKEND_##identifier,
    MX_BACKEND_LIST(X)
#undef X
        MX_BACKEND_ORDERS
};

/* The backends of this build, NULL-terminated. */
extern const struct mx_backend *const mx_backends[];
/* Only the CPU backend: no other devices are searched for, and no driver is loaded. */
extern const struct mx_backend *const mx_backends_cpu[];

#define MX_SELECTION_MAX 16

/* Options that determine the devices before they are opened. */
struct mx_registry_options {
    int cpu_devices;                       /* logical CPU devices; 0: one device with all cores */
    const char *devices[MX_SELECTION_MAX]; /* names such as "cpu:1", in logical order; none: list everything, open by
                                              name later */
    int device_count;
    bool plain_names; /* the logical names are "device 0", … instead of "GPU:0", … */
};

/* One backend's state for listings. */
struct mx_backend_status {
    const char *name; /* "cuda" */
    enum mx_backend_order order;
    bool gpus_only; /* of its devices only GPUs are chosen, unless the backend is asked for */
    bool is_cpu;    /* its devices are the cores of this machine: no GPUs, and split as one likes */
    bool compiled;  /* part of this build */
    bool available; /* initialised and has devices */
    int device_count;
    char left_out[512];             /* why devices that are there cannot be used; "" if none is left out */
    char reason[512];               /* why it is not available; "" if it is */
    char hint[MX_ERROR_HINT_BYTES]; /* how to make it available */
};

/* `backends` NULL: mx_backends. Splits, validates and counts devices; allocates no device memory. */
int mx_registry_open(const struct mx_backend *const *backends, const struct mx_registry_options *options,
                     struct mx_registry **out);
void mx_registry_close(struct mx_registry *registry); /* all devices must be closed; NULL is fine */

int mx_registry_backend_count(const struct mx_registry *registry);
void mx_registry_backend(const struct mx_registry *registry, int index, struct mx_backend_status *out);

/* The selected devices in logical order, or all devices if none was selected. */
int mx_registry_device_count(const struct mx_registry *registry);
const struct mx_device_info *mx_registry_device(const struct mx_registry *registry, int index);
/* "cpu:1" → index, or MX_ERR_NO_DEVICE with a hint. */
int mx_registry_find(const struct mx_registry *registry, const char *name);

/* Opens device number `index` under a hard memory limit (0: the device's total memory). */
int mx_registry_device_open(struct mx_registry *registry, int index, uint64_t limit_bytes, struct mx_device **out);

/* Whether a backend of this build has this name and its devices are the cores of this machine. */
bool mx_backend_is_cpu(const char *name);

/* Splits "cuda:2" into backend and index. MX_ERR_USAGE with a hint if it is malformed. */
int mx_device_name_parse(const char *text, char backend[16], int *index);

#endif

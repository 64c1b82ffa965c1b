/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The registry: which backends and devices there are, and opening the chosen ones.
 *
 * Backends stand in one const table (mx_backends); tests hand in their own. Devices are chosen before any backend is
 * initialised: a selection is parsed from the command line alone, then mx_registry_open initialises only the
 * backends it names (all of them for listing). Chosen devices are renumbered in the order given: the
 * first is GPU:0 (the data device), the second GPU:1 (the model device), whatever their physical indices.
 * An asked-for device that is missing is MX_ERR_NO_DEVICE, with the devices that are there in the hint. Nothing falls
 * back.
 */
#ifndef MYXTTS_REGISTRY_H
#define MYXTTS_REGISTRY_H

#include "myxtts/device.h"
#include "myxtts/error.h"

struct mx_backend;
struct mx_registry;

/* The backends that people can ask for, in the order in which one is chosen where nobody asks. X(identifier, name). A
 * build may lack some of them. */
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
/* Of them the CPU alone: nothing else is looked for, and no driver is loaded. */
extern const struct mx_backend *const mx_backends_cpu[];

#define MX_SELECTION_MAX 16

/* Options that shape devices before they exist. */
struct mx_registry_options {
    int cpu_devices;                       /* logical CPU devices; 0: one of all cores */
    int opencl_split;                      /* parts of each OpenCL device of CPU type; 0: as many as are wanted */
    int opencl_wanted;                     /* OpenCL devices that will be chosen, where the selection does not tell */
    const char *devices[MX_SELECTION_MAX]; /* names such as "cpu:1", in logical order; none: list everything, open by
                                              name later */
    int device_count;
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
    char reason[512];               /* why not available; "" if it is */
    char hint[MX_ERROR_HINT_BYTES]; /* what would make it available */
};

/* `backends` NULL: mx_backends. Splits, validates and counts devices; takes no device memory. */
int mx_registry_open(const struct mx_backend *const *backends, const struct mx_registry_options *options,
                     struct mx_registry **out);
void mx_registry_close(struct mx_registry *registry); /* all devices must be closed; NULL is fine */

int mx_registry_backend_count(const struct mx_registry *registry);
void mx_registry_backend(const struct mx_registry *registry, int index, struct mx_backend_status *out);

/* Devices: those selected, in logical order, or all when nothing was selected. */
int mx_registry_device_count(const struct mx_registry *registry);
const struct mx_device_info *mx_registry_device(const struct mx_registry *registry, int index);
int mx_registry_find(const struct mx_registry *registry,
                     const char *name); /* "cpu:1" → index, or MX_ERR_NO_DEVICE with hint */

/* Opens device number `index` under a hard memory limit (0: the device's total memory). */
int mx_registry_device_open(struct mx_registry *registry, int index, uint64_t limit_bytes, struct mx_device **out);

/* Whether a backend of this build has this name and its devices are the cores of this machine. */
bool mx_backend_is_cpu(const char *name);

/* Splits "cuda:2" into backend and index. MX_ERR_USAGE with a hint when malformed. */
int mx_device_name_parse(const char *text, char backend[16], int *index);

#endif

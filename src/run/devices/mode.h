/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Modes: turns the user's choice of devices into the devices that are opened.
 *
 *     data device and model device given      Multi-GPU Mode on the two
 *     nothing given, or one device for all    Single-GPU Buffered Mode: on that one, or on the best there is
 *
 * "The best there is": the first CUDA device, otherwise the first GPU of OpenCL, otherwise the first CPU device; or the
 * first device of the requested backend. Indices without a backend mean GPUs: those of CUDA, or of OpenCL if CUDA has
 * none. CPU devices take part in Multi-GPU Mode only if they are requested, by backend or by name.
 *
 * If the best device would be the CPU only because a GPU cannot be used, that is an error: the user decides.
 *
 * Everything else is an error that lists the available devices and a command line that would work. There is no fallback
 * unless it was allowed; then the choice says why there is one device instead of two.
 *
 * Devices are called GPUs unless they are cores that were not chosen as GPUs by number (--data-gpu, --model-gpu):
 * then the modes are Two-Device Mode and Single-Device Buffered Mode.
 *
 * Memory: a request borrows its strings; a choice is a plain value.
 */
#ifndef MX_RUN_MODE_H
#define MX_RUN_MODE_H

#include <stdbool.h>

#include "myxtts/budget.h"
#include "myxtts/registry.h"

enum mx_mode { MX_MODE_SINGLE, MX_MODE_MULTI };

/* What the user said. */
struct mx_mode_request {
    const char *command;                    /* how command lines in hints begin: "myxtts train" */
    const char *backend;                    /* "cuda", …; NULL or "auto": not said */
    const char *device;                     /* the only device: "cpu:0"; NULL: not given */
    const char *data_device, *model_device; /* "cuda:2"; NULL: not said */
    int data_gpu, model_gpu;                /* indices in the backend; negative: not given */
    int cpu_devices;                        /* logical CPU devices */
    bool allow_single;                      /* one device is accepted where two were requested */
    int passed;                             /* GPUs that others use: "the best" is the next one after these */
};

#define MX_MODE_NAME_BYTES 32
#define MX_MODE_WHY_BYTES  512

struct mx_mode_choice {
    enum mx_mode mode;
    int count;                         /* of names: 1, or 2: the data device, then the model device */
    char names[2][MX_MODE_NAME_BYTES]; /* "cuda:2" */
    bool plain;                        /* messages do not mention GPUs */
    bool best;                         /* the device was not requested: it is the best there is */
    /* Why one is used although two were requested, or (best) the CPU although there is a GPU; else "" */
    char fallback[MX_MODE_WHY_BYTES];
};

/* "Single-GPU Buffered Mode", "Multi-GPU Mode"; "Single-Device Buffered Mode", "Two-Device Mode" */
const char *mx_mode_name(const struct mx_mode_choice *choice);

/* Chooses from the command line alone, before any backend is started. A contradiction is MX_ERR_USAGE. count is 0 if
 * the choice depends on the devices found. */
int mx_mode_select(const struct mx_mode_request *request, struct mx_mode_choice *out);
/* Chooses from the command line and a registry without a selection, which lists everything. MX_ERR_USAGE or
 * MX_ERR_NO_DEVICE, with a hint. */
int mx_mode_find(const struct mx_mode_request *request, const struct mx_registry *all, struct mx_mode_choice *out);

/* Chooses, and opens a registry of only the chosen devices (data device first). `backends` NULL: mx_backends. */
int mx_mode_open(const struct mx_backend *const *backends, const struct mx_mode_request *request,
                 struct mx_mode_choice *choice, struct mx_registry **out);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Handles of the vendor's own interface, for libraries that work on our memory and in our streams: NCCL, which sums
 * over processes. Code that uses them is tied to the vendor; all other code uses myxtts/device.h.
 *
 * Memory: a handle is valid as long as the stream or buffer it was taken from.
 */
#ifndef MX_DEVICE_NATIVE_H
#define MX_DEVICE_NATIVE_H

#include "myxtts/device.h"

enum mx_native_kind { MX_NATIVE_NONE, MX_NATIVE_CUDA };

struct mx_native {
    void *stream; /* CUDA: CUstream, which is also cudaStream_t */
    void *memory; /* CUDA: the device address; NULL: no slice was given */
};

enum mx_native_kind mx_native_kind(const struct mx_device *device);
/* Makes the stream's device current for the calling thread, as that interface requires, and returns the handles;
 * `memory` may be {0}. Work then queued on the native stream runs after everything submitted before, and a later
 * mx_event_record covers both. MX_ERR_UNSUPPORTED for MX_NATIVE_NONE. */
int mx_native_get(struct mx_stream *stream, struct mx_slice memory, struct mx_native *out);

/* Opens a CUDA library from the loader's search path or from the folders that CUDA's installers use; NULL: not found.
 */
void *mx_native_cuda_library(const char *name);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Handles of the maker's own interface, for libraries that work on our memory and in our streams beside us: NCCL, which
 * sums over processes. Whoever uses them is bound to the maker; all others use myxtts/device.h.
 *
 * Memory: handles live as long as what they were taken from.
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
/* Makes the stream's device the calling thread's, as that interface asks for, and tells the handles; `memory` may be
 * {0}. Work that is then put into the stream stands behind what was submitted to it, and mx_event_record behind both.
 * MX_ERR_UNSUPPORTED for MX_NATIVE_NONE. */
int mx_native_take(struct mx_stream *stream, struct mx_slice memory, struct mx_native *out);

/* Opens a library of CUDA where the loader looks, and in the folders that CUDA's own installers use; NULL: nowhere. */
void *mx_native_cuda_library(const char *name);

#endif

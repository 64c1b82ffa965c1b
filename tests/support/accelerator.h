/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What tests of accelerators have in common, whatever their backend. Each fails the running test where something does
 * not work. What is made belongs to the caller.
 */
#ifndef MX_TESTS_SUPPORT_ACCELERATOR_H
#define MX_TESTS_SUPPORT_ACCELERATOR_H

#include "myxtts/device.h"
#include "myxtts/registry.h"

struct mx_stream *stream_make(struct mx_device *device);
struct mx_buffer *buffer_make(struct mx_device *device, size_t bytes);

/* The first device of the registry, opened with a limit: a buffer that is larger is the budget's error and names its
 * owner, one of just that size is made. */
void limit_holds(struct mx_registry *registry);

/* An id outside the table fails the stream, with the CPU backend's code, and nothing outside the table is read. */
void wrong_data_fail(struct mx_device *device);

#endif

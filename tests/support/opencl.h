/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * OpenCL devices for tests: nothing of the user's caches is read or written, and where there is no device the tests
 * that need one skip, and say why.
 */
#ifndef MX_TESTS_SUPPORT_OPENCL_H
#define MX_TESTS_SUPPORT_OPENCL_H

#include "myxtts/device.h"
#include "myxtts/registry.h"

#define OPENCL_DEVICES_MAX 2

struct opencl_pair {
    struct mx_registry *registry;
    struct mx_device *devices[OPENCL_DEVICES_MAX];
};

/* Whether this build has OpenCL and this machine a device for it; if not, one line on stderr tells. */
bool opencl_available(void);
/* The first `count` OpenCL devices, without limits. PoCL has two, of one thread each, unless POCL_DEVICES says more. */
int opencl_open(struct opencl_pair *pair, int count);
void opencl_close(struct opencl_pair *pair); /* all zero is fine */

#endif

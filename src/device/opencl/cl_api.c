/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Loading the OpenCL library and naming its errors; see cl_api.h.
 */
#include "device/opencl/cl_api.h"

#include "myxtts/error.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INSTALL_HINT "install an OpenCL driver: pocl-opencl-icd for CPUs, the vendor's package for GPUs"

int mx_cl_api_load(struct mx_cl_api *api)
{
    static const char *const names[] = {"libOpenCL.so.1", "libOpenCL.so"};
    void *library = NULL;
    for (size_t i = 0; !library && i < sizeof names / sizeof *names; i++) library = dlopen(names[i], RTLD_NOW);
    if (!library) {
        return MX_FAIL(MX_ERR_NO_DEVICE, INSTALL_HINT, "OpenCL is not installed (no libOpenCL.so.1)");
    }
#define X(name)                                                                                                        \
    do {                                                                                                               \
        void *const entry = dlsym(library, #name);                                                                     \
        if (!entry) {                                                                                                  \
            return MX_FAIL(MX_ERR_NO_DEVICE, "install an OpenCL library of version 1.2 or later",                      \
                           "libOpenCL.so.1 has no " #name);                                                            \
        }                                                                                                              \
        memcpy(&api->name, &entry, sizeof entry);                                                                      \
    } while (0);
    MX_CL_LIST(X)
#undef X
    return 0;
}

static const struct {
    cl_int code;
    const char *name;
} error_names[] = {
#define NAME(name) name, #name
    {NAME(CL_SUCCESS)},
    {NAME(CL_DEVICE_NOT_FOUND)},
    {NAME(CL_DEVICE_NOT_AVAILABLE)},
    {NAME(CL_COMPILER_NOT_AVAILABLE)},
    {NAME(CL_MEM_OBJECT_ALLOCATION_FAILURE)},
    {NAME(CL_OUT_OF_RESOURCES)},
    {NAME(CL_OUT_OF_HOST_MEMORY)},
    {NAME(CL_PROFILING_INFO_NOT_AVAILABLE)},
    {NAME(CL_MEM_COPY_OVERLAP)},
    {NAME(CL_BUILD_PROGRAM_FAILURE)},
    {NAME(CL_MAP_FAILURE)},
    {NAME(CL_MISALIGNED_SUB_BUFFER_OFFSET)},
    {NAME(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST)},
    {NAME(CL_DEVICE_PARTITION_FAILED)},
    {NAME(CL_KERNEL_ARG_INFO_NOT_AVAILABLE)},
    {NAME(CL_INVALID_VALUE)},
    {NAME(CL_INVALID_DEVICE_TYPE)},
    {NAME(CL_INVALID_PLATFORM)},
    {NAME(CL_INVALID_DEVICE)},
    {NAME(CL_INVALID_CONTEXT)},
    {NAME(CL_INVALID_QUEUE_PROPERTIES)},
    {NAME(CL_INVALID_COMMAND_QUEUE)},
    {NAME(CL_INVALID_HOST_PTR)},
    {NAME(CL_INVALID_MEM_OBJECT)},
    {NAME(CL_INVALID_BINARY)},
    {NAME(CL_INVALID_BUILD_OPTIONS)},
    {NAME(CL_INVALID_PROGRAM)},
    {NAME(CL_INVALID_PROGRAM_EXECUTABLE)},
    {NAME(CL_INVALID_KERNEL_NAME)},
    {NAME(CL_INVALID_KERNEL_DEFINITION)},
    {NAME(CL_INVALID_KERNEL)},
    {NAME(CL_INVALID_ARG_INDEX)},
    {NAME(CL_INVALID_ARG_VALUE)},
    {NAME(CL_INVALID_ARG_SIZE)},
    {NAME(CL_INVALID_KERNEL_ARGS)},
    {NAME(CL_INVALID_WORK_DIMENSION)},
    {NAME(CL_INVALID_WORK_GROUP_SIZE)},
    {NAME(CL_INVALID_WORK_ITEM_SIZE)},
    {NAME(CL_INVALID_GLOBAL_OFFSET)},
    {NAME(CL_INVALID_EVENT_WAIT_LIST)},
    {NAME(CL_INVALID_EVENT)},
    {NAME(CL_INVALID_OPERATION)},
    {NAME(CL_INVALID_BUFFER_SIZE)},
    {NAME(CL_INVALID_GLOBAL_WORK_SIZE)},
    {NAME(CL_INVALID_PROPERTY)},
    {NAME(CL_INVALID_DEVICE_PARTITION_COUNT)},
#undef NAME
    {-1001, "CL_PLATFORM_NOT_FOUND_KHR"}, /* the loader's own: no driver is registered */
};

const char *mx_cl_error_name(cl_int code)
{
    static _Thread_local char unknown[32];
    for (size_t i = 0; i < sizeof error_names / sizeof error_names[0]; i++)
        if (error_names[i].code == code) return error_names[i].name;
    snprintf(unknown, sizeof unknown, "error %d", (int)code);
    return unknown;
}

int mx_cl_fail(cl_int code, const char *fmt, ...)
{
    char what[256];
    va_list list;
    va_start(list, fmt);
    vsnprintf(what, sizeof what, fmt, list);
    va_end(list);
    switch (code) {
    case CL_MEM_OBJECT_ALLOCATION_FAILURE:
    case CL_OUT_OF_RESOURCES:
    case CL_INVALID_BUFFER_SIZE:
        return MX_FAIL(MX_ERR_NO_MEMORY, "lower the sizes or the batch, or close other programs that use the device",
                       "%s: the device has no memory left (%s)", what, mx_cl_error_name(code));
    case CL_OUT_OF_HOST_MEMORY:
        return MX_FAIL(MX_ERR_NO_MEMORY, "close other programs, or lower the sizes",
                       "%s: the machine has no memory left (%s)", what, mx_cl_error_name(code));
    default:
        return MX_FAIL(MX_ERR_DEVICE, "update the OpenCL driver of this device, or choose another device", "%s: %s",
                       what, mx_cl_error_name(code));
    }
}

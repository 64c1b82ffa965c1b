/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The OpenCL library, loaded at run time: one binary serves machines with and without it. Only the headers are needed
 * to build.
 *
 * Memory: the table is the caller's. The library itself stays loaded until the process ends, because drivers keep
 * threads of their own.
 */
#ifndef MX_DEVICE_OPENCL_CL_API_H
#define MX_DEVICE_OPENCL_CL_API_H

#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>

/* Every entry point that the backend uses, a member of struct mx_cl_api; all of OpenCL 1.2. */
#define MX_CL_LIST(X)                                                                                                  \
    X(clGetPlatformIDs)                                                                                                \
    X(clGetPlatformInfo)                                                                                               \
    X(clGetDeviceIDs)                                                                                                  \
    X(clGetDeviceInfo)                                                                                                 \
    X(clCreateContext)                                                                                                 \
    X(clReleaseContext)                                                                                                \
    X(clCreateCommandQueue)                                                                                            \
    X(clReleaseCommandQueue)                                                                                           \
    X(clCreateBuffer)                                                                                                  \
    X(clReleaseMemObject)                                                                                              \
    X(clEnqueueMapBuffer)                                                                                              \
    X(clEnqueueUnmapMemObject)                                                                                         \
    X(clEnqueueWriteBuffer)                                                                                            \
    X(clEnqueueReadBuffer)                                                                                             \
    X(clEnqueueCopyBuffer)                                                                                             \
    X(clEnqueueFillBuffer)                                                                                             \
    X(clEnqueueMarkerWithWaitList)                                                                                     \
    X(clEnqueueBarrierWithWaitList)                                                                                    \
    X(clEnqueueNDRangeKernel)                                                                                          \
    X(clFlush)                                                                                                         \
    X(clFinish)                                                                                                        \
    X(clWaitForEvents)                                                                                                 \
    X(clGetEventInfo)                                                                                                  \
    X(clGetEventProfilingInfo)                                                                                         \
    X(clRetainEvent)                                                                                                   \
    X(clReleaseEvent)                                                                                                  \
    X(clCreateProgramWithSource)                                                                                       \
    X(clCreateProgramWithBinary)                                                                                       \
    X(clBuildProgram)                                                                                                  \
    X(clGetProgramInfo)                                                                                                \
    X(clGetProgramBuildInfo)                                                                                           \
    X(clReleaseProgram)                                                                                                \
    X(clCreateKernel)                                                                                                  \
    X(clSetKernelArg)                                                                                                  \
    X(clReleaseKernel)

struct mx_cl_api {
#define X(name) __typeof__(&(name)) name;
    MX_CL_LIST(X)
#undef X
};

/* MX_ERR_NO_DEVICE if the library is missing or too old; the hint says what to install. */
int mx_cl_api_load(struct mx_cl_api *api);

/* "CL_OUT_OF_RESOURCES"; "error -9999" for a code that OpenCL 1.2 does not know. Static or thread-local text. */
const char *mx_cl_error_name(cl_int code);
/* The MX_ERR_ code for a failed call, with a message "what: CL_…" and a hint. */
int mx_cl_fail(cl_int code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* In functions with `int rc` and the label `out`: calls an entry point that returns cl_int. */
#define MX_CL_TRY(call, ...)                                                                                           \
    do {                                                                                                               \
        const cl_int cl_code = (call);                                                                                 \
        if (cl_code != CL_SUCCESS) {                                                                                   \
            rc = mx_cl_fail(cl_code, __VA_ARGS__);                                                                     \
            goto out;                                                                                                  \
        }                                                                                                              \
    } while (0)

#endif

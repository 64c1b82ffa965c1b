/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * CLBlast, which multiplies matrices on OpenCL GPUs. It is loaded at run time, so the build does not need it.
 *
 * Where it is used: on devices of GPU type if it is installed (Debian: libclblast1); otherwise the program's own
 * kernels multiply. A GPU without it gets a warning. MYXTTS_CLBLAST=1 asks for it on all devices, including those of
 * CPU type, and makes a missing library an error; 0 switches it off.
 *
 * How it is called: CLBlastSgemmWithTempBuffer on the stream's own in-order queue, without events, so that a product
 * runs in order with all other work of the stream. Matrices are passed as column-major, C = A·B as Cᵀ = Bᵀ·Aᵀ, which is
 * the same memory: the library's kernels prefer this layout and then copy instead of transposing.
 *
 * Repeatability: the library chooses its method by the sizes m, n, k and by its table for the device's name, and sums
 * without atomics; how a large product is split (below) depends on m, n, k alone. So the same product gives the same
 * bits every time on one device with one version of the library; other versions may differ in the last bits.
 *
 * Building: the library compiles its kernels when it is first called for a device of a context, and keeps them, with
 * the context, until mx_clblast_close; whether a later start is faster is up to the driver's own cache. If the compiler
 * refuses them, that is an error; there is no silent fallback. (The library itself then prints the compiler's log.)
 *
 * Trust: versions before 1.6.3 multiply incorrectly on some GPUs, and every version adds tables for new GPUs. So before
 * the first product on a device, a few products with known results are checked (clblast_check.c); a wrong result is an
 * error.
 *
 * Memory: the table belongs to the caller (in struct mx_opencl_state); the library stays loaded until the process ends.
 * A product of more than a few hundred to the third needs room for padded copies of A, B and C, which the library would
 * take from the driver for each call. It gets our memory instead, which belongs to the stream and is counted by the
 * budget ("clblast"); products that need more are split into blocks that fit. The other buffer of a stream ("products")
 * is the work memory of lower_gemm.c. Both are made by the first operation that needs them and live as long as the
 * stream. Compiled programs belong to the driver and are not counted.
 *
 * Locks: `building` is held while a device is checked, so that only one thread at a time fills the library's cache of
 * kernels. No other lock of the backend is taken while it is held, nor is it taken under one.
 */
#ifndef MX_DEVICE_OPENCL_CLBLAST_H
#define MX_DEVICE_OPENCL_CLBLAST_H

#include "device/backend.h"
#include "device/kernels/launch.h"
#include "device/opencl/cl_api.h"

#define MX_CLBLAST_LIBRARY "libclblast.so.1"

/* Entry points of the library's C interface, 1.5.0 and later; a status is 0, or one of the codes of mx_clblast_fail.
 * `layout` and `transpose` have the values of CBLAS; offsets and distances from row to row count elements. */
typedef int mx_clblast_product(int layout, int transpose_a, int transpose_b, size_t m, size_t n, size_t k, float alpha,
                               cl_mem a, size_t a_offset, size_t lda, cl_mem b, size_t b_offset, size_t ldb, float beta,
                               cl_mem c, size_t c_offset, size_t ldc, cl_command_queue *queue, cl_event *event,
                               cl_mem temp);
typedef int mx_clblast_temp_size(int layout, int transpose_a, int transpose_b, size_t m, size_t n, size_t k,
                                 size_t a_offset, size_t lda, size_t b_offset, size_t ldb, size_t c_offset, size_t ldc,
                                 cl_command_queue *queue, size_t *bytes);
typedef int mx_clblast_clear(void);

/* What MYXTTS_CLBLAST says. */
enum mx_clblast_wish { MX_CLBLAST_GPUS, MX_CLBLAST_NEVER, MX_CLBLAST_ALWAYS };

struct mx_clblast {
    enum mx_clblast_wish wish;
    bool opened, loaded;
    pthread_mutex_t building;
    mx_clblast_product *CLBlastSgemmWithTempBuffer;
    mx_clblast_temp_size *CLBlastSGemmTempBufferSize;
    mx_clblast_clear *CLBlastClearCache;
};

/* `text`: the variable's value, or NULL. MX_ERR_USAGE for anything but 0, 1 and nothing. */
int mx_clblast_wish_read(const char *text, enum mx_clblast_wish *out);
/* Fills the entry points from the library of that name. MX_ERR_NO_DEVICE if it is missing or too old. */
int mx_clblast_load(struct mx_clblast *blast, const char *name);

/* Reads MYXTTS_CLBLAST and loads the library where it may be used; `gpus`: there are devices of GPU type. A library
 * that is missing is an error only if the variable asks for it. */
int mx_clblast_open(struct mx_clblast *blast, bool gpus);
void mx_clblast_close(struct mx_clblast *blast); /* all devices are closed; after a failure and all zero is fine */

/* Whether products of such a device go to the library. */
bool mx_clblast_serves(const struct mx_clblast *blast, enum mx_device_kind kind);
/* Sets products and products_missing, and adds to work_bytes; kind and memory_bytes are set. */
void mx_clblast_describe(const struct mx_clblast *blast, struct mx_device_info *info);
/* For an opened device: logs a warning if a GPU has to do without the library; otherwise a debug message. */
void mx_clblast_log(const struct mx_device *device);

/* The launcher's `gemm` and `work` (launch.h) on a stream of a device that uses the library. */
int mx_clblast_gemm(struct mx_stream *stream, const struct mx_library_gemm *gemm);
int mx_clblast_work(struct mx_stream *stream, struct mx_slice *out);

/* Sets and returns the MX_ERR_ error for a status that is not 0. */
int mx_clblast_fail(const char *device, int status);

/* ---- clblast.c and clblast_check.c ---- */

/* Room for the copies that the library needs for a product of size m, n, k with the layout of `gemm`, if it needs all
 * of them. */
int mx_clblast_room(struct mx_stream *stream, const struct mx_library_gemm *gemm, const int64_t size[3], size_t *bytes);
/* The block of `size` at `from` (m, n, k) of the product; the stream's temp has room for it. */
int mx_clblast_block(struct mx_stream *stream, const struct mx_library_gemm *gemm, const int64_t from[3],
                     const int64_t size[3]);
/* Products with known results, in the stream's temp; the caller waits. MX_ERR_DEVICE if one is wrong. */
int mx_clblast_check(struct mx_stream *stream);

#endif

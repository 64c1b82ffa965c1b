/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Operations as launches of the kernels of this folder: the part shared by all backends that use these kernels.
 *
 * mx_kernel_plan turns one checked operation into launches, in order, and passes each to the backend's launcher.
 * Nothing is allocated; arguments live on the caller's stack while the launcher copies them. Scratch belongs to the
 * launcher; its contents are not preserved between two operations.
 */
#ifndef MX_DEVICE_KERNELS_LAUNCH_H
#define MX_DEVICE_KERNELS_LAUNCH_H

#include "myxtts/ops.h"

/* X(name, lanes): the kernel mx_<name> (MX_K_<name> in launches) with MX_GROUP, MX_WIDE or MX_TILE_LANES lanes per group. */
#define MX_KERNEL_LIST(X)                                                                                              \
    X(activation, WIDE)                                                                                                \
    X(activation_grad, WIDE)                                                                                           \
    X(residual_add, WIDE)                                                                                              \
    X(dropout, WIDE)                                                                                                   \
    X(scale, WIDE)                                                                                                     \
    X(fill, WIDE)                                                                                                      \
    X(griffin_step, WIDE)                                                                                              \
    X(texture, WIDE)                                                                                                   \
    X(excite, WIDE)                                                                                                    \
    X(adamw, WIDE)                                                                                                     \
    X(rotary_table, WIDE)                                                                                              \
    X(row_bounds, WIDE)                                                                                                \
    X(inverse_prepare, WIDE)                                                                                           \
    X(column_chunks, GROUP)                                                                                            \
    X(column_sum, GROUP)                                                                                               \
    X(layer_norm, GROUP)                                                                                               \
    X(layer_norm_chunks, GROUP)                                                                                        \
    X(layer_norm_rows, GROUP)                                                                                          \
    X(sequence_loss, GROUP)                                                                                            \
    X(pitch_rows, GROUP)                                                                                               \
    X(pitch_values, GROUP)                                                                                             \
    X(norm_chunks, GROUP)                                                                                              \
    X(norm_finish, GROUP)                                                                                              \
    X(offsets_check, GROUP)                                                                                            \
    X(embedding, GROUP)                                                                                                \
    X(embedding_grad, GROUP)                                                                                           \
    X(rotary, GROUP)                                                                                                   \
    X(durations_scan, GROUP)                                                                                           \
    X(spread, GROUP)                                                                                                   \
    X(collect, GROUP)                                                                                                  \
    X(attentive_pool, GROUP)                                                                                           \
    X(attentive_pool_grad, GROUP)                                                                                      \
    X(noise, GROUP)                                                                                                    \
    X(mask, GROUP)                                                                                                     \
    X(mel_blur, GROUP)                                                                                                 \
    X(depthwise, GROUP)                                                                                                \
    X(depthwise_chunks, GROUP)                                                                                         \
    X(attend, GROUP)                                                                                                   \
    X(attention_delta, GROUP)                                                                                          \
    X(attention_queries, GROUP)                                                                                        \
    X(attention_keys, GROUP)                                                                                           \
    X(align_check, GROUP)                                                                                              \
    X(align, GROUP)                                                                                                    \
    X(frames_check, GROUP)                                                                                             \
    X(bands_check, GROUP)                                                                                              \
    X(mel_bands, GROUP)                                                                                                \
    X(spectrum, GROUP)                                                                                                 \
    X(segments_check, GROUP)                                                                                           \
    X(log_magnitude, GROUP)                                                                                            \
    X(overlap_frames, GROUP)                                                                                           \
    X(overlap_add, GROUP)                                                                                              \
    X(pitch_candidates, GROUP)                                                                                         \
    X(pitch_path, GROUP)                                                                                               \
    X(mel_inverse, GROUP)                                                                                              \
    X(base_prepare, WIDE)                                                                                              \
    X(mel_base, GROUP)                                                                                                 \
    X(places_check, GROUP)                                                                                             \
    X(mel_project, GROUP)                                                                                              \
    X(harmonics, GROUP)                                                                                                \
    X(product_cast, GROUP)                                                                                             \
    X(product_taps, GROUP)                                                                                             \
    X(product_epilogue, GROUP)                                                                                         \
    X(product, TILE)

enum mx_kernel_id {
#define X(name, lanes) MX_K_##name,
    MX_KERNEL_LIST(X)
#undef X
        MX_K_COUNT
};

enum mx_kernel_lanes { MX_LANES_WIDE, MX_LANES_GROUP, MX_LANES_TILE };

/* What the kernels are built for. */
struct mx_kernel_tuning {
    int group, wide;  /* MX_GROUP, MX_WIDE */
    char options[96]; /* "-DMX_GROUP=64 …" */
};

/* What a device must have: OpenCL 1.2 guarantees this local memory for all but custom devices. */
#define MX_KERNEL_LANES_MOST  256
#define MX_KERNEL_LOCAL_BYTES 32768

#define MX_STATUS_WORDS  4                 /* int32: number of the operation + 1, or 0; then what it found */
#define MX_SCRATCH_BYTES ((size_t)4 << 20) /* for partial sums and the bounds of rows */

/* `pairs`: the device has no double precision (double.cl). */
void mx_kernel_tuning_choose(struct mx_kernel_tuning *tuning, bool pairs, size_t group_most);
int mx_kernel_lanes(const struct mx_kernel_tuning *tuning, enum mx_kernel_id kernel);
const char *mx_kernel_name(enum mx_kernel_id kernel); /* "mx_activation" */

/* All sources in one piece, written by the build (cmake/Embed.cmake). */
extern const unsigned char mx_kernel_source[];
extern const size_t mx_kernel_source_bytes;

enum mx_kernel_arg_kind { MX_ARG_SLICE, MX_ARG_STATUS, MX_ARG_INT, MX_ARG_LONG, MX_ARG_FLOAT };

/* A slice becomes two parameters of the kernel: base and offset in bytes (-1: absent). The status words of the stream
 * are passed the same way. */
struct mx_kernel_arg {
    enum mx_kernel_arg_kind kind;
    union {
        struct mx_slice slice;
        int32_t i;
        int64_t l;
        float f;
    };
};

struct mx_kernel_launch {
    enum mx_kernel_id kernel;
    int64_t groups; /* > 0 */
    const struct mx_kernel_arg *args;
    int count;
};

/* C [m, n] = (+=) op(A) · op(B), row-major with row strides of lda, ldb, ldc elements as stored; op(A) is [m, k],
 * stored [k, m] with transpose_a; B likewise. A and B are fp32, or bf16 if `bf16`; C and all sums are fp32. No size is
 * 0. */
struct mx_library_gemm {
    struct mx_slice a, b, c;
    int64_t m, n, k, lda, ldb, ldc;
    bool transpose_a, transpose_b, bf16, accumulate;
};

struct mx_launcher {
    const struct mx_kernel_tuning *tuning;
    int (*launch)(struct mx_launcher *launcher, const struct mx_kernel_launch *launch);
    int (*scratch)(struct mx_launcher *launcher, struct mx_slice *out); /* see below; 64-byte aligned */
    /* (optional) Set if the backend has a library for matrix products; then `work` returns work_bytes for dense
     * operands and sums, 64-byte aligned. With less work memory, large products are split into more blocks. */
    int (*gemm)(struct mx_launcher *launcher, const struct mx_library_gemm *gemm);
    int (*work)(struct mx_launcher *launcher, struct mx_slice *out);
    size_t work_bytes;
};

/* The usual work_bytes of a device: 1/64 of its memory, between 16 and 96 MiB. */
size_t mx_kernel_work_bytes(uint64_t memory_bytes);
int mx_kernel_plan(struct mx_launcher *launcher, enum mx_op op, const void *args);
/* Sets the error that the status words describe (the first is not 0); returns its code. */
int mx_kernel_status_raise(const int32_t words[MX_STATUS_WORDS]);

#endif

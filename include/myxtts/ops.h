/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The operations: one list that drives the kernels of every backend, the argument check, the gradient test, the
 * cross-backend test and the benchmark.
 *
 * Tensors are row-major float32 unless stated otherwise, given as slices (buffer + byte offset, 4-byte aligned).
 * Sequences are *ragged*: their rows are stored end to end without padding, and struct mx_ragged says where each
 * sequence starts. Shapes are in brackets, with the fastest dimension last. "dX" is the gradient of the loss with
 * respect to X. `accumulate` adds to the destination instead of replacing it. Slices marked (optional) may be {0}.
 * Outputs must not overlap inputs unless the comment allows "in place".
 *
 * Results are deterministic, and on the CPU they do not depend on the number of workers either: every sum has a fixed
 * order. CPU devices take subnormal numbers (below 2^-126) for zero, as operands and as results; OpenCL devices may, CUDA
 * devices do not. Empty inputs (0 rows, empty sequences) are legal everywhere.
 *
 * Submitting: mx_op_submit(stream, MX_OP_matmul, &args), or the typed form mx_matmul(stream, &args). Arguments are
 * copied. Wrong arguments (slices outside their buffers, another device's buffers, absurd sizes) are refused with
 * MX_ERR_ARGUMENT before anything is queued.
 */
#ifndef MYXTTS_OPS_H
#define MYXTTS_OPS_H

#include "myxtts/device.h"
#include "myxtts/ops/element.h"
#include "myxtts/ops/features.h"
#include "myxtts/ops/layer.h"
#include "myxtts/ops/learning.h"
#include "myxtts/ops/product.h"
#include "myxtts/ops/sequence.h"
#include "myxtts/ops/sound.h"

/* PAIR: a forward operation `name` and its gradient `name_grad`.
 * SOLO: no gradient operation of its own (it is its own gradient, made of other operations, or never
 * differentiated).
 *
 * Each operation has the number MX_OP_<name>, the arguments struct mx_<name>_args below, and the function mx_<name>
 * that submits it. In the sources of the library: mx_op_walk_<name> describes its arguments, mx_cpu_<name> is its kernel
 * for the CPU, mx_lower_<name> turns it into launches for accelerators. */
#define MX_OP_LIST(PAIR, SOLO)                                                                                         \
    SOLO(matmul)                                                                                                       \
    SOLO(bias_grad)                                                                                                    \
    PAIR(layer_norm)                                                                                                   \
    PAIR(activation)                                                                                                   \
    SOLO(residual_add)                                                                                                 \
    PAIR(embedding)                                                                                                    \
    SOLO(rotary_table)                                                                                                 \
    SOLO(rotary)                                                                                                       \
    PAIR(attention)                                                                                                    \
    SOLO(conv1d)                                                                                                       \
    SOLO(conv1d_grad_input)                                                                                            \
    SOLO(conv1d_grad_weight)                                                                                           \
    PAIR(depthwise)                                                                                                    \
    SOLO(dropout)                                                                                                      \
    SOLO(durations_scan)                                                                                               \
    PAIR(expand)                                                                                                       \
    SOLO(segment_mean)                                                                                                 \
    PAIR(attentive_pool)                                                                                               \
    SOLO(align)                                                                                                        \
    SOLO(sequence_loss)                                                                                                \
    SOLO(pitch_loss)                                                                                                   \
    SOLO(grad_norm)                                                                                                    \
    SOLO(adamw)                                                                                                        \
    SOLO(scale)                                                                                                        \
    SOLO(fill)                                                                                                         \
    SOLO(mel)                                                                                                          \
    SOLO(log_magnitude)                                                                                                \
    SOLO(pitch)                                                                                                        \
    SOLO(noise)                                                                                                        \
    SOLO(mask)                                                                                                         \
    SOLO(mel_blur)                                                                                                     \
    SOLO(mel_inverse)                                                                                                  \
    SOLO(mel_base)                                                                                                     \
    SOLO(spectrum)                                                                                                     \
    SOLO(griffin_step)                                                                                                 \
    SOLO(overlap_add)                                                                                                  \
    SOLO(mel_project)                                                                                                  \
    SOLO(harmonics)                                                                                                    \
    SOLO(texture)                                                                                                      \
    SOLO(excite)

enum mx_op {
#define MX_PAIR(name) MX_OP_##name, MX_OP_##name##_grad,
#define MX_SOLO(name) MX_OP_##name,
    MX_OP_LIST(MX_PAIR, MX_SOLO)
#undef MX_PAIR
#undef MX_SOLO
        MX_OP_COUNT
};

const char *mx_op_name(enum mx_op op);
size_t mx_op_args_bytes(enum mx_op op);
#define MX_OP_ARGS_MAX 512 /* no argument struct is larger (asserted at compile time) */

/* Checks `args` against the device: shapes, slices, ranges. MX_ERR_ARGUMENT names the operation and the argument. */
int mx_op_check(const struct mx_device *device, enum mx_op op, const void *args);
/* Calls visit(context, argument name, slice, bytes, written) for every present slice of checked arguments. */
void mx_op_slices(enum mx_op op, const void *args,
                  void (*visit)(void *context, const char *name, struct mx_slice slice, size_t bytes, bool written),
                  void *context);

int mx_op_submit(struct mx_stream *stream, enum mx_op op, const void *args);

#define MX_TYPED(name)                                                                                                 \
    static inline int mx_##name(struct mx_stream *stream, const struct mx_##name##_args *args)                         \
    {                                                                                                                  \
        return mx_op_submit(stream, MX_OP_##name, args);                                                               \
    }
#define MX_PAIR(name) MX_TYPED(name) MX_TYPED(name##_grad)
MX_OP_LIST(MX_PAIR, MX_TYPED)
#undef MX_PAIR
#undef MX_TYPED

#endif

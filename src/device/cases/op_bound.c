/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How far from the exact outputs those of a right operation may be, from what it computes.
 *
 * Each rounding errs by up to u = 2^-24 of what is rounded, which is no larger than about the largest output, to which
 * cases are scaled. Roundings on the way to an output are of two kinds:
 *
*   in line     a number of operations one after the other, each of which may err to the same side: their errors add up.
 *   in a sum    of n terms: n errors of either sign, in whatever order a backend adds. They are a random walk, which
 *               comes to √n of them; DEVIATIONS times that is exceeded once in 10^9 outputs (Hoeffding's inequality),
 *               and outputs of a case are pure functions of its seed. Sums that depend on each other, such as the
 *               scores of an attention and the mean that they weigh, count one by one.
 *
 * The number of terms is read off the case: no sum is longer than the rows or the columns of an operand (a
 * convolution's weights have as many rows as there are terms), except those over everything.
 */
#include <math.h>

#include "device/op_case.h"

#define ROUNDING   0x1p-24
#define DEVIATIONS 6

struct path {
    int line; /* roundings in line */
    int sums; /* sums that depend on each other */
    bool all; /* these go over all elements, not only over rows or columns */
};

/* Exponentials, tangents, sines and logarithms err by up to 4e-7, 7 roundings (tests/test_vec.c). */
static struct path path_of(enum mx_op op)
{
    switch (op) {
    case MX_OP_durations_scan:
    case MX_OP_fill:
    case MX_OP_scale:
    case MX_OP_mask:
        return (struct path){0}; /* one rounding, or none: the nearest float */
    case MX_OP_embedding:
    case MX_OP_residual_add:
    case MX_OP_dropout:
    case MX_OP_expand:
        return (struct path){.line = 4};
    case MX_OP_activation:
    case MX_OP_activation_grad:
    case MX_OP_rotary_table:
    case MX_OP_rotary:
    case MX_OP_noise:
    case MX_OP_griffin_step:
    case MX_OP_excite:
    case MX_OP_adamw:
        return (struct path){.line = 16};
    case MX_OP_harmonics:
        return (struct path){.line = 32}; /* a quotient of sines, and the harmonics that fade */
    case MX_OP_bias_grad:
    case MX_OP_embedding_grad:
    case MX_OP_expand_grad:
    case MX_OP_segment_mean:
    case MX_OP_overlap_add:
    case MX_OP_depthwise:
    case MX_OP_depthwise_grad:
        return (struct path){.line = 4, .sums = 1};
    case MX_OP_texture: /* a mean, a quotient and its logarithm */
        return (struct path){.line = 16, .sums = 1};
    case MX_OP_sequence_loss:
    case MX_OP_grad_norm:
        return (struct path){.line = 8, .sums = 1, .all = true};
    case MX_OP_matmul:
        return (struct path){.line = 16, .sums = 1}; /* and the epilogue */
    case MX_OP_conv1d:
    case MX_OP_conv1d_grad_input:
    case MX_OP_conv1d_grad_weight:
    case MX_OP_layer_norm: /* mean, deviation */
    case MX_OP_attention:  /* scores and their exponentials, mean */
    case MX_OP_attentive_pool:
    case MX_OP_align:
    case MX_OP_mel: /* spectrum, bands */
    case MX_OP_pitch:
    case MX_OP_spectrum:
    case MX_OP_log_magnitude:
    case MX_OP_mel_inverse:
    case MX_OP_mel_project:
    case MX_OP_mel_base:
    case MX_OP_mel_blur:
        return (struct path){.line = 16, .sums = 2}; /* convolutions by Winograd: there and back */
    default:                                         /* gradients through a norm or a softmax */
        return (struct path){.line = 16, .sums = 4};
    }
}

double mx_op_rounding(int line, int sums, int64_t terms)
{
    return ROUNDING * (line + DEVIATIONS * sums * sqrt((double)terms));
}

double mx_op_bound(const struct mx_op_case *c)
{
    const struct path path = path_of(c->op);
    int64_t terms = 1;
    for (int i = 0; i < c->storage_count; i++) {
        const struct mx_op_storage *storage = &c->storages[i];
        if (storage->layout == MX_OP_SAMPLES) continue; /* a frame of them at a time, as wide as its spectrum */
        const int64_t rows = storage->stride > 0 ? storage->count / storage->stride : storage->count;
        const int64_t longest = path.all ? storage->count : storage->width > rows ? storage->width : rows;
        if (longest > terms) terms = longest;
    }
    return mx_op_rounding(path.line, path.sums, terms);
}

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Shared by the files of the vocoder's network and private to them: its parameters, its memory, and one pass.
 *
 * Shapes are written as [rows, width]; F: frames, W: width, H: hidden, B: bands, K: bins, C: classes of pitch and
 * "unvoiced", E: the short mel of a frame. "dX" is the gradient of the weighted loss with respect to X. The activations are slices of one buffer at
 * fixed offsets, large enough for the capacity.
 */
#ifndef MX_VOCODER_INTERNAL_H
#define MX_VOCODER_INTERNAL_H

#include "model/layer.h"
#include "vocoder/vocoder.h"

#define MX_VOCODER_TAPS    7
#define MX_VOCODER_OUTPUTS (MX_VOCODER_CLASSES + 1) /* of the pitch head */

/* ---- parameters (parameters.c) ---- */

/* The lists. X(member, name, dimensions (0: none), initialisation, weight decay) */
#define MX_VOCODER_INPUT_PARAMETERS(X)                                                                                 \
    X(weight, "weight", MX_VOCODER_TAPS, B, W, FAN_IN, true)                                                           \
    X(bias, "bias", W, 0, 0, ZERO, false)                                                                              \
    X(norm_gain, "norm.weight", W, 0, 0, ONE, false)                                                                   \
    X(norm_bias, "norm.bias", W, 0, 0, ZERO, false)

#define MX_VOCODER_BLOCK_PARAMETERS(X)                                                                                 \
    X(depthwise_weight, "depthwise.weight", MX_VOCODER_TAPS, W, 0, FAN_IN, true)                                       \
    X(depthwise_bias, "depthwise.bias", W, 0, 0, ZERO, false)                                                          \
    X(norm_gain, "norm.weight", W, 0, 0, ONE, false)                                                                   \
    X(norm_bias, "norm.bias", W, 0, 0, ZERO, false)                                                                    \
    X(up_weight, "up.weight", W, H, 0, FAN_IN, true)                                                                   \
    X(up_bias, "up.bias", H, 0, 0, ZERO, false)                                                                        \
    X(down_weight, "down.weight", H, W, 0, SHARED, true)                                                               \
    X(down_bias, "down.bias", W, 0, 0, ZERO, false)

#define MX_VOCODER_HEAD_PARAMETERS(X)                                                                                  \
    X(norm_gain, "norm.weight", W, 0, 0, ONE, false)                                                                   \
    X(norm_bias, "norm.bias", W, 0, 0, ZERO, false)                                                                    \
    X(magnitude_weight, "magnitude.weight", W, K, 0, SMALL, true)                                                      \
    X(magnitude_bias, "magnitude.bias", K, 0, 0, ZERO, false)                                                          \
    X(pitch_weight, "pitch.weight", W, C, 0, SMALL, true)                                                              \
    X(pitch_bias, "pitch.bias", C, 0, 0, ZERO, false)                                                                  \
    X(burst_weight, "burst.weight", W, E, 0, SMALL, true)                                                              \
    X(burst_bias, "burst.bias", E, 0, 0, ZERO, false)                                                                  \
    X(burst_mel_weight, "burst.mel.weight", B, E, 0, SMALL, true)

/* The positions of each part's parameters, in floats from the start of the flat buffer. */
struct mx_vocoder_input_at {
    MX_VOCODER_INPUT_PARAMETERS(MX_PARAMETER_MEMBER)
};
struct mx_vocoder_block_at {
    MX_VOCODER_BLOCK_PARAMETERS(MX_PARAMETER_MEMBER)
};
struct mx_vocoder_head_at {
    MX_VOCODER_HEAD_PARAMETERS(MX_PARAMETER_MEMBER)
};

struct mx_vocoder_at {
    struct mx_vocoder_input_at input;
    struct mx_vocoder_block_at blocks[MX_VOCODER_BLOCKS_MAX];
    struct mx_vocoder_head_at head;
};

/* Checks the configuration first. */
int mx_vocoder_table_create(const struct mx_vocoder_config *config, struct mx_vocoder_at *at,
                            struct mx_parameters **out);

/* ---- memory (memory_plan.c) ---- */

/* What one block keeps for its backward pass. */
struct mx_vocoder_block_memory {
    struct mx_slice mixed;         /* [F, W]: the depthwise convolution's output */
    struct mx_slice normed, stats; /* [F, W] (bf16 in mixed precision), [F, 2] */
    struct mx_slice pre, hidden;   /* [F, H] (bf16 in mixed precision): before and after GELU; pre only for training */
};

struct mx_vocoder_memory {
    struct mx_slice tables, places;               /* of the recipe */
    struct mx_slice input;                        /* [F, B] */
    struct mx_slice embedded, stats;              /* [F, W], [F, 2]: the first convolution's output */
    struct mx_slice x[MX_VOCODER_BLOCKS_MAX + 1]; /* [F, W]: the input of each block, then the output of the last */
    struct mx_vocoder_block_memory blocks[MX_VOCODER_BLOCKS_MAX];
    struct mx_slice normed, normed_stats; /* [F, W] (bf16 in mixed precision), [F, 2]: what the heads see */
    struct mx_slice magnitude, logits;    /* [F, K], [F, C] */
    struct mx_slice burst;                /* [F, E] */
    /* For training only. */
    struct mx_slice dmagnitude, dlogits; /* [F, K], [F, C] */
    struct mx_slice dburst;              /* [F, E] */
    struct mx_slice losses;              /* [MX_VOCODER_LOSSES, sequences] */
    struct mx_slice d, e;                /* [F, W] */
    struct mx_slice dhidden;             /* [F, H] (bf16 in mixed precision) */
};

/* Carves everything out of `layout`. `tables`: floats of the recipe's tables. */
void mx_vocoder_memory_place(struct mx_vocoder_memory *memory, struct mx_layout *layout,
                             const struct mx_vocoder_config *config, const struct mx_vocoder_capacity *capacity,
                             enum mx_model_purpose purpose, size_t tables);

struct mx_vocoder {
    struct mx_vocoder_config config;
    struct mx_vocoder_capacity capacity;
    enum mx_model_purpose purpose;
    bool mixed;      /* products in bf16: the configuration asks for them and it is for training */
    int32_t weights; /* of the mel bands, in the tables */
    struct mx_parameters *parameters;
    struct mx_vocoder_at at;
    struct mx_slice frozen; /* mx_vocoder_frozen_set */
    int32_t lowest;         /* the lowest block that gradients must reach; -1: the input */
    struct mx_buffer *activations;
    struct mx_vocoder_memory memory;
};

/* ---- one pass (network.c) ---- */

struct mx_vocoder_pass {
    struct mx_pass base;
    const struct mx_vocoder *vocoder;
    const struct mx_vocoder_batch *batch; /* predicting needs only frames and mel */
};

int mx_vocoder_network_forward(const struct mx_vocoder_pass *pass); /* mel → magnitude, logits, burst */
/* Writes the values into losses; with `backward` also fills dmagnitude, dlogits and dburst. */
int mx_vocoder_losses_forward(const struct mx_vocoder_pass *pass, bool backward);
int mx_vocoder_network_backward(const struct mx_vocoder_pass *pass); /* from these to the parameters */

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The one table of parameters: names, shapes, initialisation, weight decay. Allocation, initialisation, optimizer and
 * checkpoints are driven by it, and the layers find their parameters through it.
 *
 * All parameters lie in one flat float32 buffer; gradients, moments and averaged weights have buffers of the same
 * layout. Decayed parameters come first, as the optimizer requires, then all others, each group in the order of the
 * table. Every parameter begins at a multiple of MX_PARAMETER_ALIGNMENT floats; the floats in the gaps are always 0.
 *
 * The initial value of a parameter depends only on the seed and the parameter's name, so adding a parameter or more
 * blocks elsewhere does not change it.
 *
 * Memory: a table owns its arrays. It is constant once created, so threads may share it.
 */
#ifndef MX_MODEL_PARAMETERS_H
#define MX_MODEL_PARAMETERS_H

#include "model/sizes.h"

#define MX_PARAMETER_ALIGNMENT  16 /* floats */
#define MX_PARAMETER_NAME_BYTES 64

enum mx_init {
    MX_INIT_ZERO,
    MX_INIT_ONE,
    MX_INIT_FAN_IN,   /* normal, deviation 1/√(product of all dimensions but the last) */
    MX_INIT_RESIDUAL, /* the same, divided by √(2 · blocks of the stack): for outputs added to the residual stream */
    MX_INIT_EMBEDDING, /* normal, deviation 1/√(last dimension) */
};

/* The lists. W: width, H: hidden, B: bands, V: vocabulary, L: languages.
 * X(member, name, dimensions (0: none), initialisation, weight decay) */
#define MX_SPEAKER_PARAMETERS(X)                                                                                       \
    X(conv1_weight, "conv1.weight", 3, B, W, FAN_IN, true)                                                             \
    X(conv1_bias, "conv1.bias", W, 0, 0, ZERO, false)                                                                  \
    X(norm1_gain, "norm1.weight", W, 0, 0, ONE, false)                                                                 \
    X(norm1_bias, "norm1.bias", W, 0, 0, ZERO, false)                                                                  \
    X(conv2_weight, "conv2.weight", 3, W, W, FAN_IN, true)                                                             \
    X(conv2_bias, "conv2.bias", W, 0, 0, ZERO, false)                                                                  \
    X(norm2_gain, "norm2.weight", W, 0, 0, ONE, false)                                                                 \
    X(norm2_bias, "norm2.bias", W, 0, 0, ZERO, false)                                                                  \
    X(conv3_weight, "conv3.weight", 3, W, W, FAN_IN, true)                                                             \
    X(conv3_bias, "conv3.bias", W, 0, 0, ZERO, false)                                                                  \
    X(norm3_gain, "norm3.weight", W, 0, 0, ONE, false)                                                                 \
    X(norm3_bias, "norm3.bias", W, 0, 0, ZERO, false)                                                                  \
    X(score_weight, "score.weight", W, 1, 0, ZERO, true)                                                               \
    X(to_encoder_weight, "to_encoder.weight", W, W, 0, FAN_IN, true)                                                   \
    X(to_decoder_weight, "to_decoder.weight", W, W, 0, FAN_IN, true)

#define MX_BLOCK_PARAMETERS(X)                                                                                         \
    X(norm1_gain, "norm1.weight", W, 0, 0, ONE, false)                                                                 \
    X(norm1_bias, "norm1.bias", W, 0, 0, ZERO, false)                                                                  \
    X(qkv_weight, "attention.qkv.weight", W, 3 * W, 0, FAN_IN, true)                                                   \
    X(qkv_bias, "attention.qkv.bias", 3 * W, 0, 0, ZERO, false)                                                        \
    X(out_weight, "attention.out.weight", W, W, 0, RESIDUAL, true)                                                     \
    X(out_bias, "attention.out.bias", W, 0, 0, ZERO, false)                                                            \
    X(norm2_gain, "norm2.weight", W, 0, 0, ONE, false)                                                                 \
    X(norm2_bias, "norm2.bias", W, 0, 0, ZERO, false)                                                                  \
    X(up_weight, "feed_forward.up.weight", 3, W, H, FAN_IN, true)                                                      \
    X(up_bias, "feed_forward.up.bias", H, 0, 0, ZERO, false)                                                           \
    X(down_weight, "feed_forward.down.weight", H, W, 0, RESIDUAL, true)                                                \
    X(down_bias, "feed_forward.down.bias", W, 0, 0, ZERO, false)

#define MX_ENCODER_PARAMETERS(X)                                                                                       \
    X(token_table, "token.weight", V, W, 0, EMBEDDING, false)                                                          \
    X(language_table, "language.weight", L, W, 0, EMBEDDING, false)                                                    \
    X(norm_gain, "norm.weight", W, 0, 0, ONE, false)                                                                   \
    X(norm_bias, "norm.bias", W, 0, 0, ZERO, false)                                                                    \
    X(mean_weight, "mean.weight", W, B, 0, ZERO, true)                                                                 \
    X(mean_bias, "mean.bias", B, 0, 0, ZERO, false)                                                                    \
    X(pitch_weight, "pitch.weight", 3, 1, W, FAN_IN, true)                                                             \
    X(energy_weight, "energy.weight", 3, 1, W, FAN_IN, true)

#define MX_PREDICTOR_PARAMETERS(X)                                                                                     \
    X(conv1_weight, "conv1.weight", 3, W, W, FAN_IN, true)                                                             \
    X(conv1_bias, "conv1.bias", W, 0, 0, ZERO, false)                                                                  \
    X(norm1_gain, "norm1.weight", W, 0, 0, ONE, false)                                                                 \
    X(norm1_bias, "norm1.bias", W, 0, 0, ZERO, false)                                                                  \
    X(conv2_weight, "conv2.weight", 3, W, W, FAN_IN, true)                                                             \
    X(conv2_bias, "conv2.bias", W, 0, 0, ZERO, false)                                                                  \
    X(norm2_gain, "norm2.weight", W, 0, 0, ONE, false)                                                                 \
    X(norm2_bias, "norm2.bias", W, 0, 0, ZERO, false)                                                                  \
    X(out_weight, "out.weight", W, 1, 0, FAN_IN, true)                                                                 \
    X(out_bias, "out.bias", 1, 0, 0, ZERO, false)

#define MX_DECODER_PARAMETERS(X)                                                                                       \
    X(norm_gain, "norm.weight", W, 0, 0, ONE, false)                                                                   \
    X(norm_bias, "norm.bias", W, 0, 0, ZERO, false)                                                                    \
    X(mel_weight, "mel.weight", W, B, 0, FAN_IN, true)                                                                 \
    X(mel_bias, "mel.bias", B, 0, 0, ZERO, false)

/* The positions of each part's parameters, in floats from the start of the flat buffer. */
#define MX_MEMBER(member, name, d0, d1, d2, init, decay) int64_t member;
struct mx_speaker_at {
    MX_SPEAKER_PARAMETERS(MX_MEMBER)
};
struct mx_block_at {
    MX_BLOCK_PARAMETERS(MX_MEMBER)
};
struct mx_encoder_at {
    MX_ENCODER_PARAMETERS(MX_MEMBER)
};
struct mx_predictor_at {
    MX_PREDICTOR_PARAMETERS(MX_MEMBER)
};
struct mx_decoder_at {
    MX_DECODER_PARAMETERS(MX_MEMBER)
};
#undef MX_MEMBER

enum mx_predictor { MX_PREDICT_DURATION, MX_PREDICT_PITCH, MX_PREDICT_ENERGY, MX_PREDICTORS };

struct mx_parameter {
    char name[MX_PARAMETER_NAME_BYTES]; /* "decoder.block.3.attention.qkv.weight" */
    int rank;                           /* 1 to 3 */
    int64_t shape[3];                   /* the fastest dimension last */
    int64_t count;                      /* product of all dimensions */
    int64_t at;                         /* floats from the start of the flat buffer */
    enum mx_init init;
    double deviation; /* of the initial values; 0 for constants */
    bool decay;
};

struct mx_parameters {
    struct mx_parameter *entries; /* [count], in the order of the lists */
    int count;
    int64_t elements; /* in all parameters: "7.0 M parameters" */
    int64_t floats;   /* in the flat buffer, gaps included */
    int64_t decayed;  /* floats at the start of the buffer that are decayed */
    struct mx_speaker_at speaker;
    struct mx_encoder_at encoder;
    struct mx_predictor_at predictors[MX_PREDICTORS];
    struct mx_decoder_at decoder;
    struct mx_block_at encoder_blocks[MX_MODEL_BLOCKS_MAX], decoder_blocks[MX_MODEL_BLOCKS_MAX];
};

/* Checks the configuration first. */
int mx_parameters_create(const struct mx_model_config *config, struct mx_parameters **out);
void mx_parameters_destroy(struct mx_parameters *table); /* NULL is fine */
/* NULL if no parameter has that name. */
const struct mx_parameter *mx_parameters_find(const struct mx_parameters *table, const char *name);
/* Writes the initial values to flat[table->floats] on the host. */
void mx_parameters_init(const struct mx_parameters *table, uint64_t seed, float *flat);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The lists of the acoustic network's parameters. They give its table (model/parameters.h) and the positions through
 * which its layers find their parameters.
 *
 * Memory: the positions are a plain value.
 */
#ifndef MX_MODEL_MODEL_PARAMETERS_H
#define MX_MODEL_MODEL_PARAMETERS_H

#include "model/parameters.h"
#include "model/sizes.h"

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
struct mx_speaker_at {
    MX_SPEAKER_PARAMETERS(MX_PARAMETER_MEMBER)
};
struct mx_block_at {
    MX_BLOCK_PARAMETERS(MX_PARAMETER_MEMBER)
};
struct mx_encoder_at {
    MX_ENCODER_PARAMETERS(MX_PARAMETER_MEMBER)
};
struct mx_predictor_at {
    MX_PREDICTOR_PARAMETERS(MX_PARAMETER_MEMBER)
};
struct mx_decoder_at {
    MX_DECODER_PARAMETERS(MX_PARAMETER_MEMBER)
};

enum mx_predictor { MX_PREDICT_DURATION, MX_PREDICT_PITCH, MX_PREDICT_ENERGY, MX_PREDICTORS };

/* All of them. */
struct mx_model_at {
    struct mx_speaker_at speaker;
    struct mx_encoder_at encoder;
    struct mx_predictor_at predictors[MX_PREDICTORS];
    struct mx_decoder_at decoder;
    struct mx_block_at encoder_blocks[MX_MODEL_BLOCKS_MAX], decoder_blocks[MX_MODEL_BLOCKS_MAX];
};

/* The table, in the order of the lists, and the positions (`at`; NULL: not wanted). Checks the configuration first. */
int mx_model_parameters_create(const struct mx_model_config *config, struct mx_model_at *at,
                               struct mx_parameters **out);

#endif

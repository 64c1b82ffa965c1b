/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The named sizes of the network, and the configuration that a network is built from. MODEL.md describes the network.
 *
 * Plain values only: nothing is allocated, and the patterns of what is frozen are borrowed.
 */
#ifndef MX_MODEL_SIZES_H
#define MX_MODEL_SIZES_H

#include <stdbool.h>
#include <stdint.h>

#include "model/losses.h"
#include "model/parameters.h"

#define MX_MODEL_BLOCKS_MAX 64 /* each in the encoder and the decoder */

struct mx_model_size {
    const char *name; /* "tiny" */
    int32_t width;    /* of every row between the layers */
    int32_t heads;    /* attention heads; width/heads is even and at most MX_ATTENTION_WIDTH_MAX */
    int32_t encoder_blocks, decoder_blocks;
    int32_t hidden; /* width inside the feed-forward part of a block */
};

int mx_model_size_count(void);
const struct mx_model_size *mx_model_size_at(int index); /* tiny, small, normal, base, big */
/* NULL with MX_ERR_USAGE set (the hint lists the names) if no size has that name. */
const struct mx_model_size *mx_model_size_find(const char *name);

struct mx_model_config {
    struct mx_model_size size;
    int32_t vocabulary;    /* number of tokens, BOS and EOS included */
    int32_t languages;     /* at least 1 */
    int32_t bands;         /* of a mel frame */
    float dropout;         /* rate in [0, 1), while training */
    bool recompute_blocks; /* gradient checkpointing: the backward pass recomputes blocks instead of keeping them */
    bool mixed; /* training multiplies in bf16 and keeps some activations in bf16 (MODEL.md); speaking does not */
    struct mx_model_loss_weights weights;
    struct mx_learning learning; /* which parameters learn */
    float diagonal; /* of the alignment (struct mx_align_args): the cost of leaving the even alignment, in nats */
};

#define MX_MODEL_BANDS    80
#define MX_MODEL_DROPOUT  0.1f
#define MX_MODEL_DIAGONAL 0.01f

/* 80 bands, dropout 0.1, no checkpointing, fp32 only, the weights of losses.h, diagonal 0.01. */
struct mx_model_config mx_model_config_default(const struct mx_model_size *size, int32_t vocabulary, int32_t languages);
/* MX_ERR_CONFIG naming the first impossible value. */
int mx_model_config_check(const struct mx_model_config *config);

#endif

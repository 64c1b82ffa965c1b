/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a vocoder's network is built from: its named sizes, its losses, its configuration, and the limits of a batch.
 * MODEL.md describes the network.
 *
 * Plain values only: nothing is allocated.
 */
#ifndef MX_VOCODER_CONFIG_H
#define MX_VOCODER_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "features/recipe.h"
#include "model/parameters.h"

/* ---- sizes ---- */

#define MX_VOCODER_BLOCKS_MAX 32

struct mx_vocoder_size {
    const char *name; /* "small" */
    int32_t width;    /* of every row between the layers */
    int32_t blocks;
    int32_t hidden; /* width inside a block */
};

int mx_vocoder_size_count(void);
const struct mx_vocoder_size *mx_vocoder_size_at(int index); /* small, large; the first is the default */
/* NULL with MX_ERR_USAGE set (the hint lists the names) if no size has that name. */
const struct mx_vocoder_size *mx_vocoder_size_find(const char *name);

/* ---- losses ---- */

/* X(NAME, key, weight, words)
 *
 *     NAME    MX_VOCODER_LOSS_NAME
 *     key     its name in every file of a run, after "vocoder_"
 *     weight  its default weight in the total
 *     words   its label on the page of a run; Persian comes from po/fa.po
 *
 * All are means over frames. The order is the order of summation and of all files, so append new losses at the end. */
#define MX_VOCODER_LOSS_LIST(X)                                                                                        \
    X(MAGNITUDE, magnitude, 1, "vocoder: magnitudes")                                                                  \
    X(PITCH, pitch, 0.3f, "vocoder: pitch")                                                                            \
    X(BURST, burst, 0.5f, "vocoder: bursts")

enum mx_vocoder_loss {
#define X(NAME, key, weight, words) MX_VOCODER_LOSS_##NAME,
    MX_VOCODER_LOSS_LIST(X)
#undef X
        MX_VOCODER_LOSSES
};

/* The weight of each loss in the sum whose gradient is taken. Reports show the unweighted losses. */
struct mx_vocoder_loss_weights {
#define X(NAME, key, weight, words) float key;
    MX_VOCODER_LOSS_LIST(X)
#undef X
};

extern const struct mx_vocoder_loss_weights mx_vocoder_loss_weights_default;
extern const char *const mx_vocoder_loss_keys[MX_VOCODER_LOSSES]; /* "magnitude", "pitch", "burst" */

/* The weight of one loss. */
float mx_vocoder_loss_weight(const struct mx_vocoder_loss_weights *weights, enum mx_vocoder_loss loss);

struct mx_vocoder_losses {
    double values[MX_VOCODER_LOSSES]; /* means over frames (magnitude, burst: over frames and columns) */
    double total;                     /* weighted */
};

/* Turns the sums in losses->values into means over `frames` (0: leave the sums as they are) and computes the total. */
void mx_vocoder_losses_finish(struct mx_vocoder_losses *losses, const struct mx_vocoder_loss_weights *weights,
                              int64_t frames);

/* ---- the configuration ---- */

/* The classes of pitch, evenly spaced in ln Hz; one more class is "unvoiced". */
#define MX_VOCODER_CLASSES 192
#define MX_VOCODER_LOW_HZ  65.0f
#define MX_VOCODER_HIGH_HZ 500.0f
/* What is added to magnitudes before their logarithm is taken: target = ln(|X| + this). */
#define MX_VOCODER_LEAST 1e-3f

/* A second, coarse mel with shorter frames, for sounds that begin suddenly: MX_VOCODER_BURST_PARTS short frames for each
 * frame, with MX_VOCODER_BURST_BANDS bands. The short frames 4 t - 2 … 4 t + 1 belong to frame t. */
#define MX_VOCODER_BURST_PARTS  4
#define MX_VOCODER_BURST_BANDS  8
#define MX_VOCODER_BURST_BEFORE (MX_VOCODER_BURST_PARTS / 2) /* short frames of frame 0 that lie before the sound */
#define MX_VOCODER_BURST        (MX_VOCODER_BURST_PARTS * MX_VOCODER_BURST_BANDS)
/* Its recipe: like the other one, except bands, fft_size and hop. (No pitch is computed with it.) */
struct mx_recipe mx_vocoder_burst_recipe(const struct mx_recipe *recipe);

struct mx_vocoder_config {
    struct mx_vocoder_size size;
    struct mx_recipe recipe;       /* of the mel that it is given and of the spectrum that it predicts */
    float mel_mean, mel_deviation; /* of the normaliser: ln mel = mel · deviation + mean */
    bool mixed; /* training multiplies in bf16 and keeps some activations in bf16 (MODEL.md); MX_MODEL_SPEAK does not */
    struct mx_vocoder_loss_weights weights;
    struct mx_learning learning; /* which parameters learn */
};

/* The default recipe, fp32 only, the weights of the list. */
struct mx_vocoder_config mx_vocoder_config_default(const struct mx_vocoder_size *size, float mel_mean,
                                                   float mel_deviation);
/* MX_ERR_CONFIG (of the recipe: MX_ERR_ARGUMENT) naming the first impossible value. */
int mx_vocoder_config_check(const struct mx_vocoder_config *config);

/* Magnitudes of a frame: 513. */
static inline int32_t mx_vocoder_bins(const struct mx_vocoder_config *config)
{
    return config->recipe.fft_size / 2 + 1;
}

/* ---- batches ---- */

/* The upper limits of one batch. */
struct mx_vocoder_capacity {
    int32_t sequences;
    int32_t frames;         /* of all sequences together */
    int32_t longest_frames; /* of one sequence; 0: the same as the total */
};

/* MX_ERR_ARGUMENT naming the invalid member; otherwise *out is a copy with the zero filled in. */
int mx_vocoder_capacity_check(const struct mx_vocoder_capacity *capacity, struct mx_vocoder_capacity *out);

#endif

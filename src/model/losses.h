/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The one list of losses. It defines the enum, the weights in a configuration and their settings (`model.KEY_weight`),
 * the weighted total, the keys of metrics.jsonl and of checkpoints, the TensorBoard tags, and the rows and curves in
 * the monitor and on the page of a run. A new loss needs a row here and its computation in loss.c.
 *
 * Owns no memory.
 */
#ifndef MX_MODEL_LOSSES_H
#define MX_MODEL_LOSSES_H

#include <stdint.h>

/* X(NAME, key, over, weight, words)
 *
 *     NAME    MX_LOSS_<NAME>
 *     key     its name in every file of a run
 *     over    what its mean is taken over: FRAMES (each the mean over its bands) or TOKENS
 *     weight  its default weight in the total
 *     words   its label on the page of a run and in the help of the setting; Persian comes from po/fa.po
 *
 * The order is the order of summation and of all files, so append new losses at the end. */
#define MX_LOSS_LIST(X)                                                                                                \
    X(MEL, mel, FRAMES, 1, "mel")                                                                                      \
    X(PRIOR, prior, FRAMES, 1, "alignment")                                                                            \
    X(DURATION, duration, TOKENS, 1, "duration")                                                                       \
    X(PITCH, pitch, TOKENS, 1, "pitch")                                                                                \
    X(ENERGY, energy, TOKENS, 1, "energy")

enum mx_model_loss {
#define X(NAME, key, over, weight, words) MX_LOSS_##NAME,
    MX_LOSS_LIST(X)
#undef X
        MX_MODEL_LOSSES
};

/* The weight of each loss in the sum whose gradient is taken. Reports show the unweighted losses. */
struct mx_model_loss_weights {
#define X(NAME, key, over, weight, words) float key;
    MX_LOSS_LIST(X)
#undef X
};

extern const struct mx_model_loss_weights mx_model_loss_weights_default;
extern const char *const mx_model_loss_keys[MX_MODEL_LOSSES]; /* "mel", "prior" … */

/* The weight of one loss. */
float mx_model_loss_weight(const struct mx_model_loss_weights *weights, enum mx_model_loss loss);

struct mx_model_losses {
    double values[MX_MODEL_LOSSES]; /* means over frames and bands, or over tokens */
    double total;                   /* weighted */
};

/* Turns the sums in losses->values into means over `tokens` and `frames` (0: leave that sum as it is) and computes the
 * total. The only place where losses are weighted for reports. */
void mx_model_losses_finish(struct mx_model_losses *losses, const struct mx_model_loss_weights *weights, int64_t tokens,
                            int64_t frames);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The one list of the losses. It gives the enum, the weights of a configuration and their settings (`model.KEY_weight`),
 * the weighted total, the keys of metrics.jsonl and of checkpoints, the tags of TensorBoard, and the rows and curves of
 * the monitor and of the page of a run. A new loss is a row here and its computation in loss.c.
 *
 * Owns no memory.
 */
#ifndef MX_MODEL_LOSSES_H
#define MX_MODEL_LOSSES_H

#include <stdint.h>

/* X(NAME, key, over, weight, words, help)
 *
 *     NAME    MX_LOSS_NAME
 *     key     in every file of a run
 *     over    what its mean is taken over: FRAMES (each the mean over its bands) or TOKENS
 *     weight  in the total, by default
 *     words   on the page of a run; Persian comes from po/fa.po, as "page KEY"
 *     help    of the setting model.KEY_weight
 *
 * The order is that of the sum and of all files: new losses come last. */
#define MX_LOSS_LIST(X)                                                                                                \
    X(MEL, mel, FRAMES, 1, "mel", "Weight of the mel loss in the total loss.")                                         \
    X(PRIOR, prior, FRAMES, 1, "alignment", "Weight of the alignment loss in the total loss.")                         \
    X(DURATION, duration, TOKENS, 1, "duration", "Weight of the duration loss in the total loss.")                     \
    X(PITCH, pitch, TOKENS, 1, "pitch", "Weight of the pitch loss in the total loss.")                                 \
    X(ENERGY, energy, TOKENS, 1, "energy", "Weight of the energy loss in the total loss.")

enum mx_model_loss {
#define X(NAME, key, over, weight, words, help) MX_LOSS_##NAME,
    MX_LOSS_LIST(X)
#undef X
        MX_MODEL_LOSSES
};

/* What each loss counts in the sum whose gradient is taken. What is reported are the losses themselves. */
struct mx_model_loss_weights {
#define X(NAME, key, over, weight, words, help) float key;
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

/* Turns the sums in losses->values into means over `tokens` and `frames` (0: that sum stays) and adds up the total. The
 * only place where losses are weighted for reports. */
void mx_model_losses_finish(struct mx_model_losses *losses, const struct mx_model_loss_weights *weights, int64_t tokens,
                            int64_t frames);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The table of optimizers, see optimizer.h.
 */
#include "train/optimizer.h"

#include "myxtts/ops.h"

const char *const mx_optimizer_state_prefixes[MX_OPTIMIZER_STATES] = {
    [MX_STATE_MOMENT1] = "moment1.",
    [MX_STATE_MOMENT2] = "moment2.",
};

static int adamw_update(struct mx_stream *stream, const struct mx_optimizer_update *u)
{
    const struct mx_optimizer_options *const o = u->options;
    return mx_adamw(stream, &(struct mx_adamw_args){.parameter = u->weights,
                                                    .gradient = u->gradients,
                                                    .moment1 = u->states[MX_STATE_MOMENT1],
                                                    .moment2 = u->states[MX_STATE_MOMENT2],
                                                    .norm = u->norm,
                                                    .ema = u->average,
                                                    .count = u->count,
                                                    .decayed = u->decayed,
                                                    .lr = (float)u->rate,
                                                    .beta1 = (float)o->beta1,
                                                    .beta2 = (float)o->beta2,
                                                    .eps = (float)o->epsilon,
                                                    .weight_decay = (float)o->weight_decay,
                                                    .ema_decay = (float)u->ema_decay,
                                                    .step = u->step});
}

const struct mx_optimizer mx_optimizers[MX_OPTIMIZERS] = {
    [MX_OPTIMIZER_ADAMW] = {.state_count = 2, .states = {MX_STATE_MOMENT1, MX_STATE_MOMENT2}, .update = adamw_update},
};

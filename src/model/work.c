/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The arithmetic of a training step, see work.h.
 */
#include "model/work.h"

#include <string.h>

#include "model/internal.h"

static bool begins(const char *name, const char *with)
{
    return strncmp(name, with, strlen(with)) == 0;
}

/* Rows that a product's weights are applied to. */
static double rows_of(const char *name, const struct mx_model_work *work)
{
    for (int i = 0; mx_mel_modules[i] != NULL; i++)
        if (begins(name, mx_mel_modules[i]->prefix)) return work->frames;
    if (begins(name, "speaker.to_")) return work->sequences;
    if (begins(name, "speaker.")) return work->references;
    return work->tokens;
}

/* Products of data, or of states where the gradient stops. */
static bool input_is_free(const char *name)
{
    return begins(name, "speaker.conv1.") || begins(name, "encoder.pitch.") || begins(name, "encoder.energy.") ||
           begins(name, "predictor.duration.conv1.");
}

double mx_parameter_flops(const struct mx_parameter *p, double rows, bool free)
{
    if (p->rank < 2 || p->init == MX_INIT_EMBEDDING) return 0;
    return (free ? 2 - p->frozen : 3 - p->frozen) * 2.0 * (double)p->count * rows;
}

double mx_model_flops(const struct mx_parameters *table, const struct mx_model_config *config,
                      const struct mx_model_work *work)
{
    double flops = 0;
    for (int i = 0; i < table->count; i++) {
        const struct mx_parameter *const p = &table->entries[i];
        flops += mx_parameter_flops(p, rows_of(p->name, work), input_is_free(p->name));
    }
    const double pairs =
        config->size.encoder_blocks * work->token_pairs + config->size.decoder_blocks * work->frame_pairs;
    return flops + 3 * 4.0 * config->size.width * pairs; /* queries by keys, and shares by values */
}

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The table of sizes, the losses, and the requirements of a configuration and of a capacity.
 */
#include "vocoder/config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/string.h"
#include "model/check.h"
#include "myxtts/error.h"

/* ---- sizes ---- */

static const struct mx_vocoder_size sizes[] = {
    {"small", 128, 4, 384}, /* 0.57 M: sounds like the recording after minutes on two cores */
    {"large", 256, 6, 768}, /*  2.7 M */
};

int mx_vocoder_size_count(void)
{
    return (int)(sizeof sizes / sizeof *sizes);
}

const struct mx_vocoder_size *mx_vocoder_size_at(int index)
{
    return &sizes[index];
}

const struct mx_vocoder_size *mx_vocoder_size_find(const char *name)
{
    for (int i = 0; i < mx_vocoder_size_count(); i++)
        if (strcmp(name, sizes[i].name) == 0) return &sizes[i];
    char names[64] = "";
    size_t length = 0;
    struct mx_string_nearest nearest;
    mx_string_nearest_start(&nearest, name);
    for (int i = 0; i < mx_vocoder_size_count(); i++) {
        length += (size_t)snprintf(names + length, sizeof names - length, "%s%s", i ? ", " : "", sizes[i].name);
        mx_string_nearest_offer(&nearest, sizes[i].name);
    }
    MX_FAIL(MX_ERR_USAGE, NULL, "there is no vocoder size \"%.32s\"", name);
    if (mx_string_nearest_best(&nearest) != NULL)
        mx_error_hint("did you mean '%s'? choose from: %s", mx_string_nearest_best(&nearest), names);
    else
        mx_error_hint("choose from: %s", names);
    return NULL;
}

/* ---- losses ---- */

const char *const mx_vocoder_loss_keys[MX_VOCODER_LOSSES] = {
#define X(NAME, key, weight, words) #key,
    MX_VOCODER_LOSS_LIST(X)
#undef X
};

const struct mx_vocoder_loss_weights mx_vocoder_loss_weights_default = {
#define X(NAME, key, weight, words) .key = (weight),
    MX_VOCODER_LOSS_LIST(X)
#undef X
};

float mx_vocoder_loss_weight(const struct mx_vocoder_loss_weights *weights, enum mx_vocoder_loss loss)
{
    const float all[MX_VOCODER_LOSSES] = {
#define X(NAME, key, weight, words) weights->key,
        MX_VOCODER_LOSS_LIST(X)
#undef X
    };
    return all[loss];
}

void mx_vocoder_losses_finish(struct mx_vocoder_losses *losses, const struct mx_vocoder_loss_weights *weights,
                              int64_t frames)
{
    losses->total = 0;
    for (enum mx_vocoder_loss k = 0; k < MX_VOCODER_LOSSES; k++) {
        if (frames > 0) losses->values[k] /= (double)frames;
        losses->total += (double)mx_vocoder_loss_weight(weights, k) * losses->values[k];
    }
}

/* ---- the configuration ---- */

struct mx_vocoder_config mx_vocoder_config_default(const struct mx_vocoder_size *size, float mel_mean,
                                                   float mel_deviation)
{
    return (struct mx_vocoder_config){
        .size = *size,
        .recipe = *MX_RECIPE_DEFAULT,
        .mel_mean = mel_mean,
        .mel_deviation = mel_deviation,
        .weights = mx_vocoder_loss_weights_default,
    };
}

struct mx_recipe mx_vocoder_burst_recipe(const struct mx_recipe *recipe)
{
    struct mx_recipe burst = *recipe;
    snprintf(burst.name, sizeof burst.name, "burst");
    burst.fft_size /= MX_VOCODER_BURST_PARTS;
    burst.hop /= MX_VOCODER_BURST_PARTS;
    burst.bands = MX_VOCODER_BURST_BANDS;
    /* Periods must fit into a frame. */
    burst.pitch_low_hz *= MX_VOCODER_BURST_PARTS;
    burst.pitch_high_hz = fminf(burst.pitch_high_hz * MX_VOCODER_BURST_PARTS, (float)burst.rate / 2);
    return burst;
}

static int recipe_check(const struct mx_recipe *recipe)
{
    const struct mx_recipe burst = mx_vocoder_burst_recipe(recipe);
    int rc = 0;
    MX_TRY(mx_recipe_check(recipe));
    if (recipe->hop % MX_VOCODER_BURST_PARTS != 0)
        MX_RAISE(MX_ERR_ARGUMENT, "a vocoder needs a hop that is a multiple of 4", "the recipe '%.31s' has a hop of %d",
                 recipe->name, (int)recipe->hop);
    MX_TRY(mx_recipe_check(&burst));
out:
    return rc;
}

int mx_vocoder_config_check(const struct mx_vocoder_config *config)
{
    const struct mx_vocoder_size *size = &config->size;
    int rc = 0;
    MX_TRY(mx_range_check(MX_ERR_CONFIG, "vocoder", "width", size->width, 1, 1 << 16));
    MX_TRY(mx_range_check(MX_ERR_CONFIG, "vocoder", "blocks", size->blocks, 1, MX_VOCODER_BLOCKS_MAX));
    MX_TRY(mx_range_check(MX_ERR_CONFIG, "vocoder", "hidden", size->hidden, 1, 1 << 20));
    MX_TRY(recipe_check(&config->recipe));
    if (!isfinite(config->mel_mean) || !isfinite(config->mel_deviation) || !(config->mel_deviation > 0))
        MX_RAISE(MX_ERR_CONFIG, "expected the mean and the deviation of the normaliser",
                 "vocoder: mean %g and deviation %g cannot have normalised a mel", (double)config->mel_mean,
                 (double)config->mel_deviation);
    for (enum mx_vocoder_loss k = 0; k < MX_VOCODER_LOSSES; k++)
        MX_TRY(mx_weight_check("vocoder", mx_vocoder_loss_keys[k], mx_vocoder_loss_weight(&config->weights, k)));
out:
    return rc;
}

/* ---- batches ---- */

int mx_vocoder_capacity_check(const struct mx_vocoder_capacity *capacity, struct mx_vocoder_capacity *out)
{
    enum { ROWS_MAX = 1 << 28 };
    struct mx_vocoder_capacity c = *capacity;
    int rc = 0;
    MX_TRY(mx_range_check(MX_ERR_ARGUMENT, "vocoder capacity", "sequences", c.sequences, 1, ROWS_MAX));
    MX_TRY(mx_range_check(MX_ERR_ARGUMENT, "vocoder capacity", "frames", c.frames, 1, ROWS_MAX));
    MX_TRY(mx_range_check(MX_ERR_ARGUMENT, "vocoder capacity", "longest_frames", c.longest_frames, 0, c.frames));
    if (c.longest_frames == 0) c.longest_frames = c.frames;
    *out = c;
out:
    return rc;
}

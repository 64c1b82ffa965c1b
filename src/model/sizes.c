/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The one table of sizes, and the requirements of a configuration.
 */
#include "model/sizes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/string.h"
#include "model/check.h"
#include "myxtts/error.h"
#include "myxtts/ops.h"

/* Parameters (80 symbols, one language): a block has 20 width² and a little, nearly all there is. `myxtts train
 * --dry-run` prints the exact count of the model at hand. */
static const struct mx_model_size sizes[] = {
    {"tiny", 192, 2, 4, 4, 768},    /*   7.0 M: learns to speak on two CPU cores */
    {"small", 256, 4, 6, 6, 1024},  /*  17.6 M */
    {"normal", 384, 6, 6, 6, 1536}, /*  39.5 M */
    {"base", 512, 8, 8, 8, 2048},   /*  91.1 M */
    {"big", 768, 12, 10, 10, 3072}, /* 251.9 M */
};

int mx_model_size_count(void)
{
    return (int)(sizeof sizes / sizeof *sizes);
}

const struct mx_model_size *mx_model_size_at(int index)
{
    return &sizes[index];
}

const struct mx_model_size *mx_model_size_find(const char *name)
{
    char names[128] = "";
    size_t length = 0;
    struct mx_string_nearest nearest;
    mx_string_nearest_start(&nearest, name);
    for (int i = 0; i < mx_model_size_count(); i++) {
        if (strcmp(name, sizes[i].name) == 0) return &sizes[i];
        length += (size_t)snprintf(names + length, sizeof names - length, "%s%s", i ? ", " : "", sizes[i].name);
        mx_string_nearest_offer(&nearest, sizes[i].name);
    }
    MX_FAIL(MX_ERR_USAGE, NULL, "there is no model size \"%.32s\"", name);
    if (mx_string_nearest_best(&nearest) != NULL)
        mx_error_hint("did you mean '%s'? choose from: %s", mx_string_nearest_best(&nearest), names);
    else
        mx_error_hint("choose from: %s", names);
    return NULL;
}

struct mx_model_config mx_model_config_default(const struct mx_model_size *size, int32_t vocabulary, int32_t languages)
{
    return (struct mx_model_config){
        .size = *size,
        .vocabulary = vocabulary,
        .languages = languages,
        .bands = MX_MODEL_BANDS,
        .dropout = MX_MODEL_DROPOUT,
        .weights = mx_model_loss_weights_default,
        .diagonal = MX_MODEL_DIAGONAL,
    };
}

int mx_model_config_check(const struct mx_model_config *config)
{
    const struct mx_model_size *size = &config->size;
    int rc = 0;
    MX_TRY(mx_range_check(MX_ERR_CONFIG, "model", "width", size->width, 2, 1 << 16));
    MX_TRY(mx_range_check(MX_ERR_CONFIG, "model", "heads", size->heads, 1, size->width / 2));
    if (size->width % (2 * size->heads) != 0)
        MX_RAISE(MX_ERR_CONFIG, "expected a width that is a multiple of twice the heads",
                 "model: %d heads cannot divide a width of %d evenly", size->heads, size->width);
    MX_TRY(mx_range_check(MX_ERR_CONFIG, "model", "width of a head", size->width / size->heads, 2,
                          MX_ATTENTION_WIDTH_MAX));
    MX_TRY(mx_range_check(MX_ERR_CONFIG, "model", "hidden", size->hidden, 1, 1 << 20));
    MX_TRY(mx_range_check(MX_ERR_CONFIG, "model", "encoder_blocks", size->encoder_blocks, 1, MX_MODEL_BLOCKS_MAX));
    MX_TRY(mx_range_check(MX_ERR_CONFIG, "model", "decoder_blocks", size->decoder_blocks, 1, MX_MODEL_BLOCKS_MAX));
    MX_TRY(mx_range_check(MX_ERR_CONFIG, "model", "vocabulary", config->vocabulary, 1, 1 << 20));
    MX_TRY(mx_range_check(MX_ERR_CONFIG, "model", "languages", config->languages, 1, 1 << 16));
    MX_TRY(mx_range_check(MX_ERR_CONFIG, "model", "bands", config->bands, 1, 1024));
    if (!(config->dropout >= 0 && config->dropout < 1))
        MX_RAISE(MX_ERR_CONFIG, "expected 0 or more and less than 1", "model: dropout is %g", (double)config->dropout);
    if (!isfinite(config->diagonal) || config->diagonal < 0)
        MX_RAISE(MX_ERR_CONFIG, "expected a finite number, 0 or more", "model: diagonal is %g",
                 (double)config->diagonal);
    for (enum mx_model_loss k = 0; k < MX_MODEL_LOSSES; k++)
        MX_TRY(mx_weight_check("model", mx_model_loss_keys[k], mx_model_loss_weight(&config->weights, k)));
out:
    return rc;
}

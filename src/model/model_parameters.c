/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Turns the lists in model_parameters.h into the table and the positions of one configuration.
 *
 * Each part's struct of positions (struct mx_block_at and the others) is an array of int64_t in the order of its list.
 */
#include "model/model_parameters.h"

#include <stdio.h>
#include <string.h>

enum { SPEAKER, ENCODER, BLOCK, PREDICTOR, DECODER, LISTS };

#define LINES_MAX 16 /* of one list */
#define PARTS_MAX (3 + MX_PREDICTORS + 2 * MX_MODEL_BLOCKS_MAX)

struct list {
    struct mx_parameter_line lines[LINES_MAX];
    int count;
};

/* The lists in terms of one configuration. */
static void lists_build(const struct mx_model_config *config, struct list lists[LISTS])
{
    const int64_t W = config->size.width, H = config->size.hidden, B = config->bands;
    const int64_t V = config->vocabulary, L = config->languages;
#define LIST(which, part, LIST_OF)                                                                                     \
    {                                                                                                                  \
        const struct mx_parameter_line lines[] = {LIST_OF(MX_PARAMETER_LINE)};                                         \
        _Static_assert(sizeof lines <= LINES_MAX * sizeof *lines, "LINES_MAX is too small");                           \
        _Static_assert(sizeof(struct mx_##part##_at) == sizeof lines / sizeof *lines * sizeof(int64_t), "one each");   \
        memcpy(lists[which].lines, lines, sizeof lines);                                                               \
        lists[which].count = (int)(sizeof lines / sizeof *lines);                                                      \
    }
    LIST(SPEAKER, speaker, MX_SPEAKER_PARAMETERS)
    LIST(ENCODER, encoder, MX_ENCODER_PARAMETERS)
    LIST(BLOCK, block, MX_BLOCK_PARAMETERS)
    LIST(PREDICTOR, predictor, MX_PREDICTOR_PARAMETERS)
    LIST(DECODER, decoder, MX_DECODER_PARAMETERS)
#undef LIST
}

static struct mx_parameter_part part_of(const char *name, const struct list *list, void *at)
{
    struct mx_parameter_part part = {.lines = list->lines, .count = list->count, .at = at};
    snprintf(part.name, sizeof part.name, "%s", name);
    return part;
}

static int blocks_of(const char *stack, const struct list *list, struct mx_block_at *at, int blocks,
                     struct mx_parameter_part *out)
{
    for (int i = 0; i < blocks; i++) {
        out[i] = part_of("", list, &at[i]);
        out[i].blocks = blocks;
        snprintf(out[i].name, sizeof out[i].name, "%s.block.%d", stack, i);
    }
    return blocks;
}

/* Also the order in the flat buffer, on which the backward pass relies. */
static int parts_of(const struct mx_model_config *config, const struct list lists[LISTS], struct mx_model_at *at,
                    struct mx_parameter_part out[PARTS_MAX])
{
    static const char *const predictors[MX_PREDICTORS] = {"predictor.duration", "predictor.pitch", "predictor.energy"};
    const struct mx_model_size *const size = &config->size;
    int count = 0;
    out[count++] = part_of("speaker", &lists[SPEAKER], &at->speaker);
    out[count++] = part_of("encoder", &lists[ENCODER], &at->encoder);
    count += blocks_of("encoder", &lists[BLOCK], at->encoder_blocks, size->encoder_blocks, out + count);
    for (int i = 0; i < MX_PREDICTORS; i++)
        out[count++] = part_of(predictors[i], &lists[PREDICTOR], &at->predictors[i]);
    out[count++] = part_of("decoder", &lists[DECODER], &at->decoder);
    count += blocks_of("decoder", &lists[BLOCK], at->decoder_blocks, size->decoder_blocks, out + count);
    /* LoRA adapters learn how a voice speaks, not how voices differ. */
    for (int i = 1; i < count; i++) out[i].adapts = true;
    return count;
}

int mx_model_parameters_create(const struct mx_model_config *config, struct mx_model_at *at, struct mx_parameters **out)
{
    struct list lists[LISTS];
    struct mx_parameter_part parts[PARTS_MAX];
    struct mx_model_at unwanted;
    *out = NULL;
    const int rc = mx_model_config_check(config);
    if (rc < 0) return rc;
    lists_build(config, lists);
    return mx_parameters_create(parts, parts_of(config, lists, at ? at : &unwanted, parts), &config->learning, out);
}

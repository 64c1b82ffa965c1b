/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Turns the lists in internal.h into the table and the positions of one configuration. The parts stand in the table in
 * the order in which the forward pass meets them, so the backward pass finishes the decayed parameters from the last to
 * the first.
 */
#include <stdio.h>

#include "myxtts/error.h"
#include "vocoder/internal.h"

#define PARTS_MAX (2 + MX_VOCODER_BLOCKS_MAX)
#define LINES(LIST_OF)                                                                                                 \
    {                                                                                                                  \
        LIST_OF(MX_PARAMETER_LINE)                                                                                     \
    }
#define COUNT(lines) ((int)(sizeof(lines) / sizeof *(lines)))

int mx_vocoder_table_create(const struct mx_vocoder_config *config, struct mx_vocoder_at *at,
                            struct mx_parameters **out)
{
    const int64_t W = config->size.width, H = config->size.hidden, B = config->recipe.bands;
    const int64_t K = mx_vocoder_bins(config), C = MX_VOCODER_OUTPUTS, E = MX_VOCODER_BURST;
    const struct mx_parameter_line input[] = LINES(MX_VOCODER_INPUT_PARAMETERS);
    const struct mx_parameter_line block[] = LINES(MX_VOCODER_BLOCK_PARAMETERS);
    const struct mx_parameter_line head[] = LINES(MX_VOCODER_HEAD_PARAMETERS);
    struct mx_parameter_part parts[PARTS_MAX];
    int count = 0;
    *out = NULL;
    const int rc = mx_vocoder_config_check(config);
    if (rc < 0) return rc;
    /* The structs of positions are arrays of int64_t in the order of their lists. */
    parts[count++] = (struct mx_parameter_part){"vocoder.input", input, COUNT(input), .at = (int64_t *)&at->input};
    for (int i = 0; i < config->size.blocks; i++) {
        parts[count] = (struct mx_parameter_part){"", block, COUNT(block), .at = (int64_t *)&at->blocks[i],
                                                  .blocks = config->size.blocks};
        snprintf(parts[count].name, sizeof parts[count].name, "vocoder.block.%d", i);
        count++;
    }
    parts[count++] = (struct mx_parameter_part){"vocoder", head, COUNT(head), .at = (int64_t *)&at->head};
    return mx_parameters_create(parts, count, &config->learning, out);
}

int mx_vocoder_parameters_create(const struct mx_vocoder_config *config, struct mx_parameters **out)
{
    struct mx_vocoder_at unwanted;
    return mx_vocoder_table_create(config, &unwanted, out);
}

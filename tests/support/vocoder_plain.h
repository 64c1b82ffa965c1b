/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The vocoder's network once more, in plain C and double, of one segment at a time and nothing shared with the one that
 * is tested: the tables of bands come from the recipe's formulas, the parameters are found by their names.
 *
 * Memory: nothing is kept. Failures end the test.
 */
#ifndef MX_TESTS_SUPPORT_VOCODER_PLAIN_H
#define MX_TESTS_SUPPORT_VOCODER_PLAIN_H

#include "support/vocoder_rig.h"

struct vocoder_plain {
    double magnitude[SEGMENT_FRAMES_MAX * SEGMENT_BINS];
    double logits[SEGMENT_FRAMES_MAX * (MX_VOCODER_CLASSES + 1)];
    double burst[SEGMENT_FRAMES_MAX * MX_VOCODER_BURST];
    double losses[MX_VOCODER_LOSSES]; /* sums over frames; magnitude, burst: of the means over columns */
};

/* Of a network as vocoder_rig_config has it, with the weights `flat` [table->floats]. */
void vocoder_plain_run(const struct mx_vocoder_config *config, const struct mx_parameters *table, const float *flat,
                       const struct segment *segment, struct vocoder_plain *out);

#endif

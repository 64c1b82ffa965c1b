/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The acoustic network (MODEL.md) as a part of an ONNX graph: ids of symbols become a mel, with the durations that
 * mx_model_synthesize finds.
 *
 * The voices do not go into the graph as recordings: the caller runs the speaker encoder once for each speaker and
 * passes its vectors, from which mx_export_acoustic makes the two rows that the network adds (with the language's).
 *
 * Durations are rounded as in src/model/synthesize.c, where each token takes what the running sum S still lacks, rounded,
 * but at least 1. Without a loop: the end of token i (counted from 1) is
 *
 *     N_i = i + max(0, max_{j ≤ i} (⌊S_j + ½⌋ - j))
 *
 * because the sum of the durations is ⌊S_j + ½⌋ after the last token j that got more than 1, and grows by 1 after it.
 *
 * Memory: nothing is kept.
 */
#ifndef MX_EXPORT_ACOUSTIC_H
#define MX_EXPORT_ACOUSTIC_H

#include "export/layers.h"
#include "model/sizes.h"

struct mx_export_speech {
    const struct mx_model_config *config;
    int32_t language;     /* its number in the vocabulary */
    int32_t speakers;     /* at least 1 */
    const float *vectors; /* [speakers, width]: struct mx_model_view.voices */
};

struct mx_export_acoustic_inputs {
    struct mx_onnx_value tokens;  /* int64 [tokens]: numbers of the vocabulary, BOS and EOS included */
    struct mx_onnx_value speaker; /* int64 [1]; absent with one speaker */
    struct mx_onnx_value slower;  /* float, a scalar: durations are multiplied by it; 1/speed */
};

struct mx_export_acoustic_outputs {
    struct mx_onnx_value mel;       /* [frames, bands], normalised */
    struct mx_onnx_value frames;    /* int64, a scalar */
    struct mx_onnx_value durations; /* int64 [tokens] */
};

struct mx_export_acoustic_outputs mx_export_acoustic(const struct mx_export *e, const struct mx_export_speech *speech,
                                                     const struct mx_export_acoustic_inputs *in);

#endif

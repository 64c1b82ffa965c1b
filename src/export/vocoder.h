/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The vocoder's network (MODEL.md) as a part of an ONNX graph: mel to the magnitudes of all bins, to pitch, and to the
 * coarse mel of short frames.
 *
 * Memory: nothing is kept.
 */
#ifndef MX_EXPORT_VOCODER_H
#define MX_EXPORT_VOCODER_H

#include "export/spectrum.h"
#include "vocoder/config.h"

struct mx_export_vocoder_outputs {
    struct mx_onnx_value mel;       /* [1, bands, frames], not normalised any more */
    struct mx_onnx_value magnitude; /* [1, bins, frames]: ln magnitudes */
    struct mx_onnx_value logits;    /* [frames, MX_VOCODER_CLASSES + 1] */
    struct mx_onnx_value short_mel; /* [1, MX_VOCODER_BURST_BANDS, short frames], not normalised */
};

/* mel [frames, bands], normalised. `e` has the vocoder's table and weights. */
struct mx_export_vocoder_outputs mx_export_vocoder(const struct mx_export *e, const struct mx_vocoder_config *config,
                                                   const struct mx_export_frames *frames, struct mx_onnx_value mel);

#endif

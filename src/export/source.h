/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The source of a voice as nodes of an ONNX graph: from the classes of pitch to the path through them, its pitch, gate and
 * phase (vocoder/path.h), and from those to harmonics (operation harmonics of myxtts/ops.h).
 *
 * The search is exactly ours, look-ahead and ties included: a Scan goes through the frames, another one goes back from
 * each frame's horizon. Its scores are whole numbers, kept as doubles, since not all runtimes compare integers.
 *
 * Memory: nothing is kept.
 */
#ifndef MX_EXPORT_SOURCE_H
#define MX_EXPORT_SOURCE_H

#include "export/layers.h"
#include "features/recipe.h"

struct mx_export_track {
    struct mx_onnx_value hz, gate, phase; /* float [frames]; phases in turns */
};

/* logits [frames, MX_VOCODER_CLASSES + 1] */
struct mx_export_track mx_export_path(struct mx_onnx *onnx, const struct mx_recipe *recipe,
                                      struct mx_onnx_value logits);

/* The harmonics [samples] of a track whose pitch is nowhere below MX_VOCODER_LOW_HZ. */
struct mx_onnx_value mx_export_harmonics(struct mx_onnx *onnx, const struct mx_recipe *recipe,
                                         const struct mx_export_track *track);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The noise of a sound as nodes of an ONNX graph: the same numbers as the operation noise makes (base/rng.h, Philox),
 * because ONNX has no generator that gives the same numbers everywhere.
 *
 * The noise of the first MX_EXPORT_NOISE_FRAMES frames (11.9 seconds) is a table in the file, 1 MB. What follows is
 * computed. ONNX has no exclusive or of numbers before opset 18, so words are doubles, which hold all products exactly,
 * and a table of three hexadecimal digits takes the place of that operation. A second of this noise takes nearly as
 * long as everything else in a second of speech; hence the table for the beginning.
 *
 * Memory: nothing is kept.
 */
#ifndef MX_EXPORT_NOISE_H
#define MX_EXPORT_NOISE_H

#include "export/layers.h"
#include "features/recipe.h"

#define MX_EXPORT_NOISE_FRAMES 1024

/* The noise between `frames` frames, a scalar, int64: float [(frames - 1) · hop]. */
struct mx_onnx_value mx_export_noise(struct mx_onnx *onnx, const struct mx_recipe *recipe, uint64_t seed,
                                     struct mx_onnx_value frames);

#endif

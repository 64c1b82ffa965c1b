/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Sound to spectra and back as nodes of an ONNX graph: what the operations spectrum, overlap_add, griffin_step and
 * mel_project do (myxtts/ops.h), for one utterance of at least two frames.
 *
 * A spectrum is two values [1, bins, frames], its real and its imaginary parts. Transforms are convolutions with cosines
 * and sines, because ONNX has no inverse transform that all runtimes have. The file holds only a circle of fft_size
 * cosines and as many sines; the kernels, 4 MB each, are gathered from it by nodes without inputs, which runtimes
 * compute once when they load the file.
 *
 * Memory: the frames own the tables of their recipe, from mx_export_frames_open to mx_export_frames_close.
 */
#ifndef MX_EXPORT_SPECTRUM_H
#define MX_EXPORT_SPECTRUM_H

#include "export/layers.h"
#include "features/recipe.h"

/* The constants of a recipe, and what depends on the length of the utterance. */
struct mx_export_frames {
    struct mx_onnx *onnx;
    const struct mx_recipe *recipe;
    struct mx_recipe_tables tables;
    struct mx_onnx_value analysis, synthesis; /* [2 bins, 1, fft_size]: kernels */
    struct mx_onnx_value bands;  /* [bands, bins]: the weights of the bins in each band; made by the first projection */
    struct mx_onnx_value spread; /* [bins, bands]: bins between bands (`places` of mel_project) */
    struct mx_onnx_value samples;   /* int64, a scalar: (frames - 1) · hop */
    struct mx_onnx_value reflected; /* int64 [samples + fft_size]: which sample stands where, ends reflected */
    struct mx_onnx_value weights;   /* [1, 1, samples]: Σ window², at least `least` of overlap_add */
};

/* The constants; `frames` is a scalar, int64. `recipe` is borrowed. */
void mx_export_frames_open(struct mx_export_frames *f, struct mx_onnx *onnx, const struct mx_recipe *recipe,
                           struct mx_onnx_value frames);
void mx_export_frames_close(struct mx_export_frames *f);

struct mx_export_complex {
    struct mx_onnx_value real, imaginary; /* [1, bins, frames] */
};

/* audio [samples] → spectrum, and back. */
struct mx_export_complex mx_export_analyse(const struct mx_export_frames *f, struct mx_onnx_value audio);
struct mx_onnx_value mx_export_resound(const struct mx_export_frames *f, const struct mx_export_complex *spectrum);

#define MX_EXPORT_LEAST_SQUARE 0x1p-100 /* of a number that has a direction */

/* |u|² */
struct mx_onnx_value mx_export_square(struct mx_onnx *onnx, const struct mx_export_complex *u);
/* magnitude · u/|u|, or the magnitude itself where |u|² < MX_EXPORT_LEAST_SQUARE. */
struct mx_export_complex mx_export_direct(struct mx_onnx *onnx, const struct mx_export_complex *u,
                                          struct mx_onnx_value magnitude);
/* u = now + momentum · (now - before) */
struct mx_export_complex mx_export_overshoot(struct mx_onnx *onnx, const struct mx_export_complex *now,
                                             const struct mx_export_complex *before, double momentum);
/* The mel [1, bands, frames], not normalised, spread over all bins: [1, bins, frames] (operation mel_base). */
struct mx_onnx_value mx_export_base(const struct mx_export_frames *f, struct mx_onnx_value mel);

/* What a spectrum comes closer to, and how: as in struct mx_mel_project_args. */
struct mx_export_projection {
    struct mx_onnx_value mel; /* [1, bands, frames], not normalised */
    int rounds;               /* at least 1 */
    double lower, raise;
};

/* The spectrum with its own phases and bands closer to the mel; *magnitude (optional) becomes its magnitudes then. */
struct mx_export_complex mx_export_project(struct mx_export_frames *f, const struct mx_export_complex *spectrum,
                                           const struct mx_export_projection *how, struct mx_onnx_value *magnitude);

#endif

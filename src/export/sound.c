/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Mel to sound as nodes, see sound.h.
 */
#include "export/sound.h"

#include <math.h>

#include "base/alloc.h"
#include "export/noise.h"
#include "export/source.h"
#include "export/spectrum.h"
#include "export/vocoder.h"
#include "myxtts/error.h"
#include "vocoder/sound_numbers.h"

#define EXPONENT_MAX 80.0 /* of magnitudes */

/* The phases that a sound begins with: those of the harmonics and of noise. */
static struct mx_export_complex excite(const struct mx_export_frames *f, const struct mx_export_sound *sound,
                                       struct mx_onnx_value harmonics, struct mx_onnx_value noise)
{
    struct mx_onnx *const o = f->onnx;
    const int64_t bins = f->recipe->fft_size / 2 + 1;
    struct mx_export_complex u = {{.name = ""}, {.name = ""}};
    float *const values = mx_alloc((size_t)bins, sizeof *values);
    if (values == NULL) {
        o->graph.failure = MX_ERR_NO_MEMORY;
        return u;
    }
    mx_sound_gain_fill(&sound->config->recipe, values);
    const struct mx_onnx_value gain = mx_onnx_tensor(o, NULL, MX_ONNX_FLOAT, (const int64_t[]){bins, 1}, 2, values);
    mx_free(values);
    const struct mx_export_complex a = mx_export_analyse(f, harmonics), b = mx_export_analyse(f, noise);
    u.real = MX_ONNX(o, "Add", a.real, MX_ONNX(o, "Mul", b.real, gain));
    u.imaginary = MX_ONNX(o, "Add", a.imaginary, MX_ONNX(o, "Mul", b.imaginary, gain));
    return u;
}

/* The mel with its contrast. */
static struct mx_onnx_value contrast(struct mx_onnx *o, double factor, struct mx_onnx_value mel)
{
    const struct mx_onnx_value mean =
        MX_ONNX_WITH(o, "ReduceMean", (MX_ONNX_A_INTS("axes", 0), MX_ONNX_A_INT("keepdims", 1)), mel);
    return MX_ONNX(o, "Add", MX_ONNX(o, "Mul", mel, mx_onnx_real(o, factor)),
                   MX_ONNX(o, "Mul", mean, mx_onnx_real(o, 1 - factor)));
}

/* `level` with the texture of the source u. */
static struct mx_onnx_value texture(const struct mx_export_frames *f, const struct mx_export_sound *sound,
                                    struct mx_onnx_value level, const struct mx_export_complex *u)
{
    struct mx_onnx *const o = f->onnx;
    const int64_t reach = MX_SOUND_TEXTURE_REACH;
    const double least = (double)MX_SOUND_TEXTURE_LEAST;
    const struct mx_onnx_value power =
        mx_export_unsqueeze(o, MX_ONNX(o, "Max", mx_export_square(o, u), mx_onnx_real(o, MX_EXPORT_LEAST_SQUARE)), 0);
    const struct mx_onnx_value mean = MX_ONNX_WITH(
        o, "AveragePool",
        (MX_ONNX_A_INTS("kernel_shape", 2 * reach + 1, 1), MX_ONNX_A_INTS("pads", reach, 0, reach, 0)), power);
    const struct mx_onnx_value ratio = mx_export_squeeze(o, MX_ONNX(o, "Div", power, mean), 0);
    const struct mx_onnx_value bounded = MX_ONNX(o, "Max", ratio, mx_onnx_real(o, least * least));
    const struct mx_onnx_value scaled =
        MX_ONNX(o, "Mul", MX_ONNX(o, "Log", bounded), mx_onnx_real(o, 0.5 * sound->texture));
    return MX_ONNX(o, "Add", level, scaled);
}

/* Lowers the short frames of the sound to the short mel. */
static struct mx_onnx_value attenuate(struct mx_onnx *o, const struct mx_recipe *recipe, struct mx_onnx_value frames,
                                      struct mx_onnx_value short_mel, struct mx_onnx_value audio)
{
    const struct mx_recipe shorter = mx_vocoder_burst_recipe(recipe);
    const struct mx_export_projection how = {.mel = short_mel, .rounds = 1, .lower = MX_SOUND_ATTENUATE_LIMIT};
    const struct mx_onnx_value one = mx_onnx_int(o, 1), gaps = MX_ONNX(o, "Sub", frames, one);
    const struct mx_onnx_value all = MX_ONNX(o, "Mul", gaps, mx_onnx_int(o, MX_VOCODER_BURST_PARTS));
    struct mx_export_frames f;
    mx_export_frames_open(&f, o, &shorter, MX_ONNX(o, "Add", all, one));
    const struct mx_export_complex now = mx_export_analyse(&f, audio);
    const struct mx_export_complex lowered = mx_export_project(&f, &now, &how, NULL);
    audio = mx_export_resound(&f, &lowered);
    mx_export_frames_close(&f);
    return audio;
}

struct mx_onnx_value mx_export_sound(const struct mx_export *e, const struct mx_export_sound *sound,
                                     struct mx_onnx_value mel, struct mx_onnx_value frames)
{
    struct mx_onnx *const o = e->onnx;
    const struct mx_recipe *const recipe = &sound->config->recipe;
    struct mx_export_frames f;
    mx_export_frames_open(&f, o, recipe, frames);
    if (sound->contrast > 1) mel = contrast(o, sound->contrast, mel);
    const struct mx_export_vocoder_outputs net = mx_export_vocoder(e, sound->config, &f, mel);
    const struct mx_export_track track = mx_export_path(o, recipe, net.logits);
    const struct mx_onnx_value harmonics = mx_export_harmonics(o, recipe, &track);
    const struct mx_export_complex u = excite(&f, sound, harmonics, mx_export_noise(o, recipe, sound->seed, frames));
    const struct mx_onnx_value level = sound->texture > 0 ? texture(&f, sound, net.magnitude, &u) : net.magnitude;
    struct mx_onnx_value magnitude =
        MX_ONNX(o, "Exp", MX_ONNX(o, "Clip", level, mx_onnx_real(o, -EXPONENT_MAX), mx_onnx_real(o, EXPONENT_MAX)));
    struct mx_export_complex y = mx_export_direct(o, &u, magnitude), before = y;
    struct mx_export_projection match = {.mel = net.mel,
                                         .rounds = MX_SOUND_MATCH_ROUNDS,
                                         .lower = MX_SOUND_PROJECT_LIMIT,
                                         .raise = MX_SOUND_PROJECT_LIMIT};
    if (sound->projections > 0) y = mx_export_project(&f, &y, &match, &magnitude);
    struct mx_onnx_value audio = mx_export_resound(&f, &y);
    for (int i = 0; i < sound->rounds; i++) {
        const struct mx_export_complex now = mx_export_analyse(&f, audio);
        const struct mx_export_complex ahead = i == 0 ? now : mx_export_overshoot(o, &now, &before, sound->momentum);
        y = mx_export_direct(o, &ahead, magnitude);
        audio = mx_export_resound(&f, &y);
        before = now;
    }
    audio = attenuate(o, recipe, frames, net.short_mel, audio);
    match.rounds = MX_SOUND_PROJECT_ROUNDS;
    for (int i = 0; i < sound->projections; i++) {
        const struct mx_export_complex now = mx_export_analyse(&f, audio);
        y = mx_export_project(&f, &now, &match, NULL);
        audio = mx_export_resound(&f, &y);
    }
    mx_export_frames_close(&f);
    return audio;
}

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Harmonics as nodes, see source.h: [frames - 1, hop] values, a row for the samples between two frames. As in
 * src/device/cpu/isa/source.c harmonics of full weight are one term, Dirichlet's kernel, and those that fade are added
 * one by one, here by a Scan.
 */
#include "export/source.h"

#include <math.h>

#include "myxtts/ops.h"
#include "vocoder/config.h"
#include "vocoder/sound_numbers.h"

/* x less the nearest whole number, for double x: turns within ±½, as float. */
static struct mx_onnx_value turns_of(struct mx_onnx *o, struct mx_onnx_value x)
{
    return mx_export_cast(o, MX_ONNX(o, "Sub", x, MX_ONNX(o, "Round", x)), MX_ONNX_FLOAT);
}

/* A value of each frame: at the row's frame [rows, 1] and its difference to the next. */
struct stretch {
    struct mx_onnx_value at, rise;
};

static struct stretch stretch_of(struct mx_onnx *o, struct mx_onnx_value x)
{
    const struct mx_onnx_value at = mx_export_unsqueeze(o, mx_export_slice(o, x, 0, -1, 0), 1);
    const struct mx_onnx_value next = mx_export_unsqueeze(o, mx_export_slice(o, x, 1, MX_EXPORT_END, 0), 1);
    return (struct stretch){at, MX_ONNX(o, "Sub", next, at)};
}

static struct mx_onnx_value linear(struct mx_onnx *o, const struct stretch *s, struct mx_onnx_value between)
{
    return MX_ONNX(o, "Add", s->at, MX_ONNX(o, "Mul", s->rise, between));
}

/* The phase of each sample in turns, double, from that of its frame. */
static struct mx_onnx_value phase_of(struct mx_onnx *o, const struct mx_recipe *recipe, struct mx_onnx_value phase,
                                     const struct stretch *hz, struct mx_onnx_value sample)
{
    const struct mx_onnx_value at = mx_export_cast(o, sample, MX_ONNX_DOUBLE);
    const struct mx_onnx_value first =
        MX_ONNX(o, "Mul", mx_export_cast(o, hz->at, MX_ONNX_DOUBLE), mx_onnx_double(o, 1.0 / recipe->rate));
    const struct mx_onnx_value bend = MX_ONNX(o, "Mul", mx_export_cast(o, hz->rise, MX_ONNX_DOUBLE),
                                              mx_onnx_double(o, 1.0 / (2.0 * recipe->hop * recipe->rate)));
    const struct mx_onnx_value rate = MX_ONNX(o, "Add", first, MX_ONNX(o, "Mul", bend, at));
    const struct mx_onnx_value start =
        mx_export_cast(o, mx_export_unsqueeze(o, mx_export_slice(o, phase, 0, -1, 0), 1), MX_ONNX_DOUBLE);
    return MX_ONNX(o, "Add", start, MX_ONNX(o, "Mul", rate, at));
}

/* Σ_{k ≤ full} cos 2πkt = ½ (sin π(2 full + 1)t/sin πt - 1) */
static struct mx_onnx_value even_sum(struct mx_onnx *o, struct mx_onnx_value full, struct mx_onnx_value turns)
{
    const struct mx_onnx_value half = mx_onnx_real(o, 0.5), pi = mx_onnx_real(o, acos(-1));
    const struct mx_onnx_value factor =
        MX_ONNX(o, "Add", MX_ONNX(o, "Mul", full, mx_onnx_real(o, 2)), mx_onnx_real(o, 1));
    /* The sine of half turns repeats after two of them. */
    const struct mx_onnx_value halves =
        MX_ONNX(o, "Mul",
                MX_ONNX(o, "Mul", mx_export_cast(o, factor, MX_ONNX_DOUBLE), mx_export_cast(o, turns, MX_ONNX_DOUBLE)),
                mx_onnx_double(o, 0.5));
    const struct mx_onnx_value top =
        MX_ONNX(o, "Sin", MX_ONNX(o, "Mul", turns_of(o, halves), mx_onnx_real(o, 2 * acos(-1))));
    const struct mx_onnx_value zero = MX_ONNX(o, "Less", MX_ONNX(o, "Abs", turns), mx_onnx_real(o, 1e-9));
    const struct mx_onnx_value safe = MX_ONNX(o, "Where", zero, half, turns);
    const struct mx_onnx_value quotient = MX_ONNX(o, "Div", top, MX_ONNX(o, "Sin", MX_ONNX(o, "Mul", safe, pi)));
    const struct mx_onnx_value kernel = MX_ONNX(o, "Where", zero, factor, quotient);
    return MX_ONNX(o, "Sub", MX_ONNX(o, "Mul", kernel, half), half);
}

/* Adds the harmonics above `full` that still have some weight to `sum`. */
static struct mx_onnx_value faded_add(struct mx_onnx *o, const struct mx_recipe *recipe, struct mx_onnx_value sum,
                                      struct mx_onnx_value full, struct mx_onnx_value turns, struct mx_onnx_value hz)
{
    struct mx_onnx body = {.prefix = "fade"};
    struct mx_onnx_value results[1];
    const struct mx_onnx_dimension shape[] = {{"gaps", 0}, {"hop", 0}};
    const double limit_hz = (double)mx_sound_limit_hz(recipe), fade_hz = (double)mx_sound_fade_hz(recipe);
    const int64_t terms = (int64_t)(fade_hz / (double)MX_VOCODER_LOW_HZ) + 1;
    const struct mx_onnx_value before = mx_onnx_input(&body, "fade_sum", MX_ONNX_FLOAT, shape, 2);
    const struct mx_onnx_value term = mx_onnx_input(&body, "fade_term", MX_ONNX_INT64, NULL, 0);
    const struct mx_onnx_value one = mx_onnx_int(&body, 1);
    const struct mx_onnx_value after = mx_export_cast(&body, MX_ONNX(&body, "Add", term, one), MX_ONNX_FLOAT);
    const struct mx_onnx_value k = MX_ONNX(&body, "Add", full, after);
    const struct mx_onnx_value left =
        MX_ONNX(&body, "Sub", mx_onnx_real(&body, limit_hz), MX_ONNX(&body, "Mul", k, hz));
    const struct mx_onnx_value weight =
        MX_ONNX(&body, "Clip", MX_ONNX(&body, "Mul", left, mx_onnx_real(&body, 1 / fade_hz)), mx_onnx_real(&body, 0),
                mx_onnx_real(&body, 1));
    const struct mx_onnx_value rest = turns_of(&body, MX_ONNX(&body, "Mul", mx_export_cast(&body, k, MX_ONNX_DOUBLE),
                                                              mx_export_cast(&body, turns, MX_ONNX_DOUBLE)));
    const struct mx_onnx_value wave =
        MX_ONNX(&body, "Cos", MX_ONNX(&body, "Mul", rest, mx_onnx_real(&body, 2 * acos(-1))));
    const struct mx_onnx_value more = MX_ONNX(&body, "Add", before, MX_ONNX(&body, "Mul", weight, wave));
    mx_onnx_output(&body, more, "fade_next", MX_ONNX_FLOAT, shape, 2);
    const struct mx_onnx_value list = mx_export_range(o, mx_onnx_int(o, terms));
    mx_onnx_add(
        o,
        &(struct mx_onnx_node){.type = "Scan",
                               .in = {sum, list},
                               .attributes = {MX_ONNX_A_GRAPH("body", &body), MX_ONNX_A_INT("num_scan_inputs", 1)}},
        results, 1);
    mx_onnx_release(&body);
    return results[0];
}

struct mx_onnx_value mx_export_harmonics(struct mx_onnx *o, const struct mx_recipe *recipe,
                                         const struct mx_export_track *track)
{
    const double limit_hz = (double)mx_sound_limit_hz(recipe), fade_hz = (double)mx_sound_fade_hz(recipe);
    const struct mx_onnx_value sample =
        mx_export_cast(o, mx_export_range(o, mx_onnx_int(o, recipe->hop)), MX_ONNX_FLOAT); /* [hop] */
    const struct mx_onnx_value between = MX_ONNX(o, "Mul", sample, mx_onnx_real(o, 1.0 / recipe->hop));
    const struct mx_onnx_value bounded =
        MX_ONNX(o, "Clip", track->hz, mx_onnx_real(o, (double)MX_HARMONICS_LEAST_HZ), mx_onnx_real(o, limit_hz));
    const struct stretch hz = stretch_of(o, bounded), gate = stretch_of(o, track->gate);
    const struct mx_onnx_value turns = turns_of(o, phase_of(o, recipe, track->phase, &hz, sample));
    const struct mx_onnx_value pitch = linear(o, &hz, between);
    const struct mx_onnx_value full =
        MX_ONNX(o, "Floor", MX_ONNX(o, "Div", mx_onnx_real(o, limit_hz - fade_hz), pitch));
    const struct mx_onnx_value sum = faded_add(o, recipe, even_sum(o, full, turns), full, turns, pitch);
    const struct mx_onnx_value gated = MX_ONNX(o, "Mul", sum, linear(o, &gate, between));
    return MX_ONNX(o, "Reshape", MX_ONNX(o, "Mul", gated, mx_onnx_real(o, (double)mx_sound_harmonic_level(recipe))),
                   MX_ONNX_LIST(o, -1));
}

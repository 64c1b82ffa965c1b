/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Random cases of the source of a voice: harmonics, texture, excite.
 */
#include <math.h>

#include "ops/case.h"

void op_make_harmonics(struct op_case *c)
{
    OP_ARGS(harmonics);
    a->hop = (int32_t)op_draw(c, 1, c->plan.size == OP_TINY ? 16 : 300);
    a->rate = 22050;
    a->limit_hz = c->plan.plain ? 9500 : (float)op_draw(c, 400, 11025);
    a->fade_hz = c->plan.plain ? 300 : (float)op_draw(c, 100, 400); /* less would multiply the rounding of k · f0 */
    a->level = 0.5f;
    const int64_t samples = op_draw_audio(c, 4 * a->hop, a->hop), rows = c->ends[c->sequences];
    const struct op_shape each = {.layout = OP_ROWS, .rows = rows, .width = 1};
    op_add(c, "f0", OP_AT(harmonics, f0), OP_IN, each, 1);
    op_add(c, "phase", OP_AT(harmonics, phase), OP_IN, each, 1);
    op_add(c, "gate", OP_AT(harmonics, gate), OP_IN, each, 1);
    op_add(c, "y", OP_AT(harmonics, y), OP_OUT, (struct op_shape){.layout = OP_SAMPLES, .rows = samples, .width = 1},
           0);
    op_add_audio(c, OP_AT(harmonics, samples), OP_AT(harmonics, frames));
    float *const f0 = op_case_data(c, "f0"), *const phase = op_case_data(c, "phase");
    float *const gate = op_case_data(c, "gate");
    for (int64_t i = 0; i < rows; i++) {
        f0[i] = (float)op_draw(c, 65, 500) + 0.37f;
        if (op_draw(c, 0, 9) == 0) f0[i] = op_flip(c) ? 0 : 12000; /* what counts as more, or less */
        phase[i] = op_flip(c) ? (float)op_draw(c, 0, 63) / 64 : (float)op_draw(c, 0, 999999) * 1e-6f; /* pulses too */
        gate[i] = op_draw(c, 0, 3) == 0 ? 0 : 1;
    }
    OP_DIM(harmonics, hop, OP_DIM_FIXED);
}

void op_make_texture(struct op_case *c)
{
    OP_ARGS(texture);
    const int64_t n = op_draw_width(c), rows = op_draw_sequences(c, -1);
    const struct op_shape numbers = {.layout = OP_ROWS, .rows = rows, .width = 2 * n};
    const struct op_shape levels = {.layout = OP_ROWS, .rows = rows, .width = n};
    op_add(c, "source", OP_AT(texture, source), OP_IN, numbers, 1);
    op_add(c, "noise", OP_AT(texture, noise), OP_IN, numbers, 1);
    op_add(c, "gain", OP_AT(texture, gain), OP_IN, (struct op_shape){.rows = 1, .width = n}, 0.1);
    const int level = op_add(c, "level", OP_AT(texture, level), OP_IN, levels, 1);
    if (!c->plan.plain && op_flip(c))
        op_share(c, "y", OP_AT(texture, y), OP_INOUT, level, 0, n);
    else
        op_add(c, "y", OP_AT(texture, y), OP_OUT, levels, 0);
    /* Nothing at all in some bins; no power so small that a rounding is a large part of it. */
    float *const u = op_case_data(c, "source"), *const v = op_case_data(c, "noise");
    for (int64_t i = 0; i < rows * n; i++) {
        const bool zero = op_draw(c, 0, 9) == 0;
        u[2 * i] = zero ? 0 : u[2 * i] + copysignf(2, u[2 * i]);
        if (zero) u[2 * i + 1] = v[2 * i] = v[2 * i + 1] = 0;
    }
    a->reach = c->plan.plain ? 12 : (int32_t)op_draw(c, 0, MX_TEXTURE_REACH_MAX);
    a->colour = 0.6f;
    a->least = 0.1f;
    a->rows = rows;
    a->n = n;
    OP_DIM(texture, rows, OP_DIM_ROWS);
    OP_DIM(texture, n, OP_DIM_FIXED);
}

void op_make_excite(struct op_case *c)
{
    OP_ARGS(excite);
    const int64_t n = op_draw_width(c), rows = op_draw_sequences(c, -1);
    const struct op_shape numbers = {.layout = OP_ROWS, .rows = rows, .width = 2 * n};
    const struct op_shape levels = {.layout = OP_ROWS, .rows = rows, .width = n};
    const int64_t place = c->plan.plain ? 0 : op_draw(c, 0, 2); /* of y: its own, source, noise */
    const int source = op_add(c, "source", OP_AT(excite, source), OP_IN, numbers, 1);
    const int noise = op_add(c, "noise", OP_AT(excite, noise), OP_IN, numbers, 1);
    op_add(c, "gain", OP_AT(excite, gain), OP_IN, (struct op_shape){.rows = 1, .width = n}, 0.1);
    const int level = op_add(c, "level", OP_AT(excite, level), OP_IN, levels, 1);
    if (!c->plan.plain && op_flip(c))
        op_share(c, "magnitude", OP_AT(excite, magnitude), OP_INOUT, level, 0, n);
    else
        op_add(c, "magnitude", OP_AT(excite, magnitude), OP_OUT, levels, 0);
    if (place == 0)
        op_add(c, "y", OP_AT(excite, y), OP_OUT, numbers, 0);
    else
        op_share(c, "y", OP_AT(excite, y), OP_INOUT, place == 1 ? source : noise, 0, 2 * n);
    /* Some sums are 0; no other is near it, where the smallest error would turn it anywhere. */
    float *const u = op_case_data(c, "source"), *const v = op_case_data(c, "noise");
    for (int64_t i = 0; i < rows * n; i++) {
        const bool zero = op_draw(c, 0, 9) == 0;
        u[2 * i] = zero ? 0 : u[2 * i] + copysignf(12, u[2 * i]);
        if (zero) u[2 * i + 1] = v[2 * i] = v[2 * i + 1] = 0;
    }
    a->rows = rows;
    a->n = n;
    OP_DIM(excite, rows, OP_DIM_ROWS);
    OP_DIM(excite, n, OP_DIM_FIXED);
}

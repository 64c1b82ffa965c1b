/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Random cases of the operations that only the model needs: the alignment and the losses of each utterance.
 */
#include <string.h>

#include "ops/case.h"

/* ---- align: tokens are the rows of the case, frames its samples ---- */

/* Frames for the tokens drawn before: none for none, sometimes fewer than tokens, usually up to four times as many. */
static void draw_frames(struct op_case *c)
{
    int32_t *ends = mx_arena_alloc(&c->arena, (size_t)c->sequences + 1, sizeof *ends);
    for (int s = 0; s < c->sequences; s++) {
        const int32_t tokens = c->ends[s + 1] - c->ends[s];
        const bool few = op_draw(c, 0, 5) == 0;
        ends[s + 1] = ends[s] + (int32_t)op_draw(c, few ? 0 : tokens, few ? tokens : 4 * tokens);
    }
    c->samples = ends;
}

void op_make_align(struct op_case *c)
{
    OP_ARGS(align);
    const int64_t tokens = op_draw_sequences(c, -1);
    draw_frames(c);
    const int64_t frames = c->samples[c->sequences];
    a->n = c->plan.size == OP_LARGE ? 80 : op_draw_width(c);
    a->diagonal = op_flip(c) ? (float)op_draw(c, 1, 20) / 100 : 0;
    op_add(c, "mean", OP_AT(align, mean), OP_IN, (struct op_shape){.layout = OP_ROWS, .rows = tokens, .width = a->n},
           1);
    op_add(c, "mel", OP_AT(align, mel), OP_IN, (struct op_shape){.layout = OP_SAMPLES, .rows = frames, .width = a->n},
           1);
    op_add(c, "durations", OP_AT(align, durations), OP_OUT,
           (struct op_shape){.type = OP_I32, .layout = OP_ROWS, .rows = tokens, .width = 1}, 0);
    if (op_flip(c) && !c->plan.plain) {
        op_add(c, "logs", OP_AT(align, logs), OP_OUT, (struct op_shape){.layout = OP_ROWS, .rows = tokens, .width = 1},
               0);
        op_optional(c);
    }
    op_add_audio(c, OP_AT(align, frames), OP_AT(align, tokens));
    op_add(c, "work", OP_AT(align, work), OP_SCRATCH,
           (struct op_shape){.rows = 1, .width = MX_ALIGN_WORK(tokens, a->tokens.max_rows, frames)}, 0);
    OP_DIM(align, n, OP_DIM_FIXED);
}

/* ---- sequence_loss ---- */

void op_make_sequence_loss(struct op_case *c)
{
    OP_ARGS(sequence_loss);
    const int64_t rows = op_draw_sequences(c, -1);
    a->n = op_draw_width(c);
    a->kind = op_flip(c) ? MX_LOSS_L2 : MX_LOSS_L1;
    a->scale = 1 / (float)(1 + rows * a->n);
    a->factor = (float)op_draw(c, 1, 9) / 7;
    const struct op_shape shape = {.layout = OP_ROWS, .rows = rows, .width = a->n};
    op_add(c, "prediction", OP_AT(sequence_loss, prediction), OP_IN, shape, 1);
    op_add(c, "target", OP_AT(sequence_loss, target), OP_IN, shape, 1);
    op_add(c, "values", OP_AT(sequence_loss, values), OP_OUT,
           (struct op_shape){.layout = OP_SEGMENTS, .rows = c->sequences, .width = 1}, 0);
    if (c->plan.plain || op_flip(c)) {
        op_add(c, "dprediction", OP_AT(sequence_loss, dprediction), OP_OUT, shape, 1);
        op_optional(c);
    }
    op_add_packed(c, OP_AT(sequence_loss, rows));
    OP_DIM(sequence_loss, n, OP_DIM_FIXED);
}

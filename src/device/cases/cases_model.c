/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Random cases of the operations that only the model needs: the alignment and the losses of each utterance.
 */
#include <string.h>

#include "device/op_case.h"

/* ---- align: tokens are the rows of the case, frames its samples ---- */

/* Frames for the tokens drawn before: none for none, sometimes fewer than tokens, usually up to four times as many. */
static void draw_frames(struct mx_op_case *c)
{
    int32_t *ends = mx_arena_alloc(&c->arena, (size_t)c->sequences + 1, sizeof *ends);
    for (int s = 0; s < c->sequences; s++) {
        const int32_t tokens = c->ends[s + 1] - c->ends[s];
        const bool few = mx_op_draw(c, 0, 5) == 0;
        ends[s + 1] = ends[s] + (int32_t)mx_op_draw(c, few ? 0 : tokens, few ? tokens : 4 * tokens);
    }
    c->samples = ends;
}

void mx_op_make_align(struct mx_op_case *c)
{
    MX_OP_ARGS(align);
    const int64_t tokens = mx_op_draw_sequences(c, -1);
    draw_frames(c);
    const int64_t frames = c->samples[c->sequences];
    a->n = c->plan.size == MX_OP_LARGE ? 80 : mx_op_draw_width(c);
    a->diagonal = mx_op_flip(c) ? (float)mx_op_draw(c, 1, 20) / 100 : 0;
    mx_op_add(c, "mean", MX_OP_AT(align, mean), MX_OP_IN,
              (struct mx_op_shape){.layout = MX_OP_ROWS, .rows = tokens, .width = a->n}, 1);
    mx_op_add(c, "mel", MX_OP_AT(align, mel), MX_OP_IN,
              (struct mx_op_shape){.layout = MX_OP_SAMPLES, .rows = frames, .width = a->n}, 1);
    mx_op_add(c, "durations", MX_OP_AT(align, durations), MX_OP_OUT,
              (struct mx_op_shape){.type = MX_OP_I32, .layout = MX_OP_ROWS, .rows = tokens, .width = 1}, 0);
    if (mx_op_flip(c) && !c->plan.plain) {
        mx_op_add(c, "logs", MX_OP_AT(align, logs), MX_OP_OUT,
                  (struct mx_op_shape){.layout = MX_OP_ROWS, .rows = tokens, .width = 1}, 0);
        mx_op_optional(c);
    }
    mx_op_add_audio(c, MX_OP_AT(align, frames), MX_OP_AT(align, tokens));
    mx_op_add(c, "work", MX_OP_AT(align, work), MX_OP_SCRATCH,
              (struct mx_op_shape){.rows = 1, .width = MX_ALIGN_WORK(tokens, a->tokens.max_rows, frames)}, 0);
    MX_OP_DIM(align, n, MX_OP_DIM_FIXED);
}

/* ---- sequence_loss ---- */

void mx_op_make_sequence_loss(struct mx_op_case *c)
{
    MX_OP_ARGS(sequence_loss);
    const int64_t rows = mx_op_draw_sequences(c, -1);
    a->n = mx_op_draw_width(c);
    a->kind = mx_op_flip(c) ? MX_LOSS_L2 : MX_LOSS_L1;
    a->scale = 1 / (float)(1 + rows * a->n);
    a->factor = (float)mx_op_draw(c, 1, 9) / 7;
    const struct mx_op_shape shape = {.layout = MX_OP_ROWS, .rows = rows, .width = a->n};
    mx_op_add(c, "prediction", MX_OP_AT(sequence_loss, prediction), MX_OP_IN, shape, 1);
    mx_op_add(c, "target", MX_OP_AT(sequence_loss, target), MX_OP_IN, shape, 1);
    mx_op_add(c, "values", MX_OP_AT(sequence_loss, values), MX_OP_OUT,
              (struct mx_op_shape){.layout = MX_OP_SEGMENTS, .rows = c->sequences, .width = 1}, 0);
    if (c->plan.plain || mx_op_flip(c)) {
        mx_op_add(c, "dprediction", MX_OP_AT(sequence_loss, dprediction), MX_OP_OUT, shape, 1);
        mx_op_optional(c);
    }
    mx_op_add_packed(c, MX_OP_AT(sequence_loss, rows));
    MX_OP_DIM(sequence_loss, n, MX_OP_DIM_FIXED);
}

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The transformer block, and stacks of blocks, forward and backward.
 *
 *     middle = x      + drop(attention(rotary(norm1(x)·Wqkv + bqkv))·Wo + bo)
 *     y      = middle + drop(GELU(conv3(norm2(middle)) + b1)·W2 + b2)
 *
 * The epilogue of a product adds each residual (or the dropout pass does, if there is dropout), and that of the
 * convolution applies bias and GELU. The gradient of GELU is the epilogue of the product that would need it, and the
 * backward pass of the layer norm adds the gradient of a residual. So no pass over memory only adds.
 *
 * With recompute_blocks all blocks share the memory of one: only the input of each is kept, and the backward pass
 * computes a block again before it goes back through it. The operations and their inputs are the same, and so are the
 * bits.
 *
 * In mixed precision the products of a block multiply bf16 numbers. Arrays that only these products read are stored as
 * bf16: the outputs of norm1 and norm2, `hidden` and its gradient; and so is the input of GELU's derivative.
 */
#include "model/internal.h"
#include "myxtts/error.h"

#include <math.h>

/* One block of a stack with everything its layers need. */
struct block {
    const struct mx_block_memory *m;
    const struct mx_ragged *rows;
    struct mx_slice x, y; /* [rows, W] */
    uint64_t site;        /* of the first half; the second has the next */
    int64_t width, heads, head_width, hidden;
    struct mx_norm norm1, norm2;
    struct mx_linear qkv, out, up, down;
};

static struct block block_of(const struct mx_model_pass *pass, const struct mx_stack *stack, int index)
{
    const struct mx_model_size *size = &pass->model->config.size;
    const struct mx_block_at *at = &stack->at[index];
    const int64_t w = size->width, h = size->hidden, rows = stack->rows.rows;
    const bool mixed = pass->base.mixed;
    return (struct block){
        .m = &stack->memory->blocks[index],
        .rows = &stack->rows,
        .x = stack->memory->x[index],
        .y = stack->memory->x[index + 1],
        .site = stack->site + 2 * (uint64_t)index,
        .width = w,
        .heads = size->heads,
        .head_width = w / size->heads,
        .hidden = h,
        .norm1 = {.gain = at->norm1_gain, .bias = at->norm1_bias, .rows = rows, .width = w, .y_bf16 = mixed},
        .norm2 = {.gain = at->norm2_gain, .bias = at->norm2_bias, .rows = rows, .width = w, .y_bf16 = mixed},
        .qkv = {.weight = at->qkv_weight, .bias = at->qkv_bias, .in = w, .out = 3 * w, .x_bf16 = mixed},
        .out = {.weight = at->out_weight, .bias = at->out_bias, .in = w, .out = w},
        .up = {.weight = at->up_weight,
               .bias = at->up_bias,
               .in = w,
               .out = h,
               .taps = 3,
               .x_bf16 = mixed,
               .dy_bf16 = mixed},
        .down = {.weight = at->down_weight, .bias = at->down_bias, .in = h, .out = w, .x_bf16 = mixed},
    };
}

/* ---- attention ---- */

/* Turns queries and keys, which lie side by side in qkv [rows, 3W]. */
static int rotate(const struct mx_model_pass *pass, const struct block *b, struct mx_slice qkv, bool inverse)
{
    const struct mx_model_capacity *capacity = &pass->model->capacity;
    const int32_t positions =
        capacity->longest_frames > capacity->longest_tokens ? capacity->longest_frames : capacity->longest_tokens;
    return mx_rotary(pass->base.stream, &(struct mx_rotary_args){.x = qkv,
                                                                 .table = pass->model->memory.rotary,
                                                                 .rows = *b->rows,
                                                                 .heads = 2 * b->heads,
                                                                 .head_width = b->head_width,
                                                                 .stride = 3 * b->width,
                                                                 .positions = positions,
                                                                 .inverse = inverse});
}

/* qkv [rows, 3W] → attended [rows, W] */
static int attend_forward(const struct mx_model_pass *pass, const struct block *b)
{
    const struct mx_block_memory *m = b->m;
    return mx_attention(pass->base.stream, &(struct mx_attention_args){.q = m->qkv,
                                                                       .k = mx_pass_slice(m->qkv, b->width),
                                                                       .v = mx_pass_slice(m->qkv, 2 * b->width),
                                                                       .out = m->attended,
                                                                       .lse = m->lse,
                                                                       .rows = *b->rows,
                                                                       .heads = b->heads,
                                                                       .head_width = b->head_width,
                                                                       .stride = 3 * b->width,
                                                                       .out_stride = b->width,
                                                                       .factor = 1 / sqrtf((float)b->head_width)});
}

/* dattended [rows, W] → dqkv [rows, 3W] */
static int attend_backward(const struct mx_model_pass *pass, const struct block *b, struct mx_slice dattended,
                           struct mx_slice dqkv)
{
    const struct mx_block_memory *m = b->m;
    return mx_attention_grad(pass->base.stream,
                             &(struct mx_attention_grad_args){.q = m->qkv,
                                                              .k = mx_pass_slice(m->qkv, b->width),
                                                              .v = mx_pass_slice(m->qkv, 2 * b->width),
                                                              .out = m->attended,
                                                              .lse = m->lse,
                                                              .dout = dattended,
                                                              .dq = dqkv,
                                                              .dk = mx_pass_slice(dqkv, b->width),
                                                              .dv = mx_pass_slice(dqkv, 2 * b->width),
                                                              .delta = pass->model->memory.delta,
                                                              .rows = *b->rows,
                                                              .heads = b->heads,
                                                              .head_width = b->head_width,
                                                              .stride = 3 * b->width,
                                                              .out_stride = b->width,
                                                              .grad_stride = 3 * b->width,
                                                              .factor = 1 / sqrtf((float)b->head_width)});
}

/* ---- the two halves ---- */

/* y = x·W + b + residual, with dropout before the residual where there is any. */
static int join_forward(const struct mx_model_pass *pass, const struct block *b, const struct mx_linear *p,
                        uint64_t site, struct mx_slice x, struct mx_slice residual, struct mx_slice y)
{
    int rc = 0;
    if (pass->dropout == 0)
        return mx_linear_forward(&pass->base, p, b->rows, x, y, &(struct mx_epilogue){.residual = residual});
    MX_TRY(mx_linear_forward(&pass->base, p, b->rows, x, y, NULL));
    MX_TRY(mx_dropout_run(pass, site, y, y, residual, b->rows->rows));
out:
    return rc;
}

/* Everything up to `hidden`; y itself with `whole`. */
static int block_forward(const struct mx_model_pass *pass, const struct block *b, bool whole)
{
    const struct mx_block_memory *m = b->m;
    int rc = 0;
    MX_TRY(mx_norm_forward(&pass->base, &b->norm1, b->x, m->normed1, m->stats1));
    MX_TRY(mx_linear_forward(&pass->base, &b->qkv, b->rows, m->normed1, m->qkv, NULL));
    MX_TRY(rotate(pass, b, m->qkv, false));
    MX_TRY(attend_forward(pass, b));
    MX_TRY(join_forward(pass, b, &b->out, b->site, m->attended, b->x, m->middle));
    MX_TRY(mx_norm_forward(&pass->base, &b->norm2, m->middle, m->normed2, m->stats2));
    MX_TRY(mx_linear_forward(
        &pass->base, &b->up, b->rows, m->normed2, m->hidden,
        &(struct mx_epilogue){
            .act = MX_ACT_GELU, .pre = m->pre, .c_bf16 = pass->base.mixed, .pre_bf16 = pass->base.mixed}));
    if (whole) MX_TRY(join_forward(pass, b, &b->down, b->site + 1, m->hidden, m->middle, b->y));
out:
    return rc;
}

/* dy in memory.d becomes dx. The four gradients d, e [rows, W], dhidden [rows, H] (bf16 in mixed precision) and dqkv
 * [rows, 3W] with dattended [rows, W] after it share memory: none is read after it was overwritten. */
static int block_backward(const struct mx_model_pass *pass, const struct block *b)
{
    const struct mx_block_memory *m = b->m;
    const struct mx_memory *memory = &pass->model->memory;
    const struct mx_slice d = memory->d, e = memory->e, none = {0};
    const struct mx_slice dhidden = memory->wide, dqkv = memory->wide;
    const struct mx_slice dattended = mx_pass_slice(memory->wide, 3 * b->width * b->rows->rows);
    const bool mixed = pass->base.mixed;
    const struct mx_epilogue slope = {
        .act = MX_ACT_GELU, .act_grad = true, .pre = m->pre, .c_bf16 = mixed, .pre_bf16 = mixed};
    struct mx_slice dout = d; /* the gradient of what was dropped from */
    int rc = 0;
    if (pass->dropout > 0) {
        MX_TRY(mx_dropout_run(pass, b->site + 1, d, e, none, b->rows->rows));
        dout = e;
    }
    MX_TRY(mx_linear_backward(&pass->base, &b->down, b->rows, m->hidden, dout, dhidden, &slope));
    MX_TRY(mx_linear_backward(&pass->base, &b->up, b->rows, m->normed2, dhidden, e, NULL));
    MX_TRY(mx_norm_backward(&pass->base, &b->norm2, m->middle, m->stats2, e, e, d)); /* e: gradient of middle */
    dout = e;
    if (pass->dropout > 0) {
        MX_TRY(mx_dropout_run(pass, b->site, e, d, none, b->rows->rows));
        dout = d;
    }
    MX_TRY(mx_linear_backward(&pass->base, &b->out, b->rows, m->attended, dout, dattended, NULL));
    MX_TRY(attend_backward(pass, b, dattended, dqkv));
    MX_TRY(rotate(pass, b, dqkv, true));
    MX_TRY(mx_linear_backward(&pass->base, &b->qkv, b->rows, m->normed1, dqkv, d, NULL));
    MX_TRY(mx_norm_backward(&pass->base, &b->norm1, b->x, m->stats1, d, d, e));
out:
    return rc;
}

/* ---- stacks ---- */

int mx_stack_forward(const struct mx_model_pass *pass, const struct mx_stack *stack)
{
    int rc = 0;
    for (int i = 0; i < stack->blocks; i++) {
        const struct block b = block_of(pass, stack, i);
        MX_TRY(block_forward(pass, &b, true));
    }
out:
    return rc;
}

int mx_stack_backward(const struct mx_model_pass *pass, const struct mx_stack *stack)
{
    int rc = 0;
    for (int i = stack->blocks - 1; i >= stack->lowest; i--) {
        const struct block b = block_of(pass, stack, i);
        /* The shared memory still holds the last block. */
        if (pass->model->config.recompute_blocks && i < stack->blocks - 1) MX_TRY(block_forward(pass, &b, false));
        MX_TRY(block_backward(pass, &b));
        MX_TRY(mx_pass_ready(&pass->base, stack->at[i].qkv_weight)); /* the first of the block's that are decayed */
    }
out:
    return rc;
}

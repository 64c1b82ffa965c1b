/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What every operation's arguments must look like: names, sizes, ranges, slices.
 *
 * Each operation is described once, by a function that walks over its arguments: parameters with their ranges first,
 * then every slice with its size. The same walk checks arguments before they are queued (mx_op_check) and lists the
 * memory that an operation touches (mx_op_slices). Nothing is allocated; the walk lives on the caller's stack.
 *
 * All sizes are computed with saturation, so that absurd dimensions end as "too large", never as a small number.
 */
#include <assert.h>
#include <inttypes.h>
#include <math.h>

#include "base/error.h"
#include "device/backend.h"
#include "device/ops.h"

#define ELEMENTS_MAX ((int64_t)1 << 40) /* of any tensor */
#define BYTES_MAX    (ELEMENTS_MAX * 4)

struct walk {
    const char *op;
    const struct mx_device *device; /* the check; NULL: only listing */
    int rc;                         /* of the check: 0, or the first thing found wrong; nothing is looked at after it */
    void (*visit)(void *context, const char *name, struct mx_slice slice, size_t bytes, bool written);
    void *context;
};

enum use { READ, READ_OPTIONAL, WRITTEN, WRITTEN_OPTIONAL };

/* ---- parameters ---- */
static bool checking(const struct walk *walk)
{
    return walk->device && walk->rc == 0;
}

static void refuse_integer(struct walk *walk, const char *name, int64_t value, int64_t low, int64_t high)
{
    MX_FAIL(MX_ERR_ARGUMENT, NULL, "%s: argument '%s' is out of range", walk->op, name);
    walk->rc = mx_error_hint("expected %" PRId64 " to %" PRId64 ", got %" PRId64, low, high, value);
}

static void integer(struct walk *walk, const char *name, int64_t value, int64_t low, int64_t high)
{
    if (checking(walk) && (value < low || value > high)) refuse_integer(walk, name, value, low, high);
}

/* Rows, widths, sequences: whatever is indexed with 32 bits on some device. */
static void dimension(struct walk *walk, const char *name, int64_t value)
{
    integer(walk, name, value, 0, INT32_MAX);
}

/* The length of a flat array. */
static void length(struct walk *walk, const char *name, int64_t value)
{
    integer(walk, name, value, 0, ELEMENTS_MAX);
}

/* low ≤ value ≤ high, with `open` value < high; NaN is refused. */
static void real(struct walk *walk, const char *name, float value, double low, double high, bool open)
{
    const double v = (double)value;
    if (!checking(walk) || (v >= low && (open ? v < high : v <= high))) return;
    MX_FAIL(MX_ERR_ARGUMENT, NULL, "%s: argument '%s' is out of range", walk->op, name);
    walk->rc = mx_error_hint("expected %g to %g%s, got %g", low, high, open ? " (exclusive)" : "", v);
}

static void finite_number(struct walk *walk, const char *name, float value)
{
    if (!checking(walk) || isfinite(value)) return;
    MX_FAIL(MX_ERR_ARGUMENT, NULL, "%s: argument '%s' is not a finite number", walk->op, name);
    walk->rc = mx_error_hint("expected a finite number, got %g", (double)value);
}

static void positive(struct walk *walk, const char *name, float value)
{
    if (!checking(walk) || (isfinite(value) && value > 0)) return;
    MX_FAIL(MX_ERR_ARGUMENT, NULL, "%s: argument '%s' is out of range", walk->op, name);
    walk->rc = mx_error_hint("expected a finite number above 0, got %g", (double)value);
}

/* Anything else that must hold; `expected` completes "expected …". */
static void require(struct walk *walk, bool holds, const char *name, const char *expected)
{
    if (!checking(walk) || holds) return;
    MX_FAIL(MX_ERR_ARGUMENT, NULL, "%s: argument '%s' does not fit the others", walk->op, name);
    walk->rc = mx_error_hint("expected %s", expected);
}

static void activation(struct walk *walk, const char *name, enum mx_activation act)
{
    integer(walk, name, (int64_t)act, MX_ACT_NONE, MX_ACT_GELU);
}

/* ---- sizes ---- */
/* a · b for a, b ≥ 0, at most INT64_MAX. */
static int64_t times(int64_t a, int64_t b)
{
    int64_t product;
    return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

static int64_t plus(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* Elements from the first to the last of `rows` rows of `width`, `stride` apart. */
static int64_t strided(int64_t rows, int64_t width, int64_t stride)
{
    return rows > 0 && width > 0 ? plus(times(rows - 1, stride), width) : 0;
}

/* ---- slices ---- */
static void check_slice(struct walk *walk, const char *name, struct mx_slice slice, int64_t bytes, bool optional)
{
    const struct mx_buffer *buffer = slice.buffer;
    if (!buffer) {
        if (optional) return;
        walk->rc = MX_FAIL(MX_ERR_ARGUMENT, "expected a slice of a buffer, got none", "%s: argument '%s' is missing",
                           walk->op, name);
    } else if (buffer->device != walk->device) {
        MX_FAIL(MX_ERR_ARGUMENT, NULL, "%s: argument '%s' lies on another device", walk->op, name);
        walk->rc = mx_error_hint("expected a buffer of %s, got '%s' of %s: copy it over first", walk->device->name,
                                 buffer->owner, buffer->device->name);
    } else if (slice.offset_bytes % 4) {
        MX_FAIL(MX_ERR_ARGUMENT, NULL, "%s: argument '%s' is not aligned", walk->op, name);
        walk->rc = mx_error_hint("expected an offset that is a multiple of 4 bytes, got %zu", slice.offset_bytes);
    } else if (bytes > BYTES_MAX) {
        MX_FAIL(MX_ERR_ARGUMENT, NULL, "%s: argument '%s' is too large", walk->op, name);
        walk->rc =
            mx_error_hint("expected at most 2^40 elements, got %s%" PRId64 " bytes of them: look at the dimensions",
                          bytes == INT64_MAX ? "at least " : "", bytes);
    } else if (slice.offset_bytes > buffer->bytes || (size_t)bytes > buffer->bytes - slice.offset_bytes) {
        MX_FAIL(MX_ERR_ARGUMENT, NULL, "%s: argument '%s' reaches outside its buffer", walk->op, name);
        walk->rc = mx_error_hint("expected %" PRId64 " bytes from offset %zu on, got buffer '%s' of %zu bytes", bytes,
                                 slice.offset_bytes, buffer->owner, buffer->bytes);
    }
}

static void slice_bytes(struct walk *walk, const char *name, struct mx_slice slice, int64_t bytes, enum use use)
{
    if (checking(walk)) check_slice(walk, name, slice, bytes, use == READ_OPTIONAL || use == WRITTEN_OPTIONAL);
    if (walk->visit && slice.buffer)
        walk->visit(walk->context, name, slice, (size_t)bytes, use == WRITTEN || use == WRITTEN_OPTIONAL);
}

/* float32 or int32 elements. */
static void tensor(struct walk *walk, const char *name, struct mx_slice slice, int64_t elements, enum use use)
{
    slice_bytes(walk, name, slice, times(elements, 4), use);
}

/* ---- parts that several operations have ---- */
static void packed(struct walk *walk, const struct mx_packed *rows)
{
    dimension(walk, "rows.count", rows->count);
    dimension(walk, "rows.rows", rows->rows);
    integer(walk, "rows.max_rows", rows->max_rows, 0, rows->rows);
    require(walk, times(rows->count, rows->max_rows) >= rows->rows, "rows.max_rows",
            "rows.count · rows.max_rows to be at least rows.rows");
    tensor(walk, "rows.offsets", rows->offsets, plus(rows->count, 1), READ);
}

/* For a result of m rows of n, `stride` apart. */
static void epilogue(struct walk *walk, const struct mx_epilogue *e, int64_t m, int64_t n, int64_t stride)
{
    const int64_t elements = strided(m, n, stride);
    activation(walk, "epilogue.act", e->act);
    require(walk, !e->act_grad || !e->bias.buffer, "epilogue.bias", "no bias together with act_grad");
    require(walk, !e->act_grad || e->pre.buffer, "epilogue.pre", "pre to be given together with act_grad");
    tensor(walk, "epilogue.bias", e->bias, n, READ_OPTIONAL);
    tensor(walk, "epilogue.pre", e->pre, elements, e->act_grad ? READ_OPTIONAL : WRITTEN_OPTIONAL);
    tensor(walk, "epilogue.residual", e->residual, elements, READ_OPTIONAL);
}

static void taps(struct walk *walk, int32_t count)
{
    require(walk, count == 1 || count == 3 || count == 5, "taps", "1, 3 or 5");
}

static void segments(struct walk *walk, int64_t count, int64_t rows, int64_t n)
{
    integer(walk, "segments", count, 0, INT32_MAX - 1);
    dimension(walk, "rows", rows);
    dimension(walk, "n", n);
    require(walk, count > 0 || rows == 0, "segments", "at least one segment for the rows");
}

static void heads(struct walk *walk, int64_t count, int64_t head_width)
{
    dimension(walk, "heads", count);
    dimension(walk, "head_width", head_width);
}

/* Floats from row to row, of which `width` are used. */
static void row_stride(struct walk *walk, const char *name, int64_t stride, int64_t width)
{
    if (checking(walk) && (stride < width || stride > INT32_MAX)) refuse_integer(walk, name, stride, width, INT32_MAX);
}

/* ---- the operations, in the order of ops.h ---- */
#define DESCRIBE(name) static void describe_##name(struct walk *walk, const struct mx_##name##_args *a)

DESCRIBE(matmul)
{
    const int64_t a_rows = a->transpose_a ? a->k : a->m, a_width = a->transpose_a ? a->m : a->k;
    const int64_t b_rows = a->transpose_b ? a->n : a->k, b_width = a->transpose_b ? a->k : a->n;
    const int64_t lda = a->lda ? a->lda : a_width, ldb = a->ldb ? a->ldb : b_width, ldc = a->ldc ? a->ldc : a->n;
    dimension(walk, "m", a->m);
    dimension(walk, "n", a->n);
    dimension(walk, "k", a->k);
    row_stride(walk, "lda", lda, a_width);
    row_stride(walk, "ldb", ldb, b_width);
    row_stride(walk, "ldc", ldc, a->n);
    tensor(walk, "a", a->a, strided(a_rows, a_width, lda), READ);
    tensor(walk, "b", a->b, strided(b_rows, b_width, ldb), READ);
    epilogue(walk, &a->epilogue, a->m, a->n, ldc);
    tensor(walk, "c", a->c, strided(a->m, a->n, ldc), WRITTEN);
}

DESCRIBE(bias_grad)
{
    dimension(walk, "rows", a->rows);
    dimension(walk, "n", a->n);
    tensor(walk, "dy", a->dy, times(a->rows, a->n), READ);
    tensor(walk, "db", a->db, a->n, WRITTEN);
}

DESCRIBE(layer_norm)
{
    const int64_t elements = times(a->rows, a->n);
    dimension(walk, "rows", a->rows);
    dimension(walk, "n", a->n);
    positive(walk, "eps", a->eps);
    tensor(walk, "x", a->x, elements, READ);
    tensor(walk, "gamma", a->gamma, a->n, READ);
    tensor(walk, "beta", a->beta, a->n, READ);
    tensor(walk, "y", a->y, elements, WRITTEN);
    tensor(walk, "stats", a->stats, times(a->rows, 2), WRITTEN);
}

DESCRIBE(layer_norm_grad)
{
    const int64_t elements = times(a->rows, a->n);
    dimension(walk, "rows", a->rows);
    dimension(walk, "n", a->n);
    tensor(walk, "dy", a->dy, elements, READ);
    tensor(walk, "x", a->x, elements, READ);
    tensor(walk, "gamma", a->gamma, a->n, READ);
    tensor(walk, "stats", a->stats, times(a->rows, 2), READ);
    tensor(walk, "residual", a->residual, elements, READ_OPTIONAL);
    tensor(walk, "dx", a->dx, elements, WRITTEN);
    tensor(walk, "dgamma", a->dgamma, a->n, WRITTEN);
    tensor(walk, "dbeta", a->dbeta, a->n, WRITTEN);
}

DESCRIBE(activation)
{
    length(walk, "count", a->count);
    activation(walk, "act", a->act);
    tensor(walk, "x", a->x, a->count, READ);
    tensor(walk, "y", a->y, a->count, WRITTEN);
}

DESCRIBE(activation_grad)
{
    length(walk, "count", a->count);
    activation(walk, "act", a->act);
    tensor(walk, "dy", a->dy, a->count, READ);
    tensor(walk, "x", a->x, a->count, READ);
    tensor(walk, "dx", a->dx, a->count, WRITTEN);
}

DESCRIBE(residual_add)
{
    length(walk, "count", a->count);
    finite_number(walk, "factor", a->factor);
    tensor(walk, "a", a->a, a->count, READ);
    tensor(walk, "b", a->b, a->count, READ);
    tensor(walk, "y", a->y, a->count, WRITTEN);
}

DESCRIBE(embedding)
{
    dimension(walk, "rows", a->rows);
    dimension(walk, "n", a->n);
    dimension(walk, "vocabulary", a->vocabulary);
    finite_number(walk, "factor", a->factor);
    tensor(walk, "ids", a->ids, a->rows, READ);
    tensor(walk, "table", a->table, times(a->vocabulary, a->n), READ);
    tensor(walk, "y", a->y, times(a->rows, a->n), WRITTEN);
}

DESCRIBE(embedding_grad)
{
    dimension(walk, "rows", a->rows);
    dimension(walk, "n", a->n);
    dimension(walk, "vocabulary", a->vocabulary);
    finite_number(walk, "factor", a->factor);
    tensor(walk, "ids", a->ids, a->rows, READ);
    tensor(walk, "dy", a->dy, times(a->rows, a->n), READ);
    tensor(walk, "dtable", a->dtable, times(a->vocabulary, a->n), WRITTEN);
}

DESCRIBE(rotary_table)
{
    dimension(walk, "positions", a->positions);
    dimension(walk, "head_width", a->head_width);
    require(walk, a->head_width % 2 == 0, "head_width", "an even number");
    positive(walk, "base", a->base);
    tensor(walk, "table", a->table, times(a->positions, a->head_width), WRITTEN);
}

DESCRIBE(rotary)
{
    const int64_t width = times(a->heads, a->head_width);
    packed(walk, &a->rows);
    heads(walk, a->heads, a->head_width);
    require(walk, a->head_width % 2 == 0, "head_width", "an even number");
    row_stride(walk, "stride", a->stride, width);
    integer(walk, "positions", a->positions, a->rows.max_rows, INT32_MAX);
    tensor(walk, "table", a->table, times(a->positions, a->head_width), READ);
    tensor(walk, "x", a->x, strided(a->rows.rows, width, a->stride), WRITTEN);
}

DESCRIBE(attention)
{
    const int64_t width = times(a->heads, a->head_width), inputs = strided(a->rows.rows, width, a->stride);
    packed(walk, &a->rows);
    heads(walk, a->heads, a->head_width);
    row_stride(walk, "stride", a->stride, width);
    row_stride(walk, "out_stride", a->out_stride, width);
    finite_number(walk, "factor", a->factor);
    tensor(walk, "q", a->q, inputs, READ);
    tensor(walk, "k", a->k, inputs, READ);
    tensor(walk, "v", a->v, inputs, READ);
    tensor(walk, "out", a->out, strided(a->rows.rows, width, a->out_stride), WRITTEN);
    tensor(walk, "lse", a->lse, times(a->heads, a->rows.rows), WRITTEN);
}

DESCRIBE(attention_grad)
{
    const int64_t width = times(a->heads, a->head_width), inputs = strided(a->rows.rows, width, a->stride);
    const int64_t outputs = strided(a->rows.rows, width, a->out_stride);
    const int64_t gradients = strided(a->rows.rows, width, a->grad_stride);
    packed(walk, &a->rows);
    heads(walk, a->heads, a->head_width);
    row_stride(walk, "stride", a->stride, width);
    row_stride(walk, "out_stride", a->out_stride, width);
    row_stride(walk, "grad_stride", a->grad_stride, width);
    finite_number(walk, "factor", a->factor);
    tensor(walk, "q", a->q, inputs, READ);
    tensor(walk, "k", a->k, inputs, READ);
    tensor(walk, "v", a->v, inputs, READ);
    tensor(walk, "out", a->out, outputs, READ);
    tensor(walk, "lse", a->lse, times(a->heads, a->rows.rows), READ);
    tensor(walk, "dout", a->dout, outputs, READ);
    tensor(walk, "dq", a->dq, gradients, WRITTEN);
    tensor(walk, "dk", a->dk, gradients, WRITTEN);
    tensor(walk, "dv", a->dv, gradients, WRITTEN);
    tensor(walk, "delta", a->delta, times(a->heads, a->rows.rows), WRITTEN);
}

DESCRIBE(conv1d)
{
    packed(walk, &a->rows);
    dimension(walk, "in_width", a->in_width);
    dimension(walk, "out_width", a->out_width);
    taps(walk, a->taps);
    tensor(walk, "x", a->x, times(a->rows.rows, a->in_width), READ);
    tensor(walk, "w", a->w, times(a->taps, times(a->in_width, a->out_width)), READ);
    epilogue(walk, &a->epilogue, a->rows.rows, a->out_width, a->out_width);
    tensor(walk, "y", a->y, times(a->rows.rows, a->out_width), WRITTEN);
}

DESCRIBE(conv1d_grad_input)
{
    packed(walk, &a->rows);
    dimension(walk, "in_width", a->in_width);
    dimension(walk, "out_width", a->out_width);
    taps(walk, a->taps);
    tensor(walk, "dy", a->dy, times(a->rows.rows, a->out_width), READ);
    tensor(walk, "w", a->w, times(a->taps, times(a->in_width, a->out_width)), READ);
    epilogue(walk, &a->epilogue, a->rows.rows, a->in_width, a->in_width);
    tensor(walk, "dx", a->dx, times(a->rows.rows, a->in_width), WRITTEN);
}

DESCRIBE(conv1d_grad_weight)
{
    packed(walk, &a->rows);
    dimension(walk, "in_width", a->in_width);
    dimension(walk, "out_width", a->out_width);
    taps(walk, a->taps);
    tensor(walk, "x", a->x, times(a->rows.rows, a->in_width), READ);
    tensor(walk, "dy", a->dy, times(a->rows.rows, a->out_width), READ);
    tensor(walk, "dw", a->dw, times(a->taps, times(a->in_width, a->out_width)), WRITTEN);
}

DESCRIBE(dropout)
{
    length(walk, "count", a->count);
    real(walk, "rate", a->rate, 0, 1, true);
    require(walk, a->index % 4 == 0, "index", "a multiple of 4");
    tensor(walk, "x", a->x, a->count, READ);
    tensor(walk, "residual", a->residual, a->count, READ_OPTIONAL);
    tensor(walk, "y", a->y, a->count, WRITTEN);
}

DESCRIBE(durations_scan)
{
    integer(walk, "count", a->count, 0, INT32_MAX - 1);
    tensor(walk, "durations", a->durations, a->count, READ);
    tensor(walk, "ends", a->ends, plus(a->count, 1), WRITTEN);
}

DESCRIBE(expand)
{
    segments(walk, a->segments, a->rows, a->n);
    tensor(walk, "x", a->x, times(a->segments, a->n), READ);
    tensor(walk, "ends", a->ends, plus(a->segments, 1), READ);
    tensor(walk, "y", a->y, times(a->rows, a->n), WRITTEN);
}

DESCRIBE(expand_grad)
{
    segments(walk, a->segments, a->rows, a->n);
    tensor(walk, "dy", a->dy, times(a->rows, a->n), READ);
    tensor(walk, "ends", a->ends, plus(a->segments, 1), READ);
    tensor(walk, "dx", a->dx, times(a->segments, a->n), WRITTEN);
}

DESCRIBE(segment_mean)
{
    segments(walk, a->segments, a->rows, a->n);
    tensor(walk, "x", a->x, times(a->rows, a->n), READ);
    tensor(walk, "ends", a->ends, plus(a->segments, 1), READ);
    tensor(walk, "y", a->y, times(a->segments, a->n), WRITTEN);
}

DESCRIBE(segment_mean_grad)
{
    segments(walk, a->segments, a->rows, a->n);
    tensor(walk, "dy", a->dy, times(a->segments, a->n), READ);
    tensor(walk, "ends", a->ends, plus(a->segments, 1), READ);
    tensor(walk, "dx", a->dx, times(a->rows, a->n), WRITTEN);
}

DESCRIBE(attentive_pool)
{
    packed(walk, &a->rows);
    dimension(walk, "n", a->n);
    tensor(walk, "x", a->x, times(a->rows.rows, a->n), READ);
    tensor(walk, "score", a->score, a->rows.rows, READ);
    tensor(walk, "y", a->y, times(a->rows.count, a->n), WRITTEN);
    tensor(walk, "w", a->w, a->rows.rows, WRITTEN);
}

DESCRIBE(attentive_pool_grad)
{
    packed(walk, &a->rows);
    dimension(walk, "n", a->n);
    tensor(walk, "dy", a->dy, times(a->rows.count, a->n), READ);
    tensor(walk, "x", a->x, times(a->rows.rows, a->n), READ);
    tensor(walk, "y", a->y, times(a->rows.count, a->n), READ);
    tensor(walk, "w", a->w, a->rows.rows, READ);
    tensor(walk, "dx", a->dx, times(a->rows.rows, a->n), WRITTEN);
    tensor(walk, "dscore", a->dscore, a->rows.rows, WRITTEN);
}

DESCRIBE(loss)
{
    const int64_t elements = times(a->rows, a->n);
    dimension(walk, "rows", a->rows);
    dimension(walk, "n", a->n);
    finite_number(walk, "factor", a->factor);
    integer(walk, "kind", (int64_t)a->kind, MX_LOSS_L1, MX_LOSS_L2);
    tensor(walk, "prediction", a->prediction, elements, READ);
    tensor(walk, "target", a->target, elements, READ);
    tensor(walk, "mask", a->mask, a->rows, READ_OPTIONAL);
    tensor(walk, "value", a->value, 1, WRITTEN);
    tensor(walk, "dprediction", a->dprediction, elements, WRITTEN_OPTIONAL);
}

DESCRIBE(grad_norm)
{
    length(walk, "count", a->count);
    real(walk, "limit", a->limit, 0, INFINITY, true);
    finite_number(walk, "factor", a->factor);
    tensor(walk, "gradient", a->gradient, a->count, READ);
    tensor(walk, "result", a->result, 4, WRITTEN);
}

DESCRIBE(adamw)
{
    length(walk, "count", a->count);
    integer(walk, "decayed", a->decayed, 0, a->count);
    real(walk, "lr", a->lr, 0, INFINITY, true);
    real(walk, "beta1", a->beta1, 0, 1, true);
    real(walk, "beta2", a->beta2, 0, 1, true);
    positive(walk, "eps", a->eps);
    real(walk, "weight_decay", a->weight_decay, 0, INFINITY, true);
    real(walk, "ema_decay", a->ema_decay, 0, 1, false);
    integer(walk, "step", a->step, 1, INT64_MAX);
    tensor(walk, "gradient", a->gradient, a->count, READ);
    tensor(walk, "norm", a->norm, 4, READ);
    tensor(walk, "parameter", a->parameter, a->count, WRITTEN);
    tensor(walk, "moment1", a->moment1, a->count, WRITTEN);
    tensor(walk, "moment2", a->moment2, a->count, WRITTEN);
    tensor(walk, "ema", a->ema, a->count, WRITTEN_OPTIONAL);
}

DESCRIBE(scale)
{
    length(walk, "count", a->count);
    finite_number(walk, "factor", a->factor);
    tensor(walk, "x", a->x, a->count, WRITTEN);
}

DESCRIBE(fill)
{
    length(walk, "count", a->count);
    tensor(walk, "x", a->x, a->count, WRITTEN);
}

DESCRIBE(cast)
{
    length(walk, "count", a->count);
    integer(walk, "kind", (int64_t)a->kind, MX_CAST_F32_BF16, MX_CAST_I32_F32);
    slice_bytes(walk, "x", a->x, times(a->count, a->kind == MX_CAST_BF16_F32 ? 2 : 4), READ);
    slice_bytes(walk, "y", a->y, times(a->count, a->kind == MX_CAST_F32_BF16 ? 2 : 4), WRITTEN);
}

/* ---- one table from the one list ---- */
#define MX_ONE(name)                                                                                                   \
    static_assert(sizeof(struct mx_##name##_args) <= MX_OP_ARGS_MAX, "MX_OP_ARGS_MAX is too small for " #name);        \
    static void walk_##name(struct walk *walk, const void *args)                                                       \
    {                                                                                                                  \
        describe_##name(walk, args);                                                                                   \
    }
#define MX_PAIR(name) MX_ONE(name) MX_ONE(name##_grad)
MX_OP_LIST(MX_PAIR, MX_ONE)
#undef MX_PAIR
#undef MX_ONE

static const struct {
    const char *name;
    size_t args_bytes;
    void (*walk)(struct walk *walk, const void *args);
} table[MX_OP_COUNT] = {
#define MX_ONE(name)  [MX_OP_##name] = {#name, sizeof(struct mx_##name##_args), walk_##name},
#define MX_PAIR(name) MX_ONE(name) MX_ONE(name##_grad)
    MX_OP_LIST(MX_PAIR, MX_ONE)
#undef MX_PAIR
#undef MX_ONE
};

static bool known(enum mx_op op)
{
    return (unsigned)op < MX_OP_COUNT;
}

const char *mx_op_name(enum mx_op op)
{
    return known(op) ? table[op].name : "unknown";
}

size_t mx_op_args_bytes(enum mx_op op)
{
    return known(op) ? table[op].args_bytes : 0;
}

int mx_op_check(const struct mx_device *device, enum mx_op op, const void *args)
{
    if (!known(op))
        return MX_FAIL(MX_ERR_ARGUMENT, "expected one of enum mx_op", "there is no operation number %d", (int)op);
    if (!device || !args)
        return MX_FAIL(MX_ERR_ARGUMENT, "expected a device and the operation's argument struct, got NULL",
                       "%s: no %s given", table[op].name, device ? "arguments" : "device");
    struct walk walk = {.op = table[op].name, .device = device};
    table[op].walk(&walk, args);
    return walk.rc;
}

void mx_op_slices(enum mx_op op, const void *args,
                  void (*visit)(void *context, const char *name, struct mx_slice slice, size_t bytes, bool written),
                  void *context)
{
    struct walk walk = {.op = mx_op_name(op), .visit = visit, .context = context};
    if (known(op)) table[op].walk(&walk, args);
}

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The vocabulary with which ops_check*.c describe operations: parameters with ranges, sizes, slices, ragged sequences.
 *
 * All sizes are computed with saturation, so that absurd dimensions are reported as "too large" and never wrap to a
 * small number. Nothing is allocated; the walk lives on the caller's stack. For ops_check*.c alone.
 */
#ifndef MX_DEVICE_OPS_WALK_H
#define MX_DEVICE_OPS_WALK_H

#include <inttypes.h>
#include <math.h>

#include "device/backend.h"
#include "myxtts/error.h"
#include "myxtts/ops.h"

#define ELEMENTS_MAX ((int64_t)1 << 40) /* of any tensor */
#define BYTES_MAX    (ELEMENTS_MAX * 4)

struct walk {
    const char *op;
    const struct mx_device *device; /* the check; NULL: only listing */
    int rc;                         /* of the check: 0, or the first error; nothing is checked after it */
    void (*visit)(void *context, const char *name, struct mx_slice slice, size_t bytes, bool written);
    void *context;
};

enum use { READ, READ_OPTIONAL, WRITTEN, WRITTEN_OPTIONAL };

/* ---- parameters ---- */
static inline bool checking(const struct walk *walk)
{
    return walk->device && walk->rc == 0;
}

static inline void refuse_integer(struct walk *walk, const char *name, int64_t value, int64_t low, int64_t high)
{
    MX_FAIL(MX_ERR_ARGUMENT, NULL, "%s: argument '%s' is out of range", walk->op, name);
    walk->rc = mx_error_hint("expected %" PRId64 " to %" PRId64 ", got %" PRId64, low, high, value);
}

static inline void integer(struct walk *walk, const char *name, int64_t value, int64_t low, int64_t high)
{
    if (checking(walk) && (value < low || value > high)) refuse_integer(walk, name, value, low, high);
}

/* Rows, widths, sequences: anything that some device indexes with 32 bits. */
static inline void dimension(struct walk *walk, const char *name, int64_t value)
{
    integer(walk, name, value, 0, INT32_MAX);
}

/* The length of a flat array. */
static inline void length(struct walk *walk, const char *name, int64_t value)
{
    integer(walk, name, value, 0, ELEMENTS_MAX);
}

/* low ≤ value ≤ high, or value < high with `open`; NaN is refused. */
static inline void real(struct walk *walk, const char *name, float value, double low, double high, bool open)
{
    const double v = (double)value;
    if (!checking(walk) || (v >= low && (open ? v < high : v <= high))) return;
    MX_FAIL(MX_ERR_ARGUMENT, NULL, "%s: argument '%s' is out of range", walk->op, name);
    walk->rc = mx_error_hint("expected %g to %g%s, got %g", low, high, open ? " (exclusive)" : "", v);
}

static inline void finite_number(struct walk *walk, const char *name, float value)
{
    if (!checking(walk) || isfinite(value)) return;
    MX_FAIL(MX_ERR_ARGUMENT, NULL, "%s: argument '%s' is not a finite number", walk->op, name);
    walk->rc = mx_error_hint("expected a finite number, got %g", (double)value);
}

static inline void positive(struct walk *walk, const char *name, float value)
{
    if (!checking(walk) || (isfinite(value) && value > 0)) return;
    MX_FAIL(MX_ERR_ARGUMENT, NULL, "%s: argument '%s' is out of range", walk->op, name);
    walk->rc = mx_error_hint("expected a finite number above 0, got %g", (double)value);
}

/* Anything else that must hold; `expected` completes "expected …". */
static inline void require(struct walk *walk, bool holds, const char *name, const char *expected)
{
    if (!checking(walk) || holds) return;
    MX_FAIL(MX_ERR_ARGUMENT, NULL, "%s: argument '%s' does not fit the others", walk->op, name);
    walk->rc = mx_error_hint("expected %s", expected);
}

static inline void activation(struct walk *walk, const char *name, enum mx_activation act)
{
    integer(walk, name, (int64_t)act, MX_ACT_NONE, MX_ACT_GELU);
}

/* ---- sizes ---- */
/* a · b for a, b ≥ 0, at most INT64_MAX. */
static inline int64_t times(int64_t a, int64_t b)
{
    int64_t product;
    return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

static inline int64_t plus(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* Elements from the first to the last of `rows` rows of `width`, `stride` apart. */
static inline int64_t strided(int64_t rows, int64_t width, int64_t stride)
{
    return rows > 0 && width > 0 ? plus(times(rows - 1, stride), width) : 0;
}

/* ---- slices ---- */
static inline void check_slice(struct walk *walk, const char *name, struct mx_slice slice, int64_t bytes, bool optional)
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

static inline void slice_bytes(struct walk *walk, const char *name, struct mx_slice slice, int64_t bytes, enum use use)
{
    if (checking(walk)) check_slice(walk, name, slice, bytes, use == READ_OPTIONAL || use == WRITTEN_OPTIONAL);
    if (walk->visit && slice.buffer)
        walk->visit(walk->context, name, slice, (size_t)bytes, use == WRITTEN || use == WRITTEN_OPTIONAL);
}

/* float32 or int32 elements. */
static inline void tensor(struct walk *walk, const char *name, struct mx_slice slice, int64_t elements, enum use use)
{
    slice_bytes(walk, name, slice, times(elements, 4), use);
}

/* The same, or bf16 elements where `narrow`. */
static inline void tensor_of(struct walk *walk, const char *name, struct mx_slice slice, int64_t elements, bool narrow,
                             enum use use)
{
    slice_bytes(walk, name, slice, times(elements, narrow ? 2 : 4), use);
}

/* ---- parts that several operations have ---- */
/* `asked`: the operation multiplies or stores bf16, which not every device supports. */
static inline void bf16(struct walk *walk, bool asked)
{
    if (!checking(walk) || !asked || walk->device->info.caps.bf16_multiply) return;
    const char *const missing = walk->device->info.bf16_missing;
    MX_FAIL(MX_ERR_UNSUPPORTED, NULL, "%s: %s does not multiply bf16 numbers: %s", walk->op, walk->device->name,
            missing[0] ? missing : "its backend has no kernels for them");
    walk->rc = mx_error_hint("compute in fp32 there, or choose a device that 'myxtts devices' shows with bf16");
}

static inline void precision(struct walk *walk, enum mx_precision value, bool narrow)
{
    integer(walk, "precision", (int64_t)value, MX_PRECISION_F32, MX_PRECISION_BF16);
    require(walk, !narrow || value == MX_PRECISION_BF16, "precision", "bf16 where slices are stored as bf16");
    bf16(walk, value == MX_PRECISION_BF16);
}

/* Messages say "rows.count" whatever the argument is called, unless the argument has its own name. */
static inline void ragged_parts(struct walk *walk, const struct mx_ragged *rows, const char *const names[4])
{
    dimension(walk, names[0], rows->count);
    dimension(walk, names[1], rows->rows);
    integer(walk, names[2], rows->max_rows, 0, rows->rows);
    require(walk, times(rows->count, rows->max_rows) >= rows->rows, names[2],
            "count · max_rows to be at least all rows");
    tensor(walk, names[3], rows->offsets, plus(rows->count, 1), READ);
}

static inline void ragged(struct walk *walk, const struct mx_ragged *rows)
{
    static const char *const names[] = {"rows.count", "rows.rows", "rows.max_rows", "rows.offsets"};
    ragged_parts(walk, rows, names);
}

/* For a result of m rows of n, `stride` apart. */
static inline void epilogue(struct walk *walk, const struct mx_epilogue *e, int64_t m, int64_t n, int64_t stride)
{
    const int64_t elements = strided(m, n, stride);
    activation(walk, "epilogue.act", e->act);
    require(walk, !e->act_grad || !e->bias.buffer, "epilogue.bias", "no bias together with act_grad");
    require(walk, !e->act_grad || e->pre.buffer, "epilogue.pre", "pre to be given together with act_grad");
    require(walk, !e->c_bf16 || !e->accumulate, "epilogue.accumulate", "no accumulation in bf16");
    tensor(walk, "epilogue.bias", e->bias, n, READ_OPTIONAL);
    tensor_of(walk, "epilogue.pre", e->pre, elements, e->pre_bf16, e->act_grad ? READ_OPTIONAL : WRITTEN_OPTIONAL);
    tensor(walk, "epilogue.residual", e->residual, elements, READ_OPTIONAL);
}

static inline void taps(struct walk *walk, int32_t count)
{
    require(walk, count == 1 || count == 3 || count == 5 || count == 7, "taps", "1, 3, 5 or 7");
}

static inline void segments(struct walk *walk, int64_t count, int64_t rows, int64_t n)
{
    integer(walk, "segments", count, 0, INT32_MAX - 1);
    dimension(walk, "rows", rows);
    dimension(walk, "n", n);
    require(walk, count > 0 || rows == 0, "segments", "at least one segment for the rows");
}

static inline void heads(struct walk *walk, int64_t count, int64_t head_width)
{
    dimension(walk, "heads", count);
    dimension(walk, "head_width", head_width);
}

static inline void transform_size(struct walk *walk, int32_t fft_size)
{
    integer(walk, "fft_size", fft_size, 32, 4096);
    require(walk, fft_size > 0 && (fft_size & (fft_size - 1)) == 0, "fft_size", "a power of two");
}

/* Packed audio, for transforms of fft_size samples every hop. */
static inline void packed_audio(struct walk *walk, const struct mx_ragged *samples, int32_t fft_size, int32_t hop)
{
    static const char *const names[] = {"samples.count", "samples.rows", "samples.max_rows", "samples.offsets"};
    transform_size(walk, fft_size);
    integer(walk, "hop", hop, 1, fft_size);
    ragged_parts(walk, samples, names);
}

/* The sizes of a recipe's tables where no audio is. */
static inline void mel_tables(struct walk *walk, int32_t fft_size, int32_t bands, int32_t weights)
{
    transform_size(walk, fft_size);
    integer(walk, "bands", bands, 1, 1024);
    integer(walk, "weights", weights, 0, times(bands, fft_size / 2 + 1));
}

/* Floats from row to row, of which `width` are used. */
static inline void row_stride(struct walk *walk, const char *name, int64_t stride, int64_t width)
{
    if (checking(walk) && (stride < width || stride > INT32_MAX)) refuse_integer(walk, name, stride, width, INT32_MAX);
}

/* ---- mx_op_walk_<operation>, one for each ---- */
#define MX_ONE(name)  void mx_op_walk_##name(struct walk *walk, const void *args);
#define MX_PAIR(name) MX_ONE(name) MX_ONE(name##_grad)
MX_OP_LIST(MX_PAIR, MX_ONE)
#undef MX_PAIR
#undef MX_ONE

#endif

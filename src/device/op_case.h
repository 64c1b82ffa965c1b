/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Random cases of every operation, for all that compares devices: the tests, and `myxtts validate --report`.
 *
 * A case is one operation with its arguments and the contents of all its operands, a pure function of (operation, seed,
 * plan). It is independent of devices: the same case may run on several and the results be compared with each
 * other (mx_op_result_differs, mx_op_result_far). X and X_grad of one seed and plan have the same shapes, and operands of
 * the same name fit each other.
 *
 * Operands live in storages. Usually each operand has its own; in-place operands and q, k, v of one tensor share one.
 * On the device each storage is a buffer with guard words on both sides and a random 4-byte alignment. Whatever an
 * operation must not read holds NaN; whatever it must not write is compared bit for bit after the run.
 *
 * A case whose rows are independent is also a list of sequences (for row-wise operations an arbitrary cut of
 * the rows); mx_op_case_part cuts out one sequence as a case of its own.
 *
 * Memory: a case owns everything it points to, in one piece of MX_OP_CASE_BYTES taken at its beginning, more than any
 * case needs (tests/ops/make.c checks it); release with mx_op_case_release. A result owns its copies; release with
 * mx_op_result_release.
 */
#ifndef MX_DEVICE_OP_CASE_H
#define MX_DEVICE_OP_CASE_H

#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "myxtts/device.h"
#include "myxtts/ops.h"

#define MX_OP_TENSORS_MAX 16
#define MX_OP_DIMS_MAX    12
#define MX_OP_CASE_BYTES  ((size_t)64 << 20)
#define MX_OP_POISON      0x7fc5a5a5u /* a NaN: what guards and outputs hold before the run */

enum mx_op_type { MX_OP_F32, MX_OP_I32, MX_OP_BF16 };
enum mx_op_role { MX_OP_IN, MX_OP_OUT, MX_OP_INOUT, MX_OP_SCRATCH }; /* scratch: written, contents unspecified */

/* How a storage relates to the rows of the case. */
enum mx_op_layout {
    MX_OP_SHARED,    /* not at all: weights, tables */
    MX_OP_SUM,       /* a sum over rows: differs between the whole and its parts */
    MX_OP_ROWS,      /* one row each */
    MX_OP_HEAD_ROWS, /* [width, rows] */
    MX_OP_SEGMENTS,  /* one row of `width` per sequence */
    MX_OP_ENDS,      /* the int32 offsets themselves */
    MX_OP_SAMPLES,   /* the samples whose frames the rows are: one row each, cut by c->samples */
    MX_OP_SAMPLE_ENDS,
};

struct mx_op_storage {
    const char *name; /* of its first tensor */
    enum mx_op_type type;
    enum mx_op_layout layout;
    int64_t count, width, stride; /* rows of `width` elements every `stride`; gaps between them are never touched */
    bool written;
    bool scratch; /* all its tensors are scratch: not compared */
    void *data;   /* contents before the run */
};

struct mx_op_tensor {
    const char *name;
    size_t slice_at; /* where its struct mx_slice stands in the arguments */
    enum mx_op_role role;
    bool optional;
    int storage;
    int64_t offset; /* elements into the storage */
    int64_t need;   /* elements from there to the last one the operation touches */
};

/* An integer argument that tells a size. */
enum mx_op_dim_kind {
    MX_OP_DIM_FIXED,
    MX_OP_DIM_ROWS,
    MX_OP_DIM_SEGMENTS,
    MX_OP_DIM_ELEMENTS,
    MX_OP_DIM_MAX_ROWS,
    MX_OP_DIM_SAMPLES,
    MX_OP_DIM_MAX_SAMPLES
};
struct mx_op_dim {
    const char *name;
    size_t at, bytes; /* where in the arguments; 4 or 8 bytes */
    enum mx_op_dim_kind kind;
    int64_t unit; /* MX_OP_DIM_ELEMENTS: elements per row */
};

enum mx_op_size {
    MX_OP_TINY,  /* for differences element by element */
    MX_OP_USUAL, /* all the odd sizes */
    MX_OP_LARGE, /* beyond the blocks and shares of any kernel */
    MX_OP_WIDE,  /* a few rows that outgrow any scratch; only for what mx_op_can_be_wide allows */
};

struct mx_op_plan {
    enum mx_op_size size;
    bool plain; /* no accumulation, nothing in place, no optional operands, at least one row */
    bool bf16;  /* products multiply bf16 numbers, and operands are stored as such here and there (mx_op_knows_bf16) */
};

struct mx_op_case {
    enum mx_op op;
    uint64_t seed;
    struct mx_op_plan plan;
    alignas(16) unsigned char args[MX_OP_ARGS_MAX];
    struct mx_op_storage storages[MX_OP_TENSORS_MAX];
    struct mx_op_tensor tensors[MX_OP_TENSORS_MAX];
    struct mx_op_dim dims[MX_OP_DIMS_MAX];
    int storage_count, tensor_count, dim_count;
    int sequences;          /* 0: rows are not independent */
    const int32_t *ends;    /* [sequences + 1] */
    const int32_t *samples; /* [sequences + 1], where rows are frames of audio; else NULL */
    uint64_t draws;         /* random numbers drawn so far */
    struct mx_arena arena;
};

/* What a storage that is written holds after the run. */
struct mx_op_output {
    const char *name;
    int storage;
    int64_t count;
    size_t bytes;
    void *bits;    /* as stored */
    float *values; /* the same as floats */
};

struct mx_op_result {
    struct mx_op_output outputs[MX_OP_TENSORS_MAX];
    int count;
};

/* What a gradient takes over from its forward operation: the outputs of that case, as floats, in `result`. */
struct mx_op_forward {
    void *context;
    int (*run)(void *context, const struct mx_op_case *forward, struct mx_op_result *result);
};
/* MX_ERR_NO_MEMORY, or the error of forward->run, which only gradients call; then there is nothing to release. */
int mx_op_case_make(struct mx_op_case *c, enum mx_op op, uint64_t seed, struct mx_op_plan plan,
                    const struct mx_op_forward *forward);
/* mx_op_forward.run on a device, the context. */
int mx_op_forward_on(void *device, const struct mx_op_case *forward, struct mx_op_result *result);
bool mx_op_can_be_wide(enum mx_op op); /* its work grows only linearly with the width of a row */
bool mx_op_knows_bf16(enum mx_op op);  /* its cases differ with plan.bf16 */
int mx_op_case_part(const struct mx_op_case *whole, int sequence, struct mx_op_case *part);
void mx_op_case_release(struct mx_op_case *c);

/* The tensor of that name, or NULL. */
const struct mx_op_tensor *mx_op_case_tensor(const struct mx_op_case *c, const char *name);
/* The contents before the run, of tensor `name`, or NULL. */
void *mx_op_case_data(const struct mx_op_case *c, const char *name);

/* ---- running ---- */

/* Runs the case on a stream of its own and collects the outputs. MX_ERR_INTERNAL when a guard word, an input or a
 * gap between rows was written to; otherwise the error of the operation. */
int mx_op_case_run(const struct mx_op_case *c, struct mx_device *device, struct mx_op_result *result);
void mx_op_result_release(struct mx_op_result *result);
const struct mx_op_output *mx_op_result_output(const struct mx_op_result *result, const char *name); /* NULL: none */

/* NULL if equal bit for bit, else where the first difference is (static text). Scratch does not count. */
const char *mx_op_result_differs(const struct mx_op_case *c, const struct mx_op_result *a,
                                 const struct mx_op_result *b);
/* The same for what belongs to one sequence: `sa` of result a (of case ca) and `sb` of result b (of case cb). Sums over
 * all rows do not count. */
const char *mx_op_result_sequence_differs(const struct mx_op_case *ca, const struct mx_op_result *a, int sa,
                                          const struct mx_op_case *cb, const struct mx_op_result *b, int sb);
/* The largest difference of a and b as a share of what is allowed: above 1 they are too far apart. `where` gets the
 * name of the output with it. */
double mx_op_result_distance(const struct mx_op_case *c, const struct mx_op_result *a, const struct mx_op_result *b,
                             const char **where);
/* NULL if a and b are within the case's bound (mx_op_bound) of each other. */
const char *mx_op_result_far(const struct mx_op_case *c, const struct mx_op_result *a, const struct mx_op_result *b);

/* The largest |device - exact| allowed, as a fraction of max(1, largest |exact| of the output). Inputs are
 * scaled so that outputs are about 1. 0: must be the nearest float. Derived in cases/op_bound.c. */
double mx_op_bound(const struct mx_op_case *c);
/* Of a number of roundings in line, and sums of `terms` terms that depend on each other. */
double mx_op_rounding(int line, int sums, int64_t terms);

/* ---- buffers of a running case, for tests that need more than mx_op_case_run ---- */

struct mx_op_placed {
    struct mx_buffer *buffers[MX_OP_TENSORS_MAX];
    size_t at[MX_OP_TENSORS_MAX]; /* bytes before the first element */
    alignas(16) unsigned char args[MX_OP_ARGS_MAX];
};

/* Takes buffers, uploads the contents and fills the slices of placed->args. Waits for the uploads. */
int mx_op_case_place(const struct mx_op_case *c, struct mx_stream *stream, struct mx_op_placed *placed);
void mx_op_placed_release(struct mx_op_placed *placed);

/* ---- for the generators (cases/cases_*.c) ---- */

/* One per operation: an operation without a generator does not link. */
#define OP_SOLO(name) void mx_op_make_##name(struct mx_op_case *c);
#define OP_PAIR(name) OP_SOLO(name) OP_SOLO(name##_grad)
MX_OP_LIST(OP_PAIR, OP_SOLO)
#undef OP_PAIR
#undef OP_SOLO

int64_t mx_op_draw(struct mx_op_case *c, int64_t least, int64_t most); /* inclusive */
bool mx_op_flip(struct mx_op_case *c);
int64_t mx_op_draw_width(struct mx_op_case *c); /* an awkward row width, ≥ 1 */
int64_t mx_op_draw_rows(struct mx_op_case *c);  /* an awkward row count; 0 too unless plain */
/* Cuts `rows` (-1: draws them) into sequences, some of them empty; sets c->sequences and c->ends. */
int64_t mx_op_draw_sequences(struct mx_op_case *c, int64_t rows);

/* Draws utterances of samples (some of them empty, some shorter than a frame); sets c->samples, and c->sequences and
 * c->ends to their frames. Returns the number of samples. */
int64_t mx_op_draw_audio(struct mx_op_case *c, int64_t fft_size, int64_t hop);

struct mx_op_shape {
    enum mx_op_type type;
    enum mx_op_layout layout;
    int64_t rows, width, stride; /* stride 0: width */
};
/* With plan.bf16, now and then: makes the shape one of bf16 numbers. Returns whether. */
bool mx_op_flip_bf16(struct mx_op_case *c, struct mx_op_shape *shape);
/* Adds a storage with one tensor on it. Inputs are normal with deviation `scale`; outputs hold MX_OP_POISON, gaps too.
 * Returns the storage's number. */
int mx_op_add(struct mx_op_case *c, const char *name, size_t slice_at, enum mx_op_role role, struct mx_op_shape shape,
              double scale);
/* Adds a tensor on an existing storage, `offset` elements in, with rows of `width`. */
void mx_op_share(struct mx_op_case *c, const char *name, size_t slice_at, enum mx_op_role role, int storage,
                 int64_t offset, int64_t width);
void mx_op_optional(struct mx_op_case *c); /* the tensor added last may be left out */
void mx_op_dim_add(struct mx_op_case *c, const char *name, size_t at, size_t bytes, enum mx_op_dim_kind kind,
                   int64_t unit);
/* Registers the sequences drawn before as `rows` (struct mx_ragged at `at` in the arguments). */
void mx_op_add_packed(struct mx_op_case *c, size_t at);
/* Registers the samples and frames of mx_op_draw_audio (struct mx_ragged at both places). */
void mx_op_add_audio(struct mx_op_case *c, size_t samples_at, size_t frames_at);
/* Registers them as int32 `ends`. */
void mx_op_add_ends(struct mx_op_case *c, size_t at);

/* Adds the output `name` of a product with every random epilogue: bias, activation or its derivative, pre, residual
 * (its own tensor or the output itself), accumulation. `epilogue_at`: where struct mx_epilogue stands. */
void mx_op_add_epilogue(struct mx_op_case *c, const char *name, size_t slice_at, size_t epilogue_at, int64_t rows,
                        int64_t n, int64_t stride);

#define MX_OP_ARGS(name)       struct mx_##name##_args *a = (void *)c->args
#define MX_OP_AT(name, member) offsetof(struct mx_##name##_args, member)
#define MX_OP_DIM(name, m, kind)                                                                                       \
    mx_op_dim_add(c, #m, MX_OP_AT(name, m), sizeof(((struct mx_##name##_args *)0)->m), kind, 1)

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Random cases of every operation, for all tests that run operations.
 *
 * A case is one operation with its arguments and the contents of all its operands, a pure function of (operation, seed,
 * plan). It is independent of devices: the same case may run on several and the results be compared, with each
 * other (op_result_differs, op_result_far) or with the double-precision reference (reference.h). X and X_grad of one
 * seed and plan have the same shapes, and operands of the same name fit each other.
 *
 * Operands live in storages. Usually each operand has its own; in-place operands and q, k, v of one tensor share one.
 * On the device each storage is a buffer with guard words on both sides and a random 4-byte alignment. Whatever an
 * operation must not read holds NaN; whatever it must not write is compared bit for bit after the run.
 *
 * A case whose rows are independent is also a list of sequences (for row-wise operations an arbitrary cut of
 * the rows); op_case_part cuts out one sequence as a case of its own.
 *
 * Memory: a case owns everything it points to; release with op_case_release. A result owns its copies; release with
 * op_result_release. Running out of host memory ends the process: these are tests.
 */
#ifndef MX_TESTS_OPS_CASE_H
#define MX_TESTS_OPS_CASE_H

#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "myxtts/device.h"
#include "myxtts/ops.h"
#include "myxtts/registry.h"

#define OP_TENSORS_MAX 16
#define OP_DIMS_MAX    12
#define OP_POISON      0x7fc5a5a5u /* a NaN: what guards and outputs hold before the run */

enum op_type { OP_F32, OP_I32, OP_BF16 };
enum op_role { OP_IN, OP_OUT, OP_INOUT, OP_SCRATCH }; /* scratch: written, contents unspecified */

/* How a storage relates to the rows of the case. */
enum op_layout {
    OP_SHARED,    /* not at all: weights, tables */
    OP_SUM,       /* a sum over rows: differs between the whole and its parts */
    OP_ROWS,      /* one row each */
    OP_HEAD_ROWS, /* [width, rows] */
    OP_SEGMENTS,  /* one row of `width` per sequence */
    OP_ENDS,      /* the int32 offsets themselves */
    OP_SAMPLES,   /* the samples whose frames the rows are: one row each, cut by c->samples */
    OP_SAMPLE_ENDS,
};

struct op_storage {
    const char *name; /* of its first tensor */
    enum op_type type;
    enum op_layout layout;
    int64_t count, width, stride; /* rows of `width` elements every `stride`; gaps between them are never touched */
    bool written;
    bool scratch; /* all its tensors are scratch: not compared */
    void *data;   /* contents before the run */
};

struct op_tensor {
    const char *name;
    size_t slice_at; /* where its struct mx_slice stands in the arguments */
    enum op_role role;
    bool optional;
    int storage;
    int64_t offset; /* elements into the storage */
    int64_t need;   /* elements from there to the last one the operation touches */
};

/* An integer argument that tells a size. */
enum op_dim_kind {
    OP_DIM_FIXED,
    OP_DIM_ROWS,
    OP_DIM_SEGMENTS,
    OP_DIM_ELEMENTS,
    OP_DIM_MAX_ROWS,
    OP_DIM_SAMPLES,
    OP_DIM_MAX_SAMPLES
};
struct op_dim {
    const char *name;
    size_t at, bytes; /* where in the arguments; 4 or 8 bytes */
    enum op_dim_kind kind;
    int64_t unit; /* OP_DIM_ELEMENTS: elements per row */
};

enum op_size {
    OP_TINY,  /* for differences element by element */
    OP_USUAL, /* all the odd sizes */
    OP_LARGE, /* beyond the blocks and shares of any kernel */
    OP_WIDE,  /* a few rows that outgrow any scratch; only for what op_can_be_wide allows */
};

struct op_plan {
    enum op_size size;
    bool plain; /* no accumulation, nothing in place, no optional operands, at least one row */
    bool bf16;  /* products multiply bf16 numbers, and operands are stored as such here and there (op_knows_bf16) */
};

struct op_case {
    enum mx_op op;
    uint64_t seed;
    struct op_plan plan;
    alignas(16) unsigned char args[MX_OP_ARGS_MAX];
    struct op_storage storages[OP_TENSORS_MAX];
    struct op_tensor tensors[OP_TENSORS_MAX];
    struct op_dim dims[OP_DIMS_MAX];
    int storage_count, tensor_count, dim_count;
    int sequences;          /* 0: rows are not independent */
    const int32_t *ends;    /* [sequences + 1] */
    const int32_t *samples; /* [sequences + 1], where rows are frames of audio; else NULL */
    uint64_t draws;         /* random numbers drawn so far */
    struct mx_arena arena;
};

void op_case_make(struct op_case *c, enum mx_op op, uint64_t seed, struct op_plan plan);
bool op_can_be_wide(enum mx_op op); /* its work grows only linearly with the width of a row */
bool op_knows_bf16(enum mx_op op);  /* its cases differ with plan.bf16 */
void op_case_part(const struct op_case *whole, int sequence, struct op_case *part);
void op_case_release(struct op_case *c);

/* The tensor of that name, or NULL. */
const struct op_tensor *op_case_tensor(const struct op_case *c, const char *name);
/* The contents before the run, of tensor `name` (which must exist). */
void *op_case_data(const struct op_case *c, const char *name);

/* ---- running ---- */

/* What a storage that is written holds after the run. */
struct op_output {
    const char *name;
    int storage;
    int64_t count;
    size_t bytes;
    void *bits;    /* as stored */
    float *values; /* the same as floats */
};

struct op_result {
    struct op_output outputs[OP_TENSORS_MAX];
    int count;
};

/* Runs the case on a stream of its own and collects the outputs. MX_ERR_INTERNAL when a guard word, an input or a
 * gap between rows was written to; otherwise the error of the operation. */
int op_case_run(const struct op_case *c, struct mx_device *device, struct op_result *result);
void op_result_release(struct op_result *result);
const struct op_output *op_result_output(const struct op_result *result, const char *name); /* NULL: none */

/* NULL if equal bit for bit, else where the first difference is (static text). Scratch does not count. */
const char *op_result_differs(const struct op_case *c, const struct op_result *a, const struct op_result *b);
/* The same for what belongs to one sequence: `sa` of result a (of case ca) and `sb` of result b (of case cb). Sums over
 * all rows do not count. */
const char *op_result_sequence_differs(const struct op_case *ca, const struct op_result *a, int sa,
                                       const struct op_case *cb, const struct op_result *b, int sb);
/* NULL if a and b are within the case's bound (op_bound) of each other. */
const char *op_result_far(const struct op_case *c, const struct op_result *a, const struct op_result *b);

/* The largest |device - exact| allowed, as a fraction of max(1, largest |exact| of the output). Inputs are
 * scaled so that outputs are about 1. 0: must be the nearest float. Derived in bound.c. */
double op_bound(const struct op_case *c);
/* Of a number of roundings in line, and sums of `terms` terms that depend on each other. */
double op_rounding(int line, int sums, int64_t terms);

/* ---- parts (parts.c): cmocka fails the test where they differ; how many sequences were compared ---- */

void op_case_must_run(const struct op_case *c, struct mx_device *device, struct op_result *result);
/* Each sequence of a case is the same alone as in the batch. */
int op_parts_alone(enum mx_op op, uint64_t seed, struct op_plan plan, struct mx_device *device);
/* Each sequence of a case is the same when everything of another one is NaN. */
int op_parts_leak(enum mx_op op, uint64_t seed, struct op_plan plan, struct mx_device *device);

/* ---- buffers of a running case, for tests that need more than op_case_run ---- */

struct op_placed {
    struct mx_buffer *buffers[OP_TENSORS_MAX];
    size_t at[OP_TENSORS_MAX]; /* bytes before the first element */
    alignas(16) unsigned char args[MX_OP_ARGS_MAX];
};

/* Takes buffers, uploads the contents and fills the slices of placed->args. Waits for the uploads. */
int op_case_place(const struct op_case *c, struct mx_stream *stream, struct op_placed *placed);
void op_placed_release(struct op_placed *placed);

/* ---- devices ---- */

/* Number `index` of `devices` logical CPU devices (1: one of all cores), with its registry. */
struct op_cpu {
    struct mx_registry *registry;
    struct mx_device *device;
};
int op_cpu_open(struct op_cpu *cpu, int devices, int index);
void op_cpu_close(struct op_cpu *cpu);
int op_cpu_cores(void); /* how many this process may use */

/* One of all cores for a cmocka group, whose state it is. */
extern struct op_cpu op_group;
int op_group_open(void **state);
int op_group_close(void **state);

/* ---- for the generators (cases_*.c) ---- */

/* One per operation: an operation without a generator does not link. */
#define OP_SOLO(name) void op_make_##name(struct op_case *c);
#define OP_PAIR(name) OP_SOLO(name) OP_SOLO(name##_grad)
MX_OP_LIST(OP_PAIR, OP_SOLO)
#undef OP_PAIR
#undef OP_SOLO

int64_t op_draw(struct op_case *c, int64_t least, int64_t most); /* inclusive */
bool op_flip(struct op_case *c);
int64_t op_draw_width(struct op_case *c); /* an awkward row width, ≥ 1 */
int64_t op_draw_rows(struct op_case *c);  /* an awkward row count; 0 too unless plain */
/* Cuts `rows` (-1: draws them) into sequences, some of them empty; sets c->sequences and c->ends. */
int64_t op_draw_sequences(struct op_case *c, int64_t rows);

/* Draws utterances of samples (some of them empty, some shorter than a frame); sets c->samples, and c->sequences and
 * c->ends to their frames. Returns the number of samples. */
int64_t op_draw_audio(struct op_case *c, int64_t fft_size, int64_t hop);

struct op_shape {
    enum op_type type;
    enum op_layout layout;
    int64_t rows, width, stride; /* stride 0: width */
};
/* With plan.bf16, now and then: makes the shape one of bf16 numbers. Returns whether. */
bool op_flip_bf16(struct op_case *c, struct op_shape *shape);
/* Adds a storage with one tensor on it. Inputs are normal with deviation `scale`; outputs hold OP_POISON, gaps too.
 * Returns the storage's number. */
int op_add(struct op_case *c, const char *name, size_t slice_at, enum op_role role, struct op_shape shape,
           double scale);
/* Adds a tensor on an existing storage, `offset` elements in, with rows of `width`. */
void op_share(struct op_case *c, const char *name, size_t slice_at, enum op_role role, int storage, int64_t offset,
              int64_t width);
void op_optional(struct op_case *c); /* the tensor added last may be left out */
void op_dim_add(struct op_case *c, const char *name, size_t at, size_t bytes, enum op_dim_kind kind, int64_t unit);
/* Registers the sequences drawn before as `rows` (struct mx_ragged at `at` in the arguments). */
void op_add_packed(struct op_case *c, size_t at);
/* Registers the samples and frames of op_draw_audio (struct mx_ragged at both places). */
void op_add_audio(struct op_case *c, size_t samples_at, size_t frames_at);
/* Registers them as int32 `ends`. */
void op_add_ends(struct op_case *c, size_t at);

/* Adds the output `name` of a product with every random epilogue: bias, activation or its derivative, pre, residual
 * (its own tensor or the output itself), accumulation. `epilogue_at`: where struct mx_epilogue stands. */
void op_add_epilogue(struct op_case *c, const char *name, size_t slice_at, size_t epilogue_at, int64_t rows, int64_t n,
                     int64_t stride);

#define OP_ARGS(name)         struct mx_##name##_args *a = (void *)c->args
#define OP_AT(name, member)   offsetof(struct mx_##name##_args, member)
#define OP_DIM(name, m, kind) op_dim_add(c, #m, OP_AT(name, m), sizeof(((struct mx_##name##_args *)0)->m), kind, 1)

#endif

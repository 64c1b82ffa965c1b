/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the rows of bench_ops are made with: a CPU device, the buffers of the row being measured, and chains of
 * operations compared with the peak or with memcpy.
 *
 * Memory: a unit owns its device and, until unit_clear, the buffers that floats, noise and words handed out.
 */
#ifndef MX_BENCH_OPS_UNIT_H
#define MX_BENCH_OPS_UNIT_H

#include "bench.h"
#include "device/cpu/cpu.h"
#include "myxtts/ops.h"
#include "myxtts/registry.h"
#include "openblas.h"
#include "peak.h"

#define ROWS        4000               /* packed rows of a batch */
#define SEQUENCES   8                  /* in this number of sequences */
#define LENGTH      (ROWS / SEQUENCES) /* each of this length */
#define BUFFERS_MAX 32
#define CORES_MAX   2

/* One CPU device with its stream, its peaks and the buffers of the row being measured. */
struct unit {
    struct mx_registry *registry;
    struct mx_device *device;
    struct mx_stream *stream;
    struct peak peak;
    int core, cores;
    struct openblas blas; /* of the device of one core */
    char label[16];       /* "1 core" */
    struct mx_buffer *buffers[BUFFERS_MAX];
    int buffer_count;
};

struct link {
    enum mx_op op;
    const void *args;
};

/* A list of operations that are submitted one after the other; the job of a row. */
struct chain {
    struct unit *unit;
    struct link links[4];
    int count;
};

/* A kernel called again and again by each core for itself, on its own small arrays, with no queue in between: what the
 * arithmetic allows. */
struct resident {
    struct unit *unit;
    struct link links[CORES_MAX];
    const struct mx_cpu_kernels *kernels;
    void *scratch[CORES_MAX], *shared[CORES_MAX];
    int64_t repeats;
};

void unit_open(struct unit *unit, int devices, int index);
void unit_clear(struct unit *unit); /* waits, and releases the buffers */
void unit_close(struct unit *unit); /* one that was not opened is fine */

/* `count` floats, all `value`. */
struct mx_slice floats(struct unit *unit, int64_t count, float value);
/* Numbers of both signs, so that no sum runs away. */
struct mx_slice noise(struct unit *unit, int64_t count);
/* `count` words of 4 bytes, copied from the host. */
struct mx_slice words(struct unit *unit, const void *from, int64_t count);
/* Sequences of equal length: `step` rows each. */
struct mx_ragged packed_by(struct unit *unit, int32_t step);
struct mx_ragged packed(struct unit *unit); /* by LENGTH */

void chain_run(void *context, int64_t repeats); /* context: a struct chain */
struct chain chain_of(struct unit *unit, enum mx_op op, const void *args);

void resident_open(struct resident *resident); /* unit and links are set */
void resident_close(struct resident *resident);
void resident_run(void *context, int64_t repeats); /* context: a struct resident */

/* "what, 1 core" */
void row_name(char name[96], const struct unit *unit, const char *what);
bool wanted(const struct bench *bench, const struct unit *unit, const char *what);
/* A computing row: `flops` of one pass through the chain, against the multiply-add peak. */
void row_compute(struct bench *bench, struct chain *chain, const char *what, double flops, double bar);
/* A memory row: `arrays` arrays of `count` floats are touched with `passes` reads and writes of all elements. */
void row_memory(struct bench *bench, struct chain *chain, const char *what, int64_t count, int arrays, int passes,
                double bar);
/* Rows of one operation without a bar, if they are wanted: one that touches `count` floats, one of `flops`. */
void row_bytes(struct bench *bench, struct unit *unit, const char *what, enum mx_op op, const void *args,
               int64_t count);
void row_flops(struct bench *bench, struct unit *unit, const char *what, enum mx_op op, const void *args, double flops);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Inside of the double: objects, memory, what streams do.
 *
 * object (all that has a handle, in one list, so that a handle can be checked) ← context, stream, event, module, graph.
 * A command is one thing that a stream does. It names device memory by address; `blocks` are what the addresses meant
 * when it was queued, held until it is done. A captured command is kept by its graph and copied for each launch.
 *
 * Locks, each of which says above it what it protects: of primary contexts, of memory, of objects, of faults, of each
 * stream, of each record. The first is taken before any other, that of faults may be taken last under any; the rest are
 * never held together.
 */
#ifndef MX_TESTS_DOUBLE_INSIDE_H
#define MX_TESTS_DOUBLE_INSIDE_H

#include "device/cuda/cuda_api.h"
#include "dist/nccl.h"
#include "double.h"
#include "lanes.h"
#include "ptx.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#define DEVICES_MAX 8
#define PARAMS_MAX  48 /* of a kernel */
#define BLOCKS_MAX  24 /* of a command */

/* Everything that the backend looks up, with its own declarations; all else is hidden. */
#define EXPORT                              __attribute__((visibility("default")))
#define DECLARE(result, symbol, parameters) EXPORT result symbol parameters;
MX_CUDA_DRIVER_LIST(DECLARE, DECLARE)
MX_CUDA_NVRTC_LIST(DECLARE, DECLARE)
MX_CUDA_CUBLAS_LIST(DECLARE, DECLARE)
MX_CUDA_NVML_LIST(DECLARE, DECLARE)
MX_NCCL_LIST(DECLARE)
#undef DECLARE

/* ---- control.c ---- */
struct settings {
#define X(name, value) atomic_long name;
    DOUBLE_SETTINGS(X)
#undef X
};
struct totals {
#define X(name) atomic_long name;
    DOUBLE_TOTALS(X)
#undef X
};
struct settings *settings(void); /* read from the environment at first */
extern struct totals totals;
/* Whether an "nth" setting strikes now. */
bool strikes(atomic_long *setting);
/* Counts a fault with a text; returns `code`. */
CUresult fault(CUresult code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
uint64_t now_ns(void);
void pause_us(long us);

enum object_kind { CONTEXT, STREAM, EVENT, MODULE, FUNCTION, GRAPH, EXEC, PROGRAM, BLAS, COMM };
struct object {
    enum object_kind kind;
    struct context *context; /* NULL: of none */
    struct object *prev, *next;
};
void object_add(struct object *object, enum object_kind kind, struct context *context);
void object_remove(struct object *object);
/* Whether `handle` is a living object of that kind; a fault tells if not. */
bool object_is(const void *handle, enum object_kind kind, const char *call);
/* One that is alive and belongs to `context`, except functions; NULL if there is none. */
struct object *object_left(const struct context *context, enum object_kind kind);

/* ---- context.c ---- */
struct context {
    struct object object;
    int device;      /* of the machine */
    int users;       /* of the primary context; the list's lock in context.c */
    atomic_int lost; /* CUresult that every call gets from now on; 0: fine */
    atomic_bool peers[DEVICES_MAX];
};
/* The calling thread's context: fine, or the code that the call must return. */
CUresult context_now(struct context **out, const char *call);
/* 0, or the code of a context that cannot be used any more. */
CUresult context_state(struct context *context);
/* The same for calls that stream capture forbids. */
CUresult context_outside_capture(struct context **out, const char *call);

/* ---- memory.c ---- */
struct block {
    CUdeviceptr address; /* never given twice; 0: pinned memory */
    char *host;
    size_t bytes;
    struct context *context;
    atomic_int users;         /* commands that are queued or run */
    struct ptx_shadow shadow; /* without words: not watched */
    struct block *next;
};
/* The host memory of `bytes` at `address`, as seen from `context`, held; NULL with a fault if there are fewer
 * or it must not be seen. */
struct block *block_hold(struct context *context, CUdeviceptr address, size_t bytes, char **host, const char *call);
void block_drop(struct block *block);
/* The pinned block that has these bytes, held; NULL: they are pageable. */
struct block *host_hold(const void *memory, size_t bytes);
size_t memory_used(int device);                   /* bytes */
void memory_release_all(struct context *context); /* counts leaks */

/* ---- order.c: which commands are over when another begins ---- */
#define ORDER_SLOTS 64
struct order_clock {
    uint32_t last[ORDER_SLOTS]; /* commands of each slot that are over */
};
int order_open(void); /* a slot for a stream; -1: there are too many */
void order_close(int slot);
/* The number of the command that begins now, which the host gave when it knew that. */
uint32_t order_begin(int slot, const struct order_clock *given);
void order_stamp(int slot, struct order_clock *out); /* what the stream knows */
void order_join(int slot, const struct order_clock *clock);
void order_seen(const struct order_clock *clock); /* by the host */
void order_drained(int slot);                     /* all commands of a slot are over, and the host knows */
void order_host(struct order_clock *out);         /* what the host knows */
ptx_ordered order_over;

/* ---- stream.c ---- */
enum command_kind {
    COMMAND_KERNEL,
    COMMAND_COPY,
    COMMAND_FILL,
    COMMAND_GEMM,
    COMMAND_SUM,
    COMMAND_RECORD,
    COMMAND_WAIT
};
enum { COPY_UPLOAD, COPY_DOWNLOAD, COPY_INSIDE };

struct copy {
    int way;
    CUdeviceptr to, from;
    void *host;           /* the caller's */
    struct block *pinned; /* where that is, held; NULL: it is pageable */
    void *snapshot;       /* the contents of pageable memory; owned by the command */
    size_t bytes;
    struct context *to_context, *from_context;
};
struct fill {
    CUdeviceptr to;
    unsigned word;
    size_t words;
};
struct gemm {
    bool ta, tb, half; /* half: a and b are bf16 */
    int m, n, k, lda, ldb, ldc;
    float alpha, beta;
    CUdeviceptr a, b, c;
};
struct sum {
    struct ncclComm *comm;
    CUdeviceptr at;
    size_t count; /* of floats */
    bool broken;
};
struct call {
    const struct kernel *kernel;
    const struct ptx_entry *entry; /* what is executed instead; NULL: the kernel itself */
    unsigned groups;
    uint64_t values[PARAMS_MAX];
};

struct command {
    enum command_kind kind;
    union {
        struct call call;
        struct copy copy;
        struct fill fill;
        struct gemm gemm;
        struct sum sum;
        struct record *record;
    };
    struct block *blocks[BLOCKS_MAX];
    char *hosts[BLOCKS_MAX]; /* where the addresses are */
    int block_count;
    CUresult broken;          /* found wrong when it was queued, but only reported when it runs */
    struct order_clock given; /* what the host knew then */
    struct command *next;
};

struct stream {
    struct object object;
    pthread_t thread;
    pthread_mutex_t lock; /* protects the next four */
    pthread_cond_t changed;
    struct command *first, *last;
    bool busy, stop;
    int slot;                      /* order.c */
    struct graph *_Atomic capture; /* changed by the capturing thread alone, as the next */
    atomic_bool spoiled;           /* the capture, by a call that is not allowed in it */
};

/* Takes the command over: queues it, or appends it to the capture. */
CUresult stream_submit(struct stream *stream, struct command *command);
CUresult stream_queue(struct stream *stream, struct command *command); /* even in a capture */
/* For calls with a stream: it and the calling thread's context are alive. The stream may be of another one, except for
 * kernels, as in CUDA. */
CUresult stream_check(CUstream handle, struct stream **out, const char *call);
void stream_close(struct stream *stream);      /* when all is done */
extern _Thread_local struct stream *capturing; /* of this thread */

/* ---- event.c ---- */
struct record; /* one cuEventRecord, shared by the event, the command and all who wait */
void event_close(struct object *object);
/* `slot`: of the stream that completes it, or that waits; -1: the host waits. */
void record_finish(struct record *record, int slot);
void record_wait(struct record *record, int slot);
void record_drop(struct record *record);

/* ---- command.c ---- */
struct command *command_make(enum command_kind kind);
struct command *command_copy(const struct command *command);
/* Holds the memory that the command names. */
CUresult command_hold(struct command *command, struct context *context, bool snapshot);
/* What runs kernels, of one thread. */
struct runner {
    struct lanes *lanes;
    struct ptx_machine *machine;
    int slot;
};
CUresult command_run(struct command *command, const struct runner *runner);
void command_forget(struct command *command); /* lets go of the memory */
void command_release(struct command *command);

/* ---- graph.c ---- */
struct graph {
    struct object object;
    struct command *first, *last;
    size_t count;
};
void graph_append(struct graph *graph, struct command *command);
struct graph *graph_make(struct context *context, enum object_kind kind);
void graph_release(struct graph *graph);

/* ---- mutate.c ---- */
char *ptx_mutated(const char *text); /* the caller's */

/* ---- module.c, blas.c, nccl.c ---- */
void module_close(struct object *object);
void gemm_run(const struct gemm *gemm, char *const hosts[3]);
void sum_run(const struct sum *sum, float *values); /* waits for all members */
void sum_drop(const struct sum *sum);               /* done, or not to be done */

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The speed of the operations at the model's shapes, as a share of what this machine can do.
 *
 * Operations that compute are compared with the multiply-add peak (of bf16 numbers, where they multiply those),
 * operations that move memory with memcpy over the same footprint; GELU, where that is slower, with its own arithmetic:
 * the same kernel over a few rows that stay in the first-level cache. On several cores the multiply-add peak is that in
 * step: work as long as the operation, divided over the cores and joined as it is (peak.h). All on the same number of pinned threads, sample
 * by sample in turns (bench.h). Flops are the nominal ones (recomputation inside attention is not counted); a
 * convolution of three taps counts as if it were not done by Winograd's way, so more than 1 is possible. Bytes are what
 * must be read plus what must be written.
 */
#include <stdio.h>
#include <string.h>

#include "base/thread/pool.h"
#include "bench.h"
#include "myxtts/ops.h"
#include "openblas.h"
#include "ops_sequence.h"
#include "ops_unit.h"
#include "ops_vocoder.h"
#include "peak.h"

#define BIG_BYTES  (512l << 20) /* footprint of the out-of-cache rows */
#define FEW_FLOATS (20 << 8)    /* of all arrays that are to stay in the first-level cache: 20 KiB */

/* ---- matrix multiply ---- */

static const struct {
    int64_t k, n;
} products[] = {{192, 576}, {576, 768}, {768, 192}};

enum form { FORWARD, TO_INPUT, TO_WEIGHT, FORMS };
static const char *const form_names[] = {"", " dX", " dW"};

/* X [rows, k], W [k, n], Y [rows, n], or what their gradients need. */
static struct mx_matmul_args product_args(struct unit *unit, int64_t k, int64_t n, enum form form)
{
    const struct mx_slice x = noise(unit, ROWS * k), w = noise(unit, k * n), y = noise(unit, ROWS * n);
    if (form == TO_INPUT)
        return (struct mx_matmul_args){.a = y, .b = w, .c = x, .m = ROWS, .n = k, .k = n, .transpose_b = true};
    if (form == TO_WEIGHT)
        return (struct mx_matmul_args){.a = x, .b = y, .c = w, .m = k, .n = n, .k = ROWS, .transpose_a = true};
    return (struct mx_matmul_args){.a = x, .b = w, .c = y, .m = ROWS, .n = n, .k = k};
}

/* The same product by OpenBLAS, on the calling thread and the same memory. */
struct rival {
    const struct openblas *blas;
    const struct mx_matmul_args *args;
};

static void rival_run(void *context, int64_t repeats)
{
    const struct rival *rival = context;
    for (int64_t i = 0; i < repeats; i++) openblas_multiply(rival->blas, rival->args);
}

static void bench_product(struct bench *bench, struct unit *unit, int64_t k, int64_t n, enum form form)
{
    char what[64], name[96];
    snprintf(what, sizeof what, "matmul %d×%lld×%lld%s", ROWS, (long long)k, (long long)n, form_names[form]);
    if (!wanted(bench, unit, what)) return;
    row_name(name, unit, what);
    struct mx_matmul_args args = product_args(unit, k, n, form);
    struct chain chain = chain_of(unit, MX_OP_matmul, &args);
    const double flops = 2.0 * ROWS * (double)k * (double)n;
    if (unit->cores > 1) {
        row_compute(bench, &chain, what, flops, 0.85);
        unit_clear(unit);
        return;
    }
    struct rival rival = {&unit->blas, &args};
    struct bench_job jobs[] = {peak_fma_job(&unit->peak),
                               {.run = chain_run, .context = &chain, .work = flops},
                               {.run = rival_run, .context = &rival, .work = flops}};
    bench_measure(bench, jobs, unit->blas.sgemm ? 3 : 2, unit->core);
    bench_report(bench, name, "GFLOP/s", &jobs[1], "FMA peak", &jobs[0], 0.85);
    strcat(name, " vs OpenBLAS");
    if (unit->blas.sgemm) bench_report(bench, name, "GFLOP/s", &jobs[1], unit->blas.name, &jobs[2], 1.0);
    unit_clear(unit);
}

/* What the feed-forward layer really runs: bias, GELU and the values before it, in the product's own pass. */
static void bench_fused(struct bench *bench, struct unit *unit)
{
    const int64_t k = 192, n = 768;
    const char *what = "matmul 4000×192×768 bias GELU pre";
    if (!wanted(bench, unit, what)) return;
    struct mx_matmul_args args = product_args(unit, k, n, FORWARD);
    args.epilogue = (struct mx_epilogue){.bias = noise(unit, n), .act = MX_ACT_GELU, .pre = noise(unit, ROWS * n)};
    struct chain chain = chain_of(unit, MX_OP_matmul, &args);
    row_compute(bench, &chain, what, 2.0 * ROWS * (double)(k * n), 0);
    unit_clear(unit);
}

/* The gradients of a trained network are full of numbers that are almost zero: they must not cost more than others. */
static void bench_subnormal(struct bench *bench, struct unit *unit)
{
    const int64_t k = 576, n = 768;
    const char *what = "matmul 4000×576×768 dW of subnormal numbers";
    char name[96];
    if (!wanted(bench, unit, what)) return;
    row_name(name, unit, what);
    const struct mx_matmul_args ordinary = product_args(unit, k, n, TO_WEIGHT);
    struct mx_matmul_args tiny = ordinary;
    tiny.b = floats(unit, ROWS * n, 1e-40f);
    struct chain chains[] = {chain_of(unit, MX_OP_matmul, &ordinary), chain_of(unit, MX_OP_matmul, &tiny)};
    const double flops = 2.0 * ROWS * (double)k * (double)n;
    struct bench_job jobs[] = {{.run = chain_run, .context = &chains[0], .work = flops},
                               {.run = chain_run, .context = &chains[1], .work = flops}};
    bench_measure(bench, jobs, 2, unit->core);
    bench_report(bench, name, "GFLOP/s", &jobs[1], "ordinary numbers", &jobs[0], 0.95);
    unit_clear(unit);
}

/* ---- bf16 ---- */

/* A computing row against the peak of bf16 multiply-adds. */
static void row_bf16(struct bench *bench, struct chain *chain, const char *what, double flops)
{
    char name[96];
    struct bench_job jobs[2];
    row_name(name, chain->unit, what);
    if (!bench_wanted(bench, name) || !peak_bf16_job(&chain->unit->peak, &jobs[0])) return;
    jobs[1] = (struct bench_job){.run = chain_run, .context = chain, .work = flops};
    bench_measure(bench, jobs, 2, chain->unit->core);
    bench_report(bench, name, "GFLOP/s", &jobs[1], peak_bf16_name(), &jobs[0], 0);
}

/* `count` numbers as bf16. */
static struct mx_slice narrow(struct unit *unit, int64_t count)
{
    const struct mx_slice slice = noise(unit, count); /* its first half becomes the numbers, rounded downwards */
    const uint16_t *const wide = mx_buffer_host(slice.buffer);
    uint16_t *const half = mx_buffer_host(slice.buffer);
    const size_t first = slice.offset_bytes / sizeof *half;
    for (int64_t i = 0; i < count; i++) half[first + (size_t)i] = wide[first + 2 * (size_t)i + 1];
    return slice;
}

/* The rows of matmul with bf16 factors: activations are stored as bf16, weights and results as fp32. */
static void bench_bf16_product(struct bench *bench, struct unit *unit, int64_t k, int64_t n, enum form form)
{
    char what[64];
    snprintf(what, sizeof what, "bf16 matmul %d×%lld×%lld%s", ROWS, (long long)k, (long long)n, form_names[form]);
    if (!wanted(bench, unit, what)) return;
    struct mx_matmul_args args = product_args(unit, k, n, form);
    args.precision = MX_PRECISION_BF16;
    args.a_bf16 = form != TO_INPUT;
    if (args.a_bf16) args.a = narrow(unit, ROWS * k);
    struct chain chain = chain_of(unit, MX_OP_matmul, &args);
    row_bf16(bench, &chain, what, 2.0 * ROWS * (double)k * (double)n);
    unit_clear(unit);
}

/* ---- convolution and attention ---- */

static void bench_conv(struct bench *bench, struct unit *unit, int64_t in, int64_t out)
{
    char what[64];
    const struct mx_slice x = noise(unit, ROWS * in), w = noise(unit, 3 * in * out), y = noise(unit, ROWS * out);
    const struct mx_ragged rows = packed(unit);
    const struct mx_conv1d_args forward = {
        .x = x, .w = w, .y = y, .rows = rows, .in_width = in, .out_width = out, .taps = 3};
    const struct mx_conv1d_grad_input_args to_input = {
        .dy = y, .w = w, .dx = x, .rows = rows, .in_width = in, .out_width = out, .taps = 3};
    const struct mx_conv1d_grad_weight_args to_weight = {
        .x = x, .dy = y, .dw = w, .rows = rows, .in_width = in, .out_width = out, .taps = 3};
    struct chain chains[] = {chain_of(unit, MX_OP_conv1d, &forward), chain_of(unit, MX_OP_conv1d_grad_input, &to_input),
                             chain_of(unit, MX_OP_conv1d_grad_weight, &to_weight)};
    for (int form = 0; form < FORMS; form++) {
        snprintf(what, sizeof what, "conv1d 3×%lld→%lld%s", (long long)in, (long long)out, form_names[form]);
        if (wanted(bench, unit, what)) row_compute(bench, &chains[form], what, 6.0 * ROWS * (double)(in * out), 1.5);
    }
    unit_clear(unit);
}

/* The feed-forward layer's convolution in mixed precision: what it reads and writes is bf16, except the weights. */
static void bench_bf16_conv(struct bench *bench, struct unit *unit, int64_t in, int64_t out)
{
    char what[64];
    const struct mx_slice w = noise(unit, 3 * in * out), x = narrow(unit, ROWS * in), y = narrow(unit, ROWS * out);
    const struct mx_slice dx = floats(unit, ROWS * in, 0);
    const struct mx_ragged rows = packed(unit);
    const struct mx_conv1d_args forward = {.x = x,
                                           .w = w,
                                           .y = y,
                                           .rows = rows,
                                           .in_width = in,
                                           .out_width = out,
                                           .taps = 3,
                                           .epilogue = {.c_bf16 = true},
                                           .precision = MX_PRECISION_BF16,
                                           .x_bf16 = true};
    const struct mx_conv1d_grad_input_args to_input = {.dy = y,
                                                       .w = w,
                                                       .dx = dx,
                                                       .rows = rows,
                                                       .in_width = in,
                                                       .out_width = out,
                                                       .taps = 3,
                                                       .precision = MX_PRECISION_BF16,
                                                       .dy_bf16 = true};
    const struct mx_conv1d_grad_weight_args to_weight = {.x = x,
                                                         .dy = y,
                                                         .dw = w,
                                                         .rows = rows,
                                                         .in_width = in,
                                                         .out_width = out,
                                                         .taps = 3,
                                                         .precision = MX_PRECISION_BF16,
                                                         .x_bf16 = true,
                                                         .dy_bf16 = true};
    struct chain chains[] = {chain_of(unit, MX_OP_conv1d, &forward), chain_of(unit, MX_OP_conv1d_grad_input, &to_input),
                             chain_of(unit, MX_OP_conv1d_grad_weight, &to_weight)};
    for (int form = 0; form < FORMS; form++) {
        snprintf(what, sizeof what, "bf16 conv1d 3×%lld→%lld%s", (long long)in, (long long)out, form_names[form]);
        row_bf16(bench, &chains[form], what, 6.0 * ROWS * (double)(in * out));
    }
    unit_clear(unit);
}

static void bench_bf16(struct bench *bench, struct unit *unit)
{
    if (!mx_device_info(unit->device)->caps.bf16_multiply) return;
    for (size_t p = 0; p < (bench->quick ? 1 : sizeof products / sizeof *products); p++)
        for (int form = 0; form < (bench->quick ? 1 : FORMS); form++)
            bench_bf16_product(bench, unit, products[p].k, products[p].n, (enum form)form);
    if (!bench->quick) bench_bf16_conv(bench, unit, 192, 768);
}

static void bench_attention(struct bench *bench, struct unit *unit)
{
    static const char *const names[] = {"attention 8×500, 2×96, forward+backward", "attention 8×500, 2×96, forward",
                                        "attention 8×500, 2×96, backward"};
    const int64_t heads = 2, width = 96, all = heads * width;
    const struct mx_slice qkv = noise(unit, ROWS * 3 * all), out = noise(unit, ROWS * all);
    const struct mx_slice lse = floats(unit, heads * ROWS, 0), delta = floats(unit, heads * ROWS, 0);
    const struct mx_slice dout = noise(unit, ROWS * all), dqkv = floats(unit, ROWS * 3 * all, 0);
    const size_t part = (size_t)all * 4;
    const struct mx_attention_args forward = {.q = qkv,
                                              .k = mx_slice_at(qkv.buffer, part),
                                              .v = mx_slice_at(qkv.buffer, 2 * part),
                                              .out = out,
                                              .lse = lse,
                                              .rows = packed(unit),
                                              .heads = heads,
                                              .head_width = width,
                                              .stride = 3 * all,
                                              .out_stride = all,
                                              .factor = 0.10206207f};
    const struct mx_attention_grad_args backward = {.q = forward.q,
                                                    .k = forward.k,
                                                    .v = forward.v,
                                                    .out = out,
                                                    .lse = lse,
                                                    .dout = dout,
                                                    .dq = dqkv,
                                                    .dk = mx_slice_at(dqkv.buffer, part),
                                                    .dv = mx_slice_at(dqkv.buffer, 2 * part),
                                                    .delta = delta,
                                                    .rows = forward.rows,
                                                    .heads = heads,
                                                    .head_width = width,
                                                    .stride = 3 * all,
                                                    .out_stride = all,
                                                    .grad_stride = 3 * all,
                                                    .factor = forward.factor};
    const double pairs = (double)SEQUENCES * LENGTH * LENGTH * (double)all;
    struct chain chains[] = {
        {.unit = unit, .links = {{MX_OP_attention, &forward}, {MX_OP_attention_grad, &backward}}, .count = 2},
        chain_of(unit, MX_OP_attention, &forward),
        chain_of(unit, MX_OP_attention_grad, &backward)};
    static const double flops[] = {12, 4, 8};
    chain_run(&chains[1], 1); /* lse for a backward pass that is asked for alone */
    for (int i = 0; i < (bench->quick ? 1 : 3); i++)
        if (wanted(bench, unit, names[i]))
            row_compute(bench, &chains[i], names[i], flops[i] * pairs, i == 0 ? 0.55 : 0);
    unit_clear(unit);
}

/* ---- memory ---- */

enum memory_op { NORM, NORM_GRAD, GELU, GELU_GRAD, ADD, ADAMW, MEMORY_OPS };
static const struct {
    const char *name;
    int arrays, passes; /* arrays of rows·n floats; full reads plus writes of them */
    bool computes;      /* so much that its arithmetic may be the limit */
} memory_ops[] = {[NORM] = {"layer_norm", 2, 2, false},     [NORM_GRAD] = {"layer_norm_grad", 3, 3, false},
                  [GELU] = {"activation GELU", 2, 2, true}, [GELU_GRAD] = {"activation_grad GELU", 3, 3, true},
                  [ADD] = {"residual_add", 3, 3, false},    [ADAMW] = {"adamw", 4, 7, false}};

/* The arguments of one of them. */
struct memory_args {
    struct mx_layer_norm_args norm;
    struct mx_layer_norm_grad_args norm_grad;
    struct mx_activation_args gelu;
    struct mx_activation_grad_args gelu_grad;
    struct mx_residual_add_args add;
    struct mx_adamw_args adamw;
};

/* Fills in *out for rows × n elements and returns the operation with its arguments. */
static struct link memory_link(struct unit *unit, enum memory_op which, int64_t rows, int64_t n,
                               struct memory_args *out)
{
    const int64_t count = rows * n;
    struct mx_slice v[4] = {{0}};
    for (int i = 0; i < memory_ops[which].arrays; i++) v[i] = floats(unit, count, 0.01f * (float)(i + 1));
    if (which <= NORM_GRAD) {
        const struct mx_slice gamma = noise(unit, n), beta = noise(unit, n), stats = floats(unit, 2 * rows, 0.5f);
        out->norm = (struct mx_layer_norm_args){
            .x = v[0], .gamma = gamma, .beta = beta, .y = v[1], .stats = stats, .rows = rows, .n = n, .eps = 1e-5f};
        out->norm_grad = (struct mx_layer_norm_grad_args){.dy = v[0],
                                                          .x = v[1],
                                                          .gamma = gamma,
                                                          .stats = stats,
                                                          .dx = v[2],
                                                          .dgamma = floats(unit, n, 0),
                                                          .dbeta = beta,
                                                          .rows = rows,
                                                          .n = n};
        return which == NORM ? (struct link){MX_OP_layer_norm, &out->norm}
                             : (struct link){MX_OP_layer_norm_grad, &out->norm_grad};
    }
    switch (which) {
    case GELU:
        out->gelu = (struct mx_activation_args){.x = v[0], .y = v[1], .count = count, .act = MX_ACT_GELU};
        return (struct link){MX_OP_activation, &out->gelu};
    case GELU_GRAD:
        out->gelu_grad =
            (struct mx_activation_grad_args){.dy = v[0], .x = v[1], .dx = v[2], .count = count, .act = MX_ACT_GELU};
        return (struct link){MX_OP_activation_grad, &out->gelu_grad};
    case ADD:
        out->add = (struct mx_residual_add_args){.a = v[0], .b = v[1], .y = v[2], .count = count, .factor = 0.5f};
        return (struct link){MX_OP_residual_add, &out->add};
    default:
        out->adamw = (struct mx_adamw_args){.parameter = v[0],
                                            .gradient = v[1],
                                            .moment1 = v[2],
                                            .moment2 = v[3],
                                            .norm = floats(unit, 4, 1),
                                            .count = count,
                                            .decayed = count,
                                            .lr = 1e-6f,
                                            .beta1 = 0.9f,
                                            .beta2 = 0.98f,
                                            .eps = 1e-8f,
                                            .weight_decay = 0.01f,
                                            .step = 100};
        return (struct link){MX_OP_adamw, &out->adamw};
    }
}

static void bench_memory(struct bench *bench, struct unit *unit, enum memory_op which, int64_t rows, int64_t n)
{
    char what[64], name[96];
    const double bytes = 4.0 * memory_ops[which].passes; /* for each element */
    const int64_t count = rows * n, few = FEW_FLOATS / memory_ops[which].arrays / n;
    struct memory_args args, small_args[CORES_MAX];
    snprintf(what, sizeof what, "%s %lld×%lld", memory_ops[which].name, (long long)rows, (long long)n);
    if (!wanted(bench, unit, what)) return;
    row_name(name, unit, what);
    struct chain chain = {.unit = unit, .links = {memory_link(unit, which, rows, n, &args)}, .count = 1};
    struct resident resident = {.unit = unit};
    for (int i = 0; i < unit->cores; i++) resident.links[i] = memory_link(unit, which, few, n, &small_args[i]);
    resident_open(&resident);
    struct bench_job jobs[] = {
        peak_copy_job(&unit->peak, (size_t)count * 4 * (size_t)memory_ops[which].arrays),
        {.run = chain_run, .context = &chain, .work = bytes * (double)count},
        {.run = resident_run, .context = &resident, .work = bytes * (double)(few * n) * unit->cores}};
    bench_measure(bench, jobs, memory_ops[which].computes ? 3 : 2, unit->core);
    const bool arithmetic = memory_ops[which].computes && jobs[2].best < jobs[0].best;
    bench_report(bench, name, "GB/s", &jobs[1], arithmetic ? "its arithmetic, in L1" : "memcpy, same footprint",
                 &jobs[arithmetic ? 2 : 0], 0.70);
    resident_close(&resident);
    unit_clear(unit);
}

static void bench_memories(struct bench *bench, struct unit *unit)
{
    for (int op = 0; op < MEMORY_OPS; op++) {
        bench_memory(bench, unit, (enum memory_op)op, ROWS, 192);
        if (bench->quick) continue;
        bench_memory(bench, unit, (enum memory_op)op, ROWS, 768);
        bench_memory(bench, unit, (enum memory_op)op, BIG_BYTES / 4 / 768 / memory_ops[op].arrays, 768);
    }
}

/* ---- two devices ---- */

struct both {
    struct chain *chains[2];
};

static void both_run(void *context, int64_t repeats)
{
    const struct both *both = context;
    for (int64_t i = 0; i < repeats; i++)
        for (int d = 0; d < 2; d++) {
            const struct chain *chain = both->chains[d];
            if (mx_op_submit(chain->unit->stream, chain->links[0].op, chain->links[0].args) < 0)
                bench_die("cannot submit an operation");
        }
    for (int d = 0; d < 2; d++)
        if (mx_stream_sync(both->chains[d]->unit->stream) < 0) bench_die("an operation failed");
}

static void bench_two_devices(struct bench *bench, struct unit units[2])
{
    const char *name = "matmul 4000×576×768 on two devices of 1 core";
    if (!bench_wanted(bench, name)) return;
    const struct mx_matmul_args args[2] = {product_args(&units[0], 576, 768, FORWARD),
                                           product_args(&units[1], 576, 768, FORWARD)};
    struct chain chains[2] = {chain_of(&units[0], MX_OP_matmul, &args[0]), chain_of(&units[1], MX_OP_matmul, &args[1])};
    struct both both = {{&chains[0], &chains[1]}};
    const double flops = 2.0 * ROWS * 576 * 768;
    struct bench_job jobs[] = {{.run = chain_run, .context = &chains[0], .work = flops},
                               {.run = both_run, .context = &both, .work = 2 * flops}};
    bench_measure(bench, jobs, 2, -1);
    bench_report(bench, name, "GFLOP/s", &jobs[1], "one device", &jobs[0], 1.9);
    for (int d = 0; d < 2; d++) unit_clear(&units[d]);
}

/* ---- the program ---- */

static void bench_unit(struct bench *bench, struct unit *unit)
{
    char title[160];
    snprintf(title, sizeof title, "%s, %s", mx_device_info(unit->device)->name, peak_vectors());
    bench_section(bench, title);
    for (size_t p = 0; p < (bench->quick ? 1 : sizeof products / sizeof *products); p++)
        for (int form = 0; form < (bench->quick ? 1 : FORMS); form++)
            bench_product(bench, unit, products[p].k, products[p].n, (enum form)form);
    bench_fused(bench, unit);
    bench_subnormal(bench, unit);
    bench_attention(bench, unit);
    if (!bench->quick) {
        bench_conv(bench, unit, 192, 768);
        bench_conv(bench, unit, 768, 192);
    }
    bench_bf16(bench, unit);
    bench_memories(bench, unit);
    if (!bench->quick) {
        ops_sequence_rows(bench, unit);
        ops_vocoder_rows(bench, unit);
    }
}

int main(int argc, char **argv)
{
    struct bench bench;
    struct unit one[2] = {{0}}, two = {0};
    bench_start(&bench, "ops", "speed of the operations as a share of this machine's peak", argc, argv);
    const int cores = mx_thread_cores(NULL, 0);
    unit_open(&one[0], cores, 0);
    openblas_open(&one[0].blas);
    if (one[0].blas.note[0]) bench_section(&bench, one[0].blas.note);
    bench_unit(&bench, &one[0]);
    if (cores > 1) {
        unit_open(&one[1], cores, 1);
        bench_section(&bench, "two devices at once");
        bench_two_devices(&bench, one);
        unit_open(&two, cores / 2, 0);
        bench_unit(&bench, &two);
    }
    unit_close(&one[0]);
    unit_close(&one[1]);
    unit_close(&two);
    return bench_finish(&bench);
}

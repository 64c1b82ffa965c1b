/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Recorded work (mx_graph_begin …) on CUDA, which is the double here: it runs when it is launched and not before, takes
 * over new arguments, is rebuilt where the sequence differs, and refuses what cannot be recorded. Training of a small
 * model on CUDA follows the CPU backend, and recorded it gives the same bits as submitted.
 */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "base/alloc.h"
#include "myxtts/error.h"
#include "myxtts/ops.h"
#include "support/cuda.h"
#include "support/model_rig.h"
#include "support/rounding.h"

#include <string.h>

#define STEPS      10
#define WORDS      256
#define UTTERANCES 4

/* A device with a stream, a buffer, and host memory that recorded copies may use. */
struct bench {
    const struct cuda_double *cuda;
    struct cuda_pair pair;
    struct mx_stream *stream;
    struct mx_buffer *buffer;
    float *host;
};

static void bench_open(struct bench *b)
{
    void *host;
    b->cuda = cuda_double_use("");
    if (cuda_open(&b->pair, 1) < 0) fail_msg("%s (%s)", mx_error_last()->message, mx_error_last()->hint);
    assert_int_equal(mx_stream_create(b->pair.devices[0], "test", &b->stream), 0);
    assert_int_equal(mx_buffer_create(b->pair.devices[0], "test", 3 * WORDS * 4, &b->buffer), 0);
    assert_int_equal(mx_host_alloc(b->pair.devices[0], "test", WORDS * 4, &host), 0);
    b->host = memset(host, 0, WORDS * 4);
}

static void bench_close(struct bench *b)
{
    mx_host_release(b->pair.devices[0], b->host);
    mx_buffer_release(b->buffer);
    mx_stream_release(b->stream);
    cuda_close(&b->pair);
    cuda_assert_clean(b->cuda);
}

static struct mx_slice third(const struct bench *b, int which)
{
    return mx_slice_at(b->buffer, (size_t)which * WORDS * 4);
}

/* x = value; [y = x, copied;] y = y · factor; y to the host. */
static void work_submit(const struct bench *b, float value, float factor, bool copies)
{
    assert_int_equal(
        mx_fill(b->stream, &(struct mx_fill_args){.x = third(b, copies ? 0 : 1), .count = WORDS, .value = value}), 0);
    if (copies) assert_int_equal(mx_copy_slices(b->stream, third(b, 1), third(b, 0), WORDS * 4), 0);
    assert_int_equal(mx_scale(b->stream, &(struct mx_scale_args){.x = third(b, 1), .count = WORDS, .factor = factor}),
                     0);
    assert_int_equal(mx_copy_download(b->stream, b->host, third(b, 1), WORDS * 4), 0);
}

static void work_record(const struct bench *b, struct mx_graph **graph, float value, float factor, bool copies)
{
    assert_int_equal(mx_graph_begin(b->stream), 0);
    work_submit(b, value, factor, copies);
    assert_int_equal(mx_graph_end(b->stream, graph), 0);
}

static void launched(const struct bench *b, struct mx_graph *graph, float expected)
{
    memset(b->host, 0, WORDS * 4);
    assert_int_equal(mx_graph_launch(graph), 0);
    assert_int_equal(mx_stream_sync(b->stream), 0);
    for (int i = 0; i < WORDS; i++) assert_true(b->host[i] == expected);
}

static void test_record(void **state)
{
    (void)state;
    struct bench b;
    struct mx_graph *graph = NULL;
    bench_open(&b);
    work_record(&b, &graph, 3, 2, true);
    assert_int_equal(mx_stream_sync(b.stream), 0);
    assert_true(b.host[0] == 0); /* nothing ran */
    launched(&b, graph, 6);
    launched(&b, graph, 6);
    /* The same sequence takes over new arguments. */
    const struct mx_graph *const before = graph;
    work_record(&b, &graph, 5, 4, true);
    assert_ptr_equal(graph, before);
    assert_int_equal(b.cuda->get("updates"), 1);
    launched(&b, graph, 20);
    /* A different one is rebuilt. */
    work_record(&b, &graph, 7, 3, false);
    assert_int_equal(b.cuda->get("updates"), 1);
    launched(&b, graph, 21);
    assert_int_equal(b.cuda->get("graph_launches"), 4);
    /* A graph that runs still may take over arguments for the next time. */
    b.cuda->set("delay_us", 2000);
    assert_int_equal(mx_graph_launch(graph), 0);
    work_record(&b, &graph, 2, 4, false);
    launched(&b, graph, 8);
    mx_graph_release(graph);
    bench_close(&b);
}

static void test_refused(void **state)
{
    (void)state;
    struct bench b;
    struct mx_graph *graph = NULL;
    struct mx_event *event;
    bench_open(&b);
    assert_int_equal(mx_event_create(b.pair.devices[0], &event), 0);
    assert_int_equal(mx_graph_end(b.stream, &graph), MX_ERR_ARGUMENT);
    assert_int_equal(mx_graph_begin(b.stream), 0);
    assert_int_equal(mx_graph_begin(b.stream), MX_ERR_ARGUMENT);
    assert_int_equal(mx_stream_sync(b.stream), MX_ERR_ARGUMENT);
    assert_non_null(strstr(mx_error_last()->message, "while its work is recorded"));
    assert_int_equal(mx_stream_wait(b.stream, event), MX_ERR_ARGUMENT);
    assert_int_equal(mx_event_record(event, b.stream), MX_ERR_ARGUMENT);
    work_submit(&b, 1, 1, true);
    mx_graph_cancel(b.stream);
    mx_graph_cancel(b.stream);
    assert_int_equal(mx_stream_sync(b.stream), 0);
    assert_true(b.host[0] == 0); /* forgotten */
    /* What goes wrong while recording leaves the stream as it was. */
    assert_int_equal(mx_graph_begin(b.stream), 0);
    b.cuda->set("fail_capture", 1);
    assert_true(mx_graph_end(b.stream, &graph) < 0);
    assert_null(graph);
    work_submit(&b, 4, 2, true);
    assert_int_equal(mx_stream_sync(b.stream), 0);
    assert_true(b.host[0] == 8);
    /* A stream that is released while it records, and a graph of nothing. */
    struct mx_stream *other;
    assert_int_equal(mx_stream_create(b.pair.devices[0], "other", &other), 0);
    assert_int_equal(mx_graph_begin(other), 0);
    mx_stream_release(other);
    assert_int_equal(mx_graph_begin(b.stream), 0);
    assert_int_equal(mx_graph_end(b.stream, &graph), 0);
    assert_int_equal(mx_graph_launch(graph), 0);
    assert_int_equal(mx_stream_sync(b.stream), 0);
    mx_graph_release(graph);
    mx_graph_release(NULL);
    mx_event_release(event);
    bench_close(&b);
}

/* Wrong data in a graph fail the stream when it runs. */
static void test_wrong_data(void **state)
{
    (void)state;
    struct bench b;
    struct mx_graph *graph = NULL;
    bench_open(&b);
    const struct mx_embedding_args args = {
        .ids = third(&b, 0), .table = third(&b, 1), .y = third(&b, 2), .rows = 4, .n = 2, .vocabulary = 4, .factor = 1};
    assert_int_equal(mx_fill(b.stream, &(struct mx_fill_args){.x = third(&b, 0), .count = 4, .bits = 9}), 0);
    assert_int_equal(mx_graph_begin(b.stream), 0);
    assert_int_equal(mx_embedding(b.stream, &args), 0);
    assert_int_equal(mx_graph_end(b.stream, &graph), 0);
    assert_int_equal(mx_stream_sync(b.stream), 0);
    assert_int_equal(mx_graph_launch(graph), 0);
    assert_int_equal(mx_stream_sync(b.stream), MX_ERR_DATA);
    assert_int_equal(mx_graph_launch(graph), MX_ERR_DATA);
    mx_graph_release(graph);
    bench_close(&b);
}

/* Devices of other backends say that they cannot. */
static void test_elsewhere(void **state)
{
    (void)state;
    struct op_cpu cpu;
    struct mx_stream *stream;
    assert_int_equal(op_cpu_open(&cpu, 1, 0), 0);
    assert_false(mx_device_info(cpu.device)->caps.graphs);
    assert_int_equal(mx_stream_create(cpu.device, "test", &stream), 0);
    assert_int_equal(mx_graph_begin(stream), MX_ERR_UNSUPPORTED);
    mx_stream_release(stream);
    op_cpu_close(&cpu);
}

/* ---- training ---- */

/* One pass, recorded and launched; losses must be pinned. */
static struct mx_model_losses teach_recorded(struct rig *rig, struct mx_graph **graph, float *losses, uint64_t step)
{
    const struct mx_fill_args clear = {.x = rig_gradients(rig), .count = rig->table->floats};
    const struct mx_model_pass_info now = {.seed = 1, .step = step};
    assert_int_equal(mx_graph_begin(rig->stream), 0);
    assert_int_equal(mx_fill(rig->stream, &clear), 0);
    assert_int_equal(mx_model_forward_backward(rig->model, rig->stream, rig_parameters(rig), rig_gradients(rig),
                                               &rig->batch, &now, losses),
                     0);
    assert_int_equal(mx_graph_end(rig->stream, graph), 0);
    assert_int_equal(mx_graph_launch(*graph), 0);
    assert_int_equal(mx_stream_sync(rig->stream), 0);
    return mx_model_losses_of(mx_model_config(rig->model), losses, rig->batch.tokens.count, -1, rig->batch.tokens.rows,
                              rig->batch.frames.rows);
}

/* A small model with dropout; each step has other sequences than the one before, so that sizes change. */
struct runner {
    struct rig rig;
    struct utterance utterances[UTTERANCES];
    struct mx_graph *graph;
    void *losses;
};

/* The rig closes the device. */
static void runner_open(struct runner *runner, struct op_cpu opened)
{
    struct mx_model_config config = rig_config();
    config.dropout = 0.1f;
    runner->graph = NULL;
    rig_open_on(&runner->rig, opened, &config, MX_MODEL_TRAIN, true);
    assert_int_equal(mx_host_alloc(runner->rig.cpu.device, "losses", sizeof runner->rig.losses, &runner->losses), 0);
    for (int i = 0; i < UTTERANCES; i++) utterance_make(&runner->utterances[i], &config, (uint64_t)i, i % 2, 0.1f);
}

static void runner_load(struct runner *runner, int step)
{
    rig_load(&runner->rig, runner->utterances + step % 3, UTTERANCES - step % 3);
}

static void runner_close(struct runner *runner)
{
    for (int i = 0; i < UTTERANCES; i++) utterance_release(&runner->utterances[i]);
    assert_int_equal(mx_stream_sync(runner->rig.stream), 0);
    mx_graph_release(runner->graph);
    mx_host_release(runner->rig.cpu.device, runner->losses);
    rig_close(&runner->rig);
}

static struct op_cpu cuda_device(void)
{
    struct cuda_pair pair;
    assert_int_equal(cuda_open(&pair, 1), 0);
    return (struct op_cpu){.registry = pair.registry, .device = pair.devices[0]};
}

static void losses_of(bool recorded, double *out)
{
    struct runner runner;
    runner_open(&runner, cuda_device());
    for (int step = 0; step < STEPS; step++) {
        runner_load(&runner, step);
        out[step] = recorded ? teach_recorded(&runner.rig, &runner.graph, runner.losses, (uint64_t)step).total
                             : rig_teach(&runner.rig, (uint64_t)step).total;
        rig_update(&runner.rig, 2e-3f);
    }
    runner_close(&runner);
}

/* Recorded steps are those that are submitted, bit for bit, and these in every state what the CPU finds there, within
 * what rounding does (support/rounding.h). */
static void test_training(void **state)
{
    (void)state;
    struct op_cpu cpu;
    struct runner here, there;
    struct rounding_seen seen = {.sharpness = 0.01};
    double submitted[STEPS], recorded[STEPS];
    const struct cuda_double *const cuda = cuda_double_use("");
    assert_int_equal(op_cpu_open(&cpu, 1, 0), 0);
    runner_open(&here, cpu);
    runner_open(&there, cuda_device());
    for (int step = 0; step < STEPS; step++) {
        runner_load(&here, step);
        runner_load(&there, step);
        rounding_compare(&here.rig, &there.rig, (uint64_t)step, rounding_share(rounding_terms(&here.rig), ROUNDING_F32),
                         &seen);
        rig_update(&here.rig, 2e-3f);
    }
    rounding_require(&seen);
    runner_close(&here);
    runner_close(&there);
    cuda_assert_clean(cuda);
    losses_of(false, submitted);
    cuda_assert_clean(cuda);
    losses_of(true, recorded);
    cuda_assert_clean(cuda);
    assert_true(submitted[STEPS - 1] < submitted[0]); /* it learns */
    for (int i = 0; i < STEPS; i++)
        if (memcmp(&submitted[i], &recorded[i], sizeof recorded[i]) != 0)
            fail_msg("step %d: the loss is %.17g submitted and %.17g recorded", i, submitted[i], recorded[i]);
    assert_int_equal(cuda->get("graph_launches"), STEPS);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_record),    cmocka_unit_test(test_refused),  cmocka_unit_test(test_wrong_data),
        cmocka_unit_test(test_elsewhere), cmocka_unit_test(test_training),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

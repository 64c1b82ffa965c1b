/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * NULL in the place of what the functions of myxtts/train.h, myxtts/device.h and myxtts/pipeline.h need: MX_ERR_ARGUMENT, or what their headers
 * say, and never undefined behaviour. test_voice_arguments.c does the same for myxtts/voice.h.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/log.h"
#include "myxtts/device.h"
#include "myxtts/error.h"
#include "myxtts/ops.h"
#include "myxtts/pipeline.h"
#include "myxtts/registry.h"
#include "myxtts/train.h"

static void refused(int rc)
{
    assert_int_equal(rc, MX_ERR_ARGUMENT);
    assert_true(mx_error_last()->message[0] != '\0' && mx_error_last()->hint[0] != '\0');
    mx_error_clear();
}

static void test_train(void **state)
{
    static const char *const one[] = {"data.train_data=none", NULL};
    struct mx_train_options options = {.output = "none", .setting_count = 3};
    struct mx_train *run = (struct mx_train *)state;
    struct mx_train_report report = {.step = 7};
    struct mx_train_evaluation evaluation = {.spoken = 7};
    refused(mx_train_open(NULL, &run));
    assert_null(run);
    refused(mx_train_open(&options, NULL));
    refused(mx_train_open(&options, &run)); /* three settings, and no pointer to them */
    options.settings = one;
    options.setting_count = 2;
    refused(mx_train_open(&options, &run)); /* the second is NULL */
    refused(
        mx_train_open(&(struct mx_train_options){0}, &run)); /* no folder; and no run is open because of the others */
    refused(mx_train_step(NULL, &report));
    assert_int_equal(report.step, 0);
    refused(mx_train_evaluate(NULL, &evaluation));
    assert_true(evaluation.spoken == 0 && isnan(evaluation.mel_db));
    refused(mx_train_step(NULL, NULL));
    refused(mx_train_evaluate(NULL, NULL));
    refused(mx_train_save(NULL));
    mx_train_close(NULL);
}

/* ---- devices ---- */

struct rig {
    struct mx_registry *registry;
    struct mx_device *device;
    struct mx_stream *stream;
    struct mx_event *event;
    struct mx_buffer *buffer;
};

static int setup(void **state)
{
    static struct rig rig;
    *state = &rig;
    assert_int_equal(mx_registry_open(mx_backends_cpu, NULL, &rig.registry), 0);
    assert_int_equal(mx_registry_device_open(rig.registry, 0, 0, &rig.device), 0);
    assert_int_equal(mx_stream_create(rig.device, "test", &rig.stream), 0);
    assert_int_equal(mx_event_create(rig.device, &rig.event), 0);
    assert_int_equal(mx_buffer_create(rig.device, "test", 64, &rig.buffer), 0);
    return 0;
}

static int teardown(void **state)
{
    const struct rig *const rig = *state;
    assert_int_equal(mx_stream_sync(rig->stream), 0); /* nothing of all this made it fail */
    mx_buffer_release(rig->buffer);
    mx_event_release(rig->event);
    mx_stream_release(rig->stream);
    mx_device_close(rig->device);
    mx_registry_close(rig->registry);
    return 0;
}

static void test_no_device(void **state)
{
    const struct rig *const rig = *state;
    struct mx_device_load load = {.busy = 1};
    struct mx_buffer *buffer = rig->buffer;
    struct mx_stream *stream = rig->stream;
    struct mx_event *event = rig->event;
    void *memory = *state;
    assert_string_equal(mx_device_info(NULL)->backend, "");
    assert_string_equal(mx_device_name(NULL), "");
    assert_string_equal(mx_device_logical(NULL), "");
    assert_int_equal(mx_device_logical_index(NULL), -1);
    assert_null(mx_device_budget(NULL));
    assert_false(mx_device_can_peer(NULL, rig->device) || mx_device_can_peer(rig->device, NULL));
    assert_false(mx_device_can_peer(NULL, NULL));
    refused(mx_device_load(NULL, &load));
    assert_true(load.busy == 0);
    refused(mx_device_load(rig->device, NULL));
    refused(mx_device_sync(NULL));
    mx_device_close(NULL);
    refused(mx_buffer_create(NULL, "test", 64, &buffer));
    assert_null(buffer);
    refused(mx_buffer_create(rig->device, "test", 64, NULL));
    refused(mx_buffer_create(rig->device, NULL, 64, &buffer));
    refused(mx_host_alloc(NULL, "test", 64, &memory));
    assert_null(memory);
    refused(mx_host_alloc(rig->device, "test", 64, NULL));
    refused(mx_host_alloc(rig->device, NULL, 64, &memory));
    mx_host_release(NULL, NULL);
    mx_host_release(rig->device, NULL);
    mx_host_release(NULL, &memory);
    refused(mx_stream_create(NULL, "test", &stream));
    assert_null(stream);
    refused(mx_stream_create(rig->device, NULL, &stream));
    refused(mx_stream_create(rig->device, "test", NULL));
    refused(mx_event_create(NULL, &event));
    assert_null(event);
    refused(mx_event_create(rig->device, NULL));
}

static void test_no_handle(void **state)
{
    const struct rig *const rig = *state;
    const struct mx_slice slice = mx_slice_at(rig->buffer, 0), none = {0};
    struct mx_graph *graph = NULL;
    char host[64] = {0};
    mx_buffer_release(NULL);
    assert_int_equal(mx_buffer_bytes(NULL), 0);
    assert_null(mx_buffer_device(NULL));
    assert_null(mx_buffer_host(NULL));
    refused(mx_stream_sync(NULL));
    refused(mx_stream_status(NULL));
    mx_stream_release(NULL);
    assert_null(mx_stream_device(NULL));
    refused(mx_stream_wait(NULL, rig->event));
    refused(mx_stream_wait(rig->stream, NULL));
    mx_event_release(NULL);
    refused(mx_event_record(NULL, rig->stream));
    refused(mx_event_record(rig->event, NULL));
    refused(mx_event_sync(NULL));
    assert_true(mx_event_done(NULL));
    refused(mx_event_check(NULL));
    assert_int_equal(mx_event_time_ns(NULL), 0);
    refused(mx_copy_upload(NULL, slice, host, sizeof host));
    refused(mx_copy_upload(rig->stream, none, host, sizeof host));
    refused(mx_copy_upload(rig->stream, slice, NULL, sizeof host));
    refused(mx_copy_download(NULL, host, slice, sizeof host));
    refused(mx_copy_download(rig->stream, host, none, sizeof host));
    refused(mx_copy_download(rig->stream, NULL, slice, sizeof host));
    refused(mx_copy_slices(NULL, slice, slice, 8));
    refused(mx_copy_slices(rig->stream, none, slice, 8));
    refused(mx_copy_slices(rig->stream, slice, none, 8));
    refused(mx_graph_begin(NULL));
    refused(mx_graph_end(NULL, &graph));
    refused(mx_graph_end(rig->stream, NULL));
    refused(mx_graph_launch(NULL));
    mx_graph_cancel(NULL);
    mx_graph_release(NULL);
    refused(mx_op_submit(NULL, MX_OP_matmul, host));
    refused(mx_op_submit(rig->stream, MX_OP_matmul, NULL));
}

/* ---- the pipeline ---- */

static int draw(void *context, uint64_t number, void *slot)
{
    (void)context;
    (void)number;
    (void)slot;
    return 1;
}

static int load(void *context, int worker, uint64_t number, void *slot, const atomic_bool *cancel)
{
    (void)worker;
    (void)cancel;
    return draw(context, number, slot);
}

static int process(void *context, struct mx_stream *stream, uint64_t number, const void *from, void *to)
{
    (void)stream;
    (void)from;
    return draw(context, number, to);
}

static void test_pipeline_create(void **state)
{
    const struct rig *const rig = *state;
    void *slots[4] = {0};
    struct mx_pipeline *pipeline = (struct mx_pipeline *)state;
    const struct mx_pipeline_options good = {.data = rig->device,
                                             .model = rig->device,
                                             .work = {.draw = draw, .load = load, .process = process},
                                             .host_slots = slots,
                                             .data_slots = slots,
                                             .host_count = 4,
                                             .data_count = 4,
                                             .workers = 1,
                                             .held = 1};
    struct mx_pipeline_options options = good;
    refused(mx_pipeline_create(NULL, &pipeline));
    assert_null(pipeline);
    refused(mx_pipeline_create(&options, NULL));
    options.host_slots = NULL;
    refused(mx_pipeline_create(&options, &pipeline));
    options = good;
    options.data_slots = NULL;
    refused(mx_pipeline_create(&options, &pipeline));
    options = good;
    options.data = NULL;
    refused(mx_pipeline_create(&options, &pipeline));
    options = good;
    options.work.draw = NULL;
    refused(mx_pipeline_create(&options, &pipeline));
    assert_int_equal(mx_pipeline_create(&good, &pipeline), 0);
    struct mx_pipeline_batch batch;
    refused(mx_pipeline_take(pipeline, NULL, &batch));
    refused(mx_pipeline_take(pipeline, rig->stream, NULL));
    refused(mx_pipeline_give(pipeline, NULL));
    mx_pipeline_levels(pipeline, NULL);
    mx_pipeline_tune(pipeline, NULL);
    mx_pipeline_tuning(pipeline, NULL, NULL);
    mx_pipeline_stats(pipeline, NULL);
    mx_pipeline_memory_stats(pipeline, NULL);
    assert_int_equal(mx_pipeline_spans(pipeline, NULL, 5), 0);
    assert_int_equal(mx_pipeline_take(pipeline, rig->stream, &batch), 1); /* and it works as before */
    mx_pipeline_destroy(pipeline);
}

static void test_no_pipeline(void **state)
{
    const struct rig *const rig = *state;
    struct mx_pipeline_batch batch = {.number = 7};
    struct mx_pipeline_levels levels = {.workers = 7};
    struct mx_pipeline_tuning now = {7, 7, 7}, most = {7, 7, 7};
    struct mx_pipeline_stats stats = {.batches = 7};
    struct mx_pipeline_memory memory = {.device_count = 7};
    struct mx_span span;
    refused(mx_pipeline_take(NULL, rig->stream, &batch));
    assert_int_equal(batch.number, 0);
    refused(mx_pipeline_give(NULL, rig->stream));
    mx_pipeline_step(NULL);
    mx_pipeline_shared(NULL, 0, 1, 2);
    mx_pipeline_rest(NULL);
    mx_pipeline_levels(NULL, &levels);
    assert_int_equal(levels.workers, 0);
    mx_pipeline_tune(NULL, &now);
    mx_pipeline_tuning(NULL, &now, &most);
    assert_true(now.workers == 0 && most.prepared == 0);
    mx_pipeline_stats(NULL, &stats);
    assert_int_equal(stats.batches, 0);
    mx_pipeline_stats_reset(NULL);
    assert_int_equal(mx_pipeline_spans(NULL, &span, 1), 0);
    mx_pipeline_memory_stats(NULL, &memory);
    assert_int_equal(memory.device_count, 0);
    mx_pipeline_destroy(NULL);
    mx_tally_add(NULL, 1);
    assert_int_equal(mx_tally_since(NULL, NULL).count, 0);
    assert_true(mx_tally_deviation(NULL) == 0 && mx_tally_variation(NULL) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_train),
        cmocka_unit_test_setup_teardown(test_no_device, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_handle, setup, teardown),
        cmocka_unit_test_setup_teardown(test_pipeline_create, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_pipeline, setup, teardown),
    };
    mx_log_configure(&(struct mx_log_options){.level = MX_LOG_SILENT});
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Uses the public C API with a training function of its own: two devices, a memory limit for each, a pipeline between them.
 *
 * The task is deliberately small: the inputs are measurements x, their features are z = x·P, and the program learns a
 * matrix W such that z·W gives the targets. The load stage generates the measurements on the host (a real program would
 * read files), the process stage computes the features on the data device, the transfer stage copies them to the model
 * device, and the training function below makes a gradient step there. All four run at the same time.
 *
 *     cc two_devices.c $(pkg-config --cflags --libs myxtts) -o two_devices
 *     ./two_devices cpu:0 cpu:1
 *
 * It exits with code 0 if the loss fell as it should. The tests run it.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <myxtts/budget.h>
#include <myxtts/error.h>
#include <myxtts/ops.h>
#include <myxtts/pipeline.h>
#include <myxtts/registry.h>

enum { ROWS = 256, INPUTS = 64, FEATURES = 48, OUTPUTS = 8, STEPS = 200 };
enum { HOST_SLOTS = 4, DATA_SLOTS = 2, WORKERS = 2 };
#define MEBIBYTE (UINT64_C(1) << 20)

/* One batch on the host: measurements, then targets. */
struct host_slot {
    float *x, *target;
};

/* One batch on a device. */
struct device_slot {
    struct mx_buffer *buffer;
    struct mx_slice x, z, target; /* x on the data device only */
};

struct task {
    struct mx_device *data, *model;
    struct mx_buffer *projection; /* P, on the data device */
    float truth[FEATURES * OUTPUTS], p[INPUTS * FEATURES];
    struct host_slot host[HOST_SLOTS];
    struct device_slot prepared[DATA_SLOTS], arrived[MX_PIPELINE_BUFFERS];
};

/* Numbers between -1 and 1 that depend only on (stream, index), so any worker can make any batch. */
static float number(uint64_t stream, uint64_t index)
{
    uint64_t h = (stream * UINT64_C(0x9E3779B97F4A7C15)) ^ (index + 1) * UINT64_C(0xD1B54A32D192ED03);
    h = (h ^ (h >> 31)) * UINT64_C(0xBF58476D1CE4E5B9);
    return (float)((double)((h ^ (h >> 29)) >> 11) / 4503599627370496.0 - 1.0);
}

/* ---- the stages ---- */

static int batch_draw(void *context, uint64_t batch, void *slot)
{
    (void)context;
    (void)slot;
    return batch < STEPS ? 0 : 1; /* 1: there are no more */
}

static int batch_load(void *context, int worker, uint64_t batch, void *slot, const atomic_bool *cancel)
{
    const struct task *const task = context;
    struct host_slot *const host = slot;
    (void)worker;
    for (int r = 0; r < ROWS && !atomic_load(cancel); r++) {
        float z[FEATURES] = {0};
        for (int i = 0; i < INPUTS; i++) {
            const float x = number(batch + 1, (uint64_t)(r * INPUTS + i));
            host->x[r * INPUTS + i] = x;
            for (int k = 0; k < FEATURES; k++) z[k] += x * task->p[i * FEATURES + k];
        }
        for (int o = 0; o < OUTPUTS; o++) {
            float y = 0;
            for (int k = 0; k < FEATURES; k++) y += z[k] * task->truth[k * OUTPUTS + o];
            host->target[r * OUTPUTS + o] = y;
        }
    }
    return 0;
}

static int batch_process(void *context, struct mx_stream *stream, uint64_t batch, const void *from, void *to)
{
    int rc = 0;
    const struct task *const task = context;
    const struct host_slot *const host = from;
    const struct device_slot *const slot = to;
    (void)batch;
    MX_TRY(mx_copy_upload(stream, slot->x, host->x, sizeof(float) * ROWS * INPUTS));
    MX_TRY(mx_copy_upload(stream, slot->target, host->target, sizeof(float) * ROWS * OUTPUTS));
    MX_TRY(mx_matmul(
        stream,
        &(struct mx_matmul_args){
            .a = slot->x, .b = mx_slice_at(task->projection, 0), .c = slot->z, .m = ROWS, .n = FEATURES, .k = INPUTS}));
out:
    return rc;
}

static int batch_transfer(void *context, struct mx_stream *stream, uint64_t batch, const void *from, void *to)
{
    const struct device_slot *const source = from, *const target = to;
    (void)context;
    (void)batch;
    /* z and target are adjacent in memory. */
    return mx_copy_slices(stream, target->z, source->z, sizeof(float) * ROWS * (FEATURES + OUTPUTS));
}

/* ---- memory ---- */

/* Everything is allocated before the first step; the budget of each device knows the owner of every byte. */
static int slot_create(struct mx_device *device, const char *owner, bool with_x, struct device_slot *slot)
{
    const size_t x_bytes = with_x ? sizeof(float) * ROWS * INPUTS : 0;
    const size_t z_bytes = sizeof(float) * ROWS * FEATURES, target_bytes = sizeof(float) * ROWS * OUTPUTS;
    const int rc = mx_buffer_create(device, owner, x_bytes + z_bytes + target_bytes, &slot->buffer);
    slot->x = mx_slice_at(slot->buffer, 0);
    slot->z = mx_slice_at(slot->buffer, x_bytes);
    slot->target = mx_slice_at(slot->buffer, x_bytes + z_bytes);
    return rc;
}

static int task_open(struct task *task, struct mx_stream *stream)
{
    int rc = 0;
    for (int i = 0; i < INPUTS * FEATURES; i++) task->p[i] = number(0, (uint64_t)i) / sqrtf(INPUTS);
    for (int i = 0; i < FEATURES * OUTPUTS; i++) task->truth[i] = number(UINT64_MAX, (uint64_t)i);
    for (int i = 0; i < HOST_SLOTS; i++) {
        void *block;
        MX_TRY(mx_host_alloc(task->data, "measurements", sizeof(float) * ROWS * (INPUTS + OUTPUTS), &block));
        task->host[i] = (struct host_slot){block, (float *)block + ROWS * INPUTS};
    }
    for (int i = 0; i < DATA_SLOTS; i++) MX_TRY(slot_create(task->data, "features", true, &task->prepared[i]));
    for (int i = 0; i < MX_PIPELINE_BUFFERS; i++) MX_TRY(slot_create(task->model, "batches", false, &task->arrived[i]));
    MX_TRY(mx_buffer_create(task->data, "projection", sizeof task->p, &task->projection));
    MX_TRY(mx_copy_upload(stream, mx_slice_at(task->projection, 0), task->p, sizeof task->p));
    MX_TRY(mx_stream_sync(stream));
out:
    return rc;
}

static void task_close(struct task *task)
{
    for (int i = 0; i < HOST_SLOTS; i++) mx_host_release(task->data, task->host[i].x);
    for (int i = 0; i < DATA_SLOTS; i++) mx_buffer_release(task->prepared[i].buffer);
    for (int i = 0; i < MX_PIPELINE_BUFFERS; i++) mx_buffer_release(task->arrived[i].buffer);
    mx_buffer_release(task->projection);
}

/* ---- your training function ---- */

struct learner {
    struct mx_stream *stream;
    struct mx_buffer *state;                                          /* all of the slices below */
    struct mx_slice w, gradient, moment1, moment2, y, dy, loss, norm; /* on the model device */
    struct mx_slice offsets;                                          /* of the one sequence of ROWS rows */
    float *seen;                                                      /* host: the loss */
};

static int learner_open(struct mx_device *device, struct learner *l)
{
    int rc = 0;
    void *seen;
    const size_t w = sizeof(float) * FEATURES * OUTPUTS, y = sizeof(float) * ROWS * OUTPUTS;
    MX_TRY(mx_stream_create(device, "train", &l->stream));
    MX_TRY(mx_buffer_create(device, "model", 4 * w + 2 * y + 192, &l->state));
    struct mx_slice *const slices[] = {&l->w,  &l->gradient, &l->moment1, &l->moment2, &l->y,
                                       &l->dy, &l->loss,     &l->norm,    &l->offsets};
    const size_t bytes[] = {w, w, w, w, y, y, 64, 64, 64};
    size_t at = 0;
    for (int i = 0; i < 9; at += bytes[i++]) *slices[i] = mx_slice_at(l->state, at);
    MX_TRY(mx_host_alloc(device, "results", sizeof(float), &seen));
    l->seen = seen;
    MX_TRY(mx_fill(l->stream, &(struct mx_fill_args){.x = l->w, .count = (int64_t)(4 * w / sizeof(float))}));
    MX_TRY(mx_fill(l->stream, &(struct mx_fill_args){.x = l->offsets, .count = 1}));
    MX_TRY(mx_fill(l->stream, &(struct mx_fill_args){
                                  .x = mx_slice_at(l->state, l->offsets.offset_bytes + 4), .count = 1, .bits = ROWS}));
out:
    return rc;
}

static void learner_close(struct mx_device *device, struct learner *l)
{
    mx_host_release(device, l->seen);
    mx_stream_release(l->stream);
    mx_buffer_release(l->state);
}

/* One step of AdamW on |z·W - target|². */
static int learner_step(struct learner *l, const struct device_slot *batch, int64_t step)
{
    int rc = 0;
    const int64_t count = FEATURES * OUTPUTS;
    MX_TRY(mx_matmul(l->stream, &(struct mx_matmul_args){
                                    .a = batch->z, .b = l->w, .c = l->y, .m = ROWS, .n = OUTPUTS, .k = FEATURES}));
    const struct mx_ragged rows = {.offsets = l->offsets, .count = 1, .rows = ROWS, .max_rows = ROWS};
    MX_TRY(mx_sequence_loss(l->stream, &(struct mx_sequence_loss_args){.prediction = l->y,
                                                                       .target = batch->target,
                                                                       .values = l->loss,
                                                                       .dprediction = l->dy,
                                                                       .rows = rows,
                                                                       .n = OUTPUTS,
                                                                       .scale = 1.0F / (ROWS * OUTPUTS),
                                                                       .factor = 1.0F / (ROWS * OUTPUTS),
                                                                       .kind = MX_LOSS_L2}));
    MX_TRY(mx_matmul(
        l->stream,
        &(struct mx_matmul_args){
            .a = batch->z, .b = l->dy, .c = l->gradient, .m = FEATURES, .n = OUTPUTS, .k = ROWS, .transpose_a = true}));
    MX_TRY(mx_grad_norm(l->stream, &(struct mx_grad_norm_args){
                                       .gradient = l->gradient, .result = l->norm, .count = count, .factor = 1}));
    MX_TRY(mx_adamw(l->stream, &(struct mx_adamw_args){.parameter = l->w,
                                                       .gradient = l->gradient,
                                                       .moment1 = l->moment1,
                                                       .moment2 = l->moment2,
                                                       .norm = l->norm,
                                                       .count = count,
                                                       .lr = 0.05F,
                                                       .beta1 = 0.9F,
                                                       .beta2 = 0.98F,
                                                       .eps = 1e-9F,
                                                       .step = step}));
    MX_TRY(mx_copy_download(l->stream, l->seen, l->loss, sizeof(float)));
    MX_TRY(mx_stream_sync(l->stream));
out:
    return rc;
}

/* ---- the program ---- */

static void figures_print(struct mx_pipeline *pipeline)
{
    struct mx_pipeline_stats stats;
    struct mx_pipeline_memory memory;
    mx_pipeline_stats(pipeline, &stats);
    mx_pipeline_memory_stats(pipeline, &memory);
    const double wall = (double)stats.wall_ns;
    for (int s = 0; s < MX_STAGES; s++)
        printf("%-8s  %6.3f ms per batch\n", mx_stage_name((enum mx_stage)s), stats.stages[s].busy_ns.mean * 1e-6);
    printf("busy: data device %.0f %%, model device %.0f %%; the model waited for data %.0f %% of the time\n",
           100 * (double)stats.data_busy_ns / wall, 100 * (double)stats.model_busy_ns / wall,
           100 * (double)stats.data_wait_ns / wall);
    for (int d = 0; d < memory.device_count; d++)
        printf("%s (%s): %.2f of %.0f MiB\n", memory.devices[d].logical, memory.devices[d].name,
               (double)memory.devices[d].used_bytes / (double)MEBIBYTE,
               (double)memory.devices[d].limit_bytes / (double)MEBIBYTE);
}

static int run(struct task *task, struct learner *learner, double *first, double *last)
{
    int rc = 0;
    struct mx_pipeline *pipeline = NULL;
    struct mx_pipeline_batch batch;
    void *host[HOST_SLOTS], *prepared[DATA_SLOTS], *arrived[MX_PIPELINE_BUFFERS];
    for (int i = 0; i < HOST_SLOTS; i++) host[i] = &task->host[i];
    for (int i = 0; i < DATA_SLOTS; i++) prepared[i] = &task->prepared[i];
    for (int i = 0; i < MX_PIPELINE_BUFFERS; i++) arrived[i] = &task->arrived[i];
    MX_TRY(mx_pipeline_create(&(struct mx_pipeline_options){.data = task->data,
                                                            .model = task->model,
                                                            .work = {.context = task,
                                                                     .draw = batch_draw,
                                                                     .load = batch_load,
                                                                     .process = batch_process,
                                                                     .transfer = batch_transfer},
                                                            .host_slots = host,
                                                            .data_slots = prepared,
                                                            .model_slots = arrived,
                                                            .host_count = HOST_SLOTS,
                                                            .data_count = DATA_SLOTS,
                                                            .model_count = MX_PIPELINE_BUFFERS,
                                                            .workers = WORKERS,
                                                            .held = 1},
                              &pipeline));
    for (int64_t step = 1; (rc = mx_pipeline_take(pipeline, learner->stream, &batch)) == 0; step++) {
        MX_TRY(learner_step(learner, batch.slot, step));
        MX_TRY(mx_pipeline_give(pipeline, learner->stream));
        mx_pipeline_step(pipeline);
        *last = (double)learner->seen[0];
        if (step == 1) *first = *last;
    }
    if (rc > 0) rc = 0; /* the end of the data */
    if (rc == 0) figures_print(pipeline);
out:
    mx_pipeline_destroy(pipeline);
    return rc;
}

int main(int argc, char **argv)
{
    int rc = 0;
    double first = 0, last = 0;
    struct mx_registry *registry = NULL;
    struct mx_stream *upload = NULL;
    struct learner learner = {0};
    static struct task task;
    const struct mx_registry_options options = {
        .cpu_devices = 2, .devices = {argc > 1 ? argv[1] : "cpu:0", argc > 2 ? argv[2] : "cpu:1"}, .device_count = 2};
    MX_TRY(mx_registry_open(NULL, &options, &registry));
    /* Devices are numbered in the order of the request: data device, model device; each gets a hard limit. */
    MX_TRY(mx_registry_device_open(registry, 0, 64 * MEBIBYTE, &task.data));
    MX_TRY(mx_registry_device_open(registry, 1, 32 * MEBIBYTE, &task.model));
    MX_TRY(mx_stream_create(task.data, "upload", &upload));
    MX_TRY(task_open(&task, upload));
    MX_TRY(learner_open(task.model, &learner));
    MX_TRY(run(&task, &learner, &first, &last));
    printf("loss %.4g at first, %.4g after %d steps\n", first, last, STEPS);
    if (!(last < first / 100)) MX_RAISE(MX_ERR_INTERNAL, NULL, "nothing was learned");
out:
    if (rc < 0) fprintf(stderr, "error: %s\n  hint: %s\n", mx_error_last()->message, mx_error_last()->hint);
    const int code = mx_error_exit_code(rc);
    if (task.model != NULL) learner_close(task.model, &learner);
    if (task.data != NULL) task_close(&task);
    mx_stream_release(upload);
    mx_device_close(task.data);
    mx_device_close(task.model);
    mx_registry_close(registry);
    return code;
}

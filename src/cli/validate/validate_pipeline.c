/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Check 5 of a validation: the real pipeline (myxtts/pipeline.h) with made-up work, first without overlap and then
 * with it. See validate.h.
 *
 * A batch is a square matrix. Loading makes it up, the data device multiplies it by a matrix of its own, and the
 * product moves to the model device, which adds its product with another matrix to a sum. Each product is repeated
 * until it has taken about STAGE_NS, so that both devices have the same amount of work and could overlap completely.
 * The sum depends on the contents and the order of the batches, to the last bit: both runs must end with the same sum.
 *
 * Memory: a simulation owns its matrices and slots, allocated before the first run and used for both.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/rng.h"
#include "cli/validate/validate.h"
#include "myxtts/error.h"
#include "myxtts/ops.h"

#define WIDTH               192 /* of a matrix */
#define FLOATS              ((size_t)WIDTH * WIDTH)
#define MATRIX_BYTES        (FLOATS * sizeof(float))
#define BATCHES             24
#define HOST_SLOTS          4
#define STAGE_NS            4e6
#define REPEATS_MAX         4096
#define CALIBRATION_REPEATS 8
#define CALIBRATION_TRIES   24
#define ROUNDS              3    /* of both runs, in turns: the fastest ones count */
#define OVERLAP_LOW         0.01 /* below it there is none */

enum random_stream { STREAM_DATA_MATRIX, STREAM_MODEL_MATRIX, STREAM_BATCH };

struct slot {
    uint64_t number;
    float *host;              /* of host slots: the matrix */
    struct mx_buffer *buffer; /* of device slots: what came, and the product */
};

/* What one device multiplies with. */
struct worker {
    struct mx_device *device;
    struct mx_buffer *matrix, *scratch;
    int repeats;
};

struct simulation {
    struct worker data, model;
    bool two;
    struct mx_stream *stream; /* of the model device: trains */
    struct mx_buffer *sum;
    struct slot host[HOST_SLOTS], prepared[MX_PIPELINE_BUFFERS], arrived[MX_PIPELINE_BUFFERS];
    void *host_slots[HOST_SLOTS], *prepared_slots[MX_PIPELINE_BUFFERS], *arrived_slots[MX_PIPELINE_BUFFERS];
};

/* What came of one run. */
struct outcome {
    uint64_t wall_ns;
    double data_ns, train_ns, together_ns; /* at work: loading, processing and moving; training; both */
    float *sum;                            /* [FLOATS] */
};

/* ---- work ---- */

static void matrix_compute(uint64_t stream, float *out)
{
    const float scale = 2 / sqrtf(WIDTH);
    for (size_t i = 0; i < FLOATS; i++) out[i] = scale * (mx_rng_uniform(MX_VALIDATE_SEED, stream, i) - 0.5f);
}

/* to = (+=) from · matrix of the worker; all but the last of its repetitions are for the work alone. */
static int products(const struct worker *worker, struct mx_stream *stream, struct mx_slice from, struct mx_slice to,
                    bool accumulate)
{
    int rc = 0;
    struct mx_matmul_args args = {.a = from,
                                  .b = mx_slice_at(worker->matrix, 0),
                                  .c = mx_slice_at(worker->scratch, 0),
                                  .m = WIDTH,
                                  .n = WIDTH,
                                  .k = WIDTH};
    for (int i = 1; i < worker->repeats; i++) MX_TRY(mx_matmul(stream, &args));
    args.c = to;
    args.epilogue.accumulate = accumulate;
    MX_TRY(mx_matmul(stream, &args));
out:
    return rc;
}

static int work_draw(void *context, uint64_t number, void *host_slot)
{
    (void)context;
    ((struct slot *)host_slot)->number = number;
    return number == BATCHES ? 1 : 0;
}

static int work_load(void *context, int lane, uint64_t number, void *host_slot, const atomic_bool *cancel)
{
    (void)context;
    (void)lane;
    (void)cancel; /* one matrix is made at once */
    matrix_compute(STREAM_BATCH + number, ((struct slot *)host_slot)->host);
    return 0;
}

static int work_process(void *context, struct mx_stream *stream, uint64_t number, const void *host_slot,
                        void *data_slot)
{
    int rc = 0;
    const struct simulation *const sim = context;
    const struct slot *const from = host_slot;
    struct slot *const to = data_slot;
    (void)number; /* the slot says which it is: that is what is tested */
    to->number = from->number;
    MX_TRY(mx_copy_upload(stream, mx_slice_at(to->buffer, 0), from->host, MATRIX_BYTES));
    MX_TRY(products(&sim->data, stream, mx_slice_at(to->buffer, 0), mx_slice_at(to->buffer, MATRIX_BYTES), false));
out:
    return rc;
}

static int work_transfer(void *context, struct mx_stream *stream, uint64_t number, const void *data_slot,
                         void *model_slot)
{
    const struct slot *const from = data_slot;
    struct slot *const to = model_slot;
    (void)context;
    (void)number;
    to->number = from->number;
    return mx_copy_slices(stream, mx_slice_at(to->buffer, MATRIX_BYTES), mx_slice_at(from->buffer, MATRIX_BYTES),
                          MATRIX_BYTES);
}

/* ---- memory ---- */

static int matrix_open(struct mx_device *device, struct mx_stream *stream, uint64_t random, struct mx_buffer **out)
{
    int rc = 0;
    float *const values = mx_alloc(FLOATS, sizeof *values);
    if (values == NULL) return MX_ERR_NO_MEMORY;
    matrix_compute(random, values);
    MX_TRY(mx_buffer_create(device, "validation", MATRIX_BYTES, out));
    MX_TRY(mx_copy_upload(stream, mx_slice_at(*out, 0), values, MATRIX_BYTES));
    MX_TRY(mx_stream_sync(stream));
out:
    mx_free(values);
    return rc;
}

/* Repeats that last about STAGE_NS, by the fastest of some tries: a slow one was disturbed, or the first. */
static int calibrate(struct worker *worker, struct mx_stream *stream)
{
    int rc = 0;
    uint64_t least_ns = UINT64_MAX;
    const struct mx_slice from = mx_slice_at(worker->matrix, 0), to = mx_slice_at(worker->scratch, 0);
    worker->repeats = CALIBRATION_REPEATS;
    for (int i = 0; i < CALIBRATION_TRIES; i++) {
        const uint64_t begin = mx_clock_ns();
        MX_TRY(products(worker, stream, from, to, false));
        MX_TRY(mx_stream_sync(stream));
        const uint64_t took = mx_clock_ns() - begin + 1;
        if (took < least_ns) least_ns = took;
        if ((double)least_ns > CALIBRATION_REPEATS * STAGE_NS)
            break; /* on a slow device a single product is too much already */
    }
    worker->repeats = (int)fmin(REPEATS_MAX, fmax(1, STAGE_NS * CALIBRATION_REPEATS / (double)least_ns));
out:
    return rc;
}

static int worker_open(struct worker *worker, struct mx_device *device, uint64_t random)
{
    int rc = 0;
    struct mx_stream *stream = NULL;
    worker->device = device;
    MX_TRY(mx_stream_create(device, "validation", &stream));
    MX_TRY(matrix_open(device, stream, random, &worker->matrix));
    MX_TRY(mx_buffer_create(device, "validation", MATRIX_BYTES, &worker->scratch));
    MX_TRY(calibrate(worker, stream));
out:
    mx_stream_release(stream);
    return rc;
}

static int ring_open(struct mx_device *device, struct slot *slots, void **list)
{
    int rc = 0;
    for (int i = 0; i < MX_PIPELINE_BUFFERS; i++) {
        list[i] = &slots[i];
        MX_TRY(mx_buffer_create(device, "validation", 2 * MATRIX_BYTES, &slots[i].buffer));
    }
out:
    return rc;
}

/* Matrices of a worker, of a ring, and the sum. */
#define WORKER_BYTES (2 * MATRIX_BYTES)
#define RING_BYTES   (2 * MATRIX_BYTES * MX_PIPELINE_BUFFERS)

void mx_validate_pipeline_bytes(const struct mx_device_pair *pair, uint64_t *data, uint64_t *model)
{
    const uint64_t first = WORKER_BYTES + RING_BYTES + mx_device_info(pair->data)->work_bytes;
    const uint64_t second = WORKER_BYTES + MATRIX_BYTES + mx_device_info(pair->model)->work_bytes;
    *data = mx_device_pair_multi(pair) ? first : 0;
    *model = second + (mx_device_pair_multi(pair) ? RING_BYTES : first);
}

static int simulation_open(struct simulation *sim, const struct mx_device_pair *pair)
{
    int rc = 0;
    sim->two = mx_device_pair_multi(pair);
    MX_TRY(worker_open(&sim->data, pair->data, STREAM_DATA_MATRIX));
    MX_TRY(worker_open(&sim->model, pair->model, STREAM_MODEL_MATRIX));
    MX_TRY(mx_stream_create(pair->model, "validation", &sim->stream));
    MX_TRY(mx_buffer_create(pair->model, "validation", MATRIX_BYTES, &sim->sum));
    for (int i = 0; i < HOST_SLOTS; i++) {
        sim->host_slots[i] = &sim->host[i];
        MX_TRY(mx_host_alloc(pair->data, "validation", MATRIX_BYTES, (void **)&sim->host[i].host));
    }
    MX_TRY(ring_open(pair->data, sim->prepared, sim->prepared_slots));
    if (sim->two) MX_TRY(ring_open(pair->model, sim->arrived, sim->arrived_slots));
out:
    return rc;
}

static void simulation_close(struct simulation *sim)
{
    mx_stream_release(sim->stream);
    for (int i = 0; i < HOST_SLOTS; i++)
        if (sim->host[i].host != NULL) mx_host_release(sim->data.device, sim->host[i].host);
    for (int i = 0; i < MX_PIPELINE_BUFFERS; i++) {
        mx_buffer_release(sim->prepared[i].buffer);
        mx_buffer_release(sim->arrived[i].buffer);
    }
    mx_buffer_release(sim->sum);
    mx_buffer_release(sim->data.matrix);
    mx_buffer_release(sim->data.scratch);
    mx_buffer_release(sim->model.matrix);
    mx_buffer_release(sim->model.scratch);
}

/* ---- runs ---- */

/* All batches, in the order in which they are drawn. */
static int batches_train(struct simulation *sim, struct mx_pipeline *pipeline)
{
    int rc = 0;
    for (uint64_t due = 0;; due++) {
        struct mx_pipeline_batch batch;
        MX_TRY(mx_pipeline_take(pipeline, sim->stream, &batch));
        if (rc == 1) {
            rc = 0;
            if (due == BATCHES) goto out;
            MX_RAISE(MX_ERR_DEVICE, "this is a fault of the program: please report it",
                     "the pipeline ended after %" PRIu64 " of %d batches", due, BATCHES);
        }
        const struct slot *const slot = batch.slot;
        if (batch.number != due || slot->number != due)
            MX_RAISE(MX_ERR_DEVICE, "this is a fault of the program: please report it",
                     "batch %" PRIu64 " came when %" PRIu64 " was due", slot->number, due);
        MX_TRY(products(&sim->model, sim->stream, mx_slice_at(slot->buffer, MATRIX_BYTES), mx_slice_at(sim->sum, 0),
                        true));
        MX_TRY(mx_pipeline_give(pipeline, sim->stream));
        mx_pipeline_step(pipeline);
    }
out:
    return rc;
}

static double busy_sum(const struct mx_pipeline_stats *stats, int stage)
{
    const struct mx_tally *const busy = &stats->stages[stage].busy_ns;
    return busy->mean * (double)busy->count;
}

static int run(struct simulation *sim, bool sequential, struct outcome *out)
{
    int rc = 0;
    struct mx_pipeline *pipeline = NULL;
    struct mx_pipeline_stats stats;
    const struct mx_pipeline_options options = {.data = sim->data.device,
                                                .model = sim->model.device,
                                                .work = {.context = sim,
                                                         .draw = work_draw,
                                                         .load = work_load,
                                                         .process = work_process,
                                                         .transfer = sim->two ? work_transfer : NULL},
                                                .host_slots = sim->host_slots,
                                                .data_slots = sim->prepared_slots,
                                                .model_slots = sim->arrived_slots,
                                                .host_count = HOST_SLOTS,
                                                .data_count = MX_PIPELINE_BUFFERS,
                                                .model_count = sim->two ? MX_PIPELINE_BUFFERS : 0,
                                                .workers = 1,
                                                .held = 1,
                                                .sequential = sequential};
    MX_TRY(mx_fill(sim->stream, &(struct mx_fill_args){.x = mx_slice_at(sim->sum, 0), .count = (int64_t)FLOATS}));
    MX_TRY(mx_stream_sync(sim->stream));
    const uint64_t begin = mx_clock_ns();
    MX_TRY(mx_pipeline_create(&options, &pipeline));
    MX_TRY(batches_train(sim, pipeline));
    MX_TRY(mx_stream_sync(sim->stream));
    out->wall_ns = mx_clock_ns() - begin + 1;
    mx_pipeline_stats(pipeline, &stats);
    out->data_ns = 0;
    for (int k = 0; k < MX_STAGE_TRAIN; k++) out->data_ns += busy_sum(&stats, k);
    out->train_ns = busy_sum(&stats, MX_STAGE_TRAIN);
    out->together_ns = (double)stats.stage_overlap_ns;
    MX_TRY(mx_copy_download(sim->stream, out->sum, mx_slice_at(sim->sum, 0), MATRIX_BYTES));
    MX_TRY(mx_stream_sync(sim->stream));
out:
    mx_pipeline_destroy(pipeline);
    return rc;
}

/* ---- the check ---- */

static bool finite_all(const float *values)
{
    for (size_t i = 0; i < FLOATS; i++)
        if (!isfinite(values[i])) return false;
    return true;
}

static void outcome_report(struct mx_validate *v, const struct simulation *sim, const struct outcome *plain,
                           const struct outcome *flow)
{
    struct mx_validate_report *const r = &v->report;
    const double speed_up = (double)plain->wall_ns / (double)flow->wall_ns;
    const double least_ns = fmin(flow->data_ns, flow->train_ns); /* more than that cannot be together */
    const double overlap = least_ns > 0 ? fmin(1, flow->together_ns / least_ns) : 0;
    mx_validate_number(r, NULL, "batches", BATCHES);
    mx_validate_number(r, NULL, "process_repeats", sim->data.repeats);
    mx_validate_number(r, NULL, "train_repeats", sim->model.repeats);
    mx_validate_number(r, NULL, "sequential_ms", (double)plain->wall_ns * 1e-6);
    mx_validate_number(r, NULL, "pipelined_ms", (double)flow->wall_ns * 1e-6);
    mx_validate_number(r, NULL, "speed_up", speed_up);
    mx_validate_number(r, NULL, "data_ms", flow->data_ns * 1e-6);
    mx_validate_number(r, NULL, "train_ms", flow->train_ns * 1e-6);
    mx_validate_number(r, NULL, "together_ms", flow->together_ns * 1e-6);
    mx_validate_number(r, NULL, "overlap", overlap);
    mx_validate_flag(r, NULL, "in_order", true);
    mx_validate_flag(r, NULL, "equal", true);
    mx_validate_report_add(r, MX_FINDING_PASS, NULL,
                           "Order kept: %d batches, each once, in the order in which they were drawn", BATCHES);
    mx_validate_report_add(r, MX_FINDING_PASS, NULL, "Results with and without overlap are equal, bit for bit");
    if (!sim->two)
        mx_validate_report_add(
            r, MX_FINDING_NOTE, NULL,
            "One device works on data and model in turn: %.1f ms without buffer, %.1f ms with it (%.2fx)",
            (double)plain->wall_ns * 1e-6, (double)flow->wall_ns * 1e-6, speed_up);
    else if (overlap < OVERLAP_LOW)
        mx_validate_report_add(
            r, MX_FINDING_WARNING,
            "see that no other program uses the devices and that they do not share cores ('myxtts "
            "devices'); 'myxtts profile' shows where the time goes",
            "No overlap: data and model were at work together in %.1f %% of the time that the shorter "
            "of them takes (%.2fx)",
            100 * overlap, speed_up);
    else
        mx_validate_report_add(
            r, MX_FINDING_PASS, NULL,
            "Overlap: data and model were at work together in %.0f %% of the time that the shorter of them takes; "
            "%.1f ms instead of %.1f ms (%.2fx; the fastest of %d runs each)",
            100 * overlap, (double)flow->wall_ns * 1e-6, (double)plain->wall_ns * 1e-6, speed_up, ROUNDS);
    mx_validate_report_add(r, MX_FINDING_PASS, NULL, "Pipeline simulation successful");
}

/* Both runs, whose results must be equal; keeps the faster of the last ones and these. */
static int round_run(struct simulation *sim, struct outcome *plain, struct outcome *flow)
{
    int rc = 0;
    struct outcome slow = *plain, fast = *flow; /* with the same memory for the sums */
    MX_TRY(run(sim, true, &slow));
    MX_TRY(run(sim, false, &fast));
    if (!finite_all(slow.sum))
        MX_RAISE(MX_ERR_DEVICE, "update the driver, or choose other devices ('myxtts devices' lists them)",
                 "products on these devices are not finite");
    if (memcmp(slow.sum, fast.sum, MATRIX_BYTES) != 0)
        MX_RAISE(MX_ERR_DEVICE, "do not train on these devices: update the driver, or choose others",
                 "the results with overlap are not those without it");
    if (plain->wall_ns == 0 || slow.wall_ns < plain->wall_ns) *plain = slow;
    if (flow->wall_ns == 0 || fast.wall_ns < flow->wall_ns) *flow = fast;
out:
    return rc;
}

int mx_validate_pipeline(struct mx_validate *v)
{
    int rc = 0;
    struct simulation sim = {.two = false};
    struct outcome plain = {.sum = mx_alloc(FLOATS, sizeof(float))}, flow = {.sum = mx_alloc(FLOATS, sizeof(float))};
    if (plain.sum == NULL || flow.sum == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    MX_TRY(simulation_open(&sim, &v->job.devices));
    /* On a machine that others use, too, a device may not have got its turn: that is no lack of overlap. */
    for (int i = 0; i < (sim.two ? ROUNDS : 1); i++) MX_TRY(round_run(&sim, &plain, &flow));
    outcome_report(v, &sim, &plain, &flow);
out:
    simulation_close(&sim);
    mx_free(plain.sum);
    mx_free(flow.sum);
    return rc;
}

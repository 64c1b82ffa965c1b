/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The feed when things go wrong: batches come in the sampler's order whatever the threads; recordings that fail or
 * stall end or hold up the step that needs them, and only that; devices that dawdle change nothing, devices that fail
 * end the run in order.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sched.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "myxtts/error.h"
#include "support/fake_backend.h"
#include "support/recording.h"
#include "support/small_corpus.h"
#include "support/training_rig.h"
#include "train/feed/feed.h"

#define LIMIT ((size_t)64 << 20) /* of files that are read whole */

/* ---- the feed by itself ---- */

/* A feed of the sound corpus with what it borrows. */
struct rig {
    struct mx_batch_source *source;
    struct mx_sampler *sampler, *truth; /* the second one is looked at by the test */
    struct mx_feed *feed;
    struct mx_stream *stream;
    struct mx_pipeline_options options;
};

static void rig_open(struct rig *rig, struct mx_dataset *dataset, int32_t workers)
{
    uint32_t items[TRAINING_ROWS], frames[TRAINING_ROWS];
    const struct mx_batch_source_options how = {
        .dataset = dataset, .normaliser = training.normaliser, .seed = 3, .reference_seconds = 0.5};
    const struct mx_sampler_options order = {.seed = 3, .world = 1, .batch_size = 4};
    struct mx_feed_options o = {.data = training.data,
                                .model = training.model,
                                .normaliser = training.normaliser,
                                .workers = workers,
                                .host_slots = workers + 2,
                                .data_slots = 2,
                                .model_slots = 3};
    assert_int_equal(mx_batch_source_create(&how, &rig->source), 0);
    for (uint32_t i = 0; i < TRAINING_ROWS; i++) {
        items[i] = i;
        frames[i] = mx_batch_source_frames(rig->source, i);
    }
    assert_int_equal(mx_sampler_create(&order, items, frames, TRAINING_ROWS, &rig->sampler), 0);
    assert_int_equal(mx_sampler_create(&order, items, frames, TRAINING_ROWS, &rig->truth), 0);
    assert_int_equal(mx_batch_source_capacity(rig->source, items, TRAINING_ROWS, 4, 0, &o.capacity), 0);
    o.source = rig->source;
    o.sampler = rig->sampler;
    if (mx_feed_create(&o, &rig->feed) < 0) fail_msg("%s", mx_error_last()->message);
    rig->options = (struct mx_pipeline_options){.held = 1};
    mx_feed_connect(rig->feed, &rig->options);
    assert_int_equal(mx_stream_create(training.model, "train", &rig->stream), 0);
}

static void rig_close(struct rig *rig)
{
    mx_stream_release(rig->stream);
    mx_feed_destroy(rig->feed);
    mx_sampler_destroy(rig->sampler);
    mx_sampler_destroy(rig->truth);
    mx_batch_source_destroy(rig->source);
}

static void test_order_is_the_samplers(void **state)
{
    (void)state;
    for (int32_t workers = 1; workers <= 3; workers++) {
        struct rig rig;
        struct mx_pipeline *pipeline;
        uint32_t epoch = 0, step = 2; /* from the middle of an epoch on */
        rig_open(&rig, training.datasets[TRAINING_SOUND], workers);
        mx_feed_begin(rig.feed, epoch, step);
        assert_int_equal(mx_pipeline_create(&rig.options, &pipeline), 0);
        for (int i = 0; i < 30; i++) {
            struct mx_pipeline_batch batch;
            assert_int_equal(mx_pipeline_take(pipeline, rig.stream, &batch), 0);
            const struct mx_device_batch *const on_device = batch.slot;
            if (step == mx_sampler_steps(rig.truth)) {
                mx_sampler_select(rig.truth, ++epoch);
                step = 0;
            }
            const struct mx_sampler_batch truth = mx_sampler_get(rig.truth, step);
            assert_true(on_device->epoch == epoch && on_device->step == step);
            assert_int_equal(on_device->count, truth.count);
            assert_memory_equal(on_device->utterances, truth.items, truth.count * sizeof *truth.items);
            step++;
            assert_int_equal(mx_pipeline_give(pipeline, rig.stream), 0);
        }
        assert_true(epoch > 3);
        mx_pipeline_destroy(pipeline);
        rig_close(&rig);
    }
}

/* Stands before the feed's own function: holds batch 2 up until it is let go. */
static struct {
    int (*load)(void *, int, uint64_t, void *, const atomic_bool *);
    atomic_bool gone, there;
} stall;

static int load_stalled(void *context, int worker, uint64_t number, void *slot, const atomic_bool *cancel)
{
    if (number == 2) atomic_store(&stall.there, true);
    while (number == 2 && !atomic_load(&stall.gone) && !atomic_load(cancel)) sched_yield();
    return stall.load(context, worker, number, slot, cancel);
}

static void test_stalled_recording(void **state)
{
    (void)state;
    struct rig rig;
    struct mx_pipeline *pipeline;
    struct mx_pipeline_batch batch;
    atomic_bool stop = false;
    char what[64];
    rig_open(&rig, training.datasets[TRAINING_SOUND], 2);
    stall.load = rig.options.work.load;
    atomic_store(&stall.gone, false);
    rig.options.work.load = load_stalled;
    mx_feed_watch(rig.feed, &stop);
    assert_int_equal(mx_pipeline_create(&rig.options, &pipeline), 0);
    for (uint64_t i = 0; i < 2; i++) { /* those before it come */
        assert_int_equal(mx_pipeline_take(pipeline, rig.stream, &batch), 0);
        assert_int_equal(batch.number, i);
        assert_int_equal(mx_pipeline_give(pipeline, rig.stream), 0);
    }
    while (!atomic_load(&stall.there)) sched_yield();
    rig.options.work.describe(rig.options.work.context, 0, what, sizeof what);
    assert_non_null(strstr(what, "row-"));
    atomic_store(&stop, true); /* a waiting caller can be interrupted, */
    assert_int_equal(mx_pipeline_take(pipeline, rig.stream, &batch), MX_ERR_INTERRUPTED);
    atomic_store(&stop, false);
    atomic_store(&stall.gone, true); /* and nothing is lost by that */
    assert_int_equal(mx_pipeline_take(pipeline, rig.stream, &batch), 0);
    assert_int_equal(batch.number, 2);
    mx_pipeline_destroy(pipeline);
    /* The end comes also while a recording is stalled. */
    atomic_store(&stall.gone, false);
    atomic_store(&stall.there, false);
    mx_feed_begin(rig.feed, 0, 0);
    assert_int_equal(mx_pipeline_create(&rig.options, &pipeline), 0);
    while (!atomic_load(&stall.there)) sched_yield();
    mx_pipeline_destroy(pipeline);
    rig_close(&rig);
}

/* ---- recordings that cannot be used ---- */

static void test_damaged_recording_ends_the_run_when_it_is_due(void **state)
{
    (void)state;
    struct mx_packed_file *packed;
    struct mx_trainer_report report;
    char *data, *const file = mx_format("%s/damaged.pack", training.folder);
    size_t bytes;
    assert_int_equal(mx_packed_open(training.files[TRAINING_SOUND], &packed), 0);
    const uint64_t offset = mx_packed_record(packed, 9)->payload_offset;
    mx_packed_close(packed);
    assert_int_equal(mx_file_read(training.files[TRAINING_SOUND], LIMIT, &data, &bytes), 0);
    data[offset + 2000] ^= 8;
    file_put(training.folder, "damaged.pack", data, bytes);
    struct mx_dataset *const dataset = training_dataset(file);
    struct mx_trainer_options o = training_options_of(dataset);
    o.batch_size = 1;
    int due = -1;
    for (int flow = 0; flow < 3; flow++) { /* plain, one device, two devices: the same step fails */
        const struct mx_trainer_options how = flow == 0 ? o : training_flow(o, flow == 2, 3, 4);
        struct mx_trainer *const trainer = training_start(&how, NULL, NULL);
        int made = 0, rc;
        while ((rc = mx_trainer_step(trainer, &report)) == 0) made++;
        assert_int_equal(rc, MX_ERR_FORMAT);
        assert_non_null(strstr(mx_error_last()->message, "row-09"));
        assert_int_equal(mx_trainer_state(trainer)->step, made);
        assert_int_equal(mx_trainer_state(trainer)->batch, made);           /* within the first epoch */
        assert_int_equal(mx_trainer_step(trainer, &report), MX_ERR_FORMAT); /* and again */
        if (flow == 0) due = made;
        assert_int_equal(made, due);
        mx_trainer_destroy(trainer);
    }
    mx_dataset_close(dataset);
    mx_free(data);
    mx_free(file);
}

static void test_unusable_recordings_are_left_out(void **state)
{
    (void)state;
    char *const folder = folder_make();
    small_corpus_make(folder, TRAINING_ROWS, SMALL_SILENT);
    struct mx_dataset *const dataset = training_dataset(folder);
    const struct mx_trainer_options plain = training_options_of(dataset);
    const struct training_outcome expected = training_run(&plain);
    int64_t left_out = 0;
    for (int i = 0; i < TRAINING_STEPS; i++) left_out += expected.reports[i].left_out;
    assert_true(left_out > 0);
    const struct mx_trainer_options o = training_flow(plain, true, 2, 2);
    training_same(&expected, &o);
    mx_free(expected.arrays.weights);
    mx_dataset_close(dataset);
    folder_remove(folder);
}

/* ---- devices that dawdle, overtake and fail ---- */

static const struct mx_backend *const fake_only[] = {&mx_fake_backend, NULL};

/* Both fake devices; the trainer uses them instead of the CPU's. */
struct fakes {
    struct mx_registry *registry;
    struct mx_device *data, *model;
};

static struct fakes fakes_open(struct mx_trainer_options *o)
{
    const struct mx_registry_options wanted = {.devices = {"fake:0", "fake:1"}, .device_count = 2};
    struct fakes fakes;
    assert_int_equal(mx_registry_open(fake_only, &wanted, &fakes.registry), 0);
    assert_int_equal(mx_registry_device_open(fakes.registry, 0, 0, &fakes.data), 0);
    assert_int_equal(mx_registry_device_open(fakes.registry, 1, 0, &fakes.model), 0);
    o->device = fakes.model;
    if (o->flow.data_device != NULL) o->flow.data_device = fakes.data;
    return fakes;
}

static void fakes_close(struct fakes *fakes)
{
    mx_device_close(fakes->model);
    mx_device_close(fakes->data);
    mx_registry_close(fakes->registry);
}

static void test_slow_devices_give_the_same_weights(void **state)
{
    (void)state;
    struct mx_trainer_options plain = training_options(TRAINING_SOUND);
    plain.flow.augment = (struct mx_augment_options){.gain_db = 3, .time_masks = 1, .time_share_max = 0.2};
    const struct training_outcome expected = training_run(&plain);
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct mx_trainer_options o = training_flow(plain, seed % 2 == 0, 2, 3);
        mx_fake_configure(
            &(struct mx_fake_options){.seed = seed, .max_delay_us = 20, .reorder = true, .memory_bytes = 256 << 20});
        struct fakes fakes = fakes_open(&o);
        training_same(&expected, &o);
        fakes_close(&fakes);
    }
    mx_fake_configure(NULL);
    mx_free(expected.arrays.weights);
}

static void test_failed_copies_end_the_run(void **state)
{
    (void)state;
    const struct mx_trainer_options plain = training_options(TRAINING_FEATURES);
    for (int at = 1; at < 200; at += 23) {
        struct mx_trainer_options o = training_flow(plain, true, 2, 2);
        struct mx_trainer *trainer;
        struct mx_trainer_report report;
        int rc = 0;
        mx_fake_configure(&(struct mx_fake_options){.seed = (uint64_t)at, .reorder = true, .memory_bytes = 256 << 20});
        struct fakes fakes = fakes_open(&o);
        if (mx_trainer_create(&o, &trainer) < 0) fail_msg("%s", mx_error_last()->message);
        mx_fake_configure(&(struct mx_fake_options){.seed = (uint64_t)at, .reorder = true, .fail_copy_at = at});
        assert_int_equal(mx_trainer_start(trainer, NULL), 0);
        for (int i = 0; i < 100 && rc == 0; i++) rc = mx_trainer_step(trainer, &report);
        assert_int_equal(rc, MX_ERR_DEVICE); /* whichever stage it hit */
        mx_trainer_destroy(trainer);
        fakes_close(&fakes);
    }
    mx_fake_configure(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_is_the_samplers),
        cmocka_unit_test(test_stalled_recording),
        cmocka_unit_test(test_damaged_recording_ends_the_run_when_it_is_due),
        cmocka_unit_test(test_unusable_recordings_are_left_out),
        cmocka_unit_test(test_slow_devices_give_the_same_weights),
        cmocka_unit_test(test_failed_copies_end_the_run),
    };
    return cmocka_run_group_tests(tests, training_open, training_close);
}

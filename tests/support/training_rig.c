/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Training runs for tests, see training_rig.h.
 */
#include "support/training_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "corpus/prepare.h"
#include "features/extract.h"
#include "myxtts/error.h"
#include "support/cores.h"
#include "support/recording.h"
#include "support/small_corpus.h"

struct training training;

const struct mx_manifest_options training_manifest = {.validation_fraction = 0.15};

static const struct mx_model_size small = {"test", 16, 2, 1, 1, 32};

/* ---- corpora: packed sound and packed features of the same recordings ---- */

enum { MEL, ENERGY, PITCH, TENSORS };

/* Of the worker that prepares features. */
struct maker {
    struct mx_stream *stream;
    struct mx_extract *extract;
    float mel[80 * 500], energy[500], pitch[500];
};

static int features_start(void *context, int worker, void **state)
{
    const struct mx_extract_options options = {.samples_max = 4 * 22050, .utterances_max = 1};
    struct maker *const maker = mx_alloc(1, sizeof *maker);
    (void)context;
    (void)worker;
    assert_non_null(maker);
    assert_int_equal(mx_extract_create(training.data, &options, &maker->extract), 0);
    assert_int_equal(mx_stream_create(training.data, "prepare", &maker->stream), 0);
    *state = maker;
    return 0;
}

static int features_run(void *state, const float *samples, size_t count, uint32_t *frames,
                        const float *tensors[MX_PACKED_TENSORS])
{
    struct maker *const maker = state;
    const int32_t offsets[] = {0, (int32_t)count};
    const struct mx_extract_batch batch = {.audio = samples, .offsets = offsets, .count = 1};
    struct mx_extract_features features;
    int rc = mx_extract_submit(maker->extract, maker->stream, &batch, &features);
    if (rc == 0) rc = mx_extract_read(maker->extract, maker->stream, maker->mel, maker->energy, maker->pitch);
    *frames = (uint32_t)mx_extract_frames(maker->extract)[1];
    tensors[MEL] = maker->mel;
    tensors[ENERGY] = maker->energy;
    tensors[PITCH] = maker->pitch;
    return rc;
}

static void features_end(void *state)
{
    struct maker *const maker = state;
    mx_stream_release(maker->stream);
    mx_extract_destroy(maker->extract);
    mx_free(maker);
}

static void corpus_pack(const char *file, bool features)
{
    const struct mx_packed_tensor tensors[TENSORS] = {
        {"mel", (uint32_t)MX_RECIPE_DEFAULT->bands, 0}, {"energy", 1, 0}, {"pitch", 1, 0}};
    char hash[MX_RECIPE_HASH_BYTES];
    const struct mx_prepare_stage stage = {.tensors = tensors,
                                           .tensor_count = TENSORS,
                                           .recipe = MX_RECIPE_DEFAULT->name,
                                           .recipe_hash = mx_recipe_hash_text(MX_RECIPE_DEFAULT, hash),
                                           .start = features_start,
                                           .run = features_run,
                                           .end = features_end};
    struct mx_prepare_options options = small_corpus_packing(training.folder, file);
    struct mx_prepare_report report;
    options.workers = 1;
    if (features) options.stage = &stage;
    if (mx_prepare_run(&options, &report) < 0) fail_msg("%s", mx_error_last()->message);
    assert_int_equal(report.good, TRAINING_ROWS);
    mx_prepare_release(&report);
}

static struct mx_dataset *dataset_open(const char *path, const struct mx_manifest_options *manifest)
{
    struct mx_dataset_options options = MX_DATASET_OPTIONS_DEFAULT;
    struct mx_dataset *dataset;
    options.path = path;
    options.row.tokens = MX_TOKENS_CHARS;
    options.manifest = *manifest;
    options.workers = 1;
    if (mx_dataset_open(&options, &dataset) < 0) fail_msg("%s", mx_error_last()->message);
    return dataset;
}

struct mx_dataset *training_dataset(const char *path)
{
    return dataset_open(path, &training_manifest);
}

/* An empty folder and the devices. */
static int parts_open(const struct mx_registry_options *devices)
{
    mx_log_configure(&(struct mx_log_options){.level = MX_LOG_SILENT});
    training.folder = folder_make();
    int rc = mx_registry_open(NULL, devices, &training.registry);
    if (rc == 0 && devices->device_count == 2) rc = mx_registry_device_open(training.registry, 0, 0, &training.data);
    if (rc == 0) rc = mx_registry_device_open(training.registry, devices->device_count - 1, 0, &training.model);
    return rc;
}

int training_open(void **state)
{
    (void)state;
    two_cores_or_exit();
    const struct mx_registry_options devices = {.cpu_devices = 2, .devices = {"cpu:0", "cpu:1"}, .device_count = 2};
    if (parts_open(&devices) < 0) return -1;
    small_corpus_make(training.folder, TRAINING_ROWS, 0);
    for (int i = 0; i < TRAINING_CORPORA; i++) {
        training.files[i] = mx_format("%s/%s.pack", training.folder, i == TRAINING_SOUND ? "sound" : "features");
        corpus_pack(training.files[i], i == TRAINING_FEATURES);
        training.datasets[i] = training_dataset(training.files[i]);
    }
    return mx_normaliser_measure(training.datasets[TRAINING_SOUND], MX_RECIPE_DEFAULT, training.data,
                                 &training.normaliser) < 0
               ? -1
               : 0;
}

int training_open_folder(void (*fill)(const char *folder), const struct mx_manifest_options *manifest)
{
    const struct mx_registry_options devices = {.devices = {"cpu:0"}, .device_count = 1};
    if (parts_open(&devices) < 0) return -1;
    fill(training.folder);
    training.recordings = dataset_open(training.folder, manifest);
    return mx_normaliser_measure(training.recordings, MX_RECIPE_DEFAULT, training.model, &training.normaliser) < 0 ? -1
                                                                                                                   : 0;
}

int training_close(void **state)
{
    (void)state;
    mx_dataset_close(training.recordings);
    for (int i = 0; i < TRAINING_CORPORA; i++) {
        mx_dataset_close(training.datasets[i]);
        mx_free(training.files[i]);
    }
    mx_device_close(training.model);
    mx_device_close(training.data);
    mx_registry_close(training.registry);
    folder_remove(training.folder);
    return 0;
}

/* ---- runs ---- */

struct mx_trainer_options training_options_of(struct mx_dataset *dataset)
{
    const struct mx_vocabulary *const words = mx_dataset_vocabulary(dataset);
    struct mx_trainer_options o = {
        .device = training.model,
        .dataset = dataset,
        .model = mx_model_config_default(&small, (int32_t)mx_vocabulary_size(words),
                                         (int32_t)mx_vocabulary_languages(words)),
        .normaliser = training.normaliser,
        .optimizer.schedule = {.peak = 3e-3, .floor = 0.1, .warmup = 4, .steps = 60, .cycles = 1, .cycle_decay = 1},
        .guard = MX_GUARD_OPTIONS_DEFAULT,
        .seed = 7,
        .batch_size = 4,
        .grad_accum = 1,
        .workers = 1,
        .prefetch = 1,
        .flow = {.sequential = true},
        .reference_seconds = 0.5,
        .optimizer.grad_clip = 1,
        .optimizer.beta1 = 0.9,
        .optimizer.beta2 = 0.98,
        .optimizer.epsilon = 1e-9,
        .optimizer.weight_decay = 0.01,
        .optimizer.ema_decay = 0.99,
        .validation_limit = 8};
    return o;
}

struct mx_trainer_options training_options(enum training_corpus corpus)
{
    return training_options_of(training.datasets[corpus]);
}

struct mx_trainer_options training_flow(struct mx_trainer_options o, bool two, int32_t workers, int32_t buffer)
{
    o.flow.data_device = two ? training.data : NULL;
    o.flow.sequential = false;
    o.flow.buffer = buffer;
    o.workers = workers;
    o.prefetch = buffer;
    return o;
}

struct mx_trainer *training_start(const struct mx_trainer_options *o, const struct mx_trainer_state *state,
                                  const struct mx_trainer_arrays *arrays)
{
    struct mx_trainer *trainer = NULL;
    if (mx_trainer_create(o, &trainer) < 0) fail_msg("%s", mx_error_last()->message);
    if (arrays != NULL) assert_int_equal(mx_trainer_write(trainer, MX_PART_ACOUSTIC, arrays), 0);
    if (mx_trainer_start(trainer, state) < 0) fail_msg("%s", mx_error_last()->message);
    return trainer;
}

void training_step(struct mx_trainer *trainer, struct mx_trainer_report *report)
{
    if (mx_trainer_step(trainer, report) < 0) fail_msg("%s", mx_error_last()->message);
}

struct mx_trainer_arrays training_arrays_make(const struct mx_trainer *trainer, size_t *floats)
{
    *floats = (size_t)mx_trainer_parameters(trainer, MX_PART_ACOUSTIC)->floats;
    float *const block = mx_alloc(4 * *floats, sizeof *block);
    assert_non_null(block);
    return (struct mx_trainer_arrays){block, block + *floats, {block + 2 * *floats, block + 3 * *floats}};
}

struct mx_trainer_arrays training_arrays_read(struct mx_trainer *trainer, size_t *floats)
{
    const struct mx_trainer_arrays arrays = training_arrays_make(trainer, floats);
    assert_int_equal(mx_trainer_read(trainer, MX_PART_ACOUSTIC, &arrays), 0);
    return arrays;
}

void training_steps(struct mx_trainer *trainer, int from, int to, struct training_outcome *out)
{
    for (int i = from; i < to; i++) training_step(trainer, &out->reports[i]);
    out->arrays = training_arrays_read(trainer, &out->floats);
    out->state = *mx_trainer_state(trainer);
}

struct training_outcome training_run(const struct mx_trainer_options *o)
{
    struct training_outcome outcome = {0};
    struct mx_trainer *const trainer = training_start(o, NULL, NULL);
    training_steps(trainer, 0, TRAINING_STEPS, &outcome);
    mx_trainer_destroy(trainer);
    return outcome;
}

bool training_equal(const struct training_outcome *a, const struct training_outcome *b)
{
    bool equal = a->floats == b->floats &&
                 memcmp(a->arrays.weights, b->arrays.weights, 4 * a->floats * sizeof(float)) == 0 &&
                 memcmp(&a->state, &b->state, sizeof a->state) == 0;
    for (int i = 0; i < TRAINING_STEPS && equal; i++) {
        const struct mx_trainer_report *const x = &a->reports[i], *const y = &b->reports[i];
        equal = x->step == y->step && x->epoch == y->epoch && x->utterances == y->utterances &&
                x->left_out == y->left_out && x->tokens == y->tokens && x->frames == y->frames &&
                x->grad_norm == y->grad_norm && memcmp(&x->losses, &y->losses, sizeof x->losses) == 0;
    }
    return equal;
}

void training_same(const struct training_outcome *expected, const struct mx_trainer_options *o)
{
    const struct training_outcome found = training_run(o);
    assert_true(training_equal(expected, &found));
    mx_free(found.arrays.weights);
}

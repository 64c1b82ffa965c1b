/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Features for packed corpora, see feature_stage.h.
 */
#include "run/feature_stage.h"

#include <math.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/thread/pool.h"
#include "corpus/audio/audio.h"
#include "features/extract.h"
#include "myxtts/error.h"
#include "myxtts/registry.h"

enum { MEL, ENERGY, PITCH, TENSORS };

struct mx_feature_stage {
    struct mx_prepare_stage stage;
    struct mx_packed_tensor tensors[TENSORS];
    const struct mx_recipe *recipe;
    char hash[MX_RECIPE_HASH_BYTES];
    struct mx_registry *registry;
    struct mx_device *devices[MX_SELECTION_MAX];
    int device_count;
    int64_t samples_max;
};

/* Of one worker. */
struct worker {
    struct mx_stream *stream;
    struct mx_extract *extract;
    float *tensors[TENSORS];
};

static void stage_end(void *state)
{
    struct worker *const worker = state;
    mx_stream_release(worker->stream);
    mx_extract_destroy(worker->extract);
    for (int i = 0; i < TENSORS; i++) mx_free(worker->tensors[i]);
    mx_free(worker);
}

static int stage_start(void *context, int number, void **state)
{
    int rc = 0;
    struct mx_feature_stage *const stage = context;
    struct mx_device *const device = stage->devices[number % stage->device_count];
    const struct mx_extract_options options = {
        .recipe = stage->recipe, .samples_max = stage->samples_max, .utterances_max = 1};
    const size_t frames = (size_t)mx_recipe_frames_most(stage->recipe, stage->samples_max, 1);
    struct worker *worker = mx_alloc(1, sizeof *worker);
    if (worker == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    for (int i = 0; i < TENSORS; i++) {
        worker->tensors[i] = mx_alloc(frames * stage->tensors[i].columns, sizeof(float));
        if (worker->tensors[i] == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    }
    MX_TRY(mx_extract_create(device, &options, &worker->extract));
    MX_TRY(mx_stream_create(device, "prepare", &worker->stream));
    *state = worker;
    worker = NULL;
out:
    if (worker != NULL) stage_end(worker);
    return rc;
}

static int stage_run(void *state, const float *samples, size_t count, uint32_t *frames,
                     const float *tensors[MX_PACKED_TENSORS])
{
    int rc = 0;
    struct worker *const worker = state;
    const int32_t offsets[] = {0, (int32_t)count};
    const struct mx_extract_batch batch = {.audio = samples, .offsets = offsets, .count = 1};
    struct mx_extract_features features;
    MX_TRY(mx_extract_submit(worker->extract, worker->stream, &batch, &features));
    MX_TRY(mx_extract_read(worker->extract, worker->stream, worker->tensors[MEL], worker->tensors[ENERGY],
                           worker->tensors[PITCH]));
    *frames = (uint32_t)mx_extract_frames(worker->extract)[1];
    for (int i = 0; i < TENSORS; i++) tensors[i] = worker->tensors[i];
out:
    return rc;
}

int mx_feature_stage_create(int workers, const struct mx_recipe *recipe, double seconds_max,
                            struct mx_feature_stage **out)
{
    int rc = 0;
    char names[MX_SELECTION_MAX][16];
    struct mx_registry_options wanted = {0};
    struct mx_feature_stage *stage = mx_alloc(1, sizeof *stage);
    *out = NULL;
    if (stage == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    const int cores = mx_thread_cores(NULL, 0);
    int devices = workers > 0 && workers < cores ? workers : cores;
    if (devices > MX_SELECTION_MAX) devices = MX_SELECTION_MAX; /* several workers then share a device */
    wanted.cpu_devices = devices;
    for (int i = 0; i < devices; i++) {
        snprintf(names[i], sizeof names[i], "cpu:%d", i);
        wanted.devices[wanted.device_count++] = names[i];
    }
    MX_TRY(mx_registry_open(NULL, &wanted, &stage->registry));
    for (; stage->device_count < devices; stage->device_count++)
        MX_TRY(mx_registry_device_open(stage->registry, stage->device_count, 0, &stage->devices[stage->device_count]));
    stage->recipe = recipe;
    stage->samples_max = (int64_t)ceil(seconds_max * recipe->rate) + 1;
    stage->tensors[MEL] = (struct mx_packed_tensor){"mel", (uint32_t)recipe->bands, 0};
    stage->tensors[ENERGY] = (struct mx_packed_tensor){"energy", 1, 0};
    stage->tensors[PITCH] = (struct mx_packed_tensor){"pitch", 1, 0};
    stage->stage = (struct mx_prepare_stage){.tensors = stage->tensors,
                                             .tensor_count = TENSORS,
                                             .recipe = recipe->name,
                                             .recipe_hash = mx_recipe_hash_text(recipe, stage->hash),
                                             .context = stage,
                                             .start = stage_start,
                                             .run = stage_run,
                                             .end = stage_end};
    *out = stage;
    stage = NULL;
out:
    mx_feature_stage_destroy(stage);
    return rc;
}

void mx_feature_stage_destroy(struct mx_feature_stage *stage)
{
    if (stage == NULL) return;
    for (int i = 0; i < stage->device_count; i++) mx_device_close(stage->devices[i]);
    mx_registry_close(stage->registry);
    mx_free(stage);
}

const struct mx_prepare_stage *mx_feature_stage_get(const struct mx_feature_stage *stage)
{
    return &stage->stage;
}

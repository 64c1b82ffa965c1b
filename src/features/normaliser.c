/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Mean and deviation of the features of a corpus, see normaliser.h.
 */
#include "features/normaliser.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/progress.h"
#include "features/extract.h"
#include "features/statistics.h"
#include "myxtts/error.h"

/* ---- features of a packed file ---- */

/* With the recipe that made the corpus, if the program knows it. */
static int recipe_refuse(const struct mx_recipe *recipe, const struct mx_recipe *made)
{
    char other[sizeof made->name + 64] = "";
    if (made != NULL) snprintf(other, sizeof other, ", or use the corpus with '--recipe %s'", made->name);
    mx_error_hint("prepare the corpus again with '--recipe %s'%s", recipe->name, other);
    return MX_ERR_DATA;
}

int mx_recipe_dataset_check(const struct mx_recipe *recipe, const struct mx_dataset *dataset)
{
    const char *const hash = mx_dataset_recipe_hash(dataset);
    const int rate = mx_dataset_rate(dataset);
    if (mx_dataset_kind(dataset) == MX_PACKED_FEATURES) {
        const struct mx_recipe *const made = mx_recipe_find_hash(hash);
        if (made == recipe) return 0;
        MX_FAIL(MX_ERR_DATA, NULL, "the features of the corpus were made by the recipe %s (%s), not by %s",
                mx_dataset_recipe(dataset), hash, recipe->name);
        return recipe_refuse(recipe, made);
    }
    if (rate == recipe->rate) return 0;
    const struct mx_recipe *made = NULL;
    for (int i = 0; i < MX_RECIPES && made == NULL; i++)
        if (mx_recipes[i].rate == rate) made = &mx_recipes[i];
    MX_FAIL(MX_ERR_DATA, NULL, "the corpus has %d samples per second, but the recipe %s needs %d", rate, recipe->name,
            (int)recipe->rate);
    return recipe_refuse(recipe, made);
}

int mx_feature_tensors_find(const struct mx_dataset *dataset, const struct mx_recipe *recipe,
                            struct mx_feature_tensors *out)
{
    static const char *const names[] = {"mel", "energy", "pitch"};
    const uint32_t columns[] = {(uint32_t)recipe->bands, 1, 1};
    uint32_t *const places[] = {&out->mel, &out->energy, &out->pitch};
    const int rc = mx_recipe_dataset_check(recipe, dataset);
    if (rc < 0) return rc;
    for (int i = 0; i < 3; i++) {
        const struct mx_packed_tensor *tensor;
        uint32_t at = 0;
        while ((tensor = mx_dataset_tensor(dataset, at)) != NULL && strcmp(tensor->name, names[i]) != 0) at++;
        if (tensor == NULL || tensor->columns != columns[i])
            return MX_FAIL(MX_ERR_DATA, "run 'myxtts prepare --features' again",
                           "the features of the corpus have no %s with %u numbers per frame", names[i],
                           (unsigned)columns[i]);
        *places[i] = at;
    }
    return 0;
}

/* ---- measuring ---- */

struct measure {
    struct mx_dataset *dataset;
    const struct mx_recipe *recipe;
    struct mx_device *device;
    struct mx_dataset_reader *reader;
    struct mx_stream *stream;
    struct mx_extract *extract;
    struct mx_feature_tensors tensors;
    float *mel, *energy, *pitch; /* of one utterance; mel owns the block. Audio only */
    struct mx_statistics of_mel, of_energy, of_pitch;
    struct mx_progress *progress;
};

/* Room for the longest utterance. */
static struct mx_extract_options extract_options(const struct mx_dataset *dataset, const struct mx_recipe *recipe)
{
    uint32_t longest = 1;
    for (uint32_t i = 0; i < mx_dataset_count(dataset); i++) {
        const struct mx_dataset_utterance *const u = mx_dataset_utterance(dataset, i);
        if (u->samples > longest) longest = u->samples;
    }
    return (struct mx_extract_options){.recipe = recipe, .samples_max = longest, .utterances_max = 1};
}

uint64_t mx_normaliser_bytes(const struct mx_dataset *dataset, const struct mx_recipe *recipe)
{
    const struct mx_extract_options options = extract_options(dataset, recipe);
    if (mx_dataset_kind(dataset) == MX_PACKED_FEATURES) return 0;
    return mx_extract_bytes(&options);
}

static int measure_open(struct measure *m)
{
    int rc = 0;
    const struct mx_extract_options options = extract_options(m->dataset, m->recipe);
    const int64_t longest = options.samples_max;
    const size_t frames = (size_t)mx_recipe_frames_most(m->recipe, longest, 1);
    MX_TRY(mx_dataset_reader_create(m->dataset, &m->reader));
    if (mx_dataset_kind(m->dataset) == MX_PACKED_FEATURES) {
        MX_TRY(mx_feature_tensors_find(m->dataset, m->recipe, &m->tensors));
        return 0;
    }
    m->mel = mx_alloc(frames * ((size_t)m->recipe->bands + 2), sizeof *m->mel);
    if (m->mel == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    m->energy = m->mel + frames * (size_t)m->recipe->bands;
    m->pitch = m->energy + frames;
    MX_TRY(mx_extract_create(m->device, &options, &m->extract));
    MX_TRY(mx_stream_create(m->device, "measure", &m->stream));
out:
    return rc;
}

static void measure_close(struct measure *m)
{
    mx_progress_finish(m->progress);
    mx_stream_release(m->stream);
    mx_extract_destroy(m->extract);
    mx_dataset_reader_destroy(m->reader);
    mx_free(m->mel);
}

static int measure_add(struct measure *m, const float *mel, const float *energy, const float *pitch, size_t frames)
{
    int rc = 0;
    MX_TRY(mx_statistics_add(&m->of_mel, mel, frames * (size_t)m->recipe->bands));
    MX_TRY(mx_statistics_add(&m->of_energy, energy, frames));
    MX_TRY(mx_statistics_add_positive(&m->of_pitch, pitch, frames));
out:
    return rc;
}

static int measure_one(struct measure *m, uint32_t index)
{
    int rc = 0;
    struct mx_dataset_item item;
    struct mx_extract_features features;
    rc = mx_dataset_load(m->reader, index, &item);
    if (rc < 0 && item.reject != MX_REJECT_NONE) return 0; /* training leaves it out, too */
    if (rc < 0) return rc;
    if (m->extract == NULL)
        return measure_add(m, item.tensors[m->tensors.mel], item.tensors[m->tensors.energy],
                           item.tensors[m->tensors.pitch], item.frames);
    const int32_t offsets[] = {0, (int32_t)item.sample_count};
    const struct mx_extract_batch batch = {.audio = item.samples, .offsets = offsets, .count = 1};
    MX_TRY(mx_extract_submit(m->extract, m->stream, &batch, &features));
    MX_TRY(mx_extract_read(m->extract, m->stream, m->mel, m->energy, m->pitch));
    MX_TRY(measure_add(m, m->mel, m->energy, m->pitch, (size_t)features.frames.rows));
out:
    return rc;
}

int mx_normaliser_measure(struct mx_dataset *dataset, const struct mx_recipe *recipe, struct mx_device *device,
                          struct mx_normaliser *out)
{
    int rc = 0;
    struct measure m = {.dataset = dataset, .recipe = recipe, .device = device};
    uint32_t wanted = 0, seen = 0, taken = 0;
    const uint32_t count = mx_dataset_count(dataset);
    for (uint32_t i = 0; i < count; i++) wanted += !mx_dataset_utterance(dataset, i)->validation;
    const uint32_t most = wanted < MX_NORMALISER_UTTERANCES ? wanted : MX_NORMALISER_UTTERANCES;
    MX_TRY(measure_open(&m));
    MX_TRY(mx_progress_start(&(struct mx_progress_options){.title = "Measuring", .unit = "utterances", .total = most},
                             &m.progress));
    for (uint32_t i = 0; i < count; i++) {
        if (mx_dataset_utterance(dataset, i)->validation) continue;
        /* Number `taken` of `most` stands at place taken · wanted/most of all. */
        if (seen++ < (uint64_t)taken * wanted / most) continue;
        taken++;
        MX_TRY(measure_one(&m, i));
        mx_progress_add(m.progress, 1);
    }
    if (m.of_mel.count == 0)
        MX_RAISE(MX_ERR_DATA, "the log names the recordings and says why each is left out",
                 "no utterance of the training data can be used");
    *out = (struct mx_normaliser){.mel_mean = mx_statistics_mean(&m.of_mel),
                                  .mel_deviation = mx_statistics_deviation(&m.of_mel),
                                  .energy_mean = mx_statistics_mean(&m.of_energy),
                                  .energy_deviation = mx_statistics_deviation(&m.of_energy),
                                  .pitch_mean = mx_statistics_mean(&m.of_pitch),
                                  .pitch_deviation = mx_statistics_deviation(&m.of_pitch)};
out:
    measure_close(&m);
    return rc;
}

/* ---- applying ---- */

static void normalise(float *values, size_t count, double mean, double deviation)
{
    const float shift = (float)mean, factor = (float)(1 / deviation);
    for (size_t i = 0; i < count; i++) values[i] = (values[i] - shift) * factor;
}

void mx_normaliser_mel(const struct mx_normaliser *normaliser, float *values, size_t count)
{
    normalise(values, count, normaliser->mel_mean, normaliser->mel_deviation);
}

void mx_normaliser_energy(const struct mx_normaliser *normaliser, float *values, size_t count)
{
    normalise(values, count, normaliser->energy_mean, normaliser->energy_deviation);
}

void mx_normaliser_pitch(const struct mx_normaliser *normaliser, float *values, size_t count)
{
    const float shift = (float)normaliser->pitch_mean, factor = (float)(1 / normaliser->pitch_deviation);
    for (size_t i = 0; i < count; i++) values[i] = values[i] > 0 ? (values[i] - shift) * factor : 0;
}

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A small run for the tests of checkpoints.
 */
#include "support/checkpoint_rig.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "model/model_parameters.h"
#include "support/recording.h"

static const char *const speakers[] = {"ann", "بهار", "o'\"\\brien"};
static const char *const languages[] = {"en", "fa", ""};

static const struct mx_checkpoint_state example = {
    .seed = UINT64_MAX,
    .data_fingerprint = UINT64_C(0xFEDCBA9876543210),
    .config = "# resolved\nmodel:\n\tsize: \"tiny\"\ntext: 'سلام \\u0000'\n",
    .model = {.size = {"small-test", 12, 2, 1, 2, 20},
              .vocabulary = 6,
              .languages = 2,
              .bands = 5,
              .dropout = 0.1f,
              .recompute_blocks = true,
              .weights = {.mel = 1, .prior = 0.25f, .duration = 0.3f, .pitch = 0.7f, .energy = 0},
              .diagonal = 0.01f},
    .vocabulary = "{\"format\":\"myxtts-vocabulary\",\"version\":1,\"mode\":\"chars\",\"cleaner\":1,"
                  "\"languages\":[\"en\",\"fa\"],\"symbols\":[\" \",\"a\",\"b\",\"ʒ\"]}",
    .speakers = speakers,
    .speaker_count = 3,
    .speaker_languages = languages,
    .normaliser = {-5.123456789012345, 2.1, 1.0 / 3.0, 0.1, 187.3, 0x1.fffffffffffffp5},
    .recipe = "mx-mel-22k-80",
    .recipe_hash = "0123456789abcdef",
    .cleaner_version = 1,
    .audio_version = 1,
};

void checkpoint_rig_fill(struct checkpoint_rig *rig, uint64_t step)
{
    for (int group = 0; group < MX_CHECKPOINT_GROUPS; group++) {
        memset(rig->groups[group], 0, (size_t)rig->table->floats * sizeof(float));
        for (int i = 0; i < rig->table->count; i++) {
            const struct mx_parameter *const parameter = &rig->table->entries[i];
            const uint64_t stream = step * MX_CHECKPOINT_GROUPS + (uint64_t)group;
            for (int64_t k = 0; k < parameter->count; k++)
                rig->groups[group][parameter->at + k] = mx_rng_uniform(5, stream, (uint64_t)(parameter->at + k)) - 0.5f;
        }
        /* Numbers that a detour through text or arithmetic would change. */
        float *const odd = rig->groups[group] + rig->table->entries[0].at;
        odd[0] = -0.0f;
        odd[1] = 0x1p-149f;
        odd[2] = -FLT_MAX;
    }
    rig->state.step = step;
    rig->state.epoch = step / 7;
    rig->state.step_in_epoch = step % 7;
    rig->state.pass = 2 * step;
    rig->state.has_best = step > 2;
    rig->state.best = step > 2 ? 1.0 / (double)step : 0;
    rig->state.best_step = step > 2 ? step - 1 : 0;
    rig->metrics[0] = (struct mx_checkpoint_metric){"mel", 0.1 + (double)step};
    rig->metrics[1] = (struct mx_checkpoint_metric){"pitch", INFINITY};
    rig->metrics[2] = (struct mx_checkpoint_metric){"energy", 5e-324};
}

int checkpoint_rig_setup(void **state)
{
    struct checkpoint_rig *const rig = mx_alloc(1, sizeof *rig);
    if (rig == NULL) return -1;
    rig->folder = folder_make();
    rig->state = example;
    rig->state.metrics = rig->metrics;
    rig->state.metric_count = 3;
    rig->extras[0] = (struct mx_metadata){"guard", "seen 5, mean 0.25"};
    rig->extras[1] = (struct mx_metadata){"empty", ""};
    rig->state.extras = rig->extras;
    rig->state.extra_count = 2;
    if (mx_model_parameters_create(&rig->state.model, NULL, &rig->table) < 0) return -1;
    for (int group = 0; group < MX_CHECKPOINT_GROUPS; group++) {
        rig->groups[group] = mx_alloc((size_t)rig->table->floats, sizeof(float));
        if (rig->groups[group] == NULL) return -1;
    }
    checkpoint_rig_fill(rig, 0);
    *state = rig;
    return 0;
}

int checkpoint_rig_teardown(void **state)
{
    struct checkpoint_rig *const rig = *state;
    for (int group = 0; group < MX_CHECKPOINT_GROUPS; group++) mx_free(rig->groups[group]);
    mx_parameters_destroy(rig->table);
    folder_remove(rig->folder);
    mx_free(rig);
    return 0;
}

int checkpoint_rig_save(struct checkpoint_rig *rig, uint64_t step, const struct mx_checkpoint_keep *keep)
{
    struct mx_checkpoint_source source = {.table = rig->table};
    checkpoint_rig_fill(rig, step);
    for (int group = 0; group < MX_CHECKPOINT_GROUPS; group++) source.groups[group] = rig->groups[group];
    return mx_checkpoint_save(rig->folder, &rig->state, &source, 1, keep);
}

static bool same_bits(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

static bool model_same(const struct mx_model_config *a, const struct mx_model_config *b)
{
    return strcmp(a->size.name, b->size.name) == 0 && a->size.width == b->size.width &&
           a->size.heads == b->size.heads && a->size.encoder_blocks == b->size.encoder_blocks &&
           a->size.decoder_blocks == b->size.decoder_blocks && a->size.hidden == b->size.hidden &&
           a->vocabulary == b->vocabulary && a->languages == b->languages && a->bands == b->bands &&
           same_bits(a->dropout, b->dropout) && a->recompute_blocks == b->recompute_blocks &&
           same_bits(a->weights.mel, b->weights.mel) && same_bits(a->weights.prior, b->weights.prior) &&
           same_bits(a->weights.duration, b->weights.duration) && same_bits(a->weights.pitch, b->weights.pitch) &&
           same_bits(a->weights.energy, b->weights.energy) && same_bits(a->diagonal, b->diagonal);
}

static bool lists_same(const struct mx_checkpoint_state *a, const struct mx_checkpoint_state *b)
{
    bool same =
        a->metric_count == b->metric_count && a->extra_count == b->extra_count && a->speaker_count == b->speaker_count;
    for (size_t i = 0; same && i < a->metric_count; i++)
        same =
            strcmp(a->metrics[i].name, b->metrics[i].name) == 0 && same_bits(a->metrics[i].value, b->metrics[i].value);
    for (size_t i = 0; same && i < a->extra_count; i++)
        same = strcmp(a->extras[i].key, b->extras[i].key) == 0 && strcmp(a->extras[i].text, b->extras[i].text) == 0;
    same = same && a->speaker_languages != NULL && b->speaker_languages != NULL;
    for (size_t i = 0; same && i < a->speaker_count; i++)
        same = strcmp(a->speakers[i], b->speakers[i]) == 0 &&
               strcmp(a->speaker_languages[i], b->speaker_languages[i]) == 0;
    return same;
}

static bool state_same(const struct mx_checkpoint_state *a, const struct mx_checkpoint_state *b)
{
    return a->step == b->step && a->epoch == b->epoch && a->step_in_epoch == b->step_in_epoch && a->pass == b->pass &&
           a->seed == b->seed && a->data_fingerprint == b->data_fingerprint && a->has_best == b->has_best &&
           same_bits(a->best, b->best) && a->best_step == b->best_step && strcmp(a->config, b->config) == 0 &&
           model_same(&a->model, &b->model) && strcmp(a->vocabulary, b->vocabulary) == 0 &&
           memcmp(&a->normaliser, &b->normaliser, sizeof a->normaliser) == 0 && strcmp(a->recipe, b->recipe) == 0 &&
           strcmp(a->recipe_hash, b->recipe_hash) == 0 && a->cleaner_version == b->cleaner_version &&
           a->audio_version == b->audio_version && lists_same(a, b);
}

bool checkpoint_rig_is_whole(struct checkpoint_rig *rig, const struct mx_checkpoint *checkpoint)
{
    const struct mx_checkpoint_state *const state = mx_checkpoint_state(checkpoint);
    const size_t bytes = (size_t)rig->table->floats * sizeof(float);
    struct mx_checkpoint_target target = {{NULL}};
    struct mx_checkpoint_report report;
    bool whole = true;
    for (int group = 0; group < MX_CHECKPOINT_GROUPS; group++) {
        target.groups[group] = mx_alloc(1, bytes);
        if (target.groups[group] == NULL) abort();
        memset(target.groups[group], 0xA5, bytes);
    }
    checkpoint_rig_fill(rig, state->step);
    whole = mx_checkpoint_load(checkpoint, rig->table, &target, false, &report) == 0 && report.missing == 0 &&
            report.extra == 0 && report.misfits == 0 &&
            report.loaded == (size_t)rig->table->count * MX_CHECKPOINT_GROUPS && state_same(state, &rig->state);
    for (int group = 0; group < MX_CHECKPOINT_GROUPS; group++) {
        whole = whole && memcmp(target.groups[group], rig->groups[group], bytes) == 0;
        mx_free(target.groups[group]);
    }
    return whole;
}

char *checkpoint_rig_path(const struct checkpoint_rig *rig, uint64_t step)
{
    return mx_format("%s/step-%08" PRIu64 ".safetensors", rig->folder, step);
}

bool checkpoint_rig_exists(const struct checkpoint_rig *rig, const char *name)
{
    char *const path = mx_format("%s/%s", rig->folder, name);
    const bool there = access(path, F_OK) == 0;
    mx_free(path);
    return there;
}

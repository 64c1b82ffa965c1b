/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A run folder with a voice of random weights, see voice_rig.h.
 */
#include "support/voice_rig.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "checkpoint/checkpoint.h"
#include "corpus/audio/audio.h"
#include "model/model_parameters.h"
#include "text/vocabulary.h"
#include "vocoder/vocoder.h"

#define FRAMES_OF 3 /* of a token */

static const struct mx_model_size size = {"test", 32, 2, 1, 1, 64};
static const struct mx_vocoder_size vocoder_size = {"test", 16, 1, 32};
static const char *const speakers[] = {"ann", "bob"};

static char *vocabulary_make(size_t *count)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz' ,.!?;:-";
    uint32_t symbols[sizeof letters - 1];
    struct mx_vocabulary *vocabulary;
    char *json;
    for (size_t i = 0; i + 1 < sizeof letters; i++) symbols[i] = (unsigned char)letters[i];
    assert_int_equal(mx_vocabulary_create(MX_TOKENS_CHARS, &vocabulary), 0);
    assert_int_equal(mx_vocabulary_add(vocabulary, symbols, sizeof letters - 1), 0);
    assert_int_equal(mx_vocabulary_add_language(vocabulary, MX_LANGUAGE_EN), 0);
    assert_int_equal(mx_vocabulary_write(vocabulary, &json), 0);
    *count = mx_vocabulary_size(vocabulary);
    mx_vocabulary_destroy(vocabulary);
    return json;
}

/* Random weights, also where training begins with 0, which would say the same of everything. */
static float *weights_make(const struct mx_parameters *table, uint64_t seed)
{
    float *const flat = mx_alloc((size_t)table->floats, sizeof *flat);
    assert_non_null(flat);
    mx_parameters_init(table, seed, flat);
    for (int i = 0; i < table->count; i++) {
        const struct mx_parameter *const p = &table->entries[i];
        if (p->init != MX_INIT_ZERO || p->rank < 2) continue;
        for (int64_t k = 0; k < p->count; k++) flat[p->at + k] = 0.05f * mx_rng_normal(seed, (uint64_t)i, (uint64_t)k);
    }
    const struct mx_parameter *const duration = mx_parameters_find(table, "predictor.duration.out.bias");
    if (duration != NULL) flat[duration->at] = logf(1 + FRAMES_OF);
    return flat;
}

char *voice_rig_make(const char *folder, const char *name, uint64_t seed, bool vocoder)
{
    char *const run = mx_format("%s/%s", folder, name), *const checkpoints =
                                                            mx_format("%s/%s/checkpoints", folder, name);
    char hash[MX_RECIPE_HASH_BYTES];
    size_t vocabulary_size;
    char *const vocabulary = vocabulary_make(&vocabulary_size);
    struct mx_checkpoint_source sources[2] = {0};
    struct mx_parameters *tables[2] = {0};
    struct mx_checkpoint_state state = {.step = 1,
                                        .config = "",
                                        .model = mx_model_config_default(&size, (int32_t)vocabulary_size, 1),
                                        .vocabulary = vocabulary,
                                        .speakers = speakers,
                                        .speaker_count = 2,
                                        .has_vocoder = vocoder,
                                        .normaliser = {.mel_mean = -5,
                                                       .mel_deviation = 2,
                                                       .energy_deviation = 1,
                                                       .pitch_mean = 120,
                                                       .pitch_deviation = 30},
                                        .recipe = MX_RECIPE_DEFAULT->name,
                                        .recipe_hash = mx_recipe_hash_text(MX_RECIPE_DEFAULT, hash),
                                        .cleaner_version = MX_TEXT_CLEANER_VERSION,
                                        .audio_version = MX_AUDIO_VERSION};
    assert_non_null(run);
    assert_non_null(checkpoints);
    state.vocoder = mx_vocoder_config_default(&vocoder_size, -5, 2);
    assert_int_equal(mx_model_parameters_create(&state.model, NULL, &tables[0]), 0);
    if (vocoder) assert_int_equal(mx_vocoder_parameters_create(&state.vocoder, &tables[1]), 0);
    for (int i = 0; i < 1 + vocoder; i++) {
        sources[i].table = tables[i];
        sources[i].groups[MX_CHECKPOINT_WEIGHTS] = weights_make(tables[i], seed + (uint64_t)i);
    }
    assert_int_equal(mkdir(run, 0777), 0);
    assert_int_equal(mkdir(checkpoints, 0777), 0);
    assert_int_equal(
        mx_checkpoint_save(checkpoints, &state, sources, 1 + (size_t)vocoder, &(struct mx_checkpoint_keep){0}), 0);
    for (int i = 0; i < 1 + vocoder; i++) {
        mx_free((void *)(uintptr_t)sources[i].groups[MX_CHECKPOINT_WEIGHTS]);
        mx_parameters_destroy(tables[i]);
    }
    mx_free(vocabulary);
    mx_free(checkpoints);
    return run;
}

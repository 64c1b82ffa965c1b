/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A voice in a file, see voice_rig.h.
 */
#include "support/voice_rig.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "checkpoint/checkpoint.h"
#include "corpus/audio.h"
#include "features/recipe.h"
#include "model/model_parameters.h"
#include "myxtts/error.h"
#include "support/recording.h"
#include "text/text.h"
#include "text/vocabulary.h"

static void must(int rc)
{
    if (rc < 0) fail_msg("%s (%s)", mx_error_last()->message, mx_error_last()->hint);
}

static char *vocabulary_make(int32_t *size)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz' ,.!?;:-";
    uint32_t symbols[sizeof letters - 1];
    struct mx_vocabulary *vocabulary;
    char *text;
    for (size_t i = 0; i + 1 < sizeof letters; i++) symbols[i] = (unsigned char)letters[i];
    must(mx_vocabulary_create(MX_TOKENS_CHARS, &vocabulary));
    must(mx_vocabulary_add(vocabulary, symbols, sizeof letters - 1));
    must(mx_vocabulary_add_language(vocabulary, MX_LANGUAGE_EN));
    must(mx_vocabulary_write(vocabulary, &text));
    *size = (int32_t)mx_vocabulary_size(vocabulary);
    mx_vocabulary_destroy(vocabulary);
    return text;
}

static float *weights_make(const struct mx_parameters *table, uint64_t seed)
{
    float *const flat = mx_alloc((size_t)table->floats, sizeof *flat);
    assert_non_null(flat);
    mx_parameters_init(table, seed, flat);
    flat[mx_parameters_find(table, "predictor.duration.out.bias")->at] = logf(1 + VOICE_RIG_FRAMES);
    /* The last layers begin as 0, which would say the same of everything. */
    for (int i = 0; i < table->count; i++) {
        const struct mx_parameter *const p = &table->entries[i];
        if (p->init != MX_INIT_ZERO || p->rank < 2) continue;
        for (int64_t k = 0; k < p->count; k++) flat[p->at + k] = 0.05f * mx_rng_normal(seed, (uint64_t)i, (uint64_t)k);
    }
    return flat;
}

char *voice_rig_make(uint64_t seed)
{
    static const struct mx_model_size size = {"test", 32, 2, 1, 1, 64};
    char hash[MX_RECIPE_HASH_BYTES];
    int32_t symbols;
    struct mx_parameters *table;
    char *const folder = folder_make(), *const vocabulary = vocabulary_make(&symbols);
    const struct mx_checkpoint_state state = {
        .step = 1,
        .config = "",
        .model = mx_model_config_default(&size, symbols, 1),
        .vocabulary = vocabulary,
        .normaliser =
            {.mel_mean = -5, .mel_deviation = 2, .energy_deviation = 1, .pitch_mean = 120, .pitch_deviation = 30},
        .recipe = mx_recipe_default.name,
        .recipe_hash = mx_recipe_hash_text(&mx_recipe_default, hash),
        .cleaner_version = MX_TEXT_CLEANER_VERSION,
        .audio_version = MX_AUDIO_VERSION,
    };
    must(mx_model_parameters_create(&state.model, NULL, &table));
    float *const flat = weights_make(table, seed);
    const struct mx_checkpoint_source source = {table, {flat, flat}};
    must(mx_checkpoint_save(folder, &state, &source, 1, &(struct mx_checkpoint_keep){.last = 1}));
    char *const path = mx_format("%s/step-00000001.safetensors", folder);
    assert_non_null(path);
    mx_free(flat);
    mx_parameters_destroy(table);
    mx_free(vocabulary);
    free(folder); /* made by strdup */
    return path;
}

void voice_rig_remove(char *path)
{
    *strrchr(path, '/') = '\0';
    folder_remove(strdup(path));
    mx_free(path);
}

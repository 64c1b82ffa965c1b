/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Vocoders from checkpoints: which one is taken, with which weights, and what is refused.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/log.h"
#include "myxtts/error.h"
#include "speech/runtime.h"
#include "support/checkpoint_rig.h"

struct fixture {
    struct checkpoint_rig *rig;
    struct mx_runtime runtime;
    struct mx_parameters *table;
    float *weights, *average;
    char hash[MX_RECIPE_HASH_BYTES];
};

static const struct mx_vocoder_size size = {.name = "test", .width = 16, .blocks = 2, .hidden = 24};

static void must(int rc)
{
    if (rc < 0) fail_msg("%s (%s)", mx_error_last()->message, mx_error_last()->hint);
}

static int setup(void **state)
{
    static struct fixture f;
    void *rig;
    const struct mx_log_options quiet = {.level = MX_LOG_SILENT};
    if (mx_log_configure(&quiet) < 0 || checkpoint_rig_setup(&rig) < 0) return -1;
    f = (struct fixture){.rig = rig};
    const struct mx_vocoder_config config = mx_vocoder_config_default(&size, 0, 1);
    must(mx_runtime_open(&f.runtime, NULL, 0, "test"));
    must(mx_vocoder_parameters_create(&config, &f.table));
    f.weights = mx_alloc((size_t)f.table->floats, sizeof *f.weights);
    f.average = mx_alloc((size_t)f.table->floats, sizeof *f.average);
    if (f.weights == NULL || f.average == NULL) return -1;
    mx_parameters_init(f.table, 1, f.weights);
    mx_parameters_init(f.table, 2, f.average);
    f.rig->state.recipe_hash = mx_recipe_hash_text(MX_RECIPE_DEFAULT, f.hash);
    f.rig->state.vocoder = config;
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *const f = *state;
    mx_free(f->average);
    mx_free(f->weights);
    mx_parameters_destroy(f->table);
    mx_runtime_close(&f->runtime);
    void *rig = f->rig;
    return checkpoint_rig_teardown(&rig);
}

/* A checkpoint with an acoustic network, a vocoder or both; its path is the caller's. */
static char *save(struct fixture *f, uint64_t step, bool acoustic, bool vocoder, bool averaged)
{
    struct mx_checkpoint_source sources[2];
    size_t count = 0;
    checkpoint_rig_fill(f->rig, step);
    if (acoustic)
        sources[count++] = (struct mx_checkpoint_source){f->rig->table, {f->rig->groups[0], f->rig->groups[1]}};
    if (vocoder) sources[count++] = (struct mx_checkpoint_source){f->table, {f->weights, averaged ? f->average : NULL}};
    f->rig->state.vocoder_alone = !acoustic;
    f->rig->state.has_vocoder = vocoder;
    must(mx_checkpoint_save(f->rig->folder, &f->rig->state, sources, count, &(struct mx_checkpoint_keep){.last = 20}));
    return checkpoint_rig_path(f->rig, step);
}

static void expect_weights(struct fixture *f, const struct mx_runtime_vocoder *vocoder, const float *wanted)
{
    const size_t bytes = (size_t)f->table->floats * sizeof(float);
    float *const got = mx_alloc(1, bytes);
    must(mx_copy_download(f->runtime.stream, got, mx_slice_at(vocoder->weights, 0), bytes));
    must(mx_stream_sync(f->runtime.stream));
    for (int i = 0; i < f->table->count; i++) {
        const struct mx_parameter *const p = &f->table->entries[i];
        assert_memory_equal(got + p->at, wanted + p->at, (size_t)p->count * sizeof *got);
    }
    mx_free(got);
}

static void takes_the_right_one(void **state)
{
    struct fixture *const f = *state;
    struct mx_runtime_vocoder vocoder = {0};
    struct mx_checkpoint *own;
    char *const alone = save(f, 1, false, true, true), *const plain = save(f, 2, false, true, false);
    char *const both = save(f, 3, true, true, true), *const old = save(f, 4, true, false, true);
    /* By name: a checkpoint, averaged or not, and a folder. */
    must(mx_runtime_vocoder_open(&vocoder, &f->runtime, alone, NULL));
    assert_true(vocoder.loaded && vocoder.config.size.width == size.width && vocoder.config.size.blocks == size.blocks);
    expect_weights(f, &vocoder, f->average);
    mx_runtime_vocoder_close(&vocoder);
    must(mx_runtime_vocoder_open(&vocoder, &f->runtime, plain, NULL));
    expect_weights(f, &vocoder, f->weights);
    mx_runtime_vocoder_close(&vocoder);
    /* That of the voice, unless another is named. */
    must(mx_checkpoint_open(both, NULL, &own));
    must(mx_runtime_vocoder_open(&vocoder, &f->runtime, NULL, own));
    expect_weights(f, &vocoder, f->average);
    mx_runtime_vocoder_close(&vocoder);
    must(mx_runtime_vocoder_open(&vocoder, &f->runtime, plain, own));
    expect_weights(f, &vocoder, f->weights);
    mx_runtime_vocoder_close(&vocoder);
    must(mx_runtime_vocoder_open(&vocoder, &f->runtime, MX_SOUND_GRIFFIN_LIM, own));
    assert_false(vocoder.loaded);
    mx_checkpoint_close(own);
    /* A voice without one speaks by Griffin–Lim, as before. */
    must(mx_checkpoint_open(old, NULL, &own));
    must(mx_runtime_vocoder_open(&vocoder, &f->runtime, NULL, own));
    assert_false(vocoder.loaded);
    mx_checkpoint_close(own);
    must(mx_runtime_vocoder_open(&vocoder, &f->runtime, NULL, NULL));
    assert_false(vocoder.loaded);
    mx_free(alone);
    mx_free(plain);
    mx_free(both);
    mx_free(old);
}

static void expect_refused(struct fixture *f, const char *name, int code, const char *word, const char *hint)
{
    struct mx_runtime_vocoder vocoder = {0};
    assert_int_equal(mx_runtime_vocoder_open(&vocoder, &f->runtime, name, NULL), code);
    assert_false(vocoder.loaded);
    if (strstr(mx_error_last()->message, word) == NULL || strstr(mx_error_last()->hint, hint) == NULL)
        fail_msg("'%s' (%s) lacks '%s' (%s)", mx_error_last()->message, mx_error_last()->hint, word, hint);
    mx_runtime_vocoder_close(&vocoder);
}

static void refusals(void **state)
{
    struct fixture *const f = *state;
    expect_refused(f, "no/such/run", MX_ERR_USAGE, "'no/such/run'", "griffin-lim");
    char *const old = save(f, 1, true, false, true);
    expect_refused(f, old, MX_ERR_DATA, "has no vocoder", "--part vocoder");
    const struct mx_parameter *const p = mx_parameters_find(f->table, "vocoder.block.1.up.bias");
    f->average[p->at + 3] = NAN;
    char *const sick = save(f, 2, false, true, true);
    expect_refused(f, sick, MX_ERR_DATA, "vocoder.block.1.up.bias", "older checkpoint");
    f->rig->state.recipe = "mx-mel-44k-128";
    f->rig->state.recipe_hash = "0123456789abcdef";
    char *const other = save(f, 3, false, true, true);
    expect_refused(f, other, MX_ERR_DATA, "mx-mel-44k-128", "");
    mx_free(old);
    mx_free(sick);
    mx_free(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(takes_the_right_one, setup, teardown),
        cmocka_unit_test_setup_teardown(refusals, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

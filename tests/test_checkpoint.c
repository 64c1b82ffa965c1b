/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One checkpoint: everything comes back bit for bit; what is cut off, damaged, forged or does not fit is refused, and
 * the reason named.
 */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "base/rng.h"
#include "checkpoint/internal.h"
#include "features/recipe.h"
#include "model/model_parameters.h"
#include "myxtts/error.h"
#include "support/checkpoint_rig.h"
#include "support/recording.h"
#include "vocoder/vocoder.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIMIT ((size_t)1 << 24)
#define STEP  1234
#define NAME  "step-00001234.safetensors"

static const struct mx_checkpoint_keep keep_all = {0};

/* Saves STEP and hands out the path (free it) and the bytes (if asked for; free them). */
static char *saved(struct checkpoint_rig *rig, char **data, size_t *bytes)
{
    char *const path = checkpoint_rig_path(rig, STEP);
    assert_int_equal(checkpoint_rig_save(rig, STEP, &keep_all), 0);
    if (data != NULL) assert_int_equal(mx_file_read(path, LIMIT, data, bytes), 0);
    return path;
}

static void refused(const char *path, int code, const char *why)
{
    struct mx_checkpoint *checkpoint = NULL;
    assert_int_equal(mx_checkpoint_open(path, NULL, &checkpoint), code);
    assert_null(checkpoint);
    if (strstr(mx_error_last()->message, why) == NULL)
        fail_msg("expected \"%s\" in: %s", why, mx_error_last()->message);
    assert_string_not_equal(mx_error_last()->hint, "");
}

/* ---- the whole way ---- */

static void comes_back_bit_for_bit(void **state)
{
    struct checkpoint_rig *const rig = *state;
    struct mx_checkpoint *checkpoint = NULL;
    char *const path = saved(rig, NULL, NULL);
    assert_int_equal(mx_checkpoint_open(path, NULL, &checkpoint), 0);
    assert_string_equal(mx_checkpoint_path(checkpoint), path);
    assert_true(checkpoint_rig_is_whole(rig, checkpoint));
    assert_int_equal(mx_checkpoint_state(checkpoint)->step, STEP);
    assert_string_equal(mx_checkpoint_extra(mx_checkpoint_state(checkpoint), "guard"), "seen 5, mean 0.25");
    assert_null(mx_checkpoint_extra(mx_checkpoint_state(checkpoint), "nothing"));
    mx_checkpoint_close(checkpoint);
    mx_free(path);
}

/* A new member of the model's configuration must be saved too: give it a line in checkpoint/state.c and in the rig, then
 * change the number. */
static void knows_all_of_the_model(void **state)
{
    (void)state;
    assert_int_equal(sizeof(struct mx_model_config), 96); /* `learning` is how a run trains, not what it is */
    assert_int_equal(sizeof(struct mx_normaliser), 48);
}

static void same_state_same_bytes(void **state)
{
    struct checkpoint_rig *const rig = *state;
    char *first, *second;
    size_t first_bytes, second_bytes;
    char *const path = saved(rig, &first, &first_bytes);
    mx_free(saved(rig, &second, &second_bytes));
    assert_int_equal(first_bytes, second_bytes);
    assert_memory_equal(first, second, first_bytes);
    mx_free(first);
    mx_free(second);
    mx_free(path);
}

/* Python's safetensors sorts tensors and shuffles metadata. */
static void order_does_not_matter(void **state)
{
    struct checkpoint_rig *const rig = *state;
    struct mx_safetensors *file = NULL;
    struct mx_checkpoint *checkpoint = NULL;
    char *const path = saved(rig, NULL, NULL);
    char *const other = mx_format("%s/other.safetensors", rig->folder);
    assert_int_equal(mx_safetensors_open(path, &file), 0);
    const size_t count = mx_safetensors_count(file), texts = mx_safetensors_metadata_count(file);
    struct mx_tensor *const tensors = mx_alloc(count, sizeof *tensors);
    struct mx_metadata *const metadata = mx_alloc(texts, sizeof *metadata);
    for (size_t i = 0; i < count; i++) tensors[i] = *mx_safetensors_at(file, count - 1 - i);
    /* The lists of the trainer stay in their order, which is theirs to look at. */
    for (size_t i = 0; i < texts; i++) metadata[i] = *mx_safetensors_metadata_at(file, (i + texts - 1) % texts);
    assert_int_equal(mx_safetensors_write(other, tensors, count, metadata, texts), 0);
    assert_int_equal(mx_checkpoint_open(other, NULL, &checkpoint), 0);
    assert_true(checkpoint_rig_is_whole(rig, checkpoint));
    mx_checkpoint_close(checkpoint);
    mx_safetensors_close(file);
    mx_free(tensors);
    mx_free(metadata);
    mx_free(other);
    mx_free(path);
}

/* ---- damage ---- */

static void cut_off_is_refused(void **state)
{
    struct checkpoint_rig *const rig = *state;
    char *data;
    size_t bytes;
    char *const path = saved(rig, &data, &bytes);
    for (size_t i = 0; i < 200; i++) {
        const size_t length = i < 20 ? i : i == 20 ? bytes - 1 : (size_t)mx_rng_below(1, 1, i, bytes);
        file_put(rig->folder, NAME, data, length);
        refused(path, MX_ERR_FORMAT, NAME);
    }
    mx_free(data);
    mx_free(path);
}

static void one_more_byte_is_refused(void **state)
{
    struct checkpoint_rig *const rig = *state;
    char *data;
    size_t bytes;
    char *const path = saved(rig, &data, &bytes);
    file_put(rig->folder, NAME, data, bytes + 1); /* mx_file_read put a zero there */
    refused(path, MX_ERR_FORMAT, "belongs to no tensor");
    mx_free(data);
    mx_free(path);
}

/* One bit anywhere. A few bits of the header change nothing that it says (the case of a digit in \u000a); then, and
 * only then, the file may be taken, and everything in it must be right. */
static void flipped_bit_is_refused(void **state)
{
    struct checkpoint_rig *const rig = *state;
    struct mx_checkpoint *checkpoint;
    char *data;
    size_t bytes, taken = 0;
    char *const path = saved(rig, &data, &bytes);
    const size_t head = 8 + ((size_t)(uint8_t)data[0] | (size_t)(uint8_t)data[1] << 8 | (size_t)(uint8_t)data[2] << 16);
    for (uint64_t i = 0; i < 1500; i++) {
        const size_t at = (size_t)(i < 64       ? i / 8
                                   : i % 2 == 0 ? mx_rng_below(2, 1, i, head)
                                                : head + mx_rng_below(2, 2, i, bytes - head));
        const int bit = (int)(i < 64 ? i % 8 : mx_rng_below(2, 3, i, 8));
        data[at] = (char)(data[at] ^ 1 << bit);
        file_put(rig->folder, NAME, data, bytes);
        if (mx_checkpoint_open(path, NULL, &checkpoint) == 0) {
            taken++;
            assert_true(at < head);
            assert_true(checkpoint_rig_is_whole(rig, checkpoint));
            mx_checkpoint_close(checkpoint);
        } else {
            assert_int_equal(mx_error_last()->code, MX_ERR_FORMAT);
            assert_non_null(strstr(mx_error_last()->message, NAME));
        }
        data[at] = (char)(data[at] ^ 1 << bit);
    }
    assert_in_range(taken, 0, 20);
    mx_free(data);
    mx_free(path);
}

/* ---- forgery: the hash is right, the words are not ---- */

/* Replaces the text of a key (NULL: leaves it out) and writes the file again with a hash that fits. */
static void forge(const char *path, const char *key, const char *text)
{
    struct mx_safetensors *file = NULL;
    uint64_t sum = 0;
    char hash[MX_CHECKPOINT_HASH_BYTES];
    assert_int_equal(mx_safetensors_open(path, &file), 0);
    const size_t count = mx_safetensors_count(file), texts = mx_safetensors_metadata_count(file);
    struct mx_tensor *const tensors = mx_alloc(count, sizeof *tensors);
    struct mx_metadata *const metadata = mx_alloc(texts, sizeof *metadata);
    size_t used = 0;
    bool found = false;
    for (size_t i = 0; i < count; i++) {
        tensors[i] = *mx_safetensors_at(file, i);
        sum += mx_checkpoint_hash(&tensors[i]);
    }
    for (size_t i = 0; i < texts; i++) {
        metadata[used] = *mx_safetensors_metadata_at(file, i);
        if (strcmp(metadata[used].key, "hash") == 0) continue;
        if (strcmp(metadata[used].key, key) == 0) {
            found = true;
            if (text == NULL) continue;
            metadata[used].text = text;
        }
        sum += mx_checkpoint_hash_text(&metadata[used++]);
    }
    assert_true(found);
    mx_checkpoint_hash_format(sum, hash);
    metadata[used++] = (struct mx_metadata){"hash", hash};
    assert_int_equal(mx_safetensors_write(path, tensors, count, metadata, used), 0);
    mx_safetensors_close(file);
    mx_free(tensors);
    mx_free(metadata);
}

static void hostile_is_refused(void **state)
{
    static const struct {
        const char *key, *text, *why;
    } cases[] = {
        {"format", "something-else", "no checkpoint"},
        {"format", NULL, "no checkpoint"},
        {"version", "2", "another version"},
        {"version", NULL, "another version"},
        {"step", NULL, "'step' is missing"},
        {"step", "", "'step' is not"},
        {"step", "-1", "'step' is not"},
        {"step", "007", "'step' is not"},
        {"step", "18446744073709551616", "'step' is not"},
        {"epoch", "1.0", "'epoch' is not"},
        {"step", "9223372036854775808", "no run can be so far"},
        {"epoch", "4294967296", "no run can be so far"},
        {"step_in_epoch", "4294967296", "no run can be so far"},
        {"has_best", "yes", "'has_best' is not"},
        {"has_best", "false", "the best value is impossible"},
        {"best", ".nan", "the best value is impossible"},
        {"best", "0.5x", "'best' is not"},
        {"best_step", "1235", "of a step that was not made yet"},
        {"model.width", "2147483648", "'model.width' is not"},
        {"model.width", "0", "width is 0"},
        {"model.heads", "5", "5 heads"},
        {"model.encoder_blocks", "65", "encoder_blocks is 65"},
        {"model.dropout", "1", "dropout is 1"},
        {"model.dropout", "0.1", "'model.dropout' is not"}, /* no float */
        {"model.weight.mel", ".inf", "weight of the mel loss"},
        {"model.vocabulary", "7", "another number of tokens"},
        {"model.languages", "1", "more languages than the model"},
        {"vocabulary", "{", "vocabulary"},
        {"vocabulary", "[]", "vocabulary"},
        {"speakers", "{}", "'speakers' is no JSON list"},
        {"speakers", "[\"a\",1]", "'speakers' has an element that is no text"},
        {"speakers", "[\"a\"] x", "'speakers' is no JSON list"},
        {"speakers", NULL, "'speakers' is missing"},
        {"speaker_languages", "\"en\"", "'speaker_languages' is no JSON list"},
        {"speaker_languages", "[\"en\",\"fa\",null]", "'speaker_languages' has an element that is no text"},
        {"speaker_languages", "[\"en\"]", "'speaker_languages' is not as long as"},
        {"normaliser.mel_deviation", "0.0", "a mean or deviation"},
        {"normaliser.pitch_mean", ".nan", "a mean or deviation"},
        {"recipe_hash", "0123", "the hash of the recipe"},
        {"recipe_hash", "0123456789ABCDEF", "the hash of the recipe"},
        {"metric.mel", "good", "'metric.mel' is no number"},
    };
    struct checkpoint_rig *const rig = *state;
    char *data;
    size_t bytes;
    char *const path = saved(rig, &data, &bytes);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        file_put(rig->folder, NAME, data, bytes);
        forge(path, cases[i].key, cases[i].text);
        refused(path, MX_ERR_FORMAT, cases[i].why);
    }
    /* Forging itself changes nothing: with the text that was there, the file is taken. */
    file_put(rig->folder, NAME, data, bytes);
    forge(path, "step", "1234");
    struct mx_checkpoint *checkpoint = NULL;
    assert_int_equal(mx_checkpoint_open(path, NULL, &checkpoint), 0);
    mx_checkpoint_close(checkpoint);
    /* A run from before a loss was added had no weight for it: it counted nothing. */
    file_put(rig->folder, NAME, data, bytes);
    forge(path, "model.weight.prior", NULL);
    checkpoint = NULL;
    assert_int_equal(mx_checkpoint_open(path, NULL, &checkpoint), 0);
    assert_true(mx_checkpoint_state(checkpoint)->model.weights.prior == 0);
    assert_true(mx_checkpoint_state(checkpoint)->model.weights.mel == 1);
    mx_checkpoint_close(checkpoint);
    /* One from before the languages of speakers were stored: nobody knows them. */
    file_put(rig->folder, NAME, data, bytes);
    forge(path, "speaker_languages", NULL);
    checkpoint = NULL;
    assert_int_equal(mx_checkpoint_open(path, NULL, &checkpoint), 0);
    assert_null(mx_checkpoint_state(checkpoint)->speaker_languages);
    assert_null(mx_checkpoint_speaker_language(mx_checkpoint_state(checkpoint), 0));
    mx_checkpoint_close(checkpoint);
    mx_free(data);
    mx_free(path);
}

/* Whose features the network knows is asked before it is used. */
static void another_recipe_is_refused(void **state)
{
    struct checkpoint_rig *const rig = *state;
    struct mx_checkpoint *checkpoint = NULL;
    char hash[MX_RECIPE_HASH_BYTES];
    char *data;
    size_t bytes;
    char *const path = saved(rig, &data, &bytes);
    assert_int_equal(mx_checkpoint_open(path, NULL, &checkpoint), 0);
    assert_int_equal(mx_checkpoint_recipe_check(checkpoint), MX_ERR_DATA);
    assert_non_null(strstr(mx_error_last()->message, "features of a recipe that this version does not know"));
    mx_checkpoint_close(checkpoint);
    forge(path, "recipe_hash", mx_recipe_hash_text(MX_RECIPE_DEFAULT, hash));
    assert_int_equal(mx_checkpoint_open(path, NULL, &checkpoint), 0);
    assert_int_equal(mx_checkpoint_recipe_check(checkpoint), 0);
    mx_checkpoint_close(checkpoint);
    mx_free(data);
    mx_free(path);
}

static void other_files(void **state)
{
    struct checkpoint_rig *const rig = *state;
    struct mx_checkpoint *checkpoint = NULL;
    const float number = 1;
    const struct mx_tensor tensor = {.name = "x", .dtype = MX_DTYPE_F32, .rank = 0, .data = &number};
    char *const path = mx_format("%s/foreign.safetensors", rig->folder);
    refused(path, MX_ERR_NOT_FOUND, "foreign.safetensors");
    assert_int_equal(mx_safetensors_write(path, &tensor, 1, NULL, 0), 0);
    refused(path, MX_ERR_FORMAT, "no checkpoint");
    assert_int_equal(mx_checkpoint_open(path, &(struct mx_checkpoint_options){.foreign = true}, &checkpoint), 0);
    assert_null(mx_checkpoint_state(checkpoint));
    assert_int_equal(mx_safetensors_count(mx_checkpoint_tensors(checkpoint)), 1);
    mx_checkpoint_close(checkpoint);
    /* Whatever calls itself a checkpoint must be one, foreign or not. */
    checkpoint = NULL;
    const struct mx_metadata pretence = {"format", MX_CHECKPOINT_FORMAT};
    assert_int_equal(mx_safetensors_write(path, &tensor, 1, &pretence, 1), 0);
    assert_int_equal(mx_checkpoint_open(path, &(struct mx_checkpoint_options){.foreign = true}, &checkpoint),
                     MX_ERR_FORMAT);
    assert_null(checkpoint);
    mx_free(path);
}

static void impossible_states_are_not_saved(void **state)
{
    struct checkpoint_rig *const rig = *state;
    const struct mx_checkpoint_state good = rig->state;
    const struct mx_checkpoint_source nothing = {rig->table, {NULL}};
    rig->state.config = NULL;
    assert_int_equal(checkpoint_rig_save(rig, STEP, &keep_all), MX_ERR_ARGUMENT);
    assert_non_null(strstr(mx_error_last()->message, "'config'"));
    rig->state = good;
    rig->state.normaliser.mel_deviation = NAN;
    assert_int_equal(checkpoint_rig_save(rig, STEP, &keep_all), MX_ERR_ARGUMENT);
    rig->state = good;
    rig->state.config = "caf\xe9";
    assert_int_equal(checkpoint_rig_save(rig, STEP, &keep_all), MX_ERR_ARGUMENT);
    rig->state = good;
    rig->extras[1].key = "guard"; /* twice */
    assert_int_equal(checkpoint_rig_save(rig, STEP, &keep_all), MX_ERR_ARGUMENT);
    rig->extras[1].text = NULL;
    assert_int_equal(checkpoint_rig_save(rig, STEP, &keep_all), MX_ERR_ARGUMENT);
    assert_int_equal(mx_checkpoint_save(rig->folder, &good, &nothing, 1, &keep_all), MX_ERR_ARGUMENT);
    assert_false(checkpoint_rig_exists(rig, NAME));
}

/* ---- a model that is not the one ---- */

/* What loading logs, in a file of its own. */
static char *load_logged(const struct mx_checkpoint *checkpoint, const struct mx_parameters *table,
                         const struct mx_checkpoint_target *target, bool partial, struct mx_checkpoint_report *report,
                         int expected)
{
    char *text = NULL;
    size_t length = 0;
    FILE *const stream = open_memstream(&text, &length);
    assert_int_equal(mx_log_configure(&(struct mx_log_options){.level = MX_LOG_INFO, .stream = stream}), 0);
    assert_int_equal(mx_checkpoint_load(checkpoint, table, target, partial, report), expected);
    fclose(stream);
    assert_int_equal(mx_log_configure(&(struct mx_log_options){.level = MX_LOG_SILENT}), 0);
    return text;
}

static size_t lines_with(const char *text, const char *what)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, what)) != NULL; at++) count++;
    return count;
}

static void other_model_is_listed_and_refused(void **state)
{
    struct checkpoint_rig *const rig = *state;
    struct mx_checkpoint *checkpoint = NULL;
    struct mx_parameters *other = NULL;
    struct mx_checkpoint_report report;
    char *const path = saved(rig, NULL, NULL);
    assert_int_equal(mx_checkpoint_open(path, NULL, &checkpoint), 0);
    struct mx_model_config config = rig->state.model;
    config.vocabulary = 9;          /* one tensor of another shape */
    config.size.encoder_blocks = 2; /* 12 that are missing */
    config.size.decoder_blocks = 1; /* 12 that the model does not have, in 4 groups */
    assert_int_equal(mx_model_parameters_create(&config, NULL, &other), 0);
    const size_t bytes = (size_t)other->floats * sizeof(float);
    float *const into = mx_alloc(1, bytes), *const before = mx_alloc(1, bytes);
    for (int64_t i = 0; i < other->floats; i++) into[i] = before[i] = (float)i;
    const struct mx_checkpoint_target target = {{[MX_CHECKPOINT_AVERAGE] = into}};

    char *text = load_logged(checkpoint, other, &target, false, &report, MX_ERR_DATA);
    assert_memory_equal(into, before, bytes);
    assert_int_equal(report.loaded, 0);
    assert_int_equal(report.missing, 12);
    assert_int_equal(report.misfits, 1);
    assert_int_equal(report.extra, 48);
    assert_int_equal(lines_with(text, "missing from the file: ema.encoder.block.1."), 12);
    assert_int_equal(lines_with(text, "not in the model: '"), 48);
    assert_non_null(strstr(text, "not in the model: 'moment2.decoder.block.1.feed_forward.up.weight' [3, 12, 20]"));
    assert_non_null(strstr(text, "of another shape: ema.encoder.token.weight is F32 [6, 12] in the file, F32 [9, 12]"));
    assert_non_null(strstr(mx_error_last()->message, "12 tensors missing, 1 of another shape, 48 not in the model"));
    assert_non_null(strstr(mx_error_last()->hint, "--partial"));
    free(text);

    text = load_logged(checkpoint, other, &target, true, &report, 0);
    assert_int_equal(lines_with(text, "missing from the file: ema.encoder.block.1."), 12);
    assert_int_equal(report.loaded, (size_t)other->count - 13);
    for (int i = 0; i < other->count; i++) {
        const struct mx_parameter *const now = &other->entries[i], *const then =
                                                                       mx_parameters_find(rig->table, now->name);
        const bool fits = then != NULL && then->count == now->count;
        assert_memory_equal(into + now->at, fits ? rig->groups[MX_CHECKPOINT_AVERAGE] + then->at : before + now->at,
                            (size_t)now->count * sizeof(float));
    }
    free(text);
    mx_parameters_destroy(other);
    mx_free(into);
    mx_free(before);
    mx_checkpoint_close(checkpoint);
    mx_free(path);
}

/* Weights alone are enough to begin from, not to go on from. */
static void weights_alone(void **state)
{
    struct checkpoint_rig *const rig = *state;
    struct mx_checkpoint *checkpoint = NULL;
    struct mx_checkpoint_report report;
    checkpoint_rig_fill(rig, STEP);
    const struct mx_checkpoint_source source = {rig->table, {rig->groups[0]}};
    char *const path = checkpoint_rig_path(rig, STEP);
    assert_int_equal(mx_checkpoint_save(rig->folder, &rig->state, &source, 1, &keep_all), 0);
    assert_int_equal(mx_checkpoint_open(path, NULL, &checkpoint), 0);
    assert_true(mx_checkpoint_has(checkpoint, MX_CHECKPOINT_ACOUSTIC, MX_CHECKPOINT_WEIGHTS));
    assert_false(mx_checkpoint_has(checkpoint, MX_CHECKPOINT_ACOUSTIC, MX_CHECKPOINT_AVERAGE));
    const size_t bytes = (size_t)rig->table->floats * sizeof(float);
    float *const into = mx_alloc(1, bytes);
    const struct mx_checkpoint_target target = {{into}}, resume = {{into, rig->groups[1], NULL, NULL}};
    assert_int_equal(mx_checkpoint_load(checkpoint, rig->table, &target, false, NULL), 0);
    assert_memory_equal(into, rig->groups[0], bytes);
    char *const text = load_logged(checkpoint, rig->table, &resume, false, &report, MX_ERR_DATA);
    assert_non_null(strstr(text, "missing from the file: all tensors ema.*"));
    assert_int_equal(report.missing, (size_t)rig->table->count);
    free(text);
    mx_free(into);
    mx_checkpoint_close(checkpoint);
    mx_free(path);
}

/* ---- a vocoder ---- */

static const struct mx_vocoder_size tiny = {"tiny", 8, 2, 12};

/* Both networks in one file, or the vocoder alone: each is loaded by its own table, and neither is in the other's way. */
static void a_vocoder_beside_it(void **state)
{
    struct checkpoint_rig *const rig = *state;
    struct mx_vocoder_config config = mx_vocoder_config_default(&tiny, 0, 1);
    struct mx_parameters *table = NULL;
    config.weights.pitch = 0.125f;
    assert_int_equal(mx_vocoder_parameters_create(&config, &table), 0);
    const size_t bytes = (size_t)table->floats * sizeof(float), acoustic = (size_t)rig->table->floats * sizeof(float);
    float *const flat = mx_alloc(2, bytes), *const into = mx_alloc(1, bytes > acoustic ? bytes : acoustic);
    for (int64_t i = 0; i < 2 * table->floats; i++) flat[i] = (float)i;
    char *const path = checkpoint_rig_path(rig, STEP);
    for (int alone = 0; alone < 2; alone++) {
        struct mx_checkpoint *checkpoint = NULL;
        checkpoint_rig_fill(rig, STEP);
        rig->state.has_vocoder = true;
        rig->state.vocoder_alone = alone == 1;
        rig->state.vocoder = config;
        if (alone == 1) rig->state.vocabulary = NULL;
        const struct mx_checkpoint_source sources[2] = {
            {rig->table, {rig->groups[0], rig->groups[1], rig->groups[2], rig->groups[3]}},
            {table, {flat, alone == 1 ? NULL : flat + table->floats}}};
        const size_t first = alone == 1;
        assert_int_equal(mx_checkpoint_save(rig->folder, &rig->state, sources + first, 2 - first, &keep_all), 0);
        assert_int_equal(mx_checkpoint_open(path, NULL, &checkpoint), 0);
        const struct mx_checkpoint_state *const read = mx_checkpoint_state(checkpoint);
        assert_true(read->has_vocoder && read->vocoder_alone == (alone == 1));
        assert_string_equal(read->vocoder.size.name, "tiny");
        assert_int_equal(read->vocoder.size.hidden, 12);
        assert_true(read->vocoder.weights.pitch == 0.125f);
        assert_true(read->vocoder.mel_deviation == (float)rig->state.normaliser.mel_deviation);
        assert_int_equal(mx_checkpoint_has(checkpoint, MX_CHECKPOINT_ACOUSTIC, MX_CHECKPOINT_WEIGHTS), alone == 0);
        assert_int_equal(mx_checkpoint_has(checkpoint, MX_CHECKPOINT_VOCODER, MX_CHECKPOINT_AVERAGE), alone == 0);
        assert_int_equal(mx_checkpoint_load_average(checkpoint, table, into), 0);
        const float *const wanted = alone == 1 ? flat : flat + table->floats;
        for (int i = 0; i < table->count; i++)
            assert_memory_equal(into + table->entries[i].at, wanted + table->entries[i].at,
                                (size_t)table->entries[i].count * sizeof(float));
        const struct mx_checkpoint_target target = {{into}};
        if (alone == 0) {
            memset(into, 0, acoustic);
            assert_int_equal(mx_checkpoint_load(checkpoint, rig->table, &target, false, NULL), 0);
            assert_memory_equal(into, rig->groups[0], acoustic);
        } else {
            free(load_logged(checkpoint, rig->table, &target, false, NULL, MX_ERR_DATA));
        }
        /* The rig's recipe is not the program's. */
        assert_int_equal(mx_checkpoint_vocoder_check(checkpoint), MX_ERR_DATA);
        assert_non_null(strstr(mx_error_last()->message, "does not know (mx-mel-22k-80)"));
        mx_checkpoint_close(checkpoint);
    }
    rig->state.has_vocoder = false;
    assert_int_equal(mx_checkpoint_save(rig->folder, &rig->state,
                                        &(struct mx_checkpoint_source){rig->table, {rig->groups[0]}}, 1, &keep_all),
                     MX_ERR_ARGUMENT);
    mx_free(path);
    mx_free(into);
    mx_free(flat);
    mx_parameters_destroy(table);
}

/* ---- no memory ---- */

static void no_memory_is_survived(void **state)
{
    struct checkpoint_rig *const rig = *state;
    struct mx_checkpoint *checkpoint = NULL;
    char *const path = saved(rig, NULL, NULL);
    int rc = MX_ERR_NO_MEMORY;
    for (uint64_t nth = 1; rc != 0; nth++) {
        mx_alloc_fail_at(nth);
        rc = mx_checkpoint_open(path, NULL, &checkpoint);
        mx_alloc_fail_at(0);
        assert_true(rc == 0 || rc == MX_ERR_NO_MEMORY);
    }
    mx_checkpoint_close(checkpoint);
    rc = MX_ERR_NO_MEMORY;
    for (uint64_t nth = 1; rc != 0; nth++) {
        mx_alloc_fail_at(nth);
        rc = checkpoint_rig_save(rig, STEP + 1, &(struct mx_checkpoint_keep){.last = 1, .best = true});
        mx_alloc_fail_at(0);
        assert_true(rc == 0 || rc == MX_ERR_NO_MEMORY);
        assert_int_equal(mx_checkpoint_open(rig->folder, NULL, &checkpoint), 0);
        assert_true(checkpoint_rig_is_whole(rig, checkpoint));
        mx_checkpoint_close(checkpoint);
    }
    mx_free(path);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, checkpoint_rig_setup, checkpoint_rig_teardown)
    const struct CMUnitTest tests[] = {
        TEST(comes_back_bit_for_bit),
        TEST(knows_all_of_the_model),
        TEST(same_state_same_bytes),
        TEST(order_does_not_matter),
        TEST(cut_off_is_refused),
        TEST(one_more_byte_is_refused),
        TEST(flipped_bit_is_refused),
        TEST(hostile_is_refused),
        TEST(another_recipe_is_refused),
        TEST(other_files),
        TEST(impossible_states_are_not_saved),
        TEST(other_model_is_listed_and_refused),
        TEST(weights_alone),
        TEST(a_vocoder_beside_it),
        TEST(no_memory_is_survived),
    };
    mx_log_configure(&(struct mx_log_options){.level = MX_LOG_SILENT});
    return cmocka_run_group_tests(tests, NULL, NULL);
}

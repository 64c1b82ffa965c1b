/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Voice files: what speaking needs comes back, in fp32 bit for bit and in bf16 rounded to the nearest; from memory too.
 * What is cut off, damaged or forged is refused.
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
#include "base/string.h"
#include "checkpoint/internal.h"
#include "checkpoint/voice_file.h"
#include "myxtts/error.h"
#include "support/checkpoint_rig.h"
#include "support/recording.h"
#include "vocoder/vocoder.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIMIT ((size_t)1 << 24)
#define NAME  "ann.voice.safetensors"
#define WIDTH 12 /* of the network of the rig */

static const float first[WIDTH] = {0.1f, -0.2f, 0x1p-149f, 3, 4, 5, 6, 7, 8, 9, 10, 11};
static const float third[WIDTH] = {-1, -2, -3, 0.3f, 0, -0.0f, 1e-30f, 1e30f, 0, 0, 0, 1};
static const float *const vectors[] = {first, NULL, third}; /* the second speaker has none */

/* A voice of the rig's average. */
struct voice {
    struct mx_checkpoint_state state;
    struct mx_checkpoint_voice file;
    char *path;
};

static struct voice voice_make(struct checkpoint_rig *rig, enum mx_dtype precision)
{
    struct voice v = {.path = mx_format("%s/" NAME, rig->folder)};
    checkpoint_rig_fill(rig, 7);
    float *const weights = rig->groups[MX_CHECKPOINT_AVERAGE];
    weights[rig->table->entries[0].at + 2] = -0.3f; /* instead of one that bf16 cannot hold */
    v.state = rig->state;
    v.state.voice = true;
    v.state.voice_name = "Ann of \"the\" house";
    v.state.voice_licence = "CC-BY-4.0";
    v.state.voice_attribution = "نام";
    v.state.metric_count = v.state.extra_count = 0;
    v.state.has_best = false;
    v.state.best = 0;
    v.state.best_step = 0;
    v.file = (struct mx_checkpoint_voice){.acoustic = {.table = rig->table, .weights = weights},
                                          .vectors = vectors,
                                          .vector_count = 3,
                                          .precision = precision};
    return v;
}

static int voice_write(struct voice *v)
{
    v->file.state = &v->state;
    return mx_checkpoint_voice_write(v->path, &v->file);
}

static struct voice written(struct checkpoint_rig *rig, enum mx_dtype precision)
{
    struct voice v = voice_make(rig, precision);
    assert_int_equal(voice_write(&v), 0);
    return v;
}

static void refused(const char *path, const char *why)
{
    struct mx_checkpoint *checkpoint = NULL;
    const struct mx_checkpoint_options any = {.foreign = true}; /* a voice is never taken for some other file */
    assert_int_equal(mx_checkpoint_open(path, &any, &checkpoint), MX_ERR_FORMAT);
    assert_null(checkpoint);
    if (strstr(mx_error_last()->message, why) == NULL)
        fail_msg("expected \"%s\" in: %s", why, mx_error_last()->message);
    assert_string_not_equal(mx_error_last()->hint, "");
}

/* ---- the whole way ---- */

static void state_compare(const struct mx_checkpoint_state *is, const struct mx_checkpoint_state *was)
{
    assert_true(is->voice);
    assert_string_equal(is->voice_name, was->voice_name);
    assert_string_equal(is->voice_licence, was->voice_licence);
    assert_string_equal(is->voice_attribution, was->voice_attribution);
    assert_int_equal(is->step, was->step);
    assert_int_equal(is->seed, was->seed);
    assert_int_equal(is->epoch | is->step_in_epoch | is->pass | is->data_fingerprint, 0);
    assert_false(is->has_best);
    assert_string_equal(is->config, was->config);
    assert_string_equal(is->vocabulary, was->vocabulary);
    assert_string_equal(is->model.size.name, was->model.size.name);
    assert_int_equal(is->model.size.hidden, was->model.size.hidden);
    assert_memory_equal(&is->normaliser, &was->normaliser, sizeof is->normaliser);
    assert_int_equal(is->speaker_count, was->speaker_count);
    for (size_t i = 0; i < is->speaker_count; i++) assert_string_equal(is->speakers[i], was->speakers[i]);
    assert_string_equal(mx_checkpoint_speaker_language(is, 1), was->speaker_languages[1]);
    assert_null(mx_checkpoint_speaker_language(is, 2)); /* nobody knows it, and there are several languages */
}

static void vectors_compare(const struct mx_checkpoint *checkpoint)
{
    float vector[WIDTH];
    assert_int_equal(mx_checkpoint_vector(checkpoint, 0, vector), 0);
    assert_memory_equal(vector, first, sizeof first);
    assert_int_equal(mx_checkpoint_vector(checkpoint, 2, vector), 0);
    assert_memory_equal(vector, third, sizeof third);
    assert_int_equal(mx_checkpoint_vector(checkpoint, 1, vector), MX_ERR_NOT_FOUND);
    assert_int_equal(mx_checkpoint_vector(checkpoint, 3, vector), MX_ERR_NOT_FOUND);
}

static void fp32_is_exact(void **state)
{
    struct checkpoint_rig *const rig = *state;
    struct mx_checkpoint *checkpoint = NULL;
    struct voice v = written(rig, MX_DTYPE_F32);
    float *const flat = mx_alloc((size_t)rig->table->floats, sizeof *flat);
    assert_int_equal(mx_checkpoint_open(v.path, &(struct mx_checkpoint_options){.finite = true}, &checkpoint), 0);
    state_compare(mx_checkpoint_state(checkpoint), &v.state);
    vectors_compare(checkpoint);
    assert_int_equal(mx_checkpoint_load_average(checkpoint, rig->table, flat), 0);
    assert_memory_equal(flat, rig->groups[MX_CHECKPOINT_AVERAGE], (size_t)rig->table->floats * sizeof *flat);
    /* For --init-from they are weights; a run cannot be resumed without the rest. */
    struct mx_checkpoint_target target = {{[MX_CHECKPOINT_WEIGHTS] = flat}};
    assert_int_equal(mx_checkpoint_load(checkpoint, rig->table, &target, false, NULL), 0);
    target.groups[MX_CHECKPOINT_STATES + MX_STATE_MOMENT1] = flat;
    assert_int_equal(mx_checkpoint_load(checkpoint, rig->table, &target, false, NULL), MX_ERR_DATA);
    mx_checkpoint_close(checkpoint);
    mx_free(flat);
    mx_free(v.path);
}

static void bf16_is_rounded(void **state)
{
    struct checkpoint_rig *const rig = *state;
    struct mx_checkpoint *checkpoint = NULL;
    struct voice v = written(rig, MX_DTYPE_BF16);
    int exact = 0, rounded = 0;
    float *const flat = mx_alloc((size_t)rig->table->floats, sizeof *flat);
    assert_int_equal(mx_checkpoint_open(v.path, NULL, &checkpoint), 0);
    vectors_compare(checkpoint);
    assert_int_equal(mx_checkpoint_load_average(checkpoint, rig->table, flat), 0);
    for (int i = 0; i < rig->table->count; i++) {
        const struct mx_parameter *const parameter = &rig->table->entries[i];
        const float *const was = rig->groups[MX_CHECKPOINT_AVERAGE] + parameter->at;
        for (int64_t k = 0; k < parameter->count; k++) {
            const float expected = parameter->rank > 1 ? mx_tensor_widen(mx_tensor_narrow(was[k])) : was[k];
            assert_memory_equal(&flat[parameter->at + k], &expected, sizeof expected);
            assert_true(fabsf(expected - was[k]) <= fabsf(was[k]) * 0x1p-8f + 0x1p-140f);
            exact += expected == was[k];
            rounded += expected != was[k];
        }
    }
    assert_true(exact > 100 && rounded > 100);
    mx_checkpoint_close(checkpoint);
    mx_free(flat);
    mx_free(v.path);
}

/* Without the weights for listening: the others are there, and only speaking does without them. */
static void fixed_speakers(void **state)
{
    struct checkpoint_rig *const rig = *state;
    struct mx_checkpoint *checkpoint = NULL;
    struct voice v = voice_make(rig, MX_DTYPE_F32);
    struct mx_checkpoint_report report;
    size_t listening = 0, projections = 0;
    float *const flat = mx_alloc((size_t)rig->table->floats, sizeof *flat);
    v.file.fixed = true;
    assert_int_equal(voice_write(&v), 0);
    assert_int_equal(mx_checkpoint_open(v.path, NULL, &checkpoint), 0);
    assert_false(mx_checkpoint_listens(checkpoint));
    assert_int_equal(mx_checkpoint_listens_check(checkpoint, "a test"), MX_ERR_DATA);
    vectors_compare(checkpoint);
    assert_int_equal(mx_checkpoint_load_average(checkpoint, rig->table, flat), 0);
    for (int i = 0; i < rig->table->count; i++) {
        const struct mx_parameter *const parameter = &rig->table->entries[i];
        const bool there = mx_safetensors_find(mx_checkpoint_tensors(checkpoint), parameter->name) != NULL;
        const float *const was = rig->groups[MX_CHECKPOINT_AVERAGE] + parameter->at;
        assert_int_equal(there, !mx_checkpoint_listening(parameter->name));
        for (int64_t k = 0; k < parameter->count; k++) {
            const float expected = there ? was[k] : 0;
            assert_memory_equal(&flat[parameter->at + k], &expected, sizeof expected);
        }
        listening += !there;
        projections += there && strncmp(parameter->name, "speaker.", 8) == 0;
    }
    assert_int_equal(listening, 13);
    assert_int_equal(projections, 2);
    const struct mx_checkpoint_target target = {{[MX_CHECKPOINT_WEIGHTS] = flat}};
    assert_int_equal(mx_checkpoint_load(checkpoint, rig->table, &target, false, &report), MX_ERR_DATA);
    assert_int_equal(report.missing, listening);
    mx_checkpoint_close(checkpoint);
    v.file.fixed = false;
    assert_int_equal(voice_write(&v), 0);
    assert_int_equal(mx_checkpoint_open(v.path, NULL, &checkpoint), 0);
    assert_true(mx_checkpoint_listens(checkpoint));
    assert_int_equal(mx_checkpoint_listens_check(checkpoint, "a test"), 0);
    mx_checkpoint_close(checkpoint);
    mx_free(flat);
    mx_free(v.path);
}

static void narrow_rounds_to_even(void **state)
{
    static const struct {
        uint32_t from;
        uint16_t to;
    } cases[] = {
        {0x3F800000, 0x3F80}, {0x3F807FFF, 0x3F80}, {0x3F808000, 0x3F80}, /* a tie: down to even */
        {0x3F808001, 0x3F81}, {0x3F818000, 0x3F82},                       /* a tie: up to even */
        {0xBF818000, 0xBF82}, {0x00000000, 0x0000}, {0x80000000, 0x8000}, {0x00000001, 0x0000},
        {0x3FFFFFFF, 0x4000}, {0x7F7FFFFF, 0x7F80}, {0x7F800000, 0x7F80}, {0xFF800000, 0xFF80},
    };
    float value;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        memcpy(&value, &cases[i].from, sizeof value);
        assert_int_equal(mx_tensor_narrow(value), cases[i].to);
    }
    const uint32_t nans[] = {0x7F800001, 0xFFFFFFFF, 0x7FFFFFFF};
    for (size_t i = 0; i < 3; i++) {
        memcpy(&value, &nans[i], sizeof value);
        assert_true(isnan(mx_tensor_widen(mx_tensor_narrow(value))));
    }
    for (uint32_t bits = 0; bits <= UINT16_MAX; bits++) { /* what is bf16 stays as it is */
        const float wide = mx_tensor_widen((uint16_t)bits);
        if (!isnan(wide)) assert_int_equal(mx_tensor_narrow(wide), bits);
    }
}

static void finite_finds_the_first(void **state)
{
    enum { COUNT = 9000 };
    static const size_t places[] = {0, 1, 4095, 4096, 8191, 8192, COUNT - 1};
    static const uint32_t wrong[] = {0x7F800000, 0xFF800000, 0x7FC00000, 0x7F810000};
    uint32_t *const single = mx_alloc(COUNT, sizeof *single);
    uint16_t *const half = mx_alloc(COUNT, sizeof *half);
    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        single[i] = 0xFF7FFFFF; /* the last finite number */
        half[i] = 0x7F7F;
    }
    const struct mx_tensor a = {.dtype = MX_DTYPE_F32, .data = single, .bytes = COUNT * sizeof *single},
                           b = {.dtype = MX_DTYPE_BF16, .data = half, .bytes = COUNT * sizeof *half};
    size_t at = 0;
    assert_true(mx_tensor_finite(&a, &at) && mx_tensor_finite(&b, &at));
    for (size_t i = sizeof places / sizeof *places; i-- > 0;) { /* later ones stay wrong */
        single[places[i]] = wrong[i % 4];
        half[places[i]] = (uint16_t)(wrong[i % 4] >> 16);
        assert_false(mx_tensor_finite(&a, &at));
        assert_int_equal(at, places[i]);
        assert_false(mx_tensor_finite(&b, &at));
        assert_int_equal(at, places[i]);
    }
    mx_free(single);
    mx_free(half);
}

static void a_vocoder_comes_along(void **state)
{
    struct checkpoint_rig *const rig = *state;
    struct mx_checkpoint *checkpoint = NULL;
    struct mx_parameters *table = NULL;
    struct voice v = voice_make(rig, MX_DTYPE_F32);
    const struct mx_vocoder_size size = {.name = "v", .width = 8, .blocks = 1, .hidden = 12};
    v.state.vocoder = mx_vocoder_config_default(&size, 0, 1);
    assert_int_equal(mx_vocoder_parameters_create(&v.state.vocoder, &table), 0);
    float *const weights = mx_alloc((size_t)table->floats, sizeof *weights), *const flat = mx_alloc(
                                                                                 (size_t)table->floats, sizeof *flat);
    for (int i = 0; i < table->count; i++)
        for (int64_t k = 0; k < table->entries[i].count; k++)
            weights[table->entries[i].at + k] = mx_rng_uniform(3, 3, (uint64_t)(table->entries[i].at + k));
    v.file.vocoder = (struct mx_checkpoint_voice_network){.table = table, .weights = weights};
    assert_int_equal(voice_write(&v), MX_ERR_ARGUMENT); /* the state does not know it */
    v.state.has_vocoder = true;
    assert_int_equal(voice_write(&v), 0);
    assert_int_equal(mx_checkpoint_open(v.path, NULL, &checkpoint), 0);
    assert_int_equal(mx_checkpoint_state(checkpoint)->vocoder.size.width, 8);
    assert_int_equal(mx_checkpoint_load_average(checkpoint, table, flat), 0);
    assert_memory_equal(flat, weights, (size_t)table->floats * sizeof *flat);
    mx_checkpoint_close(checkpoint);
    mx_parameters_destroy(table);
    mx_free(weights);
    mx_free(flat);
    mx_free(v.path);
}

/* ---- from memory ---- */

static void from_memory(void **state)
{
    struct checkpoint_rig *const rig = *state;
    struct mx_checkpoint *checkpoint = NULL;
    struct voice v = written(rig, MX_DTYPE_BF16);
    char *data, *path = (char *)1;
    size_t bytes;
    float *const flat = mx_alloc(2 * (size_t)rig->table->floats, sizeof *flat);
    assert_int_equal(mx_file_read(v.path, LIMIT, &data, &bytes), 0);
    assert_int_equal(mx_checkpoint_open(v.path, NULL, &checkpoint), 0);
    assert_int_equal(mx_checkpoint_load_average(checkpoint, rig->table, flat), 0);
    mx_checkpoint_close(checkpoint);
    char *const odd = mx_alloc(bytes + 1, 1); /* no number is aligned there */
    memcpy(odd + 1, data, bytes);
    assert_int_equal(mx_checkpoint_open_memory("the voice", odd + 1, bytes, NULL, &checkpoint), 0);
    assert_string_equal(mx_checkpoint_path(checkpoint), "the voice");
    state_compare(mx_checkpoint_state(checkpoint), &v.state);
    vectors_compare(checkpoint);
    assert_int_equal(mx_checkpoint_load_average(checkpoint, rig->table, flat + rig->table->floats), 0);
    assert_memory_equal(flat, flat + rig->table->floats, (size_t)rig->table->floats * sizeof *flat);
    assert_int_equal(mx_checkpoint_recording(checkpoint, 0, &path), 0);
    assert_null(path);
    mx_checkpoint_close(checkpoint);
    for (size_t i = 0; i < 100; i++) {
        const size_t length = i < 20 ? i : (size_t)mx_rng_below(1, 1, i, bytes);
        assert_int_equal(mx_checkpoint_open_memory("cut", data, length, NULL, &checkpoint), MX_ERR_FORMAT);
        assert_null(checkpoint);
        assert_non_null(strstr(mx_error_last()->message, "cut"));
    }
    assert_int_equal(mx_checkpoint_open_memory("nothing", NULL, 0, NULL, &checkpoint), MX_ERR_ARGUMENT);
    mx_free(odd);
    mx_free(data);
    mx_free(flat);
    mx_free(v.path);
}

/* ---- recordings of a run ---- */

static void recordings_are_found(void **state)
{
    struct checkpoint_rig *const rig = *state;
    struct mx_checkpoint *checkpoint = NULL;
    char *path, *const folder = mx_format("%s/checkpoints", rig->folder),
                       *const voices = mx_format("%s/voices", rig->folder);
    char *const recording = mx_format("%s/voices/001.wav", rig->folder);
    struct voice v = voice_make(rig, MX_DTYPE_F32);
    assert_int_equal(mkdir(folder, 0700) | mkdir(voices, 0700), 0);
    file_put(voices, "001.wav", "x", 1);
    mx_free(v.path);
    v.path = mx_format("%s/step-00000007.safetensors", folder);
    assert_int_equal(voice_write(&v), 0); /* a voice at the place of a checkpoint does not belong to the run */
    assert_int_equal(mx_checkpoint_open(v.path, NULL, &checkpoint), 0);
    assert_int_equal(mx_checkpoint_recording(checkpoint, 1, &path), 0);
    assert_null(path);
    mx_checkpoint_close(checkpoint);
    char *const own = rig->folder;
    rig->folder = folder;
    assert_int_equal(checkpoint_rig_save(rig, 7, &(struct mx_checkpoint_keep){0}), 0);
    rig->folder = own;
    assert_int_equal(mx_checkpoint_open(rig->folder, NULL, &checkpoint), 0);
    assert_int_equal(mx_checkpoint_recording(checkpoint, 1, &path), 0);
    assert_non_null(path);
    assert_string_equal(path, recording);
    mx_free(path);
    assert_int_equal(mx_checkpoint_recording(checkpoint, 0, &path), 0);
    assert_null(path);
    float vector[WIDTH];
    assert_int_equal(mx_checkpoint_vector(checkpoint, 0, vector), MX_ERR_NOT_FOUND);
    mx_checkpoint_close(checkpoint);
    mx_free(recording);
    mx_free(folder);
    mx_free(voices);
    mx_free(v.path);
}

/* ---- damage ---- */

static void damage_is_refused(void **state)
{
    struct checkpoint_rig *const rig = *state;
    struct mx_checkpoint *checkpoint;
    struct voice v = written(rig, MX_DTYPE_BF16);
    char *data;
    size_t bytes, taken = 0;
    assert_int_equal(mx_file_read(v.path, LIMIT, &data, &bytes), 0);
    for (uint64_t i = 0; i < 300; i++) {
        file_put(rig->folder, NAME, data, i < 20 ? (size_t)i : (size_t)mx_rng_below(1, 1, i, bytes));
        refused(v.path, NAME);
    }
    for (uint64_t i = 0; i < 500; i++) {
        const size_t at = (size_t)mx_rng_below(2, 1, i, bytes);
        const int bit = (int)mx_rng_below(2, 2, i, 8);
        data[at] = (char)(data[at] ^ 1 << bit);
        file_put(rig->folder, NAME, data, bytes);
        if (mx_checkpoint_open(v.path, NULL, &checkpoint) == 0) { /* the case of a digit in \u000a */
            taken++;
            state_compare(mx_checkpoint_state(checkpoint), &v.state);
            vectors_compare(checkpoint);
            mx_checkpoint_close(checkpoint);
        } else {
            assert_int_equal(mx_error_last()->code, MX_ERR_FORMAT);
        }
        data[at] = (char)(data[at] ^ 1 << bit);
    }
    assert_in_range(taken, 0, 10);
    mx_free(data);
    mx_free(v.path);
}

/* What a forger changes: a text (NULL: it is left out), or one more tensor. */
struct forgery {
    const char *key, *text;
    const struct mx_tensor *tensor;
    const char *why;
};

/* Writes the file again with the change and a hash that fits. */
static void forge(const char *path, const struct forgery *f)
{
    struct mx_safetensors *file = NULL;
    struct mx_arena arena;
    mx_arena_init(&arena, 0);
    assert_int_equal(mx_safetensors_open(path, &file), 0);
    size_t count = mx_safetensors_count(file), used = 0;
    const size_t texts = mx_safetensors_metadata_count(file);
    struct mx_tensor *const tensors = mx_arena_alloc(&arena, count + 1, sizeof *tensors);
    struct mx_metadata *const metadata = mx_arena_alloc(&arena, texts + 1, sizeof *metadata);
    for (size_t i = 0; i < count; i++) tensors[i] = *mx_safetensors_at(file, i);
    if (f->tensor != NULL) tensors[count++] = *f->tensor;
    for (size_t i = 0; i < texts; i++) {
        metadata[used] = *mx_safetensors_metadata_at(file, i);
        const bool meant = f->key != NULL && strcmp(metadata[used].key, f->key) == 0;
        if (strcmp(metadata[used].key, "hash") == 0 || (meant && f->text == NULL)) continue;
        if (meant) metadata[used].text = f->text;
        used++;
    }
    assert_int_equal(mx_checkpoint_hash_add(&arena, tensors, count, metadata, &used), 0);
    char *const other = mx_format("%s.other", path);
    assert_int_equal(mx_safetensors_write(other, tensors, count, metadata, used), 0);
    mx_safetensors_close(file);
    assert_int_equal(rename(other, path), 0);
    mx_free(other);
    mx_arena_release(&arena);
}

static void forgery_is_refused(void **state)
{
    struct checkpoint_rig *const rig = *state;
    float infinite[WIDTH] = {0};
    infinite[5] = INFINITY;
    const struct mx_tensor one_more = {"vector.3", MX_DTYPE_F32, 1, {WIDTH}, first, 0},
                           zeros = {"vector.01", MX_DTYPE_F32, 1, {WIDTH}, first, 0},
                           none = {"vector.", MX_DTYPE_F32, 1, {WIDTH}, first, 0},
                           far = {"vector.99999999999999999999", MX_DTYPE_F32, 1, {WIDTH}, first, 0},
                           short_one = {"vector.1", MX_DTYPE_F32, 1, {WIDTH - 1}, first, 0},
                           narrow = {"vector.1", MX_DTYPE_BF16, 1, {WIDTH}, first, 0},
                           square = {"vector.1", MX_DTYPE_F32, 2, {1, WIDTH}, first, 0},
                           hot = {"vector.1", MX_DTYPE_F32, 1, {WIDTH}, infinite, 0};
    const struct forgery forgeries[] = {
        {"version", "2", NULL, "voice of another version"},
        {"version", NULL, NULL, "voice of another version"},
        {"voice.name", NULL, NULL, "voice.name"},
        {"voice.licence", NULL, NULL, "voice.licence"},
        {"voice.attribution", NULL, NULL, "voice.attribution"},
        {"vocabulary", NULL, NULL, "vocabulary"},
        {"model.width", "13", NULL, "width"},
        {"format", MX_CHECKPOINT_FORMAT, NULL, "epoch"}, /* a voice is no checkpoint */
        {NULL, NULL, &one_more, "belongs to no speaker"},
        {NULL, NULL, &zeros, "belongs to no speaker"},
        {NULL, NULL, &none, "belongs to no speaker"},
        {NULL, NULL, &far, "belongs to no speaker"},
        {NULL, NULL, &short_one, "does not fit"},
        {NULL, NULL, &narrow, "does not fit"},
        {NULL, NULL, &square, "does not fit"},
        {NULL, NULL, &hot, "not finite"},
    };
    for (size_t i = 0; i < sizeof forgeries / sizeof *forgeries; i++) {
        struct voice v = written(rig, MX_DTYPE_F32);
        forge(v.path, &forgeries[i]);
        refused(v.path, forgeries[i].why);
        mx_free(v.path);
    }
}

static void bad_voices_are_not_written(void **state)
{
    struct checkpoint_rig *const rig = *state;
    struct voice v = voice_make(rig, MX_DTYPE_BF16);
    struct stat status;
    float *const odd = rig->groups[MX_CHECKPOINT_AVERAGE] + rig->table->entries[0].at;
    assert_true(rig->table->entries[0].rank > 1);
    odd[2] = -0x1.fffffep127f;
    assert_int_equal(voice_write(&v), MX_ERR_DATA);
    assert_non_null(strstr(mx_error_last()->message, "too large for bf16"));
    odd[2] = NAN;
    assert_int_equal(voice_write(&v), MX_ERR_DATA);
    odd[2] = 0;
    v.file.vector_count = 4;
    assert_int_equal(voice_write(&v), MX_ERR_ARGUMENT);
    v.file.vector_count = 3;
    v.state.voice = false;
    assert_int_equal(voice_write(&v), MX_ERR_ARGUMENT);
    v.state.voice = true;
    v.state.voice_licence = NULL;
    assert_int_equal(voice_write(&v), MX_ERR_ARGUMENT);
    v.state.voice_licence = "\xff";
    assert_int_equal(voice_write(&v), MX_ERR_ARGUMENT);
    v.state.voice_licence = "";
    v.file.precision = MX_DTYPE_F16;
    assert_int_equal(voice_write(&v), MX_ERR_ARGUMENT);
    assert_int_not_equal(stat(v.path, &status), 0); /* nothing of all that was written */
    v.file.precision = MX_DTYPE_BF16;
    assert_int_equal(voice_write(&v), 0);
    mx_free(v.path);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, checkpoint_rig_setup, checkpoint_rig_teardown)
    const struct CMUnitTest tests[] = {
        TEST(fp32_is_exact),
        TEST(bf16_is_rounded),
        TEST(fixed_speakers),
        TEST(narrow_rounds_to_even),
        TEST(finite_finds_the_first),
        TEST(a_vocoder_comes_along),
        TEST(from_memory),
        TEST(recordings_are_found),
        TEST(damage_is_refused),
        TEST(forgery_is_refused),
        TEST(bad_voices_are_not_written),
    };
    mx_log_configure(&(struct mx_log_options){.level = MX_LOG_SILENT});
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Text to sound with a small network of random weights: it says nothing, but everything around it must be right.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/log.h"
#include "base/rng.h"
#include "myxtts/error.h"
#include "ops/case.h"
#include "speech/speak.h"
#include "speech/split.h"

#define RATE      22050
#define FRAMES_OF 3 /* of a token */

static const struct mx_model_size size = {"test", 32, 2, 1, 1, 64};

/* A voice of random weights that has learned English in small letters. */
struct rig {
    struct op_cpu cpu;
    struct mx_stream *stream;
    struct mx_vocabulary *vocabulary;
    struct mx_parameters *table;
    struct mx_buffer *weights;
    struct mx_model *model;
    struct mx_speak *speak;
};

static void weights_open(struct rig *rig, const struct mx_model_config *config)
{
    assert_int_equal(mx_model_parameters_create(config, NULL, &rig->table), 0);
    const size_t floats = (size_t)rig->table->floats;
    float *flat = mx_alloc(floats, sizeof *flat);
    assert_non_null(flat);
    mx_parameters_init(rig->table, 5, flat);
    flat[mx_parameters_find(rig->table, "predictor.duration.out.bias")->at] = logf(1 + FRAMES_OF);
    /* The last layers begin as 0, which would say the same of everything. */
    for (int i = 0; i < rig->table->count; i++) {
        const struct mx_parameter *p = &rig->table->entries[i];
        if (p->init != MX_INIT_ZERO || p->rank < 2) continue;
        for (int64_t k = 0; k < p->count; k++) flat[p->at + k] = 0.05f * mx_rng_normal(5, (uint64_t)i, (uint64_t)k);
    }
    assert_int_equal(mx_buffer_create(rig->cpu.device, "test", floats * 4, &rig->weights), 0);
    assert_int_equal(mx_copy_upload(rig->stream, mx_slice_at(rig->weights, 0), flat, floats * 4), 0);
    assert_int_equal(mx_stream_sync(rig->stream), 0);
    mx_free(flat);
}

static struct mx_speak_voice rig_voice(const struct rig *rig)
{
    return (struct mx_speak_voice){
        .device = rig->cpu.device,
        .stream = rig->stream,
        .model = rig->model,
        .parameters = mx_slice_at(rig->weights, 0),
        .vocabulary = rig->vocabulary,
        .normaliser = {
            .mel_mean = -5, .mel_deviation = 2, .energy_deviation = 1, .pitch_mean = 120, .pitch_deviation = 30}};
}

static void rig_open(struct rig *rig, struct mx_model_capacity capacity)
{
    *rig = (struct rig){0};
    assert_int_equal(op_cpu_open(&rig->cpu, 1, 0), 0);
    assert_int_equal(mx_stream_create(rig->cpu.device, "test", &rig->stream), 0);
    assert_int_equal(mx_vocabulary_create(MX_TOKENS_CHARS, &rig->vocabulary), 0);
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz' ,.!?;:-";
    uint32_t symbols[sizeof letters - 1];
    for (size_t i = 0; i + 1 < sizeof letters; i++) symbols[i] = (unsigned char)letters[i];
    assert_int_equal(mx_vocabulary_add(rig->vocabulary, symbols, sizeof letters - 1), 0);
    assert_int_equal(mx_vocabulary_add_language(rig->vocabulary, MX_LANGUAGE_EN), 0);
    const struct mx_model_config config =
        mx_model_config_default(&size, (int32_t)mx_vocabulary_size(rig->vocabulary), 1);
    weights_open(rig, &config);
    assert_int_equal(mx_model_create(rig->cpu.device, rig->stream, &config, &capacity, MX_MODEL_SPEAK, &rig->model), 0);
    const struct mx_speak_voice voice = rig_voice(rig);
    const struct mx_speak_sound sound = {.rounds = 2, .projections = 1};
    assert_int_equal(mx_speak_create(&voice, &sound, &rig->speak), 0);
}

static void rig_close(struct rig *rig)
{
    mx_speak_destroy(rig->speak);
    mx_model_destroy(rig->model);
    mx_buffer_release(rig->weights);
    mx_parameters_destroy(rig->table);
    mx_vocabulary_destroy(rig->vocabulary);
    mx_stream_release(rig->stream);
    op_cpu_close(&rig->cpu);
}

static const struct mx_model_capacity roomy = {.sequences = 4, .tokens = 1000, .frames = 4000, .references = 400};

static int setup(void **state)
{
    static struct rig rig;
    const struct mx_log_options quiet = {.level = MX_LOG_SILENT};
    if (mx_log_configure(&quiet) < 0) return -1;
    rig_open(&rig, roomy);
    *state = &rig;
    return 0;
}

static int teardown(void **state)
{
    rig_close(*state);
    return 0;
}

static struct mx_speak_result say(const struct rig *rig, const char *text, const struct mx_speak_options *options)
{
    const struct mx_speak_options usual = MX_SPEAK_OPTIONS_DEFAULT;
    struct mx_speak_result result;
    assert_int_equal(mx_speak_text(rig->speak, text, strlen(text), options ? options : &usual, &result), 0);
    for (size_t i = 0; i < result.count; i++) assert_true(isfinite(result.audio[i]));
    return result;
}

static void same(const struct mx_speak_result *a, const struct mx_speak_result *b)
{
    assert_int_equal(a->count, b->count);
    assert_memory_equal(a->audio, b->audio, a->count * sizeof *a->audio);
}

static void different(const struct mx_speak_result *a, const struct mx_speak_result *b)
{
    const size_t count = a->count < b->count ? a->count : b->count;
    assert_true(a->count != b->count || memcmp(a->audio, b->audio, count * sizeof *a->audio) != 0);
}

static size_t pause_samples(double ms)
{
    return (size_t)llround(ms * RATE / 1000);
}

static void speaks(void **state)
{
    struct mx_speak_result result = say(*state, "Hello, world. This is 1 test!", NULL);
    struct mx_speak_result again = say(*state, "Hello, world. This is 1 test!", NULL);
    assert_int_equal(result.pieces, 2);
    assert_int_equal(result.paragraphs, 1);
    assert_int_equal(result.tokens, strlen("hello, world.") + strlen("this is one test!") + 4);
    assert_int_equal(result.unknown.count, 0);
    assert_true(fabs(result.seconds - (double)result.count / RATE) < 1e-9);
    assert_true(result.real_time_factor > 0 && result.waveform_seconds > 0 && result.model_seconds > 0);
    double power = 0;
    for (size_t i = 0; i < result.count; i++) power += (double)result.audio[i] * (double)result.audio[i];
    assert_true(power > 0);
    same(&result, &again);
    mx_speak_result_release(&result);
    mx_speak_result_release(&again);
}

/* Pieces are what they are alone, with the pauses of their marks between them. */
static void joins(void **state)
{
    static const char *const parts[] = {"one two three.", "four five?", "six"};
    static const char text[] = "one two three. four five?\n\nsix";
    const double pauses[] = {mx_split_pause_ms('.'), MX_SPLIT_PARAGRAPH_MS, 0};
    struct mx_speak_result whole = say(*state, text, NULL);
    size_t at = 0;
    assert_int_equal(whole.paragraphs, 2);
    assert_int_equal(whole.pieces, 3);
    for (int i = 0; i < 3; i++) {
        struct mx_speak_result part = say(*state, parts[i], NULL);
        assert_true(at + part.count + pause_samples(pauses[i]) <= whole.count);
        assert_memory_equal(whole.audio + at, part.audio, part.count * sizeof *part.audio);
        at += part.count;
        for (size_t k = 0; k < pause_samples(pauses[i]); k++) assert_true(whole.audio[at + k] == 0);
        at += pause_samples(pauses[i]);
        mx_speak_result_release(&part);
    }
    assert_int_equal(at, whole.count);
    mx_speak_result_release(&whole);
}

/* Little room: one sentence at a time, sentences cut where they have too many tokens, batches halved where they turn
 * out too long. What is said stays the same where the cuts do. */
static void little_room(void **state)
{
    static const char text[] = "one two three. four five six. seven eight nine. ten.";
    struct mx_speak_result wide = say(*state, text, NULL), narrow;
    struct rig small;
    assert_true(wide.count > 160 * 256 + 3 * pause_samples(mx_split_pause_ms('.'))); /* more than the little room */
    rig_open(&small, (struct mx_model_capacity){
                         .sequences = 4, .tokens = 200, .frames = 160, .references = 4, .longest_tokens = 30});
    narrow = say(&small, text, NULL);
    same(&wide, &narrow);
    mx_speak_result_release(&narrow);
    narrow = say(&small, "a sentence with far more tokens than there is room for, twice or more", NULL);
    assert_true(narrow.pieces >= 3);
    mx_speak_result_release(&narrow);
    /* No room for the frames of one piece. */
    struct mx_speak_options slow = MX_SPEAK_OPTIONS_DEFAULT;
    slow.speed = 0.25;
    assert_int_equal(mx_speak_text(small.speak, text, strlen(text), &slow, &narrow), MX_ERR_ARGUMENT);
    assert_null(narrow.audio);
    narrow = say(&small, "ten.", NULL); /* and goes on */
    mx_speak_result_release(&narrow);
    mx_speak_result_release(&wide);
    rig_close(&small);
}

static void speed_and_pitch(void **state)
{
    static const char text[] = "some words at some speed, and at some pitch.";
    struct mx_speak_options options = MX_SPEAK_OPTIONS_DEFAULT;
    struct mx_speak_result usual = say(*state, text, &options);
    options.speed = 0.5;
    struct mx_speak_result slow = say(*state, text, &options);
    const double ratio = (double)slow.count / (double)usual.count;
    assert_true(ratio > 1.8 && ratio < 2.2);
    options.speed = 1;
    options.pitch_semitones = 4;
    struct mx_speak_result high = say(*state, text, &options);
    assert_int_equal(high.count, usual.count); /* durations do not depend on it */
    different(&high, &usual);
    mx_speak_result_release(&high);
    mx_speak_result_release(&slow);
    mx_speak_result_release(&usual);
}

static void references(void **state)
{
    const struct rig *const rig = *state;
    static const char text[] = "whose voice is it.";
    static float tone[2 * RATE];
    struct mx_speak_options options = MX_SPEAK_OPTIONS_DEFAULT;
    float *mel;
    int32_t frames;
    for (int i = 0; i < 2 * RATE; i++) tone[i] = 0.2f * sinf((float)i * 0.06f) + 0.1f * sinf((float)i * 0.31f);
    struct mx_speak_result nobody = say(rig, text, &options);
    assert_int_equal(mx_speak_reference(rig->speak, tone, 2 * RATE, &mel, &frames), 0);
    assert_int_equal(frames, roomy.references / roomy.sequences); /* the middle */
    options.reference = mel;
    options.reference_frames = frames;
    struct mx_speak_result somebody = say(rig, text, &options), again = say(rig, text, &options);
    different(&somebody, &nobody);
    same(&somebody, &again);
    /* The vector is a function of the reference. */
    float vectors[3][32]; /* of the width */
    assert_int_equal(mx_speak_vector(rig->speak, mel, frames, vectors[0]), 0);
    assert_int_equal(mx_speak_vector(rig->speak, mel, frames, vectors[2]), 0);
    assert_memory_equal(vectors[0], vectors[2], sizeof vectors[0]);
    for (int i = 0; i < 32; i++) assert_true(vectors[0][i] != 0);
    assert_int_equal(mx_speak_vector(rig->speak, mel, frames + 1, vectors[1]), MX_ERR_ARGUMENT);
    struct mx_speak_result refused;
    options.reference_frames = frames + 1;
    assert_int_equal(mx_speak_text(rig->speak, text, strlen(text), &options, &refused), MX_ERR_ARGUMENT);
    mx_free(mel);
    assert_int_equal(mx_speak_reference(rig->speak, tone, 1000, &mel, &frames), 0);
    assert_int_equal(frames, 4);
    mx_free(mel);
    assert_int_equal(mx_speak_reference(rig->speak, tone, 0, &mel, &frames), MX_ERR_ARGUMENT);
    assert_null(mel);
    mx_speak_result_release(&again);
    mx_speak_result_release(&somebody);
    mx_speak_result_release(&nobody);
}

/* The vector of a reference needs no speech: it is there where the network cannot speak. */
static void vector_without_speech(void **state)
{
    const struct rig *const rig = *state;
    static float mel[20 * 80];
    float whole[32], broken[32];
    struct rig other;
    struct mx_speak_result refused;
    const struct mx_speak_options usual = MX_SPEAK_OPTIONS_DEFAULT;
    const float nan = NAN;
    for (int i = 0; i < 20 * 80; i++) mel[i] = mx_rng_normal(9, 0, (uint64_t)i);
    assert_int_equal(mx_speak_vector(rig->speak, mel, 20, whole), 0);
    rig_open(&other, roomy);
    const int64_t at = mx_parameters_find(other.table, "predictor.duration.out.bias")->at;
    assert_int_equal(
        mx_copy_upload(other.stream, mx_slice_at(other.weights, (size_t)at * sizeof nan), &nan, sizeof nan), 0);
    assert_int_equal(mx_speak_text(other.speak, "one", 3, &usual, &refused), MX_ERR_DATA);
    assert_int_equal(mx_speak_vector(other.speak, mel, 20, broken), 0);
    assert_memory_equal(whole, broken, sizeof whole);
    rig_close(&other);
}

static void odd_texts(void **state)
{
    const struct rig *const rig = *state;
    static const char *const empty[] = {"", " \n\n ", "***", "...", "é"};
    for (size_t i = 0; i < sizeof empty / sizeof *empty; i++) {
        struct mx_speak_result result = say(rig, empty[i], NULL);
        assert_int_equal(result.count, 0);
        assert_null(result.audio);
        assert_true(result.real_time_factor == 0);
    }
    struct mx_speak_result result = say(rig, "a café, naïve", NULL);
    assert_int_equal(result.unknown.count, 2);
    assert_int_equal(result.unknown.first, 0xe9);
    mx_speak_result_release(&result);
    const struct mx_speak_options options = MX_SPEAK_OPTIONS_DEFAULT;
    static const char broken[] = "good.\n\nbad \xff.", persian[] = "سلام دنیا";
    assert_int_equal(mx_speak_text(rig->speak, broken, strlen(broken), &options, &result), MX_ERR_DATA);
    assert_non_null(strstr(mx_error_last()->message, "byte 7"));
    assert_null(result.audio);
    assert_int_equal(mx_speak_text(rig->speak, persian, strlen(persian), &options, &result), MX_ERR_CONFIG);
    assert_non_null(strstr(mx_error_last()->message, "Persian"));
    assert_non_null(strstr(mx_error_last()->hint, "English"));
}

static void refusals(void **state)
{
    const struct rig *const rig = *state;
    struct mx_speak_options wrong[6];
    struct mx_speak_result result;
    for (int i = 0; i < 6; i++) wrong[i] = MX_SPEAK_OPTIONS_DEFAULT;
    wrong[0].speed = 0;
    wrong[1].speed = NAN;
    wrong[2].pitch_semitones = 25;
    wrong[3].language = MX_LANGUAGE_COUNT;
    wrong[4].piece_characters = 3;
    wrong[5].pitch_semitones = NAN;
    for (int i = 0; i < 6; i++) {
        assert_int_equal(mx_speak_text(rig->speak, "text", 4, &wrong[i], &result), MX_ERR_ARGUMENT);
        assert_true(mx_error_last()->hint[0] != 0);
        assert_null(result.audio);
    }
    struct mx_speak *speak;
    struct mx_speak_sound sound = MX_SPEAK_SOUND_DEFAULT;
    struct mx_speak_voice voice = rig_voice(rig);
    voice.normaliser.pitch_deviation = 0;
    assert_int_equal(mx_speak_create(&voice, &sound, &speak), MX_ERR_CONFIG);
    voice = rig_voice(rig);
    voice.normaliser.mel_deviation = 0;
    assert_int_equal(mx_speak_create(&voice, &sound, &speak), MX_ERR_ARGUMENT);
    voice = rig_voice(rig);
    sound.projections = -2;
    assert_int_equal(mx_speak_create(&voice, &sound, &speak), MX_ERR_ARGUMENT);
    sound = MX_SPEAK_SOUND_DEFAULT;
    assert_int_equal(mx_vocabulary_create(MX_TOKENS_CHARS, (struct mx_vocabulary **)&voice.vocabulary), 0);
    assert_int_equal(mx_speak_create(&voice, &sound, &speak), MX_ERR_CONFIG);
    mx_vocabulary_destroy((struct mx_vocabulary *)voice.vocabulary);
    assert_null(speak);
    mx_speak_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(speaks),      cmocka_unit_test(joins),
        cmocka_unit_test(little_room), cmocka_unit_test(speed_and_pitch),
        cmocka_unit_test(references),  cmocka_unit_test(odd_texts),
        cmocka_unit_test(refusals),    cmocka_unit_test(vector_without_speech),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}

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
#include "speech/speaker.h"
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
    struct mx_speaker *speaker;
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
    assert_int_equal(mx_speaker_create_on(rig->speak, &rig->speaker), 0);
}

static void rig_close(struct rig *rig)
{
    mx_speaker_destroy(rig->speaker);
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

struct result {
    float *audio; /* [count] */
    size_t count;
};

/* Speaks the text; returns what the last call returned. */
static int try_say(const struct rig *rig, const char *text, const struct mx_speak_script_options *how,
                   const float *vector, struct result *result)
{
    const struct mx_speak_script_options usual = mx_speak_script_options_of(rig->speak);
    struct mx_speak_script *script;
    *result = (struct result){0};
    const int rc = mx_speak_script_open(how != NULL ? how : &usual, text, strlen(text), &script);
    if (rc < 0) return rc;
    mx_speaker_begin_script(rig->speaker, script, vector, 0);
    return mx_speaker_rest(rig->speaker, &result->audio, &result->count);
}

static struct result say_with(const struct rig *rig, const char *text, const struct mx_speak_script_options *how,
                              const float *vector)
{
    struct result result;
    assert_int_equal(try_say(rig, text, how, vector, &result), 0);
    for (size_t i = 0; i < result.count; i++) assert_true(isfinite(result.audio[i]));
    return result;
}

static struct result say(const struct rig *rig, const char *text)
{
    return say_with(rig, text, NULL, NULL);
}

static void same(const struct result *a, const struct result *b)
{
    assert_int_equal(a->count, b->count);
    assert_memory_equal(a->audio, b->audio, a->count * sizeof *a->audio);
}

static void different(const struct result *a, const struct result *b)
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
    const struct rig *const rig = *state;
    struct result result = say(rig, "Hello, world. This is 1 test!");
    const struct mx_speaking_report report = *mx_speaker_report(rig->speaker);
    struct result again = say(rig, "Hello, world. This is 1 test!");
    assert_int_equal(report.pieces, 2);
    assert_int_equal(report.paragraphs, 1);
    assert_int_equal(report.tokens, strlen("hello, world.") + strlen("this is one test!") + 4);
    assert_int_equal(report.samples, result.count);
    assert_true(report.model_seconds > 0 && report.sound_seconds > 0);
    assert_int_equal(mx_speaker_warnings(rig->speaker), 0);
    double power = 0;
    for (size_t i = 0; i < result.count; i++) power += (double)result.audio[i] * (double)result.audio[i];
    assert_true(power > 0);
    same(&result, &again);
    mx_free(result.audio);
    mx_free(again.audio);
}

/* Pieces are what they are alone, with the pauses of their marks between them. */
static void joins(void **state)
{
    static const char *const parts[] = {"one two three.", "four five?", "six"};
    static const char text[] = "one two three. four five?\n\nsix";
    const double pauses[] = {mx_split_pause_ms('.'), MX_SPLIT_PARAGRAPH_MS, 0};
    const struct rig *const rig = *state;
    struct result whole = say(rig, text);
    size_t at = 0;
    assert_int_equal(mx_speaker_report(rig->speaker)->paragraphs, 2);
    assert_int_equal(mx_speaker_report(rig->speaker)->pieces, 3);
    for (int i = 0; i < 3; i++) {
        struct result part = say(rig, parts[i]);
        assert_true(at + part.count + pause_samples(pauses[i]) <= whole.count);
        assert_memory_equal(whole.audio + at, part.audio, part.count * sizeof *part.audio);
        at += part.count;
        for (size_t k = 0; k < pause_samples(pauses[i]); k++) assert_true(whole.audio[at + k] == 0);
        at += pause_samples(pauses[i]);
        mx_free(part.audio);
    }
    assert_int_equal(at, whole.count);
    mx_free(whole.audio);
}

/* Little room: one sentence at a time, sentences cut where they have too many tokens, batches halved where they turn
 * out too long. What is said stays the same where the cuts do. */
static void little_room(void **state)
{
    static const char text[] = "one two three. four five six. seven eight nine. ten.";
    struct result wide = say(*state, text), narrow;
    struct rig small;
    assert_true(wide.count > 160 * 256 + 3 * pause_samples(mx_split_pause_ms('.'))); /* more than the little room */
    rig_open(&small, (struct mx_model_capacity){
                         .sequences = 4, .tokens = 200, .frames = 160, .references = 4, .longest_tokens = 30});
    narrow = say(&small, text);
    same(&wide, &narrow);
    mx_free(narrow.audio);
    narrow = say(&small, "a sentence with far more tokens than there is room for, twice or more");
    assert_true(mx_speaker_report(small.speaker)->pieces >= 3);
    mx_free(narrow.audio);
    /* No room for the frames of one piece. */
    struct mx_speak_script_options slow = mx_speak_script_options_of(small.speak);
    slow.speed = 0.25;
    assert_int_equal(try_say(&small, text, &slow, NULL, &narrow), MX_ERR_ARGUMENT);
    assert_null(narrow.audio);
    narrow = say(&small, "ten."); /* and goes on */
    mx_free(narrow.audio);
    mx_free(wide.audio);
    rig_close(&small);
}

static void speed_and_pitch(void **state)
{
    static const char text[] = "some words at some speed, and at some pitch.";
    struct mx_speak_script_options options = mx_speak_script_options_of(((struct rig *)*state)->speak);
    struct result usual = say_with(*state, text, &options, NULL);
    options.speed = 0.5;
    struct result slow = say_with(*state, text, &options, NULL);
    const double ratio = (double)slow.count / (double)usual.count;
    assert_true(ratio > 1.8 && ratio < 2.2);
    options.speed = 1;
    options.pitch_semitones = 4;
    struct result high = say_with(*state, text, &options, NULL);
    assert_int_equal(high.count, usual.count); /* durations do not depend on it */
    different(&high, &usual);
    mx_free(high.audio);
    mx_free(slow.audio);
    mx_free(usual.audio);
}

static void references(void **state)
{
    const struct rig *const rig = *state;
    static const char text[] = "whose voice is it.";
    static float tone[2 * RATE];
    float *mel;
    int32_t frames;
    for (int i = 0; i < 2 * RATE; i++) tone[i] = 0.2f * sinf((float)i * 0.06f) + 0.1f * sinf((float)i * 0.31f);
    struct result nobody = say(rig, text);
    assert_int_equal(mx_speak_reference(rig->speak, tone, 2 * RATE, &mel, &frames), 0);
    assert_int_equal(frames, roomy.references / roomy.sequences); /* the middle */
    /* The vector is a function of the reference. */
    float vectors[3][32]; /* of the width */
    assert_int_equal(mx_speak_vector(rig->speak, mel, frames, vectors[0]), 0);
    assert_int_equal(mx_speak_vector(rig->speak, mel, frames, vectors[2]), 0);
    assert_memory_equal(vectors[0], vectors[2], sizeof vectors[0]);
    for (int i = 0; i < 32; i++) assert_true(vectors[0][i] != 0);
    assert_int_equal(mx_speak_vector(rig->speak, mel, frames + 1, vectors[1]), MX_ERR_ARGUMENT);
    struct result somebody = say_with(rig, text, NULL, vectors[0]), again = say_with(rig, text, NULL, vectors[2]);
    different(&somebody, &nobody);
    same(&somebody, &again);
    mx_free(mel);
    assert_int_equal(mx_speak_reference(rig->speak, tone, 1000, &mel, &frames), 0);
    assert_int_equal(frames, 4);
    mx_free(mel);
    assert_int_equal(mx_speak_reference(rig->speak, tone, 0, &mel, &frames), MX_ERR_ARGUMENT);
    assert_null(mel);
    mx_free(again.audio);
    mx_free(somebody.audio);
    mx_free(nobody.audio);
}

/* The vector of a reference needs no speech: it is there where the network cannot speak. */
static void vector_without_speech(void **state)
{
    const struct rig *const rig = *state;
    static float mel[20 * 80];
    float whole[32], broken[32];
    struct rig other;
    struct result refused;
    const float nan = NAN;
    for (int i = 0; i < 20 * 80; i++) mel[i] = mx_rng_normal(9, 0, (uint64_t)i);
    assert_int_equal(mx_speak_vector(rig->speak, mel, 20, whole), 0);
    rig_open(&other, roomy);
    const int64_t at = mx_parameters_find(other.table, "predictor.duration.out.bias")->at;
    assert_int_equal(
        mx_copy_upload(other.stream, mx_slice_at(other.weights, (size_t)at * sizeof nan), &nan, sizeof nan), 0);
    assert_int_equal(try_say(&other, "one", NULL, NULL, &refused), MX_ERR_DATA);
    assert_int_equal(mx_speak_vector(other.speak, mel, 20, broken), 0);
    assert_memory_equal(whole, broken, sizeof whole);
    rig_close(&other);
}

static void odd_texts(void **state)
{
    const struct rig *const rig = *state;
    static const char *const empty[] = {"", " \n\n ", "***", "...", "é"};
    for (size_t i = 0; i < sizeof empty / sizeof *empty; i++) {
        struct result result = say(rig, empty[i]);
        assert_int_equal(result.count, 0);
        assert_null(result.audio);
    }
    struct result result = say(rig, "a café, naïve");
    assert_int_equal(mx_speaker_warnings(rig->speaker), 1);
    assert_string_equal(mx_speaker_warning(rig->speaker, 0),
                        "the voice never learned 2 symbols of the text, which are left out; the first is 'é' (U+00E9)");
    mx_free(result.audio);
    /* A text that fails late, with a sentence that the network has no room for, gives no half. */
    struct mx_speak_script_options slow = mx_speak_script_options_of(rig->speak);
    slow.speed = 0.25;
    slow.longest_tokens = 0;
    char text[600] = "one. ";
    for (size_t i = strlen(text); i + 1 < sizeof text; i++) text[i] = i % 9 == 0 ? ' ' : 'a';
    slow.piece_characters = sizeof text;
    assert_int_equal(try_say(rig, text, &slow, NULL, &result), MX_ERR_ARGUMENT);
    assert_null(result.audio);
    assert_int_equal(result.count, 0);
}

static void refusals(void **state)
{
    const struct rig *const rig = *state;
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

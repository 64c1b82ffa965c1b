/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The engine with a voice of random weights (support/voice_rig.h): a piece sounds the same alone, in any company, in any
 * order and in parts of any size, bit for bit, with a vocoder and by Griffin–Lim. And a text sounds the same whoever
 * speaks it: the C API (which synth uses), the service, and the samples of a run.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/rng.h"
#include "myxtts/error.h"
#include "serve/service.h"
#include "speech/speaker.h"
#include "speech/voice_internal.h"
#include "support/cores.h"
#include "support/recording.h"
#include "support/voice_rig.h"

enum { PIECES = 6, WIDTH = 32, TOKENS_MAX = 80, SAMPLES_MAX = 120000 };

struct fixture {
    char *folder, *path[2];
    struct mx_voice *voice[2]; /* with a vocoder and without */
    int32_t tokens[PIECES][TOKENS_MAX];
    float vectors[2][WIDTH];
    struct mx_speak_piece pieces[PIECES];
    float alone[PIECES][SAMPLES_MAX], again[SAMPLES_MAX];
    int64_t samples[PIECES];
    int32_t durations[PIECES][TOKENS_MAX];
};

static void must(int rc)
{
    if (rc < 0) fail_msg("%s (%s)", mx_error_last()->message, mx_error_last()->hint);
}

/* Pieces that differ in everything. */
static void pieces_cut(struct fixture *f)
{
    static const double speeds[] = {1, 1, 0.6, 2, 1, 1.3}, semitones[] = {0, 0, 5, -3, 0, 0};
    for (int i = 0; i < 2 * WIDTH; i++) f->vectors[i / WIDTH][i % WIDTH] = mx_rng_normal(7, 1, (uint64_t)i);
    for (int i = 0; i < PIECES; i++) {
        const int32_t count = 5 + 13 * i;
        f->tokens[i][0] = MX_TOKEN_BOS;
        for (int32_t t = 1; t < count - 1; t++)
            f->tokens[i][t] = MX_TOKEN_FIRST + (int32_t)mx_rng_below(3, (uint64_t)i, (uint64_t)t, 26);
        f->tokens[i][count - 1] = MX_TOKEN_EOS;
        f->pieces[i] = (struct mx_speak_piece){.tokens = f->tokens[i],
                                               .count = count,
                                               .speed = speeds[i],
                                               .pitch_semitones = semitones[i],
                                               .volume = 1,
                                               .voice = i % 3 == 0 ? NULL : f->vectors[i % 3 - 1],
                                               .seed = (uint64_t)(i / 2)};
    }
}

static int setup(void **state)
{
    struct fixture *const f = calloc(1, sizeof *f);
    const struct mx_log_options quiet = {.level = MX_LOG_SILENT};
    if (f == NULL || mx_log_configure(&quiet) < 0) return -1;
    *state = f;
    f->folder = folder_make();
    for (int i = 0; i < 2; i++) {
        const struct mx_voice_options options = {.size = sizeof options, .rounds = i == 0 ? 3 : 2};
        f->path[i] = voice_rig_make(f->folder, i == 0 ? "vocoder" : "plain", 5, i == 0);
        must(mx_voice_open(f->path[i], &options, &f->voice[i]));
    }
    pieces_cut(f);
    return 0;
}

static int teardown(void **state)
{
    struct fixture *const f = *state;
    for (int i = 0; i < 2; i++) {
        mx_voice_close(f->voice[i]);
        mx_free(f->path[i]);
    }
    folder_remove(f->folder);
    free(f);
    return 0;
}

static struct mx_speak *engine(struct fixture *f, int which, int32_t pieces)
{
    const struct mx_model_capacity room = mx_voice_room(pieces);
    struct mx_speak *speak;
    must(mx_voice_speak_create(f->voice[which], &room, &speak));
    return speak;
}

/* The samples of a spoken piece in parts of `frames`, `room` at a time. */
static int64_t sound_in(struct mx_speak *speak, int32_t piece, int64_t frames, size_t room, float *to)
{
    size_t all = 0, count;
    must(mx_speak_sound_begin(speak, piece));
    do {
        must(mx_speak_sound_next(speak, frames, to + all, room < SAMPLES_MAX - all ? room : SAMPLES_MAX - all, &count));
        all += count;
    } while (count > 0);
    return (int64_t)all;
}

static int64_t sound(struct mx_speak *speak, int32_t piece, int64_t frames, float *to)
{
    return sound_in(speak, piece, frames, SAMPLES_MAX, to);
}

static void alone_make(struct fixture *f, int which)
{
    struct mx_speak *const speak = engine(f, which, 1);
    for (int i = 0; i < PIECES; i++) {
        int32_t count = 1;
        must(mx_speak_pieces(speak, &f->pieces[i], &count));
        f->samples[i] = mx_speak_samples(speak, 0);
        memcpy(f->durations[i], mx_speak_durations(speak, 0), (size_t)f->pieces[i].count * sizeof(int32_t));
        assert_int_equal(sound(speak, 0, 1 << 20, f->alone[i]), f->samples[i]);
    }
    mx_speak_destroy(speak);
}

static void expect_alone(struct fixture *f, struct mx_speak *speak, int32_t place, int which, int64_t frames)
{
    assert_int_equal(mx_speak_samples(speak, place), f->samples[which]);
    assert_memory_equal(mx_speak_durations(speak, place), f->durations[which],
                        (size_t)f->pieces[which].count * sizeof(int32_t));
    assert_int_equal(sound(speak, place, frames, f->again), f->samples[which]);
    for (int64_t i = 0; i < f->samples[which]; i++)
        if (memcmp(&f->again[i], &f->alone[which][i], sizeof(float)) != 0)
            fail_msg("piece %d in place %d, parts of %d: sample %d is %.9g and should be %.9g", which, (int)place,
                     (int)frames, (int)i, (double)f->again[i], (double)f->alone[which][i]);
}

static void same_in_company(void **state)
{
    static const int orders[][PIECES] = {
        {0, 1, 2, 3, 4, 5}, {5, 4, 3, 2, 1, 0}, {2, 2, 5, 0, 2, 3}, {4, 0, 4, 1, 5, 4}};
    static const int64_t parts[] = {1 << 20, 7, 32, 100};
    struct fixture *const f = *state;
    for (int which = 0; which < 2; which++) {
        alone_make(f, which);
        struct mx_speak *const speak = engine(f, which, 8);
        for (int o = 0; o < 4; o++) {
            struct mx_speak_piece pieces[PIECES];
            int32_t count = PIECES;
            for (int i = 0; i < PIECES; i++) pieces[i] = f->pieces[orders[o][i]];
            must(mx_speak_pieces(speak, pieces, &count));
            assert_int_equal(count, PIECES);
            /* Their sounds in any order, one of them twice. */
            for (int32_t i = PIECES - 1; i >= 0; i--) expect_alone(f, speak, i, orders[o][i], parts[(o + i) % 4]);
            expect_alone(f, speak, 3, orders[o][3], parts[o]);
        }
        mx_speak_destroy(speak);
    }
}

/* Options that two pieces differ in must not be those of the other: the sounds differ, too. */
static void options_matter(void **state)
{
    struct fixture *const f = *state;
    struct mx_speak *const speak = engine(f, 0, 4);
    struct mx_speak_piece pieces[4] = {f->pieces[1], f->pieces[1], f->pieces[1], f->pieces[1]};
    int32_t count = 4;
    pieces[1].seed++;
    pieces[2].pitch_semitones = 7;
    pieces[3].voice = f->vectors[1];
    must(mx_speak_pieces(speak, pieces, &count));
    assert_int_equal(count, 4);
    for (int32_t i = 0; i < 4; i++) f->samples[i] = sound(speak, i, 50, f->alone[i]);
    for (int32_t i = 1; i < 4; i++)
        assert_true(f->samples[i] != f->samples[0] ||
                    memcmp(f->alone[i], f->alone[0], (size_t)f->samples[0] * sizeof(float)) != 0);
    assert_int_equal(f->samples[1], f->samples[0]);
    mx_speak_destroy(speak);
}

/* The silence around a sound, and its volume, do not change it, and come out in the same way from buffers of any size. */
static void silence_and_volume(void **state)
{
    enum { BEFORE = 441, AFTER = 1323 }; /* 20 and 60 ms */
    static const size_t rooms[] = {1, 100, 440, 441, 442, 4096, SAMPLES_MAX};
    struct fixture *const f = *state;
    for (int which = 0; which < 2; which++) {
        struct mx_speak *const speak = engine(f, which, 1);
        struct mx_speak_piece piece = f->pieces[1];
        int32_t count = 1;
        alone_make(f, which);
        piece.before_ms = 20;
        piece.pause_ms = 60;
        piece.volume = 0.3;
        must(mx_speak_pieces(speak, &piece, &count));
        const struct mx_speak_length length = mx_speak_length(speak, 0);
        assert_int_equal(length.before, BEFORE);
        assert_int_equal(length.sound, f->samples[1]);
        assert_int_equal(length.after, AFTER);
        assert_int_equal(mx_speak_samples(speak, 0), BEFORE + f->samples[1] + AFTER);
        for (size_t r = 0; r < sizeof rooms / sizeof *rooms; r++) {
            memset(f->again, 1, sizeof f->again);
            assert_int_equal(sound_in(speak, 0, 9, rooms[r], f->again), mx_speak_samples(speak, 0));
            for (int64_t i = 0; i < BEFORE + f->samples[1] + AFTER; i++) {
                const bool silent = i < BEFORE || i >= BEFORE + f->samples[1];
                assert_true(f->again[i] == (silent ? 0 : 0.3f * f->alone[1][i - BEFORE]));
            }
        }
        mx_speak_destroy(speak);
    }
}

/* ---- texts ---- */

static const char story[] = "one two three, four. five six seven eight nine?\n\nten eleven. twelve thirteen fourteen!";

/* As mx_service_read gives it. */
static float *service_speak(const char *path, size_t *count)
{
    struct mx_service_options options = MX_SERVICE_OPTIONS_DEFAULT;
    struct mx_service_text how = MX_SERVICE_TEXT_DEFAULT;
    struct mx_service *service;
    struct mx_service_job *job;
    float *const samples = mx_alloc(SAMPLES_MAX * 4, sizeof *samples);
    size_t more;
    int rc;
    options.voices = &path;
    options.voice_count = 1;
    how.seed = 3;
    assert_non_null(samples);
    must(mx_service_open(&options, &service));
    must(mx_service_begin(service, &how, &job));
    must(mx_service_add(job, story, sizeof story - 1));
    must(mx_service_finish(job));
    *count = 0;
    while ((rc = mx_service_read(job, samples + *count, SAMPLES_MAX * 4 - *count, &more, -1)) > 0) *count += more;
    must(rc);
    mx_service_end(job);
    mx_service_close(service);
    return samples;
}

static float *speaker_speak(struct mx_voice *voice, size_t *count)
{
    struct mx_speaking how = MX_SPEAKING_DEFAULT;
    struct mx_speaker *speaker;
    float *samples;
    how.seed = 3;
    must(mx_speaker_create(voice, &speaker));
    must(mx_speaker_begin(speaker, story, sizeof story - 1, &how));
    must(mx_speaker_rest(speaker, &samples, count));
    mx_speaker_destroy(speaker);
    return samples;
}

/* As src/run/observer/samples.c does it: with an engine of another size, whose sounds are made as a whole. */
static float *sample_speak(struct mx_voice *voice, size_t *count)
{
    const struct mx_model_capacity room = {
        .sequences = 3, .tokens = 300, .frames = 4800, .references = 60, .longest_tokens = 200};
    const struct mx_speak_sound sound = {.vocoder = voice->vocoder.loaded ? &voice->vocoder.config : NULL,
                                         .vocoder_parameters = mx_slice_at(voice->vocoder.weights, 0),
                                         .rounds = voice->rounds,
                                         .projections = voice->projections};
    struct mx_speak *speak;
    struct mx_speaker *speaker;
    struct mx_speak_script *script;
    const float *vector;
    float *samples;
    must(mx_voice_vector(voice, NULL, &vector));
    must(mx_voice_engine_create(voice, &room, &sound, &speak));
    must(mx_speaker_create_on(speak, &speaker));
    const struct mx_speak_script_options how = mx_speak_script_options_of(speak);
    must(mx_speak_script_open(&how, story, sizeof story - 1, &script));
    mx_speaker_begin_script(speaker, script, vector, 3);
    must(mx_speaker_rest(speaker, &samples, count));
    mx_speaker_destroy(speaker);
    mx_speak_destroy(speak);
    return samples;
}

static void one_sound_of_a_text(void **state)
{
    struct fixture *const f = *state;
    for (int which = 0; which < 2; which++) {
        struct mx_voice *voice;
        size_t counts[3];
        must(mx_voice_open(f->path[which], NULL, &voice));
        float *const sounds[] = {speaker_speak(voice, &counts[0]), service_speak(f->path[which], &counts[1]),
                                 sample_speak(voice, &counts[2])};
        assert_true(counts[0] > 22050);
        for (int i = 1; i < 3; i++) {
            assert_int_equal(counts[i], counts[0]);
            assert_memory_equal(sounds[i], sounds[0], counts[0] * sizeof(float));
        }
        for (int i = 0; i < 3; i++) mx_free(sounds[i]);
        mx_voice_close(voice);
    }
}

/* Fewer pieces are spoken where they do not fit together, and at least one. */
static void little_room(void **state)
{
    struct fixture *const f = *state;
    const struct mx_model_capacity room = {
        .sequences = 4, .tokens = 100, .frames = 330, .references = 10, .longest_tokens = 80, .longest_frames = 330};
    struct mx_speak *speak;
    alone_make(f, 0);
    must(mx_voice_speak_create(f->voice[0], &room, &speak));
    for (int at = 0; at < PIECES;) {
        int32_t count = PIECES - at;
        must(mx_speak_pieces(speak, f->pieces + at, &count));
        assert_true(count >= 1 && count <= 4);
        for (int32_t i = 0; i < count; i++) expect_alone(f, speak, i, at + i, 64);
        at += count;
    }
    /* One that cannot fit alone. */
    struct mx_speak_piece slow = f->pieces[PIECES - 1];
    int32_t count = 1;
    slow.speed = 0.25;
    assert_int_equal(mx_speak_pieces(speak, &slow, &count), MX_ERR_ARGUMENT);
    assert_int_equal(mx_speak_sound_begin(speak, 0), MX_ERR_ARGUMENT);
    count = 1;
    must(mx_speak_pieces(speak, f->pieces, &count));
    expect_alone(f, speak, 0, 0, 64);
    mx_speak_destroy(speak);
}

static void refusals(void **state)
{
    struct fixture *const f = *state;
    struct mx_speak *const speak = engine(f, 0, 2);
    struct mx_speak_piece wrong[7];
    const int32_t unknown[] = {MX_TOKEN_BOS, 1000, MX_TOKEN_EOS}, negative[] = {MX_TOKEN_BOS, -1, MX_TOKEN_EOS};
    float audio[10];
    size_t samples;
    for (int i = 0; i < 7; i++) wrong[i] = f->pieces[0];
    wrong[0].speed = 0;
    wrong[1].pitch_semitones = 25;
    wrong[2].language = 1;
    wrong[3].count = 0;
    wrong[4].tokens = unknown;
    wrong[5].tokens = negative;
    wrong[4].count = wrong[5].count = 3;
    wrong[6].count = 100000;
    for (int i = 0; i < 7; i++) {
        struct mx_speak_piece two[] = {f->pieces[0], wrong[i]};
        int32_t count = 1;
        assert_int_equal(mx_speak_pieces(speak, &wrong[i], &count), MX_ERR_ARGUMENT);
        assert_string_not_equal(mx_error_last()->hint, "");
        count = 2;
        if (i < 6) assert_int_equal(mx_speak_pieces(speak, two, &count), MX_ERR_ARGUMENT);
    }
    int32_t none = 0;
    assert_int_equal(mx_speak_pieces(speak, f->pieces, &none), MX_ERR_ARGUMENT);
    assert_int_equal(mx_speak_sound_next(speak, 10, audio, 10, &samples), MX_ERR_ARGUMENT);
    int32_t one = 1;
    must(mx_speak_pieces(speak, f->pieces, &one));
    assert_int_equal(mx_speak_sound_begin(speak, 1), MX_ERR_ARGUMENT);
    assert_int_equal(mx_speak_sound_begin(speak, -1), MX_ERR_ARGUMENT);
    must(mx_speak_sound_begin(speak, 0));
    assert_int_equal(mx_speak_sound_next(speak, 0, audio, 10, &samples), MX_ERR_ARGUMENT);
    mx_speak_destroy(speak);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_in_company),     cmocka_unit_test(options_matter), cmocka_unit_test(silence_and_volume),
        cmocka_unit_test(one_sound_of_a_text), cmocka_unit_test(little_room),    cmocka_unit_test(refusals),
    };
    one_core();
    return cmocka_run_group_tests(tests, setup, teardown);
}

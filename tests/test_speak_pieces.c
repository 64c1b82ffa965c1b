/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The engine with a voice of random weights (support/voice_rig.h): a piece sounds the same alone, in any company, in any
 * order and in parts of any size, bit for bit, with a vocoder and by Griffin–Lim.
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
#include "speech/voice_internal.h"
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
static void pieces_make(struct fixture *f)
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
    pieces_make(f);
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

/* The sound of a spoken piece in parts of `frames`. */
static int64_t sound(struct mx_speak *speak, int32_t piece, int64_t frames, float *to)
{
    int64_t all = 0, count;
    const float *audio;
    must(mx_speak_sound_begin(speak, piece));
    for (;;) {
        must(mx_speak_sound_next(speak, frames, &audio, &count));
        if (count == 0) return all;
        assert_true(all + count <= SAMPLES_MAX);
        memcpy(to + all, audio, (size_t)count * sizeof *to);
        all += count;
    }
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
    const float *audio;
    int64_t samples;
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
    assert_int_equal(mx_speak_sound_next(speak, 10, &audio, &samples), MX_ERR_ARGUMENT);
    int32_t one = 1;
    must(mx_speak_pieces(speak, f->pieces, &one));
    assert_int_equal(mx_speak_sound_begin(speak, 1), MX_ERR_ARGUMENT);
    assert_int_equal(mx_speak_sound_begin(speak, -1), MX_ERR_ARGUMENT);
    must(mx_speak_sound_begin(speak, 0));
    assert_int_equal(mx_speak_sound_next(speak, 0, &audio, &samples), MX_ERR_ARGUMENT);
    mx_speak_destroy(speak);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_in_company),
        cmocka_unit_test(options_matter),
        cmocka_unit_test(little_room),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}

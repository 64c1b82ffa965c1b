/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The extractor (batches, capacity, memory), augmentation (a pure function of seed, epoch and sample) and
 * statistics (the same in any order).
 */
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
#include "features/statistics.h"
#include "myxtts/budget.h"
#include "myxtts/error.h"
#include "support/sound.h"

#define BANDS      80
#define UTTERANCES 5
#define SAMPLES    40000

static struct op_cpu cpu;
static struct mx_stream *stream;

static int setup(void **state)
{
    (void)state;
    if (op_cpu_open(&cpu, 1, 0) < 0) return -1;
    return mx_stream_create(cpu.device, "extract", &stream);
}

static int teardown(void **state)
{
    (void)state;
    mx_stream_release(stream);
    op_cpu_close(&cpu);
    return 0;
}

/* A batch of voices of different lengths, one of them empty. */
static const int32_t offsets[UTTERANCES + 1] = {0, 9000, 9700, 9700, 30001, SAMPLES};

static float *batch_audio(void)
{
    float *x = sound_noise(SAMPLES, 0.02f, 1);
    for (int u = 0; u < UTTERANCES; u++) {
        const int32_t n = offsets[u + 1] - offsets[u];
        float *voice = sound_glide(n, 100 + 40 * u, 200 + 10 * u, 1, 6, 0.2f);
        for (int32_t i = 0; i < n; i++) x[offsets[u] + i] += voice[i];
        mx_free(voice);
    }
    return x;
}

/* Everything of one run, in one array: mel, energy, pitch. */
struct run {
    int64_t frames;
    float *mel, *energy, *pitch;
};

static void run_batch(struct mx_extract *extract, const struct mx_extract_batch *batch, struct run *out)
{
    struct mx_extract_features features;
    if (mx_extract_submit(extract, stream, batch, &features) < 0) fail_msg("%s", mx_error_last()->message);
    out->frames = features.frames.rows;
    out->mel = mx_alloc((size_t)out->frames * (BANDS + 2), sizeof(float));
    assert_non_null(out->mel);
    out->energy = out->mel + out->frames * BANDS;
    out->pitch = out->energy + out->frames;
    assert_int_equal(mx_extract_read(extract, stream, out->mel, out->energy, out->pitch), 0);
}

static bool same(const struct run *a, const struct run *b)
{
    return a->frames == b->frames && memcmp(a->mel, b->mel, (size_t)a->frames * (BANDS + 2) * sizeof(float)) == 0;
}

static void a_batch_is_its_utterances(void **state)
{
    (void)state;
    float *x = batch_audio();
    struct mx_extract *extract = NULL;
    const struct mx_extract_options options = {.samples_max = SAMPLES, .utterances_max = UTTERANCES};
    const struct mx_extract_batch batch = {.audio = x, .offsets = offsets, .count = UTTERANCES};
    struct run all;
    assert_int_equal(mx_extract_create(cpu.device, &options, &extract), 0);
    run_batch(extract, &batch, &all);
    const int32_t *frames = mx_extract_frames(extract);
    int32_t first[UTTERANCES + 1];
    memcpy(first, frames, sizeof first);
    for (int u = 0; u < UTTERANCES; u++) {
        struct sound_features alone;
        sound_features(cpu.device, x + offsets[u], offsets[u + 1] - offsets[u], &alone);
        assert_int_equal(alone.frames, first[u + 1] - first[u]);
        const size_t n = (size_t)alone.frames;
        assert_memory_equal(alone.mel, all.mel + (int64_t)first[u] * BANDS, n * BANDS * sizeof(float));
        assert_memory_equal(alone.energy, all.energy + first[u], n * sizeof(float));
        assert_memory_equal(alone.pitch, all.pitch + first[u], n * sizeof(float));
        sound_features_release(&alone);
    }
    mx_free(all.mel);
    mx_extract_destroy(extract);
    mx_free(x);
}

static void a_batch_allocates_nothing(void **state)
{
    (void)state;
    float *x = batch_audio();
    struct mx_extract *extract = NULL;
    struct mx_extract_features features;
    struct mx_augment_draw draws[UTTERANCES];
    const struct mx_augment_options noisy = {.noise_share = 1, .snr_max_db = 20, .band_masks = 1, .band_width_max = 8};
    const struct mx_extract_options options = {.samples_max = SAMPLES, .utterances_max = UTTERANCES, .span_max = 1};
    const struct mx_extract_batch batch = {.audio = x, .offsets = offsets, .count = UTTERANCES, .draws = draws};
    for (int u = 0; u < UTTERANCES; u++) mx_augment_draw(&noisy, 1, 2, (uint64_t)u, BANDS, &draws[u]);
    assert_int_equal(mx_extract_create(cpu.device, &options, &extract), 0);
    assert_int_equal(mx_extract_submit(extract, stream, &batch, &features), 0);
    assert_int_equal(mx_stream_sync(stream), 0);
    const uint64_t before = mx_alloc_count();
    for (int i = 0; i < 3; i++) {
        assert_int_equal(mx_extract_submit(extract, stream, &batch, &features), 0);
        assert_int_equal(mx_stream_sync(stream), 0);
    }
    assert_true(mx_alloc_count() == before);
    mx_extract_destroy(extract);
    mx_free(x);
}

static void memory_is_charged_and_returned(void **state)
{
    (void)state;
    static struct mx_budget_stats stats;
    struct mx_extract *extract = NULL;
    const struct mx_extract_options options = {.samples_max = SAMPLES, .utterances_max = UTTERANCES, .span_max = 2};
    mx_budget_stats(mx_device_budget(cpu.device), &stats);
    const uint64_t before = stats.current_bytes;
    assert_int_equal(mx_extract_create(cpu.device, &options, &extract), 0);
    mx_budget_stats(mx_device_budget(cpu.device), &stats);
    assert_true(stats.current_bytes - before == mx_extract_bytes(&options));
    bool named = false;
    for (int i = 0; i < stats.owner_count; i++) named = named || strcmp(stats.owners[i].name, "features") == 0;
    assert_true(named);
    mx_extract_destroy(extract);
    mx_budget_stats(mx_device_budget(cpu.device), &stats);
    assert_true(stats.current_bytes == before);
    /* A failure half way leaves nothing behind. */
    for (uint64_t nth = 1; nth < 20; nth++) {
        mx_alloc_fail_at(nth);
        const int rc = mx_extract_create(cpu.device, &options, &extract);
        mx_alloc_fail_at(0);
        if (rc == 0)
            mx_extract_destroy(extract);
        else
            assert_null(extract);
        mx_budget_stats(mx_device_budget(cpu.device), &stats);
        assert_true(stats.current_bytes == before);
    }
}

static void too_large_batches_are_refused(void **state)
{
    (void)state;
    float *x = batch_audio();
    struct mx_extract *extract = NULL;
    struct mx_extract_features features;
    const struct mx_augment_draw masked[UTTERANCES] = {{.mask_count = 1}};
    static const int32_t backwards[] = {0, 9000, 8000}, late[] = {5, 9000};
    const struct mx_extract_options few = {.samples_max = SAMPLES, .utterances_max = 4};
    const struct mx_extract_options small = {
        .samples_max = SAMPLES - 1, .utterances_max = UTTERANCES, .no_pitch = true};
    const struct mx_extract_batch whole = {.audio = x, .offsets = offsets, .count = UTTERANCES};
    const struct mx_extract_batch wrong[] = {whole,
                                             {.audio = x, .offsets = backwards, .count = 2},
                                             {.audio = x, .offsets = late, .count = 1},
                                             {.audio = x, .offsets = offsets, .count = -1},
                                             {.audio = x, .offsets = offsets, .count = 2, .draws = masked}};
    assert_int_equal(mx_extract_create(cpu.device, &few, &extract), 0);
    assert_int_equal(mx_extract_submit(extract, stream, &whole, &features), MX_ERR_ARGUMENT);
    mx_extract_destroy(extract);
    assert_int_equal(mx_extract_create(cpu.device, &small, &extract), 0);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        mx_error_clear();
        assert_int_equal(mx_extract_submit(extract, stream, &wrong[i], &features), MX_ERR_ARGUMENT);
        assert_true(mx_error_last()->hint[0] != 0);
    }
    float pitch;
    assert_int_equal(mx_extract_read(extract, stream, NULL, NULL, &pitch), MX_ERR_ARGUMENT);
    assert_int_equal(mx_extract_normalise(extract, 0, 0), MX_ERR_ARGUMENT);
    assert_int_equal(mx_extract_normalise(extract, NAN, 1), MX_ERR_ARGUMENT);
    mx_extract_destroy(extract);
    for (int i = 0; i < 3; i++) {
        struct mx_extract_options bad = {
            .samples_max = i == 0 ? 0 : 10, .utterances_max = i == 1 ? 0 : 1, .span_max = i == 2 ? 9 : 0};
        assert_int_equal(mx_extract_create(cpu.device, &bad, &extract), MX_ERR_ARGUMENT);
        assert_null(extract);
    }
    mx_free(x);
}

static void normalisation_makes_mean_and_deviation(void **state)
{
    (void)state;
    float *x = batch_audio();
    struct mx_extract *extract = NULL;
    const struct mx_extract_options options = {.samples_max = SAMPLES, .utterances_max = UTTERANCES};
    const struct mx_extract_batch batch = {.audio = x, .offsets = offsets, .count = UTTERANCES};
    struct mx_statistics before = {0}, after = {0};
    struct run plain, normal;
    assert_int_equal(mx_extract_create(cpu.device, &options, &extract), 0);
    run_batch(extract, &batch, &plain);
    assert_int_equal(mx_statistics_add(&before, plain.mel, (size_t)plain.frames * BANDS), 0);
    assert_int_equal(mx_extract_normalise(extract, mx_statistics_mean(&before), mx_statistics_deviation(&before)), 0);
    run_batch(extract, &batch, &normal);
    assert_int_equal(mx_statistics_add(&after, normal.mel, (size_t)normal.frames * BANDS), 0);
    assert_true(fabs(mx_statistics_mean(&after)) < 1e-5);
    assert_true(fabs(mx_statistics_deviation(&after) - 1) < 1e-5);
    mx_free(plain.mel);
    mx_free(normal.mel);
    mx_extract_destroy(extract);
    mx_free(x);
}

/* ---- augmentation ---- */

static const struct mx_augment_options strong = {.gain_db = 6,
                                                 .noise_share = 0.5,
                                                 .snr_min_db = 10,
                                                 .snr_max_db = 30,
                                                 .speed = 0.1,
                                                 .band_masks = 2,
                                                 .band_width_max = 12,
                                                 .time_masks = 2,
                                                 .time_share_max = 0.1};

static void draws_are_pure_and_within_bounds(void **state)
{
    (void)state;
    enum { DRAWS = 2000 };
    int noisy = 0, different = 0;
    double gain = 0, speed = 0;
    for (uint64_t s = 0; s < DRAWS; s++) {
        struct mx_augment_draw a, b, other;
        memset(&a, 0, sizeof a);
        memset(&b, 0, sizeof b);
        mx_augment_draw(&strong, 7, 3, s, BANDS, &a);
        mx_augment_draw(&strong, 7, 4, s, BANDS, &other);
        mx_augment_draw(&strong, 7, 3, s, BANDS, &b);
        assert_true(a.gain == b.gain && a.noise_ratio == b.noise_ratio && a.stream == b.stream && a.speed == b.speed);
        different += a.gain != other.gain && a.stream != other.stream && a.speed != other.speed;
        noisy += a.noise_ratio > 0;
        gain += 20 * log10((double)a.gain) / DRAWS;
        speed += log(a.speed) / DRAWS;
        assert_true(fabs(20 * log10((double)a.gain)) <= 6.001);
        assert_true(a.speed >= 1 / 1.1 - 1e-9 && a.speed <= 1.1 + 1e-9);
        if (a.noise_ratio > 0) assert_true(a.noise_ratio <= 0.3163f && a.noise_ratio >= 0.0316f);
        assert_int_equal(a.mask_count, 4);
        int32_t spans[8][4];
        mx_augment_spans(&a, 400, BANDS, 8, spans);
        for (int i = 0; i < 8; i++) {
            const bool time = i >= 2 && i < 4;
            if (i >= 4)
                assert_true(spans[i][1] == 0 && spans[i][3] == 0);
            else if (time)
                assert_true(spans[i][0] >= 0 && spans[i][1] <= 40 && spans[i][0] + spans[i][1] <= 400);
            else
                assert_true(spans[i][2] >= 0 && spans[i][3] <= 12 && spans[i][2] + spans[i][3] <= BANDS);
        }
    }
    assert_true(different > DRAWS - 5);
    assert_true(noisy > 0.45 * DRAWS && noisy < 0.55 * DRAWS);
    assert_true(fabs(gain) < 0.3 && fabs(speed) < 0.01);
}

/* Switching one thing off leaves the others as they were. */
static void draws_do_not_meddle(void **state)
{
    (void)state;
    struct mx_augment_options less = strong;
    struct mx_augment_draw all, some;
    less.noise_share = 0;
    less.band_masks = 0;
    mx_augment_draw(&strong, 1, 1, 17, BANDS, &all);
    mx_augment_draw(&less, 1, 1, 17, BANDS, &some);
    assert_true(all.gain == some.gain && all.speed == some.speed && some.noise_ratio == 0);
    assert_int_equal(some.mask_count, 2);
    for (int i = 0; i < 2; i++)
        assert_true(some.masks[i].time && some.masks[i].place == all.masks[2 + i].place &&
                    some.masks[i].size == all.masks[2 + i].size);
}

static void off_is_off(void **state)
{
    (void)state;
    const struct mx_augment_options off = {0};
    struct mx_augment_draw draws[UTTERANCES];
    float *x = batch_audio();
    struct mx_extract *extract = NULL;
    const struct mx_extract_options options = {.samples_max = SAMPLES, .utterances_max = UTTERANCES, .span_max = 2};
    struct mx_extract_batch batch = {.audio = x, .offsets = offsets, .count = UTTERANCES};
    struct run plain, drawn;
    assert_int_equal(mx_augment_check(&off), 0);
    assert_false(mx_augment_active(&off));
    assert_true(mx_augment_active(&strong));
    for (int u = 0; u < UTTERANCES; u++) {
        mx_augment_draw(&off, 9, 9, (uint64_t)u, BANDS, &draws[u]);
        assert_true(draws[u].gain == 1 && draws[u].noise_ratio == 0 && draws[u].speed == 1 && draws[u].mask_count == 0);
    }
    assert_int_equal(mx_extract_create(cpu.device, &options, &extract), 0);
    run_batch(extract, &batch, &plain);
    batch.draws = draws;
    run_batch(extract, &batch, &drawn);
    assert_true(same(&plain, &drawn));
    mx_free(plain.mel);
    mx_free(drawn.mel);
    mx_extract_destroy(extract);
    mx_free(x);
}

/* The same utterance with the same draw has the same features at another place of another batch, under gain, noise and
 * masks; masked places are 0. */
static void augmentation_does_not_see_the_batch(void **state)
{
    (void)state;
    const struct mx_augment_options noisy = {.gain_db = 3,
                                             .noise_share = 1,
                                             .snr_min_db = 15,
                                             .snr_max_db = 15,
                                             .band_masks = 1,
                                             .band_width_max = 20,
                                             .time_masks = 1,
                                             .time_share_max = 0.3};
    float *x = batch_audio();
    struct mx_augment_draw draws[UTTERANCES];
    struct mx_extract *extract = NULL;
    const struct mx_extract_options options = {
        .samples_max = SAMPLES, .utterances_max = UTTERANCES, .span_max = mx_augment_span_count(&noisy)};
    struct mx_extract_batch batch = {.audio = x, .offsets = offsets, .count = UTTERANCES, .draws = draws, .seed = 5};
    struct run all, alone;
    for (int u = 0; u < UTTERANCES; u++) mx_augment_draw(&noisy, 5, 1, 100 + (uint64_t)u, BANDS, &draws[u]);
    assert_int_equal(mx_extract_create(cpu.device, &options, &extract), 0);
    run_batch(extract, &batch, &all);
    int32_t first[UTTERANCES + 1], spans[2][4], masked = 0;
    memcpy(first, mx_extract_frames(extract), sizeof first);
    for (int u = 0; u < UTTERANCES; u++) {
        const int32_t own[] = {0, offsets[u + 1] - offsets[u]};
        const struct mx_extract_batch one = {
            .audio = x + offsets[u], .offsets = own, .count = 1, .draws = &draws[u], .seed = 5};
        run_batch(extract, &one, &alone);
        const size_t n = (size_t)alone.frames;
        assert_memory_equal(alone.mel, all.mel + (int64_t)first[u] * BANDS, n * BANDS * sizeof(float));
        assert_memory_equal(alone.pitch, all.pitch + first[u], n * sizeof(float));
        mx_augment_spans(&draws[u], alone.frames, BANDS, 2, spans);
        for (int32_t i = 0; i < 2; i++)
            for (int32_t f = spans[i][0]; f < spans[i][0] + spans[i][1]; f++)
                for (int32_t b = spans[i][2]; b < spans[i][2] + spans[i][3]; b++, masked++)
                    assert_true(alone.mel[f * BANDS + b] == 0);
        mx_free(alone.mel);
    }
    assert_true(masked > 0);
    mx_free(all.mel);
    mx_extract_destroy(extract);
    mx_free(x);
}

/* 10 % faster is 10 % shorter and 10 % higher. */
static void speed_changes_length_and_pitch(void **state)
{
    (void)state;
    const int64_t count = SOUND_RATE;
    static const double speeds[] = {0.9, 1.0, 1.1, 1.02};
    float *x = sound_glide(count, 200, 200, 1, 6, 0.2f);
    for (int i = 0; i < 4; i++) {
        float *y = NULL;
        size_t length = 0;
        struct sound_features f;
        assert_int_equal(mx_augment_resample(x, (size_t)count, speeds[i], &y, &length), 0);
        assert_int_equal(length, llround((double)count / speeds[i]));
        assert_int_equal(length, mx_augment_resampled((size_t)count, speeds[i]));
        sound_features(cpu.device, y, (int64_t)length, &f);
        for (int64_t k = 4; k < f.frames - 4; k++) assert_true(fabs((double)f.pitch[k] / (200 * speeds[i]) - 1) < 0.01);
        sound_features_release(&f);
        mx_free(y);
    }
    float *none = NULL;
    size_t length = 1;
    assert_int_equal(mx_augment_resample(x, 100, 3, &none, &length), MX_ERR_ARGUMENT);
    assert_null(none);
    assert_int_equal(mx_augment_resample(x, 0, 1.1, &none, &length), 0);
    assert_int_equal(length, 0);
    mx_free(none);
    mx_free(x);
}

static void absurd_augmentation_is_refused(void **state)
{
    (void)state;
    for (int i = 0; i < 9; i++) {
        struct mx_augment_options o = strong;
        switch (i) {
        case 0:
            o.gain_db = -1;
            break;
        case 1:
            o.noise_share = 1.5;
            break;
        case 2:
            o.snr_min_db = 40;
            break;
        case 3:
            o.speed = 0.9;
            break;
        case 4:
            o.band_masks = 5;
            break;
        case 5:
            o.time_masks = -1;
            break;
        case 6:
            o.time_share_max = NAN;
            break;
        case 7:
            o.band_width_max = -1;
            break;
        default:
            o.gain_db = NAN;
            break;
        }
        mx_error_clear();
        assert_int_equal(mx_augment_check(&o), MX_ERR_ARGUMENT);
        assert_true(mx_error_last()->hint[0] != 0);
    }
    assert_int_equal(mx_augment_check(&strong), 0);
}

/* ---- statistics ---- */

static void statistics_do_not_depend_on_order(void **state)
{
    (void)state;
    enum { COUNT = 10000 };
    float *x = sound_noise(COUNT, 3, 11);
    double sum = 0, squares = 0;
    struct mx_statistics whole = {0}, backwards = {0};
    for (int i = 0; i < COUNT; i++) {
        x[i] -= 5;
        sum += (double)x[i];
        squares += (double)x[i] * (double)x[i];
    }
    assert_int_equal(mx_statistics_add(&whole, x, COUNT), 0);
    for (int i = COUNT; i-- > 0;) assert_int_equal(mx_statistics_add(&backwards, &x[i], 1), 0);
    const double mean = mx_statistics_mean(&whole), deviation = mx_statistics_deviation(&whole);
    assert_true(fabs(mean - sum / COUNT) < 1e-7);
    assert_true(fabs(deviation - sqrt(squares / COUNT - sum / COUNT * (sum / COUNT))) < 1e-6);
    assert_true(mx_statistics_mean(&backwards) == mean && mx_statistics_deviation(&backwards) == deviation);
    mx_free(x);
}

static void statistics_of_odd_numbers(void **state)
{
    (void)state;
    struct mx_statistics s = {0};
    const float bad[] = {1, NAN}, large[] = {2e6f}, pitch[] = {0, 100, 0, 300}, alike[] = {7, 7, 7};
    const float huge[] = {1e6f, -1e6f};
    assert_true(mx_statistics_mean(&s) == 0 && mx_statistics_deviation(&s) == 1);
    assert_int_equal(mx_statistics_add(&s, bad, 2), MX_ERR_DATA);
    assert_int_equal(mx_statistics_add(&s, large, 1), MX_ERR_DATA);
    assert_true(s.count == 0);
    assert_int_equal(mx_statistics_add_positive(&s, pitch, 4), 0);
    assert_true(s.count == 2 && mx_statistics_mean(&s) == 200 && mx_statistics_deviation(&s) == 100);
    s = (struct mx_statistics){0};
    assert_int_equal(mx_statistics_add(&s, alike, 3), 0);
    assert_true(mx_statistics_mean(&s) == 7 && mx_statistics_deviation(&s) == 1);
    s = (struct mx_statistics){0};
    assert_int_equal(mx_statistics_add(&s, huge, 2), 0);
    assert_true(mx_statistics_mean(&s) == 0 && fabs(mx_statistics_deviation(&s) - 1e6) < 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_batch_is_its_utterances),
        cmocka_unit_test(a_batch_allocates_nothing),
        cmocka_unit_test(memory_is_charged_and_returned),
        cmocka_unit_test(too_large_batches_are_refused),
        cmocka_unit_test(normalisation_makes_mean_and_deviation),
        cmocka_unit_test(draws_are_pure_and_within_bounds),
        cmocka_unit_test(draws_do_not_meddle),
        cmocka_unit_test(off_is_off),
        cmocka_unit_test(augmentation_does_not_see_the_batch),
        cmocka_unit_test(speed_changes_length_and_pitch),
        cmocka_unit_test(absurd_augmentation_is_refused),
        cmocka_unit_test(statistics_do_not_depend_on_order),
        cmocka_unit_test(statistics_of_odd_numbers),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}

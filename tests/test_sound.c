/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Mel to sound: what was measured is spoken and measured again. Signals are made on the spot: voices of gliding
 * harmonics below formants, with bursts of noise and pauses between them.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "features/extract.h"
#include "myxtts/error.h"
#include "ops/case.h"
#include "support/rounding.h"
#include "vocoder/sound.h"

#define RATE     22050
#define LENGTH   33075 /* 1.5 s */
#define VOICES   3
#define BANDS    80
#define FRAMES   512 /* room */
#define DISTANCE 0.2

struct fixture {
    struct op_cpu cpu;
    struct mx_stream *stream;
};

static int setup(void **state)
{
    static struct fixture fixture;
    *state = &fixture;
    if (op_cpu_open(&fixture.cpu, 1, 0) < 0) return -1;
    return mx_stream_create(fixture.cpu.device, "test", &fixture.stream);
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    mx_stream_release(fixture->stream);
    op_cpu_close(&fixture->cpu);
    return 0;
}

/* Syllables of 0.25 s: a voice whose pitch glides around `hz`, then a burst of noise, then nothing. */
static void voice_fill(float *x, int32_t count, double hz, uint64_t seed)
{
    const double formants[][2] = {{700, 1200}, {300, 2300}, {500, 1000}, {400, 1800}};
    double phase = 0;
    for (int32_t i = 0; i < count; i++) {
        const double t = (double)i / RATE, part = fmod(t, 0.25) / 0.25;
        const double *const formant = formants[(int)(t / 0.25) % 4];
        phase += hz * (1 + 0.2 * sin(2 * M_PI * 1.3 * t)) / RATE;
        double sum = 0;
        for (int h = 1; h * hz * 1.2 < 7500; h++) {
            const double f = h * hz;
            double gain = 1.0 / (1 + h);
            for (int k = 0; k < 2; k++) gain += 0.6 * exp(-pow((f - formant[k]) / 120, 2));
            sum += gain * sin(2 * M_PI * h * phase);
        }
        const double noise = 2 * (double)mx_rng_uniform(seed, 1, (uint64_t)i) - 1;
        const double voiced = part < 0.6 ? sin(M_PI * part / 0.6) : 0;
        const double burst = part > 0.65 && part < 0.85 ? sin(M_PI * (part - 0.65) / 0.2) : 0;
        x[i] = (float)(0.08 * voiced * sum + 0.1 * burst * noise + 1e-4 * noise);
    }
}

/* Mel of packed audio; returns the frames. */
static int32_t measure(struct fixture *fixture, const float *audio, const int32_t *offsets, int32_t count, double mean,
                       double deviation, float *mel)
{
    const struct mx_extract_options options = {
        .samples_max = offsets[count] > 0 ? offsets[count] : 1, .utterances_max = count, .no_pitch = true};
    const struct mx_extract_batch batch = {.audio = audio, .offsets = offsets, .count = count};
    struct mx_extract_features features;
    struct mx_extract *extract;
    assert_int_equal(mx_extract_create(fixture->cpu.device, &options, &extract), 0);
    assert_int_equal(mx_extract_normalise(extract, mean, deviation), 0);
    assert_int_equal(mx_extract_submit(extract, fixture->stream, &batch, &features), 0);
    assert_int_equal(mx_extract_read(extract, fixture->stream, mel, NULL, NULL), 0);
    mx_extract_destroy(extract);
    return features.frames.rows;
}

/* Sound of a packed mel, with these options except the capacity; audio has room for all. */
static void speak(struct fixture *fixture, struct mx_sound_options options, const float *mel, const int32_t *frames,
                  int32_t count, float *audio, int32_t *offsets)
{
    struct mx_sound *waveform;
    struct mx_sound_audio sound;
    struct mx_buffer *buffer;
    options.frames_max = FRAMES;
    options.utterances_max = VOICES;
    const size_t bytes = (size_t)frames[count] * BANDS * sizeof *mel;
    assert_int_equal(mx_buffer_create(fixture->cpu.device, "test", bytes + 4, &buffer), 0);
    if (bytes > 0) assert_int_equal(mx_copy_upload(fixture->stream, mx_slice_at(buffer, 0), mel, bytes), 0);
    assert_int_equal(mx_sound_create(fixture->cpu.device, fixture->stream, &options, &waveform), 0);
    assert_int_equal(mx_sound_compute(waveform, fixture->stream, mx_slice_at(buffer, 0), frames, count, &sound), 0);
    assert_int_equal(sound.count, count);
    memcpy(offsets, sound.offsets, ((size_t)count + 1) * sizeof *offsets);
    memcpy(audio, sound.audio, (size_t)offsets[count] * sizeof *audio);
    mx_sound_destroy(waveform);
    mx_buffer_release(buffer);
}

/* A voice, its mel, and its frames. */
struct spoken {
    float audio[LENGTH], mel[FRAMES * BANDS];
    int32_t frames[2];
};

static void spoken_make(struct fixture *fixture, double hz, double mean, double deviation, struct spoken *out)
{
    const int32_t offsets[] = {0, LENGTH};
    voice_fill(out->audio, LENGTH, hz, 7);
    out->frames[0] = 0;
    out->frames[1] = measure(fixture, out->audio, offsets, 1, mean, deviation, out->mel);
}

/* Mean |log-mel difference| of all frames that are not silent (an e-fold below the loudest times 9). */
static double distance(const float *a, const float *b, int32_t frames)
{
    double sum = 0, peak = -INFINITY;
    int64_t count = 0;
    for (int32_t i = 0; i < frames * BANDS; i++) peak = fmax(peak, (double)a[i]);
    for (int32_t i = 0; i < frames * BANDS; i++) {
        if ((double)a[i] < peak - 9) continue;
        sum += fabs((double)a[i] - (double)b[i]);
        count++;
    }
    return sum / (double)count;
}

/* Mean distance of what is spoken in this many rounds and projections. */
static double spoken_distance(struct fixture *fixture, const struct spoken *spoken, int rounds, double momentum,
                              int projections)
{
    static float audio[FRAMES * 256], mel[FRAMES * BANDS];
    int32_t offsets[2];
    struct mx_sound_options options = MX_SOUND_OPTIONS_DEFAULT;
    options.rounds = rounds;
    options.momentum = momentum;
    options.projections = projections;
    speak(fixture, options, spoken->mel, spoken->frames, 1, audio, offsets);
    assert_int_equal(offsets[1], mx_sound_samples(MX_RECIPE_DEFAULT, spoken->frames[1]));
    assert_int_equal(measure(fixture, audio, offsets, 1, 0, 1, mel), spoken->frames[1]);
    return distance(spoken->mel, mel, spoken->frames[1]);
}

static void speaks_what_was_measured(void **state)
{
    static struct spoken spoken;
    static const double pitches[VOICES] = {95, 140, 220};
    for (int v = 0; v < VOICES; v++) {
        spoken_make(*state, pitches[v], 0, 1, &spoken);
        const double far = spoken_distance(*state, &spoken, MX_SOUND_GRIFFIN_ROUNDS, MX_SOUND_MOMENTUM, 0);
        if (!(far < DISTANCE)) fail_msg("the mel of %g Hz came back %g nepers away", pitches[v], far);
    }
}

static void comes_nearer(void **state)
{
    static struct spoken spoken;
    spoken_make(*state, 120, 0, 1, &spoken);
    const double first = spoken_distance(*state, &spoken, 1, 0.99, 0);
    const double some = spoken_distance(*state, &spoken, 8, 0.99, 0);
    const double many = spoken_distance(*state, &spoken, 64, 0.99, 0);
    const double plain = spoken_distance(*state, &spoken, 64, 0, 0);
    assert_true(some < 0.8 * first);
    assert_true(many < 0.8 * some);
    assert_true(many < plain); /* what the momentum is for */
}

static void projections_come_nearer(void **state)
{
    static struct spoken spoken;
    spoken_make(*state, 120, 0, 1, &spoken);
    const double none = spoken_distance(*state, &spoken, 16, 0.99, 0);
    const double one = spoken_distance(*state, &spoken, 16, 0.99, 1);
    const double four = spoken_distance(*state, &spoken, 16, 0.99, 4);
    if (!(one < 0.92 * none && four < 0.9 * one))
        fail_msg("with 0, 1 and 4 projections the mel came back %g, %g and %g nepers away", none, one, four);
}

/* ---- the transforms ---- */

/* Audio → spectrum → audio with the recipe's tables: the largest difference. */
static double inverse_error(struct fixture *fixture, const float *audio, const int32_t *offsets, int32_t count,
                            float *back)
{
    const struct mx_recipe *const r = MX_RECIPE_DEFAULT;
    int32_t frames[VOICES + 1] = {0}, longest = 0, longest_frames = 0;
    struct mx_recipe_tables tables;
    struct mx_buffer *buffer;
    for (int32_t i = 0; i < count; i++) {
        const int32_t samples = offsets[i + 1] - offsets[i], rows = (int32_t)mx_recipe_frames(r, samples);
        frames[i + 1] = frames[i] + rows;
        longest = samples > longest ? samples : longest;
        longest_frames = rows > longest_frames ? rows : longest_frames;
    }
    assert_int_equal(mx_recipe_tables_build(r, &tables), 0);
    const size_t samples = (size_t)offsets[count], rows = (size_t)frames[count], size = (size_t)r->fft_size;
    const size_t at[] = {0, (size_t)count + 1, 2 * ((size_t)count + 1), 2 * ((size_t)count + 1) + tables.count};
    const size_t spectrum = at[3] + samples, work = spectrum + rows * (size + 2), end = work + rows * size;
    assert_int_equal(mx_buffer_create(fixture->cpu.device, "test", end * 4, &buffer), 0);
    const struct mx_ragged packed_samples = {mx_slice_at(buffer, at[0]), count, offsets[count], longest};
    const struct mx_ragged packed_frames = {mx_slice_at(buffer, 4 * at[1]), count, frames[count], longest_frames};
    const struct mx_slice sound = mx_slice_at(buffer, 4 * at[3]);
    const struct mx_spectrum_args forward = {.audio = sound,
                                             .samples = packed_samples,
                                             .frames = packed_frames,
                                             .tables = mx_slice_at(buffer, 4 * at[2]),
                                             .spectrum = mx_slice_at(buffer, 4 * spectrum),
                                             .fft_size = r->fft_size,
                                             .hop = r->hop};
    const struct mx_overlap_add_args backward = {.spectrum = forward.spectrum,
                                                 .tables = forward.tables,
                                                 .audio = sound,
                                                 .samples = packed_samples,
                                                 .frames = packed_frames,
                                                 .work = mx_slice_at(buffer, 4 * work),
                                                 .fft_size = r->fft_size,
                                                 .hop = r->hop,
                                                 .least = 1e-8f};
    struct mx_stream *const stream = fixture->stream;
    assert_int_equal(mx_copy_upload(stream, packed_samples.offsets, offsets, ((size_t)count + 1) * 4), 0);
    assert_int_equal(mx_copy_upload(stream, packed_frames.offsets, frames, ((size_t)count + 1) * 4), 0);
    assert_int_equal(mx_copy_upload(stream, forward.tables, tables.data, tables.count * 4), 0);
    assert_int_equal(mx_copy_upload(stream, sound, audio, samples * 4), 0);
    assert_int_equal(mx_spectrum(stream, &forward), 0);
    assert_int_equal(mx_fill(stream, &(struct mx_fill_args){.x = sound, .count = (int64_t)samples, .value = NAN}), 0);
    assert_int_equal(mx_overlap_add(stream, &backward), 0);
    assert_int_equal(mx_copy_download(stream, back, sound, samples * 4), 0);
    assert_int_equal(mx_stream_sync(stream), 0);
    mx_buffer_release(buffer);
    mx_recipe_tables_release(&tables);
    double worst = 0;
    for (size_t i = 0; i < samples; i++) {
        const double far = fabs((double)back[i] - (double)audio[i]);
        if (!(far <= worst)) worst = far;
    }
    return worst;
}

static void transforms_are_inverse(void **state)
{
    static float audio[3 * LENGTH], back[3 * LENGTH];
    static const int32_t lengths[][VOICES] = {{LENGTH, LENGTH, LENGTH}, {1, 0, 20000}, {255, 256, 257}, {511, 1025, 2}};
    voice_fill(audio, 3 * LENGTH, 130, 3);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        int32_t offsets[VOICES + 1] = {0};
        for (int v = 0; v < VOICES; v++) offsets[v + 1] = offsets[v] + lengths[i][v];
        double peak = 0;
        for (int32_t k = 0; k < offsets[VOICES]; k++) peak = fmax(peak, fabs((double)audio[k]));
        /* Turns, products and sums of the stages, there and back; the last samples are divided by a window² of 1/4,
         * which doubles the error of their frame. */
        const double bound = 2 * mx_op_rounding(4, 6, (int64_t)log2(1024)) * peak;
        assert_true(inverse_error(*state, audio, offsets, VOICES, back) <= bound);
    }
}

/* ---- batches, ends and refusals ---- */

static void same_in_any_company(void **state)
{
    static struct spoken spoken[VOICES];
    static float mel[FRAMES * BANDS], together[FRAMES * 256], alone[FRAMES * 256], again[FRAMES * 256];
    struct mx_sound_options options = MX_SOUND_OPTIONS_DEFAULT;
    int32_t frames[VOICES + 1] = {0}, offsets[VOICES + 1], own[2];
    options.rounds = 5;
    for (int v = 0; v < VOICES; v++) {
        spoken_make(*state, 100 + 40 * v, 0, 1, &spoken[v]);
        spoken[v].frames[1] -= 11 * v; /* cut: other lengths */
        memcpy(mel + frames[v] * BANDS, spoken[v].mel, (size_t)spoken[v].frames[1] * BANDS * sizeof *mel);
        frames[v + 1] = frames[v] + spoken[v].frames[1];
    }
    speak(*state, options, mel, frames, VOICES, together, offsets);
    for (int v = 0; v < VOICES; v++) {
        speak(*state, options, spoken[v].mel, spoken[v].frames, 1, alone, own);
        assert_int_equal(own[1], offsets[v + 1] - offsets[v]);
        assert_memory_equal(alone, together + offsets[v], (size_t)own[1] * sizeof *alone);
    }
    /* The number of workers does not matter either: a device of one core. */
    struct fixture narrow = {0};
    assert_int_equal(op_cpu_open(&narrow.cpu, op_cpu_cores(), 0), 0);
    assert_int_equal(mx_stream_create(narrow.cpu.device, "test", &narrow.stream), 0);
    speak(&narrow, options, mel, frames, VOICES, again, offsets);
    assert_memory_equal(again, together, (size_t)offsets[VOICES] * sizeof *again);
    mx_stream_release(narrow.stream);
    op_cpu_close(&narrow.cpu);
    /* Another seed is another sound of the same mel. */
    options.seed = 1;
    speak(*state, options, mel, frames, VOICES, again, offsets);
    assert_memory_not_equal(again, together, (size_t)offsets[VOICES] * sizeof *again);
}

static void normalised_mel(void **state)
{
    static struct spoken plain, normal;
    static float one[FRAMES * 256], other[FRAMES * 256], moved[FRAMES * 256];
    struct mx_sound_options options = MX_SOUND_OPTIONS_DEFAULT;
    int32_t offsets[2];
    spoken_make(*state, 110, 0, 1, &plain);
    spoken_make(*state, 110, -4.5, 2.25, &normal);
    options.rounds = 2; /* rounding errors grow with every one of them */
    speak(*state, options, plain.mel, plain.frames, 1, one, offsets);
    /* There and back a mel is rounded four times: how far such a move of the plain one goes is what rounding may do. */
    rounding_move(plain.mel, plain.frames[1] * BANDS, 1, mx_op_rounding(4, 0, 1));
    speak(*state, options, plain.mel, plain.frames, 1, moved, offsets);
    options.mean = -4.5;
    options.deviation = 2.25;
    speak(*state, options, normal.mel, normal.frames, 1, other, offsets);
    double difference = 0, allowed = 0, power = 0;
    for (int32_t i = 0; i < offsets[1]; i++) {
        difference += pow((double)one[i] - (double)other[i], 2);
        allowed += pow((double)one[i] - (double)moved[i], 2);
        power += pow((double)one[i], 2);
    }
    assert_true(difference <= 4 * allowed);               /* twice as far */
    assert_true(power > 0 && 4 * allowed < 1e-6 * power); /* and that is little: another mean would be seen */
}

static void short_ones(void **state)
{
    static struct spoken spoken;
    static float audio[FRAMES * 256];
    const struct mx_sound_options options = MX_SOUND_OPTIONS_DEFAULT;
    int32_t offsets[VOICES + 1];
    spoken_make(*state, 150, 0, 1, &spoken);
    const int32_t nothing[] = {0, 0, 0};
    speak(*state, options, spoken.mel, nothing, 2, audio, offsets);
    assert_int_equal(offsets[2], 0);
    speak(*state, options, spoken.mel, nothing, 0, audio, offsets);
    assert_int_equal(offsets[0], 0);
    const int32_t few[] = {0, 1, 1, 3}; /* one frame, none, two */
    speak(*state, options, spoken.mel + 20 * BANDS, few, 3, audio, offsets);
    assert_int_equal(offsets[1], 128);
    assert_int_equal(offsets[2], 128);
    assert_int_equal(offsets[3], 128 + 256);
    double power = 0;
    for (int32_t i = 0; i < offsets[3]; i++) power += (double)audio[i] * (double)audio[i];
    assert_true(power > 0);
    for (int64_t f = 0; f < 5; f++)
        assert_int_equal(mx_recipe_frames(MX_RECIPE_DEFAULT, mx_sound_samples(MX_RECIPE_DEFAULT, f)), f);
}

static void refusals(void **state)
{
    struct fixture *const fixture = *state;
    static const struct mx_sound_options wrong[] = {
        {.deviation = 1, .rounds = 0, .frames_max = 1, .utterances_max = 1},
        {.deviation = 0, .rounds = 8, .frames_max = 1, .utterances_max = 1},
        {.deviation = 1, .rounds = 8, .momentum = 2, .frames_max = 1, .utterances_max = 1},
        {.deviation = 1, .rounds = 8, .projections = -2, .frames_max = 1, .utterances_max = 1},
        {.deviation = 1, .rounds = 8, .projections = 101, .frames_max = 1, .utterances_max = 1},
        {.deviation = 1, .rounds = 8, .frames_max = 0, .utterances_max = 1},
        {.deviation = 1, .rounds = 8, .frames_max = 1, .utterances_max = 0},
    };
    static float mel[2 * BANDS];
    const int32_t many[] = {0, 3}, good[] = {0, 2}, backward[] = {0, 2, 1};
    struct mx_sound_options options = MX_SOUND_OPTIONS_DEFAULT;
    struct mx_sound_audio sound;
    struct mx_sound_memory_plan plan;
    struct mx_sound *waveform;
    struct mx_buffer *buffer;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(mx_sound_create(fixture->cpu.device, fixture->stream, &wrong[i], &waveform), MX_ERR_ARGUMENT);
        assert_null(waveform);
        assert_int_equal(mx_sound_memory_plan(&wrong[i], &plan), MX_ERR_ARGUMENT);
        assert_true(mx_error_last()->hint[0] != 0);
    }
    options.frames_max = 2;
    options.utterances_max = 2;
    assert_int_equal(mx_sound_memory_plan(&options, &plan), 0);
    assert_true(plan.device_bytes > 2 * 1026 * 4);
    assert_int_equal(mx_sound_create(fixture->cpu.device, fixture->stream, &options, &waveform), 0);
    assert_int_equal(mx_buffer_create(fixture->cpu.device, "test", sizeof mel, &buffer), 0);
    const struct mx_slice slice = mx_slice_at(buffer, 0);
    assert_int_equal(mx_sound_compute(waveform, fixture->stream, slice, many, 1, &sound), MX_ERR_ARGUMENT);
    assert_int_equal(mx_sound_compute(waveform, fixture->stream, slice, good, 3, &sound), MX_ERR_ARGUMENT);
    assert_int_equal(mx_sound_compute(waveform, fixture->stream, slice, backward, 2, &sound), MX_ERR_ARGUMENT);
    mel[BANDS + 3] = NAN;
    assert_int_equal(mx_copy_upload(fixture->stream, slice, mel, sizeof mel), 0);
    assert_int_equal(mx_sound_compute(waveform, fixture->stream, slice, good, 1, &sound), MX_ERR_DATA);
    mel[BANDS + 3] = 0;
    assert_int_equal(mx_copy_upload(fixture->stream, slice, mel, sizeof mel), 0);
    const uint64_t before = mx_alloc_count();
    assert_int_equal(mx_sound_compute(waveform, fixture->stream, slice, good, 1, &sound), 0);
    assert_int_equal(mx_alloc_count(), before);
    mx_buffer_release(buffer);
    mx_sound_destroy(waveform);
    mx_sound_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transforms_are_inverse),
        cmocka_unit_test(speaks_what_was_measured),
        cmocka_unit_test(comes_nearer),
        cmocka_unit_test(projections_come_nearer),
        cmocka_unit_test(same_in_any_company),
        cmocka_unit_test(normalised_mel),
        cmocka_unit_test(short_ones),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}

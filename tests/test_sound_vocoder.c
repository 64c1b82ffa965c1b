/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Sound with a vocoder: a small network with random weights, or with weights that name one pitch. Whatever it says, the
 * sound must be the same in pieces as in the whole, and have the pitch that was asked for.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "myxtts/budget.h"
#include "myxtts/error.h"
#include "ops/case.h"
#include "vocoder/sound.h"

enum { BANDS = 80, HOP = 256, FRAMES = 1200, UTTERANCES = 3, RATE = 22050 };

struct fixture {
    struct op_cpu cpu;
    struct mx_stream *stream;
    struct mx_vocoder_config config;
    struct mx_parameters *table;
    struct mx_buffer *weights, *mel;
    float *host; /* weights */
    float values[FRAMES * BANDS];
    float whole[FRAMES * HOP], parts[FRAMES * HOP];
};

static void must(int rc)
{
    if (rc < 0) fail_msg("%s (%s)", mx_error_last()->message, mx_error_last()->hint);
}

static float *entry_find(struct fixture *f, const char *name, int64_t *count)
{
    *count = 0;
    for (int32_t i = 0; i < f->table->count; i++)
        if (strcmp(f->table->entries[i].name, name) == 0) {
            *count = f->table->entries[i].count;
            return f->host + f->table->entries[i].at;
        }
    fail_msg("the vocoder has no '%s'", name);
    return NULL;
}

static void weights_send(struct fixture *f)
{
    must(mx_copy_upload(f->stream, mx_slice_at(f->weights, 0), f->host, (size_t)f->table->floats * sizeof(float)));
    must(mx_stream_sync(f->stream));
}

/* Random ones whose pitch changes with the mel and is voiced for half of the frames. */
static void weights_random(struct fixture *f)
{
    int64_t count;
    mx_parameters_init(f->table, 3, f->host);
    float *const pitch = entry_find(f, "vocoder.pitch.weight", &count);
    for (int64_t i = 0; i < count; i++) pitch[i] *= 60;
    float *const bias = entry_find(f, "vocoder.pitch.bias", &count);
    bias[count - 1] = 7;
    /* Short frames that are attenuated here and there, and not evenly. */
    float *const shorts = entry_find(f, "vocoder.burst.mel.weight", &count);
    for (int64_t i = 0; i < count; i++) shorts[i] *= 10;
    float *const level = entry_find(f, "vocoder.burst.bias", &count);
    for (int64_t i = 0; i < count; i++) level[i] = -6;
    weights_send(f);
}

static int setup(void **state)
{
    struct fixture *const f = calloc(1, sizeof *f);
    const struct mx_vocoder_size size = {.name = "test", .width = 16, .blocks = 2, .hidden = 24};
    *state = f;
    /* One core: thousands of small operations would wait for each other on a busy machine. */
    if (f == NULL || op_cpu_open(&f->cpu, op_cpu_cores(), 0) < 0) return -1;
    must(mx_stream_create(f->cpu.device, "test", &f->stream));
    f->config = mx_vocoder_config_default(&size, 0, 1);
    must(mx_vocoder_parameters_create(&f->config, &f->table));
    f->host = calloc((size_t)f->table->floats, sizeof *f->host);
    must(mx_buffer_create(f->cpu.device, "test", (size_t)f->table->floats * sizeof(float), &f->weights));
    must(mx_buffer_create(f->cpu.device, "test", sizeof f->values, &f->mel));
    /* Formants that move, pauses. */
    for (int t = 0; t < FRAMES; t++)
        for (int b = 0; b < BANDS; b++) {
            const double loud = fmin(1, 3 * fabs(sin(t / 23.0))), peak = 25 + 20 * sin(t / 31.0);
            const double level = -9 + 6 * loud + 3 * loud * exp(-pow((b - peak) / 8, 2));
            f->values[t * BANDS + b] = (float)level + 0.2f * mx_rng_normal(1, 1, (uint64_t)(t * BANDS + b));
        }
    must(mx_copy_upload(f->stream, mx_slice_at(f->mel, 0), f->values, sizeof f->values));
    weights_random(f);
    return 0;
}

static int teardown(void **state)
{
    struct fixture *const f = *state;
    mx_buffer_release(f->mel);
    mx_buffer_release(f->weights);
    mx_parameters_destroy(f->table);
    mx_stream_release(f->stream);
    op_cpu_close(&f->cpu);
    free(f->host);
    free(f);
    return 0;
}

static struct mx_sound_options options_of(const struct fixture *f)
{
    struct mx_sound_options options = MX_SOUND_OPTIONS_DEFAULT;
    options.vocoder = &f->config;
    options.parameters = mx_slice_at(f->weights, 0);
    options.frames_max = FRAMES;
    options.utterances_max = UTTERANCES;
    options.stream = true;
    return options;
}

static struct mx_sound *open_sound(struct fixture *f, const struct mx_sound_options *options)
{
    struct mx_sound *sound;
    must(mx_sound_create(f->cpu.device, f->stream, options, &sound));
    return sound;
}

/* The sound of `frames` frames from frame `first` of the mel on; returns its samples. */
static int32_t speak(struct fixture *f, struct mx_sound *sound, int32_t first, int32_t frames, float *to)
{
    const int32_t offsets[] = {0, frames};
    struct mx_sound_audio audio;
    must(mx_sound_compute(sound, f->stream, mx_slice_at(f->mel, (size_t)first * BANDS * 4), offsets, 1, &audio));
    memcpy(to, audio.audio, (size_t)audio.offsets[1] * sizeof *to);
    return audio.offsets[1];
}

/* ---- windows ---- */

static void expect_pieces(struct fixture *f, struct mx_sound *sound, int32_t frames, int64_t piece, int32_t samples)
{
    int64_t all = 0, count;
    float *audio;
    memset(f->parts, 0xff, sizeof f->parts);
    must(mx_sound_stream_begin(sound, mx_slice_at(f->mel, 0), frames));
    for (;;) {
        must(mx_sound_stream_next(sound, f->stream, piece, &audio, &count));
        if (count == 0) break;
        assert_true(all + count <= samples);
        assert_true(count == piece * HOP || all + count == samples);
        memcpy(f->parts + all, audio, (size_t)count * sizeof *audio);
        all += count;
    }
    assert_int_equal(all, samples);
    for (int32_t i = 0; i < samples; i++)
        if (memcmp(&f->parts[i], &f->whole[i], sizeof(float)) != 0)
            fail_msg("%d frames in pieces of %d: sample %d is %.9g and should be %.9g", (int)frames, (int)piece, (int)i,
                     (double)f->parts[i], (double)f->whole[i]);
}

static void windows_are_the_whole(void **state)
{
    struct fixture *const f = *state;
    static const struct {
        int rounds, projections;
        int32_t frames;
        int64_t pieces[4];
    } cases[] = {
        {MX_SOUND_USUAL, MX_SOUND_USUAL, 211, {13, 32, 100, 500}},
        {MX_SOUND_USUAL, MX_SOUND_USUAL, FRAMES, {86, 301, 0, 0}}, /* the network needs three passes */
        {3, 1, 150, {1, 17, 149, 150}},
        {0, 0, 90, {1, 5, 89, 0}},
        {0, 2, 70, {3, 0, 0, 0}},
        {2, 0, 3, {1, 2, 3, 9}},
        {2, 1, 2, {1, 2, 0, 0}},
        {2, 1, 1, {1, 4, 0, 0}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct mx_sound_options options = options_of(f);
        options.rounds = cases[i].rounds;
        options.projections = cases[i].projections;
        struct mx_sound *const sound = open_sound(f, &options);
        const int32_t samples = speak(f, sound, 0, cases[i].frames, f->whole);
        assert_int_equal(samples, mx_sound_samples(MX_RECIPE_DEFAULT, cases[i].frames));
        for (int k = 0; k < 4 && cases[i].pieces[k] > 0; k++)
            expect_pieces(f, sound, cases[i].frames, cases[i].pieces[k], samples);
        mx_sound_destroy(sound);
    }
}

/* A margin that is one frame too short would be noticed: the ends of a window do reach that far. */
static void margin_is_needed(void **state)
{
    struct fixture *const f = *state;
    struct mx_sound_options options = options_of(f);
    struct mx_sound *const sound = open_sound(f, &options);
    const int32_t margin = mx_sound_margin(sound), samples = speak(f, sound, 0, 200, f->whole);
    assert_int_equal(margin, 34);
    /* The same frames as an utterance of their own: at its end other samples, up to the margin. */
    const int32_t fewer = speak(f, sound, 0, 150, f->parts);
    int32_t same = 0;
    while (same < fewer && f->parts[same] == f->whole[same]) same++;
    assert_true(samples > fewer);
    /* Its last frame is 149. The magnitudes of the network's last frames differ as well. */
    assert_true(same < (149 - margin + 2) * HOP);
    mx_sound_destroy(sound);
}

/* ---- batches ---- */

static void same_in_any_company(void **state)
{
    struct fixture *const f = *state;
    const int32_t frames[] = {0, 130, 131, 331};
    const struct mx_sound_options options = options_of(f);
    struct mx_sound *sound = open_sound(f, &options);
    struct mx_sound_audio audio;
    int32_t offsets[UTTERANCES + 1];
    must(mx_sound_compute(sound, f->stream, mx_slice_at(f->mel, 0), frames, UTTERANCES, &audio));
    memcpy(offsets, audio.offsets, sizeof offsets);
    memcpy(f->whole, audio.audio, (size_t)offsets[UTTERANCES] * sizeof *f->whole);
    for (int u = 0; u < UTTERANCES; u++) {
        const int32_t samples = speak(f, sound, frames[u], frames[u + 1] - frames[u], f->parts);
        assert_int_equal(samples, offsets[u + 1] - offsets[u]);
        assert_memory_equal(f->parts, f->whole + offsets[u], (size_t)samples * sizeof *f->parts);
    }
    /* Another seed is another sound of the same mel. */
    struct mx_sound_options other = options;
    other.seed = 1;
    mx_sound_destroy(sound);
    sound = open_sound(f, &other);
    const int32_t samples = speak(f, sound, 0, frames[1], f->parts);
    assert_memory_not_equal(f->parts, f->whole, (size_t)samples * sizeof *f->parts);
    mx_sound_destroy(sound);
}

static uint64_t bytes_of(struct mx_device *device, const char *owner, bool host)
{
    struct mx_budget_stats stats;
    mx_budget_stats(mx_device_budget(device), &stats);
    for (int i = 0; i < stats.owner_count; i++)
        if (stats.owners[i].host == host && strcmp(stats.owners[i].name, owner) == 0)
            return stats.owners[i].current_bytes;
    return 0;
}

static void memory_is_planned(void **state)
{
    struct fixture *const f = *state;
    for (int stream = 0; stream < 2; stream++) {
        struct mx_sound_options options = options_of(f);
        struct mx_sound_memory_plan plan;
        options.stream = stream;
        must(mx_sound_memory_plan(&options, &plan));
        struct mx_sound *const sound = open_sound(f, &options);
        assert_int_equal(bytes_of(f->cpu.device, "waveform", false), plan.device_bytes);
        assert_int_equal(bytes_of(f->cpu.device, "waveform", true), plan.host_bytes);
        assert_int_equal(bytes_of(f->cpu.device, "vocoder", false), 0);
        const uint64_t before = mx_alloc_count();
        speak(f, sound, 0, FRAMES, f->whole);
        assert_int_equal(mx_alloc_count(), before);
        mx_sound_destroy(sound);
    }
}

/* ---- what it sounds like ---- */

/* The autocorrelation of a sound at its best lag from 1/400 to 1/80 of a second, and that lag in Hz. */
static double periodicity(const float *x, int32_t count, double *hz)
{
    double best = -1;
    for (int lag = RATE / 400; lag <= RATE / 80; lag++) {
        double sum = 0, early = 0, late = 0;
        for (int32_t i = 0; i + lag < count; i++) {
            sum += (double)x[i] * (double)x[i + lag];
            early += (double)x[i] * (double)x[i];
            late += (double)x[i + lag] * (double)x[i + lag];
        }
        if (sum / sqrt(early * late) <= best) continue;
        best = sum / sqrt(early * late);
        *hz = (double)RATE / lag;
    }
    return best;
}

/* A network that says one class of pitch, or unvoiced, of every frame, and magnitudes with peaks at `comb` Hz and its
 * multiples. */
static double spoken_periodicity(struct fixture *f, int class, double comb, double *hz)
{
    int64_t count;
    memset(f->host, 0, (size_t)f->table->floats * sizeof *f->host);
    entry_find(f, "vocoder.pitch.bias", &count)[class] = 20;
    float *const magnitude = entry_find(f, "vocoder.magnitude.bias", &count);
    for (int64_t k = 0; k < count; k++) magnitude[k] = (float)(3 * cos(2 * M_PI * (double)k * RATE / 1024 / comb) - 3);
    weights_send(f);
    struct mx_sound_options options = options_of(f);
    options.projections = 0; /* an even mel has no such peaks */
    struct mx_sound *const sound = open_sound(f, &options);
    for (int i = 0; i < 200 * BANDS; i++) f->values[i] = -4;
    must(mx_copy_upload(f->stream, mx_slice_at(f->mel, 0), f->values, sizeof f->values));
    speak(f, sound, 0, 200, f->whole);
    mx_sound_destroy(sound);
    return periodicity(f->whole + 50 * HOP, 100 * HOP, hz);
}

/* How much of a sound is in its peaks: 3 for noise, more for pulses. */
static double peakiness(const float *x, int32_t count)
{
    double squares = 0, fourths = 0;
    for (int32_t i = 0; i < count; i++) {
        squares += pow((double)x[i], 2);
        fourths += pow((double)x[i], 4);
    }
    return fourths * count / (squares * squares);
}

/* The phases are those of pulses where the network says a pitch, and of noise where it says none. */
static void has_the_pitch(void **state)
{
    struct fixture *const f = *state;
    double hz, other;
    for (int class = 40; class <= 150; class += 55) {
        const double wanted = 65 * pow(500.0 / 65, class / 191.0);
        const double voiced = spoken_periodicity(f, class, wanted, &hz);
        if (!(voiced > 0.5 && fabs(hz / wanted - 1) < 0.02))
            fail_msg("%g Hz were asked for, %g Hz are heard (%g)", wanted, hz, voiced);
        const double pulses = peakiness(f->whole + 50 * HOP, 100 * HOP);
        spoken_periodicity(f, MX_VOCODER_CLASSES, wanted, &other);
        const double noise = peakiness(f->whole + 50 * HOP, 100 * HOP);
        if (!(pulses > 2 * noise)) fail_msg("at %g Hz pulses are as peaky as %g, noise as %g", wanted, pulses, noise);
    }
}

/* ---- short frames ---- */

/* The sound of 100 frames if the short frames of each frame are to have these ln mel. */
static int32_t speak_short(struct fixture *f, const float levels[MX_VOCODER_BURST_PARTS], float *to)
{
    int64_t count;
    float *const mel = entry_find(f, "vocoder.burst.mel.weight", &count);
    for (int64_t i = 0; i < count; i++) mel[i] = 0;
    float *const weight = entry_find(f, "vocoder.burst.weight", &count);
    for (int64_t i = 0; i < count; i++) weight[i] = 0;
    float *const bias = entry_find(f, "vocoder.burst.bias", &count);
    for (int64_t i = 0; i < count; i++) bias[i] = levels[i / MX_VOCODER_BURST_BANDS];
    weights_send(f);
    struct mx_sound_options options = options_of(f);
    options.projections = 0;
    struct mx_sound *const sound = open_sound(f, &options);
    const int32_t samples = speak(f, sound, 0, 100, to);
    mx_sound_destroy(sound);
    return samples;
}

/* Mean square of what lies 16 samples to either side of `at` after the centre of a frame. */
static double power_at(const float *x, int at)
{
    double sum = 0;
    for (int t = 10; t < 90; t++)
        for (int i = -16; i < 16; i++) sum += pow((double)x[t * HOP + at + i], 2);
    return sum;
}

/* Short frames are lowered where the network says so, by 3 nepers at most, and never raised. */
static void short_frames_are_attenuated(void **state)
{
    struct fixture *const f = *state;
    static const float loud[] = {20, 20, 20, 20}, quiet[] = {-20, -20, -20, -20}, half[] = {-20, -20, 20, 20};
    double most = 0;
    const int32_t samples = speak_short(f, loud, f->whole);
    speak_short(f, quiet, f->parts);
    for (int32_t i = 0; i < samples; i++) most = fmax(most, fabs((double)f->whole[i]));
    assert_true(most > 0.01);
    for (int32_t i = 0; i < samples; i++)
        if (!(fabs((double)f->parts[i] - exp(-3) * (double)f->whole[i]) < 1e-5 * most))
            fail_msg("sample %d is %g, and %g if it is attenuated", (int)i, (double)f->whole[i], (double)f->parts[i]);
    /* Those 128 and 64 samples before a frame's centre are its first two. */
    speak_short(f, half, f->parts);
    const double low = power_at(f->parts, -96) / power_at(f->whole, -96);
    const double high = power_at(f->parts, 32) / power_at(f->whole, 32);
    if (!(low < 0.05 && high > 0.7)) fail_msg("%g of the power is left before the centre, %g after it", low, high);
}

/* The mel of a network is not enforced unless that is asked for, and gets contrast; a vocoder gives texture to both. */
static void projections_depend_on_the_mel(void **state)
{
    struct fixture *const f = *state;
    static const int expected[] = {2, 0, 4, 4};
    static const double textures[] = {0.3, 0.3, 0, 0}, contrasts[] = {1, 1.25, 1, 1.25};
    for (int i = 0; i < 4; i++) {
        struct mx_sound_options options = options_of(f);
        options.predicted = i % 2 == 1;
        if (i >= 2) {
            options.vocoder = NULL;
            options.stream = false;
        }
        struct mx_sound *sound = open_sound(f, &options);
        assert_int_equal(mx_sound_projections(sound), expected[i]);
        assert_true(mx_sound_texture(sound) == textures[i]);
        assert_true(mx_sound_contrast(sound) == contrasts[i]);
        mx_sound_destroy(sound);
        options.projections = 3;
        sound = open_sound(f, &options);
        assert_int_equal(mx_sound_projections(sound), 3);
        mx_sound_destroy(sound);
    }
}

/* A gain of 2 shows the network a mel that is louder by ln 2, and halves the sound. */
static void gain_moves_the_mel(void **state)
{
    struct fixture *const f = *state;
    struct mx_sound_options options = options_of(f);
    weights_random(f);
    struct mx_sound *const quiet = open_sound(f, &options);
    options.mean += log(2);
    struct mx_sound *const loud = open_sound(f, &options);
    mx_sound_gain_set(quiet, 2);
    const int32_t samples = speak(f, loud, 0, 100, f->whole);
    speak(f, quiet, 0, 100, f->parts);
    for (int32_t i = 0; i < samples; i++) assert_true(f->parts[i] == f->whole[i] / 2);
    mx_sound_destroy(quiet);
    mx_sound_destroy(loud);
}

/* Contrast is what the formula says, for each utterance by itself, and in pieces as in the whole. */
static void contrast_is_about_the_mean(void **state)
{
    enum { LENGTH = 150 };
    struct fixture *const f = *state;
    struct mx_sound_options options = options_of(f);
    weights_random(f);
    options.rounds = options.projections = 0; /* so that the sound follows small differences of the mel */
    options.contrast = 1.5;
    struct mx_sound *const more = open_sound(f, &options);
    options.contrast = 1;
    struct mx_sound *const plain = open_sound(f, &options);
    const int32_t samples = speak(f, more, 0, LENGTH, f->whole);
    expect_pieces(f, more, LENGTH, 20, samples);
    float *const wanted = calloc(LENGTH * BANDS, sizeof *wanted);
    assert_non_null(wanted);
    for (int b = 0; b < BANDS; b++) {
        double mean = 0;
        for (int t = 0; t < LENGTH; t++) mean += (double)f->values[t * BANDS + b] / LENGTH;
        for (int t = 0; t < LENGTH; t++)
            wanted[t * BANDS + b] = (float)(mean + 1.5 * ((double)f->values[t * BANDS + b] - mean));
    }
    must(mx_copy_upload(f->stream, mx_slice_at(f->mel, 0), wanted, LENGTH * BANDS * sizeof *wanted));
    speak(f, plain, 0, LENGTH, f->parts);
    must(mx_copy_upload(f->stream, mx_slice_at(f->mel, 0), f->values, sizeof f->values));
    double power = 0, error = 0;
    for (int32_t i = 0; i < samples; i++) {
        power += (double)f->whole[i] * (double)f->whole[i];
        error += pow((double)f->whole[i] - (double)f->parts[i], 2);
    }
    if (!(error < 1e-6 * power)) fail_msg("an error of %g in a power of %g", error, power);
    speak(f, plain, 0, LENGTH, f->parts);
    error = 0;
    for (int32_t i = 0; i < samples; i++) error += pow((double)f->whole[i] - (double)f->parts[i], 2);
    assert_true(error > 1e-2 * power); /* it does something */
    free(wanted);
    mx_sound_destroy(more);
    mx_sound_destroy(plain);
}

/* A colour is added to each frame, with contrast and without, in pieces as in the whole, until it is taken away. */
static void colour_is_added(void **state)
{
    enum { LENGTH = 150 };
    struct fixture *const f = *state;
    struct mx_sound_options options = options_of(f);
    float colour[BANDS];
    weights_random(f);
    options.rounds = options.projections = 0;
    options.predicted = true;
    for (int b = 0; b < BANDS; b++) colour[b] = 0.3f * (float)sin(b);
    float *const wanted = calloc(LENGTH * BANDS, sizeof *wanted), *const before = calloc(LENGTH * HOP, sizeof *before);
    assert_true(wanted != NULL && before != NULL);
    for (int i = 0; i < LENGTH * BANDS; i++) wanted[i] = f->values[i] + colour[i % BANDS];
    for (int k = 0; k < 2; k++) {
        options.contrast = k == 0 ? 1 : 1.25;
        struct mx_sound *const sound = open_sound(f, &options);
        const int32_t samples = speak(f, sound, 0, LENGTH, before);
        must(mx_sound_colour_set(sound, colour));
        speak(f, sound, 0, LENGTH, f->whole);
        expect_pieces(f, sound, LENGTH, 20, samples);
        must(mx_sound_colour_set(sound, NULL));
        must(mx_copy_upload(f->stream, mx_slice_at(f->mel, 0), wanted, LENGTH * BANDS * sizeof *wanted));
        speak(f, sound, 0, LENGTH, f->parts);
        must(mx_copy_upload(f->stream, mx_slice_at(f->mel, 0), f->values, sizeof f->values));
        double power = 0, error = 0, change = 0;
        for (int32_t i = 0; i < samples; i++) {
            power += (double)f->whole[i] * (double)f->whole[i];
            error += pow((double)f->whole[i] - (double)f->parts[i], 2);
            change += pow((double)f->whole[i] - (double)before[i], 2);
        }
        if (!(error < 1e-6 * power && change > 1e-2 * power))
            fail_msg("an error of %g and a change of %g in a power of %g", error, change, power);
        speak(f, sound, 0, LENGTH, f->parts);
        assert_memory_equal(f->parts, before, (size_t)samples * sizeof *before);
        mx_sound_destroy(sound);
    }
    options.predicted = false;
    struct mx_sound *const sound = open_sound(f, &options);
    assert_int_equal(mx_sound_colour_set(sound, colour), MX_ERR_ARGUMENT);
    mx_sound_destroy(sound);
    free(wanted);
    free(before);
}

/* ---- refusals ---- */

static void expect_refused(struct fixture *f, const struct mx_sound_options *options, int code, const char *word)
{
    struct mx_sound_memory_plan plan;
    struct mx_sound *sound;
    assert_int_equal(mx_sound_create(f->cpu.device, f->stream, options, &sound), code);
    assert_null(sound);
    if (strstr(mx_error_last()->message, word) == NULL) fail_msg("'%s' lacks '%s'", mx_error_last()->message, word);
    assert_true(mx_error_last()->hint[0] != 0);
    assert_int_equal(mx_sound_memory_plan(options, &plan), code);
}

static void refusals(void **state)
{
    struct fixture *const f = *state;
    const struct mx_slice mel = mx_slice_at(f->mel, 0);
    const int32_t offsets[] = {0, 2};
    struct mx_sound_options options = options_of(f);
    struct mx_sound_audio audio;
    float *piece;
    int64_t count;
    options.rounds = MX_SOUND_ROUNDS_MAX + 1;
    expect_refused(f, &options, MX_ERR_ARGUMENT, "10001 rounds");
    options.rounds = -2;
    expect_refused(f, &options, MX_ERR_ARGUMENT, "-2 rounds");
    options = options_of(f);
    options.projections = 101;
    expect_refused(f, &options, MX_ERR_ARGUMENT, "101 projections");
    options = options_of(f);
    options.contrast = 0.5;
    expect_refused(f, &options, MX_ERR_ARGUMENT, "contrast of 0.5");
    options = options_of(f);
    options.vocoder = NULL;
    expect_refused(f, &options, MX_ERR_ARGUMENT, "piece by piece");
    options = options_of(f);
    struct mx_vocoder_config other = f->config;
    other.recipe.high_hz = 11000;
    strcpy(other.recipe.name, "wide");
    options.vocoder = &other;
    expect_refused(f, &options, MX_ERR_CONFIG, "'wide'");
    options = options_of(f);
    options.stream = false;
    struct mx_sound *sound = open_sound(f, &options);
    assert_int_equal(mx_sound_stream_begin(sound, mel, 2), MX_ERR_ARGUMENT);
    mx_sound_destroy(sound);
    options.stream = true;
    sound = open_sound(f, &options);
    assert_int_equal(mx_sound_stream_begin(sound, mel, FRAMES + 1), MX_ERR_ARGUMENT);
    must(mx_sound_stream_begin(sound, mel, 2));
    assert_int_equal(mx_sound_stream_next(sound, f->stream, 0, &piece, &count), MX_ERR_ARGUMENT);
    must(mx_sound_compute(sound, f->stream, mel, offsets, 1, &audio)); /* ends the stream */
    must(mx_sound_stream_next(sound, f->stream, 1, &piece, &count));
    assert_int_equal(count, 0);
    f->values[3] = NAN;
    must(mx_copy_upload(f->stream, mel, f->values, sizeof f->values));
    assert_int_equal(mx_sound_compute(sound, f->stream, mel, offsets, 1, &audio), MX_ERR_DATA);
    mx_sound_destroy(sound);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(windows_are_the_whole, setup, teardown),
        cmocka_unit_test_setup_teardown(margin_is_needed, setup, teardown),
        cmocka_unit_test_setup_teardown(same_in_any_company, setup, teardown),
        cmocka_unit_test_setup_teardown(memory_is_planned, setup, teardown),
        cmocka_unit_test_setup_teardown(has_the_pitch, setup, teardown),
        cmocka_unit_test_setup_teardown(short_frames_are_attenuated, setup, teardown),
        cmocka_unit_test_setup_teardown(projections_depend_on_the_mel, setup, teardown),
        cmocka_unit_test_setup_teardown(gain_moves_the_mel, setup, teardown),
        cmocka_unit_test_setup_teardown(contrast_is_about_the_mean, setup, teardown),
        cmocka_unit_test_setup_teardown(colour_is_added, setup, teardown),
        cmocka_unit_test_setup_teardown(refusals, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

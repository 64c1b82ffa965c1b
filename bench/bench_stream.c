/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The time from mel to sound on one core: with a vocoder of the default size (random weights: the time does not depend
 * on them), network and sound together, beside Griffin–Lim; and the work until the first piece of a stream is there.
 *
 * Times are CPU time of the whole process, so that other work on the machine hardly changes them; each is the least of
 * several runs. A real-time factor is seconds of work for a second of sound.
 */
#include <math.h>
#include <time.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "base/thread/pool.h"
#include "bench.h"
#include "speech/runtime.h"

#define SECONDS     10
#define PIECE       32 /* frames of the first piece: 0.37 s */
#define RUNS        7
#define CORES_MAX   64
#define FIRST_MOST  20.0 /* milliseconds */
#define FACTOR_MOST 0.01

struct unit {
    struct mx_runtime runtime;
    struct mx_buffer *weights, *mel;
    struct mx_vocoder_config config;
    int32_t frames;
};

static void must(int rc, const char *what)
{
    if (rc < 0) bench_die(what);
}

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static struct mx_slice sent(struct unit *u, struct mx_buffer **buffer, const float *data, size_t count)
{
    must(mx_buffer_create(u->runtime.device, "bench", count * sizeof *data, buffer), "no memory on the device");
    must(mx_copy_upload(u->runtime.stream, mx_slice_at(*buffer, 0), data, count * sizeof *data), "cannot upload");
    must(mx_stream_sync(u->runtime.stream), "cannot upload");
    return mx_slice_at(*buffer, 0);
}

static void unit_open(struct unit *u)
{
    struct mx_parameters *table;
    const int32_t bands = MX_RECIPE_DEFAULT->bands;
    int cores[CORES_MAX];
    const int count = mx_thread_cores(cores, CORES_MAX); /* a device of one core */
    must(mx_runtime_open(&u->runtime, "cpu:0", count < CORES_MAX ? count : CORES_MAX, "bench"), "cannot open a core");
    u->config = mx_vocoder_config_default(mx_vocoder_size_at(0), 0, 1);
    u->frames = (int32_t)mx_recipe_frames(MX_RECIPE_DEFAULT, (int64_t)SECONDS * MX_RECIPE_DEFAULT->rate);
    must(mx_vocoder_parameters_create(&u->config, &table), "no table");
    float *const flat = bench_alloc((size_t)table->floats * sizeof *flat);
    float *const mel = bench_alloc((size_t)(u->frames * bands) * sizeof *mel);
    mx_parameters_init(table, 1, flat);
    for (int32_t i = 0; i < u->frames * bands; i++)
        mel[i] = (float)(-5 + 2 * sin(i / 997.0)) + 0.3f * mx_rng_normal(1, 1, (uint64_t)i);
    sent(u, &u->weights, flat, (size_t)table->floats);
    sent(u, &u->mel, mel, (size_t)(u->frames * bands));
    mx_free(mel);
    mx_free(flat);
    mx_parameters_destroy(table);
}

static struct mx_sound *sound_open(struct unit *u, bool vocoder)
{
    struct mx_sound_options options = MX_SOUND_OPTIONS_DEFAULT;
    struct mx_sound *sound;
    options.vocoder = vocoder ? &u->config : NULL;
    options.parameters = mx_slice_at(u->weights, 0);
    options.frames_max = u->frames;
    options.utterances_max = 1;
    options.stream = vocoder;
    must(mx_sound_create(u->runtime.device, u->runtime.stream, &options, &sound), "cannot make sound");
    return sound;
}

/* Seconds of work for a second of sound. */
static double whole_measure(struct unit *u, struct mx_sound *sound)
{
    const int32_t frames[] = {0, u->frames};
    struct mx_sound_audio audio;
    double least = INFINITY;
    for (int i = 0; i < RUNS; i++) {
        const double begin = cpu_seconds();
        must(mx_sound_compute(sound, u->runtime.stream, mx_slice_at(u->mel, 0), frames, 1, &audio), "no sound");
        least = fmin(least, cpu_seconds() - begin);
    }
    return least / ((double)audio.offsets[1] / MX_RECIPE_DEFAULT->rate);
}

/* Milliseconds until the first piece is there. */
static double first_measure(struct unit *u, struct mx_sound *sound)
{
    float *audio;
    int64_t count;
    double least = INFINITY;
    for (int i = 0; i < RUNS; i++) {
        const double begin = cpu_seconds();
        must(mx_sound_stream_begin(sound, mx_slice_at(u->mel, 0), u->frames), "no stream");
        must(mx_sound_stream_next(sound, u->runtime.stream, PIECE, &audio, &count), "no piece");
        least = fmin(least, cpu_seconds() - begin);
    }
    return 1e3 * least;
}

int main(int argc, char **argv)
{
    struct bench bench;
    struct unit unit = {0};
    bench_start(&bench, "stream", "From mel to sound on one core, with a vocoder and by Griffin-Lim.", argc, argv);
    unit_open(&unit);
    struct mx_sound *const sound = sound_open(&unit, true), *const griffin = sound_open(&unit, false);
    bench_section(&bench, "From mel to sound, one core");
    const double plain = whole_measure(&unit, griffin);
    bench_limit(&bench, "Griffin-Lim, 48 rounds", "s/s", plain, 1);
    bench_limit(&bench, "vocoder, network and 8 rounds", "s/s", whole_measure(&unit, sound), fmin(FACTOR_MOST, plain));
    bench_limit(&bench, "vocoder, first piece of a stream", "ms", first_measure(&unit, sound), FIRST_MOST);
    mx_sound_destroy(griffin);
    mx_sound_destroy(sound);
    mx_buffer_release(unit.mel);
    mx_buffer_release(unit.weights);
    mx_runtime_close(&unit.runtime);
    return bench_finish(&bench);
}

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The OpenCL backend beside the CPU backend, in turns: mel, energy and pitch on one compute unit against one core, in
 * seconds of sound per second; and how long a program waits for its kernels. Training on OpenCL is a row of
 * bench_train.
 *
 * Without OpenCL, or where its first device is no CPU (then the two backends do not share the hardware and a ratio
 * would say nothing about either), there is nothing to measure, and one line tells.
 *
 * Starts are measured in child processes, before this one has touched OpenCL: opening a device and running one batch
 * of features, with an empty folder for all caches of kernels and then with what the first child left there. The folder
 * lies below TMPDIR (or /tmp) and is removed at the end.
 */
#include <ftw.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/rng.h"
#include "base/thread/pool.h"
#include "bench.h"
#include "features/extract.h"
#include "myxtts/registry.h"

#define SECONDS    6
#define RATE       22050
#define SAMPLES    (SECONDS * RATE)
#define UTTERANCES 16
#define MEL_BAR    1.0
#define COLD_MOST  15.0
#define WARM_MOST  0.5

/* One core of a backend. */
struct unit {
    struct mx_registry *registry;
    struct mx_device *device;
    struct mx_stream *stream;
    struct mx_extract *extract;
    const float *audio; /* of all */
    int32_t offsets[UTTERANCES + 1];
};

static void extract_make(struct unit *unit, bool pitch)
{
    const struct mx_extract_options room = {
        .samples_max = UTTERANCES * SAMPLES, .utterances_max = UTTERANCES, .no_pitch = !pitch};
    mx_extract_destroy(unit->extract);
    if (mx_extract_create(unit->device, &room, &unit->extract) < 0) bench_die("no memory for features");
}

/* The first of `parts` devices of a backend; false if it has none of CPU type. */
static bool unit_open(struct unit *unit, const char *backend, int parts, const float *audio)
{
    const struct mx_registry_options options = {.cpu_devices = parts, .opencl_split = parts > 1 ? parts : 0};
    char name[32];
    *unit = (struct unit){.audio = audio};
    for (int i = 0; i < UTTERANCES; i++) unit->offsets[i + 1] = (i + 1) * SAMPLES;
    snprintf(name, sizeof name, "%s:0", backend);
    if (mx_registry_open(NULL, &options, &unit->registry) < 0) return false;
    const int found = mx_registry_find(unit->registry, name);
    if (found < 0 || mx_registry_device(unit->registry, found)->kind != MX_DEVICE_CPU) {
        mx_registry_close(unit->registry);
        return false;
    }
    if (mx_registry_device_open(unit->registry, found, 0, &unit->device) < 0 ||
        mx_stream_create(unit->device, "bench", &unit->stream) < 0)
        bench_die("cannot open a device");
    extract_make(unit, false);
    return true;
}

static void unit_close(struct unit *unit)
{
    mx_extract_destroy(unit->extract);
    mx_stream_release(unit->stream);
    mx_device_close(unit->device);
    mx_registry_close(unit->registry);
}

static void batch_run(void *context, int64_t repeats)
{
    struct unit *const unit = context;
    const struct mx_extract_batch batch = {.audio = unit->audio, .offsets = unit->offsets, .count = UTTERANCES};
    struct mx_extract_features features;
    for (int64_t i = 0; i < repeats; i++)
        if (mx_extract_submit(unit->extract, unit->stream, &batch, &features) < 0 || mx_stream_sync(unit->stream) < 0)
            bench_die("cannot make features");
}

/* A hum of changing pitch under noise. */
static void audio_fill(float *audio)
{
    double phase = 0;
    for (int64_t i = 0; i < (int64_t)UTTERANCES * SAMPLES; i++) {
        const double time = (double)i / RATE;
        phase += (120 + 40 * sin(2 * time)) / RATE;
        audio[i] = (float)(0.2 * sin(2 * M_PI * phase) + 0.1 * sin(4 * M_PI * phase)) +
                   0.01f * mx_rng_normal(7, 0, (uint64_t)i);
    }
}

/* ---- features ---- */

static void bench_features(struct bench *bench, struct unit *cpu, struct unit *opencl, bool pitch)
{
    const char *const name = pitch ? "mel, energy and pitch, 1 compute unit" : "mel and energy, 1 compute unit";
    struct bench_job jobs[] = {{.run = batch_run, .context = opencl, .work = 1e9 * UTTERANCES * SECONDS},
                               {.run = batch_run, .context = cpu, .work = 1e9 * UTTERANCES * SECONDS}};
    if (!bench_wanted(bench, name)) return;
    extract_make(cpu, pitch);
    extract_make(opencl, pitch);
    bench_measure(bench, jobs, 2, -1);
    bench_report(bench, name, "s/s", &jobs[0], "CPU backend, 1 core", &jobs[1], pitch ? 0 : MEL_BAR);
}

/* ---- starts ---- */

static int entry_remove(const char *path, const struct stat *about, int kind, struct FTW *place)
{
    (void)about;
    (void)kind;
    (void)place;
    return remove(path);
}

/* Seconds from the first call of the registry to features of a batch, in a process of its own; below 0 if there is no
 * device for it. */
static double start_measure(const float *audio)
{
    int ends[2];
    double seconds = -1;
    if (pipe(ends) < 0) bench_die("cannot make a pipe");
    const pid_t child = fork();
    if (child < 0) bench_die("cannot start a process");
    if (child == 0) {
        struct unit unit;
        const uint64_t begin = mx_clock_ns();
        if (unit_open(&unit, "opencl", 1, audio)) {
            extract_make(&unit, true);
            batch_run(&unit, 1);
            seconds = (double)(mx_clock_ns() - begin) * 1e-9;
        }
        _exit(write(ends[1], &seconds, sizeof seconds) == (ssize_t)sizeof seconds ? 0 : 1);
    }
    close(ends[1]);
    if (read(ends[0], &seconds, sizeof seconds) != (ssize_t)sizeof seconds) seconds = -1;
    close(ends[0]);
    waitpid(child, NULL, 0);
    return seconds;
}

static void bench_starts(struct bench *bench, const float *audio)
{
    static const char *const names[] = {"start with cold caches of kernels", "start with warm caches of kernels"};
    const char *const base = getenv("TMPDIR");
    char folder[256];
    if (!bench_wanted(bench, names[0]) && !bench_wanted(bench, names[1])) return;
    snprintf(folder, sizeof folder, "%s/myxtts-bench-XXXXXX", base != NULL && base[0] ? base : "/tmp");
    if (mkdtemp(folder) == NULL) bench_die("cannot make a folder for caches");
    setenv("MYXTTS_CACHE", folder, 1);
    setenv("POCL_CACHE_DIR", folder, 1);
    const double cold = start_measure(audio), warm = start_measure(audio);
    if (cold >= 0 && warm >= 0) {
        bench_limit(bench, names[0], "s", cold, COLD_MOST);
        bench_limit(bench, names[1], "s", warm, WARM_MOST);
    }
    nftw(folder, entry_remove, 16, FTW_DEPTH | FTW_PHYS);
    unsetenv("MYXTTS_CACHE");
    unsetenv("POCL_CACHE_DIR");
}

int main(int argc, char **argv)
{
    struct bench bench;
    struct unit cpu, opencl;
    bench_start(&bench, "opencl", "the OpenCL backend beside the CPU backend", argc, argv);
    mx_log_configure(&(struct mx_log_options){.level = MX_LOG_SILENT});
    float *const audio = bench_alloc((size_t)UTTERANCES * SAMPLES * sizeof *audio);
    const int cores = mx_thread_cores(NULL, 0);
    audio_fill(audio);
    bench_starts(&bench, audio);
    if (unit_open(&opencl, "opencl", cores, audio)) {
        if (!unit_open(&cpu, "cpu", cores, audio)) bench_die("cannot open the CPU");
        bench_features(&bench, &cpu, &opencl, false);
        bench_features(&bench, &cpu, &opencl, true);
        unit_close(&cpu);
        unit_close(&opencl);
    } else {
        printf("  no OpenCL device of CPU type here: nothing to compare\n");
    }
    mx_free(audio);
    return bench_finish(&bench);
}

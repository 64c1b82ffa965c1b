/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How long a program waits for its OpenCL kernels, in child processes: opening a device and computing mel, energy and
 * pitch of a second of sound, with an empty folder for all caches of kernels and then with what the first child left
 * there. The folder lies below TMPDIR (or /tmp) and is removed at the end.
 */
#include <ftw.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "bench.h"
#include "features/extract.h"
#include "myxtts/registry.h"

#define SAMPLES   22050
#define COLD_MOST 15.0
#define WARM_MOST 0.5

/* Opens the first OpenCL device and computes the features of a tone there; false if there is none. */
static bool features_compute(void)
{
    const struct mx_registry_options options = {.devices = {"opencl:0"}, .device_count = 1};
    const struct mx_extract_options room = {.samples_max = SAMPLES, .utterances_max = 1};
    static float audio[SAMPLES];
    const int32_t offsets[2] = {0, SAMPLES};
    const struct mx_extract_batch batch = {.audio = audio, .offsets = offsets, .count = 1};
    struct mx_extract_features features;
    struct mx_registry *registry;
    struct mx_device *device;
    struct mx_stream *stream;
    struct mx_extract *extract;
    for (int i = 0; i < SAMPLES; i++) audio[i] = 0.2f * (float)sin(2 * M_PI * 120 * i / SAMPLES);
    if (mx_registry_open(NULL, &options, &registry) < 0) return false;
    if (mx_registry_device_open(registry, 0, 0, &device) < 0 || mx_stream_create(device, "bench", &stream) < 0 ||
        mx_extract_create(device, &room, &extract) < 0)
        bench_die("cannot open a device");
    if (mx_extract_submit(extract, stream, &batch, &features) < 0 || mx_stream_sync(stream) < 0)
        bench_die("cannot compute features");
    return true; /* the process ends with what was opened */
}

static int entry_remove(const char *path, const struct stat *about, int kind, struct FTW *place)
{
    (void)about;
    (void)kind;
    (void)place;
    return remove(path);
}

/* Seconds from the first call of the registry to features of a batch, in a process of its own; below 0 if there is no
 * device for it. */
static double start_measure(void)
{
    int ends[2];
    double seconds = -1;
    if (pipe(ends) < 0) bench_die("cannot make a pipe");
    const pid_t child = fork();
    if (child < 0) bench_die("cannot start a process");
    if (child == 0) {
        const uint64_t begin = mx_clock_ns();
        if (features_compute()) seconds = (double)(mx_clock_ns() - begin) * 1e-9;
        _exit(write(ends[1], &seconds, sizeof seconds) == (ssize_t)sizeof seconds ? 0 : 1);
    }
    close(ends[1]);
    if (read(ends[0], &seconds, sizeof seconds) != (ssize_t)sizeof seconds) seconds = -1;
    close(ends[0]);
    waitpid(child, NULL, 0);
    return seconds;
}

static void bench_starts(struct bench *bench)
{
    static const char *const names[] = {"start with cold caches of kernels", "start with warm caches of kernels"};
    const char *const base = getenv("TMPDIR");
    char folder[256];
    if (!bench_wanted(bench, names[0]) && !bench_wanted(bench, names[1])) return;
    snprintf(folder, sizeof folder, "%s/myxtts-bench-XXXXXX", base != NULL && base[0] ? base : "/tmp");
    if (mkdtemp(folder) == NULL) bench_die("cannot make a folder for caches");
    setenv("MYXTTS_CACHE", folder, 1);
    setenv("POCL_CACHE_DIR", folder, 1);
    const double cold = start_measure(), warm = start_measure();
    if (cold >= 0 && warm >= 0) {
        bench_limit(bench, names[0], "s", cold, COLD_MOST);
        bench_limit(bench, names[1], "s", warm, WARM_MOST);
    }
    if (cold < 0) printf("  no OpenCL device here: nothing to measure\n");
    nftw(folder, entry_remove, 16, FTW_DEPTH | FTW_PHYS);
    unsetenv("MYXTTS_CACHE");
    unsetenv("POCL_CACHE_DIR");
}

int main(int argc, char **argv)
{
    struct bench bench;
    bench_start(&bench, "opencl", "starts of the OpenCL backend", argc, argv);
    mx_log_configure(&(struct mx_log_options){.level = MX_LOG_SILENT});
    bench_starts(&bench);
    return bench_finish(&bench);
}

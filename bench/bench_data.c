/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The speed of the way from files to features, in seconds of sound per second: 200 WAV files of 6 s, in the page cache,
 * decoded and turned into mel and energy, on one core and on two; beside a plain libsndfile + FFTW loop in the same
 * run, and beside DALI and torchaudio where they are installed.
 *
 * One core means one core: the thread that decodes and the device's only worker are pinned to the same one and
 * take turns. Two cores are two of those, each with its own reader, device and half of the files.
 *
 * The files are made in a folder of their own below TMPDIR (or /tmp), which is removed at the end.
 */
#include <math.h>
#include <sndfile.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "base/thread/pool.h"
#include "bench.h"
#include "corpus/audio/audio.h"
#include "features/extract.h"
#include "myxtts/registry.h"
#include "peer.h"
#include "plain_mel.h"

#define FILES      200
#define SECONDS    6
#define SAMPLES    (SECONDS * MX_AUDIO_RATE_DEFAULT)
#define UTTERANCES 16 /* of a batch */
#define CORES_MAX  2

/* One core with everything that it works with. */
struct unit {
    struct mx_registry *registry;
    struct mx_device *device;
    struct mx_stream *stream;
    struct mx_extract *extract;
    struct mx_audio_reader *reader;
    struct plain_mel *plain;
    int core;
    float *audio; /* packed, room for a batch */
    int32_t offsets[UTTERANCES + 1];
    int32_t count;
};

struct data {
    char folder[256];
    struct unit units[CORES_MAX];
    int cores;
    struct mx_pool *pool; /* of all units' cores */
};

/* ---- files ---- */

static void file_name(const struct data *data, int number, char *out, size_t size)
{
    snprintf(out, size, "%s/%03d.wav", data->folder, number);
}

/* A voice of 20 harmonics under a breath of noise, in syllables; every file another pitch. */
static void voice_fill(int number, float *out)
{
    double phase = 0;
    for (int64_t i = 0; i < SAMPLES; i++) {
        const double time = (double)i / MX_AUDIO_RATE_DEFAULT, hz = 90 + number % 50 * 4 + 15 * sin(3 * time);
        const double loud = 0.6 + 0.4 * sin(2 * M_PI * 3 * time);
        double sum = 0, sine = sin(2 * M_PI * phase), cosine = cos(2 * M_PI * phase), s = sine, c = cosine;
        for (int h = 1; h <= 20; h++) {
            sum += s / h;
            const double next = s * cosine + c * sine;
            c = c * cosine - s * sine;
            s = next;
        }
        phase += hz / MX_AUDIO_RATE_DEFAULT;
        out[i] = (float)(0.1 * loud * sum) + 0.004f * mx_rng_normal(7, (uint64_t)number, (uint64_t)i);
    }
}

static void files_make(struct data *data)
{
    const char *const base = getenv("TMPDIR");
    float *const samples = bench_alloc(SAMPLES * sizeof *samples);
    snprintf(data->folder, sizeof data->folder, "%s/myxtts-bench-XXXXXX", base != NULL && base[0] ? base : "/tmp");
    if (mkdtemp(data->folder) == NULL) bench_die("cannot make a folder for the files");
    for (int i = 0; i < FILES; i++) {
        char path[320];
        SF_INFO info = {.samplerate = MX_AUDIO_RATE_DEFAULT, .channels = 1, .format = SF_FORMAT_WAV | SF_FORMAT_PCM_16};
        file_name(data, i, path, sizeof path);
        SNDFILE *const file = sf_open(path, SFM_WRITE, &info);
        voice_fill(i, samples);
        if (file == NULL || sf_writef_float(file, samples, SAMPLES) != SAMPLES || sf_close(file) != 0)
            bench_die("cannot write a file of the bench");
    }
    mx_free(samples);
}

static void files_remove(const struct data *data)
{
    for (int i = 0; i < FILES; i++) {
        char path[320];
        file_name(data, i, path, sizeof path);
        unlink(path);
    }
    rmdir(data->folder);
}

/* ---- one core ---- */

static void unit_open(struct unit *unit, int cores, int index)
{
    const struct mx_registry_options wanted = {.cpu_devices = cores};
    const struct mx_extract_options room = {.samples_max = UTTERANCES * SAMPLES, .utterances_max = UTTERANCES};
    char name[32];
    snprintf(name, sizeof name, "cpu:%d", index);
    if (mx_registry_open(mx_backends_cpu, &wanted, &unit->registry) < 0) bench_die("cannot open the registry");
    const int found = mx_registry_find(unit->registry, name);
    if (found < 0 || mx_registry_device_open(unit->registry, found, 0, &unit->device) < 0 ||
        mx_stream_create(unit->device, "bench", &unit->stream) < 0 ||
        mx_extract_create(unit->device, &room, &unit->extract) < 0 || mx_audio_reader_create(&unit->reader) < 0)
        bench_die("cannot open a CPU device");
    unit->core = mx_device_info(unit->device)->cores[0];
    unit->plain = plain_mel_open(MX_RECIPE_DEFAULT, SAMPLES);
    unit->audio = bench_alloc(UTTERANCES * SAMPLES * sizeof *unit->audio);
}

static void unit_close(struct unit *unit)
{
    mx_free(unit->audio);
    plain_mel_close(unit->plain);
    mx_audio_reader_destroy(unit->reader);
    mx_extract_destroy(unit->extract);
    mx_stream_release(unit->stream);
    mx_device_close(unit->device);
    mx_registry_close(unit->registry);
}

static void batch_run(struct unit *unit)
{
    const struct mx_extract_batch batch = {.audio = unit->audio, .offsets = unit->offsets, .count = unit->count};
    struct mx_extract_features features;
    if (mx_extract_submit(unit->extract, unit->stream, &batch, &features) < 0 || mx_stream_sync(unit->stream) < 0)
        bench_die("cannot make features");
    unit->count = 0;
}

static void batch_add(struct unit *unit, const float *samples, size_t count)
{
    float *const to = unit->audio + unit->offsets[unit->count];
    memcpy(to, samples, count * sizeof *to);
    unit->offsets[unit->count + 1] = unit->offsets[unit->count] + (int32_t)count;
    if (++unit->count == UTTERANCES) batch_run(unit);
}

/* Files first … last - 1, decoded, into batches. */
static void files_run(const struct data *data, struct unit *unit, int first, int last)
{
    /* Trimming and levelling are part of the reader's work and stay on; the peers do neither. */
    const struct mx_audio_options options = MX_AUDIO_OPTIONS_DEFAULT;
    for (int i = first; i < last; i++) {
        char path[320];
        const float *samples;
        size_t count;
        struct mx_audio_report report;
        file_name(data, i, path, sizeof path);
        if (mx_audio_load(unit->reader, path, &options, &samples, &count, &report) < 0)
            bench_die("cannot read a file of the bench");
        batch_add(unit, samples, count);
    }
    if (unit->count > 0) batch_run(unit);
}

/* ---- jobs ---- */

static void run_files(void *context, int64_t repeats)
{
    struct data *const data = context;
    for (int64_t i = 0; i < repeats; i++) files_run(data, &data->units[0], 0, FILES);
}

static void worker_files(void *context, int worker)
{
    struct data *const data = context;
    files_run(data, &data->units[worker], FILES * worker / data->cores, FILES * (worker + 1) / data->cores);
}

static void run_files_all(void *context, int64_t repeats)
{
    struct data *const data = context;
    for (int64_t i = 0; i < repeats; i++) mx_pool_run(data->pool, worker_files, data);
}

static void run_plain_files(void *context, int64_t repeats)
{
    struct data *const data = context;
    for (int64_t r = 0; r < repeats; r++)
        for (int i = 0; i < FILES; i++) {
            char path[320];
            file_name(data, i, path, sizeof path);
            plain_mel_file(data->units[0].plain, path);
        }
}

/* A batch that lies in memory already: mel and energy alone, or with pitch. */
static void batch_fill(struct unit *unit)
{
    unit->count = UTTERANCES;
    for (int i = 0; i < UTTERANCES; i++) {
        voice_fill(i, unit->audio + (int64_t)i * SAMPLES);
        unit->offsets[i + 1] = (i + 1) * SAMPLES;
    }
}

static void run_batch(void *context, int64_t repeats)
{
    struct unit *const unit = context;
    for (int64_t i = 0; i < repeats; i++) {
        unit->count = UTTERANCES;
        batch_run(unit);
    }
}

static void run_plain_batch(void *context, int64_t repeats)
{
    struct unit *const unit = context;
    for (int64_t i = 0; i < repeats; i++)
        for (int u = 0; u < UTTERANCES; u++) plain_mel_run(unit->plain, unit->audio + (int64_t)u * SAMPLES, SAMPLES);
}

/* ---- rows ---- */

#define UNIT          "s/s"
#define WORK(seconds) (1e9 * (seconds)) /* bench.h divides by 10⁹ */

/* The extractor of a unit with or without pitch. */
static void unit_pitch(struct unit *unit, bool pitch)
{
    const struct mx_extract_options room = {
        .samples_max = UTTERANCES * SAMPLES, .utterances_max = UTTERANCES, .no_pitch = !pitch};
    mx_extract_destroy(unit->extract);
    if (mx_extract_create(unit->device, &room, &unit->extract) < 0) bench_die("no memory for features");
}

static void bench_memory(struct bench *bench, struct data *data)
{
    struct unit *const unit = &data->units[0];
    const char *const mel = "mel and energy, 1 core", *const pitch = "mel, energy and pitch, 1 core";
    struct bench_job jobs[] = {{.run = run_batch, .context = unit, .work = WORK(UTTERANCES * SECONDS)},
                               {.run = run_plain_batch, .context = unit, .work = WORK(UTTERANCES * SECONDS)}};
    batch_fill(unit);
    if (bench_wanted(bench, mel)) {
        bench_measure(bench, jobs, unit->plain ? 2 : 1, unit->core);
        bench_report(bench, mel, UNIT, &jobs[0], "FFTW, frame by frame", unit->plain ? &jobs[1] : NULL, 2.0);
    }
    if (bench_wanted(bench, pitch)) {
        unit_pitch(unit, true);
        bench_measure(bench, jobs, 1, unit->core);
        bench_report(bench, pitch, UNIT, &jobs[0], NULL, NULL, 0);
        unit_pitch(unit, false);
    }
    unit->count = 0;
}

static void bench_peers(struct bench *bench, const struct data *data, const char *name, const struct bench_job *job)
{
    struct bench_job peer;
    const int core = data->units[0].core;
    if (bench->quick) return;
    if (peer_run("DALI", "dali_mel.py", data->folder, core, FILES * SECONDS, &peer))
        bench_report(bench, name, UNIT, job, "DALI, 1 thread", &peer, 3.0);
    if (peer_run("torchaudio", "torchaudio_mel.py", data->folder, core, FILES * SECONDS, &peer))
        bench_report(bench, name, UNIT, job, "torchaudio, 1 thread", &peer, 0);
}

static void bench_files(struct bench *bench, struct data *data)
{
    const char *const one = "decode, mel and energy, 1 core", *const all = "decode, mel and energy, 2 cores";
    const bool plain = data->units[0].plain != NULL, two = data->cores == 2;
    struct bench_job jobs[3] = {{.run = run_files, .context = data, .work = WORK(FILES * SECONDS)}};
    int count = 1;
    if (!bench_wanted(bench, one) && !bench_wanted(bench, all)) return;
    if (two) jobs[count++] = (struct bench_job){.run = run_files_all, .context = data, .work = WORK(FILES * SECONDS)};
    if (plain)
        jobs[count++] = (struct bench_job){.run = run_plain_files, .context = data, .work = WORK(FILES * SECONDS)};
    bench_measure(bench, jobs, count, data->units[0].core);
    bench_report(bench, one, UNIT, &jobs[0], "libsndfile + FFTW", plain ? &jobs[count - 1] : NULL, 0);
    bench_peers(bench, data, one, &jobs[0]);
    if (two) bench_report(bench, all, UNIT, &jobs[1], "1 core", &jobs[0], 1.9);
}

int main(int argc, char **argv)
{
    struct bench bench;
    struct data data = {0};
    int cores[CORES_MAX];
    bench_start(&bench, "data", "from files to features, in seconds of sound per second", argc, argv);
    const int all = mx_thread_cores(NULL, 0);
    data.cores = all < CORES_MAX ? all : CORES_MAX;
    files_make(&data);
    for (int i = 0; i < data.cores; i++) {
        unit_open(&data.units[i], all, i);
        unit_pitch(&data.units[i], false);
        cores[i] = data.units[i].core;
    }
    const struct mx_pool_options pool = {.name = "bench", .workers = data.cores, .cores = cores};
    if (mx_pool_create(&pool, &data.pool) < 0) bench_die("cannot start threads");
    bench_section(&bench, "from memory");
    bench_memory(&bench, &data);
    bench_section(&bench, "from files in the page cache, 200 WAV of 6 s");
    bench_files(&bench, &data);
    mx_pool_destroy(data.pool);
    for (int i = 0; i < data.cores; i++) unit_close(&data.units[i]);
    files_remove(&data);
    return bench_finish(&bench);
}

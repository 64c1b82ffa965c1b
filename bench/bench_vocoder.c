/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The speed of training the vocoder's network: mel frames per second of whole steps (forward, losses, backward,
 * clipping, AdamW, averaged weights) of the size `small` on 8 segments of 64 frames, on one core and on two; beside the
 * same network on the same segments with as many threads in PyTorch (scripts/bench/peers/torch_vocoder.py), eager and compiled.
 *
 * A round is some steps. Rounds are run in turns, ours and then each of the peers, and the rows compare medians over the
 * rounds. The first round of each warms up and is not counted.
 *
 * That it is the same network is shown, not said: some steps from our initial weights must have our losses and our norms
 * of the gradient.
 *
 * Memory: a unit owns its device, network and buffers, the data of the batch lies in static arrays, and the files for
 * the peers are removed at the end.
 */
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/format/safetensors.h"
#include "base/log.h"
#include "base/rng.h"
#include "base/thread/pool.h"
#include "bench.h"
#include "myxtts/registry.h"
#include "peer.h"
#include "vocoder/vocoder.h"

#define SEGMENTS     8
#define LENGTH       64
#define FRAMES       (SEGMENTS * LENGTH)
#define BANDS        80
#define BINS         513
#define ROUNDS       9 /* the first warms up */
#define STEPS        20
#define THREADS_MAX  2
#define SEED         1
#define RATE         1e-3f
#define BETA1        0.9f
#define BETA2        0.99f
#define EPSILON      1e-8f
#define WEIGHT_DECAY 0.01f
#define GRAD_CLIP    2.0f
#define EMA_DECAY    0.998f
#define EAGER_BAR    1.8
#define CHECK_STEPS  3
#define CHECK_MOST   1e-3 /* relative difference of losses and of norms */
#define FRAME_UNIT   "frame/s"

enum { PARAMETERS, GRADIENTS, MOMENT1, MOMENT2, AVERAGE, FLATS };
enum way { EAGER, COMPILED, WAYS };

static const struct {
    const char *mode, *label;
    double bar;
} ways[WAYS] = {{"eager", "PyTorch eager", EAGER_BAR}, {"compiled", "torch.compile", 0}};

/* The batch, on the host. */
static float mel[FRAMES * BANDS], target[FRAMES * BINS], pitch[FRAMES], burst[FRAMES * MX_VOCODER_BURST];
static char folder[256];

/* One device with a network on it. */
struct unit {
    struct mx_registry *registry;
    struct mx_device *device;
    struct mx_stream *stream;
    struct mx_vocoder *vocoder;
    const struct mx_parameters *table;
    struct mx_buffer *flat[FLATS], *norm, *room;
    struct mx_vocoder_batch batch;
    float losses[MX_VOCODER_LOSSES * SEGMENTS], result[4];
    int64_t steps;
    int cores[THREADS_MAX], count;
};

/* ---- the batch ---- */

static struct mx_vocoder_config config_make(void)
{
    const struct mx_vocoder_size *const size = mx_vocoder_size_find("small");
    if (size == NULL) bench_die("there is no such size");
    const struct mx_vocoder_config config = mx_vocoder_config_default(size, -5.5f, 2.2f);
    if (config.recipe.bands != BANDS || mx_vocoder_bins(&config) != BINS) bench_die("the recipe is another one");
    return config;
}

static void batch_make(void)
{
    enum { MEL = 1, TARGET, PITCH, BURST };
    for (int i = 0; i < FRAMES * BANDS; i++) mel[i] = mx_rng_normal(SEED, MEL, (uint64_t)i);
    for (int i = 0; i < FRAMES * BINS; i++) target[i] = 2 * mx_rng_normal(SEED, TARGET, (uint64_t)i) - 3;
    for (int i = 0; i < FRAMES; i++)
        pitch[i] = i % 3 == 0 ? 0 : 80 + (float)mx_rng_below(SEED, PITCH, (uint64_t)i, 300);
    for (int i = 0; i < FRAMES * MX_VOCODER_BURST; i++) burst[i] = 2 * mx_rng_normal(SEED, BURST, (uint64_t)i) - 4;
}

/* ---- files for the peers ---- */

static void file_write(const char *name, const struct mx_tensor *tensors, size_t count,
                       const struct mx_metadata *metadata, size_t metadata_count)
{
    char path[320];
    snprintf(path, sizeof path, "%s/%s.safetensors", folder, name);
    if (mx_safetensors_write(path, tensors, count, metadata, metadata_count) < 0) bench_die("cannot write a file");
}

/* base = spread · (ln mel - offset), from the tables of the recipe. */
static void base_write(const struct mx_vocoder_config *config, float *spread, float *offset)
{
    struct mx_recipe_tables tables;
    static float places[3 * BINS];
    const struct mx_recipe *const recipe = &config->recipe;
    if (mx_recipe_tables_build(recipe, &tables) < 0 || mx_recipe_places_build(recipe, &tables, places) < 0)
        bench_die("cannot make the tables");
    const int32_t *const ends = (const int32_t *)(const void *)(tables.data + 3 * recipe->fft_size) + BANDS;
    const float *const weights = tables.data + 3 * recipe->fft_size + 2 * BANDS + 1;
    const int32_t *const low = (const int32_t *)(const void *)places, *const high = low + BINS;
    for (int b = 0; b < BANDS; b++) {
        double sum = 0;
        for (int32_t i = ends[b]; i < ends[b + 1]; i++) sum += (double)weights[i];
        offset[b] = (float)log(sum);
    }
    for (int k = 0; k < BINS; k++) {
        spread[k * BANDS + low[k]] += 1 - places[2 * BINS + k];
        spread[k * BANDS + high[k]] += places[2 * BINS + k];
    }
    mx_recipe_tables_release(&tables);
}

static void files_write(const struct mx_vocoder_config *config, const struct mx_parameters *table, const float *flat)
{
    static float spread[BINS * BANDS], offset[BANDS];
    const struct {
        const char *key;
        double value;
    } settings[] = {{"blocks", config->size.blocks},
                    {"mel_mean", (double)config->mel_mean},
                    {"mel_deviation", (double)config->mel_deviation},
                    {"magnitude", (double)config->weights.magnitude},
                    {"pitch", (double)config->weights.pitch},
                    {"burst", (double)config->weights.burst},
                    {"classes", MX_VOCODER_CLASSES},
                    {"low_hz", (double)MX_VOCODER_LOW_HZ},
                    {"high_hz", (double)MX_VOCODER_HIGH_HZ},
                    {"rate", (double)RATE},
                    {"beta1", (double)BETA1},
                    {"beta2", (double)BETA2},
                    {"epsilon", (double)EPSILON},
                    {"weight_decay", (double)WEIGHT_DECAY},
                    {"grad_clip", (double)GRAD_CLIP}};
    enum { SETTINGS = sizeof settings / sizeof *settings };
    char numbers[SETTINGS][32];
    struct mx_metadata metadata[SETTINGS];
    const char *const base = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/myxtts-bench-XXXXXX", base != NULL && base[0] ? base : "/tmp");
    if (mkdtemp(folder) == NULL) bench_die("cannot make a folder");
    for (int i = 0; i < SETTINGS; i++) {
        snprintf(numbers[i], sizeof numbers[i], "%.9g", settings[i].value);
        metadata[i] = (struct mx_metadata){settings[i].key, numbers[i]};
    }
    struct mx_tensor *const tensors = bench_alloc((size_t)table->count * sizeof *tensors);
    for (int i = 0; i < table->count; i++) {
        const struct mx_parameter *const p = &table->entries[i];
        tensors[i] = (struct mx_tensor){.name = p->name, .dtype = MX_DTYPE_F32, .rank = p->rank, .data = flat + p->at};
        for (int d = 0; d < p->rank; d++) tensors[i].shape[d] = (uint64_t)p->shape[d];
    }
    file_write("weights", tensors, (size_t)table->count, metadata, SETTINGS);
    mx_free(tensors);
    base_write(config, spread, offset);
    const struct mx_tensor batch[] = {
        {.name = "mel", .dtype = MX_DTYPE_F32, .rank = 3, .shape = {SEGMENTS, LENGTH, BANDS}, .data = mel},
        {.name = "target", .dtype = MX_DTYPE_F32, .rank = 3, .shape = {SEGMENTS, LENGTH, BINS}, .data = target},
        {.name = "pitch", .dtype = MX_DTYPE_F32, .rank = 2, .shape = {SEGMENTS, LENGTH}, .data = pitch},
        {.name = "burst",
         .dtype = MX_DTYPE_F32,
         .rank = 3,
         .shape = {SEGMENTS, LENGTH, MX_VOCODER_BURST},
         .data = burst},
        {.name = "spread", .dtype = MX_DTYPE_F32, .rank = 2, .shape = {BINS, BANDS}, .data = spread},
        {.name = "offset", .dtype = MX_DTYPE_F32, .rank = 1, .shape = {BANDS}, .data = offset}};
    file_write("batch", batch, sizeof batch / sizeof *batch, NULL, 0);
}

static void files_remove(void)
{
    static const char *const names[] = {"weights", "batch"};
    char path[320];
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s.safetensors", folder, names[i]);
        remove(path);
    }
    rmdir(folder);
}

/* ---- ours ---- */

static void send(const struct unit *unit, struct mx_slice to, const void *from, int64_t count)
{
    if (mx_copy_upload(unit->stream, to, from, (size_t)count * 4) < 0 || mx_stream_sync(unit->stream) < 0)
        bench_die("cannot send the batch");
}

/* The initial weights; moments are 0, and the average begins with the weights. */
static void weights_reset(struct unit *unit, const float *flat)
{
    float *const zeros = bench_alloc((size_t)unit->table->floats * sizeof *zeros);
    for (int i = 0; i < FLATS; i++)
        send(unit, mx_slice_at(unit->flat[i], 0), i == PARAMETERS || i == AVERAGE ? flat : zeros, unit->table->floats);
    mx_free(zeros);
    unit->steps = 0;
}

static void unit_open(struct unit *unit, const struct mx_vocoder_config *config, int all, int cores)
{
    const struct mx_registry_options options = {.cpu_devices = all / cores};
    const struct mx_vocoder_capacity capacity = {.sequences = SEGMENTS, .frames = FRAMES, .longest_frames = LENGTH};
    struct mx_layout layout = {0};
    int32_t ends[SEGMENTS + 1];
    *unit = (struct unit){.count = cores};
    if (mx_registry_open(mx_backends_cpu, &options, &unit->registry) < 0) bench_die("cannot open the registry");
    const int found = mx_registry_find(unit->registry, "cpu:0");
    if (found < 0 || mx_registry_device_open(unit->registry, found, 0, &unit->device) < 0)
        bench_die("cannot open a CPU device");
    const struct mx_device_info *const info = mx_device_info(unit->device);
    if (info->compute_units != cores) bench_die("the device has another number of cores");
    memcpy(unit->cores, info->cores, (size_t)cores * sizeof *unit->cores);
    if (mx_stream_create(unit->device, "vocoder", &unit->stream) < 0 ||
        mx_vocoder_create(unit->device, unit->stream, config, &capacity, MX_MODEL_TRAIN, &unit->vocoder) < 0)
        bench_die("cannot make the network");
    unit->table = mx_vocoder_parameters(unit->vocoder);
    for (int i = 0; i < FLATS; i++)
        if (mx_buffer_create(unit->device, "flat", (size_t)unit->table->floats * 4, &unit->flat[i]) < 0)
            bench_die("no memory for the weights");
    mx_vocoder_batch_place(&layout, config, &capacity, &unit->batch);
    if (mx_buffer_create(unit->device, "norm", 16, &unit->norm) < 0 ||
        mx_buffer_create(unit->device, "batch", layout.offset_bytes, &unit->room) < 0)
        bench_die("no memory for the batch");
    layout = (struct mx_layout){.buffer = unit->room};
    mx_vocoder_batch_place(&layout, config, &capacity, &unit->batch);
    for (int i = 0; i <= SEGMENTS; i++) ends[i] = i * LENGTH;
    send(unit, unit->batch.frames.offsets, ends, SEGMENTS + 1);
    send(unit, unit->batch.mel, mel, FRAMES * BANDS);
    send(unit, unit->batch.target, target, FRAMES * BINS);
    send(unit, unit->batch.pitch, pitch, FRAMES);
    send(unit, unit->batch.burst, burst, FRAMES * MX_VOCODER_BURST);
    unit->batch.frames.count = SEGMENTS;
    unit->batch.frames.rows = FRAMES;
    unit->batch.frames.max_rows = LENGTH;
}

static void unit_close(struct unit *unit)
{
    mx_vocoder_destroy(unit->vocoder);
    for (int i = 0; i < FLATS; i++) mx_buffer_release(unit->flat[i]);
    mx_buffer_release(unit->norm);
    mx_buffer_release(unit->room);
    mx_stream_release(unit->stream);
    mx_device_close(unit->device);
    mx_registry_close(unit->registry);
}

static void step_make(struct unit *unit, float rate)
{
    const struct mx_slice parameters = mx_slice_at(unit->flat[PARAMETERS], 0),
                          gradients = mx_slice_at(unit->flat[GRADIENTS], 0), norm = mx_slice_at(unit->norm, 0);
    const int64_t floats = unit->table->floats;
    const struct mx_fill_args clear = {.x = gradients, .count = floats};
    const struct mx_grad_norm_args measure = {
        .gradient = gradients, .result = norm, .count = floats, .limit = GRAD_CLIP, .factor = 1};
    const struct mx_adamw_args update = {.parameter = parameters,
                                         .gradient = gradients,
                                         .moment1 = mx_slice_at(unit->flat[MOMENT1], 0),
                                         .moment2 = mx_slice_at(unit->flat[MOMENT2], 0),
                                         .norm = norm,
                                         .ema = mx_slice_at(unit->flat[AVERAGE], 0),
                                         .count = floats,
                                         .decayed = unit->table->decayed,
                                         .lr = rate,
                                         .beta1 = BETA1,
                                         .beta2 = BETA2,
                                         .eps = EPSILON,
                                         .weight_decay = WEIGHT_DECAY,
                                         .ema_decay = EMA_DECAY,
                                         .step = ++unit->steps};
    if (mx_fill(unit->stream, &clear) < 0 ||
        mx_vocoder_forward_backward(unit->vocoder, unit->stream, parameters, gradients, &unit->batch, NULL,
                                    unit->losses) < 0 ||
        mx_grad_norm(unit->stream, &measure) < 0 || mx_adamw(unit->stream, &update) < 0 ||
        mx_copy_download(unit->stream, unit->result, norm, sizeof unit->result) < 0 || mx_stream_sync(unit->stream) < 0)
        bench_die("a step failed");
}

static double round_make(struct unit *unit)
{
    const uint64_t begin = mx_clock_ns();
    for (int i = 0; i < STEPS; i++) step_make(unit, RATE);
    return (double)FRAMES * STEPS / ((double)(mx_clock_ns() - begin) * 1e-9);
}

/* ---- rows ---- */

static void peer_begin(const struct unit *unit, enum way way, struct peer *peer, char *about, size_t about_bytes)
{
    char cores[THREADS_MAX * 12] = "";
    for (int i = 0; i < unit->count; i++)
        snprintf(cores + strlen(cores), sizeof cores - strlen(cores), "%s%d", i > 0 ? "," : "", unit->cores[i]);
    (void)peer_open(peer, ways[way].label, "torch_vocoder.py", (const char *const[3]){folder, cores, ways[way].mode},
                    about, about_bytes);
}

static void bench_same(struct bench *bench, struct unit *unit, const float *flat)
{
    static const char *const name = "losses and gradients of ours and PyTorch, relative difference";
    struct peer peer;
    char about[64], line[32], answer[512];
    const char *at = answer;
    double most = 0;
    if (bench->quick || !bench_wanted(bench, name)) return;
    peer_begin(unit, EAGER, &peer, about, sizeof about);
    snprintf(line, sizeof line, "CHECK %d %g", CHECK_STEPS, (double)RATE);
    if (!peer_is_open(&peer) || !peer_ask(&peer, line, "STEPS", answer, sizeof answer)) return;
    weights_reset(unit, flat);
    for (int i = 0; i < CHECK_STEPS; i++) {
        int length = 0;
        double loss, norm;
        step_make(unit, RATE);
        const struct mx_vocoder_losses ours =
            mx_vocoder_losses_of(mx_vocoder_config(unit->vocoder), unit->losses, SEGMENTS, -1, FRAMES);
        if (sscanf(at, "%lf %lf%n", &loss, &norm, &length) != 2) bench_die("PyTorch answers something else");
        at += length;
        most = fmax(most, fabs(loss - ours.total) / ours.total);
        most = fmax(most, fabs(norm - (double)unit->result[0]) / (double)unit->result[0]);
        printf("  step %d: loss %.6f, gradient %.6f; in PyTorch %s %.6f and %.6f\n", i + 1, ours.total,
               (double)unit->result[0], about, loss, norm);
    }
    peer_close(&peer);
    bench_limit(bench, name, "", most, CHECK_MOST);
}

static struct bench_job job_of(double *rates, int count)
{
    struct bench_job job = {.median = bench_median(rates, count)};
    for (int i = 0; i < count; i++) job.best = fmax(job.best, rates[i]);
    return job;
}

static void bench_steps(struct bench *bench, struct unit *unit, const float *flat)
{
    char name[64], about[64], line[32], answer[64];
    struct peer peers[WAYS] = {{0}};
    double ours[ROUNDS], theirs[WAYS][ROUNDS];
    int counts[WAYS] = {0};
    const int rounds = bench->quick ? 2 : ROUNDS;
    bool compared = false;
    cpu_set_t allowed;
    snprintf(name, sizeof name, "vocoder training step, %d core%s", unit->count, unit->count > 1 ? "s" : "");
    if (!bench_wanted(bench, name)) return;
    bench_section(bench, mx_device_info(unit->device)->name);
    for (int way = 0; way < WAYS && !bench->quick; way++)
        peer_begin(unit, (enum way)way, &peers[way], about, sizeof about);
    sched_getaffinity(0, sizeof allowed, &allowed);
    /* One core means one core: the thread that asks for steps shares it with the device's worker. */
    if (unit->count == 1 && mx_thread_pin(unit->cores[0]) < 0) bench_die("cannot pin a thread");
    weights_reset(unit, flat);
    snprintf(line, sizeof line, "ROUND %d", STEPS);
    for (int round = 0; round < rounds; round++) {
        const double rate = round_make(unit);
        if (round > 0) ours[round - 1] = rate;
        for (int way = 0; way < WAYS; way++) {
            if (!peer_is_open(&peers[way]) || !peer_ask(&peers[way], line, "ROUND", answer, sizeof answer)) continue;
            if (round > 0) theirs[way][counts[way]++] = (double)FRAMES * STEPS / strtod(answer, NULL);
        }
    }
    sched_setaffinity(0, sizeof allowed, &allowed);
    const struct bench_job own = job_of(ours, rounds - 1);
    for (int way = 0; way < WAYS; way++) {
        peer_close(&peers[way]);
        if (counts[way] == 0) continue;
        const struct bench_job other = job_of(theirs[way], counts[way]);
        bench_report(bench, name, FRAME_UNIT, &own, ways[way].label, &other, ways[way].bar);
        compared = true;
    }
    if (!compared) bench_report(bench, name, FRAME_UNIT, &own, NULL, NULL, 0);
}

int main(int argc, char **argv)
{
    struct bench bench;
    struct unit units[THREADS_MAX];
    bench_start(&bench, "vocoder", "mel frames per second of a training step of the vocoder, beside PyTorch", argc,
                argv);
    bench.medians = true;
    mx_log_configure(&(struct mx_log_options){.level = MX_LOG_SILENT});
    const struct mx_vocoder_config config = config_make();
    const int all = mx_thread_cores(NULL, 0), most = all < THREADS_MAX ? all : THREADS_MAX;
    batch_make();
    for (int i = 0; i < most; i++) unit_open(&units[i], &config, all, i + 1);
    float *const flat = bench_alloc((size_t)units[0].table->floats * sizeof *flat);
    mx_parameters_init(units[0].table, SEED, flat);
    files_write(&config, units[0].table, flat);
    bench_same(&bench, &units[most - 1], flat);
    for (int i = 0; i < most; i++) bench_steps(&bench, &units[i], flat);
    for (int i = 0; i < most; i++) unit_close(&units[i]);
    mx_free(flat);
    files_remove();
    return bench_finish(&bench);
}

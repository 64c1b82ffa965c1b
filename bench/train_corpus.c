/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Making the corpus of bench_train, and writing its batches; see train_corpus.h.
 */
#include "train_corpus.h"

#include <ftw.h>
#include <math.h>
#include <sndfile.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/format/safetensors.h"
#include "base/rng.h"
#include "base/string.h"
#include "bench.h"
#include "corpus/prepare.h"
#include "corpus/sampler.h"
#include "features/recipe.h"
#include "model/work.h"

#define SEED             7
#define FRAMES_MIDDLE    250
#define FRAMES_PER_TOKEN (250.0 / 49.0)
#define FRAMES_MOST      (FRAMES_MIDDLE * 3 / 2)

enum random_stream { STREAM_LENGTH, STREAM_SYLLABLE, STREAM_MEL, STREAM_PITCH };

/* ---- recordings and texts ---- */

static int64_t frames_of(int row)
{
    return FRAMES_MIDDLE / 2 + (int64_t)mx_rng_below(SEED, STREAM_LENGTH, (uint64_t)row, FRAMES_MIDDLE + 1);
}

static void recording_write(const struct train_corpus *corpus, int row)
{
    char path[320];
    const int64_t count = frames_of(row) * MX_RECIPE_DEFAULT->hop;
    float *const samples = bench_alloc((size_t)count * sizeof *samples);
    SF_INFO info = {.samplerate = MX_RECIPE_DEFAULT->rate, .channels = 1, .format = SF_FORMAT_WAV | SF_FORMAT_PCM_16};
    for (int64_t i = 0; i < count; i++)
        samples[i] = 0.3f * (float)sin(2 * M_PI * (110 + row) * (double)i / MX_RECIPE_DEFAULT->rate);
    snprintf(path, sizeof path, "%s/row-%03d.wav", corpus->folder, row);
    SNDFILE *const file = sf_open(path, SFM_WRITE, &info);
    if (file == NULL || sf_writef_float(file, samples, count) != count || sf_close(file) != 0)
        bench_die("cannot write a recording of the bench");
    mx_free(samples);
}

/* A line of the manifest: words of two syllables, as many characters as the recording is long. */
static void line_append(struct mx_string *manifest, int row)
{
    static const char consonants[] = "bdfklmnprstvz", vowels[] = "aeiou";
    const int characters = (int)((double)frames_of(row) / FRAMES_PER_TOKEN) - 2; /* and a beginning and an end */
    char text[128] = "";
    for (int i = 0; i < characters && i < (int)sizeof text - 1; i++) {
        const char *const letters = i % 2 == 0 ? consonants : vowels;
        const uint64_t pick = mx_rng_below(SEED, STREAM_SYLLABLE, (uint64_t)(row * 256 + i), strlen(letters));
        text[i] = i % 5 == 4 && i + 1 < characters ? ' ' : letters[pick];
    }
    if (mx_string_append(manifest, "row-%03d|%s|%s\n", row, text, text) < 0) bench_die("no memory for the corpus");
}

static void folder_make(struct train_corpus *corpus, int utterances)
{
    char path[320];
    struct mx_string manifest = {0};
    const char *const base = getenv("TMPDIR");
    snprintf(corpus->folder, sizeof corpus->folder, "%s/myxtts-bench-XXXXXX", base != NULL && base[0] ? base : "/tmp");
    if (mkdtemp(corpus->folder) == NULL) bench_die("cannot make a folder for the corpus");
    for (int row = 0; row < utterances; row++) {
        recording_write(corpus, row);
        line_append(&manifest, row);
    }
    snprintf(path, sizeof path, "%s/metadata.csv", corpus->folder);
    FILE *const file = fopen(path, "w");
    if (file == NULL || fputs(manifest.data, file) < 0 || fclose(file) != 0)
        bench_die("cannot write the manifest of the bench");
    mx_string_release(&manifest);
}

/* ---- features ---- */

enum { MEL, ENERGY, PITCH, TENSORS };

struct stage {
    float *tensors[TENSORS];
};

static int stage_start(void *context, int worker, void **state)
{
    (void)worker;
    *state = context;
    return 0;
}

static void stage_end(void *state)
{
    (void)state;
}

/* The length is the seed: what a recording becomes depends on nothing else. */
static int stage_run(void *state, const float *samples, size_t count, uint32_t *frames,
                     const float *tensors[MX_PACKED_TENSORS])
{
    struct stage *const stage = state;
    const int32_t bands = MX_RECIPE_DEFAULT->bands;
    (void)samples;
    *frames = (uint32_t)mx_recipe_frames(MX_RECIPE_DEFAULT, (int64_t)count);
    for (uint32_t f = 0; f < *frames; f++) {
        const uint64_t place = (uint64_t)count << 16 | f;
        const double syllable = sin(0.3 * f) + 0.5 * sin(0.11 * f + (double)count);
        for (int32_t b = 0; b < bands; b++)
            stage->tensors[MEL][(int64_t)f * bands + b] =
                (float)(-5 - 0.03 * b + 1.5 * syllable * cos(0.1 * b + 0.05 * f)) +
                0.5f * mx_rng_normal(SEED, STREAM_MEL, place * 128 + (uint64_t)b);
        stage->tensors[ENERGY][f] = (float)(3 + syllable);
        stage->tensors[PITCH][f] =
            syllable < -0.3 ? 0 : 120 + 10 * (float)syllable + mx_rng_normal(SEED, STREAM_PITCH, place);
    }
    for (int i = 0; i < TENSORS; i++) tensors[i] = stage->tensors[i];
    return 0;
}

static void corpus_pack(const struct train_corpus *corpus, const char *file)
{
    char hash[MX_RECIPE_HASH_BYTES];
    const uint32_t columns[TENSORS] = {(uint32_t)MX_RECIPE_DEFAULT->bands, 1, 1};
    const struct mx_packed_tensor names[TENSORS] = {{"mel", columns[MEL], 0}, {"energy", 1, 0}, {"pitch", 1, 0}};
    struct stage stage;
    const struct mx_prepare_stage features = {.tensors = names,
                                              .tensor_count = TENSORS,
                                              .recipe = MX_RECIPE_DEFAULT->name,
                                              .recipe_hash = mx_recipe_hash_text(MX_RECIPE_DEFAULT, hash),
                                              .context = &stage,
                                              .start = stage_start,
                                              .run = stage_run,
                                              .end = stage_end};
    struct mx_prepare_options options = MX_PREPARE_OPTIONS_DEFAULT;
    struct mx_prepare_report report;
    for (int i = 0; i < TENSORS; i++) stage.tensors[i] = bench_alloc((FRAMES_MOST + 2) * columns[i] * sizeof(float));
    options.corpus = corpus->folder;
    options.file = file;
    options.row.tokens = MX_TOKENS_CHARS;
    options.stage = &features;
    options.workers = 1; /* the stage has one set of arrays */
    options.rejects_max = 0;
    if (mx_prepare_run(&options, &report) < 0) bench_die("cannot prepare the corpus");
    mx_prepare_release(&report);
    for (int i = 0; i < TENSORS; i++) mx_free(stage.tensors[i]);
}

void train_corpus_open(struct train_corpus *corpus, struct mx_device *device, int utterances)
{
    char file[320];
    struct mx_dataset_options options = MX_DATASET_OPTIONS_DEFAULT;
    *corpus = (struct train_corpus){0};
    folder_make(corpus, utterances);
    snprintf(file, sizeof file, "%s/corpus.packed", corpus->folder);
    corpus_pack(corpus, file);
    options.path = file;
    options.manifest.validation_fraction = 0;
    if (mx_dataset_open(&options, &corpus->dataset) < 0 ||
        mx_normaliser_measure(corpus->dataset, MX_RECIPE_DEFAULT, device, &corpus->normaliser) < 0)
        bench_die("cannot open the corpus");
}

static int entry_remove(const char *path, const struct stat *status, int type, struct FTW *place)
{
    (void)status;
    (void)type;
    (void)place;
    return remove(path);
}

void train_corpus_close(struct train_corpus *corpus)
{
    mx_dataset_close(corpus->dataset);
    nftw(corpus->folder, entry_remove, 16, FTW_DEPTH | FTW_PHYS);
}

/* ---- operations ---- */

static double squares_of(const int32_t *offsets, int32_t count)
{
    double sum = 0;
    for (int32_t i = 0; i < count; i++)
        sum += (double)(offsets[i + 1] - offsets[i]) * (double)(offsets[i + 1] - offsets[i]);
    return sum;
}

double train_flops(const struct mx_parameters *table, const struct mx_model_config *config,
                   const struct mx_host_batch *host)
{
    const struct mx_model_work work = {.sequences = host->count,
                                       .tokens = host->tokens,
                                       .frames = host->frames,
                                       .references = host->references,
                                       .token_pairs = squares_of(host->token_offsets, host->count),
                                       .frame_pairs = squares_of(host->frame_offsets, host->count)};
    return mx_model_flops(table, config, &work);
}

/* ---- files for a peer ---- */

static struct mx_tensor tensor(const char *name, enum mx_dtype dtype, const void *data, int64_t rows, int64_t columns)
{
    return (struct mx_tensor){.name = name,
                              .dtype = dtype,
                              .rank = columns > 1 ? 2 : 1,
                              .shape = {(uint64_t)rows, (uint64_t)columns},
                              .data = data};
}

static void batch_write(const struct train_corpus *corpus, const struct mx_host_batch *s)
{
    char path[320];
    const int32_t bands = MX_RECIPE_DEFAULT->bands;
    const struct mx_tensor tensors[] = {
        tensor("token_offsets", MX_DTYPE_I32, s->token_offsets, s->count + 1, 1),
        tensor("frame_offsets", MX_DTYPE_I32, s->frame_offsets, s->count + 1, 1),
        tensor("reference_offsets", MX_DTYPE_I32, s->reference_offsets, s->count + 1, 1),
        tensor("token_ids", MX_DTYPE_I32, s->token_ids, s->tokens, 1),
        tensor("languages", MX_DTYPE_I32, s->languages, s->count, 1),
        tensor("mel", MX_DTYPE_F32, s->mel, s->frames, bands),
        tensor("reference_mel", MX_DTYPE_F32, s->reference_mel, s->references, bands),
        tensor("pitch", MX_DTYPE_F32, s->pitch, s->frames, 1),
        tensor("energy", MX_DTYPE_F32, s->energy, s->frames, 1)};
    snprintf(path, sizeof path, "%s/batch-%u-%u.safetensors", corpus->folder, s->epoch, s->step);
    if (mx_safetensors_write(path, tensors, sizeof tensors / sizeof *tensors, NULL, 0) < 0)
        bench_die("cannot write a batch");
}

void train_batches_make(const struct train_corpus *corpus, const struct mx_trainer_options *o, int epochs, int steps,
                        bool write, struct train_batch *out)
{
    const uint32_t count = mx_dataset_count(corpus->dataset);
    const struct mx_batch_source_options how = {.dataset = corpus->dataset,
                                                .normaliser = corpus->normaliser,
                                                .seed = o->seed,
                                                .reference_seconds = o->reference_seconds};
    const struct mx_sampler_options order = {.seed = o->seed, .world = 1, .batch_size = o->batch_size};
    struct mx_batch_source *source = NULL;
    struct mx_sampler *sampler = NULL;
    struct mx_parameters *table = NULL;
    struct mx_dataset_reader *reader = NULL;
    struct mx_host_batch_capacity capacity;
    struct mx_host_batch *host = NULL;
    uint32_t *const items = bench_alloc(2 * count * sizeof *items), *const frames = items + count;
    if (mx_batch_source_create(&how, &source) < 0) bench_die("cannot make batches");
    for (uint32_t i = 0; i < count; i++) {
        items[i] = i;
        frames[i] = mx_batch_source_frames(source, i);
    }
    if (mx_sampler_create(&order, items, frames, count, &sampler) < 0 ||
        mx_batch_source_capacity(source, items, count, o->batch_size, 0, &capacity) < 0 ||
        mx_host_batch_create(source, o->device, &capacity, &host) < 0 ||
        mx_dataset_reader_create(corpus->dataset, &reader) < 0 ||
        mx_model_parameters_create(&o->model, NULL, &table) < 0)
        bench_die("cannot make batches");
    for (uint32_t epoch = 0; epoch < (uint32_t)epochs; epoch++) {
        mx_sampler_select(sampler, epoch);
        if (mx_sampler_steps(sampler) != (uint32_t)steps) bench_die("an epoch has another number of batches");
        for (uint32_t step = 0; step < (uint32_t)steps; step++) {
            const struct mx_sampler_batch batch = mx_sampler_get(sampler, step);
            if (mx_host_batch_fill(host, reader, epoch, step, batch.items, batch.count) < 0 || host->left_out > 0)
                bench_die("cannot make a batch");
            *out++ = (struct train_batch){host->frames, host->tokens, train_flops(table, &o->model, host)};
            if (write) batch_write(corpus, host);
        }
    }
    mx_parameters_destroy(table);
    mx_dataset_reader_destroy(reader);
    mx_host_batch_destroy(host);
    mx_sampler_destroy(sampler);
    mx_batch_source_destroy(source);
    mx_free(items);
}

void train_weights_write(const struct train_corpus *corpus, const struct mx_trainer_options *o)
{
    struct mx_parameters *table;
    enum { SETTINGS = 11 };
    char path[320], numbers[SETTINGS][32];
    const struct {
        const char *key;
        double value;
    } settings[SETTINGS] = {{"heads", o->model.size.heads},
                            {"encoder_blocks", o->model.size.encoder_blocks},
                            {"decoder_blocks", o->model.size.decoder_blocks},
                            {"dropout", (double)o->model.dropout},
                            {"diagonal", (double)o->model.diagonal},
                            {"rate", mx_schedule_rate(&o->optimizer.schedule, 0)},
                            {"beta1", o->optimizer.beta1},
                            {"beta2", o->optimizer.beta2},
                            {"epsilon", o->optimizer.epsilon},
                            {"weight_decay", o->optimizer.weight_decay},
                            {"grad_clip", o->optimizer.grad_clip}};
    struct mx_metadata metadata[SETTINGS];
    if (mx_model_parameters_create(&o->model, NULL, &table) < 0) bench_die("cannot make weights");
    float *const flat = bench_alloc((size_t)table->floats * sizeof *flat);
    struct mx_tensor *const tensors = bench_alloc((size_t)table->count * sizeof *tensors);
    mx_parameters_init(table, o->seed, flat);
    for (int i = 0; i < table->count; i++) {
        const struct mx_parameter *const p = &table->entries[i];
        tensors[i] = (struct mx_tensor){.name = p->name, .dtype = MX_DTYPE_F32, .rank = p->rank, .data = flat + p->at};
        for (int d = 0; d < p->rank; d++) tensors[i].shape[d] = (uint64_t)p->shape[d];
    }
    for (int i = 0; i < SETTINGS; i++) {
        snprintf(numbers[i], sizeof numbers[i], "%.9g", settings[i].value);
        metadata[i] = (struct mx_metadata){settings[i].key, numbers[i]};
    }
    snprintf(path, sizeof path, "%s/weights.safetensors", corpus->folder);
    if (mx_safetensors_write(path, tensors, (size_t)table->count, metadata, SETTINGS) < 0)
        bench_die("cannot write weights");
    mx_free(tensors);
    mx_free(flat);
    mx_parameters_destroy(table);
}

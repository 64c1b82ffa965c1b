/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See model_rig.h.
 */
#include "support/model_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "myxtts/error.h"

enum { PARAMETERS, GRADIENTS, MOMENT1, MOMENT2 };

static void must(int rc)
{
    if (rc < 0) fail_msg("%s (%s)", mx_error_last()->message, mx_error_last()->hint);
}

/* ---- utterances ---- */

enum stream { SHAPE = 1, NOISE, REFERENCE, TEMPLATE = 100, VOICE = 200 };

static int32_t draw(uint64_t seed, uint64_t index, int32_t least, int32_t most)
{
    return least + (int32_t)mx_rng_below(seed, SHAPE, index, (uint64_t)(most - least + 1));
}

static void frame_fill(float *to, int32_t bands, int32_t id, int voice)
{
    for (int32_t b = 0; b < bands; b++)
        to[b] = mx_rng_normal(7, TEMPLATE + (uint64_t)id, (uint64_t)b) +
                0.5f * mx_rng_normal(7, VOICE + (uint64_t)voice, (uint64_t)b);
}

void utterance_make(struct utterance *u, const struct mx_model_config *config, uint64_t seed, int voice, float noise)
{
    *u =
        (struct utterance){.tokens = draw(seed, 0, 4, RIG_TOKENS_MAX), .language = draw(seed, 1, 0, RIG_LANGUAGES - 1)};
    u->references = draw(seed, 2, 3, RIG_REFERENCES);
    u->mel = mx_alloc((size_t)RIG_FRAMES_MAX * (size_t)config->bands, sizeof *u->mel);
    u->reference = mx_alloc((size_t)u->references * (size_t)config->bands, sizeof *u->reference);
    assert_true(u->mel && u->reference);
    for (int32_t t = 0; t < u->tokens; t++) {
        u->ids[t] = draw(seed, 10 + (uint64_t)t, 0, RIG_SYMBOLS - 1);
        u->durations[t] = draw(seed, 50 + (uint64_t)t, 1, RIG_FRAMES_MAX / RIG_TOKENS_MAX);
        for (int32_t d = 0; d < u->durations[t]; d++, u->frames++) {
            float *frame = u->mel + u->frames * config->bands;
            frame_fill(frame, config->bands, u->ids[t], voice);
            for (int32_t b = 0; b < config->bands; b++)
                frame[b] += noise * mx_rng_normal(seed, NOISE, (uint64_t)(u->frames * config->bands + b));
            u->pitch[u->frames] = (float)(u->ids[t] % 3) - 1 + (float)voice;
            u->energy[u->frames] = (float)(u->ids[t] % 4) / 2 - 0.7f;
        }
    }
    for (int32_t i = 0; i < u->references * config->bands; i++)
        u->reference[i] = mx_rng_normal(7, VOICE + (uint64_t)voice, (uint64_t)(i % config->bands)) +
                          0.3f * mx_rng_normal(seed, REFERENCE, (uint64_t)i);
}

void utterance_release(struct utterance *u)
{
    mx_free(u->mel);
    mx_free(u->reference);
}

void batch_make(struct batch *batch, const struct mx_model_config *config, float noise)
{
    for (int i = 0; i < RIG_BATCH; i++) utterance_make(&batch->utterances[i], config, 60 + (uint64_t)i, i % 2, noise);
}

void batch_release(struct batch *batch)
{
    for (int i = 0; i < RIG_BATCH; i++) utterance_release(&batch->utterances[i]);
}

/* ---- the rig ---- */

struct mx_model_config rig_config(void)
{
    const struct mx_model_size size = {
        .name = "test", .width = 16, .heads = 2, .encoder_blocks = 1, .decoder_blocks = 2, .hidden = 40};
    struct mx_model_config config = mx_model_config_default(&size, RIG_SYMBOLS, RIG_LANGUAGES);
    config.bands = 8;
    config.dropout = 0;
    return config;
}

void rig_open(struct rig *rig, const struct mx_model_config *config, enum mx_model_purpose purpose, int devices,
              bool stirred)
{
    struct op_cpu cpu;
    must(op_cpu_open(&cpu, devices, 0));
    rig_open_on(rig, cpu, config, purpose, stirred);
}

void rig_weights_open(struct rig *rig, const struct mx_parameters *table, bool stirred)
{
    const size_t bytes = (size_t)table->floats * sizeof(float);
    float *flat = mx_alloc(bytes, 1);
    assert_non_null(flat);
    rig->table = table;
    for (int i = 0; i < 4; i++) {
        must(mx_buffer_create(rig->cpu.device, "flat", bytes, &rig->flat[i]));
        rig_upload(rig, mx_slice_at(rig->flat[i], 0), flat, table->floats);
    }
    mx_parameters_init(table, 1, flat);
    for (int i = 0; stirred && i < table->count; i++) {
        const struct mx_parameter *p = &table->entries[i];
        for (int64_t k = 0; k < p->count; k++) flat[p->at + k] += 0.1f * mx_rng_normal(2, (uint64_t)i, (uint64_t)k);
    }
    rig_upload(rig, rig_parameters(rig), flat, table->floats);
    mx_free(flat);
    must(mx_buffer_create(rig->cpu.device, "norm", 16, &rig->norm));
}

static void model_run(struct rig *rig, uint64_t step, double *values)
{
    const struct mx_model_losses losses = rig_teach(rig, step);
    memcpy(values, losses.values, sizeof losses.values);
}

void rig_open_on(struct rig *rig, struct op_cpu opened, const struct mx_model_config *config,
                 enum mx_model_purpose purpose, bool stirred)
{
    const struct mx_model_capacity capacity = {.sequences = RIG_BATCH_MAX,
                                               .tokens = RIG_BATCH_MAX * RIG_TOKENS_MAX,
                                               .frames = RIG_BATCH_MAX * RIG_FRAMES_MAX,
                                               .references = RIG_BATCH_MAX * RIG_REFERENCES};
    struct mx_layout layout = {0};
    *rig = (struct rig){.cpu = opened, .run = model_run, .kinds = MX_MODEL_LOSSES};
    must(mx_stream_create(rig->cpu.device, "model", &rig->stream));
    must(mx_model_create(rig->cpu.device, rig->stream, config, &capacity, purpose, &rig->model));
    rig_weights_open(rig, mx_model_parameters(rig->model), stirred);
    mx_model_batch_place(&layout, config, mx_model_capacity(rig->model), &rig->batch);
    must(mx_buffer_create(rig->cpu.device, "batch", layout.offset_bytes, &rig->room));
}

void rig_close(struct rig *rig)
{
    mx_stream_release(rig->stream);
    mx_model_destroy(rig->model);
    for (int i = 0; i < 4; i++) mx_buffer_release(rig->flat[i]);
    mx_buffer_release(rig->norm);
    mx_buffer_release(rig->room);
    op_cpu_close(&rig->cpu);
}

void rig_upload(const struct rig *rig, struct mx_slice to, const void *from, int64_t count)
{
    must(mx_copy_upload(rig->stream, to, from, (size_t)count * 4));
    must(mx_stream_sync(rig->stream));
}

float *rig_download(const struct rig *rig, struct mx_slice from, int64_t count)
{
    float *to = mx_alloc((size_t)count, sizeof *to);
    assert_non_null(to);
    must(mx_copy_download(rig->stream, to, from, (size_t)count * 4));
    must(mx_stream_sync(rig->stream));
    return to;
}

static void packed_add(struct mx_ragged *packed, int32_t *ends, int32_t rows)
{
    ends[packed->count + 1] = ends[packed->count] + rows;
    packed->count++;
    packed->rows += rows;
    if (rows > packed->max_rows) packed->max_rows = rows;
}

/* Appends `count` words to what lies at `slice`. */
static void append(const struct rig *rig, struct mx_slice slice, int64_t at, const void *from, int64_t count)
{
    rig_upload(rig, mx_slice_at(slice.buffer, slice.offset_bytes + (size_t)at * 4), from, count);
}

void rig_load(struct rig *rig, const struct utterance *utterances, int count)
{
    const struct mx_model_config *config = mx_model_config(rig->model);
    int32_t tokens[RIG_BATCH_MAX + 1] = {0}, frames[RIG_BATCH_MAX + 1] = {0}, references[RIG_BATCH_MAX + 1] = {0};
    struct mx_layout layout = {.buffer = rig->room};
    struct mx_model_batch *b = &rig->batch;
    mx_model_batch_place(&layout, config, mx_model_capacity(rig->model), b);
    for (int s = 0; s < count; s++) {
        const struct utterance *u = &utterances[s];
        append(rig, b->token_ids, tokens[s], u->ids, u->tokens);
        append(rig, b->languages, s, &u->language, 1);
        append(rig, b->reference_mel, references[s] * config->bands, u->reference, u->references * config->bands);
        append(rig, b->mel, frames[s] * config->bands, u->mel, u->frames * config->bands);
        append(rig, b->pitch, frames[s], u->pitch, u->frames);
        append(rig, b->energy, frames[s], u->energy, u->frames);
        packed_add(&b->tokens, tokens, u->tokens);
        packed_add(&b->frames, frames, u->frames);
        packed_add(&b->references, references, u->references);
    }
    rig_upload(rig, b->tokens.offsets, tokens, count + 1);
    rig_upload(rig, b->frames.offsets, frames, count + 1);
    rig_upload(rig, b->references.offsets, references, count + 1);
}

struct mx_slice rig_parameters(const struct rig *rig)
{
    return mx_slice_at(rig->flat[PARAMETERS], 0);
}

struct mx_slice rig_gradients(const struct rig *rig)
{
    return mx_slice_at(rig->flat[GRADIENTS], 0);
}

static struct mx_model_losses finish(struct rig *rig)
{
    must(mx_stream_sync(rig->stream));
    return mx_model_losses_of(mx_model_config(rig->model), rig->losses, rig->batch.tokens.count, -1,
                              rig->batch.tokens.rows, rig->batch.frames.rows);
}

struct mx_model_losses rig_teach(struct rig *rig, uint64_t step)
{
    const struct mx_fill_args clear = {.x = rig_gradients(rig), .count = rig->table->floats};
    const struct mx_model_pass_info now = {.seed = 1, .step = step};
    must(mx_fill(rig->stream, &clear));
    must(mx_model_forward_backward(rig->model, rig->stream, rig_parameters(rig), rig_gradients(rig), &rig->batch, &now,
                                   rig->losses));
    return finish(rig);
}

struct mx_model_losses rig_evaluate(struct rig *rig)
{
    must(mx_model_evaluate(rig->model, rig->stream, rig_parameters(rig), &rig->batch, rig->losses));
    return finish(rig);
}

struct mx_model_losses rig_losses_of(const struct rig *rig, int sequence, const struct utterance *u)
{
    return mx_model_losses_of(mx_model_config(rig->model), rig->losses, rig->batch.tokens.count, sequence, u->tokens,
                              u->frames);
}

void rig_update(struct rig *rig, float lr)
{
    const struct mx_grad_norm_args norm = {.gradient = rig_gradients(rig),
                                           .result = {rig->norm, 0},
                                           .count = rig->table->learned,
                                           .limit = 1,
                                           .factor = 1};
    const struct mx_adamw_args update = {.parameter = rig_parameters(rig),
                                         .gradient = rig_gradients(rig),
                                         .moment1 = {rig->flat[MOMENT1], 0},
                                         .moment2 = {rig->flat[MOMENT2], 0},
                                         .norm = {rig->norm, 0},
                                         .count = rig->table->learned,
                                         .decayed = rig->table->decayed,
                                         .lr = lr,
                                         .beta1 = 0.9f,
                                         .beta2 = 0.98f,
                                         .eps = 1e-9f,
                                         .step = ++rig->steps};
    must(mx_grad_norm(rig->stream, &norm));
    must(mx_adamw(rig->stream, &update));
}

/* ---- bits ---- */

void rig_same_words(const float *a, const float *b, int64_t count, const char *what)
{
    for (int64_t i = 0; i < count; i++)
        if (memcmp(&a[i], &b[i], 4) != 0)
            fail_msg("%s differs at %lld: %.9g and %.9g", what, (long long)i, (double)a[i], (double)b[i]);
}

/* Three steps from the beginning; returns the parameters. */
static float *trained(const struct mx_model_config *config, int devices, int64_t *floats)
{
    struct rig rig;
    struct batch batch;
    rig_open(&rig, config, MX_MODEL_TRAIN, devices, true);
    batch_make(&batch, config, 0.3f);
    rig_load(&rig, batch.utterances, RIG_BATCH);
    batch_release(&batch);
    for (uint64_t i = 0; i < 3; i++) {
        rig_teach(&rig, i);
        rig_update(&rig, 1e-3f);
    }
    *floats = rig.table->floats;
    float *const parameters = rig_download(&rig, rig_parameters(&rig), *floats);
    rig_close(&rig);
    return parameters;
}

void rig_same_bits(struct mx_model_config config)
{
    int64_t floats;
    config.dropout = 0.2f;
    float *const first = trained(&config, 1, &floats);
    float *const again = trained(&config, 1, &floats);
    float *const alone = trained(&config, op_cpu_cores(), &floats);
    config.recompute_blocks = true;
    float *const checkpointed = trained(&config, 1, &floats);
    rig_same_words(first, again, floats, "a second run");
    rig_same_words(first, alone, floats, "a run with one worker");
    rig_same_words(first, checkpointed, floats, "a run with checkpointing");
    mx_free(first);
    mx_free(again);
    mx_free(alone);
    mx_free(checkpointed);
}

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The layout of the activations' buffer, and its size.
 */
#include "base/alloc.h"
#include "base/number.h"
#include "model/check.h"
#include "model/internal.h"
#include "myxtts/error.h"

/* ---- capacity ---- */

int mx_model_capacity_check(const struct mx_model_capacity *capacity, struct mx_model_capacity *out)
{
    enum { ROWS_MAX = 1 << 28 };
    struct mx_model_capacity c = *capacity;
    int rc = 0;
    MX_TRY(mx_range_check(MX_ERR_ARGUMENT, "model capacity", "sequences", c.sequences, 1, ROWS_MAX));
    MX_TRY(mx_range_check(MX_ERR_ARGUMENT, "model capacity", "tokens", c.tokens, 1, ROWS_MAX));
    MX_TRY(mx_range_check(MX_ERR_ARGUMENT, "model capacity", "frames", c.frames, 1, ROWS_MAX));
    MX_TRY(mx_range_check(MX_ERR_ARGUMENT, "model capacity", "references", c.references, 0, ROWS_MAX));
    MX_TRY(mx_range_check(MX_ERR_ARGUMENT, "model capacity", "longest_tokens", c.longest_tokens, 0, c.tokens));
    MX_TRY(mx_range_check(MX_ERR_ARGUMENT, "model capacity", "longest_frames", c.longest_frames, 0, c.frames));
    if (c.longest_tokens == 0) c.longest_tokens = c.tokens;
    if (c.longest_frames == 0) c.longest_frames = c.frames;
    *out = c;
out:
    return rc;
}

/* ---- layouts ---- */

struct mx_slice mx_layout_reserve(struct mx_layout *layout, int64_t count)
{
    const struct mx_slice slice = {layout->buffer, layout->offset_bytes};
    const size_t bytes = (size_t)count * 4;
    layout->offset_bytes += (bytes + MX_LAYOUT_ALIGNMENT - 1) / MX_LAYOUT_ALIGNMENT * MX_LAYOUT_ALIGNMENT;
    return slice;
}

void mx_model_batch_place(struct mx_layout *layout, const struct mx_model_config *config,
                          const struct mx_model_capacity *capacity, struct mx_model_batch *batch)
{
    *batch = (struct mx_model_batch){0};
    batch->tokens.offsets = mx_layout_reserve(layout, capacity->sequences + 1);
    batch->frames.offsets = mx_layout_reserve(layout, capacity->sequences + 1);
    batch->references.offsets = mx_layout_reserve(layout, capacity->sequences + 1);
    batch->token_ids = mx_layout_reserve(layout, capacity->tokens);
    batch->languages = mx_layout_reserve(layout, capacity->sequences);
    batch->reference_mel = mx_layout_reserve(layout, (int64_t)capacity->references * config->bands);
    batch->mel = mx_layout_reserve(layout, (int64_t)capacity->frames * config->bands);
    batch->pitch = mx_layout_reserve(layout, capacity->frames);
    batch->energy = mx_layout_reserve(layout, capacity->frames);
}

/* ---- the parts ---- */

struct mx_slice mx_memory_reserve(const struct mx_placing *p, int64_t rows, int64_t width)
{
    return mx_layout_reserve(p->layout, rows * width);
}

struct mx_slice mx_memory_narrow(const struct mx_placing *p, int64_t rows, int64_t width)
{
    return mx_layout_reserve(p->layout, p->mixed ? (rows * width + 1) / 2 : rows * width);
}

struct mx_slice mx_memory_keep(const struct mx_placing *p, int64_t rows, int64_t width)
{
    return p->backward ? mx_memory_reserve(p, rows, width) : (struct mx_slice){0};
}

static void block_place(const struct mx_placing *p, struct mx_block_memory *m, int64_t rows)
{
    const int64_t w = p->config->size.width, h = p->config->size.hidden;
    m->normed1 = mx_memory_narrow(p, rows, w);
    m->stats1 = mx_memory_reserve(p, rows, 2);
    m->qkv = mx_memory_reserve(p, rows, 3 * w);
    m->attended = mx_memory_reserve(p, rows, w);
    m->lse = mx_memory_reserve(p, p->config->size.heads, rows);
    m->middle = mx_memory_reserve(p, rows, w);
    m->normed2 = mx_memory_narrow(p, rows, w);
    m->stats2 = mx_memory_reserve(p, rows, 2);
    m->pre = p->backward ? mx_memory_narrow(p, rows, h) : (struct mx_slice){0};
    m->hidden = mx_memory_narrow(p, rows, h);
}

/* With a backward pass every block keeps its own memory, or with checkpointing only its input. Without one even the
 * inputs are the same place: a block writes its output when it does not need its input any more. */
void mx_memory_stack(const struct mx_placing *p, struct mx_stack_memory *m, int blocks, int64_t rows)
{
    m->x[0] = mx_memory_reserve(p, rows, p->config->size.width);
    for (int i = 0; i < blocks; i++) {
        m->x[i + 1] = p->backward ? mx_memory_reserve(p, rows, p->config->size.width) : m->x[0];
        if (i == 0 || (p->backward && !p->config->recompute_blocks))
            block_place(p, &m->blocks[i], rows);
        else
            m->blocks[i] = m->blocks[0];
    }
}

static void speaker_place(const struct mx_placing *p, struct mx_speaker_encoder_memory *m)
{
    const int64_t w = p->config->size.width, rows = p->capacity->references, sequences = p->capacity->sequences;
    for (int i = 0; i < 3; i++) {
        m->pre[i] = mx_memory_keep(p, rows, w);
        m->act[i] = mx_memory_reserve(p, rows, w);
        m->normed[i] = mx_memory_reserve(p, rows, w);
        m->stats[i] = mx_memory_reserve(p, rows, 2);
    }
    m->score = mx_memory_reserve(p, rows, 1);
    m->share = mx_memory_reserve(p, rows, 1);
    m->vector = mx_memory_reserve(p, sequences, w);
    m->encoder_row = mx_memory_reserve(p, sequences, w);
    m->decoder_row = mx_memory_reserve(p, sequences, w);
    m->dvector = mx_memory_keep(p, sequences, w);
    m->drow = mx_memory_keep(p, sequences, w);
    m->dscore = mx_memory_keep(p, rows, 1);
}

static void predictor_place(const struct mx_placing *p, struct mx_predictor_memory *m)
{
    const int64_t w = p->config->size.width, rows = p->capacity->tokens;
    for (int i = 0; i < 2; i++) {
        m->act[i] = mx_memory_reserve(p, rows, w);
        m->normed[i] = mx_memory_reserve(p, rows, w);
        m->stats[i] = mx_memory_reserve(p, rows, 2);
    }
    m->out = mx_memory_reserve(p, rows, 1);
    m->dout = mx_memory_keep(p, rows, 1);
}

void mx_memory_place(struct mx_memory *memory, struct mx_layout *layout, const struct mx_model_config *config,
                     const struct mx_parameters *table, const struct mx_model_capacity *capacity,
                     enum mx_model_purpose purpose)
{
    const bool train = purpose == MX_MODEL_TRAIN;
    const struct mx_placing place = {layout, config, capacity, train, train && config->mixed}, *p = &place;
    const struct mx_model_size *size = &config->size;
    const int64_t w = size->width, b = config->bands, tokens = capacity->tokens, frames = capacity->frames;
    const int64_t rows = mx_most(tokens, mx_most(frames, capacity->references));
    *memory = (struct mx_memory){0};
    memory->rotary = mx_memory_reserve(p, mx_most(capacity->longest_tokens, capacity->longest_frames), w / size->heads);
    speaker_place(p, &memory->speaker);
    mx_memory_stack(p, &memory->encoder, size->encoder_blocks, tokens);
    memory->states = mx_memory_reserve(p, tokens, w);
    memory->states_stats = mx_memory_reserve(p, tokens, 2);
    memory->dstates = mx_memory_keep(p, tokens, w);
    memory->means = mx_memory_keep(p, tokens, b);
    memory->dmeans = mx_memory_keep(p, tokens, b);
    memory->align_work = mx_memory_keep(p, MX_ALIGN_WORK(tokens, capacity->longest_tokens, frames), 1);
    memory->durations = mx_memory_reserve(p, tokens, 1);
    memory->ends = mx_memory_reserve(p, tokens + 1, 1);
    memory->spread = mx_memory_keep(p, frames, b);
    memory->dspread = mx_memory_keep(p, frames, b);
    for (int i = 0; i < MX_PREDICTORS; i++) {
        memory->targets[i] = mx_memory_keep(p, tokens, 1);
        predictor_place(p, &memory->predictors[i]);
    }
    memory->shift = mx_memory_reserve(p, tokens, 1);
    memory->tokens = mx_memory_reserve(p, tokens, w);
    for (int i = 0; mx_mel_modules[i] != NULL; i++) mx_mel_modules[i]->place(p, memory);
    memory->mel = mx_memory_reserve(p, frames, b);
    memory->dmel = mx_memory_keep(p, frames, b);
    memory->frame_offsets = mx_memory_reserve(p, capacity->sequences + 1, 1);
    memory->losses = mx_memory_keep(p, MX_MODEL_LOSSES, capacity->sequences);
    memory->d = mx_memory_keep(p, rows, w);
    memory->e = mx_memory_keep(p, rows, w);
    memory->wide = mx_memory_keep(p, rows, mx_most(size->hidden, 4 * w));
    memory->delta = mx_memory_keep(p, size->heads, rows);
    if (table->adapted == 0) return;
    memory->merged = mx_memory_reserve(p, table->adapted, 1);
    memory->low = mx_memory_keep(p, rows, config->learning.adapter_rank);
    memory->dlow = mx_memory_keep(p, rows, config->learning.adapter_rank);
}

/* ---- the plan ---- */

void mx_model_memory_plan_fill(struct mx_model_memory_plan *out, const struct mx_parameters *table,
                               enum mx_model_purpose purpose, uint64_t activations_bytes, uint64_t batch_bytes)
{
    const uint64_t flat = (uint64_t)table->floats * 4, learned = (uint64_t)table->learned * 4;
    const uint64_t gradients = learned + (uint64_t)table->discard * 4;
    *out = (struct mx_model_memory_plan){
        .parameters = table->elements,
        .parameters_bytes = flat,
        .learning = table->learning,
        .gradients_bytes = purpose == MX_MODEL_TRAIN ? gradients : 0,
        .ema_bytes = purpose == MX_MODEL_TRAIN ? learned : 0,
        .activations_bytes = activations_bytes,
        .batch_bytes = batch_bytes,
    };
}

int mx_model_memory_plan(const struct mx_model_config *config, const struct mx_model_capacity *capacity,
                         enum mx_model_purpose purpose, struct mx_model_memory_plan *out)
{
    int rc = 0;
    struct mx_model_capacity full;
    struct mx_parameters *parameters = NULL;
    struct mx_memory *memory = NULL;
    struct mx_layout activations = {0}, one_batch = {0};
    struct mx_model_batch batch;
    MX_TRY(mx_model_capacity_check(capacity, &full));
    MX_TRY(mx_model_parameters_create(config, NULL, &parameters));
    memory = mx_alloc(1, sizeof *memory);
    if (!memory) MX_TRY(MX_ERR_NO_MEMORY);
    mx_memory_place(memory, &activations, config, parameters, &full, purpose);
    mx_model_batch_place(&one_batch, config, &full, &batch);
    mx_model_memory_plan_fill(out, parameters, purpose, activations.offset_bytes, one_batch.offset_bytes);
out:
    mx_free(memory);
    mx_parameters_destroy(parameters);
    return rc;
}

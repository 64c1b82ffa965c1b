/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The layout of the activations' buffer of the vocoder's network, and its size. The same code makes the plan and the
 * real allocation, so the two cannot disagree.
 */
#include "base/alloc.h"
#include "myxtts/error.h"
#include "vocoder/internal.h"

void mx_vocoder_batch_place(struct mx_layout *layout, const struct mx_vocoder_config *config,
                            const struct mx_vocoder_capacity *capacity, struct mx_vocoder_batch *batch)
{
    *batch = (struct mx_vocoder_batch){0};
    batch->frames.offsets = mx_layout_reserve(layout, capacity->sequences + 1);
    batch->mel = mx_layout_reserve(layout, (int64_t)capacity->frames * config->recipe.bands);
    batch->target = mx_layout_reserve(layout, (int64_t)capacity->frames * mx_vocoder_bins(config));
    batch->pitch = mx_layout_reserve(layout, capacity->frames);
    batch->burst = mx_layout_reserve(layout, (int64_t)capacity->frames * MX_VOCODER_BURST);
}

struct placing {
    struct mx_layout *layout;
    int64_t frames;
    bool train, mixed;
};

/* [F, width] */
static struct mx_slice reserve(const struct placing *p, int64_t width)
{
    return mx_layout_reserve(p->layout, p->frames * width);
}

/* What is bf16 in mixed precision. */
static struct mx_slice reserve_narrow(const struct placing *p, int64_t width)
{
    return mx_layout_reserve(p->layout, p->mixed ? (p->frames * width + 1) / 2 : p->frames * width);
}

static void block_place(const struct placing *p, const struct mx_vocoder_size *size, struct mx_vocoder_block_memory *m)
{
    m->mixed = reserve(p, size->width);
    m->normed = reserve_narrow(p, size->width);
    m->stats = reserve(p, 2);
    m->pre = p->train ? reserve_narrow(p, size->hidden) : (struct mx_slice){0};
    m->hidden = reserve_narrow(p, size->hidden);
}

void mx_vocoder_memory_place(struct mx_vocoder_memory *memory, struct mx_layout *layout,
                             const struct mx_vocoder_config *config, const struct mx_vocoder_capacity *capacity,
                             enum mx_model_purpose purpose, size_t tables)
{
    const bool train = purpose == MX_MODEL_TRAIN;
    const struct placing place = {layout, capacity->frames, train, train && config->mixed}, *p = &place;
    const struct mx_vocoder_size *size = &config->size;
    const int32_t bins = mx_vocoder_bins(config);
    *memory = (struct mx_vocoder_memory){0};
    memory->tables = mx_layout_reserve(layout, (int64_t)tables);
    memory->places = mx_layout_reserve(layout, 3 * (int64_t)bins);
    memory->input = reserve(p, config->recipe.bands);
    memory->embedded = reserve(p, size->width);
    memory->stats = reserve(p, 2);
    memory->x[0] = reserve(p, size->width);
    for (int i = 0; i < size->blocks; i++) {
        /* Without a backward pass all blocks share the memory of one, and each adds to its input in place. */
        memory->x[i + 1] = train ? reserve(p, size->width) : memory->x[0];
        if (i == 0 || train)
            block_place(p, size, &memory->blocks[i]);
        else
            memory->blocks[i] = memory->blocks[0];
    }
    memory->normed = reserve_narrow(p, size->width);
    memory->normed_stats = reserve(p, 2);
    memory->magnitude = reserve(p, bins);
    memory->logits = reserve(p, MX_VOCODER_OUTPUTS);
    memory->burst = reserve(p, MX_VOCODER_BURST);
    if (!train) return;
    memory->dmagnitude = reserve(p, bins);
    memory->dlogits = reserve(p, MX_VOCODER_OUTPUTS);
    memory->dburst = reserve(p, MX_VOCODER_BURST);
    memory->losses = mx_layout_reserve(layout, (int64_t)MX_VOCODER_LOSSES * capacity->sequences);
    memory->d = reserve(p, size->width);
    memory->e = reserve(p, size->width);
    memory->dhidden = reserve_narrow(p, size->hidden);
}

int mx_vocoder_memory_plan(const struct mx_vocoder_config *config, const struct mx_vocoder_capacity *capacity,
                           enum mx_model_purpose purpose, struct mx_model_memory_plan *out)
{
    int rc = 0;
    struct mx_vocoder_capacity full;
    struct mx_parameters *parameters = NULL;
    struct mx_recipe_tables tables = {0};
    struct mx_vocoder_memory memory;
    struct mx_vocoder_batch batch;
    struct mx_layout activations = {0}, one_batch = {0};
    MX_TRY(mx_vocoder_capacity_check(capacity, &full));
    MX_TRY(mx_vocoder_parameters_create(config, &parameters));
    MX_TRY(mx_recipe_tables_build(&config->recipe, &tables));
    mx_vocoder_memory_place(&memory, &activations, config, &full, purpose, tables.count);
    mx_vocoder_batch_place(&one_batch, config, &full, &batch);
    mx_model_memory_plan_fill(out, parameters, purpose, activations.offset_bytes, one_batch.offset_bytes);
out:
    mx_recipe_tables_release(&tables);
    mx_parameters_destroy(parameters);
    return rc;
}

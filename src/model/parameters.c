/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Builds the parameter table from the lists in parameters.h, and the initial values.
 *
 * The same functions walk the lists twice: once without room, to count, and once to fill. Each part's struct of
 * positions (struct mx_block_at and the others) is an array of int64_t in the order of its list and is filled together
 * with the entries.
 */
#include "model/parameters.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "myxtts/error.h"

/* One line of a list with its dimensions worked out. */
struct line {
    const char *name;
    int64_t shape[3];
    enum mx_init init;
    bool decay;
};

#define LINES_MAX 16 /* of one list */

#define LINE(member, name, d0, d1, d2, init, decay) {name, {d0, d1, d2}, MX_INIT_##init, decay},

/* The lists in terms of one configuration; returns how many lines. */
#define LIST(part, LIST_OF)                                                                                            \
    static int part##_lines(const struct mx_model_config *config, struct line out[LINES_MAX])                          \
    {                                                                                                                  \
        const int64_t W = config->size.width, H = config->size.hidden, B = config->bands;                              \
        const int64_t V = config->vocabulary, L = config->languages;                                                   \
        const struct line lines[] = {LIST_OF(LINE)};                                                                   \
        _Static_assert(sizeof lines <= LINES_MAX * sizeof *lines, "LINES_MAX is too small");                           \
        _Static_assert(sizeof(struct mx_##part##_at) == sizeof lines / sizeof *lines * sizeof(int64_t), "one each");   \
        (void)H, (void)B, (void)V, (void)L;                                                                            \
        memcpy(out, lines, sizeof lines);                                                                              \
        return (int)(sizeof lines / sizeof *lines);                                                                    \
    }
LIST(speaker, MX_SPEAKER_PARAMETERS)
LIST(encoder, MX_ENCODER_PARAMETERS)
LIST(block, MX_BLOCK_PARAMETERS)
LIST(predictor, MX_PREDICTOR_PARAMETERS)
LIST(decoder, MX_DECODER_PARAMETERS)
#undef LIST
#undef LINE

struct builder {
    const struct mx_model_config *config;
    struct mx_parameters *table;
    int64_t **places; /* of each entry: where its place is to be written */
    int count;
};

static double deviation_of(const struct mx_parameter *p, int blocks)
{
    const double last = (double)p->shape[p->rank - 1], fan_in = (double)p->count / last;
    switch (p->init) {
    case MX_INIT_FAN_IN:
        return 1 / sqrt(fan_in);
    case MX_INIT_RESIDUAL:
        return 1 / sqrt(fan_in * 2 * blocks);
    case MX_INIT_EMBEDDING:
        return 1 / sqrt(last);
    default:
        return 0;
    }
}

/* Adds the lines of one part; without entries it only counts. */
static void add(struct builder *b, const char *part, const struct line *lines, int count, int64_t *places, int blocks)
{
    for (int i = 0; i < count; i++, b->count++) {
        if (!b->table->entries || !b->places) continue;
        struct mx_parameter *p = &b->table->entries[b->count];
        *p = (struct mx_parameter){.init = lines[i].init, .decay = lines[i].decay, .count = 1};
        snprintf(p->name, sizeof p->name, "%s.%s", part, lines[i].name);
        for (; p->rank < 3 && lines[i].shape[p->rank] > 0; p->rank++) {
            p->shape[p->rank] = lines[i].shape[p->rank];
            p->count *= p->shape[p->rank];
        }
        p->deviation = deviation_of(p, blocks);
        b->places[b->count] = &places[i];
    }
}

static void add_blocks(struct builder *b, const char *stack, struct mx_block_at *places, int blocks)
{
    struct line lines[LINES_MAX];
    const int count = block_lines(b->config, lines);
    for (int i = 0; i < blocks; i++) {
        char part[32];
        snprintf(part, sizeof part, "%s.block.%d", stack, i);
        add(b, part, lines, count, (int64_t *)&places[i], blocks);
    }
}

static void add_all(struct builder *b)
{
    static const char *const predictors[MX_PREDICTORS] = {"predictor.duration", "predictor.pitch", "predictor.energy"};
    struct mx_parameters *table = b->table;
    struct line lines[LINES_MAX];
    int count = speaker_lines(b->config, lines);
    b->count = 0;
    add(b, "speaker", lines, count, (int64_t *)&table->speaker, 0);
    count = encoder_lines(b->config, lines);
    add(b, "encoder", lines, count, (int64_t *)&table->encoder, 0);
    add_blocks(b, "encoder", table->encoder_blocks, b->config->size.encoder_blocks);
    count = predictor_lines(b->config, lines);
    for (int i = 0; i < MX_PREDICTORS; i++) add(b, predictors[i], lines, count, (int64_t *)&table->predictors[i], 0);
    count = decoder_lines(b->config, lines);
    add(b, "decoder", lines, count, (int64_t *)&table->decoder, 0);
    add_blocks(b, "decoder", table->decoder_blocks, b->config->size.decoder_blocks);
}

/* Gives every parameter its place: decayed ones first. */
static void place(struct builder *b)
{
    struct mx_parameters *table = b->table;
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < table->count; i++) {
            struct mx_parameter *p = &table->entries[i];
            if (p->decay != (pass == 0)) continue;
            p->at = *b->places[i] = table->floats;
            table->elements += p->count;
            table->floats += (p->count + MX_PARAMETER_ALIGNMENT - 1) / MX_PARAMETER_ALIGNMENT * MX_PARAMETER_ALIGNMENT;
        }
        if (pass == 0) table->decayed = table->floats;
    }
}

int mx_parameters_create(const struct mx_model_config *config, struct mx_parameters **out)
{
    int rc = 0;
    struct builder b = {.config = config};
    *out = NULL;
    MX_TRY(mx_model_config_check(config));
    b.table = mx_alloc(1, sizeof *b.table);
    if (!b.table) MX_TRY(MX_ERR_NO_MEMORY);
    add_all(&b); /* counts */
    b.places = mx_alloc((size_t)b.count, sizeof *b.places);
    if (!b.places) MX_TRY(MX_ERR_NO_MEMORY);
    b.table->entries = mx_alloc((size_t)b.count, sizeof *b.table->entries);
    if (!b.table->entries) MX_TRY(MX_ERR_NO_MEMORY);
    add_all(&b);
    b.table->count = b.count;
    place(&b);
    *out = b.table;
    b.table = NULL;
out:
    mx_free(b.places);
    mx_parameters_destroy(b.table);
    return rc;
}

void mx_parameters_destroy(struct mx_parameters *table)
{
    if (!table) return;
    mx_free(table->entries);
    mx_free(table);
}

const struct mx_parameter *mx_parameters_find(const struct mx_parameters *table, const char *name)
{
    for (int i = 0; i < table->count; i++)
        if (strcmp(table->entries[i].name, name) == 0) return &table->entries[i];
    return NULL;
}

/* FNV-1a of the name: the random stream of a parameter. */
static uint64_t name_stream(const char *name)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (; *name; name++) hash = (hash ^ (unsigned char)*name) * UINT64_C(1099511628211);
    return hash;
}

void mx_parameters_init(const struct mx_parameters *table, uint64_t seed, float *flat)
{
    memset(flat, 0, (size_t)table->floats * sizeof *flat);
    for (int i = 0; i < table->count; i++) {
        const struct mx_parameter *p = &table->entries[i];
        const uint64_t stream = name_stream(p->name);
        float *values = flat + p->at;
        if (p->init == MX_INIT_ZERO) continue;
        for (int64_t k = 0; k < p->count; k++)
            values[k] =
                p->init == MX_INIT_ONE ? 1 : (float)(p->deviation * (double)mx_rng_normal(seed, stream, (uint64_t)k));
    }
}

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Builds a table of parameters from the parts of a network, and the initial values. A table owns its entries; the
 * positions belong to the network.
 */
#include "model/parameters.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "myxtts/error.h"

static double deviation_of(const struct mx_parameter *p, int blocks)
{
    const double last = (double)p->shape[p->rank - 1], fan_in = (double)p->count / last;
    switch (p->init) {
    case MX_INIT_FAN_IN:
        return 1 / sqrt(fan_in);
    case MX_INIT_RESIDUAL:
        return 1 / sqrt(fan_in * 2 * blocks);
    case MX_INIT_SHARED:
        return 1 / (sqrt(fan_in) * blocks);
    case MX_INIT_EMBEDDING:
        return 1 / sqrt(last);
    case MX_INIT_SMALL:
        return 0.02;
    default:
        return 0;
    }
}

static struct mx_parameter parameter_of(const struct mx_parameter_part *part, const struct mx_parameter_line *line)
{
    struct mx_parameter p = {.init = line->init, .decay = line->decay, .count = 1};
    snprintf(p.name, sizeof p.name, "%s.%s", part->name, line->name);
    for (; p.rank < 3 && line->shape[p.rank] > 0; p.rank++) {
        p.shape[p.rank] = line->shape[p.rank];
        p.count *= p.shape[p.rank];
    }
    p.deviation = deviation_of(&p, part->blocks);
    return p;
}

/* Gives the parameters that are decayed, or all others, their positions. */
static void place(struct mx_parameters *table, const struct mx_parameter_part *parts, int count, bool decayed)
{
    struct mx_parameter *p = table->entries;
    for (int part = 0; part < count; part++)
        for (int i = 0; i < parts[part].count; i++, p++) {
            if (p->decay != decayed) continue;
            p->at = parts[part].at[i] = table->floats;
            table->elements += p->count;
            table->floats += (p->count + MX_PARAMETER_ALIGNMENT - 1) / MX_PARAMETER_ALIGNMENT * MX_PARAMETER_ALIGNMENT;
        }
}

int mx_parameters_create(const struct mx_parameter_part *parts, int count, struct mx_parameters **out)
{
    int rc = 0, all = 0;
    struct mx_parameters *table = mx_alloc(1, sizeof *table);
    *out = NULL;
    if (!table) return MX_ERR_NO_MEMORY;
    for (int part = 0; part < count; part++) all += parts[part].count;
    table->entries = mx_alloc((size_t)all, sizeof *table->entries);
    if (!table->entries) MX_TRY(MX_ERR_NO_MEMORY);
    for (int part = 0; part < count; part++)
        for (int i = 0; i < parts[part].count; i++)
            table->entries[table->count++] = parameter_of(&parts[part], &parts[part].lines[i]);
    place(table, parts, count, true);
    table->decayed = table->floats;
    place(table, parts, count, false);
    *out = table;
    table = NULL;
out:
    mx_parameters_destroy(table);
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

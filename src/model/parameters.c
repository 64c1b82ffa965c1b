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

static int64_t aligned(int64_t floats)
{
    return (floats + MX_PARAMETER_ALIGNMENT - 1) / MX_PARAMETER_ALIGNMENT * MX_PARAMETER_ALIGNMENT;
}

/* A table that is being made. */
struct making {
    struct mx_parameters *table;
    int64_t **slots; /* of each entry: where its position goes; NULL: nowhere */
    const struct mx_learning *learning;
};

static void entry_add(struct making *m, const struct mx_parameter *p, int64_t *slot)
{
    m->slots[m->table->count] = slot;
    m->table->entries[m->table->count++] = *p;
}

/* Is an adapter for this matrix worth it? It has less than half of its numbers. */
static bool adaptable(const struct making *m, const struct mx_parameter_part *part, const struct mx_parameter *p)
{
    const int64_t rank = m->learning != NULL ? m->learning->adapter_rank : 0, out = p->shape[p->rank - 1];
    if (rank == 0 || !part->adapts || !p->decay || p->rank < 2) return false;
    return 2 * rank * (p->count / out + out) < p->count && !mx_learning_frozen(m->learning, p->name);
}

/* A and B after the matrix, which is the last entry. */
static void adapter_add(struct making *m)
{
    const int32_t rank = m->learning->adapter_rank;
    const int weight = m->table->count - 1;
    struct mx_parameter *const w = &m->table->entries[weight];
    struct mx_parameter a = *w, b = {.rank = 2, .init = MX_INIT_ZERO, .decay = true, .adapts = weight};
    const int stem = (int)(strlen(w->name) - strlen(MX_PARAMETER_WEIGHT));
    w->adapter = weight + 1;
    snprintf(a.name, sizeof a.name, "%.*s" MX_PARAMETER_ADAPTER_A, stem, w->name);
    snprintf(b.name, sizeof b.name, "%.*s" MX_PARAMETER_ADAPTER_B, stem, w->name);
    a.count = w->count / w->shape[w->rank - 1] * rank;
    a.shape[a.rank - 1] = b.shape[0] = rank;
    b.shape[1] = w->shape[w->rank - 1];
    b.count = rank * b.shape[1];
    a.init = MX_INIT_FAN_IN;
    a.deviation = deviation_of(&a, 0);
    a.frozen = false;
    a.adapter = 0;
    a.adapts = weight;
    entry_add(m, &a, NULL);
    entry_add(m, &b, NULL);
}

/* Are the tables of tokens and languages trained together with the adapters? */
static bool table_learns(const struct mx_learning *learning, const struct mx_parameter *p)
{
    return learning->tables && p->init == MX_INIT_EMBEDDING && !mx_learning_frozen(learning, p->name);
}

static void parts_add(struct making *m, const struct mx_parameter_part *parts, int count)
{
    const bool adapters = m->learning != NULL && m->learning->adapter_rank > 0;
    for (int part = 0; part < count; part++)
        for (int i = 0; i < parts[part].count; i++) {
            struct mx_parameter p = parameter_of(&parts[part], &parts[part].lines[i]);
            p.adapts = -1;
            p.frozen = adapters ? !table_learns(m->learning, &p) : mx_learning_frozen(m->learning, p.name);
            entry_add(m, &p, &parts[part].at[i]);
            if (adaptable(m, &parts[part], &p)) adapter_add(m);
        }
}

enum group { DECAYED, OTHERS, ADAPTED, FROZEN };

static enum group group_of(const struct mx_parameter *p)
{
    if (p->frozen) return p->adapter > 0 ? ADAPTED : FROZEN;
    return p->decay ? DECAYED : OTHERS;
}

/* Gives the parameters of one of the groups of the flat buffer their positions. Returns its floats. */
static int64_t place(const struct making *m, enum group group)
{
    struct mx_parameters *const table = m->table;
    const int64_t first = table->floats;
    for (int i = 0; i < table->count; i++) {
        struct mx_parameter *const p = &table->entries[i];
        if (group_of(p) != group) continue;
        p->at = table->floats;
        if (m->slots[i] != NULL) *m->slots[i] = p->at;
        table->elements += p->count;
        table->floats += aligned(p->count);
        if (!p->frozen) table->learning += p->count;
    }
    return table->floats - first;
}

/* Does the operation of the parameter always compute its gradient? These are the layer norms and the convolutions by
 * column, and the lists call them so. */
static bool computed_always(const struct mx_parameter *p)
{
    return strstr(p->name, "norm") != NULL || strstr(p->name, "depthwise") != NULL;
}

/* Room for the two gradients that one operation makes. */
static int64_t discard_of(const struct mx_parameters *table)
{
    int64_t most = 0;
    for (int i = 0; i < table->count; i++) {
        const struct mx_parameter *const p = &table->entries[i];
        if (p->frozen && computed_always(p) && p->count > most) most = p->count;
    }
    return 2 * aligned(most);
}

int mx_parameters_create(const struct mx_parameter_part *parts, int count, const struct mx_learning *learning,
                         struct mx_parameters **out)
{
    int rc = 0;
    size_t all = 0;
    struct mx_parameters *table = mx_alloc(1, sizeof *table);
    struct making m = {.table = table, .learning = learning};
    *out = NULL;
    if (!table) return MX_ERR_NO_MEMORY;
    for (int part = 0; part < count; part++) all += (size_t)parts[part].count;
    if (learning != NULL && learning->adapter_rank > 0) all *= 3;
    table->entries = mx_alloc(all, sizeof *table->entries);
    m.slots = mx_alloc(all, sizeof *m.slots);
    if (!table->entries || !m.slots) MX_TRY(MX_ERR_NO_MEMORY);
    parts_add(&m, parts, count);
    table->decayed = place(&m, DECAYED);
    table->learned = table->decayed + place(&m, OTHERS);
    table->adapted = place(&m, ADAPTED);
    place(&m, FROZEN);
    table->discard = discard_of(table);
    *out = table;
    table = NULL;
out:
    mx_free(m.slots);
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

const struct mx_parameter *mx_parameters_at(const struct mx_parameters *table, int64_t at)
{
    for (int i = 0; i < table->count; i++)
        if (table->entries[i].at == at) return &table->entries[i];
    return NULL;
}

int64_t mx_parameters_mark(const struct mx_parameters *table, int64_t at)
{
    bool found = false;
    for (int i = 0; i < table->count; i++) {
        const struct mx_parameter *const p = &table->entries[i];
        found = found || p->at == at;
        if (found && p->decay && !p->frozen) return p->at;
    }
    return table->decayed;
}

bool mx_parameters_learn(const struct mx_parameters *table, const char *prefix)
{
    for (int i = 0; i < table->count; i++)
        if (!table->entries[i].frozen && strncmp(table->entries[i].name, prefix, strlen(prefix)) == 0) return true;
    return false;
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

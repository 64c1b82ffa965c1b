/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Takes tensors out of an open checkpoint, into the flat arrays of a table of parameters.
 *
 * Only what learns has averaged weights and optimizer state: a frozen parameter is in the file once, as a weight. What an
 * adapter does not have is in its base.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/string.h"
#include "checkpoint/internal.h"
#include "model/adapter.h"
#include "myxtts/error.h"

#define QUOTED_BYTES 192
#define SHAPE_BYTES  96

/* What is taken, and how. */
struct taking {
    const struct mx_checkpoint *checkpoint;
    const struct mx_parameters *table;
    const struct mx_checkpoint_target *target;
    bool partial;   /* what fits */
    bool deaf;      /* without what is for listening */
    bool speaking;  /* the averaged weights, and the weights of what has none */
    bool beginning; /* a new run: what does not come from the file, including new rows of tables, is left unchanged */
    bool merging;   /* adapters are merged into the matrices that they adapt; those of the table are left unchanged */
};

static char *shape_format(char out[SHAPE_BYTES], int rank, const uint64_t *shape)
{
    size_t used = (size_t)snprintf(out, SHAPE_BYTES, "[");
    for (int i = 0; i < rank && used < SHAPE_BYTES; i++)
        used += (size_t)snprintf(out + used, SHAPE_BYTES - used, "%s%" PRIu64, i > 0 ? ", " : "", shape[i]);
    if (used < SHAPE_BYTES) snprintf(out + used, SHAPE_BYTES - used, "]");
    return out;
}

/* The tensor of one file for a parameter; NULL if there is none. Parameter names are short, so prefixes fit. */
static const struct mx_tensor *named(const struct taking *t, const struct mx_checkpoint *from, int group,
                                     const char *parameter)
{
    char name[MX_PARAMETER_NAME_BYTES + 16];
    snprintf(name, sizeof name, "%s%s", mx_checkpoint_group_prefix((enum mx_checkpoint_group)group), parameter);
    const struct mx_tensor *const tensor = mx_safetensors_find(from->file, name);
    return tensor == NULL && t->speaking ? mx_safetensors_find(from->file, parameter) : tensor;
}

/* The tensor for a parameter, of an adapter itself or of its base. */
static const struct mx_tensor *tensor_find(const struct taking *t, int group, const struct mx_parameter *parameter)
{
    const struct mx_tensor *tensor = NULL;
    for (const struct mx_checkpoint *from = t->checkpoint; from != NULL && tensor == NULL; from = from->base)
        tensor = named(t, from, group, parameter->name);
    return tensor;
}

/* Does the group have this parameter? */
static bool wanted(const struct taking *t, int group, const struct mx_parameter *parameter)
{
    if (t->merging && parameter->adapts >= 0) return false;
    return t->speaking || group == MX_CHECKPOINT_WEIGHTS || !parameter->frozen;
}

static bool tensor_fits(const struct mx_tensor *tensor, const struct mx_parameter *parameter)
{
    bool fits = (tensor->dtype == MX_DTYPE_F32 || tensor->dtype == MX_DTYPE_BF16) && tensor->rank == parameter->rank;
    for (int i = 0; fits && i < tensor->rank; i++) fits = tensor->shape[i] == (uint64_t)parameter->shape[i];
    return fits;
}

/* Is it a table of the network, of tokens or languages, that has got new rows since? */
static bool tensor_grown(const struct taking *t, const struct mx_tensor *tensor, const struct mx_parameter *parameter)
{
    return t->beginning && parameter->init == MX_INIT_EMBEDDING && tensor->rank == 2 &&
           (tensor->dtype == MX_DTYPE_F32 || tensor->dtype == MX_DTYPE_BF16) &&
           tensor->shape[0] < (uint64_t)parameter->shape[0] && tensor->shape[1] == (uint64_t)parameter->shape[1];
}

/* The network that a table belongs to. */
static enum mx_checkpoint_part table_part(const struct mx_parameters *table)
{
    return mx_checkpoint_part_of(table->entries[0].name);
}

/* Compares one wanted group with the table; counts and logs. */
static void group_compare(const struct taking *t, int group, struct mx_checkpoint_report *report)
{
    const char *const prefix = mx_checkpoint_group_prefix((enum mx_checkpoint_group)group);
    const struct mx_parameters *const table = t->table;
    char have[SHAPE_BYTES], want[SHAPE_BYTES];
    if (!mx_checkpoint_has(t->checkpoint, table_part(table), (enum mx_checkpoint_group)group)) {
        report->missing += (size_t)table->count;
        mx_warn("missing from the file: all tensors %s* (%d)", prefix, table->count);
        return;
    }
    for (int i = 0; i < table->count; i++) {
        const struct mx_parameter *const parameter = &table->entries[i];
        const struct mx_tensor *const tensor = tensor_find(t, group, parameter);
        uint64_t shape[3] = {0};
        if (!wanted(t, group, parameter)) continue;
        for (int k = 0; k < parameter->rank; k++) shape[k] = (uint64_t)parameter->shape[k];
        shape_format(want, parameter->rank, shape);
        if (tensor == NULL && t->deaf && mx_checkpoint_listening(parameter->name)) continue;
        if (tensor == NULL) {
            report->missing++;
            mx_warn("missing from the file: %s%s %s", prefix, parameter->name, want);
        } else if (!tensor_fits(tensor, parameter) && !tensor_grown(t, tensor, parameter)) {
            report->misfits++;
            mx_warn("of another shape: %s is %s %s in the file, F32 %s in the model", tensor->name,
                    mx_dtype_name(tensor->dtype), shape_format(have, tensor->rank, tensor->shape), want);
        }
    }
}

static void extras_compare(const struct taking *t, struct mx_checkpoint_report *report)
{
    const struct mx_checkpoint *const checkpoint = t->checkpoint;
    const struct mx_parameters *const table = t->table;
    const char *name;
    char quoted[QUOTED_BYTES], have[SHAPE_BYTES];
    for (size_t i = 0; i < mx_safetensors_count(checkpoint->file); i++) {
        const struct mx_tensor *const tensor = mx_safetensors_at(checkpoint->file, i);
        mx_checkpoint_group_of(tensor->name, &name);
        if (mx_checkpoint_part_of(name) != table_part(table) || mx_parameters_find(table, name) != NULL) continue;
        if (t->merging && mx_checkpoint_adapter_named(name)) continue;
        report->extra++;
        mx_warn("not in the model: %s %s", mx_string_quote(quoted, sizeof quoted, tensor->name),
                shape_format(have, tensor->rank, tensor->shape));
    }
}

/* The error that both ways of loading end in when they do not. */
static int misfit(const struct mx_checkpoint *checkpoint, const struct mx_checkpoint_report *report, bool partial)
{
    char quoted[QUOTED_BYTES];
    return MX_FAIL(MX_ERR_DATA,
                   partial ? "it belongs to a different kind of model"
                           : "the differences are listed above; choose the size and vocabulary of the checkpoint, or "
                             "load what fits (--partial)",
                   "%s does not fit the model: %zu tensors missing, %zu of another shape, %zu not in the model",
                   mx_string_quote(quoted, sizeof quoted, checkpoint->path), report->missing, report->misfits,
                   report->extra);
}

/* The tensor to take for a parameter; NULL: none is wanted, or none fits. */
static const struct mx_tensor *tensor_taken(const struct taking *t, int group, int index)
{
    const struct mx_parameter *const parameter = &t->table->entries[index];
    const struct mx_tensor *const tensor = wanted(t, group, parameter) ? tensor_find(t, group, parameter) : NULL;
    if (tensor == NULL) return NULL;
    return tensor_fits(tensor, parameter) || tensor_grown(t, tensor, parameter) ? tensor : NULL;
}

/* Of the tensors that would be taken. */
static int wanted_check(const struct taking *t)
{
    int rc = 0;
    for (int group = 0; group < MX_CHECKPOINT_GROUPS; group++)
        for (int i = 0; t->target->groups[group] != NULL && i < t->table->count && rc == 0; i++) {
            const struct mx_tensor *const tensor = tensor_taken(t, group, i);
            if (tensor != NULL) rc = mx_checkpoint_tensor_check(t->checkpoint, tensor);
        }
    return rc;
}

/* Adds the adapters of a file, and of its bases before it, to a matrix that has been taken. */
static int adapters_merge(const struct taking *t, const struct mx_checkpoint *from, int group,
                          const struct mx_parameter *p, float *to)
{
    int rc = from->base != NULL ? adapters_merge(t, from->base, group, p, to) : 0;
    char name[MX_PARAMETER_NAME_BYTES + 16];
    const int stem = (int)strlen(p->name) - (int)strlen(MX_PARAMETER_WEIGHT);
    if (rc < 0 || stem <= 0 || p->rank < 2) return rc;
    const int64_t out = p->shape[p->rank - 1], in = p->count / out;
    snprintf(name, sizeof name, "%.*s" MX_PARAMETER_ADAPTER_A, stem, p->name);
    const struct mx_tensor *const a = named(t, from, group, name);
    snprintf(name, sizeof name, "%.*s" MX_PARAMETER_ADAPTER_B, stem, p->name);
    const struct mx_tensor *const b = named(t, from, group, name);
    if (a == NULL && b == NULL) return 0;
    struct mx_parameter fits_a = {.rank = p->rank, .shape = {p->shape[0], p->shape[1], p->shape[2]}};
    const int64_t rank = b != NULL && b->rank == 2 && b->shape[0] <= INT32_MAX ? (int64_t)b->shape[0] : 0;
    fits_a.shape[p->rank - 1] = rank;
    if (a == NULL || rank == 0 || !tensor_fits(a, &fits_a) ||
        !tensor_fits(b, &(struct mx_parameter){.rank = 2, .shape = {rank, out}}))
        return MX_FAIL(MX_ERR_DATA, "take another checkpoint", "%s: the adapter of %s does not fit it", from->path,
                       p->name);
    MX_TRY(mx_checkpoint_tensor_check(from, a));
    MX_TRY(mx_checkpoint_tensor_check(from, b));
    float *const numbers = mx_alloc((size_t)(rank * (in + out)), sizeof *numbers);
    if (numbers == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    mx_tensor_floats(a, numbers);
    mx_tensor_floats(b, numbers + rank * in);
    mx_adapter_add(to + p->at, p->count, out, numbers, numbers + rank * in, rank);
    mx_free(numbers);
out:
    return rc;
}

static int tensors_load(const struct taking *t, struct mx_checkpoint_report *report)
{
    struct mx_checkpoint_report own = {0};
    for (int group = 0; group < MX_CHECKPOINT_GROUPS; group++)
        if (t->target->groups[group] != NULL) group_compare(t, group, &own);
    extras_compare(t, &own);
    const bool whole = own.missing == 0 && own.misfits == 0 && own.extra == 0;
    const int rc = whole || t->partial ? wanted_check(t) : 0;
    if (rc < 0) return rc;
    for (int group = 0; group < MX_CHECKPOINT_GROUPS && (whole || t->partial); group++) {
        float *const to = t->target->groups[group];
        const int64_t floats = t->speaking || group == MX_CHECKPOINT_WEIGHTS ? t->table->floats : t->table->learned;
        if (to == NULL) continue;
        /* Also what lies between the parameters. */
        if (whole && !t->beginning) memset(to, 0, (size_t)floats * sizeof *to);
        for (int i = 0; i < t->table->count; i++) {
            const struct mx_tensor *const tensor = tensor_taken(t, group, i);
            if (tensor == NULL) continue;
            mx_tensor_floats(tensor, to + t->table->entries[i].at);
            own.loaded++;
            const int merged = t->merging ? adapters_merge(t, t->checkpoint, group, &t->table->entries[i], to) : 0;
            if (merged < 0) return merged;
        }
    }
    if (report != NULL) *report = own;
    return own.loaded > 0 ? 0 : misfit(t->checkpoint, &own, t->partial);
}

int mx_checkpoint_load(const struct mx_checkpoint *checkpoint, const struct mx_parameters *table,
                       const struct mx_checkpoint_target *target, bool partial, struct mx_checkpoint_report *report)
{
    const struct taking taking = {.checkpoint = checkpoint, .table = table, .target = target, .partial = partial};
    return tensors_load(&taking, report);
}

/* The group that a network speaks with. */
static enum mx_checkpoint_group spoken_group(const struct mx_checkpoint *checkpoint, const struct mx_parameters *table)
{
    const bool averaged = mx_checkpoint_has(checkpoint, table_part(table), MX_CHECKPOINT_AVERAGE);
    return averaged ? MX_CHECKPOINT_AVERAGE : MX_CHECKPOINT_WEIGHTS;
}

int mx_checkpoint_load_begin(const struct mx_checkpoint *checkpoint, const struct mx_parameters *table, bool spoken,
                             bool partial, float *flat, struct mx_checkpoint_report *report)
{
    struct mx_checkpoint_target target = {{NULL}};
    const struct taking taking = {.checkpoint = checkpoint,
                                  .table = table,
                                  .target = &target,
                                  .partial = partial,
                                  .deaf = !mx_checkpoint_listens(checkpoint),
                                  .beginning = true,
                                  .speaking = spoken,
                                  .merging = true};
    target.groups[spoken ? spoken_group(checkpoint, table) : MX_CHECKPOINT_WEIGHTS] = flat;
    return tensors_load(&taking, report);
}

int mx_checkpoint_load_average(const struct mx_checkpoint *checkpoint, const struct mx_parameters *table, float *flat)
{
    struct mx_checkpoint_target target = {{NULL}};
    const struct taking taking = {.checkpoint = checkpoint,
                                  .table = table,
                                  .target = &target,
                                  .deaf = !mx_checkpoint_listens(checkpoint),
                                  .speaking = true,
                                  .merging = true};
    target.groups[spoken_group(checkpoint, table)] = flat;
    return tensors_load(&taking, NULL);
}

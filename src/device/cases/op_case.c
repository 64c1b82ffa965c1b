/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Making cases: random draws, storages, tensors, dimensions, and cutting a case into its sequences.
 *
 * All memory of a case comes from its arena. Random numbers come from Philox: draws from stream 1 of the case's seed
 * (not of its operation, so that an operation and its gradient draw the same shapes), contents from one stream per
 * storage name.
 */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "device/op_case.h"
#include "myxtts/error.h"

/* Of each gradient its forward operation, of all others themselves. */
static const enum mx_op forwards[MX_OP_COUNT] = {
#define OP_SOLO(name) [MX_OP_##name] = MX_OP_##name,
#define OP_PAIR(name) OP_SOLO(name)[MX_OP_##name##_grad] = MX_OP_##name,
    MX_OP_LIST(OP_PAIR, OP_SOLO)
#undef OP_PAIR
#undef OP_SOLO
};

static void (*const makers[MX_OP_COUNT])(struct mx_op_case *) = {
#define OP_SOLO(name) [MX_OP_##name] = mx_op_make_##name,
#define OP_PAIR(name) OP_SOLO(name) OP_SOLO(name##_grad)
    MX_OP_LIST(OP_PAIR, OP_SOLO)
#undef OP_PAIR
#undef OP_SOLO
};

static size_t type_bytes(enum mx_op_type type)
{
    return type == MX_OP_BF16 ? 2 : 4;
}

/* Of the piece that the case took at its beginning. */
static void *take(struct mx_op_case *c, int64_t count, size_t size)
{
    return mx_arena_alloc(&c->arena, (size_t)count, size);
}

static int arena_open(struct mx_op_case *c)
{
    mx_arena_init(&c->arena, MX_OP_CASE_BYTES);
    return mx_arena_alloc(&c->arena, 1, 1) ? 0 : MX_ERR_NO_MEMORY;
}

/* What a gradient takes over from its forward pass (statistics, weights, outputs) must fit the other inputs: it comes
 * from the forward case of the same seed, whose inputs are the same. */
static int derive(struct mx_op_case *c, enum mx_op forward_op, const struct mx_op_forward *how)
{
    int rc = 0;
    struct mx_op_case forward = {.op = forward_op};
    struct mx_op_result result = {.count = 0};
    MX_TRY(mx_op_case_make(&forward, forward_op, c->seed, c->plan, NULL));
    MX_TRY(how->run(how->context, &forward, &result));
    for (int i = 0; i < c->tensor_count; i++) {
        const struct mx_op_tensor *from = mx_op_case_tensor(&forward, c->tensors[i].name);
        if (!from || c->tensors[i].role != MX_OP_IN || from->role != MX_OP_OUT) continue;
        const struct mx_op_storage *storage = &c->storages[c->tensors[i].storage];
        const struct mx_op_output *made = result.outputs;
        while (made->storage != from->storage) made++;
        float *to = storage->data;
        for (int64_t k = 0; k < storage->count; k++)
            if (!isnan(made->values[k])) to[k] = made->values[k];
    }
out:
    mx_op_result_release(&result);
    mx_op_case_release(&forward);
    return rc;
}

int mx_op_case_make(struct mx_op_case *c, enum mx_op op, uint64_t seed, struct mx_op_plan plan,
                    const struct mx_op_forward *forward)
{
    int rc = 0;
    memset(c, 0, sizeof *c);
    c->op = op;
    c->seed = seed;
    c->plan = plan;
    MX_TRY(arena_open(c));
    makers[op](c);
    if (forwards[op] != op) MX_TRY(derive(c, forwards[op], forward));
out:
    if (rc < 0) mx_op_case_release(c);
    return rc;
}

int mx_op_forward_on(void *device, const struct mx_op_case *forward, struct mx_op_result *result)
{
    return mx_op_case_run(forward, device, result);
}

bool mx_op_can_be_wide(enum mx_op op)
{
    switch (op) {
    case MX_OP_bias_grad:
    case MX_OP_layer_norm:
    case MX_OP_layer_norm_grad:
    case MX_OP_expand:
    case MX_OP_expand_grad:
    case MX_OP_segment_mean:
    case MX_OP_attentive_pool:
    case MX_OP_attentive_pool_grad:
    case MX_OP_depthwise:
    case MX_OP_depthwise_grad:
    case MX_OP_grad_norm:
        return true;
    default:
        return false;
    }
}

void mx_op_case_release(struct mx_op_case *c)
{
    mx_arena_release(&c->arena);
}

const struct mx_op_tensor *mx_op_case_tensor(const struct mx_op_case *c, const char *name)
{
    for (int i = 0; i < c->tensor_count; i++)
        if (strcmp(c->tensors[i].name, name) == 0) return &c->tensors[i];
    return NULL;
}

void *mx_op_case_data(const struct mx_op_case *c, const char *name)
{
    const struct mx_op_tensor *tensor = mx_op_case_tensor(c, name);
    if (!tensor) return NULL;
    const struct mx_op_storage *storage = &c->storages[tensor->storage];
    return (char *)storage->data + (size_t)tensor->offset * type_bytes(storage->type);
}

/* ---- draws ---- */

int64_t mx_op_draw(struct mx_op_case *c, int64_t least, int64_t most)
{
    return least + (int64_t)mx_rng_below(c->seed, 1, c->draws++, (uint64_t)(most - least + 1));
}

bool mx_op_flip(struct mx_op_case *c)
{
    return mx_op_draw(c, 0, 1) == 1;
}

int64_t mx_op_draw_width(struct mx_op_case *c)
{
    static const int64_t usual[] = {1, 2, 3, 5, 7, 8, 13, 15, 16, 17, 24, 31, 32, 33, 47, 63, 64, 65, 80, 97};
    static const int64_t large[] = {96, 129, 192, 200, 255, 257};
    switch (c->plan.size) {
    case MX_OP_TINY:
        return mx_op_draw(c, 1, 6);
    case MX_OP_USUAL:
        return usual[mx_op_draw(c, 0, (int64_t)(sizeof usual / sizeof *usual) - 1)];
    default:
        return large[mx_op_draw(c, 0, (int64_t)(sizeof large / sizeof *large) - 1)];
    }
}

int64_t mx_op_draw_rows(struct mx_op_case *c)
{
    static const int64_t usual[] = {0, 1, 2, 3, 4, 5, 7, 9, 15, 16, 17, 30, 33, 49, 64, 71, 150, 257};
    const int64_t first = c->plan.plain ? 1 : 0;
    switch (c->plan.size) {
    case MX_OP_TINY:
        return mx_op_draw(c, first, 7);
    case MX_OP_USUAL:
        return usual[mx_op_draw(c, first, (int64_t)(sizeof usual / sizeof *usual) - 1)];
    default:
        return mx_op_draw(c, 300, 700);
    }
}

int64_t mx_op_draw_sequences(struct mx_op_case *c, int64_t rows)
{
    if (rows < 0) rows = mx_op_draw_rows(c);
    const int count = (int)mx_op_draw(c, 1, c->plan.size == MX_OP_TINY ? 3 : 6);
    int32_t *ends = take(c, count + 1, sizeof *ends);
    ends[count] = (int32_t)rows;
    for (int i = 1; i < count; i++) {
        ends[i] = (int32_t)mx_op_draw(c, 0, rows);
        if (mx_op_draw(c, 0, 4) == 0) ends[i] = ends[i - 1]; /* an empty sequence, on purpose */
        for (int j = i; j > 1 && ends[j] < ends[j - 1]; j--) {
            const int32_t swap = ends[j];
            ends[j] = ends[j - 1];
            ends[j - 1] = swap;
        }
    }
    c->sequences = count;
    c->ends = ends;
    return rows;
}

int64_t mx_op_draw_audio(struct mx_op_case *c, int64_t fft_size, int64_t hop)
{
    const int count = (int)mx_op_draw(c, 1, c->plan.size == MX_OP_TINY ? 3 : 6);
    int32_t *samples = take(c, count + 1, sizeof *samples), *ends = take(c, count + 1, sizeof *ends);
    for (int i = 0; i < count; i++) {
        int64_t most = (c->plan.size == MX_OP_LARGE ? 12 : 3) * fft_size;
        if (mx_op_draw(c, 0, 3) == 0) most = fft_size / 2; /* all of it reflected, perhaps more than once */
        if (mx_op_draw(c, 0, 9) == 0) most = 2;
        const int64_t n = mx_op_draw(c, c->plan.plain && i == 0, most);
        samples[i + 1] = samples[i] + (int32_t)n;
        ends[i + 1] = ends[i] + (int32_t)(n > 0 ? 1 + n / hop : 0);
    }
    c->sequences = count;
    c->ends = ends;
    c->samples = samples;
    return samples[count];
}

bool mx_op_knows_bf16(enum mx_op op)
{
    switch (op) {
    case MX_OP_matmul:
    case MX_OP_bias_grad:
    case MX_OP_layer_norm:
    case MX_OP_conv1d:
    case MX_OP_conv1d_grad_input:
    case MX_OP_conv1d_grad_weight:
        return true;
    default:
        return false;
    }
}

bool mx_op_flip_bf16(struct mx_op_case *c, struct mx_op_shape *shape)
{
    if (!c->plan.bf16 || !mx_op_flip(c)) return false;
    shape->type = MX_OP_BF16;
    return true;
}

/* ---- operands ---- */

static uint64_t name_stream(const char *name)
{
    uint64_t hash = 1469598103934665603u;
    for (; *name; name++) hash = (hash ^ (unsigned char)*name) * 1099511628211u;
    return hash | 2; /* never stream 1 */
}

static uint16_t bf16_random(uint64_t seed, uint64_t stream, uint64_t index, double scale)
{
    union {
        float f;
        uint32_t u;
    } bits = {.f = mx_rng_normal(seed, stream, index) * (float)scale};
    return (uint16_t)(bits.u >> 16);
}

static void fill(const struct mx_op_case *c, struct mx_op_storage *storage, bool poisoned, double scale)
{
    const uint64_t stream = name_stream(storage->name);
    for (int64_t i = 0; i < storage->count; i++) {
        const bool gap = i % storage->stride >= storage->width;
        const uint64_t index = (uint64_t)i;
        switch (storage->type) {
        case MX_OP_F32:
            if (poisoned || gap)
                ((uint32_t *)storage->data)[i] = MX_OP_POISON;
            else
                ((float *)storage->data)[i] = mx_rng_normal(c->seed, stream, index) * (float)scale;
            break;
        case MX_OP_I32:
            if (poisoned || gap)
                ((uint32_t *)storage->data)[i] = MX_OP_POISON;
            else
                ((int32_t *)storage->data)[i] = (int32_t)(mx_rng_uniform(c->seed, stream, index) * (float)scale);
            break;
        case MX_OP_BF16:
            ((uint16_t *)storage->data)[i] =
                poisoned || gap ? (uint16_t)(MX_OP_POISON >> 16) : bf16_random(c->seed, stream, index, scale);
            break;
        }
    }
}

static int64_t shape_count(const struct mx_op_shape *shape)
{
    if (shape->rows == 0 || shape->width == 0) return 0;
    return (shape->rows - 1) * shape->stride + shape->width;
}

static struct mx_op_tensor *tensor_add(struct mx_op_case *c)
{
    return &c->tensors[c->tensor_count++];
}

int mx_op_add(struct mx_op_case *c, const char *name, size_t slice_at, enum mx_op_role role, struct mx_op_shape shape,
              double scale)
{
    if (shape.stride == 0) shape.stride = shape.width;
    const int number = c->storage_count++;
    struct mx_op_storage *storage = &c->storages[number];
    *storage = (struct mx_op_storage){
        .name = name,
        .type = shape.type,
        .layout = shape.layout,
        .count = shape_count(&shape),
        .width = shape.width,
        .stride = shape.stride,
        .written = role != MX_OP_IN,
        .scratch = role == MX_OP_SCRATCH,
    };
    storage->data = take(c, storage->count, type_bytes(shape.type));
    fill(c, storage, role == MX_OP_OUT || role == MX_OP_SCRATCH, scale);
    *tensor_add(c) = (struct mx_op_tensor){
        .name = name, .slice_at = slice_at, .role = role, .storage = number, .need = storage->count};
    return number;
}

void mx_op_share(struct mx_op_case *c, const char *name, size_t slice_at, enum mx_op_role role, int storage,
                 int64_t offset, int64_t width)
{
    struct mx_op_storage *s = &c->storages[storage];
    if (role != MX_OP_IN) s->written = true;
    if (role != MX_OP_SCRATCH) s->scratch = false;
    /* From our first element to the end of our last row; the storage's last row may go on after it. */
    const int64_t need = s->count ? s->count - s->width + width : 0;
    *tensor_add(c) = (struct mx_op_tensor){.name = name,
                                           .slice_at = slice_at,
                                           .role = role,
                                           .storage = storage,
                                           .offset = s->count ? offset : 0,
                                           .need = need};
}

void mx_op_optional(struct mx_op_case *c)
{
    c->tensors[c->tensor_count - 1].optional = true;
}

void mx_op_dim_add(struct mx_op_case *c, const char *name, size_t at, size_t bytes, enum mx_op_dim_kind kind,
                   int64_t unit)
{
    c->dims[c->dim_count++] = (struct mx_op_dim){.name = name, .at = at, .bytes = bytes, .kind = kind, .unit = unit};
}

static void ends_add(struct mx_op_case *c, const char *name, size_t slice_at, const int32_t *ends)
{
    const enum mx_op_layout layout = ends == c->ends ? MX_OP_ENDS : MX_OP_SAMPLE_ENDS;
    const struct mx_op_shape shape = {.type = MX_OP_I32, .layout = layout, .rows = c->sequences + 1, .width = 1};
    const int number = mx_op_add(c, name, slice_at, MX_OP_IN, shape, 0);
    memcpy(c->storages[number].data, ends, (size_t)(c->sequences + 1) * sizeof *ends);
}

static void packed_add(struct mx_op_case *c, const char *name, size_t at, const int32_t *ends)
{
    struct mx_ragged *ragged = (void *)(c->args + at);
    ragged->count = c->sequences;
    ragged->rows = ends[c->sequences];
    for (int i = 0; i < c->sequences; i++) {
        const int32_t rows = ends[i + 1] - ends[i];
        if (rows > ragged->max_rows) ragged->max_rows = rows;
    }
    const bool rows = ends == c->ends;
    ends_add(c, name, at + offsetof(struct mx_ragged, offsets), ends);
    mx_op_dim_add(c, "count", at + offsetof(struct mx_ragged, count), 4, MX_OP_DIM_SEGMENTS, 1);
    mx_op_dim_add(c, "rows", at + offsetof(struct mx_ragged, rows), 4, rows ? MX_OP_DIM_ROWS : MX_OP_DIM_SAMPLES, 1);
    mx_op_dim_add(c, "max_rows", at + offsetof(struct mx_ragged, max_rows), 4,
                  rows ? MX_OP_DIM_MAX_ROWS : MX_OP_DIM_MAX_SAMPLES, 1);
}

void mx_op_add_packed(struct mx_op_case *c, size_t at)
{
    packed_add(c, "offsets", at, c->ends);
}

void mx_op_add_audio(struct mx_op_case *c, size_t samples_at, size_t frames_at)
{
    packed_add(c, "sample_offsets", samples_at, c->samples);
    packed_add(c, "offsets", frames_at, c->ends);
}

void mx_op_add_ends(struct mx_op_case *c, size_t at)
{
    ends_add(c, "ends", at, c->ends);
}

/* ---- parts ---- */

static void part_storage(struct mx_op_case *part, const struct mx_op_storage *from, int sequence,
                         const struct mx_op_case *whole)
{
    struct mx_op_storage *to = &part->storages[part->storage_count++];
    const bool samples = from->layout == MX_OP_SAMPLES || from->layout == MX_OP_SAMPLE_ENDS;
    const int32_t *ends = samples ? whole->samples : whole->ends;
    const int64_t first = ends[sequence], rows = ends[sequence + 1] - first;
    const size_t size = type_bytes(from->type);
    const char *source = from->data;
    *to = *from;
    switch (from->layout) {
    case MX_OP_SHARED:
    case MX_OP_SUM:
        break;
    case MX_OP_ROWS:
    case MX_OP_SAMPLES:
        to->count = rows ? (rows - 1) * from->stride + from->width : 0;
        source += (size_t)(first * from->stride) * size;
        break;
    case MX_OP_SEGMENTS:
        to->count = from->width;
        source += (size_t)(sequence * from->width) * size;
        break;
    case MX_OP_ENDS:
    case MX_OP_SAMPLE_ENDS:
        to->count = 2;
        break;
    case MX_OP_HEAD_ROWS:
        to->count = 0;
        break; /* below */
    }
    if (from->layout == MX_OP_HEAD_ROWS) {
        to->count = rows * from->width;
        to->data = take(part, to->count, size);
        const int64_t heads = from->width, whole_rows = from->count / heads;
        for (int64_t h = 0; h < heads && rows; h++)
            memcpy((char *)to->data + (size_t)(h * rows) * size, source + (size_t)(h * whole_rows + first) * size,
                   (size_t)rows * size);
        return;
    }
    to->data = take(part, to->count, size);
    if (from->layout == MX_OP_ENDS || from->layout == MX_OP_SAMPLE_ENDS)
        ((int32_t *)to->data)[1] = (int32_t)rows;
    else if (to->count)
        memcpy(to->data, source, (size_t)to->count * size);
}

int mx_op_case_part(const struct mx_op_case *whole, int sequence, struct mx_op_case *part)
{
    const int64_t rows = whole->ends[sequence + 1] - whole->ends[sequence];
    *part = *whole;
    const int rc = arena_open(part);
    if (rc < 0) return rc;
    part->storage_count = 0;
    int32_t *ends = take(part, 2, sizeof *ends);
    ends[1] = (int32_t)rows;
    if (whole->samples) {
        int32_t *samples = take(part, 2, sizeof *samples);
        samples[1] = whole->samples[sequence + 1] - whole->samples[sequence];
        part->samples = samples;
    }
    for (int i = 0; i < whole->storage_count; i++) part_storage(part, &whole->storages[i], sequence, whole);
    part->sequences = 1;
    part->ends = ends;
    for (int i = 0; i < part->tensor_count; i++) {
        struct mx_op_tensor *t = &part->tensors[i];
        t->need -= whole->storages[t->storage].count - part->storages[t->storage].count;
        if (part->storages[t->storage].count == 0) t->offset = t->need = 0;
    }
    for (int i = 0; i < part->dim_count; i++) {
        const struct mx_op_dim *dim = &part->dims[i];
        int64_t value = rows;
        if (dim->kind == MX_OP_DIM_FIXED) continue;
        if (dim->kind == MX_OP_DIM_SEGMENTS) value = 1;
        if (dim->kind == MX_OP_DIM_ELEMENTS) value = rows * dim->unit;
        if (dim->kind == MX_OP_DIM_SAMPLES || dim->kind == MX_OP_DIM_MAX_SAMPLES) value = part->samples[1];
        const int32_t narrow = (int32_t)value;
        if (dim->bytes == 4)
            memcpy(part->args + dim->at, &narrow, 4);
        else
            memcpy(part->args + dim->at, &value, 8);
    }
    return 0;
}

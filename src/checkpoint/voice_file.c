/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Writes voice files, see voice_file.h. The arena of a writing has what is made for the file: names, metadata and
 * rounded numbers.
 */
#include "checkpoint/voice_file.h"

#include <math.h>
#include <stdio.h>

#include "base/string.h"
#include "checkpoint/internal.h"
#include "myxtts/error.h"

struct writing {
    struct mx_arena arena;
    enum mx_dtype precision;
    struct mx_tensor *tensors;
    size_t tensor_count;
    struct mx_metadata *metadata;
    size_t metadata_count;
};

/* Adds a tensor whose name and shape are set; rounds its numbers, if that is wanted. */
static int tensor_add(struct writing *w, struct mx_tensor tensor, const float *numbers, bool narrow)
{
    size_t count = 1;
    for (int i = 0; i < tensor.rank; i++) count *= (size_t)tensor.shape[i];
    for (size_t i = 0; i < count; i++)
        if (!isfinite(numbers[i]))
            return MX_FAIL(MX_ERR_DATA, "its training has failed: take an older checkpoint",
                           "tensor %s has a number that is not finite, at index %zu", tensor.name, i);
    tensor.dtype = narrow ? MX_DTYPE_BF16 : MX_DTYPE_F32;
    tensor.data = numbers;
    if (narrow) {
        uint16_t *const rounded = mx_arena_alloc(&w->arena, count, sizeof *rounded);
        if (rounded == NULL) return MX_ERR_NO_MEMORY;
        for (size_t i = 0; i < count; i++) {
            rounded[i] = mx_tensor_narrow(numbers[i]);
            if (!isfinite(mx_tensor_widen(rounded[i])))
                return MX_FAIL(MX_ERR_DATA, "write it with '--precision fp32'",
                               "tensor %s has a number that is too large for bf16, at index %zu", tensor.name, i);
        }
        tensor.data = rounded;
    }
    w->tensors[w->tensor_count++] = tensor;
    return 0;
}

static int network_add(struct writing *w, const struct mx_checkpoint_voice_network *network, bool fixed)
{
    int rc = 0;
    for (int i = 0; network->table != NULL && i < network->table->count && rc == 0; i++) {
        const struct mx_parameter *const parameter = &network->table->entries[i];
        struct mx_tensor tensor = {.name = parameter->name, .rank = parameter->rank};
        if (fixed && mx_checkpoint_listening(parameter->name)) continue;
        for (int k = 0; k < parameter->rank; k++) tensor.shape[k] = (uint64_t)parameter->shape[k];
        /* Single rows are a hundredth of the file, and rounding them moves whole bands. */
        rc = tensor_add(w, tensor, network->weights + parameter->at,
                        w->precision == MX_DTYPE_BF16 && parameter->rank > 1);
    }
    return rc;
}

static int vectors_add(struct writing *w, const struct mx_checkpoint_voice *voice)
{
    int rc = 0;
    const size_t room = sizeof MX_CHECKPOINT_VECTOR_PREFIX + 24;
    for (size_t i = 0; i < voice->vector_count && rc == 0; i++) {
        if (voice->vectors[i] == NULL) continue;
        char *const name = mx_arena_alloc(&w->arena, room, 1);
        if (name == NULL) return MX_ERR_NO_MEMORY;
        snprintf(name, room, MX_CHECKPOINT_VECTOR_PREFIX "%zu", i);
        const struct mx_tensor tensor = {.name = name, .rank = 1, .shape = {(uint64_t)voice->state->model.size.width}};
        rc = tensor_add(w, tensor, voice->vectors[i], false);
    }
    return rc;
}

/* What a run has learned: of nothing else it keeps averaged weights. */
static int learned_add(struct writing *w, const struct mx_checkpoint *from)
{
    int rc = 0;
    const char *name;
    for (size_t i = 0; i < mx_safetensors_count(from->file) && rc == 0; i++) {
        const struct mx_tensor *const tensor = mx_safetensors_at(from->file, i);
        if (mx_checkpoint_group_of(tensor->name, &name) != MX_CHECKPOINT_AVERAGE ||
            mx_checkpoint_part_of(name) != MX_CHECKPOINT_ACOUSTIC)
            continue;
        struct mx_tensor own = {.name = name, .rank = tensor->rank};
        size_t count = 1;
        for (int k = 0; k < tensor->rank; k++) {
            own.shape[k] = tensor->shape[k];
            count *= (size_t)tensor->shape[k];
        }
        float *const numbers = mx_arena_alloc(&w->arena, count, sizeof *numbers);
        if (numbers == NULL) return MX_ERR_NO_MEMORY;
        mx_tensor_floats(tensor, numbers);
        rc = tensor_add(w, own, numbers, w->precision == MX_DTYPE_BF16 && tensor->rank > 1);
    }
    return rc;
}

static int tensors_collect(struct writing *w, const struct mx_checkpoint_voice *voice)
{
    int rc = 0;
    const size_t learned = voice->adapter != NULL ? mx_safetensors_count(voice->adapter->file) : 0;
    const size_t most = (voice->acoustic.table != NULL ? (size_t)voice->acoustic.table->count : 0) +
                        (voice->vocoder.table != NULL ? (size_t)voice->vocoder.table->count : 0) + voice->vector_count +
                        learned;
    w->tensors = mx_arena_alloc(&w->arena, most, sizeof *w->tensors);
    if (w->tensors == NULL) return MX_ERR_NO_MEMORY;
    if (voice->adapter != NULL) {
        MX_TRY(learned_add(w, voice->adapter));
    } else {
        MX_TRY(network_add(w, &voice->acoustic, voice->fixed));
        MX_TRY(network_add(w, &voice->vocoder, false));
    }
    MX_TRY(vectors_add(w, voice));
out:
    return rc;
}

static const char *fault_of(const struct mx_checkpoint_voice *voice)
{
    const struct mx_checkpoint_state *const state = voice->state;
    const size_t speakers = state->speaker_count > 0 ? state->speaker_count : 1;
    if (!state->voice) return "the state is that of a checkpoint";
    if (voice->precision != MX_DTYPE_F32 && voice->precision != MX_DTYPE_BF16) return "the precision is unknown";
    if (state->vocoder_alone != (voice->acoustic.table == NULL)) return "state and networks differ about the voice";
    if (state->has_vocoder != (voice->vocoder.table != NULL)) return "state and networks differ about the vocoder";
    return voice->vector_count > speakers ? "there are more vectors than speakers" : NULL;
}

int mx_checkpoint_voice_write(const char *path, const struct mx_checkpoint_voice *voice)
{
    int rc = 0;
    struct writing w = {.precision = voice->precision};
    const char *const wrong = fault_of(voice);
    mx_arena_init(&w.arena, 0);
    if (wrong != NULL) MX_RAISE(MX_ERR_ARGUMENT, "pass the parts of one voice", "%s", wrong);
    MX_TRY(mx_checkpoint_state_write(voice->state, &w.arena, &w.metadata, &w.metadata_count));
    MX_TRY(tensors_collect(&w, voice));
    MX_TRY(mx_checkpoint_hash_add(&w.arena, w.tensors, w.tensor_count, w.metadata, &w.metadata_count));
    MX_TRY(mx_safetensors_write(path, w.tensors, w.tensor_count, w.metadata, w.metadata_count));
out:
    mx_arena_release(&w.arena);
    return rc;
}

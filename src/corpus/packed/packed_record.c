/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * One record of a packed corpus in memory: making its bytes, and checking every number in them before it is used. The
 * bytes are described in packed.h.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "base/alloc.h"
#include "corpus/packed/packed.h"
#include "myxtts/error.h"

#define STRING_MAX  (UINT32_C(1) << 27) /* bytes of one string */
#define COLUMNS_MAX (UINT32_C(1) << 16)
#define PEAK        32767.0f

/* Where the parts of a payload begin. */
struct layout {
    uint64_t tokens, audio, tensors[MX_PACKED_TENSORS], end;
};

uint64_t mx_packed_hash(const void *data, size_t bytes)
{
    return XXH3_64bits(data, bytes);
}

uint64_t mx_packed_align(uint64_t bytes)
{
    return (bytes + (MX_PACKED_ALIGNMENT - 1)) & ~(uint64_t)(MX_PACKED_ALIGNMENT - 1);
}

/* Cannot overflow: counts have 32 bits, columns 16. */
static struct layout layout_of(const struct mx_packed_header *header, const struct mx_packed_record *record)
{
    struct layout layout = {0};
    layout.tokens =
        mx_packed_align((uint64_t)record->id_bytes + record->text_bytes + record->spoken_bytes + record->detail_bytes);
    layout.audio = layout.tokens + mx_packed_align((uint64_t)record->token_count * sizeof(int32_t));
    layout.end = layout.audio;
    if (header->kind == MX_PACKED_AUDIO) layout.end += mx_packed_align((uint64_t)record->samples * sizeof(int16_t));
    for (uint32_t i = 0; i < header->tensor_count; i++) {
        layout.tensors[i] = layout.end;
        layout.end += mx_packed_align((uint64_t)record->frames * header->tensors[i].columns * sizeof(float));
    }
    return layout;
}

/* ---- checking ---- */

static bool all_zero(const void *data, size_t bytes)
{
    const unsigned char *const at = data;
    for (size_t i = 0; i < bytes; i++)
        if (at[i] != 0) return false;
    return true;
}

/* What is wrong with the list of tensors, or NULL. */
static const char *tensors_fault(const struct mx_packed_header *header)
{
    if (header->tensor_count > MX_PACKED_TENSORS) return "it has too many tensors";
    if ((header->kind == MX_PACKED_FEATURES) != (header->tensor_count > 0)) return "its tensors do not match its kind";
    for (uint32_t i = 0; i < MX_PACKED_TENSORS; i++) {
        const struct mx_packed_tensor *const tensor = &header->tensors[i];
        if (i >= header->tensor_count) {
            if (!all_zero(tensor, sizeof *tensor)) return "unused bytes are not zero";
            continue;
        }
        const size_t length = strnlen(tensor->name, sizeof tensor->name);
        if (length == 0 || length == sizeof tensor->name) return "a tensor has no name";
        if (!all_zero(tensor->name + length, sizeof tensor->name - length) || tensor->zero != 0)
            return "unused bytes are not zero";
        if (tensor->columns == 0 || tensor->columns > COLUMNS_MAX) return "a tensor has an invalid width";
    }
    return NULL;
}

const char *mx_packed_header_fault(const struct mx_packed_header *header)
{
    if (memcmp(header->magic, MX_PACKED_MAGIC, sizeof header->magic) != 0) return "it is not a packed corpus";
    if (header->endian != MX_PACKED_ENDIAN) return "it was made for another byte order";
    if (header->version != MX_PACKED_VERSION) return "it has a different version of the format";
    if (header->hash != mx_packed_hash(header, offsetof(struct mx_packed_header, hash)))
        return "its header is damaged (the hash does not match)";
    if (header->state != MX_PACKED_JOURNAL && header->state != MX_PACKED_FINISHED) return "its state is unknown";
    if (header->kind != MX_PACKED_AUDIO && header->kind != MX_PACKED_FEATURES) return "its kind is unknown";
    if (header->record_bytes != sizeof(struct mx_packed_record)) return "its records have an invalid size";
    if (header->section_count != MX_PACKED_SECTIONS) return "it has an unknown number of sections";
    if (header->record_count > MX_PACKED_RECORDS_MAX) return "it claims too many rows";
    if (header->good_count > header->record_count) return "it claims more good rows than rows";
    if (header->zero != 0 || !all_zero(header->reserved, sizeof header->reserved)) return "unused bytes are not zero";
    return tensors_fault(header);
}

const char *mx_packed_record_fault(const struct mx_packed_header *header, const struct mx_packed_record *record)
{
    if (record->magic != MX_PACKED_RECORD_MAGIC) return "its head is missing";
    if (record->head_hash != mx_packed_hash(record, offsetof(struct mx_packed_record, head_hash)))
        return "its head is damaged (the hash does not match)";
    if (record->row >= header->record_count) return "its row does not exist";
    if (record->zero != 0) return "unused bytes are not zero";
    const uint32_t strings[] = {record->id_bytes, record->text_bytes, record->spoken_bytes, record->detail_bytes};
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++)
        if (strings[i] == 0 || strings[i] > STRING_MAX) return "a text has an invalid size";
    if (record->reject >= MX_REJECT_COUNT) return "its reason for rejection is unknown";
    if (record->samples_bound != 0 && record->samples > record->samples_bound)
        return "it is longer than its recording can be";
    if (record->reject != 0) {
        if (record->samples != 0 || record->frames != 0 || record->scale != 0.0f)
            return "it was rejected but has contents";
    } else {
        const bool audio = header->kind == MX_PACKED_AUDIO;
        if (record->token_count < 2 || record->samples == 0) return "it is empty";
        if ((record->frames > 0) == audio) return "its frames do not match the kind of the file";
        if (audio ? !(record->scale > 0.0f && isfinite(record->scale)) : record->scale != 0.0f)
            return "its scale is invalid";
    }
    if (record->payload_offset % MX_PACKED_ALIGNMENT != 0 || record->payload_offset < sizeof *header + sizeof *record)
        return "it is at an invalid place";
    if (record->payload_bytes > MX_PACKED_PAYLOAD_MAX || layout_of(header, record).end != record->payload_bytes)
        return "its size does not match its contents";
    return NULL;
}

const char *mx_packed_payload_fault(const struct mx_packed_header *header, const struct mx_packed_record *record,
                                    const unsigned char *payload, uint32_t vocabulary_size, bool check_hash,
                                    struct mx_packed_view *view)
{
    const struct layout layout = layout_of(header, record);
    const char *text = (const char *)payload;
    const char **const strings[] = {&view->id, &view->text, &view->spoken, &view->detail};
    const uint32_t sizes[] = {record->id_bytes, record->text_bytes, record->spoken_bytes, record->detail_bytes};
    *view = (struct mx_packed_view){0};
    if (check_hash && record->payload_hash != mx_packed_hash(payload, (size_t)record->payload_bytes))
        return "its contents are damaged (the hash does not match)";
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        if (text[sizes[i] - 1] != '\0') return "a text is not terminated";
        *strings[i] = text;
        text += sizes[i];
    }
    view->tokens = (const int32_t *)(const void *)(payload + layout.tokens);
    for (uint32_t i = 0; check_hash && i < record->token_count; i++)
        if (view->tokens[i] < 0 || (uint32_t)view->tokens[i] >= vocabulary_size)
            return "a token is not in the vocabulary";
    if (record->reject != 0) return NULL;
    if (header->kind == MX_PACKED_AUDIO) view->audio = (const int16_t *)(const void *)(payload + layout.audio);
    for (uint32_t i = 0; i < header->tensor_count; i++)
        view->tensors[i] = (const float *)(const void *)(payload + layout.tensors[i]);
    return NULL;
}

/* ---- making ---- */

static int buffer_grow(struct mx_packed_buffer *buffer, uint64_t bytes)
{
    if (bytes > MX_PACKED_PAYLOAD_MAX)
        return MX_FAIL(MX_ERR_DATA, "lower the longest duration of the corpus", "a row of %.1f GB is too large",
                       (double)bytes / 1e9);
    if (bytes <= buffer->capacity) return 0;
    const size_t wanted = (size_t)bytes + (size_t)bytes / 4;
    unsigned char *const grown = mx_alloc_aligned(wanted, MX_PACKED_ALIGNMENT);
    if (grown == NULL) return MX_ERR_NO_MEMORY;
    mx_free(buffer->data);
    buffer->data = grown;
    buffer->capacity = wanted;
    return 0;
}

void mx_packed_buffer_release(struct mx_packed_buffer *buffer)
{
    mx_free(buffer->data);
    *buffer = (struct mx_packed_buffer){0};
}

int mx_packed_buffer_reserve(struct mx_packed_buffer *buffer, uint64_t bytes)
{
    const int rc = buffer_grow(buffer, bytes);
    if (rc == 0) buffer->bytes = (size_t)bytes;
    return rc;
}

#define ROUND_MAGIC 12582912.0f /* 1.5 · 2²³: what is added to it has no place for fractions */

/* Returns the scale. The largest sample becomes ± 32767, so that quiet recordings keep their precision too. NaN becomes
 * -32767. Comparisons and sums, since fmaxf, fminf and lrintf would be calls, which keep the loops from being vectorised. */
static float audio_quantise(const float *samples, uint32_t count, int16_t *out)
{
    float peak = 0.0f;
    for (uint32_t i = 0; i < count; i++) {
        const float size = fabsf(samples[i]);
        peak = size > peak ? size : peak;
    }
    if (!(peak >= 1e-30f)) peak = 1.0f; /* silence, or so little that 1 / peak is no number */
    const float factor = PEAK / peak;
    for (uint32_t i = 0; i < count; i++) {
        float value = samples[i] * factor;
        value = value > -PEAK ? value : -PEAK;
        value = value < PEAK ? value : PEAK;
        out[i] = (int16_t)(int32_t)((value + ROUND_MAGIC) - ROUND_MAGIC);
    }
    return peak / PEAK;
}

void mx_packed_samples(const struct mx_packed_record *record, const struct mx_packed_view *view, float *out)
{
    const float scale = record->scale;
    const int16_t *const audio = view->audio;
    for (uint32_t i = 0; i < record->samples; i++) out[i] = (float)audio[i] * scale;
}

int mx_packed_encode(const struct mx_packed_header *header, const struct mx_packed_record *head,
                     const struct mx_packed_view *view, struct mx_packed_buffer *buffer)
{
    const char *const strings[] = {view->id, view->text, view->spoken, view->detail};
    uint32_t sizes[4];
    struct mx_packed_record record = *head;
    for (size_t i = 0; i < 4; i++) {
        const size_t length = strings[i] == NULL ? 0 : strlen(strings[i]);
        if (length >= STRING_MAX)
            return MX_FAIL(MX_ERR_DATA, "shorten it", "row %u: a text of %zu bytes is too long", head->row, length);
        sizes[i] = (uint32_t)length + 1;
    }
    record.magic = MX_PACKED_RECORD_MAGIC;
    record.id_bytes = sizes[0];
    record.text_bytes = sizes[1];
    record.spoken_bytes = sizes[2];
    record.detail_bytes = sizes[3];
    record.scale = 0.0f;
    record.zero = 0;
    if (record.reject != 0) record.samples = record.frames = 0;
    if (header->kind == MX_PACKED_AUDIO) record.frames = 0;
    const struct layout layout = layout_of(header, &record);
    const int rc = mx_packed_buffer_reserve(buffer, layout.end + sizeof record);
    if (rc < 0) return rc;
    unsigned char *const payload = buffer->data + sizeof record;
    memset(buffer->data, 0, buffer->bytes);
    size_t at = 0;
    for (size_t i = 0; i < 4; i++) {
        if (strings[i] != NULL) memcpy(payload + at, strings[i], sizes[i]);
        at += sizes[i];
    }
    if (record.token_count > 0)
        memcpy(payload + layout.tokens, view->tokens, (size_t)record.token_count * sizeof(int32_t));
    if (header->kind == MX_PACKED_AUDIO && record.samples > 0)
        record.scale = audio_quantise(view->samples, record.samples, (int16_t *)(void *)(payload + layout.audio));
    for (uint32_t i = 0; record.frames > 0 && i < header->tensor_count; i++)
        memcpy(payload + layout.tensors[i], view->tensors[i],
               (size_t)record.frames * header->tensors[i].columns * sizeof(float));
    record.payload_bytes = layout.end;
    record.payload_hash = mx_packed_hash(payload, (size_t)layout.end);
    record.payload_offset = 0;
    record.head_hash = 0;
    memcpy(buffer->data, &record, sizeof record);
    return 0;
}

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * libFuzzer target for packed corpora. The first byte says how the others are taken: as a whole file; as changes to a
 * good file; or as changes after which all hashes are made right again, as a hostile file would have them. Whatever
 * opens is read to its last byte. Built with clang -fsanitize=fuzzer,address,undefined.
 *
 * A change is 7 bytes: where (4, modulo the size of the file), how many bytes (1, modulo 4, plus 1), and the first two
 * of them; the others are copies of the second.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "corpus/packed.h"
#include "myxtts/error.h"

#define ROWS         3
#define CHANGE_BYTES 7
#define LIMIT        ((size_t)1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

static char *bases[2]; /* a good file of each kind */
static size_t base_bytes[2];

static void check(bool holds)
{
    if (!holds) abort();
}

/* Makes a good file of `kind` below `folder` and reads it back. */
static void base_make(const char *folder, enum mx_packed_kind kind, char **data, size_t *bytes)
{
    static const uint64_t keys[ROWS] = {1, 2, 3};
    static const struct mx_packed_tensor tensor = {.name = "mel", .columns = 3};
    static const float numbers[64] = {0.5f, -0.25f};
    static const int32_t tokens[] = {0, 2, 1};
    const struct mx_packed_plan plan = {
        .kind = kind,
        .tensors = &tensor,
        .tensor_count = kind == MX_PACKED_FEATURES,
        .metadata = "{\"speakers\":[\"a\"],\"vocabulary\":{\"format\":\"myxtts-vocabulary\",\"version\":1,"
                    "\"mode\":\"chars\",\"cleaner\":1,\"languages\":[\"en\"],\"symbols\":[\"a\"]}}",
        .record_count = ROWS,
        .vocabulary_size = 3,
        .keys = keys};
    struct mx_packed_writer *writer;
    struct mx_packed_buffer buffer = {0};
    char *const path = mx_format("%s/base", folder);
    check(mx_packed_writer_open(path, &plan, MX_PACKED_FRESH, &writer) == 0);
    for (uint32_t row = 0; row < ROWS; row++) {
        const struct mx_packed_record head = {.row = row,
                                              .key = keys[row],
                                              .reject = row == 1 ? MX_REJECT_SILENT : 0,
                                              .samples = 40,
                                              .frames = 5,
                                              .token_count = 3};
        const struct mx_packed_view view = {
            .id = "id", .text = "a", .spoken = "a", .tokens = tokens, .samples = numbers, .tensors = {numbers}};
        check(mx_packed_encode(mx_packed_writer_header(writer), &head, &view, &buffer) == 0);
        check(mx_packed_writer_append(writer, &buffer) == 0);
    }
    check(mx_packed_writer_finish(writer) == 0);
    mx_packed_writer_close(writer);
    mx_packed_buffer_release(&buffer);
    check(mx_file_read(path, LIMIT, data, bytes) == 0);
    unlink(path);
    mx_free(path);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    char folder[] = "/tmp/fuzz_packed.XXXXXX";
    (void)argc;
    (void)argv;
    mx_log_configure(&(struct mx_log_options){.level = MX_LOG_SILENT});
    check(mkdtemp(folder) != NULL);
    base_make(folder, MX_PACKED_AUDIO, &bases[0], &base_bytes[0]);
    base_make(folder, MX_PACKED_FEATURES, &bases[1], &base_bytes[1]);
    rmdir(folder);
    return 0;
}

/* Is [offset, offset + size) inside? */
static bool inside(uint64_t offset, uint64_t size, uint64_t bytes)
{
    return offset <= bytes && size <= bytes - offset;
}

/* Makes the hashes right, from the inside out, as far as the places that are named exist. */
static void reseal(unsigned char *data, size_t bytes)
{
    struct mx_packed_header *const header = (struct mx_packed_header *)(void *)data;
    if (bytes < sizeof *header) return;
    const struct mx_packed_section *const index = &header->sections[MX_PACKED_INDEX];
    const uint64_t index_bytes = (uint64_t)header->record_count * sizeof(struct mx_packed_record);
    if (index->offset % 8 == 0 && inside(index->offset, index_bytes, bytes)) {
        struct mx_packed_record *const records = (struct mx_packed_record *)(void *)(data + index->offset);
        for (uint32_t i = 0; i < header->record_count; i++) {
            struct mx_packed_record record = records[i];
            const bool there = record.payload_offset >= sizeof record + sizeof *header &&
                               inside(record.payload_offset, record.payload_bytes, bytes);
            if (there) record.payload_hash = mx_packed_hash(data + record.payload_offset, (size_t)record.payload_bytes);
            record.head_hash = mx_packed_hash(&record, offsetof(struct mx_packed_record, head_hash));
            if (there) memcpy(data + record.payload_offset - sizeof record, &record, sizeof record);
            records[i] = record;
        }
    }
    for (int i = 0; i < MX_PACKED_SECTIONS; i++) {
        struct mx_packed_section *const section = &header->sections[i];
        if (i != MX_PACKED_RECORDS && inside(section->offset, section->bytes, bytes))
            section->hash = mx_packed_hash(data + section->offset, (size_t)section->bytes);
    }
    header->hash = mx_packed_hash(header, offsetof(struct mx_packed_header, hash));
}

/* Everything that a good record offers. */
static void record_read(struct mx_packed_file *packed, uint32_t row, const struct mx_packed_view *view)
{
    const struct mx_packed_header *const header = mx_packed_header(packed);
    const struct mx_packed_record *const record = mx_packed_record(packed, row);
    volatile float sum = 0;
    check(strlen(view->id) < record->id_bytes && strlen(view->text) < record->text_bytes);
    check(strlen(view->spoken) < record->spoken_bytes && strlen(view->detail) < record->detail_bytes);
    for (uint32_t i = 0; i < record->token_count; i++)
        check((size_t)view->tokens[i] < mx_vocabulary_size(mx_packed_vocabulary(packed)));
    if (view->audio != NULL) {
        float *const samples = mx_alloc(record->samples, sizeof *samples);
        mx_packed_samples(record, view, samples);
        sum = samples[record->samples - 1];
        mx_free(samples);
    }
    for (uint32_t t = 0; record->reject == 0 && t < header->tensor_count; t++)
        sum = view->tensors[t][(size_t)record->frames * header->tensors[t].columns - 1];
    (void)sum;
    check(mx_packed_speaker(packed, record->speaker) != NULL);
}

static void file_try(const unsigned char *data, size_t bytes)
{
    struct mx_packed_file *packed;
    struct mx_packed_view view;
    const int rc = mx_packed_open_memory(data, bytes, &packed);
    check(rc == 0 || (packed == NULL && mx_error_last()->message[0] != '\0'));
    for (uint32_t row = 0; rc == 0 && row < mx_packed_header(packed)->record_count; row++) {
        check(mx_packed_id(packed, row) != NULL);
        if (mx_packed_get(packed, row, &view) == 0) record_read(packed, row, &view);
    }
    mx_packed_close(packed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    const unsigned mode = data[0] % 5;
    const char *const base = bases[mode % 2];
    const size_t bytes = mode == 0 ? size - 1 : base_bytes[mode % 2];
    unsigned char *const copy = mx_alloc_aligned(bytes, 64);
    memcpy(copy, mode == 0 ? (const char *)data + 1 : base, bytes);
    for (size_t at = 1; mode > 0 && at + CHANGE_BYTES <= size; at += CHANGE_BYTES) {
        uint32_t where;
        memcpy(&where, data + at, sizeof where);
        where %= (uint32_t)bytes;
        for (uint32_t i = 0; i <= data[at + 4] % 4u && where + i < bytes; i++) copy[where + i] = data[at + 5 + (i > 0)];
    }
    if (mode > 2) reseal(copy, bytes);
    file_try(copy, bytes);
    mx_free(copy);
    return 0;
}

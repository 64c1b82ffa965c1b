/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * libFuzzer target for packed corpora. The first byte says how the others are taken: as a whole file; as changes to a
 * good file; or as changes after which all hashes are made right again, as a hostile file would have them. Whatever
 * opens is read to its last byte, and then as training reads it: the list of utterances, the rows that are left out,
 * the order of an epoch, its batches. Built with clang -fsanitize=fuzzer,address,undefined.
 *
 * A change is 7 bytes: where (4, modulo the size of the file), how many bytes (1, modulo 4, plus 1), and the first two
 * of them; the others are copies of the second.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "corpus/dataset.h"
#include "corpus/packed/packed.h"
#include "corpus/sampler.h"
#include "features/recipe.h"
#include "fuzz.h"
#include "myxtts/error.h"
#include "myxtts/registry.h"
#include "train/feed/host_batch.h"

#define ROWS         3
#define CHANGE_BYTES 7
#define LIMIT        ((size_t)1 << 20)
#define FRAMES       5
#define BATCH        2

static char *bases[2]; /* a good file of each kind */
static size_t base_bytes[2];
static char scratch[] = "/tmp/fuzz_packed.XXXXXX"; /* the file that is trained on */
static struct mx_device *device;

/* Makes a good file of `kind` below `folder` and reads it back. */
static void base_make(const char *folder, enum mx_packed_kind kind, char **data, size_t *bytes)
{
    static const uint64_t keys[ROWS] = {1, 2, 3};
    static const struct mx_packed_tensor tensors[] = {{"mel", 80, 0}, {"energy", 1, 0}, {"pitch", 1, 0}};
    static const float numbers[FRAMES * 80] = {0.5f, -0.25f};
    static const float sound[1200] = {0.5f, -0.25f};
    static const int32_t tokens[] = {0, 2, 1};
    char hash[MX_RECIPE_HASH_BYTES], metadata[600];
    const bool features = kind == MX_PACKED_FEATURES;
    snprintf(metadata, sizeof metadata,
             "{\"options\":{\"recipe\":\"%s\",\"recipe_hash\":\"%s\"},\"validation\":\"listed\",\"speakers\":[\"a\"],"
             "\"vocabulary\":{\"format\":\"myxtts-vocabulary\",\"version\":1,\"mode\":\"chars\",\"cleaner\":1,"
             "\"languages\":[\"en\"],\"symbols\":[\"a\"]}}",
             features ? MX_RECIPE_DEFAULT->name : "none",
             features ? mx_recipe_hash_text(MX_RECIPE_DEFAULT, hash) : "none");
    const struct mx_packed_plan plan = {.kind = kind,
                                        .tensors = tensors,
                                        .tensor_count = features ? sizeof tensors / sizeof *tensors : 0,
                                        .metadata = metadata,
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
                                              .samples = 1200,
                                              .samples_bound = 1200,
                                              .frames = FRAMES,
                                              .token_count = 3};
        const struct mx_packed_view view = {.id = "id",
                                            .text = "a",
                                            .spoken = "a",
                                            .tokens = tokens,
                                            .samples = sound,
                                            .tensors = {numbers, numbers, numbers}};
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

/* One epoch of batches; what cannot be used is reported, and nothing else happens. Utterances that were in batches. */
static int32_t epoch_run(struct mx_dataset *dataset, struct mx_batch_source *source)
{
    const uint32_t count = mx_dataset_count(dataset);
    struct mx_host_batch_capacity capacity;
    struct mx_host_batch *host = NULL;
    struct mx_sampler *sampler = NULL;
    struct mx_dataset_reader *reader = NULL;
    const struct mx_sampler_options order = {.seed = 1, .world = 1, .batch_size = BATCH};
    int32_t used = 0;
    uint32_t *const items = mx_alloc(count, sizeof *items), *const frames = mx_alloc(count, sizeof *frames);
    for (uint32_t i = 0; i < count; i++) {
        items[i] = i;
        frames[i] = mx_batch_source_frames(source, i);
    }
    if (mx_batch_source_capacity(source, items, count, BATCH, 0, &capacity) == 0 &&
        mx_host_batch_create(source, device, &capacity, &host) == 0 &&
        mx_sampler_create(&order, items, frames, count, &sampler) == 0 &&
        mx_dataset_reader_create(dataset, &reader) == 0) {
        for (uint32_t step = 0; step < mx_sampler_steps(sampler); step++) {
            const struct mx_sampler_batch batch = mx_sampler_get(sampler, step);
            const int rc = mx_host_batch_fill(host, reader, 0, step, batch.items, batch.count);
            check(rc < 0 || host->count + host->left_out == (int32_t)batch.count);
            used += rc == 0 ? host->count : 0;
            for (int32_t i = 0; rc == 0 && i < host->tokens; i++)
                check(host->token_ids[i] >= 0 &&
                      (size_t)host->token_ids[i] < mx_vocabulary_size(mx_dataset_vocabulary(dataset)));
        }
    }
    mx_dataset_reader_destroy(reader);
    mx_sampler_destroy(sampler);
    mx_host_batch_destroy(host);
    mx_free(items);
    mx_free(frames);
    return used;
}

/* The file as a run takes it. */
static int32_t training_try(const unsigned char *data, size_t bytes)
{
    struct mx_dataset *dataset;
    struct mx_batch_source *source;
    struct mx_dataset_options options = MX_DATASET_OPTIONS_DEFAULT;
    uint32_t counts[MX_REJECT_COUNT] = {0};
    bool found;
    int32_t used = 0;
    const int fd = open(scratch, O_WRONLY | O_TRUNC | O_CLOEXEC);
    check(fd >= 0 && write(fd, data, bytes) == (ssize_t)bytes && close(fd) == 0);
    options.path = scratch;
    options.row.audio.seconds_min = 0.01;
    if (mx_packed_detect(scratch, &found) < 0 || !found || mx_dataset_open(&options, &dataset) < 0) return 0;
    mx_dataset_reject_counts(dataset, counts);
    (void)mx_dataset_fingerprint(dataset);
    const struct mx_batch_source_options how = {
        .dataset = dataset, .normaliser = {0, 1, 0, 1, 0, 1}, .seed = 1, .reference_seconds = 0.02};
    if (mx_batch_source_create(&how, &source) == 0) {
        used = epoch_run(dataset, source);
        mx_batch_source_destroy(source);
    }
    mx_dataset_close(dataset);
    return used;
}

static void file_try(const unsigned char *data, size_t bytes)
{
    struct mx_packed_file *packed;
    struct mx_packed_view view;
    struct mx_packed_buffer buffer = {0};
    const int rc = mx_packed_open_memory(data, bytes, &packed);
    check(rc == 0 || (packed == NULL && mx_error_last()->message[0] != '\0'));
    for (uint32_t row = 0; rc == 0 && row < mx_packed_header(packed)->record_count; row++) {
        check(mx_packed_id(packed, row) != NULL);
        if (mx_packed_get(packed, row, &buffer, &view) == 0) record_read(packed, row, &view);
    }
    mx_packed_buffer_release(&buffer);
    mx_packed_close(packed);
    if (rc == 0) (void)training_try(data, bytes);
}

static void scratch_remove(void)
{
    unlink(scratch);
}

void fuzz_begin(void)
{
    char folder[] = "/tmp/fuzz_packed.XXXXXX";
    check(mkdtemp(folder) != NULL);
    base_make(folder, MX_PACKED_AUDIO, &bases[0], &base_bytes[0]);
    base_make(folder, MX_PACKED_FEATURES, &bases[1], &base_bytes[1]);
    rmdir(folder);
    static struct mx_registry *registry; /* for as long as the program runs, as the device */
    const struct mx_registry_options options = {.devices = {"cpu:0"}, .device_count = 1};
    check(mx_registry_open(NULL, &options, &registry) == 0);
    check(mx_registry_device_open(registry, 0, 0, &device) == 0);
    const int fd = mkstemp(scratch);
    check(fd >= 0 && close(fd) == 0 && atexit(scratch_remove) == 0);
    for (int i = 0; i < 2; i++) check(training_try((unsigned char *)bases[i], base_bytes[i]) == ROWS - 1);
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

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A packed corpus of six rows for tests; see packed_rows.h.
 */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "support/packed_rows.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/rng.h"
#include "support/recording.h"

static const char metadata[] =
    "{\"format\":\"myxtts-packed\",\"options\":{\"kind\":\"audio\"},\"speakers\":[\"ann\",\"bob\"],"
    "\"validation\":\"seeded\",\"vocabulary\":{\"format\":\"myxtts-vocabulary\",\"version\":1,\"mode\":\"chars\","
    "\"cleaner\":1,\"languages\":[\"en\"],\"symbols\":[\" \",\"a\",\"b\",\"c\"]}}";
const uint64_t packed_keys[PACKED_ROWS] = {11, 22, 33, 44, 55, 66};
static const struct mx_packed_tensor tensors[] = {{.name = "mel", .columns = 5}, {.name = "pitch", .columns = 1}};

int packed_setup(void **state)
{
    struct packed_place *const fixture = mx_alloc(1, sizeof *fixture);
    fixture->folder = folder_make();
    fixture->path = mx_format("%s/corpus.pack", fixture->folder);
    fixture->part = mx_format("%s/corpus.pack.part", fixture->folder);
    *state = fixture;
    return 0;
}

int packed_teardown(void **state)
{
    struct packed_place *const fixture = *state;
    folder_remove(fixture->folder);
    mx_free(fixture->path);
    mx_free(fixture->part);
    mx_free(fixture);
    return 0;
}

/* ---- rows to write ---- */

struct mx_packed_plan packed_plan(enum mx_packed_kind kind)
{
    return (struct mx_packed_plan){.kind = kind,
                                   .tensors = kind == MX_PACKED_FEATURES ? tensors : NULL,
                                   .tensor_count = kind == MX_PACKED_FEATURES ? 2 : 0,
                                   .metadata = metadata,
                                   .record_count = PACKED_ROWS,
                                   .vocabulary_size = 6,
                                   .keys = packed_keys,
                                   .options_hash = 5,
                                   .source_hash = 6};
}

uint32_t packed_samples(uint32_t row)
{
    return 100 + row * 37;
}

float packed_sample(uint32_t row, uint32_t i)
{
    return 0.3f * (float)(row + 1) * mx_rng_normal(1, row, i) / 4.0f;
}

uint32_t packed_frames(uint32_t row)
{
    return 3 + row;
}

int packed_encode(const struct mx_packed_header *header, uint32_t row, struct mx_packed_buffer *buffer)
{
    static float samples[PACKED_SAMPLES_MAX], mel[100], pitch[20];
    char id[16];
    const int32_t tokens[] = {0, 2, 3, (int32_t)(2 + row % 4), 1};
    const bool good = row != PACKED_BROKEN;
    snprintf(id, sizeof id, "row-%u", row);
    for (uint32_t i = 0; i < packed_samples(row); i++) samples[i] = packed_sample(row, i);
    for (uint32_t i = 0; i < packed_frames(row) * 5; i++) mel[i] = (float)(row * 1000 + i) / 3.0f;
    for (uint32_t i = 0; i < packed_frames(row); i++) pitch[i] = (float)(row * 1000 + i) / 7.0f;
    const struct mx_packed_record head = {.row = row,
                                          .key = packed_keys[row],
                                          .source_bytes = 1000 + row,
                                          .source_mtime_ns = -5,
                                          .reject = good ? 0 : MX_REJECT_SILENT,
                                          .line = row + 1,
                                          .speaker = row % 2,
                                          .samples = packed_samples(row),
                                          .samples_bound = packed_samples(row) + 9,
                                          .frames = packed_frames(row),
                                          .token_count = good ? 5 : 0};
    const struct mx_packed_view view = {.id = id,
                                        .text = "As written",
                                        .spoken = "a b c",
                                        .detail = good ? "" : "nothing to hear",
                                        .tokens = tokens,
                                        .samples = samples,
                                        .tensors = {mel, pitch}};
    return mx_packed_encode(header, &head, &view, buffer);
}

void packed_append(struct mx_packed_writer *writer, uint32_t row)
{
    struct mx_packed_buffer buffer = {0};
    assert_int_equal(packed_encode(mx_packed_writer_header(writer), row, &buffer), 0);
    assert_int_equal(mx_packed_writer_append(writer, &buffer), 0);
    mx_packed_buffer_release(&buffer);
}

struct mx_packed_writer *packed_begin(const struct packed_place *fixture, enum mx_packed_kind kind,
                                      enum mx_packed_resume resume)
{
    struct mx_packed_writer *writer;
    const struct mx_packed_plan plan = packed_plan(kind);
    assert_int_equal(mx_packed_writer_open(fixture->path, &plan, resume, &writer), 0);
    return writer;
}

char *packed_make(const struct packed_place *fixture, enum mx_packed_kind kind, enum mx_packed_resume resume,
                  size_t *bytes)
{
    char *data;
    struct mx_packed_writer *const writer = packed_begin(fixture, kind, resume);
    for (uint32_t row = mx_packed_writer_count(writer); row < PACKED_ROWS; row++) packed_append(writer, row);
    assert_int_equal(mx_packed_writer_finish(writer), 0);
    mx_packed_writer_close(writer);
    assert_int_equal(mx_file_read(fixture->path, PACKED_LIMIT, &data, bytes), 0);
    return data;
}

void packed_check(const char *path)
{
    struct mx_packed_file *packed;
    assert_int_equal(mx_packed_open(path, &packed), 0);
    assert_int_equal(mx_packed_verify(packed), 0);
    mx_packed_close(packed);
}

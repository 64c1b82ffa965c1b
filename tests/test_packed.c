/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Packed corpora: what is written is read back, and a file that is cut off, damaged or hostile is refused and named.
 * The journal that they grow in: test_packed_journal.c.
 */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "corpus/packed/packed.h"
#include "myxtts/error.h"
#include "support/packed_rows.h"
#include "support/recording.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A copy that is aligned as a mapping is. */
static void *aligned(const void *data, size_t bytes)
{
    void *const copy = mx_alloc_aligned(bytes, 64);
    memcpy(copy, data, bytes);
    return copy;
}

static bool detected(const char *path)
{
    bool found;
    assert_int_equal(mx_packed_detect(path, &found), 0);
    return found;
}

/* ---- round trips ---- */

static void test_audio(void **state)
{
    const struct packed_place *const fixture = *state;
    size_t bytes;
    struct mx_packed_file *packed;
    struct mx_packed_view view;
    struct mx_packed_buffer buffer = {0};
    static float samples[PACKED_SAMPLES_MAX];
    mx_free(packed_make(fixture, MX_PACKED_AUDIO, MX_PACKED_FRESH, &bytes));
    assert_int_not_equal(access(fixture->part, F_OK), 0);
    assert_true(detected(fixture->path));
    assert_int_equal(mx_packed_open(fixture->path, &packed), 0);
    assert_int_equal(mx_packed_header(packed)->record_count, PACKED_ROWS);
    assert_int_equal(mx_packed_header(packed)->good_count, PACKED_ROWS - 1);
    assert_int_equal(mx_packed_header(packed)->file_bytes, bytes);
    assert_int_equal(mx_packed_speaker_count(packed), 2);
    assert_string_equal(mx_packed_speaker(packed, 1), "bob");
    assert_int_equal(mx_vocabulary_size(mx_packed_vocabulary(packed)), 6);
    double noise = 0, signal = 0;
    for (uint32_t row = 0; row < PACKED_ROWS; row++) {
        char id[16];
        const struct mx_packed_record *const record = mx_packed_record(packed, row);
        snprintf(id, sizeof id, "row-%u", row);
        assert_string_equal(mx_packed_id(packed, row), id);
        assert_int_equal(mx_packed_get(packed, row, &buffer, &view), 0);
        assert_string_equal(view.id, id);
        assert_string_equal(view.text, "As written");
        assert_string_equal(view.spoken, "a b c");
        assert_string_equal(view.detail, row == PACKED_BROKEN ? "nothing to hear" : "");
        assert_int_equal(record->line, row + 1);
        assert_int_equal(record->source_bytes, 1000 + row);
        assert_int_equal(record->samples_bound, packed_samples(row) + 9);
        if (row == PACKED_BROKEN) {
            assert_int_equal(record->reject, MX_REJECT_SILENT);
            assert_int_equal(record->samples, 0);
            assert_null(view.audio);
            continue;
        }
        assert_int_equal(record->samples, packed_samples(row));
        assert_int_equal(record->token_count, 5);
        assert_int_equal(view.tokens[3], 2 + row % 4);
        assert_int_equal((uintptr_t)view.audio % 64, 0);
        mx_packed_samples(record, &view, samples);
        float peak = 0;
        for (uint32_t i = 0; i < record->samples; i++) {
            const float error = fabsf(samples[i] - packed_sample(row, i));
            assert_true(error <= 0.501f * record->scale);
            peak = fmaxf(peak, fabsf(samples[i]));
            noise += (double)error * (double)error;
            signal += (double)(samples[i] * samples[i]);
        }
        assert_true(fabsf(peak - 32767.0f * record->scale) <= 1e-6f * peak); /* the full range is used */
    }
    assert_true(10 * log10(signal / noise) > 85.0);
    assert_int_equal(mx_packed_get(packed, PACKED_ROWS, &buffer, &view), MX_ERR_ARGUMENT);
    mx_packed_buffer_release(&buffer);
    mx_packed_close(packed);
}

/* Silence and the faintest sounds must not divide by nothing. */
static void test_faint_audio(void **state)
{
    (void)state;
    const struct mx_packed_header header = {.kind = MX_PACKED_AUDIO};
    static const float heights[] = {0.0f, 1e-38f, 1e-45f, 1e-20f, 1.0f, 1e30f};
    for (size_t i = 0; i < sizeof heights / sizeof *heights; i++) {
        const float samples[] = {heights[i], -heights[i], heights[i] / 2};
        float back[3];
        struct mx_packed_buffer buffer = {0};
        const int32_t tokens[] = {0, 1};
        const struct mx_packed_record head = {.samples = 3, .token_count = 2};
        const struct mx_packed_view made = {.id = "x", .tokens = tokens, .samples = samples};
        struct mx_packed_view view;
        assert_int_equal(mx_packed_encode(&header, &head, &made, &buffer), 0);
        struct mx_packed_record record;
        memcpy(&record, buffer.data, sizeof record);
        assert_true(isfinite(record.scale) && record.scale > 0.0f);
        assert_null(mx_packed_payload_fault(&header, &record, buffer.data + sizeof record, 2, true, &view));
        mx_packed_samples(&record, &view, back);
        for (int k = 0; k < 3; k++) assert_true(fabsf(back[k] - samples[k]) <= 0.501f * record.scale);
        mx_packed_buffer_release(&buffer);
    }
}

static void test_features(void **state)
{
    const struct packed_place *const fixture = *state;
    size_t bytes;
    struct mx_packed_file *packed;
    struct mx_packed_view view;
    struct mx_packed_buffer buffer = {0};
    mx_free(packed_make(fixture, MX_PACKED_FEATURES, MX_PACKED_FRESH, &bytes));
    assert_int_equal(mx_packed_open(fixture->path, &packed), 0);
    assert_string_equal(mx_packed_header(packed)->tensors[0].name, "mel");
    for (uint32_t row = 0; row < PACKED_ROWS; row++) {
        const struct mx_packed_record *const record = mx_packed_record(packed, row);
        assert_int_equal(mx_packed_get(packed, row, &buffer, &view), 0);
        assert_null(view.audio);
        if (row == PACKED_BROKEN) continue;
        assert_int_equal(record->frames, packed_frames(row));
        assert_int_equal(record->samples, packed_samples(row));
        for (uint32_t i = 0; i < record->frames * 5; i++)
            assert_true(view.tensors[0][i] == (float)(row * 1000 + i) / 3.0f);
        for (uint32_t i = 0; i < record->frames; i++) assert_true(view.tensors[1][i] == (float)(row * 1000 + i) / 7.0f);
        assert_int_equal((uintptr_t)view.tensors[1] % 64, 0);
    }
    mx_packed_buffer_release(&buffer);
    mx_packed_close(packed);
}

/* ---- damage ---- */

static void test_every_length(void **state)
{
    const struct packed_place *const fixture = *state;
    size_t bytes;
    struct mx_packed_file *packed;
    char *const data = packed_make(fixture, MX_PACKED_AUDIO, MX_PACKED_FRESH, &bytes);
    for (size_t length = 0; length < bytes; length += length < 1024 || length + 1024 > bytes ? 1 : 61) {
        void *const copy = aligned(data, length);
        assert_int_equal(mx_packed_open_memory(copy, length, &packed), MX_ERR_FORMAT);
        assert_null(packed);
        assert_true(mx_error_last()->hint[0] != '\0');
        mx_free(copy);
    }
    /* And as a file, with its name in the message. */
    assert_int_equal(truncate(fixture->path, (off_t)bytes - 64), 0);
    assert_int_equal(mx_packed_open(fixture->path, &packed), MX_ERR_FORMAT);
    assert_non_null(strstr(mx_error_last()->message, "truncated"));
    assert_non_null(strstr(mx_error_last()->message, "corpus.pack"));
    assert_int_equal(truncate(fixture->path, 0), 0);
    assert_int_equal(mx_packed_open(fixture->path, &packed), MX_ERR_FORMAT);
    mx_free(data);
}

static void test_every_byte(void **state)
{
    const struct packed_place *const fixture = *state;
    size_t bytes, opened = 0, refused = 0;
    struct mx_packed_file *packed;
    char *const data = packed_make(fixture, MX_PACKED_AUDIO, MX_PACKED_FRESH, &bytes);
    unsigned char *const copy = aligned(data, bytes);
    for (size_t at = 0; at < bytes; at++) {
        const unsigned char bit = (unsigned char)(1u << (at * 5 + at / 8) % 8);
        copy[at] ^= bit;
        if (mx_packed_open_memory(copy, bytes, &packed) == 0) {
            opened++;
            /* The records name their damage; a second look is no more trusting than the first. */
            assert_int_equal(mx_packed_verify(packed), MX_ERR_FORMAT);
            assert_int_equal(mx_packed_verify(packed), MX_ERR_FORMAT);
            assert_non_null(strstr(mx_error_last()->message, "record "));
            assert_non_null(strstr(mx_error_last()->message, "row-"));
            mx_packed_close(packed);
        } else {
            refused++;
            assert_int_equal(mx_error_last()->code, MX_ERR_FORMAT);
        }
        copy[at] ^= bit;
    }
    assert_true(opened > PACKED_ROWS * 128 && refused > 512 + PACKED_ROWS * 128);
    assert_int_equal(mx_packed_open_memory(copy, bytes, &packed), 0);
    assert_int_equal(mx_packed_verify(packed), 0);
    mx_packed_close(packed);
    mx_free(copy);
    mx_free(data);
}

/* Makes all hashes right again, and the heads of the records those of the index, as one who means harm would. */
static void reseal(unsigned char *data, size_t bytes)
{
    struct mx_packed_header *const header = (struct mx_packed_header *)(void *)data;
    struct mx_packed_record *const index =
        (struct mx_packed_record *)(void *)(data + header->sections[MX_PACKED_INDEX].offset);
    for (uint32_t i = 0; i < PACKED_ROWS; i++) {
        const uint64_t at = index[i].payload_offset;
        const bool inside = at >= 640 && at % 64 == 0 && at < bytes && index[i].payload_bytes <= bytes - at;
        if (inside) index[i].payload_hash = mx_packed_hash(data + at, (size_t)index[i].payload_bytes);
        index[i].head_hash = mx_packed_hash(&index[i], offsetof(struct mx_packed_record, head_hash));
        if (inside && at <= header->sections[MX_PACKED_INDEX].offset)
            memcpy(data + at - sizeof *index, &index[i], sizeof *index);
    }
    for (int i = 0; i < MX_PACKED_SECTIONS; i++) {
        struct mx_packed_section *const section = &header->sections[i];
        if (i != MX_PACKED_RECORDS) section->hash = mx_packed_hash(data + section->offset, (size_t)section->bytes);
    }
    header->hash = mx_packed_hash(header, offsetof(struct mx_packed_header, hash));
}

/* Every number of header and index becomes something else, with all hashes right: nothing may be read that is not
 * there (the sanitizers tell), whatever is said. */
static void test_hostile_numbers(void **state)
{
    const struct packed_place *const fixture = *state;
    static const uint32_t values[] = {0, 1, 63, 64, 0x7FFFFFFF, 0x80000000, 0xFFFFFFC0, 0xFFFFFFFF};
    size_t bytes, refused = 0, opened = 0;
    struct mx_packed_file *packed;
    char *const data = packed_make(fixture, MX_PACKED_FEATURES, MX_PACKED_FRESH, &bytes);
    const struct mx_packed_header *const header = (const struct mx_packed_header *)(const void *)data;
    const size_t index = (size_t)header->sections[MX_PACKED_INDEX].offset;
    for (size_t at = 8; at + 4 <= bytes; at += 4) {
        if (at == 504) at = index; /* from the header on to the index; the hashes are made again */
        if (at >= index + PACKED_ROWS * sizeof(struct mx_packed_record)) break;
        for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
            unsigned char *const copy = aligned(data, bytes);
            memcpy(copy + at, &values[v], 4);
            const struct mx_packed_header *const changed = (const struct mx_packed_header *)(const void *)copy;
            const bool same = memcmp(changed->sections, header->sections, sizeof header->sections) == 0;
            if (same)
                reseal(copy, bytes);
            else
                ((struct mx_packed_header *)(void *)copy)->hash =
                    mx_packed_hash(copy, offsetof(struct mx_packed_header, hash));
            if (mx_packed_open_memory(copy, bytes, &packed) == 0) {
                opened++;
                mx_packed_verify(packed);
                mx_packed_close(packed);
            } else {
                refused++;
            }
            mx_free(copy);
        }
    }
    assert_true(refused > opened);
    mx_free(data);
}

/* A reason that does not exist counts nowhere, since every table of reasons is as long as their list. */
static void test_unknown_reason(void **state)
{
    const struct packed_place *const fixture = *state;
    static const uint32_t reasons[] = {MX_REJECT_COUNT, 4000, 0x7FFFFFFF, 0xFFFFFFFF};
    size_t bytes;
    struct mx_packed_file *packed;
    char *const data = packed_make(fixture, MX_PACKED_AUDIO, MX_PACKED_FRESH, &bytes);
    unsigned char *const copy = aligned(data, bytes);
    const struct mx_packed_header *const header = (const struct mx_packed_header *)(const void *)copy;
    struct mx_packed_record *const index =
        (struct mx_packed_record *)(void *)(copy + header->sections[MX_PACKED_INDEX].offset);
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        index[PACKED_BROKEN].reject = reasons[i];
        reseal(copy, bytes);
        assert_int_equal(mx_packed_open_memory(copy, bytes, &packed), MX_ERR_FORMAT);
        assert_non_null(strstr(mx_error_last()->message, "reason"));
    }
    index[PACKED_BROKEN].reject = MX_REJECT_COUNT - 1;
    reseal(copy, bytes);
    assert_int_equal(mx_packed_open_memory(copy, bytes, &packed), 0);
    mx_packed_close(packed);
    mx_free(copy);
    mx_free(data);
}

/* Another program shortens or rewrites the file while it is open: what was read at opening stays as it was, and what is
 * read later says what happened. */
static void test_changed_in_use(void **state)
{
    const struct packed_place *const fixture = *state;
    const struct timespec before[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    size_t bytes;
    struct mx_packed_file *packed;
    struct mx_packed_view view;
    struct mx_packed_buffer buffer = {0};
    char *const data = packed_make(fixture, MX_PACKED_AUDIO, MX_PACKED_FRESH, &bytes);
    const struct mx_packed_header *const header = (const struct mx_packed_header *)(const void *)data;
    const size_t index = (size_t)header->sections[MX_PACKED_INDEX].offset;
    for (int cut = 0; cut < 2; cut++) {
        assert_int_equal(mx_file_write_atomic(fixture->path, data, bytes), 0);
        assert_int_equal(utimensat(AT_FDCWD, fixture->path, before, 0), 0);
        assert_int_equal(mx_packed_open(fixture->path, &packed), 0);
        assert_int_equal(mx_packed_get(packed, 1, &buffer, &view), 0);
        if (cut == 1) {
            assert_int_equal(truncate(fixture->path, sizeof *header), 0);
        } else {
            /* All of it but the header, index and ids too. */
            const int fd = open(fixture->path, O_WRONLY | O_CLOEXEC);
            for (size_t at = sizeof *header; at < bytes; at++) assert_int_equal(pwrite(fd, "\377", 1, (off_t)at), 1);
            close(fd);
        }
        for (uint32_t row = 0; row < PACKED_ROWS; row++) {
            assert_memory_equal(mx_packed_record(packed, row), data + index + row * sizeof(struct mx_packed_record),
                                sizeof(struct mx_packed_record));
            assert_int_equal(mx_packed_get(packed, row, &buffer, &view), MX_ERR_FORMAT);
            assert_non_null(strstr(mx_error_last()->message, cut == 1 ? "the file was truncated while it was in use"
                                                                      : "the file was changed while it was in use"));
            assert_non_null(strstr(mx_error_last()->message, "row-"));
        }
        assert_string_equal(mx_packed_id(packed, 2), "row-2");
        assert_string_equal(mx_packed_speaker(packed, 1), "bob");
        mx_packed_close(packed);
    }
    mx_packed_buffer_release(&buffer);
    mx_free(data);
}

static void test_other_files(void **state)
{
    const struct packed_place *const fixture = *state;
    struct mx_packed_file *packed;
    assert_int_equal(mx_packed_open(fixture->path, &packed), MX_ERR_NOT_FOUND);
    assert_false(detected(fixture->path));
    assert_int_equal(mx_packed_open(fixture->folder, &packed), MX_ERR_FORMAT);
    assert_false(detected(fixture->folder));
    file_put_text(fixture->folder, "corpus.pack", "id|text\n");
    assert_int_equal(mx_packed_open(fixture->path, &packed), MX_ERR_FORMAT);
    assert_false(detected(fixture->path));
    assert_null(packed);
    /* Neither a pipe that nobody writes to nor a device is waited for. */
    assert_int_equal(unlink(fixture->path), 0);
    assert_int_equal(mkfifo(fixture->path, 0600), 0);
    assert_int_equal(mx_packed_open(fixture->path, &packed), MX_ERR_FORMAT);
    assert_false(detected(fixture->path));
    assert_int_equal(mx_packed_open("/dev/zero", &packed), MX_ERR_FORMAT);
}

/* Every allocation fails once, in opening and in going on; nothing is left behind (the sanitizers tell). */
static void test_no_memory(void **state)
{
    const struct packed_place *const fixture = *state;
    size_t bytes;
    struct mx_packed_file *packed = NULL;
    struct mx_packed_writer *writer = NULL;
    const struct mx_packed_plan plan = packed_plan(MX_PACKED_AUDIO);
    mx_free(packed_make(fixture, MX_PACKED_AUDIO, MX_PACKED_FRESH, &bytes));
    for (int which = 0; which < 2; which++) {
        for (uint64_t nth = 1;; nth++) {
            assert_true(nth < 100);
            mx_alloc_fail_at(nth);
            const int rc = which == 0 ? mx_packed_open(fixture->path, &packed)
                                      : mx_packed_writer_open(fixture->path, &plan, MX_PACKED_IN_ORDER, &writer);
            mx_alloc_fail_at(0);
            if (rc == 0) break;
            assert_int_equal(rc, MX_ERR_NO_MEMORY);
        }
    }
    mx_packed_close(packed);
    mx_packed_writer_close(writer);
}

int main(void)
{
    mx_log_configure(&(struct mx_log_options){.level = MX_LOG_SILENT});
#define TEST(name) cmocka_unit_test_setup_teardown(name, packed_setup, packed_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_audio),       TEST(test_faint_audio),     TEST(test_features),       TEST(test_every_length),
        TEST(test_every_byte),  TEST(test_hostile_numbers), TEST(test_unknown_reason), TEST(test_changed_in_use),
        TEST(test_other_files), TEST(test_no_memory),
    };
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The journal of a packed corpus survives whatever ends it: what was whole is kept, what was torn is not, and the
 * finished file is the one that would have been made without an interruption.
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

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* Cut off at any byte: what is whole is kept, what is torn is not, in either way of going on; and the file becomes the
 * same bit for bit. */
static void test_cut_at_every_byte(void **state)
{
    const struct packed_place *const fixture = *state;
    size_t bytes, journal_bytes, again_bytes;
    char *journal;
    uint64_t ends[PACKED_ROWS];
    struct mx_packed_record head;
    struct mx_packed_view view;
    struct mx_packed_buffer buffer = {0};
    char *const whole = packed_make(fixture, MX_PACKED_AUDIO, MX_PACKED_FRESH, &bytes);
    struct mx_packed_writer *writer = packed_begin(fixture, MX_PACKED_AUDIO, MX_PACKED_FRESH);
    for (uint32_t row = 0; row < PACKED_ROWS; row++) {
        packed_append(writer, row);
        ends[row] = mx_packed_writer_bytes(writer);
    }
    mx_packed_writer_close(writer);
    assert_int_equal(mx_file_read(fixture->part, PACKED_LIMIT, &journal, &journal_bytes), 0);
    assert_int_equal(journal_bytes, ends[PACKED_ROWS - 1]);
    for (size_t length = 0; length <= journal_bytes; length++) {
        const enum mx_packed_resume resume = length % 2 == 0 ? MX_PACKED_IN_ORDER : MX_PACKED_ANY_ORDER;
        uint32_t kept = 0;
        while (kept < PACKED_ROWS && ends[kept] <= length) kept++;
        unlink(fixture->part); /* some file systems wait for the disk when a file is written over */
        file_put(fixture->folder, "corpus.pack.part", journal, length);
        writer = packed_begin(fixture, MX_PACKED_AUDIO, resume);
        assert_int_equal(mx_packed_writer_count(writer), kept);
        for (uint32_t row = 0; row < PACKED_ROWS; row++)
            assert_int_equal(mx_packed_writer_read(writer, row, &buffer, &head, &view),
                             row < kept ? 0 : MX_ERR_NOT_FOUND);
        mx_packed_writer_close(writer);
        const bool edge = kept == PACKED_ROWS || length + 1 == ends[kept] || (kept > 0 && length <= ends[kept - 1] + 1);
        if (!edge && length % 997 != 0) continue; /* finishing waits for the disk */
        char *const again = packed_make(fixture, MX_PACKED_AUDIO, resume, &again_bytes);
        assert_int_equal(again_bytes, bytes);
        assert_memory_equal(again, whole, bytes);
        mx_free(again);
    }
    /* A kill between the last header and the rename. */
    for (int i = 0; i < 2; i++) {
        file_put(fixture->folder, "corpus.pack.part", whole, bytes);
        writer = packed_begin(fixture, MX_PACKED_AUDIO, i == 0 ? MX_PACKED_IN_ORDER : MX_PACKED_ANY_ORDER);
        assert_int_equal(mx_packed_writer_count(writer), PACKED_ROWS);
        mx_packed_writer_close(writer);
    }
    mx_packed_buffer_release(&buffer);
    mx_free(journal);
    mx_free(whole);
}

/* A power cut can leave the length of a record without its bytes. Finishing finds that in rows that nobody has read. */
static void test_torn_inside(void **state)
{
    const struct packed_place *const fixture = *state;
    size_t bytes;
    char *journal;
    struct mx_packed_record head;
    struct mx_packed_writer *writer = packed_begin(fixture, MX_PACKED_AUDIO, MX_PACKED_FRESH);
    for (uint32_t row = 0; row < PACKED_ROWS; row++) packed_append(writer, row);
    assert_true(mx_packed_writer_head(writer, PACKED_ROWS - 1, &head));
    mx_packed_writer_close(writer);
    assert_int_equal(mx_file_read(fixture->part, PACKED_LIMIT, &journal, &bytes), 0);
    for (uint64_t from = 0; from < head.payload_bytes; from += 320) {
        memset(journal + bytes - from - 64, 0, from + 64);
        file_put(fixture->folder, "corpus.pack.part", journal, bytes);
        writer = packed_begin(fixture, MX_PACKED_AUDIO, MX_PACKED_ANY_ORDER);
        assert_int_equal(mx_packed_writer_count(writer), PACKED_ROWS);
        assert_int_equal(mx_packed_writer_finish(writer), MX_ERR_FORMAT);
        assert_int_equal(access(fixture->path, F_OK), -1);
        assert_int_equal(mx_packed_writer_count(writer), PACKED_ROWS - 1);
        assert_int_equal(mx_packed_writer_finish(writer), MX_ERR_INTERNAL);
        packed_append(writer, PACKED_ROWS - 1);
        assert_int_equal(mx_packed_writer_finish(writer), 0);
        mx_packed_writer_close(writer);
        packed_check(fixture->path);
        assert_int_equal(unlink(fixture->path), 0);
    }
    mx_free(journal);
}

/* The same records asked for in another way: the journal goes on and stays what it was, if no row has changed. */
static void test_resume_under_the_other_name(void **state)
{
    const struct packed_place *const fixture = *state;
    size_t bytes, again_bytes;
    char *again;
    struct mx_packed_writer *writer;
    char *const whole = packed_make(fixture, MX_PACKED_AUDIO, MX_PACKED_FRESH, &bytes);
    for (int kind = 0; kind < 4; kind++) {
        struct mx_packed_plan plan = packed_plan(MX_PACKED_AUDIO);
        plan.other_metadata = kind == 3 ? "{\"speakers\":[]}" : plan.metadata;
        plan.other_options_hash = plan.options_hash + (kind == 2);
        plan.metadata = "{\"speakers\":[\"a longer one, so that records would begin elsewhere, far behind\"]}";
        plan.options_hash += 7;
        if (kind == 1) plan.source_hash++;
        writer = packed_begin(fixture, MX_PACKED_AUDIO, MX_PACKED_FRESH);
        for (uint32_t row = 0; row < 4; row++) packed_append(writer, row);
        mx_packed_writer_close(writer);
        assert_int_equal(mx_packed_writer_open(fixture->path, &plan, MX_PACKED_ANY_ORDER, &writer), 0);
        assert_int_equal(mx_packed_writer_count(writer), kind == 0 ? 4 : 0);
        for (uint32_t row = mx_packed_writer_count(writer); row < PACKED_ROWS; row++) packed_append(writer, row);
        assert_int_equal(mx_packed_writer_finish(writer), 0);
        mx_packed_writer_close(writer);
        assert_int_equal(mx_file_read(fixture->path, PACKED_LIMIT, &again, &again_bytes), 0);
        if (kind == 0) assert_int_equal(again_bytes, bytes);
        if (kind == 0) assert_memory_equal(again, whole, bytes);
        if (kind != 0) assert_memory_not_equal(again, whole, sizeof(struct mx_packed_header));
        mx_free(again);
    }
    mx_free(whole);
}

static void test_resume_with_damage(void **state)
{
    const struct packed_place *const fixture = *state;
    size_t bytes;
    char *journal;
    struct mx_packed_record head;
    struct mx_packed_view view;
    struct mx_packed_buffer buffer = {0};
    struct mx_packed_writer *writer = packed_begin(fixture, MX_PACKED_AUDIO, MX_PACKED_FRESH);
    for (uint32_t row = 0; row < 5; row++) packed_append(writer, row);
    assert_true(mx_packed_writer_head(writer, 2, &head));
    mx_packed_writer_close(writer);
    assert_int_equal(mx_file_read(fixture->part, PACKED_LIMIT, &journal, &bytes), 0);
    journal[head.payload_offset + 200] ^= 4;
    /* In order: what stands before the damaged record is kept. */
    file_put(fixture->folder, "corpus.pack.part", journal, bytes);
    writer = packed_begin(fixture, MX_PACKED_AUDIO, MX_PACKED_IN_ORDER);
    assert_int_equal(mx_packed_writer_count(writer), 2);
    mx_packed_writer_close(writer);
    /* In any order: all but the damaged one, which is found when it is read, and can be written again. */
    file_put(fixture->folder, "corpus.pack.part", journal, bytes);
    writer = packed_begin(fixture, MX_PACKED_AUDIO, MX_PACKED_ANY_ORDER);
    assert_int_equal(mx_packed_writer_count(writer), 5);
    assert_int_equal(mx_packed_writer_read(writer, 1, &buffer, &head, &view), 0);
    assert_string_equal(view.id, "row-1");
    assert_int_equal(mx_packed_writer_read(writer, 2, &buffer, &head, &view), MX_ERR_FORMAT);
    assert_int_equal(mx_packed_writer_read(writer, 2, &buffer, &head, &view), MX_ERR_NOT_FOUND);
    assert_int_equal(mx_packed_writer_count(writer), 4);
    assert_int_equal(mx_packed_writer_finish(writer), MX_ERR_INTERNAL);
    packed_append(writer, 5);
    packed_append(writer, 2);
    assert_int_equal(mx_packed_writer_read(writer, 2, &buffer, &head, &view), 0);
    assert_int_equal(mx_packed_writer_finish(writer), 0);
    mx_packed_writer_close(writer);
    packed_check(fixture->path);
    mx_packed_buffer_release(&buffer);
    mx_free(journal);
}

/* A journal of other options is not used; rows that changed are not kept, whatever the order. */
static void test_resume_of_another_plan(void **state)
{
    const struct packed_place *const fixture = *state;
    static const uint64_t other_keys[PACKED_ROWS] = {11, 22, 99, 44, 55, 66};
    struct mx_packed_writer *writer;
    for (int kind = 0; kind < 4; kind++) {
        struct mx_packed_plan plan = packed_plan(MX_PACKED_AUDIO);
        writer = packed_begin(fixture, MX_PACKED_AUDIO, MX_PACKED_FRESH);
        for (uint32_t row = 0; row < 5; row++) packed_append(writer, row);
        mx_packed_writer_close(writer);
        if (kind < 2) plan.keys = other_keys;
        if (kind == 2) plan.options_hash++;
        if (kind == 3) plan.metadata = "{\"speakers\":[]}";
        const enum mx_packed_resume resume = kind == 0 ? MX_PACKED_IN_ORDER : MX_PACKED_ANY_ORDER;
        static const uint32_t kept[] = {2, 4, 0, 0};
        assert_int_equal(mx_packed_writer_open(fixture->path, &plan, resume, &writer), 0);
        assert_int_equal(mx_packed_writer_count(writer), kept[kind]);
        mx_packed_writer_close(writer);
    }
}

static void test_one_writer_at_a_time(void **state)
{
    const struct packed_place *const fixture = *state;
    struct mx_packed_writer *other;
    const struct mx_packed_plan plan = packed_plan(MX_PACKED_AUDIO);
    struct mx_packed_writer *const writer = packed_begin(fixture, MX_PACKED_AUDIO, MX_PACKED_FRESH);
    assert_int_equal(mx_packed_writer_open(fixture->path, &plan, MX_PACKED_IN_ORDER, &other), MX_ERR_IO);
    assert_null(other);
    assert_non_null(strstr(mx_error_last()->message, "another program"));
    mx_packed_writer_close(writer);
    assert_int_equal(mx_packed_writer_open(fixture->folder, &plan, MX_PACKED_IN_ORDER, &other), MX_ERR_IO);
    assert_non_null(strstr(mx_error_last()->message, "not an ordinary file"));
}

/* A limit on the size of files stands in for a full disk: the write that does not fit fails, nothing before is lost. */
static void test_full_disk(void **state)
{
    const struct packed_place *const fixture = *state;
    size_t bytes, again_bytes;
    struct rlimit before, small;
    char *const whole = packed_make(fixture, MX_PACKED_AUDIO, MX_PACKED_FRESH, &bytes);
    struct mx_packed_writer *writer = packed_begin(fixture, MX_PACKED_AUDIO, MX_PACKED_FRESH);
    packed_append(writer, 0);
    packed_append(writer, 1);
    const uint64_t end = mx_packed_writer_bytes(writer);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = (rlim_t)end + 300;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    struct mx_packed_buffer buffer = {0};
    const int32_t tokens[] = {0, 1};
    const struct mx_packed_record head = {.row = 2, .key = packed_keys[2], .samples = 2000, .token_count = 2};
    static const float samples[2000];
    const struct mx_packed_view view = {.id = "x", .tokens = tokens, .samples = samples};
    assert_int_equal(mx_packed_encode(mx_packed_writer_header(writer), &head, &view, &buffer), 0);
    const int rc = mx_packed_writer_append(writer, &buffer);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_DFL);
    assert_int_equal(rc, MX_ERR_IO);
    assert_non_null(strstr(mx_error_last()->hint, "nothing is lost"));
    assert_int_equal(mx_packed_writer_bytes(writer), end);
    mx_packed_writer_close(writer);
    mx_packed_buffer_release(&buffer);
    struct stat status;
    assert_int_equal(stat(fixture->part, &status), 0);
    assert_int_equal(status.st_size, end);
    writer = packed_begin(fixture, MX_PACKED_AUDIO, MX_PACKED_IN_ORDER);
    assert_int_equal(mx_packed_writer_count(writer), 2);
    mx_packed_writer_close(writer);
    char *const again = packed_make(fixture, MX_PACKED_AUDIO, MX_PACKED_IN_ORDER, &again_bytes);
    assert_int_equal(again_bytes, bytes);
    assert_memory_equal(again, whole, bytes);
    mx_free(again);
    mx_free(whole);
}

int main(void)
{
    mx_log_configure(&(struct mx_log_options){.level = MX_LOG_SILENT});
#define TEST(name) cmocka_unit_test_setup_teardown(name, packed_setup, packed_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_cut_at_every_byte),
        TEST(test_torn_inside),
        TEST(test_resume_under_the_other_name),
        TEST(test_resume_with_damage),
        TEST(test_resume_of_another_plan),
        TEST(test_one_writer_at_a_time),
        TEST(test_full_disk),
    };
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}

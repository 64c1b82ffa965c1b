/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Failure sweeps (sweep/sweep.h) of packed corpora: making one, going on with a journal, reading one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "myxtts/error.h"
#include "support/packed_rows.h"
#include "support/recording.h"
#include "sweep/sweep.h"

#define ROWS_THERE 4 /* of the journal that is gone on with */

static int row_append(struct mx_packed_writer *writer, uint32_t row)
{
    int rc = 0;
    struct mx_packed_buffer buffer = {0};
    MX_TRY(packed_encode(mx_packed_writer_header(writer), row, &buffer));
    MX_TRY(mx_packed_writer_append(writer, &buffer));
out:
    mx_packed_buffer_release(&buffer);
    return rc;
}

/* *result: 1, or 0 if rows of the journal were thrown away. */
static int rows_write(const struct packed_place *place, enum mx_packed_resume resume, uint64_t *result)
{
    int rc = 0;
    struct mx_packed_writer *writer = NULL;
    const struct mx_packed_plan plan = packed_plan(MX_PACKED_FEATURES);
    const bool goes_on = resume != MX_PACKED_FRESH && access(place->part, F_OK) == 0;
    MX_TRY(mx_packed_writer_open(place->path, &plan, resume, &writer));
    *result = !goes_on || mx_packed_writer_count(writer) >= ROWS_THERE;
    for (uint32_t row = mx_packed_writer_count(writer); row < PACKED_ROWS; row++) MX_TRY(row_append(writer, row));
    MX_TRY(mx_packed_writer_finish(writer));
out:
    mx_packed_writer_close(writer);
    return rc;
}

static int file_make(void *context, uint64_t *result)
{
    return rows_write(context, MX_PACKED_IN_ORDER, result);
}

static int file_make_fresh(void *context, uint64_t *result)
{
    return rows_write(context, MX_PACKED_FRESH, result);
}

static int file_read(void *context, uint64_t *result)
{
    int rc = 0;
    const struct packed_place *const place = context;
    struct mx_packed_file *packed = NULL;
    struct mx_packed_buffer buffer = {0};
    struct mx_packed_view view;
    uint64_t hash = 0;
    MX_TRY(mx_packed_open(place->path, &packed));
    for (uint32_t row = 0; row < PACKED_ROWS; row++) {
        const struct mx_packed_record *const record = mx_packed_record(packed, row);
        MX_TRY(mx_packed_get(packed, row, &buffer, &view));
        hash = sweep_hash(hash, view.text, strlen(view.text));
        hash = sweep_hash(hash, view.tokens, record->token_count * sizeof *view.tokens);
        for (int i = 0; i < 2; i++) hash = sweep_hash(hash, view.tensors[i], record->frames * sizeof(float));
    }
    MX_TRY(mx_packed_verify(packed));
    *result = hash;
out:
    mx_packed_buffer_release(&buffer);
    mx_packed_close(packed);
    return rc;
}

/* ---- the folder ---- */

static char *journal;
static size_t journal_bytes;

static void reset_empty(void *context)
{
    const struct packed_place *const place = context;
    (void)unlink(place->path);
    (void)unlink(place->part);
}

/* An old file, and a journal that somebody stopped. */
static void reset_journal(void *context)
{
    const struct packed_place *const place = context;
    file_put_text(place->folder, "corpus.pack", "old");
    file_put(place->folder, "corpus.pack.part", journal, journal_bytes);
}

/* A run that failed leaves its journal: the next one goes on with it. */
static bool is_journal(const char *path)
{
    const size_t length = strlen(path);
    return length > 5 && strcmp(path + length - 5, ".part") == 0;
}

static void test_write(void **state)
{
    sweep_run(&(struct sweep){.name = "make a packed file",
                              .context = *state,
                              .run = file_make_fresh,
                              .folder = ((const struct packed_place *)*state)->folder,
                              .reset = reset_empty,
                              .may_stay = is_journal});
}

static void test_continue(void **state)
{
    struct packed_place *const place = *state;
    struct mx_packed_writer *const writer = packed_begin(place, MX_PACKED_FEATURES, MX_PACKED_FRESH);
    for (uint32_t row = 0; row < ROWS_THERE; row++) packed_append(writer, row);
    mx_packed_writer_close(writer);
    assert_int_equal(mx_file_read(place->part, PACKED_LIMIT, &journal, &journal_bytes), 0);
    sweep_run(&(struct sweep){.name = "go on with a packed file",
                              .context = place,
                              .run = file_make,
                              .folder = place->folder,
                              .reset = reset_journal,
                              .may_stay = is_journal});
    mx_free(journal);
}

static void test_read(void **state)
{
    size_t bytes;
    mx_free(packed_make(*state, MX_PACKED_FEATURES, MX_PACKED_FRESH, &bytes));
    sweep_run(&(struct sweep){.name = "read a packed file", .context = *state, .run = file_read});
}

int main(void)
{
    mx_log_configure(&(struct mx_log_options){.level = MX_LOG_SILENT});
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_write, packed_setup, packed_teardown),
        cmocka_unit_test_setup_teardown(test_continue, packed_setup, packed_teardown),
        cmocka_unit_test_setup_teardown(test_read, packed_setup, packed_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

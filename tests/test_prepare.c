/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Preparing a corpus: the same bytes however it was made, going on after every kind of end, what makes a file out of
 * date, rejected rows, and a stage that stores something else than audio.
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
#include "corpus/prepare.h"
#include "myxtts/error.h"
#include "support/recording.h"
#include "support/small_corpus.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROWS  24
#define LIMIT ((size_t)1 << 24)

/* Runs; the return code must be `wanted`. The report needs no release: its text is checked here. */
static struct mx_prepare_report prepare(const struct mx_prepare_options *options, int wanted, const char *changed)
{
    struct mx_prepare_report report;
    assert_int_equal(mx_prepare_run(options, &report), wanted);
    if (changed == NULL)
        assert_int_equal(report.changes, 0);
    else {
        assert_true(report.changes > 0);
        if (strstr(report.changed.data, changed) == NULL) fail_msg("'%s' is not in: %s", changed, report.changed.data);
    }
    mx_prepare_release(&report);
    return report;
}

static char *bytes_of(const char *path, size_t *bytes)
{
    char *data = NULL;
    assert_int_equal(mx_file_read(path, LIMIT, &data, bytes), 0);
    return data;
}

static void same_bytes(const struct small_place *place, const char *wanted, size_t wanted_bytes)
{
    size_t bytes;
    char *const data = bytes_of(place->file, &bytes);
    assert_int_equal(bytes, wanted_bytes);
    assert_memory_equal(data, wanted, bytes);
    mx_free(data);
}

/* ---- the same bytes ---- */

static void test_workers_make_no_difference(void **state)
{
    const struct small_place *const place = *state;
    struct mx_prepare_options options = small_corpus_packing(place->corpus, place->file);
    size_t bytes;
    small_corpus_make(place->corpus, ROWS, SMALL_SILENT);
    options.workers = 1;
    const struct mx_prepare_report report = prepare(&options, 0, NULL);
    assert_int_equal(report.rows, ROWS);
    assert_int_equal(report.good, ROWS - 1);
    assert_int_equal(report.rejected, 1);
    assert_int_equal(report.reasons[MX_REJECT_SILENT], 1);
    assert_int_equal(report.kept, 0);
    assert_false(report.up_to_date);
    char *const wanted = bytes_of(place->file, &bytes);
    assert_int_equal(report.bytes, bytes);
    options.force = true;
    for (int workers = 2; workers <= 7; workers++) {
        options.workers = workers;
        prepare(&options, 0, NULL);
        same_bytes(place, wanted, bytes);
    }
    struct mx_packed_file *packed;
    assert_int_equal(mx_packed_open(place->file, &packed), 0);
    assert_int_equal(mx_packed_verify(packed), 0);
    struct mx_packed_view view;
    struct mx_packed_buffer buffer = {0};
    assert_int_equal(mx_packed_get(packed, 7, &buffer, &view), 0);
    assert_string_equal(view.id, "row-07");
    assert_string_equal(view.text, "tone h, low.");
    assert_string_equal(view.spoken, "tone h, low.");
    mx_packed_buffer_release(&buffer);
    mx_packed_close(packed);
    mx_free(wanted);
}

/* ---- out of date or not ---- */

static void line_replace(const struct small_place *place, const char *from, const char *to)
{
    char *const path = mx_format("%s/metadata.csv", place->corpus), *text = NULL;
    size_t bytes;
    assert_int_equal(mx_file_read(path, LIMIT, &text, &bytes), 0);
    const char *const at = strstr(text, from);
    assert_non_null(at);
    char *const changed = mx_format("%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
    file_put_text(place->corpus, "metadata.csv", changed);
    mx_free(path);
    mx_free(text);
    mx_free(changed);
}

static void test_up_to_date(void **state)
{
    const struct small_place *const place = *state;
    struct mx_prepare_options options = small_corpus_packing(place->corpus, place->file);
    small_corpus_make(place->corpus, ROWS, 0);
    prepare(&options, 0, NULL);
    struct mx_prepare_report report = prepare(&options, 0, NULL);
    assert_true(report.up_to_date);
    assert_int_equal(report.good, ROWS);
    assert_true(report.tokens > MX_TOKEN_FIRST && report.seconds > 10);

    /* A corpus that is moved, with its times, is the same. */
    char *const moved = mx_format("%s/moved", place->folder);
    assert_int_equal(rename(place->corpus, moved), 0);
    options.corpus = moved;
    assert_true(prepare(&options, 0, NULL).up_to_date);
    assert_int_equal(rename(moved, place->corpus), 0);
    options.corpus = place->corpus;
    mx_free(moved);

    line_replace(place, "|tone d, low.", "|tone d, very low.");
    assert_false(prepare(&options, 0, "the text, the speaker or the path of 'row-03'").up_to_date);
    assert_true(prepare(&options, 0, NULL).up_to_date);

    char *const wav = mx_format("%s/wavs/row-05.wav", place->corpus);
    const struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    assert_int_equal(utimensat(AT_FDCWD, wav, times, 0), 0);
    prepare(&options, 0, "the recording of 'row-05' was written again");
    mx_free(wav);
    const struct tone tone = {22050, 1, 0x10002, 200, 0.2, 0.9, 0, 0};
    tone_write(place->corpus, "wavs/row-06.wav", &tone);
    prepare(&options, 0, "the recording of 'row-06' has");

    options.row.audio.trim_db = 40;
    prepare(&options, 0, "trim_db was 45 and is 40");
    options.row.audio.trim_db = 45;
    options.row.language = MX_LANGUAGE_EN;
    prepare(&options, 0, "language was detected and is en");

    line_replace(place, "row-00|Tone a, low.|tone a, low.\n", "");
    prepare(&options, 0, "the manifest has 23 rows and had 24");
    line_replace(place, "row-01|", "row-00|");
    prepare(&options, 0, "row 1 is 'row-00' and was 'row-01'");
    assert_true(prepare(&options, 0, NULL).up_to_date);

    /* A file that is damaged is made again, and it is said why. */
    assert_int_equal(truncate(place->file, 5000), 0);
    prepare(&options, 0, "truncated");
    assert_true(prepare(&options, 0, NULL).up_to_date);
}

/* ---- going on ---- */

/* A stage that stores the mean height of every 256 samples, and stops or fails after some rows. */
struct fake_stage {
    struct mx_prepare_stage stage;
    atomic_int rows;
    int stop_at, fail_at; /* 0: never */
    atomic_bool stop;
    atomic_int alive;
};

struct fake_state {
    struct fake_stage *owner;
    float level[1000];
};

static int fake_start(void *context, int worker, void **out)
{
    struct fake_state *const state = mx_alloc(1, sizeof *state);
    assert_true(worker >= 0 && worker < 8);
    state->owner = context;
    atomic_fetch_add(&state->owner->alive, 1);
    *out = state;
    return 0;
}

static int fake_run(void *given, const float *samples, size_t count, uint32_t *frames,
                    const float *out[MX_PACKED_TENSORS])
{
    struct fake_state *const state = given;
    const int row = atomic_fetch_add(&state->owner->rows, 1) + 1;
    if (row == state->owner->stop_at) atomic_store(&state->owner->stop, true);
    if (row == state->owner->fail_at) return MX_FAIL(MX_ERR_DEVICE, "buy another", "the device is tired");
    *frames = (uint32_t)(count / 256);
    for (uint32_t frame = 0; frame < *frames; frame++) {
        state->level[frame] = 0;
        for (int i = 0; i < 256; i++) state->level[frame] += samples[frame * 256 + (uint32_t)i];
    }
    out[0] = state->level;
    return 0;
}

static void fake_end(void *given)
{
    struct fake_state *const state = given;
    atomic_fetch_sub(&state->owner->alive, 1);
    mx_free(state);
}

static const struct mx_packed_tensor fake_tensors[] = {{.name = "level", .columns = 1}};

static void fake_init(struct fake_stage *fake)
{
    memset(fake, 0, sizeof *fake);
    fake->stage = (struct mx_prepare_stage){.tensors = fake_tensors,
                                            .tensor_count = 1,
                                            .recipe = "fake",
                                            .recipe_hash = "0123",
                                            .context = fake,
                                            .start = fake_start,
                                            .run = fake_run,
                                            .end = fake_end};
}

static void test_stage_stop_and_failure(void **state)
{
    const struct small_place *const place = *state;
    struct mx_prepare_options options = small_corpus_packing(place->corpus, place->file);
    struct fake_stage fake;
    size_t bytes;
    small_corpus_make(place->corpus, ROWS, SMALL_SILENT);
    fake_init(&fake);
    options.stage = &fake.stage;
    prepare(&options, 0, NULL);
    assert_int_equal(atomic_load(&fake.rows), ROWS - 1);
    assert_int_equal(atomic_load(&fake.alive), 0);
    char *const wanted = bytes_of(place->file, &bytes);
    fake.stage.recipe_hash = "4567";
    prepare(&options, 0, "recipe_hash was 0123 and is 4567");
    fake.stage.recipe_hash = "0123";
    assert_int_equal(unlink(place->file), 0);
    for (int workers = 1; workers <= 4; workers += 3) {
        fake_init(&fake);
        options.workers = workers;
        options.stop = &fake.stop;
        fake.stop_at = 9;
        prepare(&options, MX_ERR_INTERRUPTED, NULL);
        assert_non_null(strstr(mx_error_last()->hint, "run the same command again"));
        assert_int_not_equal(access(place->file, F_OK), 0);
        assert_int_equal(access(place->part, F_OK), 0);
        atomic_store(&fake.stop, false);
        fake.stop_at = 0;
        fake.fail_at = 16;
        prepare(&options, MX_ERR_DEVICE, NULL);
        assert_non_null(strstr(mx_error_last()->message, "row 'row-"));
        assert_non_null(strstr(mx_error_last()->message, "the device is tired"));
        assert_string_equal(mx_error_last()->hint, "buy another");
        assert_int_equal(atomic_load(&fake.alive), 0);
        fake.fail_at = 0;
        const struct mx_prepare_report report = prepare(&options, 0, NULL);
        assert_true(report.kept > 0 && report.kept < ROWS);
        same_bytes(place, wanted, bytes);
        assert_int_equal(unlink(place->file), 0);
    }
    mx_free(wanted);
}

/* ---- rejected rows ---- */

static void test_rejects(void **state)
{
    const struct small_place *const place = *state;
    struct mx_prepare_options options = small_corpus_packing(place->corpus, place->file);
    size_t bytes;
    small_corpus_make(place->corpus, ROWS, SMALL_SILENT | SMALL_MISSING);
    struct mx_prepare_report report = prepare(&options, MX_ERR_DATA, NULL); /* 2 of 24 are 8 % */
    assert_non_null(strstr(mx_error_last()->message, "2 of 24 rows (8.3 %) are rejected"));
    assert_non_null(strstr(mx_error_last()->hint, "made.pack.rejects.tsv"));
    assert_int_equal(report.rejected, 2);
    assert_int_equal(report.reasons[MX_REJECT_SILENT], 1);
    assert_int_equal(report.reasons[MX_REJECT_MISSING_FILE], 1);
    assert_int_not_equal(access(place->file, F_OK), 0);
    char *const list = bytes_of(place->rejects, &bytes);
    const char *const silent = strstr(list, "\t3\trow-02\tsilent\t"), *const missing =
                                                                          strstr(list, "\t5\trow-04\tmissing-file\t");
    assert_non_null(silent);
    assert_non_null(missing);
    assert_true(silent < missing); /* in the order of the manifest */
    mx_free(list);
    /* Allowed, it goes on with what is there. */
    options.rejects_max = 1;
    report = prepare(&options, 0, NULL);
    assert_int_equal(report.kept, ROWS - 1);
    assert_int_equal(report.good, ROWS - 2);
    options.rejects_max = 0.05;
    assert_true(prepare(&options, 0, NULL).up_to_date);
}

static void test_nothing_left(void **state)
{
    const struct small_place *const place = *state;
    struct mx_prepare_options options = small_corpus_packing(place->corpus, place->file);
    small_corpus_make(place->corpus, 2, 0);
    options.rejects_max = 1;
    options.row.audio.seconds_min = 15;
    prepare(&options, MX_ERR_DATA, NULL);
    assert_non_null(strstr(mx_error_last()->message, "no row of 2 can be used"));
}

static void test_bad_places(void **state)
{
    const struct small_place *const place = *state;
    struct mx_prepare_options options = small_corpus_packing(place->corpus, place->file);
    char *const nowhere = mx_format("%s/missing/made.pack", place->folder);
    small_corpus_make(place->corpus, 3, 0);
    options.file = nowhere;
    prepare(&options, MX_ERR_IO, NULL);
    assert_non_null(strstr(mx_error_last()->message, "No such file or directory"));
    options.file = place->corpus;
    prepare(&options, MX_ERR_IO, "not an ordinary file");
    mx_free(nowhere);
}

int main(void)
{
    mx_log_configure(&(struct mx_log_options){.level = MX_LOG_SILENT});
#define TEST(name) cmocka_unit_test_setup_teardown(name, small_place_make, small_place_remove)
    const struct CMUnitTest tests[] = {
        TEST(test_workers_make_no_difference),
        TEST(test_up_to_date),
        TEST(test_stage_stop_and_failure),
        TEST(test_rejects),
        TEST(test_nothing_left),
        TEST(test_bad_places),
    };
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}

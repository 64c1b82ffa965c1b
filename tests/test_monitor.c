/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What `myxtts monitor` and the dashboard read of a run, and how the monitor draws it: followed files, lines, courses,
 * and views of all sizes.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/file.h"
#include "myxtts/error.h"
#include "observe/follow.h"
#include "observe/monitor_curve.h"
#include "observe/monitor_draw.h"

/* ---- following ---- */

struct heard {
    char lines[64][64];
    int count, restarts;
};

static void hear(void *context, char *text, size_t length)
{
    struct heard *const heard = context;
    assert_int_equal(length, strlen(text));
    if (heard->count < 64) snprintf(heard->lines[heard->count], 64, "%s", text);
    heard->count++;
}

static void hear_restart(void *context)
{
    ((struct heard *)context)->restarts++;
}

static char folder[] = "/tmp/myxtts-test-XXXXXX";
static char path[64];

static int folder_make(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL) return -1;
    snprintf(path, sizeof path, "%s/metrics.jsonl", folder);
    return 0;
}

static int folder_remove(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

static void append(const char *text)
{
    const int file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    assert_true(file >= 0);
    assert_int_equal(write(file, text, strlen(text)), strlen(text));
    close(file);
}

static void test_follow_grows(void **state)
{
    struct heard heard = {0};
    struct mx_follow *follow;
    const struct mx_follow_sink sink = {&heard, hear, hear_restart};
    (void)state;
    unlink(path);
    assert_int_equal(mx_follow_open(path, &follow), 0);
    assert_int_equal(mx_follow_read(follow, 1 << 20, &sink), 0);
    assert_false(mx_follow_exists(follow));
    append("one\ntwo\nthr");
    assert_int_equal(mx_follow_read(follow, 1 << 20, &sink), 0);
    assert_true(mx_follow_exists(follow));
    assert_int_equal(heard.count, 2);
    assert_string_equal(heard.lines[1], "two");
    append("ee\n");
    assert_int_equal(mx_follow_read(follow, 1 << 20, &sink), 0);
    assert_int_equal(heard.count, 3);
    assert_string_equal(heard.lines[2], "three");
    assert_int_equal(heard.restarts, 0);
    const uint64_t before = mx_alloc_count();
    append("four\n");
    assert_int_equal(mx_follow_read(follow, 1 << 20, &sink), 0);
    assert_int_equal(mx_alloc_count(), before);
    mx_follow_close(follow);
}

/* A resumed run replaces the file by one that ends earlier; a truncated one is distinguished from a grown one. */
static void test_follow_restart(void **state)
{
    struct heard heard = {0};
    struct mx_follow *follow;
    const struct mx_follow_sink sink = {&heard, hear, hear_restart};
    (void)state;
    unlink(path);
    append("one\ntwo\nthree\n");
    assert_int_equal(mx_follow_open(path, &follow), 0);
    assert_int_equal(mx_follow_read(follow, 1 << 20, &sink), 0);
    assert_int_equal(heard.count, 3);
    assert_int_equal(mx_file_write_atomic(path, "one\ntwo\nother and longer\n", 25), 0);
    assert_int_equal(mx_follow_read(follow, 1 << 20, &sink), 0);
    assert_int_equal(heard.restarts, 1);
    assert_int_equal(heard.count, 6);
    assert_string_equal(heard.lines[5], "other and longer");
    assert_int_equal(truncate(path, 4), 0);
    assert_int_equal(mx_follow_read(follow, 1 << 20, &sink), 0);
    assert_int_equal(heard.restarts, 2);
    assert_int_equal(heard.count, 7);
    unlink(path); /* what was read stays, until there is another one */
    assert_int_equal(mx_follow_read(follow, 1 << 20, &sink), 0);
    assert_false(mx_follow_exists(follow));
    assert_int_equal(heard.restarts, 2);
    append("new\n");
    assert_int_equal(mx_follow_read(follow, 1 << 20, &sink), 0);
    assert_int_equal(heard.restarts, 3);
    assert_string_equal(heard.lines[7], "new");
    mx_follow_close(follow);
}

static void test_follow_long_lines(void **state)
{
    struct heard heard = {0};
    struct mx_follow *follow;
    const struct mx_follow_sink sink = {&heard, hear, NULL};
    const size_t bytes = 300000;
    char *const line = mx_alloc(bytes + 2, 1);
    (void)state;
    unlink(path);
    memset(line, 'x', bytes);
    append(line);
    append("\nshort\n");
    line[MX_FOLLOW_LINE_MAX] = '\n';
    line[MX_FOLLOW_LINE_MAX + 1] = '\0';
    append(line);
    append("last\n");
    assert_int_equal(mx_follow_open(path, &follow), 0);
    int more = 1;
    for (int i = 0; i < 100 && more == 1; i++) more = mx_follow_read(follow, 1000, &sink);
    assert_int_equal(more, 0);
    assert_int_equal(heard.count, 3);
    assert_string_equal(heard.lines[0], "short");
    assert_string_equal(heard.lines[2], "last");
    mx_follow_close(follow);
    mx_free(line);
}

/* ---- lines ---- */

static void add(struct mx_view *view, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void add(struct mx_view *view, const char *fmt, ...)
{
    char line[2048];
    va_list args;
    va_start(args, fmt);
    const int length = vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    mx_view_line(view, line, (size_t)length);
}

static struct mx_view *view_make(void)
{
    struct mx_view *const view = mx_alloc(1, sizeof *view);
    assert_non_null(view);
    mx_view_clear(view);
    return view;
}

static void add_step(struct mx_view *view, int step, double loss)
{
    add(view,
        "{\"step\":%d,\"epoch\":3,\"loss\":%g,\"mel\":0.5,\"prior\":0.1,\"lr\":0.001,\"grad_norm\":1.5,\"skipped\":"
        "false,"
        "\"step_ms\":250.5,\"frames_per_s\":3.8e+03,\"data_busy\":0.382,\"model_busy\":0.974,\"data_wait\":0.003,"
        "\"loaded\":4,\"prepared\":48,\"arrived\":2,\"loaded_limit\":8,\"prepared_limit\":50,\"arrived_limit\":3,"
        "\"data_bytes\":1288490188,\"model_bytes\":9771050598,\"data_limit_bytes\":8589934592,\"model_limit_bytes\":"
        "17179869184,\"variation\":0.021,\"steps\":1000,\"time\":1794806917}",
        step, loss);
}

static void test_view_lines(void **state)
{
    struct mx_view *const view = view_make();
    (void)state;
    assert_true(isnan(mx_view_seconds_left(view)));
    add_step(view, 1, 12.5);
    add_step(view, 2, 6.25);
    assert_true(view->has_step);
    assert_true(view->step.step == 2 && view->step.loss == 6.25 && view->step.steps == 1000);
    assert_true(view->step.frames_per_s == 3800 && view->step.model_limit_bytes == 17179869184.0);
    assert_true(isnan(view->step.share) && isnan(view->step.energy));
    assert_true(mx_view_step_ms(view) == 250.5);
    assert_true(fabs(mx_view_seconds_left(view) - 998 * 0.2505) < 1e-9);
    assert_false(mx_view_ended(view));
    add(view, "{\"step\":2,\"evaluation\":{\"utterances\":4,\"loss\":5,\"mel_db\":4.5,\"duration_error\":0.1}}");
    add(view, "{\"step\":3,\"evaluation\":{\"loss\":5.5,\"mel_db\":4.75}}");
    assert_true(view->evaluation.step == 3 && view->evaluation.mel_db == 4.75);
    assert_true(view->best_step == 2 && view->best_mel_db == 4.5);
    /* What was not measured is no value, however it is written, and nothing is the best that could not speak all. */
    add(view, "{\"step\":4,\"evaluation\":{\"utterances\":8,\"loss\":5,\"spoken\":0,\"mel_db\":null,"
              "\"duration_error\":null,\"pitch_semitones\":null}}");
    assert_true(view->evaluation.step == 4 && isnan(view->evaluation.mel_db) && view->evaluation.spoken == 0);
    add(view, "{\"step\":5,\"evaluation\":{\"utterances\":8,\"loss\":5,\"spoken\":0,\"mel_db\":0.0,"
              "\"duration_error\":0.0,\"pitch_semitones\":0.0}}");
    assert_true(view->evaluation.step == 5 && isnan(view->evaluation.mel_db));
    assert_true(isnan(view->evaluation.duration_error) && isnan(view->evaluation.pitch_semitones));
    add(view, "{\"step\":6,\"evaluation\":{\"utterances\":8,\"loss\":5,\"spoken\":7,\"mel_db\":1.5}}");
    assert_true(view->best_step == 2 && view->best_mel_db == 4.5);
    add(view, "{\"step\":7,\"evaluation\":{\"utterances\":8,\"loss\":5,\"spoken\":8,\"mel_db\":4.25}}");
    assert_true(view->best_step == 7 && view->best_mel_db == 4.25);
    assert_true(view->step.step == 2);
    add(view, "{\"step\":3,\"loss\":null,\"skipped\":true,\"leak\":\"batches\",\"leak_bytes\":4096,\"steps\":3}");
    assert_int_equal(view->skipped, 1);
    assert_true(isnan(view->step.loss));
    assert_int_equal(view->loss.count, 2);
    assert_string_equal(view->leak, "batches");
    assert_true(view->leak_bytes == 4096);
    assert_true(mx_view_ended(view));
    assert_int_equal(view->damaged, 0);
    mx_free(view);
}

/* Whatever a disk or another program made of a line: it is counted and changes nothing else. */
static void test_view_damage(void **state)
{
    static const char *const lines[] = {"",
                                        "{",
                                        "{}",
                                        "null",
                                        "{\"step\"}",
                                        "{\"step\":}",
                                        "{\"step\":1",
                                        "{\"step\":1,",
                                        "{\"step\":1,\"loss",
                                        "{\"step\":1,\"loss\":",
                                        "{\"step\":1,\"loss\":2.5.5}",
                                        "{\"step\":1,\"loss\":[1,2]}",
                                        "{\"step\":null}",
                                        "{\"step\":1}}",
                                        "{\"step\":1}x",
                                        "{\"step\":1,\"leak\":\"a\\",
                                        "{\"step\":1,\"leak\":\"a\\\"",
                                        "{\"step\":1,\"evaluation\":{\"loss\":1}",
                                        "{\"step\":1,\"evaluation\":{\"a\":{\"b\":1}}}",
                                        "{\"loss\":1}",
                                        "{\"step\":99999999999999999999999999999999999999999999999999999}"};
    struct mx_view *const view = view_make();
    (void)state;
    add_step(view, 7, 2);
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        mx_view_line(view, lines[i], strlen(lines[i]));
        if (view->damaged != (int64_t)i + 1) fail_msg("taken for good: %s", lines[i]);
    }
    assert_true(view->step.step == 7 && view->steps_seen == 1);
    add(view, "{\"step\":8,\"new\":{\"a\":1,\"b\":\"text\"},\"other\":\"a \\\" b\",\"loss\":1}");
    assert_true(view->step.step == 8 && view->step.loss == 1);
    mx_free(view);
}

static void test_view_run(void **state)
{
    static const char run[] = "{\"format\":\"myxtts run\",\"state\":\"training\",\"failure\":null,\"steps\":500,"
                              "\"mode\":\"Multi-GPU Mode\",\"devices\":[{\"role\":\"data\",\"name\":\"cpu:0\"},"
                              "{\"role\":\"model\",\"name\":\"cpu:1\"},{\"name\":\"cpu:2\"}]}";
    static const char flow[] = "{\"state\":\"training\",\"flow\":{\"data_busy\":0.3,\"model_busy\":0.92}}";
    static const char done[] =
        "{\"state\":\"done\",\"flow\":{\"data_busy\":0.3,\"model_busy\":0.92,\"data_wait\":0.05}}";
    static const char failed[] = "{\"state\":\"failed\",\"failure\":\"disk full\",\"devices\":5}";
    struct mx_view *const view = view_make();
    (void)state;
    assert_true(mx_view_run(view, run, sizeof run - 1));
    assert_true(mx_view_steps(view) == 500);
    assert_false(mx_view_ended(view));
    assert_int_equal(view->device_count, 2);
    assert_string_equal(view->devices[1].name, "cpu:1");
    assert_false(mx_view_run(view, run, 20));
    assert_string_equal(view->mode, "Multi-GPU Mode");
    /* While it trains the newest steps are shown, and when it has ended all of them. */
    add(view, "{\"step\":8,\"loss\":1,\"data_busy\":0.1,\"model_busy\":0.76,\"data_wait\":0.2}");
    assert_true(mx_view_run(view, flow, sizeof flow - 1));
    assert_true(mx_view_flow(view).model_busy == 0.76 && mx_view_flow(view).data_wait == 0.2);
    assert_true(mx_view_run(view, done, sizeof done - 1));
    assert_true(mx_view_flow(view).model_busy == 0.92 && mx_view_flow(view).data_busy == 0.3);
    assert_true(mx_view_flow(view).data_wait == 0.05);
    assert_true(mx_view_run(view, failed, sizeof failed - 1));
    assert_true(mx_view_ended(view));
    assert_true(mx_view_flow(view).model_busy == 0.76); /* there is no other */
    assert_string_equal(view->failure, "disk full");
    assert_int_equal(view->device_count, 0);
    mx_free(view);
}

static void test_course(void **state)
{
    struct mx_view *const view = view_make();
    double columns[1024];
    (void)state;
    /* 1, 2, 3 … : the mean of all values is that of all numbers, whatever was merged. */
    for (int i = 1; i <= 10000; i++) add(view, "{\"step\":%d,\"loss\":%d}", i, i);
    const struct mx_view_course *const c = &view->loss;
    assert_true(c->count <= MX_VIEW_POINTS && c->count >= MX_VIEW_POINTS / 2);
    assert_int_equal((int64_t)c->count * c->per + c->summed, 10000);
    double sum = c->sum;
    for (size_t i = 0; i < c->count; i++) sum += c->values[i] * (double)c->per;
    assert_true(sum == 10000.0 * 10001 / 2);
    assert_true(c->values[0] == (1 + (double)c->per) / 2);
    assert_int_equal(mx_view_course_columns(c, columns, 1024), c->count);
    assert_int_equal(mx_view_course_columns(c, columns, 100), 100);
    for (int i = 1; i < 100; i++) assert_true(columns[i] > columns[i - 1]);
    mx_free(view);
}

/* ---- drawing ---- */

/* Columns of a line of characters that are all one wide; colours do not count. */
static int columns_of(const char *line, size_t length)
{
    int columns = 0;
    for (size_t i = 0; i < length; i++) {
        if (line[i] == '\033') {
            while (i < length && line[i] != 'm') i++;
            continue;
        }
        columns += ((unsigned char)line[i] & 0xC0) != 0x80;
    }
    return columns;
}

static void frame_check(const struct mx_view *view, const struct mx_draw_style *style)
{
    struct mx_string out = {0};
    int rows = 0;
    assert_int_equal(mx_view_draw(view, style, &out), 0);
    assert_non_null(out.data);
    for (const char *at = out.data, *end; *at != '\0'; at = end + 1) {
        end = strchr(at, '\n');
        assert_non_null(end);
        rows++;
        const int columns = columns_of(at, (size_t)(end - at));
        const int most = style->columns < MX_DRAW_COLUMNS_MIN ? MX_DRAW_COLUMNS_MIN : style->columns;
        if (columns > most) fail_msg("%d columns of %d: %.*s", columns, most, (int)(end - at), at);
    }
    if (style->rows > 0 && rows > style->rows) fail_msg("%d rows of %d", rows, style->rows);
    for (const char *at = out.data; *at != '\0'; at++) {
        assert_true(style->utf8 || (unsigned char)*at < 0x80);
        assert_true(style->color || *at != '\033');
    }
    mx_string_release(&out);
}

static struct mx_view *view_full(void)
{
    struct mx_view *const view = view_make();
    static const char run[] =
        "{\"state\":\"failed\",\"failure\":\"a long reason that will not fit everywhere: the disk is "
        "full\",\"steps\":1000,\"mode\":\"Multi-GPU Mode\",\"devices\":[{\"name\":\"opencl:0\",\"logical\":\"GPU:0\"},"
        "{\"name\":\"opencl:1\",\"logical\":\"GPU:1\"}]}";
    for (int i = 1; i <= 700; i++) add_step(view, i, 12.0 / i + 0.4);
    add(view, "{\"step\":700,\"evaluation\":{\"loss\":0.7,\"mel_db\":3.1}}");
    add(view, "{\"step\":701,\"loss\":0.4,\"skipped\":true,\"share\":0.25,\"leak\":\"model\",\"leak_bytes\":99999,"
              "\"model_busy\":0.5,\"model_bytes\":5,\"model_limit_bytes\":10,\"model_driver_busy\":1,"
              "\"model_driver_bytes\":5000000000,\"steps\":1000}");
    assert_true(mx_view_run(view, run, sizeof run - 1));
    return view;
}

static void test_draw_sizes(void **state)
{
    struct mx_view *const full = view_full(), *const empty = view_make(), *const one = view_make();
    (void)state;
    add(one, "{\"step\":1,\"loss\":2}");
    for (int columns = 1; columns <= 200; columns += columns < 90 ? 1 : 7)
        for (int rows = 0; rows <= 40; rows += rows < 20 ? 1 : 5)
            for (int kind = 0; kind < 4; kind++) {
                const struct mx_draw_style style = {columns,
                                                    rows,
                                                    (kind & 1) != 0,
                                                    (kind & 2) != 0,
                                                    rows % 2 == 0,
                                                    "یک دو \xff\x1b[31m run",
                                                    rows % 3 == 0 ? NAN : 90};
                frame_check(full, &style);
                frame_check(empty, &style);
                frame_check(one, &style);
            }
    mx_free(full);
    mx_free(empty);
    mx_free(one);
}

static void says(const struct mx_view *view, const struct mx_draw_style *style, const char *words, bool wanted)
{
    struct mx_string out = {0};
    assert_int_equal(mx_view_draw(view, style, &out), 0);
    if ((strstr(out.data, words) != NULL) != wanted)
        fail_msg("%s '%s':\n%s", wanted ? "does not say" : "says", words, out.data);
    mx_string_release(&out);
}

static void test_draw_words(void **state)
{
    const struct mx_draw_style style = {.columns = 120, .name = "my-run", .silent_s = 2};
    struct mx_draw_style late = style;
    struct mx_view *const view = view_make();
    late.silent_s = 600;
    (void)state;
    says(view, &style, "waiting for the first step", true);
    for (int i = 1; i <= 100; i++) add_step(view, i, 12.0 / i + 0.4);
    says(view, &style, "my-run", true);
    says(view, &style, "training, news 2 s ago", true);
    says(view, &late, "no news for 10:00", true);
    says(view, &style, "step 100 of 1,000", true);
    says(view, &style, " 10 %  3:45 left  epoch 4", true);
    says(view, &style, "device 0 data", true);
    says(view, &style, " 38 %", true);
    says(view, &style, "1.20 GiB of 8.00 GiB", true);
    says(view, &style, "device 1 model", true);
    says(view, &style, "9.10 GiB of 16.0 GiB", true);
    says(view, &style, "loaded ######...... 4/8  prepared ###########. 48/50  arrived ########.... 2/3", true);
    says(view, &style, "3,800 frames/s  step 250 ms  data wait 0.3 %  variation 2.1 %", true);
    says(view, &style, "0.5200  mel 0.5000  prior 0.1000", true);
    says(view, &style, "     12.4 +*", true);
    says(view, &style, "validation", false);
    says(view, &style, "trains", false);
    struct mx_view *const full = view_full();
    says(full, &style, "GPU:0 trains 25 % of each batch", true);
    says(full, &style, "failed, news 2 s ago", true);
    says(full, &style, "disk is full", true);
    says(full, &style, "step 700: loss 0.7000, spoken 3.10 dB", true);
    says(full, &style, "of 'model' grew at step 701 by 97.7 KiB", true);
    says(full, &style, "1 steps whose loss", true);
    mx_free(view);
    mx_free(full);
}

static void test_draw_line(void **state)
{
    struct mx_view *const view = view_make();
    struct mx_string out = {0};
    (void)state;
    add_step(view, 250, 1.5);
    assert_int_equal(mx_view_draw_line(view, &out), 0);
    assert_string_equal(out.data,
                        "step 250 of 1,000, loss 1.5000, 3,800 frames/s, device 0 38 %, device 1 97 %, data wait "
                        "0.3 %, 9.10 GiB of 16.0 GiB, 3:08 left");
    mx_string_release(&out);
    mx_free(view);
}

/* The first value is on the first row at the left, the last one on the last row at the right; no column is empty. */
static void test_curve(void **state)
{
    struct mx_view *const view = view_make();
    struct mx_string out = {0};
    const struct mx_curve_style style = {60, 10, false};
    (void)state;
    for (int i = 1; i <= 30; i++) add(view, "{\"step\":%d,\"loss\":%g}", i, 3.0 - 0.05 * i);
    assert_int_equal(mx_curve_draw(&view->loss, &style, &out), 0);
    const char *rows[10];
    int count = 0;
    for (char *at = strtok(out.data, "\n"); at != NULL && count < 10; at = strtok(NULL, "\n")) rows[count++] = at;
    assert_int_equal(count, 10);
    assert_int_equal(rows[0][11], '*');
    assert_int_equal(strlen(rows[8]), 60);
    assert_int_equal(rows[8][59], '*');
    for (size_t x = 11; x < 60; x++) {
        int stars = 0;
        for (int y = 0; y < 9; y++) stars += strlen(rows[y]) > x && rows[y][x] == '*';
        assert_true(stars >= 1);
    }
    assert_non_null(strstr(rows[9], "step 30"));
    mx_string_release(&out);
    mx_free(view);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_follow_grows),
        cmocka_unit_test(test_follow_restart),
        cmocka_unit_test(test_follow_long_lines),
        cmocka_unit_test(test_view_lines),
        cmocka_unit_test(test_view_damage),
        cmocka_unit_test(test_view_run),
        cmocka_unit_test(test_course),
        cmocka_unit_test(test_draw_sizes),
        cmocka_unit_test(test_draw_words),
        cmocka_unit_test(test_draw_line),
        cmocka_unit_test(test_curve),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * libFuzzer target for metrics.jsonl of a run: any bytes as the file, read line by line as the monitor does, and opened
 * to be continued after a step, which removes what comes later (the page of a run has fuzz_page.c). Built with clang
 * -fsanitize=fuzzer,address,undefined.
 *
 * The first byte is the step after which the run continues.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/string.h"
#include "fuzz.h"
#include "observe/monitor_view.h"

static char path[] = "/tmp/fuzz_metrics.XXXXXX";

static void check_view(const struct mx_view *view, int64_t lines)
{
    double columns[80];
    check(view->loss.count <= MX_VIEW_POINTS && view->speed.count <= MX_VIEW_POINTS);
    check(view->damaged >= 0 && view->damaged <= lines && view->steps_seen <= lines);
    check(mx_view_course_columns(&view->loss, columns, 80) <= 80);
    check(mx_utf8_check(view->leak, strlen(view->leak)) == strlen(view->leak));
    (void)mx_view_seconds_left(view);
    (void)mx_view_flow(view);
    (void)mx_view_ended(view);
}

static void lines_read(const char *data, size_t size)
{
    struct mx_view view = {0};
    int64_t lines = 0;
    mx_view_clear(&view);
    for (size_t at = 0; at < size; lines++) {
        const char *const end = memchr(data + at, '\n', size - at);
        const size_t length = end != NULL ? (size_t)(end - data) - at : size - at;
        char *const line = malloc(length + 1); /* of its own, so that reading on is noticed */
        check(line != NULL);
        memcpy(line, data + at, length);
        line[length] = '\0';
        mx_view_line(&view, line, length);
        free(line);
        at += length + 1;
    }
    check_view(&view, lines);
}

/* What is left is made of whole lines, none of them of a later step, and continuing again removes nothing more. */
static void file_continue(const char *data, size_t size, int64_t step)
{
    size_t left[2];
    FILE *const file = fopen(path, "we");
    check(file != NULL && fwrite(data, 1, size, file) == size && fclose(file) == 0);
    for (int turn = 0; turn < 2; turn++) {
        struct mx_metrics *metrics;
        char *text;
        check(mx_metrics_open(path, step, &metrics) == 0);
        mx_metrics_close(metrics);
        check(mx_file_read(path, size + 1, &text, &left[turn]) == 0);
        check(left[turn] == 0 || text[left[turn] - 1] == '\n');
        for (size_t at = 0; at < left[turn];) {
            struct mx_metrics_record record;
            const size_t length = (size_t)((char *)memchr(text + at, '\n', left[turn] - at) - text) - at;
            if (mx_metrics_read(text + at, length, &record)) check(!(record.step.step > (double)step));
            at += length + 1;
        }
        mx_free(text);
    }
    check(left[0] <= size && left[0] == left[1]);
}

static void path_remove(void)
{
    unlink(path);
}

void fuzz_begin(void)
{
    const int fd = mkstemp(path);
    check(fd >= 0 && close(fd) == 0 && atexit(path_remove) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    lines_read((const char *)data + 1, size - 1);
    file_continue((const char *)data + 1, size - 1, data[0]);
    return 0;
}

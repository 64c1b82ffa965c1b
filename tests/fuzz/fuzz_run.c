/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * libFuzzer target for run.json of a run: any bytes as the file, read as the monitor does and put on the page of the
 * run, whose script they must not end. Built with clang -fsanitize=fuzzer,address,undefined.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/string.h"
#include "fuzz.h"
#include "observe/monitor_view.h"
#include "observe/page/page.h"
#include "observe/run.h"

static char folder[] = "/tmp/fuzz_run.XXXXXX", path[64];
static size_t scripts; /* the ends of scripts of a page of a run that says nothing */

static void check_text(const char *text, size_t size)
{
    check(memchr(text, '\0', size) != NULL);
}

static void view_read(const char *data, size_t size)
{
    struct mx_view view = {0};
    mx_view_clear(&view);
    const bool good = mx_view_run(&view, data, size);
    check(good == view.has_run && view.device_count >= 0 && view.device_count <= MX_VIEW_DEVICES);
    check_text(view.state, sizeof view.state);
    check_text(view.mode, sizeof view.mode);
    check_text(view.failure, sizeof view.failure);
    (void)mx_view_steps(&view);
    (void)mx_view_seconds_left(&view);
    (void)mx_view_flow(&view);
    (void)mx_view_ended(&view);
}

static size_t scripts_count(const char *data, size_t size)
{
    const struct mx_page_options options = {.run = folder};
    struct mx_string page = {0};
    size_t count = 0;
    FILE *const file = fopen(path, "we");
    check(file != NULL && fwrite(data, 1, size, file) == size && fclose(file) == 0);
    check(mx_page_write(&options, &page) == 0 && page.failure == 0 && strlen(page.data) == page.length);
    for (const char *at = page.data; (at = strstr(at, "</")) != NULL; at++)
        count += strncasecmp(at, "</script", 8) == 0;
    mx_string_release(&page);
    return count;
}

static void folder_remove(void)
{
    unlink(path);
    rmdir(folder);
}

void fuzz_begin(void)
{
    check(mkdtemp(folder) != NULL && atexit(folder_remove) == 0);
    snprintf(path, sizeof path, "%s/" MX_RUN_FILE, folder);
    scripts = scripts_count("{}", 2);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    view_read((const char *)data, size);
    check(scripts_count((const char *)data, size) == scripts);
    return 0;
}

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * myxtts monitor: watches a run by reading the files that it writes anyway.
 */
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "cli/command.h"
#include "cli/screen.h"
#include "myxtts/error.h"
#include "observe/follow.h"
#include "observe/monitor_draw.h"
#include "observe/run.h"
#include "run/interrupt.h"

#define INTERVAL_LEAST 0.1
#define INTERVAL_MOST  3600.0
#define READ_BYTES     ((size_t)16 << 20) /* between two polls of the keyboard */
#define RUN_MAX        ((size_t)64 << 20)
#define COLUMNS_PLAIN  100
#define TICK_NS        UINT64_C(100000000)

struct values {
    bool once;
    const char *interval;
};

static const struct mx_option options[] = {
    {MX_OPTION_FLAG(struct values, once, "once", "Print the current state of the run as plain text and exit.")},
    {MX_OPTION_STRING(struct values, interval, "interval", "SECONDS", "1", "Time between updates. From 0.1 to 3600.")},
};

/* What is watched. */
struct watch {
    const char *run;
    char *name, *run_json;
    struct timespec run_json_time;
    ino_t run_json_inode;
    struct mx_follow *follow;
    struct mx_view view;
};

static void line_add(void *context, char *text, size_t length)
{
    mx_view_line(&((struct watch *)context)->view, text, length);
}

static void lines_void(void *context)
{
    mx_view_clear(&((struct watch *)context)->view);
}

/* The last part of the path; of "." and ".." that of where they lead. */
static char *name_of(const char *run)
{
    char *const whole = realpath(run, NULL);
    const char *const path = whole != NULL ? whole : run, *const slash = strrchr(path, '/');
    char *const name = mx_strdup(slash != NULL && slash[1] != '\0' ? slash + 1 : path);
    free(whole);
    return name;
}

static int watch_open(struct watch *watch, const char *run)
{
    int rc = 0;
    struct stat folder;
    char *metrics = NULL;
    watch->run = run;
    mx_view_clear(&watch->view);
    if (stat(run, &folder) != 0) {
        MX_FAIL(MX_ERR_NOT_FOUND, NULL, "cannot look at the run %s: %s", run, strerror(errno));
        MX_TRY(mx_error_hint("name the folder that 'myxtts train --output' made"));
    }
    if (!S_ISDIR(folder.st_mode))
        MX_RAISE(MX_ERR_USAGE, "name the folder of a run, as given to 'myxtts train --output'", "%s is not a folder",
                 run);
    metrics = mx_format("%s/metrics.jsonl", run);
    watch->run_json = mx_format("%s/" MX_RUN_FILE, run);
    watch->name = name_of(run);
    if (metrics == NULL || watch->run_json == NULL || watch->name == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    MX_TRY(mx_follow_open(metrics, &watch->follow));
out:
    mx_free(metrics);
    return rc;
}

static void watch_close(struct watch *watch)
{
    mx_follow_close(watch->follow);
    mx_free(watch->run_json);
    mx_free(watch->name);
}

/* run.json, if it is another one than before. Written whole, so it is never read in part. */
static void run_read(struct watch *watch)
{
    struct stat now;
    char *text = NULL;
    size_t bytes = 0;
    if (stat(watch->run_json, &now) != 0) return;
    if (now.st_ino == watch->run_json_inode && now.st_mtim.tv_sec == watch->run_json_time.tv_sec &&
        now.st_mtim.tv_nsec == watch->run_json_time.tv_nsec)
        return;
    if (mx_file_read(watch->run_json, RUN_MAX, &text, &bytes) == 0) {
        (void)mx_view_run(&watch->view, text, bytes);
        watch->run_json_time = now.st_mtim;
        watch->run_json_inode = now.st_ino;
    }
    mx_error_clear(); /* a run can be watched without it */
    mx_free(text);
}

/* 1: there is more to read. */
static int watch_read(struct watch *watch)
{
    const struct mx_follow_sink sink = {watch, line_add, lines_void};
    run_read(watch);
    return mx_follow_read(watch->follow, READ_BYTES, &sink);
}

static double silent_of(const struct watch *watch)
{
    const int64_t changed = mx_follow_changed(watch->follow);
    const double since = (double)(time(NULL) - changed);
    return changed == 0 ? NAN : since > 0 ? since : 0;
}

static struct mx_draw_style style_of(const struct watch *watch)
{
    const char *const no_color = getenv("NO_COLOR");
    return (struct mx_draw_style){.columns = COLUMNS_PLAIN,
                                  .utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0,
                                  .color = no_color == NULL || *no_color == '\0',
                                  .name = watch->name,
                                  .silent_s = silent_of(watch)};
}

/* ---- plain text ---- */

static int once_print(struct watch *watch)
{
    int rc = 0;
    struct mx_string text = {0};
    do MX_TRY(watch_read(watch));
    while (rc == 1);
    if (!mx_follow_exists(watch->follow) && !watch->view.has_run)
        MX_RAISE(MX_ERR_NOT_FOUND, "name the folder of a run; without '--once' its first step is waited for",
                 "%s has no metrics.jsonl", watch->run);
    struct mx_draw_style style = style_of(watch);
    style.color = false;
    MX_TRY(mx_view_draw(&watch->view, &style, &text));
    fputs(text.data, stdout);
out:
    mx_string_release(&text);
    return rc;
}

/* Waits in small pieces, so that a signal ends it soon. */
static void pause_for(uint64_t interval_ns, const atomic_bool *stop)
{
    const uint64_t end = mx_clock_ns() + interval_ns;
    for (uint64_t now = mx_clock_ns(); now < end && !atomic_load(stop); now = mx_clock_ns())
        mx_clock_sleep_ns(end - now < TICK_NS ? end - now : TICK_NS);
}

/* A line whenever there are new steps, until the run has ended. */
static int lines_print(struct watch *watch, uint64_t interval_ns)
{
    int rc = 0;
    bool noted = false;
    double last = NAN;
    struct mx_interrupt interrupt;
    struct mx_string text = {0};
    const atomic_bool *const stop = mx_interrupt_watch(&interrupt, false);
    while (!atomic_load(stop)) {
        MX_TRY(watch_read(watch));
        if (rc == 1) continue;
        if (!watch->view.has_step && !noted) {
            printf("waiting for the first step of %s\n", watch->name);
            noted = true;
        }
        if (watch->view.has_step && watch->view.step.step != last) {
            text.length = 0;
            MX_TRY(mx_view_draw_line(&watch->view, &text));
            printf("%s\n", text.data);
            last = watch->view.step.step;
        }
        if (fflush(stdout) != 0) break; /* main reports it */
        if (mx_view_ended(&watch->view)) {
            printf("%s\n", watch->view.state[0] != '\0' ? watch->view.state : "done");
            break;
        }
        pause_for(interval_ns, stop);
    }
    rc = 0;
out:
    mx_interrupt_restore(&interrupt);
    mx_string_release(&text);
    return rc;
}

/* ---- the screen ---- */

static int frame_show(struct watch *watch, struct mx_string *frame)
{
    struct mx_draw_style style = style_of(watch);
    style.keys = true;
    mx_screen_size(&style.columns, &style.rows);
    frame->length = 0;
    const int rc = mx_view_draw(&watch->view, &style, frame);
    if (rc == 0) mx_screen_show(frame);
    return rc;
}

static int screen_run(struct watch *watch, uint64_t interval_ns)
{
    int rc = 0;
    struct mx_string frame = {0};
    MX_TRY(mx_screen_enter());
    for (bool end = false; !end;) {
        char key = '\0';
        MX_TRY(watch_read(watch));
        const bool more = rc == 1;
        MX_TRY(frame_show(watch, &frame));
        const uint64_t next = mx_clock_ns() + (more ? 0 : interval_ns);
        for (bool again = false; !again && !end;) {
            const uint64_t now = mx_clock_ns();
            switch (mx_screen_wait(next > now ? next - now : 0, &key)) {
            case MX_SCREEN_TIME:
                again = mx_clock_ns() >= next;
                break;
            case MX_SCREEN_RESIZE:
                MX_TRY(frame_show(watch, &frame));
                break;
            case MX_SCREEN_KEY:
                end = key == 'q' || key == 'Q';
                break;
            case MX_SCREEN_END:
                end = true;
                break;
            }
        }
    }
out:
    mx_screen_exit();
    mx_string_release(&frame);
    return rc;
}

/* ---- running ---- */

static int interval_read(const char *text, uint64_t *out)
{
    double seconds = 1;
    char quoted[64];
    if (text != NULL && (mx_string_parse_double(text, &seconds) != MX_STRING_NUMBER || !(seconds >= INTERVAL_LEAST) ||
                         seconds > INTERVAL_MOST)) {
        MX_FAIL(MX_ERR_USAGE, NULL, "option '--interval' is %s", mx_string_quote(quoted, sizeof quoted, text));
        return mx_error_hint("give seconds from %g to %g", INTERVAL_LEAST, INTERVAL_MOST);
    }
    *out = (uint64_t)(seconds * 1e9);
    return 0;
}

static int run(const void *given, const struct mx_option_list *operands)
{
    const struct values *const values = given;
    int rc = 0;
    uint64_t interval_ns = 0;
    struct watch *const watch = mx_alloc(1, sizeof *watch);
    if (watch == NULL) return MX_ERR_NO_MEMORY;
    if (operands->count == 0) MX_RAISE(MX_ERR_USAGE, "see 'myxtts monitor --help'", "the folder of the run is missing");
    MX_TRY(interval_read(values->interval, &interval_ns));
    setlocale(LC_CTYPE, ""); /* whether the terminal has UTF-8; the format of numbers is unaffected */
    MX_TRY(watch_open(watch, operands->items[0]));
    if (values->once)
        rc = once_print(watch);
    else if (mx_screen_possible())
        rc = screen_run(watch, interval_ns);
    else
        rc = lines_print(watch, interval_ns);
out:
    watch_close(watch);
    mx_free(watch);
    return rc;
}

static const struct mx_example examples[] = {
    {"myxtts monitor my-run", "follows a run while it trains, or shows it afterwards; q quits"},
    {"ssh host myxtts monitor my-run --once", "shows the current state of a run on another machine"},
    {"myxtts monitor my-run --interval 60 >>watch.log",
     "without a terminal: prints one line per minute until the run ends"},
};

const struct mx_command mx_command_monitor = {
    .name = "monitor",
    .page =
        {
            .command = "myxtts monitor",
            .operands = "RUN",
            .operand_max = 1,
            .summary = "watch a run: devices, memory, speed and loss",
            .description = "Shows the progress of a run, how busy both devices are, how much of their memory limits is "
                           "in use, how many batches wait at each stage, the speed, and the loss as a curve. It only "
                           "reads metrics.jsonl and run.json in the run folder, so it does not slow the run down, and "
                           "it also works for runs that have ended.\nOn a terminal it follows the run until you press "
                           "'q'. Elsewhere it prints a line whenever there are new steps and ends with the run. "
                           "Colours are off if NO_COLOR is set; only ASCII is used if the locale is not UTF-8.",
            MX_PAGE_EXAMPLES(examples),
        },
    MX_COMMAND_WORK(options, struct values, run),
};

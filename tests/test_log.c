/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The log and the progress line: what appears on a stream that is no terminal, in JSON, in a file, on a terminal
 * (a pseudo-terminal stands in for it), from several threads, and when the log file fails.
 */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/progress.h"
#include "myxtts/error.h"

#include <cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <termios.h>
#include <unistd.h>

#define HOUR_NS UINT64_C(3600000000000)

/* ---- a stream that remembers ---- */

static char *sink_text;
static size_t sink_length;
static FILE *sink;

static void sink_open(enum mx_log_level level, enum mx_log_format format, const char *file)
{
    sink = open_memstream(&sink_text, &sink_length);
    assert_non_null(sink);
    const struct mx_log_options options = {.level = level, .format = format, .stream = sink, .file = file};
    assert_int_equal(mx_log_configure(&options), 0);
}

static void sink_close(void)
{
    assert_int_equal(mx_log_configure(NULL), 0);
    fclose(sink);
    free(sink_text);
    sink_text = NULL;
}

static int count_of(const char *text, const char *part)
{
    int count = 0;
    for (const char *at = strstr(text, part); at; at = strstr(at + 1, part)) count++;
    return count;
}

static char *read_whole(const char *path)
{
    static char text[1 << 20];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

static void temporary(char path[64])
{
    strcpy(path, "/tmp/mx_log_XXXXXX");
    const int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    close(descriptor);
}

/* ---- the log ---- */

static void test_levels_and_text(void **state)
{
    (void)state;
    sink_open(MX_LOG_INFO, MX_LOG_TEXT, NULL);
    mx_debug("hidden");
    mx_info("plain %d", 1);
    mx_warn("careful\n");
    MX_FAIL(MX_ERR_BUDGET, "take less", "too much");
    mx_log_error();
    assert_string_equal(sink_text, "plain 1\nwarning: careful\nerror: too much\n  hint: take less\n");
    assert_false(mx_log_enabled(MX_LOG_DEBUG));
    assert_true(mx_log_enabled(MX_LOG_INFO));
    assert_false(mx_log_enabled(MX_LOG_SILENT));
    sink_close();

    sink_open(MX_LOG_DEBUG, MX_LOG_TEXT, NULL);
    mx_debug("shown");
    mx_error_set(MX_ERR_IO, "src/x.c", 12, NULL, "lost");
    mx_log_error();
    assert_string_equal(sink_text, "debug: shown\nerror: lost\n  at src/x.c:12 (IO)\n");
    sink_close();

    sink_open(MX_LOG_ERROR, MX_LOG_TEXT, NULL);
    mx_warn("hidden");
    mx_error_clear();
    mx_log_error(); /* no error, no line */
    fflush(sink);
    assert_int_equal(sink_length, 0);
    sink_close();

    sink_open(MX_LOG_SILENT, MX_LOG_TEXT, NULL);
    MX_FAIL(MX_ERR_IO, NULL, "lost");
    mx_log_error();
    fflush(sink);
    assert_int_equal(sink_length, 0);
    sink_close();
}

static void test_level_names(void **state)
{
    (void)state;
    enum mx_log_level level = MX_LOG_SILENT;
    assert_int_equal(mx_log_level_parse("debug", &level), 0);
    assert_int_equal(level, MX_LOG_DEBUG);
    assert_int_equal(mx_log_level_parse("warn", &level), 0);
    assert_int_equal(level, MX_LOG_WARN);
    assert_int_equal(mx_log_level_parse("silent", &level), 0);
    assert_int_equal(level, MX_LOG_SILENT);
    assert_int_equal(mx_log_level_parse("loud", &level), MX_ERR_ARGUMENT);
    assert_int_equal(level, MX_LOG_SILENT);
    assert_non_null(strstr(mx_error_last()->message, "loud"));
    const struct mx_log_options bad = {.level = (enum mx_log_level)17};
    assert_int_equal(mx_log_configure(&bad), MX_ERR_ARGUMENT);
}

static void test_leaves_no_trace(void **state)
{
    (void)state;
    sink_open(MX_LOG_INFO, MX_LOG_TEXT, NULL);
    MX_FAIL(MX_ERR_DATA, "h", "mine");
    const uint64_t allocations = mx_alloc_count();
    errno = ENOSPC;
    mx_info("a");
    mx_log_error();
    mx_log_live_draw("x");
    assert_int_equal(errno, ENOSPC);
    assert_string_equal(mx_error_last()->message, "mine");
    assert_int_equal(mx_alloc_count(), allocations);
    sink_close();
}

static void test_nasty_text(void **state)
{
    (void)state;
    char *large = mx_alloc(10001, 1);
    assert_non_null(large);
    for (size_t i = 0; i < 10000; i += 2) memcpy(large + i, "\xd8\xb3", 2);
    sink_open(MX_LOG_INFO, MX_LOG_TEXT, NULL);
    mx_info("a\033[2Jb\rc\td\ne\302\2331m\2330m"); /* CSI is a character, too, and a byte */
    assert_string_equal(sink_text, "a?[2Jb?c\td\ne??1m?0m\n");
    mx_info("%s", large);
    const size_t line = strlen(strchr(strchr(sink_text, '\n') + 1, '\n') + 1);
    assert_int_equal(line, 4094 + 1); /* 4,095 would cut a character */
    sink_close();
    mx_free(large);
}

/* The next line of `text` as an object; advances. */
static cJSON *next_object(const char **text)
{
    const char *end = NULL;
    cJSON *object = cJSON_ParseWithOpts(*text, &end, 0);
    assert_non_null(object);
    assert_int_equal(*end, '\n');
    assert_true(memchr(*text, '\n', (size_t)(end - *text)) == NULL); /* one line */
    *text = end + 1;
    return object;
}

static void assert_field(const cJSON *object, const char *name, const char *value)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
    assert_non_null(text);
    assert_string_equal(text, value);
}

static void test_json(void **state)
{
    (void)state;
    char large[5000];
    memset(large, '\001', sizeof large - 1); /* the byte that grows most */
    large[sizeof large - 1] = '\0';
    sink_open(MX_LOG_INFO, MX_LOG_JSON, NULL);
    mx_info("say \"%s\" \\ \n tab\t bell\a del\x7f سلام", "hi");
    mx_warn("bad \xff\xd8 end\xe2\x80");
    mx_error_set(MX_ERR_BUDGET, "src/a.c", 5, "a \"hint\"", "over");
    mx_log_error();
    mx_info("%s", large);
    const char *text = sink_text;

    cJSON *object = next_object(&text);
    assert_field(object, "level", "info");
    assert_field(object, "message", "say \"hi\" \\ \n tab\t bell\a del\x7f سلام");
    assert_int_equal(strlen(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, "time"))), 19);
    cJSON_Delete(object);

    object = next_object(&text);
    assert_field(object, "level", "warn");
    assert_field(object, "message", "bad \xef\xbf\xbd\xef\xbf\xbd end\xef\xbf\xbd\xef\xbf\xbd");
    cJSON_Delete(object);

    object = next_object(&text);
    assert_field(object, "level", "error");
    assert_field(object, "message", "over");
    assert_field(object, "code", "BUDGET");
    assert_field(object, "hint", "a \"hint\"");
    assert_null(cJSON_GetObjectItemCaseSensitive(object, "file"));
    cJSON_Delete(object);

    object = next_object(&text);
    assert_int_equal(strlen(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, "message"))), 4095);
    cJSON_Delete(object);
    assert_int_equal(*text, '\0');
    sink_close();

    sink_open(MX_LOG_DEBUG, MX_LOG_JSON, NULL);
    mx_log_error();
    text = sink_text;
    object = next_object(&text);
    assert_field(object, "file", "src/a.c");
    assert_int_equal(cJSON_GetObjectItemCaseSensitive(object, "line")->valueint, 5);
    cJSON_Delete(object);
    sink_close();
}

static void test_file(void **state)
{
    (void)state;
    char path[64];
    temporary(path);
    sink_open(MX_LOG_ERROR, MX_LOG_TEXT, path);
    assert_true(mx_log_enabled(MX_LOG_INFO)); /* by the file */
    mx_debug("hidden");
    mx_info("one");
    MX_FAIL(MX_ERR_IO, "do so", "two");
    mx_log_error();
    assert_string_equal(sink_text, "error: two\n  hint: do so\n");
    sink_close();
    sink_open(MX_LOG_SILENT, MX_LOG_TEXT, path); /* appends */
    mx_warn("three");
    sink_close();
    const char *text = read_whole(path);
    assert_int_equal(count_of(text, "\n"), 3);
    assert_int_equal(text[10], 'T');
    assert_int_equal(strncmp(text + 19, " INFO one\n", 10), 0);
    assert_non_null(strstr(text, " ERROR two; hint: do so\n"));
    assert_non_null(strstr(text, " WARN three\n"));
    unlink(path);
}

static void test_file_errors(void **state)
{
    (void)state;
    sink_open(MX_LOG_INFO, MX_LOG_TEXT, NULL);
    static const char *const paths[] = {"/nonexistent/folder/x.log", "/tmp", ""};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        const struct mx_log_options options = {.level = MX_LOG_DEBUG, .file = paths[i]};
        assert_int_equal(mx_log_configure(&options), MX_ERR_IO);
        assert_non_null(strstr(mx_error_last()->message, paths[i]));
        assert_true(mx_error_last()->hint[0] != '\0');
    }
    mx_debug("hidden");
    mx_info("still here"); /* a failed configuration changes nothing */
    assert_string_equal(sink_text, "still here\n");
    sink_close();

    if (access("/dev/full", W_OK) != 0) skip();
    sink_open(MX_LOG_WARN, MX_LOG_TEXT, "/dev/full");
    mx_warn("one");
    mx_warn("two");
    assert_int_equal(strncmp(sink_text, "warning: one\nwarning: the log file", 34), 0);
    assert_int_equal(count_of(sink_text, "log file"), 1);
    assert_non_null(strstr(sink_text, "\nwarning: two\n"));
    assert_true(mx_log_enabled(MX_LOG_INFO)); /* there may be room again */
    sink_close();
}

/* The disk is full for a while; a limit of the file's size stands in for it. */
static void test_file_full(void **state)
{
    (void)state;
    char path[64];
    struct rlimit before, small;
    temporary(path);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = before;
    small.rlim_cur = 70; /* the first line, and a part of the second one */
    void (*const action)(int) = signal(SIGXFSZ, SIG_IGN);
    sink_open(MX_LOG_WARN, MX_LOG_TEXT, path);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    mx_info("one");
    mx_info("two, a line that is too long for what is left");
    mx_info("three");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    mx_info("four");
    mx_info("five");
    fflush(sink);
    assert_int_equal(count_of(sink_text, "cannot be written"), 1);
    assert_non_null(strstr(sink_text, path));
    sink_close();
    signal(SIGXFSZ, action);
    const char *const text = read_whole(path);
    assert_non_null(strstr(text, " INFO one\n"));
    assert_null(strstr(text, "three"));
    assert_non_null(strstr(text, " WARN 2 messages before this one could not be written here\n"));
    assert_non_null(strstr(text, " INFO four\n"));
    assert_non_null(strstr(text, " INFO five\n"));
    assert_int_equal(count_of(text, "\n"), 5); /* the torn line has its end, too */
    unlink(path);
}

/* Messages before the place of a file is known, and two files at once. */
static void test_held(void **state)
{
    (void)state;
    char given[64], kept[64], both[4096] = "";
    temporary(given);
    temporary(kept);
    sink_open(MX_LOG_ERROR, MX_LOG_TEXT, given);
    assert_int_equal(mx_log_hold(), 0);
    mx_debug("hidden");
    mx_info("early");
    assert_int_equal(mx_log_keep("/nonexistent/folder/x.log"), MX_ERR_IO);
    mx_error_clear();
    mx_warn("still early");
    assert_int_equal(mx_log_keep(kept), 0);
    mx_info("late");
    sink_close();
    stpncpy(both, read_whole(given), sizeof both - 1);
    assert_string_equal(read_whole(kept), both);
    assert_int_equal(count_of(both, "\n"), 3);
    assert_non_null(strstr(both, " INFO early\n"));
    mx_info("after the end"); /* both are closed */
    assert_string_equal(read_whole(kept), both);
    unlink(given);
    unlink(kept);
}

static void *write_lines(void *argument)
{
    const int *thread = argument;
    for (int i = 0; i < 200; i++) mx_info("<%d %0*d %d>", *thread, 50, i, *thread);
    return NULL;
}

static void test_whole_lines(void **state)
{
    (void)state;
    char path[64];
    temporary(path);
    sink_open(MX_LOG_INFO, MX_LOG_TEXT, path);
    pthread_t threads[4];
    int numbers[4], next[4] = {0};
    for (int i = 0; i < 4; i++) {
        numbers[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, write_lines, &numbers[i]), 0);
    }
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    const char *line = sink_text;
    for (int i = 0; i < 800; i++) {
        int first, number, last, end = 0;
        assert_int_equal(sscanf(line, "<%d %d %d>%n", &first, &number, &last, &end), 3);
        assert_int_equal(first, last);
        assert_int_equal(number, next[first]++);
        assert_int_equal(line[end], '\n');
        line += end + 1;
    }
    assert_int_equal(*line, '\0');
    assert_int_equal(count_of(read_whole(path), ">\n"), 800);
    sink_close();
    unlink(path);
}

/* ---- progress without a terminal ---- */

static struct mx_progress *begin(const char *title, const char *unit, uint64_t total, uint64_t delay_ns)
{
    struct mx_progress *progress = NULL;
    const struct mx_progress_options options = {.title = title, .unit = unit, .total = total, .delay_ns = delay_ns};
    assert_int_equal(mx_progress_start(&options, &progress), 0);
    return progress;
}

static void test_progress_sparse(void **state)
{
    (void)state;
    sink_open(MX_LOG_INFO, MX_LOG_TEXT, NULL);
    struct mx_progress *progress = begin("Reading", "files", 1000, 1);
    const uint64_t allocations = mx_alloc_count();
    for (int i = 0; i < 1000; i++) {
        if (i == 550) mx_progress_note(progress, "loss %.2f", 0.42);
        mx_progress_add(progress, 1);
    }
    assert_int_equal(mx_alloc_count(), allocations);
    mx_progress_finish(progress);
    assert_int_equal(count_of(sink_text, "\n"), 10); /* nine steps and the end */
    assert_int_equal(count_of(sink_text, "\r"), 0);
    assert_int_equal(count_of(sink_text, "\033"), 0);
    assert_non_null(strstr(sink_text, "Reading  10% 100/1000 files"));
    assert_non_null(strstr(sink_text, "Reading  90% 900/1000 files"));
    assert_non_null(strstr(sink_text, "Reading 100% 1000/1000 files, "));
    assert_int_equal(count_of(sink_text, "loss 0.42\n"), 5); /* 60 … 90 % and the end */
    sink_close();
}

static void test_progress_jumps_and_excess(void **state)
{
    (void)state;
    sink_open(MX_LOG_INFO, MX_LOG_TEXT, NULL);
    struct mx_progress *progress = begin("Jump", NULL, 10, 1);
    mx_progress_add(progress, 5);
    mx_progress_add(progress, 1);
    mx_progress_add(progress, 20);
    mx_progress_finish(progress);
    assert_non_null(strstr(sink_text, "Jump  50% 5/10"));
    assert_non_null(strstr(sink_text, "Jump  60% 6/10"));
    assert_int_equal(count_of(sink_text, "Jump 100% 26/10"), 1);
    assert_int_equal(count_of(sink_text, "\n"), 3);
    sink_close();

    sink_open(MX_LOG_INFO, MX_LOG_TEXT, NULL);
    progress = begin("Half", "steps", 100, 1);
    mx_progress_add(progress, 50);
    mx_progress_finish(progress); /* interrupted: says how far it came */
    assert_int_equal(count_of(sink_text, "\n"), 2);
    assert_int_equal(count_of(sink_text, "Half  50% 50/100 steps"), 2);
    sink_close();
}

static void test_progress_deadline(void **state)
{
    (void)state;
    sink_open(MX_LOG_INFO, MX_LOG_TEXT, NULL);
    struct mx_progress *progress = begin("Limited", "steps", 1000000, 1);
    mx_progress_deadline(progress, mx_clock_ns() + HOUR_NS / 2);
    mx_progress_add(progress, 500000); /* the first count: no rate is known yet */
    mx_progress_finish(progress);
    assert_int_equal(count_of(sink_text, "Limited  50% 500000/1000000 steps, "), 2);
    assert_int_equal(count_of(sink_text, " left\n"), 1);
    sink_close();
}

static void test_progress_pause(void **state)
{
    (void)state;
    sink_open(MX_LOG_INFO, MX_LOG_TEXT, NULL);
    struct mx_progress *progress = begin("Steps", "steps", 1000, 1);
    mx_progress_add(progress, 1);
    const uint64_t begin_ns = mx_clock_ns();
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    mx_progress_add(progress, 99);
    mx_progress_pause(progress, true);
    const double worked_s = (double)(mx_clock_ns() - begin_ns) * 1e-9;
    nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL); /* an evaluation */
    mx_progress_add(progress, 0);
    mx_progress_pause(progress, false);
    mx_progress_add(progress, 400);
    fflush(sink);
    const char *const line = strstr(sink_text, "Steps  50% 500/1000 steps, ");
    assert_non_null(line);
    const double rate = strtod(line + strlen("Steps  50% 500/1000 steps, "), NULL);
    assert_true(rate >= 0.98 * 99 / worked_s);
    mx_progress_finish(progress);
    sink_close();
}

static void test_progress_unknown_total(void **state)
{
    (void)state;
    sink_open(MX_LOG_INFO, MX_LOG_TEXT, NULL);
    struct mx_progress *progress = begin("Scan", "files", 0, 1);
    for (int i = 0; i < 5000; i++) mx_progress_add(progress, 2);
    mx_progress_finish(progress);
    assert_int_equal(count_of(sink_text, "\n"), 1);
    assert_int_equal(strncmp(sink_text, "Scan 10000 files, ", 18), 0);
    assert_null(strchr(sink_text, '%'));
    sink_close();
}

static void test_progress_silence(void **state)
{
    (void)state;
    sink_open(MX_LOG_INFO, MX_LOG_TEXT, NULL);
    struct mx_progress *progress = begin("Short", NULL, 10, HOUR_NS); /* ends within the delay */
    mx_progress_add(progress, 10);
    mx_progress_finish(progress);
    fflush(sink);
    assert_int_equal(sink_length, 0);
    sink_close();

    sink_open(MX_LOG_WARN, MX_LOG_TEXT, NULL);
    progress = begin("Quiet", NULL, 10, 1);
    mx_progress_add(progress, 10);
    mx_progress_finish(progress);
    fflush(sink);
    assert_int_equal(sink_length, 0);
    sink_close();

    mx_progress_finish(NULL);
    progress = (void *)1;
    mx_alloc_fail_at(1);
    const struct mx_progress_options options = {.title = "x"};
    assert_int_equal(mx_progress_start(&options, &progress), MX_ERR_NO_MEMORY);
    assert_null(progress);
}

static void test_progress_json(void **state)
{
    (void)state;
    sink_open(MX_LOG_INFO, MX_LOG_JSON, NULL);
    struct mx_progress *progress = begin("\"Q\"", "x", 4, 1);
    for (int i = 0; i < 4; i++) mx_progress_add(progress, 1);
    mx_progress_finish(progress);
    const char *text = sink_text;
    int lines = 0;
    for (; *text; lines++) {
        cJSON *object = next_object(&text);
        assert_non_null(strstr(cJSON_GetObjectItemCaseSensitive(object, "message")->valuestring, "\"Q\""));
        cJSON_Delete(object);
    }
    assert_int_equal(lines, 4); /* 25, 50, 75 % and the end */
    sink_close();
}

static void *add_some(void *argument)
{
    for (int i = 0; i < 1000; i++) {
        mx_progress_add(argument, 1);
        if (i % 100 == 0) mx_progress_note(argument, "at %d", i);
    }
    return NULL;
}

static void test_progress_threads(void **state)
{
    (void)state;
    sink_open(MX_LOG_INFO, MX_LOG_TEXT, NULL);
    struct mx_progress *progress = begin("Many", "items", 4000, 1);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&threads[i], NULL, add_some, progress), 0);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    mx_progress_finish(progress);
    assert_non_null(strstr(sink_text, "Many 100% 4000/4000 items, "));
    assert_in_range(count_of(sink_text, "\n"), 1, 10);
    sink_close();
}

/* ---- a terminal ---- */

static int master;

/* The terminal's end of a new pseudo-terminal; without any (no /dev/pts is mounted) the test is skipped. */
static int pair_open(void)
{
    master = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
    const bool usable = master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0;
    const char *const name = usable ? ptsname(master) : NULL;
    const int slave = name != NULL ? open(name, O_RDWR | O_NOCTTY) : -1;
    if (slave >= 0) return slave;
    print_message("skipped: no pseudo-terminal can be opened: %s\n", strerror(errno));
    if (master >= 0) close(master);
    skip();
    return -1;
}

/* `columns` 0: the terminal does not know. */
static void terminal_open(unsigned short columns, bool no_color)
{
    struct termios raw;
    const struct winsize size = {.ws_row = 24, .ws_col = columns};
    const int slave = pair_open();
    assert_int_equal(tcgetattr(slave, &raw), 0);
    cfmakeraw(&raw);
    assert_int_equal(tcsetattr(slave, TCSANOW, &raw), 0);
    assert_int_equal(ioctl(slave, TIOCSWINSZ, &size), 0);
    sink = fdopen(slave, "w");
    assert_non_null(sink);
    const struct mx_log_options options = {.level = MX_LOG_INFO, .stream = sink, .no_color = no_color};
    assert_int_equal(mx_log_configure(&options), 0);
}

static const char *terminal_read(void)
{
    static char text[1 << 16];
    size_t used = 0;
    ssize_t got;
    while ((got = read(master, text + used, sizeof text - 1 - used)) > 0) used += (size_t)got;
    text[used] = '\0';
    return text;
}

static void terminal_close(void)
{
    assert_int_equal(mx_log_configure(NULL), 0);
    fclose(sink);
    close(master);
}

static void test_color(void **state)
{
    (void)state;
    setenv("TERM", "xterm", 1);
    unsetenv("NO_COLOR");
    terminal_open(80, false);
    mx_info("plain");
    mx_warn("careful");
    assert_string_equal(terminal_read(), "plain\n\033[33mwarning: \033[0mcareful\n");
    terminal_close();

    terminal_open(80, true);
    mx_warn("careful");
    assert_string_equal(terminal_read(), "warning: careful\n");
    terminal_close();

    setenv("NO_COLOR", "1", 1);
    terminal_open(80, false);
    mx_warn("careful");
    assert_string_equal(terminal_read(), "warning: careful\n");
    assert_int_equal(mx_log_live_columns(), 79); /* the live line is not a colour */
    terminal_close();
    unsetenv("NO_COLOR");

    setenv("TERM", "dumb", 1);
    terminal_open(80, false);
    mx_warn("careful");
    assert_string_equal(terminal_read(), "warning: careful\n");
    assert_int_equal(mx_log_live_columns(), 0);
    terminal_close();
    setenv("TERM", "xterm", 1);
}

static void test_live_line(void **state)
{
    (void)state;
    terminal_open(11, true);
    mx_log_live_draw("سلام, a long line");
    assert_string_equal(terminal_read(), "\r\033[Kسلام, a lo"); /* ten characters, not ten bytes */
    mx_info("log");
    assert_string_equal(terminal_read(), "\r\033[Klog\nسلام, a lo");
    mx_log_live_draw("b\n\xff");
    assert_string_equal(terminal_read(), "\r\033[Kb??");
    mx_log_live_draw("");
    assert_string_equal(terminal_read(), "\r\033[K");
    mx_log_live_draw("");
    mx_info("log");
    assert_string_equal(terminal_read(), "log\n");
    mx_log_live_draw("x");
    terminal_read();
    const struct mx_log_options louder = {.level = MX_LOG_WARN, .stream = sink};
    assert_int_equal(mx_log_configure(&louder), 0); /* takes the line away */
    assert_string_equal(terminal_read(), "\r\033[K");
    mx_log_live_draw("x");
    assert_string_equal(terminal_read(), "");
    terminal_close();

    terminal_open(0, true);
    assert_int_equal(mx_log_live_columns(), 79);
    terminal_close();
}

static void test_progress_on_terminal(void **state)
{
    (void)state;
    terminal_open(80, true);
    struct mx_progress *first = begin("First", "files", 100, 1), *second = begin("Second", NULL, 10, 1);
    mx_progress_add(first, 50);
    const char *text = terminal_read();
    assert_int_equal(strncmp(text, "\r\033[KFirst [=", 12), 0);
    assert_non_null(strstr(text, "=>"));
    assert_non_null(strstr(text, "]  50% 50/100 files"));
    assert_null(strchr(text, '\n'));
    mx_progress_add(second, 5); /* the line is taken */
    assert_string_equal(terminal_read(), "");
    mx_info("between");
    text = terminal_read();
    assert_int_equal(strncmp(text, "\r\033[Kbetween\nFirst [=", 20), 0);
    mx_progress_finish(first);
    text = terminal_read();
    assert_int_equal(strncmp(text, "\r\033[KFirst  50% 50/100 files, ", 28), 0);
    assert_int_equal(text[strlen(text) - 1], '\n');
    mx_progress_finish(second);
    assert_int_equal(strncmp(terminal_read(), "Second  50% 5/10, ", 18), 0);

    /* At most ten redraws a second: of many quick steps only the first one and those after a tick are drawn. */
    struct mx_progress *quick = begin("Quick", NULL, 1000, 1);
    for (int i = 0; i < 1000; i++) mx_progress_add(quick, 1);
    assert_in_range(count_of(terminal_read(), "\r"), 1, 100);
    mx_progress_finish(quick);
    terminal_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_levels_and_text),
        cmocka_unit_test(test_level_names),
        cmocka_unit_test(test_leaves_no_trace),
        cmocka_unit_test(test_nasty_text),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_file),
        cmocka_unit_test(test_file_errors),
        cmocka_unit_test(test_file_full),
        cmocka_unit_test(test_held),
        cmocka_unit_test(test_whole_lines),
        cmocka_unit_test(test_progress_sparse),
        cmocka_unit_test(test_progress_jumps_and_excess),
        cmocka_unit_test(test_progress_deadline),
        cmocka_unit_test(test_progress_pause),
        cmocka_unit_test(test_progress_unknown_total),
        cmocka_unit_test(test_progress_silence),
        cmocka_unit_test(test_progress_json),
        cmocka_unit_test(test_progress_threads),
        cmocka_unit_test(test_color),
        cmocka_unit_test(test_live_line),
        cmocka_unit_test(test_progress_on_terminal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The logger of the process and its live line; see log.h for the format of the lines.
 *
 * Memory: all static. A line is put together in one buffer and given to the stream in one write, so lines of several
 * processes on one terminal or in one file do not mix either.
 */
#include "base/log.h"

#include "base/clock.h"
#include "base/text.h"
#include "base/utf8.h"
#include "myxtts/error.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define MESSAGE_BYTES 4096
#define LIVE_BYTES    1024
#define COLUMNS_USUAL 80
/* A byte becomes at most six in JSON; the rest is for the names of the fields, the time, colours and the live line. */
#define LINE_BYTES (6 * (MESSAGE_BYTES + sizeof(struct mx_error)) + LIVE_BYTES + 1024)

#define ERASE_LINE "\r\033[K"

/* `lock` protects everything here and all writing to the stream and the file. The text of the live line is what
 * stands on the terminal now, without a newline after it; "" is none, and it is always "" when not `terminal`. */
static struct {
    pthread_mutex_t lock;
    FILE *stream; /* NULL: stderr */
    FILE *file;   /* NULL: none; owned */
    enum mx_log_format format;
    bool ready; /* `terminal` and `color` have been found out for the stream */
    bool no_color, terminal, color;
    char live[LIVE_BYTES];
    char line[LINE_BYTES];
    size_t line_length;
} logger = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Least levels that the stream and the file take. Atomic because mx_log_enabled reads them without the lock; written
 * under it. They publish nothing else, so relaxed order is enough. */
static _Atomic int stream_level = MX_LOG_INFO, file_level = MX_LOG_SILENT;

static const struct {
    const char *name, *file_name, *prefix, *color;
} levels[] = {
    [MX_LOG_DEBUG] = {"debug", "DEBUG", "debug: ", "\033[2m"},
    [MX_LOG_INFO] = {"info", "INFO", "", ""},
    [MX_LOG_WARN] = {"warn", "WARN", "warning: ", "\033[33m"},
    [MX_LOG_ERROR] = {"error", "ERROR", "error: ", "\033[31m"},
    [MX_LOG_SILENT] = {"silent", "", "", ""},
};

/* ---- the line, with the lock held ---- */

static void put_bytes(const char *bytes, size_t length)
{
    const size_t room = sizeof logger.line - logger.line_length;
    if (length > room) length = room; /* LINE_BYTES is large enough for all; this only keeps a mistake harmless */
    memcpy(logger.line + logger.line_length, bytes, length);
    logger.line_length += length;
}

static void put(const char *text)
{
    put_bytes(text, strlen(text));
}

/* Without the control bytes that could play tricks on a terminal: names of files may hold anything. */
static void put_clean(const char *text)
{
    for (size_t left = strlen(text); left > 0;) {
        const bool blank = *text == '\n' || *text == '\t';
        const size_t step = blank ? 1 : mx_text_printable(text, left);
        put_bytes(step > 0 ? text : "?", step > 0 ? step : 1);
        text += step > 0 ? step : 1;
        left -= step > 0 ? step : 1;
    }
}

/* A quoted JSON string; what is not UTF-8 becomes U+FFFD. */
static void put_json(const char *text)
{
    size_t left = strlen(text);
    put("\"");
    while (left > 0) {
        const size_t step = mx_utf8_sequence(text, left);
        if (step == 0) {
            put("\xef\xbf\xbd");
        } else if (*text == '"' || *text == '\\') {
            put_bytes((const char[]){'\\', *text}, 2);
        } else if (*text == '\n') {
            put("\\n");
        } else if ((unsigned char)*text < 0x20 || *text == 0x7f) {
            char escape[8];
            snprintf(escape, sizeof escape, "\\u%04x", (unsigned)(unsigned char)*text);
            put(escape);
        } else {
            put_bytes(text, step);
        }
        text += step ? step : 1;
        left -= step ? step : 1;
    }
    put("\"");
}

/* One thing to log; `error` is NULL except for mx_log_error. */
struct record {
    enum mx_log_level level;
    const char *message, *time;
    const struct mx_error *error;
};

static void put_place(const struct mx_error *error)
{
    char place[32];
    snprintf(place, sizeof place, ":%d", error->line);
    put_clean(error->file ? error->file : "?");
    put(place);
}

static void put_record_json(const struct record *record, bool with_place)
{
    const struct mx_error *error = record->error;
    put("{\"time\":");
    put_json(record->time);
    put(",\"level\":");
    put_json(levels[record->level].name);
    put(",\"message\":");
    put_json(record->message);
    if (error) {
        put(",\"code\":");
        put_json(mx_error_name(error->code));
        put(",\"hint\":");
        put_json(error->hint);
        if (with_place) {
            char number[32];
            put(",\"file\":");
            put_json(error->file ? error->file : "");
            snprintf(number, sizeof number, ",\"line\":%d", error->line);
            put(number);
        }
    }
    put("}\n");
}

static void put_record_stream(const struct record *record, bool with_place)
{
    const struct mx_error *error = record->error;
    const char *color = logger.color ? levels[record->level].color : "", *plain = *color ? "\033[0m" : "";
    put(color);
    put(levels[record->level].prefix);
    put(plain);
    put_clean(record->message);
    if (error && error->hint[0]) {
        put("\n  hint: ");
        put_clean(error->hint);
    }
    if (error && with_place) {
        put("\n  at ");
        put_place(error);
        put(" (");
        put(mx_error_name(error->code));
        put(")");
    }
    put("\n");
}

static void put_record_file(const struct record *record, bool with_place)
{
    const struct mx_error *error = record->error;
    put(record->time);
    put(" ");
    put(levels[record->level].file_name);
    put(" ");
    put_clean(record->message);
    if (error && error->hint[0]) {
        put("; hint: ");
        put_clean(error->hint);
    }
    if (error && with_place) {
        put(" at ");
        put_place(error);
    }
    put("\n");
}

/* Gives the line to `out` in one write and starts a new one. */
static bool flush_line(FILE *out)
{
    const bool written = fwrite(logger.line, 1, logger.line_length, out) == logger.line_length;
    logger.line_length = 0;
    return fflush(out) == 0 && written;
}

/* ---- the stream and the file, with the lock held ---- */

static FILE *stream_ready(void)
{
    FILE *stream = logger.stream ? logger.stream : stderr;
    if (!logger.ready) {
        const char *no_color = getenv("NO_COLOR"), *terminal = getenv("TERM");
        const int descriptor = fileno(stream);
        logger.terminal = logger.format == MX_LOG_TEXT && descriptor >= 0 && isatty(descriptor) && terminal &&
                          strcmp(terminal, "dumb") != 0;
        logger.color = logger.terminal && !logger.no_color && !(no_color && *no_color);
        logger.ready = true;
    }
    return stream;
}

static void write_stream(const struct record *record)
{
    FILE *stream = stream_ready();
    const bool with_place = atomic_load_explicit(&stream_level, memory_order_relaxed) == MX_LOG_DEBUG;
    if (logger.live[0]) put(ERASE_LINE);
    if (logger.format == MX_LOG_JSON) {
        put_record_json(record, with_place);
    } else {
        put_record_stream(record, with_place);
    }
    put(logger.live);
    flush_line(stream); /* a terminal that is gone is no reason to stop */
}

static bool write_file(const struct record *record)
{
    const bool with_place = atomic_load_explicit(&stream_level, memory_order_relaxed) == MX_LOG_DEBUG;
    if (logger.format == MX_LOG_JSON) {
        put_record_json(record, with_place);
    } else {
        put_record_file(record, with_place);
    }
    return flush_line(logger.file);
}

static void write_record(enum mx_log_level level, const char *message, const struct mx_error *error)
{
    const int saved_errno = errno;
    char time[32];
    mx_clock_wall_text(time, sizeof time);
    const struct record record = {.level = level, .message = message, .time = time, .error = error};
    pthread_mutex_lock(&logger.lock);
    if ((int)level >= atomic_load_explicit(&stream_level, memory_order_relaxed)) write_stream(&record);
    if (logger.file && (int)level >= atomic_load_explicit(&file_level, memory_order_relaxed) && !write_file(&record)) {
        char warning[160], reason[96];
        snprintf(warning, sizeof warning, "the log file cannot be written any more and is closed: %s",
                 strerror_r(errno, reason, sizeof reason));
        fclose(logger.file);
        logger.file = NULL;
        atomic_store_explicit(&file_level, MX_LOG_SILENT, memory_order_relaxed);
        const struct record lost = {.level = MX_LOG_WARN, .message = warning, .time = time};
        if (atomic_load_explicit(&stream_level, memory_order_relaxed) <= MX_LOG_WARN) write_stream(&lost);
    }
    pthread_mutex_unlock(&logger.lock);
    errno = saved_errno;
}

/* ---- what callers see ---- */

/* Without waiting for the reader of a pipe: one that has none is an error. */
static FILE *file_open(const char *path)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK | O_CLOEXEC, 0666);
    if (fd < 0) return NULL;
    FILE *const file = fcntl(fd, F_SETFL, O_APPEND) == 0 ? fdopen(fd, "a") : NULL;
    if (file == NULL) close(fd);
    return file;
}

int mx_log_configure(const struct mx_log_options *options)
{
    static const struct mx_log_options defaults = {.level = MX_LOG_INFO};
    FILE *file = NULL;
    if (!options) options = &defaults;
    if ((int)options->level < MX_LOG_DEBUG || options->level > MX_LOG_SILENT) {
        return MX_FAIL(MX_ERR_ARGUMENT, "choose debug, info, warn, error or silent", "log level %d is out of range",
                       (int)options->level);
    }
    if (options->file && !(file = file_open(options->file))) {
        return MX_FAIL(MX_ERR_IO, "name a file in a folder that exists and that you may write to",
                       "cannot open log file \"%s\": %s", options->file, strerror(errno));
    }
    pthread_mutex_lock(&logger.lock);
    if (logger.live[0]) {
        put(ERASE_LINE);
        flush_line(stream_ready());
        logger.live[0] = '\0';
    }
    if (logger.file) fclose(logger.file);
    logger.file = file;
    logger.stream = options->stream;
    logger.format = options->format;
    logger.no_color = options->no_color;
    logger.ready = false;
    atomic_store_explicit(&stream_level, (int)options->level, memory_order_relaxed);
    atomic_store_explicit(&file_level, file ? MX_LOG_INFO : MX_LOG_SILENT, memory_order_relaxed);
    pthread_mutex_unlock(&logger.lock);
    return 0;
}

bool mx_log_enabled(enum mx_log_level level)
{
    return level < MX_LOG_SILENT && ((int)level >= atomic_load_explicit(&stream_level, memory_order_relaxed) ||
                                     (int)level >= atomic_load_explicit(&file_level, memory_order_relaxed));
}

void mx_log_write(enum mx_log_level level, const char *fmt, ...)
{
    if (!mx_log_enabled(level)) return;
    const int saved_errno = errno;
    char message[MESSAGE_BYTES];
    va_list args;
    va_start(args, fmt);
    const int length = vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    if (length >= 0) {
        if ((size_t)length >= sizeof message) mx_utf8_trim(message);
        size_t end = strlen(message);
        while (end > 0 && message[end - 1] == '\n') message[--end] = '\0';
        write_record(level, message, NULL);
    }
    errno = saved_errno;
}

int mx_log_level_parse(const char *text, enum mx_log_level *level)
{
    for (int i = MX_LOG_DEBUG; i <= MX_LOG_SILENT; i++) {
        if (strcmp(text, levels[i].name) != 0) continue;
        *level = (enum mx_log_level)i;
        return 0;
    }
    return MX_FAIL(MX_ERR_ARGUMENT, "choose debug, info, warn, error or silent", "unknown log level \"%s\"", text);
}

void mx_log_error(void)
{
    const struct mx_error *error = mx_error_last();
    if (error->code == 0 || !mx_log_enabled(MX_LOG_ERROR)) return;
    write_record(MX_LOG_ERROR, error->message[0] ? error->message : mx_error_text(error->code), error);
}

/* With the lock held. */
static int live_columns(void)
{
    FILE *stream = stream_ready();
    if (!logger.terminal || atomic_load_explicit(&stream_level, memory_order_relaxed) > MX_LOG_INFO) return 0;
    struct winsize size;
    if (ioctl(fileno(stream), TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return COLUMNS_USUAL - 1;
    return size.ws_col > 1 ? size.ws_col - 1 : 1; /* the last column would make some terminals wrap */
}

int mx_log_live_columns(void)
{
    const int saved_errno = errno;
    pthread_mutex_lock(&logger.lock);
    const int columns = live_columns();
    pthread_mutex_unlock(&logger.lock);
    errno = saved_errno;
    return columns;
}

void mx_log_live_draw(const char *text)
{
    const int saved_errno = errno;
    pthread_mutex_lock(&logger.lock);
    const int columns = live_columns();
    const bool had_line = logger.live[0] != '\0';
    size_t used = 0;
    for (int column = 0; column < columns && *text && used + 4 < sizeof logger.live; column++) {
        const size_t step = mx_text_printable(text, strlen(text));
        if (step == 0) {
            logger.live[used++] = '?';
            text++;
        } else {
            memcpy(logger.live + used, text, step);
            used += step;
            text += step;
        }
    }
    logger.live[used] = '\0';
    if (had_line || used > 0) {
        put(ERASE_LINE);
        put(logger.live);
        flush_line(stream_ready());
    }
    pthread_mutex_unlock(&logger.lock);
    errno = saved_errno;
}

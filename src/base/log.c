/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The logger of the process and its live line; see log.h for the format of the lines.
 *
 * Memory: all static. A line is assembled in one buffer and passed to the stream in one write, so that lines of several
 * processes on one terminal or in one file do not mix either.
 */
#include "base/log.h"

#include "base/clock.h"
#include "base/string.h"
#include "base/utf8.h"
#include "myxtts/error.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MESSAGE_BYTES 4096
#define LIVE_BYTES    1024
#define COLUMNS_USUAL 80
/* A byte becomes at most six in JSON; the rest is for the names of the fields, the time, colours and the live line. */
#define LINE_BYTES (6 * (MESSAGE_BYTES + sizeof(struct mx_error)) + LIVE_BYTES + 1024)

#define PATH_BYTES 256
#define COPY_BYTES 65536

#define ERASE_LINE "\r\033[K"

/* A file that messages are appended to. */
struct log_file {
    int fd;                /* -1: none; owned */
    char path[PATH_BYTES]; /* for messages, so it may be cut; "": the messages are held in memory */
    bool torn;             /* the last line was written only in part */
    uint64_t lost;         /* messages that could not be written since the last one that could */
};

enum { FILE_GIVEN, FILE_KEPT, FILES }; /* that of the options, and that of mx_log_hold and mx_log_keep */

/* `lock` protects everything here and all writing to the stream and the files. The text of the live line is what
 * stands on the terminal now, without a newline after it; "" is none, and it is always "" when not `terminal`. */
static struct {
    pthread_mutex_t lock;
    FILE *stream; /* NULL: stderr */
    struct log_file files[FILES];
    enum mx_log_format format;
    bool ready; /* `terminal` and `color` have been found out for the stream */
    bool no_color, terminal, color;
    char live[LIVE_BYTES];
    char line[LINE_BYTES];
    size_t line_length;
} logger = {.lock = PTHREAD_MUTEX_INITIALIZER, .files = {{.fd = -1}, {.fd = -1}}};

/* Lowest levels that the stream and the files accept. Atomic because mx_log_enabled reads them without the lock; written
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

/* Without control bytes, which could manipulate a terminal: names of files may contain anything. */
static void put_clean(const char *text)
{
    for (size_t left = strlen(text); left > 0;) {
        const bool blank = *text == '\n' || *text == '\t';
        const size_t step = blank ? 1 : mx_string_printable(text, left);
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

/* Writes the line to `out` in one write and starts a new one. */
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
    flush_line(stream); /* losing the terminal does not stop the program */
}

/* A message of the logger itself: to the stream only. */
static void stream_warn(const struct record *like, const char *text)
{
    const struct record warning = {.level = MX_LOG_WARN, .message = text, .time = like->time};
    if (atomic_load_explicit(&stream_level, memory_order_relaxed) <= MX_LOG_WARN) write_stream(&warning);
}

/* Writes the line to the file and starts a new one; false, with errno, if it could not be written whole. */
static bool flush_file(struct log_file *file)
{
    size_t at = 0;
    while (at < logger.line_length) {
        const ssize_t done = write(file->fd, logger.line + at, logger.line_length - at);
        if (done < 0 && errno == EINTR) continue;
        if (done == 0) errno = ENOSPC;
        if (done <= 0) break;
        at += (size_t)done;
    }
    const bool whole = at == logger.line_length;
    if (at > 0) file->torn = !whole;
    logger.line_length = 0;
    return whole;
}

static void put_record(const struct record *record)
{
    const bool with_place = atomic_load_explicit(&stream_level, memory_order_relaxed) == MX_LOG_DEBUG;
    if (logger.format == MX_LOG_JSON)
        put_record_json(record, with_place);
    else
        put_record_file(record, with_place);
}

/* A file that cannot be written (full disk) is tried again with each message; what was lost is counted in it. */
static void write_file(struct log_file *file, const struct record *record)
{
    char text[PATH_BYTES + 160];
    if (file->torn) put("\n");
    if (file->lost > 0) {
        snprintf(text, sizeof text, "%" PRIu64 " messages before this one could not be written here", file->lost);
        put_record(&(struct record){.level = MX_LOG_WARN, .message = text, .time = record->time});
    }
    put_record(record);
    if (flush_file(file)) {
        file->lost = 0;
        return;
    }
    if (file->lost++ > 0) return;
    char reason[96];
    snprintf(text, sizeof text, "the log file %s cannot be written: %s; what is lost will be counted in it", file->path,
             strerror_r(errno, reason, sizeof reason));
    stream_warn(record, text);
}

static void write_record(enum mx_log_level level, const char *message, const struct mx_error *error)
{
    const int saved_errno = errno;
    char time[32];
    mx_clock_wall_text(time, sizeof time);
    const struct record record = {.level = level, .message = message, .time = time, .error = error};
    pthread_mutex_lock(&logger.lock);
    if ((int)level >= atomic_load_explicit(&stream_level, memory_order_relaxed)) write_stream(&record);
    for (int i = 0; i < FILES && (int)level >= atomic_load_explicit(&file_level, memory_order_relaxed); i++)
        if (logger.files[i].fd >= 0) write_file(&logger.files[i], &record);
    pthread_mutex_unlock(&logger.lock);
    errno = saved_errno;
}

/* With the lock held: the file becomes what is open as `fd`. */
static void file_set(struct log_file *file, int fd, const char *path)
{
    bool any = false;
    if (file->fd >= 0) close(file->fd);
    *file = (struct log_file){.fd = fd};
    snprintf(file->path, sizeof file->path, "%s", path != NULL ? path : "");
    for (int i = 0; i < FILES; i++) any = any || logger.files[i].fd >= 0;
    atomic_store_explicit(&file_level, any ? MX_LOG_INFO : MX_LOG_SILENT, memory_order_relaxed);
}

/* Without waiting for the reader of a pipe: one that has none is an error. `links`: O_NOFOLLOW or 0. */
static int file_open(const char *path, int links, int *fd)
{
    *fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK | O_CLOEXEC | links, 0666);
    if (*fd >= 0 && fcntl(*fd, F_SETFL, O_APPEND) == 0) return 0;
    if (*fd < 0 && errno == ELOOP && links != 0)
        return MX_FAIL(MX_ERR_IO, "remove the link: what the program writes into a folder of its own stays there",
                       "\"%s\" is a symbolic link to another file, which would get the log", path);
    return MX_FAIL(MX_ERR_IO, "name a file in a folder that exists and that you may write to",
                   "cannot open log file \"%s\": %s", path, strerror(errno));
}

/* ---- the interface ---- */

int mx_log_configure(const struct mx_log_options *options)
{
    static const struct mx_log_options defaults = {.level = MX_LOG_INFO};
    int fd = -1;
    if (!options) options = &defaults;
    if ((int)options->level < MX_LOG_DEBUG || options->level > MX_LOG_SILENT) {
        return MX_FAIL(MX_ERR_ARGUMENT, "choose debug, info, warn, error or silent", "log level %d is out of range",
                       (int)options->level);
    }
    const int rc = options->file != NULL ? file_open(options->file, 0, &fd) : 0;
    if (rc < 0) return rc;
    pthread_mutex_lock(&logger.lock);
    if (logger.live[0]) {
        put(ERASE_LINE);
        flush_line(stream_ready());
        logger.live[0] = '\0';
    }
    file_set(&logger.files[FILE_GIVEN], fd, options->file);
    file_set(&logger.files[FILE_KEPT], -1, NULL);
    logger.stream = options->stream;
    logger.format = options->format;
    logger.no_color = options->no_color;
    logger.ready = false;
    atomic_store_explicit(&stream_level, (int)options->level, memory_order_relaxed);
    pthread_mutex_unlock(&logger.lock);
    return 0;
}

int mx_log_hold(void)
{
    const int fd = memfd_create("log", MFD_CLOEXEC);
    if (fd < 0) return MX_FAIL(MX_ERR_NO_MEMORY, NULL, "cannot hold messages in memory: %s", strerror(errno));
    pthread_mutex_lock(&logger.lock);
    file_set(&logger.files[FILE_KEPT], fd, NULL);
    pthread_mutex_unlock(&logger.lock);
    return 0;
}

/* Appends all that `from` holds to `to`; false, with errno, if that fails. */
static bool held_copy(int from, int to)
{
    static char bytes[COPY_BYTES]; /* the lock is held */
    if (lseek(from, 0, SEEK_SET) != 0) return false;
    for (;;) {
        const ssize_t got = read(from, bytes, sizeof bytes);
        if (got <= 0) return got == 0;
        for (ssize_t at = 0; at < got;) {
            const ssize_t done = write(to, bytes + at, (size_t)(got - at));
            if (done < 0 && errno != EINTR) return false;
            if (done > 0) at += done;
        }
    }
}

int mx_log_keep(const char *path)
{
    int fd = -1;
    const int rc = file_open(path, O_NOFOLLOW, &fd);
    if (rc < 0) return rc;
    pthread_mutex_lock(&logger.lock);
    struct log_file *const file = &logger.files[FILE_KEPT];
    const bool whole = file->fd < 0 || file->path[0] != '\0' || held_copy(file->fd, fd);
    const int reason = errno;
    file_set(file, fd, path);
    file->torn = !whole;
    pthread_mutex_unlock(&logger.lock);
    if (!whole) mx_warn("the first messages are missing from %s: %s", path, strerror(reason));
    return 0;
}

bool mx_log_in_file(dev_t device, ino_t inode)
{
    bool same = false;
    struct stat status;
    pthread_mutex_lock(&logger.lock);
    for (int i = 0; i < FILES && !same; i++)
        same = logger.files[i].fd >= 0 && fstat(logger.files[i].fd, &status) == 0 && status.st_dev == device &&
               status.st_ino == inode;
    pthread_mutex_unlock(&logger.lock);
    return same;
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
        const size_t step = mx_string_printable(text, strlen(text));
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

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Event files, see tfevents.h.
 */
#include "observe/tfevents.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "myxtts/error.h"
#include "observe/keep.h"

#define FILE_MAX    ((size_t)64 << 20) /* of a picture or a sound */
#define FILES_LEAST 4                  /* that share the limit, so that deleting the oldest keeps most of the data */
#define NAMES       100                /* starts within one second at the same step: more than enough */

struct mx_tfevents {
    int file;
    char *folder, *path;
    int64_t step;             /* of the newest event */
    uint64_t most_bytes;      /* of all files; 0: no limit */
    uint64_t file_bytes;      /* of this file */
    uint64_t others_bytes;    /* of the files before it */
    struct mx_protobuf bytes; /* whole records that are not in the file yet */
    uint64_t written_ns;      /* when the last ones were */
    bool warned;
};

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* ---- the file ---- */

static int file_create(struct mx_tfevents *events, const char *folder, int64_t step)
{
    const long long seconds = (long long)time(NULL);
    for (int i = 0; i < NAMES; i++) {
        char more[8] = "";
        if (i > 0) snprintf(more, sizeof more, ".%02d", i);
        mx_free(events->path);
        events->path = mx_format("%s/events.out.tfevents.%010lld.%08" PRId64 ".myxtts%s", folder, seconds, step, more);
        if (events->path == NULL) return MX_ERR_NO_MEMORY;
        events->file = open(events->path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
        if (events->file >= 0) return 0;
        if (errno != EEXIST) break;
    }
    return MX_FAIL(MX_ERR_IO, "check the folder and its permissions, or train with '--tensorboard off'",
                   "cannot make %s: %s", events->path, strerror(errno));
}

static void warn(struct mx_tfevents *events, const char *why)
{
    if (!events->warned)
        mx_warn("%s cannot be written (%s): TensorBoard will not see all of this run; training continues", events->path,
                why);
    events->warned = true;
}

/* The name of the file alone. */
static const char *name_of(const struct mx_tfevents *events)
{
    return events->path + strlen(events->folder) + 1;
}

/* Starts another file when this one has its share of the limit, and deletes the oldest when all together exceed it. */
static void limit_keep(struct mx_tfevents *events)
{
    if (events->most_bytes == 0 || events->file < 0) return;
    if (events->file_bytes > events->most_bytes / FILES_LEAST) {
        close(events->file);
        events->file = -1;
        events->others_bytes += events->file_bytes;
        events->file_bytes = 0;
        if (file_create(events, events->folder, events->step) < 0) {
            warn(events, mx_error_last()->message);
            mx_error_clear();
            return;
        }
        mx_tfevent_version(&events->bytes, now()); /* for the next flush */
    }
    if (events->others_bytes + events->file_bytes > events->most_bytes)
        events->others_bytes = mx_keep_events(events->folder, name_of(events), events->most_bytes);
}

int mx_tfevents_open(const char *folder, int64_t step, uint64_t most_bytes, struct mx_tfevents **out)
{
    int rc = 0;
    struct mx_tfevents *events = mx_alloc(1, sizeof *events);
    *out = NULL;
    if (events == NULL) return MX_ERR_NO_MEMORY;
    events->file = -1;
    events->step = step;
    events->most_bytes = most_bytes;
    events->folder = mx_strdup(folder);
    if (events->folder == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    events->written_ns = mx_clock_ns();
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        MX_RAISE(MX_ERR_IO, "check the folder and its permissions, or train with '--tensorboard off'",
                 "cannot make the folder %s: %s", folder, strerror(errno));
    MX_TRY(mx_file_refuse_link(folder));
    MX_TRY(file_create(events, folder, step));
    if (most_bytes > 0) events->others_bytes = mx_keep_events(folder, name_of(events), most_bytes);
    /* All that a step needs, taken now; a picture or a sound may need more. */
    events->bytes.data = mx_alloc(2, MX_TFEVENTS_BYTES);
    if (events->bytes.data == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    events->bytes.capacity = (size_t)2 * MX_TFEVENTS_BYTES;
    mx_tfevent_version(&events->bytes, now());
    mx_tfevent_start(&events->bytes, now(), step + 1);
    mx_tfevents_flush(events);
    *out = events;
    events = NULL;
out:
    mx_tfevents_close(events);
    return rc;
}

void mx_tfevents_close(struct mx_tfevents *events)
{
    if (events == NULL) return;
    mx_tfevents_flush(events);
    if (events->file >= 0) close(events->file);
    mx_protobuf_release(&events->bytes);
    mx_free(events->path);
    mx_free(events->folder);
    mx_free(events);
}

const char *mx_tfevents_path(const struct mx_tfevents *events)
{
    return events->path;
}

/* All or nothing: a partly written record is truncated, so that readers never find half a
 * record in the middle of a file. */
void mx_tfevents_flush(struct mx_tfevents *events)
{
    if (events == NULL) return;
    struct mx_protobuf *const b = &events->bytes;
    if (events->file < 0) b->length = 0;
    const off_t before = b->length > 0 ? lseek(events->file, 0, SEEK_END) : 0;
    size_t at = 0;
    int reason = 0;
    events->written_ns = mx_clock_ns();
    while (at < b->length) {
        const ssize_t done = write(events->file, b->data + at, b->length - at);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) {
            reason = done < 0 ? errno : ENOSPC;
            break;
        }
        at += (size_t)done;
    }
    if (reason != 0) warn(events, strerror(reason));
    if (reason != 0 && at > 0 && (before < 0 || ftruncate(events->file, before) != 0)) {
        close(events->file); /* half a record is at its end: nothing may follow */
        events->file = -1;
    }
    if (reason == 0) events->file_bytes += b->length;
    b->length = 0;
    limit_keep(events);
}

/* After each event. */
static void collect(struct mx_tfevents *events, int64_t step)
{
    events->step = step;
    if (events->bytes.failure != 0) { /* the record is not there; the next ones may fit */
        warn(events, "out of memory");
        mx_error_clear();
        events->bytes.failure = 0;
    }
    const uint64_t age = mx_clock_ns() - events->written_ns;
    if (events->bytes.length >= MX_TFEVENTS_BYTES || age >= (uint64_t)MX_TFEVENTS_SECONDS * 1000000000u)
        mx_tfevents_flush(events);
}

/* ---- events ---- */

void mx_tfevents_scalars(struct mx_tfevents *events, int64_t step, const struct mx_tfevent_scalar *scalars,
                         size_t count)
{
    if (events == NULL) return;
    mx_tfevent_scalars(&events->bytes, now(), step, scalars, count);
    collect(events, step);
}

void mx_tfevents_text(struct mx_tfevents *events, int64_t step, const char *tag, const char *text)
{
    if (events == NULL) return;
    mx_tfevent_text(&events->bytes, &(struct mx_tfevent_key){now(), step, tag}, text);
    collect(events, step);
}

/* The bytes of a file of the run; NULL: it does not exist, or cannot be read, which is warned about once. */
static char *file_read(struct mx_tfevents *events, const char *path, size_t *bytes)
{
    char *data = NULL;
    if (events == NULL) return NULL;
    const int rc = mx_file_read(path, FILE_MAX, &data, bytes);
    if (rc < 0 && rc != MX_ERR_NOT_FOUND) warn(events, mx_error_last()->message);
    if (rc < 0) mx_error_clear();
    return rc < 0 ? NULL : data;
}

static uint32_t number(const char *data, bool big_endian)
{
    uint32_t value = 0;
    for (int i = 0; i < 4; i++) value = value << 8 | (unsigned char)data[big_endian ? i : 3 - i];
    return value;
}

void mx_tfevents_png(struct mx_tfevents *events, int64_t step, const char *tag, const char *path)
{
    size_t bytes;
    char *const data = file_read(events, path, &bytes);
    if (data == NULL) return;
    if (bytes >= 24) { /* signature, length, "IHDR", width, height */
        mx_tfevent_image(&events->bytes, &(struct mx_tfevent_key){now(), step, tag}, (int)number(data + 16, true),
                         (int)number(data + 20, true), data, bytes);
        collect(events, step);
    }
    mx_free(data);
}

void mx_tfevents_wav(struct mx_tfevents *events, int64_t step, const char *tag, const char *path)
{
    size_t bytes;
    char *const data = file_read(events, path, &bytes);
    if (data == NULL) return;
    if (bytes >= 44) { /* what speech/wav.h writes: rate at 24, bytes of a frame at 32 (two of them), samples from 44 */
        const int frame = (unsigned char)data[32];
        mx_tfevent_audio(&events->bytes, &(struct mx_tfevent_key){now(), step, tag}, (int)number(data + 24, false),
                         (int64_t)(bytes - 44) / (frame > 0 ? frame : 1), data, bytes);
        collect(events, step);
    }
    mx_free(data);
}

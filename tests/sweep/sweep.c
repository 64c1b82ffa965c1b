/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Failure sweeps, see sweep.h.
 */
#include "sweep/sweep.h"

#include <dirent.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <xxhash.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/rng.h"
#include "myxtts/error.h"

#define SETTLING_MS 5000
#define FILES_MAX   64
#define PATH_BYTES  400
#define FILE_LIMIT  ((size_t)64 << 20)
#define TOLD_MAX    25

uint64_t sweep_hash(uint64_t before, const void *data, size_t bytes)
{
    return bytes > 0 ? XXH64(data, bytes, before) : XXH64(&before, sizeof before, 1);
}

/* ---- the files of a folder ---- */

struct files {
    size_t count;
    struct {
        char path[PATH_BYTES];
        uint64_t hash;
    } items[FILES_MAX];
};

static void files_add(struct files *files, const char *folder)
{
    DIR *const list = opendir(folder);
    if (list == NULL) fail_msg("cannot read %s", folder);
    for (const struct dirent *entry; (entry = readdir(list)) != NULL;) {
        char path[PATH_BYTES];
        struct stat status;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        assert_true(snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) < (int)sizeof path);
        if (lstat(path, &status) != 0) fail_msg("cannot look at %s", path);
        if (S_ISDIR(status.st_mode)) {
            files_add(files, path);
            continue;
        }
        char *data;
        size_t bytes;
        assert_true(files->count < FILES_MAX);
        if (mx_file_read(path, FILE_LIMIT, &data, &bytes) < 0) fail_msg("%s", mx_error_last()->message);
        snprintf(files->items[files->count].path, PATH_BYTES, "%s", path);
        files->items[files->count++].hash = sweep_hash(0, data, bytes);
        mx_free(data);
    }
    closedir(list);
}

static struct files *files_of(const char *folder)
{
    struct files *const files = calloc(1, sizeof *files);
    assert_non_null(files);
    if (folder != NULL) files_add(files, folder);
    return files;
}

static const uint64_t *files_find(const struct files *files, const char *path)
{
    for (size_t i = 0; i < files->count; i++)
        if (strcmp(files->items[i].path, path) == 0) return &files->items[i].hash;
    return NULL;
}

static bool files_same(const struct files *a, const struct files *b)
{
    bool same = a->count == b->count;
    for (size_t i = 0; i < a->count && same; i++) {
        const uint64_t *const hash = files_find(b, a->items[i].path);
        same = hash != NULL && *hash == a->items[i].hash;
    }
    return same;
}

/* ---- one fault ---- */

struct state {
    const struct sweep *sweep;
    struct files *first, *last; /* before and after a run without faults */
    uint64_t wanted;
    enum fault_kind kind;
    bool lasting;
    uint64_t nth, faulty, survived;
};

/* What the handler of a crash prints; nothing else may be called there. */
static char present[200];

static void crash_name(int signal_number)
{
    const ssize_t ignored = write(STDERR_FILENO, present, strlen(present));
    (void)ignored;
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static void complain(struct state *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void complain(struct state *s, const char *format, ...)
{
    if (++s->faulty > TOLD_MAX && getenv("SWEEP_ALL") == NULL) return;
    va_list list;
    va_start(list, format);
    fprintf(stderr, "%s", present);
    vfprintf(stderr, format, list);
    fprintf(stderr, "\n");
    va_end(list);
}

/* The error of a run that failed. */
static void error_check(struct state *s, int rc)
{
    const struct mx_error *const error = mx_error_last();
    const bool memory = s->kind == FAULT_MEMORY || s->kind == FAULT_LIBRARY_MEMORY || s->kind == FAULT_THREAD;
    const int wanted = memory ? MX_ERR_NO_MEMORY : MX_ERR_IO;
    const char *const reason = faults_reason(s->kind);
    if (error->code != rc)
        complain(s, "returns %s, but the error is %s", mx_error_name(rc), mx_error_name(error->code));
    if (error->message[0] == '\0' || error->hint[0] == '\0')
        complain(s, "no message or no hint: \"%s\" (\"%s\")", error->message, error->hint);
    if (rc != wanted && (s->sweep->may_end == NULL || !s->sweep->may_end(s->kind, rc)))
        complain(s, "%s instead of %s: %s (%s) %s:%d", mx_error_name(rc), mx_error_name(wanted), error->message,
                 error->hint, error->file, error->line);
    else if (rc == MX_ERR_IO && reason != NULL && strstr(error->message, reason) == NULL)
        complain(s, "the message lacks \"%s\": %s", reason, error->message);
}

static void files_check(struct state *s)
{
    struct files *const now = files_of(s->sweep->folder);
    for (size_t i = 0; i < now->count; i++) {
        const char *const path = now->items[i].path;
        const uint64_t *const old = files_find(s->first, path), *const new = files_find(s->last, path);
        const uint64_t hash = now->items[i].hash;
        const bool known = (old != NULL && *old == hash) || (new != NULL &&*new == hash);
        if (!known && (s->sweep->may_stay == NULL || !s->sweep->may_stay(path)))
            complain(s, "leaves %s, which is neither old nor new", path);
    }
    for (size_t i = 0; i < s->first->count; i++) {
        const char *const path = s->first->items[i].path;
        if (files_find(s->last, path) != NULL && files_find(now, path) == NULL) complain(s, "%s is gone", path);
    }
    free(now);
}

/* The next call works: from what the fault left, a run comes to the end that it should have come to. */
static void again_check(struct state *s)
{
    uint64_t result = 0;
    mx_error_clear();
    const int rc = s->sweep->run(s->sweep->context, &result);
    if (rc < 0) {
        complain(s, "the next run fails: %s", mx_error_last()->message);
    } else if (result != s->wanted) {
        complain(s, "the next run has another result");
    } else if (s->sweep->folder != NULL) {
        struct files *const now = files_of(s->sweep->folder);
        if (!files_same(now, s->last)) complain(s, "the next run leaves other files");
        free(now);
    }
}

/* What is held when the threads of others, which may still be letting go of it, have had time to: only a leak waits. */
static struct faults_held held_settled(const struct faults_held *before)
{
    struct faults_held held = faults_held();
    for (int i = 0; i < SETTLING_MS && memcmp(&held, before, sizeof held) != 0; i++) {
        mx_clock_sleep_ns(1000000);
        held = faults_held();
    }
    return held;
}

/* Returns whether the fault happened. */
static bool fault_run(struct state *s)
{
    const struct sweep *const sweep = s->sweep;
    uint64_t hits, result = 0;
    snprintf(present, sizeof present, "%s, %s, %s %" PRIu64 ": ", sweep->name, faults_name(s->kind),
             s->lasting ? "from" : "number", s->nth);
    if (sweep->reset != NULL) sweep->reset(sweep->context);
    mx_error_clear();
    const struct faults_held before = faults_held();
    faults_arm(s->kind, s->nth, s->lasting);
    const int rc = sweep->run(sweep->context, &result);
    faults_disarm(&hits);
    const struct faults_held after = held_settled(&before);
    if (after.blocks != before.blocks) complain(s, "keeps %ld blocks of memory", after.blocks - before.blocks);
    if (after.descriptors != before.descriptors)
        complain(s, "keeps %ld descriptors", after.descriptors - before.descriptors);
    if (after.threads != before.threads) complain(s, "keeps %ld threads", after.threads - before.threads);
    if (rc < 0) {
        if (s->kind == FAULT_READ_SHORT || s->kind == FAULT_WRITE_SHORT || hits == 0)
            complain(s, "fails: %s", mx_error_last()->message);
        else
            error_check(s, rc);
    } else if (result != s->wanted) {
        complain(s, "succeeds with another result");
    }
    if (rc >= 0 && hits > 0) s->survived++;
    files_check(s);
    again_check(s);
    return hits > 0;
}

/* ---- all of them ---- */

/* Which faults are tried: the first `all`, and about `more` of those that follow, drawn at random. */
struct extent {
    uint64_t all, more;
};

/* Libraries make thousands of small allocations that are all alike, and what lasts is like what does not, except for the
 * calls that clean up. */
static struct extent extent_of(const struct sweep *sweep, enum fault_kind kind, bool lasting)
{
    if (sweep->few > 0 && !lasting) return (struct extent){sweep->few, sweep->few};
    if (kind == FAULT_LIBRARY_MEMORY || kind == FAULT_LIBRARY_READ) return (struct extent){30, 20};
    return lasting ? (struct extent){10, 10} : (struct extent){300, 60};
}

/* Returns how many calls there are; *tried: of these fail. */
static uint64_t kind_sweep(struct state *s, enum fault_kind kind, bool lasting, uint64_t *tried)
{
    const struct sweep *const sweep = s->sweep;
    uint64_t result;
    if (sweep->reset != NULL) sweep->reset(sweep->context);
    faults_arm(kind, 0, false);
    assert_true(sweep->run(sweep->context, &result) >= 0);
    const uint64_t count = faults_disarm(NULL);
    const struct extent extent = extent_of(sweep, kind, lasting && kind != FAULT_WRITE_FULL);
    const uint64_t stride = count > extent.all ? (count - extent.all) / extent.more + 1 : 1;
    s->kind = kind;
    s->lasting = lasting;
    s->nth = 1;
    *tried = 0;
    while (fault_run(s)) {
        ++*tried;
        s->nth += s->nth < extent.all ? 1 : 1 + mx_rng_below(7, kind, s->nth, 2 * stride - 1);
    }
    return count;
}

void sweep_run(const struct sweep *sweep)
{
    /* From then on, too: what is tried instead of what failed fails as well. */
    static const bool lasts[FAULT_KINDS] = {
        [FAULT_MEMORY] = true, [FAULT_OPEN] = true, [FAULT_READ] = true, [FAULT_WRITE] = true, [FAULT_THREAD] = true};
    struct state s = {.sweep = sweep};
    char line[1000] = "";
    signal(SIGSEGV, crash_name);
    signal(SIGABRT, crash_name);
    for (int i = 0; i < 3; i++) { /* what is made once per process is made now */
        if (sweep->reset != NULL) sweep->reset(sweep->context);
        if (i == 2) s.first = files_of(sweep->folder);
        if (sweep->run(sweep->context, &s.wanted) < 0) fail_msg("%s: %s", sweep->name, mx_error_last()->message);
    }
    s.last = files_of(sweep->folder);
    for (enum fault_kind kind = 0; kind < FAULT_KINDS; kind++) {
        uint64_t tried;
        const size_t at = strlen(line);
        const bool full = kind == FAULT_WRITE_FULL; /* lasts until somebody makes room */
        if (!faults_possible(kind) || (sweep->without >> (unsigned)kind & 1u) != 0) continue;
        const uint64_t count = kind_sweep(&s, kind, full, &tried);
        if (count == 0) continue;
        snprintf(line + at, sizeof line - at, "%s%" PRIu64 " %s", at > 0 ? ", " : "", count, faults_name(kind));
        if (tried < count) {
            const size_t end = strlen(line);
            snprintf(line + end, sizeof line - end, " (%" PRIu64 " of them tried)", tried);
        }
        if (lasts[kind]) kind_sweep(&s, kind, true, &tried);
    }
    free(s.first);
    free(s.last);
    if (s.faulty > TOLD_MAX) fprintf(stderr, "… and %" PRIu64 " more\n", s.faulty - TOLD_MAX);
    if (s.faulty > 0) fail_msg("%s: %" PRIu64 " failures did not end well", sweep->name, s.faulty);
    printf("%s: %s: all failed well, %" PRIu64 " were survived\n", sweep->name, line, s.survived);
}

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The folder of a training run, see folder.h.
 */
#include "run/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/string.h"
#include "checkpoint/checkpoint.h"
#include "myxtts/error.h"

#define LOG_FILE     "log.txt"
#define LOCK_AGAIN   100 /* how often the lock's file is opened again because it was removed meanwhile */
#define HOLDER_BYTES 256

int mx_job_folder_create(const char *path)
{
    int rc = 0;
    char *const copy = mx_strdup(path);
    if (copy == NULL) return MX_ERR_NO_MEMORY;
    for (char *at = copy + 1;; at++) {
        if (*at != '/' && *at != '\0') continue;
        const char end = *at;
        *at = '\0';
        if (mkdir(copy, 0777) != 0 && errno != EEXIST)
            MX_RAISE(MX_ERR_IO, "choose a folder that can be written to", "cannot make the folder %s: %s", copy,
                     strerror(errno));
        *at = end;
        if (end == '\0') break;
    }
out:
    mx_free(copy);
    return rc;
}

/* ---- the lock ---- */

static void holder_write(const struct mx_job_folder *folder)
{
    char text[HOLDER_BYTES], host[65] = "?", time[32];
    (void)gethostname(host, sizeof host - 1);
    mx_clock_wall_text(time, sizeof time);
    const int length = snprintf(text, sizeof text, "process %ld on %s since %s\n", (long)getpid(), host, time);
    /* On a full disk, others only do not learn which process it is. */
    if (ftruncate(folder->lock, 0) != 0 || pwrite(folder->lock, text, (size_t)length, 0) != length)
        mx_debug("%s/" MX_JOB_LOCK " cannot be written: %s", folder->run, strerror(errno));
}

static int held_by_another(const struct mx_job_folder *folder)
{
    char holder[HOLDER_BYTES];
    const ssize_t got = pread(folder->lock, holder, sizeof holder - 1, 0);
    holder[got > 0 ? got : 0] = '\0';
    holder[strcspn(holder, "\n")] = '\0';
    return MX_FAIL(MX_ERR_IO, "wait until it has ended, or end it; or give this run another folder",
                   "another training run writes to %s: %s", folder->run, got > 0 ? holder : "it has just begun");
}

/* One try; *gone: the file was removed before it was locked, so that another process may lock a new one. */
static int lock_try(struct mx_job_folder *folder, const char *path, bool *gone)
{
    struct stat held, named;
    *gone = false;
    folder->lock = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    folder->lock_made = folder->lock >= 0;
    if (folder->lock < 0 && errno == EEXIST) folder->lock = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (folder->lock < 0 && errno == ENOENT) {
        *gone = true;
        return 0;
    }
    if (folder->lock < 0)
        return MX_FAIL(MX_ERR_IO, "a run needs a folder that can be written to", "cannot open %s: %s", path,
                       strerror(errno));
    if (flock(folder->lock, LOCK_EX | LOCK_NB) != 0) {
        if (errno == EWOULDBLOCK) return held_by_another(folder);
        mx_warn("%s cannot be locked (%s): make sure that no other training run writes there", folder->run,
                strerror(errno));
    }
    *gone = fstat(folder->lock, &held) != 0 || stat(path, &named) != 0 || held.st_dev != named.st_dev ||
            held.st_ino != named.st_ino;
    return 0;
}

static int lock_acquire(struct mx_job_folder *folder)
{
    int rc = 0;
    bool gone = true;
    char *const path = mx_format("%s/" MX_JOB_LOCK, folder->run);
    if (path == NULL) return MX_ERR_NO_MEMORY;
    for (int i = 0; i < LOCK_AGAIN && gone; i++) {
        if (folder->lock >= 0) close(folder->lock);
        folder->lock = -1;
        MX_TRY(lock_try(folder, path, &gone));
    }
    if (gone) MX_RAISE(MX_ERR_IO, "find out what removes it", "%s keeps being removed", path);
    holder_write(folder);
out:
    if (rc < 0 && folder->lock >= 0) {
        close(folder->lock);
        folder->lock = -1;
    }
    mx_free(path);
    return rc;
}

/* ---- what is in it ---- */

int mx_job_folder_saved(const char *run, bool *found)
{
    const struct mx_error before = *mx_error_last(); /* a run that failed calls this, too */
    DIR *list = NULL;
    const struct dirent *entry = NULL;
    char *const path = mx_format("%s/" MX_CHECKPOINT_FOLDER, run);
    *found = false;
    if (path == NULL) return MX_ERR_NO_MEMORY;
    int rc = mx_file_list_open(path, &list);
    while (rc == 0 && !*found && (rc = mx_file_list_next(list, path, &entry)) == 0 && entry != NULL) {
        /* A process that was killed while it saved leaves step-N.safetensors.PROCESS-SERIAL.tmp, which is none. */
        const char *const kind = strchr(entry->d_name, '.');
        *found = strncmp(entry->d_name, "step-", 5) == 0 && kind != NULL && strcmp(kind, ".safetensors") == 0;
    }
    if (list != NULL) closedir(list);
    mx_free(path);
    if (rc != MX_ERR_NOT_FOUND) return rc;
    mx_error_restore(&before);
    return 0;
}

/* Does this process itself write to it, by a redirection or --log-file? */
static bool own_output(int list, const char *name)
{
    struct stat entry, stream;
    if (fstatat(list, name, &entry, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(entry.st_mode)) return false;
    for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++)
        if (fstat(fd, &stream) == 0 && stream.st_dev == entry.st_dev && stream.st_ino == entry.st_ino) return true;
    return mx_log_in_file(entry.st_dev, entry.st_ino);
}

/* *ours: a run was begun there; *others: there is something else. */
static void entries_inspect(const char *run, bool *ours, bool *others)
{
    *ours = *others = false;
    DIR *const list = opendir(run);
    if (list == NULL) return; /* it is not there, or what is wrong shows when it is used */
    for (const struct dirent *entry = readdir(list); entry != NULL; entry = readdir(list)) {
        const char *const name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || own_output(dirfd(list), name)) continue;
        if (strcmp(name, MX_JOB_LOCK) == 0)
            *ours = true;
        else
            *others = true;
    }
    closedir(list);
}

/* The first folder of the path that is not there; NULL: all are. The caller frees. */
static int missing_find(const char *path, char **out)
{
    struct stat status;
    char *const copy = mx_strdup(path);
    *out = NULL;
    if (copy == NULL) return MX_ERR_NO_MEMORY;
    for (char *at = copy + 1;; at++) {
        if (*at != '/' && *at != '\0') continue;
        const char end = *at;
        *at = '\0';
        if (stat(copy, &status) != 0 && errno == ENOENT) {
            *out = copy;
            return 0;
        }
        *at = end;
        if (end == '\0') break;
    }
    mx_free(copy);
    return 0;
}

/* ---- what a killed process left ---- */

/* Is it NAME.PROCESS-SERIAL.tmp (base/file.c), with a NAME that a run has, of a process that does not live any more? */
static bool is_leftover(const char *name)
{
    static const char *const kinds[] = {".yaml", ".json", ".html", ".tsv", ".wav", ".png", ".safetensors"};
    long process = 0;
    int after = -1;
    bool ours = false;
    const char *at = strchr(name, '.'), *kind = at;
    if (at != NULL) at = strchr(at + 1, '.');
    if (at == NULL) return false;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && !ours; i++)
        ours = strncmp(kind, kinds[i], strlen(kinds[i])) == 0 && kind + strlen(kinds[i]) == at;
    if (!ours || sscanf(at, ".%9ld-%*9u.tmp%n", &process, &after) != 1 || after < 0 || at[after] != '\0') return false;
    /* `myxtts report` may write its page now. Of this process there is nothing yet. */
    return process == (long)getpid() || (process > 0 && kill((pid_t)process, 0) != 0 && errno == ESRCH);
}

/* Removes leftovers from `name` and, `depth` times, from folders in it. Returns how many there were. */
static int leftovers_remove(int above, const char *name, int depth)
{
    int count = 0;
    const int follow = above == AT_FDCWD ? 0 : O_NOFOLLOW; /* the run folder itself may be a link */
    const int fd = openat(above, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | follow);
    DIR *const list = fd >= 0 ? fdopendir(fd) : NULL;
    if (list == NULL && fd >= 0) close(fd);
    if (list == NULL) return 0; /* it is not there, or what is wrong shows when it is used */
    for (const struct dirent *entry = readdir(list); entry != NULL; entry = readdir(list)) {
        if (is_leftover(entry->d_name))
            count += unlinkat(dirfd(list), entry->d_name, 0) == 0;
        else if (depth > 0 && entry->d_name[0] != '.')
            count += leftovers_remove(dirfd(list), entry->d_name, depth - 1);
    }
    closedir(list);
    return count;
}

/* ---- a new run ---- */

static int new_check(struct mx_job_folder *folder)
{
    bool found, ours, others;
    const int rc = mx_job_folder_saved(folder->run, &found);
    if (rc < 0) return rc;
    if (found) {
        MX_FAIL(MX_ERR_USAGE, NULL, "%s already holds a run", folder->run);
        return mx_error_hint("continue it with '--resume %s', or choose another '--output'", folder->run);
    }
    entries_inspect(folder->run, &ours, &others);
    if (others && !ours)
        return MX_FAIL(MX_ERR_USAGE, "choose another '--output': a folder that is empty or does not exist yet",
                       "%s is not empty and holds no run: its files could be overwritten", folder->run);
    folder->fresh = !ours;
    return 0;
}

/* Has a command that was refused made everything that is in the folder? */
static bool all_made_now(const char *run, const char *const *names, int count)
{
    bool all = true;
    const struct dirent *entry = NULL;
    DIR *list = NULL;
    const struct mx_error before = *mx_error_last(); /* why the command was refused */
    int rc = mx_file_list_open(run, &list);
    while (rc == 0 && all && (rc = mx_file_list_next(list, run, &entry)) == 0 && entry != NULL) {
        all = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
        for (int i = 0; i < count && !all; i++) all = strcmp(entry->d_name, names[i]) == 0;
    }
    if (list != NULL) closedir(list);
    mx_error_restore(&before);
    return all && rc == 0; /* what cannot be read may be worth keeping */
}

/* Removes what was made of a new run, unless something is there that is worth keeping. */
static void new_remove(const struct mx_job_folder *folder)
{
    static const char *const names[] = {LOG_FILE,           MX_CHECKPOINT_FOLDER, "corpus.pack",
                                        "corpus.pack.part", MX_JOB_CUT,           MX_JOB_LOCK}; /* the lock last */
    const int count = sizeof names / sizeof names[0];
    if (!all_made_now(folder->run, names, count)) return;
    char *const cut = mx_format("%s/" MX_JOB_CUT, folder->run);
    if (cut != NULL && mx_file_remove_folder(cut) < 0) mx_error_clear(); /* then the run folder stays, too */
    mx_free(cut);
    for (int i = 0; i < count; i++) {
        char *const path = mx_format("%s/%s", folder->run, names[i]);
        if (path != NULL && unlink(path) != 0 && errno == EISDIR) (void)rmdir(path); /* only if it is empty */
        mx_free(path);
    }
    char *const path = mx_strdup(folder->run);
    while (path != NULL && folder->first_made != NULL && strlen(path) >= strlen(folder->first_made)) {
        if (rmdir(path) != 0) break;
        char *const slash = strrchr(path, '/');
        if (slash == NULL) break;
        *slash = '\0';
    }
    mx_free(path);
}

/* ---- links ---- */

/* Whoever may write to the folder could send the files of the run to another place. Files that are not in the list are
 * replaced as a whole, with what was in their place. */
static int links_refuse(const struct mx_job_folder *folder)
{
    static const char *const names[] = {MX_CHECKPOINT_FOLDER, "samples", "voices",  "tensorboard",
                                        "metrics.jsonl",      LOG_FILE,  MX_JOB_CUT};
    int rc = 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0] && rc == 0; i++) {
        char *const path = mx_format("%s/%s", folder->run, names[i]);
        rc = path == NULL ? MX_ERR_NO_MEMORY : mx_file_refuse_link(path);
        mx_free(path);
    }
    return rc;
}

/* ---- life ---- */

static int log_begin(const struct mx_job_folder *folder)
{
    char *const path = mx_format("%s/" LOG_FILE, folder->run);
    const int rc = path == NULL ? MX_ERR_NO_MEMORY : mx_log_keep(path);
    mx_free(path);
    return rc;
}

int mx_job_folder_open(struct mx_job_folder *folder, const char *run, bool resumed)
{
    int rc = 0;
    *folder = (struct mx_job_folder){.run = mx_strdup(run), .lock = -1};
    if (folder->run == NULL) return MX_ERR_NO_MEMORY;
    size_t length = strlen(folder->run);
    while (length > 1 && folder->run[length - 1] == '/') folder->run[--length] = '\0';
    if (!resumed) {
        MX_TRY(new_check(folder));
        MX_TRY(missing_find(folder->run, &folder->first_made));
        MX_TRY(mx_job_folder_create(folder->run));
    }
    MX_TRY(lock_acquire(folder));
    MX_TRY(links_refuse(folder));
    if (!resumed) {
        MX_TRY(new_check(folder)); /* once more: another one may have been faster */
        folder->fresh = folder->lock_made;
        if (folder->fresh) MX_TRY(log_begin(folder));
    }
out:
    return rc;
}

int mx_job_folder_accept(struct mx_job_folder *folder)
{
    int rc = 0;
    MX_TRY(mx_file_make_folder(folder->run, MX_CHECKPOINT_FOLDER));
    if (!folder->fresh) MX_TRY(log_begin(folder));
    const int leftovers = leftovers_remove(AT_FDCWD, folder->run, 2); /* samples/step-N is the deepest */
    if (leftovers > 0)
        mx_info("%s: deleted %d unfinished file%s of a killed process", folder->run, leftovers,
                leftovers == 1 ? "" : "s");
    folder->accepted = true;
out:
    return rc;
}

void mx_job_folder_close(struct mx_job_folder *folder)
{
    if (folder->run == NULL) return;
    if (folder->lock >= 0) {
        if (!folder->accepted && folder->fresh) {
            new_remove(folder);
        } else if (!folder->accepted && folder->lock_made) {
            char *const path = mx_format("%s/" MX_JOB_LOCK, folder->run);
            if (path != NULL) (void)unlink(path);
            mx_free(path);
        }
        (void)!ftruncate(folder->lock, 0); /* the lock is free */
        close(folder->lock);
    }
    mx_free(folder->run);
    mx_free(folder->first_made);
    *folder = (struct mx_job_folder){0};
}

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Faults on demand, see faults.h: the functions that our own code calls in place of those of the C library.
 */
#include "sweep/faults.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCKS ((size_t)1 << 16) /* room of the table; a power of two */

_Thread_local int faults_ours;

/* ---- which call fails ---- */

static atomic_int armed_kind = -1;
static atomic_bool armed_lasting;
static _Atomic uint64_t armed_nth, calls, failures;

void faults_arm(enum fault_kind kind, uint64_t nth, bool lasting)
{
    atomic_store(&calls, 0);
    atomic_store(&failures, 0);
    atomic_store(&armed_nth, nth);
    atomic_store(&armed_lasting, lasting);
    atomic_store(&armed_kind, (int)kind);
}

uint64_t faults_disarm(uint64_t *hits)
{
    atomic_store(&armed_kind, -1);
    if (hits != NULL) *hits = atomic_load(&failures);
    return atomic_load(&calls);
}

bool faults_over(void)
{
    return !atomic_load(&armed_lasting) && atomic_load(&failures) > 0;
}

static _Thread_local bool exempted;

void faults_exempt(bool exempt)
{
    exempted = exempt;
}

bool faults_armed(enum fault_kind kind)
{
    return !exempted && atomic_load(&armed_kind) == (int)kind;
}

bool faults_now(enum fault_kind kind)
{
    if (!faults_armed(kind)) return false;
    const uint64_t call = atomic_fetch_add(&calls, 1) + 1, nth = atomic_load(&armed_nth);
    if (nth == 0 || call < nth || (call > nth && !atomic_load(&armed_lasting))) return false;
    atomic_fetch_add(&failures, 1);
    return true;
}

static const struct {
    const char *name;
    int error;
} kinds[FAULT_KINDS] = {
    [FAULT_MEMORY] = {"allocations", 0},
    [FAULT_OPEN] = {"opened files", EMFILE},
    [FAULT_READ] = {"reads", EIO},
    [FAULT_READ_SHORT] = {"short reads", 0},
    [FAULT_WRITE] = {"writes", EIO},
    [FAULT_WRITE_SHORT] = {"short writes", 0},
    [FAULT_WRITE_FULL] = {"writes to a full disk", ENOSPC},
    [FAULT_THREAD] = {"threads", EAGAIN},
    [FAULT_LIBRARY_MEMORY] = {"allocations in libraries", 0},
    [FAULT_LIBRARY_READ] = {"reads in libraries", 0},
};

const char *faults_reason(enum fault_kind kind)
{
    return kinds[kind].error != 0 ? strerror(kinds[kind].error) : NULL;
}

const char *faults_name(enum fault_kind kind)
{
    return kinds[kind].name;
}

/* Sets errno if the call has to fail. */
static bool fails(enum fault_kind kind, int error)
{
    if (!faults_now(kind)) return false;
    errno = error;
    return true;
}

static bool is_file(int fd)
{
    struct stat status;
    return fd > STDERR_FILENO && fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

/* ---- memory ---- */

/* Protects the table: open addressing, NULL is a free place. A block is in it from the call that took it until the call
 * that frees it, whoever makes that call. */
static pthread_mutex_t blocks_lock = PTHREAD_MUTEX_INITIALIZER;
static void *blocks[BLOCKS];
static long block_count;

static size_t block_place(const void *block)
{
    return (size_t)(((uintptr_t)block >> 4) * UINT64_C(0x9E3779B97F4A7C15) >> 48) & (BLOCKS - 1);
}

static void *block_add(void *block)
{
    if (block == NULL) return NULL;
    pthread_mutex_lock(&blocks_lock);
    if (block_count + 1 >= (long)BLOCKS) abort(); /* more blocks than a small scenario has */
    size_t at = block_place(block);
    while (blocks[at] != NULL) at = (at + 1) & (BLOCKS - 1);
    blocks[at] = block;
    block_count++;
    pthread_mutex_unlock(&blocks_lock);
    return block;
}

/* What follows it moves up, so that no search ends too early. */
static void block_remove(const void *block)
{
    pthread_mutex_lock(&blocks_lock);
    size_t at = block_place(block);
    while (blocks[at] != NULL && blocks[at] != block) at = (at + 1) & (BLOCKS - 1);
    if (blocks[at] != NULL) {
        blocks[at] = NULL;
        block_count--;
        for (size_t next = (at + 1) & (BLOCKS - 1); blocks[next] != NULL; next = (next + 1) & (BLOCKS - 1)) {
            const size_t home = block_place(blocks[next]);
            if (((next - home) & (BLOCKS - 1)) < ((next - at) & (BLOCKS - 1))) continue;
            blocks[at] = blocks[next];
            blocks[next] = NULL;
            at = next;
        }
    }
    pthread_mutex_unlock(&blocks_lock);
}

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t bytes);
int __real_posix_memalign(void **out, size_t alignment, size_t bytes);
void __real_free(void *block);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *block, size_t bytes);
int __wrap_posix_memalign(void **out, size_t alignment, size_t bytes);
void __wrap_free(void *block);

void *__wrap_malloc(size_t bytes)
{
    if (fails(FAULT_MEMORY, ENOMEM)) return NULL;
    faults_ours++;
    void *const block = __real_malloc(bytes);
    faults_ours--;
    return block_add(block);
}

void *__wrap_calloc(size_t count, size_t size)
{
    if (fails(FAULT_MEMORY, ENOMEM)) return NULL;
    faults_ours++;
    void *const block = __real_calloc(count, size);
    faults_ours--;
    return block_add(block);
}

void *__wrap_realloc(void *block, size_t bytes)
{
    if (fails(FAULT_MEMORY, ENOMEM)) return NULL;
    if (block != NULL) block_remove(block); /* before another thread may get its place */
    faults_ours++;
    void *const moved = __real_realloc(block, bytes);
    faults_ours--;
    block_add(moved != NULL ? moved : block);
    return moved;
}

int __wrap_posix_memalign(void **out, size_t alignment, size_t bytes)
{
    if (faults_now(FAULT_MEMORY)) return ENOMEM;
    faults_ours++;
    const int error = __real_posix_memalign(out, alignment, bytes);
    faults_ours--;
    if (error == 0) block_add(*out);
    return error;
}

void __wrap_free(void *block)
{
    if (block != NULL) block_remove(block);
    __real_free(block);
}

/* ---- threads ---- */

static atomic_long threads;

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *context);
int __real_pthread_join(pthread_t thread, void **result);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *context);
int __wrap_pthread_join(pthread_t thread, void **result);

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *context)
{
    if (faults_now(FAULT_THREAD)) return EAGAIN;
    faults_ours++; /* the C library takes memory for a thread: that is a matter of FAULT_THREAD */
    const int error = __real_pthread_create(thread, attributes, run, context);
    faults_ours--;
    if (error == 0) atomic_fetch_add(&threads, 1);
    return error;
}

int __wrap_pthread_join(pthread_t thread, void **result)
{
    const int error = __real_pthread_join(thread, result);
    if (error == 0) atomic_fetch_sub(&threads, 1);
    return error;
}

struct faults_held faults_held(void)
{
    struct faults_held held = {.threads = atomic_load(&threads)};
    DIR *const list = opendir("/proc/self/fd");
    while (list != NULL && readdir(list) != NULL) held.descriptors++;
    if (list != NULL) closedir(list);
    pthread_mutex_lock(&blocks_lock);
    held.blocks = block_count;
    pthread_mutex_unlock(&blocks_lock);
    return held;
}

/* ---- what takes a descriptor ---- */

#define OPENS(type, failure, name, parameters, arguments)                                                              \
    type __real_##name parameters;                                                                                     \
    type __wrap_##name parameters;                                                                                     \
    type __wrap_##name parameters                                                                                      \
    {                                                                                                                  \
        return fails(FAULT_OPEN, EMFILE) ? (failure) : __real_##name arguments;                                        \
    }

OPENS(FILE *, NULL, fopen, (const char *path, const char *mode), (path, mode))
OPENS(DIR *, NULL, opendir, (const char *path), (path))
OPENS(int, -1, pipe2, (int ends[2], int flags), (ends, flags))
OPENS(int, -1, eventfd, (unsigned value, int flags), (value, flags))
OPENS(int, -1, socket, (int domain, int type, int protocol), (domain, type, protocol))
OPENS(int, -1, scandir,
      (const char *path, struct dirent ***list, int (*filter)(const struct dirent *),
       int (*compare)(const struct dirent **, const struct dirent **)),
      (path, list, filter, compare))

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __real_openat(int folder, const char *path, int flags, ...);
int __wrap_openat(int folder, const char *path, int flags, ...);

int __wrap_open(const char *path, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    const mode_t mode = flags & O_CREAT ? va_arg(list, mode_t) : 0;
    va_end(list);
    return fails(FAULT_OPEN, EMFILE) ? -1 : __real_open(path, flags, mode);
}

int __wrap_openat(int folder, const char *path, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    const mode_t mode = flags & O_CREAT ? va_arg(list, mode_t) : 0;
    va_end(list);
    return fails(FAULT_OPEN, EMFILE) ? -1 : __real_openat(folder, path, flags, mode);
}

/* ---- reading ---- */

ssize_t __real_read(int fd, void *out, size_t bytes);
ssize_t __wrap_read(int fd, void *out, size_t bytes);
ssize_t __real_pread(int fd, void *out, size_t bytes, off_t offset);
ssize_t __wrap_pread(int fd, void *out, size_t bytes, off_t offset);
struct dirent *__real_readdir(DIR *list);
struct dirent *__wrap_readdir(DIR *list);
void *__real_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset);

/* How many of `bytes` to read; -1: fail. */
static ssize_t read_room(int fd, size_t bytes)
{
    if (bytes == 0 || !is_file(fd)) return (ssize_t)bytes;
    if (fails(FAULT_READ, EIO)) return -1;
    return (ssize_t)(bytes > 1 && faults_now(FAULT_READ_SHORT) ? bytes / 2 : bytes);
}

ssize_t __wrap_read(int fd, void *out, size_t bytes)
{
    const ssize_t room = read_room(fd, bytes);
    faults_ours++;
    const ssize_t got = room < 0 ? -1 : __real_read(fd, out, (size_t)room);
    faults_ours--;
    return got;
}

ssize_t __wrap_pread(int fd, void *out, size_t bytes, off_t offset)
{
    const ssize_t room = read_room(fd, bytes);
    return room < 0 ? -1 : __real_pread(fd, out, (size_t)room, offset);
}

struct dirent *__wrap_readdir(DIR *list)
{
    return fails(FAULT_READ, EIO) ? NULL : __real_readdir(list);
}

void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    if (fails(fd < 0 ? FAULT_MEMORY : FAULT_READ, fd < 0 ? ENOMEM : EIO)) return MAP_FAILED;
    return __real_mmap(at, bytes, protection, flags, fd, offset);
}

/* ---- writing ---- */

ssize_t __real_write(int fd, const void *data, size_t bytes);
ssize_t __wrap_write(int fd, const void *data, size_t bytes);
ssize_t __real_pwrite(int fd, const void *data, size_t bytes, off_t offset);
ssize_t __wrap_pwrite(int fd, const void *data, size_t bytes, off_t offset);
int __wrap_fsync(int fd);
int __real_ftruncate(int fd, off_t bytes);
int __wrap_ftruncate(int fd, off_t bytes);

/* How many of `bytes` to write; -1: fail. A full disk takes half of the first block that does not fit, and what replaces
 * bytes that are there already. */
static ssize_t write_room(int fd, size_t bytes, off_t end)
{
    struct stat status;
    if (bytes == 0 || !is_file(fd)) return (ssize_t)bytes;
    if (fails(FAULT_WRITE, EIO)) return -1;
    if (fstat(fd, &status) == 0 && end > status.st_size && faults_now(FAULT_WRITE_FULL)) {
        if (atomic_load(&failures) == 1 && bytes > 1) return (ssize_t)(bytes / 2);
        errno = ENOSPC;
        return -1;
    }
    return (ssize_t)(bytes > 1 && faults_now(FAULT_WRITE_SHORT) ? bytes / 2 : bytes);
}

ssize_t __wrap_write(int fd, const void *data, size_t bytes)
{
    const ssize_t room = write_room(fd, bytes, lseek(fd, 0, SEEK_CUR) + (off_t)bytes);
    return room < 0 ? -1 : __real_write(fd, data, (size_t)room);
}

ssize_t __wrap_pwrite(int fd, const void *data, size_t bytes, off_t offset)
{
    const ssize_t room = write_room(fd, bytes, offset + (off_t)bytes);
    return room < 0 ? -1 : __real_pwrite(fd, data, (size_t)room, offset);
}

int __wrap_fsync(int fd)
{
    if (fails(FAULT_WRITE, EIO) || fails(FAULT_WRITE_FULL, ENOSPC)) return -1;
    (void)fd; /* no power is cut here, and waiting for the disk takes longer than all the rest */
    return 0;
}

int __wrap_ftruncate(int fd, off_t bytes)
{
    return fails(FAULT_WRITE, EIO) ? -1 : __real_ftruncate(fd, bytes);
}

#define WRITES(name, parameters, arguments)                                                                            \
    int __real_##name parameters;                                                                                      \
    int __wrap_##name parameters;                                                                                      \
    int __wrap_##name parameters                                                                                       \
    {                                                                                                                  \
        return fails(FAULT_WRITE, EIO) ? -1 : __real_##name arguments;                                                 \
    }

WRITES(rename, (const char *from, const char *to), (from, to))
WRITES(link, (const char *from, const char *to), (from, to))
WRITES(mkdir, (const char *path, mode_t mode), (path, mode))

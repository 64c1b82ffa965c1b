/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Faults inside libraries, see faults.h: functions of the program with the names of those of the C library, which the
 * dynamic linker prefers for all libraries. A sanitizer has its own in this place, so this file is empty then.
 *
 * Linked into tests/test_sweep_*.c only. Owns no memory.
 */
#include "sweep/faults.h"

#ifdef MX_SWEEP_LIBRARIES

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/types.h>

/* What glibc calls itself. */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t bytes);

void *malloc(size_t bytes);
void *calloc(size_t count, size_t size);
void *realloc(void *block, size_t bytes);
ssize_t read(int fd, void *out, size_t bytes);

/* ICU 72 uses memory without a look at whether it got any (Formattable::setDecimalNumber, for one) and crashes. */
static bool cannot_bear(const void *caller)
{
    Dl_info found;
    return dladdr(caller, &found) != 0 && found.dli_fname != NULL && strstr(found.dli_fname, "/libicu") != NULL;
}

static bool fails(enum fault_kind kind, int error, const void *caller)
{
    if (faults_ours > 0 || !faults_armed(kind) || cannot_bear(caller) || !faults_now(kind)) return false;
    errno = error;
    return true;
}

void *malloc(size_t bytes)
{
    return fails(FAULT_LIBRARY_MEMORY, ENOMEM, __builtin_return_address(0)) ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t size)
{
    return fails(FAULT_LIBRARY_MEMORY, ENOMEM, __builtin_return_address(0)) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *block, size_t bytes)
{
    return fails(FAULT_LIBRARY_MEMORY, ENOMEM, __builtin_return_address(0)) ? NULL : __libc_realloc(block, bytes);
}

ssize_t read(int fd, void *out, size_t bytes)
{
    static ssize_t (*real)(int, void *, size_t);
    if (!__atomic_load_n(&real, __ATOMIC_RELAXED)) {
        void *const found = dlsym(RTLD_NEXT, "read");
        __atomic_store_n(&real, (ssize_t(*)(int, void *, size_t))found, __ATOMIC_RELAXED);
    }
    return fails(FAULT_LIBRARY_READ, EIO, __builtin_return_address(0)) ? -1 : real(fd, out, bytes);
}

bool faults_possible(enum fault_kind kind)
{
    (void)kind;
    return true;
}

#else

bool faults_possible(enum fault_kind kind)
{
    return kind != FAULT_LIBRARY_MEMORY && kind != FAULT_LIBRARY_READ;
}

#endif

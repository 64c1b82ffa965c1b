/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Faults on demand, for tests/test_sweep_*.c: the n-th allocation, read, write, opened file or thread fails.
 *
 * The linker leads the calls of our own code here (--wrap, see cmake/Checks.cmake), which works under the sanitizers,
 * too. Without a sanitizer, library.c stands in front of what libraries call as well.
 *
 * Reads and writes count for ordinary files only, not for pipes, sockets, and what the test prints.
 *
 * Memory: a table of the blocks that are alive, of fixed size. Threads: all functions may be called from any thread.
 */
#ifndef MX_TESTS_SWEEP_FAULTS_H
#define MX_TESTS_SWEEP_FAULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fault_kind {
    FAULT_MEMORY,         /* malloc and its relatives; ENOMEM */
    FAULT_OPEN,           /* files, folders, sockets: whatever takes a descriptor; EMFILE */
    FAULT_READ,           /* bytes of a file, entries of a folder, mappings; EIO */
    FAULT_READ_SHORT,     /* only half of the bytes are read, which is no error */
    FAULT_WRITE,          /* bytes, flushing, renaming and whatever else changes a folder; EIO */
    FAULT_WRITE_SHORT,    /* only half of the bytes are written, which is no error */
    FAULT_WRITE_FULL,     /* half of the bytes are written, from then on no file grows; ENOSPC */
    FAULT_THREAD,         /* EAGAIN */
    FAULT_LIBRARY_MEMORY, /* the same inside libraries */
    FAULT_LIBRARY_READ,
    FAULT_KINDS
};

/* From now on calls of this kind are counted, and the n-th one fails (0: none); `lasting`: so do all after it. */
void faults_arm(enum fault_kind kind, uint64_t nth, bool lasting);
/* Nothing fails any more. How many calls there were; *hits: how many of them failed. */
uint64_t faults_disarm(uint64_t *hits);
/* Whether the fault has happened and will not happen again. */
bool faults_over(void);
/* Calls of this thread neither fail nor count: for a client that stands in for another program. */
void faults_exempt(bool exempt);
/* What strerror says about a fault of this kind; NULL: a message need not contain it. */
const char *faults_reason(enum fault_kind kind);
/* "allocations" */
const char *faults_name(enum fault_kind kind);
/* Whether this build knows the kind. */
bool faults_possible(enum fault_kind kind);

/* What our own code holds at this moment: blocks of memory, descriptors, threads that nobody joined. */
struct faults_held {
    long blocks, descriptors, threads;
};
struct faults_held faults_held(void);

/* ---- for library.c ---- */

/* Whether calls of this kind and this thread are counted now. */
bool faults_armed(enum fault_kind kind);
/* Counts a call; true: it has to fail. */
bool faults_now(enum fault_kind kind);
/* Whether the call came through faults.c, and so from our own code. */
extern _Thread_local int faults_ours;

#endif

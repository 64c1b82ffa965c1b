/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The folder of a training run: who may write to it, and what a command that is refused leaves of it.
 *
 * One run has one writer: rank 0 holds a lock (flock) on RUN/myxtts.lock from before the first checkpoint is looked at
 * until it ends; the system takes it back when the process dies. While it is held the file says by whom:
 *
 *     process 4711 on HOST since 2026-01-31T12:34:56
 *
 * Its name also tells that the folder is one of ours, before there is a checkpoint. A command that is refused leaves
 * the folder as it found it: nothing of a run that is resumed is written before mx_job_folder_accept, and what was
 * made for a new one goes with mx_job_folder_close.
 *
 * Memory: a folder owns its texts and the lock.
 */
#ifndef MX_RUN_FOLDER_H
#define MX_RUN_FOLDER_H

#include <stdbool.h>

#define MX_JOB_LOCK "myxtts.lock"

struct mx_job_folder {
    char *run;        /* NULL: not open */
    char *first_made; /* of the folders above and it, the first that was made for it; NULL: all were there */
    int lock;         /* descriptor; valid while `run` is set */
    bool lock_made;   /* the file was not there */
    bool fresh;       /* there was nothing of a run in it */
    bool accepted;
};

int mx_job_folder_make(const char *path); /* with all folders above it */
/* Has it a checkpoint? What a run left that ended before its first one does not count. */
int mx_job_folder_saved(const char *run, bool *found);

/* Takes the folder of a new run (made if need be), or of one that goes on (`resumed`). MX_ERR_USAGE if it holds another
 * run or other files; MX_ERR_IO, naming the holder, if another process writes to it. The log of a new run
 * begins. */
int mx_job_folder_open(struct mx_job_folder *folder, const char *run, bool resumed);
/* The command is not refused any more: from now on what is written stays. The log of a run that goes on begins. */
int mx_job_folder_accept(struct mx_job_folder *folder);
/* Gives the lock back. Takes {0}, too. */
void mx_job_folder_close(struct mx_job_folder *folder);

#endif

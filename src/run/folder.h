/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The folder of a training run: who may write to it, and what a refused command leaves in it.
 *
 * A run has one writer: rank 0 holds a lock (flock) on RUN/myxtts.lock from before it looks at the first checkpoint
 * until it ends; the system releases the lock when the process dies. While it is held, the file names the holder:
 *
 *     process 4711 on HOST since 2026-01-31T12:34:56
 *
 * The file also marks the folder as one of ours before there is a checkpoint. A refused command leaves the folder as it
 * was: nothing is written to a resumed run before mx_job_folder_accept, and what was created for a new run is removed
 * by mx_job_folder_close.
 *
 * Memory: a folder owns its texts and the lock.
 */
#ifndef MX_RUN_FOLDER_H
#define MX_RUN_FOLDER_H

#include <stdbool.h>

#define MX_JOB_LOCK "myxtts.lock"
#define MX_JOB_CUT  "cut" /* folder of the pieces of long recordings */

struct mx_job_folder {
    char *run;        /* NULL: not open */
    char *first_made; /* the topmost folder that was created for it; NULL: all existed */
    int lock;         /* descriptor; valid while `run` is set */
    bool lock_made;   /* the lock file did not exist */
    bool fresh;       /* the folder held nothing of a run */
    bool accepted;
};

int mx_job_folder_create(const char *path); /* with all folders above it */
/* Does it have a checkpoint? The files of a run that ended before its first one do not count. */
int mx_job_folder_saved(const char *run, bool *found);

/* Takes the folder of a new run (created if necessary), or of a run that continues (`resumed`). MX_ERR_USAGE if it
 * holds another run or other files; MX_ERR_IO, naming the holder, if another process writes to it, and if a symbolic link
 * in it stands in the place of something that the run would write to. Starts the log of a
 * new run. */
int mx_job_folder_open(struct mx_job_folder *folder, const char *run, bool resumed);
/* The command will no longer be refused: everything written from now on stays. Starts the log of a resumed run. */
int mx_job_folder_accept(struct mx_job_folder *folder);
/* Releases the lock. Also accepts {0}. */
void mx_job_folder_close(struct mx_job_folder *folder);

#endif

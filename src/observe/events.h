/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Event files of a run for TensorBoard (`tensorboard --logdir RUN`), and whatever else reads them: numbers, pictures,
 * sounds and texts over the steps. The bytes are described in events_record.h.
 *
 *     RUN/tensorboard/events.out.tfevents.SECONDS.STEP.myxtts     one file for each start, in the order of their names
 *
 * With a limit, a start has several files, each of at most a quarter of it, and the oldest are deleted (keep.h).
 *
 * A file that goes on after step S tells readers to forget what earlier files have of later steps.
 *
 * Events are collected and written together, every MX_EVENTS_SECONDS and when there are many, so that a step costs a
 * few microseconds; a reader that looks earlier sees whole records only, or one that is cut off and that it reads again
 * later. What cannot be written (the disk is full) is a warning, once, and is missing from the file; training goes on,
 * and what comes later is tried again.
 *
 * Memory: the writer owns its file and its buffer, which grows for pictures and sounds and is kept. One thread.
 */
#ifndef MX_OBSERVE_EVENTS_H
#define MX_OBSERVE_EVENTS_H

#include <stdint.h>

#include "observe/events_record.h"

#define MX_EVENTS_SECONDS 5
#define MX_EVENTS_BYTES   (64 << 10) /* collected: then they are written at once */

struct mx_events;

/* Makes the folder and a new file that goes on after `step`. `most_bytes`: of all files in the folder; 0: no limit. */
int mx_events_open(const char *folder, int64_t step, uint64_t most_bytes, struct mx_events **out);
void mx_events_close(struct mx_events *events); /* writes the rest; NULL is fine */
void mx_events_flush(struct mx_events *events);

/* All take NULL for `events`: then they do nothing. */
void mx_events_scalars(struct mx_events *events, int64_t step, const struct mx_event_scalar *scalars, size_t count);
void mx_events_text(struct mx_events *events, int64_t step, const char *tag, const char *text);
/* Files of a run; one that is not there is passed over. */
void mx_events_png(struct mx_events *events, int64_t step, const char *tag, const char *path);
void mx_events_wav(struct mx_events *events, int64_t step, const char *tag, const char *path);

const char *mx_events_path(const struct mx_events *events); /* of the file */

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Event files of a run for TensorBoard (`tensorboard --logdir RUN`) and other readers: numbers, pictures, sounds and
 * texts over the steps. tfevents_record.h describes the bytes.
 *
 *     RUN/tensorboard/events.out.tfevents.SECONDS.STEP.myxtts     one file for each start, in the order of their names
 *
 * With a limit, a start has several files, each of at most a quarter of it, and the oldest are deleted (keep.h).
 *
 * A file that continues after step S makes readers discard what earlier files have for later steps.
 *
 * Events are collected and written together, every MX_TFEVENTS_SECONDS or when there are many, so a step costs a few
 * microseconds. A reader that looks earlier sees only complete records, or a truncated one that it reads again later. A
 * failure to write (full disk) causes one warning, and those events are missing from the file; training continues, and
 * later events are tried again.
 *
 * Memory: the writer owns its file and its buffer, which grows for pictures and sounds and is kept. One thread.
 */
#ifndef MX_OBSERVE_TFEVENTS_H
#define MX_OBSERVE_TFEVENTS_H

#include <stdint.h>

#include "observe/tfevents_record.h"

#define MX_TFEVENTS_SECONDS 5
#define MX_TFEVENTS_BYTES   (64 << 10) /* collected bytes from which events are written at once */

struct mx_tfevents;

/* Makes the folder, which may not be a symbolic link, and a new file that continues after `step`. `most_bytes`: for all
 * files in the folder; 0: no limit. */
int mx_tfevents_open(const char *folder, int64_t step, uint64_t most_bytes, struct mx_tfevents **out);
void mx_tfevents_close(struct mx_tfevents *events); /* writes the rest; NULL is fine */
void mx_tfevents_flush(struct mx_tfevents *events);

/* All accept NULL for `events` and then do nothing. */
void mx_tfevents_scalars(struct mx_tfevents *events, int64_t step, const struct mx_tfevent_scalar *scalars,
                         size_t count);
void mx_tfevents_text(struct mx_tfevents *events, int64_t step, const char *tag, const char *text);
/* Add files of a run; a missing file is skipped. */
void mx_tfevents_png(struct mx_tfevents *events, int64_t step, const char *tag, const char *path);
void mx_tfevents_wav(struct mx_tfevents *events, int64_t step, const char *tag, const char *path);

const char *mx_tfevents_path(const struct mx_tfevents *events); /* of the file */

#endif

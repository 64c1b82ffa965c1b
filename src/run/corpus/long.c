/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The rows of a run's corpus that are longer than data.max_seconds, cut into RUN/cut; see corpus.h.
 */
#include <inttypes.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/string.h"
#include "corpus/packed/packed.h"
#include "cut/long.h"
#include "dist/dist.h"
#include "myxtts/error.h"
#include "run/corpus/corpus.h"
#include "run/folder.h"
#include "run/interrupt.h"
#include "run/job.h"
#include "run/ranks.h"
#include "run/state.h"

static void rank_tick(void *context)
{
    mx_dist_tick(context);
}

/* Without a run folder nothing is cut, so plans count such rows as left out. */
static int rows_log(const struct mx_cut_long_options *options)
{
    uint32_t rows = 0;
    const int rc = mx_cut_long_count(options, &rows);
    if (rc == 0 && rows > 0)
        mx_info("%" PRIu32 " rows are longer than %g s: training cuts them (data.cut_long); they are not counted here",
                rows, options->audio.seconds_max);
    return rc;
}

/* Cutting takes long, and a killed process leaves large files. */
static int pieces_cut(struct mx_job *job, struct mx_cut_long_options *wanted)
{
    struct mx_interrupt interrupt;
    struct mx_cut_long_report report;
    const bool signals = job->request.signals;
    wanted->stop = signals ? mx_interrupt_watch(&interrupt, false) : job->stop;
    int rc = mx_cut_long_run(wanted, &report);
    if (signals) mx_interrupt_restore(&interrupt);
    if (rc == 0 && signals && atomic_load(wanted->stop)) /* after the last row */
        rc = MX_FAIL(MX_ERR_INTERRUPTED, NULL, "interrupted before training began");
    job->corpus.has_pieces = report.cut > 0;
    return rc;
}

int mx_job_long(struct mx_job *job, struct mx_dataset_options *options, char **folder)
{
    int rc = 0;
    const struct mx_settings_data *const d = &job->settings.data;
    bool packed = false;
    *folder = NULL;
    if (!d->cut_long || options->sounds) return 0;
    MX_TRY(mx_packed_detect(d->train_data, &packed));
    if (packed) return 0;
    struct mx_cut_long_options wanted = {.corpus = d->train_data,
                                         .manifest = options->manifest,
                                         .audio = options->row.audio,
                                         .voice = d->cut_voice[0] != '\0' ? d->cut_voice : NULL,
                                         .language = options->row.language,
                                         .resumed = job->request.resume != NULL,
                                         .had = job->request.resume != NULL && mx_job_state_pieces(job->origin),
                                         .workers = options->workers,
                                         .tick = rank_tick,
                                         .context = job->dist};
    if (d->val_data[0] != '\0') MX_TRY(mx_packed_detect(d->val_data, &packed));
    if (packed) wanted.manifest.validation = NULL; /* it has no long rows */
    if (job->run == NULL) return rows_log(&wanted);
    wanted.folder = *folder = mx_format("%s/" MX_JOB_CUT, job->run);
    if (*folder == NULL) return MX_ERR_NO_MEMORY;
    if (mx_job_ranks_first(job)) MX_TRY(pieces_cut(job, &wanted));
    if (job->options.comm != NULL) MX_TRY(mx_comm_barrier(job->options.comm));
    options->manifest.pieces = *folder; /* if nothing was cut, it is not there */
out:
    return rc;
}

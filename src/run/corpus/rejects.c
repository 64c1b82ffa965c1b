/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Rows of the corpus that a run cannot use: logged by reason, listed in rejects.tsv of the run folder, and refused if
 * there are too many; see corpus.h. Damage shows only when a recording is decoded, so this is checked again after each
 * step; nothing happens unless there are new ones.
 */
#include "base/alloc.h"
#include "base/log.h"
#include "myxtts/error.h"
#include "run/corpus/corpus.h"
#include "run/job.h"

/* "3 too-long (the recording is longer than the maximum), 1 silent (…)" */
static int reasons_log(struct mx_job *job, uint32_t rejected, uint32_t rows, const char *path)
{
    uint32_t counts[MX_REJECT_COUNT];
    struct mx_string text = {0};
    mx_dataset_reject_counts(job->dataset, counts);
    for (int i = 1; i < MX_REJECT_COUNT; i++)
        if (counts[i] > 0)
            mx_string_append(&text, "%s%" PRIu32 " %s (%s)", text.length > 0 ? ", " : "", counts[i],
                             mx_reject_name((enum mx_reject)i), mx_reject_text((enum mx_reject)i));
    const int rc = text.failure;
    if (rc == 0)
        mx_warn("%" PRIu32 " of %" PRIu32 " rows are left out: %s%s%s", rejected, rows, text.data,
                path != NULL ? "; all are listed in " : "", path != NULL ? path : "");
    mx_string_release(&text);
    return rc;
}

int mx_job_rejects(struct mx_job *job)
{
    int rc = 0;
    char *path = NULL;
    struct mx_string check = {0};
    const uint32_t rejected = mx_dataset_rejected(job->dataset), rows = mx_dataset_rows(job->dataset);
    if (rejected == job->corpus.rejected) return 0;
    if (job->run != NULL) { /* a dry run has no folder */
        path = mx_format("%s/" MX_JOB_REJECTS, job->run);
        if (path == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    }
    if (path != NULL && mx_dataset_rejects_write(job->dataset, path) < 0) {
        mx_warn("the list of rejected rows is not written: %s", mx_error_last()->message);
        mx_error_clear();
    }
    if (job->corpus.rejected == 0)
        MX_TRY(reasons_log(job, rejected, rows, path)); /* later ones are logged one by one */
    job->corpus.rejected = rejected;
    /* `myxtts prepare` has judged the rows of a packed file. */
    if (job->settings.data.allow_rejects || !mx_dataset_is_folder(job->dataset)) goto out;
    const uint32_t dropped = mx_dataset_dropped(job->dataset);
    if (mx_rejected_share(rejected, dropped, rows) <= MX_REJECTED_SHARE_MAX) goto out;
    MX_FAIL(MX_ERR_DATA, NULL, "%" PRIu32 " of %" PRIu32 " rows are rejected, which is more than %.0f %%",
            rejected - dropped, rows, 100 * MX_REJECTED_SHARE_MAX);
    if (path != NULL) {
        rc = mx_error_hint("check %s and repair or remove the rows; --allow-rejects continues without them", path);
        goto out;
    }
    mx_string_append(&check, "myxtts check ");
    mx_string_append_shell(&check, job->settings.data.train_data);
    MX_TRY(check.failure);
    rc =
        mx_error_hint("'%s' lists them: repair or remove the rows; --allow-rejects continues without them", check.data);
out:
    mx_string_release(&check);
    mx_free(path);
    return rc;
}

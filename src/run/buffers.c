/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the start of a run says about its buffers, see job.h: numbers that were given are what runs, all others
 * are chosen, and with auto-tuning they follow the flow between what is in use at first and what there is memory for.
 * Read from the pipeline itself, so that what is said is what is used. Nothing is allocated.
 */
#include "base/log.h"
#include "run/job.h"

static void number_say(const char *what, int32_t now, int32_t most, bool given, bool tuned)
{
    if (given)
        mx_info("   - %s: %d (given)", what, (int)now);
    else if (tuned && now < most)
        mx_info("   - %s: %d at first, up to %d (chosen by auto-tune)", what, (int)now, (int)most);
    else
        mx_info("   - %s: %d (chosen)", what, (int)now);
}

void mx_job_buffers_say(const struct mx_job *job)
{
    const struct mx_settings *const s = &job->settings;
    struct mx_pipeline_tuning now, most;
    if (!s->pipeline.overlap) return; /* nothing is made ahead, as the start has said */
    mx_pipeline_tuning(mx_trainer_pipeline(job->trainer), &now, &most);
    const bool tuned = s->pipeline.auto_tune;
    number_say("Prepared batches", now.prepared, most.prepared, job->options.flow.buffer_given, tuned);
    number_say("Loaded batches", now.loaded, most.loaded, job->options.flow.prefetch_given, tuned);
    number_say("Load workers", now.workers, most.workers, s->data.num_workers > 0, tuned);
}

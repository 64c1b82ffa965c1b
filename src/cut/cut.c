/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Cutting from the files to the folder, see cut.h.
 */
#include "cut/cut.h"

#include <string.h>

#include "base/log.h"
#include "corpus/audio/audio.h"
#include "cut/job.h"
#include "myxtts/error.h"

#define ROW_MARGIN 0.01 /* seconds that resampling may add to a row */

/* A row that is short enough is copied: its samples and its text, unchanged. */
static int whole_write(struct mx_cut_job *job, const struct mx_utterance *u)
{
    int rc = 0;
    const struct mx_cut_recording *const r = &job->sound.recordings[0];
    if (r->damage[0] != '\0') MX_RAISE(MX_ERR_DATA, "record it again or remove the row", "%s: %s", r->path, r->damage);
    const struct mx_cut_folder_row row = {.samples = job->sound.samples,
                                          .count = (size_t)r->samples,
                                          .rate = job->sound.recipe->rate,
                                          .text = u->text,
                                          .text_length = strlen(u->text),
                                          .file = u->audio,
                                          .end = mx_cut_sound_seconds(&job->sound, r->samples),
                                          .speaker = job->speaker,
                                          .language = job->language,
                                          .whole = true};
    MX_TRY(mx_cut_folder_row(&job->folder, &row));
    job->report.whole++;
    job->report.seconds += row.end;
    job->report.seconds_rows += row.end;
out:
    return rc;
}

/* A header may give any length or none, so the samples decide. Of a longer recording that is damaged, what comes before
 * the damage is cut, however short. */
static bool is_short(const struct mx_cut_job *job, const struct mx_utterance *u)
{
    const struct mx_cut_recording *const r = &job->sound.recordings[0];
    if (mx_cut_sound_seconds(&job->sound, r->samples) > MX_CUT_ROW_MOST + ROW_MARGIN) return false;
    return r->damage[0] == '\0' || mx_audio_promised(u->audio) <= MX_CUT_ROW_MOST;
}

static int utterance_cut(struct mx_cut_job *job, const struct mx_utterance *u, int of_all)
{
    int language, rc = 0;
    MX_TRY(mx_cut_job_language(job, of_all, u, &language));
    MX_TRY(mx_cut_sound_read(&job->sound, mx_voice_recipe(job->voice), &u->audio, 1, job->folder.path, job->stop));
    if (is_short(job, u)) return whole_write(job, u);
    MX_TRY(mx_cut_job_utterance(job, u, language));
out:
    return rc;
}

/* Unusable rows are logged and counted; the others are cut. */
static int utterances_cut(struct mx_cut_job *job, const struct mx_cut_options *o, const struct mx_manifest *manifest)
{
    int rc = 0;
    mx_cut_job_columns(job, manifest);
    for (uint32_t i = 0; i < manifest->utterance_count; i++) {
        const struct mx_utterance *const u = &manifest->utterances[i];
        if (manifest->speaker_count > 1) job->speaker = u->speaker_name;
        const int failure = utterance_cut(job, u, o->language);
        mx_cut_job_release(job);
        if (failure == MX_ERR_DATA || failure == MX_ERR_FORMAT) {
            mx_warn("%s is left out: %s", u->id, mx_error_last()->message);
            MX_TRY(
                mx_cut_folder_left(&job->folder, u->audio, 0, 0, mx_error_last()->message, u->text, strlen(u->text)));
            mx_error_clear();
            job->report.refused++;
        } else {
            MX_TRY(failure);
        }
    }
    if (job->folder.rows == 0)
        MX_RAISE(MX_ERR_DATA, "the messages above say why; 'myxtts check' says more", "no row of %s can be used",
                 o->text);
out:
    return rc;
}

static int manifest_run(struct mx_cut_job *job, const struct mx_cut_options *o)
{
    const struct mx_manifest_options how = {.validation_fraction = 0, .stop = o->stop};
    struct mx_manifest *manifest = NULL;
    int rc = 0;
    MX_TRY(mx_manifest_open(o->text, &how, &manifest));
    MX_TRY(mx_cut_folder_open(&job->folder, o->folder));
    job->report.refused = manifest->rejected - manifest->dropped; /* rows that people dropped were logged before */
    for (uint32_t i = 0; i < manifest->problem_count; i++)
        if (manifest->problems[i].reject != MX_REJECT_NONE && manifest->problems[i].reject != MX_REJECT_DROPPED)
            mx_warn("line %u of %s: %s", manifest->problems[i].line,
                    manifest->sources[manifest->problems[i].source].path, manifest->problems[i].message);
    MX_TRY(utterances_cut(job, o, manifest));
out:
    mx_manifest_close(manifest);
    return rc;
}

static int job_run(struct mx_cut_job *job, const struct mx_cut_options *o)
{
    const struct mx_voice_options how = {.size = sizeof how, .device = o->device, .cpu_devices = o->cpu_devices};
    int rc = 0;
    if (o->sound_count > 0) MX_TRY(mx_cut_script_read(&job->script, o->text));
    MX_TRY(mx_voice_open(o->voice, &how, &job->voice));
    if (o->sound_count > 0) {
        MX_TRY(mx_cut_folder_open(&job->folder, o->folder));
        MX_TRY(mx_cut_job_run(job, o->sounds, o->sound_count, o->language));
    } else {
        MX_TRY(manifest_run(job, o));
    }
    MX_TRY(mx_cut_folder_finish(&job->folder));
    job->report.rows = job->folder.rows;
    job->report.left = job->folder.left;
    job->report.pipes = job->folder.pipes;
out:
    return rc;
}

int mx_cut_run(const struct mx_cut_options *options, struct mx_cut_report *report)
{
    struct mx_cut_job job = {.name = options->text, .row_most = MX_CUT_ROW_MOST, .stop = options->stop};
    const int rc = job_run(&job, options);
    *report = job.report;
    mx_cut_job_release(&job);
    mx_cut_folder_close(&job.folder);
    mx_voice_close(job.voice);
    return rc;
}

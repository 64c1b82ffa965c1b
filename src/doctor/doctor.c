/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The whole doctor, see doctor.h.
 */
#include "doctor/doctor.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/robust.h"
#include "base/string.h"
#include "checkpoint/installed.h"
#include "doctor/twins.h"
#include "myxtts/error.h"

static const struct {
    const char *name, *text;
} judges[] = {
    [MX_DOCTOR_JUDGED] = {"judged", NULL},
    [MX_DOCTOR_NOT_ASKED] = {"not-asked", "No voice was asked whether texts and recordings belong together."},
    [MX_DOCTOR_NOT_INSTALLED] = {"not-installed",
                                 "No voice judged whether texts and recordings belong together: no base "
                                 "voice is installed. '--voice FILE' names one."},
    [MX_DOCTOR_NOT_SPOKEN] = {"language",
                              "No voice judged whether texts and recordings belong together: the base voice "
                              "does not know their language. '--voice FILE' names another one."},
    [MX_DOCTOR_NOTHING_GOOD] = {"no-rows",
                                "No voice judged whether texts and recordings belong together: no row can be "
                                "used."},
    [MX_DOCTOR_NOT_FINISHED] = {"interrupted", "No voice judged whether texts and recordings belong together: that was "
                                               "interrupted."},
};

const char *mx_doctor_judge_text(enum mx_doctor_judge judge)
{
    return judges[judge].text;
}

const char *mx_doctor_judge_name(enum mx_doctor_judge judge)
{
    return judges[judge].name;
}

/* ---- the rows ---- */

static bool stopped(const atomic_bool *stop)
{
    return stop != NULL && atomic_load(stop);
}

/* Between the tenth of the good rows that is quietest and the tenth that is loudest. */
static int spread_measure(struct mx_doctor *doctor)
{
    int rc = 0;
    uint32_t count = 0;
    double *const levels = mx_alloc(doctor->report.good, sizeof *levels);
    if (levels == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    for (uint32_t i = 0; i < doctor->report.manifest->utterance_count; i++)
        if (doctor->report.list[i].reject == MX_REJECT_NONE) levels[count++] = doctor->sounds[i].level_db;
    if (count == 0) goto out;
    mx_robust_sort(levels, count);
    doctor->level_spread_db = levels[count - 1 - count / 10] - levels[count / 10];
out:
    mx_free(levels);
    return rc;
}

static int rows_read(const char *path, const struct mx_doctor_options *options, struct mx_doctor *doctor)
{
    int rc = 0;
    struct mx_check_options check = options->check;
    MX_TRY(mx_doctor_meter_create(&doctor->meter));
    check.listener = mx_doctor_meter_listener(doctor->meter);
    check.manifest.stop = options->stop;
    MX_TRY(mx_check_run(path, &check, &doctor->report));
    doctor->sounds = mx_doctor_meter_sounds(doctor->meter);
    MX_TRY(mx_doctor_sounds_summarise(&doctor->report, doctor->sounds, &doctor->summary));
    MX_TRY(spread_measure(doctor));
out:
    return rc;
}

/* ---- the judgement of a voice ---- */

/* Of the default voice. */
static int base_choose(struct mx_doctor *doctor)
{
    struct mx_doctor_fit fit;
    const int rc = mx_doctor_voice_fit(MX_INSTALLED_BASE, &doctor->report, &fit);
    if (rc == MX_ERR_NOT_FOUND) {
        mx_error_clear();
        doctor->judge = MX_DOCTOR_NOT_INSTALLED;
        return 0;
    }
    if (rc < 0) return rc;
    doctor->judge = fit.known > 0 ? MX_DOCTOR_JUDGED : MX_DOCTOR_NOT_SPOKEN;
    return 0;
}

static int voice_score(const struct mx_doctor_options *options, struct mx_doctor *doctor)
{
    int rc = 0;
    const struct mx_doctor_scores_options wanted = {
        .voice = options->voice, .device = options->device, .workers = options->check.workers, .stop = options->stop};
    if (options->voice != NULL && strcmp(options->voice, MX_DOCTOR_NO_VOICE) == 0)
        doctor->judge = MX_DOCTOR_NOT_ASKED;
    else if (doctor->report.good == 0)
        doctor->judge = MX_DOCTOR_NOTHING_GOOD;
    else if (options->voice == NULL)
        MX_TRY(base_choose(doctor));
    else
        doctor->judge = MX_DOCTOR_JUDGED;
    if (doctor->judge != MX_DOCTOR_JUDGED) goto out;
    rc = mx_doctor_scores_compute(&doctor->report, &options->check.row, &wanted, &doctor->scores);
    if (rc == MX_ERR_INTERRUPTED) {
        mx_error_clear();
        rc = 0;
        doctor->judge = MX_DOCTOR_NOT_FINISHED;
        doctor->interrupted = true;
    }
    if (rc < 0 || doctor->judge != MX_DOCTOR_JUDGED) goto out;
    MX_TRY(mx_doctor_people_compute(&doctor->report, &doctor->scores, &doctor->people));
    MX_TRY(mx_doctor_scores_judge(&doctor->report, &doctor->scores, &doctor->findings));
    MX_TRY(mx_doctor_people_judge(&doctor->report, &doctor->scores, &doctor->findings));
out:
    return rc;
}

const struct mx_doctor_score *mx_doctor_score_of(const struct mx_doctor *doctor, uint32_t row)
{
    const struct mx_doctor_score *const score = row < doctor->scores.count ? &doctor->scores.rows[row] : NULL;
    return score != NULL && score->unscored == MX_DOCTOR_SCORED ? score : NULL;
}

/* ---- suspects ---- */

static int suspect_compare(const void *left, const void *right)
{
    const struct mx_doctor_suspect *const a = left, *const b = right;
    if (a->badness != b->badness) return a->badness > b->badness ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

static int suspects_gather(struct mx_doctor *doctor)
{
    int rc = 0;
    const struct mx_doctor_findings *const all = &doctor->findings;
    mx_doctor_findings_sort(&doctor->findings);
    doctor->suspects = mx_alloc(all->count, sizeof *doctor->suspects);
    if (doctor->suspects == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    for (size_t first = 0, end; first < all->count; first = end) {
        const uint32_t row = all->items[first].row;
        bool kinds[MX_DOCTOR_FINDING_COUNT] = {false};
        for (end = first; end < all->count && all->items[end].row == row; end++) kinds[all->items[end].kind] = true;
        if (doctor->report.manifest->utterances[row].decision == MX_DECISION_KEEP) continue;
        for (int k = 0; k < MX_DOCTOR_FINDING_COUNT; k++) doctor->kinds[k] += kinds[k];
        doctor->suspects[doctor->suspect_count++] =
            (struct mx_doctor_suspect){row, all->items[first].badness, first, end - first};
    }
    if (doctor->suspect_count > 0)
        qsort(doctor->suspects, doctor->suspect_count, sizeof *doctor->suspects, suspect_compare);
out:
    return rc;
}

/* Errors of a named voice are reported before all rows are read. */
static int voice_check(const char *voice)
{
    struct mx_doctor_fit fit;
    if (voice == NULL || strcmp(voice, MX_DOCTOR_NO_VOICE) == 0) return 0;
    return mx_doctor_voice_fit(voice, &(struct mx_check_report){0}, &fit);
}

int mx_doctor_examine(const char *path, const struct mx_doctor_options *options, struct mx_doctor *out)
{
    int rc = 0;
    *out = (struct mx_doctor){0};
    MX_TRY(voice_check(options->voice));
    if (options->text != NULL) MX_TRY(mx_doctor_text_check(options->text));
    MX_TRY(rows_read(path, options, out));
    MX_TRY(voice_score(options, out));
    MX_TRY(mx_doctor_sounds_judge(&out->report, out->sounds, &out->findings));
    MX_TRY(mx_doctor_twins_judge(&out->report, out->sounds, &out->findings));
    if (stopped(options->stop)) out->interrupted = true;
    if (!out->interrupted && !options->rows_only) {
        MX_TRY(mx_doctor_coverage_compute(&out->report, &options->check.row, options->text, &out->coverage));
        if (options->record > 0) MX_TRY(mx_doctor_record_choose(&out->coverage, options->record, &out->records));
    }
    MX_TRY(suspects_gather(out));
out:
    if (rc < 0) mx_doctor_release(out);
    return rc;
}

void mx_doctor_release(struct mx_doctor *doctor)
{
    mx_free(doctor->suspects);
    mx_doctor_findings_release(&doctor->findings);
    mx_doctor_records_release(&doctor->records);
    mx_doctor_coverage_release(&doctor->coverage);
    mx_doctor_people_release(&doctor->people);
    mx_doctor_scores_release(&doctor->scores);
    mx_doctor_meter_destroy(doctor->meter);
    mx_check_release(&doctor->report);
    *doctor = (struct mx_doctor){0};
}

/* ---- suspects.tsv ---- */

static void finding_append(struct mx_string *out, const struct mx_doctor *doctor,
                           const struct mx_doctor_finding *finding)
{
    const struct mx_manifest *const manifest = doctor->report.manifest;
    const struct mx_utterance *const row = &manifest->utterances[finding->row];
    struct mx_string words = {0};
    mx_string_append_field(out, manifest->sources[row->source].path, '\t');
    mx_string_append(out, "%" PRIu32 "\t", row->line);
    mx_string_append_field(out, row->id, '\t');
    mx_string_append_field(out, row->speaker_name, '\t');
    mx_string_append(out, "%s\t%.3g\t%.6g\t%.6g\t", mx_doctor_finding_name(finding->kind), finding->badness,
                     finding->value, finding->limit);
    mx_string_append_field(out, row->audio, '\t');
    if (mx_doctor_finding_format(&words, MX_WORDS_ENGLISH, finding) < 0)
        out->failure = words.failure;
    else
        mx_string_append_field(out, words.data, '\n');
    mx_string_release(&words);
}

int mx_doctor_write_suspects(const struct mx_doctor *doctor, const char *path)
{
    int rc = 0;
    struct mx_string text = {0};
    mx_string_append(&text, "manifest\tline\tid\tspeaker\tkind\tbadness\tvalue\tlimit\tfile\tdetail\n");
    for (uint32_t i = 0; i < doctor->suspect_count; i++)
        for (size_t k = 0; k < doctor->suspects[i].count; k++)
            finding_append(&text, doctor, &doctor->findings.items[doctor->suspects[i].first + k]);
    if (text.failure != 0) MX_TRY(text.failure);
    MX_TRY(mx_file_write_atomic(path, text.data, text.length));
out:
    mx_string_release(&text);
    return rc;
}

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The report of an evaluation, see eval_report.h.
 */
#include "cli/eval/eval_report.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/string.h"
#include "cli/command.h"
#include "cli/json_tree.h"
#include "features/recipe.h"
#include "myxtts/error.h"

#define SHOWN       5   /* worst utterances, and rows that were not used, in the table; JSON has all */
#define PLAIN_BYTES 400 /* a name on the terminal */

int mx_eval_report_open(struct mx_eval_report *r, const struct mx_voice *voice, const struct mx_dataset *dataset,
                        const char *path, uint32_t capacity)
{
    *r = (struct mx_eval_report){.voice = voice, .dataset = dataset, .path = path, .capacity = capacity};
    r->rows = mx_alloc(capacity, sizeof *r->rows);
    r->speakers = mx_alloc(mx_dataset_speaker_count(dataset), sizeof *r->speakers);
    return r->rows == NULL || r->speakers == NULL ? MX_ERR_NO_MEMORY : 0;
}

void mx_eval_report_release(struct mx_eval_report *r)
{
    mx_free(r->rows);
    mx_free(r->speakers);
    *r = (struct mx_eval_report){0};
}

int mx_eval_report_add(struct mx_eval_report *r, uint32_t utterance, const struct mx_spoken *one)
{
    const struct mx_dataset_utterance *const u = mx_dataset_utterance(r->dataset, utterance);
    if (r->count == r->capacity)
        return MX_FAIL(MX_ERR_INTERNAL, NULL, "the report has room for %" PRIu32 " rows only", r->capacity);
    r->rows[r->count++] = (struct mx_eval_row){utterance, *one};
    mx_spoken_add(&r->all, one);
    mx_spoken_add(&r->speakers[u->speaker], one);
    mx_spoken_add(&r->languages[mx_vocabulary_language_at(r->voice->vocabulary, u->language)], one);
    return 0;
}

static double seconds_of(const struct mx_eval_report *r, uint64_t frames)
{
    const struct mx_recipe *const recipe = mx_voice_recipe(r->voice);
    return (double)frames * recipe->hop / recipe->rate;
}

static uint32_t looked_at(const struct mx_spoken_sums *sums)
{
    return sums->spoken + sums->unusable + sums->too_long;
}

static double pitch_of(const struct mx_spoken *one)
{
    return one->voiced > 0 ? one->pitch_sum / (double)one->voiced : 0;
}

/* ---- the table ---- */

static void sums_print(const struct mx_eval_report *r, const struct mx_spoken_sums *sums, const char *name)
{
    char plain[PLAIN_BYTES];
    printf("  %10" PRIu32 " %9.1f", sums->spoken, seconds_of(r, sums->real));
    if (sums->spoken > 0)
        printf(" %9.2f %8.1f %%", mx_spoken_mel_db(sums), 100 * mx_spoken_duration_error(sums));
    else
        printf(" %9s %10s", "-", "-");
    if (sums->voiced > 0)
        printf(" %10.2f", mx_spoken_pitch_error(sums));
    else
        printf(" %10s", "-");
    printf("  %s\n", mx_string_plain(plain, sizeof plain, name));
}

/* Among the rows, the spoken one that comes after `before` (NULL: the first) when the worst stand first. */
static const struct mx_eval_row *worse_find(const struct mx_eval_report *r, const struct mx_eval_row *before)
{
    const struct mx_eval_row *best = NULL;
    for (uint32_t i = 0; i < r->count; i++) {
        const struct mx_eval_row *const row = &r->rows[i];
        if (row->spoken.outcome != MX_SPOKEN) continue;
        if (before != NULL && (row->spoken.mel_db > before->spoken.mel_db ||
                               (row->spoken.mel_db == before->spoken.mel_db && row <= before)))
            continue;
        if (best == NULL || row->spoken.mel_db > best->spoken.mel_db) best = row;
    }
    return best;
}

static void worst_print(const struct mx_eval_report *r)
{
    const struct mx_eval_row *row = worse_find(r, NULL);
    char plain[PLAIN_BYTES];
    if (r->all.spoken <= SHOWN) return;
    printf("The farthest from their recordings:\n");
    for (int i = 0; i < SHOWN && row != NULL; i++, row = worse_find(r, row)) {
        const struct mx_spoken *const s = &row->spoken;
        printf("  %10s %9.1f %9.2f %8.1f %%", "", seconds_of(r, (uint64_t)s->real), s->mel_db, 100 * s->duration_error);
        if (s->voiced > 0)
            printf(" %10.2f", pitch_of(s));
        else
            printf(" %10s", "-");
        printf("  %s\n", mx_string_plain(plain, sizeof plain, mx_dataset_utterance(r->dataset, row->utterance)->id));
    }
}

/* Rows of one outcome, by name. */
static void outcome_print(const struct mx_eval_report *r, enum mx_spoken_outcome outcome, uint32_t count,
                          const char *title)
{
    char plain[PLAIN_BYTES];
    uint32_t shown = 0;
    if (count == 0) return;
    printf("%s: %" PRIu32 "\n", title, count);
    for (uint32_t i = 0; i < r->count && shown < SHOWN; i++) {
        const struct mx_spoken *const s = &r->rows[i].spoken;
        if (s->outcome != outcome) continue;
        const char *const id = mx_dataset_utterance(r->dataset, r->rows[i].utterance)->id;
        printf("  %s%s%s\n", mx_string_plain(plain, sizeof plain, id), s->why[0] != '\0' ? ": " : "", s->why);
        shown++;
    }
    if (count > shown) printf("  … and %" PRIu32 " more; --json lists all\n", count - shown);
}

static void left_out_print(const struct mx_eval_report *r)
{
    const char *id;
    enum mx_reject reject;
    uint32_t count = 0;
    char plain[PLAIN_BYTES];
    for (uint32_t row = 0; mx_dataset_left_out(r->dataset, &row, &id, &reject);) count++;
    if (count == 0) return;
    printf("Rows of the corpus that were skipped because they cannot be used: %" PRIu32 "\n", count);
    for (uint32_t row = 0, i = 0; i < SHOWN && mx_dataset_left_out(r->dataset, &row, &id, &reject); i++)
        printf("  %s: %s\n", id[0] != '\0' ? mx_string_plain(plain, sizeof plain, id) : "(no id)",
               mx_reject_text(reject));
    if (count > SHOWN) printf("  … and %" PRIu32 " more; --json lists all\n", count - SHOWN);
}

void mx_eval_report_print(const struct mx_eval_report *r)
{
    const uint32_t speakers = mx_dataset_speaker_count(r->dataset);
    int languages = 0;
    for (int i = 0; i < MX_LANGUAGE_COUNT; i++) languages += looked_at(&r->languages[i]) > 0;
    printf("%s, step %" PRIu64 ", on %s\n", mx_checkpoint_path(r->voice->checkpoint),
           mx_checkpoint_state(r->voice->checkpoint)->step, r->path);
    if (r->vocoder != NULL) printf("Sound by %s is compared.\n", r->vocoder);
    printf("  %10s %9s %9s %10s %10s\n", "utterances", "seconds", "mel dB", "duration", "semitones");
    sums_print(r, &r->all, "all");
    for (uint32_t i = 0; speakers > 1 && i < speakers; i++)
        if (looked_at(&r->speakers[i]) > 0) sums_print(r, &r->speakers[i], mx_dataset_speaker(r->dataset, i));
    for (int i = 0; languages > 1 && i < MX_LANGUAGE_COUNT; i++)
        if (looked_at(&r->languages[i]) > 0)
            sums_print(r, &r->languages[i], mx_language_get((enum mx_language_id)i)->name);
    worst_print(r);
    outcome_print(r, MX_SPOKEN_UNUSABLE, r->all.unusable, "Could not be used");
    outcome_print(r, MX_SPOKEN_TOO_LONG, r->all.too_long, "Would have become too long to be spoken");
    left_out_print(r);
}

/* ---- JSON ---- */

static void json_number(cJSON *object, const char *name, bool there, double value, int *failures)
{
    mx_command_json_check(there ? cJSON_AddNumberToObject(object, name, value) : cJSON_AddNullToObject(object, name),
                          failures);
}

static void sums_json(cJSON *object, const struct mx_eval_report *r, const struct mx_spoken_sums *sums, int *failures)
{
    const bool any = sums->spoken > 0;
    json_number(object, "spoken", true, sums->spoken, failures);
    json_number(object, "unusable", true, sums->unusable, failures);
    json_number(object, "too_long", true, sums->too_long, failures);
    json_number(object, "seconds", true, seconds_of(r, sums->real), failures);
    json_number(object, "mel_db", any, mx_spoken_mel_db(sums), failures);
    json_number(object, "duration_error", any, mx_spoken_duration_error(sums), failures);
    json_number(object, "pitch_error_semitones", sums->voiced > 0, mx_spoken_pitch_error(sums), failures);
}

static void groups_json(cJSON *root, const struct mx_eval_report *r, int *failures)
{
    cJSON *const speakers = cJSON_AddArrayToObject(root, "speakers");
    mx_command_json_check(speakers, failures);
    for (uint32_t i = 0; i < mx_dataset_speaker_count(r->dataset); i++) {
        if (looked_at(&r->speakers[i]) == 0) continue;
        cJSON *const object = mx_command_json_element(speakers, failures);
        mx_command_json_check(cJSON_AddStringToObject(object, "name", mx_dataset_speaker(r->dataset, i)), failures);
        sums_json(object, r, &r->speakers[i], failures);
    }
    cJSON *const languages = cJSON_AddArrayToObject(root, "languages");
    mx_command_json_check(languages, failures);
    for (int i = 0; i < MX_LANGUAGE_COUNT; i++) {
        if (looked_at(&r->languages[i]) == 0) continue;
        cJSON *const object = mx_command_json_element(languages, failures);
        mx_command_json_check(cJSON_AddStringToObject(object, "name", mx_language_get((enum mx_language_id)i)->code),
                              failures);
        sums_json(object, r, &r->languages[i], failures);
    }
}

static void rows_json(cJSON *root, const struct mx_eval_report *r, int *failures)
{
    static const char *const outcomes[] = {
        [MX_SPOKEN] = "spoken", [MX_SPOKEN_UNUSABLE] = "unusable", [MX_SPOKEN_TOO_LONG] = "too-long"};
    cJSON *const rows = cJSON_AddArrayToObject(root, "rows");
    mx_command_json_check(rows, failures);
    for (uint32_t i = 0; i < r->count; i++) {
        const struct mx_spoken *const s = &r->rows[i].spoken;
        const struct mx_dataset_utterance *const u = mx_dataset_utterance(r->dataset, r->rows[i].utterance);
        const bool any = s->outcome == MX_SPOKEN;
        cJSON *const object = mx_command_json_element(rows, failures);
        mx_command_json_check(cJSON_AddStringToObject(object, "id", u->id), failures);
        mx_command_json_check(cJSON_AddStringToObject(object, "speaker", mx_dataset_speaker(r->dataset, u->speaker)),
                              failures);
        mx_command_json_check(cJSON_AddStringToObject(
                                  object, "language",
                                  mx_language_get(mx_vocabulary_language_at(r->voice->vocabulary, u->language))->code),
                              failures);
        mx_command_json_check(cJSON_AddStringToObject(object, "outcome", outcomes[s->outcome]), failures);
        mx_command_json_check(cJSON_AddStringToObject(object, "why", s->why), failures);
        json_number(object, "frames", s->outcome != MX_SPOKEN_UNUSABLE, s->real, failures);
        json_number(object, "spoken_frames", any, s->spoken, failures);
        json_number(object, "mel_db", any, s->mel_db, failures);
        json_number(object, "duration_error", any, s->duration_error, failures);
        json_number(object, "pitch_error_semitones", s->voiced > 0, pitch_of(s), failures);
    }
}

static void left_out_json(cJSON *root, const struct mx_eval_report *r, int *failures)
{
    const char *id;
    enum mx_reject reject;
    cJSON *const rows = cJSON_AddArrayToObject(root, "left_out");
    mx_command_json_check(rows, failures);
    for (uint32_t row = 0; mx_dataset_left_out(r->dataset, &row, &id, &reject);) {
        cJSON *const object = mx_command_json_element(rows, failures);
        mx_command_json_check(cJSON_AddStringToObject(object, "id", id), failures);
        mx_command_json_check(cJSON_AddStringToObject(object, "why", mx_reject_name(reject)), failures);
    }
}

int mx_eval_report_json(const struct mx_eval_report *r, const char *path)
{
    int failures = 0;
    cJSON *const root = cJSON_CreateObject();
    mx_command_json_check(cJSON_AddStringToObject(root, "checkpoint", mx_checkpoint_path(r->voice->checkpoint)),
                          &failures);
    json_number(root, "step", true, (double)mx_checkpoint_state(r->voice->checkpoint)->step, &failures);
    mx_command_json_check(cJSON_AddStringToObject(root, "corpus", r->path), &failures);
    mx_command_json_check(r->vocoder != NULL ? cJSON_AddStringToObject(root, "vocoder", r->vocoder)
                                             : cJSON_AddNullToObject(root, "vocoder"),
                          &failures);
    json_number(root, "elapsed_seconds", true, r->elapsed_seconds, &failures);
    json_number(root, "looked_at", true, r->count, &failures);
    sums_json(root, r, &r->all, &failures);
    groups_json(root, r, &failures);
    rows_json(root, r, &failures);
    left_out_json(root, r, &failures);
    const int rc = mx_command_json(root, failures, path);
    cJSON_Delete(root);
    return rc;
}

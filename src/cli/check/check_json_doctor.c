/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the doctor found, as JSON: suspects, the sound and the score of every row, coverage, sentences to record; see
 * check_report.h.
 */
#include <cjson/cJSON.h>

#include "base/alloc.h"
#include "cli/check/check_report.h"
#include "cli/json_tree.h"

static void number(cJSON *object, const char *name, double value, int *failures)
{
    mx_command_json_check(cJSON_AddNumberToObject(object, name, value), failures);
}

static void text(cJSON *object, const char *name, const char *value, int *failures)
{
    mx_command_json_check(
        value == NULL ? cJSON_AddNullToObject(object, name) : cJSON_AddStringToObject(object, name, value), failures);
}

static void truth(cJSON *object, const char *name, bool value, int *failures)
{
    mx_command_json_check(cJSON_AddBoolToObject(object, name, value), failures);
}

static void sound_json(cJSON *root, const struct mx_doctor *doctor, int *failures)
{
    const struct mx_doctor_sound_summary *const s = &doctor->summary;
    cJSON *const object = cJSON_AddObjectToObject(root, "sound");
    number(object, "rows", s->rows, failures);
    number(object, "above_noise_db", s->above_noise_db, failures);
    number(object, "bandwidth_hz", s->bandwidth_hz, failures);
    number(object, "bandwidth_best_hz", s->bandwidth_best_hz, failures);
    number(object, "level_db", s->level_db, failures);
    number(object, "level_spread_db", doctor->level_spread_db, failures);
    number(object, "decay_seconds", s->decay_seconds, failures);
    number(object, "decay_rows", s->decay_rows, failures);
    number(object, "offset", s->offset, failures);
}

/* What a voice said about a row, or why it said nothing. */
static void score_json(cJSON *object, const struct mx_doctor *doctor, uint32_t row, int *failures)
{
    static const char *const reasons[] = {[MX_DOCTOR_SCORED] = NULL,
                                          [MX_DOCTOR_UNSCORED_REJECTED] = "rejected",
                                          [MX_DOCTOR_UNSCORED_LANGUAGE] = "language",
                                          [MX_DOCTOR_UNSCORED_TEXT] = "text",
                                          [MX_DOCTOR_UNSCORED_SOUND] = "sound"};
    const struct mx_doctor_score *const score = mx_doctor_score_of(doctor, row);
    if (score != NULL) {
        number(object, "score", score->score, failures);
        number(object, "deviations", score->deviations, failures);
    } else if (row < doctor->scores.count) {
        text(object, "unscored", reasons[doctor->scores.rows[row].unscored], failures);
    }
}

/* The words of a row where the voice found them; seconds from the beginning of the file. */
static void words_json(cJSON *object, const struct mx_doctor *doctor, uint32_t row, int *failures)
{
    const struct mx_doctor_score *const score = mx_doctor_score_of(doctor, row);
    const char *const written = doctor->report.manifest->utterances[row].text;
    const double begin = doctor->report.list[row].trimmed_begin;
    if (score == NULL) return;
    cJSON *const list = cJSON_AddArrayToObject(object, "words");
    for (size_t i = 0; i < score->word_count; i++) {
        const struct mx_doctor_word *const word = &score->words[i];
        cJSON *const element = mx_command_json_element(list, failures);
        char *const own = mx_strndup(written + word->begin, word->end - word->begin);
        text(element, "text", own, failures);
        number(element, "from", begin + (double)word->from, failures);
        number(element, "until", begin + (double)word->until, failures);
        truth(element, "heard", word->heard, failures);
        mx_free(own);
    }
}

/* Every row whose line could be read, good or not. */
static void rows_json(cJSON *root, const struct mx_doctor *doctor, int *failures)
{
    const struct mx_manifest *const manifest = doctor->report.manifest;
    cJSON *const list = cJSON_AddArrayToObject(root, "utterances");
    for (uint32_t i = 0; i < manifest->utterance_count; i++) {
        const struct mx_check_row *const row = &doctor->report.list[i];
        const struct mx_doctor_sound *const sound = &doctor->sounds[i];
        cJSON *const object = mx_command_json_element(list, failures);
        text(object, "id", manifest->utterances[i].id, failures);
        text(object, "reject", row->reject == MX_REJECT_NONE ? NULL : mx_reject_name(row->reject), failures);
        text(object, "decision", mx_decision_name(manifest->utterances[i].decision), failures);
        number(object, "seconds", row->seconds, failures);
        number(object, "seconds_used", row->seconds_used, failures);
        if (row->reject != MX_REJECT_NONE) continue;
        score_json(object, doctor, i, failures);
        number(object, "above_noise_db", sound->above_noise_db, failures);
        number(object, "bandwidth_hz", sound->bandwidth_hz, failures);
        number(object, "clipped", (double)sound->clipped, failures);
        number(object, "offset", sound->offset, failures);
        number(object, "hum_hz", sound->hum_hz, failures);
        number(object, "hum_db", sound->hum_db, failures);
        number(object, "decay_seconds", sound->decay_seconds, failures);
        number(object, "level_db", sound->level_db, failures);
        number(object, "noise_before", sound->noise_before, failures);
        number(object, "noise_after", sound->noise_after, failures);
        number(object, "silence", sound->silence, failures);
    }
}

static void finding_json(cJSON *list, const struct mx_doctor_finding *finding, int *failures)
{
    struct mx_string words = {0};
    cJSON *const object = mx_command_json_element(list, failures);
    text(object, "kind", mx_doctor_finding_name(finding->kind), failures);
    number(object, "badness", finding->badness, failures);
    number(object, "value", finding->value, failures);
    number(object, "limit", finding->limit, failures);
    text(object, "text", finding->text, failures);
    if (mx_doctor_finding_format(&words, MX_WORDS_ENGLISH, finding) < 0) ++*failures;
    text(object, "words", words.data, failures);
    mx_string_release(&words);
}

static void suspects_json(cJSON *root, const struct mx_command_check_report *report, int *failures)
{
    const struct mx_doctor *const doctor = report->doctor;
    const struct mx_manifest *const manifest = doctor->report.manifest;
    number(root, "suspects", doctor->suspect_count, failures);
    text(root, "suspects_file", report->suspects, failures);
    cJSON *const kinds = cJSON_AddObjectToObject(root, "findings"), *const list =
                                                                        cJSON_AddArrayToObject(root, "suspect_rows");
    for (int i = 0; i < MX_DOCTOR_FINDING_COUNT; i++)
        number(kinds, mx_doctor_finding_name((enum mx_doctor_finding_kind)i), doctor->kinds[i], failures);
    for (uint32_t i = 0; i < doctor->suspect_count; i++) {
        const struct mx_doctor_suspect *const suspect = &doctor->suspects[i];
        const struct mx_utterance *const row = &manifest->utterances[suspect->row];
        cJSON *const object = mx_command_json_element(list, failures);
        text(object, "manifest", manifest->sources[row->source].path, failures);
        number(object, "line", row->line, failures);
        text(object, "id", row->id, failures);
        text(object, "speaker", row->speaker_name, failures);
        text(object, "file", row->audio, failures);
        text(object, "text", row->text, failures);
        number(object, "badness", suspect->badness, failures);
        score_json(object, doctor, suspect->row, failures);
        words_json(object, doctor, suspect->row, failures);
        cJSON *const findings = cJSON_AddArrayToObject(object, "findings");
        for (size_t k = 0; k < suspect->count; k++)
            finding_json(findings, &doctor->findings.items[suspect->first + k], failures);
    }
}

static void units_json(cJSON *object, const char *name, const struct mx_doctor_units *units, int *failures)
{
    static const char *const supplies[] = {[MX_DOCTOR_MISSING] = "missing",
                                           [MX_DOCTOR_RARE] = "rare",
                                           [MX_DOCTOR_ENOUGH] = "enough",
                                           [MX_DOCTOR_UNJUDGED] = "unjudged"};
    cJSON *const all = cJSON_AddObjectToObject(object, name);
    number(all, "count", units->count, failures);
    number(all, "missing", units->missing, failures);
    number(all, "rare", units->rare, failures);
    cJSON *const list = cJSON_AddArrayToObject(all, "list");
    for (uint32_t i = 0; i < units->count; i++) {
        cJSON *const unit = mx_command_json_element(list, failures);
        text(unit, "name", units->items[i].name, failures);
        number(unit, "count", (double)units->items[i].count, failures);
        number(unit, "expected", units->items[i].expected, failures);
        text(unit, "supply", supplies[units->items[i].supply], failures);
    }
}

static void coverage_json(cJSON *root, const struct mx_doctor *doctor, int *failures)
{
    cJSON *const languages = cJSON_AddArrayToObject(root, "coverage"), *const records =
                                                                           cJSON_AddArrayToObject(root, "record");
    for (uint32_t i = 0; i < doctor->coverage.language_count; i++) {
        const struct mx_doctor_language *const l = &doctor->coverage.languages[i];
        cJSON *const object = mx_command_json_element(languages, failures);
        text(object, "language", mx_language_get(l->language)->code, failures);
        number(object, "rows", l->rows, failures);
        number(object, "reference_sentences", l->reference, failures);
        units_json(object, "sounds", &l->single, failures);
        units_json(object, "pairs", &l->pair, failures);
    }
    for (uint32_t i = 0; i < doctor->records.count; i++) {
        const struct mx_doctor_record *const r = &doctor->records.items[i];
        cJSON *const object = mx_command_json_element(records, failures);
        text(object, "language", mx_language_get(r->language)->code, failures);
        text(object, "text", r->text, failures);
        number(object, "seconds", r->seconds, failures);
        truth(object, "own", r->own, failures);
        cJSON *const gains = cJSON_AddArrayToObject(object, "gains");
        for (uint32_t k = 0; k < r->gain_count; k++) {
            cJSON *const gain = mx_command_json_element(gains, failures);
            text(gain, "name", r->gains[k].unit->name, failures);
            truth(gain, "pair", r->gains[k].pair, failures);
            number(gain, "times", r->gains[k].times, failures);
            number(gain, "before", (double)r->gains[k].before, failures);
        }
    }
}

void mx_command_check_json_doctor(cJSON *root, const struct mx_command_check_report *report, int *failures)
{
    const struct mx_doctor *const doctor = report->doctor;
    text(root, "voice", doctor->scores.voice, failures);
    text(root, "voice_reason", mx_doctor_judge_name(doctor->judge), failures);
    number(root, "scored", doctor->scores.scored, failures);
    truth(root, "interrupted", doctor->interrupted, failures);
    suspects_json(root, report, failures);
    sound_json(root, doctor, failures);
    coverage_json(root, doctor, failures);
    rows_json(root, doctor, failures);
}

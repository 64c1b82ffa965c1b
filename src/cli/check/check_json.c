/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The report of `myxtts check` as JSON: manifests, rows, durations, speakers, symbols; see check_report.h.
 *
 * Names are stable: docs/en/file-formats.md describes them.
 */
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdio.h>
#include <utf8proc.h>

#include "cli/check/check_report.h"
#include "cli/command.h"
#include "cli/json_tree.h"

static void histogram_json(cJSON *root, const char *name, const struct mx_histogram *histogram, int *failures)
{
    cJSON *const object = cJSON_AddObjectToObject(root, name);
    mx_command_json_check(cJSON_AddNumberToObject(object, "least", histogram->least), failures);
    mx_command_json_check(cJSON_AddNumberToObject(object, "most", histogram->most), failures);
    mx_command_json_check(cJSON_AddNumberToObject(object, "mean", histogram->mean), failures);
    mx_command_json_check(cJSON_AddNumberToObject(object, "width", histogram->width), failures);
    cJSON *const counts = cJSON_AddArrayToObject(object, "counts");
    mx_command_json_check(counts, failures);
    for (uint32_t i = 0; i < histogram->bins; i++) {
        cJSON *const number = cJSON_CreateNumber((double)histogram->counts[i]);
        if (number != NULL && cJSON_AddItemToArray(counts, number)) continue;
        cJSON_Delete(number);
        ++*failures;
    }
}

static void manifest_json(cJSON *root, const struct mx_manifest *manifest, int *failures)
{
    cJSON *const sources = cJSON_AddArrayToObject(root, "manifests"), *const notes =
                                                                          cJSON_AddArrayToObject(root, "notes");
    for (uint32_t i = 0; i < manifest->source_count; i++) {
        cJSON *const object = mx_command_json_element(sources, failures);
        mx_command_json_check(cJSON_AddStringToObject(object, "path", manifest->sources[i].path), failures);
        mx_command_json_check(
            cJSON_AddStringToObject(object, "format", mx_manifest_format_name(manifest->sources[i].format)), failures);
        mx_command_json_check(cJSON_AddStringToObject(object, "columns", manifest->sources[i].columns), failures);
        mx_command_json_check(cJSON_AddNumberToObject(object, "rows", manifest->sources[i].rows), failures);
    }
    for (uint32_t i = 0; i < manifest->problem_count; i++) {
        const struct mx_manifest_problem *const note = &manifest->problems[i];
        if (note->reject != MX_REJECT_NONE) continue;
        cJSON *const object = mx_command_json_element(notes, failures);
        mx_command_json_check(cJSON_AddStringToObject(object, "manifest", manifest->sources[note->source].path),
                              failures);
        mx_command_json_check(cJSON_AddNumberToObject(object, "line", note->line), failures);
        mx_command_json_check(cJSON_AddStringToObject(object, "id", note->id), failures);
        mx_command_json_check(cJSON_AddStringToObject(object, "message", note->message), failures);
    }
}

static void tables_json(cJSON *root, const struct mx_doctor *doctor, int *failures)
{
    const struct mx_check_report *const report = &doctor->report;
    char code[16];
    utf8proc_uint8_t symbol[5];
    cJSON *const reasons = cJSON_AddObjectToObject(root, "reasons");
    for (int i = 1; i < MX_REJECT_COUNT; i++)
        mx_command_json_check(cJSON_AddNumberToObject(reasons, mx_reject_name((enum mx_reject)i), report->reasons[i]),
                              failures);
    cJSON *const languages = cJSON_AddObjectToObject(root, "languages");
    for (int i = 0; i < MX_LANGUAGE_COUNT; i++)
        if (report->languages[i] > 0 || mx_language_detected((enum mx_language_id)i))
            mx_command_json_check(
                cJSON_AddNumberToObject(languages, mx_language_get((enum mx_language_id)i)->code, report->languages[i]),
                failures);
    cJSON *const speakers = cJSON_AddArrayToObject(root, "speakers");
    for (uint32_t i = 0; i < report->speaker_count; i++) {
        cJSON *const object = mx_command_json_element(speakers, failures);
        mx_command_json_check(cJSON_AddStringToObject(object, "name", report->speakers[i].name), failures);
        mx_command_json_check(cJSON_AddNumberToObject(object, "rows", report->speakers[i].rows), failures);
        mx_command_json_check(cJSON_AddNumberToObject(object, "seconds", report->speakers[i].seconds), failures);
        if (i < doctor->people.count && doctor->people.list[i].pitch_middle > 0) {
            const struct mx_doctor_person *const person = &doctor->people.list[i];
            cJSON *const pitch = cJSON_AddObjectToObject(object, "pitch_hz");
            mx_command_json_check(cJSON_AddNumberToObject(pitch, "low", person->pitch_low), failures);
            mx_command_json_check(cJSON_AddNumberToObject(pitch, "middle", person->pitch_middle), failures);
            mx_command_json_check(cJSON_AddNumberToObject(pitch, "high", person->pitch_high), failures);
        }
        cJSON *const times = cJSON_AddObjectToObject(object, "times");
#define X(identifier, name)                                                                                            \
    mx_command_json_check(cJSON_AddNumberToObject(times, name, report->speakers[i].times[MX_BALANCE_##identifier]),    \
                          failures);
        MX_BALANCE_LIST(X)
#undef X
    }
    cJSON *const symbols = cJSON_AddArrayToObject(root, "symbols");
    for (uint32_t i = 0; i < report->symbol_count; i++) {
        cJSON *const object = mx_command_json_element(symbols, failures);
        symbol[utf8proc_encode_char((utf8proc_int32_t)report->symbols[i].code, symbol)] = 0;
        snprintf(code, sizeof code, "U+%04" PRIX32, report->symbols[i].code);
        mx_command_json_check(cJSON_AddStringToObject(object, "symbol", (const char *)symbol), failures);
        mx_command_json_check(cJSON_AddStringToObject(object, "code", code), failures);
        mx_command_json_check(cJSON_AddNumberToObject(object, "count", (double)report->symbols[i].count), failures);
    }
}

int mx_command_check_json(const struct mx_command_check_report *full)
{
    const struct mx_check_report *const report = &full->doctor->report;
    int failures = 0;
    cJSON *const root = cJSON_CreateObject();
    mx_command_json_check(cJSON_AddStringToObject(root, "corpus", full->path), &failures);
    manifest_json(root, report->manifest, &failures);
    mx_command_json_check(cJSON_AddNumberToObject(root, "rows", report->rows), &failures);
    mx_command_json_check(cJSON_AddNumberToObject(root, "good", report->good), &failures);
    mx_command_json_check(cJSON_AddNumberToObject(root, "rejected", report->rejected), &failures);
    mx_command_json_check(cJSON_AddStringToObject(root, "rejects_file", full->rejects), &failures);
    mx_command_json_check(cJSON_AddNumberToObject(root, "training", report->training), &failures);
    mx_command_json_check(cJSON_AddNumberToObject(root, "validation", report->validation), &failures);
    mx_command_json_check(cJSON_AddNumberToObject(root, "seconds", report->seconds), &failures);
    mx_command_json_check(cJSON_AddNumberToObject(root, "seconds_used", report->seconds_used), &failures);
    cJSON *const rate = cJSON_AddObjectToObject(root, "speaking_rate");
    mx_command_json_check(cJSON_AddNumberToObject(rate, "least", report->rate.least), &failures);
    mx_command_json_check(cJSON_AddNumberToObject(rate, "most", report->rate.most), &failures);
    histogram_json(root, "durations", &report->durations, &failures);
    histogram_json(root, "lengths", &report->lengths, &failures);
    tables_json(root, full->doctor, &failures);
    mx_command_check_json_doctor(root, full, &failures);
    const int rc = mx_command_json(root, failures, NULL);
    cJSON_Delete(root);
    return rc;
}

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The doctor's page, see page.h: the frame in HTML, and the data that page.js draws.
 */
#include "doctor/page.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <xxhash.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/progress.h"
#include "doctor/page_internal.h"
#include "myxtts/error.h"
#include "observe/json.h"
#include "observe/page/page.h"

#define FILLS 8 /* sounds that a sentence to record names */

/* ---- words ---- */

static void words_put(enum mx_words language, struct mx_string *out)
{
    static const char *const borrowed[] = {"hours", "minutes", "seconds", "ms", "percent", "comma"};
    char key[64];
    mx_json_begin(out, "words", '{');
    for (const struct mx_doctor_page_word *word = mx_doctor_page_words; word->key != NULL; word++) {
        snprintf(key, sizeof key, "doctor %s", word->key);
        mx_json_string(out, word->key, mx_catalogue_find_in(language, key, word->english));
    }
    for (int k = 0; k < MX_DOCTOR_FINDING_COUNT; k++) {
        const enum mx_doctor_finding_kind kind = (enum mx_doctor_finding_kind)k;
        snprintf(key, sizeof key, "finding %s", mx_doctor_finding_name(kind));
        mx_json_string(out, key, mx_catalogue_find(language, mx_doctor_finding_template(kind)));
    }
    for (int i = 1; i < MX_REJECT_COUNT; i++) {
        const char *const name = mx_reject_name((enum mx_reject)i);
        snprintf(key, sizeof key, "reject %s", name);
        mx_json_string(out, key, mx_page_word_get(language, name));
    }
    for (size_t i = 0; i < sizeof borrowed / sizeof *borrowed; i++)
        mx_json_string(out, borrowed[i], mx_page_word_get(language, borrowed[i]));
    mx_json_end(out, '}');
}

/* ---- the corpus ---- */

/* The last part of the path, which is made absolute first, so that "." has a name. */
static void name_put(const struct mx_manifest *manifest, struct mx_string *out)
{
    char *const whole = realpath(manifest->sources[0].root, NULL);
    const char *const path = whole != NULL ? whole : manifest->sources[0].root, *const slash = strrchr(path, '/');
    mx_json_string(out, "name", slash != NULL && slash[1] != '\0' ? slash + 1 : path);
    free(whole);
}

/* Of the manifest and the decisions: when these change, what the browser remembers is stale. */
static int key_put(const struct mx_manifest *manifest, struct mx_string *out)
{
    struct mx_string all = {0};
    char key[32], *const whole = realpath(manifest->sources[0].path, NULL);
    mx_string_append(&all, "%s\n", whole != NULL ? whole : manifest->sources[0].path);
    free(whole);
    for (uint32_t s = 0; s < manifest->source_count; s++)
        for (uint32_t i = 0; i < mx_decisions_count(manifest->decisions[s]); i++) {
            const struct mx_decision *const d = mx_decisions_at(manifest->decisions[s], i);
            mx_string_append(&all, "%s\t%s\t%s\t%s\n", d->id, mx_decision_name(d->kind), d->text, d->note);
        }
    const int rc = all.failure;
    if (rc == 0) snprintf(key, sizeof key, "%016" PRIx64, (uint64_t)XXH64(all.data, all.length, 0));
    if (rc == 0) mx_json_string(out, "key", key);
    mx_string_release(&all);
    return rc;
}

static void fact_put(struct mx_string *out, const char *name, double value, int digits)
{
    mx_json_begin(out, NULL, '{');
    mx_json_string(out, "name", name);
    mx_json_number(out, "value", value);
    mx_json_count(out, "digits", digits);
    mx_json_end(out, '}');
}

static void sound_put(const struct mx_doctor *doctor, struct mx_string *out)
{
    const struct mx_doctor_sound_summary *const s = &doctor->summary;
    mx_json_begin(out, "sound", '[');
    if (s->rows > 0) {
        fact_put(out, "noise", s->above_noise_db, 0);
        fact_put(out, "bandwidth", s->bandwidth_hz, 0);
        fact_put(out, "level", s->level_db, 1);
        fact_put(out, "spread", doctor->level_spread_db, 1);
        if (s->decay_rows > 0) fact_put(out, "decay", s->decay_seconds, 2);
    }
    mx_json_end(out, ']');
}

static void count_put(struct mx_string *out, const char *name, uint32_t rows)
{
    mx_json_begin(out, NULL, '{');
    mx_json_string(out, "name", name);
    mx_json_count(out, "rows", rows);
    mx_json_end(out, '}');
}

static void counts_put(const struct mx_doctor *doctor, struct mx_string *out)
{
    mx_json_begin(out, "kinds", '[');
    for (int i = 0; i < MX_DOCTOR_FINDING_COUNT; i++)
        count_put(out, mx_doctor_finding_name((enum mx_doctor_finding_kind)i), doctor->kinds[i]);
    mx_json_end(out, ']');
    mx_json_begin(out, "reasons", '[');
    for (int i = 1; i < MX_REJECT_COUNT; i++)
        if (doctor->report.reasons[i] > 0) count_put(out, mx_reject_name((enum mx_reject)i), doctor->report.reasons[i]);
    mx_json_end(out, ']');
}

static void speakers_put(const struct mx_doctor *doctor, struct mx_string *out)
{
    mx_json_begin(out, "speakers", '[');
    for (uint32_t i = 0; i < doctor->report.speaker_count; i++) {
        const struct mx_check_speaker *const speaker = &doctor->report.speakers[i];
        const struct mx_doctor_person *const person = i < doctor->people.count ? &doctor->people.list[i] : NULL;
        mx_json_begin(out, NULL, '{');
        mx_json_string(out, "name", speaker->name);
        mx_json_count(out, "rows", speaker->rows);
        mx_json_number(out, "seconds", speaker->seconds);
        if (person != NULL && person->pitch_middle > 0) {
            mx_json_begin(out, "pitch", '[');
            mx_json_number(out, NULL, person->pitch_low);
            mx_json_number(out, NULL, person->pitch_middle);
            mx_json_number(out, NULL, person->pitch_high);
            mx_json_end(out, ']');
        } else {
            mx_json_null(out, "pitch");
        }
        mx_json_end(out, '}');
    }
    mx_json_end(out, ']');
}

/* ---- what is missing ---- */

static void units_put(const char *key, const struct mx_doctor_units *units, struct mx_string *out)
{
    mx_json_begin(out, key, '[');
    for (uint32_t i = 0; i < units->missing + units->rare && i < MX_DOCTOR_PAGE_LIST; i++) {
        mx_json_begin(out, NULL, '{');
        mx_json_string(out, "name", units->items[i].name);
        mx_json_count(out, "count", (int64_t)units->items[i].count);
        mx_json_end(out, '}');
    }
    mx_json_end(out, ']');
}

static void coverage_put(const struct mx_doctor *doctor, struct mx_string *out)
{
    mx_json_begin(out, "coverage", '[');
    for (uint32_t i = 0; i < doctor->coverage.language_count; i++) {
        const struct mx_doctor_language *const l = &doctor->coverage.languages[i];
        const uint32_t numbers[] = {l->single.count, l->single.missing, l->single.rare,
                                    l->pair.count,   l->pair.missing,   l->pair.rare};
        mx_json_begin(out, NULL, '{');
        mx_json_string(out, "language", mx_language_get(l->language)->name);
        mx_json_truth(out, "known", l->reference > 0);
        mx_json_begin(out, "numbers", '[');
        for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) mx_json_count(out, NULL, numbers[k]);
        mx_json_end(out, ']');
        units_put("sounds", &l->single, out);
        units_put("pairs", &l->pair, out);
        mx_json_end(out, '}');
    }
    mx_json_end(out, ']');
    mx_json_begin(out, "record", '[');
    for (uint32_t i = 0; i < doctor->records.count; i++) {
        const struct mx_doctor_record *const r = &doctor->records.items[i];
        mx_json_begin(out, NULL, '{');
        mx_json_string(out, "text", r->text);
        mx_json_number(out, "seconds", r->seconds);
        mx_json_begin(out, "fills", '[');
        for (uint32_t k = 0; k < r->gain_count && k < FILLS; k++) mx_json_string(out, NULL, r->gains[k].unit->name);
        mx_json_end(out, ']');
        mx_json_end(out, '}');
    }
    mx_json_end(out, ']');
}

/* ---- decisions ---- */

static void decisions_put(const struct mx_manifest *manifest, struct mx_string *out)
{
    mx_json_begin(out, "decisions", '[');
    for (uint32_t s = 0; s < manifest->source_count; s++) {
        if (s > 0 && manifest->decisions[s] == manifest->decisions[0]) continue;
        for (uint32_t i = 0; i < mx_decisions_count(manifest->decisions[s]); i++) {
            const struct mx_decision *const d = mx_decisions_at(manifest->decisions[s], i);
            mx_json_begin(out, NULL, '{');
            mx_json_string(out, "id", d->id);
            mx_json_string(out, "decision", mx_decision_name(d->kind));
            mx_json_string(out, "text", d->text);
            mx_json_string(out, "note", d->note);
            mx_json_end(out, '}');
        }
    }
    mx_json_end(out, ']');
}

static void files_put(const struct mx_manifest *manifest, const struct mx_doctor_page_options *options,
                      struct mx_string *out)
{
    struct mx_string path = {0};
    if (manifest->decisions[0] != NULL)
        mx_string_append(&path, "%s", mx_decisions_path(manifest->decisions[0]));
    else
        mx_string_append(&path, "%s/" MX_DECISIONS_NAME, manifest->sources[0].root);
    if (path.failure != 0) out->failure = path.failure;
    mx_json_string(out, "decisions_file", path.data);
    mx_string_release(&path);
    mx_json_string(out, "suspects_file", options->suspects);
    mx_json_string(out, "rejects_file", options->rejects);
}

/* ---- rows ---- */

static void findings_put(const struct mx_doctor *doctor, const struct mx_doctor_suspect *suspect, struct mx_string *out)
{
    char value[MX_DOCTOR_NUMBER_BYTES], limit[MX_DOCTOR_NUMBER_BYTES];
    mx_json_begin(out, "findings", '[');
    for (size_t i = 0; i < suspect->count; i++) {
        const struct mx_doctor_finding *const finding = &doctor->findings.items[suspect->first + i];
        mx_doctor_finding_numbers(finding, value, limit);
        mx_json_begin(out, NULL, '{');
        mx_json_string(out, "kind", mx_doctor_finding_name(finding->kind));
        mx_json_string(out, "value", value);
        mx_json_string(out, "limit", limit);
        mx_json_string(out, "text", finding->text);
        mx_json_end(out, '}');
    }
    mx_json_end(out, ']');
}

/* What the voice found in the sound; its times begin where the used part does. */
static void words_of_row_put(const struct mx_doctor *doctor, uint32_t row, struct mx_string *out)
{
    const struct mx_doctor_score *const score = mx_doctor_score_of(doctor, row);
    const char *const text = doctor->report.manifest->utterances[row].text;
    const double begin = doctor->report.list[row].trimmed_begin;
    if (score != NULL)
        mx_json_number(out, "score", score->score);
    else
        mx_json_null(out, "score");
    mx_json_begin(out, "words", '[');
    for (size_t i = 0; score != NULL && i < score->word_count; i++) {
        const struct mx_doctor_word *const word = &score->words[i];
        mx_json_begin(out, NULL, '[');
        mx_json_bytes(out, NULL, text + word->begin, word->end - word->begin);
        mx_json_number(out, NULL, begin + (double)word->from);
        mx_json_number(out, NULL, begin + (double)word->until);
        mx_json_truth(out, NULL, word->heard);
        mx_json_end(out, ']');
    }
    mx_json_end(out, ']');
}

static void span_put(double from, double until, struct mx_string *out)
{
    mx_json_begin(out, NULL, '[');
    mx_json_number(out, NULL, from);
    mx_json_number(out, NULL, until);
    mx_json_end(out, ']');
}

/* Parts of the sound that belong to no word, and those that a finding is about. */
static void spans_put(const struct mx_doctor *doctor, const struct mx_doctor_suspect *suspect, struct mx_string *out)
{
    const struct mx_doctor_score *const score = mx_doctor_score_of(doctor, suspect->row);
    const struct mx_doctor_sound *const sound = &doctor->sounds[suspect->row];
    const double begin = doctor->report.list[suspect->row].trimmed_begin;
    mx_json_begin(out, "other", '[');
    for (size_t i = 0; score != NULL && i < score->other_count; i++)
        span_put(begin + (double)score->other[i].from, begin + (double)score->other[i].until, out);
    for (size_t i = 0; i < suspect->count; i++) {
        const enum mx_doctor_finding_kind kind = doctor->findings.items[suspect->first + i].kind;
        if (kind == MX_DOCTOR_FINDING_SILENCE_INSIDE)
            span_put(sound->silence_at, sound->silence_at + sound->silence, out);
        if (kind == MX_DOCTOR_FINDING_NOISE_BEFORE) span_put(0, sound->speech_begin, out);
        if (kind == MX_DOCTOR_FINDING_NOISE_AFTER) span_put(sound->speech_end, sound->seconds, out);
    }
    mx_json_end(out, ']');
}

static int row_put(const struct mx_doctor *doctor, uint32_t number, struct mx_doctor_artist *artist,
                   struct mx_string *out)
{
    const struct mx_doctor_suspect *const suspect = &doctor->suspects[number];
    const struct mx_utterance *const utterance = &doctor->report.manifest->utterances[suspect->row];
    const struct mx_check_row *const row = &doctor->report.list[suspect->row];
    int rc = 0;
    mx_json_begin(out, NULL, '{');
    mx_json_count(out, "number", number);
    mx_json_string(out, "id", utterance->id);
    mx_json_string(out, "speaker", utterance->speaker_name);
    mx_json_string(out, "text", utterance->text);
    mx_json_number(out, "badness", suspect->badness);
    findings_put(doctor, suspect, out);
    mx_json_number(out, "seconds", row->seconds);
    mx_json_begin(out, "used", '[');
    mx_json_number(out, NULL, row->trimmed_begin);
    mx_json_number(out, NULL, row->seconds - row->trimmed_end);
    mx_json_end(out, ']');
    words_of_row_put(doctor, suspect->row, out);
    spans_put(doctor, suspect, out);
    if (artist != NULL)
        MX_TRY(mx_doctor_artist_draw(artist, utterance->audio, out));
    else
        mx_json_null(out, "audio");
    mx_json_end(out, '}');
out:
    return rc;
}

static int rows_put(const struct mx_doctor *doctor, const atomic_bool *stop, struct mx_string *out)
{
    int rc = 0;
    const uint32_t count = doctor->suspect_count < MX_DOCTOR_PAGE_ROWS ? doctor->suspect_count : MX_DOCTOR_PAGE_ROWS;
    struct mx_doctor_artist *artist = NULL;
    struct mx_progress *progress = NULL;
    MX_TRY(mx_doctor_artist_create(&artist));
    MX_TRY(mx_progress_start(&(struct mx_progress_options){.title = "Drawing", .unit = "rows", .total = count},
                             &progress));
    mx_json_begin(out, "rows", '[');
    for (uint32_t i = 0; i < count; i++) {
        const bool stopped = stop != NULL && atomic_load(stop);
        MX_TRY(row_put(doctor, i, stopped ? NULL : artist, out));
        mx_progress_add(progress, 1);
    }
    mx_json_end(out, ']');
out:
    mx_progress_finish(progress);
    mx_doctor_artist_destroy(artist);
    return rc;
}

/* ---- the page ---- */

static int data_put(const struct mx_doctor *doctor, const struct mx_doctor_page_options *options, struct mx_string *out)
{
    int rc = 0;
    const struct mx_manifest *const manifest = doctor->report.manifest;
    const char *const note = mx_doctor_judge_text(doctor->judge);
    mx_string_append(out, "{");
    mx_json_string(out, "format", "myxtts doctor");
    mx_json_count(out, "version", 1);
    mx_json_string(out, "language", mx_words_codes[options->language]);
    name_put(manifest, out);
    MX_TRY(key_put(manifest, out));
    mx_json_string(out, "program", MX_VERSION);
    mx_json_count(out, "written", (int64_t)time(NULL));
    words_put(options->language, out);
    mx_json_count(out, "count", doctor->report.rows);
    mx_json_number(out, "seconds", doctor->report.seconds);
    mx_json_count(out, "suspects", doctor->suspect_count);
    mx_json_count(out, "rejected", doctor->report.rejected);
    mx_json_string(out, "voice", doctor->scores.voice);
    mx_json_string(out, "voice_note", note == NULL ? NULL : mx_catalogue_find(options->language, note));
    sound_put(doctor, out);
    counts_put(doctor, out);
    speakers_put(doctor, out);
    coverage_put(doctor, out);
    decisions_put(manifest, out);
    files_put(manifest, options, out);
    MX_TRY(rows_put(doctor, options->stop, out));
    mx_string_append(out, "}");
    rc = out->failure;
out:
    return rc;
}

int mx_doctor_page_write(const struct mx_doctor *doctor, const struct mx_doctor_page_options *options,
                         struct mx_string *out)
{
    mx_page_frame_begin(out, &(struct mx_page_frame){.language = options->language,
                                                     .style = (const char *)mx_doctor_page_style,
                                                     .data = "doctor"});
    const int rc = data_put(doctor, options, out);
    if (rc < 0) return rc;
    mx_page_frame_end(out, (const char *)mx_doctor_page_script);
    return out->failure;
}

int mx_doctor_page_save(const struct mx_doctor *doctor, const struct mx_doctor_page_options *options, const char *path)
{
    struct mx_string text = {0};
    int rc = mx_doctor_page_write(doctor, options, &text);
    if (rc == 0) rc = mx_file_write_atomic(path, text.data, text.length);
    mx_string_release(&text);
    return rc;
}

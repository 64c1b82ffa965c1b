/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Scores and speakers of a small corpus (doctor/score/score.h, doctor/people.h) that the base voice itself speaks, as two of
 * its people: exchanged texts, a word too much and words too few in a text, a row by the other person, and a language that
 * the voice never heard are found, and nothing else. How often that is so with recordings is measured by
 * build/doctor_rates.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/string.h"
#include "doctor/people.h"
#include "doctor/score/score.h"
#include "myxtts/voice.h"
#include "speech/wav.h"
#include "support/recording.h"

/* What is spoken, by whom, and what the manifest says instead. */
static const struct line {
    const char *speaker, *spoken, *name, *written, *language;
} lines[] = {
    {"en-allison", "The station is closed until tomorrow morning.", "ann", NULL, "en"},
    {"en-allison", "Please enter your account number now.", "ann", NULL, "en"},
    {"en-allison", "Nobody is available to take your call.", "ann", "You have three new messages today.", "en"},
    {"en-allison", "Press one to listen to the directory.", "ann", NULL, "en"},
    {"en-allison", "You have three new messages today.", "ann", "Nobody is available to take your call.", "en"},
    {"en-allison", "The conference will begin in five minutes.", "ann", NULL, "en"},
    {"en-allison", "Your password has been changed.", "ann", "Your password has never been changed.", "en"},
    {"en-allison", "Thank you for calling our service today.", "ann", NULL, "en"},
    {"en-allison", "This number is not in service any longer.", "ann", "This number is not in service.", "en"},
    {"en-rms", "The person at this extension is busy.", "ann", NULL, "en"},
    {"en-allison", "All representatives are busy at this time.", "ann", NULL, "en"},
    {"en-rms", "The weather will be cold and windy.", "rob", NULL, "en"},
    {"en-rms", "We painted the kitchen last summer.", "rob", NULL, "en"},
    {"en-rms", "My brother lives in a small village.", "rob", NULL, "en"},
    {"en-rms", "The train was late again this morning.", "rob", NULL, "en"},
    {"en-rms", "She bought seven apples and some bread.", "rob", NULL, "en"},
    {"en-rms", "Nobody knows where the keys are.", "rob", NULL, "en"},
    {"en-rms", "The children are playing in the garden.", "rob", NULL, "en"},
    {"en-rms", "He opened the window to let in some air.", "rob", NULL, "en"},
    {"en-rms", "Please close the door behind you.", "rob", "Bitte mach die Tür hinter dir zu.", "de"},
};

enum { ROWS = sizeof lines / sizeof *lines };
enum { SWAPPED_A = 2, SWAPPED_B = 4, ADDED = 6, REMOVED = 8, BY_ROB = 9, GERMAN = ROWS - 1 };

struct fixture {
    char *folder;
    struct mx_check_options options;
    struct mx_check_report report;
    struct mx_doctor_scores scores;
    struct mx_doctor_findings findings;
};

static void must(int rc)
{
    if (rc < 0) fail_msg("%s (%s)", mx_error_last()->message, mx_error_last()->hint);
}

/* ---- the corpus ---- */

static void line_speak(struct mx_speaker *speaker, const struct line *line, const char *path)
{
    static float sound[30 * 22050];
    struct mx_speaking how = MX_SPEAKING_DEFAULT;
    const struct mx_sound_chunk *chunk;
    size_t count = 0;
    int rc;
    how.speaker = line->speaker;
    must(mx_speaker_begin(speaker, line->spoken, strlen(line->spoken), &how));
    while ((rc = mx_speaker_next(speaker, &chunk)) > 0) {
        assert_true(count + chunk->count <= sizeof sound / sizeof *sound);
        memcpy(sound + count, chunk->samples, chunk->count * sizeof *sound);
        count += chunk->count;
    }
    must(rc);
    must(mx_wav_write(path, sound, count, 22050, MX_WAV_PCM16));
}

static void corpus_make(const char *folder)
{
    struct mx_voice *voice;
    struct mx_speaker *speaker;
    struct mx_string list = {0};
    must(mx_voice_open("base", NULL, &voice));
    must(mx_speaker_create(voice, &speaker));
    must(mx_string_append(&list, "audio_file|text|speaker_name|language\n"));
    for (int i = 0; i < ROWS; i++) {
        char *const path = mx_format("%s/row%02d.wav", folder, i);
        line_speak(speaker, &lines[i], path);
        must(mx_string_append(&list, "row%02d.wav|%s|%s|%s\n", i,
                              lines[i].written != NULL ? lines[i].written : lines[i].spoken, lines[i].name,
                              lines[i].language));
        mx_free(path);
    }
    file_put_text(folder, "metadata.csv", list.data);
    mx_string_release(&list);
    mx_speaker_destroy(speaker);
    mx_voice_close(voice);
}

static int setup(void **state)
{
    static struct fixture f;
    const struct mx_doctor_scores_options how = {.workers = 2};
    must(mx_log_configure(&(struct mx_log_options){.level = MX_LOG_SILENT}));
    f.folder = folder_make();
    f.options = MX_CHECK_OPTIONS_DEFAULT;
    corpus_make(f.folder);
    must(mx_check_run(f.folder, &f.options, &f.report));
    assert_int_equal(f.report.good, ROWS);
    must(mx_doctor_scores_compute(&f.report, &f.options.row, &how, &f.scores));
    must(mx_doctor_scores_judge(&f.report, &f.scores, &f.findings));
    must(mx_doctor_people_judge(&f.report, &f.scores, &f.findings));
    mx_doctor_findings_sort(&f.findings);
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *const f = *state;
    mx_doctor_findings_release(&f->findings);
    mx_doctor_scores_release(&f->scores);
    mx_check_release(&f->report);
    folder_remove(f->folder);
    return 0;
}

static const struct mx_doctor_finding *finding_of(const struct fixture *f, uint32_t row,
                                                  enum mx_doctor_finding_kind kind)
{
    for (size_t i = 0; i < f->findings.count; i++)
        if (f->findings.items[i].row == row && f->findings.items[i].kind == kind) return &f->findings.items[i];
    fail_msg("row %u: no %s", row, mx_doctor_finding_name(kind));
    return NULL;
}

/* ---- findings ---- */

static void test_swapped(void **state)
{
    const struct fixture *const f = *state;
    const struct mx_doctor_finding *const swapped = finding_of(f, SWAPPED_A, MX_DOCTOR_FINDING_TEXT_MISMATCH);
    assert_true(swapped->value < swapped->limit - 1 && f->scores.rows[SWAPPED_A].deviations > 4);
    assert_true(finding_of(f, SWAPPED_B, MX_DOCTOR_FINDING_TEXT_MISMATCH)->badness >= 1);
    assert_string_equal(finding_of(f, SWAPPED_A, MX_DOCTOR_FINDING_OTHER_ROW)->text, "row04");
    assert_string_equal(finding_of(f, SWAPPED_B, MX_DOCTOR_FINDING_OTHER_ROW)->text, "row02");
    assert_int_equal(f->scores.rows[SWAPPED_A].better, SWAPPED_B);
}

static void test_words(void **state)
{
    const struct fixture *const f = *state;
    assert_string_equal(finding_of(f, ADDED, MX_DOCTOR_FINDING_MISSING_WORDS)->text, "never");
    const struct mx_doctor_finding *const extra = finding_of(f, REMOVED, MX_DOCTOR_FINDING_EXTRA_SOUND);
    const double begin = f->report.list[REMOVED].trimmed_begin, seconds = f->report.list[REMOVED].seconds_used;
    assert_true(extra->value > 0.3 && extra->value < 1);
    assert_true(extra->limit > begin + seconds - 1.2 && extra->limit + extra->value <= begin + seconds + 0.02);
}

static void test_people(void **state)
{
    const struct fixture *const f = *state;
    struct mx_doctor_people people;
    assert_string_equal(finding_of(f, BY_ROB, MX_DOCTOR_FINDING_OTHER_SPEAKER)->text, "rob");
    must(mx_doctor_people_compute(&f->report, &f->scores, &people));
    assert_int_equal(people.count, 2);
    for (uint32_t i = 0; i < people.count; i++) {
        const struct mx_doctor_person *const p = &people.list[i];
        assert_true(p->voiced > 500 && p->pitch_low > 50 && p->pitch_low < p->pitch_middle);
        assert_true(p->pitch_middle < p->pitch_high && p->pitch_high < 500);
    }
    assert_string_equal(people.list[0].name, "ann");
    assert_true(people.list[0].pitch_middle > 1.3 * people.list[1].pitch_middle);
    mx_doctor_people_release(&people);
}

/* Nothing is said about the rows that are right. */
static void test_others(void **state)
{
    const struct fixture *const f = *state;
    for (size_t i = 0; i < f->findings.count; i++) {
        const struct mx_doctor_finding *const finding = &f->findings.items[i];
        const uint32_t row = finding->row;
        if (row != SWAPPED_A && row != SWAPPED_B && row != ADDED && row != REMOVED && row != BY_ROB)
            fail_msg("row %u: %s", row, mx_doctor_finding_name(finding->kind));
        assert_true(finding->badness >= 1);
    }
}

/* ---- scores ---- */

static void test_alignment(void **state)
{
    const struct fixture *const f = *state;
    const struct mx_doctor_score *const s = &f->scores.rows[0];
    const char *const text = f->report.manifest->utterances[0].text;
    assert_int_equal(s->word_count, 7);
    assert_memory_equal(text + s->words[1].begin, "station", s->words[1].end - s->words[1].begin);
    for (size_t i = 0; i < s->word_count; i++) {
        assert_true(s->words[i].heard);
        assert_true(s->words[i].from < s->words[i].until);
        assert_true((double)s->words[i].until <= f->report.list[0].seconds_used + 0.02);
        if (i > 0) assert_true(s->words[i].from >= s->words[i - 1].until);
    }
}

static void test_language(void **state)
{
    const struct fixture *const f = *state;
    struct mx_doctor_fit fit;
    assert_int_equal(f->scores.rows[GERMAN].unscored, MX_DOCTOR_UNSCORED_LANGUAGE);
    assert_int_equal(f->scores.unscored_languages[f->report.list[GERMAN].language], 1);
    assert_int_equal(f->scores.scored, ROWS - 1);
    must(mx_doctor_voice_fit(NULL, &f->report, &fit));
    assert_int_equal(fit.known, ROWS - 1);
    assert_int_equal(fit.unknown, 1);
    assert_true(mx_doctor_voice_fit("no-such-voice", &f->report, &fit) < 0);
    assert_true(mx_doctor_voice_fit("vocoder", &f->report, &fit) < 0);
}

/* The number of workers changes nothing, and a stop ends the work. */
static void test_workers(void **state)
{
    struct fixture *const f = *state;
    atomic_bool stop = false;
    struct mx_doctor_scores again;
    struct mx_doctor_scores_options how = {.workers = 1, .stop = &stop};
    must(mx_doctor_scores_compute(&f->report, &f->options.row, &how, &again));
    for (int i = 0; i < ROWS; i++) {
        assert_memory_equal(&again.rows[i].score, &f->scores.rows[i].score, sizeof(double));
        assert_memory_equal(&again.rows[i].better_by, &f->scores.rows[i].better_by, sizeof(double));
    }
    assert_memory_equal(again.vectors, f->scores.vectors, (size_t)ROWS * (size_t)again.width * sizeof(float));
    mx_doctor_scores_release(&again);
    atomic_store(&stop, true);
    assert_int_equal(mx_doctor_scores_compute(&f->report, &f->options.row, &how, &again), MX_ERR_INTERRUPTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_swapped),   cmocka_unit_test(test_words),
                                       cmocka_unit_test(test_people),    cmocka_unit_test(test_others),
                                       cmocka_unit_test(test_alignment), cmocka_unit_test(test_language),
                                       cmocka_unit_test(test_workers)};
    return cmocka_run_group_tests(tests, setup, teardown);
}

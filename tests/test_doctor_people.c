/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Who is heard in a row (doctor/people.h), on vectors that are made up: a row inside the cloud of another speaker, one far
 * from everybody, rows that cannot be judged, and the pitch of a speaker from the counts of its frames.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "doctor/people.h"

enum { ROWS = 40, WIDTH = 16 };

struct fixture {
    struct mx_utterance utterances[ROWS];
    struct mx_check_row list[ROWS];
    struct mx_check_speaker speakers[2];
    float vectors[ROWS][WIDTH];
    uint32_t pitch[2][MX_DOCTOR_PITCH_BINS];
    struct mx_manifest manifest;
    struct mx_check_report report;
    struct mx_doctor_scores scores;
    struct mx_doctor_findings findings;
};

static const char *names[] = {"ann", "rob"};

/* Around (1, 0, 0 …) for ann, the even rows, and around (0, 1, 0 …) for rob. */
static void vector_set(struct fixture *f, uint32_t row, uint32_t speaker)
{
    for (uint32_t k = 0; k < WIDTH; k++)
        f->vectors[row][k] = (k == speaker ? 1.0f : 0) + 0.02f * ((float)mx_rng_below(1, row, k, 1000) / 500.0f - 1.0f);
}

static struct fixture *fixture_make(uint32_t speakers)
{
    static struct fixture f;
    f = (struct fixture){0};
    for (uint32_t i = 0; i < ROWS; i++) {
        const uint32_t speaker = i % speakers;
        f.utterances[i] = (struct mx_utterance){.speaker = speaker, .speaker_name = names[speaker]};
        f.list[i].seconds_used = 2;
        vector_set(&f, i, speaker);
    }
    for (uint32_t s = 0; s < speakers; s++) f.speakers[s].name = names[s];
    f.manifest = (struct mx_manifest){
        .utterances = f.utterances, .utterance_count = ROWS, .speakers = names, .speaker_count = speakers};
    f.report = (struct mx_check_report){
        .manifest = &f.manifest, .list = f.list, .speakers = f.speakers, .speaker_count = speakers};
    f.scores = (struct mx_doctor_scores){.count = ROWS, .width = WIDTH, .vectors = f.vectors[0], .pitch = f.pitch};
    return &f;
}

static void judge(struct fixture *f)
{
    assert_int_equal(mx_doctor_people_judge(&f->report, &f->scores, &f->findings), 0);
}

static void test_right(void **state)
{
    (void)state;
    struct fixture *const f = fixture_make(2);
    judge(f);
    assert_int_equal(f->findings.count, 0);
    mx_doctor_findings_release(&f->findings);
}

static void test_other_speaker(void **state)
{
    (void)state;
    struct fixture *const f = fixture_make(2);
    vector_set(f, 6, 1);
    judge(f);
    assert_int_equal(f->findings.count, 1);
    assert_int_equal(f->findings.items[0].row, 6);
    assert_int_equal(f->findings.items[0].kind, MX_DOCTOR_FINDING_OTHER_SPEAKER);
    assert_string_equal(f->findings.items[0].text, "rob");
    assert_true(f->findings.items[0].value < 0.6 && f->findings.items[0].badness >= 1);
    mx_doctor_findings_release(&f->findings);
}

/* A single speaker, and a row by somebody else. */
static void test_other_voice(void **state)
{
    (void)state;
    struct fixture *const f = fixture_make(1);
    vector_set(f, 11, 5);
    judge(f);
    assert_int_equal(f->findings.count, 1);
    assert_int_equal(f->findings.items[0].row, 11);
    assert_int_equal(f->findings.items[0].kind, MX_DOCTOR_FINDING_OTHER_VOICE);
    assert_true(f->findings.items[0].value > 5);
    mx_doctor_findings_release(&f->findings);
}

/* Rejected and very short rows are not judged, nor are people with few rows; nor anything by a voice that cannot listen. */
static void test_unjudged(void **state)
{
    (void)state;
    struct fixture *f = fixture_make(2);
    vector_set(f, 6, 1);
    f->list[6].seconds_used = 0.4;
    vector_set(f, 8, 1);
    f->list[8].reject = MX_REJECT_SILENT;
    judge(f);
    assert_int_equal(f->findings.count, 0);
    f = fixture_make(1);
    vector_set(f, 3, 5);
    for (uint32_t i = 7; i < ROWS; i++) memset(f->vectors[i], 0, sizeof f->vectors[i]);
    judge(f);
    assert_int_equal(f->findings.count, 0);
    f = fixture_make(1);
    vector_set(f, 3, 5);
    f->scores.width = 0;
    judge(f);
    assert_int_equal(f->findings.count, 0);
}

static void test_pitch(void **state)
{
    (void)state;
    struct fixture *const f = fixture_make(2);
    struct mx_doctor_people people;
    const int bin = (int)(log(200 / MX_DOCTOR_PITCH_LEAST) / log(MX_DOCTOR_PITCH_STEP));
    f->pitch[0][bin - 30] = 10;
    f->pitch[0][bin] = 100;
    f->pitch[0][bin + 30] = 10;
    assert_int_equal(mx_doctor_people_compute(&f->report, &f->scores, &people), 0);
    assert_int_equal(people.count, 2);
    assert_string_equal(people.list[0].name, "ann");
    assert_int_equal(people.list[0].voiced, 120);
    assert_true(fabs(people.list[0].pitch_middle - 200) < 3);
    assert_true(fabs(people.list[0].pitch_low - 200 / pow(MX_DOCTOR_PITCH_STEP, 30)) < 3);
    assert_true(fabs(people.list[0].pitch_high - 200 * pow(MX_DOCTOR_PITCH_STEP, 30)) < 4);
    assert_true(people.list[1].voiced == 0 && people.list[1].pitch_middle <= 0);
    mx_doctor_people_release(&people);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_right), cmocka_unit_test(test_other_speaker),
                                       cmocka_unit_test(test_other_voice), cmocka_unit_test(test_unjudged),
                                       cmocka_unit_test(test_pitch)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

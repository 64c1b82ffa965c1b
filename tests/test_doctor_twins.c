/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Twins: copies of a sound that were changed in many ways are found, different sounds are not taken for copies, and the same
 * text counts for one speaker only.
 */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "doctor/twins.h"
#include "support/babble.h"

#define RATE  MX_AUDIO_RATE_DEFAULT
#define FIRST 30 /* different rows */

static int setup(void **state)
{
    struct clinic *const clinic = mx_alloc(1, sizeof *clinic);
    assert_non_null(clinic);
    clinic_open(clinic, 2);
    for (uint32_t i = 0; i < FIRST; i++) {
        struct babble babble = babble_make(i, RATE);
        clinic_hear(clinic, &babble, 0);
    }
    *state = clinic;
    return 0;
}

static int teardown(void **state)
{
    clinic_close(*state);
    mx_free(*state);
    return 0;
}

static void judge(struct clinic *clinic, struct mx_doctor_findings *findings)
{
    *findings = (struct mx_doctor_findings){0};
    assert_int_equal(mx_doctor_twins_judge(&clinic->report, mx_doctor_meter_sounds(clinic->meter), findings), 0);
    mx_doctor_findings_sort(findings);
}

static void finding_is(const struct mx_doctor_finding *finding, uint32_t row, enum mx_doctor_finding_kind kind,
                       const char *text)
{
    assert_int_equal(finding->row, row);
    assert_int_equal(finding->kind, kind);
    assert_string_equal(finding->text, text);
    assert_true(finding->badness >= 1);
}

static void test_different(void **state)
{
    struct mx_doctor_findings findings;
    judge(*state, &findings);
    assert_int_equal(findings.count, 0);
}

/* The text of row `as`, for the row that was heard last. */
static void text_copy(struct clinic *clinic, uint32_t as)
{
    memcpy(clinic->symbols[clinic->manifest.utterance_count - 1], clinic->symbols[as], sizeof clinic->symbols[as]);
}

static void test_copies(void **state)
{
    struct clinic *const clinic = *state;
    struct mx_doctor_findings findings;
    for (uint32_t i = 0; i < 6; i++) {
        struct babble babble = babble_make(3 * i, RATE);
        switch (i) {
        case 0: /* bit for bit */
            break;
        case 1:
            babble_scale(&babble, 0.4);
            break;
        case 2:
            babble_cut(&babble, 0.17, 0.31);
            break;
        case 3:
            babble_wait(&babble, 0, 0.333);
            break;
        case 4:
            babble_noise(&babble, 40);
            babble_lowpass(&babble, 7000);
            break;
        default: /* all of it */
            babble_cut(&babble, 0.1, 0.2);
            babble_lowpass(&babble, 5500);
            babble_noise(&babble, 45);
            babble_scale(&babble, 1.7);
            break;
        }
        clinic_hear(clinic, &babble, i % 2);
        text_copy(clinic, 3 * i);
    }
    judge(clinic, &findings);
    assert_int_equal(findings.count, 6);
    for (uint32_t i = 0; i < 6; i++)
        finding_is(&findings.items[i], FIRST + i, MX_DOCTOR_FINDING_SAME_SOUND, clinic->ids[3 * i]);
    mx_doctor_findings_release(&findings);
}

/* Of twins with different texts one text is wrong: both are named, the first of many only once. */
static void test_other_texts(void **state)
{
    struct clinic *const clinic = *state;
    struct mx_doctor_findings findings;
    for (uint32_t i = 0; i < 3; i++) {
        struct babble babble = babble_make(7, RATE);
        clinic_hear(clinic, &babble, 0);
    }
    judge(clinic, &findings);
    assert_int_equal(findings.count, 4);
    finding_is(&findings.items[0], 7, MX_DOCTOR_FINDING_SAME_SOUND, clinic->ids[FIRST]);
    for (uint32_t i = 0; i < 3; i++) finding_is(&findings.items[1 + i], FIRST + i, MX_DOCTOR_FINDING_SAME_SOUND, "r7");
    mx_doctor_findings_release(&findings);
}

/* Rows that were refused are no twins of others. */
static void test_refused(void **state)
{
    struct clinic *const clinic = *state;
    struct mx_doctor_findings findings;
    struct babble babble = babble_make(7, RATE);
    clinic_hear(clinic, &babble, 0);
    clinic->list[7].reject = MX_REJECT_CLIPPED;
    judge(clinic, &findings);
    assert_int_equal(findings.count, 0);
}

static void test_same_text(void **state)
{
    struct clinic *const clinic = *state;
    struct mx_doctor_findings findings;
    for (uint32_t i = 0; i < 2; i++) { /* twice is no harm */
        memcpy(clinic->symbols[2 + i], clinic->symbols[1], sizeof clinic->symbols[1]);
        clinic->utterances[3].speaker = 1; /* and another speaker may say the same */
    }
    judge(clinic, &findings);
    assert_int_equal(findings.count, 0);
    clinic->utterances[3].speaker = 0;
    judge(clinic, &findings);
    assert_int_equal(findings.count, 2);
    for (uint32_t i = 0; i < 2; i++) {
        finding_is(&findings.items[i], 2 + i, MX_DOCTOR_FINDING_SAME_TEXT, "r1");
        assert_true(findings.items[i].value == 2);
    }
    mx_doctor_findings_release(&findings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_different, setup, teardown),
        cmocka_unit_test_setup_teardown(test_copies, setup, teardown),
        cmocka_unit_test_setup_teardown(test_other_texts, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_same_text, setup, teardown),
    };
    mx_log_configure(&(struct mx_log_options){.level = MX_LOG_SILENT});
    return cmocka_run_group_tests(tests, NULL, NULL);
}

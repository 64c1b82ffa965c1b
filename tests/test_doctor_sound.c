/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The doctor's meter: each measure against sounds with ground truth, and what is named of a corpus and what is not.
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
#include "doctor/sound/sound.h"
#include "support/babble.h"

#define RATE MX_AUDIO_RATE_DEFAULT

static int setup(void **state)
{
    struct clinic *const clinic = mx_alloc(1, sizeof *clinic);
    assert_non_null(clinic);
    clinic_open(clinic, 1);
    *state = clinic;
    return 0;
}

static int teardown(void **state)
{
    clinic_close(*state);
    mx_free(*state);
    return 0;
}

static void between(double value, double least, double most)
{
    if (value < least || value > most) fail_msg("%g is not in %g … %g", value, least, most);
}

/* How often a kind is named; of which row comes last. */
static int named(struct clinic *clinic, enum mx_doctor_finding_kind kind, uint32_t *row)
{
    int count = 0;
    struct mx_doctor_findings findings = {0};
    assert_int_equal(mx_doctor_sounds_judge(&clinic->report, mx_doctor_meter_sounds(clinic->meter), &findings), 0);
    for (size_t i = 0; i < findings.count; i++) {
        assert_true(findings.items[i].badness >= 1);
        if (findings.items[i].kind != kind) continue;
        *row = findings.items[i].row;
        count++;
    }
    mx_doctor_findings_release(&findings);
    return count;
}

/* Good rows 0 … 11, and what is usual of them. */
static void healthy_hear(struct clinic *clinic)
{
    for (uint32_t i = 0; i < 12; i++) {
        struct babble babble = babble_make(i, RATE);
        clinic_hear(clinic, &babble, 0);
    }
}

/* The babble is row 12, and the only one that is named for this. */
static const struct mx_doctor_sound *named_alone(struct clinic *clinic, struct babble *babble,
                                                 enum mx_doctor_finding_kind kind)
{
    uint32_t row = 0;
    healthy_hear(clinic);
    const struct mx_doctor_sound *const sound = clinic_hear(clinic, babble, 0);
    assert_int_equal(named(clinic, kind, &row), 1);
    assert_int_equal(row, 12);
    return sound;
}

/* ---- measures ---- */

static void test_clean(void **state)
{
    struct clinic *const clinic = *state;
    for (uint32_t i = 0; i < 20; i++) {
        struct babble babble = babble_make(i, RATE);
        const double seconds = (double)babble.count / RATE, pause = babble.pause_at;
        const struct mx_doctor_sound *const s = clinic_hear(clinic, &babble, 0);
        between(s->seconds, seconds - 1e-6, seconds + 1e-6);
        between(s->above_noise_db, 50, 65); /* 60 dB below the vowels */
        between(s->bandwidth_hz, 10000, 11025);
        between(s->level_db, -24, -19);
        between(s->speech_begin, BABBLE_BEGIN - 0.03, BABBLE_BEGIN + 0.03);
        between(s->speech_end, seconds - BABBLE_END - 0.06, seconds - BABBLE_END + 0.03);
        between(s->silence, BABBLE_PAUSE - 0.02, BABBLE_PAUSE + 0.1);
        between(s->silence_at, pause - 0.1, pause + 0.02);
        between(s->hum_db, -MX_DOCTOR_DB_MAX, 9);
        between(s->decay_seconds, 0, 0.25);
        assert_true(s->noise_before == 0 && s->noise_after == 0 && s->clipped == 0);
        assert_int_equal(s->rate, RATE);
        between(fabs(s->offset), 0, 1e-3);
    }
    struct mx_doctor_findings findings = {0};
    assert_int_equal(mx_doctor_sounds_judge(&clinic->report, mx_doctor_meter_sounds(clinic->meter), &findings), 0);
    assert_int_equal(findings.count, 0);
    struct mx_doctor_sound_summary summary;
    assert_int_equal(mx_doctor_sounds_summarise(&clinic->report, mx_doctor_meter_sounds(clinic->meter), &summary), 0);
    assert_int_equal(summary.rows, 20);
    between(summary.bandwidth_hz, 10000, 11025);
    between(summary.bandwidth_best_hz, summary.bandwidth_hz, 11025);
    between(summary.above_noise_db, 50, 65);
}

static void test_noise(void **state)
{
    static const double below[] = {30, 20, 12};
    struct clinic *const clinic = *state;
    for (size_t i = 0; i < 3; i++) {
        struct babble babble = babble_make(3, RATE);
        babble_noise(&babble, below[i]);
        between(clinic_hear(clinic, &babble, 0)->above_noise_db, below[i] - 3, below[i] + 3);
    }
    struct babble babble = babble_make(3, RATE); /* zeros around it make it no better */
    babble_noise(&babble, 10);
    memset(babble.samples, 0, RATE / 4 * sizeof *babble.samples);
    between(clinic_hear(clinic, &babble, 0)->above_noise_db, 7, 13);
    babble = babble_make(4, RATE);
    babble_noise(&babble, 14);
    clinic->manifest.utterance_count = 0;
    named_alone(clinic, &babble, MX_DOCTOR_FINDING_NOISY);
}

static void test_bandwidth(void **state)
{
    static const double cuts[] = {3400, 4000, 6000, 8000};
    struct clinic *const clinic = *state;
    for (size_t i = 0; i < 4; i++) {
        struct babble babble = babble_make(5, RATE);
        babble_lowpass(&babble, cuts[i]);
        const struct mx_doctor_sound *const s = clinic_hear(clinic, &babble, 0);
        between(s->bandwidth_hz, cuts[i] * 0.95, cuts[i] * 1.13);
        between(s->edge_db, 25, 120);
    }
    struct babble babble = babble_make(6, 8000); /* a file of a telephone: narrow by nature */
    const struct mx_doctor_sound *const s = clinic_hear(clinic, &babble, 0);
    assert_int_equal(s->rate, 8000);
    between(s->bandwidth_hz, 3300, 4400);
}

static void test_narrow(void **state)
{
    struct babble babble = babble_make(40, RATE);
    babble_lowpass(&babble, 3700);
    named_alone(*state, &babble, MX_DOCTOR_FINDING_NARROW);
}

/* Where all are narrow, none is narrower than the others; the summary tells. */
static void test_narrow_corpus(void **state)
{
    uint32_t row;
    struct clinic *const clinic = *state;
    struct mx_doctor_sound_summary summary;
    for (uint32_t i = 0; i < 12; i++) {
        struct babble babble = babble_make(i, 8000);
        clinic_hear(clinic, &babble, 0);
    }
    assert_int_equal(named(clinic, MX_DOCTOR_FINDING_NARROW, &row), 0);
    assert_int_equal(mx_doctor_sounds_summarise(&clinic->report, mx_doctor_meter_sounds(clinic->meter), &summary), 0);
    between(summary.bandwidth_hz, 3300, 4400);
}

static void test_clipping_and_offset(void **state)
{
    struct clinic *const clinic = *state;
    struct babble babble = babble_make(7, RATE);
    for (size_t i = 0; i < babble.count; i++) babble.samples[i] += 0.02f;
    const struct mx_doctor_sound *s = named_alone(clinic, &babble, MX_DOCTOR_FINDING_OFFSET);
    between(s->offset, 0.0195, 0.0205);
    babble = babble_make(7, RATE);
    for (int i = 0; i < 5; i++) babble.samples[20000 + i] = 1;
    clinic->manifest.utterance_count = 0;
    s = named_alone(clinic, &babble, MX_DOCTOR_FINDING_CLIPPED);
    assert_int_equal(s->clipped, 5);
}

static void test_hum(void **state)
{
    struct clinic *const clinic = *state;
    for (int i = 0; i < 4; i++) { /* the second harmonic alone is enough */
        struct babble babble = babble_make(8, RATE);
        babble_tone(&babble, (i % 2 == 0 ? 50.05 : 59.95) * (i < 2 ? 1 : 2), 38);
        const struct mx_doctor_sound *const s = clinic_hear(clinic, &babble, 0);
        assert_true(s->hum_hz == (i % 2 == 0 ? 50 : 60));
        between(s->hum_db, 15, 80);
        between(s->hum_level_db, -20 - 38 - 1, -20 - 38 + 1); /* as it was in the file, not as training gets it */
    }
    struct babble babble = babble_make(9, RATE);
    babble_tone(&babble, 50, 35);
    babble_tone(&babble, 150, 40);
    clinic->manifest.utterance_count = 0;
    named_alone(clinic, &babble, MX_DOCTOR_FINDING_HUM);
}

/* Without a pause of its own, the hum is heard under the voice. */
static void test_hum_without_pause(void **state)
{
    struct babble babble = babble_make(10, RATE);
    babble_tone(&babble, 50, 28);
    babble_cut(&babble, BABBLE_BEGIN, (double)babble.count / RATE - babble.pause_at);
    const struct mx_doctor_sound *const s = clinic_hear(*state, &babble, 0);
    assert_true(s->hum_hz == 50);
    between(s->hum_db, 12, 80);
}

static void test_reverberation(void **state)
{
    static const double rooms[] = {0.4, 0.6, 0.9};
    struct clinic *const clinic = *state;
    for (size_t i = 0; i < 3; i++) {
        struct babble babble = babble_make(11, RATE);
        babble_room(&babble, rooms[i]);
        between(clinic_hear(clinic, &babble, 0)->decay_seconds, rooms[i] * 0.75, rooms[i] * 1.3);
    }
    struct babble babble = babble_make(12, RATE);
    babble_room(&babble, 0.8);
    clinic->manifest.utterance_count = 0;
    named_alone(clinic, &babble, MX_DOCTOR_FINDING_REVERBERANT);
}

static void test_level(void **state)
{
    struct babble babble = babble_make(13, RATE);
    babble_scale(&babble, 0.2); /* 14 dB */
    const struct mx_doctor_sound *const s = named_alone(*state, &babble, MX_DOCTOR_FINDING_LEVEL);
    between(s->level_db, -38, -33);
}

/* ---- times ---- */

static void test_noise_before(void **state)
{
    struct babble babble = babble_make(14, RATE);
    babble_wait(&babble, 0, 0.5);
    babble_burst(&babble, 0.3, 0.03, 15); /* a click */
    const struct mx_doctor_sound *const s = named_alone(*state, &babble, MX_DOCTOR_FINDING_NOISE_BEFORE);
    between(s->noise_before, 0.025, 0.05);
    between(s->speech_begin, BABBLE_BEGIN + 0.47, BABBLE_BEGIN + 0.53);
    assert_true(s->noise_after == 0);
}

static void test_noise_after(void **state)
{
    struct babble babble = babble_make(15, RATE);
    const double end = (double)babble.count / RATE;
    babble_wait(&babble, end, 0.8);
    babble_burst(&babble, end + 0.1, 0.4, 26); /* a breath */
    const struct mx_doctor_sound *const s = named_alone(*state, &babble, MX_DOCTOR_FINDING_NOISE_AFTER);
    between(s->noise_after, 0.39, 0.43);
    assert_true(s->noise_before == 0);
}

static void test_silence_inside(void **state)
{
    struct babble babble = babble_make(16, RATE);
    const double at = babble.pause_at;
    babble_wait(&babble, at + 0.1, 1.2);
    const struct mx_doctor_sound *const s = named_alone(*state, &babble, MX_DOCTOR_FINDING_SILENCE_INSIDE);
    between(s->silence, BABBLE_PAUSE + 1.18, BABBLE_PAUSE + 1.3);
    between(s->silence_at, at - 0.1, at + 0.02);
}

/* A hiss and a tone are no speech, and the shortest recordings are measured, too. */
static void test_strange(void **state)
{
    struct clinic *const clinic = *state;
    struct babble babble = babble_make(17, RATE);
    babble.count = RATE / 2;
    memset(babble.samples, 0, babble.count * sizeof *babble.samples);
    babble_noise(&babble, 0);
    const struct mx_doctor_sound *s = clinic_hear(clinic, &babble, 0);
    assert_true(s->speech_begin == 0 && s->speech_end == s->seconds && s->noise_before == 0);
    between(s->above_noise_db, 0, 3);
    babble = babble_make(18, RATE);
    memset(babble.samples, 0, babble.count * sizeof *babble.samples);
    babble_burst(&babble, 1, 0.5, 0); /* in digital silence */
    s = clinic_hear(clinic, &babble, 0);
    between(s->above_noise_db, 0, 10); /* all that sounds is noise */
    assert_true(isfinite(s->hum_db) && isfinite(s->hum_level_db) && isfinite(s->bandwidth_hz) && isfinite(s->edge_db));
}

/* A hiss with a vowel that is hardly one: from both ends the same is found, or nothing is. */
static void test_hardly_a_vowel(void **state)
{
    bool found = false, missed = false;
    for (size_t i = 0; i < 60; i++) {
        struct babble babble = babble_make(19, RATE);
        const size_t from = RATE / 10 + i % 6 * 40, until = from + (34 + i / 6) * RATE / 1000;
        babble.count = (size_t)110 * 200; /* windows: an even number */
        memset(babble.samples, 0, babble.count * sizeof *babble.samples);
        babble_burst(&babble, 0.4, 0.4, 10);
        for (size_t t = from; t < until; t++)
            for (int k = 1; k < 8; k++) babble.samples[t] += (float)(0.1 * sin(2 * M_PI * 140 * k * (double)t / RATE));
        const struct mx_doctor_sound *const s = clinic_hear(*state, &babble, 0);
        between(s->speech_end, s->speech_begin, s->seconds);
        *(s->speech_end < s->seconds ? &found : &missed) = true;
    }
    assert_true(found && missed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_clean, setup, teardown),
        cmocka_unit_test_setup_teardown(test_noise, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bandwidth, setup, teardown),
        cmocka_unit_test_setup_teardown(test_narrow, setup, teardown),
        cmocka_unit_test_setup_teardown(test_narrow_corpus, setup, teardown),
        cmocka_unit_test_setup_teardown(test_clipping_and_offset, setup, teardown),
        cmocka_unit_test_setup_teardown(test_hum, setup, teardown),
        cmocka_unit_test_setup_teardown(test_hum_without_pause, setup, teardown),
        cmocka_unit_test_setup_teardown(test_reverberation, setup, teardown),
        cmocka_unit_test_setup_teardown(test_level, setup, teardown),
        cmocka_unit_test_setup_teardown(test_noise_before, setup, teardown),
        cmocka_unit_test_setup_teardown(test_noise_after, setup, teardown),
        cmocka_unit_test_setup_teardown(test_silence_inside, setup, teardown),
        cmocka_unit_test_setup_teardown(test_strange, setup, teardown),
        cmocka_unit_test_setup_teardown(test_hardly_a_vowel, setup, teardown),
    };
    mx_log_configure(&(struct mx_log_options){.level = MX_LOG_SILENT});
    return cmocka_run_group_tests(tests, NULL, NULL);
}

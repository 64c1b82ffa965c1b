/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The limits of the service: places, the length of texts and sounds, the sound that a client leaves unread, and the work
 * before the first word of a text.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/string.h"
#include "myxtts/error.h"
#include "serve/service_internal.h"
#include "support/cores.h"
#include "support/service_rig.h"

static void test_full_queue(void **state)
{
    struct mx_service *const service = service_rig_service(*state, 2, 0, 2);
    const struct mx_service_text how = MX_SERVICE_TEXT_DEFAULT;
    struct mx_service_job *jobs[4];
    struct mx_service_counts counts;
    for (int i = 0; i < 3; i++) assert_int_equal(mx_service_begin(service, &how, &jobs[i]), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(mx_service_add(jobs[i], service_rig_texts[0], strlen(service_rig_texts[0])), 0);
    for (int i = 0; i < 2; i++) assert_int_equal(mx_service_finish(jobs[i]), 0);
    assert_int_equal(mx_service_finish(jobs[2]), MX_ERR_BUDGET);
    assert_int_equal(mx_service_begin(service, &how, &jobs[3]), MX_ERR_BUDGET);
    assert_null(jobs[3]);
    assert_non_null(strstr(mx_error_last()->hint, "again in 1 s"));
    mx_service_cancel(jobs[0]); /* frees the place, though the client still has the job */
    assert_int_equal(mx_service_begin(service, &how, &jobs[3]), 0);
    mx_service_counts_read(service, &counts);
    assert_int_equal(counts.refused, 2);
    assert_int_equal(counts.active, 1);
    for (int i = 0; i < 4; i++) mx_service_end(jobs[i]);
    mx_service_close(service);
}

/* A client that has said no sentence yet keeps nobody out; one that comes when all places are taken hears of it. */
static void test_jobs_without_text_hold_no_place(void **state)
{
    struct mx_service *const service = service_rig_service(*state, 2, 0, 2);
    struct mx_service_text how = MX_SERVICE_TEXT_DEFAULT;
    struct mx_service_job *silent[8], *late;
    struct mx_service_counts counts;
    float samples[100];
    size_t count;
    how.streaming = true;
    for (int i = 0; i < 8; i++) {
        assert_int_equal(mx_service_begin(service, &how, &silent[i]), 0);
        assert_int_equal(mx_service_add(silent[i], "Not a whole", 11), 0);
        assert_int_equal(mx_service_read(silent[i], samples, 100, &count, 0), MX_ERR_TIMEOUT);
    }
    struct sound sound = service_rig_say(service, service_rig_texts[0], NULL);
    assert_true(service_rig_wanted(*state, 0, &sound));
    free(sound.samples);
    for (int i = 0; i < 2; i++) { /* now two have a sentence */
        assert_int_equal(mx_service_add(silent[i], " one. A", 7), 0);
        assert_int_equal(mx_service_read(silent[i], samples, 100, &count, 60000), 1);
    }
    mx_service_counts_read(service, &counts);
    assert_int_equal(counts.active, 2);
    assert_int_equal(mx_service_begin(service, &how, &late), 0);
    assert_int_equal(mx_service_add(late, "One. Two", 8), 0);
    assert_int_equal(mx_service_read(late, samples, 100, &count, 60000), MX_ERR_BUDGET);
    assert_int_equal(mx_service_add(silent[2], " one.", 5), 0);
    assert_int_equal(mx_service_finish(silent[2]), MX_ERR_BUDGET);
    mx_service_end(late);
    for (int i = 0; i < 8; i++) mx_service_end(silent[i]);
    mx_service_counts_read(service, &counts);
    assert_int_equal(counts.refused, 2);
    assert_int_equal(counts.jobs, counts.finished + counts.cancelled + counts.failed);
    mx_service_close(service);
}

static void test_long_text(void **state)
{
    const struct service_rig *const rig = *state;
    struct mx_service_job *job;
    const size_t most = mx_service_text_max(rig->service);
    char *const text = mx_alloc(most + 1, 1);
    const struct mx_service_text how = MX_SERVICE_TEXT_DEFAULT;
    memset(text, 'a', most + 1);
    assert_int_equal(mx_service_begin(rig->service, &how, &job), 0);
    assert_int_equal(mx_service_add(job, text, most + 1), MX_ERR_ARGUMENT);
    assert_int_equal(mx_service_add(job, text, most), 0);
    assert_int_equal(mx_service_add(job, text, 1), MX_ERR_ARGUMENT);
    mx_service_end(job);
    mx_free(text);
}

#define PAUSES "<speak>One <break time=\"10s\"/> two <break time=\"10s\"/> three <break time=\"10s\"/> four.</speak>"

/* Pauses take little text and much sound: the sound of a text is bounded, too. */
static void test_long_sound(void **state)
{
    const struct service_rig *const rig = *state;
    const char *const voices[] = {rig->run};
    struct mx_service_options options = MX_SERVICE_OPTIONS_DEFAULT;
    struct mx_service_text how = MX_SERVICE_TEXT_DEFAULT;
    struct mx_service *service;
    options.voices = voices;
    options.voice_count = 1;
    options.workers = 1;
    options.seconds_max = 30;
    struct mx_service_job *job;
    float first[64];
    size_t count;
    how.ssml = true;
    assert_int_equal(mx_service_open(&options, &service), 0);
    struct sound sound =
        service_rig_say(service, "<speak>One <break time=\"10s\"/> two <break time=\"10s\"/> three.</speak>", &how);
    assert_int_equal(sound.rc, 0);
    free(sound.samples);
    sound = service_rig_say(service, PAUSES, &how);
    assert_int_equal(sound.rc, MX_ERR_UNSUPPORTED);
    assert_non_null(strstr(mx_error_last()->message, "more than 30 seconds"));
    assert_true(sound.count <= 30 * 22050);
    free(sound.samples);
    /* Only such a job says so; servers have a status of its own for it. */
    assert_int_equal(mx_service_begin(service, &how, &job), 0);
    assert_int_equal(mx_service_add(job, PAUSES, strlen(PAUSES)), 0);
    assert_int_equal(mx_service_finish(job), 0);
    int rc;
    do {
        assert_false(mx_service_job_too_long(job));
        rc = mx_service_read(job, first, 64, &count, 60000);
    } while (rc == 1);
    assert_int_equal(rc, MX_ERR_UNSUPPORTED);
    assert_true(mx_service_job_too_long(job));
    mx_service_end(job);
    mx_service_close(service);
}

/* A client that does not read gets a bounded amount of sound ahead and hinders nobody; what it reads later is right. */
static void test_slow_reader(void **state)
{
    const struct service_rig *const rig = *state;
    const struct mx_service_text how = MX_SERVICE_TEXT_DEFAULT;
    const size_t repeats = 60;
    struct mx_service_counts before, after;
    struct mx_service_job *slow;
    struct mx_string text = {0};
    float first[64];
    size_t count, wanted_count;
    for (size_t i = 0; i < repeats; i++)
        assert_int_equal(mx_string_append(&text, "This is sentence number %zu of many.\n", i), 0);
    float *const wanted = service_rig_api(rig->run, text.data, NULL, &wanted_count);
    mx_service_counts_read(rig->service, &before);
    assert_int_equal(mx_service_begin(rig->service, &how, &slow), 0);
    assert_int_equal(mx_service_add(slow, text.data, text.length), 0);
    assert_int_equal(mx_service_finish(slow), 0);
    assert_int_equal(mx_service_read(slow, first, 64, &count, 60000), 1);
    for (int i = 0; i < 5; i++) {
        struct sound sound = service_rig_say(rig->service, service_rig_texts[4], NULL);
        assert_true(service_rig_wanted(rig, 4, &sound));
        free(sound.samples);
    }
    mx_service_counts_read(rig->service, &after);
    const double whole = (double)wanted_count / 22050, others = 5 * (double)rig->counts[4] / 22050;
    assert_true(after.sound_seconds - before.sound_seconds - others < whole / 2);
    assert_memory_equal(first, wanted, count * sizeof *first);
    struct sound rest = service_rig_read(slow, 5000);
    assert_int_equal(rest.rc, 0);
    assert_int_equal(count + rest.count, wanted_count);
    assert_memory_equal(rest.samples, wanted + count, rest.count * sizeof *wanted);
    assert_true(mx_service_job_tokens(slow) > repeats);
    assert_string_equal(mx_service_job_warning(slow), "");
    free(rest.samples);
    mx_service_end(slow);
    mx_string_release(&text);
    mx_free(wanted);
}

/* ---- the work before the first word ---- */

#define HOSTILE 65536
#define SCRIPTS (HOSTILE / MX_SERVICE_SENTENCE_LONGEST + 2) /* of the longest sentences */

/* A job with a text of the unit again and again, with words at its end, in parts; until there is something to speak. */
static void hostile_check(const struct service_rig *rig, const char *unit, size_t part, size_t scripts)
{
    static const char words[] = " the end. ";
    const size_t length = strlen(unit);
    struct mx_service_text how = MX_SERVICE_TEXT_DEFAULT;
    struct mx_service_job *job;
    float samples[100];
    size_t count;
    int rc = MX_ERR_TIMEOUT;
    char *const text = malloc(HOSTILE);
    assert_non_null(text);
    for (size_t i = 0; i < HOSTILE; i++) text[i] = unit[i % length];
    memcpy(text + HOSTILE - strlen(words), words, strlen(words));
    how.streaming = true;
    assert_int_equal(mx_service_begin(rig->service, &how, &job), 0);
    const uint64_t before = mx_alloc_count();
    for (size_t at = 0; at < HOSTILE; at += part) {
        assert_int_equal(rc, MX_ERR_TIMEOUT);
        assert_int_equal(mx_service_add(job, text + at, part < HOSTILE - at ? part : HOSTILE - at), 0);
        rc = mx_service_read(job, samples, 100, &count, 0);
    }
    const uint64_t allocations = mx_alloc_count() - before;
    if (job->scripts > scripts || allocations > 64 * (scripts + 4))
        fail_msg("\"%s\" in parts of %zu bytes: %zu scripts, %llu allocations", unit, part, job->scripts,
                 (unsigned long long)allocations);
    assert_int_equal(mx_service_finish(job), 0);
    struct sound sound = service_rig_read(job, 5000);
    assert_int_equal(sound.rc, 0);
    assert_true(sound.count > 0 && job->items_made == 1);
    free(sound.samples);
    mx_service_end(job);
    free(text);
}

/* Marks and blanks alone never become a script, and a byte that comes alone takes no memory of its own. */
static void test_hostile_texts_cost_little(void **state)
{
    static const struct {
        const char *unit;
        size_t scripts;
    } cases[] = {{". ", 1},        {"! ", 1}, {"? \n\n", 1},  {"... ", 1},
                 {".\r\n\r\n", 1}, {" ", 1},  {",", SCRIPTS}, {"\xcc\x81", SCRIPTS}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        hostile_check(*state, cases[i].unit, HOSTILE, cases[i].scripts);
        hostile_check(*state, cases[i].unit, 1, cases[i].scripts);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_full_queue),  cmocka_unit_test(test_jobs_without_text_hold_no_place),
        cmocka_unit_test(test_long_text),   cmocka_unit_test(test_long_sound),
        cmocka_unit_test(test_slow_reader), cmocka_unit_test(test_hostile_texts_cost_little),
    };
    one_core();
    return cmocka_run_group_tests(tests, service_rig_open, service_rig_close);
}

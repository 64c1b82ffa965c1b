/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The service with voices of random weights: what a job sounds like is what the C API says, whoever else is there and
 * however its text comes; jobs that end, fail, or do not read disturb nobody.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "myxtts/error.h"
#include "myxtts/voice.h"
#include "serve/service.h"
#include "support/cores.h"
#include "support/service_rig.h"

/* ---- speaking ---- */

static void test_same_as_api(void **state)
{
    const struct service_rig *const rig = *state;
    for (size_t i = 0; i < SERVICE_RIG_TEXTS; i++) {
        struct sound sound = service_rig_say(rig->service, service_rig_texts[i], NULL);
        assert_int_equal(sound.rc, 0);
        assert_int_equal(sound.count, rig->counts[i]);
        assert_true(service_rig_wanted(rig, i, &sound));
        free(sound.samples);
    }
}

static void test_options_same_as_api(void **state)
{
    const struct service_rig *const rig = *state;
    const char *const text = "<speak>One <break time=\"200ms\"/> two. <prosody rate=\"fast\">Three.</prosody></speak>";
    struct mx_speaking how = MX_SPEAKING_DEFAULT;
    struct mx_service_text same = MX_SERVICE_TEXT_DEFAULT;
    how.speed = same.speed = 1.5;
    how.pitch_semitones = same.pitch_semitones = 3;
    how.volume = same.volume = 0.5;
    how.pause_scale = same.pause_scale = 2;
    how.seed = same.seed = 7;
    how.ssml = same.ssml = true;
    how.language = same.language = "en";
    for (size_t voice = 0; voice < 2; voice++) {
        size_t count;
        float *const wanted = service_rig_api(voice == 0 ? rig->run : rig->plain, text, &how, &count);
        same.voice = voice;
        struct sound sound = service_rig_say(rig->service, text, &same);
        assert_int_equal(sound.rc, 0);
        assert_int_equal(sound.count, count);
        assert_memory_equal(sound.samples, wanted, count * sizeof *wanted);
        free(sound.samples);
        mx_free(wanted);
    }
}

/* ---- many at once ---- */

struct client {
    const struct service_rig *rig;
    struct mx_service *service;
    size_t number, wrong, said;
};

/* Speaks all texts in an order of its own; some are broken off, some stream in. */
static void *client_run(void *context)
{
    struct client *const c = context;
    for (size_t round = 0; round < 2 * SERVICE_RIG_TEXTS; round++) {
        const size_t text = (c->number + round * 3) % SERVICE_RIG_TEXTS, length = strlen(service_rig_texts[text]);
        struct mx_service_text how = MX_SERVICE_TEXT_DEFAULT;
        struct mx_service_job *job;
        float first[100];
        size_t count;
        how.streaming = (c->number + round) % 3 == 0;
        if (mx_service_begin(c->service, &how, &job) < 0) {
            c->wrong++;
            continue;
        }
        for (size_t at = 0; at < length; at += 7)
            c->wrong += mx_service_add(job, service_rig_texts[text] + at, length - at < 7 ? length - at : 7) < 0;
        c->wrong += mx_service_finish(job) < 0;
        if ((c->number + round) % 4 == 1) {
            c->wrong += mx_service_read(job, first, 100, &count, 60000) != 1;
        } else if ((c->number + round) % 8 != 2) { /* otherwise: never read */
            struct sound sound = service_rig_read(job, 100 + 997 * c->number);
            c->wrong += !service_rig_wanted(c->rig, text, &sound);
            c->said++;
            free(sound.samples);
        }
        mx_service_end(job);
    }
    return NULL;
}

static void test_company_changes_nothing(void **state)
{
    static const struct {
        int batch;
        double company_ms;
    } cases[] = {{1, 0}, {3, 0}, {16, 20}};
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        struct client clients[SERVICE_RIG_PLACES];
        pthread_t threads[SERVICE_RIG_PLACES];
        struct mx_service_counts counts;
        size_t said = 0;
        struct mx_service *const service =
            service_rig_service(*state, cases[k].batch, cases[k].company_ms, SERVICE_RIG_PLACES);
        for (size_t i = 0; i < SERVICE_RIG_PLACES; i++) {
            clients[i] = (struct client){*state, service, i, 0, 0};
            assert_int_equal(pthread_create(&threads[i], NULL, client_run, &clients[i]), 0);
        }
        for (size_t i = 0; i < SERVICE_RIG_PLACES; i++) {
            assert_int_equal(pthread_join(threads[i], NULL), 0);
            assert_int_equal(clients[i].wrong, 0);
            said += clients[i].said;
        }
        assert_true(said > SERVICE_RIG_PLACES);
        mx_service_counts_read(service, &counts);
        assert_int_equal(counts.active, 0);
        assert_int_equal(counts.jobs, SERVICE_RIG_PLACES * 2 * SERVICE_RIG_TEXTS);
        assert_int_equal(counts.finished, said);
        assert_int_equal(counts.failed + counts.refused, 0);
        assert_int_equal(counts.finished + counts.cancelled, counts.jobs);
        assert_true(counts.batches <= counts.pieces && (cases[k].batch > 1 || counts.batches == counts.pieces));
        mx_service_close(service);
    }
}

/* ---- text that comes piece by piece ---- */

static void test_streaming_is_spoken_early(void **state)
{
    const struct service_rig *const rig = *state;
    struct mx_service_text how = MX_SERVICE_TEXT_DEFAULT;
    struct mx_service_job *job;
    float samples[2000];
    size_t count;
    how.streaming = true;
    assert_int_equal(mx_service_begin(rig->service, &how, &job), 0);
    assert_int_equal(mx_service_read(job, samples, 2000, &count, 0), MX_ERR_TIMEOUT);
    assert_int_equal(mx_service_add(job, "A short one.", 12), 0);
    assert_int_equal(mx_service_read(job, samples, 2000, &count, 0), MX_ERR_TIMEOUT);
    assert_int_equal(mx_service_add(job, " And", 4), 0); /* now the first is known to be complete */
    assert_int_equal(mx_service_read(job, samples, 2000, &count, 60000), 1);
    assert_memory_equal(samples, rig->wanted[0], count * sizeof *samples);
    assert_int_equal(mx_service_finish(job), 0);
    struct sound rest = service_rig_read(job, 1000);
    assert_int_equal(rest.rc, 0);
    assert_true(count + rest.count > rig->counts[0]);
    free(rest.samples);
    mx_service_end(job);
}

/* ---- errors ---- */

static void refused(struct mx_service *service, const char *text, const struct mx_service_text *how, int code)
{
    struct sound sound = service_rig_say(service, text, how);
    assert_int_equal(sound.rc, code);
    assert_int_equal(mx_error_last()->code, code);
    assert_true(mx_error_last()->message[0] != '\0');
    free(sound.samples);
}

static void test_errors_are_of_one_job(void **state)
{
    const struct service_rig *const rig = *state;
    struct mx_service_text how = MX_SERVICE_TEXT_DEFAULT;
    how.speed = 100;
    refused(rig->service, "a", &how, MX_ERR_ARGUMENT);
    how = MX_SERVICE_TEXT_DEFAULT;
    how.language = "fr";
    refused(rig->service, "a", &how, MX_ERR_CONFIG);
    how.language = "en_US"; /* as Home Assistant writes it */
    struct sound sound = service_rig_say(rig->service, service_rig_texts[0], &how);
    assert_true(service_rig_wanted(rig, 0, &sound));
    free(sound.samples);
    how = MX_SERVICE_TEXT_DEFAULT;
    how.speaker = "nobody";
    refused(rig->service, "a", &how, MX_ERR_NOT_FOUND);
    how = MX_SERVICE_TEXT_DEFAULT;
    how.voice = 2;
    refused(rig->service, "a", &how, MX_ERR_ARGUMENT);
    how = MX_SERVICE_TEXT_DEFAULT;
    how.ssml = true;
    refused(rig->service, "<speak>a", &how, MX_ERR_DATA);
    how = MX_SERVICE_TEXT_DEFAULT;
    refused(rig->service, "", &how, MX_ERR_DATA);
    refused(rig->service, " \n ", &how, MX_ERR_DATA);
    refused(rig->service, "a\xff", &how, MX_ERR_DATA);
    how.streaming = true;
    refused(rig->service, "", &how, MX_ERR_DATA);
    refused(rig->service, "One. a\xff b", &how, MX_ERR_DATA);
    sound = service_rig_say(rig->service, service_rig_texts[1], NULL);
    assert_true(service_rig_wanted(rig, 1, &sound));
    free(sound.samples);
}

static void test_left_out_is_told(void **state)
{
    const struct service_rig *const rig = *state;
    const struct mx_service_text how = MX_SERVICE_TEXT_DEFAULT;
    struct mx_service_job *job;
    assert_int_equal(mx_service_begin(rig->service, &how, &job), 0);
    assert_int_equal(mx_service_add(job, "caf\xc3\xa9 ok", 8), 0);
    assert_int_equal(mx_service_finish(job), 0);
    struct sound sound = service_rig_read(job, 5000);
    assert_int_equal(sound.rc, 0);
    assert_non_null(strstr(mx_service_job_warning(job), "never learned"));
    free(sound.samples);
    mx_service_end(job);
}

/* ---- ends ---- */

static void *reader_run(void *context)
{
    struct sound sound = service_rig_read(context, 100);
    free(sound.samples);
    return (void *)(intptr_t)sound.rc;
}

static void test_cancel_from_elsewhere(void **state)
{
    const struct service_rig *const rig = *state;
    struct mx_service_text how = MX_SERVICE_TEXT_DEFAULT;
    struct mx_service_job *job;
    pthread_t thread;
    void *rc;
    how.streaming = true;
    assert_int_equal(mx_service_begin(rig->service, &how, &job), 0);
    assert_int_equal(mx_service_add(job, service_rig_texts[4], strlen(service_rig_texts[4])), 0);
    assert_int_equal(pthread_create(&thread, NULL, reader_run, job), 0); /* waits for text in vain */
    mx_service_cancel(job);
    assert_int_equal(pthread_join(thread, &rc), 0);
    assert_int_equal((intptr_t)rc, MX_ERR_INTERRUPTED);
    mx_service_end(job);
}

static void test_drain_finishes(void **state)
{
    const struct service_rig *const rig = *state;
    struct mx_service *const service = service_rig_service(rig, 4, 0, 4);
    const struct mx_service_text how = MX_SERVICE_TEXT_DEFAULT;
    struct mx_service_job *job, *late;
    assert_int_equal(mx_service_begin(service, &how, &job), 0);
    mx_service_drain(service);
    assert_int_equal(mx_service_begin(service, &how, &late), MX_ERR_CLOSED);
    assert_int_equal(mx_service_wait(service, 0), MX_ERR_TIMEOUT);
    assert_int_equal(mx_service_add(job, service_rig_texts[4], strlen(service_rig_texts[4])), 0);
    assert_int_equal(mx_service_finish(job), 0);
    struct sound sound = service_rig_read(job, 5000);
    assert_true(service_rig_wanted(rig, 4, &sound));
    free(sound.samples);
    mx_service_end(job);
    assert_int_equal(mx_service_wait(service, 60000), 0);
    mx_service_close(service);
}

static void test_stop_ends_all(void **state)
{
    struct mx_service *const service = service_rig_service(*state, 4, 0, 4);
    struct mx_service_text how = MX_SERVICE_TEXT_DEFAULT;
    struct mx_service_job *jobs[2];
    pthread_t threads[2];
    how.streaming = true;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(mx_service_begin(service, &how, &jobs[i]), 0);
        assert_int_equal(pthread_create(&threads[i], NULL, reader_run, jobs[i]), 0);
    }
    mx_service_stop(service);
    for (int i = 0; i < 2; i++) {
        void *rc;
        assert_int_equal(pthread_join(threads[i], &rc), 0);
        assert_int_equal((intptr_t)rc, MX_ERR_INTERRUPTED);
        mx_service_end(jobs[i]);
    }
    mx_service_close(service);
}

/* ---- voices ---- */

static void test_voices(void **state)
{
    const struct service_rig *const rig = *state;
    size_t voice;
    const char *speaker;
    assert_int_equal(mx_service_voice_count(rig->service), 2);
    const struct mx_service_voice *const first = mx_service_voice(rig->service, 0);
    assert_string_equal(first->id, "first");
    assert_int_equal(first->rate, 22050);
    assert_int_equal(first->language_count, 1);
    assert_string_equal(first->languages[0], "en");
    assert_int_equal(first->speaker_count, 2);
    assert_string_equal(first->speakers[1], "bob");
    static const struct {
        const char *name;
        size_t voice;
        const char *speaker;
    } found[] = {{NULL, 0, NULL},          {"", 0, NULL},     {"first", 0, NULL}, {"second", 1, NULL},
                 {"second/bob", 1, "bob"}, {"ann", 0, "ann"}, {"alloy", 0, NULL}, {"tts-1-hd", 0, NULL}};
    for (size_t i = 0; i < sizeof found / sizeof found[0]; i++) {
        assert_int_equal(mx_service_find(rig->service, found[i].name, &voice, &speaker), 0);
        assert_int_equal(voice, found[i].voice);
        if (found[i].speaker == NULL)
            assert_null(speaker);
        else
            assert_string_equal(speaker, found[i].speaker);
    }
    assert_int_equal(mx_service_find(rig->service, "third", &voice, &speaker), MX_ERR_NOT_FOUND);
    assert_non_null(strstr(mx_error_last()->hint, "first, second"));
    assert_int_equal(mx_service_find(rig->service, "second/nobody", &voice, &speaker), MX_ERR_NOT_FOUND);
}

static void test_same_voice_twice(void **state)
{
    const struct service_rig *const rig = *state;
    const char *const voices[] = {rig->run, rig->run, rig->run};
    struct mx_service_options options = MX_SERVICE_OPTIONS_DEFAULT;
    struct mx_service *service;
    options.voices = voices;
    options.voice_count = 3;
    options.batch_max = 1;
    assert_int_equal(mx_service_open(&options, &service), 0);
    assert_string_equal(mx_service_voice(service, 1)->id, "first-2");
    assert_string_equal(mx_service_voice(service, 2)->id, "first-3");
    mx_service_close(service);
    options.batch_max = MX_SERVICE_BATCH_LIMIT + 1;
    assert_int_equal(mx_service_open(&options, &service), MX_ERR_ARGUMENT);
    assert_null(service);
    options.batch_max = 1;
    options.voice_count = 0;
    assert_int_equal(mx_service_open(&options, &service), MX_ERR_ARGUMENT);
}

static void test_first_sounds_are_counted(void **state)
{
    struct mx_service *const service = service_rig_service(*state, 2, 0, 2);
    struct mx_service_counts counts;
    uint64_t all = 0;
    for (int i = 0; i < 3; i++) free(service_rig_say(service, service_rig_texts[i], NULL).samples);
    mx_service_counts_read(service, &counts);
    for (int i = 0; i <= MX_SERVICE_FIRST_CLASSES; i++) all += counts.first_sound[i];
    assert_int_equal(all, 3);
    assert_int_equal(counts.pieces, 5); /* 1 + 2 + 2 sentences */
    assert_true(counts.first_sound_seconds > 0 && counts.work_seconds > 0);
    assert_int_equal(counts.characters,
                     strlen(service_rig_texts[0]) + strlen(service_rig_texts[1]) + strlen(service_rig_texts[2]));
    mx_service_close(service);
}

int main(void)
{
    const struct CMUnitTest several[] = {
        cmocka_unit_test(test_stop_ends_all),
    };
    const struct CMUnitTest one[] = {
        cmocka_unit_test(test_voices),
        cmocka_unit_test(test_same_voice_twice),
        cmocka_unit_test(test_same_as_api),
        cmocka_unit_test(test_options_same_as_api),
        cmocka_unit_test(test_streaming_is_spoken_early),
        cmocka_unit_test(test_company_changes_nothing),
        cmocka_unit_test(test_errors_are_of_one_job),
        cmocka_unit_test(test_left_out_is_told),
        cmocka_unit_test(test_cancel_from_elsewhere),
        cmocka_unit_test(test_drain_finishes),
        cmocka_unit_test(test_first_sounds_are_counted),
    };
    /* Several workers where there are several cores, and one on one core. */
    const int failed = cmocka_run_group_tests_name("on all cores", several, service_rig_open, service_rig_close);
    one_core();
    return failed + cmocka_run_group_tests_name("on one core", one, service_rig_open, service_rig_close);
}

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
#include "base/log.h"
#include "myxtts/error.h"
#include "myxtts/voice.h"
#include "serve/service_internal.h"
#include "speech/split.h"
#include "support/recording.h"
#include "support/voice_rig.h"

#define CLIENTS 12
#define TEXTS   5

static const char *const texts[TEXTS] = {
    "A short one.", "Two sentences, of which this is one. And this is the other!",
    "Is this a question? Yes, it is: a question of some length, with a clause; and another, then an end.",
    "First paragraph. With two sentences.\n\nSecond paragraph.",
    "One. Two. Three. Four. Five. Six. Seven. Eight. Nine. Ten."};

struct rig {
    char *folder, *run, *plain; /* `plain` has no vocoder */
    struct mx_service *service;
    float *wanted[TEXTS]; /* what the C API says */
    size_t counts[TEXTS];
};

static struct mx_service *service_open(const struct rig *rig, int batch, double company_ms, int queue)
{
    struct mx_service_options options = MX_SERVICE_OPTIONS_DEFAULT;
    const char *const voices[] = {rig->run, rig->plain};
    struct mx_service *service;
    options.voices = voices;
    options.voice_count = 2;
    options.vocoder = NULL;
    options.batch_max = batch;
    options.company_ms = company_ms;
    options.queue_max = queue;
    assert_int_equal(mx_service_open(&options, &service), 0);
    return service;
}

/* ---- what is wanted ---- */

static float *api_speak(const char *path, const char *text, const struct mx_speaking *how, size_t *count)
{
    struct mx_voice *voice;
    struct mx_speaker *speaker;
    const struct mx_sound_chunk *chunk;
    float *all = NULL;
    int rc;
    *count = 0;
    assert_int_equal(mx_voice_open(path, NULL, &voice), 0);
    assert_int_equal(mx_speaker_create(voice, &speaker), 0);
    assert_int_equal(mx_speaker_begin(speaker, text, strlen(text), how), 0);
    while ((rc = mx_speaker_next(speaker, &chunk)) > 0) {
        all = mx_realloc(all, *count + chunk->count, sizeof *all);
        assert_non_null(all);
        memcpy(all + *count, chunk->samples, chunk->count * sizeof *all);
        *count += chunk->count;
    }
    assert_int_equal(rc, 0);
    mx_speaker_destroy(speaker);
    mx_voice_close(voice);
    return all;
}

static int setup(void **state)
{
    static struct rig rig;
    const struct mx_log_options quiet = {.level = MX_LOG_SILENT};
    if (mx_log_configure(&quiet) < 0) return -1;
    rig.folder = folder_make();
    rig.run = voice_rig_make(rig.folder, "first", 5, true);
    rig.plain = voice_rig_make(rig.folder, "second", 6, false);
    for (size_t i = 0; i < TEXTS; i++) rig.wanted[i] = api_speak(rig.run, texts[i], NULL, &rig.counts[i]);
    rig.service = service_open(&rig, 4, 5, CLIENTS);
    *state = &rig;
    return 0;
}

static int teardown(void **state)
{
    struct rig *const rig = *state;
    mx_service_close(rig->service);
    for (size_t i = 0; i < TEXTS; i++) mx_free(rig->wanted[i]);
    mx_free(rig->run);
    mx_free(rig->plain);
    folder_remove(rig->folder);
    return 0;
}

/* ---- speaking ---- */

struct sound {
    float *samples;
    size_t count;
    int rc; /* the last of mx_service_read */
};

/* Reads to the end, `room` samples at a time. */
static struct sound job_read(struct mx_service_job *job, size_t room)
{
    struct sound sound = {0};
    size_t count;
    do {
        sound.samples = realloc(sound.samples, (sound.count + room) * sizeof *sound.samples);
        sound.rc = mx_service_read(job, sound.samples + sound.count, room, &count, 1000);
        sound.count += count;
    } while (sound.rc > 0 || sound.rc == MX_ERR_TIMEOUT);
    return sound;
}

static struct sound say(struct mx_service *service, const char *text, const struct mx_service_text *how)
{
    const struct mx_service_text usual = MX_SERVICE_TEXT_DEFAULT;
    struct mx_service_job *job;
    struct sound sound = {.rc = mx_service_begin(service, how != NULL ? how : &usual, &job)};
    if (sound.rc < 0) return sound;
    if ((sound.rc = mx_service_add(job, text, strlen(text))) == 0) sound.rc = mx_service_finish(job);
    if (sound.rc == 0) sound = job_read(job, 3000);
    mx_service_end(job);
    return sound;
}

static bool is_wanted(const struct rig *rig, size_t text, const struct sound *sound)
{
    return sound->rc == 0 && sound->count == rig->counts[text] &&
           memcmp(sound->samples, rig->wanted[text], sound->count * sizeof(float)) == 0;
}

static void test_same_as_api(void **state)
{
    const struct rig *const rig = *state;
    for (size_t i = 0; i < TEXTS; i++) {
        struct sound sound = say(rig->service, texts[i], NULL);
        assert_int_equal(sound.rc, 0);
        assert_int_equal(sound.count, rig->counts[i]);
        assert_true(is_wanted(rig, i, &sound));
        free(sound.samples);
    }
}

static void test_options_same_as_api(void **state)
{
    const struct rig *const rig = *state;
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
        float *const wanted = api_speak(voice == 0 ? rig->run : rig->plain, text, &how, &count);
        same.voice = voice;
        struct sound sound = say(rig->service, text, &same);
        assert_int_equal(sound.rc, 0);
        assert_int_equal(sound.count, count);
        assert_memory_equal(sound.samples, wanted, count * sizeof *wanted);
        free(sound.samples);
        mx_free(wanted);
    }
}

/* ---- many at once ---- */

struct client {
    const struct rig *rig;
    struct mx_service *service;
    size_t number, wrong, said;
};

/* Speaks all texts in an order of its own; some are broken off, some stream in. */
static void *client_run(void *context)
{
    struct client *const c = context;
    for (size_t round = 0; round < 2 * TEXTS; round++) {
        const size_t text = (c->number + round * 3) % TEXTS, length = strlen(texts[text]);
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
            c->wrong += mx_service_add(job, texts[text] + at, length - at < 7 ? length - at : 7) < 0;
        c->wrong += mx_service_finish(job) < 0;
        if ((c->number + round) % 4 == 1) {
            c->wrong += mx_service_read(job, first, 100, &count, 60000) != 1;
        } else if ((c->number + round) % 8 != 2) { /* otherwise: never read */
            struct sound sound = job_read(job, 100 + 997 * c->number);
            c->wrong += !is_wanted(c->rig, text, &sound);
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
        struct client clients[CLIENTS];
        pthread_t threads[CLIENTS];
        struct mx_service_counts counts;
        size_t said = 0;
        struct mx_service *const service = service_open(*state, cases[k].batch, cases[k].company_ms, CLIENTS);
        for (size_t i = 0; i < CLIENTS; i++) {
            clients[i] = (struct client){*state, service, i, 0, 0};
            assert_int_equal(pthread_create(&threads[i], NULL, client_run, &clients[i]), 0);
        }
        for (size_t i = 0; i < CLIENTS; i++) {
            assert_int_equal(pthread_join(threads[i], NULL), 0);
            assert_int_equal(clients[i].wrong, 0);
            said += clients[i].said;
        }
        assert_true(said > CLIENTS);
        mx_service_counts_read(service, &counts);
        assert_int_equal(counts.active, 0);
        assert_int_equal(counts.jobs, CLIENTS * 2 * TEXTS);
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
    const struct rig *const rig = *state;
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
    struct sound rest = job_read(job, 1000);
    assert_int_equal(rest.rc, 0);
    assert_true(count + rest.count > rig->counts[0]);
    free(rest.samples);
    mx_service_end(job);
}

static size_t sentence(const char *text, size_t length, double *pause_ms)
{
    return mx_service_sentence(&(struct mx_service_sentence){0}, text, length, pause_ms);
}

static void test_sentences(void **state)
{
    static const struct {
        const char *text;
        size_t ends[4]; /* of its sentences but the last */
    } cases[] = {
        {"One. Two", {5}},
        {"One two", {0}},
        {"Dr. Smith met Mrs. Jones. She left", {26}},
        {"He is 3. 5 more", {9}},
        {"See No. 5 there. Then no. Good", {17, 26}},
        {"J. R. Smith. He", {13}},
        {"It is, e.g. here. Yes", {18}},
        {"Really?! \"Yes.\" No", {9, 16}},
        {"One\ntwo\n\nthree", {9}},
        {"version 2.5 is out. ok no. So", {27}},
        {"سلام. خوبی؟ بله", {10, 21}},
        {"你好。再见", {9}},
        {"...and then", {0}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *const text = cases[i].text;
        size_t at = 0;
        for (size_t k = 0; k < 4; k++) {
            double pause, other;
            const size_t length = sentence(text + at, strlen(text + at), &pause);
            if (cases[i].ends[k] == 0) {
                assert_int_equal(length, 0);
                break;
            }
            assert_int_equal(at + length, cases[i].ends[k]);
            for (size_t part = 0; part < strlen(text + at); part++) { /* less text: the same, or not yet */
                const size_t sooner = sentence(text + at, part, &other);
                assert_true(sooner == 0 || (sooner == length && pause == other));
            }
            at += length;
        }
    }
    double pause;
    assert_int_equal(sentence("Wait... What", 12, &pause), 8);
    assert_true(pause == MX_SPLIT_ELLIPSIS_MS);
    assert_int_equal(sentence("Wait...? What", 13, &pause), 9);
    assert_true(pause == mx_split_pause_ms('?'));
}

static void test_sentence_without_end(void **state)
{
    char text[2000];
    double pause;
    (void)state;
    for (size_t i = 0; i < sizeof text; i++) text[i] = i % 6 == 5 ? ' ' : 'a';
    assert_int_equal(sentence(text, 600, &pause), 0);
    assert_int_equal(sentence(text, 601, &pause), 600);
    assert_int_equal(sentence(text, sizeof text, &pause), 600);
    text[304] = ',';
    assert_int_equal(sentence(text, sizeof text, &pause), 306);
    memset(text, 'a', sizeof text);
    assert_int_equal(sentence(text, sizeof text, &pause), 600);
}

/* ---- limits ---- */

static void test_full_queue(void **state)
{
    struct mx_service *const service = service_open(*state, 2, 0, 2);
    const struct mx_service_text how = MX_SERVICE_TEXT_DEFAULT;
    struct mx_service_job *jobs[4];
    struct mx_service_counts counts;
    for (int i = 0; i < 3; i++) assert_int_equal(mx_service_begin(service, &how, &jobs[i]), 0);
    for (int i = 0; i < 3; i++) assert_int_equal(mx_service_add(jobs[i], texts[0], strlen(texts[0])), 0);
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
    struct mx_service *const service = service_open(*state, 2, 0, 2);
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
    struct sound sound = say(service, texts[0], NULL);
    assert_true(is_wanted(*state, 0, &sound));
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
    const struct rig *const rig = *state;
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

/* Pauses take little text and much sound: the sound of a text is bounded, too. */
static void test_long_sound(void **state)
{
    const struct rig *const rig = *state;
    const char *const voices[] = {rig->run};
    struct mx_service_options options = MX_SERVICE_OPTIONS_DEFAULT;
    struct mx_service_text how = MX_SERVICE_TEXT_DEFAULT;
    struct mx_service *service;
    options.voices = voices;
    options.voice_count = 1;
    options.workers = 1;
    options.seconds_max = 30;
    how.ssml = true;
    assert_int_equal(mx_service_open(&options, &service), 0);
    struct sound sound =
        say(service, "<speak>One <break time=\"10s\"/> two <break time=\"10s\"/> three.</speak>", &how);
    assert_int_equal(sound.rc, 0);
    free(sound.samples);
    sound = say(service,
                "<speak>One <break time=\"10s\"/> two <break time=\"10s\"/> three <break time=\"10s\"/> four.</speak>",
                &how);
    assert_int_equal(sound.rc, MX_ERR_UNSUPPORTED);
    assert_non_null(strstr(mx_error_last()->message, "more than 30 seconds"));
    assert_true(sound.count <= 30 * 22050);
    free(sound.samples);
    mx_service_close(service);
}

/* A client that does not read gets a bounded amount of sound ahead and hinders nobody; what it reads later is right. */
static void test_slow_reader(void **state)
{
    const struct rig *const rig = *state;
    const struct mx_service_text how = MX_SERVICE_TEXT_DEFAULT;
    const size_t repeats = 60;
    struct mx_service_counts before, after;
    struct mx_service_job *slow;
    struct mx_string text = {0};
    float first[64];
    size_t count, wanted_count;
    for (size_t i = 0; i < repeats; i++)
        assert_int_equal(mx_string_append(&text, "This is sentence number %zu of many.\n", i), 0);
    float *const wanted = api_speak(rig->run, text.data, NULL, &wanted_count);
    mx_service_counts_read(rig->service, &before);
    assert_int_equal(mx_service_begin(rig->service, &how, &slow), 0);
    assert_int_equal(mx_service_add(slow, text.data, text.length), 0);
    assert_int_equal(mx_service_finish(slow), 0);
    assert_int_equal(mx_service_read(slow, first, 64, &count, 60000), 1);
    for (int i = 0; i < 5; i++) {
        struct sound sound = say(rig->service, texts[4], NULL);
        assert_true(is_wanted(rig, 4, &sound));
        free(sound.samples);
    }
    mx_service_counts_read(rig->service, &after);
    const double whole = (double)wanted_count / 22050, others = 5 * (double)rig->counts[4] / 22050;
    assert_true(after.sound_seconds - before.sound_seconds - others < whole / 2);
    assert_memory_equal(first, wanted, count * sizeof *first);
    struct sound rest = job_read(slow, 5000);
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

/* ---- errors ---- */

static void refused(struct mx_service *service, const char *text, const struct mx_service_text *how, int code)
{
    struct sound sound = say(service, text, how);
    assert_int_equal(sound.rc, code);
    assert_int_equal(mx_error_last()->code, code);
    assert_true(mx_error_last()->message[0] != '\0');
    free(sound.samples);
}

static void test_errors_are_of_one_job(void **state)
{
    const struct rig *const rig = *state;
    struct mx_service_text how = MX_SERVICE_TEXT_DEFAULT;
    how.speed = 100;
    refused(rig->service, "a", &how, MX_ERR_ARGUMENT);
    how = MX_SERVICE_TEXT_DEFAULT;
    how.language = "fr";
    refused(rig->service, "a", &how, MX_ERR_CONFIG);
    how.language = "en_US"; /* as Home Assistant writes it */
    struct sound sound = say(rig->service, texts[0], &how);
    assert_true(is_wanted(rig, 0, &sound));
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
    sound = say(rig->service, texts[1], NULL);
    assert_true(is_wanted(rig, 1, &sound));
    free(sound.samples);
}

static void test_left_out_is_told(void **state)
{
    const struct rig *const rig = *state;
    const struct mx_service_text how = MX_SERVICE_TEXT_DEFAULT;
    struct mx_service_job *job;
    assert_int_equal(mx_service_begin(rig->service, &how, &job), 0);
    assert_int_equal(mx_service_add(job, "caf\xc3\xa9 ok", 8), 0);
    assert_int_equal(mx_service_finish(job), 0);
    struct sound sound = job_read(job, 5000);
    assert_int_equal(sound.rc, 0);
    assert_non_null(strstr(mx_service_job_warning(job), "never learned"));
    free(sound.samples);
    mx_service_end(job);
}

/* ---- ends ---- */

static void *reader_run(void *context)
{
    struct sound sound = job_read(context, 100);
    free(sound.samples);
    return (void *)(intptr_t)sound.rc;
}

static void test_cancel_from_elsewhere(void **state)
{
    const struct rig *const rig = *state;
    struct mx_service_text how = MX_SERVICE_TEXT_DEFAULT;
    struct mx_service_job *job;
    pthread_t thread;
    void *rc;
    how.streaming = true;
    assert_int_equal(mx_service_begin(rig->service, &how, &job), 0);
    assert_int_equal(mx_service_add(job, texts[4], strlen(texts[4])), 0);
    assert_int_equal(pthread_create(&thread, NULL, reader_run, job), 0); /* waits for text in vain */
    mx_service_cancel(job);
    assert_int_equal(pthread_join(thread, &rc), 0);
    assert_int_equal((intptr_t)rc, MX_ERR_INTERRUPTED);
    mx_service_end(job);
}

static void test_drain_finishes(void **state)
{
    const struct rig *const rig = *state;
    struct mx_service *const service = service_open(rig, 4, 0, 4);
    const struct mx_service_text how = MX_SERVICE_TEXT_DEFAULT;
    struct mx_service_job *job, *late;
    assert_int_equal(mx_service_begin(service, &how, &job), 0);
    mx_service_drain(service);
    assert_int_equal(mx_service_begin(service, &how, &late), MX_ERR_CLOSED);
    assert_int_equal(mx_service_wait(service, 0), MX_ERR_TIMEOUT);
    assert_int_equal(mx_service_add(job, texts[4], strlen(texts[4])), 0);
    assert_int_equal(mx_service_finish(job), 0);
    struct sound sound = job_read(job, 5000);
    assert_true(is_wanted(rig, 4, &sound));
    free(sound.samples);
    mx_service_end(job);
    assert_int_equal(mx_service_wait(service, 60000), 0);
    mx_service_close(service);
}

static void test_stop_ends_all(void **state)
{
    struct mx_service *const service = service_open(*state, 4, 0, 4);
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
    const struct rig *const rig = *state;
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
    const struct rig *const rig = *state;
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
    struct mx_service *const service = service_open(*state, 2, 0, 2);
    struct mx_service_counts counts;
    uint64_t all = 0;
    for (int i = 0; i < 3; i++) free(say(service, texts[i], NULL).samples);
    mx_service_counts_read(service, &counts);
    for (int i = 0; i <= MX_SERVICE_FIRST_CLASSES; i++) all += counts.first_sound[i];
    assert_int_equal(all, 3);
    assert_int_equal(counts.pieces, 5); /* 1 + 2 + 2 sentences */
    assert_true(counts.first_sound_seconds > 0 && counts.work_seconds > 0);
    assert_int_equal(counts.characters, strlen(texts[0]) + strlen(texts[1]) + strlen(texts[2]));
    mx_service_close(service);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sentences),
        cmocka_unit_test(test_sentence_without_end),
        cmocka_unit_test(test_voices),
        cmocka_unit_test(test_same_voice_twice),
        cmocka_unit_test(test_same_as_api),
        cmocka_unit_test(test_options_same_as_api),
        cmocka_unit_test(test_streaming_is_spoken_early),
        cmocka_unit_test(test_company_changes_nothing),
        cmocka_unit_test(test_full_queue),
        cmocka_unit_test(test_jobs_without_text_hold_no_place),
        cmocka_unit_test(test_long_text),
        cmocka_unit_test(test_long_sound),
        cmocka_unit_test(test_slow_reader),
        cmocka_unit_test(test_errors_are_of_one_job),
        cmocka_unit_test(test_left_out_is_told),
        cmocka_unit_test(test_cancel_from_elsewhere),
        cmocka_unit_test(test_drain_finishes),
        cmocka_unit_test(test_stop_ends_all),
        cmocka_unit_test(test_first_sounds_are_counted),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A service of known sound, see service.h.
 */
#include "http/service.h"

#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "myxtts/error.h"

struct mx_service {
    pthread_mutex_t lock; /* guards all of it */
    int active, begun, queue_max;
    bool held; /* texts with HOLD have no sound yet */
    struct asked last;
};

struct mx_service_job {
    struct mx_service *service;
    struct mx_service_text options;
    char text[70000];
    size_t length, at;
};

struct mx_service service = {.lock = PTHREAD_MUTEX_INITIALIZER};
static const char *const english[] = {"en"}, *const both[] = {"en", "fa"}, *const people[] = {"anna", "bob"},
                         *const spoken[] = {"en", "fa"};
static const struct mx_service_voice fake_voices[] = {
    {"alpha", "Alpha", english, 1, NULL, NULL, 0, RATE, "CC0", "somebody"},
    {"beta", "Beta", both, 2, people, spoken, 2, RATE, "", ""},
};
const double mx_service_first_limits[MX_SERVICE_FIRST_CLASSES] = {.01, .02, .04, .08, .16, .32, .64, 1, 2, 4, 8, 16};

size_t mx_service_voice_count(const struct mx_service *s)
{
    (void)s;
    return 2;
}

const struct mx_service_voice *mx_service_voice(const struct mx_service *s, size_t voice)
{
    (void)s;
    return &fake_voices[voice];
}

int mx_service_find(const struct mx_service *s, const char *name, size_t *voice, const char **speaker)
{
    (void)s;
    *voice = 0;
    *speaker = NULL;
    if (name == NULL || name[0] == '\0' || strcmp(name, "alloy") == 0 || strcmp(name, "alpha") == 0) return 0;
    *voice = 1;
    if (strcmp(name, "beta") == 0) return 0;
    *speaker = people[1];
    if (strcmp(name, "beta/bob") == 0) return 0;
    return MX_FAIL(MX_ERR_NOT_FOUND, "there are: alpha, beta", "there is no voice '%s'", name);
}

int mx_service_begin(struct mx_service *s, const struct mx_service_text *text, struct mx_service_job **out)
{
    int rc = 0;
    *out = NULL;
    pthread_mutex_lock(&s->lock);
    if (s->active >= s->queue_max) {
        rc = MX_FAIL(MX_ERR_BUDGET, NULL, "full");
    } else {
        *out = mx_alloc(1, sizeof **out);
        (*out)->service = s;
        (*out)->options = s->last.text = *text;
        snprintf(s->last.speaker, sizeof s->last.speaker, "%s", text->speaker != NULL ? text->speaker : "");
        snprintf(s->last.language, sizeof s->last.language, "%s", text->language != NULL ? text->language : "");
        s->active++;
        s->begun++;
    }
    pthread_mutex_unlock(&s->lock);
    return rc;
}

int mx_service_add(struct mx_service_job *job, const char *text, size_t length)
{
    memcpy(job->text + job->length, text, length);
    job->length += length;
    return 0;
}

int mx_service_finish(struct mx_service_job *job)
{
    if (job->options.ssml && strchr(job->text, '<') == NULL)
        return MX_FAIL(MX_ERR_FORMAT, "look there", "broken SSML in line 1, column 1");
    return 0;
}

float sound_at(size_t voice, size_t i)
{
    return (float)(0.5 * sin((double)i * (voice == 0 ? 0.05 : 0.08)));
}

static size_t sound_length(const struct mx_service_job *job)
{
    return (size_t)((double)(job->length * PER_BYTE) / job->options.speed);
}

int mx_service_read(struct mx_service_job *job, float *samples, size_t room, size_t *count, int timeout_ms)
{
    struct mx_service *const s = job->service;
    const size_t all = sound_length(job);
    *count = 0;
    if (strstr(job->text, "HOLD") != NULL) {
        pthread_mutex_lock(&s->lock);
        const bool held = s->held;
        pthread_mutex_unlock(&s->lock);
        if (held) {
            poll(NULL, 0, timeout_ms);
            return MX_FAIL(MX_ERR_TIMEOUT, NULL, "nothing yet");
        }
    }
    if (strstr(job->text, "FAIL") != NULL && (job->at > 0 || strstr(job->text, "FAIL AT ONCE") != NULL))
        return MX_FAIL(MX_ERR_DEVICE, NULL, "the device /dev/secret is on fire");
    if (mx_service_job_too_long(job))
        return MX_FAIL(MX_ERR_UNSUPPORTED, "fewer pauses", "too much sound ('--max-seconds')");
    for (; *count < room && *count < 1111 && job->at < all; job->at++)
        samples[(*count)++] = sound_at(job->options.voice, job->at);
    return *count > 0;
}

void mx_service_end(struct mx_service_job *job)
{
    if (job == NULL) return;
    pthread_mutex_lock(&job->service->lock);
    job->service->active--;
    pthread_mutex_unlock(&job->service->lock);
    mx_free(job);
}

bool mx_service_job_too_long(struct mx_service_job *job)
{
    return strstr(job->text, "ENDLESS") != NULL && job->at > 1000;
}

int mx_service_job_rate(const struct mx_service_job *job)
{
    (void)job;
    return RATE;
}

size_t mx_service_job_tokens(struct mx_service_job *job)
{
    return job->length;
}

const char *mx_service_job_warning(struct mx_service_job *job)
{
    return strstr(job->text, "☃") != NULL ? "left out: ☃" : "";
}

int mx_service_retry_seconds(struct mx_service *s)
{
    (void)s;
    return 7;
}

size_t mx_service_text_max(const struct mx_service *s)
{
    (void)s;
    return 20000;
}

void mx_service_counts_read(struct mx_service *s, struct mx_service_counts *out)
{
    pthread_mutex_lock(&s->lock);
    *out = (struct mx_service_counts){.jobs = (uint64_t)s->begun, .active = (uint64_t)s->active, .first_sound = {1, 2}};
    out->first_sound_seconds = 0.05;
    pthread_mutex_unlock(&s->lock);
}

void active_wait(int wanted)
{
    pthread_mutex_lock(&service.lock);
    while (service.active != wanted) {
        pthread_mutex_unlock(&service.lock);
        poll(NULL, 0, 5);
        pthread_mutex_lock(&service.lock);
    }
    pthread_mutex_unlock(&service.lock);
}

void hold(bool held)
{
    pthread_mutex_lock(&service.lock);
    service.held = held;
    pthread_mutex_unlock(&service.lock);
}

struct asked last_asked(void)
{
    struct asked out;
    pthread_mutex_lock(&service.lock);
    out = service.last;
    pthread_mutex_unlock(&service.lock);
    return out;
}

int begun_count(void)
{
    pthread_mutex_lock(&service.lock);
    const int begun = service.begun;
    pthread_mutex_unlock(&service.lock);
    return begun;
}

void ended_wait(int begun)
{
    pthread_mutex_lock(&service.lock);
    while (service.begun <= begun || service.active > 0) {
        pthread_mutex_unlock(&service.lock);
        poll(NULL, 0, 5);
        pthread_mutex_lock(&service.lock);
    }
    pthread_mutex_unlock(&service.lock);
}

struct mx_http *http_start(const struct mx_http_options *options)
{
    struct mx_http *http;
    struct mx_http_options all = *options;
    if (all.address == NULL) all.address = "127.0.0.1:0";
    pthread_mutex_lock(&service.lock);
    service.queue_max = 8;
    service.held = false;
    pthread_mutex_unlock(&service.lock);
    assert_int_equal(mx_http_open(&all, &service, &http), 0);
    return http;
}

int http_missing(void)
{
    struct mx_http *http;
    return mx_http_open(&(struct mx_http_options){0}, &service, &http) == MX_ERR_UNSUPPORTED ? 77 : 1;
}

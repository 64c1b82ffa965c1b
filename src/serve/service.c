/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The service: its voices, its workers, its counters, and its end; see service.h.
 */
#include "serve/service.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/thread/pool.h"
#include "serve/service_internal.h"

#define QUEUE_MOST 65536
#define RETRY_MOST 60 /* seconds */

const double mx_service_first_limits[MX_SERVICE_FIRST_CLASSES] = {0.025, 0.05, 0.075, 0.1, 0.15, 0.25,
                                                                  0.5,   1,    2.5,   5,   10,   30};

/* ---- opening ---- */

static int options_check(const struct mx_service_options *o)
{
    if (o->voice_count < 1) return MX_FAIL(MX_ERR_ARGUMENT, "name at least one", "there is no voice to speak with");
    if (o->batch_max < 1 || o->batch_max > MX_SERVICE_BATCH_LIMIT) {
        MX_FAIL(MX_ERR_ARGUMENT, NULL, "a batch of %d pieces is impossible", o->batch_max);
        return mx_error_hint("1 to %d", MX_SERVICE_BATCH_LIMIT);
    }
    if (!(o->company_ms >= 0 && o->company_ms <= 1000))
        return MX_FAIL(MX_ERR_ARGUMENT, "0 to 1000 milliseconds", "a piece cannot wait %g ms for others",
                       o->company_ms);
    if (o->queue_max < 1 || o->queue_max > QUEUE_MOST) {
        MX_FAIL(MX_ERR_ARGUMENT, NULL, "the server cannot have %d texts at once", o->queue_max);
        return mx_error_hint("1 to %d", QUEUE_MOST);
    }
    if (o->workers < 0 || o->workers > MX_SERVICE_WORKERS_MAX) {
        MX_FAIL(MX_ERR_ARGUMENT, NULL, "there cannot be %d workers", o->workers);
        return mx_error_hint("1 to %d", MX_SERVICE_WORKERS_MAX);
    }
    if (o->workers > 1 && o->device != NULL)
        return MX_FAIL(MX_ERR_ARGUMENT, "leave out the device: workers share the cores of the processor",
                       "%d workers cannot share the device %s", o->workers, o->device);
    if (o->text_max < 1 || o->text_max > MX_TEXT_LIMIT_BYTES) {
        MX_FAIL(MX_ERR_ARGUMENT, NULL, "texts of at most %zu bytes are impossible", o->text_max);
        return mx_error_hint("1 to %zu", (size_t)MX_TEXT_LIMIT_BYTES);
    }
    if (!(o->seconds_max >= 1))
        return MX_FAIL(MX_ERR_ARGUMENT, "at least 1", "texts of at most %g seconds are impossible", o->seconds_max);
    return 0;
}

static bool id_taken(const struct mx_service *s, size_t before, const char *id)
{
    for (size_t i = 0; i < before; i++)
        if (strcmp(s->engines[i].id, id) == 0) return true;
    return false;
}

/* The name of the voice, with '-' for everything that is not fit for an address or a shell; with a number appended
 * where another voice has it already. */
static int id_build(struct mx_service *s, size_t number)
{
    struct mx_service_engine *const e = &s->engines[number];
    char *id = mx_strdup(mx_voice_name(e->instances[0].voice));
    if (id == NULL) return MX_ERR_NO_MEMORY;
    for (char *c = id; *c != '\0'; c++) {
        const bool fine =
            (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') || *c == '_' || *c == '.';
        if (!fine) *c = '-';
    }
    e->id = id;
    for (size_t n = 2; *id == '\0' || id_taken(s, number, e->id); n++) {
        char *const longer = mx_format("%s-%zu", *id != '\0' ? id : "voice", n);
        if (e->id != id) mx_free(e->id);
        e->id = longer;
        if (longer == NULL || *id == '\0') break;
    }
    if (e->id != id) mx_free(id);
    return e->id == NULL ? MX_ERR_NO_MEMORY : 0;
}

static int facts_read(struct mx_service_engine *e)
{
    const struct mx_voice *const voice = e->instances[0].voice;
    const size_t languages = mx_voice_languages(voice), speakers = mx_voice_speakers(voice);
    e->languages = mx_alloc(languages, sizeof *e->languages);
    e->speakers = mx_alloc(speakers, sizeof *e->speakers);
    e->speaker_languages = mx_alloc(speakers, sizeof *e->speaker_languages);
    if (e->languages == NULL || e->speakers == NULL || e->speaker_languages == NULL) return MX_ERR_NO_MEMORY;
    for (size_t i = 0; i < languages; i++) e->languages[i] = mx_voice_language(voice, i);
    for (size_t i = 0; i < speakers; i++) {
        const char *const code = mx_checkpoint_speaker_language(mx_checkpoint_state(voice->checkpoint), i);
        e->speakers[i] = mx_voice_speaker(voice, i);
        e->speaker_languages[i] = code != NULL ? code : "";
    }
    e->facts = (struct mx_service_voice){.id = e->id,
                                         .name = mx_voice_name(voice),
                                         .languages = e->languages,
                                         .language_count = languages,
                                         .speakers = e->speakers,
                                         .speaker_languages = e->speaker_languages,
                                         .speaker_count = speakers,
                                         .rate = mx_voice_rate(voice),
                                         .licence = mx_voice_licence(voice),
                                         .attribution = mx_voice_attribution(voice)};
    return 0;
}

/* The voice on the device of a worker: the one that was asked for, or its part of the processor. */
static int place_open(struct mx_service *s, struct mx_service_engine *e, const char *path, int worker)
{
    int rc = 0;
    struct mx_service_instance *const instance = &e->instances[worker];
    const struct mx_model_capacity room = mx_voice_room(s->options.batch_max);
    struct mx_voice_options how = {.size = sizeof how,
                                   .device = s->options.device,
                                   .vocoder = s->options.vocoder,
                                   .cpu_devices = (int)s->options.cpu_devices,
                                   .lexicon = s->options.lexicon};
    char *part = NULL;
    if (s->worker_count > 1) {
        part = mx_format("cpu:%d", worker);
        if (part == NULL) MX_TRY(MX_ERR_NO_MEMORY);
        how.device = part;
        how.cpu_devices = s->worker_count;
    }
    MX_TRY(mx_voice_open(path, &how, &instance->voice));
    MX_TRY(mx_voice_speak_create(instance->voice, &room, &instance->speak));
out:
    mx_free(part);
    return rc;
}

static int engine_open(struct mx_service *s, size_t number)
{
    int rc = 0;
    struct mx_service_engine *const e = &s->engines[number];
    const float *vector;
    for (int i = 0; i < s->worker_count; i++) MX_TRY(place_open(s, e, s->options.voices[number], i));
    /* The express worker speaks with the weights of the first one. */
    const struct mx_model_capacity single = mx_voice_room(1);
    MX_TRY(mx_voice_speak_create(e->instances[0].voice, &single, &e->instances[s->worker_count].speak));
    MX_TRY(id_build(s, number));
    MX_TRY(facts_read(e));
    MX_TRY(
        mx_voice_vector(e->instances[0].voice, NULL, &vector)); /* listens to the usual speaker before a client waits */
out:
    return rc;
}

/* How many workers there are if the caller does not say. */
static int workers_usual(const struct mx_service_options *o)
{
    int core;
    return o->device == NULL && o->batch_max > 1 && mx_thread_cores(&core, 1) > 1 ? 2 : 1;
}

static int locks_create(struct mx_service *s)
{
    pthread_condattr_t attributes;
    int error = pthread_condattr_init(&attributes);
    if (error == 0) {
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC); /* as mx_clock_ns */
        if ((error = pthread_mutex_init(&s->lock, NULL)) == 0) s->made++;
        if (error == 0 && (error = pthread_cond_init(&s->work, &attributes)) == 0) s->made++;
        if (error == 0 && (error = pthread_cond_init(&s->idle, &attributes)) == 0) s->made++;
        pthread_condattr_destroy(&attributes);
    }
    if (error == 0) return 0;
    return MX_FAIL(MX_ERR_NO_MEMORY, "close other programs", "cannot make a lock: %s", strerror(error));
}

int mx_service_open(const struct mx_service_options *options, struct mx_service **out)
{
    int rc = options_check(options);
    *out = NULL;
    if (rc < 0) return rc;
    struct mx_service *s = mx_alloc(1, sizeof *s);
    if (s == NULL) return MX_ERR_NO_MEMORY;
    s->options = *options;
    MX_TRY(locks_create(s));
    s->engines = mx_alloc(options->voice_count, sizeof *s->engines);
    if (s->engines == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    s->worker_count = options->workers > 0 ? options->workers : workers_usual(options);
    for (size_t i = 0; i < options->voice_count; i++) MX_TRY(engine_open(s, i));
    s->options.voices = NULL; /* the caller's */
    for (int i = 0; i <= s->worker_count; i++) {
        struct mx_service_worker *const worker = &s->workers[i];
        *worker = (struct mx_service_worker){.service = s, .number = i, .express = i == s->worker_count};
        MX_TRY(mx_service_worker_warm(worker));
        MX_TRY(mx_thread_start(&worker->thread, "speak", -1, mx_service_worker_run, worker));
        s->running++;
    }
    *out = s;
    s = NULL;
out:
    mx_service_close(s);
    return rc;
}

/* ---- ending ---- */

void mx_service_drain(struct mx_service *s)
{
    pthread_mutex_lock(&s->lock);
    s->draining = true;
    pthread_mutex_unlock(&s->lock);
}

void mx_service_stop(struct mx_service *s)
{
    pthread_mutex_lock(&s->lock);
    s->draining = s->stopped = true;
    for (struct mx_service_job *job = s->jobs; job != NULL; job = job->next) pthread_cond_broadcast(&job->changed);
    pthread_mutex_unlock(&s->lock);
}

int mx_service_wait(struct mx_service *s, int timeout_ms)
{
    const uint64_t until = mx_clock_ns() + (uint64_t)timeout_ms * 1000000;
    const struct timespec when = mx_clock_timespec(until);
    int error = 0;
    pthread_mutex_lock(&s->lock);
    while (s->jobs != NULL && error == 0) error = pthread_cond_timedwait(&s->idle, &s->lock, &when);
    const bool idle = s->jobs == NULL;
    pthread_mutex_unlock(&s->lock);
    return idle ? 0 : MX_ERR_TIMEOUT;
}

void mx_service_close(struct mx_service *s)
{
    if (s == NULL) return;
    if (s->running > 0) {
        pthread_mutex_lock(&s->lock);
        s->closing = true;
        pthread_cond_broadcast(&s->work);
        pthread_mutex_unlock(&s->lock);
        for (int i = 0; i < s->running; i++) pthread_join(s->workers[i].thread, NULL);
    }
    for (size_t i = 0; s->engines != NULL && i < s->options.voice_count; i++) {
        for (int k = 0; k <= s->worker_count; k++) mx_speak_destroy(s->engines[i].instances[k].speak);
        for (int k = 0; k < s->worker_count; k++) mx_voice_close(s->engines[i].instances[k].voice);
        mx_free(s->engines[i].id);
        mx_free(s->engines[i].languages);
        mx_free(s->engines[i].speaker_languages);
        mx_free(s->engines[i].speakers);
    }
    mx_free(s->engines);
    if (s->made > 2) pthread_cond_destroy(&s->idle);
    if (s->made > 1) pthread_cond_destroy(&s->work);
    if (s->made > 0) pthread_mutex_destroy(&s->lock);
    mx_free(s);
}

/* ---- voices ---- */

size_t mx_service_voice_count(const struct mx_service *s)
{
    return s->options.voice_count;
}

const struct mx_service_voice *mx_service_voice(const struct mx_service *s, size_t voice)
{
    return &s->engines[voice].facts;
}

/* Names that clients send because their API requires a voice. */
static bool is_usual_name(const char *name)
{
    static const char *const names[] = {
        "alloy", "ash",  "ballad",  "cedar", "coral", "echo",     "fable",           "marin",  "nova",
        "onyx",  "sage", "shimmer", "verse", "tts-1", "tts-1-hd", "gpt-4o-mini-tts", "default"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0) return true;
    return false;
}

static const char *speaker_find(const struct mx_service_voice *voice, const char *name)
{
    for (size_t i = 0; i < voice->speaker_count; i++)
        if (strcmp(voice->speakers[i], name) == 0) return voice->speakers[i];
    return NULL;
}

/* Appends `before` and the name; false: there is no room for it and ", …", and only that is appended. */
static bool name_append(char *list, size_t size, const char *before, const char *name)
{
    static const char more[] = ", …";
    char *const end = list + strlen(list);
    const size_t room = size - (size_t)(end - list), first = strlen(before), rest = strlen(name);
    const bool fits = first + rest + sizeof more <= room;
    if (!fits) {
        memcpy(end, more, sizeof more);
        return false;
    }
    memcpy(end, before, first);
    memcpy(end + first, name, rest + 1);
    return true;
}

/* The hint lists the voices and then their speakers, whose names may be given as well, as far as there is room. */
static int find_fail(const struct mx_service *s, const char *name)
{
    char quoted[96], list[768] = "";
    const size_t voices = s->options.voice_count;
    bool fits = true;
    for (size_t i = 0; fits && i < voices; i++)
        fits = name_append(list, sizeof list, i > 0 ? ", " : "", s->engines[i].id);
    const char *before = "; speakers: ";
    for (size_t i = 0; i < voices; i++) {
        const struct mx_service_voice *const v = &s->engines[i].facts;
        for (size_t k = 0; fits && k < v->speaker_count; k++) {
            fits = name_append(list, sizeof list, before, v->speakers[k]);
            before = ", ";
        }
    }
    MX_FAIL(MX_ERR_NOT_FOUND, NULL, "there is no voice %s", mx_string_quote(quoted, sizeof quoted, name));
    return mx_error_hint("voices: %s", list);
}

int mx_service_find(const struct mx_service *s, const char *name, size_t *voice, const char **speaker)
{
    *voice = 0;
    *speaker = NULL;
    if (name == NULL || *name == '\0') return 0;
    for (size_t i = 0; i < s->options.voice_count; i++) {
        const struct mx_service_voice *const v = &s->engines[i].facts;
        const size_t length = strlen(v->id);
        *voice = i;
        if (strcmp(name, v->id) == 0 || strcmp(name, v->name) == 0) return 0;
        if (strncmp(name, v->id, length) != 0 || name[length] != '/') continue;
        *speaker = speaker_find(v, name + length + 1);
        if (*speaker != NULL) return 0;
    }
    for (size_t i = 0; i < s->options.voice_count; i++) {
        *voice = i;
        *speaker = speaker_find(&s->engines[i].facts, name);
        if (*speaker != NULL) return 0;
    }
    *voice = 0;
    return is_usual_name(name) ? 0 : find_fail(s, name);
}

/* ---- numbers ---- */

int mx_service_retry_now(const struct mx_service *s)
{
    const struct mx_service_counts *const c = &s->counts;
    /* The time the networks need for the current jobs, if they are like earlier ones. */
    const double each = c->jobs > 0 ? c->work_seconds / (double)c->jobs : 0, all = each * (double)c->active;
    return all < 1 ? 1 : all > RETRY_MOST ? RETRY_MOST : (int)ceil(all);
}

int mx_service_retry_seconds(struct mx_service *s)
{
    pthread_mutex_lock(&s->lock);
    const int seconds = mx_service_retry_now(s);
    pthread_mutex_unlock(&s->lock);
    return seconds;
}

size_t mx_service_text_max(const struct mx_service *s)
{
    return s->options.text_max;
}

void mx_service_counts_read(struct mx_service *s, struct mx_service_counts *out)
{
    pthread_mutex_lock(&s->lock);
    *out = s->counts;
    out->waiting = 0;
    for (const struct mx_service_job *job = s->jobs; job != NULL; job = job->next)
        out->waiting += job->placed && !job->sounding;
    pthread_mutex_unlock(&s->lock);
}

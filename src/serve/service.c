/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The service, see service.h: one job is spoken at a time, whole, by the thread that reads it first.
 */
#include "serve/service.h"

#include <ctype.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/string.h"
#include "myxtts/error.h"
#include "speech/speak.h"
#include "speech/voice.h"
#include "text/language.h"

const double mx_service_first_limits[MX_SERVICE_FIRST_CLASSES] = {0.025, 0.05, 0.075, 0.1, 0.15, 0.25,
                                                                  0.5,   1,    2.5,   5,   10,   30};

struct voice {
    struct mx_service_voice facts;
    struct mx_voice voice;
    struct mx_speak *speak;
    const char *languages[MX_LANGUAGE_COUNT];
    char *id, *name;
};

/* Invariants under `lock`: active <= options.queue_max; a thread that waits on `changed` is woken whenever a job ends.
 * Invariant under `speaking`: at most one thread uses the engines. */
struct mx_service {
    struct mx_service_options options;
    struct voice *voices;
    pthread_mutex_t lock, speaking;
    pthread_cond_t changed;
    bool draining, stopped;
    struct mx_service_counts counts;
};

struct mx_service_job {
    struct mx_service *service;
    struct mx_service_text options;
    int language;
    char *text;
    size_t length, at;
    bool finished, spoken, cancelled, over;
    uint64_t began_ns;
    struct mx_speak_result result;
    struct mx_error error;
    char warning[160];
};

static const struct mx_model_capacity room = {.sequences = 4,
                                              .tokens = 2 * 1200,
                                              .frames = 2 * 4800,
                                              .references = 4 * 1040,
                                              .longest_tokens = 1200,
                                              .longest_frames = 4800};

static int id_make(struct mx_service *s, size_t voice)
{
    struct voice *const v = &s->voices[voice];
    const char *const path = s->options.voices[voice];
    size_t end = strlen(path);
    while (end > 1 && path[end - 1] == '/') end--;
    size_t begin = end;
    while (begin > 0 && path[begin - 1] != '/') begin--;
    v->name = mx_strndup(path + begin, end - begin);
    if (v->name == NULL) return MX_ERR_NO_MEMORY;
    v->id = mx_strdup(v->name);
    if (v->id == NULL) return MX_ERR_NO_MEMORY;
    for (char *c = v->id; *c != '\0'; c++)
        if (!isalnum((unsigned char)*c) && strchr("-_.", *c) == NULL) *c = '-';
    for (size_t i = 0; i < voice; i++) {
        if (strcmp(s->voices[i].id, v->id) != 0) continue;
        char *const longer = mx_format("%s-%zu", v->id, voice + 1);
        if (longer == NULL) return MX_ERR_NO_MEMORY;
        mx_free(v->id);
        v->id = longer;
    }
    return 0;
}

static int voice_open(struct mx_service *s, size_t number)
{
    int rc = 0;
    struct voice *const v = &s->voices[number];
    struct mx_voice *const from = &v->voice;
    MX_TRY(id_make(s, number));
    MX_TRY(mx_voice_open(from, s->options.voices[number], s->options.device, s->options.cpu_devices));
    MX_TRY(mx_voice_load(from, &room));
    MX_TRY(mx_voice_vocoder(from, s->options.vocoder));
    const struct mx_checkpoint_state *const state = mx_checkpoint_state(from->checkpoint);
    const struct mx_speak_voice parts = {.device = from->place.device,
                                         .stream = from->place.stream,
                                         .model = from->model,
                                         .parameters = mx_slice_at(from->weights, 0),
                                         .vocabulary = from->vocabulary,
                                         .normaliser = state->normaliser};
    struct mx_speak_sound sound = MX_SPEAK_SOUND_DEFAULT;
    sound.vocoder = from->vocoder.loaded ? &from->vocoder.config : NULL;
    sound.vocoder_parameters = mx_slice_at(from->vocoder.weights, 0);
    MX_TRY(mx_speak_create(&parts, &sound, &v->speak));
    v->facts = (struct mx_service_voice){.id = v->id,
                                         .name = v->name,
                                         .languages = v->languages,
                                         .speakers = state->speakers,
                                         .speaker_count = state->speaker_count,
                                         .rate = mx_recipe_default.rate,
                                         .licence = "",
                                         .attribution = ""};
    for (int i = 0; i < MX_LANGUAGE_COUNT; i++)
        if (mx_vocabulary_language(from->vocabulary, (enum mx_language_id)i) >= 0)
            v->languages[v->facts.language_count++] = mx_language_get((enum mx_language_id)i)->code;
out:
    return rc;
}

int mx_service_open(const struct mx_service_options *options, struct mx_service **out)
{
    int rc = 0;
    *out = NULL;
    struct mx_service *s = mx_alloc(1, sizeof *s);
    if (s == NULL) return MX_ERR_NO_MEMORY;
    s->options = *options;
    pthread_mutex_init(&s->lock, NULL);
    pthread_mutex_init(&s->speaking, NULL);
    pthread_cond_init(&s->changed, NULL);
    s->voices = mx_alloc(options->voice_count, sizeof *s->voices);
    if (s->voices == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    for (size_t i = 0; i < options->voice_count; i++) MX_TRY(voice_open(s, i));
    *out = s;
    s = NULL;
out:
    mx_service_close(s);
    return rc;
}

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
    pthread_mutex_unlock(&s->lock);
}

int mx_service_wait(struct mx_service *s, int timeout_ms)
{
    struct timespec until;
    int error = 0;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += timeout_ms / 1000;
    pthread_mutex_lock(&s->lock);
    while (s->counts.active > 0 && error == 0) error = pthread_cond_timedwait(&s->changed, &s->lock, &until);
    const bool done = s->counts.active == 0;
    pthread_mutex_unlock(&s->lock);
    return done ? 0 : MX_ERR_TIMEOUT;
}

void mx_service_close(struct mx_service *s)
{
    if (s == NULL) return;
    for (size_t i = 0; s->voices != NULL && i < s->options.voice_count; i++) {
        mx_speak_destroy(s->voices[i].speak);
        mx_voice_close(&s->voices[i].voice);
        mx_free(s->voices[i].id);
        mx_free(s->voices[i].name);
    }
    mx_free(s->voices);
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->speaking);
    pthread_mutex_destroy(&s->lock);
    mx_free(s);
}

size_t mx_service_voice_count(const struct mx_service *s)
{
    return s->options.voice_count;
}

const struct mx_service_voice *mx_service_voice(const struct mx_service *s, size_t voice)
{
    return &s->voices[voice].facts;
}

int mx_service_find(const struct mx_service *s, const char *name, size_t *voice, const char **speaker)
{
    static const char *const aliases[] = {"alloy", "ash",   "ballad",   "coral",          "echo",  "fable",
                                          "nova",  "onyx",  "sage",     "shimmer",        "verse", "marin",
                                          "cedar", "tts-1", "tts-1-hd", "gpt-4o-mini-tts"};
    *voice = 0;
    *speaker = NULL;
    if (name == NULL || *name == '\0') return 0;
    for (size_t i = 0; i < s->options.voice_count; i++) {
        *voice = i;
        if (strcmp(name, s->voices[i].id) == 0 || strcmp(name, s->voices[i].name) == 0) return 0;
    }
    for (size_t i = 0; i < s->options.voice_count; i++) {
        const struct mx_service_voice *const v = &s->voices[i].facts;
        const size_t length = strlen(v->id);
        const bool of_it = strncmp(name, v->id, length) == 0 && name[length] == '/';
        *voice = i;
        for (size_t k = 0; k < v->speaker_count; k++) {
            if (strcmp(of_it ? name + length + 1 : name, v->speakers[k]) != 0) continue;
            *speaker = v->speakers[k];
            return 0;
        }
    }
    *voice = 0;
    for (size_t i = 0; i < sizeof aliases / sizeof aliases[0]; i++)
        if (strcmp(name, aliases[i]) == 0) return 0;
    char quoted[96];
    MX_FAIL(MX_ERR_NOT_FOUND, NULL, "there is no voice %s", mx_string_quote(quoted, sizeof quoted, name));
    return mx_error_hint("the first of %zu voices is '%s'", s->options.voice_count, s->voices[0].id);
}

int mx_service_begin(struct mx_service *s, const struct mx_service_text *text, struct mx_service_job **out)
{
    int rc = 0;
    enum mx_language_id language;
    *out = NULL;
    struct mx_service_job *job = mx_alloc(1, sizeof *job);
    if (job == NULL) return MX_ERR_NO_MEMORY;
    job->service = s;
    job->options = *text;
    job->language = MX_SPEAK_DETECT;
    job->began_ns = mx_clock_ns();
    if (text->language != NULL) {
        MX_TRY(mx_language_parse(text->language, &language));
        job->language = (int)language;
    }
    pthread_mutex_lock(&s->lock);
    if (s->draining) {
        rc = MX_FAIL(MX_ERR_CLOSED, "try another server", "the server is about to end");
    } else if (s->counts.active >= (uint64_t)s->options.queue_max) {
        s->counts.refused++;
        rc = MX_FAIL(MX_ERR_BUDGET, "try again later", "%d texts are being spoken already", s->options.queue_max);
    } else {
        s->counts.active++;
        s->counts.jobs++;
    }
    pthread_mutex_unlock(&s->lock);
    MX_TRY(rc);
    *out = job;
    job = NULL;
out:
    mx_free(job);
    return rc;
}

int mx_service_add(struct mx_service_job *job, const char *text, size_t length)
{
    if (length > job->service->options.text_max - job->length)
        return MX_FAIL(MX_ERR_ARGUMENT, "speak a long text in several requests", "the text has more than %zu bytes",
                       job->service->options.text_max);
    char *const grown = mx_realloc(job->text, job->length + length + 1, 1);
    if (grown == NULL) return MX_ERR_NO_MEMORY;
    memcpy(grown + job->length, text, length);
    job->text = grown;
    job->length += length;
    grown[job->length] = '\0';
    return 0;
}

int mx_service_finish(struct mx_service_job *job)
{
    pthread_mutex_lock(&job->service->lock);
    job->finished = true;
    pthread_mutex_unlock(&job->service->lock);
    return 0;
}

static int job_speak(struct mx_service_job *job)
{
    struct mx_service *const s = job->service;
    struct mx_speak_options how = MX_SPEAK_OPTIONS_DEFAULT;
    how.language = job->language;
    how.speed = job->options.speed;
    how.pitch_semitones = job->options.pitch_semitones;
    const uint64_t start = mx_clock_ns();
    pthread_mutex_lock(&s->speaking);
    const int rc = mx_speak_text(s->voices[job->options.voice].speak, job->text != NULL ? job->text : "", job->length,
                                 &how, &job->result);
    pthread_mutex_unlock(&s->speaking);
    if (rc < 0) job->error = *mx_error_last();
    for (size_t i = 0; i < job->result.count; i++) job->result.audio[i] *= (float)job->options.volume;
    if (job->result.unknown.count > 0)
        (void)snprintf(job->warning, sizeof job->warning, "%zu symbols that the voice never learned were left out",
                       job->result.unknown.count);
    const double first = (double)(mx_clock_ns() - job->began_ns) * 1e-9;
    size_t class = 0;
    while (class < MX_SERVICE_FIRST_CLASSES && first > mx_service_first_limits[class]) class ++;
    pthread_mutex_lock(&s->lock);
    job->spoken = true;
    s->counts.pieces += job->result.pieces;
    s->counts.batches += job->result.pieces;
    s->counts.tokens += job->result.tokens;
    s->counts.characters += job->length;
    s->counts.unknown += job->result.unknown.count;
    s->counts.sound_seconds += job->result.seconds;
    s->counts.work_seconds += (double)(mx_clock_ns() - start) * 1e-9;
    s->counts.first_sound[class]++;
    s->counts.first_sound_seconds += first;
    if (rc < 0) s->counts.failed++;
    pthread_mutex_unlock(&s->lock);
    return rc;
}

int mx_service_read(struct mx_service_job *job, float *samples, size_t space, size_t *count, int timeout_ms)
{
    struct mx_service *const s = job->service;
    *count = 0;
    pthread_mutex_lock(&s->lock);
    const bool cancelled = job->cancelled || s->stopped, finished = job->finished, spoken = job->spoken;
    pthread_mutex_unlock(&s->lock);
    if (cancelled) return MX_FAIL(MX_ERR_INTERRUPTED, NULL, "the text was cancelled");
    if (!finished) {
        mx_clock_sleep_ns(timeout_ms == 0 ? 0 : UINT64_C(5000000));
        return MX_ERR_TIMEOUT;
    }
    if (!spoken) (void)job_speak(job);
    if (job->error.code < 0) return mx_error_restore(&job->error);
    const size_t left = job->result.count - job->at;
    *count = left < space ? left : space;
    if (*count > 0) memcpy(samples, job->result.audio + job->at, *count * sizeof *samples);
    job->at += *count;
    if (*count > 0) return 1;
    pthread_mutex_lock(&s->lock);
    if (!job->over) s->counts.finished++;
    job->over = true;
    pthread_mutex_unlock(&s->lock);
    return 0;
}

void mx_service_cancel(struct mx_service_job *job)
{
    pthread_mutex_lock(&job->service->lock);
    job->cancelled = true;
    pthread_mutex_unlock(&job->service->lock);
}

void mx_service_end(struct mx_service_job *job)
{
    if (job == NULL) return;
    struct mx_service *const s = job->service;
    pthread_mutex_lock(&s->lock);
    s->counts.active--;
    if (!job->over && job->error.code == 0) s->counts.cancelled++;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
    mx_speak_result_release(&job->result);
    mx_free(job->text);
    mx_free(job);
}

int mx_service_job_rate(const struct mx_service_job *job)
{
    return job->service->voices[job->options.voice].facts.rate;
}

size_t mx_service_job_tokens(struct mx_service_job *job)
{
    return job->result.tokens;
}

const char *mx_service_job_warning(struct mx_service_job *job)
{
    return job->warning;
}

int mx_service_retry_seconds(struct mx_service *service)
{
    (void)service;
    return 1;
}

size_t mx_service_text_max(const struct mx_service *service)
{
    return service->options.text_max;
}

void mx_service_counts_read(struct mx_service *s, struct mx_service_counts *out)
{
    pthread_mutex_lock(&s->lock);
    *out = s->counts;
    pthread_mutex_unlock(&s->lock);
}

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Jobs: the side of the clients, see service.h. Text becomes items in the thread that reads, because that thread has
 * nothing else to do before there is sound, and because a client that does not read then costs no work.
 */
#include <errno.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/string.h"
#include "serve/service_internal.h"
#include "text/language.h"

/* ---- life; with the lock held ---- */

static void job_list(struct mx_service_job *job)
{
    struct mx_service *const s = job->service;
    job->next = s->jobs;
    if (s->jobs != NULL) s->jobs->previous = job;
    s->jobs = job;
    job->listed = true;
}

/* Frees its place, if it has one. */
static void job_unlist(struct mx_service_job *job)
{
    struct mx_service *const s = job->service;
    if (!job->listed) return;
    if (job->previous != NULL)
        job->previous->next = job->next;
    else
        s->jobs = job->next;
    if (job->next != NULL) job->next->previous = job->previous;
    job->listed = false;
    if (job->placed) s->counts.active--;
    if (job->placed && !job->over && job->error.code == 0) s->counts.cancelled++;
    if (s->jobs == NULL) pthread_cond_broadcast(&s->idle);
    pthread_cond_broadcast(&s->work); /* no worker waits any longer for this job to share a batch */
}

static void blocks_free(struct mx_service_block *first)
{
    while (first != NULL) {
        struct mx_service_block *const block = first;
        first = block->next;
        mx_free(block->samples);
        mx_free(block);
    }
}

static void job_free(struct mx_service_job *job)
{
    blocks_free(job->first);
    for (int i = 0; i < job->item_count; i++) {
        mx_free(job->items[i].tokens);
        mx_free(job->items[i].block);
    }
    mx_speak_script_close(job->script);
    mx_string_release(&job->tags);
    mx_string_release(&job->warning);
    mx_free(job->text);
    mx_free(job->spare);
    mx_free(job->fetched);
    pthread_cond_destroy(&job->changed);
    mx_free(job);
}

void mx_service_job_drop(struct mx_service_job *job)
{
    if (--job->holders == 0) job_free(job);
}

void mx_service_job_fail(struct mx_service_job *job)
{
    if (job->error.code == 0) {
        job->error = *mx_error_last();
        if (job->listed && job->placed) job->service->counts.failed++;
    }
    job->text_over = true;
    job->making = false;
    pthread_cond_broadcast(&job->changed);
}

/* ---- beginning ---- */

/* The language that a client means with "en", "en_US" or "en-GB": the one of this name if the voice speaks it,
 * otherwise the one of its first part. */
static int language_choose(const struct mx_service_engine *engine, const char *name, int *language)
{
    const struct mx_vocabulary *const vocabulary = engine->instances[0].voice->vocabulary;
    char code[32], quoted[64];
    enum mx_language_id id;
    size_t length = 0;
    *language = MX_SPEAK_DETECT;
    if (name == NULL || *name == '\0') return 0;
    for (; name[length] != '\0' && length + 1 < sizeof code; length++) {
        const char c = name[length];
        code[length] = c == '_' ? '-' : c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
    }
    code[length] = '\0';
    for (int part = 0; part < 2; part++) {
        if (part == 1) code[strcspn(code, "-")] = '\0';
        if (mx_language_parse(code, &id) == 0 && mx_vocabulary_language(vocabulary, id) >= 0) {
            *language = (int)id;
            mx_error_clear();
            return 0;
        }
    }
    MX_FAIL(MX_ERR_CONFIG, NULL, "the voice '%s' does not speak the language %s", engine->facts.id,
            mx_string_quote(quoted, sizeof quoted, name));
    return mx_error_hint("it speaks '%s'; leave the language out to let the letters of the text decide",
                         engine->facts.language_count > 0 ? engine->facts.languages[0] : "");
}

/* Who speaks, and which language is preferred: by what the client named, or by `text`. */
static int speaker_choose(struct mx_service_job *job, const char *speaker, const char *text, size_t length)
{
    struct mx_voice *const voice = job->engine->instances[0].voice;
    mx_voice_suit(mx_checkpoint_state(voice->checkpoint), text, length, &speaker, &job->how);
    return mx_voice_vector(voice, speaker, &job->vector);
}

/* With the lock held: whether there is a place for another job. */
static int place_check(struct mx_service *s)
{
    if (s->counts.active < (uint64_t)s->options.queue_max) return 0;
    s->counts.refused++;
    MX_FAIL(MX_ERR_BUDGET, NULL, "the server speaks %d texts already, which is its limit", s->options.queue_max);
    return mx_error_hint("try again in %d s", mx_service_retry_now(s));
}

/* A job without text has no place in the queue: only work that can start keeps others waiting. */
static int place_acquire(struct mx_service_job *job)
{
    struct mx_service *const s = job->service;
    int rc = 0;
    pthread_mutex_lock(&s->lock);
    if (!job->placed && job->listed) rc = place_check(s);
    if (rc == 0 && !job->placed && job->listed) {
        job->placed = true;
        s->counts.active++;
        s->counts.jobs++;
    }
    pthread_mutex_unlock(&s->lock);
    return rc;
}

static int job_create(struct mx_service *s, const struct mx_service_text *text, struct mx_service_job **out)
{
    int rc = 0;
    pthread_condattr_t attributes;
    struct mx_speak_script *nothing = NULL;
    struct mx_service_job *job = mx_alloc(1, sizeof *job);
    if (job == NULL) return MX_ERR_NO_MEMORY;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC); /* as mx_clock_ns */
    const int error = pthread_cond_init(&job->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    if (error != 0) {
        mx_free(job);
        return MX_FAIL(MX_ERR_NO_MEMORY, "close other programs", "cannot make a lock: %s", strerror(error));
    }
    job->service = s;
    job->engine = &s->engines[text->voice];
    job->holders = 1;
    job->streaming = text->streaming && !text->ssml;
    job->starved = true;
    job->seed = text->seed;
    job->how = mx_speak_script_options_of(job->engine->instances[0].speak);
    job->how.ssml = text->ssml;
    job->how.speed = text->speed;
    job->how.pitch_semitones = text->pitch_semitones;
    job->how.volume = text->volume;
    job->how.pause_scale = text->pause_scale;
    MX_TRY(language_choose(job->engine, text->language, &job->how.language));
    struct mx_speak_script_options plain = job->how;
    plain.ssml = false;                                    /* an empty text is none */
    MX_TRY(mx_speak_script_open(&plain, "", 0, &nothing)); /* refuses numbers out of range */
    MX_TRY(speaker_choose(job, text->speaker, NULL, 0));
    job->suited = text->speaker != NULL || job->how.language != MX_SPEAK_DETECT || text->ssml;
    *out = job;
    job = NULL;
out:
    mx_speak_script_close(nothing);
    if (job != NULL) job_free(job);
    return rc;
}

static int begin_fail(void)
{
    return MX_FAIL(MX_ERR_CLOSED, "try again once it has restarted", "the server is about to end");
}

int mx_service_begin(struct mx_service *s, const struct mx_service_text *text, struct mx_service_job **out)
{
    struct mx_service_job *job = NULL;
    *out = NULL;
    if (text->voice >= s->options.voice_count)
        return MX_FAIL(MX_ERR_ARGUMENT, "use a number from mx_service_find", "there is no voice number %zu",
                       text->voice);
    pthread_mutex_lock(&s->lock);
    /* A full queue refuses before any work; a text that streams in may come when there is a place again. */
    int rc = s->draining ? begin_fail() : text->streaming ? 0 : place_check(s);
    pthread_mutex_unlock(&s->lock);
    if (rc == 0) rc = job_create(s, text, &job);
    if (rc < 0) return rc;
    pthread_mutex_lock(&s->lock);
    if (s->draining)
        rc = begin_fail();
    else
        job_list(job);
    job->turn = ++s->turns;
    pthread_mutex_unlock(&s->lock);
    if (rc < 0)
        job_free(job);
    else
        *out = job;
    return rc;
}

/* ---- text comes ---- */

int mx_service_add(struct mx_service_job *job, const char *text, size_t length)
{
    struct mx_service *const s = job->service;
    int rc = 0;
    pthread_mutex_lock(&s->lock);
    if (length > s->options.text_max - job->added) {
        rc = MX_FAIL(MX_ERR_ARGUMENT, "speak it in several parts", "the text is longer than the %zu bytes allowed",
                     s->options.text_max);
    } else if (length > 0) {
        rc = MX_GROW(job->text, job->text_room, job->length + length);
        if (rc == 0) {
            memcpy(job->text + job->length, text, length);
            job->length += length;
            job->added += length;
            if (job->text_ns == 0) job->text_ns = mx_clock_ns();
            pthread_cond_broadcast(&job->changed);
        }
    }
    pthread_mutex_unlock(&s->lock);
    return rc;
}

static void characters_count(struct mx_service_job *job, const char *text, size_t length)
{
    uint64_t characters = 0;
    for (size_t i = 0; i < length; i++) characters += ((unsigned char)text[i] & 0xc0) != 0x80;
    pthread_mutex_lock(&job->service->lock);
    job->service->counts.characters += characters;
    pthread_mutex_unlock(&job->service->lock);
}

static int script_open(struct mx_service_job *job, const char *text, size_t length)
{
    int rc = 0;
    if (!job->suited) rc = speaker_choose(job, NULL, text, length);
    job->suited = true; /* the rest of a text has the same speaker */
    if (rc == 0) rc = mx_speak_script_open(&job->how, text, length, &job->script);
    if (rc < 0) return rc;
    job->scripts++;
    characters_count(job, text, length);
    for (size_t i = 0; mx_speak_script_warning(job->script, i) != NULL; i++)
        (void)mx_string_append(&job->tags, "%s%s", job->tags.length > 0 ? "; " : "",
                               mx_speak_script_warning(job->script, i));
    return 0;
}

int mx_service_finish(struct mx_service_job *job)
{
    struct mx_service *const s = job->service;
    int rc = 0;
    pthread_mutex_lock(&s->lock);
    const bool first = !job->finished;
    const char *const text = job->text;
    const size_t length = job->length, added = job->added;
    if (job->streaming) job->finished = true;
    pthread_cond_broadcast(&job->changed);
    pthread_mutex_unlock(&s->lock);
    if (first && added > 0) rc = place_acquire(job);
    if (!first || job->streaming) return rc;
    /* No other thread reads the text of such a job before it is finished. */
    if (length == 0)
        rc = MX_FAIL(MX_ERR_DATA, "give a text with words or numbers", "there is no text to speak");
    else if (rc == 0)
        rc = script_open(job, text, length);
    pthread_mutex_lock(&s->lock);
    job->finished = true;
    job->making = rc == 0; /* its reader comes soon */
    if (rc < 0) mx_service_job_fail(job);
    pthread_cond_broadcast(&job->changed);
    pthread_mutex_unlock(&s->lock);
    return rc;
}

/* ---- text becomes items; in the thread that reads, without the lock ---- */

/* Notes what the script left out, and closes it. */
static void script_close(struct mx_service_job *job)
{
    const struct mx_speak_script_counts counts = mx_speak_script_counts(job->script);
    struct mx_service *const s = job->service;
    job->tokens += counts.tokens;
    if (job->unknown.count == 0) job->unknown.first = counts.unknown.first;
    job->unknown.count += counts.unknown.count;
    pthread_mutex_lock(&s->lock);
    s->counts.tokens += counts.tokens;
    s->counts.unknown += counts.unknown.count;
    pthread_mutex_unlock(&s->lock);
    mx_speak_script_close(job->script);
    job->script = NULL;
}

/* Is there nothing but blanks and marks? A script of it would have no items. */
static bool is_silent(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (text[i] == '\0' || strchr(" \t\r\n.!?,;:", text[i]) == NULL) return false;
    return true;
}

/* The next sentence of a text that streams in becomes a script. 0 if there is none yet, or none any more. */
static int script_next(struct mx_service_job *job)
{
    for (;;) {
        const size_t left = job->fetched_length - job->taken;
        double pause_ms = 0;
        job->starved = left == 0;
        if (job->starved) return 0;
        const char *const text = job->fetched + job->taken;
        size_t length = mx_service_sentence(&job->search, text, left, &pause_ms);
        if (length == 0 && job->ends) length = left;
        job->starved = length == 0;
        if (job->starved) return 0;
        int rc = place_acquire(job);
        if (rc < 0) return rc;
        job->taken += length;
        job->search = (struct mx_service_sentence){0};
        const bool silent = is_silent(text, length);
        if (silent)
            characters_count(job, text, length);
        else if ((rc = script_open(job, text, length)) < 0)
            return rc;
        /* Silence is only between pieces. The pause is the one that a whole text would have there. */
        if (job->items_made > 0) job->script_gap_ms = fmax(job->script_gap_ms, job->gap_ms);
        job->gap_ms = pause_ms * job->how.pause_scale / job->how.speed;
        if (!silent) return 1;
    }
}

/* Adds text that came to what the reader has. */
static int text_fetch(struct mx_service_job *job, const char *text, size_t length)
{
    int rc = 0;
    if (length == 0) return 0;
    if (job->taken > 0) memmove(job->fetched, job->fetched + job->taken, job->fetched_length - job->taken);
    job->fetched_length -= job->taken;
    job->taken = 0;
    MX_TRY(MX_GROW(job->fetched, job->fetched_room, job->fetched_length + length));
    memcpy(job->fetched + job->fetched_length, text, length);
    job->fetched_length += length;
out:
    return rc;
}

/* Makes the next item of the job: 1; 0: there is no text for one, now or ever. */
static int item_build(struct mx_service_job *job, struct mx_service_item *out)
{
    struct mx_speak_item item;
    int rc = 0;
    for (;;) {
        if (job->script == NULL && job->streaming) {
            const int more = script_next(job);
            if (more <= 0) return more;
        }
        if (job->script == NULL) return 0;
        const int more = mx_speak_script_next(job->script, &item);
        if (more > 0) break;
        if (more < 0) return more;
        script_close(job);
    }
    *out = (struct mx_service_item){.piece = mx_speak_piece_of(&item, job->vector, job->seed)};
    out->piece.before_ms += job->script_gap_ms;
    job->script_gap_ms = 0;
    if (item.speaker != NULL) MX_TRY(mx_voice_vector(job->engine->instances[0].voice, item.speaker, &out->piece.voice));
    out->tokens = mx_alloc((size_t)item.count, sizeof *out->tokens);
    out->block = mx_alloc(1, sizeof *out->block);
    if (out->tokens == NULL || out->block == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    out->piece.tokens = memcpy(out->tokens, item.tokens, (size_t)item.count * sizeof *out->tokens);
    job->items_made++;
    return 1;
out:
    mx_free(out->tokens);
    mx_free(out->block);
    return rc;
}

/* ---- reading; with the lock held ---- */

/* Could an item be made now? Asks for no search: that is the work of text_work. */
static bool text_waits(const struct mx_service_job *job)
{
    if (job->text_over || job->item_count == MX_SERVICE_ITEMS) return false;
    if (job->finished) return true;
    return job->streaming && (job->length > 0 || !job->starved); /* otherwise its script is not there yet */
}

/* Makes an item with the lock released meanwhile. */
static void text_work(struct mx_service_job *job)
{
    struct mx_service *const s = job->service;
    struct mx_service_item item = {0};
    char *const text = job->text;
    const size_t length = job->streaming ? job->length : 0, room = job->text_room;
    if (job->streaming) {
        job->text = job->spare;
        job->text_room = job->spare_room;
        job->length = 0;
        job->spare = text;
        job->spare_room = room;
    }
    job->ends = job->finished;
    job->making = true;
    pthread_mutex_unlock(&s->lock);
    int rc = text_fetch(job, text, length);
    if (rc == 0) rc = item_build(job, &item);
    pthread_mutex_lock(&s->lock);
    job->making = false;
    if (rc > 0) {
        item.ready_ns = mx_clock_ns();
        job->items[job->item_count++] = item;
    } else if (rc < 0) {
        mx_service_job_fail(job);
    } else if (job->ends) {
        job->text_over = true;
        if (job->items_made == 0) {
            MX_FAIL(MX_ERR_DATA, "give a text with words or numbers", "nothing in the text can be spoken");
            mx_service_job_fail(job);
        }
    }
    if (rc != 0 || job->text_over || s->courting > 0) pthread_cond_broadcast(&s->work);
}

/* Copies sound that is ready; *done gets the blocks that are not needed any more. */
static size_t sound_copy(struct mx_service_job *job, float *samples, size_t room, struct mx_service_block **done)
{
    size_t taken = 0;
    if (room > MX_SERVICE_READ_MOST) room = MX_SERVICE_READ_MOST;
    while (job->first != NULL && taken < room) {
        struct mx_service_block *const block = job->first;
        const size_t ready = block->filled - job->at, part = ready < room - taken ? ready : room - taken;
        if (part > 0) memcpy(samples + taken, block->samples + job->at, part * sizeof *samples);
        taken += part;
        job->at += part;
        if (block->samples == NULL || job->at < block->count) break;
        job->first = block->next;
        if (job->first == NULL) job->last = NULL;
        job->at = 0;
        block->next = *done;
        *done = block;
    }
    job->ahead -= taken;
    if (taken > 0) {
        job->delivered = true;
        pthread_cond_broadcast(&job->service->work); /* it may have a turn again */
    }
    return taken;
}

/* What the reader gets now: 1, 0 or a failure as mx_service_read; MX_ERR_TIMEOUT: nothing yet. */
static int read_now(struct mx_service_job *job, float *samples, size_t room, size_t *count,
                    struct mx_service_block **done)
{
    struct mx_service *const s = job->service;
    if (job->cancelled || s->stopped)
        return MX_FAIL(MX_ERR_INTERRUPTED, NULL, "%s", job->cancelled ? "the text was cancelled" : "the server ends");
    if (job->error.code != 0) return mx_error_restore(&job->error);
    *count = sound_copy(job, samples, room, done);
    job->heard += *count;
    if ((double)job->heard > s->options.seconds_max * job->engine->facts.rate) {
        const int rc = MX_FAIL(MX_ERR_UNSUPPORTED, "speak it in several parts, with fewer or shorter pauses",
                               "the text becomes more than %g seconds of sound, which is the limit of the server "
                               "('--max-seconds')",
                               s->options.seconds_max);
        *count = 0;
        job->too_long = true;
        mx_service_job_fail(job);
        return rc;
    }
    if (*count > 0) return 1;
    if (!job->text_over || job->item_count > 0 || job->busy > 0) return MX_ERR_TIMEOUT;
    if (!job->over) s->counts.finished++;
    job->over = true;
    return 0;
}

int mx_service_read(struct mx_service_job *job, float *samples, size_t room, size_t *count, int timeout_ms)
{
    struct mx_service *const s = job->service;
    const uint64_t until = timeout_ms < 0 ? UINT64_MAX : mx_clock_ns() + (uint64_t)timeout_ms * MX_NS_PER_MS;
    const struct timespec when = mx_clock_timespec(until);
    struct mx_service_block *done = NULL;
    int rc;
    *count = 0;
    pthread_mutex_lock(&s->lock);
    for (;;) {
        /* Text first, so that the networks have work, but not before the first sound has left. */
        while (job->delivered && job->error.code == 0 && !job->cancelled && text_waits(job)) text_work(job);
        rc = read_now(job, samples, room, count, &done);
        if (rc != MX_ERR_TIMEOUT) break;
        if (text_waits(job)) {
            text_work(job);
            if (timeout_ms != 0) continue;
            rc = read_now(job, samples, room, count, &done);
            break;
        }
        const int error = timeout_ms < 0    ? pthread_cond_wait(&job->changed, &s->lock)
                          : timeout_ms == 0 ? ETIMEDOUT
                                            : pthread_cond_timedwait(&job->changed, &s->lock, &when);
        if (error == ETIMEDOUT) {
            rc = read_now(job, samples, room, count, &done);
            break;
        }
    }
    pthread_mutex_unlock(&s->lock);
    blocks_free(done);
    return rc;
}

/* ---- ending ---- */

void mx_service_cancel(struct mx_service_job *job)
{
    pthread_mutex_lock(&job->service->lock);
    job->cancelled = true;
    job_unlist(job);
    pthread_cond_broadcast(&job->changed);
    pthread_mutex_unlock(&job->service->lock);
}

void mx_service_end(struct mx_service_job *job)
{
    if (job == NULL) return;
    struct mx_service *const s = job->service;
    if (job->script != NULL) script_close(job);
    pthread_mutex_lock(&s->lock);
    job_unlist(job);
    mx_service_job_drop(job);
    pthread_mutex_unlock(&s->lock);
}

/* ---- facts ---- */

int mx_service_job_rate(const struct mx_service_job *job)
{
    return job->engine->facts.rate;
}

bool mx_service_job_too_long(struct mx_service_job *job)
{
    pthread_mutex_lock(&job->service->lock);
    const bool too_long = job->too_long;
    pthread_mutex_unlock(&job->service->lock);
    return too_long;
}

size_t mx_service_job_tokens(struct mx_service_job *job)
{
    return job->tokens + (job->script != NULL ? mx_speak_script_counts(job->script).tokens : 0);
}

const char *mx_service_job_warning(struct mx_service_job *job)
{
    char name[MX_SYMBOL_NAME_BYTES];
    struct mx_unknown_count unknown = job->unknown;
    if (job->script != NULL) {
        const struct mx_unknown_count more = mx_speak_script_counts(job->script).unknown;
        if (unknown.count == 0) unknown.first = more.first;
        unknown.count += more.count;
    }
    mx_string_release(&job->warning);
    if (unknown.count > 0)
        (void)mx_string_append(&job->warning, "left out %zu symbol%s that the voice never learned, the first is %s%s",
                               unknown.count, unknown.count == 1 ? "" : "s", mx_symbol_name(unknown.first, name),
                               job->tags.length > 0 ? "; " : "");
    if (job->tags.length > 0) (void)mx_string_append(&job->warning, "%s", job->tags.data);
    return job->warning.data != NULL ? job->warning.data : "";
}

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The thread of the service: chooses pieces of several jobs, runs the network for all of them at once, then makes the
 * sound of one after the other.
 *
 * Turns: jobs whose reader would soon have nothing to read come first, among them those that have waited longest. A job
 * has one piece in a batch; a second one only where there is room left and the job is sounding already. A job with
 * enough sound ahead has no turn until its reader has caught up. So nobody starves, and a client that does not read
 * costs its own sound alone.
 *
 * Company: if the batch is not full while another job's piece is being prepared, the thread waits for it, at most
 * company_ms from the moment when the oldest piece was ready. A lone piece does not wait.
 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "serve/service_internal.h"

#define NS_PER_S     UINT64_C(1000000000)
#define SOON_S       0.5 /* seconds of sound: a reader with less will soon have nothing to read */
#define FIRST_FRAMES 48  /* of the first part of a piece: about half a second, so that it leaves early … */
#define OTHER_FRAMES 512 /* … and of the others */
#define WARM_TOKENS  100
#define WARM_SYMBOL  MX_TOKEN_FIRST

/* A piece of a job in the engine. */
struct work {
    struct mx_service_job *job;
    struct mx_service_item item;
};

struct batch {
    struct mx_service_engine *engine;
    struct work works[MX_SERVICE_BATCH_LIMIT];
    int count;
};

/* ---- choosing; with the lock held ---- */

static bool job_soon(const struct mx_service_job *job)
{
    return (double)job->ahead < SOON_S * job->engine->facts.rate;
}

static bool job_hungry(const struct mx_service_job *job)
{
    return job->error.code == 0 && (double)job->ahead < MX_SERVICE_AHEAD_S * job->engine->facts.rate;
}

/* Does a come before b? */
static bool job_before(const struct mx_service_job *a, const struct mx_service_job *b)
{
    const bool soon_a = job_soon(a), soon_b = job_soon(b);
    return soon_a != soon_b ? soon_a : a->turn < b->turn;
}

/* The job whose turn it is, among those with an item: of any engine, or of the given one. */
static struct mx_service_job *job_choose(const struct mx_service *s, const struct mx_service_engine *engine,
                                         bool second)
{
    struct mx_service_job *best = NULL;
    for (struct mx_service_job *job = s->jobs; job != NULL; job = job->next) {
        if (job->item_count == 0 || !job_hungry(job)) continue;
        if (engine != NULL && job->engine != engine) continue;
        if (second ? !job->sounding : job->busy > 0) continue;
        if (best == NULL || job_before(job, best)) best = job;
    }
    return best;
}

/* Moves the next item of the job into the batch. */
static void batch_take(struct batch *b, struct mx_service_job *job)
{
    struct mx_service *const s = job->service;
    b->works[b->count++] = (struct work){.job = job, .item = job->items[0]};
    job->item_count--;
    memmove(job->items, job->items + 1, (size_t)job->item_count * sizeof job->items[0]);
    job->busy++;
    job->holders++;
    job->turn = ++s->turns;
    pthread_cond_broadcast(&job->changed); /* there is room for another item */
}

/* Until when it is worth waiting for company: 0, not at all. */
static uint64_t company_until(const struct mx_service *s, const struct mx_service_engine *engine)
{
    uint64_t oldest = UINT64_MAX;
    int ready = 0, coming = 0;
    if (s->options.company_ms <= 0 || s->options.batch_max < 2) return 0;
    for (const struct mx_service_job *job = s->jobs; job != NULL; job = job->next) {
        if (job->engine != engine || !job_hungry(job)) continue;
        if (job->item_count > 0 && job->items[0].ready_ns < oldest) oldest = job->items[0].ready_ns;
        ready += job->item_count > 0;
        coming += job->item_count == 0 && job->making;
    }
    if (ready >= s->options.batch_max || coming == 0) return 0;
    return oldest + (uint64_t)(s->options.company_ms * 1e6);
}

/* Waits for work; false when the service is closed. */
static bool batch_choose(struct mx_service *s, struct batch *b)
{
    b->count = 0;
    for (;;) {
        if (s->closing) return false;
        struct mx_service_job *job = s->stopped ? NULL : job_choose(s, NULL, false);
        if (job == NULL) {
            pthread_cond_wait(&s->work, &s->lock);
            continue;
        }
        b->engine = job->engine;
        const uint64_t until = company_until(s, b->engine);
        if (until > mx_clock_ns()) {
            const struct timespec when = {.tv_sec = (time_t)(until / NS_PER_S), .tv_nsec = (long)(until % NS_PER_S)};
            (void)pthread_cond_timedwait(&s->work, &s->lock, &when);
            continue;
        }
        for (; job != NULL && b->count < s->options.batch_max; job = job_choose(s, b->engine, false))
            batch_take(b, job);
        while (b->count < s->options.batch_max && (job = job_choose(s, b->engine, true)) != NULL) batch_take(b, job);
        return true;
    }
}

/* ---- working; without the lock ---- */

/* The engine is done with a piece. */
static void work_done(struct work *w)
{
    struct mx_service *const s = w->job->service;
    mx_free(w->item.tokens);
    pthread_mutex_lock(&s->lock);
    w->job->busy--;
    pthread_cond_broadcast(&w->job->changed);
    mx_service_job_drop(w->job);
    pthread_mutex_unlock(&s->lock);
}

static void work_fail(struct work *w)
{
    struct mx_service *const s = w->job->service;
    pthread_mutex_lock(&s->lock);
    mx_service_job_fail(w->job);
    pthread_mutex_unlock(&s->lock);
}

static void first_sound_count(struct mx_service_job *job)
{
    struct mx_service_counts *const counts = &job->service->counts;
    const double seconds = (double)(mx_clock_ns() - job->text_ns) * 1e-9;
    size_t class = 0;
    while (class < MX_SERVICE_FIRST_CLASSES && seconds > mx_service_first_limits[class]) class ++;
    counts->first_sound[class]++;
    counts->first_sound_seconds += seconds;
    job->sounding = true;
}

/* Is it still worth working for the job? */
static bool job_alive(struct mx_service_job *job)
{
    pthread_mutex_lock(&job->service->lock);
    const bool alive = job->listed && job->error.code == 0 && !job->service->stopped;
    pthread_mutex_unlock(&job->service->lock);
    return alive;
}

/* Appends an empty block to the sound of the job. It belongs to the job then, and stays while the job has a holder and
 * it is not filled. */
static struct mx_service_block *block_append(struct mx_service_job *job, size_t count)
{
    struct mx_service_block *const block = mx_alloc(1, sizeof *block + count * sizeof block->samples[0]);
    if (block == NULL) return NULL;
    block->count = count;
    pthread_mutex_lock(&job->service->lock);
    if (job->last != NULL)
        job->last->next = block;
    else
        job->first = block;
    job->last = block;
    pthread_mutex_unlock(&job->service->lock);
    return block;
}

/* Lets the reader have the samples of the block up to `filled`. */
static void block_publish(struct mx_service_job *job, struct mx_service_block *block, size_t filled)
{
    struct mx_service *const s = job->service;
    pthread_mutex_lock(&s->lock);
    job->ahead += filled - block->filled;
    s->counts.sound_seconds += (double)(filled - block->filled) / job->engine->facts.rate;
    block->filled = filled;
    if (!job->sounding) first_sound_count(job);
    pthread_cond_broadcast(&job->changed);
    pthread_mutex_unlock(&s->lock);
}

/* The sound of piece `number` of the engine. A piece whose client is gone stays unfinished. */
static int work_sound(struct work *w, struct mx_speak *speak, int32_t number)
{
    const struct mx_service_item *const item = &w->item;
    const size_t end = item->before + (size_t)mx_speak_samples(speak, number);
    const float volume = (float)item->volume;
    size_t at = item->before;
    int rc = 0;
    if (!job_alive(w->job)) return 0;
    struct mx_service_block *const block = block_append(w->job, end + item->after);
    if (block == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    MX_TRY(mx_speak_sound_begin(speak, number));
    for (int64_t frames = FIRST_FRAMES;; frames = OTHER_FRAMES) {
        const float *audio;
        int64_t count;
        MX_TRY(mx_speak_sound_next(speak, frames, &audio, &count));
        if (count == 0) break;
        if ((size_t)count > end - at) MX_RAISE(MX_ERR_INTERNAL, NULL, "a piece has more samples than its network said");
        for (int64_t i = 0; i < count; i++) block->samples[at + (size_t)i] = volume * audio[i];
        at += (size_t)count;
        if (at < end) block_publish(w->job, block, at);
        if (!job_alive(w->job)) return 0;
    }
    if (at != end) MX_RAISE(MX_ERR_INTERNAL, NULL, "a piece has fewer samples than its network said");
    block_publish(w->job, block, block->count);
out:
    return rc;
}

/* Runs the network for works from `at` on, as many as fit, and makes their sound; returns how many are done. One that fails with others is
 * tried alone, so that an error hits the job that caused it. */
static int batch_part(struct mx_service *s, struct batch *b, int at)
{
    struct mx_speak_piece pieces[MX_SERVICE_BATCH_LIMIT];
    struct mx_speak *const speak = b->engine->speak;
    int32_t count = b->count - at;
    for (int32_t i = 0; i < count; i++) {
        const struct work *const w = &b->works[at + i];
        pieces[i] = (struct mx_speak_piece){.tokens = w->item.tokens,
                                            .count = w->item.count,
                                            .language = w->item.language,
                                            .speed = w->item.speed,
                                            .pitch_semitones = w->item.pitch_semitones,
                                            .voice = w->item.vector,
                                            .seed = w->job->seed};
    }
    int rc = mx_speak_pieces(speak, pieces, &count);
    if (rc < 0 && b->count - at > 1) {
        count = 1;
        rc = mx_speak_pieces(speak, pieces, &count);
    }
    if (rc < 0) {
        work_fail(&b->works[at]);
        work_done(&b->works[at]);
        return 1;
    }
    pthread_mutex_lock(&s->lock);
    s->counts.batches++;
    s->counts.pieces += (uint64_t)count;
    pthread_mutex_unlock(&s->lock);
    for (int32_t i = 0; i < count; i++) {
        struct work *const w = &b->works[at + i];
        if (work_sound(w, speak, i) < 0) work_fail(w);
        work_done(w); /* at once: its reader may be waiting for the end */
    }
    return count;
}

void *mx_service_engine_run(void *context)
{
    struct mx_service *const s = context;
    struct batch batch;
    for (;;) {
        pthread_mutex_lock(&s->lock);
        const bool more = batch_choose(s, &batch);
        pthread_mutex_unlock(&s->lock);
        if (!more) return NULL;
        const uint64_t start = mx_clock_ns();
        for (int at = 0; at < batch.count;) at += batch_part(s, &batch, at);
        pthread_mutex_lock(&s->lock);
        s->counts.work_seconds += (double)(mx_clock_ns() - start) * 1e-9;
        pthread_mutex_unlock(&s->lock);
    }
}

int mx_service_engine_warm(struct mx_service *s)
{
    int32_t tokens[WARM_TOKENS];
    struct mx_speak_piece pieces[MX_SERVICE_BATCH_LIMIT];
    const float *audio;
    int rc = 0;
    for (int i = 0; i < WARM_TOKENS; i++) tokens[i] = WARM_SYMBOL;
    tokens[0] = MX_TOKEN_BOS;
    tokens[WARM_TOKENS - 1] = MX_TOKEN_EOS;
    for (size_t v = 0; v < s->options.voice_count; v++) {
        struct mx_service_engine *const e = &s->engines[v];
        int32_t count = s->options.batch_max;
        int64_t samples;
        for (int32_t i = 0; i < count; i++)
            pieces[i] = (struct mx_speak_piece){.tokens = tokens, .count = WARM_TOKENS, .speed = 1};
        MX_TRY(mx_speak_pieces(e->speak, pieces, &count));
        MX_TRY(mx_speak_sound_begin(e->speak, 0));
        for (int64_t frames = FIRST_FRAMES;; frames = OTHER_FRAMES) {
            MX_TRY(mx_speak_sound_next(e->speak, frames, &audio, &samples));
            if (samples == 0) break;
        }
    }
out:
    return rc;
}

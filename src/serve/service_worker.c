/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The workers of the service. Each chooses pieces of several jobs, runs the network for all of them at once, then makes
 * the sound of one after the other.
 *
 * Turns (service_turns.c): the first piece of a new text comes first, but seven times in a row at most while others wait.
 * Then jobs whose reader would soon have nothing to read, among them those that have waited longest. A job
 * has one piece in a batch; a second one only where there is room left and the job is sounding already. A job with
 * enough sound ahead has no turn until its reader has caught up. So no client starves, and one that does not read
 * costs its own sound alone.
 *
 * Express: a batch of long sentences takes a second or more. So one more worker, which shares the weights and the cores
 * of the first one, speaks first pieces of new texts, one at a time, while all others are busy.
 *
 * Sharing: what waits is divided among the workers that have nothing to do.
 *
 * Batching: if the batch is not full while another job's piece is being prepared, a worker waits for it, at most
 * company_ms from the moment when the oldest piece was ready. A lone piece does not wait.
 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "serve/service_internal.h"

#define FIRST_FRAMES 48   /* of the first part of a first piece: half a second, so that it is sent early */
#define OTHER_FRAMES 1024 /* of all other parts: larger parts need less time in total */
#define WARM_TOKENS  100

/* A piece of a job that a worker has. */
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

/* Moves the next item of the job into the batch. Its sound follows that of the earlier items. */
static void batch_add(struct batch *b, struct mx_service_job *job)
{
    const struct mx_service_item item = job->items[0];
    b->works[b->count++] = (struct work){.job = job, .item = item};
    job->item_count--;
    memmove(job->items, job->items + 1, (size_t)job->item_count * sizeof job->items[0]);
    if (job->last != NULL)
        job->last->next = item.block;
    else
        job->first = item.block;
    job->last = item.block;
    job->busy++;
    job->holders++;
    mx_service_turn_end(job);
    pthread_cond_broadcast(&job->changed); /* there is room for another item */
}

/* The state of an engine's jobs. */
struct standing {
    int ready, coming;  /* with an item; with one that is being prepared */
    uint64_t oldest_ns; /* when the first of the ready ones was */
};

static struct standing standing_of(const struct mx_service *s, const struct mx_service_engine *engine)
{
    struct standing standing = {.oldest_ns = UINT64_MAX};
    for (const struct mx_service_job *job = s->jobs; job != NULL; job = job->next) {
        if (job->engine != engine) continue;
        standing.coming += job->item_count == 0 && job->making;
        if (!mx_service_job_ready(job)) continue;
        standing.ready++;
        if (job->items[0].ready_ns < standing.oldest_ns) standing.oldest_ns = job->items[0].ready_ns;
    }
    return standing;
}

/* Waits on `work`, until a time or forever (0). */
static void work_wait(struct mx_service *s, uint64_t until_ns)
{
    const struct timespec when = mx_clock_timespec(until_ns);
    s->resting++;
    if (until_ns == 0)
        (void)pthread_cond_wait(&s->work, &s->lock);
    else
        (void)pthread_cond_timedwait(&s->work, &s->lock, &when);
    s->resting--;
}

/* Fills the batch, which begins with this job. After the first piece of a new text come only such pieces: its sound must
 * not wait for long sentences of others. Where others had their turn first, new texts take the room that is left. */
static void batch_fill(struct mx_service *s, struct batch *b, struct mx_service_job *job, int most)
{
    const bool begun = job->begun;
    const enum mx_service_asked asked = begun ? MX_SERVICE_RESTING : MX_SERVICE_NEW;
    for (; job != NULL && b->count < most; job = mx_service_turn(s, b->engine, asked)) batch_add(b, job);
    if (begun)
        while (b->count < most && (job = mx_service_turn(s, b->engine, MX_SERVICE_SOUNDING)) != NULL) batch_add(b, job);
    if (mx_service_new_count(s) > 0) pthread_cond_broadcast(&s->work); /* the express worker may take it */
}

/* Waits for work; false when the service is closed. */
static bool batch_choose(struct mx_service *s, struct batch *b)
{
    b->count = 0;
    while (!s->closing) {
        struct mx_service_job *job = mx_service_turn(s, NULL, MX_SERVICE_RESTING);
        if (job == NULL) job = mx_service_turn(s, NULL, MX_SERVICE_SOUNDING);
        if (job == NULL || s->stopped) {
            work_wait(s, 0);
            continue;
        }
        b->engine = job->engine;
        const struct standing standing = standing_of(s, b->engine);
        const int workers = s->resting + 1, share = (standing.ready + workers - 1) / workers;
        const int most = share < s->options.batch_max ? share : s->options.batch_max;
        const uint64_t until = standing.oldest_ns + (uint64_t)(s->options.company_ms * 1e6);
        if (standing.coming > 0 && standing.ready < s->options.batch_max && until > mx_clock_ns()) {
            s->courting++;
            work_wait(s, until);
            s->courting--;
            continue;
        }
        batch_fill(s, b, job, most);
        return true;
    }
    return false;
}

/* The same for the express worker. It leaves the work to others as long as one rests; and where more new texts wait than
 * fit into a batch, the others speak them sooner, because together they cost less. */
static bool express_choose(struct mx_service *s, struct batch *b)
{
    b->count = 0;
    while (!s->closing) {
        const int waiting = s->resting > 0 || s->stopped ? 0 : mx_service_new_count(s);
        if (waiting > 0 && waiting <= s->options.batch_max) {
            struct mx_service_job *const job = mx_service_turn(s, NULL, MX_SERVICE_NEW);
            b->engine = job->engine;
            batch_add(b, job);
            return true;
        }
        (void)pthread_cond_wait(&s->work, &s->lock);
    }
    return false;
}

/* ---- working; without the lock ---- */

/* A worker is done with a piece. */
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

/* Allocates the block of a piece; the reader then knows where it ends. */
static int block_create(struct work *w, size_t count)
{
    float *const samples = mx_alloc(count, sizeof *samples);
    if (samples == NULL) return MX_ERR_NO_MEMORY;
    pthread_mutex_lock(&w->job->service->lock);
    w->item.block->samples = samples;
    w->item.block->count = count;
    pthread_mutex_unlock(&w->job->service->lock);
    return 0;
}

/* Publishes the samples of the block up to `filled` to the reader. */
static void block_publish(struct mx_service_job *job, struct mx_service_block *block, size_t filled)
{
    struct mx_service *const s = job->service;
    pthread_mutex_lock(&s->lock);
    job->ahead += filled - block->filled;
    s->counts.sound_seconds += (double)(filled - block->filled) / job->engine->facts.rate;
    block->filled = filled;
    if (!job->sounding) {
        first_sound_count(job);
        pthread_cond_broadcast(&s->work); /* its next piece may be spoken now */
    }
    pthread_cond_broadcast(&job->changed);
    pthread_mutex_unlock(&s->lock);
}

/* The sound of piece `number` of the engine; `early`: its beginning as soon as possible. A piece whose client is gone
 * stays unfinished. */
static int work_sound(struct work *w, struct mx_speak *speak, int32_t number, bool early)
{
    struct mx_service_block *const block = w->item.block;
    const size_t end = (size_t)mx_speak_samples(speak, number);
    size_t at = 0, count;
    int rc = 0;
    if (!job_alive(w->job)) return 0;
    MX_TRY(block_create(w, end));
    MX_TRY(mx_speak_sound_begin(speak, number));
    for (int64_t frames = early ? FIRST_FRAMES : OTHER_FRAMES; at < end && job_alive(w->job); frames = OTHER_FRAMES) {
        MX_TRY(mx_speak_sound_next(speak, frames, block->samples + at, end - at, &count));
        at += count;
        block_publish(w->job, block, at);
    }
out:
    return rc;
}

/* Runs the network for works from `at` on, as many as fit, and makes their sound; returns how many are done. One that
 * fails with others is tried alone, so that an error hits the job that caused it. */
static int batch_part(struct mx_service_worker *worker, struct batch *b, int at)
{
    struct mx_speak_piece pieces[MX_SERVICE_BATCH_LIMIT];
    struct mx_service *const s = worker->service;
    struct mx_speak *const speak = b->engine->instances[worker->number].speak;
    int32_t count = b->count - at;
    for (int32_t i = 0; i < count; i++) pieces[i] = b->works[at + i].item.piece;
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
        /* Where several wait, the time of all counts more than a few milliseconds of each. */
        if (work_sound(w, speak, i, count < 3) < 0) work_fail(w);
        work_done(w); /* at once: its reader may be waiting for the end */
    }
    return count;
}

void *mx_service_worker_run(void *context)
{
    struct mx_service_worker *const worker = context;
    struct mx_service *const s = worker->service;
    struct batch batch;
    for (;;) {
        pthread_mutex_lock(&s->lock);
        const bool more = worker->express ? express_choose(s, &batch) : batch_choose(s, &batch);
        pthread_mutex_unlock(&s->lock);
        if (!more) return NULL;
        const uint64_t start = mx_clock_ns();
        for (int at = 0; at < batch.count;) at += batch_part(worker, &batch, at);
        pthread_mutex_lock(&s->lock);
        s->counts.work_seconds += (double)(mx_clock_ns() - start) * 1e-9;
        pthread_mutex_unlock(&s->lock);
    }
}

int mx_service_worker_warm(struct mx_service_worker *worker)
{
    struct mx_service *const s = worker->service;
    int rc = 0;
    for (size_t v = 0; rc == 0 && v < s->options.voice_count; v++)
        rc = mx_speak_warm(s->engines[v].instances[worker->number].speak, worker->express ? 1 : s->options.batch_max,
                           WARM_TOKENS);
    return rc;
}

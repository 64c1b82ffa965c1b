/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Loader threads, see loader.h.
 *
 * A slot belongs to a worker from the moment its number is drawn until it is ready, then to the taker until it is given
 * back. Numbers: given ≤ taken ≤ ready ones in order; drawn < given + depth.
 */
#include "train/loader.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/pool.h"

struct place {
    struct mx_slot *slot;
    uint32_t *utterances; /* [sequences]: the batch, copied from the sampler */
    bool ready;
    struct mx_error error; /* code 0: the slot is filled */
};

struct worker {
    struct mx_loader *loader;
    struct mx_dataset_reader *reader;
    pthread_t thread;
    bool started;
};

struct mx_loader {
    struct mx_loader_options options;
    struct place *places;   /* [depth] */
    struct worker *workers; /* [options.workers] */
    /* lock protects everything below, the sampler, and `ready` of all places. A leaf: while it is held, nothing else is
     * locked and nothing waits but on the two conditions. `room`: a place was given back, or the end has come;
     * `filled`: a place became ready. */
    pthread_mutex_t lock;
    pthread_cond_t room, filled;
    uint64_t drawn, taken, given;
    uint32_t epoch, step; /* of number `drawn` */
    bool ending;
};

/* ---- workers ---- */

/* The batch of the next number into its place; the lock is held. */
static struct place *number_draw(struct mx_loader *loader, uint32_t *epoch, uint32_t *step, uint32_t *count)
{
    struct mx_sampler *const sampler = loader->options.sampler;
    struct place *const place = &loader->places[loader->drawn % (uint64_t)loader->options.depth];
    if (mx_sampler_epoch(sampler) != loader->epoch) mx_sampler_select(sampler, loader->epoch);
    if (loader->step >= mx_sampler_steps(sampler)) {
        mx_sampler_select(sampler, ++loader->epoch);
        loader->step = 0;
    }
    const struct mx_sampler_batch batch = mx_sampler_get(sampler, loader->step);
    memcpy(place->utterances, batch.items, batch.count * sizeof *place->utterances);
    *epoch = loader->epoch;
    *step = loader->step++;
    *count = batch.count;
    loader->drawn++;
    return place;
}

static void *worker_run(void *context)
{
    struct worker *const worker = context;
    struct mx_loader *const loader = worker->loader;
    pthread_mutex_lock(&loader->lock);
    for (;;) {
        uint32_t epoch, step, count;
        while (!loader->ending && loader->drawn >= loader->given + (uint64_t)loader->options.depth)
            pthread_cond_wait(&loader->room, &loader->lock);
        if (loader->ending) break;
        struct place *const place = number_draw(loader, &epoch, &step, &count);
        pthread_mutex_unlock(&loader->lock);
        place->error.code = 0;
        if (mx_slot_fill(place->slot, worker->reader, epoch, step, place->utterances, count) < 0)
            place->error = *mx_error_last();
        pthread_mutex_lock(&loader->lock);
        place->ready = true;
        pthread_cond_broadcast(&loader->filled);
    }
    pthread_mutex_unlock(&loader->lock);
    return NULL;
}

/* ---- life ---- */

static int places_take(struct mx_loader *loader)
{
    int rc = 0;
    const struct mx_loader_options *const o = &loader->options;
    loader->places = mx_alloc((size_t)o->depth, sizeof *loader->places);
    if (loader->places == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    for (int32_t i = 0; i < o->depth; i++) {
        struct place *const place = &loader->places[i];
        place->utterances = mx_alloc((size_t)o->capacity.model.sequences, sizeof *place->utterances);
        if (place->utterances == NULL) MX_TRY(MX_ERR_NO_MEMORY);
        MX_TRY(mx_slot_create(o->assembly, o->device, &o->capacity, &place->slot));
    }
out:
    return rc;
}

static int workers_start(struct mx_loader *loader)
{
    int rc = 0;
    loader->workers = mx_alloc((size_t)loader->options.workers, sizeof *loader->workers);
    if (loader->workers == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    for (int32_t i = 0; i < loader->options.workers; i++) {
        struct worker *const worker = &loader->workers[i];
        char name[16];
        worker->loader = loader;
        MX_TRY(mx_dataset_reader_create(mx_assembly_dataset(loader->options.assembly), &worker->reader));
        snprintf(name, sizeof name, "load/%d", (int)i);
        MX_TRY(mx_thread_start(&worker->thread, name, -1, worker_run, worker));
        worker->started = true;
    }
out:
    return rc;
}

int mx_loader_create(const struct mx_loader_options *options, struct mx_loader **out)
{
    int rc = 0;
    struct mx_loader *loader = mx_alloc(1, sizeof *loader);
    *out = NULL;
    if (loader == NULL) return MX_ERR_NO_MEMORY;
    loader->options = *options;
    loader->epoch = options->epoch;
    loader->step = options->step;
    pthread_mutex_init(&loader->lock, NULL);
    pthread_cond_init(&loader->room, NULL);
    pthread_cond_init(&loader->filled, NULL);
    if (options->workers < 1 || options->depth < 1)
        MX_RAISE(MX_ERR_ARGUMENT, "there must be at least one of each", "a loader of %d workers and %d slots",
                 (int)options->workers, (int)options->depth);
    MX_TRY(places_take(loader));
    MX_TRY(workers_start(loader));
    *out = loader;
    loader = NULL;
out:
    mx_loader_destroy(loader);
    return rc;
}

void mx_loader_destroy(struct mx_loader *loader)
{
    if (loader == NULL) return;
    pthread_mutex_lock(&loader->lock);
    loader->ending = true;
    pthread_cond_broadcast(&loader->room);
    pthread_mutex_unlock(&loader->lock);
    for (int32_t i = 0; loader->workers != NULL && i < loader->options.workers; i++) {
        if (loader->workers[i].started) pthread_join(loader->workers[i].thread, NULL);
        mx_dataset_reader_destroy(loader->workers[i].reader);
    }
    for (int32_t i = 0; loader->places != NULL && i < loader->options.depth; i++) {
        mx_slot_destroy(loader->places[i].slot);
        mx_free(loader->places[i].utterances);
    }
    mx_free(loader->workers);
    mx_free(loader->places);
    pthread_cond_destroy(&loader->filled);
    pthread_cond_destroy(&loader->room);
    pthread_mutex_destroy(&loader->lock);
    mx_free(loader);
}

/* ---- taking ---- */

int mx_loader_take(struct mx_loader *loader, struct mx_slot **slot, uint64_t *waited_ns)
{
    int rc = 0;
    const uint64_t begin = mx_clock_ns();
    pthread_mutex_lock(&loader->lock);
    struct place *const place = &loader->places[loader->taken % (uint64_t)loader->options.depth];
    if (loader->taken >= loader->given + (uint64_t)loader->options.depth)
        rc = MX_FAIL(MX_ERR_ARGUMENT, "give some back first", "all %d batches of the loader are held",
                     (int)loader->options.depth);
    while (rc == 0 && !place->ready) pthread_cond_wait(&loader->filled, &loader->lock);
    if (rc == 0) {
        loader->taken++;
        place->ready = false;
    }
    pthread_mutex_unlock(&loader->lock);
    *waited_ns += mx_clock_ns() - begin;
    if (rc == 0 && place->error.code != 0) rc = mx_error_restore(&place->error);
    *slot = rc == 0 ? place->slot : NULL;
    return rc;
}

void mx_loader_give(struct mx_loader *loader)
{
    pthread_mutex_lock(&loader->lock);
    if (loader->given < loader->taken) loader->given++;
    pthread_cond_broadcast(&loader->room);
    pthread_mutex_unlock(&loader->lock);
}

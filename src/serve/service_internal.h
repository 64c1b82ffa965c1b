/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Private to src/serve/service*.c: the inside of the service and of a job.
 *
 * Three kinds of threads meet here. Readers (mx_service_read) take text from their job, turn it into items and take
 * sound. Others may add text to a job. Workers (service_worker.c) take items of all jobs, run the networks and give
 * sound; each has engines of its own.
 *
 * Memory: the service owns voices and engines. A job owns its text, items and sound. It is freed by the one who drops the
 * last of its `holders`: the client, or a worker if one was still working for the job.
 */
#ifndef MX_SERVE_SERVICE_INTERNAL_H
#define MX_SERVE_SERVICE_INTERNAL_H

#include <pthread.h>

#include "base/string.h"
#include "myxtts/error.h"
#include "serve/service.h"
#include "serve/service_sentence.h"
#include "speech/script.h"
#include "speech/voice_internal.h"

#define MX_SERVICE_ITEMS     2     /* of a job, waiting for the network */
#define MX_SERVICE_AHEAD_S   4.0   /* seconds of unread sound: with more a job gets no further turn */
#define MX_SERVICE_READ_MOST 16384 /* samples that one read copies, since it copies under the lock */

/* The sound of a piece with the silence around it. Guarded by the lock of the service, except for the samples: those
 * before `filled` never change again, and the later ones are written by one worker alone. */
struct mx_service_block {
    struct mx_service_block *next;
    float *samples; /* [count]; NULL until the network has said how long the piece is */
    size_t count, filled;
};

/* A piece of text, ready for the network. */
struct mx_service_item {
    struct mx_service_block *block; /* for its sound; owned until a worker takes the item */
    int32_t *tokens;                /* of the piece; owned */
    struct mx_speak_piece piece;    /* its vector belongs to the voice */
    uint64_t ready_ns;              /* since when it waits */
};

/* A voice on the device of a worker. */
struct mx_service_instance {
    struct mx_voice *voice;
    struct mx_speak *speak; /* used by that worker alone */
};

/* An opened voice. The first of its instances has the vocabulary and the vectors of speakers for all. */
struct mx_service_engine {
    struct mx_service_voice facts;
    struct mx_service_instance instances[MX_SERVICE_WORKERS_MAX + 1]; /* the one after the last: express */
    char *id;
    const char **languages, **speakers, **speaker_languages;
};

struct mx_service_worker {
    struct mx_service *service;
    int number;
    bool express; /* first pieces of new texts, while the others are busy */
    pthread_t thread;
};

/* Invariants under `lock`:
 *   - `jobs` lists the jobs that have neither ended nor been cancelled; counts.active ≤ queue_max of them are placed;
 *   - the guarded members of every job (below) and of every block change only with the lock held;
 *   - draining, stopped and closing never go back to false.
 *   - `resting` is the number of workers, without the express one, that wait on `work`; `courting` of them only until
 *     an item that is being made is there, or will not be.
 * New work (an item, room for sound, the end) broadcasts `work`; removing the last job broadcasts
 * `idle`; a change of what a reader waits for broadcasts `changed` of its job.
 * Nothing that takes long happens under it: the longest is the copy of MX_SERVICE_READ_MOST samples. */
struct mx_service {
    struct mx_service_options options;
    struct mx_service_engine *engines; /* constant after opening */
    pthread_mutex_t lock;
    pthread_cond_t work, idle;
    int made;                                                     /* how many of lock, work, idle exist */
    struct mx_service_worker workers[MX_SERVICE_WORKERS_MAX + 1]; /* the last one is the express worker */
    int worker_count, running;                                    /* wanted, and started; without and with that one */
    int resting, courting;
    struct mx_service_job *jobs;
    uint64_t turns; /* given so far */
    int new_in_row; /* first pieces taken since the last other one */
    bool draining, stopped, closing;
    struct mx_service_counts counts;
};

struct mx_service_job {
    struct mx_service *service;
    struct mx_service_engine *engine;
    struct mx_speak_script_options how; /* of its scripts */
    bool streaming;
    const float *vector; /* of its speaker */
    bool suited;         /* speaker and language are chosen; otherwise the first text brings them */
    uint64_t seed;
    pthread_cond_t changed;

    /* guarded by the lock of the service */
    struct mx_service_job *previous, *next; /* in `jobs` */
    bool listed, placed;                    /* placed: it counts as one of queue_max */
    int holders;                            /* the client; and one for each of its pieces that is in the engine */
    char *text;                             /* [length]; added, and not yet fetched by the reader */
    size_t length, text_room;               /* bytes in `text`; its capacity */
    size_t added;                           /* total bytes of text added so far */
    bool finished;                          /* no text will be added */
    bool making;                            /* the reader makes an item, or will soon: it is worth waiting for */
    bool text_over;                         /* no items will come */
    struct mx_service_item items[MX_SERVICE_ITEMS]; /* the first is the next */
    int item_count, busy;                           /* waiting; with workers */
    struct mx_service_block *first, *last;          /* sound */
    size_t at, ahead;                               /* samples of `first` that were read; samples made and not read */
    uint64_t heard;                                 /* samples that were read in all */
    uint64_t turn;                                  /* of the service, when it had its last one or began */
    bool begun;                                     /* a worker has taken a piece of it */
    uint64_t text_ns;                               /* when the first text came */
    bool sounding;                                  /* some sound was made */
    bool delivered;                                 /* some was read */
    bool over;                                      /* read to the end */
    bool cancelled;
    bool too_long;         /* its sound reached the limit of the service */
    struct mx_error error; /* code 0: none */

    /* of the thread that reads; before that, of the one that calls mx_service_finish */
    struct mx_speak_script *script;
    char *spare; /* an empty buffer, in exchange for the text that came */
    size_t spare_room;
    char *fetched; /* [fetched_length]: text that streams in; the bytes before `taken` are in scripts */
    size_t fetched_length, fetched_room, taken;
    struct mx_service_sentence search; /* the search for the end of the next sentence, after `taken` */
    bool starved, ends;                /* the search found no end yet; no more text will come */
    double gap_ms;                     /* of silence between the current script and the next */
    double script_gap_ms;              /* of silence before the next item of the current script */
    size_t scripts, items_made;        /* so far */
    size_t tokens;                     /* of closed scripts */
    struct mx_unknown_count unknown;   /* symbols that closed scripts left out */
    struct mx_string tags;             /* what was left out of SSML, in words */
    struct mx_string warning;          /* everything that was left out */
};

/* ---- service.c ---- */

int mx_service_retry_now(const struct mx_service *service); /* mx_service_retry_seconds, with the lock held */

/* ---- service_turns.c; with the lock held ---- */

/* Which jobs are considered. */
enum mx_service_asked {
    MX_SERVICE_NEW,      /* no worker has had a piece of it */
    MX_SERVICE_RESTING,  /* no worker has one now */
    MX_SERVICE_SOUNDING, /* its first sound is out: before that, its further pieces must not delay it */
};
/* The job whose turn it is: of the given engine, or of any (NULL). NULL: none. */
struct mx_service_job *mx_service_turn(const struct mx_service *s, const struct mx_service_engine *engine,
                                       enum mx_service_asked asked);
void mx_service_turn_end(struct mx_service_job *job); /* it had its turn */
/* Is an item queued, and has its reader room for the sound? */
bool mx_service_job_ready(const struct mx_service_job *job);
int mx_service_new_count(const struct mx_service *s); /* jobs that are ready, and have had no turn */

/* ---- service_worker.c ---- */

void *mx_service_worker_run(void *worker); /* its thread */
/* Speaks a little with every voice, so that the first client does not wait for memory to be touched. */
int mx_service_worker_warm(struct mx_service_worker *worker);

/* ---- service_job.c ---- */

/* With the lock held: drops a holder and frees the job with the last. */
void mx_service_job_drop(struct mx_service_job *job);
/* With the lock held: the job fails with the current error of the thread, unless it failed before. */
void mx_service_job_fail(struct mx_service_job *job);

#endif

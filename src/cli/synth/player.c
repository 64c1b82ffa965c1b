/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The loudspeaker, see player.h. Blocks of sound go round between two queues: `empty` → filled by the caller → `full` →
 * played by the thread → `empty`. The thread never blocks in ALSA for long, so that it sees when to stop.
 */
#include "cli/synth/player.h"

#include "myxtts/error.h"

#ifdef MX_HAVE_ALSA

#include <alsa/asoundlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/thread/pool.h"
#include "base/thread/queue.h"

#define BLOCK_SAMPLES 2048
#define BLOCKS        340 /* half a minute at 22,050 Hz */
#define LATENCY_US    200000
#define WAIT_MS       50
#define WAIT_NS       (WAIT_MS * UINT64_C(1000000))

struct block {
    size_t count;
    int16_t samples[BLOCK_SAMPLES];
};

/* The thread owns `pcm` while it runs; it writes `gaps` and `failure`, which others read after it has closed `empty` or
 * has been joined. */
struct mx_player {
    snd_pcm_t *pcm;
    const atomic_bool *stop; /* of the caller */
    atomic_bool closing;     /* the rest need not be played */
    struct mx_queue *empty, *full;
    struct block *blocks;
    struct block *filling; /* NULL: none */
    pthread_t thread;
    bool running;
    uint64_t gaps;
    struct mx_error failure; /* code 0: none */
};

static bool stopped(const struct mx_player *p)
{
    return atomic_load(p->stop) || atomic_load(&p->closing);
}

/* ---- the thread ---- */

/* Writes a whole block to the device, unless playing is to stop. */
static int block_play(struct mx_player *p, const struct block *block)
{
    for (size_t at = 0; at < block->count && !stopped(p);) {
        snd_pcm_sframes_t n = snd_pcm_writei(p->pcm, block->samples + at, block->count - at);
        if (n == -EAGAIN) n = snd_pcm_wait(p->pcm, WAIT_MS) < 0 ? -EPIPE : 0;
        if (n == -EPIPE) p->gaps++;
        if (n < 0) n = snd_pcm_recover(p->pcm, (int)n, 1);
        if (n < 0)
            return MX_FAIL(MX_ERR_DEVICE, "write a file instead: '--output speech.wav'", "the sound device stopped: %s",
                           snd_strerror((int)n));
        at += (size_t)n;
    }
    return 0;
}

/* What is queued in the device is played to its end. */
static void rest_play(struct mx_player *p)
{
    while (!stopped(p) && snd_pcm_drain(p->pcm) == -EAGAIN) (void)snd_pcm_wait(p->pcm, WAIT_MS / 5);
}

static void *player_run(void *context)
{
    struct mx_player *const p = context;
    void *item;
    int rc = 0;
    while (rc == 0 && mx_queue_pop(p->full, &item, MX_QUEUE_FOREVER, NULL) == 0) {
        rc = block_play(p, item);
        if (rc == 0) (void)mx_queue_push(p->empty, item, 0, NULL); /* it has room for all blocks */
    }
    if (rc == 0)
        rest_play(p);
    else
        p->failure = *mx_error_last();
    (void)snd_pcm_drop(p->pcm);
    mx_queue_close(p->empty);
    return NULL;
}

/* ---- the caller ---- */

static void quiet(const char *file, int line, const char *function, int error, const char *fmt, ...)
{
    (void)file, (void)line, (void)function, (void)error, (void)fmt; /* the result of the call says enough */
}

static int device_open(struct mx_player *p, int rate)
{
    (void)snd_lib_error_set_handler(quiet);
    int error = snd_pcm_open(&p->pcm, "default", SND_PCM_STREAM_PLAYBACK, SND_PCM_NONBLOCK);
    if (error == 0)
        error = snd_pcm_set_params(p->pcm, SND_PCM_FORMAT_S16_LE, SND_PCM_ACCESS_RW_INTERLEAVED, 1, (unsigned)rate, 1,
                                   LATENCY_US);
    if (error >= 0) return 0;
    return MX_FAIL(MX_ERR_NO_DEVICE, "write a file instead: '--output speech.wav'",
                   "cannot open the sound device 'default' of ALSA: %s", snd_strerror(error));
}

int mx_player_open(int rate, const atomic_bool *stop, struct mx_player **out)
{
    int rc = 0;
    struct mx_player *const p = mx_alloc(1, sizeof *p);
    *out = NULL;
    if (p == NULL) return MX_ERR_NO_MEMORY;
    p->stop = stop;
    MX_TRY(device_open(p, rate));
    p->blocks = mx_alloc(BLOCKS, sizeof *p->blocks);
    if (p->blocks == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    MX_TRY(mx_queue_create(BLOCKS, &p->empty));
    MX_TRY(mx_queue_create(BLOCKS, &p->full));
    for (int i = 0; i < BLOCKS; i++) MX_TRY(mx_queue_push(p->empty, &p->blocks[i], 0, NULL));
    MX_TRY(mx_thread_start(&p->thread, "player", -1, player_run, p));
    p->running = true;
    *out = p;
out:
    if (rc < 0) mx_player_close(p);
    return rc;
}

static void thread_join(struct mx_player *p)
{
    if (!p->running) return;
    mx_queue_close(p->full);
    (void)pthread_join(p->thread, NULL);
    p->running = false;
}

static int interrupted(void)
{
    return MX_FAIL(MX_ERR_INTERRUPTED, NULL, "interrupted before everything was played");
}

/* Waits for a block that can be filled. */
static int block_acquire(struct mx_player *p)
{
    int rc;
    void *item = NULL;
    do {
        if (atomic_load(p->stop)) return interrupted();
        rc = mx_queue_pop(p->empty, &item, WAIT_NS, NULL);
    } while (rc == MX_ERR_TIMEOUT);
    if (rc < 0) { /* closed by the thread, which has failed */
        thread_join(p);
        return p->failure.code < 0 ? mx_error_restore(&p->failure) : interrupted();
    }
    p->filling = item;
    p->filling->count = 0;
    return 0;
}

static int block_send(struct mx_player *p)
{
    struct block *const block = p->filling;
    p->filling = NULL;
    return mx_queue_push(p->full, block, 0, NULL); /* it has room for all blocks */
}

int mx_player_add(struct mx_player *p, const int16_t *samples, size_t count)
{
    while (count > 0) {
        int rc = p->filling == NULL ? block_acquire(p) : 0;
        if (rc < 0) return rc;
        const size_t room = BLOCK_SAMPLES - p->filling->count, n = count < room ? count : room;
        memcpy(p->filling->samples + p->filling->count, samples, n * sizeof *samples);
        p->filling->count += n;
        samples += n;
        count -= n;
        if (p->filling->count == BLOCK_SAMPLES) rc = block_send(p);
        if (rc < 0) return rc;
    }
    return 0;
}

int mx_player_finish(struct mx_player *p)
{
    int rc = p->filling != NULL ? block_send(p) : 0;
    thread_join(p);
    if (p->failure.code < 0) rc = mx_error_restore(&p->failure);
    if (rc == 0 && atomic_load(p->stop)) rc = interrupted();
    return rc;
}

uint64_t mx_player_gaps(const struct mx_player *p)
{
    return p->gaps;
}

void mx_player_close(struct mx_player *p)
{
    if (p == NULL) return;
    atomic_store(&p->closing, true);
    thread_join(p);
    if (p->pcm != NULL) (void)snd_pcm_close(p->pcm);
    (void)snd_config_update_free_global();
    (void)snd_lib_error_set_handler(NULL);
    mx_queue_destroy(p->full);
    mx_queue_destroy(p->empty);
    mx_free(p->blocks);
    mx_free(p);
}

#else

int mx_player_open(int rate, const atomic_bool *stop, struct mx_player **out)
{
    (void)rate, (void)stop;
    *out = NULL;
    return MX_FAIL(MX_ERR_UNSUPPORTED,
                   "send the sound to a player: '--output - | aplay'; or install "
                   "libasound2-dev and build again",
                   "this build has no ALSA: it cannot play sound itself");
}

/* Nobody has a player. */
int mx_player_add(struct mx_player *player, const int16_t *samples, size_t count)
{
    (void)player, (void)samples, (void)count;
    return MX_ERR_INTERNAL;
}

int mx_player_finish(struct mx_player *player)
{
    (void)player;
    return MX_ERR_INTERNAL;
}

uint64_t mx_player_gaps(const struct mx_player *player)
{
    (void)player;
    return 0;
}

void mx_player_close(struct mx_player *player)
{
    (void)player;
}

#endif

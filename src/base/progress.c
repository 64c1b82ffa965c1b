/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The progress line; see progress.h.
 *
 *     Reading [=======>        ]  42% 420/1000 files, 130 files/s, 0:04 left, note     on a terminal
 *     Reading  42% 420/1000 files, 130 files/s, 0:04 left, note                       elsewhere, through the log
 *
 * Memory: mx_progress_start takes one block, mx_progress_finish releases it; nothing else allocates.
 */
#include "base/progress.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/utf8.h"
#include "myxtts/error.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define DELAY_NS_DEFAULT (MX_NS_PER_S / 2)
#define TICK_NS          (MX_NS_PER_S / 10)
#define QUIET_NS         (30 * MX_NS_PER_S) /* longest time between two lines without a terminal */
#define STEPS            10
#define RATE_MEMORY_S    10.0 /* the time left follows the rate of about this long */
#define BAR_MAX          40
#define BAR_MIN          8
#define LINE_BYTES       512

/* `done`, `total` and `next_look_ns` are read by every mx_progress_add without the lock; they only decide which thread draws, so
 * relaxed order is enough. `draw` protects all that is below it; mx_progress_add only tries to take it (a thread that finds it
 * taken leaves the drawing to its holder) and is taken before the lock of the log, never the other way round. */
struct mx_progress {
    char title[64], unit[24];
    uint64_t start_ns, delay_ns;
    _Atomic uint64_t done, total, next_look_ns;
    _Atomic uint64_t next_step_done; /* elsewhere than on a terminal: the count that brings the next line */
    pthread_mutex_t draw;
    char note[161];
    uint64_t last_line_ns;        /* elsewhere than on a terminal: when the last line was written */
    uint64_t rate_ns, rate_done;  /* up to here the rate is known */
    double recent_done, recent_s; /* counts and their seconds, fewer the longer ago */
    uint64_t deadline_ns;         /* 0: none */
    bool paused;
};

/* The progress that owns the live line of the terminal: the first one that drew, until it finishes. Others that run
 * at the same time stay silent until their end, or until the line is free; two that draw in turns could not be read. */
static _Atomic(struct mx_progress *) live_owner;

static void put(char *line, size_t *used, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

static void put(char *line, size_t *used, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    const int length = vsnprintf(line + *used, LINE_BYTES - *used, fmt, args);
    va_end(args);
    if (length < 0) {
        line[*used] = '\0';
    } else {
        *used = *used + (size_t)length < LINE_BYTES ? *used + (size_t)length : LINE_BYTES - 1;
    }
}

static void put_duration(char *line, size_t *used, double seconds)
{
    const uint64_t whole = (uint64_t)(seconds + 0.5);
    if (seconds < 10.0) {
        put(line, used, "%.1f s", seconds);
    } else if (whole < 3600) {
        put(line, used, "%u:%02u", (unsigned)(whole / 60), (unsigned)(whole % 60));
    } else {
        put(line, used, "%llu:%02u:%02u", (unsigned long long)(whole / 3600), (unsigned)(whole / 60 % 60),
            (unsigned)(whole % 60));
    }
}

/* The share done, 0 … 1; more than the announced total counts as 1. */
static double fraction(const struct mx_progress *progress, uint64_t done)
{
    return done >= progress->total ? 1.0 : (double)done / (double)progress->total;
}

/* How far it is. `ended` shows the time taken instead of the time left. */
struct state {
    uint64_t done, now_ns;
    double rate; /* a second; less than 0: not known */
    bool ended;
};

/* Per second; less than 0: not known. With `draw` held. */
static double rate_now(const struct mx_progress *progress)
{
    return progress->recent_s > 0 ? progress->recent_done / progress->recent_s : -1.0;
}

/* By the rate and the deadline; 0: not known, or nothing is left. With `draw` held. */
static double seconds_left(const struct mx_progress *progress, const struct state *state)
{
    const uint64_t total = progress->total, deadline_ns = progress->deadline_ns;
    double left_s = 1e9;
    if (total > 0 && total <= state->done) return 0;
    if (total > 0 && state->rate > 0.0) left_s = fmin(left_s, (double)(total - state->done) / state->rate);
    if (deadline_ns > state->now_ns) left_s = fmin(left_s, (double)(deadline_ns - state->now_ns) * 1e-9);
    return (total > 0 && state->rate > 0.0) || deadline_ns > state->now_ns ? left_s : 0;
}

/* What follows the bar. With `draw` held. */
static void put_state(const struct mx_progress *progress, const struct state *state, char *line, size_t *used)
{
    const uint64_t done = state->done;
    const double rate = state->rate;
    const char *space = progress->unit[0] ? " " : "";
    if (progress->total) {
        put(line, used, "%3d%% %llu/%llu%s%s", (int)(fraction(progress, done) * 100.0), (unsigned long long)done,
            (unsigned long long)progress->total, space, progress->unit);
    } else {
        put(line, used, "%llu%s%s", (unsigned long long)done, space, progress->unit);
    }
    if (rate >= 0.0) {
        put(line, used, ", %.*f%s%s/s", rate < 10.0 ? 2 : rate < 100.0 ? 1 : 0, rate, space, progress->unit);
    }
    const double left_s = state->ended ? 0 : seconds_left(progress, state);
    if (state->ended) {
        put(line, used, ", ");
        put_duration(line, used, (double)(state->now_ns - progress->start_ns) * 1e-9);
    }
    if (left_s > 0) {
        put(line, used, ", ");
        put_duration(line, used, left_s);
        put(line, used, " left");
    }
    if (progress->note[0]) put(line, used, ", %s", progress->note);
}

/* A bar in the columns that the rest leaves over, between the title and the state. With `draw` held. */
static void draw_live(const struct mx_progress *progress, uint64_t done, uint64_t now_ns, int columns)
{
    char line[LINE_BYTES], state[LINE_BYTES];
    size_t used = 0, state_used = 0;
    put_state(progress, &(struct state){done, now_ns, rate_now(progress), false}, state, &state_used);
    put(line, &used, "%s ", progress->title);
    int room = columns - (int)(used + state_used) - 3;
    if (room > BAR_MAX) room = BAR_MAX;
    if (progress->total && room >= BAR_MIN) {
        const int full = (int)(fraction(progress, done) * room);
        put(line, &used, "[");
        for (int i = 0; i < room; i++) put(line, &used, "%c", i < full ? '=' : i == full ? '>' : ' ');
        put(line, &used, "] ");
    }
    put(line, &used, "%s", state);
    mx_log_live_draw(line);
}

static void write_line(const struct mx_progress *progress, const struct state *state)
{
    char line[LINE_BYTES];
    size_t used = 0;
    put(line, &used, "%s ", progress->title);
    put_state(progress, state, line, &used);
    mx_info("%s", line);
}

/* Follows the rate with a memory of RATE_MEMORY_S, from the first count on: what comes before it is preparation. With
 * `draw` held. */
static void update_rate(struct mx_progress *progress, uint64_t done, uint64_t now_ns)
{
    const double seconds = (double)(now_ns - progress->rate_ns) * 1e-9;
    const bool first = progress->rate_done == 0;
    if (done == 0 || progress->paused) return;
    if (!first) {
        const double keep = exp(-seconds / RATE_MEMORY_S);
        progress->recent_done = keep * progress->recent_done + (double)(done - progress->rate_done);
        progress->recent_s = keep * progress->recent_s + seconds;
    }
    progress->rate_ns = now_ns;
    progress->rate_done = done;
}

/* The least count that belongs to the step after the one `done` is in. */
static uint64_t step_after(const struct mx_progress *progress, uint64_t done)
{
    const unsigned next = (unsigned)(fraction(progress, done) * STEPS) + 1;
    return (uint64_t)ceil((double)progress->total / STEPS * next);
}

/* Whether `done` brings a line where there is no terminal. The end itself does not: finish writes it. */
static bool step_reached(struct mx_progress *progress, uint64_t done)
{
    return done < progress->total && done >= atomic_load_explicit(&progress->next_step_done, memory_order_relaxed);
}

int mx_progress_start(const struct mx_progress_options *options, struct mx_progress **out)
{
    *out = NULL;
    struct mx_progress *progress = mx_alloc(1, sizeof *progress);
    if (!progress) return MX_ERR_NO_MEMORY;
    const int error = pthread_mutex_init(&progress->draw, NULL);
    if (error) {
        mx_free(progress);
        return MX_FAIL(MX_ERR_NO_MEMORY, "close other programs", "cannot make a lock: %s", strerror(error));
    }
    snprintf(progress->title, sizeof progress->title, "%s", options->title ? options->title : "");
    snprintf(progress->unit, sizeof progress->unit, "%s", options->unit ? options->unit : "");
    mx_utf8_trim(progress->title);
    mx_utf8_trim(progress->unit);
    progress->total = options->total;
    progress->delay_ns = options->delay_ns ? options->delay_ns : DELAY_NS_DEFAULT;
    progress->start_ns = progress->rate_ns = progress->last_line_ns = mx_clock_ns();
    atomic_store_explicit(&progress->next_look_ns, progress->start_ns + progress->delay_ns, memory_order_relaxed);
    atomic_store_explicit(&progress->next_step_done, step_after(progress, 0), memory_order_relaxed);
    *out = progress;
    return 0;
}

/* With `draw` held: shows the state of now where and if it is due. */
static void refresh(struct mx_progress *progress, uint64_t now_ns)
{
    const uint64_t done = atomic_load_explicit(&progress->done, memory_order_relaxed);
    const int columns = mx_log_live_columns();
    if (progress->rate_done == 0 || (now_ns - progress->rate_ns) * 2 >= TICK_NS) /* else too short to estimate a rate */
        update_rate(progress, done, now_ns);
    if (columns > 0) {
        struct mx_progress *owner = NULL;
        if (atomic_compare_exchange_strong(&live_owner, &owner, progress) || owner == progress) {
            draw_live(progress, done, now_ns, columns);
        }
        atomic_store_explicit(&progress->next_step_done, UINT64_MAX, memory_order_relaxed); /* only ticks count here */
        return;
    }
    if (!step_reached(progress, done) && now_ns - progress->last_line_ns < QUIET_NS) return;
    write_line(progress, &(struct state){done, now_ns, rate_now(progress), false});
    progress->last_line_ns = now_ns;
    atomic_store_explicit(&progress->next_step_done, step_after(progress, done), memory_order_relaxed);
}

void mx_progress_add(struct mx_progress *progress, uint64_t amount)
{
    if (progress == NULL) return;
    const uint64_t done = atomic_fetch_add_explicit(&progress->done, amount, memory_order_relaxed) + amount;
    const uint64_t now_ns = mx_clock_ns();
    if (now_ns - progress->start_ns < progress->delay_ns) return;
    if (now_ns < atomic_load_explicit(&progress->next_look_ns, memory_order_relaxed) && !step_reached(progress, done)) {
        return;
    }
    if (pthread_mutex_trylock(&progress->draw) != 0) return;
    refresh(progress, now_ns);
    atomic_store_explicit(&progress->next_look_ns, now_ns + TICK_NS, memory_order_relaxed);
    pthread_mutex_unlock(&progress->draw);
}

void mx_progress_total(struct mx_progress *progress, uint64_t total)
{
    if (progress == NULL) return;
    pthread_mutex_lock(&progress->draw);
    progress->total = total;
    const uint64_t done = atomic_load_explicit(&progress->done, memory_order_relaxed);
    atomic_store_explicit(&progress->next_step_done, step_after(progress, done), memory_order_relaxed);
    pthread_mutex_unlock(&progress->draw);
}

void mx_progress_deadline(struct mx_progress *progress, uint64_t deadline_ns)
{
    if (progress == NULL) return;
    pthread_mutex_lock(&progress->draw);
    progress->deadline_ns = deadline_ns;
    pthread_mutex_unlock(&progress->draw);
}

void mx_progress_pause(struct mx_progress *progress, bool begins)
{
    if (progress == NULL) return;
    pthread_mutex_lock(&progress->draw);
    const uint64_t now_ns = mx_clock_ns();
    if (begins) update_rate(progress, atomic_load_explicit(&progress->done, memory_order_relaxed), now_ns);
    progress->rate_ns = now_ns;
    progress->paused = begins;
    pthread_mutex_unlock(&progress->draw);
}

void mx_progress_note(struct mx_progress *progress, const char *fmt, ...)
{
    char note[sizeof progress->note];
    va_list args;
    if (progress == NULL) return;
    va_start(args, fmt);
    const int length = vsnprintf(note, sizeof note, fmt, args);
    va_end(args);
    if (length < 0) return;
    mx_utf8_trim(note);
    pthread_mutex_lock(&progress->draw);
    memcpy(progress->note, note, sizeof note);
    pthread_mutex_unlock(&progress->draw);
}

void mx_progress_finish(struct mx_progress *progress)
{
    if (!progress) return;
    struct mx_progress *owner = progress;
    if (atomic_compare_exchange_strong(&live_owner, &owner, NULL)) mx_log_live_draw("");
    const uint64_t now_ns = mx_clock_ns();
    if (now_ns - progress->start_ns >= progress->delay_ns) {
        const uint64_t done = atomic_load_explicit(&progress->done, memory_order_relaxed);
        const double seconds = (double)(now_ns - progress->start_ns) * 1e-9;
        write_line(progress, &(struct state){done, now_ns, seconds > 0.0 ? (double)done / seconds : -1.0, true});
    }
    pthread_mutex_destroy(&progress->draw);
    mx_free(progress);
}

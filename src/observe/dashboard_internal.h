/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Shared by dashboard.c (the port, the thread, the files) and dashboard_serve.c (HTTP). No other file includes it.
 *
 * Everything but `stop` belongs to the thread of the dashboard from mx_dashboard_start until the thread is joined, and
 * to the caller before and after, so nothing is locked.
 */
#ifndef MX_OBSERVE_DASHBOARD_INTERNAL_H
#define MX_OBSERVE_DASHBOARD_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "base/net/listen.h"
#include "observe/dashboard.h"
#include "observe/dashboard_log.h"
#include "observe/follow.h"

#define MX_DASH_CONNECTIONS                                                                                            \
    (MX_DASHBOARD_CLIENTS + 56) /* the additional ones only receive an error: too many connections */

struct MHD_Connection;
struct MHD_Daemon;

/* Bytes that several clients read at their own speed: the page, or run.json as an event. */
struct mx_dash_blob {
    size_t readers; /* clients, and the dashboard itself */
    size_t bytes;
    char *data;
    bool is_run; /* run.json; otherwise a page */
};

enum mx_dash_kind {
    MX_DASH_FREE,
    MX_DASH_NEW,     /* connected; no request yet */
    MX_DASH_EVENTS,  /* gets events until it disconnects */
    MX_DASH_BLOB,    /* gets a blob */
    MX_DASH_FILE,    /* gets a file */
    MX_DASH_REFUSED, /* gets a short refusal */
};

struct mx_dash_client {
    enum mx_dash_kind kind;
    struct mx_dashboard *dashboard;
    struct MHD_Connection *connection;
    int socket;
    bool suspended, gone;
    uint64_t moved_ns;         /* when it last read something, or connected */
    size_t budget_bytes;       /* bytes it may still get before the next tick */
    uint64_t seen, run_seen;   /* EVENTS: number of the last event, version of the last run.json */
    struct mx_dash_blob *blob; /* BLOB; EVENTS: run.json being sent */
    size_t blob_at;            /* EVENTS: bytes of the blob sent so far */
    int file;                  /* FILE; -1: none */
    uint64_t file_bytes;
};

struct mx_dashboard {
    /* used by dashboard.c */
    int listener; /* -1: given to the daemon, or closed */
    int port;
    char url[128], token[MX_LISTEN_TOKEN_MAX + 1]; /* token "": none */
    enum mx_words language;
    uint64_t patience_ns;
    pthread_t thread;
    bool started;
    atomic_bool stop;
    char *run, *run_json;
    int folder; /* of the run; -1: none */
    struct mx_follow *metrics;
    struct mx_dash_log log;
    struct timespec run_time; /* of run.json */
    uint64_t run_inode;       /* of run.json, which is replaced as a whole and so is a different file each time */
    struct mx_dash_blob *run_event;
    uint64_t run_version; /* 0: none yet */
    uint64_t change;      /* grows whenever a new page would show more than the events do */
    struct mx_dash_blob *page;
    uint64_t page_change, page_thinned, page_due_ns; /* of the page, and the earliest time to make a new one */
    size_t pages;                                    /* still being read, the newest included */
    /* used by dashboard_serve.c */
    struct MHD_Daemon *daemon;
    struct mx_dash_client clients[MX_DASH_CONNECTIONS];
    size_t serving;      /* clients whose request is not completely answered yet, refusals excluded */
    size_t budget_bytes; /* bytes that all clients together may still get before the next tick */
    int requests;        /* requests that may still be answered before it */
    bool closing;
};

/* ---- dashboard.c ---- */
/* The page as it is now or was a moment ago, with one more reader; NULL: there is none yet. */
struct mx_dash_blob *mx_dash_page(struct mx_dashboard *dashboard);
void mx_dash_blob_release(struct mx_dashboard *dashboard, struct mx_dash_blob *blob); /* one reader less */

/* ---- dashboard_serve.c ---- */
/* Takes over the listener. */
int mx_dash_serve_open(struct mx_dashboard *dashboard);
/* Answers requests for `milliseconds`. False: the server is broken. */
bool mx_dash_serve_run(struct mx_dashboard *dashboard, int milliseconds);
/* Resumes clients that wait, and drops those that do not read. */
void mx_dash_serve_tick(struct mx_dashboard *dashboard);
void mx_dash_serve_close(struct mx_dashboard *dashboard);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Shared by the files of the HTTP server: http.c (connections, times, threads), http_route.c (which request means what),
 * http_answer.c (answers that are there at once) and http_stream.c (sound). No other file includes it.
 */
#ifndef MX_SERVE_HTTP_INTERNAL_H
#define MX_SERVE_HTTP_INTERNAL_H

#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/catalogue.h"
#include "base/net/httpd.h"
#include "base/net/listen.h"
#include "serve/http.h"
#include "serve/http_request.h"

struct mx_http_stream;

/* A connection. Everything is guarded by the lock of the server. */
struct mx_http_client {
    bool used;
    bool refused;            /* above a limit: refused with an error, then closed */
    bool displaced;          /* closed for a new connection; its thread has not noticed yet */
    bool busy;               /* a request has begun and is not answered completely */
    bool asked;              /* all of the request is there; otherwise the connection is idle */
    uint64_t idle_ns;        /* idle since then */
    int socket;              /* -1: unknown */
    uint64_t due_ns;         /* when the client must have done something; 0: it is the server's turn */
    struct in6_addr network; /* where it comes from: an IPv4 address, or 64 bits of an IPv6 address */
};

struct mx_http {
    struct mx_service *service;
    char token[MX_LISTEN_TOKEN_MAX + 1]; /* "": none */
    bool reachable;                      /* from other machines */
    const char *const *allow_hosts, *const *allow_origins;
    size_t allow_host_count, allow_origin_count;
    char url[128];
    int port, listener; /* listener -1: given to the daemon */
    uint64_t patience_ns;
    int connections, per_address;
    size_t body_max, whole_max;
    int64_t created; /* seconds since 1970 */
    char *pages[2];  /* by enum mx_words */
    struct MHD_Daemon *daemon;
    pthread_t watcher;
    bool watching;
    atomic_bool closing;           /* every answer ends now */
    atomic_bool told_instructions; /* the log has the line about them */

    /* Guards the clients, `counts`, `busy`, `whole` and `stop`: `busy` is how many clients are; `whole` is the sum of what
     * the streams hold for whole answers, at most whole_max. A socket is only shut down while
     * the lock is held and its client is used, so that it cannot be another file meanwhile: the daemon closes it after
     * the client was freed. `changed` is signalled when `busy` becomes smaller, and with `stop`. */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct mx_http_client *clients;
    size_t client_count, busy, whole;
    bool stop;
    struct mx_http_counts counts;
};

struct mx_http_request {
    struct mx_http *http;
    struct mx_http_client *client; /* NULL: there was no place for it */
    struct MHD_Connection *connection;
    const struct mx_http_route *route; /* NULL: `problem` */
    const char *rest;                  /* of the path, after that of the route */
    bool post;                         /* the method is POST; otherwise GET or HEAD */
    struct mx_http_problem problem;
    const char *allow; /* methods that are possible here, if that is the problem; otherwise NULL */
    char *body;
    size_t bytes, capacity, dropped;
    char *path;         /* of its own */
    const char *origin; /* of the web pages that may read the answer: "*", one of the request, or NULL: none */
    struct mx_http_stream *stream;
    bool failed; /* it was answered with an error */
};

/* ---- http.c ---- */
void mx_http_turn_server(struct mx_http_request *request); /* the client need not do anything now */
void mx_http_turn_client(struct mx_http_request *request); /* it must take what it got, within the time */
/* Has the client closed the connection, or its half of it? True also while the server closes. */
bool mx_http_client_gone(const struct mx_http_request *request);

/* ---- http_route.c ---- */
/* The first look at a request: its route, or the problem. */
void mx_http_route_find(struct mx_http_request *request, const char *path, const char *method);
/* All of it is there: answers. */
enum MHD_Result mx_http_route_run(struct mx_http_request *request);

/* ---- http_answer.c ---- */
enum MHD_Result mx_http_answer(struct mx_http_request *request, unsigned status, const char *type,
                               struct MHD_Response *response);
/* Takes over the text; NULL: there was no memory for it. */
enum MHD_Result mx_http_answer_text(struct mx_http_request *request, const char *type, char *text);
enum MHD_Result mx_http_answer_problem(struct mx_http_request *request, const struct mx_http_problem *problem);
enum MHD_Result mx_http_answer_options(struct mx_http_request *request); /* of a preflight request */
/* {"error":{…}}; the caller frees it. */
char *mx_http_problem_print(const struct mx_http_problem *problem);
int mx_http_pages_build(struct mx_http *http);
enum MHD_Result mx_http_answer_page(struct mx_http_request *request);

/* ---- http_stream.c ---- */
/* Takes over the strings of `speech`. */
enum MHD_Result mx_http_stream_answer(struct mx_http_request *request, struct mx_http_speech *speech);
/* If the connection ended early: was it the client who left, and not the speech that failed? NULL is fine for both. */
bool mx_http_stream_left(const struct mx_http_stream *stream);
void mx_http_stream_end(struct mx_http_stream *stream);

#endif

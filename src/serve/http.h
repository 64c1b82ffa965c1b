/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The HTTP server of a service:
 *
 *     GET  /                    a page to type, choose a voice and listen (page.js)
 *     POST /v1/audio/speech     OpenAI's interface (openai.c), and with it
 *     GET  /v1/models, /v1/models/ID, /v1/audio/voices
 *     POST /synthesize, /       Piper's interface (piper.c), and with it
 *     GET  /voices, /info
 *     GET  /health              {"status":"ok", …}
 *     GET  /metrics             counters for Prometheus (metrics.c)
 *
 * Sound is sent as it is made. A client that closes the connection, or its sending half, has gone: its text is not spoken
 * any further. Errors are JSON in OpenAI's shape, {"error":{"message","type","param","code"}}.
 *
 * Limits: bytes of all answers that are sent whole (Piper's WAV files), which are held in memory until then, and seconds
 * of each text; connections in all and of one address (IPv6: of one /64 network); bytes of headers and body; the time for a
 * request to be complete, for a block of an answer to be taken, and for an idle connection. Whoever exceeds one is
 * answered with an error, or the connection is closed; a new connection above a limit displaces the one that has been
 * idle for longest, so that idle clients cannot occupy all places. A request
 * never becomes part of a path: the server opens no file.
 *
 * With a token, everything but the page itself, /health and OPTIONS needs "Authorization: Bearer TOKEN". Any address but
 * a loopback one needs a token, unless the server is asked to be insecure. With a token, web pages of any origin may use
 * the server (CORS): they must know it.
 *
 * Without a token, no web page but those of this server may: a request that names another Origin than allow_origins is
 * refused (403), and so is one for another Host than localhost, a loopback address and allow_hosts, because a name that
 * a page has chosen could mean this machine. If other machines can reach the server, addresses in numbers are fine, too.
 *
 * Threads: each connection has one, made by libmicrohttpd; another one watches the times. mx_http_close joins them all.
 * Memory: everything belongs to the server; the service is borrowed and must outlive it.
 */
#ifndef MX_SERVE_HTTP_H
#define MX_SERVE_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MX_HTTP_ADDRESS     "127.0.0.1:8080"
#define MX_HTTP_CONNECTIONS 256
#define MX_HTTP_PER_ADDRESS 64
#define MX_HTTP_WHOLE_MIB   512

struct mx_service;
struct mx_http;

struct mx_http_options {
    const char *address; /* "ADDRESS:PORT", "[ADDRESS]:PORT", ":PORT" or "PORT"; port 0: any that is free */
    const char *token;   /* NULL: none; see mx_listen_token_check */
    bool insecure;       /* other machines may connect without a token */
    const char *const *allow_hosts, *const *allow_origins; /* see above; they stay valid until the server is closed */
    size_t allow_host_count, allow_origin_count;
    int connections;             /* at a time; 0: MX_HTTP_CONNECTIONS */
    int connections_per_address; /* 0: MX_HTTP_PER_ADDRESS */
    size_t whole_max;            /* bytes of all answers that are sent whole, together; 0: MX_HTTP_WHOLE_MIB */
    int patience_ms;             /* for each of the times above; 0: 20 s */
};

/* Listens, and answers from now on. MX_ERR_USAGE: the address or the token is invalid, or a token is missing; MX_ERR_IO:
 * the port is not available; MX_ERR_UNSUPPORTED: built without libmicrohttpd. */
int mx_http_open(const struct mx_http_options *options, struct mx_service *service, struct mx_http **out);
/* No new connections from now on; answers in progress continue. Call mx_service_drain first: new requests are refused. */
void mx_http_drain(struct mx_http *http);
/* Waits until no request is being answered: 0, or MX_ERR_TIMEOUT. */
int mx_http_wait(struct mx_http *http, int timeout_ms);
/* Cuts off what is still being sent. NULL is fine. */
void mx_http_close(struct mx_http *http);

int mx_http_port(const struct mx_http *http);
const char *mx_http_url(const struct mx_http *http); /* "http://127.0.0.1:8080/" */

struct mx_http_counts {
    uint64_t connections; /* that were accepted */
    uint64_t active;      /* now */
    uint64_t refused;     /* because there were too many */
    uint64_t displaced;   /* idle ones that were closed for a new one */
    uint64_t slow;        /* that were closed because a time was over */
    uint64_t requests;    /* that were complete */
    uint64_t failed;      /* of these: answered with an error */
    uint64_t gone;        /* of these: the client left before the end of the answer */
};
void mx_http_counts_read(struct mx_http *http, struct mx_http_counts *out);

#endif

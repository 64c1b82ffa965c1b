/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The HTTP server: its connections, its threads and their times; see http.h. libmicrohttpd gives each connection a
 * thread, in which everything about a request happens, so an answer may wait for sound. Its own time limits do
 * not know whose turn it is: the watcher closes what takes too long.
 */
#include "serve/http.h"

#include "myxtts/error.h"

#ifdef MX_HAVE_MICROHTTPD

#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/net/listen_host.h"
#include "base/thread/pool.h"
#include "serve/http_internal.h"

#define PATIENCE_MS  20000
#define WATCH_MS     100
#define SPARE        32                 /* connections above the limit that get an error */
#define HEADER_BYTES ((size_t)32 << 10) /* that a connection may use: its headers, later a block of the answer */
#define SEND_BYTES   (64 << 10)         /* that the system may hold for a client; it takes twice as much */
#define BODY_SPARE   ((size_t)64 << 10) /* of a body, in addition to its text */
#define BODY_FACTOR  6                  /* bytes of JSON that a byte of text may take: \u0041 */
#define DROPPED_MAX  ((size_t)8 << 20)  /* bytes read of a body that is too large; then the connection is closed */

static const struct mx_listen_use use = {"the HTTP server", "--listen", MX_HTTP_ADDRESS};

/* ---- clients ---- */

static struct in6_addr network_of(const struct sockaddr *address)
{
    struct in6_addr out = {0};
    if (address != NULL && address->sa_family == AF_INET) {
        memcpy(out.s6_addr, &((const struct sockaddr_in *)(const void *)address)->sin_addr, 4);
    } else if (address != NULL && address->sa_family == AF_INET6) {
        const struct in6_addr *const v6 = &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
        if (IN6_IS_ADDR_V4MAPPED(v6)) /* IPv4, at a socket for both */
            memcpy(out.s6_addr, v6->s6_addr + 12, 4);
        else
            memcpy(out.s6_addr, v6->s6_addr, 8);
    }
    return out;
}

static bool client_counts(const struct mx_http_client *c)
{
    return c->used && !c->refused && !c->displaced;
}

/* Closes the connection that has been idle for longest, of the address or of all (NULL); false: none is idle. Called
 * with the lock held. */
static bool client_displace(struct mx_http *http, const struct in6_addr *network)
{
    struct mx_http_client *oldest = NULL;
    for (size_t i = 0; i < http->client_count; i++) {
        struct mx_http_client *const c = &http->clients[i];
        if (!client_counts(c) || c->asked || (network != NULL && memcmp(&c->network, network, sizeof *network) != 0))
            continue;
        if (oldest == NULL || c->idle_ns < oldest->idle_ns) oldest = c;
    }
    if (oldest == NULL) return false;
    oldest->displaced = true;
    oldest->due_ns = 0;
    http->counts.displaced++;
    if (oldest->socket >= 0) (void)shutdown(oldest->socket, SHUT_RDWR); /* its thread finds it closed */
    return true;
}

/* A place for the connection; NULL: there is none. Above a limit, an idle connection makes room. Called with the lock
 * held. */
static struct mx_http_client *client_add(struct mx_http *http, int socket, const struct in6_addr *network)
{
    struct mx_http_client *free_one = NULL;
    int all = 0, same = 0;
    for (size_t i = 0; i < http->client_count; i++) {
        struct mx_http_client *const c = &http->clients[i];
        if (!c->used && free_one == NULL) free_one = c;
        all += client_counts(c);
        same += client_counts(c) && memcmp(&c->network, network, sizeof *network) == 0;
    }
    if (free_one == NULL) return NULL;
    const bool refused = same >= http->per_address  ? !client_displace(http, network)
                         : all >= http->connections ? !client_displace(http, NULL)
                                                    : false;
    const uint64_t now = mx_clock_ns();
    *free_one = (struct mx_http_client){.used = true,
                                        .refused = refused,
                                        .socket = socket,
                                        .idle_ns = now,
                                        .due_ns = now + http->patience_ns,
                                        .network = *network};
    http->counts.connections++;
    http->counts.refused += refused;
    http->counts.active++;
    return free_one;
}

static void on_connection(void *context, struct MHD_Connection *connection, void **place,
                          enum MHD_ConnectionNotificationCode what)
{
    struct mx_http *const http = context;
    if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
        struct mx_http_client *const client = *place;
        if (client == NULL) return;
        pthread_mutex_lock(&http->lock);
        *client = (struct mx_http_client){.socket = -1};
        http->counts.active--;
        pthread_mutex_unlock(&http->lock);
        return;
    }
    const union MHD_ConnectionInfo *const from =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    const int socket = mx_httpd_socket(connection, SEND_BYTES);
    const struct in6_addr network = network_of(from != NULL ? from->client_addr : NULL);
    if (socket >= 0) /* sound leaves at once */
        (void)setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &(int){1}, (socklen_t)sizeof(int));
    pthread_mutex_lock(&http->lock);
    *place = client_add(http, socket, &network);
    pthread_mutex_unlock(&http->lock);
}

static void turn(struct mx_http_request *request, uint64_t due_ns)
{
    if (request->client == NULL) return;
    pthread_mutex_lock(&request->http->lock);
    request->client->due_ns = due_ns;
    pthread_mutex_unlock(&request->http->lock);
}

void mx_http_turn_server(struct mx_http_request *request)
{
    turn(request, 0);
}

static void request_complete(struct mx_http_request *request)
{
    pthread_mutex_lock(&request->http->lock);
    if (request->client != NULL) request->client->asked = true;
    request->http->counts.requests++;
    pthread_mutex_unlock(&request->http->lock);
}

void mx_http_turn_client(struct mx_http_request *request)
{
    turn(request, mx_clock_ns() + request->http->patience_ns);
}

bool mx_http_client_gone(const struct mx_http_request *request)
{
    if (atomic_load_explicit(&request->http->closing, memory_order_relaxed)) return true;
    struct pollfd look = {.fd = request->client != NULL ? request->client->socket : -1, .events = POLLRDHUP};
    return look.fd >= 0 && poll(&look, 1, 0) > 0 && (look.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL)) != 0;
}

/* ---- requests ---- */

static void request_begin(struct mx_http_request *request)
{
    struct mx_http *const http = request->http;
    pthread_mutex_lock(&http->lock);
    if (request->client != NULL) {
        request->client->busy = true;
        request->client->due_ns = mx_clock_ns() + http->patience_ns; /* for the body, however late the headers came */
    }
    http->busy++;
    pthread_mutex_unlock(&http->lock);
}

static void on_completed(void *context, struct MHD_Connection *connection, void **state,
                         enum MHD_RequestTerminationCode how)
{
    struct mx_http *const http = context;
    struct mx_http_request *const request = *state;
    (void)connection;
    if (request == NULL) return;
    const bool left = how != MHD_REQUEST_TERMINATED_COMPLETED_OK && mx_http_stream_left(request->stream);
    mx_http_stream_end(request->stream);
    pthread_mutex_lock(&http->lock);
    if (request->client != NULL) {
        request->client->busy = request->client->asked = false;
        request->client->idle_ns = mx_clock_ns();
        request->client->due_ns = request->client->idle_ns + http->patience_ns;
    }
    http->busy--;
    http->counts.failed += request->failed;
    http->counts.gone += left;
    pthread_cond_broadcast(&http->changed);
    pthread_mutex_unlock(&http->lock);
    mx_free(request->body);
    mx_free(request->path);
    mx_free(request);
    *state = NULL;
}

static bool body_add(struct mx_http_request *request, const char *data, size_t bytes)
{
    if (request->dropped > 0 || request->bytes + bytes > request->http->body_max) {
        request->dropped += bytes;
        return request->dropped <= DROPPED_MAX;
    }
    if (MX_GROW(request->body, request->capacity, request->bytes + bytes) < 0) return false;
    memcpy(request->body + request->bytes, data, bytes);
    request->bytes += bytes;
    return true;
}

static struct mx_http_request *request_create(struct mx_http *http, struct MHD_Connection *connection, const char *path)
{
    struct mx_http_request *const request = mx_alloc(1, sizeof *request);
    if (request == NULL) return NULL;
    request->http = http;
    request->connection = connection;
    request->client = mx_httpd_client(connection);
    request->path = mx_strdup(path);
    if (request->path != NULL) return request;
    mx_free(request);
    return NULL;
}

/* Called when the headers are there, then for each part of the body, and once more when all is there. */
static enum MHD_Result on_request(void *context, struct MHD_Connection *connection, const char *path,
                                  const char *method, const char *version, const char *upload, size_t *upload_bytes,
                                  void **state)
{
    struct mx_http *const http = context;
    struct mx_http_request *request = *state;
    (void)version;
    if (request == NULL) {
        request = request_create(http, connection, path);
        if (request == NULL) return MHD_NO;
        *state = request;
        request_begin(request);
        mx_http_route_find(request, path, method);
        return MHD_YES;
    }
    if (*upload_bytes > 0) {
        const bool good = body_add(request, upload, *upload_bytes);
        *upload_bytes = 0;
        return good ? MHD_YES : MHD_NO;
    }
    mx_http_turn_server(request);
    request_complete(request);
    const enum MHD_Result result = mx_http_route_run(request);
    mx_error_clear();
    mx_http_turn_client(request);
    return result;
}

/* Paths are compared as they were sent: a path with % never matches. Values of a query are decoded. */
static size_t on_unescape(void *context, struct MHD_Connection *connection, char *text)
{
    (void)context;
    (void)connection;
    return text[0] == '/' ? strlen(text) : MHD_http_unescape(text);
}

/* ---- the watcher ---- */

static void *watch(void *context)
{
    struct mx_http *const http = context;
    pthread_mutex_lock(&http->lock);
    while (!http->stop) {
        struct timespec until;
        const uint64_t now = mx_clock_ns();
        for (size_t i = 0; i < http->client_count; i++) {
            struct mx_http_client *const c = &http->clients[i];
            if (!c->used || c->due_ns == 0 || now < c->due_ns) continue;
            c->due_ns = 0;
            http->counts.slow += c->busy;
            if (c->socket >= 0) (void)shutdown(c->socket, SHUT_RDWR); /* the thread of the connection finds it closed */
        }
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += WATCH_MS * (long)MX_NS_PER_MS;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&http->changed, &http->lock, &until);
    }
    pthread_mutex_unlock(&http->lock);
    return NULL;
}

/* ---- open and close ---- */

/* Threads of the daemon inherit the signals that are blocked: handlers run in the main thread alone, and a client that
 * disconnects raises no SIGPIPE. */
static struct MHD_Daemon *daemon_start(struct mx_http *http)
{
    sigset_t all, before;
    sigfillset(&all);
    for (size_t i = 0; i < 4; i++) sigdelset(&all, (const int[]){SIGSEGV, SIGBUS, SIGFPE, SIGILL}[i]);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    struct MHD_Daemon *const daemon = MHD_start_daemon(
        MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL | MHD_USE_ITC, 0, NULL, NULL,
        on_request, http, MHD_OPTION_LISTEN_SOCKET, http->listener, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)http->client_count, MHD_OPTION_CONNECTION_MEMORY_LIMIT, HEADER_BYTES, MHD_OPTION_NOTIFY_CONNECTION,
        on_connection, http, MHD_OPTION_NOTIFY_COMPLETED, on_completed, http, MHD_OPTION_UNESCAPE_CALLBACK, on_unescape,
        http, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return daemon;
}

static int listener_open(struct mx_http *http, const struct mx_http_options *options)
{
    int rc = 0;
    struct mx_listen_address address;
    struct mx_listen_socket listener;
    MX_TRY(mx_listen_resolve(&use, options->address != NULL ? options->address : MX_HTTP_ADDRESS, &address));
    if (options->token != NULL) {
        MX_TRY(mx_listen_token_check(&use, options->token));
        snprintf(http->token, sizeof http->token, "%s", options->token);
    }
    if (!address.loopback && http->token[0] == '\0' && !options->insecure)
        MX_RAISE(MX_ERR_USAGE,
                 "make a token with 'openssl rand -hex 16 > token.txt' and add '--token-file token.txt', or "
                 "'--insecure' if everybody may",
                 "the HTTP server on %s would speak for everyone who can reach that address", address.host);
    http->reachable = !address.loopback;
    for (size_t i = 0; i < options->allow_host_count; i++)
        if (!mx_listen_host_valid(options->allow_hosts[i]))
            MX_RAISE(MX_ERR_USAGE, "give a name without http:// and port, for example speech.lan",
                     "'%s' is not the name of a host", options->allow_hosts[i]);
    for (size_t i = 0; i < options->allow_origin_count; i++)
        if (!mx_listen_origin_valid(options->allow_origins[i]))
            MX_RAISE(MX_ERR_USAGE,
                     "give the beginning of its address, without a slash at the end, for example https://app.example",
                     "'%s' is not the origin of a web page", options->allow_origins[i]);
    MX_TRY(mx_listen_open(&use, &address, &listener));
    http->listener = listener.socket;
    http->port = listener.port;
    snprintf(http->url, sizeof http->url, "http://%s/", listener.name);
out:
    return rc;
}

int mx_http_open(const struct mx_http_options *options, struct mx_service *service, struct mx_http **out)
{
    int rc = 0;
    pthread_condattr_t monotonic;
    struct mx_http *http = mx_alloc(1, sizeof *http);
    *out = NULL;
    if (http == NULL) return MX_ERR_NO_MEMORY;
    http->service = service;
    http->listener = -1;
    http->connections = options->connections > 0 ? options->connections : MX_HTTP_CONNECTIONS;
    http->per_address = options->connections_per_address > 0 ? options->connections_per_address : MX_HTTP_PER_ADDRESS;
    http->patience_ns = (uint64_t)(options->patience_ms > 0 ? options->patience_ms : PATIENCE_MS) * MX_NS_PER_MS;
    http->allow_hosts = options->allow_hosts;
    http->allow_host_count = options->allow_host_count;
    http->allow_origins = options->allow_origins;
    http->allow_origin_count = options->allow_origin_count;
    http->body_max = BODY_FACTOR * mx_service_text_max(service) + BODY_SPARE;
    http->whole_max = options->whole_max > 0 ? options->whole_max : (size_t)MX_HTTP_WHOLE_MIB << 20;
    http->created = (int64_t)time(NULL);
    http->client_count = (size_t)http->connections + SPARE;
    pthread_mutex_init(&http->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&http->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    http->clients = mx_alloc(http->client_count, sizeof http->clients[0]);
    if (http->clients == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    MX_TRY(mx_http_pages_build(http));
    MX_TRY(listener_open(http, options));
    MX_TRY(mx_thread_start(&http->watcher, "http", -1, watch, http));
    http->watching = true;
    http->daemon = daemon_start(http);
    if (http->daemon == NULL)
        MX_RAISE(MX_ERR_IO, "check the limits of the system (ulimit -n, ulimit -u)", "cannot start the HTTP server");
    http->listener = -1; /* the daemon closes it */
    *out = http;
    http = NULL;
out:
    mx_http_close(http);
    return rc;
}

void mx_http_drain(struct mx_http *http)
{
    if (http->listener < 0) http->listener = MHD_quiesce_daemon(http->daemon);
    pthread_mutex_lock(&http->lock);
    for (size_t i = 0; i < http->client_count; i++) {
        const struct mx_http_client *const c = &http->clients[i];
        if (c->used && !c->busy && c->socket >= 0) (void)shutdown(c->socket, SHUT_RDWR);
    }
    pthread_mutex_unlock(&http->lock);
}

int mx_http_wait(struct mx_http *http, int timeout_ms)
{
    int rc = 0;
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += timeout_ms / 1000;
    until.tv_nsec += (long)(timeout_ms % 1000) * (long)MX_NS_PER_MS;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&http->lock);
    while (http->busy > 0 && rc == 0)
        if (pthread_cond_timedwait(&http->changed, &http->lock, &until) == ETIMEDOUT && http->busy > 0)
            rc = MX_FAIL(MX_ERR_TIMEOUT, NULL, "%zu HTTP requests are still being answered", http->busy);
    pthread_mutex_unlock(&http->lock);
    return rc;
}

void mx_http_close(struct mx_http *http)
{
    if (http == NULL) return;
    atomic_store(&http->closing, true);
    if (http->daemon != NULL) MHD_stop_daemon(http->daemon);
    if (http->watching) {
        pthread_mutex_lock(&http->lock);
        http->stop = true;
        pthread_cond_broadcast(&http->changed);
        pthread_mutex_unlock(&http->lock);
        pthread_join(http->watcher, NULL);
    }
    if (http->listener >= 0) close(http->listener);
    mx_http_problem_log_end();
    pthread_cond_destroy(&http->changed);
    pthread_mutex_destroy(&http->lock);
    mx_free(http->pages[0]);
    mx_free(http->pages[1]);
    mx_free(http->clients);
    mx_free(http);
}

int mx_http_port(const struct mx_http *http)
{
    return http->port;
}

const char *mx_http_url(const struct mx_http *http)
{
    return http->url;
}

void mx_http_counts_read(struct mx_http *http, struct mx_http_counts *out)
{
    pthread_mutex_lock(&http->lock);
    *out = http->counts;
    pthread_mutex_unlock(&http->lock);
}

#else

#include <stddef.h>

int mx_http_open(const struct mx_http_options *options, struct mx_service *service, struct mx_http **out)
{
    (void)options;
    (void)service;
    *out = NULL;
    return MX_FAIL(MX_ERR_UNSUPPORTED, "'make build' installs libmicrohttpd-dev and builds it in",
                   "this program was built without the HTTP server");
}

void mx_http_drain(struct mx_http *http)
{
    (void)http;
}

int mx_http_wait(struct mx_http *http, int timeout_ms)
{
    (void)http;
    (void)timeout_ms;
    return 0;
}

void mx_http_close(struct mx_http *http)
{
    (void)http;
}

int mx_http_port(const struct mx_http *http)
{
    (void)http;
    return 0;
}

const char *mx_http_url(const struct mx_http *http)
{
    (void)http;
    return "";
}

void mx_http_counts_read(struct mx_http *http, struct mx_http_counts *out)
{
    (void)http;
    *out = (struct mx_http_counts){0};
}

#endif

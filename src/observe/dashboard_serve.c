/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The HTTP of the dashboard, through libmicrohttpd; see dashboard.h.
 *
 * The daemon has no thread of its own: it runs inside mx_dash_serve_run. Every connection carries one request.
 * body_read sends the bodies; it suspends a client that has had its share, or that waits for events, until the next
 * tick.
 */
#include "observe/dashboard_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/net/httpd.h"
#include "base/net/listen.h"
#include "base/net/listen_host.h"
#include "myxtts/error.h"
#include "observe/pictures.h"

#define REQUEST_BYTES ((size_t)16 << 10) /* that a connection may take: its headers, later its share of a body */
#define ADDRESS_MAX   1024               /* bytes of path and query */
#define SEND_BYTES    (32 << 10)         /* that the system may hold for a client; it takes twice as much */
#define BLOCK_BYTES   ((size_t)16 << 10)
#define BUDGET_BYTES  ((size_t)4 << 20)  /* in a tick, for all clients together */
#define BUDGET_LEAST  ((size_t)32 << 10) /* of it for each client, or more where there are few */
#define REQUESTS      50                 /* answered in a tick */
#define TIMEOUT_S     40                 /* of the daemon itself, should a client escape the check at each tick */
#define ASKING_MANY   32                 /* unanswered connections above which ASKING_NS applies */
#define ASKING_NS     MX_NS_PER_S        /* request deadline, so that idle clients cannot occupy all slots */
#define HEARTBEAT_NS                                                                                                   \
    (5 * MX_NS_PER_S) /* without events: a comment is sent, which shows whether the client is still there */
#define FILE_BYTES_MAX ((off_t)1 << 36)

/* ---- clients ---- */

/* Until a tick finds that it can continue. */
static void client_suspend(struct mx_dash_client *c)
{
    c->suspended = true;
    MHD_suspend_connection(c->connection);
}

static void client_resume(struct mx_dash_client *c)
{
    if (!c->suspended) return;
    c->suspended = false;
    MHD_resume_connection(c->connection);
}

/* Has it closed the connection? The daemon does not check while it is suspended. */
static bool client_gone(const struct mx_dash_client *c)
{
    char byte;
    const ssize_t left = recv(c->socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return left == 0 || (left < 0 && errno != EAGAIN && errno != EINTR);
}

static bool client_serving(const struct mx_dash_client *c)
{
    return c->kind == MX_DASH_EVENTS || c->kind == MX_DASH_BLOB || c->kind == MX_DASH_FILE;
}

static void on_connection(void *context, struct MHD_Connection *connection, void **place,
                          enum MHD_ConnectionNotificationCode what)
{
    struct mx_dashboard *const d = context;
    if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
        struct mx_dash_client *const c = *place;
        if (c == NULL) return;
        if (client_serving(c)) d->serving--;
        mx_dash_blob_release(d, c->blob);
        if (c->file >= 0) close(c->file);
        *c = (struct mx_dash_client){.file = -1};
        return;
    }
    const int socket = mx_httpd_socket(connection, SEND_BYTES);
    for (size_t i = 0; i < MX_DASH_CONNECTIONS; i++) {
        struct mx_dash_client *const c = &d->clients[i];
        if (c->kind != MX_DASH_FREE) continue;
        *c = (struct mx_dash_client){.kind = MX_DASH_NEW,
                                     .dashboard = d,
                                     .connection = connection,
                                     .socket = socket,
                                     .moved_ns = mx_clock_ns(),
                                     .file = -1};
        *place = c;
        return;
    }
}

/* What each client may get in a tick: less when there are more of them. */
static size_t budget(const struct mx_dashboard *d)
{
    const size_t share = BUDGET_BYTES / (d->serving > 0 ? d->serving : 1);
    return share > BUDGET_LEAST ? share : BUDGET_LEAST;
}

/* ---- bodies ---- */

/* Whole events, as many as fit; first run.json, if there is another one. */
static size_t events_copy(struct mx_dashboard *d, struct mx_dash_client *c, char *out, size_t most)
{
    size_t used = 0;
    for (;;) {
        if (c->blob == NULL && c->run_seen != d->run_version) {
            c->blob = d->run_event;
            c->blob->readers++;
            c->blob_at = 0;
            c->run_seen = d->run_version;
        }
        if (c->blob != NULL) {
            const size_t left = c->blob->bytes - c->blob_at, part = left < most - used ? left : most - used;
            memcpy(out + used, c->blob->data + c->blob_at, part);
            used += part;
            c->blob_at += part;
            if (part < left) return used;
            mx_dash_blob_release(d, c->blob);
            c->blob = NULL;
        }
        const struct mx_dash_event *const e = mx_dash_log_after(&d->log, c->seen);
        if (e == NULL || e->length > most - used) return used;
        memcpy(out + used, d->log.bytes + e->at, e->length);
        used += e->length;
        c->seen = e->number;
    }
}

static bool events_waiting(const struct mx_dashboard *d, const struct mx_dash_client *c)
{
    return c->blob != NULL || c->run_seen != d->run_version || mx_dash_log_after(&d->log, c->seen) != NULL;
}

static ssize_t body_read(void *context, uint64_t at, char *out, size_t most)
{
    static const char heartbeat[] = ":\n\n";
    struct mx_dash_client *const c = context;
    struct mx_dashboard *const d = c->dashboard;
    const uint64_t now = mx_clock_ns();
    ssize_t got = 0;
    if (c->gone) return MHD_CONTENT_READER_END_WITH_ERROR;
    if (d->closing)
        return c->kind == MX_DASH_EVENTS ? MHD_CONTENT_READER_END_OF_STREAM : MHD_CONTENT_READER_END_WITH_ERROR;
    const size_t share = c->budget_bytes < d->budget_bytes ? c->budget_bytes : d->budget_bytes;
    if (most > share && c->kind != MX_DASH_EVENTS) most = share; /* events are never cut */
    if (share == 0) {
        got = 0;
    } else if (c->kind == MX_DASH_EVENTS) {
        got = (ssize_t)events_copy(d, c, out, most);
        if (got == 0 && now - c->moved_ns >= HEARTBEAT_NS && most >= sizeof heartbeat) {
            got = sizeof heartbeat - 1;
            memcpy(out, heartbeat, sizeof heartbeat - 1);
        }
    } else if (c->kind == MX_DASH_BLOB) {
        got = (ssize_t)most;
        memcpy(out, c->blob->data + at, most);
    } else {
        do got = pread(c->file, out, most, (off_t)at);
        while (got < 0 && errno == EINTR);
        if (got <= 0) return MHD_CONTENT_READER_END_WITH_ERROR; /* it was cut meanwhile */
    }
    if (got > 0) {
        c->moved_ns = now;
        c->budget_bytes -= (size_t)got < c->budget_bytes ? (size_t)got : c->budget_bytes;
        d->budget_bytes -= (size_t)got < d->budget_bytes ? (size_t)got : d->budget_bytes;
        return got;
    }
    client_suspend(c);
    return 0;
}

/* ---- answers ---- */

/* Sends the response and releases it. */
static enum MHD_Result answer(struct MHD_Connection *connection, unsigned status, const char *type,
                              struct MHD_Response *response)
{
    if (response == NULL) return MHD_NO;
    mx_httpd_header_add(response, "Connection", "close");
    mx_httpd_header_add(response, "Cross-Origin-Resource-Policy", "same-origin");
    mx_httpd_page_headers_add(response, "img-src 'self' data:; media-src 'self' data:");
    return mx_httpd_answer(connection, status, type, response);
}

static enum MHD_Result refuse(struct MHD_Connection *connection, struct mx_dash_client *c, unsigned status,
                              const char *words, const char *name, const char *value)
{
    struct MHD_Response *const response =
        MHD_create_response_from_buffer(strlen(words), (void *)(uintptr_t)words, MHD_RESPMEM_PERSISTENT);
    if (c != NULL) {
        c->kind = MX_DASH_REFUSED;
        c->moved_ns = mx_clock_ns();
    }
    if (response != NULL && name != NULL) mx_httpd_header_add(response, name, value);
    return answer(connection, status, "text/plain; charset=utf-8", response);
}

/* Browsers send the cookies of all ports to each: every dashboard has its own. */
#define COOKIE_NAME_BYTES 24
static void cookie_name(const struct mx_dashboard *d, char out[COOKIE_NAME_BYTES])
{
    snprintf(out, COOKIE_NAME_BYTES, "myxtts_%d", d->port);
}

/* A browser receives the token as a cookie with the page, which then removes it from its address (page.js). */
static void cookie_set(const struct mx_dashboard *d, struct MHD_Response *response)
{
    char name[COOKIE_NAME_BYTES], line[COOKIE_NAME_BYTES + MX_LISTEN_TOKEN_MAX + 64];
    if (d->token[0] == '\0') return;
    cookie_name(d, name);
    snprintf(line, sizeof line, "%s=%s; Path=/; HttpOnly; SameSite=Strict", name, d->token);
    mx_httpd_header_add(response, "Set-Cookie", line);
}

static enum MHD_Result serve_body(struct mx_dashboard *d, struct mx_dash_client *c, enum mx_dash_kind kind,
                                  uint64_t bytes, const char *type)
{
    struct MHD_Response *const response = MHD_create_response_from_callback(bytes, BLOCK_BYTES, body_read, c, NULL);
    if (response == NULL) return MHD_NO;
    if (kind == MX_DASH_BLOB) cookie_set(d, response); /* the page; the request had the token */
    c->kind = kind;
    c->moved_ns = mx_clock_ns();
    d->serving++;
    c->budget_bytes = budget(d);
    return answer(c->connection, MHD_HTTP_OK, type, response);
}

static enum MHD_Result serve_page(struct mx_dashboard *d, struct mx_dash_client *c)
{
    c->blob = mx_dash_page(d);
    if (c->blob == NULL)
        return refuse(c->connection, c, MHD_HTTP_SERVICE_UNAVAILABLE,
                      "The run is getting ready; this page shows it as soon as its first step is done.\n", "Refresh",
                      "2");
    return serve_body(d, c, MX_DASH_BLOB, c->blob->bytes, "text/html; charset=utf-8");
}

static enum MHD_Result serve_events(struct mx_dashboard *d, struct mx_dash_client *c)
{
    const char *const after = mx_httpd_query(c->connection, "after");
    const char *const last = mx_httpd_header(c->connection, "Last-Event-ID");
    const int64_t step = after != NULL ? strtoll(after, NULL, 10) : 0;
    const uint64_t before = mx_dash_log_before_step(&d->log, step);
    const uint64_t number = last != NULL ? mx_dash_log_number(&d->log, last) : 0;
    c->seen = number > before ? number : before;
    return serve_body(d, c, MX_DASH_EVENTS, MHD_SIZE_UNKNOWN, "text/event-stream; charset=utf-8");
}

/* `path` was built by this program. Links are not followed, and only regular files are sent. */
static enum MHD_Result serve_file(struct mx_dashboard *d, struct mx_dash_client *c, const char *path, const char *type)
{
    struct stat info;
    c->file = openat(d->folder, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (c->file < 0 || fstat(c->file, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size > FILE_BYTES_MAX)
        return refuse(c->connection, c, MHD_HTTP_NOT_FOUND, "There is no such file in this run.\n", NULL, NULL);
    c->file_bytes = (uint64_t)info.st_size;
    return serve_body(d, c, MX_DASH_FILE, c->file_bytes, type);
}

/* "/samples/recorded/000.wav" */
static bool recording_path(const char *address, char *out, size_t size)
{
    unsigned number;
    if (sscanf(address, "/samples/recorded/%3u.wav", &number) != 1) return false;
    snprintf(out, size, "samples/recorded/%03u.wav", number);
    return strcmp(out, address + 1) == 0;
}

/* "/samples/step-00000500/target.png" */
static bool picture_path(const char *address, char *out, size_t size)
{
    unsigned long long step;
    if (sscanf(address, "/samples/step-%8llu/", &step) != 1) return false;
    for (int i = 0; i < MX_PICTURES; i++) {
        snprintf(out, size, "samples/step-%08llu/%s.png", step, mx_picture_names[i]);
        if (strcmp(out, address + 1) == 0) return true;
    }
    return false;
}

/* "/samples/step-00000500/000.wav" and .png, and the two above, exactly as this program writes them: then the path,
 * otherwise false. */
static bool sample_path(const char *address, char *out, size_t size, const char **type)
{
    unsigned long long step;
    unsigned number;
    char ending[4];
    int used = 0;
    *type = "audio/wav";
    if (recording_path(address, out, size)) return true;
    *type = "image/png";
    if (picture_path(address, out, size)) return true;
    if (sscanf(address, "/samples/step-%8llu/%3u.%3[a-z]%n", &step, &number, ending, &used) != 3 ||
        address[used] != '\0')
        return false;
    const bool sound = strcmp(ending, "wav") == 0;
    if (!sound && strcmp(ending, "png") != 0) return false;
    *type = sound ? "audio/wav" : "image/png";
    snprintf(out, size, "samples/step-%08llu/%03u.%s", step, number, ending);
    return strcmp(out, address + 1) == 0; /* no sign, no missing zero */
}

/* ---- requests ---- */

static bool token_given(const struct mx_dashboard *d, struct MHD_Connection *connection)
{
    const char *const query = mx_httpd_query(connection, "token");
    const char *const bearer = mx_httpd_header(connection, "Authorization");
    char name[COOKIE_NAME_BYTES];
    cookie_name(d, name);
    const char *const cookie = MHD_lookup_connection_value(connection, MHD_COOKIE_KIND, name);
    bool good = false;
    if (cookie != NULL && *cookie != '\0') good = mx_listen_token_equal(d->token, cookie) || good;
    if (query != NULL && *query != '\0') good = mx_listen_token_equal(d->token, query) || good;
    return mx_listen_token_bearer(d->token, bearer) || good;
}

/* Is the request for a name that always means this machine? */
static bool host_local(struct MHD_Connection *connection)
{
    const char *const host = mx_httpd_header(connection, "Host");
    return host == NULL || mx_listen_host_local(host);
}

/* The length of path and query; the result becomes *state of on_request. */
static void *on_address(void *context, const char *address, struct MHD_Connection *connection)
{
    static char too_long;
    (void)context;
    (void)connection;
    return strlen(address) > ADDRESS_MAX ? &too_long : NULL;
}

static enum MHD_Result on_request(void *context, struct MHD_Connection *connection, const char *address,
                                  const char *method, const char *version, const char *upload, size_t *upload_bytes,
                                  void **state)
{
    struct mx_dashboard *const d = context;
    struct mx_dash_client *const c = mx_httpd_client(connection);
    char path[64];
    const char *type;
    (void)version;
    (void)upload;
    (void)upload_bytes;
    if (c != NULL && (c->gone || c->kind != MX_DASH_NEW)) return MHD_NO; /* no second request, no body */
    if (c != NULL && d->requests <= 0 && !d->closing) {                  /* called again after the next tick */
        client_suspend(c);
        return MHD_YES;
    }
    d->requests--;
    if (c == NULL || d->serving >= MX_DASHBOARD_CLIENTS)
        return refuse(connection, c, MHD_HTTP_SERVICE_UNAVAILABLE, "Too many clients are watching this run already.\n",
                      "Retry-After", "30");
    if (*state != NULL) return refuse(connection, c, MHD_HTTP_URI_TOO_LONG, "The address is too long.\n", NULL, NULL);
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        return refuse(connection, c, MHD_HTTP_METHOD_NOT_ALLOWED, "This page is read-only.\n", "Allow", "GET, HEAD");
    if (d->token[0] != '\0' && !token_given(d, connection))
        return refuse(connection, c, MHD_HTTP_UNAUTHORIZED,
                      "A token is needed: add ?token=TOKEN, as given to 'myxtts train --dashboard-token-file'.\n",
                      "WWW-Authenticate", "Bearer");
    if (d->token[0] == '\0' && !host_local(connection))
        return refuse(connection, c, MHD_HTTP_FORBIDDEN,
                      "Only for this machine: open localhost, or start the dashboard with a token.\n", NULL, NULL);
    if (strcmp(address, "/") == 0) return serve_page(d, c);
    if (strcmp(address, "/events") == 0) return serve_events(d, c);
    if (strcmp(address, "/metrics.jsonl") == 0)
        return serve_file(d, c, "metrics.jsonl", "application/x-ndjson; charset=utf-8");
    if (sample_path(address, path, sizeof path, &type)) return serve_file(d, c, path, type);
    return refuse(connection, c, MHD_HTTP_NOT_FOUND, "There is nothing here; the page is at /.\n", NULL, NULL);
}

/* Addresses are compared as they were sent: a path with % never matches. */
static size_t on_unescape(void *context, struct MHD_Connection *connection, char *text)
{
    (void)context;
    (void)connection;
    return strlen(text);
}

/* ---- the daemon ---- */

int mx_dash_serve_open(struct mx_dashboard *d)
{
    for (size_t i = 0; i < MX_DASH_CONNECTIONS; i++) d->clients[i].file = -1;
    d->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, on_request, d, MHD_OPTION_LISTEN_SOCKET, d->listener,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)MX_DASH_CONNECTIONS, MHD_OPTION_CONNECTION_MEMORY_LIMIT, REQUEST_BYTES,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)TIMEOUT_S, MHD_OPTION_NOTIFY_CONNECTION, on_connection, d,
        MHD_OPTION_URI_LOG_CALLBACK, on_address, d, MHD_OPTION_UNESCAPE_CALLBACK, on_unescape, d,
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
    if (d->daemon == NULL)
        return MX_FAIL(MX_ERR_IO, "check the limits of the system (ulimit -n)", "cannot start the dashboard's server");
    d->listener = -1; /* the daemon closes it */
    return 0;
}

bool mx_dash_serve_run(struct mx_dashboard *d, int milliseconds)
{
    return MHD_run_wait(d->daemon, milliseconds) == MHD_YES;
}

/* How long a client may do nothing. */
static uint64_t patience_with(const struct mx_dashboard *d, const struct mx_dash_client *c, size_t asking)
{
    const bool many = asking > ASKING_MANY && !client_serving(c);
    return many && d->patience_ns > ASKING_NS ? ASKING_NS : d->patience_ns;
}

void mx_dash_serve_tick(struct mx_dashboard *d)
{
    const uint64_t now = mx_clock_ns();
    size_t asking = 0;
    for (size_t i = 0; i < MX_DASH_CONNECTIONS; i++)
        asking += d->clients[i].kind != MX_DASH_FREE && !client_serving(&d->clients[i]);
    d->budget_bytes = BUDGET_BYTES;
    d->requests = REQUESTS;
    const size_t share = budget(d);
    for (size_t i = 0; i < MX_DASH_CONNECTIONS; i++) {
        struct mx_dash_client *const c = &d->clients[i];
        if (c->kind == MX_DASH_FREE) continue;
        c->budget_bytes = share;
        if (c->suspended) {
            /* A client that is sent something now shows whether it is still connected. */
            const bool due = c->kind != MX_DASH_EVENTS || events_waiting(d, c) || now - c->moved_ns >= HEARTBEAT_NS;
            c->gone = !due && client_gone(c);
            if (due || c->gone) client_resume(c);
        } else if (now - c->moved_ns > patience_with(d, c, asking) && c->socket >= 0) {
            (void)shutdown(c->socket, SHUT_RDWR); /* the daemon finds it closed, and cleans up */
        }
    }
}

void mx_dash_serve_close(struct mx_dashboard *d)
{
    if (d->daemon == NULL) return;
    d->closing = true;
    for (size_t i = 0; i < MX_DASH_CONNECTIONS; i++) client_resume(&d->clients[i]);
    for (int i = 0; i < 3; i++) (void)MHD_run(d->daemon); /* there must be no suspended ones when it stops */
    MHD_stop_daemon(d->daemon);
    d->daemon = NULL;
}

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The dashboard: its port, its thread and how it reads the run; see dashboard.h. HTTP is in dashboard_serve.c.
 */
#include "observe/dashboard.h"

#include <stdio.h>
#include <string.h>

#include "myxtts/error.h"

#ifdef MX_HAVE_MICROHTTPD

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/pool.h"
#include "observe/dashboard_internal.h"
#include "observe/run.h"

#define LOOPBACK      "127.0.0.1"
#define HOST_BYTES    256
#define BACKLOG       256
#define NICE          19 /* at most a hundredth or so of a core that others want, too */
#define WAIT_MS       100
#define NS_PER_MS     UINT64_C(1000000)
#define TICK_MS       250 /* between two looks at the files, and … */
#define CLIENT_MS     10  /* … so much more for each client: 200 of them get news every 2.25 s */
#define PATIENCE_MS   20000
#define READ_BYTES    ((size_t)4 << 20) /* of metrics.jsonl in a tick */
#define RUN_MAX       ((size_t)4 << 20) /* bytes of run.json */
#define PAGES_MAX     3                 /* in memory at a time */
#define PAGE_LEAST_MS 1000              /* between two pages; and at least PAGE_RATIO times what one takes */
#define PAGE_RATIO    10

/* ---- address and token ---- */

static bool is_loopback(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET) {
        const struct sockaddr_in *const v4 = (const struct sockaddr_in *)(const void *)address;
        return ntohl(v4->sin_addr.s_addr) >> 24 == 127;
    }
    const struct sockaddr_in6 *const v6 = (const struct sockaddr_in6 *)(const void *)address;
    return address->sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
}

static int address_fail(const char *text)
{
    char quoted[96];
    return MX_FAIL(MX_ERR_USAGE, "write ADDRESS:PORT, for example " MX_DASHBOARD_ADDRESS ", or a port alone",
                   "%s is not a valid address for the dashboard", mx_string_quote(quoted, sizeof quoted, text));
}

/* "ADDRESS:PORT", "[ADDRESS]:PORT", ":PORT", "PORT". */
static int address_split(const char *text, char host[HOST_BYTES], char port[8])
{
    const char *const colon = strrchr(text, ':'), *digits = colon != NULL ? colon + 1 : text;
    size_t length = colon != NULL ? (size_t)(colon - text) : 0;
    const char *name = text;
    if (length >= 2 && name[0] == '[' && name[length - 1] == ']') {
        name++;
        length -= 2;
    } else if (memchr(name, ':', length) != NULL) {
        return address_fail(text); /* two colons without brackets: nobody knows where the port begins */
    }
    const size_t count = strspn(digits, "0123456789");
    if (count == 0 || count > 5 || digits[count] != '\0' || atoi(digits) > 65535 || length >= HOST_BYTES)
        return address_fail(text);
    snprintf(port, 8, "%s", digits);
    snprintf(host, HOST_BYTES, "%.*s", (int)length, name);
    if (host[0] == '\0') snprintf(host, HOST_BYTES, LOOPBACK);
    return 0;
}

static int token_check(const char *token)
{
    const size_t length = strlen(token);
    bool plain = true;
    for (size_t i = 0; i < length; i++) plain = plain && (isalnum((unsigned char)token[i]) || strchr("-._~", token[i]));
    if (plain && length >= MX_DASHBOARD_TOKEN_MIN && length <= MX_DASHBOARD_TOKEN_MAX) return 0;
    MX_FAIL(MX_ERR_USAGE, NULL, "the dashboard's token is not valid: it needs %d to %d letters, digits or - . _ ~",
            MX_DASHBOARD_TOKEN_MIN, MX_DASHBOARD_TOKEN_MAX);
    return mx_error_hint("make one with 'openssl rand -hex 16'");
}

static int listen_fail(const char *host, const char *port, int why)
{
    MX_FAIL(MX_ERR_IO, NULL, "the dashboard cannot use port %s of %s: %s", port, host, strerror(why));
    if (why == EADDRINUSE)
        return mx_error_hint("another program uses it, perhaps another run: choose another port, '--dashboard %s:%d'",
                             host, atoi(port) % 65535 + 1);
    if (why == EADDRNOTAVAIL)
        return mx_error_hint(
            "this machine has no such address; 'ip address' lists its addresses, and 0.0.0.0 means all of them");
    if (why == EACCES) return mx_error_hint("choose a port of 1024 or above");
    return mx_error_hint("choose another address or port");
}

static int listener_open(struct mx_dashboard *d, const char *host, const char *port)
{
    int rc = 0, why, on = 1;
    char number[80];
    struct sockaddr_storage bound;
    socklen_t length = sizeof bound;
    struct addrinfo *found = NULL;
    const struct addrinfo wanted = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    why = getaddrinfo(host, port, &wanted, &found);
    if (why != 0)
        MX_RAISE(MX_ERR_USAGE, "write the address as numbers, for example " MX_DASHBOARD_ADDRESS,
                 "cannot resolve the dashboard's address '%s': %s", host, gai_strerror(why));
    if (!is_loopback(found->ai_addr) && d->token[0] == '\0')
        MX_RAISE(MX_ERR_USAGE,
                 "add '--dashboard-token TOKEN' (openssl rand -hex 16), or stay on 127.0.0.1 and reach it through 'ssh "
                 "-L 6007:127.0.0.1:6007 HOST'",
                 "the dashboard on %s would show the run to everyone who can reach that address", host);
    d->listener = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (d->listener < 0) MX_TRY(listen_fail(host, port, errno));
    setsockopt(d->listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(d->listener, found->ai_addr, found->ai_addrlen) != 0 || listen(d->listener, BACKLOG) != 0 ||
        getsockname(d->listener, (struct sockaddr *)&bound, &length) != 0)
        MX_TRY(listen_fail(host, port, errno));
    const bool v6 = bound.ss_family == AF_INET6;
    d->port = ntohs(v6 ? ((struct sockaddr_in6 *)(void *)&bound)->sin6_port
                       : ((struct sockaddr_in *)(void *)&bound)->sin_port);
    if (getnameinfo((struct sockaddr *)&bound, length, number, sizeof number, NULL, 0, NI_NUMERICHOST) != 0)
        snprintf(number, sizeof number, "%.79s", host);
    snprintf(d->url, sizeof d->url, "http://%s%s%s:%d/", v6 ? "[" : "", number, v6 ? "]" : "", d->port);
out:
    if (found != NULL) freeaddrinfo(found);
    return rc;
}

int mx_dashboard_open(const struct mx_dashboard_options *options, struct mx_dashboard **out)
{
    int rc = 0;
    char host[HOST_BYTES], port[8];
    struct mx_dashboard *d = mx_alloc(1, sizeof *d);
    *out = NULL;
    if (d == NULL) return MX_ERR_NO_MEMORY;
    d->listener = d->folder = -1;
    d->language = options->language;
    d->patience_ns = (uint64_t)(options->patience_ms > 0 ? options->patience_ms : PATIENCE_MS) * NS_PER_MS;
    atomic_init(&d->stop, false);
    MX_TRY(address_split(options->address, host, port));
    if (options->token != NULL) {
        MX_TRY(token_check(options->token));
        snprintf(d->token, sizeof d->token, "%s", options->token);
    }
    MX_TRY(listener_open(d, host, port));
    *out = d;
    d = NULL;
out:
    mx_dashboard_close(d);
    return rc;
}

int mx_dashboard_port(const struct mx_dashboard *dashboard)
{
    return dashboard->port;
}

const char *mx_dashboard_url(const struct mx_dashboard *dashboard)
{
    return dashboard->url;
}

/* ---- blobs ---- */

/* Takes over the bytes; one reader, the caller. NULL, with the bytes freed, if there is no memory. */
static struct mx_dash_blob *blob_make(char *data, size_t bytes)
{
    struct mx_dash_blob *const blob = mx_alloc(1, sizeof *blob);
    if (blob == NULL) {
        mx_free(data);
        return NULL;
    }
    *blob = (struct mx_dash_blob){.readers = 1, .bytes = bytes, .data = data};
    return blob;
}

static bool blob_drop(struct mx_dash_blob *blob)
{
    if (blob == NULL || --blob->readers > 0) return false;
    mx_free(blob->data);
    mx_free(blob);
    return true;
}

void mx_dash_blob_leave(struct mx_dashboard *d, struct mx_dash_blob *blob)
{
    const bool is_run = blob != NULL && blob->is_run;
    if (blob_drop(blob) && !is_run) d->pages--;
}

/* ---- the page ---- */

static void page_make(struct mx_dashboard *d, uint64_t now)
{
    struct mx_string text = {0};
    const struct mx_page_options options = {.run = d->run, .language = d->language, .live = true};
    const int rc = mx_page_write(&options, &text);
    const uint64_t took = mx_clock_ns() - now;
    d->page_due_ns = now + PAGE_LEAST_MS * NS_PER_MS + PAGE_RATIO * took;
    if (rc < 0) {
        mx_debug("dashboard: no page: %s", mx_error_last()->message);
        mx_error_clear();
        mx_string_release(&text);
        return;
    }
    struct mx_dash_blob *const page = blob_make(text.data, text.length);
    if (page == NULL) {
        mx_error_clear();
        return;
    }
    mx_dash_blob_leave(d, d->page);
    d->page = page;
    d->pages++;
    d->page_change = d->change;
    d->page_thinned = d->log.thinned;
}

struct mx_dash_blob *mx_dash_page(struct mx_dashboard *d)
{
    const uint64_t now = mx_clock_ns();
    const bool old = d->page == NULL || d->page_change != d->change || d->page_thinned != d->log.thinned;
    if (old && now >= d->page_due_ns && d->pages < PAGES_MAX) page_make(d, now);
    if (d->page != NULL) d->page->readers++;
    return d->page;
}

/* ---- files of the run ---- */

static void line_take(void *context, char *text, size_t length)
{
    struct mx_dashboard *const d = context;
    if (mx_dash_log_add(&d->log, text, length) && d->log.events[d->log.count - 1].kept) d->change++;
}

static void lines_void(void *context)
{
    struct mx_dashboard *const d = context;
    mx_dash_log_clear(&d->log);
    d->change++;
}

/* "event: run", and the lines of the file as data. */
static struct mx_dash_blob *run_event_make(const char *json, size_t bytes)
{
    struct mx_string text = {0};
    mx_string_append(&text, "event: run\n");
    for (size_t at = 0; at < bytes;) {
        const size_t length = strcspn(json + at, "\r\n");
        if (length > 0) mx_string_append(&text, "data: %.*s\n", (int)length, json + at);
        at += length + 1;
    }
    mx_string_append(&text, "\n");
    if (text.failure != 0) {
        mx_string_release(&text);
        return NULL;
    }
    return blob_make(text.data, text.length);
}

static void run_read(struct mx_dashboard *d)
{
    struct stat now;
    char *json = NULL;
    size_t bytes = 0;
    if (stat(d->run_json, &now) != 0) return;
    if (now.st_ino == d->run_inode && now.st_mtim.tv_sec == d->run_time.tv_sec &&
        now.st_mtim.tv_nsec == d->run_time.tv_nsec)
        return;
    d->run_inode = now.st_ino;
    d->run_time = now.st_mtim;
    if (mx_file_read(d->run_json, RUN_MAX, &json, &bytes) == 0) {
        struct mx_dash_blob *const event = run_event_make(json, bytes);
        if (event != NULL) {
            event->is_run = true;
            mx_dash_blob_leave(d, d->run_event);
            d->run_event = event;
            d->run_version++;
            d->change++;
        }
    }
    mx_error_clear(); /* the next one may be readable */
    mx_free(json);
}

static void files_read(struct mx_dashboard *d)
{
    const struct mx_follow_sink sink = {d, line_take, lines_void};
    if (mx_follow_read(d->metrics, READ_BYTES, &sink) < 0) mx_error_clear(); /* tried again at the next tick */
    run_read(d);
}

/* ---- the thread ---- */

static void *serve(void *context)
{
    struct mx_dashboard *const d = context;
    uint64_t due = 0;
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE); /* to the process it means that nobody reads its messages: a client that goes does not */
    (void)pthread_sigmask(SIG_BLOCK, &pipe, NULL);
    (void)setpriority(PRIO_PROCESS, (id_t)gettid(), NICE);
    while (!atomic_load_explicit(&d->stop, memory_order_relaxed)) {
        const uint64_t now = mx_clock_ns();
        if (now >= due) {
            files_read(d);
            mx_dash_serve_tick(d);
            due = now + (TICK_MS + CLIENT_MS * d->serving) * NS_PER_MS;
        }
        const uint64_t left_ms = (due > now ? due - now : 0) / NS_PER_MS + 1;
        if (!mx_dash_serve_run(d, left_ms < WAIT_MS ? (int)left_ms : WAIT_MS)) {
            mx_warn("the dashboard has ended, because its server failed; training continues");
            break;
        }
    }
    mx_dash_serve_close(d);
    return NULL;
}

int mx_dashboard_start(struct mx_dashboard *d, const char *run)
{
    int rc = 0;
    char *metrics = NULL;
    d->run = mx_strdup(run);
    d->run_json = mx_format("%s/" MX_RUN_FILE, run);
    metrics = mx_format("%s/metrics.jsonl", run);
    if (d->run == NULL || d->run_json == NULL || metrics == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    d->folder = open(run, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (d->folder < 0)
        MX_RAISE(MX_ERR_IO, "name the folder of a run", "cannot open the folder %s: %s", run, strerror(errno));
    MX_TRY(mx_follow_open(metrics, &d->metrics));
    MX_TRY(mx_dash_log_open(&d->log, mx_clock_ns()));
    MX_TRY(mx_dash_serve_open(d));
    rc = mx_thread_start(&d->thread, "dashboard", -1, serve, d);
    if (rc < 0) {
        mx_dash_serve_close(d);
        goto out;
    }
    d->started = true;
out:
    mx_free(metrics);
    return rc;
}

void mx_dashboard_close(struct mx_dashboard *d)
{
    if (d == NULL) return;
    if (d->started) {
        atomic_store_explicit(&d->stop, true, memory_order_relaxed);
        pthread_join(d->thread, NULL);
    }
    if (d->listener >= 0) close(d->listener);
    if (d->folder >= 0) close(d->folder);
    mx_dash_blob_leave(d, d->page);
    mx_dash_blob_leave(d, d->run_event);
    mx_follow_close(d->metrics);
    mx_dash_log_close(&d->log);
    mx_free(d->run);
    mx_free(d->run_json);
    mx_free(d);
}

#else

int mx_dashboard_open(const struct mx_dashboard_options *options, struct mx_dashboard **out)
{
    (void)options;
    *out = NULL;
    return MX_FAIL(MX_ERR_UNSUPPORTED,
                   "install libmicrohttpd-dev and build again, or watch the run with 'myxtts monitor RUN'",
                   "this program was built without the dashboard");
}

int mx_dashboard_start(struct mx_dashboard *dashboard, const char *run)
{
    (void)dashboard;
    (void)run;
    return MX_FAIL(MX_ERR_INTERNAL, NULL, "there is no dashboard to start");
}

void mx_dashboard_close(struct mx_dashboard *dashboard)
{
    (void)dashboard;
}

int mx_dashboard_port(const struct mx_dashboard *dashboard)
{
    (void)dashboard;
    return 0;
}

const char *mx_dashboard_url(const struct mx_dashboard *dashboard)
{
    (void)dashboard;
    return "";
}

#endif

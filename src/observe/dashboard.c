/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The dashboard: its port, its thread and how it reads the run; see dashboard.h. HTTP is in dashboard_serve.c.
 */
#include "observe/dashboard.h"

#include <stdio.h>
#include <string.h>

#include "myxtts/error.h"

#ifdef MX_HAVE_MICROHTTPD

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/net/listen.h"
#include "base/thread/pool.h"
#include "observe/dashboard_internal.h"
#include "observe/run.h"

#define NICE          19 /* about a hundredth, at most, of a core that others use, too */
#define WAIT_MS       100
#define TICK_MS       250 /* between two polls of the files */
#define CLIENT_MS     10  /* added for each client: 200 of them get updates every 2.25 s */
#define PATIENCE_MS   20000
#define READ_BYTES    ((size_t)4 << 20) /* of metrics.jsonl in a tick */
#define RUN_MAX       ((size_t)4 << 20) /* bytes of run.json */
#define PAGES_MAX     3                 /* in memory at a time */
#define PAGE_LEAST_MS 1000              /* between two pages; and at least PAGE_RATIO times what one takes */
#define PAGE_RATIO    10

/* ---- address and token ---- */

static const struct mx_listen_use use = {"the dashboard", "--dashboard", MX_DASHBOARD_ADDRESS};

int mx_dashboard_open(const struct mx_dashboard_options *options, struct mx_dashboard **out)
{
    int rc = 0;
    struct mx_listen_address address;
    struct mx_listen_socket listener;
    struct mx_dashboard *d = mx_alloc(1, sizeof *d);
    *out = NULL;
    if (d == NULL) return MX_ERR_NO_MEMORY;
    d->listener = d->folder = -1;
    d->language = options->language;
    d->patience_ns = (uint64_t)(options->patience_ms > 0 ? options->patience_ms : PATIENCE_MS) * MX_NS_PER_MS;
    atomic_init(&d->stop, false);
    MX_TRY(mx_listen_resolve(&use, options->address, &address));
    if (options->token != NULL) {
        MX_TRY(mx_listen_token_check(&use, options->token));
        snprintf(d->token, sizeof d->token, "%s", options->token);
    }
    if (!address.loopback && options->token == NULL)
        MX_RAISE(MX_ERR_USAGE,
                 "make a token with 'openssl rand -hex 16 > token.txt' and add '--dashboard-token-file token.txt', or "
                 "stay on 127.0.0.1 and reach it through 'ssh "
                 "-L 6007:127.0.0.1:6007 HOST'",
                 "the dashboard on %s would show the run to everyone who can reach that address", address.host);
    MX_TRY(mx_listen_open(&use, &address, &listener));
    d->listener = listener.socket;
    d->port = listener.port;
    snprintf(d->url, sizeof d->url, "http://%s/", listener.name);
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
static struct mx_dash_blob *blob_create(char *data, size_t bytes)
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

void mx_dash_blob_release(struct mx_dashboard *d, struct mx_dash_blob *blob)
{
    const bool is_run = blob != NULL && blob->is_run;
    if (blob_drop(blob) && !is_run) d->pages--;
}

/* ---- the page ---- */

static void page_build(struct mx_dashboard *d, uint64_t now)
{
    struct mx_string text = {0};
    const struct mx_page_options options = {.run = d->run, .language = d->language, .live = true};
    const int rc = mx_page_write(&options, &text);
    const uint64_t took = mx_clock_ns() - now;
    d->page_due_ns = now + PAGE_LEAST_MS * MX_NS_PER_MS + PAGE_RATIO * took;
    if (rc < 0) {
        mx_debug("dashboard: no page: %s", mx_error_last()->message);
        mx_error_clear();
        mx_string_release(&text);
        return;
    }
    struct mx_dash_blob *const page = blob_create(text.data, text.length);
    if (page == NULL) {
        mx_error_clear();
        return;
    }
    mx_dash_blob_release(d, d->page);
    d->page = page;
    d->pages++;
    d->page_change = d->change;
    d->page_thinned = d->log.thinned;
}

struct mx_dash_blob *mx_dash_page(struct mx_dashboard *d)
{
    const uint64_t now = mx_clock_ns();
    const bool old = d->page == NULL || d->page_change != d->change || d->page_thinned != d->log.thinned;
    if (old && now >= d->page_due_ns && d->pages < PAGES_MAX) page_build(d, now);
    if (d->page != NULL) d->page->readers++;
    return d->page;
}

/* ---- files of the run ---- */

static void line_add(void *context, char *text, size_t length)
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
static struct mx_dash_blob *run_event_build(const char *json, size_t bytes)
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
    return blob_create(text.data, text.length);
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
        struct mx_dash_blob *const event = run_event_build(json, bytes);
        if (event != NULL) {
            event->is_run = true;
            mx_dash_blob_release(d, d->run_event);
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
    const struct mx_follow_sink sink = {d, line_add, lines_void};
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
    sigaddset(
        &pipe,
        SIGPIPE); /* for the process it means that its output is closed; a client that disconnects must not raise it */
    (void)pthread_sigmask(SIG_BLOCK, &pipe, NULL);
    (void)setpriority(PRIO_PROCESS, (id_t)gettid(), NICE);
    while (!atomic_load_explicit(&d->stop, memory_order_relaxed)) {
        const uint64_t now = mx_clock_ns();
        if (now >= due) {
            files_read(d);
            mx_dash_serve_tick(d);
            due = now + (TICK_MS + CLIENT_MS * d->serving) * MX_NS_PER_MS;
        }
        const uint64_t left_ms = (due > now ? due - now : 0) / MX_NS_PER_MS + 1;
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
    mx_dash_blob_release(d, d->page);
    mx_dash_blob_release(d, d->run_event);
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
    return MX_FAIL(
        MX_ERR_UNSUPPORTED,
        "'make build' installs libmicrohttpd-dev and builds it in; or watch the run with 'myxtts monitor RUN'",
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

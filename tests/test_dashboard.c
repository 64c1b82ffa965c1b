/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The dashboard through its own door: raw HTTP over sockets against a server that really runs. What it serves, all that
 * it refuses, events, and as many clients as it takes and more.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/net/listen.h"
#include "myxtts/error.h"
#include "observe/dashboard.h"
#include "observe/dashboard_log.h"
#include "support/dial.h"

/* ---- the log ---- */

static void test_log_bounded(void **state)
{
    struct mx_dash_log log;
    char line[1024];
    int64_t last_step = -1;
    (void)state;
    assert_int_equal(mx_dash_log_open(&log, 0xabc), 0);
    assert_false(mx_dash_log_add(&log, "", 0));
    assert_false(mx_dash_log_add(&log, "{\"loss\":1}", 10));
    assert_false(mx_dash_log_add(&log, "{\"step\":x}", 10));
    const uint64_t allocations = mx_alloc_count();
    for (int i = 1; i <= 50000; i++) {
        const bool evaluation = i % 500 == 0;
        const int length =
            snprintf(line, sizeof line, "{\"step\":%d,\"%s\":%0*d}", i, evaluation ? "evaluation" : "loss", i % 700, 1);
        assert_true(mx_dash_log_add(&log, line, (size_t)length));
        assert_true(log.used <= MX_DASH_LOG_BYTES && log.count <= MX_DASH_LOG_EVENTS);
    }
    assert_int_equal(mx_alloc_count(), allocations);
    assert_true(log.thinned > 0);
    /* In order, none lost of the newest, all evaluations there, each a whole event. */
    int evaluations = 0;
    uint64_t seen = 0;
    for (const struct mx_dash_event *e; (e = mx_dash_log_after(&log, seen)) != NULL; seen = e->number) {
        char head[64];
        assert_true(e->step > last_step && e->number == (uint64_t)e->step);
        const int length =
            snprintf(head, sizeof head, "id: abc-%" PRIu64 "\ndata: {\"step\":%" PRId64 ",", e->number, e->step);
        assert_memory_equal(log.bytes + e->at, head, (size_t)length);
        assert_memory_equal(log.bytes + e->at + e->length - 3, "}\n\n", 3);
        evaluations += e->kept;
        last_step = e->step;
    }
    assert_int_equal(last_step, 50000);
    assert_int_equal(evaluations, 100);
    assert_int_equal(mx_dash_log_before_step(&log, 49999), 49998);
    assert_int_equal(mx_dash_log_number(&log, "abc-49990"), 49990);
    assert_int_equal(mx_dash_log_number(&log, "abd-49990"), 0);
    assert_int_equal(mx_dash_log_number(&log, "abc-60000"), 0);
    assert_int_equal(mx_dash_log_number(&log, "abc-1x"), 0);
    mx_dash_log_clear(&log);
    assert_null(mx_dash_log_after(&log, 0));
    assert_true(mx_dash_log_add(&log, "{\"step\":1,\"loss\":1}", 19));
    assert_int_equal(mx_dash_log_after(&log, 0)->number, 50001);
    mx_dash_log_close(&log);
}

#ifndef MX_HAVE_MICROHTTPD

static void test_without(void **state)
{
    const struct mx_dashboard_options options = {.address = MX_DASHBOARD_ADDRESS};
    struct mx_dashboard *dashboard;
    (void)state;
    assert_int_equal(mx_dashboard_open(&options, &dashboard), MX_ERR_UNSUPPORTED);
    assert_non_null(strstr(mx_error_last()->hint, "libmicrohttpd-dev"));
    assert_null(dashboard);
    mx_dashboard_close(dashboard);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_log_bounded), cmocka_unit_test(test_without)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

#define TOKEN   "0123456789abcdef-._~"
#define WAIT_MS 20000 /* for an answer; a machine that is busy with other things needs some of it */

/* ---- a run and its server ---- */

struct rig {
    char folder[32], path[96];
    struct mx_dashboard *dashboard;
    int port;
};

static void file_write(struct rig *rig, const char *name, const void *data, size_t bytes)
{
    snprintf(rig->path, sizeof rig->path, "%s/%s", rig->folder, name);
    FILE *const file = fopen(rig->path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

/* As a run writes it: whole. */
static void run_write(struct rig *rig, const char *json)
{
    snprintf(rig->path, sizeof rig->path, "%s/run.json", rig->folder);
    assert_int_equal(mx_file_write_atomic(rig->path, json, strlen(json)), 0);
}

static void steps_append(struct rig *rig, int first, int last)
{
    snprintf(rig->path, sizeof rig->path, "%s/metrics.jsonl", rig->folder);
    FILE *const file = fopen(rig->path, "ab");
    assert_non_null(file);
    for (int i = first; i <= last; i++)
        fprintf(file, "{\"step\":%d,\"epoch\":0,\"loss\":%d.5,\"step_ms\":9.0}\n", i, i);
    assert_int_equal(fclose(file), 0);
}

static void rig_open(struct rig *rig, const char *token, int patience_ms)
{
    const struct mx_dashboard_options options = {.address = "127.0.0.1:0", .token = token, .patience_ms = patience_ms};
    strcpy(rig->folder, "/tmp/myxtts-test-XXXXXX");
    assert_non_null(mkdtemp(rig->folder));
    assert_int_equal(mx_dashboard_open(&options, &rig->dashboard), 0);
    rig->port = mx_dashboard_port(rig->dashboard);
    assert_true(rig->port > 0);
    assert_int_equal(mx_dashboard_start(rig->dashboard, rig->folder), 0);
}

static void rig_close(struct rig *rig)
{
    char command[64];
    mx_dashboard_close(rig->dashboard);
    snprintf(command, sizeof command, "rm -rf %s", rig->folder);
    assert_int_equal(system(command), 0);
}

/* ---- raw HTTP ---- */

/* All of it, as far as the server takes it: one that refuses may close first. */
static void send_all(int s, const char *text)
{
    for (size_t at = 0, all = strlen(text); at < all;) {
        const ssize_t done = send(s, text + at, all - at, MSG_NOSIGNAL);
        if (done <= 0) return;
        at += (size_t)done;
    }
}

static int ask(const struct rig *rig, const char *method, const char *address, const char *headers)
{
    const int s = dial(rig->port);
    char *const request =
        mx_format("%s %s HTTP/1.1\r\nHost: localhost:%d\r\n%s\r\n", method, address, rig->port, headers);
    assert_non_null(request);
    send_all(s, request);
    mx_free(request);
    return s;
}

struct answer {
    char *data;
    size_t bytes;
    int status;       /* 0: none came */
    const char *body; /* in data */
};

/* Reads until the server closes. */
static struct answer answer_read(int s)
{
    struct answer a = {.data = mx_alloc(1, 1)};
    for (;;) {
        struct pollfd ready = {.fd = s, .events = POLLIN};
        assert_int_equal(poll(&ready, 1, WAIT_MS), 1);
        a.data = mx_realloc(a.data, a.bytes + 65537, 1);
        assert_non_null(a.data);
        const ssize_t got = recv(s, a.data + a.bytes, 65536, 0);
        a.data[a.bytes + (size_t)(got > 0 ? got : 0)] = '\0';
        if (got <= 0) break;
        a.bytes += (size_t)got;
    }
    close(s);
    if (a.bytes > 12) a.status = atoi(a.data + 9);
    const char *const end = strstr(a.data, "\r\n\r\n");
    a.body = end != NULL ? end + 4 : a.data + a.bytes;
    return a;
}

static void answer_free(struct answer *a)
{
    mx_free(a->data);
}

static int status_of(const struct rig *rig, const char *method, const char *address, const char *headers)
{
    struct answer a = answer_read(ask(rig, method, address, headers));
    const int status = a.status;
    answer_free(&a);
    return status;
}

/* Reads on until `words` came, into `heard` (zero-terminated). */
static void hear(int s, char *heard, size_t size, const char *words)
{
    size_t used = strlen(heard);
    const uint64_t end = mx_clock_ns() + WAIT_MS * UINT64_C(1000000);
    while (strstr(heard, words) == NULL) {
        struct pollfd ready = {.fd = s, .events = POLLIN};
        if (poll(&ready, 1, WAIT_MS) != 1 || mx_clock_ns() > end) fail_msg("'%s' did not come, but: %s", words, heard);
        const ssize_t got = recv(s, heard + used, size - 1 - used, 0);
        if (got <= 0) fail_msg("closed before '%s' came: %s", words, heard);
        used += (size_t)got;
        heard[used] = '\0';
    }
}

/* ---- opening ---- */

static void refused(const char *address, const char *token, int code, const char *message, const char *hint)
{
    const struct mx_dashboard_options options = {.address = address, .token = token};
    struct mx_dashboard *dashboard;
    assert_int_equal(mx_dashboard_open(&options, &dashboard), code);
    assert_null(dashboard);
    if (strstr(mx_error_last()->message, message) == NULL || strstr(mx_error_last()->hint, hint) == NULL)
        fail_msg("%s: %s; hint: %s", address, mx_error_last()->message, mx_error_last()->hint);
    mx_error_clear();
}

static void test_open_refused(void **state)
{
    char longer[MX_LISTEN_TOKEN_MAX + 2], taken[32];
    struct mx_dashboard *dashboard;
    const struct mx_dashboard_options good = {.address = "0"};
    (void)state;
    static const char *const addresses[] = {"",         "here",     "127.0.0.1",     "127.0.0.1:",   "127.0.0.1:65536",
                                            "1:2:3",    "::1:6007", "127.0.0.1:80x", "127.0.0.1:-1", "127.0.0.1:+5",
                                            "[::1]6007"};
    for (size_t i = 0; i < sizeof addresses / sizeof addresses[0]; i++)
        refused(addresses[i], NULL, MX_ERR_USAGE, "not a valid address", "ADDRESS:PORT");
    refused("no.such.host.invalid:1", NULL, MX_ERR_USAGE, "cannot resolve", "numbers");
    refused("0.0.0.0:0", NULL, MX_ERR_USAGE, "everyone", "--dashboard-token");
    refused("[::]:0", NULL, MX_ERR_USAGE, "everyone", "--dashboard-token");
    refused("192.0.2.1:0", TOKEN, MX_ERR_IO, "cannot use port", "no such address");
    refused("0", "short", MX_ERR_USAGE, "token", "openssl");
    refused("0", "0123456789abcdef!", MX_ERR_USAGE, "token", "openssl");
    refused("0", "", MX_ERR_USAGE, "token", "openssl");
    memset(longer, 'a', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    refused("0", longer, MX_ERR_USAGE, "token", "openssl");
    assert_int_equal(mx_dashboard_open(&good, &dashboard), 0);
    snprintf(taken, sizeof taken, "127.0.0.1:%d", mx_dashboard_port(dashboard));
    refused(taken, NULL, MX_ERR_IO, "in use", "another port, '--dashboard 127.0.0.1:");
    mx_dashboard_close(dashboard); /* was never started */
    const struct mx_dashboard_options open = {.address = "0.0.0.0:0", .token = TOKEN};
    assert_int_equal(mx_dashboard_open(&open, &dashboard), 0);
    assert_non_null(strstr(mx_dashboard_url(dashboard), "http://0.0.0.0:"));
    mx_dashboard_close(dashboard);
}

/* ---- what it serves ---- */

static void test_page(void **state)
{
    struct rig rig;
    (void)state;
    rig_open(&rig, NULL, 0);
    struct answer a = answer_read(ask(&rig, "GET", "/", ""));
    assert_int_equal(a.status, 503); /* nothing is there yet: it comes by itself */
    assert_non_null(strstr(a.data, "Refresh: 2"));
    answer_free(&a);
    steps_append(&rig, 1, 20);
    for (int i = 0; i < 100; i++) { /* a page is made at most once a second */
        a = answer_read(ask(&rig, "GET", "/?x=1", ""));
        if (a.status == 200) break;
        answer_free(&a);
        mx_clock_sleep_ns(50000000);
    }
    assert_int_equal(a.status, 200);
    assert_non_null(strstr(a.data, "Content-Type: text/html; charset=utf-8"));
    assert_non_null(strstr(a.data, "Content-Security-Policy: default-src 'none';"));
    assert_non_null(strstr(a.data, "X-Content-Type-Options: nosniff"));
    assert_non_null(strstr(a.data, "Referrer-Policy: no-referrer"));
    assert_non_null(strstr(a.data, "Cache-Control: no-store"));
    assert_non_null(strstr(a.body, "data-live"));
    assert_non_null(strstr(a.body, "</html>"));
    answer_free(&a);
    a = answer_read(ask(&rig, "HEAD", "/", ""));
    assert_int_equal(a.status, 200);
    assert_string_equal(a.body, "");
    answer_free(&a);
    rig_close(&rig);
}

static void test_files(void **state)
{
    struct rig rig;
    const size_t bytes = 3000000;
    char *const sound = mx_alloc(bytes, 1);
    char link[128], samples[64];
    (void)state;
    rig_open(&rig, NULL, 0);
    for (size_t i = 0; i < bytes; i++) sound[i] = (char)(i * 7 + i / 251);
    snprintf(samples, sizeof samples, "%s/samples", rig.folder);
    assert_int_equal(mkdir(samples, 0700), 0);
    snprintf(link, sizeof link, "%s/step-00000020", samples);
    assert_int_equal(mkdir(link, 0700), 0);
    file_write(&rig, "samples/step-00000020/000.wav", sound, bytes);
    file_write(&rig, "samples/step-00000020/target.png", "PNG", 3);
    file_write(&rig, "config.yaml", "secret", 6);
    snprintf(link, sizeof link, "%s/step-00000020/001.wav", samples);
    assert_int_equal(symlink("../../config.yaml", link), 0);
    snprintf(link, sizeof link, "%s/step-00000020/002.wav", samples);
    assert_int_equal(mkdir(link, 0700), 0);
    steps_append(&rig, 1, 3);
    struct answer a = answer_read(ask(&rig, "GET", "/samples/step-00000020/000.wav", ""));
    assert_int_equal(a.status, 200);
    assert_non_null(strstr(a.data, "Content-Type: audio/wav"));
    assert_int_equal(a.bytes - (size_t)(a.body - a.data), bytes);
    assert_memory_equal(a.body, sound, bytes);
    answer_free(&a);
    a = answer_read(ask(&rig, "GET", "/samples/step-00000020/target.png", ""));
    assert_int_equal(a.status, 200);
    assert_string_equal(a.body, "PNG");
    answer_free(&a);
    a = answer_read(ask(&rig, "GET", "/metrics.jsonl", ""));
    assert_int_equal(a.status, 200);
    assert_non_null(strstr(a.body, "{\"step\":3,"));
    answer_free(&a);
    static const char *const missing[] = {"/config.yaml",
                                          "/samples/step-00000020/001.wav", /* a link */
                                          "/samples/step-00000020/002.wav", /* a folder */
                                          "/samples/step-00000020/003.wav",
                                          "/samples/step-00000021/000.wav",
                                          "/samples/step-20/000.wav",
                                          "/samples/step-+0000020/000.wav",
                                          "/samples/step-00000020/0.wav",
                                          "/samples/step-00000020/000.wav/",
                                          "/samples/step-00000020/000.wavx",
                                          "/samples/step-00000020/000.sh",
                                          "/samples/step-00000020/other.png",
                                          "/samples/step-00000020/",
                                          "/samples",
                                          "//",
                                          "/.",
                                          "/..",
                                          "/../config.yaml",
                                          "/samples/../config.yaml",
                                          "/samples/step-00000020/../../config.yaml",
                                          "/%2e%2e/config.yaml",
                                          "/samples/step-00000020/%2e%2e/%2e%2e/config.yaml",
                                          "/..%2fconfig.yaml",
                                          "/metrics.jsonl%00",
                                          "/metrics.jsonl/../config.yaml",
                                          "/etc/passwd",
                                          "/\\..\\config.yaml",
                                          "/index.html"};
    for (size_t i = 0; i < sizeof missing / sizeof missing[0]; i++)
        if (status_of(&rig, "GET", missing[i], "") != 404) fail_msg("%s is not refused", missing[i]);
    mx_free(sound);
    rig_close(&rig);
}

/* ---- what it refuses ---- */

static void test_requests_refused(void **state)
{
    struct rig rig;
    (void)state;
    rig_open(&rig, NULL, 0);
    steps_append(&rig, 1, 2);
    static const char *const methods[] = {"POST", "PUT", "DELETE", "OPTIONS", "PATCH", "CONNECT", "TRACE", "get", "X"};
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
        struct answer a = answer_read(ask(&rig, methods[i], "/metrics.jsonl", ""));
        if (a.status != 405) fail_msg("%s: %s", methods[i], a.data);
        assert_non_null(strstr(a.data, "Allow: GET, HEAD"));
        answer_free(&a);
    }
    assert_int_equal(status_of(&rig, "POST", "/", "Content-Length: 5\r\n\r\nhello"), 405);
    /* Another site's name for this machine. */
    int s = dial(rig.port);
    send_all(s, "GET /metrics.jsonl HTTP/1.1\r\nHost: evil.example\r\n\r\n");
    struct answer a = answer_read(s);
    assert_int_equal(a.status, 403);
    answer_free(&a);
    static const char *const hosts[] = {"localhost", "LocalHost:1", "127.0.0.1:6007", "127.9.9.9", "[::1]:6007"};
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
        char request[128];
        snprintf(request, sizeof request, "GET /metrics.jsonl HTTP/1.1\r\nHost: %s\r\n\r\n", hosts[i]);
        s = dial(rig.port);
        send_all(s, request);
        a = answer_read(s);
        if (a.status != 200) fail_msg("host %s: %s", hosts[i], a.data);
        answer_free(&a);
    }
    static const char *const strange[] = {"127.0.0.1.evil.example",
                                          "localhost.evil.example",
                                          "xlocalhost",
                                          "[::2]",
                                          "[::1]evil",
                                          "[::1",
                                          "[::1]:6007.evil",
                                          "localhost:1evil",
                                          ""};
    for (size_t i = 0; i < sizeof strange / sizeof strange[0]; i++) {
        char request[128];
        snprintf(request, sizeof request, "GET /metrics.jsonl HTTP/1.1\r\nHost: %s\r\n\r\n", strange[i]);
        s = dial(rig.port);
        send_all(s, request);
        a = answer_read(s);
        if (a.status != 403) fail_msg("host %s: %s", strange[i], a.data);
        answer_free(&a);
    }
    rig_close(&rig);
}

/* A request whose address or headers are `bytes` long. */
static int status_oversized(const struct rig *rig, size_t bytes, bool header)
{
    char *const filler = mx_alloc(bytes + 1, 1);
    memset(filler, 'a', bytes);
    char *const request = header ? mx_format("GET / HTTP/1.1\r\nHost: localhost\r\nX-Filler: %s\r\n\r\n", filler)
                                 : mx_format("GET /metrics.jsonl?%s HTTP/1.1\r\nHost: localhost\r\n\r\n", filler);
    const int s = dial(rig->port);
    send_all(s, request);
    struct answer a = answer_read(s);
    const int status = a.status;
    answer_free(&a);
    mx_free(request);
    mx_free(filler);
    return status;
}

static void test_oversized(void **state)
{
    struct rig rig;
    (void)state;
    rig_open(&rig, NULL, 0);
    steps_append(&rig, 1, 2);
    assert_int_equal(status_oversized(&rig, 900, false), 200);
    assert_int_equal(status_oversized(&rig, 2000, false), 414);
    assert_int_equal(status_oversized(&rig, 40000, false), 414);
    /* Refused, or cut off before the answer could be read: the rest of the request is still on its way. */
    const int headers = status_oversized(&rig, 40000, true), many = status_oversized(&rig, 4000000, true);
    assert_true(headers == 431 || headers == 0);
    assert_true(many == 431 || many == 0);
    int s = dial(rig.port);
    send_all(s, "\x16\x03\x01 no HTTP at all\r\n\r\n");
    struct answer a = answer_read(s);
    assert_true(a.status == 400 || a.status == 0);
    answer_free(&a);
    assert_int_equal(status_of(&rig, "GET", "/metrics.jsonl", ""), 200); /* still there */
    rig_close(&rig);
}

static void test_token(void **state)
{
    struct rig rig;
    (void)state;
    rig_open(&rig, TOKEN, 0);
    steps_append(&rig, 1, 2);
    static const char *const doors[] = {"/", "/events", "/metrics.jsonl", "/samples/step-00000001/000.wav", "/nothing"};
    for (size_t i = 0; i < sizeof doors / sizeof doors[0]; i++) {
        struct answer a = answer_read(ask(&rig, "GET", doors[i], ""));
        if (a.status != 401) fail_msg("%s without a token: %s", doors[i], a.data);
        assert_non_null(strstr(a.data, "WWW-Authenticate: Bearer"));
        assert_null(strstr(a.data, TOKEN));
        answer_free(&a);
    }
    static const char *const wrong[] = {"/metrics.jsonl?token=",
                                        "/metrics.jsonl?token",
                                        "/metrics.jsonl?token=0123456789abcdef-._",
                                        ("/metrics.jsonl?token=" TOKEN "x"),
                                        "/metrics.jsonl?token=1123456789abcdef-._~",
                                        ("/metrics.jsonl?x=" TOKEN)};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        if (status_of(&rig, "GET", wrong[i], "") != 401) fail_msg("%s is let in", wrong[i]);
    assert_int_equal(status_of(&rig, "GET", "/metrics.jsonl", "Authorization: Bearer \r\n"), 401);
    assert_int_equal(status_of(&rig, "GET", "/metrics.jsonl", "Authorization: Basic " TOKEN "\r\n"), 401);
    assert_int_equal(status_of(&rig, "GET", "/metrics.jsonl", "Authorization: Bearer " TOKEN "x\r\n"), 401);
    assert_int_equal(status_of(&rig, "POST", "/metrics.jsonl?token=" TOKEN, ""), 405);
    assert_int_equal(status_of(&rig, "GET", "/metrics.jsonl?token=" TOKEN, ""), 200);
    assert_int_equal(status_of(&rig, "GET", "/metrics.jsonl?a=b&token=" TOKEN "&c=d", ""), 200);
    assert_int_equal(status_of(&rig, "GET", "/metrics.jsonl", "Authorization: Bearer " TOKEN "\r\n"), 200);
    assert_int_equal(status_of(&rig, "GET", "/nothing?token=" TOKEN, ""), 404);
    /* The page comes with a cookie, so that the token need not stay in its address. */
    char set[128], cookie[128];
    snprintf(set, sizeof set, "Set-Cookie: myxtts_%d=" TOKEN "; Path=/; HttpOnly; SameSite=Strict",
             mx_dashboard_port(rig.dashboard));
    struct answer page = answer_read(ask(&rig, "GET", "/?token=" TOKEN, ""));
    assert_int_equal(page.status, 200);
    assert_non_null(strstr(page.data, set));
    answer_free(&page);
    snprintf(cookie, sizeof cookie, "Cookie: a=b; myxtts_%d=" TOKEN "\r\n", mx_dashboard_port(rig.dashboard));
    assert_int_equal(status_of(&rig, "GET", "/metrics.jsonl", cookie), 200);
    snprintf(cookie, sizeof cookie, "Cookie: myxtts_%d=" TOKEN "\r\n", mx_dashboard_port(rig.dashboard) + 1);
    assert_int_equal(status_of(&rig, "GET", "/metrics.jsonl", cookie), 401);
    snprintf(cookie, sizeof cookie, "Cookie: myxtts_%d=\r\n", mx_dashboard_port(rig.dashboard));
    assert_int_equal(status_of(&rig, "GET", "/metrics.jsonl", cookie), 401);
    rig_close(&rig);
}

/* ---- events ---- */

static void test_events(void **state)
{
    struct rig rig;
    char heard[65536] = "", again[65536] = "", id[64] = "";
    (void)state;
    rig_open(&rig, NULL, 0);
    steps_append(&rig, 1, 10);
    run_write(&rig, "{\"state\":\n\"training\"}\n");
    int s = ask(&rig, "GET", "/events", ""); /* what the server has not read yet it would tell as new */
    hear(s, again, sizeof again, "data: {\"step\":10,");
    close(s);
    again[0] = '\0';
    s = ask(&rig, "GET", "/events?after=8", "");
    hear(s, heard, sizeof heard, "data: {\"step\":10,\"epoch\":0,\"loss\":10.5,\"step_ms\":9.0}\n\n");
    hear(s, heard, sizeof heard, "event: run\ndata: {\"state\":\ndata: \"training\"}\n\n");
    assert_non_null(strstr(heard, "Content-Type: text/event-stream"));
    assert_non_null(strstr(heard, "data: {\"step\":8,"));
    assert_null(strstr(heard, "data: {\"step\":7,"));
    steps_append(&rig, 11, 12);
    hear(s, heard, sizeof heard, "data: {\"step\":12,");
    snprintf(rig.path, sizeof rig.path, "%s/metrics.jsonl", rig.folder);
    FILE *file = fopen(rig.path, "ab");
    fprintf(file, "{\"step\":13,\"lo"); /* half a line: it is ignored */
    fclose(file);
    run_write(&rig, "{\"state\":\"done\"}");
    hear(s, heard, sizeof heard, "event: run\ndata: {\"state\":\"done\"}\n\n");
    assert_null(strstr(heard, "\"step\":13"));
    snprintf(rig.path, sizeof rig.path, "%s/metrics.jsonl", rig.folder);
    file = fopen(rig.path, "ab");
    fprintf(file, "ss\":1}\n");
    fclose(file);
    hear(s, heard, sizeof heard, "data: {\"step\":13,\"loss\":1}\n\n");
    close(s);
    /* A browser that comes back says what it saw last, and gets what came after it. */
    const char *const last = strstr(heard, "data: {\"step\":12,");
    const char *start = last;
    while (strncmp(start, "id: ", 4) != 0) start--;
    snprintf(id, sizeof id, "Last-Event-ID: %.*s\r\n", (int)(strcspn(start, "\n") - 4), start + 4);
    s = ask(&rig, "GET", "/events?after=2", id);
    hear(s, again, sizeof again, "data: {\"step\":13,");
    assert_null(strstr(again, "data: {\"step\":12,"));
    /* The end of the run is the end of the stream, in order. */
    mx_dashboard_close(rig.dashboard);
    rig.dashboard = NULL;
    struct answer rest = answer_read(s);
    answer_free(&rest);
    rig_close(&rig);
}

/* A resumed run has another history: its lines are sent again. */
static void test_events_anew(void **state)
{
    struct rig rig;
    char heard[65536] = "";
    (void)state;
    rig_open(&rig, NULL, 0);
    steps_append(&rig, 1, 3);
    const int s = ask(&rig, "GET", "/events", "");
    hear(s, heard, sizeof heard, "data: {\"step\":3,");
    snprintf(rig.path, sizeof rig.path, "%s/metrics.jsonl", rig.folder);
    static const char other[] = "{\"step\":1,\"loss\":7.25}\n";
    assert_int_equal(mx_file_write_atomic(rig.path, other, sizeof other - 1), 0);
    hear(s, heard, sizeof heard, "data: {\"step\":1,\"loss\":7.25}");
    close(s);
    rig_close(&rig);
}

/* ---- many clients ---- */

static void test_clients_bounded(void **state)
{
    struct rig rig;
    static int sockets[MX_DASHBOARD_CLIENTS];
    static char heard[MX_DASHBOARD_CLIENTS][4096];
    const size_t bytes = (size_t)1 << 20; /* more than the buffers of a connection hold */
    char path[96];
    (void)state;
    rig_open(&rig, NULL, 1500);
    snprintf(path, sizeof path, "%s/samples", rig.folder);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/samples/recorded", rig.folder);
    assert_int_equal(mkdir(path, 0700), 0);
    file_write(&rig, "samples/recorded/000.wav", "", 0);
    assert_int_equal(truncate(rig.path, (off_t)bytes), 0);
    steps_append(&rig, 1, 1);
    for (int i = 0; i < MX_DASHBOARD_CLIENTS; i++) {
        heard[i][0] = '\0';
        sockets[i] = ask(&rig, "GET", "/events", "");
        hear(sockets[i], heard[i], sizeof heard[i], "data: {\"step\":1,");
    }
    for (int i = 0; i < 100; i++) { /* far more than there are places */
        struct answer a = answer_read(ask(&rig, "GET", "/metrics.jsonl", ""));
        assert_int_equal(a.status, 503);
        assert_non_null(strstr(a.data, "Retry-After: 30"));
        answer_free(&a);
    }
    steps_append(&rig, 2, 4);
    for (int i = 0; i < MX_DASHBOARD_CLIENTS; i++) hear(sockets[i], heard[i], sizeof heard[i], "data: {\"step\":4,");
    /* A place that is left is given to the next one; here to one that asks for much and reads nothing. */
    close(sockets[0]);
    for (;;) {
        sockets[0] = dial_small(rig.port, 4096);
        send_all(sockets[0], "GET /samples/recorded/000.wav HTTP/1.1\r\nHost: localhost\r\n\r\n");
        heard[0][0] = '\0';
        hear(sockets[0], heard[0], 64, " ");
        if (atoi(heard[0] + 9) == 200) break;
        close(sockets[0]);
    }
    /* It is dropped for it, and its place is free again. All others have stayed. */
    while (status_of(&rig, "GET", "/metrics.jsonl", "") != 200) mx_clock_sleep_ns(50000000);
    struct answer rest = answer_read(sockets[0]);
    assert_true(rest.bytes < bytes);
    answer_free(&rest);
    steps_append(&rig, 5, 5);
    for (int i = 1; i < MX_DASHBOARD_CLIENTS; i++) {
        hear(sockets[i], heard[i], sizeof heard[i], "data: {\"step\":5,");
        close(sockets[i]);
    }
    rig_close(&rig);
}

/* Whoever connects and asks nothing cannot take the places of those who ask. */
static void test_idle_make_room(void **state)
{
    enum { IDLE = MX_DASHBOARD_CLIENTS + 100 };
    static int idle[IDLE];
    struct rig rig;
    (void)state;
    rig_open(&rig, "a-token-that-is-long-enough", 3600 * 1000);
    steps_append(&rig, 1, 1);
    for (int i = 0; i < IDLE; i++) idle[i] = dial(rig.port);
    const int s = ask(&rig, "GET", "/metrics.jsonl?token=a-token-that-is-long-enough", "");
    /* Otherwise they would keep their places for 40 s, when the server itself gives them up. */
    assert_int_equal(poll(&(struct pollfd){.fd = s, .events = POLLIN}, 1, 30000), 1);
    struct answer a = answer_read(s);
    assert_int_equal(a.status, 200);
    answer_free(&a);
    for (int i = 0; i < IDLE; i++) close(idle[i]);
    rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_log_bounded),
        cmocka_unit_test(test_open_refused),
        cmocka_unit_test(test_page),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_requests_refused),
        cmocka_unit_test(test_oversized),
        cmocka_unit_test(test_token),
        cmocka_unit_test(test_events),
        cmocka_unit_test(test_events_anew),
        cmocka_unit_test(test_clients_bounded),
        cmocka_unit_test(test_idle_make_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif

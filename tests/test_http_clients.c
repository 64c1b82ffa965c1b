/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The HTTP server through its own door: many clients, slow ones, clients that disconnect, and shutdown. The service is
 * http/service.c.
 */
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "http/client.h"
#include "http/service.h"
#include "myxtts/error.h"
#include "serve/http.h"
#include "support/dial.h"

/* Sends a request for a text and does not wait for the answer. */
static int speak_begin(const struct mx_http *http, const char *input)
{
    char head[512];
    const int s = client_connect(http);
    snprintf(head, sizeof head,
             "POST /v1/audio/speech HTTP/1.1\r\nHost: localhost\r\nContent-Length: %zu\r\n\r\n{\"input\":\"%s\"}",
             strlen(input) + 12, input);
    send_all(s, head, strlen(head));
    return s;
}

static void queue_full(void **state)
{
    struct mx_http *const http = http_start(&(struct mx_http_options){0});
    int waiting[8];
    (void)state;
    hold(true);
    for (int i = 0; i < 8; i++) waiting[i] = speak_begin(http, "HOLD this");
    active_wait(8);
    struct answer a = speak(http, "{\"input\":\"one more\"}");
    assert_non_null(strstr(a.head, "Retry-After: 7"));
    expect_error(a, 429, "rate_limit_exceeded", NULL);
    /* Who goes away frees a place at once, although no sound has come. */
    for (int i = 0; i < 4; i++) close(waiting[i]);
    active_wait(4);
    hold(false);
    a = speak(http, "{\"input\":\"one more\"}");
    assert_int_equal(a.status, 200);
    answer_release(&a);
    for (int i = 4; i < 8; i++) {
        FILE *const in = fdopen(waiting[i], "r");
        a = answer_read(in, false);
        assert_int_equal(a.status, 200);
        assert_true(a.whole);
        answer_release(&a);
        fclose(in);
    }
    active_wait(0);
    struct mx_http_counts counts;
    do { /* counted a moment after the place is free */
        poll(NULL, 0, 5);
        mx_http_counts_read(http, &counts);
    } while (counts.gone < 4);
    assert_int_equal(counts.gone, 4);
    mx_http_close(http);
}

/* Reads until the server closes the connection. */
static void closed_wait(int s)
{
    char bytes[4096];
    while (recv(s, bytes, sizeof bytes, 0) > 0) continue;
    close(s);
}

static void slow_clients(void **state)
{
    struct mx_http *const http = http_start(&(struct mx_http_options){.patience_ms = 300});
    char text[16000];
    (void)state;
    /* One that never asks; one whose headers, and one whose body never ends. */
    const int silent = client_connect(http), head = client_connect(http), body = client_connect(http);
    send_all(head, "GET /health HTTP/1.1\r\nHost:", 27);
    send_all(body, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nhello", 63);
    closed_wait(silent);
    closed_wait(head);
    closed_wait(body);
    /* One that does not read: five minutes of sound do not fit into the buffers of the system. */
    memset(text, 'a', sizeof text);
    text[sizeof text - 1] = '\0';
    char *const request = mx_format("{\"input\":\"%s\",\"response_format\":\"wav\"}", text);
    const int deaf = client_connect(http);
    char *const all = mx_format("POST /v1/audio/speech HTTP/1.1\r\nHost: localhost\r\nContent-Length: %zu\r\n\r\n%s",
                                strlen(request), request);
    const int begun = begun_count();
    send_all(deaf, all, strlen(all));
    ended_wait(begun);
    closed_wait(deaf);
    mx_free(request);
    mx_free(all);
    /* One that waits for the server is not slow. */
    hold(true);
    const int patient = speak_begin(http, "HOLD");
    active_wait(1);
    poll(NULL, 0, 700);
    hold(false);
    FILE *const in = fdopen(patient, "r");
    struct answer a = answer_read(in, false);
    assert_int_equal(a.status, 200);
    assert_true(a.whole);
    answer_release(&a);
    fclose(in);
    struct mx_http_counts counts;
    mx_http_counts_read(http, &counts);
    assert_true(counts.slow >= 1);
    mx_http_close(http);
}

static void health_from(const struct mx_http *http, const char *own, int status)
{
    const int s = dial_from(mx_http_port(http), own);
    FILE *const in = fdopen(s, "r");
    struct answer a = ask_on(s, in, "GET", "/health", NULL, "", 0);
    assert_int_equal(a.status, status);
    answer_release(&a);
    fclose(in);
}

static void many_connections(void **state)
{
    /* At a socket for IPv4 and IPv6, if there is IPv6: IPv4 addresses are distinguished there, too. */
    struct mx_http *http;
    const struct mx_http_options wide = {.address = "[::]:0", .insecure = true, .connections_per_address = 3};
    const bool six = mx_http_open(&wide, &service, &http) == 0;
    int taken[3];
    (void)state;
    if (six) mx_http_close(http);
    mx_error_clear();
    http = http_start(six ? &wide : &(struct mx_http_options){.connections_per_address = 3});
    hold(true);
    for (int i = 0; i < 3; i++) taken[i] = speak_begin(http, "HOLD");
    active_wait(3);
    struct answer a = ask(http, "GET", "/health", NULL, NULL);
    assert_non_null(strstr(a.head, "Retry-After: 7"));
    assert_non_null(strstr(a.head, "Connection: close"));
    expect_error(a, 429, "too_many_connections", NULL);
    health_from(http, "127.0.0.2", 200); /* others are not concerned */
    health_from(http, "127.0.0.1", 429);
    close(taken[0]);
    active_wait(2);
    for (;;) { /* the daemon notices a moment later */
        a = ask(http, "GET", "/health", NULL, NULL);
        const int status = a.status;
        answer_release(&a);
        if (status == 200) break;
        assert_int_equal(status, 429);
    }
    hold(false);
    close(taken[1]);
    close(taken[2]);
    active_wait(0);
    mx_http_close(http);
}

/* Connections that only wait, or never send the end of a request, keep nobody out. */
static void idle_connections(void **state)
{
    struct mx_http *const http = http_start(&(struct mx_http_options){.connections_per_address = 4});
    static const char half[] = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nhe";
    struct mx_http_counts counts;
    int idle[4];
    (void)state;
    for (int i = 0; i < 4; i++) {
        idle[i] = client_connect(http);
        if (i == 3) send_all(idle[i], half, strlen(half));
        do mx_http_counts_read(http, &counts);
        while (counts.connections < (uint64_t)i + 1);
    }
    for (int i = 0; i < 4; i++) {
        const int s = client_connect(http);
        FILE *const in = fdopen(s, "r");
        struct answer a = ask_on(s, in, "GET", "/health", NULL, "", 0);
        assert_int_equal(a.status, 200);
        answer_release(&a);
        closed_wait(idle[i]); /* the oldest has made room */
        mx_http_counts_read(http, &counts);
        assert_int_equal(counts.displaced, i + 1);
        assert_int_equal(counts.refused, 0);
        idle[i] = dup(s);
        fclose(in);
    }
    for (int i = 0; i < 4; i++) close(idle[i]);
    mx_http_close(http);
}

/* Several requests on one connection. */
static void keep_alive(void **state)
{
    struct mx_http *const http = http_start(&(struct mx_http_options){0});
    const int s = client_connect(http);
    FILE *const in = fdopen(s, "r");
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct answer a = ask_on(s, in, "POST", "/v1/audio/speech", NULL, "{\"input\":\"Hello\"}", 17);
        assert_int_equal(a.status, 200);
        assert_true(a.whole);
        answer_release(&a);
        a = ask_on(s, in, "GET", "/nothing", NULL, "", 0);
        expect_error(a, 404, "unknown_url", NULL);
    }
    fclose(in);
    mx_http_close(http);
}

static void *release_later(void *context)
{
    (void)context;
    poll(NULL, 0, 200);
    hold(false);
    return NULL;
}

/* Draining: nobody new, and who is there hears the end. Closing: cut off at once. */
static void ends(void **state)
{
    struct mx_http *http = http_start(&(struct mx_http_options){0});
    pthread_t later;
    (void)state;
    hold(true);
    int s = speak_begin(http, "HOLD");
    active_wait(1);
    const int idle = client_connect(http);
    while (true) { /* the server has seen the idle one */
        struct mx_http_counts counts;
        mx_http_counts_read(http, &counts);
        if (counts.connections == 2) break;
        poll(NULL, 0, 5);
    }
    mx_http_drain(http);
    closed_wait(idle);
    assert_int_equal(mx_http_wait(http, 20), MX_ERR_TIMEOUT);
    mx_error_clear();
    assert_int_equal(pthread_create(&later, NULL, release_later, NULL), 0);
    FILE *in = fdopen(s, "r");
    struct answer a = answer_read(in, false);
    assert_true(a.whole && a.status == 200);
    answer_release(&a);
    assert_int_equal(mx_http_wait(http, 60000), 0);
    fclose(in);
    mx_http_close(http);
    pthread_join(later, NULL);
    http = http_start(&(struct mx_http_options){0});
    hold(true);
    s = speak_begin(http, "HOLD");
    active_wait(1);
    mx_http_close(http);
    active_wait(0);
    closed_wait(s);
}

int main(void)
{
#ifndef MX_HAVE_MICROHTTPD
    return http_missing();
#endif
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(queue_full),       cmocka_unit_test(slow_clients), cmocka_unit_test(many_connections),
        cmocka_unit_test(idle_connections), cmocka_unit_test(keep_alive),   cmocka_unit_test(ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

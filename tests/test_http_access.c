/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Who may use the HTTP server without a token, and how much memory whole answers may take. The service is
 * http/service.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "http/client.h"
#include "http/service.h"
#include "myxtts/error.h"
#include "serve/http.h"
#include "support/dial.h"

#define TOKEN "0123456789abcdef"
#define TEXT  "{\"input\":\"Hello\"}"

/* Asks for speech, or for the voices, under this name and from a page of this origin (NULL: from no page). */
static struct answer ask_from(const struct mx_http *http, const char *method, const char *host, const char *origin)
{
    char head[1024];
    const bool post = strcmp(method, "POST") == 0;
    const int s = client_connect(http);
    FILE *const in = fdopen(s, "r");
    const int n = snprintf(head, sizeof head, "%s %s HTTP/1.1\r\nHost: %s\r\nContent-Length: %zu\r\n%s%s%s\r\n%s",
                           method, post ? "/v1/audio/speech" : "/v1/audio/voices", host, post ? strlen(TEXT) : 0,
                           origin != NULL ? "Origin: " : "", origin != NULL ? origin : "", origin != NULL ? "\r\n" : "",
                           post ? TEXT : "");
    send_all(s, head, (size_t)n);
    const struct answer a = answer_read(in, false);
    fclose(in);
    return a;
}

static void expect_status(struct answer a, int status, const char *shared)
{
    assert_int_equal(a.status, status);
    char line[128];
    snprintf(line, sizeof line, "Access-Control-Allow-Origin: %s\n", shared != NULL ? shared : "");
    if (shared != NULL)
        assert_non_null(strstr(a.head, line));
    else
        assert_null(strstr(a.head, "Access-Control-Allow-Origin"));
    answer_release(&a);
}

static void hosts(void **state)
{
    static const char *const names[] = {"speech.lan"};
    static const char *const methods[] = {"GET", "POST", "OPTIONS"};
    const struct mx_http_options plain = {0}, named = {.allow_hosts = names, .allow_host_count = 1},
                                 reachable = {.address = "0.0.0.0:0", .insecure = true};
    struct mx_http *http = http_start(&plain);
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        const int good = i == 2 ? 204 : 200, begun = begun_count();
        expect_error(ask_from(http, methods[i], "evil.example", NULL), 403, "host_not_allowed", NULL);
        expect_error(ask_from(http, methods[i], "127.0.0.1.evil.example:80", NULL), 403, "host_not_allowed", NULL);
        expect_error(ask_from(http, methods[i], "192.168.1.5", NULL), 403, "host_not_allowed", NULL);
        assert_int_equal(begun_count(), begun);
        expect_status(ask_from(http, methods[i], "localhost:8080", NULL), good, NULL);
        expect_status(ask_from(http, methods[i], "127.3.2.1", NULL), good, NULL);
        expect_status(ask_from(http, methods[i], "[::1]:9", NULL), good, NULL);
    }
    struct answer a = ask_from(http, "GET", "speech.lan", NULL);
    assert_non_null(strstr(a.body, "--allow-host"));
    expect_error(a, 403, "host_not_allowed", NULL);
    mx_http_close(http);
    http = http_start(&named);
    expect_status(ask_from(http, "POST", "speech.lan:8080", NULL), 200, NULL);
    expect_error(ask_from(http, "POST", "other.lan", NULL), 403, "host_not_allowed", NULL);
    mx_http_close(http);
    /* Other machines may connect, without a token: they name it by number. */
    http = http_start(&reachable);
    expect_status(ask_from(http, "POST", "192.168.1.5:8080", NULL), 200, NULL);
    expect_error(ask_from(http, "POST", "evil.example", NULL), 403, "host_not_allowed", NULL);
    mx_http_close(http);
    const char *const wrong[] = {"http://speech.lan"};
    const struct mx_http_options bad = {.address = "127.0.0.1:0", .allow_hosts = wrong, .allow_host_count = 1};
    assert_int_equal(mx_http_open(&bad, &service, &http), MX_ERR_USAGE);
    mx_error_clear();
}

static void origins(void **state)
{
    static const char *const pages[] = {"https://app.example", "http://localhost:3000"};
    const struct mx_http_options plain = {0}, open = {.allow_origins = pages, .allow_origin_count = 2};
    struct mx_http *http = http_start(&plain);
    (void)state;
    const int begun = begun_count();
    expect_error(ask_from(http, "POST", "localhost:8080", "https://evil.example"), 403, "origin_not_allowed", NULL);
    expect_error(ask_from(http, "POST", "localhost:8080", "http://localhost:3000"), 403, "origin_not_allowed", NULL);
    expect_error(ask_from(http, "POST", "localhost:8080", "null"), 403, "origin_not_allowed", NULL);
    expect_error(ask_from(http, "OPTIONS", "localhost:8080", "https://evil.example"), 403, "origin_not_allowed", NULL);
    assert_int_equal(begun_count(), begun);
    expect_status(ask_from(http, "POST", "localhost:8080", "http://localhost:8080"), 200, NULL);
    mx_http_close(http);
    http = http_start(&open);
    expect_status(ask_from(http, "POST", "localhost:8080", "https://app.example"), 200, "https://app.example");
    expect_status(ask_from(http, "GET", "localhost:8080", "http://localhost:3000"), 200, "http://localhost:3000");
    expect_status(ask_from(http, "OPTIONS", "localhost:8080", "https://app.example"), 204, "https://app.example");
    expect_status(ask_from(http, "POST", "localhost:8080", NULL), 200, NULL);
    expect_error(ask_from(http, "POST", "evil.example", "https://app.example"), 403, "host_not_allowed", NULL);
    expect_error(ask_from(http, "POST", "localhost:8080", "https://app.example.evil"), 403, "origin_not_allowed", NULL);
    mx_http_close(http);
    const char *const wrong[] = {"*"};
    const struct mx_http_options bad = {.address = "127.0.0.1:0", .allow_origins = wrong, .allow_origin_count = 1};
    assert_int_equal(mx_http_open(&bad, &service, &http), MX_ERR_USAGE);
    assert_non_null(strstr(mx_error_last()->hint, "https://"));
    mx_error_clear();
}

/* Who has the token may ask under any name and from any page. */
static void with_token(void **state)
{
    struct mx_http *const http = http_start(&(struct mx_http_options){.token = TOKEN});
    (void)state;
    struct answer a = ask(http, "POST", "/v1/audio/speech",
                          "Authorization: Bearer " TOKEN "\r\nOrigin: https://app.example\r\n", TEXT);
    expect_status(a, 200, "*");
    a = ask(http, "OPTIONS", "/v1/audio/speech", "Access-Control-Request-Headers: authorization,x-stainless-os\r\n",
            NULL);
    assert_non_null(strstr(a.head, "Access-Control-Allow-Headers: authorization,x-stainless-os"));
    expect_status(a, 204, "*");
    expect_error(ask_from(http, "POST", "speech.lan", NULL), 401, "invalid_api_key", NULL);
    mx_http_close(http);
}

/* ---- memory of whole answers ---- */

#define PIPER_TEXT 2000 /* bytes: 600,000 samples, 1.2 MB */

static struct answer speak_whole(const struct mx_http *http, size_t bytes, const char *more)
{
    static char body[8192];
    memset(body, 'a', sizeof body);
    memcpy(body, "{\"text\":\"", 9);
    snprintf(body + 9 + bytes, sizeof body - 9 - bytes, "\"%s}", more);
    return ask(http, "POST", "/synthesize", "Content-Type: application/json\r\n", body);
}

static void whole_answers(void **state)
{
    struct mx_http *const http = http_start(&(struct mx_http_options){.whole_max = 2 << 20});
    (void)state;
    struct answer a = speak_whole(http, PIPER_TEXT, "");
    assert_int_equal(a.status, 200);
    assert_int_equal(a.bytes, 44 + 2 * PER_BYTE * PIPER_TEXT);
    answer_release(&a);
    /* One that is larger than all may be. */
    a = speak_whole(http, 2 * PIPER_TEXT, "");
    assert_non_null(strstr(a.body, "--whole-memory"));
    assert_non_null(strstr(a.body, "2 MiB"));
    expect_error(a, 413, "speech_too_long", NULL);
    a = speak_whole(http, 2 * PIPER_TEXT, ",\"stream\":true");
    assert_int_equal(a.status, 200);
    answer_release(&a);
    /* One that is not fetched takes its part until its client goes. */
    char request[4096];
    const int deaf = dial_small(mx_http_port(http), 4096), begun = begun_count();
    const int n = snprintf(request, sizeof request,
                           "POST /synthesize HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%0*d", PIPER_TEXT,
                           PIPER_TEXT, 0);
    send_all(deaf, request, (size_t)n);
    ended_wait(begun);
    a = speak_whole(http, PIPER_TEXT, "");
    assert_non_null(strstr(a.head, "Retry-After: 7"));
    assert_non_null(strstr(a.body, "--whole-memory"));
    expect_error(a, 503, "answers_too_large", NULL);
    close(deaf);
    for (;;) { /* the server notices a moment later */
        a = speak_whole(http, PIPER_TEXT, "");
        const int status = a.status;
        answer_release(&a);
        if (status == 200) break;
        assert_int_equal(status, 503);
    }
    mx_http_close(http);
}

/* A text that becomes too much sound: the service says so. */
static void long_speech(void **state)
{
    struct mx_http *const http = http_start(&(struct mx_http_options){0});
    (void)state;
    struct answer a = ask(http, "POST", "/synthesize", NULL, "ENDLESS");
    assert_non_null(strstr(a.body, "--max-seconds"));
    expect_error(a, 413, "speech_too_long", NULL);
    a = speak(http, "{\"input\":\"ENDLESS\",\"response_format\":\"wav\"}"); /* cut off after some sound */
    assert_int_equal(a.status, 200);
    assert_false(a.whole);
    answer_release(&a);
    a = speak(http, "{\"input\":\"ENDLESS\",\"stream_format\":\"sse\"}");
    assert_non_null(strstr(a.body, "speech_too_long"));
    answer_release(&a);
    mx_http_close(http);
}

int main(void)
{
#ifndef MX_HAVE_MICROHTTPD
    return http_missing();
#endif
    const struct CMUnitTest tests[] = {cmocka_unit_test(hosts), cmocka_unit_test(origins), cmocka_unit_test(with_token),
                                       cmocka_unit_test(whole_answers), cmocka_unit_test(long_speech)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

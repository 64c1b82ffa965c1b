/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The HTTP server through its own door: requests that are refused, lists, numbers and the page. What it says is in
 * test_http_speech.c, many and slow clients are in test_http_clients.c. The service is http/service.c; tests/serve_http.sh tests
 * the same with real voices.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <cjson/cJSON.h>

#include "http/client.h"
#include "http/service.h"
#include "myxtts/error.h"
#include "serve/http.h"
#include "serve/service.h"
#include "speech/encode.h"

#define TOKEN "0123456789abcdef"

/* ---- requests that are wrong ---- */

static void wrong_bodies(void **state)
{
    static const struct {
        const char *body, *code, *param;
    } cases[] = {
        {"", "invalid_json", NULL},
        {"[]", "invalid_json", NULL},
        {"{\"input\":\"a\"} x", "invalid_json", NULL},
        {"{\"input\":\"a\xff\"}", "invalid_json", NULL},
        {"{\"input\":\"a\\u0000b\"}", "invalid_json", NULL},
        {"{}", "missing_required_parameter", "input"},
        {"{\"input\":7}", "invalid_type", "input"},
        {"{\"input\":\" \\n \"}", "empty_string", "input"},
        {"{\"input\":\"a\",\"speed\":5}", "invalid_value", "speed"},
        {"{\"input\":\"a\",\"speed\":0.2}", "invalid_value", "speed"},
        {"{\"input\":\"a\",\"speed\":\"1\"}", "invalid_type", "speed"},
        {"{\"input\":\"a\",\"speed\":1e999}", "invalid_value", "speed"},
        {"{\"input\":\"a\",\"response_format\":\"aac\"}", "invalid_value", "response_format"},
        {"{\"input\":\"a\",\"stream_format\":\"x\"}", "invalid_value", "stream_format"},
        {"{\"input\":\"a\",\"voice\":\"nobody\"}", "invalid_value", "voice"},
        {"{\"input\":\"a\",\"voice\":{\"id\":7}}", "invalid_type", "id"},
        {"{\"input\":\"a\",\"voice\":\"beta\",\"speaker\":\"eve\"}", "invalid_value", "speaker"},
        {"{\"input\":\"a\",\"language\":\"xx\"}", "invalid_value", "language"},
        {"{\"input\":\"a\",\"response_format\":\"opus\",\"sample_rate\":22050}", "invalid_value", "sample_rate"},
        {"{\"input\":\"a\",\"sample_rate\":1}", "invalid_value", "sample_rate"},
        {"{\"input\":\"a\",\"ssml\":1}", "invalid_type", "ssml"},
        {"{\"input\":\"a\",\"ssml\":true}", "invalid_value", NULL},
    };
    struct mx_http *const http = http_start(&(struct mx_http_options){0});
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        expect_error(speak(http, cases[i].body), 400, cases[i].code, cases[i].param);
    struct answer a = speak(http, "{\"input\":\"a\",\"response_format\":\"aac\"}");
    assert_non_null(strstr(a.body, MX_ENCODE_NAMES)); /* says what there is */
    answer_release(&a);
    a = speak(http, "{\"input\":\"a\",\"voice\":\"nobody\"}");
    assert_non_null(strstr(a.body, "alpha, beta"));
    answer_release(&a);
    expect_error(ask(http, "POST", "/synthesize", NULL, "{\"text\":\"a\",\"speaker_id\":2,\"voice\":\"beta\"}"), 400,
                 "invalid_value", "speaker_id");
    expect_error(ask(http, "POST", "/synthesize", NULL, "{\"text\":\"a\",\"length_scale\":0}"), 400, "invalid_value",
                 "length_scale");
    expect_error(ask(http, "POST", "/synthesize?length_scale=x", NULL, "hello"), 400, "invalid_type", "length_scale");
    expect_error(ask(http, "POST", "/", NULL, "{}"), 400, "missing_required_parameter", "text");
    expect_error(ask(http, "POST", "/", NULL, ""), 400, "empty_string", "text");
    active_wait(0);
    mx_http_close(http);
}

static void wrong_requests(void **state)
{
    struct mx_http *const http = http_start(&(struct mx_http_options){0});
    static const char *const lost[] = {"/nothing",           "/../../etc/passwd", "/v1/audio/speech/",
                                       "/%2e%2e/etc/passwd", "/voices/x",         "/page.js"};
    (void)state;
    for (size_t i = 0; i < sizeof lost / sizeof lost[0]; i++)
        expect_error(ask(http, "GET", lost[i], NULL, NULL), 404, "unknown_url", NULL);
    expect_error(ask(http, "GET", "/v1/models/none", NULL, NULL), 404, "model_not_found", "model");
    struct answer a = ask(http, "GET", "/v1/audio/speech", NULL, NULL);
    assert_non_null(strstr(a.head, "Allow: POST, OPTIONS"));
    expect_error(a, 405, "method_not_allowed", NULL);
    expect_error(ask(http, "DELETE", "/health", NULL, NULL), 405, "method_not_allowed", NULL);
    expect_error(ask(http, "POST", "/health", NULL, "x"), 405, "method_not_allowed", NULL);
    a = ask(http, "HEAD", "/health", NULL, NULL);
    assert_int_equal(a.status, 200);
    answer_release(&a);
    a = ask(http, "OPTIONS", "/v1/audio/speech", NULL, NULL);
    assert_int_equal(a.status, 204);
    answer_release(&a);
    /* A text that is too long, a body that is too large, with and without saying so. */
    const size_t most = 6 * mx_service_text_max(&service) + 65536;
    char *const big = malloc(most + 100);
    memset(big, 'a', most + 100);
    memcpy(big, "{\"input\":\"", 10);
    strcpy(big + 30000, "\"}");
    expect_error(speak(http, big), 400, "string_above_max_length", "input");
    big[30000] = big[30001] = big[30002] = 'a';
    big[most + 99] = '\0';
    expect_error(speak(http, big), 413, "request_too_large", NULL);
    const int s = client_connect(http);
    FILE *const in = fdopen(s, "r");
    char head[256];
    snprintf(head, sizeof head,
             "POST /v1/audio/speech HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n%zx\r\n",
             most + 99);
    send_all(s, head, strlen(head));
    send_all(s, big, most + 99);
    send_all(s, "\r\n0\r\n\r\n", 7);
    expect_error(answer_read(in, false), 413, "request_too_large", NULL);
    fclose(in);
    free(big);
    /* Headers that are too large: libmicrohttpd's own answer. */
    char *const header = malloc(40100);
    memset(header, 'x', 40000);
    memcpy(header, "GET /health HTTP/1.1\r\nHost: localhost\r\nX: ", 42);
    strcpy(header + 40000, "\r\n\r\n");
    const int t = client_connect(http);
    FILE *const reply = fdopen(t, "r");
    send_all(t, header, strlen(header));
    a = answer_read(reply, true);
    assert_true(a.status == 431 || a.status == 413 || a.status == 0);
    answer_release(&a);
    fclose(reply);
    free(header);
    mx_http_close(http);
}

static void token(void **state)
{
    struct mx_http *http;
    (void)state;
    assert_int_equal(mx_http_open(&(struct mx_http_options){.address = "0.0.0.0:0"}, &service, &http), MX_ERR_USAGE);
    assert_non_null(strstr(mx_error_last()->hint, "--token"));
    assert_int_equal(mx_http_open(&(struct mx_http_options){.address = "x:y"}, &service, &http), MX_ERR_USAGE);
    assert_int_equal(
        mx_http_open(&(struct mx_http_options){.address = "127.0.0.1:0", .token = "short"}, &service, &http),
        MX_ERR_USAGE);
    mx_error_clear();
    http = http_start(&(struct mx_http_options){.address = "0.0.0.0:0", .insecure = true});
    mx_http_close(http);
    http = http_start(&(struct mx_http_options){.token = TOKEN});
    static const char *const paths[] = {"/metrics",   "/voices",          "/info",
                                        "/v1/models", "/v1/models/alpha", "/v1/audio/voices"};
    static const char *const wrong[] = {NULL,
                                        "Authorization: Bearer \r\n",
                                        "Authorization: Bearer 0123456789abcdeF\r\n",
                                        "Authorization: Bearer 0123456789abcdef0\r\n",
                                        "Authorization: Basic 0123456789abcdef\r\n",
                                        "Authorization: 0123456789abcdef\r\n"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        for (size_t j = 0; j < sizeof wrong / sizeof wrong[0]; j++) {
            struct answer a = ask(http, "GET", paths[i], wrong[j], NULL);
            assert_non_null(strstr(a.head, "WWW-Authenticate: Bearer"));
            expect_error(a, 401, "invalid_api_key", NULL);
        }
        struct answer a = ask(http, "GET", paths[i], "Authorization: bearer " TOKEN "\r\n", NULL);
        assert_int_equal(a.status, 200);
        answer_release(&a);
    }
    expect_error(speak(http, "{\"input\":\"a\"}"), 401, "invalid_api_key", NULL);
    expect_error(ask(http, "POST", "/", NULL, "hello"), 401, "invalid_api_key", NULL);
    static const char *const open_to_all[] = {"/", "/health"};
    for (size_t i = 0; i < 2; i++) {
        struct answer a = ask(http, "GET", open_to_all[i], NULL, NULL);
        assert_int_equal(a.status, 200);
        answer_release(&a);
    }
    mx_http_close(http);
}

/* ---- lists and numbers ---- */

static cJSON *get_json(const struct mx_http *http, const char *path)
{
    struct answer a = ask(http, "GET", path, NULL, NULL);
    assert_int_equal(a.status, 200);
    cJSON *const tree = cJSON_Parse(a.body);
    assert_non_null(tree);
    answer_release(&a);
    return tree;
}

static const char *text_at(const cJSON *tree, const char *list, int i, const char *key)
{
    return cJSON_GetStringValue(cJSON_GetObjectItem(cJSON_GetArrayItem(cJSON_GetObjectItem(tree, list), i), key));
}

static void lists(void **state)
{
    struct mx_http *const http = http_start(&(struct mx_http_options){0});
    (void)state;
    cJSON *tree = get_json(http, "/v1/models");
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(tree, "object")), "list");
    assert_string_equal(text_at(tree, "data", 0, "id"), "alpha");
    assert_string_equal(text_at(tree, "data", 2, "id"), "tts-1");
    assert_string_equal(text_at(tree, "data", 0, "object"), "model");
    cJSON_Delete(tree);
    tree = get_json(http, "/v1/models/tts-1");
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(tree, "id")), "tts-1");
    cJSON_Delete(tree);
    tree = get_json(http, "/v1/audio/voices");
    for (int i = 0; i < 2; i++) {
        const char *const list = i == 0 ? "voices" : "data";
        assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(tree, list)), 4);
        assert_string_equal(text_at(tree, list, 0, "id"), "alpha");
        assert_string_equal(text_at(tree, list, 0, "name"), "Alpha");
        assert_string_equal(text_at(tree, list, 0, "licence"), "CC0");
        assert_string_equal(text_at(tree, list, 3, "id"), "beta/bob");
        assert_string_equal(text_at(tree, list, 3, "name"), "Beta: bob");
    }
    cJSON_Delete(tree);
    tree = get_json(http, "/voices");
    const cJSON *const beta = cJSON_GetObjectItem(tree, "beta");
    assert_int_equal(cJSON_GetObjectItem(beta, "num_speakers")->valueint, 2);
    assert_int_equal(cJSON_GetObjectItem(cJSON_GetObjectItem(beta, "speaker_id_map"), "bob")->valueint, 1);
    assert_int_equal(cJSON_GetObjectItem(cJSON_GetObjectItem(beta, "audio"), "sample_rate")->valueint, RATE);
    cJSON_Delete(tree);
    tree = get_json(http, "/info");
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(cJSON_GetObjectItem(tree, "voice"), "name")), "alpha");
    cJSON_Delete(tree);
    tree = get_json(http, "/health");
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(tree, "status")), "ok");
    cJSON_Delete(tree);
    struct answer a = ask(http, "GET", "/metrics", NULL, NULL);
    assert_non_null(strstr(a.head, "text/plain; version=0.0.4"));
    assert_non_null(strstr(a.body, "myxtts_first_sound_seconds_bucket{le=\"0.01\"} 1\n"));
    assert_non_null(strstr(a.body, "myxtts_first_sound_seconds_bucket{le=\"0.02\"} 3\n"));
    assert_non_null(strstr(a.body, "myxtts_first_sound_seconds_bucket{le=\"+Inf\"} 3\n"));
    assert_non_null(strstr(a.body, "# TYPE myxtts_http_requests_total counter\nmyxtts_http_requests_total 7\n"));
    answer_release(&a);
    mx_http_close(http);
}

static void page(void **state)
{
    struct mx_http *const http = http_start(&(struct mx_http_options){0});
    (void)state;
    struct answer a = ask(http, "GET", "/", NULL, NULL);
    assert_int_equal(a.status, 200);
    assert_non_null(strstr(a.head, "Content-Security-Policy: default-src 'none'"));
    assert_non_null(strstr(a.body, "<html lang=\"en\" dir=\"ltr\">"));
    assert_null(strstr(a.body, "http://"));
    assert_null(strstr(a.body, "https://"));
    answer_release(&a);
    a = ask(http, "GET", "/", "Accept-Language: fa-IR,fa;q=0.9,en;q=0.8\r\n", NULL);
    assert_non_null(strstr(a.body, "<html lang=\"fa\" dir=\"rtl\">"));
    answer_release(&a);
    a = ask(http, "GET", "/?lang=en", "Accept-Language: fa\r\n", NULL);
    assert_non_null(strstr(a.body, "<html lang=\"en\" dir=\"ltr\">"));
    answer_release(&a);
    mx_http_close(http);
}

int main(void)
{
#ifndef MX_HAVE_MICROHTTPD
    return http_missing();
#endif
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_bodies), cmocka_unit_test(wrong_requests), cmocka_unit_test(token),
        cmocka_unit_test(lists),        cmocka_unit_test(page),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

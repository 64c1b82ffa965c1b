/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The HTTP server through its own door: raw HTTP over sockets. Behind it stands a service of this file's own making, whose
 * sound is known and which waits or fails when it is asked to; with real voices tests/serve_http.sh tests the same.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <sndfile.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include <cjson/cJSON.h>

#include "base/alloc.h"
#include "base/string.h"
#include "myxtts/error.h"
#include "myxtts/voice.h"
#include "serve/http.h"
#include "serve/http_lists.h"
#include "serve/service.h"
#include "support/dial.h"

#define RATE     22050
#define PER_BYTE 300 /* samples of sound for each byte of text at speed 1 */
#define TOKEN    "0123456789abcdef"

/* ---- a service ---- */

/* What the last request asked for. */
struct asked {
    struct mx_service_text text; /* without its strings */
    char speaker[32], language[32];
};

struct mx_service {
    pthread_mutex_t lock; /* guards all of it */
    pthread_cond_t changed;
    int active, begun, queue_max;
    bool held; /* texts with HOLD have no sound yet */
    struct asked last;
};

struct mx_service_job {
    struct mx_service *service;
    struct mx_service_text options;
    char text[70000];
    size_t length, at;
};

static struct mx_service service = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
static const char *const english[] = {"en"}, *const both[] = {"en", "fa"}, *const people[] = {"anna", "bob"};
static const struct mx_service_voice fake_voices[] = {
    {"alpha", "Alpha", english, 1, NULL, 0, RATE, "CC0", "somebody"},
    {"beta", "Beta", both, 2, people, 2, RATE, "", ""},
};
const double mx_service_first_limits[MX_SERVICE_FIRST_CLASSES] = {.01, .02, .04, .08, .16, .32, .64, 1, 2, 4, 8, 16};

size_t mx_service_voice_count(const struct mx_service *s)
{
    (void)s;
    return 2;
}

const struct mx_service_voice *mx_service_voice(const struct mx_service *s, size_t voice)
{
    (void)s;
    return &fake_voices[voice];
}

int mx_service_find(const struct mx_service *s, const char *name, size_t *voice, const char **speaker)
{
    (void)s;
    *voice = 0;
    *speaker = NULL;
    if (name == NULL || name[0] == '\0' || strcmp(name, "alloy") == 0 || strcmp(name, "alpha") == 0) return 0;
    *voice = 1;
    if (strcmp(name, "beta") == 0) return 0;
    *speaker = people[1];
    if (strcmp(name, "beta/bob") == 0) return 0;
    return MX_FAIL(MX_ERR_NOT_FOUND, "there are: alpha, beta", "there is no voice '%s'", name);
}

int mx_service_begin(struct mx_service *s, const struct mx_service_text *text, struct mx_service_job **out)
{
    int rc = 0;
    *out = NULL;
    pthread_mutex_lock(&s->lock);
    if (s->active >= s->queue_max) {
        rc = MX_FAIL(MX_ERR_BUDGET, NULL, "full");
    } else {
        *out = mx_alloc(1, sizeof **out);
        (*out)->service = s;
        (*out)->options = s->last.text = *text;
        snprintf(s->last.speaker, sizeof s->last.speaker, "%s", text->speaker != NULL ? text->speaker : "");
        snprintf(s->last.language, sizeof s->last.language, "%s", text->language != NULL ? text->language : "");
        s->active++;
        s->begun++;
    }
    pthread_mutex_unlock(&s->lock);
    return rc;
}

int mx_service_add(struct mx_service_job *job, const char *text, size_t length)
{
    memcpy(job->text + job->length, text, length);
    job->length += length;
    return 0;
}

int mx_service_finish(struct mx_service_job *job)
{
    if (job->options.ssml && strchr(job->text, '<') == NULL)
        return MX_FAIL(MX_ERR_FORMAT, "look there", "broken SSML in line 1, column 1");
    return 0;
}

/* What the fake says: a tone that depends on the voice. */
static float sound_at(size_t voice, size_t i)
{
    return (float)(0.5 * sin((double)i * (voice == 0 ? 0.05 : 0.08)));
}

static size_t sound_length(const struct mx_service_job *job)
{
    return (size_t)((double)(job->length * PER_BYTE) / job->options.speed);
}

int mx_service_read(struct mx_service_job *job, float *samples, size_t room, size_t *count, int timeout_ms)
{
    struct mx_service *const s = job->service;
    const size_t all = sound_length(job);
    *count = 0;
    if (strstr(job->text, "HOLD") != NULL) {
        pthread_mutex_lock(&s->lock);
        const bool held = s->held;
        pthread_mutex_unlock(&s->lock);
        if (held) {
            poll(NULL, 0, timeout_ms);
            return MX_FAIL(MX_ERR_TIMEOUT, NULL, "nothing yet");
        }
    }
    if (strstr(job->text, "FAIL") != NULL && (job->at > 0 || strstr(job->text, "FAIL AT ONCE") != NULL))
        return MX_FAIL(MX_ERR_DEVICE, NULL, "the device /dev/secret is on fire");
    for (; *count < room && *count < 1111 && job->at < all; job->at++)
        samples[(*count)++] = sound_at(job->options.voice, job->at);
    return *count > 0;
}

void mx_service_end(struct mx_service_job *job)
{
    if (job == NULL) return;
    pthread_mutex_lock(&job->service->lock);
    job->service->active--;
    pthread_cond_broadcast(&job->service->changed);
    pthread_mutex_unlock(&job->service->lock);
    mx_free(job);
}

int mx_service_job_rate(const struct mx_service_job *job)
{
    (void)job;
    return RATE;
}

size_t mx_service_job_tokens(struct mx_service_job *job)
{
    return job->length;
}

const char *mx_service_job_warning(struct mx_service_job *job)
{
    return strstr(job->text, "☃") != NULL ? "left out: ☃" : "";
}

int mx_service_retry_seconds(struct mx_service *s)
{
    (void)s;
    return 7;
}

size_t mx_service_text_max(const struct mx_service *s)
{
    (void)s;
    return 20000;
}

void mx_service_counts_read(struct mx_service *s, struct mx_service_counts *out)
{
    pthread_mutex_lock(&s->lock);
    *out = (struct mx_service_counts){.jobs = (uint64_t)s->begun, .active = (uint64_t)s->active, .first_sound = {1, 2}};
    out->first_sound_seconds = 0.05;
    pthread_mutex_unlock(&s->lock);
}

/* Waits until that many jobs are there; a server that forgets one is found by the time limit of the test. */
static void active_wait(int wanted)
{
    pthread_mutex_lock(&service.lock);
    while (service.active != wanted) {
        pthread_mutex_unlock(&service.lock);
        poll(NULL, 0, 5);
        pthread_mutex_lock(&service.lock);
    }
    pthread_mutex_unlock(&service.lock);
}

static void hold(bool held)
{
    pthread_mutex_lock(&service.lock);
    service.held = held;
    pthread_mutex_unlock(&service.lock);
}

static struct asked last_asked(void)
{
    struct asked out;
    pthread_mutex_lock(&service.lock);
    out = service.last;
    pthread_mutex_unlock(&service.lock);
    return out;
}

/* ---- a client ---- */

static struct mx_http *http_start(const struct mx_http_options *options)
{
    struct mx_http *http;
    struct mx_http_options all = *options;
    if (all.address == NULL) all.address = "127.0.0.1:0";
    pthread_mutex_lock(&service.lock);
    service.queue_max = 8;
    service.held = false;
    pthread_mutex_unlock(&service.lock);
    assert_int_equal(mx_http_open(&all, &service, &http), 0);
    return http;
}

static int client_connect(const struct mx_http *http)
{
    return dial(mx_http_port(http));
}

static void send_all(int s, const char *data, size_t bytes)
{
    while (bytes > 0) {
        const ssize_t n = send(s, data, bytes, MSG_NOSIGNAL);
        if (n <= 0) return; /* an answer may be there already */
        data += n;
        bytes -= (size_t)n;
    }
}

struct answer {
    int status;
    char *head, *body; /* NULL: nothing came */
    size_t bytes;
    bool whole; /* the body has its end */
};

static void answer_release(struct answer *a)
{
    free(a->head);
    free(a->body);
    *a = (struct answer){0};
}

static bool line_read(FILE *in, char *line, size_t size)
{
    if (fgets(line, (int)size, in) == NULL) return false;
    line[strcspn(line, "\r\n")] = '\0';
    return true;
}

static void body_grow(struct answer *a, FILE *in, size_t bytes)
{
    a->body = realloc(a->body, a->bytes + bytes + 1);
    assert_non_null(a->body);
    const size_t got = fread(a->body + a->bytes, 1, bytes, in);
    a->bytes += got;
    a->body[a->bytes] = '\0';
    a->whole = got == bytes;
}

/* Reads one answer. */
static struct answer answer_read(FILE *in, bool head_only)
{
    struct answer a = {0};
    char line[2048];
    size_t length = 0, used = 0;
    bool chunked = false;
    a.head = calloc(1, 65536);
    assert_non_null(a.head);
    if (!line_read(in, line, sizeof line)) return a;
    assert_int_equal(sscanf(line, "HTTP/1.%*d %d", &a.status), 1);
    while (line_read(in, line, sizeof line) && line[0] != '\0') {
        used += (size_t)snprintf(a.head + used, 65536 - used, "%s\n", line);
        (void)sscanf(line, "Content-Length: %zu", &length);
        if (strcmp(line, "Transfer-Encoding: chunked") == 0) chunked = true;
    }
    a.whole = true;
    a.body = calloc(1, 1);
    if (head_only || a.status == 204) return a;
    if (!chunked) {
        body_grow(&a, in, length);
        return a;
    }
    for (;;) {
        size_t part = 0;
        a.whole = false;
        if (!line_read(in, line, sizeof line)) return a;
        assert_int_equal(sscanf(line, "%zx", &part), 1);
        if (part > 0) body_grow(&a, in, part);
        a.whole = false;
        if (!line_read(in, line, sizeof line)) return a;
        a.whole = true;
        if (part == 0) return a;
    }
}

/* headers: each ends with \r\n; NULL: none. */
static struct answer ask_on(int s, FILE *in, const char *method, const char *path, const char *headers,
                            const char *body, size_t bytes)
{
    char head[4096];
    const int n = snprintf(head, sizeof head, "%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %zu\r\n%s\r\n",
                           method, path, bytes, headers != NULL ? headers : "");
    assert_true(n > 0 && n < (int)sizeof head);
    send_all(s, head, (size_t)n);
    send_all(s, body, bytes);
    return answer_read(in, strcmp(method, "HEAD") == 0);
}

static struct answer ask(const struct mx_http *http, const char *method, const char *path, const char *headers,
                         const char *body)
{
    const int s = client_connect(http);
    FILE *const in = fdopen(s, "r");
    assert_non_null(in);
    const struct answer a =
        ask_on(s, in, method, path, headers, body != NULL ? body : "", body != NULL ? strlen(body) : 0);
    fclose(in);
    return a;
}

/* The answer to a body of POST /v1/audio/speech. */
static struct answer speak(const struct mx_http *http, const char *body)
{
    return ask(http, "POST", "/v1/audio/speech", "Content-Type: application/json\r\n", body);
}

static void expect_error(struct answer a, int status, const char *code, const char *param)
{
    cJSON *const tree = cJSON_Parse(a.body);
    const cJSON *const error = cJSON_GetObjectItem(tree, "error");
    if (a.status != status || error == NULL) fail_msg("wanted %d, got %d: %s", status, a.status, a.body);
    assert_non_null(strstr(a.head, "Content-Type: application/json"));
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(error, "code")), code);
    assert_true(strlen(cJSON_GetStringValue(cJSON_GetObjectItem(error, "message"))) > 5);
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(error, "type")), status == 429 ? "rate_limit_error"
                                                                                  : status < 500
                                                                                      ? "invalid_request_error"
                                                                                      : "server_error");
    const cJSON *const named = cJSON_GetObjectItem(error, "param");
    if (param == NULL)
        assert_true(cJSON_IsNull(named));
    else
        assert_string_equal(cJSON_GetStringValue(named), param);
    cJSON_Delete(tree);
    answer_release(&a);
}

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
    a = ask(http, "OPTIONS", "/v1/audio/speech", "Access-Control-Request-Headers: authorization,x-stainless-os\r\n",
            NULL);
    assert_int_equal(a.status, 204);
    assert_non_null(strstr(a.head, "Access-Control-Allow-Origin: *"));
    assert_non_null(strstr(a.head, "Access-Control-Allow-Headers: authorization,x-stainless-os"));
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
             "POST /v1/audio/speech HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n%zx\r\n", most + 99);
    send_all(s, head, strlen(head));
    send_all(s, big, most + 99);
    send_all(s, "\r\n0\r\n\r\n", 7);
    expect_error(answer_read(in, false), 413, "request_too_large", NULL);
    fclose(in);
    free(big);
    /* Headers that are too large: libmicrohttpd's own answer. */
    char *const header = malloc(40100);
    memset(header, 'x', 40000);
    memcpy(header, "GET /health HTTP/1.1\r\nHost: x\r\nX: ", 35);
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

/* ---- sound ---- */

/* Decodes a file; returns the number of samples. */
static size_t decode(const char *bytes, size_t count, short *out, size_t room, int *rate)
{
    char path[] = "/tmp/myxtts-http-XXXXXX";
    SF_INFO info = {0};
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, count), count);
    lseek(fd, 0, SEEK_SET);
    SNDFILE *const file = sf_open_fd(fd, SFM_READ, &info, SF_TRUE);
    if (file == NULL) fail_msg("libsndfile cannot read it: %s", sf_strerror(NULL));
    const sf_count_t got = sf_readf_short(file, out, (sf_count_t)room);
    *rate = info.samplerate;
    sf_close(file);
    unlink(path);
    return (size_t)got;
}

static int16_t sample_at(size_t voice, size_t i)
{
    const float x = sound_at(voice, i);
    int16_t out;
    mx_samples_pcm16(&x, 1, &out);
    return out;
}

static void sounds(void **state)
{
    static short back[200000];
    struct mx_http *const http = http_start(&(struct mx_http_options){0});
    const char *const text = "Hello there, this is a sentence.";
    const size_t all = strlen(text) * PER_BYTE;
    char body[256];
    int rate;
    (void)state;
    for (int format = 0; format < MX_ENCODE_FORMATS; format++) {
        const char *const name = mx_encode_names[format];
        const bool exact = format <= MX_ENCODE_FLAC;
        snprintf(body, sizeof body,
                 "{\"model\":\"tts-1\",\"voice\":{\"id\":\"beta\"},\"input\":\"%s\",\"response_format\":\"%s\","
                 "\"extra\":[1]%s}",
                 text, name, format == MX_ENCODE_PCM ? ",\"sample_rate\":22050" : "");
        struct answer a = speak(http, body);
        assert_int_equal(a.status, 200);
        assert_true(a.whole);
        assert_non_null(strstr(a.head, "X-Accel-Buffering: no"));
        assert_non_null(
            strstr(a.head, format == MX_ENCODE_PCM ? "Content-Type: audio/pcm;rate=22050" : mx_encode_types[format]));
        size_t got = a.bytes / 2;
        if (format == MX_ENCODE_PCM) {
            memcpy(back, a.body, a.bytes);
            rate = RATE;
        } else {
            got = decode(a.body, a.bytes, back, 200000, &rate);
        }
        assert_int_equal(rate, mx_encode_rate((enum mx_encode_format)format, RATE));
        if (exact) {
            assert_int_equal(got, all);
            for (size_t i = 0; i < all; i++) assert_int_equal(back[i], sample_at(1, i));
        } else {
            const size_t wanted = all * (size_t)rate / RATE;
            assert_true(got >= wanted && got <= wanted + 3000);
        }
        answer_release(&a);
    }
    /* The usual format and the rate of pcm are those of OpenAI. */
    struct answer a = speak(http, "{\"input\":\"Hello\"}");
    assert_non_null(strstr(a.head, "Content-Type: audio/mpeg"));
    answer_release(&a);
    a = speak(http, "{\"input\":\"Hello\",\"response_format\":\"pcm\"}");
    assert_non_null(strstr(a.head, "Content-Type: audio/pcm;rate=24000"));
    assert_true(llabs((long long)a.bytes / 2 - 5 * PER_BYTE * 24000 / RATE) <= 2);
    answer_release(&a);
    /* Piper: one file with its true length; streamed, it is the same sound. */
    snprintf(body, sizeof body, "{\"text\":\"%s\",\"voice\":\"beta\",\"speaker_id\":1,\"length_scale\":2}", text);
    a = ask(http, "POST", "/synthesize", NULL, body);
    assert_int_equal(a.status, 200);
    assert_non_null(strstr(a.head, "Content-Length: "));
    assert_int_equal(a.bytes, 44 + 4 * all);
    uint32_t bytes;
    memcpy(&bytes, a.body + 40, 4);
    assert_int_equal(bytes, 4 * all);
    memcpy(&bytes, a.body + 4, 4);
    assert_int_equal(bytes, 36 + 4 * all);
    assert_string_equal(last_asked().speaker, "bob");
    struct answer b = ask(http, "POST", "/?voice=beta&speaker=anna&length_scale=2&stream=true&language=fa",
                          "Content-Type: text/plain\r\n", text);
    assert_int_equal(b.status, 200);
    assert_non_null(strstr(b.head, "Transfer-Encoding: chunked"));
    assert_int_equal(b.bytes, a.bytes);
    assert_memory_equal(a.body + 44, b.body + 44, a.bytes - 44);
    assert_string_equal(last_asked().speaker, "anna");
    assert_string_equal(last_asked().language, "fa");
    answer_release(&a);
    answer_release(&b);
    active_wait(0);
    mx_http_close(http);
}

/* Every field reaches the service. */
static void fields(void **state)
{
    struct mx_http *const http = http_start(&(struct mx_http_options){0});
    (void)state;
    struct answer a =
        speak(http, "{\"input\":\"<s>a</s>\",\"voice\":\"alloy\",\"model\":\"beta\",\"speaker\":\"bob\",\"speed\":2,"
                    "\"language\":\"en-US\",\"pitch\":-3,\"volume\":0.5,\"pause_scale\":2,\"seed\":77,"
                    "\"ssml\":true,\"instructions\":\"whisper\",\"response_format\":null}");
    assert_int_equal(a.status, 200);
    struct mx_service_text last = last_asked().text;
    assert_int_equal(last.voice, 1);
    assert_string_equal(last_asked().speaker, "bob");
    assert_string_equal(last_asked().language, "en");
    assert_true(last.speed == 2 && last.pitch_semitones == -3 && last.volume == 0.5 && last.pause_scale == 2);
    assert_true(last.seed == 77 && last.ssml && !last.streaming);
    answer_release(&a);
    a = speak(http, "{\"input\":\"a\",\"voice\":\"alpha\",\"model\":\"beta\"}"); /* the voice counts, if it is one */
    last = last_asked().text;
    assert_int_equal(last.voice, 0);
    answer_release(&a);
    a = speak(http, "{\"input\":\"a ☃\",\"response_format\":\"pcm\"}");
    assert_non_null(strstr(a.head, "X-Warning: left out: %E2%98%83"));
    answer_release(&a);
    mx_http_close(http);
}

static int base64_value(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *const at = strchr(digits, c);
    return c != '\0' && at != NULL ? (int)(at - digits) : -1;
}

static void events(void **state)
{
    struct mx_http *const http = http_start(&(struct mx_http_options){0});
    struct mx_string sound = {0};
    char *joined = calloc(1, 1000000), *at;
    size_t used = 0, deltas = 0;
    bool done = false;
    (void)state;
    struct answer a = speak(http, "{\"input\":\"Hello there\",\"response_format\":\"wav\",\"stream_format\":\"sse\"}");
    struct answer plain = speak(http, "{\"input\":\"Hello there\",\"response_format\":\"wav\"}");
    assert_non_null(strstr(a.head, "Content-Type: text/event-stream"));
    assert_true(a.whole);
    for (char *event = strtok_r(a.body, "\n", &at); event != NULL; event = strtok_r(NULL, "\n", &at)) {
        assert_memory_equal(event, "data: ", 6);
        assert_false(done);
        cJSON *const tree = cJSON_Parse(event + 6);
        const char *const type = cJSON_GetStringValue(cJSON_GetObjectItem(tree, "type"));
        if (strcmp(type, "speech.audio.delta") == 0) {
            const char *audio = cJSON_GetStringValue(cJSON_GetObjectItem(tree, "audio"));
            assert_int_equal(strlen(audio) % 4, 0);
            for (; *audio != '\0'; audio += 4) {
                int value = 0, count = 3;
                for (int i = 0; i < 4; i++) {
                    const int digit = base64_value(audio[i]);
                    count -= digit < 0;
                    value = value << 6 | (digit < 0 ? 0 : digit);
                }
                for (int i = 0; i < count; i++) joined[used++] = (char)(value >> (16 - 8 * i) & 0xff);
            }
            deltas++;
        } else {
            const cJSON *const usage = cJSON_GetObjectItem(tree, "usage");
            assert_string_equal(type, "speech.audio.done");
            assert_int_equal(cJSON_GetObjectItem(usage, "input_tokens")->valueint, 11);
            assert_int_equal(cJSON_GetObjectItem(usage, "output_tokens")->valueint, (11 * PER_BYTE + 255) / 256);
            assert_int_equal(cJSON_GetObjectItem(usage, "total_tokens")->valueint, 11 + (11 * PER_BYTE + 255) / 256);
            done = true;
        }
        cJSON_Delete(tree);
    }
    assert_true(done && deltas > 1);
    assert_int_equal(used, plain.bytes);
    assert_memory_equal(joined, plain.body, used);
    mx_string_release(&sound);
    answer_release(&a);
    answer_release(&plain);
    free(joined);
    mx_http_close(http);
}

/* An error before the first sound has a status; a later one cuts the body off, or is an event. */
static void failures(void **state)
{
    struct mx_http *const http = http_start(&(struct mx_http_options){0});
    (void)state;
    struct answer a = speak(http, "{\"input\":\"FAIL AT ONCE\"}");
    assert_null(strstr(a.body, "secret")); /* that is for the log */
    expect_error(a, 500, "synthesis_failed", NULL);
    a = speak(http, "{\"input\":\"FAIL later\",\"response_format\":\"wav\"}");
    assert_int_equal(a.status, 200);
    assert_false(a.whole);
    answer_release(&a);
    a = speak(http, "{\"input\":\"FAIL later\",\"response_format\":\"wav\",\"stream_format\":\"sse\"}");
    assert_true(a.whole);
    assert_non_null(strstr(a.body, "speech.audio.delta"));
    assert_non_null(strstr(a.body, "event: error\ndata: {\"error\":{"));
    assert_null(strstr(a.body, "speech.audio.done"));
    answer_release(&a);
    expect_error(ask(http, "POST", "/synthesize", NULL, "{\"text\":\"FAIL later\"}"), 500, "synthesis_failed", NULL);
    active_wait(0);
    struct mx_http_counts counts;
    mx_http_counts_read(http, &counts);
    assert_int_equal(counts.requests, 4);
    mx_http_close(http);
}

/* ---- places ---- */

/* Sends a request for a text and does not wait for the answer. */
static int speak_begin(const struct mx_http *http, const char *input)
{
    char head[512];
    const int s = client_connect(http);
    snprintf(head, sizeof head,
             "POST /v1/audio/speech HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n{\"input\":\"%s\"}",
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
    send_all(body, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhello", 55);
    closed_wait(silent);
    closed_wait(head);
    closed_wait(body);
    /* One that does not read: five minutes of sound do not fit into the buffers of the system. */
    memset(text, 'a', sizeof text);
    text[sizeof text - 1] = '\0';
    char *const request = mx_format("{\"input\":\"%s\",\"response_format\":\"wav\"}", text);
    const int deaf = client_connect(http);
    char *const all = mx_format("POST /v1/audio/speech HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n%s",
                                strlen(request), request);
    send_all(deaf, all, strlen(all));
    pthread_mutex_lock(&service.lock);
    while (service.begun == 0 || service.active > 0) {
        pthread_mutex_unlock(&service.lock);
        poll(NULL, 0, 5);
        pthread_mutex_lock(&service.lock);
    }
    pthread_mutex_unlock(&service.lock);
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
    /* At a socket for IPv4 and IPv6, if there is IPv6: IPv4 addresses are told apart there, too. */
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
    struct mx_http *http;
    return mx_http_open(&(struct mx_http_options){0}, &service, &http) == MX_ERR_UNSUPPORTED ? 77 : 1;
#endif
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_bodies), cmocka_unit_test(wrong_requests), cmocka_unit_test(token),
        cmocka_unit_test(lists),        cmocka_unit_test(page),           cmocka_unit_test(sounds),
        cmocka_unit_test(fields),       cmocka_unit_test(events),         cmocka_unit_test(failures),
        cmocka_unit_test(queue_full),   cmocka_unit_test(slow_clients),   cmocka_unit_test(many_connections),
        cmocka_unit_test(keep_alive),   cmocka_unit_test(ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The routes: the table of paths, who may use them, and what is wrong with a request before its body is read.
 * Refused requests are answered when all of their body is there, because many clients do not look for an answer before.
 */
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/net/listen_host.h"
#include "base/string.h"
#include "serve/http_internal.h"
#include "serve/http_lists.h"

#define JSON "application/json"

struct mx_http_route {
    const char *path;
    bool prefix; /* paths that begin with it */
    bool open;   /* without the token */
    enum MHD_Result (*get)(struct mx_http_request *request);
    enum MHD_Result (*post)(struct mx_http_request *request);
};

/* ---- GET ---- */

static enum MHD_Result health(struct mx_http_request *request)
{
    struct mx_service_counts counts;
    struct mx_string text = {0};
    mx_service_counts_read(request->http->service, &counts);
    mx_string_append(&text, "{\"status\":\"ok\",\"version\":\"" MX_VERSION "\",\"voices\":%zu,\"texts\":%llu}",
                     mx_service_voice_count(request->http->service), (unsigned long long)counts.active);
    return mx_http_answer_text(request, JSON, text.data);
}

static enum MHD_Result metrics(struct mx_http_request *request)
{
    struct mx_service_counts service;
    struct mx_http_counts http;
    mx_service_counts_read(request->http->service, &service);
    mx_http_counts_read(request->http, &http);
    return mx_http_answer_text(request, "text/plain; version=0.0.4; charset=utf-8",
                               mx_prometheus_write(&service, &http));
}

static enum MHD_Result models(struct mx_http_request *request)
{
    return mx_http_answer_text(request, JSON, mx_openai_models(request->http->service, request->http->created));
}

static enum MHD_Result model(struct mx_http_request *request)
{
    char quoted[96];
    char *const text = mx_openai_model(request->http->service, request->rest, request->http->created);
    if (text == NULL || text[0] != '\0') return mx_http_answer_text(request, JSON, text);
    mx_free(text);
    mx_http_problem_set(&request->problem, 404, "model_not_found", "model", "there is no model %s",
                        mx_string_quote(quoted, sizeof quoted, request->rest));
    return mx_http_answer_problem(request, &request->problem);
}

static enum MHD_Result voices(struct mx_http_request *request)
{
    return mx_http_answer_text(request, JSON, mx_openai_voices(request->http->service));
}

static enum MHD_Result piper_voices(struct mx_http_request *request)
{
    return mx_http_answer_text(request, JSON, mx_piper_voices(request->http->service));
}

static enum MHD_Result piper_info(struct mx_http_request *request)
{
    return mx_http_answer_text(request, JSON, mx_piper_info(request->http->service));
}

/* ---- POST ---- */

static enum MHD_Result speak(struct mx_http_request *request, bool good, struct mx_http_speech *speech)
{
    if (good) return mx_http_stream_answer(request, speech);
    mx_http_speech_release(speech);
    return mx_http_answer_problem(request, &request->problem);
}

static enum MHD_Result openai(struct mx_http_request *request)
{
    struct mx_http_speech speech;
    const bool good = mx_openai_parse(request->http->service, request->body != NULL ? request->body : "",
                                      request->bytes, &speech, &request->problem);
    if (good && speech.instructions && !atomic_exchange(&request->http->told_instructions, true))
        mx_info("http: a request has 'instructions', which these voices cannot follow; they are ignored from now on");
    return speak(request, good, &speech);
}

static const char *query_find(void *context, const char *key)
{
    return mx_httpd_query(context, key);
}

static enum MHD_Result piper(struct mx_http_request *request)
{
    struct mx_http_speech speech;
    const char *const type = mx_httpd_header(request->connection, "Content-Type");
    const bool good = mx_piper_parse(request->http->service, type, request->body != NULL ? request->body : "",
                                     request->bytes, query_find, request->connection, &speech, &request->problem);
    return speak(request, good, &speech);
}

static const struct mx_http_route routes[] = {
    {.path = "/", .open = true, .get = mx_http_answer_page, .post = piper},
    {.path = "/health", .open = true, .get = health},
    {.path = "/metrics", .get = metrics},
    {.path = "/v1/audio/speech", .post = openai},
    {.path = "/v1/audio/voices", .get = voices},
    {.path = "/v1/models", .get = models},
    {.path = "/v1/models/", .prefix = true, .get = model},
    {.path = "/synthesize", .post = piper},
    {.path = "/voices", .get = piper_voices},
    {.path = "/info", .get = piper_info},
};

/* ---- finding ---- */

static const struct mx_http_route *route_find(const char *path)
{
    for (size_t i = 0; i < sizeof routes / sizeof routes[0]; i++) {
        const struct mx_http_route *const r = &routes[i];
        if (r->prefix ? strncmp(path, r->path, strlen(r->path)) == 0 : strcmp(path, r->path) == 0) return r;
    }
    return NULL;
}

/* Nothing is at this path: the error lists what exists. */
static void unknown_set(struct mx_http_problem *problem, const char *path)
{
    char quoted[96], known[512] = "";
    for (size_t i = 0; i < sizeof routes / sizeof routes[0]; i++) {
        const struct mx_http_route *const r = &routes[i];
        const size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s%s %s%s", i > 0 ? ", " : "", r->get != NULL ? "GET" : "",
                 r->get == NULL    ? "POST"
                 : r->post != NULL ? "|POST"
                                   : "",
                 r->path, r->prefix ? "NAME" : "");
    }
    mx_http_problem_set(problem, 404, "unknown_url", NULL, "there is nothing at %s; there is: %s",
                        mx_string_quote(quoted, sizeof quoted, path), known);
}

/* The body, of the length that its header gives. */
static bool length_good(struct mx_http_request *request)
{
    const char *const text = mx_httpd_header(request->connection, "Content-Length");
    return text == NULL || strtoull(text, NULL, 10) <= request->http->body_max;
}

static bool token_good(const struct mx_http_request *request)
{
    if (request->http->token[0] == '\0') return true;
    return mx_listen_token_bearer(request->http->token, mx_httpd_header(request->connection, "Authorization"));
}

/* Without a token: is the request for this server, under a name that no web page can have? */
static bool host_good(struct mx_http_request *request)
{
    const struct mx_http *const http = request->http;
    const char *const host = mx_httpd_header(request->connection, "Host");
    char quoted[96];
    if (host == NULL || mx_listen_host_local(host)) return true;
    if (http->reachable && mx_listen_host_number(host)) return true;
    if (mx_listen_host_among(host, http->allow_hosts, http->allow_host_count)) return true;
    return mx_http_problem_set(&request->problem, 403, "host_not_allowed", NULL,
                               "without a token this server answers to localhost%s, not to %s: start it with "
                               "'--allow-host NAME' for that name, or with '--token-file FILE'",
                               http->reachable ? " and to addresses in numbers" : " and 127.0.0.1",
                               mx_string_quote(quoted, sizeof quoted, host));
}

/* Without a token: does it come from no web page, from one of this server, or from one that is allowed? Sets the origin
 * that may read the answer. */
static bool origin_good(struct mx_http_request *request)
{
    const struct mx_http *const http = request->http;
    const char *const origin = mx_httpd_header(request->connection, "Origin"), *const host = mx_httpd_header(
                                                                                   request->connection, "Host");
    char quoted[96];
    if (origin == NULL || (host != NULL && mx_listen_origin_same(origin, host))) return true;
    if (mx_listen_origin_among(origin, http->allow_origins, http->allow_origin_count)) {
        request->origin = origin;
        return true;
    }
    return mx_http_problem_set(&request->problem, 403, "origin_not_allowed", NULL,
                               "web pages of %s may not use this server: start it with '--allow-origin URL' for them, "
                               "or with '--token-file FILE'",
                               mx_string_quote(quoted, sizeof quoted, origin));
}

/* A token is enough: a client that has it may ask from anywhere. */
static bool source_good(struct mx_http_request *request)
{
    if (request->http->token[0] == '\0') return host_good(request) && origin_good(request);
    request->origin = "*";
    return true;
}

static void too_large(struct mx_http_request *request)
{
    request->route = NULL;
    mx_http_problem_set(&request->problem, 413, "request_too_large", NULL, "the body may have %zu bytes",
                        request->http->body_max);
}

void mx_http_route_find(struct mx_http_request *request, const char *path, const char *method)
{
    struct mx_http_problem *const problem = &request->problem;
    const struct mx_http_route *const route = route_find(path);
    const bool post = strcmp(method, "POST") == 0, head = strcmp(method, "HEAD") == 0;
    char quoted[96];
    request->post = post;
    if (request->client == NULL || request->client->refused) {
        mx_http_problem_set(problem, 429, "too_many_connections", NULL,
                            "there are too many connections: try again later");
    } else if (!source_good(request)) {
        /* the problem says why */
    } else if (strcmp(method, "OPTIONS") == 0) {
        problem->status = 0; /* mx_http_answer_options */
    } else if (route == NULL) {
        unknown_set(problem, path);
    } else if (!token_good(request) && (!route->open || post)) {
        mx_http_problem_set(
            problem, 401, "invalid_api_key", NULL,
            "a token is needed: send 'Authorization: Bearer TOKEN', as given to 'myxtts serve --token-file'");
    } else if (post ? route->post == NULL : route->get == NULL || (!head && strcmp(method, "GET") != 0)) {
        request->allow = route->get == NULL    ? "POST, OPTIONS"
                         : route->post == NULL ? "GET, HEAD, OPTIONS"
                                               : "GET, HEAD, POST, OPTIONS";
        mx_http_problem_set(problem, 405, "method_not_allowed", NULL, "%s is not possible here; these are: %s",
                            mx_string_quote(quoted, sizeof quoted, method), request->allow);
    } else if (!length_good(request)) {
        too_large(request);
    } else {
        request->route = route;
        request->rest = request->path + strlen(route->path);
    }
}

enum MHD_Result mx_http_route_run(struct mx_http_request *request)
{
    const struct mx_http_route *const route = request->route;
    if (route != NULL && request->dropped > 0) too_large(request);
    if (request->route == NULL)
        return request->problem.status == 0 ? mx_http_answer_options(request)
                                            : mx_http_answer_problem(request, &request->problem);
    mx_debug("http: %s %s, %zu bytes", request->post ? "POST" : "GET", request->path, request->bytes);
    return request->post ? route->post(request) : route->get(request);
}

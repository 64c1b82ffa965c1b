/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Answers that are there at once: texts, errors, and the page with its words in both languages. The headers that every
 * answer has are here, too.
 */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/string.h"
#include "myxtts/error.h"
#include "serve/http_internal.h"
#include "serve/http_lists.h"
#include "serve/page.h"

#define ASKED_HEADERS_MAX 512

enum MHD_Result mx_http_answer(struct mx_http_request *request, unsigned status, const char *type,
                               struct MHD_Response *response)
{
    if (response == NULL) return MHD_NO;
    if (request->origin != NULL) {
        mx_httpd_header_add(response, "Access-Control-Allow-Origin", request->origin);
        mx_httpd_header_add(response, "Access-Control-Expose-Headers", "X-Warning, Retry-After");
    } else {
        mx_httpd_header_add(response, "Cross-Origin-Resource-Policy", "same-origin");
    }
    if (request->http->token[0] == '\0') mx_httpd_header_add(response, "Vary", "Origin");
    request->failed = status >= 400;
    return mx_httpd_answer(request->connection, status, type, response);
}

static struct MHD_Response *text_response(char *text)
{
    struct MHD_Response *const response =
        text != NULL ? MHD_create_response_from_buffer_with_free_callback(strlen(text), text, mx_free) : NULL;
    if (response == NULL) mx_free(text);
    return response;
}

enum MHD_Result mx_http_answer_text(struct mx_http_request *request, const char *type, char *text)
{
    if (text == NULL) {
        mx_http_problem_from_error(&request->problem, MX_ERR_NO_MEMORY);
        return mx_http_answer_problem(request, &request->problem);
    }
    return mx_http_answer(request, MHD_HTTP_OK, type, text_response(text));
}

char *mx_http_problem_print(const struct mx_http_problem *problem)
{
    cJSON *const answer = cJSON_CreateObject(), *const error = cJSON_AddObjectToObject(answer, "error");
    cJSON_AddStringToObject(error, "message", problem->message);
    cJSON_AddStringToObject(error, "type", problem->type);
    if (problem->param != NULL)
        cJSON_AddStringToObject(error, "param", problem->param);
    else
        cJSON_AddNullToObject(error, "param");
    cJSON_AddStringToObject(error, "code", problem->code);
    return mx_http_json_print(answer);
}

enum MHD_Result mx_http_answer_problem(struct mx_http_request *request, const struct mx_http_problem *problem)
{
    char number[16];
    struct MHD_Response *const response = text_response(mx_http_problem_print(problem));
    if (response == NULL) return MHD_NO;
    if (problem->status == 429 || problem->status == 503) {
        snprintf(number, sizeof number, "%d", mx_service_retry_seconds(request->http->service));
        mx_httpd_header_add(response, "Retry-After", number);
    }
    if (problem->status == 401) mx_httpd_header_add(response, "WWW-Authenticate", "Bearer");
    if (request->allow != NULL) mx_httpd_header_add(response, "Allow", request->allow);
    if (request->client == NULL || request->client->refused) mx_httpd_header_add(response, "Connection", "close");
    return mx_http_answer(request, problem->status, "application/json", response);
}

enum MHD_Result mx_http_answer_options(struct mx_http_request *request)
{
    const char *const asked = mx_httpd_header(request->connection, "Access-Control-Request-Headers");
    struct MHD_Response *const response = MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
    if (response == NULL) return MHD_NO;
    mx_httpd_header_add(response, "Allow", "GET, HEAD, POST, OPTIONS");
    if (request->origin == NULL) return mx_http_answer(request, MHD_HTTP_NO_CONTENT, NULL, response);
    mx_httpd_header_add(response, "Access-Control-Allow-Methods", "GET, HEAD, POST, OPTIONS");
    mx_httpd_header_add(response, "Access-Control-Allow-Headers",
                        asked != NULL && strlen(asked) <= ASKED_HEADERS_MAX ? asked : "authorization, content-type");
    mx_httpd_header_add(response, "Access-Control-Max-Age", "86400");
    return mx_http_answer(request, MHD_HTTP_NO_CONTENT, NULL, response);
}

/* ---- the page ---- */

int mx_http_pages_build(struct mx_http *http)
{
    for (int language = MX_WORDS_ENGLISH; language <= MX_WORDS_PERSIAN; language++) {
        struct mx_string text = {0};
        const int rc = mx_serve_page_write((enum mx_words)language, &text);
        if (rc < 0) {
            mx_string_release(&text);
            return rc;
        }
        http->pages[language] = text.data;
    }
    return 0;
}

/* In the language that the address asks for (?lang=fa), or the browser. */
static enum mx_words language_of(const struct mx_http_request *request)
{
    const char *const asked = mx_httpd_query(request->connection, "lang");
    const char *const accepted = mx_httpd_header(request->connection, "Accept-Language");
    char code[3] = "";
    if (asked != NULL) return mx_words_named(asked);
    if (accepted != NULL) snprintf(code, sizeof code, "%s", accepted);
    return mx_words_named(code);
}

enum MHD_Result mx_http_answer_page(struct mx_http_request *request)
{
    char *const page = request->http->pages[language_of(request)];
    struct MHD_Response *const response = MHD_create_response_from_buffer(strlen(page), page, MHD_RESPMEM_PERSISTENT);
    if (response == NULL) return MHD_NO;
    mx_httpd_page_headers_add(response, "img-src data:; media-src blob:");
    mx_httpd_header_add(response, "Vary", "Accept-Language");
    return mx_http_answer(request, MHD_HTTP_OK, "text/html; charset=utf-8", response);
}

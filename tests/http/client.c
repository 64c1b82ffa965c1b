/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Raw HTTP, see client.h.
 */
#include "http/client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <cjson/cJSON.h>
#include <cmocka.h>

#include "support/dial.h"

int client_connect(const struct mx_http *http)
{
    return dial(mx_http_port(http));
}

void send_all(int s, const char *data, size_t bytes)
{
    while (bytes > 0) {
        const ssize_t n = send(s, data, bytes, MSG_NOSIGNAL);
        if (n <= 0) return; /* an answer may be there already */
        data += n;
        bytes -= (size_t)n;
    }
}

void answer_release(struct answer *a)
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

struct answer answer_read(FILE *in, bool head_only)
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

struct answer ask_on(int s, FILE *in, const char *method, const char *path, const char *headers, const char *body,
                     size_t bytes)
{
    char head[4096];
    const int n = snprintf(head, sizeof head, "%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %zu\r\n%s\r\n",
                           method, path, bytes, headers != NULL ? headers : "");
    assert_true(n > 0 && n < (int)sizeof head);
    send_all(s, head, (size_t)n);
    send_all(s, body, bytes);
    return answer_read(in, strcmp(method, "HEAD") == 0);
}

struct answer ask(const struct mx_http *http, const char *method, const char *path, const char *headers,
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

struct answer speak(const struct mx_http *http, const char *body)
{
    return ask(http, "POST", "/v1/audio/speech", "Content-Type: application/json\r\n", body);
}

void expect_error(struct answer a, int status, const char *code, const char *param)
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

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A client that speaks raw HTTP over sockets, for tests/test_http_*.c.
 *
 * Memory: the caller closes sockets and releases answers. Failures end the test.
 */
#ifndef MX_TESTS_HTTP_CLIENT_H
#define MX_TESTS_HTTP_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "serve/http.h"

struct answer {
    int status;
    char *head, *body; /* NULL: nothing came */
    size_t bytes;
    bool whole; /* the body has its end */
};

int client_connect(const struct mx_http *http);
void send_all(int s, const char *data, size_t bytes);
/* Reads one answer. */
struct answer answer_read(FILE *in, bool head_only);
void answer_release(struct answer *a);

/* Asks on a connection that is there. headers: each ends with \r\n; NULL: none. */
struct answer ask_on(int s, FILE *in, const char *method, const char *path, const char *headers, const char *body,
                     size_t bytes);
/* Asks on one of its own. */
struct answer ask(const struct mx_http *http, const char *method, const char *path, const char *headers,
                  const char *body);
/* The answer to a body of POST /v1/audio/speech. */
struct answer speak(const struct mx_http *http, const char *body);

/* The answer must be this error; releases it. */
void expect_error(struct answer a, int status, const char *code, const char *param);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The lists of OpenAI's and Piper's interfaces, and the numbers for Prometheus, as texts; the requests are in
 * http_request.h. All texts belong to the caller (mx_free); NULL: no memory.
 */
#ifndef MX_SERVE_HTTP_LISTS_H
#define MX_SERVE_HTTP_LISTS_H

#include <stdint.h>

#include "serve/http.h"
#include "serve/http_request.h"

/* `created`: seconds since 1970. */
char *mx_openai_models(const struct mx_service *service, int64_t created);
char *mx_openai_model(const struct mx_service *service, const char *id, int64_t created); /* "": there is no such one */
char *mx_openai_voices(const struct mx_service *service);

char *mx_piper_voices(const struct mx_service *service);
char *mx_piper_info(const struct mx_service *service);

/* The text of the tree, which is deleted. */
char *mx_http_json_print(struct cJSON *tree);
/* A list of strings. */
struct cJSON *mx_http_json_strings(const char *const *strings, size_t count);

char *mx_prometheus_write(const struct mx_service_counts *service, const struct mx_http_counts *http);

#endif

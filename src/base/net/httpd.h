/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the HTTP servers of this program (the dashboard of a run, the server of voices) share of libmicrohttpd: what a
 * connection and a request say, and the headers that every answer and every page has. (The token is in listen.h.)
 *
 * Memory: an answer takes over its response; texts of a request live as long as the request.
 */
#ifndef MX_BASE_NET_HTTPD_H
#define MX_BASE_NET_HTTPD_H

#include <microhttpd.h>

/* ---- connections ---- */

/* The socket of a new connection, for which the system then holds about `send_bytes` that the client has not read; -1:
 * unknown. */
int mx_httpd_socket(struct MHD_Connection *connection, int send_bytes);
/* What was stored for it when it was opened (MHD_OPTION_NOTIFY_CONNECTION); NULL: nothing. */
void *mx_httpd_client(struct MHD_Connection *connection);

/* ---- requests; NULL: it has none ---- */

const char *mx_httpd_header(struct MHD_Connection *connection, const char *name);
const char *mx_httpd_query(struct MHD_Connection *connection, const char *key);

/* ---- answers ---- */

void mx_httpd_header_add(struct MHD_Response *response, const char *name, const char *value);
/* For a page that consists of one file: it may use itself, and `media`, a list of directives of the
 * Content-Security-Policy such as "img-src data:"; no other page may frame it. */
void mx_httpd_page_headers_add(struct MHD_Response *response, const char *media);
/* Sends the response, which nobody may store, and releases it; NULL: closes the connection. `type` may be NULL. */
enum MHD_Result mx_httpd_answer(struct MHD_Connection *connection, unsigned status, const char *type,
                                struct MHD_Response *response);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The shared part of the HTTP servers, see httpd.h.
 */
#include "base/net/httpd.h"

#include <stdio.h>
#include <sys/socket.h>

int mx_httpd_socket(struct MHD_Connection *connection, int send_bytes)
{
    const union MHD_ConnectionInfo *const info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (info == NULL) return -1;
    (void)setsockopt(info->connect_fd, SOL_SOCKET, SO_SNDBUF, &send_bytes, (socklen_t)sizeof send_bytes);
    return info->connect_fd;
}

void *mx_httpd_client(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *const info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info != NULL ? info->socket_context : NULL;
}

const char *mx_httpd_header(struct MHD_Connection *connection, const char *name)
{
    return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

const char *mx_httpd_query(struct MHD_Connection *connection, const char *key)
{
    return MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, key);
}

void mx_httpd_header_add(struct MHD_Response *response, const char *name, const char *value)
{
    (void)MHD_add_response_header(response, name, value); /* without memory the connection fails, too */
}

void mx_httpd_page_headers_add(struct MHD_Response *response, const char *media)
{
    char policy[512];
    snprintf(policy, sizeof policy,
             "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; %s; connect-src 'self'; "
             "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
             media);
    mx_httpd_header_add(response, "Content-Security-Policy", policy);
    mx_httpd_header_add(response, "X-Frame-Options", "DENY");
    mx_httpd_header_add(response, "Referrer-Policy", "no-referrer");
}

enum MHD_Result mx_httpd_answer(struct MHD_Connection *connection, unsigned status, const char *type,
                                struct MHD_Response *response)
{
    if (response == NULL) return MHD_NO;
    if (type != NULL) mx_httpd_header_add(response, "Content-Type", type);
    mx_httpd_header_add(response, "Cache-Control", "no-store");
    mx_httpd_header_add(response, "X-Content-Type-Options", "nosniff");
    const enum MHD_Result result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

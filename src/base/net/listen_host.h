/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Who may ask a server that has no password: the headers Host and Origin of a request. A web page that a browser shows
 * can send requests to any address, and its own host name may resolve to this machine (DNS rebinding); but it cannot
 * choose these two headers. So a server checks whether the request is for a name that always means this machine, or one
 * that the user allows, and whether it comes from one of the server's own pages.
 *
 * Memory: none.
 */
#ifndef MX_BASE_LISTEN_HOST_H
#define MX_BASE_LISTEN_HOST_H

#include <stdbool.h>
#include <stddef.h>

/* Header Host, with or without a port: localhost, 127.0.0.0/8 or [::1]. */
bool mx_listen_host_local(const char *host);
/* An address in numbers, "192.168.1.5:8080" or "[fe80::1]": no web page has a name like that, but a server that other
 * machines can reach has. */
bool mx_listen_host_number(const char *host);
/* One of these names, which have no port. */
bool mx_listen_host_among(const char *host, const char *const *names, size_t count);
/* Whether --allow-host can take it: a name without scheme, port or path. */
bool mx_listen_host_valid(const char *name);

/* Header Origin: is it a page of the server that Host names? */
bool mx_listen_origin_same(const char *origin, const char *host);
bool mx_listen_origin_among(const char *origin, const char *const *origins, size_t count);
/* Whether it is an origin as browsers write it: http://NAME or https://NAME, perhaps with a port, without a path. */
bool mx_listen_origin_valid(const char *origin);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Where a server listens: reads an address as people write it, says whether it can be reached from other machines, and
 * opens a TCP socket there; and the token that protects it. Resolving and opening are two steps, so that a caller can refuse an address that needs a
 * password before anybody can connect to it.
 *
 * Memory: all in the caller's structs; the caller closes the socket.
 */
#ifndef MX_BASE_LISTEN_H
#define MX_BASE_LISTEN_H

#include <stdbool.h>
#include <sys/socket.h>

/* How messages speak of the server. */
struct mx_listen_use {
    const char *what;    /* "the dashboard" */
    const char *flag;    /* that sets the address: "--dashboard" */
    const char *example; /* "127.0.0.1:6007" */
};

struct mx_listen_address {
    char host[256], port[8]; /* as written */
    struct sockaddr_storage address;
    socklen_t length;
    bool loopback; /* only this machine can reach it */
};

/* "ADDRESS:PORT", "[ADDRESS]:PORT", ":PORT" or "PORT"; without an address it is 127.0.0.1. MX_ERR_USAGE: none of these,
 * or a name that is not known. */
int mx_listen_resolve(const struct mx_listen_use *use, const char *text, struct mx_listen_address *out);

struct mx_listen_socket {
    int socket;    /* does not block; closed on exec */
    int port;      /* a free one where 0 was asked for */
    char name[96]; /* "127.0.0.1:6007", "[::1]:6007" */
};

/* MX_ERR_IO: the port is not available. */
int mx_listen_open(const struct mx_listen_use *use, const struct mx_listen_address *address,
                   struct mx_listen_socket *out);

#define MX_LISTEN_TOKEN_MIN 16 /* characters */
#define MX_LISTEN_TOKEN_MAX 128

/* MX_ERR_USAGE: too short, too long, or with characters that need quoting in an address or a header. */
int mx_listen_token_check(const struct mx_listen_use *use, const char *token);
/* Takes the same time wherever the two differ. An empty token equals nothing. */
bool mx_listen_token_equal(const char *token, const char *given);
/* Does the value of a header Authorization, which may be NULL, say "Bearer" and this token? */
bool mx_listen_token_bearer(const char *token, const char *authorization);

#endif

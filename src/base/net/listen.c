/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Addresses of servers, see listen.h.
 */
#include "base/net/listen.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/string.h"
#include "myxtts/error.h"

#define LOOPBACK "127.0.0.1"
#define BACKLOG  256

static bool is_loopback(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET) {
        const struct sockaddr_in *const v4 = (const struct sockaddr_in *)(const void *)address;
        return ntohl(v4->sin_addr.s_addr) >> 24 == 127;
    }
    const struct sockaddr_in6 *const v6 = (const struct sockaddr_in6 *)(const void *)address;
    return address->sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
}

static int address_fail(const struct mx_listen_use *use, const char *text)
{
    char quoted[96];
    MX_FAIL(MX_ERR_USAGE, NULL, "%s is not a valid address for %s", mx_string_quote(quoted, sizeof quoted, text),
            use->what);
    return mx_error_hint("write ADDRESS:PORT, for example %s, or a port alone", use->example);
}

static int address_split(const struct mx_listen_use *use, const char *text, struct mx_listen_address *out)
{
    const char *const colon = strrchr(text, ':'), *digits = colon != NULL ? colon + 1 : text;
    size_t length = colon != NULL ? (size_t)(colon - text) : 0;
    const char *name = text;
    if (length >= 2 && name[0] == '[' && name[length - 1] == ']') {
        name++;
        length -= 2;
    } else if (memchr(name, ':', length) != NULL) {
        return address_fail(use, text); /* two colons without brackets: the start of the port is ambiguous */
    }
    const size_t count = strspn(digits, "0123456789");
    if (count == 0 || count > 5 || digits[count] != '\0' || atoi(digits) > 65535 || length >= sizeof out->host)
        return address_fail(use, text);
    snprintf(out->port, sizeof out->port, "%s", digits);
    snprintf(out->host, sizeof out->host, "%.*s", (int)length, name);
    if (out->host[0] == '\0') snprintf(out->host, sizeof out->host, LOOPBACK);
    return 0;
}

int mx_listen_resolve(const struct mx_listen_use *use, const char *text, struct mx_listen_address *out)
{
    int rc = 0;
    struct addrinfo *found = NULL;
    const struct addrinfo wanted = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    *out = (struct mx_listen_address){0};
    MX_TRY(address_split(use, text, out));
    const int why = getaddrinfo(out->host, out->port, &wanted, &found);
    if (why != 0) {
        MX_FAIL(MX_ERR_USAGE, NULL, "cannot resolve the address '%s' of %s: %s", out->host, use->what,
                gai_strerror(why));
        MX_TRY(mx_error_hint("write the address as numbers, for example %s", use->example));
    }
    memcpy(&out->address, found->ai_addr, found->ai_addrlen);
    out->length = found->ai_addrlen;
    out->loopback = is_loopback(found->ai_addr);
out:
    if (found != NULL) freeaddrinfo(found);
    return rc;
}

static int listen_fail(const struct mx_listen_use *use, const struct mx_listen_address *address, int why)
{
    const bool brackets = strchr(address->host, ':') != NULL;
    MX_FAIL(MX_ERR_IO, NULL, "%s cannot use port %s of %s: %s", use->what, address->port, address->host, strerror(why));
    if (why == EADDRINUSE)
        return mx_error_hint("another program uses it: choose another port, '%s %s%s%s:%d'", use->flag,
                             brackets ? "[" : "", address->host, brackets ? "]" : "", atoi(address->port) % 65535 + 1);
    if (why == EADDRNOTAVAIL)
        return mx_error_hint(
            "this machine has no such address; 'ip address' lists its addresses, and 0.0.0.0 means all of them");
    if (why == EACCES) return mx_error_hint("choose a port of 1024 or above");
    return mx_error_hint("choose another address or port");
}

int mx_listen_open(const struct mx_listen_use *use, const struct mx_listen_address *address,
                   struct mx_listen_socket *out)
{
    int on = 1;
    char number[INET6_ADDRSTRLEN + 24]; /* with a zone */
    struct sockaddr_storage bound;
    socklen_t length = sizeof bound;
    *out = (struct mx_listen_socket){.socket = -1};
    const int s = socket(address->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (s < 0) return listen_fail(use, address, errno);
    setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(s, (const struct sockaddr *)&address->address, address->length) != 0 || listen(s, BACKLOG) != 0 ||
        getsockname(s, (struct sockaddr *)&bound, &length) != 0) {
        const int why = errno;
        close(s);
        return listen_fail(use, address, why);
    }
    const bool v6 = bound.ss_family == AF_INET6;
    out->socket = s;
    out->port = ntohs(v6 ? ((struct sockaddr_in6 *)(void *)&bound)->sin6_port
                         : ((struct sockaddr_in *)(void *)&bound)->sin_port);
    if (getnameinfo((struct sockaddr *)&bound, length, number, sizeof number, NULL, 0, NI_NUMERICHOST) != 0)
        snprintf(number, sizeof number, "%.64s", address->host);
    snprintf(out->name, sizeof out->name, "%s%s%s:%d", v6 ? "[" : "", number, v6 ? "]" : "", out->port);
    return 0;
}

int mx_listen_token_check(const struct mx_listen_use *use, const char *token)
{
    const size_t length = strlen(token);
    bool plain = true;
    for (size_t i = 0; i < length; i++) plain = plain && (isalnum((unsigned char)token[i]) || strchr("-._~", token[i]));
    if (plain && length >= MX_LISTEN_TOKEN_MIN && length <= MX_LISTEN_TOKEN_MAX) return 0;
    MX_FAIL(MX_ERR_USAGE, NULL, "%s's token is not valid: it needs %d to %d letters, digits or - . _ ~", use->what,
            MX_LISTEN_TOKEN_MIN, MX_LISTEN_TOKEN_MAX);
    return mx_error_hint("make one with 'openssl rand -hex 16'");
}

bool mx_listen_token_equal(const char *token, const char *given)
{
    const size_t length = strlen(token), other = strlen(given);
    unsigned char differ = length != other || other == 0;
    for (size_t i = 0; i < length; i++) differ |= (unsigned char)(token[i] ^ given[i < other ? i : 0]);
    return differ == 0;
}

bool mx_listen_token_bearer(const char *token, const char *authorization)
{
    static const char scheme[] = "Bearer ";
    if (authorization == NULL || strncasecmp(authorization, scheme, sizeof scheme - 1) != 0) return false;
    const char *given = authorization + sizeof scheme - 1;
    while (*given == ' ') given++;
    return mx_listen_token_equal(token, given);
}

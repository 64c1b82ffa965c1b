/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Connections to a server, see dial.h.
 */
#include "support/dial.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include <cmocka.h>

static int connected(int s, int port)
{
    const struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    assert_int_equal(connect(s, (const struct sockaddr *)&to, sizeof to), 0);
    return s;
}

static int socket_make(void)
{
    const int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(s >= 0);
    return s;
}

int dial(int port)
{
    return connected(socket_make(), port);
}

int dial_small(int port, int buffer_bytes)
{
    const int s = socket_make();
    assert_int_equal(setsockopt(s, SOL_SOCKET, SO_RCVBUF, &buffer_bytes, sizeof buffer_bytes), 0);
    return connected(s, port);
}

int dial_from(int port, const char *own)
{
    struct sockaddr_in from = {.sin_family = AF_INET};
    const int s = socket_make();
    assert_int_equal(inet_pton(AF_INET, own, &from.sin_addr), 1);
    assert_int_equal(bind(s, (const struct sockaddr *)&from, sizeof from), 0);
    return connected(s, port);
}

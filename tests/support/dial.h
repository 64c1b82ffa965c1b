/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Connections to a server of this process, on 127.0.0.1, for tests that speak its protocol themselves.
 *
 * Memory: the caller closes the socket. Failures end the test.
 */
#ifndef MX_TESTS_SUPPORT_DIAL_H
#define MX_TESTS_SUPPORT_DIAL_H

int dial(int port);
/* With room for this many bytes that the test has not read. */
int dial_small(int port, int buffer_bytes);
/* From another address of this machine: 127.0.0.2, for example. */
int dial_from(int port, const char *own);

#endif

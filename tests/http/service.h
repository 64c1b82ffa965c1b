/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A service for tests of the HTTP server (tests/test_http_*.c): its sound is known, and it waits or fails when it is asked
 * to. It defines what serve/service.h declares, in place of the real one; so only these tests are linked with it.
 *
 * There are the voices alpha, and beta with the speakers anna and bob. A text with HOLD has no sound while the service is
 * held, one with FAIL fails after its first sound, one with FAIL AT ONCE before it, and one with ENDLESS is too long.
 *
 * Memory: the service is static, http_start's server belongs to the caller. Failures end the test.
 */
#ifndef MX_TESTS_HTTP_SERVICE_H
#define MX_TESTS_HTTP_SERVICE_H

#include <stdbool.h>
#include <stddef.h>

#include "serve/http.h"
#include "serve/service.h"

#define RATE     22050
#define PER_BYTE 300 /* samples of sound for each byte of text at speed 1 */

/* What the last request asked for. */
struct asked {
    struct mx_service_text text; /* without its strings */
    char speaker[32], language[32];
};

extern struct mx_service service;

/* Opens a server for it, at a free port of 127.0.0.1 unless told. Eight jobs have a place. */
struct mx_http *http_start(const struct mx_http_options *options);
/* For a main without libmicrohttpd: what it returns, 77 if the server says that it is missing. */
int http_missing(void);

/* What it says: a tone that depends on the voice. */
float sound_at(size_t voice, size_t i);
struct asked last_asked(void);
void hold(bool held);
/* Waits until that many jobs are there; a server that forgets one is found by the time limit of the test. */
void active_wait(int wanted);
/* Jobs since the start of the program. */
int begun_count(void);
/* Waits until more than these have begun, and none is left. */
void ended_wait(int begun);

#endif

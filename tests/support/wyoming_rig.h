/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A Wyoming server that really runs, with a voice of random weights, and a client that reads events as bytes, for tests.
 *
 * Memory: what has a wyoming_…_free, or is said to be the caller's. Failures end the test.
 */
#ifndef MX_TESTS_SUPPORT_WYOMING_RIG_H
#define MX_TESTS_SUPPORT_WYOMING_RIG_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "serve/service.h"
#include "serve/wyoming.h"

#define WYOMING_RATE 22050 /* of the voice */

struct wyoming_rig {
    char *folder, *voice; /* only of wyoming_shared */
    struct mx_service *service;
    struct mx_wyoming *wyoming;
};

extern struct wyoming_rig wyoming_shared; /* for all tests that change nothing */

/* Setup and teardown of a group of tests: wyoming_shared. */
int wyoming_setup(void **state);
int wyoming_teardown(void **state);

void wyoming_must(int rc);
/* Another service with the same voice, and a server of a service. */
void wyoming_service_open(struct wyoming_rig *rig, int queue_max, size_t text_max);
void wyoming_rig_open(struct wyoming_rig *rig, const struct mx_wyoming_options *options);
/* Both of them. */
void wyoming_rig_close(struct wyoming_rig *rig);
/* Waits until this number of connections have been opened and all are closed. */
void wyoming_wait_idle(struct wyoming_rig *rig, uint64_t connections);

/* ---- a client; the caller closes the socket ---- */

int wyoming_call(const struct wyoming_rig *rig);
/* Text of JSON, as it is. */
void wyoming_say(int s, const char *json);
/* Such a text: `part` several times between head and tail. The caller frees it with mx_free. */
char *wyoming_repeat(const char *head, const char *part, int count, const char *tail);

struct wyoming_heard {
    char type[32];
    cJSON *data;
    int16_t *samples;
    size_t count;
};

void wyoming_heard_free(struct wyoming_heard *h);
/* A text of its data; "": there is none. */
const char *wyoming_heard_text(const struct wyoming_heard *h, const char *key);

/* The next event, read as a client reads it; false at the end of the connection. */
bool wyoming_hear(int s, struct wyoming_heard *out);
/* It must come, and have this type. */
void wyoming_hear_type(int s, struct wyoming_heard *out, const char *type);
/* The end of the connection; closes the socket. */
void wyoming_hear_nothing(int s);
/* audio-start, chunks, audio-stop: all samples; the caller frees them with mx_free. */
int16_t *wyoming_hear_sound(int s, size_t *count);

/* Is it what the service itself makes of the text? */
void wyoming_expect_sound(struct mx_service *service, const char *text, bool streaming, const int16_t *sound,
                          size_t count);
/* An error with this code and these words, and then the end of the connection. */
void wyoming_expect_error(int s, const char *code, const char *words);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A service with two voices of random weights, for tests: what it should say comes from the C API.
 *
 * Memory: static, except the sounds, which the caller frees (`free`; those of the API with mx_free). Failures end the test.
 */
#ifndef MX_TESTS_SUPPORT_SERVICE_RIG_H
#define MX_TESTS_SUPPORT_SERVICE_RIG_H

#include <stdbool.h>
#include <stddef.h>

#include "myxtts/voice.h"
#include "serve/service.h"

#define SERVICE_RIG_PLACES 12 /* jobs at once in the rig's service */
#define SERVICE_RIG_TEXTS  5

extern const char *const service_rig_texts[SERVICE_RIG_TEXTS];

struct service_rig {
    char *folder, *run, *plain; /* `plain` has no vocoder */
    struct mx_service *service;
    float *wanted[SERVICE_RIG_TEXTS]; /* what the C API says of service_rig_texts */
    size_t counts[SERVICE_RIG_TEXTS];
};

/* Setup and teardown of a group of tests. */
int service_rig_open(void **state);
int service_rig_close(void **state);

/* Another service with the same voices. */
struct mx_service *service_rig_service(const struct service_rig *rig, int batch, double company_ms, int queue);

/* All that the C API says. */
float *service_rig_api(const char *path, const char *text, const struct mx_speaking *how, size_t *count);

struct sound {
    float *samples;
    size_t count;
    int rc; /* the last of mx_service_read */
};

/* Reads a job to the end, `room` samples at a time. */
struct sound service_rig_read(struct mx_service_job *job, size_t room);
/* All that a service says; `how` NULL: as usual. */
struct sound service_rig_say(struct mx_service *service, const char *text, const struct mx_service_text *how);
/* Is it what the API says of text number `text`? */
bool service_rig_wanted(const struct service_rig *rig, size_t text, const struct sound *sound);

#endif

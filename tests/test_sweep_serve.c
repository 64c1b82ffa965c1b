/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Failure sweeps (sweep/sweep.h) of the server: opening and closing the service of a voice, and a request for speech over
 * HTTP, from the start of the server to its end. Where a request fails, the server must answer the next one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log.h"
#include "myxtts/error.h"
#include "serve/http.h"
#include "serve/service.h"
#include "support/cores.h"
#include "support/dial.h"
#include "support/recording.h"
#include "support/voice_rig.h"
#include "sweep/sweep.h"

#define PATIENCE_SECONDS 120 /* of the client; then the server hangs */
#define BODY             "{\"input\":\"Hm.\",\"response_format\":\"pcm\",\"sample_rate\":22050}"

struct place {
    char *folder, *run;
    struct mx_service *service; /* open all the time */
};

static int service_make(const struct place *place, struct mx_service **out)
{
    struct mx_service_options options = MX_SERVICE_OPTIONS_DEFAULT;
    const char *const voices[] = {place->run};
    options.voices = voices;
    options.voice_count = 1;
    options.workers = 1;
    options.batch_max = 1;
    options.company_ms = 0;
    return mx_service_open(&options, out);
}

static int service_run(void *context, uint64_t *result)
{
    struct mx_service *service = NULL;
    const int rc = service_make(context, &service);
    *result = rc == 0 ? mx_service_voice_count(service) : 0;
    mx_service_close(service);
    return rc;
}

/* ---- the client: another program, as far as faults go ---- */

/* All that the server sends until it closes the connection, followed by a zero byte. */
static size_t answer_get(int port, char *answer, size_t room)
{
    static const char request[] = "POST /v1/audio/speech HTTP/1.0\r\nHost: localhost\r\nConnection: close\r\n"
                                  "Content-Type: application/json\r\n";
    const struct timeval patience = {.tv_sec = PATIENCE_SECONDS};
    char text[512];
    size_t used = 0;
    const int s = dial(port);
    setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    const int length = snprintf(text, sizeof text, "%sContent-Length: %zu\r\n\r\n%s", request, strlen(BODY), BODY);
    (void)send(s, text, (size_t)length, MSG_NOSIGNAL); /* the connection may be closed already */
    for (ssize_t got; used + 1 < room && (got = recv(s, answer + used, room - 1 - used, 0)) != 0; used += (size_t)got)
        if (got < 0) break;
    answer[used] = '\0';
    close(s);
    return used;
}

/* A request as a function that returns an error. A connection that is closed without a whole answer is MX_ERR_CLOSED. */
static int speech_get(int port, uint64_t *result)
{
    static char answer[1 << 20];
    faults_exempt(true);
    const size_t bytes = answer_get(port, answer, sizeof answer);
    faults_exempt(false);
    const char *const body = strstr(answer, "\r\n\r\n");
    int status = 0;
    if (body == NULL || sscanf(answer, "HTTP/1.%*d %d", &status) != 1)
        return MX_FAIL(MX_ERR_CLOSED, "try again", "the server closed the connection without an answer");
    const size_t length = bytes - (size_t)(body + 4 - answer);
    if (status == 503 && strstr(body, "\"out_of_memory\"") != NULL)
        return MX_FAIL(MX_ERR_NO_MEMORY, "try again", "the server says: %s", body + 4);
    if (status != 200) return MX_FAIL(MX_ERR_INTERNAL, "see the answer", "status %d: %s", status, body + 4);
    *result = sweep_hash(0, body + 4, length);
    return 0;
}

static int request_run(void *context, uint64_t *result)
{
    int rc = 0;
    const struct place *const place = context;
    struct mx_http *http = NULL;
    MX_TRY(mx_http_open(&(struct mx_http_options){.address = "127.0.0.1:0"}, place->service, &http));
    rc = speech_get(mx_http_port(http), result);
    if (faults_over()) { /* the next one succeeds, on the same server */
        const struct mx_error first = *mx_error_last();
        uint64_t again = 0;
        if (speech_get(mx_http_port(http), &again) < 0) fail_msg("the next request: %s", mx_error_last()->message);
        if (rc < 0) mx_error_restore(&first);
        /* One that was cut off in the middle, which HTTP/1.0 does not tell from the end. */
        if (rc == 0 && again != *result) rc = MX_FAIL(MX_ERR_CLOSED, "try again", "the answer was cut off");
    }
out:
    mx_http_close(http);
    return rc;
}

static bool is_closed(enum fault_kind kind, int code)
{
    (void)kind;
    return code == MX_ERR_CLOSED;
}

/* ---- the tests ---- */

static int setup(void **state)
{
    static struct place place;
    place.folder = folder_make();
    place.run = voice_rig_make(place.folder, "voice", 5, true);
    *state = &place;
    return service_make(&place, &place.service);
}

static int teardown(void **state)
{
    struct place *const place = *state;
    mx_service_close(place->service);
    mx_free(place->run);
    folder_remove(place->folder);
    return 0;
}

static void test_service(void **state)
{
    /* It speaks once to be warm. Its files and libraries are those of a voice: test_sweep_voice. */
    sweep_run(&(struct sweep){.name = "open and close a service",
                              .context = *state,
                              .run = service_run,
                              .few = 20,
                              .without = 1u << FAULT_LIBRARY_MEMORY | 1u << FAULT_OPEN | 1u << FAULT_READ |
                                         1u << FAULT_READ_SHORT});
}

static void test_request(void **state)
{
    sweep_run(&(struct sweep){.name = "a served request", .context = *state, .run = request_run, .may_end = is_closed});
}

int main(void)
{
#ifndef MX_HAVE_MICROHTTPD
    puts("skipped: built without libmicrohttpd");
    return 77;
#endif
    mx_log_configure(&(struct mx_log_options){.level = MX_LOG_SILENT});
    one_core();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_service),
        cmocka_unit_test(test_request),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}

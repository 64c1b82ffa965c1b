/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Sound as an answer: a job of the service, through an encoder, as a body that grows while it is spoken. The answer
 * begins when the first sound is there, so that whatever fails before is an error with a status of its own. What fails
 * later cuts off the body (a chunked body without its end is an error in every client), or is an event of its own.
 *
 * As server-sent events: data: {"type":"speech.audio.delta","audio":"BASE64"} …, then
 * data: {"type":"speech.audio.done","usage":{…}}.
 *
 * Memory: a stream belongs to its request, which ends it, whatever happens to the connection.
 */
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <microhttpd.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/string.h"
#include "myxtts/error.h"
#include "serve/http_internal.h"
#include "serve/http_lists.h"

#define SAMPLES     4096               /* taken from the service at once */
#define WAIT_MS     50                 /* between two checks whether the client is connected */
#define BLOCK_BYTES ((size_t)16 << 10) /* of an answer */
#define FRAME       256                /* samples: an "output token" */

struct mx_http_stream {
    struct mx_http_request *request;
    struct mx_http_speech speech;
    struct mx_service_job *job; /* NULL: ended */
    struct mx_encode *encode;
    float samples[SAMPLES];
    uint64_t heard;         /* samples so far */
    struct mx_string event; /* the bytes below, if they are events */
    const char *bytes;      /* that are there, but not sent */
    size_t count;
    bool ended; /* the bytes above are the last ones */
    bool gone;  /* the client has left */
    bool failed;
    bool limited;      /* it failed because of a limit, which the problem of the request names */
    size_t whole_room; /* of an answer that is sent whole; it counts in `whole` of the server */
};

static void job_end(struct mx_http_stream *s)
{
    mx_service_end(s->job);
    s->job = NULL;
}

void mx_http_stream_end(struct mx_http_stream *s)
{
    if (s == NULL) return;
    pthread_mutex_lock(&s->request->http->lock);
    s->request->http->whole -= s->whole_room;
    pthread_mutex_unlock(&s->request->http->lock);
    mx_service_end(s->job);
    mx_encode_close(s->encode);
    mx_string_release(&s->event);
    mx_http_speech_release(&s->speech);
    mx_free(s);
}

bool mx_http_stream_left(const struct mx_http_stream *s)
{
    return s != NULL && !s->failed;
}

/* Takes what the encoder made; as events, if that is wanted. */
static int bytes_receive(struct mx_http_stream *s)
{
    s->bytes = mx_encode_bytes(s->encode, &s->count);
    if (!s->speech.events) return 0;
    s->event.length = 0;
    if (s->count > 0) {
        mx_string_append(&s->event, "data: {\"type\":\"speech.audio.delta\",\"audio\":\"");
        mx_string_append_base64(&s->event, s->bytes, s->count);
        mx_string_append(&s->event, "\"}\n\n");
    }
    if (s->ended) {
        const uint64_t in = mx_service_job_tokens(s->job), out = (s->heard + FRAME - 1) / FRAME;
        const char *const warning = mx_service_job_warning(s->job);
        cJSON *const done = cJSON_CreateObject(), *usage;
        cJSON_AddStringToObject(done, "type", "speech.audio.done");
        usage = cJSON_AddObjectToObject(done, "usage");
        cJSON_AddNumberToObject(usage, "input_tokens", (double)in);
        cJSON_AddNumberToObject(usage, "output_tokens", (double)out);
        cJSON_AddNumberToObject(usage, "total_tokens", (double)(in + out));
        if (warning[0] != '\0') cJSON_AddStringToObject(done, "warning", warning);
        char *const text = mx_http_json_print(done);
        if (text == NULL) return MX_ERR_NO_MEMORY;
        mx_string_append(&s->event, "data: %s\n\n", text);
        mx_free(text);
    }
    s->bytes = s->event.data;
    s->count = s->event.length;
    return s->event.failure;
}

/* Waits until there are bytes: 1, or 0 at the end. MX_ERR_CLOSED: the client has gone, and its place is free. */
static int bytes_wait(struct mx_http_stream *s)
{
    int rc = 0;
    while (s->count == 0 && !s->ended) {
        size_t got = 0;
        if (mx_http_client_gone(s->request)) {
            s->gone = true;
            job_end(s);
            return MX_FAIL(MX_ERR_CLOSED, NULL, "the client has gone");
        }
        rc = mx_service_read(s->job, s->samples, SAMPLES, &got, WAIT_MS);
        if (rc == MX_ERR_TIMEOUT) continue;
        if (rc < 0 && mx_service_job_too_long(s->job)) {
            s->limited = true;
            mx_http_problem_set(&s->request->problem, 413, "speech_too_long", NULL, "%s", mx_error_last()->message);
        }
        if (rc < 0) goto out;
        s->heard += got;
        s->ended = rc == 0;
        MX_TRY(s->ended ? mx_encode_finish(s->encode) : mx_encode_write(s->encode, s->samples, got));
        MX_TRY(bytes_receive(s));
    }
    rc = s->count > 0;
out:
    if (rc < 0) {
        s->failed = true;
        job_end(s);
    }
    return rc;
}

/* An error after the beginning: an event, or the end of the body. */
static bool fail_event(struct mx_http_stream *s, int rc)
{
    struct mx_http_problem problem = s->request->problem;
    if (!s->limited) mx_http_problem_from_error(&problem, rc);
    if (!s->speech.events) return false;
    char *const text = mx_http_problem_print(&problem);
    s->event.length = 0;
    s->event.failure = 0;
    if (text != NULL) mx_string_append(&s->event, "event: error\ndata: %s\n\n", text);
    mx_free(text);
    s->ended = true;
    s->bytes = s->event.data;
    s->count = s->event.length;
    return s->count > 0 && s->event.failure == 0;
}

/* Called when the client took all that it got before. */
static ssize_t on_block(void *context, uint64_t at, char *out, size_t most)
{
    struct mx_http_stream *const s = context;
    (void)at;
    mx_http_turn_server(s->request);
    int rc = s->gone ? MX_ERR_CLOSED : bytes_wait(s);
    if (rc < 0 && !s->gone && fail_event(s, rc)) rc = 1;
    if (s->ended) job_end(s); /* its place is for others, however long the rest takes to be sent */
    mx_error_clear();
    mx_http_turn_client(s->request);
    if (rc < 0) return MHD_CONTENT_READER_END_WITH_ERROR;
    if (rc == 0) return MHD_CONTENT_READER_END_OF_STREAM;
    const size_t part = s->count < most ? s->count : most;
    memcpy(out, s->bytes, part);
    s->bytes += part;
    s->count -= part;
    return (ssize_t)part;
}

#define WHOLE_LEAST ((size_t)64 << 10)

/* Room for `needed` bytes of a whole answer, if all of them together may have that much. */
static int whole_grow(struct mx_http_stream *s, char **out, size_t needed)
{
    struct mx_http *const http = s->request->http;
    size_t room = s->whole_room + s->whole_room / 4 + WHOLE_LEAST;
    if (needed <= s->whole_room) return 0;
    if (room < needed) room = needed;
    if (room > http->whole_max) room = needed;
    pthread_mutex_lock(&http->lock);
    const bool fits = room <= http->whole_max - (http->whole - s->whole_room);
    if (fits) {
        http->whole += room - s->whole_room;
        s->whole_room = room;
    }
    pthread_mutex_unlock(&http->lock);
    if (!fits) {
        s->limited = true;
        const bool alone = needed > http->whole_max;
        mx_http_problem_set(&s->request->problem, alone ? 413 : 503, alone ? "speech_too_long" : "answers_too_large",
                            NULL,
                            "%s the %zu MiB that the server has for answers that are sent whole ('--whole-memory'): "
                            "%s, or have the sound sent while it is made with \"stream\": true",
                            alone ? "the sound is larger than" : "other answers take too much of",
                            http->whole_max >> 20, alone ? "ask for less" : "try again later");
        return MX_FAIL(MX_ERR_NO_MEMORY, NULL, "whole answers take too much memory");
    }
    char *const grown = mx_realloc(*out, room, 1);
    if (grown == NULL) return MX_ERR_NO_MEMORY;
    *out = grown;
    return 0;
}

/* All of it at once: a WAV file with its true length. */
static int whole_read(struct mx_http_stream *s, char **out, size_t *bytes)
{
    int rc = 0;
    size_t used = MX_ENCODE_WAV_HEADER;
    *out = NULL;
    for (;;) {
        MX_TRY(bytes_wait(s));
        const bool more = rc > 0;
        MX_TRY(whole_grow(s, out, used + s->count));
        memcpy(*out + used, s->bytes, s->count);
        used += s->count;
        s->count = 0;
        if (!more) break;
    }
    mx_encode_wav_header((unsigned char *)*out, s->speech.rate, (int64_t)(used - MX_ENCODE_WAV_HEADER) / 2);
    *bytes = used;
    rc = 0;
out:
    if (rc < 0) {
        mx_free(*out);
        *out = NULL;
    }
    return rc;
}

static int stream_open(struct mx_http_stream *s)
{
    int rc = 0;
    const enum mx_encode_format format = s->speech.whole ? MX_ENCODE_PCM : s->speech.format;
    MX_TRY(mx_service_begin(s->request->http->service, &s->speech.options, &s->job));
    MX_TRY(mx_encode_open(format, mx_service_job_rate(s->job), s->speech.rate, -1, &s->encode));
    MX_TRY(mx_service_add(s->job, s->speech.text, s->speech.length));
    MX_TRY(mx_service_finish(s->job));
out:
    return rc;
}

/* Headers are plain ASCII. */
static void warning_add(struct MHD_Response *response, const char *warning)
{
    char line[512];
    size_t n = 0;
    for (; *warning != '\0' && n + 5 < sizeof line; warning++) {
        const unsigned char c = (unsigned char)*warning;
        n += (size_t)snprintf(line + n, sizeof line - n, c >= ' ' && c < 127 ? "%c" : "%%%02X", c);
    }
    if (n > 0) mx_httpd_header_add(response, "X-Warning", line);
}

static enum MHD_Result stream_send(struct mx_http_stream *s, struct MHD_Response *response)
{
    const char *type = mx_encode_types[s->speech.format];
    char pcm[64];
    if (response == NULL) return MHD_NO;
    snprintf(pcm, sizeof pcm, "%s;rate=%d", type, s->speech.rate);
    if (s->speech.format == MX_ENCODE_PCM) type = pcm;
    mx_httpd_header_add(response, "X-Accel-Buffering", "no");
    warning_add(response, mx_service_job_warning(s->job));
    return mx_http_answer(s->request, MHD_HTTP_OK, s->speech.events ? "text/event-stream; charset=utf-8" : type,
                          response);
}

enum MHD_Result mx_http_stream_answer(struct mx_http_request *request, struct mx_http_speech *speech)
{
    int rc = 0;
    char *file = NULL;
    size_t bytes = 0;
    struct mx_http_stream *const s = mx_alloc(1, sizeof *s);
    if (s == NULL) {
        mx_http_speech_release(speech);
        MX_TRY(MX_ERR_NO_MEMORY);
    }
    request->stream = s;
    s->request = request;
    s->speech = *speech;
    MX_TRY(stream_open(s));
    if (!s->speech.whole) {
        MX_TRY(bytes_wait(s));
        return stream_send(s, MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK_BYTES, on_block, s, NULL));
    }
    MX_TRY(whole_read(s, &file, &bytes));
    struct MHD_Response *const response = MHD_create_response_from_buffer_with_free_callback(bytes, file, mx_free);
    if (response == NULL) mx_free(file);
    const enum MHD_Result result = stream_send(s, response);
    job_end(s);
    return result;
out:
    if (s != NULL && s->gone) return MHD_NO; /* it would not be read */
    if (s != NULL) {
        s->failed = true;
        job_end(s);
    }
    if (s == NULL || !s->limited) mx_http_problem_from_error(&request->problem, rc);
    return mx_http_answer_problem(request, &request->problem);
}

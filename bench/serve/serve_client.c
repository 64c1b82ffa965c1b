/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * serve_client PROTOCOL PORT CLIENTS REQUESTS FILE [first]: many clients of a server of speech on 127.0.0.1, for
 * bench-serve. All clients together send the text in FILE REQUESTS times, each one after the other, on a new connection
 * each time, as Home Assistant does. With 'first' they leave after the first sample, and come back when the server has
 * noticed.
 *
 *     wyoming   a 'synthesize' event
 *     piper     POST /synthesize, as Piper's own HTTP server has it; "stream" is true, which Piper does not know
 *     openai    POST /v1/audio/speech with raw samples in the answer
 *
 * Standard output, one line: the median of the milliseconds from a request to its first sample, the largest one, requests
 * per second from the first to the last, and the samples of an answer (all must have the same number, unless the clients
 * leave). The first sample counts when it has been received, whatever comes before it. A failed request is named and ends the program with 1.
 *
 * Memory: a client's answer is counted, not kept.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/string.h"
#include "myxtts/error.h"

#define CLIENTS_MAX  256
#define REQUESTS_MAX 10000
#define TEXT_MAX     ((size_t)1 << 20)
#define HEAD_MAX     65536 /* bytes of an event's line and data, or of an answer's head */
#define WAV_HEAD     44
#define PATIENCE_S   120
#define AWAY_NS      UINT64_C(300000000) /* between leaving and coming back */

enum protocol { WYOMING, PIPER, OPENAI, PROTOCOLS };
static const char *const names[PROTOCOLS] = {"wyoming", "piper", "openai"};

struct bench {
    enum protocol protocol;
    int port;
    struct mx_string request;
    atomic_int next; /* request to be sent */
    int requests;
    bool first_only;
    double *first_ms;   /* [requests] */
    uint64_t *samples;  /* [requests] */
    atomic_bool failed; /* all stop then */
};

/* What was received and not looked at yet. */
struct input {
    int socket;
    char bytes[16384];
    size_t at, used;
};

static void fail(struct bench *b, const char *what, const char *why)
{
    if (!atomic_exchange(&b->failed, true)) fprintf(stderr, "serve_client: %s: %s\n", what, why);
}

static int dial(struct bench *b)
{
    const int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)b->port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const struct timeval patience = {.tv_sec = PATIENCE_S};
    int on = 1;
    if (s < 0 || connect(s, (const struct sockaddr *)&to, sizeof to) != 0) {
        fail(b, "cannot connect", strerror(errno));
        if (s >= 0) close(s);
        return -1;
    }
    setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    return s;
}

/* Bytes that are there, waiting for the first; 0 at the end, negative after a failure. */
static ssize_t more(struct input *in)
{
    ssize_t got;
    if (in->at < in->used) return (ssize_t)(in->used - in->at);
    do got = recv(in->socket, in->bytes, sizeof in->bytes, 0);
    while (got < 0 && errno == EINTR);
    in->at = 0;
    in->used = got > 0 ? (size_t)got : 0;
    return got;
}

static bool take(struct input *in, char *out, size_t count)
{
    while (count > 0) {
        const ssize_t there = more(in);
        if (there <= 0) return false;
        const size_t part = (size_t)there < count ? (size_t)there : count;
        if (out != NULL) memcpy(out, in->bytes + in->at, part);
        if (out != NULL) out += part;
        in->at += part;
        count -= part;
    }
    return true;
}

/* A number in a line of JSON that has this key; 0 if it has not. */
static size_t number_of(const char *line, const char *key)
{
    const char *const at = strstr(line, key);
    return at != NULL ? strtoul(at + strlen(key) + strspn(at + strlen(key), "\": "), NULL, 10) : 0;
}

/* Reads the events of an answer. */
static bool wyoming_read(struct bench *b, struct input *in, uint64_t *first_ns, uint64_t *bytes)
{
    static _Thread_local char line[HEAD_MAX], data[HEAD_MAX];
    for (;;) {
        size_t length = 0;
        do {
            if (length + 1 >= sizeof line || !take(in, line + length, 1)) return false;
        } while (line[length++] != '\n');
        line[length] = '\0';
        const size_t data_length = number_of(line, "data_length"), payload = number_of(line, "payload_length");
        if (data_length >= sizeof data || !take(in, data, data_length)) return false;
        data[data_length] = '\0';
        if (strstr(line, "\"error\"") != NULL) {
            fail(b, "the server answers", data);
            return false;
        }
        if (payload > 0) {
            if (!take(in, NULL, 1)) return false;
            if (*bytes == 0) *first_ns = mx_clock_ns();
            *bytes += payload;
            if (b->first_only) return true;
            if (!take(in, NULL, payload - 1)) return false;
        }
        if (strstr(line, "\"audio-stop\"") != NULL) return true;
    }
}

/* Reads a body until the connection is closed: HTTP/1.0, so it is not chunked. */
static bool http_read(struct bench *b, struct input *in, uint64_t *first_ns, uint64_t *bytes)
{
    char head[HEAD_MAX];
    size_t length = 0;
    do {
        if (length + 1 >= sizeof head || !take(in, head + length, 1)) return false;
        head[++length] = '\0';
    } while (length < 4 || memcmp(head + length - 4, "\r\n\r\n", 4) != 0);
    if (strncmp(head, "HTTP/1.", 7) != 0 || atoi(head + 9) != 200) {
        head[strcspn(head, "\r")] = '\0';
        fail(b, "the server answers", head);
        return false;
    }
    if (b->protocol == PIPER && !take(in, NULL, WAV_HEAD)) return false;
    for (ssize_t there; (there = more(in)) != 0;) {
        if (there < 0) return false;
        if (*bytes == 0) *first_ns = mx_clock_ns();
        *bytes += (uint64_t)there;
        in->at = in->used;
        if (b->first_only) return true;
    }
    return *bytes > 0;
}

static void request_make(struct bench *b, int number)
{
    struct input in = {.socket = dial(b)};
    uint64_t first_ns = 0, bytes = 0;
    if (in.socket < 0) return;
    const uint64_t begin = mx_clock_ns();
    const char *at = b->request.data;
    bool good = true;
    for (size_t left = b->request.length; good && left > 0;) {
        const ssize_t sent = send(in.socket, at, left, MSG_NOSIGNAL);
        good = sent > 0;
        if (good) at += sent;
        if (good) left -= (size_t)sent;
    }
    good = good &&
           (b->protocol == WYOMING ? wyoming_read(b, &in, &first_ns, &bytes) : http_read(b, &in, &first_ns, &bytes));
    if (!good) fail(b, "the answer ended early", strerror(errno));
    close(in.socket);
    b->first_ms[number] = (double)(first_ns - begin) * 1e-6;
    b->samples[number] = bytes / 2;
}

static void *client(void *context)
{
    struct bench *const b = context;
    for (int number; !atomic_load(&b->failed) && (number = atomic_fetch_add(&b->next, 1)) < b->requests;) {
        request_make(b, number);
        if (b->first_only) mx_clock_sleep_ns(AWAY_NS);
    }
    return NULL;
}

static int request_write(struct bench *b, const char *text)
{
    cJSON *const body = cJSON_CreateObject();
    if (body == NULL || cJSON_AddStringToObject(body, b->protocol == OPENAI ? "input" : "text", text) == NULL ||
        (b->protocol == PIPER && cJSON_AddTrueToObject(body, "stream") == NULL) ||
        (b->protocol == OPENAI && (cJSON_AddStringToObject(body, "model", "tts-1") == NULL ||
                                   cJSON_AddStringToObject(body, "voice", "alloy") == NULL ||
                                   cJSON_AddStringToObject(body, "response_format", "pcm") == NULL))) {
        cJSON_Delete(body);
        return MX_ERR_NO_MEMORY;
    }
    char *const json = cJSON_PrintUnformatted(body);
    cJSON_Delete(body);
    if (json == NULL) return MX_ERR_NO_MEMORY;
    if (b->protocol == WYOMING)
        mx_string_append(&b->request, "{\"type\":\"synthesize\",\"data_length\":%zu}\n%s", strlen(json), json);
    else
        mx_string_append(&b->request,
                         "POST %s HTTP/1.0\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/json\r\nContent-Length: "
                         "%zu\r\n\r\n%s",
                         b->protocol == PIPER ? "/synthesize" : "/v1/audio/speech", b->port, strlen(json), json);
    cJSON_free(json);
    return b->request.failure;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int number_read(const char *text, const char *what, int most)
{
    int64_t value;
    if (mx_string_parse_int64(text, &value) == MX_STRING_NUMBER && value >= 1 && value <= most) return (int)value;
    fprintf(stderr, "serve_client: %s must be from 1 to %d, not '%s'\n", what, most, text);
    exit(1);
}

int main(int argc, char **argv)
{
    struct bench b = {0};
    pthread_t threads[CLIENTS_MAX];
    char *text = NULL;
    size_t bytes;
    int started = 0;
    if (argc < 6 || argc > 7 || (argc == 7 && strcmp(argv[6], "first") != 0)) {
        fprintf(stderr, "usage: serve_client wyoming|piper|openai PORT CLIENTS REQUESTS FILE [first]\n");
        return 1;
    }
    while (b.protocol < PROTOCOLS && strcmp(argv[1], names[b.protocol]) != 0) b.protocol++;
    b.first_only = argc == 7;
    b.port = number_read(argv[2], "the port", 65535);
    const int clients = number_read(argv[3], "the number of clients", CLIENTS_MAX);
    b.requests = number_read(argv[4], "the number of requests", REQUESTS_MAX);
    if (b.protocol == PROTOCOLS || mx_file_read(argv[5], TEXT_MAX, &text, &bytes) < 0) {
        fprintf(stderr, "serve_client: %s\n", b.protocol == PROTOCOLS ? "no such protocol" : mx_error_last()->message);
        return 1;
    }
    while (bytes > 0 && text[bytes - 1] == '\n') text[--bytes] = '\0';
    b.first_ms = mx_alloc((size_t)b.requests, sizeof *b.first_ms);
    b.samples = mx_alloc((size_t)b.requests, sizeof *b.samples);
    if (b.first_ms == NULL || b.samples == NULL || request_write(&b, text) < 0) {
        fprintf(stderr, "serve_client: no memory\n");
        return 1;
    }
    const uint64_t begin = mx_clock_ns();
    while (started < clients && pthread_create(&threads[started], NULL, client, &b) == 0) started++;
    if (started < clients) fail(&b, "cannot start all clients", strerror(errno));
    for (int i = 0; i < started; i++) pthread_join(threads[i], NULL);
    const double seconds = (double)(mx_clock_ns() - begin) * 1e-9;
    for (int i = 1; !atomic_load(&b.failed) && i < b.requests && !b.first_only; i++)
        if (b.samples[i] != b.samples[0]) fail(&b, "answers differ", "the same text has different numbers of samples");
    const bool good = !atomic_load(&b.failed);
    qsort(b.first_ms, (size_t)b.requests, sizeof *b.first_ms, ascending);
    if (good)
        printf("%.3f %.3f %.3f %llu\n", b.first_ms[b.requests / 2], b.first_ms[b.requests - 1], b.requests / seconds,
               (unsigned long long)b.samples[0]);
    mx_free(b.first_ms);
    mx_free(b.samples);
    mx_free(text);
    mx_string_release(&b.request);
    return good ? 0 : 1;
}

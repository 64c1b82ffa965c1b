/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A Wyoming server that really runs, with a voice of random weights, through its own port. Events as bytes are in
 * test_wyoming_event.c.
 */
#include <arpa/inet.h>
#include <cjson/cJSON.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "myxtts/error.h"
#include "myxtts/voice.h"
#include "serve/service.h"
#include "serve/wyoming.h"
#include "serve/wyoming_event.h"
#include "support/dial.h"
#include "support/recording.h"
#include "support/voice_rig.h"

#define RATE    22050
#define WAIT_MS 60000 /* for an answer; a machine that is busy with other things needs some of it */

static void must(int rc)
{
    if (rc < 0) fail_msg("%s (%s)", mx_error_last()->message, mx_error_last()->hint);
}

/* ---- a server and a client ---- */

struct rig {
    char *folder, *voice;
    struct mx_service *service;
    struct mx_wyoming *wyoming;
};

static struct rig shared; /* for all tests that change nothing */

static void service_open(struct rig *rig, int queue_max, size_t text_max)
{
    struct mx_service_options options = MX_SERVICE_OPTIONS_DEFAULT;
    const char *const voices[] = {shared.voice};
    options.voices = voices;
    options.voice_count = 1;
    options.queue_max = queue_max;
    options.text_max = text_max;
    must(mx_service_open(&options, &rig->service));
}

static void rig_open(struct rig *rig, const struct mx_wyoming_options *options)
{
    struct mx_wyoming_options usual = {0};
    if (options != NULL) usual = *options;
    usual.address = "127.0.0.1:0";
    must(mx_wyoming_open(&usual, rig->service, &rig->wyoming));
    assert_true(mx_wyoming_port(rig->wyoming) > 0);
}

static void rig_close(struct rig *rig)
{
    mx_wyoming_close(rig->wyoming);
    mx_service_close(rig->service);
}

static int setup(void **state)
{
    const struct mx_log_options quiet = {.level = MX_LOG_SILENT};
    (void)state;
    if (mx_log_configure(&quiet) < 0) return -1;
    shared.folder = folder_make();
    shared.voice = voice_rig_make(shared.folder, "voice", 5, true);
    service_open(&shared, 64, 65536);
    rig_open(&shared, NULL);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    rig_close(&shared);
    mx_free(shared.voice);
    folder_remove(shared.folder);
    return 0;
}

static int call(const struct rig *rig)
{
    return dial(mx_wyoming_port(rig->wyoming));
}

/* Text of JSON, as it is. */
static void say(int s, const char *json)
{
    assert_int_equal(send(s, json, strlen(json), MSG_NOSIGNAL), (ssize_t)strlen(json));
}

struct heard {
    char type[32];
    cJSON *data;
    int16_t *samples;
    size_t count;
};

static void heard_free(struct heard *h)
{
    cJSON_Delete(h->data);
    mx_free(h->samples);
    *h = (struct heard){0};
}

static const char *heard_text(const struct heard *h, const char *key)
{
    const char *const text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(h->data, key));
    return text != NULL ? text : "";
}

/* Exactly `count` bytes; false at the end of the connection. */
static bool read_exactly(int s, void *to, size_t count)
{
    for (size_t at = 0; at < count;) {
        struct pollfd ready = {.fd = s, .events = POLLIN};
        if (poll(&ready, 1, WAIT_MS) != 1) fail_msg("no answer");
        const ssize_t got = recv(s, (char *)to + at, count - at, 0);
        if (got <= 0) return false;
        at += (size_t)got;
    }
    return true;
}

/* The next event, read as a client reads it; false at the end of the connection. */
static bool hear(int s, struct heard *out)
{
    char line[1024], data[8192];
    size_t at = 0;
    *out = (struct heard){0};
    do {
        assert_true(at + 1 < sizeof line);
        if (!read_exactly(s, line + at, 1)) return false;
    } while (line[at++] != '\n');
    line[at] = '\0';
    cJSON *const head = cJSON_Parse(line);
    assert_non_null(head);
    snprintf(out->type, sizeof out->type, "%s", cJSON_GetStringValue(cJSON_GetObjectItem(head, "type")));
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(head, "version")), MX_WYOMING_VERSION);
    const cJSON *const data_length = cJSON_GetObjectItem(head, "data_length");
    const cJSON *const payload_length = cJSON_GetObjectItem(head, "payload_length");
    if (data_length != NULL) {
        assert_true(data_length->valueint > 0 && (size_t)data_length->valueint < sizeof data);
        assert_true(read_exactly(s, data, (size_t)data_length->valueint));
        data[data_length->valueint] = '\0';
        out->data = cJSON_Parse(data);
        assert_non_null(out->data);
    }
    if (payload_length != NULL) {
        out->count = (size_t)payload_length->valueint / 2;
        out->samples = mx_alloc(out->count, sizeof *out->samples);
        assert_true(read_exactly(s, out->samples, 2 * out->count));
    }
    cJSON_Delete(head);
    return true;
}

static void hear_type(int s, struct heard *out, const char *type)
{
    if (!hear(s, out)) fail_msg("closed before '%s' came", type);
    if (strcmp(out->type, type) != 0) fail_msg("'%s' came, not '%s': %s", out->type, type, heard_text(out, "text"));
}

static void hear_nothing(int s)
{
    struct heard h;
    if (hear(s, &h)) fail_msg("'%s' came", h.type);
    close(s);
}

/* audio-start, chunks, audio-stop: all samples; the caller frees. */
static int16_t *hear_sound(int s, size_t *count)
{
    struct heard h;
    int16_t *sound = mx_alloc(1, 1);
    *count = 0;
    hear_type(s, &h, "audio-start");
    assert_int_equal(cJSON_GetObjectItem(h.data, "rate")->valueint, RATE);
    assert_int_equal(cJSON_GetObjectItem(h.data, "width")->valueint, 2);
    assert_int_equal(cJSON_GetObjectItem(h.data, "channels")->valueint, 1);
    heard_free(&h);
    for (;;) {
        assert_true(hear(s, &h));
        if (strcmp(h.type, "audio-stop") == 0) break;
        assert_string_equal(h.type, "audio-chunk");
        assert_int_equal(cJSON_GetObjectItem(h.data, "rate")->valueint, RATE);
        assert_true(h.count > 0 && h.count <= MX_WYOMING_CHUNK_SAMPLES);
        sound = mx_realloc(sound, *count + h.count, sizeof *sound);
        assert_non_null(sound);
        memcpy(sound + *count, h.samples, h.count * sizeof *sound);
        *count += h.count;
        heard_free(&h);
    }
    heard_free(&h);
    return sound;
}

/* Is it what the service itself makes of the text? */
static void expect_sound(struct mx_service *service, const char *text, bool streaming, const int16_t *sound,
                         size_t count)
{
    struct mx_service_text options = MX_SERVICE_TEXT_DEFAULT;
    struct mx_service_job *job;
    float part[1000];
    int16_t samples[1000];
    size_t got, at = 0;
    int rc;
    options.streaming = streaming;
    must(mx_service_begin(service, &options, &job));
    must(mx_service_add(job, text, strlen(text)));
    must(mx_service_finish(job));
    while ((rc = mx_service_read(job, part, sizeof part / sizeof part[0], &got, WAIT_MS)) == 1) {
        assert_true(at + got <= count);
        mx_samples_pcm16(part, got, samples);
        assert_memory_equal(samples, sound + at, got * sizeof *samples);
        at += got;
    }
    must(rc);
    assert_int_equal(at, count);
    mx_service_end(job);
}

static void expect_error(int s, const char *code, const char *words)
{
    struct heard h;
    hear_type(s, &h, "error");
    assert_string_equal(heard_text(&h, "code"), code);
    if (strstr(heard_text(&h, "text"), words) == NULL) fail_msg("'%s' lacks '%s'", heard_text(&h, "text"), words);
    heard_free(&h);
    hear_nothing(s);
}

/* Until so many connections have come, and all have ended. */
static void wait_idle(struct rig *rig, uint64_t connections)
{
    struct mx_wyoming_counts counts;
    const uint64_t end = mx_clock_ns() + WAIT_MS * UINT64_C(1000000);
    do {
        mx_wyoming_counts_read(rig->wyoming, &counts);
        assert_true(mx_clock_ns() < end);
        mx_clock_sleep_ns(1000000);
    } while (counts.connections < connections || counts.active > 0);
    must(mx_service_wait(rig->service, 0));
}

static char *repeat(const char *head, const char *part, int count, const char *tail)
{
    struct mx_string text = {0};
    mx_string_append(&text, "%s", head);
    for (int i = 0; i < count; i++) mx_string_append(&text, "%s", part);
    mx_string_append(&text, "%s", tail);
    assert_int_equal(text.failure, 0);
    return text.data;
}

/* ---- what it answers ---- */

static void test_describe(void **state)
{
    struct heard h;
    const int s = call(&shared);
    (void)state;
    say(s, "{\"type\":\"describe\"}\n{\"type\":\"ping\",\"data\":{\"text\":\"x\\\"y\"}}\n{\"type\":\"ping\"}\n");
    hear_type(s, &h, "info");
    const cJSON *const program = cJSON_GetArrayItem(cJSON_GetObjectItem(h.data, "tts"), 0);
    const cJSON *const voice = cJSON_GetArrayItem(cJSON_GetObjectItem(program, "voices"), 0);
    assert_true(cJSON_IsTrue(cJSON_GetObjectItem(program, "supports_synthesize_streaming")));
    assert_true(cJSON_IsTrue(cJSON_GetObjectItem(program, "installed")));
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(program, "version")), MX_VERSION);
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(voice, "name")),
                        mx_service_voice(shared.service, 0)->id);
    assert_true(cJSON_IsTrue(cJSON_GetObjectItem(voice, "installed")));
    assert_true(cJSON_IsString(cJSON_GetObjectItem(cJSON_GetObjectItem(voice, "attribution"), "url")));
    assert_string_equal(cJSON_GetStringValue(cJSON_GetArrayItem(cJSON_GetObjectItem(voice, "languages"), 0)), "en");
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(program, "voices")), 1);
    assert_true(cJSON_IsArray(cJSON_GetObjectItem(h.data, "asr")));
    heard_free(&h);
    hear_type(s, &h, "pong");
    assert_string_equal(heard_text(&h, "text"), "x\"y");
    heard_free(&h);
    hear_type(s, &h, "pong");
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(h.data, "text")));
    heard_free(&h);
    close(s);
}

static void test_synthesize(void **state)
{
    size_t count;
    const int s = call(&shared);
    (void)state;
    /* Three requests, two of them in one piece, with an event that nobody knows and a payload between them. */
    say(s, "{\"type\":\"synthesize\",\"data\":{\"text\":\"Hello there, how are you?\"}}\n"
           "{\"type\":\"run-pipeline\",\"payload_length\":3}\nabc"
           "{\"type\":\"synthesize\",\"data\":{\"text\":\"A second. And a third.\",\"text_format\":\"text\","
           "\"voice\":{\"name\":\"alloy\"}}}\n");
    int16_t *sound = hear_sound(s, &count);
    assert_true(count > 2 * MX_WYOMING_CHUNK_SAMPLES);
    expect_sound(shared.service, "Hello there, how are you?", false, sound, count);
    mx_free(sound);
    sound = hear_sound(s, &count);
    expect_sound(shared.service, "A second. And a third.", false, sound, count);
    mx_free(sound);
    say(s, "{\"type\":\"synthesize\",\"data\":{\"text\":\"x\",\"voice\":{\"language\":\"en_GB\"}}}\n");
    sound = hear_sound(s, &count);
    expect_sound(shared.service, "x", false, sound, count);
    mx_free(sound);
    close(s);
}

static void test_ssml(void **state)
{
    size_t plain, paused;
    const int s = call(&shared);
    (void)state;
    say(s, "{\"type\":\"synthesize\",\"data\":{\"text\":\"Hello\"}}\n");
    mx_free(hear_sound(s, &plain));
    say(s,
        "{\"type\":\"synthesize\",\"data\":{\"text\":\"<speak>Hello<break time=\\\"2s\\\"/></speak>\",\"text_format\":"
        "\"ssml\"}}\n");
    mx_free(hear_sound(s, &paused));
    assert_true(paused >= plain + RATE);
    close(s);
}

static void test_nothing_to_say(void **state)
{
    size_t count;
    struct heard h;
    const int s = call(&shared);
    (void)state;
    say(s, "{\"type\":\"synthesize\",\"data\":{\"text\":\" \"}}\n");
    mx_free(hear_sound(s, &count));
    assert_int_equal(count, 0);
    say(s, "{\"type\":\"synthesize-start\"}\n{\"type\":\"synthesize-stop\"}\n{\"type\":\"ping\"}\n");
    mx_free(hear_sound(s, &count));
    assert_int_equal(count, 0);
    hear_type(s, &h, "synthesize-stopped");
    heard_free(&h);
    hear_type(s, &h, "pong");
    heard_free(&h);
    close(s);
}

static void test_streaming(void **state)
{
    static const char text[] = "One two three. Four five six! Seven, eight";
    size_t count;
    struct heard h;
    const int s = call(&shared);
    (void)state;
    for (int round = 0; round < 2; round++) {
        say(s, "{\"type\":\"synthesize-start\",\"data\":{\"voice\":{\"name\":null}}}\n");
        for (size_t at = 0; at < sizeof text - 1; at += 5) {
            char event[128];
            snprintf(event, sizeof event, "{\"type\":\"synthesize-chunk\",\"data\":{\"text\":\"%.5s\"}}\n", text + at);
            say(s, event);
        }
        say(s, "{\"type\":\"synthesize\",\"data\":{\"text\":\"Not spoken.\"}}\n{\"type\":\"synthesize-stop\"}\n");
        int16_t *const sound = hear_sound(s, &count);
        hear_type(s, &h, "synthesize-stopped");
        heard_free(&h);
        expect_sound(shared.service, text, true, sound, count);
        mx_free(sound);
    }
    close(s);
}

/* Events are answered while a stream waits for text. */
static void test_streaming_waits(void **state)
{
    size_t count;
    struct heard h;
    const int s = call(&shared);
    (void)state;
    say(s, "{\"type\":\"synthesize-start\"}\n{\"type\":\"ping\"}\n");
    hear_type(s, &h, "pong");
    heard_free(&h);
    say(s, "{\"type\":\"synthesize-chunk\",\"data\":{\"text\":\"Late\"}}\n{\"type\":\"describe\"}\n");
    hear_type(s, &h, "info");
    heard_free(&h);
    say(s, "{\"type\":\"synthesize-stop\"}\n");
    int16_t *const sound = hear_sound(s, &count);
    expect_sound(shared.service, "Late", true, sound, count);
    mx_free(sound);
    hear_type(s, &h, "synthesize-stopped");
    heard_free(&h);
    close(s);
}

/* ---- what it refuses ---- */

static void expect_refused(const char *json, const char *code, const char *words)
{
    const int s = call(&shared);
    say(s, json);
    expect_error(s, code, words);
}

static void test_refused(void **state)
{
    (void)state;
    expect_refused("GET / HTTP/1.1\r\n", "FORMAT", "as the Wyoming protocol has it");
    expect_refused("{\"type\":\"synthesize\"}\n", "FORMAT", "has no text");
    expect_refused("{\"type\":\"synthesize\",\"data\":{\"text\":7}}\n", "FORMAT", "no string");
    expect_refused("{\"type\":\"synthesize\",\"data\":{\"text\":\"a\",\"voice\":\"x\"}}\n", "FORMAT", "no object");
    expect_refused("{\"type\":\"synthesize\",\"data\":{\"text\":\"a\",\"voice\":{\"name\":\"nobody\"}}}\n", "NOT_FOUND",
                   mx_service_voice(shared.service, 0)->id);
    expect_refused("{\"type\":\"synthesize\",\"data\":{\"text\":\"a\",\"voice\":{\"language\":\"eng\"}}}\n",
                   "NOT_FOUND", "'eng'");
    expect_refused("{\"type\":\"synthesize\",\"data\":{\"text\":\"a\",\"text_format\":\"pdf\"}}\n", "UNSUPPORTED",
                   "'pdf'");
    expect_refused("{\"type\":\"synthesize\",\"data\":{\"text\":\"<speak>a\",\"text_format\":\"ssml\"}}\n", "DATA",
                   "line 1");
    expect_refused("{\"type\":\"synthesize-chunk\",\"data\":{\"text\":\"a\"}}\n", "FORMAT", "'synthesize-start'");
    expect_refused("{\"type\":\"synthesize-stop\"}\n", "FORMAT", "'synthesize-start'");
    expect_refused("{\"type\":\"synthesize-start\"}\n{\"type\":\"synthesize-start\"}\n", "FORMAT", "does not fit");
    expect_refused("{\"type\":\"ping\",\"data_length\":999999999}\n", "FORMAT", "data_length");
}

static void test_text_too_long(void **state)
{
    struct rig rig = {0};
    (void)state;
    service_open(&rig, 4, 100);
    rig_open(&rig, NULL);
    char *const text = repeat("{\"type\":\"synthesize\",\"data\":{\"text\":\"", "abcdefghi.", 11, "\"}}\n");
    int s = call(&rig);
    say(s, text);
    expect_error(s, "ARGUMENT", "100");
    mx_free(text);
    /* Piece by piece, too. */
    s = call(&rig);
    say(s, "{\"type\":\"synthesize-start\"}\n");
    for (int i = 0; i < 11; i++) say(s, "{\"type\":\"synthesize-chunk\",\"data\":{\"text\":\"abcdefghij\"}}\n");
    struct heard h;
    do { /* sound of the first ones may come before */
        assert_true(hear(s, &h));
        const bool error = strcmp(h.type, "error") == 0;
        heard_free(&h);
        if (error) break;
    } while (true);
    hear_nothing(s);
    /* An event that can hold no text that is short enough. */
    char *const event = repeat("{\"type\":\"synthesize\",\"data\":{\"text\":\"", "abcdefghij", 2000, "\"}}\n");
    s = call(&rig);
    say(s, event);
    expect_error(s, "FORMAT", "bytes");
    mx_free(event);
    rig_close(&rig);
}

static void test_queue_full(void **state)
{
    struct rig rig = {0};
    struct heard h;
    size_t count;
    (void)state;
    service_open(&rig, 1, 1000);
    rig_open(&rig, NULL);
    /* One that has begun and said nothing holds no place; one with a sentence does. */
    const int silent = call(&rig), first = call(&rig);
    say(silent, "{\"type\":\"synthesize-start\"}\n{\"type\":\"ping\"}\n");
    hear_type(silent, &h, "pong");
    heard_free(&h);
    say(first,
        "{\"type\":\"synthesize-start\"}\n{\"type\":\"synthesize-chunk\",\"data\":{\"text\":\"A sentence. And\"}}\n");
    hear_type(first, &h, "audio-start");
    heard_free(&h);
    const int second = call(&rig);
    say(second, "{\"type\":\"synthesize\",\"data\":{\"text\":\"a\"}}\n");
    expect_error(second, "BUDGET", "try again in ");
    /* The first one goes, and its place is free. */
    close(first);
    close(silent);
    wait_idle(&rig, 3);
    const int third = call(&rig);
    say(third, "{\"type\":\"synthesize\",\"data\":{\"text\":\"a\"}}\n");
    mx_free(hear_sound(third, &count));
    /* A service that ends refuses, and says so. */
    mx_service_drain(rig.service);
    say(third, "{\"type\":\"synthesize\",\"data\":{\"text\":\"a\"}}\n");
    expect_error(third, "CLOSED", "end");
    rig_close(&rig);
}

static void test_connections_bounded(void **state)
{
    struct rig rig = {.service = shared.service};
    const struct mx_wyoming_options few = {.connections = 3, .connections_per_address = 2};
    struct mx_wyoming_counts counts;
    struct heard h;
    int s[2];
    (void)state;
    rig_open(&rig, &few);
    for (int i = 0; i < 2; i++) {
        s[i] = call(&rig);
        say(s[i], "{\"type\":\"ping\"}\n");
        hear_type(s[i], &h, "pong");
        heard_free(&h);
    }
    /* Who only waits makes room for a new one: the oldest of the address. */
    const int third = call(&rig);
    say(third, "{\"type\":\"ping\"}\n");
    hear_type(third, &h, "pong");
    heard_free(&h);
    hear_nothing(s[0]);
    s[0] = third;
    /* Who has given a text does not. */
    for (int i = 0; i < 2; i++) {
        say(s[i], "{\"type\":\"synthesize-start\"}\n{\"type\":\"synthesize-chunk\",\"data\":{\"text\":\"Half a\"}}\n"
                  "{\"type\":\"ping\"}\n");
        hear_type(s[i], &h, "pong");
        heard_free(&h);
    }
    expect_error(call(&rig), "BUDGET", "your address");
    do mx_wyoming_counts_read(rig.wyoming, &counts);
    while (counts.active > 2);
    assert_int_equal(counts.connections, 3);
    assert_int_equal(counts.displaced, 1);
    assert_int_equal(counts.active, 2);
    /* One that leaves makes room. */
    close(s[0]);
    do mx_wyoming_counts_read(rig.wyoming, &counts);
    while (counts.active == 2);
    s[0] = call(&rig);
    say(s[0], "{\"type\":\"ping\"}\n");
    hear_type(s[0], &h, "pong");
    heard_free(&h);
    mx_wyoming_counts_read(rig.wyoming, &counts);
    assert_int_equal(counts.refused, 1);
    /* Closing it ends the connections. */
    mx_wyoming_close(rig.wyoming);
    hear_nothing(s[0]);
    hear_nothing(s[1]);
    const struct mx_wyoming_options one = {.connections = 1};
    rig_open(&rig, &one);
    s[0] = call(&rig);
    say(s[0], "{\"type\":\"synthesize-start\"}\n{\"type\":\"synthesize-chunk\",\"data\":{\"text\":\"Half a\"}}\n"
              "{\"type\":\"ping\"}\n");
    hear_type(s[0], &h, "pong");
    heard_free(&h);
    expect_error(call(&rig), "BUDGET", "the server has");
    close(s[0]);
    mx_wyoming_close(rig.wyoming);
}

/* ---- clients that go, or do nothing ---- */

static void test_vanishing(void **state)
{
    struct rig rig = {0};
    struct mx_service_counts counts;
    struct heard h;
    (void)state;
    service_open(&rig, 64, 65536);
    rig_open(&rig, NULL);
    char *const text = repeat("{\"type\":\"synthesize\",\"data\":{\"text\":\"", "Hello there. ", 40, "\"}}\n");
    /* After its first sound, … */
    int s = call(&rig);
    say(s, text);
    hear_type(s, &h, "audio-start");
    heard_free(&h);
    close(s);
    wait_idle(&rig, 1);
    /* … while text is still expected, … */
    s = call(&rig);
    say(s, "{\"type\":\"synthesize-start\"}\n{\"type\":\"synthesize-chunk\",\"data\":{\"text\":\"Hel\"}}\n");
    close(s);
    wait_idle(&rig, 2);
    /* … and in the middle of an event. */
    s = call(&rig);
    say(s, "{\"type\":\"synthesize\",\"data_length\":100}\n{\"te");
    close(s);
    wait_idle(&rig, 3);
    mx_service_counts_read(rig.service, &counts);
    assert_int_equal(counts.active, 0);
    assert_int_equal(counts.cancelled, 1); /* the second one had no sentence, and so no place */
    mx_free(text);
    rig_close(&rig);
}

/* A browser that is made to connect cannot speak the protocol: its request is no event. */
static void test_browser_is_refused(void **state)
{
    struct rig rig = {.service = shared.service};
    struct mx_wyoming_counts counts;
    (void)state;
    rig_open(&rig, NULL);
    const int s = call(&rig);
    say(s, "POST / HTTP/1.1\r\nHost: localhost:10200\r\nContent-Length: 44\r\n\r\n"
           "{\"type\":\"synthesize\",\"data\":{\"text\":\"a\"}}\n");
    expect_error(s, "FORMAT", "JSON");
    mx_wyoming_counts_read(rig.wyoming, &counts);
    assert_int_equal(counts.requests, 0);
    mx_wyoming_close(rig.wyoming);
}

static void test_patience(void **state)
{
    struct rig rig = {.service = shared.service};
    const struct mx_wyoming_options hasty = {.patience_ms = 50, .idle_ms = 100};
    struct mx_wyoming_counts counts;
    (void)state;
    rig_open(&rig, &hasty);
    int s = call(&rig);
    say(s, "{\"type\":\"syn");
    expect_error(s, "TIMEOUT", "did not end");
    expect_error(call(&rig), "TIMEOUT", "no event came");
    s = call(&rig);
    say(s, "{\"type\":\"synthesize-start\"}\n");
    expect_error(s, "TIMEOUT", "no event came");
    /* One that does not read: far more sound than the system keeps for it. */
    char *const text = repeat("{\"type\":\"synthesize\",\"data\":{\"text\":\"", "Hello there. ", 40, "\"}}\n");
    s = dial_small(mx_wyoming_port(rig.wyoming), 4096);
    say(s, text);
    wait_idle(&rig, 4);
    close(s);
    mx_wyoming_counts_read(rig.wyoming, &counts);
    assert_int_equal(counts.failed, 4);
    assert_int_equal(counts.requests, 2);
    mx_free(text);
    mx_wyoming_close(rig.wyoming);
}

/* ---- where it listens ---- */

static void test_address(void **state)
{
    struct mx_wyoming *wyoming;
    char taken[32];
    struct mx_wyoming_options options = {.address = "0.0.0.0:0"};
    (void)state;
    assert_int_equal(mx_wyoming_open(&options, shared.service, &wyoming), MX_ERR_USAGE);
    assert_null(wyoming);
    assert_non_null(strstr(mx_error_last()->message, "no password"));
    assert_non_null(strstr(mx_error_last()->hint, "'--insecure'"));
    options.insecure = true;
    must(mx_wyoming_open(&options, shared.service, &wyoming));
    assert_memory_equal(mx_wyoming_name(wyoming), "0.0.0.0:", 8);
    mx_wyoming_close(wyoming);
    options = (struct mx_wyoming_options){.address = "here"};
    assert_int_equal(mx_wyoming_open(&options, shared.service, &wyoming), MX_ERR_USAGE);
    assert_non_null(strstr(mx_error_last()->hint, MX_WYOMING_ADDRESS));
    snprintf(taken, sizeof taken, "127.0.0.1:%d", mx_wyoming_port(shared.wyoming));
    options.address = taken;
    assert_int_equal(mx_wyoming_open(&options, shared.service, &wyoming), MX_ERR_IO);
    assert_non_null(strstr(mx_error_last()->hint, "'--wyoming 127.0.0.1:"));
    options = (struct mx_wyoming_options){.address = "127.0.0.1:0", .connections = -1};
    assert_int_equal(mx_wyoming_open(&options, shared.service, &wyoming), MX_ERR_ARGUMENT);
    mx_wyoming_close(NULL);
}

/* Whichever allocation fails, it is an error, and nothing is left. */
static void test_without_memory(void **state)
{
    const struct mx_wyoming_options options = {.address = "127.0.0.1:0"};
    struct mx_wyoming *wyoming = NULL;
    int rc = -1, failures = 0;
    (void)state;
    for (uint64_t n = 1; rc < 0; n++) {
        mx_alloc_fail_at(n);
        rc = mx_wyoming_open(&options, shared.service, &wyoming);
        mx_alloc_fail_at(0);
        if (rc == 0) break;
        assert_int_equal(rc, MX_ERR_NO_MEMORY);
        assert_null(wyoming);
        failures++;
    }
    assert_true(failures >= 3);
    mx_wyoming_close(wyoming);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_describe),       cmocka_unit_test(test_synthesize),
        cmocka_unit_test(test_ssml),           cmocka_unit_test(test_nothing_to_say),
        cmocka_unit_test(test_streaming),      cmocka_unit_test(test_streaming_waits),
        cmocka_unit_test(test_refused),        cmocka_unit_test(test_text_too_long),
        cmocka_unit_test(test_queue_full),     cmocka_unit_test(test_connections_bounded),
        cmocka_unit_test(test_vanishing),      cmocka_unit_test(test_browser_is_refused),
        cmocka_unit_test(test_patience),       cmocka_unit_test(test_address),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A Wyoming server and its clients, see wyoming_rig.h.
 */
#include "support/wyoming_rig.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/string.h"
#include "myxtts/error.h"
#include "myxtts/voice.h"
#include "serve/wyoming_event.h"
#include "support/dial.h"
#include "support/recording.h"
#include "support/voice_rig.h"

#define WAIT_MS 60000 /* for an answer; a machine that is busy with other things needs some of it */

struct wyoming_rig wyoming_shared;

void wyoming_must(int rc)
{
    if (rc < 0) fail_msg("%s (%s)", mx_error_last()->message, mx_error_last()->hint);
}

void wyoming_service_open(struct wyoming_rig *rig, int queue_max, size_t text_max)
{
    struct mx_service_options options = MX_SERVICE_OPTIONS_DEFAULT;
    const char *const voices[] = {wyoming_shared.voice};
    options.voices = voices;
    options.voice_count = 1;
    options.queue_max = queue_max;
    options.text_max = text_max;
    wyoming_must(mx_service_open(&options, &rig->service));
}

void wyoming_rig_open(struct wyoming_rig *rig, const struct mx_wyoming_options *options)
{
    struct mx_wyoming_options usual = {0};
    if (options != NULL) usual = *options;
    usual.address = "127.0.0.1:0";
    wyoming_must(mx_wyoming_open(&usual, rig->service, &rig->wyoming));
    assert_true(mx_wyoming_port(rig->wyoming) > 0);
}

void wyoming_rig_close(struct wyoming_rig *rig)
{
    mx_wyoming_close(rig->wyoming);
    mx_service_close(rig->service);
}

int wyoming_setup(void **state)
{
    const struct mx_log_options quiet = {.level = MX_LOG_SILENT};
    (void)state;
    if (mx_log_configure(&quiet) < 0) return -1;
    wyoming_shared.folder = folder_make();
    wyoming_shared.voice = voice_rig_make(wyoming_shared.folder, "voice", 5, true);
    wyoming_service_open(&wyoming_shared, 64, 65536);
    wyoming_rig_open(&wyoming_shared, NULL);
    return 0;
}

int wyoming_teardown(void **state)
{
    (void)state;
    wyoming_rig_close(&wyoming_shared);
    mx_free(wyoming_shared.voice);
    folder_remove(wyoming_shared.folder);
    return 0;
}

int wyoming_call(const struct wyoming_rig *rig)
{
    return dial(mx_wyoming_port(rig->wyoming));
}

void wyoming_say(int s, const char *json)
{
    assert_int_equal(send(s, json, strlen(json), MSG_NOSIGNAL), (ssize_t)strlen(json));
}

void wyoming_heard_free(struct wyoming_heard *h)
{
    cJSON_Delete(h->data);
    mx_free(h->samples);
    *h = (struct wyoming_heard){0};
}

const char *wyoming_heard_text(const struct wyoming_heard *h, const char *key)
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

bool wyoming_hear(int s, struct wyoming_heard *out)
{
    char line[1024], data[8192];
    size_t at = 0;
    *out = (struct wyoming_heard){0};
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

void wyoming_hear_type(int s, struct wyoming_heard *out, const char *type)
{
    if (!wyoming_hear(s, out)) fail_msg("closed before '%s' came", type);
    if (strcmp(out->type, type) != 0)
        fail_msg("'%s' came, not '%s': %s", out->type, type, wyoming_heard_text(out, "text"));
}

void wyoming_hear_nothing(int s)
{
    struct wyoming_heard h;
    if (wyoming_hear(s, &h)) fail_msg("'%s' came", h.type);
    close(s);
}

int16_t *wyoming_hear_sound(int s, size_t *count)
{
    struct wyoming_heard h;
    int16_t *sound = mx_alloc(1, 1);
    *count = 0;
    wyoming_hear_type(s, &h, "audio-start");
    assert_int_equal(cJSON_GetObjectItem(h.data, "rate")->valueint, WYOMING_RATE);
    assert_int_equal(cJSON_GetObjectItem(h.data, "width")->valueint, 2);
    assert_int_equal(cJSON_GetObjectItem(h.data, "channels")->valueint, 1);
    wyoming_heard_free(&h);
    for (;;) {
        assert_true(wyoming_hear(s, &h));
        if (strcmp(h.type, "audio-stop") == 0) break;
        assert_string_equal(h.type, "audio-chunk");
        assert_int_equal(cJSON_GetObjectItem(h.data, "rate")->valueint, WYOMING_RATE);
        assert_true(h.count > 0 && h.count <= MX_WYOMING_CHUNK_SAMPLES);
        sound = mx_realloc(sound, *count + h.count, sizeof *sound);
        assert_non_null(sound);
        memcpy(sound + *count, h.samples, h.count * sizeof *sound);
        *count += h.count;
        wyoming_heard_free(&h);
    }
    wyoming_heard_free(&h);
    return sound;
}

void wyoming_expect_sound(struct mx_service *service, const char *text, bool streaming, const int16_t *sound,
                          size_t count)
{
    struct mx_service_text options = MX_SERVICE_TEXT_DEFAULT;
    struct mx_service_job *job;
    float part[1000];
    int16_t samples[1000];
    size_t got, at = 0;
    int rc;
    options.streaming = streaming;
    wyoming_must(mx_service_begin(service, &options, &job));
    wyoming_must(mx_service_add(job, text, strlen(text)));
    wyoming_must(mx_service_finish(job));
    while ((rc = mx_service_read(job, part, sizeof part / sizeof part[0], &got, WAIT_MS)) == 1) {
        assert_true(at + got <= count);
        mx_samples_pcm16(part, got, samples);
        assert_memory_equal(samples, sound + at, got * sizeof *samples);
        at += got;
    }
    wyoming_must(rc);
    assert_int_equal(at, count);
    mx_service_end(job);
}

void wyoming_expect_error(int s, const char *code, const char *words)
{
    struct wyoming_heard h;
    wyoming_hear_type(s, &h, "error");
    assert_string_equal(wyoming_heard_text(&h, "code"), code);
    if (strstr(wyoming_heard_text(&h, "text"), words) == NULL)
        fail_msg("'%s' lacks '%s'", wyoming_heard_text(&h, "text"), words);
    wyoming_heard_free(&h);
    wyoming_hear_nothing(s);
}

void wyoming_wait_idle(struct wyoming_rig *rig, uint64_t connections)
{
    struct mx_wyoming_counts counts;
    const uint64_t end = mx_clock_ns() + WAIT_MS * UINT64_C(1000000);
    do {
        mx_wyoming_counts_read(rig->wyoming, &counts);
        assert_true(mx_clock_ns() < end);
        mx_clock_sleep_ns(1000000);
    } while (counts.connections < connections || counts.active > 0);
    wyoming_must(mx_service_wait(rig->service, 0));
}

char *wyoming_repeat(const char *head, const char *part, int count, const char *tail)
{
    struct mx_string text = {0};
    mx_string_append(&text, "%s", head);
    for (int i = 0; i < count; i++) mx_string_append(&text, "%s", part);
    mx_string_append(&text, "%s", tail);
    assert_int_equal(text.failure, 0);
    return text.data;
}

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What a Wyoming server answers and refuses, through its own port. Several clients at once, and those that go, are in
 * test_wyoming_clients.c; events as bytes are in test_wyoming_event.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "myxtts/error.h"
#include "serve/wyoming_event.h"
#include "support/wyoming_rig.h"

static void test_describe(void **state)
{
    struct wyoming_heard h;
    const int s = wyoming_call(&wyoming_shared);
    (void)state;
    wyoming_say(s,
                "{\"type\":\"describe\"}\n{\"type\":\"ping\",\"data\":{\"text\":\"x\\\"y\"}}\n{\"type\":\"ping\"}\n");
    wyoming_hear_type(s, &h, "info");
    const cJSON *const program = cJSON_GetArrayItem(cJSON_GetObjectItem(h.data, "tts"), 0);
    const cJSON *const voice = cJSON_GetArrayItem(cJSON_GetObjectItem(program, "voices"), 0);
    assert_true(cJSON_IsTrue(cJSON_GetObjectItem(program, "supports_synthesize_streaming")));
    assert_true(cJSON_IsTrue(cJSON_GetObjectItem(program, "installed")));
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(program, "version")), MX_VERSION);
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(voice, "name")),
                        mx_service_voice(wyoming_shared.service, 0)->id);
    assert_true(cJSON_IsTrue(cJSON_GetObjectItem(voice, "installed")));
    assert_true(cJSON_IsString(cJSON_GetObjectItem(cJSON_GetObjectItem(voice, "attribution"), "url")));
    assert_string_equal(cJSON_GetStringValue(cJSON_GetArrayItem(cJSON_GetObjectItem(voice, "languages"), 0)), "en");
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(program, "voices")), 1);
    assert_true(cJSON_IsArray(cJSON_GetObjectItem(h.data, "asr")));
    wyoming_heard_free(&h);
    wyoming_hear_type(s, &h, "pong");
    assert_string_equal(wyoming_heard_text(&h, "text"), "x\"y");
    wyoming_heard_free(&h);
    wyoming_hear_type(s, &h, "pong");
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(h.data, "text")));
    wyoming_heard_free(&h);
    close(s);
}

static void test_synthesize(void **state)
{
    size_t count;
    const int s = wyoming_call(&wyoming_shared);
    (void)state;
    /* Three requests, two of them in one piece, with an event that nobody knows and a payload between them. */
    wyoming_say(s, "{\"type\":\"synthesize\",\"data\":{\"text\":\"Hello there, how are you?\"}}\n"
                   "{\"type\":\"run-pipeline\",\"payload_length\":3}\nabc"
                   "{\"type\":\"synthesize\",\"data\":{\"text\":\"A second. And a third.\",\"text_format\":\"text\","
                   "\"voice\":{\"name\":\"alloy\"}}}\n");
    int16_t *sound = wyoming_hear_sound(s, &count);
    assert_true(count > 2 * MX_WYOMING_CHUNK_SAMPLES);
    wyoming_expect_sound(wyoming_shared.service, "Hello there, how are you?", false, sound, count);
    mx_free(sound);
    sound = wyoming_hear_sound(s, &count);
    wyoming_expect_sound(wyoming_shared.service, "A second. And a third.", false, sound, count);
    mx_free(sound);
    wyoming_say(s, "{\"type\":\"synthesize\",\"data\":{\"text\":\"x\",\"voice\":{\"language\":\"en_GB\"}}}\n");
    sound = wyoming_hear_sound(s, &count);
    wyoming_expect_sound(wyoming_shared.service, "x", false, sound, count);
    mx_free(sound);
    close(s);
}

static void test_ssml(void **state)
{
    size_t plain, paused;
    const int s = wyoming_call(&wyoming_shared);
    (void)state;
    wyoming_say(s, "{\"type\":\"synthesize\",\"data\":{\"text\":\"Hello\"}}\n");
    mx_free(wyoming_hear_sound(s, &plain));
    wyoming_say(
        s,
        "{\"type\":\"synthesize\",\"data\":{\"text\":\"<speak>Hello<break time=\\\"2s\\\"/></speak>\",\"text_format\":"
        "\"ssml\"}}\n");
    mx_free(wyoming_hear_sound(s, &paused));
    assert_true(paused >= plain + WYOMING_RATE);
    close(s);
}

static void test_nothing_to_say(void **state)
{
    size_t count;
    struct wyoming_heard h;
    const int s = wyoming_call(&wyoming_shared);
    (void)state;
    wyoming_say(s, "{\"type\":\"synthesize\",\"data\":{\"text\":\" \"}}\n");
    mx_free(wyoming_hear_sound(s, &count));
    assert_int_equal(count, 0);
    wyoming_say(s, "{\"type\":\"synthesize-start\"}\n{\"type\":\"synthesize-stop\"}\n{\"type\":\"ping\"}\n");
    mx_free(wyoming_hear_sound(s, &count));
    assert_int_equal(count, 0);
    wyoming_hear_type(s, &h, "synthesize-stopped");
    wyoming_heard_free(&h);
    wyoming_hear_type(s, &h, "pong");
    wyoming_heard_free(&h);
    close(s);
}

static void test_streaming(void **state)
{
    static const char text[] = "One two three. Four five six! Seven, eight";
    size_t count;
    struct wyoming_heard h;
    const int s = wyoming_call(&wyoming_shared);
    (void)state;
    for (int round = 0; round < 2; round++) {
        wyoming_say(s, "{\"type\":\"synthesize-start\",\"data\":{\"voice\":{\"name\":null}}}\n");
        for (size_t at = 0; at < sizeof text - 1; at += 5) {
            char event[128];
            snprintf(event, sizeof event, "{\"type\":\"synthesize-chunk\",\"data\":{\"text\":\"%.5s\"}}\n", text + at);
            wyoming_say(s, event);
        }
        wyoming_say(s,
                    "{\"type\":\"synthesize\",\"data\":{\"text\":\"Not spoken.\"}}\n{\"type\":\"synthesize-stop\"}\n");
        int16_t *const sound = wyoming_hear_sound(s, &count);
        wyoming_hear_type(s, &h, "synthesize-stopped");
        wyoming_heard_free(&h);
        wyoming_expect_sound(wyoming_shared.service, text, true, sound, count);
        mx_free(sound);
    }
    close(s);
}

/* Events are answered while a stream waits for text. */
static void test_streaming_waits(void **state)
{
    size_t count;
    struct wyoming_heard h;
    const int s = wyoming_call(&wyoming_shared);
    (void)state;
    wyoming_say(s, "{\"type\":\"synthesize-start\"}\n{\"type\":\"ping\"}\n");
    wyoming_hear_type(s, &h, "pong");
    wyoming_heard_free(&h);
    wyoming_say(s, "{\"type\":\"synthesize-chunk\",\"data\":{\"text\":\"Late\"}}\n{\"type\":\"describe\"}\n");
    wyoming_hear_type(s, &h, "info");
    wyoming_heard_free(&h);
    wyoming_say(s, "{\"type\":\"synthesize-stop\"}\n");
    int16_t *const sound = wyoming_hear_sound(s, &count);
    wyoming_expect_sound(wyoming_shared.service, "Late", true, sound, count);
    mx_free(sound);
    wyoming_hear_type(s, &h, "synthesize-stopped");
    wyoming_heard_free(&h);
    close(s);
}

/* ---- what it refuses ---- */

static void expect_refused(const char *json, const char *code, const char *words)
{
    const int s = wyoming_call(&wyoming_shared);
    wyoming_say(s, json);
    wyoming_expect_error(s, code, words);
}

static void test_refused(void **state)
{
    (void)state;
    expect_refused("GET / HTTP/1.1\r\n", "FORMAT", "as the Wyoming protocol has it");
    expect_refused("{\"type\":\"synthesize\"}\n", "FORMAT", "has no text");
    expect_refused("{\"type\":\"synthesize\",\"data\":{\"text\":7}}\n", "FORMAT", "no string");
    expect_refused("{\"type\":\"synthesize\",\"data\":{\"text\":\"a\",\"voice\":\"x\"}}\n", "FORMAT", "no object");
    expect_refused("{\"type\":\"synthesize\",\"data\":{\"text\":\"a\",\"voice\":{\"name\":\"nobody\"}}}\n", "NOT_FOUND",
                   mx_service_voice(wyoming_shared.service, 0)->id);
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
    struct wyoming_rig rig = {0};
    (void)state;
    wyoming_service_open(&rig, 4, 100);
    wyoming_rig_open(&rig, NULL);
    char *const text = wyoming_repeat("{\"type\":\"synthesize\",\"data\":{\"text\":\"", "abcdefghi.", 11, "\"}}\n");
    int s = wyoming_call(&rig);
    wyoming_say(s, text);
    wyoming_expect_error(s, "ARGUMENT", "100");
    mx_free(text);
    /* Piece by piece, too. */
    s = wyoming_call(&rig);
    wyoming_say(s, "{\"type\":\"synthesize-start\"}\n");
    for (int i = 0; i < 11; i++) wyoming_say(s, "{\"type\":\"synthesize-chunk\",\"data\":{\"text\":\"abcdefghij\"}}\n");
    struct wyoming_heard h;
    do { /* sound of the first ones may come before */
        assert_true(wyoming_hear(s, &h));
        const bool error = strcmp(h.type, "error") == 0;
        wyoming_heard_free(&h);
        if (error) break;
    } while (true);
    wyoming_hear_nothing(s);
    /* An event that can hold no text that is short enough. */
    char *const event = wyoming_repeat("{\"type\":\"synthesize\",\"data\":{\"text\":\"", "abcdefghij", 2000, "\"}}\n");
    s = wyoming_call(&rig);
    wyoming_say(s, event);
    wyoming_expect_error(s, "FORMAT", "bytes");
    mx_free(event);
    wyoming_rig_close(&rig);
}

/* ---- where it listens ---- */

static void test_address(void **state)
{
    struct mx_wyoming *wyoming;
    char taken[32];
    struct mx_wyoming_options options = {.address = "0.0.0.0:0"};
    (void)state;
    assert_int_equal(mx_wyoming_open(&options, wyoming_shared.service, &wyoming), MX_ERR_USAGE);
    assert_null(wyoming);
    assert_non_null(strstr(mx_error_last()->message, "no password"));
    assert_non_null(strstr(mx_error_last()->hint, "'--insecure'"));
    options.insecure = true;
    wyoming_must(mx_wyoming_open(&options, wyoming_shared.service, &wyoming));
    assert_memory_equal(mx_wyoming_name(wyoming), "0.0.0.0:", 8);
    mx_wyoming_close(wyoming);
    options = (struct mx_wyoming_options){.address = "here"};
    assert_int_equal(mx_wyoming_open(&options, wyoming_shared.service, &wyoming), MX_ERR_USAGE);
    assert_non_null(strstr(mx_error_last()->hint, MX_WYOMING_ADDRESS));
    snprintf(taken, sizeof taken, "127.0.0.1:%d", mx_wyoming_port(wyoming_shared.wyoming));
    options.address = taken;
    assert_int_equal(mx_wyoming_open(&options, wyoming_shared.service, &wyoming), MX_ERR_IO);
    assert_non_null(strstr(mx_error_last()->hint, "'--wyoming 127.0.0.1:"));
    options = (struct mx_wyoming_options){.address = "127.0.0.1:0", .connections = -1};
    assert_int_equal(mx_wyoming_open(&options, wyoming_shared.service, &wyoming), MX_ERR_ARGUMENT);
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
        rc = mx_wyoming_open(&options, wyoming_shared.service, &wyoming);
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
        cmocka_unit_test(test_describe),  cmocka_unit_test(test_synthesize),
        cmocka_unit_test(test_ssml),      cmocka_unit_test(test_nothing_to_say),
        cmocka_unit_test(test_streaming), cmocka_unit_test(test_streaming_waits),
        cmocka_unit_test(test_refused),   cmocka_unit_test(test_text_too_long),
        cmocka_unit_test(test_address),   cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, wyoming_setup, wyoming_teardown);
}

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Wyoming events as bytes: what is read, what is refused, what is written.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "myxtts/error.h"
#include "serve/wyoming_event.h"

#define EVENT_MAX 4096

static void must(int rc)
{
    if (rc < 0) fail_msg("%s (%s)", mx_error_last()->message, mx_error_last()->hint);
}

/* Reads `bytes` in parts of `step`, and prints the events that come: type(text) … */
static void parse_all(const char *bytes, size_t count, size_t step, char *out, size_t size)
{
    struct mx_wyoming_parser parser;
    mx_wyoming_parser_open(&parser, EVENT_MAX);
    *out = '\0';
    for (size_t at = 0; at < count;) {
        struct mx_wyoming_event event;
        size_t used;
        const size_t part = step < count - at ? step : count - at;
        const int rc = mx_wyoming_parse(&parser, bytes + at, part, &used, &event);
        must(rc);
        assert_true(used <= part && (rc == 1 || used == part));
        at += used;
        if (rc == 0) continue;
        const char *text = NULL;
        must(mx_wyoming_string(&event, NULL, "text", &text));
        const size_t length = strlen(out);
        snprintf(out + length, size - length, "%s(%s) ", event.type, text != NULL ? text : "");
        mx_wyoming_event_release(&event);
    }
    assert_false(mx_wyoming_parser_midway(&parser));
    mx_wyoming_parser_close(&parser);
}

static void test_parse(void **state)
{
    static const char bytes[] = "{\"type\":\"describe\"}\n"
                                "\r\n"
                                "{\"type\": \"synthesize\", \"data_length\": 16, \"version\":\"1.10.2\"}\r\n"
                                "{\"text\": \"Hell\"}"
                                "{\"type\":\"inside\",\"data\":{\"text\":\"one\"},\"data_length\":null}\n"
                                "{\"type\":\"both\",\"data\":{\"text\":\"one\"},\"data_length\":15}\n"
                                "{\"text\":\"\xC3\xA9\\\\\"}"
                                "{\"type\":\"audio-chunk\",\"payload_length\":5}\n"
                                "\0\n{}x"
                                "{\"type\":\"audio-chunk\",\"data_length\":2,\"payload_length\":3}\n"
                                "{}\n\n\n"
                                "{\"type\":\"zero\",\"data\":{\"text\":\"\\\\u0000\"}}\n";
    static const char wanted[] = "describe() synthesize(Hell) inside(one) both(\xC3\xA9\\) audio-chunk() audio-chunk() "
                                 "zero(\\u0000) ";
    static const size_t steps[] = {1, 2, 3, 7, 64, sizeof bytes};
    char heard[512];
    (void)state;
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        parse_all(bytes, sizeof bytes - 1, steps[i], heard, sizeof heard);
        assert_string_equal(heard, wanted);
    }
}

static void parse_refused(const char *bytes, size_t count, const char *words)
{
    struct mx_wyoming_parser parser;
    struct mx_wyoming_event event;
    size_t used, at = 0;
    int rc = 0;
    mx_wyoming_parser_open(&parser, EVENT_MAX);
    while (rc == 0 && at < count) {
        rc = mx_wyoming_parse(&parser, bytes + at, count - at < 100 ? count - at : 100, &used, &event);
        at += used;
    }
    assert_int_equal(rc, MX_ERR_FORMAT);
    if (strstr(mx_error_last()->message, words) == NULL) fail_msg("'%s' lacks '%s'", mx_error_last()->message, words);
    assert_true(mx_error_last()->hint[0] != '\0');
    assert_true(parser.room <= 2 * EVENT_MAX);
    mx_wyoming_parser_close(&parser);
}

static void test_parse_refused(void **state)
{
    static const char *const cases[][2] = {
        {"GET / HTTP/1.1\r\n", "not a JSON object"},
        {"[1,2]\n", "not a JSON object"},
        {"{\"type\":\"a\"} b\n", "not a JSON object"},
        {"{\"type\":\"a\"\n", "not a JSON object"},
        {"{\"data\":{}}\n", "no type"},
        {"{\"type\":7}\n", "no type"},
        {"{\"type\":\"a\",\"data\":[]}\n", "no object"},
        {"{\"type\":\"a\",\"data_length\":-1}\n", "data_length"},
        {"{\"type\":\"a\",\"data_length\":1.5}\n", "whole number"},
        {"{\"type\":\"a\",\"data_length\":\"9\"}\n", "data_length"},
        {"{\"type\":\"a\",\"data_length\":4097}\n", "data_length"},
        {"{\"type\":\"a\",\"data_length\":1e300}\n", "data_length"},
        {"{\"type\":\"a\",\"payload_length\":99999999}\n", "payload_length"},
        {"{\"type\":\"a\",\"data_length\":4}\nnull", "not a JSON object"},
        {"{\"type\":\"a\xFF\"}\n", "not valid text"},
        {"{\"type\":\"a\\u0000b\"}\n", "not valid text"},
        {"{\"type\":\"a\\\\\\u0000b\"}\n", "not valid text"},
    };
    char *const longest = mx_alloc(EVENT_MAX + 10, 1);
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        parse_refused(cases[i][0], strlen(cases[i][0]), cases[i][1]);
    parse_refused("{\"type\":\"a\"}\0\n", 14, "not valid text");
    memset(longest, ' ', EVENT_MAX + 9);
    parse_refused(longest, EVENT_MAX + 9, "more than 4096 bytes");
    mx_free(longest);
}

static void test_members(void **state)
{
    static const char bytes[] = "{\"type\":\"a\",\"data\":{\"voice\":{\"name\":\"ann\",\"speaker\":null,\"n\":1},\"v\":"
                                "\"x\",\"Text\":\"no\"}}\n";
    struct mx_wyoming_parser parser;
    struct mx_wyoming_event event;
    const char *text = "";
    size_t used;
    (void)state;
    mx_wyoming_parser_open(&parser, EVENT_MAX);
    assert_int_equal(mx_wyoming_parse(&parser, bytes, sizeof bytes - 1, &used, &event), 1);
    must(mx_wyoming_string(&event, "voice", "name", &text));
    assert_string_equal(text, "ann");
    must(mx_wyoming_string(&event, "voice", "speaker", &text));
    assert_null(text);
    must(mx_wyoming_string(&event, "other", "name", &text));
    assert_null(text);
    must(mx_wyoming_string(&event, NULL, "text", &text)); /* names are compared exactly */
    assert_null(text);
    assert_int_equal(mx_wyoming_string(&event, "voice", "n", &text), MX_ERR_FORMAT);
    assert_int_equal(mx_wyoming_string(&event, "v", "name", &text), MX_ERR_FORMAT);
    mx_wyoming_event_release(&event);
    mx_wyoming_parser_close(&parser);
}

static void test_write(void **state)
{
    static const int16_t samples[] = {0, 1, -1, 32767, -32768, 0x1234};
    static const char head[] =
        "{\"type\":\"audio-chunk\",\"version\":\"1.7.0\",\"data_length\":37,\"payload_length\":12}"
        "\n{\"rate\":22050,\"width\":2,\"channels\":1}";
    static const unsigned char tail[] = {0, 0, 1, 0, 0xFF, 0xFF, 0xFF, 0x7F, 0, 0x80, 0x34, 0x12};
    char out[MX_WYOMING_CHUNK_BYTES], heard[128];
    struct mx_string text = {0};
    (void)state;
    assert_int_equal(mx_wyoming_chunk(out, 22050, samples, 6), sizeof head - 1 + sizeof tail);
    assert_memory_equal(out, head, sizeof head - 1);
    assert_memory_equal(out + sizeof head - 1, tail, sizeof tail);
    mx_wyoming_write_error(&text, "not\n\xFFgood \"x\"", "FORMAT");
    mx_wyoming_write(&text, "audio-stop", NULL);
    assert_int_equal(text.failure, 0);
    parse_all(text.data, text.length, 5, heard, sizeof heard);
    assert_string_equal(heard, "error(not\\x0a\\xffgood \"x\") audio-stop() ");
    mx_string_release(&text);
    mx_wyoming_write_error(&text, "", "FORMAT"); /* no reason is not the lack of memory */
    assert_int_equal(text.failure, 0);
    parse_all(text.data, text.length, 5, heard, sizeof heard);
    assert_string_equal(heard, "error() ");
    mx_string_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_parse), cmocka_unit_test(test_parse_refused),
                                       cmocka_unit_test(test_members), cmocka_unit_test(test_write)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

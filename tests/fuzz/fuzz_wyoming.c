/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * libFuzzer target for Wyoming: any bytes, read at once and in small parts, must give the same events; what is written
 * for an event must read back. Built with clang -fsanitize=fuzzer,address,undefined.
 */
#include <cjson/cJSON.h>
#include <string.h>

#include "base/string.h"
#include "fuzz.h"
#include "serve/wyoming_event.h"

#define EVENT_MAX 512

/* An error text of whatever came must be one event with a text. */
static void write_check(const char *type)
{
    struct mx_string out = {0};
    struct mx_wyoming_parser parser;
    struct mx_wyoming_event event;
    const char *text = NULL;
    size_t used;
    mx_wyoming_write_error(&out, type, "FORMAT");
    check(out.failure == 0);
    mx_wyoming_parser_open(&parser, 16 * EVENT_MAX);
    check(mx_wyoming_parse(&parser, out.data, out.length, &used, &event) == 1 && used == out.length);
    check(strcmp(event.type, "error") == 0 && mx_wyoming_string(&event, NULL, "text", &text) == 0 && text != NULL);
    mx_wyoming_event_release(&event);
    mx_wyoming_parser_close(&parser);
    mx_string_release(&out);
}

/* The types and texts of all events, one after the other; negative codes at the end. */
static int read_all(const char *bytes, size_t size, size_t step, struct mx_string *out)
{
    static const char *const keys[] = {"name", "language", "speaker"};
    struct mx_wyoming_parser parser;
    int rc = 0;
    mx_wyoming_parser_open(&parser, EVENT_MAX);
    for (size_t at = 0; rc >= 0 && at < size;) {
        struct mx_wyoming_event event;
        const char *text = NULL;
        size_t used;
        const size_t part = step < size - at ? step : size - at;
        rc = mx_wyoming_parse(&parser, bytes + at, part, &used, &event);
        check(used <= part && parser.used <= EVENT_MAX && parser.room <= 2 * EVENT_MAX + 1024);
        at += used;
        if (rc <= 0) {
            check(rc < 0 || used == part);
            continue;
        }
        check(!mx_wyoming_parser_midway(&parser));
        mx_string_append(out, "%s:", event.type);
        if (mx_wyoming_string(&event, NULL, "text", &text) == 0 && text != NULL) mx_string_append(out, "%s", text);
        for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
            if (mx_wyoming_string(&event, "voice", keys[i], &text) == 0 && text != NULL)
                mx_string_append(out, "/%s", text);
        write_check(event.type);
        mx_wyoming_event_release(&event);
    }
    mx_wyoming_parser_close(&parser);
    return rc < 0 ? rc : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mx_string whole = {0}, parts = {0};
    if (size == 0) return 0;
    const char *const bytes = (const char *)data + 1;
    const int first = read_all(bytes, size - 1, size, &whole);
    const int second = read_all(bytes, size - 1, 1 + data[0] % 16, &parts);
    check(first == second && whole.length == parts.length);
    check(whole.length == 0 || memcmp(whole.data, parts.data, whole.length) == 0);
    mx_string_release(&whole);
    mx_string_release(&parts);
    return 0;
}

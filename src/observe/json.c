/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * JSON as text, see json.h.
 */
#include "observe/json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static void member(struct mx_string *out, const char *key)
{
    const char last = out->length > 0 ? out->data[out->length - 1] : '{';
    const bool first = last == '{' || last == '[';
    if (key == NULL)
        mx_string_append(out, "%s", first ? "" : ",");
    else
        mx_string_append(out, "%s\"%s\":", first ? "" : ",", key);
}

void mx_json_begin(struct mx_string *out, const char *key, char bracket)
{
    member(out, key);
    mx_string_append(out, "%c", bracket);
}

void mx_json_end(struct mx_string *out, char bracket)
{
    mx_string_append(out, "%c", bracket);
}

void mx_json_null(struct mx_string *out, const char *key)
{
    member(out, key);
    mx_string_append(out, "null");
}

void mx_json_number(struct mx_string *out, const char *key, double value)
{
    if (!isfinite(value)) {
        mx_json_null(out, key);
        return;
    }
    member(out, key);
    mx_string_append(out, "%.6g", value);
}

void mx_json_count(struct mx_string *out, const char *key, int64_t value)
{
    member(out, key);
    mx_string_append(out, "%" PRId64, value);
}

void mx_json_truth(struct mx_string *out, const char *key, bool value)
{
    member(out, key);
    mx_string_append(out, "%s", value ? "true" : "false");
}

/* Bytes that would end a script or a string of JavaScript, or are not allowed in JSON. */
static bool plain(unsigned char byte)
{
    return byte >= 0x20 && byte != '"' && byte != '\\' && byte != '<' && byte != '>' && byte != '&' && byte != 0x7F;
}

/* `bytes` of valid UTF-8. */
static void escape(struct mx_string *out, const char *text, size_t bytes)
{
    for (size_t at = 0; at < bytes;) {
        size_t end = at;
        while (end < bytes && plain((unsigned char)text[end])) end++;
        if (end > at) mx_string_append(out, "%.*s", (int)(end - at), text + at);
        if (end < bytes) mx_string_append(out, "\\u%04x", (unsigned char)text[end]);
        at = end + 1;
    }
}

void mx_json_bytes(struct mx_string *out, const char *key, const char *value, size_t bytes)
{
    member(out, key);
    mx_string_append(out, "\"");
    while (bytes > 0) {
        const size_t good = mx_utf8_check(value, bytes);
        escape(out, value, good);
        if (good < bytes) mx_string_append(out, "\xEF\xBF\xBD");
        const size_t step = good < bytes ? good + 1 : good;
        value += step;
        bytes -= step;
    }
    mx_string_append(out, "\"");
}

void mx_json_string(struct mx_string *out, const char *key, const char *value)
{
    if (value == NULL)
        mx_json_null(out, key);
    else
        mx_json_bytes(out, key, value, strlen(value));
}

void mx_json_raw(struct mx_string *out, const char *key, const char *json, size_t bytes)
{
    member(out, key);
    for (size_t at = 0; at < bytes;) { /* these three stand in strings alone, so they may be escaped blindly */
        size_t end = at;
        while (end < bytes && json[end] != '<' && json[end] != '>' && json[end] != '&') end++;
        if (end > at) mx_string_append(out, "%.*s", (int)(end - at), json + at);
        if (end < bytes) mx_string_append(out, "\\u%04x", (unsigned char)json[end]);
        at = end + 1;
    }
}

void mx_json_data(struct mx_string *out, const char *key, const char *type, const void *data, size_t bytes)
{
    member(out, key);
    mx_string_append(out, "\"data:%s;base64,", type);
    mx_string_append_base64(out, data, bytes);
    mx_string_append(out, "\"");
}

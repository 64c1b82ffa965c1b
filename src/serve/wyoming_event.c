/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Wyoming events as bytes, see wyoming_event.h.
 */
#include "serve/wyoming_event.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/format/cjson.h"
#include "myxtts/error.h"

#define ROOM_KEPT ((size_t)16 << 10) /* of the buffer, between two events */

static const char form[] = "send a line of JSON, {\"type\":\"describe\"}, as the Wyoming protocol has it";

void mx_wyoming_parser_open(struct mx_wyoming_parser *p, size_t event_max)
{
    *p = (struct mx_wyoming_parser){.event_max = event_max};
}

void mx_wyoming_parser_close(struct mx_wyoming_parser *p)
{
    cJSON_Delete(p->head);
    cJSON_Delete(p->data);
    mx_free(p->bytes);
    *p = (struct mx_wyoming_parser){0};
}

void mx_wyoming_event_release(struct mx_wyoming_event *event)
{
    cJSON_Delete(event->head);
    cJSON_Delete(event->data);
    *event = (struct mx_wyoming_event){0};
}

bool mx_wyoming_parser_midway(const struct mx_wyoming_parser *p)
{
    return p->used > 0 || p->in_data || p->in_payload;
}

/* ---- JSON ---- */

/* cJSON would end a string at an escaped zero: what follows it would be lost without a word. */
static bool has_zero(const char *json, size_t length)
{
    for (size_t i = 0; i + 6 <= length; i++) {
        if (json[i] != '\\') continue;
        if (memcmp(json + i + 1, "u0000", 5) == 0) return true;
        i++; /* the escaped character */
    }
    return false;
}

static int object_read(const char *json, size_t length, cJSON **out)
{
    const char *end = json;
    *out = NULL;
    if (mx_utf8_check(json, length) < length || has_zero(json, length) || memchr(json, '\0', length) != NULL)
        return MX_FAIL(MX_ERR_FORMAT, "send text as UTF-8 without zero characters", "an event is not valid text");
    cJSON *tree = NULL;
    const int rc = mx_cjson_parse(json, length, &end, &tree);
    if (rc < 0) return rc;
    const size_t parsed = tree != NULL ? (size_t)(end - json) : 0;
    bool whole = cJSON_IsObject(tree);
    for (size_t i = parsed; i < length; i++) whole = whole && strchr(" \t\r\n", json[i]) != NULL;
    if (!whole) {
        cJSON_Delete(tree);
        return MX_FAIL(MX_ERR_FORMAT, form, "an event is not a JSON object");
    }
    *out = tree;
    return 0;
}

static const cJSON *present(const cJSON *item)
{
    return item != NULL && !cJSON_IsNull(item) ? item : NULL;
}

/* A length in the line of an event: absent or null is 0. */
static int length_read(const cJSON *head, const char *key, size_t most, size_t *out)
{
    const cJSON *const item = present(cJSON_GetObjectItemCaseSensitive(head, key));
    *out = 0;
    if (item == NULL) return 0;
    const double value = cJSON_IsNumber(item) ? item->valuedouble : -1;
    if (!(value >= 0 && value <= (double)most))
        return MX_FAIL(MX_ERR_FORMAT, "send less text at once", "the %s of an event is not a number from 0 to %zu", key,
                       most);
    *out = (size_t)value;
    if ((double)*out != value) return MX_FAIL(MX_ERR_FORMAT, form, "the %s of an event is not a whole number", key);
    return 0;
}

/* ---- the parser ---- */

static int bytes_keep(struct mx_wyoming_parser *p, const char *bytes, size_t count)
{
    if (count == 0) return 0;
    if (count > p->event_max - p->used)
        return MX_FAIL(MX_ERR_FORMAT, "send less text at once", "an event has more than %zu bytes", p->event_max);
    if (MX_GROW(p->bytes, p->room, p->used + count) < 0) return MX_ERR_NO_MEMORY;
    memcpy(p->bytes + p->used, bytes, count);
    p->used += count;
    return 0;
}

static void bytes_forget(struct mx_wyoming_parser *p)
{
    p->used = 0;
    if (p->room <= ROOM_KEPT) return;
    mx_free(p->bytes);
    p->bytes = NULL;
    p->room = 0;
}

static bool is_blank(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (strchr(" \t\r", text[i]) == NULL || text[i] == '\0') return false;
    return true;
}

static int line_end(struct mx_wyoming_parser *p)
{
    int rc = 0;
    if (is_blank(p->bytes, p->used)) { /* as people who type it do */
        p->used = 0;
        return 0;
    }
    MX_TRY(object_read(p->bytes, p->used, &p->head));
    bytes_forget(p);
    const cJSON *const type = cJSON_GetObjectItemCaseSensitive(p->head, "type");
    if (!cJSON_IsString(type)) MX_RAISE(MX_ERR_FORMAT, form, "an event has no type");
    const cJSON *const inside = present(cJSON_GetObjectItemCaseSensitive(p->head, "data"));
    if (inside != NULL && !cJSON_IsObject(inside)) MX_RAISE(MX_ERR_FORMAT, form, "the data of an event is no object");
    MX_TRY(length_read(p->head, "data_length", p->event_max, &p->left));
    p->in_data = true;
out:
    return rc;
}

static int data_end(struct mx_wyoming_parser *p)
{
    int rc = 0;
    if (p->used > 0) MX_TRY(object_read(p->bytes, p->used, &p->data));
    bytes_forget(p);
    p->in_data = false;
    MX_TRY(length_read(p->head, "payload_length", MX_WYOMING_PAYLOAD_MAX, &p->left));
    p->in_payload = true;
out:
    return rc;
}

static void event_end(struct mx_wyoming_parser *p, struct mx_wyoming_event *event)
{
    *event = (struct mx_wyoming_event){
        .type = cJSON_GetObjectItemCaseSensitive(p->head, "type")->valuestring, .head = p->head, .data = p->data};
    p->head = p->data = NULL;
    p->in_payload = false;
}

int mx_wyoming_parse(struct mx_wyoming_parser *p, const char *bytes, size_t count, size_t *used,
                     struct mx_wyoming_event *event)
{
    int rc = 0;
    size_t at = 0;
    *event = (struct mx_wyoming_event){0};
    for (;;) {
        const size_t rest = count - at, part = p->left < rest ? p->left : rest;
        if (p->in_data) {
            MX_TRY(bytes_keep(p, bytes + at, part));
            p->left -= part;
            at += part;
            if (p->left > 0) break;
            MX_TRY(data_end(p));
        } else if (p->in_payload) {
            p->left -= part;
            at += part;
            if (p->left > 0) break;
            event_end(p, event);
            rc = 1;
            break;
        } else {
            const char *const end = rest > 0 ? memchr(bytes + at, '\n', rest) : NULL;
            const size_t length = end != NULL ? (size_t)(end - bytes) - at : rest;
            MX_TRY(bytes_keep(p, bytes + at, length));
            at += length;
            if (end == NULL) break;
            at++;
            MX_TRY(line_end(p));
        }
    }
out:
    *used = at;
    return rc;
}

/* ---- members ---- */

const cJSON *mx_wyoming_member(const struct mx_wyoming_event *event, const char *key)
{
    const cJSON *const item = present(cJSON_GetObjectItemCaseSensitive(event->data, key));
    if (item != NULL) return item;
    return present(cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(event->head, "data"), key));
}

int mx_wyoming_string(const struct mx_wyoming_event *event, const char *object, const char *key, const char **out)
{
    *out = NULL;
    const cJSON *item = mx_wyoming_member(event, object != NULL ? object : key);
    if (item == NULL) return 0;
    if (object != NULL) {
        if (!cJSON_IsObject(item))
            return MX_FAIL(MX_ERR_FORMAT, NULL, "'%s' of the event %s is no object", object, event->type);
        item = present(cJSON_GetObjectItemCaseSensitive(item, key));
        if (item == NULL) return 0;
    }
    if (!cJSON_IsString(item))
        return MX_FAIL(MX_ERR_FORMAT, NULL, "'%s' of the event %s is no string", key, event->type);
    *out = item->valuestring;
    return 0;
}

/* ---- writing ---- */

void mx_wyoming_write(struct mx_string *out, const char *type, const cJSON *data)
{
    if (data == NULL) {
        mx_string_append(out, "{\"type\":\"%s\",\"version\":\"" MX_WYOMING_VERSION "\"}\n", type);
        return;
    }
    char *const text = cJSON_PrintUnformatted(data);
    if (text == NULL) {
        out->failure = out->failure < 0 ? out->failure : mx_alloc_failed("an event");
        return;
    }
    mx_string_append(out, "{\"type\":\"%s\",\"version\":\"" MX_WYOMING_VERSION "\",\"data_length\":%zu}\n%s", type,
                     strlen(text), text);
    cJSON_free(text);
}

void mx_wyoming_write_error(struct mx_string *out, const char *text, const char *code)
{
    struct mx_string plain = {0};
    cJSON *const data = cJSON_CreateObject();
    mx_string_append_plain(&plain, text);
    if (data == NULL || plain.failure < 0 || cJSON_AddStringToObject(data, "text", plain.data) == NULL ||
        cJSON_AddStringToObject(data, "code", code) == NULL)
        out->failure = out->failure < 0 ? out->failure : mx_alloc_failed("an event");
    else
        mx_wyoming_write(out, "error", data);
    mx_string_release(&plain);
    cJSON_Delete(data);
}

/* The fields that audio-start and audio-chunk share. */
static int format_print(char *out, size_t size, int rate)
{
    return snprintf(out, size, "{\"rate\":%d,\"width\":2,\"channels\":1}", rate);
}

void mx_wyoming_write_start(struct mx_string *out, int rate)
{
    char data[64];
    const int length = format_print(data, sizeof data, rate);
    mx_string_append(out, "{\"type\":\"audio-start\",\"version\":\"" MX_WYOMING_VERSION "\",\"data_length\":%d}\n%s",
                     length, data);
}

size_t mx_wyoming_chunk(char out[MX_WYOMING_CHUNK_BYTES], int rate, const int16_t *samples, size_t count)
{
    char data[64];
    const int length = format_print(data, sizeof data, rate);
    const int head = snprintf(out, MX_WYOMING_CHUNK_BYTES - 2 * MX_WYOMING_CHUNK_SAMPLES,
                              "{\"type\":\"audio-chunk\",\"version\":\"" MX_WYOMING_VERSION
                              "\",\"data_length\":%d,\"payload_length\":%zu}\n%s",
                              length, 2 * count, data);
    size_t at = (size_t)head;
    for (size_t i = 0; i < count; i++) { /* lowest byte first, on any machine */
        out[at++] = (char)(samples[i] & 0xFF);
        out[at++] = (char)(samples[i] >> 8 & 0xFF);
    }
    return at;
}

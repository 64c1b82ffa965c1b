/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The events of the Wyoming protocol as bytes: reading and writing, without sockets. An event is
 *
 *     {"type": "synthesize", "version": "1.7.0", "data_length": 20, "payload_length": 0}\n   one line of JSON
 *     {"text": "Hello."}                                                                     data_length bytes of JSON
 *     …                                                                                      payload_length bytes
 *
 * All but the type may be absent. A line may also hold "data" itself; the data that follows takes precedence.
 * Payloads carry sound. A server that speaks has no use for the sound of others, so a payload is skipped, not kept.
 *
 * Memory: a parser owns one buffer, which grows as bytes come (never because of a length that somebody claims), and at
 * most event_max bytes of it. An event owns its JSON until mx_wyoming_event_release.
 */
#ifndef MX_SERVE_WYOMING_EVENT_H
#define MX_SERVE_WYOMING_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/string.h"

struct cJSON;

#define MX_WYOMING_VERSION       "1.7.0" /* of the protocol: the first that streams text */
#define MX_WYOMING_PAYLOAD_MAX   (1 << 20)
#define MX_WYOMING_CHUNK_SAMPLES 1024 /* of an audio-chunk, as Piper's server sends it */

/* ---- reading ---- */

struct mx_wyoming_event {
    const char *type; /* in `head` */
    struct cJSON *head, *data;
};

struct mx_wyoming_parser {
    size_t event_max; /* bytes of a line, and of the data that follows it */
    char *bytes;      /* of the line or of the data, as far as they came */
    size_t used, room;
    struct cJSON *head, *data;
    bool in_data, in_payload;
    size_t left; /* of the data or the payload */
};

void mx_wyoming_parser_open(struct mx_wyoming_parser *parser, size_t event_max); /* takes no memory yet */
void mx_wyoming_parser_close(struct mx_wyoming_parser *parser);

/* Takes bytes until an event is complete: 1, and *event is the caller's; *used of the bytes were taken. 0: all were
 * taken, and the event needs more. MX_ERR_FORMAT: this is not Wyoming, or more than event_max bytes; the connection
 * cannot continue, because the beginning of the next event is unknown. */
int mx_wyoming_parse(struct mx_wyoming_parser *parser, const char *bytes, size_t count, size_t *used,
                     struct mx_wyoming_event *event);
/* An event has begun and is not complete. */
bool mx_wyoming_parser_midway(const struct mx_wyoming_parser *parser);

void mx_wyoming_event_release(struct mx_wyoming_event *event);

/* A member of the event's data, or NULL; JSON null is NULL, too. */
const struct cJSON *mx_wyoming_member(const struct mx_wyoming_event *event, const char *key);
/* A string of the event's data, or of one of its objects: (event, "voice", "name"). *out is NULL if it is absent;
 * MX_ERR_FORMAT if it is no string, or the object no object. `object` may be NULL. */
int mx_wyoming_string(const struct mx_wyoming_event *event, const char *object, const char *key, const char **out);

/* ---- writing ---- */

/* Appends an event; `data` may be NULL. */
void mx_wyoming_write(struct mx_string *out, const char *type, const struct cJSON *data);
/* {"text": text, "code": code}; text that is not UTF-8 is shown with \xNN. */
void mx_wyoming_write_error(struct mx_string *out, const char *text, const char *code);
void mx_wyoming_write_start(struct mx_string *out, int rate); /* audio-start: 16 bits, one channel */

#define MX_WYOMING_CHUNK_BYTES (256 + 2 * MX_WYOMING_CHUNK_SAMPLES)
/* An audio-chunk of at most MX_WYOMING_CHUNK_SAMPLES samples; returns its bytes. */
size_t mx_wyoming_chunk(char out[MX_WYOMING_CHUNK_BYTES], int rate, const int16_t *samples, size_t count);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Appends JSON to a growing text, member by member, for files that are written often or are too large to be built as a
 * tree first (the program's other reports use cJSON).
 *
 * Commas are inserted automatically: a member or an element looks at what precedes it. A NULL key makes an element of a
 * list. Strings come out as valid UTF-8 (invalid bytes become U+FFFD) without '<', '>' and '&', so the text may stand
 * inside HTML. Numbers that are not finite are null. Failures stay in the text (base/string.h): check out->failure
 * once, at the end.
 */
#ifndef MX_OBSERVE_JSON_H
#define MX_OBSERVE_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "base/string.h"

void mx_json_begin(struct mx_string *out, const char *key, char bracket);  /* '{' or '[' */
void mx_json_end(struct mx_string *out, char bracket);                     /* '}' or ']' */
void mx_json_number(struct mx_string *out, const char *key, double value); /* six digits */
void mx_json_count(struct mx_string *out, const char *key, int64_t value);
void mx_json_truth(struct mx_string *out, const char *key, bool value);
void mx_json_null(struct mx_string *out, const char *key);
void mx_json_string(struct mx_string *out, const char *key, const char *value); /* NULL: null */
/* The same with a length. */
void mx_json_bytes(struct mx_string *out, const char *key, const char *value, size_t bytes);
void mx_json_raw(struct mx_string *out, const char *key, const char *json, size_t bytes); /* existing JSON, made safe */
/* A data: URI. */
void mx_json_data(struct mx_string *out, const char *key, const char *type, const void *data, size_t bytes);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * JSON appended to a growing text, member by member, for files that are written often or are too large to be built as a
 * tree first (the other reports of the program use cJSON).
 *
 * The commas come by themselves: a member or an element looks at what stands before it. A key of NULL is an element of
 * a list. Strings are valid UTF-8 afterwards whatever they were (bytes that are not become U+FFFD), and hold no '<',
 * '>' or '&', so the text may stand inside of HTML. Numbers that are not finite are null. Failures stay in the text
 * (base/string.h): look at out->failure once, at the end.
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
void mx_json_raw(struct mx_string *out, const char *key, const char *json, size_t bytes); /* JSON as it is, made safe */
/* A data: URI. */
void mx_json_data(struct mx_string *out, const char *key, const char *type, const void *data, size_t bytes);

#endif

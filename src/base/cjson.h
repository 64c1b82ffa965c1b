/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * cJSON's trees where memory runs out: it says NULL for that and for a text that is no JSON alike, but only one of them
 * is the fault of the file.
 *
 * Memory: trees belong to the caller, who frees them with cJSON_Delete.
 */
#ifndef MX_BASE_CJSON_H
#define MX_BASE_CJSON_H

#include <stddef.h>

struct cJSON;

/* *tree becomes that of the text, or NULL if it is no JSON; what follows it is not looked at. *end, unless `end` is NULL, is
 * where the tree ends or the fault is. MX_ERR_NO_MEMORY is the only error. */
int mx_cjson_parse(const char *text, size_t length, const char **end, struct cJSON **tree);

#endif

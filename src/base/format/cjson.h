/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * cJSON's trees where memory runs out: it returns NULL both for that and for a text that is not JSON, but only the
 * latter is the fault of the file.
 *
 * Memory: trees belong to the caller, who frees them with cJSON_Delete.
 */
#ifndef MX_BASE_CJSON_H
#define MX_BASE_CJSON_H

#include <stddef.h>

struct cJSON;

/* *tree becomes that of the text, or NULL if it is not JSON; what follows it is ignored. *end, unless `end` is NULL, is
 * where the tree ends or the fault is. MX_ERR_NO_MEMORY is the only error. */
int mx_cjson_parse(const char *text, size_t length, const char **end, struct cJSON **tree);

#endif

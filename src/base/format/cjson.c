/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Parsing with cJSON where memory may run out, see cjson.h.
 */
#include "base/format/cjson.h"

#include <cjson/cJSON.h>
#include <errno.h>

#include "base/alloc.h"

int mx_cjson_parse(const char *text, size_t length, const char **end, struct cJSON **tree)
{
    const int before = errno;
    errno = 0;
    *tree = cJSON_ParseWithLengthOpts(text, length, end, 0);
    const int error = errno; /* a failed allocation sets it; nothing else that cJSON does sets this one */
    errno = before;
    return *tree == NULL && error == ENOMEM ? mx_alloc_failed("a JSON text") : 0;
}

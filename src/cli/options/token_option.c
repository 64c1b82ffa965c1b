/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The token of a server, see token_option.h.
 */
#include "cli/options/token_option.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/string.h"
#include "myxtts/error.h"

#define FILE_MAX ((size_t)4096)

int mx_token_option_read(const char *flag, const char *token, const char *file, const char *variable, char **out)
{
    int rc = 0;
    size_t length = 0;
    const char *const hidden = variable != NULL ? getenv(variable) : NULL;
    *out = NULL;
    if (token != NULL && file != NULL) {
        MX_FAIL(MX_ERR_USAGE, NULL, "'--%s' and '--%s-file' contradict each other", flag, flag);
        return mx_error_hint("give '--%s-file FILE' alone: it keeps the token out of the list of processes", flag);
    }
    if (file != NULL) {
        MX_TRY(mx_file_read(file, FILE_MAX, out, &length));
        (*out)[strcspn(*out, "\r\n")] = '\0';
        if (**out == '\0') {
            mx_free(*out);
            *out = NULL;
            MX_FAIL(MX_ERR_USAGE, NULL, "the first line of %s is empty: there is no token", file);
            return mx_error_hint("make one with 'openssl rand -hex 16 > %s'", file);
        }
    } else if (token != NULL || (hidden != NULL && *hidden != '\0')) {
        *out = mx_strdup(token != NULL ? token : hidden);
        if (*out == NULL) MX_TRY(MX_ERR_NO_MEMORY);
    }
out:
    return rc;
}

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Pauses as people write them; see pauses.h.
 */
#include "speech/pauses.h"

#include <stdio.h>
#include <string.h>

#include "base/string.h"
#include "myxtts/error.h"
#include "speech/script.h"

#define HINT "give a factor or lengths in milliseconds, for example 1.2 or paragraph=900,line=300"

static const char *const kinds[] = {
#define X(identifier, name) name,
    MX_PAUSES_LIST(X)
#undef X
};

void mx_pauses_init(struct mx_pauses *pauses)
{
    pauses->factor = 1;
    for (int i = 0; i < MX_PAUSES_KINDS; i++) pauses->ms[i] = -1;
}

static int refuse(const char *item, const char *what)
{
    char quoted[96];
    return MX_FAIL(MX_ERR_ARGUMENT, HINT, "the pauses have %s, which is %s",
                   mx_string_quote(quoted, sizeof quoted, item), what);
}

/* A number followed by ms, s or nothing. */
static int length_parse(const char *item, const char *text, double *ms)
{
    char number[32];
    double factor = 1;
    size_t length = strlen(text);
    if (length > 2 && !strcmp(text + length - 2, "ms"))
        length -= 2;
    else if (length > 1 && text[length - 1] == 's')
        length--, factor = 1000;
    (void)snprintf(number, sizeof number, "%.*s", (int)(length < sizeof number ? length : 0), text);
    if (mx_string_parse_double(number, ms) != MX_STRING_NUMBER) return refuse(item, "not a number of milliseconds");
    *ms *= factor;
    return *ms >= 0 && *ms <= MX_PAUSES_MOST_MS ? 0 : refuse(item, "not between 0 and 60 seconds");
}

static int item_parse(char *item, struct mx_pauses *out)
{
    char *const sign = strchr(item, '=');
    if (sign == NULL) {
        if (mx_string_parse_double(item, &out->factor) != MX_STRING_NUMBER) return refuse(item, "not a number");
        const bool good = out->factor >= 0 && out->factor <= MX_SPEAK_SCRIPT_PAUSES_MOST;
        return good ? 0 : refuse(item, "not a factor from 0 to 10");
    }
    const size_t name = (size_t)(sign - item);
    for (int i = 0; i < MX_PAUSES_KINDS; i++)
        if (strlen(kinds[i]) == name && !strncmp(kinds[i], item, name))
            return length_parse(item, sign + 1, &out->ms[i]);
    return refuse(item, "none of sentence, paragraph, ellipsis, dash and line");
}

int mx_pauses_parse(const char *text, struct mx_pauses *out)
{
    char copy[256], *state = NULL;
    mx_pauses_init(out);
    if (text == NULL) return 0;
    if (strlen(text) >= sizeof copy) return refuse(text, "too long");
    strcpy(copy, text);
    if (strtok_r(copy, ", ", &state) == NULL) return refuse(text, "empty");
    strcpy(copy, text);
    for (char *item = strtok_r(copy, ", ", &state); item != NULL; item = strtok_r(NULL, ", ", &state)) {
        const int rc = item_parse(item, out);
        if (rc < 0) return rc;
    }
    return 0;
}

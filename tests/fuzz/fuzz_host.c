/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * libFuzzer target for the check of the headers Host and Origin (base/net/listen_host.h): whatever passes has the form of a
 * name of this machine, or of an address in numbers; the usual names pass. Built with clang
 * -fsanitize=fuzzer,address,undefined.
 *
 * The first line is the header Host, the second one is Origin.
 */
#include <regex.h>
#include <string.h>

#include "base/net/listen_host.h"
#include "fuzz.h"

static regex_t usual, local, number, origin; /* for as long as the program runs */

static void form_make(regex_t *form, const char *text)
{
    check(regcomp(form, text, REG_EXTENDED | REG_ICASE | REG_NOSUB) == 0);
}

static bool has(const regex_t *form, const char *text)
{
    return regexec(form, text, 0, NULL, 0) == 0;
}

void fuzz_begin(void)
{
    form_make(&usual, "^(localhost|127\\.0\\.0\\.1|\\[::1\\])(:[0-9]{1,5})?$");
    form_make(&local, "^(localhost|127(\\.[0-9]{1,3}){3}|\\[[0-9a-f:.]+\\])(:[0-9]{1,5})?$");
    form_make(&number, "^([0-9]{1,3}(\\.[0-9]{1,3}){3}|\\[[0-9a-f:.]+\\])(:[0-9]{1,5})?$");
    form_make(&origin, "^https?://[^/]+$");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *const host = malloc(size + 1);
    check(host != NULL);
    memcpy(host, data, size);
    host[size] = '\0';
    char *const line = strchr(host, '\n'), *const from = line != NULL ? line + 1 : host + strlen(host);
    if (line != NULL) *line = '\0';
    if (has(&usual, host)) check(mx_listen_host_local(host));
    if (mx_listen_host_local(host)) check(has(&local, host));
    if (mx_listen_host_number(host)) check(has(&number, host));
    if (mx_listen_origin_valid(from)) check(has(&origin, from));
    if (mx_listen_origin_same(from, host)) check(strlen(from) > strlen(host));
    (void)mx_listen_host_valid(host);
    free(host);
    return 0;
}

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The error table and the last error of each thread; see myxtts/error.h.
 *
 * Memory: one struct mx_error per thread, in thread-local storage. Nothing here allocates, so an error can be
 * recorded when memory has run out.
 */
#include "myxtts/error.h"

#include "base/utf8.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct error_row {
    int code, exit_code;
    const char *name, *text;
};

static const struct error_row error_table[] = {
#define X(name, code, exit_code, text) {(code), (exit_code), #name, (text)},
    MX_ERROR_LIST(X)
#undef X
};

static _Thread_local struct mx_error last_error;

static const struct error_row *find_row(int code)
{
    for (size_t i = 0; i < sizeof error_table / sizeof *error_table; i++) {
        if (error_table[i].code == code) return &error_table[i];
    }
    return NULL;
}

/* Makes `text` one line of whole characters. `cut` says whether it was longer than its buffer. */
static void tidy(char *text, int cut)
{
    for (char *p = text; *p; p++) {
        if ((unsigned char)*p < 0x20 || *p == 0x7f) *p = ' ';
    }
    if (cut) mx_utf8_trim(text);
}

static void format(char *out, size_t size, const char *fmt, va_list args)
{
    const int length = vsnprintf(out, size, fmt, args);
    if (length < 0) out[0] = '\0';
    tidy(out, length >= 0 && (size_t)length >= size);
}

int mx_error_set(int code, const char *file, int line, const char *hint, const char *fmt, ...)
{
    /* The arguments may point into the current error, so the new one is completed before it takes its place. */
    const int saved_errno = errno;
    struct mx_error next = {.code = code, .line = line, .file = file};
    va_list args;
    va_start(args, fmt);
    format(next.message, sizeof next.message, fmt, args);
    va_end(args);
    if (hint) {
        const int length = snprintf(next.hint, sizeof next.hint, "%s", hint);
        tidy(next.hint, length >= (int)sizeof next.hint);
    }
    last_error = next;
    errno = saved_errno;
    return code;
}

int mx_error_wrap(const char *fmt, ...)
{
    const int saved_errno = errno;
    char context[sizeof last_error.message];
    va_list args;
    va_start(args, fmt);
    format(context, sizeof context, fmt, args);
    va_end(args);
    if (last_error.code == 0) return MX_FAIL(MX_ERR_INTERNAL, NULL, "%s: failed without giving a reason", context);

    char message[sizeof context + sizeof last_error.message + 2];
    snprintf(message, sizeof message, "%s: %s", context, last_error.message);
    const size_t length = strlen(message);
    const int cut = length >= sizeof last_error.message;
    const size_t kept = cut ? sizeof last_error.message - 1 : length;
    memcpy(last_error.message, message, kept);
    last_error.message[kept] = '\0';
    tidy(last_error.message, cut);
    errno = saved_errno;
    return last_error.code;
}

int mx_error_hint(const char *fmt, ...)
{
    const int saved_errno = errno;
    char hint[sizeof last_error.hint];
    va_list args;
    va_start(args, fmt);
    format(hint, sizeof hint, fmt, args);
    va_end(args);
    memcpy(last_error.hint, hint, sizeof hint);
    errno = saved_errno;
    return last_error.code;
}

const struct mx_error *mx_error_last(void)
{
    return &last_error;
}

int mx_error_restore(const struct mx_error *error)
{
    if (error != &last_error) last_error = *error;
    return last_error.code;
}

void mx_error_clear(void)
{
    last_error = (struct mx_error){0};
}

const char *mx_error_name(int code)
{
    const struct error_row *row = find_row(code);
    return row ? row->name : code == 0 ? "OK" : "UNKNOWN";
}

const char *mx_error_text(int code)
{
    const struct error_row *row = find_row(code);
    return row ? row->text : code == 0 ? "no error" : "unknown error";
}

int mx_error_exit_code(int code)
{
    if (code >= 0) return 0;
    const struct error_row *row = find_row(code);
    return row ? row->exit_code : mx_error_exit_code(MX_ERR_INTERNAL);
}

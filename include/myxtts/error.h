/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Errors: negative codes from one table, with a thread-local message and a hint.
 *
 * Every function of the library that can fail returns 0 (or a count) on success and one of the negative codes below on
 * failure. The function that detects the failure calls MX_FAIL, which stores a message, a hint (what the user can do),
 * the file and the line for the calling thread. The library never prints and never exits: src/cli turns the last error
 * into one message on stderr and an exit code.
 *
 * The house style is one exit per function:
 *
 *     int rc = 0;
 *     MX_TRY(mx_registry_open(NULL, &options, &registry));
 *     ...
 * out:
 *     mx_registry_close(registry);
 *     return rc;
 *
 * Memory: all storage is thread-local and fixed in size; nothing is allocated or freed.
 */
#ifndef MYXTTS_ERROR_H
#define MYXTTS_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif

/* X(name, code, exit code of the program, what it means): MX_ERR_<name>. */
#define MX_ERROR_LIST(X)                                                                                               \
    X(USAGE, -1, 1, "wrong usage")                                                                                     \
    X(CONFIG, -2, 1, "wrong configuration")                                                                            \
    X(ARGUMENT, -3, 1, "argument out of range")                                                                        \
    X(DATA, -4, 2, "bad data")                                                                                         \
    X(IO, -5, 2, "input or output failed")                                                                             \
    X(FORMAT, -6, 2, "file is damaged or of another format")                                                           \
    X(NOT_FOUND, -7, 2, "not found")                                                                                   \
    X(NO_DEVICE, -8, 3, "no such device")                                                                              \
    X(DEVICE, -9, 3, "device failed")                                                                                  \
    X(BUDGET, -10, 3, "memory limit of a device exceeded")                                                             \
    X(NO_MEMORY, -11, 3, "out of memory")                                                                              \
    X(UNSUPPORTED, -12, 3, "not supported here")                                                                       \
    X(TIMEOUT, -13, 3, "timed out")                                                                                    \
    X(CLOSED, -14, 3, "closed")                                                                                        \
    X(INTERRUPTED, -15, 4, "interrupted")                                                                              \
    X(INTERNAL, -16, 3, "internal error")

enum mx_error_code {
    MX_OK = 0,
#define X(name, code, exit_code, text) MX_ERR_##name = (code),
    MX_ERROR_LIST(X)
#undef X
};

#define MX_ERROR_HINT_BYTES 2048 /* room for a whole command line */

/* The last error of a thread. Copy it to pass an error from one thread to another. */
struct mx_error {
    int code;                       /* one of enum mx_error_code; 0: none */
    int line;                       /* where it was detected */
    const char *file;               /* static string, relative to the source root */
    char message[512];              /* what happened, one line, no full stop at the end */
    char hint[MX_ERROR_HINT_BYTES]; /* what to do about it; "" if nothing helps */
};

/* Stores an error for this thread and returns `code`. `hint` may be NULL; it is copied. */
int mx_error_set(int code, const char *file, int line, const char *hint, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));

/* Prepends "context: " to the message of the current error, keeps its code and returns it. Without a current error it
 * creates an INTERNAL one, so that a failure never becomes 0. */
int mx_error_wrap(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Replaces the hint of the current error (printf style) and returns its code. */
int mx_error_hint(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The current error of this thread; never NULL; its code is 0 if there is no error. Owned by the thread. */
const struct mx_error *mx_error_last(void);

/* Makes a copied error the current error of this thread and returns its code. */
int mx_error_restore(const struct mx_error *error);

void mx_error_clear(void);

const char *mx_error_name(int code); /* "BUDGET"; "OK" for 0, "UNKNOWN" otherwise */
const char *mx_error_text(int code); /* "memory limit of a device exceeded" */
int mx_error_exit_code(int code);    /* 0 for 0 and positive codes, see the table */

/* int: stores the error and yields the code. `hint` is a string or NULL. */
#define MX_FAIL(code, hint, ...) mx_error_set((code), __FILE__, __LINE__, (hint), __VA_ARGS__)

/* For functions with `int rc` and the label `out`. */
#define MX_TRY(expr)                                                                                                   \
    do {                                                                                                               \
        rc = (expr);                                                                                                   \
        if (rc < 0) goto out;                                                                                          \
    } while (0)

/* rc = MX_FAIL(...); goto out; */
#define MX_RAISE(code, hint, ...)                                                                                      \
    do {                                                                                                               \
        rc = MX_FAIL((code), (hint), __VA_ARGS__);                                                                     \
        goto out;                                                                                                      \
    } while (0)

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Takes over the whole terminal: the alternate screen without a cursor, keys without Enter and without echo.
 *
 * Whatever ends the program restores the terminal: mx_screen_exit, Ctrl-C, SIGTERM, SIGHUP, SIGQUIT, a crash. Ctrl-Z
 * stops the program with the terminal restored, and continuing takes the screen again. A frame is written over the
 * previous one in a single write, so nothing flickers.
 *
 * Process-wide: there is one terminal and one screen. Only the main thread calls these.
 */
#ifndef MX_CLI_SCREEN_H
#define MX_CLI_SCREEN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/string.h"

enum mx_screen_event {
    MX_SCREEN_TIME,   /* nothing happened in the given time */
    MX_SCREEN_KEY,    /* a key was pressed */
    MX_SCREEN_RESIZE, /* the size changed, or the screen was taken again: redraw */
    MX_SCREEN_END,    /* Ctrl-C, or the terminal is gone */
};

/* Can standard output and standard input be a screen? */
bool mx_screen_possible(void);
int mx_screen_enter(void);
void mx_screen_exit(void); /* does nothing if the screen is not taken */

void mx_screen_size(int *columns, int *rows);
/* Shows the lines of `frame` from the top left corner on and clears everything below them. */
void mx_screen_show(const struct mx_string *frame);
/* Waits for an event. *key gets the byte of a key. */
enum mx_screen_event mx_screen_wait(uint64_t timeout_ns, char *key);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Draws the state of a run (monitor_view.h) as lines of text for a terminal or a file.
 *
 * Every line fits into the columns, and there are never more lines than rows: what matters most comes first, the curve
 * takes the remaining space, and what does not fit is left out. Lines have no newline inside colours and end with '\n'.
 *
 * Memory: text is appended to the caller's string.
 */
#ifndef MX_OBSERVE_MONITOR_DRAW_H
#define MX_OBSERVE_MONITOR_DRAW_H

#include "base/string.h"
#include "observe/monitor_view.h"

#define MX_DRAW_COLUMNS_MIN 20
#define MX_DRAW_COLUMNS_MAX 400

struct mx_draw_style {
    int columns, rows; /* rows 0: as many as needed */
    bool utf8, color;
    bool keys;        /* the last line lists the keys */
    const char *name; /* of the run */
    double silent_s;  /* since the files last changed; NAN: there are none yet */
};

/* The whole view. */
int mx_view_draw(const struct mx_view *view, const struct mx_draw_style *style, struct mx_string *out);
/* One line for logs: step, loss, speed, devices, time left; without a newline. */
int mx_view_draw_line(const struct mx_view *view, struct mx_string *out);

#endif

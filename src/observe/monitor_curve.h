/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Draws a series of numbers (monitor_view.h) as a small text picture: braille dots in UTF-8, stars otherwise, and a
 * line of blocks for series that need only one row.
 *
 * Memory: text is appended to the caller's string.
 */
#ifndef MX_OBSERVE_MONITOR_CURVE_H
#define MX_OBSERVE_MONITOR_CURVE_H

#include "base/string.h"
#include "observe/monitor_view.h"

struct mx_curve_style {
    int columns, rows; /* the axis and the steps below it included; rows ≥ 3 */
    bool utf8;
};

/* Draws `rows` lines. If the largest value is more than four times the smallest, and all are positive, the axis is
 * logarithmic. */
int mx_curve_draw(const struct mx_view_course *course, const struct mx_curve_style *style, struct mx_string *out);
/* One row of at most `columns` columns, without a newline: the height of each stands for its value, starting at 0. */
int mx_curve_spark(const struct mx_view_course *course, int columns, bool utf8, struct mx_string *out);

#endif

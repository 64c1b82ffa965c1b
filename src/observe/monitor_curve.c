/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Text curves, see monitor_curve.h.
 *
 *      12.3 ┤⡇
 *           │⠘⢄⡀
 *      0.91 ┤  ⠈⠉⠒⠤⠤⣀⣀
 *           └ 1 … 1,234
 *
 * A braille character (U+2800 + bits) has two columns of four dots; dots[y][x] is the bit of the dot in column x and
 * row y.
 */
#include "observe/monitor_curve.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "observe/monitor_draw.h"

#define AXIS       11 /* columns of the numbers and the line at the left */
#define DOTS_X     2
#define DOTS_Y     4
#define ROWS_MAX   64
#define LOG_RATIO  4.0  /* most to least: from here on the axis is logarithmic */
#define FLAT_SHARE 1e-3 /* a smaller range is drawn as if it were this share of the value */

static const unsigned char dots[DOTS_Y][DOTS_X] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};

struct plot {
    unsigned char cells[ROWS_MAX][MX_DRAW_COLUMNS_MAX]; /* bits of dots; 0: empty */
    int columns, rows, dots_x, dots_y;
};

static void dot(struct plot *plot, int x, int y)
{
    plot->cells[y / plot->dots_y][x / plot->dots_x] |= dots[y % plot->dots_y][x % plot->dots_x];
}

static int row_of(const struct plot *plot, double value, double least, double most)
{
    const int last = plot->rows * plot->dots_y - 1;
    const int row = (int)((most - value) / (most - least) * last + 0.5);
    return row < 0 ? 0 : row > last ? last : row;
}

/* A dot for each value, and dots between two that are apart. */
static void values_plot(struct plot *plot, const double *values, size_t count, double least, double most)
{
    for (size_t i = 0; i < count; i++) {
        const int to = row_of(plot, values[i], least, most);
        const int from = i == 0 ? to : row_of(plot, values[i - 1], least, most);
        const int step = from < to ? 1 : -1;
        for (int y = from == to ? to : from + step;; y += step) {
            dot(plot, (int)i, y);
            if (y == to) break;
        }
    }
}

/* U+2800 … U+28FF. */
static void braille_put(struct mx_string *out, unsigned char bits)
{
    mx_string_append(out, "%c%c%c", 0xE2, 0xA0 + (bits >> 6), 0x80 + (bits & 0x3F));
}

static void axis_put(struct mx_string *out, bool labelled, double value, bool utf8)
{
    char number[16] = "";
    if (labelled) snprintf(number, sizeof number, "%.3g", value);
    mx_string_append(out, "%*s %s", AXIS - 2, number, utf8 ? labelled ? "┤" : "│" : labelled ? "+" : "|");
}

static void steps_put(struct mx_string *out, const struct mx_view_course *course, int width, bool utf8,
                      bool logarithmic)
{
    char last[32];
    const int64_t end = course->first + (int64_t)course->count * course->per - 1;
    snprintf(last, sizeof last, "step %" PRId64, end);
    const int first = snprintf(NULL, 0, "%" PRId64, course->first);
    const int gap = width - first - (int)strlen(last) - 1;
    mx_string_append(out, "%*s%s %" PRId64, AXIS - 1, logarithmic ? "log" : "", utf8 ? "└" : "+", course->first);
    if (gap > 0) mx_string_append(out, "%*s%s", gap, "", last);
    mx_string_append(out, "\n");
}

static bool range_find(const double *values, size_t count, double *least, double *most)
{
    *least = *most = values[0];
    for (size_t i = 1; i < count; i++) {
        *least = fmin(*least, values[i]);
        *most = fmax(*most, values[i]);
    }
    return *least > 0 && *most > LOG_RATIO * *least;
}

/* The course over all of `columns`: means where it has more values, straight lines between them where it has fewer. */
static void columns_compute(const struct mx_view_course *course, double *values, size_t columns)
{
    double few[MX_VIEW_POINTS];
    const size_t count = mx_view_course_columns(course, values, columns);
    if (count == columns) return;
    memcpy(few, values, count * sizeof *few);
    for (size_t i = 0; i < columns; i++) {
        const double at = (double)i * (double)(count - 1) / (double)(columns - 1);
        const size_t left = (size_t)at, right = left + 1 < count ? left + 1 : left;
        values[i] = few[left] + (at - (double)left) * (few[right] - few[left]);
    }
}

int mx_curve_draw(const struct mx_view_course *course, const struct mx_curve_style *style, struct mx_string *out)
{
    static const struct plot empty;
    double values[DOTS_X * MX_DRAW_COLUMNS_MAX], least, most;
    struct plot plot = empty;
    plot.dots_x = style->utf8 ? DOTS_X : 1;
    plot.dots_y = style->utf8 ? DOTS_Y : 1;
    plot.columns = style->columns - AXIS;
    plot.rows = style->rows - 1;
    if (plot.columns < 2 || plot.rows < 2 || course->count == 0) return out->failure;
    if (plot.columns > MX_DRAW_COLUMNS_MAX) plot.columns = MX_DRAW_COLUMNS_MAX;
    if (plot.rows > ROWS_MAX) plot.rows = ROWS_MAX;
    const size_t count = (size_t)(plot.columns * plot.dots_x);
    columns_compute(course, values, count);
    const bool logarithmic = range_find(values, count, &least, &most);
    const double bottom = least, top = most;
    if (logarithmic) {
        for (size_t i = 0; i < count; i++) values[i] = log(values[i]);
        least = log(least);
        most = log(most);
    } else if (most - least < FLAT_SHARE * fabs(most)) {
        least -= FLAT_SHARE * fabs(most);
    }
    if (!(most > least)) least = most - 1;
    values_plot(&plot, values, count, least, most);
    for (int row = 0; row < plot.rows; row++) {
        axis_put(out, row == 0 || row == plot.rows - 1, row == 0 ? top : bottom, style->utf8);
        int end = plot.columns; /* nothing is drawn to the right of the last dot */
        while (end > 0 && plot.cells[row][end - 1] == 0) end--;
        for (int x = 0; x < end; x++) {
            if (style->utf8)
                braille_put(out, plot.cells[row][x]);
            else
                mx_string_append(out, "%c", plot.cells[row][x] != 0 ? '*' : ' ');
        }
        mx_string_append(out, "\n");
    }
    steps_put(out, course, plot.columns, style->utf8, logarithmic);
    return out->failure;
}

int mx_curve_spark(const struct mx_view_course *course, int columns, bool utf8, struct mx_string *out)
{
    static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char letters[] = "_.,-~=+#";
    double values[MX_DRAW_COLUMNS_MAX], least, most;
    if (columns > MX_DRAW_COLUMNS_MAX) columns = MX_DRAW_COLUMNS_MAX;
    const size_t count = columns > 0 ? mx_view_course_columns(course, values, (size_t)columns) : 0;
    if (count == 0) return out->failure;
    (void)range_find(values, count, &least, &most);
    for (size_t i = 0; i < count; i++) {
        int height = most > 0 ? (int)(values[i] / most * 8) : 0;
        height = height > 7 ? 7 : height < 0 ? 0 : height;
        if (utf8)
            mx_string_append(out, "%s", blocks[height]);
        else
            mx_string_append(out, "%c", letters[height]);
    }
    return out->failure;
}

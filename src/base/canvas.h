/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Pictures: a canvas of RGB pixels that can show matrices and lines, and PNG files of it.
 *
 * Coordinates are pixels from the upper left corner; whatever lies outside is cut off. Colours are 0xRRGGBB.
 *
 * Memory: the canvas owns its pixels; release with mx_canvas_release. Single owner.
 */
#ifndef MX_BASE_CANVAS_H
#define MX_BASE_CANVAS_H

#include <stdint.h>

#define MX_CANVAS_SIDE_MAX 32768 /* pixels, of either side */

struct mx_canvas {
    int width, height;
    uint8_t *pixels; /* [height, width, 3] */
};

struct mx_rectangle {
    int x, y, width, height;
};

/* Filled with one colour. */
int mx_canvas_create(struct mx_canvas *canvas, int width, int height, uint32_t colour);
void mx_canvas_release(struct mx_canvas *canvas);

void mx_canvas_fill(struct mx_canvas *canvas, struct mx_rectangle where, uint32_t colour);

/* A colour for 0 … 1 (others are cut to that; NaN is grey): from nearly black over violet and orange to pale yellow.
 * Equal steps look equal, since the lightness (CIE L*) grows evenly. */
uint32_t mx_canvas_heat(float value);

struct mx_canvas_matrix {
    const float *values; /* [columns, rows], one column after the other */
    int64_t columns, rows;
    float low, high;
};

/* Shows the values as heat, `low` … `high` to 0 … 1: columns from left to right, row 0 at the bottom, stretched to the
 * rectangle by taking the nearest. */
void mx_canvas_matrix(struct mx_canvas *canvas, struct mx_rectangle where, const struct mx_canvas_matrix *matrix);

struct mx_canvas_curve {
    const float *values;
    int64_t count;
    float low, high;
    uint32_t colour;
};

/* A line through the values, spread over the width of the rectangle, `low` at its lower and `high` at its upper edge. Values that are not finite or are below `low` interrupt it. */
void mx_canvas_curve(struct mx_canvas *canvas, struct mx_rectangle where, const struct mx_canvas_curve *curve);

/* Writes the picture as an 8-bit RGB PNG, atomically. */
int mx_canvas_write_png(const struct mx_canvas *canvas, const char *path);

#endif

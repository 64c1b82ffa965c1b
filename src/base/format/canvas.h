/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Pictures: a canvas of RGB pixels on which matrices and curves are drawn, and which is written as a PNG file.
 *
 * Coordinates are pixels from the upper left corner; anything outside the canvas is clipped. Colours are 0xRRGGBB.
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

/* Maps 0 … 1 to a colour from almost black through violet and orange to pale yellow. Values outside are clamped; NaN is
 * grey. Equal steps look equal because the lightness (CIE L*) grows linearly. */
uint32_t mx_canvas_heat(float value);

struct mx_canvas_matrix {
    const float *values; /* [columns, rows], one column after the other */
    int64_t columns, rows;
    float low, high;
};

/* Draws the values as a heat map in which `low` … `high` maps to 0 … 1. Columns run from left to right, row 0 is at the
 * bottom, and the matrix is stretched to the rectangle by nearest neighbour. */
void mx_canvas_matrix(struct mx_canvas *canvas, struct mx_rectangle where, const struct mx_canvas_matrix *matrix);

struct mx_canvas_curve {
    const float *values;
    int64_t count;
    float low, high;
    uint32_t colour;
};

/* A line through the values, spread over the width of the rectangle, `low` at its lower and `high` at its upper edge.
 * Values that are not finite or lie below `low` interrupt the line. */
void mx_canvas_curve(struct mx_canvas *canvas, struct mx_rectangle where, const struct mx_canvas_curve *curve);

/* Writes the picture as an 8-bit RGB PNG, atomically. */
int mx_canvas_write_png(const struct mx_canvas *canvas, const char *path);

#endif

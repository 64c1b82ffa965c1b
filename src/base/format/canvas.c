/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Drawing on a canvas and writing it as PNG (libpng). The file is made in memory first, so that it can be written
 * atomically and a failure of libpng leaves nothing behind.
 */
#include "base/format/canvas.h"

#include <math.h>
#include <png.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "myxtts/error.h"

int mx_canvas_create(struct mx_canvas *canvas, int width, int height, uint32_t colour)
{
    *canvas = (struct mx_canvas){0};
    if (width < 1 || height < 1 || width > MX_CANVAS_SIDE_MAX || height > MX_CANVAS_SIDE_MAX)
        return MX_FAIL(MX_ERR_ARGUMENT, "sides go from 1 to 32768 pixels",
                       "a picture of %d × %d pixels is not possible", width, height);
    uint8_t *const pixels = mx_alloc((size_t)width * (size_t)height, 3);
    if (pixels == NULL) return MX_ERR_NO_MEMORY;
    *canvas = (struct mx_canvas){width, height, pixels};
    mx_canvas_fill(canvas, (struct mx_rectangle){0, 0, width, height}, colour);
    return 0;
}

void mx_canvas_release(struct mx_canvas *canvas)
{
    mx_free(canvas->pixels);
    *canvas = (struct mx_canvas){0};
}

static void pixel_set(struct mx_canvas *canvas, int64_t x, int64_t y, uint32_t colour)
{
    if (x < 0 || y < 0 || x >= canvas->width || y >= canvas->height) return;
    uint8_t *const pixel = canvas->pixels + 3 * (y * canvas->width + x);
    pixel[0] = (uint8_t)(colour >> 16);
    pixel[1] = (uint8_t)(colour >> 8);
    pixel[2] = (uint8_t)colour;
}

void mx_canvas_fill(struct mx_canvas *canvas, struct mx_rectangle where, uint32_t colour)
{
    for (int64_t y = where.y; y < (int64_t)where.y + where.height; y++)
        for (int64_t x = where.x; x < (int64_t)where.x + where.width; x++) pixel_set(canvas, x, y, colour);
}

uint32_t mx_canvas_heat(float value)
{
    /* Lightness 4 … 96 in equal steps, hue from violet to yellow, each as colourful as its lightness allows. */
    static const uint32_t steps[] = {0x000C2F, 0x251270, 0x720C74, 0xA91B70, 0xD43E68,
                                     0xF3685F, 0xFE9A66, 0xFFC98B, 0xFFF3CF};
    const int last = (int)(sizeof steps / sizeof steps[0]) - 1;
    if (isnan(value)) return 0x808080;
    const float at = (value < 0 ? 0 : value > 1 ? 1 : value) * (float)last;
    const int step = at >= (float)last ? last - 1 : (int)at;
    const float part = at - (float)step;
    uint32_t colour = 0;
    for (int shift = 16; shift >= 0; shift -= 8) {
        const float from = (float)(steps[step] >> shift & 255), to = (float)(steps[step + 1] >> shift & 255);
        colour |= (uint32_t)(from + part * (to - from) + 0.5f) << shift;
    }
    return colour;
}

void mx_canvas_matrix(struct mx_canvas *canvas, struct mx_rectangle where, const struct mx_canvas_matrix *matrix)
{
    const int64_t columns = matrix->columns, rows = matrix->rows;
    const float low = matrix->low, high = matrix->high;
    if (columns < 1 || rows < 1) return;
    const float factor = high > low ? 1 / (high - low) : 0;
    for (int64_t y = 0; y < where.height; y++)
        for (int64_t x = 0; x < where.width; x++) {
            const int64_t column = x * columns / where.width, row = (where.height - 1 - y) * rows / where.height;
            const float value = (matrix->values[column * rows + row] - low) * factor;
            pixel_set(canvas, where.x + x, where.y + y, mx_canvas_heat(value));
        }
}

void mx_canvas_curve(struct mx_canvas *canvas, struct mx_rectangle where, const struct mx_canvas_curve *curve)
{
    const int64_t count = curve->count;
    const float low = curve->low, high = curve->high;
    int64_t before = -1; /* the height of the curve one column to the left; -1: none */
    for (int64_t x = 0; x < where.width && count > 0; x++) {
        const float value = curve->values[x * count / where.width];
        if (!isfinite(value) || value < low || high <= low) {
            before = -1;
            continue;
        }
        const float part = value > high ? 1 : (value - low) / (high - low);
        const int64_t at = where.y + (int64_t)lroundf((1 - part) * (float)(where.height - 1));
        int64_t from = before < 0 ? at : before;
        for (;; from += from < at ? 1 : -1) { /* two pixels wide, without holes where it is steep */
            pixel_set(canvas, where.x + x, from, curve->colour);
            pixel_set(canvas, where.x + x, from + 1, curve->colour);
            if (from == at) break;
        }
        before = at;
    }
}

/* ---- PNG ---- */

struct sink {
    uint8_t *data;
    size_t bytes, capacity;
};

static void sink_write(png_structp png, png_bytep data, size_t bytes)
{
    struct sink *const sink = png_get_io_ptr(png);
    if (MX_GROW(sink->data, sink->capacity, sink->bytes + bytes) < 0) png_error(png, "out of memory");
    memcpy(sink->data + sink->bytes, data, bytes);
    sink->bytes += bytes;
}

static void sink_flush(png_structp png)
{
    (void)png;
}

/* libpng would print; this library must not. */
static void png_failed(png_structp png, png_const_charp message)
{
    (void)message;
    png_longjmp(png, 1);
}

static void png_warned(png_structp png, png_const_charp message)
{
    (void)png;
    (void)message;
}

/* False when libpng fails, as it does without memory. Alone in its function: nothing but `png` and `info`
 * lives across the jump, and they are not changed after it is set. */
static bool png_encode(const struct mx_canvas *canvas, struct sink *sink)
{
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, png_failed, png_warned);
    png_infop info = png == NULL ? NULL : png_create_info_struct(png);
    if (info == NULL || setjmp(png_jmpbuf(png)) != 0) {
        png_destroy_write_struct(&png, &info);
        return false;
    }
    png_set_write_fn(png, sink, sink_write, sink_flush);
    png_set_IHDR(png, info, (png_uint_32)canvas->width, (png_uint_32)canvas->height, 8, PNG_COLOR_TYPE_RGB,
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_set_sRGB(png, info, PNG_sRGB_INTENT_PERCEPTUAL);
    png_write_info(png, info);
    for (int64_t y = 0; y < canvas->height; y++) png_write_row(png, canvas->pixels + 3 * y * canvas->width);
    png_write_end(png, info);
    png_destroy_write_struct(&png, &info);
    return true;
}

int mx_canvas_write_png(const struct mx_canvas *canvas, const char *path)
{
    int rc = 0;
    struct sink sink = {0};
    if (!png_encode(canvas, &sink))
        MX_RAISE(MX_ERR_NO_MEMORY, "close other programs", "out of memory for a picture of %d × %d pixels",
                 canvas->width, canvas->height);
    MX_TRY(mx_file_write_atomic(path, sink.data, sink.bytes));
out:
    mx_free(sink.data);
    return rc;
}

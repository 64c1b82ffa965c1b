/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The canvas: colours, matrices, curves; and PNG files, read back by libpng.
 */
#include <math.h>
#include <png.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/format/canvas.h"
#include "myxtts/error.h"

static uint32_t pixel(const struct mx_canvas *canvas, int x, int y)
{
    const uint8_t *p = canvas->pixels + 3 * (y * canvas->width + x);
    return (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
}

/* CIE L* of a colour. */
static double lightness(uint32_t colour)
{
    double y = 0;
    static const double share[] = {0.2126, 0.7152, 0.0722};
    for (int i = 0; i < 3; i++) {
        const double c = (double)(colour >> (16 - 8 * i) & 255) / 255;
        y += share[i] * (c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4));
    }
    return y > 0.008856 ? 116 * cbrt(y) - 16 : 903.3 * y;
}

static void heat_grows_evenly(void **state)
{
    (void)state;
    for (int i = 0; i <= 100; i++) {
        const double want = 4 + 92 * i / 100.0, got = lightness(mx_canvas_heat((float)i / 100));
        if (fabs(got - want) > 2.5) fail_msg("heat %d %% has lightness %.1f, should be %.1f", i, got, want);
    }
    assert_int_equal(mx_canvas_heat(-5), mx_canvas_heat(0));
    assert_int_equal(mx_canvas_heat(5), mx_canvas_heat(1));
    assert_int_equal(mx_canvas_heat(INFINITY), mx_canvas_heat(1));
    assert_int_equal(mx_canvas_heat(NAN), 0x808080);
}

static void matrices_and_curves(void **state)
{
    (void)state;
    struct mx_canvas canvas;
    static const float values[] = {0, 1, 2, 3, 4, 5}; /* 3 columns of 2 rows */
    static const float line[] = {0, 0, 10, 10, NAN, -1, 5, 5};
    assert_int_equal(mx_canvas_create(&canvas, 20, 30, 0x102030), 0);
    assert_int_equal(pixel(&canvas, 19, 29), 0x102030);
    mx_canvas_matrix(&canvas, (struct mx_rectangle){2, 3, 6, 4}, &(struct mx_canvas_matrix){values, 3, 2, 0, 5});
    for (int x = 0; x < 6; x++)
        for (int y = 0; y < 4; y++) {
            const int column = x / 2, row = y < 2 ? 1 : 0; /* row 0 at the bottom */
            assert_int_equal(pixel(&canvas, 2 + x, 3 + y), mx_canvas_heat(values[2 * column + row] / 5));
        }
    assert_int_equal(pixel(&canvas, 1, 3), 0x102030);
    assert_int_equal(pixel(&canvas, 8, 3), 0x102030);
    mx_canvas_curve(&canvas, (struct mx_rectangle){0, 10, 8, 11}, &(struct mx_canvas_curve){line, 8, 0, 10, 0xFFFFFF});
    assert_int_equal(pixel(&canvas, 0, 20), 0xFFFFFF);                               /* the lowest is at the bottom */
    assert_int_equal(pixel(&canvas, 3, 10), 0xFFFFFF);                               /* the highest at the top */
    for (int y = 10; y <= 20; y++) assert_int_equal(pixel(&canvas, 2, y), 0xFFFFFF); /* no hole on the way up */
    for (int y = 10; y <= 20; y++) assert_int_equal(pixel(&canvas, 4, y), 0x102030); /* interrupted */
    for (int y = 10; y <= 20; y++) assert_int_equal(pixel(&canvas, 5, y), 0x102030);
    assert_int_equal(pixel(&canvas, 7, 15), 0xFFFFFF);
    /* What lies outside is cut off. */
    mx_canvas_fill(&canvas, (struct mx_rectangle){-5, -5, 100, 100}, 0x000001);
    mx_canvas_matrix(&canvas, (struct mx_rectangle){15, 25, 50, 50}, &(struct mx_canvas_matrix){values, 3, 2, 0, 5});
    mx_canvas_curve(&canvas, (struct mx_rectangle){-4, 20, 60, 60},
                    &(struct mx_canvas_curve){line, 8, 0, 10, 0xFFFFFF});
    mx_canvas_matrix(&canvas, (struct mx_rectangle){0, 0, 5, 5}, &(struct mx_canvas_matrix){values, 0, 2, 0, 5});
    mx_canvas_release(&canvas);
    assert_int_equal(mx_canvas_create(&canvas, 0, 5, 0), MX_ERR_ARGUMENT);
    assert_int_equal(mx_canvas_create(&canvas, 5, 40000, 0), MX_ERR_ARGUMENT);
    mx_canvas_release(&canvas);
}

static void png_comes_back(void **state)
{
    (void)state;
    char folder[] = "/tmp/myxtts-canvas-XXXXXX", path[64];
    struct mx_canvas canvas;
    png_image image = {.version = PNG_IMAGE_VERSION};
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/a.png", folder);
    assert_int_equal(mx_canvas_create(&canvas, 37, 11, 0), 0);
    for (int i = 0; i < 37 * 11 * 3; i++) canvas.pixels[i] = (uint8_t)(i * 7 + i / 37);
    if (mx_canvas_write_png(&canvas, path) < 0) fail_msg("%s", mx_error_last()->message);
    assert_true(png_image_begin_read_from_file(&image, path) != 0);
    assert_int_equal(image.width, 37);
    assert_int_equal(image.height, 11);
    image.format = PNG_FORMAT_RGB;
    uint8_t *pixels = mx_alloc(PNG_IMAGE_SIZE(image), 1);
    assert_non_null(pixels);
    assert_true(png_image_finish_read(&image, NULL, pixels, 0, NULL) != 0);
    assert_memory_equal(pixels, canvas.pixels, 37 * 11 * 3);
    mx_free(pixels);
    unlink(path);
    rmdir(folder);
    assert_int_equal(mx_canvas_write_png(&canvas, path), MX_ERR_IO); /* the folder is gone */
    mx_alloc_fail_at(1);
    assert_int_equal(mx_canvas_write_png(&canvas, path), MX_ERR_NO_MEMORY);
    mx_alloc_fail_at(0);
    mx_canvas_release(&canvas);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heat_grows_evenly),
        cmocka_unit_test(matrices_and_curves),
        cmocka_unit_test(png_comes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

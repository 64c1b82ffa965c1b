/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See accelerator.h.
 */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "support/accelerator.h"

#include <string.h>

#include "myxtts/error.h"
#include "myxtts/ops.h"

struct mx_stream *stream_make(struct mx_device *device)
{
    struct mx_stream *stream;
    assert_int_equal(mx_stream_create(device, "test", &stream), 0);
    return stream;
}

struct mx_buffer *buffer_make(struct mx_device *device, size_t bytes)
{
    struct mx_buffer *buffer;
    assert_int_equal(mx_buffer_create(device, "test", bytes, &buffer), 0);
    return buffer;
}

void limit_holds(struct mx_registry *registry)
{
    struct mx_device *device;
    struct mx_buffer *buffer;
    assert_int_equal(mx_registry_device_open(registry, 0, 1 << 20, &device), 0);
    assert_int_equal(mx_buffer_create(device, "large", (1 << 20) + 1, &buffer), MX_ERR_BUDGET);
    assert_non_null(strstr(mx_error_last()->message, "large"));
    assert_int_equal(mx_buffer_create(device, "fits", 1 << 20, &buffer), 0);
    mx_buffer_release(buffer);
    mx_device_close(device);
}

void wrong_data_fail(struct mx_device *device)
{
    const int32_t ids[4] = {0, 1, 99, 2};
    const float table[8] = {0};
    struct mx_stream *const stream = stream_make(device);
    struct mx_buffer *const buffer = buffer_make(device, 256);
    assert_int_equal(mx_copy_upload(stream, mx_slice_at(buffer, 0), ids, sizeof ids), 0);
    assert_int_equal(mx_copy_upload(stream, mx_slice_at(buffer, 64), table, sizeof table), 0);
    const struct mx_embedding_args args = {.ids = mx_slice_at(buffer, 0),
                                           .table = mx_slice_at(buffer, 64),
                                           .y = mx_slice_at(buffer, 128),
                                           .rows = 4,
                                           .n = 2,
                                           .vocabulary = 4,
                                           .factor = 1};
    assert_int_equal(mx_embedding(stream, &args), 0);
    assert_int_equal(mx_stream_sync(stream), MX_ERR_DATA);
    assert_non_null(strstr(mx_error_last()->message, "id 99 in row 2"));
    assert_int_equal(mx_embedding(stream, &args), MX_ERR_DATA); /* it stays */
    mx_stream_release(stream);
    mx_buffer_release(buffer);
}

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Protocol buffers byte by byte, against the encodings that their specification gives and others worked out by its
 * rules; nested messages of every length of length; and what is left when memory runs out.
 */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include <string.h>

#include "base/alloc.h"
#include "base/format/protobuf.h"
#include "myxtts/error.h"

#define IS(bytes, ...)                                                                                                 \
    do {                                                                                                               \
        static const uint8_t wanted[] = {__VA_ARGS__};                                                                 \
        assert_int_equal((bytes)->failure, 0);                                                                         \
        assert_int_equal((bytes)->length, sizeof wanted);                                                              \
        assert_memory_equal((bytes)->data, wanted, sizeof wanted);                                                     \
        mx_protobuf_release(bytes);                                                                                    \
    } while (0)

static void numbers(void **state)
{
    (void)state;
    struct mx_protobuf out = {0};
    mx_protobuf_int(&out, 1, 150); /* the specification's first example */
    IS(&out, 0x08, 0x96, 0x01);
    mx_protobuf_int(&out, 1, 0);
    IS(&out, 0x08, 0x00);
    mx_protobuf_int(&out, 15, 127);
    IS(&out, 0x78, 0x7F);
    mx_protobuf_int(&out, 16, 128); /* a key of two bytes */
    IS(&out, 0x80, 0x01, 0x80, 0x01);
    mx_protobuf_int(&out, 1, -2); /* ten bytes, as the specification says */
    IS(&out, 0x08, 0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01);
    mx_protobuf_int(&out, 1, INT64_MAX);
    IS(&out, 0x08, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F);
    mx_protobuf_float(&out, 2, 1.5f);
    IS(&out, 0x15, 0x00, 0x00, 0xC0, 0x3F);
    mx_protobuf_double(&out, 3, -2.0);
    IS(&out, 0x19, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xC0);
    mx_protobuf_fixed(&out, UINT64_C(0x0102030405060708), 3);
    IS(&out, 0x08, 0x07, 0x06);
}

static void texts_and_messages(void **state)
{
    (void)state;
    struct mx_protobuf out = {0};
    mx_protobuf_string(&out, 2, "testing"); /* the specification's second example */
    IS(&out, 0x12, 0x07, 0x74, 0x65, 0x73, 0x74, 0x69, 0x6E, 0x67);
    mx_protobuf_string(&out, 2, "");
    IS(&out, 0x12, 0x00);
    const size_t message = mx_protobuf_begin(&out, 3); /* the third: a message that has the first */
    mx_protobuf_int(&out, 1, 150);
    mx_protobuf_end(&out, message);
    IS(&out, 0x1A, 0x03, 0x08, 0x96, 0x01);
    const size_t empty = mx_protobuf_begin(&out, 1);
    mx_protobuf_end(&out, empty);
    IS(&out, 0x0A, 0x00);
    const size_t outer = mx_protobuf_begin(&out, 1), inner = mx_protobuf_begin(&out, 2);
    mx_protobuf_string(&out, 1, "a");
    mx_protobuf_end(&out, inner);
    mx_protobuf_int(&out, 4, 5);
    mx_protobuf_end(&out, outer);
    IS(&out, 0x0A, 0x07, 0x12, 0x03, 0x0A, 0x01, 0x61, 0x20, 0x05);
    mx_protobuf_length(&out, 7, 300);
    IS(&out, 0x3A, 0xAC, 0x02);
}

/* The length of a message takes one byte up to 127, two up to 16,383, then three: its fields move by as much. */
static void long_messages(void **state)
{
    (void)state;
    static const size_t sizes[] = {125, 126, 16380, 16381, 70000};
    static uint8_t content[70000];
    for (size_t i = 0; i < sizeof content; i++) content[i] = (uint8_t)(i * 31 + 7);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct mx_protobuf whole = {0}, parts = {0};
        const size_t begin = mx_protobuf_begin(&whole, 9);
        mx_protobuf_raw(&whole, content, sizes[i]);
        mx_protobuf_end(&whole, begin);
        mx_protobuf_bytes(&parts, 9, content, sizes[i]);
        assert_int_equal(whole.length, parts.length);
        assert_memory_equal(whole.data, parts.data, parts.length);
        assert_int_equal(whole.length, sizes[i] + (sizes[i] < 128 ? 2 : sizes[i] < 16384 ? 3 : 4));
        mx_protobuf_release(&whole);
        mx_protobuf_release(&parts);
    }
}

/* After a failure nothing is added, and the failure stays. */
static void memory_may_be_out(void **state)
{
    (void)state;
    static const char large[1000];
    struct mx_protobuf out = {0};
    mx_protobuf_int(&out, 1, 1);
    const size_t before = out.length, begin = mx_protobuf_begin(&out, 2);
    mx_alloc_fail_at(1);
    mx_protobuf_bytes(&out, 3, large, sizeof large);
    mx_alloc_fail_at(0);
    assert_int_equal(out.failure, MX_ERR_NO_MEMORY);
    const size_t after = out.length;
    assert_true(after > before);
    mx_protobuf_end(&out, begin);
    mx_protobuf_string(&out, 4, "text");
    assert_int_equal(out.failure, MX_ERR_NO_MEMORY);
    assert_int_equal(out.length, after);
    mx_protobuf_release(&out);
    mx_error_clear();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers),
        cmocka_unit_test(texts_and_messages),
        cmocka_unit_test(long_messages),
        cmocka_unit_test(memory_may_be_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

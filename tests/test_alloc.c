/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Checked allocation (zeroing, overflow, the counter, injected failure), lists that grow, arenas, and the clock.
 */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "base/alloc.h"
#include "base/clock.h"
#include "myxtts/error.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool all_zero(const void *block, size_t bytes)
{
    const unsigned char *p = block;
    for (size_t i = 0; i < bytes; i++) {
        if (p[i] != 0) return false;
    }
    return true;
}

static void assert_no_memory(const void *block)
{
    assert_null(block);
    assert_int_equal(mx_error_last()->code, MX_ERR_NO_MEMORY);
    assert_true(mx_error_last()->hint[0] != '\0');
    mx_error_clear();
}

static void test_blocks(void **state)
{
    (void)state;
    unsigned char *a = mx_alloc(100, 7), *b = mx_alloc(0, 8), *c = mx_alloc(8, 0);
    assert_non_null(a);
    assert_true(all_zero(a, 700));
    assert_non_null(b);
    assert_non_null(c);
    assert_ptr_not_equal(b, c);
    memset(a, 0x5a, 700);
    a = mx_realloc(a, 200, 7);
    assert_non_null(a);
    assert_int_equal(a[0], 0x5a);
    assert_int_equal(a[699], 0x5a);
    b = mx_realloc(b, 0, 0);
    assert_non_null(b);
    mx_free(a);
    mx_free(b);
    mx_free(c);
    mx_free(NULL);
    for (size_t alignment = sizeof(void *); alignment <= 4096; alignment *= 2) {
        unsigned char *block = mx_alloc_aligned(alignment + 3, alignment);
        assert_non_null(block);
        assert_int_equal((uintptr_t)block % alignment, 0);
        assert_true(all_zero(block, alignment + 3));
        mx_free(block);
    }
    void *nothing = mx_alloc_aligned(0, 64);
    assert_non_null(nothing);
    mx_free(nothing);
}

static void test_bad_sizes(void **state)
{
    (void)state;
    assert_no_memory(mx_alloc(SIZE_MAX / 2, 3));
    assert_no_memory(mx_alloc(SIZE_MAX, 1));
    assert_no_memory(mx_alloc((size_t)1 << 40, 1));
    int *kept = mx_alloc(1, sizeof *kept);
    assert_non_null(kept);
    *kept = 42;
    assert_no_memory(mx_realloc(kept, SIZE_MAX / 2, 4));
    assert_int_equal(*kept, 42);
    mx_free(kept);
    assert_no_memory(mx_alloc_aligned(SIZE_MAX - 10, 64));
    assert_null(mx_alloc_aligned(64, 48));
    assert_int_equal(mx_error_last()->code, MX_ERR_ARGUMENT);
    assert_null(mx_alloc_aligned(64, 2));
    assert_int_equal(mx_error_last()->code, MX_ERR_ARGUMENT);
}

static void test_strings(void **state)
{
    (void)state;
    char *a = mx_strdup("hello"), *b = mx_strndup("hello", 3), *c = mx_strndup("hi", 99);
    char *d = mx_format("%s-%0*d", "x", 300, 7);
    assert_string_equal(a, "hello");
    assert_string_equal(b, "hel");
    assert_string_equal(c, "hi");
    assert_int_equal(strlen(d), 302);
    assert_int_equal(d[301], '7');
    mx_free(a);
    mx_free(b);
    mx_free(c);
    mx_free(d);
}

static void test_counter_and_injection(void **state)
{
    (void)state;
    const uint64_t before = mx_alloc_count();
    void *a = mx_alloc(1, 1), *b = mx_alloc_aligned(1, 8);
    char *c = mx_strdup("x"), *d = mx_format("y");
    a = mx_realloc(a, 2, 1);
    assert_int_equal(mx_alloc_count() - before, 5);

    mx_alloc_fail_at(1);
    assert_no_memory(mx_alloc(1, 1));
    mx_alloc_fail_at(1);
    assert_no_memory(mx_alloc_aligned(1, 8));
    mx_alloc_fail_at(1);
    assert_no_memory(mx_strdup("x"));
    mx_alloc_fail_at(1);
    assert_no_memory(mx_format("x"));
    mx_alloc_fail_at(1);
    assert_no_memory(mx_realloc(a, 3, 1));
    assert_int_equal(mx_alloc_count() - before, 5); /* what failed took nothing */

    mx_alloc_fail_at(3);
    for (int i = 1; i <= 5; i++) {
        void *block = mx_alloc(1, 1);
        if (i == 3) assert_no_memory(block);
        if (i != 3) assert_non_null(block);
        mx_free(block);
    }
    mx_alloc_fail_at(1);
    mx_alloc_fail_at(0);
    void *e = mx_alloc(1, 1);
    assert_non_null(e);
    mx_free(a);
    mx_free(b);
    mx_free(c);
    mx_free(d);
    mx_free(e);
}

static void test_grow(void **state)
{
    (void)state;
    uint64_t *list = NULL;
    size_t room = 0, times = 0;
    assert_int_equal(MX_GROW(list, room, 0), 0);
    assert_null(list);
    for (size_t count = 0; count < 5000; count++) {
        const size_t before = room;
        assert_int_equal(MX_GROW(list, room, count + 1), 0);
        assert_true(room > count);
        if (room != before) {
            assert_true(times++ == 0 || room == 2 * before);
            memset(list + before, 0x5a, (room - before) * sizeof *list); /* all of it is ours */
        }
        list[count] = 3 * count;
    }
    assert_true(times <= 10);

    const uint64_t taken = mx_alloc_count();
    const uint64_t *const same = list;
    assert_int_equal(MX_GROW(list, room, room), 0);
    assert_int_equal(MX_GROW(list, room, 1), 0);
    assert_ptr_equal(list, same);
    assert_int_equal(mx_alloc_count(), taken);

    assert_int_equal(MX_GROW(list, room, 100000), 0); /* many at once */
    assert_int_equal(room, 100000);
    for (size_t i = 0; i < 5000; i++) assert_int_equal(list[i], 3 * i);
    mx_free(list);

    /* Small elements begin with more of them. */
    char *bytes = NULL;
    struct {
        char name[1000];
    } *large = NULL;
    size_t byte_room = 0, large_room = 0;
    assert_int_equal(MX_GROW(bytes, byte_room, 1), 0);
    assert_int_equal(MX_GROW(large, large_room, 1), 0);
    assert_int_equal(byte_room, 256);
    assert_int_equal(large_room, 16);
    mx_free(bytes);
    mx_free(large);
}

static void test_grow_failure(void **state)
{
    (void)state;
    /* More than there is; a product that overflows, also to a small number; twice the room that overflows. */
    static const struct {
        size_t room, needed;
    } absurd[] = {{0, SIZE_MAX},
                  {0, SIZE_MAX / 2},
                  {0, SIZE_MAX / sizeof(int) + 2},
                  {SIZE_MAX / 2 + 2, SIZE_MAX / 2 + 3},
                  {SIZE_MAX - 1, SIZE_MAX}};
    int *list = NULL;
    size_t room = 0;
    mx_alloc_fail_at(1);
    assert_int_equal(MX_GROW(list, room, 3), MX_ERR_NO_MEMORY);
    assert_no_memory(list);
    assert_int_equal(room, 0);

    assert_int_equal(MX_GROW(list, room, 3), 0);
    for (size_t i = 0; i < room; i++) list[i] = (int)i;
    const int *const same = list;
    const size_t before = room;
    mx_alloc_fail_at(1);
    assert_int_equal(MX_GROW(list, room, room + 1), MX_ERR_NO_MEMORY);
    assert_no_memory(NULL);
    assert_ptr_equal(list, same);
    assert_int_equal(room, before);
    for (size_t i = 0; i < sizeof absurd / sizeof *absurd; i++) {
        size_t claimed = absurd[i].room;
        assert_int_equal(MX_GROW(list, claimed, absurd[i].needed), MX_ERR_NO_MEMORY);
        assert_no_memory(NULL);
        assert_ptr_equal(list, same);
        assert_int_equal(claimed, absurd[i].room);
    }
    assert_int_equal(MX_GROW(list, room, room + 1), 0);
    assert_int_equal(room, 2 * before);
    for (size_t i = 0; i < before; i++) assert_int_equal(list[i], i);
    mx_free(list);
}

static void test_arena(void **state)
{
    (void)state;
    struct mx_arena arena;
    mx_arena_init(&arena, 256);
    mx_arena_release(&arena);

    unsigned char *pieces[200];
    for (size_t i = 0; i < 200; i++) {
        pieces[i] = mx_arena_alloc(&arena, i, 3);
        assert_non_null(pieces[i]);
        assert_int_equal((uintptr_t)pieces[i] % alignof(max_align_t), 0);
        assert_true(all_zero(pieces[i], i * 3));
        memset(pieces[i], (int)i, i * 3);
    }
    for (size_t i = 1; i < 200; i++) {
        assert_int_equal(pieces[i][0], i);
        assert_int_equal(pieces[i][i * 3 - 1], i);
    }
    assert_true(arena.used_bytes >= 3 * 199 * 200 / 2);
    assert_int_equal(arena.used_bytes % alignof(max_align_t), 0);
    assert_string_equal(mx_arena_strdup(&arena, "text"), "text");
    assert_string_equal(mx_arena_strndup(&arena, "text", 2), "te");
    mx_arena_reset(&arena);
    assert_int_equal(arena.used_bytes, 0);
    mx_arena_release(&arena);
    assert_null(arena.first);
    assert_non_null(mx_arena_alloc(&arena, 1, 1)); /* usable again */
    mx_arena_release(&arena);
}

/* The same work after a reset takes no memory, also when the pieces come in another order. */
static void test_arena_reset_keeps_chunks(void **state)
{
    (void)state;
    struct mx_arena arena;
    mx_arena_init(&arena, 128);
    static const size_t sizes[] = {16, 900, 100, 64, 2000, 128, 48};
    const size_t count = sizeof sizes / sizeof *sizes;
    for (size_t i = 0; i < count; i++) assert_non_null(mx_arena_alloc(&arena, sizes[i], 1));
    const uint64_t before = mx_alloc_count();
    for (int round = 0; round < 50; round++) {
        mx_arena_reset(&arena);
        for (size_t i = 0; i < count; i++) {
            unsigned char *piece = mx_arena_alloc(&arena, sizes[i], 1);
            assert_true(all_zero(piece, sizes[i]));
            memset(piece, 0xff, sizes[i]);
        }
    }
    assert_int_equal(mx_alloc_count(), before);
    mx_arena_reset(&arena);
    memset(mx_arena_alloc(&arena, 2000, 1), 1, 2000);
    memset(mx_arena_alloc(&arena, 900, 1), 2, 900);
    assert_int_equal(mx_alloc_count(), before); /* the large chunks were found after small ones */
    mx_arena_release(&arena);
}

static void test_arena_failure(void **state)
{
    (void)state;
    struct mx_arena arena;
    mx_arena_init(&arena, 64);
    char *kept = mx_arena_strdup(&arena, "kept");
    mx_alloc_fail_at(1);
    assert_no_memory(mx_arena_alloc(&arena, 1000, 1));
    assert_no_memory(mx_arena_alloc(&arena, SIZE_MAX, 2));
    assert_no_memory(mx_arena_alloc(&arena, PTRDIFF_MAX, 1));
    assert_string_equal(kept, "kept");
    assert_non_null(mx_arena_alloc(&arena, 1000, 1));
    mx_arena_release(&arena);
}

static void test_clock(void **state)
{
    (void)state;
    const uint64_t before = mx_clock_ns();
    mx_clock_sleep_ns(2000000);
    assert_true(mx_clock_ns() - before >= 2000000);
    char text[32], small[5];
    int year, month, day, hour, minute, second, end = 0;
    mx_clock_wall_text(text, sizeof text);
    assert_int_equal(sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d%n", &year, &month, &day, &hour, &minute, &second, &end), 6);
    assert_int_equal(end, 19);
    assert_int_equal(strlen(text), 19);
    assert_true(year >= 2024 && month >= 1 && month <= 12);
    mx_clock_wall_text(small, sizeof small);
    assert_string_equal(small, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks),        cmocka_unit_test(test_bad_sizes),
        cmocka_unit_test(test_strings),       cmocka_unit_test(test_counter_and_injection),
        cmocka_unit_test(test_grow),          cmocka_unit_test(test_grow_failure),
        cmocka_unit_test(test_arena),         cmocka_unit_test(test_arena_reset_keeps_chunks),
        cmocka_unit_test(test_arena_failure), cmocka_unit_test(test_clock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Errors: the table, the thread-local record, wrapping, hints, cutting, carrying over threads; and the UTF-8
 * boundaries that cutting rests on.
 */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "base/utf8.h"
#include "myxtts/error.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

static void test_set_keeps_everything(void **state)
{
    (void)state;
    const int line = __LINE__ + 1;
    assert_int_equal(MX_FAIL(MX_ERR_DATA, "look again", "bad %s %d", "row", 7), MX_ERR_DATA);
    const struct mx_error *error = mx_error_last();
    assert_int_equal(error->code, MX_ERR_DATA);
    assert_int_equal(error->line, line);
    assert_string_equal(error->file, __FILE__);
    assert_string_equal(error->message, "bad row 7");
    assert_string_equal(error->hint, "look again");
    MX_FAIL(MX_ERR_IO, NULL, "second");
    assert_string_equal(error->message, "second");
    assert_string_equal(error->hint, "");
    mx_error_clear();
    assert_int_equal(mx_error_last()->code, 0);
    assert_string_equal(mx_error_last()->message, "");
}

static void test_arguments_may_be_the_current_error(void **state)
{
    (void)state;
    MX_FAIL(MX_ERR_DATA, "first hint", "first");
    MX_FAIL(MX_ERR_IO, mx_error_last()->hint, "again: %s", mx_error_last()->message);
    assert_string_equal(mx_error_last()->message, "again: first");
    assert_string_equal(mx_error_last()->hint, "first hint");
    mx_error_wrap("%s", mx_error_last()->message);
    assert_string_equal(mx_error_last()->message, "again: first: again: first");
    mx_error_hint("%s!", mx_error_last()->hint);
    assert_string_equal(mx_error_last()->hint, "first hint!");
}

static void test_wrap_and_hint(void **state)
{
    (void)state;
    MX_FAIL(MX_ERR_FORMAT, "old", "no magic");
    assert_int_equal(mx_error_wrap("%s", "a.bin"), MX_ERR_FORMAT);
    assert_string_equal(mx_error_last()->message, "a.bin: no magic");
    assert_string_equal(mx_error_last()->hint, "old");
    assert_int_equal(mx_error_hint("use %d", 3), MX_ERR_FORMAT);
    assert_string_equal(mx_error_last()->hint, "use 3");
    mx_error_clear();
    assert_int_equal(mx_error_wrap("reading"), MX_ERR_INTERNAL);
    assert_non_null(strstr(mx_error_last()->message, "reading"));
}

static void test_one_line_cut_between_characters(void **state)
{
    (void)state;
    MX_FAIL(MX_ERR_DATA, "a\nb", "x\ny\tz\033[2J");
    assert_string_equal(mx_error_last()->message, "x y z [2J");
    assert_string_equal(mx_error_last()->hint, "a b");

    /* 511 bytes fit; characters of two bytes after one byte would end at 511 exactly, after none at 512. A hint has
     * more room. */
    char text[2 * MX_ERROR_HINT_BYTES];
    for (size_t i = 0; i + 2 < sizeof text; i += 2) memcpy(text + i, "\xd8\xb3", 3);
    MX_FAIL(MX_ERR_DATA, text, "%s", text);
    assert_int_equal(strlen(mx_error_last()->message), 510);
    assert_int_equal(strlen(mx_error_last()->hint), MX_ERROR_HINT_BYTES - 2);
    MX_FAIL(MX_ERR_DATA, NULL, "x%s", text);
    assert_int_equal(strlen(mx_error_last()->message), 511);
    mx_error_wrap("y");
    assert_int_equal(strlen(mx_error_last()->message), 510);
    assert_memory_equal(mx_error_last()->message, "y: x\xd8\xb3", 6);
}

static void test_errno_survives(void **state)
{
    (void)state;
    errno = ENOSPC;
    MX_FAIL(MX_ERR_IO, "h", "%f", 1.0);
    mx_error_wrap("a");
    mx_error_hint("b");
    assert_int_equal(errno, ENOSPC);
}

static void *other_thread(void *argument)
{
    struct mx_error *copy = argument;
    const int clean = mx_error_last()->code == 0;
    MX_FAIL(MX_ERR_DEVICE, "reset it", "burnt");
    *copy = *mx_error_last();
    return clean ? copy : NULL;
}

static void test_threads_have_their_own(void **state)
{
    (void)state;
    struct mx_error copy;
    pthread_t thread;
    void *result = NULL;
    MX_FAIL(MX_ERR_DATA, NULL, "mine");
    assert_int_equal(pthread_create(&thread, NULL, other_thread, &copy), 0);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_ptr_equal(result, &copy);
    assert_string_equal(mx_error_last()->message, "mine");
    assert_int_equal(mx_error_restore(&copy), MX_ERR_DEVICE);
    assert_string_equal(mx_error_last()->message, "burnt");
    assert_string_equal(mx_error_last()->hint, "reset it");
    assert_int_equal(mx_error_restore(mx_error_last()), MX_ERR_DEVICE);
}

static void test_table(void **state)
{
    (void)state;
    int codes = 0;
#define X(name, code, exit_code, text)                                                                                 \
    assert_string_equal(mx_error_name(code), #name);                                                                   \
    assert_string_equal(mx_error_text(code), text);                                                                    \
    assert_int_equal(mx_error_exit_code(code), exit_code);                                                             \
    assert_true(code < 0 && exit_code >= 1 && exit_code <= 4);                                                         \
    codes |= 1 << -(code);
    MX_ERROR_LIST(X)
#undef X
    assert_int_equal(codes, 0x1fffe); /* -1 … -16, none twice */
    assert_string_equal(mx_error_name(0), "OK");
    assert_string_equal(mx_error_name(-999), "UNKNOWN");
    assert_string_equal(mx_error_name(5), "UNKNOWN");
    assert_int_equal(mx_error_exit_code(0), 0);
    assert_int_equal(mx_error_exit_code(12), 0);
    assert_int_equal(mx_error_exit_code(-999), 3);
}

static int try_and_raise(int first, int *passed)
{
    int rc = 0;
    MX_TRY(first);
    *passed = 1;
    MX_RAISE(MX_ERR_BUDGET, "hint", "raised %d", first);
out:
    return rc;
}

static void test_idiom(void **state)
{
    (void)state;
    int passed = 0;
    assert_int_equal(try_and_raise(MX_ERR_CLOSED, &passed), MX_ERR_CLOSED);
    assert_int_equal(passed, 0);
    assert_int_equal(try_and_raise(3, &passed), MX_ERR_BUDGET);
    assert_int_equal(passed, 1);
    assert_string_equal(mx_error_last()->message, "raised 3");
}

static void test_utf8(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t length;
    } rows[] = {
        {"", 0},
        {"a", 1},
        {"\x7f", 1},
        {"\xd8\xb3", 2},
        {"\xe2\x80\xa6", 3},
        {"\xf0\x9f\x8e\xa4", 4},
        {"\xf4\x8f\xbf\xbf", 4},     /* U+10FFFF */
        {"\xf4\x90\x80\x80", 0},     /* one beyond */
        {"\xf8\x88\x80\x80\x80", 0}, /* five bytes */
        {"\x80", 0},                 /* stray continuation */
        {"\xc0\xaf", 0},             /* overlong */
        {"\xe0\x9f\xbf", 0},         /* overlong */
        {"\xf0\x8f\xbf\xbf", 0},     /* overlong */
        {"\xed\xa0\x80", 0},         /* surrogate */
        {"\xd8", 0},                 /* cut */
        {"\xe2\x80", 0},
        {"\xe2\x80z", 0},
        {"\xff", 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(mx_utf8_sequence(rows[i].text, strlen(rows[i].text)), rows[i].length);
    }
    assert_int_equal(mx_utf8_sequence("\xe2\x80\xa6", 2), 0);

    char cut[] = "ab\xe2\x80", whole[] = "ab\xe2\x80\xa6", stray[] = "\x80\x80\x80\x80\x80", empty[] = "";
    mx_utf8_trim(cut);
    assert_string_equal(cut, "ab");
    mx_utf8_trim(whole);
    assert_string_equal(whole, "ab\xe2\x80\xa6");
    mx_utf8_trim(stray); /* not UTF-8 at all: left alone */
    assert_int_equal(strlen(stray), 5);
    mx_utf8_trim(empty);
    assert_string_equal(empty, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_set_keeps_everything),
        cmocka_unit_test(test_arguments_may_be_the_current_error),
        cmocka_unit_test(test_wrap_and_hint),
        cmocka_unit_test(test_one_line_cut_between_characters),
        cmocka_unit_test(test_errno_survives),
        cmocka_unit_test(test_threads_have_their_own),
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_idiom),
        cmocka_unit_test(test_utf8),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Tests of base/string.h and base/file.h: numbers, nearest names, UTF-8, quoting, growing strings, files in one piece.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/rng.h"
#include "base/string.h"
#include "myxtts/error.h"

static void test_bool(void **state)
{
    (void)state;
    bool value = false;
    assert_true(mx_string_parse_bool("true", &value));
    assert_true(value);
    assert_true(mx_string_parse_bool("FALSE", &value));
    assert_false(value);
    static const char *const wrong[] = {"yes", "on", "1", "0", "", "tRUE", "true "};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) assert_false(mx_string_parse_bool(wrong[i], &value));
}

static void test_int64(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t value;
    } good[] = {{"0", 0},
                {"-0", 0},
                {"+7", 7},
                {"010", 10},
                {"0x1F", 31},
                {"0o17", 15},
                {"9223372036854775807", INT64_MAX},
                {"-9223372036854775808", INT64_MIN},
                {"0x7fffffffffffffff", INT64_MAX}};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        int64_t value = -1;
        assert_int_equal(mx_string_parse_int64(good[i].text, &value), MX_STRING_NUMBER);
        assert_true(value == good[i].value);
    }
    static const char *const wrong[] = {"",    "-",    "+",  "1_000", "1,000", "1.0", "1e3", "0x",
                                        "0o8", "-0x1", "ff", " 1",    "1 ",    "0b1", "--1", "\xD9\xA1"};
    int64_t value = 42;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_int_equal(mx_string_parse_int64(wrong[i], &value), MX_STRING_SYNTAX);
    static const char *const big[] = {"9223372036854775808", "-9223372036854775809", "0xffffffffffffffff",
                                      "99999999999999999999999999"};
    for (size_t i = 0; i < sizeof big / sizeof big[0]; i++)
        assert_int_equal(mx_string_parse_int64(big[i], &value), MX_STRING_TOO_BIG);
    assert_int_equal(mx_string_parse_int64("99999999999999999999999999x", &value), MX_STRING_SYNTAX);
    assert_true(value == 42);
}

static void test_double(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double value;
    } good[] = {{"1e-4", 1e-4}, {"1E+2", 100}, {".5", 0.5},        {"2.", 2},        {"-3.25", -3.25},
                {"0", 0},       {"0x10", 16},  {"5e-324", 5e-324}, {"1e308", 1e308}, {"0e999999999", 0}};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        double value = -1;
        assert_int_equal(mx_string_parse_double(good[i].text, &value), MX_STRING_NUMBER);
        assert_true(value == good[i].value);
    }
    static const char *const wrong[] = {"",     ".",        "e5",   "1e",     "1e+", "1_0.5", "1,5",   "0x1p3",
                                        "1.0f", "infinity", "-nan", "nan(1)", "1 ",  " 1",    "1.2.3", "--1"};
    double value = 42;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_int_equal(mx_string_parse_double(wrong[i], &value), MX_STRING_SYNTAX);
    assert_int_equal(mx_string_parse_double("1e999", &value), MX_STRING_TOO_BIG);
    assert_int_equal(mx_string_parse_double("1e-999", &value), MX_STRING_TOO_BIG);
    assert_true(value == 42);
    assert_int_equal(mx_string_parse_double(".NaN", &value), MX_STRING_NUMBER);
    assert_true(isnan(value));
    assert_int_equal(mx_string_parse_double("-.inf", &value), MX_STRING_NUMBER);
    assert_true(isinf(value) && value < 0);
    assert_int_equal(mx_string_parse_double("Inf", &value), MX_STRING_NUMBER);
    assert_true(isinf(value) && value > 0);
}

/* Every double, here 20,000 random bit patterns and the awkward ones, survives being written and read. */
static void test_double_round_trip(void **state)
{
    (void)state;
    static const double awkward[] = {
        0.0, -0.0, 1.0, 0.1, 1e22, 1e23, 5e-324, -1.7976931348623157e308, 123456789012345678.0};
    const size_t fixed = sizeof awkward / sizeof awkward[0];
    for (size_t i = 0; i < 20000; i++) {
        const uint64_t bits = (uint64_t)mx_rng_u32(7, 1, 2 * i) << 32 | mx_rng_u32(7, 1, 2 * i + 1);
        double before, after = -1;
        memcpy(&before, &bits, sizeof before);
        if (i < fixed) before = awkward[i];
        if (isnan(before)) continue;
        char text[MX_STRING_DOUBLE_BYTES];
        mx_string_from_double(before, text);
        assert_int_equal(mx_string_parse_double(text, &after), MX_STRING_NUMBER);
        assert_memory_equal(&before, &after, sizeof before);
        assert_non_null(strpbrk(text, ".e"));
    }
    char text[MX_STRING_DOUBLE_BYTES];
    mx_string_from_double(1e-4, text);
    assert_string_equal(text, "0.0001");
    mx_string_from_double(3, text);
    assert_string_equal(text, "3.0");
}

static const char *nearest(const char *word)
{
    static const char *const names[] = {"batch_size", "learning_rate", "seed", "json", "cpu-devices", "config"};
    struct mx_string_nearest n;
    mx_string_nearest_start(&n, word);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) mx_string_nearest_offer(&n, names[i]);
    return mx_string_nearest_best(&n);
}

static void test_nearest(void **state)
{
    (void)state;
    assert_string_equal(nearest("batchsize"), "batch_size");
    assert_string_equal(nearest("Batch-Size"), "batch_size");
    assert_string_equal(nearest("bacth_size"), "batch_size");
    assert_string_equal(nearest("learnign_rat"), "learning_rate");
    assert_string_equal(nearest("sede"), "seed");
    assert_string_equal(nearest("jsn"), "json");
    assert_string_equal(nearest("cpu"), "cpu-devices"); /* an abbreviation */
    assert_string_equal(nearest("cofnig"), "config");
    assert_null(nearest("wavelength"));
    assert_null(nearest("x"));
    assert_null(nearest(""));
    char huge[4096];
    memset(huge, 'b', sizeof huge - 1);
    huge[sizeof huge - 1] = '\0';
    assert_null(nearest(huge));
}

static void test_utf8(void **state)
{
    (void)state;
    static const char good[] = "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x8E\xA4";
    assert_int_equal(mx_utf8_check(good, sizeof good - 1), sizeof good - 1);
    static const struct {
        const char *bytes;
        size_t length, offset;
    } bad[] = {{"ab\xFFz", 4, 2},          {"\xC0\x80", 2, 0},     {"\xED\xA0\x80", 3, 0}, {"x\xE2\x82", 3, 1},
               {"\xF4\x90\x80\x80", 4, 0}, {"\xE0\x80\x80", 3, 0}, {"\x80", 1, 0}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(mx_utf8_check(bad[i].bytes, bad[i].length), bad[i].offset);
    uint32_t code = 0;
    assert_int_equal(mx_utf8_decode(good + 6, &code), 4);
    assert_int_equal(code, 0x1F3A4);
    assert_int_equal(mx_utf8_decode(good + 1, &code), 2);
    assert_int_equal(code, 0xE9);
}

static void test_quote(void **state)
{
    (void)state;
    char out[16];
    assert_string_equal(mx_string_quote(out, sizeof out, "abc"), "'abc'");
    assert_string_equal(mx_string_quote(out, sizeof out, ""), "''");
    assert_string_equal(mx_string_quote(out, sizeof out, "a\n\x1B"), "'a\\x0a\\x1b'");
    assert_string_equal(mx_string_quote(out, sizeof out, "\xFF"), "'\\xff'");
    assert_string_equal(mx_string_quote(out, sizeof out, "\u202E"), "'\\xe2\\x80\\xae'"); /* would turn the line */
    assert_int_equal(mx_string_printable("\u2066", 3), 0);
    assert_int_equal(mx_string_printable("\u2028", 3), 0);
    assert_int_equal(mx_string_printable("\u200C", 3), 3); /* part of Persian words */
    assert_string_equal(mx_string_plain(out, sizeof out, "abc"), "abc");
    assert_string_equal(mx_string_plain(out, sizeof out, "a\x1B\xC2\x9B"), "a\\x1b\\xc2\\x9b");
    assert_string_equal(mx_string_plain(out, sizeof out, "123456789012345"), "123456789012345"); /* fills all 16 */
    assert_string_equal(mx_string_plain(out, sizeof out, "1234567890123456"), "123456789012...");
    assert_string_equal(mx_string_quote(out, sizeof out, "1234567890123"), "'1234567890123'"); /* fills all 16 */
    assert_string_equal(mx_string_quote(out, sizeof out, "12345678901234"), "'1234567890...'");
    assert_string_equal(mx_string_quote(out, sizeof out, "123456789\xE2\x82\xAC\xE2\x82\xAC"), "'123456789...'");
}

static void test_growing(void **state)
{
    (void)state;
    struct mx_string text = {0};
    for (int i = 0; i < 1000; i++) assert_int_equal(mx_string_append(&text, "%d,", i), 0);
    assert_int_equal(text.length, 3890);
    assert_int_equal(strlen(text.data), text.length);
    assert_memory_equal(text.data + text.length - 8, "998,999,", 8);
    mx_string_release(&text);
    assert_null(text.data);
    mx_alloc_fail_at(1);
    assert_int_equal(mx_string_append(&text, "x"), MX_ERR_NO_MEMORY);
    assert_int_equal(mx_string_append(&text, "y"), MX_ERR_NO_MEMORY); /* sticky, though memory is back */
    mx_alloc_fail_at(0);
    mx_string_release(&text);
    assert_int_equal(mx_string_append_wrapped(&text, "one two three\nfour", 2, 9, "# "), 0);
    assert_string_equal(text.data, "one two\n# three\n# four");
    mx_string_release(&text);
}

/* A folder of its own for each run. */
static int folder_make(void **state)
{
    static char folder[64];
    strcpy(folder, "/tmp/mx-test-text-XXXXXX");
    if (mkdtemp(folder) == NULL) return -1;
    *state = folder;
    return 0;
}

static int folder_remove(void **state)
{
    return rmdir(*state); /* fails, and the test with it, if a temporary file was left */
}

static void test_file(void **state)
{
    char path[128];
    snprintf(path, sizeof path, "%s/file", (const char *)*state);
    char *data = NULL;
    size_t bytes = 0;
    assert_int_equal(mx_file_read(path, 100, &data, &bytes), MX_ERR_NOT_FOUND);
    assert_int_equal(mx_file_read(*state, 100, &data, &bytes), MX_ERR_IO);
    assert_int_equal(mx_file_write_atomic(path, "hello\0world", 11), 0);
    assert_int_equal(mx_file_read(path, 11, &data, &bytes), 0);
    assert_int_equal(bytes, 11);
    assert_memory_equal(data, "hello\0world", 12);
    mx_free(data);
    data = NULL;
    assert_int_equal(mx_file_read(path, 10, &data, &bytes), MX_ERR_DATA);
    assert_null(data);

    char *const large = malloc(100000);
    assert_non_null(large);
    for (size_t i = 0; i < 100000; i++) large[i] = (char)mx_rng_u32(1, 2, i);
    assert_int_equal(chmod(path, 0640), 0);
    assert_int_equal(mx_file_write_atomic(path, large, 100000), 0);
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0640);
    assert_int_equal(mx_file_read(path, 100000, &data, &bytes), 0);
    assert_int_equal(bytes, 100000);
    assert_memory_equal(data, large, 100000);
    mx_free(data);
    free(large);

    assert_int_equal(mx_file_write_atomic(path, "", 0), 0);
    assert_int_equal(mx_file_read(path, 0, &data, &bytes), 0);
    assert_int_equal(bytes, 0);
    mx_free(data);
    assert_int_equal(unlink(path), 0);

    assert_int_equal(mx_file_write_atomic(*state, "x", 1), MX_ERR_IO); /* a folder */
    snprintf(path, sizeof path, "%s/none/file", (const char *)*state);
    assert_int_equal(mx_file_write_atomic(path, "x", 1), MX_ERR_IO);
    assert_true(strlen(mx_error_last()->hint) > 0);
}

/* No allocation that fails may leave a temporary file or a half-written one. */
static void test_file_no_memory(void **state)
{
    char path[128];
    char *data = NULL;
    size_t bytes = 0;
    snprintf(path, sizeof path, "%s/file", (const char *)*state);
    for (uint64_t nth = 1; nth <= 3; nth++) {
        mx_alloc_fail_at(nth);
        const int rc = mx_file_write_atomic(path, "data", 4);
        mx_alloc_fail_at(0);
        assert_int_equal(rc, nth <= 2 ? MX_ERR_NO_MEMORY : 0);
    }
    mx_alloc_fail_at(1);
    assert_int_equal(mx_file_read(path, 10, &data, &bytes), MX_ERR_NO_MEMORY);
    mx_alloc_fail_at(0);
    assert_int_equal(unlink(path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bool),
        cmocka_unit_test(test_int64),
        cmocka_unit_test(test_double),
        cmocka_unit_test(test_double_round_trip),
        cmocka_unit_test(test_nearest),
        cmocka_unit_test(test_utf8),
        cmocka_unit_test(test_quote),
        cmocka_unit_test(test_growing),
        cmocka_unit_test_setup_teardown(test_file, folder_make, folder_remove),
        cmocka_unit_test_setup_teardown(test_file_no_memory, folder_make, folder_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

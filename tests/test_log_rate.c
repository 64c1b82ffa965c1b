/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Messages at a bounded rate: what is logged, and that what is left out is counted.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/net/log_rate.h"

#define S UINT64_C(1000000000)

static void test_rate(void **state)
{
    struct mx_log_rate rate = MX_LOG_RATE_INIT;
    uint64_t left_out = 1;
    (void)state;
    for (int i = 0; i < MX_LOG_RATE_LINES; i++) {
        assert_true(mx_log_rate_pass(&rate, 5 * S, &left_out));
        assert_int_equal(left_out, 0);
    }
    for (int i = 0; i < 1000; i++) assert_false(mx_log_rate_pass(&rate, (5 + MX_LOG_RATE_S) * S - 1, &left_out));
    assert_true(mx_log_rate_pass(&rate, (5 + MX_LOG_RATE_S) * S, &left_out));
    assert_int_equal(left_out, 1000);
    assert_true(mx_log_rate_pass(&rate, (5 + MX_LOG_RATE_S) * S, &left_out));
    assert_int_equal(left_out, 0);
}

static void test_lines(void **state)
{
    struct mx_log_rate rate = MX_LOG_RATE_INIT;
    char text[8192];
    FILE *const stream = tmpfile();
    (void)state;
    assert_non_null(stream);
    const struct mx_log_options options = {.stream = stream};
    assert_int_equal(mx_log_configure(&options), 0);
    for (int i = 0; i < 10000; i++) mx_log_rate_write(&rate, MX_LOG_INFO, "nothing to speak in text %d", i);
    mx_log_rate_end(&rate, "texts without words");
    mx_log_rate_end(&rate, "texts without words");
    assert_int_equal(mx_log_configure(NULL), 0);
    rewind(stream);
    const size_t length = fread(text, 1, sizeof text - 1, stream);
    fclose(stream);
    text[length] = '\0';
    size_t lines = 0;
    for (size_t i = 0; i < length; i++) lines += text[i] == '\n';
    /* The time may have passed into the next span or two meanwhile; it never takes a line for each. */
    assert_true(lines >= MX_LOG_RATE_LINES && lines < sizeof text / 64);
    assert_non_null(strstr(text, "nothing to speak in text 0\n"));
    assert_non_null(strstr(text, "messages about texts without words were left out"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rate), cmocka_unit_test(test_lines)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The log of a run folder is not written through a symbolic link that somebody left there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/string.h"
#include "myxtts/error.h"
#include "support/recording.h"

static void test_link(void **state)
{
    struct stat info;
    char *const folder = folder_make();
    char *const path = mx_format("%s/log.txt", folder), *const other = mx_format("%s/other.txt", folder);
    (void)state;
    assert_int_equal(symlink("other.txt", path), 0);
    assert_int_equal(mx_log_hold(), 0);
    assert_int_equal(mx_log_keep(path), MX_ERR_IO);
    assert_non_null(strstr(mx_error_last()->message, "symbolic link"));
    assert_int_equal(stat(other, &info), -1); /* nothing was made behind the link */
    mx_error_clear();
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mx_log_keep(path), 0);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(mx_log_configure(NULL), 0);
    mx_free(path);
    mx_free(other);
    folder_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_link)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Where built kernels are kept: in a folder that belongs to the user alone.
 */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "base/alloc.h"
#include "device/kernels/cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64], kernels[128];

static int setup(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/mx_kernels_XXXXXX");
    if (mkdtemp(folder) == NULL) return -1;
    snprintf(kernels, sizeof kernels, "%s/deep/kernels", folder);
    char own[96];
    snprintf(own, sizeof own, "%s/deep", folder);
    return setenv("MYXTTS_CACHE", own, 1);
}

static int teardown(void **state)
{
    char command[96];
    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

static bool path_of(char out[MX_KERNEL_PATH_BYTES])
{
    static const char *const texts[] = {"one", "two"};
    return mx_kernel_cache_path(texts, 2, "bin", out);
}

static unsigned mode_of(const char *path)
{
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    return status.st_mode & 07777;
}

static void test_private(void **state)
{
    char path[MX_KERNEL_PATH_BYTES], *data = NULL;
    size_t bytes = 0;
    (void)state;
    const mode_t before = umask(0);
    assert_true(path_of(path));
    assert_int_equal(mode_of(kernels), 0700);
    mx_kernel_cache_write(path, "built", 5);
    assert_true(mx_kernel_cache_read(path, &data, &bytes));
    assert_int_equal(bytes, 5);
    mx_free(data);
    /* Made by an earlier version: what others could read but not write is good. */
    assert_int_equal(chmod(kernels, 0755), 0);
    assert_true(path_of(path));
    assert_int_equal(mode_of(kernels), 0700);
    umask(before);
}

static void test_open_to_others(void **state)
{
    char path[MX_KERNEL_PATH_BYTES];
    (void)state;
    assert_true(path_of(path));
    assert_int_equal(chmod(kernels, 0777), 0);
    assert_false(path_of(path));
    assert_int_equal(mode_of(kernels), 0777); /* who opened it is to look at what is in it */
    assert_int_equal(chmod(kernels, 0720), 0);
    assert_false(path_of(path));
    assert_int_equal(chmod(kernels, 0700), 0);
    assert_true(path_of(path));
}

static void test_of_another(void **state)
{
    char path[MX_KERNEL_PATH_BYTES];
    (void)state;
    if (geteuid() != 0) {
        print_message("only root can give a folder to another user\n");
        skip();
    }
    assert_true(path_of(path));
    assert_int_equal(chown(kernels, 65534, 65534), 0);
    assert_false(path_of(path));
}

static void test_no_folder(void **state)
{
    char path[MX_KERNEL_PATH_BYTES], own[96];
    (void)state;
    snprintf(own, sizeof own, "%s/deep", folder);
    FILE *const file = fopen(own, "w");
    assert_non_null(file);
    fclose(file);
    assert_false(path_of(path));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_private, setup, teardown),
        cmocka_unit_test_setup_teardown(test_open_to_others, setup, teardown),
        cmocka_unit_test_setup_teardown(test_of_another, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_folder, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

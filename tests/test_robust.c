/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Medians and median deviations.
 */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "base/robust.h"

#include <math.h>

static void test_median(void **state)
{
    double odd[] = {5, -1, 3}, even[] = {4, 1, 2, 8}, one[] = {7};
    (void)state;
    mx_robust_sort(odd, 3);
    mx_robust_sort(even, 4);
    assert_true(odd[0] == -1 && odd[2] == 5 && mx_robust_median(odd, 3) == 3);
    assert_true(mx_robust_median(even, 4) == 3);
    assert_true(mx_robust_median(one, 1) == 7);
    assert_true(mx_robust_median(NULL, 0) == 0);
}

/* Two of nine values are absurd, and neither number moves. */
static void test_outliers(void **state)
{
    double values[] = {10, 11, 9, 1e9, 12, 8, -1e9, 10, 10};
    (void)state;
    const struct mx_robust usual = mx_robust_of(values, 9);
    assert_true(usual.middle == 10);
    assert_true(fabs(usual.deviation - MX_ROBUST_SIGMA) < 1e-12);
    const struct mx_robust none = mx_robust_of(NULL, 0);
    assert_true(none.middle == 0 && none.deviation == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_median),
        cmocka_unit_test(test_outliers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

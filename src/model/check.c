/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * See check.h.
 */
#include "model/check.h"

#include <math.h>
#include <stddef.h>

#include "myxtts/error.h"

int mx_range_check(int code, const char *of, const char *name, int64_t value, int64_t low, int64_t high)
{
    if (value >= low && value <= high) return 0;
    MX_FAIL(code, NULL, "%s: %s is %lld", of, name, (long long)value);
    return mx_error_hint("expected %lld to %lld", (long long)low, (long long)high);
}

int mx_weight_check(const char *of, const char *loss, float weight)
{
    if (isfinite(weight) && weight >= 0) return 0;
    return MX_FAIL(MX_ERR_CONFIG, "expected a finite number, 0 or more", "%s: the weight of the %s loss is %g", of,
                   loss, (double)weight);
}

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Tests that need two cores, see cores.h.
 */
#include "support/cores.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/pool.h"

#define SKIPPED 77

static bool one_core(void)
{
    int core;
    if (mx_thread_cores(&core, 1) >= 2) return false;
    print_message("skipped: two CPU devices need two cores, and there is one\n");
    return true;
}

void two_cores_or_skip(void)
{
    if (one_core()) skip();
}

void two_cores_or_exit(void)
{
    if (one_core()) exit(SKIPPED);
}

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Tests that need two cores, or one, see cores.h.
 */
#include "support/cores.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/thread/pool.h"
#include "myxtts/error.h"

#define SKIPPED   77
#define CORES_MAX 256

static bool alone(void)
{
    int core;
    if (mx_thread_cores(&core, 1) >= 2) return false;
    print_message("skipped: two CPU devices need two cores, and there is one\n");
    return true;
}

void two_cores_or_skip(void)
{
    if (alone()) skip();
}

void two_cores_or_exit(void)
{
    if (alone()) exit(SKIPPED);
}

/* Tests that run at the same time take different ones, as far as their numbers differ. */
void one_core(void)
{
    int cores[CORES_MAX];
    int count = mx_thread_cores(cores, CORES_MAX);
    if (count > CORES_MAX) count = CORES_MAX;
    if (count < 1 || mx_thread_pin(cores[getpid() % count]) < 0) fail_msg("%s", mx_error_last()->message);
}

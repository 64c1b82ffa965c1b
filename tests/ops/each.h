/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * A test for every operation of MX_OP_LIST. The file names its function in OP_TEST, say `compare`, which takes the
 * state of the group and an operation; OP_TESTS_DEFINE makes compare_<operation> of it for each of them, and
 * OP_TESTS_LIST is their entries in a table of tests.
 */
#ifndef MX_TESTS_OPS_EACH_H
#define MX_TESTS_OPS_EACH_H

#include "myxtts/ops.h"

#define OP_TEST_JOIN(function, name) function##_##name
#define OP_TEST_NAME(function, name) OP_TEST_JOIN(function, name)
#define OP_TEST_SOLO(name)                                                                                             \
    static void OP_TEST_NAME(OP_TEST, name)(void **state)                                                              \
    {                                                                                                                  \
        OP_TEST(*state, MX_OP_##name);                                                                                 \
    }
#define OP_TEST_PAIR(name) OP_TEST_SOLO(name) OP_TEST_SOLO(name##_grad)
#define OP_TESTS_DEFINE    MX_OP_LIST(OP_TEST_PAIR, OP_TEST_SOLO)

/* One step more than it seems to need: cmocka writes the name as it gets it, so it must be whole by then. */
#define OP_TEST_ENTRY(test)      cmocka_unit_test(test),
#define OP_TEST_ENTRY_SOLO(name) OP_TEST_ENTRY(OP_TEST_NAME(OP_TEST, name))
#define OP_TEST_ENTRY_PAIR(name) OP_TEST_ENTRY_SOLO(name) OP_TEST_ENTRY_SOLO(name##_grad)
#define OP_TESTS_LIST            MX_OP_LIST(OP_TEST_ENTRY_PAIR, OP_TEST_ENTRY_SOLO)

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The words of src/device/kernels/dialect.cl in C, for the double: local memory belongs to the thread that runs the
 * group, and lanes take turns (lanes.h). MX_GROUP and MX_WIDE must be what the backend asks for; module.c checks it.
 */
#ifndef MX_TESTS_DOUBLE_DIALECT_H
#define MX_TESTS_DOUBLE_DIALECT_H

#include "lanes.h"

#include <math.h>
#include <string.h>

#define MX_DIALECT_OWN /* device/kernels/dialect.cl takes these words */
#define MX_GROUP       64
#define MX_WIDE        256

#define MX_KERNEL(lanes) static void
#define MX_GLOBAL
#define MX_LOCAL static _Thread_local
#define MX_LOCAL_POINTER
#define MX_INLINE                 static inline
#define MX_CONSTANT               static const
#define MX_BARRIER()              double_barrier()
#define MX_LANE                   double_lane
#define MX_INDEX                  double_group
#define MX_INT_BITS(x)            int_bits(x)
#define MX_FLOAT_BITS(x)          float_bits(x)
#define MX_LONG_BITS(x)           long_bits(x)
#define MX_DOUBLE_BITS(x)         double_bits(x)
#define MX_SWAP_IF(p, old, fresh) __sync_val_compare_and_swap(p, old, fresh)
#define MX_INFINITY               INFINITY

#define BITS(name, from_type, to_type)                                                                                 \
    static inline to_type name(from_type from)                                                                         \
    {                                                                                                                  \
        to_type to;                                                                                                    \
        memcpy(&to, &from, sizeof to);                                                                                 \
        return to;                                                                                                     \
    }
BITS(int_bits, float, int)
BITS(float_bits, int, float)
BITS(long_bits, double, long long)
BITS(double_bits, long long, double)

/* Parameters of a kernel from its values. */
#define VALUE_P(type, i) ((type *)(uintptr_t)values[i])
#define VALUE_L(type, i) ((type)values[i])
#define VALUE_I(type, i) ((type)(mx_uint)values[i])
#define VALUE_F(i)       float_bits((int)(mx_uint)values[i])

#endif

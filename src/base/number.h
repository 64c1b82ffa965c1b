/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Minimum, maximum and clamping of whole numbers.
 *
 * They work on int32_t, int64_t and uint64_t (size_t), chosen by the type of a + b, and evaluate each argument once.
 * For floating point use fmin and fmax.
 */
#ifndef MX_BASE_NUMBER_H
#define MX_BASE_NUMBER_H

#include <stdint.h>

/* mx_least_<suffix>, mx_most_<suffix> and mx_clamp_<suffix>, of which the macros below choose one by type. */
#define MX_NUMBER_FUNCTIONS(type, suffix)                                                                              \
    static inline type mx_least_##suffix(type a, type b)                                                               \
    {                                                                                                                  \
        return a < b ? a : b;                                                                                          \
    }                                                                                                                  \
    static inline type mx_most_##suffix(type a, type b)                                                                \
    {                                                                                                                  \
        return a > b ? a : b;                                                                                          \
    }                                                                                                                  \
    static inline type mx_clamp_##suffix(type value, type low, type high)                                              \
    {                                                                                                                  \
        return value < low ? low : value > high ? high : value;                                                        \
    }

MX_NUMBER_FUNCTIONS(int32_t, i32)
MX_NUMBER_FUNCTIONS(int64_t, i64)
MX_NUMBER_FUNCTIONS(uint64_t, u64)
#undef MX_NUMBER_FUNCTIONS

#define MX_NUMBER_CHOOSE(name, number)                                                                                 \
    _Generic((number), int32_t : mx_##name##_i32, int64_t : mx_##name##_i64, uint64_t : mx_##name##_u64)

#define mx_least(a, b)             MX_NUMBER_CHOOSE(least, (a) + (b))(a, b)
#define mx_most(a, b)              MX_NUMBER_CHOOSE(most, (a) + (b))(a, b)
#define mx_clamp(value, low, high) MX_NUMBER_CHOOSE(clamp, (value) + (low) + (high))(value, low, high) /* low ≤ high */

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Words in which plan_*.c describe launches. For them alone.
 */
#ifndef MX_DEVICE_KERNELS_PLAN_H
#define MX_DEVICE_KERNELS_PLAN_H

#include "device/kernels/launch.h"
#include "myxtts/error.h"

#define S(value)                                                                                                       \
    {                                                                                                                  \
        .kind = MX_ARG_SLICE, .slice = (value)                                                                         \
    }
#define I(value)                                                                                                       \
    {                                                                                                                  \
        .kind = MX_ARG_INT, .i = (int32_t)(value)                                                                      \
    }
#define L(value)                                                                                                       \
    {                                                                                                                  \
        .kind = MX_ARG_LONG, .l = (int64_t)(value)                                                                     \
    }
#define F(value)                                                                                                       \
    {                                                                                                                  \
        .kind = MX_ARG_FLOAT, .f = (value)                                                                             \
    }
#define STATUS                                                                                                         \
    {                                                                                                                  \
        .kind = MX_ARG_STATUS                                                                                          \
    }

/* Launches nothing for 0 groups. */
static inline int mx_plan_launch(struct mx_launcher *launcher, enum mx_kernel_id kernel, int64_t groups,
                                 const struct mx_kernel_arg *args, size_t count)
{
    const struct mx_launch launch = {.kernel = kernel, .groups = groups, .args = args, .count = (int)count};
    return groups > 0 ? launcher->launch(launcher, &launch) : 0;
}

#define LAUNCH(name, groups, ...)                                                                                      \
    mx_plan_launch(launcher, MX_K_##name, (groups), (const struct mx_kernel_arg[]){__VA_ARGS__},                       \
                   sizeof((const struct mx_kernel_arg[]){__VA_ARGS__}) / sizeof(struct mx_kernel_arg))

static inline int64_t mx_plan_over(int64_t count, int64_t unit)
{
    return (count + unit - 1) / unit;
}

#define WIDE(count)    mx_plan_over((count), launcher->tuning->wide)
#define COLUMNS(count) mx_plan_over((count), launcher->tuning->group)

/* One for each operation; launch.c has the table. */
#define MX_PLAN_DECLARE(name) int mx_plan_##name(struct mx_launcher *launcher, const void *args);
#define MX_PLAN_PAIR(name)    MX_PLAN_DECLARE(name) MX_PLAN_DECLARE(name##_grad)
MX_OP_LIST(MX_PLAN_PAIR, MX_PLAN_DECLARE)
#undef MX_PLAN_DECLARE
#undef MX_PLAN_PAIR

/* Defines mx_plan_<name> with `a` as its typed arguments. */
#define DEFINE(name)                                                                                                   \
    static int plan_##name(struct mx_launcher *launcher, const struct mx_##name##_args *a);                            \
    int mx_plan_##name(struct mx_launcher *launcher, const void *args)                                                 \
    {                                                                                                                  \
        return plan_##name(launcher, args);                                                                            \
    }                                                                                                                  \
    static int plan_##name(struct mx_launcher *launcher, const struct mx_##name##_args *a)

#endif

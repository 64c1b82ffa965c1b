/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The vocabulary with which lower_*.c describe launches. Only for those files.
 */
#ifndef MX_DEVICE_KERNELS_LOWER_H
#define MX_DEVICE_KERNELS_LOWER_H

#include "device/kernels/launch.h"
#include "myxtts/error.h"

#define ARG_SLICE(value)                                                                                               \
    {                                                                                                                  \
        .kind = MX_ARG_SLICE, .slice = (value)                                                                         \
    }
#define ARG_INT(value)                                                                                                 \
    {                                                                                                                  \
        .kind = MX_ARG_INT, .i = (int32_t)(value)                                                                      \
    }
#define ARG_LONG(value)                                                                                                \
    {                                                                                                                  \
        .kind = MX_ARG_LONG, .l = (int64_t)(value)                                                                     \
    }
#define ARG_FLOAT(value)                                                                                               \
    {                                                                                                                  \
        .kind = MX_ARG_FLOAT, .f = (value)                                                                             \
    }
#define ARG_STATUS                                                                                                     \
    {                                                                                                                  \
        .kind = MX_ARG_STATUS                                                                                          \
    }

/* Launches nothing for 0 groups. */
static inline int mx_lower_launch(struct mx_launcher *launcher, enum mx_kernel_id kernel, int64_t groups,
                                  const struct mx_kernel_arg *args, size_t count)
{
    const struct mx_kernel_launch launch = {.kernel = kernel, .groups = groups, .args = args, .count = (int)count};
    return groups > 0 ? launcher->launch(launcher, &launch) : 0;
}

#define LAUNCH(name, groups, ...)                                                                                      \
    mx_lower_launch(launcher, MX_K_##name, (groups), (const struct mx_kernel_arg[]){__VA_ARGS__},                      \
                    sizeof((const struct mx_kernel_arg[]){__VA_ARGS__}) / sizeof(struct mx_kernel_arg))

static inline int64_t mx_lower_over(int64_t count, int64_t unit)
{
    return (count + unit - 1) / unit;
}

#define WIDE_GROUPS(count)   mx_lower_over((count), launcher->tuning->wide)
#define COLUMN_GROUPS(count) mx_lower_over((count), launcher->tuning->group)

/* mx_lower_<operation>, one for each; launch.c has the table. */
#define MX_LOWER_DECLARE(name) int mx_lower_##name(struct mx_launcher *launcher, const void *args);
#define MX_LOWER_PAIR(name)    MX_LOWER_DECLARE(name) MX_LOWER_DECLARE(name##_grad)
MX_OP_LIST(MX_LOWER_PAIR, MX_LOWER_DECLARE)
#undef MX_LOWER_DECLARE
#undef MX_LOWER_PAIR

#endif

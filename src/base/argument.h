/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What the functions of include/myxtts say to a pointer that is NULL.
 */
#ifndef MX_BASE_ARGUMENT_H
#define MX_BASE_ARGUMENT_H

#include "myxtts/error.h"

/* Returns MX_ERR_ARGUMENT from the function around it if the pointer is NULL; `what` is a literal such as "a stream". */
#define MX_NEED(pointer, what)                                                                                         \
    do {                                                                                                               \
        if ((pointer) == NULL)                                                                                         \
            return MX_FAIL(MX_ERR_ARGUMENT, "pass " what, "%s was called with NULL for " what, __func__);              \
    } while (0)

#endif

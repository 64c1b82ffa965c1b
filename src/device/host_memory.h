/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The memory of the machine, and how to read the files in which the kernel reports it.
 *
 * Owns no memory.
 */
#ifndef MX_DEVICE_HOST_MEMORY_H
#define MX_DEVICE_HOST_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Total memory, or what the control group (version 2 or 1) leaves this process. */
uint64_t mx_host_memory_bytes(void);
/* Copies the value of the line that begins with `key`, up to its end; false if there is none. */
bool mx_host_line_value(const char *text, const char *key, char *out, size_t size);

#endif

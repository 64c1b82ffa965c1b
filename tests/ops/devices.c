/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The CPU devices of tests, see case.h.
 */
#include <stdio.h>

#include "base/thread/pool.h"
#include "myxtts/error.h"
#include "ops/case.h"

int op_cpu_open(struct op_cpu *cpu, int devices, int index)
{
    int rc = 0;
    char name[32];
    const struct mx_registry_options options = {.cpu_devices = devices, .devices = {name}, .device_count = 1};
    snprintf(name, sizeof name, "cpu:%d", index);
    *cpu = (struct op_cpu){0};
    MX_TRY(mx_registry_open(NULL, &options, &cpu->registry));
    MX_TRY(mx_registry_find(cpu->registry, name));
    MX_TRY(mx_registry_device_open(cpu->registry, rc, 0, &cpu->device));
out:
    if (rc < 0) op_cpu_close(cpu);
    return rc < 0 ? rc : 0;
}

void op_cpu_close(struct op_cpu *cpu)
{
    mx_device_close(cpu->device);
    mx_registry_close(cpu->registry);
    *cpu = (struct op_cpu){0};
}

struct op_cpu op_group;

int op_group_open(void **state)
{
    *state = &op_group;
    return op_cpu_open(&op_group, 1, 0);
}

int op_group_close(void **state)
{
    (void)state;
    op_cpu_close(&op_group);
    return 0;
}

int op_cpu_cores(void)
{
    return mx_thread_cores(NULL, 0);
}

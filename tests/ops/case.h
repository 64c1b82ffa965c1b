/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * What tests do with cases of operations (device/op_case.h): cases whose gradients follow the reference, which must be
 * made, sequences on their own, and the CPU devices that they run on.
 *
 * Memory: as in device/op_case.h. Running out of it ends the process.
 */
#ifndef MX_TESTS_OPS_CASE_H
#define MX_TESTS_OPS_CASE_H

#include "device/op_case.h"
#include "myxtts/registry.h"

/* What a gradient takes over comes from the reference (reference.h), in double precision. */
void op_case_make(struct mx_op_case *c, enum mx_op op, uint64_t seed, struct mx_op_plan plan);

/* ---- parts (parts.c): cmocka fails the test where they differ; how many sequences were compared ---- */

void op_case_must_run(const struct mx_op_case *c, struct mx_device *device, struct mx_op_result *result);
/* Each sequence of a case is the same alone as in the batch. */
int op_parts_alone(enum mx_op op, uint64_t seed, struct mx_op_plan plan, struct mx_device *device);
/* Each sequence of a case is the same when everything of another one is NaN. */
int op_parts_leak(enum mx_op op, uint64_t seed, struct mx_op_plan plan, struct mx_device *device);

/* ---- devices ---- */

/* Number `index` of `devices` logical CPU devices (1: one of all cores), with its registry. */
struct op_cpu {
    struct mx_registry *registry;
    struct mx_device *device;
};
int op_cpu_open(struct op_cpu *cpu, int devices, int index);
void op_cpu_close(struct op_cpu *cpu);
int op_cpu_cores(void); /* how many this process may use */

/* One of all cores for a cmocka group, whose state it is. */
extern struct op_cpu op_group;
int op_group_open(void **state);
int op_group_close(void **state);

#endif

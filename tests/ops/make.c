/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Cases of tests, see case.h: they can be made, and what gradients take over is the reference's.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "ops/case.h"
#include "ops/reference.h"

static int reference_forward(void *context, const struct mx_op_case *forward, struct mx_op_result *result)
{
    double *values[MX_OP_TENSORS_MAX];
    (void)context;
    reference_load(forward, values);
    reference_run(forward, values);
    for (int i = 0; i < forward->storage_count; i++) {
        const struct mx_op_storage *const storage = &forward->storages[i];
        struct mx_op_output *const output = &result->outputs[result->count++];
        *output = (struct mx_op_output){.name = storage->name, .storage = i, .count = storage->count};
        output->values = mx_alloc((size_t)storage->count, sizeof(float));
        if (!output->values) abort();
        for (int64_t k = 0; k < storage->count; k++) output->values[k] = (float)values[i][k];
    }
    reference_unload(forward, values);
    return 0;
}

void op_case_make(struct mx_op_case *c, enum mx_op op, uint64_t seed, struct mx_op_plan plan)
{
    const struct mx_op_forward forward = {.run = reference_forward};
    const int rc = mx_op_case_make(c, op, seed, plan, &forward);
    if (rc == 0 && c->arena.used_bytes <= MX_OP_CASE_BYTES && c->tensor_count <= MX_OP_TENSORS_MAX &&
        c->dim_count <= MX_OP_DIMS_MAX)
        return;
    fprintf(stderr, "%s seed %llu: %s\n", mx_op_name(op), (unsigned long long)seed,
            rc < 0 ? "no memory for the case" : "the case is too large for struct mx_op_case");
    abort();
}

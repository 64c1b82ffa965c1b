/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Merges adapters with the matrices that they adapt, see adapter.h. Owns no memory.
 */
#include "model/adapter.h"

#include "myxtts/error.h"

int mx_adapters_merge(const struct mx_pass *pass)
{
    const struct mx_parameters *const table = pass->table;
    int rc = 0;
    for (int i = 0; i < table->count && table->adapted > 0; i++) {
        const struct mx_parameter *const w = &table->entries[i];
        if (w->adapter == 0) continue;
        const struct mx_parameter *const a = &table->entries[w->adapter], *const b = a + 1;
        MX_TRY(mx_matmul(pass->stream, &(struct mx_matmul_args){.a = mx_pass_weight(pass, a->at),
                                                                .b = mx_pass_weight(pass, b->at),
                                                                .c = mx_pass_weight(pass, w->at),
                                                                .m = w->count / b->shape[1],
                                                                .n = b->shape[1],
                                                                .k = b->shape[0],
                                                                .epilogue = {.residual = mx_pass_frozen(pass, w->at)},
                                                                .precision = MX_PRECISION_F32}));
    }
out:
    return rc;
}

void mx_adapter_add(float *weight, int64_t count, int64_t out, const float *a, const float *b, int64_t rank)
{
    for (int64_t row = 0; row < count / out; row++)
        for (int64_t column = 0; column < out; column++) {
            double sum = (double)weight[row * out + column];
            for (int64_t k = 0; k < rank; k++) sum += (double)a[row * rank + k] * (double)b[k * out + column];
            weight[row * out + column] = (float)sum;
        }
}

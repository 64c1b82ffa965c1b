/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * Sequences alone, in a batch and beside garbage, see case.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "myxtts/error.h"
#include "ops/case.h"

void op_case_must_run(const struct mx_op_case *c, struct mx_device *device, struct mx_op_result *result)
{
    if (mx_op_case_run(c, device, result) < 0)
        fail_msg("%s seed %llu: %s", mx_op_name(c->op), (unsigned long long)c->seed, mx_error_last()->message);
}

int op_parts_alone(enum mx_op op, uint64_t seed, struct mx_op_plan plan, struct mx_device *device)
{
    struct mx_op_case whole, part;
    struct mx_op_result batch, alone;
    op_case_make(&whole, op, seed, plan);
    op_case_must_run(&whole, device, &batch);
    const int compared = whole.sequences;
    for (int s = 0; s < whole.sequences; s++) {
        assert_int_equal(mx_op_case_part(&whole, s, &part), 0);
        op_case_must_run(&part, device, &alone);
        const char *text = mx_op_result_sequence_differs(&whole, &batch, s, &part, &alone, 0);
        if (text) fail_msg("sequence %d alone: %s", s, text);
        mx_op_result_release(&alone);
        mx_op_case_release(&part);
    }
    mx_op_result_release(&batch);
    mx_op_case_release(&whole);
    return compared;
}

/* Makes everything that belongs to sequence `s` NaN. */
static void poison_sequence(struct mx_op_case *c, int s)
{
    const int64_t first = c->ends[s], last = c->ends[s + 1];
    for (int i = 0; i < c->storage_count; i++) {
        const struct mx_op_storage *storage = &c->storages[i];
        if (storage->type == MX_OP_I32) continue;
        for (int64_t k = 0; k < storage->count; k++) {
            const int64_t row = k / storage->stride, column = k % storage->stride;
            bool own = false;
            if (storage->layout == MX_OP_ROWS) own = row >= first && row < last && column < storage->width;
            if (storage->layout == MX_OP_SAMPLES) own = row >= c->samples[s] && row < c->samples[s + 1];
            if (storage->layout == MX_OP_SEGMENTS) own = row == s;
            if (storage->layout == MX_OP_HEAD_ROWS) {
                const int64_t at = k % (storage->count / storage->width);
                own = at >= first && at < last;
            }
            if (!own) continue;
            if (storage->type == MX_OP_BF16)
                ((uint16_t *)storage->data)[k] = (uint16_t)(MX_OP_POISON >> 16);
            else
                ((uint32_t *)storage->data)[k] = MX_OP_POISON;
        }
    }
}

int op_parts_leak(enum mx_op op, uint64_t seed, struct mx_op_plan plan, struct mx_device *device)
{
    int compared = 0;
    struct mx_op_case clean, spoiled;
    struct mx_op_result before, after;
    op_case_make(&clean, op, seed, plan);
    op_case_make(&spoiled, op, seed, plan);
    op_case_must_run(&clean, device, &before);
    for (int s = 0; s < clean.sequences; s++) {
        if (clean.ends[s] == clean.ends[s + 1]) continue;
        poison_sequence(&spoiled, s);
        op_case_must_run(&spoiled, device, &after);
        for (int other = 0; other < clean.sequences; other++) {
            if (other == s) continue;
            const char *text = mx_op_result_sequence_differs(&clean, &before, other, &spoiled, &after, other);
            if (text) fail_msg("sequence %d saw sequence %d: %s", other, s, text);
            compared++;
        }
        mx_op_result_release(&after);
        for (int i = 0; i < clean.storage_count; i++) { /* as it was, which is sooner done than to make it again */
            const struct mx_op_storage *storage = &clean.storages[i];
            memcpy(spoiled.storages[i].data, storage->data,
                   (size_t)storage->count * (storage->type == MX_OP_BF16 ? 2 : 4));
        }
    }
    mx_op_result_release(&before);
    mx_op_case_release(&spoiled);
    mx_op_case_release(&clean);
    return compared;
}

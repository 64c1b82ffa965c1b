/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The tables of launch.h: kernels, plans, tuning, and the meaning of status words.
 */
#include "device/kernels/lower.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    enum mx_kernel_lanes lanes;
} kernels[] = {
#define X(name, lanes) {"mx_" #name, MX_LANES_##lanes},
    MX_KERNEL_LIST(X)
#undef X
};

static int (*const plans[MX_OP_COUNT])(struct mx_launcher *, const void *) = {
#define SOLO(name) [MX_OP_##name] = mx_lower_##name,
#define PAIR(name) SOLO(name) SOLO(name##_grad)
    MX_OP_LIST(PAIR, SOLO)
#undef SOLO
#undef PAIR
};

void mx_kernel_tuning_choose(struct mx_kernel_tuning *tuning, bool pairs, size_t group_most)
{
    tuning->group = 64;
    tuning->wide = 256;
    while ((size_t)tuning->wide > group_most && tuning->wide > tuning->group) tuning->wide /= 2;
    snprintf(tuning->options, sizeof tuning->options, "-DMX_GROUP=%d -DMX_WIDE=%d%s", tuning->group, tuning->wide,
             pairs ? " -DMX_PAIRS=1" : "");
}

int mx_kernel_lanes(const struct mx_kernel_tuning *tuning, enum mx_kernel_id kernel)
{
    switch (kernels[kernel].lanes) {
    case MX_LANES_WIDE:
        return tuning->wide;
    case MX_LANES_GROUP:
        return tuning->group;
    default:
        return MX_KERNEL_LANES_MOST;
    }
}

size_t mx_kernel_work_bytes(uint64_t memory_bytes)
{
    const size_t least = (size_t)16 << 20, most = (size_t)96 << 20, share = (size_t)(memory_bytes / 64);
    return share < least ? least : share < most ? share : most;
}

const char *mx_kernel_name(enum mx_kernel_id kernel)
{
    return kernels[kernel].name;
}

int mx_kernel_plan(struct mx_launcher *launcher, enum mx_op op, const void *args)
{
    return plans[op](launcher, args);
}

int mx_kernel_status_raise(const int32_t words[MX_STATUS_WORDS])
{
    const enum mx_op op = (enum mx_op)(words[0] - 1);
    const char *const name = words[0] >= 1 && words[0] <= MX_OP_COUNT ? mx_op_name(op) : "an operation";
    switch (op) {
    case MX_OP_embedding:
    case MX_OP_embedding_grad:
        return MX_FAIL(MX_ERR_DATA, "the text was made into tokens with another vocabulary than the model's",
                       "%s: id %d in row %d is outside the table", name, (int)words[1], (int)words[2]);
    case MX_OP_rotary:
        return MX_FAIL(MX_ERR_DATA,
                       "expected offsets from 0 to the number of rows, and no sequence longer than the rotary table",
                       "%s: row %d has no position in the table of %d", name, (int)words[1], (int)words[2]);
    case MX_OP_durations_scan:
        return MX_FAIL(MX_ERR_DATA, "expected durations of 0 or more that add up to less than 2^31",
                       "%s: duration %d of token %d", name, (int)words[1], (int)words[2]);
    case MX_OP_expand:
    case MX_OP_expand_grad:
    case MX_OP_segment_mean:
        return MX_FAIL(MX_ERR_DATA, "expected ends that begin with 0, do not decrease and stop at the number of rows",
                       "%s: the segments do not cover the rows", name);
    case MX_OP_align:
        return MX_FAIL(MX_ERR_DATA,
                       "expected offsets that begin with 0, do not decrease, stop at the number of rows, and give "
                       "every sequence that has frames a token",
                       "%s: tokens and frames cannot be aligned", name);
    default:
        break;
    }
    if (words[1] == 1) {
        return MX_FAIL(MX_ERR_DATA,
                       "expected offsets that begin with 0 and do not decrease, and 1 + samples/hop frames each",
                       "%s: the frames do not fit the samples", name);
    }
    if (words[1] == 2) {
        return MX_FAIL(MX_ERR_DATA,
                       "expected bands within 0 … fft_size/2 and weights in order, as features/recipe.h makes them",
                       "%s: the table names bins or weights that do not exist", name);
    }
    if (words[1] == 3 && op == MX_OP_log_magnitude) {
        return MX_FAIL(MX_ERR_DATA, "expected the number of an utterance, and frames from 0 to samples/hop of it",
                       "%s: segment %d is not within an utterance", name, (int)words[2]);
    }
    return MX_FAIL(MX_ERR_DATA, "expected offsets that begin with 0, do not decrease and stop at the number of rows",
                   "%s: the sequences do not cover the rows", name);
}

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How much memory a model needs, before any of it is taken.
 *
 * A capacity bounds what one batch may hold. From configuration and capacity everything follows: the flat buffers
 * (parameters, gradients, moments, averaged weights), the activations, the batch. mx_model_memory_plan tells their bytes;
 * mx_model_create takes exactly the activations, the caller takes the rest. After that no step allocates anything.
 *
 * A layout hands out pieces of one buffer, one after the other; without a buffer it only counts. So the plan and the
 * real thing are made by the same code and cannot disagree.
 */
#ifndef MX_MODEL_MEMORY_PLAN_H
#define MX_MODEL_MEMORY_PLAN_H

#include "model/sizes.h"
#include "myxtts/device.h"
#include "myxtts/ops.h"

/* The most that one batch may hold. */
struct mx_model_capacity {
    int32_t sequences;
    int32_t tokens, frames, references;     /* rows of all sequences together; references: frames of reference mels */
    int32_t longest_tokens, longest_frames; /* of one sequence; 0: as many as all together */
};

/* MX_ERR_ARGUMENT naming what is wrong; otherwise *out is the same with its 0s filled in. */
int mx_model_capacity_check(const struct mx_model_capacity *capacity, struct mx_model_capacity *out);

enum mx_model_purpose {
    MX_MODEL_TRAIN, /* everything the backward pass needs is remembered (or, with checkpointing, its beginning) */
    MX_MODEL_SPEAK, /* only what the forward pass of synthesis needs */
};

struct mx_model_memory_plan {
    int64_t parameters;                                                   /* how many there are */
    uint64_t parameters_bytes, gradients_bytes, moments_bytes, ema_bytes; /* flat buffers; 0 where not needed */
    uint64_t activations_bytes;                                           /* taken by mx_model_create */
    uint64_t batch_bytes;                                                 /* of one batch at capacity */
    uint64_t total_bytes;
};

int mx_model_memory_plan(const struct mx_model_config *config, const struct mx_model_capacity *capacity,
                         enum mx_model_purpose purpose, struct mx_model_memory_plan *out);

/* One batch as the model sees it: packed sequences on the model's device, in the same order everywhere. Nothing is
 * owned. */
struct mx_model_batch {
    struct mx_ragged tokens, frames, references; /* the same count of sequences */
    struct mx_slice token_ids;                   /* int32 [tokens] */
    struct mx_slice languages;                   /* int32 [sequences] */
    struct mx_slice reference_mel;               /* [references, bands]; a sequence without rows has no voice: 0 */
    struct mx_slice mel;                         /* [frames, bands], normalised */
    struct mx_slice pitch, energy;               /* [frames], normalised */
    int64_t loss_tokens, loss_frames; /* what means are taken over in the gradient; 0: the batch's own. Micro-batches of
                                         one step say how many the whole step has, and their gradients add up to its */
    int64_t first_token, first_frame; /* rows before it in the batch that it is a part of: dropout counts on from there,
                                         so that it leaves out the same values however a batch is divided */
    int64_t gap_token, gap_frame;     /* from these rows of its own on, so many more rows of that batch … */
    int64_t gap_tokens, gap_frames;   /* … lie between, which are another part's; 0: none */
};

/* ---- layouts ---- */

#define MX_LAYOUT_ALIGNMENT 256 /* bytes */

struct mx_layout {
    struct mx_buffer *buffer; /* NULL: only count */
    size_t offset_bytes;      /* where the next piece begins */
};

/* `count` words of 4 bytes. */
struct mx_slice mx_layout_take(struct mx_layout *layout, int64_t count);
/* Places all slices of a batch at capacity (its counts stay 0: they are each batch's own). */
void mx_model_batch_place(struct mx_layout *layout, const struct mx_model_config *config,
                          const struct mx_model_capacity *capacity, struct mx_model_batch *batch);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * How much memory a model needs, computed before any is allocated.
 *
 * A capacity bounds one batch. Configuration and capacity determine everything: the flat buffers (parameters,
 * gradients, averaged weights), the activations, the batch. mx_model_memory_plan reports their sizes in bytes;
 * mx_model_create allocates exactly the activations, the caller the rest. After that no step allocates anything.
 *
 * A layout hands out consecutive pieces of one buffer; without a buffer it only counts. The same code thus makes both
 * the plan and the real allocation, and the two cannot disagree.
 */
#ifndef MX_MODEL_MEMORY_PLAN_H
#define MX_MODEL_MEMORY_PLAN_H

#include "model/parameters.h"
#include "model/sizes.h"
#include "myxtts/device.h"
#include "myxtts/ops.h"

/* The upper limits of one batch. */
struct mx_model_capacity {
    int32_t sequences;
    int32_t tokens, frames, references;     /* rows of all sequences together; references: frames of reference mels */
    int32_t longest_tokens, longest_frames; /* of one sequence; 0: the same as the total */
};

/* MX_ERR_ARGUMENT naming the invalid member; otherwise *out is a copy with the zeros filled in. */
int mx_model_capacity_check(const struct mx_model_capacity *capacity, struct mx_model_capacity *out);

enum mx_model_purpose {
    MX_MODEL_TRAIN, /* keeps everything the backward pass needs (with recompute_blocks only each block's input) */
    MX_MODEL_SPEAK, /* only what the forward pass of synthesis needs */
};

struct mx_model_memory_plan {
    int64_t parameters, learning; /* their number, and of those that learn */
    /* Flat buffers; 0 where not needed. Each state array of an optimizer is as large as the averaged weights. */
    uint64_t parameters_bytes, gradients_bytes, ema_bytes;
    uint64_t activations_bytes; /* allocated by mx_model_create */
    uint64_t batch_bytes;       /* of one batch at capacity */
};

int mx_model_memory_plan(const struct mx_model_config *config, const struct mx_model_capacity *capacity,
                         enum mx_model_purpose purpose, struct mx_model_memory_plan *out);
/* The plan of any network from its table and the bytes of its activations and of a batch. */
void mx_model_memory_plan_fill(struct mx_model_memory_plan *out, const struct mx_parameters *table,
                               enum mx_model_purpose purpose, uint64_t activations_bytes, uint64_t batch_bytes);

/* One batch as the model sees it: packed sequences on the model's device, in the same order everywhere. Owns
 * nothing. */
struct mx_model_batch {
    struct mx_ragged tokens, frames, references; /* all with the same number of sequences */
    struct mx_slice token_ids;                   /* int32 [tokens] */
    struct mx_slice languages;                   /* int32 [sequences] */
    struct mx_slice reference_mel;               /* [references, bands]; a sequence without rows has no voice: 0 */
    struct mx_slice voices; /* [sequences, width] for synthesis, instead of references: vectors that mx_model_view gave
                               of them; no buffer: there are references */
    struct mx_slice mel;    /* [frames, bands], normalised */
    struct mx_slice pitch, energy;    /* [frames], normalised */
    int64_t loss_tokens, loss_frames; /* the counts that the gradient's means divide by; 0: the batch's own. The
                                         micro-batches of a step give the counts of the whole step, so their gradients
                                         add up to the step's */
    int64_t first_token, first_frame; /* rows that precede this part in its whole batch: dropout counts on from there,
                                         so it drops the same values however a batch is divided */
    int64_t gap_token, gap_frame;     /* own row at which a gap begins */
    int64_t gap_tokens, gap_frames;   /* rows of the gap, which belong to another part of the batch; 0: none */
};

/* ---- layouts ---- */

#define MX_LAYOUT_ALIGNMENT 256 /* bytes */

struct mx_layout {
    struct mx_buffer *buffer; /* NULL: only count */
    size_t offset_bytes;      /* where the next piece begins */
};

/* Takes `count` words of 4 bytes. */
struct mx_slice mx_layout_reserve(struct mx_layout *layout, int64_t count);
/* Places all slices of a batch at capacity (the counts stay 0: each batch sets its own). */
void mx_model_batch_place(struct mx_layout *layout, const struct mx_model_config *config,
                          const struct mx_model_capacity *capacity, struct mx_model_batch *batch);

#endif

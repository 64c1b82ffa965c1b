/* SPDX-License-Identifier: GPL-3.0-or-later
 *
 * The order of training: which utterances form which batch of which epoch.
 *
 * A batch holds at most `batch_size` utterances, or at most `frame_budget` frames, or both. Utterances of similar
 * length are grouped: each length is multiplied by a random factor between 0.9 and 1.1, the utterances are sorted by
 * the products, cut into steps, and the steps are shuffled. One step has one batch for each rank; the utterances of a
 * step are dealt to the ranks back and forth, so that the ranks of one step get equal counts (± 1) and almost equal
 * frames.
 *
 * With `whole` the limits are those of a step over all ranks, and the utterances of a step are split in order into one
 * run of equal count (± 1) for each rank: put end to end, the batches of a step are the batch that a single rank would
 * have. So the steps do not depend on how many ranks share them.
 *
 * Everything is a pure function of (seed, epoch, rank, world) and the list of utterances: no state is carried from
 * batch to batch or from epoch to epoch, so a run that resumes at (epoch, step) sees the same batches as one that was
 * never interrupted.
 *
 * Over all ranks every utterance occurs exactly once per epoch (without `times`), and all ranks have the same number of steps. With only
 * a batch size, all steps have equal size (± 1 utterance), so that no batch is a small remainder. With a frame budget
 * the number of steps changes a little from epoch to epoch. A batch is empty only where this is unavoidable: when the
 * last step cannot be filled up to one utterance a rank (batches of one utterance, fewer utterances than ranks), or
 * with `whole`, where a step has fewer utterances than there are ranks. `step_count` is the number of utterances of the
 * step in all ranks together: the weight for averages over them.
 *
 * With `times` an utterance occurs that many times in an epoch on average: in each epoch one of the two whole numbers
 * around it. The number of utterances in an epoch stays `count`. Which ones occur once more is drawn again in each epoch.
 *
 * With `even` the steps of an epoch are of nearly equal frames: there are as many as the limits ask for, and they are
 * cut so that the largest of them is as small as that number allows. An utterance longer than the budget is a batch of
 * its own.
 *
 * Memory: all memory is taken by mx_sampler_create; selecting an epoch and asking for batches allocate nothing. One
 * thread uses a sampler at a time.
 */
#ifndef MX_CORPUS_SAMPLER_H
#define MX_CORPUS_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

#define MX_SAMPLER_COUNT_MAX (UINT32_C(1) << 30) /* utterances */
#define MX_SAMPLER_WORLD_MAX (UINT32_C(1) << 20)

struct mx_sampler_options {
    uint64_t seed;
    uint32_t rank, world;  /* rank < world; one process: 0 and 1 */
    uint32_t batch_size;   /* most utterances per batch; 0: no such limit */
    uint64_t frame_budget; /* most frames per batch; 0: no such limit */
    bool whole;            /* both are limits of a step, see above */
    bool even;             /* steps of equal frames, see above; with a budget, and `whole` or a world of 1 */
    const double *times;   /* [count], ≥ 0, their mean is 1; copied. NULL: every utterance once */
};

/* One batch, of the sampler's rank. */
struct mx_sampler_batch {
    const uint32_t *items; /* owned by the sampler until the next epoch is selected; roughly by rising length */
    uint32_t count;        /* may be 0, see above */
    uint32_t step_count;   /* utterances of this step in all ranks */
    uint64_t frames;       /* of this batch */
    uint64_t step_frames;  /* of this step in all ranks */
};

struct mx_sampler;

/* items[i] is the name of utterance i for the caller (an index in the dataset), frames[i] its length. Both are copied.
 * MX_ERR_ARGUMENT for limits that make no sense, MX_ERR_DATA for an utterance that is longer than the budget. */
int mx_sampler_create(const struct mx_sampler_options *options, const uint32_t *items, const uint32_t *frames,
                      uint32_t count, struct mx_sampler **out);
void mx_sampler_destroy(struct mx_sampler *sampler); /* NULL is fine */

/* The smallest frame budget with which epoch 0 has at most `steps` steps that are cut as `even` says. The options must
 * have `even`; their budget is not read. MX_ERR_ARGUMENT if the batch size does not allow so few. */
int mx_sampler_budget(const struct mx_sampler_options *options, const uint32_t *frames, uint32_t count, uint32_t steps,
                      uint64_t *budget);

/* Builds the table of an epoch: O(n log n), some milliseconds for 13,000 utterances. Epoch 0 is selected at first. */
void mx_sampler_select(struct mx_sampler *sampler, uint32_t epoch);
uint32_t mx_sampler_epoch(const struct mx_sampler *sampler);
uint32_t mx_sampler_steps(const struct mx_sampler *sampler); /* of the selected epoch; the same in all ranks */
/* Any step in any order, in constant time; step < mx_sampler_steps. */
struct mx_sampler_batch mx_sampler_get(const struct mx_sampler *sampler, uint32_t step);

#endif
